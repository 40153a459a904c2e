/* ell.c - buckets of rows, and what the rows of a slice read. Linear in edges. */
#include "kernels/cpu/attention/ell.h"

enum { SOURCES_LEAST = 1 << 17 /* numbers of a plane of sources: smaller ones are in L2 */ };
enum { FETCH_MOST = 256 /* lines of K and V: more at once delay what the row at hand reads */ };

/* Which bucket a row of so many edges waits in. */
static int bucket_of(int64_t edges)
{
    static const int8_t end[ELL_BUCKETS] = { 1,  2,  3,  4,  5,  6,  7,  8,
                                             10, 12, 16, 20, 24, 32, 48, ELL_PLACES };
    int bucket = edges <= ELL_FEW ? (int)edges - 1 : ELL_FEW;
    while (end[bucket] < edges) bucket++;
    return bucket;
}

void cpu_ell_begin(cpu_ell *x, const ref_attend *t, int32_t first, int32_t last,
                   const ref_label_sums *sums)
{
    *x = (cpu_ell){ .t = t, .first = first, .last = last, .sums = sums };
}

/* Edge e of a slice's places and rows. */
static void set_edge(const ref_attend *t, cpu_slice *b, int32_t e, const gsa_run *run,
                     int32_t place)
{
    const gsa_part *part = &t->args->parts[run->kind];
    const int32_t source = run->first + place * run->step,
                  label = run->label + place * run->label_step;
    b->k[e] = (const float *)part->k + source * t->width,
    b->v[e] = (const float *)part->v + source * t->width;
    b->kind[e] = run->kind, b->source[e] = source, b->label[e] = label;
    if (t->r) b->r[e] = t->r + (int64_t)label * t->dim;
}

static void set_row(const ref_attend *t, cpu_slice *b, int r, int64_t row)
{
    const gsa_edges *edges = t->edges;
    int32_t e = r;
    for (int64_t i = edges->run_offset[row]; i < edges->run_offset[row + 1]; i++)
        for (int32_t place = 0; place < edges->runs[i].count; place++, e += ROWS4)
            set_edge(t, b, e, &edges->runs[i], place);
    b->at.row[r] = row, b->edges[r] = e / ROWS4;
}

static void work(const cpu_ell *x, const int64_t *row, int32_t rows)
{
    cpu_slice b;
    b.at.t = x->t, b.at.places = 0, b.rows = rows, b.even = 1;
    for (int r = 0; r < ROWS4; r++) {
        set_row(x->t, &b, r, row[r < rows ? r : 0]);
        b.at.places = b.edges[r] > b.at.places ? b.edges[r] : b.at.places;
    }
    for (int r = 0; r < ROWS4; r++) {
        b.even &= b.edges[r] % QUADS == 0 && b.edges[r] == b.at.places;
        for (int32_t e = ROWS4 * b.edges[r] + r; e < ROWS4 * b.at.places; e += ROWS4)
            b.k[e] = b.k[r], b.v[e] = b.v[r], b.r[e] = b.r[r], b.label[e] = b.label[r];
    }
    b.at.stride = 4 * cpu_whole_quads(b.at.places);
    for (b.at.first = x->first; b.at.first < x->last; b.at.first += HEADS) {
        b.at.heads = x->last - b.at.first < HEADS ? x->last - b.at.first : HEADS;
        if (x->sums) cpu_ell_backward(&b, x->sums);
        else cpu_ell_forward(&b);
    }
}

static void fetch_row(const cpu_ell *x, const void *plane, int64_t row)
{
    const ref_attend *t = x->t;
    if (!plane) return;
    const float *at = (const float *)plane + row * t->width + (int64_t)x->first * t->dim,
                *end = at + (int64_t)(x->last - x->first) * t->dim;
    for (; at < end; at += CPU_LINE) vec_prefetch(at);
}

/* What a row not far ahead will read. */
static void fetch(const cpu_ell *x, int64_t row)
{
    const ref_attend *t = x->t;
    const gsa_edges *e = t->edges;
    const gsa_attend_args *args = t->args;
    if (e->rows * t->width < PREFETCH_LEAST || row >= e->rows) return;
    const int64_t edges = e->edge_offset[row + 1] - e->edge_offset[row],
                  lines = ((int64_t)(x->last - x->first) * t->dim + CPU_LINE - 1) / CPU_LINE;
    const int back = x->sums != NULL, all = !back || edges > 1; /* the query and the keys too */
    if (2 * edges * lines > FETCH_MOST) return;
    const void *const own[] = { all ? args->q : NULL, back ? args->dout : NULL,
                                back && all ? args->out : NULL, back && all ? args->dq : NULL };
    for (int p = 0; p < 4; p++) fetch_row(x, own[p], row);
    for (int64_t i = e->run_offset[row]; i < e->run_offset[row + 1]; i++) {
        const gsa_run *run = &e->runs[i];
        const gsa_part *part = &args->parts[run->kind];
        if (e->part_rows[run->kind] * t->width < SOURCES_LEAST) continue;
        const void *const read[] = { all ? part->k : NULL, part->v, back && all ? part->dk : NULL,
                                     back ? part->dv : NULL };
        for (int32_t place = 0; place < run->count; place++)
            for (int p = 0; p < 4; p++) fetch_row(x, read[p], run->first + place * run->step);
    }
}

void cpu_ell_put(cpu_ell *x, int64_t row)
{
    const int64_t edges = x->t->edges->edge_offset[row + 1] - x->t->edges->edge_offset[row];
    const int bucket = bucket_of(edges);
    fetch(x, row + ELL_AHEAD);
    if (x->sums && edges == 1) {
        cpu_ell_single_backward(x, row);
        return;
    }
    x->row[bucket][x->waiting[bucket]++] = row;
    if (x->waiting[bucket] < ROWS4) return;
    work(x, x->row[bucket], ROWS4);
    x->waiting[bucket] = 0;
}

/* From the longest rows down, across buckets. */
void cpu_ell_end(cpu_ell *x)
{
    int64_t row[ROWS4];
    int32_t rows = 0;
    for (int bucket = ELL_BUCKETS - 1; bucket >= 0; bucket--) {
        for (int32_t i = 0; i < x->waiting[bucket]; i++) {
            row[rows++] = x->row[bucket][i];
            if (rows < ROWS4) continue;
            work(x, row, rows);
            rows = 0;
        }
        x->waiting[bucket] = 0;
    }
    if (rows > 0) work(x, row, rows);
}
