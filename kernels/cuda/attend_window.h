/* attend_window.h - what the kernels of row windows share (versions 5 and 6 of docs/cuda.md; window.h says what a window is).
 *
 * A block is one warp; it owns a (window, head). The window's 16 rows stand in shared memory; columns come in tiles of 16, whose
 * vectors are loaded once for all rows. A tile is two kinds of products:
 *   dots   x[r, c] = sum_i A[r, i] B[c, i]      scores and do.v: 16 x 16, over the columns of a head
 *   mix    acc[r, i] += sum_c W[r, c] B[c, i]   o, dq, dk, dv: 16 x dim, over the columns of the window
 * An engine says which lane holds which elements and multiplies: window_plain by float FMAs (4 x 2 scores and 4 x D/8 sums a
 * lane, each number of shared memory used for 4 rows), window_tensor by mma.h. Outside the mask weights are 0, and 0 times
 * infinity is not 0: a tile with a number that is not finite is multiplied edge by edge.
 *
 * Label vectors: q.r_l is looked up in a table of all rows' products (attend_window.cu). */
#ifndef GSA_CUDA_ATTEND_WINDOW_H
#define GSA_CUDA_ATTEND_WINDOW_H
#include "kernels/cuda/attend.h"
#include "kernels/cuda/mma.h"

enum { GSA_WINDOW_DIM = 128, GSA_WINDOW_TILE = 16 }; /* widest head; columns of a tile */

typedef struct window_job {      /* everything a kernel is told */
    int64_t first_window, items; /* items: rows (by source: sources) in all */
    gsa_cuda_windows w;
    int64_t width;
    int32_t heads, dim, labels, kinds, wide; /* wide: floats of a load */
    float scale;
    const float *q, *dout, *r, *bias, *table, *kept_out, *kept_lse; /* table [rows, heads, labels] or NULL */
    gsa_cuda_drop drop;
    float *out, *lse, *dq, *delta, *label_sum; /* label_sum: from item first_item on, or NULL */
    int64_t first_item;
    const float *k[GSA_MAX_KINDS], *v[GSA_MAX_KINDS];
    float *dk[GSA_MAX_KINDS], *dv[GSA_MAX_KINDS];
    int64_t part_first[GSA_MAX_KINDS + 1];
} window_job;

/* Heads up to 32, 64 and 128 columns. */
#define GSA_WINDOW_SHAPES(X) X(32) X(64) X(128)
typedef void (*window_kernel)(const window_job job);
typedef struct window_choice { /* the kernels of a pass by way: plain, three products of tf32, one */
    int dim;
    window_kernel plain, tensor, tf32;
} window_choice;

/* ---- attend_window.cu: the windows of one call of an op */
typedef struct attend_windows {
    const gsa_attend_args *args;
    const gsa_cuda_plan *plan;
    float *table; /* set by the caller: room of gsa_window_table_room floats, where that is not 0 */
    int wide;
} attend_windows;

/* Whether this call may go through windows at all. */
int gsa_windows_wanted(gsa_backend *b, const gsa_attend_args *args);
int64_t gsa_window_table_room(const gsa_attend_args *args);
gsa_status gsa_window_fill_table(gsa_backend *b, const attend_windows *windows);
gsa_status gsa_windows_forward(gsa_backend *b, const attend_windows *windows);
/* Rows first .. first+count-1, both multiples of 16 or the end; delta and label_sum are the edge passes' own. */
gsa_status gsa_windows_rows(gsa_backend *b, const attend_windows *windows, const attend_job *job, int64_t first,
                            int64_t count);
/* Gradients of the kinds that the job names. */
gsa_status gsa_windows_sources(gsa_backend *b, const attend_windows *windows, const attend_job *job);

/* ---- the passes' tables */
extern const window_choice gsa_window_forward_choices[3], gsa_window_rows_choices[3], gsa_window_sources_choices[3];

/* ---- device ---------------------------------------------------------------------------------------------------------- */
#if defined(GSA_ATTEND_DEVICE)

enum { WINDOW_W = 20 }; /* floats from one row (plain: column) of W to the next: no two lanes of a load in one bank */

