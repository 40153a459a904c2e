/* columns.cu - the gradient of a bias, and other sums over rows (columns.h). */
#include "kernels/cuda/columns.h"
#include "kernels/cuda/device.h"

enum { LANES = 8 /* rows that a block reads at a time */, PARTIALS = 128 };
static const int64_t CHUNK = 256; /* rows of a partial sum at least */

typedef struct column_job {
    float *out, *weighted, *partial; /* weighted: of x (norm_x - mean) rstd; either may be NULL */
    const float *x, *norm_x, *mean, *rstd;
    unsigned *counters; /* [slices of this launch] */
    int64_t rows, cols, chunk, first, slices, chunks, labels;
} column_job;

GSA_DEVICE void add_column(const column_job &job, int64_t c)
{
    const volatile float *partial = job.partial;
    const int64_t to =
        job.labels > 0 ? c % job.labels * (job.cols / job.labels) + c / job.labels : c;
    float sum = 0, weighted = 0;
    for (int64_t i = 0; i < job.chunks; i++) {
        sum += partial[2 * i * job.cols + c];
        weighted += partial[(2 * i + 1) * job.cols + c];
    }
    if (job.out) job.out[to] += sum;
    if (job.weighted) job.weighted[to] += weighted;
}

/* A block: 32 columns of one chunk; eight rows at a time, whose sums are added in the order of
 * lanes. The last block of a column's chunks adds up what they have, in their order. */
static __global__ void __launch_bounds__(GSA_WARP *LANES) sum_columns(GSA_ARGUMENT(column_job) job)
{
    GSA_SHARED(float, sums, [2][LANES][GSA_WARP + 1]);
    const int column = threadIdx.x % GSA_WARP, lane = threadIdx.x / GSA_WARP;
    const int64_t chunk = blockIdx.x / job.slices, slice = blockIdx.x % job.slices,
                  c = (job.first + slice) * GSA_WARP + column;
    const int64_t end = min((chunk + 1) * job.chunk, job.rows);
    float sum = 0, weighted = 0;
    if (c < job.cols)
        for (int64_t row = chunk * job.chunk + lane; row < end; row += LANES) {
            const float x = __ldg(job.x + row * job.cols + c);
            sum += x;
            if (job.weighted)
                weighted += x * ((__ldg(job.norm_x + row * job.cols + c) - __ldg(job.mean + row)) *
                                 __ldg(job.rstd + row));
        }
    sums[0][lane][column] = sum, sums[1][lane][column] = weighted;
    __syncthreads();
    if (lane == 0 && c < job.cols) {
        for (int l = 1; l < LANES; l++) sum += sums[0][l][column], weighted += sums[1][l][column];
        job.partial[2 * chunk * job.cols + c] = sum;
        job.partial[(2 * chunk + 1) * job.cols + c] = weighted;
    }
    if (gsa_last_block(job.counters + slice, (unsigned)job.chunks) && lane == 0 && c < job.cols)
        add_column(job, c);
}

static int64_t chunk_rows(int64_t rows)
{
    const int64_t chunk = (rows + PARTIALS - 1) / PARTIALS;
    return chunk > CHUNK ? chunk : CHUNK;
}

int64_t gsa_cuda_column_room(int64_t rows, int64_t cols)
{
    const int64_t chunk = chunk_rows(rows);
    return 2 * ((rows + chunk - 1) / chunk) * cols;
}

static gsa_status run(gsa_backend *b, column_job job)
{
    const int64_t slices = (job.cols + GSA_WARP - 1) / GSA_WARP, most = GSA_CUDA_COUNTERS;
    if (job.rows == 0 || job.cols == 0) return GSA_OK;
    job.chunk = chunk_rows(job.rows);
    job.chunks = (job.rows + job.chunk - 1) / job.chunk;
    job.counters = gsa_cuda_of(b)->counters;
    for (; job.first < slices; job.first += most) {
        job.slices = slices - job.first < most ? slices - job.first : most;
        GSA_TRY(GSA_RUN(b, sum_columns, job.chunks * job.slices, GSA_WARP * LANES, job));
    }
    return GSA_OK;
}

gsa_status gsa_cuda_column_sums(gsa_backend *b, float *out, const float *x, int64_t rows,
                                int64_t cols, int64_t labels, float *room)
{
    column_job job = {};
    job.out = out, job.partial = room, job.x = x, job.rows = rows, job.cols = cols,
    job.labels = labels;
    return run(b, job);
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
    job.out = dbias, job.weighted = dgain, job.norm_x = x, job.mean = mean, job.rstd = rstd;
    return run(b, job);
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
    b->bias_backward = bias_backward;
}
