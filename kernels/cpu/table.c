#include "kernels/cpu/cpu.h"
#include "kernels/cpu/table.h"

void cpu_fill(gsa_backend *b)
{
    b->attend_forward = cpu_attend_forward;
    b->attend_backward = cpu_attend_backward;
    b->dropout_forward = cpu_dropout_forward;
    b->dropout_backward = cpu_dropout_backward;
    b->cross_entropy_forward = cpu_cross_entropy_forward;
    b->cross_entropy_backward = cpu_cross_entropy_backward;
    b->activate_forward = cpu_activate_forward;
    b->activate_backward = cpu_activate_backward;
    b->norm_forward = cpu_norm_forward;
    b->norm_backward = cpu_norm_backward;
    b->adam = cpu_adam;
    b->sum_squares = cpu_sum_squares;
}
