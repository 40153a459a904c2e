/* attend.h - what every format shares: a row's edges by blocks, slices of a head's columns. Rows of
 * K and V are read in place; widths that are no multiple of LANES end with a `first` vector. */
#ifndef GSA_CPU_ATTEND_H
#define GSA_CPU_ATTEND_H
#include <math.h>
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/isa/vector.h"
#include "kernels/ref/attend.h"

enum {
    BLOCK = 64, /* edges of a block, a multiple of 4 */
    HEADS = 16, /* heads at work together: rows of usual widths are then passed through from end to
                   end, as memory likes */
    SLICE = 4,  /* vectors of a row that are worked on at once: sums stay in registers */
    ROOM = LANES == 16 ? 448 << 10 : 256 << 10 /* bytes of a thread's room (team.h), for what is too
                                                  large for its stack; one thing at a time */
};

/* Whether outputs, too large for the caches and of whole lines, are written past them. */
static inline int cpu_streams(const ref_attend *t)
{
    enum { NUMBERS = 1 << 22, LINES = 16 };
    return t->dim % LINES == 0 && t->edges->rows * t->width >= NUMBERS &&
           (uintptr_t)t->args->out % 64 == 0;
}

/* Whether a call can go by panels of rows at all: others are computed row by row. */
static inline int cpu_by_panels(const ref_attend *t)
{
    return !t->args->weights && t->dim > 0;
}

/* The block of rows that holds `row`; returns 0, with all rows, where the edges name no blocks.
 * Work must not cross a block's end: only in a batch of one example do the next block's rows
 * follow, so that bits would change with the batch. */
static inline int cpu_block_of(const gsa_edges *e, int64_t row, gsa_rows *block)
{
    *block = (gsa_rows){ 0, e->rows };
    if (e->examples == 0 || !e->row_example || !e->blocks || !e->block_offset) return 0;
    const int32_t example = e->row_example[row];
    for (int64_t i = e->block_offset[example]; i < e->block_offset[example + 1]; i++)
        if (e->blocks[i].first <= row && row < e->blocks[i].first + e->blocks[i].count) {
            *block = e->blocks[i];
            return 1;
        }
    return 0;
}

/* Whether the `count` rows from `row` on, all before `last`, follow one another in an example and
 * the first is at a multiple of `count` there: only such rows are worked on together. */
static inline int cpu_rows_follow(const gsa_edges *e, int64_t row, int count, int64_t last)
{
    const int64_t end = row + count - 1;
    return e->row_local && e->row_example && end < last && e->row_local[row] % count == 0 &&
           e->row_local[end] == e->row_local[row] + count - 1 &&
           e->row_example[row] == e->row_example[end];
}
/* Where a range of rows from `row` on may be cut: after the `count` rows that it is inside of. */
static inline int64_t cpu_rows_cut(const gsa_edges *e, int64_t row, int count)
{
    if (row >= e->rows) return e->rows;
    const int64_t start = e->row_local ? row - e->row_local[row] % count : row;
    return start < row && start >= 0 && cpu_rows_follow(e, start, count, e->rows) ? start + count
                                                                                  : row;
}

/* Whether a row has no gradient, its lse is -inf. Of all heads, for which ones are at work depends
 * on the number of threads. */
static inline int cpu_is_dead(const ref_attend *t, int64_t row)
{
    const float *lse = (const float *)t->args->lse + row * t->heads;
    for (int32_t h = 0; h < t->heads; h++)
        if (lse[h] == -INFINITY) return 1;
    return 0;
}

typedef struct cpu_block {
    int32_t count;
    uint32_t first; /* place of the first edge in its row */
    const float *k[BLOCK], *v[BLOCK],
        *r[BLOCK]; /* r: of the edge's label, where there are label vectors */
    int32_t label[BLOCK], kind[BLOCK], source[BLOCK];
    int one_label; /* there are edges, and all have the same: what it adds is worked out once */
} cpu_block;

enum {
    CPU_LINE = 16,           /* numbers of a cache line */
    PREFETCH_LEAST = 1 << 15 /* numbers of a plane: smaller ones are in the second cache */
};

/* What is `ahead` numbers after the `vectors` vectors from x on, be it there or not. Asked
 * line by line while others are worked on: of many at a time the machine forgets some. */
CPU_INLINE void cpu_prefetch_ahead(const float *x, int64_t ahead, int vectors)
{
    const uintptr_t at = (uintptr_t)x + (uintptr_t)ahead * sizeof(float);
    for (int v = 0; v < vectors; v += CPU_LINE / LANES)
        vec_prefetch((const float *)(at + sizeof(float) * LANES * (uintptr_t)v));
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
    for (int32_t i = 0; t->r && i < filled; i++)
        block->r[i] = t->r + (int64_t)block->label[i] * t->dim;
    for (int32_t i = filled; i % 4 != 0; i++)
        block->k[i] = block->k[0], block->v[i] = block->v[0],
        block->r[i] = t->r ? block->r[0] : NULL;
    return block->count = filled;
}

