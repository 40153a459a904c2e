/* What a run says of memory before it begins: against its tape, against the process's peak, and
 * where there is too little. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include "rig.h"

static const char *const recipes[] = { rig_summation, rig_text, rig_pairs, rig_language };

/* Bytes of "a step needs X MB for states and gradients, Y MB for data, graph and weights". */
static void read_told(const rig *r, double *tensors, double *rest)
{
    char unit[2][3];
    const char *at = strstr(r->messages, "a step needs ");
    ck_assert_msg(at && sscanf(at, "a step needs %lf %2s for states and gradients, %lf %2s for",
                               tensors, unit[0], rest, unit[1]) == 4,
                  "%s", r->messages);
    *tensors *= strcmp(unit[0], "MB") == 0 ? 1e6 : 1e9;
    *rest *= strcmp(unit[1], "MB") == 0 ? 1e6 : 1e9;
}

/* All examples are as long as each other, or a step has them all: the tape is the one foretold. */
START_TEST(tensors_are_foretold)
{
    rig r;
    double tensors, rest;
    rig_open(&r, recipes[_i], GSA_F32, 1);
    rig_set(&r, "train.memory=1000000000000");
    rig_set(&r, "train.batch=22");
    rig_set(&r, "train.accumulate=1");
    rig_set(&r, "train.max_steps=2");
    rig_set(&r, _i % 2 ? "train.prefetch=0" : "train.prefetch=1");
    rig_train_ok(&r, "run");
    read_told(&r, &tensors, &rest);
    ck_assert_double_eq_tol(tensors, rig_number(&r, "tape_bytes"), 0.01 * tensors);
    ck_assert_double_gt(rest, 1e5); /* of a process */
    rig_close(&r);
}
END_TEST

/* The walk leaves no trace: weights are those of a run that did without. */
START_TEST(bits_stay)
{
    rig r;
    rig_open(&r, recipes[_i], GSA_F32, 1);
    rig_train_ok(&r, "without");
    ck_assert_ptr_null(strstr(r.messages, "needs"));
    rig_set(&r, "train.memory=1000000000000");
    rig_train_ok(&r, "with");
    ck_assert_ptr_nonnull(strstr(r.messages, "a step needs"));
    ck_assert_int_eq(rig_differ(&r, "without", "with"), 0);
    rig_close(&r);
}
END_TEST

START_TEST(too_much_is_refused)
{
    rig r;
    char sentence[256], start[300];
    rig_open(&r, rig_summation, GSA_F32, 1);
    rig_set(&r, "train.memory=1000");
    ck_assert_int_eq(rig_train(&r, "run"), GSA_ERR_FORMAT);
    snprintf(start, sizeof start, "--set train.memory: [train] memory = 1000: a step needs ");
    ck_assert_msg(strncmp(r.error.text, start, strlen(start)) == 0, "%s", r.error.text);
    snprintf(sentence, sizeof sentence, "%s/run", r.scratch.folder);
    ck_assert_int_eq(gsa_system_default()->kind(gsa_system_default()->user, sentence, NULL),
                     GSA_FILE_ABSENT);
    rig_close(&r);
}
END_TEST

/* A machine that says it has this much: files of the system's are those of the folder, where
 * /sys/fs/cgroup/a/b is a-b. */
static char machine[256];
static int open_facts(void *user, const char *path, int mode)
{
    static const char groups[] = "/sys/fs/cgroup/";
    char own[512];
    const char *name = NULL;
    if (strcmp(path, "/proc/meminfo") == 0) name = "meminfo";
    if (strcmp(path, "/proc/self/cgroup") == 0) name = "cgroup";
    if (strcmp(path, "/proc/self/limits") == 0) name = "limits";
    if (strcmp(path, "/proc/self/statm") == 0) name = "statm";
    if (strncmp(path, groups, strlen(groups)) == 0) name = path + strlen(groups);
    if (name) {
        int at = snprintf(own, sizeof own, "%s/", machine);
        for (; *name; name++) own[at++] = (char)(*name == '/' ? '-' : *name);
        own[at] = 0;
    }
    return gsa_system_default()->open(user, name ? own : path, mode);
}

