/* vector_neon.h - what vector.h has of AVX2, by NEON of aarch64: 8 lanes as two registers of four,
 * so that every kernel of 8 lanes serves as it is. 32 registers hold 16 such vectors, as many
 * as AVX2 has. */
#ifndef GSA_CPU_VECTOR_NEON_H
#define GSA_CPU_VECTOR_NEON_H
#include <arm_neon.h>

typedef struct vec {
    float32x4_t low, high;
} vec;
typedef struct lanes { /* all bits set in the lanes that are meant */
    uint32x4_t low, high;
} lanes;
typedef struct picks {
    uint8x16_t low, high; /* bytes of two vectors */
} picks;

#define VEC_BOTH(call, x)        ((vec){ call((x).low), call((x).high) })
#define VEC_BOTH_TWO(call, x, y) ((vec){ call((x).low, (y).low), call((x).high, (y).high) })
#define VEC_COMPARE(call, x, y)  ((lanes){ call((x).low, (y).low), call((x).high, (y).high) })

static inline uint32x4_t vec_four_words(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    const uint32_t x[4] = { a, b, c, d };
    return vld1q_u32(x);
}
static inline unsigned lanes_bits(lanes m)
{
    return vaddvq_u32(vorrq_u32(vandq_u32(m.low, vec_four_words(1, 2, 4, 8)),
                                vandq_u32(m.high, vec_four_words(16, 32, 64, 128))));
}
static inline lanes lanes_first(int n)
{
    const int32x4_t all = vdupq_n_s32(n);
    return (lanes){ vcgtq_s32(all, vreinterpretq_s32_u32(vec_four_words(0, 1, 2, 3))),
                    vcgtq_s32(all, vreinterpretq_s32_u32(vec_four_words(4, 5, 6, 7))) };
}
static inline lanes lanes_of_bits(unsigned bits)
{
    const uint32x4_t all = vdupq_n_u32(bits);
    return (lanes){ vtstq_u32(all, vec_four_words(1, 2, 4, 8)),
                    vtstq_u32(all, vec_four_words(16, 32, 64, 128)) };
}
static inline lanes lanes_of_quad_bits(const uint32_t *const words[QUADS], const int *bit)
{
    return (lanes){ vtstq_u32(vld1q_u32(words[0]), vdupq_n_u32(1u << bit[0])),
                    vtstq_u32(vld1q_u32(words[1]), vdupq_n_u32(1u << bit[1])) };
}

static inline vec vec_zero(void)
{
    return (vec){ vdupq_n_f32(0), vdupq_n_f32(0) };
}
static inline vec vec_all(float x)
{
    return (vec){ vdupq_n_f32(x), vdupq_n_f32(x) };
}
static inline vec vec_load(const float *at)
{
    return (vec){ vld1q_f32(at), vld1q_f32(at + 4) };
}
static inline void vec_store(float *at, vec x)
{
    vst1q_f32(at, x.low), vst1q_f32(at + 4, x.high);
}

/* NEON has no loads by a mask: memory outside of it is not touched. The first 1, 2, 3 or 4 lanes as
 * they are mostly. */
static inline float32x4_t vec_half_load(const float *at, unsigned bits)
{
    if (bits == 15) return vld1q_f32(at);
    float32x4_t x = vdupq_n_f32(0);
    if (bits & 1) x = vld1q_lane_f32(at, x, 0);
    if (bits & 2) x = vld1q_lane_f32(at + 1, x, 1);
    if (bits & 4) x = vld1q_lane_f32(at + 2, x, 2);
    if (bits & 8) x = vld1q_lane_f32(at + 3, x, 3);
    return x;
}
static inline void vec_half_store(float *at, unsigned bits, float32x4_t x)
{
    if (bits == 15) {
        vst1q_f32(at, x);
        return;
    }
    if (bits & 1) vst1q_lane_f32(at, x, 0);
    if (bits & 2) vst1q_lane_f32(at + 1, x, 1);
    if (bits & 4) vst1q_lane_f32(at + 2, x, 2);
    if (bits & 8) vst1q_lane_f32(at + 3, x, 3);
}
static __attribute__((noinline, unused)) vec vec_load_first(const float *at, lanes m)
{
    const unsigned bits = lanes_bits(m);
    return (vec){ vec_half_load(at, bits & 15), vec_half_load(at + 4, bits >> 4) };
}
static __attribute__((noinline, unused)) void vec_store_first(float *at, lanes m, vec x)
{
    const unsigned bits = lanes_bits(m);
    vec_half_store(at, bits & 15, x.low), vec_half_store(at + 4, bits >> 4, x.high);
}

