/* attend.h - what the attention kernels share (version 4 of kernels/cuda/TRIED.md).
 *
 * A group of G lanes owns one item: a (row, head), or one piece of a hub's (row, head). Lane j
 * holds C pieces of V neighbouring columns of every head vector, at columns (j + c G) V ..; so a
 * group's load is one contiguous piece of memory, 16 bytes a lane when V = 4. Nothing is padded in
 * memory: columns beyond head_dim are zeros in registers. What an edge makes a group read (keys and
 * values; in the pass by source queries and do) is stored as T, float or bf16: a piece of 16 bytes
 * then has V = 8 columns. It stays packed in registers until it is multiplied; all sums are in
 * float. Edges come in windows of G: each lane finds one edge (where it points, its label, its
 * dropout factor) and puts it into shared memory; then the group walks the window together, UNROLL
 * edges in flight. No lane leaves early: shuffles name the whole warp.
 *
 * Blocks of rows: a block takes neighbouring rows of one head, so that what their edges share meets
 * in the first-level cache. Scores are in powers of 2: log2(e) is part of their scale.
 *
 * A lean instance has heads of exactly V G C columns, no labels and no dropout: its loop tests
 * nothing and loads no notes; an edge that is not there is a head of zeros (job.zeros). */
#ifndef GSA_CUDA_ATTEND_H
#define GSA_CUDA_ATTEND_H
#include "kernels/cuda/bf16.h"
#include "kernels/cuda/kinds.h"
#include "kernels/cuda/plan.h"

typedef struct alignas(16) attend_slot { /* an edge of a window: the two vectors that it reads */
    const void *a, *b;
} attend_slot;

typedef struct attend_note { /* its label (-1: no edge here) and dropout factor */
    int32_t label;
    float factor;
} attend_note;

typedef struct attend_job { /* all arguments of a kernel */
    int64_t rows, width;    /* width = heads * dim */
    int32_t heads, dim, labels;
    float scale, scale2; /* scale2 = scale log2(e) */
    const float *zeros;  /* gsa_cuda_state */
    int32_t widest;      /* floats of a load that all arrays allow */
    int tiled;           /* blocks of rows: all rows, none of them a piece, in their own order */
    uint64_t set_dk, set_dv; /* by kind; set_dq: what holds nothing yet is written, not added to */
    int set_dq;
    const float *q, *r, *bias, *dout;
    int bf16; /* what edges read is stored so: k, v, edge_q, edge_dout; q and dout are rounded when
                 they are loaded */
    gsa_cuda_drop drop;
    /* which items: all rows (pieced 0), or pieces of hubs; items first_item .. +items-1, where an
     * item is row or piece x heads + head */
    int pieced;
    int64_t first_item, items;
    int32_t length; /* edges of a piece; rows with more are hubs */
    const int64_t *piece;
    const int32_t *owner;
    const int8_t *way; /* of each 16 rows (or sources), or NULL; other than 0: a window's, left out
                          here (window.h) */
    /* edges by destination */
    const int64_t *edge_offset;
    const gsa_cuda_entry *entries;
    /* edges by source */
    const int64_t *out_offset;
    const gsa_transposed *out_edge;
    const void *edge_q, *edge_dout; /* q and dout as out-edges read them */
    /* results; a pieced launch writes its own places: state [pieces, heads] of (top, sum), part
     * [pieces, width] */
    float *out, *lse;
    const float *kept_out, *kept_lse;
    float *dq, *delta;
    float *label_sum; /* [items, labels] sums of ds, or NULL */
    float *label_q; /* [items, dim] the q that goes with them, where it is not q itself: of pieces,
                       and rounded */
    float2 *state;
    float *part, *part2;
    float *weights; /* [edges, heads] or NULL; for inspection */
    gsa_cuda_kinds kinds;
} attend_job;

/* How an edge's columns are in registers: a float a word, or two numbers of 16 bits where a load
 * brings pairs. */
template <class T> struct attend_storage {
    typedef float word;
    enum { ROUNDED = 0, PAIRED = 0 };
};
template <> struct attend_storage<gsa_bf16> {
    typedef uint32_t word;
    enum { ROUNDED = 1, PAIRED = 1 };
};

