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
#include "kernels/ref/attend_items.h"

/* Of at most SLICE vectors of columns: the queries are in registers (`rows`: 4, or 1 where all are
 * the same), place after place passes by; slices after the first are added to what is there. */
CPU_INLINE void cpu_own_dots_slice(float *s, const float *const *q, int rows, const float *const *x,
                                   const float *const *r, int32_t places, int64_t at,
                                   cpu_prefetch *prefetch, cpu_cut cut)
{
    vec a[ROWS4][SLICE];
    CPU_UNROLL
    for (int i = 0; i < rows; i++) CPU_UNROLL
    for (int v = 0; v < cut.vectors; v++) a[i][v] = cpu_piece(q[i] + at + cut.from, v, cut);
    for (int32_t e = 0; e < places; e += QUADS, s += LANES) {
        vec w[QUADS];
        CPU_UNROLL
        for (int j = 0; j < QUADS; j++) {
            vec sum[ROWS4];
            w[j] = vec_zero();
            if (e + j >= places) continue;
            CPU_UNROLL
            for (int i = 0; i < ROWS4; i++) CPU_UNROLL
            for (int v = 0; v < cut.vectors; v++) {
                const vec row = a[rows == 1 ? 0 : i][v];
                vec y = cpu_piece(x[4 * (e + j) + i] + at + cut.from, v, cut);
                if (r) y = vec_add(y, cpu_piece(r[4 * (e + j) + i] + cut.from, v, cut));
                sum[i] = v ? vec_fma(row, y, sum[i]) : vec_mul(row, y);
            }
            w[j] = vec_sum_fours(sum[0], sum[1], sum[2], sum[3]);
        }
        const vec some = vec_fold(w);
        vec_store(s, cut.from > 0 ? vec_add(vec_load(s), some) : some);
        if (prefetch) cpu_prefetch_step(prefetch);
    }
}

/* s[place][row] <- q_row . (x + r) of the head whose columns begin at `at`; r NULL: without. */
CPU_INLINE void cpu_own_dots_of(float *s, const float *const *q, int rows, const float *const *x,
                                const float *const *r, int32_t places, int64_t at, int32_t dim,
                                cpu_prefetch *prefetch)
{
    if (r) CPU_BY_CUTS(dim, SLICE, cpu_own_dots_slice, s, q, rows, x, r, places, at, prefetch)
    else CPU_BY_CUTS(dim, SLICE, cpu_own_dots_slice, s, q, rows, x, NULL, places, at, prefetch)
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
                            const float *const *r, int step, int64_t at, int32_t edges,
                            cpu_prefetch *prefetch, int stream, cpu_cut cut)
{
    vec sum[2][SLICE];
    y += cut.from;
    CPU_UNROLL
    for (int v = 0; v < cut.vectors; v++)
        sum[0][v] = keep ? vec_mul(vec_all(*keep), cpu_piece(y, v, cut)) : vec_zero(),
        sum[1][v] = vec_zero();
    for (int32_t e = 0; e < edges; e += 2) {
        CPU_UNROLL
        for (int i = 0; i < 2; i++) {
            if (i > 0 && e + 1 == edges) continue;
            const vec share = vec_all(p[step * (e + i)]);
            CPU_UNROLL
            for (int v = 0; v < cut.vectors; v++) {
                vec part = cpu_piece(x[step * (e + i)] + at + cut.from, v, cut);
                if (r) part = vec_add(part, cpu_piece(r[step * (e + i)] + cut.from, v, cut));
                sum[i][v] = vec_fma(share, part, sum[i][v]);
            }
        }
        if (prefetch && e % QUADS == 0) cpu_prefetch_step(prefetch);
    }
    CPU_UNROLL
    for (int v = 0; v < cut.vectors; v++) {
        const vec all = vec_add(sum[0][v], sum[1][v]);
        if (stream && cut.whole) vec_stream(y + v * LANES, all);
        else cpu_put_piece(y, v, cut, all);
    }
}

/* y_e += p_e x where y_e is not NULL, of some columns of one row, in order: a row may come twice. p
 * goes on by `step`. */
CPU_INLINE void cpu_own_scatter(float *const *y, const float *p, int step, const float *x,
                                int64_t to, int32_t edges, cpu_cut cut)
{
    vec part[SLICE];
    CPU_UNROLL
    for (int v = 0; v < cut.vectors; v++) part[v] = cpu_piece(x + cut.from, v, cut);
    for (int32_t e = 0; e < edges; e++) {
        if (!y[e]) continue;
        const vec share = vec_all(p[step * e]);
        float *at = y[e] + to + cut.from;
        CPU_UNROLL
        for (int v = 0; v < cut.vectors; v++)
            cpu_put_piece(at, v, cut, vec_fma(share, part[v], cpu_piece(at, v, cut)));
    }
}

typedef struct cpu_targets { /* rows that edges scatter into; NULL: no gradient is wanted */
    float *dk[BLOCK], *dv[BLOCK], *dr[BLOCK];
} cpu_targets;

/* Of `edges` edges, at most BLOCK; kind, source and label go on by `step`. */
static inline void cpu_find_targets(const ref_attend *t, const ref_label_sums *sums,
                                    const int32_t *kind, const int32_t *source,
                                    const int32_t *label, int step, int32_t edges, cpu_targets *to)
{
    for (int32_t i = 0, e = 0; i < edges; i++, e += step) {
        const gsa_part *part = &t->args->parts[kind[e]];
        const int64_t at = source[e] * t->width;
        to->dk[i] = part->dk ? (float *)part->dk + at : NULL;
        to->dv[i] = part->dv ? (float *)part->dv + at : NULL;
        to->dr[i] = sums->dr ? sums->dr + (int64_t)label[e] * t->dim : NULL;
    }
}

/* The same of one row, all columns of a head. */
static inline void cpu_row_mix(float *y, const float *keep, const float *p, const float *const *x,
                               const float *const *r, int step, int64_t at, int32_t dim,
                               int32_t edges, cpu_prefetch *prefetch)
{
    if (r) CPU_BY_CUTS(dim, SLICE, cpu_own_mix, y, keep, p, x, r, step, at, edges, prefetch, 0)
    else CPU_BY_CUTS(dim, SLICE, cpu_own_mix, y, keep, p, x, NULL, step, at, edges, prefetch, 0)
}

static inline void cpu_row_scatter(float *const *y, const float *p, int step, const float *x,
                                   int64_t to, int32_t dim, int32_t edges)
{
    CPU_BY_CUTS(dim, SLICE, cpu_own_scatter, y, p, step, x, to, edges)
}

#endif
