#include "papers.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const int32_t paper_lengths[COUNT] = { 1, 2, 3, 17, 0, 5, 12 };

paper_model paper_open(int real)
{
    paper_model m = { .b = bench_open(NULL, real), .settings = gsa_settings_default() };
    m.settings.hidden = D, m.settings.heads = HEADS, m.settings.head_dim = HEAD,
    m.settings.ffn = INNER;
    m.settings.bias = GSA_BIAS_Q | GSA_BIAS_V | GSA_BIAS_O;
    MUST(&m.b, gsa_registry_create(NULL, &m.registry, &m.b.error));
    return m;
}

void paper_add(paper_model *m, const char *name, const char *text, uint32_t reads)
{
    gsa_stack_spec spec = { 0 };
    const uint32_t site = m->stacks ? gsa_stack_sites(m->stack[0]) : 0;
    const gsa_stack_options options = { .name = name, .reads = reads, .first_site = site };
    const int at = m->stacks++;
    MUST(&m->b, gsa_spec_parse(NULL, text, &spec, &m->b.error));
    MUST(&m->b, gsa_stack_create(NULL, m->registry, &spec, &m->settings, &options, m->b.parameters,
                                 &m->stack[at], &m->b.error));
    MUST(&m->b, gsa_stack_batch_create(m->stack[at], &m->batch[at], &m->b.error));
    gsa_spec_release(&spec);
}

void paper_randomise(paper_model *m, uint64_t seed)
{
    gsa_dice dice = { seed };
    for (int p = 0; p < gsa_parameters_count(m->b.parameters); p++) {
        gsa_tensor *x = &gsa_parameters_at(m->b.parameters, p)->value;
        double *values = malloc((size_t)(x->rows * x->cols) * sizeof *values);
        for (int64_t i = 0; i < x->rows * x->cols; i++) values[i] = 0.6 * gsa_normal(&dice);
        MUST(&m->b, gsa_tensor_write(m->b.backend, x, values, &m->b.error));
        free(values);
    }
}

paper_model paper_with(int real, const char *text, uint32_t reads)
{
    paper_model m = paper_open(real);
    paper_add(&m, "encoder", text, reads);
    paper_randomise(&m, 5);
    return m;
}

void paper_close(paper_model *m)
{
    for (int i = 0; i < m->stacks; i++) {
        gsa_stack_batch_release(m->batch[i]);
        gsa_stack_release(m->stack[i]);
    }
    gsa_registry_release(m->registry);
    bench_close(&m->b);
}

gsa_readout paper_forward(paper_model *m, int at, const gsa_sequences *sequences,
                          const double *rows, gsa_tensor *memory)
{
    int64_t tokens = 0;
    gsa_readout out;
    for (int32_t e = 0; e < sequences->count; e++) tokens += sequences->length[e];
    MUST(&m->b, gsa_stack_batch_build(m->batch[at], NULL, NULL, sequences, &m->b.error));
    gsa_tensor *input = gsa_tape_constant(m->b.tape, rows, GSA_F64, tokens, D);
    gsa_stack_forward(m->stack[at], m->b.tape, m->batch[at], input, memory, &out);
    MUST(&m->b, gsa_tape_status(m->b.tape, &m->b.error));
    return out;
}

void paper_run(paper_model *m, const int32_t *length, int32_t count, const double *rows,
               double *sequence, double *summary)
{
    gsa_tape_reset(m->b.tape, 0, 1, 1);
    const gsa_readout out =
        paper_forward(m, 0, &(gsa_sequences){ .count = count, .length = length }, rows, NULL);
    MUST(&m->b, gsa_tensor_read(m->b.backend, out.sequence, 0, sequence, &m->b.error));
    if (summary) MUST(&m->b, gsa_tensor_read(m->b.backend, out.summary, 0, summary, &m->b.error));
}

void paper_rows(double *rows, int count, uint64_t seed)
{
    gsa_dice dice = { seed };
    for (int i = 0; i < count; i++) rows[i] = gsa_normal(&dice);
}

/* ---- the equations' parts ------------------------------------------------------------------ */
void paper_weights(paper_model *m, const char *prefix, const char *leaf, double *values,
                   int64_t rows, int64_t cols)
{
    char name[200];
    snprintf(name, sizeof name, "%s.%s", prefix, leaf);
    const gsa_parameter *p = gsa_parameters_find(m->b.parameters, name);
    ck_assert_msg(p && p->value.rows == rows && p->value.cols == cols,
                  "no parameter %s of this shape", name);
    MUST(&m->b, gsa_tensor_read(m->b.backend, &p->value, 0, values, &m->b.error));
}

