/* Whole runs of taggers: resume, predictions, scores, characters, baselines. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "support/compare.h"
#include "tags.h"
#include "train/data/tagged.h"
#include "train/score/outcomes.h"
#include "train/score/spans.h"

/* ---- runs ---------------------------------------------------------------------------------- */

START_TEST(a_run_goes_on_to_the_bit)
{
    rig whole, cut;
    tags_open(&whole, tags_recipe, tags_train, tags_dev, GSA_F32);
    tags_open(&cut, tags_recipe, tags_train, tags_dev, GSA_F32);
    rig_train_ok(&whole, "run");
    cut.stop_at = 1 + _i;
    ck_assert_int_eq(rig_train(&cut, "run"), GSA_ERR_INTERRUPTED);
    cut.stop_at = 0;
    ck_assert_msg(rig_resume(&cut, "run") == GSA_OK, "%s", cut.error.text);
    int64_t na, nb;
    char *a = rig_checkpoint_file(&whole, "run", "model.safetensors", &na),
         *b = rig_checkpoint_file(&cut, "run", "model.safetensors", &nb);
    ck_assert(na == nb && memcmp(a, b, (size_t)na) == 0);
    ck_assert_double_eq(rig_number(&whole, "dev_f1"), rig_number(&cut, "dev_f1"));
    free(a);
    free(b);
    rig_close(&whole);
    rig_close(&cut);
}
END_TEST

static char *apply(rig *r, const char *input, const char *report)
{
    int64_t bytes;
    char in[300], out[300], *result = NULL, dev[320];
    snprintf(in, sizeof in, "%s/in", r->scratch.folder);
    snprintf(out, sizeof out, "%s/out", r->scratch.folder);
    snprintf(dev, sizeof dev, "data.dev=%s/tags.dev", r->scratch.folder);
    gsa_put_file(in, input, (int64_t)strlen(input));
    const char *const set[] = { dev };
    gsa_apply_options o = { .model = gsa_scratch_path(&r->scratch, "run"),
                            .backend = r->backend,
                            .input = in,
                            .output = out,
                            .report = report,
                            .overrides = set,
                            .n_overrides = report != NULL };
    const gsa_status status =
        report ? gsa_evaluate(NULL, &o, &result, &r->error) : gsa_predict(NULL, &o, &r->error);
    ck_assert_msg(status == GSA_OK, "%s", r->error.text);
    return report ? result : gsa_get_file(out, &bytes);
}

/* Lines stay, a column is added; blank lines, comments, documents and line ends too. */
START_TEST(predictions_keep_the_lines)
{
    static const struct {
        const char *set, *in, *shape; /* shape: the output with tags as * */
    } cases[] = {
        { NULL, "Ann\nsaw\n\n\nBonn\n", "Ann *\nsaw *\n\n\nBonn *\n" },
        { NULL, "\n-DOCSTART- x\n\nAnn 1 I-PER\r\nin 1 O",
          "\n-DOCSTART- x\n\nAnn 1 I-PER *\r\nin 1 O *\n" },
        { NULL, "Ann\tx\n\nsaw\ty\n\n", "Ann\tx\t*\n\nsaw\ty\t*\n\n" },
        { NULL, "", "" },
        { "data.format=conllu",
          "# x\n1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tAnn\t_\t_\t_\t_\t_\t_\t_\t_\n",
          "# x\n1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tAnn\t_\t_\t_\t_\t_\t_\t_\t_\t*\n" },
        { "data.format=chars", "A\nB O\n\nC\n", "A *\nB O *\n\nC *\n" },
    };
    for (int i = 0; i < GSA_COUNT(cases); i++) {
        rig r;
        tags_open(&r, tags_recipe, i == 4 ? tags_conllu : tags_train,
                  i == 4 ? tags_conllu : tags_dev, GSA_F32);
        rig_set(&r, "train.epochs=1");
        if (cases[i].set) rig_set(&r, cases[i].set);
        rig_train_ok(&r, "run");
        char *out = apply(&r, cases[i].in, NULL);
        const char *at = out;
        for (const char *want = cases[i].shape; *want; want++) {
            if (*want == '*') at += strcspn(at, " \t\r\n");
            else ck_assert_msg(*at++ == *want, "case %d: '%s' is not '%s'", i, out, cases[i].shape);
        }
        ck_assert_msg(!*at, "case %d: '%s' is not '%s'", i, out, cases[i].shape);
        free(out);
        rig_close(&r);
    }
}
END_TEST

