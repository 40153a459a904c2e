#include "kernels/ref/ref.h"

void GSA_REF(fill)(gsa_backend *b)
{
    GSA_REF(fill_aggregate)(b);
    GSA_REF(fill_attend_backward)(b);
    GSA_REF(fill_attend_forward)(b);
    GSA_REF(fill_crf)(b);
    GSA_REF(fill_dropout)(b);
    GSA_REF(fill_elements)(b);
    GSA_REF(fill_gemm)(b);
    GSA_REF(fill_loss)(b);
    GSA_REF(fill_norm)(b);
    GSA_REF(fill_optim)(b);
    GSA_REF(fill_pool)(b);
    GSA_REF(fill_reduce)(b);
    GSA_REF(fill_rows)(b);
    GSA_REF(fill_segments)(b);
}
