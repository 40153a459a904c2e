/* inspect.c - the one place that tells a row's format (attention.h). */
#include "kernels/cpu/attention/attention.h"

void cpu_inspect_start(cpu_inspection *x, const ref_attend *t, const cpu_plan *plan,
                       const cpu_ell *waiting)
{
    *x = (cpu_inspection){
        .t = t, .plan = plan, .waiting = waiting, .block = { 0, t->edges->rows }
    };
}

/* The block of rows that `row` is in, where it is told. In a batch of one example the next
 * block's rows go on where it ends, in others they do not: a diagonal block over both would change
 * bits with the batch. */
static int find_block(const gsa_edges *e, int64_t row, gsa_rows *block)
{
    *block = (gsa_rows){ 0, e->rows };
    if (e->examples == 0 || !e->row_example || !e->blocks || !e->block_offset) return 0;
    const int32_t example = e->row_example[row];
    for (int64_t i = e->block_offset[example]; i < e->block_offset[example + 1]; i++)
        if (e->blocks[i].first <= row && row < e->blocks[i].first + e->blocks[i].count) {
            *block = e->blocks[i];
            return 1;
        }
    return 0;
}

static int is_dense(const ref_attend *t, int64_t row, gsa_rows *block)
{
    return row < t->edges->rows && find_block(t->edges, row, block) && cpu_dense_fits(t, *block);
}

int cpu_inspect_block(cpu_inspection *x, int64_t row)
{
    const int told = find_block(x->t->edges, row, &x->block);
    x->dense = told && cpu_dense_fits(x->t, x->block);
    return told;
}

/* Tiles and diagonal blocks end with their block, which dia_cut does not know. */
int64_t cpu_inspect_cut(const ref_attend *t, int64_t row)
{
    gsa_rows block, next;
    if (is_dense(t, row, &block)) {
        const int64_t groups = (row - block.first + DENSE_ROWS - 1) / DENSE_ROWS;
        return block.first + ref_smaller(groups * DENSE_ROWS, block.count);
    }
    const int64_t at = cpu_dia_cut(t->edges, row);
    return at > row && is_dense(t, at - 1, &next) ? next.first : at;
}

/* Who takes the rows from `row` on: the first in this order that can. Returns how many. */
static int64_t take(const cpu_inspection *x, int64_t row, int64_t end, int blocks, cpu_part *part)
{
    const ref_attend *t = x->t;
    const int32_t *axis_of = bcsr_serves(t) ? x->plan->intervals.axis_of : NULL;
    part->format = CPU_GEMM;
    if (x->dense) return ref_smaller(DENSE_ROWS, x->block.first + x->block.count - row);
    part->format = CPU_DIA, part->dias = QUADS;
    if (cpu_dia_all_at(t, row, end, axis_of, part->dia)) return LANES;
    part->format = CPU_BCSR;
    part->blocks = blocks && bcsr_serves(t) ? cpu_plan_blocks(x->plan, row, part->block) : 0;
    if (part->blocks > 0) return LANES;
    part->format = CPU_INTERVAL, part->interval = axis_of ? axis_of[row] : 0;
    if (part->interval) return 1;
    part->format = CPU_ELL;
    if (cpu_is_ell(x->waiting, row, 1)) return 1;
    part->format = CPU_DIA, part->dias = 1;
    if (cpu_dia_at(t, row, end, axis_of, part->dia)) return DIA_ROWS;
    part->format = cpu_is_ell(x->waiting, row, 0) ? CPU_ELL : CPU_ROW;
    return 1;
}

int64_t cpu_inspect(const cpu_inspection *x, int64_t row, int64_t end, int blocks, cpu_part *part)
{
    part->row = row, part->rows = take(x, row, end, blocks, part);
    return row + part->rows;
}
