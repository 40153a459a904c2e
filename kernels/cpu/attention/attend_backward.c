/* attend_backward.c - the executor of the backward pass: one pass over the edges by destination; p
 * is computed again from lse. The cut into items is ref's (attend_items.h). */
#include "kernels/cpu/attention/attention.h"
#include "kernels/cpu/table.h"
#include "kernels/cpu/attention/row.h"
#include "kernels/cpu/attention/bcsr_read.h"

typedef struct backward_work { /* of a block of rows and some heads */
    const ref_attend *t;
    const ref_label_sums *sums;
    int32_t first, last;
    cpu_inspection inspection;
    cpu_ell waiting;
    cpu_reading reading;
    int32_t interval; /* 1 + the axis of the block, 0: it has none */
    void *room;
} backward_work;

static void run_dias(const backward_work *x, const cpu_part *part)
{
    for (int i = 0; i < part->dias; i++) {
        if (cpu_dia_backward(x->t, &part->dia[i], x->first, x->last, x->sums)) continue;
        for (int r = 0; r < DIA_ROWS; r++)
            cpu_row_backward_all(x->t, part->dia[i].row + r, x->first, x->last, x->sums);
    }
}

static void run_blocks(backward_work *x, const cpu_part *part)
{
    bcsr_block behind[PLAN_BLOCKS];
    const int more = cpu_plan_blocks(x->inspection.plan, part->row + part->rows, behind) > 0;
    bcsr_read(x->t, part->block, more ? behind : NULL, &x->reading);
    for (int i = 0; i < part->blocks; i++)
        cpu_bcsr_backward(x->t, &part->block[i], &x->reading, x->sums, x->room);
}

static void run_part(backward_work *x, const cpu_part *part)
{
    switch (part->format) {
    case CPU_DIA:
        run_dias(x, part);
        break;
    case CPU_BCSR:
        run_blocks(x, part);
        break;
    case CPU_INTERVAL: /* all rows of the block together, after the others */
        x->interval = part->interval;
        break;
    case CPU_ELL:
        cpu_ell_put(&x->waiting, part->row);
        break;
    default: /* gemm: the whole block at once, before */
        cpu_row_backward_all(x->t, part->row, x->first, x->last, x->sums);
        break;
    }
}

static void rows_heads(const ref_attend *t, gsa_rows rows, int32_t first, int32_t last,
                       const ref_label_sums *sums, void *room)
{
    const int64_t end = rows.first + rows.count;
    const cpu_plan *plan = t->plan;
    backward_work x = { .t = t, .sums = sums, .first = first, .last = last, .room = room };
    cpu_part part;
    if (rows.count == 0) return;
    if (t->end > 0) { /* edges of a hub */
        cpu_row_backward_all(t, rows.first, first, last, sums);
        return;
    }
    cpu_inspect_start(&x.inspection, t, plan, &x.waiting);
    cpu_inspect_block(&x.inspection, rows.first);
    if (x.inspection.dense && cpu_dense_backward(t, rows, first, last, room)) return;
    x.inspection.dense = 0;
    cpu_start_reading(&x.reading, first, last, 1);
    cpu_ell_begin(&x.waiting, t, first, last, sums);
    for (int64_t row = rows.first; row < end;) {
        row = cpu_inspect(&x.inspection, row, end, 1, &part);
        run_part(&x, &part);
    }
    cpu_ell_end(&x.waiting);
    if (x.interval)
        cpu_interval_backward(t, &plan->intervals, x.interval - 1, rows, first, last, sums);
}

gsa_status cpu_attend_backward(gsa_backend *b, const gsa_attend_args *args)
{
    const ref_attend t = ref_attend_of(args);
    if (ref_attend_check(b, "attend_backward", args, 1) != GSA_OK) return b->error.status;
    cpu_plan *plan = cpu_plan_of(b, "attend_backward", &t);
    if (!plan) return b->error.status;
    const gsa_status status =
        ref_back(b, args, rows_heads, plan, &plan->looks, ROOM / sizeof(real));
    cpu_plan_done(b, args->edges, plan);
    return status;
}
