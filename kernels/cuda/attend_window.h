/* attend_window.h - what the kernels of row windows share (window.h says what a window is).
 *
 * A block is one warp; it owns a (window, head). The window's 16 rows are in shared memory;
 * columns come in tiles of 16, whose vectors are loaded once for all rows, the next tile's while
 * one is multiplied. window_engine.h multiplies.
 *
 * What rows and columns bring (q, k, v, do) is stored as T, float or bf16. Label vectors are
 * floats: q.r_l is looked up in a table of all rows' products (attend_window.cu). */
#ifndef GSA_CUDA_ATTEND_WINDOW_H
#define GSA_CUDA_ATTEND_WINDOW_H
#include "kernels/cuda/attend.h"

enum { GSA_WINDOW_DIM = 128, GSA_WINDOW_TILE = 16 }; /* widest head; columns of a tile */

typedef struct window_job {      /* all arguments of a kernel */
    int64_t first_window, items; /* items: rows (by source: sources) in all */
    gsa_cuda_windows w;
    int64_t width;
    int32_t heads, dim, labels;
    int32_t wide, wide_out; /* numbers of a load of what is stored as T; floats of a load or store
                               of floats */
    float scale;
    const void *q, *dout;                                /* as T */
    const float *r, *bias, *table, *kept_out, *kept_lse; /* table [rows, heads, labels] or NULL */
    gsa_cuda_drop drop;
    float *out, *lse, *dq, *delta, *label_sum; /* label_sum: from item first_item on, or NULL */
    int64_t first_item;
    int set_dq;              /* 1: dq holds nothing yet, and is written instead of added to */
    uint64_t set_dk, set_dv; /* bit k: likewise of kind k */
    gsa_cuda_kinds kinds;
} window_job;

/* Heads up to 32, 64 and 128 columns. */
#define GSA_WINDOW_SHAPES(X) X(32) X(64) X(128)
typedef void (*window_kernel)(const window_job job);
typedef struct window_choice { /* the kernels of a pass: heads of at most `dim` columns */
    int dim;
    window_kernel tf32, bf16;
} window_choice;

/* ---- attend_window.cu: the windows of one call of an op */
typedef struct attend_windows {
    const gsa_attend_args *args;
    const gsa_cuda_plan *plan;
    const float *q;         /* the args' own; in bf16, where labels have vectors, rounded */
    float *rounded, *table; /* room for that, and of gsa_window_table_room floats */
} attend_windows;

/* Whether this call may go through windows at all. */
int gsa_windows_wanted(gsa_backend *b, const gsa_attend_args *args);
int64_t gsa_window_table_room(const gsa_attend_args *args);
gsa_status gsa_window_fill_table(gsa_backend *b, const attend_windows *windows);
/* `job`: of the edges' pass, which knows where what is read is stored. */
gsa_status gsa_windows_forward(gsa_backend *b, const attend_windows *windows,
                               const attend_job *job);
/* Rows first .. first+count-1, both multiples of 16 or the end; delta and label_sum are the edge
 * passes' own. */
gsa_status gsa_windows_rows(gsa_backend *b, const attend_windows *windows, const attend_job *job,
                            int64_t first, int64_t count);
/* Gradients of the kinds that the job names. */
gsa_status gsa_windows_sources(gsa_backend *b, const attend_windows *windows,
                               const attend_job *job);

/* ---- the passes' tables */
extern const window_choice gsa_window_forward_choices[3], gsa_window_rows_choices[3],
    gsa_window_sources_choices[3];

/* ---- device -------------------------------------------------------------------------------- */
#if defined(GSA_ATTEND_DEVICE)
#include "kernels/cuda/copy.h"
#include "kernels/cuda/window_engine.h"

