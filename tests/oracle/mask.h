/* mask.h - the dropout masks of the law, from Philox4x32-10 written here a second time. */
#ifndef ORACLE_MASK_H
#define ORACLE_MASK_H
#include <stdint.h>

/* Random123's philox4x32-10. */
void oracle_philox(uint32_t word[4], const uint32_t counter[4], const uint32_t key[2]);

/* Where a mask is drawn: (seed, step) and the site of the phase. */
typedef struct oracle_mask {
    double p;
    uint32_t seed, step, site;
} oracle_mask;
/* 0 or 1 / (1-p). */
double oracle_mask_edge(const oracle_mask *mask, int32_t example, int64_t row, int k, int head);
double oracle_mask_state(const oracle_mask *mask, int32_t example, int64_t row, int column);

#endif
