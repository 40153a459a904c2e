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

/* ---- the table: who takes rows from `row` on; each tells how many, 0: none ----------------- */

typedef struct question {
    const cpu_inspection *x;
    int64_t row, end;
    int blocks;
} question;

static const int32_t *axis_of(const cpu_inspection *x)
{
    return bcsr_serves(x->t) ? x->plan->intervals.axis_of : NULL;
}

static int64_t as_gemm(const question *q, cpu_part *part)
{
    (void)part;
    return q->x->dense ? ref_smaller(DENSE_ROWS, q->x->block.first + q->x->block.count - q->row)
                       : 0;
}

static int64_t as_dia(const question *q, cpu_part *part)
{
    part->dias = QUADS;
    return cpu_dia_all_at(q->x->t, q->row, q->end, axis_of(q->x), part->dia) ? LANES : 0;
}

static int64_t as_bcsr(const question *q, cpu_part *part)
{
    part->blocks =
        q->blocks && bcsr_serves(q->x->t) ? cpu_plan_blocks(q->x->plan, q->row, part->block) : 0;
    return part->blocks > 0 ? LANES : 0;
}

static int64_t as_interval(const question *q, cpu_part *part)
{
    part->interval = axis_of(q->x) ? axis_of(q->x)[q->row] : 0;
    return part->interval != 0;
}

static int64_t as_single_edge(const question *q, cpu_part *part)
{
    (void)part;
    return cpu_is_ell(q->x->waiting, q->row, 1);
}

static int64_t as_one_dia(const question *q, cpu_part *part)
{
    part->dias = 1;
    return cpu_dia_at(q->x->t, q->row, q->end, axis_of(q->x), part->dia) ? DIA_ROWS : 0;
}

static int64_t as_ell(const question *q, cpu_part *part)
{
    (void)part;
    return cpu_is_ell(q->x->waiting, q->row, 0);
}

static int64_t as_row(const question *q, cpu_part *part)
{
    (void)q, (void)part;
    return 1;
}

static const struct {
    cpu_format format;
    int64_t (*takes)(const question *q, cpu_part *part);
} table[] = {
    /* the first that takes them */
    { CPU_GEMM, as_gemm },         { CPU_DIA, as_dia },         { CPU_BCSR, as_bcsr },
    { CPU_INTERVAL, as_interval }, { CPU_ELL, as_single_edge }, { CPU_DIA, as_one_dia },
    { CPU_ELL, as_ell },           { CPU_ROW, as_row },
};

int64_t cpu_inspect(const cpu_inspection *x, int64_t row, int64_t end, int blocks, cpu_part *part)
{
    const question q = { x, row, end, blocks };
    part->row = row, part->rows = 0;
    for (int i = 0; part->rows == 0; i++)
        part->rows = table[i].takes(&q, part), part->format = table[i].format;
    return row + part->rows;
}
