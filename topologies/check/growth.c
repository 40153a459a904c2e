/* growth.c - how the number of edges grows: runs are checked and counted, none is kept. */
#include <inttypes.h>
#include <stdio.h>
#include "parts.h"

/* n: what f(n) stands for. Lengths of square patterns are shorter, so that one that emits edge by
 * edge ends too. */
static const struct growth_class {
    const char *name;
    int first; /* lengths 2^first, 2^(first+1), 2^(first+2) */
} classes[] = { { "linear", 16 }, { "n log n", 16 }, { "n sqrt n", 16 }, { "square", 10 } };

enum { POINTS = 3, LATER = 3, CALLS_A_BEAT = 1 << 20, CALLS_MOST = 1 << 28 };

typedef struct block {
    struct block *next;
    max_align_t bytes[];
} block;

typedef struct counting { /* what implements the emitter */
    gsa_checking *c;
    const gsa_example *example;
    int64_t nodes[GSA_MAX_KINDS], calls, runs, edges;
    block *scratch;
    gsa_status status;
    gsa_error why;
} counting;

static void refuse(counting *x, gsa_status status, const char *what, int64_t value)
{
    if (x->status == GSA_OK)
        x->status = gsa_fail(&x->why, status, "length %" PRId32 ": %s: %" PRId64,
                             x->example->length, what, value);
}

static int64_t count_nodes(gsa_emitter *e, int kind, int64_t count)
{
    counting *x = e->host;
    if (x->status != GSA_OK) return 0;
    if (kind < 0 || kind >= gsa_schema_kinds(x->c->schema) || count < 0 ||
        count > INT32_MAX - x->nodes[kind]) {
        refuse(x, GSA_ERR_PLUGIN, "nodes that cannot be", count);
        return 0;
    }
    x->nodes[kind] += count;
    return x->nodes[kind] - count;
}

static void count_place(gsa_emitter *e, gsa_node node, int level, int64_t first, int64_t last)
{
    (void)e, (void)node, (void)level, (void)first, (void)last;
}

static void count_summary(gsa_emitter *e, gsa_node node)
{
    (void)e, (void)node;
}

/* The index inside its kind, or -1 where the kind or the index does not fit. */
static int64_t index_in(const counting *x, gsa_node node, uint64_t kinds, int64_t scale)
{
    const int kind = (int)(node >> 48);
    const int64_t index = (int64_t)(node & 0xffffffffffffu);
    return kind < GSA_MAX_KINDS && kinds >> kind & 1 && index < x->nodes[kind] * scale ? index : -1;
}

static void count_run(gsa_emitter *e, int phase, gsa_node from, int64_t count, int64_t step,
                      gsa_node to, int32_t label, int32_t label_step)
{
    counting *x = e->host;
    if (x->status != GSA_OK) return;
    if (++x->calls % CALLS_A_BEAT == 0) gsa_checking_beat(x->c, x->example->length);
    if (x->calls > CALLS_MOST) {
        refuse(x, GSA_ERR_LIMIT, "more calls of run than are counted", CALLS_MOST);
        return;
    }
    if (phase < 0 || phase >= gsa_schema_phases(x->c->schema)) {
        refuse(x, GSA_ERR_PLUGIN, "edges of an unknown phase", phase);
        return;
    }
    if (count == 0) return;
    const gsa_phase *p = gsa_schema_phase(x->c->schema, phase);
    const int64_t scale = p->per_head ? x->example->heads : 1;
    const int64_t source = index_in(x, from, p->sources, scale),
                  space = source < 0 ? 0 : x->nodes[from >> 48] * scale;
    const int64_t last =
        source +
        (count > 1 && count <= INT32_MAX && step < space && step > -space ? (count - 1) * step : 0);
    const int64_t last_label = label + (count <= INT32_MAX ? count - 1 : 0) * (int64_t)label_step;
    if (index_in(x, to, p->destinations, scale) < 0)
        refuse(x, GSA_ERR_PLUGIN, "a destination that does not exist", (int64_t)to);
    else if (source < 0 || last < 0 || last >= space)
        refuse(x, GSA_ERR_PLUGIN, "a source that does not exist", last);
    else if (count < 0 || count > INT32_MAX)
        refuse(x, GSA_ERR_PLUGIN, "a count of edges out of range", count);
    else if (label < 0 || label >= p->labels || last_label < 0 || last_label >= p->labels)
        refuse(x, GSA_ERR_PLUGIN, "a label out of range", last_label);
    x->runs++, x->edges += count;
}

static void *count_scratch(gsa_emitter *e, size_t bytes)
{
    counting *x = e->host;
    if (x->status != GSA_OK) return NULL;
    block *made = bytes < PTRDIFF_MAX / 2 ? gsa_alloc(x->c->system, sizeof *made + bytes, 1) : NULL;
    if (!made) {
        refuse(x, GSA_ERR_MEMORY, "out of memory for bytes of scratch", (int64_t)bytes);
        return NULL;
    }
    made->next = x->scratch, x->scratch = made;
    return made->bytes;
}

static void count_fail(gsa_emitter *e, const char *sentence)
{
    counting *x = e->host;
    if (x->status == GSA_OK)
        x->status = gsa_fail(&x->why, GSA_ERR_ARGUMENT, "length %" PRId32 ": %s",
                             x->example->length, sentence ? sentence : "failed without a sentence");
}

