/* band_backward.c - gradients of a band's rows for some heads, as attend_backward.c has them:
 *   p = exp(s - lse),  ds = p (g - D),  g = v do,  D = do.o;   dq += ds k,  dk += ds q,  dv += p do
 * A row of dK and dV is read and written once a band, and as the next bands go on from it in a
 * cache, in memory once. */
#include "kernels/cpu/attention/band_round.h"
#include "kernels/cpu/attention/rows4.h"

typedef struct back_band { /* some heads */
    const ref_attend *t;
    const cpu_band *band;
    const ref_label_sums *sums;
    cpu_places k, v, r;
    int32_t first, heads, stride; /* numbers of a head's scores */
    float p[HEADS * BAND_SCORES],
        ds[HEADS * BAND_SCORES]; /* ds: first g, then p (g - D), then that scaled */
} back_band;

static int has_dead(const ref_attend *t, int64_t row)
{
    const float *lse = (const float *)t->args->lse + row * t->heads;
    for (int64_t i = 0; i < (int64_t)BAND_ROWS * t->heads; i++)
        if (lse[i] == -INFINITY) return 1;
    return 0;
}

/* In each quad: a_r . b_r of the rows. */
static vec row_dots(const float *a, const float *b, int64_t width, int32_t dim,
                    const cpu_places *places, int64_t at)
{
    vec sum[BAND_ROWS], w[QUADS];
    CPU_UNROLL
    for (int r = 0; r < BAND_ROWS; r++) sum[r] = vec_zero();
    for (int32_t i = 0; i < dim; i += LANES) {
        const lanes end = lanes_first(dim - i < LANES ? dim - i : LANES);
        CPU_UNROLL
        for (int r = 0; r < BAND_ROWS; r++)
            sum[r] = vec_fma(vec_load_first(a + r * width + i, end),
                             vec_load_first(b + r * width + i, end), sum[r]);
        const cpu_band_asks asks = cpu_band_asks_of(places->ahead, at + i, width);
        for (int r = 0; asks.ahead && i % ASK_LINE == 0 && r < BAND_ROWS; r++)
            cpu_ask_row(a + i, r, asks, 1);
    }
    w[0] = vec_sum_fours(sum[0], sum[1], sum[2], sum[3]);
    for (int i = 1; i < QUADS; i++) w[i] = w[0];
    return vec_fold(w);
}

static void score(back_band *x)
{
    const ref_attend *t = x->t;
    const int64_t row[ROWS4] = { x->band->row, x->band->row + 1, x->band->row + 2,
                                 x->band->row + 3 };
    float lse[ROWS4 * HEADS + LANES], inner[ROWS4 * HEADS + LANES];
    int32_t start[HEADS + 1];
    cpu_bits kept[HEADS * BAND_VECTORS];
    for (int32_t h = 0; h <= x->heads; h++) start[h] = h * x->stride;
    for (int32_t h = 0; h < x->heads; h++) {
        const int64_t at = (int64_t)(x->first + h) * t->dim, column = *row * t->width + at;
        const float *q = (const float *)t->args->q + column,
                    *dout = (const float *)t->args->dout + column;
        cpu_band_scores(x->p + start[h], t, x->band, q, &x->k, at, t->scale);
        cpu_band_scores(x->ds + start[h], t, x->band, dout, &x->v, at, 1);
        cpu_band_add_labels(t, x->band, &x->r, q, x->first + h, x->p + start[h]);
        vec_store(inner + ROWS4 * h, row_dots((const float *)t->args->out + column, dout, t->width,
                                              t->dim, &x->k, at));
        for (int r = 0; r < ROWS4; r++)
            lse[ROWS4 * h + r] = ((const float *)t->args->lse)[row[r] * t->heads + x->first + h];
    }
    if (t->drop.on) cpu_rows4_keep(t, row, x->band->edges, x->first, x->heads, x->ds, kept);
    cpu_rows4_slopes(x->p, x->ds, start, x->heads, lse, inner);
    if (t->drop.on) cpu_keep(t, x->p, kept, start[x->heads] / LANES);
}

/* Of one head: what its rows read, weighed by ds, added to dq. */
CPU_INLINE void query_slice(const back_band *x, float *dq, const float *ds, int64_t at,
                            int32_t from, int vectors, int whole, lanes end)
{
    const int64_t width = x->t->width;
    vec y[BAND_ROWS][BAND_WIDE];
    CPU_UNROLL
    for (int r = 0; r < BAND_ROWS; r++) CPU_UNROLL
    for (int v = 0; v < vectors; v++) y[r][v] = vec_zero();
    const cpu_band_asks none = { 0, 0 }, asks = cpu_band_asks_of(x->k.ahead, at + from, width);
    for (int r = 0; asks.ahead && r < BAND_ROWS; r++) cpu_ask_row(dq + from, r, asks, vectors);
    for (int32_t i = 0; i < x->band->stripes; i++) {
        const cpu_stripe *s = &x->band->stripe[i];
        const float *p = ds + s->place * BAND_ROWS, *k = x->k.x[s->place] + at + from;
        if (cpu_is_long(s))
            cpu_band_add_stripe(y, p, k, width, none, s->count, vectors, whole, end);
        else
            for (int32_t e = 0; e < s->count; e++)
                cpu_band_add_place(y, p + e * BAND_ROWS, k + e * width, s->move * width, none,
                                   vectors, whole, end);
    }
    for (int32_t e = 0; x->t->r && e < x->band->edges; e++)
        cpu_band_add_place(y, ds + e * BAND_ROWS, x->r.x[e] + from, 0, none, vectors, whole, end);
    CPU_UNROLL
    for (int r = 0; r < BAND_ROWS; r++) CPU_UNROLL
    for (int v = 0; v < vectors; v++)
        cpu_put_piece(dq + r * width + from, v, vectors, whole, end,
                      vec_add(cpu_piece(dq + r * width + from, v, vectors, whole, end), y[r][v]));
}

