/* dia_backward.c - gradients of a diagonal block's rows for some heads, as attention.c has
 * them: p = exp(s - lse),  ds = p (g - D),  g = v do,  D = do.o;   dq += ds k,  dk += ds q,
 * dv += p do. A row of dK and dV is read and written once a diagonal block, and as the next
 * diagonal blocks go on from it in a cache, in memory once. */
#include "kernels/cpu/attention/dia_round.h"
#include "kernels/cpu/attention/dropout_mask.h"

typedef struct backward_dia { /* some heads */
    const ref_attend *t;
    const cpu_dia *dia;
    const ref_label_sums *sums;
    cpu_places k, v, r;
    int32_t first, heads, stride; /* numbers of a head's scores */
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
    const ref_attend *t = x->t;
    const int64_t row[ROWS4] = { x->dia->row, x->dia->row + 1, x->dia->row + 2, x->dia->row + 3 };
    float lse[ROWS4 * HEADS + LANES], inner[ROWS4 * HEADS + LANES];
    int32_t start[HEADS + 1];
    cpu_bits keep_mask[HEADS * DIA_VECTORS];
    for (int32_t h = 0; h <= x->heads; h++) start[h] = h * x->stride;
    for (int32_t h = 0; h < x->heads; h++) {
        const int64_t at = (int64_t)(x->first + h) * t->dim, column = *row * t->width + at;
        const float *q = (const float *)t->args->q + column,
                    *dout = (const float *)t->args->dout + column;
        cpu_dia_scores(x->p + start[h], t, x->dia, q, &x->k, at, t->scale);
        cpu_dia_scores(x->ds + start[h], t, x->dia, dout, &x->v, at, 1);
        cpu_dia_add_labels(t, x->dia, &x->r, q, x->first + h, x->p + start[h]);
        vec_store(inner + ROWS4 * h, row_dots((const float *)t->args->out + column, dout, t->width,
                                              t->dim, &x->k, at));
        for (int r = 0; r < ROWS4; r++)
            lse[ROWS4 * h + r] = ((const float *)t->args->lse)[row[r] * t->heads + x->first + h];
    }
    if (t->drop.on) cpu_mask_scores(t, row, x->dia->edges, x->first, x->heads, x->ds, keep_mask);
    cpu_rows4_slopes(x->p, x->ds, start, x->heads, lse, inner);
    if (t->drop.on) cpu_mask_apply(t, x->p, keep_mask, start[x->heads] / LANES);
}

/* Of one head: what its rows read, weighed by ds, added to dq. */
CPU_INLINE void query_slice(const backward_dia *x, float *dq, const float *ds, int64_t at,
                            cpu_cut cut)
{
    const int64_t width = x->t->width;
    const cpu_dia_fetch fetch = cpu_dia_ahead_of(x->k.ahead, at + cut.from, width);
    vec y[DIA_ROWS][DIA_WIDE];
    dq += cut.from;
    for (int r = 0; fetch.ahead && r < DIA_ROWS; r++) cpu_dia_fetch_row(dq, r, fetch, cut.vectors);
    cpu_dia_add_all(y, x->dia, &x->k, ds, at + cut.from, (cpu_dia_fetch){ 0, width }, cut);
    for (int32_t e = 0; x->t->r && e < x->dia->edges; e++)
        cpu_dia_add_place(y, ds + e * DIA_ROWS, x->r.x[e] + cut.from, 0, (cpu_dia_fetch){ 0, 0 },
                          cut);
    CPU_UNROLL
    for (int r = 0; r < DIA_ROWS; r++) CPU_UNROLL
    for (int v = 0; v < cut.vectors; v++)
        cpu_put_piece(dq + r * width, v, cut, vec_add(cpu_piece(dq + r * width, v, cut), y[r][v]));
}

/* Of one head: row (q or do), weighed by p, added to the rows of dK or of dV that the diagonal
 * block reads. */
