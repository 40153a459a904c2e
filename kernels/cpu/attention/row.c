/* row.c - the format row: CSR row-split. A row alone, BLOCK edges at a time and head by head, by
 * the panel of own columns (own.h): forward with a running maximum and sum, backward
 *
 *   D = do.o;  ds_e = p_e (m_e do.v_e - D)
 *   dq += scale sum ds_e (k_e + r_l);  dk_e += scale ds_e q;  dv_e += m_e p_e do;
 *      dr_l += scale ds_e q;  db_{l,h} += ds_e
 *
 * It takes what no other format does: hubs, wanted weights, what is not finite. A label that all
 * edges of a block share adds one number to their scores. */
#include "kernels/cpu/attention/row.h"
#include "kernels/cpu/attention/dropout_mask.h"
#include "kernels/cpu/attention/own.h"

enum { NEAR = 16 /* edges, a multiple of LANES */ };

typedef struct lone { /* a row with a block of its edges, one head */
    const ref_attend *t;
    const cpu_block *block;
    cpu_prefetch *prefetch; /* NULL: nothing is prefetched */
    int64_t row, at;        /* at: the head's first column */
    int32_t head, drawn,
        vectors; /* drawn: the four heads that `keep_mask` is of; vectors: of scores */
    cpu_bits keep_mask[MASK_HEADS * BLOCK / LANES];
} lone;

static lone lone_of(const ref_attend *t, int64_t row, const cpu_block *block,
                    cpu_prefetch *prefetch)
{
    lone x;
    x.t = t, x.block = block, x.prefetch = prefetch, x.row = row, x.drawn = -1;
    x.vectors = (block->count + LANES - 1) / LANES;
    return x;
}

static const float *row_in(const lone *x, const void *plane)
{
    return (const float *)plane + x->row * x->t->width;
}

/* Where there is dropout: s *= 0 or 1/(1-p). */
static void drop(lone *x, float *s)
{
    const int32_t quad = x->head / MASK_HEADS;
    if (!x->t->drop.on) return;
    if (x->drawn != quad)
        cpu_mask_edges(x->t, x->row, x->block->first, x->block->count, quad * MASK_HEADS,
                       x->keep_mask, BLOCK / LANES);
    x->drawn = quad;
    cpu_mask_apply(x->t, s, x->keep_mask + x->head % MASK_HEADS * (BLOCK / LANES), x->vectors);
}

/* s[head][e] = q.(x_e + r_e), NEAR edges at a time of all heads: few rows of K or V are so read
 * almost from end to end. r NULL: without. */
static void multiply(const lone *x, const float *q, const float *const *rows, const float *const *r,
                     int32_t first, int32_t last, float *s)
{
    const int32_t count = x->block->count, dim = x->t->dim;
    for (int32_t e = 0; e < count; e += NEAR)
        for (int32_t h = first; h < last; h++)
            cpu_lone_dots(s + (h - first) * BLOCK + e, q, rows + e, r ? r + e : NULL,
                          (int32_t)(ref_smaller(NEAR, count - e) + 3) / 4, (int64_t)h * dim, dim,
                          x->prefetch);
}

/* q.(k_e + r_l); a label that all edges share is left out. */
static void multiply_keys(const lone *x, int32_t first, int32_t last, float *s)
{
    const cpu_block *b = x->block;
    multiply(x, row_in(x, x->t->args->q), b->k, x->t->r && !b->one_label ? b->r : NULL, first, last,
             s);
}

/* s_e, of q.(k_e + r_l), <- scale s_e + b_l; -inf after the last edge. */
static void score(const lone *x, float *s)
{
    const ref_attend *t = x->t;
    const cpu_block *b = x->block;
    const float *q = row_in(x, t->args->q);
    float shift[LANES] = { 0 };
    if (t->r && b->one_label) cpu_lone_dots(shift, q + x->at, b->r, NULL, 1, 0, t->dim, NULL);
    for (int32_t i = 0; i < x->vectors * LANES; i += LANES)
        vec_store(s + i, vec_mul(vec_add(vec_load(s + i), vec_all(shift[0])), vec_all(t->scale)));
    for (int32_t e = 0; t->bias && e < b->count; e++)
        s[e] += t->bias[(int64_t)b->label[e] * t->heads + x->head];
    float *last = s + (x->vectors - 1) * LANES;
    const lanes edges = lanes_first(b->count - (x->vectors - 1) * LANES);
    vec_store(last, vec_keep(edges, vec_load(last), vec_all(-INFINITY)));
}

/* ---- forward ------------------------------------------------------------------------------- */

static void keep_scores(const lone *x, const float *s)
{
    const int64_t edge = x->t->edges->edge_offset[x->row] + x->block->first;
    float *weights = x->t->args->weights;
    for (int32_t e = 0; weights && e < x->block->count; e++)
        weights[(edge + e) * x->t->heads + x->head] = s[e];
}

