/* attend.h - what the forward and the backward pass share: edges of a row by blocks, dot products
 * of heads with a block.
 *
 * A row's edges are taken BLOCK at a time, its heads HEADS at a time, in groups of QUADS. The
 * scores of four edges and a group are in one vector (lane 4 j + i: head j, edge i), so that
 * maximum, exponential, sum and logarithm of all of them cost one instruction each and the
 * horizontal steps are one a row, not one a score. Rows of K and V are read where they are;
 * widths that are no multiple of LANES end with a `first` vector. */
#ifndef GSA_CPU_ATTEND_H
#define GSA_CPU_ATTEND_H
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/isa/vector.h"
#include "kernels/ref/attend.h"

enum {
    BLOCK = 64,                 /* edges of a block, a multiple of 4 */
    NEAR = LANES == 8 ? 4 : 16, /* edges of a block whose rows are read together, a multiple of 4:
                                   few read rows almost from end to end */
    HEADS = 16, /* heads at work together: rows of usual widths are then passed through from end to
                   end, as memory likes */
    SLICE = 4,  /* vectors of a row that are worked on at once: sums stay in registers */
    SCORES = BLOCK * QUADS, /* of QUADS heads: a group */
    GROUPS = HEADS / QUADS
};

/* Known where it is called: counts of loops become code. */
#define CPU_INLINE static inline __attribute__((always_inline))

/* Whether outputs are written past the caches, which they would not be in: their heads' rows are
 * whole lines. */
static inline int cpu_streams(const ref_attend *t)
{
    enum { NUMBERS = 1 << 22, LINES = 16 };
    return t->dim % LINES == 0 && t->edges->rows * t->width >= NUMBERS &&
           (uintptr_t)t->args->out % 64 == 0;
}

typedef struct cpu_block {
    int32_t count;
    uint32_t first; /* place of the first edge in its row */
    const float *k[BLOCK], *v[BLOCK],
        *r[BLOCK]; /* r: of the edge's label, where there are label vectors */
    int32_t label[BLOCK], kind[BLOCK], source[BLOCK];
    int one_label; /* there are edges, and all have the same: what it adds is worked out once */
    int64_t ahead; /* numbers from a source's row to that of the next block, which is requested; 0:
                      nothing is */
} cpu_block;

enum {
    ASK_LINE = 16,      /* numbers of a cache line */
    ASK_LEAST = 1 << 15 /* numbers of a plane: smaller ones are in the second cache */
};

/* What is `ahead` numbers after the `vectors` vectors from x on, be it there or not. Asked
 * line by line while others are worked on: of many at a time the machine forgets some. */
CPU_INLINE void cpu_ask(const float *x, int64_t ahead, int vectors)
{
    const uintptr_t at = (uintptr_t)x + (uintptr_t)ahead * sizeof(float);
    for (int v = 0; v < vectors; v += ASK_LINE / LANES)
        vec_ask((const float *)(at + sizeof(float) * LANES * (uintptr_t)v));
}

/* What is requested with pieces of a block's rows: at 16 lanes what is `ahead` numbers after
 * each; at 8, where the rows follow one another and all heads are at work, the lines that `rows`
 * rows have there in the order of their addresses. (Zen 3 answers requests for rows by pieces at
 * half the rate of requests along rows: kernels/cpu/TRIED.md.) */
typedef struct cpu_asks {
    int64_t ahead; /* 0: nothing is */
    int64_t rows;  /* 0: each row's own place */
    int64_t width;
} cpu_asks;

CPU_INLINE cpu_asks cpu_asks_of(const ref_attend *t, int64_t ahead, int32_t heads, int64_t rows)
{
    return (cpu_asks){ ahead,
                       LANES == 8 && heads == t->heads && ahead == BLOCK * t->width ? rows : 0,
                       t->width };
}

/* With edge e's columns from `at` on, x, of which as many as `vectors` vectors of each row are
 * requested one row after another. */
CPU_INLINE void cpu_ask_piece(const float *x, cpu_asks asks, int64_t at, int64_t e, int64_t piece,
                              int vectors)
{
    const int along = LANES == 8 && asks.rows;
    cpu_ask(x, asks.ahead + (along ? (asks.rows - 1) * at + e * (piece - asks.width) : 0), vectors);
}