typedef struct cpu_cut { /* a slice of a head's columns: `vectors` of them from `from` on */
    int32_t from;
    int vectors, whole; /* whole: the last one is */
    lanes end;
} cpu_cut;

/* Of at most `most` vectors; of four two and two where three are the most. 0 vectors: the end. */
static inline cpu_cut cpu_cut_at(int32_t dim, int32_t from, int most)
{
    const int32_t left = dim - from, all = (left + LANES - 1) / LANES;
    const int vectors = all <= most ? all : all == 4 ? 2 : most, whole = left >= vectors * LANES;
    return (cpu_cut){ from, vectors, whole,
                      lanes_first(whole ? LANES : left - (vectors - 1) * LANES) };
}
/* One vector of at most `left` columns. */
CPU_INLINE cpu_cut cpu_one_vector(int32_t left, int whole)
{
    return (cpu_cut){ 0, 1, whole, lanes_first(whole || left > LANES ? LANES : left) };
}

/* CALL(..., slice), a function or `x = function`, where the counts (1 to 4 vectors) are constants:
 * kernels are compiled once for each. Where code is there to be right, not fast (the emulated
 * level, sanitizers), one copy serves every count, nothing is unrolled, and the compiler is done in
 * a fraction of the time. gcc keeps vectors in registers only in loops that are unrolled first. */
#if defined(GSA_CPU_EMULATES) || defined(__SANITIZE_ADDRESS__)
#define CPU_UNROLL
#define CPU_BY_CUT(cut, most, CALL, ...) CALL(__VA_ARGS__, cut);
#else
#define CPU_UNROLL _Pragma("GCC unroll 16")
#define CPU_AS(cut, most, VECTORS, WHOLE, CALL, ...)                                               \
    case 2 * (VECTORS) + (WHOLE):                                                                  \
        if ((VECTORS) <= (most))                                                                   \
            CALL(__VA_ARGS__, (cpu_cut){ (cut).from, VECTORS, WHOLE, (cut).end });                 \
        break;
#define CPU_AS_TWO(cut, most, VECTORS, ...)                                                        \
    CPU_AS(cut, most, VECTORS, 0, __VA_ARGS__) CPU_AS(cut, most, VECTORS, 1, __VA_ARGS__)
#define CPU_BY_CUT(cut, most, ...)                                                                 \
    switch (2 * (cut).vectors + (cut).whole) {                                                     \
        CPU_AS_TWO(cut, most, 1, __VA_ARGS__)                                                      \
        CPU_AS_TWO(cut, most, 2, __VA_ARGS__)                                                      \
        CPU_AS_TWO(cut, most, 3, __VA_ARGS__)                                                      \
        CPU_AS_TWO(cut, most, 4, __VA_ARGS__)                                                      \
    }
#endif
/* The same slice by slice of a head. */
#define CPU_BY_CUTS(dim, most, ...)                                                                \
    for (cpu_cut cut_ = cpu_cut_at(dim, 0, most); cut_.vectors > 0;                                \
         cut_ = cpu_cut_at(dim, cut_.from + cut_.vectors * LANES, most)) {                         \
        CPU_BY_CUT(cut_, most, __VA_ARGS__)                                                        \
    }

CPU_INLINE vec cpu_piece(const float *at, int j, cpu_cut cut)
{
    return cut.whole || j + 1 < cut.vectors ? vec_load(at + j * LANES)
                                            : vec_load_first(at + j * LANES, cut.end);
}
/* Lane by lane: what is in the products of `count` columns of a and b. */
CPU_INLINE void cpu_dot_piece(const float *a, const float *b, vec *sum, int64_t i, lanes m,
                              int whole)
{
    *sum = vec_fma(vec_take(a + i, m, whole), vec_take(b + i, m, whole), *sum);
}
static inline vec cpu_dot(const float *a, const float *b, int64_t count)
{
    vec sum = vec_zero();
    VEC_ALONG(0, count, cpu_dot_piece, a, b, &sum)
    return sum;
}
/* Lane r of a quad: what its lanes add to a_r . b_r of four rows. */
static inline vec cpu_four_dots(const float *a, const float *b, int64_t stride, int32_t dim)
{
    vec sum[4];
    for (int r = 0; r < 4; r++) sum[r] = cpu_dot(a + r * stride, b + r * stride, dim);
    return vec_sum_fours(sum[0], sum[1], sum[2], sum[3]);
}
CPU_INLINE void cpu_put_piece(float *at, int j, cpu_cut cut, vec x)
{
    if (cut.whole || j + 1 < cut.vectors) vec_store(at + j * LANES, x);
    else vec_store_first(at + j * LANES, cut.end, x);
}

#endif
