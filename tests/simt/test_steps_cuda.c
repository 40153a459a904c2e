/* What a run of steps asks of a device, and when: the next batch's arrays go up before the numbers
 * of a step are read; numbers are read when somebody needs to know them; and a norm that is not
 * finite is told with its step, or skipped, as if each had been read at once. One source, two
 * programs without Check: on the executor (GSA_ON_EXECUTOR) and on a device (77: there is none). */
#include "kernels/cuda.h"
#include "gsa/tape.h"
#include "train/driver.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(GSA_ON_EXECUTOR)
#include "simt.h"
#endif

static int checks, failures;

__attribute__((format(printf, 2, 3))) static void check(int good, const char *what, ...)
{
    va_list list;
    checks++;
    if (good) return;
    failures++;
    fprintf(stderr, "FAILED: ");
    va_start(list, what);
    vfprintf(stderr, what, list);
    va_end(list);
    fprintf(stderr, "\n");
}

static void lateness(int how)
{
#if defined(GSA_ON_EXECUTOR)
    simt_late(how);
#else
    (void)how;
#endif
}
#if !defined(GSA_ON_EXECUTOR)
enum { SIMT_AT_ONCE, SIMT_LATE, SIMT_BEHIND };
#endif

/* ---- a backend whose calls are written down: A of the optimiser, D download, U upload ahead, u
 * upload, and R: it is said that batches wait their turn */
static struct {
    gsa_backend of; /* its own entries */
    char call[1 << 16];
    int calls;
    int spoils[8], n_spoils; /* steps, counted from 0, in which attention gives a NaN */
    int breaks_at;           /* the nth upload ahead takes the device with it; 0: none */
    int no_memory_at;  /* the nth allocation of a run fails, graphs and pinned memory counted; 0:
                          none */
    const char *error; /* what the backend said last before the run; NULL: nothing */
    const gsa_system *system;
} spy;

static void note(char call)
{
    if (spy.calls + 1 < (int)sizeof spy.call) spy.call[spy.calls++] = call;
}

static gsa_status noted_download(gsa_backend *b, void *to, const void *from, int64_t bytes)
{
    note('D');
    return spy.of.download(b, to, from, bytes);
}

static gsa_status noted_upload(gsa_backend *b, void *to, const void *from, int64_t bytes)
{
    note('u');
    return spy.of.upload(b, to, from, bytes);
}

static gsa_status noted_ahead(gsa_backend *b, void *to, const void *from, int64_t bytes)
{
    note('U');
#if defined(GSA_ON_EXECUTOR)
    if (spy.breaks_at > 0 && --spy.breaks_at == 0) simt_break(cudaErrorIllegalAddress);
#endif
    return spy.of.upload_ahead(b, to, from, bytes);
}

static gsa_status noted_adam(gsa_backend *b, void *w, void *m, void *v, const void *g,
                             const double *control, const gsa_adam *adam, int64_t count)
{
    note('A');
    return spy.of.adam(b, w, m, v, g, control, adam, count);
}

/* Keyed by the step alone, so that a step which runs again is spoilt again. */
static gsa_status spoilt_attention(gsa_backend *b, const gsa_attend_args *args)
{
    const float nan = NAN;
    const gsa_status status = spy.of.attend_forward(b, args);
    for (int i = 0; i < spy.n_spoils && status == GSA_OK; i++)
        if (args->dropout.p > 0 && (int)args->dropout.step == spy.spoils[i])
            return spy.of.upload(b, args->out, &nan, sizeof nan);
    return status;
}

static gsa_backend *open_spied(const char *device)
{
    gsa_backend *b = NULL;
    gsa_error error = { 0 };
    if (gsa_backend_open(NULL, device, GSA_F32, 1, &b, &error) != GSA_OK) {
        printf("skipped: %s\n", error.text);
        exit(77);
    }
    spy.of = *b, spy.calls = 0;
    b->download = noted_download, b->upload = noted_upload, b->adam = noted_adam,
    b->attend_forward = spoilt_attention;
    if (b->upload_ahead) b->upload_ahead = noted_ahead;
    return b;
}

