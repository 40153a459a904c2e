/* sweep_packed.h - products of a group's rows with columns, where the rows do not fit the
 * registers: heads of any width up to GROUP_DIM.
 *
 * LANES sums stand in registers, those of one vector of scores: LANES / rows columns by the rows.
 * The rows are transposed (attention/panel.h), scaled and packed, vector by vector, in the first
 * cache; each vector of them is read once for all columns at work, each of a column once for all
 * rows: four rows and two columns (AVX2) read 6 vectors for 8 multiplications. Outputs are taken by
 * as many sums, slice by slice. */
#ifndef GSA_CPU_SWEEP_PACKED_H
#define GSA_CPU_SWEEP_PACKED_H
#include "kernels/cpu/attention/sweep_group.h"

typedef struct cpu_packed {
    vec part[GROUP_DIM / LANES][GROUP];
} cpu_packed;

/* Columns from.. of a head: at most `most` vectors. */
static inline cpu_cut cpu_cut_most(int32_t dim, int32_t from, int most)
{
    const int32_t left = dim - from < most * LANES ? dim - from : most * LANES;
    const int vectors = (left + LANES - 1) / LANES;
    return (cpu_cut){ vectors, left % LANES == 0, lanes_first(left - (vectors - 1) * LANES) };
}

/* Lane b of part[v][i] is of row i ^ (b % rows), columns behind the last one 0. */
CPU_INLINE void cpu_pack_rows(cpu_packed *to, const float *const *x, float scale, int rows,
                              int vectors, int whole, lanes end)
{
    const lanes odd = lanes_of_bits(0xAAAAu), high = lanes_of_bits(0xCCCCu);
    for (int v = 0; v < vectors; v++) {
        vec row[GROUP], two[GROUP];
        CPU_UNROLL
        for (int r = 0; r < rows; r++)
            row[r] = vec_mul(cpu_piece(x[r], v, vectors, whole, end), vec_all(scale));
        CPU_UNROLL
        for (int r = 0; r < rows; r++)
            two[r] = rows > 1 ? vec_keep(odd, row[r ^ 1], row[r]) : row[r];
        CPU_UNROLL
        for (int r = 0; r < rows; r++)
            to->part[v][r] = rows == GROUP ? vec_keep(high, two[r ^ 2], two[r]) : two[r];
    }
}

/* sum[c rows + r] += q[r] x_c, a vector of each. */
CPU_INLINE void cpu_packed_step(vec *sum, const vec *q, const float *const *x, int64_t at, int rows,
                                int whole, lanes end)
{
    const int columns = LANES / rows;
    vec k[LANES];
    CPU_UNROLL
    for (int c = 0; c < columns; c++) {
        k[c] = whole ? vec_load(x[c] + at) : vec_load_first(x[c] + at, end);
        if (rows > 1) k[c] = vec_held(k[c]);
    }
    CPU_UNROLL
    for (int r = 0; r < rows; r++) {
        const vec one = vec_held(q[r]);
        CPU_UNROLL
        for (int c = 0; c < columns; c++) sum[c * rows + r] = vec_fma(one, k[c], sum[c * rows + r]);
    }
}

/* What the lanes of a turned column's sums add up to: of four rows each in its lanes, of two
 * likewise, of one nothing yet. */
CPU_INLINE vec cpu_packed_column(const vec *sum, int rows)
{
    if (rows == 1) return sum[0];
    const vec low = vec_add(sum[0], vec_swap_one(sum[1]));
    return rows == 2 ? low : vec_add(low, vec_swap_two(vec_add(sum[2], vec_swap_one(sum[3]))));
}

/* The products of the rows with the columns that stand in vector j of the scores, the last one
 * again where there are no more. */
