/* attend_forward.cu - one pass over a row's edges with a running maximum and sum (online softmax:
 * Milakov, Gimelshein 2018).
 *
 *   s_e = scale q.(k_e + r_l) + b_l;  o = sum m_e p_e v_e;  lse = log sum exp s
 *
 * A piece of a hub leaves (maximum, sum) and its undivided o; attend_ops.cu merges the pieces of a
 * row in their order. */
#define GSA_ATTEND_DEVICE 1
#include "kernels/cuda/attend.h"
#include <float.h>

/* Running softmax of one group. `top` starts at the least finite float, so that rows of -inf alone
 * sum up to 0. */
template <class S> struct forward_state {
    float top, sum, o[S::N];
};

/* UNROLL edges from i on, of `left` that the window has. Keys and values are requested together. */
template <class S>
GSA_DEVICE void absorb_edges(const attend_job &job, forward_state<S> &state, const float *q, int i,
                             int left, int j, const attend_slot *slot, const typename S::note *note)
{
    float k[S::UNROLL][S::N], v[S::UNROLL][S::N];
    float score[S::UNROLL], top = state.top;
    GSA_UNROLL
    for (int u = 0; u < S::UNROLL; u++) {
        load_head<S>(k[u], slot[i + u].a, job.dim, j, true);
        load_head<S>(v[u], slot[i + u].b, job.dim, j, true);
    }
    GSA_UNROLL
    for (int u = 0; u < S::UNROLL; u++) {
        const float s = score_of<S>(job, dot<S>(q, k[u]), note[i + u].rest);
        score[u] = i + u < left ? s : -INFINITY;
        top = fmaxf(top, score[u]);
    }
    const float shrink = gsa_exp2(state.top - top);
    state.top = top;
    state.sum *= shrink;
    GSA_UNROLL
    for (int n = 0; n < S::N; n++) state.o[n] *= shrink;
    GSA_UNROLL
    for (int u = 0; u < S::UNROLL; u++) {
        const float p = gsa_exp2(score[u] - top), kept = p * note[i + u].factor;
        state.sum += p;
        GSA_UNROLL
        for (int n = 0; n < S::N; n++) state.o[n] += kept * v[u][n];
    }
}

template <class S>
GSA_DEVICE void store_result(const attend_job &job, const attend_item &at, forward_state<S> &state,
                             int j)
{
    if (!at.live) return;
    if (at.pieced) {
        const int64_t to = piece_head(job, at);
        store_head<S>(job.part + to * job.dim, state.o, job.dim, j);
        if (j == 0) job.state[to] = make_float2(state.top, state.sum);
        return;
    }
    const float share = state.sum == 0 ? 0 : 1 / state.sum;
    GSA_UNROLL
    for (int n = 0; n < S::N; n++) state.o[n] *= share;
    store_head<S>(job.out + at.row * job.width + (int64_t)at.head * job.dim, state.o, job.dim, j);
    if (j == 0)
        job.lse[at.row * job.heads + at.head] =
            state.sum == 0 ? -INFINITY : fmaf((float)GSA_LN2, state.top, logf(state.sum));
}

template <int V, int G, int C, int LEAN>
__global__ void __launch_bounds__(GSA_THREADS, GSA_FORWARD_BLOCKS(LEAN))
    attend_forward(GSA_ARGUMENT(attend_job) job)
{
    typedef attend_shape<V, G, C, LEAN> S;
    GSA_SHARED(attend_slot, slots, [GSA_THREADS]);
    GSA_SHARED(typename S::note, notes, [GSA_THREADS]);
    const int j = threadIdx.x % G, mine = threadIdx.x - j;
    const attend_item at = find_item<S>(job, job.edge_offset);
    float q[S::N];
    forward_state<S> state;
    state.top = -FLT_MAX, state.sum = 0;
    GSA_UNROLL
    for (int n = 0; n < S::N; n++) state.o[n] = 0;
    load_head<S>(q, job.q + at.row * job.width + (int64_t)at.head * job.dim, job.dim, j, at.live);
    const int64_t edge = first_edge(at, job.edge_offset);
    const int most = gsa_top_lanes(at.count);
    for (int base = 0; base < most; base += G) {
        fill_window<S>(job, at, edge, base, j, slots + mine, notes + mine);
        __syncwarp();
        const int end = min((int)G, most - base);
        GSA_NO_UNROLL
        for (int i = 0; i < end; i += S::UNROLL)
            absorb_edges<S>(job, state, q, i, at.count - base, j, slots + mine, notes + mine);
        __syncwarp();
    }
    /* found anew: nothing of it is in registers while edges are walked */
    store_result<S>(job, find_item<S>(job, job.edge_offset), state, j);
}

GSA_ATTEND_PASS(gsa_attend_forward_pass, "attend_forward", attend_forward)
