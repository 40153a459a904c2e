/* stack_query.c - few destinations that read many sources (a relay): projected on the side of the
 * queries.
 *
 *   s_e = scale q_h . (Wk_h x_v) = scale (Wk_h^T q_h) . x_v,
 *       o_h = sum_e p_e (Wv_h x_v + bv_h) = Wv_h (sum_e p_e x_v) + bv_h
 *
 * The two products with weights are then as many as there are destinations, not sources. What is
 * left is attention of rows (destination, head), each one head of `hidden` numbers, to the states
 * themselves: K and V are one plane, and nothing of them is kept. Rows of one destination read the
 * same sources; they are made up to a multiple of ROOM, so that a backend can take them together
 * (rows beyond the heads have queries of zeros and no gradient). */
#include <string.h>
#include "stack_parts.h"
#include "graph/index.h"

enum {
    ROOM = 16,
    WIDEST = 256 /* numbers of a head: what the backends' kernels hold in registers */
};

static int32_t room_for(int32_t heads)
{
    return (heads + ROOM - 1) / ROOM * ROOM;
}

/* Multiply-adds of both ways forward, attention counted twice since it runs at about half the speed
 * of products. */
static int pays(const gsa_settings *s, const gsa_edges *edges, int64_t unprojected)
{
    const double width = (double)s->heads * s->head_dim, hidden = s->hidden,
                 room = (double)room_for(s->heads) * hidden;
    const double sources =
        2 * (double)unprojected * hidden * width + 4 * (double)edges->edge_total * width;
    const double queries =
        2 * (double)edges->rows * hidden * width + 4 * (double)edges->edge_total * room;
    return 3 * queries < 2 * sources;
}

int gsa_stack_asks(const gsa_stack *stack, const gsa_tape *tape, const gsa_batch *batch, int phase,
                   int64_t unprojected)
{
    const gsa_settings *s = &stack->settings;
    const gsa_phase *p = gsa_schema_phase(gsa_batch_schema(batch), phase);
    gsa_edges edges;
    if (stack->queries < 0 || p->per_head || p->weights || p->label_use != GSA_NAMES_ONLY) return 0;
    if (tape->training && s->dropout_attention > 0)
        return 0; /* its masks are keyed by (row, head / 4) */
    if (s->bias & GSA_BIAS_V && gsa_batch_empty(batch, phase, NULL)) return 0;
    gsa_batch_edges(batch, phase, NULL, &edges);
    if (edges.rows >= gsa_index_most / room_for(s->heads)) return 0;
    if (stack->queries > 0) return 1;
    return tape->backend->shares_host_memory && s->hidden <= WIDEST && pays(s, &edges, unprojected);
}

/* ---- the edges of (destination, head) rows ------------------------------------------------- */

typedef struct spread { /* one block: host memory first, then where the backend reads it */
    int64_t *run_offset, *edge_offset, *block_offset;
    int32_t *example, *local;
    gsa_run *runs;
    gsa_rows *blocks;
    int64_t bytes;
} spread;

static void *place(char *base, int64_t *bytes, int64_t count, size_t size)
{
    const int64_t at = *bytes;
    *bytes += (count * (int64_t)size + 63) / 64 * 64;
    return base ? base + at : NULL;
}

static spread lay_out(const gsa_edges *e, int32_t room, char *base)
{
    spread s = { 0 };
    s.run_offset = place(base, &s.bytes, e->rows * room + 1, sizeof *s.run_offset);
    s.edge_offset = place(base, &s.bytes, e->rows * room + 1, sizeof *s.edge_offset);
    s.block_offset = place(base, &s.bytes, e->examples + 1, sizeof *s.block_offset);
    s.example = place(base, &s.bytes, e->rows * room, sizeof *s.example);
    s.local = place(base, &s.bytes, e->rows * room, sizeof *s.local);
    s.runs = place(base, &s.bytes, e->run_total * room, sizeof *s.runs);
    s.blocks = place(base, &s.bytes, e->block_offset[e->examples], sizeof *s.blocks);
    return s;
}