/* ---- runs ---------------------------------------------------------------------------------- */
static const char recipe[] =
    "[task]\nname = masked_summation\nn = 6\nk = 2\nd = 3\ntrain = 48\ndev = 8\ntest = "
    "8\n[model]\nencoder = star*1\n"
    "hidden = 8\nheads = 2\ndropout_attention = 0.1\ndropout_hidden = 0.1\n"
    "[train]\nepochs = 2\nbatch = 8\noptimizer = adam\nlr = 0.002\nclip = 1\n";
enum { STEPS = 12, IN_EPOCH = 6, SETS = 6 };

typedef struct told {
    gsa_status status;
    gsa_error error;
    char result[4096];
    double last;          /* loss of the last report or epoch */
    int reports, in_turn; /* in_turn: how often it was said that batches wait their turn */
} told;

static void note_progress(void *context, const gsa_progress *p)
{
    told *t = context;
    if (p->kind == 2) {
        if (strncmp(p->text, "batches are uploaded in their turn", 34) == 0)
            t->in_turn++, note('R');
        return;
    }
    t->last = p->loss;
    t->reports += p->kind == 0;
}

static told run_in(const char *device, int late, const char *out, const char *resume,
                   const char *const *sets)
{
    char path[] = "/tmp/gsa-steps-XXXXXX", *result = NULL;
    told t = { .status = GSA_OK };
    const int file = mkstemp(path);
    if (file < 0 || write(file, recipe, sizeof recipe - 1) != (ssize_t)(sizeof recipe - 1)) abort();
    close(file);
    gsa_train_options options = { .recipe = resume ? NULL : path,
                                  .resume = resume,
                                  .out = out,
                                  .overrides = sets,
                                  .threads = 1,
                                  .progress = note_progress,
                                  .context = &t };
    while (sets && sets[options.n_overrides]) options.n_overrides++;
    lateness(late);
    options.backend = open_spied(device);
#if defined(GSA_ON_EXECUTOR)
    simt_fail_malloc(spy.no_memory_at);
#endif
    if (spy.error) gsa_fail(&options.backend->error, GSA_ERR_MEMORY, "%s", spy.error);
    t.status = gsa_train(spy.system, &options, &result, &t.error);
#if defined(GSA_ON_EXECUTOR)
    simt_fail_malloc(0);
#endif
    gsa_backend_release(options.backend);
    lateness(SIMT_AT_ONCE);
    if (result) snprintf(t.result, sizeof t.result, "%s", result);
    gsa_release(gsa_system_default(), result);
    unlink(path);
    return t;
}

static double number(const told *t, const char *key)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, "\"%s\": ", key);
    const char *at = strstr(t->result, wanted);
    return at ? strtod(at + strlen(wanted), NULL) : -1;
}

static void same(const told *a, const told *b, const char *what)
{
    static const char *const keys[] = { "dev_mse", "test_mse", "skipped_steps", "steps" };
    check(a->status == b->status, "%s: %s and %s", what, a->error.text, b->error.text);
    if (a->status != GSA_OK || b->status != GSA_OK) return;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        check(number(a, keys[i]) == number(b, keys[i]), "%s: %s is %.17g and %.17g", what, keys[i],
              number(a, keys[i]), number(b, keys[i]));
    check(a->last == b->last, "%s: the last loss is %.17g and %.17g", what, a->last, b->last);
}

/* How often numbers were read after an optimiser's step, and before how many of these readings
 * something was uploaded ahead. */
static void count_reads(int *reads, int *behind)
{
    int applied = 0, ahead = 0;
    *reads = *behind = 0;
    for (int i = 0; i < spy.calls; i++) {
        if (spy.call[i] == 'A') applied = 1, ahead = 0;
        if (spy.call[i] == 'U') ahead = 1;
        if (spy.call[i] != 'D' || !applied) continue;
        ++*reads, *behind += ahead;
        applied = 0;
    }
}

/* ---- uploads ahead ------------------------------------------------------------------------- */
/* The room is found in the first step; the last step of an epoch, before an evaluation and another
 * order, has none after it. */
