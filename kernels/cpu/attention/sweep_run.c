/* sweep_run.c - the passes of attention over a sweep, piece by piece. */
#include <float.h>
#include <math.h>
#include "kernels/cpu/attention/ell.h"
#include "kernels/cpu/attention/sweep_group.h"
#include "kernels/cpu/attention/bcsr_read.h"

enum {
    OPEN = 64,      /* short rows that are taken step by step at once, at most */
    AHEAD_STEPS = 2 /* which step is asked for */
};

/* Sources of a segment, first .. end-1. */
typedef struct stretch {
    int64_t step, first, end;
} stretch;

static stretch stretch_of(const cpu_sweep *x, int64_t segment)
{
    const int64_t behind = segment - x->segment, first = x->first + behind * SEGMENT,
                  end = first + SEGMENT;
    return (stretch){ x->step + behind * (SEGMENT / STEP), first, end < x->end ? end : x->end };
}

/* Short ranges that start in some sources: those of steps that follow one another. */
typedef struct shorts {
    const int32_t *row;
    int64_t count;
} shorts;

static shorts shorts_of(const cpu_sweeps *s, int64_t step, int64_t sources)
{
    const int64_t first = s->short_start[step],
                  end = s->short_start[step + (sources + STEP - 1) / STEP];
    return (shorts){ s->short_row + first, end - first };
}

/* Reads what the sources from .. end-1 and the rows that start there will want, whole rows one
 * after another. */
static void read_sources(const ref_attend *t, int32_t kind, const cpu_reading *reading,
                         int64_t from, int64_t end, shorts rows)
{
    const gsa_part *part = &t->args->parts[kind];
    const void *const source[READ_PLANES] = { part->k, part->v, part->dk, part->dv };
    const void *const row[READ_PLANES] = { t->args->q,
                                           reading->backward || !cpu_streams(t) ? t->args->out
                                                                                : NULL,
                                           t->args->dout, t->args->dq };
    cpu_read_rows(t, reading, source, from, end - 1);
    for (int64_t i = 0; i < rows.count; i++)
        cpu_read_rows(t, reading, row, rows.row[i], rows.row[i]);
}

/* Asks for what stands `ahead` numbers behind some heads of a row. */
static void ask_row(const ref_attend *t, const void *plane, int64_t row, int64_t ahead,
                    int32_t first, int32_t last)
{
    if (!plane) return;
    const float *at = (const float *)plane + row * t->width;
    for (int32_t i = first * t->dim; i < last * t->dim; i += ASK_LINE) cpu_ask(at + i, ahead, 1);
}

typedef struct forward_piece { /* at work: sources from .. end-1 of a segment that begins at
                                  `segment` */
    const ref_attend *t;
    const cpu_sweeping *x;
    int64_t from, end, segment;
    int64_t ahead; /* as a group's, until a row asks */
    cpu_reading reading;
    cpu_group group;     /* rows that read all of it and wait for others, */
    int32_t slot[GROUP]; /* -1: short ones */
    cpu_ell waiting;     /* short rows, from piece to piece */
} forward_piece;

/* Whether a slot's part of a row ends with the piece, and with it the row. */
static int ends(const forward_piece *p, int64_t row, int32_t slot)
{
    const gsa_run *run = cpu_range(p->t->edges, row);
    return slot >= p->x->sweeps->shared && run->first + (int64_t)run->count <= p->end;
}

static float *out_of(const forward_piece *p, int64_t row, int32_t slot)
{
    const ref_attend *t = p->t;
    return slot >= 0 && slot < p->x->sweeps->shared ? p->x->mix + slot * t->width
                                                    : (float *)t->args->out + row * t->width;
}

/* Whether a row's part in the segment begins with the piece, or in it. */
static int begins(const forward_piece *p, int64_t row)
{
    const int64_t first = cpu_range(p->t->edges, row)->first;
    return (first > p->segment ? first : p->segment) >= p->from;
}

static void forward_long(forward_piece *p, int64_t row, int32_t slot)
{
    const ref_attend *t = p->t;
    float *out = out_of(p, row, slot);
    cpu_softmax *state = p->x->state + slot * cpu_states(t);
    cpu_block block;
    if (!cpu_range_block(t, cpu_range(t->edges, row), p->from, p->end, &block)) return;
    if (block.count == p->end - p->from) block.ahead = p->ahead, p->ahead = 0;
    cpu_forward_block(t, row, &block, state, out, begins(p, row));
    if (ends(p, row, slot)) cpu_forward_end(t, row, state, out);
}

/* Row i of those that wait becomes row `to` of the group. */
static void set_group_row(forward_piece *p, int to, int i)
{
    cpu_group *g = &p->group;
    const int64_t row = g->row[i];
    const int32_t slot = p->slot[i];
    g->row[to] = row;
    g->label[to] = cpu_range(p->t->edges, row)->label;
    g->out[to] = out_of(p, row, slot);
    g->state[to] = slot < 0 ? NULL : p->x->state + slot * cpu_states(p->t);
    g->fresh[to] = begins(p, row), g->ends[to] = slot < 0 || ends(p, row, slot);
}

