/* Several runs of one command: what is planned, what is made, skipped and gone on with. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rig.h"
#include "train/score/outcomes.h"
#include "train/runs/sweep.h"

/* ---- plans --------------------------------------------------------------------------------- */

typedef struct plan_case {
    const char *each[3], *set[3];
    int64_t seeds[4];
    const char *names; /* of all runs, joined by blanks */
    const char *holds; /* what the last run's overrides hold, joined by blanks */
} plan_case;
static const plan_case plans[] = {
    { { NULL }, { NULL }, { 0 }, "seed-5", "" }, /* the recipe's own */
    { { NULL }, { "train.seed=8" }, { 0 }, "seed-8", "train.seed=8" },
    { { NULL }, { "train.seed=8" }, { 3, 7 }, "seed-3 seed-7", "train.seed=8 train.seed=7" },
    { { "n=4,5" }, { "task.n={n}" }, { 0 }, "n-4/seed-5 n-5/seed-5", "task.n=5" },
    { { "model.encoder=star*2;window:width=3*1,full*1" },
      { NULL },
      { 1 },
      "encoder-star_2/seed-1 encoder-window_width_3_1_full_1/seed-1",
      "model.encoder=window:width=3*1,full*1 train.seed=1" },
    { { "model.encoder=window:width=3*1,full*1;" },
      { NULL },
      { 1 },
      "encoder-window_width_3_1_full_1/seed-1",
      "model.encoder=window:width=3*1,full*1 train.seed=1" },
    { { "task.k=1,2", "d= 3 , 4 " },
      { "task.d={d}" },
      { 1, 2 },
      "k-1/d-3/seed-1 k-1/d-3/seed-2 k-1/d-4/seed-1 k-1/d-4/seed-2 k-2/d-3/seed-1 k-2/d-3/seed-2 "
      "k-2/d-4/seed-1 "
      "k-2/d-4/seed-2",
      "task.d=4 task.k=2 train.seed=2" },
    { { "train.start=runs/a, \"\"" },
      { NULL },
      { 1 },
      "start-runs_a/seed-1 start-/seed-1",
      "train.start= train.seed=1" },
    /* names are in values of the recipe, in several places, and next to braces that are none */
    { { "domain=a b/ä" },
      { "data.dev={domain}/{other}.{domain}" },
      { 1 },
      "domain-a_b___/seed-1",
      "data.train=mtl/a b/ä.tsv data.dev=a b/ä/{other}.a b/ä train.seed=1" },
};

static int length_of(const char *const *texts)
{
    int n = 0;
    while (n < 3 && texts[n]) n++;
    return n;
}

static gsa_status make_plan(const rig *r, const plan_case *c, gsa_sweep_plan *plan,
                            gsa_error *error)
{
    gsa_sweep_options o = {
        .train = { .recipe = r->path, .overrides = c->set, .n_overrides = length_of(c->set) },
        .each = c->each,
        .n_each = length_of(c->each),
        .seeds = c->seeds
    };
    while (o.n_seeds < 4 && c->seeds[o.n_seeds] > 0) o.n_seeds++;
    return gsa_sweep_plan_create(NULL, &o, plan, error);
}

START_TEST(planned)
{
    const plan_case *c = &plans[_i];
    char text[1000], names[1000] = "", sets[1000] = "";
    gsa_sweep_plan plan;
    rig r;
    snprintf(text, sizeof text, "%s",
             strstr(c->names, "domain")
                 ? "[model]\nencoder = star\n[data]\ntrain = mtl/{domain}.tsv\n"
                 : rig_summation);
    rig_open(&r, text, GSA_F32, 1);
    ck_assert_msg(make_plan(&r, c, &plan, &r.error) == GSA_OK, "%s", r.error.text);
    for (int i = 0; i < plan.runs; i++) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? " " : "", plan.run[i].name);
        for (int k = 0; k < i; k++) {
            const int same = strcmp(strrchr(plan.run[i].name, '-'),
                                    strrchr(plan.run[k].name, '-')) == 0; /* seeds alike */
            const int alone = strcmp(plan.run[i].setting, plan.run[k].setting) == 0;
            ck_assert_msg(!(same && alone), "%s and %s have one setting", plan.run[i].name,
                          plan.run[k].name);
        }
    }
    ck_assert_str_eq(names, c->names);
    const gsa_sweep_run *last = &plan.run[plan.runs - 1];
    for (int i = 0; i < last->sets; i++) {
        const size_t used = strlen(sets);
        snprintf(sets + used, sizeof sets - used, "%s%s", used ? " " : "", last->set[i]);
    }
    ck_assert_str_eq(sets, c->holds);
    gsa_sweep_plan_release(&plan);
    rig_close(&r);
}
END_TEST

