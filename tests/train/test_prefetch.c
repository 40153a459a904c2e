/* train.prefetch: runs with it and without it have the same bits, the same errors at the same step,
 * and leave nothing after. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "rig.h"
#include "support/faults.h"
#include "train/driver/session.h"

static const char tagging[] =
    "[task]\nname = tagging\nhead = crf\nlegal = 1\n[model]\nencoder = star\nhidden = 8\nheads = "
    "2\ncharacters = ring\n"
    "character_hidden = 4\ncharacter_heads = 2\ndropout_hidden = 0.1\ncharacter_dropout = 0.2\n"
    "[train]\nseed = 5\nepochs = 3\nbatch = 4\naccumulate = 2\nlr = 0.01\nreport_every = "
    "1\n[data]\ncapitals = 1\n";
static const char *const recipes[] = { rig_summation, rig_text, rig_pairs, rig_language, tagging };

/* 22 sentences, as the texts of the other recipes are many. */
static void open_recipe(rig *r, const char *recipe, int threads)
{
    static const char *const words[] = { "Ann", "sees", "the", "long", "Nile", "again", "Bo" };
    char tags[8192];
    size_t used = 0;
    rig_open(r, recipe, GSA_F32, threads);
    if (recipe != tagging) return;
    for (int s = 0; s < 22; s++) {
        for (int i = 0; i <= s % 5; i++) {
            const int w = (s * 3 + i * (s % 4 + 1)) % 7;
            used += (size_t)snprintf(tags + used, sizeof tags - used, "%s%d %s\n", words[w], s % 3,
                                     w % 4 ? "O" : "I-X");
        }
        used += (size_t)snprintf(tags + used, sizeof tags - used, "\n");
    }
    gsa_put_file(gsa_scratch_path(&r->scratch, "tags"), tags, (int64_t)used);
    r->data[0] = r->data[1] = "tags";
}

typedef struct told { /* of a run */
    double loss[64];
    int64_t losses;
} told;

static void note_loss(rig *r, const gsa_progress *p)
{
    told *t = r->context;
    if (p->kind == 0 && t->losses < GSA_COUNT(t->loss)) t->loss[t->losses++] = p->loss;
}

static gsa_status train(rig *r, const char *name, int prefetch, told *t)
{
    *t = (told){ 0 };
    r->each = note_loss, r->context = t;
    rig_set(r, prefetch ? "train.prefetch=1" : "train.prefetch=0");
    const gsa_status status = rig_train(r, name);
    r->sets--;
    return status;
}

static void same_told(const told *a, const told *b)
{
    ck_assert_int_eq(a->losses, b->losses);
    ck_assert_mem_eq(a->loss, b->loss, sizeof a->loss);
}

/* ---- bits ---------------------------------------------------------------------------------- */

START_TEST(results_are_the_same)
{
    static const char *const sets[] = { "train.seed=5", "train.eval_every=2", "train.batch=1",
                                        "train.max_steps=7" };
    for (int i = 0; i < GSA_COUNT(sets); i++) {
        rig r;
        told without, with;
        open_recipe(&r, recipes[_i], 1 + i % 2);
        rig_set(&r, sets[i]);
        ck_assert_msg(train(&r, "without", 0, &without) == GSA_OK, "%s", r.error.text);
        const double loss = rig_number(&r, "dev_loss");
        ck_assert_msg(train(&r, "with", 1, &with) == GSA_OK, "%s", r.error.text);
        ck_assert_int_ge(with.losses, 3);
        same_told(&without, &with);
        ck_assert_int_eq(rig_differ(&r, "without", "with"), 0);
        const double other = rig_number(&r, "dev_loss");
        ck_assert_mem_eq(&loss, &other, sizeof loss);
        rig_close(&r);
    }
}
END_TEST

/* Cut off in the middle of an epoch, with a batch prepared or not, a run goes on either way. */
START_TEST(resume_in_the_middle_of_an_epoch)
{
    rig r;
    told ignored;
    open_recipe(&r, recipes[_i], 1);
    ck_assert_int_eq(train(&r, "whole", 0, &ignored), GSA_OK);
    for (int cut = 1; cut <= 8; cut += 3)
        for (int on = 0; on < 2; on++) {
            char name[16];
            snprintf(name, sizeof name, "cut%d-%d", cut, on);
            r.stop_at = cut;
            ck_assert_int_eq(train(&r, name, on, &ignored), GSA_ERR_INTERRUPTED);
            r.stop_at = 0;
            rig_set(&r, on ? "train.prefetch=0" : "train.prefetch=1");
            ck_assert_msg(rig_resume(&r, name) == GSA_OK, "%s", r.error.text);
            r.sets--;
            ck_assert_int_eq(rig_differ(&r, "whole", name), 0);
        }
    rig_close(&r);
}
END_TEST

/* ---- failures ------------------------------------------------------------------------------ */

