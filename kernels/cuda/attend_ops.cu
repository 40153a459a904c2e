/* attend_ops.cu - the attention ops: which passes run, over which items, and what they leave to
 * merge. */
#include "kernels/cuda.h"
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
    const int64_t last = __ldg(a.edge_offset + row + 1) * a.heads;
    for (int64_t i = __ldg(a.edge_offset + row) * a.heads + threadIdx.x % GSA_WARP; i < last;
         i += GSA_WARP) {
        const gsa_cuda_entry entry = a.entries[i / a.heads];
        const int64_t head = i % a.heads, label = entry.tag / GSA_MAX_KINDS;
        const float lse = __ldg(a.kept_lse + row * a.heads + head);
        const float *q = a.q + row * a.width + head * a.dim;
        const T *k = (const T *)GSA_OF_KIND(a.kinds, entry.tag % GSA_MAX_KINDS, k) +
                     entry.source * a.width + head * a.dim;
        float sum = 0;
        for (int32_t c = 0; c < a.dim; c++) {
            const float x = attend_storage<T>::ROUNDED ? gsa_bf16_round(q[c]) : q[c];
            sum += x * (number_of(k[c]) + (a.r ? a.r[label * a.dim + c] : 0));
        }
        const float s = a.scale * sum + (a.bias ? a.bias[label * a.heads + head] : 0);
        a.weights[i] = lse == -INFINITY ? 0 : __expf(s - lse);
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
    GSA_TRY(gsa_ref_check_attend(b, op, args, backward));
    return gsa_cuda_check(b, cudaSuccess, op, __FILE__, __LINE__);
}

