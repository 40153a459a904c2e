/* inspect.c - the one place that tells a row's format (attention.h). */
#include "kernels/cpu/attention/attention.h"

static int is_dense(const ref_attend *t, int64_t row, gsa_rows *block)
{
    return row < t->edges->rows && cpu_block_of(t->edges, row, block) && cpu_dense_fits(t, *block);
}

void cpu_inspect_block(cpu_inspection *x, int64_t row)
{
    x->dense = is_dense(x->t, row, &x->block);
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
    const cpu_plan *plan = t->plan;
    const int32_t *axis_of = bcsr_serves(t) ? plan->intervals.axis_of : NULL;
    part->format = CPU_GEMM;
    if (x->dense) return ref_smaller(DENSE_ROWS, x->block.first + x->block.count - row);
    part->format = CPU_DIA, part->dias = QUADS;
    if (cpu_dia_all_at(t, row, end, axis_of, part->dia)) return LANES;
    part->format = CPU_BCSR;
    part->blocks = blocks && bcsr_serves(t) ? cpu_plan_blocks(plan, row, part->block) : 0;
    if (part->blocks > 0) return LANES;
    part->format = CPU_INTERVAL, part->interval = axis_of ? axis_of[row] : 0;
    if (part->interval) return 1;
    part->format = CPU_ELL;
    if (cpu_is_ell(t, row, 1)) return 1;
    part->format = CPU_DIA, part->dias = 1;
    if (cpu_dia_at(t, row, end, axis_of, part->dia)) return DIA_ROWS;
    part->format = cpu_is_ell(t, row, 0) ? CPU_ELL : CPU_ROW;
    return 1;
}

int64_t cpu_inspect(cpu_inspection *x, int64_t row, int64_t end, int blocks, cpu_part *part)
{
    if (row >= x->block.first + x->block.count) cpu_inspect_block(x, row);
    end = ref_smaller(end, x->block.first + x->block.count);
    part->row = row, part->rows = take(x, row, end, blocks, part);
    return row + part->rows;
}

int cpu_formats(const gsa_attend_args *args, gsa_cpu_formats *formats)
{
    int64_t *const count[] = { [CPU_ROW] = &formats->row,           [CPU_ELL] = &formats->ell,
                               [CPU_DIA] = &formats->dia,           [CPU_BCSR] = &formats->bcsr,
                               [CPU_INTERVAL] = &formats->interval, [CPU_GEMM] = &formats->gemm };
    gsa_edges edges = *args->edges;
    gsa_attend_args call = *args;
    edges.memo = NULL, call.edges = &edges;
    ref_attend t = ref_attend_of(&call);
    cpu_inspection x = { .t = &t };
    cpu_part part;
    gsa_backend *b;
    *formats = (gsa_cpu_formats){ 0 };
    if (gsa_backend_ref(NULL, GSA_F32, 1, &b, NULL) != GSA_OK) return 0;
    cpu_plan *plan = cpu_plan_of(b, "formats", &t);
    t.plan = plan;
    for (int64_t row = 0; plan && row < edges.rows;) {
        row = cpu_inspect(&x, row, edges.rows, 1, &part);
        *count[part.format] += part.rows;
    }
    cpu_plan_done(b, &edges, plan);
    b->release(b);
    return plan != NULL;
}
