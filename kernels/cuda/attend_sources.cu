/* attend_sources.cu - backward by source, over the transpose: dk and dv.
 *
 *   dk_v += scale sum ds_e q_u;  dv_v += sum m_e p_e do_u
 *       over the out-edges e = (v -> u), in the order of u, then k
 *
 * m p and ds are as the pass by destination left them. */
#define GSA_ATTEND_DEVICE 1
#include "kernels/cuda/attend.h"

template <class S> struct source_state {
    float dk[S::N], dv[S::N];
};

/* Without those that are not wanted, or another launch's. */
template <class S> GSA_DEVICE attend_item find_wanted(const attend_job &job)
{
    attend_item at = find_item<S>(job, job.out_offset);
    const int kind = gsa_kind_of(job.kinds, at.row);
    if (GSA_OF_KIND(job.kinds, kind, dk) == NULL && GSA_OF_KIND(job.kinds, kind, dv) == NULL)
        at.live = false, at.count = 0;
    return at;
}

/* Lane j's out-edge of the window; a = q, b = do of its row. */
GSA_DEVICE void fill_out_window(const attend_job &job, const attend_item &at, int64_t edge,
                                int base, int j, attend_slot *slot, float2 *slopes)
{
    attend_slot where = { job.zeros, job.zeros };
    float2 what = make_float2(0, 0);
    if (base + j < at.count) {
        const int32_t *word = (const int32_t *)(job.out_edge + edge + base + j);
        const int64_t row = __ldg(word), offset = row * job.width + (int64_t)at.head * job.dim,
                      in = __ldg(job.edge_offset + row) + __ldg(word + 1);
        where = attend_slot{ job.q + offset, job.dout + offset };
        what = __ldg(job.slopes + (at.head - job.slope_first) * job.edges + in);
    }
    slot[j] = where, slopes[j] = what;
}

template <class S>
GSA_DEVICE void add_edges(const attend_job &job, source_state<S> &state, int i, int j,
                          const attend_slot *slot, const float2 *slopes)
{
    float q[S::UNROLL][S::N], dout[S::UNROLL][S::N];
    GSA_UNROLL
    for (int u = 0; u < S::UNROLL; u++) {
        load_head<S>(q[u], slot[i + u].a, job.dim, j, true);
        load_head<S>(dout[u], slot[i + u].b, job.dim, j, true);
    }
    GSA_UNROLL
    for (int u = 0; u < S::UNROLL; u++) {
        const float2 of = slopes[i + u];
        GSA_UNROLL
        for (int n = 0; n < S::N; n++) {
            state.dk[n] += of.y * q[u][n];
            state.dv[n] += of.x * dout[u][n];
        }
    }
}

template <class S>
GSA_DEVICE void store_source(const attend_job &job, const attend_item &at, source_state<S> &state,
                             int j)
{
    if (!at.live) return;
    const int kind = gsa_kind_of(job.kinds, at.row);
    GSA_UNROLL
    for (int n = 0; n < S::N; n++) state.dk[n] *= job.scale;
    if (at.pieced) {
        store_head<S>(job.part + piece_head(job, at) * job.dim, state.dk, job.dim, j);
        store_head<S>(job.part2 + piece_head(job, at) * job.dim, state.dv, job.dim, j);
        return;
    }
    const int64_t offset =
        (at.row - GSA_OF_KIND(job.kinds, kind, first)) * job.width + (int64_t)at.head * job.dim;
    float *const dk = GSA_OF_KIND(job.kinds, kind, dk), *const dv =
                                                            GSA_OF_KIND(job.kinds, kind, dv);
    if (dk && job.set_dk >> kind & 1) store_head<S>(dk + offset, state.dk, job.dim, j);
    else if (dk) add_head<S>(dk + offset, state.dk, job.dim, j);
    if (dv && job.set_dv >> kind & 1) store_head<S>(dv + offset, state.dv, job.dim, j);
    else if (dv) add_head<S>(dv + offset, state.dv, job.dim, j);
}

template <int V, int G, int C, int LEAN>
__global__ void __launch_bounds__(GSA_THREADS, GSA_SOURCES_BLOCKS(LEAN))
    attend_sources(GSA_ARGUMENT(attend_job) job)
{
    typedef attend_shape<V, G, C, LEAN> S;
    GSA_SHARED(attend_slot, slots, [GSA_THREADS]);
    GSA_SHARED(float2, slopes, [GSA_THREADS]);
    const int j = threadIdx.x % G, mine = threadIdx.x - j;
    const attend_item at = find_wanted<S>(job);
    const int64_t edge = first_edge(at, job.out_offset);
    source_state<S> state;
    GSA_UNROLL
    for (int n = 0; n < S::N; n++) state.dk[n] = state.dv[n] = 0;
    const int most = gsa_top_lanes(at.count);
    for (int base = 0; base < most; base += G) {
        fill_out_window(job, at, edge, base, j, slots + mine, slopes + mine);
        __syncwarp();
        const int end = min((int)G, most - base);
        GSA_NO_UNROLL
        for (int i = 0; i < end; i += S::UNROLL)
            add_edges<S>(job, state, i, j, slots + mine, slopes + mine);
        __syncwarp();
    }
    /* found anew: nothing of it is in registers while edges are walked */
    store_source<S>(job, find_wanted<S>(job), state, j);
}

GSA_ATTEND_PASS(gsa_attend_sources_pass, "attend_backward", attend_sources)
