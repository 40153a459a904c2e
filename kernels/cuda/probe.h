/* probe.h - which CUDA runtime, driver and devices are here; for gsa doctor. */
#ifndef GSA_CUDA_PROBE_H
#define GSA_CUDA_PROBE_H
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Lines of text: versions and one line a device, or the reason why there is none. Returns the
 * number of devices. `size` >= 1; the text is cut when it is longer. */
int gsa_cuda_probe(char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
