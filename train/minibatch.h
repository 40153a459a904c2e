/* minibatch.h - one forward pass's examples on the host; its arrays are reused and grow only where they must. */
#ifndef GSA_MINIBATCH_H
#define GSA_MINIBATCH_H
#include "graph/system.h"
#include "graph/topology.h"

typedef struct gsa_minibatch {
    const gsa_system *system;
    int32_t count, zero;
    int64_t tokens;
    int32_t *number; /* [count] place in the global batch: the key of dropout */
    int32_t *row;    /* [count] 0, 1, 2, ...: rows of the head */
    int32_t *nought; /* [count] zeros */
    int32_t *length; /* [count] */
    int32_t *label;  /* [count] class, or -1 */
    int32_t *id;     /* [tokens], with words */
    gsa_slice *text; /* [tokens], with words */
    float *feature;  /* [tokens, width], without */
    float *target;   /* [count, outputs], without */
    int64_t room[8];
} gsa_minibatch;

/* Room for these sizes; sets count and tokens, fills row and nought. width 0: words. */
gsa_status gsa_minibatch_size(gsa_minibatch *batch, int32_t count, int64_t tokens, int64_t width, int64_t outputs,
                              gsa_error *error);
void gsa_minibatch_release(gsa_minibatch *batch); /* a zeroed one is fine */

#endif
