#include "op_cases.h"
#include <math.h>
#include <stdlib.h>

#define S(i) (r->shape[i])

/* ---- gemm: m, n, k, 1 transpose a | 2 transpose b | 4 accumulate | 8 padded strides
 *      | 16 by gemm_part, every third block late, where the backend has it ------------------- */
static const op_shape gemm_shapes[] = {
    { 0, 3, 2, 0 },      { 3, 0, 2, 0 },       { 3, 2, 0, 0 },     { 3, 2, 0, 4 },
    { 1, 1, 1, 0 },      { 1, 1, 1, 7 },       { 5, 7, 3, 0 },     { 5, 7, 3, 1 },
    { 5, 7, 3, 2 },      { 5, 7, 3, 3 },       { 5, 7, 3, 4 },     { 5, 7, 3, 9 },
    { 5, 7, 3, 10 },     { 5, 7, 3, 15 },      { 17, 65, 129, 0 }, { 17, 65, 129, 3 },
    { 257, 33, 20, 2 },  { 300, 4, 5, 8 },     { 9, 11, 2100, 1 }, { 9, 11, 2100, 5 },
    { 9, 11, 2100, 13 }, { 270, 3, 4097, 1 },  { 1, 300, 40, 2 },  { 64, 64, 64, 6 },
    { 1024, 18, 35, 2 }, { 1300, 33, 16, 14 }, { 1100, 5, 9, 3 },  { 1, 1100, 1000, 2 },
    { 60, 300, 300, 5 }, { 3, 700, 900, 14 },  { 0, 3, 2, 18 },    { 3, 2, 0, 18 },
    { 9, 4, 2100, 18 },  { 1100, 5, 9, 18 },
};
static const op_shape gemm_big[] = {
    { 1000, 70, 33, 2 },   { 513, 100, 100, 0 }, { 100, 100, 6400, 1 }, { 31, 17, 5000, 5 },
    { 300, 20, 3000, 1 },  { 7, 1000, 2049, 3 }, { 1023, 5, 7, 14 },    { 10, 10, 20000, 1 },
    { 255, 257, 1025, 0 }, { 2050, 100, 70, 2 }, { 1024, 33, 17, 14 },  { 1, 4000, 1000, 2 },
    { 200, 500, 500, 15 }, { 1301, 33, 16, 18 }, { 700, 10, 5000, 18 },
};
static const op_shape gemm_grads[] = { { 2, 3, 4, 0, 1 } };

static int64_t gemm_ld(rig *r, int64_t cols)
{
    return cols + ((S(3) & 8) ? 3 : 0);
}

static void gemm_setup(rig *r)
{
    const int64_t m = S(0), n = S(1), k = S(2);
    const int ta = S(3) & 1, tb = (S(3) & 2) != 0;
    rig_real(r, "c", RIG_STATE, m, gemm_ld(r, n), 1);
    rig_real(r, "a", RIG_CONST, ta ? k : m, gemm_ld(r, ta ? m : k), 1);
    rig_real(r, "b", RIG_CONST, tb ? n : k, gemm_ld(r, tb ? k : n), 1);
}

static gsa_status gemm_forward(rig *r)
{
    const int64_t m = S(0), n = S(1), k = S(2);
    const int ta = S(3) & 1, tb = (S(3) & 2) != 0;
    const uint8_t late[] = { 1, 0, 0, 1, 0, 0 };
    if (S(3) & 16 && r->b->gemm_part) {
        const gsa_status status =
            r->b->gemm_part(r->b, R_AT(0), R_AT(1), R_AT(2), m, n, k, late, 0);
        if (status != GSA_OK) return status;
        return r->b->gemm_part(r->b, R_AT(0), R_AT(1), R_AT(2), m, n, k, late, 1);
    }
    return r->b->gemm(r->b, R_AT(0), R_AT(1), R_AT(2), m, n, k, ta, tb, gemm_ld(r, n),
                      gemm_ld(r, ta ? m : k), gemm_ld(r, tb ? k : n), (S(3) & 4) != 0);
}

static void gemm_oracle(rig *r)
{
    const int64_t m = S(0), n = S(1), k = S(2);
    const int ta = S(3) & 1, tb = (S(3) & 2) != 0;
    const int64_t ldc = gemm_ld(r, n), lda = gemm_ld(r, ta ? m : k), ldb = gemm_ld(r, tb ? k : n);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = (S(3) & 4) ? R_X(0)[i * ldc + j] : 0;
            for (int64_t l = 0; l < k; l++)
                sum +=
                    R_X(1)[ta ? l * lda + i : i * lda + l] * R_X(2)[tb ? j * ldb + l : l * ldb + j];
            R_Y(0)[i * ldc + j] = sum;
        }
}

/* ---- bias: rows, cols ---------------------------------------------------------------------- */
static const op_shape matrix_shapes[] = { { 0, 5 },    { 5, 0 },    { 1, 1 },   { 3, 7 },
                                          { 17, 100 }, { 700, 33 }, { 2, 1000 } };
static const op_shape matrix_grads[] = { { 1, 1 }, { 3, 5 }, { 4, 9 } };
static const op_shape matrix_big[] = { { 1501, 37 }, { 20000, 3 }, { 70, 1001 } };

static void bias_setup(rig *r)
{
    rig_real(r, "y", RIG_INOUT, S(0), S(1), 1);
    rig_real(r, "bias", RIG_INPUT, 1, S(1), 1);
}
static gsa_status bias_forward(rig *r)
{
    return r->b->bias_forward(r->b, R_AT(0), R_AT(1), S(0), S(1));
}
static gsa_status bias_backward(rig *r)
{
    return r->b->bias_backward(r->b, R_D(1), R_D(0), S(0), S(1));
}
static void bias_oracle(rig *r)
{
    for (int64_t i = 0; i < S(0) * S(1); i++) R_Y(0)[i] = R_X(0)[i] + R_X(1)[i % S(1)];
}
static void bias_oracle_backward(rig *r)
{
    for (int64_t i = 0; i < S(0) * S(1); i++) R_DX(1)[i % S(1)] += R_DY(0)[i];
}

