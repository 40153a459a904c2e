/* hash.c - SHA-256 as FIPS 180-4 writes it: section 5.1.1 (padding), 6.2.2 (compression); the
 * latter also by the instructions that x86 processors have for it, which take a seventh of the
 * time. */
#include "hash.h"
#include <errno.h>
#include <string.h>
#include "graph/system_parts.h"
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

static uint32_t rotate(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

static uint32_t read_word(const uint8_t *at) /* big-endian */
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* W_t = s1(W_{t-2}) + W_{t-7} + s0(W_{t-15}) + W_{t-16} */
static void schedule(uint32_t w[64], const uint8_t block[64])
{
    for (int t = 0; t < 16; t++) w[t] = read_word(block + 4 * t);
    for (int t = 16; t < 64; t++) {
        const uint32_t s0 = rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ w[t - 15] >> 3;
        const uint32_t s1 = rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ w[t - 2] >> 10;
        w[t] = s1 + w[t - 7] + s0 + w[t - 16];
    }
}

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes (4.2.2). */
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static void compress(uint32_t state[8], const uint8_t block[64])
{
    uint32_t w[64], s[8]; /* s: a .. h */
    schedule(w, block);
    memcpy(s, state, sizeof s);
    for (int t = 0; t < 64; t++) {
        const uint32_t sum1 = rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25);
        const uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
        const uint32_t t1 = s[7] + sum1 + choice + constants[t] + w[t];
        const uint32_t sum0 = rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22);
        const uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        for (int i = 7; i > 0; i--) s[i] = s[i - 1];
        s[4] += t1;
        s[0] = t1 + sum0 + majority;
    }
    for (int i = 0; i < 8; i++) state[i] += s[i];
}

/* ---- the processor's own instructions ------------------------------------------------------ */

#if defined(__x86_64__)
enum { LEAF = 7, SHA_BIT = 29 }; /* of EBX */

static int has_instructions(void)
{
    unsigned a, b, c, d;
    return __get_cpuid_count(LEAF, 0, &a, &b, &c, &d) ? (int)(b >> SHA_BIT & 1) : 0;
}

/* Two registers hold the state, (f e b a) and (h g d c) from the lowest word up; an instruction
 * does two rounds. */
__attribute__((target("sha,sse4.1"))) static void compress_fast(uint32_t state[8],
                                                                const uint8_t block[64])
{
    const __m128i order =
        _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203); /* big-endian words */
    const __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xb1);
    const __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1b);
    const __m128i abef = _mm_alignr_epi8(badc, hgfe, 8), cdgh = _mm_blend_epi16(hgfe, badc, 0xf0);
    __m128i x = abef, y = cdgh, w[4];
    for (int i = 0; i < 16; i++) { /* rounds 4 i .. 4 i + 3 */
        __m128i *now = &w[i % 4], before = w[(i + 3) % 4];
        if (i < 4)
            *now = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(block + 16 * i)), order);
        else
            *now = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(*now, w[(i + 1) % 4]),
                                                      _mm_alignr_epi8(before, w[(i + 2) % 4], 4)),
                                        before);
        const __m128i added =
            _mm_add_epi32(*now, _mm_loadu_si128((const __m128i *)(constants + 4 * i)));
        y = _mm_sha256rnds2_epu32(y, x, added);
        x = _mm_sha256rnds2_epu32(x, y, _mm_shuffle_epi32(added, 0x0e));
    }
    x = _mm_shuffle_epi32(_mm_add_epi32(x, abef), 0x1b);
    y = _mm_shuffle_epi32(_mm_add_epi32(y, cdgh), 0xb1);
    _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(x, y, 0xf0));
    _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(y, x, 8));
}
#endif

static void add_block(gsa_sha256 *hash, const uint8_t block[64])
{
#if defined(__x86_64__)
    if (hash->fast) {
        compress_fast(hash->state, block);
        return;
    }
#endif
    compress(hash->state, block);
}

void gsa_sha256_start(gsa_sha256 *hash)
{
    static const uint32_t initial[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
    memcpy(hash->state, initial, sizeof initial);
    hash->bytes = 0;
    hash->fast = 0;
#if defined(__x86_64__)
    hash->fast = has_instructions();
#endif
}

void gsa_sha256_add(gsa_sha256 *hash, const void *at, int64_t bytes)
{
    const uint8_t *next = at;
    while (bytes > 0) {
        const int64_t used = (int64_t)(hash->bytes % 64),
                      take = bytes < 64 - used ? bytes : 64 - used;
        if (take == 64) {
            add_block(hash, next);
        } else {
            memcpy(hash->block + used, next, (size_t)take);
            if (used + take == 64) add_block(hash, hash->block);
        }
        hash->bytes += (uint64_t)take;
        next += take, bytes -= take;
    }
}

void gsa_sha256_end(gsa_sha256 *hash, char hex[65])
{
    static const char digits[] = "0123456789abcdef";
    static const uint8_t padding[64] = { 0x80 };
    const uint64_t bits = hash->bytes * 8;
    uint8_t length[8];
    for (int i = 0; i < 8; i++) length[i] = (uint8_t)(bits >> (56 - 8 * i));
    gsa_sha256_add(hash, padding, 1 + (int64_t)((119 - hash->bytes % 64) % 64)); /* to 56 mod 64 */
    gsa_sha256_add(hash, length, 8);
    for (int i = 0; i < 64; i++) hex[i] = digits[hash->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
    hex[64] = 0;
}

gsa_status gsa_sha256_file(const gsa_system *system, const char *path, char hex[65],
                           gsa_error *error)
{
    char buffer[1 << 14], why[128];
    gsa_sha256 hash;
    int64_t got = 0;
    const int file = system->open(system->user, path, GSA_OPEN_READ);
    gsa_sha256_start(&hash);
    while (file >= 0 && (got = system->read(system->user, file, buffer, sizeof buffer)) > 0)
        gsa_sha256_add(&hash, buffer, got);
    const int failed = file < 0 || got < 0, number = errno;
    if (file >= 0) system->close(system->user, file);
    gsa_sha256_end(&hash, hex);
    if (!failed) return GSA_OK;
    return gsa_fail(error, GSA_ERR_IO, "'%s' cannot be read: %s", path,
                    gsa_errno_text(number, why, sizeof why));
}
