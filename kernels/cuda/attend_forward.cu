/* attend_forward.cu - one pass over a row's edges with a running maximum and sum (online softmax:
 * Milakov, Gimelshein 2018).
 *
 *   s_e = scale q.(k_e + r_l) + b_l;  o = sum m_e p_e v_e;  lse = log sum exp s
 *
 * A piece of a hub leaves (maximum, sum) and its undivided o; attend.cu merges the pieces of a row
 * in their order. */
#define GSA_ATTEND_DEVICE 1
#include "kernels/cuda/attend.h"
#include <float.h>

/* The scores of UNROLL edges of the window from i on; -inf where there is none. */
template <class S>
GSA_DEVICE void score_edges(const attend_job &job, const float *q, int head, int i, int j,
                            const attend_slot *slot, const attend_note *note, float *score)
{
    typename S::word packed[S::UNROLL][S::WORDS];
    GSA_UNROLL
    for (int u = 0; u < S::UNROLL; u++)
        load_edge<S>(packed[u], slot[i + u].a, job.dim, j, note[i + u].label >= 0);
    GSA_UNROLL
    for (int u = 0; u < S::UNROLL; u++) {
        const int label = note[i + u].label;
        float k[S::N];
        unpack<S>(k, packed[u]);
        if (job.r && label >= 0) add_label<S>(job, k, label, j);
        const float s =
            job.scale * gsa_sum_lanes(dot<S>(q, k), S::G) + label_bias(job, label, head);
        score[u] = label >= 0 ? s : -INFINITY;
    }
}

/* Running softmax of one group. `top` starts at the least finite float, so that rows of -inf alone
 * sum up to 0. */
template <class S> struct forward_state {
    float top, sum, o[S::N];
};

template <class S>
GSA_DEVICE void absorb_edges(const attend_job &job, forward_state<S> &state, const float *score,
                             int i, int j, const attend_slot *slot, const attend_note *note)
{
    typename S::word v[S::UNROLL][S::WORDS];
    float top = state.top;
    GSA_UNROLL
    for (int u = 0; u < S::UNROLL; u++)
        load_edge<S>(v[u], slot[i + u].b, job.dim, j, note[i + u].label >= 0);
    GSA_UNROLL
    for (int u = 0; u < S::UNROLL; u++) top = fmaxf(top, score[u]);
    const float shrink = __expf(state.top - top);
    state.top = top;
    state.sum *= shrink;
    GSA_UNROLL
    for (int n = 0; n < S::N; n++) state.o[n] *= shrink;
    GSA_UNROLL
    for (int u = 0; u < S::UNROLL; u++) {
        const float p = __expf(score[u] - top), kept = p * note[i + u].factor;
        state.sum += p;
        GSA_UNROLL
        for (int n = 0; n < S::N; n++) state.o[n] += kept * column_of<S>(v[u], n);
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
            state.sum == 0 ? -INFINITY : state.top + logf(state.sum);
}

template <class T, int V, int G, int C>
__global__ void __launch_bounds__(GSA_THREADS, GSA_FORWARD_BLOCKS)
    attend_forward(GSA_ARGUMENT(attend_job) job)
{
    typedef attend_shape<V, G, C, T> S;
    GSA_SHARED(attend_slot, slots, [GSA_THREADS]);
    GSA_SHARED(attend_note, notes, [GSA_THREADS]);
    const int j = threadIdx.x % G;
    attend_slot *slot = slots + (threadIdx.x - j);
    attend_note *note = notes + (threadIdx.x - j);
    const attend_item at =
        find_item(job, job.edge_offset, (int64_t)blockIdx.x * S::GROUPS + threadIdx.x / G);
    attend_cursor cursor = start_cursor(job, at);
    float q[S::N], score[S::UNROLL];
    forward_state<S> state;
    state.top = -FLT_MAX, state.sum = 0;
    GSA_UNROLL
    for (int n = 0; n < S::N; n++) state.o[n] = 0;
    load_row_head<S>(q, job.q + at.row * job.width + (int64_t)at.head * job.dim, job.dim, j,
                     at.live);
    const int most = gsa_max_lanes(at.count);
    for (int base = 0; base < most; base += G) {
        fill_window<S>(job, at, cursor, base, j, slot, note);
        __syncwarp();
        for (int i = 0; i < G && base + i < most; i += S::UNROLL) {
            score_edges<S>(job, q, at.head, i, j, slot, note, score);
            absorb_edges<S>(job, state, score, i, j, slot, note);
        }
        __syncwarp();
    }
    store_result<S>(job, at, state, j);
}

#define CHOICE(V, G, C)      { 0, V, G, C, attend_forward<float, V, G, C> },
#define CHOICE_BF16(V, G, C) { 1, V, G, C, attend_forward<gsa_bf16, V, G, C> },
static const attend_choice choices[] = { GSA_ATTEND_SHAPES(CHOICE)
                                             GSA_ATTEND_SHAPES_BF16(CHOICE_BF16) };

gsa_status gsa_attend_forward_pass(gsa_backend *b, const attend_job *job, int widest)
{
    return gsa_attend_launch(b, "attend_forward", choices, (int)(sizeof choices / sizeof *choices),
                             job, widest);
}
