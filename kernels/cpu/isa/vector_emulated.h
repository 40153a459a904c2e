/* vector_emulated.h - what vector.h has of AVX-512, for machines without it: 16 lanes as two
 * vectors of AVX2, and lane by lane in C where AVX2 has no such instruction. It is there to be
 * right, not fast: kernels written for 16 lanes are tested by it everywhere (level GSA_CPU_EMULATED
 * of kernels/backend.h). */
#ifndef GSA_CPU_VECTOR_EMULATED_H
#define GSA_CPU_VECTOR_EMULATED_H
#include <math.h>
#include <string.h>

typedef struct vec {
    __m256 low, high;
} vec;
typedef uint16_t lanes;
typedef struct picks {
    int32_t from[16];
} picks;

#define VEC_BOTH(call, x)        ((vec){ call((x).low), call((x).high) })
#define VEC_BOTH_TWO(call, x, y) ((vec){ call((x).low, (y).low), call((x).high, (y).high) })
#define VEC_EACH(i)              for (int i = 0; i < 16; i++)
#define VEC_CALLED                                                                                 \
    static __attribute__((                                                                         \
        noinline, unused)) /* the kernels unroll: in line these are minutes of compiling */

static inline lanes lanes_first(int n)
{
    return (lanes)((1u << n) - 1u);
}
static inline lanes lanes_of_bits(unsigned bits)
{
    return (lanes)bits;
}
static inline vec vec_zero(void)
{
    return (vec){ _mm256_setzero_ps(), _mm256_setzero_ps() };
}
static inline vec vec_all(float x)
{
    return (vec){ _mm256_set1_ps(x), _mm256_set1_ps(x) };
}
static inline vec vec_load(const float *at)
{
    return (vec){ _mm256_loadu_ps(at), _mm256_loadu_ps(at + 8) };
}
static inline void vec_store(float *at, vec x)
{
    _mm256_storeu_ps(at, x.low), _mm256_storeu_ps(at + 8, x.high);
}
static inline vec vec_add(vec a, vec b)
{
    return VEC_BOTH_TWO(_mm256_add_ps, a, b);
}
static inline vec vec_sub(vec a, vec b)
{
    return VEC_BOTH_TWO(_mm256_sub_ps, a, b);
}
static inline vec vec_mul(vec a, vec b)
{
    return VEC_BOTH_TWO(_mm256_mul_ps, a, b);
}
static inline vec vec_div(vec a, vec b)
{
    return VEC_BOTH_TWO(_mm256_div_ps, a, b);
}
static inline vec vec_max(vec a, vec b)
{
    return VEC_BOTH_TWO(_mm256_max_ps, a, b);
}
static inline vec vec_min(vec a, vec b)
{
    return VEC_BOTH_TWO(_mm256_min_ps, a, b);
}
static inline vec vec_sqrt(vec x)
{
    return VEC_BOTH(_mm256_sqrt_ps, x);
}
static inline vec vec_fma(vec a, vec b, vec c)
{
    return (vec){ _mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high) };
}
static inline vec vec_round(vec x)
{
    enum { NEAREST = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };
    return (vec){ _mm256_round_ps(x.low, NEAREST), _mm256_round_ps(x.high, NEAREST) };
}

/* Masks: memory outside them is not touched. */
VEC_CALLED vec vec_load_first(const float *at, lanes m)
{
    float x[16] = { 0 };
    VEC_EACH(i)
    if (m >> i & 1) x[i] = at[i];
    return vec_load(x);
}
VEC_CALLED void vec_store_first(float *at, lanes m, vec y)
{
    float x[16];
    vec_store(x, y);
    VEC_EACH(i)
    if (m >> i & 1) at[i] = x[i];
}
VEC_CALLED vec vec_keep(lanes m, vec x, vec other)
{
    float a[16], b[16];
    vec_store(a, x), vec_store(b, other);
    VEC_EACH(i) b[i] = m >> i & 1 ? a[i] : b[i];
    return vec_load(b);
}
static inline unsigned vec_bits_of(__m256 low, __m256 high)
{
    return (unsigned)_mm256_movemask_ps(low) | (unsigned)_mm256_movemask_ps(high) << 8;
}
#define VEC_BITS(a, b, how)                                                                        \
    vec_bits_of(_mm256_cmp_ps((a).low, (b).low, how), _mm256_cmp_ps((a).high, (b).high, how))
static inline unsigned vec_bits_nonzero(vec x)
{
    return VEC_BITS(x, vec_zero(), _CMP_NEQ_UQ);
}
static inline int vec_has_nan(vec x)
{
    return VEC_BITS(x, x, _CMP_UNORD_Q) != 0;
}
static inline vec vec_zero_below(vec x, vec value, float least)
{
    return vec_keep((lanes)VEC_BITS(x, vec_all(least), _CMP_NLT_UQ), value, vec_zero());
}
static inline vec vec_unless_zero(vec x, vec value, vec zero)
{
    return vec_keep((lanes)vec_bits_nonzero(x), value, zero);
}
static inline vec vec_if_positive(vec x, vec yes, vec no)
{
    return vec_keep((lanes)VEC_BITS(x, vec_zero(), _CMP_NLE_UQ), yes, no);
}
VEC_CALLED lanes lanes_of_quad_bits(const uint32_t *const words[4], const int *bit)
{
    unsigned all = 0;
    VEC_EACH(i) all |= (words[i / 4][i % 4] >> bit[i / 4] & 1u) << i;
    return (lanes)all;
}

