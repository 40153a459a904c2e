/* dropout.cu - dropout of states, keyed as backend.h says; a thread draws the four columns that
 * share a counter. */
#include "kernels/cuda/device.h"

typedef struct drop_job {
    float *y;
    const float *x;
    gsa_cuda_drop drop;
    int64_t rows, cols, quads;
    int accumulate;
} drop_job;

static __global__ void __launch_bounds__(GSA_ELEMENTS) drop_states(GSA_ARGUMENT(drop_job) job)
{
    const int64_t i = gsa_thread();
    if (i >= job.rows * job.quads) return;
    const int64_t row = i / job.quads, first = i % job.quads * 4;
    gsa_philox words = {};
    if (job.drop.on) words = gsa_drop_words(job.drop, row, (uint32_t)(first / 4), 0);
    GSA_UNROLL
    for (int c = 0; c < 4; c++) {
        if (first + c >= job.cols) continue;
        const float factor = job.drop.on ? gsa_drop_factor(job.drop, words.word[c]) : 1,
                    x = job.x[row * job.cols + first + c];
        const float kept = factor == 0 ? 0 : x * factor;
        float *y = job.y + row * job.cols + first + c;
        *y = job.accumulate ? *y + kept : kept;
    }
}

static gsa_status run(gsa_backend *b, const char *op, void *y, const void *x,
                      const gsa_dropout *dropout, int accumulate, int64_t rows, int64_t cols)
{
    GSA_TRY(gsa_ref_shape(b, op, rows, cols));
    GSA_TRY(gsa_ref_check_dropout(b, op, dropout));
    if (y == NULL) return GSA_OK;
    const drop_job job = {
        (float *)y,     (const float *)x, gsa_cuda_drop_of(dropout, NULL), rows, cols,
        (cols + 3) / 4, accumulate
    };
    return GSA_EACH(b, op, rows * job.quads, drop_states, job);
}

static gsa_status dropout_forward(gsa_backend *b, void *y, const void *x,
                                  const gsa_dropout *dropout, int64_t rows, int64_t cols)
{
    return run(b, "dropout_forward", y, x, dropout, 0, rows, cols);
}

static gsa_status dropout_backward(gsa_backend *b, void *dx, const void *dy,
                                   const gsa_dropout *dropout, int64_t rows, int64_t cols)
{
    return run(b, "dropout_backward", dx, dy, dropout, 1, rows, cols);
}

void gsa_cuda_fill_dropout(gsa_backend *b)
{
    b->dropout_forward = dropout_forward;
    b->dropout_backward = dropout_backward;
}
