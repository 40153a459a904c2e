/* attend_ops.cu - the attention ops: which passes run, over which items, and what they leave to
 * merge. */
#include "kernels/cuda/attend_window.h"
#include "kernels/cuda/columns.h"
#include "kernels/cuda/library.h"
#include <float.h>

/* ---- small kernels ------------------------------------------------------------------------- */

/* Merging: a block has 32 columns of one hub at a time; MERGE_LANES threads a column share its
 * pieces, in a fixed order. Blocks walk over (piece, slice of columns), and work where a piece is
 * the first of its row. */
enum { MERGE_LANES = GSA_THREADS / GSA_WARP, MERGE_BLOCKS = 2048 };

typedef struct merge_item {
    int64_t row, first, last, column;
    bool there; /* this thread has a column here */
} merge_item;

/* The rows of windows are not cut. */
GSA_DEVICE bool is_merged(const attend_job &job, int64_t row)
{
    return job.way == NULL || job.way[row / GSA_WINDOW_ROWS] == GSA_WAY_EDGES;
}

/* False after the last piece, for the whole block. */
GSA_DEVICE bool next_merge(const attend_job &job, int64_t number, merge_item &at)
{
    const int64_t slices = (job.width + GSA_WARP - 1) / GSA_WARP, piece = number / slices;
    if (piece >= __ldg(job.piece + job.rows)) return false;
    at.row = __ldg(job.owner + piece);
    at.first = __ldg(job.piece + at.row), at.last = __ldg(job.piece + at.row + 1);
    at.column = number % slices * GSA_WARP + threadIdx.x % GSA_WARP;
    at.there = at.first == piece && at.column < job.width && is_merged(job, at.row);
    return true;
}

/* The sum of the column's lanes, in their order, in every lane. */
GSA_DEVICE float merge_lanes(float x, float (*room)[GSA_WARP])
{
    room[threadIdx.x / GSA_WARP][threadIdx.x % GSA_WARP] = x;
    __syncthreads();
    float sum = 0;
    for (int lane = 0; lane < MERGE_LANES; lane++) sum += room[lane][threadIdx.x % GSA_WARP];
    __syncthreads();
    return sum;
}

/* The largest of the column's lanes; what is NaN shows in the sums. */
GSA_DEVICE float merge_tops(float x, float (*room)[GSA_WARP])
{
    room[threadIdx.x / GSA_WARP][threadIdx.x % GSA_WARP] = x;
    __syncthreads();
    float top = room[0][threadIdx.x % GSA_WARP];
    for (int lane = 1; lane < MERGE_LANES; lane++)
        top = fmaxf(top, room[lane][threadIdx.x % GSA_WARP]);
    __syncthreads();
    return top;
}

/* out = sum of the pieces' o exp(top_p - top) over the sum of theirs. */
static __global__ void __launch_bounds__(GSA_THREADS) merge_forward(GSA_ARGUMENT(attend_job) job)
{
    GSA_SHARED(float, room, [MERGE_LANES][GSA_WARP]);
    const int lane = threadIdx.x / GSA_WARP;
    merge_item at;
    for (int64_t number = blockIdx.x; next_merge(job, number, at); number += gridDim.x) {
        const int32_t head = at.there ? (int32_t)(at.column / job.dim) : 0;
        float top = -FLT_MAX, sum = 0, o = 0;
        for (int64_t p = at.first + lane; at.there && p < at.last; p += MERGE_LANES)
            top = fmaxf(top, job.state[p * job.heads + head].x);
        top = merge_tops(top, room);
        for (int64_t p = at.first + lane; at.there && p < at.last; p += MERGE_LANES) {
            const float2 state = job.state[p * job.heads + head];
            const float factor = gsa_exp2(state.x - top);
            sum += state.y * factor;
            o += job.part[p * job.width + at.column] * factor;
        }
        sum = merge_lanes(sum, room);
        o = merge_lanes(o, room);
        if (!at.there || lane > 0) continue;
        job.out[at.row * job.width + at.column] = sum == 0 ? 0 : o / sum;
        if (at.column % job.dim == 0)
            job.lse[at.row * job.heads + head] =
                sum == 0 ? -INFINITY : fmaf((float)GSA_LN2, top, logf(sum));
    }
}

