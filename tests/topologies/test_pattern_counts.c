/* The sparse patterns of the literature: how many edges they have, how their numbers grow, which
 * layers and labels they have, and what is refused. */
#include "subject_edges.h"

enum { LINEAR = GSA_LINEAR_EDGES, NSQRTN = GSA_NSQRTN_EDGES, SQUARE = GSA_SQUARE_EDGES };

/* ---- counts -------------------------------------------------------------------------------- */
static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}
static int64_t window_of(int64_t n, int64_t half) /* n + 2 sum min(i, half) */
{
    return n <= half + 1 ? n * n : n + half * (half + 1) + 2 * (n - half - 1) * half;
}
static int64_t sum_of_quotients(int64_t n, int64_t l) /* of i / l for i < n */
{
    const int64_t q = n / l, r = n % l;
    return l * q * (q - 1) / 2 + r * q;
}
static int64_t head_area_clip(int64_t n) /* 4 heads: 2 + 3 + 3 + 2 */
{
    return 10 * window_of(n, 5);
}
static int64_t head_area_around(int64_t n)
{
    return 12 * window_of(n, 5);
}
static int64_t dilated_5_by_3(int64_t n)
{
    return n + 2 * most(0, n - 3) + 2 * most(0, n - 6);
}
static int64_t dilated_5_by_3_causal(int64_t n)
{
    return n + most(0, n - 3) + most(0, n - 6);
}
static int64_t longformer_11_2(int64_t n)
{
    return n < 2 ? n : 2 * n + 2 * (n - 2) + window_of(n - 2, 5);
}
static int64_t longformer_11_2_causal(int64_t n)
{
    return n < 2 ? n : 3 + 2 * (n - 2) + (window_of(n - 2, 5) + n - 2) / 2;
}
static int64_t bigbird_3_2_3(int64_t n)
{
    return n < 8 ? n * n : 2 * n + 2 * (n - 2) + window_of(n - 2, 1) + 3 * (n - 2);
}
static int64_t
strided_16(int64_t n) /* what is near, and every 16th before, but i and i - 16, which are near */
{
    return (window_of(n, 16) + n) / 2 + sum_of_quotients(n, 16) - most(0, n - 16);
}
static int64_t strided_16_far(int64_t n)
{
    return n + sum_of_quotients(n, 16);
}
static int64_t fixed_near(int64_t n)
{
    const int64_t q = n / 16, r = n % 16;
    return q * 16 * 17 / 2 + r * (r + 1) / 2;
}
static int64_t fixed_16_3(int64_t n)
{
    return fixed_near(n) + 3 * sum_of_quotients(n, 16);
}
static int64_t strided_root(int64_t n)
{
    int64_t l = 1;
    while (l * l < n) l++;
    return (window_of(n, l) + n) / 2 + sum_of_quotients(n, l) - most(0, n - l);
}

static const struct {
    const char *spec;
    int64_t (*edges)(int64_t n);
    int runs; /* at most, of a row */
} counts[] = {
    { "head_area", head_area_clip, 3 },
    { "head_area:border=circular", head_area_around, 3 },
    { "head_area:border=clamp", head_area_around, 3 },
    { "dilated:width=5:step=3", dilated_5_by_3, 1 },
    { "dilated:width=5:step=3:causal", dilated_5_by_3_causal, 1 },
    { "longformer:global=2", longformer_11_2, 2 },
    { "longformer:global=2:own=0", longformer_11_2, 2 },
    { "longformer:global=2:causal", longformer_11_2_causal, 2 },
    { "bigbird", bigbird_3_2_3, 5 },
    { "strided:stride=16", strided_16, 2 },
    { "strided:stride=16:heads=far", strided_16_far, 1 },
    { "strided:pattern=fixed:stride=16:c=3", fixed_16_3, 4 },
    { "strided:pattern=fixed:stride=16:heads=near", fixed_near, 1 },
    { "strided", strided_root, 2 },
};

static int64_t count_of(const subject *s, int64_t n, int64_t *runs, int64_t *rows)
{
    gsa_instance *instance = of_length(s, n, is_per_head(s) ? 4 : 1);
    int64_t count = 0;
    *runs = 0;
    for (int phase = 0; phase < gsa_schema_phases(s->schema); phase++) {
        gsa_edges edges;
        gsa_instance_edges(instance, phase, &edges);
        count += edges.edge_total, *runs += edges.run_total;
        if (phase == 0) *rows = edges.rows;
    }
    gsa_instance_release(instance);
    return count;
}

START_TEST(counts_are_as_documented)
{
    subject s = subject_of(counts[_i].spec);
    int64_t runs, rows = 0;
    for (int64_t n = 0; n <= 200; n++) {
        ck_assert_int_eq(count_of(&s, n, &runs, &rows), counts[_i].edges(n));
        ck_assert_int_le(runs, counts[_i].runs * rows);
    }
    end(&s);
}
END_TEST

