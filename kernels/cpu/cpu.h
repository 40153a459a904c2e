/* cpu.h - the cpu backend: ref's plain loops compiled for the machine's vectors, and kernels of its
 * own where loops are not enough.
 *
 * One binary holds every level; which one runs is asked of the machine, or forced (tests). Float
 * alone: double is ref's. */
#ifndef GSA_CPU_H
#define GSA_CPU_H
#include "kernels/ref/memory.h"

/* What kernels/cpu/ has of a level's table, over ref's loops as compiled for it
 * (kernels/ref/memory.h). */
void gsa_cpu_avx2_fill(gsa_backend *b);
void gsa_cpu_avx512_fill(gsa_backend *b);
void gsa_cpu_emulated_fill(gsa_backend *b);
void gsa_cpu_neon_fill(gsa_backend *b); /* over ref itself: NEON is what aarch64 compiles for */

typedef struct gsa_cpu_formats { /* how many rows are worked on in which format
                                    (attention/attention.h) */
    int64_t row, ell, dia, bcsr, interval, gemm;
} gsa_cpu_formats;

/* For gsa bench: the ceilings of a level, and what its attention makes of some edges. */
typedef struct gsa_cpu_probe {
    int lanes;                                       /* of a vector; `out` below holds two */
    int64_t (*multiply)(float *out, int64_t rounds); /* returns its floating-point operations */
    void (*read)(float *out, const float *x, int64_t count);
    void (*read_rows)(float *out, const float *x, const int32_t *rows, int64_t count,
                      int32_t columns);
    int (*formats)(const gsa_attend_args *args, gsa_cpu_formats *formats); /* 0 without memory */
} gsa_cpu_probe;
extern const gsa_cpu_probe gsa_cpu_avx2_probe, gsa_cpu_avx512_probe, gsa_cpu_emulated_probe,
    gsa_cpu_neon_probe;

const gsa_cpu_probe *gsa_cpu_probe_of(int level); /* NULL for plain C */

#endif
