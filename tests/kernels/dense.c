#include "dense.h"
#include "kernels/philox.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double factor_of(double p, uint32_t word)
{
    return word < floor(p * 4294967296.0) ? 0 : 1 / (1 - p);
}

double dense_attention_factor(const gsa_dropout *d, const gsa_edges *edges, int64_t row, int32_t k, int32_t head)
{
    if (d->p == 0) return 1;
    const uint32_t example = (uint32_t)d->example_id[edges->row_example[row]], local = (uint32_t)edges->row_local[row];
    const gsa_philox counter = { { example, local, (uint32_t)k, d->site * 4096u + (uint32_t)head / 4u } };
    return factor_of(d->p, gsa_philox4x32(counter, d->seed, d->step).word[head % 4]);
}

double dense_state_factor(const gsa_dropout *d, int64_t row, int64_t column)
{
    if (d->p == 0) return 1;
    const uint32_t example = (uint32_t)d->example_id[d->row_example[row]], local = (uint32_t)d->row_local[row];
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
    cell *cells;
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
    if (x.cells == NULL) abort();
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

/* Cells of one row without edges are -inf; softmax over the whole row of cells. */
static void forward_row(const dense_attend *d, const matrix *x, int64_t row, int32_t head)
{
    const int64_t width = (int64_t)d->heads * d->dim, cells = x->cols * x->deep;
    const double *q = d->q + row * width + (int64_t)head * d->dim;
    cell *line = at(x, row, 0);
    double top = -INFINITY, sum = 0;
    for (int64_t c = 0; c < cells; c++) {
        const int64_t e = line[c].number;
        line[c].s = -INFINITY;
        if (e < 0) continue;
        const double *k = d->parts[x->list.kind[e]].k + x->list.source[e] * width + (int64_t)head * d->dim;
        line[c].s = inner(q, k, d->dim);
        if (d->r) line[c].s += inner(q, d->r + (int64_t)x->list.label[e] * d->dim, d->dim);
        line[c].s *= d->scale;
        if (d->bias) line[c].s += d->bias[(int64_t)x->list.label[e] * d->heads + head];
        line[c].m = dense_attention_factor(&d->dropout, d->edges, row, x->list.k[e], head);
        if (line[c].s > top) top = line[c].s;
    }
    for (int64_t c = 0; c < cells; c++) sum += line[c].p = isinf(line[c].s) ? 0 : exp(line[c].s - top);
    for (int64_t c = 0; c < cells; c++) line[c].p = sum > 0 ? line[c].p / sum : 0;
    d->lse[row * d->heads + head] = sum > 0 ? top + log(sum) : -INFINITY;
    double *out = d->out + row * width + (int64_t)head * d->dim;
    memset(out, 0, sizeof(double) * (size_t)d->dim);
    for (int64_t c = 0; c < cells; c++) {
        const int64_t e = line[c].number;
        if (e < 0) continue;
        const double *v = d->parts[x->list.kind[e]].v + x->list.source[e] * width + (int64_t)head * d->dim;
        for (int32_t i = 0; i < d->dim; i++) out[i] += line[c].m * line[c].p * v[i];
        if (d->weights) d->weights[e * d->heads + head] = line[c].p;
    }
}

/* dP = m do.v,  dS = P (dP - sum P dP),  dQ = dS (K + R),  dK = dS' Q,  dV = (m P)' dO */
static void backward_row(const dense_attend *d, const matrix *x, int64_t row, int32_t head)
{
    const int64_t width = (int64_t)d->heads * d->dim, cells = x->cols * x->deep, own = row * width + (int64_t)head * d->dim;
    const double *q = d->q + own, *dout = d->dout + own;
    cell *line = at(x, row, 0);
    double mean = 0;
    for (int64_t c = 0; c < cells; c++) {
        const int64_t e = line[c].number;
        if (e < 0) continue;
        const double *v = d->parts[x->list.kind[e]].v + x->list.source[e] * width + (int64_t)head * d->dim;
        line[c].dp = line[c].m * inner(dout, v, d->dim);
        mean += line[c].p * line[c].dp;
    }
    for (int64_t c = 0; c < cells; c++) {
        const int64_t e = line[c].number;
        if (e < 0) continue;
        const dense_part *part = &d->parts[x->list.kind[e]];
        const int64_t source = x->list.source[e] * width + (int64_t)head * d->dim, label = x->list.label[e];
        const double ds = line[c].p * (line[c].dp - mean);
        for (int32_t i = 0; i < d->dim; i++) {
            const double r = d->r ? d->r[label * d->dim + i] : 0;
            if (d->dq) d->dq[own + i] += d->scale * ds * (part->k[source + i] + r);
            if (part->dk) part->dk[source + i] += d->scale * ds * q[i];
            if (part->dv) part->dv[source + i] += line[c].m * line[c].p * dout[i];
            if (d->dr) d->dr[label * d->dim + i] += d->scale * ds * q[i];
        }
        if (d->dbias) d->dbias[label * d->heads + head] += ds;
    }
}

void dense_run(const dense_attend *d)
{
    matrix x = matrix_of(d->edges);
    for (int64_t row = 0; row < x.rows; row++)
        for (int32_t h = 0; h < d->heads; h++) {
            forward_row(d, &x, row, h);
            if (d->dout) backward_row(d, &x, row, h);
        }
    free(x.cells);
    edges_list_free(&x.list);
}
