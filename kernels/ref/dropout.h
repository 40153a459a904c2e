/* dropout.h - which elements are dropped: a function of backend.h's key alone. */
#ifndef GSA_REF_DROPOUT_H
#define GSA_REF_DROPOUT_H
#include "kernels/philox.h"
#include "kernels/ref/ref.h"

typedef struct ref_drop {
    int on;
    uint32_t limit; /* a word below it drops its element */
    uint32_t seed, step, site;
    real keep; /* 1 / (1 - p) */
    const int32_t *example_id;
} ref_drop;

static inline ref_drop ref_drop_of(const gsa_dropout *d)
{
    if (d == NULL || d->p == 0) return (ref_drop){ 0 };
    return (ref_drop){ 1,
                       (uint32_t)(d->p * 4294967296.0),
                       d->seed,
                       d->step,
                       d->site << 12,
                       (real)(1 / (1 - d->p)),
                       d->example_id };
}

/* The factors 0 or 1/(1-p) of four neighbouring heads or columns. */
static inline void ref_drop_four(const ref_drop *d, int32_t example, int32_t row, uint32_t third,
                                 uint32_t quad, real factor[4])
{
    const gsa_philox counter = { { (uint32_t)example, (uint32_t)row, third, d->site | quad } };
    const gsa_philox words = gsa_philox4x32(counter, d->seed, d->step);
    for (int i = 0; i < 4; i++) factor[i] = words.word[i] < d->limit ? 0 : d->keep;
}

/* Rows of y from rows of x; `row` makes one of them, whose elements are dropped. */
typedef struct ref_drop_job {
    real *y;
    const real *x;
    ref_drop drop;
    const int32_t *row_example, *row_local;
    int64_t rows, cols, chunk;
    int accumulate; /* y + what is kept of x */
    void (*row)(const struct ref_drop_job *job, int64_t row);
    const void *own; /* the caller's */
} ref_drop_job;

/* dropout_forward and, with job->accumulate, dropout_backward of the table. The job holds y, x,
 * accumulate, row and own; `cost` is a row's, as in ref_row_chunk. */
gsa_status GSA_REF(dropout)(gsa_backend *b, const char *op, ref_drop_job *job,
                            const gsa_dropout *dropout, int64_t rows, int64_t cols, int64_t cost);

#endif
