/* wrong_kernels.h - launches of kernels that are right or wrong in one way each, for test_simt.c.
 * `data` is on the device. */
#ifndef GSA_SIMT_WRONG_KERNELS_H
#define GSA_SIMT_WRONG_KERNELS_H
#include "simt.h"

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t
run_reverse(int *data,
            int barrier); /* reverses 64 ints through shared memory; without the barrier: a race */
cudaError_t run_lanes(int *data); /* data[t] = sum of its warp; then an xor, an up and a ballot */
cudaError_t run_count(int *data, unsigned blocks); /* atomicAdd by every thread */
cudaError_t run_unset(float *data);                /* copies shared memory that nobody wrote */
cudaError_t run_half_barrier(void);
cudaError_t run_lost_lane(void);
cudaError_t run_two_masks(void);
cudaError_t run_unnamed_lane(void);
cudaError_t run_much_shared(void);
cudaError_t run_beside_shared(void);
cudaError_t run_odd_block(void);
/* to: 128 ints, each 32 of `from` reversed, through copies that go on by themselves. Flaw 1: nobody
 * waits, 2: nor for the others, 3: a tile is overwritten while it is read. */
cudaError_t run_copy_tiles(const int *from, int *to, int flaw);
cudaError_t
run_bad_copy(const char *from,
             int odd); /* 16 bytes that are not waited for, from an odd address or not */

#ifdef __cplusplus
}
#endif
#endif
