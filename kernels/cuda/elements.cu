/* elements.cu - what is computed element by element or row by row: biases, activations, sums,
 * dropout, layer norm (Ba, Kiros, Hinton 2016).
 *
 * After a product come a bias, an activation, a residual, a norm. So a call waits, as products do
 * (gemm.cu), and one that goes on with its result joins it: all of it is one kernel, which writes
 * what each call was to write. A thread, or a lane of a row's warp, reads and writes the same
 * elements in every part of it. */
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/device.h"

/* Every comparison is written so that a NaN takes the branch that keeps it. */
GSA_DEVICE float sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

GSA_DEVICE float activation(float x, int kind)
{
    switch (kind) {
    case GSA_RELU:
        return x < 0 ? 0 : x;
    case GSA_LEAKY_RELU:
        return x < 0 ? 0.01f * x : x;
    case GSA_GELU:
        return 0.5f * x * (1 + erff(x * 0.70710678118654752440f));
    case GSA_TANH:
        return tanhf(x);
    default:
        return sigmoid(x);
    }
}

/* dy f'(x); at 0 the slope of relu is 0, of leaky relu the leak. */
GSA_DEVICE float activation_back(float dy, float x, int kind)
{
    switch (kind) {
    case GSA_RELU:
        return x <= 0 ? 0 : dy;
    case GSA_LEAKY_RELU:
        return x <= 0 ? 0.01f * dy : dy;
    case GSA_GELU:
        return dy * (0.5f * (1 + erff(x * 0.70710678118654752440f)) +
                     x * 0.39894228040143267794f * expf(-0.5f * x * x));
    case GSA_TANH: {
        const float t = tanhf(x);
        return dy * (1 - t * t);
    }
    default: {
        const float s = sigmoid(x);
        return dy * s * (1 - s);
    }
    }
}

/* f(x + bias), then with + that; each is written where it is wanted. */
GSA_DEVICE float element(const gsa_cuda_rowwise &job, int64_t i, int64_t c)
{
    float x = job.x[i];
    if (job.bias) x += __ldg(job.bias + c);
    if (job.activates) x = activation(x, job.activation);
    if (job.y) job.y[i] = x;
    if (job.sum) x = job.sum[i] = job.with[i] + x;
    return x;
}

/* A warp a row. Mean first, then the squares of what is left: no cancellation. */
GSA_DEVICE void norm_row(const gsa_cuda_rowwise &job, int64_t row, int lane)
{
    const int64_t cols = job.cols;
    const float *x = (job.sum ? job.sum : job.y ? job.y : job.x) + row * cols;
    float sum = 0, square = 0;
    for (int64_t c = lane; c < cols; c += GSA_WARP) sum += element(job, row * cols + c, c);
    const float mean = gsa_sum_lanes(sum, GSA_WARP) / (float)cols;
    for (int64_t c = lane; c < cols; c += GSA_WARP) square += (x[c] - mean) * (x[c] - mean);
    const float rstd = 1 / sqrtf(gsa_sum_lanes(square, GSA_WARP) / (float)cols + job.eps);
    for (int64_t c = lane; c < cols; c += GSA_WARP)
        job.out[row * cols + c] = (x[c] - mean) * rstd * __ldg(job.gain + c) + __ldg(job.shift + c);
    if (lane == 0) job.mean[row] = mean, job.rstd[row] = rstd;
}

static __device__ __host__ inline int64_t own_blocks(const gsa_cuda_rowwise &job)
{
    return (job.rows + GSA_COLUMN_LANES - 1) / GSA_COLUMN_LANES;
}

/* With xhat = (x - mean) rstd and g = dy gain:  dx += rstd (g - mean(g) - xhat mean(g xhat)); then
 * the slope of an activation before the norm. Further blocks sum columns. */
static __global__ void __launch_bounds__(GSA_COLUMN_THREADS)
    norm_rows_back(GSA_ARGUMENT(gsa_cuda_rowwise) job)
{
    const int64_t row = gsa_thread() / GSA_WARP, cols = job.cols;
    const int lane = threadIdx.x % GSA_WARP;
    if (blockIdx.x >= own_blocks(job)) gsa_sum_columns(job.columns, blockIdx.x - own_blocks(job));
    if (row >= job.rows) return;
    const float *x = job.x + row * cols, *dy = job.with + row * cols;
    const float mean = __ldg(job.mean + row), rstd = __ldg(job.rstd + row);
    float sum = 0, with_x = 0;
    for (int64_t c = lane; c < cols; c += GSA_WARP) {
        const float g = __ldg(dy + c) * __ldg(job.gain + c);
        sum += g;
        with_x += g * (__ldg(x + c) - mean);
    }
    const float mean_g = gsa_sum_lanes(sum, GSA_WARP) / (float)cols;
    const float mean_gx = gsa_sum_lanes(with_x, GSA_WARP) * rstd / (float)cols;
    for (int64_t c = lane; c < cols; c += GSA_WARP) {
        const int64_t i = row * cols + c;
        const float dx =
            (job.accumulate ? job.y[i] : 0) + rstd * (__ldg(dy + c) * __ldg(job.gain + c) - mean_g -
                                                      (__ldg(x + c) - mean) * rstd * mean_gx);
        job.y[i] = job.activates ? activation_back(dx, __ldg(job.slope + i), job.activation) : dx;
    }
}

