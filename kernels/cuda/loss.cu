/* loss.cu - softmax cross-entropy, a warp a row, or a column of a segment of rows, and squared
 * error. Sums in double. */
#include "kernels/cuda/reduce.h"

typedef struct entropy_job {
    gsa_cuda_total total; /* of [rows] */
    float *nll;           /* [rows] or NULL */
    float *dx;
    const float *x, *dloss;
    const int32_t *targets;
    double scale, smoothing;
    gsa_cuda_watch watch;
    int64_t rows, cols;
    int accumulate; /* dx */
} entropy_job;

/* log sum_c exp x_c = top + log(sum): kept apart, since their sum would lose what large logits
 * leave of the log. */
typedef struct entropy_row {
    float top, log_sum;
} entropy_row;

GSA_DEVICE entropy_row measure_row(const float *x, int64_t cols, int lane)
{
    float top = -INFINITY, sum = 0;
    for (int64_t c = lane; c < cols; c += GSA_WARP) top = gsa_top(top, __ldg(x + c));
    top = gsa_top_lanes(top);
    const float shift = top == -INFINITY ? 0 : top; /* all -inf: sum 0, log -inf */
    for (int64_t c = lane; c < cols; c += GSA_WARP) sum += expf(__ldg(x + c) - shift);
    return entropy_row{ shift, logf(gsa_sum_lanes(sum, GSA_WARP)) };
}

/* What label smoothing adds to a row: smoothing (x_target - mean x). */
GSA_DEVICE double smooth_row(const entropy_job &job, const float *x, int32_t target, int lane)
{
    float sum = 0;
    if (job.smoothing == 0) return 0;
    for (int64_t c = lane; c < job.cols; c += GSA_WARP) sum += __ldg(x + c);
    return job.smoothing *
           ((double)__ldg(x + target) - (double)gsa_sum_lanes(sum, GSA_WARP) / (double)job.cols);
}

/* The target of a row: -1 ignored, and so is one outside the classes, which is reported. */
GSA_DEVICE int32_t target_of(const entropy_job &job, int64_t row, int lane)
{
    const int32_t target = __ldg(job.targets + row);
    if (target >= -1 && target < job.cols) return target;
    if (lane == 0) gsa_report(job.watch, row);
    return -1;
}

static __global__ void __launch_bounds__(GSA_THREADS) entropy_rows(GSA_ARGUMENT(entropy_job) job)
{
    const int64_t row = gsa_thread() / GSA_WARP;
    const int lane = threadIdx.x % GSA_WARP;
    const int32_t target = row < job.rows ? target_of(job, row, lane) : -1; /* of a whole warp */
    const float *x = job.x + row * job.cols;
    double nll = 0, more = 0;
    if (target >= 0) {
        const entropy_row at = measure_row(x, job.cols, lane);
        nll = ((double)at.top - (double)__ldg(x + target)) + (double)at.log_sum;
        more = smooth_row(job, x, target, lane);
    }
    if (lane == 0 && row < job.rows) {
        job.total.partial[row] = nll + more;
        if (job.nll) job.nll[row] = (float)nll;
    }
    gsa_finish(job.total);
}

/* dlogit_c += dloss scale (softmax_c - smoothing / classes - (1 - smoothing) [c = target]) */
static __global__ void __launch_bounds__(GSA_THREADS)
    entropy_rows_back(GSA_ARGUMENT(entropy_job) job)
{
    const int64_t row = gsa_thread() / GSA_WARP;
    const int lane = threadIdx.x % GSA_WARP;
    if (row >= job.rows) return;
    const int32_t target = target_of(job, row, lane);
    for (int64_t c = lane; c < job.cols && target < 0 && !job.accumulate; c += GSA_WARP)
        job.dx[row * job.cols + c] = 0;
    if (target < 0) return;
    const float *x = job.x + row * job.cols, slope = (float)(job.scale * (double)__ldg(job.dloss));
    const float each = (float)(job.smoothing / (double)job.cols), own = (float)(1 - job.smoothing);
    const entropy_row at = measure_row(x, job.cols, lane);
    for (int64_t c = lane; c < job.cols; c += GSA_WARP) {
        const float wanted = each + (c == target ? own : 0.0f);
        const float more = slope * (expf((__ldg(x + c) - at.top) - at.log_sum) - wanted);
        float *dx = job.dx + row * job.cols + c;
        *dx = job.accumulate ? *dx + more : more;
    }
}

static gsa_status check(gsa_backend *b, const char *op, double smoothing, int64_t rows,
                        int64_t classes)
{
    if (!(smoothing >= 0 && smoothing < 1))
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT,
                        "%s: a smoothing of %g, expected 0 <= smoothing < 1", op, smoothing);
    return gsa_cuda_shape(b, op, rows, classes);
}

