/* activate.c - activations and their slopes. Polynomials are Chebyshev interpolants (tests/kernels
 * holds each to its error). */
#include "kernels/cpu/table.h"
#include "kernels/ref/ref.h"

typedef struct activate_job {
    float *y;            /* forward: y; backward: dx */
    const float *x, *dy; /* dy NULL: forward */
    int activation, accumulate;
    int64_t count;
} activate_job;

CPU_INLINE vec polynomial(const float *c, int count, vec x) /* c[0] + c[1] x + ... */
{
    vec y = vec_all(c[count - 1]);
    for (int i = count - 2; i >= 0; i--) y = vec_fma(y, x, vec_all(c[i]));
    return y;
}

CPU_INLINE vec magnitude(vec x) /* NaN stays */
{
    return vec_max(x, vec_sub(vec_zero(), x));
}

/* The normal distribution's mass below x (largest error 1e-7; of a tail below 0, 4e-7 of it): with
 * t = 1 / (1 + 0.4 |x|) the tail is t p(t) exp(-x^2 / 2). *bell receives exp(-x^2 / 2). */
CPU_INLINE vec mass_below(vec x, vec *bell)
{
    static const float p[] = { 0.15957686f, 0.15958738f, 0.13369232f, 0.08764061f,  -0.012923848f,
                               0.0878757f,  -0.3298163f, 0.34504166f, -0.15945524f, 0.028780863f };
    const vec t = vec_div(vec_all(1), vec_fma(magnitude(x), vec_all(0.4f), vec_all(1)));
    *bell = vec_exp(vec_mul(vec_mul(x, vec_all(-0.5f)), x));
    const vec tail = vec_mul(vec_mul(t, polynomial(p, 10, t)), *bell);
    return vec_if_positive(x, vec_sub(vec_all(1), tail), tail);
}

/* To 3e-7 of its value: near 0, where 1 - 2 / (e^2|x| + 1) loses digits, x + x^3 p(x^2). */
CPU_INLINE vec tangent(vec x)
{
    static const float p[] = { -0.33333328f, 0.13332719f, -0.053843264f, 0.02096133f,
                               -0.006045165f };
    const vec far = magnitude(x), square = vec_mul(x, x);
    const vec near = vec_fma(vec_mul(x, square), polynomial(p, 5, square), x);
    const vec large =
        vec_sub(vec_all(1), vec_div(vec_all(2), vec_add(vec_exp(vec_add(far, far)), vec_all(1))));
    const vec sided = vec_if_positive(x, large, vec_sub(vec_zero(), large));
    return vec_if_positive(vec_sub(far, vec_all(0.625f)), sided, near);
}

CPU_INLINE vec sigmoid(vec x)
{
    return vec_div(vec_all(1), vec_add(vec_all(1), vec_exp(vec_sub(vec_zero(), x))));
}

/* f(x); every step keeps a NaN. */
CPU_INLINE vec value(int activation, vec x)
{
    vec bell;
    switch (activation) {
    case GSA_RELU:
        return vec_max(vec_zero(), x);
    case GSA_LEAKY_RELU:
        return vec_max(vec_mul(x, vec_all(0.01f)), x);
    case GSA_GELU:
        return vec_mul(x, mass_below(x, &bell));
    case GSA_TANH:
        return tangent(x);
    default:
        return sigmoid(x);
    }
}

/* dy f'(x); at 0 the slope of relu is 0, of leaky relu the leak. */
CPU_INLINE vec pull(int activation, vec dy, vec x)
{
    vec y;
    switch (activation) {
    case GSA_RELU:
        return vec_if_positive(x, dy, vec_zero());
    case GSA_LEAKY_RELU:
        return vec_if_positive(x, dy, vec_mul(dy, vec_all(0.01f)));
    case GSA_GELU: {
        const vec mass = mass_below(x, &y);
        return vec_mul(dy, vec_fma(vec_mul(x, vec_all(0.39894228f)), y,
                                   mass)); /* density: bell / sqrt(2 pi) */
    }
    case GSA_TANH:
        y = tangent(x);
        return vec_mul(dy, vec_sub(vec_all(1), vec_mul(y, y)));
    default:
        y = sigmoid(x);
        return vec_mul(vec_mul(dy, y), vec_sub(vec_all(1), y));
    }
}

CPU_INLINE void forward_piece(int activation, const activate_job *job, int64_t i, lanes m,
                              int whole)
{
    vec_put(job->y + i, m, whole, value(activation, vec_take(job->x + i, m, whole)));
}

CPU_INLINE void backward_piece(int activation, const activate_job *job, int64_t i, lanes m,
                               int whole)
{
    float *dx = job->y + i;
    const vec more =
        pull(activation, vec_take(job->dy + i, m, whole), vec_take(job->x + i, m, whole));
    vec_put(dx, m, whole, job->accumulate ? vec_add(vec_take(dx, m, whole), more) : more);
}

CPU_INLINE void chunk_of(int activation, const activate_job *whole, int64_t item)
{
    const activate_job job = *whole;
    const int64_t first = item * REF_CHUNK, end = ref_smaller(first + REF_CHUNK, job.count);
    if (job.dy) VEC_ALONG(first, end, backward_piece, activation, &job)
    else VEC_ALONG(first, end, forward_piece, activation, &job)
}

static void chunk(void *context, int64_t item)
{
    const activate_job *job = context;
    switch (job->activation) {
    case GSA_RELU:
        chunk_of(GSA_RELU, job, item);
        break;
    case GSA_LEAKY_RELU:
        chunk_of(GSA_LEAKY_RELU, job, item);
        break;
    case GSA_GELU:
        chunk_of(GSA_GELU, job, item);
        break;
    case GSA_TANH:
        chunk_of(GSA_TANH, job, item);
        break;
    default:
        chunk_of(GSA_SIGMOID, job, item);
    }
}

static gsa_status run(gsa_backend *b, const char *op, activate_job job)
{
    const gsa_status status = gsa_ref_check_activation(b, op, job.activation, job.count);
    if (status == GSA_OK && job.y)
        gsa_team_run(b->team, ref_items(job.count, REF_CHUNK), chunk, &job);
    return status;
}

gsa_status cpu_activate_forward(gsa_backend *b, void *y, const void *x, int activation,
                                int64_t count)
{
    return run(b, "activate_forward", (activate_job){ y, x, NULL, activation, 0, count });
}

gsa_status cpu_activate_backward(gsa_backend *b, void *dx, const void *dy, const void *x,
                                 int activation, int accumulate, int64_t count)
{
    return run(b, "activate_backward", (activate_job){ dx, x, dy, activation, accumulate, count });
}
