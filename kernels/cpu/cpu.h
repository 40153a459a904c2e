/* cpu.h - the cpu backend: ref's plain loops compiled for the machine's vectors, and kernels of its own where loops are not enough.
 *
 * One binary holds every level; which one runs is asked of the machine, or forced (tests). Float alone: double is ref's. */
#ifndef GSA_CPU_H
#define GSA_CPU_H
#include "kernels/ref/memory.h"

/* What kernels/cpu/ has of a level's table, over ref's loops as compiled for it (kernels/ref/memory.h). */
void gsa_cpu_avx2_fill(gsa_backend *b);
void gsa_cpu_avx512_fill(gsa_backend *b);

#endif
