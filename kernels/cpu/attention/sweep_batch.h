/* sweep_batch.h - short ranges of a sweep, some rows at once: AVX2.
 *
 * The lowest spans of a tree are many rows of two, four or eight edges: alone, each waits for its
 * own sums, exponential and logarithm. A batch takes each of these steps for all of its rows, a
 * head at a time, before the next one. Lanes are edges: a vector of scores is of four rows of two
 * edges, of two rows of four, of one of eight; a longer row has several vectors, and one of fewer
 * edges lanes of -inf. So eight products stand in registers at a time, and a row's weights follow
 * one another in memory while 64 columns of its output stand in registers. What a row gets is a
 * function of the row alone, whichever others it stands beside; what a source is given comes in the
 * order of the batch, which is a function of the sweep. Not with dropout, nor where labels differ
 * along a range. */
#ifndef GSA_CPU_SWEEP_BATCH_H
#define GSA_CPU_SWEEP_BATCH_H
#include "kernels/cpu/attention/soon.h"
#include "kernels/cpu/attention/sweep.h"

enum {
    BATCH_DIM =
        40, /* columns of a head at least: of narrow ones two go together in fours (sweep_four.h) */
    BATCH_KINDS = 3,    /* rows of up to 2, 4 and 8 edges a vector; of more: several vectors of 8 */
    BATCH_ROWS = 32,    /* of a kind at most */
    BATCH_VECTORS = 32, /* of scores at most */
    BATCH_SOURCES = 256, /* from the first to the last at most */
    BATCH_ENOUGH = 6     /* vectors that are worked on where a step ends */
};

typedef struct cpu_batch_row {
    const float *q, *k, *v, *r,
        *dout; /* r: of the label, where there are label vectors; dout: backward */
    float *out;
    int64_t row;
    int32_t first, places, label, kind; /* the first source */
} cpu_batch_row;

typedef struct cpu_batch {
    const ref_attend *t;
    cpu_soon *soon;                     /* what is asked for meanwhile */
    int64_t from;                       /* all rows' sources stand from here on */
    int32_t rows[BATCH_KINDS], vectors; /* vectors: of scores, as many as rows so far want */
    cpu_batch_row row[BATCH_KINDS][BATCH_ROWS];
} cpu_batch;

static inline void cpu_batch_start(cpu_batch *x, const ref_attend *t, cpu_soon *soon)
{
    x->t = t, x->soon = soon, x->vectors = 0;
    for (int i = 0; i < BATCH_KINDS; i++) x->rows[i] = 0;
}

/* Whether a call works by batches; whether a range may go in one. */
static inline int cpu_batches(const ref_attend *t)
{
    return LANES == 8 && t->dim >= BATCH_DIM && !t->drop.on;
}
static inline int cpu_batched(const ref_attend *t, const gsa_run *run)
{
    return cpu_batches(t) && run->count <= PIECE && (run->count == 1 || run->label_step == 0);
}

/* A row waits; 0 when there is no room for it before all that wait are worked on. */
int cpu_batch_put(cpu_batch *x, int64_t row);
/* Work on all that wait, backward for some heads. Rows without a gradient (lse -inf) may not be
 * among them. */
void cpu_batch_forward(cpu_batch *x);
void cpu_batch_backward(cpu_batch *x, int32_t first, int32_t last, const ref_label_sums *sums);

#endif
