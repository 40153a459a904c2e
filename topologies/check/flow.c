/* flow.c - what a token's state is made of after many layers: no later token, and the same whatever
 * follows. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "graph/ready.h"
#include "parts.h"

enum { LAYERS = 8 }; /* whose states are compared: what takes more hops than layers is not seen */
enum { FEW_LAYERS = 3, LAYERS_MOST = 48 }; /* followed until nothing changes any more */

/* A broken property is FAILED where it was promised; else the sentence stays and says so. */
static void finish(const gsa_checking *c, uint32_t flag, const char *holds, gsa_finding *finding)
{
    const int promised = gsa_checking_promised(c, flag);
    if (finding->verdict == GSA_VERDICT_FAILED && !promised)
        finding->verdict = GSA_VERDICT_NOT_PROMISED;
    else if (finding->verdict == GSA_VERDICT_OK && promised)
        gsa_found(finding, GSA_VERDICT_OK, "%s", holds);
    else if (finding->verdict == GSA_VERDICT_OK)
        gsa_found(finding, GSA_VERDICT_NOT_PROMISED, "but it holds at every length tried");
}

/* ---- causal -------------------------------------------------------------------------------- */

/* 1 when the last layer changed no index: no further one will. */
static int is_settled(const gsa_checking *c, const gsa_instance *x, const gsa_ready *ready)
{
    const int end = gsa_ready_steps(ready);
    int begin = end;
    for (int phase, layer = FEW_LAYERS, last = -1; begin > 0; begin--) {
        gsa_ready_step(ready, begin - 1, &phase, &layer);
        if (last >= 0 && layer != last) break;
        last = layer;
    }
    for (int k = 0; k < gsa_schema_kinds(c->schema); k++) {
        const int32_t *now = gsa_ready_at(ready, end, k), *before = gsa_ready_at(ready, begin, k);
        const size_t nodes = (size_t)gsa_instance_nodes(x, k);
        if (nodes > 0 && now != before && memcmp(now, before, nodes * sizeof *now) != 0) return 0;
    }
    return 1;
}

/* Through as many layers as it takes: a path may pass one more node in each. */
static gsa_status follow(const gsa_checking *c, gsa_instance *x, gsa_ready **ready,
                         gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int layers = FEW_LAYERS; status == GSA_OK; layers *= 2) {
        status = gsa_ready_create(c->system, x, layers, NULL, ready, error);
        if (status != GSA_OK || layers >= LAYERS_MOST || is_settled(c, x, *ready)) break;
        gsa_ready_release(*ready);
        *ready = NULL;
    }
    return status;
}

/* The first step after which a token of the sequence knows a later one. */
static void find_leak(const gsa_checking *c, const gsa_ready *ready, const gsa_trial *trial,
                      gsa_finding *finding)
{
    const int sequence = gsa_schema_sequence(c->schema);
    const int32_t length = trial->length;
    char where[GSA_NODE_NAME];
    for (int s = 0; s <= gsa_ready_steps(ready); s++) {
        const int32_t *at = gsa_ready_at(ready, s, sequence);
        for (int32_t i = 0; i < length; i++) {
            int phase = -1, layer = -1;
            if (at[i] <= i) continue;
            if (s > 0) gsa_ready_step(ready, s - 1, &phase, &layer);
            finding->length = length, finding->phase = phase, finding->row = i,
            finding->value = at[i];
            gsa_found(finding, GSA_VERDICT_FAILED,
                      "token %" PRId32 " knows token %" PRId32 " at length %" PRId32
                      "%s, after phase '%s' of layer %d",
                      i, at[i], length, gsa_checking_where(trial, where),
                      phase < 0 ? "start" : gsa_schema_phase(c->schema, phase)->name, layer + 1);
            return;
        }
    }
}

static gsa_status try_causal(gsa_checking *c, const gsa_trial *trial, gsa_finding *finding,
                             gsa_error *error)
{
    gsa_instance *x;
    gsa_ready *ready = NULL;
    gsa_status status = gsa_checking_build(c, trial, &x, error);
    if (status == GSA_OK) status = follow(c, x, &ready, error);
    if (status == GSA_OK) find_leak(c, ready, trial, finding);
    gsa_ready_release(ready);
    gsa_instance_release(x);
    return status;
}

