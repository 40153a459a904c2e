/* The property suite over every built-in with several settings, and over the template: what they
 * promise holds. A new topology gets its rows here and its case in CMakeLists.txt; the case "all"
 * is red while one is missing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gsa/scratch.h"
#include "support/faults.h"
#include "support/suite.h"
#include "topologies/check.h"
#include "topologies/spec.h"

static const struct row {
    const char *spec; /* @: a lexicon's file */
    int path;         /* the longest of the shortest paths between 128 tokens; -1: whatever it is */
    const char *kept; /* what must be promised, and kept */
} rows[] = {
    /* spec, path, kept */
    { "full", 1, "by length" },
    { "full:clip=3", 1, "by length" },
    { "full:causal=1", 1, "by length causal prefix-stable" },
    { "full:causal=1:clip=200", 1, "by length causal prefix-stable" },
    { "ring", 64, "by length" },
    { "ring:cyclic=0", 127, "by length" },
    { "star", 2, "by length" },
    { "star:radial=0", 64, "by length" },
    { "star:ring=0", 2, "by length" },
    { "star:cyclic=0", 2, "by length" },
    { "star:radial=0:ring=0", 0, "by length" },
    { "star:relays=3", 2, "by length" },
    { "window", 26, "by length" },
    { "window:width=1", 0, "by length" },
    { "window:width=3:causal=1", 127, "by length causal prefix-stable" },
    { "window:width=2001", 1, "by length" },
    { "window:width=100001", 1, "by length" },
    { "bpt", 2, "by length" },
    { "bpt:k=1", 2, "by length" },
    { "bpt:k=3:variant=reference", 2, "by length" },
    { "bpt:k=2:variant=paper", 2, "by length" },
    { "bpt:k=2:causal=1", 2, "by length causal prefix-stable" },
    { "bpt:k=2:causal=1:variant=paper", 2, "by length causal prefix-stable" },
    { "bpt:k=1:causal=1:prune=1", 2, "by length causal prefix-stable" },
    { "head_area", 26, "by length" },
    { "head_area:width=3:heads=1", 127, "by length" },
    { "head_area:heads=1023", 26, "by length" },
    { "head_area:width=5:heads=5:border=circular", 64, "by length" },
    { "head_area:border=clamp", 26, "by length" },
    { "char_word:lexicon=@", 2, "" },
    { "char_word:lexicon=@:min_word=1:max_word=3", 2, "" },
    { "char_word:lexicon=@:global=0", -1, "" },
    { "char_word:lexicon=@:residual=1", 2, "" },
    { "char_word:local=0", 2, "by length" },
    { "char_word:local=adjacent", 2, "by length" },
    { "strided", 2, "by length causal" },
    { "strided:stride=8", -1, "by length causal prefix-stable" },
    { "strided:stride=8:heads=split", -1, "by length causal" },
    { "strided:pattern=fixed:stride=16:c=2", -1, "by length causal prefix-stable" },
    { "strided:causal=0", 2, "by length" },
    { "dilated", -1, "by length" },
    { "dilated:step=1:causal=1", 26, "by length causal prefix-stable" },
    { "longformer", 2, "by length" },
    { "longformer:global=3:own=0", 2, "by length" },
    { "longformer:causal=1", 26, "by length causal prefix-stable" },
    { "longformer:global=0", 26, "by length" },
    { "bigbird", 2, "by length" },
    { "bigbird:block=4:random=1:seed=9", 2, "by length" },
    { "bigbird:causal=1", -1, "by length causal prefix-stable" },
    { "cross", 0, "by length causal prefix-stable" },
    { "cross:align=1", 0, "causal prefix-stable" },
    { "logsparse", -1, "by length causal prefix-stable" },
    { "logsparse:near=5:labels=1", -1, "by length causal prefix-stable" },
    { "logsparse:causal=0:near=2", 5, "by length" },
};

/* Pairs and triples of common characters, so that made-up Chinese text has words. */
static void write_lexicon(const char *path)
{
    static const char *const common[] = { "的", "一", "是", "不", "了", "人", "我",
                                          "在", "有", "他", "这", "中", "大", "来" };
    char text[1 << 14];
    size_t used = 0;
    for (int a = 0; a < GSA_COUNT(common); a++) {
        used += (size_t)sprintf(text + used, "%s\n", common[a]);
        for (int b = 0; b < GSA_COUNT(common); b++)
            used += (size_t)sprintf(text + used, "%s%s 3 n\n%s%s%s\n", common[a], common[b],
                                    common[a], common[b], common[a]);
    }
    gsa_put_file(path, text, (int64_t)used);
}

