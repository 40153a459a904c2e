/* sweep_run.c - the passes of attention over a sweep, piece by piece. */
#include <float.h>
#include "kernels/cpu/sweep_four.h"
#include "kernels/cpu/sweep_group.h"
#include "kernels/cpu/tile_read.h"

/* Sources of a segment, first .. end-1. */
typedef struct stretch {
    int64_t piece, first, end;
} stretch;

static stretch stretch_of(const cpu_sweep *x, int64_t segment)
{
    const int64_t behind = segment - x->segment, first = x->first + behind * SEGMENT, end = first + SEGMENT;
    return (stretch){ x->piece + behind * (SEGMENT / PIECE), first, end < x->end ? end : x->end };
}

/* Sources from .. end-1, and the rows whose ranges start in them. */
typedef struct piece_at {
    int64_t piece, from, end;
} piece_at;

/* Reads what a piece will want, whole rows one after another. */
static void read_piece(const ref_attend *t, const cpu_sweeps *s, int32_t kind, const cpu_reading *reading, piece_at at)
{
    const gsa_part *part = &t->args->parts[kind];
    const void *const source[READ_PLANES] = { part->k, part->v, part->dk, part->dv };
    const void *const row[READ_PLANES] = { t->args->q, reading->backward || !cpu_streams(t) ? t->args->out : NULL,
                                           t->args->dout, t->args->dq };
    const int64_t end = s->short_start[at.piece + 1];
    cpu_read_rows(t, reading, source, at.from, at.end - 1);
    for (int64_t i = s->short_start[at.piece], next; i < end; i = next) {
        for (next = i + 1; next < end && s->short_row[next] == s->short_row[next - 1] + 1;) next++;
        cpu_read_rows(t, reading, row, s->short_row[i], s->short_row[next - 1]);
    }
}

typedef struct forward_piece { /* at work: sources from .. end-1 of a segment that begins at `segment` */
    const ref_attend *t;
    const cpu_sweeping *x;
    int64_t from, end, segment;
    int64_t ahead; /* as a group's, until a row asks */
    cpu_reading reading;
    cpu_group group;     /* rows that read all of it and wait for others, */
    int32_t slot[GROUP]; /* -1: short ones */
} forward_piece;

static void forward_short(const forward_piece *p, int64_t row)
{
    const ref_attend *t = p->t;
    const gsa_run *run = cpu_range(t->edges, row);
    cpu_block block;
    cpu_range_block(t, run, run->first, run->first + (int64_t)run->count, &block);
    GSA_CPU(forward_short)(t, row, &block);
}

/* Whether a slot's part of a row ends with the piece, and with it the row. */
static int ends(const forward_piece *p, int64_t row, int32_t slot)
{
    const gsa_run *run = cpu_range(p->t->edges, row);
    return slot >= p->x->sweeps->shared && run->first + (int64_t)run->count <= p->end;
}

static float *out_of(const forward_piece *p, int64_t row, int32_t slot)
{
    const ref_attend *t = p->t;
    return slot >= 0 && slot < p->x->sweeps->shared ? p->x->mix + slot * t->width : (float *)t->args->out + row * t->width;
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
    GSA_CPU(forward_block)(t, row, &block, state, out, begins(p, row));
    if (ends(p, row, slot)) GSA_CPU(forward_end)(t, row, state, out);
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
        if (g->rows > 1) GSA_CPU(group_forward)(g), p->ahead = 0;
        else if (p->slot[i] < 0) forward_short(p, g->row[0]);
        else forward_long(p, g->row[0], p->slot[i]);
    }
    g->rows = 0;
}

/* 1 when the row waits for others, or went with them. Which ones go together is a function of the sweep alone. */
static int join_group(forward_piece *p, int64_t row, int32_t slot)
{
    const gsa_run *run = cpu_range(p->t->edges, row);
    cpu_group *g = &p->group;
    if (run->first > p->from || run->first + (int64_t)run->count < p->end || !cpu_grouped(p->t, run)) return 0;
    g->row[g->rows] = row, p->slot[g->rows++] = slot;
    if (g->rows == GROUP) forward_waiting(p);
    return 1;
}

static void forward_rows(forward_piece *p, int64_t piece, int64_t segment)
{
    const ref_attend *t = p->t;
    const cpu_sweeps *s = p->x->sweeps;
    for (int64_t i = s->short_start[piece]; i < s->short_start[piece + 1]; i++) {
        cpu_four four;
        if (join_group(p, s->short_row[i], -1)) continue;
        if (!GSA_CPU(four_of)(t, s->short_row + i, s->short_start[piece + 1] - i, &four)) {
            forward_short(p, s->short_row[i]);
            continue;
        }
        four.ahead = p->ahead / four.places;
        GSA_CPU(four_forward)(&four);
        i += FOUR - 1;
    }
    for (int64_t i = s->long_start[segment]; i < s->long_start[segment + 1]; i++)
        if (!join_group(p, s->long_part[i].row, s->long_part[i].slot))
            forward_long(p, s->long_part[i].row, s->long_part[i].slot);
    forward_waiting(p);
}