CPU_INLINE void source_slice(const backward_dia *x, int values, const float *row, const float *p,
                             int64_t at, cpu_cut cut)
{
    const int64_t width = x->t->width;
    const cpu_dia_fetch none = { 0, 0 }, fetch = cpu_dia_ahead_of(x->k.ahead, at + cut.from, width);
    vec of[DIA_ROWS][DIA_WIDE];
    CPU_UNROLL
    for (int r = 0; r < DIA_ROWS; r++) CPU_UNROLL
    for (int v = 0; v < cut.vectors; v++) of[r][v] = cpu_piece(row + r * width + cut.from, v, cut);
    for (int32_t i = 0; i < x->dia->stripes; i++) {
        const cpu_stripe *s = &x->dia->stripe[i];
        const gsa_part *part = &x->t->args->parts[s->kind];
        float *plane = values ? part->dv : part->dk;
        if (!plane) continue;
        const float *share = p + s->place * DIA_ROWS;
        float *y = plane + s->first * width + at + cut.from;
        if (cpu_is_long(s)) cpu_dia_scatter_stripe(y, share, width, fetch, s->count, of, cut);
        else
            for (int32_t e = 0; e < s->count; e++)
                cpu_dia_scatter_place(y + e * width, share + e * DIA_ROWS, s->move * width,
                                      x->k.fresh[s->place + e] ? fetch : none, of, cut);
    }
}

/* Of one head: dr_l += ds q. */
CPU_INLINE void label_slice(const backward_dia *x, const float *q, const float *ds, cpu_cut cut)
{
    vec of[DIA_ROWS][DIA_WIDE];
    CPU_UNROLL
    for (int r = 0; r < DIA_ROWS; r++) CPU_UNROLL
    for (int v = 0; v < cut.vectors; v++)
        of[r][v] = cpu_piece(q + r * x->t->width + cut.from, v, cut);
    for (int32_t e = 0; e < x->dia->edges; e++)
        cpu_dia_scatter(x->sums->dr + (int64_t)x->dia->label[e] * x->t->dim + cut.from,
                        ds + e * DIA_ROWS, 1, of, 0, 3, cut);
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
    const ref_attend *t = x->t;
    const int64_t at = (int64_t)(x->first + h) * t->dim, row = x->dia->row * t->width + at;
    const float *q = (const float *)t->args->q + row, *dout = (const float *)t->args->dout + row,
                *p = x->p + h * x->stride;
    float *ds = x->ds + h * x->stride, *dq = t->args->dq ? (float *)t->args->dq + row : NULL;
    if (x->sums->db) add_label_bias(x, ds, x->first + h);
    for (int32_t i = 0; i < x->stride; i += LANES)
        vec_store(ds + i, vec_mul(vec_load(ds + i), vec_all(t->scale)));
    if (dq) CPU_BY_CUTS(t->dim, DIA_WIDE, query_slice, x, dq, ds, at)
    CPU_BY_CUTS(t->dim, DIA_WIDE, source_slice, x, 0, q, ds, at)
    CPU_BY_CUTS(t->dim, DIA_WIDE, source_slice, x, 1, dout, p, at)
    if (x->sums->dr) CPU_BY_CUTS(t->dim, DIA_WIDE, label_slice, x, q, ds)
}

int cpu_dia_backward(const ref_attend *t, const cpu_dia *dia, int32_t first, int32_t last,
                     const ref_label_sums *sums)
{
    backward_dia x;
    for (int r = 0; r < DIA_ROWS; r++)
        if (cpu_is_dead(t, dia->row + r)) return 0;
    x.t = t, x.dia = dia, x.sums = sums, x.stride = cpu_dia_vectors(dia) * LANES;
    cpu_places_of(t, dia, 0, last - first, &x.k);
    cpu_places_of(t, dia, 1, last - first, &x.v);
    if (t->r) cpu_label_places_of(t, dia, &x.r);
    for (x.first = first; x.first < last; x.first += HEADS) {
        x.heads = last - x.first < HEADS ? last - x.first : HEADS;
        score(&x);
        for (int32_t h = 0; h < x.heads; h++) add_head(&x, h);
    }
    return 1;
}