gsa_status gsa_check_causal(gsa_checking *c, gsa_finding *finding, gsa_error *error)
{
    gsa_status status = GSA_OK;
    gsa_trial trial;
    for (int i = 0; gsa_checking_length(c, i) >= 0; i++)
        for (int v = 0, use;
             (use = gsa_checking_variant(c, gsa_checking_length(c, i), v, &trial)) != 0; v++)
            if (use > 0 && status == GSA_OK && finding->verdict == GSA_VERDICT_OK)
                status = try_causal(c, &trial, finding, error);
    if (status == GSA_OK)
        finish(c, GSA_CAUSAL, "no token knows a later one, through however many layers", finding);
    return status;
}

/* ---- prefix-stable: the computation after each state as one number ------------------------ */

typedef struct unfolding {
    const gsa_checking *c;
    const gsa_instance *x;
    int64_t base[GSA_MAX_KINDS + 1];
    uint64_t *now, *old; /* one number a node; old: what the current together group reads */
} unfolding;

enum { SALT_START = 1, SALT_LEARNED, SALT_EDGE, SALT_PHASE };

static uint64_t start_of(const unfolding *u, const gsa_kind *kind, int64_t index)
{
    const int from_input = kind->start == GSA_INPUT || kind->start == GSA_COPY;
    const uint64_t own = from_input || kind->start == GSA_MEMORY ? (uint64_t)index + 1
                         : kind->start == GSA_MEAN_INPUT ? (uint64_t)gsa_instance_length(u->x) + 1
                                                         : 0;
    const int start = from_input ? GSA_INPUT : kind->start == GSA_BY_PHASE ? GSA_ZERO : kind->start;
    const uint64_t value = gsa_random(SALT_START, (uint64_t)start, own);
    return kind->learned ? gsa_random(SALT_LEARNED, value, (uint64_t)index) : value;
}

static void unfold_start(unfolding *u)
{
    for (int k = 0; k < gsa_schema_kinds(u->c->schema); k++)
        for (int64_t i = u->base[k]; i < u->base[k + 1]; i++)
            u->now[i] = start_of(u, gsa_schema_kind(u->c->schema, k), i - u->base[k]);
}

static uint64_t unfold_run(const unfolding *u, const gsa_run *run, int32_t heads, uint64_t value)
{
    for (int64_t j = 0; j < run->count; j++) {
        const int64_t source = run->first + j * run->step;
        const uint64_t label = (uint64_t)(run->label + j * run->label_step);
        const uint64_t place = (uint64_t)run->kind << 48 | (uint64_t)(source % heads) << 32 | label;
        value = gsa_random(value, u->old[u->base[run->kind] + source / heads], place);
    }
    return value;
}

/* The new number of a node whose rows, one a head, start at `row`. */
static uint64_t unfold_node(const unfolding *u, int phase, const gsa_edges *edges, int64_t row,
                            uint64_t old)
{
    const gsa_phase *p = gsa_schema_phase(u->c->schema, phase);
    const int32_t heads = p->per_head ? gsa_instance_heads(u->x) : 1;
    if (p->aggregate == GSA_NONE) return gsa_random(SALT_PHASE, (uint64_t)phase, old);
    const int empty = edges->run_offset[row] == edges->run_offset[row + heads];
    if (empty && p->empty == GSA_KEEP_EMPTY) return old;
    const int keeps_old = p->update == GSA_SUBLAYER || (p->aggregate == GSA_ATTEND && !empty);
    uint64_t value = gsa_random(SALT_PHASE, (uint64_t)phase, keeps_old ? old : 0);
    for (int32_t h = 0; h < heads; h++) {
        value = gsa_random(value, SALT_EDGE, (uint64_t)h);
        for (int64_t i = edges->run_offset[row + h]; i < edges->run_offset[row + h + 1]; i++)
            value = unfold_run(u, &edges->runs[i], heads, value);
    }
    return value;
}

static void unfold_phase(unfolding *u, int phase)
{
    const gsa_phase *p = gsa_schema_phase(u->c->schema, phase);
    gsa_edges edges;
    int64_t row = 0;
    gsa_instance_edges(u->x, phase, &edges);
    const int kinds = gsa_schema_kinds(u->c->schema);
    if (!p->together && u->base[kinds] > 0)
        memcpy(u->old, u->now, (size_t)u->base[kinds] * sizeof *u->now);
    for (int k = 0; k < kinds; k++) {
        if (!(p->destinations >> k & 1)) continue;
        for (int64_t i = u->base[k]; i < u->base[k + 1];
             i++, row += p->per_head ? gsa_instance_heads(u->x) : 1)
            u->now[i] = unfold_node(u, phase, &edges, row, u->now[i]);
    }
}