static void forward_head(lone *x, float *s, float *state, float *out, int fresh)
{
    const ref_attend *t = x->t;
    score(x, s);
    keep_scores(x, s);
    vec top = fresh ? vec_all(-FLT_MAX) : vec_all(*state);
    for (int32_t i = 0; i < x->vectors; i++) top = vec_max(vec_load(s + i * LANES), top);
    top = vec_quads_max(vec_quad_max(top));
    cpu_softmax now = cpu_softmax_load(state);
    const vec added = vec_quad_sum(cpu_exponents(s, x->vectors, top));
    const float keep = vec_first(cpu_softmax_add(&now, top, added, fresh));
    cpu_softmax_store(state, &now);
    drop(x, s);
    cpu_row_mix(out + x->at, fresh ? NULL : &keep, s, x->block->v, NULL, 1, x->at, t->dim,
                x->block->count, x->prefetch);
}

void cpu_row_forward(const ref_attend *t, int64_t row, const cpu_block *block, int32_t first,
                     int32_t last, float *state, float *out, int fresh, cpu_prefetch *prefetch)
{
    lone x = lone_of(t, row, block, prefetch);
    float s[HEADS * BLOCK];
    for (; first < last; first += HEADS) {
        const int32_t end = last - first < HEADS ? last : first + HEADS;
        multiply_keys(&x, first, end, s);
        for (x.head = first; x.head < end; x.head++, state += SOFTMAX) {
            x.at = (int64_t)x.head * t->dim;
            forward_head(&x, s + (x.head - first) * BLOCK, state, out, fresh);
        }
    }
}

void cpu_row_join(const ref_attend *t, float *state, float *out, const float *more_state,
                  const float *more_out)
{
    for (int32_t h = 0; h < t->heads; h++, state += SOFTMAX, more_state += SOFTMAX) {
        const cpu_softmax other = cpu_softmax_load(more_state);
        cpu_softmax all = cpu_softmax_load(state);
        const vec top = vec_max(other.top, all.top), take = vec_exp(vec_sub(other.top, top)),
                  added = vec_mul(vec_sub(other.sum, other.lost), take);
        const float keep = vec_first(cpu_softmax_add(&all, top, added, 0)), by = vec_first(take);
        cpu_softmax_store(state, &all);
        for (int32_t i = 0; i < t->dim; i++, out++, more_out++) *out = keep * *out + by * *more_out;
    }
}

void cpu_row_end(const ref_attend *t, int64_t row, int32_t first, int32_t last, const float *state,
                 float *out)
{
    float *lse = (float *)t->args->lse + row * t->heads, each[LANES], share[LANES];
    for (int32_t h = first; h < last; h += LANES, state += LANES * SOFTMAX) { /* a head a lane */
        const int32_t heads = last - h < LANES ? last - h : LANES;
        float part[SOFTMAX][LANES] = { { 0 } };
        vec over;
        for (int32_t j = 0; j < heads; j++)
            for (int i = 0; i < SOFTMAX; i++) part[i][j] = state[j * SOFTMAX + i];
        const cpu_softmax all = { vec_load(part[0]), vec_load(part[1]), vec_load(part[2]) };
        vec_store(each, cpu_softmax_end(&all, &over)), vec_store(share, over);
        for (int32_t j = 0; j < heads; j++) {
            float *to = out + (int64_t)(h + j) * t->dim;
            lse[h + j] = each[j];
            for (int32_t i = 0; i < t->dim; i++) to[i] = share[j] == 0 ? 0 : share[j] * to[i];
        }
    }
}

/* ---- backward ------------------------------------------------------------------------------ */

static void add_biases(const lone *x, const float *ds, const ref_label_sums *sums)
{
    for (int32_t e = 0; sums->db && e < x->block->count; e++)
        sums->db[(int64_t)x->block->label[e] * sums->group + x->head - sums->first_head] += ds[e];
}

static void add_queries(const lone *x, const float *ds, const float *sum)
{
    static const float one = 1;
    const ref_attend *t = x->t;
    const cpu_block *b = x->block;
    float *dq = (float *)t->args->dq + x->row * t->width + x->at;
    if (!t->args->dq) return;
    cpu_row_mix(dq, &one, ds, b->k, t->r && !b->one_label ? b->r : NULL, 1, x->at, t->dim, b->count,
                NULL);
    if (t->r && b->one_label) cpu_row_mix(dq, &one, sum, b->r, NULL, 1, 0, t->dim, 1, NULL);
}

