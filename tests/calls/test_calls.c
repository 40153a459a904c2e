/* Every function that the library exports is called under failing allocations: the names come from
 * the library, and what may allocate from the public headers (GSA_CALLS, made by CMake). */
#include <stdio.h>
#include <string.h>
#include "calls.h"
#include "kernels/cuda.h"

/* ---- what the scenarios call ------------------------------------------------------------------
 */

enum { MOST = 600 };
typedef struct called {
    const char *name;
    int64_t calls, most; /* allocations that one call requested */
} called;
static called seen[MOST];
static int n_seen, now = -1;
static int64_t before;
static gsa_faults *watched;
gsa_error calls_error;

static void close_call(void)
{
    const int64_t made = watched->calls[GSA_OP_ALLOC] - before;
    if (now >= 0 && made > seen[now].most) seen[now].most = made;
    before = watched->calls[GSA_OP_ALLOC];
}

void calls_next(const char *name)
{
    if (!watched) return;
    close_call();
    now = -1;
    if (!name) return;
    for (now = 0; now < n_seen && strcmp(seen[now].name, name); now++) {
    }
    ck_assert_int_lt(now, MOST);
    if (now == n_seen) seen[n_seen++] = (called){ .name = name };
    seen[now].calls++;
}

static const struct {
    calls_scenario *run;
    int may_recover; /* some of its calls go on without the memory */
} scenarios[] = {
    { calls_system, 0 },    { calls_files, 0 },     { calls_graph, 1 },  { calls_pictures, 0 },
    { calls_patterns, 1 },  { calls_check, 1 },     { calls_edges, 1 },  { calls_backends, 0 },
    { calls_tape, 1 },      { calls_ops, 1 },       { calls_losses, 1 }, { calls_weights, 0 },
    { calls_words, 0 },     { calls_stack, 1 },     { calls_passes, 1 }, { calls_model, 1 },
    { calls_context, 1 },   { calls_minibatch, 0 }, { calls_recipe, 0 }, { calls_train, 1 },
    { calls_predictor, 1 },
};

/* ---- the list -----------------------------------------------------------------------------------
 */

/* The other way than the header lets one expect. */
static const struct {
    const char *name;
    int allocates;
} exceptions[] = {
    /* it gives tensors in a readout */
    { "gsa_encoder_forward", 1 },
    /* a sentence, or looking at what is there */
    { "gsa_fail", 0 },
    { "gsa_fail_at", 0 },
    { "gsa_out_of_memory", 0 },
    { "gsa_backend_no_memory", 0 },
    { "gsa_calling", 0 },
    { "gsa_edges_check", 0 },
    { "gsa_blob_check_finite", 0 },
    { "gsa_format_of", 0 },
    { "gsa_graph_list", 0 },
    { "gsa_model_tap", 0 },
    { "gsa_optimiser_blame", 0 },
    { "gsa_optimiser_resume", 0 },
    { "gsa_pattern_take", 0 },
    { "gsa_registry_find", 0 },
    { "gsa_sha256_file", 0 },
    { "gsa_cuda_use_stream", 0 },
    { "gsa_stack_watch", 0 },
    { "gsa_tape_fail", 0 },
    { "gsa_tape_status", 0 },
    { "gsa_tape_refused", 0 },
    /* in room that is there */
    { "gsa_aggregate_forward", 0 },
    { "gsa_aggregate_backward", 0 },
    { "gsa_parameters_zero_gradients", 0 },
    { "gsa_vocabulary_freeze", 0 },
    { "gsa_vocabulary_write", 0 },
    { "gsa_output_write", 0 },
    { "gsa_output_text", 0 },
    { "gsa_output_flush", 0 },
    { "gsa_output_commit", 0 },
    { "gsa_tape_expect", 0 },
    { "gsa_tape_reset", 0 },
    /* back to the system */
    { "gsa_output_abandon", 0 },
    { "gsa_plan_release", 0 },
    { "gsa_release", 0 },
    { "gsa_tape_forget_ahead", 0 },
    { "gsa_tape_release", 0 },
    /* looks at what is in the folder before it removes it; without memory the next save does */
    { "gsa_checkpoint_abandon", 1 },
    /* only a device that copies while it computes: cuda's own suites */
    { "gsa_model_batch_ahead", 0 },
    { "gsa_stack_batch_ahead", 0 },
    { "gsa_tape_ahead", 0 },
};

/* What is expected of a call of which the header says `may`. */
static int expected(const char *name, int may)
{
    for (int i = 0; i < GSA_COUNT(exceptions); i++)
        if (strcmp(exceptions[i].name, name) == 0) return exceptions[i].allocates;
    return strcmp(name, "gsa_backend_cuda") == 0 ? gsa_cuda_is_built() : may;
}

