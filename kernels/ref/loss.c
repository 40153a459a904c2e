/* loss.c - softmax cross-entropy and squared error; sums over rows in double over fixed chunks. */
#include "kernels/ref/loss.h"

typedef struct loss_job {
    const real *x, *target;
    const int32_t *targets;
    real *dx, slope; /* backward: slope = dloss scale */
    real *nll;       /* [rows] or NULL */
    int accumulate;  /* dx of entropy */
    double *partial, smoothing;
    int64_t rows, cols, chunk;
} loss_job;

/* The maximum of a row, NaN if there is one. */
static real top_of(const real *x, int64_t count)
{
    real top = x[0];
    for (int64_t i = 1; i < count; i++) top = x[i] > top || isnan(x[i]) ? x[i] : top;
    return top;
}

/* log sum_c exp x_c. All -inf gives -inf. */
static double log_sum_exp(const real *x, int64_t count)
{
    const real top = top_of(x, count);
    double sum = 0;
    if (isinf(top) && top < 0) return -INFINITY;
    for (int64_t i = 0; i < count; i++) sum += (double)exp(x[i] - top);
    return (double)top + log(sum);
}

/* What label smoothing adds to a row: smoothing (x_target - mean x). */
static double smoothed(const loss_job *job, const real *x, int32_t target)
{
    double sum = 0;
    if (job->smoothing == 0) return 0;
    for (int64_t c = 0; c < job->cols; c++) sum += (double)x[c];
    return job->smoothing * ((double)x[target] - sum / (double)job->cols);
}

static void entropy_chunk(void *context, int64_t item)
{
    const loss_job *job = context;
    const int64_t last = ref_smaller((item + 1) * job->chunk, job->rows);
    double sum = 0;
    for (int64_t row = item * job->chunk; row < last; row++) {
        const real *logits = job->x + row * job->cols;
        const int32_t target = job->targets[row];
        const double nll = target < 0 ? 0 : log_sum_exp(logits, job->cols) - (double)logits[target];
        if (job->nll) job->nll[row] = (real)nll;
        if (target >= 0) sum += nll + smoothed(job, logits, target);
    }
    job->partial[item] = sum;
}

static gsa_status run_sum(gsa_backend *b, const char *op, loss_job *job,
                          void (*body)(void *, int64_t), double scale, real *loss)
{
    const int64_t items = ref_items(job->rows, job->chunk);
    job->partial = gsa_ref_scratch(b, op, items, sizeof(double));
    if (job->partial == NULL) return b->error.status;
    gsa_team_run(b->team, items, body, job);
    double sum = 0;
    for (int64_t i = 0; i < items; i++) sum += job->partial[i];
    *loss = (real)(scale * sum);
    return GSA_OK;
}

static gsa_status cross_entropy_forward(gsa_backend *b, void *loss, void *nll, const void *logits,
                                        const int32_t *targets, double smoothing, double scale,
                                        int64_t rows, int64_t classes)
{
    const gsa_status status =
        ref_check_entropy(b, "cross_entropy_forward", targets, smoothing, rows, classes);
    if (status != GSA_OK) return status;
    loss_job job = { .x = logits,
                     .targets = targets,
                     .nll = nll,
                     .smoothing = smoothing,
                     .rows = rows,
                     .cols = classes,
                     .chunk = ref_row_chunk(classes * 4) };
    return run_sum(b, "cross_entropy_forward", &job, entropy_chunk, scale, loss);
}

/* dlogit_c += (or =) dloss scale (softmax_c - smoothing / classes - (1 - smoothing) [c =
 * target]) */
static void entropy_back_chunk(void *context, int64_t item)
{
    const loss_job *job = context;
    const int64_t last = ref_smaller((item + 1) * job->chunk, job->rows);
    const real each = (real)(job->slope * job->smoothing / (double)job->cols);
    for (int64_t row = item * job->chunk; row < last; row++) {
        const real *logits = job->x + row * job->cols;
        real *dx = job->dx + row * job->cols;
        if (!job->accumulate) memset(dx, 0, sizeof *dx * (size_t)job->cols);
        if (job->targets[row] < 0) continue;
        const double lse = log_sum_exp(
            logits, job->cols); /* rounded to real it would lose what large logits leave of it */
        for (int64_t c = 0; c < job->cols; c++)
            dx[c] += job->slope * exp((real)((double)logits[c] - lse)) - each;
        dx[job->targets[row]] -= (real)(job->slope * (1 - job->smoothing));
    }
}

static gsa_status cross_entropy_backward(gsa_backend *b, void *dlogits, const void *dloss,
                                         const void *logits, const int32_t *targets,
                                         double smoothing, double scale, int accumulate,
                                         int64_t rows, int64_t classes)
{
    const gsa_status status =
        ref_check_entropy(b, "cross_entropy_backward", targets, smoothing, rows, classes);
    if (status != GSA_OK || dlogits == NULL) return status;
    loss_job job = { .x = logits,
                     .targets = targets,
                     .dx = dlogits,
                     .smoothing = smoothing,
                     .rows = rows,
                     .cols = classes };
    job.accumulate = accumulate;
    job.slope = (real)(scale * (double)*(const real *)dloss);
    job.chunk = ref_row_chunk(classes * 4);
    gsa_team_run(b->team, ref_items(rows, job.chunk), entropy_back_chunk, &job);
    return GSA_OK;
}

static void square_chunk(void *context, int64_t item)
{
    const loss_job *job = context;
    const int64_t last = ref_smaller((item + 1) * job->chunk, job->rows);
    double sum = 0;
    for (int64_t i = item * job->chunk; i < last; i++) {
        const double gap = (double)job->x[i] - (double)job->target[i];
        sum += gap * gap;
    }
    job->partial[item] = sum;
}

static gsa_status square_error_forward(gsa_backend *b, void *loss, const void *x,
                                       const void *target, double scale, int64_t count)
{
    const gsa_status status = gsa_ref_shape(b, "square_error_forward", count, 1);
    if (status != GSA_OK) return status;
    loss_job job = { .x = x, .target = target, .rows = count, .chunk = REF_CHUNK };
    return run_sum(b, "square_error_forward", &job, square_chunk, scale, loss);
}

static void square_back_chunk(void *context, int64_t item)
{
    const loss_job *job = context;
    const int64_t last = ref_smaller((item + 1) * job->chunk, job->rows);
    for (int64_t i = item * job->chunk; i < last; i++)
        job->dx[i] += 2 * job->slope * (job->x[i] - job->target[i]);
}

static gsa_status square_error_backward(gsa_backend *b, void *dx, const void *dloss, const void *x,
                                        const void *target, double scale, int64_t count)
{
    const gsa_status status = gsa_ref_shape(b, "square_error_backward", count, 1);
    if (status != GSA_OK || dx == NULL) return status;
    loss_job job = { .x = x, .target = target, .dx = dx, .rows = count, .chunk = REF_CHUNK };
    job.slope = (real)(scale * (double)*(const real *)dloss);
    gsa_team_run(b->team, ref_items(count, job.chunk), square_back_chunk, &job);
    return GSA_OK;
}

void GSA_REF(fill_loss)(gsa_backend *b)
{
    b->cross_entropy_forward = cross_entropy_forward;
    b->cross_entropy_backward = cross_entropy_backward;
    b->square_error_forward = square_error_forward;
    b->square_error_backward = square_error_backward;
}
