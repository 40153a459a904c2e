/* Patterns of the papers through the executor against the papers' equations, written once more in
 * double with plain loops; and causal patterns: what comes later changes no bit of what comes
 * before. */
#include "bench.h"
#include "gsa/stack.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    D = 6,
    HEADS = 5,
    HEAD = 2,
    INNER = 7,
    WIDTH = HEADS * HEAD,
    MOST = 17,
    COUNT = 7,
    TOKENS = 40
};
static const int32_t lengths[COUNT] = { 1, 2, 3, 17, 0, 5, 12 };

/* ---- a stack, its parameters all at random ------------------------------------------------- */
typedef struct model {
    bench b;
    gsa_registry *registry;
    gsa_stack *stack[2];
    gsa_stack_batch *batch[2];
    gsa_settings settings;
    int stacks;
} model;

static model model_open(int real)
{
    model m = { .b = bench_open(NULL, real), .settings = gsa_settings_default() };
    m.settings.hidden = D, m.settings.heads = HEADS, m.settings.head_dim = HEAD,
    m.settings.ffn = INNER;
    m.settings.bias = GSA_BIAS_Q | GSA_BIAS_V | GSA_BIAS_O;
    MUST(&m.b, gsa_registry_create(NULL, &m.registry, &m.b.error));
    return m;
}

static void model_add(model *m, const char *name, const char *text, uint32_t reads)
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

static void randomise(model *m, uint64_t seed)
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

static model model_with(int real, const char *text, uint32_t reads)
{
    model m = model_open(real);
    model_add(&m, "encoder", text, reads);
    randomise(&m, 5);
    return m;
}

static void model_close(model *m)
{
    for (int i = 0; i < m->stacks; i++) {
        gsa_stack_batch_release(m->batch[i]);
        gsa_stack_release(m->stack[i]);
    }
    gsa_registry_release(m->registry);
    bench_close(&m->b);
}

static gsa_readout forward(model *m, int at, const gsa_sequences *sequences, const double *rows,
                           gsa_tensor *memory)
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

/* Sequence [tokens, D] (and summary [count, D] where not NULL) of the first stack. */
static void run(model *m, const int32_t *length, int32_t count, const double *rows,
                double *sequence, double *summary)
{
    gsa_tape_reset(m->b.tape, 0, 1, 1);
    const gsa_readout out =
        forward(m, 0, &(gsa_sequences){ .count = count, .length = length }, rows, NULL);
    MUST(&m->b, gsa_tensor_read(m->b.backend, out.sequence, 0, sequence, &m->b.error));
    if (summary) MUST(&m->b, gsa_tensor_read(m->b.backend, out.summary, 0, summary, &m->b.error));
}

static void random_rows(double *rows, int count, uint64_t seed)
{
    gsa_dice dice = { seed };
    for (int i = 0; i < count; i++) rows[i] = gsa_normal(&dice);
}

/* ---- the equations' parts ------------------------------------------------------------------ */
static void weights(model *m, const char *prefix, const char *leaf, double *values, int64_t rows,
                    int64_t cols)
{
    char name[200];
    snprintf(name, sizeof name, "%s.%s", prefix, leaf);
    const gsa_parameter *p = gsa_parameters_find(m->b.parameters, name);
    ck_assert_msg(p && p->value.rows == rows && p->value.cols == cols,
                  "no parameter %s of this shape", name);
    MUST(&m->b, gsa_tensor_read(m->b.backend, &p->value, 0, values, &m->b.error));
}

static void project(model *m, const char *prefix, const char *matrix, const char *bias,
                    const double *x, int in, int out, double *y)
{
    double w[WIDTH * WIDTH], b[WIDTH] = { 0 };
    weights(m, prefix, matrix, w, out, in);
    if (bias) weights(m, prefix, bias, b, 1, out);
    for (int o = 0; o < out; o++) {
        y[o] = b[o];
        for (int i = 0; i < in; i++) y[o] += w[o * in + i] * x[i];
    }
}

static void norm(model *m, const char *prefix, double *x)
{
    double gain[D], shift[D], mean = 0, var = 0;
    weights(m, prefix, "norm.gain", gain, 1, D);
    weights(m, prefix, "norm.bias", shift, 1, D);
    for (int i = 0; i < D; i++) mean += x[i] / D;
    for (int i = 0; i < D; i++) var += (x[i] - mean) * (x[i] - mean) / D;
    for (int i = 0; i < D; i++)
        x[i] = (x[i] - mean) / sqrt(var + m->settings.norm_eps) * gain[i] + shift[i];
}

/* How often head h of the query reads head g of source j: the pattern, as one query's table. */
typedef struct reads {
    int times[HEADS][2 * MOST + 2][HEADS];
} reads;

static void read_all_heads(reads *r, int j)
{
    for (int h = 0; h < HEADS; h++) r->times[h][j][h]++;
}

/* W_o of: head h = sum over what it reads of softmax(q_h . k_{j,g} / sqrt(d)) v_{j,g}; nothing
 * read: zeros. */
