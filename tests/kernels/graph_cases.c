/* The ops over edges and the two dropouts: cases whose oracle is dense.c. */
#include "dense.h"
#include "op_cases.h"
#include <math.h>
#include <stdlib.h>

#define S(i) (r->shape[i])

/* ---- dropout of states: rows, cols, p in percent ------------------------------------------- */
static const op_shape dropout_shapes[] = { { 0, 5, 30 },     { 5, 0, 30 }, { 1, 1, 0 },
                                           { 7, 10, 30 },    { 7, 3, 90 }, { 300, 101, 50 },
                                           { 20, 1000, 10 }, { 9, 33, 20 } };
static const op_shape dropout_grads[] = { { 5, 6, 30 }, { 4, 3, 0 } };
static const op_shape dropout_big[] = { { 3000, 37, 20 }, { 50, 1001, 50 } };

static void dropout_setup(rig *r)
{
    rig_real(r, "y", RIG_OUTPUT, S(0), S(1), 1);
    rig_real(r, "x", RIG_INPUT, S(0), S(1), 1);
    rig_dropout(r, (double)S(2) / 100, S(0));
}
static gsa_status dropout_forward(rig *r)
{
    return r->b->dropout_forward(r->b, R_AT(0), R_AT(1), &r->dropout, S(0), S(1));
}
static gsa_status dropout_backward(rig *r)
{
    return r->b->dropout_backward(r->b, R_D(1), R_D(0), &r->dropout, S(0), S(1));
}
/* What rig_dropout puts into the backend, on the host. */
static gsa_dropout host_dropout(rig *r, int32_t *id, int32_t *example, int32_t *local, int64_t rows)
{
    gsa_dropout d = r->dropout;
    const int ids = rig_find(r, "example_id");
    for (int64_t e = 0; ids >= 0 && e < r->t[ids].count; e++) id[e] = (int32_t)R_X(ids)[e];
    for (int64_t i = 0; i < rows; i++) example[i] = (int32_t)(i / 3), local[i] = (int32_t)(i % 3);
    d.example_id = id;
    d.row_example = example;
    d.row_local = local;
    return d;
}
static void dropout_apply(rig *r, const double *from, double *to, int add)
{
    int32_t *room = calloc(3 * (size_t)S(0) + 3, sizeof *room);
    const gsa_dropout d = host_dropout(r, room, room + S(0) + 1, room + 2 * S(0) + 2, S(0));
    for (int64_t i = 0; i < S(0) * S(1); i++)
        to[i] = (add ? to[i] : 0) + from[i] * dense_state_factor(&d, i / S(1), i % S(1));
    free(room);
}
static void dropout_oracle(rig *r)
{
    dropout_apply(r, R_X(1), R_Y(0), 0);
}
static void dropout_oracle_backward(rig *r)
{
    dropout_apply(r, R_DY(0), R_DX(1), 1);
}

/* ---- aggregate: nodes, cols, mean, examples ------------------------------------------------ */
static const op_shape aggregate_shapes[] = { { 0, 3, 0, 1 },     { 1, 1, 1, 1 },
                                             { 20, 0, 0, 2 },    { 20, 7, 0, 3 },
                                             { 20, 7, 1, 3 },    { 60, 100, 0, 1 },
                                             { 60, 130, 1, 20 }, { 200, 33, 1, 4 } };
static const op_shape aggregate_grads[] = { { 8, 3, 0, 2 }, { 8, 3, 1, 2 } };
static const op_shape aggregate_big[] = { { 600, 100, 1, 30 },
                                          { 600, 70, 0, 1 },
                                          { 600, 5, 1, 3 } };

