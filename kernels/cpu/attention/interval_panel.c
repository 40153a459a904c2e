/* interval_panel.c - both passes of four rows that read all sources of a piece. After the last row
 * the first one is again, whose results are thrown away. */
#include <float.h>
#include <math.h>
#include "kernels/cpu/attention/ell.h"
#include "kernels/cpu/attention/interval.h"
#include "kernels/cpu/attention/softmax.h"

typedef struct work { /* on a panel */
    const cpu_interval_panel *g;
    const ref_attend *t;
    int32_t head, vectors; /* of scores */
    int32_t drawn;         /* the four heads that `keep_mask` is of */
    int64_t at, packed;    /* the head's first column; from one packed row to the next */
    const float *k[PIECE], *v[PIECE];
    uint16_t place[PIECE], mask[PIECE / QUADS];
    int32_t label[PANEL_ROWS];
    uint32_t first[PANEL_ROWS]; /* the first of the columns among a row's edges */
    cpu_bits keep_mask[MASK_HEADS * PIECE / QUADS];
    _Alignas(64) float q[PANEL_ROWS * BCSR_DIM],
        dout[PANEL_ROWS * BCSR_DIM]; /* packed; q is scaled */
} work;

static int64_t row_of(const work *x, int r)
{
    return x->g->row[r < x->g->rows ? r : 0];
}

static void begin(work *x, const cpu_interval_panel *g)
{
    const ref_attend *t = g->t;
    const gsa_part *part = &t->args->parts[g->kind];
    const int32_t places = cpu_whole_quads(g->columns);
    x->g = g, x->t = t, x->vectors = places / QUADS, x->drawn = -1;
    x->packed = (t->dim + LANES - 1) / LANES * LANES;
    for (int32_t c = 0; c < places; c++) {
        const int64_t source = g->from + (c < g->columns ? c : 0);
        x->k[c] = (const float *)part->k + source * t->width,
        x->v[c] = (const float *)part->v + source * t->width, x->place[c] = (uint16_t)c;
    }
    memset(x->mask, 0xFF, sizeof x->mask);
    if (places > g->columns)
        x->mask[x->vectors - 1] = (uint16_t)((1u << 4 * (g->columns + QUADS - places)) - 1);
    for (int r = 0; r < PANEL_ROWS; r++) {
        const gsa_run *run = cpu_range(t->edges, row_of(x, r));
        x->label[r] = run->label, x->first[r] = (uint32_t)(g->from - run->first);
    }
}

/* Where there is dropout: s *= 0 or 1/(1-p). */
static void drop(work *x, float *s)
{
    const int32_t quad = x->head / MASK_HEADS;
    if (!x->t->drop.on) return;
    if (x->drawn != quad) {
        const int64_t row[PANEL_ROWS] = { row_of(x, 0), row_of(x, 1), row_of(x, 2), row_of(x, 3) };
        cpu_mask_rows4(x->t, row, x->first, x->g->columns, quad * MASK_HEADS, x->keep_mask,
                       x->vectors);
        x->drawn = quad;
    }
    cpu_mask_apply(x->t, s, x->keep_mask + x->head % MASK_HEADS * x->vectors, x->vectors);
}

/* The rows' columns of the head of a plane, padded with zeros to whole vectors. */
static void pack(const work *x, float *to, const void *plane, float scale)
{
    for (int r = 0; r < PANEL_ROWS; r++, to += x->packed)
        cpu_pack_row(to, (const float *)plane + row_of(x, r) * x->t->width + x->at, x->t->dim,
                     scale);
}

/* s[column][row] <- the rows' products with x; `told`: as cpu_multiply. */
static vec multiply(const work *x, float *s, const float *rows, const float *const *with, vec told,
                    int how)
{
    const cpu_products p = { x->vectors * QUADS, x->place, with, x->at, x->mask, NULL,
                             x->g->prefetch };
    const float *row[PANEL_ROWS];
    cpu_transposed a;
    for (int r = 0; r < PANEL_ROWS; r++) row[r] = rows + r * x->packed;
    cpu_transpose_rows(&a, row, 1, x->t->dim);
    return cpu_multiply(s, &a, &p, x->t->dim, told, how);
}

