/* phase.c - law "One phase", scalar by scalar. */
#include "interpret_parts.h"
#include "mask.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDEST = 64, MOST_EDGES = 256 };

/* ---- what a phase knows while it runs; q, k, v, ... as in the table of parameters */
typedef struct phase_run {
    oracle_machine *r;
    const oracle_item *item;
    const oracle_phase *phase;
    const oracle_pattern *pattern;
    const gsa_settings *settings;
    int heads, head_dim, columns; /* columns of A */
    const oracle_matrix *q, *k, *v, *o, *q_bias, *v_bias, *o_bias, *up, *up_bias, *down, *down_bias,
        *gain, *bias, *vectors, *label_bias;
    oracle_plane old[ORACLE_KINDS],
        seen[ORACLE_KINDS]; /* by kind of the pattern; seen: normed where the law says so */
    scalar *key[ORACLE_KINDS],
        *value[ORACLE_KINDS]; /* projected source rows [rows, heads x head_dim] */
    oracle_mask edge_mask, hidden_mask, ffn_mask;
    int e; /* the example */
} phase_run;

static void linear(oracle_machine *r, scalar *y, const scalar *x, const oracle_matrix *w,
                   const oracle_matrix *bias)
{
    for (int o = 0; o < w->rows; o++) {
        y[o] = bias ? bias->first + o : scalar_leaf(&r->t, 0);
        for (int i = 0; i < w->cols; i++)
            y[o] = scalar_add(&r->t, y[o], scalar_mul(&r->t, w->first + o * w->cols + i, x[i]));
    }
}

void oracle_norm(oracle_machine *r, scalar *y, const scalar *x, const oracle_matrix *gain,
                 const oracle_matrix *bias)
{
    scalar_tape *t = &r->t;
    const int n = r->hidden;
    scalar sum = x[0], squares = -1, gap[WIDEST];
    for (int i = 1; i < n; i++) sum = scalar_add(t, sum, x[i]);
    const scalar mean = scalar_scale(t, sum, 1.0 / n);
    for (int i = 0; i < n; i++) {
        gap[i] = scalar_sub(t, x[i], mean);
        const scalar square = scalar_mul(t, gap[i], gap[i]);
        squares = i ? scalar_add(t, squares, square) : square;
    }
    const scalar deviation = scalar_sqrt(
        t, scalar_shift(t, scalar_scale(t, squares, 1.0 / n), r->stack->settings.norm_eps));
    for (int i = 0; i < n; i++)
        y[i] = scalar_add(t, scalar_mul(t, scalar_div(t, gap[i], deviation), gain->first + i),
                          bias->first + i);
}

static scalar activate(scalar_tape *t, int activation, scalar x)
{
    enum { RELU, LEAKY, GELU, TANH };
    switch (activation) {
    case RELU:
        return scalar_leaky(t, x, 0);
    case LEAKY:
        return scalar_leaky(t, x, 0.01);
    case GELU:
        return scalar_scale(
            t, scalar_mul(t, x, scalar_shift(t, scalar_erf(t, scalar_scale(t, x, sqrt(0.5))), 1)),
            0.5);
    case TANH:
        return scalar_tanh(t, x);
    default:
        return scalar_div(t, scalar_leaf(t, 1),
                          scalar_shift(t, scalar_exp(t, scalar_scale(t, x, -1)), 1));
    }
}

