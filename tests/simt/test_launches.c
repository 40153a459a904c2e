/* How many operations a training step gives to a device: kernels, copies, fills and products, for
 * three recipes with their layers, options and optimisers, but narrow and with little data. The
 * counts are those of launches.table, to the last one.
 *
 *   test_launches TABLE     compare
 *   test_launches           print the table
 *   test_launches NAME      print what one recipe's steps are made of */
#include "kernels/cuda.h"
#include "simt.h"
#include "train/driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    EARLY = 2,
    LATE = 6,
    EARLY_GRAPH = 40,
    LATE_GRAPH = 100,
    NAMES = 128,
    SETS = 24,
    KINDS = 4,
    PATH = 256
};
static const char *const kind_names[KINDS] = { "kernels", "products", "copies", "fills" };

static const struct study {
    const char *name, *recipe, *sets[SETS];
} studies[] = {
    { "masked-summation",
      "masked-summation.ini",
      { "task.train=64", "task.dev=4", "task.test=4", "model.hidden=20", "train.batch=2" } },
    { "sst5-star",
      "sst5-star.ini",
      { "model.hidden=8", "model.ffn=12", "model.head_hidden=8", "train.batch=8",
        "data.vocabulary=train", "data.train=trees.txt", "data.dev=trees.txt" } },
    { "enwik8-bpt",
      "enwik8-bpt.ini",
      { "model.hidden=8", "model.ffn=12", "train.batch_tokens=256", "data.window=256",
        "data.stride=128", "data.split=9000,400", "data.train=bytes.txt" } },
};

typedef struct tally {
    int64_t kind[KINDS];
    const char *name[NAMES];
    int64_t count[NAMES];
    int names;
    int64_t replays; /* steps that were graphs, less the graphs that were made anew */
} tally;

static void see(void *context, const simt_work *work)
{
    tally *t = context;
    const char *name = work->what == SIMT_CALL                ? work->name
                       : work->what == SIMT_FILL              ? "(fill)"
                       : work->kind == cudaMemcpyHostToDevice ? "(upload)"
                       : work->kind == cudaMemcpyDeviceToHost ? "(download)"
                                                              : "(copy)";
    const int kind = work->what == SIMT_FILL ? 3 : work->what == SIMT_COPY ? 2 : work->block == 0;
    int i = 0;
    t->kind[kind]++;
    while (i < t->names && strcmp(t->name[i], name) != 0) i++;
    if (i == NAMES) abort();
    if (i == t->names) t->name[t->names++] = name;
    t->count[i]++;
}

static void write_files(void)
{
    FILE *trees = fopen("trees.txt", "w"), *bytes = fopen("bytes.txt", "w");
    if (!trees || !bytes) abort();
    for (int i = 0; i < 300; i++) {
        for (int w = 0; w < i % 40; w++) fprintf(trees, "(%d (2 word%d) ", i % 5, (i + w) % 50);
        fprintf(trees, "(3 last)%.*s\n", i % 40, "))))))))))))))))))))))))))))))))))))))))");
        fprintf(bytes, "line %d of a text, and %d more of them.\n", i, i % 7);
    }
    if (fclose(trees) != 0 || fclose(bytes) != 0) abort();
}