static const char large[] =
    "[task]\nname = masked_summation\nn = 2048\nk = 9\nd = 4\ntrain = 16\ndev = 1\ntest = 1\n"
    "[model]\nencoder = star\nhidden = 128\nheads = 4\n"
    "[train]\nepochs = 1\nbatch = 16\n";

static const struct {
    const char *file[8], *text[8], *said;
} machines[] = {
    { { "meminfo" }, { "MemTotal: 900000 kB\nMemAvailable:      65536 kB\n" }, "67.109 MB" },
    { { "meminfo", "memory.max", "memory.current", "memory.stat" },
      { "MemAvailable: 65536000 kB\n", "60000000\n", "59000000\n",
        "anon 7\ninactive_file 20000000\nactive_file 4000000\n" },
      "25.000 MB" },
    { { "meminfo", "memory-memory.limit_in_bytes", "memory-memory.usage_in_bytes",
        "memory-memory.stat" },
      { "MemAvailable: 65536000 kB\n", "60000000\n", "70000000\n",
        "active_file 0\ninactive_file 0\n" },
      "0.000 MB" },
    { { "meminfo", "memory.max", "memory.current", "memory.stat" },
      { "MemAvailable: 65536 kB\n", "max\n", "59000000\n", "inactive_file 0\n" },
      "67.109 MB" },
    /* the process's own group has no limit, the one around it has; and the other way */
    { { "meminfo", "cgroup", "job-step-memory.max", "job-step-memory.current",
        "job-step-memory.stat", "job-memory.max", "job-memory.current", "job-memory.stat" },
      { "MemAvailable: 65536000 kB\n", "1:name=systemd:/x\n0::/job/step\n", "max\n", "1\n",
        "inactive_file 0\nactive_file 0\n", "60000000\n", "20000000\n",
        "inactive_file 0\nactive_file 0\n" },
      "40.000 MB" },
    { { "meminfo", "cgroup", "memory-job-memory.limit_in_bytes", "memory-job-memory.usage_in_bytes",
        "memory-job-memory.stat" },
      { "MemAvailable: 65536000 kB\n", "9:cpu:/a\n8:memory:/job\n", "50000000\n", "20000000\n",
        "inactive_file 0\nactive_file 0\n" },
      "30.000 MB" },
    /* the process's own limits: of data, and of addresses, of which it has more */
    { { "meminfo", "statm", "limits" },
      { "MemAvailable: 65536000 kB\n", "0 0 0 0 0 0 0\n",
        "Limit                     Soft Limit           Hard Limit           Units\n"
        "Max data size             50000000             unlimited            bytes\n"
        "Max address space         unlimited            unlimited            bytes\n" },
      "50.000 MB" },
    { { "meminfo", "statm", "limits" },
      { "MemAvailable: 65536000 kB\n", "1000000 0 0 0 0 1000 0\n",
        "Max data size             unlimited            unlimited            bytes\n"
        "Max address space         60000000             60000000             bytes\n" },
      "0.000 MB" },
};

START_TEST(a_small_machine_refuses)
{
    char sentence[300];
    rig r;
    gsa_system small = *gsa_system_default();
    small.open = open_facts;
    rig_open(&r, large, GSA_F32, 1);
    snprintf(machine, sizeof machine, "%s", r.scratch.folder);
    for (int i = 0; i < 8 && machines[_i].file[i]; i++)
        gsa_put_file(gsa_scratch_path(&r.scratch, "%s", machines[_i].file[i]), machines[_i].text[i],
                     (int64_t)strlen(machines[_i].text[i]));
    r.system = &small;
    ck_assert_int_eq(rig_train(&r, NULL), GSA_ERR_LIMIT);
    snprintf(
        sentence, sizeof sentence,
        "more than it has, %s are available: take a smaller train.batch or batch_tokens, share "
        "rows over ranks (train.split), or set train.memory",
        machines[_i].said);
    ck_assert_msg(strstr(r.error.text, sentence), "%s", r.error.text);
    rig_close(&r);
}
END_TEST