/* A setting knows no seed; a family knows no names, but keys. */
START_TEST(settings_and_families)
{
    static const plan_case c = {
        { "train.lr=0.1,0.2", "k=1,2" }, { "task.k={k}" }, { 1, 2 }, NULL, NULL
    };
    gsa_sweep_plan plan;
    rig r;
    rig_open(&r, rig_summation, GSA_F32, 1);
    ck_assert_int_eq(make_plan(&r, &c, &plan, &r.error), GSA_OK);
    ck_assert_int_eq(plan.runs, 8);
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 8; k++) {
            ck_assert_int_eq(strcmp(plan.run[i].setting, plan.run[k].setting) == 0, i / 2 == k / 2);
            ck_assert_int_eq(strcmp(plan.run[i].family, plan.run[k].family) == 0, i / 4 == k / 4);
        }
    ck_assert_str_eq(plan.run[7].each, "{\"train.lr\":\"0.2\",\"k\":\"2\"}");
    gsa_sweep_plan_release(&plan);
    rig_close(&r);
}
END_TEST

static const struct {
    const char *each[3], *says;
    int64_t seeds[4];
} bad_plans[] = {
    { { "domain=a,b" }, "--each domain: {domain} is in no value of '", { 0 } },
    { { "domain" }, "--each 'domain': expected name=value", { 0 } },
    { { "Domain=a" }, "expected name=value", { 0 } },
    { { "=a" }, "expected name=value", { 0 } },
    { { "task.k=" }, "--each task.k: value 1 is empty", { 0 } },
    { { "task.k=1,,2" }, "--each task.k: value 2 is empty; \"\" stands for an empty one", { 0 } },
    { { "task.k=1,\"\"" }, "parameter 'k' is ''", { 0 } },
    { { "task.k=1", "task.k=2" }, "--each task.k is there twice", { 0 } },
    { { "train.seed=1,2" }, "--each train.seed and --seeds both say the seeds", { 1, 2 } },
    { { "task.k=1,2,1" }, "two runs would have the folder 'k-1/seed-5'", { 0 } },
    { { NULL }, "two runs would have the folder 'seed-3'", { 3, 4, 3 } },
    { { "model.encoder=star;ring_;nothing" }, "no topology is named 'ring_'", { 0 } },
    { { "task.kk=1,2" }, "unknown key 'kk' of [task]", { 0 } },
    { { "task.k=1,two" }, "two", { 0 } },
};

START_TEST(no_plan)
{
    plan_case c = { .each = { bad_plans[_i].each[0], bad_plans[_i].each[1] } };
    gsa_sweep_plan plan;
    rig r;
    memcpy(c.seeds, bad_plans[_i].seeds, sizeof c.seeds);
    rig_open(&r, rig_summation, GSA_F32, 1);
    ck_assert_int_ne(make_plan(&r, &c, &plan, &r.error), GSA_OK);
    ck_assert_msg(strstr(r.error.text, bad_plans[_i].says) != NULL, "%s", r.error.text);
    rig_close(&r);
}
END_TEST

/* What is wrong with the last of the values is told before the first run, whatever key holds it. */
#define TAGS "[task]\nname=tagging\n[model]\nencoder=full\n[data]\ntrain=t\n"
#define TRANS                                                                                      \
    "[task]\nname=translation\n[model]\nencoder=full\ndecoder=full:causal=1+cross\n[data]\ntrain=" \
    "t\n"
