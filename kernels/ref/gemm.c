/* gemm.c - a product by blocks, each one single-threaded call of the library, cut as kernels/gemm.h
 * says, or some of the blocks. Partials are added in the order of k. A B that is transposed is
 * turned once where many rows of A meet it: libraries turn it block by block, and take 7 to 16 %
 * longer for it. */
#include "kernels/gemm.h"
#include "kernels/ref/ref.h"
#include <stdatomic.h>

enum {
    TURN_FROM = 1024,     /* rows of A for which B is turned */
    TURN_LIMIT = 1 << 22, /* elements of B turned */
    TURN_TILE = 16
};

typedef struct gemm_job {
    gsa_gemm whole;
    gsa_gemm_cut cut;
    real *partial;       /* [k_chunks, m, n] when k_chunks > 1 */
    real *turned;        /* [k, n], or NULL */
    const uint8_t *late; /* by row block, or NULL: all of them */
    int rest;
    atomic_int failed;
} gemm_job;

#if GSA_REF_BITS == 64
#define MULTIPLY gsa_gemm_f64
#else
#define MULTIPLY gsa_gemm_f32
#endif

static const real *shifted(const void *matrix, int64_t row, int64_t col, int64_t ld, int transpose)
{
    return (const real *)matrix + (transpose ? col * ld + row : row * ld + col);
}

static int is_left_out(const gemm_job *job, int64_t row_block)
{
    return job->late && (job->late[row_block] != 0) != (job->rest != 0);
}

static void block_item(void *context, int64_t item)
{
    gemm_job *job = context;
    const gsa_gemm *whole = &job->whole;
    const gsa_gemm_cut *cut = &job->cut;
    const int64_t i = item % cut->row_blocks * cut->rows, part = item / cut->row_blocks;
    const int64_t j = part % cut->column_blocks * cut->columns, chunk = part / cut->column_blocks,
                  k = chunk * cut->k;
    gsa_gemm g = *whole;
    if (is_left_out(job, item % cut->row_blocks)) return;
    g.m = ref_smaller(cut->rows, whole->m - i);
    g.n = ref_smaller(cut->columns, whole->n - j);
    g.k = ref_smaller(cut->k, whole->k - k);
    g.a = shifted(whole->a, i, k, g.lda, g.transpose_a);
    g.b = shifted(whole->b, k, j, g.ldb, g.transpose_b);
    if (cut->k_chunks > 1) {
        g.c = job->partial + (chunk * whole->m + i) * whole->n + j;
        g.ldc = whole->n;
        g.accumulate = 0;
    } else {
        g.c = (real *)whole->c + i * whole->ldc + j;
    }
    const int status = MULTIPLY(&g);
    if (status != 0) atomic_store(&job->failed, status);
}

static void run_blocks(gsa_backend *b, gemm_job *job)
{
    sigset_t before;
    gsa_gemm_begin(&before);
    gsa_team_run(b->team, job->cut.row_blocks * job->cut.column_blocks * job->cut.k_chunks,
                 block_item, job);
    gsa_gemm_end(&before);
}

/* TURN_TILE rows of what becomes B [k, n], from B as it is, [n, k]. */
static void turn_item(void *context, int64_t item)
{
    const gemm_job *job = context;
    const gsa_gemm *g = &job->whole;
    const int64_t first = item * TURN_TILE, last = ref_smaller(first + TURN_TILE, g->k);
    for (int64_t from = 0; from < g->n; from += TURN_TILE) {
        const int64_t to = ref_smaller(from + TURN_TILE, g->n);
        for (int64_t i = first; i < last; i++)
            for (int64_t j = from; j < to; j++)
                job->turned[i * g->n + j] = ((const real *)g->b)[j * g->ldb + i];
    }
}

static gsa_status turn(gsa_backend *b, gemm_job *job)
{
    int64_t elements;
    gsa_gemm *g = &job->whole;
    if (!g->transpose_b || g->m < TURN_FROM || job->cut.k_chunks > 1 ||
        !gsa_mul(g->k, g->n, &elements) || elements > TURN_LIMIT)
        return GSA_OK;
    job->turned = gsa_ref_scratch(b, "gemm", elements, sizeof(real));
    if (job->turned == NULL) return b->error.status;
    gsa_team_run(b->team, ref_items(g->k, TURN_TILE), turn_item, job);
    g->b = job->turned, g->ldb = g->n, g->transpose_b = 0;
    return GSA_OK;
}

/* One row of C: the partials of all chunks, in order. */
static void add_item(void *context, int64_t row)
{
    const gemm_job *job = context;
    const gsa_gemm *g = &job->whole;
    real *c = (real *)g->c + row * g->ldc;
    if (is_left_out(job, row / job->cut.rows)) return;
    if (!g->accumulate) memset(c, 0, sizeof(real) * (size_t)g->n);
    ref_add_partials(c, job->partial + row * g->n, job->cut.k_chunks, g->m * g->n, g->n);
}

static void clear(real *c, int64_t m, int64_t n, int64_t ldc)
{
    for (int64_t i = 0; i < m; i++) memset(c + i * ldc, 0, sizeof(real) * (size_t)n);
}

static gsa_status run(gsa_backend *b, gemm_job *job)
{
    const gsa_gemm g = job->whole;
    gsa_status status = gsa_ref_check_gemm(b, &g);
    if (status != GSA_OK || g.m == 0 || g.n == 0) return status;
    if (g.k == 0) {
        if (!g.accumulate) clear(g.c, g.m, g.n, g.ldc);
        return GSA_OK;
    }
    job->cut = gsa_gemm_cut_of(g.m, g.n, g.k);
    if (job->cut.k_chunks > 1) {
        job->partial = gsa_ref_scratch(b, "gemm", job->cut.k_chunks * g.m * g.n, sizeof(real));
        if (job->partial == NULL) return b->error.status;
    }
    status = turn(b, job);
    if (status != GSA_OK) return status;
    run_blocks(b, job);
    const int failed = atomic_load(&job->failed);
    if (failed != 0)
        return gsa_fail(&b->error, GSA_ERR_MEMORY,
                        "gemm: %s failed with status %d for m, n, k = %lld, %lld, %lld",
                        gsa_gemm_library(), failed, (long long)g.m, (long long)g.n, (long long)g.k);
    if (job->cut.k_chunks > 1) gsa_team_run(b->team, g.m, add_item, job);
    return GSA_OK;
}

static gsa_status gemm(gsa_backend *b, void *c, const void *a, const void *bb, int64_t m, int64_t n,
                       int64_t k, int transpose_a, int transpose_b, int64_t ldc, int64_t lda,
                       int64_t ldb, int accumulate)
{
    gemm_job job = { .whole = { c, a, bb, m, n, k, ldc, lda, ldb, transpose_a, transpose_b,
                                accumulate } };
    return run(b, &job);
}

static gsa_status gemm_part(gsa_backend *b, void *c, const void *a, const void *bb, int64_t m,
                            int64_t n, int64_t k, const uint8_t *late, int rest)
{
    gemm_job job = { .whole = { c, a, bb, m, n, k, n, k, k, 0, 1, 0 }, .late = late, .rest = rest };
    return run(b, &job);
}

void GSA_REF(fill_gemm)(gsa_backend *b)
{
    b->gemm = gemm;
    b->gemm_part = gemm_part;
}
