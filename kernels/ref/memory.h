/* memory.h - what the float and the double half of ref share: memory, scratch, checks of
 * arguments. */
#ifndef GSA_REF_MEMORY_H
#define GSA_REF_MEMORY_H
#include "kernels/backend.h"
#include "kernels/gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gsa_ref_state {
    void *scratch; /* grows only; lives until release. One op at a time uses it */
    int64_t scratch_bytes;
    uint32_t large; /* blocks that were handed out */
} gsa_ref_state;

/* A block at a multiple of 64, which starts `late` bytes, such a multiple too, after the first
 * place where it could: the pointer that the allocation table returned is in front of it. NULL: no
 * memory. */
void *gsa_aligned_alloc(const gsa_system *system, int64_t bytes, int64_t late);
void gsa_aligned_release(const gsa_system *system, void *at); /* NULL does nothing */
void gsa_ref_fill_memory(gsa_backend *b);
void gsa_ref32_fill(gsa_backend *b);
void gsa_ref64_fill(gsa_backend *b);
void gsa_ref32_avx2_fill(
    gsa_backend *b); /* the float half compiled for a level of vectors (kernels/cpu/) */
void gsa_ref32_avx512_fill(gsa_backend *b);

/* At least count * size bytes, 64-byte aligned, not cleared; NULL: b->error says why. */
void *gsa_ref_scratch(gsa_backend *b, const char *op, int64_t count, int64_t size);

/* Sizes are not negative and their product is an int64; else a sentence. */
gsa_status gsa_ref_shape(gsa_backend *b, const char *op, int64_t rows, int64_t cols);
/* One of gsa_activation; the count as a shape. */
gsa_status gsa_ref_check_activation(gsa_backend *b, const char *op, int activation, int64_t count);
/* 0 <= p < 1, site < 2^20. */
gsa_status gsa_ref_check_dropout(gsa_backend *b, const char *op, const gsa_dropout *dropout);
/* Every index is in low .. high-1; else a sentence with the first bad row. */
gsa_status gsa_ref_check_indices(gsa_backend *b, const char *op, const char *what,
                                 const int32_t *indices, int64_t count, int64_t low, int64_t high);
/* What is cheap to see of edges and blocks; check_edges: a full scan in GSA_CHECKED builds. */
gsa_status gsa_ref_check_sizes(gsa_backend *b, const char *op, const gsa_edges *edges,
                               int backward);
gsa_status gsa_ref_check_edges(gsa_backend *b, const char *op, const gsa_edges *edges,
                               int backward);
/* Sizes that fit, strides that hold a row as stored. */
gsa_status gsa_ref_check_gemm(gsa_backend *b, const gsa_gemm *product);
/* Tags and how many sequences and tokens there are. */
gsa_status gsa_ref_check_crf(gsa_backend *b, const char *op, const gsa_crf_args *args);
/* What is to be seen of a call of attention without its arrays. */
gsa_status gsa_ref_check_attend(gsa_backend *b, const char *op, const gsa_attend_args *args,
                                int backward);

#ifdef __cplusplus
}
#endif
#endif