static void keep_sentence(void *context, const gsa_progress *p)
{
    snprintf(context, 512, "%s", p->text);
}

/* What is read is said, and a sentence a line is read where it is requested. */
START_TEST(running_text_is_cut_into_sentences)
{
    static const struct {
        const char *how, *in, *says, *shape; /* shape NULL: refused */
    } cases[] = {
        { NULL, "Ann Lee saw Bonn .\n",
          "in: 1 sentence of 1 token, a token a line, in one of 5 columns between blanks; "
          "--tokenize "
          "words reads a sentence a line",
          "Ann Lee saw Bonn . *\n" },
        { NULL, "Ann\nsaw\n", "in: 1 sentence of 2 tokens, a token a line; --tokenize words reads",
          "Ann *\nsaw *\n" },
        { NULL, "Ann Lee saw Bonn .\nso what\n",
          "line 1 has 5; --tokenize words reads a sentence a line", NULL },
        { "words", "Ann Lee saw Bonn .\n\n\nno\r\n\n",
          "in: 2 sentences of 6 tokens, a sentence a line, cut into words between blanks",
          "Ann\t*\nLee\t*\nsaw\t*\nBonn\t*\n.\t*\n\n\n\nno\t*\n\n\n" },
        { "words", "\nAnn saw\n", "in: 1 sentence of 2 tokens", "\nAnn\t*\nsaw\t*\n\n" },
        { "punctuated", "Ann saw Bonn.", "cut into words and marks",
          "Ann\t*\nsaw\t*\nBonn\t*\n.\t*\n\n" },
        { "chars", "Ann", "cut into characters", "A\t*\nn\t*\nn\t*\n\n" },
        { "words", "", "in: 0 sentences of 0 tokens", "" },
        { "bytes", "x", "--tokenize bytes: expected words, chars or punctuated", NULL },
    };
    rig r;
    char in[300], out[300], said[512];
    int64_t bytes;
    tags_open(&r, tags_recipe, tags_train, tags_dev, GSA_F32);
    rig_set(&r, "train.epochs=1");
    rig_train_ok(&r, "run");
    snprintf(in, sizeof in, "%s/in", r.scratch.folder);
    snprintf(out, sizeof out, "%s/out", r.scratch.folder);
    for (int i = 0; i < GSA_COUNT(cases); i++) {
        gsa_put_file(in, cases[i].in, (int64_t)strlen(cases[i].in));
        const gsa_apply_options o = { .model = gsa_scratch_path(&r.scratch, "run"),
                                      .backend = r.backend,
                                      .input = in,
                                      .output = out,
                                      .tokenize = cases[i].how,
                                      .progress = keep_sentence,
                                      .context = said };
        const int right = gsa_predict(NULL, &o, &r.error) == GSA_OK;
        ck_assert_msg(right == (cases[i].shape != NULL), "case %d: %s", i, r.error.text);
        ck_assert_msg(strstr(right ? said : r.error.text, cases[i].says), "case %d: %s", i,
                      right ? said : r.error.text);
        if (!right) continue;
        char *text = gsa_get_file(out, &bytes), *at = text;
        for (const char *want = cases[i].shape; *want; want++) {
            if (*want == '*') at += strcspn(at, " \t\r\n");
            else
                ck_assert_msg(*at++ == *want, "case %d: '%s' is not '%s'", i, text, cases[i].shape);
        }
        ck_assert_msg(!*at, "case %d: '%s' is not '%s'", i, text, cases[i].shape);
        free(text);
    }
    rig_close(&r);
}
END_TEST

