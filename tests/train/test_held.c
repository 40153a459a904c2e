/* Folders that are exchanged for links while they are written or read: what was opened is used. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "graph/anchor.h"
#include "rig.h"
#include "support/guard.h"
#include "train/driver/lock.h"
#include "train/use/checkpoint_mean.h"

/* ---- a folder that somebody else keeps ----------------------------------------------------- */

static const char *const kept[] = { "config.ini",        "latest",          "log.jsonl",
                                    "result.json",       "outcomes.jsonl",  "curve.svg",
                                    "model.safetensors", "manifest.sha256", "state.safetensors" };

static void keep(const gsa_scratch *s)
{
    ck_assert_int_eq(mkdir(gsa_scratch_path(s, "precious"), 0700), 0);
    for (int i = 0; i < GSA_COUNT(kept); i++)
        gsa_put_file(gsa_scratch_path(s, "precious/%s", kept[i]), "keep", 4);
}

static int count_name(void *context, const char *name)
{
    (void)name;
    ++*(int *)context;
    return 0;
}

static void must_be_kept(const gsa_scratch *s)
{
    int64_t bytes;
    int names = 0;
    for (int i = 0; i < GSA_COUNT(kept); i++) {
        char *text = gsa_get_file(gsa_scratch_path(s, "precious/%s", kept[i]), &bytes);
        ck_assert_msg(bytes == 4 && memcmp(text, "keep", 4) == 0, "%s", kept[i]);
        free(text);
    }
    const gsa_system *system = gsa_system_default();
    ck_assert_int_eq(system->list(NULL, gsa_scratch_path(s, "precious"), count_name, &names), 0);
    ck_assert_int_eq(names, GSA_COUNT(kept));
}

/* `path` gets the name `aside`, and leads to `to` from now on. */
static void exchange(const gsa_scratch *s, const char *path, const char *aside, const char *to)
{
    const char *from = gsa_scratch_path(s, "%s", path);
    ck_assert_int_eq(rename(from, gsa_scratch_path(s, "%s", aside)), 0);
    ck_assert_int_eq(symlink(gsa_scratch_path(s, "%s", to), from), 0);
}

/* The same, and the folder itself gets the name. */
static void move_there(const gsa_scratch *s, const char *path, const char *aside, const char *to)
{
    const char *from = gsa_scratch_path(s, "%s", path);
    ck_assert_int_eq(rename(from, gsa_scratch_path(s, "%s", aside)), 0);
    ck_assert_int_eq(rename(gsa_scratch_path(s, "%s", to), from), 0);
}

static int ends_with(const char *path, const char *end)
{
    const size_t all = strlen(path), bytes = strlen(end);
    return all >= bytes && strcmp(path + all - bytes, end) == 0;
}

static int reads(int mode)
{
    return mode == GSA_OPEN_READ || mode == GSA_OPEN_READ_OWN;
}

/* ---- writing ------------------------------------------------------------------------------- */

static void exchange_run(rig *r, const gsa_progress *p)
{
    if (p->kind == 0 && p->step == 4) exchange(&r->scratch, "run", "real", "precious");
}

/* All that comes after goes on in the folder that was opened: checkpoints, log, result, lock. */
START_TEST(a_run_whose_folder_is_exchanged)
{
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    rig_set(&r, "train.checkpoint_every=1");
    rig_set(&r, "train.report_every=1");
    keep(&r.scratch);
    r.each = exchange_run;
    const gsa_status status = rig_train(&r, "run");
    must_be_kept(&r.scratch);
    ck_assert_msg(status == GSA_OK, "%s", r.error.text);
    for (int i = 0; i < 6; i++)
        ck_assert_msg(gsa_exists(gsa_scratch_path(&r.scratch, "real/%s", kept[i])), "%s", kept[i]);
    ck_assert(gsa_exists(gsa_scratch_path(&r.scratch, "real/step-9/model.safetensors")));
    ck_assert(!gsa_exists(gsa_scratch_path(&r.scratch, "real/lock")));
    ck_assert_msg(rig_resume(&r, "real") == GSA_OK, "%s", r.error.text);
    rig_close(&r);
}
END_TEST

