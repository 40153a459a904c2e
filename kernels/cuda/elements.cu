/* elements.cu - y = a + c, y += scale x, activations; a thread an element. Outputs may be their
 * inputs. */
#include "kernels/cuda/device.h"

static __global__ void __launch_bounds__(GSA_ELEMENTS)
    add_elements(float *y, const float *a, const float *c, int64_t count)
{
    const int64_t i = gsa_thread();
    if (i < count) y[i] = a[i] + c[i];
}

static __global__ void __launch_bounds__(GSA_ELEMENTS)
    accumulate_elements(float *y, const float *x, float scale, int64_t count)
{
    const int64_t i = gsa_thread();
    if (i < count) y[i] += scale * x[i];
}

/* Every comparison is written so that a NaN takes the branch that keeps it. */
GSA_DEVICE float sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

GSA_DEVICE float activation(float x, int kind)
{
    switch (kind) {
    case GSA_RELU:
        return x < 0 ? 0 : x;
    case GSA_LEAKY_RELU:
        return x < 0 ? 0.01f * x : x;
    case GSA_GELU:
        return 0.5f * x * (1 + erff(x * 0.70710678118654752440f));
    case GSA_TANH:
        return tanhf(x);
    default:
        return sigmoid(x);
    }
}

/* dy f'(x); at 0 the slope of relu is 0, of leaky relu the leak. */
GSA_DEVICE float activation_back(float dy, float x, int kind)
{
    switch (kind) {
    case GSA_RELU:
        return x <= 0 ? 0 : dy;
    case GSA_LEAKY_RELU:
        return x <= 0 ? 0.01f * dy : dy;
    case GSA_GELU:
        return dy * (0.5f * (1 + erff(x * 0.70710678118654752440f)) +
                     x * 0.39894228040143267794f * expf(-0.5f * x * x));
    case GSA_TANH: {
        const float t = tanhf(x);
        return dy * (1 - t * t);
    }
    default: {
        const float s = sigmoid(x);
        return dy * s * (1 - s);
    }
    }
}

static __global__ void __launch_bounds__(GSA_ELEMENTS)
    activate(float *y, const float *x, int kind, int64_t count)
{
    const int64_t i = gsa_thread();
    if (i < count) y[i] = activation(x[i], kind);
}

static __global__ void __launch_bounds__(GSA_ELEMENTS)
    activate_back(float *dx, const float *dy, const float *x, int kind, int add, int64_t count)
{
    const int64_t i = gsa_thread();
    if (i >= count) return;
    const float more = activation_back(dy[i], x[i], kind);
    dx[i] = add ? dx[i] + more : more;
}

static gsa_status prepare(gsa_backend *b, const char *op, int64_t count, int64_t *blocks)
{
    GSA_TRY(gsa_cuda_shape(b, op, count, 1));
    return gsa_cuda_grid(b, op, count, GSA_ELEMENTS, blocks);
}

static gsa_status check_activation(gsa_backend *b, const char *op, int kind)
{
    if (kind >= GSA_RELU && kind <= GSA_SIGMOID) return GSA_OK;
    return gsa_fail(&b->error, GSA_ERR_ARGUMENT, "%s: activation %d is none of 0..%d", op, kind,
                    (int)GSA_SIGMOID);
}

static gsa_status add(gsa_backend *b, void *y, const void *a, const void *c, int64_t count)
{
    int64_t blocks;
    GSA_TRY(prepare(b, "add", count, &blocks));
    return GSA_RUN(b, add_elements, blocks, GSA_ELEMENTS, (float *)y, (const float *)a,
                   (const float *)c, count);
}

static gsa_status accumulate(gsa_backend *b, void *y, const void *x, double scale, int64_t count)
{
    int64_t blocks;
    GSA_TRY(prepare(b, "accumulate", count, &blocks));
    return GSA_RUN(b, accumulate_elements, blocks, GSA_ELEMENTS, (float *)y, (const float *)x,
                   (float)scale, count);
}

static gsa_status activate_forward(gsa_backend *b, void *y, const void *x, int kind, int64_t count)
{
    int64_t blocks;
    GSA_TRY(check_activation(b, "activate_forward", kind));
    GSA_TRY(prepare(b, "activate_forward", count, &blocks));
    return GSA_RUN(b, activate, blocks, GSA_ELEMENTS, (float *)y, (const float *)x, kind, count);
}

static gsa_status activate_backward(gsa_backend *b, void *dx, const void *dy, const void *x,
                                    int kind, int add, int64_t count)
{
    int64_t blocks;
    GSA_TRY(check_activation(b, "activate_backward", kind));
    GSA_TRY(prepare(b, "activate_backward", count, &blocks));
    if (dx == NULL) return GSA_OK;
    return GSA_RUN(b, activate_back, blocks, GSA_ELEMENTS, (float *)dx, (const float *)dy,
                   (const float *)x, kind, add, count);
}

static __global__ void __launch_bounds__(GSA_ELEMENTS)
    multiply_elements(float *y, const float *a, const float *c, int add, int64_t count)
{
    const int64_t i = gsa_thread();
    if (i < count) y[i] = add ? y[i] + a[i] * c[i] : a[i] * c[i];
}

static gsa_status multiply(gsa_backend *b, void *y, const void *a, const void *c, int add,
                           int64_t count)
{
    int64_t blocks;
    GSA_TRY(prepare(b, "multiply", count, &blocks));
    return GSA_RUN(b, multiply_elements, blocks, GSA_ELEMENTS, (float *)y, (const float *)a,
                   (const float *)c, add, count);
}

void gsa_cuda_fill_elements(gsa_backend *b)
{
    b->add = add;
    b->accumulate = accumulate;
    b->multiply = multiply;
    b->activate_forward = activate_forward;
    b->activate_backward = activate_backward;
}