/* ---- elements: count ----------------------------------------------------------------------- */
static const op_shape count_shapes[] = {
    { 0 }, { 1 }, { 2 }, { 7 }, { 1000 }, { 16384 }, { 16385 }
};
static const op_shape count_big[] = { { 70001 } };

static void add_setup(rig *r)
{
    rig_real(r, "y", RIG_KEPT, 1, S(0), 1);
    rig_real(r, "a", RIG_CONST, 1, S(0), 1);
    rig_real(r, "c", RIG_CONST, 1, S(0), 1);
}
static gsa_status add_forward(rig *r)
{
    return r->b->add(r->b, R_AT(0), R_AT(1), R_AT(2), S(0));
}
static void add_oracle(rig *r)
{
    for (int64_t i = 0; i < S(0); i++) R_Y(0)[i] = R_X(1)[i] + R_X(2)[i];
}

/* y = y + c: outputs may be their inputs */
static void add_in_place_setup(rig *r)
{
    rig_real(r, "y", RIG_STATE, 1, S(0), 1);
    rig_real(r, "c", RIG_CONST, 1, S(0), 1);
}
static gsa_status add_in_place_forward(rig *r)
{
    return r->b->add(r->b, R_AT(0), R_AT(0), R_AT(1), S(0));
}
static gsa_status accumulate_forward(rig *r)
{
    return r->b->accumulate(r->b, R_AT(0), R_AT(1), -0.375, S(0));
}
static void add_in_place_oracle(rig *r)
{
    for (int64_t i = 0; i < S(0); i++) R_Y(0)[i] = R_X(0)[i] + R_X(1)[i];
}
static void accumulate_oracle(rig *r)
{
    for (int64_t i = 0; i < S(0); i++) R_Y(0)[i] = R_X(0)[i] - 0.375 * R_X(1)[i];
}
/* y = a c, and y += a c */
static gsa_status multiply_forward(rig *r)
{
    return r->b->multiply(r->b, R_AT(0), R_AT(1), R_AT(2), 0, S(0));
}
static void multiply_oracle(rig *r)
{
    for (int64_t i = 0; i < S(0); i++) R_Y(0)[i] = R_X(1)[i] * R_X(2)[i];
}
static gsa_status multiply_more_forward(rig *r)
{
    return r->b->multiply(r->b, R_AT(0), R_AT(1), R_AT(1), 1, S(0));
}
static void multiply_more_oracle(rig *r)
{
    for (int64_t i = 0; i < S(0); i++) R_Y(0)[i] = R_X(0)[i] + R_X(1)[i] * R_X(1)[i];
}
static gsa_status copy_forward(rig *r)
{
    return r->b->copy(r->b, R_AT(0), R_AT(1), S(0) * r->b->real_bytes);
}
static void copy_oracle(rig *r)
{
    for (int64_t i = 0; i < S(0); i++) R_Y(0)[i] = R_X(1)[i];
}
static gsa_status zero_forward(rig *r)
{
    return r->b->zero_fill(r->b, R_AT(0), S(0) * r->b->real_bytes);
}
static void zero_oracle(rig *r)
{
    for (int64_t i = 0; i < S(0); i++) R_Y(0)[i] = 0;
}

/* ---- activations: count, activation -------------------------------------------------------- */
static const op_shape activate_shapes[] = {
    { 0, 0 }, { 1, 0 }, { 333, 0 }, { 20000, 0 }, { 0, 1 },  { 1, 1 },  { 333, 1 }, { 20000, 1 },
    { 0, 2 }, { 1, 2 }, { 333, 2 }, { 20000, 2 }, { 0, 3 },  { 1, 3 },  { 333, 3 }, { 20000, 3 },
    { 0, 4 }, { 1, 4 }, { 333, 4 }, { 20000, 4 }, { 15, 2 }, { 16, 2 }, { 17, 3 },
};
static const op_shape activate_grads[] = {
    { 20, 0, 0, 0, 1 }, { 20, 1, 0, 0, 1 }, { 20, 2 }, { 20, 3 }, { 20, 4 }
};
static const op_shape activate_big[] = {
    { 70001, 0 }, { 70001, 1 }, { 70001, 2 }, { 70001, 3 }, { 70001, 4 }
};

static void activate_setup(rig *r)
{
    rig_real(r, "y", RIG_OUTPUT, 1, S(0), 1);
    rig_real(r, "x", RIG_INPUT, 1, S(0), 1.5);
}
static gsa_status activate_forward(rig *r)
{
    return r->b->activate_forward(r->b, R_AT(0), R_AT(1), (int)S(1), S(0));
}
static gsa_status activate_backward(rig *r)
{
    return r->b->activate_backward(r->b, R_D(1), R_D(0), R_AT(1), (int)S(1), 1, S(0));
}
static gsa_status activate_first(rig *r)
{
    rig_soil(r, 1);
    return r->b->activate_backward(r->b, R_D(1), R_D(0), R_AT(1), (int)S(1), 0, S(0));
}
static double activation(double x, int64_t kind)
{
    const double low[2] = { 0, 0.01 };
    if (kind < 2) return x > 0 ? x : low[kind] * x;
    if (kind == GSA_GELU) return x * erfc(-x / sqrt(2)) / 2;
    return kind == GSA_TANH ? 1 - 2 / (exp(2 * x) + 1) : 1 / (1 + exp(-x));
}
static double activation_slope(double x, int64_t kind)
{
    const double low[2] = { 0, 0.01 }, y = activation(x, kind);
    if (kind < 2) return x > 0 ? 1 : low[kind];
    if (kind == GSA_GELU)
        return erfc(-x / sqrt(2)) / 2 + x * exp(-x * x / 2) / sqrt(2 * 3.14159265358979323846);
    return kind == GSA_TANH ? 1 - y * y : y * (1 - y);
}
static void activate_oracle(rig *r)
{
    for (int64_t i = 0; i < S(0); i++) R_Y(0)[i] = activation(R_X(1)[i], S(1));
}
static void activate_oracle_backward(rig *r)
{
    for (int64_t i = 0; i < S(0); i++) R_DX(1)[i] += R_DY(0)[i] * activation_slope(R_X(1)[i], S(1));
}
static void activate_oracle_first(rig *r)
{
    rig_start_at_zeros(r, 1);
    activate_oracle_backward(r);
}

