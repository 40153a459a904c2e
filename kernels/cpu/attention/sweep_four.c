/* sweep_four.c - both passes of four rows that read a range of one length each (sweep_four.h). */
#include <float.h>
#include <math.h>
#include "kernels/cpu/attention/band.h"
#include "kernels/cpu/attention/sweep_four.h"

typedef struct four_heads { /* at most QUADS heads of the rows */
    const cpu_four *x;
    int32_t first, heads;
} four_heads;

int cpu_four_put(const ref_attend *t, cpu_fours *x, int32_t row, cpu_four *four)
{
    const int32_t places = cpu_range(t->edges, row)->count, *rows = x->row[places];
    x->row[places][x->waiting[places]++] = row;
    if (x->waiting[places] < FOUR) return 0;
    x->waiting[places] = 0;
    four->t = t, four->ahead = 0, four->places = places;
    for (int i = 0; i < FOUR; i++) {
        const gsa_run *run = cpu_range(t->edges, rows[i]);
        const gsa_part *part = &t->args->parts[run->kind];
        four->row[i] = rows[i], four->kind = run->kind, four->first[i] = run->first,
        four->label[i] = run->label;
        four->q[i] = (const float *)t->args->q + rows[i] * t->width;
        four->k[i] = (const float *)part->k + run->first * t->width;
        four->v[i] = (const float *)part->v + run->first * t->width;
        four->r[i] = t->r ? t->r + (int64_t)run->label * t->dim : NULL;
    }
    return 1;
}

/* w[e][0] <- of each four lanes the partial sums of a_i . x_i,e of a slice of a head, added to what
 * stands there where `more`; w[places][0] those of a_i . r_i, where r is not NULL. Asks for what
 * stands `ahead` numbers behind a_i. */
CPU_INLINE void dots_slice(vec (*w)[QUADS], const float *const *a, int64_t a_at, int64_t ahead,
                           const float *const *x, int64_t x_at, int64_t step, const float *const *r,
                           int64_t r_at, int32_t places, int more, int vectors, int whole,
                           lanes end)
{
    vec part[FOUR][SLICE];
    const float *row[FOUR];
    CPU_UNROLL
    for (int i = 0; i < FOUR; i++) {
        row[i] = x[i] + x_at;
        CPU_UNROLL
        for (int v = 0; v < vectors; v++)
            part[i][v] = cpu_piece(a[i] + a_at, v, vectors, whole, end);
        if (ahead) cpu_ask(a[i] + a_at, ahead, vectors);
    }
    for (int32_t e = 0; e < places + (r != NULL); e++) {
        vec sum[FOUR];
        if (e == places) CPU_UNROLL
        for (int i = 0; i < FOUR; i++) row[i] = r[i] + r_at;
        CPU_UNROLL
        for (int v = 0; v < vectors; v++) CPU_UNROLL
        for (int i = 0; i < FOUR; i++) {
            const vec y = cpu_piece(row[i], v, vectors, whole, end);
            sum[i] = v ? vec_fma(part[i][v], y, sum[i]) : vec_mul(part[i][v], y);
        }
        CPU_UNROLL
        for (int i = 0; i < FOUR; i++) row[i] += step;
        const vec fours = vec_sum_fours(sum[0], sum[1], sum[2], sum[3]);
        w[e][0] = more ? vec_add(w[e][0], fours) : fours;
    }
}

/* s[e]: a_i . x_i,e of each head j in lane 4 j + i; s[places]: a_i . r_i, where r is not NULL. Rows
 * of x are `step` numbers apart. */
static void dots(const four_heads *g, vec *s, const float *const *a, int64_t ahead,
                 const float *const *x, int64_t step, const float *const *r, int32_t places)
{
    const ref_attend *t = g->x->t;
    const int32_t all = places + (r != NULL);
    vec w[FOUR_PLACES + 1][QUADS];
    for (int32_t j = 0; j < QUADS; j++) {
        const int64_t at = (int64_t)(g->first + j) * t->dim;
        for (int32_t e = 0; j >= g->heads && e < all; e++) w[e][j] = vec_zero();
        for (int32_t i = 0; j < g->heads && i < t->dim; i += SLICE * LANES) {
            const cpu_cut cut = cpu_cut_at(t->dim, i);
            vec(*const to)[QUADS] = (vec(*)[QUADS])(&w[0][j]);
#define SLICE_OF(vectors, whole)                                                                   \
    dots_slice(to, a, at + i, ahead, x, at + i, step, r, i, places, i > 0, vectors, whole, cut.end)
            CPU_BY_CUT(cut, SLICE_OF)
#undef SLICE_OF
        }
    }
    for (int32_t e = 0; e < all; e++) s[e] = vec_fold(w[e]);
}