/* ---- what waits ---------------------------------------------------------------------------- */
gsa_status gsa_cuda_send_rowwise(gsa_backend *b)
{
    const gsa_cuda_rowwise job = gsa_cuda_of(b)->rowwise;
    gsa_cuda_of(b)->rowwise.what = GSA_ROWWISE_NONE;
    if (job.what == GSA_ROWWISE_BACK)
        return GSA_RUN_OVER(b, "norm_backward",
                            own_blocks(job) + job.columns.chunks * job.columns.slices, 1,
                            GSA_COLUMN_THREADS, norm_rows_back, job);
    const auto norm = [=] __device__(int64_t row, int lane) { norm_row(job, row, lane); };
    if (job.out) return gsa_cuda_each_warp(b, "norm_forward", job.rows, norm);
    const auto each = [=] __device__(int64_t i) { element(job, i, job.bias ? i % job.cols : 0); };
    return gsa_cuda_each(b, "elements", job.rows * job.cols, each);
}

/* Makes the call wait, after what waited before it. */
static gsa_status wait(gsa_backend *b, gsa_cuda_rowwise job, int what)
{
    gsa_cuda_stream(b);
    job.what = what;
    gsa_cuda_of(b)->rowwise = job;
    return GSA_CUDA(b, cudaSuccess);
}

/* The waiting call whose result x is, where others may still join; not across a checked call, which
 * may send it. */
static gsa_cuda_rowwise *before(gsa_backend *b, const void *x, int64_t count)
{
    gsa_cuda_rowwise *const job = &gsa_cuda_of(b)->rowwise;
    const float *const end = job->sum ? job->sum : job->y;
    return job->what == GSA_ROWWISE_FORWARD && !job->out && end == x &&
                   job->rows * job->cols == count
               ? job
               : NULL;
}

/* May another `count` floats be read and written in the same kernel? alike: where an array of it
 * has the same address and size, each thread meets its own elements. */
static int is_apart(const gsa_cuda_rowwise *job, const void *at, int64_t count, int alike)
{
    const int64_t n = job->rows * job->cols;
    const gsa_cuda_span own = gsa_cuda_span_of(at, count),
                        all[] = { gsa_cuda_span_of(job->x, n), gsa_cuda_span_of(job->with, n),
                                  gsa_cuda_span_of(job->y, n), gsa_cuda_span_of(job->sum, n),
                                  gsa_cuda_span_of(job->bias, job->cols) };
    for (const gsa_cuda_span &x : all)
        if (gsa_cuda_meet(own, x) && !(alike && own.from == x.from && own.to == x.to)) return 0;
    return 1;
}

/* ---- forward ------------------------------------------------------------------------------- */
static gsa_status check(gsa_backend *b, const char *op, int64_t rows, int64_t cols,
                        int64_t per_block)
{
    GSA_TRY(gsa_ref_shape(b, op, rows, cols));
    if (gsa_cuda_blocks(b, op, per_block == GSA_ELEMENTS ? rows * cols : rows, per_block) < 0)
        return b->error.status;
    return GSA_CUDA(b, cudaSuccess);
}

static gsa_status check_norm(gsa_backend *b, const char *op, int64_t rows, int64_t cols)
{
    if (cols != 0) return check(b, op, rows, cols, GSA_THREADS / GSA_WARP);
    return gsa_fail(&b->error, GSA_ERR_ARGUMENT, "%s: a row of 0 columns has no mean", op);
}

static gsa_status check_activation(gsa_backend *b, const char *op, int kind, int64_t count)
{
    GSA_TRY(gsa_ref_check_activation(b, op, kind, count));
    return check(b, op, count, 1, GSA_ELEMENTS);
}

