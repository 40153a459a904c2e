/* The property suite finds each broken promise, with its smallest counterexample, and nothing
 * else. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "support/suite.h"
#include "topologies/check.h"

#undef fail /* of Check: the ABI has members of that name */

/* ---- one topology with a flaw to choose ---------------------------------------------------- */

#define FLAWS                                                                                      \
    "none,future,hub,parity,parallel,square,nlogn,text,groups,open_name,long_name,odd_name,moody_" \
    "name,seventy,beyond,"                                                                         \
    "two_lengths,same_length,wide,moody,lone,quiet,sparse_labels,parity_before,"                   \
    "chain,third_head,in_groups,drawn,in_english,deep,unopened,no_bytes,one_tag,reads_nothing"
enum {
    NONE,
    FUTURE,
    HUB,
    PARITY,
    PARALLEL,
    SQUARE,
    NLOGN,
    TEXT,
    GROUPS,
    OPEN_NAME,
    LONG_NAME,
    ODD_NAME,
    MOODY_NAME,
    SEVENTY,
    BEYOND,
    TWO_LENGTHS,
    SAME_LENGTH,
    WIDE,
    MOODY,
    LONE,
    QUIET,
    SPARSE_LABELS,
    PARITY_BEFORE,
    CHAIN,
    THIRD_HEAD,
    IN_GROUPS,
    DRAWN,
    IN_ENGLISH,
    DEEP,
    UNOPENED,
    NO_BYTES,
    ONE_TAG,
    READS_NOTHING
};
enum { CHAIN_NODES = 6 };
static const gsa_param params[] = { { "flaw", GSA_CHOICE, 0, 0, 0, FLAWS, "none",
                                      "what is wrong" } };
static atomic_int calls;

static int flaw_of(const void *self)
{
    return (int)((const gsa_value *)self)->i;
}

static void describe(const void *self, gsa_describer *d)
{
    const int flaw = flaw_of(self), given = flaw == TWO_LENGTHS || flaw == SAME_LENGTH;
    const uint32_t all = GSA_BY_LENGTH | GSA_CAUSAL | GSA_PREFIX_STABLE;
    const uint32_t less = flaw == IN_GROUPS ? all & ~(uint32_t)GSA_BY_LENGTH
                          : flaw == IN_ENGLISH || flaw >= DEEP
                              ? (all & ~(uint32_t)GSA_BY_LENGTH) | GSA_NEEDS_TEXT
                              : all;
    d->promise(d, flaw == QUIET ? 0 : given ? all | GSA_ONE_LENGTH : less, GSA_LINEAR_EDGES);
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    d->kind(d, &GSA_KIND(.start = GSA_ZERO, .name = "hub"));
    gsa_phase phase = { .struct_size = sizeof phase,
                        .aggregate = GSA_ATTEND,
                        .update = GSA_SUBLAYER,
                        .labels = 2,
                        .per_head = flaw == THIRD_HEAD,
                        .sources = 3,
                        .destinations = 1,
                        .name = "read" };
    d->phase(d, &phase);
    phase.per_head = 0;
    phase.destinations = 2, phase.name = "gather";
    d->phase(d, &phase);
    phase.aggregate = GSA_SUM, phase.labels = 0, phase.destinations = 1,
    phase.name = "rest"; /* without any edge */
    if (flaw == PARITY_BEFORE) d->phase(d, &phase);
    d->sequence(d, 0);
}

