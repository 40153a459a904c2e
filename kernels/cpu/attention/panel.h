/* panel.h - the micro-kernels of a panel: four rows (queries, or gradients of outputs) meet
 * columns (rows of K and V).
 *
 *   score    s[c][r] = q_r . k_c           a column's row is read once for the four rows
 *   mix      o_r += sum_c p[c][r] v_c      sums of the rows are in registers, columns pass by
 *   scatter  y_c += sum_r p[c][r] x_r      sums of a few columns are in registers, rows pass by
 *
 * Register tiles at 16 (8) lanes, which have 32 (16) registers: score 4 rows x 4 vectors, of wide
 * heads (of all) 4 rows in L1 x 4 (3) columns; mix 4 rows x 4 (3) vectors; scatter 4 (3) columns x
 * 4 vectors. Wider heads are a loop around them: slices of a few vectors (cpu_cut, attend.h). A new
 * width is a value of the enum: count sums, operands and one loaded part against the registers. */
#ifndef GSA_CPU_PANEL_H
#define GSA_CPU_PANEL_H
#include "kernels/cpu/attention/bcsr.h"

enum {
    MET = LANES == 16
              ? 4
              : 3, /* columns that meet the four rows at once where these are not in registers */
    MIXED = LANES == 16 ? SLICE : 3, /* vectors of four rows whose sums are in registers at once */
    SCATTERED = SLICE,               /* vectors of a column, likewise, */
    SCATTERED_SUMS = LANES == 16 ? 4 : 3 /* columns of one plane; of two together half of them */
};

/* ---- score --------------------------------------------------------------------------------- */

/* Four rows, transposed in quads: lane b of vector i is of row i ^ (b % 4). What the four vectors
 * of sums have of one row so is in lanes of all of them, and one shuffle brings each into its
 * place, where rows as they are would need two. */
typedef struct cpu_transposed {
    vec part[BCSR_DIM / LANES][PANEL_ROWS];
} cpu_transposed;

/* The head's columns of a row, padded with zeros to whole vectors. */
static inline void cpu_pack_row(float *to, const float *x, int32_t dim, float scale)
{
    for (int32_t i = 0; i < dim; i += LANES)
        vec_store(to + i,
                  vec_mul(vec_load_first(x + i, lanes_first(dim - i < LANES ? dim - i : LANES)),
                          vec_all(scale)));
}

/* Rows x[r] of `dim` columns. */
static inline void cpu_transpose_rows(cpu_transposed *to, const float *const x[PANEL_ROWS],
                                      float scale, int32_t dim)
{
    const lanes odd = lanes_of_bits(0xAAAAu), high = lanes_of_bits(0xCCCCu);
    for (int v = 0; v * LANES < dim; v++) {
        const lanes end = lanes_first(dim - v * LANES < LANES ? dim - v * LANES : LANES);
        vec row[PANEL_ROWS], two[PANEL_ROWS];
        CPU_UNROLL
        for (int r = 0; r < PANEL_ROWS; r++)
            row[r] = vec_mul(vec_load_first(x[r] + v * LANES, end), vec_all(scale));
        CPU_UNROLL
        for (int r = 0; r < PANEL_ROWS; r++) two[r] = vec_keep(odd, row[r ^ 1], row[r]);
        CPU_UNROLL
        for (int r = 0; r < PANEL_ROWS; r++) to->part[v][r] = vec_keep(high, two[r ^ 2], two[r]);
    }
}

/* Lane i of each quad: what its lanes have of row i, of the four vectors of sums. */
CPU_INLINE vec cpu_transposed_sum(const vec sum[PANEL_ROWS])
{
    return vec_add(vec_add(sum[0], vec_swap_one(sum[1])),
                   vec_swap_two(vec_add(sum[2], vec_swap_one(sum[3]))));
}

/* Lane i of each quad: what its lanes add to row i times x. The rows are in registers. */
CPU_INLINE vec cpu_transposed_dots(const vec *q, const float *x, cpu_cut cut)
{
    vec sum[PANEL_ROWS];
    CPU_UNROLL
    for (int v = 0; v < cut.vectors; v++) {
        const vec k = vec_held(cpu_piece(x, v, cut));
        CPU_UNROLL
        for (int i = 0; i < PANEL_ROWS; i++)
            sum[i] =
                v ? vec_fma(q[v * PANEL_ROWS + i], k, sum[i]) : vec_mul(q[v * PANEL_ROWS + i], k);
    }
    return cpu_transposed_sum(sum);
}

/* sum[i] += what vector v of x[i] adds to the products of the four rows. */
CPU_INLINE void cpu_transposed_step(vec sum[MET][PANEL_ROWS], const cpu_transposed *q, int v,
                                    const float *const *x, int columns, cpu_cut one)
{
    vec k[MET];
    CPU_UNROLL
    for (int i = 0; i < columns; i++) k[i] = vec_held(cpu_piece(x[i] + v * LANES, 0, one));
    CPU_UNROLL
    for (int j = 0; j < PANEL_ROWS; j++) {
        const vec part = vec_held(q->part[v][j]);
        CPU_UNROLL
        for (int i = 0; i < columns; i++) sum[i][j] = vec_fma(part, k[i], sum[i][j]);
    }
}

