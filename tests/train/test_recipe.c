/* Recipes: what is read, what is refused, and that config.ini gives the same values back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gsa/scratch.h"
#include "support/suite.h"
#include "topologies/registry.h"
#include "train/settings/recipe.h"

typedef struct fixture {
    gsa_scratch scratch;
    gsa_error error;
    gsa_recipe recipe;
} fixture;

static gsa_status read_text(fixture *f, const char *text, int64_t bytes, const char *const *set,
                            int n)
{
    gsa_scratch_open(&f->scratch);
    const char *path = gsa_scratch_path(&f->scratch, "r.ini");
    gsa_put_file(path, text, bytes);
    f->error.text[0] = 0;
    return gsa_recipe_read(gsa_system_default(), path, set, n, &f->recipe, &f->error);
}

static void done(fixture *f)
{
    gsa_recipe_release(&f->recipe);
    gsa_scratch_close(&f->scratch);
}

static fixture must_read(const char *text, const char *const *set, int n)
{
    fixture f;
    ck_assert_msg(read_text(&f, text, (int64_t)strlen(text), set, n) == GSA_OK, "%s", f.error.text);
    return f;
}

/* ---- good ---------------------------------------------------------------------------------- */

START_TEST(values_defaults_and_places)
{
    const char *set[] = { "task.k=5", "train.lr = 0.25", "task.k=6" };
    fixture f = must_read("\xef\xbb\xbf# comment\r\n; "
                          "another\r\n[task]\r\nname=masked_summation\r\n\r\n  n  =  7\t\r\n"
                          "[model]\nencoder = star*2 # not a comment\ndecoder =\nbias = v , q\n",
                          set, 3);
    char place[256];
    const gsa_recipe_values *v = &f.recipe.values;
    ck_assert_int_eq(v->task_name, GSA_TASK_MASKED_SUMMATION);
    ck_assert_int_eq(v->task_n, 7);
    ck_assert_int_eq(v->task_k, 6);
    ck_assert_int_eq(v->task_d, 10);
    ck_assert_double_eq(v->train_lr, 0.25);
    ck_assert_double_eq(v->train_beta2, 0.999);
    ck_assert_str_eq(v->model_encoder, "star*2 # not a comment");
    ck_assert_str_eq(v->model_bias, "v , q");
    ck_assert_str_eq(v->model_decoder, "");
    gsa_recipe_place(&f.recipe, "task", "n", place, sizeof place);
    ck_assert_ptr_nonnull(strstr(place, "r.ini:6"));
    gsa_recipe_place(&f.recipe, "task", "k", place, sizeof place);
    ck_assert_str_eq(place, "--set task.k");
    done(&f);
}
END_TEST

START_TEST(a_line_may_have_any_length)
{
    enum { LONG = 100000 };
    char *text = malloc(LONG + 64);
    strcpy(text, "[model]\nencoder=star\n[data]\ntrain=");
    const size_t start = strlen(text);
    memset(text + start, 'x', LONG);
    strcpy(text + start + LONG, "\n");
    fixture f = must_read(text, NULL, 0);
    ck_assert_uint_eq(strlen(f.recipe.values.data_train), LONG);
    done(&f);
    free(text);
}
END_TEST

static void write_config(const gsa_recipe *recipe, const char *path)
{
    gsa_output *output;
    gsa_error error;
    ck_assert_int_eq(gsa_output_open(gsa_system_default(), path, &output, &error), GSA_OK);
    gsa_recipe_write(recipe, output);
    ck_assert_int_eq(gsa_output_commit(output, &error), GSA_OK);
}

static const char *const round_trips[] = {
    "[model]\nencoder=star*2\n",
    ("[task]\nname=masked_summation\nn=3\nk=0\nd=2\n[model]\nencoder=window:width=3*2,full\nbias=q,"
     "v,o\ninit_scale=0.1\n"
     "[train]\nlr=0.000123456789012345\nseed=4294967295\nfinal=1\n"),
    "[encoder.1]\ntopology=star\nlayers=2\nring=0\n[encoder.2]\ntopology=full\nshare=1\n",
    "[model]\nencoder=full,star*2\n[encoder.2]\nring=0\n",
    "[model]\nencoder=full\nhidden=10\nheads=3\nhead_dim=4",
    "[model]\nencoder=full\n[data]\ntrain=with = and # in it\nvectors=v\nvectors_frozen=1\n",
};

START_TEST(config_reads_back_the_same)
{
    fixture f = must_read(round_trips[_i], NULL, 0);
    gsa_recipe again, third;
    int64_t bytes, bytes2;
    const char *one = gsa_scratch_path(&f.scratch, "one.ini"),
               *two = gsa_scratch_path(&f.scratch, "two.ini");
    write_config(&f.recipe, one);
    ck_assert_msg(gsa_recipe_read(gsa_system_default(), one, NULL, 0, &again, &f.error) == GSA_OK,
                  "%s", f.error.text);
    write_config(&again, two);
    char *a = gsa_get_file(one, &bytes), *b = gsa_get_file(two, &bytes2);
    ck_assert_str_eq(a, b);
    int count;
    const gsa_key *keys = gsa_recipe_keys(&count);
    for (int i = 0; i < count; i++) {
        const char *x = (const char *)&f.recipe.values + gsa_key_offset(i),
                   *y = (const char *)&again.values + gsa_key_offset(i);
        if (keys[i].type == GSA_PATH)
            ck_assert_str_eq(*(const char *const *)(const void *)x,
                             *(const char *const *)(const void *)y);
        else ck_assert_mem_eq(x, y, 8);
    }
    /* overrides on top of a written configuration */
    const char *set[] = { "train.epochs=3" };
    ck_assert_int_eq(gsa_recipe_read(gsa_system_default(), one, set, 1, &third, &f.error), GSA_OK);
    ck_assert_int_eq(third.values.train_epochs, 3);
    free(a);
    free(b);
    gsa_recipe_release(&again);
    gsa_recipe_release(&third);
    done(&f);
}
END_TEST

