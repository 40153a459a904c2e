/* tile.c - finds the tiles: which rows share their sources so far that reading them together pays. Linear in the tile's edges. */
#include "kernels/cpu/tile.h"
#include <string.h>

enum {
    LEAST_EDGES = 8,    /* a row, on average */
    MOST_RUNS = 32,     /* likewise */
    MOST_LABELS = 4096, /* of all */
    DENSITY = 4         /* the columns times LANES are at most this many times the edges */
};

/* Rows row .. row+LANES-1 follow one another in one example, and the first stands at a multiple of LANES. */
static int starts_here(const gsa_edges *e, int64_t row, int64_t last)
{
    const int64_t end = row + LANES - 1;
    return end < last && e->row_local[row] % LANES == 0 && e->row_local[end] == e->row_local[row] + LANES - 1 &&
           e->row_example[row] == e->row_example[end];
}

static int touches(const cpu_cluster *x, int32_t kind, int32_t first, int32_t last)
{
    return x->kind == kind && x->first <= last + 1 && first <= x->last + 1;
}

/* Adds a range to the clusters, which ascend and do not touch; 0 when there are too many. */
static int add_range(cpu_tile *tile, int32_t kind, int32_t first, int32_t last)
{
    cpu_cluster *x = tile->cluster;
    int at = 0, behind;
    while (at < tile->clusters && (x[at].kind < kind || (x[at].kind == kind && x[at].last + 1 < first))) at++;
    for (behind = at; behind < tile->clusters && touches(&x[behind], kind, first, last); behind++) {
        if (x[behind].first < first) first = x[behind].first;
        if (x[behind].last > last) last = x[behind].last;
    }
    if (behind == at && tile->clusters == TILE_CLUSTERS) return 0;
    if (behind != at + 1) memmove(x + at + 1, x + behind, sizeof *x * (size_t)(tile->clusters - behind));
    tile->clusters += at + 1 - behind;
    x[at] = (cpu_cluster){ kind, first, last, 0 };
    return 1;
}

static int32_t column_of(const cpu_tile *tile, const gsa_run *run)
{
    const cpu_cluster *x = tile->cluster;
    while (x->kind != run->kind || x->last < run->first) x++;
    return x->column + (run->first - x->first);
}

/* Notes the labels of the tile, after mark; 0 when there are too many. */
static int name(const gsa_edges *e, int64_t row, cpu_tile *tile)
{
    int16_t place[MOST_LABELS];
    if (e->labels > MOST_LABELS || tile->columns > TILE_PLACED) return 0;
    memset(place, -1, sizeof *place * (size_t)e->labels);
    memset(tile->place, 0, sizeof *tile->place * LANES * (size_t)tile->columns);
    for (int r = 0; r < LANES; r++)
        for (int64_t i = e->run_offset[row + r]; i < e->run_offset[row + r + 1]; i++) {
            const gsa_run run = e->runs[i];
            const int32_t step = run.count > 1 ? LANES * run.step : 0;
            uint16_t *to = tile->place + (int64_t)column_of(tile, &run) * LANES + r;
            for (int32_t k = 0, label = run.label; k < run.count; k++, label += run.label_step, to += step) {
                if (place[label] < 0) {
                    if (tile->labels == TILE_LABELS) return 0;
                    place[label] = (int16_t)tile->labels;
                    tile->label[tile->labels++] = label;
                }
                *to = (uint16_t)place[label];
            }
        }
    return 1;
}

/* Marks what one row reads; 0 when it reads a source twice. */
static int mark(cpu_tile *tile, const gsa_run *run, unsigned bit)
{
    const int32_t step = run->count > 1 ? run->step : 0;
    uint16_t *mask = tile->mask + column_of(tile, run);
    unsigned seen = 0;
    for (int32_t i = 0; i < run->count; i++, mask += step) seen |= *mask, *mask = (uint16_t)(*mask | bit);
    return (seen & bit) == 0;
}

/* Four rows at a time cost about half more for a column that they read, and nothing for one that they do not. */
static int sparse(const cpu_tile *tile, int32_t dim)
{
    int64_t fours = 0;
    if (LANES != 16 || dim > SLICE * LANES) return 0;
    for (int32_t c = 0; c < tile->columns; c++)
        for (unsigned bits = tile->mask[c]; bits; bits >>= 4) fours += (bits & 15) != 0;
    return 3 * fours < 2 * QUADS * (int64_t)tile->columns;
}

static int fill(const gsa_edges *e, int64_t row, int32_t dim, int labelled, cpu_tile *tile)
{
    const int64_t edges = e->edge_offset[row + LANES] - e->edge_offset[row];
    int64_t columns = 0;
    tile->row = row, tile->clusters = 0, tile->labels = 0;
    for (int64_t i = e->run_offset[row]; i < e->run_offset[row + LANES]; i++) {
        const gsa_run run = e->runs[i];
        const int32_t last = run.first + (run.count - 1) * run.step;
        if (run.count > 1 && run.step != 1 && run.step != -1) return 0;
        if (!add_range(tile, run.kind, last < run.first ? last : run.first, last < run.first ? run.first : last)) return 0;
    }
    for (int i = 0; i < tile->clusters; i++) {
        tile->cluster[i].column = (int32_t)columns;
        columns += tile->cluster[i].last - tile->cluster[i].first + 1;
        if (columns > TILE_COLUMNS) return 0;
    }
    if (columns * LANES > DENSITY * edges) return 0;
    tile->columns = (int32_t)columns;
    memset(tile->mask, 0, sizeof *tile->mask * (size_t)columns);
    for (int r = 0; r < LANES; r++)
        for (int64_t i = e->run_offset[row + r]; i < e->run_offset[row + r + 1]; i++)
            if (!mark(tile, &e->runs[i], 1u << r)) return 0;
    tile->by_fours = sparse(tile, dim);
    return !labelled || name(e, row, tile);
}

int GSA_CPU(tile_at)(const ref_attend *t, int64_t row, int64_t last, cpu_tile *tile)
{
    const gsa_edges *e = t->edges;
    if (t->args->weights || t->drop.on || t->dim == 0 || t->dim > TILE_DIM || !e->row_local || !e->row_example) return 0;
    if (!starts_here(e, row, last)) return 0;
    if (e->edge_offset[row + LANES] - e->edge_offset[row] < LEAST_EDGES * LANES) return 0;
    if (e->run_offset[row + LANES] - e->run_offset[row] > MOST_RUNS * LANES) return 0;
    return fill(e, row, t->dim, t->r || t->bias || t->args->dlabel_vectors || t->args->dlabel_bias, tile);
}

int64_t GSA_CPU(tile_cut)(const gsa_edges *edges, int64_t row)
{
    if (row >= edges->rows) return edges->rows;
    if (!edges->row_local || !edges->row_example) return row;
    const int64_t start = row - edges->row_local[row] % LANES;
    return start < row && start >= 0 && starts_here(edges, start, edges->rows) ? start + LANES : row;
}
