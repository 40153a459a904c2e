/* bcsr.h - the format bcsr: block compressed sparse rows.
 *
 * LANES rows that follow one another in an example and read much the same sources are a small
 * dense problem with a mask. The union of their sources is cut into blocks of at most BCSR_COLUMNS
 * columns. A block goes by micro-panels: four rows and the columns that one of them reads, an
 * order of its own. A row of K meets the four queries of a panel; a row of dK and dV is read and
 * written once a block.
 *
 *                                     columns of the block
 *     row 0  x x x x . .  . . .       panel 0: columns 0 1 2 3 4 5; scores [place][4 rows],
 *     row 1  . x x x x .  . . .         QUADS places are in a vector
 *     row 2  . . x x x x  . . .
 *     row 3  . . . x x x  . . .
 *     row 4  . . . . x x  x . .       panel 1: columns 4 5 6 ...
 *     ...
 *
 * What labels add is worked out once a panel for each label that its rows read by, and looked up
 * edge by edge.
 *
 * Blocks start at rows whose place in their example is a multiple of LANES: how examples are
 * batched changes none. Outside the mask weights are 0, and 0 times infinity is not 0: what is not
 * finite is computed again row by row. */
#ifndef GSA_CPU_BCSR_H
#define GSA_CPU_BCSR_H
#include "kernels/cpu/attention/attend.h"
#include "kernels/cpu/attention/prefetch.h"
#include "kernels/ref/attend_items.h"

enum {
    BCSR_UNION = 8192,   /* sources that LANES rows read at most */
    BCSR_COLUMNS = 1024, /* of a block at most, */
    BCSR_LABELS = 1056,  /* and labels: diagonals of as many columns have one a column and row */
    BCSR_ALL = 16384,    /* labels of all edges at most */
    BCSR_RANGES = 64,    /* of neighbouring sources at most */
    BCSR_DIM = 512,      /* columns of a head at most */
    PANEL_ROWS = 4,
    PANEL_SAME = 1 << 15,
    PANEL_ENDS = 48, /* numbers of a panel's lists at most, next to 4 an edge: what goes up to
                        multiples of QUADS */
    PANEL_LISTS =
        6 * BCSR_COLUMNS + BCSR_LABELS + PANEL_ENDS /* of any panel: column, mask, from; wanted */
};

typedef struct bcsr_range { /* sources first .. last of a kind are columns from `column` on */
    int32_t kind, first, last, column;
} bcsr_range;

typedef struct bcsr_panel {
    int32_t count;  /* places; after them columns that are there and none of whose lanes is an edge,
                       up to a multiple of QUADS */
    int32_t labels; /* by which the rows read them; 0 where labels do not matter */
    const uint16_t *column;
    const uint16_t *mask; /* [vectors]: the lanes that are edges, lane 4 i + r: row r at place i */
    const uint16_t *wanted; /* [labels], up to a multiple of QUADS: places among the block's */
    const uint16_t *from; /* [places][4], none where labels do not matter: i where row r's label is
                             wanted[i]; 0 where it has none. The first with PANEL_SAME: all rows
                             that read the place do so by that label */
} bcsr_panel;

typedef struct bcsr_block {
    int64_t row;          /* the first of LANES */
    uint8_t order[LANES]; /* place p, of panel p / 4, has the row row + order[p] */
    int32_t columns, ranges, labels;
    int32_t blocks; /* of the same rows, with this one and those after it */
    const bcsr_range *range;
    const uint16_t *mask; /* [columns]; bit p: the row at place p reads the column */
    const int32_t *label; /* [labels], none where they do not matter */
    bcsr_panel panel[QUADS];
} bcsr_block;

typedef struct bcsr_work { /* what finding the blocks of LANES rows needs */
    const gsa_edges *edges;
    int64_t row;
    uint8_t order[LANES];
    int labelled;
    int32_t columns, ranges; /* of the union */
    bcsr_range range[BCSR_RANGES];
    uint16_t mask[BCSR_UNION];
    uint16_t label[BCSR_UNION *
                   LANES];   /* [column][place]; of the block that is cut: where among its labels */
    int16_t place[BCSR_ALL]; /* of a label in the block that is cut, -1: it has none */
    bcsr_range cut[BCSR_RANGES];
    int32_t named[BCSR_LABELS];
    uint16_t lists[QUADS * PANEL_LISTS];
} bcsr_work;
_Static_assert(sizeof(bcsr_work) <= ROOM, "it is in a room");

