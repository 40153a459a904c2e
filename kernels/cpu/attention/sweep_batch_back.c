/* sweep_batch_back.c - the backward pass of batches (sweep_batch.h).
 *
 * A row of dK or dV stands in registers while the queries or gradients of the rows that read it
 * pass by: it is read and written once a batch. */
#include "kernels/cpu/attention/sweep_unit.h"

#if GSA_CPU_LANES == 8
enum { ENTRIES = BATCH_VECTORS * LANES };

typedef struct entry { /* an edge: the row's place among all, the score's among all lanes */
    int32_t row, score;
} entry;

typedef struct back_work { /* on a head */
    const ref_attend *t;
    const ref_label_sums *sums;
    cpu_soon *soon;
    int32_t head;
    int64_t from; /* source 0 of `start` */
    cpu_units all;
    vec p[BATCH_VECTORS], ds[BATCH_VECTORS]; /* ds: times the scale */
    float shift[BATCH_MOST + LANES], inner[BATCH_MOST + LANES],
        sum[BATCH_MOST + LANES]; /* sum: of a row's ds, without it */
    const float *q[BATCH_MOST], *dout[BATCH_MOST];
    int32_t low, high, start[BATCH_SOURCES + 1]; /* of `entry`, by source; ascending rows */
    entry entry[ENTRIES];
} back_work;

/* The edges by source, for all heads. */
static void sort_edges(back_work *w)
{
    const cpu_units *all = &w->all;
    memset(w->start, 0, sizeof w->start);
    w->low = BATCH_SOURCES, w->high = 0;
    for (int32_t i = 0; i < all->rows; i++) {
        const int32_t first = (int32_t)(all->row[i]->first - w->from),
                      end = first + all->row[i]->places;
        for (int32_t c = first; c < end; c++) w->start[c + 1]++;
        w->low = first < w->low ? first : w->low, w->high = end > w->high ? end : w->high;
        w->q[i] = all->row[i]->q, w->dout[i] = all->row[i]->dout;
    }
    for (int32_t c = 0; c < w->high; c++) w->start[c + 1] += w->start[c];
    for (const cpu_unit *u = all->unit; u < all->unit + all->units; u++)
        for (int32_t r = 0; r < u->rows; r++) {
            const int32_t first = (int32_t)(u->row[r].first - w->from),
                          score = u->at * LANES + r * cpu_unit_lanes(u->kind);
            for (int32_t e = 0; e < u->row[r].places; e++)
                w->entry[w->start[first + e]++] = (entry){ u->place + r, score + e };
        }
    memmove(w->start + 1, w->start, (size_t)w->high * sizeof *w->start);
    w->start[0] = 0;
}

/* inner: do.out of each row; shift: what is added to its scores, less its lse. */
static void find_rows(back_work *w)
{
    const ref_attend *t = w->t;
    const cpu_units *all = &w->all;
    const int64_t at = (int64_t)w->head * t->dim;
    cpu_find_shifts(t, all, w->head, w->shift);
    for (int32_t i = 0; i < all->rows; i += LANES) {
        const float *dout[LANES], *out[LANES];
        for (int j = 0; j < LANES; j++) {
            const cpu_batch_row *row = all->row[i + j < all->rows ? i + j : i];
            dout[j] = row->dout, out[j] = row->out;
        }
        vec_store(w->inner + i, cpu_unit_products(dout, out, at, t->dim, LANES));
    }
    for (int32_t i = 0; i < all->rows; i++)
        w->shift[i] -= ((const float *)t->args->lse)[all->row[i]->row * t->heads + w->head];
}

/* Scores less the row's lse. */
CPU_INLINE void unit_scores(back_work *w, const cpu_unit *u, int kind, int32_t dim)
{
    const vec shift = cpu_unit_spread(w->shift + u->place, kind), scale = vec_all(w->t->scale);
    const int64_t at = (int64_t)w->head * dim, stride = w->t->width;
    vec *p = w->p + u->at;
    for (int32_t j = 0; j < u->vectors; j++)
        p[j] = vec_fma(cpu_unit_dots(u, at, stride, j, 0, kind, dim), scale, shift);
    if (u->edges != 0xFF)
        p[u->vectors - 1] =
            vec_keep(lanes_of_bits(u->edges), p[u->vectors - 1], vec_all(-INFINITY));
}