/* The column's sum over the pieces of its row, in every lane. */
GSA_DEVICE float merge_pieces(const attend_job &job, const merge_item &at, const float *part,
                              float (*room)[GSA_WARP])
{
    float sum = 0;
    for (int64_t p = at.first + threadIdx.x / GSA_WARP; at.there && p < at.last; p += MERGE_LANES)
        sum += part[p * job.width + at.column];
    return merge_lanes(sum, room);
}

/* at = x where it holds nothing yet, else at += x. */
GSA_DEVICE void put_sum(float *at, float x, bool set)
{
    *at = set ? x : *at + x;
}

/* dq of a hub: the sum of its pieces. */
static __global__ void __launch_bounds__(GSA_THREADS) merge_rows(GSA_ARGUMENT(attend_job) job)
{
    GSA_SHARED(float, room, [MERGE_LANES][GSA_WARP]);
    merge_item at;
    for (int64_t number = blockIdx.x; next_merge(job, number, at); number += gridDim.x) {
        const float sum = merge_pieces(job, at, job.part, room);
        if (at.there && threadIdx.x < GSA_WARP)
            put_sum(job.dq + at.row * job.width + at.column, sum, job.set_dq);
    }
}

/* dk and dv of a source with many out-edges, likewise. */
static __global__ void __launch_bounds__(GSA_THREADS) merge_sources(GSA_ARGUMENT(attend_job) job)
{
    GSA_SHARED(float, room, [MERGE_LANES][GSA_WARP]);
    merge_item at;
    for (int64_t number = blockIdx.x; next_merge(job, number, at); number += gridDim.x) {
        const int kind = gsa_kind_of(job.kinds, at.row);
        float *const dk = GSA_OF_KIND(job.kinds, kind, dk), *const dv =
                                                                GSA_OF_KIND(job.kinds, kind, dv);
        const int64_t to = (at.row - GSA_OF_KIND(job.kinds, kind, first)) * job.width + at.column;
        if (dk) {
            const float sum = merge_pieces(job, at, job.part, room);
            if (at.there && threadIdx.x < GSA_WARP) put_sum(dk + to, sum, job.set_dk >> kind & 1);
        }
        if (dv) {
            const float sum = merge_pieces(job, at, job.part2, room);
            if (at.there && threadIdx.x < GSA_WARP) put_sum(dv + to, sum, job.set_dv >> kind & 1);
        }
    }
}

static int64_t merge_blocks(const attend_job *job, int64_t bound)
{
    const int64_t items = bound * ((job->width + GSA_WARP - 1) / GSA_WARP);
    return items < (int64_t)MERGE_BLOCKS ? items : (int64_t)MERGE_BLOCKS;
}

GSA_DEVICE float number_of(float x)
{
    return x;
}

GSA_DEVICE float number_of(gsa_bf16 x)
{
    return __uint_as_float((uint32_t)x.bits << 16);
}

/* p_e = exp(s_e - lse), recomputed: a warp a row, a lane an (edge, head). For inspection, not for
 * speed. */
template <class T>
static __global__ void __launch_bounds__(GSA_THREADS) attend_weights(GSA_ARGUMENT(attend_job) a)
{
    const int64_t row = gsa_thread() / GSA_WARP;
    if (row >= a.rows) return;
    int64_t e = __ldg(a.edge_offset + row);
    for (int64_t r = __ldg(a.run_offset + row); r < __ldg(a.run_offset + row + 1); r++) {
        const gsa_run run = a.runs[r];
        for (int64_t i = threadIdx.x % GSA_WARP; i < (int64_t)run.count * a.heads; i += GSA_WARP) {
            const int32_t at = (int32_t)(i / a.heads), head = (int32_t)(i % a.heads),
                          label = run.label + at * run.label_step;
            const float lse = __ldg(a.kept_lse + row * a.heads + head);
            const float *q = a.q + row * a.width + (int64_t)head * a.dim;
            const T *k = (const T *)GSA_OF_KIND(a.kinds, run.kind, k) +
                         (int64_t)(run.first + at * run.step) * a.width + (int64_t)head * a.dim;
            float sum = 0;
            for (int32_t c = 0; c < a.dim; c++) {
                const float x = attend_storage<T>::ROUNDED ? gsa_bf16_round(q[c]) : q[c];
                sum += x * (number_of(k[c]) + (a.r ? a.r[(int64_t)label * a.dim + c] : 0));
            }
            const float s = a.scale * sum + (a.bias ? a.bias[(int64_t)label * a.heads + head] : 0);
            a.weights[e * a.heads + i] = lse == -INFINITY ? 0 : __expf(s - lse);
        }
        e += run.count;
    }
}