/* The flaw's own edges into token i of n. */
static void emit_flaw(int flaw, const gsa_example *x, gsa_emitter *e, int64_t i)
{
    const gsa_node me = gsa_at(0, i);
    const int64_t n = x->length;
    if (flaw == FUTURE && i == 3 && n > 9) gsa_edge(e, 0, gsa_at(0, 9), me, 1);
    if (flaw == HUB) gsa_edge(e, 0, gsa_at(1, 0), me, 1);
    if ((flaw == PARITY || flaw == PARITY_BEFORE) && i == 4 && n % 7 == 6)
        gsa_edge(e, 0, gsa_at(0, 2), me, 1);
    if (flaw == PARALLEL && i == 5)
        e->run(e, 0, gsa_at(0, 5), 3, -1, me, 1, 0), gsa_edge(e, 0, gsa_at(0, 4), me, 1);
    if (flaw == SQUARE) e->run(e, 0, gsa_at(0, 0), i, 1, me, 1, 0);
    for (int64_t step = 1; flaw == NLOGN && step <= i; step *= 2)
        gsa_edge(e, 0, gsa_at(0, i - step), me, 1);
    if (flaw == TEXT && i == 7 && x->text && x->text[7].bytes > 2)
        gsa_edge(e, 0, gsa_at(0, 0), me, 1);
    if (flaw == DRAWN && x->draw && i == 6) gsa_edge(e, 0, gsa_at(0, 1), me, 1);
    if (flaw == GROUPS && x->group && i == 6) gsa_edge(e, 0, gsa_at(0, 1), me, 1);
    if (flaw == BEYOND && i == 8) gsa_edge(e, 0, gsa_at(0, i + n), me, 1);
    if (flaw == WIDE && i == 2 && x->heads > 4) gsa_edge(e, 0, gsa_at(0, 0), me, 2);
    if (flaw == CHAIN && i == 0) gsa_edge(e, 0, gsa_at(1, CHAIN_NODES - 1), me, 1);
    if (flaw == IN_GROUPS && x->group && i + 1 < n) gsa_edge(e, 0, gsa_at(0, i + 1), me, 1);
    if (flaw == IN_ENGLISH && x->text && i + 1 < n && x->text[i].bytes == 2 &&
        x->text[i].at[1] > 'a')
        gsa_edge(e, 0, gsa_at(0, i + 1), me, 1);
    if (flaw == MOODY && i == 1 && atomic_fetch_add(&calls, 1) % 2)
        gsa_edge(e, 0, gsa_at(0, 0), me, 1);
}

/* What is wrong inside a branch that texts of one kind take: a label out of range. */
static void emit_structure(int flaw, const gsa_example *x, gsa_emitter *e)
{
    int64_t depth = 0;
    for (int64_t i = 0; i < x->length; i++) {
        const gsa_slice t = x->text[i];
        const char first = t.bytes > 0 ? t.at[0] : 0;
        depth += (first == '(') - (first == ')');
        const int taken = flaw == DEEP       ? depth > 2
                          : flaw == UNOPENED ? depth < 0
                          : flaw == NO_BYTES ? t.bytes == 0
                          : flaw == ONE_TAG  ? t.bytes == 4 && memcmp(t.at, "<np>", 4) == 0
                                             : 0;
        if (taken) gsa_edge(e, 0, gsa_at(0, i), gsa_at(0, i), 2);
    }
}

/* Tokens read themselves; in the third head the next one too. */
static void emit_heads(const gsa_example *x, gsa_emitter *e)
{
    const int64_t heads = x->heads;
    for (int64_t i = 0; i < x->length; i++)
        for (int64_t h = 0; h < heads; h++) {
            const int64_t count = h == 2 && i + 1 < x->length ? 2 : 1;
            e->run(e, 0, gsa_at(0, i * heads + h), count, heads, gsa_at(0, i * heads + h), 0, 0);
        }
}

/* The last token, then one node after the other: one hop a layer. */
static void emit_chain(const gsa_example *x, gsa_emitter *e)
{
    const int64_t first = e->nodes(e, 1, CHAIN_NODES);
    if (x->length > 0) gsa_edge(e, 1, gsa_at(0, x->length - 1), gsa_at(1, first), 0);
    for (int64_t j = 1; j < CHAIN_NODES; j++)
        gsa_edge(e, 1, gsa_at(1, first + j - 1), gsa_at(1, first + j), 0);
}

static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    const int flaw = flaw_of(self);
    const int64_t n = flaw == THIRD_HEAD ? 0 : x->length;
    if (flaw == THIRD_HEAD) emit_heads(x, e);
    if (flaw == CHAIN) emit_chain(x, e);
    if (flaw >= DEEP) emit_structure(flaw, x, e);
    if (flaw == SEVENTY && n == 77) e->fail(e, "seventy-seven is too much");
    if ((flaw == TWO_LENGTHS && n != 12 && n != 24) || (flaw == SAME_LENGTH && n != 12))
        e->fail(e, "the graph has 12 nodes");
    if (flaw == HUB || (flaw == LONE && n == 13)) e->nodes(e, 1, 1);
    for (int64_t i = 0; i < n; i++) {
        if (flaw != SQUARE && flaw != PARALLEL)
            gsa_edge(e, 0, gsa_at(0, i), gsa_at(0, i), flaw != SPARSE_LABELS && i % 2);
        emit_flaw(flaw, x, e, i);
        if (flaw == HUB) gsa_edge(e, 1, gsa_at(0, i), gsa_at(1, 0), 0);
    }
}

