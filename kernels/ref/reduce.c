/* reduce.c - sums in double over fixed chunks, the count of values that are not finite, and the
 * clipping factor. */
#include "kernels/ref/ref.h"

typedef struct reduce_job {
    const real *x;
    double *partial;
    int64_t *bad;
    int64_t count;
    int square;
} reduce_job;

static void sum_chunk(void *context, int64_t item)
{
    const reduce_job *job = context;
    const int64_t first = item * REF_CHUNK, count = ref_smaller(REF_CHUNK, job->count - first);
    const real *x = job->x + first;
    double lane[4] = { 0 };
    int64_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (int l = 0; l < 4; l++) {
            const double value = (double)x[i + l];
            lane[l] += job->square ? value * value : value;
        }
    for (int l = 0; i < count; i++, l++) {
        const double value = (double)x[i];
        lane[l] += job->square ? value * value : value;
    }
    job->partial[item] = (lane[0] + lane[2]) + (lane[1] + lane[3]);
}

static gsa_status total(gsa_backend *b, const char *op, double *out, const void *x, int square,
                        int accumulate, int64_t count)
{
    const gsa_status status = gsa_ref_shape(b, op, count, 1);
    if (status != GSA_OK) return status;
    const int64_t items = ref_items(count, REF_CHUNK);
    double *partial = gsa_ref_scratch(b, op, items, sizeof(double));
    if (partial == NULL) return b->error.status;
    reduce_job job = { .x = x, .partial = partial, .count = count, .square = square };
    gsa_team_run(b->team, items, sum_chunk, &job);
    double sum = accumulate ? *out : 0;
    for (int64_t i = 0; i < items; i++) sum += partial[i];
    *out = sum;
    return GSA_OK;
}

static gsa_status sum(gsa_backend *b, double *out, const void *x, int64_t count)
{
    return total(b, "sum", out, x, 0, 0, count);
}

static gsa_status sum_squares(gsa_backend *b, double *out, const void *x, int accumulate,
                              int64_t count)
{
    return total(b, "sum_squares", out, x, 1, accumulate, count);
}

static void bad_chunk(void *context, int64_t item)
{
    const reduce_job *job = context;
    const int64_t first = item * REF_CHUNK, last = ref_smaller(first + REF_CHUNK, job->count);
    int64_t bad = 0;
    for (int64_t i = first; i < last; i++) bad += !isfinite(job->x[i]);
    job->bad[item] = bad;
}

static gsa_status count_bad(gsa_backend *b, int64_t *out, const void *x, int64_t count)
{
    const gsa_status status = gsa_ref_shape(b, "count_bad", count, 1);
    if (status != GSA_OK) return status;
    const int64_t items = ref_items(count, REF_CHUNK);
    int64_t *bad = gsa_ref_scratch(b, "count_bad", items, sizeof(int64_t));
    if (bad == NULL) return b->error.status;
    reduce_job job = { .x = x, .bad = bad, .count = count };
    gsa_team_run(b->team, items, bad_chunk, &job);
    *out = 0;
    for (int64_t i = 0; i < items; i++) *out += bad[i];
    return GSA_OK;
}

static gsa_status clip(gsa_backend *b, double *control, const double *squares, double max_norm,
                       int latch)
{
    if (!(max_norm >= 0))
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT, "clip: max_norm = %g is negative", max_norm);
    const double norm = sqrt(*squares);
    control[0] = norm;
    if (!isfinite(norm) || (latch && isnan(control[1]))) control[1] = NAN;
    else control[1] = max_norm > 0 && norm > max_norm ? max_norm / norm : 1;
    return GSA_OK;
}

void GSA_REF(fill_reduce)(gsa_backend *b)
{
    b->sum = sum;
    b->sum_squares = sum_squares;
    b->count_bad = count_bad;
    b->clip = clip;
}