/* What predict writes, scored by the scorer, is what eval says, in batches of any size. */
START_TEST(predict_and_eval_agree)
{
    static const char *const sets[] = { "task.scheme=IOB1", "task.scheme=BIOES", "task.legal=1" };
    rig r;
    int64_t bytes;
    gsa_conll conll, gold;
    gsa_span_score score = { .system = gsa_system_default() };
    tags_open(&r, tags_recipe, tags_train, tags_dev, GSA_F32);
    rig_set(&r, sets[_i]);
    rig_set(&r, "train.epochs=12");
    rig_train_ok(&r, "run");
    const char *report = strdup(gsa_scratch_path(&r.scratch, "report"));
    char *result = apply(&r, "", report), *out = apply(&r, tags_dev, NULL),
         *text = gsa_get_file(report, &bytes), line[64];
    const char *path = gsa_scratch_path(&r.scratch, "out");
    ck_assert_int_eq(
        gsa_conll_read(gsa_system_default(), path, &(gsa_conll_options){ 0 }, &conll, NULL),
        GSA_OK);
    ck_assert_int_eq(
        gsa_conll_read(gsa_system_default(), path, &(gsa_conll_options){ .tag = 3 }, &gold, NULL),
        GSA_OK);
    for (int64_t s = 0; s < conll.sentences; s++)
        gsa_span_score_add(&score, gold.tag + gold.offset[s], conll.tag + conll.offset[s],
                           conll.offset[s + 1] - conll.offset[s], NULL);
    for (int64_t i = 0; i < conll.tokens; i++) /* in the files' scheme, whatever is learned */
        ck_assert(strchr("OIB", gsa_tag_of(conll.tag[i]).letter) != NULL);
    json_t *object = json_loads(result, 0, NULL);
    const double f1 = json_number_value(json_object_get(object, "dev_f1"));
    double right = 0; /* as seqeval's accuracy: equal tags, as the files write them */
    for (int64_t i = 0; i < conll.tokens; i++)
        right += gsa_slice_compare(gold.tag[i], conll.tag[i]) == 0;
    ck_assert_double_eq_tol(json_number_value(json_object_get(object, "dev_accuracy")),
                            right / (double)conll.tokens, 1e-7);
    printf("F1 %.4f\n", f1);
    ck_assert(f1 > 0);
    ck_assert_double_eq_tol(f1, gsa_span_rates_of(&score.all).f1 / 100, 1e-7);
    ck_assert_double_eq_tol(rig_number(&r, "dev_f1"), f1, 1e-7);
    ck_assert(json_object_get(object, "dev_f1_strict") &&
              json_object_get(object, "dev_precision") && json_object_get(object, "dev_recall") &&
              json_object_get(object, "dev_accuracy"));
    snprintf(line, sizeof line, "FB1: %6.2f", gsa_span_rates_of(&score.all).f1);
    ck_assert_msg(strstr(text, line) && strstr(text, "PER: precision:") &&
                      strstr(text, "dev, strict"),
                  "%s", text);
    json_decref(object);
    gsa_release(gsa_system_default(), result);
    gsa_span_score_release(&score);
    gsa_conll_release(&conll);
    gsa_conll_release(&gold);
    free((void *)(uintptr_t)report);
    free(out);
    free(text);
    rig_close(&r);
}
END_TEST

/* Outcomes know which of the two metrics they are of, and keep the strict counts: a comparison
 * needs both. */
START_TEST(outcomes_are_read_back)
{
    rig r;
    gsa_outcomes outcomes;
    gsa_error error;
    gsa_score sum = { 0 };
    gsa_fact facts[4];
    tags_open(&r, tags_recipe, tags_train, tags_dev, GSA_F32);
    if (_i) rig_set(&r, "data.scheme=none");
    rig_set(&r, "train.epochs=12");
    rig_set(&r, "train.select=last");
    rig_train_ok(&r, "run");
    const char *path = gsa_scratch_path(&r.scratch, "run/outcomes.jsonl");
    ck_assert_msg(gsa_outcomes_read(gsa_system_default(), path, GSA_SPLIT_DEV, &outcomes, &error) ==
                      GSA_OK,
                  "%s", error.text);
    ck_assert_ptr_eq(outcomes.task, _i ? &gsa_task_tagging : &gsa_task_tagging_spans);
    ck_assert_int_eq(outcomes.units, 3); /* sentences */
    for (int64_t u = 0; u < outcomes.units; u++) gsa_score_add(&sum, &outcomes.unit[u]);
    ck_assert_double_eq_tol(gsa_score_metric(outcomes.task, &sum),
                            rig_number(&r, _i ? "dev_accuracy" : "dev_f1"), 1e-7);
    if (!_i) {
        ck_assert_int_eq(outcomes.task->metrics(&sum, facts, 4), 4);
        ck_assert(strcmp(facts[0].name, "f1_strict") == 0 && facts[0].value > 0);
    }
    gsa_outcomes_release(&outcomes);
    rig_close(&r);
}
END_TEST

/* Taggers do not read a star's relay: its last phases are left out, and each is a line of its
 * own. */
