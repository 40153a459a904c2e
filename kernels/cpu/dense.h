/* dense.h - the backward pass of rows that all read the same run of sources, by matrix products. */
#ifndef GSA_CPU_DENSE_H
#define GSA_CPU_DENSE_H
#include "kernels/cpu/attend.h"

/* 1 when that is how the rows read, it pays, and everything is finite: then their gradients are added for the heads first .. last-1. */
int GSA_CPU(dense_backward)(const ref_attend *t, gsa_rows rows, int32_t first, int32_t last);

#endif