static void label(const void *self, int phase, int32_t id, char *out, size_t size)
{
    const int flaw = flaw_of(self), here = phase == 1 && id == 1;
    snprintf(out, size, "%s",
             here && flaw == MOODY_NAME && atomic_fetch_add(&calls, 1) % 2 ? "one" : "two");
    if (here && flaw == OPEN_NAME) memset(out, 'x', size);
    if (here && flaw == LONG_NAME) out[size] = 0;
    if (here && flaw == ODD_NAME) out[0] = (char)0xff;
}

static const gsa_topology flawed = {
    GSA_HEAD(params),      .id = "flawed",       .summary = "one flaw to choose",
    .reference = "a test", .describe = describe, .emit = emit,
    .label = label
};

/* Texts for the check; given to it where the flaw needs them. */
static const gsa_slice tagged[] = { { "<np>", 4 }, { "a", 1 }, { "house", 5 } },
                       plain[] = { { "a", 1 }, { "b", 1 } };
static const gsa_check_text given[] = { { plain, 2, 0 }, { tagged, 3, 0 } };

static void check_with(const char *flaw, int32_t texts, gsa_check_report *report)
{
    const gsa_check_options options = { .n_texts = texts, .texts = given };
    gsa_error error = { 0 };
    gsa_registry *registry;
    gsa_pattern *pattern;
    const gsa_setting setting = { "flaw", flaw };
    ck_assert_int_eq(gsa_registry_create(NULL, &registry, NULL), GSA_OK);
    ck_assert_msg(gsa_registry_add(registry, &flawed, &error) == GSA_OK, "%s", error.text);
    ck_assert_msg(gsa_pattern_create(registry, "flawed", &setting, 1, &pattern, &error) == GSA_OK,
                  "%s", error.text);
    ck_assert_msg(gsa_check_pattern(NULL, pattern, &options, report, &error) == GSA_OK, "%s",
                  error.text);
    gsa_pattern_release(pattern);
    gsa_registry_release(registry);
}

static void check(const char *flaw, gsa_check_report *report)
{
    check_with(flaw, 0, report);
}

/* ---- flaws --------------------------------------------------------------------------------- */