/* w[i] <- as cpu_transposed_dots, of the row x[place[i]] + at; QUADS or MET columns, any head. The
 * rows are in L1. */
_Static_assert((int)MET >= (int)QUADS, "panel.c passes QUADS columns, too");
CPU_INLINE void cpu_transposed_some(vec *w, const cpu_transposed *q, const float *const *x,
                                    const uint16_t *place, int64_t at, int columns, int32_t dim)
{
    const float *row[MET];
    vec sum[MET][PANEL_ROWS];
    int v = 0;
    CPU_UNROLL
    for (int i = 0; i < columns; i++) {
        row[i] = x[place[i]] + at;
        CPU_UNROLL
        for (int j = 0; j < PANEL_ROWS; j++) sum[i][j] = vec_zero();
    }
    for (; (v + 1) * LANES <= dim; v++)
        cpu_transposed_step(sum, q, v, row, columns, cpu_one_vector(LANES, 1));
    if (v * LANES < dim)
        cpu_transposed_step(sum, q, v, row, columns, cpu_one_vector(dim - v * LANES, 0));
    CPU_UNROLL
    for (int i = 0; i < columns; i++) w[i] = cpu_transposed_sum(sum[i]);
}

typedef struct products { /* of the rows with x[place[i]] + at */
    int32_t places;       /* a multiple of QUADS */
    const uint16_t *place;
    const float *const *x;
    int64_t at;
    const uint16_t *mask;   /* [vectors] */
    const float *more;      /* [places][4], added; NULL: nothing is */
    cpu_prefetch *prefetch; /* never NULL */
} cpu_products;

/* What is made of products: scores, of which those that are no edges are -inf, and the largest is
 * told; or all as they are, and what is NaN where one is not finite is told. */
enum { CPU_BARE, CPU_MASKED };

/* s[i][r] of all places (panel.c). */
vec cpu_multiply(float *s, const cpu_transposed *q, const cpu_products *p, int32_t dim, vec told,
                 int how);

/* Lane r: a_r . b_r of LANES rows. */
static inline vec cpu_row_dots(const float *a, const float *b, int64_t stride, int32_t dim)
{
    vec w[QUADS];
    for (int g = 0; g < QUADS; g++)
        w[g] = cpu_four_dots(a + 4 * g * stride, b + 4 * g * stride, stride, dim);
    return vec_fold(w);
}

/* ---- mix ----------------------------------------------------------------------------------- */

typedef struct cpu_mixing { /* sum_c p[c][r] (x[place[c]] + at) of four rows r */
    int32_t places;
    const uint16_t *place;
    const float *p;
    const float *const *x;
    int64_t at;
} cpu_mixing;

/* sum[r] += p[r] x. At 16 lanes the four shares are in registers while vectors pass
 * by; at 8 the vectors while shares do, which needs one register less and so all there are. */
CPU_INLINE void cpu_mix_place(vec sum[PANEL_ROWS][MIXED], const float *x, const float *p,
                              cpu_cut cut)
{
    vec part[MIXED], share[PANEL_ROWS];
    if (LANES == 16) {
        CPU_UNROLL
        for (int r = 0; r < PANEL_ROWS; r++) share[r] = vec_held(vec_all(p[r]));
    }
    CPU_UNROLL
    for (int v = 0; v < cut.vectors; v++) {
        part[v] = vec_held(cpu_piece(x, v, cut));
        CPU_UNROLL
        for (int r = 0; LANES == 16 && r < PANEL_ROWS; r++)
            sum[r][v] = vec_fma(share[r], part[v], sum[r][v]);
    }
    CPU_UNROLL
    for (int r = 0; LANES != 16 && r < PANEL_ROWS; r++) {
        const vec one = vec_held(vec_all(p[r]));
        CPU_UNROLL
        for (int v = 0; v < cut.vectors; v++) sum[r][v] = vec_fma_in_place(one, part[v], sum[r][v]);
    }
}

/* `prefetch`, where there is one, is prefetched a portion with each vector of shares. */
CPU_INLINE void cpu_mix_places(vec sum[PANEL_ROWS][MIXED], const cpu_mixing *m,
                               cpu_prefetch *prefetch, cpu_cut cut)
{
    int32_t i = 0;
    for (; i + QUADS <= m->places; i += QUADS) {
        CPU_UNROLL
        for (int j = 0; j < QUADS; j++)
            cpu_mix_place(sum, m->x[m->place[i + j]] + m->at + cut.from, m->p + 4 * (i + j), cut);
        if (prefetch) cpu_prefetch_step(prefetch);
    }
    for (; i < m->places; i++)
        cpu_mix_place(sum, m->x[m->place[i]] + m->at + cut.from, m->p + 4 * i, cut);
}