static void unfold_layer(unfolding *u, int when)
{
    for (int p = 0; p < gsa_schema_phases(u->c->schema); p++)
        if (gsa_schema_phase(u->c->schema, p)->when == when) unfold_phase(u, p);
}

/* Compares each token's numbers after each layer with those of the shortest length that had the
 * token. */
typedef struct memory { /* [tokens], 0 lengths: not met yet */
    int32_t tokens, *length;
    uint64_t *value; /* [LAYERS * tokens] */
} memory;

static void compare_tokens(const unfolding *u, memory *m, int layer, const gsa_trial *trial,
                           gsa_finding *finding)
{
    const int32_t length = trial->length;
    char where[GSA_NODE_NAME];
    const uint64_t *now = u->now + u->base[gsa_schema_sequence(u->c->schema)];
    for (int32_t i = 0; i < length && i < m->tokens; i++) {
        uint64_t *first = &m->value[(size_t)layer * (size_t)m->tokens + (size_t)i];
        if (m->length[i] == 0 || m->length[i] == length) {
            *first = now[i];
            m->length[i] = length;
        } else if (*first != now[i] && finding->verdict == GSA_VERDICT_OK) {
            finding->length = length, finding->row = i, finding->value = m->length[i];
            gsa_found(finding, GSA_VERDICT_FAILED,
                      "token %" PRId32 " is made of other things at length %" PRId32
                      " than at length %" PRId32 "%s, from layer %d on",
                      i, length, m->length[i], gsa_checking_where(trial, where), layer + 1);
        }
    }
}

static gsa_status unfold(gsa_checking *c, const gsa_instance *x, memory *m, const gsa_trial *trial,
                         gsa_finding *finding, gsa_error *error)
{
    unfolding u = { .c = c, .x = x };
    gsa_checking_bases(c, x, u.base);
    const int64_t nodes = u.base[gsa_schema_kinds(c->schema)];
    u.now = gsa_alloc(c->system, (size_t)nodes, 2 * sizeof *u.now);
    if (!u.now)
        return gsa_out_of_memory(error, "unfolded states", nodes * 2 * (int64_t)sizeof *u.now);
    u.old = u.now + nodes;
    unfold_start(&u);
    unfold_layer(&u, GSA_ONCE);
    for (int layer = 0; layer < LAYERS; layer++) {
        unfold_layer(&u, GSA_EACH_LAYER);
        compare_tokens(&u, m, layer, trial, finding);
    }
    gsa_release(c->system, u.now);
    return GSA_OK;
}

enum { TOKENS = 1000 };

/* All lengths of one variant; 0 after the last. */
static int try_prefixes(gsa_checking *c, int variant, memory *m, gsa_finding *finding,
                        gsa_status *status, gsa_error *error)
{
    gsa_trial trial;
    if (!gsa_checking_variant(c, 0, variant, &trial)) return 0;
    memset(m->length, 0, TOKENS * sizeof *m->length);
    for (int i = 0;
         *status == GSA_OK && gsa_checking_length(c, i) >= 0 && finding->verdict == GSA_VERDICT_OK;
         i++) {
        gsa_instance *x;
        if (gsa_checking_variant(c, gsa_checking_length(c, i), variant, &trial) < 0) continue;
        *status = gsa_checking_build(c, &trial, &x, error);
        if (*status == GSA_OK) *status = unfold(c, x, m, &trial, finding, error);
        gsa_instance_release(x);
    }
    return 1;
}

gsa_status gsa_check_prefix_stable(gsa_checking *c, gsa_finding *finding, gsa_error *error)
{
    memory m = { .tokens = TOKENS };
    if (c->only >= 0) {
        gsa_found(finding, GSA_VERDICT_NOT_PROMISED, "there is one length only");
        return GSA_OK;
    }
    m.length = gsa_alloc_zero(c->system, TOKENS, sizeof *m.length);
    m.value = gsa_alloc(c->system, TOKENS * LAYERS, sizeof *m.value);
    gsa_status status = m.length && m.value
                            ? GSA_OK
                            : gsa_out_of_memory(error, "unfolded states", TOKENS * LAYERS * 8);
    for (int v = 0; status == GSA_OK && try_prefixes(c, v, &m, finding, &status, error);) v++;
    gsa_release(c->system, m.length);
    gsa_release(c->system, m.value);
    if (status == GSA_OK)
        finish(c, GSA_PREFIX_STABLE,
               "what each token is made of in 8 layers does not change as the text grows", finding);
    return status;
}
