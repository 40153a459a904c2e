/* bcsr_backward.c - gradients of a block: for each head the scores of all panels again, their
 * slopes, dQ panel by panel, dK and dV of the block.
 *   s = k q,  g = v do,  dq += ds k,  dk += ds q,  dv += p do  with  p = exp(s - lse),
 *     ds = p (g - D),  D = do.o
 *
 * A head's slices of rows are a row apart, where L1 has room for few: they are packed before one
 * panel after another reads them. Scores are as the panel has its columns ([places][4]); dK and
 * dV look them up by columns. */
#include "kernels/cpu/attention/bcsr_panel.h"
#include "kernels/cpu/attention/bcsr_read.h"
#include "kernels/cpu/attention/dropout_mask.h"
#include "kernels/cpu/attention/row.h"
#include "kernels/cpu/attention/softmax.h"

enum {
    PANEL_SCORES = 4 * (BCSR_COLUMNS + QUADS),     /* of one panel at most */
    SCORES_AT_MOST = LANES + QUADS * PANEL_SCORES, /* zeros first */
    PANEL_LABELS = 4 * (BCSR_LABELS + QUADS)
};

typedef struct back_panels {
    bcsr_panels in;
    cpu_bcsr_mask keep_mask;                                        /* where there is dropout */
    _Alignas(64) float q[LANES * BCSR_DIM], dout[LANES * BCSR_DIM]; /* packed; q is scaled */
    _Alignas(64) float p[SCORES_AT_MOST],
        ds[SCORES_AT_MOST];             /* of one panel after another; s and g first */
    int32_t found[BCSR_COLUMNS][QUADS]; /* where p and ds of a column and of row r are, less r */
    _Alignas(64) float slope[BCSR_LABELS * LANES],
        part[QUADS][PANEL_LABELS]; /* sums of ds by label; of a panel's wanted labels */
    _Alignas(64) float lse[LANES], inner[LANES]; /* D */
    vec odd;                                     /* NaN where a product is not finite */
    int64_t packed;                              /* numbers from one packed row to the next */
} back_panels;
_Static_assert(sizeof(back_panels) <= ROOM, "they are in a room");

/* Where the scores of panel g start. */
static int32_t scores_at(int g)
{
    return LANES + g * PANEL_SCORES;
}

/* g of all panels (`values`) or s, of packed rows. */
static void score(back_panels *x, int values, const float *rows, float *s)
{
    for (int g = 0; g < QUADS; g++) {
        const float *row[PANEL_ROWS];
        for (int r = 0; r < PANEL_ROWS; r++, rows += x->packed) row[r] = rows;
        x->odd = cpu_panel_products(&x->in, g, values, row, 1, s + scores_at(g), x->odd, CPU_BARE);
    }
}

/* p and ds of panel g, where s and g was. */
static void weigh(back_panels *x, int g)
{
    const bcsr_panel *panel = &x->in.block->panel[g];
    const int32_t vectors = cpu_whole_quads(panel->count) / QUADS;
    float *s = x->p + scores_at(g), *slope = x->ds + scores_at(g);
    const vec lse = vec_four(x->lse + PANEL_ROWS * g), inner = vec_four(x->inner + PANEL_ROWS * g);
    if (x->in.t->drop.on) cpu_mask_panel(x->in.t, slope, &x->keep_mask, x->in.head, panel, g);
    cpu_slopes(s, slope, vectors, vec_all(1), lse, inner, panel->mask);
    if (x->in.t->drop.on) cpu_mask_panel(x->in.t, s, &x->keep_mask, x->in.head, panel, g);
}

/* The sums of ds by the labels of panel g. */
static void sum_wanted(back_panels *x, int g)
{
    const bcsr_panel *panel = &x->in.block->panel[g];
    const float *ds = x->ds + scores_at(g);
    memset(x->part[g], 0, sizeof(float) * 4 * (size_t)panel->labels);
    const uint16_t *from = panel->from;
    for (int32_t i = 0; i < panel->count; i++, from += 4, ds += 4)
        if (*from & PANEL_SAME) vec_add_four(x->part[g] + 4 * (*from ^ PANEL_SAME), ds);
        else
            for (int j = 0; j < 4; j++) x->part[g][4 * from[j] + j] += ds[j];
}

