/* sweep_batch.c - batches, and their forward pass (sweep_batch.h). */
#include <float.h>
#include "kernels/cpu/attention/sweep_unit.h"

#if GSA_CPU_LANES == 8
typedef struct work { /* on a head */
    const ref_attend *t;
    cpu_soon *soon;
    int32_t head;
    cpu_units all;
    vec s[BATCH_VECTORS], top[BATCH_VECTORS], sum[BATCH_VECTORS];
    float shift[BATCH_MOST + LANES];
} work;

int cpu_batch_put(cpu_batch *x, int64_t row)
{
    const ref_attend *t = x->t;
    const gsa_run *run = cpu_range(t->edges, row);
    const gsa_part *part = &t->args->parts[run->kind];
    const int kind = run->count <= 2 ? 0 : run->count <= 4 ? 1 : 2;
    const int32_t more = cpu_batch_vectors(run->count);
    const int64_t at = row * t->width, source = run->first * t->width;
    if (x->rows[kind] == BATCH_ROWS || x->vectors + more > BATCH_VECTORS) return 0;
    if (x->vectors == 0) x->from = run->first - (STEP - 1);
    if (run->first + run->count > x->from + BATCH_SOURCES) return 0;
    if (x->rows[kind] % (LANES / cpu_unit_lanes(kind)) == 0) x->vectors += more;
    x->row[kind][x->rows[kind]++] = (cpu_batch_row){
        .q = (const float *)t->args->q + at,
        .k = (const float *)part->k + source,
        .v = (const float *)part->v + source,
        .r = t->r ? t->r + (int64_t)run->label * t->dim : NULL,
        .dout = t->args->dout ? (const float *)t->args->dout + at : NULL,
        .out = (float *)t->args->out + at,
        .row = row,
        .first = run->first,
        .places = run->count,
        .label = run->label,
        .kind = run->kind,
    };
    return 1;
}

/* Scores less the largest of their row, and that. */
CPU_INLINE void unit_scores(work *w, const cpu_unit *u, int kind, int32_t dim)
{
    const vec shift = cpu_unit_spread(w->shift + u->place, kind), scale = vec_all(w->t->scale);
    const int64_t at = (int64_t)w->head * dim, stride = w->t->width;
    vec *s = w->s + u->at, top = vec_all(-FLT_MAX);
    for (int32_t j = 0; j < u->vectors; j++) {
        s[j] = vec_fma(cpu_unit_dots(u, at, stride, j, 0, kind, dim), scale, shift);
        if (j == u->vectors - 1 && u->edges != 0xFF)
            s[j] = vec_keep(lanes_of_bits(u->edges), s[j], vec_all(-INFINITY));
        top = vec_max(s[j], top);
    }
    top = cpu_unit_max(top, kind);
    for (int32_t j = 0; j < u->vectors; j++) s[j] = vec_sub(s[j], top);
    w->top[u - w->all.unit] = top;
}

static void scores(work *w)
{
    for (const cpu_unit *u = w->all.unit; u < w->all.unit + w->all.units; u++) {
#define OF_KIND(kind, dim) unit_scores(w, u, kind, dim)
        CPU_BY_UNIT(u->kind, w->t->dim, OF_KIND);
#undef OF_KIND
        cpu_ask_portion(w->soon);
    }
}

static void exponents(vec *s, int32_t vectors)
{
    int32_t j = 0;
    for (; j + VEC_SOME <= vectors; j += VEC_SOME) vec_exp_down_some(s + j, VEC_SOME);
    for (; j < vectors; j++) vec_exp_down_some(s + j, 1);
}

/* Exponentials become weights; their sums are kept. */
static void divide(work *w)
{
    for (const cpu_unit *u = w->all.unit; u < w->all.unit + w->all.units; u++) {
        vec *s = w->s + u->at, sum = s[0];
        for (int32_t j = 1; j < u->vectors; j++) sum = vec_add(sum, s[j]);
        sum = u->kind == 0   ? cpu_unit_sum(sum, 0)
              : u->kind == 1 ? cpu_unit_sum(sum, 1)
                             : cpu_unit_sum(sum, 2);
        w->sum[u - w->all.unit] = sum;
        const vec over = vec_unless_zero(sum, vec_div(vec_all(1), sum), vec_zero());
        for (int32_t j = 0; j < u->vectors; j++) s[j] = vec_mul(s[j], over);
    }
}