static void aggregate_setup(rig *r)
{
    rig_edges(r,
              (edges_wish){ .examples = (int32_t)S(3), .kinds = 3, .row_kinds = 2, .nodes = S(0) });
    rig_real(r, "y", RIG_OUTPUT, r->device.rows, S(1), 1);
    for (int32_t k = 0; k < 3; k++) rig_real(r, "v", RIG_INPUT, r->device.part_rows[k], S(1), 1);
}
static void aggregate_parts(rig *r, gsa_part *parts)
{
    for (int k = 0; k < 3; k++) parts[k] = (gsa_part){ .v = R_AT(1 + k), .dv = R_D(1 + k) };
}
static gsa_status aggregate_forward(rig *r)
{
    gsa_part parts[GSA_MAX_KINDS] = { { 0 } };
    aggregate_parts(r, parts);
    return r->b->aggregate_forward(r->b, R_AT(0), &r->device, parts, (int)S(2), S(1));
}
static gsa_status aggregate_backward(rig *r)
{
    gsa_part parts[GSA_MAX_KINDS] = { { 0 } };
    aggregate_parts(r, parts);
    return r->b->aggregate_backward(r->b, parts, R_D(0), &r->device, (int)S(2), S(1));
}
static void aggregate_walk(rig *r, int backward)
{
    const gsa_edges *edges = &r->maker.view;
    edges_list list = edges_expand(edges);
    if (!backward)
        for (int64_t i = 0; i < edges->rows * S(1); i++) R_Y(0)[i] = 0;
    for (int64_t e = 0; e < list.total; e++) {
        const double degree =
            (double)(edges->edge_offset[list.row[e] + 1] - edges->edge_offset[list.row[e]]);
        for (int64_t c = 0; c < S(1); c++) {
            const int64_t to = list.row[e] * S(1) + c, from = list.source[e] * S(1) + c;
            if (backward) R_DX(1 + list.kind[e])[from] += R_DY(0)[to] / (S(2) ? degree : 1);
            else R_Y(0)[to] += R_X(1 + list.kind[e])[from] / (S(2) ? degree : 1);
        }
    }
    edges_list_free(&list);
}
static void aggregate_oracle(rig *r)
{
    aggregate_walk(r, 0);
}
static void aggregate_oracle_backward(rig *r)
{
    aggregate_walk(r, 1);
}

/* ---- attend: nodes, heads, head_dim, examples, flags --------------------------------------- */
enum { VECTORS = 1, BIAS = 2, DROP = 4, WEIGHTS = 8, ALIAS = 16, ONLY_V = 32, INFINITE = 64 };
static const op_shape attend_shapes[] = {
    { 0, 2, 3, 1, 0 },
    { 1, 1, 1, 1, 0 },
    { 20, 0, 4, 2, 0 },
    { 20, 3, 0, 2, 3 },
    { 20, 1, 8, 1, WEIGHTS },
    { 20, 10, 10, 2, 0 },
    { 20, 3, 5, 3, 1 },
    { 20, 3, 5, 3, 2 },
    { 20, 6, 4, 3, 3 | WEIGHTS },
    { 20, 5, 7, 2, 7 | WEIGHTS },
    { 30, 2, 9, 4, ALIAS | 3 },
    { 30, 2, 33, 4, ONLY_V | 3 },
    { 64, 35, 2, 1, 15 },
    { 64, 4, 16, 20, 3 | INFINITE | WEIGHTS },
    { 30, 4, 6, 2, ALIAS | DROP | 2 },
    { 100, 2, 64, 2, 4 },
};
/* Not those whose rows of one edge have a gradient of nothing but rounding, with nothing next to it
 * to measure that by. */
static const op_shape attend_first_shapes[] = {
    { 0, 2, 3, 2, 0 },
    { 20, 3, 5, 3, 0 },
    { 0, 2, 3, 1, 0 },
    { 20, 0, 4, 2, 0 },
    { 20, 3, 0, 2, 3 },
    { 20, 1, 8, 1, WEIGHTS },
    { 20, 10, 10, 2, 0 },
    { 20, 3, 5, 3, 1 },
    { 20, 3, 5, 3, 2 },
    { 20, 6, 4, 3, 3 | WEIGHTS },
    { 20, 5, 7, 2, 7 | WEIGHTS },
    { 30, 2, 9, 4, ALIAS | 3 },
    { 30, 2, 33, 4, ONLY_V | 3 },
    { 64, 35, 2, 1, 15 },
    { 64, 4, 16, 20, 3 | INFINITE | WEIGHTS },
    { 100, 2, 64, 2, 4 },
};
static const op_shape attend_grads[] = {
    { 8, 2, 3, 2, 0 }, { 8, 3, 2, 2, 3 }, { 8, 5, 2, 2, 7 }, { 8, 2, 2, 1, ALIAS | 3 }
};
static const op_shape attend_big[] = {
    { 400, 10, 10, 30, 0 }, { 400, 10, 10, 30, 7 }, { 400, 8, 5, 1, 3 }, { 400, 3, 7, 3, 15 }
};

