#include "kernels/cpu/cpu.h"
#include "kernels/cpu/ops.h"

void GSA_CPU(fill)(gsa_backend *b)
{
    b->attend_forward = GSA_CPU(attend_forward);
    b->attend_backward = GSA_CPU(attend_backward);
}
