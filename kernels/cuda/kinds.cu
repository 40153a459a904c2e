/* kinds.cu - kinds beyond those that fit into a launch's parameters are in device memory. */
#include "kernels/cuda/kinds.h"
#include "kernels/cuda/device.h"
#include <string.h>

gsa_status gsa_cuda_tell_kinds(gsa_backend *b, gsa_cuda_kinds *kinds, const gsa_cuda_kind *kind)
{
    if (!kinds->many) memcpy(kinds->told, kind, sizeof *kind * (size_t)kinds->count);
    for (int64_t first = 0; kinds->many && first < kinds->count; first += GSA_KINDS_TOLD) {
        const int64_t count = min(kinds->count - first, (int64_t)GSA_KINDS_TOLD);
        gsa_cuda_kinds some = {};
        memcpy(some.told, kind + first, sizeof *kind * (size_t)count);
        const auto note = [=, to = kinds->many + first] __device__(int64_t k) {
            to[k] = some.told[k];
        };
        GSA_TRY(gsa_cuda_each<GSA_WARP>(b, "kinds", count, note));
    }
    return GSA_OK;
}
