#include "train/data/summation.h"
#include "kernels/philox.h"

static const uint32_t STREAM =
    0x6d61736bu; /* sets these draws apart from dropout's and the order's */

static gsa_philox draw(const gsa_summation *s, uint32_t split, uint64_t index, uint32_t row,
                       uint32_t block)
{
    const gsa_philox counter = { { (uint32_t)index, (uint32_t)(index >> 32), row,
                                   split << 24 | block } };
    return gsa_philox4x32(counter, s->seed, STREAM);
}

static float unit(uint32_t word)
{
    return (float)(word >> 8) * 0x1p-24f;
}

void gsa_summation_example(const gsa_summation *s, uint32_t split, uint64_t index, float *x,
                           float *target)
{
    int32_t wanted =
        s->k; /* ones still to be placed: row r is one with probability wanted / (n - r) */
    for (int32_t c = 0; c < s->d - 1; c++) target[c] = 0;
    for (int32_t r = 0; r < s->n; r++, x += s->d) {
        gsa_philox words = draw(s, split, index, (uint32_t)r, 0);
        const int one = (uint64_t)words.word[0] * (uint64_t)(s->n - r) < (uint64_t)wanted << 32;
        x[0] = (float)one;
        wanted -= one;
        for (int32_t c = 1; c < s->d; c++) {
            if (c % 4 == 0) words = draw(s, split, index, (uint32_t)r, (uint32_t)c / 4);
            x[c] = unit(words.word[c % 4]);
            if (one) target[c - 1] += x[c];
        }
    }
}
