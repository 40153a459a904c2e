#include "train/data/locate.h"
#include <math.h>

/* The queue holds the starts that may still be the best: rising places, falling scores. */
gsa_span_found gsa_best_span(const double *start, const double *end, int64_t step, int32_t count,
                             int32_t most, int32_t *queue)
{
    gsa_span_found best = { -1, -1, -INFINITY };
    int32_t head = 0, tail = 0;
    for (int32_t j = 0; j < count; j++) {
        const double x = start[j * step];
        if (!isnan(x)) {
            while (tail > head && start[queue[tail - 1] * step] < x) tail--;
            queue[tail++] = j;
        }
        while (head < tail && queue[head] <= j - most) head++;
        if (head == tail || isnan(end[j * step])) continue;
        const double score = start[queue[head] * step] + end[j * step];
        if (score > best.score || (best.first < 0 && !isnan(score)))
            best = (gsa_span_found){ queue[head], j, score };
    }
    return best;
}