typedef struct window_tile { /* who the columns of a tile are; mask 0: nobody */
    const void *a[GSA_WINDOW_TILE], *b[GSA_WINDOW_TILE];
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
GSA_DEVICE bool find_window(const window_job &job, window_item &at)
{
    const int64_t window = job.first_window + blockIdx.x / job.heads;
    if (!GSA_TENSOR_WAY || job.w.way[window] == GSA_WAY_EDGES) return false;
    at.head = (int32_t)(blockIdx.x % job.heads);
    at.first_row = window * GSA_WINDOW_ROWS;
    at.rows = (int32_t)min(job.items - at.first_row, (int64_t)GSA_WINDOW_ROWS);
    at.column = __ldg(job.w.first + window), at.last = __ldg(job.w.first + window + 1);
    return true;
}

/* A column of the next tile, known before its turn: lane c's. */
typedef struct window_mark {
    int32_t column; /* -1: none */
    uint32_t mask;
    int64_t edge;
} window_mark;

GSA_DEVICE window_mark find_mark(const window_job &job, int64_t column, int64_t last, int lane)
{
    const int64_t c = column + lane;
    if (lane >= GSA_WINDOW_TILE || c >= last) return window_mark{ -1, 0, 0 };
    return window_mark{ __ldg(job.w.column + c), (uint32_t)__ldg(job.w.mask + c),
                        __ldg(job.w.edge + c) };
}

/* The head vectors of source `source` (among those of all kinds). */
template <class T>
GSA_DEVICE void find_source(const window_job &job, int64_t source, int head, const void **k,
                            const void **v)
{
    const int kind = gsa_kind_of(job.kinds, source);
    const int64_t offset =
        (source - GSA_OF_KIND(job.kinds, kind, first)) * job.width + (int64_t)head * job.dim;
    *k = (const T *)GSA_OF_KIND(job.kinds, kind, k) + offset;
    *v = (const T *)GSA_OF_KIND(job.kinds, kind, v) + offset;
}

/* BYTES of nothing. */
template <int BYTES> GSA_DEVICE void clear_word(void *to)
{
    *(typename gsa_word<BYTES>::type *)to = typename gsa_word<BYTES>::type{};
}

/* 16 head vectors on their way into shared memory, BYTES a copy; zeros after their columns and
 * where there is none. */
template <class E, int BYTES>
GSA_DEVICE void send_words(typename E::T *to, const void *const *from, int dim, int lane)
{
    typedef typename E::T T;
    enum {
        N = BYTES >= (int)sizeof(T) ? BYTES / (int)sizeof(T) : 1,
        WORDS = E::D / N, /* of a vector */
        ALL = WORDS * GSA_WINDOW_TILE / GSA_WARP,
        SOME = ALL < 8 ? ALL : 8
    };
    GSA_NO_UNROLL
    for (int first = 0; first < ALL; first += SOME) {
        GSA_UNROLL
        for (int n = 0; n < SOME; n++) {
            const int i = lane + (first + n) * GSA_WARP, r = i / WORDS, c = i % WORDS * N;
            const T *const at = (const T *)from[r];
            if (at && c < dim) gsa_copy<N *(int)sizeof(T)>(to + r * E::STRIDE + c, at + c);
            else clear_word<N *(int)sizeof(T)>(to + r * E::STRIDE + c);
        }
    }
}

template <class E>
GSA_DEVICE void send_vectors(typename E::T *to, const void *const *from, int dim, int wide,
                             int lane)
{
    const int bytes = wide * (int)sizeof(typename E::T);
    if (bytes == 16) send_words<E, 16>(to, from, dim, lane);
    else if (bytes == 8) send_words<E, 8>(to, from, dim, lane);
    else if (bytes == 4) send_words<E, 4>(to, from, dim, lane);
    else send_words<E, 2>(to, from, dim, lane);
}

/* Whether this lane sees one of 16 vectors' numbers that products of a tile cannot take; 4 loads at
 * a time. */
template <class E> GSA_DEVICE bool saw_large(const typename E::T *at, int lane)
{
    typedef window_storage<typename E::T> storage;
    enum {
        WORDS = E::D / storage::N,
        ALL = WORDS * GSA_WINDOW_TILE / GSA_WARP,
        SOME = ALL < 4 ? ALL : 4
    };
    bool large = false;
    GSA_NO_UNROLL
    for (int first = 0; first < ALL; first += SOME) {
        GSA_UNROLL
        for (int n = 0; n < SOME; n++) {
            const int i = lane + (first + n) * GSA_WARP;
            large = large || storage::large(*(const uint4 *)(at + i / WORDS * E::STRIDE +
                                                             i % WORDS * storage::N));
        }
    }
    return large;
}

/* ---- the walk over a window's columns ----
 * Shared memory for STAGES tiles, as many as fit next to the ROWS arrays of the window's own
 * vectors. */
template <class E, int ROWS> struct alignas(16) window_room {
    enum {
        VECTORS = GSA_WINDOW_TILE * E::STRIDE, /* numbers */
        BYTES = (ROWS + 2 * GSA_WINDOW_STAGES) * VECTORS * (int)sizeof(typename E::T),
        STAGES = BYTES <= GSA_WINDOW_SHARED ? GSA_WINDOW_STAGES : 1
    };
    typename E::T a[STAGES][VECTORS], b[STAGES][VECTORS];
    window_tile tile[STAGES];
};

/* The tile whose columns are marked; find(tile) says where vectors of lane's column are, and
 * sends what else it brings. */
template <class E, class ROOM, class FIND>
GSA_DEVICE void send_tile(const window_job &job, const window_mark &mark, ROOM &room, int stage,
                          int lane, const FIND &find)
{
    window_tile &tile = room.tile[stage];
    if (lane < GSA_WINDOW_TILE) {
        tile.a[lane] = tile.b[lane] = NULL;
        tile.mask[lane] = mark.mask, tile.edge[lane] = mark.edge, tile.column[lane] = mark.column;
        if (mark.column >= 0) find(tile);
    }
    __syncwarp();
    send_vectors<E>(room.a[stage], tile.a, job.dim, job.wide, lane);
    send_vectors<E>(room.b[stage], tile.b, job.dim, job.wide, lane);
}

/* Tiles in their order; what the caller sent before comes with the first. ready(): it is there, and
 * whether this lane saw too large a number in it. use(tile, a, b, large): by the whole warp. */
template <class E, class ROOM, class FIND, class READY, class USE>
GSA_DEVICE void walk_columns(const window_job &job, const window_item &at, ROOM &room, int lane,
                             const FIND &find, const READY &ready, const USE &use)
{
    enum { STAGES = ROOM::STAGES };
    bool large_row = false;
    int stage = 0;
    window_mark mark = find_mark(job, at.column, at.last, lane);
    __syncwarp();
    send_tile<E>(job, mark, room, stage, lane, find);
    mark = find_mark(job, at.column + GSA_WINDOW_TILE, at.last, lane);
    if (STAGES > 1) gsa_copies_close();
    for (int64_t column = at.column; column < at.last; column += GSA_WINDOW_TILE) {
        const bool more = column + GSA_WINDOW_TILE < at.last;
        const int next = (stage + 1) % STAGES;
        if (STAGES > 1 && more) {
            send_tile<E>(job, mark, room, next, lane, find);
            mark = find_mark(job, column + 2 * GSA_WINDOW_TILE, at.last, lane);
        }
        gsa_copies_close();
        gsa_copies_wait<STAGES - 1>();
        __syncwarp();
        if (column == at.column) large_row = ready();
        const bool large =
            large_row || saw_large<E>(room.a[stage], lane) || saw_large<E>(room.b[stage], lane);
        use(room.tile[stage], room.a[stage], room.b[stage], __any_sync(GSA_ALL_LANES, large) != 0);
        __syncwarp();
        if (STAGES == 1 && more) {
            send_tile<E>(job, mark, room, next, lane, find);
            mark = find_mark(job, column + 2 * GSA_WINDOW_TILE, at.last, lane);
        }
        stage = next;
    }
}

/* x = dots of the tile. */
template <class E>
GSA_DEVICE void window_dots(float x[E::ROWS][E::COLS], const typename E::T *a,
                            const typename E::T *b, int dim, bool large, int lane)
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
                x[r][c] += window_storage<typename E::T>::get(a + E::row(lane, r) * E::STRIDE + i) *
                           window_storage<typename E::T>::get(b + E::col(lane, c) * E::STRIDE + i);
        }
    }
}