/* The recipe was written into a folder that is locked: what has its name now is not read. */
START_TEST(a_recipe_whose_folder_is_exchanged)
{
    rig r;
    gsa_lock lock;
    rig_open(&r, rig_text, GSA_F32, 1);
    keep(&r.scratch);
    ck_assert_int_eq(
        gsa_lock_folder(gsa_system_default(), gsa_scratch_path(&r.scratch, "run"), &lock, &r.error),
        GSA_OK);
    ck_assert_int_eq(rename(r.path, gsa_scratch_path(&r.scratch, "run/recipe.ini")), 0);
    snprintf(r.path, sizeof r.path, "%s/run/recipe.ini", r.scratch.folder);
    exchange(&r.scratch, "run", "real", "precious");
    r.lock = &lock;
    ck_assert_msg(rig_train(&r, "run") == GSA_OK, "%s", r.error.text);
    gsa_lock_release(&lock);
    must_be_kept(&r.scratch);
    rig_close(&r);
}
END_TEST

typedef struct hooked {
    gsa_system table;
    const gsa_scratch *scratch;
    const char *end, *path, *aside, *to; /* a call for a path that ends so exchanges `path` */
    int calls;                           /* before the one that does */
    int moves;                           /* move_there */
} hooked;

static void meet(hooked *h, const char *path)
{
    if (ends_with(path, h->end) && h->calls-- == 0)
        (h->moves ? move_there : exchange)(h->scratch, h->path, h->aside, h->to);
}

static int make_and_meet(void *user, const char *path)
{
    const int rc = gsa_system_default()->make_folder(NULL, path);
    meet(user, path);
    return rc;
}

static int meet_and_open(void *user, const char *path, int mode)
{
    meet(user, path);
    return gsa_system_default()->open(NULL, path, mode);
}

static int meet_and_hold(void *user, const char *path, char *at, size_t room)
{
    meet(user, path);
    return gsa_system_default()->hold(NULL, path, at, room);
}

/* A checkpoint's folder becomes a link right after it was made. */
START_TEST(a_checkpoint_whose_folder_is_exchanged)
{
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    hooked h = { .table = *gsa_system_default(),
                 .scratch = &r.scratch,
                 .end = "/step-9.tmp-gsa",
                 .path = "run/step-9.tmp-gsa",
                 .aside = "aside",
                 .to = "precious" };
    h.table.user = &h, h.table.make_folder = make_and_meet;
    keep(&r.scratch);
    r.system = &h.table;
    ck_assert_int_eq(rig_train(&r, "run"), GSA_ERR_IO);
    ck_assert_int_eq(h.calls, -1);
    ck_assert_msg(strstr(r.error.text, "/run/step-9.tmp-gsa/") != NULL, "%s", r.error.text);
    must_be_kept(&r.scratch);
    rig_close(&r);
}
END_TEST

/* ---- reading ------------------------------------------------------------------------------- */

/* The model's loss. */
static double evaluate(rig *r, const char *name)
{
    const gsa_apply_options o = { .model = gsa_scratch_path(&r->scratch, "%s", name),
                                  .device = "cpu",
                                  .threads = 1,
                                  .backend = r->backend };
    const gsa_system *system = r->system ? r->system : gsa_system_default();
    gsa_release(system, r->result);
    r->result = NULL;
    ck_assert_msg(gsa_evaluate(system, &o, &r->result, &r->error) == GSA_OK, "%s", r->error.text);
    return rig_number(r, "dev_loss");
}

static const struct {
    const char *path, *to; /* what is exchanged for what */
} places[] = { { "run", "other" }, { "run/step-9", "other/step-9" } };

/* Of the same recipe. */
static void train_two(rig *r)
{
    rig_open(r, rig_text, GSA_F32, 1);
    rig_train_ok(r, "run");
    rig_set(r, "train.seed=7");
    rig_train_ok(r, "other");
}

