#include "gsa/schedule.h"
#include <math.h>

/* How far `step` is on the way from `start` to the last step, 0 to 1. */
static double way(int64_t step, double start, int64_t steps)
{
    const double length = (double)steps - 1 - start;
    const double gone = length > 0 ? ((double)step - start) / length : (double)step > start;
    return gone < 0 ? 0 : gone > 1 ? 1 : gone;
}

double gsa_schedule_rate(const gsa_schedule *s, int64_t step)
{
    const double now = (double)step + 1, warmup = (double)s->warmup;
    if (s->kind == GSA_SCHEDULE_NOAM)
        return s->lr / sqrt(s->hidden) * fmin(1 / sqrt(now), now / (warmup * sqrt(warmup)));
    if (step < s->warmup) return s->lr * now / warmup;
    switch (s->kind) {
    case GSA_SCHEDULE_LINEAR:
        return s->lr * (1 - (1 - s->final) * way(step, warmup, s->steps));
    case GSA_SCHEDULE_COSINE:
        return s->lr *
               (s->final + (1 - s->final) * 0.5 *
                               (1 + cos(3.14159265358979323846 * way(step, warmup, s->steps))));
    case GSA_SCHEDULE_HOLD_LINEAR:
        return s->lr *
               (1 - (1 - s->final) * way(step, fmax(warmup, s->hold * (double)s->steps), s->steps));
    default:
        return s->lr;
    }
}