static void attend_setup(rig *r)
{
    const int64_t heads = S(1), dim = S(2), flags = S(4);
    if (!r->has_edges) /* a test may bring its own graph */
        rig_edges(r, (edges_wish){ .examples = (int32_t)S(3),
                                   .kinds = 2,
                                   .row_kinds = 2,
                                   .labels = 5,
                                   .nodes = S(0),
                                   .equal_kinds = (flags & ALIAS) != 0 });
    const gsa_edges *e = &r->device;
    rig_real(r, "q", RIG_INPUT, e->rows, heads * dim, 1);
    for (int k = 0; k < 2; k++) {
        rig_real(r, "k", RIG_INPUT, e->part_rows[k], heads * dim, 1);
        rig_real(r, "v", RIG_INPUT, e->part_rows[k], heads * dim, 1);
    }
    rig_real(r, "out", RIG_OUTPUT, e->rows, heads * dim, 1);
    rig_real(r, "lse", RIG_KEPT, e->rows, heads, 1);
    if (flags & VECTORS) rig_real(r, "r", RIG_INPUT, 5, dim, 1);
    /* A label's bias gradient sums slopes of all its edges, which cancel: how far it may be off
     * goes by the largest of the table. */
    if (flags & BIAS) rig_real(r, "b", RIG_INPUT, 1, 5 * heads, 1);
    if (flags & WEIGHTS) rig_real(r, "weights", RIG_KEPT, e->edge_total, heads, 1);
    if (flags & INFINITE)
        for (int64_t i = 0; i < 3 * heads; i++) rig_set(r, rig_find(r, "b"), i, -INFINITY);
    if (flags & DROP) rig_dropout(r, 0.3, e->rows);
}

static int attend_part(rig *r, int kind)
{
    return (S(4) & ALIAS) ? 1 : 1 + 2 * kind;
}

/* gradients that ONLY_V requests: those of v alone */
static void *wanted(rig *r, int tensor, int is_v)
{
    if (tensor < 0 || ((S(4) & ONLY_V) && !is_v)) return NULL;
    return R_D(tensor);
}

enum { ADDED = 1, FIRST };

static gsa_status attend_call(rig *r, gsa_status (*op)(gsa_backend *b, const gsa_attend_args *args),
                              int backward)
{
    gsa_part parts[GSA_MAX_KINDS] = { { 0 } };
    const int vectors = rig_find(r, "r"), bias = rig_find(r, "b"), weights = rig_find(r, "weights");
    for (int k = 0; k < 2; k++) {
        const int at = attend_part(r, k);
        parts[k] = (gsa_part){ R_AT(at), R_AT(at + 1), wanted(r, at, 0), wanted(r, at + 1, 1) };
    }
    gsa_edges edges = r->device;
    if (S(2) % 2) edges.source_scale = 0; /* not told whose the sources are */
    gsa_attend_args args = { .edges = &edges,
                             .heads = (int32_t)S(1),
                             .head_dim = (int32_t)S(2),
                             .scale = 0.6,
                             .q = R_AT(0),
                             .parts = parts,
                             .dropout = r->dropout,
                             .out = R_AT(5),
                             .lse = R_AT(6) };
    if (vectors >= 0) args.label_vectors = R_AT(vectors);
    if (bias >= 0) args.label_bias = R_AT(bias);
    if (weights >= 0 && !backward) args.weights = R_AT(weights);
    if (backward) {
        args.dout = R_D(5);
        args.dq = wanted(r, 0, 0);
        args.dlabel_vectors = wanted(r, vectors, 0);
        args.dlabel_bias = wanted(r, bias, 0);
    }
    if (backward == FIRST) args.set_dq = 1, args.set_dk = args.set_dv = S(4) & ALIAS ? 1 : 3;
    return op(r->b, &args);
}
static gsa_status attend_forward(rig *r)
{
    return attend_call(r, r->b->attend_forward, 0);
}
static gsa_status attend_backward(rig *r)
{
    return attend_call(r, r->b->attend_backward, ADDED);
}