/* E(2n) / E(n) <= 1.05 f(2n) / f(n), as promised; a class less would be broken. */
START_TEST(growth_is_as_promised)
{
    static const double power[] = { 1, 1.08, 1.5,
                                    2 }; /* n log n at these lengths, which nobody here promises */
    subject s = subject_of(counts[_i].spec);
    int64_t edges[3], runs, rows = 0;
    const int growth = gsa_schema_growth(s.schema);
    for (int i = 0; i < 3; i++) edges[i] = count_of(&s, INT64_C(1) << (14 + i), &runs, &rows);
    for (int i = 0; i < 2; i++) {
        const double ratio = (double)edges[i + 1] / (double)edges[i];
        ck_assert_msg(ratio <= 1.05 * pow(2, power[growth]), "%s: %g", counts[_i].spec, ratio);
        if (growth > 0)
            ck_assert_msg(ratio > 1.05 * pow(2, power[growth - 1]), "%s: %g", counts[_i].spec,
                          ratio);
    }
    ck_assert_int_eq(edges[2], counts[_i].edges(1 << 16));
    end(&s);
}
END_TEST

/* ---- chance -------------------------------------------------------------------------------- */
/* 1,000 seeds: each of 39 others is drawn 4 times in 39; five standard deviations are 47. */
START_TEST(bigbird_draws_evenly)
{
    enum { N = 40, SEEDS = 1000, ROW = 17 };
    int drawn[N] = { 0 }, repeated = 0;
    int64_t before[4] = { 0 };
    for (int seed = 0; seed < SEEDS; seed++) {
        char spec[80];
        sprintf(spec, "bigbird:width=1:global=0:random=4:seed=%d", seed);
        subject s = subject_of(spec);
        gsa_instance *instance = of_length(&s, N, 1);
        naive_list list = edges_of(&s, instance);
        int64_t now[4], count = 0;
        for (int64_t k = 0; k < list.count; k++)
            if (list.edges[k].to == ROW && list.edges[k].label == 3)
                now[count++] = list.edges[k].from;
        ck_assert_int_eq(count, 4);
        for (int k = 0; k < 4; k++) drawn[now[k]]++;
        repeated += memcmp(now, before, sizeof now) == 0;
        memcpy(before, now, sizeof now);
        naive_release(&list);
        gsa_instance_release(instance);
        end(&s);
    }
    ck_assert_int_le(repeated, 1);
    for (int j = 0; j < N; j++) {
        if (j == ROW) ck_assert_int_eq(drawn[j], 0);
        else
            ck_assert_msg(fabs(drawn[j] - 4.0 * SEEDS / 39) < 47, "token %d: %d times", j,
                          drawn[j]);
    }
}
END_TEST

/* ---- schema, names, refusals --------------------------------------------------------------- */
START_TEST(layers_are_what_the_papers_say)
{
    static const struct {
        const char *spec,
            *phases; /* name aggregate.update.empty.label_use.labels, + together, / per head */
        int summaries;
    } schemas[] = {
        { "head_area", "attend/0.0.1.0.3 ffn 3.1.1.0.1 ", 1 },
        { "head_area:heads=5", "attend/0.0.1.0.5 ffn 3.1.1.0.1 ", 1 },
        { "dilated", "attend 0.0.1.0.11 ffn 3.1.1.0.1 ", 1 },
        { "dilated:causal", "attend 0.0.1.0.6 ffn 3.1.1.0.1 ", 1 },
        { "dilated:causal:relative", "attend 0.0.1.1.6 ffn 3.1.1.0.1 ", 1 },
        { "longformer", "attend 0.0.2.0.3 global+0.0.2.0.3 ffn 3.1.1.0.1 ", 1 },
        { "longformer:own=0", "attend 0.0.1.0.3 ffn 3.1.1.0.1 ", 1 },
        { "longformer:global=0", "attend 0.0.1.0.3 ffn 3.1.1.0.1 ", 1 },
        { "bigbird", "attend 0.0.1.0.4 ffn 3.1.1.0.1 ", 1 },
        { "strided", "attend 0.0.1.0.2 ffn 3.1.1.0.1 ", 1 },
        { "strided:heads=split", "attend/0.0.1.0.2 ffn 3.1.1.0.1 ", 1 },
        { "strided:stride=5:relative", "attend 0.0.1.1.7 ffn 3.1.1.0.1 ", 1 },
        { "strided:stride=5:relative:causal=0", "attend 0.0.1.1.12 ffn 3.1.1.0.1 ", 1 },
        { "cross", "attend 0.0.1.0.1 ", 0 },
    };
    for (int i = 0; i < GSA_COUNT(schemas); i++) {
        subject s = subject_of(schemas[i].spec);
        char phases[160] = "";
        for (int p = 0; p < gsa_schema_phases(s.schema); p++) {
            const gsa_phase *x = gsa_schema_phase(s.schema, p);
            sprintf(phases + strlen(phases), "%s%c%d.%d.%d.%d.%d ", x->name,
                    x->together   ? '+'
                    : x->per_head ? '/'
                                  : ' ',
                    x->aggregate, x->update, x->empty, x->label_use, x->labels);
        }
        ck_assert_str_eq(phases, schemas[i].phases);
        ck_assert_int_eq(gsa_schema_summaries(s.schema), schemas[i].summaries);
        ck_assert_str_eq(gsa_schema_kind(s.schema, gsa_schema_sequence(s.schema))->name, "token");
        end(&s);
    }
}
END_TEST

