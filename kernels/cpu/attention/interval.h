/* interval.h - the format interval: rows that read one range of sources each, where the ranges of
 * rows that are far apart lie over one another (the spans of a tree).
 *
 * Row after row, the spans of a tree read every token once a level, from memory once texts are
 * long. Here pieces of the source axis are outermost (source-stationary): a piece is given to all
 * rows that read of it, so that planes are passed through once, whatever the number of levels. A
 * range of up to PIECE sources is taken whole, where it starts; a longer one piece by piece, with
 * its running maximum and sum kept (forward) or nothing (backward, by STEP sources). Pieces are
 * counted from the first source of the axis: how examples are batched changes none, nor does the
 * number of threads. */
#ifndef GSA_CPU_INTERVAL_H
#define GSA_CPU_INTERVAL_H
#include "kernels/cpu/attention/panel.h"
#include "kernels/ref/attend_items.h"

enum {
    PIECE = BLOCK,        /* sources at a time */
    STEP = 16,            /* backward; PIECE / STEP of them are a piece */
    SEGMENT = 16 * PIECE, /* sources of an item of the forward pass; ranges that reach over its end
                             are joined afterwards */
    AXIS_SOURCES = 4 * PIECE /* of an axis at least: fewer are in the caches anyway */
};

typedef struct cpu_long { /* a range of more than PIECE sources, as far as it lies in a segment */
    int32_t row, slot;    /* slot: where its state is */
} cpu_long;

typedef struct cpu_crossing { /* such a range in several segments: its slots follow one another */
    int32_t row, slot, slots;
} cpu_crossing;

typedef struct cpu_axis { /* of the rows of one example and kind */
    gsa_rows rows;
    int32_t kind, first, end; /* sources first .. end-1 */
    int64_t step, segment;    /* the first, among those of all axes */
    int64_t after_row; /* after which its segments come among a call's items: never falls from
                          axis to axis */
} cpu_axis;

typedef struct cpu_intervals { /* NULL arrays where count is 0 */
    int64_t count, steps, segments, shorts, longs, slots, crossings;
    int64_t shared; /* slots 0 .. shared-1 are those of crossing ranges */
    cpu_axis *axis;
    int32_t *axis_of;      /* [rows] of the edges: 1 + the axis that has the row, or 0 */
    int64_t *short_start;  /* [steps + 1] of short_row, by the step where a range starts */
    int32_t *short_row;    /* ascending in a step */
    int64_t *long_start;   /* [segments + 1] of long_part */
    cpu_long *long_part;   /* ascending in a segment */
    int32_t *segment_axis; /* [segments] */
    cpu_crossing *crossing;
} cpu_intervals;

/* Finds the axes, in time linear in rows and runs. 0, and nothing is held, without memory. */
int cpu_intervals_make(const gsa_system *system, const gsa_edges *edges, cpu_intervals *all);
void cpu_intervals_release(const gsa_system *system, cpu_intervals *all);

typedef struct cpu_interval_states { /* of the forward pass */
    const cpu_intervals *all;
    float *state; /* [slots][heads][SOFTMAX], as row.h has them */
    float *mix;   /* [shared][width]: crossing ranges keep their mix of values too */
} cpu_interval_states;

void cpu_interval_forward(const ref_attend *t, const cpu_interval_states *x, int64_t segment);
void cpu_interval_join(const ref_attend *t, const cpu_interval_states *x,
                       int64_t crossing); /* after all segments */
/* Of the axis' rows those that are among `rows`. */
void cpu_interval_backward(const ref_attend *t, const cpu_intervals *all, int64_t axis,
                           gsa_rows rows, int32_t first, int32_t last, const ref_label_sums *sums);

/* The run of a row that reads one range by one label, else NULL. */
static inline const gsa_run *cpu_range(const gsa_edges *e, int64_t row)
{
    const gsa_run *run = e->runs + e->run_offset[row];
    if (e->run_offset[row + 1] - e->run_offset[row] != 1) return NULL;
    return run->count == 1 || (run->step == 1 && run->label_step == 0) ? run : NULL;
}

/* How many edges of a range, at most BLOCK, lead to the sources from .. end-1. */
static inline int32_t cpu_range_block(const ref_attend *t, const gsa_run *run, int64_t from,
                                      int64_t end, cpu_block *block)
{
    const int64_t low = from > run->first ? from : run->first,
                  high = (int64_t)run->first + run->count;
    gsa_run cut = *run;
    cut.count = (int32_t)((end < high ? end : high) - run->first);
    ref_walk walk = { &cut, &cut + 1, (int32_t)(low - run->first) };
    block->first = (uint32_t)walk.done, block->count = 0;
    return low < run->first + (int64_t)cut.count ? cpu_next(t, &walk, block) : 0;
}

/* Four rows that read all sources of a piece (interval_panel.c). A row of K meets the four queries
 * while these are in registers, and a row of V goes into four outputs (panel.h): K, V, dK and dV
 * are read and written once for four rows. Every row reads every column: nothing is masked, and
 * what is not finite needs no second way. A label is the same along a range: what it adds to a
 * row's scores is one number. */
typedef struct cpu_interval_panel {
    const ref_attend *t;
    cpu_prefetch *prefetch;
    int64_t from; /* sources from .. from+columns-1, columns <= PIECE */
    int32_t columns, kind;
    int rows; /* 1 .. PANEL_ROWS */
    int64_t row[PANEL_ROWS];
    /* Of the forward pass. */
    float *out[PANEL_ROWS];
    float *state[PANEL_ROWS]; /* [heads][SOFTMAX]; `fresh`: not read; `ends`: not written */
    int fresh[PANEL_ROWS], ends[PANEL_ROWS];
} cpu_interval_panel;

void cpu_interval_panel_forward(const cpu_interval_panel *g);
/* The gradients of some heads; 0, and nothing is done, when a row has none (its lse is -inf). */
int cpu_interval_panel_backward(const cpu_interval_panel *g, int32_t first, int32_t last,
                                const ref_label_sums *sums);

#endif
