/* attend_backward.c - one pass over the edges by destination; p_e is recomputed from lse.
 *
 *   D = do.o;  ds_e = p_e (m_e do.v_e - D)
 *   dq += scale sum ds_e (k_e + r_l);  dk_e += scale ds_e q;  dv_e += m_e p_e do;
 *      dr_l += scale ds_e q;  db_{l,h} += ds_e
 * The cut into items is ref's (attend_items.h). */
#include <math.h>
#include "kernels/cpu/attention/attention.h"
#include "kernels/cpu/table.h"
#include "kernels/cpu/attention/kept.h"
#include "kernels/cpu/attention/spread.h"
#include "kernels/cpu/attention/bcsr_read.h"

typedef struct back_row { /* some heads of a row with a block; scores are as attend.h says */
    const ref_attend *t;
    const cpu_block *block;
    int64_t row;
    int32_t first, heads;
    const float *q, *dout; /* of the row */
    float p[GROUPS * SCORES], slope[GROUPS * SCORES],
        ds[GROUPS * SCORES];                 /* m_e p_e, ds_e, scale ds_e */
    float sum[4 * HEADS], scaled[4 * HEADS]; /* of ds_e and scale ds_e, in each head's four lanes */
    int dead[HEADS];                         /* lse is -inf: no gradient */
} back_row;

/* The block's rows of dK or of dV, NULL where the kind needs none. */
static void gradient_rows(const ref_attend *t, const cpu_block *block, int values, float **y)
{
    for (int32_t e = 0; e < block->count; e++) {
        const gsa_part *part = &t->args->parts[block->kind[e]];
        float *plane = values ? part->dv : part->dk;
        y[e] = plane ? plane + block->source[e] * t->width : NULL;
    }
}

/* lse and D = do.o, each head's in its four lanes, group by group. */
static void inner_of(back_row *x, float *lse, float *inner)
{
    const ref_attend *t = x->t;
    const float *out = (const float *)t->args->out + x->row * t->width,
                *kept = (const float *)t->args->lse + x->row * t->heads + x->first;
    float dots[GROUPS * SCORES];
    cpu_head_dots(t, dots, x->dout, &out, 0, NULL, x->first, x->heads, 1);
    memset(lse, 0, sizeof(float) * 4 * HEADS);
    memset(inner, 0, sizeof(float) * 4 * HEADS);
    for (int32_t j = 0; j < x->heads; j++) {
        x->dead[j] = isinf(kept[j]) && kept[j] < 0;
        for (int32_t i = 4 * j; i < 4 * j + 4; i++)
            lse[i] = kept[j], inner[i] = dots[cpu_place(0, j)];
    }
}

static void slopes(back_row *x)
{
    const ref_attend *t = x->t;
    const cpu_block *block = x->block;
    float factor[GROUPS * SCORES], lse[4 * HEADS], inner[4 * HEADS];
    inner_of(x, lse, inner);
    cpu_scores(t, block, x->q, x->first, x->heads, x->p);
    cpu_head_dots(t, x->slope, x->dout, block->v, block->ahead, NULL, x->first, x->heads,
                  block->count);
    if (t->drop.on) cpu_keep_block(t, x->row, x->first, x->heads, block, factor);
    for (int32_t h = 0; h < x->heads; h += QUADS) {
        const vec l = vec_load(lse + 4 * h), d = vec_load(inner + 4 * h);
        const int32_t from = cpu_place(0, h), end = from + cpu_quads(block->count) * LANES;
        vec sum = vec_zero();
        for (int32_t i = from; i < end; i += LANES) {
            const vec p = vec_exp(vec_sub(vec_load(x->p + i), l)),
                      m = t->drop.on ? vec_load(factor + i) : vec_all(1);
            const vec slope = vec_mul(p, vec_sub(vec_mul(m, vec_load(x->slope + i)), d));
            vec_store(x->p + i, vec_mul(m, p));
            vec_store(x->slope + i, slope);
            vec_store(x->ds + i, vec_mul(vec_all(t->scale), slope));
            sum = vec_add(sum, slope);
        }
        sum = vec_quad_sum(sum);
        vec_store(x->sum + 4 * h, sum);
        vec_store(x->scaled + 4 * h, vec_mul(vec_all(t->scale), sum));
    }
}

