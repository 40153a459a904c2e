/* Every task on a device: whole training steps and evaluations, every op of a model from embedding
 * to optimiser and decoding as kernels; losses and scores stay with ref's. One source, two programs
 * without Check: on the executor (GSA_ON_EXECUTOR), where device memory is shut to the host (under
 * AddressSanitizer a touch dies at the place), and on a device (77: there is none).
 *
 *   test_train_cuda [TASK...] */
#include "kernels/cuda.h"
#include "train/driver.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(GSA_ON_EXECUTOR)
#include "simt.h"
#endif

#define MODEL                                                                                      \
    "hidden = 8\nheads = 2\nffn = 12\ninput = norm_dropout\ndropout_input = "                      \
    "0.1\ndropout_attention = 0.2\n"                                                               \
    "dropout_hidden = 0.1\ndropout_ffn = 0.1\ndropout_head = 0.2\nposition = "                     \
    "learned\nposition_max = 32\nbias = q,v,o\n"
#define TRAINING                                                                                   \
    "[train]\nseed = 5\nepochs = 2\nbatch = 4\naccumulate = 2\nbucket = 2\nlr = 0.01\nclip = "     \
    "1\nreport_every = 1\n"                                                                        \
    "schedule = cosine\nwarmup = 2\noptimizer = adamw\nweight_decay = 0.01\naverage = 0.9\n"

