/* attend_ops.cu - the attention ops: which passes run, over which items, and what they leave to
 * merge. */
#include "kernels/cuda.h"
#include "kernels/cuda/attend.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/library.h"
#include <float.h>

/* ---- small kernels ------------------------------------------------------------------------- */

/* Merging: a block has 32 columns of one hub at a time; MERGE_LANES threads a column share its
 * pieces, in a fixed order. Blocks walk over (piece, slice of columns), and work where a piece is
 * the first of its row. */
enum { MERGE_LANES = GSA_THREADS / GSA_WARP, MERGE_BLOCKS = 2048 };

typedef struct merge_item {
    int64_t row, first, last, column;
    bool begins; /* the row's first piece is one of these */
    bool there;  /* this thread has a column here */
} merge_item;

/* False after the last piece of this launch, for the whole block. Of each row that the launch has
 * pieces of: those. */
GSA_DEVICE bool next_merge(const attend_job &job, int64_t columns, int64_t number, merge_item &at)
{
    const int64_t slices = (columns + GSA_WARP - 1) / GSA_WARP,
                  piece = job.piece_first + number / slices,
                  end = min(__ldg(job.piece + job.rows), job.piece_first + job.piece_count);
    if (piece >= end) return false;
    at.row = __ldg(job.owner + piece);
    const int64_t first = __ldg(job.piece + at.row);
    at.begins = first >= job.piece_first;
    at.first = at.begins ? first : job.piece_first;
    at.last = min(__ldg(job.piece + at.row + 1), end);
    at.column = number % slices * GSA_WARP + threadIdx.x % GSA_WARP;
    at.there = at.first == piece && at.column < columns && at.row >= job.row_first &&
               at.row - job.row_first < job.row_count;
    return true;
}

/* The column's lanes, in their order, in every lane: their sum or, if TOP, the largest. */
template <bool TOP> GSA_DEVICE float merge_lanes(float x, float (*room)[GSA_WARP])
{
    const int column = threadIdx.x % GSA_WARP;
    float all = TOP ? -FLT_MAX : 0;
    room[threadIdx.x / GSA_WARP][column] = x;
    __syncthreads();
    for (int lane = 0; lane < MERGE_LANES; lane++)
        all = TOP ? fmaxf(all, room[lane][column]) : all + room[lane][column];
    __syncthreads();
    return all;
}

/* out = sum of the pieces' o exp(top_p - top) over the sum of theirs. */
static __global__ void __launch_bounds__(GSA_THREADS) merge_forward(GSA_ARGUMENT(attend_job) job)
{
    GSA_SHARED(float, room, [MERGE_LANES][GSA_WARP]);
    const int lane = threadIdx.x / GSA_WARP;
    merge_item at;
    for (int64_t number = blockIdx.x; next_merge(job, job.width, number, at); number += gridDim.x) {
        const int32_t head = at.there ? (int32_t)(at.column / job.dim) : 0;
        float top = -FLT_MAX, sum = 0, o = 0;
        for (int64_t p = at.first + lane; at.there && p < at.last; p += MERGE_LANES)
            top = fmaxf(top, job.state[p * job.heads + head].x);
        top = merge_lanes<true>(top, room);
        for (int64_t p = at.first + lane; at.there && p < at.last; p += MERGE_LANES) {
            const float2 state = job.state[p * job.heads + head];
            const float factor = gsa_exp2(state.x - top);
            sum += state.y * factor;
            o += job.part[p * job.width + at.column] * factor;
        }
        sum = merge_lanes<false>(sum, room);
        o = merge_lanes<false>(o, room);
        if (!at.there || lane > 0) continue;
        job.out[at.row * job.width + at.column] = sum == 0 ? 0 : o / sum;
        if (at.column % job.dim == 0)
            job.lse[at.row * job.heads + head] =
                sum == 0 ? -INFINITY : fmaf((float)GSA_LN2, top, logf(sum));
    }
}

/* The column's sum over these pieces of its row, in every lane; `part` has so many columns. */
GSA_DEVICE float merge_pieces(const merge_item &at, const float *part, int64_t columns,
                              int64_t column, float (*room)[GSA_WARP])
{
    float sum = 0;
    for (int64_t p = at.first + threadIdx.x / GSA_WARP; at.there && p < at.last; p += MERGE_LANES)
        sum += part[p * columns + column];
    return merge_lanes<false>(sum, room);
}

