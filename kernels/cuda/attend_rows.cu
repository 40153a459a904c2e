/* attend_rows.cu - backward by destination: dq without labels, and of each edge the weight and the
 * slope, which the pass by source reads.
 *
 *   p_e = exp(s_e - lse);  ds_e = p_e (m_e do.v_e - do.o);  dq += scale sum ds_e k_e
 *
 * Labels: each item adds its ds up by label (in its own row of memory: no conflict, one order).
 * attend_ops.cu adds a hub's pieces up, multiplies the sums with q, which gives dr, and with r,
 * which is the rest of dq, and adds up their columns, which gives db. */
#define GSA_ATTEND_DEVICE 1
#include "kernels/cuda/attend.h"

/* What a group knows of its row. */
template <class S> struct row_state {
    float q[S::N], dout[S::N], dq[S::N], inner /* do.o */, lse /* in powers of 2 */;
};

template <class S>
GSA_DEVICE void load_row(const attend_job &job, const attend_item &at, row_state<S> &row, int j)
{
    const int64_t offset = at.row * job.width + (int64_t)at.head * job.dim;
    float out[S::N];
    load_head<S>(row.q, job.q + offset, job.dim, j, at.live);
    load_head<S>(row.dout, job.dout + offset, job.dim, j, at.live);
    load_head<S>(out, job.out + offset, job.dim, j, at.live);
    row.inner = gsa_sum_lanes(dot<S>(row.dout, out), S::G);
    row.lse = at.live ? (float)GSA_LOG2E * __ldg(job.lse + at.row * job.heads + at.head) : 0;
    GSA_UNROLL
    for (int n = 0; n < S::N; n++) row.dq[n] = 0;
}

/* UNROLL edges from i on, of `left` that the window has: their (m p, ds) into `slopes`; rows of
 * -inf alone have no gradient. */
template <class S>
GSA_DEVICE void slope_edges(const attend_job &job, row_state<S> &row, int i, int left, int j,
                            const attend_slot *slot, const typename S::note *note, float2 *slopes)
{
    float k[S::UNROLL][S::N], v[S::UNROLL][S::N];
    GSA_UNROLL
    for (int u = 0; u < S::UNROLL; u++) {
        load_head<S>(k[u], slot[i + u].a, job.dim, j, true);
        load_head<S>(v[u], slot[i + u].b, job.dim, j, true);
    }
    GSA_UNROLL
    for (int u = 0; u < S::UNROLL; u++) {
        const bool counts = i + u < left && row.lse != -INFINITY;
        const typename S::note what = note[i + u];
        const float s = score_of<S>(job, dot<S>(row.q, k[u]), what.rest - row.lse);
        const float through = gsa_sum_lanes(dot<S>(row.dout, v[u]), S::G) * what.factor;
        const float p = counts ? gsa_exp2(s) : 0, ds = counts ? p * (through - row.inner) : 0;
        GSA_UNROLL
        for (int n = 0; n < S::N; n++) row.dq[n] += ds * k[u][n];
        if (j == 0) slopes[i + u] = make_float2(p * what.factor, ds);
    }
}

/* Where the heads of this call have room. */
GSA_DEVICE void keep_slopes(const attend_job &job, int32_t head, int64_t edge, bool there,
                            float2 slopes)
{
    const int32_t place = head - job.slope_first;
    if (job.slopes && there && place >= 0 && place < job.slope_heads)
        job.slopes[place * job.edges + edge] = slopes;
}

/* Lane j owns the labels that are j modulo G, and has cleared them: one writer a sum, edges in
 * order. */
template <class S>
GSA_DEVICE void sum_labels(float *sum, int edges, int j, const int32_t *label, const float2 *slopes)
{
    for (int e = 0; e < edges; e++)
        if (label[e] % S::G == j) sum[label[e]] += slopes[e].y;
}

/* The thread's item's sums, or NULL. */
template <class S> GSA_DEVICE float *sums_of(const attend_job &job)
{
    const attend_item at = find_item<S>(job, job.edge_offset);
    if (job.label_sum == NULL || at.place < 0) return NULL;
    return (at.pieced ? job.piece_sum : job.label_sum) +
           (at.place * job.heads + at.head) * job.labels;
}

template <class S>
GSA_DEVICE void store_row(const attend_job &job, const attend_item &at, row_state<S> &row, int j)
{
    if (!at.live || job.dq == NULL) return;
    GSA_UNROLL
    for (int n = 0; n < S::N; n++) row.dq[n] *= job.scale;
    float *const to = job.dq + at.row * job.width + (int64_t)at.head * job.dim;
    if (at.pieced) store_head<S>(job.part + piece_head(job, at) * job.dim, row.dq, job.dim, j);
    else if (job.set_dq) store_head<S>(to, row.dq, job.dim, j);
    else add_head<S>(to, row.dq, job.dim, j);
}

/* r for the product that is the rest of dq: a sum of 0 times infinity, of a label that the row does
 * not read, would be no number. Of one that it reads ds is none already. */
GSA_DEVICE void copy_finite(const attend_job &job)
{
    const int64_t count = (int64_t)job.labels * job.dim;
    for (int64_t i = gsa_thread(); i < count; i += (int64_t)gridDim.x * blockDim.x) {
        const float r = __ldg(job.r + i);
        job.finite_r[i] = isfinite(r) ? r : 0;
    }
}

template <int V, int G, int C, int LEAN>
__global__ void __launch_bounds__(GSA_THREADS, GSA_ROWS_BLOCKS(LEAN))
    attend_rows(GSA_ARGUMENT(attend_job) job)
{
    typedef attend_shape<V, G, C, LEAN> S;
    GSA_SHARED(attend_slot, slots, [GSA_THREADS]);
    GSA_SHARED(typename S::note, notes, [GSA_THREADS]);
    GSA_SHARED(float2, slopes, [GSA_THREADS]);
    GSA_SHARED(int32_t, labels, [GSA_THREADS]);
    const int j = threadIdx.x % G, mine = threadIdx.x - j;
    const attend_item at = find_item<S>(job, job.edge_offset);
    row_state<S> row;
    load_row<S>(job, at, row, j);
    if (job.finite_r) copy_finite(job);
    if (float *const sum = sums_of<S>(job))
        for (int l = j; l < job.labels; l += G) sum[l] = 0;
    const int64_t edge = first_edge(at, job.edge_offset);
    const int most = gsa_top_lanes(at.count);
    for (int base = 0; base < most; base += G) {
        labels[threadIdx.x] = fill_window<S>(job, at, edge, base, j, slots + mine, notes + mine);
        __syncwarp();
        for (int i = 0; i < G && base + i < most; i += S::UNROLL)
            slope_edges<S>(job, row, i, at.count - base, j, slots + mine, notes + mine,
                           slopes + mine);
        __syncwarp();
        keep_slopes(job, at.head, edge + base + j, base + j < at.count, slopes[threadIdx.x]);
        if (job.label_sum)
            sum_labels<S>(sums_of<S>(job), min((int)G, at.count - base), j, labels + mine,
                          slopes + mine);
        __syncwarp();
    }
    /* found anew: nothing of it is in registers while edges are walked */
    store_row<S>(job, find_item<S>(job, job.edge_offset), row, j);
}

GSA_ATTEND_PASS(gsa_attend_rows_pass, "attend_backward", attend_rows)