static inline vec vec_add(vec a, vec b)
{
    return VEC_BOTH_TWO(vaddq_f32, a, b);
}
static inline vec vec_sub(vec a, vec b)
{
    return VEC_BOTH_TWO(vsubq_f32, a, b);
}
static inline vec vec_mul(vec a, vec b)
{
    return VEC_BOTH_TWO(vmulq_f32, a, b);
}
static inline vec vec_div(vec a, vec b)
{
    return VEC_BOTH_TWO(vdivq_f32, a, b);
}
static inline vec vec_sqrt(vec x)
{
    return VEC_BOTH(vsqrtq_f32, x);
}
static inline vec vec_round(vec x)
{
    return VEC_BOTH(vrndnq_f32, x);
}
static inline vec vec_fma(vec a, vec b, vec c)
{
    return (vec){ vfmaq_f32(c.low, a.low, b.low), vfmaq_f32(c.high, a.high, b.high) };
}
static inline vec vec_keep(lanes m, vec x, vec other)
{
    return (vec){ vbslq_f32(m.low, x.low, other.low), vbslq_f32(m.high, x.high, other.high) };
}
static inline vec vec_max(vec a, vec b)
{
    return vec_keep(VEC_COMPARE(vcgtq_f32, a, b), a, b);
} /* b where either is NaN */
static inline vec vec_min(vec a, vec b)
{
    return vec_keep(VEC_COMPARE(vcltq_f32, a, b), a, b);
}
static inline float32x4_t vec_half_two_to(float32x4_t n)
{
    return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(vcvtnq_s32_f32(n), vdupq_n_s32(127)), 23));
}
static inline vec vec_two_to(vec n)
{
    return VEC_BOTH(vec_half_two_to, n);
} /* n whole, -126 .. 127 */
static inline vec vec_scale_two(vec x, vec n) /* in two steps, as 2^n alone may not be a float */
{
    const vec half = vec_round(vec_mul(n, vec_all(0.5f)));
    return vec_mul(vec_mul(x, vec_two_to(half)), vec_two_to(vec_sub(n, half)));
}
static inline vec vec_zero_below(vec x, vec value, float least)
{
    return vec_keep(VEC_COMPARE(vcltq_f32, x, vec_all(least)), vec_zero(), value);
}
static inline unsigned vec_bits_nonzero(vec x)
{
    return lanes_bits(VEC_COMPARE(vceqq_f32, x, vec_zero())) ^ 0xFF;
}
static inline int vec_has_nan(vec x)
{
    return lanes_bits(VEC_COMPARE(vceqq_f32, x, x)) != 0xFF;
}
static inline vec vec_unless_zero(vec x, vec value, vec zero)
{
    return vec_keep(VEC_COMPARE(vceqq_f32, x, vec_zero()), zero, value);
}
static inline vec vec_if_positive(vec x, vec yes, vec no) /* yes where x is above 0 or NaN */
{
    return vec_keep(VEC_COMPARE(vcleq_f32, x, vec_zero()), no, yes);
}
static inline float32x4_t vec_half_exponent(float32x4_t x)
{
    const int32x4_t shifted = vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_f32(x), 23));
    return vcvtq_f32_s32(vsubq_s32(shifted, vdupq_n_s32(127)));
}
static inline vec vec_exponent(vec x)
{
    return VEC_BOTH(vec_half_exponent, x);
} /* x > 0, normal */
static inline float32x4_t vec_half_mantissa(float32x4_t x)
{
    return vbslq_f32(vdupq_n_u32(0x7fffff), x, vdupq_n_f32(1));
}
static inline vec vec_mantissa(vec x)
{
    return VEC_BOTH(vec_half_mantissa, x);
} /* 1 <= m < 2 */

