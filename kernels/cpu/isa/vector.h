/* vector.h - one vector of floats and what the kernels do with it. A kernel file is compiled once a
 * level, with GSA_CPU_LANES 8 (AVX2, FMA) or 16 (AVX-512 F, VL, DQ, BW, or with GSA_CPU_EMULATES
 * what stands for it), or
 * with GSA_CPU_BY_NEON 8 lanes of NEON (vector_neon.h).
 *
 * `first` forms touch the first n lanes alone, 0 <= n <= LANES: rows of any width are read where
 * they are, nothing is padded. */
#ifndef GSA_CPU_VECTOR_H
#define GSA_CPU_VECTOR_H
#include "kernels/cpu/isa/rename.h"
#include <stdint.h>
#if defined GSA_CPU_BY_NEON
#define VEC_REGISTER(x) "+w"(x) /* for asm: a float in one of the vectors' registers */
#else
#include <immintrin.h>
#define VEC_REGISTER(x) "+x"(x)
#endif

enum { LANES = GSA_CPU_LANES, QUADS = LANES / 4 /* groups of four lanes */ };

#if defined GSA_CPU_EMULATES
#include "kernels/cpu/isa/vector_emulated.h"
#elif defined GSA_CPU_BY_NEON
#include "kernels/cpu/isa/vector_neon.h"
#else
/* What both levels of x86 have under one name but for the width in it. */
#if GSA_CPU_LANES == 16
typedef __m512 vec;
#define VEC_X86(call) _mm512_##call
#else
typedef __m256 vec;
#define VEC_X86(call) _mm256_##call
#endif
static inline vec vec_zero(void)
{
    return VEC_X86(setzero_ps)();
}
static inline vec vec_all(float x)
{
    return VEC_X86(set1_ps)(x);
}
static inline vec vec_load(const float *at)
{
    return VEC_X86(loadu_ps)(at);
}
static inline void vec_store(float *at, vec x)
{
    VEC_X86(storeu_ps)(at, x);
}
static inline vec vec_fma(vec a, vec b, vec c) /* a b + c */
{
    return VEC_X86(fmadd_ps)(a, b, c);
}
static inline vec vec_sqrt(vec x)
{
    return VEC_X86(sqrt_ps)(x);
}
static inline vec vec_swap_one(vec x) /* of each four: 1 0 3 2 */
{
    return VEC_X86(permute_ps)(x, 0xB1);
}
static inline vec vec_swap_two(vec x) /* of each four: 2 3 0 1 */
{
    return VEC_X86(permute_ps)(x, 0x4E);
}
static inline void vec_stream(float *at, vec x) /* past the caches; vec_stream_end before others */
{
    VEC_X86(stream_ps)(at, x);
}
#define VEC_OF_TWO(name, call)                                                                     \
    static inline vec name(vec a, vec b)                                                           \
    {                                                                                              \
        return VEC_X86(call)(a, b);                                                                \
    }
VEC_OF_TWO(vec_add, add_ps)
VEC_OF_TWO(vec_sub, sub_ps)
VEC_OF_TWO(vec_mul, mul_ps)
VEC_OF_TWO(vec_div, div_ps)
VEC_OF_TWO(vec_max, max_ps) /* b where either is NaN; vec_min likewise */
VEC_OF_TWO(vec_min, min_ps)
VEC_OF_TWO(vec_unpack_low, unpacklo_ps)
VEC_OF_TWO(vec_unpack_high, unpackhi_ps)

#if GSA_CPU_LANES == 16
typedef __mmask16 lanes; /* which lanes a `first` form touches */

