/* What earlier versions wrote (tests/golden/VERSION, made by tests/golden/make) is read by this
 * one: models predict what they predicted, results are told, runs go on, plugins load. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
#include "cli.h"
#include "support/suite.h"

#define ARGS(...) ((const char *const[GSA_CLI_ARGS + 1]){ __VA_ARGS__ })

static const struct {
    const char *version, *model, *proba, *metric;
} models[] = { { "0.1.0", "text", "all", "test_accuracy" },
               { "0.1.0", "tags", NULL, "test_f1" },
               { "0.1.0", "pairs", NULL, "test_perplexity" } };
static const char *const versions[] = { "0.1.0" };

static gsa_ran ran;

/* A copy of that version's files, for a run that is read may be written to. */
static void enter(const char *version)
{
    char command[512];
    gsa_cli_enter();
    snprintf(command, sizeof command, "cp -r '%s/tests/golden/%s/.' .", GSA_SOURCE, version);
    ck_assert_int_eq(system(command), 0);
}

static void run(const char *const *args)
{
    gsa_cli_run(args, NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s %s: code %d, signal %d: %s", args[0], args[1], ran.code,
                  ran.signal, ran.err);
}

static char *stored(const char *name, const char *ending)
{
    char path[64];
    snprintf(path, sizeof path, "%s%s", name, ending);
    char *text = gsa_cli_read(path);
    ck_assert_msg(text != NULL, "%s is not there", path);
    return text;
}

/* The same bytes, but for numbers, which kernels of another width may have in other last digits. */
static void check_alike(const char *now, const char *then)
{
    const char *const all = now;
    while (*then) {
        char *end, *stop;
        const double wanted = strtod(then, &end), got = strtod(now, &stop);
        if (end > then && stop > now && fabs(wanted - got) <= 1e-4) then = end, now = stop;
        else if (*then++ != *now++) break;
    }
    ck_assert_msg(!*then && !*now, "%s\nis not as stored from here on:\n%s", all, then);
}

static double number(const char *text, const char *key)
{
    json_t *result = json_loads(text, 0, NULL);
    const json_t *value = json_object_get(result, key);
    ck_assert_msg(json_is_number(value), "no %s in %s", key, text);
    const double x = json_number_value(value);
    json_decref(result);
    return x;
}

START_TEST(a_model_predicts_what_it_did)
{
    char input[64];
    enter(models[_i].version);
    snprintf(input, sizeof input, "%s.in", models[_i].model);
    run(ARGS("predict", "--model", models[_i].model, "--input", input, "--quiet",
             models[_i].proba ? "--proba" : NULL, models[_i].proba));
    char *then = stored(models[_i].model, ".out");
    check_alike(ran.out, then);
    free(then);
}
END_TEST

START_TEST(a_model_scores_what_it_did)
{
    enter(models[_i].version);
    run(ARGS("eval", "--model", models[_i].model, "--quiet"));
    char *then = stored(models[_i].model, "/result.json");
    ck_assert_double_eq_tol(number(ran.out, models[_i].metric), number(then, models[_i].metric),
                            1e-4);
    free(then);
    run(ARGS("table", models[_i].model));
    ck_assert_ptr_nonnull(strchr(ran.out, '|'));
    run(ARGS("compare", models[_i].model, models[_i].model));
}
END_TEST

START_TEST(a_run_goes_on)
{
    enter(models[_i].version);
    char *then = stored(models[_i].model, "/result.json");
    char epochs[64];
    snprintf(epochs, sizeof epochs, "train.epochs=%d", (int)number(then, "epochs") + 1);
    run(ARGS("train", "--resume", models[_i].model, "--set", epochs, "--quiet"));
    ck_assert(number(ran.out, "steps") > number(then, "steps"));
    free(then);
}
END_TEST

START_TEST(a_plugin_gives_the_graph_it_gave)
{
#ifdef __x86_64__
    const char *const plugins[] = { GSA_GOLDEN, "./plugin-x86_64.so" };
#else
    const char *const plugins[] = { GSA_GOLDEN };
#endif
    enter(versions[_i]);
    char *then = stored("plugin", ".dot");
    for (int i = 0; i < GSA_COUNT(plugins); i++) {
        run(ARGS("graph", "--plugin", plugins[i], "--topology", "golden:gap=4:mode=even", "--text",
                 "a bee ant cat buzz and", "--format", "dot"));
        ck_assert_str_eq(ran.out, then);
    }
    free(then);
}
END_TEST

static const gsa_test model_tests[] = { GSA_LOOP(a_model_predicts_what_it_did, GSA_COUNT(models)),
                                        GSA_LOOP(a_model_scores_what_it_did, GSA_COUNT(models)),
                                        GSA_LOOP(a_run_goes_on, GSA_COUNT(models)) };
static const gsa_test plugin_tests[] = { GSA_LOOP(a_plugin_gives_the_graph_it_gave,
                                                  GSA_COUNT(versions)) };

int main(int argc, char **argv)
{
    static const gsa_case cases[] = { GSA_CASE("models", model_tests, 60),
                                      GSA_CASE("plugins", plugin_tests, 60) };
    return gsa_run_suite("golden", cases, GSA_COUNT(cases), argc, argv);
}