/* The rows' scores; s[places] is written too. */
static void scores(const four_heads *g, vec *s, int64_t ahead)
{
    const cpu_four *x = g->x;
    const ref_attend *t = x->t;
    float bias[LANES] = { 0 };
    for (int32_t j = 0; t->bias && j < g->heads; j++)
        for (int i = 0; i < FOUR; i++)
            bias[4 * j + i] = t->bias[(int64_t)x->label[i] * t->heads + g->first + j];
    dots(g, s, x->q, ahead, x->k, t->width, t->r ? x->r : NULL, x->places);
    const vec shift = t->r ? s[x->places] : vec_zero(), more = vec_load(bias);
    for (int32_t e = 0; e < x->places; e++)
        s[e] = vec_add(vec_mul(vec_add(s[e], shift), vec_all(t->scale)), more);
}

static void exponents(vec *s, int32_t places)
{
    int32_t e = 0;
    for (; e + VEC_SOME <= places; e += VEC_SOME) vec_exp_some(s + e, VEC_SOME);
    if (e + 2 <= places) vec_exp_some(s + e, 2), e += 2;
    if (e < places) vec_exp_some(s + e, 1);
}

enum { WRITE, ADD, STREAM };

typedef struct four_mix { /* y_i <- (ADD: y_i +) more_i r_i + sum_e p_e x_i,e of each head */
    const float *p, *const *x, *const *r; /* r: of one head alone; NULL: none */
    const float *more;                    /* lanes as a score's */
    float *const *y;
    int how;
} four_mix;

/* Of a slice of one head, whose lanes begin at `lane`. STREAM: past the caches. */
CPU_INLINE void mix_slice(const four_mix *m, int lane, int64_t at, int64_t r_at, int64_t step,
                          int32_t places, int how, int vectors, int whole, lanes end)
{
    const float *p = m->p + lane, *from[FOUR];
    vec sum[FOUR][SLICE];
    CPU_UNROLL
    for (int i = 0; i < FOUR; i++) {
        from[i] = m->x[i] + at;
        CPU_UNROLL
        for (int v = 0; v < vectors; v++) {
            sum[i][v] = how == ADD ? cpu_piece(m->y[i] + at, v, vectors, whole, end) : vec_zero();
            if (m->r)
                sum[i][v] = vec_fma(vec_all(m->more[lane + i]),
                                    cpu_piece(m->r[i] + r_at, v, vectors, whole, end), sum[i][v]);
        }
    }
    for (int32_t e = 0; e < places; e++, p += LANES) CPU_UNROLL
    for (int i = 0; i < FOUR; i++) {
        CPU_UNROLL
        for (int v = 0; v < vectors; v++)
            sum[i][v] =
                vec_fma(vec_all(p[i]), cpu_piece(from[i], v, vectors, whole, end), sum[i][v]);
        from[i] += step;
    }
    CPU_UNROLL
    for (int i = 0; i < FOUR; i++) CPU_UNROLL
    for (int v = 0; v < vectors; v++) {
        if (whole && how == STREAM) vec_stream(m->y[i] + at + v * LANES, sum[i][v]);
        else cpu_put_piece(m->y[i] + at, v, vectors, whole, end, sum[i][v]);
    }
}

static void mix(const four_heads *g, const four_mix *m)
{
    const ref_attend *t = g->x->t;
    for (int32_t j = 0; j < g->heads; j++)
        for (int32_t i = 0; i < t->dim; i += SLICE * LANES) {
            const cpu_cut cut = cpu_cut_at(t->dim, i);
            const int64_t at = (int64_t)(g->first + j) * t->dim + i;
#define SLICE_OF(vectors, whole)                                                                   \
    mix_slice(m, 4 * j, at, i, t->width, g->x->places, m->how, vectors, whole, cut.end)
            CPU_BY_CUT(cut, SLICE_OF)
#undef SLICE_OF
        }
}