static void copy_row(const gsa_edges *e, int64_t row, int32_t room, spread *to)
{
    const int64_t runs = e->run_offset[row + 1] - e->run_offset[row],
                  edges = e->edge_offset[row + 1] - e->edge_offset[row];
    for (int64_t h = 0, at = row * room; h < room; h++, at++) {
        to->run_offset[at] = e->run_offset[row] * room + h * runs;
        to->edge_offset[at] = e->edge_offset[row] * room + h * edges;
        to->example[at] = e->row_example[row];
        to->local[at] = (int32_t)(e->row_local[row] * (int64_t)room + h);
        if (runs > 0)
            memcpy(to->runs + to->run_offset[at], e->runs + e->run_offset[row],
                   (size_t)runs * sizeof *e->runs);
    }
}

static void copy_rows(const gsa_edges *e, int32_t room, spread *to)
{
    for (int64_t row = 0; row < e->rows; row++) copy_row(e, row, room, to);
    to->run_offset[e->rows * room] = e->run_total * room;
    to->edge_offset[e->rows * room] = e->edge_total * room;
    memcpy(to->block_offset, e->block_offset, (size_t)(e->examples + 1) * sizeof *to->block_offset);
    for (int64_t b = 0; b < e->block_offset[e->examples]; b++)
        to->blocks[b] = (gsa_rows){ e->blocks[b].first * room, e->blocks[b].count * room };
}

/* Every destination's row `room` times; 0 after a failure, which is the tape's. */
static int spread_edges(gsa_tape *tape, const gsa_batch *batch, int phase, int32_t room,
                        gsa_edges *edges)
{
    gsa_edges e;
    gsa_batch_edges(batch, phase, NULL, &e);
    const int64_t bytes = lay_out(&e, room, NULL).bytes;
    char *host = gsa_tape_host(tape, bytes);
    if (!host) return 0;
    spread s = lay_out(&e, room, host);
    copy_rows(&e, room, &s);
    char *base = (char *)(uintptr_t)gsa_tape_upload(tape, host, bytes);
    if (!base) return 0;
    s = lay_out(&e, room, base);
    *edges = e, edges->memo = NULL;
    edges->rows *= room, edges->run_total *= room, edges->edge_total *= room;
    edges->run_offset = s.run_offset, edges->edge_offset = s.edge_offset, edges->runs = s.runs;
    edges->row_example = s.example, edges->row_local = s.local;
    edges->block_offset = s.block_offset, edges->blocks = s.blocks;
    if (e.content.word[0] != 0) { /* told: other content than e's, the same for equal ones */
        edges->content.word[0] ^= (uint64_t)room * UINT64_C(0x9e3779b97f4a7c15);
        edges->content.most_out *= room;
    }
    return 1;
}

gsa_tensor *gsa_stack_ask(const gsa_stack *stack, gsa_tape *tape, const gsa_phase_weights *w,
                          const gsa_batch *batch, int phase, gsa_tensor *q, gsa_tensor *const *read)
{
    const gsa_settings *s = &stack->settings;
    const int32_t room = room_for(s->heads);
    gsa_edges edges;
    if (gsa_tape_lacks(tape, q, "attend") || !spread_edges(tape, batch, phase, room, &edges))
        return NULL;
    gsa_attend_op op = {
        .edges = &edges, .heads = 1, .head_dim = s->hidden, .scale = gsa_stack_scale(stack)
    };
    op.q = gsa_op_heads(tape, q, &w->k->value, NULL, s->heads, room, 1);
    for (int k = 0; k < edges.kinds; k++)
        op.k[k] = op.v[k] = edges.part_rows[k] > 0 ? read[k] : NULL;
    return gsa_op_heads(tape, gsa_op_attend(tape, &op), &w->v->value,
                        w->v_bias ? &w->v_bias->value : NULL, s->heads, room, 0);
}