/* How far a run came that fails, and why. */
static int fails_alike(rig *r)
{
    told without, with;
    char sentence[GSA_ERROR_SIZE];
    const gsa_status status = train(r, NULL, 0, &without);
    snprintf(sentence, sizeof sentence, "%s", r->error.text);
    ck_assert_int_eq(train(r, NULL, 1, &with), status);
    if (status != GSA_OK) ck_assert_str_eq(r->error.text, sentence);
    same_told(&without, &with);
    return status == GSA_OK ? -1 : (int)with.losses;
}

START_TEST(a_pattern_fails_at_its_step)
{
    int late = 0, refused = 0;
    for (int bad = 1; bad <= 8; bad++) {
        rig r;
        char set[64];
        open_recipe(&r, rig_text, 1);
        r.plugin = GSA_ODD_PLUGIN;
        snprintf(set, sizeof set, "model.encoder=odd:bad=%d", bad);
        rig_set(&r, set);
        rig_set(&r, "train.accumulate=1");
        const int step = fails_alike(&r);
        if (step >= 0) ck_assert_ptr_nonnull(strstr(r.error.text, "this length is odd"));
        refused += step >= 0, late += step > 0;
        rig_close(&r);
    }
    ck_assert_int_ge(refused, 5);
    ck_assert_int_ge(late, 2);
}
END_TEST

/* Windows of a text are read when their batch is made. */
START_TEST(a_read_fails_at_its_step)
{
    int late = 0;
    gsa_faults faults;
    gsa_faults_start(&faults);
    for (int n = 1, step = 0; step >= 0; n++) {
        rig r;
        told t[2];
        gsa_status status[2];
        char sentence[GSA_ERROR_SIZE];
        open_recipe(&r, rig_language, 1);
        rig_set(&r, "train.epochs=2");
        r.system = &faults.table;
        for (int on = 0; on < 2; on++) {
            gsa_faults_rewind(&faults);
            faults.fail[GSA_OP_READ] = n;
            status[on] = train(&r, NULL, on, &t[on]);
            if (on == 0) snprintf(sentence, sizeof sentence, "%s", r.error.text);
        }
        ck_assert_int_eq(status[0], status[1]);
        same_told(&t[0], &t[1]);
        if (status[0] != GSA_OK) ck_assert_str_eq(r.error.text, sentence);
        step = status[0] == GSA_OK ? -1 : (int)t[0].losses;
        late += step > 0;
        gsa_release(&faults.table, r.result);
        r.result = NULL, r.system = NULL;
        ck_assert_int_eq(gsa_faults_live(&faults), 0);
        rig_close(&r);
    }
    ck_assert_int_gt(late, 10);
}
END_TEST

/* Beyond the first step, so that the thread has allocations of its own to fail. */
START_TEST(no_memory_for_a_batch_ahead)
{
    rig r;
    gsa_faults faults;
    int64_t calls[2];
    int failed = 0;
    open_recipe(&r, _i ? tagging : rig_text, 1);
    gsa_faults_start(&faults);
    r.system = &faults.table;
    rig_set(&r, "train.accumulate=1");
    for (int i = 0; i < 2; i++) {
        rig_set(&r, i ? "train.max_steps=4" : "train.max_steps=1");
        gsa_faults_rewind(&faults);
        rig_train_ok(&r, NULL);
        calls[i] = faults.calls[GSA_OP_ALLOC];
        r.sets -= i ? 0 : 1;
    }
    const int64_t first = calls[0] - calls[0] / 4, stride = (calls[1] - first) / 100 + 1;
    for (int64_t n = first; n <= calls[1]; n += stride) {
        gsa_faults_rewind(&faults);
        faults.fail[GSA_OP_ALLOC] = n, faults.forever = (int)(n % 2);
        const gsa_status status = rig_train(&r, NULL);
        ck_assert_msg(status == GSA_OK || status == GSA_ERR_MEMORY, "call %d: %s", (int)n,
                      r.error.text);
        failed += status != GSA_OK;
        gsa_release(&faults.table, r.result);
        r.result = NULL;
        ck_assert_int_eq(gsa_faults_live(&faults), 0);
    }
    ck_assert_int_gt(failed, 10);
    r.system = NULL;
    rig_close(&r);
}
END_TEST

/* ---- the thread ---------------------------------------------------------------------------- */

static int others,
    masked; /* threads besides the main one, and those of them that take no signals */

static void look_at_thread(const char *id)
{
    char path[300], line[256];
    unsigned long long blocked = 0;
    snprintf(path, sizeof path, "/proc/self/task/%.30s/status", id);
    FILE *file = fopen(path, "r");
    if (!file) return;
    while (fgets(line, sizeof line, file)) sscanf(line, "SigBlk: %llx", &blocked);
    fclose(file);
    others++;
    masked += (blocked >> (SIGTERM - 1) & 1) && (blocked >> (SIGINT - 1) & 1);
}

static void look_at_threads(rig *r, const gsa_progress *p)
{
    char own[32];
    DIR *folder = p->kind == 0 && p->step == 2 ? opendir("/proc/self/task") : NULL;
    (void)r;
    snprintf(own, sizeof own, "%ld", (long)getpid());
    for (struct dirent *e; folder && (e = readdir(folder));)
        if (*e->d_name != '.' && strcmp(e->d_name, own) != 0) look_at_thread(e->d_name);
    if (folder) closedir(folder);
}

