/* interval.c - the passes of attention over a source axis, piece by piece. Rows that read all of a
 * piece go four at a time (interval.h), short ones as slices (ell.h), the ends of long ones
 * by rows. Which rows go together is a function of the axis alone. */
#include <math.h>
#include "kernels/cpu/attention/ell.h"
#include "kernels/cpu/attention/interval.h"
#include "kernels/cpu/attention/row.h"

enum { OPEN = 64 /* short rows that are taken step by step at once, at most */ };

typedef struct piece { /* at work: sources from .. end-1 of an axis */
    const ref_attend *t;
    const cpu_intervals *all;
    const cpu_axis *axis;
    gsa_rows rows;              /* backward: those of the call */
    int64_t from, end, step;    /* step: the first, among those of all axes */
    int32_t first, last;        /* heads */
    const ref_label_sums *sums; /* NULL: forward */
    cpu_interval_panel panel;   /* rows that read all of it and wait for others */
    cpu_ell waiting;            /* short rows, from piece to piece */
    cpu_prefetch prefetch;      /* what the next piece reads */
    /* Of the forward pass. */
    const cpu_interval_states *x;
    int64_t segment;          /* the first source */
    int32_t slot[PANEL_ROWS]; /* of the panel's rows; -1: short ones */
    /* Of the backward pass. */
    int32_t open[OPEN]; /* short rows that began here or before and do not end before */
    int opens;
} piece;

/* Short ranges that start in the sources from `step` on. */
static const int32_t *shorts_of(const piece *p, int64_t step, int64_t sources, int64_t *count)
{
    const int64_t first = p->all->short_start[step];
    *count = p->all->short_start[step + (sources + STEP - 1) / STEP] - first;
    return p->all->short_row + first;
}

/* Notes what the piece of `take` sources after this one reads, and the rows that start there: it
 * is prefetched while this one is worked on, in the order of addresses (kernels/cpu/TRIED.md: what
 * memory gives). */
static void want_next(piece *p, int64_t take, int64_t last)
{
    const ref_attend *t = p->t;
    const gsa_part *part = &t->args->parts[p->axis->kind];
    const int planes = p->sums ? 4 : 2;
    const void *const source[] = { part->k, part->v, part->dk, part->dv };
    const void *const row[] = { t->args->q, p->sums ? t->args->dout : NULL, t->args->out,
                                t->args->dq };
    const int64_t column = (int64_t)p->first * t->dim,
                  end = p->end + take < last ? p->end + take : last;
    int64_t count;
    cpu_prefetch_start(&p->prefetch, t->width, (int64_t)(p->last - p->first) * t->dim);
    if (p->end >= last || (p->axis->end - p->axis->first) * t->width < PREFETCH_LEAST) return;
    const int32_t *rows =
        shorts_of(p, p->step + (p->end - p->from + STEP - 1) / STEP, end - p->end, &count);
    cpu_prefetch_planes(&p->prefetch, source, planes, column, p->end, end - 1);
    for (int64_t i = 0, j; i < count; i = j) {
        for (j = i + 1; j < count && rows[j] == rows[j - 1] + 1;) j++;
        cpu_prefetch_planes(&p->prefetch, row, planes, column, rows[i], rows[i] + (j - i) - 1);
    }
    cpu_prefetch_pace(&p->prefetch, 2 * (p->last - p->first) * take / QUADS);
}

static void begin_piece(piece *p, int64_t take, int64_t last)
{
    p->end = p->from + take < last ? p->from + take : last;
    p->panel = (cpu_interval_panel){ .t = p->t,
                                     .prefetch = &p->prefetch,
                                     .from = p->from,
                                     .columns = (int32_t)(p->end - p->from),
                                     .kind = p->axis->kind };
    want_next(p, take, last);
}

/* Whether a row reads all of the piece. */
static int reads_all(const piece *p, int64_t row)
{
    const gsa_run *run = cpu_range(p->t->edges, row);
    return run->first <= p->from && run->first + (int64_t)run->count >= p->end;
}

