/* vector.h - one vector of floats and what the kernels do with it. A kernel file is compiled once a
 * level, with GSA_CPU_LANES 8 (AVX2, FMA) or 16 (AVX-512 F, VL, DQ, BW). Each operation stands here
 * once, for a register of the machine (`reg`). A vector is one register, or two:
 *   GSA_CPU_BY_NEON   8 lanes are two registers of four, so that every kernel of 8 lanes serves as
 *                     it is. 32 registers hold 16 such vectors, as many as AVX2 has;
 *   GSA_CPU_EMULATES  16 lanes are two registers of AVX2, for machines without AVX-512: to be
 *                     right, not fast (level GSA_CPU_EMULATED of kernels/backend.h).
 * Operators and shuffles are the compilers' own, of vector types.
 *
 * `first` forms touch the first n lanes alone, 0 <= n <= LANES: rows of any width are read where
 * they are, nothing is padded. */
#ifndef GSA_CPU_VECTOR_H
#define GSA_CPU_VECTOR_H
#include "kernels/cpu/isa/rename.h"
#include <stdint.h>
#include <string.h>
#if defined GSA_CPU_BY_NEON
#include <arm_neon.h>
#else
#include <immintrin.h>
#endif
#if defined GSA_CPU_BY_NEON || defined GSA_CPU_EMULATES
#define REG_LANES (GSA_CPU_LANES / 2)
#define VEC_TWO   1 /* a vector is two registers */
#else
#define REG_LANES GSA_CPU_LANES
#define VEC_TWO   0
#endif

/* Arguments known where it is called: counts of loops become code. */
#define CPU_INLINE static inline __attribute__((always_inline))

enum { LANES = GSA_CPU_LANES, QUADS = LANES / 4 /* groups of four lanes */ };

/* ---- a register --------------------------------------------------------------------------- */

typedef int32_t reg_int __attribute__((vector_size(4 * REG_LANES)));
typedef float reg_at __attribute__((vector_size(4 * REG_LANES), aligned(4), may_alias));

#if defined GSA_CPU_BY_NEON
typedef float32x4_t reg;
#define REG_ALL(x)         vdupq_n_f32(x)
#define REG_FOUR(at)       vld1q_f32(at)
#define REG_FMA(a, b, c)   vfmaq_f32(c, a, b) /* a b + c */
#define REG_SQRT(x)        vsqrtq_f32(x)
#define REG_ROUND(x)       vrndnq_f32(x)
#define REG_MAX(a, b)      REG_IF((a) > (b), a, b) /* b where either is NaN; REG_MIN likewise */
#define REG_MIN(a, b)      REG_IF((a) < (b), a, b)
#define REG_STREAM(at, x)  vst1q_f32(at, x) /* there are no stores past the caches */
#define REG_IF(m, yes, no) vbslq_f32((uint32x4_t)(m), yes, no)
#define REG_BITS(m)        vaddvq_u32((uint32x4_t)((m)&reg_each))
#define VEC_REGISTER(x)    "+w"(x) /* for asm: a float in one of the vectors' registers */
#define VEC_PREFETCH(x)    "prfm pldl2keep, %0" : : "Q"(x)
#else
#if REG_LANES == 16
typedef __m512 reg;
#define VEC_X86(call)      _mm512_##call
#define REG_FOUR(at)       _mm512_broadcast_f32x4(_mm_loadu_ps(at))
#define REG_ROUND(x)       _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define REG_IF(m, yes, no) _mm512_mask_mov_ps(no, m, yes)
#define REG_BITS(m)        (unsigned)(m)
#else
typedef __m256 reg;
#define VEC_X86(call)      _mm256_##call
#define REG_FOUR(at)       _mm256_broadcast_ps((const void *)(at))
#define REG_ROUND(x)       _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define REG_IF(m, yes, no) _mm256_blendv_ps(no, yes, (reg)(m))
#define REG_BITS(m)        (unsigned)_mm256_movemask_ps((reg)(m))
#endif
#define REG_ALL(x)        VEC_X86(set1_ps)(x)
#define REG_FMA(a, b, c)  VEC_X86(fmadd_ps)(a, b, c)
#define REG_SQRT(x)       VEC_X86(sqrt_ps)(x)
#define REG_MAX(a, b)     VEC_X86(max_ps)(a, b)
#define REG_MIN(a, b)     VEC_X86(min_ps)(a, b)
#define REG_STREAM(at, x) VEC_X86(stream_ps)(at, x)
#define VEC_REGISTER(x)   "+v"(x)
#define VEC_PREFETCH(x)   "prefetcht1 %0" : : "m"(x)
#endif