template <int D_> struct window_plain {
    enum { WAY = GSA_WAY_WINDOW, D = D_, STRIDE = D_ + 4, ROWS = 4, COLS = 2, OUTS = D_ / 8, PIECE = 4, LANES = 8 };
    static __device__ __forceinline__ int row(int lane, int a)
    {
        return lane / 8 + 4 * a;
    }
    static __device__ __forceinline__ int col(int lane, int b)
    {
        return lane % 8 + 8 * b;
    }
    static __device__ __forceinline__ int out(int lane, int o)
    {
        return lane % 8 * 4 + 32 * (o / 4) + o % 4;
    }
    static __device__ __forceinline__ int at(int r, int c) /* W by columns: four rows of a lane side by side */
    {
        return c * WINDOW_W + r % 4 * 4 + r / 4;
    }

    static __device__ __forceinline__ void dots(float x[ROWS][COLS], const float *a, const float *b, int dim, int lane)
    {
        for (int i = 0; i < dim; i += 4) {
            float4 y[COLS];
            GSA_UNROLL
            for (int c = 0; c < COLS; c++) y[c] = *(const float4 *)(b + col(lane, c) * STRIDE + i);
            GSA_UNROLL
            for (int r = 0; r < ROWS; r++) {
                const float4 z = *(const float4 *)(a + row(lane, r) * STRIDE + i);
                GSA_UNROLL
                for (int c = 0; c < COLS; c++) x[r][c] += z.x * y[c].x + z.y * y[c].y + z.z * y[c].z + z.w * y[c].w;
            }
        }
    }

    static __device__ __forceinline__ void mix(float acc[ROWS][OUTS], const float *w, const float *b, int dim, int lane)
    {
        for (int c = 0; c < GSA_WINDOW_TILE; c++) {
            const float4 x = *(const float4 *)(w + at(lane / 8, c));
            GSA_UNROLL
            for (int o = 0; o < OUTS; o += 4) {
                if (o * 8 >= dim) break;
                const float4 y = *(const float4 *)(b + c * STRIDE + out(lane, o));
                const float from[4] = { y.x, y.y, y.z, y.w }, weight[4] = { x.x, x.y, x.z, x.w };
                GSA_UNROLL
                for (int r = 0; r < ROWS; r++) {
                    GSA_UNROLL
                    for (int i = 0; i < 4; i++) acc[r][o + i] += weight[r] * from[i];
                }
            }
        }
    }
};

/* PRODUCTS 3: high low + low high + high high; 1: high high. */
template <int D_, int PRODUCTS> struct window_tensor {
    enum { WAY = GSA_WAY_TENSOR, D = D_, STRIDE = D_ + 4, ROWS = 2, COLS = 4, OUTS = D_ / 4, PIECE = 2, LANES = 4 };
    static __device__ __forceinline__ int row(int lane, int a)
    {
        return lane / 4 + 8 * a;
    }
    static __device__ __forceinline__ int col(int lane, int b)
    {
        return lane % 4 * 2 + 8 * (b / 2) + b % 2;
    }
    static __device__ __forceinline__ int out(int lane, int o)
    {
        return col(lane, o);
    }
    static __device__ __forceinline__ int at(int r, int c)
    {
        return r * WINDOW_W + c;
    }

    template <int N> struct split {
        float high[N], low[N];
        __device__ __forceinline__ void set(int i, float x)
        {
            high[i] = gsa_tf32(x);
            low[i] = PRODUCTS == 3 ? gsa_tf32(x - high[i]) : 0;
        }
    };

    /* The 16 x 8 of A that starts at `a`, whose rows are `stride` apart. */
    static __device__ __forceinline__ void load_a(split<4> &x, const float *a, int stride, int lane)
    {
        const float *at = a + lane / 4 * stride + lane % 4;
        x.set(0, at[0]), x.set(1, at[8 * stride]), x.set(2, at[4]), x.set(3, at[8 * stride + 4]);
    }

    /* d: columns 8 n .. 8 n + 7 of x, this lane's elements of which are 2 n, 2 n + 1. */
    template <int N>
    static __device__ __forceinline__ void multiply(float x[ROWS][N], int n, const split<4> &a, const split<2> &b)
    {
        float &d0 = x[0][2 * n], &d1 = x[0][2 * n + 1], &d2 = x[1][2 * n], &d3 = x[1][2 * n + 1];
        if (PRODUCTS == 3) {
            gsa_mma_tf32(d0, d1, d2, d3, a.low, b.high);
            gsa_mma_tf32(d0, d1, d2, d3, a.high, b.low);
        }
        gsa_mma_tf32(d0, d1, d2, d3, a.high, b.high);
    }

    static __device__ __forceinline__ void dots(float x[ROWS][COLS], const float *a, const float *b, int dim, int lane)
    {
        for (int i = 0; i < dim; i += 8) {
            split<4> left;
            load_a(left, a + i, STRIDE, lane);
            GSA_UNROLL
            for (int n = 0; n < COLS / 2; n++) {
                const float *at = b + (8 * n + lane / 4) * STRIDE + i + lane % 4;
                split<2> right;
                right.set(0, at[0]), right.set(1, at[4]);
                multiply(x, n, left, right);
            }
        }
    }

    static __device__ __forceinline__ void mix(float acc[ROWS][OUTS], const float *w, const float *b, int dim, int lane)
    {
        for (int c = 0; c < GSA_WINDOW_TILE; c += 8) {
            split<4> left;
            load_a(left, w + c, WINDOW_W, lane);
            GSA_UNROLL
            for (int n = 0; n < OUTS / 2; n++) {
                if (n * 8 >= dim) break;
                const float *at = b + (c + lane % 4) * STRIDE + 8 * n + lane / 4;
                split<2> right;
                right.set(0, at[0]), right.set(1, at[4 * STRIDE]);
                multiply(acc, n, left, right);
            }
        }
    }
};

