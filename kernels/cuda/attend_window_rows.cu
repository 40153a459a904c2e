/* attend_window_rows.cu - a window's backward pass by destination: dq, D = do.o, sums of ds by
 * label; equations in attend_rows.cu.
 *
 * dq = scale sum ds (k + r): the label's part is a product of the row's sums by label with the
 * table of vectors, so labels are one more row of tiles after the columns. */
#define GSA_ATTEND_DEVICE 1
#include "kernels/cuda/attend_window.h"

typedef struct window_rows { /* what the rows bring */
    float lse[GSA_WINDOW_ROWS], inner[GSA_WINDOW_ROWS];
} window_rows;

/* Eight lanes a row; dout is in shared memory. */
template <class E>
GSA_DEVICE void find_inner(const window_job &job, const window_item &at, const typename E::T *dout,
                           window_rows &rows, int lane)
{
    GSA_UNROLL
    for (int r = lane / 8; r < GSA_WINDOW_ROWS; r += 4) {
        const int64_t item = (at.first_row + r) * job.heads + at.head;
        float inner = 0;
        for (int c = lane % 8; r < at.rows && c < job.dim; c += 8)
            inner += window_storage<typename E::T>::get(dout + r * E::STRIDE + c) *
                     __ldg(job.kept_out + item * job.dim + c);
        inner = gsa_sum_lanes(inner, 8);
        if (lane % 8 > 0) continue;
        rows.inner[r] = inner;
        rows.lse[r] = r < at.rows ? __ldg(job.kept_lse + item) : -INFINITY;
        if (r < at.rows) job.delta[item] = inner;
    }
}

/* ds into W. */
template <class E>
GSA_DEVICE void slope_cells(const window_job &job, const window_item &at, const window_tile &tile,
                            const window_rows &rows, float x[E::ROWS][E::COLS],
                            float through[E::ROWS][E::COLS], float *w, int lane)
{
    GSA_UNROLL
    for (int r = 0; r < E::ROWS; r++) {
        const int mine = E::row(lane, r);
        const int64_t row = at.first_row + mine;
        const float lse = rows.lse[mine], inner = rows.inner[mine];
        GSA_UNROLL
        for (int c = 0; c < E::COLS; c++) {
            const window_cell cell = find_cell(job, tile, mine, E::col(lane, c), row, at.head);
            float ds = 0;
            if (cell.there && lse != -INFINITY)
                ds = __expf(window_score(job, x[r][c], cell.label, row, at.head) - lse) *
                     (through[r][c] * cell.factor - inner);
            w[E::at(mine, E::col(lane, c))] = ds;
        }
    }
}

GSA_DEVICE float *sums_of(const window_job &job, int64_t row, int head)
{
    return job.label_sum + (row * job.heads + head - job.first_item) * job.labels;
}

/* Two lanes a row, one for even labels and one for odd ones: one writer a sum, columns in order. */
template <class E>
GSA_DEVICE void sum_labels(const window_job &job, const window_item &at, const window_tile &tile,
                           const float *w, int lane)
{
    const int r = lane / 2;
    if (r >= at.rows) return;
    float *const sum = sums_of(job, at.first_row + r, at.head);
    for (int c = 0; c < GSA_WINDOW_TILE; c++) {
        const uint32_t mask = tile.mask[c];
        if (!(mask >> r & 1)) continue;
        const int32_t label = __ldg(job.w.label + tile.edge[c] + __popc(mask & ((1u << r) - 1)));
        if (label % 2 == lane % 2) sum[label] += w[E::at(r, c)];
    }
}

/* dq += sums by label times their vectors, which are floats; a label that a row did not read is
 * outside the mask. */
template <class E>
GSA_DEVICE void mix_labels(const window_job &job, const window_item &at, window_tile &tile,
                           float dq[E::ROWS][E::OUTS], float *w, float *r_tile, int lane)
{
    typedef typename E::labels L;
    for (int32_t first = 0; first < job.labels; first += GSA_WINDOW_TILE) {
        __syncwarp();
        for (int i = lane; i < GSA_WINDOW_ROWS * GSA_WINDOW_TILE; i += GSA_WARP) {
            const int r = i / GSA_WINDOW_TILE, c = i % GSA_WINDOW_TILE;
            const bool there = r < at.rows && first + c < job.labels;
            w[L::at(r, c)] = there ? sums_of(job, at.first_row + r, at.head)[first + c] : 0;
        }
        if (lane < GSA_WINDOW_TILE)
            tile.a[lane] =
                first + lane < job.labels ? job.r + (int64_t)(first + lane) * job.dim : NULL;
        __syncwarp();
        uint32_t mask = 0;
        for (int r = 0; r < GSA_WINDOW_ROWS && lane < GSA_WINDOW_TILE; r++)
            mask |= (uint32_t)(w[L::at(r, lane)] != 0) << r;
        if (lane < GSA_WINDOW_TILE) tile.mask[lane] = mask;
        if (!__any_sync(GSA_ALL_LANES, mask != 0)) continue;
        send_vectors<L>(r_tile, tile.a, job.dim, job.wide_out, lane);
        gsa_copies_close();
        gsa_copies_wait<0>();
        __syncwarp();
        const bool large = __any_sync(GSA_ALL_LANES, saw_large<L>(r_tile, lane));
        window_mix<L>(dq, w, r_tile, tile.mask, job.dim, large, lane);
    }
}

