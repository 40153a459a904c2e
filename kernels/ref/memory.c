#include "kernels/ref/memory.h"
#include "kernels/team.h"
#include <string.h>

enum { ALIGN = 64 };

/* Systems map large blocks at the same place of a page each: rows of one number of K, V, dK and dV
 * then meet in the same sets of the caches, and a load seems to read what a store with the same low
 * bits of its address has written. So each starts another line further on than the one before
 * (backward of bpt:k=4, 8 heads of 64: 1.24 times as fast; kernels/cpu/TRIED.md). */
static int64_t stagger(gsa_ref_state *state, int64_t bytes)
{
    enum { LARGE = 1 << 16, TURNS = 16 };
    return bytes < LARGE ? 0 : ALIGN * (int64_t)(state->large++ % TURNS);
}

void *gsa_aligned_alloc(const gsa_system *system, int64_t bytes, int64_t late)
{
    int64_t whole;
    if (!gsa_add(bytes, late + ALIGN + (int64_t)sizeof(void *), &whole)) return NULL;
    char *base = gsa_alloc(system, (size_t)whole, 1);
    if (base == NULL) return NULL;
    char *at = base + sizeof(void *);
    at += (ALIGN - (uintptr_t)at % ALIGN) % ALIGN + (uintptr_t)late;
    memcpy(at - sizeof(void *), &base, sizeof base);
    return at;
}

void gsa_aligned_release(const gsa_system *system, void *at)
{
    void *base = NULL;
    if (at == NULL) return;
    memcpy(&base, (char *)at - sizeof(void *), sizeof base);
    gsa_release(system, base);
}

static void *ref_alloc(gsa_backend *b, int64_t bytes)
{
    if (bytes < 0) {
        gsa_fail(&b->error, GSA_ERR_ARGUMENT, "alloc: %lld bytes", (long long)bytes);
        return NULL;
    }
    void *at = gsa_aligned_alloc(b->system, bytes, stagger(b->state, bytes));
    if (at == NULL) gsa_out_of_memory(&b->error, "backend ref", bytes);
    return at;
}

static void ref_free(gsa_backend *b, void *at)
{
    gsa_aligned_release(b->system, at);
}

static gsa_status move(gsa_backend *b, const char *op, void *to, const void *from, int64_t bytes)
{
    if (bytes < 0)
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT, "%s: %lld bytes", op, (long long)bytes);
    if (bytes > 0 && to != from) memcpy(to, from, (size_t)bytes);
    return GSA_OK;
}

static gsa_status ref_upload(gsa_backend *b, void *to, const void *from_host, int64_t bytes)
{
    return move(b, "upload", to, from_host, bytes);
}

static gsa_status ref_download(gsa_backend *b, void *to_host, const void *from, int64_t bytes)
{
    return move(b, "download", to_host, from, bytes);
}

static gsa_status ref_copy(gsa_backend *b, void *to, const void *from, int64_t bytes)
{
    return move(b, "copy", to, from, bytes);
}

static gsa_status ref_zero_fill(gsa_backend *b, void *at, int64_t bytes)
{
    if (bytes < 0)
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT, "zero_fill: %lld bytes", (long long)bytes);
    if (bytes > 0) memset(at, 0, (size_t)bytes);
    return GSA_OK;
}

static void ref_release(gsa_backend *b)
{
    const gsa_system *system = b->system;
    gsa_ref_state *state = b->state;
    gsa_team_release(b->team);
    gsa_aligned_release(system, state->scratch);
    gsa_release(system, state);
    gsa_release(system, b);
}

void gsa_ref_fill_memory(gsa_backend *b)
{
    b->release = ref_release;
    b->alloc = ref_alloc;
    b->free = ref_free;
    b->upload = ref_upload;
    b->download = ref_download;
    b->copy = ref_copy;
    b->zero_fill = ref_zero_fill;
}

void *gsa_ref_scratch(gsa_backend *b, const char *op, int64_t count, int64_t size)
{
    gsa_ref_state *state = b->state;
    int64_t bytes;
    if (!gsa_mul(count, size, &bytes)) {
        gsa_fail(&b->error, GSA_ERR_LIMIT, "%s: scratch of %lld x %lld bytes exceeds 64 bits", op,
                 (long long)count, (long long)size);
        return NULL;
    }
    if (state->scratch != NULL && bytes <= state->scratch_bytes) return state->scratch;
    gsa_aligned_release(b->system, state->scratch);
    state->scratch_bytes = 0;
    state->scratch = gsa_aligned_alloc(b->system, bytes, 0);
    if (state->scratch == NULL) gsa_out_of_memory(&b->error, op, bytes);
    else state->scratch_bytes = bytes;
    return state->scratch;
}

gsa_status gsa_ref_shape(gsa_backend *b, const char *op, int64_t rows, int64_t cols)
{
    int64_t count;
    if (rows < 0 || cols < 0)
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT, "%s: shape [%lld, %lld] is negative", op,
                        (long long)rows, (long long)cols);
    if (!gsa_mul(rows, cols, &count) || !gsa_mul(count, b->real_bytes, &count))
        return gsa_fail(&b->error, GSA_ERR_LIMIT, "%s: shape [%lld, %lld] exceeds 64 bits", op,
                        (long long)rows, (long long)cols);
    return GSA_OK;
}

