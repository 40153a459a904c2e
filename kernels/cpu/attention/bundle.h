/* bundle.h - rows of few edges whose sources stand anywhere: the words of a character, the neighbours of a node, a dependency.
 *
 * By itself such a row costs steps across lanes, an exponential and a logarithm that nothing else waits beside. So BUNDLE_ROWS rows of as many
 * edges work together, whichever they are: a vector holds one place of all of them (lane 4 j + r: head j of QUADS, row r), and maximum,
 * sum and weights go from place to place, never across lanes. Each row mixes by itself: nothing is padded there, and no sum
 * of a row knows beside which others it stood. Rows wait on shelves, by their number of edges, until there are BUNDLE_ROWS of them; rows
 * that are left over at the end go together, their missing places at -inf.
 *
 * A row of one edge has the weight 1: out = v, lse = s (at once where heads are whole vectors by fours); ds = p (do.v - do.o) = 0, so that
 * dv += do is its whole gradient, and neither its query nor its key is read backward (with dropout out = m v and dv += m do). Where s or do.v is
 * not finite it goes the long way, for 0 times infinity is not 0. */
#ifndef GSA_CPU_BUNDLE_H
#define GSA_CPU_BUNDLE_H
#include "kernels/cpu/attention/band.h"
#include "kernels/cpu/attention/kept.h"

enum {
    BUNDLE_ROWS = 4,
    BUNDLE_EDGES = 32,   /* of a row at most: from there on its own edges fill vectors */
    BUNDLE_FEW = 8,      /* whatever runs they stand in */
    BUNDLE_SHELVES = 10, /* rows of 1, 2, 3, 4, 5-6, 7-8, 9-12, 13-16, 17-24, 25-32 edges */
    BUNDLE_AHEAD = 8     /* rows */
};

typedef struct cpu_bundle {
    int32_t rows, places;     /* most edges of a row */
    int even;                 /* all rows have them */
    int64_t row[BUNDLE_ROWS]; /* behind the last: the first again, whose results are computed and thrown away */
    int32_t edges[BUNDLE_ROWS];
    const float *k[BUNDLE_EDGES][BUNDLE_ROWS], *v[BUNDLE_EDGES][BUNDLE_ROWS], *r[BUNDLE_EDGES][BUNDLE_ROWS];
    int32_t kind[BUNDLE_EDGES][BUNDLE_ROWS], source[BUNDLE_EDGES][BUNDLE_ROWS], label[BUNDLE_EDGES][BUNDLE_ROWS];
} cpu_bundle;

/* Rows that wait. Backward: heads first .. last-1 and their label gradients. */
typedef struct cpu_shelves cpu_shelves;
struct cpu_shelves {
    const ref_attend *t;
    void (*work)(const cpu_shelves *x, const cpu_bundle *bundle);
    int32_t first, last;
    const ref_label_sums *sums;
    int open, ask; /* the call may work by bundles; planes are so large that rows are asked for beforehand */
    int stream;    /* rows of the output are whole lines and go past the caches */
    int32_t waiting[BUNDLE_SHELVES];
    int64_t row[BUNDLE_SHELVES][BUNDLE_ROWS];
};

/* Shelves of a range of rows; `sums` is NULL forward. */
void cpu_bundle_begin(cpu_shelves *x, const ref_attend *t, int32_t first, int32_t last, const ref_label_sums *sums);
void cpu_bundle_put(cpu_shelves *x, int64_t row); /* works off a shelf that is full */
void cpu_bundle_end(cpu_shelves *x);              /* and what is left on all */

void cpu_bundle_forward(const cpu_shelves *x, const cpu_bundle *bundle);
void cpu_bundle_backward(const cpu_shelves *x, const cpu_bundle *bundle);
void cpu_single_backward(const cpu_shelves *x, int64_t row); /* of a row of one edge, at once */

/* Likewise; 0 where it has to go into a bundle: heads are not whole vectors by fours, labels or dropout have a part, a score is not finite. */
int cpu_single_forward(const cpu_shelves *x, int64_t row);

