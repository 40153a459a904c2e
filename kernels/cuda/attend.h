/* attend.h - what the attention kernels share (versions 4, 10, 11 and 12 of kernels/cuda/TRIED.md).
 *
 * A group of G lanes owns one item: a (row, head), or one piece of a hub's (row, head). Lane j
 * holds C pieces of V neighbouring columns of every head vector, at columns (j + c G) V ..; so a
 * group's load is one contiguous piece of memory, 16 bytes a lane when V = 4. Nothing is padded in
 * memory: columns beyond head_dim are zeros in registers. Edges come in windows of G: each lane
 * finds one edge (where it points, what is added to its score, its dropout factor) and puts it into
 * shared memory; then the group walks the window together, UNROLL edges in flight. No lane leaves
 * early: shuffles name the whole warp.
 *
 * Blocks of rows: a block takes neighbouring rows of one head, so that what their edges share meets
 * in the first-level cache. Scores are in powers of 2: log2(e) is part of their scale.
 *
 * Label vectors never enter the walk: q.(k + r_l) = q.k + q.r_l, and one product of matrices makes
 * the table of all q.r_l before it; dq takes the other part, sum ds r_l, from one after it.
 *
 * Backward by destination leaves the weight and the slope of each (head, edge), which backward by
 * source reads: that pass has no scores, labels or dropout, and reads neither k nor v.
 *
 * A lean instance has heads of exactly V G C columns and no dropout: its loads test nothing. An
 * edge that is not there is a head of zeros (job.zeros). */
#ifndef GSA_CUDA_ATTEND_H
#define GSA_CUDA_ATTEND_H
#include "kernels/cuda/device.h"
#include "kernels/cuda/kinds.h"
#include "kernels/cuda/plan.h"

typedef struct alignas(16) attend_slot { /* an edge of a window: the two vectors that it reads */
    const float *a, *b;
} attend_slot;

/* What is added to its score, in powers of 2, and its dropout factor: none in lean instances. */
template <int LEAN> struct attend_note {
    float rest, factor;
};
template <> struct attend_note<1> {
    float rest;
    enum { factor = 1 };
};

typedef struct attend_job { /* all arguments of a kernel */
    int64_t rows, width;    /* width = heads * dim */
    int32_t heads, dim, labels;
    float scale, scale2;     /* scale2 = scale log2(e) */
    const float *zeros;      /* gsa_cuda_state */
    int32_t widest;          /* floats of a load that all arrays allow */
    uint64_t set_dk, set_dv; /* by kind; set_dq: what holds nothing yet is written, not added to */
    int set_dq;
    const float *q, *r, *bias, *dout;
    const float *table; /* [row_count, heads, labels] q.r_l, from row row_first on; or NULL */
    float *finite_r;    /* [labels, dim] where backward by destination leaves r, 0 where it is not
                           finite */
    gsa_cuda_drop drop;
    /* Items, times heads head_first .. +head_count-1: rows row_first .. +row_count-1 that are no
     * hubs, unless rows_done; behind their blocks the pieces piece_first .. +piece_count-1 that are
     * of these rows. row_tiles: blocks of a head that have rows (gsa_attend_launch). */
    int64_t row_first, row_count, row_tiles, piece_first, piece_count;
    int32_t head_first, head_count;
    int rows_done;
    int32_t length; /* edges of a piece; rows with more are hubs */
    const int64_t *piece;
    const int32_t *owner;
    /* edges by destination */
    int64_t edges;
    const int64_t *edge_offset;
    const gsa_cuda_entry *entries;
    /* edges by source */
    const int64_t *out_offset;
    const gsa_transposed *out_edge;
    /* results; pieces have places of their own: state [pieces, heads] of (top, sum), part, part2
     * [pieces, width] of all, piece_sum of piece_first on */
    float *out, *lse;
    float *dq;
    float *label_sum,
        *piece_sum; /* [row_count and piece_count, heads, labels] sums of ds, or NULL */
    float2 *slopes; /* [slope_heads, edges] (m p, ds) from head slope_first on; or NULL */
    int32_t slope_first, slope_heads;
    float2 *state;
    float *part, *part2;
    float *weights; /* [edges, heads] or NULL; for inspection */
    gsa_cuda_kinds kinds;
} attend_job;

/* head_dim up to V G C; columns a lane holds: V C <= 8. */
template <int V_, int G_, int C_, int LEAN_> struct attend_shape {
    typedef attend_note<LEAN_> note;
    enum {
        V = V_,
        G = G_,
        C = C_,
        LEAN = LEAN_,
        N = V_ * C_,
        GROUPS = GSA_THREADS / G_,
        SOME = C_ == 8 ? 1 : 2, /* as many edges as registers hold */
        UNROLL = N > 3 ? SOME : 4
    };
};
/* Instances: V, G, C of heads of so many columns or, where they are not lean, of fewer multiples
 * of V. Odd and large oblique widths have one instance, so that there are not twice as many. */
