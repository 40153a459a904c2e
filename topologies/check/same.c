/* same.c - the same calls for the same example: again, in other threads, in another order, for
 * another text. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "parts.h"

/* ---- two instances of one length ----------------------------------------------------------- */

typedef struct difference { /* where the second differs from the first */
    int phase;              /* -1: in nodes, places or the summary */
    int64_t row, edge, value;
    const char *what;
} difference;

static int nodes_differ(const gsa_checking *c, const gsa_instance *a, const gsa_instance *b,
                        difference *d)
{
    int ak = 0, bk = 0;
    int64_t ai = 0, bi = 0;
    for (int k = 0; k < gsa_schema_kinds(c->schema); k++) {
        const int64_t nodes = gsa_instance_nodes(b, k);
        *d = (difference){ -1, k, -1, nodes, "nodes of a kind" };
        if (gsa_instance_nodes(a, k) != nodes) return 1;
        for (int64_t i = 0; i < nodes; i++) {
            const gsa_place one = gsa_instance_place(a, k, i), two = gsa_instance_place(b, k, i);
            *d = (difference){ -1, k, -1, i, "the place of a node" };
            if (one.level != two.level || one.first != two.first || one.last != two.last) return 1;
        }
    }
    *d = (difference){ -1, -1, -1, -1, "the summary node" };
    return gsa_instance_summary(a, &ak, &ai) != gsa_instance_summary(b, &bk, &bi) || ak != bk ||
           ai != bi;
}

static int phase_differs(const gsa_instance *a, const gsa_instance *b, int p, difference *d)
{
    gsa_edges one, two;
    gsa_instance_edges(a, p, &one);
    gsa_instance_edges(b, p, &two);
    const size_t offsets = (size_t)(one.rows + 1) * sizeof *one.run_offset;
    if (one.rows == two.rows && memcmp(one.run_offset, two.run_offset, offsets) == 0 &&
        (one.run_total == 0 ||
         memcmp(one.runs, two.runs, (size_t)one.run_total * sizeof *one.runs) == 0))
        return 0;
    *d = (difference){ p, -1, -1, two.rows, "rows" };
    for (int64_t r = 0; r < one.rows && r < two.rows; r++) {
        const int64_t first = one.run_offset[r], runs = one.run_offset[r + 1] - first;
        *d = (difference){ p, r, 0, two.edge_offset[r + 1] - two.edge_offset[r],
                           "the number of a row's edges" };
        if (one.edge_offset[r + 1] - one.edge_offset[r] != d->value) return 1;
        *d = (difference){ p, r, 0, runs, "the runs of a row" };
        if (two.run_offset[r + 1] - two.run_offset[r] != runs) return 1;
        for (int64_t i = 0; i < runs; i++) {
            const gsa_run *x = &one.runs[first + i], *y = &two.runs[two.run_offset[r] + i];
            *d = (difference){ p, r, i, y->first, "a run" };
            if (memcmp(x, y, sizeof *x) != 0) return 1;
        }
    }
    return 1;
}

static int differ(const gsa_checking *c, const gsa_instance *a, const gsa_instance *b,
                  difference *d)
{
    if (nodes_differ(c, a, b, d)) return 1;
    for (int p = 0; p < gsa_schema_phases(c->schema); p++)
        if (phase_differs(a, b, p, d)) return 1;
    return 0;
}

static void found_difference(const gsa_checking *c, const gsa_instance *x, const difference *d,
                             const char *when, gsa_finding *finding)
{
    char name[GSA_NODE_NAME];
    finding->length = gsa_instance_length(x);
    finding->phase = d->phase, finding->row = d->row, finding->edge = d->edge,
    finding->value = d->value;
    if (d->phase < 0)
        gsa_found(finding, GSA_VERDICT_FAILED,
                  "length %" PRId64 ", %s: %s differs (value %" PRId64 ")", finding->length, when,
                  d->what, d->value);
    else
        gsa_found(finding, GSA_VERDICT_FAILED,
                  "length %" PRId64 ", %s: phase '%s' differs in %s of %s, edge %" PRId64
                  " (value %" PRId64 ")",
                  finding->length, when, gsa_schema_phase(c->schema, d->phase)->name, d->what,
                  d->row < 0 ? "the phase" : gsa_checking_row(c, x, d->phase, d->row, name),
                  d->edge, d->value);
}

/* ---- deterministic ------------------------------------------------------------------------- */

