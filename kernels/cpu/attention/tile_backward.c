/* tile_backward.c - gradients of a tile's rows for some heads: five small products a block of columns,
 *   s = k q,  g = v do,  dq += ds k,  dk += ds q,  dv += p do   with   p = exp(s - lse),  ds = p (g - D),  D = do.o
 * so that a row of dK and dV is read and written once a tile, not once an edge. */
#include <math.h>
#include "kernels/cpu/attention/kept.h"
#include "kernels/cpu/attention/tile_read.h"
#include "kernels/cpu/attention/tile_sources.h"

typedef struct tile_head {
    const ref_attend *t;
    const cpu_tile *tile;
    const cpu_kept_tile *kept; /* where there is dropout */
    cpu_soon *soon;
    int32_t head;
    int64_t column, at; /* of the head in a row; of the head in the first row */
    const float *q[LANES], *dout[LANES];
    float *dq[LANES];
    float qt[TILE_DIM * LANES], doutt[TILE_DIM * LANES];       /* qt is scaled */
    float p[BLOCK * LANES], ds[BLOCK * LANES];                 /* of a block of columns */
    float all[TILE_PLACED * LANES];                            /* ds of all columns, not scaled, where labels matter */
    float of[TILE_LABELS * LANES], slope[TILE_LABELS * LANES]; /* what labels add to scores; sums of ds by label */
    const float *vectors[TILE_LABELS];
    int32_t pair;   /* the first of those of the block at work */
    int odd;        /* a label vector is not finite */
    vec lse, inner; /* D */
} tile_head;

/* What labels add to scores. */
static void prepare_labels(tile_head *x)
{
    const int32_t labels = x->tile->labels;
    vec odd = vec_zero();
    memset(x->of, 0, sizeof(float) * LANES * (size_t)labels);
    if (x->t->r) {
        cpu_tile_vectors(x->t, x->tile, x->vectors);
        cpu_tile_dots(x->of, x->qt, x->vectors, 0, x->t->dim, labels, x->soon);
        for (int32_t l = 0; l < labels; l++) odd = vec_fma(vec_load(x->of + l * LANES), vec_zero(), odd);
    }
    x->odd = vec_has_nan(odd);
    cpu_add_label_bias(x->t, x->tile, x->head, x->of);
}

static void prepare(tile_head *x)
{
    const ref_attend *t = x->t;
    const gsa_attend_args *args = t->args;
    const float *lse = (const float *)args->lse + x->tile->row * t->heads + x->head;
    float each[LANES];
    x->column = (int64_t)x->head * t->dim, x->at = x->tile->row * t->width + x->column;
    x->inner = cpu_row_dots((const float *)args->out + x->at, (const float *)args->dout + x->at, t->width, t->dim);
    if (!cpu_by_fours(t, x->tile)) cpu_turn(x->doutt, (const float *)args->dout + x->at, t->width, t->dim, 1);
    if (cpu_turns(t, x->tile)) cpu_turn(x->qt, (const float *)args->q + x->at, t->width, t->dim, t->scale);
    for (int r = 0; r < LANES; r++) {
        const int64_t row = (x->tile->row + r) * t->width;
        each[r] = lse[(int64_t)r * t->heads];
        x->q[r] = (const float *)args->q + row, x->dout[r] = (const float *)args->dout + row;
        x->dq[r] = args->dq ? (float *)args->dq + row + x->column : NULL;
    }
    x->lse = vec_load(each);
    prepare_labels(x);
}

static void score_block(tile_head *x, const cpu_columns *c)
{
    const ref_attend *t = x->t;
    cpu_score_tile(t, x->tile, c, x->p, (const float *)t->args->q + x->at, t->scale, x->qt, c->k, x->column, x->soon);
    cpu_score_tile(t, x->tile, c, x->ds, (const float *)t->args->dout + x->at, 1, x->doutt, c->v, x->column, x->soon);
}