/* ---- what every pass needs ----------------------------------------------------------------- */
static int aligned(const void *at, int bytes)
{
    return (uintptr_t)at % (unsigned)bytes == 0;
}

/* The widest load, in floats, that every array allows. */
static int widest_load(const gsa_attend_args *args)
{
    for (int v = 4; v > 1; v /= 2) {
        int all = aligned(args->q, 4 * v) && aligned(args->out, 4 * v) &&
                  aligned(args->label_vectors, 4 * v) && aligned(args->dout, 4 * v) &&
                  aligned(args->dq, 4 * v);
        for (int k = 0; k < args->edges->kinds; k++) {
            const gsa_part *part = &args->parts[k];
            if (args->edges->part_rows[k] > 0)
                all = all && aligned(part->k, 4 * v) && aligned(part->v, 4 * v) &&
                      aligned(part->dk, 4 * v) && aligned(part->dv, 4 * v);
        }
        if (all) return v;
    }
    return 1;
}

gsa_status gsa_attend_check(gsa_backend *b, const char *op, const gsa_attend_args *args,
                            int backward)
{
    if (args->heads < 0 || args->head_dim < 0)
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT, "%s: %d heads of %d columns: one is negative",
                        op, (int)args->heads, (int)args->head_dim);
    GSA_TRY(gsa_cuda_check_edges(b, op, args->edges, backward));
    GSA_TRY(gsa_cuda_shape(b, op, args->edges->rows, (int64_t)args->heads * args->head_dim));
    GSA_TRY(gsa_cuda_shape(b, op, args->edges->edge_total, args->heads));
    GSA_TRY(gsa_cuda_check_dropout(b, op, &args->dropout));
    return gsa_cuda_check(b, cudaSuccess, op, __FILE__, __LINE__);
}

/* `kind`: all of them, for the host. */
static void set_job(gsa_backend *b, attend_job *job, gsa_cuda_kind *kind,
                    const gsa_attend_args *args, const gsa_cuda_plan *plan)
{
    const gsa_edges *edges = args->edges;
    *job = attend_job{};
    job->zeros = gsa_cuda_of(b)->zeros;
    job->rows = edges->rows, job->width = (int64_t)args->heads * args->head_dim;
    job->heads = args->heads, job->dim = args->head_dim, job->labels = edges->labels;
    job->scale = (float)args->scale, job->scale2 = (float)(args->scale * GSA_LOG2E);
    job->q = (const float *)args->q, job->r = (const float *)args->label_vectors,
    job->bias = (const float *)args->label_bias;
    job->drop = gsa_cuda_drop_of(&args->dropout, edges);
    job->run_offset = edges->run_offset, job->edge_offset = edges->edge_offset,
    job->runs = edges->runs;
    job->run_first = plan->run_first, job->entries = plan->entries;
    job->out = (float *)args->out, job->lse = (float *)args->lse;
    job->kept_out = job->out, job->kept_lse = job->lse;
    job->dout = (const float *)args->dout, job->dq = (float *)args->dq;
    job->edge_q = job->q, job->edge_dout = job->dout;
    job->weights = (float *)args->weights;
    job->kinds.count = edges->kinds;
    for (int k = 0; k < edges->kinds; k++) {
        kind[k] = gsa_cuda_kind{ NULL, NULL, NULL, NULL, plan->part_first[k] };
        if (edges->part_rows[k] > 0) kind[k].k = args->parts[k].k, kind[k].v = args->parts[k].v;
    }
}