static void multi_head(model *m, const char *prefix, const double *query,
                       const double *const *source, int count, const reads *r, double *out)
{
    double q[WIDTH], k[2 * MOST + 2][WIDTH], v[2 * MOST + 2][WIDTH], a[WIDTH] = { 0 };
    project(m, prefix, "q.weight", "q.bias", query, D, WIDTH, q);
    for (int j = 0; j < count; j++) {
        project(m, prefix, "k.weight", NULL, source[j], D, WIDTH, k[j]);
        project(m, prefix, "v.weight", "v.bias", source[j], D, WIDTH, v[j]);
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
    project(m, prefix, "o.weight", "o.bias", a, WIDTH, D, out);
}

/* norm(x + a), then norm(x + W_2 relu(W_1 x + b_1) + b_2). */
static void add_norm(model *m, const char *prefix, double *x, const double *a)
{
    for (int c = 0; c < D; c++) x[c] += a[c];
    norm(m, prefix, x);
}

static void ffn(model *m, const char *prefix, double *x)
{
    double inner[INNER], out[D];
    project(m, prefix, "up.weight", "up.bias", x, D, INNER, inner);
    for (int c = 0; c < INNER; c++) inner[c] = fmax(inner[c], 0);
    project(m, prefix, "down.weight", "down.bias", inner, INNER, D, out);
    add_norm(m, prefix, x, out);
}

/* One layer of the Transformer's kind over x [n, D]: who reads whom is `who`, with which weights is
 * what it returns. */
typedef const char *who_reads(const void *context, int n, int i, reads *r);

static void layer(model *m, const char *stack, int number, who_reads *who, const void *context,
                  int n, double *x)
{
    double a[MOST][D];
    const double *source[MOST];
    char prefix[64];
    for (int i = 0; i < n; i++) source[i] = x + i * D;
    for (int i = 0; i < n; i++) {
        reads r = { 0 };
        snprintf(prefix, sizeof prefix, "%s.%d.%s", stack, number, who(context, n, i, &r));
        multi_head(m, prefix, source[i], source, n, &r, a[i]);
    }
    for (int i = 0; i < n; i++) {
        reads r = { 0 };
        snprintf(prefix, sizeof prefix, "%s.%d.%s", stack, number, who(context, n, i, &r));
        add_norm(m, prefix, x + i * D, a[i]);
        snprintf(prefix, sizeof prefix, "%s.%d.ffn", stack, number);
        ffn(m, prefix, x + i * D);
    }
}

/* The stack `spec` of one segment and two layers, over all lengths, against the equations; the
 * summary is the mean. */
static void expect_layers(const char *spec, who_reads *who, const void *context)
{
    double rows[TOKENS * D], sequence[TOKENS * D], summary[COUNT * D];
    char text[100];
    snprintf(text, sizeof text, "%s*2", spec);
    model m = model_with(GSA_F64, text, GSA_READ_SEQUENCE | GSA_READ_SUMMARY);
    random_rows(rows, TOKENS * D, 21);
    run(&m, lengths, COUNT, rows, sequence, summary);
    double *x = rows, *y = sequence;
    for (int e = 0; e < COUNT; x += lengths[e] * D, y += lengths[e] * D, e++) {
        double mean[D] = { 0 };
        for (int l = 0; l < 2; l++) layer(&m, "encoder.0", l, who, context, lengths[e], x);
        for (int i = 0; i < lengths[e] * D; i++) mean[i % D] += x[i] / lengths[e];
        ck_assert_int_eq(gsa_differ(spec, y, x, lengths[e] * D, 1e-12, 1e-12), 0);
        ck_assert_int_eq(gsa_differ(spec, summary + e * D, mean, D, 1e-12, 1e-12), 0);
    }
    model_close(&m);
}

/* ---- CSAN, Yang et al. 2019 ---------------------------------------------------------------- */
typedef struct area {
    const char *spec;
    int half, heads; /* M/2, N/2 */
    int border;
} area;

/* eq. 7, 8: heads h - N/2 .. h + N/2 of tokens i - M/2 .. i + M/2. eq. 4, 5 are N = 0. */
static const char *csan(const void *context, int n, int i, reads *r)
{
    const area *a = context;
    for (int h = 0; h < HEADS; h++)
        for (int j = i - a->half; j <= i + a->half; j++)
            for (int g = h - a->heads; g <= h + a->heads; g++) {
                const int round = ((g % HEADS) + HEADS) % HEADS, near = g < 0        ? 0
                                                                        : g >= HEADS ? HEADS - 1
                                                                                     : g;
                const int head = a->border == 1 ? round : a->border == 2 ? near : g;
                if (j >= 0 && j < n && head >= 0 && head < HEADS) r->times[h][j][head]++;
            }
    return "attend";
}

static const area areas[] = {
    { "window:width=1", 0, 0, 0 },
    { "window:width=5", 2, 0, 0 },
    { "window", 5, 0, 0 },
    { "dilated:width=5:step=1", 2, 0, 0 },
    { "longformer:width=5:global=0", 2, 0, 0 },
    { "head_area:width=5:heads=1", 2, 0, 0 },
    { "head_area", 5, 1, 0 },
    { "head_area:border=circular", 5, 1, 1 },
    { "head_area:border=clamp", 5, 1, 2 },
    { "head_area:width=3:heads=5", 1, 2, 0 },
    { "head_area:width=3:heads=5:border=circular", 1, 2, 1 },
    { "head_area:width=3:heads=5:border=clamp", 1, 2, 2 },
    { "head_area:width=3:heads=9", 1, 4, 0 },
    { "head_area:width=3:heads=9:border=circular", 1, 4, 1 },
    { "head_area:width=3:heads=9:border=clamp", 1, 4, 2 },
    { "head_area:width=99:heads=1", 49, 0, 0 }, /* M >= 2n, N = 0: full */
    { "full", 49, 0, 0 },
};

START_TEST(csan_is_its_equations)
{
    expect_layers(areas[_i].spec, csan, &areas[_i]);
}
END_TEST

/* Borders are seen by the first and the last head alone (N = 2): with W_o blind to these the three
 * are one. */
START_TEST(borders_differ_in_the_end_heads_alone)
{
    static const char *const specs[] = { "head_area", "head_area:border=circular",
                                         "head_area:border=clamp" };
    double rows[TOKENS * D], out[2][3][TOKENS * D], w[D * WIDTH];
    random_rows(rows, TOKENS * D, 22);
    for (int blind = 0; blind < 2; blind++)
        for (int s = 0; s < 3; s++) {
            model m = model_with(GSA_F64, specs[s], GSA_READ_SEQUENCE);
            gsa_tensor *o =
                &gsa_parameters_find(m.b.parameters, "encoder.0.0.attend.o.weight")->value;
            MUST(&m.b, gsa_tensor_read(m.b.backend, o, 0, w, &m.b.error));
            for (int i = 0; i < D * WIDTH; i++)
                if (blind && (i % WIDTH < HEAD || i % WIDTH >= WIDTH - HEAD)) w[i] = 0;
            MUST(&m.b, gsa_tensor_write(m.b.backend, o, w, &m.b.error));
            run(&m, lengths, COUNT, rows, out[blind][s], NULL);
            model_close(&m);
        }
    for (int s = 1; s < 3; s++) {
        double far = 0;
        for (int i = 0; i < TOKENS * D; i++) far = fmax(far, fabs(out[0][s][i] - out[0][0][i]));
        ck_assert_double_gt(far, 1e-3);
        ck_assert_int_eq(gsa_differ(specs[s], out[1][s], out[1][0], TOKENS * D, 1e-12, 1e-12), 0);
    }
}
END_TEST

/* No learned number more than full's, and the same names: the lowest layers of a model change their
 * pattern and nothing else. */
START_TEST(areas_have_no_parameters_of_their_own)
{
    static const char *const specs[] = { "full*3,full*3", "window*3,full*3", "head_area*3,full*3",
                                         "head_area:border=circular*3,full*3",
                                         "head_area:heads=5:border=clamp*3,full*3" };
    model base = model_with(GSA_F64, specs[0], GSA_READ_SUMMARY);
    ck_assert_int_gt(gsa_parameters_total(base.b.parameters), 6 * 4 * D * WIDTH);
    for (int s = 1; s < GSA_COUNT(specs); s++) {
        model m = model_with(GSA_F64, specs[s], GSA_READ_SUMMARY);
        ck_assert_int_eq(gsa_stack_layers(m.stack[0]), 6);
        ck_assert_int_eq(gsa_parameters_total(m.b.parameters),
                         gsa_parameters_total(base.b.parameters));
        ck_assert_int_eq(gsa_parameters_count(m.b.parameters),
                         gsa_parameters_count(base.b.parameters));
        for (int p = 0; p < gsa_parameters_count(m.b.parameters); p++)
            ck_assert_str_eq(gsa_parameters_at(m.b.parameters, p)->name,
                             gsa_parameters_at(base.b.parameters, p)->name);
        double rows[TOKENS * D], sequence[TOKENS * D], x[TOKENS * D];
        random_rows(rows, TOKENS * D, 23);
        model both = model_with(GSA_F64, specs[s], GSA_READ_SEQUENCE | GSA_READ_SUMMARY);
        run(&both, lengths, COUNT, rows, sequence, x);
        model_close(&both);
        model_close(&m);
    }
    model_close(&base);
}
END_TEST

/* The lowest three layers see an area, the others everything: the equations of both, one after the
 * other. */
START_TEST(areas_below_and_full_above)
{
    static const area below[] = { { "window:width=5*3,full*3", 2, 0, 0 },
                                  { "head_area:width=5*3,full*3", 2, 1, 0 } };
    static const area all = { "full", 49, 0, 0 };
    double rows[TOKENS * D], sequence[TOKENS * D];
    model m = model_with(GSA_F64, below[_i].spec, GSA_READ_SEQUENCE);
    random_rows(rows, TOKENS * D, 24);
    run(&m, lengths, COUNT, rows, sequence, NULL);
    double *x = rows, *y = sequence;
    for (int e = 0; e < COUNT; x += lengths[e] * D, y += lengths[e] * D, e++) {
        for (int l = 0; l < 6; l++)
            layer(&m, l < 3 ? "encoder.0" : "encoder.1", l % 3, csan, l < 3 ? &below[_i] : &all,
                  lengths[e], x);
        ck_assert_int_eq(gsa_differ(below[_i].spec, y, x, lengths[e] * D, 1e-11, 1e-11), 0);
    }
    model_close(&m);
}
END_TEST

/* ---- Longformer, Beltagy et al. 2020, section 3.1 ------------------------------------------ */
typedef struct longform {
    const char *spec;
    int half, global, own, causal;
} longform;

/* Local rows: q, k, v of one set over global tokens and window. Global rows: all tokens, of the
 * second set where there is one. */
static const char *longformer(const void *context, int n, int i, reads *r)
{
    const longform *l = context;
    for (int j = 0; j < n; j++)
        if ((i < l->global || j < l->global || abs(i - j) <= l->half) && (!l->causal || j <= i))
            read_all_heads(r, j);
    return l->own && i < l->global ? "global" : "attend";
}

static const longform longforms[] = {
    { "longformer", 5, 1, 1, 0 },
    { "longformer:own=0", 5, 1, 0, 0 },
    { "longformer:width=3:global=2", 1, 2, 1, 0 },
    { "longformer:width=3:global=2:own=0", 1, 2, 0, 0 },
    { "longformer:width=1:global=9", 0, 9, 1, 0 },
    { "longformer:width=3:global=100", 1, 100, 1, 0 },
    { "longformer:width=3:global=2:causal", 1, 2, 1, 1 },
    { "longformer:width=3:global=2:own=0:causal", 1, 2, 0, 1 },
};

START_TEST(longformer_is_its_equations)
{
    expect_layers(longforms[_i].spec, longformer, &longforms[_i]);
}
END_TEST

START_TEST(longformer_has_two_sets_of_projections_or_one)
{
    model own = model_with(GSA_F64, "longformer", GSA_READ_SEQUENCE);
    model one = model_with(GSA_F64, "longformer:own=0", GSA_READ_SEQUENCE);
    const int64_t set =
        4 * D * WIDTH + 2 * WIDTH + D + 2 * D; /* weights, biases of q, v and o, norm */
    ck_assert_int_eq(gsa_parameters_total(own.b.parameters),
                     gsa_parameters_total(one.b.parameters) + set);
    model_close(&own);
    model_close(&one);
}
END_TEST

/* ---- Sparse Transformer, Child et al. 2019, section 4.3; BigBird without chance, Zaheer et al.
 * 2020 ---- */
typedef struct factors {
    const char *spec;
    int fixed, l, c, split;
} factors;

static const char *sparse(const void *context, int n, int i, reads *r)
{
    const factors *f = context;
    (void)n;
    for (int j = 0; j <= i; j++)
        for (int h = 0; h < HEADS; h++) {
            const int a1 = f->fixed ? j / f->l == i / f->l : i - j <= f->l;
            const int a2 = f->fixed ? j % f->l >= f->l - f->c : (i - j) % f->l == 0;
            if (!f->split ? a1 || a2 : h < (HEADS + 1) / 2 ? a1 : a2) r->times[h][j][h]++;
        }
    return "attend";
}

static const factors sparses[] = {
    { "strided:stride=3", 0, 3, 1, 0 },
    { "strided:stride=4:heads=split", 0, 4, 1, 1 },
    { "strided:pattern=fixed:stride=5:c=2", 1, 5, 2, 0 },
    { "strided:pattern=fixed:stride=3:heads=split", 1, 3, 1, 1 },
};

START_TEST(strided_is_its_equations)
{
    expect_layers(sparses[_i].spec, sparse, &sparses[_i]);
}
END_TEST

START_TEST(bigbird_without_chance_is_longformer)
{
    static const longform l = { "", 1, 2, 0, 0 };
    expect_layers("bigbird:random=0", longformer, &l);
}
END_TEST

/* ---- Star-Transformer, Guo et al. 2019, and what it is without parts or with several relays ----
 */
typedef struct star {
    const char *spec;
    int relays, ring, cyclic; /* relays 0: radial=0 */
} star;

static void relu_norm(model *m, const char *prefix, const double *a, double *x)
{
    for (int c = 0; c < D; c++) x[c] = fmax(a[c], 0);
    norm(m, prefix, x);
}

/* C_i = [h_{i-1}; h_i; h_{i+1}; e_i; s], without what is not there (table 6: a -radial, b
 * -ring). */
static int context_of(const star *v, int n, int i, const double *h, const double *e, double (*s)[D],
                      const double **context)
{
    int count = 0;
    if (v->ring && (i > 0 || v->cyclic)) context[count++] = h + (i + n - 1) % n * D;
    context[count++] = h + i * D;
    if (v->ring && (i + 1 < n || v->cyclic)) context[count++] = h + (i + 1) % n * D;
    context[count++] = e + i * D;
    for (int a = 0; a < v->relays; a++) context[count++] = s[a];
    return count;
}

static void star_layer(model *m, const star *v, int number, int n, const double *e, double *h,
                       double (*s)[D])
{
    double a[MOST][D];
    const double *context[2 * MOST + 2];
    char prefix[64];
    reads r = { 0 };
    for (int j = 0; j < 2 * MOST + 2; j++) read_all_heads(&r, j);
    snprintf(prefix, sizeof prefix, "encoder.0.%d.down", number);
    for (int i = 0; i < n; i++)
        multi_head(m, prefix, h + i * D, context, context_of(v, n, i, h, e, s, context), &r, a[i]);
    for (int i = 0; i < n; i++) relu_norm(m, prefix, a[i], h + i * D);
    snprintf(prefix, sizeof prefix, "encoder.0.%d.up", number);
    for (int i = 0; i < n; i++) context[i + 1] = h + i * D;
    for (int k = 0; k < v->relays; k++) { /* [s; H]: relays do not read each other */
        context[0] = s[k];
        multi_head(m, prefix, s[k], context, n + 1, &r, a[k]);
    }
    for (int k = 0; k < v->relays; k++) relu_norm(m, prefix, a[k], s[k]);
}

static const star stars[] = {
    { "star*3", 1, 1, 1 },
    { "star:radial=0*3", 0, 1, 1 },
    { "star:ring=0*3", 1, 0, 1 },
    { "star:cyclic=0*3", 1, 1, 0 },
    { "star:radial=0:ring=0*3", 0, 0, 1 },
    { "star:radial=0:cyclic=0*3", 0, 1, 0 },
    { "star:relays=1*3", 1, 1, 1 },
    { "star:relays=2*3", 2, 1, 1 },
    { "star:relays=7:ring=0*3", 7, 0, 1 },
};

START_TEST(star_and_its_variants_are_their_equations)
{
    const star *v = &stars[_i];
    double rows[TOKENS * D], sequence[TOKENS * D], summary[COUNT * D], learned[MOST * D] = { 0 };
    model m = model_with(GSA_F64, v->spec, GSA_READ_SEQUENCE | GSA_READ_SUMMARY);
    random_rows(rows, TOKENS * D, 25);
    run(&m, lengths, COUNT, rows, sequence, summary);
    if (v->relays > 1) weights(&m, "encoder.relay", "rows.weight", learned, v->relays, D);
    const double *e = rows, *y = sequence;
    for (int x = 0; x < COUNT; e += lengths[x] * D, y += lengths[x] * D, x++) {
        const int n = lengths[x];
        double h[MOST * D], s[MOST][D], z[D] = { 0 };
        memcpy(h, e, (size_t)n * D * sizeof *h);
        for (int i = 0; i < v->relays * D; i++) s[i / D][i % D] = learned[i];
        for (int i = 0; i < n * v->relays * D; i++)
            s[i / n / D][i / n % D] += e[i % n * D + i / n % D] / n;
        for (int l = 0; l < 3 && n > 0; l++) star_layer(&m, v, l, n, e, h, s);
        for (int c = 0; c < D && n > 0; c++) {
            double top = h[c];
            for (int i = 1; i < n; i++) top = fmax(top, h[i * D + c]);
            for (int k = 0; k < v->relays; k++) z[c] += s[k][c] / v->relays;
            z[c] += top;
        }
        ck_assert_int_eq(gsa_differ(v->spec, y, h, n * D, 1e-12, 1e-12), 0);
        ck_assert_int_eq(gsa_differ(v->spec, summary + x * D, z, D, 1e-12, 1e-12), 0);
    }
    model_close(&m);
}
END_TEST

/* One relay is what it was before there could be several: the same parameters, the same bits. */
START_TEST(one_relay_is_the_star)
{
    double rows[TOKENS * D], out[2][TOKENS * D], summary[2][COUNT * D];
    random_rows(rows, TOKENS * D, 26);
    for (int i = 0; i < 2; i++) {
        model m = model_with(GSA_F32, i ? "star:relays=1*2" : "star*2",
                             GSA_READ_SEQUENCE | GSA_READ_SUMMARY);
        ck_assert_ptr_null(gsa_parameters_find(m.b.parameters, "encoder.relay.rows.weight"));
        run(&m, lengths, COUNT, rows, out[i], summary[i]);
        model_close(&m);
    }
    ck_assert_mem_eq(out[0], out[1], sizeof out[0]);
    ck_assert_mem_eq(summary[0], summary[1], sizeof summary[0]);
}
END_TEST

/* ---- encoder and decoder in one tape, Vaswani et al. 2017, section 3.1 --------------------- */
static const int32_t target_length[] = { 4, 1, 0, 9, 3, 6, 2 };
enum { TARGETS = 25 };

static model decoder_model(int align)
{
    model m = model_open(GSA_F64);
    model_add(&m, "encoder", "full*2", GSA_READ_SEQUENCE);
    model_add(&m, "decoder", align ? "full:causal=1+cross:align=1*2" : "full:causal=1+cross*2",
              GSA_READ_SEQUENCE);
    randomise(&m, 6);
    return m;
}

static gsa_readout decode(model *m, const double *source, const double *target,
                          const int32_t *source_group, const int32_t *target_group, int training)
{
    gsa_tape_reset(m->b.tape, training, 1, 1);
    gsa_readout memory =
        forward(m, 0, &(gsa_sequences){ .count = COUNT, .length = lengths }, source, NULL);
    return forward(m, 1,
                   &(gsa_sequences){ .count = COUNT,
                                     .length = target_length,
                                     .memory_length = lengths,
                                     .group = target_group,
                                     .memory_group = source_group },
                   target, memory.sequence);
}

static const char *everything(const void *context, int n, int i, reads *r)
{
    (void)context, (void)i;
    for (int j = 0; j < n; j++) read_all_heads(r, j);
    return "attend";
}

/* Masked self-attention, attention over the encoder's output, FFN; groups NULL: all of it. */
static void decoder_layer(model *m, int number, int n, double *y, int memory, const double *z,
                          const int32_t *group, const int32_t *memory_group)
{
    double a[MOST][D];
    const double *source[MOST];
    char prefix[64];
    snprintf(prefix, sizeof prefix, "decoder.0.%d.full.attend", number);
    for (int i = 0; i < n; i++) source[i] = y + i * D;
    for (int i = 0; i < n; i++) {
        reads r = { 0 };
        for (int j = 0; j <= i; j++) read_all_heads(&r, j);
        multi_head(m, prefix, source[i], source, n, &r, a[i]);
    }
    for (int i = 0; i < n; i++) add_norm(m, prefix, y + i * D, a[i]);
    snprintf(prefix, sizeof prefix, "decoder.0.%d.cross.attend", number);
    for (int j = 0; j < memory; j++) source[j] = z + j * D;
    for (int i = 0; i < n; i++) {
        reads r = { 0 };
        for (int j = 0; j < memory; j++)
            if (!group || group[i] == memory_group[j]) read_all_heads(&r, j);
        multi_head(m, prefix, y + i * D, source, memory, &r, a[0]);
        add_norm(m, prefix, y + i * D, a[0]);
    }
    snprintf(prefix, sizeof prefix, "decoder.0.%d.full.ffn", number);
    for (int i = 0; i < n; i++) ffn(m, prefix, y + i * D);
}

START_TEST(decoder_is_its_equations)
{
    double source[TOKENS * D], target[TARGETS * D], out[TARGETS * D];
    int32_t group[2][TOKENS];
    for (int i = 0; i < TOKENS; i++)
        group[0][i] = i / 4, group[1][i] = i / 3; /* some targets find no source of their group */
    model m = decoder_model(_i);
    random_rows(source, TOKENS * D, 27);
    random_rows(target, TARGETS * D, 28);
    const gsa_readout read =
        decode(&m, source, target, _i ? group[0] : NULL, _i ? group[1] : NULL, 0);
    MUST(&m.b, gsa_tensor_read(m.b.backend, read.sequence, 0, out, &m.b.error));
    for (int e = 0, s = 0, t = 0; e < COUNT; s += lengths[e], t += target_length[e], e++) {
        for (int l = 0; l < 2; l++)
            layer(&m, "encoder.0", l, everything, NULL, lengths[e], source + s * D);
        for (int l = 0; l < 2; l++)
            decoder_layer(&m, l, target_length[e], target + t * D, lengths[e], source + s * D,
                          _i ? group[1] + t : NULL, group[0] + s);
        ck_assert_int_eq(
            gsa_differ("decoder", out + t * D, target + t * D, target_length[e] * D, 1e-12, 1e-12),
            0);
    }
    model_close(&m);
}
END_TEST

/* The gradient goes through the decoder's memory into the encoder: against differences of the
 * loss. */
static double decoder_loss(model *m, const double *source, const double *target, gsa_tensor **loss)
{
    double value;
    const gsa_readout read = decode(m, source, target, NULL, NULL, 1);
    *loss =
        gsa_op_square_error(m->b.tape, read.sequence, gsa_tape_zeros(m->b.tape, TARGETS, D), 0.5);
    gsa_tensor *odd = gsa_op_view(m->b.tape, read.sequence, 0,
                                  7); /* the norm makes the square of all nearly constant */
    *loss = gsa_op_add(m->b.tape, *loss,
                       gsa_op_square_error(m->b.tape, odd,
                                           gsa_tape_constant(m->b.tape, target, GSA_F64, 7, D), 1));
    MUST(&m->b, gsa_tape_status(m->b.tape, &m->b.error));
    MUST(&m->b, gsa_tensor_read(m->b.backend, *loss, 0, &value, &m->b.error));
    return value;
}

START_TEST(gradients_reach_the_encoder)
{
    static const char *const names[] = { "encoder.0.0.attend.v.weight", "encoder.0.1.ffn.up.weight",
                                         "decoder.0.0.cross.attend.k.weight",
                                         "decoder.0.1.cross.attend.q.weight" };
    double source[TOKENS * D], target[TARGETS * D], w[D * WIDTH], gradient[D * WIDTH], at[2];
    model m = decoder_model(0);
    random_rows(source, TOKENS * D, 27);
    random_rows(target, TARGETS * D, 28);
    gsa_tensor *x = &gsa_parameters_find(m.b.parameters, names[_i])->value, *loss;
    MUST(&m.b, gsa_tensor_read(m.b.backend, x, 0, w, &m.b.error));
    decoder_loss(&m, source, target, &loss);
    MUST(&m.b, gsa_parameters_zero_gradients(m.b.parameters, &m.b.error));
    MUST(&m.b, gsa_tape_backward(m.b.tape, loss, &m.b.error));
    MUST(&m.b, gsa_tensor_read(m.b.backend, x, 1, gradient, &m.b.error));
    for (int i = 0; i < (int)(x->rows * x->cols); i += 7) {
        const double old = w[i];
        for (int side = 0; side < 2; side++) {
            w[i] = old + (side ? -1e-5 : 1e-5);
            MUST(&m.b, gsa_tensor_write(m.b.backend, x, w, &m.b.error));
            at[side] = decoder_loss(&m, source, target, &loss);
        }
        w[i] = old;
        ck_assert_double_eq_tol(gradient[i], (at[0] - at[1]) / 2e-5,
                                1e-6 + 1e-5 * fabs(gradient[i]));
    }
    model_close(&m);
}
END_TEST

/* ---- nothing leaks back -------------------------------------------------------------------- */
static const struct {
    const char *spec;
    int stable; /* prefix-stable: what a token becomes is the same in every longer sequence */
} causal[] = {
    { "full:causal*2", 1 },
    { "full:causal:clip=2*2", 1 },
    { "window:width=5:causal*2", 1 },
    { "dilated:width=5:step=3:causal*2", 1 },
    { "longformer:width=3:global=2:causal*2", 1 },
    { "longformer:width=3:global=2:own=0:causal*2", 1 },
    { "longformer:width=3:global=100:causal*2", 1 },
    { "bigbird:width=1:global=1:random=2:causal*2", 1 },
    { "bigbird:width=3:global=1:random=2:block=3:causal*2", 1 },
    { "strided*2", 0 },
    { "strided:stride=3*2", 1 },
    { "strided:stride=3:heads=near,strided:stride=3:heads=far", 1 },
    { "strided:stride=3:heads=split*2", 1 },
    { "strided:pattern=fixed*2", 0 },
    { "strided:pattern=fixed:stride=4:c=2*2", 1 },
    { "strided:pattern=fixed:stride=4:c=2:heads=split*2", 1 },
    { "strided:pattern=fixed:stride=4:heads=far,strided:pattern=fixed:stride=4:heads=near", 1 },
    { "window:width=3:causal+dilated:width=5:step=4:causal*2", 1 },
};

/* Rows [n, D] with token `changed` put to something else (-1: none), in the middle of two other
 * examples. */
static void run_changed(model *m, int32_t n, int changed, double *out)
{
    const int32_t length[3] = { 4, n, 2 };
    double rows[(MOST + 6) * D], all[(MOST + 6) * D];
    random_rows(rows, (n + 6) * D, 29);
    for (int c = 0; c < D && changed >= 0; c++) rows[(4 + changed) * D + c] = 3 - c;
    run(m, length, 3, rows, all, NULL);
    memcpy(out, all + 4 * D, (size_t)n * D * sizeof *out);
}

static int rows_that_differ(const double *a, const double *b, int from, int to)
{
    int rows = 0;
    for (int i = from; i < to; i++) rows += memcmp(a + i * D, b + i * D, D * sizeof *a) != 0;
    return rows;
}

START_TEST(a_later_token_changes_no_bit_of_an_earlier_one)
{
    for (int pre = 0; pre < 2; pre++) {
        double before[MOST * D], after[MOST * D];
        model m = model_open(pre ? GSA_F32 : GSA_F64);
        m.settings.norm = pre ? GSA_NORM_PRE : GSA_NORM_POST;
        model_add(&m, "encoder", causal[_i].spec, GSA_READ_SEQUENCE);
        randomise(&m, 7);
        run_changed(&m, MOST, -1, before);
        for (int t = 0; t < MOST; t++) {
            run_changed(&m, MOST, t, after);
            ck_assert_msg(rows_that_differ(before, after, 0, t) == 0, "%s: token %d",
                          causal[_i].spec, t);
            ck_assert_int_gt(rows_that_differ(before, after, t, MOST), 0);
        }
        model_close(&m);
    }
}
END_TEST

START_TEST(a_token_does_not_see_the_length)
{
    if (!causal[_i].stable) return;
    double longest[MOST * D], shorter[MOST * D];
    model m = model_with(GSA_F64, causal[_i].spec, GSA_READ_SEQUENCE);
    const int32_t length = MOST;
    double rows[MOST * D];
    random_rows(rows, MOST * D, 30);
    run(&m, &length, 1, rows, longest, NULL);
    for (int32_t n = 1; n < MOST; n++) {
        run(&m, &n, 1, rows, shorter, NULL);
        ck_assert_int_eq(gsa_differ(causal[_i].spec, shorter, longest, n * D, 1e-12, 1e-12), 0);
    }
    model_close(&m);
}
END_TEST

START_TEST(a_decoder_does_not_leak_either)
{
    double source[TOKENS * D], target[TARGETS * D], changed[TARGETS * D], out[2][TARGETS * D];
    model m = decoder_model(0);
    random_rows(source, TOKENS * D, 31);
    random_rows(target, TARGETS * D, 32);
    MUST(&m.b, gsa_tensor_read(m.b.backend, decode(&m, source, target, NULL, NULL, 0).sequence, 0,
                               out[0], &m.b.error));
    for (int e = 0, first = 0; e < COUNT; first += target_length[e++])
        for (int t = 0; t < target_length[e]; t++) {
            memcpy(changed, target, sizeof target);
            for (int c = 0; c < D; c++) changed[(first + t) * D + c] = c - 2;
            MUST(&m.b,
                 gsa_tensor_read(m.b.backend, decode(&m, source, changed, NULL, NULL, 0).sequence,
                                 0, out[1], &m.b.error));
            ck_assert_int_eq(rows_that_differ(out[0], out[1], 0, first + t), 0);
            ck_assert_int_gt(rows_that_differ(out[0], out[1], first + t, first + target_length[e]),
                             0);
            ck_assert_int_eq(rows_that_differ(out[0], out[1], first + target_length[e], TARGETS),
                             0);
        }
    model_close(&m);
}
END_TEST

/* The check can fail: these do read what is later. */
START_TEST(what_is_not_causal_is_seen_to_leak)
{
    static const char *const specs[] = { "full*2",
                                         "window:width=5*2",
                                         "star*2",
                                         "dilated:width=5:step=3*2",
                                         "longformer:width=3*2",
                                         "bigbird:width=3:global=1*2",
                                         "strided:causal=0*2",
                                         "head_area*2" };
    double before[MOST * D], after[MOST * D];
    model m = model_with(GSA_F64, specs[_i], GSA_READ_SEQUENCE);
    run_changed(&m, MOST, -1, before);
    run_changed(&m, MOST, MOST - 1, after);
    ck_assert_int_gt(rows_that_differ(before, after, 0, MOST - 1), 0);
    model_close(&m);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test csan_tests[] = { GSA_LOOP(csan_is_its_equations, GSA_COUNT(areas)),
                                           GSA_TEST(borders_differ_in_the_end_heads_alone),
                                           GSA_TEST(areas_have_no_parameters_of_their_own),
                                           GSA_LOOP(areas_below_and_full_above, 2) };
    static const gsa_test sparse_tests[] = {
        GSA_LOOP(longformer_is_its_equations, GSA_COUNT(longforms)),
        GSA_TEST(longformer_has_two_sets_of_projections_or_one),
        GSA_LOOP(strided_is_its_equations, GSA_COUNT(sparses)),
        GSA_TEST(bigbird_without_chance_is_longformer)
    };
    static const gsa_test star_tests[] = { GSA_LOOP(star_and_its_variants_are_their_equations,
                                                    GSA_COUNT(stars)),
                                           GSA_TEST(one_relay_is_the_star) };
    static const gsa_test decoder[] = { GSA_LOOP(decoder_is_its_equations, 2),
                                        GSA_LOOP(gradients_reach_the_encoder, 4) };
    static const gsa_test leak[] = {
        GSA_LOOP(a_later_token_changes_no_bit_of_an_earlier_one, GSA_COUNT(causal)),
        GSA_LOOP(a_token_does_not_see_the_length, GSA_COUNT(causal)),
        GSA_TEST(a_decoder_does_not_leak_either), GSA_LOOP(what_is_not_causal_is_seen_to_leak, 8)
    };
    static const gsa_case cases[] = { GSA_CASE("csan", csan_tests, 60),
                                      GSA_CASE("sparse", sparse_tests, 60),
                                      GSA_CASE("star", star_tests, 60),
                                      GSA_CASE("decoder", decoder, 60),
                                      GSA_CASE("leak", leak, 120) };
    return gsa_run_suite("pattern_equations", cases, GSA_COUNT(cases), argc, argv);
}