static void order_of_calls(void)
{
    static const char *const each[] = { "train.report_every=1", NULL }, *const never[] = {
        "train.report_every=0", NULL
    };
    int reads, behind;
    const told often = run_in("cuda", SIMT_AT_ONCE, NULL, NULL, each);
    count_reads(&reads, &behind);
    check(reads == STEPS && behind == STEPS - 3, "%d of %d readings came behind an upload ahead",
          behind, reads);
    const told seldom = run_in("cuda", SIMT_AT_ONCE, NULL, NULL, never);
    count_reads(&reads, &behind);
    check(reads == STEPS / IN_EPOCH, "%d readings without reports", reads);
    check(often.reports == STEPS && seldom.reports == 0, "%d and %d reports", often.reports,
          seldom.reports);
    same(&often, &seldom, "with and without reports");
}

/* Whatever runs ahead of what, with graphs and without, in pieces and whole, and without anything
 * ahead: the same bits. */
static void same_bits(void)
{
    static const char *const pieces[][4] = { { "train.batch=8", "train.report_every=0", NULL,
                                               NULL },
                                             { "train.batch=3", "train.accumulate=3",
                                               "train.report_every=4", NULL },
                                             { "train.batch=48", "train.report_every=1", NULL,
                                               NULL } /* one batch an epoch */ };
    static const char *const devices[] = { "cuda", "cuda-graphs" };
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        const char *const alone[] = { pieces[i][0], pieces[i][1],
                                      pieces[i][2] ? pieces[i][2] : "train.prefetch=0",
                                      "train.prefetch=0", NULL };
        const told without = run_in("cuda", SIMT_AT_ONCE, NULL, NULL, alone);
        check(without.status == GSA_OK && !memchr(spy.call, 'U', (size_t)spy.calls),
              "without prefetch: %s", without.error.text);
        for (int d = 0; d < 2; d++)
            for (int late = SIMT_AT_ONCE; late <= SIMT_BEHIND; late++) {
                const told with = run_in(devices[d], late, NULL, NULL, pieces[i]);
                same(&with, &without, devices[d]);
                check(i == 2 || memchr(spy.call, 'U', (size_t)spy.calls), "%s: nothing went ahead",
                      devices[d]);
            }
    }
}

/* A round of the tape: what an upload of the array gives, and whether it went up in its turn. */
static float uploaded(gsa_backend *b, gsa_tape *tape, const float *host, int64_t bytes,
                      int *in_turn)
{
    float first = -1;
    spy.calls = 0;
    gsa_tape_reset(tape, 0, 0, 0);
    const void *at = gsa_tape_upload(tape, host, bytes);
    *in_turn = memchr(spy.call, 'u', (size_t)spy.calls) != NULL;
    if (!at || b->download(b, &first, at, sizeof first) != GSA_OK)
        check(0, "an upload: %s", b->error.text);
    return first;
}

/* What was offered counts where the round is the one it was offered for, and nowhere else. */
static void offers(void)
{
    enum { COUNT = 100, BYTES = COUNT * 4 };
    static float host[COUNT];
    gsa_backend *b = open_spied("cuda");
    gsa_tape *tape;
    gsa_error error;
    int in_turn;
    if (gsa_tape_create(gsa_system_default(), b, &tape, &error) != GSA_OK) abort();
    for (int round = 0; round < 12; round++) {
        const int as_offered = round % 2, forgotten = round % 3 == 2, whole = round % 4 < 3;
        host[0] = (float)round;
        check(gsa_tape_ahead(tape, host, whole ? BYTES : BYTES - 4, &error) == GSA_OK, "%s",
              error.text);
        if (forgotten) gsa_tape_forget_ahead(tape);
        gsa_tape_expect(tape, as_offered);
        const int good = round > 0 && as_offered && !forgotten && whole;
        if (!as_offered || forgotten) host[0] += 100; /* it is another array by now */
        check(uploaded(b, tape, host, BYTES, &in_turn) == host[0], "round %d: an array of before",
              round);
        check(in_turn == !good, "round %d: went up %s", round, in_turn ? "in its turn" : "ahead");
    }
    gsa_tape_release(tape);
    gsa_backend_release(b);
}

