/* dia_backward.c - gradients of a diagonal block's rows for some heads, as attention.c has
 * them: p = exp(s - lse),  ds = p (g - D),  g = v do,  D = do.o;   dq += ds k,  dk += ds q,
 * dv += p do. A row of dK and dV is read and written once a diagonal block, and as the next
 * diagonal blocks go on from it in a cache, in memory once. */
#include "kernels/cpu/attention/dia_round.h"

typedef struct backward_dia { /* some heads */
    const cpu_dia *dia;
    const ref_label_sums *sums;
    cpu_rows4 at;
    cpu_places k, v, r;
    float p[HEADS * DIA_SCORES],
        ds[HEADS * DIA_SCORES]; /* ds: first g, then p (g - D), then that scaled */
} backward_dia;

/* In each quad: a_r . b_r of the rows. */
static vec row_dots(const float *a, const float *b, int64_t width, int32_t dim,
                    const cpu_places *places, int64_t at)
{
    vec w[QUADS] = { cpu_four_dots(a, b, width, dim) };
    for (int i = 1; i < QUADS; i++) w[i] = w[0];
    for (int32_t i = 0; places->ahead && i < dim; i += CPU_LINE)
        for (int r = 0; r < DIA_ROWS; r++)
            cpu_dia_fetch_row(a + i, r, cpu_dia_ahead_of(places->ahead, at + i, width), 1);
    return vec_fold(w);
}

static void score(backward_dia *x)
{
    const ref_attend *t = x->at.t;
    float lse[ROWS4 * HEADS + LANES], inner[ROWS4 * HEADS + LANES];
    for (int32_t h = 0; h < x->at.heads; h++) {
        const int64_t at = (int64_t)(x->at.first + h) * t->dim,
                      column = x->dia->row * t->width + at;
        const float *q = (const float *)t->args->q + column,
                    *dout = (const float *)t->args->dout + column;
        float *p = x->p + h * x->at.stride;
        cpu_dia_scores(p, t, x->dia, q, &x->k, at, t->scale);
        cpu_dia_scores(x->ds + h * x->at.stride, t, x->dia, dout, &x->v, at, 1);
        cpu_dia_add_labels(t, x->dia, &x->r, q, x->at.first + h, p);
        vec_store(inner + ROWS4 * h, row_dots((const float *)t->args->out + column, dout, t->width,
                                              t->dim, &x->k, at));
    }
    cpu_rows4_weigh(&x->at, x->p, x->ds, lse, inner);
}

/* Of one head: what its rows read, weighed by ds, added to dq. */
CPU_INLINE void query_slice(const backward_dia *x, float *dq, const float *ds, int64_t at,
                            cpu_cut cut)
{
    const ref_attend *t = x->at.t;
    const int64_t width = t->width;
    const cpu_dia_fetch none = { 0, width },
                        fetch = cpu_dia_ahead_of(x->k.ahead, at + cut.from, width);
    vec y[DIA_ROWS][DIA_WIDE];
    dq += cut.from;
    for (int r = 0; fetch.ahead && r < DIA_ROWS; r++) cpu_dia_fetch_row(dq, r, fetch, cut.vectors);
    CPU_UNROLL
    for (int r = 0; r < DIA_ROWS; r++) CPU_UNROLL
    for (int v = 0; v < cut.vectors; v++) y[r][v] = vec_zero();
    cpu_dia_along(DIA_K, y, t, x->dia, ds, at + cut.from, none, cut);
    for (int32_t e = 0; t->r && e < x->dia->edges; e++)
        cpu_dia_row(0, y, ds + e * DIA_ROWS, 1, (float *)(uintptr_t)(x->r.x[e] + cut.from), 0, 3,
                    cut);
    CPU_UNROLL
    for (int r = 0; r < DIA_ROWS; r++) CPU_UNROLL
    for (int v = 0; v < cut.vectors; v++)
        cpu_put_piece(dq + r * width, v, cut, vec_add(cpu_piece(dq + r * width, v, cut), y[r][v]));
}

/* Of one head: row (q or do), weighed by p, added to the rows of dK or of dV that the diagonal
 * block reads; of q and ds to the label vectors' gradients, where those are wanted. */
CPU_INLINE void source_slice(const backward_dia *x, int plane, const float *row, const float *p,
                             int64_t at, cpu_cut cut)
{
    const ref_attend *t = x->at.t;
    const cpu_dia_fetch fetch = cpu_dia_ahead_of(x->k.ahead, at + cut.from, t->width);
    vec of[DIA_ROWS][DIA_WIDE];
    CPU_UNROLL
    for (int r = 0; r < DIA_ROWS; r++) CPU_UNROLL
    for (int v = 0; v < cut.vectors; v++)
        of[r][v] = cpu_piece(row + r * t->width + cut.from, v, cut);
    cpu_dia_along(plane, of, t, x->dia, p, at + cut.from, fetch, cut);
    for (int32_t e = 0; plane == DIA_DK && x->sums->dr && e < x->dia->edges; e++)
        cpu_dia_row(1, of, p + e * DIA_ROWS, 1,
                    x->sums->dr + (int64_t)x->dia->label[e] * t->dim + cut.from, 0, 3, cut);
}

static void add_label_bias(const backward_dia *x, const float *slope, int32_t head)
{
    for (int32_t e = 0; e < x->dia->edges; e++)
        for (int r = 0; r < DIA_ROWS; r++)
            x->sums->db[(int64_t)x->dia->label[e] * x->sums->group + head - x->sums->first_head] +=
                slope[DIA_ROWS * e + r];
}

static void add_head(backward_dia *x, int32_t h)
{
    const ref_attend *t = x->at.t;
    const int64_t at = (int64_t)(x->at.first + h) * t->dim, row = x->dia->row * t->width + at;
    const float *q = (const float *)t->args->q + row, *dout = (const float *)t->args->dout + row,
                *p = x->p + h * x->at.stride;
    float *ds = x->ds + h * x->at.stride, *dq = t->args->dq ? (float *)t->args->dq + row : NULL;
    if (x->sums->db) add_label_bias(x, ds, x->at.first + h);
    for (int32_t i = 0; i < x->at.stride; i += LANES)
        vec_store(ds + i, vec_mul(vec_load(ds + i), vec_all(t->scale)));
    if (dq) CPU_BY_CUTS(t->dim, DIA_WIDE, query_slice, x, dq, ds, at)
    CPU_BY_CUTS(t->dim, DIA_WIDE, source_slice, x, DIA_DK, q, ds, at)
    CPU_BY_CUTS(t->dim, DIA_WIDE, source_slice, x, DIA_DV, dout, p, at)
}

int cpu_dia_backward(const ref_attend *t, const cpu_dia *dia, int32_t first, int32_t last,
                     const ref_label_sums *sums)
{
    backward_dia x;
    for (int r = 0; r < DIA_ROWS; r++)
        if (cpu_is_dead(t, dia->row + r)) return 0;
    x.dia = dia, x.sums = sums, x.at = cpu_dia_rows(t, dia);
    cpu_places_of(t, dia, 0, last - first, &x.k);
    cpu_places_of(t, dia, 1, last - first, &x.v);
    if (t->r) cpu_label_places_of(t, dia, &x.r);
    for (x.at.first = first; x.at.first < last; x.at.first += HEADS) {
        x.at.heads = last - x.at.first < HEADS ? last - x.at.first : HEADS;
        score(&x);
        for (int32_t h = 0; h < x.at.heads; h++) add_head(&x, h);
    }
    return 1;
}