START_TEST(it_takes_no_signals)
{
    rig r;
    open_recipe(&r, rig_text, 1);
    r.each = look_at_threads;
    rig_set(&r, _i ? "train.prefetch=1" : "train.prefetch=0");
    rig_train_ok(&r, NULL);
#ifndef __SANITIZE_THREAD__ /* which has threads of its own */
    if (gsa_exists("/proc/self/task")) ck_assert_int_eq(others, _i);
#endif
    ck_assert_int_eq(masked, others);
    rig_close(&r);
}
END_TEST

static void say_nothing(void *context, const char *sentence)
{
    (void)context, (void)sentence;
}

static void open_session(rig *r, gsa_session *s)
{
    char path[2][300];
    open_recipe(r, rig_text, 1);
    snprintf(path[0], sizeof path[0], "data.train=%s/train.tsv", r->scratch.folder);
    snprintf(path[1], sizeof path[1], "data.dev=%s/dev.tsv", r->scratch.folder);
    const char *const set[] = { path[0], path[1] };
    const gsa_session_options options = { .recipe = r->path,
                                          .overrides = set,
                                          .n_overrides = 2,
                                          .splits = 3,
                                          .backend = r->backend,
                                          .say = say_nothing };
    ck_assert_msg(gsa_session_create(gsa_system_default(), &options, s, &r->error) == GSA_OK, "%s",
                  r->error.text);
    ck_assert_ptr_nonnull(s->prefetch);
}

enum { AT_A_TIME = 4, OUTPUTS = 2 };

static void compute(gsa_session *s, const gsa_wanted *now, const gsa_wanted *next,
                    double out[AT_A_TIME * OUTPUTS])
{
    gsa_error error;
    ck_assert_msg(gsa_session_compute(s, now, next, &error) == GSA_OK, "%s", error.text);
    memcpy(out, s->out, (size_t)(now->count * OUTPUTS) * sizeof *out);
}

/* Whatever was requested, one gets what one needs. */
START_TEST(another_batch_than_was_asked_for)
{
    static const int64_t example[] = { 3, 1, 0, 2, 7, 5, 6, 4, 9, 8, 1, 2 };
    static const struct {
        int asked, taken; /* wishes; -1: none */
    } rows[] = { { 1, 1 }, { 1, 0 }, { -1, 1 }, { 2, 1 }, { 3, 1 },
                 { 4, 4 }, { 4, 0 }, { 0, 3 },  { 3, 3 }, { 2, 2 } };
    const gsa_wanted wish[] = { { .split = GSA_SPLIT_TRAIN, .count = 4, .example = example },
                                { .split = GSA_SPLIT_TRAIN, .count = 4, .example = example + 4 },
                                { .split = GSA_SPLIT_TRAIN, .count = 3, .example = example + 4 },
                                { .split = GSA_SPLIT_DEV, .count = 4, .example = example },
                                { .split = GSA_SPLIT_TRAIN, .count = 0, .example = example } };
    double want[GSA_COUNT(wish)][AT_A_TIME * OUTPUTS] = { 0 }, got[AT_A_TIME * OUTPUTS];
    rig r;
    gsa_session s;
    open_session(&r, &s);
    for (int w = 0; w < GSA_COUNT(wish); w++) compute(&s, &wish[w], NULL, want[w]);
    for (int i = 0; i < GSA_COUNT(rows); i++) {
        compute(&s, &wish[0], rows[i].asked < 0 ? NULL : &wish[rows[i].asked], got);
        ck_assert_mem_eq(got, want[0], sizeof got);
        compute(&s, &wish[rows[i].taken], &wish[1], got); /* the last one is never taken */
        ck_assert_mem_eq(got, want[rows[i].taken],
                         (size_t)(wish[rows[i].taken].count * OUTPUTS) * sizeof *got);
    }
    gsa_session_ask(&s, &wish[1]);
    gsa_session_ask(&s, &wish[2]);
    gsa_session_release(&s);
    rig_close(&r);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test bits[] = { GSA_LOOP(results_are_the_same, GSA_COUNT(recipes)),
                                     GSA_LOOP(resume_in_the_middle_of_an_epoch,
                                              GSA_COUNT(recipes)) };
    static const gsa_test failures[] = { GSA_TEST(a_pattern_fails_at_its_step),
                                         GSA_TEST(a_read_fails_at_its_step),
                                         GSA_LOOP(no_memory_for_a_batch_ahead, 2) };
    static const gsa_test thread[] = { GSA_LOOP(it_takes_no_signals, 2),
                                       GSA_TEST(another_batch_than_was_asked_for) };
    static const gsa_case cases[] = { GSA_CASE("bits", bits, 60),
                                      GSA_CASE("failures", failures, 120),
                                      GSA_CASE("thread", thread, 30) };
    return gsa_run_suite("prefetch", cases, GSA_COUNT(cases), argc, argv);
}
