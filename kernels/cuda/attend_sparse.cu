/* attend_sparse.cu - attention by a sparse library: the products of queries and keys that edges ask
 * for (SDDMM), a softmax of each row, weights times values (SpMM), a head at a time. An oracle that
 * shares no kernel with attend_ops.cu, and the baseline to beat: it keeps heads x edges numbers,
 * four of each in backward. Labels with learned vectors or biases are refused. */
#include "kernels/cuda/attend.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/library.h"
#include "kernels/cuda/plan.h"

typedef struct sparse_job {
    int64_t rows, edges, stride,
        width; /* stride: from one head's values to the next's, edges rounded up to 16 bytes */
    int32_t heads, dim;
    const int64_t *offset;
    const int32_t *out_edge;
    gsa_cuda_drop drop;
    float *value, *other; /* [heads, stride]: s, then what multiplies v; in backward ds, and m p
                             from m do.v */
    float *value_out, *other_out; /* the same by source */
    const float *out, *dout, *kept_lse;
    float *lse, *weights;
} sparse_job;

/* Which (row, head) a warp has; false: none, for all of it. */
typedef struct sparse_item {
    int64_t row, first, last;
    int32_t head;
    int lane;
} sparse_item;

GSA_DEVICE bool find_item(const sparse_job &job, sparse_item &at)
{
    const int64_t item = gsa_thread() / GSA_WARP;
    if (item >= job.rows * job.heads) return false;
    at.row = item / job.heads, at.head = (int32_t)(item % job.heads),
    at.lane = threadIdx.x % GSA_WARP;
    at.first = __ldg(job.offset + at.row), at.last = __ldg(job.offset + at.row + 1);
    return true;
}

GSA_DEVICE float drop_of(const sparse_job &job, const sparse_item &at, int64_t edge)
{
    return job.drop.on ? gsa_drop_edge(job.drop, at.row, (uint32_t)(edge - at.first), at.head)
                       : 1.0f;
}

/* s becomes m p. */
static __global__ void __launch_bounds__(GSA_THREADS) sparse_softmax(GSA_ARGUMENT(sparse_job) job)
{
    sparse_item at;
    if (!find_item(job, at)) return;
    float *const value = job.value + at.head * job.stride;
    float top = -INFINITY, sum = 0;
    for (int64_t e = at.first + at.lane; e < at.last; e += GSA_WARP) top = gsa_top(top, value[e]);
    top = gsa_top_lanes(top);
    const float shift = top == -INFINITY ? 0 : top;
    for (int64_t e = at.first + at.lane; e < at.last; e += GSA_WARP) sum += expf(value[e] - shift);
    sum = gsa_sum_lanes(sum, GSA_WARP);
    const float share = sum == 0 ? 0 : 1 / sum;
    for (int64_t e = at.first + at.lane; e < at.last; e += GSA_WARP) {
        const float p = expf(value[e] - shift) * share;
        if (job.weights) job.weights[e * job.heads + at.head] = p;
        value[e] = p * drop_of(job, at, e);
    }
    if (at.lane == 0)
        job.lse[at.row * job.heads + at.head] = sum == 0 ? -INFINITY : shift + logf(sum);
}

/* s and do.v become ds = p (m do.v - D) and m p. */
static __global__ void __launch_bounds__(GSA_THREADS)
    sparse_softmax_back(GSA_ARGUMENT(sparse_job) job)
{
    sparse_item at;
    if (!find_item(job, at)) return;
    const int64_t head = at.row * job.width + (int64_t)at.head * job.dim;
    const float lse = __ldg(job.kept_lse + at.row * job.heads + at.head);
    float *const value = job.value + at.head * job.stride, *const other =
                                                               job.other + at.head * job.stride;
    float delta = 0;
    for (int32_t c = at.lane; c < job.dim; c += GSA_WARP)
        delta += __ldg(job.dout + head + c) * __ldg(job.out + head + c);
    delta = gsa_sum_lanes(delta, GSA_WARP);
    for (int64_t e = at.first + at.lane; e < at.last; e += GSA_WARP) {
        const float p = lse == -INFINITY ? 0 : expf(value[e] - lse), m = drop_of(job, at, e);
        value[e] = p * (m * other[e] - delta);
        other[e] = m * p;
    }
}

