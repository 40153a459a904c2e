/* words.h - Philox4x32-10 (kernels/philox.h) for WIDE counters at once, one in each lane of 64
 * bits: a product of two words fills its lane, its low half is where the next round multiplies
 * it, and what is above 32 bits of a lane is never read. Same words as ref's. */
#ifndef GSA_CPU_WORDS_H
#define GSA_CPU_WORDS_H
#include "kernels/cpu/isa/vector.h"
#include "kernels/ref/dropout.h"

enum { WIDE = LANES / 2 /* counters */ };

#if defined GSA_CPU_EMULATES || defined GSA_CPU_BY_NEON
typedef struct words { /* a lane of 64 bits each */
    uint64_t lane[WIDE];
} words;
#define WORDS_EACH(i) for (int i = 0; i < WIDE; i++)
static inline words words_all(uint32_t x)
{
    words w;
    WORDS_EACH(i) w.lane[i] = (uint64_t)x << 32 | x;
    return w;
}
static inline words words_add(words a, words b) /* word by word */
{
    WORDS_EACH(i)
    a.lane[i] = ((a.lane[i] >> 32) + (b.lane[i] >> 32)) << 32 | (uint32_t)(a.lane[i] + b.lane[i]);
    return a;
}
static inline words words_product(words a, words b)
{
    WORDS_EACH(i) a.lane[i] = (uint64_t)(uint32_t)a.lane[i] * (uint32_t)b.lane[i];
    return a;
}
static inline words words_high(words product)
{
    WORDS_EACH(i) product.lane[i] >>= 32;
    return product;
}
static inline words words_xor(words a, words b, words c)
{
    WORDS_EACH(i) a.lane[i] ^= b.lane[i] ^ c.lane[i];
    return a;
}
static inline words words_pair(words a, words b)
{
    WORDS_EACH(i) a.lane[i] = (uint32_t)a.lane[i] | b.lane[i] << 32;
    return a;
}
static inline words words_even(words a, words b)
{
    words w;
    WORDS_EACH(i) w.lane[i] = i % 2 ? b.lane[i - 1] : a.lane[i];
    return w;
}
static inline words words_odd(words a, words b)
{
    words w;
    WORDS_EACH(i) w.lane[i] = i % 2 ? b.lane[i] : a.lane[i + 1];
    return w;
}
static inline words words_count(void)
{
    words w;
    WORDS_EACH(i) w.lane[i] = (uint64_t)(i / 2 + i % 2 * (WIDE / 2));
    return w;
}
static inline unsigned words_bits(words w, words limit)
{
    unsigned bits = 0;
    for (int i = 0; i < LANES; i++)
        bits |= (unsigned)((uint32_t)(w.lane[i / 2] >> 32 * (i % 2)) >=
                           (uint32_t)(limit.lane[i / 2] >> 32 * (i % 2)))
                << i;
    return bits;
}
static inline vec words_keep(words w, words limit, vec x)
{
    return vec_keep(lanes_of_bits(words_bits(w, limit)), x, vec_zero());
}
static inline words words_load(const uint64_t *at)
{
    words w;
    WORDS_EACH(i) w.lane[i] = at[i];
    return w;
}
#else
#if GSA_CPU_LANES == 16
typedef __m512i words;
#else
typedef __m256i words;
#endif
static inline words words_all(uint32_t x)
{
    return VEC_X86(set1_epi32)((int)x);
}
static inline words words_add(words a, words b)
{
    return VEC_X86(add_epi32)(a, b);
}
static inline words words_product(words a, words b)
{
    return VEC_X86(mul_epu32)(a, b);
}
static inline words words_high(words product)
{
    return VEC_X86(srli_epi64)(product, 32);
}
static inline words words_even(words a, words b) /* lanes 0 of a, 0 of b, 2 of a, ... */
{
    return VEC_X86(unpacklo_epi64)(a, b);
}
static inline words words_odd(words a, words b) /* lanes 1 of a, 1 of b, 3 of a, ... */
{
    return VEC_X86(unpackhi_epi64)(a, b);
}
#if GSA_CPU_LANES == 16
static inline words words_xor(words a, words b, words c)
{
    return _mm512_ternarylogic_epi32(a, b, c, 0x96);
}
static inline words words_pair(words a, words b) /* of each lane: a's word, then b's */
{
    return _mm512_mask_blend_epi32(0xAAAA, a, _mm512_slli_epi64(b, 32));
}
static inline words words_count(void) /* the counters' places, so that words_even holds those of 0 1
                                         2 3, words_odd of 4 5 6 7 */
{
    return _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
}
static inline vec words_keep(words w, words limit, vec x) /* 0 where a word is below the limit */
{
    return _mm512_maskz_mov_ps(_mm512_cmp_epu32_mask(w, limit, _MM_CMPINT_NLT), x);
}
static inline unsigned words_bits(words w, words limit) /* set where it is not */
{
    return _mm512_cmp_epu32_mask(w, limit, _MM_CMPINT_NLT);
}
static inline words words_load(const uint64_t *at)
{
    return _mm512_loadu_si512(at);
}
#else
static inline words words_xor(words a, words b, words c)
{
    return _mm256_xor_si256(_mm256_xor_si256(b, c), a);
}
static inline words words_pair(words a, words b)
{
    return _mm256_blend_epi32(a, _mm256_slli_epi64(b, 32), 0xAA);
}
static inline words words_count(void)
{
    return _mm256_setr_epi64x(0, 2, 1, 3);
}
static inline vec words_keep(words w, words limit, vec x)
{
    return _mm256_and_ps(x, _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_max_epu32(w, limit), w)));
}
static inline unsigned words_bits(words w, words limit)
{
    return (unsigned)_mm256_movemask_ps(
        _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_max_epu32(w, limit), w)));
}
static inline words words_load(const uint64_t *at)
{
    return _mm256_loadu_si256((const void *)at);
}
#endif
#endif

enum { ROUNDS = 10 };
typedef struct words_key {
    uint32_t low[ROUNDS], high[ROUNDS];
} words_key;

static inline words_key words_key_of(uint32_t low, uint32_t high)
{
    words_key key;
    for (int i = 0; i < ROUNDS; i++, low += 0x9E3779B9u, high += 0xBB67AE85u)
        key.low[i] = low, key.high[i] = high;
    return key;
}

static inline void words_draw(words c[4], const words_key *key)
{
    const words first = words_all(0xD2511F53u), second = words_all(0xCD9E8D57u);
#pragma GCC unroll 10
    for (int i = 0; i < ROUNDS; i++) {
        const words a = words_product(first, c[0]), b = words_product(second, c[2]);
        c[0] = words_xor(words_high(b), c[1], words_all(key->low[i]));
        c[2] = words_xor(words_high(a), c[3], words_all(key->high[i]));
        c[1] = b, c[3] = a;
    }
}

#endif