/* ---- bf16: what edges read, rounded into scratch ------------------------------------------- */
typedef struct stored_planes {
    gsa_bf16_planes planes;
    int q, dout, k[GSA_MAX_KINDS], v[GSA_MAX_KINDS];
} stored_planes;

/* Floats of scratch for the copies; none where edges read floats. Windows read q as it is stored,
 * forward too. */
static int64_t plan_planes(stored_planes *s, const gsa_attend_args *args, int bf16, int backward,
                           int windowed)
{
    const gsa_edges *edges = args->edges;
    const int64_t width = (int64_t)args->heads * args->head_dim;
    if (!bf16) return 0;
    s->planes.planes = 0;
    for (int k = 0; k < edges->kinds; k++) {
        s->k[k] = gsa_cuda_add_plane(&s->planes, args->parts[k].k, edges->part_rows[k] * width);
        s->v[k] = gsa_cuda_add_plane(&s->planes, args->parts[k].v, edges->part_rows[k] * width);
    }
    s->q = gsa_cuda_add_plane(&s->planes, args->q, backward || windowed ? edges->rows * width : 0);
    s->dout = gsa_cuda_add_plane(&s->planes, args->dout, backward ? edges->rows * width : 0);
    return gsa_cuda_lay_planes(&s->planes) / (int64_t)sizeof(float);
}

static gsa_status store_planes(gsa_backend *b, const char *op, stored_planes *s, attend_job *job,
                               gsa_cuda_kind *kind, float *room)
{
    s->planes.to = (gsa_bf16 *)room;
    job->bf16 = 1;
    for (int k = 0; k < job->kinds.count; k++)
        kind[k].k = gsa_cuda_plane(&s->planes, s->k[k]),
        kind[k].v = gsa_cuda_plane(&s->planes, s->v[k]);
    job->edge_q = gsa_cuda_plane(&s->planes, s->q),
    job->edge_dout = gsa_cuda_plane(&s->planes, s->dout);
    return gsa_cuda_round_planes(b, op, &s->planes);
}

static void use_cut(attend_job *job, const gsa_cuda_cut *cut, int64_t rows)
{
    job->piece = job->width > 0 ? cut->piece : NULL; /* without columns there is nothing to merge */
    job->owner = cut->owner, job->length = cut->length;
    job->pieced = 0, job->first_item = 0, job->items = rows * job->heads;
}

static void use_pieces(attend_job *job, int64_t first, int64_t count)
{
    job->pieced = 1, job->first_item = first * job->heads, job->items = count * job->heads;
}

/* ---- forward ------------------------------------------------------------------------------- */
static gsa_status forward_hubs(gsa_backend *b, attend_job *job, int64_t bound, float *room,
                               int widest)
{
    job->state = (float2 *)room, job->part = room + gsa_round4(2 * bound * job->heads);
    use_pieces(job, 0, bound);
    GSA_TRY(gsa_attend_forward_pass(b, job, widest));
    return GSA_RUN(b, merge_forward, merge_blocks(job, bound), GSA_THREADS, *job);
}

static gsa_status plan_call(gsa_backend *b, const char *op, const gsa_attend_args *args,
                            int backward, int windowed, const gsa_cuda_plan **plan)
{
    return windowed ? gsa_cuda_plan_windows(b, op, args->edges, backward, plan)
                    : gsa_cuda_plan_of(b, op, args->edges, backward, plan);
}

/* ---- windows: the table of q.r_l, after q itself where that is to be rounded -------------- */
static int64_t rounded_room(const gsa_attend_args *args, int bf16)
{
    return bf16 && args->label_vectors
               ? gsa_round4(args->edges->rows * args->heads * args->head_dim)
               : 0;
}

static int64_t windows_room(const gsa_attend_args *args, int bf16)
{
    return rounded_room(args, bf16) + gsa_round4(gsa_window_table_room(args));
}

