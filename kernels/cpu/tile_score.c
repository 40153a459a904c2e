/* tile_score.c - the scores of a strip. */
#include <float.h>
#include <math.h>
#include "kernels/cpu/tile_own.h"
#include "kernels/cpu/tile_turned.h"

typedef struct products { /* of the rows with x[place[i]] + at, to which r[label[i]] is added */
    int32_t places;       /* a multiple of QUADS */
    const uint16_t *place, *label;
    const float *const *x, *const *r;
    int64_t at;
    const uint16_t *mask; /* [vectors] */
    const float *more;    /* [places][4], added */
} products;

/* What is made of products: masked scores of columns, of which the largest is told, with a label for all rows of a place or with what was
 * looked up. */
enum { MASKED, LABELLED, LOOKED_UP };

/* s[j ..][r] <- what is made of the sums of QUADS places; returns the larger of `top` and the scores. */
CPU_INLINE vec put_scores(float *s, const products *p, int32_t j, vec sum, vec top, int how)
{
    if (how == LOOKED_UP) sum = vec_add(sum, vec_load(p->more + 4 * j));
    sum = vec_keep(lanes_of_bits(p->mask[j / QUADS]), sum, vec_all(-INFINITY));
    vec_store(s + 4 * j, sum);
    return vec_max(sum, top);
}

CPU_INLINE vec multiply_slice(float *s, const cpu_turned *from, const products *p, cpu_soon *soon, vec top, int how,
                              int vectors, int whole, lanes end)
{
    cpu_turned q;
    CPU_UNROLL
    for (int i = 0; i < STRIP; i++) CPU_UNROLL
    for (int v = 0; v < vectors; v++) q.part[i][v] = from->part[i][v];
    for (int32_t j = 0; j < p->places; j += QUADS) {
        vec w[QUADS];
        CPU_UNROLL
        for (int i = 0; i < QUADS; i++)
            w[i] = cpu_turned_dots(&q, p->x[p->place[j + i]] + p->at, how == LABELLED ? p->r[p->label[j + i]] : NULL,
                                   how == LABELLED, vectors, whole, end);
        top = put_scores(s, p, j, vec_fold(w), top, how);
        cpu_ask_portion(soon);
    }
    return top;
}

/* The same where MET rows at a time meet the four: 2 MET places fill whole vectors. */
CPU_INLINE vec multiply_some(float *s, const cpu_turned *q, const products *p, cpu_soon *soon, int32_t dim, vec top, int how)
{
    enum { SOME = 2 * MET };
    const int labelled = how == LABELLED;
    const uint16_t *label = labelled ? p->label : p->place; /* not read then */
    int32_t j = 0;
    for (; j + SOME <= p->places; j += SOME) {
        vec w[SOME];
        CPU_UNROLL
        for (int i = 0; i < SOME; i += MET)
            cpu_turned_some(w + i, q, p->x, p->place + j + i, p->at, p->r, label + j + i, MET, labelled, dim);
        CPU_UNROLL
        for (int i = 0; i < SOME; i += QUADS) {
            top = put_scores(s, p, j + i, vec_fold(w + i), top, how);
            cpu_ask_portion(soon);
        }
    }
    for (; j < p->places; j += QUADS) {
        vec w[QUADS];
        cpu_turned_some(w, q, p->x, p->place + j, p->at, p->r, label + j, 2, labelled, dim);
        top = put_scores(s, p, j, vec_fold(w), top, how);
        cpu_ask_portion(soon);
    }
    return top;
}

/* s[i][r] for all places; returns the larger of `top` and the scores. */
static vec multiply(float *s, const cpu_turned *q, const products *p, cpu_soon *soon, int32_t dim, vec top, int how)
{
    const cpu_cut cut = cpu_cut_at(dim, 0);
    if (LANES != 16)
        return how == MASKED     ? multiply_some(s, q, p, soon, dim, top, MASKED)
               : how == LABELLED ? multiply_some(s, q, p, soon, dim, top, LABELLED)
                                 : multiply_some(s, q, p, soon, dim, top, LOOKED_UP);
#define SCORE_MASKED(vectors, whole)    top = multiply_slice(s, q, p, soon, top, MASKED, vectors, whole, cut.end)
#define SCORE_LABELLED(vectors, whole)  top = multiply_slice(s, q, p, soon, top, LABELLED, vectors, whole, cut.end)
#define SCORE_LOOKED_UP(vectors, whole) top = multiply_slice(s, q, p, soon, top, LOOKED_UP, vectors, whole, cut.end)
    if (how == MASKED) CPU_BY_CUT(cut, SCORE_MASKED)
    else if (how == LABELLED) CPU_BY_CUT(cut, SCORE_LABELLED)
    else CPU_BY_CUT(cut, SCORE_LOOKED_UP)
#undef SCORE_MASKED
#undef SCORE_LABELLED
#undef SCORE_LOOKED_UP
    return top;
}

/* The same of places whose rows add label vectors of their own, own[from / 4]. */
CPU_INLINE vec own_slice(float *s, const cpu_own *rows, const products *p, const float *const *own, const uint16_t *from,
                         cpu_soon *soon, vec top, int how, int vectors, int whole, lanes end)
{
    cpu_own near;
    rows = cpu_own_near(&near, rows, vectors);
    for (int32_t j = 0; j < p->places; j += QUADS) {
        const vec sum = cpu_own_products(rows, p->x, p->place + j, p->at, own, from + 4 * j, vectors, whole, end);
        top = put_scores(s, p, j, sum, top, how);
        cpu_ask_portion(soon);
    }
    return top;
}

