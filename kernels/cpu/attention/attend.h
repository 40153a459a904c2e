/* attend.h - what every format shares: edges of a row by blocks, slices of a head's columns. Rows
 * of K and V are read where they are; widths that are no multiple of LANES end with a `first`
 * vector. */
#ifndef GSA_CPU_ATTEND_H
#define GSA_CPU_ATTEND_H
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/isa/vector.h"
#include "kernels/ref/attend.h"

enum {
    BLOCK = 64, /* edges of a block, a multiple of 4 */
    HEADS = 16, /* heads at work together: rows of usual widths are then passed through from end to
                   end, as memory likes */
    SLICE = 4,  /* vectors of a row that are worked on at once: sums stay in registers */
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

#endif
