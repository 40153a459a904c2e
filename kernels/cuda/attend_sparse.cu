/* attend_sparse.cu - attention by a sparse library: the products of queries and keys that edges ask
 * for (SDDMM), a softmax of each row, weights times values (SpMM), a head at a time. An oracle that
 * shares no kernel with attend_ops.cu, and the baseline to beat: it keeps heads x edges numbers,
 * four of each in backward. Labels with learned vectors or biases are refused. */
#include "kernels/cuda/attend.h"
#include "kernels/cuda/library.h"

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
    const float *out, *dout;
    float *lse, *weights;
} sparse_job;

/* Which (row, head) a warp has. */
typedef struct sparse_item {
    int64_t row, first, last;
    int32_t head;
    int lane;
} sparse_item;

GSA_DEVICE sparse_item find_item(const sparse_job &job, int64_t item, int lane)
{
    const int64_t row = item / job.heads;
    return sparse_item{ row, __ldg(job.offset + row), __ldg(job.offset + row + 1),
                        (int32_t)(item % job.heads), lane };
}

GSA_DEVICE float drop_of(const sparse_job &job, const sparse_item &at, int64_t edge)
{
    return job.drop.on ? gsa_drop_edge(job.drop, at.row, (uint32_t)(edge - at.first), at.head)
                       : 1.0f;
}

