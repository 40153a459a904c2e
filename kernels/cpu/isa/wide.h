/* wide.h - sums in double of vectors of float, lane by lane. */
#ifndef GSA_CPU_WIDE_H
#define GSA_CPU_WIDE_H
#include "kernels/cpu/isa/vector.h"

#if defined GSA_CPU_EMULATES || defined GSA_CPU_BY_NEON
typedef struct half_wide {
    double lane[LANES / 2];
} half_wide;
#define WIDE_EACH(i) for (int i = 0; i < LANES / 2; i++)
static inline half_wide wide_half(vec x, int first)
{
    float each[LANES];
    half_wide y;
    vec_store(each, x);
    WIDE_EACH(i) y.lane[i] = each[first + i];
    return y;
}
static inline half_wide wide_low(vec x)
{
    return wide_half(x, 0);
}
static inline half_wide wide_high(vec x)
{
    return wide_half(x, LANES / 2);
}
static inline half_wide half_add(half_wide a, half_wide b)
{
    WIDE_EACH(i) a.lane[i] += b.lane[i];
    return a;
}
static inline half_wide half_add_square(half_wide a, half_wide b) /* squares of floats are exact */
{
    WIDE_EACH(i) a.lane[i] += b.lane[i] * b.lane[i];
    return a;
}
static inline half_wide half_zero(void)
{
    return (half_wide){ { 0 } };
}
static inline void half_store(double *at, half_wide x)
{
    WIDE_EACH(i) at[i] = x.lane[i];
}
#else
#if GSA_CPU_LANES == 16
typedef __m512d half_wide;
static inline half_wide wide_low(vec x)
{
    return _mm512_cvtps_pd(_mm512_castps512_ps256(x));
}
static inline half_wide wide_high(vec x)
{
    return _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1));
}
#else
typedef __m256d half_wide;
static inline half_wide wide_low(vec x)
{
    return _mm256_cvtps_pd(_mm256_castps256_ps128(x));
}
static inline half_wide wide_high(vec x)
{
    return _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
}
#endif
static inline half_wide half_add(half_wide a, half_wide b)
{
    return VEC_X86(add_pd)(a, b);
}
static inline half_wide half_add_square(half_wide a, half_wide b)
{
    return VEC_X86(fmadd_pd)(b, b, a);
}
static inline half_wide half_zero(void)
{
    return VEC_X86(setzero_pd)();
}
static inline void half_store(double *at, half_wide x)
{
    VEC_X86(storeu_pd)(at, x);
}
#endif

typedef struct wide {
    half_wide low, high;
} wide;

static inline wide wide_zero(void)
{
    return (wide){ half_zero(), half_zero() };
}

static inline wide wide_add(wide sum, vec x)
{
    return (wide){ half_add(sum.low, wide_low(x)), half_add(sum.high, wide_high(x)) };
}

static inline wide wide_add_square(wide sum, vec x)
{
    return (wide){ half_add_square(sum.low, wide_low(x)), half_add_square(sum.high, wide_high(x)) };
}

static inline double wide_sum(wide x)
{
    double each[LANES / 2];
    half_store(each, half_add(x.low, x.high));
    for (int n = LANES / 4; n > 0; n /= 2)
        for (int i = 0; i < n; i++) each[i] += each[i + n];
    return each[0];
}

#endif
