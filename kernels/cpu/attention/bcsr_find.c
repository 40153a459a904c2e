/* bcsr_find.c - the inspector of the format bcsr: which rows share their sources so far that
 * reading them together pays, and the panels of their blocks. Linear in edges and in columns x
 * LANES. */
#include "kernels/cpu/attention/bcsr.h"
#include <string.h>

enum {
    LEAST_EDGES = 8, /* a row, on average */
    MOST_RUNS = 128, /* likewise: a tree of 16 levels has 4 a level */
    NEAR_RUNS = 128, /* of a row, whose ranges are remembered for the next row */
    DENSITY = 4      /* the columns times LANES are at most this many times the edges */
};

int cpu_bcsr_pays(int64_t columns, int64_t edges)
{
    return edges >= LEAST_EDGES * LANES && columns * LANES <= DENSITY * edges;
}

/* ---- the union of the rows' sources -------------------------------------------------------- */

static int touches(const bcsr_range *x, int32_t kind, int32_t first, int32_t last)
{
    return x->kind == kind && x->first <= last + 1 && first <= x->last + 1;
}

static int holds(const bcsr_range *x, int32_t kind, int32_t first, int32_t last)
{
    return x->kind == kind && x->first <= first && last <= x->last;
}

/* Adds sources to the ranges, which ascend and do not touch, and notes where; 0 when there are too
 * many. What the same run of the row above was added to is looked at first. */
static int add_range(bcsr_work *w, int32_t kind, int32_t first, int32_t last, int *near)
{
    bcsr_range *x = w->range;
    int at = 0, behind;
    if (*near < w->ranges && holds(&x[*near], kind, first, last)) return 1;
    while (at < w->ranges && (x[at].kind < kind || (x[at].kind == kind && x[at].last + 1 < first)))
        at++;
    for (behind = at; behind < w->ranges && touches(&x[behind], kind, first, last); behind++) {
        if (x[behind].first < first) first = x[behind].first;
        if (x[behind].last > last) last = x[behind].last;
    }
    if (behind == at && w->ranges == BCSR_RANGES) return 0;
    if (behind != at + 1) memmove(x + at + 1, x + behind, sizeof *x * (size_t)(w->ranges - behind));
    w->ranges += at + 1 - behind;
    x[at] = (bcsr_range){ kind, first, last, 0 };
    *near = at;
    return 1;
}

/* The ranges of the rows' sources; 0 when they are too many, or runs of another step. */
static int unite(bcsr_work *w)
{
    const gsa_edges *e = w->edges;
    int near[NEAR_RUNS] = { 0 };
    int64_t columns = 0;
    for (int r = 0; r < LANES; r++) {
        const int64_t first_run = e->run_offset[w->row + r];
        for (int64_t i = first_run; i < e->run_offset[w->row + r + 1]; i++) {
            const gsa_run run = e->runs[i];
            const int32_t last = run.first + (run.count - 1) * run.step,
                          low = last < run.first ? last : run.first;
            if (!add_range(w, run.kind, low, last < run.first ? run.first : last,
                           &near[(i - first_run) % NEAR_RUNS]))
                return 0;
        }
    }
    for (int i = 0; i < w->ranges; i++) {
        w->range[i].column = (int32_t)columns;
        columns += w->range[i].last - w->range[i].first + 1;
        if (columns > BCSR_UNION) return 0;
    }
    w->columns = (int32_t)columns;
    return 1;
}

/* The column of a run's first source. `near`: of the range that is looked at first; afterwards of
 * the one that holds it. */
static int32_t column_of(const bcsr_work *w, const gsa_run *run, int32_t *near)
{
    const bcsr_range *x = w->range + *near;
    if (x->kind != run->kind || run->first < x->first || x->last < run->first)
        for (x = w->range; x->kind != run->kind || x->last < run->first; x++) {
        }
    *near = (int32_t)(x - w->range);
    return x->column + (run->first - x->first);
}

/* Marks what the run of the row at place `p` reads, by which labels; returns the bits before. */
static unsigned mark_run(bcsr_work *w, const gsa_run *run, int32_t column, int p)
{
    const int32_t step = run->count > 1 ? run->step : 0;
    uint16_t *mask = w->mask + column;
    unsigned seen = 0;
    for (int32_t k = 0; k < run->count; k++, mask += step)
        seen |= *mask, *mask = (uint16_t)(*mask | 1u << p);
    if (!w->labelled) return seen;
    uint16_t *to = w->label + (int64_t)column * LANES + p;
    for (int32_t k = 0; k < run->count; k++, to += step * LANES)
        *to = (uint16_t)(run->label + k * run->label_step);
    return seen;
}

