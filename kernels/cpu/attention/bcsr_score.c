/* bcsr_score.c - products of a panel's rows with those of its places: scores, forward and backward
 * the same bits, and g = v do. */
#include <float.h>
#include <math.h>
#include "kernels/cpu/attention/bcsr_panel.h"

typedef struct products { /* of the rows with x[place[i]] + at, to which r[label[i]] is added */
    int32_t places;       /* a multiple of QUADS */
    const uint16_t *place, *label;
    const float *const *x, *const *r;
    int64_t at;
    const uint16_t *mask; /* [vectors] */
    const float *more;    /* [places][4], added; NULL: nothing is */
    cpu_soon *soon;
} products;

/* What is made of products: scores, of which those that are no edges are -inf, and the largest is
 * told; or all as they are, and what is NaN where one is not finite is told. */
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

/* Heads of at most SLICE vectors, 16 lanes: the rows stand in registers. */
CPU_INLINE vec multiply_slice(float *s, const cpu_transposed *from, const products *p, vec told,
                              int how, int vectors, int whole, lanes end)
{
    vec q[SLICE * STRIP];
    CPU_UNROLL
    for (int v = 0; v < vectors; v++) CPU_UNROLL
    for (int i = 0; i < STRIP; i++) q[v * STRIP + i] = from->part[v][i];
    for (int32_t j = 0; j < p->places; j += QUADS) {
        vec w[QUADS];
        CPU_UNROLL
        for (int i = 0; i < QUADS; i++)
            w[i] = cpu_transposed_dots(q, p->x[p->place[j + i]] + p->at,
                                       how & LABELLED ? p->r[p->label[j + i]] : NULL,
                                       how & LABELLED, vectors, whole, end);
        told = put_sums(s, p, j, vec_fold(w), told, how);
    }
    return told;
}

/* Heads of any width: MET columns at a time meet the four rows. As many of them as fill whole
 * vectors. */
CPU_INLINE vec multiply_some(float *s, const cpu_transposed *q, const products *p, int32_t dim,
                             vec told, int how)
{
    enum { SOME = MET % QUADS == 0 ? MET : MET * QUADS };
    const int labelled = how & LABELLED;
    const uint16_t *label = labelled ? p->label : p->place; /* not read then */
    int32_t j = 0;
    for (; j + SOME <= p->places; j += SOME) {
        vec w[SOME];
        CPU_UNROLL
        for (int i = 0; i < SOME; i += MET)
            cpu_transposed_some(w + i, q, p->x, p->place + j + i, p->at, p->r, label + j + i, MET,
                                labelled, dim);
        CPU_UNROLL
        for (int i = 0; i < SOME; i += QUADS)
            told = put_sums(s, p, j + i, vec_fold(w + i), told, how);
    }
    for (; j < p->places; j += QUADS) {
        vec w[QUADS];
        cpu_transposed_some(w, q, p->x, p->place + j, p->at, p->r, label + j, QUADS, labelled, dim);
        told = put_sums(s, p, j, vec_fold(w), told, how);
    }
    return told;
}

CPU_INLINE vec multiply_as(float *s, const cpu_transposed *q, const products *p, int32_t dim,
                           vec told, int how)
{
    const cpu_cut cut = cpu_cut_at(dim, 0);
    if (LANES != 16 || dim > SLICE * LANES) return multiply_some(s, q, p, dim, told, how);
#define SLICE_OF(vectors, whole) told = multiply_slice(s, q, p, told, how, vectors, whole, cut.end)
    CPU_BY_CUT(cut, SLICE_OF)
#undef SLICE_OF
    return told;
}

/* s[i][r] for all places. */
static vec multiply(float *s, const cpu_transposed *q, const products *p, int32_t dim, vec told,
                    int how)
{
    return how == BARE       ? multiply_as(s, q, p, dim, told, BARE)
           : how == MASKED   ? multiply_as(s, q, p, dim, told, MASKED)
           : how == LABELLED ? multiply_as(s, q, p, dim, told, LABELLED)
                             : multiply_as(s, q, p, dim, told, MASKED | LABELLED);
}

static float bias_of(const bcsr_panels *x, int32_t label)
{
    return x->t->bias[(int64_t)x->block->label[label] * x->t->heads + x->head];
}

/* of[i][r] = rows.r_l + b_l of the labels that are wanted; more[place][row] of what the labels of
 * its edges add, for the places behind the shared ones. One by one: a gather takes longer. Returns
 * what is NaN where `odd` is or a product is not finite. */