enum { FILES = 4 };
static const struct task {
    const char *name, *recipe;
    const char *file[FILES][2]; /* name and bytes; data.train is the first, data.dev the second */
} tasks[] = {
    { "star",
      "[task]\nname = masked_summation\nn = 12\nk = 4\nd = 3\ntrain = 96\ndev = 16\ntest = "
      "16\n[model]\nencoder = star*1\n"
      "hidden = 8\nheads = 2\ndropout_attention = 0.1\ndropout_hidden = 0.1\n"
      "[train]\nepochs = 2\nbatch = 16\nreport_every = 1\noptimizer = adam\nlr = 0.002\n",
      { { NULL, NULL } } },
    { "window",
      "[task]\nname = masked_summation\nn = 12\nk = 4\nd = 3\ntrain = 96\ndev = 16\ntest = "
      "16\n[model]\n"
      "encoder = window:width=5*1,full:clip=3*1\nhidden = 8\nheads = 2\ndropout_attention = 0.1\n"
      "[train]\nepochs = 2\nbatch = 16\nreport_every = 1\noptimizer = sgd\nmomentum = 0.9\nlr = "
      "0.01\n",
      { { NULL, NULL } } },
    { "text",
      "[task]\nname = text_classification\n[model]\nencoder = full,star\n" MODEL TRAINING,
      { { "train.tsv",
          "good\ta fine film\nbad\tdull\ngood\tso very good indeed , yes\nbad\tan awful "
          "mess\ngood\tfun\nbad\tno fun\n"
          "good\twarm and funny\nbad\tcold , slow and long\ngood\tfine acting\nbad\tbad acting\n" },
        { "dev.tsv", "good\ta good film\nbad\tan awful story\ngood\tfunny\nbad\tno , no , no "
                     "unseen words\n" } } },
    { "pairs",
      "[task]\nname = sentence_pairs\n[model]\nencoder = bpt:k=1,bpt:k=1+cross\nhead_hidden = "
      "6\n" MODEL TRAINING,
      { { "pairs.tsv", "yes\ta red cat sat\ta cat sat\nno\ta red cat sat\ta dog sat\nyes\tfine "
                       "day\tday\nno\tfine day\tnight\n"
                       "yes\ta b c d e f g\tg\nno\ta b c\tg f e d c b a\n" },
        { "dev.tsv", "yes\tone two\ttwo\nno\tone two six\tseven\n" } } },
    { "language",
      "[task]\nname = language_modelling\naux = 0.5\n[model]\nencoder = "
      "bpt:k=1:causal=1*2,window:width=3:causal=1\ntied = "
      "1\n" MODEL TRAINING
      "label_smoothing = 0.1\n[data]\ntokens = chars\nwindow = 6\nstride = 3\n",
      { { "train.txt", "the cat sat on the mat\nthe dog sat on the log\n\nno" },
        { "dev.txt", "the dog ate\n" } } },
    { "tagging",
      "[task]\nname = tagging\nhead = crf\nlegal = 1\n[model]\nencoder = full,star\nhead_hidden = "
      "6\nembedding = 5\n"
      "characters = ring,full\ncharacter_hidden = 6\ncharacter_heads = 2\ncharacter_dropout = "
      "0.1\n" MODEL TRAINING "[data]\ncapitals = 1\n",
      { { "tags.train",
          "Ann 1 I-PER\nsaw 1 O\nBonn 1 I-LOC\n\nin 2 O\nBonn 2 I-LOC\nRome 2 B-LOC\n. 2 O\n\nBob "
          "3 I-PER\nLee 3 I-PER\n"
          "ran 3 O\n\nthe 4 O\ncat 4 O\nsat 4 O\n\nyes 7 O\n\nRome 13 I-LOC\nsat 13 O\n" },
        { "tags.dev",
          "Ann 1 I-PER\nin 1 O\nBonn 1 I-LOC\n\nBob 2 I-PER\nsaw 2 O\nZoe 2 I-PER\n" } } },
    { "tagging_legal",
      "[task]\nname = tagging\nlegal = 1\n[model]\nencoder = window:width=3\n" MODEL TRAINING,
      { { "tags.train",
          "Ann 1 I-PER\nsaw 1 O\nBonn 1 I-LOC\n\nin 2 O\nBonn 2 I-LOC\nRome 2 B-LOC\n. 2 O\n" },
        { "tags.dev", "Ann 1 I-PER\nin 1 O\nBonn 1 I-LOC\n" } } },
    { "spans",
      "[task]\nname = span_extraction\nmatch = 1\n[model]\nencoder = window:width=5*2\nhead_hidden "
      "= 12\n" MODEL TRAINING "[data]\nwindow = 9\nstride = 4\nanswer_max = 4\n",
      { { "train.json", "{\"data\": [{\"paragraphs\": [{\"context\": \"k1 v2 . k3 v7 v1 .\", "
                        "\"qas\": [{\"id\": \"a\", \"question\": \"k1 "
                        "?\", \"answers\": [{\"text\": \"v2\", \"answer_start\": 3}]}, {\"id\": "
                        "\"b\", \"question\": \"k3 ?\", "
                        "\"answers\": "
                        "[{\"text\": \"v7 v1\", \"answer_start\": 11}]}]}, {\"context\": \"k3 v4 . "
                        "k5 v6 .\", \"qas\": [{\"id\": \"c\", "
                        "\"question\": \"k5 ?\", \"answers\": [{\"text\": \"v6\", "
                        "\"answer_start\": 11}]}]}]}]}" },
        { "dev.json", "{\"data\": [{\"paragraphs\": [{\"context\": \"k3 v4 . k1 v6 .\", \"qas\": "
                      "[{\"id\": \"d\", \"question\": \"k1 "
                      "?\", \"answers\": [{\"text\": \"v6\", \"answer_start\": 11}]}]}]}]}" } } },
    { "nodes",
      "[task]\nname = node_classification\n[model]\nencoder = full\nhidden = 8\nheads = 2\n"
      "[train]\nepochs = 3\nbatch = 1\nreport_every = 1\n",
      { { "nodes.tsv",
          "0\ttrain\tx\t0:1 3:0.5\n1\tdev\ty\t1\n2\ttrain\ty\t2\n3\ttest\tx\t0\n4\ttrain\tx\t0:2 "
          "1:1\n" } } },
    { "translation",
      "[task]\nname = translation\n[model]\nencoder = bpt:k=1,full\ndecoder = "
      "bpt:k=1:causal=1,full:causal=1+cross\n"
      "hidden = 8\nheads = 2\nffn = 8\nposition = sinusoid\ntied = 1\ndropout_input = "
      "0.1\ndropout_hidden = 0.1\n"
      "[train]\nseed = 5\nbatch = 4\nepochs = 2\nreport_every = 1\nlabel_smoothing = 0.1\n"
      "[data]\nsource = a\ntarget = b\n",
      { { "t.a", "p q\nq q p\nq\nq q q q\np\n" },
        { "d.a", "q p\np p q\n" },
        { "t.b", "q p\np q q\nq\nq q q q\np\n" },
        { "d.b", "p q\nq p p\n" } } },
};
enum { TASKS = sizeof tasks / sizeof *tasks, LOSSES = 64, SCORES = 32 };

typedef struct outcome {
    double loss[LOSSES], score[SCORES];
    int losses, scores;
    int steps, graph_steps; /* -1: not told */
    int64_t waited, waits;  /* of the host: up to a step that another follows at once, and between
                               two such at most */
} outcome;

static int64_t waits_so_far(void)
{
#if defined(GSA_ON_EXECUTOR)
    return simt_waits();
#else
    return 0;
#endif
}