static gsa_status prepare_windows(gsa_backend *b, const char *op, attend_windows *windows, int bf16,
                                  float *room)
{
    const gsa_attend_args *args = windows->args;
    const int64_t rounded = rounded_room(args, bf16);
    windows->table = room + rounded;
    if (rounded > 0) {
        GSA_TRY(gsa_cuda_round_floats(b, op, room, windows->q,
                                      args->edges->rows * args->heads * args->head_dim));
        windows->q = room;
    }
    return gsa_window_fill_table(b, windows);
}

/* In scratch: planes, hubs, kinds, windows. */
static gsa_status forward(gsa_backend *b, const gsa_attend_args *args, int bf16)
{
    const gsa_cuda_plan *plan;
    attend_job job;
    gsa_cuda_kind kind[GSA_MAX_KINDS];
    stored_planes stored;
    void *room = NULL;
    const int widest = widest_load(args);
    GSA_TRY(gsa_attend_check(b, "attend_forward", args, 0));
    if (args->edges->rows == 0 || args->heads == 0) return GSA_OK;
    const int windowed = gsa_windows_wanted(b, args);
    GSA_TRY(plan_call(b, "attend_forward", args, 0, windowed, &plan));
    set_job(b, &job, kind, args, plan);
    use_cut(&job, &plan->in, args->edges->rows);
    const int64_t bound = job.piece ? plan->in.bound : 0,
                  planes = plan_planes(&stored, args, bf16, 0, windowed),
                  hubs = gsa_round4(2 * bound * job.heads) + gsa_round4(bound * job.width),
                  kinds = gsa_round4(gsa_cuda_kinds_room(args->edges->kinds)),
                  all = planes + hubs + kinds + (windowed ? windows_room(args, bf16) : 0);
    if (all > 0) GSA_TRY(gsa_cuda_scratch(b, "attend_forward", all, sizeof(float), &room));
    float *const at = (float *)room;
    if (bf16) GSA_TRY(store_planes(b, "attend_forward", &stored, &job, kind, at));
    job.kinds.many = kinds > 0 ? (gsa_cuda_kind *)(void *)(at + planes + hubs) : NULL;
    GSA_TRY(gsa_cuda_tell_kinds(b, &job.kinds, kind));
    job.way = windowed ? plan->windows.way : NULL;
    GSA_TRY(gsa_attend_forward_pass(b, &job, widest));
    if (job.piece) GSA_TRY(forward_hubs(b, &job, bound, at + planes, widest));
    if (job.way) {
        attend_windows windows = { args, plan, job.q, NULL, widest };
        GSA_TRY(prepare_windows(b, "attend_forward", &windows, bf16, at + planes + hubs + kinds));
        GSA_TRY(gsa_windows_forward(b, &windows, &job));
    }
    if (job.weights == NULL) return GSA_OK;
    return bf16 ? GSA_WARPS(b, "attend_forward", job.rows, attend_weights<gsa_bf16>, job)
                : GSA_WARPS(b, "attend_forward", job.rows, attend_weights<float>, job);
}

/* ---- backward by destination --------------------------------------------------------------- */

/* Sums of ds by label for at most so many owners (rows or pieces) are in memory at a time. */
typedef struct label_work {
    float *dvectors, *dbias;
    float *sum, *q,
        *partial; /* [owners, heads, labels], [owners, heads, dim], room of gsa_cuda_column_sums */
    int64_t owners;
    const attend_windows *windows; /* or NULL */
} label_work;

/* dr += scale sum^T q;  db[l, h] += sum of the owners' sums */
static gsa_status add_labels(gsa_backend *b, const attend_job *job, const label_work *work,
                             const float *q, int64_t owners)
{
    const int64_t items = owners * job->heads;
    if (work->dvectors && job->dim > 0) {
        const gsa_cuda_product product = { work->dvectors, work->sum, q,        job->labels,
                                           job->dim,       items,     job->dim, job->labels,
                                           job->dim,       1,         0,        1,
                                           job->scale };
        GSA_TRY(gsa_cuda_product_add(b, &product));
    }
    if (work->dbias == NULL) return GSA_OK;
    return gsa_cuda_column_sums(b, work->dbias, work->sum, owners,
                                (int64_t)job->heads * job->labels, job->labels, work->partial);
}

