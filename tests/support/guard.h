/* guard.h - a backend for tests whose memory nobody may touch: it is ref, but all tensor memory is
 * PROT_NONE outside its calls, so that code which reads or writes "device" memory on the host dies
 * by SIGSEGV at the place. New memory is filled with NaN, so that an op which reads what nobody
 * wrote shows. */
#ifndef GSA_TEST_GUARD_H
#define GSA_TEST_GUARD_H
#include "kernels/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

gsa_status gsa_backend_guard(const gsa_system *system, int real, int threads, gsa_backend **backend,
                             gsa_error *error);

/* The backend that the environment variable GSA_TEST_BACKEND names: "ref" (default), "guard", or a
 * level of the cpu backend, "avx2" or "avx512", "emulated", "neon" (in double: ref). */
gsa_status gsa_test_backend(const gsa_system *system, int real, int threads, gsa_backend **backend,
                            gsa_error *error);

#ifdef __cplusplus
}
#endif
#endif