/* at = x where it holds nothing yet, else at += x. */
GSA_DEVICE void put_sum(float *at, float x, bool set)
{
    *at = set ? x : *at + x;
}

/* dq of a hub, and behind it its sums by label: those of its pieces. */
static __global__ void __launch_bounds__(GSA_THREADS) merge_rows(GSA_ARGUMENT(attend_job) job)
{
    GSA_SHARED(float, room, [MERGE_LANES][GSA_WARP]);
    const int64_t sums = job.label_sum ? (int64_t)job.heads * job.labels : 0,
                  width = job.dq ? job.width : 0;
    merge_item at;
    for (int64_t number = blockIdx.x; next_merge(job, width + sums, number, at);
         number += gridDim.x) {
        const bool labels = at.column >= width, writes = at.there && threadIdx.x < GSA_WARP;
        const float sum =
            merge_pieces(at, labels ? job.piece_sum - job.piece_first * sums : job.part,
                         labels ? sums : width, labels ? at.column - width : at.column, room);
        if (writes && labels)
            job.label_sum[(at.row - job.row_first) * sums + at.column - width] += sum;
        else if (writes) put_sum(job.dq + at.row * width + at.column, sum, job.set_dq && at.begins);
    }
}

/* dk and dv of a source with many out-edges, of the job's heads. */
static __global__ void __launch_bounds__(GSA_THREADS) merge_sources(GSA_ARGUMENT(attend_job) job)
{
    GSA_SHARED(float, room, [MERGE_LANES][GSA_WARP]);
    merge_item at;
    for (int64_t number = blockIdx.x; next_merge(job, job.width, number, at); number += gridDim.x) {
        const int kind = gsa_kind_of(job.kinds, at.row);
        const int64_t to = (at.row - GSA_OF_KIND(job.kinds, kind, first)) * job.width + at.column,
                      column = at.column - (int64_t)job.head_first * job.dim;
        at.there = at.there && column >= 0 && column < (int64_t)job.head_count * job.dim;
        for (int values = 0; values < 2; values++) {
            float *const plane =
                values ? GSA_OF_KIND(job.kinds, kind, dv) : GSA_OF_KIND(job.kinds, kind, dk);
            if (plane == NULL) continue;
            const float sum =
                merge_pieces(at, values ? job.part2 : job.part, job.width, at.column, room);
            if (at.there && threadIdx.x < GSA_WARP)
                put_sum(plane + to, sum, (values ? job.set_dv : job.set_dk) >> kind & 1);
        }
    }
}

/* Blocks of a kernel that merges the pieces of the job's last launch. */
static int64_t merge_blocks(const attend_job *job, int64_t columns)
{
    const int64_t items = job->piece_count * ((columns + GSA_WARP - 1) / GSA_WARP);
    return min(items, (int64_t)MERGE_BLOCKS);
}

/* p_e = exp(s_e - lse), recomputed: a warp a row, a lane an (edge, head). For inspection, not for
 * speed. */
GSA_DEVICE void weigh_row(const attend_job &a, int64_t row, int lane)
{
    const int64_t last = __ldg(a.edge_offset + row + 1) * a.heads;
    for (int64_t i = __ldg(a.edge_offset + row) * a.heads + lane; i < last; i += GSA_WARP) {
        const gsa_cuda_entry entry = a.entries[i / a.heads];
        const int64_t head = i % a.heads, label = entry.tag / GSA_MAX_KINDS;
        const float lse = __ldg(a.lse + row * a.heads + head);
        const float *q = a.q + row * a.width + head * a.dim;
        const float *k = (const float *)GSA_OF_KIND(a.kinds, entry.tag % GSA_MAX_KINDS, k) +
                         entry.source * a.width + head * a.dim;
        float sum = 0;
        for (int32_t c = 0; c < a.dim; c++)
            sum += q[c] * (k[c] + (a.r ? a.r[label * a.dim + c] : 0));
        const float s = a.scale * sum + (a.bias ? a.bias[label * a.heads + head] : 0);
        a.weights[i] = lse == -INFINITY ? 0 : __expf(s - lse);
    }
}