/* Whether a row goes into a bundle: `single` asks for rows of one edge, which do so before bands are looked for. Many edges in a few runs
 * are as well off alone, for their sources stand side by side. */
static inline int cpu_bundled(const cpu_shelves *x, int64_t row, int single)
{
    const gsa_edges *e = x->t->edges;
    const int64_t edges = e->edge_offset[row + 1] - e->edge_offset[row], runs = e->run_offset[row + 1] - e->run_offset[row];
    if (!x->open || edges < 1 || edges > BUNDLE_EDGES) return 0;
    return single ? edges == 1 : edges <= BUNDLE_FEW || edges <= 4 * runs;
}

/* Lane 4 j + r: x[r][j]; of `heads` heads, 0 in others. */
static inline vec cpu_of_rows(const float *const *x, int32_t heads)
{
    float each[LANES] = { 0 };
    if (heads >= QUADS) return vec_of_rows(x);
    for (int32_t j = 0; j < heads; j++)
        for (int r = 0; r < BUNDLE_ROWS; r++) each[4 * j + r] = x[r][j];
    return vec_load(each);
}

CPU_INLINE void cpu_bundle_add_dots(vec sum[BUNDLE_ROWS], const float *const *q, int64_t at, const float *const *x,
                                    int64_t from, int32_t dim)
{
    int32_t i = 0;
    for (; i + LANES <= dim; i += LANES) CPU_UNROLL
    for (int r = 0; r < BUNDLE_ROWS; r++) sum[r] = vec_fma(vec_load(q[r] + at + i), vec_load(x[r] + from + i), sum[r]);
    const lanes end = lanes_first(dim - i);
    CPU_UNROLL
    for (int r = 0; i < dim && r < BUNDLE_ROWS; r++)
        sum[r] = vec_fma(vec_load_first(q[r] + at + i, end), vec_load_first(x[r] + from + i, end), sum[r]);
}

/* Lane 4 j + r: q_r . (x_r + label_r) of head j of `heads`, whose columns begin at `at`; label may be NULL. */
static inline vec cpu_bundle_dots(const float *const *q, const float *const *x, const float *const *label, int64_t at,
                                  int32_t dim, int32_t heads)
{
    vec w[QUADS];
    CPU_UNROLL
    for (int j = 0; j < QUADS; j++, at += dim) {
        vec sum[BUNDLE_ROWS] = { vec_zero(), vec_zero(), vec_zero(), vec_zero() };
        if (j < heads) cpu_bundle_add_dots(sum, q, at, x, at, dim);
        if (j < heads && label) cpu_bundle_add_dots(sum, q, at, label, 0, dim);
        w[j] = vec_sum_fours(sum[0], sum[1], sum[2], sum[3]);
    }
    return vec_fold(w);
}

/* The scores of place e and the heads first .. first+heads-1, heads <= QUADS. */
static inline vec cpu_bundle_scores(const ref_attend *t, const cpu_bundle *b, const float *const *q, int32_t e,
                                    int32_t first, int32_t heads)
{
    float each[LANES] = { 0 };
    const vec s = vec_mul(vec_all(t->scale),
                          cpu_bundle_dots(q, b->k[e], t->r ? b->r[e] : NULL, (int64_t)first * t->dim, t->dim, heads));
    if (!t->bias) return s;
    for (int32_t j = 0; j < heads; j++)
        for (int r = 0; r < BUNDLE_ROWS; r++) each[4 * j + r] = t->bias[(int64_t)b->label[e][r] * t->heads + first + j];
    return vec_add(s, vec_load(each));
}

/* Lanes of the rows that have an edge at place e. */
static inline lanes cpu_bundle_lanes(const cpu_bundle *b, int32_t e)
{
    unsigned bits = 0;
    for (int r = 0; r < BUNDLE_ROWS; r++) bits |= e < b->edges[r] ? 0x1111u << r : 0;
    return lanes_of_bits(bits & ((1u << LANES) - 1u));
}

