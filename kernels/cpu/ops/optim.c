/* optim.c - Adam's sweep and the sum of squares that its gradients are clipped by. Adam's
 * operations are ref's, one by one: the same bits. */
#include <math.h>
#include "kernels/cpu/table.h"
#include "kernels/cpu/isa/wide.h"
#include "kernels/ref/ref.h"

typedef struct adam_job {
    float *w, *m, *v;
    const float *g;
    float factor, beta1, rest1, beta2, rest2, eps, step, root, decay, l2;
    int64_t count;
} adam_job;

/* rest = 1 - beta, from doubles: beta near 1 loses it when it is rounded first. */
CPU_INLINE void adam_vector(const adam_job *j, int64_t i, lanes part, int whole)
{
    const vec w = vec_take(j->w + i, part, whole);
    const vec g = vec_take(j->g + i, part, whole);
    const vec m = vec_take(j->m + i, part, whole);
    const vec v = vec_take(j->v + i, part, whole);
    const vec slope = vec_add(vec_mul(vec_all(j->factor), g), vec_mul(vec_all(j->l2), w));
    const vec next_m = vec_add(vec_mul(vec_all(j->beta1), m), vec_mul(vec_all(j->rest1), slope));
    const vec next_v =
        vec_add(vec_mul(vec_all(j->beta2), v), vec_mul(vec_mul(vec_all(j->rest2), slope), slope));
    const vec under = vec_add(vec_mul(vec_sqrt(next_v), vec_all(j->root)), vec_all(j->eps));
    const vec next_w = vec_sub(vec_sub(w, vec_mul(vec_all(j->decay), w)),
                               vec_div(vec_mul(vec_all(j->step), next_m), under));
    vec_put(j->m + i, part, whole, next_m), vec_put(j->v + i, part, whole, next_v);
    vec_put(j->w + i, part, whole, next_w);
}

static void adam_chunk(void *context, int64_t item)
{
    const adam_job job = *(const adam_job *)context;
    VEC_ALONG(item * REF_CHUNK, ref_smaller((item + 1) * REF_CHUNK, job.count), adam_vector, &job)
}

gsa_status cpu_adam(gsa_backend *b, void *w, void *m, void *v, const void *g, const double *control,
                    const gsa_adam *adam, int64_t count)
{
    const gsa_status status = gsa_ref_shape(b, "adam", count, 1);
    if (status != GSA_OK || !isfinite(control[1])) return status;
    adam_job job = { .w = w, .m = m, .v = v, .g = g, .count = count };
    job.factor = (float)control[1];
    job.beta1 = (float)adam->beta1, job.rest1 = (float)(1 - adam->beta1);
    job.beta2 = (float)adam->beta2, job.rest2 = (float)(1 - adam->beta2);
    job.eps = (float)adam->eps;
    job.step = (float)(adam->lr / adam->correct1);
    job.root = (float)(1 / sqrt(adam->correct2));
    job.decay = (float)(adam->lr * adam->decay);
    job.l2 = (float)adam->l2;
    gsa_team_run(b->team, ref_items(count, REF_CHUNK), adam_chunk, &job);
    return GSA_OK;
}

typedef struct squares_job {
    const float *x;
    double *partial;
    int64_t count;
} squares_job;

/* Every square in double. */
static void squares_chunk(void *context, int64_t item)
{
    const squares_job *job = context;
    const int64_t end = ref_smaller((item + 1) * REF_CHUNK, job->count);
    int64_t i = item * REF_CHUNK;
    wide even = wide_zero(), odd = wide_zero();
    for (; i + 2 * LANES <= end; i += 2 * LANES) {
        even = wide_add_square(even, vec_load(job->x + i));
        odd = wide_add_square(odd, vec_load(job->x + i + LANES));
    }
    for (; i < end; i += LANES)
        even = wide_add_square(
            even,
            vec_load_first(job->x + i, lanes_first(end - i < LANES ? (int)(end - i) : LANES)));
    job->partial[item] = wide_sum(even) + wide_sum(odd);
}

gsa_status cpu_sum_squares(gsa_backend *b, double *out, const void *x, int accumulate,
                           int64_t count)
{
    const gsa_status status = gsa_ref_shape(b, "sum_squares", count, 1);
    if (status != GSA_OK) return status;
    const int64_t items = ref_items(count, REF_CHUNK);
    double *partial = gsa_ref_scratch(b, "sum_squares", items, sizeof(double));
    if (partial == NULL) return b->error.status;
    squares_job job = { .x = x, .partial = partial, .count = count };
    gsa_team_run(b->team, items, squares_chunk, &job);
    double sum = accumulate ? *out : 0;
    for (int64_t i = 0; i < items; i++) sum += partial[i];
    *out = sum;
    return GSA_OK;
}