static gsa_status rows_pass(gsa_backend *b, const attend_job *job, const label_work *work,
                            int64_t first, int64_t count, int widest)
{
    GSA_TRY(gsa_attend_rows_pass(b, job, widest));
    return job->way && !job->pieced ? gsa_windows_rows(b, work->windows, job, first, count)
                                    : GSA_OK;
}

/* Owners first .. first+count-1: the pass, and their share of the label gradients. */
static gsa_status rows_block(gsa_backend *b, attend_job *job, const label_work *work, int64_t first,
                             int64_t count, int widest)
{
    job->first_item = first * job->heads, job->items = count * job->heads;
    job->label_sum = work->sum,
    job->label_q = job->pieced || (job->bf16 && !work->windows) ? work->q : NULL;
    if (work->sum == NULL) return rows_pass(b, job, work, first, count, widest);
    GSA_TRY(rows_pass(b, job, work, first, count, widest));
    const float *const q = work->windows ? work->windows->q : job->q;
    return add_labels(b, job, work, job->label_q ? work->q : q + first * job->width, count);
}

/* All owners, as many at a time as the label sums allow. Partial dq of pieces is at its piece's
 * own place. */
static gsa_status rows_blocks(gsa_backend *b, attend_job *job, const label_work *work,
                              int64_t owners, int widest)
{
    const int64_t step = work->sum ? work->owners : owners;
    float *const part = job->part;
    for (int64_t first = 0; first < owners; first += step) {
        if (job->pieced) job->part = part + first * job->width;
        GSA_TRY(
            rows_block(b, job, work, first, owners - first < step ? owners - first : step, widest));
    }
    job->part = part;
    return GSA_OK;
}

typedef struct backward_room { /* floats of scratch, and where each array is in it */
    int64_t delta, part, part2, sum, q, partial, table, kinds, total;
} backward_room;

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A window's rows are summed in one block. */
static int64_t whole_windows(int64_t owners, const label_work *work)
{
    return work->windows ? larger(owners / GSA_WINDOW_ROWS, 1) * GSA_WINDOW_ROWS : owners;
}

static backward_room plan_room(gsa_backend *b, const attend_job *job, const gsa_cuda_plan *plan,
                               int bf16, label_work *work)
{
    backward_room room = {};
    const int64_t bound =
        larger(plan->in.piece ? plan->in.bound : 0, plan->out_cut.piece ? plan->out_cut.bound : 0);
    const int64_t sums = (int64_t)job->heads * job->labels;
    int64_t at = gsa_round4(job->rows * job->heads);
    room.part = at, at += gsa_round4(bound * job->width);
    room.part2 = at, at += gsa_round4(bound * job->width);
    if ((work->dvectors || work->dbias || (work->windows && job->r)) &&
        sums > 0) { /* windows add up dq by label too */
        const int64_t fit = whole_windows(
            gsa_cuda_of(b)->tuning->label_bytes / (sums * (int64_t)sizeof(float)), work);
        const int64_t most = larger(job->rows, plan->in.piece ? plan->in.bound : 0);
        work->owners = fit < 1 ? 1 : fit < most ? fit : most;
        room.sum = at, at += gsa_round4(work->owners * sums);
        room.q = at, at += plan->in.piece || bf16 ? gsa_round4(work->owners * job->width) : 0;
        room.partial = at, at += gsa_cuda_column_room(work->owners, sums);
    }
    room.table = at, at += work->windows ? windows_room(work->windows->args, bf16) : 0;
    room.kinds = at, at += gsa_cuda_kinds_room((int32_t)job->kinds.count);
    room.total = gsa_round4(at);
    return room;
}

