/* ops_heads.c - a product for each head: what projects queries into the space of what they read,
 * and mixes of it back. */
#include "tape_parts.h"

typedef struct heads_op {
    gsa_op op;
    gsa_tensor *x, *w, *bias;
    int32_t heads, room;
    int to_columns;
} heads_op;

/* Head h of a matrix whose rows hold heads of `width` numbers. */
static void *head_at(const gsa_tape *tape, void *matrix, int32_t h, int64_t width)
{
    return (char *)matrix + h * width * tape->backend->real_bytes;
}

/* One product of all heads: of x [r, heads x dim], y [r, room x cols] and w [heads x dim, cols] two
 * give the third. */
enum heads_give { GIVE_WIDE, GIVE_NARROW, GIVE_WEIGHTS };

typedef struct heads_size {
    int64_t rows, dim, cols, narrow, wide; /* narrow, wide: numbers of a row */
    int32_t heads;
} heads_size;

static int multiply(gsa_tape *tape, int give, const heads_size *s, void *narrow, void *wide,
                    void *w, int accumulate)
{
    int good = 1;
    for (int32_t h = 0; h < s->heads && good; h++) {
        void *n = head_at(tape, narrow, h, s->dim), *d = head_at(tape, wide, h, s->cols);
        void *m = head_at(tape, w, h, s->dim * s->cols);
        if (give == GIVE_WIDE) /* wide = narrow w */
            good = GSA_CALL(tape, gemm, d, n, m, s->rows, s->cols, s->dim, 0, 0, s->wide, s->narrow,
                            s->cols, accumulate);
        else if (give == GIVE_NARROW) /* narrow = wide w^T */
            good = GSA_CALL(tape, gemm, n, d, m, s->rows, s->dim, s->cols, 0, 1, s->narrow, s->wide,
                            s->cols, accumulate);
        else /* w = narrow^T wide */
            good = GSA_CALL(tape, gemm, m, n, d, s->dim, s->cols, s->rows, 1, 0, s->cols, s->narrow,
                            s->wide, accumulate);
    }
    return good;
}

static heads_size size_of(const gsa_tensor *w, int64_t rows, int32_t heads, int32_t room)
{
    return (heads_size){ rows, w->rows / heads, w->cols, w->rows, room * w->cols, heads };
}

static void heads_back(gsa_tape *tape, gsa_op *op)
{
    heads_op *o = (heads_op *)op;
    gsa_tensor *y = op->out;
    const heads_size s = size_of(o->w, y->rows, o->heads, o->room);
    void *dx = gsa_tape_grad(tape, o->x), *dw = gsa_tape_grad(tape, o->w),
         *db = gsa_tape_grad(tape, o->bias);
    if (o->to_columns) {
        if (dx) multiply(tape, GIVE_NARROW, &s, dx, y->grad, o->w->data, 1);
        if (dw) multiply(tape, GIVE_WEIGHTS, &s, o->x->data, y->grad, dw, 1);
    } else {
        if (dx) multiply(tape, GIVE_WIDE, &s, y->grad, dx, o->w->data, 1);
        if (dw) multiply(tape, GIVE_WEIGHTS, &s, y->grad, o->x->data, dw, 1);
        if (db) GSA_CALL(tape, bias_backward, db, y->grad, y->rows, y->cols);
    }
}

static int forward(gsa_tape *tape, const heads_size *s, gsa_tensor *y, gsa_tensor *x, gsa_tensor *w,
                   gsa_tensor *bias, int to_columns)
{
    if (!to_columns)
        return multiply(tape, GIVE_NARROW, s, y->data, x->data, w->data, 0) &&
               (!bias || GSA_CALL(tape, bias_forward, y->data, bias->data, y->rows, y->cols));
    const int64_t bytes = gsa_tape_bytes(tape, y->rows, y->cols);
    if (s->heads * s->cols < s->wide && bytes > 0 && !GSA_CALL(tape, zero_fill, y->data, bytes))
        return 0;
    return multiply(tape, GIVE_WIDE, s, x->data, y->data, w->data, 0);
}

gsa_tensor *gsa_op_heads(gsa_tape *tape, gsa_tensor *x, gsa_tensor *w, gsa_tensor *bias,
                         int32_t heads, int32_t room, int to_columns)
{
    if (gsa_tape_lacks(tape, x, "heads") || gsa_tape_lacks(tape, w, "heads")) return NULL;
    if (heads < 1 || room < heads || w->rows % heads != 0 ||
        x->cols != (to_columns ? w->rows : room * w->cols) ||
        (bias && (to_columns || bias->cols != w->rows)))
        return gsa_tape_fail(tape, GSA_ERR_ARGUMENT,
                             "heads: x [%lld, %lld] does not fit w [%lld, %lld], %d heads of %d",
                             (long long)x->rows, (long long)x->cols, (long long)w->rows,
                             (long long)w->cols, heads, room);
    const heads_size s = size_of(w, x->rows, heads, room);
    gsa_tensor *y = gsa_tape_new(tape, x->rows, to_columns ? s.wide : s.narrow,
                                 x->wants_grad || w->wants_grad || (bias && bias->wants_grad));
    if (!y || !forward(tape, &s, y, x, w, bias, to_columns)) return NULL;
    heads_op *op = gsa_tape_record(tape, sizeof *op, heads_back, y);
    if (op)
        op->x = x, op->w = w, op->bias = bias, op->heads = heads, op->room = room,
        op->to_columns = to_columns;
    gsa_tape_use(tape, w), gsa_tape_use(tape, bias);
    return y;
}
