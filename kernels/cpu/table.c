#include "kernels/cpu/cpu.h"
#include "kernels/cpu/ops.h"

void GSA_CPU(fill)(gsa_backend *b)
{
    b->attend_forward = GSA_CPU(attend_forward);
    b->attend_backward = GSA_CPU(attend_backward);
    b->dropout_forward = GSA_CPU(dropout_forward);
    b->dropout_backward = GSA_CPU(dropout_backward);
    b->cross_entropy_forward = GSA_CPU(cross_entropy_forward);
    b->cross_entropy_backward = GSA_CPU(cross_entropy_backward);
    b->activate_forward = GSA_CPU(activate_forward);
    b->activate_backward = GSA_CPU(activate_backward);
    b->norm_forward = GSA_CPU(norm_forward);
    b->norm_backward = GSA_CPU(norm_backward);
    b->adam = GSA_CPU(adam);
    b->sum_squares = GSA_CPU(sum_squares);
}