/* s becomes m p. */
GSA_DEVICE void softmax(const sparse_job &job, const sparse_item &at)
{
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
GSA_DEVICE void softmax_back(const sparse_job &job, const sparse_item &at)
{
    const int64_t head = at.row * job.width + (int64_t)at.head * job.dim;
    const float lse = __ldg(job.lse + at.row * job.heads + at.head);
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
    GSA_TRY(gsa_ref_check_attend(b, op, args, backward));
    GSA_TRY(GSA_CUDA(b, cudaSuccess));
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

/* ---- a call -------------------------------------------------------------------------------- */
typedef struct sparse_call {
    const gsa_attend_args *args;
    int only;                        /* the kind that has all sources, or -1 */
    gsa_cuda_sparse_product in, out; /* a head's matrix: by row; by source */
    const float *k, *v;              /* of all kinds, one below the other */
    float *sums;                     /* room for their gradients, where no kind has all */
    sparse_job job;
} sparse_call;

/* `of` each kind: where it is, or copied into `room`. */
static gsa_status gather(gsa_backend *b, const sparse_call *c, const void *gsa_part::*of,
                         float *room, const float **at)
{
    const gsa_attend_args *args = c->args;
    *at = c->only >= 0 ? (const float *)(args->parts[c->only].*of) : room;
    for (int k = 0; k < args->edges->kinds && c->only < 0; k++) {
        const int64_t count = args->edges->part_rows[k] * c->job.width;
        if (count == 0) continue;
        GSA_TRY(b->copy(b, room, args->parts[k].*of, count * (int64_t)sizeof *room));
        room += count;
    }
    return GSA_OK;
}

static void set_call(sparse_call *c, const gsa_attend_args *args, const gsa_cuda_plan *plan)
{
    sparse_job *job = &c->job;
    c->args = args, c->only = -1;
    for (int k = 0; k < args->edges->kinds; k++)
        if (plan->sources > 0 && args->edges->part_rows[k] == plan->sources) c->only = k;
    job->rows = args->edges->rows, job->edges = args->edges->edge_total,
    job->stride = (job->edges + 3) / 4 * 4;
    job->heads = args->heads, job->dim = args->head_dim,
    job->width = (int64_t)args->heads * args->head_dim;
    job->offset = args->edges->edge_offset, job->out_edge = plan->lists.out_edge;
    job->drop = gsa_cuda_drop_of(&args->dropout, args->edges);
    job->out = (const float *)args->out, job->dout = (const float *)args->dout;
    job->lse = (float *)args->lse, job->weights = (float *)args->weights;
    c->in =
        gsa_cuda_sparse_product{ job->rows,          plan->sources, job->edges, plan->lists.offset,
                                 plan->lists.column, job->dim,      job->width };
    c->out = gsa_cuda_sparse_product{
        plan->sources,          job->rows, job->edges, plan->lists.out_offset,
        plan->lists.out_column, job->dim,  job->width
    };
}

/* A product of each head, of the matrices `of` with these values. */
static gsa_status multiply(gsa_backend *b, const sparse_job *job, gsa_cuda_sparse_product of,
                           float *value, int what, void *y, const void *x, double alpha)
{
    of.what = what, of.alpha = (float)alpha;
    for (int32_t h = 0; h < job->heads; h++) {
        of.value = value + h * job->stride;
        of.y = (float *)y + (int64_t)h * job->dim, of.x = (const float *)x + (int64_t)h * job->dim;
        GSA_TRY(gsa_cuda_sparse_multiply(b, &of));
    }
    return GSA_OK;
}

/* value = scale rows . columns at the edges. Cleared first: that SDDMM leaves what was there unread
 * is said nowhere. */
static gsa_status sample(gsa_backend *b, const sparse_call *c, float *value, const void *rows,
                         const float *columns, double scale)
{
    if (c->job.edges == 0) return GSA_OK;
    GSA_TRY(b->zero_fill(b, value, c->job.heads * c->job.stride * (int64_t)sizeof *value));
    return multiply(b, &c->job, c->in, value, GSA_CUDA_SAMPLE, (void *)rows, columns, scale);
}

/* Room for all, keys and values of all kinds, and scores. */
static gsa_status begin(gsa_backend *b, const char *op, const gsa_attend_args *args, int backward,
                        sparse_call *c)
{
    const gsa_cuda_plan *plan;
    sparse_job *job = &c->job;
    float *keys, *values;
    GSA_TRY(gsa_cuda_plan_of(b, op, args->edges, GSA_PLAN_OUT | GSA_PLAN_LISTS, &plan));
    set_call(c, args, plan);
    const int64_t plane = c->only >= 0 ? 0 : plan->sources * job->width,
                  all = job->heads * job->stride, back = backward ? all : 0;
    GSA_TRY(gsa_cuda_lay(b, op, [&](gsa_cuda_room &room) {
        room.cut(keys, plane), room.cut(values, plane), room.cut(c->sums, backward ? plane : 0);
        room.cut(job->value, all), room.cut(job->other, back);
        room.cut(job->value_out, back), room.cut(job->other_out, back);
    }));
    GSA_TRY(gather(b, c, &gsa_part::k, keys, &c->k));
    GSA_TRY(gather(b, c, &gsa_part::v, values, &c->v));
    return sample(b, c, job->value, args->q, c->k, args->scale);
}

/* ---- the two passes ------------------------------------------------------------------------ */
static gsa_status attend_forward(gsa_backend *b, const gsa_attend_args *args)
{
    const char *const op = "attend_forward";
    sparse_call c = {};
    GSA_TRY(check(b, op, args, 0));
    if (args->edges->rows == 0 || args->heads == 0) return GSA_OK;
    GSA_TRY(begin(b, op, args, 0, &c));
    const sparse_job job = c.job;
    const auto weigh = [=] __device__(int64_t i, int lane) {
        softmax(job, find_item(job, i, lane));
    };
    GSA_TRY(gsa_cuda_each_warp(b, op, job.rows * job.heads, weigh));
    if (job.edges == 0)
        return b->zero_fill(b, args->out, job.rows * job.width * (int64_t)sizeof(float));
    return multiply(b, &job, c.in, job.value, GSA_CUDA_SPARSE_WRITE, args->out, c.v, 1);
}

/* dk += scale ds^T q, or dv += (m p)^T do: into the gradient, or through `sums` where the kinds
 * have one each. */
static gsa_status add_sources(gsa_backend *b, const sparse_call *c, void *gsa_part::*of,
                              float *value, const void *x, double scale)
{
    const gsa_edges *edges = c->args->edges;
    const gsa_part *parts = c->args->parts;
    float *room = c->sums;
    int wanted = 0;
    for (int k = 0; k < edges->kinds; k++)
        wanted |= edges->part_rows[k] > 0 && parts[k].*of != NULL;
    if (!wanted) return GSA_OK;
    if (c->only >= 0)
        return multiply(b, &c->job, c->out, value, GSA_CUDA_SPARSE_ADD, parts[c->only].*of, x,
                        scale);
    GSA_TRY(multiply(b, &c->job, c->out, value, GSA_CUDA_SPARSE_WRITE, room, x, scale));
    for (int k = 0; k < edges->kinds; k++) {
        const int64_t count = edges->part_rows[k] * c->job.width;
        if (count > 0 && parts[k].*of) GSA_TRY(b->accumulate(b, parts[k].*of, room, 1, count));
        room += count;
    }
    return GSA_OK;
}

static gsa_status attend_backward(gsa_backend *b, const gsa_attend_args *args)
{
    const char *const op = "attend_backward";
    sparse_call c = {};
    GSA_TRY(check(b, op, args, 1));
    GSA_TRY(gsa_attend_clear(b, args));
    if (args->edges->rows == 0 || args->heads == 0 || args->edges->edge_total == 0) return GSA_OK;
    GSA_TRY(begin(b, op, args, 1, &c));
    const sparse_job job = c.job;
    const auto slope = [=] __device__(int64_t i, int lane) {
        softmax_back(job, find_item(job, i, lane));
    };
    const auto by_source = [=] __device__(int64_t i) {
        const int64_t first = i / job.edges * job.stride, e = i % job.edges,
                      from = first + __ldg(job.out_edge + e);
        job.value_out[first + e] = job.value[from], job.other_out[first + e] = job.other[from];
    };
    GSA_TRY(sample(b, &c, job.other, args->dout, c.v, 1));
    GSA_TRY(gsa_cuda_each_warp(b, op, job.rows * job.heads, slope));
    if (args->dq)
        GSA_TRY(
            multiply(b, &job, c.in, job.value, GSA_CUDA_SPARSE_ADD, args->dq, c.k, args->scale));
    GSA_TRY(gsa_cuda_each(b, op, job.heads * job.edges, by_source));
    GSA_TRY(add_sources(b, &c, &gsa_part::dk, job.value_out, args->q, args->scale));
    return add_sources(b, &c, &gsa_part::dv, job.other_out, args->dout, 1);
}

void gsa_cuda_fill_attend_sparse(gsa_backend *b)
{
    b->attend_forward = attend_forward;
    b->attend_backward = attend_backward;
}