static gsa_status bias_forward(gsa_backend *b, void *y, const void *bias, int64_t rows,
                               int64_t cols)
{
    gsa_cuda_rowwise job = {};
    GSA_TRY(check(b, "bias_forward", rows, cols, GSA_ELEMENTS));
    job.x = job.y = gsa_floats(y), job.bias = gsa_floats(bias), job.rows = rows, job.cols = cols;
    return rows * cols == 0 ? GSA_OK : wait(b, job, GSA_ROWWISE_FORWARD);
}

static gsa_status activate_forward(gsa_backend *b, void *y, const void *x, int kind, int64_t count)
{
    gsa_cuda_rowwise job = {};
    GSA_TRY(check_activation(b, "activate_forward", kind, count));
    gsa_cuda_rowwise *const earlier = before(b, x, count);
    if (earlier && x == y && !earlier->activates && !earlier->sum) {
        earlier->activates = 1, earlier->activation = kind;
        return GSA_OK;
    }
    job.x = gsa_floats(x), job.y = gsa_floats(y), job.rows = 1, job.cols = count;
    job.activates = 1, job.activation = kind;
    return count == 0 ? GSA_OK : wait(b, job, GSA_ROWWISE_FORWARD);
}

/* Neither term may be a result that the other is a part of. */
static gsa_status add(gsa_backend *b, void *y, const void *a, const void *c, int64_t count)
{
    gsa_cuda_rowwise job = {};
    GSA_TRY(check(b, "add", count, 1, GSA_ELEMENTS));
    gsa_cuda_rowwise *earlier = before(b, c, count);
    const void *const with = earlier ? a : c;
    if (!earlier) earlier = before(b, a, count);
    if (earlier && !earlier->sum && is_apart(earlier, with, count, 0) &&
        is_apart(earlier, y, count, 1)) {
        earlier->with = gsa_floats(with), earlier->sum = gsa_floats(y);
        return GSA_OK;
    }
    job.x = gsa_floats(c), job.with = gsa_floats(a), job.sum = gsa_floats(y);
    job.rows = 1, job.cols = count;
    return count == 0 ? GSA_OK : wait(b, job, GSA_ROWWISE_FORWARD);
}

static gsa_status norm_forward(gsa_backend *b, void *y, void *mean, void *rstd, const void *x,
                               const void *gain, const void *bias, double eps, int64_t rows,
                               int64_t cols)
{
    gsa_cuda_rowwise job = {};
    GSA_TRY(check_norm(b, "norm_forward", rows, cols));
    gsa_cuda_rowwise *const earlier = before(b, x, rows * cols);
    const int joins = earlier && (!earlier->bias || earlier->cols == cols) &&
                      is_apart(earlier, y, rows * cols, 1) && is_apart(earlier, mean, rows, 0) &&
                      is_apart(earlier, rstd, rows, 0) && is_apart(earlier, gain, cols, 0) &&
                      is_apart(earlier, bias, cols, 0);
    gsa_cuda_rowwise *const to = joins ? earlier : &job;
    if (!joins) job.x = gsa_floats(x);
    to->rows = rows, to->cols = cols, to->out = gsa_floats(y), to->mean = gsa_floats(mean);
    to->rstd = gsa_floats(rstd), to->eps = (float)eps;
    to->gain = gsa_floats(gain), to->shift = gsa_floats(bias);
    return joins || rows == 0 ? GSA_OK : wait(b, job, GSA_ROWWISE_FORWARD);
}

/* ---- backward ------------------------------------------------------------------------------ */
static gsa_status norm_backward(gsa_backend *b, void *dx, void *dgain, void *dbias, const void *dy,
                                const void *x, const void *gain, const void *mean, const void *rstd,
                                int accumulate, int64_t rows, int64_t cols)
{
    gsa_cuda_rowwise job = {};
    GSA_TRY(check_norm(b, "norm_backward", rows, cols));
    job.y = gsa_floats(dx), job.with = gsa_floats(dy), job.x = gsa_floats(x);
    job.gain = gsa_floats(gain), job.accumulate = accumulate;
    job.mean = (float *)mean, job.rstd = (float *)rstd, job.rows = rows, job.cols = cols;
    if ((dgain || dbias) && rows > 0)
        GSA_TRY(gsa_cuda_norm_sums(b, gsa_floats(dgain), gsa_floats(dbias), job.with, job.x,
                                   job.mean, job.rstd, rows, cols, dx ? &job.columns : NULL));
    return dx == NULL || rows == 0 ? GSA_OK : wait(b, job, GSA_ROWWISE_BACK);
}

