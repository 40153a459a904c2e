/* attend.h - what the forward and the backward pass share: edges of a row by blocks, dot products of one head with a block.
 *
 * A row's edges are taken BLOCK at a time; a head's query stands in registers (up to WIDE vectors, else it is read again), the rows
 * of K and V are read where they stand. Widths that are no multiple of LANES end with a `first` vector. */
#ifndef GSA_CPU_ATTEND_H
#define GSA_CPU_ATTEND_H
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/vector.h"
#include "kernels/ref/attend.h"

enum { BLOCK = 64 }; /* edges of a block: K and V of a head for them fit the first cache up to head_dim 64 */

typedef struct cpu_block {
    int32_t count;
    uint32_t first; /* place of the first edge in its row */
    const float *k[BLOCK], *v[BLOCK];
    int32_t label[BLOCK], kind[BLOCK], source[BLOCK];
} cpu_block;

/* The next edges of a row, in emission order; 0 when none are left. */
static inline int32_t cpu_next(const ref_attend *t, ref_walk *walk, cpu_block *block)
{
    int32_t filled = 0;
    block->first += (uint32_t)block->count;
    while (filled < BLOCK && walk->run < walk->end) {
        const gsa_run run = *walk->run;
        const gsa_part *part = &t->args->parts[run.kind];
        const int32_t left = run.count - walk->done, take = left < BLOCK - filled ? left : BLOCK - filled;
        for (int32_t i = 0; i < take; i++) {
            const int32_t source = run.first + (walk->done + i) * run.step;
            block->k[filled + i] = (const float *)part->k + source * t->width;
            block->v[filled + i] = (const float *)part->v + source * t->width;
            block->label[filled + i] = run.label + (walk->done + i) * run.label_step;
            block->kind[filled + i] = run.kind, block->source[filled + i] = source;
        }
        filled += take, walk->done += take;
        if (walk->done == run.count) walk->run++, walk->done = 0;
    }
    return block->count = filled;
}

/* Dropout factors of one head for a block. */
static inline void cpu_draw(const ref_attend *t, int64_t row, int32_t head, const cpu_block *block, float *factor)
{
    const int32_t example = t->drop.example_id[t->edges->row_example[row]], local = t->edges->row_local[row];
    float four[4];
    for (int32_t e = 0; e < block->count; e++) {
        ref_drop_four(&t->drop, example, local, block->first + (uint32_t)e, (uint32_t)head / 4, four);
        factor[e] = four[head % 4];
    }
}

/* out[e] = q . x[e][at ..], e < count. */
static inline void cpu_dots(const float *q, const float *const *x, int64_t at, int32_t dim, int32_t count, float *out)
{
    const int32_t whole = dim / LANES * LANES;
    const lanes rest = lanes_first(dim - whole);
    for (int32_t e = 0; e < count; e += 4) {
        const float *row[4];
        vec sum[4] = { vec_zero(), vec_zero(), vec_zero(), vec_zero() };
        for (int j = 0; j < 4; j++) row[j] = x[e + j < count ? e + j : count - 1] + at;
        for (int32_t i = 0; i < whole; i += LANES) {
            const vec part = vec_load(q + i);
            for (int j = 0; j < 4; j++) sum[j] = vec_fma(part, vec_load(row[j] + i), sum[j]);
        }
        if (whole < dim) {
            const vec part = vec_load_first(q + whole, rest);
            for (int j = 0; j < 4; j++) sum[j] = vec_fma(part, vec_load_first(row[j] + whole, rest), sum[j]);
        }
        _mm_storeu_ps(out + e, vec_sum_four(sum[0], sum[1], sum[2], sum[3])); /* out has room for a multiple of four */
    }
}

/* s_e = scale q.(k_e + r_l) + b_{l,head};  q stands at the head's columns. */
static inline void cpu_scores(const ref_attend *t, const cpu_block *block, const float *q, int32_t head, float *s)
{
    cpu_dots(q, block->k, (int64_t)head * t->dim, t->dim, block->count, s);
    if (t->r) {
        const float *label[BLOCK];
        float extra[BLOCK];
        for (int32_t e = 0; e < block->count; e++) label[e] = t->r + (int64_t)block->label[e] * t->dim;
        cpu_dots(q, label, 0, t->dim, block->count, extra);
        for (int32_t e = 0; e < block->count; e++) s[e] += extra[e];
    }
    for (int32_t e = 0; e < block->count; e++) s[e] *= t->scale;
    if (t->bias)
        for (int32_t e = 0; e < block->count; e++) s[e] += t->bias[(int64_t)block->label[e] * t->heads + head];
}