/* ds_e = p_e (do.v_e - D) */
CPU_INLINE void unit_slopes(back_work *w, const cpu_unit *u, int kind, int32_t dim)
{
    const vec inner = cpu_unit_spread(w->inner + u->place, kind), scale = vec_all(w->t->scale);
    const int64_t at = (int64_t)w->head * dim, stride = w->t->width;
    float each[LANES];
    vec sum = vec_zero();
    for (int32_t j = 0; j < u->vectors; j++) {
        const vec dp = cpu_unit_dots(u, at, stride, j, 1, kind, dim);
        vec ds = vec_mul(w->p[u->at + j], vec_sub(dp, inner));
        if (j == u->vectors - 1 && u->edges != 0xFF)
            ds = vec_keep(lanes_of_bits(u->edges), ds, vec_zero());
        sum = vec_add(sum, ds);
        w->ds[u->at + j] = vec_mul(ds, scale);
    }
    vec_store(each, cpu_unit_sum(sum, kind));
    for (int32_t r = 0; r < u->rows; r++) w->sum[u->place + r] = each[r * (2 << kind)];
}

static void exponents(vec *s, int32_t vectors)
{
    int32_t j = 0;
    for (; j + VEC_SOME <= vectors; j += VEC_SOME) vec_exp_some(s + j, VEC_SOME);
    for (; j < vectors; j++) vec_exp_some(s + j, 1);
}

static void slopes(back_work *w)
{
    const cpu_unit *const end = w->all.unit + w->all.units;
    for (const cpu_unit *u = w->all.unit; u < end; u++) {
#define OF_KIND(kind, dim) unit_scores(w, u, kind, dim)
        CPU_BY_UNIT(u->kind, w->t->dim, OF_KIND);
#undef OF_KIND
        cpu_ask_portion(w->soon);
    }
    exponents(w->p, w->all.vectors);
    for (const cpu_unit *u = w->all.unit; u < end; u++) {
#define OF_KIND(kind, dim) unit_slopes(w, u, kind, dim)
        CPU_BY_UNIT(u->kind, w->t->dim, OF_KIND);
#undef OF_KIND
        cpu_ask_portion(w->soon);
    }
}

/* y += more r + sum_e p_e x_e of some vectors of columns; r NULL: without it. */
CPU_INLINE void mix_slice(float *y, const float *p, const float *x, int64_t stride, int32_t places,
                          float more, const float *r, int vectors, int whole, lanes end)
{
    vec sum[WIDE], share;
    CPU_UNROLL
    for (int v = 0; v < vectors; v++) sum[v] = cpu_piece(y, v, vectors, whole, end);
    if (r) {
        share = vec_held(vec_all(more));
        CPU_UNROLL
        for (int v = 0; v < vectors; v++)
            sum[v] = vec_fma(share, cpu_piece(r, v, vectors, whole, end), sum[v]);
    }
    for (int32_t e = 0; e < places; e++, x += stride) {
        share = vec_held(vec_all(p[e]));
        CPU_UNROLL
        for (int v = 0; v < vectors; v++)
            sum[v] = vec_fma(share, cpu_piece(x, v, vectors, whole, end), sum[v]);
    }
    CPU_UNROLL
    for (int v = 0; v < vectors; v++) cpu_put_piece(y, v, vectors, whole, end, sum[v]);
}

/* dq_r += sum_e ds_e (k_e + r_l) */
static void queries(const back_work *w)
{
    const ref_attend *t = w->t;
    const int64_t at = (int64_t)w->head * t->dim;
    for (const cpu_unit *u = w->all.unit; u < w->all.unit + w->all.units; u++)
        for (int32_t i = 0; i < u->rows; i++) {
            const cpu_batch_row *row = u->row + i;
            const float *ds = (const float *)(w->ds + u->at) + i * cpu_unit_lanes(u->kind);
            const float more = t->scale * w->sum[u->place + i];
            float *dq = (float *)t->args->dq + row->row * t->width + at;
#define SLICE_OF(vectors, whole)                                                                   \
    mix_slice(dq + from, ds, row->k + at + from, t->width, row->places, more,                      \
              row->r ? row->r + from : NULL, vectors, whole, cut.end)
            CPU_EACH_WIDE(t->dim, SLICE_OF)
#undef SLICE_OF
            cpu_ask_portion(w->soon);
        }
}