/* ---- norm: rows, cols ---------------------------------------------------------------------- */
static const op_shape norm_shapes[] = { { 0, 5 },    { 1, 1 },    { 1, 2 },    { 3, 7 },
                                        { 17, 100 }, { 700, 33 }, { 2, 1000 }, { 5, 5 },
                                        { 9, 16 },   { 9, 129 },  { 40, 257 } };
static const op_shape norm_grads[] = { { 1, 2 }, { 3, 5 }, { 4, 10 } };
/* Of fewer columns next to nothing is left of dx, and there is nothing next to it to measure that
 * by. */
static const op_shape norm_first_shapes[] = { { 0, 5 },    { 3, 7 },  { 17, 100 }, { 700, 33 },
                                              { 2, 1000 }, { 9, 16 }, { 9, 129 },  { 40, 257 } };
static const double norm_eps = 1e-3;

static void norm_setup(rig *r)
{
    rig_real(r, "y", RIG_OUTPUT, S(0), S(1), 1);
    rig_real(r, "mean", RIG_KEPT, 1, S(0), 1);
    rig_real(r, "rstd", RIG_KEPT, 1, S(0), 1);
    rig_real(r, "x", RIG_INPUT, S(0), S(1), 2);
    rig_real(r, "gain", RIG_INPUT, 1, S(1), 1);
    rig_real(r, "bias", RIG_INPUT, 1, S(1), 1);
}
static gsa_status norm_forward(rig *r)
{
    return r->b->norm_forward(r->b, R_AT(0), R_AT(1), R_AT(2), R_AT(3), R_AT(4), R_AT(5), norm_eps,
                              S(0), S(1));
}
static gsa_status norm_backward(rig *r)
{
    return r->b->norm_backward(r->b, R_D(3), R_D(4), R_D(5), R_D(0), R_AT(3), R_AT(4), R_AT(1),
                               R_AT(2), 1, S(0), S(1));
}
static gsa_status norm_first(rig *r)
{
    rig_soil(r, 3);
    return r->b->norm_backward(r->b, R_D(3), R_D(4), R_D(5), R_D(0), R_AT(3), R_AT(4), R_AT(1),
                               R_AT(2), 0, S(0), S(1));
}
static void norm_oracle(rig *r)
{
    const int64_t cols = S(1);
    for (int64_t row = 0; row < S(0); row++) {
        const double *x = R_X(3) + row * cols;
        double mean = 0, square = 0;
        for (int64_t i = 0; i < cols; i++) mean += x[i] / (double)cols;
        for (int64_t i = 0; i < cols; i++) square += (x[i] - mean) * (x[i] - mean) / (double)cols;
        R_Y(1)[row] = mean;
        R_Y(2)[row] = pow(square + norm_eps, -0.5);
        for (int64_t i = 0; i < cols; i++)
            R_Y(0)[row * cols + i] = (x[i] - mean) * R_Y(2)[row] * R_X(4)[i] + R_X(5)[i];
    }
}
/* By the whole Jacobian: d xhat_i / d x_j = rstd ([i = j] - 1/n - xhat_i xhat_j / n). */
static void norm_oracle_backward(rig *r)
{
    const int64_t cols = S(1);
    for (int64_t row = 0; row < S(0); row++) {
        const double *x = R_X(3) + row * cols, *dy = R_DY(0) + row * cols, mean = R_Y(1)[row],
                     rstd = R_Y(2)[row];
        double *dx = R_DX(3) + row * cols;
        for (int64_t i = 0; i < cols; i++) {
            const double hat = (x[i] - mean) * rstd;
            R_DX(4)[i] += dy[i] * hat;
            R_DX(5)[i] += dy[i];
            for (int64_t j = 0; j < cols; j++) {
                const double slope =
                    (i == j) - 1.0 / (double)cols - hat * (x[j] - mean) * rstd / (double)cols;
                dx[j] += dy[i] * R_X(4)[i] * rstd * slope;
            }
        }
    }
}
static void norm_oracle_first(rig *r)
{
    rig_start_at_zeros(r, 3);
    norm_oracle_backward(r);
}

/* ---- gather: rows, cols, table rows, 1 accumulate | 2 row 0 frozen ------------------------- */
static const op_shape gather_shapes[] = { { 0, 4, 3 },     { 3, 0, 3 },       { 5, 4, 1 },
                                          { 1, 1, 1, 1 },  { 40, 9, 6 },      { 40, 9, 6, 2 },
                                          { 40, 9, 6, 1 }, { 500, 70, 90, 3 } };
static const op_shape gather_grads[] = { { 7, 3, 4, 0 }, { 7, 3, 4, 1 } };
static const op_shape gather_big[] = { { 2000, 100, 50, 2 }, { 500, 333, 1000, 1 } };