static gsa_status cross_entropy_forward(gsa_backend *b, void *loss, void *nll, const void *logits,
                                        const int32_t *targets, double smoothing, double scale,
                                        int64_t rows, int64_t classes)
{
    gsa_cuda_total total = {};
    GSA_TRY(check(b, "cross_entropy_forward", smoothing, rows, classes));
    GSA_TRY(gsa_cuda_partials(b, "cross_entropy_forward", rows, &total));
    total.loss = (float *)loss, total.scale = scale;
    const entropy_job job = { total,
                              (float *)nll,
                              NULL,
                              (const float *)logits,
                              NULL,
                              targets,
                              scale,
                              smoothing,
                              gsa_cuda_suspect(b, GSA_FAULT_TARGET),
                              rows,
                              classes,
                              1 };
    return GSA_WARPS(b, "cross_entropy_forward", rows > 0 ? rows : 1, entropy_rows, job);
}

static gsa_status cross_entropy_backward(gsa_backend *b, void *dlogits, const void *dloss,
                                         const void *logits, const int32_t *targets,
                                         double smoothing, double scale, int accumulate,
                                         int64_t rows, int64_t classes)
{
    GSA_TRY(check(b, "cross_entropy_backward", smoothing, rows, classes));
    if (dlogits == NULL) return GSA_OK;
    const entropy_job job = { {},
                              NULL,
                              (float *)dlogits,
                              (const float *)logits,
                              (const float *)dloss,
                              targets,
                              scale,
                              smoothing,
                              gsa_cuda_suspect(b, GSA_FAULT_TARGET),
                              rows,
                              classes,
                              accumulate };
    return GSA_WARPS(b, "cross_entropy_backward", rows, entropy_rows_back, job);
}

/* ---- the same down the columns of segments of rows: a warp a column of a segment ----------- */
typedef struct segment_job {
    gsa_cuda_total total; /* of [segments, cols] */
    float *dx;
    const float *x, *dloss;
    const int64_t *offset;
    const int32_t *targets;
    double scale;
    gsa_cuda_watch watch;
    int64_t columns, cols; /* columns: segments x cols */
} segment_job;

typedef struct segment_column {
    const float *x; /* its first number; the next is `cols` on */
    int64_t first, rows;
    int32_t target; /* -1: none, or one outside the segment, which is reported */
} segment_column;

GSA_DEVICE segment_column column_of(const segment_job &job, int64_t column, int lane)
{
    const int64_t segment = column / job.cols, first = job.offset[segment];
    segment_column at = { job.x + first * job.cols + column % job.cols, first,
                          job.offset[segment + 1] - first, __ldg(job.targets + column) };
    if (at.target >= -1 && at.target < at.rows) return at;
    if (lane == 0) gsa_report(job.watch, segment);
    at.target = -1;
    return at;
}

GSA_DEVICE entropy_row measure_column(const segment_column &at, int64_t cols, int lane)
{
    float top = -INFINITY, sum = 0;
    for (int64_t i = lane; i < at.rows; i += GSA_WARP) top = gsa_top(top, __ldg(at.x + i * cols));
    top = gsa_top_lanes(top);
    const float shift = top == -INFINITY ? 0 : top;
    for (int64_t i = lane; i < at.rows; i += GSA_WARP) sum += expf(__ldg(at.x + i * cols) - shift);
    return entropy_row{ shift, logf(gsa_sum_lanes(sum, GSA_WARP)) };
}

static __global__ void __launch_bounds__(GSA_THREADS) segment_columns(GSA_ARGUMENT(segment_job) job)
{
    const int64_t column = gsa_thread() / GSA_WARP;
    const int lane = threadIdx.x % GSA_WARP;
    const bool mine = column < job.columns; /* a whole warp's */
    segment_column at = {};
    double loss = 0;
    if (mine) at = column_of(job, column, lane);
    if (mine && at.target >= 0) {
        const entropy_row sum = measure_column(at, job.cols, lane);
        loss = ((double)sum.top - (double)__ldg(at.x + at.target * job.cols)) + (double)sum.log_sum;
    }
    if (mine && lane == 0) job.total.partial[column] = loss;
    gsa_finish(job.total);
}

