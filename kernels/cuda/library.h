/* library.h - the calls of libraries that the backend makes: cuBLAS (loaded when a backend opens,
 * so that the program starts on machines without it), CUB, and cuSPARSE. library.cu and cusparse.cu
 * hold them for a device; the executor of tests/simt maps them to plain loops, and its tests report
 * them as skipped. Matrices are row-major. Everything is queued on the backend's stream. */
#ifndef GSA_CUDA_LIBRARY_H
#define GSA_CUDA_LIBRARY_H
#include "kernels/cuda/state.h"

gsa_status gsa_cuda_library_open(gsa_backend *b, gsa_error *error);
void gsa_cuda_library_close(gsa_backend *b);
/* The backend has another stream; likewise cuSPARSE, where it is open. */
gsa_status gsa_cuda_library_follow(gsa_backend *b);
gsa_status gsa_cuda_sparse_follow(gsa_backend *b);
/* "cuBLAS 13.0.0, CUB", or what is in for them. */
const char *gsa_cuda_library_name(gsa_backend *b);

/* C [m,n] = alpha op(A) op(B) + (accumulate ? C : 0); m, n, k > 0. `more` others follow, each
 * `step` floats after the one before; none writes what another reads or writes. */
typedef struct gsa_cuda_product {
    float *c;
    const float *a, *b;
    int64_t m, n, k, ldc, lda, ldb;
    int transpose_a, transpose_b, accumulate;
    float alpha;
    int rounds = 0; /* GSA_CUDA_TF32, GSA_CUDA_BF16: factors may be rounded to it */
    int more = 0;
    int64_t step_c = 0, step_a = 0, step_b = 0;
} gsa_cuda_product;
gsa_status gsa_cuda_multiply(gsa_backend *b, const gsa_cuda_product *product);
gsa_status gsa_cuda_open_products(gsa_backend *b);
/* The same a little later, perhaps with others in one call (gemm.cu); `more` is 0. */
gsa_status gsa_cuda_product_add(gsa_backend *b, const gsa_cuda_product *product);

/* A shared library of CUDA, by its name without "lib", and functions of it; else a sentence. What
 * is open at *at the caller closes. */
typedef struct gsa_cuda_symbol {
    const char *name;
    void *function; /* the pointer that is set */
} gsa_cuda_symbol;
gsa_status gsa_cuda_load(gsa_error *error, const char *library, void **at,
                         const gsa_cuda_symbol *symbols, int count);
/* A library's status as the backend's: 0 is good. */
gsa_status gsa_cuda_said(gsa_error *error, const char *function, int status);

/* In place: at[i] = sum of at[0..i-1] for i = 0..count-1. */
gsa_status gsa_cuda_scan(gsa_backend *b, int64_t *at, int64_t count);

/* Stable sort of (key, value) by the lowest `bits` bits of the key. */
gsa_status gsa_cuda_sort(gsa_backend *b, uint32_t *keys_out, const uint32_t *keys,
                         int64_t *values_out, const int64_t *values, int64_t count, int bits);

/* A sparse matrix by rows: 32-bit indices, in any order inside a row, a pair perhaps several
 * times. */
typedef struct gsa_cuda_csr {
    int64_t rows, cols, entries;
    const int32_t *offset, *column;
    float *value;
} gsa_cuda_csr;
/* cuSPARSE, looked up at the first call. */
gsa_status gsa_cuda_sparse_open(gsa_backend *b);
void gsa_cuda_sparse_close(gsa_backend *b);
/* m = alpha rows columns^T where m has entries; rows [m.rows, width], columns [m.cols, width],
 * `stride` from row to row */
gsa_status gsa_cuda_sample(gsa_backend *b, const gsa_cuda_csr *m, const float *rows,
                           const float *columns, int64_t width, int64_t stride, float alpha);
/* c = alpha m x + (accumulate ? c : 0); c [m.rows, width], x [m.cols, width] */
gsa_status gsa_cuda_sparse_multiply(gsa_backend *b, const gsa_cuda_csr *m, float *c, const float *x,
                                    int64_t width, int64_t stride, float alpha, int accumulate);

/* Bits that hold 0..limit-1. */
static inline int gsa_cuda_bits(int64_t limit)
{
    int bits = 1;
    while (bits < 32 && (INT64_C(1) << bits) < limit) bits++;
    return bits;
}

#endif
