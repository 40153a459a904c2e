/* probe.c - what `gsa doctor` of the command on the executor is told: kernels/cuda/probe.cu asks
 * the real runtime, which has the same names. */
#include "kernels/cuda/probe.h"
#include <stdio.h>

int gsa_cuda_probe(char *text, size_t size)
{
    snprintf(text, size, "runtime none\ndevice 0: the SIMT executor");
    return 1;
}