/* Of one head: row (q or do), weighed by p, added to the rows of dK or of dV that the band
 * reads. */
CPU_INLINE void source_slice(const back_band *x, int values, const float *row, const float *p,
                             int64_t at, int vectors, int whole, lanes end)
{
    const int64_t width = x->t->width;
    const cpu_band_asks none = { 0, 0 }, asks = cpu_band_asks_of(x->k.ahead, at, width);
    vec of[BAND_ROWS][BAND_WIDE];
    CPU_UNROLL
    for (int r = 0; r < BAND_ROWS; r++) CPU_UNROLL
    for (int v = 0; v < vectors; v++) of[r][v] = cpu_piece(row + r * width, v, vectors, whole, end);
    for (int32_t i = 0; i < x->band->stripes; i++) {
        const cpu_stripe *s = &x->band->stripe[i];
        const gsa_part *part = &x->t->args->parts[s->kind];
        float *plane = values ? part->dv : part->dk;
        if (!plane) continue;
        const float *share = p + s->place * BAND_ROWS;
        float *y = plane + s->first * width + at;
        if (cpu_is_long(s))
            cpu_band_give_stripe(y, share, width, asks, s->count, of, vectors, whole, end);
        else
            for (int32_t e = 0; e < s->count; e++)
                cpu_band_give_place(y + e * width, share + e * BAND_ROWS, s->move * width,
                                    x->k.fresh[s->place + e] ? asks : none, of, vectors, whole,
                                    end);
    }
}

/* Of one head: dr_l += ds q. */
CPU_INLINE void label_slice(const back_band *x, const float *q, const float *ds, int32_t from,
                            int vectors, int whole, lanes end)
{
    vec of[BAND_ROWS][BAND_WIDE];
    CPU_UNROLL
    for (int r = 0; r < BAND_ROWS; r++) CPU_UNROLL
    for (int v = 0; v < vectors; v++)
        of[r][v] = cpu_piece(q + r * x->t->width + from, v, vectors, whole, end);
    for (int32_t e = 0; e < x->band->edges; e++)
        cpu_band_give_place(x->sums->dr + (int64_t)x->band->label[e] * x->t->dim + from,
                            ds + e * BAND_ROWS, 0, (cpu_band_asks){ 0, 0 }, of, vectors, whole,
                            end);
}

static void add_label_bias(const back_band *x, const float *slope, int32_t head)
{
    for (int32_t e = 0; e < x->band->edges; e++)
        for (int r = 0; r < BAND_ROWS; r++)
            x->sums->db[(int64_t)x->band->label[e] * x->sums->group + head - x->sums->first_head] +=
                slope[BAND_ROWS * e + r];
}

static void add_head(back_band *x, int32_t h)
{
    const ref_attend *t = x->t;
    const int64_t at = (int64_t)(x->first + h) * t->dim, row = x->band->row * t->width + at;
    const float *q = (const float *)t->args->q + row, *dout = (const float *)t->args->dout + row,
                *p = x->p + h * x->stride;
    float *ds = x->ds + h * x->stride, *dq = t->args->dq ? (float *)t->args->dq + row : NULL;
    if (x->sums->db) add_label_bias(x, ds, x->first + h);
    for (int32_t i = 0; i < x->stride; i += LANES)
        vec_store(ds + i, vec_mul(vec_load(ds + i), vec_all(t->scale)));
#define QUERIES(from, vectors, whole, end) query_slice(x, dq, ds, at, from, vectors, whole, end)
#define KEYS(from, vectors, whole, end)                                                            \
    source_slice(x, 0, q + from, ds, at + from, vectors, whole, end)
#define VALUES(from, vectors, whole, end)                                                          \
    source_slice(x, 1, dout + from, p, at + from, vectors, whole, end)
#define LABELS(from, vectors, whole, end) label_slice(x, q, ds, from, vectors, whole, end)
    if (dq) CPU_BY_BAND_SLICE(t->dim, QUERIES);
    CPU_BY_BAND_SLICE(t->dim, KEYS);
    CPU_BY_BAND_SLICE(t->dim, VALUES);
    if (x->sums->dr) CPU_BY_BAND_SLICE(t->dim, LABELS);
#undef QUERIES
#undef KEYS
#undef VALUES
#undef LABELS
}

int cpu_band_backward(const ref_attend *t, const cpu_band *band, int32_t first, int32_t last,
                      const ref_label_sums *sums)
{
    back_band x;
    if (has_dead(t, band->row))
        return 0; /* of all heads, for which ones are at work depends on the number of threads */
    x.t = t, x.band = band, x.sums = sums, x.stride = cpu_band_vectors(band) * LANES;
    cpu_places_of(t, band, 0, last - first, &x.k);
    cpu_places_of(t, band, 1, last - first, &x.v);
    if (t->r) cpu_label_places_of(t, band, &x.r);
    for (x.first = first; x.first < last; x.first += HEADS) {
        x.heads = last - x.first < HEADS ? last - x.first : HEADS;
        score(&x);
        for (int32_t h = 0; h < x.heads; h++) add_head(&x, h);
    }
    return 1;
}
