/* Which examples are used: held out ones are the same for every seed, follow no order of the file
 * and are never trained on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rig.h"
#include "train/data/sample.h"

enum { LINES = 1000, SPLIT_TRAIN = 0, SPLIT_DEV, SPLIT_TEST };

/* "label<TAB>wN", N the line from 0; the first half is "a", the second "b". */
static void write_lines(const char *path)
{
    char bytes[LINES * 12];
    size_t used = 0;
    for (int i = 0; i < LINES; i++)
        used += (size_t)snprintf(bytes + used, 12, "%c\tw%d\n", i < LINES / 2 ? 'a' : 'b', i);
    gsa_put_file(path, bytes, (int64_t)used);
}

/* taken[line] counts; the number of examples. */
static int64_t take(const gsa_recipe_values *v, int split, int *taken)
{
    const char *path;
    gsa_sample sample;
    gsa_text text, *texts[] = { &text };
    gsa_error error;
    const gsa_text_options options = { .phrase_min = 1 };
    gsa_sample_of(v, split, &path, &sample);
    ck_assert_int_eq(gsa_text_read(gsa_system_default(), path, &options, &text, &error), GSA_OK);
    ck_assert_msg(gsa_sample_take(&sample, texts, 1, &error) == GSA_OK, "%s", error.text);
    for (int64_t e = 0; e < text.examples; e++) {
        const int64_t line = text.line[e] - 1;
        ck_assert_int_eq(atoi(text.token[text.offset[e]].at + 1), line);
        ck_assert(e == 0 || text.line[e] > text.line[e - 1]); /* the file's order */
        ck_assert_int_eq(text.label[e].at[0], line < LINES / 2 ? 'a' : 'b');
        taken[line]++;
    }
    const int64_t examples = text.examples;
    ck_assert_int_eq(text.tokens, examples);
    gsa_text_release(&text);
    return examples;
}

START_TEST(held_out_and_trained_on_are_apart)
{
    gsa_scratch scratch;
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "t.tsv");
    write_lines(path);
    for (int hold = 1; hold < LINES; hold += 166) {
        int train[LINES] = { 0 }, dev[LINES] = { 0 }, small[LINES] = { 0 }, of_a = 0;
        gsa_recipe_values v = {
            .data_train = path, .data_dev = "", .data_test = "", .data_hold = hold
        };
        ck_assert_int_eq(take(&v, SPLIT_DEV, dev), hold);
        ck_assert_int_eq(take(&v, SPLIT_TRAIN, train), LINES - hold);
        v.data_train_part = 100;
        ck_assert_int_eq(take(&v, SPLIT_TRAIN, small), LINES - hold < 100 ? LINES - hold : 100);
        for (int i = 0; i < LINES; i++) {
            ck_assert_int_eq(train[i] + dev[i], 1);
            ck_assert_int_le(small[i], train[i]); /* a part of a part */
            of_a += i < LINES / 2 ? dev[i] : 0;
        }
        ck_assert_msg(hold < 100 || abs(2 * of_a - hold) < hold / 3,
                      "%d of %d held out are of the first half", of_a, hold);
    }
    gsa_scratch_close(&scratch);
}
END_TEST

START_TEST(larger_parts_hold_smaller_ones)
{
    int one[LINES] = { 0 }, two[LINES] = { 0 }, dev[LINES] = { 0 }, all[LINES] = { 0 };
    gsa_scratch scratch;
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "t.tsv");
    write_lines(path);
    gsa_recipe_values v = { .data_train = path,
                            .data_dev = path,
                            .data_test = path,
                            .data_hold = 10,
                            .data_test_part = 50 };
    ck_assert_int_eq(take(&v, SPLIT_TEST, one), 50);
    v.data_test_part = 400;
    ck_assert_int_eq(take(&v, SPLIT_TEST, two), 400);
    for (int i = 0; i < LINES; i++) ck_assert_int_le(one[i], two[i]);
    v.data_test_part = 5000;
    ck_assert_int_eq(take(&v, SPLIT_TEST, all), LINES);
    ck_assert_int_eq(take(&v, SPLIT_DEV, dev), LINES); /* a file of its own: nothing is held out */
    ck_assert_int_eq(take(&v, SPLIT_TRAIN, all), LINES);
    gsa_scratch_close(&scratch);
}
END_TEST