typedef struct window_tile { /* who the columns of a tile are; mask 0: nobody */
    const float *a[GSA_WINDOW_TILE], *b[GSA_WINDOW_TILE];
    int64_t edge[GSA_WINDOW_TILE];
    uint32_t mask[GSA_WINDOW_TILE];
    int32_t column[GSA_WINDOW_TILE];
    float lse[GSA_WINDOW_TILE], inner[GSA_WINDOW_TILE];
} window_tile;

typedef struct window_item {
    int64_t first_row, column, last; /* columns column .. last-1 of the windows' */
    int32_t head, rows;
} window_item;

/* False: the window goes another way, and the whole block leaves. */
GSA_DEVICE bool find_window(const window_job &job, int way, window_item &at)
{
    const int64_t window = job.first_window + blockIdx.x / job.heads;
    if (job.w.way[window] != way) return false;
    at.head = (int32_t)(blockIdx.x % job.heads);
    at.first_row = window * GSA_WINDOW_ROWS;
    at.rows = (int32_t)min(job.items - at.first_row, (int64_t)GSA_WINDOW_ROWS);
    at.column = __ldg(job.w.first + window), at.last = __ldg(job.w.first + window + 1);
    return true;
}

/* Lane c fills in column at.column + c: how far from the row's plane its head vector stands is the caller's. */
GSA_DEVICE void find_column(const window_job &job, const window_item &at, window_tile &tile, int lane)
{
    const int64_t c = at.column + lane;
    const bool there = c < at.last;
    if (lane >= GSA_WINDOW_TILE) return;
    tile.a[lane] = tile.b[lane] = NULL;
    tile.mask[lane] = there ? (uint32_t)__ldg(job.w.mask + c) : 0;
    tile.edge[lane] = there ? __ldg(job.w.edge + c) : 0;
    tile.column[lane] = there ? __ldg(job.w.column + c) : -1;
}

GSA_DEVICE int window_kind(const window_job &job, int64_t source)
{
    int kind = 0;
    while (kind + 1 < job.kinds && source >= job.part_first[kind + 1]) kind++;
    return kind;
}

/* The head vectors of source `source` (among those of all kinds). */
GSA_DEVICE void find_source(const window_job &job, int64_t source, int head, const float **k, const float **v)
{
    const int kind = window_kind(job, source);
    const int64_t offset = (source - job.part_first[kind]) * job.width + (int64_t)head * job.dim;
    *k = job.k[kind] + offset;
    *v = job.v[kind] + offset;
}

/* Up to four floats; zeros behind `left`. */
GSA_DEVICE float4 load_four(const float *at, int left, int wide)
{
    float4 x = make_float4(0, 0, 0, 0);
    if (left <= 0) return x;
    if (wide == 4) return __ldg((const float4 *)at);
    if (wide == 2) {
        const float2 low = __ldg((const float2 *)at), high = left > 2 ? __ldg((const float2 *)(at + 2)) : make_float2(0, 0);
        return make_float4(low.x, low.y, high.x, high.y);
    }
    x.x = __ldg(at);
    if (left > 1) x.y = __ldg(at + 1);
    if (left > 2) x.z = __ldg(at + 2);
    if (left > 3) x.w = __ldg(at + 3);
    return x;
}

/* What products of a tile cannot take: not finite, or so large that tf32 rounds it to infinity. */
GSA_DEVICE bool too_large(float x)
{
    return !(fabsf(x) < 3e38f);
}

/* 16 head vectors into shared memory, zeros behind their columns and where there is none; at most 8 loads of a lane in flight.
 * Whether this lane saw a number that is too large. */
template <class E> GSA_DEVICE bool stage(float *to, const float *const *from, int dim, int wide, int lane)
{
    enum { ALL = E::D / 8, SOME = ALL < 8 ? ALL : 8 };
    bool large = false;
    GSA_NO_UNROLL
    for (int first = 0; first < ALL; first += SOME) {
        GSA_UNROLL
        for (int n = 0; n < SOME; n++) {
            const int i = lane + (first + n) * GSA_WARP, r = i / (E::D / 4), c = i % (E::D / 4) * 4;
            const float *const at = from[r];
            const float4 x = at ? load_four(at + c, dim - c, wide) : make_float4(0, 0, 0, 0);
            *(float4 *)(to + r * E::STRIDE + c) = x;
            large = large || too_large(x.x) || too_large(x.y) || too_large(x.z) || too_large(x.w);
        }
    }
    return large;
}