/* Values by row become values by source. */
static __global__ void __launch_bounds__(GSA_ELEMENTS)
    sparse_transpose(GSA_ARGUMENT(sparse_job) job)
{
    const int64_t i = gsa_thread(), head = i / job.edges, e = i % job.edges;
    if (head >= job.heads) return;
    const int64_t from = head * job.stride + __ldg(job.out_edge + e), to = head * job.stride + e;
    job.value_out[to] = job.value[from];
    job.other_out[to] = job.other[from];
}

/* ---- what it can do ------------------------------------------------------------------------ */
static gsa_status check(gsa_backend *b, const char *op, const gsa_attend_args *args, int backward)
{
    if (args->label_vectors || args->label_bias || args->dlabel_vectors || args->dlabel_bias)
        return gsa_fail(&b->error, GSA_ERR_UNSUPPORTED,
                        "%s: the cuSPARSE path has no %s that labels learn", op,
                        args->label_vectors || args->dlabel_vectors ? "vectors" : "biases");
    if (args->head_dim == 0)
        return gsa_fail(&b->error, GSA_ERR_UNSUPPORTED,
                        "%s: the cuSPARSE path has no heads of 0 columns", op);
    GSA_TRY(gsa_attend_check(b, op, args, backward));
    GSA_TRY(gsa_ref_shape(b, op, args->edges->edge_total + 4, (int64_t)4 * args->heads));
    if (args->edges->edge_total > INT32_MAX || args->edges->rows >= INT32_MAX)
        return gsa_fail(&b->error, GSA_ERR_LIMIT,
                        "%s: %lld rows, %lld edges: the cuSPARSE path counts them in 32 bits", op,
                        (long long)args->edges->rows, (long long)args->edges->edge_total);
    int64_t sources = 0;
    for (int k = 0; k < args->edges->kinds; k++) sources += args->edges->part_rows[k];
    if (sources < INT32_MAX && args->edges->edge_total > args->edges->rows * sources)
        return gsa_fail(&b->error, GSA_ERR_UNSUPPORTED,
                        "%s: %lld edges, but %lld rows x %lld sources: the cuSPARSE path has no "
                        "more edges than such pairs",
                        op, (long long)args->edges->edge_total, (long long)args->edges->rows,
                        (long long)sources);
    return GSA_OK;
}

/* ---- all kinds of sources as one matrix ---------------------------------------------------- */
enum { KEYS, VALUES };

static const float *plane_of(const gsa_part *part, int which)
{
    return (const float *)(which == KEYS ? part->k : part->v);
}

static float *gradient_of(const gsa_part *part, int which)
{
    return (float *)(which == KEYS ? part->dk : part->dv);
}

/* The kind that has all sources, or -1. */
static int only_kind(const gsa_edges *edges)
{
    int only = -1, count = 0;
    for (int k = 0; k < edges->kinds; k++)
        if (edges->part_rows[k] > 0) only = k, count++;
    return count == 1 ? only : -1;
}

/* Keys or values of all kinds, one below the other: where they are, or copied into `room`. */
static gsa_status gather(gsa_backend *b, const gsa_attend_args *args, int which, int64_t width,
                         float *room, const float **at)
{
    const gsa_edges *edges = args->edges;
    const int only = only_kind(edges);
    cudaStream_t stream = gsa_cuda_stream(b);
    *at = only >= 0 ? plane_of(&args->parts[only], which) : room;
    for (int k = 0; k < edges->kinds && only < 0; k++) {
        const size_t bytes = sizeof(float) * (size_t)(edges->part_rows[k] * width);
        if (bytes == 0) continue;
        GSA_TRY(GSA_CUDA(b, cudaMemcpyAsync(room, plane_of(&args->parts[k], which), bytes,
                                            cudaMemcpyDeviceToDevice, stream)));
        room += edges->part_rows[k] * width;
    }
    return GSA_OK;
}

static int wanted(const gsa_attend_args *args, int which)
{
    int any = 0;
    for (int k = 0; k < args->edges->kinds; k++)
        any |= args->edges->part_rows[k] > 0 && gradient_of(&args->parts[k], which) != NULL;
    return any;
}

