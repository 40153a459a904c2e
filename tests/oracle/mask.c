#include "mask.h"
#include <math.h>

void oracle_philox(uint32_t word[4], const uint32_t counter[4], const uint32_t key[2])
{
    uint32_t x[4] = { counter[0], counter[1], counter[2], counter[3] };
    for (uint32_t round = 0; round < 10; round++) {
        const uint64_t left = UINT64_C(0xD2511F53) * x[0], right = UINT64_C(0xCD9E8D57) * x[2];
        const uint32_t bumped[2] = { key[0] + round * 0x9E3779B9u, key[1] + round * 0xBB67AE85u };
        const uint32_t y0 = (uint32_t)(right >> 32) ^ x[1] ^ bumped[0],
                       y2 = (uint32_t)(left >> 32) ^ x[3] ^ bumped[1];
        x[0] = y0, x[1] = (uint32_t)right, x[2] = y2, x[3] = (uint32_t)left;
    }
    for (int i = 0; i < 4; i++) word[i] = x[i];
}

static double draw(const oracle_mask *mask, uint32_t a, uint32_t b, uint32_t c, uint32_t d, int i)
{
    if (mask->p == 0) return 1;
    uint32_t word[4];
    oracle_philox(word, (const uint32_t[4]){ a, b, c, d },
                  (const uint32_t[2]){ mask->seed, mask->step });
    return (double)word[i] < floor(mask->p * 4294967296.0) ? 0 : 1 / (1 - mask->p);
}

double oracle_mask_edge(const oracle_mask *mask, int32_t example, int64_t row, int k, int head)
{
    return draw(mask, (uint32_t)example, (uint32_t)row, (uint32_t)k,
                mask->site << 12 | (uint32_t)head / 4, head % 4);
}

double oracle_mask_state(const oracle_mask *mask, int32_t example, int64_t row, int column)
{
    return draw(mask, (uint32_t)example, (uint32_t)row, (uint32_t)column / 4, mask->site << 12,
                column % 4);
}
