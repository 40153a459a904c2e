/* dia.c - finds the diagonal blocks: rows whose runs are those of the row before, moved
 * on by one source or not at all. Linear in runs and places. */
#include "kernels/cpu/attention/dia.h"

/* Whether the run reads what `first` reads, moved on by r move sources. */
static int follows(const gsa_run *first, const gsa_run *run, int32_t r, int32_t move)
{
    return run->first == first->first + r * move && run->count == first->count &&
           run->kind == first->kind && run->label == first->label &&
           (run->count == 1 || (run->step == first->step && run->label_step == first->label_step));
}

/* How far run i of the rows moves on from row to row, -1 when it does not do so evenly. */
static int32_t move_of(const gsa_edges *e, int64_t row, int64_t i)
{
    const gsa_run *first = e->runs + e->run_offset[row] + i;
    const int32_t move = e->runs[e->run_offset[row + 1] + i].first - first->first;
    if (move != 0 && move != 1) return -1;
    for (int32_t r = 1; r < DIA_ROWS; r++)
        if (!follows(first, e->runs + e->run_offset[row + r] + i, r, move)) return -1;
    return move;
}

/* A run of step 1 is one stripe; of others each edge is. */
static void add_run(cpu_dia *dia, const gsa_run *run, int32_t move)
{
    const int whole = run->count > 0 && (run->count == 1 || run->step == 1);
    const int32_t stripes = whole ? 1 : run->count;
    for (int32_t i = 0; i < stripes; i++)
        dia->stripe[dia->stripes++] = (cpu_stripe){ run->kind, run->first + i * run->step,
                                                    whole ? run->count : 1, move, dia->edges + i };
    for (int32_t i = 0; i < run->count; i++)
        dia->label[dia->edges++] = run->label + i * run->label_step;
}

static int is_open(const ref_attend *t)
{
    return cpu_by_panels(t) && t->edges->row_local && t->edges->row_example;
}

int cpu_dia_at(const ref_attend *t, int64_t row, int64_t last, const int32_t *axis_of, cpu_dia *dia)
{
    const gsa_edges *e = t->edges;
    if (!is_open(t) || !cpu_rows_follow(e, row, DIA_ROWS, last)) return 0;
    const int64_t runs = e->run_offset[row + 1] - e->run_offset[row],
                  edges = e->edge_offset[row + 1] - e->edge_offset[row];
    if (edges < 1 || edges > DIA_EDGES) return 0;
    for (int32_t r = 0; axis_of && r < DIA_ROWS; r++)
        if (axis_of[row + r]) return 0;
    for (int32_t r = 1; r < DIA_ROWS; r++)
        if (e->run_offset[row + r + 1] - e->run_offset[row + r] != runs) return 0;
    dia->row = row, dia->edges = dia->stripes = 0;
    for (int64_t i = 0; i < runs; i++) {
        const int32_t move = move_of(e, row, i);
        if (move < 0) return 0;
        add_run(dia, e->runs + e->run_offset[row] + i, move);
    }
    return 1;
}

int cpu_dia_all_at(const ref_attend *t, int64_t row, int64_t last, const int32_t *axis_of,
                   cpu_dia dia[QUADS])
{
    const int64_t *offset = t->edges->edge_offset;
    if (row + LANES > last || !is_open(t) || t->edges->row_local[row] % LANES != 0) return 0;
    for (int64_t i = 0, at = row; i < QUADS; i++, at += DIA_ROWS)
        if (offset[at + 1] - offset[at] > DIA_SHORT || !cpu_dia_at(t, at, last, axis_of, &dia[i]) ||
            dia[i].stripes > DIA_STRIPES)
            return 0;
    return 1;
}
