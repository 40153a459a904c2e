/* The frame of tasks, by a task that no table lists: tags of words that only their letters tell.
 * Two sequences, two stacks, two inputs; words are made of characters; a target a token. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rig.h"
#include "support/compare.h"
#include "train/tasks/classes.h"
#include "train/learner.h"
#include "gsa/optimiser.h"

enum {
    WORDS,
    CHARACTERS,
    SENTENCES = 8,
    MOST_WORDS = 6,
    MOST_LETTERS = 5,
    LETTERS = 9,
    TAGS = 2,
    NARROW = 16
};

/* A word is tagged 1 when the word before it, or itself, ends as it begins: letters and neighbours
 * are both needed. */
typedef struct tagger {
    gsa_dice dice;
} tagger;

static gsa_status plan(const void *self, const gsa_task_plan_options *options, gsa_task_plan *plan,
                       gsa_error *error)
{
    gsa_settings narrow = gsa_recipe_settings(options->recipe);
    (void)self, (void)error;
    narrow.hidden = NARROW;
    *plan = (gsa_task_plan){
        .sequence = { "words", "characters" },
        .input_of = { 0, 1 },
        .input = { { .name = "words", .vocabulary = 3, .embedding_std = 0.1, .beside = NARROW },
                   { .name = "characters", .vocabulary = LETTERS + 2, .embedding_std = 0.5 } },
        .stack = { { .name = "encoder", .reads = GSA_READ_SEQUENCE },
                   { .name = "spelling",
                     .spec = "ring*1,full*1",
                     .reads = GSA_READ_SUMMARY,
                     .settings = narrow } },
        .input_settings = { [CHARACTERS] = narrow },
        .pass = { { .stack = "spelling", .sequence = "characters" },
                  { .stack = "encoder", .sequence = "words" } },
        .n_sequences = 2,
        .n_inputs = 2,
        .n_stacks = 2,
        .n_passes = 2,
        .head_pass = 1,
        .outputs = TAGS
    };
    return GSA_OK;
}

static gsa_tensor *beside(const void *self, gsa_tape *tape, int sequence,
                          const gsa_minibatch *batch, const gsa_readout *readouts)
{
    (void)self, (void)tape, (void)batch;
    ck_assert_int_eq(sequence, WORDS);
    return readouts[0].summary;
}

/* Examples are made anew; `example` is not looked at. */
static gsa_status fill(void *self, int split, const int64_t *example, int32_t count,
                       gsa_minibatch *batch, gsa_error *error)
{
    tagger *t = self;
    gsa_minibatch_sequence *word = &batch->sequence[WORDS], *letter = &batch->sequence[CHARACTERS];
    (void)split, (void)example;
    ck_assert_int_eq(gsa_minibatch_begin(batch, count, error), GSA_OK);
    ck_assert_int_eq(gsa_minibatch_sequence_size(batch, WORDS, count, count * MOST_WORDS, 0, error),
                     GSA_OK);
    ck_assert_int_eq(gsa_minibatch_sequence_size(batch, CHARACTERS, count * MOST_WORDS,
                                                 count * MOST_WORDS * MOST_LETTERS, 0, error),
                     GSA_OK);
    ck_assert_int_eq(gsa_minibatch_targets(batch, count * MOST_WORDS, 0, error), GSA_OK);
    int32_t words = 0, letters = 0;
    for (int32_t e = 0; e < count; e++) {
        int before = 0;
        word->length[e] = (int32_t)gsa_between(&t->dice, 1, MOST_WORDS);
        for (int32_t w = 0; w < word->length[e]; w++, words++) {
            const int32_t n = letter->length[words] =
                (int32_t)gsa_between(&t->dice, 2, MOST_LETTERS);
            for (int32_t i = 0; i < n; i++)
                letter->id[letters + i] = (int32_t)gsa_between(&t->dice, 2, LETTERS + 1);
            if (gsa_between(&t->dice, 0, 2) == 0) letter->id[letters + n - 1] = letter->id[letters];
            const int same = letter->id[letters] == letter->id[letters + n - 1];
            letter->number[words] = (batch->first + e) * MOST_WORDS + w;
            word->id[words] = 2, batch->label[words] = w == 0 && e % 2 ? -1 : same || before;
            before = same, letters += n;
        }
    }
    word->tokens = letter->count = words, letter->tokens = letters, batch->targets = words;
    return GSA_OK;
}

static const gsa_task task = { .name = "tagger", .plan = plan, .beside = beside, .fill = fill };

static const char recipe_text[] =
    "[model]\nencoder = window:width=3\nhidden = 24\nheads = 2\nffn = 32\nposition = "
    "learned\nposition_max = 8\nhead_hidden = 24\n"
    "dropout_input = 0.05\ndropout_attention = 0.05\ndropout_head = 0.05\ninput = dropout\n";

typedef struct fixture {
    rig rig;
    gsa_recipe recipe;
    gsa_registry *registry;
    gsa_learner model;
    gsa_minibatch batch;
    tagger tagger;
} fixture;

static void open_frame(fixture *f, int real)
{
    *f = (fixture){ .batch = { .system = gsa_system_default() }, .tagger = { .dice = { 7 } } };
    rig_open(&f->rig, recipe_text, real, 1);
    gsa_error *error = &f->rig.error;
    ck_assert_msg(gsa_recipe_read(gsa_system_default(), f->rig.path, NULL, 0, &f->recipe, error) ==
                      GSA_OK,
                  "%s", error->text);
    ck_assert_int_eq(gsa_registry_create(gsa_system_default(), &f->registry, error), GSA_OK);
    const gsa_status status =
        gsa_learner_create(gsa_system_default(), &f->recipe, f->registry, &task, &f->tagger,
                           f->rig.backend, 0, NULL, &f->model, error);
    ck_assert_msg(status == GSA_OK, "%s", error->text);
}