/* In each row's lanes: scale q.r_l + b_l of its label. */
static vec shift_of(const work *x)
{
    const ref_attend *t = x->t;
    float shift[LANES] = { 0 };
    const float *q[PANEL_ROWS], *r[PANEL_ROWS];
    for (int i = 0; i < PANEL_ROWS; i++)
        q[i] = x->q + i * x->packed, r[i] = t->r ? t->r + (int64_t)x->label[i] * t->dim : NULL;
    if (t->r) cpu_own_dots(shift, q, r, NULL, 1, 0, t->dim);
    for (int i = 0; t->bias && i < PANEL_ROWS; i++)
        shift[i] += t->bias[(int64_t)x->label[i] * t->heads + x->head];
    return vec_four(shift);
}

/* ---- forward ------------------------------------------------------------------------------- */

static cpu_softmax load_state(const work *x)
{
    const cpu_interval_panel *g = x->g;
    float each[SOFTMAX][PANEL_ROWS] = { { -FLT_MAX, -FLT_MAX, -FLT_MAX, -FLT_MAX } };
    for (int r = 0; r < g->rows; r++)
        for (int i = 0; !g->fresh[r] && i < SOFTMAX; i++)
            each[i][r] = g->state[r][x->head * SOFTMAX + i];
    return (cpu_softmax){ vec_four(each[0]), vec_four(each[1]), vec_four(each[2]) };
}

static void keep_state(const work *x, const cpu_softmax *state)
{
    const cpu_interval_panel *g = x->g;
    float each[SOFTMAX][LANES];
    vec_store(each[0], state->top), vec_store(each[1], state->sum), vec_store(each[2], state->lost);
    for (int r = 0; r < g->rows; r++)
        for (int i = 0; !g->ends[r] && i < SOFTMAX; i++)
            g->state[r][x->head * SOFTMAX + i] = each[i][r];
}

/* Rows that end: lse, and by what their outputs are multiplied. */
static void finish(const work *x, const cpu_softmax *state, float *keep, float *share)
{
    const cpu_interval_panel *g = x->g;
    float over[LANES], lse[LANES];
    vec share_of;
    vec_store(lse, cpu_softmax_end(state, &share_of));
    vec_store(over, share_of);
    for (int r = 0; r < g->rows; r++) {
        share[r] = g->ends[r] ? over[r] : 1;
        if (!g->ends[r]) continue;
        keep[r] *= over[r];
        ((float *)x->t->args->lse)[g->row[r] * x->t->heads + x->head] = lse[r];
    }
}

static void forward_head(work *x)
{
    const cpu_interval_panel *g = x->g;
    const ref_attend *t = x->t;
    float s[PANEL_ROWS * PIECE], keep[LANES], share[LANES];
    cpu_softmax state = load_state(x);
    pack(x, x->q, t->args->q, t->scale);
    const vec shift = shift_of(x), most = multiply(x, s, x->q, x->k, vec_all(-FLT_MAX), CPU_MASKED),
              top = vec_max(vec_add(vec_quads_max(most), shift), state.top);
    const vec added = cpu_exponents(s, x->vectors, vec_sub(top, shift));
    vec_store(keep, cpu_softmax_add(&state, top, added, 0));
    keep_state(x, &state);
    finish(x, &state, keep, share);
    drop(x, s);
    const cpu_mixing of = { g->columns, x->place, s, x->v, x->at };
    cpu_panel_mix m = {
        .of = &of, .share = share, .keep = keep, .rows = g->rows, .prefetch = g->prefetch
    };
    for (int r = 0; r < g->rows; r++)
        m.to[r] = g->out[r] + x->at, m.fresh |= (unsigned)g->fresh[r] << r;
    cpu_mix_panel(&m, t->dim);
}

void cpu_interval_panel_forward(const cpu_interval_panel *g)
{
    work x;
    begin(&x, g);
    for (x.head = 0, x.at = 0; x.head < g->t->heads; x.head++, x.at += g->t->dim) forward_head(&x);
}

/* ---- backward ------------------------------------------------------------------------------ */

typedef struct slopes { /* of the head: [column][row] */
    float p[PANEL_ROWS * PIECE], ds[PANEL_ROWS * PIECE], sum[LANES]; /* sum: of each row's ds */
} slopes;

