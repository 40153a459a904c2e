/* attend_window_rows.cu - a window's backward pass by destination: dq, D = do.o, sums of ds by label; equations in attend_rows.cu.
 *
 * dq = scale sum ds (k + r): the label's part is a product of the row's sums by label with the table of vectors, so labels are
 * one more row of tiles behind the columns. */
#define GSA_ATTEND_DEVICE 1
#include "kernels/cuda/attend_window.h"

typedef struct window_rows { /* what the rows bring */
    float lse[GSA_WINDOW_ROWS], inner[GSA_WINDOW_ROWS];
} window_rows;

/* Eight lanes a row; dout stands in shared memory. */
GSA_DEVICE void find_inner(const window_job &job, const window_item &at, const float *dout, int stride, window_rows &rows,
                           int lane)
{
    GSA_UNROLL
    for (int r = lane / 8; r < GSA_WINDOW_ROWS; r += 4) {
        const int64_t item = (at.first_row + r) * job.heads + at.head;
        float inner = 0;
        for (int c = lane % 8; r < at.rows && c < job.dim; c += 8)
            inner += dout[r * stride + c] * __ldg(job.kept_out + item * job.dim + c);
        inner = gsa_sum_lanes(inner, 8);
        if (lane % 8 > 0) continue;
        rows.inner[r] = inner;
        rows.lse[r] = r < at.rows ? __ldg(job.kept_lse + item) : -INFINITY;
        if (r < at.rows) job.delta[item] = inner;
    }
}

/* ds into W. */
template <class E>
GSA_DEVICE void slope_cells(const window_job &job, const window_item &at, const window_tile &tile, const window_rows &rows,
                            float x[E::ROWS][E::COLS], float through[E::ROWS][E::COLS], float *w, int lane)
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
GSA_DEVICE void sum_labels(const window_job &job, const window_item &at, const window_tile &tile, const float *w, int lane)
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

/* dq += sums by label times their vectors; a label that a row did not read stands outside the mask. */
template <class E>
GSA_DEVICE void mix_labels(const window_job &job, const window_item &at, window_tile &tile, float dq[E::ROWS][E::OUTS],
                           float *w, float *r_tile, int lane)
{
    for (int32_t first = 0; first < job.labels; first += GSA_WINDOW_TILE) {
        __syncwarp();
        for (int i = lane; i < GSA_WINDOW_ROWS * GSA_WINDOW_TILE; i += GSA_WARP) {
            const int r = i / GSA_WINDOW_TILE, c = i % GSA_WINDOW_TILE;
            const bool there = r < at.rows && first + c < job.labels;
            w[E::at(r, c)] = there ? sums_of(job, at.first_row + r, at.head)[first + c] : 0;
        }
        if (lane < GSA_WINDOW_TILE)
            tile.a[lane] = first + lane < job.labels ? job.r + (int64_t)(first + lane) * job.dim : NULL;
        __syncwarp();
        uint32_t mask = 0;
        for (int r = 0; r < GSA_WINDOW_ROWS && lane < GSA_WINDOW_TILE; r++) mask |= (uint32_t)(w[E::at(r, lane)] != 0) << r;
        if (lane < GSA_WINDOW_TILE) tile.mask[lane] = mask;
        if (!__any_sync(GSA_ALL_LANES, mask != 0)) continue;
        const bool large_r = stage<E>(r_tile, tile.a, job.dim, job.wide, lane), large = __any_sync(GSA_ALL_LANES, large_r);
        __syncwarp();
        window_mix<E>(dq, w, r_tile, tile.mask, job.dim, large, lane);
    }
}

template <class E>
GSA_DEVICE void store_rows(const window_job &job, const window_item &at, float dq[E::ROWS][E::OUTS], int lane)
{
    GSA_UNROLL
    for (int r = 0; r < E::ROWS; r++) {
        const int64_t row = at.first_row + E::row(lane, r);
        if (row >= job.items) continue;
        GSA_UNROLL
        for (int o = 0; o < E::OUTS; o++) dq[r][o] *= job.scale;
        store_outs<E>(job.dq + row * job.width + (int64_t)at.head * job.dim, dq[r], job.dim, job.wide, true, lane);
    }
}