/* dq, delta and the label gradients. */
static gsa_status backward_rows(gsa_backend *b, attend_job *job, const gsa_cuda_plan *plan,
                                const label_work *work, int widest)
{
    use_cut(job, &plan->in, job->rows);
    job->way = work->windows ? plan->windows.way : NULL;
    GSA_TRY(rows_blocks(b, job, work, job->rows, widest));
    if (job->piece == NULL) return GSA_OK;
    job->pieced = 1;
    GSA_TRY(rows_blocks(b, job, work, plan->in.bound, widest));
    return job->dq ? GSA_RUN(b, merge_rows, merge_blocks(job, plan->in.bound), GSA_THREADS, *job)
                   : GSA_OK;
}

/* ---- backward by source -------------------------------------------------------------------- */
static int shares_plane(const gsa_part *a, const gsa_part *c)
{
    return (a->dk && (a->dk == c->dk || a->dk == c->dv)) ||
           (a->dv && (a->dv == c->dk || a->dv == c->dv));
}

/* Kinds that hold one value point to one plane: they take turns, so that each launch has one writer
 * an element. Returns the number of turns. */
static int take_turns(const gsa_attend_args *args, int *turn)
{
    int turns = 0;
    for (int k = 0; k < args->edges->kinds; k++) {
        turn[k] = -1;
        if (args->edges->part_rows[k] == 0 ||
            (args->parts[k].dk == NULL && args->parts[k].dv == NULL))
            continue;
        turn[k] = 0;
        for (int o = 0; o < k; o++)
            if (turn[o] >= turn[k] && shares_plane(&args->parts[k], &args->parts[o]))
                turn[k] = turn[o] + 1;
        if (turn[k] >= turns) turns = turn[k] + 1;
    }
    return turns;
}

static gsa_status backward_sources(gsa_backend *b, attend_job *job, gsa_cuda_kind *kind,
                                   const gsa_cuda_plan *plan, const gsa_attend_args *args,
                                   const attend_windows *windows, int widest)
{
    int turn[GSA_MAX_KINDS];
    const int turns = take_turns(args, turn);
    job->out_offset = plan->out_offset, job->out_edge = plan->out;
    for (int t = 0; t < turns; t++) {
        for (int k = 0; k < job->kinds.count; k++) {
            kind[k].dk = turn[k] == t ? (float *)args->parts[k].dk : NULL;
            kind[k].dv = turn[k] == t ? (float *)args->parts[k].dv : NULL;
        }
        GSA_TRY(gsa_cuda_tell_kinds(b, &job->kinds, kind));
        job->rows = plan->sources;
        use_cut(job, &plan->out_cut, plan->sources);
        job->way = windows ? plan->out_windows.way : NULL;
        if (job->way) GSA_TRY(gsa_windows_sources(b, windows, job));
        GSA_TRY(gsa_attend_sources_pass(b, job, widest));
        if (job->piece == NULL) continue;
        use_pieces(job, 0, plan->out_cut.bound);
        GSA_TRY(gsa_attend_sources_pass(b, job, widest));
        GSA_TRY(
            GSA_RUN(b, merge_sources, merge_blocks(job, plan->out_cut.bound), GSA_THREADS, *job));
    }
    return GSA_OK;
}

static gsa_status clear_plane(gsa_backend *b, const gsa_attend_args *args, void *plane,
                              uint64_t set, int64_t rows)
{
    const int64_t bytes = rows * args->heads * args->head_dim * (int64_t)sizeof(float);
    return plane && set & 1 && bytes > 0 ? b->zero_fill(b, plane, bytes) : GSA_OK;
}

gsa_status gsa_attend_clear(gsa_backend *b, const gsa_attend_args *args)
{
    GSA_TRY(clear_plane(b, args, args->dq, args->set_dq, args->edges->rows));
    for (int k = 0; k < args->edges->kinds; k++) {
        const gsa_part *part = &args->parts[k];
        const int64_t rows = args->edges->part_rows[k];
        if (rows == 0) continue;
        GSA_TRY(clear_plane(b, args, part->dk, args->set_dk >> k, rows));
        GSA_TRY(clear_plane(b, args, part->dv, args->set_dv >> k, rows));
    }
    return GSA_OK;
}