/* ---- norms that are not finite ------------------------------------------------------------- */
static void spoil(int n, int a, int b, int c)
{
    spy.n_spoils = n;
    spy.spoils[0] = a, spy.spoils[1] = b, spy.spoils[2] = c;
}

static void bad_steps(void)
{
    static const char *const each[] = { "train.report_every=1", NULL };
    static const char *const often[] = { "train.report_every=1", "train.check_nan=0",
                                         "train.average=0.9", NULL };
    static const char *const late[] = { "train.report_every=0", "train.check_nan=0",
                                        "train.average=0.9", NULL };
    static const char *const some[] = { "train.report_every=4", NULL };
    spoil(2, 4, 9, 0);
    const told at_once = run_in("cuda", SIMT_AT_ONCE, NULL, NULL, each);
    check(at_once.status == GSA_ERR_NUMBER && strncmp(at_once.error.text, "step 5: ", 8) == 0,
          "a NaN at once: %s", at_once.error.text);
    for (int d = 0; d < 2; d++) {
        const told later = run_in(d ? "cuda-graphs" : "cuda", SIMT_LATE, NULL, NULL, some);
        check(later.status == GSA_ERR_NUMBER && strcmp(later.error.text, at_once.error.text) == 0,
              "a NaN, read late: %s", later.error.text);
    }
    spoil(3, 1, 2, 9);
    const told skipped = run_in("cuda", SIMT_AT_ONCE, NULL, NULL, often);
    check(number(&skipped, "skipped_steps") == 3, "skipped: %s %s", skipped.error.text,
          skipped.result);
    const told skipped_late = run_in("cuda-graphs", SIMT_LATE, NULL, NULL, late),
               ref = run_in("ref", SIMT_AT_ONCE, NULL, NULL, often);
    same(&skipped, &skipped_late, "skipped, read late");
    const double graphs =
        number(&skipped_late, "graph_steps"); /* a step that runs again is one step */
    check(graphs > 0 && graphs <= STEPS, "%g of %d steps as graphs", graphs, STEPS);
    check(number(&ref, "skipped_steps") == 3 &&
              fabs(number(&ref, "dev_mse") - number(&skipped, "dev_mse")) <= 1e-4,
          "skipped: dev_mse %g, by ref %g", number(&skipped, "dev_mse"), number(&ref, "dev_mse"));
    spoil(0, 0, 0, 0);
}

/* The last checkpoint is one of before the bad step, and the run that goes on from it is the one
 * that had none. */
static void nothing_wrong_is_saved(void)
{
    static const char *const sets[] = { "train.report_every=0", "train.checkpoint_every=3",
                                        "train.eval_every=50", NULL };
    char folder[] = "/tmp/gsa-steps-run-XXXXXX", command[64];
    if (!mkdtemp(folder)) abort();
    const told whole = run_in("cuda", SIMT_AT_ONCE, NULL, NULL, sets);
    spoil(1, 7, 0, 0);
    const told broken = run_in("cuda", SIMT_LATE, folder, NULL, sets);
    check(broken.status == GSA_ERR_NUMBER && strncmp(broken.error.text, "step 8: ", 8) == 0, "%s",
          broken.error.text);
    spoil(0, 0, 0, 0);
    const told resumed = run_in("cuda", SIMT_AT_ONCE, NULL, folder, NULL);
    same(&resumed, &whole, "going on from before a NaN");
    snprintf(command, sizeof command, "rm -r %s", folder);
    if (system(command) != 0) abort();
}

#if defined(GSA_ON_EXECUTOR)
static int ups_between(int from, int to)
{
    int ups = 0;
    for (int i = from; i < to; i++) ups += spy.call[i] == 'U';
    return ups;
}

/* Devices of all sizes about that at which a run fits: it fails with a sentence, or has its bits;
 * and where something that was to go ahead waits its turn this is said once, and nothing goes ahead
 * after it. */