static inline lanes lanes_first(int n)
{
    return (lanes)((1u << n) - 1u);
}
static inline vec vec_load_first(const float *at, lanes m)
{
    return _mm512_maskz_loadu_ps(m, at);
}
static inline void vec_store_first(float *at, lanes m, vec x)
{
    _mm512_mask_storeu_ps(at, m, x);
}
static inline vec vec_round(vec x)
{
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline vec vec_scale_two(vec x, vec n)
{
    return _mm512_scalef_ps(x, n);
} /* x 2^n, n whole */
static inline vec vec_zero_below(vec x, vec value, float least) /* value, 0 where x < least */
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, vec_all(least), _CMP_NLT_UQ), value);
}
static inline unsigned vec_bits_nonzero(vec x)
{
    return _mm512_cmp_ps_mask(x, vec_zero(), _CMP_NEQ_UQ);
}
static inline int vec_has_nan(vec x)
{
    return _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q) != 0;
}
static inline vec vec_unless_zero(vec x, vec value, vec zero) /* value, `zero` where x is 0 */
{
    return _mm512_mask_mov_ps(zero, _mm512_cmp_ps_mask(x, vec_zero(), _CMP_NEQ_UQ), value);
}
static inline vec vec_if_positive(vec x, vec yes, vec no) /* yes where x is above 0 or NaN */
{
    return _mm512_mask_mov_ps(no, _mm512_cmp_ps_mask(x, vec_zero(), _CMP_NLE_UQ), yes);
}
static inline lanes lanes_of_bits(unsigned bits)
{
    return (lanes)bits;
}
static inline vec vec_keep(lanes m, vec x, vec other)
{
    return _mm512_mask_mov_ps(other, m, x);
} /* x in m, other elsewhere */
static inline vec vec_exponent(vec x)
{
    return _mm512_getexp_ps(x);
} /* x > 0, normal */
static inline vec vec_mantissa(vec x)
{
    return _mm512_getmant_ps(x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_zero);
} /* 1 <= m < 2 */
typedef __m512i picks; /* for each lane a lane of two vectors, 0 .. 2 LANES - 1 */
static inline picks picks_load(const int32_t *from)
{
    return _mm512_loadu_si512(from);
}
static inline vec vec_pick(vec a, vec b, picks from)
{
    return _mm512_permutex2var_ps(a, from, b);
}
static inline vec vec_pairs_low(vec a, vec b)
{
    return _mm512_shuffle_ps(a, b, 0x44);
} /* of each four: a0 a1 b0 b1 */
static inline vec vec_pairs_high(vec a, vec b)
{
    return _mm512_shuffle_ps(a, b, 0xEE);
}
static inline vec vec_fold(const vec w[QUADS]) /* quad j: the sum of w[j]'s quads */
{
    const vec a =
        vec_add(_mm512_shuffle_f32x4(w[0], w[1], 0x44), _mm512_shuffle_f32x4(w[0], w[1], 0xEE));
    const vec b =
        vec_add(_mm512_shuffle_f32x4(w[2], w[3], 0x44), _mm512_shuffle_f32x4(w[2], w[3], 0xEE));
    return vec_add(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xDD));
}
static inline vec vec_turn_halves(vec x)
{
    return _mm512_shuffle_f32x4(x, x, 0x4E);
}
static inline vec vec_turn_quarters(vec x)
{
    return _mm512_shuffle_f32x4(x, x, 0xB1);
} /* of each half: its quads the other way round */
static inline lanes lanes_of_quad_bits(const uint32_t *const words[QUADS],
                                       const int *bit) /* quad i: which of 4 words have it */
{
    unsigned all = 0;
    for (int i = 0; i < QUADS; i++)
        all |= (unsigned)_mm_test_epi32_mask(_mm_loadu_si128((const void *)words[i]),
                                             _mm_set1_epi32((int)(1u << bit[i])))
               << 4 * i;
    return (lanes)all;
}
#else
typedef __m256i lanes;

