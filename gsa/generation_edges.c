/* generation_edges.c - the edges of new rows: their pattern's, with every source looked up in its
 * sequence. */
#include "generation_parts.h"
#include "graph/index.h"

/* ---- which rows ---------------------------------------------------------------------------- */
int gsa_generation_find_rows(gsa_generation *g, gsa_tape *tape, const gsa_turn *turn, int32_t items,
                             gsa_fresh_rows *rows)
{
    *rows = (gsa_fresh_rows){ 0 };
    for (int k = 0; k < GSA_MAX_KINDS; k++) {
        if (turn->made[k] < 0 || !g->value[turn->made[k]].read) continue;
        for (int32_t i = 0; i < items; i++) {
            const int64_t *start = g->item[i].sequence->plan->of[turn->made[k]]->start;
            rows->of[k] += start[g->item[i].end + 1] - start[g->item[i].first + 1];
        }
        rows->count += rows->of[k];
    }
    rows->node = gsa_tape_host(tape, rows->count * (int64_t)sizeof *rows->node);
    rows->item = gsa_tape_host(tape, rows->count * (int64_t)sizeof *rows->item);
    if (tape->failed) return 0;
    int64_t at = 0;
    for (int k = 0; k < GSA_MAX_KINDS; k++) {
        for (int32_t i = 0; rows->of[k] > 0 && i < items; i++) {
            const gsa_layout *layout = g->item[i].sequence->plan->of[turn->made[k]];
            for (int64_t r = layout->start[g->item[i].first + 1];
                 r < layout->start[g->item[i].end + 1]; r++, at++)
                rows->node[at] = layout->node[r], rows->item[at] = i;
        }
    }
    return 1;
}

/* ---- their edges --------------------------------------------------------------------------- */
typedef struct edge_writer {
    gsa_generation *g;
    gsa_tape *tape;
    const gsa_turn *turn;
    const gsa_grown *sequence;
    int32_t heads;  /* rows of a node */
    int64_t opened; /* the first run of the row */
} edge_writer;

static gsa_run *new_run(edge_writer *w)
{
    gsa_generation *g = w->g;
    if (g->n_runs == g->room_runs) {
        const int64_t room = g->room_runs ? 2 * g->room_runs : 256;
        gsa_run *run = gsa_resize(g->system, g->run, (size_t)room, sizeof *run);
        if (!run) {
            gsa_tape_fail(w->tape, GSA_ERR_MEMORY, "out of memory: %lld runs of edges of new rows",
                          (long long)room);
            return NULL;
        }
        g->run = run, g->room_runs = room;
    }
    return &g->run[g->n_runs++];
}

/* One edge more, in the last run where it continues it. */
static void write_edge(edge_writer *w, int32_t kind, int64_t row, int32_t label)
{
    gsa_run *last = w->g->n_runs > w->opened ? &w->g->run[w->g->n_runs - 1] : NULL;
    if (last && last->kind == kind) {
        const int64_t end = last->first + (int64_t)(last->count - 1) * last->step;
        const int32_t label_end = last->label + (last->count - 1) * last->label_step;
        if (last->count == 1)
            last->step = (int32_t)(row - end), last->label_step = label - label_end;
        if (row - end == last->step && label - label_end == last->label_step) {
            last->count++;
            return;
        }
    }
    last = new_run(w);
    if (last) *last = (gsa_run){ (int32_t)row, 1, 1, label, 0, kind };
}

static void write_run(edge_writer *w, const gsa_run *run)
{
    const gsa_generation *g = w->g;
    const int value = w->turn->old[run->kind];
    const int64_t most = gsa_index_most / w->heads;
    for (int32_t j = 0; j < run->count && !w->tape->failed; j++) {
        const int32_t source = run->first + j * run->step, node = source / w->heads;
        const int64_t row = gsa_row_of(g, w->sequence, value, node);
        if (row < 0 || row >= most) {
            gsa_tape_fail(w->tape, row < 0 ? GSA_ERR_PLUGIN : GSA_ERR_LIMIT,
                          row < 0 ? "generation: a row is read that a later token makes"
                                  : "generation keeps more rows than edges can name");
            return;
        }
        write_edge(w, run->kind, row * w->heads + source % w->heads,
                   run->label + j * run->label_step);
    }
}