/* ---- some heads of a row together, where heads are 1, 2, 4 or 8 whole vectors: BUNDLE_WIDE vectors of a row ---------------------- */

enum { BUNDLE_WIDE = 8 };

/* Heads that make BUNDLE_WIDE vectors; 0: they go one by one. */
static inline int32_t cpu_bundle_heads(int32_t dim)
{
    const int32_t vectors = dim / LANES;
    return dim % LANES == 0 && (vectors == 1 || vectors == 2 || vectors == 4 || vectors == 8) ? BUNDLE_WIDE / vectors : 0;
}

/* CALL(vectors of a head) with a constant. */
#define CPU_BY_BUNDLE_HEADS(heads, CALL)                                                                                    \
    switch (heads) {                                                                                                        \
    case 8:                                                                                                                 \
        CALL(1);                                                                                                            \
        break;                                                                                                              \
    case 4:                                                                                                                 \
        CALL(2);                                                                                                            \
        break;                                                                                                              \
    case 2:                                                                                                                 \
        CALL(4);                                                                                                            \
        break;                                                                                                              \
    default:                                                                                                                \
        CALL(8);                                                                                                            \
        break;                                                                                                              \
    }

/* The weight of the head that vector v stands in; `group`: numbers of QUADS heads, p at the first head's. */
CPU_INLINE vec cpu_bundle_share(const float *p, int32_t group, int v, int vectors)
{
    const int j = v / vectors;
    return vec_all(p[j / QUADS * group + 4 * (j % QUADS)]);
}

/* y += sum_e p_e x[BUNDLE_ROWS e]; `fresh`: y is not read, and the first product is not added to 0. */
CPU_INLINE void cpu_bundle_mix(vec y[BUNDLE_WIDE], const float *p, int32_t group, const float *const *x, int64_t at,
                               int32_t edges, int fresh, int vectors)
{
    if (fresh) CPU_UNROLL
    for (int v = 0; v < BUNDLE_WIDE; v++)
        y[v] = vec_mul(cpu_bundle_share(p, group, v, vectors), vec_load(*x + at + v * LANES));
    for (int32_t e = fresh; e < edges; e++) {
        const float *from = x[e * BUNDLE_ROWS] + at, *share = p + e * LANES;
        CPU_UNROLL
        for (int v = 0; v < BUNDLE_WIDE; v++)
            y[v] = vec_fma(cpu_bundle_share(share, group, v, vectors), vec_load(from + v * LANES), y[v]);
    }
}

/* y_e += p_e x where y_e is not NULL, in order. */
CPU_INLINE void cpu_bundle_give(float *const *y, const float *p, int32_t group, const float *x, int64_t at, int32_t edges,
                                int vectors)
{
    vec of[BUNDLE_WIDE];
    CPU_UNROLL
    for (int v = 0; v < BUNDLE_WIDE; v++) of[v] = vec_load(x + v * LANES);
    for (int32_t e = 0; e < edges; e++) {
        if (!y[e]) continue;
        float *to = y[e] + at;
        CPU_UNROLL
        for (int v = 0; v < BUNDLE_WIDE; v++)
            vec_store(to + v * LANES,
                      vec_fma(cpu_bundle_share(p + e * LANES, group, v, vectors), of[v], vec_load(to + v * LANES)));
    }
}

/* s *= 0 or 1/(1-p) of the heads at work. */
static inline void cpu_bundle_keep(const ref_attend *t, const cpu_bundle *b, const cpu_bits *bits, int32_t heads, float *s)
{
    cpu_keep(t, s, bits, (int64_t)(heads + QUADS - 1) / QUADS * b->places);
}

/* Planes of all heads of the bundle's rows. */
static inline void cpu_bundle_rows(const cpu_bundle *b, const void *plane, int64_t width, const float **x)
{
    for (int r = 0; r < BUNDLE_ROWS; r++) x[r] = (const float *)plane + b->row[r] * width;
}

#endif
