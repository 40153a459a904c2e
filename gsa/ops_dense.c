/* ops_dense.c - linear maps, elementwise ops and layer norm. Each backward is under the forward
 * it differentiates. */
#include "tape_parts.h"
#include <string.h>

/* ---- y = x w^T + bias:  x [r, in], w [out, in], y [r, out] */
typedef struct linear_op {
    gsa_op op;
    gsa_tensor *x, *w, *bias;
} linear_op;

/* Of dy, out's gradient. */
static void linear_rest(gsa_tape *tape, gsa_op *op)
{
    linear_op *l = (linear_op *)op;
    const int64_t r = op->out->rows, out = op->out->cols, in = l->x->cols;
    void *dw = gsa_tape_grad(tape, l->w), *db = gsa_tape_grad(tape, l->bias);
    if (dw)
        GSA_CALL(tape, gemm, dw, op->dy, l->x->data, out, in, r, 1, 0, in, out, in,
                 1); /* dw += dy^T x */
    if (db) GSA_CALL(tape, bias_backward, db, op->dy, r, out);
}

static void linear_back(gsa_tape *tape, gsa_op *op)
{
    const linear_op *l = (const linear_op *)op;
    const gsa_tensor *y = op->out;
    const int64_t r = y->rows, out = y->cols, in = l->x->cols;
    int unset;
    void *dx = gsa_tape_grad_unset(tape, l->x, &unset);
    if (dx)
        GSA_CALL(tape, gemm, dx, y->grad, l->w->data, r, in, out, 0, 0, in, out, in,
                 !unset); /* dx += dy w */
    if (gsa_tape_put_off(tape, op)) return;
    op->dy = y->grad;
    linear_rest(tape, op);
}

/* The rows of y whose blocks are late, or the others. */
static int multiply_part(gsa_tape *tape, gsa_tensor *y, const gsa_tensor *x, const gsa_tensor *w,
                         const gsa_tensor *bias, const uint8_t *block, int rest)
{
    const int64_t row = gsa_tape_bytes(tape, 1, y->cols);
    if (!GSA_CALL(tape, gemm_part, y->data, x->data, w->data, x->rows, w->rows, x->cols, block,
                  rest))
        return 0;
    for (int64_t i = 0; bias && i < y->rows; i += GSA_GEMM_ROWS) {
        const int64_t rows = y->rows - i < GSA_GEMM_ROWS ? y->rows - i : GSA_GEMM_ROWS;
        if ((block[i / GSA_GEMM_ROWS] != 0) == rest &&
            !GSA_CALL(tape, bias_forward, (char *)y->data + i * row, bias->data, rows, y->cols))
            return 0;
    }
    return 1;
}

static void linear_again(gsa_tape *tape, const gsa_late *late)
{
    multiply_part(tape, late->y, late->x, late->w, late->bias, late->block, 1);
}

static gsa_tensor *linear_of_late(gsa_tape *tape, gsa_tensor *y, gsa_tensor *x, gsa_tensor *w,
                                  gsa_tensor *bias)
{
    gsa_late *late = gsa_tape_lack(tape, y, gsa_tape_late(tape, x)->row);
    if (!late || !multiply_part(tape, y, x, w, bias, late->block, 0)) return NULL;
    late->again = linear_again, late->x = x, late->w = w, late->bias = bias;
    if (tape->journey.go_on) tape->journey.go_on(tape, tape->journey.user, 0);
    return tape->failed ? NULL : y;
}

/* y without a record. */
static gsa_tensor *linear_forward(gsa_tape *tape, gsa_tensor *x, gsa_tensor *w, gsa_tensor *bias)
{
    if (gsa_tape_lacks(tape, x, "linear") || gsa_tape_lacks(tape, w, "linear")) return NULL;
    if (x->cols != w->cols || (bias && bias->cols != w->rows))
        return gsa_tape_fail(
            tape, GSA_ERR_ARGUMENT, "linear: x [%lld, %lld] does not fit w [%lld, %lld]",
            (long long)x->rows, (long long)x->cols, (long long)w->rows, (long long)w->cols);
    gsa_tensor *y = gsa_tape_new(tape, x->rows, w->rows,
                                 x->wants_grad || w->wants_grad || (bias && bias->wants_grad));
    if (!y) return NULL;
    if (gsa_tape_late(tape, x)) return linear_of_late(tape, y, x, w, bias);
    if (!GSA_CALL(tape, gemm, y->data, x->data, w->data, x->rows, w->rows, x->cols, 0, 1, w->rows,
                  x->cols, x->cols, 0))
        return NULL;
    return !bias || GSA_CALL(tape, bias_forward, y->data, bias->data, y->rows, y->cols) ? y : NULL;
}

