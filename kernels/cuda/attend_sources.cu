/* attend_sources.cu - backward by source, over the transpose: dk and dv.
 *
 *   dk_v += scale sum ds_e q_u;  dv_v += sum m_e p_e do_u
 *       over the out-edges e = (v -> u), in the order of u, then k */
#define GSA_ATTEND_DEVICE 1
#include "kernels/cuda/attend.h"

typedef struct source_row { /* of an out-edge: lse (in powers of 2; +inf: p = 0) and D of its row */
    float lse, inner;
} source_row;

template <class S> struct source_state {
    float k[S::N], v[S::N], dk[S::N], dv[S::N];
};

/* Lane j's out-edge of the window; a = q, b = do of its row. */
template <class S>
GSA_DEVICE void fill_out_window(const attend_job &job, const attend_item &at, int64_t edge,
                                int base, int j, attend_slot *slot, source_row *of,
                                attend_note *note)
{
    attend_slot where = { job.zeros, job.zeros };
    attend_note what = { -1, 1.0f };
    source_row row_of = { INFINITY, 0 };
    if (base + j < at.count) {
        const int32_t *word = (const int32_t *)(job.out_edge + edge + base + j);
        const int64_t row = __ldg(word), offset = row * job.width + (int64_t)at.head * job.dim;
        where = attend_slot{ (const typename S::T *)job.edge_q + offset,
                             (const typename S::T *)job.edge_dout + offset };
        what.label = __ldg(word + 2);
        row_of.lse = (float)GSA_LOG2E * __ldg(job.kept_lse + row * job.heads + at.head);
        row_of.inner = __ldg((const float *)job.delta + row * job.heads + at.head);
        if (row_of.lse == -INFINITY) row_of.lse = INFINITY;
        if (!S::LEAN && job.drop.on)
            what.factor = gsa_drop_edge(job.drop, row, (uint32_t)__ldg(word + 1), at.head);
    }
    slot[j] = where, of[j] = row_of;
    if (!S::LEAN) note[j] = what;
}

template <class S>
GSA_DEVICE void add_edges(const attend_job &job, const attend_item &at, source_state<S> &state,
                          int i, int left, int j, const attend_slot *slot, const source_row *of,
                          const attend_note *note)
{
    typename S::word queries[S::UNROLL][S::WORDS], slopes[S::UNROLL][S::WORDS];
    GSA_UNROLL
    for (int u = 0; u < S::UNROLL; u++) {
        load_edge<S>(queries[u], slot[i + u].a, job.dim, j, i + u < left);
        load_edge<S>(slopes[u], slot[i + u].b, job.dim, j, i + u < left);
    }
    GSA_UNROLL
    for (int u = 0; u < S::UNROLL; u++) {
        const source_row row = of[i + u];
        const bool counts = row.lse != INFINITY;
        float k[S::N], q[S::N], dout[S::N];
        unpack<S>(q, queries[u]);
        unpack<S>(dout, slopes[u]);
        GSA_UNROLL
        for (int n = 0; n < S::N; n++) k[n] = state.k[n];
        if (!S::LEAN && job.r && i + u < left) add_label<S>(job, k, note[i + u].label, j);
        const float s = score_of<S>(job, dot<S>(q, k), note + i + u, at.head, row.lse);
        const float factor = S::LEAN ? 1 : note[i + u].factor;
        const float through = gsa_sum_lanes(dot<S>(dout, state.v), S::G) * factor;
        const float p = counts ? gsa_exp2(s) : 0, ds = counts ? p * (through - row.inner) : 0;
        GSA_UNROLL
        for (int n = 0; n < S::N; n++) {
            state.dk[n] += ds * q[n];
            state.dv[n] += p * factor * dout[n];
        }
    }
}

template <class S>
GSA_DEVICE void store_source(const attend_job &job, const attend_item &at, source_state<S> &state,
                             int kind, int64_t offset, int j)
{
    if (!at.live) return;
    GSA_UNROLL
    for (int n = 0; n < S::N; n++) state.dk[n] *= job.scale;
    if (job.pieced) {
        store_head<S>(job.part + at.number * job.dim, state.dk, job.dim, j);
        store_head<S>(job.part2 + at.number * job.dim, state.dv, job.dim, j);
        return;
    }
    float *const dk = GSA_OF_KIND(job.kinds, kind, dk), *const dv =
                                                            GSA_OF_KIND(job.kinds, kind, dv);
    if (dk && job.set_dk >> kind & 1) store_head<S>(dk + offset, state.dk, job.dim, j);
    else if (dk) add_head<S>(dk + offset, state.dk, job.dim, j);
    if (dv && job.set_dv >> kind & 1) store_head<S>(dv + offset, state.dv, job.dim, j);
    else if (dv) add_head<S>(dv + offset, state.dv, job.dim, j);
}

template <class S>
GSA_DEVICE void load_source(source_state<S> &state, const void *k, const void *v, int64_t offset,
                            int dim, int j, bool there)
{
    typename S::word packed[S::WORDS];
    load_edge<S>(packed, (const typename S::T *)k + offset, dim, j, there);
    unpack<S>(state.k, packed);
    load_edge<S>(packed, (const typename S::T *)v + offset, dim, j, there);
    unpack<S>(state.v, packed);
    GSA_UNROLL
    for (int n = 0; n < S::N; n++) state.dk[n] = state.dv[n] = 0;
}

template <class T, int V, int G, int C, int LEAN>
__global__ void __launch_bounds__(GSA_THREADS, LEAN ? GSA_LEAN_SOURCES_BLOCKS : GSA_SOURCES_BLOCKS)
    attend_sources(GSA_ARGUMENT(attend_job) job)
{
    typedef attend_shape<V, G, C, T, LEAN> S;
    GSA_SHARED(attend_slot, slots, [GSA_THREADS]);
    GSA_SHARED(source_row, rows, [GSA_THREADS]);
    GSA_SHARED(attend_note, notes, [LEAN ? 1 : GSA_THREADS]);
    const int j = threadIdx.x % G, mine = threadIdx.x - j;
    attend_note *const note = notes + (LEAN ? 0 : mine);
    attend_item at = find_item<S>(job, job.out_offset);
    const int kind = gsa_kind_of(job.kinds, at.row);
    if (GSA_OF_KIND(job.kinds, kind, dk) == NULL && GSA_OF_KIND(job.kinds, kind, dv) == NULL)
        at.live = false, at.count = 0; /* not wanted, or another launch's */
    const int64_t offset =
        (at.row - GSA_OF_KIND(job.kinds, kind, first)) * job.width + (int64_t)at.head * job.dim;
    const int64_t edge = first_edge(at, job.out_offset);
    source_state<S> state;
    load_source<S>(state, GSA_OF_KIND(job.kinds, kind, k), GSA_OF_KIND(job.kinds, kind, v), offset,
                   job.dim, j, at.live);
    const int most = gsa_max_lanes(at.count);
    for (int base = 0; base < most; base += G) {
        fill_out_window<S>(job, at, edge, base, j, slots + mine, rows + mine, note);
        __syncwarp();
        for (int i = 0; i < G && base + i < most; i += S::UNROLL)
            add_edges<S>(job, at, state, i, at.count - base, j, slots + mine, rows + mine, note);
        __syncwarp();
    }
    store_source<S>(job, at, state, kind, offset, j);
}

GSA_ATTEND_PASS(gsa_attend_sources_pass, "attend_backward", attend_sources)