/* Marks what the rows read; 0 when one reads a source twice. */
static int mark(bcsr_work *w)
{
    const gsa_edges *e = w->edges;
    int near[NEAR_RUNS] = { 0 };
    memset(w->mask, 0, sizeof *w->mask * (size_t)w->columns);
    for (int p = 0; p < LANES; p++) {
        const int64_t row = w->row + w->order[p], first = e->run_offset[row];
        for (int64_t i = first; i < e->run_offset[row + 1]; i++) {
            const gsa_run *run = &e->runs[i];
            if (mark_run(w, run, column_of(w, run, &near[(i - first) % NEAR_RUNS]), p) >> p & 1)
                return 0;
        }
    }
    return 1;
}

/* Each panel has the first row that is left and the three that share most columns with it. */
static void order_rows(bcsr_work *w)
{
    unsigned left = (1u << LANES) - 1;
    int32_t shared[LANES];
    for (int p = 0; p < LANES; p++) {
        const int first = __builtin_ctz(left);
        int best = first;
        if (p % PANEL_ROWS == 0) {
            memset(shared, 0, sizeof shared);
            for (int32_t c = 0; c < w->columns; c++)
                for (int r = 0; w->mask[c] >> first & 1 && r < LANES; r++)
                    shared[r] += w->mask[c] >> r & 1;
        }
        for (int r = first; r < LANES; r++)
            if (left >> r & 1 && shared[r] > shared[best]) best = r;
        w->order[p] = (uint8_t)best, left &= ~(1u << best);
    }
}

int cpu_bcsr_find(const gsa_edges *e, int64_t row, int64_t last, int labelled, bcsr_work *w)
{
    if (!cpu_rows_follow(e, row, LANES, last)) return 0;
    const int64_t edges = e->edge_offset[row + LANES] - e->edge_offset[row];
    if (edges < LEAST_EDGES * LANES ||
        e->run_offset[row + LANES] - e->run_offset[row] > MOST_RUNS * LANES)
        return 0;
    if (labelled && e->labels > BCSR_ALL) return 0;
    w->edges = e, w->row = row, w->labelled = labelled, w->ranges = 0;
    if (labelled) memset(w->place, -1, sizeof *w->place * (size_t)e->labels);
    for (int p = 0; p < LANES; p++) w->order[p] = (uint8_t)p;
    if (!unite(w) || !cpu_bcsr_pays(w->columns, edges) || !mark(w)) return 0;
    order_rows(w);
    return mark(w);
}

/* ---- a block and its panels ---------------------------------------------------------------- */

typedef struct listing { /* of one panel */
    const bcsr_work *w;
    int32_t first, columns; /* of the union: those of the block */
    int first_row;
    int32_t count, labels;
    uint16_t column[BCSR_COLUMNS], wanted[BCSR_LABELS]; /* those that are read, by these labels */
    int16_t place[BCSR_LABELS]; /* of a label among those wanted, -1: it is not */
} listing;

static unsigned bits_of(const listing *x, int32_t column)
{
    return (unsigned)x->w->mask[x->first + column] >> x->first_row & 15u;
}

static int32_t label_of(const listing *x, int32_t column, int r)
{
    return x->w->label[(x->first + column) * LANES + x->first_row + r];
}

static void find_columns(listing *x)
{
    x->count = 0;
    for (int32_t c = 0; c < x->columns; c++)
        if (bits_of(x, c)) x->column[x->count++] = (uint16_t)c;
}

static void want_labels(listing *x, int32_t labels)
{
    memset(x->place, -1, sizeof *x->place * (size_t)labels);
    x->labels = 0;
    for (int32_t i = 0; labels > 0 && i < x->count; i++)
        for (unsigned bits = bits_of(x, x->column[i]); bits; bits &= bits - 1) {
            const int32_t label = label_of(x, x->column[i], __builtin_ctz(bits));
            if (x->place[label] >= 0) continue;
            x->place[label] = (int16_t)x->labels, x->wanted[x->labels++] = (uint16_t)label;
        }
}