typedef struct cpu_panel_mix { /* to[r] <- keep[r] to[r] + share[r] sum of `of` */
    const cpu_mixing *of;      /* of columns; */
    const cpu_mixing *labels;  /* of their labels, NULL: none */
    const float *share, *keep; /* [row]; share 0 with keep 0 or fresh: to <- 0 */
    unsigned fresh;            /* bit r: to[r] is not read */
    int rows, stream;          /* the first rows are written; past the caches */
    float *to[PANEL_ROWS];
    cpu_prefetch *prefetch; /* NULL: nothing is prefetched */
} cpu_panel_mix;

enum { PANEL_ALL = (1 << PANEL_ROWS) - 1 };

/* Returns what is NaN where a sum is not finite (panel.c). */
vec cpu_mix_panel(const cpu_panel_mix *m, int32_t dim);

/* ---- scatter-add --------------------------------------------------------------------------- */

typedef struct cpu_scatter { /* y[c] + at += sum_r p[found[c][r / 4] + r] x[r stride ..] */
    const float *p, *x;
    float *const *y; /* rows of columns */
    int64_t at;
    const int32_t (*found)[QUADS]; /* of panel g: its row 0's place, less 4 g */
} cpu_scatter;

enum {
    SCATTER_PLANES = 2 /* dK and dV: together they keep the registers full and waste fewer products
                          on rows that read few columns */
};

/* Columns c .. c+columns-1 of some planes from the rows in `bits`, a slice of the head. */
CPU_INLINE void cpu_scatter_columns(const cpu_scatter *const *g, int planes, int64_t stride,
                                    int32_t c, int columns, unsigned bits, cpu_cut cut)
{
    vec sum[SCATTER_PLANES][SCATTERED_SUMS][SCATTERED];
    const float *x[SCATTER_PLANES], *p[SCATTER_PLANES];
    float *y[SCATTER_PLANES][SCATTERED_SUMS];
    CPU_UNROLL
    for (int k = 0; k < planes; k++) {
        x[k] = g[k]->x + cut.from, p[k] = g[k]->p;
        CPU_UNROLL
        for (int i = 0; i < columns; i++) {
            y[k][i] = g[k]->y[c + i] + g[k]->at + cut.from;
            CPU_UNROLL
            for (int v = 0; v < cut.vectors; v++) sum[k][i][v] = cpu_piece(y[k][i], v, cut);
        }
    }
    for (uint64_t left = bits; left; left &= left - 1) {
        const int64_t r = __builtin_ctzll(left), row = r * stride;
        int64_t place[SCATTERED_SUMS];
        CPU_UNROLL
        for (int i = 0; i < columns; i++) place[i] = g[0]->found[c + i][(uint64_t)r / 4] + r;
        CPU_UNROLL
        for (int k = 0; k < planes; k++) {
            vec share[SCATTERED_SUMS];
            CPU_UNROLL
            for (int i = 0; i < columns; i++) share[i] = vec_held(vec_all(p[k][place[i]]));
            CPU_UNROLL
            for (int v = 0; v < cut.vectors; v++) {
                const vec part = columns > 1 || planes > 1 ? vec_held(cpu_piece(x[k] + row, v, cut))
                                                           : cpu_piece(x[k] + row, v, cut);
                CPU_UNROLL
                for (int i = 0; i < columns; i++)
                    sum[k][i][v] = vec_fma(share[i], part, sum[k][i][v]);
            }
        }
    }
    CPU_UNROLL
    for (int k = 0; k < planes; k++) CPU_UNROLL
    for (int i = 0; i < columns; i++) CPU_UNROLL
    for (int v = 0; v < cut.vectors; v++) cpu_put_piece(y[k][i], v, cut, sum[k][i][v]);
}

/* Columns first .. last-1, whose rows are mask[c]: some at a time. */
CPU_INLINE void cpu_scatter_slice(const cpu_scatter *const *g, int planes, int64_t stride,
                                  const uint16_t *mask, int32_t first, int32_t last, cpu_cut cut)
{
    const int some = SCATTERED_SUMS / planes;
    int32_t c = first;
    for (; some > 1 && c + some <= last; c += some) {
        unsigned bits = 0;
        for (int i = 0; i < some; i++) bits |= mask[c + i];
        cpu_scatter_columns(g, planes, stride, c, some, bits, cut);
    }
    for (; c < last; c++) cpu_scatter_columns(g, planes, stride, c, 1, mask[c], cut);
}

/* All columns of a head. */
CPU_INLINE void cpu_scatter_range(const cpu_scatter *const *g, int planes, int64_t stride,
                                  const uint16_t *mask, int32_t first, int32_t last, int32_t dim)
{
    if (LANES == 16 && planes == 2)
        CPU_BY_CUTS(dim, SCATTERED, cpu_scatter_slice, g, 2, stride, mask, first, last)
    else
        for (int k = 0; k < planes; k++)
            CPU_BY_CUTS(dim, SCATTERED, cpu_scatter_slice, g + k, 1, stride, mask, first, last)
}

#endif
