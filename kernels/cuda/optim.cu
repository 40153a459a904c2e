/* optim.cu - Adam (Kingma, Ba 2015, alg. 1), AdamW (Loshchilov, Hutter 2019, alg. 2), SGD with
 * momentum. The factor is on the device; one that is not finite changes nothing: neither
 * weights nor moments. */
#include "kernels/cuda/device.h"

/* rest = 1 - beta, from doubles: beta near 1 loses it when it is rounded first.
 * m' = m / correct1, v' = v / correct2;
 *     w -= lr m' / (sqrt(v') + eps), with step = lr / correct1, root = 1/sqrt(correct2)
 * */
static gsa_status adam(gsa_backend *b, void *w, void *m, void *v, const void *g,
                       const double *control, const gsa_adam *adam, int64_t count)
{
    const float beta1 = (float)adam->beta1, rest1 = (float)(1 - adam->beta1);
    const float beta2 = (float)adam->beta2, rest2 = (float)(1 - adam->beta2);
    const float step = (float)(adam->lr / adam->correct1), eps = (float)adam->eps,
                root = (float)(1 / sqrt(adam->correct2)), l2 = (float)adam->l2,
                decay = (float)(adam->lr * adam->decay);
    GSA_TRY(gsa_ref_shape(b, "adam", count, 1));
    const auto update = [=, w = gsa_floats(w), m = gsa_floats(m), v = gsa_floats(v),
                         g = gsa_floats(g)] __device__(int64_t i) {
        const double factor = __ldg(control + 1);
        if (!isfinite(factor)) return;
        const float old = w[i], slope = (float)factor * g[i] + l2 * old;
        const float mean = beta1 * m[i] + rest1 * slope,
                    square = beta2 * v[i] + rest2 * slope * slope;
        m[i] = mean, v[i] = square;
        w[i] = old - decay * old - step * mean / (sqrtf(square) * root + eps);
    };
    return gsa_cuda_each(b, "adam", count, update);
}

static gsa_status sgd(gsa_backend *b, void *w, void *m, const void *g, const double *control,
                      double lr, double momentum, double l2, int64_t count)
{
    GSA_TRY(gsa_ref_shape(b, "sgd", count, 1));
    const auto update = [=, w = gsa_floats(w), m = gsa_floats(m), g = gsa_floats(g), lr = (float)lr,
                         momentum = (float)momentum, l2 = (float)l2] __device__(int64_t i) {
        const double factor = __ldg(control + 1);
        if (!isfinite(factor)) return;
        float slope = (float)factor * g[i] + l2 * w[i];
        if (m) slope = m[i] = momentum * m[i] + slope;
        w[i] -= lr * slope;
    };
    return gsa_cuda_each(b, "sgd", count, update);
}

void gsa_cuda_fill_optim(gsa_backend *b)
{
    b->adam = adam;
    b->sgd = sgd;
}
