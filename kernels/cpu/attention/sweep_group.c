/* sweep_group.c - the forward pass of rows that read all sources of a piece (sweep_group.h). */
#include <float.h>
#include "kernels/cpu/attention/softmax.h"
#include "kernels/cpu/attention/sweep_packed.h"

typedef struct softmaxes { /* of the rows and one head, each row's in its lanes */
    vec top, sum, lost;
} softmaxes;

/* Where row r's state of a head stands: four equal numbers of each of its vectors. */
static cpu_softmax *state_of(const cpu_group *g, int r, int32_t head)
{
    return g->state[r] + head / HEADS * GROUPS + head % HEADS / QUADS;
}

static softmaxes load_states(const cpu_group *g, int32_t head)
{
    float top[GROUP], sum[GROUP], lost[GROUP];
    for (int r = 0; r < g->rows; r++) {
        top[r] = -FLT_MAX, sum[r] = lost[r] = 0;
        if (g->fresh[r]) continue;
        const float *x = (const float *)state_of(g, r, head) + 4 * (head % QUADS);
        top[r] = x[0], sum[r] = x[LANES], lost[r] = x[2 * LANES];
    }
    return (softmaxes){ cpu_group_lanes(top, g->rows), cpu_group_lanes(sum, g->rows),
                        cpu_group_lanes(lost, g->rows) };
}

static void keep_states(const cpu_group *g, int32_t head, const softmaxes *all)
{
    float each[3][LANES];
    vec_store(each[0], all->top), vec_store(each[1], all->sum), vec_store(each[2], all->lost);
    for (int r = 0; r < g->rows; r++) {
        if (g->ends[r]) continue;
        float *x = (float *)state_of(g, r, head) + 4 * (head % QUADS);
        for (int i = 0; i < 3; i++, x += LANES)
            for (int j = 0; j < 4; j++) x[j] = each[i][r];
    }
}

/* Takes scores whose largest are `top` in; they become exponentials. Returns by what is shrunk what
 * stands so far. */
CPU_INLINE vec absorb(softmaxes *x, float *s, int32_t vectors, vec top, int rows)
{
    const vec shrink = vec_exp(vec_sub(x->top, top)),
              added = cpu_group_add_quad(cpu_exponents(s, vectors, top), rows);
    const vec more = vec_sub(added, vec_mul(x->lost, shrink)), before = vec_mul(x->sum, shrink);
    x->top = top, x->sum = vec_add(before, more);
    x->lost = vec_sub(vec_sub(x->sum, before), more);
    return shrink;
}

/* Writes lse of the rows that end; over[r]: 1 / sum of those, 0 where nothing was added, else 1. */
static void finish(const cpu_group *g, int32_t head, const softmaxes *x, float *over)
{
    const vec sum = vec_sub(x->sum, x->lost);
    float each[LANES];
    vec_store(over, vec_unless_zero(sum, vec_div(vec_all(1), sum), vec_zero()));
    vec_store(each, vec_add(x->top, vec_log(sum)));
    for (int r = 0; r < g->rows; r++) {
        if (g->ends[r]) ((float *)g->t->args->lse)[g->row[r] * g->t->heads + head] = each[r];
        else over[r] = 1;
    }
}

/* The scores of all columns; returns each row's largest, at least `top`, in all its lanes. */
CPU_INLINE vec scores(const cpu_group *g, float *s, int32_t head, vec top, int packed, int rows,
                      int vectors, int whole, lanes end)
{
    const ref_attend *t = g->t;
    const int64_t at = (int64_t)head * t->dim;
    const float *q[GROUP], *label[GROUP],
        *k = (const float *)t->args->parts[g->kind].k + g->from * t->width + at;
    const int32_t count = cpu_group_vectors(g);
    cpu_operand operand;
    vec shift = vec_zero();
    cpu_group_rows(g, t->args->q, at, q);
    cpu_group_label_rows(g, label);
    if (t->r) shift = cpu_operand_row_dots(q, label, packed, rows, vectors, whole, end);
    shift = cpu_group_shift(g, shift, head, rows);
    cpu_operand_of(&operand, q, t->scale, packed, rows, vectors, whole, end);
    for (int32_t j = 0; j < count; j++) {
        vec x = vec_add(cpu_operand_dots(&operand, k, t->width, g->ahead, j, g->columns, packed,
                                         rows, vectors, whole, end),
                        shift);
        if (j == count - 1) x = vec_keep(cpu_group_last(g), x, vec_all(-INFINITY));
        top = vec_max(x, top);
        vec_store(s + j * LANES, x);
    }
    return cpu_group_max_quad(vec_quads_max(top), rows);
}

