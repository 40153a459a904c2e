/* library.cpp - what stands in for cuBLAS, CUB and cuSPARSE on the executor: plain loops on device memory (kernels/cuda/library.h).
 * The real ones are tested on a device. */
#include "kernels/cuda/library.h"
#include "kernels/cuda.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Every call is queued on the stream as the library's kernels would be: arguments are kept, and what they point to is read when
 * its turn comes. */
template <class F> static gsa_status queue(gsa_backend *b, const char *name, const F &f)
{
    return GSA_CUDA(b, simt_library(gsa_cuda_stream(b), name, f));
}

gsa_status gsa_cuda_library_open(gsa_backend *)
{
    return GSA_OK;
}

void gsa_cuda_library_close(gsa_backend *)
{
}

gsa_status gsa_cuda_library_follow(gsa_backend *)
{
    return GSA_OK;
}

/* A factor, as the library may round it: to 11 or 8 significant bits, ties to even. */
static float rounded(const gsa_cuda_product &p, float x)
{
    if (!p.rounds || !isfinite(x)) return x;
    const int dropped = p.rounds == GSA_CUDA_TF32 ? 13 : 16;
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits += (UINT32_C(1) << (dropped - 1)) - 1 + (bits >> dropped & 1);
    bits = bits >> dropped << dropped;
    memcpy(&x, &bits, sizeof x);
    return x;
}

gsa_status gsa_cuda_multiply(gsa_backend *b, const gsa_cuda_product *product)
{
    const gsa_cuda_product p = *product;
    return queue(b, "cublasGemmStridedBatchedEx", [=] {
        for (int one = 0; one <= p.more; one++) {
            const float *const a = p.a + one * p.step_a, *const bb = p.b + one * p.step_b;
            for (int64_t i = 0; i < p.m; i++)
                for (int64_t j = 0; j < p.n; j++) {
                    float *c = p.c + one * p.step_c + i * p.ldc + j, sum = 0;
                    for (int64_t l = 0; l < p.k; l++)
                        sum += rounded(p, a[p.transpose_a ? l * p.lda + i : i * p.lda + l]) *
                               rounded(p, bb[p.transpose_b ? j * p.ldb + l : l * p.ldb + j]);
                    *c = p.alpha * sum + (p.accumulate ? *c : 0);
                }
        }
    });
}

gsa_status gsa_cuda_scan(gsa_backend *b, int64_t *at, int64_t count)
{
    return queue(b, "ExclusiveSum", [=] {
        int64_t sum = 0;
        for (int64_t i = 0; i < count; i++) {
            const int64_t next = sum + at[i];
            at[i] = sum;
            sum = next;
        }
    });
}

/* A counting sort a byte at a time: stable, as CUB's. */
static void sort(uint32_t *keys_out, const uint32_t *keys, int64_t *values_out, const int64_t *values, int64_t count,
                 int bits)
{
    int64_t *order = (int64_t *)calloc((size_t)count + 1, sizeof *order),
            *next = (int64_t *)calloc((size_t)count + 1, sizeof *next);
    if (order == NULL || next == NULL) abort();
    for (int64_t i = 0; i < count; i++) order[i] = i;
    for (int shift = 0; shift < bits; shift += 8) {
        int64_t start[257] = { 0 };
        const uint32_t mask = bits - shift >= 8 ? 255u : (1u << (bits - shift)) - 1;
        for (int64_t i = 0; i < count; i++) start[(keys[i] >> shift & mask) + 1]++;
        for (int d = 0; d < 256; d++) start[d + 1] += start[d];
        for (int64_t i = 0; i < count; i++) next[start[keys[order[i]] >> shift & mask]++] = order[i];
        for (int64_t i = 0; i < count; i++) order[i] = next[i];
    }
    for (int64_t i = 0; i < count; i++) keys_out[i] = keys[order[i]], values_out[i] = values[order[i]];
    free(order);
    free(next);
}

gsa_status gsa_cuda_sort(gsa_backend *b, uint32_t *keys_out, const uint32_t *keys, int64_t *values_out,
                         const int64_t *values, int64_t count, int bits)
{
    return queue(b, "SortPairs", [=] { sort(keys_out, keys, values_out, values, count, bits); });
}

gsa_status gsa_cuda_sparse_open(gsa_backend *b)
{
    return GSA_CUDA(b, simt_sticky());
}

void gsa_cuda_sparse_close(gsa_backend *)
{
}

/* As cusparseCreateCsr: no more entries than places. */
gsa_status gsa_cuda_sparse_multiply(gsa_backend *b, const gsa_cuda_sparse_product *product)
{
    const gsa_cuda_sparse_product p = *product;
    if (p.entries > p.rows * p.cols)
        return gsa_fail(&b->error, GSA_ERR_UNSUPPORTED, "cusparseCreateCsr: nnz (%lld) > matrix size (%lld)",
                        (long long)p.entries, (long long)(p.rows * p.cols));
    if (p.what == GSA_CUDA_SAMPLE)
        return queue(b, "cusparseSDDMM", [=] {
            for (int64_t row = 0; row < p.rows; row++)
                for (int32_t e = p.offset[row]; e < p.offset[row + 1]; e++) {
                    float sum = 0;
                    for (int64_t c = 0; c < p.width; c++)
                        sum += p.y[row * p.stride + c] * p.x[p.column[e] * p.stride + c];
                    p.value[e] = p.alpha * sum;
                }
        });
    return queue(b, "cusparseSpMM", [=] {
        for (int64_t row = 0; row < p.rows; row++)
            for (int64_t at = row * p.stride; at < row * p.stride + p.width; at++) {
                float sum = 0;
                for (int32_t e = p.offset[row]; e < p.offset[row + 1]; e++)
                    sum += p.value[e] * p.x[p.column[e] * p.stride + at - row * p.stride];
                p.y[at] = p.alpha * sum + (p.what == GSA_CUDA_SPARSE_ADD ? p.y[at] : 0);
            }
    });
}
