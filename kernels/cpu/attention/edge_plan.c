/* edge_plan.c - plans are made by stretches of rows; blocks of LANES rows have their own memory. */
#include "kernels/cpu/attention/edge_plan.h"
#include <stdatomic.h>

enum { STRETCH = 4096 /* rows */ };

typedef struct finding {
    const gsa_system *system;
    const gsa_edges *edges;
    cpu_plan *plan;
    _Atomic int failed; /* for want of memory */
} finding;

/* Numbers of the panels' lists, which follow one another. */
static int64_t lists_of(const bcsr_block *block)
{
    bcsr_panel last = block->panel[QUADS - 1];
    return bcsr_lay(&last, last.column) - block->panel->column;
}

static int64_t bytes_of(const bcsr_block *block)
{
    const int64_t lists = (int64_t)sizeof(bcsr_range) * block->ranges +
                          (int64_t)sizeof(int32_t) * block->labels +
                          (int64_t)sizeof(uint16_t) * (block->columns + lists_of(block));
    return (int64_t)sizeof(bcsr_block) + (lists + 7) / 8 * 8;
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

/* The blocks of the rows from `row` on; NULL: there are none. Rows from `last` on are another's. */
static char *find_blocks(finding *x, bcsr_work *work, int64_t row, int64_t last)
{
    char *all = NULL;
    int64_t used = 0;
    if (row + LANES > last || has_interval(&x->plan->intervals, row)) return NULL;
    if (!cpu_bcsr_find(x->edges, row, last, x->plan->labelled, work)) return NULL;
    for (int32_t from = 0; from < work->columns;) {
        bcsr_block block;
        from = cpu_bcsr_next(work, from, &block);
        char *more =
            from > 0 ? gsa_resize(x->system, all, (size_t)(used + bytes_of(&block)), 1) : NULL;
        if (!more) {
            if (from > 0) x->failed = 1;
            gsa_release(x->system, all);
            return NULL;
        }
        all = more, used += keep(all + used, &block);
    }
    return all;
}

static void find_stretch(void *context, void *room, int64_t item)
{
    finding *x = context;
    const int64_t end = ref_smaller((item + 1) * STRETCH, x->edges->rows);
    gsa_rows block = { 0 };
    for (int64_t row = item * STRETCH; row < end; row++) {
        if (row >= block.first + block.count) cpu_block_of(x->edges, row, &block);
        char *found = find_blocks(x, room, row, block.first + block.count);
        if (!found) continue;
        x->plan->blocks[row / LANES] = found;
        row += LANES - 1;
    }
}

static void forget_blocks(const gsa_system *system, cpu_plan *plan)
{
    for (int64_t i = 0; plan->blocks && i <= plan->rows / LANES; i++)
        gsa_release(system, plan->blocks[i]);
    gsa_release(system, plan->blocks);
    plan->blocks = NULL;
}

/* 0 without memory. */
static int find_all(gsa_backend *b, const gsa_edges *e, cpu_plan *plan, int labelled)
{
    finding x = { .system = b->system, .edges = e, .plan = plan };
    void *rooms = gsa_ref_scratch(b, "attend", b->threads, ROOM);
    plan->labelled = labelled;
    plan->blocks =
        rooms ? gsa_alloc_zero(b->system, (size_t)(e->rows / LANES + 1), sizeof *plan->blocks)
              : NULL;
    if (plan->blocks)
        gsa_team_run_in(b->team, ref_items(e->rows, STRETCH), find_stretch, &x, rooms, ROOM);
    return plan->blocks && !x.failed;
}

static void release(const gsa_system *system, void *data)
{
    cpu_plan *plan = data;
    forget_blocks(system, plan);
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
    const int labelled = cpu_labelled(t), blocks = bcsr_serves(t);
    cpu_plan *plan = held(b, e);
    if (!plan) plan = make(b, e);
    if (plan && blocks && plan->labelled != labelled) forget_blocks(b->system, plan);
    if (plan && blocks && !plan->blocks && !find_all(b, e, plan, labelled)) {
        forget_blocks(b->system, plan);
        cpu_plan_done(b, e, plan);
        plan = NULL;
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
    const char *at = row < plan->rows ? plan->blocks[row / LANES] : NULL;
    if (!at) return 0;
    *block = block_in(at);
    for (int i = 1; i < block->blocks; i++) at += bytes_of(&block[i - 1]), block[i] = block_in(at);
    return block->row == row ? block->blocks : 0;
}
