/* tile_score.c - products of a strip's rows with those of its places: scores, forward and backward the same bits, and g = v do. */
#include <float.h>
#include <math.h>
#include "kernels/cpu/attention/tile_own.h"
#include "kernels/cpu/attention/tile_turned.h"

typedef struct products { /* of the rows with x[place[i]] + at, to which r[label[i]] is added */
    int32_t places;       /* a multiple of QUADS */
    const uint16_t *place, *label;
    const float *const *x, *const *r;
    int64_t at;
    const uint16_t *mask; /* [vectors] */
    const float *more;    /* [places][4], added; NULL: nothing is */
    cpu_soon *soon;
} products;

/* What is made of products: scores, of which those that are no edges are -inf, and the largest is told; or all as they are, and what is NaN
 * where one is not finite is told. */
enum { BARE = 0, MASKED = 1, LABELLED = 2 /* with r */ };

/* s[j ..][r] <- what is made of the sums of QUADS places; returns `told` and they. */
CPU_INLINE vec put_sums(float *s, const products *p, int32_t j, vec sum, vec told, int how)
{
    if (!(how & MASKED)) told = vec_fma(sum, vec_zero(), told);
    if (p->more) sum = vec_add(sum, vec_load(p->more + 4 * j));
    if (how & MASKED) {
        sum = vec_keep(lanes_of_bits(p->mask[j / QUADS]), sum, vec_all(-INFINITY));
        told = vec_max(sum, told);
    }
    vec_store(s + 4 * j, sum);
    cpu_ask_portion(p->soon);
    return told;
}

CPU_INLINE vec multiply_slice(float *s, const cpu_turned *from, const products *p, vec told, int how, int vectors, int whole,
                              lanes end)
{
    cpu_turned q;
    CPU_UNROLL
    for (int i = 0; i < STRIP; i++) CPU_UNROLL
    for (int v = 0; v < vectors; v++) q.part[i][v] = from->part[i][v];
    for (int32_t j = 0; j < p->places; j += QUADS) {
        vec w[QUADS];
        CPU_UNROLL
        for (int i = 0; i < QUADS; i++)
            w[i] = cpu_turned_dots(&q, p->x[p->place[j + i]] + p->at, how & LABELLED ? p->r[p->label[j + i]] : NULL,
                                   how & LABELLED, vectors, whole, end);
        told = put_sums(s, p, j, vec_fold(w), told, how);
    }
    return told;
}

/* The same where MET rows at a time meet the four: 2 MET places fill whole vectors. */
CPU_INLINE vec multiply_some(float *s, const cpu_turned *q, const products *p, int32_t dim, vec told, int how)
{
    enum { SOME = 2 * MET };
    const int labelled = how & LABELLED;
    const uint16_t *label = labelled ? p->label : p->place; /* not read then */
    int32_t j = 0;
    for (; j + SOME <= p->places; j += SOME) {
        vec w[SOME];
        CPU_UNROLL
        for (int i = 0; i < SOME; i += MET)
            cpu_turned_some(w + i, q, p->x, p->place + j + i, p->at, p->r, label + j + i, MET, labelled, dim);
        CPU_UNROLL
        for (int i = 0; i < SOME; i += QUADS) told = put_sums(s, p, j + i, vec_fold(w + i), told, how);
    }
    for (; j < p->places; j += QUADS) {
        vec w[QUADS];
        cpu_turned_some(w, q, p->x, p->place + j, p->at, p->r, label + j, 2, labelled, dim);
        told = put_sums(s, p, j, vec_fold(w), told, how);
    }
    return told;
}

CPU_INLINE vec multiply_as(float *s, const cpu_turned *q, const products *p, int32_t dim, vec told, int how)
{
    const cpu_cut cut = cpu_cut_at(dim, 0);
    if (LANES != 16) return multiply_some(s, q, p, dim, told, how);
#define SLICE_OF(vectors, whole) told = multiply_slice(s, q, p, told, how, vectors, whole, cut.end)
    CPU_BY_CUT(cut, SLICE_OF)
#undef SLICE_OF
    return told;
}

/* s[i][r] for all places. */
static vec multiply(float *s, const cpu_turned *q, const products *p, int32_t dim, vec told, int how)
{
    return how == BARE       ? multiply_as(s, q, p, dim, told, BARE)
           : how == MASKED   ? multiply_as(s, q, p, dim, told, MASKED)
           : how == LABELLED ? multiply_as(s, q, p, dim, told, LABELLED)
                             : multiply_as(s, q, p, dim, told, MASKED | LABELLED);
}

/* The same of the places first .. last - 1, whose rows add label vectors of their own, own[from], shared as `way` says. */
CPU_INLINE vec own_slice(float *s, const cpu_own *rows, const products *p, const float *const *own, const uint16_t *from,
                         int32_t first, int32_t last, unsigned way, vec told, int how, int vectors, int whole, lanes end)
{
    cpu_own near;
    rows = cpu_own_near(&near, rows, vectors);
    for (int32_t j = first; j < last; j += QUADS) {
        const vec sum = cpu_own_products(rows, p->x, p->place + j, p->at, own, from + 4 * j, way, vectors, whole, end);
        told = put_sums(s, p, j, sum, told, how);
    }
    return told;
}

CPU_INLINE vec multiply_own_as(float *s, const cpu_own *q, const products *p, const float *const *own,
                               const cpu_strip *strip, int32_t dim, vec told, int how)
{
    static const uint8_t ways[LABEL_WAYS] = CPU_LABEL_WAYS;
    const cpu_cut cut = cpu_own_cut(dim);
    CPU_UNROLL
    for (int w = 0; w < LABEL_WAYS; w++) {
        const int32_t first = w ? strip->end[w - 1] : 0, last = strip->end[w];
        if (first == last) continue;
#define SLICE_OF(vectors, whole)                                                                                            \
    told = own_slice(s, q, p, own, strip->from, first, last, ways[w], told, how, vectors, whole, cut.end)
        CPU_BY_OWN(cut, SLICE_OF)
#undef SLICE_OF
    }
    return told;
}

