/* finish.c - records become canonical edges: as they are where rows came in order, else by one
 * stable counting sort by row. */
#include <inttypes.h>
#include <string.h>
#include "graph/instance_parts.h"
#include "graph/index.h"
#include "graph/schema_parts.h"

/* Where each destination kind's rows start; returns the rows of the phase. */
static int64_t lay_rows(const gsa_building *b, int p, int64_t *base)
{
    const gsa_phase *phase = &b->schema->phase[p];
    const int64_t scale = phase->per_head ? b->example->heads : 1;
    int64_t rows = 0;
    for (int k = 0; k < b->schema->kinds; k++) {
        base[k] = rows;
        if (phase->destinations >> k & 1) rows += b->instance->nodes[k] * scale;
    }
    return rows;
}

/* Counts are at [row + 1]; afterwards [row] is where the row starts. */
static void sum_up(int64_t *offset, int64_t rows)
{
    for (int64_t r = 0; r < rows; r++) offset[r + 1] += offset[r];
}

/* Stable: run_offset[row] moves on while the row fills, and is put back at the end. */
static void sort_runs(gsa_instance_phase *x, const gsa_records *list, const int64_t *base)
{
    for (int64_t i = 0; i < list->count; i++)
        x->runs[x->run_offset[base[list->to[i].kind] + list->to[i].index]++] = list->runs[i];
    memmove(x->run_offset + 1, x->run_offset, (size_t)x->rows * sizeof *x->run_offset);
    x->run_offset[0] = 0;
}

/* Runs that are side by side only since the sort. */
static void join_runs(gsa_instance_phase *x)
{
    int64_t write = 0, first = 0;
    for (int64_t r = 0; r < x->rows; r++) {
        const int64_t end = x->run_offset[r + 1], start = write;
        for (int64_t i = first; i < end; i++)
            if (write == start || !gsa_run_join(&x->runs[write - 1], &x->runs[i]))
                x->runs[write++] = x->runs[i];
        x->run_offset[r + 1] = write;
        first = end;
    }
    x->run_total = write;
}

/* Rows in order: the records' own memory, without what was held ready. */
static gsa_status adopt_runs(gsa_building *b, gsa_records *list, gsa_instance_phase *x)
{
    x->runs = list->count ? gsa_resize(b->system, list->runs, (size_t)list->count, sizeof *x->runs)
                          : NULL;
    if (list->count && !x->runs)
        return gsa_building_fail(b, GSA_ERR_MEMORY, "out of memory for %" PRId64 " runs",
                                 list->count);
    if (list->count) list->runs = NULL;
    return GSA_OK;
}

static gsa_status sort_into(gsa_building *b, const gsa_records *list, const int64_t *base,
                            gsa_instance_phase *x)
{
    x->runs = gsa_alloc(b->system, (size_t)list->count, sizeof *x->runs);
    if (!x->runs)
        return gsa_building_fail(b, GSA_ERR_MEMORY, "out of memory for %" PRId64 " runs",
                                 list->count);
    sort_runs(x, list, base);
    join_runs(x);
    return GSA_OK;
}

static gsa_status group_runs(gsa_building *b, int p, const int64_t *base)
{
    gsa_records *list = &b->phase[p];
    gsa_instance_phase *x = &b->instance->phase[p];
    x->run_total = list->count, x->edge_total = list->edges;
    for (int64_t i = 0; i < list->count; i++) {
        const int64_t row = base[list->to[i].kind] + list->to[i].index;
        x->run_offset[row + 1]++;
        x->edge_offset[row + 1] += list->runs[i].count;
    }
    sum_up(x->run_offset, x->rows);
    sum_up(x->edge_offset, x->rows);
    return list->in_order ? adopt_runs(b, list, x) : sort_into(b, list, base, x);
}

static gsa_status finish_phase(gsa_building *b, int p)
{
    const gsa_phase *phase = &b->schema->phase[p];
    gsa_instance_phase *x = &b->instance->phase[p];
    int64_t base[GSA_MAX_KINDS];
    x->rows = lay_rows(b, p, base);
    x->labels = phase->labels, x->sources = phase->sources,
    x->scale = phase->per_head ? b->example->heads : 1;
    const int planes = phase->aggregate == GSA_NONE ? 1 : 2;
    x->run_offset =
        gsa_alloc_zero(b->system, (size_t)(x->rows + 1), (size_t)planes * sizeof *x->run_offset);
    if (!x->run_offset)
        return gsa_building_fail(b, GSA_ERR_MEMORY, "out of memory for %" PRId64 " rows", x->rows);
    x->edge_offset = x->run_offset + (planes == 2 ? x->rows + 1 : 0);
    const gsa_status status = group_runs(b, p, base);
    gsa_release(b->system, b->phase[p].runs); /* a second copy */
    gsa_release(b->system, b->phase[p].to);
    b->phase[p].runs = NULL, b->phase[p].to = NULL;
    b->instance->bytes += (x->rows + 1) * planes * (int64_t)sizeof *x->run_offset +
                          x->run_total * (int64_t)sizeof *x->runs;
    return status;
}

/* Sizes of int32 indices: every row and source space of every phase is a part of nodes x heads.
 * Learned rows suffice. */