#define GSA_ATTEND_SHAPES(X, ...)                                                                  \
    GSA_ATTEND_SHAPES_LEAN(X, __VA_ARGS__)                                                         \
    X(2, 8, 1, __VA_ARGS__)  /* 16  */                                                             \
    X(2, 16, 2, __VA_ARGS__) /* 64  */                                                             \
    X(2, 32, 4, __VA_ARGS__) /* 256 */                                                             \
    X(1, 16, 1, __VA_ARGS__) /* 16  */                                                             \
    X(1, 32, 2, __VA_ARGS__) /* 64  */                                                             \
    X(1, 32, 8, __VA_ARGS__) /* 256 */
#define GSA_ATTEND_SHAPES_LEAN(X, ...)                                                             \
    X(4, 4, 1, __VA_ARGS__)  /* 16  */                                                             \
    X(4, 8, 1, __VA_ARGS__)  /* 32  */                                                             \
    X(4, 8, 2, __VA_ARGS__)  /* 64  */                                                             \
    X(4, 16, 2, __VA_ARGS__) /* 128 */                                                             \
    X(4, 32, 2, __VA_ARGS__) /* 256 */

typedef void (*attend_kernel)(const attend_job job);
typedef struct attend_choice { /* a row of a pass's table of instances */
    int v, g, c, lean;
    attend_kernel kernel;
} attend_choice;

/* A pass's function, and its table of instances: lean ones first. */
#define GSA_ATTEND_INSTANCE(V, G, C, kernel, lean) { V, G, C, lean, kernel<V, G, C, lean> },
#define GSA_ATTEND_PASS(name, op, kernel)                                                          \
    gsa_status name(gsa_backend *b, const attend_job *job)                                         \
    {                                                                                              \
        static const attend_choice choices[] = { GSA_ATTEND_SHAPES_LEAN(                           \
            GSA_ATTEND_INSTANCE, kernel, 1) GSA_ATTEND_SHAPES(GSA_ATTEND_INSTANCE, kernel, 0) };   \
        return gsa_attend_launch(b, op, choices, (int)(sizeof choices / sizeof *choices), job);    \
    }

/* Zeroes dq, dk and dv where they hold nothing yet, for passes that add (attend_ops.cu). */
gsa_status gsa_attend_clear(gsa_backend *b, const gsa_attend_args *args);
/* Each pass launches the instance that fits: the first whose loads divide head_dim, are at most
 * job->widest floats and whose columns hold head_dim; a lean one without dropout. */
gsa_status gsa_attend_forward_pass(gsa_backend *b, const attend_job *job);
gsa_status gsa_attend_rows_pass(gsa_backend *b, const attend_job *job);
gsa_status gsa_attend_sources_pass(gsa_backend *b, const attend_job *job);
/* Of a pass's table, in attend_ops.cu. */
gsa_status gsa_attend_launch(gsa_backend *b, const char *op, const attend_choice *table, int count,
                             const attend_job *job);

/* ---- device -------------------------------------------------------------------------------- */
#if defined(GSA_ATTEND_DEVICE)

template <int V> GSA_DEVICE void load_piece(float *x, const float *at, bool there)
{
    if (V == 4) {
        const float4 t = there ? __ldg((const float4 *)at) : make_float4(0, 0, 0, 0);
        x[0] = t.x, x[1 % V] = t.y, x[2 % V] = t.z, x[3 % V] = t.w;
    } else if (V == 2) {
        const float2 t = there ? __ldg((const float2 *)at) : make_float2(0, 0);
        x[0] = t.x, x[1 % V] = t.y;
    } else x[0] = there ? __ldg(at) : 0.0f;
}

template <int V> struct alignas(4 * V) attend_piece { /* what a lane stores at once */
    float x[V];
};

template <int V> GSA_DEVICE void store_piece(float *at, const float *x)
{
    attend_piece<V> piece;
    GSA_UNROLL
    for (int i = 0; i < V; i++) piece.x[i] = x[i];
    *(attend_piece<V> *)at = piece;
}

/* The lane's columns of a head vector; zeros where there is none. */
template <class S> GSA_DEVICE void load_head(float *x, const float *at, int dim, int j, bool there)
{
    GSA_UNROLL
    for (int c = 0; c < S::C; c++) {
        const int column = (j + c * S::G) * S::V;
        load_piece<S::V>(x + c * S::V, at + column, there && (S::LEAN || column < dim));
    }
}

template <class S> GSA_DEVICE void store_head(float *at, const float *x, int dim, int j)
{
    GSA_UNROLL
    for (int c = 0; c < S::C; c++) {
        const int column = (j + c * S::G) * S::V;
        if (S::LEAN || column < dim) store_piece<S::V>(at + column, x + c * S::V);
    }
}

/* at += x. Plain loads: this kernel writes what it reads here. */
template <class S> GSA_DEVICE void add_head(float *at, const float *x, int dim, int j)
{
    GSA_UNROLL
    for (int c = 0; c < S::C; c++) {
        const int column = (j + c * S::G) * S::V;
        if (!S::LEAN && column >= dim) continue;
        attend_piece<S::V> sum = *(const attend_piece<S::V> *)(at + column);
        GSA_UNROLL
        for (int i = 0; i < S::V; i++) sum.x[i] += x[c * S::V + i];
        *(attend_piece<S::V> *)(at + column) = sum;
    }
}