static void no_memory(void)
{
    static const char *const sets[] = { "train.report_every=0", "train.max_steps=6", NULL };
    const told whole = run_in("cuda", SIMT_AT_ONCE, NULL, NULL, sets);
    const int ups = ups_between(0, spy.calls);
    int refused = 0, ahead = 0, in_turn = 0;
    for (int64_t bytes = (1 << 20) + (36 << 10); bytes < (1 << 20) + (100 << 10);
         bytes += 2 << 10) {
        simt_memory(bytes);
        const told t = run_in("cuda", SIMT_LATE, NULL, NULL, sets);
        const char *said = memchr(spy.call, 'R', (size_t)spy.calls);
        if (t.status == GSA_OK) {
            const int before = ups_between(0, said ? (int)(said - spy.call) : spy.calls),
                      all = ups_between(0, spy.calls);
            same(&t, &whole, "with little memory");
            check(t.in_turn == (all < ups), "%lld bytes: %d of %d arrays went ahead, said %d times",
                  (long long)bytes, all, ups, t.in_turn);
            check(before == all, "%lld bytes: %d arrays went ahead after it was said",
                  (long long)bytes, all - before);
            in_turn += t.in_turn;
        } else
            check(t.status == GSA_ERR_MEMORY &&
                      strstr(t.error.text, "bytes asked of device 0, which has") &&
                      strstr(t.error.text, "bytes free of"),
                  "%lld bytes: %s", (long long)bytes, t.error.text);
        refused += t.status != GSA_OK,
            ahead += t.status == GSA_OK && memchr(spy.call, 'U', (size_t)spy.calls) != NULL;
    }
    simt_memory(INT64_C(1) << 30);
    check(refused > 0 && ahead > 0 && in_turn > 0,
          "%d runs without memory, %d that went ahead, %d said why not", refused, ahead, in_turn);
}

/* Whichever allocation finds no memory, a graph's too: the run fails with a sentence, or is the run
 * that had all. */
static void no_memory_once(void)
{
    static const char *const sets[] = { "train.report_every=0", "train.accumulate=2",
                                        "train.epochs=1", NULL };
    const told whole = run_in("cuda-graphs", SIMT_AT_ONCE, NULL, NULL, sets);
    int failed = 0, graphs = 0;
    for (spy.no_memory_at = 10; spy.no_memory_at < 100; spy.no_memory_at++) {
        const told t = run_in("cuda-graphs", spy.no_memory_at % 2 ? SIMT_AT_ONCE : SIMT_LATE, NULL,
                              NULL, sets);
        if (t.status == GSA_OK) same(&t, &whole, "where an allocation fails");
        else
            check(t.status == GSA_ERR_MEMORY && strstr(t.error.text, "of device 0") &&
                      strstr(t.error.text, "bytes free of"),
                  "allocation %d: %s", spy.no_memory_at, t.error.text);
        failed += t.status != GSA_OK,
            graphs += strstr(t.error.text, "cudaGraphInstantiate") != NULL;
    }
    check(graphs >= 3, "%d runs failed, %d of them for want of a graph", failed, graphs);
    spy.no_memory_at = 0;
}

static void fill_device(void)
{
    size_t unused, total;
    cudaMemGetInfo(&unused, &total);
    simt_memory((int64_t)(total - unused));
}

/* The second room is not to be had, or a round of large tensors needs the one that is free: said
 * once, nothing goes ahead from there on, and what is in the other room is read where it was
 * expected. */
static void nothing_ahead_any_more(int by_tensors)
{
    enum { COUNT = 1 << 19, BYTES = COUNT * 4, FULL_AT = 4 };
    static float host[COUNT];
    gsa_backend *b = open_spied("cuda");
    gsa_tape *tape;
    gsa_error error;
    int refused = 0;
    if (gsa_tape_create(gsa_system_default(), b, &tape, &error) != GSA_OK) abort();
    for (int round = 0; round < 10; round++) {
        float first = -1;
        host[0] = (float)round, spy.calls = 0;
        check(gsa_tape_ahead(tape, host, BYTES, &error) == GSA_OK, "%s", error.text);
        check((memchr(spy.call, 'U', (size_t)spy.calls) != NULL) == (round > 0 && !refused),
              "round %d, %d refusals", round, refused);
        gsa_tape_expect(tape, 1);
        if (!by_tensors && round == 1) fill_device();
        gsa_tape_reset(tape, 0, 0, 0);
        const void *at = gsa_tape_upload(tape, host, BYTES);
        if (by_tensors && round == FULL_AT) fill_device();
        for (int i = 0; i < 2 && round == FULL_AT; i++)
            check(gsa_tape_memory(tape, BYTES) != NULL, "round %d: %s", round, b->error.text);
        check(at && b->download(b, &first, at, sizeof first) == GSA_OK && first == host[0],
              "round %d: %g", round, first);
        refused += gsa_tape_refused(tape) != NULL;
        simt_memory(INT64_C(1) << 30);
    }
    check(refused == 1, "it was said %d times", refused);
    gsa_tape_release(tape);
    gsa_backend_release(b);
}