/* Which lanes of a register are meant: bits where it has 16 of them, else -1 in each. */
#if REG_LANES == 16
typedef __mmask16 reg_mask;
#define REG_NOT_BELOW(a, b) _mm512_cmp_ps_mask(a, b, _CMP_NLT_UQ)
#define REG_NOT_UP_TO(a, b) _mm512_cmp_ps_mask(a, b, _CMP_NLE_UQ)
#define REG_DIFFER(a, b)    _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ)
#define REG_WHERE(m, x)     _mm512_maskz_mov_ps(m, x) /* 0 elsewhere */
#define REG_FIRST(n)        (reg_mask)((1u << (n)) - 1u)
#define REG_OF_BITS(bits)   (reg_mask)(bits)
#else
typedef reg_int reg_mask;
#if REG_LANES == 8
static const reg_int reg_places = { 0, 1, 2, 3, 4, 5, 6, 7 };
static const reg_int reg_each = { 1, 2, 4, 8, 16, 32, 64, 128 };
#else
static const reg_int reg_places = { 0, 1, 2, 3 }, reg_each = { 1, 2, 4, 8 };
#endif
#define REG_NOT_BELOW(a, b) ~((a) < (b))
#define REG_NOT_UP_TO(a, b) ~((a) <= (b))
#define REG_DIFFER(a, b)    ((a) != (b))
#define REG_WHERE(m, x)     (reg)((m) & (reg_int)(x))
#define REG_FIRST(n)        (reg_places < (n))
#define REG_OF_BITS(bits)   (((int32_t)(bits)&reg_each) == reg_each)
#endif

/* Of each quad lanes i, j, k, l: of a's, and from 4 on of b's. */
#define REG_PLACE(q, i)         4 * (q) + (i) % 4 + (i) / 4 * REG_LANES
#define REG_QUAD(q, i, j, k, l) REG_PLACE(q, i), REG_PLACE(q, j), REG_PLACE(q, k), REG_PLACE(q, l)
#if REG_LANES == 16
#define REG_SHUFFLE(a, b, ...)                                                                     \
    __builtin_shufflevector(a, b, REG_QUAD(0, __VA_ARGS__), REG_QUAD(1, __VA_ARGS__),              \
                            REG_QUAD(2, __VA_ARGS__), REG_QUAD(3, __VA_ARGS__))
#elif REG_LANES == 8
#define REG_SHUFFLE(a, b, ...)                                                                     \
    __builtin_shufflevector(a, b, REG_QUAD(0, __VA_ARGS__), REG_QUAD(1, __VA_ARGS__))
#else
#define REG_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#endif

/* ---- a vector of registers ----------------------------------------------------------------- */

#if VEC_TWO
typedef struct vec {
    reg low, high;
} vec;
typedef struct lanes { /* which lanes a `first` form touches */
    reg_mask low, high;
} lanes;
#define VEC_ALSO(...)        __VA_ARGS__ /* with a second register */
#define VEC_OF(first, ...)   ((vec){ first, __VA_ARGS__ })
#define LANES_OF(first, ...) ((lanes){ first, __VA_ARGS__ })
#define VEC_HALF(x, half)    (x).half
#define VEC_EACH(DO, ...)    DO(low, __VA_ARGS__) DO(high, __VA_ARGS__)
/* The kernels unroll: in line these are minutes of compiling. */
#define VEC_CALLED static __attribute__((noinline, unused))
#else
typedef reg vec;
typedef reg_mask lanes;
#define VEC_ALSO(...)
#define VEC_OF(first, ...)   (first)
#define LANES_OF(first, ...) (first)
#define VEC_HALF(x, half)    (x)
#define VEC_EACH(DO, ...)    DO(low, __VA_ARGS__)
#define VEC_CALLED           static inline
#endif

