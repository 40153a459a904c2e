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

#ifdef __cplusplus
}
#endif
#endif