/* Its manifest was checked: what is read next is of the same folder, whatever has its name. */
START_TEST(a_model_that_is_exchanged_while_it_is_read)
{
    rig r;
    train_two(&r);
    const double own = evaluate(&r, "run"), another = evaluate(&r, "other");
    ck_assert(own > 0 && another > 0 && own != another);
    hooked h = { .table = *gsa_system_default(),
                 .scratch = &r.scratch,
                 .end = "/config.ini",
                 .path = places[_i].path,
                 .aside = "aside",
                 .to = places[_i].to,
                 .calls = 1 }; /* the first is for the manifest */
    h.table.user = &h, h.table.open = meet_and_open;
    r.system = &h.table;
    ck_assert_double_eq(evaluate(&r, "run"), own);
    ck_assert_int_lt(h.calls, 0);
    rig_close(&r);
}
END_TEST

/* What is held last is what is checked: a step that is exchanged before is refused, if it is not
 * whole. */
START_TEST(a_step_that_is_exchanged_before_it_is_held)
{
    rig r;
    train_two(&r);
    gsa_put_file(gsa_scratch_path(&r.scratch, "other/step-9/manifest.sha256"), "", 0);
    hooked h = { .table = *gsa_system_default(),
                 .scratch = &r.scratch,
                 .end = "/step-9",
                 .path = "run/step-9",
                 .aside = "aside",
                 .to = "other/step-9",
                 .moves = 1 };
    h.table.user = &h, h.table.hold = meet_and_hold;
    r.system = &h.table;
    const gsa_apply_options o = { .model = gsa_scratch_path(&r.scratch, "run"),
                                  .device = "cpu",
                                  .threads = 1,
                                  .backend = r.backend };
    gsa_release(NULL, r.result); /* of the training */
    ck_assert_int_eq(gsa_evaluate(&h.table, &o, &r.result, &r.error), GSA_ERR_FORMAT);
    ck_assert_int_lt(h.calls, 0);
    rig_close(&r);
}
END_TEST

static int go_and_come(void *user, const char *path, char *at, size_t room)
{
    const hooked *h = user;
    char there[300], away[300];
    snprintf(there, sizeof there, "%s", gsa_scratch_path(h->scratch, "%s", h->path));
    snprintf(away, sizeof away, "%s", gsa_scratch_path(h->scratch, "%s", h->aside));
    const int meets = ends_with(path, h->end);
    if (meets) ck_assert_int_eq(rename(there, away), 0);
    const int folder = gsa_system_default()->hold(NULL, path, at, room);
    const int why = errno;
    if (meets) ck_assert_int_eq(rename(away, there), 0);
    return errno = why, folder;
}

/* What is not there when it is to be held is not read by its name afterwards, unwatched. */
START_TEST(a_step_that_is_away_for_a_moment)
{
    rig r;
    train_two(&r);
    hooked h = { .table = *gsa_system_default(),
                 .scratch = &r.scratch,
                 .end = _i ? "/step-9" : "/run",
                 .path = _i ? "run/step-9" : "run",
                 .aside = "aside" };
    h.table.user = &h, h.table.hold = go_and_come;
    const char *const places_of[] = { "run", "run", "run/step-9" };
    const gsa_apply_options o = { .model = gsa_scratch_path(&r.scratch, "%s", places_of[_i]),
                                  .device = "cpu",
                                  .threads = 1,
                                  .backend = r.backend };
    gsa_release(NULL, r.result); /* of the training */
    ck_assert_int_ne(gsa_evaluate(&h.table, &o, &r.result, &r.error), GSA_OK);
    ck_assert_msg(strstr(r.error.text,
                         _i == 1 ? "holds no whole checkpoint" : "it is not there or is a file"),
                  "%s", r.error.text);
    rig_close(&r);
}
END_TEST