/* For a block that a run fills and does not end with. */
static inline int64_t cpu_ahead_of(const ref_attend *t, const ref_walk *walk, int32_t taken)
{
    if (taken < BLOCK || walk->done < BLOCK || walk->run == walk->end) return 0;
    return t->edges->part_rows[walk->run->kind] * t->width < ASK_LEAST
               ? 0
               : walk->run->step * BLOCK * t->width;
}

/* The next edges of a row, in emission order; 0 when none are left. */
static inline int32_t cpu_next(const ref_attend *t, ref_walk *walk, cpu_block *block)
{
    int32_t filled = 0;
    block->first += (uint32_t)block->count;
    block->one_label = walk->run < walk->end;
    while (filled < BLOCK && walk->run < walk->end) {
        const gsa_run run = *walk->run;
        const gsa_part *part = &t->args->parts[run.kind];
        const int32_t left = run.count - walk->done,
                      take = left < BLOCK - filled ? left : BLOCK - filled;
        for (int32_t i = 0; i < take; i++) {
            const int32_t source = run.first + (walk->done + i) * run.step;
            block->k[filled + i] = (const float *)part->k + source * t->width;
            block->v[filled + i] = (const float *)part->v + source * t->width;
            block->label[filled + i] = run.label + (walk->done + i) * run.label_step;
            block->kind[filled + i] = run.kind, block->source[filled + i] = source;
        }
        block->one_label &=
            block->label[filled] == block->label[0] && (take == 1 || run.label_step == 0);
        filled += take, walk->done += take;
        if (walk->done == run.count) walk->run++, walk->done = 0;
    }
    if (t->r)
        for (int32_t i = 0; i < filled; i++) block->r[i] = t->r + (int64_t)block->label[i] * t->dim;
    block->ahead = cpu_ahead_of(t, walk, filled);
    return block->count = filled;
}

/* Where edge e of head j of those at work is among the scores. */
static inline int32_t cpu_place(int32_t e, int32_t j)
{
    return j / QUADS * SCORES + e / 4 * LANES + 4 * (j % QUADS) + e % 4;
}

static inline int32_t cpu_quads(int32_t edges)
{
    return (edges + 3) / 4;
}

typedef struct cpu_cut { /* columns from..: a slice of at most SLICE vectors */
    int vectors, whole;  /* whole: the last one is */
    lanes end;
} cpu_cut;

static inline cpu_cut cpu_cut_at(int32_t dim, int32_t from)
{
    const int32_t left = dim - from < SLICE * LANES ? dim - from : SLICE * LANES;
    const int vectors = (left + LANES - 1) / LANES;
    return (cpu_cut){ vectors, left % LANES == 0, lanes_first(left - (vectors - 1) * LANES) };
}

/* Kernels are compiled once for each number of vectors of a slice. Where code is there to be right,
 * not fast (the emulated level, sanitizers), one copy serves every number, nothing is unrolled, and
 * the compiler is done in a fraction of the time. */
#if defined(GSA_CPU_EMULATES) || defined(__SANITIZE_ADDRESS__)
#define GSA_CPU_ONE_COPY 1
#else
#define GSA_CPU_ONE_COPY 0
#endif
/* Before a loop of known length over vectors: gcc keeps them in registers only if unrolled
 * first. */
#if GSA_CPU_ONE_COPY
#define CPU_UNROLL
#else
#define CPU_UNROLL _Pragma("GCC unroll 16")
#endif

#if GSA_CPU_ONE_COPY
#define CPU_BY_CUT(cut, CALL)                                                                      \
    {                                                                                              \
        CALL((cut).vectors, (cut).whole);                                                          \
    }
#else
/* CALL(vectors, whole) with constants. */
#define CPU_BY_CUT(cut, CALL)                                                                      \
    switch ((cut).vectors + SLICE * (cut).whole) {                                                 \
    case 1:                                                                                        \
        CALL(1, 0);                                                                                \
        break;                                                                                     \
    case 2:                                                                                        \
        CALL(2, 0);                                                                                \
        break;                                                                                     \
    case 3:                                                                                        \
        CALL(3, 0);                                                                                \
        break;                                                                                     \
    case 4:                                                                                        \
        CALL(4, 0);                                                                                \
        break;                                                                                     \
    case 5:                                                                                        \
        CALL(1, 1);                                                                                \
        break;                                                                                     \
    case 6:                                                                                        \
        CALL(2, 1);                                                                                \
        break;                                                                                     \
    case 7:                                                                                        \
        CALL(3, 1);                                                                                \
        break;                                                                                     \
    case 8:                                                                                        \
        CALL(4, 1);                                                                                \
        break;                                                                                     \
    default:                                                                                       \
        break;                                                                                     \
    }
