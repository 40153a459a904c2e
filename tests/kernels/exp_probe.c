/* exp_probe.c - what the vectors compute, compiled at each level, for test_cpu.c. */
#include "kernels/cpu/isa/vector.h"

void cpu_exp_probe(float *y, const float *x, int count);
void cpu_log_probe(float *y, const float *x, int count);

void cpu_exp_probe(float *y, const float *x, int count)
{
    for (int i = 0; i < count; i += LANES) {
        const lanes live = lanes_first(count - i < LANES ? count - i : LANES);
        vec_store_first(y + i, live, vec_exp(vec_load_first(x + i, live)));
    }
}

void cpu_log_probe(float *y, const float *x, int count)
{
    for (int i = 0; i < count; i += LANES) {
        const lanes live = lanes_first(count - i < LANES ? count - i : LANES);
        vec_store_first(y + i, live, vec_log(vec_load_first(x + i, live)));
    }
}