/* ---- forward ------------------------------------------------------------------------------- */

/* Whether a slot's part of a row ends with the piece, and with it the row. */
static int ends(const piece *p, int64_t row, int32_t slot)
{
    const gsa_run *run = cpu_range(p->t->edges, row);
    return slot >= p->all->shared && run->first + (int64_t)run->count <= p->end;
}

static float *state_of(const ref_attend *t, const cpu_interval_states *x, int64_t slot)
{
    return x->state + slot * t->heads * SOFTMAX;
}

static float *out_of(const piece *p, int64_t row, int32_t slot)
{
    const ref_attend *t = p->t;
    return slot >= 0 && slot < p->all->shared ? p->x->mix + slot * t->width
                                              : (float *)t->args->out + row * t->width;
}

/* Whether a row's part in the segment begins with the piece, or in it. */
static int begins(const piece *p, int64_t row)
{
    const int64_t first = cpu_range(p->t->edges, row)->first;
    return (first > p->segment ? first : p->segment) >= p->from;
}

/* A long row that begins or ends in the piece. */
static void forward_part(piece *p, int64_t row, int32_t slot)
{
    const ref_attend *t = p->t;
    float *out = out_of(p, row, slot);
    float *state = state_of(t, p->x, slot);
    cpu_block block;
    if (!cpu_range_block(t, cpu_range(t->edges, row), p->from, p->end, &block)) return;
    cpu_row_forward(t, row, &block, 0, t->heads, state, out, begins(p, row), NULL);
    if (ends(p, row, slot)) cpu_row_end(t, row, 0, t->heads, state, out);
}

static void forward_panel(piece *p)
{
    cpu_interval_panel *g = &p->panel;
    for (int r = 0; r < g->rows; r++) {
        const int64_t row = g->row[r];
        const int32_t slot = p->slot[r];
        g->out[r] = out_of(p, row, slot);
        g->state[r] = slot < 0 ? NULL : state_of(p->t, p->x, slot);
        g->fresh[r] = begins(p, row), g->ends[r] = slot < 0 || ends(p, row, slot);
    }
    if (g->rows > 0) cpu_interval_panel_forward(g);
    g->rows = 0;
}

/* 1 when the row waits for others, or went with them. */
static int join_panel(piece *p, int64_t row, int32_t slot)
{
    if (!reads_all(p, row)) return 0;
    p->panel.row[p->panel.rows] = row, p->slot[p->panel.rows++] = slot;
    if (p->panel.rows == PANEL_ROWS) forward_panel(p);
    return 1;
}

void cpu_interval_forward(const ref_attend *t, const cpu_interval_states *x, int64_t segment)
{
    const cpu_intervals *s = x->all;
    const cpu_axis *axis = &s->axis[s->segment_axis[segment]];
    const int64_t behind = segment - axis->segment, first = axis->first + behind * SEGMENT,
                  last = first + SEGMENT < axis->end ? first + SEGMENT : axis->end;
    piece p = { .t = t, .all = s, .axis = axis, .last = t->heads, .x = x, .segment = first };
    p.step = axis->step + behind * (SEGMENT / STEP);
    cpu_ell_begin(&p.waiting, t, 0, t->heads, NULL);
    for (p.from = first; p.from < last; p.from = p.end, p.step += PIECE / STEP) {
        begin_piece(&p, PIECE, last);
        int64_t count;
        const int32_t *rows = shorts_of(&p, p.step, p.end - p.from, &count);
        for (int64_t i = 0; i < count; i++)
            if (!join_panel(&p, rows[i], -1)) cpu_ell_put(&p.waiting, rows[i]);
        for (int64_t i = s->long_start[segment]; i < s->long_start[segment + 1]; i++)
            if (!join_panel(&p, s->long_part[i].row, s->long_part[i].slot))
                forward_part(&p, s->long_part[i].row, s->long_part[i].slot);
        forward_panel(&p);
        cpu_prefetch_lines(&p.prefetch, PREFETCH_MOST);
    }
    cpu_ell_end(&p.waiting);
    vec_stream_end();
}