/* Emits one example of the length and counts its edges and runs. */
static gsa_status count_example(gsa_checking *c, int32_t length, int64_t *edges, int64_t *runs,
                                gsa_error *why, gsa_error *error)
{
    const gsa_trial trial = gsa_checking_trial(c, length);
    gsa_example example;
    const gsa_status status = gsa_checking_example(c, &trial, &example, error);
    if (status != GSA_OK) return status;
    counting x = { .c = c, .example = &example };
    for (int k = 0; k < gsa_schema_kinds(c->schema); k++) {
        const int start = gsa_schema_kind(c->schema, k)->start;
        x.nodes[k] = start == GSA_MEMORY                       ? example.memory_length
                     : start == GSA_INPUT || start == GSA_COPY ? length
                                                               : 0;
    }
    gsa_emitter emitter = { .struct_size = sizeof emitter,
                            .host = &x,
                            .nodes = count_nodes,
                            .place = count_place,
                            .run = count_run,
                            .summary = count_summary,
                            .scratch = count_scratch,
                            .fail = count_fail };
    gsa_checking_beat(c, length);
    gsa_pattern_topology(c->pattern)->emit(gsa_pattern_self(c->pattern), &example, &emitter);
    for (block *next; x.scratch; x.scratch = next) {
        next = x.scratch->next;
        gsa_release(c->system, x.scratch);
    }
    *edges = x.edges, *runs = x.runs, *why = x.why;
    return x.status == GSA_ERR_MEMORY ? gsa_fail(error, x.status, "%s", x.why.text) : GSA_OK;
}

/* f(2n) / f(n) */
static double promised_ratio(int growth, int log_n)
{
    switch (growth) {
    case GSA_NLOGN_EDGES:
        return 2.0 * (log_n + 1) / log_n;
    case GSA_NSQRTN_EDGES:
        return 2.8284271247461903;
    case GSA_SQUARE_EDGES:
        return 4;
    default:
        return 2;
    }
}

/* The class holds from 2^first tokens on, or the finding says where not. */
static void compare(int growth, int first, const int64_t *edges, const int64_t *runs,
                    gsa_finding *finding)
{
    const char *name = classes[growth].name;
    finding->verdict = GSA_VERDICT_OK;
    for (int i = 0; i + 1 < POINTS; i++) {
        const double ratio = (double)edges[i + 1] / (double)edges[i],
                     most = 1.05 * promised_ratio(growth, first + i);
        if (edges[i] == 0 ? edges[i + 1] == 0 : ratio <= most) continue;
        finding->length = INT64_C(2) << (first + i), finding->value = edges[i + 1];
        gsa_found(finding, GSA_VERDICT_FAILED,
                  "%" PRId64 " edges at 2^%d tokens, %" PRId64
                  " at 2^%d: %.4g times as many, and %s growth allows %.4g",
                  edges[i], first + i, edges[i + 1], first + i + 1, ratio, name, most);
        return;
    }
    finding->length = -1, finding->value = edges[POINTS - 1];
    gsa_found(finding, GSA_VERDICT_OK,
              "%s: %" PRId64 ", %" PRId64 ", %" PRId64 " edges at 2^%d, 2^%d, 2^%d tokens (%" PRId64
              " runs)",
              name, edges[0], edges[1], edges[2], first, first + 1, first + 2, runs[POINTS - 1]);
}

static gsa_status count_points(gsa_checking *c, int first, int64_t *runs, gsa_finding *finding,
                               gsa_error *error)
{
    int64_t edges[POINTS];
    for (int i = 0; i < POINTS; i++) {
        gsa_error why = { 0 };
        const int32_t length = 1 << (first + i);
        const gsa_status status = count_example(c, length, &edges[i], &runs[i], &why, error);
        if (status != GSA_OK) return status;
        if (why.status == GSA_OK) continue;
        finding->length = length;
        gsa_found(finding, GSA_VERDICT_FAILED, "%s", why.text);
        runs[POINTS - 1] = CALLS_MOST;
        return GSA_OK;
    }
    compare(gsa_schema_growth(c->schema), first, edges, runs, finding);
    return GSA_OK;
}

gsa_status gsa_check_growth(gsa_checking *c, gsa_finding *finding, gsa_error *error)
{
    const int growth = gsa_schema_growth(c->schema);
    int64_t runs[POINTS];
    if (c->only >= 0) {
        gsa_found(finding, GSA_VERDICT_NOT_PROMISED, "there is one length only");
        return GSA_OK;
    }
    gsa_status status = count_points(c, classes[growth].first, runs, finding, error);
    if (status != GSA_OK || finding->verdict != GSA_VERDICT_FAILED) return status;
    /* A width of thousands shows what it is only in longer texts, which are tried where they cost
     * little. */
    if (growth == GSA_SQUARE_EDGES || runs[POINTS - 1] > CALLS_MOST >> (LATER + 1)) return GSA_OK;
    const gsa_finding here = *finding;
    gsa_error why = { 0 };
    status = count_points(c, classes[growth].first + LATER, runs, finding, &why);
    if (status != GSA_OK || finding->verdict != GSA_VERDICT_OK) *finding = here;
    return GSA_OK;
}