/* The same of a run whose checkpoints are averaged: of step 8 the manifest was checked. */
START_TEST(a_run_that_is_exchanged_while_it_is_averaged)
{
    char run[300], out[2][300];
    int64_t bytes[2];
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    rig_set(&r, "train.checkpoint_every=1");
    rig_set(&r, "train.keep=2");
    rig_train_ok(&r, "run");
    rig_set(&r, "train.seed=7");
    rig_train_ok(&r, "other");
    snprintf(run, sizeof run, "%s/run", r.scratch.folder);
    gsa_checkpoint_mean_options options = { .run = run, .last = 2 };
    hooked h = { .table = *gsa_system_default(),
                 .scratch = &r.scratch,
                 .end = "/model.safetensors",
                 .path = "run",
                 .aside = "aside",
                 .to = "other",
                 .calls = 1 }; /* the first is for the manifest */
    h.table.user = &h, h.table.open = meet_and_open;
    char *model[2];
    for (int i = 0; i < 2; i++) {
        snprintf(out[i], sizeof out[i], "%s/mean%d", r.scratch.folder, i);
        options.out = out[i];
        ck_assert_msg(gsa_checkpoint_mean(i ? &h.table : NULL, &options, NULL, NULL, &r.error) ==
                          GSA_OK,
                      "%s", r.error.text);
        model[i] = gsa_get_file(gsa_scratch_path(&r.scratch, "mean%d/step-9/model.safetensors", i),
                                &bytes[i]);
    }
    ck_assert_int_lt(h.calls, 0);
    ck_assert(bytes[0] == bytes[1] && memcmp(model[0], model[1], (size_t)bytes[0]) == 0);
    for (int i = 0; i < 2; i++) free(model[i]);
    rig_close(&r);
}
END_TEST

/* ---- a file that is exchanged or written while it is read ----------------------------------- */

static const struct {
    const char *file;
    int before, by_name; /* before its n-th open, else after; another file gets its name */
} changes[] = {
    { "model.safetensors", 1, 1 }, { "model.safetensors", 1, 0 }, { "model.safetensors", 0, 0 },
    { "state.safetensors", 1, 1 }, { "state.safetensors", 1, 0 }, { "state.safetensors", 0, 0 },
    { "config.ini", 1, 1 },        { "vocab.txt", 1, 0 },         { "labels.txt", 0, 0 },
};

typedef struct changed {
    gsa_system table;
    const gsa_scratch *scratch;
    char end[64];               /* a path that ends so */
    int before, by_name, calls; /* calls: before the one that changes it */
} changed;

/* Another file of as many bytes. */
static void change(const changed *c, const char *file)
{
    char to[300];
    int64_t bytes;
    snprintf(to, sizeof to, "%s", gsa_scratch_path(c->scratch, "run/step-9%s", file));
    char *text = gsa_get_file(to, &bytes);
    text[bytes / 2] ^= 1;
    const char *from = c->by_name ? gsa_scratch_path(c->scratch, "new") : to;
    gsa_put_file(from, text, bytes);
    if (c->by_name) ck_assert_int_eq(rename(from, to), 0);
    free(text);
}

static int change_and_open(void *user, const char *path, int mode)
{
    changed *c = user;
    const int meets =
        reads(mode) && ends_with(path, c->end) && !strstr(path, ".tmp-gsa/") && c->calls-- == 0;
    if (meets && c->before) change(c, c->end);
    const int file = gsa_system_default()->open(NULL, path, mode);
    if (meets && !c->before) change(c, c->end);
    return file;
}

static gsa_status use(rig *r, int verb)
{
    char run[300], out[300];
    snprintf(run, sizeof run, "%s/run", r->scratch.folder);
    snprintf(out, sizeof out, "%s/mean", r->scratch.folder);
    const gsa_checkpoint_mean_options mean = { .run = run, .out = out, .last = 1 };
    const gsa_apply_options apply = {
        .model = run, .device = "cpu", .threads = 1, .backend = r->backend
    };
    gsa_release(NULL, r->result);
    r->result = NULL;
    return verb == 0   ? gsa_evaluate(r->system, &apply, &r->result, &r->error)
           : verb == 1 ? gsa_checkpoint_mean(r->system, &mean, NULL, NULL, &r->error)
                       : rig_resume(r, "run");
}

/* Its bytes again, with another time than that of the change: both may come within one tick. */
static void put_back(const rig *r, const char *file, const char *text, int64_t bytes)
{
    static const struct timespec then[2] = { { 1000000000, 0 }, { 1000000000, 0 } };
    const char *path = gsa_scratch_path(&r->scratch, "run/step-9/%s", file);
    gsa_put_file(path, text, bytes);
    ck_assert_int_eq(utimensat(AT_FDCWD, path, then, 0), 0);
}