/* Returns `odd`, NaN where a score is not finite before its label's is added: a bias of -inf is as good as any. */
static vec add_label_scores(tile_head *x, const cpu_columns *c, float *s, vec odd)
{
    const cpu_pair *pair = x->tile->pair + x->pair, *end = x->tile->pair + x->tile->pairs;
    for (int32_t i = 0; i < c->count; i++, s += LANES) {
        vec sum = vec_load(s);
        odd = vec_fma(sum, vec_zero(), odd);
        for (; pair < end && pair->column == c->first + i; pair++)
            sum = vec_add_where(lanes_of_bits(pair->rows), sum, vec_load(x->of + pair->label * LANES));
        vec_store(s, sum);
    }
    x->pair = (int32_t)(pair - x->tile->pair);
    return odd;
}

/* p and ds, scaled, of a block of columns from what they score; 0 when something is not finite. */
static int slopes(tile_head *x, const cpu_columns *c, float *p, float *ds)
{
    const ref_attend *t = x->t;
    const vec scale = vec_all(t->scale);
    vec odd = vec_mul(vec_add(x->lse, x->inner), vec_zero());
    if (t->drop.on) cpu_keep_columns(t, ds, x->kept, x->head, c->first, c->count);
    const int labelled = x->tile->labels > 0;
    if (labelled) odd = add_label_scores(x, c, p, odd);
    float *all = labelled ? x->all + c->first * LANES : ds;
    for (int32_t i = 0, some; i < c->count; i += some) {
        vec s[VEC_SOME];
        some = c->count - i < VEC_SOME ? 1 : VEC_SOME;
        for (int j = 0; j < some; j++) {
            s[j] = vec_load(p + (i + j) * LANES);
            if (!labelled) odd = vec_fma(s[j], vec_zero(), odd);
            s[j] = vec_sub(s[j], x->lse);
        }
        if (some == VEC_SOME) vec_exp_some(s, VEC_SOME);
        else vec_exp_some(s, 1);
        for (int j = 0; j < some; j++) {
            const vec g = vec_load(ds + (i + j) * LANES), weight = vec_keep(lanes_of_bits(c->mask[i + j]), s[j], vec_zero());
            const vec slope = vec_mul(weight, vec_sub(g, x->inner));
            odd = vec_fma(g, vec_zero(), odd);
            vec_store(p + (i + j) * LANES, weight);
            vec_store(all + (i + j) * LANES, slope);
            vec_store(ds + (i + j) * LANES, vec_mul(slope, scale));
        }
    }
    return !x->odd && !vec_has_nan(odd);
}

/* The sums of ds by labels. */
static void sum_labels(tile_head *x)
{
    const cpu_pair *pair = x->tile->turned, *end = pair + x->tile->pairs;
    for (int32_t l = 0; l < x->tile->labels; l++) {
        vec slope = vec_zero();
        for (; pair < end && pair->label == l; pair++)
            slope = vec_add_where(lanes_of_bits(pair->rows), slope, vec_load(x->all + pair->column * LANES));
        vec_store(x->slope + l * LANES, slope);
    }
}

static void add_queries(tile_head *x, const cpu_columns *c, const float *ds)
{
    const int rows = cpu_rows_together(x->tile, x->t->dim);
    float one[LANES];
    vec_store(one, vec_all(1));
    for (int r = 0; r < LANES && x->dq[0]; r += rows) {
        const cpu_product g = { ds + r, 1, LANES, c->count, c->k, x->column, c->mask, ((1u << rows) - 1) << r, one };
        cpu_product_rows(x->dq + r, &g, x->t->dim, rows);
    }
}