START_TEST(every_key_has_a_doc_and_a_fallback_in_range)
{
    int count;
    const gsa_key *keys = gsa_recipe_keys(&count);
    ck_assert_int_gt(count, 60);
    for (int i = 0; i < count; i++) {
        ck_assert_msg(keys[i].doc && *keys[i].doc && keys[i].fallback, "%s.%s", keys[i].section,
                      keys[i].name);
        for (int j = 0; j < i; j++)
            ck_assert_msg(strcmp(keys[i].section, keys[j].section) ||
                              strcmp(keys[i].name, keys[j].name),
                          "%s twice", keys[i].name);
    }
    fixture f = must_read("[model]\nencoder=star\n", NULL, 0); /* all fallbacks are read */
    done(&f);
}
END_TEST

static const char *const shipped[] = { "masked-summation",
                                       "masked-summation-small",
                                       "sst5",
                                       "sst5-star",
                                       "sst5-full",
                                       "mtl16",
                                       "imdb-part",
                                       "chnsenticorp",
                                       "snli-star",
                                       "snli-bpt-cross",
                                       "sick",
                                       "afqmc-star",
                                       "cora",
                                       "citeseer",
                                       "conll2003",
                                       "ewt-pos",
                                       "resume-ner",
                                       "drcd",
                                       "cmrc",
                                       "multi30k",
                                       "multi30k-tiny",
                                       "tinyshakespeare",
                                       "enwik8-bpt",
                                       "ptb-words" };

static int count_recipe(void *context, const char *name)
{
    const size_t bytes = strlen(name);
    *(int *)context += bytes > 4 && strcmp(name + bytes - 4, ".ini") == 0;
    return 0;
}

START_TEST(the_list_of_shipped_recipes_is_whole)
{
    int count = 0;
    const gsa_system *system = gsa_system_default();
    ck_assert_int_eq(system->list(system->user, GSA_RECIPES, count_recipe, &count), 0);
    ck_assert_int_eq(count, GSA_COUNT(shipped));
}
END_TEST

START_TEST(shipped_recipes_are_read)
{
    char path[512];
    fixture f;
    gsa_registry *registry;
    gsa_stack_spec spec;
    snprintf(path, sizeof path, "%s/%s.ini", GSA_RECIPES, shipped[_i]);
    ck_assert_msg(gsa_recipe_read(gsa_system_default(), path, NULL, 0, &f.recipe, &f.error) ==
                      GSA_OK,
                  "%s", f.error.text);
    f.recipe.values.data_vectors =
        f.recipe.values.data_vocabulary == GSA_WORDS_VECTORS ? "given by --set" : "";
    ck_assert_msg(gsa_recipe_idle(&f.recipe, &f.error) == GSA_OK, "%s", f.error.text);
    if (*f.recipe.values.model_encoder &&
        strncmp(f.recipe.values.model_encoder, "file", 4) == 0) { /* a plugin */
        gsa_recipe_release(&f.recipe);
        return;
    }
    ck_assert_int_eq(gsa_registry_create(gsa_system_default(), &registry, &f.error), GSA_OK);
    ck_assert_msg(gsa_recipe_spec(&f.recipe, registry, &spec, &f.error) == GSA_OK, "%s",
                  f.error.text);
    gsa_spec_release(&spec);
    gsa_registry_release(registry);
    gsa_recipe_release(&f.recipe);
}
END_TEST

/* ---- the encoder --------------------------------------------------------------------------- */

static gsa_status spec_of(fixture *f, const char *text, gsa_stack_spec *spec)
{
    gsa_registry *registry;
    *f = must_read(text, NULL, 0);
    ck_assert_int_eq(gsa_registry_create(gsa_system_default(), &registry, &f->error), GSA_OK);
    const gsa_status status = gsa_recipe_spec(&f->recipe, registry, spec, &f->error);
    gsa_registry_release(registry);
    return status;
}

START_TEST(sections_make_segments)
{
    fixture f;
    gsa_stack_spec spec;
    ck_assert_msg(spec_of(&f,
                          "[encoder.2]\ntopology=full\ncausal=1\n[encoder.1]\ntopology="
                          "star\nlayers=3\nshare=1\nring=0\n",
                          &spec) == GSA_OK,
                  "%s", f.error.text);
    ck_assert_int_eq(spec.n_segments, 2);
    ck_assert_str_eq(spec.segments[0].parts[0].id, "star");
    ck_assert_int_eq(spec.segments[0].layers, 3);
    ck_assert_int_eq(spec.segments[0].share, 1);
    ck_assert_int_eq(spec.segments[0].parts[0].n_settings, 1);
    ck_assert_str_eq(spec.segments[0].parts[0].settings[0].key, "ring");
    ck_assert_str_eq(spec.segments[1].parts[0].id, "full");
    ck_assert_int_eq(spec.segments[1].layers, 1);
    gsa_spec_release(&spec);
    done(&f);
}
END_TEST

