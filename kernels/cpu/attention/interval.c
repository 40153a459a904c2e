/* interval.c - the passes of attention over a source axis, piece by piece. Rows that read all of a
 * piece go four at a time (interval.h), short ones as slices (ell.h), the ends of long ones
 * by rows. Which rows go together is a function of the axis alone. */
#include <float.h>
#include <math.h>
#include "kernels/cpu/attention/bcsr_read.h"
#include "kernels/cpu/attention/ell.h"
#include "kernels/cpu/attention/interval.h"

enum { OPEN = 64 /* short rows that are taken step by step at once, at most */ };

typedef struct piece { /* at work: sources from .. end-1 of an axis */
    const ref_attend *t;
    const cpu_intervals *all;
    const cpu_axis *axis;
    int64_t from, end, step;    /* step: the first, among those of all axes */
    int32_t first, last;        /* heads */
    const ref_label_sums *sums; /* NULL: forward */
    cpu_interval_panel panel;   /* rows that read all of it and wait for others */
    cpu_ell waiting;            /* short rows, from piece to piece */
    cpu_soon soon;              /* what the next piece reads */
    /* Of the forward pass. */
    const cpu_interval_states *x;
    int64_t segment;     /* the first source */
    int32_t slot[STRIP]; /* of the panel's rows; -1: short ones */
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
    const float *const source[] = { part->k, part->v, part->dk, part->dv };
    const float *const row[] = { t->args->q, p->sums ? t->args->dout : NULL, t->args->out,
                                 t->args->dq };
    const int64_t column = (int64_t)p->first * t->dim,
                  end = p->end + take < last ? p->end + take : last;
    int64_t count;
    cpu_soon_start(&p->soon, t->width, (int64_t)(p->last - p->first) * t->dim);
    if (p->end >= last || (p->axis->end - p->axis->first) * t->width < READ_LEAST) return;
    const int32_t *rows =
        shorts_of(p, p->step + (p->end - p->from + STEP - 1) / STEP, end - p->end, &count);
    for (int i = 0; i < planes; i++)
        cpu_soon_add(&p->soon, source[i] ? source[i] + column : NULL, p->end, end - 1);
    for (int64_t i = 0, j; i < count; i = j) {
        for (j = i + 1; j < count && rows[j] == rows[j - 1] + 1;) j++;
        for (int k = 0; k < planes; k++)
            cpu_soon_add(&p->soon, row[k] ? row[k] + column : NULL, rows[i], rows[i] + (j - i) - 1);
    }
    cpu_soon_portions(&p->soon, 2 * (p->last - p->first) * take / QUADS);
}

