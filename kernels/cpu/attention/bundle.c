/* bundle.c - shelves of rows, and what the rows of one read. Linear in edges. */
#include "kernels/cpu/attention/bundle.h"

enum { SOURCES_LEAST = 1 << 17 /* numbers of a plane of sources: smaller ones stand in the second cache */ };
static const int8_t shelf_of[BUNDLE_EDGES + 1] = { 0, 0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7,
                                                   8, 8, 8, 8, 8, 8, 8, 8, 9, 9, 9, 9, 9, 9, 9, 9 };

void cpu_bundle_begin(cpu_shelves *x, const ref_attend *t, int32_t first, int32_t last, const ref_label_sums *sums)
{
    *x = (cpu_shelves){ .t = t, .first = first, .last = last, .sums = sums };
    x->work = sums ? cpu_bundle_backward : cpu_bundle_forward;
    x->open = !t->args->weights && t->dim > 0;
    x->ask = t->edges->rows * t->width >= ASK_LEAST;
    x->stream = cpu_streams(t);
}

/* Edge e of the bundle's row r. */
static void set_edge(const ref_attend *t, cpu_bundle *b, int32_t e, int r, const gsa_run *run, int32_t place)
{
    const gsa_part *part = &t->args->parts[run->kind];
    const int32_t source = run->first + place * run->step, label = run->label + place * run->label_step;
    b->k[e][r] = (const float *)part->k + source * t->width, b->v[e][r] = (const float *)part->v + source * t->width;
    b->kind[e][r] = run->kind, b->source[e][r] = source, b->label[e][r] = label;
    if (t->r) b->r[e][r] = t->r + (int64_t)label * t->dim;
}

static void set_row(const ref_attend *t, cpu_bundle *b, int r, int64_t row)
{
    const gsa_edges *edges = t->edges;
    int32_t e = 0;
    b->row[r] = row;
    for (int64_t i = edges->run_offset[row]; i < edges->run_offset[row + 1]; i++)
        for (int32_t place = 0; place < edges->runs[i].count; place++) set_edge(t, b, e++, r, &edges->runs[i], place);
    b->edges[r] = e;
}

/* Some rows, at most BUNDLE_ROWS. Places that a row lacks read what its first one does. */
static void work_off(const cpu_shelves *x, const int64_t *row, int32_t rows)
{
    cpu_bundle b;
    b.rows = rows, b.places = 0, b.even = 1;
    for (int r = 0; r < BUNDLE_ROWS; r++) {
        set_row(x->t, &b, r, row[r < rows ? r : 0]);
        b.places = b.edges[r] > b.places ? b.edges[r] : b.places;
    }
    for (int r = 0; r < BUNDLE_ROWS; r++)
        for (int32_t e = b.edges[r]; e < b.places; e++) {
            b.k[e][r] = b.k[0][r], b.v[e][r] = b.v[0][r], b.r[e][r] = b.r[0][r], b.label[e][r] = b.label[0][r];
            b.even = 0;
        }
    x->work(x, &b);
}

static void ask_row(const cpu_shelves *x, const void *plane, int64_t row)
{
    const ref_attend *t = x->t;
    if (!plane) return;
    const float *at = (const float *)plane + row * t->width + (int64_t)x->first * t->dim,
                *end = at + (int64_t)(x->last - x->first) * t->dim;
    for (; at < end; at += ASK_LINE) vec_ask(at);
}

/* What a row not far ahead will read. */
static void ask(const cpu_shelves *x, int64_t row)
{
    const ref_attend *t = x->t;
    const gsa_edges *e = t->edges;
    const gsa_attend_args *args = t->args;
    if (!x->ask || row >= e->rows) return;
    const int64_t edges = e->edge_offset[row + 1] - e->edge_offset[row];
    if (edges > BUNDLE_EDGES) return;
    const int back = x->sums != NULL, all = !back || edges > 1; /* all: the query and the keys too */
    const void *const own[] = { all ? args->q : NULL, back ? args->dout : NULL, back && all ? args->out : NULL,
                                back && all ? args->dq : NULL };
    for (int p = 0; p < 4; p++) ask_row(x, own[p], row);
    for (int64_t i = e->run_offset[row]; i < e->run_offset[row + 1]; i++) {
        const gsa_run *run = &e->runs[i];
        const gsa_part *part = &args->parts[run->kind];
        if (e->part_rows[run->kind] * t->width < SOURCES_LEAST) continue;
        const void *const read[] = { all ? part->k : NULL, part->v, back && all ? part->dk : NULL, back ? part->dv : NULL };
        for (int32_t place = 0; place < run->count; place++)
            for (int p = 0; p < 4; p++) ask_row(x, read[p], run->first + place * run->step);
    }
}

void cpu_bundle_put(cpu_shelves *x, int64_t row)
{
    const int64_t edges = x->t->edges->edge_offset[row + 1] - x->t->edges->edge_offset[row];
    const int shelf = shelf_of[edges];
    ask(x, row + BUNDLE_AHEAD);
    if (x->sums && edges == 1) {
        cpu_single_backward(x, row);
        return;
    }
    if (edges == 1 && cpu_single_forward(x, row)) return;
    x->row[shelf][x->waiting[shelf]++] = row;
    if (x->waiting[shelf] < BUNDLE_ROWS) return;
    work_off(x, x->row[shelf], BUNDLE_ROWS);
    x->waiting[shelf] = 0;
}

/* From the longest rows down, across shelves. */
void cpu_bundle_end(cpu_shelves *x)
{
    int64_t row[BUNDLE_ROWS];
    int32_t rows = 0;
    for (int shelf = BUNDLE_SHELVES - 1; shelf >= 0; shelf--) {
        for (int32_t i = 0; i < x->waiting[shelf]; i++) {
            row[rows++] = x->row[shelf][i];
            if (rows < BUNDLE_ROWS) continue;
            work_off(x, row, rows);
            rows = 0;
        }
        x->waiting[shelf] = 0;
    }
    if (rows > 0) work_off(x, row, rows);
}
