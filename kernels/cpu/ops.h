/* ops.h - the entries of the table that a level fills itself. Private to kernels/cpu/. */
#ifndef GSA_CPU_OPS_H
#define GSA_CPU_OPS_H
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/vector.h"

extern const gsa_cpu_probe GSA_CPU(probe);
gsa_status GSA_CPU(attend_forward)(gsa_backend *b, const gsa_attend_args *args);
gsa_status GSA_CPU(attend_backward)(gsa_backend *b, const gsa_attend_args *args);

#endif
