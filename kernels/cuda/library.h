/* library.h - the calls of libraries that the backend makes: cuBLAS (loaded when a backend opens,
 * so that the program starts on machines without it), CUB, and cuSPARSE. library.cu and cusparse.cu
 * hold them for a device; the executor of tests/simt maps them to plain loops, and its tests report
 * them as skipped. Matrices are row-major. Everything is queued on the backend's stream. */
#ifndef GSA_CUDA_LIBRARY_H
#define GSA_CUDA_LIBRARY_H
#include "kernels/cuda/state.h"

gsa_status gsa_cuda_library_open(gsa_backend *b);
void gsa_cuda_library_close(gsa_backend *b);
gsa_status gsa_cuda_library_follow(gsa_backend *b); /* the backend has another stream */

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

/* A shared library of CUDA, by its name without "lib", and functions of it, up to one without a
 * name; else a sentence. What is open at *at the caller closes. */
typedef struct gsa_cuda_symbol {
    const char *name;
    void *function; /* the pointer that is set */
} gsa_cuda_symbol;
gsa_status gsa_cuda_load(gsa_backend *b, const char *library, void **at,
                         const gsa_cuda_symbol *symbols);
/* A library's status as the backend's: 0 is good. */
gsa_status gsa_cuda_said(gsa_backend *b, const char *function, int status);

/* In place: at[i] = sum of at[0..i-1] for i = 0..count-1. */
gsa_status gsa_cuda_scan(gsa_backend *b, int64_t *at, int64_t count);

/* Stable sort of (key, value) by the lowest `bits` bits of the key. */
gsa_status gsa_cuda_sort(gsa_backend *b, uint32_t *keys_out, const uint32_t *keys,
                         int64_t *values_out, const int64_t *values, int64_t count, int bits);

/* cuSPARSE, looked up at the first call. */
gsa_status gsa_cuda_sparse_open(gsa_backend *b);
void gsa_cuda_sparse_close(gsa_backend *b);

/* A product with a sparse matrix m by rows: 32-bit indices, in any order inside a row. SAMPLE:
 * m = alpha y x^T where m has entries; WRITE, ADD: y = alpha m x, y += alpha m x. */
enum { GSA_CUDA_SAMPLE, GSA_CUDA_SPARSE_WRITE, GSA_CUDA_SPARSE_ADD };
typedef struct gsa_cuda_sparse_product {
    int64_t rows, cols, entries;
    const int32_t *offset, *column;
    int64_t width, stride; /* of y [rows, width] and x [cols, width], `stride` from row to row */
    float *value = NULL, *y = NULL; /* value: of m [entries] */
    const float *x = NULL;
    float alpha = 1;
    int what = GSA_CUDA_SAMPLE;
} gsa_cuda_sparse_product;
gsa_status gsa_cuda_sparse_multiply(gsa_backend *b, const gsa_cuda_sparse_product *product);

/* Bits that hold 0..limit-1. */
static inline int gsa_cuda_bits(int64_t limit)
{
    int bits = 1;
    while (bits < 32 && (INT64_C(1) << bits) < limit) bits++;
    return bits;
}

#endif