void cpu_interval_join(const ref_attend *t, const cpu_interval_states *x, int64_t crossing)
{
    const cpu_crossing c = x->all->crossing[crossing];
    float *out = (float *)t->args->out + c.row * t->width, *state = state_of(t, x, c.slot),
          *mix = x->mix + c.slot * t->width;
    for (int32_t i = 1; i < c.slots; i++)
        cpu_row_join(t, state, mix, state_of(t, x, c.slot + i), mix + i * t->width);
    memcpy(out, mix, sizeof *out * (size_t)t->width);
    cpu_row_end(t, c.row, 0, t->heads, state, out);
}

/* ---- backward ------------------------------------------------------------------------------ */

/* What a row reads of the piece. */
static void backward_part(const piece *p, int64_t row)
{
    cpu_block block;
    if (cpu_range_block(p->t, cpu_range(p->t->edges, row), p->from, p->end, &block))
        cpu_row_backward(p->t, row, &block, p->first, p->last, p->sums, NULL);
}

static void backward_panel(piece *p)
{
    const int rows = p->panel.rows;
    if (rows > 0 && !cpu_interval_panel_backward(&p->panel, p->first, p->last, p->sums))
        for (int r = 0; r < rows; r++) backward_part(p, p->panel.row[r]);
    p->panel.rows = 0;
}

static int takes(const piece *p, int64_t row)
{
    return row >= p->rows.first && row < p->rows.first + p->rows.count;
}

static void backward_row(piece *p, int64_t row)
{
    if (!reads_all(p, row)) {
        backward_part(p, row);
        return;
    }
    p->panel.row[p->panel.rows++] = row;
    if (p->panel.rows == PANEL_ROWS) backward_panel(p);
}

/* Short rows that begin here: those that read whole steps stay open. */
static void backward_shorts(piece *p)
{
    int64_t count;
    int opens = 0;
    const int32_t *rows = shorts_of(p, p->step, p->end - p->from, &count);
    for (int64_t i = 0; i < count; i++) {
        if (!takes(p, rows[i])) continue;
        if (p->opens < OPEN && reads_all(p, rows[i])) p->open[p->opens++] = rows[i];
        else cpu_ell_put(&p->waiting, rows[i]);
    }
    for (int i = 0; i < p->opens; i++) {
        const gsa_run *run = cpu_range(p->t->edges, p->open[i]);
        backward_row(p, p->open[i]);
        if (run->first + (int64_t)run->count > p->end) p->open[opens++] = p->open[i];
    }
    p->opens = opens;
}

void cpu_interval_backward(const ref_attend *t, const cpu_intervals *s, int64_t axis, gsa_rows rows,
                           int32_t first, int32_t last, const ref_label_sums *sums)
{
    const cpu_axis *x = &s->axis[axis];
    piece p = { .t = t,
                .all = s,
                .axis = x,
                .rows = rows,
                .first = first,
                .last = last,
                .sums = sums,
                .step = x->step };
    cpu_ell_begin(&p.waiting, t, first, last, sums);
    for (p.from = x->first; p.from < x->end; p.from = p.end, p.step++) {
        const int64_t segment = x->segment + (p.from - x->first) / SEGMENT;
        begin_piece(&p, STEP, x->end);
        backward_shorts(&p);
        for (int64_t i = s->long_start[segment]; i < s->long_start[segment + 1]; i++) {
            const gsa_run *run = cpu_range(t->edges, s->long_part[i].row);
            if (takes(&p, s->long_part[i].row) && run->first < p.end &&
                run->first + (int64_t)run->count > p.from)
                backward_row(&p, s->long_part[i].row);
        }
        backward_panel(&p);
        cpu_prefetch_lines(&p.prefetch, PREFETCH_MOST);
    }
    cpu_ell_end(&p.waiting);
}