static gsa_status activate_backward(gsa_backend *b, void *dx, const void *dy, const void *x,
                                    int kind, int add, int64_t count)
{
    gsa_cuda_rowwise *const earlier = &gsa_cuda_of(b)->rowwise;
    const gsa_cuda_span own = gsa_cuda_span_of(x, count);
    GSA_TRY(check_activation(b, "activate_backward", kind, count));
    if (dx == NULL) return GSA_OK;
    if (earlier->what == GSA_ROWWISE_BACK && !earlier->activates && earlier->y == dx && dx == dy &&
        !add && earlier->rows * earlier->cols == count &&
        !gsa_cuda_meet(own, gsa_cuda_span_of(dx, count)) &&
        !gsa_cuda_meet(own, gsa_cuda_span_of(earlier->columns.out, earlier->cols)) &&
        !gsa_cuda_meet(own, gsa_cuda_span_of(earlier->columns.weighted, earlier->cols))) {
        earlier->activates = 1, earlier->activation = kind, earlier->slope = gsa_floats(x);
        return GSA_OK;
    }
    const auto slope = [=, dx = gsa_floats(dx), dy = gsa_floats(dy),
                        x = gsa_floats(x)] __device__(int64_t i) {
        const float more = activation_back(dy[i], x[i], kind);
        dx[i] = add ? dx[i] + more : more;
    };
    return gsa_cuda_each(b, "activate_backward", count, slope);
}

/* ---- at once ------------------------------------------------------------------------------- */
static gsa_status accumulate(gsa_backend *b, void *y, const void *x, double scale, int64_t count)
{
    GSA_TRY(gsa_ref_shape(b, "accumulate", count, 1));
    const auto more = [=, y = gsa_floats(y), x = gsa_floats(x),
                       scale = (float)scale] __device__(int64_t i) { y[i] += scale * x[i]; };
    return gsa_cuda_each(b, "accumulate", count, more);
}

static gsa_status multiply(gsa_backend *b, void *y, const void *a, const void *c, int add,
                           int64_t count)
{
    GSA_TRY(gsa_ref_shape(b, "multiply", count, 1));
    const auto product = [=, y = gsa_floats(y), a = gsa_floats(a), c = gsa_floats(c)] __device__(
                             int64_t i) { y[i] = add ? y[i] + a[i] * c[i] : a[i] * c[i]; };
    return gsa_cuda_each(b, "multiply", count, product);
}

/* Keyed as backend.h says; a thread draws the four columns that share a counter. */
static gsa_status drop(gsa_backend *b, const char *op, void *to, const void *from,
                       const gsa_dropout *dropout, int accumulate, int64_t rows, int64_t cols)
{
    const gsa_cuda_drop drop = gsa_cuda_drop_of(dropout, NULL);
    const int64_t quads = (cols + 3) / 4;
    GSA_TRY(gsa_ref_shape(b, op, rows, cols));
    GSA_TRY(gsa_ref_check_dropout(b, op, dropout));
    if (to == NULL) return GSA_OK;
    const auto keep = [=, to = gsa_floats(to), from = gsa_floats(from)] __device__(int64_t i) {
        const int64_t row = i / quads, first = i % quads * 4;
        gsa_philox words = {};
        if (drop.on) words = gsa_drop_words(drop, row, (uint32_t)(first / 4), 0);
        GSA_UNROLL
        for (int c = 0; c < 4; c++) {
            if (first + c >= cols) continue;
            const int64_t at = row * cols + first + c;
            const float factor = drop.on ? gsa_drop_factor(drop, words.word[c]) : 1, x = from[at];
            const float kept = factor == 0 ? 0 : x * factor;
            to[at] = accumulate ? to[at] + kept : kept;
        }
    };
    return gsa_cuda_each(b, op, rows * quads, keep);
}

static gsa_status dropout_forward(gsa_backend *b, void *y, const void *x,
                                  const gsa_dropout *dropout, int64_t rows, int64_t cols)
{
    return drop(b, "dropout_forward", y, x, dropout, 0, rows, cols);
}

static gsa_status dropout_backward(gsa_backend *b, void *dx, const void *dy,
                                   const gsa_dropout *dropout, int64_t rows, int64_t cols)
{
    return drop(b, "dropout_backward", dx, dy, dropout, 1, rows, cols);
}

void gsa_cuda_fill_elements(gsa_backend *b)
{
    b->add = add;
    b->accumulate = accumulate;
    b->multiply = multiply;
    b->activate_forward = activate_forward;
    b->activate_backward = activate_backward;
    b->bias_forward = bias_forward;
    b->norm_forward = norm_forward;
    b->norm_backward = norm_backward;
    b->dropout_forward = dropout_forward;
    b->dropout_backward = dropout_backward;
}
