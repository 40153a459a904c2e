/* sweep_nest.c - the forward pass of a nest (sweep_nest.h). */
#include <float.h>
#include "kernels/cpu/band.h"
#include "kernels/cpu/sweep_nest.h"

#if GSA_CPU_LANES == 16
enum { NEST_FOURS = NEST / 4, VECTORS = NEST / LANES };
_Static_assert((int)VECTORS <= (int)VEC_SOME, "exponentials at once");

typedef struct nest_work {
    const ref_attend *t;
    const float *k, *v;                                         /* of the first source */
    const float *q[NEST_ROWS], *r[NEST_ROWS], *next[NEST_ROWS]; /* next: the queries of the nest behind, */
    const float *next_k;                                        /* K of the head behind */
    float *out[NEST_ROWS];
    int64_t row[NEST_ROWS];
    int32_t label[NEST_ROWS];
    int asks; /* for these, and for V before it is read */
} nest_work;

/* The row of a level, above the lowest, that reads the j-th four of sources; whether it reads none before, none behind. */
static inline int row_of(int level, int j)
{
    return cpu_nest_level(level) + (j >> (level - 1));
}
static inline int is_first(int level, int j)
{
    return (j & ((1 << (level - 1)) - 1)) == 0;
}
static inline int is_last(int level, int j)
{
    return is_first(level, j + 1);
}

static void begin(nest_work *x, const ref_attend *t, const cpu_nest *nest, const cpu_nest *next)
{
    const gsa_part *part = &t->args->parts[nest->kind];
    const float *q = t->args->q;
    x->t = t, x->asks = next && (int64_t)t->edges->part_rows[nest->kind] * t->width >= ASK_LEAST;
    x->k = (const float *)part->k + nest->first * t->width, x->v = (const float *)part->v + nest->first * t->width;
    for (int i = 0; i < NEST_ROWS; i++) {
        x->row[i] = nest->row[i], x->label[i] = cpu_range(t->edges, x->row[i])->label;
        x->q[i] = q + x->row[i] * t->width, x->out[i] = (float *)t->args->out + x->row[i] * t->width;
        x->r[i] = t->r ? t->r + (int64_t)x->label[i] * t->dim : NULL;
        x->next[i] = next ? q + next->row[i] * t->width : NULL;
    }
}

/* The columns of a head of the j-th four of a plane's rows. */
CPU_INLINE void take_four(vec (*to)[SLICE], const float *plane, int64_t width, int64_t at, int j, int vectors, int whole,
                          lanes end)
{
    CPU_UNROLL
    for (int i = 0; i < 4; i++) CPU_UNROLL
    for (int v = 0; v < vectors; v++)
        to[i][v] = vec_held(cpu_piece(plane + (4 * j + i) * width + at, v, vectors, whole, end));
}

/* Asks for them. */
CPU_INLINE void ask_four(const float *plane, int64_t width, int64_t at, int j, int vectors)
{
    CPU_UNROLL
    for (int i = 0; i < 4; i++) cpu_ask(plane + (4 * j + i) * width + at, 0, vectors);
}

/* w[level][j]: in lane i of each four what these four lanes add to the product of source 4 j + i with its row of the level. */
CPU_INLINE void dots(const nest_work *x, vec (*w)[NEST_FOURS], int64_t at, int vectors, int whole, lanes end)
{
    for (int j = 0; j < NEST_FOURS; j++) {
        const float *a = x->q[2 * j] + at, *b = x->q[2 * j + 1] + at;
        vec k[4][SLICE], sum[4];
        take_four(k, x->k, x->t->width, at, j, vectors, whole, end);
        if (x->asks) ask_four(x->v, x->t->width, at, j, vectors);
        CPU_UNROLL
        for (int v = 0; v < vectors; v++) {
            const vec q[2] = { vec_held(cpu_piece(a, v, vectors, whole, end)),
                               vec_held(cpu_piece(b, v, vectors, whole, end)) };
            CPU_UNROLL
            for (int i = 0; i < 4; i++) sum[i] = v ? vec_fma(q[i / 2], k[i][v], sum[i]) : vec_mul(q[i / 2], k[i][v]);
        }
        w[0][j] = vec_sum_fours(sum[0], sum[1], sum[2], sum[3]);
        CPU_UNROLL
        for (int level = 1; level < NEST_LEVELS; level++) {
            const float *q = x->q[row_of(level, j)] + at;
            CPU_UNROLL
            for (int v = 0; v < vectors; v++) {
                const vec one = vec_held(cpu_piece(q, v, vectors, whole, end));
                CPU_UNROLL
                for (int i = 0; i < 4; i++) sum[i] = v ? vec_fma(one, k[i][v], sum[i]) : vec_mul(one, k[i][v]);
            }
            w[level][j] = vec_sum_fours(sum[0], sum[1], sum[2], sum[3]);
            if (x->asks && is_first(level, j)) cpu_ask(x->next[row_of(level, j)] + at, 0, vectors);
        }
    }
}