static void gather_setup(rig *r)
{
    rig_real(r, "y", (S(3) & 1) ? RIG_INOUT : RIG_OUTPUT, S(0), S(1), 1);
    rig_real(r, "table", RIG_INPUT, S(2), S(1), 1);
    double *ids = calloc((size_t)S(0) + 1, sizeof *ids);
    for (int64_t i = 0; i < S(0); i++) ids[i] = (double)gsa_between(&r->dice, -1, S(2) - 1);
    rig_other(r, "ids", RIG_INT32, RIG_CONST, S(0), ids);
    free(ids);
}
static gsa_status gather_forward(rig *r)
{
    return r->b->gather_forward(r->b, R_AT(0), R_AT(1), R_AT(2), 0.7, S(3) & 1, S(0), S(1), S(2));
}
static gsa_status gather_backward(rig *r)
{
    return r->b->gather_backward(r->b, R_D(1), R_D(0), R_AT(2), (S(3) & 2) ? 1 : 0, 0.7, S(0), S(1),
                                 S(2));
}
static void gather_oracle(rig *r)
{
    for (int64_t i = 0; i < S(0) * S(1); i++) {
        const int64_t id = (int64_t)R_X(2)[i / S(1)];
        R_Y(0)
        [i] = ((S(3) & 1) ? R_X(0)[i] : 0) + (id < 0 ? 0 : 0.7 * R_X(1)[id * S(1) + i % S(1)]);
    }
}
static void gather_oracle_backward(rig *r)
{
    for (int64_t i = 0; i < S(0) * S(1); i++) {
        const int64_t id = (int64_t)R_X(2)[i / S(1)];
        if (id >= ((S(3) & 2) ? 1 : 0)) R_DX(1)[id * S(1) + i % S(1)] += 0.7 * R_DY(0)[i];
    }
}

/* ---- select: rows, cols -------------------------------------------------------------------- */
static void select_setup(rig *r)
{
    rig_real(r, "y", RIG_OUTPUT, S(0), S(1), 1);
    rig_real(r, "a", RIG_INPUT, S(0), S(1), 1);
    rig_real(r, "c", RIG_INPUT, S(0), S(1), 1);
    double *mask = calloc((size_t)S(0) + 1, sizeof *mask);
    for (int64_t i = 0; i < S(0); i++) mask[i] = (double)gsa_between(&r->dice, 0, 2);
    rig_other(r, "mask", RIG_BYTE, RIG_CONST, S(0), mask);
    free(mask);
}
static gsa_status select_forward(rig *r)
{
    return r->b->select_forward(r->b, R_AT(0), R_AT(3), R_AT(1), R_AT(2), S(0), S(1));
}
static gsa_status select_backward(rig *r)
{
    return r->b->select_backward(r->b, R_D(1), R_D(2), R_AT(3), R_D(0), S(0), S(1));
}
static void select_oracle(rig *r)
{
    for (int64_t i = 0; i < S(0) * S(1); i++)
        R_Y(0)[i] = R_X(3)[i / S(1)] != 0 ? R_X(1)[i] : R_X(2)[i];
}
static void select_oracle_backward(rig *r)
{
    for (int64_t i = 0; i < S(0) * S(1); i++)
        (R_X(3)[i / S(1)] != 0 ? R_DX(1) : R_DX(2))[i] += R_DY(0)[i];
}

/* ---- pool: examples, most rows of one, cols, maximum --------------------------------------- */
static const op_shape pool_shapes[] = { { 0, 4, 3, 0 }, { 3, 0, 2, 0 }, { 4, 5, 0, 0 },
                                        { 1, 1, 1, 0 }, { 6, 9, 7, 0 }, { 3, 200, 130, 0 },
                                        { 0, 4, 3, 1 }, { 3, 0, 2, 1 }, { 4, 5, 0, 1 },
                                        { 1, 1, 1, 1 }, { 6, 9, 7, 1 }, { 3, 200, 130, 1 } };
static const op_shape pool_grads[] = { { 4, 5, 3, 0 }, { 4, 5, 3, 1, 1 } };
static const op_shape pool_big[] = { { 50, 60, 100, 0 }, { 50, 60, 100, 1 }, { 1, 500, 700, 1 } };

static void pool_setup(rig *r)
{
    double *offset = calloc((size_t)S(0) + 2, sizeof *offset);
    for (int64_t e = 0; e < S(0); e++)
        offset[e + 1] = offset[e] + (double)gsa_between(&r->dice, 0, S(1));
    rig_real(r, "y", RIG_OUTPUT, S(0), S(2), 1);
    rig_real(r, "x", RIG_INPUT, (int64_t)offset[S(0)], S(2), 1);
    rig_other(r, "offset", RIG_INT64, RIG_CONST, S(0) + 1, offset);
    rig_other(r, "arg", RIG_INT32, RIG_KEPT, S(0) * S(2), NULL);
    if (offset[S(0)] >= 2 && r->fill == RIG_RANDOM) /* ties: the first wins */
        for (int64_t c = 0; c < S(2) && S(4) == 0; c++) R_X(1)[S(2) + c] = R_X(1)[c];
    if (r->t[1].count > 0) rig_set(r, 1, 0, R_X(1)[0]);
    free(offset);
}
static gsa_status pool_forward(rig *r)
{
    return r->b->pool_forward(r->b, R_AT(0), S(3) ? R_AT(3) : NULL, R_AT(1), R_AT(2), (int)S(3),
                              S(0), S(2));
}
static gsa_status pool_backward(rig *r)
{
    return r->b->pool_backward(r->b, R_D(1), R_D(0), S(3) ? R_AT(3) : NULL, R_AT(2), (int)S(3), 1,
                               S(0), S(2));
}
static gsa_status pool_first(rig *r)
{
    rig_soil(r, 1);
    return r->b->pool_backward(r->b, R_D(1), R_D(0), S(3) ? R_AT(3) : NULL, R_AT(2), (int)S(3), 0,
                               S(0), S(2));
}
static void pool_oracle(rig *r)
{
    for (int64_t e = 0; e < S(0); e++)
        for (int64_t c = 0; c < S(2); c++) {
            const int64_t first = (int64_t)R_X(2)[e], last = (int64_t)R_X(2)[e + 1];
            int64_t best = -1;
            double sum = 0;
            for (int64_t row = last - 1; row >= first; row--) {
                sum += R_X(1)[row * S(2) + c];
                if (best < 0 || R_X(1)[row * S(2) + c] >= R_X(1)[best * S(2) + c]) best = row;
            }
            R_Y(0)
            [e * S(2) + c] = best < 0 ? 0
                             : S(3)   ? R_X(1)[best * S(2) + c]
                                      : sum / (double)(last - first);
            if (S(3)) R_Y(3)[e * S(2) + c] = (double)best;
        }
}
static void pool_oracle_backward(rig *r)
{
    for (int64_t e = 0; e < S(0); e++)
        for (int64_t c = 0; c < S(2); c++) {
            const int64_t first = (int64_t)R_X(2)[e], last = (int64_t)R_X(2)[e + 1];
            for (int64_t row = first; row < last; row++)
                if (!S(3))
                    R_DX(1)[row * S(2) + c] += R_DY(0)[e * S(2) + c] / (double)(last - first);
                else if (row == (int64_t)R_Y(3)[e * S(2) + c])
                    R_DX(1)[row * S(2) + c] += R_DY(0)[e * S(2) + c];
        }
}
static void pool_oracle_first(rig *r)
{
    rig_start_at_zeros(r, 1);
    pool_oracle_backward(r);
}

