/* bcsr_read.h - prefetches the rows that blocks read.
 *
 * A block works head by head: it reads a few lines of a row, a few of the next row, and begins
 * again for the next head. Memory serves that order at a third of its rate. So the rows that are
 * new in a block are read once, each from end to end. While a block is computed, the rows that are
 * new in the next block are prefetched. */
#ifndef GSA_CPU_BCSR_READ_H
#define GSA_CPU_BCSR_READ_H
#include "kernels/cpu/attention/bcsr.h"

enum { READ_PLANES = 4 };

struct cpu_reading {
    int32_t first, last; /* heads */
    int backward;
    int64_t next;   /* the row of the block that was prefetched, -1: none */
    int32_t ranges; /* of the block before */
    bcsr_range range[BCSR_RANGES];
    cpu_prefetch prefetch; /* of the next block */
};

static inline void cpu_start_reading(cpu_reading *x, int32_t first, int32_t last, int backward)
{
    x->first = first, x->last = last, x->backward = backward;
    x->ranges = 0, x->next = -1;
}

/* Reads the heads' columns of rows row .. last of the planes that are there. */
static inline void cpu_read_rows(const ref_attend *t, const cpu_reading *x,
                                 const void *const *plane, int64_t row, int64_t last)
{
    const int64_t from = (int64_t)x->first * t->dim, to = (int64_t)x->last * t->dim;
    for (int p = 0; p < (x->backward ? READ_PLANES : READ_PLANES / 2); p++)
        for (int64_t r = row; plane[p] && r <= last; r++)
            for (int64_t i = from; i < to; i += CPU_LINE)
                (void)*(const volatile float *)((const float *)plane[p] + r * t->width + i);
}

/* Notes the same, to be prefetched. */
static inline void cpu_want_rows(const ref_attend *t, cpu_reading *x, const void *const *plane,
                                 int64_t row, int64_t last)
{
    for (int p = 0; p < (x->backward ? READ_PLANES : READ_PLANES / 2); p++)
        if (plane[p])
            cpu_prefetch_add(&x->prefetch, (const float *)plane[p] + (int64_t)x->first * t->dim,
                             row, last);
}

/* Reads, or expects, rows of a block's ranges that are not among `old`, another block's. */
CPU_INLINE void cpu_new_rows(const ref_attend *t, cpu_reading *x, const bcsr_block *block,
                             const bcsr_range *old, int32_t olds, int expect)
{
    for (int32_t i = 0, j = 0; i < block->ranges; i++) {
        const bcsr_range *now = &block->range[i];
        const gsa_part *part = &t->args->parts[now->kind];
        const void *const plane[READ_PLANES] = { part->k, part->v, part->dk, part->dv };
        int64_t from = now->first;
        while (j < olds &&
               (old[j].kind < now->kind || (old[j].kind == now->kind && old[j].last < from)))
            j++;
        for (int32_t k = j; from <= now->last; k++) {
            const int met = k < olds && old[k].kind == now->kind && old[k].first <= now->last;
            const int64_t last = met ? (int64_t)old[k].first - 1 : now->last;
            if (expect) cpu_want_rows(t, x, plane, from, last);
            else cpu_read_rows(t, x, plane, from, last);
            from = met ? (int64_t)old[k].last + 1 : last + 1;
        }
    }
}

/* Reads a block; the next one (NULL: none) is prefetched while this one is computed. */
static inline void bcsr_read(const ref_attend *t, const bcsr_block *block, const bcsr_block *behind,
                             cpu_reading *x)
{
    const int past = !x->backward && cpu_streams(t) && LANES == 16; /* outputs, past the caches */
    const void *const plane[READ_PLANES] = { t->args->q, past ? NULL : t->args->out, t->args->dout,
                                             t->args->dq };
    cpu_prefetch_start(&x->prefetch, t->width, (int64_t)(x->last - x->first) * t->dim);
    if (t->edges->rows * t->width < PREFETCH_LEAST) return;
    if (x->next != block->row) {
        cpu_read_rows(t, x, plane, block->row, block->row + LANES - 1);
        cpu_new_rows(t, x, block, x->range, x->ranges, 0);
    }
    x->next = behind ? behind->row : -1;
    x->ranges = block->ranges;
    memcpy(x->range, block->range, sizeof *x->range * (size_t)block->ranges);
    if (!behind) return;
    cpu_want_rows(t, x, plane, behind->row, behind->row + LANES - 1);
    cpu_new_rows(t, x, behind, block->range, block->ranges, 1);
    cpu_prefetch_pace(&x->prefetch, (x->last - x->first) * bcsr_vectors(block));
}

#endif