/* ---- what every pass needs ----------------------------------------------------------------- */
/* The widest load, in floats, that every array allows. */
static int widest_load(const gsa_attend_args *args)
{
    uintptr_t all =
        (uintptr_t)args->q | (uintptr_t)args->out | (uintptr_t)args->dout | (uintptr_t)args->dq;
    for (int k = 0; k < args->edges->kinds; k++) {
        const gsa_part *part = &args->parts[k];
        if (args->edges->part_rows[k] > 0)
            all |=
                (uintptr_t)part->k | (uintptr_t)part->v | (uintptr_t)part->dk | (uintptr_t)part->dv;
    }
    return all % 16 == 0 ? 4 : all % 8 == 0 ? 2 : 1;
}

/* `kind`: all of them, for the host. */
static void set_job(gsa_backend *b, attend_job *job, gsa_cuda_kind *kind,
                    const gsa_attend_args *args, const gsa_cuda_plan *plan)
{
    const gsa_edges *edges = args->edges;
    *job = attend_job{};
    job->zeros = gsa_cuda_of(b)->zeros, job->widest = widest_load(args);
    job->rows = edges->rows, job->width = (int64_t)args->heads * args->head_dim;
    job->heads = job->head_count = args->heads, job->dim = args->head_dim;
    job->labels = edges->labels;
    job->scale = (float)args->scale, job->scale2 = (float)(args->scale * GSA_LOG2E);
    job->q = (const float *)args->q, job->r = (const float *)args->label_vectors,
    job->bias = (const float *)args->label_bias;
    job->drop = gsa_cuda_drop_of(&args->dropout, edges);
    job->edges = edges->edge_total, job->edge_offset = edges->edge_offset;
    job->entries = plan->entries;
    job->out = (float *)args->out, job->lse = (float *)args->lse;
    job->dout = (const float *)args->dout, job->dq = (float *)args->dq;
    job->weights = (float *)args->weights;
    job->kinds.count = edges->kinds;
    for (int k = 0; k < edges->kinds; k++) {
        kind[k] = gsa_cuda_kind{ NULL, NULL, NULL, NULL, plan->part_first[k] };
        if (edges->part_rows[k] == 0) continue;
        const gsa_part &part = args->parts[k];
        kind[k].k = part.k, kind[k].v = part.v;
        kind[k].dk = gsa_floats(part.dk), kind[k].dv = gsa_floats(part.dv);
    }
}

/* All of these rows, and all pieces of the hubs among them. */
static void use_cut(attend_job *job, const gsa_cuda_cut *cut, int64_t rows)
{
    job->piece = job->width > 0 ? cut->piece : NULL; /* without columns there is nothing to merge */
    job->owner = cut->owner, job->length = cut->length;
    job->rows = job->row_count = rows, job->row_first = 0;
    job->piece_first = 0, job->piece_count = job->piece ? cut->bound : 0;
}

gsa_status gsa_attend_launch(gsa_backend *b, const char *op, const attend_choice *table, int count,
                             const attend_job *job)
{
    attend_job tiled = *job;
    for (int i = 0; i < count; i++) {
        const attend_choice *one = &table[i];
        const int held = one->v * one->g * one->c, groups = GSA_THREADS / one->g;
        if (one->v > job->widest || job->dim % one->v != 0 || held < job->dim ||
            (one->lean && (held != job->dim || job->drop.on)))
            continue;
        tiled.row_tiles = job->rows_done ? 0 : (job->row_count + groups - 1) / groups;
        const int64_t tiles = tiled.row_tiles + (job->piece_count + groups - 1) / groups;
        return GSA_RUN_OVER(b, op, tiles * job->head_count, 1, GSA_THREADS, one->kernel, tiled);
    }
    return gsa_fail(&b->error, GSA_ERR_UNSUPPORTED,
                    "%s: head_dim %d exceeds 256, the most that the kernels hold", op,
                    (int)job->dim);
}