/* What the passes write instead of adding to it. A plane that an earlier turn gives to is cleared:
 * this one would write over that. */
static gsa_status set_gradients(gsa_backend *b, attend_job *job, const gsa_attend_args *args)
{
    job->set_dq = args->set_dq & 1;
    job->set_dk = args->set_dk, job->set_dv = args->set_dv;
    for (int k = 0; k < args->edges->kinds; k++) {
        const gsa_part *part = &args->parts[k];
        const int64_t rows = args->edges->part_rows[k];
        int shared = part->dk == part->dv;
        for (int o = 0; o < k; o++)
            shared |= args->edges->part_rows[o] > 0 && shares_plane(part, &args->parts[o]);
        if (!shared || rows == 0) continue;
        GSA_TRY(clear_plane(b, args, part->dk, args->set_dk >> k, rows));
        GSA_TRY(clear_plane(b, args, part->dv, args->set_dv >> k, rows));
        job->set_dk &= ~(UINT64_C(1) << k), job->set_dv &= ~(UINT64_C(1) << k);
    }
    return GSA_OK;
}

static gsa_status backward(gsa_backend *b, const gsa_attend_args *args, int bf16)
{
    const gsa_cuda_plan *plan;
    attend_job job;
    gsa_cuda_kind kind[GSA_MAX_KINDS];
    stored_planes stored;
    void *at;
    label_work work = {
        (float *)args->dlabel_vectors, (float *)args->dlabel_bias, NULL, NULL, NULL, 0, NULL
    };
    const int widest = widest_load(args);
    GSA_TRY(gsa_attend_check(b, "attend_backward", args, 1));
    if (args->edges->rows == 0 || args->heads == 0) return gsa_attend_clear(b, args);
    const int windowed = gsa_windows_wanted(b, args);
    GSA_TRY(plan_call(b, "attend_backward", args, 1, windowed, &plan));
    attend_windows windows = { args, plan, (const float *)args->q, NULL, widest };
    work.windows = windowed ? &windows : NULL;
    set_job(b, &job, kind, args, plan);
    GSA_TRY(set_gradients(b, &job, args));
    const backward_room room = plan_room(b, &job, plan, bf16, &work);
    const int64_t planes = plan_planes(&stored, args, bf16, 1, windowed);
    GSA_TRY(gsa_cuda_scratch(b, "attend_backward", room.total + planes, sizeof(float), &at));
    if (bf16)
        GSA_TRY(store_planes(b, "attend_backward", &stored, &job, kind, (float *)at + room.total));
    if (gsa_cuda_kinds_room(args->edges->kinds) > 0)
        job.kinds.many = (gsa_cuda_kind *)(void *)((float *)at + room.kinds);
    GSA_TRY(gsa_cuda_tell_kinds(b, &job.kinds, kind));
    job.delta = (float *)at, job.part = (float *)at + room.part,
    job.part2 = (float *)at + room.part2;
    if (work.owners > 0) {
        work.sum = (float *)at + room.sum, work.q = (float *)at + room.q;
        work.partial = (float *)at + room.partial;
    }
    if (windowed)
        GSA_TRY(prepare_windows(b, "attend_backward", &windows, bf16, (float *)at + room.table));
    GSA_TRY(backward_rows(b, &job, plan, &work, widest));
    return backward_sources(b, &job, kind, plan, args, work.windows, widest);
}

static gsa_status forward_float(gsa_backend *b, const gsa_attend_args *args)
{
    return forward(b, args, 0);
}

static gsa_status backward_float(gsa_backend *b, const gsa_attend_args *args)
{
    return backward(b, args, 0);
}

static gsa_status forward_bf16(gsa_backend *b, const gsa_attend_args *args)
{
    return forward(b, args, 1);
}

static gsa_status backward_bf16(gsa_backend *b, const gsa_attend_args *args)
{
    return backward(b, args, 1);
}

void gsa_cuda_fill_attend(gsa_backend *b, int bf16)
{
    b->attend_forward = bf16 ? forward_bf16 : forward_float;
    b->attend_backward = bf16 ? backward_bf16 : backward_float;
}