static void note(void *context, const gsa_progress *p)
{
    outcome *o = context;
    if (p->kind < 2 && o->losses < LOSSES) o->loss[o->losses++] = p->loss;
    const int64_t now = waits_so_far();
    if (p->kind == 0 && o->waited > 0 && (o->waits == 0 || now - o->waited > o->waits))
        o->waits = now - o->waited;
    o->waited = p->kind == 0 ? now : 0;
}

/* What the result says of dev data: "dev_f1": 0.5 and so on. */
static void read_scores(outcome *o, const char *result)
{
    for (const char *at = result; (at = strstr(at, "\"dev_")) != NULL && o->scores < SCORES; at++) {
        const char *colon = strchr(at, ':');
        char *end;
        const double value = colon ? strtod(colon + 1, &end) : 0;
        if (colon && end > colon + 1) o->score[o->scores++] = value;
    }
}

static int read_count(const char *result, const char *key)
{
    const char *at = strstr(result, key);
    return at ? atoi(at + strlen(key)) : -1;
}

static const char *in_folder(char path[512], const char *folder, const char *key, const char *name)
{
    snprintf(path, 512, "%s%s/%s", key, folder, name);
    return path;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) abort();
}

/* Files whose name has a second half (t.a, t.b) are named by the first. */
static gsa_status train(gsa_backend *b, const struct task *task, const char *folder, outcome *o,
                        gsa_error *error)
{
    char recipe[512], path[2][512];
    const char *sets[2] = { NULL, NULL }, *const keys[] = { "data.train=", "data.dev=" };
    const int parallel = task->file[3][0] != NULL;
    char *result = NULL;
    int count = 0;
    for (; count < 2 && task->file[count][0]; count++) {
        sets[count] = in_folder(path[count], folder, keys[count], task->file[count][0]);
        if (parallel) *strrchr(path[count], '.') = 0;
    }
    const gsa_train_options options = { .recipe = in_folder(recipe, folder, "", "recipe.ini"),
                                        .overrides = sets,
                                        .n_overrides = count,
                                        .threads = 1,
                                        .progress = note,
                                        .context = o,
                                        .backend = b };
    const gsa_status status = gsa_train(NULL, &options, &result, error);
    if (status == GSA_OK) {
        read_scores(o, result);
        o->steps = read_count(result, "\"steps\": "),
        o->graph_steps = read_count(result, "\"graph_steps\": ");
    }
    gsa_release(gsa_system_default(), result);
    return status;
}

/* The largest gap, relative to ref's where that is more than 1. */
static double gap_of(const double *x, const double *wanted, int count)
{
    double worst = 0;
    for (int i = 0; i < count; i++) {
        const double scale = fabs(wanted[i]) > 1 ? fabs(wanted[i]) : 1,
                     gap = fabs(x[i] - wanted[i]) / scale;
        if (!(gap <= worst)) worst = gap;
    }
    return worst;
}

/* A run of the task on a backend of its own; 1 when it went well. */
enum side { REF, CALLS, BF16, GRAPHS, TF32 };
static int train_on(enum side side, const struct task *task, const char *folder, outcome *o)
{
    gsa_backend *b = NULL;
    gsa_error error = { 0 };
    static const char *const devices[] = { "ref", "cuda", "cuda-bf16", "cuda-graphs", "cuda-tf32" };
    gsa_status status = gsa_backend_open(NULL, devices[side], GSA_F32, 1, &b, &error);
    if (status == GSA_OK) status = train(b, task, folder, o, &error);
    gsa_backend_release(b);
    if (status != GSA_OK) fprintf(stderr, "FAILED: %s: %s\n", task->name, error.text);
    return status == GSA_OK;
}

static int same_bits(const outcome *a, const outcome *b)
{
    return a->losses == b->losses && a->scores == b->scores &&
           memcmp(a->loss, b->loss, sizeof a->loss) == 0 &&
           memcmp(a->score, b->score, sizeof a->score) == 0;
}

#if !defined(GSA_ON_EXECUTOR)
enum { SIMT_AT_ONCE, SIMT_LATE, SIMT_BEHIND };
#endif
static void late(int how)
{
#if defined(GSA_ON_EXECUTOR)
    simt_late(how);
#else
    (void)how;
#endif
}

/* Uploads that overtake the work wherever nothing holds them back change no bit. */
static int compare_ahead(const struct task *task, const char *folder, const outcome *calls)
{
    outcome ahead = { .losses = 0 };
    late(SIMT_BEHIND);
    const int ran = train_on(CALLS, task, folder, &ahead);
    late(SIMT_AT_ONCE);
    if (ran && same_bits(calls, &ahead)) return 0;
    fprintf(stderr, "FAILED: %s: uploads ahead overtake what they must not\n", task->name);
    return 1;
}