static gsa_registry *open_registry(const gsa_system *system)
{
    gsa_error error = { 0 };
    gsa_registry *registry;
    char path[4096];
    const char *folder = getenv("GSA_TEST_PLUGINS");
    ck_assert_msg(folder != NULL, "GSA_TEST_PLUGINS is not set: run through ctest");
    snprintf(path, sizeof path, "%s/logsparse.so", folder);
    ck_assert_msg(gsa_registry_create(system, &registry, &error) == GSA_OK, "%s", error.text);
    ck_assert_msg(gsa_registry_load(registry, path, &error) == GSA_OK, "%s", error.text);
    return registry;
}

static gsa_pattern *open_pattern(const gsa_registry *registry, const char *spec,
                                 const char *lexicon)
{
    gsa_error error = { 0 };
    gsa_stack_spec parsed;
    gsa_pattern *pattern;
    char text[512];
    const size_t before = strcspn(spec, "@");
    snprintf(text, sizeof text, "%.*s%s%s", (int)before, spec, spec[before] ? lexicon : "",
             spec[before] ? spec + before + 1 : "");
    ck_assert_msg(gsa_spec_parse(NULL, text, &parsed, &error) == GSA_OK, "%s", error.text);
    const gsa_part_spec *part = parsed.segments->parts;
    ck_assert_msg(gsa_pattern_create(registry, part->id, part->settings, part->n_settings, &pattern,
                                     &error) == GSA_OK,
                  "%s", error.text);
    gsa_spec_release(&parsed);
    return pattern;
}

static void check_row(const struct row *row, const gsa_registry *registry, const char *lexicon)
{
    gsa_error error = { 0 };
    gsa_check_report report;
    gsa_pattern *pattern = open_pattern(registry, row->spec, lexicon);
    ck_assert_msg(gsa_check_pattern(NULL, pattern, NULL, &report, &error) == GSA_OK, "%s: %s",
                  row->spec, error.text);
    for (int p = 0; p < GSA_CHECKS; p++) {
        const gsa_finding *f = &report.finding[p];
        ck_assert_msg(f->verdict != GSA_VERDICT_FAILED, "%s: %s: %s", row->spec, gsa_check_name(p),
                      f->text);
        ck_assert_msg(*f->text && !strpbrk(f->text, "\r\n"), "%s: %s", row->spec,
                      gsa_check_name(p));
        if (strstr(row->kept, gsa_check_name(p)))
            ck_assert_msg(f->verdict == GSA_VERDICT_OK, "%s: %s: %s", row->spec, gsa_check_name(p),
                          f->text);
    }
    if (row->path >= 0)
        ck_assert_msg(report.finding[GSA_CHECK_PATH].value == row->path, "%s: %s", row->spec,
                      report.finding[GSA_CHECK_PATH].text);
    gsa_pattern_release(pattern);
}

/* Every row of one topology. */
static void check_topology(const char *id)
{
    gsa_scratch scratch;
    gsa_scratch_open(&scratch);
    char lexicon[256];
    snprintf(lexicon, sizeof lexicon, "%s", gsa_scratch_path(&scratch, "words.txt"));
    write_lexicon(lexicon);
    gsa_registry *registry = open_registry(NULL);
    int checked = 0;
    for (int i = 0; i < GSA_COUNT(rows); i++) {
        if (strcspn(rows[i].spec, ":") != strlen(id) || strncmp(rows[i].spec, id, strlen(id)) != 0)
            continue;
        check_row(&rows[i], registry, lexicon);
        checked++;
    }
    ck_assert_int_gt(checked, 0);
    gsa_registry_release(registry);
    gsa_scratch_close(&scratch);
}

