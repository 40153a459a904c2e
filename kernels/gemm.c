#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "kernels/gemm.h"
#include "kernels/backend.h"

#if defined(GSA_HAVE_CBLAS)
#include <cblas.h>
#endif

/* ---- the cut into blocks ------------------------------------------------------------------- */

enum {
    ROWS = GSA_GEMM_ROWS,
    K_CHUNK = 1024,
    BLOCKS = 16,
    COLUMNS = 128, /* of a block at least, in steps of COLUMN_STEP: narrower ones take half as long
                      again */
    COLUMN_STEP = 16,
    ROWS_READ = 4,  /* reading B once takes as long as the products of so many rows */
    WORTH = 1 << 21 /* products of a block at least: about 20 microseconds */
};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t parts(int64_t count, int64_t each)
{
    return count / each + (count % each != 0);
}

/* Enough chunks of k for BLOCKS blocks, none shorter than K_CHUNK, partials within their limit. */
static int64_t chunks_of(int64_t m, int64_t n, int64_t k, int64_t row_blocks)
{
    int64_t elements;
    if (!gsa_mul(m, n, &elements)) return 1;
    const int64_t wanted = smaller(BLOCKS / smaller(row_blocks, BLOCKS), parts(k, K_CHUNK));
    const int64_t chunks = smaller(wanted, GSA_GEMM_PARTIAL_LIMIT / elements),
                  needed = parts(k, INT32_MAX);
    return chunks > needed ? chunks : needed;
}

static int64_t column_blocks(int64_t m, int64_t n, int64_t k)
{
    int64_t work;
    if (!gsa_mul(m + ROWS_READ, k, &work) || !gsa_mul(work, n, &work)) work = INT64_MAX;
    const int64_t blocks = smaller(smaller(work / WORTH, n / COLUMNS), BLOCKS);
    return blocks > 1 ? blocks : 1;
}

gsa_gemm_cut gsa_gemm_cut_of(int64_t m, int64_t n, int64_t k)
{
    gsa_gemm_cut cut = {
        .rows = ROWS, .row_blocks = parts(m, ROWS), .columns = n, .column_blocks = 1
    };
    cut.k = parts(k, chunks_of(m, n, k, cut.row_blocks));
    cut.k_chunks = parts(k, cut.k);
    if (cut.row_blocks > 1 || cut.k_chunks > 1) return cut;
    const int64_t blocks = column_blocks(m, n, k);
    if (blocks == 1) return cut;
    cut.columns = parts(parts(n, blocks), COLUMN_STEP) * COLUMN_STEP;
    cut.column_blocks = parts(n, cut.columns);
    return cut;
}

/* ---- one block ----------------------------------------------------------------------------- */

#if defined(GSA_HAVE_ONEDNN)
#include <dnnl.h>
#include <omp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define GSA_TEXT_OF(number) #number
#define GSA_TEXT(number)    GSA_TEXT_OF(number)

void gsa_gemm_begin(sigset_t *before)
{
    static const int faults[] = {
        SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS
    }; /* blocked they would kill unheard */
    sigset_t held;
    sigfillset(&held);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&held, faults[i]);
    pthread_sigmask(SIG_BLOCK, &held, before);
}

