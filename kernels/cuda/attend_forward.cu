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
GSA_DEVICE void absorb_edges(const attend_job &job, forward_state<S> &state, const float *q,
                             int head, int i, int left, int j, const attend_slot *slot,
                             const attend_note *note)
{
    typename S::word keys[S::UNROLL][S::WORDS], values[S::UNROLL][S::WORDS];
    float score[S::UNROLL], top = state.top;
    GSA_UNROLL
    for (int u = 0; u < S::UNROLL; u++) {
        load_edge<S>(keys[u], slot[i + u].a, job.dim, j, i + u < left);
        load_edge<S>(values[u], slot[i + u].b, job.dim, j, i + u < left);
    }
    GSA_UNROLL
    for (int u = 0; u < S::UNROLL; u++) {
        float k[S::N];
        unpack<S>(k, keys[u]);
        if (!S::LEAN && job.r && i + u < left) add_label<S>(job, k, note[i + u].label, j);
        const float s = score_of<S>(job, dot<S>(q, k), note + i + u, head, 0);
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
        const float p = gsa_exp2(score[u] - top), kept = S::LEAN ? p : p * note[i + u].factor;
        state.sum += p;
        GSA_UNROLL
        for (int n = 0; n < S::N; n++) state.o[n] += kept * column_of<S>(values[u], n);
    }
}

template <class S>
GSA_DEVICE void store_result(const attend_job &job, const attend_item &at, forward_state<S> &state,
                             int j)
{
    if (!at.live) return;
    if (job.pieced) {
        store_head<S>(job.part + at.number * job.dim, state.o, job.dim, j);
        if (j == 0) job.state[at.number] = make_float2(state.top, state.sum);
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

template <class T, int V, int G, int C, int LEAN>
__global__ void __launch_bounds__(GSA_THREADS, LEAN ? GSA_LEAN_FORWARD_BLOCKS : GSA_FORWARD_BLOCKS)
    attend_forward(GSA_ARGUMENT(attend_job) job)
{
    typedef attend_shape<V, G, C, T, LEAN> S;
    GSA_SHARED(attend_slot, slots, [GSA_THREADS]);
    GSA_SHARED(attend_note, notes, [LEAN ? 1 : GSA_THREADS]);
    const int j = threadIdx.x % G, mine = threadIdx.x - j;
    attend_slot *slot = slots + mine;
    attend_note *note = notes + (LEAN ? 0 : mine);
    const attend_item at = find_item<S>(job, job.edge_offset);
    float q[S::N];
    forward_state<S> state;
    state.top = -FLT_MAX, state.sum = 0;
    GSA_UNROLL
    for (int n = 0; n < S::N; n++) state.o[n] = 0;
    load_row_head<S>(q, job.q + at.row * job.width + (int64_t)at.head * job.dim, job.dim, j,
                     at.live);
    const int64_t edge = first_edge(at, job.edge_offset);
    const int most = gsa_max_lanes(at.count);
    for (int base = 0; base < most; base += G) {
        fill_window<S>(job, at, edge, base, j, slot, note);
        __syncwarp();
        for (int i = 0; i < G && base + i < most; i += S::UNROLL)
            absorb_edges<S>(job, state, q, at.head, i, at.count - base, j, slot, note);
        __syncwarp();
    }
    store_result<S>(job, at, state, j);
}

GSA_ATTEND_PASS(gsa_attend_forward_pass, "attend_forward", attend_forward)
