/* loss.cu - softmax cross-entropy, a warp a row, or a column of a segment of rows, and squared
 * error. Sums in double. */
#include "kernels/cuda/reduce.h"

typedef struct entropy_job {
    const float *x;
    const int32_t *targets;
    const int64_t *offset; /* of segments; NULL: rows */
    double scale, smoothing;
    int64_t items, cols; /* items: rows, or segments x cols */
    float *nll = NULL;   /* [items] or NULL */
    float *dx = NULL;
    const float *dloss = NULL;
    int accumulate = 0;        /* dx */
    gsa_cuda_total total = {}; /* of [items] */
    gsa_cuda_watch watch = {};
} entropy_job;

typedef struct entropy_item { /* a softmax over `count` numbers, `step` apart */
    int64_t first, count, step;
    int32_t target; /* -1: ignored, and so is one outside the classes, which is reported */
} entropy_item;

/* log sum_c exp x_c = top + log(sum): kept apart, since their sum would lose what large logits
 * leave of the log. */
typedef struct entropy_sum {
    float top, log_sum;
} entropy_sum;

GSA_DEVICE entropy_item find_item(const entropy_job &job, int64_t item, int lane)
{
    const int64_t segment = job.offset ? item / job.cols : 0,
                  first = job.offset ? __ldg(job.offset + segment) : 0;
    entropy_item at = { item * job.cols, job.cols, 1, __ldg(job.targets + item) };
    if (job.offset)
        at.first = first * job.cols + item % job.cols, at.step = job.cols,
        at.count = __ldg(job.offset + segment + 1) - first;
    if (at.target >= -1 && at.target < at.count) return at;
    if (lane == 0) gsa_report(job.watch, job.offset ? segment : item);
    at.target = -1;
    return at;
}

GSA_DEVICE entropy_sum measure(const float *x, const entropy_item &at, int lane)
{
    float top = -INFINITY, sum = 0;
    for (int64_t c = lane; c < at.count; c += GSA_WARP) top = gsa_top(top, __ldg(x + c * at.step));
    top = gsa_top_lanes(top);
    const float shift = top == -INFINITY ? 0 : top; /* all -inf: sum 0, log -inf */
    for (int64_t c = lane; c < at.count; c += GSA_WARP) sum += expf(__ldg(x + c * at.step) - shift);
    return entropy_sum{ shift, logf(gsa_sum_lanes(sum, GSA_WARP)) };
}

/* What label smoothing adds: smoothing (x_target - mean x). */
GSA_DEVICE double smooth(const entropy_job &job, const float *x, const entropy_item &at, int lane)
{
    float sum = 0;
    if (job.smoothing == 0) return 0;
    for (int64_t c = lane; c < at.count; c += GSA_WARP) sum += __ldg(x + c * at.step);
    return job.smoothing * ((double)__ldg(x + at.target * at.step) -
                            (double)gsa_sum_lanes(sum, GSA_WARP) / (double)at.count);
}

static __global__ void __launch_bounds__(GSA_THREADS) entropy(GSA_ARGUMENT(entropy_job) job)
{
    const int64_t item = gsa_thread() / GSA_WARP;
    const int lane = threadIdx.x % GSA_WARP;
    entropy_item at = { 0, 0, 0, -1 };
    double nll = 0, more = 0;
    if (item < job.items) at = find_item(job, item, lane); /* a whole warp's */
    if (at.target >= 0) {
        const float *x = job.x + at.first;
        const entropy_sum sum = measure(x, at, lane);
        nll = ((double)sum.top - (double)__ldg(x + at.target * at.step)) + (double)sum.log_sum;
        more = smooth(job, x, at, lane);
    }
    if (lane == 0 && item < job.items) {
        job.total.partial[item] = nll + more;
        if (job.nll) job.nll[item] = (float)nll;
    }
    gsa_finish(job.total);
}

/* dlogit_c += dloss scale (softmax_c - smoothing / classes - (1 - smoothing) [c = target]) */
GSA_DEVICE void entropy_back(const entropy_job &job, int64_t item, int lane)
{
    const entropy_item at = find_item(job, item, lane);
    const float *x = job.x + at.first;
    float *dx = job.dx + at.first;
    for (int64_t c = lane; c < at.count && at.target < 0 && !job.accumulate; c += GSA_WARP)
        dx[c * at.step] = 0;
    if (at.target < 0) return;
    const float slope = (float)(job.scale * (double)__ldg(job.dloss)),
                each = (float)(job.smoothing / (double)at.count), own = (float)(1 - job.smoothing);
    const entropy_sum sum = measure(x, at, lane);
    for (int64_t c = lane; c < at.count; c += GSA_WARP) {
        const float wanted = each + (c == at.target ? own : 0.0f);
        const float more =
            slope * (expf((__ldg(x + c * at.step) - sum.top) - sum.log_sum) - wanted);
        dx[c * at.step] = job.accumulate ? dx[c * at.step] + more : more;
    }
}