static void find_slopes(work *x, slopes *s)
{
    const ref_attend *t = x->t;
    float inner[LANES], each[PANEL_ROWS];
    const float *out[PANEL_ROWS], *dout[PANEL_ROWS];
    vec sum = vec_zero();
    for (int r = 0; r < PANEL_ROWS; r++) {
        const int64_t row = row_of(x, r);
        out[r] = (const float *)t->args->out + row * t->width + x->at,
        dout[r] = x->dout + r * x->packed;
        each[r] = ((const float *)t->args->lse)[row * t->heads + x->head];
    }
    cpu_own_dots(inner, dout, out, NULL, 1, 0, t->dim);
    const vec lse = vec_sub(vec_four(each), shift_of(x));
    multiply(x, s->p, x->q, x->k, vec_zero(), CPU_MASKED);
    multiply(x, s->ds, x->dout, x->v, vec_zero(), CPU_BARE);
    drop(x, s->ds);
    cpu_slopes(s->p, s->ds, x->vectors, vec_all(1), lse, vec_four(inner), x->mask);
    drop(x, s->p);
    for (int32_t j = 0; j < x->vectors; j++) sum = vec_add(sum, vec_load(s->ds + j * LANES));
    vec_store(s->sum, vec_quads_sum(sum));
}

/* dq_r += scale sum_c ds_c (k_c + r_l) */
static void add_queries(const work *x, const slopes *s)
{
    static const float one[PANEL_ROWS] = { 1, 1, 1, 1 };
    const ref_attend *t = x->t;
    const cpu_interval_panel *g = x->g;
    const float scale[PANEL_ROWS] = { t->scale, t->scale, t->scale, t->scale };
    const cpu_mixing of = { g->columns, x->place, s->ds, x->k, x->at };
    cpu_panel_mix m = {
        .of = &of, .share = scale, .keep = one, .rows = g->rows, .prefetch = g->prefetch
    };
    for (int r = 0; r < g->rows; r++) {
        m.to[r] = (float *)t->args->dq + g->row[r] * t->width + x->at;
        const float share = t->scale * s->sum[r];
        if (t->r)
            cpu_row_scatter(&m.to[r], &share, 1, t->r + (int64_t)x->label[r] * t->dim, 0, t->dim,
                            1);
    }
    cpu_mix_panel(&m, t->dim);
}

/* db_l += sum_c ds_c, dr_l += scale sum_c ds_c q */
static void add_labels(const work *x, const slopes *s, const ref_label_sums *sums)
{
    const ref_attend *t = x->t;
    for (int r = 0; r < x->g->rows; r++) {
        const int64_t label = x->label[r];
        float *row = sums->dr ? sums->dr + label * t->dim : NULL;
        if (sums->db) sums->db[label * sums->group + x->head - sums->first_head] += s->sum[r];
        if (row) cpu_row_scatter(&row, &s->sum[r], 1, x->q + r * x->packed, 0, t->dim, 1);
    }
}

static void add_sources(const work *x, const slopes *s)
{
    const gsa_part *part = &x->t->args->parts[x->g->kind];
    float *dk[PIECE], *dv[PIECE];
    int32_t found[PIECE][QUADS];
    uint16_t mask[PIECE];
    const int32_t(*const places)[QUADS] = (const int32_t(*)[QUADS])found;
    const cpu_scatter k = { s->ds, x->q, dk, x->at, places },
                      v = { s->p, x->dout, dv, x->at, places }, *g[SCATTER_PLANES];
    int planes = 0;
    for (int32_t c = 0; c < x->g->columns; c++) {
        const int64_t source = (x->g->from + c) * x->t->width;
        dk[c] = part->dk ? (float *)part->dk + source : NULL;
        dv[c] = part->dv ? (float *)part->dv + source : NULL;
        found[c][0] = PANEL_ROWS * c, mask[c] = (uint16_t)((1u << x->g->rows) - 1);
    }
    if (part->dk) g[planes++] = &k;
    if (part->dv) g[planes++] = &v;
    cpu_scatter_range(g, planes, x->packed, mask, 0, x->g->columns, x->t->dim);
}

int cpu_interval_panel_backward(const cpu_interval_panel *g, int32_t first, int32_t last,
                                const ref_label_sums *sums)
{
    work x;
    slopes s;
    for (int r = 0; r < g->rows; r++)
        if (cpu_is_dead(g->t, g->row[r])) return 0;
    begin(&x, g);
    for (x.head = first; x.head < last; x.head++) {
        x.at = (int64_t)x.head * g->t->dim;
        pack(&x, x.q, g->t->args->q, g->t->scale);
        pack(&x, x.dout, g->t->args->dout, 1);
        find_slopes(&x, &s);
        if (g->t->args->dq) add_queries(&x, &s);
        if (sums->db || sums->dr) add_labels(&x, &s, sums);
        add_sources(&x, &s);
    }
    return 1;
}
