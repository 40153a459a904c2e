/* philox.h - Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011):
 * a function from (counter, key) to four 32-bit words. No state: any device, thread and batch split
 * draws the same numbers. */
#ifndef GSA_PHILOX_H
#define GSA_PHILOX_H
#include <stdint.h>

#if defined(__CUDACC__)
#define GSA_ANYWHERE __host__ __device__
#else
#define GSA_ANYWHERE
#endif

typedef struct gsa_philox {
    uint32_t word[4];
} gsa_philox;

GSA_ANYWHERE static inline gsa_philox gsa_philox4x32(gsa_philox c, uint32_t key0, uint32_t key1)
{
    for (int round = 0; round < 10; round++) {
        const uint64_t a = (uint64_t)0xD2511F53u * c.word[0], b = (uint64_t)0xCD9E8D57u * c.word[2];
        const gsa_philox next = { { (uint32_t)(b >> 32) ^ c.word[1] ^ key0, (uint32_t)b,
                                    (uint32_t)(a >> 32) ^ c.word[3] ^ key1, (uint32_t)a } };
        c = next;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return c;
}

#endif
