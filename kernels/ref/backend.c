/* backend.c - the backend `ref`: plain C, in float or double. */
#include "kernels/gemm.h"
#include "kernels/ref/memory.h"
#include "kernels/team.h"

gsa_status gsa_backend_ref(const gsa_system *system, int real, int threads, gsa_backend **backend,
                           gsa_error *error)
{
    if (real != GSA_F32 && real != GSA_F64)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "backend ref: real type %d is neither GSA_F32 nor GSA_F64", real);
    if (threads < 1)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "backend ref: %d threads; 1 or more were expected",
                        threads);
    if (system == NULL) system = gsa_system_default();

    gsa_backend *b = gsa_alloc_zero(system, 1, sizeof *b);
    gsa_ref_state *state = gsa_alloc_zero(system, 1, sizeof *state);
    if (b == NULL || state == NULL) {
        gsa_release(system, b);
        gsa_release(system, state);
        return gsa_out_of_memory(error, "backend ref", (int64_t)(sizeof *b + sizeof *state));
    }
    gsa_status status = gsa_team_create(system, threads, &b->team, error);
    if (status == GSA_OK) {
        status = gsa_gemm_prepare(error);
        if (status != GSA_OK) gsa_team_release(b->team);
    }
    if (status != GSA_OK) {
        gsa_release(system, b);
        gsa_release(system, state);
        return status;
    }
    b->struct_size = sizeof *b;
    b->real = real;
    b->real_bytes = real == GSA_F64 ? 8 : 4;
    b->shares_host_memory = 1;
    b->threads = threads;
    b->name = "ref";
    b->system = system;
    b->state = state;
    gsa_ref_fill_memory(b);
    if (real == GSA_F64) gsa_ref64_fill(b);
    else gsa_ref32_fill(b);
    *backend = b;
    return GSA_OK;
}