static void close_frame(fixture *f)
{
    gsa_learner_release(&f->model);
    gsa_minibatch_release(&f->batch);
    gsa_registry_release(f->registry);
    gsa_recipe_release(&f->recipe);
    rig_close(&f->rig);
}

static double loss_of(fixture *f, int training, uint32_t step, int backward)
{
    double value;
    gsa_tape_reset(f->model.tape, training, 3, step);
    gsa_tensor *out = gsa_learner_forward(&f->model, &f->batch);
    gsa_tensor *loss =
        gsa_classes_loss(NULL, f->model.tape, out, &f->batch, 1.0 / (double)f->batch.targets);
    ck_assert_msg(gsa_tape_status(f->model.tape, &f->rig.error) == GSA_OK, "%s", f->rig.error.text);
    ck_assert_int_eq(out->rows, f->batch.targets);
    ck_assert_int_eq(gsa_tensor_read(f->rig.backend, loss, 0, &value, NULL), GSA_OK);
    if (backward) ck_assert_int_eq(gsa_tape_backward(f->model.tape, loss, NULL), GSA_OK);
    return value;
}

START_TEST(both_stacks_and_what_joins_them_differentiate)
{
    fixture f;
    open_frame(&f, GSA_F64);
    fill(&f.tagger, 0, NULL, 3, &f.batch, NULL);
    gsa_parameters_zero_gradients(f.model.parameters, NULL);
    loss_of(&f, 1, 0, 1);
    for (int k = 0; k < gsa_parameters_count(f.model.parameters); k++) {
        gsa_parameter *p = gsa_parameters_at(f.model.parameters, k);
        const int64_t n = p->value.rows * p->value.cols;
        double *value = malloc((size_t)n * sizeof *value),
               *gradient = malloc((size_t)n * sizeof *gradient), most = 0, at[2];
        gsa_tensor_read(f.rig.backend, &p->value, 0, value, NULL);
        gsa_tensor_read(f.rig.backend, &p->value, 1, gradient, NULL);
        for (int64_t i = 0; i < n; i++) {
            const double eps = 1e-6, was = value[i];
            most = fmax(most, fabs(gradient[i]));
            if (i % 7 || (p->flags & GSA_ZERO_ROW && i < p->value.cols)) continue;
            for (int side = 0; side < 2; side++) {
                value[i] = was + (side ? -eps : eps);
                gsa_tensor_write(f.rig.backend, &p->value, value, NULL);
                at[side] = loss_of(&f, 1, 0, 0);
            }
            value[i] = was;
            gsa_tensor_write(f.rig.backend, &p->value, value, NULL);
            const double slope = (at[0] - at[1]) / (2 * eps);
            ck_assert_msg(fabs(slope - gradient[i]) <= 1e-7 + 1e-5 * fabs(slope),
                          "%s, element %d: %.10g against %.10g", p->name, (int)i, gradient[i],
                          slope);
        }
        ck_assert_msg(most > 0 || p->flags & GSA_UNREACHED, "%s has no gradient at all", p->name);
        free(value);
        free(gradient);
    }
    close_frame(&f);
}
END_TEST

START_TEST(tags_that_letters_tell_are_learned)
{
    fixture f;
    gsa_optimiser *optimiser;
    gsa_score score = { 0 }, unit[16 * SENTENCES] = { 0 };
    double norm, *out;
    open_frame(&f, GSA_F32);
    gsa_optimiser_options options = gsa_optimiser_default(GSA_OPTIMISER_ADAM);
    options.beta2 = 0.99, options.clip = 1;
    ck_assert_int_eq(
        gsa_optimiser_create(gsa_system_default(), f.model.parameters, &options, &optimiser, NULL),
        GSA_OK);
    for (uint32_t step = 0; step < 500; step++) {
        fill(&f.tagger, 0, NULL, 4 * SENTENCES, &f.batch, NULL);
        gsa_parameters_zero_gradients(f.model.parameters, NULL);
        loss_of(&f, 1, step, 1);
        ck_assert_int_eq(gsa_optimiser_step(optimiser, 0.004, &norm, NULL), GSA_OK);
    }
    fill(&f.tagger, 0, NULL, 16 * SENTENCES, &f.batch, NULL);
    gsa_tape_reset(f.model.tape, 0, 0, 0);
    const gsa_tensor *logits = gsa_learner_forward(&f.model, &f.batch);
    out = malloc((size_t)(logits->rows * logits->cols) * sizeof *out);
    ck_assert_int_eq(gsa_tensor_read(f.rig.backend, logits, 0, out, NULL), GSA_OK);
    gsa_classes_score(out, TAGS, 1, &f.batch, f.batch.sequence[WORDS].length, unit);
    for (int32_t u = 0; u < f.batch.count; u++) { /* a sentence is a unit */
        ck_assert_int_eq(unit[u].targets, f.batch.sequence[WORDS].length[u] - u % 2);
        gsa_score_add(&score, &unit[u]);
    }
    ck_assert_int_lt(score.examples, f.batch.targets); /* those without a target do not count */
    printf("accuracy %.3f, F1 %.3f\n", score.right / (double)score.examples, gsa_f1(&score));
    ck_assert(score.right > 0.95 * (double)score.examples);
    free(out);
    gsa_optimiser_release(optimiser);
    close_frame(&f);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test tagging[] = { GSA_TEST(both_stacks_and_what_joins_them_differentiate),
                                        GSA_TEST(tags_that_letters_tell_are_learned) };
    static const gsa_case cases[] = { GSA_CASE("tagging", tagging, 120) };
    return gsa_run_suite("frame", cases, GSA_COUNT(cases), argc, argv);
}
