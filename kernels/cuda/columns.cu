/* columns.cu - the gradient of a bias, and other sums over rows (columns.h). */
#include "kernels/cuda/columns.h"

enum { PARTIALS = 128 };
static const int64_t CHUNK = 256; /* rows of a partial sum at least */

static __global__ void __launch_bounds__(GSA_COLUMN_THREADS)
    sum_columns(GSA_ARGUMENT(gsa_cuda_columns) job)
{
    gsa_sum_columns(job, blockIdx.x);
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

/* Into chunks, and as many slices as there are counters. */
static void cut(gsa_backend *b, gsa_cuda_columns *job)
{
    const int64_t slices = (job->cols + GSA_WARP - 1) / GSA_WARP - job->first;
    job->chunk = chunk_rows(job->rows);
    job->chunks = (job->rows + job->chunk - 1) / job->chunk;
    job->counters = gsa_cuda_of(b)->counters;
    job->slices = slices < (int64_t)GSA_CUDA_COUNTERS ? slices : (int64_t)GSA_CUDA_COUNTERS;
}

static gsa_status run(gsa_backend *b, gsa_cuda_columns job)
{
    if (job.rows == 0) return GSA_OK;
    for (; job.first * GSA_WARP < job.cols; job.first += job.slices) {
        cut(b, &job);
        GSA_TRY(GSA_RUN(b, sum_columns, job.chunks * job.slices, GSA_COLUMN_THREADS, job));
    }
    return GSA_OK;
}

gsa_status gsa_cuda_column_sums(gsa_backend *b, float *out, const float *x, int64_t rows,
                                int64_t cols, int64_t labels, float *room)
{
    gsa_cuda_columns job = {};
    job.out = out, job.partial = room, job.x = x, job.rows = rows, job.cols = cols,
    job.labels = labels;
    return run(b, job);
}

gsa_status gsa_cuda_norm_sums(gsa_backend *b, float *dgain, float *dbias, const float *dy,
                              const float *x, const float *mean, const float *rstd, int64_t rows,
                              int64_t cols, gsa_cuda_columns *later)
{
    gsa_cuda_columns job = {};
    GSA_TRY(gsa_cuda_lay(b, "norm_backward", [&](gsa_cuda_room &room) {
        room.cut(job.partial, gsa_cuda_column_room(rows, cols));
    }));
    job.x = dy, job.rows = rows, job.cols = cols;
    job.out = dbias, job.weighted = dgain, job.norm_x = x, job.mean = mean, job.rstd = rstd;
    cut(b, &job);
    if (later == NULL || job.slices * GSA_WARP < cols) return run(b, job);
    *later = job;
    return GSA_OK;
}

static gsa_status bias_backward(gsa_backend *b, void *dbias, const void *dy, int64_t rows,
                                int64_t cols)
{
    GSA_TRY(gsa_ref_shape(b, "bias_backward", rows, cols));
    if (dbias == NULL) return GSA_OK;
    return gsa_cuda_norm_sums(b, NULL, (float *)dbias, (const float *)dy, NULL, NULL, NULL, rows,
                              cols, NULL);
}

void gsa_cuda_fill_columns(gsa_backend *b)
{
    b->bias_backward = bias_backward;
}
