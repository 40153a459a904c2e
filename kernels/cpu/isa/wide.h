/* wide.h - sums in double of vectors of float, lane by lane. */
#ifndef GSA_CPU_WIDE_H
#define GSA_CPU_WIDE_H
#include "kernels/cpu/isa/vector.h"

#if defined GSA_CPU_EMULATES
typedef struct half_wide {
    __m256d low, high;
} half_wide;
static inline half_wide wide_of(__m256 x)
{
    return (half_wide){ _mm256_cvtps_pd(_mm256_castps256_ps128(x)),
                        _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)) };
}
static inline half_wide wide_low(vec x)
{
    return wide_of(x.low);
}
static inline half_wide wide_high(vec x)
{
    return wide_of(x.high);
}
static inline half_wide half_add(half_wide a, half_wide b)
{
    return (half_wide){ _mm256_add_pd(a.low, b.low), _mm256_add_pd(a.high, b.high) };
}
static inline half_wide half_add_square(half_wide a, half_wide b)
{
    return (half_wide){ _mm256_fmadd_pd(b.low, b.low, a.low),
                        _mm256_fmadd_pd(b.high, b.high, a.high) };
}
static inline half_wide half_zero(void)
{
    return (half_wide){ _mm256_setzero_pd(), _mm256_setzero_pd() };
}
static inline void half_store(double *at, half_wide x)
{
    _mm256_storeu_pd(at, x.low), _mm256_storeu_pd(at + 4, x.high);
}
#elif defined GSA_CPU_BY_NEON
typedef struct half_wide {
    float64x2_t low, high;
} half_wide;
static inline half_wide wide_of(float32x4_t x)
{
    return (half_wide){ vcvt_f64_f32(vget_low_f32(x)), vcvt_high_f64_f32(x) };
}
static inline half_wide wide_low(vec x)
{
    return wide_of(x.low);
}
static inline half_wide wide_high(vec x)
{
    return wide_of(x.high);
}
static inline half_wide half_add(half_wide a, half_wide b)
{
    return (half_wide){ vaddq_f64(a.low, b.low), vaddq_f64(a.high, b.high) };
}
static inline half_wide half_add_square(half_wide a, half_wide b)
{
    return (half_wide){ vfmaq_f64(a.low, b.low, b.low), vfmaq_f64(a.high, b.high, b.high) };
}
static inline half_wide half_zero(void)
{
    return (half_wide){ vdupq_n_f64(0), vdupq_n_f64(0) };
}
static inline void half_store(double *at, half_wide x)
{
    vst1q_f64(at, x.low), vst1q_f64(at + 2, x.high);
}
#elif GSA_CPU_LANES == 16
typedef __m512d half_wide;
static inline half_wide wide_low(vec x)
{
    return _mm512_cvtps_pd(_mm512_castps512_ps256(x));
}
static inline half_wide wide_high(vec x)
{
    return _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1));
}
static inline half_wide half_add(half_wide a, half_wide b)
{
    return _mm512_add_pd(a, b);
}
static inline half_wide half_add_square(half_wide a, half_wide b)
{
    return _mm512_fmadd_pd(b, b, a);
}
static inline half_wide half_zero(void)
{
    return _mm512_setzero_pd();
}
static inline void half_store(double *at, half_wide x)
{
    _mm512_storeu_pd(at, x);
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
static inline half_wide half_add(half_wide a, half_wide b)
{
    return _mm256_add_pd(a, b);
}
static inline half_wide half_add_square(half_wide a, half_wide b)
{
    return _mm256_fmadd_pd(b, b, a);
}
static inline half_wide half_zero(void)
{
    return _mm256_setzero_pd();
}
static inline void half_store(double *at, half_wide x)
{
    _mm256_storeu_pd(at, x);
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
