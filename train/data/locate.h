/* locate.h - where an answer may be: windows of a long passage, and the best span of one. */
#ifndef GSA_LOCATE_H
#define GSA_LOCATE_H
#include <stdint.h>

/* Windows of `window` tokens (0: all), each `stride` after the one before (1 <= stride <= window),
 * until one reaches the end: every run of at most window - stride + 1 tokens lies whole in one. The
 * last one may be shorter. */
static inline int64_t gsa_windows(int64_t tokens, int64_t window, int64_t stride)
{
    return window == 0 || tokens <= window ? 1 : 1 + (tokens - window + stride - 1) / stride;
}

static inline int64_t gsa_window_length(int64_t tokens, int64_t window, int64_t stride,
                                        int64_t which)
{
    const int64_t rest = tokens - which * stride;
    return window == 0 || rest < window ? rest : window;
}

typedef struct gsa_span_found {
    int32_t first, last; /* both inclusive; -1, -1: there is none */
    double score;
} gsa_span_found;

/* The largest start[i] + end[j] with i <= j < i + most, in O(count): scores are `step` apart. Of
 * equals the one that ends first, then the one that starts first. A NaN is never part of the best.
 * queue [count] is scratch. */
gsa_span_found gsa_best_span(const double *start, const double *end, int64_t step, int32_t count,
                             int32_t most, int32_t *queue);

#endif