enum { THREADS = 4, LENGTHS = 16 };

typedef struct rerun { /* one thread: every length again, from another one on, forwards or backwards
                        */
    const gsa_checking *c;
    gsa_instance *const *first;
    const gsa_example *examples;
    int count, number;
    int at; /* what differs; -1: nothing */
    difference found;
    gsa_status status;
    gsa_error why;
} rerun;

static void *run_again(void *context)
{
    rerun *r = context;
    r->at = -1;
    for (int i = 0; i < r->count && r->at < 0 && r->status == GSA_OK; i++) {
        const int turned = (i + r->number * r->count / THREADS) % r->count;
        const int e = r->number % 2 ? r->count - 1 - turned : turned;
        gsa_instance *x = NULL;
        r->status =
            gsa_pattern_instance(r->c->pattern, NULL, &r->examples[e], NULL, 1, &x, &r->why);
        if (r->status != GSA_OK || differ(r->c, r->first[e], x, &r->found)) r->at = e;
        gsa_instance_release(x);
    }
    return NULL;
}

static gsa_status run_threads(const gsa_checking *c, gsa_instance *const *first,
                              const gsa_example *examples, int count, gsa_finding *finding,
                              gsa_error *error)
{
    rerun runs[THREADS] = { 0 };
    pthread_t threads[THREADS];
    int started = 0;
    for (int t = 0; t < THREADS; t++) {
        runs[t] =
            (rerun){ .c = c, .first = first, .examples = examples, .count = count, .number = t };
        if (started == t && pthread_create(&threads[t], NULL, run_again, &runs[t]) == 0) started++;
    }
    for (int t = 0; t < started; t++) pthread_join(threads[t], NULL);
    if (started < THREADS)
        return gsa_fail(error, GSA_ERR_UNSUPPORTED,
                        "no thread can be started, by the plugin or by its check");
    for (int t = 0; t < THREADS; t++) {
        const rerun *r = &runs[t];
        if (r->status == GSA_ERR_MEMORY) return gsa_fail(error, r->status, "%s", r->why.text);
        if (r->at < 0 || finding->verdict != GSA_VERDICT_OK) continue;
        if (r->status == GSA_OK)
            found_difference(c, first[r->at], &r->found, "emitted again", finding);
        else
            gsa_found(finding, GSA_VERDICT_FAILED, "emitted again in another thread: %s",
                      r->why.text);
        finding->length = examples[r->at].length;
    }
    return GSA_OK;
}

static uint64_t digest_of(const gsa_checking *c, const gsa_instance *x, uint64_t digest)
{
    for (int k = 0; k < gsa_schema_kinds(c->schema); k++)
        digest = gsa_random(digest, (uint64_t)k, (uint64_t)gsa_instance_nodes(x, k));
    for (int p = 0; p < gsa_schema_phases(c->schema); p++) {
        gsa_edges edges;
        gsa_instance_edges(x, p, &edges);
        for (int64_t r = 0; r < edges.rows; r++)
            for (int64_t i = edges.run_offset[r]; i < edges.run_offset[r + 1]; i++) {
                const gsa_run *run = &edges.runs[i];
                digest = gsa_random(digest, (uint64_t)r,
                                    (uint64_t)run->kind << 32 | (uint32_t)run->first);
                digest = gsa_random(digest, (uint64_t)run->count, (uint64_t)run->step);
                digest = gsa_random(digest, (uint64_t)run->label, (uint64_t)run->label_step);
            }
    }
    return digest;
}

/* Each length has another text, until all were there. */
static int turn_of(const gsa_checking *c, int turn, int32_t length)
{
    int count = 0, text;
    while (gsa_checking_text(c, count, &text)) count++;
    while (gsa_checking_text(c, turn % count, &text) && !gsa_checking_has(c, text, length)) turn++;
    return text;
}

