/* own.h - the panel of own columns (ell, row): one head of four rows, each with its own row of K
 * or V at each place; or of one row, whose edges are four to a place.
 *
 *   score    s[place][r] = q_r . (x[place][r] + label)
 *   mix      y_r   = keep y_r + sum over the row's edges of p (x + label)
 *   scatter  y[e] += p[e] x_r, edge by edge, in order
 *
 * Register tile: 4 rows x SLICE vectors of a head; wider heads are a loop around it. */
#ifndef GSA_CPU_OWN_H
#define GSA_CPU_OWN_H
#include "kernels/cpu/attention/attend.h"
#include "kernels/cpu/attention/prefetch.h"

/* Of at most SLICE vectors of columns: the queries are in registers (`rows`: 4, or 1 where all are
 * the same), place after place passes by; `more`: is added to what is there. */
CPU_INLINE void cpu_own_dots_slice(float *s, const float *const *q, int rows, const float *const *x,
                                   const float *const *r, int32_t places, int64_t at, int64_t from,
                                   cpu_prefetch *prefetch, int more, int vectors, int whole,
                                   lanes end)
{
    vec a[ROWS4][SLICE];
    CPU_UNROLL
    for (int i = 0; i < rows; i++) CPU_UNROLL
    for (int v = 0; v < vectors; v++) a[i][v] = cpu_piece(q[i] + at, v, vectors, whole, end);
    for (int32_t e = 0; e < places; e += QUADS, s += LANES) {
        vec w[QUADS];
        CPU_UNROLL
        for (int j = 0; j < QUADS; j++) {
            vec sum[ROWS4];
            w[j] = vec_zero();
            if (e + j >= places) continue;
            CPU_UNROLL
            for (int i = 0; i < ROWS4; i++) CPU_UNROLL
            for (int v = 0; v < vectors; v++) {
                const vec row = a[rows == 1 ? 0 : i][v];
                vec y = cpu_piece(x[4 * (e + j) + i] + at, v, vectors, whole, end);
                if (r) y = vec_add(y, cpu_piece(r[4 * (e + j) + i] + from, v, vectors, whole, end));
                sum[i] = v ? vec_fma(row, y, sum[i]) : vec_mul(row, y);
            }
            w[j] = vec_sum_fours(sum[0], sum[1], sum[2], sum[3]);
        }
        const vec some = vec_fold(w);
        vec_store(s, more ? vec_add(vec_load(s), some) : some);
        if (prefetch) cpu_prefetch_step(prefetch);
    }
}

/* s[place][row] <- q_row . (x + r) of the head whose columns begin at `at`; r NULL: without. */
CPU_INLINE void cpu_own_dots_of(float *s, const float *const *q, int rows, const float *const *x,
                                const float *const *r, int32_t places, int64_t at, int32_t dim,
                                cpu_prefetch *prefetch)
{
    for (int32_t i = 0; i < dim; i += SLICE * LANES) {
        const cpu_cut cut = cpu_cut_at(dim, i);
#define PLAIN(vectors, whole)                                                                      \
    cpu_own_dots_slice(s, q, rows, x, NULL, places, at + i, i, prefetch, i > 0, vectors, whole,    \
                       cut.end)
#define LABELLED(vectors, whole)                                                                   \
    cpu_own_dots_slice(s, q, rows, x, r, places, at + i, i, prefetch, i > 0, vectors, whole,       \
                       cut.end)
        if (r) CPU_BY_CUT(cut, LABELLED)
        else CPU_BY_CUT(cut, PLAIN)
#undef PLAIN
#undef LABELLED
    }
}

static inline void cpu_own_dots(float *s, const float *const q[ROWS4], const float *const *x,
                                const float *const *r, int32_t places, int64_t at, int32_t dim)
{
    cpu_own_dots_of(s, q, ROWS4, x, r, places, at, dim, NULL);
}

/* Of one row, s[e]: x and r hold four edges a place. `prefetch`, where there is one, is prefetched
 * a portion with each vector of products. */
static inline void cpu_lone_dots(float *s, const float *q, const float *const *x,
                                 const float *const *r, int32_t places, int64_t at, int32_t dim,
                                 cpu_prefetch *prefetch)
{
    if (dim == 0) memset(s, 0, sizeof *s * (size_t)((places + QUADS - 1) / QUADS * LANES));
    cpu_own_dots_of(s, &q, 1, x, r, places, at, dim, prefetch);
}