/* ---- losses: rows, classes, smoothing in percent | count ----------------------------------- */
static const op_shape entropy_shapes[] = {
    { 0, 3 },      { 1, 1 },      { 1, 2 },        { 9, 5 },        { 300, 7 },   { 20, 1000 },
    { 2, 20000 },  { 0, 3, 10 },  { 1, 1, 50 },    { 300, 7, 10 },  { 9, 5, 90 }, { 20, 1000, 10 },
    { 40, 1, 10 }, { 40, 2, 10 }, { 30, 257, 10 }, { 7, 6000, 10 }, { 3, 0 }
};
static const op_shape entropy_grads[] = { { 1, 2 }, { 5, 4 }, { 5, 4, 10 }, { 1, 3, 90 } };
static const op_shape entropy_big[] = {
    { 9000, 5 }, { 30, 3000 }, { 30, 3000, 10 }, { 70, 6001, 10 }
};

static void entropy_setup(rig *r)
{
    rig_real(r, "loss", RIG_OUTPUT, 1, 1, 1);
    rig_real(r, "logits", RIG_INPUT, S(0), S(1), 3);
    double *targets = calloc((size_t)S(0) + 1, sizeof *targets);
    for (int64_t i = 0; i < S(0); i++)
        targets[i] = (double)gsa_between(&r->dice, S(0) > 1 ? -1 : 0, S(1) - 1);
    rig_other(r, "targets", RIG_INT32, RIG_CONST, S(0), targets);
    rig_real(r, "nll", RIG_KEPT, S(0), 1, 1);
    free(targets);
}
static gsa_status entropy_forward(rig *r)
{
    void *nll = S(2) == 50 ? NULL : R_AT(3);
    return r->b->cross_entropy_forward(r->b, R_AT(0), nll, R_AT(1), R_AT(2), 0.01 * (double)S(2),
                                       0.25, S(0), S(1));
}
static gsa_status entropy_backward(rig *r)
{
    return r->b->cross_entropy_backward(r->b, R_D(1), R_D(0), R_AT(1), R_AT(2), 0.01 * (double)S(2),
                                        0.25, 1, S(0), S(1));
}
static gsa_status entropy_first(rig *r)
{
    rig_soil(r, 1);
    return r->b->cross_entropy_backward(r->b, R_D(1), R_D(0), R_AT(1), R_AT(2), 0.01 * (double)S(2),
                                        0.25, 0, S(0), S(1));
}
static double log_of_sum(const double *x, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += exp(x[i] - x[0]);
    return x[0] + log(sum);
}
/* What row i is wanted to give class c. */
static double entropy_wanted(const rig *r, int64_t i, int64_t c)
{
    const double smoothing = 0.01 * (double)S(2);
    return smoothing / (double)S(1) + ((double)c == R_X(2)[i] ? 1 - smoothing : 0);
}
static void entropy_oracle(rig *r)
{
    R_Y(0)[0] = 0;
    for (int64_t i = 0; i < S(0); i++) {
        const double *x = R_X(1) + i * S(1), lse = log_of_sum(x, S(1));
        if (S(2) != 50) R_Y(3)[i] = R_X(2)[i] < 0 ? 0 : lse - x[(int64_t)R_X(2)[i]];
        for (int64_t c = 0; c < S(1) && R_X(2)[i] >= 0; c++)
            R_Y(0)[0] += 0.25 * entropy_wanted(r, i, c) * (lse - x[c]);
    }
}
static void entropy_oracle_backward(rig *r)
{
    for (int64_t i = 0; i < S(0); i++) {
        const double *x = R_X(1) + i * S(1), lse = log_of_sum(x, S(1));
        for (int64_t c = 0; c < S(1) && R_X(2)[i] >= 0; c++) R_DX(1)
        [i * S(1) + c] += 0.25 * R_DY(0)[0] * (exp(x[c] - lse) - entropy_wanted(r, i, c));
    }
}
static void entropy_oracle_first(rig *r)
{
    rig_start_at_zeros(r, 1);
    entropy_oracle_backward(r);
}