START_TEST(sections_add_to_the_text)
{
    fixture f;
    gsa_stack_spec spec;
    ck_assert_msg(spec_of(&f, "[model]\nencoder=full,window:width=3+star*2\n[encoder.2]\nring=0\n",
                          &spec) == GSA_OK,
                  "%s", f.error.text);
    ck_assert_int_eq(spec.n_segments, 2);
    ck_assert_int_eq(spec.segments[1].parts[0].n_settings, 1); /* window's width; it has no ring */
    ck_assert_int_eq(spec.segments[1].parts[1].n_settings, 1);
    ck_assert_str_eq(spec.segments[1].parts[1].settings[0].key, "ring");
    gsa_spec_release(&spec);
    done(&f);
}
END_TEST

static const struct {
    const char *text, *expected;
} bad_encoders[] = {
    { "[model]\nencoder=star\n[encoder.2]\nring=0\n",
      "there is a section [encoder.2], but 'star' has 1 segment" },
    { "[model]\nencoder=full+star\n[encoder.1]\nrings=0\n",
      "r.ini:4: unknown key 'rings' of [encoder.1] with topology full" },
    { "[model]\nencoder=star:ring=0\n[encoder.1]\nring=0\n", "ring" },
    { "[encoder.1]\ntopology=sta\n", "r.ini:2: [encoder.1]" },
    { "[encoder.1]\ntopology=star\nlayers=0\n",
      "r.ini:3: [encoder.1]: parameter 'layers' is '0', expected an integer from 1" },
    { "[encoder.1]\ntopology=star\nrings=0\n",
      "r.ini:3: unknown key 'rings' of [encoder.1] with topology star" },
    { "[encoder.1]\ntopology=star\nring=maybe\n",
      "r.ini:3: [encoder.1]: parameter 'ring' is 'maybe'" },
    { "[encoder.1]\ntopology=star\nshare=2\n", "[encoder.1]" },
    { "[model]\nencoder=star*\n", "r.ini:2: [model] encoder" },
    { "[model]\nencoder=star,,full\n", "r.ini:2: [model] encoder" },
};

START_TEST(bad_encoder)
{
    fixture f;
    gsa_stack_spec spec;
    ck_assert_int_ne(spec_of(&f, bad_encoders[_i].text, &spec), GSA_OK);
    ck_assert_msg(strstr(f.error.text, bad_encoders[_i].expected), "'%s' lacks '%s'", f.error.text,
                  bad_encoders[_i].expected);
    done(&f);
}
END_TEST

/* ---- bad: the sentence must hold the fragment ---------------------------------------------- */

