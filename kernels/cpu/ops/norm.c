/* norm.c - layer norm: two sweeps over a row forward (mean; squares) and one that writes, two
 * backward (sums; every gradient at once). Sums are of float over BLOCK columns, lane by lane, and
 * of double from there on. */
#include <math.h>
#include "kernels/cpu/table.h"
#include "kernels/cpu/isa/wide.h"
#include "kernels/ref/ref.h"

enum { BLOCK = 8 * LANES };

typedef struct norm_job {
    float *y, *mean, *rstd; /* forward */
    float *dx, *sums;       /* backward; sums: partials of dgain [cols] and dbias [cols], or NULL */
    const float *x, *dy, *gain, *bias, *kept_mean, *kept_rstd;
    double eps;
    int accumulate; /* dx */
    int64_t rows, cols, chunk;
} norm_job;

CPU_INLINE void gap_piece(const float *x, vec from, int square, vec *part, int64_t i, lanes m,
                          int whole)
{
    const vec all = vec_sub(vec_take(x + i, m, whole), from),
              gap = whole ? all : vec_keep(m, all, vec_zero());
    *part = vec_add(*part, square ? vec_mul(gap, gap) : gap);
}

/* sum_i (x_i - shift)^power */
CPU_INLINE double shifted_sum(const float *x, float shift, int square, int64_t count)
{
    const vec from = vec_all(shift);
    wide sum = wide_zero();
    for (int64_t i = 0; i < count; i += BLOCK) {
        const int64_t end = ref_smaller(i + BLOCK, count);
        vec part = vec_zero();
        VEC_ALONG(i, end, gap_piece, x, from, square, &part)
        sum = wide_add(sum, part);
    }
    return wide_sum(sum);
}

CPU_INLINE void scale_piece(const norm_job *job, float *y, const float *x, float shift, float scale,
                            int64_t i, lanes m, int whole)
{
    const vec gap = vec_sub(vec_take(x + i, m, whole), vec_all(shift)),
              gain = vec_take(job->gain + i, m, whole);
    vec_put(y + i, m, whole,
            vec_fma(vec_mul(gap, vec_all(scale)), gain, vec_take(job->bias + i, m, whole)));
}

static void norm_row(const norm_job *job, int64_t row)
{
    const int64_t cols = job->cols;
    const float *x = job->x + row * cols;
    float *y = job->y + row * cols;
    const float shift = (float)(shifted_sum(x, 0, 0, cols) / (double)cols);
    const float scale = (float)(1 / sqrt(shifted_sum(x, shift, 1, cols) / (double)cols + job->eps));
    job->mean[row] = shift;
    job->rstd[row] = scale;
    VEC_ALONG(0, cols, scale_piece, job, y, x, shift, scale)
}

static void norm_chunk(void *context, int64_t item)
{
    const norm_job *job = context;
    const int64_t last = ref_smaller((item + 1) * job->chunk, job->rows);
    for (int64_t row = item * job->chunk; row < last; row++) norm_row(job, row);
}

static gsa_status check_norm(gsa_backend *b, const char *op, int64_t rows, int64_t cols)
{
    if (cols == 0)
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT, "%s: a row of 0 columns has no mean", op);
    return gsa_ref_shape(b, op, rows, cols);
}

gsa_status cpu_norm_forward(gsa_backend *b, void *y, void *mean, void *rstd, const void *x,
                            const void *gain, const void *bias, double eps, int64_t rows,
                            int64_t cols)
{
    const gsa_status status = check_norm(b, "norm_forward", rows, cols);
    if (status != GSA_OK) return status;
    norm_job job = { .y = y,
                     .mean = mean,
                     .rstd = rstd,
                     .x = x,
                     .gain = gain,
                     .bias = bias,
                     .eps = eps,
                     .rows = rows,
                     .cols = cols };
    job.chunk = ref_row_chunk(cols);
    gsa_team_run(b->team, ref_items(rows, job.chunk), norm_chunk, &job);
    return GSA_OK;
}

/* With xhat = (x - mean) rstd and g = dy gain:
 *     dx += rstd (g - mean(g) - xhat mean(g xhat)), dgain += dy xhat, dbias += dy. */
typedef struct back_row {
    const float *x, *dy, *gain;
    float *dx, *dgain, *dbias;
    vec shift, scale, mean_g, mean_gx;
} back_row;

CPU_INLINE void sum_piece(const back_row *r, vec *g, vec *gx, int64_t i, lanes m, int whole)
{
    const vec slope = vec_mul(vec_take(r->dy + i, m, whole), vec_take(r->gain + i, m, whole));
    *g = vec_add(*g, slope);
    *gx = vec_fma(slope, vec_sub(vec_take(r->x + i, m, whole), r->shift), *gx);
}

