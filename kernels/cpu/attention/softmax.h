/* softmax.h - exponentials of scores, VEC_SOME vectors step by step together: alone each would
 * wait for the one before. */
#ifndef GSA_CPU_SOFTMAX_H
#define GSA_CPU_SOFTMAX_H
#include "kernels/cpu/isa/vector.h"

/* s <- exp(s - from) of so many vectors, `from` the largest of each lane's row; returns the sums,
 * those of a row's quads in all of them. */
static inline vec cpu_exponents(float *s, int32_t vectors, vec from)
{
    vec sum = vec_zero();
    for (int32_t j = 0, some; j < vectors; j += some) {
        vec p[VEC_SOME];
        some = vectors - j < VEC_SOME ? 1 : VEC_SOME;
        for (int i = 0; i < some; i++) p[i] = vec_sub(vec_load(s + (j + i) * LANES), from);
        if (some == VEC_SOME) vec_exp_down_some(p, VEC_SOME);
        else vec_exp_down_some(p, 1);
        for (int i = 0; i < some; i++)
            vec_store(s + (j + i) * LANES, p[i]), sum = vec_add(sum, p[i]);
    }
    return vec_quads_sum(sum);
}

#endif