static void add_labels(const back_row *x, int32_t j, const ref_label_sums *sums)
{
    const ref_attend *t = x->t;
    const cpu_block *block = x->block;
    const int32_t at = cpu_place(0, j), head = x->first + j;
    float *dr[BLOCK];
    if (block->one_label) {
        const int32_t label = block->label[0];
        float *row = sums->dr ? sums->dr + (int64_t)label * t->dim : NULL;
        if (sums->db)
            sums->db[(int64_t)label * sums->group + head - sums->first_head] += x->sum[4 * j];
        if (row) cpu_spread(&row, &x->scaled[4 * j], x->q + (int64_t)head * t->dim, 0, t->dim, 1);
        return;
    }
    for (int32_t e = 0; sums->dr && e < block->count; e++)
        dr[e] = sums->dr + (int64_t)block->label[e] * t->dim;
    for (int32_t e = 0; sums->db && e < block->count; e++)
        sums->db[(int64_t)block->label[e] * sums->group + head - sums->first_head] +=
            x->slope[at + cpu_place(e, 0)];
    if (sums->dr)
        cpu_spread(dr, x->ds + at, x->q + (int64_t)head * t->dim, 0, t->dim, block->count);
}

static void add_queries(const back_row *x, int32_t j)
{
    static const float one = 1;
    static const cpu_asks none = { 0, 0, 0 };
    const ref_attend *t = x->t;
    const int64_t at = (int64_t)(x->first + j) * t->dim;
    float *dq = (float *)t->args->dq + x->row * t->width + at;
    cpu_mix(dq, &one, x->ds + cpu_place(0, j), x->block->k, at, none, t->dim, x->block->count);
    if (t->r && x->block->one_label)
        cpu_mix(dq, &one, &x->scaled[4 * j], x->block->r, 0, none, t->dim, 1);
    else if (t->r)
        cpu_mix(dq, &one, x->ds + cpu_place(0, j), x->block->r, 0, none, t->dim, x->block->count);
}

/* Of edge e's row of dK or dV the columns from .. of all heads: y += share from_row. */
CPU_INLINE void add_source(const back_row *x, int32_t e, const float *share, const float *row,
                           float *y, int32_t from, int vectors, int whole, lanes end)
{
    const int32_t dim = x->t->dim;
    const cpu_asks asks = cpu_asks_of(x->t, x->block->ahead, x->heads, BLOCK);
    for (int32_t j = 0; j < x->heads; j++) {
        const int64_t at = (int64_t)(x->first + j) * dim + from;
        const vec p = vec_all(share[cpu_place(0, j)]);
        if (asks.ahead) cpu_ask_piece(y + at, asks, at, e, vectors * LANES, vectors);
        for (int v = 0; v < vectors && !x->dead[j]; v++)
            cpu_put_piece(y + at, v, vectors, whole, end,
                          vec_fma(p, cpu_piece(row + at, v, vectors, whole, end),
                                  cpu_piece(y + at, v, vectors, whole, end)));
    }
}

static int any_dead(const back_row *x)
{
    int dead = 0;
    for (int32_t j = 0; j < x->heads; j++) dead |= x->dead[j];
    return dead;
}

/* `spread` NULL: head by head. */
static void add_sources(const back_row *x, int values, const cpu_spread_plan *spread)
{
    const float *share = values ? x->p : x->ds, *row = values ? x->dout : x->q;
    float *y[BLOCK];
    gradient_rows(x->t, x->block, values, y);
    if (spread && !any_dead(x)) {
        const int64_t at = (int64_t)x->first * x->t->dim;
        for (int32_t e = 0; e < x->block->count; e++) y[e] = y[e] ? y[e] + at : NULL;
        cpu_spread_heads(spread, y, share, row + at, x->block->count);
        return;
    }
    for (int32_t i = 0; i < x->t->dim; i += SLICE * LANES) {
        const cpu_cut cut = cpu_cut_at(x->t->dim, i);
#define SLICE_OF(vectors, whole)                                                                   \
    for (int32_t e = 0; e < x->block->count; e++)                                                  \
        if (y[e]) add_source(x, e, share + cpu_place(e, 0), row, y[e], i, vectors, whole, cut.end)
        CPU_BY_CUT(cut, SLICE_OF)
#undef SLICE_OF
    }
}

static void back_block(const ref_attend *t, int64_t row, const cpu_block *block, int32_t first,
                       int32_t last, const ref_label_sums *sums, const cpu_spread_plan *spread)
{
    back_row x;
    x.t = t, x.block = block, x.row = row;
    x.q = (const float *)t->args->q + row * t->width,
    x.dout = (const float *)t->args->dout + row * t->width;
    for (x.first = first; x.first < last; x.first += HEADS) {
        x.heads = last - x.first < HEADS ? last - x.first : HEADS;
        slopes(&x);
        for (int32_t j = 0; j < x.heads; j++) {
            if (x.dead[j]) continue;
            if (t->args->dq) add_queries(&x, j);
            if (sums->dr || sums->db) add_labels(&x, j, sums);
        }
        add_sources(&x, 0, spread && x.heads == spread->heads ? spread : NULL);
        add_sources(&x, 1, spread && x.heads == spread->heads ? spread : NULL);
    }
}