/* ---- labels: tables by (row, head, label), of so many rows at a time, and so many pieces ----- */
typedef struct label_work {
    float *dvectors, *dbias;        /* backward's */
    float *table, *sum, *piece_sum; /* [owners, heads, labels] q.r_l; sums of ds */
    float *finite_r, *partial;      /* [labels, dim]; room of gsa_cuda_column_sums */
    int64_t owners;
} label_work;

static void lay_labels(gsa_backend *b, gsa_cuda_room &room, const attend_job *job, int64_t bound,
                       int sums, label_work *work)
{
    const int64_t cells = (int64_t)job->heads * job->labels, bytes = cells * (int64_t)sizeof(float);
    const int vectors = job->r && job->dim > 0;
    work->owners = max(job->rows, bound);
    if (cells == 0 || !(vectors || (sums && (work->dvectors || work->dbias)))) return;
    const int64_t fit = max(gsa_cuda_of(b)->tuning->label_bytes / bytes, INT64_C(1));
    work->owners = min(work->owners, fit);
    if (vectors) room.cut(work->table, work->owners * cells);
    if (!sums) return;
    if (vectors) room.cut(work->finite_r, (int64_t)job->labels * job->dim);
    room.cut(work->sum, work->owners * cells);
    room.cut(work->piece_sum, bound > 0 ? work->owners * cells : 0);
    room.cut(work->partial, gsa_cuda_column_room(work->owners, cells));
}

/* Rows first .. of the job from now on, as many as a table takes, and their q.r_l. */
static gsa_status use_rows(gsa_backend *b, attend_job *job, const label_work *work, int64_t first)
{
    job->row_first = first, job->row_count = min(job->rows - first, work->owners);
    job->table = work->table;
    if (work->table == NULL) return GSA_OK;
    gsa_cuda_product product = {};
    product.c = work->table, product.a = job->q + first * job->width, product.b = job->r;
    product.transpose_b = 1, product.alpha = 1;
    product.m = job->row_count * job->heads, product.n = product.ldc = job->labels;
    product.k = product.lda = product.ldb = job->dim;
    return gsa_cuda_product_add(b, &product);
}

/* Of the sums of the job's rows: dr += scale sum^T q;  dq += scale sum r;  db[l, h] += sum of rows'
 * sums. */
static gsa_status add_labels(gsa_backend *b, const attend_job *job, const label_work *work)
{
    const int64_t from = job->row_first * job->width, items = job->row_count * job->heads;
    gsa_cuda_product product = {};
    product.a = work->sum, product.lda = job->labels;
    product.n = product.ldb = product.ldc = job->dim;
    product.accumulate = 1, product.alpha = job->scale;
    if (work->dvectors && job->dim > 0) {
        product.c = work->dvectors, product.b = job->q + from, product.transpose_a = 1;
        product.m = job->labels, product.k = items;
        GSA_TRY(gsa_cuda_product_add(b, &product));
    }
    if (work->table && job->dq) {
        product.c = job->dq + from, product.b = work->finite_r, product.transpose_a = 0;
        product.m = items, product.k = job->labels;
        GSA_TRY(gsa_cuda_product_add(b, &product));
    }
    if (work->dbias == NULL) return GSA_OK;
    return gsa_cuda_column_sums(b, work->dbias, work->sum, job->row_count,
                                (int64_t)job->heads * job->labels, job->labels, work->partial);
}

/* ---- forward ------------------------------------------------------------------------------- */
static gsa_status forward(gsa_backend *b, const gsa_attend_args *args)
{
    const char *const op = "attend_forward";
    const gsa_cuda_plan *plan;
    attend_job job;
    gsa_cuda_kind kind[GSA_MAX_KINDS];
    label_work work = {};
    GSA_TRY(gsa_ref_check_attend(b, op, args, 0));
    GSA_TRY(GSA_CUDA(b, cudaSuccess));
    if (args->edges->rows == 0 || args->heads == 0) return GSA_OK;
    GSA_TRY(gsa_cuda_plan_of(b, op, args->edges, GSA_PLAN_IN, &plan));
    set_job(b, &job, kind, args, plan);
    use_cut(&job, &plan->in, args->edges->rows);
    const int64_t bound = job.piece ? plan->in.bound : 0;
    GSA_TRY(gsa_cuda_lay(b, op, [&](gsa_cuda_room &room) {
        room.cut(job.state, bound * job.heads), room.cut(job.part, bound * job.width);
        gsa_cuda_lay_kinds(room, &job.kinds);
        lay_labels(b, room, &job, 0, 0, &work);
    }));
    GSA_TRY(gsa_cuda_tell_kinds(b, &job.kinds, kind));
    for (int64_t first = 0; first < job.rows; first += work.owners) {
        GSA_TRY(use_rows(b, &job, &work, first));
        GSA_TRY(gsa_attend_forward_pass(b, &job));
        GSA_TRY(GSA_RUN(b, merge_forward, merge_blocks(&job, job.width), GSA_THREADS, job));
    }
    const auto weigh = [=] __device__(int64_t row, int lane) { weigh_row(job, row, lane); };
    return gsa_cuda_each_warp(b, op, job.weights ? job.rows : 0, weigh);
}