/* Whenever it is: what is used is what the manifest was checked for, or there is a sentence. */
START_TEST(a_file_that_changes_while_it_is_read)
{
    rig r;
    int64_t bytes;
    int met = 0;
    rig_open(&r, rig_text, GSA_F32, 1);
    rig_set(&r, "train.keep=1");
    rig_train_ok(&r, "run");
    const char *file = changes[_i].file;
    char *text = gsa_get_file(gsa_scratch_path(&r.scratch, "run/step-9/%s", file), &bytes);
    put_back(&r, file, text, bytes);
    for (int verb = 0; verb < 3; verb++)
        for (int n = 0, again = 1; again; n++) {
            changed c = { .table = *gsa_system_default(),
                          .scratch = &r.scratch,
                          .before = changes[_i].before,
                          .by_name = changes[_i].by_name,
                          .calls = n };
            snprintf(c.end, sizeof c.end, "/%s", file);
            c.table.user = &c, c.table.open = change_and_open;
            r.system = &c.table;
            const gsa_status status = use(&r, verb);
            again = c.calls < 0;
            met += again;
            ck_assert_msg((status != GSA_OK) == again, "verb %d, open %d: %s", verb, n,
                          r.error.text);
            if (again)
                ck_assert_msg(strstr(r.error.text, "meanwhile") || strstr(r.error.text, "hash"),
                              "%s", r.error.text);
            put_back(&r, file, text, bytes);
        }
    ck_assert_int_gt(met, 3);
    r.system = NULL;
    free(text);
    rig_close(&r);
}
END_TEST

typedef struct comes {
    gsa_system table;
    const gsa_scratch *scratch;
    int what, calls;
} comes;

enum { GROWS, WAITS, COMES, WAYS }; /* a hole, a FIFO, and files after the empty list was opened */

static const char *const parts[] = { "model.safetensors", "state.safetensors", "config.ini",
                                     "vocab.txt",         "labels.txt",        "data.sha256" };

static void move_parts(const gsa_scratch *s, const char *from, const char *to)
{
    for (int i = 0; i < GSA_COUNT(parts); i++) {
        char path[300];
        snprintf(path, sizeof path, "%s", gsa_scratch_path(s, "%s/%s", from, parts[i]));
        ck_assert_int_eq(rename(path, gsa_scratch_path(s, "%s/%s", to, parts[i])), 0);
    }
}

static int open_and_come(void *user, const char *path, int mode)
{
    comes *c = user;
    char weights[300];
    const char *end = c->what == COMES ? "/manifest.sha256" : "/model.safetensors";
    const int meets = reads(mode) && ends_with(path, end) && c->calls-- == 0;
    snprintf(weights, sizeof weights, "%s",
             gsa_scratch_path(c->scratch, "run/step-9/model.safetensors"));
    if (meets && c->what == GROWS) ck_assert_int_eq(truncate(weights, (off_t)1 << 40), 0);
    if (meets && c->what == WAITS) {
        ck_assert_int_eq(unlink(weights), 0);
        ck_assert_int_eq(mkfifo(weights, 0600), 0);
    }
    const int file = gsa_system_default()->open(NULL, path, mode);
    if (meets && c->what == COMES) move_parts(c->scratch, "aside", "run/step-9");
    return file;
}

/* A file that becomes a hole of a terabyte is not read to its end, a FIFO in its place is not
 * waited for; files that come after an empty list, which nobody checked, are not read at all. */