static vec multiply_own(float *s, const cpu_own *q, const products *p, const float *const *own, const uint16_t *from,
                        cpu_soon *soon, int32_t dim, vec top, int how)
{
    const cpu_cut cut = cpu_own_cut(dim);
#define OWN_MASKED(vectors, whole)    top = own_slice(s, q, p, own, from, soon, top, MASKED, vectors, whole, cut.end)
#define OWN_LOOKED_UP(vectors, whole) top = own_slice(s, q, p, own, from, soon, top, LOOKED_UP, vectors, whole, cut.end)
    if (how == MASKED) CPU_BY_OWN(cut, OWN_MASKED)
    else CPU_BY_OWN(cut, OWN_LOOKED_UP)
#undef OWN_MASKED
#undef OWN_LOOKED_UP
    return top;
}

static float bias_of(const cpu_strips *x, int32_t label)
{
    return x->t->bias[(int64_t)x->tile->label[label] * x->t->heads + x->head];
}

/* of[i][r] = b_l of the labels that are wanted. */
static void score_wanted(cpu_strips *x, const cpu_strip *strip)
{
    for (int32_t i = 0; i < strip->labels; i++)
        for (int r = 0; r < STRIP; r++) x->of[4 * i + r] = bias_of(x, strip->wanted[i]);
}

/* more[place][row] of what the labels of its edges add, for the places behind the plain ones. One by one: a gather takes longer. */
static void look_up(cpu_strips *x, const cpu_strip *strip)
{
    const int32_t count = 4 * (cpu_whole_quads(strip->count) - strip->plain);
    for (int32_t i = 0; i < count; i += 4) CPU_UNROLL
    for (int j = 0; j < 4; j++) {
        float one = x->of[strip->from[i + j]];
        __asm__("" : "+x"(one));
        x->more[i + j] = one;
    }
}

/* Adds the bias of labels that all rows of a place share; returns the largest scores of all places. */
static vec add_bias(const cpu_strips *x, const cpu_strip *strip, float *s)
{
    vec top = vec_all(-FLT_MAX);
    for (int32_t i = 0; i < strip->plain; i++)
        for (int r = 0; r < STRIP; r++) s[4 * i + r] += bias_of(x, strip->label[i]);
    for (int32_t j = 0; j < strip->count; j += QUADS) top = vec_max(vec_load(s + 4 * j), top);
    return top;
}

void GSA_CPU(strips_begin)(cpu_strips *x, const ref_attend *t, const cpu_tile *tile, const cpu_pack *pack, cpu_soon *soon)
{
    const int64_t stride = pack ? pack->stride : t->width;
    x->t = t, x->tile = tile, x->soon = soon;
    if (t->r) cpu_tile_vectors(t, tile, x->r);
    for (int i = 0; i < tile->clusters; i++) {
        const cpu_cluster *cluster = &tile->cluster[i];
        const gsa_part *part = &t->args->parts[cluster->kind];
        const int64_t place = pack ? GSA_CPU(pack_place)(pack, cluster) : cluster->first * t->width;
        const float *k = (pack ? pack->plane[0] : (const float *)part->k) + place,
                    *v = (pack ? pack->plane[1] : (const float *)part->v) + place;
        for (int64_t c = cluster->column, n = 0; n <= (int64_t)cluster->last - cluster->first; c++, n++)
            x->k[c] = k + n * stride, x->v[c] = v + n * stride;
    }
}

/* Scores of the places behind the plain ones, each of whose rows adds what its own label has. */
static vec score_mixed(cpu_strips *x, const cpu_strip *strip, const float *rows, products p, float *s,
                       const cpu_turned *turned, vec top)
{
    const ref_attend *t = x->t;
    cpu_own q;
    p.places = cpu_whole_quads(strip->count) - strip->plain, p.place += strip->plain, p.mask += strip->plain / QUADS;
    if (p.places == 0) return top;
    if (t->bias) score_wanted(x, strip), look_up(x, strip);
    if (!t->r) return multiply(s, turned, &p, x->soon, t->dim, top, t->bias ? LOOKED_UP : MASKED);
    for (int32_t i = 0; i < strip->labels; i++) x->own[i] = x->r[strip->wanted[i]];
    cpu_own_rows(&q, rows, t->width, t->scale, t->dim);
    return multiply_own(s, &q, &p, x->own, strip->from, x->soon, t->dim, top, t->bias ? LOOKED_UP : MASKED);
}

vec GSA_CPU(strip_scores)(cpu_strips *x, int g, float *s)
{
    const ref_attend *t = x->t;
    const cpu_strip *strip = &x->tile->strip[g];
    const float *rows = (const float *)t->args->q + (x->tile->row + STRIP * g) * t->width + (int64_t)x->head * t->dim;
    const int labelled = x->tile->labels > 0;
    products p = { strip->plain, strip->column, strip->label, x->k, x->r, x->at, strip->mask, x->more };
    cpu_turned q;
    vec top = vec_all(-FLT_MAX);
    cpu_turn_rows(&q, rows, t->width, t->scale, t->dim);
    top = multiply(s, &q, &p, x->soon, t->dim, top, labelled && t->r ? LABELLED : MASKED);
    top = score_mixed(x, strip, rows, p, s + 4 * strip->plain, &q, top);
    return vec_quads_max(labelled && t->bias ? add_bias(x, strip, s) : top);
}