static inline lanes lanes_first(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline vec vec_load_first(const float *at, lanes m)
{
    return _mm256_maskload_ps(at, m);
}
/* Of lanes_first alone. By parts of 4, 2 and 1: a store by a mask takes a dozen cycles on Zen. */
static inline void vec_store_first(float *at, lanes m, vec x)
{
    unsigned bits = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(m));
    __m128 part = _mm256_castps256_ps128(x);
    if (bits & 8) _mm_storeu_ps(at, part), part = _mm256_extractf128_ps(x, 1), at += 4, bits >>= 4;
    if (bits & 8) _mm_storeu_ps(at, part);
    else {
        if (bits & 2)
            _mm_storel_pi((void *)at, part), part = _mm_movehl_ps(part, part), at += 2, bits >>= 2;
        if (bits & 1) _mm_store_ss(at, part);
    }
}
static inline vec vec_round(vec x)
{
    return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline vec vec_two_to(vec n) /* n whole, -126 .. 127 */
{
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23));
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
static inline unsigned vec_bits_nonzero(vec x)
{
    return (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(x, vec_zero(), _CMP_NEQ_UQ));
}
static inline int vec_has_nan(vec x)
{
    return _mm256_movemask_ps(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)) != 0;
}
static inline vec vec_unless_zero(vec x, vec value, vec zero)
{
    return _mm256_blendv_ps(zero, value, _mm256_cmp_ps(x, vec_zero(), _CMP_NEQ_UQ));
}
static inline vec vec_if_positive(vec x, vec yes, vec no)
{
    return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(x, vec_zero(), _CMP_NLE_UQ));
}
static inline lanes lanes_of_bits(unsigned bits)
{
    const __m256i each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), each), each);
}
static inline vec vec_keep(lanes m, vec x, vec other)
{
    return _mm256_blendv_ps(other, x, _mm256_castsi256_ps(m));
}
static inline vec vec_exponent(vec x)
{
    return _mm256_cvtepi32_ps(
        _mm256_sub_epi32(_mm256_srli_epi32(_mm256_castps_si256(x), 23), _mm256_set1_epi32(127)));
}
static inline vec vec_mantissa(vec x)
{
    return _mm256_or_ps(_mm256_and_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffff))),
                        vec_all(1));
}
typedef __m256i picks;
static inline picks picks_load(const int32_t *from)
{
    return _mm256_loadu_si256((const void *)from);
}
static inline vec vec_pick(vec a, vec b, picks from)
{
    return _mm256_blendv_ps(
        _mm256_permutevar8x32_ps(a, from), _mm256_permutevar8x32_ps(b, from),
        _mm256_castsi256_ps(_mm256_cmpgt_epi32(from, _mm256_set1_epi32(LANES - 1))));
}
static inline vec vec_pairs_low(vec a, vec b)
{
    return _mm256_shuffle_ps(a, b, 0x44);
}
static inline vec vec_pairs_high(vec a, vec b)
{
    return _mm256_shuffle_ps(a, b, 0xEE);
}
static inline vec vec_fold(const vec w[QUADS])
{
    return vec_add(_mm256_blend_ps(w[0], w[1], 0xF0), _mm256_permute2f128_ps(w[0], w[1], 0x21));
}
static inline vec vec_turn_halves(vec x)
{
    return _mm256_permute2f128_ps(x, x, 0x01);
}
static inline vec vec_turn_quarters(vec x)
{
    return x;
}
static inline lanes lanes_of_quad_bits(const uint32_t *const words[QUADS], const int *bit)
{
    __m128i quad[QUADS];
    for (int i = 0; i < QUADS; i++) {
        const __m128i it = _mm_set1_epi32((int)(1u << bit[i]));
        quad[i] = _mm_cmpeq_epi32(_mm_and_si128(_mm_loadu_si128((const void *)words[i]), it), it);
    }
    return _mm256_set_m128i(quad[1], quad[0]);
}
static inline vec
vec_diagonals(const float *of) /* lane 4 j + r: of[j + r][r], a matrix with rows of 4 */
{
    const vec even = _mm256_blend_ps(_mm256_loadu_ps(of), _mm256_loadu_ps(of + 4), 0x22);
    return _mm256_blend_ps(
        even, _mm256_blend_ps(_mm256_loadu_ps(of + 8), _mm256_loadu_ps(of + 12), 0x88), 0xCC);
}
#endif
#endif