START_TEST(files_that_grow_or_come_meanwhile)
{
    rig r;
    int64_t bytes;
    rig_open(&r, rig_text, GSA_F32, 1);
    rig_set(&r, "train.keep=1");
    rig_train_ok(&r, "run");
    char *text = gsa_get_file(gsa_scratch_path(&r.scratch, "run/step-9/%s", parts[0]), &bytes);
    comes c = { .table = *gsa_system_default(), .scratch = &r.scratch, .what = _i };
    ck_assert_int_eq(mkdir(gsa_scratch_path(&r.scratch, "aside"), 0700), 0);
    if (_i == COMES)
        gsa_put_file(gsa_scratch_path(&r.scratch, "run/step-9/manifest.sha256"),
                     "# 0 files of step-9\n", 20);
    c.table.user = &c, c.table.open = open_and_come;
    r.system = &c.table;
    for (int verb = 0; verb < 3; verb++) {
        c.calls = 0;
        if (_i == COMES) move_parts(&r.scratch, "run/step-9", "aside");
        ck_assert_int_ne(use(&r, verb), GSA_OK);
        ck_assert_msg(c.calls < 0 &&
                          strstr(r.error.text, _i == WAITS ? "cannot be read" : "meanwhile"),
                      "%s", r.error.text);
        if (_i == WAITS)
            ck_assert_int_eq(unlink(gsa_scratch_path(&r.scratch, "run/step-9/%s", parts[0])), 0);
        if (_i != COMES) put_back(&r, parts[0], text, bytes);
    }
    r.system = NULL;
    free(text);
    rig_close(&r);
}
END_TEST

/* Who keeps a step elsewhere hears why it is passed over. */
START_TEST(a_step_that_is_a_link)
{
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    rig_train_ok(&r, "run");
    exchange(&r.scratch, "run/step-9", "elsewhere", "elsewhere");
    ck_assert_int_eq(rig_resume(&r, "run"), GSA_ERR_FORMAT);
    ck_assert_msg(strstr(r.error.text, "/run/step-9' is not there or is a link") != NULL, "%s",
                  r.error.text);
    rig_close(&r);
}
END_TEST

/* ---- the table ----------------------------------------------------------------------------- */