static gsa_status check_sizes(gsa_building *b)
{
    if (b->node_total * b->example->heads > gsa_index_most)
        return gsa_building_fail(b, GSA_ERR_LIMIT,
                                 "%" PRId64 " nodes x %" PRId32 " heads, the limit is %" PRId32,
                                 b->node_total, b->example->heads, gsa_index_most);
    for (int k = 0; k < b->schema->kinds; k++) {
        const gsa_kind *kind = &b->schema->kind[k];
        if (kind->learned && b->instance->nodes[k] > kind->learned)
            return gsa_building_fail(b, GSA_ERR_LIMIT,
                                     "%" PRId64 " nodes of kind '%s', which has %" PRId32
                                     " learned rows",
                                     b->instance->nodes[k], kind->name, kind->learned);
    }
    int reads_summary = 0;
    for (int i = 0; i < b->schema->summaries; i++)
        reads_summary |= b->schema->summary[i].pool == GSA_SUMMARY_NODE;
    if (reads_summary && b->example->length > 0 && b->instance->summary_kind < 0)
        return gsa_building_fail(b, GSA_ERR_PLUGIN,
                                 "emit named no summary node, which the readout needs");
    return GSA_OK;
}

/* Marks the (node, head) of `kind` that phase p writes; fails where one was marked before. */
static gsa_status mark_written(gsa_building *b, int p, int kind, uint8_t *written)
{
    const gsa_instance_phase *x = &b->instance->phase[p];
    const int64_t rows = b->instance->nodes[kind] * x->scale, wide = b->example->heads / x->scale;
    int64_t base[GSA_MAX_KINDS];
    lay_rows(b, p, base);
    for (int64_t r = 0; r < rows; r++) {
        if (x->edge_offset[base[kind] + r] == x->edge_offset[base[kind] + r + 1]) continue;
        for (int64_t i = r * wide; i < (r + 1) * wide; i++)
            if (written[i]++)
                return gsa_building_fail(
                    b, GSA_ERR_PLUGIN,
                    "phase '%s' writes %s %" PRId64 ", which a phase together with it writes too",
                    b->schema->phase[p].name, b->schema->kind[kind].name, i / b->example->heads);
    }
    return GSA_OK;
}

/* Phases that are together write other rows: checked for each kind that several of a group
 * write. */
static gsa_status check_group(gsa_building *b, int group, int kind)
{
    const gsa_schema *s = b->schema;
    int writers = 0;
    for (int p = group; p < s->phases; p++)
        writers += s->group[p] == group && (s->phase[p].destinations >> kind & 1);
    if (writers < 2) return GSA_OK;
    const int64_t cells = b->instance->nodes[kind] * b->example->heads;
    uint8_t *written = gsa_alloc_zero(b->system, (size_t)cells, 1);
    if (!written)
        return gsa_building_fail(b, GSA_ERR_MEMORY, "out of memory for %" PRId64 " marks", cells);
    gsa_status status = GSA_OK;
    for (int p = group; p < s->phases && status == GSA_OK; p++)
        if (s->group[p] == group && (s->phase[p].destinations >> kind & 1))
            status = mark_written(b, p, kind, written);
    gsa_release(b->system, written);
    return status;
}

static gsa_status check_groups(gsa_building *b)
{
    gsa_status status = GSA_OK;
    for (int p = 0; p < b->schema->phases; p++)
        for (int k = 0; b->schema->group[p] == p && k < b->schema->kinds && status == GSA_OK; k++)
            status = check_group(b, p, k);
    return status;
}

/* What all phases share: zeros, identity and the ranges of rows. */
static gsa_status finish_shared(gsa_building *b)
{
    gsa_instance *x = b->instance;
    int64_t rows = 0, ranges = 0;
    for (int p = 0; p < x->phases; p++) {
        if (x->phase[p].rows > rows) rows = x->phase[p].rows;
        for (int k = 0; k < x->kinds; k++) ranges += b->schema->phase[p].destinations >> k & 1;
    }
    x->zeros = gsa_alloc_zero(b->system, (size_t)rows, sizeof *x->zeros);
    x->identity = gsa_alloc(b->system, (size_t)rows, sizeof *x->identity);
    x->blocks = gsa_alloc(b->system, (size_t)ranges, sizeof *x->blocks);
    if (!x->zeros || !x->identity || !x->blocks)
        return gsa_building_fail(b, GSA_ERR_MEMORY, "out of memory for %" PRId64 " rows", rows);
    for (int64_t r = 0; r < rows; r++) x->identity[r] = (int32_t)r;
    ranges = 0;
    for (int p = 0; p < x->phases; p++) {
        int64_t base[GSA_MAX_KINDS];
        lay_rows(b, p, base);
        x->phase[p].first_block = ranges;
        for (int k = 0; k < x->kinds; k++)
            if (b->schema->phase[p].destinations >> k & 1)
                x->blocks[ranges++] = (gsa_rows){ base[k], x->nodes[k] * x->phase[p].scale };
        x->phase[p].block_offset[1] = ranges - x->phase[p].first_block;
    }
    x->bytes += rows * 2 * (int64_t)sizeof *x->zeros + ranges * (int64_t)sizeof *x->blocks;
    return GSA_OK;
}

gsa_status gsa_building_finish(gsa_building *b)
{
    gsa_instance *x = b->instance;
    gsa_status status = check_sizes(b);
    if (status != GSA_OK) return status;
    x->phase = gsa_alloc_zero(b->system, (size_t)x->phases, sizeof *x->phase);
    if (!x->phase)
        return gsa_building_fail(b, GSA_ERR_MEMORY, "out of memory for %d phases", x->phases);
    x->bytes += (int64_t)sizeof *x + x->phases * (int64_t)sizeof *x->phase;
    for (int k = 0; k < x->kinds; k++) x->bytes += x->places[k] * (int64_t)sizeof *x->place[k];
    for (int p = 0; p < x->phases && status == GSA_OK; p++) status = finish_phase(b, p);
    if (status == GSA_OK) status = check_groups(b);
    return status == GSA_OK ? finish_shared(b) : status;
}