#define LANG "[task]\nname=language_modelling\n[model]\nencoder=full:causal=1\n[data]\ntrain=t\n"
static const struct {
    const char *recipe, *each, *says;
} late[] = {
    { TAGS, "model.characters=none,ring,rung",
      "--set model.characters: [model] characters: no topology is named 'rung'" },
    { TAGS, "model.characters=ring;window:width=0", "--set model.characters: [model] characters" },
    { "[task]\nname=tagging\n[model]\nencoder=full\ncharacters=ring\n[data]\ntrain=t\n",
      "model.character_heads=4,5", "[model] character_heads = 5 does not divide" },
    { TAGS, "data.scheme=auto,none,IOB2", "" },
    { TAGS "scheme=IOB2\n", "task.scheme=as_read,BIOES,none",
      "--set task.scheme: [task] scheme = none, but the tags of the data are read as IOB2" },
    { "[task]\nname=tagging\n[data]\ntrain=t\n[encoder.1]\ntopology=cross\n", "train.lr=1,2",
      "recipe.ini: [encoder.N]: it reads another stack's sequence, and this task has none" },
    { TAGS, "model.encoder=full;full,full+cross;",
      "--set model.encoder: [model] encoder: full,full+cross reads another stack's sequence, and "
      "this task has none" },
    { TRANS, "model.decoder=full:causal=1+cross;full+cross",
      "--set model.decoder: [model] decoder: layer 1 of full+cross, full, lets a token see those "
      "after it" },
    { TRANS, "model.decoder=full:causal=1+cross;fuul:causal=1",
      "--set model.decoder: [model] decoder: no topology is named 'fuul'" },
    { TRANS, "model.encoder=full;full,full+cross;",
      "[model] encoder: full,full+cross reads a memory, which the decoder alone has" },
    { TRANS "source=en\n", "train.lr=1,2", "recipe.ini:8: [data] source is set and target is not" },
    { TRANS "[train]\n", "model.tied=0,1", "" },
    { LANG, "model.encoder=full:causal=1;full,full:causal=1",
      "[model] encoder: layer 1 of full,full:causal=1, full, lets a token see" },
    { LANG, "data.window=64,32,8", "" },
    { LANG "stride=32\n", "data.window=64,32,8",
      "recipe.ini:7: [data] stride = 32 is more than window = 8" },
    { LANG "context=16\n", "data.window=64,16",
      "recipe.ini:7: [data] context = 16, expected less than window = 16" },
    { LANG, "data.split=0.9,0.1;0.9,0.2",
      "--set data.split: [data] split = 0.9,0.2: the shares add up to more than 1" },
    { "[task]\nname=span_extraction\n[model]\nencoder=full\n[data]\ntrain=t\nstride=9\n",
      "data.window=0,16,8", "recipe.ini:7: [data] stride = 9 is more than window = 8" },
    { "[task]\nname=sentence_pairs\n[model]\nencoder=full\n[data]\ntrain=t\n",
      "model.encoder=star*2;full+cross",
      "--set model.encoder: [model] encoder: full+cross reads the other sentence from its first "
      "layer on" },
    { "[model]\nencoder=full\n[data]\ntrain=t\nhold=2\n", "data.subtrees=0,1",
      "recipe.ini:5: [data] hold = 2 and subtrees = 1 exclude each other" },
    { "[model]\nencoder=full\n[data]\n", "train.lr=1,2",
      "recipe.ini (default of data.train): [data] train is not set: --set data.train=FILE" },
    { "[task]\nname=language_modelling\n[model]\nencoder=full:causal=1\ntied=1\n[data]\ntrain=t\n",
      "model.embedding=0,300,64",
      "recipe.ini:5: [model] tied = 1: the head reads 300 columns, the embedding has 64" },
};

START_TEST(told_before_the_first_run)
{
    plan_case c = { .each = { late[_i].each } };
    gsa_sweep_plan plan;
    rig r;
    rig_open(&r, late[_i].recipe, GSA_F32, 1);
    const gsa_status status = make_plan(&r, &c, &plan, &r.error);
    ck_assert_msg((status == GSA_OK) == !*late[_i].says, "%s", r.error.text);
    ck_assert_msg(status == GSA_OK || strstr(r.error.text, late[_i].says), "'%s' lacks '%s'",
                  r.error.text, late[_i].says);
    gsa_sweep_plan_release(&plan);
    rig_close(&r);
}
END_TEST