static int host_countdown;
static void *alloc_or_not(void *user, size_t bytes)
{
    (void)user;
    if (--host_countdown == 0) return NULL;
    return gsa_system_default()->alloc(gsa_system_default()->user, bytes);
}

/* Memory of the host that is not there is told as such, whatever the backend said last. */
static void no_host_memory(void)
{
    static const char *const sets[] = { "train.report_every=0", "train.max_steps=1", NULL };
    gsa_system system = *gsa_system_default();
    int failed = 0, nth = 0;
    told t;
    system.alloc = alloc_or_not;
    spy.system = &system, spy.error = "of long ago";
    do {
        host_countdown = ++nth;
        t = run_in("cuda", SIMT_AT_ONCE, NULL, NULL, sets);
        failed += t.status != GSA_OK;
        check(!strstr(t.error.text, "of long ago"), "allocation %d of the host: %s", nth,
              t.error.text);
    } while (host_countdown <= 0 && nth < 5000);
    check(t.status == GSA_OK && failed > 20, "%d runs, %d without memory of the host: %s", nth,
          failed, t.error.text);
    spy.system = NULL, spy.error = NULL;
}

/* Stages of 4 MiB: the backend has two, uploads ahead need two more. Without them batches go up in
 * their turn, which is said once. */
static void no_pinned_memory(void)
{
    static const char *const sets[] = { "train.report_every=0", NULL };
    const told whole = run_in("cuda", SIMT_AT_ONCE, NULL, NULL, sets);
    check(whole.in_turn == 0, "batches wait their turn without a reason");
    for (int more = 0; more <= 3; more++)
        for (int d = 0; d < 2; d++) {
            simt_pinnable((INT64_C(2) + more) * (4 << 20) + (1 << 16));
            const told t = run_in(d ? "cuda-graphs" : "cuda", SIMT_LATE, NULL, NULL, sets);
            same(&t, &whole, "without pinned memory");
            const int ahead = memchr(spy.call, 'U', (size_t)spy.calls) != NULL;
            check(ahead == (more >= 2) && t.in_turn == (more < 2),
                  "%d stages: %s ahead, said %d times", 2 + more, ahead ? "goes" : "does not go",
                  t.in_turn);
        }
    simt_pinnable(INT64_MAX);
}

static void lost(void)
{
    for (int nth = 1; nth < 30; nth += 7) {
        spy.breaks_at = nth;
        const told t = run_in(nth % 2 ? "cuda" : "cuda-graphs", SIMT_LATE, NULL, NULL, NULL);
        simt_reset();
        check(t.status == GSA_ERR_DEVICE && strstr(t.error.text, "the device is lost"),
              "upload ahead %d: %s", nth, t.error.text);
    }
    spy.breaks_at = 0;
}
#endif

int main(void)
{
    order_of_calls();
    same_bits();
    offers();
    bad_steps();
    nothing_wrong_is_saved();
#if defined(GSA_ON_EXECUTOR)
    no_memory();
    no_memory_once();
    nothing_ahead_any_more(0);
    nothing_ahead_any_more(1);
    no_host_memory();
    no_pinned_memory();
    lost();
    check(simt_live() == 0, "%lld allocations are left", (long long)simt_live());
#endif
    printf("Checks: %d, Failures: %d\n", checks, failures);
    return failures > 0;
}