static const op_shape square_grads[] = { { 1 }, { 9 } };
static void square_setup(rig *r)
{
    rig_real(r, "loss", RIG_OUTPUT, 1, 1, 1);
    rig_real(r, "x", RIG_INPUT, 1, S(0), 1);
    rig_real(r, "target", RIG_CONST, 1, S(0), 1);
}
static gsa_status square_forward(rig *r)
{
    return r->b->square_error_forward(r->b, R_AT(0), R_AT(1), R_AT(2), 0.125, S(0));
}
static gsa_status square_backward(rig *r)
{
    return r->b->square_error_backward(r->b, R_D(1), R_D(0), R_AT(1), R_AT(2), 0.125, S(0));
}
static void square_oracle(rig *r)
{
    R_Y(0)[0] = 0;
    for (int64_t i = 0; i < S(0); i++) R_Y(0)[0] += 0.125 * pow(R_X(1)[i] - R_X(2)[i], 2);
}
static void square_oracle_backward(rig *r)
{
    for (int64_t i = 0; i < S(0); i++) R_DX(1)[i] += 0.25 * R_DY(0)[0] * (R_X(1)[i] - R_X(2)[i]);
}

/* ---- entropy down the columns of segments: segments, longest, columns ---------------------- */
static const op_shape segment_shapes[] = { { 0, 3, 2 },   { 1, 1, 1 },    { 1, 9, 2 },  { 7, 5, 2 },
                                           { 40, 30, 2 }, { 200, 60, 1 }, { 5, 900, 3 } };
static const op_shape segment_grads[] = { { 1, 3, 2 }, { 4, 6, 2 }, { 3, 2, 1 } };
static const op_shape segment_big[] = { { 900, 40, 2 }, { 3, 9000, 2 } };

static void segment_setup(rig *r)
{
    double *offset = calloc((size_t)S(0) + 1, sizeof *offset),
           *targets = calloc((size_t)(S(0) * S(2)) + 1, sizeof *targets);
    for (int64_t s = 0; s < S(0); s++)
        offset[s + 1] = offset[s] + (double)gsa_between(&r->dice, s % 3 == 1 ? 0 : S(1), S(1));
    for (int64_t i = 0; i < S(0) * S(2); i++) {
        const int64_t length = (int64_t)(offset[i / S(2) + 1] - offset[i / S(2)]);
        targets[i] = (double)gsa_between(&r->dice, S(0) > 1 || length == 0 ? -1 : 0, length - 1);
    }
    rig_real(r, "loss", RIG_OUTPUT, 1, 1, 1);
    rig_real(r, "logits", RIG_INPUT, (int64_t)offset[S(0)], S(2), 3);
    rig_other(r, "offset", RIG_INT64, RIG_CONST, S(0) + 1, offset);
    rig_other(r, "targets", RIG_INT32, RIG_CONST, S(0) * S(2), targets);
    free(offset);
    free(targets);
}
static gsa_status segment_forward(rig *r)
{
    return r->b->segment_entropy_forward(r->b, R_AT(0), R_AT(1), R_AT(2), R_AT(3), 0.25, S(0),
                                         (int64_t)R_X(2)[S(0)], S(2));
}
static gsa_status segment_backward(rig *r)
{
    return r->b->segment_entropy_backward(r->b, R_D(1), R_D(0), R_AT(1), R_AT(2), R_AT(3), 0.25,
                                          S(0), (int64_t)R_X(2)[S(0)], S(2));
}
/* Sum over segments and columns of -log softmax of the target; backward: its slope. */
static void segment_walk(rig *r, int backward)
{
    if (!backward) R_Y(0)[0] = 0;
    for (int64_t i = 0; i < S(0) * S(2); i++) {
        const int64_t first = (int64_t)R_X(2)[i / S(2)], last = (int64_t)R_X(2)[i / S(2) + 1],
                      c = i % S(2);
        const double target = R_X(3)[i];
        double sum = 0;
        for (int64_t row = first; row < last; row++) sum += exp(R_X(1)[row * S(2) + c]);
        if (target < 0) continue;
        if (!backward)
            R_Y(0)[0] += 0.25 * (log(sum) - R_X(1)[(first + (int64_t)target) * S(2) + c]);
        for (int64_t row = first; row < last && backward; row++) R_DX(1)
        [row * S(2) + c] += 0.25 * R_DY(0)[0] *
                            (exp(R_X(1)[row * S(2) + c]) / sum - ((double)(row - first) == target));
    }
}
static void segment_oracle(rig *r)
{
    segment_walk(r, 0);
}
static void segment_oracle_backward(rig *r)
{
    segment_walk(r, 1);
}

/* ---- reductions: count, variant ------------------------------------------------------------ */
static void sums_setup(rig *r)
{
    rig_other(r, "sum", RIG_DOUBLE, RIG_KEPT, 1, &(double){ -77 });
    rig_other(r, "squares", RIG_DOUBLE, RIG_STATE, 1, &(double){ 3 });
    rig_other(r, "fresh", RIG_DOUBLE, RIG_KEPT, 1, &(double){ -77 });
    rig_other(r, "bad", RIG_INT64, RIG_KEPT, 1, &(double){ -77 });
    rig_real(r, "x", RIG_CONST, 1, S(0), 1);
    rig_real(r, "broken", RIG_CONST, 1, S(0), 1);
    if (S(0) > 0) rig_set(r, 5, S(0) - 1, NAN);
    if (S(0) > 5) rig_set(r, 5, 3, INFINITY), rig_set(r, 5, 4, -INFINITY);
}
static gsa_status sums_forward(rig *r)
{
    gsa_status status = r->b->sum(r->b, R_AT(0), R_AT(4), S(0));
    if (status == GSA_OK) status = r->b->sum_squares(r->b, R_AT(1), R_AT(4), 1, S(0));
    if (status == GSA_OK) status = r->b->sum_squares(r->b, R_AT(2), R_AT(4), 0, S(0));
    return status == GSA_OK ? r->b->count_bad(r->b, R_AT(3), R_AT(5), S(0)) : status;
}
static void sums_oracle(rig *r)
{
    R_Y(0)[0] = R_Y(2)[0] = 0;
    for (int64_t i = 0; i < S(0); i++) R_Y(0)[0] += R_X(4)[i], R_Y(2)[0] += R_X(4)[i] * R_X(4)[i];
    R_Y(1)[0] = 3 + R_Y(2)[0];
    R_Y(3)[0] = S(0) > 5 ? 3 : S(0) > 0;
}