template <class E>
GSA_DEVICE void store_rows(const window_job &job, const window_item &at, float dq[E::ROWS][E::OUTS],
                           int lane)
{
    GSA_UNROLL
    for (int r = 0; r < E::ROWS; r++) {
        const int64_t row = at.first_row + E::row(lane, r);
        if (row >= job.items) continue;
        GSA_UNROLL
        for (int o = 0; o < E::OUTS; o++) dq[r][o] *= job.scale;
        store_outs<E>(job.dq + row * job.width + (int64_t)at.head * job.dim, dq[r], job.dim,
                      job.wide_out, !job.set_dq, lane);
    }
}

/* Both vectors of each row, on their way. */
template <class E>
GSA_DEVICE void send_rows(const window_job &job, const window_item &at, window_tile &tile,
                          typename E::T *q, typename E::T *dout, int lane)
{
    typedef typename E::T T;
    if (lane < GSA_WINDOW_ROWS) {
        const int64_t offset = (at.first_row + lane) * job.width + (int64_t)at.head * job.dim;
        tile.a[lane] = lane < at.rows ? (const T *)job.q + offset : NULL;
        tile.b[lane] = lane < at.rows ? (const T *)job.dout + offset : NULL;
    }
    __syncwarp();
    send_vectors<E>(q, tile.a, job.dim, job.wide, lane);
    send_vectors<E>(dout, tile.b, job.dim, job.wide, lane);
}

template <class E>
__global__ void __launch_bounds__(GSA_WARP) window_backward(GSA_ARGUMENT(window_job) job)
{
    typedef typename E::T T;
    typedef window_room<E, 2> room_of_columns;
    static_assert(sizeof(float) * GSA_WINDOW_TILE * E::labels::STRIDE <=
                      2 * sizeof room_of_columns().a[0],
                  "a tile of label vectors takes the place of the columns");
    GSA_SHARED(float4, room_q, [GSA_WINDOW_ROWS * E::STRIDE * sizeof(T) / 16]);
    GSA_SHARED(float4, room_dout, [GSA_WINDOW_ROWS * E::STRIDE * sizeof(T) / 16]);
    GSA_SHARED(float4, room_w, [GSA_WINDOW_ROWS * WINDOW_W / 4]);
    GSA_SHARED(room_of_columns, room, [1]);
    GSA_SHARED(window_rows, rows, [1]);
    T *const q = (T *)room_q, *const dout = (T *)room_dout;
    float *const w = (float *)room_w;
    const int lane = threadIdx.x;
    window_item at;
    float dq[E::ROWS][E::OUTS];
    if (!find_window(job, at)) return;
    send_rows<E>(job, at, *room->tile, q, dout, lane);
    clear_outs<E>(dq);
    walk_columns<E>(
        job, at, *room, lane,
        [&](window_tile &tile) {
            find_source<T>(job, tile.column[lane], at.head, &tile.a[lane], &tile.b[lane]);
        },
        [&] {
            find_inner<E>(job, at, dout, *rows, lane);
            __syncwarp();
            return saw_large<E>(q, lane) || saw_large<E>(dout, lane);
        },
        [&](const window_tile &tile, const T *k, const T *v, bool large) {
            float x[E::ROWS][E::COLS], through[E::ROWS][E::COLS];
            window_dots<E>(x, q, k, job.dim, large, lane);
            window_dots<E>(through, dout, v, job.dim, large, lane);
            slope_cells<E>(job, at, tile, *rows, x, through, w, lane);
            __syncwarp();
            if (job.label_sum) sum_labels<E>(job, at, tile, w, lane);
            if (job.dq) window_mix<E>(dq, w, k, tile.mask, job.dim, large, lane);
        });
    if (job.dq == NULL) return;
    if (job.r) mix_labels<E>(job, at, *room->tile, dq, w, (float *)(void *)room->a, lane);
    store_rows<E>(job, at, dq, lane);
}

#define CHOICE(D) { D, window_backward<window_tensor<D, 1>>, window_backward<window_bf16<D>> },
extern const window_choice gsa_window_rows_choices[3] = { GSA_WINDOW_SHAPES(CHOICE) };