#define MODEL "[model]\nencoder=star\n"
static const struct {
    const char *text, *set, *expected;
} bad[] = {
    /* the file's form */
    { "", NULL, "[model] encoder is not set" },
    { "[model]\nencoder=star", "train.epochs=3\n4", "--set 'train.epochs=3\\x0a4': expected" },
    { MODEL, "Train.epochs=3", "--set 'Train.epochs=3': expected section.key=value" },
    { "[task]\nname=language_modelling\n" MODEL "tied=1\nembedding=8\n", NULL,
      "[model] tied = 1: the head reads" },
    { "[model\nencoder=star\n", NULL, "r.ini:1: '[model' is no section line" },
    { "[model] x\n", NULL, "r.ini:1: '[model] x' is no section line" },
    { "[Model]\n", NULL, "r.ini:1: the section's name is 'Model'" },
    { "[]\n", NULL, "r.ini:1: the section's name is ''" },
    { "encoder=star\n", NULL, "r.ini:1: key 'encoder' is before the first [section]" },
    { "[model]\nencoder\n", NULL, "r.ini:2: 'encoder' has no '='" },
    { "[model]\n=star\n", NULL, "r.ini:2: the key is ''" },
    { "[model]\nEncoder=star\n", NULL, "r.ini:2: the key is 'Encoder'" },
    { "[model]\nenc oder=star\n", NULL, "r.ini:2: the key is 'enc oder'" },
    { MODEL "[model]\n", NULL, "r.ini:3: section [model] is already in line 1" },
    { MODEL "encoder=full\n", NULL, "r.ini:3: key 'encoder' of [model] is already in line 2" },
    { MODEL "hidden=\xff\n", NULL, "r.ini:3: invalid UTF-8 at byte 8 of the line" },
    { MODEL "# \xc3\x28\n", NULL, "r.ini:3: invalid UTF-8 at byte 3 of the line" },
    /* names */
    { MODEL "[trian]\n", NULL,
      "r.ini:3: unknown section [trian]; known: task, model, train, data, decode, encoder.N; the "
      "nearest is 'train'" },
    { MODEL "[train]\nepoch=3\n", NULL, "r.ini:4: unknown key 'epoch' of [train]" },
    { MODEL "[train]\nepoch=3\n", NULL, "the nearest is 'epochs'" },
    { MODEL "[encoder]\ntopology=star\n", NULL, "r.ini:3: unknown section [encoder]" },
    { MODEL "[encoder.0]\ntopology=star\n", NULL, "r.ini:3: unknown section [encoder.0]" },
    { MODEL "[encoder.01]\ntopology=star\n", NULL, "unknown section [encoder.01]" },
    /* values */
    { MODEL "[train]\nepochs=ten\n", NULL,
      "r.ini:4: [train]: parameter 'epochs' is 'ten', expected an integer from 0 to 1000000" },
    { MODEL "[train]\nepochs=\n", NULL, "r.ini:4: [train]: parameter 'epochs' is ''" },
    { MODEL "[train]\nepochs=-1\n", NULL, "expected an integer from 0" },
    { MODEL "[train]\nepochs=3.5\n", NULL, "parameter 'epochs' is '3.5'" },
    { MODEL "[train]\nepochs=99999999999999999999\n", NULL, "parameter 'epochs'" },
    { MODEL "[train]\nlr=nan\n", NULL,
      "parameter 'lr' is 'nan', expected a number from 0 to 1000" },
    { MODEL "[train]\nlr=1,5\n", NULL, "parameter 'lr' is '1,5'" },
    { MODEL "[train]\nlr=0.1 # high\n", NULL, "parameter 'lr' is '0.1 # high'" },
    { MODEL "[train]\nseed=4294967296\n", NULL, "parameter 'seed' is '4294967296'" },
    { MODEL "[train]\nbeta1=1\n", NULL, "parameter 'beta1' is '1'" },
    { MODEL "[train]\noptimizer=adagrad\n", NULL, "expected one of adam,adamw,sgd" },
    { MODEL "[train]\nschedule=steps\n", NULL, "parameter 'schedule' is 'steps'" },
    { MODEL "[train]\ncheck_nan=yes\n", NULL, "parameter 'check_nan' is 'yes', expected 0 or 1" },
    { MODEL "dropout_input=1\n", NULL, "r.ini:3: [model]: parameter 'dropout_input' is '1'" },
    { MODEL "hidden=0\n", NULL, "parameter 'hidden' is '0', expected an integer from 1" },
    { MODEL "hidden=3 # wide\n", NULL,
      "parameter 'hidden' is '3 # wide', expected an integer from 1 to 65536; a comment has a line "
      "of its own" },
    { MODEL "norm=none\n", NULL, "expected one of post,pre" },
    { MODEL "bias=q,k\n", NULL,
      "r.ini:3: [model] bias is 'q,k', expected none or a list of q, v, o" },
    { MODEL "bias=q,q\n", NULL, "r.ini:3: [model] bias is 'q,q'" },
    { MODEL "bias=q v\n", NULL, "r.ini:3: [model] bias is 'q v'" },
    { MODEL "hidden=3 ; wide\n", NULL,
      "is '3 ; wide', expected an integer from 1 to 65536; a comment has" },
    { MODEL "[encoder.]\n", NULL, "r.ini:3: unknown section [encoder.]" },
    { MODEL "[encoder.1x]\n", NULL, "r.ini:3: unknown section [encoder.1x]" },
    { MODEL "[task]\nname=tagging\n[model.]\n", NULL, "unknown section [model.]" },
    { "[task]\nname=tagging\n" MODEL "characters=ring\ncharacter_hidden=10\ncharacter_heads=3\n",
      NULL, "[model] character_heads = 3 does not divide character_hidden = 10" },
    { MODEL "[encoder.12345]\n", NULL, "r.ini:3: unknown section [encoder.12345]" },
    { MODEL "[task]\nname=Summarising\n", NULL,
      "expected one of masked_summation,text_classification" },
    { MODEL "[data]\nformat=xml\n", NULL, "parameter 'format' is 'xml'" },
    /* values that do not fit together */
    { MODEL "[task]\nname=masked_summation\nn=5\nk=6\n", NULL,
      "r.ini:6: [task] k = 6 is more than n = 5" },
    { MODEL "[task]\nname=masked_summation\nn=5\n", NULL, "default of task.k" },
    { MODEL "hidden=10\nheads=3\n", NULL,
      "r.ini:4: [model] heads = 3 does not divide hidden = 10" },
    { MODEL "[train]\nbatch=0\n", NULL, "r.ini:4: [train] batch and batch_tokens are both 0" },
    { MODEL "[train]\nbatch=1000000\naccumulate=65536\n", NULL, "[train] accumulate times batch" },
    { MODEL "[train]\npieces=12\n", NULL, "[train] pieces = 12 is no power of two" },
    { MODEL "[train]\nschedule=noam\n", NULL, "r.ini:4: [train] schedule = noam needs warmup" },
    { MODEL "[data]\nvectors_frozen=1\n", NULL,
      "r.ini:4: [data] vectors_frozen = 1, but data.vectors is not set" },
    /* keys and choices that the task does not read */
    { MODEL "[task]\nname=tagging\n[data]\ntrain=t\nstratify=1\n", NULL,
      "r.ini:7: [data] stratify = 1 is not for task tagging: it is read by text_classification and "
      "sentence_pairs" },
    { MODEL "[task]\nname=language_modelling\n", "data.max_length=80",
      "--set data.max_length: [data] max_length = 80 is not for task language_modelling: it is "
      "read by text_classification, "
      "sentence_pairs, span_extraction and translation" },
    { MODEL "[task]\nname=masked_summation\n[data]\ntrain=x\n", NULL,
      "r.ini:6: [data] train = x is not for task masked_summation" },
    { MODEL "[task]\nname=node_classification\n", "data.dev=x",
      "[data] dev = x is not for task node_classification" },
    { MODEL "[task]\nname=span_extraction\n", "data.encoding=latin1",
      "[data] encoding = latin1 is not for task span_extraction" },
    { MODEL "[task]\nname=translation\n", "data.markup=1",
      "[data] markup = 1 is not for task translation" },
    { MODEL "[task]\nname=translation\n", "model.readout=max",
      "[model] readout = max is not for task translation: it is read by masked_summation, " },
    { MODEL "[task]\nname=translation\n", "data.vectors=v",
      "[data] vectors = v is not for task translation" },
    { MODEL, "model.decoder=full",
      "[model] decoder = full is not for task text_classification: it is read by translation" },
    { MODEL, "model.tied=1", "it is read by language_modelling and translation" },
    { MODEL, "data.tokens=bytes",
      "[data] tokens = bytes is not for task text_classification: it is read by "
      "language_modelling" },
    { MODEL "[task]\nname=language_modelling\n", "data.tokens=punctuated",
      "[data] tokens = punctuated is not for task" },
    { MODEL, "data.format=snli",
      "[data] format = snli is not for task text_classification: it is read by sentence_pairs" },
    { MODEL "[task]\nname=translation\n", "data.format=tsv",
      "[data] format = tsv is not for task translation" },
    { "[train]\nepochs=1\n", NULL, "(default of model.encoder): [model] encoder is not set" },
    { MODEL "[encoder.1]\ntopology=star\n", NULL,
      "r.ini:4: topology of [encoder.1] is said by [model] encoder = star already" },
    { "[encoder.2]\ntopology=star\n", NULL,
      "section [encoder.1] with its key 'topology' is missing" },
    { "[encoder.1]\nlayers=2\n", NULL, "section [encoder.1] with its key 'topology' is missing" },
    /* overrides */
    { MODEL, "train.epochs", "--set 'train.epochs': expected section.key=value" },
    { MODEL, "epochs=3", "--set 'epochs=3': expected section.key=value" },
    { MODEL, "epochs=3", "--set 'epochs=3': expected section.key=value: train.epochs" },
    { MODEL, "hold = 3", "expected section.key=value: train.hold or data.hold" },
    { MODEL, "=3", "--set '=3': expected section.key=value" },
    { MODEL, "train.=3", "expected section.key=value" },
    { MODEL, "train.epoch=3", "--set train.epoch: unknown key 'epoch' of [train]" },
    { MODEL, "trains.epochs=3", "--set trains.epochs: unknown section [trains]" },
    { MODEL, "train.epochs=many", "--set train.epochs: [train]: parameter 'epochs' is 'many'" },
    { MODEL, "train.epochs=\xff", "is no valid UTF-8" },
    { MODEL, "encoder.1.topology=star",
      "--set encoder.1.topology: topology of [encoder.1] is said by [model] encoder" },
    { MODEL, "encoder.1.layers=2", "--set encoder.1.layers: layers of [encoder.1] is said" },
};

