/* Outcomes and their comparison: the bootstrap against all resamples there are, what must hold
 * whatever the data, and files. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "gsa/scratch.h"
#include "support/suite.h"
#include "train/runs/compare.h"
#include "train/score/outcomes.h"

enum { UNITS = 4, SAMPLES = 20000, MOST = 1 << 16 };

/* ---- against all n^n resamples ------------------------------------------------------------- */

static gsa_score right(int yes)
{
    return (gsa_score){ .right = yes, .targets = 1, .examples = 1, .loss = 0.25 + yes };
}

static gsa_score spans(int hits, int found, int wanted)
{
    return (gsa_score){
        .targets = 3, .examples = 3, .right = hits, .hits = hits, .found = found, .wanted = wanted
    };
}

static gsa_score lost(double loss)
{
    return (gsa_score){ .loss = loss, .targets = 2, .examples = 1 };
}

typedef struct exact_case {
    const gsa_task *task;
    const char *metric;
    int pairs, combinations[4];
    gsa_score (*score)(int run, int unit); /* run 2i: A of pair i; 2i + 1: B */
} exact_case;

static gsa_score shares(int run, int unit)
{
    static const int yes[4][UNITS] = {
        { 1, 1, 0, 1 }, { 0, 1, 1, 0 }, { 1, 0, 1, 1 }, { 0, 0, 1, 1 }
    };
    return right(yes[run % 4][(unit + run / 4) % UNITS]);
}

static gsa_score f1s(int run, int unit)
{
    static const int hits[2][UNITS] = { { 2, 0, 1, 1 }, { 1, 1, 0, 0 } },
                     found[2][UNITS] = { { 2, 1, 2, 1 }, { 3, 1, 0, 1 } };
    static const int wanted[UNITS] = { 2, 1, 3, 1 };
    return spans(hits[run % 2][unit],
                 found[run % 2][(unit + run / 2) % UNITS] + hits[run % 2][unit], wanted[unit]);
}

static gsa_score losses(int run, int unit)
{
    static const double loss[2][UNITS] = { { 0.5, 1.25, 0.1, 2 }, { 0.4, 0.9, 1.5, 1.8 } };
    return lost(loss[run % 2][unit] * (1 + 0.1 * run));
}

static const exact_case exact[] = {
    { &gsa_task_text_classification, "accuracy", 1, { 0 }, shares },
    { &gsa_task_text_classification,
      "accuracy",
      2,
      { 0, 0 },
      shares }, /* two seeds, the same draw */
    { &gsa_task_text_classification,
      "accuracy",
      2,
      { 0, 1 },
      shares }, /* two domains, a draw each */
    { &gsa_task_text_classification,
      "accuracy",
      3,
      { 0, 0, 1 },
      shares }, /* domains weigh alike, not runs */
    { &gsa_task_sentence_pairs, "f1", 1, { 0 }, f1s },
    { &gsa_task_sentence_pairs, "f1", 2, { 0, 0 }, f1s },
    { &gsa_task_masked_summation, "mse", 1, { 0 }, losses },
    { &gsa_task_masked_summation, "mse", 2, { 0, 1 }, losses },
};

/* By its definition, from scores that are summed here. */
static double plain_metric(const exact_case *e, int run, const int *drawn)
{
    double loss = 0, yes = 0, targets = 0, examples = 0, hits = 0, both = 0;
    for (int u = 0; u < UNITS; u++) {
        const gsa_score s = e->score(run, drawn[u]);
        loss += s.loss, yes += s.right, targets += (double)s.targets,
            examples += (double)s.examples;
        hits += (double)s.hits, both += (double)(s.found + s.wanted);
    }
    if (strcmp(e->metric, "f1") == 0) return both > 0 ? 2 * hits / both : 0;
    return strcmp(e->metric, "mse") == 0 ? loss / targets : yes / examples;
}