/* squares in thousandths (negative: NaN), max_norm in tenths, latch, whether the factor was NaN
 * before */
static const op_shape clip_shapes[] = { { 0, 0 },          { 0, 10 },          { 4000, 10 },
                                        { 250, 10 },       { 4000, 0 },        { -1, 10 },
                                        { 1000, 10 },      { 4000, 10, 1 },    { 4000, 10, 1, 1 },
                                        { 250, 10, 0, 1 }, { 4000, 10, 0, 1 }, { -1, 10, 1 },
                                        { -1, 0, 1, 1 },   { 4000, 0, 1 },     { 4000, 0, 1, 1 } };
static void clip_setup(rig *r)
{
    rig_other(r, "control", RIG_DOUBLE, RIG_KEPT, 2, (double[]){ -7, S(3) ? NAN : -7 });
    rig_other(r, "squares", RIG_DOUBLE, RIG_CONST, 1,
              &(double){ S(0) < 0 ? NAN : (double)S(0) / 1000 });
}
static gsa_status clip_forward(rig *r)
{
    return r->b->clip(r->b, R_AT(0), R_AT(1), (double)S(1) / 10, S(2) != 0);
}
static void clip_oracle(rig *r)
{
    const double norm = sqrt(R_X(1)[0]), most = (double)S(1) / 10;
    R_Y(0)[0] = norm;
    R_Y(0)[1] = isnan(norm) || (S(2) && S(3)) ? NAN : most == 0 || norm <= most ? 1 : most / norm;
}

/* ---- optimisers: count, 1 decay | 2 l2 | 4 control not finite | 8 no momentum, place of beta2; v
 * starts at 0 for one near 1, so that an error of 1 - beta2 shows in full ---- */
static const double second_decays[] = { 0.98, 0.9999, 0.99999 };
static const op_shape optim_shapes[] = { { 0 },         { 1 },         { 100 },      { 100, 1 },
                                         { 100, 2 },    { 100, 4 },    { 100, 8 },   { 20000, 3 },
                                         { 20000, 10 }, { 100, 0, 1 }, { 100, 0, 2 } };
static const op_shape optim_big[] = { { 70001, 3 } };

static void optim_setup(rig *r)
{
    rig_real(r, "w", RIG_STATE, 1, S(0), 1);
    rig_real(r, "m", RIG_STATE, 1, S(0), 1);
    rig_real(r, "v", RIG_STATE, 1, S(0), 1);
    rig_real(r, "g", RIG_CONST, 1, S(0), 1);
    rig_other(r, "control", RIG_DOUBLE, RIG_CONST, 2, (double[]){ 4, (S(1) & 4) ? NAN : 0.25 });
    for (int64_t i = 0; i < S(0); i++) R_X(2)[i] = S(2) ? 0 : fabs(R_X(2)[i]) + 0.01;
    if (S(0) > 0) rig_set(r, 2, 0, R_X(2)[0]);
}
static gsa_adam adam_of(rig *r)
{
    return (gsa_adam){ .lr = 0.01,
                       .beta1 = 0.9,
                       .beta2 = second_decays[S(2)],
                       .eps = 1e-6,
                       .correct1 = 1 - 0.9,
                       .correct2 = 1 - second_decays[S(2)],
                       .decay = (S(1) & 1) ? 0.3 : 0,
                       .l2 = (S(1) & 2) ? 0.2 : 0 };
}
static gsa_status adam_forward(rig *r)
{
    const gsa_adam adam = adam_of(r);
    return r->b->adam(r->b, R_AT(0), R_AT(1), R_AT(2), R_AT(3), R_AT(4), &adam, S(0));
}
static void adam_oracle(rig *r)
{
    const gsa_adam a = adam_of(r);
    for (int64_t i = 0; i < S(0) && !(S(1) & 4); i++) {
        const double w = R_X(0)[i], g = 0.25 * R_X(3)[i] + a.l2 * w;
        const double m = R_Y(1)[i] = a.beta1 * R_X(1)[i] + (1 - a.beta1) * g;
        const double v = R_Y(2)[i] = a.beta2 * R_X(2)[i] + (1 - a.beta2) * g * g;
        R_Y(0)
        [i] = w - a.lr * a.decay * w - a.lr * (m / a.correct1) / (sqrt(v / a.correct2) + a.eps);
    }
}
static gsa_status sgd_forward(rig *r)
{
    return r->b->sgd(r->b, R_AT(0), (S(1) & 8) ? NULL : R_AT(1), R_AT(3), R_AT(4), 0.05, 0.9,
                     (S(1) & 2) ? 0.2 : 0, S(0));
}
static void sgd_oracle(rig *r)
{
    for (int64_t i = 0; i < S(0) && !(S(1) & 4); i++) {
        double g = 0.25 * R_X(3)[i] + ((S(1) & 2) ? 0.2 * R_X(0)[i] : 0);
        if (!(S(1) & 8)) g = R_Y(1)[i] = 0.9 * R_X(1)[i] + g;
        R_Y(0)[i] = R_X(0)[i] - 0.05 * g;
    }
}

