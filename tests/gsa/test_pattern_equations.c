/* Patterns of the papers through the executor against the papers' equations. */
#include "papers.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The stack `spec` of one segment and two layers, over all lengths, against the equations; the
 * summary is the mean. */
static void expect_layers(const char *spec, paper_reader *who, const void *context)
{
    double rows[TOKENS * D], sequence[TOKENS * D], summary[COUNT * D];
    char text[100];
    snprintf(text, sizeof text, "%s*2", spec);
    paper_model m = paper_with(GSA_F64, text, GSA_READ_SEQUENCE | GSA_READ_SUMMARY);
    paper_rows(rows, TOKENS * D, 21);
    paper_run(&m, paper_lengths, COUNT, rows, sequence, summary);
    double *x = rows, *y = sequence;
    for (int e = 0; e < COUNT; x += paper_lengths[e] * D, y += paper_lengths[e] * D, e++) {
        double mean[D] = { 0 };
        for (int l = 0; l < 2; l++)
            paper_layer(&m, "encoder.0", l, who, context, paper_lengths[e], x);
        for (int i = 0; i < paper_lengths[e] * D; i++) mean[i % D] += x[i] / paper_lengths[e];
        ck_assert_int_eq(gsa_differ(spec, y, x, paper_lengths[e] * D, 1e-12, 1e-12), 0);
        ck_assert_int_eq(gsa_differ(spec, summary + e * D, mean, D, 1e-12, 1e-12), 0);
    }
    paper_close(&m);
}

/* ---- CSAN, Yang et al. 2019 ---------------------------------------------------------------- */
typedef struct area {
    const char *spec;
    int half, heads; /* M/2, N/2 */
    int border;
} area;

/* eq. 7, 8: heads h - N/2 .. h + N/2 of tokens i - M/2 .. i + M/2. eq. 4, 5 are N = 0. */
static const char *csan(const void *context, int n, int i, paper_reads *r)
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
    paper_rows(rows, TOKENS * D, 22);
    for (int blind = 0; blind < 2; blind++)
        for (int s = 0; s < 3; s++) {
            paper_model m = paper_with(GSA_F64, specs[s], GSA_READ_SEQUENCE);
            gsa_tensor *o =
                &gsa_parameters_find(m.b.parameters, "encoder.0.0.attend.o.weight")->value;
            MUST(&m.b, gsa_tensor_read(m.b.backend, o, 0, w, &m.b.error));
            for (int i = 0; i < D * WIDTH; i++)
                if (blind && (i % WIDTH < HEAD || i % WIDTH >= WIDTH - HEAD)) w[i] = 0;
            MUST(&m.b, gsa_tensor_write(m.b.backend, o, w, &m.b.error));
            paper_run(&m, paper_lengths, COUNT, rows, out[blind][s], NULL);
            paper_close(&m);
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
    paper_model base = paper_with(GSA_F64, specs[0], GSA_READ_SUMMARY);
    ck_assert_int_gt(gsa_parameters_total(base.b.parameters), 6 * 4 * D * WIDTH);
    for (int s = 1; s < GSA_COUNT(specs); s++) {
        paper_model m = paper_with(GSA_F64, specs[s], GSA_READ_SUMMARY);
        ck_assert_int_eq(gsa_stack_layers(m.stack[0]), 6);
        ck_assert_int_eq(gsa_parameters_total(m.b.parameters),
                         gsa_parameters_total(base.b.parameters));
        ck_assert_int_eq(gsa_parameters_count(m.b.parameters),
                         gsa_parameters_count(base.b.parameters));
        for (int p = 0; p < gsa_parameters_count(m.b.parameters); p++)
            ck_assert_str_eq(gsa_parameters_at(m.b.parameters, p)->name,
                             gsa_parameters_at(base.b.parameters, p)->name);
        double rows[TOKENS * D], sequence[TOKENS * D], x[TOKENS * D];
        paper_rows(rows, TOKENS * D, 23);
        paper_model both = paper_with(GSA_F64, specs[s], GSA_READ_SEQUENCE | GSA_READ_SUMMARY);
        paper_run(&both, paper_lengths, COUNT, rows, sequence, x);
        paper_close(&both);
        paper_close(&m);
    }
    paper_close(&base);
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
    paper_model m = paper_with(GSA_F64, below[_i].spec, GSA_READ_SEQUENCE);
    paper_rows(rows, TOKENS * D, 24);
    paper_run(&m, paper_lengths, COUNT, rows, sequence, NULL);
    double *x = rows, *y = sequence;
    for (int e = 0; e < COUNT; x += paper_lengths[e] * D, y += paper_lengths[e] * D, e++) {
        for (int l = 0; l < 6; l++)
            paper_layer(&m, l < 3 ? "encoder.0" : "encoder.1", l % 3, csan,
                        l < 3 ? &below[_i] : &all, paper_lengths[e], x);
        ck_assert_int_eq(gsa_differ(below[_i].spec, y, x, paper_lengths[e] * D, 1e-11, 1e-11), 0);
    }
    paper_close(&m);
}
END_TEST

