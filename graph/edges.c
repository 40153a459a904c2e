#include "graph/edges.h"
#include "graph/index.h"
#include <inttypes.h>

void gsa_memo_clear(gsa_memo *memo)
{
    if (memo->data) memo->release(memo->system, memo->data);
    *memo = (gsa_memo){ .of = memo->of };
}

static gsa_status check_sizes(const gsa_edges *e, const char *what, gsa_error *error)
{
    if (e->rows < 0 || e->rows > gsa_index_most || e->run_total < 0 || e->edge_total < 0)
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s: %" PRId64 " rows, %" PRId64 " runs, %" PRId64 " edges: out of range",
                        what, e->rows, e->run_total, e->edge_total);
    if (e->kinds < 1 || e->kinds > GSA_MAX_KINDS || e->labels < 1)
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s: %" PRId32 " kinds and %" PRId32
                        " labels, expected 1 to %d and at least 1",
                        what, e->kinds, e->labels, GSA_MAX_KINDS);
    if (!e->run_offset || !e->edge_offset || (e->run_total > 0 && !e->runs))
        return gsa_fail(error, GSA_ERR_FORMAT, "%s: an array is missing", what);
    int64_t sources = 0;
    for (int k = 0; k < e->kinds; k++)
        if (e->part_rows[k] < 0 || (sources += e->part_rows[k]) > gsa_index_most)
            return gsa_fail(error, GSA_ERR_FORMAT,
                            "%s: %" PRId64 " source rows of kind %d are out of range", what,
                            e->part_rows[k], k);
    return GSA_OK;
}

/* Offsets start at 0, never fall, and end at their totals; so every run and every edge is in one
 * row. */
static gsa_status check_offsets(const gsa_edges *e, const char *what, gsa_error *error)
{
    const struct {
        const char *name;
        const int64_t *at;
        int64_t total;
    } lists[] = { { "run_offset", e->run_offset, e->run_total },
                  { "edge_offset", e->edge_offset, e->edge_total } };
    for (int i = 0; i < 2; i++) {
        if (lists[i].at[0] != 0)
            return gsa_fail(error, GSA_ERR_FORMAT, "%s: %s starts at %" PRId64 ", expected 0", what,
                            lists[i].name, lists[i].at[0]);
        for (int64_t r = 0; r < e->rows; r++)
            if (lists[i].at[r + 1] < lists[i].at[r])
                return gsa_fail(error, GSA_ERR_FORMAT,
                                "%s: %s falls from %" PRId64 " to %" PRId64 " at row %" PRId64,
                                what, lists[i].name, lists[i].at[r], lists[i].at[r + 1], r);
        if (lists[i].at[e->rows] != lists[i].total)
            return gsa_fail(error, GSA_ERR_FORMAT, "%s: %s ends at %" PRId64 ", expected %" PRId64,
                            what, lists[i].name, lists[i].at[e->rows], lists[i].total);
    }
    return GSA_OK;
}

/* NULL, or what is wrong with the run, and the value that is. */
static const char *wrong_run(const gsa_edges *e, const gsa_run *run, int64_t *bad)
{
    *bad = run->count;
    if (run->count < 1) return "count";
    *bad = run->kind;
    if (run->kind < 0 || run->kind >= e->kinds) return "kind";
    const int64_t part = e->part_rows[run->kind], further = run->count - 1;
    *bad = run->first;
    if (run->first < 0 || run->first >= part) return "first source";
    *bad = run->first + further * run->step;
    if (*bad < 0 || *bad >= part) return "last source";
    *bad = run->label;
    if (run->label < 0 || run->label >= e->labels) return "label";
    *bad = run->label + further * run->label_step;
    if (*bad < 0 || *bad >= e->labels) return "last label";
    return NULL;
}

