/* sweep_run.c - the passes of attention over a sweep, piece by piece. */
#include <float.h>
#include "kernels/cpu/sweep_four.h"
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

/* Reads what a piece will want, whole rows one after another, or notes it for cpu_ask_soon. */
static void want_piece(const ref_attend *t, const cpu_sweeps *s, int32_t kind, cpu_reading *reading, piece_at at, int read)
{
    const gsa_part *part = &t->args->parts[kind];
    const void *const source[READ_PLANES] = { part->k, part->v, part->dk, part->dv };
    const void *const row[READ_PLANES] = { t->args->q, reading->backward || !cpu_streams(t) ? t->args->out : NULL,
                                           t->args->dout, t->args->dq };
    const int64_t end = s->short_start[at.piece + 1];
    if (read) cpu_read_rows(t, reading, source, at.from, at.end - 1);
    else cpu_want_rows(t, reading, source, at.from, at.end - 1);
    for (int64_t i = s->short_start[at.piece], next; i < end; i = next) {
        for (next = i + 1; next < end && s->short_row[next] == s->short_row[next - 1] + 1;) next++;
        if (read) cpu_read_rows(t, reading, row, s->short_row[i], s->short_row[next - 1]);
        else cpu_want_rows(t, reading, row, s->short_row[i], s->short_row[next - 1]);
    }
}

/* Edges of the rows at work in a piece. */
static int64_t edges_of(const ref_attend *t, const cpu_sweeps *s, int64_t piece, int64_t longs)
{
    int64_t edges = longs * PIECE;
    for (int64_t i = s->short_start[piece]; i < s->short_start[piece + 1]; i++)
        edges += cpu_range(t->edges, s->short_row[i])->count;
    return edges;
}

/* The first piece of a stretch is read; from then on the piece behind the one at work is asked for. */
static void read_ahead(const ref_attend *t, const cpu_sweeps *s, const cpu_sweep *sweep, int64_t longs, cpu_reading *reading,
                       stretch all, int64_t from, int64_t piece)
{
    const int64_t next = from + PIECE, end = next + PIECE < sweep->end ? next + PIECE : sweep->end;
    cpu_soon_start(&reading->soon, t->width, (int64_t)(reading->last - reading->first) * t->dim);
    if (from == all.first || reading->backward)
        want_piece(t, s, sweep->kind, reading, (piece_at){ piece, from, next < sweep->end ? next : sweep->end }, 1);
    if (next >= all.end || reading->backward) return;
    want_piece(t, s, sweep->kind, reading, (piece_at){ piece + 1, next, end }, 0);
    cpu_soon_over(&reading->soon, edges_of(t, s, piece, longs));
}

static void forward_long(const ref_attend *t, const cpu_sweeping *x, cpu_long part, int64_t from, int64_t end,
                         int64_t segment)
{
    const gsa_run *run = cpu_range(t->edges, part.row);
    const int64_t first = run->first > segment ? run->first : segment; /* where the slot's part begins */
    const int shared = part.slot < x->sweeps->shared;
    float *out = shared ? x->mix + part.slot * t->width : (float *)t->args->out + part.row * t->width;
    cpu_softmax *state = x->state + part.slot * cpu_states(t);
    cpu_block block;
    if (!cpu_range_block(t, run, from, end, &block)) return;
    GSA_CPU(forward_block)(t, part.row, &block, state, out, first >= from);
    if (!shared && run->first + (int64_t)run->count <= end) GSA_CPU(forward_end)(t, part.row, state, out);
}

void GSA_CPU(sweep_forward)(const ref_attend *t, const cpu_sweeping *x, int64_t segment)
{
    const cpu_sweeps *s = x->sweeps;
    const stretch all = stretch_of(&s->sweep[s->segment_sweep[segment]], segment);
    int64_t piece = all.piece;
    cpu_reading reading;
    cpu_start_reading(&reading, 0, t->heads, 0);
    for (int64_t from = all.first; from < all.end; from += PIECE, piece++) {
        const int64_t end = from + PIECE < all.end ? from + PIECE : all.end;
        read_ahead(t, s, &s->sweep[s->segment_sweep[segment]], s->long_start[segment + 1] - s->long_start[segment], &reading,
                   all, from, piece);
        for (int64_t i = s->short_start[piece]; i < s->short_start[piece + 1]; i++) {
            const gsa_run *run = cpu_range(t->edges, s->short_row[i]);
            cpu_block block;
            cpu_four four;
            if (GSA_CPU(four_of)(t, s->short_row + i, s->short_start[piece + 1] - i, &four)) {
                GSA_CPU(four_forward)(&four);
                cpu_ask_soon(&reading.soon, FOUR * four.places);
                i += FOUR - 1;
                continue;
            }
            cpu_range_block(t, run, run->first, run->first + (int64_t)run->count, &block);
            GSA_CPU(forward_short)(t, s->short_row[i], &block);
            cpu_ask_soon(&reading.soon, run->count);
        }
        for (int64_t i = s->long_start[segment]; i < s->long_start[segment + 1]; i++) {
            forward_long(t, x, s->long_part[i], from, end, all.first);
            cpu_ask_soon(&reading.soon, PIECE);
        }
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
        read_ahead(t, s, &s->sweep[s->segment_sweep[segment]], s->long_start[segment + 1] - s->long_start[segment], &reading,
                   all, from, piece);
        for (int64_t i = s->short_start[piece]; i < s->short_start[piece + 1]; i++) {
            cpu_four four;
            if (GSA_CPU(four_of)(t, s->short_row + i, s->short_start[piece + 1] - i, &four) &&
                GSA_CPU(four_backward)(&four, first, last, sums)) {
                cpu_ask_soon(&reading.soon, FOUR * four.places);
                i += FOUR - 1;
                continue;
            }
            backward_range(t, s->short_row[i], 0, INT32_MAX, first, last, sums);
            cpu_ask_soon(&reading.soon, cpu_range(t->edges, s->short_row[i])->count);
        }
        for (int64_t i = s->long_start[segment]; i < s->long_start[segment + 1]; i++) {
            backward_range(t, s->long_part[i].row, from, from + PIECE < all.end ? from + PIECE : all.end, first, last, sums);
            cpu_ask_soon(&reading.soon, PIECE);
        }
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
