/* bundle_backward.c - gradients of a bundle's rows for some heads, as attend_backward.c has them:
 *   p = exp(s - lse),  ds = p (g - D),  g = v.do,  D = do.o;   dq += ds k,  dk += ds q,  dv += p do
 * Rows add to dK and dV one after another. A row and four heads with something that is not finite are left to the row way; four heads
 * stay together whatever the number of threads. */
#include <math.h>
#include "kernels/cpu/attention/bundle.h"
#include "kernels/cpu/attention/sweep.h"

typedef struct back_bundle { /* some heads */
    const cpu_shelves *shelves;
    const cpu_bundle *b;
    const float *q[BUNDLE_ROWS], *out[BUNDLE_ROWS], *dout[BUNDLE_ROWS], *lse[BUNDLE_ROWS];
    int32_t first, heads;
    float p[GROUPS * BUNDLE_EDGES * LANES], ds[GROUPS * BUNDLE_EDGES * LANES]; /* as scores stand (bundle_forward.c) */
    unsigned dead[HEADS];                                                      /* bits of rows whose lse is -inf */
} back_bundle;

/* s and g of QUADS heads. */
static void score(back_bundle *x, int32_t h, int32_t heads)
{
    const ref_attend *t = x->shelves->t;
    const cpu_bundle *b = x->b;
    float *p = x->p + h / QUADS * b->places * LANES, *ds = x->ds + h / QUADS * b->places * LANES;
    for (int32_t e = 0; e < b->places; e++) {
        vec_store(p + e * LANES, cpu_bundle_scores(t, b, x->q, e, x->first + h, heads));
        vec_store(ds + e * LANES, cpu_bundle_dots(x->dout, b->v[e], NULL, (int64_t)(x->first + h) * t->dim, t->dim, heads));
    }
}

/* p and p (g - D) of QUADS heads. */
static void slopes(back_bundle *x, int32_t h, int32_t heads)
{
    const ref_attend *t = x->shelves->t;
    const int32_t places = x->b->places;
    const float *kept[BUNDLE_ROWS];
    float *p = x->p + h / QUADS * places * LANES, *ds = x->ds + h / QUADS * places * LANES;
    for (int r = 0; r < BUNDLE_ROWS; r++) kept[r] = x->lse[r] + x->first + h;
    const vec lse = cpu_of_rows(kept, heads),
              inner = cpu_bundle_dots(x->dout, x->out, NULL, (int64_t)(x->first + h) * t->dim, t->dim, heads);
    for (int32_t e = 0; e < places; e += 2) {
        const int two = e + 1 < places;
        vec y[2] = { vec_sub(vec_load(p + e * LANES), lse), vec_sub(vec_load(p + (e + two) * LANES), lse) };
        vec_exp_some(y, 2);
        for (int i = 0; i <= two; i++) {
            vec_store(p + (e + i) * LANES, y[i]);
            vec_store(ds + (e + i) * LANES, vec_mul(y[i], vec_sub(vec_load(ds + (e + i) * LANES), inner)));
        }
    }
}

/* p, which dropout has a part in, and ds of the heads at work. */
static void weigh(back_bundle *x)
{
    const ref_attend *t = x->shelves->t;
    cpu_bits kept[GROUPS * BUNDLE_EDGES];
    for (int32_t h = 0; h < x->heads; h += QUADS) score(x, h, x->heads - h < QUADS ? x->heads - h : QUADS);
    if (t->drop.on) {
        cpu_keep_bundle(t, x->b->row, x->b->places, x->first, x->heads, kept);
        cpu_bundle_keep(t, x->b, kept, x->heads, x->ds);
    }
    for (int32_t h = 0; h < x->heads; h += QUADS) slopes(x, h, x->heads - h < QUADS ? x->heads - h : QUADS);
    if (t->drop.on) cpu_bundle_keep(t, x->b, kept, x->heads, x->p);
}

static void find_dead(back_bundle *x)
{
    for (int32_t j = 0; j < x->heads; j++) {
        x->dead[j] = 0;
        for (int r = 0; r < BUNDLE_ROWS; r++) x->dead[j] |= x->lse[r][x->first + j] == -INFINITY ? 1u << r : 0;
    }
}

/* What a head of row r, or all of one, adds to its sources and takes of them. */
typedef struct giving {
    int32_t edges;
    const float *q, *dout, *p, *ds; /* p, ds: LANES from place to place; ds is scaled */
    float *dq;
    const float *const *k, *const *r; /* [edges][BUNDLE_ROWS] */
    float *dk[BUNDLE_EDGES], *dv[BUNDLE_EDGES], *dr[BUNDLE_EDGES];
    int labels; /* r is there */
} giving;