/* 1 when the header lets the function allocate, 0 when not, -1: no header has it. */
static int may_allocate(const char *name)
{
    static const struct {
        const char *name;
        int may;
    } declared[] = {
#define X(name, may) { name, may },
#include GSA_CALLS
    };
    for (int i = 0; i < GSA_COUNT(declared); i++)
        if (strcmp(declared[i].name, name) == 0) return declared[i].may;
    return -1;
}

/* 1 when something is wrong with what was seen of an exported function. */
static int is_wrong(const char *name)
{
    const int may = may_allocate(name);
    int at = 0;
    while (at < n_seen && strcmp(seen[at].name, name)) at++;
    const int allocates = at < n_seen && seen[at].most > 0;
    if (may < 0) fprintf(stderr, "%s: no public header declares it\n", name);
    else if (at == n_seen) fprintf(stderr, "%s is in no scenario\n", name);
    else if (allocates != expected(name, may))
        fprintf(stderr, "%s: %lld allocations, expected %s\n", name, (long long)seen[at].most,
                allocates ? "none" : "some");
    else return 0;
    return 1;
}

START_TEST(every_function_is_called_and_allocates_as_its_header_says)
{
    char line[256], name[200], kind;
    int wrong = 0, functions = 0;
    gsa_scratch scratch;
    gsa_scratch_open(&scratch);
    for (int s = 0; s < GSA_COUNT(scenarios); s++) {
        gsa_faults faults;
        gsa_faults_start(&faults);
        watched = &faults, now = -1, before = 0;
        const gsa_status status = scenarios[s].run(&faults, &scratch);
        close_call();
        ck_assert_msg(status == GSA_OK, "scenario %d: %s", s, calls_error.text);
        ck_assert_int_eq(gsa_faults_live(&faults), 0);
    }
    gsa_scratch_close(&scratch);
    FILE *exported = fopen(GSA_EXPORTED, "r");
    ck_assert_ptr_nonnull(exported);
    while (fgets(line, sizeof line, exported))
        if (sscanf(line, "%*x %c %199[a-z0-9_]", &kind, name) == 2 && kind == 'T')
            functions++, wrong += is_wrong(name);
    fclose(exported);
    ck_assert_int_gt(functions, 300);
    ck_assert_int_eq(wrong, 0);
}
END_TEST

/* One attempt whose n-th allocation fails, and for ever after or not. */
static void fail_at(int s, int64_t n, int forever, gsa_scratch *scratch)
{
    gsa_faults faults;
    gsa_faults_start(&faults);
    faults.fail[GSA_OP_ALLOC] = n, faults.forever = forever;
    const gsa_status status = scenarios[s].run(&faults, scratch);
    ck_assert_msg(status == GSA_ERR_MEMORY || (status == GSA_OK && scenarios[s].may_recover),
                  "allocation %lld (forever %d): %s: %s", (long long)n, forever,
                  gsa_status_name(status), calls_error.text);
    ck_assert_msg(gsa_faults_live(&faults) == 0, "allocation %lld (forever %d): %lld are live",
                  (long long)n, forever, (long long)gsa_faults_live(&faults));
}

/* Each allocation fails, once and for ever; of a long scenario, whose calls other suites sweep,
 * some MANY, once and for ever in turn. Then the same calls succeed. */
START_TEST(every_lack_of_memory_is_told_and_nothing_leaks)
{
    enum { MANY = 100, LONG = 600 };
    gsa_scratch scratch;
    gsa_faults faults;
    gsa_scratch_open(&scratch);
    gsa_faults_start(&faults);
    ck_assert_int_eq(scenarios[_i].run(&faults, &scratch), GSA_OK);
    const int64_t most = faults.calls[GSA_OP_ALLOC], step = most < LONG ? 1 : most / MANY;
    for (int64_t n = 1; n <= most; n += step)
        for (int forever = step > 1 && n / step % 2; forever<2; forever += step> 1 ? 2 : 1)
            fail_at(_i, n, forever, &scratch);
    ck_assert_int_eq(scenarios[_i].run(&faults, &scratch), GSA_OK);
    gsa_scratch_close(&scratch);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test names[] = { GSA_TEST(
        every_function_is_called_and_allocates_as_its_header_says) };
    static const gsa_test faults[] = { GSA_LOOP(every_lack_of_memory_is_told_and_nothing_leaks,
                                                GSA_COUNT(scenarios)) };
    static const gsa_case cases[] = { GSA_CASE("names", names, 60),
                                      GSA_CASE("faults", faults, 300) };
    return gsa_run_suite("calls", cases, GSA_COUNT(cases), argc, argv);
}