CPU_INLINE vec label_dot(const nest_work *x, int row, int64_t at, int vectors, int whole, lanes end)
{
    vec sum = vec_zero();
    CPU_UNROLL
    for (int v = 0; v < vectors; v++) {
        const vec q = cpu_piece(x->q[row] + at, v, vectors, whole, end), r = cpu_piece(x->r[row], v, vectors, whole, end);
        sum = v ? vec_fma(q, r, sum) : vec_mul(q, r);
    }
    return sum;
}

/* Adds q.r of each row to all of its places. */
CPU_INLINE void add_labels(const nest_work *x, vec (*w)[NEST_FOURS], int64_t at, int vectors, int whole, lanes end)
{
    for (int j = 0; j < NEST_FOURS; j++) {
        const vec a = label_dot(x, 2 * j, at, vectors, whole, end), b = label_dot(x, 2 * j + 1, at, vectors, whole, end);
        w[0][j] = vec_add(w[0][j], vec_sum_fours(a, a, b, b));
    }
    for (int level = 1; level < NEST_LEVELS; level++)
        for (int j = 0; j < NEST_FOURS; j += 1 << (level - 1)) {
            const vec sum = vec_quad_sum(label_dot(x, row_of(level, j), at, vectors, whole, end));
            for (int i = 0; i < 1 << (level - 1); i++) w[level][j + i] = vec_add(w[level][j + i], sum);
        }
}

typedef struct nest_softmax { /* [level][source] */
    _Alignas(64) float p[NEST_LEVELS][NEST], top[NEST_LEVELS][NEST], sum[NEST_LEVELS][NEST];
    unsigned dead; /* bit i: row i has weight nowhere */
} nest_softmax;

/* The largest, or the sum, of a level's ranges in all of their lanes. */
CPU_INLINE void across(vec *x, int level, int adds)
{
#define BOTH(a, b) (adds ? vec_add(a, b) : vec_max(a, b))
    for (int i = 0; i < VECTORS; i++) {
        x[i] = BOTH(x[i], vec_swap_one(x[i]));
        if (level > 0) x[i] = BOTH(x[i], vec_swap_two(x[i]));
        if (level > 1) x[i] = BOTH(x[i], vec_turn_quarters(x[i]));
        if (level > 2) x[i] = BOTH(x[i], vec_turn_halves(x[i]));
    }
    if (level > 3) x[0] = x[1] = BOTH(x[0], x[1]);
#undef BOTH
}

/* The biases of a level's rows, each in all of its places. */
static void take_bias(const nest_work *x, float *bias, int level, int32_t head)
{
    for (int i = 0; i < NEST; i++)
        bias[i] = x->t->bias[(int64_t)x->label[cpu_nest_level(level) + (i >> (level + 1))] * x->t->heads + head];
}

CPU_INLINE void softmax_level(const nest_work *x, nest_softmax *s, const vec *w, int level, int32_t head)
{
    vec p[VECTORS], top[VECTORS], sum[VECTORS];
    float bias[NEST];
    if (x->t->bias) take_bias(x, bias, level, head);
    for (int i = 0; i < VECTORS; i++) {
        p[i] = vec_mul(vec_fold(w + i * QUADS), vec_all(x->t->scale));
        if (x->t->bias) p[i] = vec_add(p[i], vec_load(bias + i * LANES));
        top[i] = vec_max(p[i], vec_all(-FLT_MAX));
    }
    across(top, level, 0);
    for (int i = 0; i < VECTORS; i++) p[i] = vec_sub(p[i], top[i]);
    vec_exp_some(p, VECTORS);
    for (int i = 0; i < VECTORS; i++) sum[i] = p[i];
    across(sum, level, 1);
    for (int i = 0; i < VECTORS; i++) {
        const vec over = vec_unless_zero(sum[i], vec_div(vec_all(1), sum[i]), vec_zero());
        vec_store(s->p[level] + i * LANES, vec_mul(p[i], over));
        vec_store(s->top[level] + i * LANES, top[i]), vec_store(s->sum[level] + i * LANES, sum[i]);
    }
}

/* s <- of w; writes lse. */
static void softmax(const nest_work *x, nest_softmax *s, vec (*w)[NEST_FOURS], int32_t head)
{
    float top[NEST], sum[NEST];
    softmax_level(x, s, w[0], 0, head), softmax_level(x, s, w[1], 1, head), softmax_level(x, s, w[2], 2, head);
    softmax_level(x, s, w[3], 3, head), softmax_level(x, s, w[4], 4, head);
    for (int level = 0, i = 0; level < NEST_LEVELS; level++)
        for (int at = 0; at < NEST; at += 2 << level, i++) top[i] = s->top[level][at], sum[i] = s->sum[level][at];
    top[NEST_ROWS] = 0, sum[NEST_ROWS] = 1;
    s->dead = 0;
    for (int i = 0; i < NEST; i += LANES) {
        const vec all = vec_load(sum + i);
        s->dead |= (~vec_bits_nonzero(all) & 0xffffu) << i;
        vec_store(top + i, vec_add(vec_load(top + i), vec_log(all)));
    }
    float *lse = (float *)x->t->args->lse + head;
    for (int i = 0; i < NEST_ROWS; i++) lse[x->row[i] * x->t->heads] = top[i];
}