void cpu_back_block(const ref_attend *t, int64_t row, const cpu_block *block, int32_t first,
                    int32_t last, const ref_label_sums *sums)
{
    back_block(t, row, block, first, last, sums, NULL);
}

static void one_row(const ref_attend *t, int64_t row, int32_t first, int32_t last,
                    const ref_label_sums *sums, const cpu_spread_plan *spread)
{
    cpu_block block;
    ref_walk walk = ref_walk_of(t->edges, row);
    block.first = 0, block.count = 0;
    while (cpu_next(t, &walk, &block)) back_block(t, row, &block, first, last, sums, spread);
}

typedef struct backward_work { /* of a block of rows and some heads */
    const ref_attend *t;
    const ref_label_sums *sums;
    int32_t first, last;
    cpu_inspection inspection;
    cpu_ell waiting;
    cpu_reading reading;
    cpu_spread_plan spread;
    int together;     /* heads are scattered together, by `spread` */
    int32_t interval; /* 1 + the axis of the block, 0: it has none */
} backward_work;

static void run_row(const backward_work *x, int64_t row)
{
    one_row(x->t, row, x->first, x->last, x->sums, x->together ? &x->spread : NULL);
}

static void run_bands(const backward_work *x, const cpu_part *part)
{
    for (int i = 0; i < part->bands; i++) {
        if (cpu_band_backward(x->t, &part->band[i], x->first, x->last, x->sums)) continue;
        for (int r = 0; r < BAND_ROWS; r++) run_row(x, part->band[i].row + r);
    }
}

static void run_blocks(backward_work *x, const cpu_part *part)
{
    bcsr_block behind[PLAN_BLOCKS];
    const int more = cpu_plan_blocks(x->inspection.plan, part->row + part->rows, behind) > 0;
    bcsr_read(x->t, part->block, more ? behind : NULL, &x->reading);
    for (int i = 0; i < part->blocks; i++)
        cpu_bcsr_backward(x->t, &part->block[i], &x->reading, x->sums);
}

static void run_part(backward_work *x, const cpu_part *part)
{
    switch (part->format) {
    case CPU_DIA:
        run_bands(x, part);
        break;
    case CPU_BCSR:
        run_blocks(x, part);
        break;
    case CPU_INTERVAL: /* all rows of the block together, after the others */
        x->interval = part->interval;
        break;
    case CPU_ELL:
        cpu_ell_put(&x->waiting, part->row);
        break;
    default: /* gemm: the whole block at once, before */
        run_row(x, part->row);
        break;
    }
}

static void rows_heads(const ref_attend *t, gsa_rows rows, int32_t first, int32_t last,
                       const ref_label_sums *sums)
{
    const int64_t end = rows.first + rows.count;
    const cpu_plan *plan = t->plan;
    backward_work x = { .t = t, .sums = sums, .first = first, .last = last };
    cpu_part part;
    if (rows.count == 0) return;
    cpu_inspect_start(&x.inspection, t, plan, &x.waiting);
    cpu_inspect_block(&x.inspection, rows.first);
    if (x.inspection.dense && cpu_dense_backward(t, rows, first, last)) return;
    x.inspection.dense = 0;
    x.together = cpu_plan_spread(&x.spread, t->dim, last - first < HEADS ? last - first : HEADS);
    cpu_start_reading(&x.reading, first, last, 1);
    cpu_ell_begin(&x.waiting, t, first, last, sums);
    for (int64_t row = rows.first; row < end;) {
        row = cpu_inspect(&x.inspection, row, end, 1, &part);
        run_part(&x, &part);
    }
    cpu_ell_end(&x.waiting);
    if (x.interval) cpu_interval_backward(t, &plan->intervals, x.interval - 1, first, last, sums);
}

gsa_status cpu_attend_backward(gsa_backend *b, const gsa_attend_args *args)
{
    const ref_attend t = ref_attend_of(args);
    if (ref_attend_check(b, "attend_backward", args, 1) != GSA_OK) return b->error.status;
    cpu_plan *plan = cpu_plan_of(b, "attend_backward", &t);
    if (!plan) return b->error.status;
    const gsa_status status = ref_back(b, args, rows_heads, plan);
    cpu_plan_done(b, args->edges, plan);
    return status;
}
