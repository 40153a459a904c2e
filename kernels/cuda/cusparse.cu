/* cusparse.cu - cuSPARSE, looked up when attention is first told to use it. A call describes its
 * matrices anew: what that costs is part of what the baseline costs. */
#include "kernels/cuda/library.h"
#include <dlfcn.h>

/* The part of cuSPARSE's generic interface that is used; its numbers are those of versions 11 to
 * 13. */
typedef struct cusparseContext *sparse_handle;
typedef void *sparse_matrix; /* what describes one, by rows of entries or dense */
enum { KEEP = 0, TRANSPOSE = 1 };
enum {
    INDEX_32 = 2,
    FROM_ZERO = 0,
    REAL_32 = 0,
    BY_ROW = 2,
    SDDMM_DEFAULT = 0,
    SPMM_ROWS = 6, /* CSR_ALG2: for matrices by row */
    NO_ROOM = -1   /* not a status of the library's */
};

/* A product, or how much room it needs: the last argument is that room, or the size_t that is
 * set. */
typedef int (*sparse_product)(sparse_handle, int, int, const void *, sparse_matrix, sparse_matrix,
                              const void *, sparse_matrix, int, int, void *);
struct gsa_cuda_sparse {
    void *at;
    sparse_handle handle;
    int (*create)(sparse_handle *);
    int (*destroy)(sparse_handle);
    int (*set_stream)(sparse_handle, cudaStream_t);
    int (*create_csr)(sparse_matrix *, int64_t, int64_t, int64_t, void *, void *, void *, int, int,
                      int, int);
    int (*destroy_csr)(sparse_matrix);
    int (*create_dense)(sparse_matrix *, int64_t, int64_t, int64_t, void *, int, int);
    int (*destroy_dense)(sparse_matrix);
    sparse_product sddmm_size, sddmm, spmm_size, spmm;
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
                                        { "cusparseSpMM", &s->spmm },
                                        {} };
    GSA_TRY(gsa_cuda_load(b, "cusparse", &s->at, symbols));
    return gsa_cuda_said(b, "cusparseCreate", s->create(&s->handle));
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

/* Descriptions, of m and what it stands beside: x and y. */
static int describe(const gsa_cuda_sparse *s, const gsa_cuda_sparse_product *p, sparse_matrix *m,
                    sparse_matrix *x, sparse_matrix *y)
{
    int said = s->create_csr(m, p->rows, p->cols, p->entries, (void *)p->offset, (void *)p->column,
                             p->value, INDEX_32, INDEX_32, FROM_ZERO, REAL_32);
    if (said == 0)
        said = s->create_dense(x, p->cols, p->width, p->stride, (void *)p->x, REAL_32, BY_ROW);
    return said ? said : s->create_dense(y, p->rows, p->width, p->stride, p->y, REAL_32, BY_ROW);
}

gsa_status gsa_cuda_sparse_multiply(gsa_backend *b, const gsa_cuda_sparse_product *p)
{
    const gsa_cuda_sparse *s = gsa_cuda_of(b)->sparse;
    const int samples = p->what == GSA_CUDA_SAMPLE, op = samples ? TRANSPOSE : KEEP,
              way = samples ? SDDMM_DEFAULT : SPMM_ROWS;
    const float beta = p->what == GSA_CUDA_SPARSE_ADD ? 1.0f : 0.0f;
    const sparse_product size = samples ? s->sddmm_size : s->spmm_size,
                         product = samples ? s->sddmm : s->spmm;
    sparse_matrix m = NULL, x = NULL, y = NULL;
    size_t bytes = 0;
    void *room = NULL;
    cudaStream_t stream = gsa_cuda_stream(b);
    GSA_TRY(GSA_CUDA(b, cudaSuccess));
    int said = s->set_stream(s->handle, stream);
    if (said == 0) said = describe(s, p, &m, &x, &y);
    const sparse_matrix a = samples ? y : m, c = samples ? m : y;
    if (said == 0)
        said = size(s->handle, KEEP, op, &p->alpha, a, x, &beta, c, REAL_32, way, &bytes);
    if (said == 0 && bytes > 0) room = gsa_cuda_take(b, "cuSPARSE", (int64_t)bytes);
    if (said == 0 && bytes > 0 && room == NULL) said = NO_ROOM;
    if (said == 0)
        said = product(s->handle, KEEP, op, &p->alpha, a, x, &beta, c, REAL_32, way, room);
    if (m) s->destroy_csr(m);
    if (x) s->destroy_dense(x);
    if (y) s->destroy_dense(y);
    gsa_cuda_give(b, room);
    if (said == NO_ROOM) return b->error.status;
    GSA_TRY(GSA_CUDA(b, cudaGetLastError()));
    return gsa_cuda_said(b, samples ? "cusparseSDDMM" : "cusparseSpMM", said);
}