#endif

CPU_INLINE vec cpu_piece(const float *at, int j, int vectors, int whole, lanes end)
{
    return whole || j + 1 < vectors ? vec_load(at + j * LANES)
                                    : vec_load_first(at + j * LANES, end);
}
CPU_INLINE void cpu_put_piece(float *at, int j, int vectors, int whole, lanes end, vec x)
{
    if (whole || j + 1 < vectors) vec_store(at + j * LANES, x);
    else vec_store_first(at + j * LANES, end, x);
}

/* sum[j] += q . x[j][at ..] lane by lane, for one slice of `edges` edges. */
CPU_INLINE void cpu_dot_slice(vec *sum, const vec *q, const float *const *x, int64_t at, int edges,
                              int vectors, int whole, lanes end)
{
    for (int i = 0; i < vectors; i++)
        for (int j = 0; j < edges; j++)
            sum[j] = vec_fma(q[i], cpu_piece(x[j] + at, i, vectors, whole, end), sum[j]);
}

/* w <- of each four lanes the partial sums of q . (x[e][at ..] + r[e]), e = 0 .. edges-1; r may be
 * NULL. */
CPU_INLINE vec cpu_dot_four(const vec *q, const float *const *x, int64_t at, const float *const *r,
                            int edges, int vectors, int whole, lanes end)
{
    vec sum[4] = { vec_zero(), vec_zero(), vec_zero(), vec_zero() };
    cpu_dot_slice(sum, q, x, at, edges, vectors, whole, end);
    if (r) cpu_dot_slice(sum, q, r, 0, edges, vectors, whole, end);
    return vec_sum_fours(sum[0], sum[1], sum[2], sum[3]);
}

/* Heads of at most SLICE vectors: q stays in registers. w[QUADS i]: edges 4 i .. 4 i + 3. */
CPU_INLINE void cpu_dots_narrow(vec *w, const float *from, const float *const *x, int64_t at,
                                cpu_asks asks, const float *const *r, int32_t count, int vectors,
                                int whole, lanes end)
{
    vec q[SLICE];
    int32_t e = 0;
    for (int i = 0; i < vectors; i++) q[i] = cpu_piece(from, i, vectors, whole, end);
    for (; e + 4 <= count; e += 4, w += QUADS) {
        *w = cpu_dot_four(q, x + e, at, r ? r + e : NULL, 4, vectors, whole, end);
        for (int j = 0; asks.ahead && j < 4; j++)
            cpu_ask_piece(x[e + j] + at, asks, at, e + j, vectors * LANES, vectors);
    }
    if (count - e == 1) *w = cpu_dot_four(q, x + e, at, r ? r + e : NULL, 1, vectors, whole, end);
    else if (count - e == 2)
        *w = cpu_dot_four(q, x + e, at, r ? r + e : NULL, 2, vectors, whole, end);
    else if (count - e == 3)
        *w = cpu_dot_four(q, x + e, at, r ? r + e : NULL, 3, vectors, whole, end);
}

static inline void cpu_dots_wide(vec *w, const float *q, const float *const *x, int64_t at,
                                 cpu_asks asks, const float *const *r, int32_t dim, int32_t count)
{
    const int ask = LANES == 8 && asks.ahead; /* at 16 heads of this width are not requested */
    const float *row[4], *label[4];
    vec part[SLICE];
    for (int32_t e = 0; e < count; e += 4, w += QUADS) {
        vec sum[4] = { vec_zero(), vec_zero(), vec_zero(), vec_zero() };
        for (int j = 0; j < 4; j++)
            row[j] = x[e + j < count ? e + j : e],
            label[j] = r ? r[e + j < count ? e + j : e] : NULL;
        for (int32_t i = 0; i < dim; i += SLICE * LANES) {
            const cpu_cut cut = cpu_cut_at(dim, i);
#define SLICE_OF(vectors, whole)                                                                   \
    for (int j = 0; j < (vectors); j++) part[j] = cpu_piece(q + i, j, vectors, whole, cut.end);    \
    cpu_dot_slice(sum, part, row, at + i, 4, vectors, whole, cut.end);                             \
    if (r) cpu_dot_slice(sum, part, label, i, 4, vectors, whole, cut.end)
            CPU_BY_CUT(cut, SLICE_OF)
#undef SLICE_OF
            for (int j = 0; ask && e + 4 <= count && j < 4; j++)
                cpu_ask_piece(row[j] + at + i, asks, at + i, e + j, cut.vectors * LANES,
                              cut.vectors);
        }
        *w = vec_sum_fours(sum[0], sum[1], sum[2], sum[3]);
    }
}