/* Backward, where there is dloss. */
static gsa_status run(gsa_backend *b, const char *op, entropy_job job, void *loss)
{
    if (!(job.smoothing >= 0 && job.smoothing < 1))
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT,
                        "%s: a smoothing of %g, expected 0 <= smoothing < 1", op, job.smoothing);
    GSA_TRY(gsa_ref_shape(b, op, job.items, job.offset ? 1 : job.cols));
    if (job.dloss && job.dx == NULL) return GSA_OK;
    job.watch = gsa_cuda_suspect(b, job.offset ? GSA_FAULT_PLACE : GSA_FAULT_TARGET);
    const auto back = [=] __device__(int64_t item, int lane) { entropy_back(job, item, lane); };
    if (job.dloss) return gsa_cuda_each_warp(b, op, job.items, back);
    GSA_TRY(gsa_cuda_partials(b, op, job.items, &job.total));
    job.total.loss = gsa_floats(loss), job.total.scale = job.scale;
    return GSA_RUN_OVER(b, op, job.items > 0 ? job.items : 1, GSA_THREADS / GSA_WARP, GSA_THREADS,
                        entropy, job);
}

static gsa_status cross_entropy_forward(gsa_backend *b, void *loss, void *nll, const void *logits,
                                        const int32_t *targets, double smoothing, double scale,
                                        int64_t rows, int64_t classes)
{
    return run(
        b, "cross_entropy_forward",
        { gsa_floats(logits), targets, NULL, scale, smoothing, rows, classes, gsa_floats(nll) },
        loss);
}

static gsa_status cross_entropy_backward(gsa_backend *b, void *dlogits, const void *dloss,
                                         const void *logits, const int32_t *targets,
                                         double smoothing, double scale, int accumulate,
                                         int64_t rows, int64_t classes)
{
    return run(b, "cross_entropy_backward",
               { gsa_floats(logits), targets, NULL, scale, smoothing, rows, classes, NULL,
                 gsa_floats(dlogits), gsa_floats(dloss), accumulate },
               NULL);
}

static gsa_status segment_entropy_forward(gsa_backend *b, void *loss, const void *logits,
                                          const int64_t *offset, const int32_t *targets,
                                          double scale, int64_t segments, int64_t rows,
                                          int64_t cols)
{
    GSA_TRY(gsa_ref_shape(b, "segment_entropy_forward", rows, cols));
    GSA_TRY(gsa_ref_shape(b, "segment_entropy_forward", segments, cols));
    return run(b, "segment_entropy_forward",
               { gsa_floats(logits), targets, offset, scale, 0, segments * cols, cols }, loss);
}

static gsa_status segment_entropy_backward(gsa_backend *b, void *dlogits, const void *dloss,
                                           const void *logits, const int64_t *offset,
                                           const int32_t *targets, double scale, int64_t segments,
                                           int64_t rows, int64_t cols)
{
    GSA_TRY(gsa_ref_shape(b, "segment_entropy_backward", rows, cols));
    GSA_TRY(gsa_ref_shape(b, "segment_entropy_backward", segments, cols));
    return run(b, "segment_entropy_backward",
               { gsa_floats(logits), targets, offset, scale, 0, segments * cols, cols, NULL,
                 gsa_floats(dlogits), gsa_floats(dloss), 1 },
               NULL);
}

/* ---- squared error ------------------------------------------------------------------------- */
static gsa_status square_error_forward(gsa_backend *b, void *loss, const void *x,
                                       const void *target, double scale, int64_t count)
{
    return gsa_cuda_reduce(b, "square_error_forward", x, target, GSA_SQUARES_OF, count,
                           { NULL, 0, NULL, gsa_floats(loss), scale });
}

static gsa_status square_error_backward(gsa_backend *b, void *dx, const void *dloss, const void *x,
                                        const void *target, double scale, int64_t count)
{
    GSA_TRY(gsa_ref_shape(b, "square_error_backward", count, 1));
    if (dx == NULL) return GSA_OK;
    const auto add = [=, dx = gsa_floats(dx), dloss = gsa_floats(dloss), x = gsa_floats(x),
                      target = gsa_floats(target)] __device__(int64_t i) {
        dx[i] += 2 * (float)(scale * (double)__ldg(dloss)) * (x[i] - target[i]);
    };
    return gsa_cuda_each(b, "square_error_backward", count, add);
}

void gsa_cuda_fill_loss(gsa_backend *b)
{
    b->cross_entropy_forward = cross_entropy_forward;
    b->cross_entropy_backward = cross_entropy_backward;
    b->segment_entropy_forward = segment_entropy_forward;
    b->segment_entropy_backward = segment_entropy_backward;
    b->square_error_forward = square_error_forward;
    b->square_error_backward = square_error_backward;
}