static __global__ void __launch_bounds__(GSA_THREADS)
    segment_columns_back(GSA_ARGUMENT(segment_job) job)
{
    const int64_t column = gsa_thread() / GSA_WARP;
    const int lane = threadIdx.x % GSA_WARP;
    if (column >= job.columns) return;
    const segment_column at = column_of(job, column, lane);
    if (at.target < 0) return;
    const float slope = (float)(job.scale * (double)__ldg(job.dloss));
    const entropy_row sum = measure_column(at, job.cols, lane);
    float *dx = job.dx + (at.x - job.x);
    for (int64_t i = lane; i < at.rows; i += GSA_WARP)
        dx[i * job.cols] += slope * (expf((__ldg(at.x + i * job.cols) - sum.top) - sum.log_sum) -
                                     (i == at.target ? 1.0f : 0.0f));
}

static gsa_status segment_entropy_forward(gsa_backend *b, void *loss, const void *logits,
                                          const int64_t *offset, const int32_t *targets,
                                          double scale, int64_t segments, int64_t rows,
                                          int64_t cols)
{
    GSA_TRY(gsa_cuda_shape(b, "segment_entropy_forward", rows, cols));
    GSA_TRY(gsa_cuda_shape(b, "segment_entropy_forward", segments, cols));
    segment_job job = {};
    GSA_TRY(gsa_cuda_partials(b, "segment_entropy_forward", segments * cols, &job.total));
    job.total.loss = (float *)loss, job.total.scale = scale;
    job.x = (const float *)logits, job.offset = offset, job.targets = targets;
    job.watch = gsa_cuda_suspect(b, GSA_FAULT_PLACE), job.columns = segments * cols,
    job.cols = cols;
    return GSA_WARPS(b, "segment_entropy_forward", job.columns > 0 ? job.columns : 1,
                     segment_columns, job);
}

static gsa_status segment_entropy_backward(gsa_backend *b, void *dlogits, const void *dloss,
                                           const void *logits, const int64_t *offset,
                                           const int32_t *targets, double scale, int64_t segments,
                                           int64_t rows, int64_t cols)
{
    GSA_TRY(gsa_cuda_shape(b, "segment_entropy_backward", rows, cols));
    GSA_TRY(gsa_cuda_shape(b, "segment_entropy_backward", segments, cols));
    if (dlogits == NULL) return GSA_OK;
    segment_job job = {};
    job.dx = (float *)dlogits, job.x = (const float *)logits, job.dloss = (const float *)dloss,
    job.offset = offset;
    job.targets = targets, job.scale = scale, job.watch = gsa_cuda_suspect(b, GSA_FAULT_PLACE);
    job.columns = segments * cols, job.cols = cols;
    return GSA_WARPS(b, "segment_entropy_backward", job.columns, segment_columns_back, job);
}

/* ---- squared error ------------------------------------------------------------------------- */
static __global__ void __launch_bounds__(GSA_ELEMENTS)
    square_chunk(GSA_ARGUMENT(gsa_cuda_total) total, const float *x, const float *target,
                 int64_t count)
{
    const int64_t first = (int64_t)blockIdx.x * GSA_REDUCE_CHUNK,
                  last = min(first + GSA_REDUCE_CHUNK, count);
    double sum = 0;
    for (int64_t i = first + threadIdx.x; i < last; i += GSA_ELEMENTS) {
        const double gap = (double)__ldg(x + i) - (double)__ldg(target + i);
        sum += gap * gap;
    }
    sum = gsa_sum_block(sum);
    if (threadIdx.x == 0) total.partial[blockIdx.x] = sum;
    gsa_finish(total);
}

static __global__ void __launch_bounds__(GSA_ELEMENTS)
    square_back(float *dx, const float *dloss, const float *x, const float *target, double scale,
                int64_t count)
{
    const int64_t i = gsa_thread();
    if (i < count) dx[i] += 2 * (float)(scale * (double)__ldg(dloss)) * (x[i] - target[i]);
}

static gsa_status square_error_forward(gsa_backend *b, void *loss, const void *x,
                                       const void *target, double scale, int64_t count)
{
    gsa_cuda_total total = {};
    GSA_TRY(gsa_cuda_chunks(b, "square_error_forward", count, &total));
    total.loss = (float *)loss, total.scale = scale;
    return GSA_RUN(b, square_chunk, total.partials, GSA_ELEMENTS, total, (const float *)x,
                   (const float *)target, count);
}

static gsa_status square_error_backward(gsa_backend *b, void *dx, const void *dloss, const void *x,
                                        const void *target, double scale, int64_t count)
{
    GSA_TRY(gsa_cuda_shape(b, "square_error_backward", count, 1));
    if (dx == NULL) return GSA_OK;
    return GSA_EACH(b, "square_error_backward", count, square_back, (float *)dx,
                    (const float *)dloss, (const float *)x, (const float *)target, scale, count);
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
