/* optim.c - Adam (Kingma, Ba 2015, alg. 1), AdamW (Loshchilov, Hutter 2019, alg. 2), SGD with
 * momentum. A factor that is not finite changes nothing: neither weights nor moments. */
#include "kernels/ref/ref.h"

typedef struct optim_job {
    real *w, *m, *v;
    const real *g;
    real factor, lr, beta1, rest1, beta2, rest2, eps, step, root, decay, l2, momentum;
    int64_t count;
} optim_job;

/* rest = 1 - beta, from doubles: beta near 1 loses it when it is rounded first.
 * m' = m / correct1, v' = v / correct2;
 *     w -= lr m' / (sqrt(v') + eps), with step = lr / correct1, root = 1/sqrt(correct2) */
static void adam_chunk(void *context, int64_t item)
{
    const optim_job job = *(const optim_job *)context;
    const int64_t first = item * REF_CHUNK, count = ref_smaller(REF_CHUNK, job.count - first);
    real *restrict w = job.w + first, *restrict m = job.m + first, *restrict v = job.v + first;
    const real *restrict g = job.g + first;
    for (int64_t i = 0; i < count; i++) {
        const real slope = job.factor * g[i] + job.l2 * w[i];
        m[i] = job.beta1 * m[i] + job.rest1 * slope;
        v[i] = job.beta2 * v[i] + job.rest2 * slope * slope;
        w[i] = w[i] - job.decay * w[i] - job.step * m[i] / (sqrt(v[i]) * job.root + job.eps);
    }
}

static gsa_status adam(gsa_backend *b, void *w, void *m, void *v, const void *g,
                       const double *control, const gsa_adam *adam, int64_t count)
{
    const gsa_status status = gsa_ref_shape(b, "adam", count, 1);
    if (status != GSA_OK || !isfinite(control[1])) return status;
    optim_job job = { .w = w, .m = m, .v = v, .g = g, .count = count };
    job.factor = (real)control[1];
    job.beta1 = (real)adam->beta1, job.rest1 = (real)(1 - adam->beta1);
    job.beta2 = (real)adam->beta2, job.rest2 = (real)(1 - adam->beta2);
    job.eps = (real)adam->eps;
    job.step = (real)(adam->lr / adam->correct1);
    job.root = (real)(1 / sqrt(adam->correct2));
    job.decay = (real)(adam->lr * adam->decay);
    job.l2 = (real)adam->l2;
    gsa_team_run(b->team, ref_items(count, REF_CHUNK), adam_chunk, &job);
    return GSA_OK;
}

static void sgd_chunk(void *context, int64_t item)
{
    const optim_job job = *(const optim_job *)context;
    const int64_t first = item * REF_CHUNK, last = ref_smaller(first + REF_CHUNK, job.count);
    for (int64_t i = first; i < last; i++) {
        real slope = job.factor * job.g[i] + job.l2 * job.w[i];
        if (job.m) slope = job.m[i] = job.momentum * job.m[i] + slope;
        job.w[i] -= job.lr * slope;
    }
}

static gsa_status sgd(gsa_backend *b, void *w, void *m, const void *g, const double *control,
                      double lr, double momentum, double l2, int64_t count)
{
    const gsa_status status = gsa_ref_shape(b, "sgd", count, 1);
    if (status != GSA_OK || !isfinite(control[1])) return status;
    optim_job job = { .w = w, .m = m, .g = g, .factor = (real)control[1], .count = count };
    job.lr = (real)lr;
    job.momentum = (real)momentum;
    job.l2 = (real)l2;
    gsa_team_run(b->team, ref_items(count, REF_CHUNK), sgd_chunk, &job);
    return GSA_OK;
}

void GSA_REF(fill_optim)(gsa_backend *b)
{
    b->adam = adam;
    b->sgd = sgd;
}