static gsa_status check_runs(const gsa_edges *e, const char *what, gsa_error *error)
{
    for (int64_t r = 0; r < e->rows; r++) {
        int64_t edges = 0, bad;
        for (int64_t i = e->run_offset[r]; i < e->run_offset[r + 1]; i++) {
            const char *why = wrong_run(e, &e->runs[i], &bad);
            if (why)
                return gsa_fail(error, GSA_ERR_FORMAT,
                                "%s: row %" PRId64 ", run %" PRId64 ": %s %" PRId64
                                " is out of range",
                                what, r, i - e->run_offset[r], why, bad);
            edges += e->runs[i].count;
        }
        if (edges != e->edge_offset[r + 1] - e->edge_offset[r])
            return gsa_fail(error, GSA_ERR_FORMAT,
                            "%s: row %" PRId64 " has %" PRId64 " edges in its runs, %" PRId64
                            " by offset",
                            what, r, edges, e->edge_offset[r + 1] - e->edge_offset[r]);
    }
    return GSA_OK;
}

static gsa_status check_identity(const gsa_edges *e, const char *what, gsa_error *error)
{
    for (int64_t r = 0; r < e->rows; r++) {
        if (e->row_example && (e->row_example[r] < 0 || e->row_example[r] >= e->examples))
            return gsa_fail(error, GSA_ERR_FORMAT,
                            "%s: row %" PRId64 " is of example %" PRId32 ", expected 0 to %" PRId32,
                            what, r, e->row_example[r], e->examples - 1);
        if (e->row_local && e->row_local[r] < 0)
            return gsa_fail(error, GSA_ERR_FORMAT,
                            "%s: row %" PRId64 " is row %" PRId32 " of its instance", what, r,
                            e->row_local[r]);
    }
    return GSA_OK;
}

/* The blocks of the examples are disjoint ranges that hold every row once, each row with its own
 * example. */
static gsa_status check_blocks(const gsa_edges *e, const char *what, gsa_error *error)
{
    int64_t covered = 0;
    if (e->examples < 0 || e->block_offset[0] != 0)
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s: %" PRId32 " examples, whose blocks start at %" PRId64, what,
                        e->examples, e->block_offset[0]);
    for (int32_t x = 0; x < e->examples; x++) {
        int64_t end = 0;
        if (e->block_offset[x + 1] < e->block_offset[x])
            return gsa_fail(error, GSA_ERR_FORMAT, "%s: block_offset falls at example %" PRId32,
                            what, x);
        for (int64_t i = e->block_offset[x]; i < e->block_offset[x + 1]; i++) {
            const gsa_rows *block = &e->blocks[i];
            if (block->first < end || block->count < 0 || block->count > e->rows ||
                block->first > e->rows - block->count)
                return gsa_fail(error, GSA_ERR_FORMAT,
                                "%s: block %" PRId64 " of rows %" PRId64 " + %" PRId64
                                " is out of range",
                                what, i, block->first, block->count);
            end = block->first + block->count;
            covered += block->count;
            for (int64_t r = block->first; e->row_example && r < end; r++)
                if (e->row_example[r] != x)
                    return gsa_fail(error, GSA_ERR_FORMAT,
                                    "%s: row %" PRId64 " is in a block of example %" PRId32, what,
                                    r, x);
        }
    }
    if (covered != e->rows)
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s: the blocks hold %" PRId64 " of %" PRId64 " rows", what, covered,
                        e->rows);
    return GSA_OK;
}

gsa_status gsa_edges_check(const gsa_edges *edges, const char *what, gsa_error *error)
{
    gsa_status status = check_sizes(edges, what, error);
    if (status == GSA_OK) status = check_offsets(edges, what, error);
    if (status == GSA_OK) status = check_runs(edges, what, error);
    if (status == GSA_OK) status = check_identity(edges, what, error);
    if (status == GSA_OK && edges->block_offset) status = check_blocks(edges, what, error);
    return status;
}

void gsa_edges_expand(const gsa_edges *edges, int32_t *sources, int32_t *labels,
                      int64_t *part_first)
{
    int64_t base[GSA_MAX_KINDS], next = 0, edge = 0;
    for (int k = 0; k < GSA_MAX_KINDS; k++) {
        base[k] = next;
        if (k < edges->kinds) next += edges->part_rows[k];
        if (part_first) part_first[k] = base[k];
    }
    for (int64_t i = 0; i < edges->run_total; i++) {
        const gsa_run *run = &edges->runs[i];
        const int64_t first = base[run->kind] + run->first;
        for (int64_t j = 0; j < run->count; j++, edge++) {
            if (sources) sources[edge] = (int32_t)(first + j * run->step);
            if (labels) labels[edge] = (int32_t)(run->label + j * run->label_step);
        }
    }
}