/* All that wait, four, two or one at a time. */
static void forward_waiting(forward_piece *p)
{
    cpu_group *g = &p->group;
    const int waiting = g->rows;
    for (int i = 0; i < waiting; i += g->rows) {
        g->rows = waiting - i >= GROUP ? GROUP : waiting - i >= 2 ? 2 : 1;
        for (int r = 0; r < g->rows; r++) set_group_row(p, r, i + r);
        g->ahead = p->ahead;
        cpu_group_forward(g);
        p->ahead = 0;
    }
    g->rows = 0;
}

/* 1 when the row waits for others, or went with them. Which ones go together is a function of the
 * sweep alone. */
static int join_group(forward_piece *p, int64_t row, int32_t slot)
{
    const gsa_run *run = cpu_range(p->t->edges, row);
    cpu_group *g = &p->group;
    if (run->first > p->from || run->first + (int64_t)run->count < p->end ||
        !cpu_grouped(p->t, run))
        return 0;
    g->row[g->rows] = row, p->slot[g->rows++] = slot;
    if (g->rows == GROUP) forward_waiting(p);
    return 1;
}

static void forward_some(forward_piece *p, int32_t row)
{
    if (!join_group(p, row, -1)) cpu_ell_put(&p->waiting, row);
}

void cpu_sweep_forward(const ref_attend *t, const cpu_sweeping *x, int64_t segment)
{
    const cpu_sweeps *s = x->sweeps;
    const cpu_sweep *sweep = &s->sweep[s->segment_sweep[segment]];
    const stretch all = stretch_of(sweep, segment);
    int64_t step = all.step;
    int asked = 0;
    forward_piece p = { .t = t, .x = x, .segment = all.first };
    cpu_start_reading(&p.reading, 0, t->heads, 0);
    cpu_ell_begin(&p.waiting, t, 0, t->heads, NULL);
    for (p.from = all.first; p.from < all.end; p.from += PIECE, step += PIECE / STEP) {
        p.end = p.from + PIECE < all.end ? p.from + PIECE : all.end;
        p.group = (cpu_group){ .t = t,
                               .from = p.from,
                               .columns = (int32_t)(p.end - p.from),
                               .kind = sweep->kind };
        const shorts rows = shorts_of(s, step, p.end - p.from);
        if (!asked) read_sources(t, sweep->kind, &p.reading, p.from, p.end, rows);
        p.ahead = p.end < all.end ? PIECE * t->width : 0;
        for (int64_t i = 0; i < rows.count; i++) forward_some(&p, rows.row[i]);
        for (int64_t i = s->long_start[segment]; i < s->long_start[segment + 1]; i++)
            if (!join_group(&p, s->long_part[i].row, s->long_part[i].slot))
                forward_long(&p, s->long_part[i].row, s->long_part[i].slot);
        forward_waiting(&p);
        asked = p.ahead == 0;
    }
    cpu_ell_end(&p.waiting);
    vec_stream_end();
}

/* Adds the state and the mix of one slot to those of the first, a group of heads at a time. */
static void join_slot(const ref_attend *t, const cpu_sweeping *x, int32_t to, int32_t from)
{
    float *sum = x->mix + to * t->width, shrink[2][LANES];
    const float *more = x->mix + from * t->width;
    for (int32_t h = 0; h < t->heads; h += QUADS) {
        const int64_t group = h / HEADS * GROUPS + h % HEADS / QUADS;
        cpu_softmax *a = x->state + to * cpu_states(t) + group;
        const cpu_softmax *b = x->state + from * cpu_states(t) + group;
        const vec top = vec_max(b->top, a->top), keep = vec_exp(vec_sub(a->top, top)),
                  take = vec_exp(vec_sub(b->top, top));
        const vec before = vec_mul(a->sum, keep), added = vec_mul(vec_sub(b->sum, b->lost), take);
        const vec rest = vec_sub(added, vec_mul(a->lost, keep));
        a->top = top, a->sum = vec_add(before, rest),
        a->lost = vec_sub(vec_sub(a->sum, before), rest);
        vec_store(shrink[0], keep), vec_store(shrink[1], take);
        for (int32_t j = 0; j < QUADS && h + j < t->heads; j++)
            for (int64_t i = (int64_t)(h + j) * t->dim; i < (int64_t)(h + j + 1) * t->dim; i++)
                sum[i] = shrink[0][4 * j] * sum[i] + shrink[1][4 * j] * more[i];
    }
}

void cpu_sweep_join(const ref_attend *t, const cpu_sweeping *x, int64_t crossing)
{
    const cpu_crossing c = x->sweeps->crossing[crossing];
    float *out = (float *)t->args->out + c.row * t->width;
    for (int32_t i = 1; i < c.slots; i++) join_slot(t, x, c.slot, c.slot + i);
    memcpy(out, x->mix + c.slot * t->width, sizeof *out * (size_t)t->width);
    cpu_forward_end(t, c.row, x->state + c.slot * cpu_states(t), out);
}