/* Draws of each combination: number `resample` in base UNITS. */
static double plain_difference(const exact_case *e, int64_t resample, double system[2])
{
    int seeds[4] = { 0 }, drawn[4][UNITS], combinations = 0;
    for (int i = 0; i < e->pairs; i++) seeds[e->combinations[i]]++;
    for (int c = 0; c < 4; c++) combinations += seeds[c] > 0;
    for (int c = 0; c < combinations; c++)
        for (int u = 0; u < UNITS; u++, resample = resample < 0 ? resample : resample / UNITS)
            drawn[c][u] = resample < 0 ? u : (int)(resample % UNITS);
    system[0] = system[1] = 0;
    for (int run = 0; run < 2 * e->pairs; run++) {
        const int c = e->combinations[run / 2];
        system[run % 2] += plain_metric(e, run, drawn[c]) / combinations / seeds[c];
    }
    return system[0] - system[1];
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct runs {
    gsa_outcomes outcomes[8];
    gsa_score unit[8][UNITS];
    gsa_pair pair[4];
} runs;

static void make_runs(const exact_case *e, runs *r)
{
    *r = (runs){ 0 };
    for (int run = 0; run < 2 * e->pairs; run++) {
        for (int u = 0; u < UNITS; u++) r->unit[run][u] = e->score(run, u);
        r->outcomes[run] = (gsa_outcomes){
            .task = e->task, .units = UNITS, .unit = r->unit[run], .gold = "the same"
        };
    }
    for (int i = 0; i < e->pairs; i++)
        r->pair[i] =
            (gsa_pair){ &r->outcomes[2 * i], &r->outcomes[2 * i + 1], e->combinations[i], 0 };
}

static gsa_compared compare(const exact_case *e, const runs *r, const gsa_pair *pair)
{
    gsa_compared c;
    gsa_error error;
    (void)r;
    const gsa_compare_options options = { .metric = e->metric, .samples = SAMPLES, .seed = 7 };
    ck_assert_msg(gsa_compare_pairs(NULL, &options, pair, e->pairs, &c, &error) == GSA_OK, "%s",
                  error.text);
    return c;
}

START_TEST(all_resamples)
{
    const exact_case *e = &exact[_i];
    runs r;
    double system[2];
    make_runs(e, &r);
    const gsa_compared c = compare(e, &r, r.pair);
    const double d = plain_difference(e, -1, system);
    ck_assert_double_eq_tol(c.a, system[0], 1e-12);
    ck_assert_double_eq_tol(c.b, system[1], 1e-12);
    ck_assert_double_eq_tol(c.difference, d, 1e-12);
    const int64_t count = e->combinations[e->pairs - 1] ? MOST : 256;
    double *all = malloc((size_t)count * sizeof *all), ignored[2];
    int64_t against = 0;
    for (int64_t k = 0; k < count; k++) {
        all[k] = plain_difference(e, k, ignored);
        against += (d < 0 ? -all[k] : all[k]) <= 1e-12;
    }
    qsort(all, (size_t)count, sizeof *all, ascending);
    const double share = (double)against / (double)count,
                 slack = 4 * sqrt(share * (1 - share) / SAMPLES) + 1.0 / SAMPLES;
    printf("case %d: difference %.4f, p %.4f, of all resamples %.4f\n", _i, d, c.p,
           fmin(1, 2 * share));
    ck_assert_double_eq_tol(c.p, fmin(1, 2 * share), 2 * slack);
    ck_assert(all[(int64_t)(0.02 * (double)count)] - 1e-9 <= c.low &&
              c.low <= all[(int64_t)(0.03 * (double)count)] + 1e-9);
    ck_assert(all[(int64_t)(0.97 * (double)count)] - 1e-9 <= c.high &&
              c.high <= all[(int64_t)(0.98 * (double)count)] + 1e-9);
    free(all);
}
END_TEST

START_TEST(swapped_equal_and_reordered)
{
    const exact_case *e = &exact[_i];
    runs r, turned;
    gsa_pair swapped[4], same[4];
    make_runs(e, &r);
    const gsa_compared c = compare(e, &r, r.pair), again = compare(e, &r, r.pair);
    ck_assert_int_eq(memcmp(&c, &again, sizeof c), 0);
    for (int i = 0; i < e->pairs; i++) {
        swapped[i] = (gsa_pair){ r.pair[i].b, r.pair[i].a, r.pair[i].combination, 0 };
        same[i] = (gsa_pair){ r.pair[i].a, r.pair[i].a, r.pair[i].combination, 0 };
    }
    const gsa_compared back = compare(e, &r, swapped), none = compare(e, &r, same);
    ck_assert(back.difference == -c.difference && back.low == -c.high && back.high == -c.low &&
              back.p == c.p);
    ck_assert(back.better == c.worse && back.worse == c.better && back.pairs == e->pairs);
    ck_assert(none.difference == 0 && none.low == 0 && none.high == 0 && none.p == 1);
    ck_assert(none.better == 0 && none.worse == 0);
    make_runs(e, &turned); /* the units in another order, in all runs alike */
    for (int run = 0; run < 2 * e->pairs; run++)
        for (int u = 0; u < UNITS; u++) turned.unit[run][u] = r.unit[run][(u + 1) % UNITS];
    const gsa_compared other = compare(e, &turned, turned.pair);
    ck_assert_double_eq_tol(other.difference, c.difference, 1e-12);
    ck_assert_double_eq_tol(other.p, c.p, 0.04);
}
END_TEST

/* A clear difference on many units: the interval is that of the normal distribution. */
START_TEST(many_units)
{
    enum { N = 2000 };
    static gsa_score a[N], b[N];
    gsa_outcomes one = { .task = &gsa_task_text_classification,
                         .units = N,
                         .unit = a,
                         .gold = "g" },
                 two = one;
    two.unit = b;
    for (int u = 0; u < N; u++) a[u] = right(u % 10 < 8), b[u] = right(u % 10 < 7 || u % 20 == 19);
    const gsa_pair pair = { .a = &one, .b = &two };
    const gsa_compare_options options = { .samples = 10000, .seed = 1 };
    gsa_compared c;
    ck_assert_int_eq(gsa_compare_pairs(NULL, &options, &pair, 1, &c, NULL), GSA_OK);
    ck_assert_double_eq_tol(c.difference, 0.05, 1e-12);
    /* a - b is 1 in 10 %, -1 in 5 % of the units: variance 0.15 - 0.05^2 */
    const double half = 1.96 * sqrt((0.15 - 0.0025) / N);
    ck_assert_double_eq_tol(c.low, 0.05 - half, 0.002);
    ck_assert_double_eq_tol(c.high, 0.05 + half, 0.002);
    ck_assert(c.p < 0.001 && c.better == 1 && c.rising);
    /* of one gold, as a file may say, and of fewer units: these are drawn by themselves */
    gsa_outcomes few = one, other = two;
    few.units = other.units = 2;
    const gsa_pair both[] = { pair, { .a = &few, .b = &other } };
    ck_assert_int_eq(gsa_compare_pairs(NULL, &options, both, 2, &c, NULL), GSA_OK);
    ck_assert_int_eq(c.units, N + 2);
}
END_TEST

START_TEST(what_cannot_be_compared)
{
    static const struct {
        const char *metric, *gold, *says;
        int64_t samples;
        const gsa_task *task;
    } wrong[] = {
        { "bleu", "g", "task text_classification has no metric 'bleu'; it has accuracy", 10,
          &gsa_task_text_classification },
        { NULL, "h", "measured on different data: A on 4 units with gold g", 10,
          &gsa_task_text_classification },
        { NULL, "g", "1 to 10000000", 0, &gsa_task_text_classification },
        { NULL, "g", "task text_classification and of task sentence_pairs", 10,
          &gsa_task_sentence_pairs },
    };
    gsa_score unit[UNITS] = { right(1), right(0), right(1), right(1) };
    gsa_outcomes a = { .task = &gsa_task_text_classification,
                       .units = UNITS,
                       .unit = unit,
                       .gold = "g" },
                 b = a;
    const gsa_compare_options options = { .metric = wrong[_i].metric,
                                          .samples = wrong[_i].samples };
    gsa_compared c;
    gsa_error error = { 0 };
    b.task = wrong[_i].task;
    snprintf(b.gold, sizeof b.gold, "%s", wrong[_i].gold);
    ck_assert_int_eq(
        gsa_compare_pairs(NULL, &options, &(gsa_pair){ .a = &a, .b = &b }, 1, &c, &error),
        GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(error.text, wrong[_i].says) != NULL, "%s", error.text);
}
END_TEST

/* ---- files --------------------------------------------------------------------------------- */

#define GOLD "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEADER(split, units)                                                                       \
    "{\"outcomes\": 1, \"split\": \"" split "\", \"task\": \"text_classification\", \"metric\": "  \
    "\"accuracy\", \"seed\": 3, \"units\": " units ", \"gold\": \"" GOLD                           \
    "\", \"signature\": \"s\"}\n"
#define HEADER_OF_TAGS(units)                                                                      \
    "{\"outcomes\": 1, \"split\": \"dev\", \"task\": \"tagging\", \"metric\": \"f1\", \"seed\": "  \
    "3, \"units\": " units ", \"gold\": \"" GOLD "\", \"signature\": \"s\"}\n"
#define TAGS HEADER_OF_TAGS("1")
#define YES  "[0.5,1,1,1,0,0,0]\n"
#define NO   "[1.5,0,1,1,0,0,0]\n"

static char *whole(const char *path)
{
    int64_t bytes;
    return gsa_get_file(path, &bytes);
}

static void put(const gsa_scratch *s, const char *path, const char *text)
{
    char folder[300];
    const char *full = gsa_scratch_path(s, "%s", path);
    snprintf(folder, sizeof folder, "%s", full);
    *strrchr(folder, '/') = 0;
    ck_assert_int_eq(gsa_make_folders(gsa_system_default(), folder, NULL), GSA_OK);
    gsa_put_file(full, text, (int64_t)strlen(text));
}

START_TEST(a_file_and_back)
{
    gsa_scratch s;
    gsa_outcomes read, both[2] = { 0 };
    gsa_error error;
    gsa_scratch_open(&s);
    put(&s, "a.jsonl", HEADER("dev", "2") YES NO HEADER("test", "1") NO);
    for (int i = 0; i < 2; i++)
        ck_assert_msg(gsa_outcomes_read(gsa_system_default(), gsa_scratch_path(&s, "a.jsonl"),
                                        GSA_SPLIT_DEV + i, &both[i], &error) == GSA_OK,
                      "%s", error.text);
    ck_assert(both[0].units == 2 && both[1].units == 1 && both[0].seed == 3 &&
              strcmp(both[1].gold, GOLD) == 0);
    ck_assert(both[0].unit[0].right == 1 && both[0].unit[1].loss == 1.5 &&
              both[1].unit[0].right == 0);
    gsa_output *output;
    ck_assert_int_eq(gsa_output_open(NULL, gsa_scratch_path(&s, "b.jsonl"), &output, NULL), GSA_OK);
    ck_assert_int_eq(gsa_outcomes_save(both, output, NULL), GSA_OK);
    char *a = whole(gsa_scratch_path(&s, "a.jsonl")), *b = whole(gsa_scratch_path(&s, "b.jsonl"));
    ck_assert_str_eq(a, b);
    free(a);
    free(b);
    put(&s, "dev.jsonl", HEADER("dev", "1") YES);
    ck_assert_int_eq(gsa_outcomes_read(gsa_system_default(), gsa_scratch_path(&s, "dev.jsonl"),
                                       GSA_SPLIT_TEST, &read, NULL),
                     GSA_OK);
    ck_assert(read.units == 0);
    for (int i = 0; i < 2; i++) gsa_outcomes_release(&both[i]);
    gsa_outcomes_release(&read);
    gsa_scratch_close(&s);
}
END_TEST

static const struct {
    const char *text, *says;
} bad_files[] = {
    { "{\n", ":1: the line is no JSON" },
    { "{\"outcomes\": 1, \"outcomes\": 1}\n", ":1: the line is no JSON: duplicate object key" },
    { YES, ":1: expected a header" },
    { "{\"outcomes\": 2, \"split\": \"dev\"}\n", ":1: expected a header" },
    { HEADER("dev", "2") YES, ": 1 units are missing at the end" },
    { HEADER("dev", "1") YES YES, ":3: expected a header" },
    { HEADER("dev", "1") "[1,2]\n", ":2: expected 7 numbers" },
    { HEADER("dev", "1") "[0.5,1,1.5,1,0,0,0]\n",
      ":2: expected 7 numbers in brackets, the last 5 whole" },
    { HEADER("dev", "1") "[1e308,1,1,1,0,0,0]\n", ":2: no unit has these numbers" },
    { HEADER("dev", "1") "[-2e100,1,1,1,0,0,0]\n", ":2: no unit has these numbers" },
    { HEADER("dev", "1") "[0.5,1e308,1,1,0,0,0]\n", ":2: no unit has these numbers" },
    { HEADER("dev", "1") "[0.5,2,1,1,0,0,0]\n", ":2: no unit has these numbers" },
    { HEADER("dev", "1") "[0.5,-1,1,1,0,0,0]\n", ":2: no unit has these numbers" },
    { HEADER("dev", "1") "[0.5,1,1,1,2,0,0]\n", ":2: no unit has these numbers" },
    { HEADER("dev", "1") "[0.5,1,1,9,2,1,3]\n", ":2: no unit has these numbers" },
    { HEADER("dev", "1") "[0.5,1,1,-1,0,0,0]\n", ":2: a count is not in 0 .. 2^31-1" },
    { HEADER("dev", "1") "[0.5,1,1,2147483648,0,0,0]\n", ":2: a count is not in 0 .. 2^31-1" },
    { TAGS "[0.5,1,1,9,1,1,1,2,1,2]\n", ":2: no unit has these numbers" },
    { TAGS "[0.5,1,1,9,1,1,1,1,1,-2]\n", ":2: a count is not in 0 .. 2^31-1" },
    { HEADER("dev", "0"), ":1: no header of outcomes" },
    { HEADER("dev", "99999999"), ":1: no header of outcomes" },
    { HEADER("dev", "20") YES,
      ":1: no header of outcomes: it claims 20 units, expected at most 13 in a file of" },
    { HEADER_OF_TAGS("12"),
      ":1: no header of outcomes: it claims 12 units, expected at most 8 in a file of" },
    { HEADER("dev", "1") YES HEADER("dev", "1") YES, ":3: the split is here a second time" },
    { "{\"outcomes\": 1, \"split\": \"dev\", \"task\": \"juggling\", \"units\": 1}\n",
      ":1: the task is none" },
};

START_TEST(bad_outcomes)
{
    gsa_scratch s;
    gsa_outcomes read;
    gsa_error error = { 0 };
    gsa_scratch_open(&s);
    put(&s, "bad.jsonl", bad_files[_i].text);
    ck_assert_int_eq(gsa_outcomes_read(gsa_system_default(), gsa_scratch_path(&s, "bad.jsonl"),
                                       GSA_SPLIT_DEV, &read, &error),
                     GSA_ERR_FORMAT);
    ck_assert_msg(strstr(error.text, bad_files[_i].says) != NULL, "%s", error.text);
    gsa_scratch_close(&s);
}
END_TEST

static gsa_status folders(const gsa_scratch *s, const char *a, const char *b, const char *split,
                          int *there, gsa_compared *c, gsa_error *error)
{
    const gsa_compare_options options = { .samples = 200, .seed = 1 };
    char path[2][300];
    snprintf(path[0], sizeof path[0], "%s/%s", s->folder, a);
    snprintf(path[1], sizeof path[1], "%s/%s", s->folder, b);
    return gsa_compare_folders(NULL, &options, path[0], path[1], split, there, c, error);
}

START_TEST(folders_of_runs)
{
    static const char *const runs_of_a[] = { "seed-1", "seed-2", "seed-10" };
    gsa_scratch s;
    gsa_compared c;
    gsa_error error;
    char path[100];
    int there;
    gsa_scratch_open(&s);
    for (int domain = 0; domain < 2; domain++)
        for (int i = 0; i < 3; i++) {
            snprintf(path, sizeof path, "a/domain-%d/%s/outcomes.jsonl", domain, runs_of_a[i]);
            put(&s, path, HEADER("dev", "2") YES YES);
            snprintf(path, sizeof path, "b/domain-%d/%s/outcomes.jsonl", domain, runs_of_a[i]);
            if (domain == 0 || i == 0)
                put(&s, path, domain ? HEADER("dev", "2") NO YES : HEADER("dev", "2") NO NO);
        }
    put(&s, "a/results.jsonl", "");
    put(&s, "a/domain-0/seed-3/log.jsonl", ""); /* a run that goes on still */
    ck_assert_int_eq(folders(&s, "a", "b", "dev", &there, &c, &error), GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(error.text, "of 6 runs in '") &&
                      strstr(error.text, ", 2 have no partner in '") &&
                      strstr(error.text, "/b': domain-1/seed-10, domain-1/seed-2"),
                  "%s", error.text);
    ck_assert_int_eq(folders(&s, "b", "a", "dev", &there, &c, &error), GSA_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "of 6 runs in '"));
    ck_assert_msg(folders(&s, "a/domain-0", "b/domain-0", "dev", &there, &c, &error) == GSA_OK,
                  "%s", error.text);
    ck_assert(there && c.pairs == 3 && c.difference == 1 && c.better == 3 && c.units == 2);
    /* domains weigh alike: (1 + 0.5) / 2 */
    put(&s, "b/domain-1/seed-2/outcomes.jsonl", HEADER("dev", "2") NO YES);
    put(&s, "b/domain-1/seed-10/outcomes.jsonl", HEADER("dev", "2") YES NO);
    ck_assert_int_eq(folders(&s, "a", "b", "dev", &there, &c, &error), GSA_OK);
    ck_assert_double_eq_tol(c.difference, 0.75, 1e-12);
    ck_assert(c.units == 4 && c.pairs == 6);
    ck_assert_int_eq(
        folders(&s, "a/domain-0/seed-1", "b/domain-1/seed-2", "dev", &there, &c, &error),
        GSA_OK); /* one and one */
    ck_assert_double_eq_tol(c.difference, 0.5, 1e-12);
    ck_assert_int_eq(folders(&s, "a", "b", "test", &there, &c, &error), GSA_OK);
    ck_assert_int_eq(there, 0);
    ck_assert_int_eq(folders(&s, "a/domain-0/seed-3", "b", "dev", &there, &c, &error),
                     GSA_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "holds no finished run with outcomes.jsonl"));
    ck_assert_int_eq(folders(&s, "nothing", "b", "dev", &there, &c, &error), GSA_ERR_IO);
    gsa_scratch_close(&s);
}
END_TEST

