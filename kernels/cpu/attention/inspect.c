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

/* Blocks of bcsr and diagonal ones end with the block of rows, which rows_cut does not know. */
int64_t cpu_inspect_cut(const ref_attend *t, int64_t row)
{
    gsa_rows block, next;
    if (is_dense(t, row, &block)) {
        const int64_t groups = (row - block.first + DENSE_ROWS - 1) / DENSE_ROWS;
        return block.first + ref_smaller(groups * DENSE_ROWS, block.count);
    }
    int64_t at = cpu_rows_cut(t->edges, row, LANES);
    if (at == row) at = cpu_rows_cut(t->edges, row, DIA_ROWS);
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

/* Counts the rows of a block, and of each format. */
static void count_block(cpu_inspection *x, gsa_rows block, gsa_cpu_formats *formats)
{
    int64_t *const count[] = { [CPU_ROW] = &formats->row,           [CPU_ELL] = &formats->ell,
                               [CPU_DIA] = &formats->dia,           [CPU_BCSR] = &formats->bcsr,
                               [CPU_INTERVAL] = &formats->interval, [CPU_GEMM] = &formats->gemm };
    cpu_part part;
    cpu_inspect_block(x, block.first);
    for (int64_t row = block.first, end = block.first + block.count; row < end;) {
        row = cpu_inspect(x, row, end, 1, &part);
        *count[part.format] += part.rows;
    }
}

int cpu_formats(const gsa_attend_args *args, gsa_cpu_formats *formats)
{
    gsa_edges edges = *args->edges;
    gsa_attend_args call = *args;
    edges.memo = NULL, call.edges = &edges;
    const ref_attend t = ref_attend_of(&call);
    gsa_backend *b;
    cpu_ell waiting;
    cpu_inspection x;
    *formats = (gsa_cpu_formats){ 0 };
    if (gsa_backend_ref(NULL, GSA_F32, 1, &b, NULL) != GSA_OK) return 0;
    cpu_plan *plan = cpu_plan_of(b, "formats", &t);
    const int told = edges.blocks && edges.block_offset && edges.examples > 0;
    if (plan) {
        cpu_ell_begin(&waiting, &t, 0, t.heads, NULL);
        cpu_inspect_start(&x, &t, plan, &waiting);
        for (int64_t i = 0; told && i < edges.block_offset[edges.examples]; i++)
            count_block(&x, edges.blocks[i], formats);
        if (!told && edges.rows > 0) count_block(&x, (gsa_rows){ 0, edges.rows }, formats);
        cpu_plan_done(b, &edges, plan);
    }
    b->release(b);
    return plan != NULL;
}
