/* bcsr_read.h - prefetches the rows that the next blocks read.
 *
 * A block works head by head: it reads a few lines of a row, a few of the next row, and begins
 * again for the next head. Memory serves that order at a third of its rate. So while a block is
 * computed, the rows that are new in the next block are prefetched, each from end to end. */
#ifndef GSA_CPU_BCSR_READ_H
#define GSA_CPU_BCSR_READ_H
#include "kernels/cpu/attention/bcsr.h"

struct cpu_reading {
    int32_t first, last; /* heads */
    int backward;
    cpu_prefetch prefetch; /* of the next block */
};

static inline void cpu_start_reading(cpu_reading *x, int32_t first, int32_t last, int backward)
{
    x->first = first, x->last = last, x->backward = backward;
}

/* Notes the heads' columns of rows row .. last of the planes that are there. */
static inline void cpu_want_rows(const ref_attend *t, cpu_reading *x, const void *const plane[4],
                                 int64_t row, int64_t last)
{
    cpu_prefetch_planes(&x->prefetch, plane, x->backward ? 4 : 2, (int64_t)x->first * t->dim, row,
                        last);
}

/* Notes the rows of a block's ranges that are not among those of the block before. */
static inline void cpu_want_new_rows(const ref_attend *t, cpu_reading *x, const bcsr_block *block,
                                     const bcsr_block *before)
{
    const bcsr_range *old = before->range;
    for (int32_t i = 0, j = 0; i < block->ranges; i++) {
        const bcsr_range *now = &block->range[i];
        const gsa_part *part = &t->args->parts[now->kind];
        const void *const plane[] = { part->k, part->v, part->dk, part->dv };
        int64_t from = now->first;
        while (j < before->ranges &&
               (old[j].kind < now->kind || (old[j].kind == now->kind && old[j].last < from)))
            j++;
        for (int32_t k = j; from <= now->last; k++) {
            const int met =
                k < before->ranges && old[k].kind == now->kind && old[k].first <= now->last;
            const int64_t last = met ? (int64_t)old[k].first - 1 : now->last;
            cpu_want_rows(t, x, plane, from, last);
            from = met ? (int64_t)old[k].last + 1 : last + 1;
        }
    }
}

/* Before a block is computed: the next one (NULL: none) is prefetched meanwhile. */
static inline void bcsr_read(const ref_attend *t, const bcsr_block *block, const bcsr_block *behind,
                             cpu_reading *x)
{
    const int past = !x->backward && cpu_streams(t) && LANES == 16; /* outputs, past the caches */
    const void *const plane[] = { t->args->q, past ? NULL : t->args->out, t->args->dout,
                                  t->args->dq };
    cpu_prefetch_start(&x->prefetch, t->width, (int64_t)(x->last - x->first) * t->dim);
    if (t->edges->rows * t->width < PREFETCH_LEAST || !behind) return;
    cpu_want_rows(t, x, plane, behind->row, behind->row + LANES - 1);
    cpu_want_new_rows(t, x, behind, block);
    cpu_prefetch_pace(&x->prefetch, (x->last - x->first) * bcsr_vectors(block));
}

#endif