/* y <- keep y + sum_e p_e (x_e + r_e) of some columns of one row, y not read where `keep` is NULL;
 * p, x and r go on by `step`. Even and odd edges have sums of their own, which hides the latency of
 * the multiplication. */
CPU_INLINE void cpu_own_mix(float *y, const float *keep, const float *p, const float *const *x,
                            const float *const *r, int step, int64_t at, int64_t from,
                            int32_t edges, cpu_prefetch *prefetch, int stream, int vectors,
                            int whole, lanes end)
{
    vec sum[2][SLICE];
    CPU_UNROLL
    for (int v = 0; v < vectors; v++)
        sum[0][v] =
            keep ? vec_mul(vec_all(*keep), cpu_piece(y, v, vectors, whole, end)) : vec_zero(),
        sum[1][v] = vec_zero();
    for (int32_t e = 0; e < edges; e += 2) {
        CPU_UNROLL
        for (int i = 0; i < 2; i++) {
            if (i > 0 && e + 1 == edges) continue;
            const vec share = vec_all(p[step * (e + i)]);
            CPU_UNROLL
            for (int v = 0; v < vectors; v++) {
                vec part = cpu_piece(x[step * (e + i)] + at, v, vectors, whole, end);
                if (r)
                    part =
                        vec_add(part, cpu_piece(r[step * (e + i)] + from, v, vectors, whole, end));
                sum[i][v] = vec_fma(share, part, sum[i][v]);
            }
        }
        if (prefetch && e % QUADS == 0) cpu_prefetch_step(prefetch);
    }
    CPU_UNROLL
    for (int v = 0; v < vectors; v++) {
        const vec all = vec_add(sum[0][v], sum[1][v]);
        if (stream && whole) vec_stream(y + v * LANES, all);
        else cpu_put_piece(y, v, vectors, whole, end, all);
    }
}

/* y_e += p_e x where y_e is not NULL, of some columns of one row, in order: a row may come twice. p
 * goes on by `step`. */
CPU_INLINE void cpu_own_scatter(float *const *y, const float *p, int step, const float *x,
                                int64_t to, int32_t edges, int vectors, int whole, lanes end)
{
    vec part[SLICE];
    CPU_UNROLL
    for (int v = 0; v < vectors; v++) part[v] = cpu_piece(x, v, vectors, whole, end);
    for (int32_t e = 0; e < edges; e++) {
        if (!y[e]) continue;
        const vec share = vec_all(p[step * e]);
        float *at = y[e] + to;
        CPU_UNROLL
        for (int v = 0; v < vectors; v++)
            cpu_put_piece(at, v, vectors, whole, end,
                          vec_fma(share, part[v], cpu_piece(at, v, vectors, whole, end)));
    }
}

/* One row alone, all columns of a head. */
static inline void cpu_lone_mix(float *y, const float *keep, const float *p, const float *const *x,
                                const float *const *r, int64_t at, int32_t dim, int32_t edges,
                                cpu_prefetch *prefetch)
{
    for (int32_t i = 0; i < dim; i += SLICE * LANES) {
        const cpu_cut cut = cpu_cut_at(dim, i);
#define PLAIN(vectors, whole)                                                                      \
    cpu_own_mix(y + i, keep, p, x, NULL, 1, at + i, i, edges, prefetch, 0, vectors, whole, cut.end)
#define LABELLED(vectors, whole)                                                                   \
    cpu_own_mix(y + i, keep, p, x, r, 1, at + i, i, edges, prefetch, 0, vectors, whole, cut.end)
        if (r) CPU_BY_CUT(cut, LABELLED)
        else CPU_BY_CUT(cut, PLAIN)
#undef PLAIN
#undef LABELLED
    }
}

static inline void cpu_lone_scatter(float *const *y, const float *p, const float *x, int64_t to,
                                    int32_t dim, int32_t edges)
{
    for (int32_t i = 0; i < dim; i += SLICE * LANES) {
        const cpu_cut cut = cpu_cut_at(dim, i);
#define SLICE_OF(vectors, whole)                                                                   \
    cpu_own_scatter(y, p, 1, x + i, to + i, edges, vectors, whole, cut.end)
        CPU_BY_CUT(cut, SLICE_OF)
#undef SLICE_OF
    }
}

#endif
