/* edge_plan.c - plans are made by stretches of rows, each into memory of its own that is bounded beforehand, then moved together. */
#include "kernels/cpu/attention/edge_plan.h"

enum { STRETCH = 4096 /* rows */ };

typedef struct stretch { /* rows first .. last-1, of a block that ends at `end`; its tiles stand from `at` on */
    int64_t first, last, end, at, used;
} stretch;

typedef struct tiling {
    const gsa_edges *edges;
    cpu_plan *plan;
    stretch *stretch;
    int64_t count;
} tiling;

typedef struct tile_head { /* of a tile in memory; its arrays follow, the longest items first */
    int64_t row;
    int32_t columns, clusters, labels, fours, pairs, strips;
    struct {
        int32_t count, plain, labels, end[LABEL_WAYS];
    } strip[QUADS];
} tile_head;

static int64_t rounded(int64_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

/* Numbers of the strips' lists, which follow one another. */
static int64_t strips_of(const cpu_tile *tile)
{
    const cpu_strip *last = &tile->strip[QUADS - 1];
    return tile->strips ? last->from + 4 * (int64_t)(cpu_whole_quads(last->count) - last->plain) - tile->strip->column : 0;
}

static int64_t bytes_of(const cpu_tile *tile)
{
    const int64_t places = tile->labels > 0 ? (int64_t)tile->columns * LANES : 0;
    return (int64_t)sizeof(tile_head) +
           rounded((int64_t)sizeof(cpu_cluster) * tile->clusters + (int64_t)sizeof(int32_t) * tile->labels +
                   (int64_t)sizeof(uint16_t) * (tile->columns + places + strips_of(tile)) +
                   (int64_t)sizeof(cpu_pair) * 2 * tile->pairs);
}

/* A tile at `row` takes no more: clusters are at most runs, columns and labels bounded by edges, all of them by what a tile may hold. */
static int64_t most_of_tile(const gsa_edges *e, int64_t row, int labelled)
{
    const int64_t runs = e->run_offset[row + LANES] - e->run_offset[row],
                  edges = e->edge_offset[row + LANES] - e->edge_offset[row];
    const int64_t columns = ref_smaller(cpu_tile_columns(edges), TILE_COLUMNS),
                  placed = labelled ? ref_smaller(columns, TILE_PLACED) : 0;
    const int64_t strips = QUADS * STRIP_ENDS + ref_smaller(4 * edges, QUADS * STRIP_ROOM);
    for (int r = 0; r < LANES; r++) /* no source is read twice */
        if (e->edge_offset[row + r + 1] - e->edge_offset[row + r] > columns) return 0;
    return (int64_t)sizeof(tile_head) + 8 + (int64_t)sizeof(cpu_cluster) * ref_smaller(runs, TILE_CLUSTERS) +
           (int64_t)sizeof(int32_t) * ref_smaller(edges, TILE_LABELS) +
           (int64_t)sizeof(uint16_t) * (columns + LANES * placed + strips) +
           (int64_t)sizeof(cpu_pair) * 2 * ref_smaller(edges, LANES * placed);
}

/* The tiles of a stretch take no more. */
static int64_t most_bytes(const gsa_edges *e, const stretch *s, int labelled)
{
    int64_t bytes = 0;
    for (int64_t row = s->first; row < s->last && e->row_local && e->row_example; row++) {
        if (!cpu_tile_starts(e, row, s->end)) continue;
        bytes += most_of_tile(e, row, labelled);
        row += LANES - 1;
    }
    return bytes;
}

static void *part(char **at, const void *from, int64_t bytes)
{
    void *to = *at;
    memcpy(to, from, (size_t)bytes);
    *at += bytes;
    return to;
}

static int64_t keep(char *to, const cpu_tile *tile)
{
    const int64_t places = tile->labels > 0 ? (int64_t)tile->columns * LANES : 0;
    tile_head head = { .row = tile->row,
                       .columns = tile->columns,
                       .clusters = tile->clusters,
                       .labels = tile->labels,
                       .fours = tile->fours,
                       .pairs = tile->pairs,
                       .strips = tile->strips };
    for (int g = 0; g < tile->strips; g++) {
        const cpu_strip *from = &tile->strip[g];
        head.strip[g].count = from->count, head.strip[g].plain = from->plain, head.strip[g].labels = from->labels;
        memcpy(head.strip[g].end, from->end, sizeof from->end);
    }
    part(&to, &head, sizeof head);
    part(&to, tile->cluster, (int64_t)sizeof *tile->cluster * tile->clusters);
    part(&to, tile->label, (int64_t)sizeof *tile->label * tile->labels);
    part(&to, tile->mask, (int64_t)sizeof *tile->mask * tile->columns);
    part(&to, tile->place, (int64_t)sizeof *tile->place * places);
    part(&to, tile->pair, (int64_t)sizeof *tile->pair * tile->pairs);
    part(&to, tile->turned, (int64_t)sizeof *tile->turned * tile->pairs);
    if (tile->strips) part(&to, tile->strip->column, (int64_t)sizeof(uint16_t) * strips_of(tile));
    return bytes_of(tile);
}

static cpu_tile tile_in(const char *from)
{
    tile_head head;
    memcpy(&head, from, sizeof head);
    const cpu_cluster *cluster = (const void *)(from + sizeof head);
    const int32_t *label = (const void *)(cluster + head.clusters);
    const uint16_t *mask = (const void *)(label + head.labels);
    const uint16_t *place = mask + head.columns;
    const cpu_pair *pair = (const void *)(place + (head.labels > 0 ? head.columns * LANES : 0));
    cpu_tile tile = { .row = head.row,
                      .columns = head.columns,
                      .clusters = head.clusters,
                      .labels = head.labels,
                      .fours = head.fours,
                      .cluster = cluster,
                      .mask = mask,
                      .label = label,
                      .place = place,
                      .pairs = head.pairs,
                      .pair = pair,
                      .turned = pair + head.pairs,
                      .strips = head.strips };
    const uint16_t *at = (const void *)(pair + 2 * head.pairs);
    for (int g = 0; g < head.strips; g++) {
        tile.strip[g] =
            (cpu_strip){ .count = head.strip[g].count, .plain = head.strip[g].plain, .labels = head.strip[g].labels };
        memcpy(tile.strip[g].end, head.strip[g].end, sizeof tile.strip[g].end);
        at = cpu_lay_strip(&tile.strip[g], at, head.labels > 0);
    }
    return tile;
}

/* Sweeps come first: they do not depend on the call. */
static int is_swept(const cpu_sweeps *sweeps, int64_t row)
{
    for (int r = 0; sweeps->swept && r < LANES; r++)
        if (sweeps->swept[row + r]) return 1;
    return 0;
}

static void find_stretch(void *context, int64_t item)
{
    const tiling *x = context;
    stretch *s = &x->stretch[item];
    cpu_tile_room room;
    cpu_tile tile;
    for (int64_t row = s->first; row < s->last;) {
        if (!cpu_tile_find(x->edges, row, s->end, x->plan->labelled, &room, &tile) || is_swept(&x->plan->sweeps, row)) {
            row++;
            continue;
        }
        x->plan->at[row / LANES] = s->at + s->used;
        s->used += keep(x->plan->tiles + s->at + s->used, &tile);
        row += LANES;
    }
}

/* Cuts a block of rows; returns how many stretches. With `to` NULL counts alone. */
static int64_t cut(const gsa_edges *e, gsa_rows block, stretch *to)
{
    const int64_t end = block.first + block.count;
    int64_t count = 0;
    for (int64_t row = block.first; row < end; row += STRETCH, count++) {
        if (!to) continue;
        const int64_t first = count ? cpu_tile_cut(e, row) : row, next = row + STRETCH;
        const int64_t last = next < end ? cpu_tile_cut(e, next) : end;
        to[count] = (stretch){ .first = first < end ? first : end, .last = last < end ? last : end, .end = end };
    }
    return count;
}

static int64_t cut_all(const gsa_edges *e, stretch *to)
{
    const int64_t blocks = e->examples > 0 && e->blocks && e->block_offset ? e->block_offset[e->examples] : 0;
    int64_t count = 0;
    for (int64_t i = 0; i < blocks; i++) count += cut(e, e->blocks[i], to ? to + count : NULL);
    return blocks ? count : cut(e, (gsa_rows){ 0, e->rows }, to);
}

/* Moves the tiles of all stretches together; returns their bytes. */
static int64_t close_up(const tiling *x)
{
    int64_t used = 0;
    for (int64_t i = 0; i < x->count; i++) {
        const stretch *s = &x->stretch[i];
        const int64_t end = used + s->used;
        memmove(x->plan->tiles + used, x->plan->tiles + s->at, (size_t)s->used);
        while (used < end) {
            const cpu_tile tile = tile_in(x->plan->tiles + used);
            x->plan->at[tile.row / LANES] = used;
            used += bytes_of(&tile);
        }
    }
    return used;
}

static int find_tiles(gsa_backend *b, const gsa_edges *e, cpu_plan *plan)
{
    tiling x = { .edges = e, .plan = plan, .count = cut_all(e, NULL) };
    int64_t bytes = 0;
    plan->at = gsa_alloc(b->system, (size_t)(e->rows / LANES + 1), sizeof *plan->at);
    x.stretch = gsa_alloc(b->system, (size_t)x.count, sizeof *x.stretch);
    if (x.stretch) {
        cut_all(e, x.stretch);
        for (int64_t i = 0; i < x.count; i++) x.stretch[i].at = bytes, bytes += most_bytes(e, &x.stretch[i], plan->labelled);
        plan->tiles = gsa_alloc(b->system, (size_t)bytes, 1);
    }
    const int made = plan->at && plan->tiles;
    if (made) {
        memset(plan->at, -1, (size_t)(e->rows / LANES + 1) * sizeof *plan->at);
        gsa_team_run(b->team, x.count, find_stretch, &x);
        char *less = gsa_resize(b->system, plan->tiles, (size_t)close_up(&x), 1);
        if (less) plan->tiles = less;
        plan->has_tiles = 1;
    }
    gsa_release(b->system, x.stretch);
    return made;
}

static void forget_tiles(const gsa_system *system, cpu_plan *plan)
{
    gsa_release(system, plan->at);
    gsa_release(system, plan->tiles);
    plan->at = NULL, plan->tiles = NULL, plan->has_tiles = 0;
}

static void release(const gsa_system *system, void *data)
{
    cpu_plan *plan = data;
    forget_tiles(system, plan);
    cpu_sweeps_release(system, &plan->sweeps);
    gsa_release(system, plan);
}

static gsa_memo *memo_of(const gsa_edges *e)
{
    return e->memo && e->memo->of == e->run_offset ? e->memo : NULL;
}

/* The plan that the edges hold, of this level, in this backend's memory and of just these edges. */
static cpu_plan *held(const gsa_backend *b, const gsa_edges *e)
{
    gsa_memo *memo = memo_of(e);
    cpu_plan *plan = memo && memo->release == release && memo->system == b->system ? memo->data : NULL;
    return plan && plan->rows == e->rows && plan->runs == e->run_total && plan->edges == e->edge_total ? plan : NULL;
}

static cpu_plan *make(gsa_backend *b, const gsa_edges *e)
{
    cpu_plan *plan = gsa_alloc_zero(b->system, 1, sizeof *plan);
    if (!plan) return NULL;
    plan->rows = e->rows, plan->runs = e->run_total, plan->edges = e->edge_total;
    if (!cpu_sweeps_make(b->system, e, &plan->sweeps)) {
        gsa_release(b->system, plan);
        return NULL;
    }
    gsa_memo *memo = memo_of(e);
    if (memo) {
        gsa_memo_clear(memo);
        memo->data = plan, memo->system = b->system, memo->release = release;
    }
    return plan;
}

cpu_plan *cpu_plan_of(gsa_backend *b, const char *op, const ref_attend *t)
{
    const gsa_edges *e = t->edges;
    const int labelled = cpu_labelled(t), tiles = cpu_tiles_serve(t);
    cpu_plan *plan = held(b, e);
    if (!plan) plan = make(b, e);
    if (plan && tiles && plan->has_tiles && plan->labelled != labelled) forget_tiles(b->system, plan);
    if (plan && tiles && !plan->has_tiles) {
        plan->labelled = labelled;
        if (!find_tiles(b, e, plan)) {
            forget_tiles(b->system, plan);
            cpu_plan_done(b, e, plan);
            plan = NULL;
        }
    }
    if (!plan) gsa_out_of_memory(&b->error, op, e->rows * (int64_t)sizeof(int64_t));
    return plan;
}

void cpu_plan_done(gsa_backend *b, const gsa_edges *e, cpu_plan *plan)
{
    if (plan && held(b, e) != plan) release(b->system, plan);
}

int cpu_plan_tile(const cpu_plan *plan, int64_t row, cpu_tile *tile)
{
    const int64_t at = row < plan->rows ? plan->at[row / LANES] : -1;
    if (at < 0) return 0;
    *tile = tile_in(plan->tiles + at);
    return tile->row == row;
}