/* out_r <- over_r (keep_r out_r + sum_c p[c][r] v_c), the first product not where the row is fresh;
 * columns from `at` on. */
CPU_INLINE void mix(const cpu_group *g, const float *p, int64_t at, const float *keep,
                    const float *over, int rows, int vectors, int whole, lanes end)
{
    const ref_attend *t = g->t;
    const float *x = (const float *)t->args->parts[g->kind].v + g->from * t->width + at;
    vec sum[GROUP][SLICE];
    CPU_UNROLL
    for (int r = 0; r < rows; r++) {
        const vec share = vec_all(keep[r]);
        CPU_UNROLL
        for (int v = 0; v < vectors; v++)
            sum[r][v] = g->fresh[r]
                            ? vec_zero()
                            : vec_mul(share, cpu_piece(g->out[r] + at, v, vectors, whole, end));
    }
    cpu_group_mix(sum, p, x, t->width, g->columns, g->ahead, rows, vectors, whole, end);
    CPU_UNROLL
    for (int r = 0; r < rows; r++) CPU_UNROLL
    for (int v = 0; v < vectors; v++)
        cpu_put_piece(g->out[r] + at, v, vectors, whole, end,
                      over[r] == 0 ? vec_zero() : vec_mul(sum[r][v], vec_all(over[r])));
}

CPU_INLINE void forward_head(const cpu_group *g, int32_t head, int packed, int rows, int vectors,
                             int whole, lanes end)
{
    const int32_t dim = g->t->dim;
    const int64_t at = (int64_t)head * dim;
    float s[GROUP * PIECE], keep[LANES], over[LANES];
    softmaxes x = load_states(g, head);
    const vec top = scores(g, s, head, x.top, packed, rows, vectors, whole, end);
    vec_store(keep, absorb(&x, s, cpu_group_vectors(g), top, rows));
    keep_states(g, head, &x);
    finish(g, head, &x, over);
    if (!packed) {
        mix(g, s, at, keep, over, rows, vectors, whole, end);
        return;
    }
#define SLICE_OF(vectors, whole) mix(g, s, at + from, keep, over, rows, vectors, whole, cut.end)
    CPU_EACH_SLICE(dim, rows, SLICE_OF)
#undef SLICE_OF
}

static void forward_packed(const cpu_group *g)
{
    const cpu_cut cut = cpu_cut_most(g->t->dim, 0, GROUP_DIM / LANES);
    for (int32_t head = 0; head < g->t->heads; head++) {
        if (g->rows == GROUP && g->t->dim == 64) forward_head(g, head, 1, GROUP, 8, 1, cut.end);
        else if (g->rows == GROUP) forward_head(g, head, 1, GROUP, cut.vectors, cut.whole, cut.end);
        else if (g->rows == 2) forward_head(g, head, 1, 2, cut.vectors, cut.whole, cut.end);
        else forward_head(g, head, 1, 1, cut.vectors, cut.whole, cut.end);
    }
}

void cpu_group_forward(const cpu_group *g)
{
    const cpu_cut cut = cpu_cut_at(g->t->dim, 0);
    if (cpu_group_packed(g->t)) {
        forward_packed(g);
        return;
    }
    for (int32_t head = 0; head < g->t->heads; head++) {
#define HEAD_FOUR(vectors, whole) forward_head(g, head, 0, GROUP, vectors, whole, cut.end)
#define HEAD_TWO(vectors, whole)  forward_head(g, head, 0, 2, vectors, whole, cut.end)
#define HEAD_ONE(vectors, whole)  forward_head(g, head, 0, 1, vectors, whole, cut.end)
        CPU_BY_GROUP(g->rows, cut, HEAD);
#undef HEAD_FOUR
#undef HEAD_TWO
#undef HEAD_ONE
    }
}