template <class S> GSA_DEVICE float dot(const float *x, const float *y)
{
    float sum = 0;
    GSA_UNROLL
    for (int i = 0; i < S::N; i++) sum += x[i] * y[i];
    return sum;
}

/* Who a group is: a row or a piece of one, and a head. `count` edges from edge `first` of the row
 * on; dead groups have none. place: among the launch's rows, or pieces; -1: it is none. */
typedef struct attend_item {
    bool live, pieced;
    int64_t row, place;
    int32_t head, count;
    int64_t first;
} attend_item;

template <class S> GSA_DEVICE attend_item find_item(const attend_job &job, const int64_t *offset)
{
    const uint32_t heads = (uint32_t)job.head_count, row_blocks = (uint32_t)job.row_tiles * heads;
    attend_item at = { false, blockIdx.x >= row_blocks, 0, -1, 0, 0, 0 };
    const uint32_t block = blockIdx.x - (at.pieced ? row_blocks : 0), tile = block / heads;
    const int64_t place = (int64_t)tile * S::GROUPS + threadIdx.x / S::G;
    at.head = job.head_first + (int32_t)(block - tile * heads);
    if (place >= (at.pieced ? job.piece_count : job.row_count)) return at;
    at.place = place;
    if (!at.pieced) {
        at.row = job.row_first + place;
        const int64_t degree = __ldg(offset + at.row + 1) - __ldg(offset + at.row);
        at.live = job.piece == NULL || degree <= job.length;
        at.count = at.live ? (int32_t)degree : 0;
        return at;
    }
    const int64_t piece = job.piece_first + place;
    if (piece >= __ldg(job.piece + job.rows)) return at;
    at.row = __ldg(job.owner + piece);
    at.live = at.row >= job.row_first && at.row - job.row_first < job.row_count;
    if (!at.live) return at;
    at.first = (piece - __ldg(job.piece + at.row)) * job.length;
    const int64_t left = __ldg(offset + at.row + 1) - __ldg(offset + at.row) - at.first;
    at.count = (int32_t)(left < job.length ? left : job.length);
    return at;
}

/* Of a piece: which of all (pieces, heads) it is. */
GSA_DEVICE int64_t piece_head(const attend_job &job, const attend_item &at)
{
    return (job.piece_first + at.place) * job.heads + at.head;
}

/* Which of all edges its first is. */
GSA_DEVICE int64_t first_edge(const attend_item &at, const int64_t *offset)
{
    return at.live ? __ldg(offset + at.row) + at.first : 0;
}

/* q.r_l of the thread's item. It is found anew: nothing of it is in registers while edges are
 * walked. */
template <class S> GSA_DEVICE float product_of(const attend_job &job, int32_t label)
{
    const attend_item at = find_item<S>(job, job.edge_offset);
    return __ldg(job.table + ((at.row - job.row_first) * job.heads + at.head) * job.labels + label);
}

/* Lane j's edge of the window that starts `base` edges into the item, whose first is `edge`.
 * Returns its label. */
template <class S>
GSA_DEVICE int32_t fill_window(const attend_job &job, const attend_item &at, int64_t edge, int base,
                               int j, attend_slot *slot, typename S::note *note)
{
    attend_slot where = { job.zeros, job.zeros };
    float rest = 0, factor = 1;
    int32_t label = -1;
    if (base + j < at.count) {
        const int32_t *entry = (const int32_t *)(job.entries + edge + base + j);
        const uint32_t tag = (uint32_t)__ldg(entry + 1);
        const int kind = (int)(tag % GSA_MAX_KINDS);
        const int64_t offset = __ldg(entry) * job.width + (int64_t)at.head * job.dim;
        where = attend_slot{ (const float *)GSA_OF_KIND(job.kinds, kind, k) + offset,
                             (const float *)GSA_OF_KIND(job.kinds, kind, v) + offset };
        label = (int32_t)(tag / GSA_MAX_KINDS);
        if (job.table) rest = job.scale2 * product_of<S>(job, label);
        if (job.bias)
            rest = fmaf((float)GSA_LOG2E, __ldg(job.bias + (int64_t)label * job.heads + at.head),
                        rest);
        if (!S::LEAN && job.drop.on)
            factor = gsa_drop_edge(job.drop, at.row, (uint32_t)(at.first + base + j), at.head);
    }
    slot[j] = where, note[j].rest = rest;
    if constexpr (!S::LEAN) note[j].factor = factor;
    return label;
}

/* The score of an edge whose lanes have the partial products `part`, and `rest` beside them, in
 * powers of 2. What is near zero is rounded once. */
template <class S> GSA_DEVICE float score_of(const attend_job &job, float part, float rest)
{
    return fmaf(job.scale2, gsa_sum_lanes(part, S::G), rest);
}

#endif
#endif