#define TOPOLOGY(id)                                                                               \
    START_TEST(id##_keeps_its_promises)                                                            \
    {                                                                                              \
        check_topology(#id);                                                                       \
    }                                                                                              \
    END_TEST                                                                                       \
    static const gsa_test id##_tests[] = { GSA_TEST(id##_keeps_its_promises) }
TOPOLOGY(full);
TOPOLOGY(ring);
TOPOLOGY(star);
TOPOLOGY(window);
TOPOLOGY(bpt);
TOPOLOGY(head_area);
TOPOLOGY(char_word);
TOPOLOGY(strided);
TOPOLOGY(dilated);
TOPOLOGY(longformer);
TOPOLOGY(bigbird);
TOPOLOGY(cross);
TOPOLOGY(logsparse);

START_TEST(every_built_in_has_rows)
{
    gsa_registry *registry = open_registry(NULL);
    for (int i = 0; i < gsa_registry_count(registry); i++) {
        const char *id = gsa_registry_at(registry, i)->id;
        int found = 0;
        for (int r = 0; r < GSA_COUNT(rows); r++)
            found |= strcspn(rows[r].spec, ":") == strlen(id) &&
                     strncmp(rows[r].spec, id, strlen(id)) == 0;
        ck_assert_msg(found, "'%s' has no row in the table of this test", id);
    }
    gsa_registry_release(registry);
}
END_TEST

START_TEST(every_name_is_there)
{
    for (int p = 0; p < GSA_CHECKS; p++) ck_assert_str_ne(gsa_check_name(p), "?");
    for (int v = GSA_VERDICT_OK; v <= GSA_VERDICT_NOT_CHECKED; v++)
        ck_assert_str_ne(gsa_verdict_name(v), "?");
    ck_assert_str_eq(gsa_check_name(GSA_CHECKS), "?");
    ck_assert_str_eq(gsa_check_name(-1), "?");
    ck_assert_str_eq(gsa_verdict_name(-1), "?");
}
END_TEST

static const gsa_test all_tests[] = { GSA_TEST(every_built_in_has_rows),
                                      GSA_TEST(every_name_is_there) };

/* The check's own memory fails at one place after the other; the pattern's does not. */
START_TEST(memory_may_fail_anywhere)
{
    static const int64_t places[] = { 1,  2,  3,  4,  5,  6,   7,   8,   9,
                                      10, 15, 20, 40, 80, 150, 300, 600, 1200 };
    gsa_registry *registry = open_registry(NULL);
    gsa_pattern *pattern = open_pattern(registry, "logsparse", "");
    int failed = 0;
    for (int i = 0; i < GSA_COUNT(places); i++) {
        gsa_faults faults;
        gsa_check_report report;
        gsa_error error = { 0 };
        gsa_faults_start(&faults);
        faults.fail[GSA_OP_ALLOC] = places[i];
        const gsa_status status = gsa_check_pattern(&faults.table, pattern, NULL, &report, &error);
        ck_assert_int_eq(status, faults.calls[GSA_OP_ALLOC] >= places[i] ? GSA_ERR_MEMORY : GSA_OK);
        ck_assert_int_eq(gsa_faults_live(&faults), 0);
        failed += status != GSA_OK;
    }
    ck_assert_int_gt(failed, 14);
    gsa_pattern_release(pattern);
    gsa_registry_release(registry);
}
END_TEST

static const gsa_test memory_tests[] = { GSA_TEST(memory_may_fail_anywhere) };

int main(int argc, char **argv)
{
    static const gsa_case cases[] = { GSA_CASE("full", full_tests, 120),
                                      GSA_CASE("ring", ring_tests, 120),
                                      GSA_CASE("star", star_tests, 120),
                                      GSA_CASE("window", window_tests, 120),
                                      GSA_CASE("bpt", bpt_tests, 300),
                                      GSA_CASE("head_area", head_area_tests, 120),
                                      GSA_CASE("char_word", char_word_tests, 120),
                                      GSA_CASE("strided", strided_tests, 120),
                                      GSA_CASE("dilated", dilated_tests, 120),
                                      GSA_CASE("longformer", longformer_tests, 120),
                                      GSA_CASE("bigbird", bigbird_tests, 120),
                                      GSA_CASE("cross", cross_tests, 120),
                                      GSA_CASE("template", logsparse_tests, 120),
                                      GSA_CASE("all", all_tests, 60),
                                      GSA_CASE("memory", memory_tests, 120) };
    return gsa_run_suite("promises", cases, GSA_COUNT(cases), argc, argv);
}
