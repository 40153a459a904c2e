/* gemm.h - one block of a matrix product: one library call on the calling thread, whatever the
 * library's own settings. The cut into blocks is a function of the sizes alone, so the bits are the
 * same for any number of threads. */
#ifndef GSA_GEMM_H
#define GSA_GEMM_H
#include "graph/status.h"
#include <signal.h>
#include <stdint.h>

/* C [m,n] = (accumulate ? C : 0) + op(A) [m,k] op(B) [k,n], row-major; m, n, k > 0. */
typedef struct gsa_gemm {
    void *c;
    const void *a, *b;
    int64_t m, n, k, ldc, lda, ldb;
    int transpose_a, transpose_b, accumulate;
} gsa_gemm;

/* The blocks of a product of these sizes, each at least 1: rows of C are cut every so many; where
 * that gives few blocks and k is long (weight gradients: k is the rows of the batch) k is cut too,
 * each chunk with a partial C of its own; where rows of C are few and neither cut is made (a step
 * of generation) its columns are cut, if what is left of a block is worth a thread's waking. */
typedef struct gsa_gemm_cut {
    int64_t rows, row_blocks, k, k_chunks, columns, column_blocks;
} gsa_gemm_cut;
gsa_gemm_cut gsa_gemm_cut_of(int64_t m, int64_t n, int64_t k);
enum { GSA_GEMM_PARTIAL_LIMIT = 1 << 22 }; /* elements of all partials */

/* Between these two the calling thread takes no signals, but for those that its own faults raise.
 * Calls of gsa_gemm_* are between them, or on threads that take none: oneDNN's AVX2 and AVX-512
 * kernels keep a workspace of the heap in the stack pointer (seen in 2.6.3), so that a signal's
 * frame of up to 3 KB would be written over whatever the heap holds below it. */
void gsa_gemm_begin(sigset_t *before);
void gsa_gemm_end(const sigset_t *before);

/* Return 0, or the library's own error number. */
int gsa_gemm_f32(const gsa_gemm *block);
int gsa_gemm_f64(const gsa_gemm *block);

/* Makes a library that keeps its thread count for the whole process use one thread; under a limit
 * of memory makes the code that oneDNN would else generate later, or says that there is no room for
 * it. Called when the threads have their stacks. */
gsa_status gsa_gemm_prepare(gsa_error *error);

/* The plain loops of ref/multiply.c. */
void gsa_ref32_multiply(const gsa_gemm *block);
void gsa_ref64_multiply(const gsa_gemm *block);

#endif
