#include "graph/ready.h"
#include "graph/index.h"
#include <string.h>
#include "graph/schema_parts.h"

typedef struct ready_step {
    int phase, layer;
    int reads; /* the step whose states this one reads: its own, or its together group's first */
} ready_step;

struct gsa_ready {
    const gsa_system *system;
    gsa_instance *instance;
    int steps, kinds;
    ready_step *step; /* [steps] */
    int32_t **at;     /* [(steps + 1) * kinds]; owned where it differs from the step before */
};

static int32_t **state(const gsa_ready *r, int s)
{
    return r->at + (size_t)s * (size_t)r->kinds;
}

/* ---- the steps ----------------------------------------------------------------------------- */

static int is_given(const gsa_schema *schema, int phase, const int32_t *const *start)
{
    for (int k = 0; k < schema->kinds; k++)
        if (schema->phase[phase].destinations >> k & 1 && (!start || !start[k])) return 0;
    return 1;
}

/* Appends the phases of one `when`, those of layer -1 only where they are still to be run. */
static void add_steps(gsa_ready *r, const gsa_schema *schema, int layer,
                      const int32_t *const *start)
{
    int group = -1, reads = 0;
    for (int p = 0; p < schema->phases; p++) {
        if ((schema->phase[p].when == GSA_ONCE) != (layer < 0) ||
            (layer < 0 && is_given(schema, p, start)))
            continue;
        if (schema->group[p] != group) group = schema->group[p], reads = r->steps;
        r->step[r->steps++] = (ready_step){ p, layer, reads };
    }
}

/* ---- states -------------------------------------------------------------------------------- */

static int32_t *new_state(const gsa_ready *r, int kind)
{
    return gsa_alloc(r->system, (size_t)gsa_instance_nodes(r->instance, kind), sizeof(int32_t));
}

static gsa_status start_kind(gsa_ready *r, int kind, const int32_t *given, gsa_error *error)
{
    const int64_t nodes = gsa_instance_nodes(r->instance, kind);
    const int start = gsa_instance_schema(r->instance)->kind[kind].start;
    int32_t *ready = state(r, 0)[kind] = new_state(r, kind);
    if (!ready) return gsa_out_of_memory(error, "ready indices", nodes * (int64_t)sizeof *ready);
    for (int64_t i = 0; i < nodes; i++)
        ready[i] = given                                     ? given[i]
                   : start == GSA_INPUT || start == GSA_COPY ? (int32_t)i
                   : start == GSA_MEAN_INPUT                 ? gsa_instance_length(r->instance) - 1
                                                             : -1;
    return GSA_OK;
}

static int rises(const int32_t *ready, int64_t nodes)
{
    for (int64_t i = 1; i < nodes; i++)
        if (ready[i] < ready[i - 1]) return 0;
    return 1;
}

static int32_t latest_of_run(const gsa_run *run, const int32_t *ready, int rising, int32_t heads)
{
    int32_t latest = -1;
    if (rising)
        return ready[(run->step > 0 ? run->first + (int64_t)(run->count - 1) * run->step
                                    : run->first) /
                     heads];
    for (int64_t i = 0; i < run->count; i++) {
        const int32_t source = ready[(run->first + i * run->step) / heads];
        if (source > latest) latest = source;
    }
    return latest;
}

typedef struct reading { /* one phase's edges and what they read */
    const gsa_phase *phase;
    gsa_edges edges;
    int32_t heads; /* rows of a node: 1, or the heads of a per-head phase */
    const int32_t *const *ready;
    int rising[GSA_MAX_KINDS];
} reading;

static void open_reading(reading *x, const gsa_instance *instance, int phase,
                         const int32_t *const *old)
{
    const gsa_schema *schema = gsa_instance_schema(instance);
    *x = (reading){ .phase = &schema->phase[phase], .ready = old };
    gsa_instance_edges(instance, phase, &x->edges);
    x->heads = x->phase->per_head ? gsa_instance_heads(instance) : 1;
    for (int k = 0; k < schema->kinds; k++)
        x->rising[k] = x->phase->sources >> k & 1 && rises(old[k], gsa_instance_nodes(instance, k));
}

/* The node whose rows are row, row + 1, ... (one a head). */
static int32_t update(const reading *x, int64_t row, int32_t old)
{
    const int residual = x->phase->update == GSA_SUBLAYER || x->phase->update == GSA_FFN;
    if (x->phase->aggregate == GSA_NONE) return old;
    const int64_t first = x->edges.run_offset[row], end = x->edges.run_offset[row + x->heads];
    if (first == end && x->phase->empty == GSA_KEEP_EMPTY) return old;
    const int keeps_old = residual || (x->phase->aggregate == GSA_ATTEND && first < end);
    int32_t latest = keeps_old ? old : -1;
    for (int64_t i = first; i < end; i++) {
        const gsa_run *run = &x->edges.runs[i];
        const int32_t source =
            latest_of_run(run, x->ready[run->kind], x->rising[run->kind], x->heads);
        if (source > latest) latest = source;
    }
    return latest;
}

