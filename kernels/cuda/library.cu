/* library.cu - cuBLAS, looked up when a backend opens, and CUB. */
#include "kernels/cuda/library.h"
#include "kernels/cuda.h"
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <dlfcn.h>
#include <stdio.h>

/* The part of cuBLAS's C interface that is used; its numbers are part of its ABI since version
 * 11. */
typedef struct cublasContext *blas_handle;
enum {
    BLAS_N = 0,
    BLAS_T = 1,
    BLAS_FLOAT = 0,
    BLAS_COMPUTE_FLOAT = 68,
    BLAS_COMPUTE_BF16 = 75, /* factors of float may be rounded to bf16, or to tf32 */
    BLAS_COMPUTE_TF32 = 77,
    BLAS_ANY_WAY = -1
};
struct gsa_cuda_library {
    void *blas;
    blas_handle handle;
    void *workspace; /* [workspace_bytes] of device memory */
    size_t workspace_bytes;
    int (*create)(blas_handle *);
    int (*destroy)(blas_handle);
    int (*set_stream)(blas_handle, cudaStream_t);
    int (*set_workspace)(blas_handle, void *, size_t);
    int (*multiply)(blas_handle, int, int, int, int, int, const void *, const void *, int, int,
                    long long, const void *, int, int, long long, const void *, void *, int, int,
                    long long, int, int, int);
};