CPU_INLINE void query_slice(const giving *g, int64_t at, int64_t from, int vectors, int whole, lanes end)
{
    vec y[SLICE];
    for (int v = 0; v < vectors; v++) y[v] = cpu_piece(g->dq + at, v, vectors, whole, end);
    for (int32_t e = 0; e < g->edges; e++) {
        const vec share = vec_all(g->ds[e * LANES]);
        for (int v = 0; v < vectors; v++)
            y[v] = vec_fma(share, cpu_piece(g->k[e * BUNDLE_ROWS] + at, v, vectors, whole, end), y[v]);
        for (int v = 0; g->labels && v < vectors; v++)
            y[v] = vec_fma(share, cpu_piece(g->r[e * BUNDLE_ROWS] + from, v, vectors, whole, end), y[v]);
    }
    for (int v = 0; v < vectors; v++) cpu_put_piece(g->dq + at, v, vectors, whole, end, y[v]);
}

CPU_INLINE void give_slice(float *const *y, const float *share, const float *row, int32_t edges, int64_t at, int64_t to,
                           int vectors, int whole, lanes end)
{
    vec x[SLICE];
    for (int v = 0; v < vectors; v++) x[v] = cpu_piece(row + at, v, vectors, whole, end);
    for (int32_t e = 0; e < edges; e++) {
        const vec s = vec_all(share[e * LANES]);
        for (int v = 0; y[e] && v < vectors; v++)
            cpu_put_piece(y[e] + to, v, vectors, whole, end, vec_fma(s, x[v], cpu_piece(y[e] + to, v, vectors, whole, end)));
    }
}

CPU_INLINE void head_slice(const giving *g, int64_t at, int64_t from, int wants_labels, int vectors, int whole, lanes end)
{
    if (g->dq) query_slice(g, at, from, vectors, whole, end);
    give_slice(g->dk, g->ds, g->q, g->edges, at, at, vectors, whole, end);
    give_slice(g->dv, g->p, g->dout, g->edges, at, at, vectors, whole, end);
    if (wants_labels) give_slice(g->dr, g->ds, g->q, g->edges, at, from, vectors, whole, end);
}

/* What row r gives and takes; dr: of the labels' sums. */
static void begin_giving(const back_bundle *x, int r, giving *g)
{
    const ref_attend *t = x->shelves->t;
    const cpu_bundle *b = x->b;
    float *dr = x->shelves->sums->dr;
    g->k = &b->k[0][r], g->r = &b->r[0][r];
    g->edges = b->edges[r], g->q = x->q[r], g->dout = x->dout[r], g->labels = t->r != NULL;
    g->dq = t->args->dq ? (float *)t->args->dq + b->row[r] * t->width : NULL;
    for (int32_t e = 0; e < g->edges; e++) {
        const gsa_part *part = &t->args->parts[b->kind[e][r]];
        const int64_t at = b->source[e][r] * t->width;
        g->dk[e] = part->dk ? (float *)part->dk + at : NULL, g->dv[e] = part->dv ? (float *)part->dv + at : NULL;
        g->dr[e] = dr ? dr + (int64_t)b->label[e][r] * t->dim : NULL;
    }
}

/* BUNDLE_WIDE vectors of heads. */
CPU_INLINE void some_heads(const giving *g, int32_t group, int64_t at, int vectors)
{
    if (g->dq) {
        vec y[BUNDLE_WIDE];
        CPU_UNROLL
        for (int v = 0; v < BUNDLE_WIDE; v++) y[v] = vec_load(g->dq + at + v * LANES);
        cpu_bundle_mix(y, g->ds, group, g->k, at, g->edges, 0, vectors);
        CPU_UNROLL
        for (int v = 0; v < BUNDLE_WIDE; v++) vec_store(g->dq + at + v * LANES, y[v]);
    }
    cpu_bundle_give(g->dk, g->ds, group, g->q + at, at, g->edges, vectors);
    cpu_bundle_give(g->dv, g->p, group, g->dout + at, at, g->edges, vectors);
}

/* How many heads go together: 1 where label vectors have a part, or a head of the row has no gradient. */
static int together_of(const back_bundle *x, int r)
{
    const ref_attend *t = x->shelves->t;
    unsigned dead = 0;
    for (int32_t h = 0; h < x->heads; h++) dead |= x->dead[h];
    return t->r || x->shelves->sums->dr || dead >> r & 1 ? 0 : cpu_bundle_heads(t->dim);
}

static void give(const back_bundle *x, int r)
{
    const ref_attend *t = x->shelves->t;
    const int together = together_of(x, r);
    const int32_t group = x->b->places * LANES;
    giving g;
    int32_t h = 0;
    begin_giving(x, r, &g);
    for (; together && h + together <= x->heads; h += together) {
        const int32_t place = h / QUADS * group + 4 * (h % QUADS) + r;
        g.p = x->p + place, g.ds = x->ds + place;
#define HEADS_OF(vectors) some_heads(&g, group, (int64_t)(x->first + h) * t->dim, vectors)
        CPU_BY_BUNDLE_HEADS(together, HEADS_OF)
#undef HEADS_OF
    }
    for (; h < x->heads; h++) {
        const int32_t place = h / QUADS * group + 4 * (h % QUADS) + r;
        const int64_t at = (int64_t)(x->first + h) * t->dim;
        if (x->dead[h] >> r & 1) continue;
        g.p = x->p + place, g.ds = x->ds + place;
        for (int32_t i = 0; i < t->dim; i += SLICE * LANES) {
            const cpu_cut cut = cpu_cut_at(t->dim, i);
#define SLICE_OF(vectors, whole) head_slice(&g, at + i, i, x->shelves->sums->dr != NULL, vectors, whole, cut.end)
            CPU_BY_CUT(cut, SLICE_OF)
#undef SLICE_OF
        }
    }
}