/* One head: w[QUADS i] <- partial sums of q . (x[e][at ..] + r[e]) of the edges 4 i .. 4 i + 3. */
static inline void cpu_dots(vec *w, const float *q, const float *const *x, int64_t at,
                            cpu_asks asks, const float *const *r, int32_t dim, int32_t count)
{
    const cpu_cut cut = cpu_cut_at(dim, 0);
    if (dim > SLICE * LANES) {
        cpu_dots_wide(w, q, x, at, asks, r, dim, count);
        return;
    }
    for (int32_t i = 0; dim == 0 && i < cpu_quads(count); i++) w[QUADS * i] = vec_zero();
#define PLAIN(vectors, whole)                                                                      \
    cpu_dots_narrow(w, q, x, at, asks, NULL, count, vectors, whole, cut.end)
#define LABELLED(vectors, whole)                                                                   \
    cpu_dots_narrow(w, q, x, at, asks, r, count, vectors, whole, cut.end)
    if (r) CPU_BY_CUT(cut, LABELLED)
    else CPU_BY_CUT(cut, PLAIN)
#undef PLAIN
#undef LABELLED
}

/* s <- q_h . (x[e] + r[e]) of the heads first .. first+heads-1, heads <= HEADS; q and x's rows hold
 * all heads. */
static inline void cpu_head_dots(const ref_attend *t, float *s, const float *q,
                                 const float *const *x, int64_t ahead, const float *const *r,
                                 int32_t first, int32_t heads, int32_t count)
{
    const cpu_asks asks = cpu_asks_of(t, ahead, heads, NEAR);
    vec w[NEAR * QUADS / 4];
    for (int32_t e = 0; e < count; e += NEAR) {
        const int32_t near = count - e < NEAR ? count - e : NEAR;
        for (int32_t h = 0; h < heads; h += QUADS) {
            for (int32_t j = 0; j < QUADS; j++) {
                const int64_t at = (int64_t)(first + h + j) * t->dim;
                if (h + j < heads)
                    cpu_dots(w + j, q + at, x + e, at, asks, r ? r + e : NULL, t->dim, near);
                else
                    for (int32_t i = 0; i < cpu_quads(near); i++) w[QUADS * i + j] = vec_zero();
            }
            for (int32_t i = 0; i < cpu_quads(near); i++)
                vec_store(s + cpu_place(e + 4 * i, h), vec_fold(w + QUADS * i));
        }
    }
}

/* dots[4 j .. 4 j + 3] = q_{first+j} . r */
static inline void cpu_label_dots(const ref_attend *t, float *dots, const float *q, const float *r,
                                  int32_t first, int32_t heads)
{
    vec w[QUADS];
    for (int32_t h = 0; h < heads; h += QUADS) {
        for (int32_t j = 0; j < QUADS; j++) {
            if (h + j < heads)
                cpu_dots(w + j, q + (int64_t)(first + h + j) * t->dim, &r, 0, (cpu_asks){ 0, 0, 0 },
                         NULL, t->dim, 1);
            else w[j] = vec_zero();
        }
        vec_store(dots + 4 * h, vec_fold(w)); /* the dot product is in the first lane of four */
        for (int32_t i = 0; i < LANES; i++) dots[4 * h + i] = dots[4 * h + i / 4 * 4];
    }
}

/* s_e = scale q.(k_e + r_l) + b_{l,h} of some heads; -inf after the last edge. */
static inline void cpu_scores(const ref_attend *t, const cpu_block *block, const float *q,
                              int32_t first, int32_t heads, float *s)
{
    const int32_t quads = cpu_quads(block->count), rest = block->count % 4;
    float shift[4 * HEADS] = { 0 };
    cpu_head_dots(t, s, q, block->k, block->ahead, t->r && !block->one_label ? block->r : NULL,
                  first, heads, block->count);
    if (t->r && block->one_label) cpu_label_dots(t, shift, q, block->r[0], first, heads);
    for (int32_t h = 0; h < heads; h += QUADS) {
        float *group = s + cpu_place(0, h);
        const vec more = vec_load(shift + 4 * h);
        for (int32_t i = 0; i < quads * LANES; i += LANES)
            vec_store(group + i, vec_mul(vec_add(vec_load(group + i), more), vec_all(t->scale)));
    }
    for (int32_t j = 0; t->bias && j < heads; j++)
        for (int32_t e = 0; e < block->count; e++)
            s[cpu_place(e, j)] += t->bias[(int64_t)block->label[e] * t->heads + first + j];
    for (int32_t h = 0; h < heads && rest > 0; h += QUADS) {
        float *last = s + cpu_place(4 * (quads - 1), h);
        vec_store(last, vec_keep(lanes_of_quads(rest), vec_load(last), vec_all(-INFINITY)));
    }
}