/* ---- runs ---------------------------------------------------------------------------------- */

typedef struct watch {
    int state[16], begun, ended, stop_in; /* stop_in: a stop is requested in this run, from 1 */
    volatile sig_atomic_t stop;
    char last[4096];
} watch;

static void on_begin(void *context, const gsa_sweep_plan *plan, int index, int state)
{
    watch *w = context;
    ck_assert(index < plan->runs && w->begun < 16);
    w->state[w->begun++] = state;
}

static void on_end(void *context, const char *line)
{
    watch *w = context;
    w->ended++;
    snprintf(w->last, sizeof w->last, "%s", line);
}

static void on_progress(void *context, const gsa_progress *p)
{
    watch *w = context;
    if (p->kind == 0 && p->step == 4 && w->begun == w->stop_in) w->stop = 1;
}

static gsa_status sweep(rig *r, watch *w, const char *out, const char *lr, const char *results,
                        gsa_results **all)
{
    static const char *const each[] = { "k=1,2" };
    static const int64_t seeds[] = { 4, 9 };
    const char *const set[] = { "task.k={k}", lr, "train.epochs=2" };
    char folder[300], file[300];
    snprintf(folder, sizeof folder, "%s/%s", r->scratch.folder, out);
    snprintf(file, sizeof file, "%s/%s", r->scratch.folder, results ? results : "");
    const gsa_sweep_options o = { .train = { .recipe = r->path,
                                             .overrides = set,
                                             .n_overrides = 3,
                                             .out = *out ? folder : NULL,
                                             .device = "cpu",
                                             .threads = 1,
                                             .progress = on_progress,
                                             .context = w,
                                             .stop = &w->stop,
                                             .backend = r->backend },
                                  .each = each,
                                  .n_each = 1,
                                  .seeds = seeds,
                                  .n_seeds = 2,
                                  .results = results ? file : NULL,
                                  .begin = on_begin,
                                  .end = on_end,
                                  .context = w };
    w->stop = 0, w->begun = w->ended = 0;
    *all = NULL;
    return gsa_sweep(NULL, &o, all, &r->error);
}

static char *whole(const char *path)
{
    int64_t bytes;
    return gsa_get_file(path, &bytes);
}

static int lines_in(const rig *r, const char *name)
{
    char *text = whole(gsa_scratch_path(&r->scratch, "%s", name));
    int lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')); at++) lines++;
    free(text);
    return lines;
}

static const char *const names[] = { "k-1/seed-4", "k-1/seed-9", "k-2/seed-4", "k-2/seed-9" };