static const struct {
    const char *spec;
    int phase, label;
    const char *name;
} names[] = {
    { "head_area", 0, 0, "head -1" },
    { "head_area", 0, 1, "own head" },
    { "head_area", 0, 2, "head +1" },
    { "head_area", 1, 0, "" },
    { "dilated:step=3", 0, 0, "left 15" },
    { "dilated:step=3", 0, 5, "self" },
    { "dilated:step=3", 0, 6, "right 3" },
    { "dilated:causal", 0, 5, "self" },
    { "dilated", 1, 0, "" },
    { "longformer", 0, 0, "window" },
    { "longformer", 0, 1, "global" },
    { "longformer", 1, 2, "all" },
    { "longformer", 2, 0, "" },
    { "longformer:own=0", 0, 2, "all" },
    { "longformer:own=0", 1, 0, "" },
    { "bigbird", 0, 0, "window" },
    { "bigbird", 0, 3, "random" },
    { "bigbird", 0, 4, "" },
    { "strided", 0, 0, "near" },
    { "strided", 0, 1, "far" },
    { "strided:stride=5:relative", 0, 0, "left 5" },
    { "strided:stride=5:relative", 0, 5, "self" },
    { "strided:stride=5:relative", 0, 6, "far" },
    { "strided:stride=5:relative:causal=0", 0, 6, "right 1" },
    { "strided:stride=5:relative:causal=0", 0, 11, "far" },
    { "strided", 1, 0, "" },
    { "cross", 0, 0, "memory" },
    { "cross", 1, 0, "" },
};

START_TEST(labels_have_names)
{
    check_label_name(names[_i].spec, names[_i].phase, names[_i].label, names[_i].name);
}
END_TEST

static const struct {
    const char *spec, *fragment;
} refusals[] = {
    { "head_area:width=4", "width is 4, expected an odd number" },
    { "head_area:heads=2", "heads is 2, expected an odd number" },
    { "head_area:width=2:heads=6", "width is 2" },
    { "head_area:border=mirror", "mirror" },
    { "dilated:width=10", "width is 10, expected an odd number" },
    { "dilated:step=0", "step" },
    { "longformer:width=512", "width is 512, expected an odd number" },
    { "longformer:global=-1", "global" },
    { "bigbird:width=2", "width is 2, expected an odd number" },
    { "bigbird:random=65", "65" },
    { "strided:c=2", "c is 2, expected at most 1, which is all that pattern=strided has" },
    { "strided:relative", "relative=1 needs a stride, stride=0 is given" },
    { "strided:pattern=fixed:stride=8:c=9", "c is 9, expected at most 8, the stride" },
    { "star:radial=0:relays=2", "relays is 2, but radial=0 has no relay" },
};

START_TEST(what_cannot_be_is_refused)
{
    subject s;
    gsa_error error = { 0 };
    ck_assert_int_ne(open_subject(&s, NULL, refusals[_i].spec, &error), GSA_OK);
    ck_assert_msg(strstr(error.text, refusals[_i].fragment) != NULL, "'%s' lacks '%s'", error.text,
                  refusals[_i].fragment);
    end(&s);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test counted[] = { GSA_LOOP(counts_are_as_documented, GSA_COUNT(counts)),
                                        GSA_LOOP(growth_is_as_promised, GSA_COUNT(counts)) };
    static const gsa_test chance[] = { GSA_TEST(bigbird_draws_evenly) };
    static const gsa_test schema[] = { GSA_TEST(layers_are_what_the_papers_say),
                                       GSA_LOOP(labels_have_names, GSA_COUNT(names)),
                                       GSA_LOOP(what_cannot_be_is_refused, GSA_COUNT(refusals)) };
    static const gsa_case cases[] = { GSA_CASE("counts", counted, 120),
                                      GSA_CASE("chance", chance, 60),
                                      GSA_CASE("schema", schema, 60) };
    return gsa_run_suite("pattern_counts", cases, GSA_COUNT(cases), argc, argv);
}