static void add_queries(const back_panels *x, int g)
{
    const ref_attend *t = x->in.t;
    const bcsr_panel *panel = &x->in.block->panel[g];
    const float one[PANEL_ROWS] = { 1, 1, 1, 1 },
                scale[PANEL_ROWS] = { t->scale, t->scale, t->scale, t->scale };
    const cpu_mixing of = { panel->count, panel->column, x->ds + scores_at(g), x->in.k, x->in.at },
                     labels = { panel->labels, panel->wanted, x->part[g], x->in.r, 0 };
    cpu_panel_mix m = { .of = &of,
                        .labels = panel->labels > 0 && t->r ? &labels : NULL,
                        .share = scale,
                        .keep = one,
                        .rows = PANEL_ROWS };
    for (int r = 0; r < PANEL_ROWS; r++)
        m.to[r] =
            (float *)t->args->dq + bcsr_row(x->in.block, PANEL_ROWS * g + r) * t->width + x->in.at;
    cpu_mix_panel(&m, t->dim);
}

/* dr_l += sum_r slope[l][r] q_r of the head; reads[l]: the rows r whose slope is not 0. */
static void scatter_labels(const back_panels *x, const uint16_t *reads, float *dr)
{
    const ref_attend *t = x->in.t;
    const bcsr_block *block = x->in.block;
    float *y[BCSR_LABELS];
    int32_t found[BCSR_LABELS][QUADS];
    const cpu_scatter of = { x->slope, x->q, y, 0, (const int32_t(*)[QUADS])found },
                      *const planes[] = { &of };
    for (int32_t l = 0; l < block->labels; l++) {
        y[l] = dr + (int64_t)block->label[l] * t->dim;
        for (int g = 0; g < QUADS; g++) found[l][g] = l * LANES;
    }
    cpu_scatter_range(planes, 1, x->packed, reads, 0, block->labels, t->dim);
}

/* The sums of ds by labels, and what they give: db_l, dr_l. */
static void add_labels(back_panels *x, const ref_label_sums *sums)
{
    const bcsr_block *block = x->in.block;
    uint16_t reads[BCSR_LABELS];
    memset(x->slope, 0, sizeof(float) * LANES * (size_t)block->labels);
    for (int g = 0; g < QUADS; g++) {
        const bcsr_panel *panel = &block->panel[g];
        for (int32_t i = 0; i < panel->labels; i++)
            vec_add_four(x->slope + panel->wanted[i] * LANES + PANEL_ROWS * g, x->part[g] + 4 * i);
    }
    for (int32_t l = 0; l < block->labels; l++) {
        const vec slope = vec_load(x->slope + l * LANES);
        reads[l] = (uint16_t)vec_bits_nonzero(slope);
        if (sums->db)
            sums->db[(int64_t)block->label[l] * sums->group + x->in.head - sums->first_head] +=
                vec_sum(slope);
    }
    if (sums->dr) scatter_labels(x, reads, sums->dr);
}

static void begin_head(back_panels *x)
{
    const ref_attend *t = x->in.t;
    const gsa_attend_args *args = t->args;
    const float *q = (const float *)args->q + x->in.at,
                *dout = (const float *)args->dout + x->in.at,
                *out = (const float *)args->out + x->in.at, *lse = (const float *)args->lse;
    float inner[LANES];
    const int64_t first = x->in.block->row * t->width;
    vec_store(inner, cpu_row_dots(out + first, dout + first, t->width, t->dim));
    for (int p = 0; p < LANES; p++) {
        const int64_t row = bcsr_row(x->in.block, p), at = row * t->width;
        x->lse[p] = lse[row * t->heads + x->in.head], x->inner[p] = inner[x->in.block->order[p]];
        cpu_pack_row(x->q + p * x->packed, q + at, t->dim, t->scale);
        cpu_pack_row(x->dout + p * x->packed, dout + at, t->dim, 1);
    }
    x->odd = vec_mul(vec_add(vec_load(x->lse), vec_load(x->inner)), vec_zero());
}

