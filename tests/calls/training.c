/* What a task's plugin calls, a run of training and a trained model in use. */
#include <stdio.h>
#include "calls.h"
#include "train/driver.h"
#include "train/driver/minibatch.h"
#include "train/predictor.h"
#include "train/settings/recipe.h"
#include "train/task.h"

gsa_status calls_minibatch(gsa_faults *faults, void *scratch)
{
    static const int64_t example[] = { 0, 1 };
    gsa_status status;
    gsa_minibatch batch = { .system = &faults->table };
    (void)scratch;
    TRY(gsa_minibatch_begin, &batch, 2);
    TRY(gsa_minibatch_sequence_size, &batch, 0, 2, 5, 1);
    TRY(gsa_minibatch_targets, &batch, 2, 1);
    TRY(gsa_minibatch_note, &batch, 0, 3);
    TRY(gsa_minibatch_types, &batch, 0);
    TRY(gsa_minibatch_groups, &batch, 0);
    TRY(gsa_minibatch_side, &batch, 0, "column");
    TRY(gsa_minibatch_pick, &batch);
    TRY(gsa_minibatch_name, &batch, GSA_SPLIT_TRAIN, example);
out:
    CALL(gsa_minibatch_release)(&batch);
    return status;
}

static const char text[] = "[task]\nname = text_classification\n"
                           "[model]\nencoder = star\nhidden = 4\nheads = 1\n"
                           "[train]\nepochs = 1\nbatch = 2\nmax_steps = 1\n";
static const char lines[] = "good\ta fine film\nbad\tdull\n";

static void put(const gsa_scratch *scratch)
{
    gsa_put_file(gsa_scratch_path(scratch, "recipe.ini"), text, sizeof text - 1);
    gsa_put_file(gsa_scratch_path(scratch, "lines.tsv"), lines, sizeof lines - 1);
}

gsa_status calls_recipe(gsa_faults *faults, void *scratch)
{
    gsa_status status;
    gsa_recipe recipe = { 0 };
    int count;
    char number[64];
    put(scratch);
    CALL(gsa_recipe_keys)(&count);
    calls_next(NULL);
    status = gsa_recipe_read(&faults->table, gsa_scratch_path(scratch, "recipe.ini"), NULL, 0,
                             &recipe, &calls_error);
    if (status) goto out;
    ck_assert_str_eq(CALL(gsa_task_value)(&recipe, "train.epochs", number), "1");
out:
    calls_next(NULL);
    gsa_recipe_release(&recipe);
    return status;
}

/* A run of one step into the folder `name` of the scratch. */
static gsa_status train(const gsa_system *s, const gsa_scratch *scratch, const char *name)
{
    char recipe[300], data[300], dev[300], out[300], *result = NULL;
    const char *set[] = { data, dev };
    const gsa_train_options options = { .recipe = recipe,
                                        .overrides = set,
                                        .n_overrides = 2,
                                        .out = out,
                                        .device = "cpu",
                                        .threads = 1 };
    put(scratch);
    snprintf(recipe, sizeof recipe, "%s/recipe.ini", scratch->folder);
    snprintf(data, sizeof data, "data.train=%s/lines.tsv", scratch->folder);
    snprintf(dev, sizeof dev, "data.dev=%s/lines.tsv", scratch->folder);
    snprintf(out, sizeof out, "%s/%s", scratch->folder, name);
    calls_next("gsa_train");
    const gsa_status status = gsa_train(s, &options, &result, &calls_error);
    gsa_release(s, result);
    return status;
}

gsa_status calls_train(gsa_faults *faults, void *scratch)
{
    static int runs;
    char name[32];
    snprintf(name, sizeof name, "train-%d", runs++);
    return train(&faults->table, scratch, name);
}

gsa_status calls_predictor(gsa_faults *faults, void *scratch)
{
    const gsa_system *s = &faults->table;
    gsa_status status;
    gsa_predictor *predictor = NULL;
    gsa_prediction answer;
    char model[300], *result = NULL;
    const char *const asked[] = { "a fine film" };
    snprintf(model, sizeof model, "%s/trained", ((gsa_scratch *)scratch)->folder);
    if (!gsa_exists(model))
        ck_assert_msg(train(NULL, scratch, "trained") == GSA_OK, "%s", calls_error.text);
    const gsa_apply_options options = { .model = model, .device = "cpu", .threads = 1 };
    gsa_apply_options texts = options;
    texts.texts = asked, texts.n_texts = 1;
    texts.output = gsa_scratch_path(scratch, "answers");
    const gsa_attend_options attend = { .texts = asked, .n_texts = 1, .most_edges = 100 };
    TRY(gsa_predictor_open, s, &options, &predictor);
    CALL(gsa_predictor_labels)(predictor), CALL(gsa_predictor_label)(predictor, 0);
    TRY(gsa_predictor_texts, predictor, asked, 1, &answer);
    TRY(gsa_predictor_line, predictor, "dull", 4, &answer);
    TRY(gsa_predict, s, &texts);
    TRY(gsa_evaluate, s, &options, &result);
    texts = options, texts.output = gsa_scratch_path(scratch, "weights.json");
    TRY(gsa_attend, s, &texts, &attend);
out:
    CALL(gsa_predictor_close)(predictor);
    gsa_release(s, result);
    return status;
}
