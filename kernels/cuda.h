/* cuda.h - the CUDA backend. In a build without it the constructor fails with a sentence.
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
 *        on afterwards. */
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

/* Which kernels attention runs on this backend; its name then says so. FUSED: the project's own,
 * all in float. CUSPARSE: a sparse library's products around a softmax of each row: an oracle and
 * the baseline to beat, which has no labels that learn. BF16: the project's own on q, k, v and, in
 * backward, do, rounded to bf16 (nearest even; NaN stays NaN): exactly what FUSED gives for rounded
 * arrays, up to the order of sums. Edges read half the bytes; sums, results and gradients are
 * float, and the caller's arrays are left as they are. GSA_ERR_UNSUPPORTED, and nothing changed,
 * where the library is not found or the backend is another. */
enum gsa_cuda_attention {
    GSA_CUDA_FUSED,
    GSA_CUDA_CUSPARSE,
    GSA_CUDA_BF16,
    GSA_CUDA_WINDOWS,
    GSA_CUDA_TENSOR,
    GSA_CUDA_TF32,
    GSA_CUDA_BF16_WINDOWS,
    GSA_CUDA_BF16_TENSOR
};
/* How attention is computed from now on. Another number, or a backend other than cuda, is an
 * error. */
gsa_status gsa_cuda_choose_attention(gsa_backend *b, int attention);

/* WINDOWS: FUSED, but 16 rows that follow one another and read much the same sources load them
 * together. TENSOR: the denser of these windows multiply on tensor cores, each product as three of
 * tf32, which is as accurate as float. TF32: as one, with 11 bits of each factor. BF16_WINDOWS and
 * BF16_TENSOR: what BF16 gives, up to the order of sums, by windows; on tensor cores scores are
 * exact products of bf16, and weights keep 16 of their 24 bits.
 * Which windows: those with at least `reuse` edges a column of their union, and on tensor cores
 * those whose edges are at least `density` of rows x columns; before sm_80, where there are no such
 * tensor cores, none. At first both are the device's (kernels/cuda/tuning.h); infinity: no windows.
 * The bits of results depend on the rule, not on the run. */
gsa_status gsa_cuda_choose_windows(gsa_backend *b, double reuse, double density);

/* From now on the work between step_begin and step_end is captured and launched as graphs
 * (docs/cuda.md); without it those entries are NULL. Same bits. GSA_ERR_UNSUPPORTED where the
 * backend is another. */
gsa_status gsa_cuda_use_graphs(gsa_backend *b);

int gsa_cuda_is_built(void); /* 0: this build has no such backend, and the constructor says so */

#ifdef __cplusplus
}
#endif
#endif
