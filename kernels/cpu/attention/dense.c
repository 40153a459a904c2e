/* dense.c - rows that all read one run of sources, a whole sentence or a relay's heads, or each its
 * beginning, causally. Products of the library's for a block of rows and columns; forward two, with
 * a running maximum and sum for each row (online softmax: Milakov, Gimelshein 2018),
 *   s = q k^T,  o += p v        with   p = exp(scale s - top),
 * backward five,
 *   s = q k^T,  g = do v^T,  dq += ds k,  dk += ds^T q,  dv += p^T do  with
 *     p = exp(scale s - lse),  ds = scale p (g - D),  D = do.o
 * A block of LANES rows reads and writes all of dK and dV for as many rows; a product here for
 * ROWS. */
#include "kernels/cpu/attention/dense.h"
#include <math.h>
#include "kernels/cpu/attention/dropout_mask.h"
#include "kernels/cpu/attention/row.h"
#include "kernels/gemm.h"

enum {
    ROWS = DENSE_ROWS,
    COLUMNS = 128,
    MASK_BITS = COLUMNS / LANES * ROWS, /* of a head, LANES bits each */
    LEAST_ROWS = 64,                    /* and columns */
    LEAST_WORK = 1 << 18, /* multiply-adds of a product of all rows: what is less is bcsr's, */
    LEAST_WIDE = 1 << 20, /* and so is this of heads that fill the registers of 16 lanes */
    MOST_WASTE = 32,      /* of so many multiply-adds at most one is for no edge: causal, 4096 */
    NARROWEST = 8         /* head */
};

_Static_assert(COLUMNS % (VEC_SOME * LANES) == 0, "vectors are worked on some at a time");

typedef struct dense {
    const ref_attend *t;
    gsa_run run;       /* of a block's last row, which reads most */
    int64_t own[ROWS]; /* so many of the block's columns each row reads, the first ones */
    float lse[MASK_HEADS][ROWS], inner[MASK_HEADS][ROWS]; /* of a block's rows; inner: D */
    float p[ROWS * COLUMNS], ds[ROWS * COLUMNS];
    cpu_bits keep_mask[MASK_HEADS * MASK_BITS]; /* where there is dropout */
} dense;
_Static_assert(sizeof(dense) <= ROOM, "it is in a room");

static const gsa_run *run_of(const gsa_edges *e, int64_t row)
{
    return e->runs + e->run_offset[row];
}

static dense *dense_in(void *room, const ref_attend *t)
{
    dense *x = room;
    x->t = t;
    memset(x->p, 0, sizeof x->p); /* vectors reach beyond the last columns */
    memset(x->ds, 0, sizeof x->ds);
    return x;
}

/* Whether each row reads one run, from the same source on and no fewer than the row before, and
 * products of ROWS rows are for few sources that a row of them does not read. */
static int same_run(const gsa_edges *e, gsa_rows rows)
{
    const gsa_run *run = run_of(e, rows.first);
    int64_t count = 1, edges = 0, products = 0;
    for (int64_t r = 0; r < rows.count; r++) {
        const gsa_run *own = run_of(e, rows.first + r);
        if (e->run_offset[rows.first + r + 1] - e->run_offset[rows.first + r] != 1 ||
            own->first != run->first || own->count < count || own->kind != run->kind ||
            own->step != 1)
            return 0;
        count = own->count, edges += count;
        if (r % ROWS == ROWS - 1 || r == rows.count - 1) products += (r % ROWS + 1) * count;
    }
    return products - edges <= products / MOST_WASTE;
}

int cpu_dense_fits(const ref_attend *t, gsa_rows rows)
{
    const gsa_attend_args *a = t->args;
    if (t->r || t->bias || a->dlabel_vectors || a->dlabel_bias || a->weights ||
        t->dim < NARROWEST || rows.count < LEAST_ROWS)
        return 0;
    const int64_t edges = ref_edges_of(t->edges, rows),
                  least = LANES == 16 && t->dim > 2 * LANES ? LEAST_WIDE : LEAST_WORK;
    return edges >= rows.count * LEAST_ROWS && (double)edges * t->dim >= (double)least &&
           same_run(t->edges, rows);
}

/* Rows with a lse or a D that is not finite have no gradient, or a NaN for one: they are left to
 * those who look at each edge. So are such keys, which products take times 0 where a row does not
 * read them. All heads are asked: which are at work depends on the number of threads. */
static int finite(const ref_attend *t, gsa_rows rows)
{
    const gsa_run *run = run_of(t->edges, rows.first + rows.count - 1);
    const float *lse = t->args->lse, *k = t->args->parts[run->kind].k;
    vec odd = vec_zero();
    for (int64_t i = 0; i < run->count && run_of(t->edges, rows.first)->count < run->count; i++) {
        const float *key = k + (run->first + i) * t->width;
        odd = vec_fma(cpu_dot(key, key, t->width), vec_zero(), odd);
    }
    for (int64_t row = rows.first; row < rows.first + rows.count; row++) {
        const int64_t at = row * t->width;
        const vec inner =
            cpu_dot((const float *)t->args->out + at, (const float *)t->args->dout + at, t->width);
        odd = vec_fma(inner, vec_zero(), odd);
        for (int32_t h = 0; h < t->heads; h++)
            odd = vec_fma(vec_all(lse[row * t->heads + h]), vec_zero(), odd);
    }
    return !vec_has_nan(odd);
}