/* Whose steps are graphs has every bit of whose are not: those run late, when the host waits, so
 * that whatever the host or a later call changes too early shows. All steps but the first are to be
 * graphs, of as many calls in every batch or not. */
static int compare_graphs(const struct task *task, const char *folder, const outcome *calls)
{
    outcome graphs = { .losses = 0 };
    late(SIMT_LATE);
    const int ran = train_on(GRAPHS, task, folder, &graphs);
    late(SIMT_AT_ONCE);
    if (!ran) return 1;
    printf("%s: %d of %d steps as graphs\n", task->name, graphs.graph_steps, graphs.steps);
    if (same_bits(calls, &graphs) && calls->graph_steps == -1 &&
        graphs.graph_steps == graphs.steps - 1)
        return 0;
    fprintf(stderr, "FAILED: %s: steps that are graphs differ from those that are not\n",
            task->name);
    return 1;
}

static int compare(const struct task *task, const char *folder)
{
    outcome cuda = { .losses = 0 }, bf16 = { .losses = 0 }, tf32 = { .losses = 0 },
            ref = { .losses = 0 };
    if (!train_on(CALLS, task, folder, &cuda) || !train_on(BF16, task, folder, &bf16) ||
        !train_on(TF32, task, folder, &tf32) || !train_on(REF, task, folder, &ref))
        return 1;
    const double loss = gap_of(cuda.loss, ref.loss, ref.losses),
                 score = gap_of(cuda.score, ref.score, ref.scores),
                 in_bf16 = gap_of(bf16.loss, ref.loss, ref.losses),
                 in_tf32 = gap_of(tf32.loss, ref.loss, ref.losses);
    printf("%s: %d losses, last %.6f, %d scores; largest gaps to ref %.2g, %.2g, in tf32 %.2g, in "
           "bf16 %.2g; %lld waits a step\n",
           task->name, ref.losses, ref.losses ? ref.loss[ref.losses - 1] : 0.0, ref.scores, loss,
           score, in_tf32, in_bf16, (long long)cuda.waits);
    const int close = cuda.losses == ref.losses && ref.losses > 1 && loss <= 1e-4 &&
                      cuda.scores == ref.scores && score <= 1e-3 && bf16.losses == ref.losses &&
                      in_bf16 <= 1e-1 && tf32.losses == ref.losses && in_tf32 <= 2e-2;
    if (!close) fprintf(stderr, "FAILED: %s: the losses or the scores part\n", task->name);
#if defined(GSA_CHECKED)
    const int waits = 0; /* checked builds read what is wrong with edges when they are first used */
#else
    const int waits = cuda.waits > 1; /* the norm of the gradients and the losses, at each report */
#endif
    if (waits)
        fprintf(stderr, "FAILED: %s: the host waits %lld times a step\n", task->name,
                (long long)cuda.waits);
    return !close + waits + compare_ahead(task, folder, &cuda) +
           compare_graphs(task, folder, &cuda);
}

static int run_task(const struct task *task)
{
    char folder[] = "/tmp/gsa-tasks-XXXXXX", path[512];
    if (mkdtemp(folder) == NULL) abort();
    write_file(in_folder(path, folder, "", "recipe.ini"), task->recipe);
    for (int i = 0; i < FILES && task->file[i][0]; i++)
        write_file(in_folder(path, folder, "", task->file[i][0]), task->file[i][1]);
    const int failures = compare(task, folder);
    unlink(in_folder(path, folder, "", "recipe.ini"));
    for (int i = 0; i < FILES && task->file[i][0]; i++)
        unlink(in_folder(path, folder, "", task->file[i][0]));
    rmdir(folder);
    return failures;
}

int main(int argc, char **argv)
{
    int failures = 0, ran = 0;
    gsa_backend *b = NULL;
    gsa_error error = { 0 };
    if (gsa_backend_cuda(NULL, GSA_F32, 0, &b, &error) != GSA_OK) {
        printf("skipped: %s\n", error.text);
        return 77;
    }
    gsa_backend_release(b);
    for (int i = 0; i < TASKS; i++) {
        int wanted = argc < 2;
        for (int a = 1; a < argc; a++) wanted |= strcmp(argv[a], tasks[i].name) == 0;
        if (wanted) failures += run_task(&tasks[i]), ran++;
    }
#if defined(GSA_ON_EXECUTOR)
    if (simt_live() != 0)
        failures++, fprintf(stderr, "FAILED: %lld allocations are left on the device\n",
                            (long long)simt_live());
#endif
    printf("Checks: %d, Failures: %d\n", ran + 2, failures);
    return failures > 0 || ran == 0;
}
