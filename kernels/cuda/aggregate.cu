/* aggregate.cu - y_u = sum or mean of v over the in-edges of u; dv_v += dy_u or dy_u / degree over
 * the out-edges of v.
 *
 * A warp has 32 columns of one row (or of one piece of a hub row): its lanes look up 32 edges at a
 * time, then walk them together. */
#include "kernels/cuda/device.h"
#include "kernels/cuda/kinds.h"
#include "kernels/cuda/plan.h"

enum { WARPS = GSA_THREADS / GSA_WARP };

typedef struct aggregate_job {
    int64_t rows, cols, slices;
    int mean, backward;
    const int64_t *offset, *row_offset;
    const gsa_cuda_entry *entries;
    const gsa_transposed *out_edge;
    float *y, *part;
    const float *dy;
    gsa_cuda_cut cut;
    gsa_cuda_kinds kinds; /* v and dv */
} aggregate_job;

typedef struct aggregate_item {
    int64_t row, first;
    int64_t piece; /* -1: a whole row */
    int32_t count;
    bool live;
} aggregate_item;

/* The rows, then the pieces of those with more than `length` edges, which are no item as rows. */
GSA_DEVICE aggregate_item find_item(const aggregate_job &job, int64_t item)
{
    aggregate_item at = { item, 0, -1, 0, true };
    if (item >= job.rows) {
        at.piece = item - job.rows;
        at.live = at.piece < __ldg(job.cut.piece + job.rows);
        if (!at.live) return at;
        at.row = __ldg(job.cut.owner + at.piece);
        at.first = (at.piece - __ldg(job.cut.piece + at.row)) * job.cut.length;
    }
    const int64_t left = __ldg(job.offset + at.row + 1) - __ldg(job.offset + at.row) - at.first;
    at.live = at.piece >= 0 || job.cut.piece == NULL || left <= job.cut.length;
    at.count = (int32_t)(at.piece >= 0 && left > job.cut.length ? job.cut.length : left);
    return at;
}

/* One lane's edge of the next 32 from `edge` on: its row, and its weight in the sum. */
GSA_DEVICE const float *find_edge(const aggregate_job &job, int64_t edge, float *weight)
{
    *weight = 1;
    if (job.backward) {
        const int64_t row = __ldg(&job.out_edge[edge].row);
        if (job.mean)
            *weight = 1 / (float)(__ldg(job.row_offset + row + 1) - __ldg(job.row_offset + row));
        return job.dy + row * job.cols;
    }
    const gsa_cuda_entry entry = job.entries[edge];
    const int kind = (int)(entry.tag % GSA_MAX_KINDS);
    return (const float *)GSA_OF_KIND(job.kinds, kind, v) + entry.source * job.cols;
}

/* Where the sum of a row goes: y, or dv of the source's kind (NULL: not wanted, or another
 * launch's). */
GSA_DEVICE float *target_row(const aggregate_job &job, int64_t row)
{
    if (!job.backward) return job.y + row * job.cols;
    const int kind = gsa_kind_of(job.kinds, row);
    float *const dv = GSA_OF_KIND(job.kinds, kind, dv);
    return dv ? dv + (row - GSA_OF_KIND(job.kinds, kind, first)) * job.cols : NULL;
}

GSA_DEVICE void store_sum(const aggregate_job &job, const aggregate_item &at, int64_t column,
                          float sum)
{
    const int64_t degree = __ldg(job.offset + at.row + 1) - __ldg(job.offset + at.row);
    float *to = target_row(job, at.row);
    if (job.backward) {
        if (to) to[column] += sum;
    } else to[column] = job.mean && degree > 0 ? sum / (float)degree : sum;
}

static __global__ void __launch_bounds__(GSA_THREADS)
    aggregate_rows(GSA_ARGUMENT(aggregate_job) job)
{
    GSA_SHARED(const float *, from, [GSA_THREADS]);
    GSA_SHARED(float, weights, [GSA_THREADS]);
    const int lane = threadIdx.x % GSA_WARP, mine = threadIdx.x - lane;
    const int64_t warp = (int64_t)blockIdx.x * WARPS + threadIdx.x / GSA_WARP,
                  column = warp % job.slices * GSA_WARP + lane;
    float sum = 0;
    if (warp / job.slices >= job.rows + job.cut.bound) return;
    const aggregate_item at = find_item(job, warp / job.slices);
    if (!at.live) return; /* a whole warp */
    const int64_t edge = __ldg(job.offset + at.row) + at.first + lane;
    for (int base = 0; base < at.count; base += GSA_WARP) {
        if (base + lane < at.count)
            from[threadIdx.x] = find_edge(job, edge + base, &weights[threadIdx.x]);
        __syncwarp();
        const int edges = min(at.count - base, (int)GSA_WARP);
        if (column < job.cols)
            for (int e = 0; e < edges; e++)
                sum += weights[mine + e] * __ldg(from[mine + e] + column);
        __syncwarp();
    }
    if (column >= job.cols) return;
    if (at.piece >= 0) job.part[at.piece * job.cols + column] = sum;
    else store_sum(job, at, column, sum);
}

