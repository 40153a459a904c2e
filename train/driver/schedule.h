/* schedule.h - the learning rate of a step, a pure function. Cost O(1). */
#ifndef GSA_SCHEDULE_H
#define GSA_SCHEDULE_H
#include <stdint.h>

enum gsa_schedule_kind {
    GSA_SCHEDULE_CONSTANT,
    GSA_SCHEDULE_LINEAR,
    GSA_SCHEDULE_COSINE,
    GSA_SCHEDULE_NOAM,
    GSA_SCHEDULE_HOLD_LINEAR
};

typedef struct gsa_schedule {
    int32_t kind, hidden; /* hidden: Noam */
    int64_t steps,
        warmup; /* planned steps; linear warm-up: lr (step+1) / warmup while step < warmup */
    double lr, hold, final;
} gsa_schedule;

/* step counts from 0; at steps-1 linear, cosine and hold_linear reach final x lr, later steps stay
 * there. hold_linear keeps lr for hold x steps. Noam (Vaswani et al. 2017, eq. 3): lr hidden^-0.5
 * min((step+1)^-0.5, (step+1) warmup^-1.5). */
double gsa_schedule_rate(const gsa_schedule *schedule, int64_t step);

#endif