/* ---- backward by destination --------------------------------------------------------------- */

/* The job's rows, and as many of their pieces at a time as there is room for sums by label. */
static gsa_status pass_rows(gsa_backend *b, attend_job *job, const label_work *work, int64_t bound)
{
    const int64_t sums = job->label_sum ? (int64_t)job->heads * job->labels : 0,
                  columns = (job->dq ? job->width : 0) + sums, step = sums ? work->owners : bound;
    int64_t first = 0;
    do {
        job->piece_first = first;
        job->piece_count = min(bound - first, step);
        job->rows_done = first > 0;
        GSA_TRY(gsa_attend_rows_pass(b, job));
        GSA_TRY(GSA_RUN(b, merge_rows, merge_blocks(job, columns), GSA_THREADS, *job));
        first += step;
    } while (first < bound);
    job->rows_done = 0;
    return sums ? add_labels(b, job, work) : GSA_OK;
}

/* dq, the label gradients, and what the pass by source reads: of heads slope_first .. of it. */
static gsa_status backward_rows(gsa_backend *b, attend_job *job, const gsa_cuda_plan *plan,
                                const label_work *work)
{
    use_cut(job, &plan->in, plan->edges.rows);
    const int64_t bound = job->piece_count;
    for (int64_t first = 0; first < plan->edges.rows; first += work->owners) {
        GSA_TRY(use_rows(b, job, work, first));
        GSA_TRY(pass_rows(b, job, work, bound));
    }
    return GSA_OK;
}

/* ---- backward by source -------------------------------------------------------------------- */
/* dk and dv of heads slope_first .. */
static gsa_status backward_sources(gsa_backend *b, attend_job *job, const gsa_cuda_kind *kind,
                                   const gsa_cuda_plan *plan)
{
    job->out_offset = plan->out_offset, job->out_edge = plan->out;
    use_cut(job, &plan->out_cut, plan->sources);
    return gsa_cuda_in_turns(kind, job->kinds.count, [=](const gsa_cuda_kind *own) {
        GSA_TRY(gsa_cuda_tell_kinds(b, &job->kinds, own));
        GSA_TRY(gsa_attend_sources_pass(b, job));
        return GSA_RUN(b, merge_sources, merge_blocks(job, job->width), GSA_THREADS, *job);
    });
}

static gsa_status clear_plane(gsa_backend *b, const gsa_attend_args *args, void *plane,
                              uint64_t set, int64_t rows)
{
    const int64_t bytes = rows * args->heads * args->head_dim * (int64_t)sizeof(float);
    return plane && set & 1 && bytes > 0 ? b->zero_fill(b, plane, bytes) : GSA_OK;
}

/* dk and dv of these kinds. */
static gsa_status clear_kinds(gsa_backend *b, const gsa_attend_args *args, uint64_t kinds)
{
    for (int k = 0; k < args->edges->kinds; k++) {
        const gsa_part *part = &args->parts[k];
        const int64_t rows = args->edges->part_rows[k];
        if (rows == 0) continue;
        GSA_TRY(clear_plane(b, args, part->dk, (args->set_dk & kinds) >> k, rows));
        GSA_TRY(clear_plane(b, args, part->dv, (args->set_dv & kinds) >> k, rows));
    }
    return GSA_OK;
}