CPU_INLINE vec cpu_packed_dots(const cpu_packed *q, const float *x, int64_t stride, int64_t ahead,
                               int32_t j, int32_t columns, int rows, int vectors, int whole,
                               lanes end)
{
    const int each = LANES / rows, whole_ones = vectors - !whole;
    const float *column[LANES], *at = x + (int64_t)j * each * stride;
    const vec *rows_at = q->part[0];
    vec sum[LANES], few[LANES], w[QUADS];
    __asm__(""
            : "+r"(rows_at)); /* read anew: gcc takes them for registers' otherwise, and has none
                                 for the sums */
    CPU_UNROLL
    for (int c = 0; c < each; c++) {
        column[c] = at, at += j * each + c + 1 < columns ? stride : 0;
        if (ahead) cpu_ask(column[c], ahead, vectors);
    }
    CPU_UNROLL
    for (int i = 0; i < LANES; i++) sum[i] = vec_zero();
    CPU_UNROLL
    for (int v = 0; v < whole_ones; v++)
        cpu_packed_step(sum, rows_at + v * GROUP, column, v * LANES, rows, 1, end);
    if (!whole)
        cpu_packed_step(sum, rows_at + whole_ones * GROUP, column, whole_ones * LANES, rows, 0,
                        end);
    CPU_UNROLL
    for (int c = 0; c < each; c++) few[c] = cpu_packed_column(sum + c * rows, rows);
    CPU_UNROLL
    for (int i = 0; i < QUADS; i++) {
        const vec *of = few + i * (GROUP / rows);
        w[i] = rows == GROUP ? of[0]
               : rows == 2   ? vec_add(vec_pairs_low(of[0], of[1]), vec_pairs_high(of[0], of[1]))
                             : vec_sum_fours(of[0], of[1], of[2], of[3]);
    }
    return vec_fold(w);
}

/* In each row's lanes: a_r . b_r of a head. */
CPU_INLINE vec cpu_packed_row_dots(const float *const *a, const float *const *b, int rows,
                                   int vectors, int whole, lanes end)
{
    vec sum[GROUP];
    CPU_UNROLL
    for (int r = 0; r < rows; r++) sum[r] = vec_zero();
    for (int v = 0; v < vectors; v++) CPU_UNROLL
    for (int r = 0; r < rows; r++)
        sum[r] = vec_fma(cpu_piece(a[r], v, vectors, whole, end),
                         cpu_piece(b[r], v, vectors, whole, end), sum[r]);
    return vec_quads_sum(vec_sum_fours(sum[0], sum[1 % rows], sum[2 % rows], sum[3 % rows]));
}

/* The rows of a head as they are multiplied with columns: packed, or by registers. */
typedef struct cpu_operand {
    cpu_transposed transposed;
    cpu_packed packed;
} cpu_operand;

CPU_INLINE void cpu_operand_of(cpu_operand *to, const float *const *x, float scale, int packed,
                               int rows, int vectors, int whole, lanes end)
{
    if (packed) cpu_pack_rows(&to->packed, x, scale, rows, vectors, whole, end);
    else cpu_group_turn(&to->transposed, x, scale, rows, vectors, whole, end);
}

CPU_INLINE vec cpu_operand_dots(const cpu_operand *q, const float *x, int64_t stride, int64_t ahead,
                                int32_t j, int32_t columns, int packed, int rows, int vectors,
                                int whole, lanes end)
{
    return packed ? cpu_packed_dots(&q->packed, x, stride, ahead, j, columns, rows, vectors, whole,
                                    end)
                  : cpu_group_dots(&q->transposed, x, stride, ahead, j, columns, rows, vectors,
                                   whole, end);
}

CPU_INLINE vec cpu_operand_row_dots(const float *const *a, const float *const *b, int packed,
                                    int rows, int vectors, int whole, lanes end)
{
    return packed ? cpu_packed_row_dots(a, b, rows, vectors, whole, end)
                  : cpu_group_row_dots(a, b, rows, vectors, whole, end);
}

/* Vectors of a slice: as many as registers hold sums of for all rows. */
static inline int cpu_packed_slice(int rows)
{
    return rows == (int)GROUP ? (int)QUADS : (int)SLICE;
}

/* CALL(vectors, whole), `from` and `cut` in its sight, for each slice of a head. */
#define CPU_EACH_SLICE(dim, rows, CALL)                                                            \
    for (int32_t from = 0; from < (dim); from += cpu_packed_slice(rows) * LANES) {                 \
        const cpu_cut cut = cpu_cut_most(dim, from, cpu_packed_slice(rows));                       \
        if (cpu_packed_slice(rows) == 2) CPU_BY_PAIR(cut, CALL);                                   \
        else CPU_BY_CUT(cut, CALL)                                                                 \
    }

#endif