START_TEST(bad_recipe)
{
    fixture f;
    const int n = bad[_i].set != NULL;
    const gsa_status status =
        read_text(&f, bad[_i].text, (int64_t)strlen(bad[_i].text), &bad[_i].set, n);
    ck_assert_int_ne(status, GSA_OK);
    const char *expected = bad[_i].expected;
    ck_assert_msg(strstr(f.error.text, expected), "'%s' lacks '%s'", f.error.text, expected);
    ck_assert_int_eq(f.error.status, status);
    done(&f);
}
END_TEST

/* What a task does not read may be in its recipe at the default: config.ini holds every key. */
START_TEST(defaults_suit_every_task)
{
    int count;
    char text[160], names[256], *name, *rest = names;
    const gsa_key *keys = gsa_recipe_keys(&count);
    snprintf(names, sizeof names, "%s", keys[0].choices);
    while ((name = strtok_r(rest, ",", &rest))) {
        snprintf(text, sizeof text,
                 "[task]\nname=%s\n" MODEL "[data]\nhold = 000\nmarkup=0\ncolumns=\n", name);
        fixture f = must_read(text, NULL, 0);
        for (int i = 0; i < count; i++)
            ck_assert_msg(i == 0 || gsa_recipe_is_default(&f.recipe, i) ||
                              strcmp(keys[i].name, "encoder") == 0,
                          "%s", keys[i].name);
        done(&f);
    }
}
END_TEST

/* Some task reads each key; only tasks of plugins read task.options. */
START_TEST(readers_of_keys)
{
    char text[256];
    int count;
    const gsa_key *keys = gsa_recipe_keys(&count);
    for (int i = 0; i < count; i++) {
        const uint32_t tasks = keys[i].readers;
        ck_assert_msg((tasks == 0) == (strcmp(keys[i].name, "options") == 0), "%s", keys[i].name);
        gsa_tasks_text(tasks, text, sizeof text);
        ck_assert_msg((strcmp(text, "all") == 0) == (tasks == GSA_ALL_TASKS), "%s", text);
    }
    ck_assert_uint_eq(keys[0].readers, GSA_ALL_TASKS);
    gsa_tasks_text(1 << GSA_TASK_TAGGING, text, sizeof text);
    ck_assert_str_eq(text, "tagging");
}
END_TEST

