/* gemm.cu - matrix products, by the library. */
#include "kernels/cuda/library.h"

static gsa_status check(gsa_backend *b, const gsa_cuda_product *p)
{
    const int64_t width_a = p->transpose_a ? p->m : p->k, width_b = p->transpose_b ? p->k : p->n;
    if (p->m < 0 || p->n < 0 || p->k < 0)
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT,
                        "gemm: m, n, k = %lld, %lld, %lld: one is negative", (long long)p->m,
                        (long long)p->n, (long long)p->k);
    if (p->ldc < p->n || p->lda < width_a || p->ldb < width_b)
        return gsa_fail(
            &b->error, GSA_ERR_ARGUMENT,
            "gemm: ldc, lda, ldb = %lld, %lld, %lld; at least %lld, %lld, %lld were expected",
            (long long)p->ldc, (long long)p->lda, (long long)p->ldb, (long long)p->n,
            (long long)width_a, (long long)width_b);
    if (p->n > INT32_MAX || p->ldc > INT32_MAX || p->lda > INT32_MAX || p->ldb > INT32_MAX)
        return gsa_fail(&b->error, GSA_ERR_LIMIT,
                        "gemm: n, ldc, lda, ldb = %lld, %lld, %lld, %lld; at most 2^31 - 1 each",
                        (long long)p->n, (long long)p->ldc, (long long)p->lda, (long long)p->ldb);
    return GSA_OK;
}

static __global__ void __launch_bounds__(GSA_ELEMENTS)
    clear_matrix(float *c, int64_t m, int64_t n, int64_t ldc)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m * n) c[i / n * ldc + i % n] = 0;
}

static gsa_status gemm(gsa_backend *b, void *c, const void *a, const void *bb, int64_t m, int64_t n,
                       int64_t k, int transpose_a, int transpose_b, int64_t ldc, int64_t lda,
                       int64_t ldb, int accumulate)
{
    int64_t blocks;
    const gsa_cuda_product product = {
        (float *)c, (const float *)a, (const float *)bb, m,          n, k, ldc, lda,
        ldb,        transpose_a,      transpose_b,       accumulate, 1
    };
    GSA_TRY(check(b, &product));
    if (m == 0 || n == 0 || (k == 0 && accumulate)) return GSA_OK;
    if (k > 0) return gsa_cuda_multiply(b, &product);
    GSA_TRY(gsa_cuda_grid(b, "gemm", m * n, GSA_ELEMENTS, &blocks));
    return GSA_RUN(b, clear_matrix, blocks, GSA_ELEMENTS, (float *)c, m, n, ldc);
}

void gsa_cuda_fill_gemm(gsa_backend *b)
{
    b->gemm = gemm;
}