gsa_status gsa_attend_clear(gsa_backend *b, const gsa_attend_args *args)
{
    GSA_TRY(clear_plane(b, args, args->dq, args->set_dq, args->edges->rows));
    return clear_kinds(b, args, UINT64_MAX);
}

/* What the passes write instead of adding to it. A plane that an earlier turn gives to is cleared:
 * this one would write over that. */
static gsa_status set_gradients(gsa_backend *b, attend_job *job, const gsa_cuda_kind *kind,
                                const gsa_attend_args *args)
{
    uint64_t shared = 0;
    for (int k = 0; k < args->edges->kinds; k++) {
        bool shares = kind[k].dk == kind[k].dv;
        for (int o = 0; o < k; o++) shares |= gsa_cuda_share(kind[k], kind[o]);
        shared |= (uint64_t)shares << k;
    }
    job->set_dq = args->set_dq & 1;
    job->set_dk = args->set_dk & ~shared, job->set_dv = args->set_dv & ~shared;
    return clear_kinds(b, args, shared);
}

/* Heads whose slopes fit into memory at a time. */
static int32_t heads_at_once(gsa_backend *b, const attend_job *job)
{
    const int64_t bytes = max(job->edges, INT64_C(1)) * (int64_t)sizeof(float2),
                  fit = max(gsa_cuda_of(b)->tuning->slope_bytes / bytes, INT64_C(1));
    return (int32_t)min(fit, (int64_t)job->heads);
}

/* All passes. Heads whose slopes had no room go by destination once more, for these alone. */
static gsa_status run_backward(gsa_backend *b, attend_job *job, const gsa_cuda_kind *kind,
                               const gsa_cuda_plan *plan, const label_work *work)
{
    const int32_t step = job->slope_heads;
    job->label_sum = work->sum, job->piece_sum = work->piece_sum;
    job->finite_r = work->finite_r;
    GSA_TRY(backward_rows(b, job, plan, work));
    job->dq = job->label_sum = job->finite_r = NULL;
    for (int32_t first = 0; first < job->heads && job->slopes; first += step) {
        job->slope_first = job->head_first = first;
        job->slope_heads = job->head_count = min(job->heads - first, step);
        if (first > 0) GSA_TRY(backward_rows(b, job, plan, work));
        GSA_TRY(backward_sources(b, job, kind, plan));
    }
    return GSA_OK;
}

static gsa_status backward(gsa_backend *b, const gsa_attend_args *args)
{
    const char *const op = "attend_backward";
    const gsa_cuda_plan *plan;
    attend_job job;
    gsa_cuda_kind kind[GSA_MAX_KINDS];
    label_work work = {};
    GSA_TRY(gsa_ref_check_attend(b, op, args, 1));
    GSA_TRY(GSA_CUDA(b, cudaSuccess));
    if (args->edges->rows == 0 || args->heads == 0) return gsa_attend_clear(b, args);
    GSA_TRY(gsa_cuda_plan_of(b, op, args->edges, GSA_PLAN_OUT, &plan));
    work.dvectors = (float *)args->dlabel_vectors, work.dbias = (float *)args->dlabel_bias;
    set_job(b, &job, kind, args, plan);
    job.slope_heads = heads_at_once(b, &job);
    GSA_TRY(set_gradients(b, &job, kind, args));
    const int64_t bound = max(plan->in.bound, plan->out_cut.bound);
    bool wanted = false;
    for (int k = 0; k < args->edges->kinds; k++) wanted |= kind[k].dk || kind[k].dv;
    GSA_TRY(gsa_cuda_lay(b, op, [&](gsa_cuda_room &room) {
        room.cut(job.part, bound * job.width), room.cut(job.part2, bound * job.width);
        if (wanted) room.cut(job.slopes, job.slope_heads * job.edges);
        gsa_cuda_lay_kinds(room, &job.kinds);
        lay_labels(b, room, &job, plan->in.bound, 1, &work);
    }));
    GSA_TRY(gsa_cuda_tell_kinds(b, &job.kinds, kind));
    return run_backward(b, &job, kind, plan, &work);
}

void gsa_cuda_fill_attend(gsa_backend *b)
{
    b->attend_forward = forward;
    b->attend_backward = backward;
}