/* x = dots of the tile. */
template <class E>
GSA_DEVICE void window_dots(float x[E::ROWS][E::COLS], const float *a, const float *b, int dim, bool large, int lane)
{
    GSA_UNROLL
    for (int r = 0; r < E::ROWS; r++) {
        GSA_UNROLL
        for (int c = 0; c < E::COLS; c++) x[r][c] = 0;
    }
    if (!large) {
        E::dots(x, a, b, dim, lane);
        return;
    }
    for (int i = 0; i < dim; i++) {
        GSA_UNROLL
        for (int r = 0; r < E::ROWS; r++) {
            GSA_UNROLL
            for (int c = 0; c < E::COLS; c++)
                x[r][c] += a[E::row(lane, r) * E::STRIDE + i] * b[E::col(lane, c) * E::STRIDE + i];
        }
    }
}

/* acc += W B; with numbers that are not finite only inside the mask. */
template <class E>
GSA_DEVICE void window_mix(float acc[E::ROWS][E::OUTS], const float *w, const float *b, const uint32_t *mask, int dim,
                           bool large, int lane)
{
    if (!large) {
        E::mix(acc, w, b, dim, lane);
        return;
    }
    for (int c = 0; c < GSA_WINDOW_TILE; c++) {
        GSA_UNROLL
        for (int r = 0; r < E::ROWS; r++) {
            const float x = w[E::at(E::row(lane, r), c)];
            if (!(mask[c] >> E::row(lane, r) & 1)) continue;
            GSA_UNROLL
            for (int o = 0; o < E::OUTS; o++) acc[r][o] += x * b[c * E::STRIDE + E::out(lane, o)];
        }
    }
}

typedef struct window_cell {
    bool there;
    int32_t label;
    float factor;
} window_cell;

/* Does row r of the window read column c; `row` and its key: for dropout. */
GSA_DEVICE window_cell find_cell(const window_job &job, const window_tile &tile, int r, int c, int64_t row, int head)
{
    const uint32_t mask = tile.mask[c];
    window_cell cell = { (mask >> r & 1) != 0, 0, 1.0f };
    if (!cell.there) return cell;
    const int64_t at = tile.edge[c] + __popc(mask & ((1u << r) - 1));
    if (job.table || job.bias) cell.label = __ldg(job.w.label + at);
    if (job.drop.on) cell.factor = gsa_drop_edge(job.drop, row, (uint32_t)__ldg(job.w.place + at), head);
    return cell;
}

GSA_DEVICE float window_score(const window_job &job, float dot, int32_t label, int64_t row, int head)
{
    if (job.table) dot += __ldg(job.table + (row * job.heads + head) * job.labels + label);
    const float s = job.scale * dot;
    return job.bias ? s + __ldg(job.bias + (int64_t)label * job.heads + head) : s;
}

/* The columns of one row, PIECE at a time: to = x, or += x. */
template <class E> GSA_DEVICE void store_outs(float *to, const float *x, int dim, int wide, bool add, int lane)
{
    GSA_UNROLL
    for (int o = 0; o < E::OUTS; o += E::PIECE) {
        const int c = E::out(lane, o);
        float *const at = to + c;
        if (wide == 4 && E::PIECE == 4) {
            if (c >= dim) continue;
            const float4 old = add ? *(const float4 *)at : make_float4(0, 0, 0, 0);
            *(float4 *)at =
                make_float4(old.x + x[o], old.y + x[o + 1], old.z + x[o + 2 % E::PIECE], old.w + x[o + 3 % E::PIECE]);
        } else if (wide >= 2 && E::PIECE == 2) {
            if (c >= dim) continue;
            const float2 old = add ? *(const float2 *)at : make_float2(0, 0);
            *(float2 *)at = make_float2(old.x + x[o], old.y + x[o + 1]);
        } else {
            GSA_UNROLL
            for (int i = 0; i < E::PIECE; i++)
                if (c + i < dim) at[i] = (add ? at[i] : 0) + x[o + i];
        }
    }
}

template <class E> GSA_DEVICE void clear_outs(float acc[E::ROWS][E::OUTS])
{
    GSA_UNROLL
    for (int r = 0; r < E::ROWS; r++) {
        GSA_UNROLL
        for (int o = 0; o < E::OUTS; o++) acc[r][o] = 0;
    }
}

#endif
#endif
