/* segments.c - softmax cross-entropy down the columns of segments of rows; sums over segments in
 * double over fixed chunks. */
#include "kernels/ref/ref.h"

typedef struct segment_job {
    const real *x;
    const int64_t *offset;
    const int32_t *targets;
    real *dx, slope; /* backward: slope = dloss scale */
    double *partial;
    int64_t segments, cols, chunk;
} segment_job;

/* log sum exp of the rows of a segment in one column. All -inf gives -inf, NaN gives NaN. */
static double column_lse(const segment_job *job, int64_t segment, int64_t c)
{
    const int64_t first = job->offset[segment], last = job->offset[segment + 1];
    real top = job->x[first * job->cols + c];
    double sum = 0;
    for (int64_t row = first + 1; row < last; row++) {
        const real x = job->x[row * job->cols + c];
        top = x > top || isnan(x) ? x : top;
    }
    if (isinf(top) && top < 0) return -INFINITY;
    for (int64_t row = first; row < last; row++)
        sum += (double)exp(job->x[row * job->cols + c] - top);
    return (double)top + log(sum);
}

static void forward_chunk(void *context, int64_t item)
{
    const segment_job *job = context;
    const int64_t last = ref_smaller((item + 1) * job->chunk, job->segments);
    double sum = 0;
    for (int64_t s = item * job->chunk; s < last; s++)
        for (int64_t c = 0; c < job->cols; c++) {
            const int32_t target = job->targets[s * job->cols + c];
            if (target >= 0)
                sum += column_lse(job, s, c) -
                       (double)job->x[(job->offset[s] + target) * job->cols + c];
        }
    job->partial[item] = sum;
}

/* dlogit_{i,c} += dloss scale (softmax_{i,c} - [i = target_c]) */
static void backward_chunk(void *context, int64_t item)
{
    const segment_job *job = context;
    const int64_t last = ref_smaller((item + 1) * job->chunk, job->segments);
    for (int64_t s = item * job->chunk; s < last; s++)
        for (int64_t c = 0; c < job->cols; c++) {
            const int32_t target = job->targets[s * job->cols + c];
            if (target < 0) continue;
            const double lse = column_lse(job, s, c);
            for (int64_t row = job->offset[s]; row < job->offset[s + 1]; row++) {
                const int64_t at = row * job->cols + c;
                job->dx[at] += job->slope * exp((real)((double)job->x[at] - lse));
            }
            job->dx[(job->offset[s] + target) * job->cols + c] -= job->slope;
        }
}

/* Offsets ascend from 0 to `rows`; a target is a row of its segment, or -1. */
static gsa_status check(gsa_backend *b, const char *op, const segment_job *job, int64_t rows)
{
    gsa_status status = gsa_ref_shape(b, op, job->segments, job->cols);
    if (status == GSA_OK) status = gsa_ref_shape(b, op, rows, job->cols);
    if (status != GSA_OK || job->segments == 0) return status;
    if (job->offset[0] != 0 || job->offset[job->segments] != rows)
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT,
                        "%s: the offsets go from %lld to %lld, expected 0 to %lld rows", op,
                        (long long)job->offset[0], (long long)job->offset[job->segments],
                        (long long)rows);
    for (int64_t s = 0; s < job->segments; s++) {
        const int64_t length = job->offset[s + 1] - job->offset[s];
        if (length < 0)
            return gsa_fail(&b->error, GSA_ERR_ARGUMENT, "%s: segment %lld ends before it begins",
                            op, (long long)s);
        for (int64_t c = 0; c < job->cols; c++) {
            const int32_t target = job->targets[s * job->cols + c];
            if (target < -1 || target >= length)
                return gsa_fail(&b->error, GSA_ERR_ARGUMENT,
                                "%s: target %d of segment %lld is not in -1..%lld", op, target,
                                (long long)s, (long long)length - 1);
        }
    }
    return GSA_OK;
}

static gsa_status segment_entropy_forward(gsa_backend *b, void *loss, const void *logits,
                                          const int64_t *offset, const int32_t *targets,
                                          double scale, int64_t segments, int64_t rows,
                                          int64_t cols)
{
    segment_job job = {
        .x = logits, .offset = offset, .targets = targets, .segments = segments, .cols = cols
    };
    const gsa_status status = check(b, "segment_entropy_forward", &job, rows);
    if (status != GSA_OK) return status;
    job.chunk = ref_partial_chunk(segments, 1);
    const int64_t items = ref_items(segments, job.chunk);
    job.partial = gsa_ref_scratch(b, "segment_entropy_forward", items, sizeof(double));
    if (job.partial == NULL) return b->error.status;
    gsa_team_run(b->team, items, forward_chunk, &job);
    double sum = 0;
    for (int64_t i = 0; i < items; i++) sum += job.partial[i];
    *(real *)loss = (real)(scale * sum);
    return GSA_OK;
}

static gsa_status segment_entropy_backward(gsa_backend *b, void *dlogits, const void *dloss,
                                           const void *logits, const int64_t *offset,
                                           const int32_t *targets, double scale, int64_t segments,
                                           int64_t rows, int64_t cols)
{
    segment_job job = { .x = logits,
                        .offset = offset,
                        .targets = targets,
                        .dx = dlogits,
                        .segments = segments,
                        .cols = cols };
    const gsa_status status = check(b, "segment_entropy_backward", &job, rows);
    if (status != GSA_OK || dlogits == NULL) return status;
    job.slope = (real)(scale * (double)*(const real *)dloss);
    job.chunk = ref_partial_chunk(segments, 1);
    gsa_team_run(b->team, ref_items(segments, job.chunk), backward_chunk, &job);
    return GSA_OK;
}

void GSA_REF(fill_segments)(gsa_backend *b)
{
    b->segment_entropy_forward = segment_entropy_forward;
    b->segment_entropy_backward = segment_entropy_backward;
}