gsa_status gsa_check_deterministic(gsa_checking *c, gsa_finding *finding, gsa_error *error)
{
    gsa_instance *first[LENGTHS] = { 0 };
    gsa_example examples[LENGTHS] = { 0 };
    int count = 0;
    gsa_status status = GSA_OK;
    for (; count < LENGTHS && gsa_checking_few(c, count) >= 0 && status == GSA_OK;
         count += status == GSA_OK) {
        gsa_trial trial = gsa_checking_trial(c, gsa_checking_few(c, count));
        trial.heads = 2;
        trial.text = turn_of(c, count, trial.length);
        status = gsa_checking_example(c, &trial, &examples[count], error);
        if (status == GSA_OK) status = gsa_checking_build(c, &trial, &first[count], error);
    }
    if (status == GSA_OK) status = run_threads(c, first, examples, count, finding, error);
    const int same = status == GSA_OK && finding->verdict == GSA_VERDICT_OK;
    if (same) c->digest = gsa_check_schema(c->schema);
    for (int i = 0; i < count && same; i++) c->digest = digest_of(c, first[i], c->digest + 1);
    for (int i = 0; i < count; i++) gsa_instance_release(first[i]);
    if (same)
        gsa_found(finding, GSA_VERDICT_OK,
                  "the same for %d length%s in %d threads at once, each in another order", count,
                  count == 1 ? "" : "s", THREADS);
    return status;
}

/* ---- by length ----------------------------------------------------------------------------- */

/* The same length in another step, in groups, and with each other text, next to the usual example.
 * 1: one differs. */
static gsa_status compare_contents(gsa_checking *c, int32_t length, int *differs,
                                   gsa_finding *finding, gsa_error *error)
{
    gsa_trial trial = gsa_checking_trial(c, length);
    gsa_instance *plain, *x;
    difference d;
    char when[GSA_NODE_NAME + 16], name[GSA_NODE_NAME];
    trial.heads = 3;
    gsa_status status = gsa_checking_build(c, &trial, &plain, error);
    const int texts = GSA_TEXT_OWN + (c->reads_text ? c->options.n_texts : 0), usual = trial.text;
    for (int i = GSA_TEXT_NONE - 1; i < texts && status == GSA_OK && !*differs;
         i++) { /* NONE: the usual text in groups; before it: in another step */
        if (i >= GSA_TEXT_NONE && !gsa_checking_has(c, i, length)) continue;
        trial.text = i <= GSA_TEXT_NONE ? usual : i;
        trial.grouped = i == GSA_TEXT_NONE, trial.draw = i < GSA_TEXT_NONE;
        snprintf(when, sizeof when, "for %s", gsa_checking_text_name(trial.text, name));
        status = gsa_checking_build(c, &trial, &x, error);
        if (status == GSA_OK && differ(c, plain, x, &d)) {
            *differs = 1;
            found_difference(c, plain, &d,
                             trial.draw      ? "in another step of training"
                             : trial.grouped ? "with other groups"
                                             : when,
                             finding);
        }
        gsa_instance_release(x);
    }
    gsa_instance_release(plain);
    return status;
}

/* What may be concluded of a pattern that promises nothing and never differed. */
static void advise(const gsa_checking *c, gsa_finding *finding)
{
    if (gsa_pattern_columns(c->pattern))
        gsa_found(finding, GSA_VERDICT_NOT_PROMISED,
                  "it reads columns of the data, of which one kind was made up: numbers");
    else if (!c->reads_text)
        gsa_found(finding, GSA_VERDICT_NOT_PROMISED,
                  "but no text and no groups changed an edge: promise it, and it is cached");
    else if (c->options.n_texts == 0)
        gsa_found(finding, GSA_VERDICT_NOT_PROMISED,
                  "no text that was made up changed an edge, of %d kinds: --text FILE tries yours",
                  GSA_TEXT_OWN - 1);
    else
        gsa_found(finding, GSA_VERDICT_NOT_PROMISED,
                  "but no groups and none of %" PRId32
                  " texts given changed an edge, beside others of equal length: promise "
                  "it, without GSA_NEEDS_TEXT, and it is cached",
                  c->options.n_texts);
}

gsa_status gsa_check_by_length(gsa_checking *c, gsa_finding *finding, gsa_error *error)
{
    int differs = 0;
    gsa_status status = GSA_OK;
    for (int i = 0; gsa_checking_few(c, i) >= 0 && status == GSA_OK && !differs; i++)
        status = compare_contents(c, gsa_checking_few(c, i), &differs, finding, error);
    if (status != GSA_OK || (differs && gsa_checking_promised(c, GSA_BY_LENGTH))) return status;
    if (differs) finding->verdict = GSA_VERDICT_NOT_PROMISED;
    else if (gsa_checking_promised(c, GSA_BY_LENGTH))
        gsa_found(finding, GSA_VERDICT_OK,
                  "other texts and groups change no edge: patterns are cached by length");
    else advise(c, finding);
    return GSA_OK;
}
