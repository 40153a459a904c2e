/* words.h - Philox4x32-10 (kernels/philox.h) for WIDE counters at once, one in each lane of 64
 * bits: a product of two words fills its lane, its low half is where the next round multiplies
 * it, and what is above 32 bits of a lane is never read. Same words as ref's. */
#ifndef GSA_CPU_WORDS_H
#define GSA_CPU_WORDS_H
#include "kernels/cpu/isa/vector.h"
#include "kernels/ref/dropout.h"

enum { WIDE = LANES / 2 /* counters */, ROUNDS = 10 };

typedef uint64_t words __attribute__((vector_size(4 * GSA_CPU_LANES)));
typedef uint32_t words_32 __attribute__((vector_size(4 * GSA_CPU_LANES)));
#define WORDS_LOW UINT64_C(0xFFFFFFFF)
#if VEC_TWO
#define WORDS_PRODUCT(a, b) (((a)&WORDS_LOW) * ((b)&WORDS_LOW))
#elif REG_LANES == 16
#define WORDS_PRODUCT(a, b) (words) _mm512_mul_epu32((__m512i)(a), (__m512i)(b))
#else
#define WORDS_PRODUCT(a, b) (words) _mm256_mul_epu32((__m256i)(a), (__m256i)(b))
#endif

CPU_INLINE words words_all(uint32_t x)
{
    return (words)((words_32){ 0 } + x);
}
CPU_INLINE words words_add(words a, words b) /* word by word */
{
    return (words)((words_32)a + (words_32)b);
}
CPU_INLINE words words_pair(words a, words b) /* of each lane: a's word, then b's */
{
    return (a & WORDS_LOW) | b << 32;
}
/* Lanes 0 of a, 0 of b, 2 of a, ...; 1 of a, 1 of b, 3 of a, ...; the counters' places, so that the
 * first holds those of 0 1 2 3, the second of 4 5 6 7. */
#if GSA_CPU_LANES == 16
#define WORDS_UNPACK(a, b, i)                                                                      \
    __builtin_shufflevector(a, b, i, 8 + i, 2 + i, 10 + i, 4 + i, 12 + i, 6 + i, 14 + i)
#define WORDS_COUNT ((words){ 0, 4, 1, 5, 2, 6, 3, 7 })
#else
#define WORDS_UNPACK(a, b, i) __builtin_shufflevector(a, b, i, 4 + i, 2 + i, 6 + i)
#define WORDS_COUNT           ((words){ 0, 2, 1, 3 })
#endif
CPU_INLINE words words_load(const uint64_t *at)
{
    words w;
    memcpy(&w, at, sizeof w);
    return w;
}
CPU_INLINE lanes words_reach(words w, words limit) /* where a word is not below the limit */
{
#if REG_LANES == 16
    return _mm512_cmp_epu32_mask((__m512i)w, (__m512i)limit, _MM_CMPINT_NLT);
#else
    const words each = (words)((words_32)w >= (words_32)limit);
    lanes m;
    memcpy(&m, &each, sizeof m);
    return m;
#endif
}

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

CPU_INLINE void words_draw(words c[4], const words_key *key)
{
    const words first = words_all(0xD2511F53u), second = words_all(0xCD9E8D57u);
#pragma GCC unroll 10
    for (int i = 0; i < ROUNDS; i++) {
        const words a = WORDS_PRODUCT(first, c[0]), b = WORDS_PRODUCT(second, c[2]);
        c[0] = b >> 32 ^ c[1] ^ words_all(key->low[i]);
        c[2] = a >> 32 ^ c[3] ^ words_all(key->high[i]);
        c[1] = b, c[3] = a;
    }
}

#endif