/* Both vectors of each row, and what is known of it. Whether a number is too large. */
template <class E>
GSA_DEVICE bool load_rows(const window_job &job, const window_item &at, window_tile &tile, float *q, float *dout,
                          window_rows &rows, int lane)
{
    if (lane < GSA_WINDOW_ROWS) {
        const int64_t offset = (at.first_row + lane) * job.width + (int64_t)at.head * job.dim;
        tile.a[lane] = lane < at.rows ? job.q + offset : NULL;
        tile.b[lane] = lane < at.rows ? job.dout + offset : NULL;
    }
    __syncwarp();
    const bool large_q = stage<E>(q, tile.a, job.dim, job.wide, lane),
               large_dout = stage<E>(dout, tile.b, job.dim, job.wide, lane);
    __syncwarp();
    find_inner(job, at, dout, E::STRIDE, rows, lane);
    return large_q || large_dout;
}

template <class E> __global__ void __launch_bounds__(GSA_WARP) window_backward(GSA_ARGUMENT(window_job) job)
{
    GSA_SHARED(float4, room_q, [GSA_WINDOW_ROWS * E::STRIDE / 4]);
    GSA_SHARED(float4, room_dout, [GSA_WINDOW_ROWS * E::STRIDE / 4]);
    GSA_SHARED(float4, room_k, [GSA_WINDOW_TILE * E::STRIDE / 4]);
    GSA_SHARED(float4, room_v, [GSA_WINDOW_TILE * E::STRIDE / 4]);
    GSA_SHARED(float4, room_w, [GSA_WINDOW_ROWS * WINDOW_W / 4]);
    GSA_SHARED(window_tile, tile, [1]);
    GSA_SHARED(window_rows, rows, [1]);
    float *const q = (float *)room_q, *const dout = (float *)room_dout, *const k = (float *)room_k,
                 *const v = (float *)room_v, *const w = (float *)room_w;
    const int lane = threadIdx.x;
    window_item at;
    float dq[E::ROWS][E::OUTS];
    if (!find_window(job, E::WAY, at)) return;
    const bool large_row = load_rows<E>(job, at, *tile, q, dout, *rows, lane);
    clear_outs<E>(dq);
    for (; at.column < at.last; at.column += GSA_WINDOW_TILE) {
        float x[E::ROWS][E::COLS], through[E::ROWS][E::COLS];
        __syncwarp();
        find_column(job, at, *tile, lane);
        if (lane < GSA_WINDOW_TILE && tile->column[lane] >= 0)
            find_source(job, tile->column[lane], at.head, &tile->a[lane], &tile->b[lane]);
        __syncwarp();
        const bool large_k = stage<E>(k, tile->a, job.dim, job.wide, lane),
                   large_v = stage<E>(v, tile->b, job.dim, job.wide, lane);
        const bool large = __any_sync(GSA_ALL_LANES, large_row || large_k || large_v);
        __syncwarp();
        window_dots<E>(x, q, k, job.dim, large, lane);
        window_dots<E>(through, dout, v, job.dim, large, lane);
        slope_cells<E>(job, at, *tile, *rows, x, through, w, lane);
        __syncwarp();
        if (job.label_sum) sum_labels<E>(job, at, *tile, w, lane);
        if (job.dq) window_mix<E>(dq, w, k, tile->mask, job.dim, large, lane);
    }
    if (job.dq == NULL) return;
    if (job.r) mix_labels<E>(job, at, *tile, dq, w, k, lane);
    store_rows<E>(job, at, dq, lane);
}

#define CHOICE(D)                                                                                                           \
    { D, window_backward<window_plain<D>>, window_backward<window_tensor<D, 3>>, window_backward<window_tensor<D, 1>> },
extern const window_choice gsa_window_rows_choices[3] = { GSA_WINDOW_SHAPES(CHOICE) };