/* ---- the two passes ------------------------------------------------------------------------ */
static void set_job(sparse_job *job, const gsa_attend_args *args, const gsa_cuda_plan *plan)
{
    *job = sparse_job{};
    job->rows = args->edges->rows, job->edges = args->edges->edge_total,
    job->stride = (job->edges + 3) / 4 * 4;
    job->heads = args->heads, job->dim = args->head_dim,
    job->width = (int64_t)args->heads * args->head_dim;
    job->offset = args->edges->edge_offset, job->out_edge = plan->out_edge;
    job->drop = gsa_cuda_drop_of(&args->dropout, args->edges);
    job->out = (const float *)args->out, job->dout = (const float *)args->dout,
    job->kept_lse = (const float *)args->lse;
    job->lse = (float *)args->lse, job->weights = (float *)args->weights;
}

static gsa_cuda_csr matrix_of(const sparse_job *job, const gsa_cuda_plan *plan, float *value,
                              int32_t head)
{
    return gsa_cuda_csr{ job->rows,         plan->sources,     job->edges,
                         plan->list_offset, plan->list_column, value + head * job->stride };
}

static gsa_cuda_csr transposed_of(const sparse_job *job, const gsa_cuda_plan *plan, float *value,
                                  int32_t head)
{
    return gsa_cuda_csr{ plan->sources,
                         job->rows,
                         job->edges,
                         plan->list_out_offset,
                         plan->list_out_column,
                         value + head * job->stride };
}

static gsa_status run_rows(gsa_backend *b, const char *op, const sparse_job *job, int backward)
{
    return backward ? GSA_WARPS(b, op, job->rows * job->heads, sparse_softmax_back, *job)
                    : GSA_WARPS(b, op, job->rows * job->heads, sparse_softmax, *job);
}

/* value = scale rows(q) . columns(k), head by head. Cleared first: that SDDMM leaves what was there
 * unread is said nowhere. */
static gsa_status sample_heads(gsa_backend *b, const sparse_job *job, const gsa_cuda_plan *plan,
                               float *value, const void *rows, const float *columns, float scale)
{
    const size_t bytes = sizeof(float) * (size_t)(job->heads * job->stride);
    if (job->edges == 0) return GSA_OK;
    GSA_TRY(GSA_CUDA(b, cudaMemsetAsync(value, 0, bytes, gsa_cuda_stream(b))));
    for (int32_t h = 0; h < job->heads; h++) {
        const gsa_cuda_csr m = matrix_of(job, plan, value, h);
        const int64_t column = (int64_t)h * job->dim;
        GSA_TRY(gsa_cuda_sample(b, &m, (const float *)rows + column, columns + column, job->dim,
                                job->width, scale));
    }
    return GSA_OK;
}

static gsa_status attend_forward(gsa_backend *b, const gsa_attend_args *args)
{
    const gsa_cuda_plan *plan;
    const float *k, *v;
    sparse_job job;
    float *keys, *values;
    GSA_TRY(check(b, "attend_forward", args, 0));
    if (args->edges->rows == 0 || args->heads == 0) return GSA_OK;
    GSA_TRY(
        gsa_cuda_plan_of(b, "attend_forward", args->edges, GSA_PLAN_OUT | GSA_PLAN_LISTS, &plan));
    set_job(&job, args, plan);
    const int64_t plane = only_kind(args->edges) >= 0 ? 0 : plan->sources * job.width;
    GSA_TRY(gsa_cuda_lay(b, "attend_forward", [&](gsa_cuda_room &room) {
        room.cut(keys, plane), room.cut(values, plane), room.cut(job.value, job.heads * job.stride);
    }));
    GSA_TRY(gather(b, args, KEYS, job.width, keys, &k));
    GSA_TRY(gather(b, args, VALUES, job.width, values, &v));
    GSA_TRY(sample_heads(b, &job, plan, job.value, args->q, k, (float)args->scale));
    GSA_TRY(run_rows(b, "attend_forward", &job, 0));
    if (job.edges == 0)
        return GSA_CUDA(b, cudaMemsetAsync(args->out, 0,
                                           sizeof(float) * (size_t)(job.rows * job.width),
                                           gsa_cuda_stream(b)));
    for (int32_t h = 0; h < job.heads; h++) {
        const gsa_cuda_csr m = matrix_of(&job, plan, job.value, h);
        const int64_t column = (int64_t)h * job.dim;
        GSA_TRY(gsa_cuda_sparse_multiply(b, &m, (float *)args->out + column, v + column, job.dim,
                                         job.width, 1, 0));
    }
    return GSA_OK;
}

