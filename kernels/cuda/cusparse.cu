/* cusparse.cu - cuSPARSE, looked up when attention is first told to use it. A call describes its
 * matrices anew: what that costs is part of what the baseline costs. */
#include "kernels/cuda/library.h"
#include <dlfcn.h>

/* The part of cuSPARSE's generic interface that is used; its numbers are those of versions 11 to
 * 13. */
typedef struct cusparseContext *sparse_handle;
typedef struct sparse_matrix *sparse_csr;
typedef struct dense_matrix *sparse_dense;
enum { KEEP = 0, TRANSPOSE = 1 };
enum {
    INDEX_32 = 2,
    FROM_ZERO = 0,
    REAL_32 = 0,
    BY_ROW = 2,
    SDDMM_DEFAULT = 0,
    SPMM_ROWS = 6 /* CSR_ALG2: for matrices by row */
};

typedef int (*sddmm_size)(sparse_handle, int, int, const void *, sparse_dense, sparse_dense,
                          const void *, sparse_csr, int, int, size_t *);
typedef int (*sddmm_run)(sparse_handle, int, int, const void *, sparse_dense, sparse_dense,
                         const void *, sparse_csr, int, int, void *);
typedef int (*spmm_size)(sparse_handle, int, int, const void *, sparse_csr, sparse_dense,
                         const void *, sparse_dense, int, int, size_t *);
typedef int (*spmm_run)(sparse_handle, int, int, const void *, sparse_csr, sparse_dense,
                        const void *, sparse_dense, int, int, void *);
struct gsa_cuda_sparse {
    void *at;
    sparse_handle handle;
    int (*create)(sparse_handle *);
    int (*destroy)(sparse_handle);
    int (*set_stream)(sparse_handle, cudaStream_t);
    int (*create_csr)(sparse_csr *, int64_t, int64_t, int64_t, void *, void *, void *, int, int,
                      int, int);
    int (*destroy_csr)(sparse_csr);
    int (*create_dense)(sparse_dense *, int64_t, int64_t, int64_t, void *, int, int);
    int (*destroy_dense)(sparse_dense);
    sddmm_size sddmm_size;
    sddmm_run sddmm;
    spmm_size spmm_size;
    spmm_run spmm;
};

void gsa_cuda_sparse_close(gsa_backend *b)
{
    gsa_cuda_sparse *s = gsa_cuda_of(b)->sparse;
    if (s == NULL) return;
    if (s->handle) s->destroy(s->handle);
    if (s->at) dlclose(s->at);
    gsa_release(b->system, s);
    gsa_cuda_of(b)->sparse = NULL;
}

gsa_status gsa_cuda_sparse_follow(gsa_backend *b)
{
    const gsa_cuda_sparse *s = gsa_cuda_of(b)->sparse;
    if (s == NULL) return GSA_OK;
    return gsa_cuda_said(&b->error, "cusparseSetStream",
                         s->set_stream(s->handle, gsa_cuda_of(b)->stream));
}

static gsa_status find_sparse(gsa_backend *b, gsa_cuda_sparse *s)
{
    const gsa_cuda_symbol symbols[] = { { "cusparseCreate", &s->create },
                                        { "cusparseDestroy", &s->destroy },
                                        { "cusparseSetStream", &s->set_stream },
                                        { "cusparseCreateCsr", &s->create_csr },
                                        { "cusparseDestroySpMat", &s->destroy_csr },
                                        { "cusparseCreateDnMat", &s->create_dense },
                                        { "cusparseDestroyDnMat", &s->destroy_dense },
                                        { "cusparseSDDMM_bufferSize", &s->sddmm_size },
                                        { "cusparseSDDMM", &s->sddmm },
                                        { "cusparseSpMM_bufferSize", &s->spmm_size },
                                        { "cusparseSpMM", &s->spmm } };
    GSA_TRY(gsa_cuda_load(&b->error, "cusparse", &s->at, symbols,
                          (int)(sizeof symbols / sizeof *symbols)));
    GSA_TRY(gsa_cuda_said(&b->error, "cusparseCreate", s->create(&s->handle)));
    return gsa_cuda_sparse_follow(b);
}

gsa_status gsa_cuda_sparse_open(gsa_backend *b)
{
    GSA_TRY(GSA_CUDA(b, cudaSuccess));
    if (gsa_cuda_of(b)->sparse) return GSA_OK;
    gsa_cuda_sparse *s = (gsa_cuda_sparse *)gsa_alloc_zero(b->system, 1, sizeof *s);
    if (s == NULL) return gsa_out_of_memory(&b->error, "cuSPARSE", (int64_t)sizeof *s);
    gsa_cuda_of(b)->sparse = s;
    const gsa_status status = find_sparse(b, s);
    if (status != GSA_OK) gsa_cuda_sparse_close(b);
    return status;
}

