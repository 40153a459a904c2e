/* ell.h - format `ell`: SELL-4, sliced ELLPACK with slices of four rows (Kreutzer et al. 2014). For
 * short rows whose columns are anywhere: the words of a character, the neighbours of a node,
 * random blocks, the low spans of a tree.
 *
 *   rows by degree    a  b  c  d | e  f  g  h          row_column: which row of K and V
 *   place 0  a0 b0 c0 d0| e0 f0 g0 h0  a slice is stored place by place: a0 b0 c0 d0 a1 b1 c1 -
 *   place 1           a1 b1 c1 - | e1 f1 g1 h1         and so are its scores (softmax.h)
 *
 * Four rows of about as many edges, whichever they are, are a slice. What they share is the
 * softmax: a vector holds some places of four rows, and maximum, exponential, sum and logarithm
 * serve all of them. Each row has its own column at each place, mixes by itself and scatters by
 * itself, without padding: no bit of it tells next to which rows it was. Heads of any size are a
 * loop around the panel, by SLICE vectors of columns.
 *
 * Rows wait in buckets by their length until there are four of them; what is left at the end goes
 * together, its missing places at -inf. */
#ifndef GSA_CPU_ELL_H
#define GSA_CPU_ELL_H
#include "kernels/cpu/attention/dropout_mask.h"
#include "kernels/cpu/attention/own.h"

enum {
    ELL_PLACES = BLOCK, /* edges of a row at most: from there on its own edges fill vectors */
    ELL_FEW = 8, /* whatever runs they are in; more of them in runs of at most 4 on the average,
                    else they are read as well alone */
    ELL_BUCKETS = 16, /* rows of 1, 2, ..., 8, 9-10, ..., 33-48, 49-64 edges (ell.c) */
    ELL_AHEAD = 2,    /* rows: of what is prefetched earlier L2 loses some again */
    ELL_SCORES = HEADS * ELL_PLACES * ROWS4
};
_Static_assert((int)ELL_PLACES <= (int)ROWS4_PLACES, "a slice is a cpu_rows4");

typedef struct cpu_slice {
    cpu_rows4 at; /* after the last row the first again, whose results are thrown away; places:
                     most edges of a row, others have their first one again there, which counts
                     for nothing */
    int32_t rows;
    int even; /* all rows have all places, in whole vectors */
    int32_t edges[ROWS4];
    const float *k[ROWS4 * ELL_PLACES], *v[ROWS4 * ELL_PLACES],
        *r[ROWS4 * ELL_PLACES]; /* [places][4]; r: label vectors */
    int32_t kind[ROWS4 * ELL_PLACES], source[ROWS4 * ELL_PLACES], label[ROWS4 * ELL_PLACES];
} cpu_slice;

/* Rows that wait. Backward: heads first .. last-1 and their label gradients. */
typedef struct cpu_ell {
    const ref_attend *t;
    int32_t first, last;
    const ref_label_sums *sums; /* NULL: forward */
    int32_t waiting[ELL_BUCKETS];
    int64_t row[ELL_BUCKETS][ROWS4];
} cpu_ell;

/* Buckets for a range of rows; `sums` is NULL forward. */
void cpu_ell_begin(cpu_ell *x, const ref_attend *t, int32_t first, int32_t last,
                   const ref_label_sums *sums);
void cpu_ell_put(cpu_ell *x, int64_t row); /* works on a slice that is full */
void cpu_ell_end(cpu_ell *x);              /* and on what is left */

/* Some heads of a slice. */
void cpu_ell_forward(const cpu_slice *slice);
void cpu_ell_backward(const cpu_slice *slice, const ref_label_sums *sums);

/* A row of one edge (ell_single.c). */
void cpu_ell_single_backward(const cpu_ell *x, int64_t row);

/* Whether a row goes into a slice: `single` takes rows of one edge, which do so before
 * diagonal blocks are looked for. */
static inline int cpu_is_ell(const ref_attend *t, int64_t row, int single)
{
    const gsa_edges *e = t->edges;
    const int64_t edges = e->edge_offset[row + 1] - e->edge_offset[row],
                  runs = e->run_offset[row + 1] - e->run_offset[row];
    if (!cpu_by_panels(t) || edges < 1 || edges > ELL_PLACES) return 0;
    return single ? edges == 1 : edges <= ELL_FEW || edges <= 4 * runs;
}

/* Planes of all heads of the slice's rows. */
static inline void cpu_slice_rows(const cpu_slice *b, const void *plane, const float **x)
{
    for (int r = 0; r < ROWS4; r++) x[r] = (const float *)plane + b->at.row[r] * b->at.t->width;
}

/* s[place][row] <- scale q.(k + r) + bias of one head. */
static inline void cpu_own_scores(float *s, const cpu_slice *b, const float *const *q, int32_t head)
{
    const ref_attend *t = b->at.t;
    const int32_t count = b->at.stride;
    cpu_own_dots(s, q, b->k, t->r ? b->r : NULL, b->at.places, (int64_t)head * t->dim, t->dim);
    for (int32_t i = 0; i < count; i += LANES)
        vec_store(s + i, vec_mul(vec_load(s + i), vec_all(t->scale)));
    for (int32_t e = 0; t->bias && e < ROWS4 * b->at.places; e++)
        s[e] += t->bias[(int64_t)b->label[e] * t->heads + head];
}

#endif