CPU_INLINE void put_row(float *to, const vec *y, int stream, int vectors, int whole, lanes end)
{
    CPU_UNROLL
    for (int v = 0; v < vectors; v++) {
        if (stream) vec_stream(to + v * LANES, y[v]);
        else cpu_put_piece(to, v, vectors, whole, end, y[v]);
    }
}

/* out <- sum_e p_e v_e of all rows. `stream`: past the caches. */
CPU_INLINE void mix(const nest_work *x, const nest_softmax *s, int64_t at, int stream, int vectors, int whole, lanes end)
{
    vec sum[NEST_LEVELS][SLICE];
    for (int level = 2; level < NEST_LEVELS; level++)
        for (int v = 0; v < vectors; v++) sum[level][v] = vec_zero();
    for (int j = 0; j < NEST_FOURS; j++) {
        vec part[4][SLICE], y[2][SLICE];
        take_four(part, x->v, x->t->width, at, j, vectors, whole, end);
        if (x->asks) ask_four(x->next_k, x->t->width, 0, j, vectors);
        if (x->asks) cpu_ask(x->next[2 * j] + at, 0, vectors), cpu_ask(x->next[2 * j + 1] + at, 0, vectors);
        CPU_UNROLL
        for (int i = 0; i < 4; i++) {
            const vec p = vec_held(vec_all(s->p[0][4 * j + i]));
            CPU_UNROLL
            for (int v = 0; v < vectors; v++)
                y[i / 2][v] = i % 2 ? vec_fma(p, part[i][v], y[i / 2][v]) : vec_mul(p, part[i][v]);
        }
        put_row(x->out[2 * j] + at, y[0], stream, vectors, whole, end);
        put_row(x->out[2 * j + 1] + at, y[1], stream, vectors, whole, end);
        CPU_UNROLL
        for (int i = 0; i < 4; i++) {
            const vec p = vec_held(vec_all(s->p[1][4 * j + i]));
            CPU_UNROLL
            for (int v = 0; v < vectors; v++) y[0][v] = i ? vec_fma(p, part[i][v], y[0][v]) : vec_mul(p, part[i][v]);
        }
        put_row(x->out[row_of(1, j)] + at, y[0], stream, vectors, whole, end);
        CPU_UNROLL
        for (int level = 2; level < NEST_LEVELS; level++) {
            CPU_UNROLL
            for (int v = 0; v < vectors; v++) y[0][v] = sum[level][v];
            CPU_UNROLL
            for (int i = 0; i < 4; i++) {
                const vec p = vec_held(vec_all(s->p[level][4 * j + i]));
                CPU_UNROLL
                for (int v = 0; v < vectors; v++) y[0][v] = vec_fma(p, part[i][v], y[0][v]);
            }
            if (is_last(level, j)) put_row(x->out[row_of(level, j)] + at, y[0], stream, vectors, whole, end);
            CPU_UNROLL
            for (int v = 0; v < vectors; v++) sum[level][v] = is_last(level, j) ? vec_zero() : y[0][v];
        }
    }
}

CPU_INLINE void forward_head(const nest_work *x, int32_t head, int vectors, int whole, lanes end)
{
    const int64_t at = (int64_t)head * x->t->dim;
    vec w[NEST_LEVELS][NEST_FOURS];
    nest_softmax s;
    dots(x, w, at, vectors, whole, end);
    if (x->t->r) add_labels(x, w, at, vectors, whole, end);
    softmax(x, &s, w, head);
    if (whole && cpu_streams(x->t)) mix(x, &s, at, 1, vectors, whole, end);
    else mix(x, &s, at, 0, vectors, whole, end);
    for (unsigned dead = s.dead; dead; dead &= dead - 1)
        memset(x->out[__builtin_ctz(dead)] + at, 0, sizeof(float) * (size_t)x->t->dim);
}

void GSA_CPU(nest_forward)(const ref_attend *t, const cpu_nest *nest, const cpu_nest *next)
{
    const cpu_cut cut = cpu_cut_at(t->dim, 0);
    nest_work x;
    begin(&x, t, nest, next);
    for (int32_t head = 0; head < t->heads; head++) {
        if (x.asks)
            x.next_k =
                head + 1 < t->heads ? x.k + (int64_t)(head + 1) * t->dim : x.k + (next->first - nest->first) * t->width;
#define HEAD(vectors, whole) forward_head(&x, head, vectors, whole, cut.end)
        CPU_BY_CUT(cut, HEAD)
#undef HEAD
    }
}
#else
void GSA_CPU(nest_forward)(const ref_attend *t, const cpu_nest *nest, const cpu_nest *next)
{
    (void)t, (void)nest, (void)next;
}
#endif