/* A function of vectors x, y, z by an expression of their registers a, b, c. */
#define VEC_DO(half, y, z, expression)                                                             \
    {                                                                                              \
        const reg a = VEC_HALF(x, half), b = VEC_HALF(y, half), c = VEC_HALF(z, half);             \
        (void)b, (void)c;                                                                          \
        VEC_HALF(to, half) = (expression);                                                         \
    }
#define VEC_FUNCTION(name, arguments, ...)                                                         \
    static inline vec name arguments                                                               \
    {                                                                                              \
        vec to;                                                                                    \
        VEC_EACH(VEC_DO, __VA_ARGS__)                                                              \
        return to;                                                                                 \
    }
#define VEC_OF_ONE(name, ...)   VEC_FUNCTION(name, (vec x), x, x, __VA_ARGS__)
#define VEC_OF_TWO(name, ...)   VEC_FUNCTION(name, (vec x, vec y), y, y, __VA_ARGS__)
#define VEC_OF_THREE(name, ...) VEC_FUNCTION(name, (vec x, vec y, vec z), y, z, __VA_ARGS__)

VEC_OF_TWO(vec_add, a + b)
VEC_OF_TWO(vec_sub, a - b)
VEC_OF_TWO(vec_mul, (a * b))
VEC_OF_TWO(vec_div, a / b)
VEC_OF_TWO(vec_max, REG_MAX(a, b))
VEC_OF_TWO(vec_min, REG_MIN(a, b))
VEC_OF_THREE(vec_fma, REG_FMA(a, b, c))
VEC_OF_ONE(vec_sqrt, REG_SQRT(a))
VEC_OF_ONE(vec_round, REG_ROUND(a))
VEC_OF_THREE(vec_unless_zero, REG_IF(REG_DIFFER(a, REG_ALL(0)), b, c))    /* b, c where a is 0 */
VEC_OF_THREE(vec_if_positive, REG_IF(REG_NOT_UP_TO(a, REG_ALL(0)), b, c)) /* b for NaN */
VEC_OF_THREE(vec_zero_below, REG_WHERE(REG_NOT_BELOW(a, c), b))           /* b, 0 where a < c */
/* 2^n, n whole, -126 .. 127; of x > 0 and normal e and m with x = m 2^e, 1 <= m < 2. */
VEC_OF_ONE(vec_two_to, (reg)((__builtin_convertvector(a, reg_int) + 127) << 23))
VEC_OF_ONE(vec_exponent, __builtin_convertvector(((reg_int)a >> 23) - 127, reg))
VEC_OF_ONE(vec_mantissa, (reg)(((reg_int)a & 0x7fffff) | (reg_int)REG_ALL(1)))
/* Of each four lanes: 1 0 3 2; 2 3 0 1; a0 b0 a1 b1; a2 b2 a3 b3; a0 a1 b0 b1; a2 a3 b2 b3. */
VEC_OF_ONE(vec_swap_one, REG_SHUFFLE(a, a, 1, 0, 3, 2))
VEC_OF_ONE(vec_swap_two, REG_SHUFFLE(a, a, 2, 3, 0, 1))
VEC_OF_TWO(vec_unpack_low, REG_SHUFFLE(a, b, 0, 4, 1, 5))
VEC_OF_TWO(vec_unpack_high, REG_SHUFFLE(a, b, 2, 6, 3, 7))
VEC_OF_TWO(vec_pairs_low, REG_SHUFFLE(a, b, 0, 1, 4, 5))
VEC_OF_TWO(vec_pairs_high, REG_SHUFFLE(a, b, 2, 3, 6, 7))

