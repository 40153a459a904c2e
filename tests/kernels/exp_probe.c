/* exp_probe.c - what the vectors compute, compiled at each level, for test_cpu.c. */
#include "kernels/cpu/vector.h"

void GSA_CPU(exp_probe)(float *y, const float *x, int count);
void GSA_CPU(log_probe)(float *y, const float *x, int count);

void GSA_CPU(exp_probe)(float *y, const float *x, int count)
{
    for (int i = 0; i < count; i += LANES) {
        const lanes live = lanes_first(count - i < LANES ? count - i : LANES);
        vec_store_first(y + i, live, vec_exp(vec_load_first(x + i, live)));
    }
}

void GSA_CPU(log_probe)(float *y, const float *x, int count)
{
    for (int i = 0; i < count; i += LANES) {
        const lanes live = lanes_first(count - i < LANES ? count - i : LANES);
        vec_store_first(y + i, live, vec_log(vec_load_first(x + i, live)));
    }
}
