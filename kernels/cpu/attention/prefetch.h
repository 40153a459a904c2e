/* prefetch.h - prefetches memory that will be read later, a few lines at a time between the steps
 * of the work that goes on meanwhile: all at once would fill the machine's list of lines under way,
 * and the work would wait until they come. */
#ifndef GSA_CPU_PREFETCH_H
#define GSA_CPU_PREFETCH_H
#include <stddef.h>
#include "kernels/cpu/attention/attend.h"

enum {
    PREFETCH_RANGES = 512,  /* ranges of rows at most */
    PREFETCH_MOST = 1 << 12 /* lines at most: more would leave the second cache again */
};

typedef struct cpu_prefetch_range { /* rows that follow one another */
    const float *at;
    int64_t rows;
} cpu_prefetch_range;

typedef struct cpu_prefetch {
    int64_t stride, numbers; /* from row to row; that are read of a row */
    int32_t ranges;          /* how many there are */
    int32_t wanted;          /* the range that is prefetched next, */
    int64_t row;             /* from this row of it on */
    int64_t lines;           /* left after the row that is being prefetched */
    const float *next;       /* the next line of that row, */
    int32_t left;            /* and how many are left of it */
    int32_t portion; /* lines a step, rounded up: so no branch of a step is hard to foretell */
    cpu_prefetch_range each[PREFETCH_RANGES];
} cpu_prefetch;

static inline void cpu_prefetch_start(cpu_prefetch *x, int64_t stride, int64_t numbers)
{
    x->stride = stride, x->numbers = numbers, x->next = NULL;
    x->ranges = x->wanted = x->left = x->portion = 0, x->row = x->lines = 0;
}

static inline int32_t cpu_prefetch_row_lines(const cpu_prefetch *x) /* of a row */
{
    return (int32_t)((x->numbers + CPU_LINE - 1) / CPU_LINE);
}

/* Rows first .. last of a plane. */
static inline void cpu_prefetch_add(cpu_prefetch *x, const float *plane, int64_t first,
                                    int64_t last)
{
    if (first > last || x->ranges == PREFETCH_RANGES) return;
    x->each[x->ranges++] = (cpu_prefetch_range){ plane + first * x->stride, last - first + 1 };
    x->lines += (last - first + 1) * cpu_prefetch_row_lines(x);
}

/* The same of some planes, from a column on. */
static inline void cpu_prefetch_planes(cpu_prefetch *x, const void *const *plane, int planes,
                                       int64_t column, int64_t first, int64_t last)
{
    for (int i = 0; i < planes; i++)
        if (plane[i]) cpu_prefetch_add(x, (const float *)plane[i] + column, first, last);
}

/* What was added is prefetched over so many steps. */
static inline void cpu_prefetch_pace(cpu_prefetch *x, int64_t steps)
{
    if (x->lines > PREFETCH_MOST) x->lines = PREFETCH_MOST;
    x->portion = steps > 0 ? (int32_t)((x->lines + steps - 1) / steps) : 0;
}

/* The next row is prefetched; 0: all is. */
static inline int cpu_prefetch_row(cpu_prefetch *x)
{
    if (x->lines <= 0 || x->numbers <= 0) return 0;
    const cpu_prefetch_range *w = &x->each[x->wanted];
    x->next = w->at + x->row * x->stride, x->left = cpu_prefetch_row_lines(x), x->lines -= x->left;
    if (++x->row == w->rows) x->row = 0, x->wanted++;
    return 1;
}

static inline void cpu_prefetch_lines(cpu_prefetch *x, int32_t lines)
{
    while (lines > 0 && (x->left > 0 || cpu_prefetch_row(x))) {
        const int32_t now = lines < x->left ? lines : x->left;
        for (int32_t i = 0; i < now; i++) vec_prefetch(x->next + i * CPU_LINE);
        x->next += now * CPU_LINE, x->left -= now, lines -= now;
    }
}

/* A step was taken. */
static inline void cpu_prefetch_step(cpu_prefetch *x)
{
    cpu_prefetch_lines(x, x->portion);
}

#endif
