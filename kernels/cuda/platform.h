/* platform.h - the first include of every .cu file, and the only one that knows which compiler it
 * is: nvcc, for a device, or a C++ compiler, for the SIMT executor of tests/simt, which runs the
 * same sources on the host.
 *
 * Rules that keep the sources fit for both: launches through GSA_LAUNCH, shared arrays through
 * GSA_SHARED; inline PTX in gsa_exp2 alone, no cooperative groups, no CUB inside
 * kernels, no constant memory and no textures; warp operations name the full warp and are called by
 * all of it. Library calls (cuBLAS, CUB) go through library.h. */
#ifndef GSA_CUDA_PLATFORM_H
#define GSA_CUDA_PLATFORM_H
#include <math.h>
#include <stdint.h>

#if defined(__CUDACC__) ||                                                                         \
    defined(GSA_CUDA_HOST) /* GSA_CUDA_HOST: a host's program that looks into a device's plans */
#include <cuda_runtime.h>

/* A kernel's static shared array: GSA_SHARED(float, tile, [32][33]); */
#define GSA_SHARED(type, name, dims) __shared__ type name dims
/* The one struct that a kernel takes: it stays in the parameter bank, also where an array in it is
 * indexed at run time. */
#define GSA_ARGUMENT(type) const __grid_constant__ type
/* The value is the launch's own error; what the kernel does wrong shows at a later call. */
#define GSA_LAUNCH(kernel, grid, block, stream, ...)                                               \
    (kernel<<<(unsigned)(grid), (unsigned)(block), 0, (stream)>>>(__VA_ARGS__), cudaGetLastError())
#define GSA_UNROLL    _Pragma("unroll")
#define GSA_NO_UNROLL _Pragma("unroll 1")
#else
#include "simt.h"
#define GSA_UNROLL /* sanitised unrolled code compiles for minutes */
#define GSA_NO_UNROLL
#endif

#define GSA_DEVICE static __device__ __forceinline__

#endif
