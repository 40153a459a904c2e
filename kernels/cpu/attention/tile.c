/* tile.c - finds the tiles: which rows share their sources so far that reading them together pays. Linear in the tile's edges. */
#include "kernels/cpu/attention/tile.h"
#include <string.h>

enum {
    LEAST_EDGES = 8,    /* a row, on average */
    MOST_RUNS = 128,    /* likewise: a tree of 16 levels has 4 a level */
    MOST_LABELS = 4096, /* of all */
    NEAR_RUNS = 128,    /* of a row, whose clusters are remembered for the next row */
    DENSITY = 4         /* the columns times LANES are at most this many times the edges */
};

/* Rows row .. row+LANES-1 follow one another in one example, and the first stands at a multiple of LANES. */
int cpu_tile_starts(const gsa_edges *e, int64_t row, int64_t last)
{
    const int64_t end = row + LANES - 1;
    return end < last && e->row_local[row] % LANES == 0 && e->row_local[end] == e->row_local[row] + LANES - 1 &&
           e->row_example[row] == e->row_example[end];
}

int cpu_tile_pays(int64_t columns, int64_t edges)
{
    return edges >= LEAST_EDGES * LANES && columns * LANES <= DENSITY * edges;
}

int64_t cpu_tile_columns(int64_t edges)
{
    return DENSITY * edges / LANES;
}

static int touches(const cpu_cluster *x, int32_t kind, int32_t first, int32_t last)
{
    return x->kind == kind && x->first <= last + 1 && first <= x->last + 1;
}

static int holds(const cpu_cluster *x, int32_t kind, int32_t first, int32_t last)
{
    return x->kind == kind && x->first <= first && last <= x->last;
}

/* Adds a range to the clusters, which ascend and do not touch, and notes where; 0 when there are too many. What the same run of the row
 * above was added to is looked at first. */
static int add_range(cpu_tile *tile, cpu_cluster *x, int32_t kind, int32_t first, int32_t last, int *near)
{
    int at = 0, behind;
    if (*near < tile->clusters && holds(&x[*near], kind, first, last)) return 1;
    while (at < tile->clusters && (x[at].kind < kind || (x[at].kind == kind && x[at].last + 1 < first))) at++;
    for (behind = at; behind < tile->clusters && touches(&x[behind], kind, first, last); behind++) {
        if (x[behind].first < first) first = x[behind].first;
        if (x[behind].last > last) last = x[behind].last;
    }
    if (behind == at && tile->clusters == TILE_CLUSTERS) return 0;
    if (behind != at + 1) memmove(x + at + 1, x + behind, sizeof *x * (size_t)(tile->clusters - behind));
    tile->clusters += at + 1 - behind;
    x[at] = (cpu_cluster){ kind, first, last, 0 };
    *near = at;
    return 1;
}

/* Rows that read a column by one label go together. */
static void pair_up(cpu_tile *tile, cpu_tile_room *room)
{
    for (int32_t c = 0; c < tile->columns; c++) {
        const int32_t first = tile->pairs;
        for (unsigned bits = room->mask[c]; bits; bits &= bits - 1) {
            const int r = __builtin_ctz(bits);
            const uint16_t label = room->place[c * LANES + r];
            int32_t at = first;
            while (at < tile->pairs && room->pair[at].label != label) at++;
            if (at == tile->pairs) room->pair[tile->pairs++] = (cpu_pair){ (uint16_t)c, label, 0 };
            room->pair[at].rows = (uint16_t)(room->pair[at].rows | 1u << r);
        }
    }
}

static void turn_pairs(const cpu_tile *tile, cpu_tile_room *room)
{
    int32_t end[TILE_LABELS + 1] = { 0 };
    for (int32_t i = 0; i < tile->pairs; i++) end[room->pair[i].label + 1]++;
    for (int32_t l = 0; l < tile->labels; l++) end[l + 1] += end[l];
    for (int32_t i = 0; i < tile->pairs; i++) room->turned[end[room->pair[i].label]++] = room->pair[i];
}

