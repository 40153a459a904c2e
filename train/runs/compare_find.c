/* compare_find.c - the runs in two folders, paired by name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/anchor.h"
#include "graph/system_parts.h"
#include "train/runs/compare.h"
#include "train/score/outcomes.h"

enum { PATH = 4096, DEPTH = 8, LISTED = 6 };

typedef struct names { /* paths of runs below a folder; of folders while it is searched */
    const gsa_system *system;
    char **name;
    int count, room, failed;
} names;

static void names_release(names *n)
{
    for (int i = 0; i < n->count; i++) gsa_release(n->system, n->name[i]);
    gsa_release(n->system, n->name);
    *n = (names){ .system = n->system };
}

static int names_add(void *context, const char *name)
{
    names *n = context;
    if (*name == '.') return 0;
    if (n->count == n->room) {
        char **larger = gsa_resize(n->system, n->name, 2 * (size_t)n->room + 16, sizeof *larger);
        if (!larger) return n->failed = 1;
        n->name = larger, n->room = 2 * n->room + 16;
    }
    n->name[n->count] = gsa_copy_text(n->system, name);
    if (!n->name[n->count]) return n->failed = 1;
    n->count++;
    return 0;
}

/* *is: of that kind itself, and no link to one. Links to folders would make a few of them a search
 * without end, or of the whole machine. */
static gsa_status see_kind(const gsa_system *system, const char *folder, const char *below,
                           const char *name, int expected, int *is, gsa_error *error)
{
    char path[PATH];
    int kind;
    const int bytes =
        snprintf(path, sizeof path, "%s%s%s/%s", folder, *below ? "/" : "", below, name);
    *is = 0;
    if (bytes >= PATH) return GSA_OK;
    const gsa_status status = gsa_see_entry(system, path, &kind, error);
    *is = kind == expected;
    return status;
}

/* Adds the runs at and below `below`. A run's own folders (checkpoints) are not looked into. */
static gsa_status find_runs(const gsa_system *system, const char *folder, const char *below,
                            int depth, names *runs, gsa_error *error)
{
    char path[PATH];
    names inside = { .system = system };
    int is;
    gsa_status status =
        see_kind(system, folder, below, "outcomes.jsonl", GSA_FILE_REGULAR, &is, error);
    if (is) {
        if (names_add(runs, *below ? below : "/")) return gsa_out_of_memory(error, folder, PATH);
        return GSA_OK;
    }
    snprintf(path, sizeof path, "%s%s%s", folder, *below ? "/" : "", below);
    if (status == GSA_OK)
        status = see_kind(system, folder, below, "log.jsonl", GSA_FILE_REGULAR, &is, error);
    if (status != GSA_OK || depth == DEPTH || is) return status;
    if (system->list(system->user, path, names_add, &inside) < 0 && !inside.failed)
        status = gsa_fail(error, GSA_ERR_IO, "'%s' is no folder that can be read", path);
    if (inside.failed) status = gsa_out_of_memory(error, path, PATH);
    for (int i = 0; i < inside.count && status == GSA_OK; i++) {
        status = see_kind(system, folder, below, inside.name[i], GSA_FILE_FOLDER, &is, error);
        if (status != GSA_OK || !is) continue;
        if (snprintf(path, sizeof path, "%s%s%s", below, *below ? "/" : "", inside.name[i]) < PATH)
            status = find_runs(system, folder, path, depth + 1, runs, error);
    }
    names_release(&inside);
    return status;
}

/* By combination (all but the last name), so that its seeds are side by side. */
static size_t combination_bytes(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? (size_t)(slash - name) : 0;
}

static int same_combination(const char *a, const char *b)
{
    return combination_bytes(a) == combination_bytes(b) && strncmp(a, b, combination_bytes(a)) == 0;
}

static int by_combination(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    const size_t n = combination_bytes(x), m = combination_bytes(y);
    const int order = strncmp(x, y, n < m ? n : m);
    if (order) return order;
    return n != m ? (n > m) - (n < m) : strcmp(x, y);
}

static gsa_status sorted_runs(const gsa_system *system, const char *folder, names *runs,
                              gsa_error *error)
{
    *runs = (names){ .system = system };
    const gsa_status status = find_runs(system, folder, "", 0, runs, error);
    if (status != GSA_OK) return status;
    if (runs->count == 0)
        return gsa_fail(
            error, GSA_ERR_ARGUMENT,
            "'%s' holds no finished run with outcomes.jsonl (gsa train --out writes it at the end)",
            folder);
    qsort(runs->name, (size_t)runs->count, sizeof *runs->name, by_combination);
    return GSA_OK;
}

static int has(const names *n, const char *name)
{
    for (int i = 0; i < n->count; i++)
        if (strcmp(n->name[i], name) == 0) return 1;
    return 0;
}

/* Every run of `in` has its partner, or a sentence lists those that have none. */
static gsa_status check_partners(const names *in, const names *other, const char *folder,
                                 const char *missing_in, gsa_error *error)
{
    char list[512] = "";
    int used = 0, missing = 0;
    for (int i = 0; i < in->count; i++) {
        if (has(other, in->name[i]) || missing++ >= LISTED || used >= (int)sizeof list) continue;
        used += snprintf(list + used, sizeof list - (size_t)used, "%s%s", used ? ", " : "",
                         in->name[i]);
    }
    if (missing == 0) return GSA_OK;
    if (has(in, "/") || has(other, "/"))
        return gsa_fail(
            error, GSA_ERR_ARGUMENT,
            "'%s' is %s and '%s' %s: expected two runs, or two trees with runs at equal paths",
            folder, has(in, "/") ? "one run" : "a tree of runs", missing_in,
            has(other, "/") ? "one run" : "a tree of runs");
    return gsa_fail(error, GSA_ERR_ARGUMENT, "of %d runs in '%s', %d have no partner in '%s': %s%s",
                    in->count, folder, missing, missing_in, list, missing > LISTED ? ", ..." : "");
}