START_TEST(made_once)
{
    rig r;
    watch w = { 0 };
    gsa_results *all;
    char *first, *second;
    rig_open(&r, rig_summation, GSA_F32, 1);
    ck_assert_msg(sweep(&r, &w, "s", "train.lr=0.01", "all.jsonl", &all) == GSA_OK, "%s",
                  r.error.text);
    ck_assert(w.begun == 4 && w.ended == 4);
    for (int i = 0; i < 4; i++) ck_assert_int_eq(w.state[i], GSA_SWEEP_NEW);
    ck_assert_int_eq(gsa_results_summary(all, &first, NULL), GSA_OK);
    gsa_results_release(all);
    json_t *line = json_loads(w.last, 0, NULL);
    ck_assert_str_eq(json_string_value(json_object_get(line, "run")), names[3]);
    ck_assert_str_eq(json_string_value(json_object_get(line, "recipe")), "recipe");
    ck_assert_str_eq(json_string_value(json_object_get(json_object_get(line, "each"), "k")), "2");
    ck_assert_ptr_nonnull(
        strstr(json_string_value(json_object_get(line, "signature")), "|seed:9|version:"));
    ck_assert_ptr_null(strstr(w.last, r.scratch.folder)); /* nothing of this machine */
    json_decref(line);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++) {
            static const char *const files[] = { "config.ini", "result.json", "outcomes.jsonl" };
            ck_assert(gsa_exists(gsa_scratch_path(&r.scratch, "s/%s/%s", names[i], files[k])));
        }
    ck_assert(sweep(&r, &w, "s", "train.lr=0.01", "all.jsonl", &all) == GSA_OK && w.ended == 4);
    for (int i = 0; i < 4; i++) ck_assert_int_eq(w.state[i], GSA_SWEEP_DONE);
    ck_assert_int_eq(gsa_results_summary(all, &second, NULL), GSA_OK);
    ck_assert_str_eq(first, second);
    ck_assert(lines_in(&r, "s/results.jsonl") == 4 && lines_in(&r, "all.jsonl") == 4);
    gsa_results_release(all);
    gsa_release(gsa_system_default(), first);
    gsa_release(gsa_system_default(), second);
    ck_assert_int_eq(sweep(&r, &w, "s", "train.lr=0.02", NULL, &all), GSA_ERR_ARGUMENT);
    ck_assert_msg(
        strstr(r.error.text, "/s/k-1/seed-4' holds another run, train.lr is 0.01 and 0.02: choose"),
        "%s", r.error.text);
    ck_assert_int_eq(sweep(&r, &w, "t", "train.lr=2e30", NULL, &all), GSA_ERR_FORMAT);
    rig_set(&r, "train.lr=0.01");
    rig_train_ok(&r, "u/k-1/seed-4");
    ck_assert_int_eq(sweep(&r, &w, "u", "train.lr=0.01", NULL, &all), GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(r.error.text, "/u/k-1/seed-4' holds a run that was begun alone") != NULL,
                  "%s", r.error.text);
    ck_assert_int_eq(
        gsa_make_folders(gsa_system_default(), gsa_scratch_path(&r.scratch, "t/k-1/seed-4"), NULL),
        GSA_OK);
    rig_train_ok(&r, "one");
    ck_assert_int_eq(sweep(&r, &w, "one", "train.lr=0.01", NULL, &all), GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(r.error.text,
                         "/one' holds a run ('config.ini'): choose another --out for several") !=
                      NULL,
                  "%s", r.error.text);
    gsa_put_file(gsa_scratch_path(&r.scratch, "t/k-1/seed-4/asked.ini"), "",
                 0); /* nothing was kept of it: begun anew */
    ck_assert_int_eq(sweep(&r, &w, "t", "train.lr=0.02", "all.jsonl", &all),
                     GSA_OK); /* another setting: other lines */
    ck_assert_int_eq(lines_in(&r, "all.jsonl"), 8);
    gsa_results_release(all);
    rig_close(&r);
}
END_TEST

START_TEST(stopped_and_gone_on_with)
{
    rig r;
    watch w = { .stop_in = 3 };
    gsa_results *all;
    rig_open(&r, rig_summation, GSA_F32, 1);
    ck_assert_int_eq(sweep(&r, &w, "s", "train.lr=0.01", NULL, &all), GSA_ERR_INTERRUPTED);
    ck_assert_msg(strstr(r.error.text, "in run 3 of 4 (k-2/seed-4); the same command goes on"),
                  "%s", r.error.text);
    ck_assert(w.begun == 3 && w.ended == 2 && !all && lines_in(&r, "s/results.jsonl") == 2);
    w.stop_in = 0;
    ck_assert_msg(sweep(&r, &w, "s", "train.lr=0.01", NULL, &all) == GSA_OK, "%s", r.error.text);
    static const int states[] = { GSA_SWEEP_DONE, GSA_SWEEP_DONE, GSA_SWEEP_GOES_ON,
                                  GSA_SWEEP_NEW };
    for (int i = 0; i < 4; i++) ck_assert_int_eq(w.state[i], states[i]);
    gsa_results_release(all);
    ck_assert_int_eq(sweep(&r, &w, "t", "train.lr=0.01", NULL, &all), GSA_OK);
    gsa_results_release(all);
    for (int i = 0; i < 4; i++) {
        char a[64], b[64];
        snprintf(a, sizeof a, "s/%s", names[i]);
        snprintf(b, sizeof b, "t/%s", names[i]);
        ck_assert_int_eq(rig_differ(&r, a, b), 0);
        char *one = whole(gsa_scratch_path(&r.scratch, "%s/outcomes.jsonl", a));
        char *two = whole(gsa_scratch_path(&r.scratch, "%s/outcomes.jsonl", b));
        ck_assert_str_eq(one, two);
        free(one);
        free(two);
    }
    ck_assert_int_eq(sweep(&r, &w, "", "train.lr=0.01", NULL, &all),
                     GSA_OK); /* nothing is written, nothing found again */
    ck_assert_int_eq(w.state[0], GSA_SWEEP_NEW);
    gsa_results_release(all);
    rig_close(&r);
}
END_TEST

