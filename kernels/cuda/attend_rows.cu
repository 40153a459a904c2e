/* attend_rows.cu - backward by destination: dq, the sums of ds by label, and D_u = do.o, which the
 * pass by source reads.
 *
 *   p_e = exp(s_e - lse);  ds_e = p_e (m_e do.v_e - D);  dq += scale sum ds_e (k_e + r_l)
 *
 * Label gradients: each item adds its ds up by label (label_sum, its own row of memory: no
 * conflict, one order); attend_ops.cu multiplies the sums with q, which gives dr, and adds up their
 * columns, which gives db. */
#define GSA_ATTEND_DEVICE 1
#include "kernels/cuda/attend.h"

/* What a group knows of its row. */
template <class S> struct row_state {
    float q[S::N], dout[S::N], dq[S::N], inner /* D */, lse /* in powers of 2 */;
};

template <class S>
GSA_DEVICE void load_row(const attend_job &job, const attend_item &at, row_state<S> &row, int j)
{
    const int64_t offset = at.row * job.width + (int64_t)at.head * job.dim;
    float out[S::N];
    load_row_head<S>(row.q, job.q + offset, job.dim, j, at.live);
    load_row_head<S>(row.dout, job.dout + offset, job.dim, j, at.live);
    load_head<S>(out, job.kept_out + offset, job.dim, j, at.live);
    row.inner = gsa_sum_lanes(dot<S>(row.dout, out), S::G);
    row.lse = at.live ? (float)GSA_LOG2E * __ldg(job.kept_lse + at.row * job.heads + at.head) : 0;
    if (at.live && j == 0 && at.first == 0) job.delta[at.row * job.heads + at.head] = row.inner;
    GSA_UNROLL
    for (int n = 0; n < S::N; n++) row.dq[n] = 0;
}

/* ds of UNROLL edges from i on, of `left` that the window has, for label sums into `slopes`; rows
 * of -inf alone have no gradient. */
template <class S>
GSA_DEVICE void slope_edges(const attend_job &job, const attend_item &at, row_state<S> &row, int i,
                            int left, int j, const attend_slot *slot, const attend_note *note,
                            float *slopes)
{
    typename S::word keys[S::UNROLL][S::WORDS], values[S::UNROLL][S::WORDS];
    GSA_UNROLL
    for (int u = 0; u < S::UNROLL; u++) {
        load_edge<S>(keys[u], slot[i + u].a, job.dim, j, i + u < left);
        load_edge<S>(values[u], slot[i + u].b, job.dim, j, i + u < left);
    }
    GSA_UNROLL
    for (int u = 0; u < S::UNROLL; u++) {
        const bool counts = i + u < left && row.lse != -INFINITY;
        float k[S::N], v[S::N];
        unpack<S>(k, keys[u]);
        unpack<S>(v, values[u]);
        if (!S::LEAN && job.r && i + u < left) add_label<S>(job, k, note[i + u].label, j);
        const float s = score_of<S>(job, dot<S>(row.q, k), note + i + u, at.head, row.lse);
        float through = gsa_sum_lanes(dot<S>(row.dout, v), S::G);
        if (!S::LEAN) through *= note[i + u].factor;
        const float ds = counts ? gsa_exp2(s) * (through - row.inner) : 0;
        GSA_UNROLL
        for (int n = 0; n < S::N; n++) row.dq[n] += ds * k[n];
        if (!S::LEAN && j == 0) slopes[i + u] = ds;
    }
}

/* Lane j owns the labels that are j modulo G, and has cleared them: one writer a sum, edges in
 * order. */
template <class S>
GSA_DEVICE void sum_labels(float *sum, int edges, int j, const attend_note *note,
                           const float *slopes)
{
    for (int e = 0; e < edges; e++)
        if (note[e].label % S::G == j) sum[note[e].label] += slopes[e];
}

/* An item of this launch, with edges here or without: is there memory for its sums? */
GSA_DEVICE bool has_sums(const attend_job &job, const attend_item &at)
{
    return at.number < job.items;
}

template <class S>
GSA_DEVICE void store_row(const attend_job &job, const attend_item &at, row_state<S> &row, int j)
{
    if (!S::LEAN && job.label_q && has_sums(job, at)) /* zeros where no edge is */
        store_head<S>(job.label_q + at.number * job.dim, row.q, job.dim, j);
    if (!at.live) return;
    GSA_UNROLL
    for (int n = 0; n < S::N; n++) row.dq[n] *= job.scale;
    if (job.pieced) {
        store_head<S>(job.part + at.number * job.dim, row.dq, job.dim, j);
    } else if (job.dq) {
        float *const to = job.dq + at.row * job.width + (int64_t)at.head * job.dim;
        if (job.set_dq) store_head<S>(to, row.dq, job.dim, j);
        else add_head<S>(to, row.dq, job.dim, j);
    }
}

template <class T, int V, int G, int C, int LEAN>
__global__ void __launch_bounds__(GSA_THREADS, LEAN ? GSA_LEAN_ROWS_BLOCKS : GSA_ROWS_BLOCKS)
    attend_rows(GSA_ARGUMENT(attend_job) job)
{
    typedef attend_shape<V, G, C, T, LEAN> S;
    enum { NOTES = LEAN ? 1 : GSA_THREADS };
    GSA_SHARED(attend_slot, slots, [GSA_THREADS]);
    GSA_SHARED(attend_note, notes, [NOTES]);
    GSA_SHARED(float, slopes, [NOTES]);
    const int j = threadIdx.x % G, mine = threadIdx.x - j, its = LEAN ? 0 : mine;
    const attend_item at = find_item<S>(job, job.edge_offset);
    row_state<S> row;
    load_row<S>(job, at, row, j);
    if (!LEAN && job.label_sum && has_sums(job, at))
        for (int l = j; l < job.labels; l += G) job.label_sum[at.number * job.labels + l] = 0;
    const int64_t edge = first_edge(at, job.edge_offset);
    const int most = gsa_max_lanes(at.count);
    for (int base = 0; base < most; base += G) {
        fill_window<S>(job, at, edge, base, j, slots + mine, notes + its);
        __syncwarp();
        for (int i = 0; i < G && base + i < most; i += S::UNROLL)
            slope_edges<S>(job, at, row, i, at.count - base, j, slots + mine, notes + its,
                           slopes + its);
        __syncwarp();
        if (!LEAN && job.label_sum) {
            sum_labels<S>(job.label_sum + at.number * job.labels, min((int)G, at.count - base), j,
                          notes + its, slopes + its);
            __syncwarp();
        }
    }
    /* found anew: nothing of it is in registers while edges are walked */
    store_row<S>(job, find_item<S>(job, job.edge_offset), row, j);
}

GSA_ATTEND_PASS(gsa_attend_rows_pass, "attend_backward", attend_rows)