static inline vec vec_all(float x)
{
    return VEC_OF(REG_ALL(x), REG_ALL(x));
}
static inline vec vec_zero(void)
{
    return vec_all(0);
}
static inline vec vec_four(const float *x) /* x[0 .. 3] in each quad */
{
    return VEC_OF(REG_FOUR(x), REG_FOUR(x));
}
static inline vec vec_load(const float *at)
{
    return VEC_OF(*(const reg_at *)at, *(const reg_at *)(at + REG_LANES));
}
static inline void vec_store(float *at, vec x)
{
    memcpy(at, &x, sizeof x);
}
/* x 2^n, n whole: in two steps, as 2^n alone may not be a float. */
static inline vec vec_scale_two(vec x, vec n)
{
#if REG_LANES == 16
    return _mm512_scalef_ps(x, n);
#else
    const vec half = vec_round(vec_mul(n, vec_all(0.5f)));
    return vec_mul(vec_mul(x, vec_two_to(half)), vec_two_to(vec_sub(n, half)));
#endif
}

/* ---- lanes --------------------------------------------------------------------------------- */

static inline lanes lanes_first(int n)
{
    return LANES_OF(REG_FIRST(n), REG_FIRST(n - REG_LANES));
}
static inline lanes lanes_of_bits(unsigned bits)
{
    return LANES_OF(REG_OF_BITS(bits), REG_OF_BITS(bits >> REG_LANES));
}
static inline unsigned lanes_bits(lanes m)
{
    return REG_BITS(VEC_HALF(m, low)) VEC_ALSO(| REG_BITS(m.high) << REG_LANES);
}
static inline vec vec_keep(lanes m, vec x, vec other) /* x in m, other elsewhere */
{
    return VEC_OF(REG_IF(VEC_HALF(m, low), VEC_HALF(x, low), VEC_HALF(other, low)),
                  REG_IF(VEC_HALF(m, high), VEC_HALF(x, high), VEC_HALF(other, high)));
}
static inline unsigned vec_bits_differ(vec x, vec y) /* all bits where both are NaN */
{
    return lanes_bits(LANES_OF(REG_DIFFER(VEC_HALF(x, low), VEC_HALF(y, low)),
                               REG_DIFFER(VEC_HALF(x, high), VEC_HALF(y, high))));
}
static inline unsigned vec_bits_nonzero(vec x)
{
    return vec_bits_differ(x, vec_zero());
}
static inline int vec_has_nan(vec x)
{
    return vec_bits_differ(x, x) != 0;
}

/* Memory outside of the lanes is not touched; they are the first ones. */
#if REG_LANES == 16
#define REG_LOAD_FIRST(at, m)     _mm512_maskz_loadu_ps(m, at)
#define REG_STORE_FIRST(at, m, x) _mm512_mask_storeu_ps(at, m, x)
#else
#define REG_STORE_FIRST reg_store_first
#if REG_LANES == 8
#define REG_LOAD_FIRST(at, m) _mm256_maskload_ps(at, (__m256i)(m))
/* By parts of 4, 2 and 1: a store by a mask takes a dozen cycles on Zen. */
static inline void reg_store_first(float *at, reg_mask m, reg x)
{
    unsigned bits = REG_BITS(m);
    __m128 left = _mm256_castps256_ps128(x);
    if (bits & 8) _mm_storeu_ps(at, left), left = _mm256_extractf128_ps(x, 1), at += 4, bits >>= 4;
    if (bits & 8) _mm_storeu_ps(at, left);
    else {
        if (bits & 2)
            _mm_storel_pi((void *)at, left), left = _mm_movehl_ps(left, left), at += 2, bits >>= 2;
        if (bits & 1) _mm_store_ss(at, left);
    }
}
#else
#define REG_LOAD_FIRST reg_load_first
static inline reg reg_load_first(const float *at, reg_mask m)
{
    reg x = REG_ALL(0);
    for (int i = 0; i < REG_LANES; i++)
        if (m[i]) x[i] = at[i];
    return x;
}
static inline void reg_store_first(float *at, reg_mask m, reg x)
{
    for (int i = 0; i < REG_LANES; i++)
        if (m[i]) at[i] = x[i];
}
#endif
#endif
VEC_CALLED vec vec_load_first(const float *at, lanes m)
{
    return VEC_OF(REG_LOAD_FIRST(at, VEC_HALF(m, low)),
                  REG_LOAD_FIRST(at + REG_LANES, VEC_HALF(m, high)));
}
VEC_CALLED void vec_store_first(float *at, lanes m, vec x)
{
    REG_STORE_FIRST(at, VEC_HALF(m, low), VEC_HALF(x, low));
    VEC_ALSO(REG_STORE_FIRST(at + REG_LANES, m.high, x.high);)
}