void gsa_gemm_end(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* oneDNN cuts the sums of a product by omp_get_max_threads(). The number belongs to the calling
 * task, so that it can be 1 here without any other thread noticing; no parallel region is entered,
 * so that forking stays safe. */
int gsa_gemm_f32(const gsa_gemm *g)
{
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    const dnnl_status_t status =
        dnnl_sgemm(g->transpose_a ? 'T' : 'N', g->transpose_b ? 'T' : 'N', g->m, g->n, g->k, 1,
                   (const float *)g->a, g->lda, (const float *)g->b, g->ldb, g->accumulate ? 1 : 0,
                   (float *)g->c, g->ldc);
    omp_set_num_threads(threads);
    return (int)status;
}

enum { CODE_ROOM = 32 << 20 }; /* oneDNN 2.6.3 takes 18 MB of it */

static int memory_is_limited(void)
{
    static const int which[] = { RLIMIT_AS, RLIMIT_DATA };
    struct rlimit now;
    for (int i = 0; i < 2; i++)
        if (getrlimit(which[i], &now) == 0 && now.rlim_cur != RLIM_INFINITY) return 1;
    return 0;
}

static int has_room(void)
{
    void *room = mmap(NULL, CODE_ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return room != MAP_FAILED && munmap(room, CODE_ROOM) == 0;
}

/* The four transposes of the smallest product that is none of a vector: sets of kernels for small
 * n, for small sizes and for large ones are made, whatever the level of vectors. */
static void make_code(void)
{
    static const float ones[4] = { 1, 1, 1, 1 };
    float c[4];
    sigset_t before;
    gsa_gemm_begin(&before);
    for (int i = 0; i < 4; i++)
        gsa_gemm_f32(&(gsa_gemm){ c, ones, ones, 2, 2, 2, 2, 2, 2, i & 1, i >> 1, 0 });
    gsa_gemm_end(&before);
}

/* oneDNN generates a set of kernels at the first product that wants one, and writes through NULL
 * where there is no room for it. It takes 40 ms for all of them, which a process without limits
 * spends on those that it uses. */
static gsa_status prepare_code(gsa_error *error)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int made;
    pthread_mutex_lock(&lock);
    const int needed = !made && memory_is_limited(), fits = !needed || has_room();
    if (needed && fits) make_code(), made = 1;
    pthread_mutex_unlock(&lock);
    return fits ? GSA_OK
                : gsa_fail(error, GSA_ERR_MEMORY,
                           "the limit of memory (ulimit -v, -d) leaves less than %d kB for the "
                           "code of matrix products",
                           CODE_ROOM >> 10);
}
#elif defined(GSA_HAVE_CBLAS)
int gsa_gemm_f32(const gsa_gemm *g)
{
    cblas_sgemm(CblasRowMajor, g->transpose_a ? CblasTrans : CblasNoTrans,
                g->transpose_b ? CblasTrans : CblasNoTrans, (int)g->m, (int)g->n, (int)g->k, 1,
                (const float *)g->a, (int)g->lda, (const float *)g->b, (int)g->ldb,
                g->accumulate ? 1 : 0, (float *)g->c, (int)g->ldc);
    return 0;
}
#else
int gsa_gemm_f32(const gsa_gemm *g)
{
    gsa_ref32_multiply(g);
    return 0;
}
#endif

#if !defined(GSA_HAVE_ONEDNN)
void gsa_gemm_begin(sigset_t *before)
{
    sigemptyset(before);
}

void gsa_gemm_end(const sigset_t *before)
{
    (void)before;
}
#endif

#if defined(GSA_HAVE_CBLAS)
int gsa_gemm_f64(const gsa_gemm *g)
{
    cblas_dgemm(CblasRowMajor, g->transpose_a ? CblasTrans : CblasNoTrans,
                g->transpose_b ? CblasTrans : CblasNoTrans, (int)g->m, (int)g->n, (int)g->k, 1,
                (const double *)g->a, (int)g->lda, (const double *)g->b, (int)g->ldb,
                g->accumulate ? 1 : 0, (double *)g->c, (int)g->ldc);
    return 0;
}
#else
int gsa_gemm_f64(const gsa_gemm *g)
{
    gsa_ref64_multiply(g);
    return 0;
}
#endif

gsa_status gsa_gemm_prepare(gsa_error *error)
{
#if defined(GSA_CBLAS_IS_OPENBLAS)
    openblas_set_num_threads(1);
#endif
#if defined(GSA_HAVE_ONEDNN)
    return prepare_code(error);
#else
    (void)error;
    return GSA_OK;
#endif
}

const char *gsa_gemm_library(void)
{
#if defined(GSA_HAVE_ONEDNN)
    return "oneDNN " GSA_TEXT(DNNL_VERSION_MAJOR) "." GSA_TEXT(DNNL_VERSION_MINOR) "." GSA_TEXT(
        DNNL_VERSION_PATCH);
#elif defined(GSA_HAVE_CBLAS)
    return "CBLAS";
#else
    return "plain loops";
#endif
}