gsa_tensor *gsa_op_linear(gsa_tape *tape, gsa_tensor *x, gsa_tensor *w, gsa_tensor *bias)
{
    gsa_tensor *y = linear_forward(tape, x, w, bias);
    linear_op *op = gsa_tape_record(tape, sizeof *op, linear_back, y);
    if (op) op->x = x, op->w = w, op->bias = bias, op->op.reads = 1;
    if (op) op->op.rest = linear_rest, op->op.puts_off = tape->journey.go_on != NULL;
    gsa_tape_use(tape, x), gsa_tape_use(tape, w), gsa_tape_use(tape, bias);
    return y;
}

/* ---- y = f(x w^T + bias) in the memory of the product, where f' depends on the sign alone, which
 * f keeps */
static void linear_relu_back(gsa_tape *tape, gsa_op *op)
{
    const gsa_tensor *y = op->out;
    if (GSA_CALL(tape, activate_backward, y->grad, y->grad, y->data, GSA_RELU, 0,
                 y->rows * y->cols))
        linear_back(tape, op);
}

static void linear_leaky_back(gsa_tape *tape, gsa_op *op)
{
    const gsa_tensor *y = op->out;
    if (GSA_CALL(tape, activate_backward, y->grad, y->grad, y->data, GSA_LEAKY_RELU, 0,
                 y->rows * y->cols))
        linear_back(tape, op);
}

gsa_tensor *gsa_op_linear_activated(gsa_tape *tape, gsa_tensor *x, gsa_tensor *w, gsa_tensor *bias,
                                    int activation)
{
    if (activation != GSA_RELU && activation != GSA_LEAKY_RELU)
        return gsa_op_activate(tape, gsa_op_linear(tape, x, w, bias), activation);
    gsa_tensor *y = linear_forward(tape, x, w, bias);
    if (!y || !GSA_CALL(tape, activate_forward, y->data, y->data, activation, y->rows * y->cols))
        return NULL;
    linear_op *op = gsa_tape_record(
        tape, sizeof *op, activation == GSA_RELU ? linear_relu_back : linear_leaky_back, y);
    if (op) op->x = x, op->w = w, op->bias = bias;
    gsa_tape_use(tape, x), gsa_tape_use(tape, w), gsa_tape_use(tape, bias);
    return y;
}

/* ---- y = sum_i weight_i x_i */
typedef struct combine_op {
    gsa_op op;
    gsa_tensor **x;
    double *weight;
    int count;
} combine_op;

static void combine_back(gsa_tape *tape, gsa_op *op)
{
    combine_op *c = (combine_op *)op;
    if (c->count == 2 && c->weight[0] == 1 && c->weight[1] == 1 &&
        gsa_tape_share_grad(tape, c->x[0], c->x[1], op->out->grad))
        return;
    for (int i = 0; i < c->count; i++) {
        if (c->weight[i] == 1) {
            gsa_tape_add_grad(tape, c->x[i], op->out->grad, i + 1 == c->count);
            continue;
        }
        void *dx = gsa_tape_grad(tape, c->x[i]);
        if (dx)
            GSA_CALL(tape, accumulate, dx, op->out->grad, c->weight[i],
                     op->out->rows * op->out->cols);
    }
}

gsa_tensor *gsa_op_combine(gsa_tape *tape, gsa_tensor *const *x, const double *weight, int count)
{
    int wants = 0;
    for (int i = 0; i < count; i++) {
        if (gsa_tape_lacks(tape, x[i], "combine")) return NULL;
        if (x[i]->rows != x[0]->rows || x[i]->cols != x[0]->cols)
            return gsa_tape_fail(tape, GSA_ERR_ARGUMENT,
                                 "combine: term %d is [%lld, %lld], the first [%lld, %lld]", i,
                                 (long long)x[i]->rows, (long long)x[i]->cols,
                                 (long long)x[0]->rows, (long long)x[0]->cols);
        wants |= x[i]->wants_grad;
    }
    if (count <= 0)
        return gsa_tape_fail(tape, GSA_ERR_ARGUMENT, "combine: %d terms, at least 1 is needed",
                             count);
    if (count == 1 && weight[0] == 1) return x[0];
    gsa_tensor *y = gsa_tape_new(tape, x[0]->rows, x[0]->cols, wants);
    if (!y) return NULL;
    const int64_t n = y->rows * y->cols, bytes = gsa_tape_bytes(tape, y->rows, y->cols);
    if (count == 2 && weight[0] == 1 && weight[1] == 1) {
        if (!GSA_CALL(tape, add, y->data, x[0]->data, x[1]->data, n)) return NULL;
    } else {
        if (bytes > 0 && !GSA_CALL(tape, zero_fill, y->data, bytes)) return NULL;
        for (int i = 0; i < count; i++)
            if (!GSA_CALL(tape, accumulate, y->data, x[i]->data, weight[i], n)) return NULL;
    }
    combine_op *op = gsa_tape_record(tape, sizeof *op, combine_back, y);
    if (op) {
        op->count = count;
        op->x = gsa_tape_host(tape, count * (int64_t)sizeof *op->x);
        op->weight = gsa_tape_host(tape, count * (int64_t)sizeof *op->weight);
        if (tape->failed) return NULL;
        memcpy(op->x, x, (size_t)count * sizeof *op->x);
        memcpy(op->weight, weight, (size_t)count * sizeof *op->weight);
    }
    for (int i = 0; i < count; i++) gsa_tape_use(tape, x[i]);
    return y;
}