static const struct {
    const char *flaw;
    int property;  /* the first that fails */
    unsigned also; /* bits of others that fail with it */
    int64_t length, phase, row, edge, value;
    const char *sentence;
} flaws[] = {
#define BIT(p) (1u << GSA_CHECK_##p)
    /* flaw, property, also, length, phase, row, edge, value, sentence */
    { "future", GSA_CHECK_CAUSAL, BIT(PREFIX_STABLE), 10, 0, 3, -1, 9,
      "token 3 knows token 9 at length 10, after phase 'read' of layer 1" },
    { "hub", GSA_CHECK_CAUSAL, BIT(PREFIX_STABLE), 2, 0, 0, -1, 1,
      "token 0 knows token 1 at length 2, after phase 'read' of layer 2" },
    { "chain", GSA_CHECK_CAUSAL, BIT(PREFIX_STABLE), 2, 0, 0, -1, 1,
      "token 0 knows token 1 at length 2, after phase 'read' of layer 7" },
    { "third_head", GSA_CHECK_CAUSAL, BIT(PREFIX_STABLE), 2, 0, 0, -1, 1,
      "token 0 knows token 1 at length 2 with 3 heads, in groups, after phase 'read' of layer 1" },
    { "in_groups", GSA_CHECK_CAUSAL, BIT(PREFIX_STABLE), 2, 0, 0, -1, 1,
      "token 0 knows token 1 at length 2 with 3 heads, in groups" },
    { "in_english", GSA_CHECK_CAUSAL, BIT(PREFIX_STABLE), -2, 0, -2, -1, -2,
      "of English text, after phase 'read' of layer 1" },
    { "parity", GSA_CHECK_PREFIX_STABLE, 0, 6, -1, 4, -1, 5,
      "token 4 is made of other things at length 6 than at length 5, from layer 1 on" },
    { "parity_before", GSA_CHECK_PREFIX_STABLE, 0, 6, -1, 4, -1, 5,
      "token 4 is made of other things at length 6" },
    { "parallel", GSA_CHECK_DUPLICATES, 0, 6, 0, 5, 3, 4,
      "token 5 reads token 4 twice at length 6 (phase 'read', edge 3), and parallel edges are not "
      "promised" },
    { "square", GSA_CHECK_GROWTH, 0, 1 << 17, -1, -1, -1, INT64_C(8589869056),
      "2147450880 edges at 2^16 tokens, 8589869056 at 2^17: 4 times as many, and linear growth "
      "allows 2.1" },
    { "nlogn", GSA_CHECK_GROWTH, 0, 1 << 17, -1, -1, -1, -2, "and linear growth allows 2.1" },
    { "text", GSA_CHECK_BY_LENGTH, 0, 8, 0, 7, 0, 2,
      "length 8, for Chinese text: phase 'read' differs in the number of a row's" },
    { "groups", GSA_CHECK_BY_LENGTH, 0, 8, 0, 6, 0, 2,
      "length 8, with other groups: phase 'read' differs" },
    { "drawn", GSA_CHECK_BY_LENGTH, 0, 8, 0, 6, 0, 2,
      "length 8, in another step of training: phase 'read' differs" },
    { "open_name", GSA_CHECK_LABELS, 0, -1, 1, -1, -1, 1,
      "phase 'gather': the name of label 1 is not terminated" },
    { "long_name", GSA_CHECK_LABELS, 0, -1, 1, -1, -1, 1,
      "phase 'gather': the name of label 1 writes beyond its buffer" },
    { "odd_name", GSA_CHECK_LABELS, 0, -1, 1, -1, -1, 1,
      "phase 'gather': the name of label 1 is not UTF-8" },
    { "moody_name", GSA_CHECK_LABELS, 0, -1, 1, -1, -1, 1,
      "phase 'gather': the name of label 1 changes from call to call" },
    { "seventy", GSA_CHECK_VALID, 0, 77, -1, -1, -1, -1, "length 77: seventy-seven is too much" },
    { "beyond", GSA_CHECK_VALID, 0, 9, -1, -1, -1, -1, "1 edges from token 17 step 1 to token 8" },
    { "wide", GSA_CHECK_VALID, 0, 3, -1, -1, -1, -1,
      "a label out of range: 2, expected 0 to 1 (16 heads, memory of 0)" },
    { "deep", GSA_CHECK_VALID, 0, -2, -1, -1, -1, -1, "text with unclosed brackets" },
    { "unopened", GSA_CHECK_VALID, 0, -2, -1, -1, -1, -1, "text with unopened brackets" },
    { "no_bytes", GSA_CHECK_VALID, 0, -2, -1, -1, -1, -1, "text of mixed scripts" },
    { "two_lengths", GSA_CHECK_ONE_LENGTH, 0, 24, -1, -1, -1, -1, "12 tokens work, and so do 24" },
};

START_TEST(each_flaw_is_found_with_its_counterexample)
{
    gsa_check_report report;
    check(flaws[_i].flaw, &report);
    const gsa_finding *f = &report.finding[flaws[_i].property];
    for (int p = 0; p < GSA_CHECKS; p++) {
        const int expected = p == flaws[_i].property || flaws[_i].also >> p & 1;
        ck_assert_msg((report.finding[p].verdict == GSA_VERDICT_FAILED) == expected,
                      "%s: %s is %s: %s", flaws[_i].flaw, gsa_check_name(p),
                      gsa_verdict_name(report.finding[p].verdict), report.finding[p].text);
        if (flaws[_i].property == GSA_CHECK_VALID && p > 0)
            ck_assert_int_eq(report.finding[p].verdict, GSA_VERDICT_NOT_CHECKED);
    }
    ck_assert_msg(strstr(f->text, flaws[_i].sentence) != NULL, "%s: %s", flaws[_i].flaw, f->text);
    if (flaws[_i].length != -2) ck_assert_int_eq(f->length, flaws[_i].length);
    ck_assert_int_eq(f->phase, flaws[_i].phase);
    if (flaws[_i].row != -2) ck_assert_int_eq(f->row, flaws[_i].row);
    ck_assert_int_eq(f->edge, flaws[_i].edge);
    if (flaws[_i].value != -2) ck_assert_int_eq(f->value, flaws[_i].value);
}
END_TEST

/* Which call is odd depends on the threads: only that it is found is sure. */
START_TEST(calls_that_differ_are_found)
{
    gsa_check_report report;
    check("moody", &report);
    ck_assert_int_eq(report.finding[GSA_CHECK_DETERMINISTIC].verdict, GSA_VERDICT_FAILED);
    ck_assert_ptr_nonnull(strstr(report.finding[GSA_CHECK_DETERMINISTIC].text, "of token 1"));
}
END_TEST