/* One piece of at most four vectors, `vectors` of them: known where it is called, so that sums stay in registers. */
#define CPU_INLINE static inline __attribute__((always_inline))

CPU_INLINE vec cpu_piece(const float *at, int j, int vectors, lanes end)
{
    return j + 1 < vectors ? vec_load(at + j * LANES) : vec_load_first(at + j * LANES, end);
}
CPU_INLINE void cpu_put_piece(float *at, int j, int vectors, lanes end, vec x)
{
    if (j + 1 < vectors) vec_store(at + j * LANES, x);
    else vec_store_first(at + j * LANES, end, x);
}

/* y += sum_e p[e] x[e][at ..]. Sums of even and of odd edges hide the latency of the multiplication. */
CPU_INLINE void cpu_mix_piece(float *y, const float *p, const float *const *x, int64_t at, int32_t count, int vectors, lanes end)
{
    vec even[4], odd[4];
    int32_t e = 0;
    for (int j = 0; j < vectors; j++) even[j] = cpu_piece(y, j, vectors, end), odd[j] = vec_zero();
    for (; e + 2 <= count; e += 2) {
        const vec a = vec_all(p[e]), b = vec_all(p[e + 1]);
        for (int j = 0; j < vectors; j++) even[j] = vec_fma(a, cpu_piece(x[e] + at, j, vectors, end), even[j]);
        for (int j = 0; j < vectors; j++) odd[j] = vec_fma(b, cpu_piece(x[e + 1] + at, j, vectors, end), odd[j]);
    }
    for (int j = 0; e < count && j < vectors; j++)
        even[j] = vec_fma(vec_all(p[e]), cpu_piece(x[e] + at, j, vectors, end), even[j]);
    for (int j = 0; j < vectors; j++) cpu_put_piece(y, j, vectors, end, vec_add(even[j], odd[j]));
}

/* y[e] += p[e] x for rows y[e][at ..], in order: a row may come twice. */
CPU_INLINE void cpu_spread_piece(float *const *y, const float *p, const float *x, int64_t at, int32_t count, int vectors,
                                 lanes end)
{
    vec part[4];
    for (int j = 0; j < vectors; j++) part[j] = cpu_piece(x, j, vectors, end);
    for (int32_t e = 0; e < count; e++) {
        const vec share = vec_all(p[e]);
        float *row = y[e] + at;
        for (int j = 0; j < vectors; j++)
            cpu_put_piece(row, j, vectors, end, vec_fma(share, part[j], cpu_piece(row, j, vectors, end)));
    }
}

typedef struct cpu_cut { /* columns from..: a piece of at most four vectors */
    int vectors;
    lanes end;
} cpu_cut;

static inline cpu_cut cpu_cut_at(int32_t dim, int32_t from)
{
    const int32_t left = dim - from < 4 * LANES ? dim - from : 4 * LANES;
    const int vectors = (left + LANES - 1) / LANES;
    return (cpu_cut){ vectors, lanes_first(left - (vectors - 1) * LANES) };
}

/* y[0 .. dim-1] += sum_e p[e] x[e][at ..] */
static inline void cpu_mix(float *y, const float *p, const float *const *x, int64_t at, int32_t dim, int32_t count)
{
    for (int32_t i = 0; i < dim; i += 4 * LANES) {
        const cpu_cut cut = cpu_cut_at(dim, i);
        if (cut.vectors == 1) cpu_mix_piece(y + i, p, x, at + i, count, 1, cut.end);
        else if (cut.vectors == 2) cpu_mix_piece(y + i, p, x, at + i, count, 2, cut.end);
        else if (cut.vectors == 3) cpu_mix_piece(y + i, p, x, at + i, count, 3, cut.end);
        else cpu_mix_piece(y + i, p, x, at + i, count, 4, cut.end);
    }
}

/* y[e][at ..] += p[e] x[0 .. dim-1] */
static inline void cpu_spread(float *const *y, const float *p, const float *x, int64_t at, int32_t dim, int32_t count)
{
    for (int32_t i = 0; i < dim; i += 4 * LANES) {
        const cpu_cut cut = cpu_cut_at(dim, i);
        if (cut.vectors == 1) cpu_spread_piece(y, p, x + i, at + i, count, 1, cut.end);
        else if (cut.vectors == 2) cpu_spread_piece(y, p, x + i, at + i, count, 2, cut.end);
        else if (cut.vectors == 3) cpu_spread_piece(y, p, x + i, at + i, count, 3, cut.end);
        else cpu_spread_piece(y, p, x + i, at + i, count, 4, cut.end);
    }
}

#endif