gsa_status gsa_ref_check_activation(gsa_backend *b, const char *op, int activation, int64_t count)
{
    if (activation < GSA_RELU || activation > GSA_SIGMOID)
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT, "%s: activation %d is none of 0..%d", op,
                        activation, GSA_SIGMOID);
    return gsa_ref_shape(b, op, count, 1);
}

gsa_status gsa_ref_check_dropout(gsa_backend *b, const char *op, const gsa_dropout *dropout)
{
    if (!(dropout->p >= 0 && dropout->p < 1))
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT, "%s: dropout p = %g is outside [0, 1)", op,
                        dropout->p);
    if (dropout->p > 0 && dropout->site >> 20 != 0)
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT, "%s: dropout site %u is not below 2^20", op,
                        (unsigned)dropout->site);
    return GSA_OK;
}

gsa_status gsa_ref_check_indices(gsa_backend *b, const char *op, const char *what,
                                 const int32_t *indices, int64_t count, int64_t low, int64_t high)
{
    for (int64_t i = 0; i < count; i++)
        if (indices[i] < low || indices[i] >= high)
            return gsa_fail(&b->error, GSA_ERR_ARGUMENT,
                            "%s: %s %d of row %lld is outside %lld..%lld", op, what,
                            (int)indices[i], (long long)i, (long long)low, (long long)high - 1);
    return GSA_OK;
}

gsa_status gsa_ref_check_sizes(gsa_backend *b, const char *op, const gsa_edges *edges, int backward)
{
    if (edges->rows < 0 || edges->edge_total < 0 || edges->run_total < 0 || edges->kinds < 0 ||
        edges->kinds > GSA_MAX_KINDS)
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT,
                        "%s: edges with %lld rows, %lld runs, %lld edges, %d kinds (at most %d)",
                        op, (long long)edges->rows, (long long)edges->run_total,
                        (long long)edges->edge_total, (int)edges->kinds, GSA_MAX_KINDS);
    if (backward && edges->rows > 0 && edges->examples < 1)
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT,
                        "%s: %lld rows, but %d examples; the gradient is cut by example", op,
                        (long long)edges->rows, (int)edges->examples);
    return GSA_OK;
}

gsa_status gsa_ref_check_edges(gsa_backend *b, const char *op, const gsa_edges *edges, int backward)
{
    const gsa_status status = gsa_ref_check_sizes(b, op, edges, backward);
#if defined(GSA_CHECKED)
    return status == GSA_OK ? gsa_edges_check(edges, op, &b->error) : status;
#else
    return status;
#endif
}

gsa_status gsa_ref_check_attend(gsa_backend *b, const char *op, const gsa_attend_args *args,
                                int backward)
{
    const int64_t rows = args->edges->rows;
    if (args->heads < 0 || args->head_dim < 0)
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT, "%s: %d heads of %d columns: one is negative",
                        op, (int)args->heads, (int)args->head_dim);
    gsa_status status = gsa_ref_shape(b, op, rows, (int64_t)args->heads * args->head_dim);
    if (status == GSA_OK)
        status = gsa_ref_shape(b, op, args->weights ? args->edges->edge_total : rows, args->heads);
    if (status == GSA_OK) status = gsa_ref_check_dropout(b, op, &args->dropout);
    return status == GSA_OK ? gsa_ref_check_sizes(b, op, args->edges, backward) : status;
}

gsa_status gsa_ref_check_crf(gsa_backend *b, const char *op, const gsa_crf_args *args)
{
    enum { MOST_TAGS = 32768 };
    if (args->tags < 1 || args->tags > MOST_TAGS)
        return gsa_fail(&b->error, args->tags < 1 ? GSA_ERR_ARGUMENT : GSA_ERR_LIMIT,
                        "%s: %d tags, expected 1 to %d", op, (int)args->tags, MOST_TAGS);
    if (args->sequences < 0)
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT, "%s: %lld sequences", op,
                        (long long)args->sequences);
    if (args->sequences == 0 && args->tokens != 0)
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT, "%s: the sequences hold 0 tokens of %lld", op,
                        (long long)args->tokens);
    return gsa_ref_shape(b, op, args->tokens, args->tags);
}

gsa_status gsa_ref_check_gemm(gsa_backend *b, const gsa_gemm *g)
{
    const int64_t width_a = g->transpose_a ? g->m : g->k, width_b = g->transpose_b ? g->k : g->n;
    if (g->m < 0 || g->n < 0 || g->k < 0)
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT,
                        "gemm: m, n, k = %lld, %lld, %lld: one is negative", (long long)g->m,
                        (long long)g->n, (long long)g->k);
    if (g->ldc < g->n || g->lda < width_a || g->ldb < width_b)
        return gsa_fail(
            &b->error, GSA_ERR_ARGUMENT,
            "gemm: ldc, lda, ldb = %lld, %lld, %lld; at least %lld, %lld, %lld were expected",
            (long long)g->ldc, (long long)g->lda, (long long)g->ldb, (long long)g->n,
            (long long)width_a, (long long)width_b);
    if (g->n > INT32_MAX || g->ldc > INT32_MAX || g->lda > INT32_MAX || g->ldb > INT32_MAX)
        return gsa_fail(&b->error, GSA_ERR_LIMIT,
                        "gemm: n, ldc, lda, ldb = %lld, %lld, %lld, %lld; at most 2^31 - 1 each",
                        (long long)g->n, (long long)g->ldc, (long long)g->lda, (long long)g->ldb);
    return GSA_OK;
}