void paper_project(paper_model *m, const char *prefix, const char *matrix, const char *bias,
                   const double *x, int in, int out, double *y)
{
    double w[WIDTH * WIDTH], b[WIDTH] = { 0 };
    paper_weights(m, prefix, matrix, w, out, in);
    if (bias) paper_weights(m, prefix, bias, b, 1, out);
    for (int o = 0; o < out; o++) {
        y[o] = b[o];
        for (int i = 0; i < in; i++) y[o] += w[o * in + i] * x[i];
    }
}

void paper_norm(paper_model *m, const char *prefix, double *x)
{
    double gain[D], shift[D], mean = 0, var = 0;
    paper_weights(m, prefix, "norm.gain", gain, 1, D);
    paper_weights(m, prefix, "norm.bias", shift, 1, D);
    for (int i = 0; i < D; i++) mean += x[i] / D;
    for (int i = 0; i < D; i++) var += (x[i] - mean) * (x[i] - mean) / D;
    for (int i = 0; i < D; i++)
        x[i] = (x[i] - mean) / sqrt(var + m->settings.norm_eps) * gain[i] + shift[i];
}

void paper_read_all(paper_reads *r, int j)
{
    for (int h = 0; h < HEADS; h++) r->times[h][j][h]++;
}

void paper_multi_head(paper_model *m, const char *prefix, const double *query,
                      const double *const *source, int count, const paper_reads *r, double *out)
{
    double q[WIDTH], k[2 * MOST + 2][WIDTH], v[2 * MOST + 2][WIDTH], a[WIDTH] = { 0 };
    paper_project(m, prefix, "q.weight", "q.bias", query, D, WIDTH, q);
    for (int j = 0; j < count; j++) {
        paper_project(m, prefix, "k.weight", NULL, source[j], D, WIDTH, k[j]);
        paper_project(m, prefix, "v.weight", "v.bias", source[j], D, WIDTH, v[j]);
    }
    for (int h = 0; h < HEADS; h++) {
        double total = 0;
        for (int pass = 0; pass < 2; pass++) /* the sum of exponentials, then the mixture */
            for (int j = 0; j < count; j++)
                for (int g = 0; g < HEADS; g++) {
                    if (r->times[h][j][g] == 0) continue;
                    double score = 0;
                    for (int c = 0; c < HEAD; c++)
                        score += q[h * HEAD + c] * k[j][g * HEAD + c] / sqrt(HEAD);
                    const double p = r->times[h][j][g] * exp(score);
                    if (pass == 0) total += p;
                    for (int c = 0; pass == 1 && c < HEAD; c++)
                        a[h * HEAD + c] += p / total * v[j][g * HEAD + c];
                }
    }
    paper_project(m, prefix, "o.weight", "o.bias", a, WIDTH, D, out);
}

void paper_add_norm(paper_model *m, const char *prefix, double *x, const double *a)
{
    for (int c = 0; c < D; c++) x[c] += a[c];
    paper_norm(m, prefix, x);
}

void paper_ffn(paper_model *m, const char *prefix, double *x)
{
    double inner[INNER], out[D];
    paper_project(m, prefix, "up.weight", "up.bias", x, D, INNER, inner);
    for (int c = 0; c < INNER; c++) inner[c] = fmax(inner[c], 0);
    paper_project(m, prefix, "down.weight", "down.bias", inner, INNER, D, out);
    paper_add_norm(m, prefix, x, out);
}

void paper_layer(paper_model *m, const char *stack, int number, paper_reader *who,
                 const void *context, int n, double *x)
{
    double a[MOST][D];
    const double *source[MOST];
    char prefix[64];
    for (int i = 0; i < n; i++) source[i] = x + i * D;
    for (int i = 0; i < n; i++) {
        paper_reads r = { 0 };
        snprintf(prefix, sizeof prefix, "%s.%d.%s", stack, number, who(context, n, i, &r));
        paper_multi_head(m, prefix, source[i], source, n, &r, a[i]);
    }
    for (int i = 0; i < n; i++) {
        paper_reads r = { 0 };
        snprintf(prefix, sizeof prefix, "%s.%d.%s", stack, number, who(context, n, i, &r));
        paper_add_norm(m, prefix, x + i * D, a[i]);
        snprintf(prefix, sizeof prefix, "%s.%d.ffn", stack, number);
        paper_ffn(m, prefix, x + i * D);
    }
}
