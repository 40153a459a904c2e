/* ops_loss.c - scalar losses. */
#include "tape_parts.h"

typedef struct loss_op {
    gsa_op op;
    gsa_tensor *x, *target;
    const int32_t *label;
    double scale, smoothing;
} loss_op;

/* ---- scale sum_i (log sum exp(logits_i) - logits_i[target_i]) over targets >= 0, with label
 * smoothing as in backend.h */
static void cross_entropy_back(gsa_tape *tape, gsa_op *op)
{
    loss_op *l = (loss_op *)op;
    int unset;
    void *dx = gsa_tape_grad_unset(tape, l->x, &unset);
    if (dx)
        GSA_CALL(tape, cross_entropy_backward, dx, op->out->grad, l->x->data, l->label,
                 l->smoothing, l->scale, !unset, l->x->rows, l->x->cols);
}

gsa_tensor *gsa_op_smooth_entropy(gsa_tape *tape, gsa_tensor *logits, const int32_t *targets,
                                  double smoothing, double scale)
{
    if (gsa_tape_lacks(tape, logits, "cross entropy")) return NULL;
    gsa_tensor *loss = gsa_tape_new(tape, 1, 1, logits->wants_grad);
    if (!loss || !GSA_CALL(tape, cross_entropy_forward, loss->data, NULL, logits->data, targets,
                           smoothing, scale, logits->rows, logits->cols))
        return NULL;
    loss_op *op = gsa_tape_record(tape, sizeof *op, cross_entropy_back, loss);
    if (op)
        op->x = logits, op->target = NULL, op->label = targets, op->scale = scale,
        op->smoothing = smoothing, op->op.reads = 1;
    return loss;
}

gsa_tensor *gsa_op_cross_entropy(gsa_tape *tape, gsa_tensor *logits, const int32_t *targets,
                                 double scale)
{
    return gsa_op_smooth_entropy(tape, logits, targets, 0, scale);
}

/* ---- the same for each row, without a gradient */
gsa_tensor *gsa_op_surprise(gsa_tape *tape, gsa_tensor *logits, const int32_t *targets)
{
    if (gsa_tape_lacks(tape, logits, "surprise")) return NULL;
    gsa_tensor *loss = gsa_tape_new(tape, 1, 1, 0), *nll = gsa_tape_new(tape, logits->rows, 1, 0);
    if (!loss || !nll ||
        !GSA_CALL(tape, cross_entropy_forward, loss->data, nll->data, logits->data, targets, 0, 1,
                  logits->rows, logits->cols))
        return NULL;
    return nll;
}

/* ---- the same down the columns of segments of rows */
typedef struct segment_op {
    gsa_op op;
    gsa_tensor *x;
    const int64_t *offset;
    const int32_t *target;
    int64_t segments;
    double scale;
} segment_op;

static void segment_entropy_back(gsa_tape *tape, gsa_op *op)
{
    segment_op *s = (segment_op *)op;
    void *dx = gsa_tape_grad(tape, s->x);
    if (dx)
        GSA_CALL(tape, segment_entropy_backward, dx, op->out->grad, s->x->data, s->offset,
                 s->target, s->scale, s->segments, s->x->rows, s->x->cols);
}

gsa_tensor *gsa_op_segment_entropy(gsa_tape *tape, gsa_tensor *logits, const int64_t *offset,
                                   const int32_t *targets, int64_t segments, double scale)
{
    if (gsa_tape_lacks(tape, logits, "segment entropy")) return NULL;
    gsa_tensor *loss = gsa_tape_new(tape, 1, 1, logits->wants_grad);
    if (!loss || !GSA_CALL(tape, segment_entropy_forward, loss->data, logits->data, offset, targets,
                           scale, segments, logits->rows, logits->cols))
        return NULL;
    segment_op *op = gsa_tape_record(tape, sizeof *op, segment_entropy_back, loss);
    if (op)
        op->x = logits, op->offset = offset, op->target = targets, op->segments = segments,
        op->scale = scale;
    return loss;
}

/* ---- scale sum (x - target)^2 */
static void square_error_back(gsa_tape *tape, gsa_op *op)
{
    loss_op *l = (loss_op *)op;
    void *dx = gsa_tape_grad(tape, l->x);
    if (dx)
        GSA_CALL(tape, square_error_backward, dx, op->out->grad, l->x->data, l->target->data,
                 l->scale, l->x->rows * l->x->cols);
}

gsa_tensor *gsa_op_square_error(gsa_tape *tape, gsa_tensor *x, gsa_tensor *target, double scale)
{
    if (gsa_tape_lacks(tape, x, "square error") || gsa_tape_lacks(tape, target, "square error"))
        return NULL;
    if (x->rows != target->rows || x->cols != target->cols)
        return gsa_tape_fail(tape, GSA_ERR_ARGUMENT,
                             "square error: [%lld, %lld] against a target of [%lld, %lld]",
                             (long long)x->rows, (long long)x->cols, (long long)target->rows,
                             (long long)target->cols);
    gsa_tensor *loss = gsa_tape_new(tape, 1, 1, x->wants_grad);
    if (!loss || !GSA_CALL(tape, square_error_forward, loss->data, x->data, target->data, scale,
                           x->rows * x->cols))
        return NULL;
    loss_op *op = gsa_tape_record(tape, sizeof *op, square_error_back, loss);
    if (op) op->x = x, op->target = target, op->label = NULL, op->scale = scale, op->smoothing = 0;
    if (op) op->op.reads = 1;
    return loss;
}