/* Notes the labels of the tile, after mark; 0 when there are too many. */
static int name(const gsa_edges *e, cpu_tile *tile, cpu_tile_room *room)
{
    int16_t place[MOST_LABELS];
    if (e->labels > MOST_LABELS || tile->columns > TILE_PLACED) return 0;
    memset(place, -1, sizeof *place * (size_t)e->labels);
    memset(room->place, 0, sizeof *room->place * LANES * (size_t)tile->columns);
    for (int r = 0; r < LANES; r++) {
        int near[NEAR_RUNS] = { 0 };
        const int64_t first = e->run_offset[tile->row + r];
        for (int64_t i = first; i < e->run_offset[tile->row + r + 1]; i++) {
            const gsa_run run = e->runs[i];
            const int32_t step = run.count > 1 ? LANES * run.step : 0;
            uint16_t *to = room->place + (int64_t)cpu_column_of(tile, &run, &near[(i - first) % NEAR_RUNS]) * LANES + r;
            for (int32_t k = 0, label = run.label; k < run.count; k++, label += run.label_step, to += step) {
                if (place[label] < 0) {
                    if (tile->labels == TILE_LABELS) return 0;
                    place[label] = (int16_t)tile->labels;
                    room->label[tile->labels++] = label;
                }
                *to = (uint16_t)place[label];
            }
        }
    }
    pair_up(tile, room);
    turn_pairs(tile, room);
    return 1;
}

/* Marks what the rows read; 0 when one reads a source twice. */
static int mark(const gsa_edges *e, cpu_tile *tile, cpu_tile_room *room)
{
    int near[NEAR_RUNS] = { 0 };
    memset(room->mask, 0, sizeof *room->mask * (size_t)tile->columns);
    for (int r = 0; r < LANES; r++) {
        const int64_t first = e->run_offset[tile->row + r];
        for (int64_t i = first; i < e->run_offset[tile->row + r + 1]; i++) {
            const gsa_run *run = &e->runs[i];
            const int32_t step = run->count > 1 ? run->step : 0;
            uint16_t *mask = room->mask + cpu_column_of(tile, run, &near[(i - first) % NEAR_RUNS]);
            unsigned seen = 0;
            for (int32_t k = 0; k < run->count; k++, mask += step) seen |= *mask, *mask = (uint16_t)(*mask | 1u << r);
            if (seen >> r & 1) return 0;
        }
    }
    for (int32_t c = 0; c < tile->columns; c++)
        for (unsigned bits = room->mask[c]; bits; bits >>= 4) tile->fours += (bits & 15) != 0;
    return 1;
}

/* The clusters of the rows' sources; 0 when they are too many, or runs of another step. */
static int unite(const gsa_edges *e, cpu_tile *tile, cpu_tile_room *room)
{
    int near[NEAR_RUNS] = { 0 };
    int64_t columns = 0;
    for (int r = 0; r < LANES; r++) {
        const int64_t first_run = e->run_offset[tile->row + r];
        for (int64_t i = first_run; i < e->run_offset[tile->row + r + 1]; i++) {
            const gsa_run run = e->runs[i];
            const int32_t last = run.first + (run.count - 1) * run.step, low = last < run.first ? last : run.first;
            if (run.count > 1 && run.step != 1 && run.step != -1) return 0;
            if (!add_range(tile, room->cluster, run.kind, low, last < run.first ? run.first : last,
                           &near[(i - first_run) % NEAR_RUNS]))
                return 0;
        }
    }
    for (int i = 0; i < tile->clusters; i++) {
        room->cluster[i].column = (int32_t)columns;
        columns += room->cluster[i].last - room->cluster[i].first + 1;
        if (columns > TILE_COLUMNS) return 0;
    }
    tile->columns = (int32_t)columns;
    return 1;
}

int cpu_tile_find(const gsa_edges *e, int64_t row, int64_t last, int labelled, cpu_tile_room *room, cpu_tile *tile)
{
    if (!e->row_local || !e->row_example || !cpu_tile_starts(e, row, last)) return 0;
    const int64_t edges = e->edge_offset[row + LANES] - e->edge_offset[row];
    if (edges < LEAST_EDGES * LANES || e->run_offset[row + LANES] - e->run_offset[row] > MOST_RUNS * LANES) return 0;
    *tile = (cpu_tile){ .row = row,
                        .cluster = room->cluster,
                        .mask = room->mask,
                        .label = room->label,
                        .place = room->place,
                        .pair = room->pair,
                        .turned = room->turned };
    const int found = unite(e, tile, room) && cpu_tile_pays(tile->columns, edges) && mark(e, tile, room) &&
                      (!labelled || name(e, tile, room));
    if (found) cpu_tile_strips(tile, room);
    return found;
}

int64_t cpu_tile_cut(const gsa_edges *edges, int64_t row)
{
    if (row >= edges->rows) return edges->rows;
    if (!edges->row_local || !edges->row_example) return row;
    const int64_t start = row - edges->row_local[row] % LANES;
    return start < row && start >= 0 && cpu_tile_starts(edges, start, edges->rows) ? start + LANES : row;
}