/* Lanes moved. A lane of `picks` is one of a's, or 8 and more: of b's; as four bytes of a table of
 * 64. */
static inline uint8x16_t picks_bytes(const int32_t *from)
{
    const uint32x4_t lane = vshlq_n_u32(vreinterpretq_u32_s32(vld1q_s32(from)), 2);
    const uint32x4_t first = vmulq_n_u32(lane, 0x01010101u);
    return vreinterpretq_u8_u32(vaddq_u32(first, vdupq_n_u32(0x03020100u)));
}
static inline picks picks_load(const int32_t *from)
{
    return (picks){ picks_bytes(from), picks_bytes(from + 4) };
}
static inline vec vec_pick(vec a, vec b, picks p)
{
    const uint8x16x4_t table = { { vreinterpretq_u8_f32(a.low), vreinterpretq_u8_f32(a.high),
                                   vreinterpretq_u8_f32(b.low), vreinterpretq_u8_f32(b.high) } };
    return (vec){ vreinterpretq_f32_u8(vqtbl4q_u8(table, p.low)),
                  vreinterpretq_f32_u8(vqtbl4q_u8(table, p.high)) };
}
static inline float32x4_t vec_half_pairs_low(float32x4_t a, float32x4_t b)
{
    return vcombine_f32(vget_low_f32(a), vget_low_f32(b));
}
static inline float32x4_t vec_half_pairs_high(float32x4_t a, float32x4_t b)
{
    return vcombine_f32(vget_high_f32(a), vget_high_f32(b));
}
static inline vec vec_unpack_low(vec a, vec b)
{
    return VEC_BOTH_TWO(vzip1q_f32, a, b);
}
static inline vec vec_unpack_high(vec a, vec b)
{
    return VEC_BOTH_TWO(vzip2q_f32, a, b);
}
static inline vec vec_pairs_low(vec a, vec b)
{
    return VEC_BOTH_TWO(vec_half_pairs_low, a, b);
}
static inline vec vec_pairs_high(vec a, vec b)
{
    return VEC_BOTH_TWO(vec_half_pairs_high, a, b);
}
static inline vec vec_swap_one(vec x)
{
    return VEC_BOTH(vrev64q_f32, x);
}
static inline vec vec_swap_two(vec x)
{
    return (vec){ vextq_f32(x.low, x.low, 2), vextq_f32(x.high, x.high, 2) };
}
static inline vec vec_fold(const vec w[QUADS])
{
    return (vec){ vaddq_f32(w[0].low, w[0].high), vaddq_f32(w[1].high, w[1].low) };
}
static inline vec vec_turn_halves(vec x)
{
    return (vec){ x.high, x.low };
}
static inline vec vec_turn_quarters(vec x)
{
    return x;
}
static inline vec vec_four(const float *x)
{
    const float32x4_t four = vld1q_f32(x);
    return (vec){ four, four };
}
static inline vec
vec_diagonals(const float *of) /* lane 4 j + r: of[j + r][r], a matrix with rows of 4 */
{
    const float low[4] = { of[0], of[5], of[10], of[15] },
                high[4] = { of[4], of[9], of[14], of[19] };
    return (vec){ vld1q_f32(low), vld1q_f32(high) };
}

static inline void vec_stream(float *at, vec x)
{
    vec_store(at, x);
} /* no stores past the caches: no end of them to wait for */
static inline void vec_stream_end(void)
{
}
static inline void vec_prefetch(const float *at)
{
    __asm__ volatile("prfm pldl2keep, %0" : : "Q"(*at));
}
static inline vec vec_held(vec x)
{
    __asm__("" : "+w"(x.low), "+w"(x.high));
    return x;
}
static inline vec vec_fma_in_place(vec a, vec b, vec c)
{
    return vec_fma(a, b, c);
}
static inline void vec_add_four(float *y, const float *x)
{
    vst1q_f32(y, vaddq_f32(vld1q_f32(y), vld1q_f32(x)));
}

#endif
