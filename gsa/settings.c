#include "settings.h"
#include "kernels/backend.h"
#include "parameters.h"

gsa_settings gsa_settings_default(void)
{
    return (gsa_settings){ .hidden = 300,
                           .heads = 6,
                           .activation = GSA_RELU,
                           .norm = GSA_NORM_POST,
                           .scale = GSA_SCALE_HEAD,
                           .init = GSA_INIT_XAVIER,
                           .norm_eps = 1e-6,
                           .input = GSA_INPUT_DROPOUT,
                           .input_scale = 1,
                           .position = GSA_POSITION_NONE,
                           .position_max = 512,
                           .position_base = 10000 };
}
