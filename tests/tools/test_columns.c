/* gsa.column/1: a pattern reads what the data says next to each token, here the tree of
 * dependencies of a CoNLL-U file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"
#include "support/suite.h"

#define ARGS(...) ((const char *const[GSA_CLI_ARGS + 1]){ __VA_ARGS__ })

static gsa_ran ran;

/* The third token's head is the first; a range and a comment are no tokens. */
static const char trees[] = "# text = a b c\n"
                            "1\ta\ta\tX\t_\t_\t0\troot\t_\t_\n"
                            "2-3\tbc\t_\t_\t_\t_\t_\t_\t_\t_\n"
                            "2\tb\tb\tY\t_\t_\t3\tmod\t_\t_\n"
                            "3\tc\tc\tX\t_\t_\t1\tobj\t_\t_\n"
                            "\n"
                            "1\tb\tb\tY\t_\t_\t2\tmod\t_\t_\n"
                            "2\ta\ta\tX\t_\t_\t0\troot\t_\t_\n"
                            "\n";
static const char recipe[] =
    "[task]\nname = tagging\n[model]\nencoder = dependency*2\nhidden = 8\nheads = 2\n[train]\n"
    "epochs = 2\nbatch = 2\n[data]\ntrain = trees.conllu\ndev = trees.conllu\ntest = trees.conllu\n"
    "scheme = none\nside = head:7,type:8\n";

static void enter(void)
{
    gsa_cli_enter();
    gsa_cli_write("trees.conllu", trees);
    gsa_cli_write("trees.ini", recipe);
}

START_TEST(a_tree_of_the_file_is_trained_on)
{
    enter();
    gsa_cli_run(ARGS("train", "trees.ini", "--plugin", GSA_DEPENDENCY, "--out", "run", "--quiet"),
                NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
    ck_assert_ptr_nonnull(strstr(ran.out, "\"test_accuracy\""));
    gsa_cli_run(ARGS("eval", "--model", "run"), NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
    gsa_cli_run(ARGS("predict", "--model", "run", "--quiet"), trees, &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
    /* a: itself and its dependent c; b: itself and its head c; c: itself, its head a, its dependent
     * b */
    gsa_cli_run(
        ARGS("attend", "--model", "run", "--example", "0", "--layer", "0", "--out", "tree.mtx"),
        NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s", ran.err);
    char *matrix = gsa_cli_read("tree.mtx");
    ck_assert_msg(strstr(matrix, "\n3 3 7\n") != NULL, "%s", matrix);
    ck_assert(strstr(matrix, "\n1 3 ") && strstr(matrix, "\n3 1 ") && strstr(matrix, "\n2 3 ") &&
              strstr(matrix, "\n3 2 "));
    free(matrix);
}
END_TEST

START_TEST(the_check_makes_columns_up)
{
    enter();
    gsa_cli_run(ARGS("topology", "check", GSA_DEPENDENCY, "--patience", "60000"), NULL, &ran);
    ck_assert_msg(ran.code == 0, "%s%s", ran.out, ran.err);
    ck_assert_ptr_nonnull(
        strstr(ran.out, "it reads columns of the data, of which one kind was made up"));
}
END_TEST

static const struct {
    const char *side, *sentence;
} refused[] = {
    { "", "topology 'dependency' reads a column 'head' beside each token, and this input has none "
          "of that name" },
    { "tree:7", "reads a column 'head' beside each token" },
    { "head:8", "the head of token 1 is '" },
    { "head:11", "the line has 10 columns, but the one of data.side is column 11" },
    { "head", "data.side is 'head', expected at most 8 columns with names" },
    { "head:0", "data.side is 'head:0'" },
    { "head:x", "data.side is 'head:x'" },
    { "head:7,head:8", "data.side is 'head:7,head:8'" },
    { "Head:7", "data.side is 'Head:7'" },
    { "head:99999999999999999999", "data.side is 'head:9" },
    { "a:1,b:1,c:1,d:1,e:1,f:1,g:1,h:1,i:1", "at most 8 columns" },
};

START_TEST(a_column_that_is_not_there_is_one_sentence)
{
    char side[128];
    enter();
    snprintf(side, sizeof side, "data.side=%s", refused[_i].side);
    gsa_cli_run(ARGS("train", "trees.ini", "--plugin", GSA_DEPENDENCY, "--set", side, "--quiet"),
                NULL, &ran);
    ck_assert_msg(ran.code == 2, "code %d, signal %d: %s", ran.code, ran.signal, ran.err);
    ck_assert_msg(strstr(ran.err, refused[_i].sentence) != NULL, "%s", ran.err);
    ck_assert_ptr_eq(strchr(ran.err, '\n'), ran.err + strlen(ran.err) - 1);
}
END_TEST

START_TEST(inputs_without_columns_are_refused)
{
    enter();
    gsa_cli_run(
        ARGS("graph", "--plugin", GSA_DEPENDENCY, "--topology", "dependency", "--length", "3"),
        NULL, &ran);
    ck_assert_int_eq(ran.code, 2);
    ck_assert_msg(strstr(ran.err, "reads a column 'head' beside each token") != NULL, "%s",
                  ran.err);
    gsa_cli_run(ARGS("train", "text.ini", "--plugin", GSA_DEPENDENCY, "--set",
                     "model.encoder=ring,dependency", "--quiet"),
                NULL, &ran);
    ck_assert_int_ne(ran.code, 0);
    ck_assert_int_eq(ran.signal, 0);
}
END_TEST

static const gsa_test tree_tests[] = { GSA_TEST(a_tree_of_the_file_is_trained_on),
                                       GSA_TEST(the_check_makes_columns_up) };
static const gsa_test refused_tests[] = { GSA_LOOP(a_column_that_is_not_there_is_one_sentence,
                                                   GSA_COUNT(refused)),
                                          GSA_TEST(inputs_without_columns_are_refused) };

int main(int argc, char **argv)
{
    static const gsa_case cases[] = { GSA_CASE("trees", tree_tests, 60),
                                      GSA_CASE("refused", refused_tests, 60) };
    return gsa_run_suite("columns", cases, GSA_COUNT(cases), argc, argv);
}