/* Weights that do not fit are refused before memory is requested for them. */
static size_t largest;
static void *note_alloc(void *user, size_t bytes)
{
    if (bytes > largest) largest = bytes;
    return gsa_system_default()->alloc(user, bytes);
}

static const struct {
    const char *setting[3], *said;
} weights[] = {
    { { "model.hidden=65536", "model.heads=64" }, "GB, 0.07 GB are available: take a smaller" },
    { { "model.hidden=16384", "train.memory=100000000" },
      "[train] memory = 100000000: weights up to " },
    { { "model.position=learned", "model.position_max=1000000", "train.memory=100000000" },
      "position.weight of 1000000 x 128, with their gradients and moments, need 20480" },
    { { "task.n=1000000" },
      "[task] n = 1000000: a batch of 16 examples with their states needs 85.38 GB, 0.07 GB are" },
    { { "task.n=10000000", "train.batch=0", "train.batch_tokens=20" },
      "a batch of 1 examples with their states needs 53.36 GB" },
};

START_TEST(weights_are_counted_first)
{
    rig r;
    gsa_system small = *gsa_system_default();
    small.open = open_facts, small.alloc = note_alloc, largest = 0;
    rig_open(&r, large, GSA_F32, 1);
    for (int i = 0; i < 3 && weights[_i].setting[i]; i++) rig_set(&r, weights[_i].setting[i]);
    snprintf(machine, sizeof machine, "%s", r.scratch.folder);
    gsa_put_file(gsa_scratch_path(&r.scratch, "meminfo"), "MemAvailable: 65536 kB\n", 23);
    r.system = &small;
    const gsa_status status = rig_train(&r, NULL);
    ck_assert_msg(status != GSA_OK && strstr(r.error.text, weights[_i].said), "%s", r.error.text);
    ck_assert_msg(largest < 16 << 20, "%zu bytes", largest);
    rig_close(&r);
}
END_TEST

/* A machine that does not report its memory refuses no run. */
START_TEST(an_unknown_machine_trains)
{
    rig r;
    gsa_system silent = *gsa_system_default();
    silent.open = open_facts;
    rig_open(&r, large, GSA_F32, 1);
    rig_set(&r, "train.max_steps=1");
    snprintf(machine, sizeof machine, "%s", r.scratch.folder);
    r.system = &silent;
    ck_assert_msg(rig_train(&r, NULL) == GSA_OK, "%s", r.error.text);
    rig_close(&r);
}
END_TEST

/* The process's peak, within 1.15 times and 100 MB (the libraries' code and room). */
START_TEST(the_peak_is_near)
{
    rig r;
    double tensors, rest;
    struct rusage usage;
    rig_open(&r, large, GSA_F32, 1);
    rig_train_ok(&r, NULL);
    read_told(&r, &tensors, &rest);
    getrusage(RUSAGE_SELF, &usage);
    const double peak = 1024.0 * (double)usage.ru_maxrss;
    ck_assert_double_gt(tensors, 1e8);
#ifndef GSA_SANITIZED
    ck_assert_msg(peak <= 1.15 * (tensors + rest) + 1e8 && tensors + rest <= 1.15 * peak,
                  "told %.0f + %.0f, the peak is %.0f", tensors, rest, peak);
#endif
    ck_assert_double_gt(peak, 0);
    rig_close(&r);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test told[] = { GSA_LOOP(tensors_are_foretold, GSA_COUNT(recipes)),
                                     GSA_LOOP(bits_stay, GSA_COUNT(recipes)) };
    static const gsa_test refused[] = { GSA_TEST(too_much_is_refused),
                                        GSA_LOOP(a_small_machine_refuses, GSA_COUNT(machines)),
                                        GSA_LOOP(weights_are_counted_first, GSA_COUNT(weights)),
                                        GSA_TEST(an_unknown_machine_trains) };
    static const gsa_test peak[] = { GSA_TEST(the_peak_is_near) };
    static const gsa_case cases[] = { GSA_CASE("told", told, 60), GSA_CASE("refused", refused, 60),
                                      GSA_CASE("peak", peak, 120) };
    return gsa_run_suite("rehearsal", cases, GSA_COUNT(cases), argc, argv);
}