/* A column of a row that was cut: all its pieces, in their order. */
GSA_DEVICE void merge_pieces(const aggregate_job &job, int64_t piece, int64_t column)
{
    const aggregate_item at = find_item(job, job.rows + piece);
    float sum = 0;
    if (!at.live || at.first > 0) return;
    for (int64_t p = piece; p < __ldg(job.cut.piece + at.row + 1); p++)
        sum += job.part[p * job.cols + column];
    store_sum(job, at, column, sum);
}

/* In scratch: kinds, pieces. */
static gsa_status launch(gsa_backend *b, const char *op, aggregate_job job,
                         const gsa_cuda_kind *kind, const gsa_cuda_cut &cut)
{
    job.cut = cut;
    GSA_TRY(gsa_cuda_lay(b, op, [&](gsa_cuda_room &room) {
        gsa_cuda_lay_kinds(room, &job.kinds);
        room.cut(job.part, cut.bound * job.cols);
    }));
    GSA_TRY(gsa_cuda_tell_kinds(b, &job.kinds, kind));
    job.slices = (job.cols + GSA_WARP - 1) / GSA_WARP;
    GSA_TRY(GSA_RUN_OVER(b, op, (job.rows + cut.bound) * job.slices, WARPS, GSA_THREADS,
                         aggregate_rows, job));
    const int64_t wide = job.slices * GSA_WARP;
    const auto merge = [=] __device__(int64_t i) {
        if (i % wide < job.cols) merge_pieces(job, i / wide, i % wide);
    };
    return gsa_cuda_each<GSA_THREADS>(b, op, cut.bound * wide, merge);
}

static gsa_status aggregate(gsa_backend *b, const char *op, const gsa_edges *edges,
                            const gsa_part *parts, aggregate_job job)
{
    const gsa_cuda_plan *plan;
    gsa_cuda_kind kind[GSA_MAX_KINDS] = {};
    GSA_TRY(gsa_ref_shape(b, op, edges->rows, job.cols));
    GSA_TRY(gsa_ref_check_sizes(b, op, edges, job.backward));
    GSA_TRY(GSA_CUDA(b, cudaSuccess));
    if (edges->rows == 0 || job.cols == 0) return GSA_OK;
    GSA_TRY(gsa_cuda_plan_of(b, op, edges, job.backward ? GSA_PLAN_OUT : GSA_PLAN_IN, &plan));
    job.kinds.count = edges->kinds;
    job.entries = plan->entries, job.out_edge = plan->out, job.row_offset = edges->edge_offset;
    job.rows = job.backward ? plan->sources : edges->rows;
    job.offset = job.backward ? plan->out_offset : edges->edge_offset;
    for (int k = 0; k < edges->kinds; k++) {
        kind[k].first = plan->part_first[k];
        if (edges->part_rows[k] == 0) continue;
        if (job.backward) kind[k].dv = gsa_floats(parts[k].dv);
        else kind[k].v = parts[k].v;
    }
    if (!job.backward) return launch(b, op, job, kind, plan->in);
    return gsa_cuda_in_turns(kind, edges->kinds, [&](const gsa_cuda_kind *own) {
        return launch(b, op, job, own, plan->out_cut);
    });
}

static gsa_status aggregate_forward(gsa_backend *b, void *y, const gsa_edges *edges,
                                    const gsa_part *parts, int mean, int64_t cols)
{
    aggregate_job job = {};
    job.cols = cols, job.mean = mean, job.y = gsa_floats(y);
    return aggregate(b, "aggregate_forward", edges, parts, job);
}

static gsa_status aggregate_backward(gsa_backend *b, const gsa_part *parts, const void *dy,
                                     const gsa_edges *edges, int mean, int64_t cols)
{
    aggregate_job job = {};
    job.cols = cols, job.mean = mean, job.backward = 1, job.dy = gsa_floats(dy);
    return aggregate(b, "aggregate_backward", edges, parts, job);
}

void gsa_cuda_fill_aggregate(gsa_backend *b)
{
    b->aggregate_forward = aggregate_forward;
    b->aggregate_backward = aggregate_backward;
}