static void multiply(float *c, int64_t ldc, const float *a, int64_t lda, int transpose_a,
                     const float *b, int64_t ldb, int transpose_b, int64_t m, int64_t n, int64_t k,
                     int accumulate)
{
    const gsa_gemm g = { c, a, b, m, n, k, ldc, lda, ldb, transpose_a, transpose_b, accumulate };
    if (gsa_gemm_f32(&g) != 0) gsa_ref32_multiply(&g);
}

/* p, a block's scores or slopes, times the factors of dropout. */
static void drop(const dense *x, float *p, int64_t rows, int64_t columns, int place)
{
    if (!x->t->drop.on) return;
    for (int64_t r = 0; r < rows; r++)
        cpu_mask_apply(x->t, p + r * COLUMNS,
                       x->keep_mask + place * MASK_BITS + r * (COLUMNS / LANES),
                       (columns + LANES - 1) / LANES);
}

/* `place`: of the head among those at work. */
static void slopes(dense *x, int64_t rows, int64_t columns, int place)
{
    const int32_t vectors = (int32_t)((columns + LANES - 1) / LANES);
    for (int64_t r = 0; r < rows; r++) {
        float *p = x->p + r * COLUMNS, *ds = x->ds + r * COLUMNS;
        cpu_slopes(p, ds, vectors, vec_all(x->t->scale), vec_all(x->lse[place][r]),
                   vec_all(x->inner[place][r]), NULL);
        for (int64_t i = x->own[r]; i < columns; i++) p[i] = ds[i] = 0;
    }
}

/* Rows row .. of one head with the sources from .. of their run. */
static void block(dense *x, int64_t row, int64_t rows, int64_t from, int64_t columns, int32_t head,
                  int place)
{
    const ref_attend *t = x->t;
    const gsa_attend_args *a = t->args;
    const gsa_part *part = &a->parts[x->run.kind];
    const int64_t w = t->width, own = row * w + (int64_t)head * t->dim, d = t->dim;
    const int64_t far = (x->run.first + from) * w + (int64_t)head * t->dim;
    const float *q = (const float *)a->q + own, *dout = (const float *)a->dout + own;
    const float *k = (const float *)part->k + far, *v = (const float *)part->v + far;
    multiply(x->p, COLUMNS, q, w, 0, k, w, 1, rows, columns, d, 0);
    multiply(x->ds, COLUMNS, dout, w, 0, v, w, 1, rows, columns, d, 0);
    drop(x, x->ds, rows, columns, place);
    slopes(x, rows, columns, place);
    drop(x, x->p, rows, columns, place);
    if (a->dq) multiply((float *)a->dq + own, w, x->ds, COLUMNS, 0, k, w, 0, rows, d, columns, 1);
    if (part->dk)
        multiply((float *)part->dk + far, w, x->ds, COLUMNS, 1, q, w, 0, columns, d, rows, 1);
    if (part->dv)
        multiply((float *)part->dv + far, w, x->p, COLUMNS, 1, dout, w, 0, columns, d, rows, 1);
}

static void prepare(dense *x, int64_t row, int64_t rows, int32_t head, int place)
{
    const ref_attend *t = x->t;
    for (int64_t r = 0; r < rows; r++) {
        const int64_t at = (row + r) * t->width + (int64_t)head * t->dim;
        x->inner[place][r] = vec_sum(
            cpu_dot((const float *)t->args->out + at, (const float *)t->args->dout + at, t->dim));
        x->lse[place][r] = ((const float *)t->args->lse)[(row + r) * t->heads + head];
    }
}

/* Which edges a block has, and which of them four heads keep. */
static void begin_block(dense *x, int64_t row, int64_t rows, int64_t from, int64_t columns,
                        int32_t head)
{
    for (int64_t r = 0; r < rows; r++) {
        const int64_t own = run_of(x->t->edges, row + r)->count - from;
        x->own[r] = own < 0 ? 0 : ref_smaller(own, columns);
        if (x->t->drop.on)
            cpu_mask_edges(x->t, row + r, from, columns, head, x->keep_mask + r * (COLUMNS / LANES),
                           MASK_BITS);
    }
}

/* ROWS rows at most, `heads` heads. */
static void some_rows(dense *x, int64_t row, int64_t rows, int32_t head, int heads)
{
    x->run = *run_of(x->t->edges, row + rows - 1);
    for (int j = 0; j < heads; j++) prepare(x, row, rows, head + j, j);
    for (int64_t i = 0; i < x->run.count; i += COLUMNS) {
        const int64_t columns = ref_smaller(COLUMNS, x->run.count - i);
        begin_block(x, row, rows, i, columns, head);
        for (int j = 0; j < heads; j++) block(x, row, rows, i, columns, head + j, j);
    }
}

