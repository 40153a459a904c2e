/* stray_kernels.h - launches of kernels whose thread 7 reads or writes where it is told to, in
 * bounds or not, for test_strays.c. `data` is on the device. */
#ifndef GSA_SIMT_STRAY_KERNELS_H
#define GSA_SIMT_STRAY_KERNELS_H
#include "simt.h"

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t run_read(int *data, int at); /* data[0] = data[at] */
cudaError_t run_write_local(
    int *data,
    int at); /* writes element `at` of an array of 8 of its own, whose sum goes to data[0] */

#ifdef __cplusplus
}
#endif
#endif