/* 900 of "a", 90 of "b", 9 of "c", one of "d". */
START_TEST(a_stratified_part_has_each_label_in_its_share)
{
    static const int hold[] = { 1, 10, 100, 333, 998 };
    gsa_slice label[LINES];
    gsa_error error;
    for (int i = 0; i < LINES; i++)
        label[i] = (gsa_slice){ i * 7 % 1000 < 900   ? "a"
                                : i * 7 % 1000 < 990 ? "b"
                                : i * 7 % 1000 < 999 ? "c"
                                                     : "d",
                                1 };
    for (size_t h = 0; h < sizeof hold / sizeof *hold; h++) {
        uint8_t drop[2][LINES] = { { 0 } };
        int of[4] = { 0 };
        const gsa_sample dev = { 0, hold[h], hold[h], 1, 0 }, train = { hold[h], 0, hold[h], 1, 0 };
        ck_assert_int_eq(
            gsa_sample_choose(gsa_system_default(), &dev, "t", label, LINES, drop[0], &error),
            GSA_OK);
        ck_assert_int_eq(
            gsa_sample_choose(gsa_system_default(), &train, "t", label, LINES, drop[1], &error),
            GSA_OK);
        for (int i = 0; i < LINES; i++) {
            ck_assert_int_eq(drop[0][i] + drop[1][i], 1);
            of[label[i].at[0] - 'a'] += !drop[0][i];
        }
        ck_assert_int_eq(of[0] + of[1] + of[2], hold[h]);
        ck_assert_int_eq(of[3], 0); /* the only one of its label is trained on */
        ck_assert_int_le(abs(999 * of[0] - 900 * hold[h]), 999);
        ck_assert_int_le(abs(999 * of[1] - 90 * hold[h]), 999);
        ck_assert_int_le(abs(999 * of[2] - 9 * hold[h]), 999);
    }
    uint8_t none[LINES] = { 0 };
    const gsa_sample too_many = { 0, 999, 999, 1, 0 };
    ck_assert_int_ne(
        gsa_sample_choose(gsa_system_default(), &too_many, "t", label, LINES, none, &error),
        GSA_OK);
    ck_assert_ptr_nonnull(strstr(
        error.text, "t: data.hold is 999, and 999 examples have a label that another one has"));
}
END_TEST

/* ---- in a run ------------------------------------------------------------------------------ */

START_TEST(a_run_holds_out_and_finds_it_again)
{
    static const char *const recipes[] = { rig_text, rig_pairs };
    double accuracy[2];
    char out[300];
    rig r;
    rig_open(&r, recipes[_i], GSA_F32, 1);
    rig_set(&r, "data.dev=");
    rig_set(&r, "data.hold=7");
    rig_train_ok(&r, "run");
    ck_assert_double_eq(rig_number(&r, "steps"), 6); /* 15 examples: two steps an epoch */
    ck_assert_msg(strstr(r.messages, ": 7 examples") || strstr(r.messages, ": 7 pairs"), "%s",
                  r.messages);
    accuracy[0] = rig_number(&r, "dev_accuracy");
    snprintf(out, sizeof out, "%s/run", r.scratch.folder);
    const gsa_apply_options o = { .model = out, .backend = r.backend };
    gsa_release(gsa_system_default(), r.result);
    r.result = NULL;
    ck_assert_msg(gsa_evaluate(NULL, &o, &r.result, &r.error) == GSA_OK, "%s", r.error.text);
    accuracy[1] = rig_number(&r, "dev_accuracy");
    ck_assert_double_eq(accuracy[0], accuracy[1]);
    ck_assert_double_eq(rig_number(&r, "dev_examples"), 7);
    rig_close(&r);
}
END_TEST

START_TEST(seeds_share_what_is_held_out)
{
    double of_majority[2];
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    rig_set(&r, "data.dev=");
    rig_set(&r, "data.hold=7");
    for (int seed = 0; seed < 2; seed++) {
        rig_set(&r, seed ? "train.seed=9" : "train.seed=4");
        rig_train_ok(&r, NULL);
        of_majority[seed] = rig_number(&r, "bayes_accuracy");
    }
    ck_assert_double_eq(of_majority[0], of_majority[1]);
    rig_close(&r);
}
END_TEST

static const struct {
    const char *set[3], *expected;
} refused[] = {
    { { "data.dev=", "data.hold=22" },
      "train.tsv: data.hold is 22, of 22 examples: none is left to train on" },
    { { "data.dev=", "data.hold=500" }, "data.hold is 500, of 22 examples" },
    { { "data.dev=", "data.hold=5", "data.subtrees=1" },
      "--set data.hold: [data] hold = 5 and subtrees = 1 exclude each other" },
    { { "data.dev=", "data.hold=5", "data.train=-" },
      "--set data.hold: [data] hold = 5 reads train twice" },
    { { "data.hold=-1" }, "data.hold" },
    { { "data.train_part=x" }, "data.train_part" },
    { { "data.encoding=utf16" }, "data.encoding" },
    { { "data.tokens=letters" }, "data.tokens" },
    { { "data.markup=2" }, "data.markup" },
};

START_TEST(refused_with_a_sentence)
{
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    for (int i = 0; i < 3 && refused[_i].set[i]; i++) rig_set(&r, refused[_i].set[i]);
    ck_assert_int_ne(rig_train(&r, NULL), GSA_OK);
    ck_assert_msg(strstr(r.error.text, refused[_i].expected), "'%s' lacks '%s'", r.error.text,
                  refused[_i].expected);
    rig_close(&r);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test parts[] = { GSA_TEST(held_out_and_trained_on_are_apart),
                                      GSA_TEST(larger_parts_hold_smaller_ones),
                                      GSA_TEST(a_stratified_part_has_each_label_in_its_share) };
    static const gsa_test runs[] = { GSA_LOOP(a_run_holds_out_and_finds_it_again, 2),
                                     GSA_TEST(seeds_share_what_is_held_out),
                                     GSA_LOOP(refused_with_a_sentence, GSA_COUNT(refused)) };
    static const gsa_case cases[] = { GSA_CASE("parts", parts, 20), GSA_CASE("runs", runs, 60) };
    return gsa_run_suite("sample", cases, GSA_COUNT(cases), argc, argv);
}
