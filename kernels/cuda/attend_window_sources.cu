/* attend_window_sources.cu - a window's backward pass by source: dk and dv of 16 sources, a tile of
 * 16 rows that read them at a time; equations in attend_sources.cu. */
#define GSA_ATTEND_DEVICE 1
#include "kernels/cuda/attend_window.h"

/* Lane c's row: its vectors; lse and D on their way. */
template <class T>
GSA_DEVICE void find_row(const window_job &job, const window_item &at, window_tile &tile, int lane)
{
    const int64_t row = tile.column[lane], item = row * job.heads + at.head;
    tile.a[lane] = (const T *)job.q + item * job.dim;
    tile.b[lane] = (const T *)job.dout + item * job.dim;
    gsa_copy<4>(&tile.lse[lane], job.kept_lse + item);
    gsa_copy<4>(&tile.inner[lane], job.delta + item);
}

/* scale ds into W, m p into P. */
template <class E>
GSA_DEVICE void weigh_cells(const window_job &job, const window_item &at, const window_tile &tile,
                            float x[E::ROWS][E::COLS], float through[E::ROWS][E::COLS], float *w,
                            float *p, int lane)
{
    GSA_UNROLL
    for (int c = 0; c < E::COLS; c++) {
        const int mine = E::col(lane, c);
        const int64_t row = tile.column[mine];
        GSA_UNROLL
        for (int r = 0; r < E::ROWS; r++) {
            const window_cell cell = find_cell(job, tile, E::row(lane, r), mine, row, at.head);
            float ds = 0, kept = 0;
            if (cell.there && tile.lse[mine] != -INFINITY) {
                const float weight =
                    __expf(window_score(job, x[r][c], cell.label, row, at.head) - tile.lse[mine]);
                ds = job.scale * weight * (through[r][c] * cell.factor - tile.inner[mine]);
                kept = weight * cell.factor;
            }
            w[E::at(E::row(lane, r), mine)] = ds;
            p[E::at(E::row(lane, r), mine)] = kept;
        }
    }
}

/* Only what this launch is to write: other kinds' gradients are not named. */
template <class E>
GSA_DEVICE void store_sources(const window_job &job, const window_item &at, bool keys,
                              float x[E::ROWS][E::OUTS], int lane)
{
    GSA_UNROLL
    for (int r = 0; r < E::ROWS; r++) {
        const int64_t source = at.first_row + E::row(lane, r);
        if (source >= job.items) continue;
        const int kind = gsa_kind_of(job.kinds, source);
        float *const plane =
            keys ? GSA_OF_KIND(job.kinds, kind, dk) : GSA_OF_KIND(job.kinds, kind, dv);
        if (plane == NULL) continue;
        const int64_t offset =
            (source - GSA_OF_KIND(job.kinds, kind, first)) * job.width + (int64_t)at.head * job.dim;
        store_outs<E>(plane + offset, x[r], job.dim, job.wide_out,
                      !((keys ? job.set_dk : job.set_dv) >> kind & 1), lane);
    }
}

template <class E>
__global__ void __launch_bounds__(GSA_WARP) window_sources(GSA_ARGUMENT(window_job) job)
{
    typedef typename E::T T;
    typedef window_room<E, 2> room_of_columns;
    GSA_SHARED(float4, room_k, [GSA_WINDOW_ROWS * E::STRIDE * sizeof(T) / 16]);
    GSA_SHARED(float4, room_v, [GSA_WINDOW_ROWS * E::STRIDE * sizeof(T) / 16]);
    GSA_SHARED(float4, room_w, [GSA_WINDOW_ROWS * WINDOW_W / 4]);
    GSA_SHARED(float4, room_p, [GSA_WINDOW_ROWS * WINDOW_W / 4]);
    GSA_SHARED(room_of_columns, room, [1]);
    T *const k = (T *)room_k, *const v = (T *)room_v;
    float *const w = (float *)room_w, *const p = (float *)room_p;
    const int lane = threadIdx.x;
    window_item at;
    float dk[E::ROWS][E::OUTS], dv[E::ROWS][E::OUTS];
    if (!find_window(job, at)) return;
    if (lane < GSA_WINDOW_ROWS) {
        window_tile &own = *room->tile;
        own.a[lane] = own.b[lane] = NULL;
        if (lane < at.rows)
            find_source<T>(job, at.first_row + lane, at.head, &own.a[lane], &own.b[lane]);
    }
    __syncwarp();
    send_vectors<E>(k, room->tile->a, job.dim, job.wide, lane);
    send_vectors<E>(v, room->tile->b, job.dim, job.wide, lane);
    clear_outs<E>(dk);
    clear_outs<E>(dv);
    walk_columns<E>(
        job, at, *room, lane, [&](window_tile &tile) { find_row<T>(job, at, tile, lane); },
        [&] { return saw_large<E>(k, lane) || saw_large<E>(v, lane); },
        [&](const window_tile &tile, const T *q, const T *dout, bool large) {
            float x[E::ROWS][E::COLS], through[E::ROWS][E::COLS];
            window_dots<E>(x, k, q, job.dim, large, lane);
            window_dots<E>(through, v, dout, job.dim, large, lane);
            weigh_cells<E>(job, at, tile, x, through, w, p, lane);
            __syncwarp();
            window_mix<E>(dk, w, q, tile.mask, job.dim, large, lane);
            window_mix<E>(dv, p, dout, tile.mask, job.dim, large, lane);
        });
    store_sources<E>(job, at, true, dk, lane);
    store_sources<E>(job, at, false, dv, lane);
}

#define CHOICE(D) { D, window_sources<window_tensor<D, 1>>, window_sources<window_bf16<D>> },
extern const window_choice gsa_window_sources_choices[3] = { GSA_WINDOW_SHAPES(CHOICE) };
