/* wide.h - sums in double of vectors of float, lane by lane. */
#ifndef GSA_CPU_WIDE_H
#define GSA_CPU_WIDE_H
#include "kernels/cpu/isa/vector.h"

typedef double half_wide __attribute__((vector_size(4 * GSA_CPU_LANES)));
typedef struct wide {
    half_wide low, high;
} wide;

#if VEC_TWO
#define WIDE_LOW(x)  (x).low
#define WIDE_HIGH(x) (x).high
#elif REG_LANES == 16
#define WIDE_LOW(x)  _mm512_castps512_ps256(x)
#define WIDE_HIGH(x) _mm512_extractf32x8_ps(x, 1)
#else
#define WIDE_LOW(x)  _mm256_castps256_ps128(x)
#define WIDE_HIGH(x) _mm256_extractf128_ps(x, 1)
#endif

CPU_INLINE wide wide_of(vec x)
{
    return (wide){ __builtin_convertvector(WIDE_LOW(x), half_wide),
                   __builtin_convertvector(WIDE_HIGH(x), half_wide) };
}

CPU_INLINE wide wide_zero(void)
{
    return (wide){ { 0 }, { 0 } };
}

CPU_INLINE wide wide_add(wide sum, vec x)
{
    const wide y = wide_of(x);
    return (wide){ sum.low + y.low, sum.high + y.high };
}

CPU_INLINE wide wide_add_square(wide sum, vec x) /* squares of floats are exact */
{
    const wide y = wide_of(x);
    return (wide){ sum.low + y.low * y.low, sum.high + y.high * y.high };
}

CPU_INLINE double wide_sum(wide x)
{
    half_wide each = x.low + x.high;
    for (int n = LANES / 4; n > 0; n /= 2)
        for (int i = 0; i < n; i++) each[i] += each[i + n];
    return each[0];
}

#endif