static void write_columns(const listing *x, const bcsr_panel *panel, uint16_t *column,
                          uint16_t *mask)
{
    const int32_t places = cpu_whole_quads(panel->count);
    memset(mask, 0, sizeof *mask * (size_t)(places / QUADS));
    for (int32_t i = 0; i < places; i++) {
        column[i] = x->column[i < panel->count ? i : 0];
        if (i < panel->count)
            mask[i / QUADS] =
                (uint16_t)(mask[i / QUADS] | bits_of(x, column[i]) << 4 * (i % QUADS));
    }
}

static void write_labels(const listing *x, const bcsr_panel *panel, uint16_t *wanted,
                         uint16_t *from)
{
    for (int32_t i = 0; i < cpu_whole_quads(x->labels); i++)
        wanted[i] = x->wanted[i < x->labels ? i : 0];
    memset(from, 0, sizeof *from * 4 * (size_t)cpu_whole_quads(panel->count));
    for (int32_t i = 0; i < x->count; i++, from += 4) {
        unsigned bits = bits_of(x, x->column[i]), differ = 0;
        const int first = __builtin_ctz(bits);
        for (; bits; bits &= bits - 1) {
            const int r = __builtin_ctz(bits);
            from[r] = (uint16_t)x->place[label_of(x, x->column[i], r)];
            differ |= from[r] ^ from[first];
        }
        if (!differ) from[0] = (uint16_t)(from[first] | PANEL_SAME);
    }
}

static void list_panels(bcsr_work *w, int32_t first, bcsr_block *block)
{
    uint16_t *at = w->lists;
    listing x;
    x.w = w, x.first = first, x.columns = block->columns;
    for (int g = 0; g < QUADS; g++) {
        bcsr_panel *panel = &block->panel[g];
        x.first_row = 4 * g;
        find_columns(&x);
        want_labels(&x, block->labels);
        *panel = (bcsr_panel){ .count = x.count, .labels = x.labels };
        uint16_t *const end = at + (bcsr_lay(panel, at) - at);
        write_columns(&x, panel, at, at + (panel->mask - at));
        if (x.labels > 0)
            write_labels(&x, panel, at + (panel->wanted - at), at + (panel->from - at));
        at = end;
    }
}

/* The ranges of a block's columns. */
static void cut_ranges(bcsr_work *w, int32_t first, bcsr_block *block)
{
    const int32_t end = first + block->columns;
    for (const bcsr_range *x = w->range; x < w->range + w->ranges; x++) {
        const int32_t low = first > x->column ? first - x->column : 0,
                      size = x->last - x->first + 1;
        const int32_t high = end - x->column < size ? end - x->column : size;
        if (low >= high) continue;
        w->cut[block->ranges++] =
            (bcsr_range){ x->kind, x->first + low, x->first + high - 1, x->column + low - first };
    }
}

/* Notes the labels of a block; 0 when there are too many. */
static int name_labels(bcsr_work *w, int32_t first, bcsr_block *block)
{
    for (int32_t c = first; c < first + block->columns; c++)
        for (unsigned bits = w->mask[c]; bits; bits &= bits - 1) {
            uint16_t *label = &w->label[(int64_t)c * LANES + __builtin_ctz(bits)];
            if (w->place[*label] < 0) {
                if (block->labels == BCSR_LABELS) return 0;
                w->place[*label] = (int16_t)block->labels, w->named[block->labels++] = *label;
            }
            *label = (uint16_t)w->place[*label];
        }
    for (int32_t i = 0; i < block->labels; i++) w->place[w->named[i]] = -1;
    return 1;
}

int32_t cpu_bcsr_next(bcsr_work *w, int32_t from, bcsr_block *block)
{
    const int32_t left = w->columns - from;
    *block = (bcsr_block){ .row = w->row,
                           .columns = left < BCSR_COLUMNS ? left : BCSR_COLUMNS,
                           .blocks = (left + BCSR_COLUMNS - 1) / BCSR_COLUMNS,
                           .range = w->cut,
                           .mask = w->mask + from,
                           .label = w->named };
    memcpy(block->order, w->order, sizeof w->order);
    cut_ranges(w, from, block);
    if (w->labelled && !name_labels(w, from, block)) return 0;
    list_panels(w, from, block);
    return from + block->columns;
}
