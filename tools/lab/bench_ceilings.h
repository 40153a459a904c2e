/* bench_ceilings.h - what this machine can do at most, measured where the figures that it bounds
 * are measured. */
#ifndef GSA_BENCH_CEILINGS_H
#define GSA_BENCH_CEILINGS_H
#include <jansson.h>
#include "tools/command/verbs.h"

enum { GSA_CEILING_SIZES = 6 };

typedef struct gsa_ceilings {
    int threads;                      /* 0: not known (no vectors) */
    double flops;                     /* multiply-adds, 2 each, a second */
    int64_t bytes[GSA_CEILING_SIZES]; /* of the buffer that is read over and over, all threads
                                         together */
    double read[GSA_CEILING_SIZES];   /* bytes a second */
    int64_t row_bytes, table_bytes;   /* rows in random order */
    double rows;                      /* bytes a second */
} gsa_ceilings;

/* The best of a few tries each, some 0.3 s in all; counts_cpu: by the clock of gsa_clock_now. */
gsa_status gsa_ceilings_measure(const gsa_system *system, int threads, int64_t row_bytes,
                                int counts_cpu, gsa_ceilings *ceilings, gsa_error *error);

/* Bytes a second at which so many bytes can be read at most: the rate of the largest buffer that is
 * no larger. */
double gsa_ceilings_rate(const gsa_ceilings *ceilings, double bytes);

void gsa_ceilings_write(const gsa_ceilings *ceilings, gsa_output *out);
json_t *gsa_ceilings_json(const gsa_ceilings *ceilings);

#endif