static void begin_piece(piece *p, int64_t take, int64_t last)
{
    p->end = p->from + take < last ? p->from + take : last;
    p->panel = (cpu_interval_panel){ .t = p->t,
                                     .soon = &p->soon,
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
    cpu_softmax *state = p->x->state + slot * cpu_states(t);
    cpu_block block;
    if (!cpu_range_block(t, cpu_range(t->edges, row), p->from, p->end, &block)) return;
    cpu_forward_block(t, row, &block, state, out, begins(p, row));
    if (ends(p, row, slot)) cpu_forward_end(t, row, state, out);
}

static void forward_panel(piece *p)
{
    cpu_interval_panel *g = &p->panel;
    for (int r = 0; r < g->rows; r++) {
        const int64_t row = g->row[r];
        const int32_t slot = p->slot[r];
        g->out[r] = out_of(p, row, slot);
        g->state[r] = slot < 0 ? NULL : p->x->state + slot * cpu_states(p->t);
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
    if (p->panel.rows == STRIP) forward_panel(p);
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
        cpu_ask_lines(&p.soon, SOON_MOST);
    }
    cpu_ell_end(&p.waiting);
    vec_stream_end();
}

/* Adds the state and the mix of one slot to those of the first, a group of heads at a time. */
static void join_slot(const ref_attend *t, const cpu_interval_states *x, int32_t to, int32_t from)
{
    float *sum = x->mix + to * t->width, shrink[2][LANES];
    const float *more = x->mix + from * t->width;
    for (int32_t h = 0; h < t->heads; h += QUADS) {
        const int64_t group = h / HEADS * GROUPS + h % HEADS / QUADS;
        cpu_softmax *a = x->state + to * cpu_states(t) + group;
        const cpu_softmax *b = x->state + from * cpu_states(t) + group;
        const vec top = vec_max(b->top, a->top), take = vec_exp(vec_sub(b->top, top));
        vec_store(shrink[0], cpu_absorb(a, top, vec_mul(vec_sub(b->sum, b->lost), take)));
        vec_store(shrink[1], take);
        for (int32_t j = 0; j < QUADS && h + j < t->heads; j++)
            for (int64_t i = (int64_t)(h + j) * t->dim; i < (int64_t)(h + j + 1) * t->dim; i++)
                sum[i] = shrink[0][4 * j] * sum[i] + shrink[1][4 * j] * more[i];
    }
}

void cpu_interval_join(const ref_attend *t, const cpu_interval_states *x, int64_t crossing)
{
    const cpu_crossing c = x->all->crossing[crossing];
    float *out = (float *)t->args->out + c.row * t->width;
    for (int32_t i = 1; i < c.slots; i++) join_slot(t, x, c.slot, c.slot + i);
    memcpy(out, x->mix + c.slot * t->width, sizeof *out * (size_t)t->width);
    cpu_forward_end(t, c.row, x->state + c.slot * cpu_states(t), out);
}

/* ---- backward ------------------------------------------------------------------------------ */

/* What a row reads of the piece. */
static void backward_part(const piece *p, int64_t row)
{
    cpu_block block;
    if (cpu_range_block(p->t, cpu_range(p->t->edges, row), p->from, p->end, &block))
        cpu_back_block(p->t, row, &block, p->first, p->last, p->sums);
}

static void backward_panel(piece *p)
{
    const int rows = p->panel.rows;
    if (rows > 0 && !cpu_interval_panel_backward(&p->panel, p->first, p->last, p->sums))
        for (int r = 0; r < rows; r++) backward_part(p, p->panel.row[r]);
    p->panel.rows = 0;
}

static void backward_row(piece *p, int64_t row)
{
    if (!reads_all(p, row)) {
        backward_part(p, row);
        return;
    }
    p->panel.row[p->panel.rows++] = row;
    if (p->panel.rows == STRIP) backward_panel(p);
}

/* Short rows that begin here: those that read whole steps stay open. */
static void backward_shorts(piece *p)
{
    int64_t count;
    int opens = 0;
    const int32_t *rows = shorts_of(p, p->step, p->end - p->from, &count);
    for (int64_t i = 0; i < count; i++)
        if (p->opens < OPEN && reads_all(p, rows[i])) p->open[p->opens++] = rows[i];
        else cpu_ell_put(&p->waiting, rows[i]);
    for (int i = 0; i < p->opens; i++) {
        const gsa_run *run = cpu_range(p->t->edges, p->open[i]);
        backward_row(p, p->open[i]);
        if (run->first + (int64_t)run->count > p->end) p->open[opens++] = p->open[i];
    }
    p->opens = opens;
}

void cpu_interval_backward(const ref_attend *t, const cpu_intervals *s, int64_t axis, int32_t first,
                           int32_t last, const ref_label_sums *sums)
{
    const cpu_axis *x = &s->axis[axis];
    piece p = {
        .t = t, .all = s, .axis = x, .first = first, .last = last, .sums = sums, .step = x->step
    };
    cpu_ell_begin(&p.waiting, t, first, last, sums);
    for (p.from = x->first; p.from < x->end; p.from = p.end, p.step++) {
        const int64_t segment = x->segment + (p.from - x->first) / SEGMENT;
        begin_piece(&p, STEP, x->end);
        backward_shorts(&p);
        for (int64_t i = s->long_start[segment]; i < s->long_start[segment + 1]; i++) {
            const gsa_run *run = cpu_range(t->edges, s->long_part[i].row);
            if (run->first < p.end && run->first + (int64_t)run->count > p.from)
                backward_row(&p, s->long_part[i].row);
        }
        backward_panel(&p);
        cpu_ask_lines(&p.soon, SOON_MOST);
    }
    cpu_ell_end(&p.waiting);
}
