/* soon.h - requests memory that will be read later, a few lines at a time between the steps of the
 * work that goes on meanwhile: all at once would fill the machine's list of lines under way, and
 * the work would be until they are there. */
#ifndef GSA_CPU_SOON_H
#define GSA_CPU_SOON_H
#include <stddef.h>
#include "kernels/cpu/isa/vector.h"

enum {
    SOON = 512,          /* ranges of rows at most */
    SOON_MOST = 1 << 12, /* lines at most: more would leave the second cache again */
    SOON_LINE = 16       /* numbers of a cache line */
};

typedef struct cpu_wanted { /* rows that follow one another */
    const float *at;
    int64_t rows;
} cpu_wanted;

typedef struct cpu_soon {
    int64_t stride, numbers; /* from row to row; that are wanted of a row */
    int32_t wanteds, wanted; /* how many; which one is requested next, */
    int64_t row,
        lines; /* from where on; lines that are left over the row that is being requested: */
    const float *next; /* of it, */
    int32_t left;      /* and so many lines */
    int32_t portion;   /* lines for each step that is counted by itself, rounded up: no branch goes
                          now so, now so */
    cpu_wanted each[SOON];
} cpu_soon;

static inline void cpu_soon_start(cpu_soon *x, int64_t stride, int64_t numbers)
{
    x->stride = stride, x->numbers = numbers, x->next = NULL;
    x->wanteds = x->wanted = x->left = x->portion = 0, x->row = x->lines = 0;
}

static inline int32_t cpu_soon_lines(const cpu_soon *x) /* of a row */
{
    return (int32_t)((x->numbers + SOON_LINE - 1) / SOON_LINE);
}

/* Rows first .. last of a plane, or none. */
static inline void cpu_soon_add(cpu_soon *x, const float *plane, int64_t first, int64_t last)
{
    if (!plane || first > last || x->wanteds == SOON) return;
    x->each[x->wanteds++] = (cpu_wanted){ plane + first * x->stride, last - first + 1 };
    x->lines += (last - first + 1) * cpu_soon_lines(x);
}

/* What was added is requested over so many steps. */
static inline void cpu_soon_portions(cpu_soon *x, int64_t steps)
{
    if (x->lines > SOON_MOST) x->lines = SOON_MOST;
    x->portion = steps > 0 ? (int32_t)((x->lines + steps - 1) / steps) : 0;
}

/* The next row is requested; 0: all is. */
static inline int cpu_soon_row(cpu_soon *x)
{
    if (x->lines <= 0 || x->numbers <= 0) return 0;
    const cpu_wanted *w = &x->each[x->wanted];
    x->next = w->at + x->row * x->stride, x->left = cpu_soon_lines(x), x->lines -= x->left;
    if (++x->row == w->rows) x->row = 0, x->wanted++;
    return 1;
}

static inline void cpu_ask_lines(cpu_soon *x, int32_t lines)
{
    while (lines > 0 && (x->left > 0 || cpu_soon_row(x))) {
        const int32_t now = lines < x->left ? lines : x->left;
        for (int32_t i = 0; i < now; i++) vec_ask(x->next + i * SOON_LINE);
        x->next += now * SOON_LINE, x->left -= now, lines -= now;
    }
}

/* A step was taken. */
static inline void cpu_ask_portion(cpu_soon *x)
{
    cpu_ask_lines(x, x->portion);
}

#endif