#if GSA_CPU_LANES == 16
static inline vec vec_diagonals(const float *of) /* lane 4 j + r: of[j + r][r], as at 8 lanes */
{
    static const int32_t from[16] = { 0, 5, 10, 15, 4, 9, 14, 19, 8, 13, 18, 23, 12, 17, 22, 27 };
    return vec_pick(vec_load(of), vec_load(of + 16), picks_load(from));
}
#endif

#if !defined GSA_CPU_BY_NEON
static inline void vec_stream_end(void)
{
    _mm_sfence();
}

/* Requests a line that is read later, into the second cache. Not __builtin_prefetch: gcc takes a
 * function that does nothing else for one without effect and leaves out its calls. */
static inline void vec_prefetch(const float *at)
{
    __asm__ volatile("prefetcht1 %0" : : "m"(*at));
}

#if !defined GSA_CPU_EMULATES
/* x, read once: gcc reads it anew for each multiplication otherwise, and reading binds where each
 * number is used a few times. */
static inline vec vec_held(vec x)
{
    __asm__("" : "+v"(x));
    return x;
}

/* a b + c where c is: with all registers in use gcc copies sums from one to another (AVX2). */
static inline vec vec_fma_in_place(vec a, vec b, vec c)
{
#if GSA_CPU_LANES == 16
    return vec_fma(a, b, c);
#else
    __asm__("vfmadd231ps %2, %1, %0" : "+x"(c) : "x"(a), "xm"(b));
    return c;
#endif
}

/* x[0 .. 3] in each quad. */
static inline vec vec_four(const float *x)
{
#if GSA_CPU_LANES == 16
    return _mm512_broadcast_f32x4(_mm_loadu_ps(x));
#else
    return _mm256_broadcast_ps((const void *)x);
#endif
}

#endif

/* y[0 .. 3] += x[0 .. 3]. */
static inline void vec_add_four(float *y, const float *x)
{
    _mm_storeu_ps(y, _mm_add_ps(_mm_loadu_ps(y), _mm_loadu_ps(x)));
}
#endif

/* Of each four lanes: the sums over a's, b's, c's, d's four. */
static inline vec vec_sum_fours(vec a, vec b, vec c, vec d)
{
    const vec ab = vec_add(vec_unpack_low(a, b), vec_unpack_high(a, b)),
              cd = vec_add(vec_unpack_low(c, d), vec_unpack_high(c, d));
    return vec_add(vec_pairs_low(ab, cd), vec_pairs_high(ab, cd));
}

static inline float vec_first(vec x) /* lane 0 */
{
    float each[LANES];
    vec_store(each, x);
    return each[0];
}

static inline float vec_sum(vec x)
{
    float each[LANES], sum = 0;
    vec_store(each, x);
    for (int i = 0; i < LANES; i++) sum += each[i];
    return sum;
}

/* Of each four lanes: their sum, their maximum, in all four. */
static inline vec vec_quad_sum(vec x)
{
    const vec two = vec_add(x, vec_swap_one(x));
    return vec_add(two, vec_swap_two(two));
}
static inline vec vec_quad_max(vec x)
{
    const vec two = vec_max(x, vec_swap_one(x));
    return vec_max(two, vec_swap_two(two));
}

/* Of each lane of a quad: the sum, the maximum over the quads, in all of them. */
static inline vec vec_quads_sum(vec x)
{
    const vec two = vec_add(x, vec_turn_halves(x));
    return QUADS == 4 ? vec_add(two, vec_turn_quarters(two)) : two;
}
static inline vec vec_quads_max(vec x)
{
    const vec two = vec_max(x, vec_turn_halves(x));
    return QUADS == 4 ? vec_max(two, vec_turn_quarters(two)) : two;
}

/* e^x: 2^n e^r with |r| <= ln 2 / 2, e^r by its series to degree 7 (largest relative error 1.2e-7
 * over -87.3 .. 88.7, tested). Above 88.72 the result is inf, below -103.97 it is 0, NaN stays NaN.
 * Of some vectors together, step by step: each step waits for the one before, and a second vector
 * fills the wait. */
