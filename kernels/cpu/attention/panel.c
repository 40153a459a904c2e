/* panel.c - the loops around panel.h's micro-kernels: heads of any size, any number of places. */
#include "kernels/cpu/attention/panel.h"

/* s[j ..][r] <- what is made of the sums of QUADS places; returns `told` and they. */
CPU_INLINE vec put_sums(float *s, const cpu_products *p, int32_t j, vec sum, vec told, int how)
{
    if (how == CPU_BARE) told = vec_fma(sum, vec_zero(), told);
    if (p->more) sum = vec_add(sum, vec_load(p->more + 4 * j));
    if (how == CPU_MASKED) {
        sum = vec_keep(lanes_of_bits(p->mask[j / QUADS]), sum, vec_all(-INFINITY));
        told = vec_max(sum, told);
    }
    vec_store(s + 4 * j, sum);
    cpu_prefetch_step(p->prefetch);
    return told;
}

/* Heads of at most SLICE vectors, 16 lanes: the rows are in registers. */
CPU_INLINE vec multiply_slice(float *s, const cpu_transposed *from, const cpu_products *p, vec told,
                              int how, cpu_cut cut)
{
    vec q[SLICE * PANEL_ROWS];
    CPU_UNROLL
    for (int v = 0; v < cut.vectors; v++) CPU_UNROLL
    for (int i = 0; i < PANEL_ROWS; i++) q[v * PANEL_ROWS + i] = from->part[v][i];
    for (int32_t j = 0; j < p->places; j += QUADS) {
        vec w[QUADS];
        CPU_UNROLL
        for (int i = 0; i < QUADS; i++)
            w[i] = cpu_transposed_dots(q, p->x[p->place[j + i]] + p->at, cut);
        told = put_sums(s, p, j, vec_fold(w), told, how);
    }
    return told;
}

/* Heads of any width: MET columns at a time meet the four rows. As many of them as fill whole
 * vectors. */
CPU_INLINE vec multiply_some(float *s, const cpu_transposed *q, const cpu_products *p, int32_t dim,
                             vec told, int how)
{
    enum { SOME = MET % QUADS == 0 ? MET : MET * QUADS };
    int32_t j = 0;
    for (; j + SOME <= p->places; j += SOME) {
        vec w[SOME];
        CPU_UNROLL
        for (int i = 0; i < SOME; i += MET)
            cpu_transposed_some(w + i, q, p->x, p->place + j + i, p->at, MET, dim);
        CPU_UNROLL
        for (int i = 0; i < SOME; i += QUADS)
            told = put_sums(s, p, j + i, vec_fold(w + i), told, how);
    }
    for (; j < p->places; j += QUADS) {
        vec w[QUADS];
        cpu_transposed_some(w, q, p->x, p->place + j, p->at, QUADS, dim);
        told = put_sums(s, p, j, vec_fold(w), told, how);
    }
    return told;
}

CPU_INLINE vec multiply_as(float *s, const cpu_transposed *q, const cpu_products *p, int32_t dim,
                           vec told, int how)
{
    const cpu_cut cut = cpu_cut_at(dim, 0, SLICE);
    if (LANES != 16 || dim > SLICE * LANES) return multiply_some(s, q, p, dim, told, how);
    CPU_BY_CUT(cut, SLICE, told = multiply_slice, s, q, p, told, how)
    return told;
}

vec cpu_multiply(float *s, const cpu_transposed *q, const cpu_products *p, int32_t dim, vec told,
                 int how)
{
    return how == CPU_BARE ? multiply_as(s, q, p, dim, told, CPU_BARE)
                           : multiply_as(s, q, p, dim, told, CPU_MASKED);
}

/* ---- mix ----------------------------------------------------------------------------------- */

CPU_INLINE vec mix_slice(const cpu_panel_mix *m, vec odd, int stream, cpu_cut cut)
{
    vec sum[PANEL_ROWS][MIXED];
    CPU_UNROLL
    for (int r = 0; r < PANEL_ROWS; r++) CPU_UNROLL
    for (int v = 0; v < cut.vectors; v++) sum[r][v] = vec_zero();
    cpu_mix_places(sum, m->of, m->prefetch, cut);
    if (!stream && m->labels) cpu_mix_places(sum, m->labels, NULL, cut);
    CPU_UNROLL
    for (int r = 0; r < PANEL_ROWS; r++) {
        if (r >= m->rows) continue;
        const vec share = vec_all(m->share[r]);
        CPU_UNROLL
        for (int v = 0; v < cut.vectors; v++) {
            float *to = m->to[r] + cut.from;
            vec y = vec_mul(sum[r][v], share);
            if (!(m->fresh >> r & 1)) y = vec_fma(vec_all(m->keep[r]), cpu_piece(to, v, cut), y);
            odd = vec_fma(y, vec_zero(), odd);
            if (m->share[r] == 0 && (m->fresh >> r & 1 || m->keep[r] == 0)) y = vec_zero();
            if (stream && cut.whole) vec_stream(to + v * LANES, y);
            else cpu_put_piece(to, v, cut, y);
        }
    }
    return odd;
}

vec cpu_mix_panel(const cpu_panel_mix *m, int32_t dim)
{
    vec odd = vec_zero();
    if (m->stream) CPU_BY_CUTS(dim, MIXED, odd = mix_slice, m, odd, 1)
    else CPU_BY_CUTS(dim, MIXED, odd = mix_slice, m, odd, 0)
    return odd;
}