/* A file that would refuse the results is told before anything is trained. */
START_TEST(results_that_cannot_be_kept)
{
    static const char *const files[] = { "folder", "damaged", "nowhere/all.jsonl" };
    rig r;
    watch w = { 0 };
    gsa_results *all;
    rig_open(&r, rig_summation, GSA_F32, 1);
    ck_assert_int_eq(
        gsa_make_folders(gsa_system_default(), gsa_scratch_path(&r.scratch, "folder"), NULL),
        GSA_OK);
    gsa_put_file(gsa_scratch_path(&r.scratch, "damaged"), "[1]\n", 4);
    for (int i = 0; i < GSA_COUNT(files); i++) {
        ck_assert_int_ne(sweep(&r, &w, "", "train.lr=0.01", files[i], &all), GSA_OK);
        ck_assert_msg(strstr(r.error.text, files[i]) && w.begun == 0, "%d runs, then %s", w.begun,
                      r.error.text);
    }
    ck_assert_int_eq(
        gsa_make_folders(gsa_system_default(), gsa_scratch_path(&r.scratch, "s"), NULL), GSA_OK);
    gsa_put_file(gsa_scratch_path(&r.scratch, "s/results.jsonl"), "[1]\n", 4);
    ck_assert_int_eq(sweep(&r, &w, "s", "train.lr=0.01", NULL, &all), GSA_ERR_FORMAT);
    ck_assert_msg(strstr(r.error.text, "results.jsonl:1: no JSON object") && w.begun == 0, "%s",
                  r.error.text);
    rig_close(&r);
}
END_TEST

/* A file that a later run lacks is told before the first one is trained; a finished run needs
 * none. */
START_TEST(files_that_are_missing)
{
    static const char *const each[] = { "part=train,trian" }, *const one[] = { "part=train" };
    rig r;
    watch w = { 0 };
    gsa_results *all;
    char train[300], folder[300];
    rig_open(&r, rig_text, GSA_F32, 1);
    snprintf(train, sizeof train, "data.train=%s/{part}.tsv", r.scratch.folder);
    snprintf(folder, sizeof folder, "%s/s", r.scratch.folder);
    const char *const set[] = { train, "train.epochs=1" };
    gsa_sweep_options o = { .train = { .recipe = r.path,
                                       .overrides = set,
                                       .n_overrides = 2,
                                       .out = folder,
                                       .backend = r.backend },
                            .each = each,
                            .n_each = 1,
                            .begin = on_begin,
                            .end = on_end,
                            .context = &w };
    ck_assert_int_eq(gsa_sweep(NULL, &o, &all, &r.error), GSA_ERR_IO);
    ck_assert_msg(strstr(r.error.text, "run 'part-trian/seed-") &&
                      strstr(r.error.text, "/trian.tsv'"),
                  "%s", r.error.text);
    ck_assert_int_eq(w.begun, 0);
    o.each = one;
    for (int round = 0; round < 2; round++) {
        ck_assert_msg(gsa_sweep(NULL, &o, &all, &r.error) == GSA_OK, "%s", r.error.text);
        gsa_results_release(all);
        gsa_system_default()->remove(NULL, gsa_scratch_path(&r.scratch, "train.tsv"));
    }
    rig_close(&r);
}
END_TEST

/* The outcomes are the data's own order and sum up to what the result says, whatever the batches
 * are. */