void GSA_CPU(sweep_forward)(const ref_attend *t, const cpu_sweeping *x, int64_t segment)
{
    const cpu_sweeps *s = x->sweeps;
    const cpu_sweep *sweep = &s->sweep[s->segment_sweep[segment]];
    const stretch all = stretch_of(sweep, segment);
    int64_t piece = all.piece;
    int asked = 0;
    forward_piece p = { .t = t, .x = x, .segment = all.first };
    cpu_start_reading(&p.reading, 0, t->heads, 0);
    for (p.from = all.first; p.from < all.end; p.from += PIECE, piece++) {
        p.end = p.from + PIECE < all.end ? p.from + PIECE : all.end;
        p.group = (cpu_group){ .t = t, .from = p.from, .columns = (int32_t)(p.end - p.from), .kind = sweep->kind };
        if (!asked) read_piece(t, s, sweep->kind, &p.reading, (piece_at){ piece, p.from, p.end });
        p.ahead = p.end < all.end ? PIECE * t->width : 0;
        forward_rows(&p, piece, segment);
        asked = p.ahead == 0;
    }
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
        const vec top = vec_max(b->top, a->top), keep = vec_exp(vec_sub(a->top, top)), take = vec_exp(vec_sub(b->top, top));
        const vec before = vec_mul(a->sum, keep), added = vec_mul(vec_sub(b->sum, b->lost), take);
        const vec rest = vec_sub(added, vec_mul(a->lost, keep));
        a->top = top, a->sum = vec_add(before, rest), a->lost = vec_sub(vec_sub(a->sum, before), rest);
        vec_store(shrink[0], keep), vec_store(shrink[1], take);
        for (int32_t j = 0; j < QUADS && h + j < t->heads; j++)
            for (int64_t i = (int64_t)(h + j) * t->dim; i < (int64_t)(h + j + 1) * t->dim; i++)
                sum[i] = shrink[0][4 * j] * sum[i] + shrink[1][4 * j] * more[i];
    }
}

void GSA_CPU(sweep_join)(const ref_attend *t, const cpu_sweeping *x, int64_t crossing)
{
    const cpu_crossing c = x->sweeps->crossing[crossing];
    float *out = (float *)t->args->out + c.row * t->width;
    for (int32_t i = 1; i < c.slots; i++) join_slot(t, x, c.slot, c.slot + i);
    memcpy(out, x->mix + c.slot * t->width, sizeof *out * (size_t)t->width);
    GSA_CPU(forward_end)(t, c.row, x->state + c.slot * cpu_states(t), out);
}

static void backward_range(const ref_attend *t, int64_t row, int64_t from, int64_t end, int32_t first, int32_t last,
                           const ref_label_sums *sums)
{
    const gsa_run *run = cpu_range(t->edges, row);
    cpu_block block;
    if (cpu_range_block(t, run, from, end, &block)) GSA_CPU(back_block)(t, row, &block, first, last, sums);
}

static void backward_segment(const ref_attend *t, const cpu_sweeps *s, stretch all, int64_t segment, int32_t first,
                             int32_t last, const ref_label_sums *sums)
{
    int64_t piece = all.piece;
    cpu_reading reading;
    cpu_start_reading(&reading, first, last, 1);
    for (int64_t from = all.first; from < all.end; from += PIECE, piece++) {
        const int64_t end = from + PIECE < all.end ? from + PIECE : all.end;
        read_piece(t, s, s->sweep[s->segment_sweep[segment]].kind, &reading, (piece_at){ piece, from, end });
        for (int64_t i = s->short_start[piece]; i < s->short_start[piece + 1]; i++) {
            cpu_four four;
            if (GSA_CPU(four_of)(t, s->short_row + i, s->short_start[piece + 1] - i, &four) &&
                GSA_CPU(four_backward)(&four, first, last, sums))
                i += FOUR - 1;
            else backward_range(t, s->short_row[i], 0, INT32_MAX, first, last, sums);
        }
        for (int64_t i = s->long_start[segment]; i < s->long_start[segment + 1]; i++)
            backward_range(t, s->long_part[i].row, from, end, first, last, sums);
    }
}

void GSA_CPU(sweep_backward)(const ref_attend *t, const cpu_sweeps *s, int64_t sweep, int32_t first, int32_t last,
                             const ref_label_sums *sums)
{
    const cpu_sweep *x = &s->sweep[sweep];
    const int64_t segments = (x->end - 1 - x->first) / SEGMENT + 1;
    for (int64_t i = x->segment; i < x->segment + segments; i++)
        backward_segment(t, s, stretch_of(x, i), i, first, last, sums);
}
