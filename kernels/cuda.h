/* cuda.h - the CUDA backend. In a build without it the constructor fails with a sentence.
 *
 * Example:
 *
 *     gsa_error error;
 *     gsa_backend *backend;
 *     if (gsa_backend_cuda(NULL, GSA_F32, 0, &backend, &error))
 *         return puts(error.text), 0; // this build or machine has none: why
 *     if (gsa_cuda_choose_attention(backend, GSA_CUDA_TF32)) puts(backend->error.text);
 *     gsa_backend_release(backend);
 *     return 0;
 *
 * Law. Float only. All work of a backend is queued on one stream of one device, in the order of the
 * calls; a call returns
 *      before the work is done, except download, which waits. What a kernel finds wrong with the
 *        data (an id outside its
 *      table) is therefore reported by the next download, as GSA_ERR_ARGUMENT with the op's name
 *      and the row; until then the bad row counts as zero. An error of the device itself that a
 *      process cannot survive ("sticky") is GSA_ERR_DEVICE: from then on every call fails with the
 *      same sentence at once, so nothing more is read from device memory.
 *      No device memory: GSA_ERR_MEMORY with the bytes requested, free and total; the backend works
 *        on afterwards.
 *     One thread at a time uses a backend. */
#ifndef GSA_CUDA_H
#define GSA_CUDA_H
#include "kernels/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `device` counts from 0. GSA_ERR_UNSUPPORTED when this build, machine or device cannot: the
 * sentence says which and why. */
gsa_status gsa_backend_cuda(const gsa_system *system, int real, int device, gsa_backend **backend,
                            gsa_error *error);

/* What attention and matrix products are computed with on this backend; its name then says so.
 * FUSED, at first: the project's kernels, all in float. CUSPARSE: a sparse library's products
 * around a softmax of each row: an oracle and the baseline to beat, which has no labels that learn.
 * TF32, BF16: matrix products round their factors, to 11 or 8 significant bits, and go on tensor
 * cores; attention as FUSED. GSA_ERR_UNSUPPORTED, and nothing changed, where the library is not
 * found, TF32 is before sm_80, or the backend is another. */
enum gsa_cuda_attention { GSA_CUDA_FUSED, GSA_CUDA_CUSPARSE, GSA_CUDA_TF32, GSA_CUDA_BF16 };
/* How attention is computed from now on. Another number, or a backend other than cuda, is an
 * error. */
gsa_status gsa_cuda_choose_attention(gsa_backend *b, int attention);

/* From now on the work between step_begin and step_end is captured and launched as graphs
 * (docs/cuda.md); without it those entries are NULL. Same bits. GSA_ERR_UNSUPPORTED where the
 * backend is another. */
gsa_status gsa_cuda_use_graphs(gsa_backend *b);

/* From now on work is queued on `stream`, a cudaStream_t of this backend's device; NULL: the
 * default one. It is the caller's, and lives until the backend is released or given another. Work
 * of before comes first: the new stream waits for it, the host does not. Not between step_begin and
 * step_end. The calling thread's current device becomes the backend's. GSA_ERR_UNSUPPORTED where
 * the backend is another, and of a stream that is being captured. */
gsa_status gsa_cuda_use_stream(gsa_backend *b, void *stream, gsa_error *error);

int gsa_cuda_devices(void);  /* how many the driver lists; 0: none, or this build has no backend */
int gsa_cuda_is_built(void); /* 0: this build has no such backend, and the constructor says so */

#ifdef __cplusplus
}
#endif
#endif