/* ---- parameters */
static void find_weights(phase_run *f)
{
    const char *path = f->item->name;
    oracle_machine *r = f->r;
    const oracle_phase *x = f->phase;
    const int hidden = r->hidden, plane = f->heads * f->head_dim,
              labels = x->labels ? x->labels : 1, bias = f->settings->bias;
    const int ffn = f->settings->ffn ? f->settings->ffn : 4 * hidden, reached = !f->item->skipped;
#define FIND(leaf, rows, cols) oracle_weights(r, path, leaf, rows, cols, reached)
    if (x->aggregate == GSA_ATTEND) {
        f->q = FIND("q.weight", plane, hidden), f->k = FIND("k.weight", plane, hidden),
        f->v = FIND("v.weight", plane, hidden);
        if (bias & GSA_BIAS_Q) f->q_bias = FIND("q.bias", 1, plane);
        if (bias & GSA_BIAS_V) f->v_bias = FIND("v.bias", 1, plane);
        if (x->label_use == GSA_KEY_VECTORS)
            f->vectors = FIND("labels.vectors", labels, f->head_dim);
        if (x->label_use == GSA_HEAD_BIAS)
            f->label_bias = FIND("labels.bias", labels, x->per_head ? 1 : f->heads);
    }
    if (x->update == GSA_FFN) {
        f->up = FIND("up.weight", ffn, hidden), f->up_bias = FIND("up.bias", 1, ffn);
        f->down = FIND("down.weight", hidden, ffn), f->down_bias = FIND("down.bias", 1, hidden);
    } else if (x->update != GSA_ASSIGN) {
        f->o = FIND("o.weight", hidden, f->columns);
        if (bias & GSA_BIAS_O) f->o_bias = FIND("o.bias", 1, hidden);
    }
    if (x->update != GSA_LINEAR && x->update != GSA_ASSIGN)
        f->gain = FIND("norm.gain", 1, hidden), f->bias = FIND("norm.bias", 1, hidden);
#undef FIND
}

/* ---- what is read */
static void read_states(phase_run *f)
{
    oracle_machine *r = f->r;
    const int norm_first = f->settings->norm == GSA_NORM_PRE &&
                           (f->phase->update == GSA_SUBLAYER || f->phase->update == GSA_FFN);
    for (int k = 0; k < f->pattern->kinds; k++) {
        f->seen[k] = f->old[k] = r->opened[f->item->part][f->pattern->kind[k]];
        if (!norm_first || !(f->phase->destinations >> k & 1)) continue;
        f->seen[k] = oracle_new_plane(r, f->old[k].rows);
        for (int i = 0; i < f->old[k].rows; i++)
            oracle_norm(r, f->seen[k].at + i * r->hidden, f->old[k].at + i * r->hidden, f->gain,
                        f->bias);
    }
}

static void project_sources(phase_run *f)
{
    const int plane = f->heads * f->head_dim;
    for (int k = 0; k < f->pattern->kinds; k++) {
        if (f->phase->aggregate != GSA_ATTEND || !(f->phase->sources >> k & 1)) continue;
        const int rows = f->seen[k].rows;
        f->key[k] = oracle_memory((size_t)(rows * plane), sizeof(scalar));
        f->value[k] = oracle_memory((size_t)(rows * plane), sizeof(scalar));
        for (int i = 0; i < rows; i++) {
            linear(f->r, f->key[k] + i * plane, f->seen[k].at + i * f->r->hidden, f->k, NULL);
            linear(f->r, f->value[k] + i * plane, f->seen[k].at + i * f->r->hidden, f->v,
                   f->v_bias);
        }
    }
}

/* ---- aggregates. A row's edges are in `edge`; `cell` is the row's place among the (node, head)
 * or node rows */
static scalar score(phase_run *f, const scalar *q, const scalar *k, int label, int head)
{
    scalar_tape *t = &f->r->t;
    scalar sum = -1;
    for (int c = 0; c < f->head_dim; c++) {
        const scalar key =
            f->vectors ? scalar_add(t, k[c], f->vectors->first + label * f->head_dim + c) : k[c];
        const scalar product = scalar_mul(t, q[c], key);
        sum = c ? scalar_add(t, sum, product) : product;
    }
    sum = scalar_scale(t, sum,
                       1 / sqrt(f->settings->scale == GSA_SCALE_FULL ? f->r->hidden : f->head_dim));
    return f->label_bias
               ? scalar_add(t, sum, f->label_bias->first + label * f->label_bias->cols + head)
               : sum;
}