/* What so many steps give to the device. */
static tally train(const struct study *s, int steps, const char *device)
{
    char path[PATH], most[64];
    const char *sets[SETS + 4];
    char *result = NULL;
    tally t = { .names = 0, .replays = simt_graphs() };
    gsa_error error = { 0 };
    int n = 0;
    snprintf(path, sizeof path, "%s/train/recipes/%s", GSA_SOURCE, s->recipe);
    snprintf(most, sizeof most, "train.max_steps=%d", steps);
    while (s->sets[n]) sets[n] = s->sets[n], n++;
    sets[n++] = most, sets[n++] = "train.report_every=0", sets[n++] = "train.eval_every=0";
    gsa_train_options options = {
        .recipe = path, .overrides = sets, .n_overrides = n, .threads = 1, .steps_alone = 1
    };
    if (gsa_backend_open(NULL, device, GSA_F32, 1, &options.backend, &error) != GSA_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    simt_watch(see, &t);
    const gsa_status status = gsa_train(NULL, &options, &result, &error);
    simt_watch(NULL, NULL);
    gsa_backend_release(options.backend);
    const char *const graphs = result ? strstr(result, "\"graph_steps\": ") : NULL;
    t.replays -= simt_graphs();
    if (graphs) t.replays += atoi(strchr(graphs, ':') + 1);
    gsa_release(gsa_system_default(), result);
    if (status != GSA_OK) {
        fprintf(stderr, "%s: %s\n", s->name, error.text);
        exit(1);
    }
    return t;
}

/* A step's: between the early ones, in which memory is found, and the last. */
static tally of_a_step(const struct study *s)
{
    const tally early = train(s, EARLY, "cuda");
    tally t = train(s, LATE, "cuda");
    for (int k = 0; k < KINDS; k++) t.kind[k] -= early.kind[k];
    for (int i = 0; i < t.names; i++)
        for (int j = 0; j < early.names; j++)
            if (strcmp(t.name[i], early.name[j]) == 0) t.count[i] -= early.count[j];
    return t;
}

static void print_line(char *line, size_t size, const struct study *s)
{
    const tally t = of_a_step(s);
    int64_t all = 0;
    const double steps = LATE - EARLY;
    for (int k = 0; k < KINDS; k++) all += t.kind[k];
    snprintf(line, size, "%-18s %7.1f %8.1f %6.1f %5.1f %6.1f\n", s->name,
             (double)t.kind[0] / steps, (double)t.kind[1] / steps, (double)t.kind[2] / steps,
             (double)t.kind[3] / steps, (double)all / steps);
}

/* Of SST's steps after warm-up, how many are an earlier step's graph: each graph that is made
 * anew counts as a step, though a step may make several. */
static void print_replays(char *line, size_t size)
{
    const int64_t replays = train(&studies[1], LATE_GRAPH, "cuda-graphs").replays -
                            train(&studies[1], EARLY_GRAPH, "cuda-graphs").replays;
    snprintf(line, size, "# steps %d to %d of %s that replay a graph: %lld of %d\n",
             EARLY_GRAPH + 1, LATE_GRAPH, studies[1].name, (long long)replays,
             LATE_GRAPH - EARLY_GRAPH);
}

/* The library's bits may differ with how many products are one call, and a graph's must not. */
static int same_products(const struct study *s)
{
    const tally calls = train(s, LATE, "cuda"), graphs = train(s, LATE, "cuda-graphs");
    if (calls.kind[1] == graphs.kind[1]) return 1;
    fprintf(stderr, "FAILED: %s: %lld products as calls, %lld as graphs\n", s->name,
            (long long)calls.kind[1], (long long)graphs.kind[1]);
    return 0;
}

static void print_parts(const struct study *s)
{
    const tally t = of_a_step(s);
    for (int i = 0; i < t.names; i++)
        if (t.count[i] != 0) printf("%8.2f %s\n", (double)t.count[i] / (LATE - EARLY), t.name[i]);
}

int main(int argc, char **argv)
{
    const size_t n = sizeof studies / sizeof *studies;
    char folder[] = "/tmp/gsa-launches-XXXXXX", line[PATH], wanted[PATH];
    FILE *table = argc > 1 && strchr(argv[1], '/') ? fopen(argv[1], "r") : NULL;
    int failures = 0;
    if (!mkdtemp(folder) || chdir(folder) != 0) abort();
    write_files();
    if (!table && argc == 1)
        printf("# %-16s %s %s %s %s    all\n", "a step of", kind_names[0], kind_names[1],
               kind_names[2], kind_names[3]);
    if (table && !fgets(wanted, sizeof wanted, table)) failures++;
    for (size_t i = 0; i <= n; i++) {
        if (argc > 1 && !table) {
            if (i < n && strcmp(argv[1], studies[i].name) == 0) print_parts(&studies[i]);
            continue;
        }
        if (i < n) print_line(line, sizeof line, &studies[i]);
        else print_replays(line, sizeof line);
        if (!table) fputs(line, stdout);
        else if (!fgets(wanted, sizeof wanted, table) || strcmp(line, wanted) != 0) {
            fprintf(stderr, "FAILED: %sexpected %s", line, wanted);
            failures++;
        }
        if (table && i < n && !same_products(&studies[i])) failures++;
    }
    if (table) fclose(table);
    if (remove("trees.txt") != 0 || remove("bytes.txt") != 0 || rmdir(folder) != 0) failures++;
    if (table) printf("Checks: %zu, Failures: %d\n", 2 * n + 1, failures);
    return failures > 0;
}