gsa_tensor *gsa_op_add(gsa_tape *tape, gsa_tensor *a, gsa_tensor *b)
{
    return gsa_op_combine(tape, (gsa_tensor *[]){ a, b }, (const double[]){ 1, 1 }, 2);
}

/* ---- y = a b */
typedef struct multiply_op {
    gsa_op op;
    gsa_tensor *a, *b;
} multiply_op;

static void multiply_back(gsa_tape *tape, gsa_op *op)
{
    multiply_op *m = (multiply_op *)op;
    const int64_t n = op->out->rows * op->out->cols;
    void *da = gsa_tape_grad(tape, m->a);
    if (da) GSA_CALL(tape, multiply, da, op->out->grad, m->b->data, 1, n); /* da += dy b */
    void *db = gsa_tape_grad(tape, m->b);
    if (db) GSA_CALL(tape, multiply, db, op->out->grad, m->a->data, 1, n); /* db += dy a */
}

gsa_tensor *gsa_op_multiply(gsa_tape *tape, gsa_tensor *a, gsa_tensor *b)
{
    if (gsa_tape_lacks(tape, a, "multiply") || gsa_tape_lacks(tape, b, "multiply")) return NULL;
    if (a->rows != b->rows || a->cols != b->cols)
        return gsa_tape_fail(tape, GSA_ERR_ARGUMENT,
                             "multiply: [%lld, %lld] and [%lld, %lld] differ", (long long)a->rows,
                             (long long)a->cols, (long long)b->rows, (long long)b->cols);
    gsa_tensor *y = gsa_tape_new(tape, a->rows, a->cols, a->wants_grad || b->wants_grad);
    if (!y || !GSA_CALL(tape, multiply, y->data, a->data, b->data, 0, a->rows * a->cols))
        return NULL;
    multiply_op *op = gsa_tape_record(tape, sizeof *op, multiply_back, y);
    if (op) op->a = a, op->b = b;
    gsa_tape_use(tape, a), gsa_tape_use(tape, b);
    return y;
}

/* ---- y = f(x) */
typedef struct activate_op {
    gsa_op op;
    gsa_tensor *x;
    int activation;
} activate_op;

static void activate_back(gsa_tape *tape, gsa_op *op)
{
    activate_op *a = (activate_op *)op;
    const int64_t count = op->out->rows * op->out->cols;
    void *dy = op->out->grad;
    const int kept = !gsa_tape_hand_grad(tape, a->x, dy); /* else in place */
    void *dx = kept ? gsa_tape_grad(tape, a->x) : dy;
    if (dx) GSA_CALL(tape, activate_backward, dx, dy, a->x->data, a->activation, kept, count);
}

gsa_tensor *gsa_op_activate(gsa_tape *tape, gsa_tensor *x, int activation)
{
    if (gsa_tape_lacks(tape, x, "activate")) return NULL;
    gsa_tensor *y = gsa_tape_new(tape, x->rows, x->cols, x->wants_grad);
    if (!y || !GSA_CALL(tape, activate_forward, y->data, x->data, activation, x->rows * x->cols))
        return NULL;
    activate_op *op = gsa_tape_record(tape, sizeof *op, activate_back, y);
    if (op) op->x = x, op->activation = activation;
    gsa_tape_use(tape, x);
    return y;
}

/* ---- y = x mask / (1 - p) */
typedef struct dropout_op {
    gsa_op op;
    gsa_tensor *x;
    gsa_dropout dropout;
} dropout_op;