/* p holds products with keys, ds with values. */
static void backward_head(lone *x, float *p, float *ds, const ref_label_sums *sums,
                          const cpu_targets *to)
{
    const ref_attend *t = x->t;
    const cpu_block *b = x->block;
    const float *q = row_in(x, t->args->q), *dout = row_in(x, t->args->dout),
                *out = row_in(x, t->args->out), *const outs[4] = { out, out, out, out };
    const float lse = ((const float *)t->args->lse)[x->row * t->heads + x->head];
    float inner[LANES], sum = 0;
    if (lse == -INFINITY) return; /* no gradient */
    score(x, p);
    cpu_lone_dots(inner, dout, outs, NULL, 1, x->at, t->dim, NULL);
    drop(x, ds);
    cpu_slopes(p, ds, x->vectors, vec_all(1), vec_all(lse), vec_all(*inner), NULL);
    drop(x, p);
    add_biases(x, ds, sums);
    for (int32_t e = 0; e < b->count; e++) ds[e] *= t->scale, sum += ds[e];
    add_queries(x, ds, &sum);
    cpu_row_scatter(to->dk, ds, 1, q + x->at, x->at, t->dim, b->count);
    cpu_row_scatter(to->dv, p, 1, dout + x->at, x->at, t->dim, b->count);
    if (sums->dr && b->one_label) cpu_row_scatter(to->dr, &sum, 1, q + x->at, 0, t->dim, 1);
    else if (sums->dr) cpu_row_scatter(to->dr, ds, 1, q + x->at, 0, t->dim, b->count);
}

void cpu_row_backward(const ref_attend *t, int64_t row, const cpu_block *block, int32_t first,
                      int32_t last, const ref_label_sums *sums, cpu_prefetch *prefetch)
{
    lone x = lone_of(t, row, block, prefetch);
    float p[HEADS * BLOCK], ds[HEADS * BLOCK];
    cpu_targets to;
    cpu_find_targets(t, sums, block->kind, block->source, block->label, 1, block->count, &to);
    for (; first < last; first += HEADS) {
        const int32_t end = last - first < HEADS ? last : first + HEADS;
        multiply_keys(&x, first, end, p);
        multiply(&x, row_in(&x, t->args->dout), block->v, NULL, first, end, ds);
        for (x.head = first; x.head < end; x.head++) {
            x.at = (int64_t)x.head * t->dim;
            backward_head(&x, p + (x.head - first) * BLOCK, ds + (x.head - first) * BLOCK, sums,
                          &to);
        }
    }
}

/* ---- all blocks ------------------------------------------------------------------------------ */

/* What the block after `walk` will read, to be prefetched while this one is worked on. */
static void want_next(const ref_attend *t, const ref_walk *walk, int32_t first, int32_t last,
                      int backward, cpu_prefetch *prefetch)
{
    const int64_t dim = (int64_t)(last - first) * t->dim;
    cpu_prefetch_start(prefetch, t->width, dim);
    if (walk->run == walk->end || walk->run->step != 1) return;
    const gsa_run *run = walk->run;
    const gsa_part *part = &t->args->parts[run->kind];
    const void *const plane[] = { part->k, part->v, part->dk, part->dv };
    const int64_t left = run->count - walk->done, from = (int64_t)run->first + walk->done;
    if (t->edges->part_rows[run->kind] * t->width < PREFETCH_LEAST) return;
    cpu_prefetch_planes(prefetch, plane, backward ? 4 : 2, (int64_t)first * t->dim, from,
                        from + (left < BLOCK ? left : BLOCK) - 1);
    cpu_prefetch_pace(prefetch, (int64_t)(last - first) * (BLOCK / LANES + BLOCK / QUADS));
}

/* `sums` NULL: forward. */
static void all_blocks(const ref_attend *t, int64_t row, int32_t first, int32_t last, float *state,
                       float *out, const ref_label_sums *sums)
{
    cpu_block block;
    cpu_prefetch prefetch;
    ref_walk walk = ref_walk_of(t->edges, row);
    ref_walk_skip(&walk, t->from);
    block.first = (uint32_t)t->from, block.count = 0;
    while (ref_attend_goes_on(t, block.first, block.count) && cpu_next(t, &walk, &block)) {
        want_next(t, &walk, first, last, sums != NULL, &prefetch);
        if (sums) cpu_row_backward(t, row, &block, first, last, sums, &prefetch);
        else
            cpu_row_forward(t, row, &block, first, last, state, out, block.first == t->from,
                            &prefetch);
    }
}

void cpu_row_forward_all(const ref_attend *t, int64_t row, int32_t first, int32_t last,
                         float *state, float *out)
{
    for (int32_t i = 0; i < (last - first) * SOFTMAX; i++)
        state[i] = i % SOFTMAX == 0 ? -FLT_MAX : 0;
    all_blocks(t, row, first, last, state, out, NULL);
}

void cpu_row_backward_all(const ref_attend *t, int64_t row, int32_t first, int32_t last,
                          const ref_label_sums *sums)
{
    all_blocks(t, row, first, last, NULL, NULL, sums);
}