static vec look_up(bcsr_panels *x, const bcsr_panel *panel, const cpu_transposed *rows, vec odd)
{
    const ref_attend *t = x->t;
    const int32_t count = 4 * (cpu_whole_quads(panel->count) - panel->shared);
    const products p = {
        cpu_whole_quads(panel->labels), panel->wanted, NULL, x->r, NULL, 0, NULL, NULL, x->soon
    };
    if (t->r) odd = multiply(x->of, rows, &p, t->dim, odd, BARE);
    else memset(x->of, 0, sizeof *x->of * 4 * (size_t)panel->labels);
    for (int32_t i = 0; t->bias && i < panel->labels; i++)
        for (int r = 0; r < STRIP; r++) x->of[4 * i + r] += bias_of(x, panel->wanted[i]);
    for (int32_t i = 0; i < count; i++) {
        float one = x->of[4 * panel->from[i] + i % 4];
        __asm__("" : VEC_REGISTER(one));
        x->more[i] = one;
    }
    return odd;
}

void cpu_panels_begin(bcsr_panels *x, const ref_attend *t, const bcsr_block *block, cpu_soon *soon)
{
    x->t = t, x->block = block, x->soon = soon;
    for (int32_t l = 0; t->r && l < block->labels; l++)
        x->r[l] = t->r + (int64_t)block->label[l] * t->dim;
    for (int i = 0; i < block->ranges; i++) {
        const bcsr_range *range = &block->range[i];
        const gsa_part *part = &t->args->parts[range->kind];
        for (int64_t source = range->first, c = range->column; source <= range->last; source++, c++)
            x->k[c] = (const float *)part->k + source * t->width,
            x->v[c] = (const float *)part->v + source * t->width;
    }
}

/* The places behind the shared ones, each of whose rows adds what its own label has. */
static vec score_own(bcsr_panels *x, const bcsr_panel *panel, products p, float *s,
                     const cpu_transposed *rows, vec told, int how)
{
    p.places = cpu_whole_quads(panel->count) - panel->shared, p.place += panel->shared,
    p.mask += panel->shared / QUADS;
    if (p.places == 0) return told;
    const vec odd = look_up(x, panel, rows, how & MASKED ? vec_zero() : told);
    p.more = x->more;
    return multiply(s, rows, &p, x->t->dim, how & MASKED ? told : odd, how);
}

/* s[place][row] <- scale rows.(k + r_l), to which b_l is added but in shared places. */
static vec score(bcsr_panels *x, const bcsr_panel *panel, const float *rows, int64_t stride,
                 float scale, float *s, vec told, int how)
{
    const ref_attend *t = x->t;
    const products p = { panel->shared, panel->column, panel->label, x->k,   x->r,
                         x->at,         panel->mask,   NULL,         x->soon };
    cpu_transposed q;
    cpu_transpose_rows(&q, rows, stride, scale, t->dim);
    told =
        multiply(s, &q, &p, t->dim, told, how | (x->block->labels > 0 && t->r ? LABELLED : BARE));
    return score_own(x, panel, p, s + 4 * panel->shared, &q, told, how);
}

/* Adds the bias of labels that all rows of a place share. */
static void add_bias(const bcsr_panels *x, const bcsr_panel *panel, float *s)
{
    for (int32_t i = 0; i < panel->shared; i++)
        for (int r = 0; r < STRIP; r++) s[4 * i + r] += bias_of(x, panel->label[i]);
}

vec cpu_panel_scores(bcsr_panels *x, int g, float *s)
{
    const ref_attend *t = x->t;
    const bcsr_panel *panel = &x->block->panel[g];
    const float *rows = (const float *)t->args->q + (x->block->row + STRIP * g) * t->width +
                        (int64_t)x->head * t->dim;
    vec top = score(x, panel, rows, t->width, t->scale, s, vec_all(-FLT_MAX), MASKED);
    if (x->block->labels > 0 && t->bias) {
        add_bias(x, panel, s);
        top = vec_all(-FLT_MAX);
        for (int32_t j = 0; j < panel->count; j += QUADS) top = vec_max(vec_load(s + 4 * j), top);
    }
    return vec_quads_max(top);
}

vec cpu_panel_bare_scores(bcsr_panels *x, int g, const float *rows, int64_t stride, float *s,
                          vec odd)
{
    const bcsr_panel *panel = &x->block->panel[g];
    odd = score(x, panel, rows, stride, 1, s, odd, BARE);
    if (x->block->labels > 0 && x->t->bias) add_bias(x, panel, s);
    return odd;
}

vec cpu_panel_values(bcsr_panels *x, int g, const float *rows, int64_t stride, float *s, vec odd)
{
    const bcsr_panel *panel = &x->block->panel[g];
    const products p = {
        cpu_whole_quads(panel->count), panel->column, NULL, x->v, NULL, x->at, NULL, NULL, x->soon
    };
    cpu_transposed q;
    cpu_transpose_rows(&q, rows, stride, 1, x->t->dim);
    return multiply(s, &q, &p, x->t->dim, odd, BARE);
}