gsa_status gsa_cuda_load(gsa_backend *b, const char *library, void **at,
                         const gsa_cuda_symbol *symbols)
{
    static const char *const names[] = { "lib%s.so.13", "lib%s.so.12", "lib%s.so.11", "lib%s.so",
                                         "/usr/local/cuda/lib64/lib%s.so" };
    char name[64];
    for (size_t i = 0; i < sizeof names / sizeof *names && *at == NULL; i++) {
        snprintf(name, sizeof name, names[i], library);
        *at = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (*at == NULL)
        return gsa_fail(&b->error, GSA_ERR_UNSUPPORTED,
                        "cuda: %s was not found: %s (LD_LIBRARY_PATH names its folder)", library,
                        dlerror());
    for (; symbols->name; symbols++) {
        void *found = dlsym(*at, symbols->name);
        if (found == NULL)
            return gsa_fail(&b->error, GSA_ERR_UNSUPPORTED, "cuda: %s lacks %s", name,
                            symbols->name);
        memcpy(symbols->function, &found, sizeof found);
    }
    return GSA_OK;
}

gsa_status gsa_cuda_said(gsa_backend *b, const char *function, int status)
{
    return status == 0 ? GSA_OK
                       : gsa_fail(&b->error, GSA_ERR_UNSUPPORTED, "cuda: %s failed with status %d",
                                  function, status);
}

/* The stream, and after it the workspace, which a change of the stream takes away. */
gsa_status gsa_cuda_library_follow(gsa_backend *b)
{
    const gsa_cuda_library *l = gsa_cuda_of(b)->library;
    GSA_TRY(gsa_cuda_said(b, "cublasSetStream", l->set_stream(l->handle, gsa_cuda_of(b)->stream)));
    return gsa_cuda_said(b, "cublasSetWorkspace",
                         l->set_workspace(l->handle, l->workspace, l->workspace_bytes));
}

/* The workspace is as large as it would take for itself, so that its choices are the same; but
 * ours, and there for as long as a graph may name it. */
gsa_status gsa_cuda_library_open(gsa_backend *b)
{
    gsa_cuda_library *l = (gsa_cuda_library *)gsa_alloc_zero(b->system, 1, sizeof *l);
    if (l == NULL) return gsa_out_of_memory(&b->error, "backend cuda", (int64_t)sizeof *l);
    gsa_cuda_of(b)->library = l;
    const gsa_cuda_symbol symbols[] = { { "cublasCreate_v2", &l->create },
                                        { "cublasDestroy_v2", &l->destroy },
                                        { "cublasSetWorkspace_v2", &l->set_workspace },
                                        { "cublasSetStream_v2", &l->set_stream },
                                        { "cublasGemmStridedBatchedEx", &l->multiply },
                                        {} };
    GSA_TRY(gsa_cuda_load(b, "cublas", &l->blas, symbols));
    GSA_TRY(gsa_cuda_said(b, "cublasCreate", l->create(&l->handle)));
    l->workspace_bytes = (size_t)1 << (gsa_cuda_of(b)->capability >= 90 ? 25 : 22);
    l->workspace = gsa_cuda_take(b, "backend cuda: cuBLAS", (int64_t)l->workspace_bytes);
    return l->workspace ? gsa_cuda_library_follow(b) : b->error.status;
}

void gsa_cuda_library_close(gsa_backend *b)
{
    gsa_cuda_library *l = gsa_cuda_of(b)->library;
    if (l == NULL) return;
    if (l->handle) l->destroy(l->handle);
    if (l->blas) dlclose(l->blas);
    gsa_release(b->system, l);
}

/* Row-major C = op(A) op(B) is column-major C^T = op(B)^T op(A)^T. Rows beyond what an int counts
 * are cut. */
gsa_status gsa_cuda_multiply(gsa_backend *b, const gsa_cuda_product *p)
{
    const gsa_cuda_library *l = gsa_cuda_of(b)->library;
    const int64_t limit = 1 << 30;
    const int compute = p->rounds == GSA_CUDA_TF32   ? BLAS_COMPUTE_TF32
                        : p->rounds == GSA_CUDA_BF16 ? BLAS_COMPUTE_BF16
                                                     : BLAS_COMPUTE_FLOAT;
    GSA_TRY(GSA_CUDA(b, cudaSuccess));
    for (int64_t row = 0; row < p->m; row += limit)
        for (int64_t deep = 0; deep < p->k; deep += limit) {
            const int m = (int)min(p->m - row, limit), k = (int)min(p->k - deep, limit);
            const float alpha = p->alpha, beta = p->accumulate || deep > 0 ? 1.0f : 0.0f;
            const float *a = p->a + (p->transpose_a ? deep * p->lda + row : row * p->lda + deep);
            const float *bb = p->b + (p->transpose_b ? deep : deep * p->ldb);
            const int status = l->multiply(
                l->handle, p->transpose_b ? BLAS_T : BLAS_N, p->transpose_a ? BLAS_T : BLAS_N,
                (int)p->n, m, k, &alpha, bb, BLAS_FLOAT, (int)p->ldb, p->step_b, a, BLAS_FLOAT,
                (int)p->lda, p->step_a, &beta, p->c + row * p->ldc, BLAS_FLOAT, (int)p->ldc,
                p->step_c, p->more + 1, compute, BLAS_ANY_WAY);
            GSA_TRY(GSA_CUDA(b, cudaGetLastError()));
            if (status != 0)
                return gsa_fail(&b->error, GSA_ERR_UNSUPPORTED,
                                "gemm: cublasGemmStridedBatchedEx failed with status %d for m, n, "
                                "k = %lld, %lld, %lld",
                                status, (long long)p->m, (long long)p->n, (long long)p->k);
        }
    return GSA_OK;
}

/* CUB says how much room it needs when it is given none. */
template <class F> static gsa_status in_room(gsa_backend *b, const char *what, const F &call)
{
    size_t bytes = 0;
    GSA_TRY(gsa_cuda_check(b, call(NULL, bytes), what, __FILE__, __LINE__));
    void *room = gsa_cuda_take(b, what, (int64_t)bytes);
    if (room == NULL) return b->error.status;
    const gsa_status status = gsa_cuda_check(b, call(room, bytes), what, __FILE__, __LINE__);
    gsa_cuda_give(b, room);
    return status;
}

gsa_status gsa_cuda_scan(gsa_backend *b, int64_t *at, int64_t count)
{
    cudaStream_t stream = gsa_cuda_stream(b);
    return in_room(b, "cub::DeviceScan::ExclusiveSum", [=](void *room, size_t &bytes) {
        return cub::DeviceScan::ExclusiveSum(room, bytes, at, at, count, stream);
    });
}

gsa_status gsa_cuda_sort(gsa_backend *b, uint32_t *keys_out, const uint32_t *keys,
                         int64_t *values_out, const int64_t *values, int64_t count, int bits)
{
    cudaStream_t stream = gsa_cuda_stream(b);
    return in_room(b, "cub::DeviceRadixSort::SortPairs", [=](void *room, size_t &bytes) {
        return cub::DeviceRadixSort::SortPairs(room, bytes, keys, keys_out, values, values_out,
                                               count, 0, bits, stream);
    });
}
