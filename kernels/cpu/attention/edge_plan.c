/* edge_plan.c - plans are made by stretches of rows, each into memory of its own that is bounded
 * beforehand, then moved together. */
#include "kernels/cpu/attention/edge_plan.h"

enum { STRETCH = 4096 /* rows */ };

typedef struct stretch { /* rows first .. last-1, of a block that ends at `end`; its tiles are
                            from `at` on */
    int64_t first, last, end, at, used;
} stretch;

typedef struct tiling {
    const gsa_edges *edges;
    cpu_plan *plan;
    stretch *stretch;
    int64_t count;
} tiling;

static int64_t rounded(int64_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

/* Numbers of the panels' lists, which follow one another. */
static int64_t lists_of(const bcsr_block *block)
{
    bcsr_panel last = block->panel[QUADS - 1];
    return bcsr_lay(&last, last.column) - block->panel->column;
}

static int64_t bytes_of(const bcsr_block *block)
{
    return (int64_t)sizeof(bcsr_block) +
           rounded((int64_t)sizeof(bcsr_range) * block->ranges +
                   (int64_t)sizeof(int32_t) * block->labels +
                   (int64_t)sizeof(uint16_t) * (block->columns + lists_of(block)));
}

/* The blocks of LANES rows at `row` take no more: ranges are at most runs, columns and labels
 * bounded by edges, all of them by what a block may hold. */
static int64_t most_of_rows(const gsa_edges *e, int64_t row, int labelled)
{
    const int64_t runs = e->run_offset[row + LANES] - e->run_offset[row],
                  edges = e->edge_offset[row + LANES] - e->edge_offset[row];
    const int64_t columns = ref_smaller(cpu_bcsr_columns(edges), BCSR_UNION);
    const int64_t blocks = (columns + BCSR_COLUMNS - 1) / BCSR_COLUMNS;
    const int64_t labels = labelled ? ref_smaller(edges, blocks * BCSR_LABELS) : 0;
    for (int r = 0; r < LANES; r++) /* no source is read twice */
        if (e->edge_offset[row + r + 1] - e->edge_offset[row + r] > columns) return 0;
    return blocks *
               ((int64_t)sizeof(bcsr_block) + 8 + (int64_t)sizeof(uint16_t) * QUADS * PANEL_ENDS) +
           (int64_t)sizeof(bcsr_range) * (ref_smaller(runs, BCSR_RANGES) + blocks) +
           (int64_t)sizeof(int32_t) * labels +
           (int64_t)sizeof(uint16_t) * (columns + (labelled ? 6 : 2) * edges);
}

/* The blocks of a stretch take no more. */
static int64_t most_bytes(const gsa_edges *e, const stretch *s, int labelled)
{
    int64_t bytes = 0;
    for (int64_t row = s->first; row < s->last; row++) {
        if (!cpu_rows_follow(e, row, LANES, s->end)) continue;
        bytes += most_of_rows(e, row, labelled);
        row += LANES - 1;
    }
    return bytes;
}

static void part(char **at, const void *from, int64_t bytes)
{
    memcpy(*at, from, (size_t)bytes);
    *at += bytes;
}

/* A block in memory: itself, then its arrays, the longest items first. */
static int64_t keep(char *to, const bcsr_block *block)
{
    part(&to, block, sizeof *block);
    part(&to, block->range, (int64_t)sizeof *block->range * block->ranges);
    part(&to, block->label, (int64_t)sizeof *block->label * block->labels);
    part(&to, block->mask, (int64_t)sizeof *block->mask * block->columns);
    part(&to, block->panel->column, (int64_t)sizeof(uint16_t) * lists_of(block));
    return bytes_of(block);
}

static bcsr_block block_in(const char *from)
{
    bcsr_block block;
    memcpy(&block, from, sizeof block);
    block.range = (const void *)(from + sizeof block);
    block.label = (const void *)(block.range + block.ranges);
    block.mask = (const void *)(block.label + block.labels);
    const uint16_t *at = block.mask + block.columns;
    for (int g = 0; g < QUADS; g++) at = bcsr_lay(&block.panel[g], at);
    return block;
}

/* Intervals come first: they do not depend on the call. */
static int has_interval(const cpu_intervals *all, int64_t row)
{
    for (int r = 0; all->axis_of && r < LANES; r++)
        if (all->axis_of[row + r]) return 1;
    return 0;
}

/* The blocks of the rows from `row` on; returns their bytes, 0: there are none. */
static int64_t find_blocks(const tiling *x, bcsr_work *work, int64_t row, int64_t last, char *to)
{
    int64_t used = 0;
    if (has_interval(&x->plan->intervals, row)) return 0;
    if (!cpu_bcsr_find(x->edges, row, last, x->plan->labelled, work)) return 0;
    for (int32_t from = 0; from < work->columns;) {
        bcsr_block block;
        from = cpu_bcsr_next(work, from, &block);
        if (from == 0) return 0;
        used += keep(to + used, &block);
    }
    return used;
}

static void find_stretch(void *context, void *room, int64_t item)
{
    const tiling *x = context;
    stretch *s = &x->stretch[item];
    for (int64_t row = s->first; row < s->last;) {
        const int64_t bytes = row + LANES <= s->end ? find_blocks(x, room, row, s->end,
                                                                  x->plan->tiles + s->at + s->used)
                                                    : 0;
        if (bytes > 0) x->plan->at[row / LANES] = s->at + s->used;
        s->used += bytes, row += bytes > 0 ? LANES : 1;
    }
}

/* Cuts a block of rows; returns how many stretches. With `to` NULL counts alone. */
static int64_t cut(const gsa_edges *e, gsa_rows block, stretch *to)
{
    const int64_t end = block.first + block.count;
    int64_t count = 0;
    for (int64_t row = block.first; row < end; row += STRETCH, count++) {
        if (!to) continue;
        const int64_t first = count ? cpu_rows_cut(e, row, LANES) : row, next = row + STRETCH;
        const int64_t last = next < end ? cpu_rows_cut(e, next, LANES) : end;
        to[count] = (stretch){ .first = first < end ? first : end,
                               .last = last < end ? last : end,
                               .end = end };
    }
    return count;
}

static int64_t cut_all(const gsa_edges *e, stretch *to)
{
    const int64_t blocks =
        e->examples > 0 && e->blocks && e->block_offset ? e->block_offset[e->examples] : 0;
    int64_t count = 0;
    for (int64_t i = 0; i < blocks; i++) count += cut(e, e->blocks[i], to ? to + count : NULL);
    return blocks ? count : cut(e, (gsa_rows){ 0, e->rows }, to);
}

/* Moves the tiles of all stretches together; returns their bytes. */
static int64_t close_up(const tiling *x)
{
    int64_t used = 0, before = -1;
    for (int64_t i = 0; i < x->count; i++) {
        const stretch *s = &x->stretch[i];
        const int64_t end = used + s->used;
        memmove(x->plan->tiles + used, x->plan->tiles + s->at, (size_t)s->used);
        while (used < end) {
            const bcsr_block block = block_in(x->plan->tiles + used);
            if (block.row != before) x->plan->at[block.row / LANES] = used;
            before = block.row, used += bytes_of(&block);
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
        for (int64_t i = 0; i < x.count; i++)
            x.stretch[i].at = bytes, bytes += most_bytes(e, &x.stretch[i], plan->labelled);
        plan->tiles = gsa_alloc(b->system, (size_t)bytes, 1);
    }
    void *rooms = gsa_ref_scratch(b, "attend", b->threads, ROOM);
    const int made = plan->at && plan->tiles && rooms;
    if (made) {
        memset(plan->at, -1, (size_t)(e->rows / LANES + 1) * sizeof *plan->at);
        gsa_team_run_in(b->team, x.count, find_stretch, &x, rooms, ROOM);
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
    cpu_intervals_release(system, &plan->intervals);
    gsa_release(system, plan->looks.at);
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
    cpu_plan *plan =
        memo && memo->release == release && memo->system == b->system ? memo->data : NULL;
    return plan && plan->rows == e->rows && plan->runs == e->run_total &&
                   plan->edges == e->edge_total
               ? plan
               : NULL;
}

static cpu_plan *make(gsa_backend *b, const gsa_edges *e)
{
    cpu_plan *plan = gsa_alloc_zero(b->system, 1, sizeof *plan);
    if (!plan) return NULL;
    plan->rows = e->rows, plan->runs = e->run_total, plan->edges = e->edge_total;
    if (!cpu_intervals_make(b->system, e, &plan->intervals)) {
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
    const int labelled = cpu_labelled(t), tiles = bcsr_serves(t);
    cpu_plan *plan = held(b, e);
    if (!plan) plan = make(b, e);
    if (plan && tiles && plan->has_tiles && plan->labelled != labelled)
        forget_tiles(b->system, plan);
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

int cpu_plan_blocks(const cpu_plan *plan, int64_t row, bcsr_block block[PLAN_BLOCKS])
{
    int64_t at = row < plan->rows ? plan->at[row / LANES] : -1;
    if (at < 0) return 0;
    *block = block_in(plan->tiles + at);
    for (int i = 1; i < block->blocks; i++)
        at += bytes_of(&block[i - 1]), block[i] = block_in(plan->tiles + at);
    return block->row == row ? block->blocks : 0;
}
