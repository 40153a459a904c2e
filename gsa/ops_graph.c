/* ops_graph.c - attention and plain aggregation over edges. */
#include "ranks.h"
#include "tape_parts.h"
#include <string.h>

/* ---- attend: kernels/backend.h states the equation; only log-sum-exp is kept */
typedef struct attend_op {
    gsa_op op;
    gsa_attend_op in;
    gsa_edges edges;
    gsa_tensor *lse;
    gsa_dropout dropout;
    gsa_split_attend split; /* of rows that ranks share; group NULL: of none */
} attend_op;

static gsa_attend_args attend_args(const gsa_attend_op *in, const gsa_edges *edges, gsa_part *parts,
                                   const gsa_tensor *out, const gsa_tensor *lse,
                                   const gsa_dropout *dropout)
{
    for (int kind = 0; kind < GSA_MAX_KINDS; kind++)
        parts[kind] = (gsa_part){ .k = in->k[kind] ? in->k[kind]->data : NULL,
                                  .v = in->v[kind] ? in->v[kind]->data : NULL };
    return (gsa_attend_args){ .edges = edges,
                              .heads = in->heads,
                              .head_dim = in->head_dim,
                              .scale = in->scale,
                              .q = in->q->data,
                              .parts = parts,
                              .label_vectors = in->label_vectors ? in->label_vectors->data : NULL,
                              .label_bias = in->label_bias ? in->label_bias->data : NULL,
                              .dropout = *dropout,
                              .out = out->data,
                              .lse = lse->data };
}

static int64_t bytes_of(const gsa_tape *tape, const gsa_tensor *x)
{
    return gsa_tape_bytes(tape, x->rows, x->cols);
}

/* Where K and V are one tensor the backend, which may hold rows of dk while it adds to dv, is given
 * another plane for dv. */
static void *plane_of_values(gsa_tape *tape, const gsa_attend_op *in, int kind, int *unset)
{
    const gsa_tensor *v = in->v[kind];
    if (v != in->k[kind]) return gsa_tape_grad_unset(tape, in->v[kind], unset);
    *unset = 1;
    return v && v->wants_grad && bytes_of(tape, v) > 0
               ? gsa_tape_grad_memory(tape, bytes_of(tape, v))
               : NULL;
}

static void attend_back(gsa_tape *tape, gsa_op *op)
{
    attend_op *a = (attend_op *)op;
    gsa_part parts[GSA_MAX_KINDS];
    gsa_attend_args args = attend_args(&a->in, &a->edges, parts, op->out, a->lse, &a->dropout);
    int unset;
    args.dout = op->out->grad;
    if (a->split.group) {
        args.dout = a->split.dout = gsa_tape_grad(tape, op->out);
        gsa_spread_split(tape, &a->split);
    }
    for (int kind = 0; kind < a->edges.kinds; kind++) {
        if (a->edges.part_rows[kind] == 0) continue;
        parts[kind].dk = gsa_tape_grad_unset(tape, a->in.k[kind], &unset),
        args.set_dk |= (uint64_t)unset << kind;
        parts[kind].dv = plane_of_values(tape, &a->in, kind, &unset),
        args.set_dv |= (uint64_t)unset << kind;
    }
    args.dq = gsa_tape_grad_unset(tape, a->in.q, &unset), args.set_dq = (uint64_t)unset;
    args.dlabel_vectors = gsa_tape_grad(tape, a->in.label_vectors);
    args.dlabel_bias = gsa_tape_grad(tape, a->in.label_bias);
    if (tape->failed || !GSA_CALL(tape, attend_backward, &args)) return;
    for (int kind = 0; kind < a->edges.kinds; kind++) {
        const gsa_tensor *v = a->in.v[kind];
        if (v != a->in.k[kind] || !parts[kind].dv) continue;
        GSA_CALL(tape, accumulate, parts[kind].dk, parts[kind].dv, 1, v->rows * v->cols);
        gsa_tape_spare(tape, parts[kind].dv, bytes_of(tape, v));
    }
}

