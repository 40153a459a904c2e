/* dropout.cu - dropout of states, keyed as backend.h says; a thread draws the four columns that
 * share a counter. */
#include "kernels/cuda/device.h"

static gsa_status run(gsa_backend *b, const char *op, void *to, const void *from,
                      const gsa_dropout *dropout, int accumulate, int64_t rows, int64_t cols)
{
    const gsa_cuda_drop drop = gsa_cuda_drop_of(dropout, NULL);
    const int64_t quads = (cols + 3) / 4;
    GSA_TRY(gsa_ref_shape(b, op, rows, cols));
    GSA_TRY(gsa_ref_check_dropout(b, op, dropout));
    if (to == NULL) return GSA_OK;
    const auto keep = [=, to = gsa_floats(to), from = gsa_floats(from)] __device__(int64_t i) {
        const int64_t row = i / quads, first = i % quads * 4;
        gsa_philox words = {};
        if (drop.on) words = gsa_drop_words(drop, row, (uint32_t)(first / 4), 0);
        GSA_UNROLL
        for (int c = 0; c < 4; c++) {
            if (first + c >= cols) continue;
            const int64_t at = row * cols + first + c;
            const float factor = drop.on ? gsa_drop_factor(drop, words.word[c]) : 1, x = from[at];
            const float kept = factor == 0 ? 0 : x * factor;
            to[at] = accumulate ? to[at] + kept : kept;
        }
    };
    return gsa_cuda_each(b, op, rows * quads, keep);
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
