/* entropy.c - softmax cross entropy: a sweep for the row's maximum, one for the sum of exponentials
 * (and of logits), and in backward one more, p_c = exp(x_c - top) / sum. A maximum passes by a NaN;
 * the sum does not. Exponentials are added as float over BLOCK logits, lane by lane, and as double
 * from there on. */
#include <math.h>
#include "kernels/cpu/table.h"
#include "kernels/cpu/isa/wide.h"
#include "kernels/ref/loss.h"

enum { BLOCK = 32 * LANES };

typedef struct entropy_job {
    const float *x;
    const int32_t *targets;
    float *dx, slope; /* backward: slope = dloss scale */
    float *nll;       /* [rows] or NULL */
    int accumulate;
    double *partial, smoothing;
    int64_t rows, cols, chunk;
} entropy_job;

/* Logits of many classes come from memory: the row that is wanted next is prefetched while
 * exponentials are computed. Where there is none that prefetches nothing. */
static inline void fetch(const float *row, int64_t at)
{
    __builtin_prefetch((const void *)((uintptr_t)row + (uintptr_t)at * sizeof(float)));
}

CPU_INLINE void top_piece(const float *x, vec *most, int64_t i, lanes m, int whole)
{
    *most = vec_max(vec_keep(m, vec_take(x + i, m, whole), vec_all(-INFINITY)), *most);
}

static float top_of(const float *x, int64_t count)
{
    float each[LANES], top = -INFINITY;
    vec most[4];
    int64_t i = 0;
    for (int j = 0; j < 4; j++) most[j] = vec_all(-INFINITY);
    for (; i + 4 * LANES <= count; i += 4 * LANES)
        for (int j = 0; j < 4; j++) most[j] = vec_max(vec_load(x + i + j * LANES), most[j]);
    VEC_ALONG(i, count, top_piece, x, most)
    vec_store(each, vec_max(vec_max(most[0], most[1]), vec_max(most[2], most[3])));
    for (int j = 0; j < LANES; j++) top = each[j] > top ? each[j] : top;
    return top;
}

CPU_INLINE void sum_piece(const float *x, vec top, vec *exps, vec *plain, const float *next,
                          int64_t i, lanes m, int whole)
{
    const vec at = vec_take(x + i, m, whole), e = vec_exp(vec_sub(at, top));
    fetch(next, i);
    *exps = vec_add(*exps, whole ? e : vec_keep(m, e, vec_zero()));
    *plain = vec_add(*plain, at);
}

/* sum_c exp(x_c - top); *total = sum_c x_c where it is wanted. `next`: a row that is read
 * afterwards. */
static double sum_exp(const float *x, int64_t count, float top, double *total, const float *next)
{
    wide exps = wide_zero(), plain = wide_zero();
    for (int64_t from = 0; from < count; from += BLOCK) {
        const int64_t end = ref_smaller(from + BLOCK, count);
        vec e = vec_zero(), t = vec_zero();
        VEC_ALONG(from, end, sum_piece, x, vec_all(top), &e, &t, next)
        exps = wide_add(exps, e);
        plain = wide_add(plain, t);
    }
    if (total) *total = wide_sum(plain);
    return wide_sum(exps);
}

/* nll of a row; *extra is what label smoothing adds to it: smoothing (x_target - mean x). */
static double row_loss(const entropy_job *job, const float *x, int32_t target, double *extra)
{
    const float top = top_of(x, job->cols);
    double total;
    const double sum = sum_exp(x, job->cols, top, &total, x + job->cols);
    *extra =
        job->smoothing == 0 ? 0 : job->smoothing * ((double)x[target] - total / (double)job->cols);
    return (double)top + log(sum) - (double)x[target];
}

static void forward_chunk(void *context, int64_t item)
{
    const entropy_job *job = context;
    const int64_t last = ref_smaller((item + 1) * job->chunk, job->rows);
    double sum = 0, nll, extra;
    for (int64_t row = item * job->chunk; row < last; row++) {
        nll = extra = 0;
        if (job->targets[row] >= 0)
            nll = row_loss(job, job->x + row * job->cols, job->targets[row], &extra);
        if (job->nll) job->nll[row] = (float)nll;
        sum += nll + extra;
    }
    job->partial[item] = sum;
}