START_TEST(outcomes_sum_up)
{
    static const char *const texts[] = { rig_summation, rig_text, rig_pairs };
    static const char *const dev[] = { "dev_mse", "dev_accuracy", "dev_accuracy" };
    rig r;
    gsa_outcomes o[2];
    rig_open(&r, texts[_i], GSA_F32, 1);
    rig_set(&r, "train.epochs=1");
    for (int batch = 0; batch < 2; batch++) {
        gsa_score sum = { 0 };
        char run[8] = { (char)('a' + batch), 0 };
        if (batch) rig_set(&r, "train.batch_tokens=14"); /* evaluation batches of other examples */
        rig_train_ok(&r, run);
        ck_assert_int_eq(gsa_outcomes_read(gsa_system_default(),
                                           gsa_scratch_path(&r.scratch, "%s/outcomes.jsonl", run),
                                           GSA_SPLIT_DEV, &o[batch], &r.error),
                         GSA_OK);
        for (int64_t u = 0; u < o[batch].units; u++) gsa_score_add(&sum, &o[batch].unit[u]);
        ck_assert_double_eq_tol(gsa_score_metric(o[batch].task, &sum), rig_number(&r, dev[_i]),
                                1e-6);
        ck_assert_int_eq(o[batch].units, _i ? 4 : 5);
    }
    ck_assert_str_eq(o[0].gold, o[1].gold);
    for (int i = 0; i < 2; i++) gsa_outcomes_release(&o[i]);
    rig_close(&r);
}
END_TEST

static void gold_of(rig *r, const char *run, gsa_outcomes *o)
{
    rig_train_ok(r, run);
    const char *path = gsa_scratch_path(&r->scratch, "%s/outcomes.jsonl", run);
    ck_assert_int_eq(gsa_outcomes_read(gsa_system_default(), path, GSA_SPLIT_DEV, o, &r->error),
                     GSA_OK);
}

/* What is to be found is what the file says: other training data may number the labels
 * otherwise. */
START_TEST(gold_is_the_file)
{
    static const char *const texts[] = { rig_text, rig_pairs };
    static const char *const more[] = { "aside\tx\ngood\ty\nbad\tz\n",
                                        "aside\tx\tx\nyes\ty\ty\nno\tz\tz\n" };
    static const char *const turned[] = {
        "bad\ta good film\ngood\tan awful story\nbad\tfunny\ngood\tno\n",
        "no\ta\tb\nyes\ta\tc\nyes\ta\ta\nno\ta\td\n"
    };
    gsa_outcomes first, second, third;
    rig r;
    rig_open(&r, texts[_i], GSA_F32, 1);
    rig_set(&r, "train.epochs=1");
    gold_of(&r, "a", &first);
    gsa_put_file(gsa_scratch_path(&r.scratch, "%s", r.data[0]), more[_i],
                 (int64_t)strlen(more[_i]));
    gold_of(&r, "b", &second);
    ck_assert_str_eq(first.gold, second.gold);
    gsa_put_file(gsa_scratch_path(&r.scratch, "%s", r.data[1]), turned[_i],
                 (int64_t)strlen(turned[_i]));
    gold_of(&r, "c", &third);
    ck_assert_str_ne(first.gold, third.gold);
    gsa_outcomes_release(&first);
    gsa_outcomes_release(&second);
    gsa_outcomes_release(&third);
    rig_close(&r);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test plan_tests[] = { GSA_LOOP(planned, GSA_COUNT(plans)),
                                           GSA_TEST(settings_and_families),
                                           GSA_LOOP(no_plan, GSA_COUNT(bad_plans)),
                                           GSA_LOOP(told_before_the_first_run, GSA_COUNT(late)) };
    static const gsa_test run_tests[] = { GSA_TEST(made_once),
                                          GSA_TEST(stopped_and_gone_on_with),
                                          GSA_TEST(results_that_cannot_be_kept),
                                          GSA_TEST(files_that_are_missing),
                                          GSA_LOOP(outcomes_sum_up, 3),
                                          GSA_LOOP(gold_is_the_file, 2) };
    static const gsa_case cases[] = { GSA_CASE("plans", plan_tests, 20),
                                      GSA_CASE("runs", run_tests, 60) };
    return gsa_run_suite("sweep", cases, GSA_COUNT(cases), argc, argv);
}
