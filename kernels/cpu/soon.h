/* soon.h - asks for memory that will be read later, a few lines at a time between the steps of the work that goes on meanwhile: all at
 * once would fill the machine's list of lines under way, and the work would stand until they are there. */
#ifndef GSA_CPU_SOON_H
#define GSA_CPU_SOON_H
#include "kernels/cpu/vector.h"

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
    int64_t stride, numbers;    /* from row to row; that are wanted of a row */
    int32_t wanteds, wanted;    /* how many; which one is asked for next, */
    int64_t row, column, lines; /* from where on; lines that are left */
    float rate, due;            /* lines for each step of the work; what part of a line the last step left over */
    int32_t portion; /* lines for each step that is counted by itself, rounded up: no branch goes now so, now so */
    cpu_wanted each[SOON];
} cpu_soon;

static inline void cpu_soon_start(cpu_soon *x, int64_t stride, int64_t numbers)
{
    x->stride = stride, x->numbers = numbers;
    x->wanteds = x->wanted = 0, x->row = x->column = x->lines = 0, x->rate = x->due = 0, x->portion = 0;
}

/* Rows first .. last of a plane, or none. */
static inline void cpu_soon_add(cpu_soon *x, const float *plane, int64_t first, int64_t last)
{
    if (!plane || first > last || x->wanteds == SOON) return;
    x->each[x->wanteds++] = (cpu_wanted){ plane + first * x->stride, last - first + 1 };
    x->lines += (last - first + 1) * ((x->numbers + SOON_LINE - 1) / SOON_LINE);
}

/* What was added is asked for over so many steps. */
static inline void cpu_soon_over(cpu_soon *x, int64_t steps)
{
    if (x->lines > SOON_MOST) x->lines = SOON_MOST;
    x->rate = steps > 0 ? (float)x->lines / (float)steps : 0;
}

/* The same, for cpu_ask_portion. */
static inline void cpu_soon_portions(cpu_soon *x, int64_t steps)
{
    if (x->lines > SOON_MOST) x->lines = SOON_MOST;
    x->portion = steps > 0 ? (int32_t)((x->lines + steps - 1) / steps) : 0;
}

static inline void cpu_ask_line(cpu_soon *x)
{
    const cpu_wanted *w = &x->each[x->wanted];
    vec_ask(w->at + x->row * x->stride + x->column);
    x->lines--, x->column += SOON_LINE;
    if (x->column < x->numbers) return;
    x->column = 0;
    if (++x->row == w->rows) x->row = 0, x->wanted++;
}

/* Some steps were taken. */
static inline void cpu_ask_soon(cpu_soon *x, int32_t steps)
{
    for (x->due += x->rate * (float)steps; x->due >= 1 && x->lines > 0; x->due--) cpu_ask_line(x);
}

/* A step was taken. */
static inline void cpu_ask_portion(cpu_soon *x)
{
    for (int32_t i = 0; i < x->portion && x->lines > 0; i++) cpu_ask_line(x);
}

#endif