/* A few links to the folder itself would be 30^8 folders; the one that the user names may be one.
 */
START_TEST(links_to_folders_are_not_searched)
{
    gsa_scratch s;
    gsa_compared c;
    gsa_error error = { 0 };
    char path[300];
    int there;
    gsa_scratch_open(&s);
    put(&s, "a/seed-1/outcomes.jsonl", HEADER("dev", "1") YES);
    put(&s, "b/seed-1/outcomes.jsonl", HEADER("dev", "1") NO);
    for (int i = 0; i < 30; i++)
        ck_assert_int_eq(symlink(".", gsa_scratch_path(&s, "b/link-%d", i)), 0);
    snprintf(path, sizeof path, "%s/b", s.folder);
    ck_assert_int_eq(symlink(path, gsa_scratch_path(&s, "named")), 0);
    ck_assert_msg(folders(&s, "a", "named", "dev", &there, &c, &error) == GSA_OK, "%s", error.text);
    ck_assert(there && c.pairs == 1 && c.difference == 1);
    for (int i = 0; i < 30; i++) unlink(gsa_scratch_path(&s, "b/link-%d", i));
    unlink(gsa_scratch_path(&s, "named"));
    gsa_scratch_close(&s);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test bootstrap[] = { GSA_LOOP(all_resamples, GSA_COUNT(exact)),
                                          GSA_LOOP(swapped_equal_and_reordered, GSA_COUNT(exact)),
                                          GSA_TEST(many_units),
                                          GSA_LOOP(what_cannot_be_compared, 4) };
    static const gsa_test files[] = { GSA_TEST(a_file_and_back),
                                      GSA_LOOP(bad_outcomes, GSA_COUNT(bad_files)),
                                      GSA_TEST(folders_of_runs),
                                      GSA_TEST(links_to_folders_are_not_searched) };
    static const gsa_case cases[] = { GSA_CASE("bootstrap", bootstrap, 60),
                                      GSA_CASE("files", files, 20) };
    return gsa_run_suite("compare", cases, GSA_COUNT(cases), argc, argv);
}