/* What the sums of slopes give: db_l, dr_l and the labels' part of dq. */
static void add_labels(tile_head *x, const ref_label_sums *sums)
{
    const ref_attend *t = x->t;
    const int32_t labels = x->tile->labels;
    uint16_t reads[TILE_LABELS];
    float one[LANES];
    vec_store(one, vec_all(1));
    sum_labels(x);
    for (int32_t l = 0; l < labels; l++) {
        const vec slope = vec_load(x->slope + l * LANES);
        reads[l] = (uint16_t)vec_bits_nonzero(slope);
        if (sums->db) sums->db[(int64_t)x->tile->label[l] * sums->group + x->head - sums->first_head] += vec_sum(slope);
        vec_store(x->slope + l * LANES, vec_mul(slope, vec_all(t->scale)));
    }
    if (sums->dr) cpu_give_labels(t, x->tile, x->slope, reads, x->q[0] + x->column, t->width, sums->dr);
    for (int r = 0; r < LANES && t->r && x->dq[0]; r += TILE_ROWS) {
        const cpu_product g = { x->slope + r, 1, LANES, labels, x->vectors, 0, reads, ((1u << TILE_ROWS) - 1) << r, one };
        cpu_product_rows(x->dq + r, &g, t->dim, TILE_ROWS);
    }
}

void cpu_tile_by_rows(const ref_attend *t, const cpu_tile *tile, const cpu_kept_tile *kept, int32_t head,
                      const cpu_columns *c, const ref_label_sums *sums)
{
    for (int r = 0; r < LANES; r++) {
        cpu_block block;
        float factor[BLOCK];
        block.first = 0, block.count = 0, block.one_label = 0, block.ahead = 0, block.factor = t->drop.on ? factor : NULL;
        for (int32_t i = 0; i < c->count; i++) {
            if (!(c->mask[i] >> r & 1)) continue;
            block.k[block.count] = c->k[i], block.v[block.count] = c->v[i];
            block.kind[block.count] = c->kind[i], block.source[block.count] = c->source[i];
            factor[block.count] = t->drop.on ? cpu_factor(t, kept, head, c->first + i, r) : 1;
            if (tile->labels > 0) {
                const int32_t label = tile->label[tile->place[(int64_t)(c->first + i) * LANES + r]];
                block.label[block.count] = label;
                if (t->r) block.r[block.count] = t->r + (int64_t)label * t->dim;
            }
            block.count++;
        }
        cpu_back_block(t, tile->row + r, &block, head, head + 1, sums);
    }
}

/* What one head gives, block by block; whether there was a block of finite numbers. */
static int backward_blocks(tile_head *x, const ref_label_sums *sums)
{
    const ref_attend *t = x->t;
    const cpu_tile *tile = x->tile;
    cpu_columns c;
    int finite = 0;
    c.first = c.count = 0;
    while (cpu_next_columns(t, tile, &c)) {
        score_block(x, &c);
        if (!slopes(x, &c, x->p, x->ds)) {
            cpu_tile_by_rows(t, tile, x->kept, x->head, &c, sums);
            if (tile->labels > 0) memset(x->all + c.first * LANES, 0, sizeof(float) * LANES * (size_t)c.count);
            continue;
        }
        if (t->drop.on) cpu_keep_columns(t, x->p, x->kept, x->head, c.first, c.count);
        add_queries(x, &c, x->ds);
        cpu_give_sources(t, &c, x->column, x->ds, x->p, x->q[0] + x->column, x->dout[0] + x->column);
        finite = 1; /* so are all queries */
    }
    return finite;
}

void cpu_tile_backward(const ref_attend *t, const cpu_tile *tile, cpu_reading *reading, const ref_label_sums *sums)
{
    cpu_kept_tile kept;
    if (cpu_by_strips(t, tile)) {
        cpu_strips_backward(t, tile, reading, sums);
        return;
    }
    for (int32_t h = reading->first; h < reading->last; h++) {
        tile_head x;
        x.t = t, x.tile = tile, x.soon = &reading->soon, x.head = h, x.kept = &kept, x.pair = 0;
        if (t->drop.on && h % KEPT_HEADS == 0) cpu_keep_tile(t, tile, h, &kept);
        prepare(&x);
        if (backward_blocks(&x, sums) && tile->labels > 0) add_labels(&x, sums);
    }
}