/* Beneath a held folder no link is followed, neither on the way nor at its end. */
START_TEST(beneath_a_held_folder)
{
    gsa_scratch s;
    gsa_anchor *anchor, *inner;
    gsa_error error;
    struct stat seen;
    gsa_scratch_open(&s);
    keep(&s);
    ck_assert_int_eq(mkdir(gsa_scratch_path(&s, "real"), 0700), 0);
    ck_assert_int_eq(mkdir(gsa_scratch_path(&s, "real/deep"), 0700), 0);
    ck_assert_int_eq(symlink("real", gsa_scratch_path(&s, "run")), 0);
    ck_assert_int_eq(symlink("../precious", gsa_scratch_path(&s, "real/away")), 0);
    ck_assert_int_eq(symlink("../precious/latest", gsa_scratch_path(&s, "real/latest")), 0);
    ck_assert_int_eq(mkfifo(gsa_scratch_path(&s, "real/pipe"), 0600), 0);
    const gsa_system *plain = gsa_system_default();
    ck_assert_int_eq(gsa_anchor_open(plain, plain, gsa_scratch_path(&s, "run/"), &anchor, &error),
                     GSA_OK);
    const gsa_system *t = gsa_anchor_system(anchor, NULL);
    ck_assert_int_eq(unlink(gsa_scratch_path(&s, "run")), 0);
    ck_assert_int_eq(symlink("precious", gsa_scratch_path(&s, "run")), 0);
    static const char *const links[] = { "run/away/latest", "run/latest", "run//away//latest" };
    static const int modes[] = { GSA_OPEN_READ,     GSA_OPEN_REPLACE, GSA_OPEN_APPEND,
                                 GSA_OPEN_EXISTING, GSA_OPEN_OWN,     GSA_OPEN_READ_OWN };
    for (int i = 0; i < GSA_COUNT(links); i++) {
        const char *path = gsa_scratch_path(&s, "%s", links[i]);
        for (int m = 0; m < GSA_COUNT(modes); m++)
            ck_assert_msg(t->open(t->user, path, modes[m]) < 0, "%s, mode %d", path, modes[m]);
        ck_assert_int_lt(t->truncate(t->user, path, 0), 0);
    }
    const char *away = gsa_scratch_path(&s, "run/away");
    ck_assert_int_eq(t->kind(t->user, away, NULL), GSA_FILE_OTHER);
    ck_assert_int_eq(t->entry(t->user, away), GSA_FILE_LINK);
    ck_assert_int_lt(t->clear_folder(t->user, away), 0);
    ck_assert_int_lt(t->sync_folder(t->user, away), 0);
    ck_assert_int_lt(t->make_folder(t->user, gsa_scratch_path(&s, "run/away/made")), 0);
    ck_assert_int_lt(t->rename(t->user, gsa_scratch_path(&s, "run/away/latest"),
                               gsa_scratch_path(&s, "run/got")),
                     0);
    ck_assert_int_lt(t->remove(t->user, gsa_scratch_path(&s, "run/away/latest")), 0);
    /* nobody waits for a pipe's other end */
    ck_assert_int_lt(t->open(t->user, gsa_scratch_path(&s, "run/pipe"), GSA_OPEN_EXISTING), 0);
    ck_assert_int_eq(errno, ENXIO);
    /* what is no link is there, by the name that the folder had */
    ck_assert_int_eq(t->make_folder(t->user, gsa_scratch_path(&s, "run/deep/er")), 0);
    ck_assert_int_eq(t->kind(t->user, gsa_scratch_path(&s, "real/deep/er"), NULL), GSA_FILE_FOLDER);
    ck_assert_int_eq(gsa_anchor_open(t, plain, away, &inner, &error), GSA_OK);
    ck_assert(gsa_anchor_lacks(inner) && !gsa_anchor_lacks(anchor));
    gsa_anchor_close(inner);
    ck_assert_int_eq(gsa_anchor_open(t, plain, gsa_scratch_path(&s, "run/deep"), &inner, &error),
                     GSA_OK);
    const gsa_system *u = gsa_anchor_system(inner, NULL);
    ck_assert_int_eq(u->remove(u->user, gsa_scratch_path(&s, "run/deep/er")), 0);
    ck_assert_int_lt(stat(gsa_scratch_path(&s, "real/deep/er"), &seen), 0);
    gsa_anchor_close(inner);
    /* "..", a way out, is no folder of it, and what lies deeper is nobody's list */
    gsa_put_file(gsa_scratch_path(&s, "real/deep/data"), "d", 1);
    ck_assert_int_eq(gsa_anchor_watch(anchor, gsa_scratch_path(&s, "run/seen"), -1, &error),
                     GSA_OK);
    for (int i = 0; i < 3; i++) {
        static const char *const ways[] = { "run/../precious/latest", "run/deep/data",
                                            "run/latest" };
        const int file = t->open(t->user, gsa_scratch_path(&s, "%s", ways[i]), GSA_OPEN_READ);
        ck_assert_msg((file < 0) == (i == 2), "%s", ways[i]);
        if (file >= 0) t->close(t->user, file);
    }
    gsa_anchor_close(anchor);
    must_be_kept(&s);
    gsa_scratch_close(&s);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test written[] = { GSA_TEST(a_run_whose_folder_is_exchanged),
                                        GSA_TEST(a_recipe_whose_folder_is_exchanged),
                                        GSA_TEST(a_checkpoint_whose_folder_is_exchanged) };
    static const gsa_test read[] = {
        GSA_LOOP(a_model_that_is_exchanged_while_it_is_read, GSA_COUNT(places)),
        GSA_TEST(a_step_that_is_exchanged_before_it_is_held),
        GSA_LOOP(a_step_that_is_away_for_a_moment, 3),
        GSA_TEST(a_run_that_is_exchanged_while_it_is_averaged),
        GSA_TEST(a_step_that_is_a_link),
        GSA_LOOP(a_file_that_changes_while_it_is_read, GSA_COUNT(changes)),
        GSA_LOOP(files_that_grow_or_come_meanwhile, WAYS)
    };
    static const gsa_test table[] = { GSA_TEST(beneath_a_held_folder) };
    static const gsa_case cases[] = { GSA_CASE("written", written, 60), GSA_CASE("read", read, 60),
                                      GSA_CASE("table", table, 20) };
    return gsa_run_suite("held", cases, GSA_COUNT(cases), argc, argv);
}