/* `kind`: all of them, for the host. */
static void set_job(gsa_backend *b, attend_job *job, gsa_cuda_kind *kind,
                    const gsa_attend_args *args, const gsa_cuda_plan *plan)
{
    const gsa_edges *edges = args->edges;
    *job = attend_job{};
    job->zeros = gsa_cuda_of(b)->zeros, job->widest = widest_load(args);
    job->bf16 = gsa_cuda_of(b)->attention == GSA_CUDA_BF16;
    job->rows = edges->rows, job->width = (int64_t)args->heads * args->head_dim;
    job->heads = args->heads, job->dim = args->head_dim, job->labels = edges->labels;
    job->scale = (float)args->scale, job->scale2 = (float)(args->scale * GSA_LOG2E);
    job->q = (const float *)args->q, job->r = (const float *)args->label_vectors,
    job->bias = (const float *)args->label_bias;
    job->drop = gsa_cuda_drop_of(&args->dropout, edges);
    job->edge_offset = edges->edge_offset, job->entries = plan->entries;
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
/* Windows read q as it is stored, forward too. */
static void name_planes(gsa_bf16_planes *planes, const attend_job *job, const gsa_attend_args *args,
                        int with_q)
{
    *planes = gsa_bf16_planes{};
    if (!job->bf16) return;
    for (int k = 0; k < job->kinds.count; k++) {
        gsa_cuda_add_plane(planes, args->parts[k].k, args->edges->part_rows[k] * job->width);
        gsa_cuda_add_plane(planes, args->parts[k].v, args->edges->part_rows[k] * job->width);
    }
    gsa_cuda_add_plane(planes, args->q, with_q ? job->rows * job->width : 0);
    gsa_cuda_add_plane(planes, args->dout, args->dout ? job->rows * job->width : 0);
    gsa_cuda_place_planes(planes);
}

static gsa_status store_planes(gsa_backend *b, const char *op, const gsa_bf16_planes *planes,
                               attend_job *job, gsa_cuda_kind *kind)
{
    if (!job->bf16) return GSA_OK;
    for (int k = 0; k < job->kinds.count; k++)
        kind[k].k = gsa_cuda_plane(planes, kind[k].k),
        kind[k].v = gsa_cuda_plane(planes, kind[k].v);
    job->edge_q = gsa_cuda_plane(planes, job->edge_q);
    job->edge_dout = gsa_cuda_plane(planes, job->edge_dout);
    return gsa_cuda_round_planes(b, op, planes);
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

/* ---- windows: the table of q.r_l, and q itself where that is to be rounded ----------------- */
static void lay_windows(gsa_cuda_room &room, const attend_job *job, attend_windows *windows)
{
    if (job->bf16 && job->r) room.cut(windows->rounded, job->rows * job->width);
    room.cut(windows->table, gsa_window_table_room(windows->args));
}

static gsa_status prepare_windows(gsa_backend *b, const char *op, const attend_job *job,
                                  attend_windows *windows)
{
    if (windows->rounded)
        GSA_TRY(gsa_cuda_round_floats(b, op, windows->rounded, job->q, job->rows * job->width));
    windows->q = windows->rounded ? windows->rounded : job->q;
    return gsa_window_fill_table(b, windows);
}

/* ---- forward ------------------------------------------------------------------------------- */
static gsa_status forward(gsa_backend *b, const gsa_attend_args *args)
{
    const char *const op = "attend_forward";
    const gsa_cuda_plan *plan;
    attend_job job;
    gsa_cuda_kind kind[GSA_MAX_KINDS];
    gsa_bf16_planes planes;
    GSA_TRY(gsa_attend_check(b, op, args, 0));
    if (args->edges->rows == 0 || args->heads == 0) return GSA_OK;
    const int windowed = gsa_windows_wanted(b, args);
    GSA_TRY(gsa_cuda_plan_of(b, op, args->edges, windowed ? GSA_PLAN_WINDOWS : GSA_PLAN_IN, &plan));
    set_job(b, &job, kind, args, plan);
    use_cut(&job, &plan->in, args->edges->rows);
    attend_windows windows = { args, plan, NULL, NULL, NULL };
    const int64_t bound = job.piece ? plan->in.bound : 0;
    name_planes(&planes, &job, args, windowed);
    GSA_TRY(gsa_cuda_lay(b, op, [&](gsa_cuda_room &room) {
        room.cut(planes.to, planes.first[planes.planes]);
        room.cut(job.state, bound * job.heads), room.cut(job.part, bound * job.width);
        gsa_cuda_lay_kinds(room, &job.kinds);
        if (windowed) lay_windows(room, &job, &windows);
    }));
    GSA_TRY(store_planes(b, op, &planes, &job, kind));
    GSA_TRY(gsa_cuda_tell_kinds(b, &job.kinds, kind));
    job.way = windowed ? plan->windows.way : NULL;
    GSA_TRY(gsa_attend_forward_pass(b, &job));
    if (job.piece) {
        use_pieces(&job, 0, bound);
        GSA_TRY(gsa_attend_forward_pass(b, &job));
        GSA_TRY(GSA_RUN(b, merge_forward, merge_blocks(&job, bound), GSA_THREADS, job));
    }
    if (job.way) {
        GSA_TRY(prepare_windows(b, op, &job, &windows));
        GSA_TRY(gsa_windows_forward(b, &windows, &job));
    }
    if (job.weights == NULL) return GSA_OK;
    return job.bf16 ? GSA_WARPS(b, op, job.rows, attend_weights<gsa_bf16>, job)
                    : GSA_WARPS(b, op, job.rows, attend_weights<float>, job);
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

/* Owners first .. first+count-1: the pass, and their share of the label gradients. */
static gsa_status rows_block(gsa_backend *b, attend_job *job, const label_work *work, int64_t first,
                             int64_t count)
{
    job->first_item = first * job->heads, job->items = count * job->heads;
    job->label_sum = work->sum;
    job->label_q = job->pieced || (job->bf16 && !work->windows) ? work->q : NULL;
    GSA_TRY(gsa_attend_rows_pass(b, job));
    if (job->way && !job->pieced) GSA_TRY(gsa_windows_rows(b, work->windows, job, first, count));
    if (work->sum == NULL) return GSA_OK;
    const float *const q = work->windows ? work->windows->q : job->q;
    return add_labels(b, job, work, job->label_q ? work->q : q + first * job->width, count);
}

/* All owners, as many at a time as the label sums allow. Partial dq of pieces is at its piece's
 * own place. */
static gsa_status rows_blocks(gsa_backend *b, attend_job *job, const label_work *work,
                              int64_t owners)
{
    const int64_t step = work->sum ? work->owners : owners;
    float *const part = job->part;
    for (int64_t first = 0; first < owners; first += step) {
        if (job->pieced) job->part = part + first * job->width;
        GSA_TRY(rows_block(b, job, work, first, owners - first < step ? owners - first : step));
    }
    job->part = part;
    return GSA_OK;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Sums by label, where anybody asks for them: windows do for dq, too, and sum a window's rows in
 * one block. */
static void lay_labels(gsa_backend *b, gsa_cuda_room &room, const attend_job *job,
                       const gsa_cuda_plan *plan, label_work *work)
{
    const int64_t sums = (int64_t)job->heads * job->labels, bytes = sums * (int64_t)sizeof(float);
    if (sums == 0 || !(work->dvectors || work->dbias || (work->windows && job->r))) return;
    const int64_t most = larger(job->rows, plan->in.piece ? plan->in.bound : 0);
    int64_t fit = larger(gsa_cuda_of(b)->tuning->label_bytes / bytes, 1);
    if (work->windows) fit = larger(fit / GSA_WINDOW_ROWS, 1) * GSA_WINDOW_ROWS;
    work->owners = fit < most ? fit : most;
    room.cut(work->sum, work->owners * sums);
    room.cut(work->q, plan->in.piece || job->bf16 ? work->owners * job->width : 0);
    room.cut(work->partial, gsa_cuda_column_room(work->owners, sums));
}

/* dq, delta and the label gradients. */
static gsa_status backward_rows(gsa_backend *b, attend_job *job, const gsa_cuda_plan *plan,
                                const label_work *work)
{
    use_cut(job, &plan->in, job->rows);
    job->way = work->windows ? plan->windows.way : NULL;
    GSA_TRY(rows_blocks(b, job, work, job->rows));
    if (job->piece == NULL) return GSA_OK;
    job->pieced = 1;
    GSA_TRY(rows_blocks(b, job, work, plan->in.bound));
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
                                   const attend_windows *windows)
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
        GSA_TRY(gsa_attend_sources_pass(b, job));
        if (job->piece == NULL) continue;
        use_pieces(job, 0, plan->out_cut.bound);
        GSA_TRY(gsa_attend_sources_pass(b, job));
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

static gsa_status backward(gsa_backend *b, const gsa_attend_args *args)
{
    const char *const op = "attend_backward";
    const gsa_cuda_plan *plan;
    attend_job job;
    gsa_cuda_kind kind[GSA_MAX_KINDS];
    gsa_bf16_planes planes;
    label_work work = {};
    GSA_TRY(gsa_attend_check(b, op, args, 1));
    if (args->edges->rows == 0 || args->heads == 0) return gsa_attend_clear(b, args);
    const int windowed = gsa_windows_wanted(b, args);
    GSA_TRY(gsa_cuda_plan_of(
        b, op, args->edges, GSA_PLAN_OUT | (windowed ? GSA_PLAN_WINDOWS | GSA_PLAN_OUT_WINDOWS : 0),
        &plan));
    attend_windows windows = { args, plan, NULL, NULL, NULL };
    work.dvectors = (float *)args->dlabel_vectors, work.dbias = (float *)args->dlabel_bias;
    work.windows = windowed ? &windows : NULL;
    set_job(b, &job, kind, args, plan);
    GSA_TRY(set_gradients(b, &job, args));
    name_planes(&planes, &job, args, 1);
    const int64_t bound = larger(plan->in.bound, plan->out_cut.bound);
    GSA_TRY(gsa_cuda_lay(b, op, [&](gsa_cuda_room &room) {
        room.cut(planes.to, planes.first[planes.planes]);
        room.cut(job.delta, job.rows * job.heads);
        room.cut(job.part, bound * job.width), room.cut(job.part2, bound * job.width);
        gsa_cuda_lay_kinds(room, &job.kinds);
        lay_labels(b, room, &job, plan, &work);
        if (windowed) lay_windows(room, &job, &windows);
    }));
    GSA_TRY(store_planes(b, op, &planes, &job, kind));
    GSA_TRY(gsa_cuda_tell_kinds(b, &job.kinds, kind));
    if (windowed) GSA_TRY(prepare_windows(b, op, &job, &windows));
    GSA_TRY(backward_rows(b, &job, plan, &work));
    return backward_sources(b, &job, kind, plan, args, work.windows);
}

void gsa_cuda_fill_attend(gsa_backend *b)
{
    b->attend_forward = forward;
    b->attend_backward = backward;
}