/* y <- *keep y + sum_e p_e x[e][at ..], y not read where keep is NULL; p_e as scores of one head
 * are. Sums of even and of odd edges hide the latency of the multiplication. */
CPU_INLINE void cpu_mix_slice(float *y, const float *keep, const float *p, const float *const *x,
                              int64_t at, cpu_asks asks, int32_t count, int vectors, int whole,
                              lanes end)
{
    vec even[SLICE], odd[SLICE];
    int32_t e = 0;
    for (int j = 0; j < vectors; j++) even[j] = odd[j] = vec_zero();
    for (int j = 0; keep && j < vectors; j++)
        even[j] = vec_mul(vec_all(*keep), cpu_piece(y, j, vectors, whole, end));
    for (; e + 4 <= count; e += 4, p += LANES) {
        for (int i = 0; asks.ahead && i < 4; i++)
            cpu_ask_piece(x[e + i] + at, asks, at, e + i, vectors * LANES, vectors);
        for (int i = 0; i < 4; i += 2) {
            for (int j = 0; j < vectors; j++)
                even[j] = vec_fma(vec_all(p[i]), cpu_piece(x[e + i] + at, j, vectors, whole, end),
                                  even[j]);
            for (int j = 0; j < vectors; j++)
                odd[j] = vec_fma(vec_all(p[i + 1]),
                                 cpu_piece(x[e + i + 1] + at, j, vectors, whole, end), odd[j]);
        }
    }
    for (; e < count; e++, p++)
        for (int j = 0; j < vectors; j++)
            even[j] = vec_fma(vec_all(*p), cpu_piece(x[e] + at, j, vectors, whole, end), even[j]);
    for (int j = 0; j < vectors; j++)
        cpu_put_piece(y, j, vectors, whole, end, vec_add(even[j], odd[j]));
}

static inline void cpu_mix(float *y, const float *keep, const float *p, const float *const *x,
                           int64_t at, cpu_asks asks, int32_t dim, int32_t count)
{
    for (int32_t i = 0; i < dim; i += SLICE * LANES) {
        const cpu_cut cut = cpu_cut_at(dim, i);
#define SLICE_OF(vectors, whole)                                                                   \
    cpu_mix_slice(y + i, keep, p, x, at + i, asks, count, vectors, whole, cut.end)
        CPU_BY_CUT(cut, SLICE_OF)
#undef SLICE_OF
    }
}

/* y[e][at ..] += p_e x where y[e] is not NULL, in order: a row may come twice. */
CPU_INLINE void cpu_spread_slice(float *const *y, const float *p, const float *x, int64_t at,
                                 int32_t count, int vectors, int whole, lanes end)
{
    vec part[SLICE];
    for (int j = 0; j < vectors; j++) part[j] = cpu_piece(x, j, vectors, whole, end);
    for (int32_t e = 0; e < count; e++) {
        if (!y[e]) continue;
        const vec share = vec_all(p[cpu_place(e, 0)]);
        float *row = y[e] + at;
        for (int j = 0; j < vectors; j++)
            cpu_put_piece(row, j, vectors, whole, end,
                          vec_fma(share, part[j], cpu_piece(row, j, vectors, whole, end)));
    }
}

static inline void cpu_spread(float *const *y, const float *p, const float *x, int64_t at,
                              int32_t dim, int32_t count)
{
    for (int32_t i = 0; i < dim; i += SLICE * LANES) {
        const cpu_cut cut = cpu_cut_at(dim, i);
#define SLICE_OF(vectors, whole)                                                                   \
    cpu_spread_slice(y, p, x + i, at + i, count, vectors, whole, cut.end)
        CPU_BY_CUT(cut, SLICE_OF)
#undef SLICE_OF
    }
}

#endif
