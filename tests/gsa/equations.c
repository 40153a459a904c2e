#include "equations.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double *weights(const equation_model *m, const char *prefix, const char *leaf)
{
    char name[200];
    snprintf(name, sizeof name, "%s.%s", prefix, leaf);
    const gsa_parameter *p = gsa_parameters_find(m->parameters, name);
    if (!p) {
        fprintf(stderr, "no parameter %s\n", name);
        abort();
    }
    double *values = malloc((size_t)(p->value.rows * p->value.cols) * sizeof *values);
    if (gsa_tensor_read(m->backend, &p->value, 0, values, NULL) != GSA_OK) abort();
    return values;
}

static void times(double *y, const double *w, const double *x, int out, int in) /* y = W x */
{
    for (int o = 0; o < out; o++) {
        y[o] = 0;
        for (int i = 0; i < in; i++) y[o] += w[o * in + i] * x[i];
    }
}

static void layer_norm(double *x, int n) /* gains 1, biases 0: as they start */
{
    double mean = 0, var = 0;
    for (int i = 0; i < n; i++) mean += x[i] / n;
    for (int i = 0; i < n; i++) var += (x[i] - mean) * (x[i] - mean) / n;
    for (int i = 0; i < n; i++) x[i] = (x[i] - mean) / sqrt(var + 1e-6);
}

/* MultiAtt(query; context): context holds `count` rows (eq. 1 to 3). */
static void multi_att(const equation_model *m, const char *prefix, const double *query,
                      const double *const *context, int count, double *out)
{
    const int width = m->heads * m->head_dim, d = m->hidden;
    double *wq = weights(m, prefix, "q.weight"), *wk = weights(m, prefix, "k.weight"),
           *wv = weights(m, prefix, "v.weight"), *wo = weights(m, prefix, "o.weight");
    double *q = calloc((size_t)width, sizeof *q), *k = calloc((size_t)(width * count), sizeof *k),
           *v = calloc((size_t)(width * count), sizeof *v), *a = calloc((size_t)width, sizeof *a);
    times(q, wq, query, width, d);
    for (int c = 0; c < count; c++)
        times(k + c * width, wk, context[c], width, d),
            times(v + c * width, wv, context[c], width, d);
    for (int h = 0; h < m->heads; h++) {
        double total = 0, *p = calloc((size_t)count, sizeof *p);
        for (int c = 0; c < count; c++) {
            double score = 0;
            for (int i = h * m->head_dim; i < (h + 1) * m->head_dim; i++)
                score += q[i] * k[c * width + i];
            total += p[c] = exp(score / sqrt(m->head_dim));
        }
        for (int c = 0; c < count; c++)
            for (int i = h * m->head_dim; i < (h + 1) * m->head_dim; i++)
                a[i] += p[c] / total * v[c * width + i];
        free(p);
    }
    times(out, wo, a, d, width);
    double *const all[] = { wq, wk, wv, wo, q, k, v, a };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static void relu_norm(double *x, int n)
{
    for (int i = 0; i < n; i++) x[i] = x[i] > 0 ? x[i] : 0;
    layer_norm(x, n);
}

void star_equations(const equation_model *m, int layers, int n, const double *e, double *h,
                    double *s)
{
    const int d = m->hidden;
    double *new_h = calloc((size_t)(n * d), sizeof *new_h),
           *new_s = calloc((size_t)d, sizeof *new_s);
    const double **context = calloc((size_t)n + 5, sizeof *context);
    memcpy(h, e, (size_t)(n * d) * sizeof *h);
    memset(s, 0, (size_t)d * sizeof *s);
    for (int i = 0; i < n * d; i++) s[i % d] += e[i] / n; /* s^0 = average(E) */
    for (int t = 0; t < layers; t++) {
        char down[64], up[64];
        snprintf(down, sizeof down, "encoder.0.%d.down", t);
        snprintf(up, sizeof up, "encoder.0.%d.up", t);
        for (int i = 0; i < n; i++) { /* eq. 4 to 6: C_i = [h_{i-1}; h_i; h_{i+1}; e_i; s] */
            const double *c[5] = { h + (i + n - 1) % n * d, h + i * d, h + (i + 1) % n * d,
                                   e + i * d, s };
            multi_att(m, down, h + i * d, c, 5, new_h + i * d);
            relu_norm(new_h + i * d, d);
        }
        memcpy(h, new_h, (size_t)(n * d) * sizeof *h);
        context[0] = s; /* eq. 7, 8: [s; H] */
        for (int i = 0; i < n; i++) context[i + 1] = h + i * d;
        multi_att(m, up, s, context, n + 1, new_s);
        relu_norm(new_s, d);
        memcpy(s, new_s, (size_t)d * sizeof *s);
    }
    free(context);
    free(new_s);
    free(new_h);
}

void transformer_equations(const equation_model *m, int layer, int n, double *x)
{
    const int d = m->hidden;
    char attend[64], ffn[64];
    snprintf(attend, sizeof attend, "encoder.0.%d.attend", layer);
    snprintf(ffn, sizeof ffn, "encoder.0.%d.ffn", layer);
    const double **context = calloc((size_t)n + 1, sizeof *context);
    double *y = calloc((size_t)(n * d), sizeof *y), *up = weights(m, ffn, "up.weight"),
           *down = weights(m, ffn, "down.weight"), *inner = calloc((size_t)m->ffn, sizeof *inner);
    for (int i = 0; i < n; i++) context[i] = x + i * d;
    for (int i = 0; i < n; i++) multi_att(m, attend, x + i * d, context, n, y + i * d);
    for (int i = 0; i < n; i++) {
        for (int c = 0; c < d; c++) y[i * d + c] += x[i * d + c];
        layer_norm(y + i * d, d);
        times(inner, up, y + i * d, m->ffn, d);
        for (int c = 0; c < m->ffn; c++) inner[c] = inner[c] > 0 ? inner[c] : 0;
        times(x + i * d, down, inner, d, m->ffn);
        for (int c = 0; c < d; c++) x[i * d + c] += y[i * d + c];
        layer_norm(x + i * d, d);
    }
    free(inner);
    free(down);
    free(up);
    free(y);
    free(context);
}