static gsa_status read_run(const gsa_system *system, const char *folder, const char *name,
                           int split, gsa_outcomes *outcomes, gsa_error *error)
{
    char path[PATH];
    const int bytes = snprintf(path, sizeof path, "%s/%s%soutcomes.jsonl", folder,
                               *name == '/' ? "" : name, *name == '/' ? "" : "/");
    if (bytes >= PATH)
        return gsa_fail(error, GSA_ERR_LIMIT, "the path of run '%s' is too long", name);
    return gsa_outcomes_read(system, path, split, outcomes, error);
}

/* outcomes [2 pairs]: of A, of B, in turn. */
static gsa_status read_pairs(const gsa_system *const system[2], const names runs[2],
                             const char *const folder[2], int split, gsa_outcomes *outcomes,
                             gsa_pair *pair, int *there, gsa_error *error)
{
    gsa_status status = GSA_OK;
    *there = 0;
    for (int i = 0; i < 2 * runs[0].count && status == GSA_OK; i++) {
        status = read_run(system[i % 2], folder[i % 2], runs[i % 2].name[i / 2], split,
                          &outcomes[i], error);
        *there += status == GSA_OK && outcomes[i].units > 0;
    }
    for (int i = 0; i < runs[0].count && status == GSA_OK && *there > 0; i++) {
        const int at = outcomes[2 * i].units == 0 ? 0 : outcomes[2 * i + 1].units == 0 ? 1 : -1;
        const char *of = split == GSA_SPLIT_DEV ? "dev" : "test";
        if (at >= 0 && *runs[at].name[i] == '/')
            return gsa_fail(error, GSA_ERR_ARGUMENT, "run '%s' has no outcomes of %s", folder[at],
                            of);
        if (at >= 0)
            return gsa_fail(error, GSA_ERR_ARGUMENT, "run '%s' in '%s' has no outcomes of %s",
                            runs[at].name[i], folder[at], of);
        pair[i] = (gsa_pair){ .a = &outcomes[2 * i], .b = &outcomes[2 * i + 1] };
        if (i > 0)
            pair[i].combination =
                pair[i - 1].combination + !same_combination(runs[0].name[i - 1], runs[0].name[i]);
    }
    return status;
}

static gsa_status compare_runs(const gsa_system *const of[2], const gsa_compare_options *options,
                               const names runs[2], const char *const folder[2], int split,
                               int *there, gsa_compared *compared, gsa_error *error)
{
    const gsa_system *system = of[0];
    const int pairs = runs[0].count;
    gsa_outcomes *outcomes = gsa_alloc_zero(system, 2 * (size_t)pairs, sizeof *outcomes);
    gsa_pair *pair = gsa_alloc_zero(system, (size_t)pairs, sizeof *pair);
    gsa_status status =
        outcomes && pair ? GSA_OK
                         : gsa_out_of_memory(error, "the runs", pairs * (int64_t)sizeof *outcomes);
    if (status == GSA_OK)
        status = read_pairs(of, runs, folder, split, outcomes, pair, there, error);
    if (status == GSA_OK && *there > 0)
        status = gsa_compare_pairs(system, options, pair, pairs, compared, error);
    for (int i = 0; outcomes && i < 2 * pairs; i++) {
        outcomes[i].system = system;
        gsa_outcomes_release(&outcomes[i]);
    }
    gsa_release(system, outcomes);
    gsa_release(system, pair);
    return status;
}

/* The folders are held: what is exchanged meanwhile for a link or a FIFO is refused. */
gsa_status gsa_compare_folders(const gsa_system *system, const gsa_compare_options *options,
                               const char *a, const char *b, const char *split, int *there,
                               gsa_compared *compared, gsa_error *error)
{
    const char *const folder[2] = { a, b };
    if (!system) system = gsa_system_default();
    const gsa_system *of[2] = { system, system };
    gsa_anchor *anchor[2] = { NULL, NULL };
    names runs[2] = { { .system = system }, { .system = system } };
    gsa_status status = GSA_OK;
    *there = 0;
    for (int i = 0; i < 2 && status == GSA_OK; i++) {
        status = gsa_anchor_open(system, system, folder[i], &anchor[i], error);
        of[i] = gsa_anchor_system(anchor[i], system);
        if (status == GSA_OK) status = sorted_runs(of[i], folder[i], &runs[i], error);
    }
    const int alone = status == GSA_OK && runs[0].count == 1 && runs[1].count == 1;
    if (status == GSA_OK && !alone) status = check_partners(&runs[0], &runs[1], a, b, error);
    if (status == GSA_OK && !alone) status = check_partners(&runs[1], &runs[0], b, a, error);
    if (status == GSA_OK)
        status = compare_runs(of, options, runs, folder,
                              strcmp(split, "dev") == 0 ? GSA_SPLIT_DEV : GSA_SPLIT_TEST, there,
                              compared, error);
    for (int i = 0; i < 2; i++) names_release(&runs[i]);
    for (int i = 0; i < 2; i++) gsa_anchor_close(anchor[i]);
    return status;
}