START_TEST(what_is_skipped_is_a_line)
{
    rig r;
    tags_open(&r, tags_recipe, tags_train, tags_dev, GSA_F64);
    rig_set(&r, "train.epochs=1");
    rig_set(&r, "model.encoder=star*2");
    rig_train_ok(&r, "run");
    tags_say(&r, "encoder segment 0 layer 1: phase up reaches no readout and is skipped\n");
    ck_assert_msg(!strstr(r.messages, "\n\n"), "%s", r.messages);
    rig_close(&r);
}
END_TEST

/* What is to be found is what the file says: other schemes and other training data learn other
 * labels of it. */
START_TEST(gold_is_the_file)
{
    static const char other[] = "Ann 1 I-PER\nin 1 O\nBonn 1 I-PER\n\nBob 2 I-PER\nsaw 2 O\nZoe 2 "
                                "I-PER\n\nthe 3 O\nend 3 O\n";
    static const struct {
        const char *train, *dev, *set, *says;
        int same;
    } cases[] = { { tags_train, tags_dev, "task.scheme=as_read", "", 1 },
                  { tags_train, tags_dev, "task.scheme=BIOES", "", 1 },
                  { "x I-PER\ny B-PER\nz O\n", tags_dev, "data.capitals=0",
                    "dev: 1 of 8 tokens have tags that the training data lacks and count as wrong, "
                    "the first on line 3",
                    1 },
                  { tags_train, other, "data.capitals=0", "", 0 } };
    gsa_outcomes outcomes;
    char gold[65] = "";
    for (int i = 0; i < GSA_COUNT(cases); i++) {
        rig r;
        tags_open(&r, tags_recipe, cases[i].train, cases[i].dev, GSA_F32);
        rig_set(&r, "train.epochs=1");
        rig_set(&r, cases[i].set);
        rig_train_ok(&r, "run");
        const char *path = gsa_scratch_path(&r.scratch, "run/outcomes.jsonl");
        ck_assert_int_eq(
            gsa_outcomes_read(gsa_system_default(), path, GSA_SPLIT_DEV, &outcomes, NULL), GSA_OK);
        if (i == 0) strcpy(gold, outcomes.gold);
        ck_assert_msg((strcmp(gold, outcomes.gold) == 0) == cases[i].same, "case %d", i);
        tags_say(&r, cases[i].says);
        ck_assert(*cases[i].says || !strstr(r.messages, "training data lacks"));
        gsa_outcomes_release(&outcomes);
        rig_close(&r);
    }
}
END_TEST

START_TEST(a_report_of_plain_tags_is_of_labels)
{
    rig r;
    char *result = NULL;
    tags_open(&r, tags_recipe, tags_train, tags_dev, GSA_F32);
    rig_set(&r, "data.scheme=none");
    rig_set(&r, "train.epochs=1");
    rig_train_ok(&r, "run");
    const char *report = strdup(gsa_scratch_path(&r.scratch, "report"));
    const gsa_apply_options o = { .model = gsa_scratch_path(&r.scratch, "run"),
                                  .backend = r.backend,
                                  .report = report };
    int64_t bytes;
    ck_assert_int_eq(gsa_evaluate(NULL, &o, &result, &r.error), GSA_OK);
    char *text = gsa_get_file(report, &bytes);
    ck_assert_msg(strstr(text, "labels\n") && !strstr(text, "conlleval") &&
                      !strstr(text, "seqeval"),
                  "%s", text);
    gsa_release(gsa_system_default(), result);
    free(text);
    free((void *)(uintptr_t)report);
    rig_close(&r);
}
END_TEST

/* ---- characters ---------------------------------------------------------------------------- */

/* Words never seen, tagged by their last two letters; capitals tag the rest. */
static void write_words(char *text, int sentences, uint32_t seed)
{
    gsa_dice dice = { seed };
    text[0] = 0;
    for (int s = 0; s < sentences; s++) {
        const int length = (int)gsa_between(&dice, 1, 6);
        for (int w = 0; w < length; w++) {
            char word[16];
            const int n = (int)gsa_between(&dice, 5, 9), upper = gsa_between(&dice, 0, 3) == 0,
                      ing = gsa_between(&dice, 0, 1) != 0;
            for (int i = 0; i < n; i++) word[i] = (char)('a' + gsa_between(&dice, 0, 9));
            word[n] = 0;
            strcpy(word + n - 2, ing ? "ng" : "ed");
            if (upper) word[0] = (char)(word[0] - 'a' + 'A');
            sprintf(text + strlen(text), "%s %s\n", word, upper ? "NAME" : ing ? "GERUND" : "PAST");
        }
        strcat(text, "\n");
    }
}