START_TEST(nul_byte_and_missing_file)
{
    fixture f;
    ck_assert_int_eq(read_text(&f, "[model]\nenc\0oder=star\n", 22, NULL, 0), GSA_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(f.error.text, "r.ini:2: the line holds a NUL byte"));
    ck_assert_int_eq(gsa_recipe_read(gsa_system_default(), gsa_scratch_path(&f.scratch, "no.ini"),
                                     NULL, 0, &f.recipe, &f.error),
                     GSA_ERR_IO);
    ck_assert_ptr_nonnull(strstr(f.error.text, "no.ini"));
    ck_assert_int_eq(
        gsa_recipe_read(gsa_system_default(), f.scratch.folder, NULL, 0, &f.recipe, &f.error),
        GSA_ERR_IO);
    done(&f);
}
END_TEST

/* ---- values that do nothing ---------------------------------------------------------------- */

#define SPANS "[task]\nname=span_extraction\n" MODEL
static const struct {
    const char *text, *set[2], *says; /* says NULL: the recipe is fine */
} idle[] = {
    { "[task]\nname=translation\n" MODEL
      "decoder=full:causal=1+cross\n[decode]\ncoverage=0.2\nbeam=1\n",
      { NULL },
      "[decode] coverage = 0.2 does nothing with decode.beam = '1': decode.beam must be more than "
      "1" },
    { "[task]\nname=translation\n" MODEL "decoder=full:causal=1+cross\n[decode]\ncoverage=0.2\n",
      { "decode.beam=1" },
      NULL },
    { "[task]\nname=tagging\n" MODEL "readout=mean\n",
      { NULL },
      "[model] readout = mean does nothing with model.characters not set: model.characters must be "
      "set" },
    { "[task]\nname=tagging\n" MODEL "readout=mean\ncharacters=ring\n", { NULL }, NULL },
    { MODEL "position_max=600\n",
      { NULL },
      "r.ini:3: [model] position_max = 600 does nothing with model.position = 'none': "
      "it is for model.position = learned" },
    { MODEL "position_max=600\nposition=learned\n", { NULL }, NULL },
    { MODEL "position_max=512\n", { NULL }, NULL }, /* the default */
    { MODEL "position_max=600\nposition=learned\n",
      { "model.position=none" },
      NULL }, /* who tries another one */
    { MODEL,
      { "model.position_max=600" },
      "--set model.position_max: [model] position_max = 600 does nothing" },
    { MODEL "init=fan_in\ninit_scale=0.1\n",
      { NULL },
      "r.ini:4: [model] init_scale = 0.1 does nothing with model.init = "
      "'fan_in': it is for model.init = normal or uniform" },
    { MODEL "[train]\nfinal=0.1\n",
      { NULL },
      "it is for train.schedule = linear, cosine or hold_linear" },
    { MODEL "[train]\nmomentum=0.9\n",
      { NULL },
      "r.ini:4: [train] momentum = 0.9 does nothing with train.optimizer = 'adam'" },
    { MODEL "[train]\nbeta1=0.8\noptimizer=sgd\n",
      { NULL },
      "r.ini:4: [train] beta1 = 0.8 does nothing" },
    { MODEL "[data]\nsubtrees=1\nformat=tsv\n",
      { NULL },
      "r.ini:4: [data] subtrees = 1 does nothing with data.format = 'tsv': "
      "it is for data.format = auto or sst" },
    { MODEL "[data]\nsubtrees=1\n", { NULL }, NULL }, /* auto: the file will tell */
    { MODEL "[data]\nsubtrees=1\nphrase_min=3\nformat=sst\n", { NULL }, NULL },
    { MODEL "[data]\nphrase_min=3\nformat=sst\n",
      { NULL },
      "r.ini:4: [data] phrase_min = 3 does nothing with data.subtrees = '0'" },
    { MODEL "[data]\nvocabulary=vectors\n",
      { NULL },
      "r.ini:4: [data] vocabulary = vectors does nothing with data.vectors not set: "
      "data.vectors must be set" },
    { MODEL "[data]\nvocabulary=vectors\nvectors=x\n", { NULL }, NULL },
    { MODEL "[data]\nvocabulary=data\n", { NULL }, NULL },
    { MODEL "[data]\nhold=9\ndev=x\n",
      { NULL },
      "r.ini:4: [data] hold = 9 does nothing with data.dev = 'x': data.dev must not be set" },
    { MODEL "[data]\nhold=9\n", { "data.dev=x" }, NULL },
    { MODEL "[data]\ncolumns=label,text\nformat=sst\n",
      { NULL },
      "r.ini:4: [data] columns = label,text does nothing" },
    { "[task]\nname=tagging\n" MODEL "character_max=9\n",
      { NULL },
      "[model] character_max = 9 does nothing with model.characters not set" },
    { "[task]\nname=tagging\n" MODEL "character_max=9\ncharacters=none\n",
      { NULL },
      "does nothing with model.characters = 'none'" },
    { SPANS "[data]\nstride=5\n",
      { NULL },
      "r.ini:6: [data] stride = 5 does nothing with data.window = '0': data.window must be more "
      "than 0" },
    { SPANS "[data]\nstride=5\nwindow=9\n", { NULL }, NULL },
    { "[task]\nname=language_modelling\n" MODEL "[data]\nstride=5\n",
      { NULL },
      NULL }, /* 0 is 256 there */
};