static int attend_fits(gsa_tape *tape, const gsa_attend_op *in)
{
    const gsa_edges *e = in->edges;
    const int64_t width = (int64_t)in->heads * in->head_dim;
    if (in->heads < 1 || in->head_dim < 1 || in->q->rows * in->q->cols != e->rows * width)
        return gsa_tape_fail(tape, GSA_ERR_ARGUMENT,
                             "attend: q is [%lld, %lld], but %lld rows of %d heads x %d are needed",
                             (long long)in->q->rows, (long long)in->q->cols, (long long)e->rows,
                             in->heads, in->head_dim),
               0;
    for (int kind = 0; kind < e->kinds; kind++) {
        if (e->part_rows[kind] == 0) continue;
        const gsa_tensor *k = in->k[kind], *v = in->v[kind];
        const int64_t need = e->part_rows[kind] * width;
        if (!k || !v || k->rows * k->cols != need || v->rows * v->cols != need)
            return gsa_tape_fail(tape, GSA_ERR_ARGUMENT,
                                 "attend: k and v of kind %d do not hold %lld x %lld numbers", kind,
                                 (long long)e->part_rows[kind], (long long)width),
                   0;
    }
    const gsa_tensor *r = in->label_vectors, *b = in->label_bias;
    if ((r && (r->rows != e->labels || r->cols != in->head_dim)) ||
        (b && (b->rows != e->labels || b->cols != in->heads)))
        return gsa_tape_fail(tape, GSA_ERR_ARGUMENT,
                             "attend: a label table does not fit %d labels, %d heads x %d",
                             e->labels, in->heads, in->head_dim),
               0;
    return 1;
}

/* Rows that are not late while the others' sources are on their way. */
static int run_forward(gsa_tape *tape, gsa_attend_args *args, const uint8_t *late)
{
    if (tape->journey.go_on) args->late = late;
    if (args->late && !GSA_CALL(tape, attend_forward, args)) return 0;
    gsa_tape_arrive(tape);
    args->rest = args->late != NULL;
    return !tape->failed && GSA_CALL(tape, attend_forward, args);
}

static gsa_tensor *attend(gsa_tape *tape, const gsa_attend_op *in, gsa_split_attend split,
                          const uint8_t *late)
{
    if (gsa_tape_lacks(tape, in->q, "attend") || !attend_fits(tape, in)) return NULL;
    int wants = split.group || in->q->wants_grad ||
                (in->label_vectors && in->label_vectors->wants_grad) ||
                (in->label_bias && in->label_bias->wants_grad);
    for (int kind = 0; kind < in->edges->kinds; kind++)
        wants |=
            (in->k[kind] && in->k[kind]->wants_grad) || (in->v[kind] && in->v[kind]->wants_grad);
    gsa_tensor *out = gsa_tape_new(tape, in->q->rows, in->q->cols, wants);
    gsa_tensor *lse = gsa_tape_new(tape, in->edges->rows, in->heads, 0);
    if (!out || !lse) return NULL;
    if (tape->training && in->dropout > 0 && in->edges->rows > 0 && !tape->example_id)
        return gsa_tape_fail(
            tape, GSA_ERR_ARGUMENT,
            "dropout needs the examples' numbers: gsa_tape_examples was not called");
    const gsa_row_identity rows = { in->edges->row_example, in->edges->row_local };
    const gsa_dropout dropout = gsa_tape_dropout(tape, in->dropout, in->site, rows);
    gsa_part parts[GSA_MAX_KINDS];
    gsa_attend_args args = attend_args(in, in->edges, parts, out, lse, &dropout);
    args.weights = in->weights;
    if (!run_forward(tape, &args, late)) return NULL;
    split.out = out->data, split.lse = lse->data, split.real = tape->backend->real;
    split.heads = in->heads, split.head_dim = in->head_dim;
    if (split.group) gsa_merge_split(tape, &split);
    attend_op *op = gsa_tape_record(tape, sizeof *op, attend_back, out);
    if (op) op->in = *in, op->edges = *in->edges, op->lse = lse, op->dropout = dropout;
    if (op) op->split = split, op->op.always = split.group != NULL;
    gsa_tape_use(tape, in->label_vectors), gsa_tape_use(tape, in->label_bias);
    return tape->failed ? NULL : out;
}

