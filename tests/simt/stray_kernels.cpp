#include "stray_kernels.h"

static __global__ void read_at(int *data, int at)
{
    if (threadIdx.x == 7) data[0] = data[at];
}
extern "C" cudaError_t run_read(int *data, int at)
{
    return GSA_LAUNCH(read_at, 1, 32, NULL, data, at);
}

/* Through a pointer that the compiler cannot follow: UBSan, which knows the array's bounds, would speak first. */
static __global__ void write_local(int *data, int at)
{
    int own[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    int *volatile there = own;
    if (threadIdx.x != 7) return;
    there[at] = 9;
    data[0] = 0;
    for (int i = 0; i < 8; i++) data[0] += there[i];
}
extern "C" cudaError_t run_write_local(int *data, int at)
{
    return GSA_LAUNCH(write_local, 1, 32, NULL, data, at);
}