/* y += sum_i share[score_i] x[row_i] of some vectors of columns, x from `at` on. */
CPU_INLINE void give_slice(float *y, const entry *from, const entry *to, const float *share,
                           const float *const *x, int64_t at, int vectors, int whole, lanes end)
{
    vec sum[WIDE];
    CPU_UNROLL
    for (int v = 0; v < vectors; v++) sum[v] = cpu_piece(y, v, vectors, whole, end);
    for (; from < to; from++) {
        const float *row = x[from->row] + at;
        const vec one = vec_held(vec_all(share[from->score]));
        CPU_UNROLL
        for (int v = 0; v < vectors; v++)
            sum[v] = vec_fma(one, cpu_piece(row, v, vectors, whole, end), sum[v]);
    }
    CPU_UNROLL
    for (int v = 0; v < vectors; v++) cpu_put_piece(y, v, vectors, whole, end, sum[v]);
}

/* Rows of dK or dV, where the kind wants it. */
static void give(const back_work *w, float *plane, const vec *p, const float *const *x)
{
    const ref_attend *t = w->t;
    const int64_t at = (int64_t)w->head * t->dim;
    if (!plane) return;
    for (int32_t c = w->low; c < w->high; c++) {
        const entry *first = w->entry + w->start[c], *last = w->entry + w->start[c + 1];
        float *y = plane + (w->from + c) * t->width + at;
        if (first == last) continue;
#define SLICE_OF(vectors, whole)                                                                   \
    give_slice(y + from, first, last, (const float *)p, x, at + from, vectors, whole, cut.end)
        CPU_EACH_WIDE(t->dim, SLICE_OF)
#undef SLICE_OF
        cpu_ask_portion(w->soon);
    }
}

/* y += sum_i scale sum_i q_i of the rows first .. last-1. */
CPU_INLINE void label_slice(const back_work *w, float *y, int32_t first, int32_t last, int64_t at,
                            int vectors, int whole, lanes end)
{
    vec sum[WIDE];
    CPU_UNROLL
    for (int v = 0; v < vectors; v++) sum[v] = cpu_piece(y, v, vectors, whole, end);
    for (int32_t i = first; i < last; i++) {
        const vec share = vec_held(vec_all(w->t->scale * w->sum[i]));
        CPU_UNROLL
        for (int v = 0; v < vectors; v++)
            sum[v] = vec_fma(share, cpu_piece(w->q[i] + at, v, vectors, whole, end), sum[v]);
    }
    CPU_UNROLL
    for (int v = 0; v < vectors; v++) cpu_put_piece(y, v, vectors, whole, end, sum[v]);
}

/* db_l += sum_e ds_e, dr_l += scale sum_e ds_e q; rows of one label that follow one another give to
 * dr together. */
static void labels(const back_work *w)
{
    const ref_label_sums *sums = w->sums;
    const cpu_batch_row *const *row = w->all.row;
    const int32_t dim = w->t->dim;
    const int64_t at = (int64_t)w->head * dim;
    for (int32_t i = 0; sums->db && i < w->all.rows; i++)
        sums->db[row[i]->label * (int64_t)sums->group + w->head - sums->first_head] += w->sum[i];
    for (int32_t i = 0, j; sums->dr && i < w->all.rows; i = j) {
        for (j = i + 1; j < w->all.rows && row[j]->label == row[i]->label;) j++;
        float *dr = sums->dr + (int64_t)row[i]->label * dim;
#define SLICE_OF(vectors, whole) label_slice(w, dr + from, i, j, at + from, vectors, whole, cut.end)
        CPU_EACH_WIDE(dim, SLICE_OF)
#undef SLICE_OF
    }
}

void cpu_batch_backward(cpu_batch *x, int32_t first, int32_t last, const ref_label_sums *sums)
{
    back_work w;
    w.t = x->t, w.sums = sums, w.soon = x->soon, w.from = x->from;
    cpu_find_units(x, &w.all);
    if (w.all.units > 0) {
        const gsa_part *part = &x->t->args->parts[w.all.row[0]->kind];
        sort_edges(&w);
        for (w.head = first; w.head < last; w.head++) {
            find_rows(&w);
            slopes(&w);
            if (x->t->args->dq) queries(&w);
            labels(&w);
            give(&w, part->dk, w.ds, w.q);
            give(&w, part->dv, w.p, w.dout);
        }
    }
    cpu_batch_start(x, x->t, x->soon);
}
#else
void cpu_batch_backward(cpu_batch *x, int32_t first, int32_t last, const ref_label_sums *sums)
{
    (void)x, (void)first, (void)last, (void)sums;
}
#endif