/* Numbers lane by lane. */
VEC_CALLED vec vec_scale_two(vec x, vec n)
{
    float a[16], b[16];
    vec_store(a, x), vec_store(b, n);
    VEC_EACH(i) a[i] = isnan(b[i]) ? b[i] : ldexpf(a[i], (int)b[i]);
    return vec_load(a);
}
VEC_CALLED vec vec_exponent(vec x)
{
    float a[16];
    vec_store(a, x);
    VEC_EACH(i) a[i] = isfinite(a[i]) ? logbf(a[i]) : a[i];
    return vec_load(a);
}
VEC_CALLED vec vec_mantissa(vec x)
{
    float a[16];
    vec_store(a, x);
    VEC_EACH(i)
    {
        int exponent;
        a[i] = isinf(a[i]) || a[i] == 0 ? 1
               : isnan(a[i])            ? a[i]
                                        : 2 * frexpf(fabsf(a[i]), &exponent);
    }
    return vec_load(a);
}

/* Lanes moved. `from` of a lane: one of a's, or 16 and more: of b's. */
VEC_CALLED picks picks_load(const int32_t *from)
{
    picks p;
    memcpy(p.from, from, sizeof p.from);
    return p;
}
VEC_CALLED vec vec_pick(vec a, vec b, picks p)
{
    float x[32], y[16];
    vec_store(x, a), vec_store(x + 16, b);
    VEC_EACH(i) y[i] = x[p.from[i] & 31];
    return vec_load(y);
}
/* Quads: lane 4 j + i of the result is a lane of quad j of a (or, where `of` says 4 and more, of
 * b); lane l is of quad[l / 4]. */
VEC_CALLED vec vec_in_quads(vec a, vec b, int first, int second, int third, int fourth)
{
    const int of[4] = { first, second, third, fourth };
    float x[16], y[16], z[16];
    vec_store(x, a), vec_store(y, b);
    VEC_EACH(i) z[i] = of[i % 4] < 4 ? x[i / 4 * 4 + of[i % 4]] : y[i / 4 * 4 + of[i % 4] - 4];
    return vec_load(z);
}
VEC_CALLED vec vec_of_quads(vec a, vec b, int first, int second, int third,
                            int fourth) /* of b: 4 and more */
{
    const int of[4] = { first, second, third, fourth };
    float x[32], z[16];
    vec_store(x, a), vec_store(x + 16, b);
    VEC_EACH(i) z[i] = x[4 * of[i / 4] + i % 4];
    return vec_load(z);
}
static inline vec vec_unpack_low(vec a, vec b)
{
    return VEC_BOTH_TWO(_mm256_unpacklo_ps, a, b);
}
static inline vec vec_unpack_high(vec a, vec b)
{
    return VEC_BOTH_TWO(_mm256_unpackhi_ps, a, b);
}
static inline vec vec_pairs_low(vec a, vec b)
{
    return vec_in_quads(a, b, 0, 1, 4, 5);
}
static inline vec vec_pairs_high(vec a, vec b)
{
    return vec_in_quads(a, b, 2, 3, 6, 7);
}
static inline vec vec_swap_one(vec x)
{
    return vec_in_quads(x, x, 1, 0, 3, 2);
}
static inline vec vec_swap_two(vec x)
{
    return vec_in_quads(x, x, 2, 3, 0, 1);
}
static inline vec vec_turn_halves(vec x)
{
    return vec_of_quads(x, x, 2, 3, 0, 1);
}
static inline vec vec_turn_quarters(vec x)
{
    return vec_of_quads(x, x, 1, 0, 3, 2);
}
VEC_CALLED vec vec_fold(const vec w[4])
{
    const vec a =
        vec_add(vec_of_quads(w[0], w[1], 0, 1, 4, 5), vec_of_quads(w[0], w[1], 2, 3, 6, 7));
    const vec b =
        vec_add(vec_of_quads(w[2], w[3], 0, 1, 4, 5), vec_of_quads(w[2], w[3], 2, 3, 6, 7));
    return vec_add(vec_of_quads(a, b, 0, 2, 4, 6), vec_of_quads(a, b, 1, 3, 5, 7));
}
static inline vec vec_four(const float *x)
{
    const __m256 four = _mm256_broadcast_ps((const void *)x);
    return (vec){ four, four };
}

/* AVX-512's stores past the caches trap where `at` is no multiple of 64; so does this. */
static inline void vec_stream(float *at, vec x)
{
    if ((uintptr_t)at % 64 != 0) __builtin_trap();
    _mm256_stream_ps(at, x.low), _mm256_stream_ps(at + 8, x.high);
}
static inline vec vec_held(vec x)
{
    return x;
}
static inline vec vec_fma_in_place(vec a, vec b, vec c)
{
    return vec_fma(a, b, c);
}

#endif
