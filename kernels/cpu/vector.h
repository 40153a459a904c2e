/* vector.h - one vector of floats and what the kernels do with it. A kernel file is compiled once a level, with GSA_CPU_LANES 8
 * (AVX2, FMA) or 16 (AVX-512 F, VL, DQ, BW); GSA_CPU(name) is the name of an op at that level.
 *
 * `first` forms touch the first n lanes alone, 0 <= n <= LANES: rows of any width are read where they stand, nothing is padded. */
#ifndef GSA_CPU_VECTOR_H
#define GSA_CPU_VECTOR_H
#include <immintrin.h>
#include <stdint.h>

#if GSA_CPU_LANES == 16
#define GSA_CPU(name) gsa_cpu_avx512_##name
#else
#define GSA_CPU(name) gsa_cpu_avx2_##name
#endif
enum { LANES = GSA_CPU_LANES };

#if GSA_CPU_LANES == 16
typedef __m512 vec;
typedef __mmask16 lanes; /* which lanes a `first` form touches */

static inline lanes lanes_first(int n) { return (lanes)((1u << n) - 1u); }
static inline vec vec_zero(void) { return _mm512_setzero_ps(); }
static inline vec vec_all(float x) { return _mm512_set1_ps(x); }
static inline vec vec_load(const float *at) { return _mm512_loadu_ps(at); }
static inline void vec_store(float *at, vec x) { _mm512_storeu_ps(at, x); }
static inline vec vec_load_first(const float *at, lanes m) { return _mm512_maskz_loadu_ps(m, at); }
static inline void vec_store_first(float *at, lanes m, vec x) { _mm512_mask_storeu_ps(at, m, x); }
static inline vec vec_add(vec a, vec b) { return _mm512_add_ps(a, b); }
static inline vec vec_sub(vec a, vec b) { return _mm512_sub_ps(a, b); }
static inline vec vec_mul(vec a, vec b) { return _mm512_mul_ps(a, b); }
static inline vec vec_fma(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); } /* a b + c */
static inline vec vec_max(vec a, vec b) { return _mm512_max_ps(a, b); }             /* b where either is NaN */
static inline vec vec_min(vec a, vec b) { return _mm512_min_ps(a, b); }             /* likewise */
static inline vec vec_round(vec x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
static inline vec vec_scale_two(vec x, vec n) { return _mm512_scalef_ps(x, n); }    /* x 2^n, n whole */
static inline vec vec_zero_below(vec x, vec value, float least)                     /* value, 0 where x < least */
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, vec_all(least), _CMP_NLT_UQ), value);
}
static inline int vec_has_nan(vec x) { return _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q) != 0; }
static inline __m256 vec_half_max(vec x) { return _mm256_max_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1)); }
static inline __m256 vec_half(vec x) { return _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1)); }
#else
typedef __m256 vec;
typedef __m256i lanes;

static inline lanes lanes_first(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline vec vec_zero(void) { return _mm256_setzero_ps(); }
static inline vec vec_all(float x) { return _mm256_set1_ps(x); }
static inline vec vec_load(const float *at) { return _mm256_loadu_ps(at); }
static inline void vec_store(float *at, vec x) { _mm256_storeu_ps(at, x); }
static inline vec vec_load_first(const float *at, lanes m) { return _mm256_maskload_ps(at, m); }
static inline void vec_store_first(float *at, lanes m, vec x) { _mm256_maskstore_ps(at, m, x); }
static inline vec vec_add(vec a, vec b) { return _mm256_add_ps(a, b); }
static inline vec vec_sub(vec a, vec b) { return _mm256_sub_ps(a, b); }
static inline vec vec_mul(vec a, vec b) { return _mm256_mul_ps(a, b); }
static inline vec vec_fma(vec a, vec b, vec c) { return _mm256_fmadd_ps(a, b, c); }
static inline vec vec_max(vec a, vec b) { return _mm256_max_ps(a, b); }
static inline vec vec_min(vec a, vec b) { return _mm256_min_ps(a, b); }
static inline vec vec_round(vec x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
static inline vec vec_two_to(vec n) /* n whole, -126 .. 127 */
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23));
}
static inline vec vec_scale_two(vec x, vec n) /* in two steps, as 2^n alone may not be a float */
{
    const vec half = vec_round(vec_mul(n, vec_all(0.5f)));
    return vec_mul(vec_mul(x, vec_two_to(half)), vec_two_to(vec_sub(n, half)));
}
static inline vec vec_zero_below(vec x, vec value, float least)
{
    return _mm256_and_ps(_mm256_cmp_ps(x, vec_all(least), _CMP_NLT_UQ), value);
}
static inline int vec_has_nan(vec x) { return _mm256_movemask_ps(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)) != 0; }
static inline __m256 vec_half_max(vec x) { return x; }
static inline __m256 vec_half(vec x) { return x; }
#endif

/* The sums of a, b, c, d over their lanes. */
static inline __m128 vec_sum_four(vec a, vec b, vec c, vec d)
{
    const __m256 ab = _mm256_hadd_ps(vec_half(a), vec_half(b)), cd = _mm256_hadd_ps(vec_half(c), vec_half(d));
    const __m256 all = _mm256_hadd_ps(ab, cd);
    return _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1));
}

static inline float vec_sum(vec x)
{
    return _mm_cvtss_f32(vec_sum_four(x, vec_zero(), vec_zero(), vec_zero()));
}

/* The largest lane; no lane is NaN. */
static inline float vec_top(vec x)
{
    const __m256 half = vec_half_max(x);
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}

/* e^x: 2^n e^r with |r| <= ln 2 / 2, e^r by its series to degree 7 (largest relative error 1.2e-7 over -87.3 .. 88.7, tested).
 * Above 88.72 the result is inf, below -103.97 it is 0, NaN stays NaN. */
static inline vec vec_exp(vec x)
{
    const vec low = vec_max(vec_all(-104), vec_min(vec_all(89), x)); /* NaN: max and min give their second operand */
    const vec n = vec_round(vec_mul(low, vec_all(1.44269504088896341f)));
    const vec r = vec_fma(n, vec_all(-1.42860682030941723212e-6f), vec_fma(n, vec_all(-0.693145751953125f), low));
    vec y = vec_all(1.0f / 5040);
    y = vec_fma(y, r, vec_all(1.0f / 720));
    y = vec_fma(y, r, vec_all(1.0f / 120));
    y = vec_fma(y, r, vec_all(1.0f / 24));
    y = vec_fma(y, r, vec_all(1.0f / 6));
    y = vec_fma(y, r, vec_all(0.5f));
    y = vec_fma(y, r, vec_all(1));
    y = vec_fma(y, r, vec_all(1));
    return vec_zero_below(x, vec_scale_two(y, n), -103.972077f);
}

#endif
