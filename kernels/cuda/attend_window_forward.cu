/* attend_window_forward.cu - a window's online softmax: o and lse of 16 rows, a tile of 16 columns
 * at a time. */
#define GSA_ATTEND_DEVICE 1
#include "kernels/cuda/attend_window.h"
#include <float.h>

/* Running softmax of the lane's rows; every lane that shares a row has the same. */
template <class E> struct window_state {
    float top[E::ROWS], sum[E::ROWS], o[E::ROWS][E::OUTS];
};

/* The sum and the largest over the lanes that share a row. */
template <class E> GSA_DEVICE float top_of_row(float x)
{
    GSA_UNROLL
    for (int step = E::LANES / 2; step > 0; step >>= 1)
        x = fmaxf(x, __shfl_xor_sync(GSA_ALL_LANES, x, step));
    return x;
}

template <class E>
GSA_DEVICE void score_cells(const window_job &job, const window_item &at, const window_tile &tile,
                            float x[E::ROWS][E::COLS], float factor[E::ROWS][E::COLS], int lane)
{
    GSA_UNROLL
    for (int r = 0; r < E::ROWS; r++) {
        const int64_t row = at.first_row + E::row(lane, r);
        GSA_UNROLL
        for (int c = 0; c < E::COLS; c++) {
            const window_cell cell =
                find_cell(job, tile, E::row(lane, r), E::col(lane, c), row, at.head);
            x[r][c] = cell.there ? window_score(job, x[r][c], cell.label, row, at.head) : -INFINITY;
            factor[r][c] = cell.factor;
        }
    }
}

/* Weights m p into W; what is in the state shrinks where the maximum rises. */
template <class E>
GSA_DEVICE void absorb_scores(window_state<E> &state, float x[E::ROWS][E::COLS],
                              const float factor[E::ROWS][E::COLS], float *w, int lane)
{
    GSA_UNROLL
    for (int r = 0; r < E::ROWS; r++) {
        float top = state.top[r], sum = 0;
        GSA_UNROLL
        for (int c = 0; c < E::COLS; c++) top = fmaxf(top, x[r][c]);
        top = top_of_row<E>(top);
        const float shrink = __expf(state.top[r] - top);
        GSA_UNROLL
        for (int c = 0; c < E::COLS; c++) {
            const float p = __expf(x[r][c] - top);
            sum += p;
            w[E::at(E::row(lane, r), E::col(lane, c))] = p * factor[r][c];
        }
        state.top[r] = top;
        state.sum[r] = state.sum[r] * shrink + gsa_sum_lanes(sum, E::LANES);
        GSA_UNROLL
        for (int o = 0; o < E::OUTS; o++) state.o[r][o] *= shrink;
    }
}

template <class E>
GSA_DEVICE void store_rows(const window_job &job, const window_item &at, window_state<E> &state,
                           int lane)
{
    GSA_UNROLL
    for (int r = 0; r < E::ROWS; r++) {
        const int64_t row = at.first_row + E::row(lane, r);
        if (row >= job.items) continue;
        const float share = state.sum[r] == 0 ? 0 : 1 / state.sum[r];
        GSA_UNROLL
        for (int o = 0; o < E::OUTS; o++) state.o[r][o] *= share;
        store_outs<E>(job.out + row * job.width + (int64_t)at.head * job.dim, state.o[r], job.dim,
                      job.wide_out, false, lane);
        if (lane % E::LANES == 0)
            job.lse[row * job.heads + at.head] =
                state.sum[r] == 0 ? -INFINITY : state.top[r] + logf(state.sum[r]);
    }
}

template <class E>
__global__ void __launch_bounds__(GSA_WARP) window_forward(GSA_ARGUMENT(window_job) job)
{
    typedef typename E::T T;
    typedef window_room<E, 1> room_of_columns;
    GSA_SHARED(float4, room_q, [GSA_WINDOW_ROWS * E::STRIDE * sizeof(T) / 16]);
    GSA_SHARED(float4, room_w, [GSA_WINDOW_ROWS * WINDOW_W / 4]);
    GSA_SHARED(room_of_columns, room, [1]);
    T *const q = (T *)room_q;
    float *const w = (float *)room_w;
    const int lane = threadIdx.x;
    window_item at;
    if (!find_window(job, at)) return;
    if (lane < GSA_WINDOW_ROWS)
        room->tile->a[lane] =
            lane < at.rows
                ? (const T *)job.q + (at.first_row + lane) * job.width + (int64_t)at.head * job.dim
                : NULL;
    __syncwarp();
    send_vectors<E>(q, room->tile->a, job.dim, job.wide, lane);
    window_state<E> state;
    clear_outs<E>(state.o);
    GSA_UNROLL
    for (int r = 0; r < E::ROWS; r++) state.top[r] = -FLT_MAX, state.sum[r] = 0;
    walk_columns<E>(
        job, at, *room, lane,
        [&](window_tile &tile) {
            find_source<T>(job, tile.column[lane], at.head, &tile.a[lane], &tile.b[lane]);
        },
        [&] { return saw_large<E>(q, lane); },
        [&](const window_tile &tile, const T *k, const T *v, bool large) {
            float x[E::ROWS][E::COLS], factor[E::ROWS][E::COLS];
            window_dots<E>(x, q, k, job.dim, large, lane);
            score_cells<E>(job, at, tile, x, factor, lane);
            absorb_scores<E>(state, x, factor, w, lane);
            __syncwarp();
            window_mix<E>(state.o, w, v, tile.mask, job.dim, large, lane);
        });
    store_rows<E>(job, at, state, lane);
}

#define CHOICE(D) { D, window_forward<window_tensor<D, 1>>, window_forward<window_bf16<D>> },
extern const window_choice gsa_window_forward_choices[3] = { GSA_WINDOW_SHAPES(CHOICE) };