/* head_dim up to V G C; columns a lane holds: V C <= 8. */
template <int V_, int G_, int C_, class T_ = float, int LEAN_ = 0> struct attend_shape {
    typedef T_ T;
    typedef typename attend_storage<T_>::word word;
    enum {
        V = V_,
        G = G_,
        C = C_,
        LEAN = LEAN_,
        N = V_ * C_,
        GROUPS = GSA_THREADS / G_,
        ROUNDED = attend_storage<T_>::ROUNDED,
        PAIR = attend_storage<T_>::PAIRED && V_ > 1 ? 2 : 1, /* columns a word */
        WORDS = N / PAIR,
        SOME = C_ == 8 ? 1 : 2, /* as many edges as registers hold */
        UNROLL = WORDS > 3 ? SOME : 4
    };
};
/* Instances: V, G, C of heads of so many columns or, where they are not lean, of fewer multiples of
 * V. In bf16 V columns are 2 V bytes; odd and large oblique widths have one instance, so that there
 * are not twice as many. */
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
#define GSA_ATTEND_SHAPES_BF16(X, ...)                                                             \
    GSA_ATTEND_SHAPES_LEAN_BF16(X, __VA_ARGS__)                                                    \
    X(4, 16, 2, __VA_ARGS__) /* 128 */                                                             \
    X(2, 8, 1, __VA_ARGS__)  /* 16  */                                                             \
    X(2, 16, 2, __VA_ARGS__) /* 64  */                                                             \
    X(2, 32, 4, __VA_ARGS__) /* 256 */                                                             \
    X(1, 32, 8, __VA_ARGS__) /* 256 */
#define GSA_ATTEND_SHAPES_LEAN_BF16(X, ...)                                                        \
    X(4, 4, 1, __VA_ARGS__)  /* 16  */                                                             \
    X(8, 4, 1, __VA_ARGS__)  /* 32  */                                                             \
    X(8, 8, 1, __VA_ARGS__)  /* 64  */                                                             \
    X(8, 16, 1, __VA_ARGS__) /* 128 */                                                             \
    X(8, 32, 1, __VA_ARGS__) /* 256 */

typedef void (*attend_kernel)(const attend_job job);
typedef struct attend_choice { /* a row of a pass's table of instances */
    int bf16, v, g, c, lean;
    attend_kernel kernel;
} attend_choice;

/* A pass's function, and its table of instances: lean ones first. */
#define GSA_ATTEND_INSTANCE(V, G, C, kernel, T, lean)                                              \
    { sizeof(T) == 2, V, G, C, lean, kernel<T, V, G, C, lean> },
#define GSA_ATTEND_PASS(name, op, kernel)                                                          \
    gsa_status name(gsa_backend *b, const attend_job *job)                                         \
    {                                                                                              \
        static const attend_choice choices[] = {                                                   \
            GSA_ATTEND_SHAPES_LEAN(GSA_ATTEND_INSTANCE, kernel, float, 1)                          \
                GSA_ATTEND_SHAPES_LEAN_BF16(GSA_ATTEND_INSTANCE, kernel, gsa_bf16, 1)              \
                    GSA_ATTEND_SHAPES(GSA_ATTEND_INSTANCE, kernel, float, 0)                       \
                        GSA_ATTEND_SHAPES_BF16(GSA_ATTEND_INSTANCE, kernel, gsa_bf16, 0)           \
        };                                                                                         \
        return gsa_attend_launch(b, op, choices, (int)(sizeof choices / sizeof *choices), job);    \
    }

/* What every way demands of a call's arguments. */
gsa_status gsa_attend_check(gsa_backend *b, const char *op, const gsa_attend_args *args,
                            int backward);
static inline int64_t gsa_round4(int64_t floats) /* so that each array begins at 16 bytes */
{
    return (floats + 3) / 4 * 4;
}

/* Zeroes dq, dk and dv where they hold nothing yet, for passes that add (attend_ops.cu). */
gsa_status gsa_attend_clear(gsa_backend *b, const gsa_attend_args *args);
/* Each pass launches the instance that fits: the first of its storage whose loads divide head_dim,
 * are at most job->widest floats (bf16: where that is 4, 8 numbers) and whose columns hold
 * head_dim; a lean one where the job has what that needs. */
gsa_status gsa_attend_forward_pass(gsa_backend *b, const attend_job *job);
gsa_status gsa_attend_rows_pass(gsa_backend *b, const attend_job *job);
gsa_status gsa_attend_sources_pass(gsa_backend *b, const attend_job *job);
gsa_status gsa_attend_launch(gsa_backend *b, const char *op, const attend_choice *table, int count,
                             const attend_job *job);

