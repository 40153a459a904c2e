/* optim.cu - Adam (Kingma, Ba 2015, alg. 1), AdamW (Loshchilov, Hutter 2019, alg. 2), SGD with
 * momentum. The factor is on the device; one that is not finite changes nothing: neither
 * weights nor moments. */
#include "kernels/cuda/device.h"

typedef struct optim_job {
    float *w, *m, *v;
    const float *g;
    const double *control;
    float lr, beta1, rest1, beta2, rest2, eps, step, root, decay, l2, momentum;
    int64_t count;
} optim_job;

/* rest = 1 - beta, from doubles: beta near 1 loses it when it is rounded first.
 * m' = m / correct1, v' = v / correct2;
 *     w -= lr m' / (sqrt(v') + eps), with step = lr / correct1, root = 1/sqrt(correct2)
 * */
static __global__ void __launch_bounds__(GSA_ELEMENTS) adam_step(GSA_ARGUMENT(optim_job) job)
{
    const int64_t i = gsa_thread();
    const double factor = __ldg(job.control + 1);
    if (i >= job.count || !isfinite(factor)) return;
    const float w = job.w[i], slope = (float)factor * job.g[i] + job.l2 * w;
    const float m = job.beta1 * job.m[i] + job.rest1 * slope,
                v = job.beta2 * job.v[i] + job.rest2 * slope * slope;
    job.m[i] = m;
    job.v[i] = v;
    job.w[i] = w - job.decay * w - job.step * m / (sqrtf(v) * job.root + job.eps);
}

static __global__ void __launch_bounds__(GSA_ELEMENTS) sgd_step(GSA_ARGUMENT(optim_job) job)
{
    const int64_t i = gsa_thread();
    const double factor = __ldg(job.control + 1);
    if (i >= job.count || !isfinite(factor)) return;
    float slope = (float)factor * job.g[i] + job.l2 * job.w[i];
    if (job.m) slope = job.m[i] = job.momentum * job.m[i] + slope;
    job.w[i] -= job.lr * slope;
}

static gsa_status adam(gsa_backend *b, void *w, void *m, void *v, const void *g,
                       const double *control, const gsa_adam *adam, int64_t count)
{
    optim_job job = {};
    GSA_TRY(gsa_ref_shape(b, "adam", count, 1));
    job.w = (float *)w, job.m = (float *)m, job.v = (float *)v, job.g = (const float *)g,
    job.control = control, job.count = count;
    job.beta1 = (float)adam->beta1, job.rest1 = (float)(1 - adam->beta1);
    job.beta2 = (float)adam->beta2, job.rest2 = (float)(1 - adam->beta2),
    job.eps = (float)adam->eps;
    job.step = (float)(adam->lr / adam->correct1), job.root = (float)(1 / sqrt(adam->correct2));
    job.decay = (float)(adam->lr * adam->decay), job.l2 = (float)adam->l2;
    return GSA_EACH(b, "adam", count, adam_step, job);
}

static gsa_status sgd(gsa_backend *b, void *w, void *m, const void *g, const double *control,
                      double lr, double momentum, double l2, int64_t count)
{
    optim_job job = {};
    GSA_TRY(gsa_ref_shape(b, "sgd", count, 1));
    job.w = (float *)w, job.m = (float *)m, job.g = (const float *)g, job.control = control,
    job.count = count;
    job.lr = (float)lr, job.momentum = (float)momentum, job.l2 = (float)l2;
    return GSA_EACH(b, "sgd", count, sgd_step, job);
}

void gsa_cuda_fill_optim(gsa_backend *b)
{
    b->adam = adam;
    b->sgd = sgd;
}