static void dropout_back(gsa_tape *tape, gsa_op *op)
{
    dropout_op *d = (dropout_op *)op;
    void *dy = op->out->grad;
    if (gsa_tape_hand_grad(tape, d->x, dy)) {
        GSA_CALL(tape, dropout_forward, dy, dy, &d->dropout, op->out->rows, op->out->cols);
        return;
    }
    void *dx = gsa_tape_grad(tape, d->x);
    if (dx) GSA_CALL(tape, dropout_backward, dx, dy, &d->dropout, op->out->rows, op->out->cols);
}

gsa_tensor *gsa_op_dropout(gsa_tape *tape, gsa_tensor *x, double p, uint32_t site,
                           gsa_row_identity rows)
{
    if (gsa_tape_lacks(tape, x, "dropout")) return NULL;
    if (!tape->training || p == 0 || x->rows == 0) return x;
    if (!tape->example_id)
        return gsa_tape_fail(
            tape, GSA_ERR_ARGUMENT,
            "dropout needs the examples' numbers: gsa_tape_examples was not called");
    const gsa_dropout dropout = gsa_tape_dropout(tape, p, site, rows);
    gsa_tensor *y = gsa_tape_new(tape, x->rows, x->cols, x->wants_grad);
    if (!y || !GSA_CALL(tape, dropout_forward, y->data, x->data, &dropout, x->rows, x->cols))
        return NULL;
    dropout_op *op = gsa_tape_record(tape, sizeof *op, dropout_back, y);
    if (op) op->x = x, op->dropout = dropout;
    gsa_tape_use(tape, x);
    return y;
}

/* ---- y = layer_norm(x) gain + bias; the mean and 1/std of each row are kept */
typedef struct norm_op {
    gsa_op op;
    gsa_tensor *x, *gain, *bias, *mean, *rstd;
} norm_op;

static void norm_back(gsa_tape *tape, gsa_op *op)
{
    norm_op *n = (norm_op *)op;
    int unset;
    void *dx = gsa_tape_grad_unset(tape, n->x, &unset), *dgain = gsa_tape_grad(tape, n->gain),
         *dbias = gsa_tape_grad(tape, n->bias);
    GSA_CALL(tape, norm_backward, dx, dgain, dbias, op->out->grad, n->x->data, n->gain->data,
             n->mean->data, n->rstd->data, !unset, op->out->rows, op->out->cols);
}

/* Row by row: a row alone has the same bits. */
static void norm_again(gsa_tape *tape, const gsa_late *late)
{
    const int64_t cols = late->x->cols, row = gsa_tape_bytes(tape, 1, cols),
                  one = tape->backend->real_bytes;
    for (int64_t i = 0; i < late->x->rows && !tape->failed; i++)
        if (late->row[i])
            GSA_CALL(tape, norm_forward, (char *)late->y->data + i * row,
                     (char *)late->mean->data + i * one, (char *)late->rstd->data + i * one,
                     (char *)late->x->data + i * row, late->w->data, late->bias->data, late->eps, 1,
                     cols);
}

gsa_tensor *gsa_op_norm(gsa_tape *tape, gsa_tensor *x, gsa_tensor *gain, gsa_tensor *bias,
                        double eps)
{
    if (gsa_tape_lacks(tape, x, "norm") || gsa_tape_lacks(tape, gain, "norm") ||
        gsa_tape_lacks(tape, bias, "norm"))
        return NULL;
    if (gain->cols != x->cols || bias->cols != x->cols)
        return gsa_tape_fail(tape, GSA_ERR_ARGUMENT,
                             "norm: %lld columns, but gain has %lld and bias %lld",
                             (long long)x->cols, (long long)gain->cols, (long long)bias->cols);
    gsa_tensor *y =
        gsa_tape_new(tape, x->rows, x->cols, x->wants_grad || gain->wants_grad || bias->wants_grad);
    gsa_tensor *mean = gsa_tape_new(tape, x->rows, 1, 0), *rstd = gsa_tape_new(tape, x->rows, 1, 0);
    if (!y || !mean || !rstd) return NULL;
    if (!GSA_CALL(tape, norm_forward, y->data, mean->data, rstd->data, x->data, gain->data,
                  bias->data, eps, x->rows, x->cols))
        return NULL;
    const gsa_late *of = gsa_tape_late(tape, x);
    gsa_late *late = of ? gsa_tape_lack(tape, y, of->row) : NULL;
    if (late)
        late->again = norm_again, late->x = x, late->w = gain, late->bias = bias, late->mean = mean,
        late->rstd = rstd, late->eps = eps;
    norm_op *op = gsa_tape_record(tape, sizeof *op, norm_back, y);
    if (op) op->x = x, op->gain = gain, op->bias = bias, op->mean = mean, op->rstd = rstd;
    gsa_tape_use(tape, x), gsa_tape_use(tape, gain), gsa_tape_use(tape, bias);
    return y;
}