void gsa_ready_phase(const gsa_instance *instance, int phase, const int32_t *const *old,
                     const int32_t *const *now, int32_t *const *next)
{
    reading x;
    int64_t row = 0;
    open_reading(&x, instance, phase, old);
    for (int k = 0; k < gsa_schema_kinds(gsa_instance_schema(instance)); k++) {
        if (!(x.phase->destinations >> k & 1)) continue;
        for (int64_t i = 0; i < gsa_instance_nodes(instance, k); i++, row += x.heads)
            next[k][i] = update(&x, row, now[k][i]);
    }
}

static gsa_status run_step(gsa_ready *r, int s, gsa_error *error)
{
    int32_t **now = state(r, s), **next = state(r, s + 1);
    memcpy(next, now, (size_t)r->kinds * sizeof *r->at);
    for (int k = 0; k < r->kinds; k++) {
        if (!(gsa_instance_schema(r->instance)->phase[r->step[s].phase].destinations >> k & 1))
            continue;
        int32_t *ready = new_state(r, k);
        if (!ready)
            return gsa_out_of_memory(error, "ready indices",
                                     gsa_instance_nodes(r->instance, k) * (int64_t)sizeof *ready);
        next[k] = ready;
    }
    gsa_ready_phase(r->instance, r->step[s].phase,
                    (const int32_t *const *)state(r, r->step[s].reads), (const int32_t *const *)now,
                    next);
    return GSA_OK;
}

/* ---- the handle ---------------------------------------------------------------------------- */

static gsa_status make(gsa_ready *r, int layers, const int32_t *const *start, gsa_error *error)
{
    const gsa_schema *schema = gsa_instance_schema(r->instance);
    int64_t room, cells;
    if (!gsa_mul((int64_t)layers + 1, schema->phases, &room) ||
        !gsa_mul(room + 1, r->kinds, &cells) || cells > gsa_index_most)
        return gsa_fail(error, GSA_ERR_LIMIT,
                        "%d layers of topology '%s' are too many steps to follow", layers,
                        schema->id);
    r->step = gsa_alloc(r->system, (size_t)room, sizeof *r->step);
    r->at = gsa_alloc_zero(r->system, (size_t)cells, sizeof *r->at);
    if (!r->step || !r->at)
        return gsa_out_of_memory(error, "ready indices", cells * (int64_t)sizeof *r->at);
    for (int layer = -1; layer < layers; layer++) add_steps(r, schema, layer, start);
    gsa_status status = GSA_OK;
    for (int k = 0; k < r->kinds && status == GSA_OK; k++)
        status = start_kind(r, k, start ? start[k] : NULL, error);
    for (int s = 0; s < r->steps && status == GSA_OK; s++) status = run_step(r, s, error);
    return status;
}

gsa_status gsa_ready_create(const gsa_system *system, gsa_instance *instance, int layers,
                            const int32_t *const *start, gsa_ready **ready, gsa_error *error)
{
    *ready = NULL;
    if (layers < 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "ready indices after %d layers, expected at least 0", layers);
    gsa_ready *r = gsa_alloc_zero(system, 1, sizeof *r);
    if (!r) return gsa_out_of_memory(error, "ready indices", (int64_t)sizeof *r);
    r->system = system;
    r->instance = gsa_instance_retain(instance);
    r->kinds = gsa_instance_schema(instance)->kinds;
    const gsa_status status = make(r, layers, start, error);
    if (status == GSA_OK) *ready = r;
    else gsa_ready_release(r);
    return status;
}

void gsa_ready_release(gsa_ready *ready)
{
    if (!ready) return;
    for (int s = 0; ready->at && s <= ready->steps; s++)
        for (int k = 0; k < ready->kinds; k++)
            if (s == 0 || state(ready, s)[k] != state(ready, s - 1)[k])
                gsa_release(ready->system, state(ready, s)[k]);
    gsa_release(ready->system, ready->at);
    gsa_release(ready->system, ready->step);
    gsa_instance_release(ready->instance);
    gsa_release(ready->system, ready);
}

int gsa_ready_steps(const gsa_ready *ready)
{
    return ready->steps;
}

void gsa_ready_step(const gsa_ready *ready, int step, int *phase, int *layer)
{
    *phase = ready->step[step].phase;
    *layer = ready->step[step].layer;
}

const int32_t *gsa_ready_at(const gsa_ready *ready, int step, int kind)
{
    return state(ready, step)[kind];
}
