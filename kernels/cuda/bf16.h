/* bf16.h - numbers stored in 16 bits: the upper half of a float, rounded to nearest even. By bit
 * operations, so that every architecture has them, and the executor the same bits. */
#ifndef GSA_CUDA_BF16_H
#define GSA_CUDA_BF16_H
#include "kernels/cuda/device.h"

typedef struct gsa_bf16 {
    uint16_t bits;
} gsa_bf16;

/* NaN stays NaN, also where its payload is in the lower half; beyond the largest: infinity. */
GSA_DEVICE uint32_t gsa_bf16_bits(float x)
{
    const uint32_t bits = __float_as_uint(x);
    return isnan(x) ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

GSA_DEVICE float gsa_bf16_round(float x)
{
    return __uint_as_float(gsa_bf16_bits(x) << 16);
}

/* ---- planes: float arrays of which a rounded copy is wanted, each once however often it is named.
 * Copies begin at multiples of 16 bytes. */
enum { GSA_BF16_PLANES = 2 * GSA_MAX_KINDS + 2 };
typedef struct gsa_bf16_planes {
    gsa_bf16 *to;
    int32_t planes;
    int64_t first[GSA_BF16_PLANES + 1]; /* where a copy begins, counted from `to` */
    int64_t count[GSA_BF16_PLANES];
    const float *from[GSA_BF16_PLANES];
} gsa_bf16_planes;

/* One without numbers is none. */
void gsa_cuda_add_plane(gsa_bf16_planes *p, const void *from, int64_t count);
/* The planes are all named: where the copies begin, and the numbers that they take. */
void gsa_cuda_place_planes(gsa_bf16_planes *p);
/* Fills what `to` points at; one launch. */
gsa_status gsa_cuda_round_planes(gsa_backend *b, const char *op, const gsa_bf16_planes *p);

/* to[i] = from[i] rounded to bf16, as floats. */
gsa_status gsa_cuda_round_floats(gsa_backend *b, const char *op, float *to, const float *from,
                                 int64_t count);

/* The copy, or NULL. */
static inline const gsa_bf16 *gsa_cuda_plane(const gsa_bf16_planes *p, const void *from)
{
    for (int i = 0; i < p->planes; i++)
        if (p->from[i] == from) return p->to + p->first[i];
    return NULL;
}

#endif
