#include "dense.h"
#include "kernels/philox.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double factor_of(double p, uint32_t word)
{
    return word < floor(p * 4294967296.0) ? 0 : 1 / (1 - p);
}

double dense_attention_factor(const gsa_dropout *d, const gsa_edges *edges, int64_t row, int32_t k,
                              int32_t head)
{
    if (d->p == 0) return 1;
    const uint32_t example = (uint32_t)d->example_id[edges->row_example[row]],
                   local = (uint32_t)edges->row_local[row];
    const gsa_philox counter = { { example, local, (uint32_t)k,
                                   d->site * 4096u + (uint32_t)head / 4u } };
    return factor_of(d->p, gsa_philox4x32(counter, d->seed, d->step).word[head % 4]);
}

double dense_state_factor(const gsa_dropout *d, int64_t row, int64_t column)
{
    if (d->p == 0) return 1;
    const uint32_t example = (uint32_t)d->example_id[d->row_example[row]],
                   local = (uint32_t)d->row_local[row];
    const gsa_philox counter = { { example, local, (uint32_t)(column / 4), d->site * 4096u } };
    return factor_of(d->p, gsa_philox4x32(counter, d->seed, d->step).word[column % 4]);
}

/* One cell of the dense matrix: an edge, or none (number < 0). */
typedef struct cell {
    int64_t number; /* of the edge in the list */
    double s, p, m, dp, ds;
} cell;

typedef struct matrix {
    int64_t rows, cols, deep; /* cells [rows][cols][deep] */
    int64_t first[GSA_MAX_KINDS + 1];
    cell *cells, **line; /* line: those cells of the row at work that hold an edge, in order; the
                            others have weight 0 */
    int64_t count;       /* of line */
    edges_list list;
} matrix;

static cell *at(const matrix *x, int64_t row, int64_t col)
{
    return x->cells + (row * x->cols + col) * x->deep;
}

static matrix matrix_of(const gsa_edges *edges)
{
    matrix x = { .rows = edges->rows, .list = edges_expand(edges) };
    for (int32_t k = 0; k < edges->kinds; k++) x.first[k + 1] = x.first[k] + edges->part_rows[k];
    x.cols = x.first[edges->kinds];
    int32_t *many = calloc((size_t)(x.rows * x.cols) + 1, sizeof *many);
    if (many == NULL) abort();
    for (int64_t e = 0; e < x.list.total; e++) {
        const int64_t place = x.list.row[e] * x.cols + x.first[x.list.kind[e]] + x.list.source[e];
        if (++many[place] > x.deep) x.deep = many[place];
    }
    x.cells = malloc(((size_t)(x.rows * x.cols * x.deep) + 1) * sizeof *x.cells);
    x.line = malloc(((size_t)(x.cols * x.deep) + 1) * sizeof(cell *));
    if (x.cells == NULL || x.line == NULL) abort();
    for (int64_t i = 0; i < x.rows * x.cols * x.deep; i++) x.cells[i].number = -1;
    memset(many, 0, ((size_t)(x.rows * x.cols) + 1) * sizeof *many);
    for (int64_t e = 0; e < x.list.total; e++) {
        const int64_t col = x.first[x.list.kind[e]] + x.list.source[e];
        at(&x, x.list.row[e], col)[many[x.list.row[e] * x.cols + col]++].number = e;
    }
    free(many);
    return x;
}