/* acc += W B; with numbers that are not finite only inside the mask. */
template <class E>
GSA_DEVICE void window_mix(float acc[E::ROWS][E::OUTS], const float *w, const typename E::T *b,
                           const uint32_t *mask, int dim, bool large, int lane)
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
            for (int o = 0; o < E::OUTS; o++)
                acc[r][o] +=
                    x * window_storage<typename E::T>::get(b + c * E::STRIDE + E::out(lane, o));
        }
    }
}

typedef struct window_cell {
    bool there;
    int32_t label;
    float factor;
} window_cell;

/* Does row r of the window read column c; `row` and its key: for dropout. */
GSA_DEVICE window_cell find_cell(const window_job &job, const window_tile &tile, int r, int c,
                                 int64_t row, int head)
{
    const uint32_t mask = tile.mask[c];
    window_cell cell = { (mask >> r & 1) != 0, 0, 1.0f };
    if (!cell.there) return cell;
    const int64_t at = tile.edge[c] + __popc(mask & ((1u << r) - 1));
    if (job.table || job.bias) cell.label = __ldg(job.w.label + at);
    if (job.drop.on)
        cell.factor = gsa_drop_edge(job.drop, row, (uint32_t)__ldg(job.w.place + at), head);
    return cell;
}

GSA_DEVICE float window_score(const window_job &job, float dot, int32_t label, int64_t row,
                              int head)
{
    if (job.table) dot += __ldg(job.table + (row * job.heads + head) * job.labels + label);
    const float s = job.scale * dot;
    return job.bias ? s + __ldg(job.bias + (int64_t)label * job.heads + head) : s;
}

/* The columns of one row, two at a time: to = x, or += x. */
template <class E>
GSA_DEVICE void store_outs(float *to, const float *x, int dim, int wide, bool add, int lane)
{
    GSA_UNROLL
    for (int o = 0; o < E::OUTS; o += 2) {
        const int c = E::out(lane, o);
        float *const at = to + c;
        if (wide >= 2) {
            if (c >= dim) continue;
            const float2 old = add ? *(const float2 *)at : make_float2(0, 0);
            *(float2 *)at = make_float2(old.x + x[o], old.y + x[o + 1]);
        } else {
            GSA_UNROLL
            for (int i = 0; i < 2; i++)
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