/* db_{l,h} += ds. */
static void add_label_bias(const back_bundle *x, int r)
{
    const ref_label_sums *sums = x->shelves->sums;
    for (int32_t h = 0; h < x->heads; h++)
        for (int32_t e = 0; e < x->b->edges[r] && !(x->dead[h] >> r & 1); e++)
            sums->db[(int64_t)x->b->label[e][r] * sums->group + x->first + h - sums->first_head] +=
                x->ds[(h / QUADS * x->b->places + e) * LANES + 4 * (h % QUADS) + r];
}

void cpu_bundle_backward(const cpu_shelves *shelves, const cpu_bundle *b)
{
    const ref_attend *t = shelves->t;
    back_bundle x;
    x.shelves = shelves, x.b = b;
    cpu_bundle_rows(b, t->args->q, t->width, x.q);
    cpu_bundle_rows(b, t->args->out, t->width, x.out);
    cpu_bundle_rows(b, t->args->dout, t->width, x.dout);
    cpu_bundle_rows(b, t->args->lse, t->heads, x.lse);
    for (x.first = shelves->first; x.first < shelves->last; x.first += HEADS) {
        x.heads = shelves->last - x.first < HEADS ? shelves->last - x.first : HEADS;
        const int32_t groups = (x.heads + QUADS - 1) / QUADS;
        weigh(&x);
        find_dead(&x);
        for (int r = 0; r < b->rows && shelves->sums->db; r++) add_label_bias(&x, r);
        for (int32_t i = 0; i < groups * b->places * LANES; i += LANES)
            vec_store(x.ds + i, vec_mul(vec_load(x.ds + i), vec_all(t->scale)));
        for (int r = 0; r < b->rows; r++) give(&x, r);
    }
}

/* The row way for the heads first .. last-1 of a row of one edge. */
static void row_alone(const cpu_shelves *x, int64_t row, int32_t first, int32_t last)
{
    cpu_block block;
    ref_walk walk = ref_walk_of(x->t->edges, row);
    block.first = 0, block.count = 0;
    while (cpu_next(x->t, &walk, &block)) cpu_back_block(x->t, row, &block, first, last, x->sums);
}

/* Whether lse and do.v of some heads are finite. */
static int finite(const ref_attend *t, int64_t row, const float *dout, const float *v, int32_t first, int32_t last)
{
    const float *lse = (const float *)t->args->lse + row * t->heads;
    vec sum = vec_zero();
    float odd = 0;
    for (int32_t h = first; h < last; h++) odd += 0 * lse[h];
    for (int64_t i = (int64_t)first * t->dim, end = (int64_t)last * t->dim; i < end; i += LANES) {
        const lanes m = lanes_first(end - i < LANES ? (int)(end - i) : LANES);
        sum = vec_fma(vec_load_first(dout + i, m), vec_load_first(v + i, m), sum);
    }
    return odd == 0 && vec_bits_nonzero(vec_mul(sum, vec_zero())) == 0;
}

/* dv += m do in the columns of some heads. */
static void give_single(const ref_attend *t, float *dv, const float *dout, int32_t first, int32_t last, float m)
{
    for (int64_t i = (int64_t)first * t->dim, end = (int64_t)last * t->dim; i < end; i += LANES) {
        const lanes all = lanes_first(end - i < LANES ? (int)(end - i) : LANES);
        vec_store_first(dv + i, all, vec_fma(vec_all(m), vec_load_first(dout + i, all), vec_load_first(dv + i, all)));
    }
}

void cpu_single_backward(const cpu_shelves *x, int64_t row)
{
    const ref_attend *t = x->t;
    const gsa_edges *edges = t->edges;
    const gsa_run *run = edges->runs + edges->run_offset[row];
    while (run->count == 0) run++;
    const gsa_part *part = &t->args->parts[run->kind];
    const float *dout = (const float *)t->args->dout + row * t->width, *v = (const float *)part->v + run->first * t->width;
    float *dv = part->dv ? (float *)part->dv + run->first * t->width : NULL, m[KEPT_HEADS];
    for (int32_t h = x->first; h < x->last; h += KEPT_HEADS) {
        const int32_t last = h + KEPT_HEADS < x->last ? h + KEPT_HEADS : x->last;
        if (!finite(t, row, dout, v, h, last)) {
            row_alone(x, row, h, last);
            continue;
        }
        if (dv && !t->drop.on) give_single(t, dv, dout, h, last, 1);
        if (!dv || !t->drop.on) continue;
        ref_drop_four(&t->drop, t->drop.example_id[edges->row_example[row]], edges->row_local[row], 0, (uint32_t)h / 4, m);
        for (int32_t j = h; j < last; j++) give_single(t, dv, dout, j, j + 1, m[j - h]);
    }
}
