#include "generation.h"
#include <string.h>
#include "generation_parts.h"

gsa_status gsa_generation_create(const gsa_stack *stack, gsa_backend *backend,
                                 const gsa_generation_options *options, gsa_generation **generation,
                                 gsa_error *error)
{
    *generation = NULL;
    if (options->longest < 1 || options->longest == INT32_MAX)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "generation of at most %d tokens, expected 1 to %d", options->longest,
                        INT32_MAX - 1);
    gsa_generation *g = gsa_alloc_zero(stack->system, 1, sizeof *g);
    if (!g) return gsa_out_of_memory(error, "a generation", (int64_t)sizeof *g);
    g->system = stack->system, g->stack = stack, g->backend = backend;
    g->most = options->longest, g->longest = g->most + 1, g->cache = options->cache;
    if (options->limits) g->limits = *options->limits;
    g->by_length = 1;
    for (int p = 0; p < stack->n_parts; p++)
        g->by_length &= (gsa_schema_flags(stack->parts[p].schema) & GSA_BY_LENGTH) != 0;
    const gsa_generation_plan *plan;
    gsa_status status = gsa_generation_program(g, error);
    if (status == GSA_OK && !stack->reads_memory)
        status = gsa_generation_plan_for(g, 0, NULL, NULL, &plan, error);
    if (status == GSA_OK) *generation = g;
    else gsa_generation_release(g);
    return status;
}

void gsa_generation_release(gsa_generation *g)
{
    if (!g) return;
    gsa_generation_plans_release(g);
    for (int p = 0; p < g->n_pools; p++)
        if (g->pool[p].x.data) g->backend->free(g->backend, g->pool[p].x.data);
    for (int32_t i = 0; i < g->room_sequences; i++) {
        gsa_release(g->system, g->sequence[i].moment);
        gsa_release(g->system, g->other[i].moment);
    }
    void *const all[] = { g->value, g->pool, g->turn,   g->sequence,
                          g->other, g->item, g->moment, g->run };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) gsa_release(g->system, all[i]);
    gsa_release(g->system, g);
}

void gsa_generation_clear(gsa_generation *g)
{
    for (int v = 0; v < g->n_values; v++)
        g->value[v].rows = g->value[v].base = 0, g->value[v].fresh = NULL;
    for (int p = 0; p < g->n_pools; p++) g->pool[p].x.rows = g->pool[p].first = 0;
    if (!g->by_length) gsa_generation_plans_release(g);
    g->n_sequences = 0;
    g->n_moments = 0;
    g->broken = 0;
    g->counts = (gsa_generation_counts){ 0 };
}

/* ---- which sequences go on ----------------------------------------------------------------- */
static gsa_status copy_sequence(gsa_generation *g, gsa_grown *to, const gsa_grown *from,
                                gsa_error *error)
{
    const gsa_status status = gsa_sequence_grow(g, to, from->length + 1, error);
    if (status != GSA_OK) return status;
    to->plan = from->plan, to->length = from->length;
    memcpy(to->moment, from->moment, ((size_t)from->length + 1) * sizeof *to->moment);
    return GSA_OK;
}

gsa_status gsa_generation_reserve(gsa_generation *g, int32_t count, gsa_error *error)
{
    if (count <= g->room_sequences) return GSA_OK;
    gsa_grown **const lists[] = { &g->sequence, &g->other };
    for (int l = 0; l < 2; l++) {
        gsa_grown *list = gsa_resize(g->system, *lists[l], (size_t)count, sizeof *list);
        if (!list) return gsa_out_of_memory(error, "sequences", count * (int64_t)sizeof *list);
        *lists[l] = list;
        memset(list + g->room_sequences, 0, (size_t)(count - g->room_sequences) * sizeof *list);
    }
    gsa_item *item = gsa_resize(g->system, g->item, (size_t)count, sizeof *item);
    if (!item) return gsa_out_of_memory(error, "sequences", count * (int64_t)sizeof *item);
    g->item = item;
    g->room_sequences = count;
    return GSA_OK;
}

/* The lists are copied into those of the generation before, which take turns with them: nothing is
 * allocated but for growth. */
gsa_status gsa_generation_choose(gsa_generation *g, const int32_t *parent, int32_t count,
                                 gsa_error *error)
{
    if (count < 0) return gsa_fail(error, GSA_ERR_ARGUMENT, "%d sequences are to go on", count);
    for (int32_t i = 0; i < count; i++)
        if (parent[i] < 0 || parent[i] >= g->n_sequences)
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "sequence %d is to go on as sequence %d, but there are %d", parent[i],
                            i, g->n_sequences);
    gsa_status status = gsa_generation_reserve(g, count, error);
    for (int32_t i = 0; i < count && status == GSA_OK; i++)
        status = copy_sequence(g, &g->other[i], &g->sequence[parent[i]], error);
    if (status != GSA_OK) return status;
    gsa_grown *const next = g->other;
    g->other = g->sequence, g->sequence = next;
    g->n_sequences = count;
    return GSA_OK;
}

int32_t gsa_generation_sequences(const gsa_generation *g)
{
    return g->n_sequences;
}

int32_t gsa_generation_length(const gsa_generation *g, int32_t sequence)
{
    return g->sequence[sequence].length;
}

int32_t gsa_generation_longest(const gsa_generation *g)
{
    return g->most;
}

gsa_generation_counts gsa_generation_count(const gsa_generation *g)
{
    return g->counts;
}
