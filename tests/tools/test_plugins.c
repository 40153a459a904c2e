/* A model finds the plugin that it was trained with, takes no other one, and loads nothing of
 * somebody else's unasked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli.h"
#include "support/suite.h"

#define ARGS(...) ((const char *const[GSA_CLI_ARGS + 1]){ __VA_ARGS__ })

static gsa_ran ran;

/* A copy of the plugin, with bytes after it that no loader reads. */
static void copy_plugin(const char *to, const char *behind)
{
    char bytes[4096];
    FILE *in = fopen(GSA_PAIRS, "rb"), *out = fopen(to, "wb");
    ck_assert(in && out);
    for (size_t got; (got = fread(bytes, 1, sizeof bytes, in)) > 0;) fwrite(bytes, 1, got, out);
    fputs(behind, out);
    fclose(in);
    ck_assert_int_eq(fclose(out), 0);
}

/* A run whose encoder is of ./mine.so. */
static void train(const char *recipe)
{
    gsa_cli_enter();
    copy_plugin("mine.so", "");
    gsa_cli_run(ARGS("train", recipe, "--plugin", "./mine.so", "--set", "model.encoder=pairs",
                     "--set", "train.epochs=1", "--out", "run", "--quiet"),
                NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
}

START_TEST(every_verb_finds_the_plugin_of_its_model)
{
    train("text.ini");
    gsa_cli_run(ARGS("eval", "--model", "run"), NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
    ck_assert_ptr_nonnull(strstr(ran.out, "\"test_accuracy\""));
    ck_assert_msg(strstr(ran.err, "loads the plugin that the model was trained with: /") != NULL,
                  "%s", ran.err);
    ck_assert_ptr_nonnull(strstr(ran.err, "/mine.so"));
    gsa_cli_run(ARGS("predict", "--model", "run"), "a good film\n", &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
    gsa_cli_run(ARGS("attend", "--model", "run", "--text", "a good film", "--out", "x.dot"), NULL,
                &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
    gsa_cli_run(ARGS("train", "--resume", "run", "--set", "train.epochs=2", "--quiet"), NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
}
END_TEST

START_TEST(the_mean_of_a_run_finds_it_too)
{
    train("sum.ini");
    gsa_cli_run(ARGS("average", "run", "--last", "1", "--out", "mean"), NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
    gsa_cli_run(ARGS("eval", "--model", "mean"), NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
}
END_TEST

START_TEST(another_plugin_is_refused)
{
    train("sum.ini");
    copy_plugin("other.so", "other");
    gsa_cli_run(ARGS("eval", "--model", "run", "--plugin", "./other.so"), NULL, &ran);
    ck_assert_int_eq(ran.code, 2);
    ck_assert_msg(strstr(ran.err, "topology 'pairs' comes from './other.so', which is not the "
                                  "plugin that the model in run") != NULL,
                  "%s", ran.err);
    gsa_cli_run(ARGS("train", "--resume", "run", "--plugin", "./other.so", "--quiet"), NULL, &ran);
    ck_assert_int_eq(ran.code, 2);
    gsa_cli_run(ARGS("eval", "--model", "run", "--plugin", "./other.so", "--other-plugin"), NULL,
                &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
}
END_TEST

START_TEST(a_plugin_that_was_moved_is_named)
{
    train("sum.ini");
    ck_assert_int_eq(rename("mine.so", "moved.so"), 0);
    gsa_cli_run(ARGS("eval", "--model", "run"), NULL, &ran);
    ck_assert_int_eq(ran.code, 2);
    ck_assert_msg(
        strstr(ran.err, "/mine.so', which is not there any more: --plugin FILE.so names it\n") !=
            NULL,
        "%s", ran.err);
    gsa_cli_run(ARGS("eval", "--model", "run", "--plugin", "./moved.so"), NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
}
END_TEST

START_TEST(a_plugin_that_was_changed_is_not_loaded)
{
    train("sum.ini");
    copy_plugin("mine.so", "changed");
    gsa_cli_run(ARGS("eval", "--model", "run"), NULL, &ran);
    ck_assert_int_eq(ran.code, 2);
    ck_assert_msg(strstr(ran.err, "/mine.so', which was changed since") != NULL, "%s", ran.err);
}
END_TEST

/* Root can give files away; others can open them to everybody. */
START_TEST(what_is_somebody_elses_is_not_loaded_unasked)
{
    static const char *const theirs[] = { "mine.so", "run/step-4", "run/step-4/plugins.sha256",
                                          "mine.so" };
    train("sum.ini");
    const int changed = _i < 3 && geteuid() == 0 ? chown(theirs[_i], 12345, 12345)
                                                 : chmod(theirs[_i], _i == 1 ? 0777 : 0666);
    ck_assert_int_eq(changed, 0);
    gsa_cli_run(ARGS("eval", "--model", "run"), NULL, &ran);
    ck_assert_int_eq(ran.code, 2);
    ck_assert_msg(strstr(ran.err, "is somebody else's, whose code is not run unasked") != NULL,
                  "%s", ran.err);
    gsa_cli_run(ARGS("eval", "--model", "run", "--plugin", "./mine.so"), NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
}
END_TEST

/* Who unpacks an archive owns what was in it, and a path through /proc needs no guess at where that
 * is. */
START_TEST(code_that_came_with_a_model_is_not_run_unasked)
{
    static const char *const ways[] = { "/proc/self/cwd/mine.so", NULL };
    char line[4500], *text, *at;
    train("sum.ini");
    text = gsa_cli_read("run/step-4/plugins.sha256");
    ck_assert_ptr_nonnull(text);
    ck_assert_ptr_nonnull(at = strchr(text, '/'));
    snprintf(line, sizeof line, "%.*s%s\n", (int)(at - text), text, ways[_i] ? ways[_i] : at);
    if (ways[_i]) gsa_cli_write("run/step-4/plugins.sha256", line);
    free(text);
    ck_assert_int_eq(
        system("tar cf model.tar run mine.so && rm -r run mine.so && tar xf model.tar && cd "
               "run/step-4 && "
               "sum=$(sha256sum plugins.sha256 | cut -c 1-64) && "
               "sed -i \"s/^[0-9a-f]*  plugins.sha256/$sum  plugins.sha256/\" manifest.sha256"),
        0);
    gsa_cli_run(ARGS("eval", "--model", "run"), NULL, &ran);
    ck_assert_int_eq(ran.code, 2);
    ck_assert_msg(
        strstr(ran.err,
               "code that came with a model is not run unasked: --plugin FILE.so names it") != NULL,
        "%s", ran.err);
    gsa_cli_run(ARGS("eval", "--model", "run", "--plugin", "./mine.so"), NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
}
END_TEST

/* Who may write a folder on the way puts another file into its place. */
START_TEST(folders_on_the_way_are_nobody_elses)
{
    train("sum.ini");
    ck_assert_int_eq(chmod(".", 0777), 0);
    gsa_cli_run(ARGS("eval", "--model", "run"), NULL, &ran);
    ck_assert_int_eq(ran.code, 2);
    ck_assert_msg(strstr(ran.err, "is somebody else's, whose code is not run unasked") != NULL,
                  "%s", ran.err);
    ck_assert_int_eq(chmod(".", 0700), 0);
    gsa_cli_run(ARGS("eval", "--model", "run"), NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
}
END_TEST

/* The manifest is made anew: it does not hold what is hostile away. */
START_TEST(a_record_that_is_no_record_is_refused)
{
#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
    static const char *const records[] = { "x",
                                           "\n",
                                           "0123  pairs  /x\n",
                                           HEX "  1.2  pairs  x.so\n",
                                           HEX "  1.2  pairs\n",
                                           HEX "  1.2    /x.so\n",
                                           HEX "  pairs  /x.so\n",
                                           HEX "    pairs  /x.so\n" };
    static const char sums[] =
        "cd run/step-4 && sum=$(sha256sum plugins.sha256 | cut -c 1-64) && "
        "sed -i \"s/^[0-9a-f]*  plugins.sha256/$sum  plugins.sha256/\" manifest.sha256";
    train("sum.ini");
    for (int i = 0; i < GSA_COUNT(records); i++) {
        gsa_cli_write("run/step-4/plugins.sha256", records[i]);
        ck_assert_int_eq(system(sums), 0);
        gsa_cli_run(ARGS("eval", "--model", "run"), NULL, &ran);
        ck_assert_int_eq(ran.code, 2);
        ck_assert_msg(
            strstr(ran.err, "plugins.sha256:1 is no line of SHA-256, mark, topology and path\n") !=
                NULL,
            "%s", ran.err);
    }
}
END_TEST

static const gsa_test found_tests[] = { GSA_TEST(every_verb_finds_the_plugin_of_its_model),
                                        GSA_TEST(the_mean_of_a_run_finds_it_too),
                                        GSA_TEST(a_plugin_that_was_moved_is_named) };
static const gsa_test refused_tests[] = { GSA_TEST(another_plugin_is_refused),
                                          GSA_TEST(a_plugin_that_was_changed_is_not_loaded),
                                          GSA_LOOP(what_is_somebody_elses_is_not_loaded_unasked, 4),
                                          GSA_LOOP(code_that_came_with_a_model_is_not_run_unasked,
                                                   2),
                                          GSA_TEST(folders_on_the_way_are_nobody_elses),
                                          GSA_TEST(a_record_that_is_no_record_is_refused) };

int main(int argc, char **argv)
{
    static const gsa_case cases[] = { GSA_CASE("found", found_tests, 60),
                                      GSA_CASE("refused", refused_tests, 60) };
    return gsa_run_suite("plugins", cases, GSA_COUNT(cases), argc, argv);
}