static void forward_heads(const four_heads *g)
{
    const cpu_four *x = g->x;
    const ref_attend *t = x->t;
    float *out[FOUR], share[LANES], each[LANES];
    vec s[FOUR_PLACES + 1], top = vec_all(-FLT_MAX), sum = vec_zero();
    scores(g, s, x->ahead);
    for (int32_t e = 0; e < x->places; e++) top = vec_max(s[e], top);
    for (int32_t e = 0; e < x->places; e++) s[e] = vec_sub(s[e], top);
    exponents(s, x->places);
    for (int32_t e = 0; e < x->places; e++) sum = vec_add(sum, s[e]);
    vec_store(each, vec_add(top, vec_log(sum)));
    const vec over = vec_unless_zero(sum, vec_div(vec_all(1), sum), vec_zero());
    vec_store(share, over);
    for (int32_t e = 0; e < x->places; e++) s[e] = vec_mul(s[e], over);
    for (int i = 0; i < FOUR; i++) out[i] = (float *)t->args->out + x->row[i] * t->width;
    mix(g,
        &(four_mix){
            .p = (const float *)s, .x = x->v, .y = out, .how = cpu_streams(t) ? STREAM : WRITE });
    for (int32_t j = 0; j < g->heads; j++)
        for (int i = 0; i < FOUR; i++) {
            ((float *)t->args->lse)[x->row[i] * t->heads + g->first + j] = each[4 * j + i];
            if (share[4 * j + i] != 0) continue;
            memset(out[i] + (int64_t)(g->first + j) * t->dim, 0, sizeof(float) * (size_t)t->dim);
        }
}

void cpu_four_forward(const cpu_four *x)
{
    for (int32_t h = 0; h < x->t->heads; h += QUADS) {
        const four_heads g = { .x = x,
                               .first = h,
                               .heads = x->t->heads - h < QUADS ? x->t->heads - h : QUADS };
        forward_heads(&g);
    }
}

/* y_i,e += p_e x_i of a slice of one head. */
CPU_INLINE void give_slice(float *const *y, int64_t at, const float *p, const float *const *x,
                           int64_t step, int32_t places, int vectors, int whole, lanes end)
{
    for (int i = 0; i < FOUR; i++) {
        vec part[SLICE];
        float *row = y[i] + at;
        for (int v = 0; v < vectors; v++) part[v] = cpu_piece(x[i] + at, v, vectors, whole, end);
        for (int32_t e = 0; e < places; e++, row += step) {
            const vec share = vec_all(p[e * LANES + i]);
            for (int v = 0; v < vectors; v++)
                cpu_put_piece(row, v, vectors, whole, end,
                              vec_fma(share, part[v], cpu_piece(row, v, vectors, whole, end)));
        }
    }
}

/* The rows' ranges of dK or dV, where the kind wants it. Ranges may be one another's: row by
 * row. */
static void give(const four_heads *g, float *plane, const vec *p, const float *const *x)
{
    const ref_attend *t = g->x->t;
    float *y[FOUR];
    if (!plane) return;
    for (int i = 0; i < FOUR; i++) y[i] = plane + g->x->first[i] * t->width;
    for (int32_t j = 0; j < g->heads; j++)
        for (int32_t i = 0; i < t->dim; i += SLICE * LANES) {
            const cpu_cut cut = cpu_cut_at(t->dim, i);
            const int64_t at = (int64_t)(g->first + j) * t->dim + i;
            const float *share = (const float *)p + 4 * j;
#define SLICE_OF(vectors, whole)                                                                   \
    give_slice(y, at, share, x, t->width, g->x->places, vectors, whole, cut.end)
            CPU_BY_CUT(cut, SLICE_OF)
#undef SLICE_OF
        }
}

/* y += sum_i share_i x_i of the columns from .. of one head, the first `rows` of the four. */
CPU_INLINE void add_rows(float *y, const float *share, const float *const *x, int64_t at, int rows,
                         int vectors, int whole, lanes end)
{
    for (int v = 0; v < vectors; v++) {
        vec sum = cpu_piece(y, v, vectors, whole, end);
        for (int i = 0; i < rows; i++)
            sum = vec_fma(vec_all(share[i]), cpu_piece(x[i] + at, v, vectors, whole, end), sum);
        cpu_put_piece(y, v, vectors, whole, end, sum);
    }
}