/* CALL(..., i, m, whole) for the vectors of the elements from .. end-1: all lanes of those at i are
 * there (whole), or those in m. */
#define VEC_ALONG(from, end, CALL, ...)                                                            \
    {                                                                                              \
        int64_t i_ = from;                                                                         \
        for (; i_ + LANES <= (end); i_ += LANES) CALL(__VA_ARGS__, i_, lanes_first(LANES), 1);     \
        if (i_ < (end)) CALL(__VA_ARGS__, i_, lanes_first((int)((end)-i_)), 0);                    \
    }
CPU_INLINE vec vec_take(const float *at, lanes m, int whole)
{
    return whole ? vec_load(at) : vec_load_first(at, m);
}
CPU_INLINE void vec_put(float *at, lanes m, int whole, vec x)
{
    if (whole) vec_store(at, x);
    else vec_store_first(at, m, x);
}

/* ---- quads --------------------------------------------------------------------------------- */

/* Of each lane of a quad: the same of the quads half a vector on; a quarter on (16 lanes).
 * vec_fold: quad j is the sum of w[j]'s quads. lanes_of_quad_bits: quad i has which of 4 words have
 * a bit. */
#if REG_LANES == 16
#define VEC_QUADS(a, b, how) _mm512_shuffle_f32x4(a, b, how)
#define VEC_HALF_ON(x)       VEC_QUADS(x, x, 0x4E)
#define VEC_QUARTER_ON(x)    VEC_QUADS(x, x, 0xB1)
static inline vec vec_fold(const vec w[QUADS])
{
    const vec a = vec_add(VEC_QUADS(w[0], w[1], 0x44), VEC_QUADS(w[0], w[1], 0xEE)),
              b = vec_add(VEC_QUADS(w[2], w[3], 0x44), VEC_QUADS(w[2], w[3], 0xEE));
    return vec_add(VEC_QUADS(a, b, 0x88), VEC_QUADS(a, b, 0xDD));
}
static inline lanes lanes_of_quad_bits(const uint32_t *const words[QUADS], const int *bit)
{
    unsigned all = 0;
    for (int i = 0; i < QUADS; i++)
        all |= (unsigned)_mm_test_epi32_mask(_mm_loadu_si128((const void *)words[i]),
                                             _mm_set1_epi32((int)(1u << bit[i])))
               << 4 * i;
    return (lanes)all;
}
#else
typedef int32_t quad_at __attribute__((vector_size(16), aligned(4), may_alias));
static inline quad_at quad_has(const uint32_t *words, int bit)
{
    const int32_t it = (int32_t)(1u << bit);
    return (*(const quad_at *)words & it) == it;
}
#if REG_LANES == 8
#define REG_HAS(i)                                                                                 \
    __builtin_shufflevector(quad_has(words[i], bit[i]), quad_has(words[(i) + 1], bit[(i) + 1]), 0, \
                            1, 2, 3, 4, 5, 6, 7)