/* ---- Longformer, Beltagy et al. 2020, section 3.1 ------------------------------------------ */
typedef struct longform {
    const char *spec;
    int half, global, own, causal;
} longform;

/* Local rows: q, k, v of one set over global tokens and window. Global rows: all tokens, of the
 * second set where there is one. */
static const char *longformer(const void *context, int n, int i, paper_reads *r)
{
    const longform *l = context;
    for (int j = 0; j < n; j++)
        if ((i < l->global || j < l->global || abs(i - j) <= l->half) && (!l->causal || j <= i))
            paper_read_all(r, j);
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
    paper_model own = paper_with(GSA_F64, "longformer", GSA_READ_SEQUENCE);
    paper_model one = paper_with(GSA_F64, "longformer:own=0", GSA_READ_SEQUENCE);
    const int64_t set =
        4 * D * WIDTH + 2 * WIDTH + D + 2 * D; /* weights, biases of q, v and o, norm */
    ck_assert_int_eq(gsa_parameters_total(own.b.parameters),
                     gsa_parameters_total(one.b.parameters) + set);
    paper_close(&own);
    paper_close(&one);
}
END_TEST

/* ---- Sparse Transformer, Child et al. 2019, section 4.3; BigBird without chance, Zaheer et al.
 * 2020 ---- */
typedef struct factors {
    const char *spec;
    int fixed, l, c, split;
} factors;

static const char *sparse(const void *context, int n, int i, paper_reads *r)
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

static void relu_norm(paper_model *m, const char *prefix, const double *a, double *x)
{
    for (int c = 0; c < D; c++) x[c] = fmax(a[c], 0);
    paper_norm(m, prefix, x);
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

static void star_layer(paper_model *m, const star *v, int number, int n, const double *e, double *h,
                       double (*s)[D])
{
    double a[MOST][D];
    const double *context[2 * MOST + 2];
    char prefix[64];
    paper_reads r = { 0 };
    for (int j = 0; j < 2 * MOST + 2; j++) paper_read_all(&r, j);
    snprintf(prefix, sizeof prefix, "encoder.0.%d.down", number);
    for (int i = 0; i < n; i++)
        paper_multi_head(m, prefix, h + i * D, context, context_of(v, n, i, h, e, s, context), &r,
                         a[i]);
    for (int i = 0; i < n; i++) relu_norm(m, prefix, a[i], h + i * D);
    snprintf(prefix, sizeof prefix, "encoder.0.%d.up", number);
    for (int i = 0; i < n; i++) context[i + 1] = h + i * D;
    for (int k = 0; k < v->relays; k++) { /* [s; H]: relays do not read each other */
        context[0] = s[k];
        paper_multi_head(m, prefix, s[k], context, n + 1, &r, a[k]);
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
    paper_model m = paper_with(GSA_F64, v->spec, GSA_READ_SEQUENCE | GSA_READ_SUMMARY);
    paper_rows(rows, TOKENS * D, 25);
    paper_run(&m, paper_lengths, COUNT, rows, sequence, summary);
    if (v->relays > 1) paper_weights(&m, "encoder.relay", "rows.weight", learned, v->relays, D);
    const double *e = rows, *y = sequence;
    for (int x = 0; x < COUNT; e += paper_lengths[x] * D, y += paper_lengths[x] * D, x++) {
        const int n = paper_lengths[x];
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
    paper_close(&m);
}
END_TEST

/* One relay is what it was before there could be several: the same parameters, the same bits. */
START_TEST(one_relay_is_the_star)
{
    double rows[TOKENS * D], out[2][TOKENS * D], summary[2][COUNT * D];
    paper_rows(rows, TOKENS * D, 26);
    for (int i = 0; i < 2; i++) {
        paper_model m = paper_with(GSA_F32, i ? "star:relays=1*2" : "star*2",
                                   GSA_READ_SEQUENCE | GSA_READ_SUMMARY);
        ck_assert_ptr_null(gsa_parameters_find(m.b.parameters, "encoder.relay.rows.weight"));
        paper_run(&m, paper_lengths, COUNT, rows, out[i], summary[i]);
        paper_close(&m);
    }
    ck_assert_mem_eq(out[0], out[1], sizeof out[0]);
    ck_assert_mem_eq(summary[0], summary[1], sizeof summary[0]);
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
    static const gsa_case cases[] = { GSA_CASE("csan", csan_tests, 60),
                                      GSA_CASE("sparse", sparse_tests, 60),
                                      GSA_CASE("star", star_tests, 60) };
    return gsa_run_suite("pattern_equations", cases, GSA_COUNT(cases), argc, argv);
}