typedef struct backward_step { /* at work: sources from .. end-1 */
    const ref_attend *t;
    const ref_label_sums *sums;
    int32_t first, last; /* heads */
    int64_t from, end;
    int64_t ahead;      /* as a group's, until one asks */
    cpu_group group;    /* rows that read all of it and wait for others, */
    int32_t open[OPEN]; /* short rows that began here or before and do not end before, */
    int opens;
    cpu_ell waiting; /* others, from step to step */
} backward_step;

/* What a row reads of the sources from .. end-1. */
static void backward_range(const backward_step *p, int64_t row, int64_t from, int64_t end)
{
    cpu_block block;
    if (cpu_range_block(p->t, cpu_range(p->t->edges, row), from, end, &block))
        cpu_back_block(p->t, row, &block, p->first, p->last, p->sums);
}

/* All that wait, four, two or one at a time. */
static void backward_waiting(backward_step *p)
{
    const cpu_group all = p->group;
    for (int i = 0; i < all.rows; i += p->group.rows) {
        cpu_group *g = &p->group;
        g->rows = all.rows - i >= GROUP ? GROUP : all.rows - i >= 2 ? 2 : 1, g->ahead = p->ahead;
        for (int r = 0; r < g->rows; r++)
            g->row[r] = all.row[i + r], g->label[r] = all.label[i + r];
        if (cpu_group_backward(g, p->first, p->last, p->sums)) p->ahead = 0;
        else
            for (int r = 0; r < g->rows; r++) backward_range(p, g->row[r], p->from, p->end);
    }
    p->group.rows = 0;
}

/* What a row reads here, together with others where it reads all. */
static void backward_here(backward_step *p, int64_t row)
{
    const gsa_run *run = cpu_range(p->t->edges, row);
    cpu_group *g = &p->group;
    if (run->first > p->from || run->first + (int64_t)run->count < p->end ||
        !cpu_grouped(p->t, run)) {
        backward_range(p, row, p->from, p->end);
        return;
    }
    g->row[g->rows] = row, g->label[g->rows++] = run->label;
    if (g->rows == GROUP) backward_waiting(p);
}

/* Asks for the row behind one: in a tree it begins where this one ends. */
static void ask_next_row(const backward_step *p, int64_t row)
{
    const ref_attend *t = p->t;
    const void *const plane[] = { t->args->q, t->args->out, t->args->dout, t->args->dq };
    for (int i = 0; i < 4; i++) ask_row(t, plane[i], row, t->width, p->first, p->last);
}

/* A short row that begins here. Those that read whole steps stay open. */
static void backward_some(backward_step *p, int32_t row)
{
    const ref_attend *t = p->t;
    const gsa_run *run = cpu_range(t->edges, row);
    if (run->first == p->from && run->first + (int64_t)run->count >= p->end && p->opens < OPEN &&
        cpu_grouped(t, run)) {
        p->open[p->opens++] = row;
        ask_next_row(p, row);
        return;
    }
    cpu_ell_put(&p->waiting, row);
}

static void backward_open(backward_step *p)
{
    int opens = 0;
    for (int i = 0; i < p->opens; i++) {
        const gsa_run *run = cpu_range(p->t->edges, p->open[i]);
        backward_here(p, p->open[i]);
        if (run->first + (int64_t)run->count > p->end) p->open[opens++] = p->open[i];
    }
    p->opens = opens;
}

void cpu_sweep_backward(const ref_attend *t, const cpu_sweeps *s, int64_t sweep, int32_t first,
                        int32_t last, const ref_label_sums *sums)
{
    const cpu_sweep *x = &s->sweep[sweep];
    const int groups = cpu_groups(t);
    const int64_t take = groups ? STEP : PIECE; /* rows by themselves want long parts */
    backward_step p = { .t = t, .sums = sums, .first = first, .last = last };
    int64_t step = x->step;
    int asked = 0;
    cpu_reading reading;
    cpu_start_reading(&reading, first, last, 1);
    cpu_ell_begin(&p.waiting, t, first, last, sums);
    for (p.from = x->first; p.from < x->end; p.from += take, step += take / STEP) {
        const int64_t segment = x->segment + (p.from - x->first) / SEGMENT;
        p.end = p.from + take < x->end ? p.from + take : x->end;
        p.group = (cpu_group){ .t = t,
                               .from = p.from,
                               .columns = (int32_t)(p.end - p.from),
                               .kind = x->kind };
        const shorts rows = shorts_of(s, step, p.end - p.from);
        if (!asked) read_sources(t, x->kind, &reading, p.from, p.end, rows);
        p.ahead = groups && p.end < x->end ? AHEAD_STEPS * STEP * t->width : 0;
        for (int64_t i = 0; i < rows.count; i++) backward_some(&p, rows.row[i]);
        backward_open(&p);
        for (int64_t i = s->long_start[segment]; i < s->long_start[segment + 1]; i++) {
            const gsa_run *run = cpu_range(t->edges, s->long_part[i].row);
            if (run->first < p.end && run->first + (int64_t)run->count > p.from)
                backward_here(&p, s->long_part[i].row);
        }
        backward_waiting(&p);
        asked = groups && p.ahead == 0;
    }
    cpu_ell_end(&p.waiting);
}