START_TEST(a_value_that_does_nothing)
{
    fixture f = must_read(idle[_i].text, idle[_i].set, idle[_i].set[0] ? 1 : 0);
    const gsa_status status = gsa_recipe_idle(&f.recipe, &f.error);
    ck_assert_int_eq(status, idle[_i].says ? GSA_ERR_FORMAT : GSA_OK);
    if (idle[_i].says)
        ck_assert_msg(strstr(f.error.text, idle[_i].says) != NULL, "'%s' lacks '%s'", f.error.text,
                      idle[_i].says);
    done(&f);
}
END_TEST

/* Without a place for a sentence the status is the same. */
START_TEST(a_sentence_may_be_unwanted)
{
    fixture f = must_read("[task]\nname=trend\n" MODEL, NULL, 0); /* a plugin may have it */
    ck_assert_ptr_nonnull(gsa_recipe_task(&f.recipe));
    ck_assert_int_eq(gsa_recipe_no_task(&f.recipe, NULL), GSA_ERR_FORMAT);
    ck_assert_int_eq(gsa_recipe_no_task(&f.recipe, &f.error), GSA_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(f.error.text, "that of a plugin when it is loaded"));
    ck_assert_int_eq(gsa_recipe_no_train(&f.recipe, &f.error), GSA_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(f.error.text, "[data] train is not set: --set data.train=FILE"));
    gsa_recipe again;
    const char *path = gsa_scratch_path(&f.scratch, "r.ini"), *const set[] = { "train.epochs=x" };
    ck_assert_int_eq(gsa_recipe_read(NULL, path, set, 1, &again, NULL), GSA_ERR_FORMAT);
    ck_assert_int_eq(gsa_recipe_read(NULL, path, NULL, 0, &again, NULL), GSA_OK);
    gsa_recipe_release(&again);
    done(&f);
}
END_TEST

/* Two recipes: the first key in which they differ, and whether their hashes do. */
START_TEST(recipes_are_compared)
{
#define PARTS "[encoder.1]\ntopology=star\n"
    static const struct {
        const char *a, *b, *except, *says; /* says NULL: they are the same */
        int hashed;                        /* their hashes differ, too */
    } rows[] = {
        { PARTS, PARTS, NULL, NULL, 0 },
        { PARTS "[train]\nepochs=7\n", PARTS "[train]\nepochs=7\n", NULL, NULL, 0 },
        { PARTS, PARTS "[train]\nepochs=1\n", NULL, "train.epochs is ", 1 },
        { PARTS, PARTS "[train]\nepochs=1\n", "train.epochs=", "train.epochs is ", 0 },
        { PARTS, PARTS "layers=3\n", NULL, "encoder.1.layers is 3 and not set", 1 },
        { PARTS "layers=3\n", PARTS "layers=2\n", "encoder.1.layers=5", "layers is 3 and 2", 0 },
        { PARTS "ring=0\n", PARTS, "encoder.1.ringing=1", "encoder.1.ring is 0 and not set", 1 },
        { PARTS, PARTS "ring=0\n", "encoder.1:ring=1", "encoder.1.ring is 0 and not set", 1 },
        { PARTS, PARTS "ring=0\n", "encoder.2.ring=1", "encoder.1.ring is 0 and not set", 1 },
    };
    static const char *const set[] = { "encoder.1.topology=full" }; /* what it stands for is gone */
    for (int i = 0; i < GSA_COUNT(rows); i++) {
        fixture a = must_read(rows[i].a, set, 1), b = must_read(rows[i].b, set, 1);
        char what[200] = "", hash[2][65];
        ck_assert_int_eq(gsa_recipe_differs(&a.recipe, &b.recipe, what, sizeof what),
                         rows[i].says != NULL);
        ck_assert_msg(!rows[i].says || strstr(what, rows[i].says), "row %d: %s", i, what);
        gsa_recipe_hash(&a.recipe, &rows[i].except, rows[i].except != NULL, hash[0]);
        gsa_recipe_hash(&b.recipe, &rows[i].except, rows[i].except != NULL, hash[1]);
        ck_assert_msg((strcmp(hash[0], hash[1]) != 0) == rows[i].hashed, "row %d", i);
        gsa_recipe again; /* written, it is the same */
        const char *config = gsa_scratch_path(&a.scratch, "config.ini");
        write_config(&a.recipe, config);
        ck_assert_int_eq(gsa_recipe_read(NULL, config, NULL, 0, &again, NULL), GSA_OK);
        ck_assert_int_eq(gsa_recipe_differs(&a.recipe, &again, what, sizeof what), 0);
        gsa_recipe_release(&again);
        done(&a);
        done(&b);
    }
}
END_TEST

/* What an override left without effect does not hinder a run's config.ini from being a recipe. */
START_TEST(a_config_holds_what_does_nothing)
{
    static const char text[] = "[model]\nencoder=star\n[train]\nschedule=cosine\nfinal=0.1\n";
    const char *const set[] = { "train.schedule=constant" };
    gsa_recipe again;
    fixture f = must_read(text, set, 1);
    ck_assert_int_eq(gsa_recipe_idle(&f.recipe, &f.error), GSA_OK);
    const char *path = gsa_scratch_path(&f.scratch, "config.ini");
    write_config(&f.recipe, path);
    ck_assert_int_eq(gsa_recipe_read(gsa_system_default(), path, NULL, 0, &again, &f.error),
                     GSA_OK);
    ck_assert_double_eq(again.values.train_final, 0.1);
    ck_assert_msg(gsa_recipe_idle(&again, &f.error) == GSA_OK, "%s", f.error.text);
    gsa_recipe_release(&again);
    done(&f);
}
END_TEST