/* ---- one call: descriptors, room, the product ---------------------------------------------- */
enum { NO_ROOM = -1 };
typedef struct sparse_call {
    const gsa_cuda_sparse *s;
    sparse_csr matrix;
    sparse_dense dense[2];
    void *room;
    int status; /* the first that is not 0 */
} sparse_call;

static void describe_csr(sparse_call *call, const gsa_cuda_csr *m)
{
    if (call->status != 0) return;
    call->status =
        call->s->create_csr(&call->matrix, m->rows, m->cols, m->entries, (void *)m->offset,
                            (void *)m->column, m->value, INDEX_32, INDEX_32, FROM_ZERO, REAL_32);
}

static void describe_dense(sparse_call *call, int which, int64_t rows, int64_t cols, int64_t stride,
                           const float *at)
{
    if (call->status != 0) return;
    call->status =
        call->s->create_dense(&call->dense[which], rows, cols, stride, (void *)at, REAL_32, BY_ROW);
}

static void take_room(gsa_backend *b, sparse_call *call, size_t bytes)
{
    if (call->status != 0 || bytes == 0) return;
    call->room = gsa_cuda_take(b, "cuSPARSE", (int64_t)bytes);
    if (call->room == NULL) call->status = NO_ROOM;
}

static gsa_status end_call(gsa_backend *b, const sparse_call *call, const char *function,
                           const gsa_cuda_csr *m)
{
    if (call->matrix) call->s->destroy_csr(call->matrix);
    for (int i = 0; i < 2; i++)
        if (call->dense[i]) call->s->destroy_dense(call->dense[i]);
    gsa_cuda_give(b, call->room);
    if (call->status == NO_ROOM) return b->error.status;
    GSA_TRY(GSA_CUDA(b, cudaGetLastError()));
    if (call->status == 0) return GSA_OK;
    return gsa_fail(&b->error, GSA_ERR_UNSUPPORTED,
                    "%s failed with status %d for %lld x %lld with %lld entries", function,
                    call->status, (long long)m->rows, (long long)m->cols, (long long)m->entries);
}

gsa_status gsa_cuda_sample(gsa_backend *b, const gsa_cuda_csr *m, const float *rows,
                           const float *columns, int64_t width, int64_t stride, float alpha)
{
    sparse_call call = {};
    const gsa_cuda_sparse *s = call.s = gsa_cuda_of(b)->sparse;
    const float beta = 0;
    size_t bytes = 0;
    gsa_cuda_stream(b);
    GSA_TRY(GSA_CUDA(b, cudaSuccess));
    describe_csr(&call, m);
    describe_dense(&call, 0, m->rows, width, stride, rows);
    describe_dense(&call, 1, m->cols, width, stride, columns);
    if (call.status == 0)
        call.status =
            s->sddmm_size(s->handle, KEEP, TRANSPOSE, &alpha, call.dense[0], call.dense[1], &beta,
                          call.matrix, REAL_32, SDDMM_DEFAULT, &bytes);
    take_room(b, &call, bytes);
    if (call.status == 0)
        call.status = s->sddmm(s->handle, KEEP, TRANSPOSE, &alpha, call.dense[0], call.dense[1],
                               &beta, call.matrix, REAL_32, SDDMM_DEFAULT, call.room);
    return end_call(b, &call, "cusparseSDDMM", m);
}

gsa_status gsa_cuda_sparse_multiply(gsa_backend *b, const gsa_cuda_csr *m, float *c, const float *x,
                                    int64_t width, int64_t stride, float alpha, int accumulate)
{
    sparse_call call = {};
    const gsa_cuda_sparse *s = call.s = gsa_cuda_of(b)->sparse;
    const float beta = accumulate ? 1.0f : 0.0f;
    size_t bytes = 0;
    gsa_cuda_stream(b);
    GSA_TRY(GSA_CUDA(b, cudaSuccess));
    describe_csr(&call, m);
    describe_dense(&call, 0, m->cols, width, stride, x);
    describe_dense(&call, 1, m->rows, width, stride, c);
    if (call.status == 0)
        call.status = s->spmm_size(s->handle, KEEP, KEEP, &alpha, call.matrix, call.dense[0], &beta,
                                   call.dense[1], REAL_32, SPMM_ROWS, &bytes);
    take_room(b, &call, bytes);
    if (call.status == 0)
        call.status = s->spmm(s->handle, KEEP, KEEP, &alpha, call.matrix, call.dense[0], &beta,
                              call.dense[1], REAL_32, SPMM_ROWS, call.room);
    return end_call(b, &call, "cusparseSpMM", m);
}