#define REG_TURNED(x) _mm256_permute2f128_ps(x, x, 0x01)
static inline reg reg_fold(reg a, reg b)
{
    return _mm256_blend_ps(a, b, 0xF0) + _mm256_permute2f128_ps(a, b, 0x21);
}
#else
#define REG_HAS(i)    quad_has(words[i], bit[i])
#define REG_TURNED(x) (x)
#endif
static inline lanes lanes_of_quad_bits(const uint32_t *const words[QUADS], const int *bit)
{
    return LANES_OF(REG_HAS(0), REG_HAS(QUADS / 2));
}
#if VEC_TWO
#define VEC_HALF_ON(x)    ((vec){ (x).high, (x).low })
#define VEC_QUARTER_ON(x) ((vec){ REG_TURNED((x).low), REG_TURNED((x).high) })
static inline vec vec_fold(const vec w[QUADS])
{
    reg sum[QUADS];
    for (int i = 0; i < QUADS; i++) sum[i] = w[i].low + w[i].high;
#if REG_LANES == 8
    return (vec){ reg_fold(sum[0], sum[1]), reg_fold(sum[2], sum[3]) };
#else
    return (vec){ sum[0], sum[1] };
#endif
}
#else
#define VEC_HALF_ON(x)    REG_TURNED(x)
#define VEC_QUARTER_ON(x) (x)
static inline vec vec_fold(const vec w[QUADS])
{
    return reg_fold(w[0], w[1]);
}
#endif
#endif

/* Lane 4 j + r: of[j + r][r], a matrix with rows of 4. vec_pick: for each lane one of two vectors',
 * 0 .. 2 LANES - 1. */
#if REG_LANES == 16
static inline vec vec_pick(vec a, vec b, const int32_t *from)
{
    return _mm512_permutex2var_ps(a, _mm512_loadu_si512(from), b);
}
#elif GSA_CPU_LANES == 16
VEC_CALLED vec vec_pick(vec a, vec b, const int32_t *from)
{
    float x[2 * LANES], y[LANES];
    vec_store(x, a), vec_store(x + LANES, b);
    for (int i = 0; i < LANES; i++) y[i] = x[from[i] % (2 * LANES)];
    return vec_load(y);
}
#endif
#if GSA_CPU_LANES == 16
static inline vec vec_diagonals_of(vec first, vec then)
{
    static const int32_t from[16] = { 0, 5, 10, 15, 4, 9, 14, 19, 8, 13, 18, 23, 12, 17, 22, 27 };
    return vec_pick(first, then, from);
}
#endif
static inline vec vec_diagonals(const float *of)
{
#if GSA_CPU_LANES == 16
    return vec_diagonals_of(vec_load(of), vec_load(of + 16));
#elif REG_LANES == 8
    const reg even = _mm256_blend_ps(vec_load(of), vec_load(of + 4), 0x22),
              odd = _mm256_blend_ps(vec_load(of + 8), vec_load(of + 12), 0x88);
    return _mm256_blend_ps(even, odd, 0xCC);
#else
    return (vec){ { of[0], of[5], of[10], of[15] }, { of[4], of[9], of[14], of[19] } };
#endif
}

/* ---- memory and registers ------------------------------------------------------------------ */

/* Past the caches, `at` a multiple of a vector's bytes; vec_stream_end before others read it. */
static inline void vec_stream(float *at, vec x)
{
#if defined GSA_CPU_EMULATES
    if ((uintptr_t)at % 64 != 0) __builtin_trap(); /* as AVX-512 does */
#endif
    REG_STREAM(at, VEC_HALF(x, low));
    VEC_ALSO(REG_STREAM(at + REG_LANES, x.high);)
}
static inline void vec_stream_end(void)
{
#if !defined GSA_CPU_BY_NEON
    _mm_sfence();
#endif
}