/* One head of one row: softmax of the scores times the values. */
static void attend(phase_run *f, scalar *out, const scalar *q, const oracle_edge *edge, int edges,
                   int64_t row, int head)
{
    scalar_tape *t = &f->r->t;
    const oracle_machine *r = f->r;
    scalar weight[MOST_EDGES], total = -1;
    double highest = -INFINITY;
    for (int j = 0; j < edges; j++) {
        const int64_t first =
            (int64_t)r->first[f->pattern->kind[edge[j].from_kind]][f->e] * f->heads;
        const int64_t cell =
            f->phase->per_head ? first + edge[j].from : first + edge[j].from * f->heads + head;
        weight[j] =
            score(f, q, f->key[edge[j].from_kind] + cell * f->head_dim, edge[j].label, head);
        highest = fmax(highest, scalar_value(t, weight[j]));
    }
    for (int j = 0; j < edges; j++) {
        weight[j] = scalar_exp(t, scalar_shift(t, weight[j], -highest));
        total = j ? scalar_add(t, total, weight[j]) : weight[j];
    }
    for (int c = 0; c < f->head_dim; c++) out[c] = scalar_leaf(t, 0);
    for (int j = 0; j < edges; j++) {
        const int64_t first =
            (int64_t)r->first[f->pattern->kind[edge[j].from_kind]][f->e] * f->heads;
        const int64_t cell =
            f->phase->per_head ? first + edge[j].from : first + edge[j].from * f->heads + head;
        const scalar *value = f->value[edge[j].from_kind] + cell * f->head_dim;
        const double mask =
            oracle_mask_edge(&f->edge_mask, r->model->example_id[f->e], row, j, head);
        const scalar p = scalar_scale(t, scalar_div(t, weight[j], total), mask);
        for (int c = 0; c < f->head_dim; c++)
            out[c] = scalar_add(t, out[c], scalar_mul(t, p, value[c]));
    }
}

/* Sum or mean over the edges; `width` columns a (node, head) or node. */
static void add_up(phase_run *f, scalar *out, const oracle_edge *edge, int edges, int width)
{
    scalar_tape *t = &f->r->t;
    for (int c = 0; c < width; c++) {
        out[c] = scalar_leaf(t, 0);
        for (int j = 0; j < edges; j++) {
            const int kind = edge[j].from_kind;
            const scalar *x = f->seen[kind].at +
                              f->r->first[f->pattern->kind[kind]][f->e] * f->r->hidden +
                              edge[j].from * width;
            out[c] = scalar_add(t, out[c], x[c]);
        }
        if (f->phase->aggregate == GSA_MEAN && edges) out[c] = scalar_scale(t, out[c], 1.0 / edges);
    }
}

/* A of one node; returns its number of in-edges. `local` is the node's place in the example's
 * destination space. */
static int aggregate(phase_run *f, scalar *a, const scalar *y, int kind, int node, int local)
{
    const oracle_graph *graph = &f->r->graph[f->pattern->number][f->e];
    const int cells = f->phase->per_head ? f->heads : 1, width = f->columns / cells;
    oracle_edge edge[MOST_EDGES];
    scalar q[WIDEST];
    int total = 0;
    if (f->phase->aggregate == GSA_ATTEND) linear(f->r, q, y, f->q, f->q_bias);
    for (int cell = 0; cell < cells; cell++) {
        const int edges =
            oracle_row(graph, f->item->phase, kind, (int64_t)node * cells + cell, edge, MOST_EDGES);
        const int64_t row = (int64_t)local * cells + cell;
        total += edges;
        if (f->phase->aggregate != GSA_ATTEND) add_up(f, a + cell * width, edge, edges, width);
        else if (f->phase->per_head)
            attend(f, a + cell * width, q + cell * width, edge, edges, row, 0);
        else
            for (int h = 0; h < f->heads; h++)
                attend(f, a + h * f->head_dim, q + h * f->head_dim, edge, edges, row, h);
    }
    return total;
}

/* ---- updates */
static void drop(phase_run *f, scalar *x, int columns, const oracle_mask *mask, int local)
{
    for (int c = 0; c < columns; c++)
        x[c] = scalar_scale(&f->r->t, x[c],
                            oracle_mask_state(mask, f->r->model->example_id[f->e], local, c));
}

static void feed_forward(phase_run *f, scalar *out, const scalar *y, int local)
{
    scalar inner[WIDEST];
    linear(f->r, inner, y, f->up, f->up_bias);
    for (int c = 0; c < f->up->rows; c++)
        inner[c] = activate(&f->r->t, f->settings->activation, inner[c]);
    drop(f, inner, f->up->rows, &f->ffn_mask, local);
    linear(f->r, out, inner, f->down, f->down_bias);
}