/* So one that was written when there were fewer keys. */
START_TEST(a_config_of_an_earlier_version_is_a_recipe)
{
    static const char text[] = "[model]\nencoder=star\n[train]\nschedule=cosine\nfinal=0.1\n";
    const char *const set[] = { "train.schedule=constant" };
    gsa_recipe again;
    fixture f = must_read(text, set, 1);
    const char *path = gsa_scratch_path(&f.scratch, "config.ini");
    write_config(&f.recipe, path);
    int64_t bytes;
    char *config = gsa_get_file(path, &bytes), *line = strstr(config, "\nprefetch");
    ck_assert_ptr_nonnull(line);
    memmove(line, strchr(line + 1, '\n'), strlen(strchr(line + 1, '\n')) + 1);
    gsa_put_file(path, config, (int64_t)strlen(config));
    ck_assert_int_eq(gsa_recipe_read(gsa_system_default(), path, NULL, 0, &again, &f.error),
                     GSA_OK);
    ck_assert_msg(gsa_recipe_idle(&again, &f.error) == GSA_OK, "%s", f.error.text);
    gsa_recipe_release(&again);
    free(config);
    done(&f);
}
END_TEST

/* Every word of the list is one of the key's choices. */
static void are_choices(const gsa_key *key, const char *list)
{
    for (const char *at = list; *at; at += strcspn(at, ",") + (strchr(at, ',') != NULL)) {
        char choice[64], choices[512];
        snprintf(choice, sizeof choice, ",%.*s,", (int)strcspn(at, ","), at);
        snprintf(choices, sizeof choices, ",%s,", key->choices);
        ck_assert_msg(strstr(choices, choice) != NULL, "%s is no choice of %s", choice, key->name);
    }
}

/* Parts are of the key's choices and readers; what a key needs is a key, and of one with choices
 * no other values. */
START_TEST(rules_name_what_there_is)
{
    int count, parts = 0, rules = 0;
    const gsa_key *keys = gsa_recipe_keys(&count);
    for (int i = 0; i < count; i++) {
        for (int p = 0; p < 4 && keys[i].parts[p].choices; p++, parts++) {
            are_choices(&keys[i], keys[i].parts[p].choices);
            ck_assert_uint_eq(keys[i].parts[p].readers & ~keys[i].readers, 0);
        }
        for (int r = 0; r < 2 && keys[i].with[r].other; r++, rules++) {
            const int other = gsa_key_find(keys[i].with[r].other);
            ck_assert_msg(other >= 0, "%s", keys[i].with[r].other);
            if (keys[other].choices) are_choices(&keys[other], keys[i].with[r].values);
            if (keys[i].with[r].choice) are_choices(&keys[i], keys[i].with[r].choice);
        }
    }
    ck_assert_int_eq(parts, 6);
    ck_assert_int_eq(rules, 27);
    ck_assert_int_eq(gsa_key_find("train"), -1);
    ck_assert_int_eq(gsa_key_find("trai.lr"), -1);
    ck_assert_int_eq(gsa_key_find("train.l"), -1);
    ck_assert_str_eq(keys[gsa_key_find("train.lr")].name, "lr");
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test good[] = { GSA_TEST(values_defaults_and_places),
                                     GSA_TEST(a_line_may_have_any_length),
                                     GSA_LOOP(config_reads_back_the_same, GSA_COUNT(round_trips)),
                                     GSA_TEST(every_key_has_a_doc_and_a_fallback_in_range),
                                     GSA_LOOP(shipped_recipes_are_read, GSA_COUNT(shipped)),
                                     GSA_TEST(the_list_of_shipped_recipes_is_whole) };
    static const gsa_test encoder[] = { GSA_TEST(sections_make_segments),
                                        GSA_TEST(sections_add_to_the_text),
                                        GSA_LOOP(bad_encoder, GSA_COUNT(bad_encoders)) };
    static const gsa_test refused[] = { GSA_LOOP(bad_recipe, GSA_COUNT(bad)),
                                        GSA_TEST(nul_byte_and_missing_file),
                                        GSA_TEST(defaults_suit_every_task),
                                        GSA_TEST(readers_of_keys),
                                        GSA_LOOP(a_value_that_does_nothing, GSA_COUNT(idle)),
                                        GSA_TEST(a_config_holds_what_does_nothing),
                                        GSA_TEST(a_sentence_may_be_unwanted),
                                        GSA_TEST(recipes_are_compared),
                                        GSA_TEST(a_config_of_an_earlier_version_is_a_recipe),
                                        GSA_TEST(rules_name_what_there_is) };
    static const gsa_case cases[] = { GSA_CASE("good", good, 30), GSA_CASE("encoder", encoder, 30),
                                      GSA_CASE("bad", refused, 30) };
    return gsa_run_suite("recipe", cases, GSA_COUNT(cases), argc, argv);
}