/* q, k and v of both kinds: the first tensors. */
static int is_first(rig *r, int tensor)
{
    return wanted(r, tensor, tensor > 0 && tensor % 2 == 0) && (tensor < 3 || !(S(4) & ALIAS));
}
static gsa_status attend_first(rig *r)
{
    for (int i = 0; i < 5; i++)
        if (is_first(r, i)) rig_soil(r, i);
    return attend_call(r, r->b->attend_backward, FIRST);
}

static void attend_dense(rig *r, int backward)
{
    const gsa_edges *edges = &r->maker.view;
    dense_part parts[GSA_MAX_KINDS] = { { 0 } };
    const int vectors = rig_find(r, "r"), bias = rig_find(r, "b"), weights = rig_find(r, "weights"),
              only_v = (S(4) & ONLY_V) != 0;
    int32_t *room = calloc((size_t)edges->examples + 2 * (size_t)edges->rows + 3, sizeof *room);
    for (int k = 0; k < 2; k++) {
        const int at = attend_part(r, k);
        parts[k] = (dense_part){ R_X(at), R_X(at + 1), only_v ? NULL : R_DX(at), R_DX(at + 1) };
    }
    dense_attend d = { .edges = edges,
                       .heads = (int32_t)S(1),
                       .dim = (int32_t)S(2),
                       .scale = 0.6,
                       .q = R_X(0),
                       .parts = parts,
                       .out = R_Y(5),
                       .lse = R_Y(6) };
    d.dropout = host_dropout(r, room, room + edges->examples + 1,
                             room + edges->examples + edges->rows + 2, edges->rows);
    if (vectors >= 0) d.r = R_X(vectors);
    if (bias >= 0) d.bias = R_X(bias);
    if (weights >= 0) d.weights = R_Y(weights);
    if (backward) {
        d.dout = R_DY(5);
        if (!only_v) d.dq = R_DX(0);
        if (vectors >= 0 && !only_v) d.dr = R_DX(vectors);
        if (bias >= 0 && !only_v) d.dbias = R_DX(bias);
    }
    dense_run(&d);
    free(room);
}
static void attend_oracle(rig *r)
{
    attend_dense(r, 0);
}
static void attend_oracle_backward(rig *r)
{
    attend_dense(r, 1);
}
static void attend_oracle_first(rig *r)
{
    for (int i = 0; i < 5; i++)
        if (is_first(r, i)) rig_start_at_zeros(r, i);
    attend_dense(r, 1);
}

/* Tests of levels take the last one. */
const op_case graph_cases[] = {
    { "dropout", "dropout_forward dropout_backward", OP_SHAPES(dropout_shapes),
      OP_SHAPES(dropout_grads), OP_SHAPES(dropout_big), dropout_setup, dropout_forward,
      dropout_backward, dropout_oracle, dropout_oracle_backward },
    { "aggregate", "aggregate_forward aggregate_backward", OP_SHAPES(aggregate_shapes),
      OP_SHAPES(aggregate_grads), OP_SHAPES(aggregate_big), aggregate_setup, aggregate_forward,
      aggregate_backward, aggregate_oracle, aggregate_oracle_backward },
    { "attend, first", "attend_backward", OP_SHAPES(attend_first_shapes), attend_grads, 0,
      OP_SHAPES(attend_big), attend_setup, attend_forward, attend_first, attend_oracle,
      attend_oracle_first },
    { "attend", "attend_forward attend_backward", OP_SHAPES(attend_shapes), OP_SHAPES(attend_grads),
      OP_SHAPES(attend_big), attend_setup, attend_forward, attend_backward, attend_oracle,
      attend_oracle_backward },
};
const int graph_case_count = (int)(sizeof graph_cases / sizeof *graph_cases);
