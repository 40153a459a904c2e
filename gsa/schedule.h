/* schedule.h - the learning rate of a step, a pure function: any thread, cost O(1).
 *
 * Example:
 *
 *     const gsa_schedule rate = { GSA_SCHEDULE_COSINE, 0, 1000, 100, 1e-3, 0, 0.1 }; // warm-up 100
 *     for (int64_t step = 0; step < 1000; step += 100)
 *         printf("step %d: %g\n", (int)step, gsa_schedule_rate(&rate, step));
 *     return gsa_schedule_rate(&rate, 99) != 1e-3;
 *
 */
#ifndef GSA_SCHEDULE_H
#define GSA_SCHEDULE_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How the learning rate changes with the step. */
enum gsa_schedule_kind {
    GSA_SCHEDULE_CONSTANT,
    GSA_SCHEDULE_LINEAR,
    GSA_SCHEDULE_COSINE,
    GSA_SCHEDULE_NOAM,
    GSA_SCHEDULE_HOLD_LINEAR
};

/* The learning rate of each step; gsa_schedule_rate computes it. */
typedef struct gsa_schedule {
    int32_t kind, hidden; /* gsa_schedule_kind; hidden: Noam, >= 1 */
    int64_t steps;        /* planned, >= 1 */
    int64_t warmup;       /* linear warm-up: lr (step+1) / warmup while step < warmup; Noam: >= 1 */
    double lr;            /* the highest rate; Noam: its factor */
    double hold;          /* hold_linear: share of the steps at full lr, 0 .. 1 */
    double final;         /* linear, cosine, hold_linear: the last rate as a share of lr */
} gsa_schedule;

/* step counts from 0; at steps-1 linear, cosine and hold_linear reach final x lr, later steps stay
 * there. hold_linear keeps lr for hold x steps. Noam (Vaswani et al. 2017, eq. 3): lr hidden^-0.5
 * min((step+1)^-0.5, (step+1) warmup^-1.5). */
double gsa_schedule_rate(const gsa_schedule *schedule, int64_t step);

#ifdef __cplusplus
}
#endif
#endif