START_TEST(characters_and_capitals_tell)
{
    static const char *const sets[][4] = {
        { "model.characters=ring*2", "data.capitals=1", "task.head=linear" },
        { "model.characters=full:clip=2", "data.capitals=0", "task.head=crf" },
        { "model.characters=", "data.capitals=0", "task.head=crf" },
        { "model.characters=none", "data.capitals=0", "task.head=linear" }
    };
    static char train[200000], dev[40000];
    rig r;
    write_words(train, 250, 3);
    write_words(dev, 60, 4);
    tags_open(&r, tags_recipe, train, dev, GSA_F32);
    for (int i = 0; i < 3; i++) rig_set(&r, sets[_i][i]);
    rig_set(&r, "model.encoder=ring");
    rig_set(&r, "model.dropout_input=0");
    rig_set(&r, "model.dropout_head=0");
    rig_set(&r, "model.character_hidden=16");
    rig_set(&r, "data.min_count=2");
    rig_set(&r, "train.epochs=10");
    rig_set(&r, "train.report_every=0");
    rig_train_ok(&r, NULL);
    const double accuracy = rig_number(&r, "dev_accuracy");
    printf("accuracy %.3f, of each word's most frequent tag %.3f\n", accuracy,
           rig_number(&r, "word_accuracy"));
    if (_i < 2) ck_assert_double_gt(accuracy, 0.95);
    else ck_assert_double_lt(accuracy, 0.7); /* nothing else tells */
    rig_close(&r);
}
END_TEST

/* ---- baselines ----------------------------------------------------------------------------- */

START_TEST(baselines_by_hand)
{
    static const int32_t word[] = { 5, 5, 5, 7, 7, 9, 5 }, label[] = { 2, 1, 1, 0, 2, -1, 2 },
                         dev[] = { 7, 5, 9, 8, 0 };
    const gsa_tag_view from = { 7, word, label }, to = { 5, dev, NULL };
    int32_t guess[5], majority;
    ck_assert_int_eq(gsa_tag_baseline(gsa_system_default(), &from, &to, 3, &majority, guess, NULL),
                     GSA_OK);
    ck_assert_int_eq(majority, 2);
    ck_assert(guess[0] == 0 && guess[1] == 1 && guess[2] == 2 && guess[3] == 2 &&
              guess[4] == 2); /* ties: the smaller */
    const gsa_tag_view none = { 0, NULL, NULL };
    ck_assert_int_eq(
        gsa_tag_baseline(gsa_system_default(), &from, &none, 3, &majority, guess, NULL), GSA_OK);
}
END_TEST

/* Files in IOB1, BIOES is learned; the most frequent tag of each word, by hand: A is I-P (S-P as
 * learned), b O. Of dev's eight tokens seven are right in the file's tags: its first span is of two
 * words, of which BIOES guesses S-P S-P, written as I-P B-P. */
START_TEST(accuracy_is_of_the_tags_of_the_file)
{
    static const char train[] = "A I-P\nb O\n\nb O\nA I-P\nb O\n",
                      dev[] = "A I-P\nA I-P\nb O\n\nb O\nA I-P\nb O\nb O\nA I-P\n";
    rig r;
    tags_open(&r, tags_recipe, train, dev, GSA_F32);
    rig_set(&r, "task.scheme=BIOES");
    rig_set(&r, "train.epochs=1");
    rig_train_ok(&r, "run");
    ck_assert_double_eq_tol(rig_number(&r, "word_accuracy"), 7.0 / 8, 1e-7);
    rig_close(&r);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test runs[] = {
        GSA_LOOP(a_run_goes_on_to_the_bit, 4),         GSA_TEST(predictions_keep_the_lines),
        GSA_TEST(running_text_is_cut_into_sentences),  GSA_LOOP(predict_and_eval_agree, 3),
        GSA_LOOP(outcomes_are_read_back, 2),           GSA_TEST(gold_is_the_file),
        GSA_TEST(a_report_of_plain_tags_is_of_labels), GSA_TEST(what_is_skipped_is_a_line)
    };
    static const gsa_test characters[] = { GSA_LOOP(characters_and_capitals_tell, 4),
                                           GSA_TEST(baselines_by_hand),
                                           GSA_TEST(accuracy_is_of_the_tags_of_the_file) };
    static const gsa_case cases[] = { GSA_CASE("runs", runs, 60),
                                      GSA_CASE("characters", characters, 120) };
    return gsa_run_suite("tagging_runs", cases, GSA_COUNT(cases), argc, argv);
}