gsa_tensor *gsa_op_attend(gsa_tape *tape, const gsa_attend_op *in)
{
    return attend(tape, in, (gsa_split_attend){ 0 }, NULL);
}

gsa_tensor *gsa_op_attend_late(gsa_tape *tape, const gsa_attend_op *in, const uint8_t *late)
{
    return attend(tape, in, (gsa_split_attend){ 0 }, late);
}

gsa_tensor *gsa_op_attend_split(gsa_tape *tape, const gsa_attend_op *in, gsa_group *group,
                                const gsa_share_phase *split)
{
    if (!tape->failed && in->weights)
        return gsa_tape_fail(tape, GSA_ERR_ARGUMENT, "weights of rows that several ranks share");
    return attend(tape, in, (gsa_split_attend){ .group = group, .phase = split }, NULL);
}

/* ---- sum or mean of the sources' rows */
typedef struct aggregate_op {
    gsa_op op;
    gsa_tensor *x[GSA_MAX_KINDS];
    gsa_edges edges;
    int64_t width;
    int mean;
} aggregate_op;

static void aggregate_back(gsa_tape *tape, gsa_op *op)
{
    aggregate_op *a = (aggregate_op *)op;
    gsa_part parts[GSA_MAX_KINDS] = { { 0 } };
    for (int kind = 0; kind < a->edges.kinds; kind++)
        parts[kind].dv = gsa_tape_grad(tape, a->x[kind]);
    GSA_CALL(tape, aggregate_backward, parts, op->out->grad, &a->edges, a->mean, a->width);
}

gsa_tensor *gsa_op_aggregate(gsa_tape *tape, const gsa_edges *edges, gsa_tensor *const *x, int mean,
                             int64_t width, int64_t out_rows, int64_t out_cols)
{
    if (tape->failed) return NULL;
    gsa_part parts[GSA_MAX_KINDS] = { { 0 } };
    int wants = 0;
    if (out_rows * out_cols != edges->rows * width)
        return gsa_tape_fail(
            tape, GSA_ERR_ARGUMENT, "aggregate: [%lld, %lld] cannot hold %lld rows of %lld",
            (long long)out_rows, (long long)out_cols, (long long)edges->rows, (long long)width);
    for (int kind = 0; kind < edges->kinds; kind++) {
        if (edges->part_rows[kind] == 0) continue;
        if (!x[kind] || x[kind]->rows * x[kind]->cols != edges->part_rows[kind] * width)
            return gsa_tape_fail(tape, GSA_ERR_ARGUMENT,
                                 "aggregate: kind %d does not hold %lld x %lld numbers", kind,
                                 (long long)edges->part_rows[kind], (long long)width);
        parts[kind].v = x[kind]->data;
        wants |= x[kind]->wants_grad;
    }
    gsa_tensor *y = gsa_tape_new(tape, out_rows, out_cols, wants);
    if (!y || !GSA_CALL(tape, aggregate_forward, y->data, edges, parts, mean, width)) return NULL;
    aggregate_op *op = gsa_tape_record(tape, sizeof *op, aggregate_back, y);
    if (op) {
        for (int kind = 0; kind < GSA_MAX_KINDS; kind++)
            op->x[kind] = kind < edges->kinds ? x[kind] : NULL;
        op->edges = *edges;
        op->width = width;
        op->mean = mean;
    }
    return y;
}
