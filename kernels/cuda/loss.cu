/* loss.cu - softmax cross-entropy, a warp a row, and squared error. Sums over rows in double. */
#include "kernels/cuda/reduce.h"

typedef struct entropy_job {
    double *partial; /* [rows] */
    float *dx;
    const float *x, *dloss;
    const int32_t *targets;
    double scale;
    gsa_cuda_watch watch;
    int64_t rows, cols;
} entropy_job;

/* log sum_c exp x_c = top + log(sum): kept apart, since their sum would lose what large logits leave of the log. */
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
    if (row >= job.rows) return; /* a whole warp */
    const int32_t target = target_of(job, row, lane);
    const float *x = job.x + row * job.cols;
    double loss = 0;
    if (target >= 0) {
        const entropy_row at = measure_row(x, job.cols, lane);
        loss = ((double)at.top - (double)__ldg(x + target)) + (double)at.log_sum;
    }
    if (lane == 0) job.partial[row] = loss;
}

/* dlogit_c += dloss scale (softmax_c - [c = target]) */
static __global__ void __launch_bounds__(GSA_THREADS) entropy_rows_back(GSA_ARGUMENT(entropy_job) job)
{
    const int64_t row = gsa_thread() / GSA_WARP;
    const int lane = threadIdx.x % GSA_WARP;
    if (row >= job.rows) return;
    const int32_t target = target_of(job, row, lane);
    if (target < 0) return;
    const float *x = job.x + row * job.cols, slope = (float)(job.scale * (double)__ldg(job.dloss));
    const entropy_row at = measure_row(x, job.cols, lane);
    for (int64_t c = lane; c < job.cols; c += GSA_WARP)
        job.dx[row * job.cols + c] += slope * (expf((__ldg(x + c) - at.top) - at.log_sum) - (c == target ? 1.0f : 0.0f));
}

static gsa_status prepare(gsa_backend *b, const char *op, int64_t rows, int64_t classes, int64_t *blocks)
{
    GSA_TRY(gsa_cuda_shape(b, op, rows, classes));
    return gsa_cuda_grid(b, op, rows, GSA_THREADS / GSA_WARP, blocks);
}

static gsa_status cross_entropy_forward(gsa_backend *b, void *loss, const void *logits, const int32_t *targets, double scale,
                                        int64_t rows, int64_t classes)
{
    int64_t blocks;
    void *room;
    GSA_TRY(prepare(b, "cross_entropy_forward", rows, classes, &blocks));
    GSA_TRY(gsa_cuda_scratch(b, "cross_entropy_forward", rows, sizeof(double), &room));
    const entropy_job job = {
        (double *)room, NULL,   (const float *)logits, NULL, targets, scale, gsa_cuda_suspect(b, GSA_FAULT_TARGET),
        rows,           classes
    };
    GSA_TRY(GSA_RUN(b, entropy_rows, blocks, GSA_THREADS, job));
    gsa_cuda_total total = {};
    total.partial = job.partial, total.partials = rows, total.loss = (float *)loss, total.scale = scale;
    return gsa_cuda_finish(b, &total);
}

static gsa_status cross_entropy_backward(gsa_backend *b, void *dlogits, const void *dloss, const void *logits,
                                         const int32_t *targets, double scale, int64_t rows, int64_t classes)
{
    int64_t blocks;
    GSA_TRY(prepare(b, "cross_entropy_backward", rows, classes, &blocks));
    if (dlogits == NULL) return GSA_OK;
    const entropy_job job = { NULL,
                              (float *)dlogits,
                              (const float *)logits,
                              (const float *)dloss,
                              targets,
                              scale,
                              gsa_cuda_suspect(b, GSA_FAULT_TARGET),
                              rows,
                              classes };
    return GSA_RUN(b, entropy_rows_back, blocks, GSA_THREADS, job);
}

/* ---- squared error ---- */
static __global__ void __launch_bounds__(GSA_ELEMENTS)
    square_chunk(double *partial, const float *x, const float *target, int64_t count)
{
    const int64_t first = (int64_t)blockIdx.x * GSA_REDUCE_CHUNK, last = min(first + GSA_REDUCE_CHUNK, count);
    double sum = 0;
    for (int64_t i = first + threadIdx.x; i < last; i += GSA_ELEMENTS) {
        const double gap = (double)__ldg(x + i) - (double)__ldg(target + i);
        sum += gap * gap;
    }
    sum = gsa_sum_block(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

static __global__ void __launch_bounds__(GSA_ELEMENTS)
    square_back(float *dx, const float *dloss, const float *x, const float *target, double scale, int64_t count)
{
    const int64_t i = gsa_thread();
    if (i < count) dx[i] += 2 * (float)(scale * (double)__ldg(dloss)) * (x[i] - target[i]);
}

static gsa_status square_error_forward(gsa_backend *b, void *loss, const void *x, const void *target, double scale,
                                       int64_t count)
{
    double *partial;
    gsa_cuda_total total = {};
    GSA_TRY(gsa_cuda_partials(b, "square_error_forward", count, &partial, &total.partials));
    GSA_TRY(GSA_RUN(b, square_chunk, total.partials, GSA_ELEMENTS, partial, (const float *)x, (const float *)target, count));
    total.partial = partial, total.loss = (float *)loss, total.scale = scale;
    return gsa_cuda_finish(b, &total);
}

static gsa_status square_error_backward(gsa_backend *b, void *dx, const void *dloss, const void *x, const void *target,
                                        double scale, int64_t count)
{
    int64_t blocks;
    GSA_TRY(gsa_cuda_shape(b, "square_error_backward", count, 1));
    GSA_TRY(gsa_cuda_grid(b, "square_error_backward", count, GSA_ELEMENTS, &blocks));
    if (dx == NULL) return GSA_OK;
    return GSA_RUN(b, square_back, blocks, GSA_ELEMENTS, (float *)dx, (const float *)dloss, (const float *)x,
                   (const float *)target, scale, count);
}

void gsa_cuda_fill_loss(gsa_backend *b)
{
    b->cross_entropy_forward = cross_entropy_forward;
    b->cross_entropy_backward = cross_entropy_backward;
    b->square_error_forward = square_error_forward;
    b->square_error_backward = square_error_backward;
}
