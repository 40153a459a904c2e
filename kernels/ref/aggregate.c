/* aggregate.c - y_u = sum or mean of v over the in-edges of u; dv_v += dy_u or dy_u / degree. */
#include "kernels/ref/walk.h"

typedef struct aggregate_job {
    const gsa_edges *edges;
    const gsa_part *parts;
    real *y;
    const real *dy;
    int mean;
    int64_t cols, chunk, slices;
} aggregate_job;

static real share_of(const aggregate_job *job, int64_t row)
{
    const int64_t degree = job->edges->edge_offset[row + 1] - job->edges->edge_offset[row];
    return job->mean && degree > 0 ? 1 / (real)degree : 1;
}

/* Columns first .. first+width-1 of one row; width <= REF_COLUMNS. */
static void gather_columns(const aggregate_job *job, int64_t row, int64_t first, int64_t width)
{
    double sum[REF_COLUMNS] = { 0 };
    const int64_t degree = job->edges->edge_offset[row + 1] - job->edges->edge_offset[row];
    const double divisor = job->mean && degree > 0 ? (double)degree : 1;
    real *y = job->y + row * job->cols + first;
    ref_walk walk = ref_walk_of(job->edges, row);
    ref_edge_block block;
    while (ref_walk_next(&walk, &block) > 0)
        for (int32_t e = 0; e < block.count; e++) {
            const real *v =
                (const real *)job->parts[block.kind[e]].v + block.source[e] * job->cols + first;
            for (int64_t i = 0; i < width; i++) sum[i] += (double)v[i];
        }
    for (int64_t i = 0; i < width; i++) y[i] = (real)(sum[i] / divisor);
}

static void forward_chunk(void *context, int64_t item)
{
    const aggregate_job *job = context;
    const int64_t last = ref_smaller((item + 1) * job->chunk, job->edges->rows);
    for (int64_t row = item * job->chunk; row < last; row++)
        for (int64_t first = 0; first < job->cols; first += REF_COLUMNS)
            gather_columns(job, row, first, ref_smaller(REF_COLUMNS, job->cols - first));
}

static gsa_status aggregate_forward(gsa_backend *b, void *y, const gsa_edges *edges,
                                    const gsa_part *parts, int mean, int64_t cols)
{
    gsa_status status = gsa_ref_shape(b, "aggregate_forward", edges->rows, cols);
    if (status == GSA_OK) status = gsa_ref_check_edges(b, "aggregate_forward", edges, 0);
    if (status != GSA_OK) return status;
    aggregate_job job = { .edges = edges,
                          .parts = parts,
                          .y = y,
                          .mean = mean,
                          .cols = cols,
                          .chunk = ref_edge_chunk(edges) };
    gsa_team_run(b->team, ref_items(edges->rows, job.chunk), forward_chunk, &job);
    return GSA_OK;
}

static void scatter_row(const aggregate_job *job, int64_t row, int64_t first, int64_t width)
{
    const real share = share_of(job, row), *dy = job->dy + row * job->cols + first;
    ref_walk walk = ref_walk_of(job->edges, row);
    ref_edge_block block;
    while (ref_walk_next(&walk, &block) > 0)
        for (int32_t e = 0; e < block.count; e++) {
            real *dv = job->parts[block.kind[e]].dv;
            if (dv != NULL) ref_axpy(dv + block.source[e] * job->cols + first, share, dy, width);
        }
}

/* An item is one example and one slice of columns: no other item touches the same part of dv. */
static void backward_item(void *context, int64_t item)
{
    const aggregate_job *job = context;
    const int64_t example = item / job->slices, first = item % job->slices * job->chunk;
    const int64_t width = ref_smaller(job->chunk, job->cols - first);
    for (int64_t r = job->edges->block_offset[example]; r < job->edges->block_offset[example + 1];
         r++) {
        const gsa_rows rows = job->edges->blocks[r];
        for (int64_t row = rows.first; row < rows.first + rows.count; row++)
            scatter_row(job, row, first, width);
    }
}

static gsa_status aggregate_backward(gsa_backend *b, const gsa_part *parts, const void *dy,
                                     const gsa_edges *edges, int mean, int64_t cols)
{
    gsa_status status = gsa_ref_shape(b, "aggregate_backward", edges->rows, cols);
    if (status == GSA_OK) status = gsa_ref_check_edges(b, "aggregate_backward", edges, 1);
    if (status != GSA_OK || edges->rows == 0) return status;
    aggregate_job job = { .edges = edges, .parts = parts, .dy = dy, .mean = mean, .cols = cols };
    job.chunk = edges->examples >= 16 ? cols + (cols == 0) : REF_COLUMNS / 2;
    job.slices = ref_items(cols, job.chunk);
    gsa_team_run(b->team, edges->examples * job.slices, backward_item, &job);
    return GSA_OK;
}

void GSA_REF(fill_aggregate)(gsa_backend *b)
{
    b->aggregate_forward = aggregate_forward;
    b->aggregate_backward = aggregate_backward;
}
