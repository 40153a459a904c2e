/* optimiser_parts.h - what an optimiser holds, for its file, its tests and the trainer. */
#ifndef GSA_OPTIMISER_PARTS_H
#define GSA_OPTIMISER_PARTS_H
#include "gsa/optimiser.h"
#include "gsa/running_mean.h"

struct gsa_optimiser {
    const gsa_system *system;
    gsa_parameters *parameters;
    gsa_optimiser_options options;
    int64_t steps;             /* applied so far: Adam's t */
    void **first, **second;    /* [parameters] moments, NULL where there is none */
    char *plane[2];            /* of parameters that are in planes: theirs too, laid out alike */
    double *squares, *control; /* backend memory: 1 and 4 doubles: norm and factor for steps, and
                                  for the running mean */
    int64_t *bad;              /* likewise: 1 */
    gsa_running_mean *mean; /* borrowed: follows each step, piece by piece, as long as the weights
                               are near; NULL: none */
    /* Of a table whose gradient tells its rows apart: rows whose moments are not zeros, which alone
     * move. The first step goes over all rows (and makes 0 of -0, as every later one would) and
     * then looks; so it is after a resume. */
    uint8_t **moving; /* [parameters][rows] or NULL */
    int count, rows_known;
};

#endif