/* Requests a line that is read later, into the second cache. Not __builtin_prefetch: gcc takes a
 * function that does nothing else for one without effect and leaves out its calls. */
static inline void vec_prefetch(const float *at)
{
    __asm__ volatile(VEC_PREFETCH(*at));
}

/* x, read once: gcc reads it anew for each multiplication otherwise, and reading binds where each
 * number is used a few times. */
static inline vec vec_held(vec x)
{
    __asm__("" : VEC_REGISTER(VEC_HALF(x, low)) VEC_ALSO(, VEC_REGISTER(x.high)));
    return x;
}

/* a b + c where c is: with all registers in use gcc copies sums from one to another (AVX2). */
static inline vec vec_fma_in_place(vec a, vec b, vec c)
{
#if VEC_TWO || REG_LANES == 16
    return vec_fma(a, b, c);
#else
    __asm__("vfmadd231ps %2, %1, %0" : "+x"(c) : "x"(a), "xm"(b));
    return c;
#endif
}

/* y[0 .. 3] += x[0 .. 3]. */
static inline void vec_add_four(float *y, const float *x)
{
    typedef float four __attribute__((vector_size(16), aligned(4), may_alias));
    *(four *)y += *(const four *)x;
}

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
    const vec two = vec_add(x, VEC_HALF_ON(x));
    return QUADS == 4 ? vec_add(two, VEC_QUARTER_ON(two)) : two;
}
static inline vec vec_quads_max(vec x)
{
    const vec two = vec_max(x, VEC_HALF_ON(x));
    return QUADS == 4 ? vec_max(two, VEC_QUARTER_ON(two)) : two;
}

/* e^x: 2^n e^r with |r| <= ln 2 / 2, e^r by its series to degree 7 (largest relative error 1.2e-7
 * over -87.3 .. 88.7, tested). Above 88.72 the result is inf, below -103.97 it is 0, NaN stays NaN.
 * Of some vectors together, step by step: each step waits for the one before, and a second vector
 * fills the wait.
 * `down`: for x of at most 0, and 0 where e^x is no normal number: weights next to one of 1. They
 * are scaled by 2^n in one step, where that is one less. */
enum { VEC_SOME = 4 };
CPU_INLINE void vec_exp_as(vec *x, int n, int down)
{
    static const float series[] = { 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1, 1 };
    const vec least = vec_all(down ? -87.33654f : -103.972077f);
    vec whole[VEC_SOME], r[VEC_SOME], y[VEC_SOME];
    for (int i = 0; i < n; i++) /* NaN: max and min give their second operand */
        r[i] = down ? vec_max(least, x[i]) : vec_max(vec_all(-104), vec_min(vec_all(89), x[i]));
    for (int i = 0; i < n; i++) whole[i] = vec_round(vec_mul(r[i], vec_all(1.44269504088896341f)));
    for (int i = 0; i < n; i++) r[i] = vec_fma(whole[i], vec_all(-0.693145751953125f), r[i]);
    for (int i = 0; i < n; i++)
        r[i] = vec_fma(whole[i], vec_all(-1.42860682030941723212e-6f), r[i]);
    for (int i = 0; i < n; i++) y[i] = vec_all(1.0f / 5040);
    for (int k = 0; k < 7; k++)
        for (int i = 0; i < n; i++) y[i] = vec_fma(y[i], r[i], vec_all(series[k]));
    for (int i = 0; i < n; i++) {
        y[i] = down ? vec_mul(y[i], vec_two_to(whole[i])) : vec_scale_two(y[i], whole[i]);
        x[i] = vec_zero_below(x[i], y[i], least);
    }
}
CPU_INLINE void vec_exp_some(vec *x, int n)
{
    vec_exp_as(x, n, 0);
}
CPU_INLINE void vec_exp_down_some(vec *x, int n)
{
    vec_exp_as(x, n, LANES == 8);
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
    const vec whole = vec_mantissa(x),
              over = vec_zero_below(whole, vec_all(1), vec_all(1.41421356f));
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