/* The head edge by edge, where something is not finite: rows must get nothing they do not read. */
static void by_rows(const back_panels *x, const ref_label_sums *sums)
{
    const ref_attend *t = x->in.t;
    const gsa_edges *e = t->edges;
    for (int64_t row = x->in.block->row; row < x->in.block->row + LANES; row++) {
        int64_t place = 0;
        for (int64_t i = e->run_offset[row]; i < e->run_offset[row + 1];
             place += e->runs[i++].count) {
            gsa_run run = e->runs[i];
            int32_t skipped, column;
            if (!bcsr_clip(x->in.block, &run, &skipped, &column)) continue;
            ref_walk walk = { &run, &run + 1, 0 };
            cpu_block block;
            block.first = (uint32_t)(place + skipped), block.count = 0;
            while (cpu_next(t, &walk, &block))
                cpu_row_backward(t, row, &block, x->in.head, x->in.head + 1, sums, NULL);
        }
    }
}

/* dK and dV of the columns. */
static void add_sources(const back_panels *x)
{
    const bcsr_block *block = x->in.block;
    const cpu_scatter k = { x->ds, x->q, x->in.dk, x->in.at, x->found },
                      v = { x->p, x->dout, x->in.dv, x->in.at, x->found };
    for (int32_t i = 0, end; i < block->ranges; i = end) {
        const int32_t kind = block->range[i].kind, first = block->range[i].column;
        const gsa_part *part = &x->in.t->args->parts[kind];
        const cpu_scatter *g[SCATTER_PLANES];
        int planes = 0;
        for (end = i; end < block->ranges && block->range[end].kind == kind;) end++;
        if (part->dk) g[planes++] = &k;
        if (part->dv) g[planes++] = &v;
        cpu_scatter_range(g, planes, x->packed, block->mask, first,
                          end < block->ranges ? block->range[end].column : block->columns,
                          x->in.t->dim);
    }
}

/* 0 when a product is not finite: nothing is added then. */
static int backward_head(back_panels *x, const ref_label_sums *sums)
{
    begin_head(x);
    score(x, 1, x->dout, x->ds), score(x, 0, x->q, x->p);
    if (vec_has_nan(x->odd)) return 0;
    for (int g = 0; g < QUADS; g++) {
        weigh(x, g);
        if (x->in.block->labels > 0) sum_wanted(x, g);
        if (x->in.t->args->dq) add_queries(x, g);
    }
    if (x->in.block->labels > 0) add_labels(x, sums);
    add_sources(x);
    return 1;
}

/* Where the scores of columns are. */
static void find_scores(back_panels *x)
{
    const bcsr_block *block = x->in.block;
    for (int32_t c = 0; c < block->columns; c++)
        for (int g = 0; g < QUADS; g++) x->found[c][g] = -PANEL_ROWS * g;
    for (int g = 0; g < QUADS; g++)
        for (int32_t i = 0; i < block->panel[g].count; i++)
            x->found[block->panel[g].column[i]][g] = scores_at(g) + 4 * i - PANEL_ROWS * g;
    memset(x->p, 0, sizeof(float) * 4), memset(x->ds, 0, sizeof(float) * 4);
}

void cpu_bcsr_backward(const ref_attend *t, const bcsr_block *block, cpu_reading *reading,
                       const ref_label_sums *sums, void *room)
{
    back_panels *x = room;
    cpu_panels_begin(&x->in, t, block, &reading->prefetch);
    x->packed = (t->dim + CPU_LINE - 1) / CPU_LINE * CPU_LINE;
    find_scores(x);
    for (x->in.head = reading->first; x->in.head < reading->last; x->in.head++) {
        x->in.at = (int64_t)x->in.head * t->dim;
        if (t->drop.on && x->in.head % MASK_HEADS == 0)
            cpu_mask_bcsr(t, block, x->in.head, &x->keep_mask);
        if (!backward_head(x, sums)) by_rows(x, sums);
    }
}
