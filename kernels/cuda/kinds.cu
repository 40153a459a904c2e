/* kinds.cu - kinds beyond those that fit into a launch's parameters are in device memory. */
#include "kernels/cuda/kinds.h"
#include "kernels/cuda/device.h"
#include <string.h>

static __global__ void __launch_bounds__(GSA_WARP)
    note_kinds(gsa_cuda_kind *to, GSA_ARGUMENT(gsa_cuda_kinds) some)
{
    if (threadIdx.x < some.count) to[threadIdx.x] = some.told[threadIdx.x];
}

gsa_status gsa_cuda_tell_kinds(gsa_backend *b, gsa_cuda_kinds *kinds, const gsa_cuda_kind *kind)
{
    gsa_cuda_kinds some = {};
    for (int64_t first = 0; first < kinds->count; first += GSA_KINDS_TOLD) {
        some.count = kinds->count - first;
        if (some.count > GSA_KINDS_TOLD) some.count = GSA_KINDS_TOLD;
        for (int64_t k = 0; k < some.count; k++) some.told[k] = kind[first + k];
        if (kinds->many) GSA_TRY(GSA_RUN(b, note_kinds, 1, GSA_WARP, kinds->many + first, some));
        else memcpy(kinds->told, some.told, sizeof some.told);
    }
    return GSA_OK;
}