gsa_status cpu_cross_entropy_forward(gsa_backend *b, void *loss, void *nll, const void *logits,
                                     const int32_t *targets, double smoothing, double scale,
                                     int64_t rows, int64_t classes)
{
    const gsa_status status =
        ref_check_entropy(b, "cross_entropy_forward", targets, smoothing, rows, classes);
    if (status != GSA_OK) return status;
    entropy_job job = { .x = logits,
                        .targets = targets,
                        .nll = nll,
                        .smoothing = smoothing,
                        .rows = rows,
                        .cols = classes };
    job.chunk = ref_row_chunk(classes);
    const int64_t items = ref_items(rows, job.chunk);
    job.partial = gsa_ref_scratch(b, "cross_entropy_forward", items, sizeof(double));
    if (job.partial == NULL) return b->error.status;
    gsa_team_run(b->team, items, forward_chunk, &job);
    double sum = 0;
    for (int64_t i = 0; i < items; i++) sum += job.partial[i];
    *(float *)loss = (float)(scale * sum);
    return GSA_OK;
}

CPU_INLINE void slope_piece(int add, float *dx, const float *x, const float *next, vec peak,
                            vec share, vec each, int64_t i, lanes m, int whole)
{
    fetch(next, i);
    const vec more = vec_fma(vec_exp(vec_sub(vec_take(x + i, m, whole), peak)), share, each);
    vec_put(dx + i, m, whole, add ? vec_add(vec_take(dx + i, m, whole), more) : more);
}

/* dlogit_c += (or =) dloss scale (softmax_c - smoothing / classes - (1 - smoothing) [c =
 * target]) */
CPU_INLINE void row_slope(const entropy_job *job, int add, float *dx, const float *x,
                          int32_t target)
{
    const int64_t cols = job->cols;
    const float top = top_of(x, cols);
    const vec peak = vec_all(top),
              share = vec_all((float)((double)job->slope / sum_exp(x, cols, top, NULL, dx)));
    const vec each = vec_all((float)(-(double)job->slope * job->smoothing / (double)cols));
    VEC_ALONG(0, cols, slope_piece, add, dx, x, x + cols, peak, share, each)
    dx[target] -= (float)((double)job->slope * (1 - job->smoothing));
}

static void backward_chunk(void *context, int64_t item)
{
    const entropy_job *job = context;
    const int64_t last = ref_smaller((item + 1) * job->chunk, job->rows);
    for (int64_t row = item * job->chunk; row < last; row++) {
        const int32_t target = job->targets[row];
        const float *x = job->x + row * job->cols;
        float *dx = job->dx + row * job->cols;
        if (target >= 0 && job->accumulate) row_slope(job, 1, dx, x, target);
        else if (target >= 0) row_slope(job, 0, dx, x, target);
        else if (!job->accumulate) memset(dx, 0, sizeof *dx * (size_t)job->cols);
    }
}

gsa_status cpu_cross_entropy_backward(gsa_backend *b, void *dlogits, const void *dloss,
                                      const void *logits, const int32_t *targets, double smoothing,
                                      double scale, int accumulate, int64_t rows, int64_t classes)
{
    const gsa_status status =
        ref_check_entropy(b, "cross_entropy_backward", targets, smoothing, rows, classes);
    if (status != GSA_OK || dlogits == NULL) return status;
    entropy_job job = { .x = logits,
                        .targets = targets,
                        .dx = dlogits,
                        .smoothing = smoothing,
                        .rows = rows,
                        .cols = classes };
    job.accumulate = accumulate;
    job.slope = (float)(scale * (double)*(const float *)dloss);
    job.chunk = ref_row_chunk(classes);
    gsa_team_run(b->team, ref_items(rows, job.chunk), backward_chunk, &job);
    return GSA_OK;
}