/* The means of g and of g xhat. */
static void find_means(back_row *r, int64_t cols, float scale)
{
    wide sum_g = wide_zero(), sum_gx = wide_zero();
    for (int64_t i = 0; i < cols; i += BLOCK) {
        const int64_t end = ref_smaller(i + BLOCK, cols);
        vec g = vec_zero(), gx = vec_zero();
        VEC_ALONG(i, end, sum_piece, r, &g, &gx)
        sum_g = wide_add(sum_g, g);
        sum_gx = wide_add(sum_gx, gx);
    }
    r->mean_g = vec_all((float)(wide_sum(sum_g) / (double)cols));
    r->mean_gx = vec_all((float)(wide_sum(sum_gx) * (double)scale / (double)cols));
}

enum norm_dx { DX_NONE, DX_SET, DX_ADD };

CPU_INLINE void back_piece(const back_row *r, int dx, int sums, int64_t i, lanes m, int whole)
{
    const vec dy = vec_take(r->dy + i, m, whole),
              hat = vec_mul(vec_sub(vec_take(r->x + i, m, whole), r->shift), r->scale);
    if (dx) {
        const vec g = vec_sub(vec_mul(dy, vec_take(r->gain + i, m, whole)), r->mean_g);
        const vec old = dx == DX_ADD ? vec_take(r->dx + i, m, whole) : vec_zero();
        vec_put(r->dx + i, m, whole, vec_fma(r->scale, vec_sub(g, vec_mul(hat, r->mean_gx)), old));
    }
    if (sums) {
        vec_put(r->dgain + i, m, whole, vec_fma(dy, hat, vec_take(r->dgain + i, m, whole)));
        vec_put(r->dbias + i, m, whole, vec_add(dy, vec_take(r->dbias + i, m, whole)));
    }
}

static void back_chunk(void *context, int64_t item)
{
    const norm_job *job = context;
    const int64_t cols = job->cols, last = ref_smaller((item + 1) * job->chunk, job->rows);
    float *sums = job->sums ? job->sums + item * 2 * cols : NULL;
    if (sums) memset(sums, 0, sizeof(float) * 2 * (size_t)cols);
    for (int64_t row = item * job->chunk; row < last; row++) {
        back_row r = {
            .x = job->x + row * cols, .dy = job->dy + row * cols, .gain = job->gain, .dgain = sums
        };
        r.shift = vec_all(job->kept_mean[row]);
        r.scale = vec_all(job->kept_rstd[row]);
        r.dbias = sums ? sums + cols : NULL;
        if (job->dx) {
            r.dx = job->dx + row * cols;
            find_means(&r, cols, job->kept_rstd[row]);
        }
        const int how = job->accumulate ? DX_ADD : DX_SET;
        if (job->dx && sums && job->accumulate) VEC_ALONG(0, cols, back_piece, &r, DX_ADD, 1)
        else if (job->dx && sums) VEC_ALONG(0, cols, back_piece, &r, DX_SET, 1)
        else if (job->dx) VEC_ALONG(0, cols, back_piece, &r, how, 0)
        else VEC_ALONG(0, cols, back_piece, &r, DX_NONE, 1)
    }
}

gsa_status cpu_norm_backward(gsa_backend *b, void *dx, void *dgain, void *dbias, const void *dy,
                             const void *x, const void *gain, const void *mean, const void *rstd,
                             int accumulate, int64_t rows, int64_t cols)
{
    const gsa_status status = check_norm(b, "norm_backward", rows, cols);
    if (status != GSA_OK || (!dx && !dgain && !dbias)) return status;
    norm_job job = { .dx = dx,
                     .x = x,
                     .dy = dy,
                     .gain = gain,
                     .kept_mean = mean,
                     .kept_rstd = rstd,
                     .rows = rows,
                     .cols = cols };
    job.accumulate = accumulate;
    job.chunk = ref_partial_chunk(rows, ref_row_chunk(cols));
    const int64_t items = ref_items(rows, job.chunk);
    if (dgain || dbias) {
        job.sums = gsa_ref_scratch(b, "norm_backward", items * cols, 2 * sizeof(float));
        if (job.sums == NULL) return b->error.status;
    }
    gsa_team_run(b->team, items, back_chunk, &job);
    if (dgain) ref_add_partials(dgain, job.sums, items, 2 * cols, cols);
    if (dbias) ref_add_partials(dbias, job.sums + cols, items, 2 * cols, cols);
    return GSA_OK;
}