static double inner(const double *a, const double *b, int32_t count)
{
    double sum = 0;
    for (int32_t i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

static void begin_row(matrix *x, int64_t row)
{
    cell *all = at(x, row, 0);
    x->count = 0;
    for (int64_t c = 0; c < x->cols * x->deep; c++)
        if (all[c].number >= 0) x->line[x->count++] = &all[c];
}

/* Softmax over the row's cells; one without edges is 0, and its lse -inf. */
static void forward_row(const dense_attend *d, const matrix *x, int64_t row, int32_t head)
{
    const int64_t width = (int64_t)d->heads * d->dim;
    const double *q = d->q + row * width + (int64_t)head * d->dim;
    double top = -INFINITY, sum = 0;
    for (int64_t c = 0; c < x->count; c++) {
        cell *l = x->line[c];
        const int64_t e = l->number;
        const double *k =
            d->parts[x->list.kind[e]].k + x->list.source[e] * width + (int64_t)head * d->dim;
        l->s = inner(q, k, d->dim);
        if (d->r) l->s += inner(q, d->r + (int64_t)x->list.label[e] * d->dim, d->dim);
        l->s *= d->scale;
        if (d->bias) l->s += d->bias[(int64_t)x->list.label[e] * d->heads + head];
        l->m = dense_attention_factor(&d->dropout, d->edges, row, x->list.k[e], head);
        if (l->s > top) top = l->s;
    }
    for (int64_t c = 0; c < x->count; c++)
        sum += x->line[c]->p = isinf(x->line[c]->s) ? 0 : exp(x->line[c]->s - top);
    for (int64_t c = 0; c < x->count; c++) x->line[c]->p = sum > 0 ? x->line[c]->p / sum : 0;
    d->lse[row * d->heads + head] = sum > 0 ? top + log(sum) : -INFINITY;
    double *out = d->out + row * width + (int64_t)head * d->dim;
    memset(out, 0, sizeof(double) * (size_t)d->dim);
    for (int64_t c = 0; c < x->count; c++) {
        const cell *l = x->line[c];
        const int64_t e = l->number;
        const double *v =
            d->parts[x->list.kind[e]].v + x->list.source[e] * width + (int64_t)head * d->dim;
        const double share = l->m * l->p;
        for (int32_t i = 0; i < d->dim; i++) out[i] += share * v[i];
        if (d->weights) d->weights[e * d->heads + head] = l->p;
    }
}

static void add_to(double *y, double scale, const double *x, int32_t count)
{
    for (int32_t i = 0; i < count; i++) y[i] += scale * x[i];
}

/* dP = m do.v,  dS = P (dP - sum P dP),  dQ = dS (K + R),  dK = dS' Q,  dV = (m P)' dO */
static void backward_row(const dense_attend *d, const matrix *x, int64_t row, int32_t head)
{
    const int64_t width = (int64_t)d->heads * d->dim, own = row * width + (int64_t)head * d->dim;
    const double *q = d->q + own, *dout = d->dout + own;
    double mean = 0;
    for (int64_t c = 0; c < x->count; c++) {
        cell *l = x->line[c];
        const int64_t e = l->number;
        const double *v =
            d->parts[x->list.kind[e]].v + x->list.source[e] * width + (int64_t)head * d->dim;
        l->dp = l->m * inner(dout, v, d->dim);
        mean += l->p * l->dp;
    }
    for (int64_t c = 0; c < x->count; c++) {
        const cell *l = x->line[c];
        const int64_t e = l->number, label = x->list.label[e];
        const dense_part *part = &d->parts[x->list.kind[e]];
        const int64_t source = x->list.source[e] * width + (int64_t)head * d->dim;
        const double ds = l->p * (l->dp - mean), slope = d->scale * ds;
        if (d->dq) add_to(d->dq + own, slope, part->k + source, d->dim);
        if (d->dq && d->r) add_to(d->dq + own, slope, d->r + label * d->dim, d->dim);
        if (part->dk) add_to(part->dk + source, slope, q, d->dim);
        if (part->dv) add_to(part->dv + source, l->m * l->p, dout, d->dim);
        if (d->dr) add_to(d->dr + label * d->dim, slope, q, d->dim);
        if (d->dbias) d->dbias[label * d->heads + head] += ds;
    }
}

void dense_run(const dense_attend *d)
{
    matrix x = matrix_of(d->edges);
    for (int64_t row = 0; row < x.rows; row++) {
        begin_row(&x, row);
        for (int32_t h = 0; h < d->heads; h++) {
            forward_row(d, &x, row, h);
            if (d->dout) backward_row(d, &x, row, h);
        }
    }
    free(x.cells);
    free(x.line);
    edges_list_free(&x.list);
}