/* ---- device -------------------------------------------------------------------------------- */
#if defined(GSA_ATTEND_DEVICE)

template <int V> GSA_DEVICE void load_piece(float *x, const float *at, bool there)
{
    if (V % 4 == 0) {
        GSA_UNROLL
        for (int i = 0; i < V; i += 4) {
            const float4 t = there ? __ldg((const float4 *)(at + i)) : make_float4(0, 0, 0, 0);
            x[i] = t.x, x[i + 1] = t.y, x[i + 2] = t.z, x[i + 3] = t.w;
        }
    } else if (V == 2) {
        const float2 t = there ? __ldg((const float2 *)at) : make_float2(0, 0);
        x[0] = t.x, x[1] = t.y;
    } else x[0] = there ? __ldg(at) : 0.0f;
}

template <int V> GSA_DEVICE void store_piece(float *at, const float *x)
{
    if (V % 4 == 0) {
        GSA_UNROLL
        for (int i = 0; i < V; i += 4)
            *(float4 *)(at + i) = make_float4(x[i], x[i + 1], x[i + 2], x[i + 3]);
    } else if (V == 2) *(float2 *)at = make_float2(x[0], x[1]);
    else at[0] = x[0];
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
        float sum[S::V];
        if (S::V % 4 == 0) {
            GSA_UNROLL
            for (int i = 0; i < S::V; i += 4) {
                const float4 t = *(const float4 *)(at + column + i);
                sum[i] = t.x, sum[(i + 1) % S::V] = t.y, sum[(i + 2) % S::V] = t.z,
                sum[(i + 3) % S::V] = t.w;
            }
        } else if (S::V == 2) {
            const float2 t = *(const float2 *)(at + column);
            sum[0] = t.x, sum[1 % S::V] = t.y;
        } else sum[0] = at[column];
        GSA_UNROLL
        for (int i = 0; i < S::V; i++) sum[i] += x[c * S::V + i];
        store_piece<S::V>(at + column, sum);
    }
}

/* ---- what edges read: packed words of float, or of bf16 */
template <int V> GSA_DEVICE void load_words(float *x, const float *at, bool there)
{
    load_piece<V>(x, at, there);
}

template <int V> GSA_DEVICE void load_words(uint32_t *x, const gsa_bf16 *at, bool there)
{
    if (V == 8) {
        const uint4 t = there ? __ldg((const uint4 *)at) : make_uint4(0, 0, 0, 0);
        x[0] = t.x, x[1] = t.y, x[2] = t.z, x[3] = t.w;
    } else if (V == 4) {
        const uint2 t = there ? __ldg((const uint2 *)at) : make_uint2(0, 0);
        x[0] = t.x, x[1] = t.y;
    } else if (V == 2) x[0] = there ? __ldg((const uint32_t *)at) : 0;
    else x[0] = there ? __ldg(&at->bits) : 0;
}

/* A lean window has something to read in every place. */
template <class S>
GSA_DEVICE void load_edge(typename S::word *x, const void *at, int dim, int j, bool there)
{
    GSA_UNROLL
    for (int c = 0; c < S::C; c++) {
        const int column = (j + c * S::G) * S::V;
        load_words<S::V>(x + c * S::V / S::PAIR, (const typename S::T *)at + column,
                         S::LEAN || (there && column < dim));
    }
}

template <class S> GSA_DEVICE float column_of(const float *x, int n)
{
    return x[n];
}

template <class S> GSA_DEVICE float column_of(const uint32_t *x, int n)
{
    return __uint_as_float(n % S::PAIR ? x[n / S::PAIR] & 0xffff0000u : x[n / S::PAIR] << 16);
}

template <class S> GSA_DEVICE void unpack(float *x, const typename S::word *packed)
{
    GSA_UNROLL
    for (int n = 0; n < S::N; n++) x[n] = column_of<S>(packed, n);
}

/* A head vector of q or do, read once by its own row: as edges would read it. */
template <class S>
GSA_DEVICE void load_row_head(float *x, const float *at, int dim, int j, bool there)
{
    load_head<S>(x, at, dim, j, there);
    GSA_UNROLL
    for (int n = 0; S::ROUNDED && n < S::N; n++) x[n] = gsa_bf16_round(x[n]);
}

template <class S> GSA_DEVICE float dot(const float *x, const float *y)
{
    float sum = 0;
    GSA_UNROLL
    for (int i = 0; i < S::N; i++) sum += x[i] * y[i];
    return sum;
}

