/* columns.cu - the bias added to rows, its gradient, and other sums over rows (columns.h). */
#include "kernels/cuda/columns.h"
#include "kernels/cuda/device.h"

enum { LANES = 8 /* rows that a block reads at a time */, PARTIALS = 128 };
static const int64_t CHUNK = 256; /* rows of a partial sum at least */

typedef struct column_job {
    float *out, *partial;
    const float *x, *norm_x, *mean, *rstd;
    int64_t rows, cols, chunk, slices, chunks, labels;
} column_job;

/* A block: 32 columns of one chunk; eight rows at a time, whose sums are added in the order of
 * lanes. */
static __global__ void __launch_bounds__(GSA_WARP *LANES) sum_chunk(GSA_ARGUMENT(column_job) job)
{
    GSA_SHARED(float, sums, [LANES][GSA_WARP + 1]);
    const int column = threadIdx.x % GSA_WARP, lane = threadIdx.x / GSA_WARP;
    const int64_t chunk = blockIdx.x / job.slices, c = blockIdx.x % job.slices * GSA_WARP + column;
    const int64_t end = min((chunk + 1) * job.chunk, job.rows);
    float sum = 0;
    if (c < job.cols)
        for (int64_t row = chunk * job.chunk + lane; row < end; row += LANES) {
            const float x = __ldg(job.x + row * job.cols + c);
            sum += job.norm_x
                       ? x * ((__ldg(job.norm_x + row * job.cols + c) - __ldg(job.mean + row)) *
                              __ldg(job.rstd + row))
                       : x;
        }
    sums[lane][column] = sum;
    __syncthreads();
    if (lane > 0 || c >= job.cols) return;
    for (int l = 1; l < LANES; l++) sum += sums[l][column];
    job.partial[chunk * job.cols + c] = sum;
}

static __global__ void __launch_bounds__(GSA_ELEMENTS) add_chunks(GSA_ARGUMENT(column_job) job)
{
    const int64_t c = gsa_thread();
    if (c >= job.cols) return;
    float sum = 0;
    for (int64_t i = 0; i < job.chunks; i++) sum += job.partial[i * job.cols + c];
    const int64_t to =
        job.labels > 0 ? c % job.labels * (job.cols / job.labels) + c / job.labels : c;
    job.out[to] += sum;
}

static int64_t chunk_rows(int64_t rows)
{
    const int64_t chunk = (rows + PARTIALS - 1) / PARTIALS;
    return chunk > CHUNK ? chunk : CHUNK;
}

int64_t gsa_cuda_column_room(int64_t rows, int64_t cols)
{
    const int64_t chunk = chunk_rows(rows);
    return (rows + chunk - 1) / chunk * cols;
}

static gsa_status run(gsa_backend *b, const char *op, column_job job)
{
    int64_t blocks;
    if (job.rows == 0 || job.cols == 0) return GSA_OK;
    job.chunk = chunk_rows(job.rows);
    job.chunks = (job.rows + job.chunk - 1) / job.chunk;
    job.slices = (job.cols + GSA_WARP - 1) / GSA_WARP;
    GSA_TRY(gsa_cuda_grid(b, op, job.chunks * job.slices, 1, &blocks));
    GSA_TRY(GSA_RUN(b, sum_chunk, blocks, GSA_WARP * LANES, job));
    GSA_TRY(gsa_cuda_grid(b, op, job.cols, GSA_ELEMENTS, &blocks));
    return GSA_RUN(b, add_chunks, blocks, GSA_ELEMENTS, job);
}

gsa_status gsa_cuda_column_sums(gsa_backend *b, const char *op, float *out, const float *x,
                                int64_t rows, int64_t cols, int64_t labels, float *room)
{
    column_job job = {};
    job.out = out, job.partial = room, job.x = x, job.rows = rows, job.cols = cols,
    job.labels = labels;
    return run(b, op, job);
}

gsa_status gsa_cuda_norm_sums(gsa_backend *b, float *dgain, float *dbias, const float *dy,
                              const float *x, const float *mean, const float *rstd, int64_t rows,
                              int64_t cols)
{
    void *room;
    column_job job = {};
    GSA_TRY(gsa_cuda_scratch(b, "norm_backward", gsa_cuda_column_room(rows, cols), sizeof(float),
                             &room));
    job.partial = (float *)room, job.x = dy, job.rows = rows, job.cols = cols;
    if (dbias) {
        job.out = dbias;
        GSA_TRY(run(b, "norm_backward", job));
    }
    if (dgain == NULL) return GSA_OK;
    job.out = dgain, job.norm_x = x, job.mean = mean, job.rstd = rstd;
    return run(b, "norm_backward", job);
}

/* ---- bias ---------------------------------------------------------------------------------- */
static __global__ void __launch_bounds__(GSA_ELEMENTS)
    add_bias(float *y, const float *bias, int64_t cols, int64_t count)
{
    const int64_t i = gsa_thread();
    if (i < count) y[i] += __ldg(bias + i % cols);
}

static gsa_status bias_forward(gsa_backend *b, void *y, const void *bias, int64_t rows,
                               int64_t cols)
{
    int64_t blocks;
    GSA_TRY(gsa_cuda_shape(b, "bias_forward", rows, cols));
    GSA_TRY(gsa_cuda_grid(b, "bias_forward", rows * cols, GSA_ELEMENTS, &blocks));
    return GSA_RUN(b, add_bias, blocks, GSA_ELEMENTS, (float *)y, (const float *)bias, cols,
                   rows * cols);
}

static gsa_status bias_backward(gsa_backend *b, void *dbias, const void *dy, int64_t rows,
                                int64_t cols)
{
    GSA_TRY(gsa_cuda_shape(b, "bias_backward", rows, cols));
    if (dbias == NULL) return GSA_OK;
    return gsa_cuda_norm_sums(b, NULL, (float *)dbias, (const float *)dy, NULL, NULL, NULL, rows,
                              cols);
}

void gsa_cuda_fill_columns(gsa_backend *b)
{
    b->bias_forward = bias_forward;
    b->bias_backward = bias_backward;
}