static void update(phase_run *f, scalar *out, const scalar *x, const scalar *a, int local)
{
    scalar_tape *t = &f->r->t;
    const int hidden = f->r->hidden, kind = f->phase->update,
              residual = kind == GSA_SUBLAYER || kind == GSA_FFN;
    scalar y[WIDEST];
    if (kind == GSA_FFN) feed_forward(f, y, a, local);
    else if (kind == GSA_ASSIGN) memcpy(y, a, (size_t)hidden * sizeof *y);
    else linear(f->r, y, a, f->o, f->o_bias);
    for (int c = 0; c < hidden && kind == GSA_RELU_NORM; c++) y[c] = scalar_leaky(t, y[c], 0);
    if (f->gain) drop(f, y, hidden, &f->hidden_mask, local);
    for (int c = 0; c < hidden && residual; c++) y[c] = scalar_add(t, x[c], y[c]);
    if (f->gain && !(residual && f->settings->norm == GSA_NORM_PRE))
        oracle_norm(f->r, out, y, f->gain, f->bias);
    else memcpy(out, y, (size_t)hidden * sizeof *y);
}

static void run_node(phase_run *f, scalar *out, int kind, int node, int local)
{
    oracle_machine *r = f->r;
    const int row = r->first[f->pattern->kind[kind]][f->e] + node;
    const scalar *x = f->old[kind].at + row * r->hidden, *y = f->seen[kind].at + row * r->hidden;
    scalar a[WIDEST];
    int edges = 0;
    if (f->phase->aggregate == GSA_NONE) memcpy(a, y, (size_t)r->hidden * sizeof *a);
    else edges = aggregate(f, a, y, kind, node, local);
    if (f->phase->aggregate != GSA_NONE && !edges && oracle_keeps(f->phase))
        memcpy(out, r->now[f->pattern->kind[kind]].at + row * r->hidden,
               (size_t)r->hidden * sizeof *out);
    else update(f, out, x, a, local);
}

static void run_rows(phase_run *f)
{
    oracle_machine *r = f->r;
    oracle_plane next[ORACLE_KINDS];
    for (int k = 0; k < f->pattern->kinds; k++)
        if (f->phase->destinations >> k & 1) next[k] = oracle_new_plane(r, f->old[k].rows);
    for (f->e = 0; f->e < r->model->examples; f->e++) {
        int local = 0;
        for (int k = 0; k < f->pattern->kinds; k++) {
            const int kind = f->pattern->kind[k],
                      rows = f->phase->destinations >> k & 1 ? r->nodes[kind][f->e] : 0;
            for (int node = 0; node < rows; node++, local++)
                run_node(f, next[k].at + (r->first[kind][f->e] + node) * r->hidden, k, node, local);
        }
    }
    for (int k = 0; k < f->pattern->kinds; k++)
        if (f->phase->destinations >> k & 1) r->now[f->pattern->kind[k]] = next[k];
}

static void place_masks(phase_run *f, int number)
{
    const oracle_model *model = f->r->model;
    const uint32_t site = f->r->first_site + 3 * (uint32_t)number;
    f->edge_mask =
        (oracle_mask){ f->settings->dropout_attention, model->drop_seed, model->drop_step, site };
    f->hidden_mask =
        (oracle_mask){ f->settings->dropout_hidden, model->drop_seed, model->drop_step, site + 1 };
    f->ffn_mask =
        (oracle_mask){ f->settings->dropout_ffn, model->drop_seed, model->drop_step, site + 2 };
}

void oracle_run_phase(oracle_machine *r, const oracle_item *item, int number)
{
    phase_run f = {
        .r = r, .item = item, .pattern = item->pattern, .phase = &item->pattern->phase[item->phase]
    };
    f.settings = &r->stack->settings;
    f.heads = f.settings->heads;
    f.head_dim = f.settings->head_dim ? f.settings->head_dim : r->hidden / f.heads;
    f.columns = f.phase->aggregate == GSA_ATTEND ? f.heads * f.head_dim : r->hidden;
    if (item->opens) memcpy(r->opened[item->part], r->now, sizeof r->now);
    find_weights(&f);
    if (r->result->error[0]) return;
    place_masks(&f, number);
    read_states(&f);
    project_sources(&f);
    run_rows(&f);
    for (int k = 0; k < ORACLE_KINDS; k++) free(f.key[k]), free(f.value[k]);
}