/* Who a group is: a row or a piece of one, and a head. `count` edges from edge `first` of the row
 * on; dead groups have none. */
typedef struct attend_item {
    bool live;
    int64_t row, number; /* number: item - first_item, in blocks of rows too */
    int32_t head, count;
    int64_t first;
} attend_item;

GSA_DEVICE bool is_windowed(const attend_job &job, int64_t row)
{
    return job.way && job.way[row / GSA_WINDOW_ROWS] != GSA_WAY_EDGES;
}

template <class S> GSA_DEVICE attend_item find_item(const attend_job &job, const int64_t *offset)
{
    const int lane_group = threadIdx.x / S::G;
    const uint32_t tile = blockIdx.x / (uint32_t)job.heads;
    const int64_t group = (int64_t)blockIdx.x * S::GROUPS + lane_group,
                  item = job.first_item + group;
    const int64_t owner = job.tiled ? (int64_t)tile * S::GROUPS + lane_group : item / job.heads;
    attend_item at = { false, 0, group, 0, 0, 0 };
    at.head =
        (int32_t)(job.tiled ? blockIdx.x - tile * (uint32_t)job.heads : item - owner * job.heads);
    if (job.tiled) at.number = owner * job.heads + at.head;
    if (at.number >= job.items) return at;
    if (!job.pieced) {
        at.row = owner;
        const int64_t degree = __ldg(offset + at.row + 1) - __ldg(offset + at.row);
        at.live = (job.piece == NULL || degree <= job.length) && !is_windowed(job, at.row);
        at.count = at.live ? (int32_t)degree : 0;
        return at;
    }
    if (owner >= __ldg(job.piece + job.rows)) return at;
    at.row = __ldg(job.owner + owner);
    at.live = !is_windowed(job, at.row);
    if (!at.live) return at;
    at.first = (owner - __ldg(job.piece + at.row)) * job.length;
    const int64_t left = __ldg(offset + at.row + 1) - __ldg(offset + at.row) - at.first;
    at.count = (int32_t)(left < job.length ? left : job.length);
    return at;
}

/* Which of all edges its first is. */
GSA_DEVICE int64_t first_edge(const attend_item &at, const int64_t *offset)
{
    return at.live ? __ldg(offset + at.row) + at.first : 0;
}

/* Lane j's edge of the window that starts `base` edges into the item, whose first is `edge`;
 * without notes where the instance is lean. */
template <class S>
GSA_DEVICE void fill_window(const attend_job &job, const attend_item &at, int64_t edge, int base,
                            int j, attend_slot *slot, attend_note *note)
{
    attend_slot where = { job.zeros, job.zeros };
    attend_note what = { -1, 1.0f };
    if (base + j < at.count) {
        const int32_t *entry = (const int32_t *)(job.entries + edge + base + j);
        const uint32_t tag = (uint32_t)__ldg(entry + 1);
        const int kind = (int)(tag % GSA_MAX_KINDS);
        const int64_t offset = __ldg(entry) * job.width + (int64_t)at.head * job.dim;
        where = attend_slot{ (const typename S::T *)GSA_OF_KIND(job.kinds, kind, k) + offset,
                             (const typename S::T *)GSA_OF_KIND(job.kinds, kind, v) + offset };
        what.label = (int32_t)(tag / GSA_MAX_KINDS);
        if (!S::LEAN && job.drop.on)
            what.factor = gsa_drop_edge(job.drop, at.row, (uint32_t)(at.first + base + j), at.head);
    }
    slot[j] = where;
    if (!S::LEAN) note[j] = what;
}

/* k += r_l */
template <class S> GSA_DEVICE void add_label(const attend_job &job, float *k, int label, int j)
{
    float r[S::N];
    load_head<S>(r, job.r + (int64_t)label * job.dim, job.dim, j, true);
    GSA_UNROLL
    for (int i = 0; i < S::N; i++) k[i] += r[i];
}

/* The score of an edge whose lanes have the partial products `part`, less `lse`, in powers of 2.
 * What is near zero is rounded once. */
template <class S>
GSA_DEVICE float score_of(const attend_job &job, float part, const attend_note *note, int head,
                          float lse)
{
    float rest = -lse;
    if (!S::LEAN && job.bias && note->label >= 0)
        rest =
            fmaf((float)GSA_LOG2E, __ldg(job.bias + (int64_t)note->label * job.heads + head), rest);
    return fmaf(job.scale2, gsa_sum_lanes(part, S::G), rest);
}

#endif
#endif
