/* elements.c - y = a + c, y += scale x, y = a c, activations. Outputs may be their inputs. */
#include "kernels/ref/ref.h"

typedef struct element_job {
    real *y;
    const real *a, *c;
    real scale;
    int activation, accumulate;
    int64_t count;
} element_job;

static void run_chunks(gsa_backend *b, element_job *job, void (*body)(void *context, int64_t item))
{
    gsa_team_run(b->team, ref_items(job->count, REF_CHUNK), body, job);
}

static void add_chunk(void *context, int64_t item)
{
    const element_job *job = context;
    const int64_t first = item * REF_CHUNK, last = ref_smaller(first + REF_CHUNK, job->count);
    for (int64_t i = first; i < last; i++) job->y[i] = job->a[i] + job->c[i];
}

static gsa_status add(gsa_backend *b, void *y, const void *a, const void *c, int64_t count)
{
    const gsa_status status = gsa_ref_shape(b, "add", count, 1);
    element_job job = { .y = y, .a = a, .c = c, .count = count };
    if (status == GSA_OK) run_chunks(b, &job, add_chunk);
    return status;
}

static void accumulate_chunk(void *context, int64_t item)
{
    const element_job *job = context;
    const int64_t first = item * REF_CHUNK, last = ref_smaller(first + REF_CHUNK, job->count);
    for (int64_t i = first; i < last; i++) job->y[i] += job->scale * job->a[i];
}

static gsa_status accumulate(gsa_backend *b, void *y, const void *x, double scale, int64_t count)
{
    const gsa_status status = gsa_ref_shape(b, "accumulate", count, 1);
    element_job job = { .y = y, .a = x, .scale = (real)scale, .count = count };
    if (status == GSA_OK) run_chunks(b, &job, accumulate_chunk);
    return status;
}

static void add_product_chunk(void *context, int64_t item)
{
    const element_job *job = context;
    const int64_t first = item * REF_CHUNK, last = ref_smaller(first + REF_CHUNK, job->count);
    for (int64_t i = first; i < last; i++) job->y[i] += job->a[i] * job->c[i];
}

static void product_chunk(void *context, int64_t item)
{
    const element_job *job = context;
    const int64_t first = item * REF_CHUNK, last = ref_smaller(first + REF_CHUNK, job->count);
    for (int64_t i = first; i < last; i++) job->y[i] = job->a[i] * job->c[i];
}

static gsa_status multiply(gsa_backend *b, void *y, const void *a, const void *c,
                           int accumulate_too, int64_t count)
{
    const gsa_status status = gsa_ref_shape(b, "multiply", count, 1);
    element_job job = { .y = y, .a = a, .c = c, .count = count };
    if (status == GSA_OK) run_chunks(b, &job, accumulate_too ? add_product_chunk : product_chunk);
    return status;
}

/* Every comparison is written so that a NaN takes the branch that keeps it. */
static const real leak = (real)0.01, half = (real)0.5, root_half = (real)0.70710678118654752440;
static const real gauss_peak = (real)0.39894228040143267794; /* 1 / sqrt(2 pi) */

static inline real sigmoid(real x)
{
    return 1 / (1 + exp(-x));
}

static void activate_chunk(void *context, int64_t item)
{
    const element_job *job = context;
    const int64_t first = item * REF_CHUNK, count = ref_smaller(REF_CHUNK, job->count - first);
    const real *x = job->a + first;
    real *y = job->y + first;
    switch (job->activation) {
    case GSA_RELU:
        for (int64_t i = 0; i < count; i++) y[i] = x[i] < 0 ? 0 : x[i];
        break;
    case GSA_LEAKY_RELU:
        for (int64_t i = 0; i < count; i++) y[i] = x[i] < 0 ? leak * x[i] : x[i];
        break;
    case GSA_GELU:
        for (int64_t i = 0; i < count; i++) y[i] = half * x[i] * (1 + erf(x[i] * root_half));
        break;
    case GSA_TANH:
        for (int64_t i = 0; i < count; i++) y[i] = tanh(x[i]);
        break;
    default:
        for (int64_t i = 0; i < count; i++) y[i] = sigmoid(x[i]);
    }
}

/* dx = (add ? dx : 0) + more; dx may be where dy is, which `more` was made of. */
static inline void give(real *dx, int add, real more)
{
    *dx = add ? *dx + more : more;
}

/* dx += (or =) dy f'(x); at 0 the slope of relu is 0, of leaky relu the leak. */
static void activate_back_chunk(void *context, int64_t item)
{
    const element_job *job = context;
    const int64_t first = item * REF_CHUNK, count = ref_smaller(REF_CHUNK, job->count - first);
    const real *dy = job->a + first, *x = job->c + first;
    real *dx = job->y + first;
    const int add = job->accumulate;
    switch (job->activation) {
    case GSA_RELU:
        for (int64_t i = 0; i < count; i++) give(&dx[i], add, x[i] <= 0 ? 0 : dy[i]);
        break;
    case GSA_LEAKY_RELU:
        for (int64_t i = 0; i < count; i++) give(&dx[i], add, x[i] <= 0 ? leak * dy[i] : dy[i]);
        break;
    case GSA_GELU:
        for (int64_t i = 0; i < count; i++)
            give(&dx[i], add,
                 dy[i] * (half * (1 + erf(x[i] * root_half)) +
                          x[i] * gauss_peak * exp(-half * x[i] * x[i])));
        break;
    case GSA_TANH:
        for (int64_t i = 0; i < count; i++) {
            const real t = tanh(x[i]);
            give(&dx[i], add, dy[i] * (1 - t * t));
        }
        break;
    default:
        for (int64_t i = 0; i < count; i++) {
            const real s = sigmoid(x[i]);
            give(&dx[i], add, dy[i] * s * (1 - s));
        }
    }
}

static gsa_status activate_forward(gsa_backend *b, void *y, const void *x, int activation,
                                   int64_t count)
{
    const gsa_status status = gsa_ref_check_activation(b, "activate_forward", activation, count);
    element_job job = { .y = y, .a = x, .activation = activation, .count = count };
    if (status == GSA_OK) run_chunks(b, &job, activate_chunk);
    return status;
}

static gsa_status activate_backward(gsa_backend *b, void *dx, const void *dy, const void *x,
                                    int activation, int add_too, int64_t count)
{
    const gsa_status status = gsa_ref_check_activation(b, "activate_backward", activation, count);
    element_job job = {
        .y = dx, .a = dy, .c = x, .activation = activation, .accumulate = add_too, .count = count
    };
    if (status == GSA_OK && dx != NULL) run_chunks(b, &job, activate_back_chunk);
    return status;
}

void GSA_REF(fill_elements)(gsa_backend *b)
{
    b->add = add;
    b->accumulate = accumulate;
    b->multiply = multiply;
    b->activate_forward = activate_forward;
    b->activate_backward = activate_backward;
}