static void write_row(edge_writer *w, const gsa_edges *from, int64_t row, gsa_edges *to,
                      int64_t *run_offset, int64_t *edge_offset)
{
    w->opened = w->g->n_runs;
    for (int64_t r = from->run_offset[row]; r < from->run_offset[row + 1]; r++)
        write_run(w, &from->runs[r]);
    to->edge_total += from->edge_offset[row + 1] - from->edge_offset[row];
    to->run_total = w->g->n_runs;
    to->rows++;
    run_offset[to->rows] = to->run_total;
    edge_offset[to->rows] = to->edge_total;
}

/* First destination row of each kind in the pattern's own rows, in nodes. */
static void first_rows(const gsa_turn *turn, const gsa_generation_plan *plan, int64_t *first)
{
    int64_t next = 0;
    for (int k = 0; k < GSA_MAX_KINDS; k++) {
        first[k] = next;
        if (turn->made[k] >= 0) next += plan->of[turn->made[k]]->nodes;
    }
}

static void write_rows(edge_writer *w, const gsa_fresh_rows *rows, gsa_edges *to,
                       int64_t *run_offset, int64_t *edge_offset, uint8_t *empty)
{
    const gsa_step *step = w->turn->step;
    int64_t first[GSA_MAX_KINDS], at = 0;
    gsa_edges from = { 0 };
    int32_t item = -1;
    for (int k = 0; k < GSA_MAX_KINDS; k++)
        for (int64_t i = 0; i < rows->of[k] && !w->tape->failed; i++, at++) {
            if (rows->item[at] != item) {
                w->sequence = w->g->item[item = rows->item[at]].sequence;
                gsa_instance_edges(w->sequence->plan->instance[step->part], step->phase, &from);
                first_rows(w->turn, w->sequence->plan, first);
            }
            const int64_t before = to->edge_total, row = (first[k] + rows->node[at]) * w->heads;
            for (int32_t h = 0; h < w->heads && !w->tape->failed; h++)
                write_row(w, &from, row + h, to, run_offset, edge_offset);
            empty[at] = to->edge_total == before;
        }
    to->labels = from.labels, to->kinds = gsa_schema_kinds(w->g->stack->parts[step->part].schema);
}

int gsa_generation_edges(gsa_generation *g, gsa_tape *tape, const gsa_turn *turn,
                         const gsa_fresh_rows *rows, gsa_edges *edges, uint8_t *empty)
{
    edge_writer w = { .g = g, .tape = tape, .turn = turn, .heads = 1 };
    if (gsa_step_phase(g->stack, turn->step)->per_head) w.heads = g->stack->settings.heads;
    *edges = (gsa_edges){ 0 };
    g->n_runs = 0;
    const int64_t bytes = (rows->count * w.heads + 1) * (int64_t)sizeof(int64_t);
    int64_t *run_offset = gsa_tape_host(tape, bytes), *edge_offset = gsa_tape_host(tape, bytes);
    if (tape->failed) return 0;
    run_offset[0] = edge_offset[0] = 0;
    write_rows(&w, rows, edges, run_offset, edge_offset, empty);
    for (int k = 0; k < edges->kinds; k++)
        if (turn->v[k] >= 0) edges->part_rows[k] = g->pool[turn->v[k]].x.rows * w.heads;
    edges->run_offset = gsa_tape_upload(tape, run_offset, bytes);
    edges->edge_offset = gsa_tape_upload(tape, edge_offset, bytes);
    edges->runs = gsa_tape_upload(tape, g->run, g->n_runs * (int64_t)sizeof *g->run);
    g->counts.edges += edges->edge_total;
    return !tape->failed;
}