#define NO_GRAD gemm_grads, 0
const op_case op_cases[] = {
    { "gemm", "gemm gemm_part", OP_SHAPES(gemm_shapes), NO_GRAD, OP_SHAPES(gemm_big), gemm_setup,
      gemm_forward, NULL, gemm_oracle, NULL },
    { "bias", "bias_forward bias_backward", OP_SHAPES(matrix_shapes), OP_SHAPES(matrix_grads),
      OP_SHAPES(matrix_big), bias_setup, bias_forward, bias_backward, bias_oracle,
      bias_oracle_backward },
    { "add", "add", OP_SHAPES(count_shapes), NO_GRAD, OP_SHAPES(count_big), add_setup, add_forward,
      NULL, add_oracle, NULL },
    { "add in place", "add", OP_SHAPES(count_shapes), NO_GRAD, OP_SHAPES(count_big),
      add_in_place_setup, add_in_place_forward, NULL, add_in_place_oracle, NULL },
    { "accumulate", "accumulate", OP_SHAPES(count_shapes), NO_GRAD, OP_SHAPES(count_big),
      add_in_place_setup, accumulate_forward, NULL, accumulate_oracle, NULL },
    { "multiply", "multiply", OP_SHAPES(count_shapes), NO_GRAD, OP_SHAPES(count_big), add_setup,
      multiply_forward, NULL, multiply_oracle, NULL },
    { "multiply and add", "multiply", OP_SHAPES(count_shapes), NO_GRAD, OP_SHAPES(count_big),
      add_in_place_setup, multiply_more_forward, NULL, multiply_more_oracle, NULL },
    { "copy", "copy", OP_SHAPES(count_shapes), NO_GRAD, OP_SHAPES(count_big), add_setup,
      copy_forward, NULL, copy_oracle, NULL },
    { "zero_fill", "zero_fill", OP_SHAPES(count_shapes), NO_GRAD, OP_SHAPES(count_big),
      add_in_place_setup, zero_forward, NULL, zero_oracle, NULL },
    { "activate", "activate_forward activate_backward", OP_SHAPES(activate_shapes),
      OP_SHAPES(activate_grads), OP_SHAPES(activate_big), activate_setup, activate_forward,
      activate_backward, activate_oracle, activate_oracle_backward },
    { "norm", "norm_forward norm_backward", OP_SHAPES(norm_shapes), OP_SHAPES(norm_grads),
      OP_SHAPES(matrix_big), norm_setup, norm_forward, norm_backward, norm_oracle,
      norm_oracle_backward },
    { "activate, first", "activate_backward", OP_SHAPES(activate_shapes), NO_GRAD,
      OP_SHAPES(activate_big), activate_setup, activate_forward, activate_first, activate_oracle,
      activate_oracle_first },
    { "norm, first", "norm_backward", OP_SHAPES(norm_first_shapes), NO_GRAD, OP_SHAPES(matrix_big),
      norm_setup, norm_forward, norm_first, norm_oracle, norm_oracle_first },
    { "pool, first", "pool_backward", OP_SHAPES(pool_shapes), NO_GRAD, OP_SHAPES(pool_big),
      pool_setup, pool_forward, pool_first, pool_oracle, pool_oracle_first },
    { "cross_entropy, first", "cross_entropy_backward", OP_SHAPES(entropy_shapes), NO_GRAD,
      OP_SHAPES(entropy_big), entropy_setup, entropy_forward, entropy_first, entropy_oracle,
      entropy_oracle_first },
    { "gather", "gather_forward gather_backward", OP_SHAPES(gather_shapes), OP_SHAPES(gather_grads),
      OP_SHAPES(gather_big), gather_setup, gather_forward, gather_backward, gather_oracle,
      gather_oracle_backward },
    { "select", "select_forward select_backward", OP_SHAPES(matrix_shapes), OP_SHAPES(matrix_grads),
      OP_SHAPES(matrix_big), select_setup, select_forward, select_backward, select_oracle,
      select_oracle_backward },
    { "pool", "pool_forward pool_backward", OP_SHAPES(pool_shapes), OP_SHAPES(pool_grads),
      OP_SHAPES(pool_big), pool_setup, pool_forward, pool_backward, pool_oracle,
      pool_oracle_backward },
    { "cross_entropy", "cross_entropy_forward cross_entropy_backward", OP_SHAPES(entropy_shapes),
      OP_SHAPES(entropy_grads), OP_SHAPES(entropy_big), entropy_setup, entropy_forward,
      entropy_backward, entropy_oracle, entropy_oracle_backward },
    { "segment_entropy", "segment_entropy_forward segment_entropy_backward",
      OP_SHAPES(segment_shapes), OP_SHAPES(segment_grads), OP_SHAPES(segment_big), segment_setup,
      segment_forward, segment_backward, segment_oracle, segment_oracle_backward },
    { "square_error", "square_error_forward square_error_backward", OP_SHAPES(count_shapes),
      OP_SHAPES(square_grads), OP_SHAPES(count_big), square_setup, square_forward, square_backward,
      square_oracle, square_oracle_backward },
    { "sums", "sum sum_squares count_bad", OP_SHAPES(count_shapes), NO_GRAD, OP_SHAPES(count_big),
      sums_setup, sums_forward, NULL, sums_oracle, NULL },
    { "clip", "clip", OP_SHAPES(clip_shapes), NO_GRAD, OP_SHAPES(clip_shapes), clip_setup,
      clip_forward, NULL, clip_oracle, NULL },
    { "adam", "adam", OP_SHAPES(optim_shapes), NO_GRAD, OP_SHAPES(optim_big), optim_setup,
      adam_forward, NULL, adam_oracle, NULL },
    { "sgd", "sgd", OP_SHAPES(optim_shapes), NO_GRAD, OP_SHAPES(optim_big), optim_setup,
      sgd_forward, NULL, sgd_oracle, NULL },
};
const int op_case_count = (int)(sizeof op_cases / sizeof *op_cases);

const op_case *op_case_at(int i)
{
    if (i < op_case_count) return &op_cases[i];
    return i - op_case_count < graph_case_count ? &graph_cases[i - op_case_count] : NULL;
}