static void write_lse(const work *w)
{
    float top[BATCH_MOST + LANES], sum[BATCH_MOST + LANES];
    for (const cpu_unit *u = w->all.unit; u < w->all.unit + w->all.units; u++)
        for (int32_t r = 0; r < u->rows; r++) {
            const int64_t lane = (int64_t)(u - w->all.unit) * LANES + r * (2 << u->kind);
            top[u->place + r] = ((const float *)w->top)[lane],
                           sum[u->place + r] = ((const float *)w->sum)[lane];
        }
    for (int32_t i = 0; i < w->all.rows; i += LANES) {
        float lse[LANES];
        for (int32_t j = w->all.rows; j < i + LANES; j++) top[j] = sum[j] = 1;
        vec_store(lse, vec_add(vec_load(top + i), vec_log(vec_load(sum + i))));
        for (int32_t j = 0; j < LANES && i + j < w->all.rows; j++)
            ((float *)w->t->args->lse)[w->all.row[i + j]->row * w->t->heads + w->head] = lse[j];
    }
}

/* y <- sum_e p_e x_e of some vectors of columns. `stream`: past the caches. */
CPU_INLINE void mix_slice(float *y, const float *p, const float *x, int64_t stride, int32_t places,
                          int stream, int vectors, int whole, lanes end)
{
    vec sum[WIDE], share = vec_all(*p);
    CPU_UNROLL
    for (int v = 0; v < vectors; v++) sum[v] = vec_mul(share, cpu_piece(x, v, vectors, whole, end));
    for (int32_t e = 1; e < places; e++) {
        x += stride, share = vec_held(vec_all(p[e]));
        CPU_UNROLL
        for (int v = 0; v < vectors; v++)
            sum[v] = vec_fma(share, cpu_piece(x, v, vectors, whole, end), sum[v]);
    }
    CPU_UNROLL
    for (int v = 0; v < vectors; v++) {
        if (whole && stream) vec_stream(y + v * LANES, sum[v]);
        else cpu_put_piece(y, v, vectors, whole, end, sum[v]);
    }
}

static void mix(const work *w, const cpu_batch_row *row, const float *p, int stream)
{
    const int64_t at = (int64_t)w->head * w->t->dim, stride = w->t->width;
#define SLICE_OF(vectors, whole)                                                                   \
    mix_slice(row->out + at + from, p, row->v + at + from, stride, row->places, stream, vectors,   \
              whole, cut.end)
    CPU_EACH_WIDE(w->t->dim, SLICE_OF)
#undef SLICE_OF
}

static void mix_all(const work *w)
{
    const int stream = cpu_streams(w->t);
    for (const cpu_unit *u = w->all.unit; u < w->all.unit + w->all.units; u++)
        for (int32_t r = 0; r < u->rows; r++) {
            const int32_t lane = r * (2 << u->kind);
            if (((const float *)&w->sum[u - w->all.unit])[lane] == 0)
                memset(u->row[r].out + (int64_t)w->head * w->t->dim, 0,
                       sizeof(float) * (size_t)w->t->dim);
            else mix(w, u->row + r, (const float *)(w->s + u->at) + lane, stream);
            cpu_ask_portion(w->soon);
        }
}

void cpu_batch_forward(cpu_batch *x)
{
    work w;
    w.t = x->t, w.soon = x->soon;
    cpu_find_units(x, &w.all);
    for (w.head = 0; w.all.units > 0 && w.head < w.t->heads; w.head++) {
        cpu_find_shifts(w.t, &w.all, w.head, w.shift);
        scores(&w);
        exponents(w.s, w.all.vectors);
        divide(&w);
        write_lse(&w);
        mix_all(&w);
    }
    cpu_batch_start(x, x->t, x->soon);
}
#else
int cpu_batch_put(cpu_batch *x, int64_t row)
{
    (void)x, (void)row;
    return 0;
}

void cpu_batch_forward(cpu_batch *x)
{
    (void)x;
}
#endif