/* dr of the rows' labels, which mostly are one. */
static void add_label_vectors(const four_heads *g, const float *scaled, float *dr)
{
    const cpu_four *x = g->x;
    const int32_t dim = x->t->dim, *label = x->label;
    const int one = label[0] == label[1] && label[0] == label[2] && label[0] == label[3];
    for (int32_t j = 0; j < g->heads; j++)
        for (int32_t i = 0; i < dim; i += SLICE * LANES) {
            const cpu_cut cut = cpu_cut_at(dim, i);
            const int64_t at = (int64_t)(g->first + j) * dim + i;
#define ONE(vectors, whole)                                                                        \
    add_rows(dr + (int64_t)label[0] * dim + i, scaled + 4 * j, x->q, at, FOUR, vectors, whole,     \
             cut.end)
#define EACH(vectors, whole)                                                                       \
    for (int r = 0; r < FOUR; r++)                                                                 \
    add_rows(dr + (int64_t)label[r] * dim + i, scaled + 4 * j + r, x->q + r, at, 1, vectors,       \
             whole, cut.end)
            if (one) CPU_BY_CUT(cut, ONE)
            else CPU_BY_CUT(cut, EACH)
#undef ONE
#undef EACH
        }
}

static void add_label_biases(const four_heads *g, vec sum, const ref_label_sums *sums)
{
    float slope[LANES];
    vec_store(slope, sum);
    for (int32_t j = 0; j < g->heads; j++)
        for (int i = 0; i < FOUR; i++)
            sums->db[g->x->label[i] * sums->group + g->first + j - sums->first_head] +=
                slope[4 * j + i];
}

/* Asks for what stands x->ahead numbers behind the heads of a row. */
static void ask_row(const four_heads *g, const float *row)
{
    const ref_attend *t = g->x->t;
    if (!row) return;
    for (int32_t i = g->first * t->dim; i < (g->first + g->heads) * t->dim; i += ASK_LINE)
        cpu_ask(row + i, g->x->ahead, 1);
}

static void backward_heads(const four_heads *g, vec lse, const ref_label_sums *sums)
{
    const cpu_four *x = g->x;
    const ref_attend *t = x->t;
    const gsa_part *part = &t->args->parts[x->kind];
    const float *out[FOUR], *dout[FOUR];
    float *dq[FOUR], scaled[LANES];
    vec p[FOUR_PLACES + 1], ds[FOUR_PLACES], inner, sum = vec_zero();
    for (int i = 0; i < FOUR; i++) {
        out[i] = (const float *)t->args->out + x->row[i] * t->width;
        dout[i] = (const float *)t->args->dout + x->row[i] * t->width;
        dq[i] = t->args->dq ? (float *)t->args->dq + x->row[i] * t->width : NULL;
    }
    if (x->ahead)
        for (int i = 0; i < FOUR; i++) ask_row(g, out[i]), ask_row(g, dq[i]);
    dots(g, &inner, dout, x->ahead, out, 0, NULL, 1);
    scores(g, p, x->ahead);
    dots(g, ds, dout, 0, x->v, t->width, NULL, x->places);
    for (int32_t e = 0; e < x->places; e++) p[e] = vec_sub(p[e], lse);
    exponents(p, x->places);
    for (int32_t e = 0; e < x->places; e++) {
        ds[e] = vec_mul(p[e], vec_sub(ds[e], inner));
        sum = vec_add(sum, ds[e]);
        ds[e] = vec_mul(ds[e], vec_all(t->scale));
    }
    vec_store(scaled, vec_mul(sum, vec_all(t->scale)));
    if (dq[0])
        mix(g, &(four_mix){ .p = (const float *)ds,
                            .x = x->k,
                            .r = t->r ? x->r : NULL,
                            .more = scaled,
                            .y = dq,
                            .how = ADD });
    if (sums->db) add_label_biases(g, sum, sums);
    if (sums->dr) add_label_vectors(g, scaled, sums->dr);
    give(g, part->dk, ds, x->q);
    give(g, part->dv, p, dout);
}

int cpu_four_backward(const cpu_four *x, int32_t first, int32_t last, const ref_label_sums *sums)
{
    const float *lse = x->t->args->lse;
    for (int i = 0; i < FOUR;
         i++) /* all heads are asked, for which ones are at work depends on the number of threads */
        for (int32_t h = 0; h < x->t->heads; h++) {
            const float one = lse[x->row[i] * x->t->heads + h];
            if (isinf(one) && one < 0) return 0;
        }
    for (int32_t h = first; h < last; h += QUADS) {
        const four_heads g = { .x = x, .first = h, .heads = last - h < QUADS ? last - h : QUADS };
        float each[LANES] = { 0 };
        for (int32_t j = 0; j < g.heads; j++)
            for (int i = 0; i < FOUR; i++) each[4 * j + i] = lse[x->row[i] * x->t->heads + h + j];
        backward_heads(&g, vec_load(each), sums);
    }
    return 1;
}