int cpu_dense_backward(const ref_attend *t, gsa_rows rows, int32_t first, int32_t last, void *room)
{
    sigset_t before;
    const int32_t most = t->drop.on ? MASK_HEADS : 1; /* heads that share their drawing */
    if (!finite(t, rows)) return 0;
    dense *x = dense_in(room, t);
    gsa_gemm_begin(&before);
    for (int32_t h = first; h < last; h += most)
        for (int64_t row = rows.first, end = rows.first + rows.count; row < end; row += ROWS)
            some_rows(x, row, ref_smaller(ROWS, end - row), h, last - h < most ? last - h : most);
    gsa_gemm_end(&before);
    return 1;
}

/* ---- forward ------------------------------------------------------------------------------- */

typedef struct running { /* the states of ROWS rows and a head (softmax.h) */
    float row[ROWS][SOFTMAX];
} running;

/* x->p <- exp(scale p - top) of a block, whose largest scores move `top`; o, what is there so far,
 * shrinks with it. */
static void absorb(dense *x, running *state, float *o, int64_t rows, int64_t columns, int fresh)
{
    const vec scale = vec_all(x->t->scale);
    const int64_t last = (columns - 1) / LANES * LANES;
    for (int64_t r = 0; r < rows; r++, o += x->t->width) {
        float *p = x->p + r * COLUMNS;
        cpu_softmax now = cpu_softmax_load(state->row[r]);
        vec top = fresh ? vec_all(-FLT_MAX) : now.top;
        for (int64_t i = 0; i <= last; i += LANES) {
            vec s = vec_mul(scale, vec_load(p + i));
            const int own = (int)(x->own[r] - i);
            if (own < LANES) s = vec_keep(lanes_first(own < 0 ? 0 : own), s, vec_all(-INFINITY));
            vec_store(p + i, s), top = vec_max(s, top);
        }
        top = vec_quads_max(vec_quad_max(top));
        const vec added = vec_quad_sum(cpu_exponents(p, (int32_t)(last / LANES) + 1, top));
        const float shrink = vec_first(cpu_softmax_add(&now, top, added, fresh));
        cpu_softmax_store(state->row[r], &now);
        for (int32_t i = 0; !fresh && shrink != 1 && i < x->t->dim; i++) o[i] *= shrink;
    }
}

/* Rows row .. of one head with the sources from .. of their run. */
static void forward_block(dense *x, running *state, int64_t row, int64_t rows, int64_t from,
                          int64_t columns, int32_t head, int place)
{
    const ref_attend *t = x->t;
    const gsa_part *part = &t->args->parts[x->run.kind];
    const int64_t w = t->width, own = row * w + (int64_t)head * t->dim,
                  far = (x->run.first + from) * w + (int64_t)head * t->dim;
    float *o = (float *)t->args->out + own;
    multiply(x->p, COLUMNS, (const float *)t->args->q + own, w, 0, (const float *)part->k + far, w,
             1, rows, columns, t->dim, 0);
    absorb(x, state, o, rows, columns, from == 0);
    drop(x, x->p, rows, columns, place);
    multiply(o, w, x->p, COLUMNS, 0, (const float *)part->v + far, w, 0, rows, t->dim, columns,
             from != 0);
}

/* The rows end; returns whether all is finite. */
static int finish(const ref_attend *t, const running *state, int64_t row, int64_t rows,
                  int32_t head)
{
    float odd = 0;
    for (int64_t r = 0; r < rows; r++) {
        float *o = (float *)t->args->out + (row + r) * t->width;
        cpu_row_end(t, row + r, head, head + 1, state->row[r], o);
        odd += 0 * ((const float *)t->args->lse)[(row + r) * t->heads + head];
        for (int32_t i = 0; i < t->dim; i++) odd += 0 * o[(int64_t)head * t->dim + i];
    }
    return !isnan(odd);
}

int cpu_dense_forward(const ref_attend *t, int64_t row, int64_t rows, void *room)
{
    dense *x = dense_in(room, t);
    running state[MASK_HEADS];
    sigset_t before;
    int good = 1;
    const int32_t most = t->drop.on ? MASK_HEADS : 1; /* heads that share their drawing */
    x->run = *run_of(t->edges, row + rows - 1);
    gsa_gemm_begin(&before);
    for (int32_t h = 0; h < t->heads && good; h += most) {
        const int heads = t->heads - h < most ? t->heads - h : most;
        for (int64_t i = 0; i < x->run.count; i += COLUMNS) {
            const int64_t columns = ref_smaller(COLUMNS, x->run.count - i);
            begin_block(x, row, rows, i, columns, h);
            for (int j = 0; j < heads; j++)
                forward_block(x, &state[j], row, rows, i, columns, h + j, j);
        }
        for (int j = 0; j < heads; j++) good &= finish(t, &state[j], row, rows, h + j);
    }
    gsa_gemm_end(&before);
    return good;
}