/* Whether so many columns may be blocks. */
int cpu_bcsr_pays(int64_t columns, int64_t edges);

/* 1 when the rows from `row` on, before `last`, are blocks: `x` gets their union. */
int cpu_bcsr_find(const gsa_edges *e, int64_t row, int64_t last, int labelled, bcsr_work *x);
/* The block of the union's columns from `from` on; returns the next one's first column, 0 when
 * there are too many labels. */
int32_t cpu_bcsr_next(bcsr_work *x, int32_t from, bcsr_block *block);

/* Whether a call can work by blocks at all; whether labels matter to it. */
static inline int bcsr_serves(const ref_attend *t)
{
    return cpu_by_panels(t) && t->dim <= BCSR_DIM;
}
static inline int cpu_labelled(const ref_attend *t)
{
    return t->r || t->bias || t->args->dlabel_vectors || t->args->dlabel_bias;
}

static inline int32_t cpu_whole_quads(int32_t count)
{
    return (count + QUADS - 1) / QUADS * QUADS;
}

/* The row at place p. */
static inline int64_t bcsr_row(const bcsr_block *block, int p)
{
    return block->row + block->order[p];
}

/* How many vectors of a block are scored or mixed. */
static inline int64_t bcsr_vectors(const bcsr_block *block)
{
    int64_t vectors = 0;
    for (int g = 0; g < QUADS; g++) vectors += 2 * ((block->panel[g].count + QUADS - 1) / QUADS);
    return vectors;
}

/* Where the lists of a panel are, one after the other from `at` on; returns their end. */
static inline const uint16_t *bcsr_lay(bcsr_panel *x, const uint16_t *at)
{
    const int32_t places = cpu_whole_quads(x->count);
    x->column = at, x->mask = x->column + places, x->wanted = x->mask + places / QUADS;
    x->from = x->wanted + cpu_whole_quads(x->labels);
    return x->from + (x->labels > 0 ? 4 * (int64_t)places : 0);
}

/* The part of a run that a block has, edges `skipped` .. of it; 0 when there is none. */
static inline int32_t bcsr_clip(const bcsr_block *block, gsa_run *run, int32_t *skipped,
                                int32_t *column)
{
    const int32_t step = run->count > 1 ? run->step : 1, apart = step < 0 ? -step : step,
                  end = run->first + (run->count - 1) * step;
    const int32_t low = ref_smaller(run->first, end), high = low == end ? run->first : end;
    const bcsr_range *x = block->range, *const last = x + block->ranges;
    while (x < last && (x->kind != run->kind || x->last < low)) x++;
    if (x == last || x->first > high) return 0;
    const int32_t from = low > x->first ? low : x->first, to = high < x->last ? high : x->last;
    *skipped = ((step > 0 ? from - run->first : run->first - to) + apart - 1) / apart;
    run->first += *skipped * step, run->label += *skipped * run->label_step;
    const int32_t left = step > 0 ? to - run->first : run->first - from;
    if (left < 0) return 0;
    *column = x->column + run->first - x->first;
    return run->count = left / apart + 1;
}

typedef struct cpu_reading cpu_reading; /* bcsr_read.h */

/* The forward pass of the `block->blocks` blocks from `block` on; 0 when something is not finite:
 * then rows are computed one by one, for a NaN or an infinity that a row does not read must not
 * reach it. */
int cpu_bcsr_forward(const ref_attend *t, const bcsr_block *block, cpu_reading *reading,
                     void *room);

/* The backward pass of one block for the heads that are read. */
void cpu_bcsr_backward(const ref_attend *t, const bcsr_block *block, cpu_reading *reading,
                       const ref_label_sums *sums, void *room);

#endif