START_TEST(a_flaw_that_the_given_texts_alone_show_is_found)
{
    gsa_check_report report;
    check_with("one_tag", 2, &report);
    ck_assert_int_eq(report.finding[GSA_CHECK_VALID].verdict, GSA_VERDICT_FAILED);
    ck_assert_msg(strstr(report.finding[GSA_CHECK_VALID].text, "text 2 of those given") != NULL,
                  "%s", report.finding[GSA_CHECK_VALID].text);
}
END_TEST

START_TEST(a_promise_is_advised_where_given_texts_were_tried)
{
    gsa_check_report report;
    check_with("reads_nothing", 2, &report);
    ck_assert_msg(strstr(report.finding[GSA_CHECK_BY_LENGTH].text,
                         "none of 2 texts given changed an edge") != NULL,
                  "%s", report.finding[GSA_CHECK_BY_LENGTH].text);
}
END_TEST

static const gsa_test flaw_tests[] = {
    GSA_LOOP(each_flaw_is_found_with_its_counterexample, GSA_COUNT(flaws)),
    GSA_TEST(calls_that_differ_are_found),
    GSA_TEST(a_flaw_that_the_given_texts_alone_show_is_found),
    GSA_TEST(a_promise_is_advised_where_given_texts_were_tried)
};

/* ---- sound --------------------------------------------------------------------------------- */

static const struct {
    const char *flaw;
    int property, verdict;
    const char *sentence;
} sound[] = {
    { "none", GSA_CHECK_ISOLATED, GSA_VERDICT_OK, "none" },
    { "none", GSA_CHECK_ONE_LENGTH, GSA_VERDICT_NOT_PROMISED, "every length works" },
    { "lone", GSA_CHECK_ISOLATED, GSA_VERDICT_NOTE, "hub 0 at length 13 has no edge" },
    { "quiet", GSA_CHECK_CAUSAL, GSA_VERDICT_NOT_PROMISED, "but it holds at every length tried" },
    { "quiet", GSA_CHECK_PREFIX_STABLE, GSA_VERDICT_NOT_PROMISED,
      "but it holds at every length tried" },
    { "quiet", GSA_CHECK_BY_LENGTH, GSA_VERDICT_NOT_PROMISED, "promise it, and it is cached" },
    { "one_tag", GSA_CHECK_VALID, GSA_VERDICT_OK,
      "examples of 0 to 130 and 1000 tokens" }, /* until a text has the tag */
    { "reads_nothing", GSA_CHECK_BY_LENGTH, GSA_VERDICT_NOT_PROMISED,
      "no text that was made up changed an edge, of 7 kinds: --text FILE tries yours" },
    { "sparse_labels", GSA_CHECK_LABELS, GSA_VERDICT_OK, "1 of 4 are used up to 1000 tokens" },
    { "same_length", GSA_CHECK_ONE_LENGTH, GSA_VERDICT_OK, "12 tokens work, others are refused" },
    { "same_length", GSA_CHECK_GROWTH, GSA_VERDICT_NOT_PROMISED, "there is one length only" },
    { "same_length", GSA_CHECK_VALID, GSA_VERDICT_OK, "4 examples of 12 tokens" },
};

START_TEST(what_breaks_no_promise_is_said_and_does_not_fail)
{
    gsa_check_report report;
    check(sound[_i].flaw, &report);
    const gsa_finding *f = &report.finding[sound[_i].property];
    ck_assert_int_eq(report.failed, 0);
    ck_assert_msg(f->verdict == sound[_i].verdict, "%s: %s", gsa_verdict_name(f->verdict), f->text);
    ck_assert_msg(strstr(f->text, sound[_i].sentence) != NULL, "%s", f->text);
}
END_TEST

static const gsa_test sound_tests[] = { GSA_LOOP(what_breaks_no_promise_is_said_and_does_not_fail,
                                                 GSA_COUNT(sound)) };

int main(int argc, char **argv)
{
    static const gsa_case cases[] = { GSA_CASE("flaws", flaw_tests, 60),
                                      GSA_CASE("sound", sound_tests, 60) };
    return gsa_run_suite("flaws", cases, GSA_COUNT(cases), argc, argv);
}