static vec multiply_own(float *s, const cpu_own *q, const products *p, const float *const *own, const cpu_strip *strip,
                        int32_t dim, vec told, int how)
{
    return how & MASKED ? multiply_own_as(s, q, p, own, strip, dim, told, MASKED)
                        : multiply_own_as(s, q, p, own, strip, dim, told, BARE);
}

static float bias_of(const cpu_strips *x, int32_t label)
{
    return x->t->bias[(int64_t)x->tile->label[label] * x->t->heads + x->head];
}

/* of[i][r] = b_l of the labels that are wanted; more[place][row] of what the labels of its edges add, for the places behind the plain ones.
 * One by one: a gather takes longer. */
static void look_up(cpu_strips *x, const cpu_strip *strip)
{
    const int32_t count = 4 * (cpu_whole_quads(strip->count) - strip->plain);
    for (int32_t i = 0; i < strip->labels; i++) x->of[i] = bias_of(x, strip->wanted[i]);
    for (int32_t i = 0; i < count; i++) {
        float one = x->of[strip->from[i]];
        __asm__("" : "+x"(one));
        x->more[i] = one;
    }
}

void cpu_strips_begin(cpu_strips *x, const ref_attend *t, const cpu_tile *tile, cpu_soon *soon)
{
    x->t = t, x->tile = tile, x->soon = soon;
    if (t->r) cpu_tile_vectors(t, tile, x->r);
    for (int i = 0; i < tile->clusters; i++) {
        const cpu_cluster *cluster = &tile->cluster[i];
        const gsa_part *part = &t->args->parts[cluster->kind];
        for (int64_t source = cluster->first, c = cluster->column; source <= cluster->last; source++, c++)
            x->k[c] = (const float *)part->k + source * t->width, x->v[c] = (const float *)part->v + source * t->width;
    }
}

/* The places behind the plain ones, each of whose rows adds what its own label has. `rows` are the strip's, `turned` times `scale`. */
static vec score_mixed(cpu_strips *x, const cpu_strip *strip, const float *rows, int64_t stride, float scale, products p,
                       float *s, const cpu_turned *turned, vec told, int how)
{
    const ref_attend *t = x->t;
    cpu_own q;
    p.places = cpu_whole_quads(strip->count) - strip->plain, p.place += strip->plain, p.mask += strip->plain / QUADS;
    if (p.places == 0) return told;
    if (t->bias) look_up(x, strip), p.more = x->more;
    if (!t->r) return multiply(s, turned, &p, t->dim, told, how);
    for (int32_t i = 0; i < strip->labels; i++) x->own[i] = x->r[strip->wanted[i]];
    cpu_own_rows(&q, rows, stride, scale, t->dim);
    return multiply_own(s, &q, &p, x->own, strip, t->dim, told, how);
}

/* s[place][row] <- scale rows.(k + r_l), to which b_l is added but in plain places. */
static vec score(cpu_strips *x, const cpu_strip *strip, const float *rows, int64_t stride, float scale, float *s, vec told,
                 int how)
{
    const ref_attend *t = x->t;
    const products p = { strip->plain, strip->column, strip->label, x->k, x->r, x->at, strip->mask, NULL, x->soon };
    cpu_turned q;
    cpu_turn_rows(&q, rows, stride, scale, t->dim);
    told = multiply(s, &q, &p, t->dim, told, how | (x->tile->labels > 0 && t->r ? LABELLED : BARE));
    return score_mixed(x, strip, rows, stride, scale, p, s + 4 * strip->plain, &q, told, how);
}

/* Adds the bias of labels that all rows of a place share. */
static void add_bias(const cpu_strips *x, const cpu_strip *strip, float *s)
{
    for (int32_t i = 0; i < strip->plain; i++)
        for (int r = 0; r < STRIP; r++) s[4 * i + r] += bias_of(x, strip->label[i]);
}

vec cpu_strip_scores(cpu_strips *x, int g, float *s)
{
    const ref_attend *t = x->t;
    const cpu_strip *strip = &x->tile->strip[g];
    const float *rows = (const float *)t->args->q + (x->tile->row + STRIP * g) * t->width + (int64_t)x->head * t->dim;
    vec top = score(x, strip, rows, t->width, t->scale, s, vec_all(-FLT_MAX), MASKED);
    if (x->tile->labels > 0 && t->bias) {
        add_bias(x, strip, s);
        top = vec_all(-FLT_MAX);
        for (int32_t j = 0; j < strip->count; j += QUADS) top = vec_max(vec_load(s + 4 * j), top);
    }
    return vec_quads_max(top);
}

vec cpu_strip_bare_scores(cpu_strips *x, int g, const float *rows, int64_t stride, float *s, vec odd)
{
    const cpu_strip *strip = &x->tile->strip[g];
    odd = score(x, strip, rows, stride, 1, s, odd, BARE);
    if (x->tile->labels > 0 && x->t->bias) add_bias(x, strip, s);
    return odd;
}

vec cpu_strip_values(cpu_strips *x, int g, const float *rows, int64_t stride, float *s, vec odd)
{
    const cpu_strip *strip = &x->tile->strip[g];
    const products p = { cpu_whole_quads(strip->count), strip->column, NULL, x->v, NULL, x->at, NULL, NULL, x->soon };
    cpu_turned q;
    cpu_turn_rows(&q, rows, stride, 1, x->t->dim);
    return multiply(s, &q, &p, x->t->dim, odd, BARE);
}