/* dk += scale ds^T q, or dv += (m p)^T do: into the gradient, or through `room` where the kinds
 * have one each. */
static gsa_status add_sources(gsa_backend *b, const gsa_attend_args *args, const sparse_job *job,
                              const gsa_cuda_plan *plan, int which, float *room)
{
    const gsa_edges *edges = args->edges;
    const int only = only_kind(edges);
    float *const to = only >= 0 ? gradient_of(&args->parts[only], which) : room;
    const float *const from = (const float *)(which == KEYS ? args->q : args->dout);
    if (!wanted(args, which)) return GSA_OK;
    for (int32_t h = 0; h < job->heads; h++) {
        const gsa_cuda_csr m =
            transposed_of(job, plan, which == KEYS ? job->value_out : job->other_out, h);
        const int64_t column = (int64_t)h * job->dim;
        GSA_TRY(gsa_cuda_sparse_multiply(b, &m, to + column, from + column, job->dim, job->width,
                                         which == KEYS ? (float)args->scale : 1.0f, only >= 0));
    }
    for (int k = 0; k < edges->kinds && only < 0; k++) {
        const int64_t count = edges->part_rows[k] * job->width;
        float *const sum = count > 0 ? gradient_of(&args->parts[k], which) : NULL;
        if (sum) GSA_TRY(b->accumulate(b, sum, room, 1, count));
        room += count;
    }
    return GSA_OK;
}

static gsa_status attend_backward(gsa_backend *b, const gsa_attend_args *args)
{
    const gsa_cuda_plan *plan;
    const float *k, *v;
    sparse_job job;
    float *keys, *values, *sums;
    GSA_TRY(check(b, "attend_backward", args, 1));
    GSA_TRY(gsa_attend_clear(b, args));
    if (args->edges->rows == 0 || args->heads == 0 || args->edges->edge_total == 0) return GSA_OK;
    GSA_TRY(
        gsa_cuda_plan_of(b, "attend_backward", args->edges, GSA_PLAN_OUT | GSA_PLAN_LISTS, &plan));
    set_job(&job, args, plan);
    const int64_t plane = only_kind(args->edges) >= 0 ? 0 : plan->sources * job.width,
                  all = job.heads * job.stride;
    GSA_TRY(gsa_cuda_lay(b, "attend_backward", [&](gsa_cuda_room &room) {
        room.cut(keys, plane), room.cut(values, plane), room.cut(sums, plane);
        room.cut(job.value, all), room.cut(job.other, all);
        room.cut(job.value_out, all), room.cut(job.other_out, all);
    }));
    GSA_TRY(gather(b, args, KEYS, job.width, keys, &k));
    GSA_TRY(gather(b, args, VALUES, job.width, values, &v));
    GSA_TRY(sample_heads(b, &job, plan, job.value, args->q, k, (float)args->scale));
    GSA_TRY(sample_heads(b, &job, plan, job.other, args->dout, v, 1));
    GSA_TRY(run_rows(b, "attend_backward", &job, 1));
    for (int32_t h = 0; h < job.heads && args->dq; h++) {
        const gsa_cuda_csr m = matrix_of(&job, plan, job.value, h);
        const int64_t column = (int64_t)h * job.dim;
        GSA_TRY(gsa_cuda_sparse_multiply(b, &m, (float *)args->dq + column, k + column, job.dim,
                                         job.width, (float)args->scale, 1));
    }
    GSA_TRY(GSA_EACH(b, "attend_backward", job.heads * job.edges, sparse_transpose, job));
    GSA_TRY(add_sources(b, args, &job, plan, KEYS, sums));
    return add_sources(b, args, &job, plan, VALUES, sums);
}

void gsa_cuda_fill_attend_sparse(gsa_backend *b)
{
    b->attend_forward = attend_forward;
    b->attend_backward = attend_backward;
}