enum { VEC_SOME = 4 };
static inline __attribute__((always_inline)) void vec_exp_some(vec *x, int n)
{
    static const float series[] = { 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1, 1 };
    vec whole[VEC_SOME], r[VEC_SOME], y[VEC_SOME];
    for (int i = 0; i < n; i++)
        r[i] = vec_max(vec_all(-104),
                       vec_min(vec_all(89), x[i])); /* NaN: they give their second operand */
    for (int i = 0; i < n; i++) whole[i] = vec_round(vec_mul(r[i], vec_all(1.44269504088896341f)));
    for (int i = 0; i < n; i++) r[i] = vec_fma(whole[i], vec_all(-0.693145751953125f), r[i]);
    for (int i = 0; i < n; i++)
        r[i] = vec_fma(whole[i], vec_all(-1.42860682030941723212e-6f), r[i]);
    for (int i = 0; i < n; i++) y[i] = vec_all(1.0f / 5040);
    for (int k = 0; k < 7; k++)
        for (int i = 0; i < n; i++) y[i] = vec_fma(y[i], r[i], vec_all(series[k]));
    for (int i = 0; i < n; i++)
        x[i] = vec_zero_below(x[i], vec_scale_two(y[i], whole[i]), -103.972077f);
}

/* The same for x of at most 0, and 0 where e^x is no normal number: weights next to one of 1. AVX2
 * scales by 2^n in one step then. */
static inline __attribute__((always_inline)) void vec_exp_down_some(vec *x, int n)
{
#if GSA_CPU_LANES == 16
    vec_exp_some(x, n);
#else
    static const float series[] = { 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1, 1 };
    vec whole[VEC_SOME], r[VEC_SOME], y[VEC_SOME];
    for (int i = 0; i < n; i++) r[i] = vec_max(vec_all(-87.33654f), x[i]);
    for (int i = 0; i < n; i++) whole[i] = vec_round(vec_mul(r[i], vec_all(1.44269504088896341f)));
    for (int i = 0; i < n; i++) r[i] = vec_fma(whole[i], vec_all(-0.693145751953125f), r[i]);
    for (int i = 0; i < n; i++)
        r[i] = vec_fma(whole[i], vec_all(-1.42860682030941723212e-6f), r[i]);
    for (int i = 0; i < n; i++) y[i] = vec_all(1.0f / 5040);
    for (int k = 0; k < 7; k++)
        for (int i = 0; i < n; i++) y[i] = vec_fma(y[i], r[i], vec_all(series[k]));
    for (int i = 0; i < n; i++)
        x[i] = vec_zero_below(x[i], vec_mul(y[i], vec_two_to(whole[i])), -87.33654f);
#endif
}
static inline vec vec_exp(vec x)
{
    vec_exp_some(&x, 1);
    return x;
}

/* ln x for x >= 1, -inf for 0, NaN for NaN: x = m 2^e with 1/sqrt 2 <= m < sqrt 2, ln m by a
 * polynomial in m - 1 (Moshier's Cephes: largest error 1e-7 of the larger of ln x and x - 1,
 * tested). */
static inline vec vec_log(vec x)
{
    static const float p[] = { 7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,
                               -1.2420140846e-1f, 1.4249322787e-1f,  -1.6668057665e-1f,
                               2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f };
    const vec whole = vec_mantissa(x), over = vec_zero_below(whole, vec_all(1), 1.41421356f);
    const vec e = vec_add(vec_exponent(x), over),
              f = vec_sub(vec_sub(whole, vec_mul(vec_mul(over, vec_all(0.5f)), whole)), vec_all(1));
    const vec square = vec_mul(f, f);
    vec y = vec_all(p[0]);
    for (int i = 1; i < 9; i++) y = vec_fma(y, f, vec_all(p[i]));
    y = vec_fma(vec_mul(y, f), square, vec_mul(e, vec_all(-2.12194440e-4f)));
    y = vec_add(f, vec_fma(square, vec_all(-0.5f), y));
    y = vec_fma(e, vec_all(0.693359375f), y);
    return vec_unless_zero(x, vec_add(y, vec_sub(x, x)), vec_all(-__builtin_inff()));
}

#endif
