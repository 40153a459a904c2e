#define _DEFAULT_SOURCE
#include "support/guard.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GAP = 64 /* never handed out, between blocks; also the alignment */ };

typedef struct guard_block {
    int64_t at, bytes;
    int used;
} guard_block;

/* One reserved region; blocks cover 0..top in order. `top` never falls: 0..top is what is opened and shut. */
typedef struct guard_state {
    gsa_backend *inner;
    const gsa_system *system;
    char *base;
    int64_t reserved, top, page;
    guard_block *blocks;
    int64_t count, room;
} guard_state;

static gsa_backend *opened(gsa_backend *b)
{
    guard_state *s = b->state;
    if (s->top > 0) mprotect(s->base, (size_t)s->top, PROT_READ | PROT_WRITE);
    return s->inner;
}

static gsa_status closed(gsa_backend *b, gsa_status status)
{
    guard_state *s = b->state;
    if (s->top > 0) mprotect(s->base, (size_t)s->top, PROT_NONE);
    if (status != GSA_OK) b->error = s->inner->error;
    return status;
}

/* ---- memory: first fit in a list of blocks that stands outside the region ---- */

static int insert_block(guard_state *s, int64_t place, guard_block block)
{
    if (s->count == s->room) {
        guard_block *more = gsa_resize(s->system, s->blocks, (size_t)s->room * 2 + 64, sizeof *more);
        if (more == NULL) return 0;
        s->blocks = more;
        s->room = s->room * 2 + 64;
    }
    memmove(s->blocks + place + 1, s->blocks + place, (size_t)(s->count - place) * sizeof *s->blocks);
    s->blocks[place] = block;
    s->count++;
    return 1;
}

static void remove_block(guard_state *s, int64_t place)
{
    memmove(s->blocks + place, s->blocks + place + 1, (size_t)(s->count - place - 1) * sizeof *s->blocks);
    s->count--;
}

/* Makes the free space at the end at least `need` bytes long, in whole pages. */
static int raise_top(guard_state *s, int64_t need)
{
    const int64_t last = s->count - 1;
    const int64_t at = last >= 0 && !s->blocks[last].used ? s->blocks[last].at : s->top;
    const int64_t top = (at + need + s->page - 1) / s->page * s->page;
    if (need > s->reserved || top > s->reserved) return 0;
    if (at < s->top) s->blocks[last].bytes = top - at;
    else if (!insert_block(s, s->count, (guard_block){ at, top - at, 0 })) return 0;
    s->top = top;
    return 1;
}

static void *take(guard_state *s, int64_t place, int64_t need)
{
    const guard_block found = s->blocks[place];
    if (found.bytes > need && !insert_block(s, place + 1, (guard_block){ found.at + need, found.bytes - need, 0 }))
        return NULL;
    s->blocks[place] = (guard_block){ found.at, need, 1 };
    return s->base + found.at;
}

static void *guard_alloc(gsa_backend *b, int64_t bytes)
{
    guard_state *s = b->state;
    const int64_t need = bytes < 0 || bytes > s->reserved ? s->reserved + 1 : (bytes + GAP - 1) / GAP * GAP + GAP;
    void *at = NULL;
    for (int64_t i = 0; i < s->count && at == NULL; i++)
        if (!s->blocks[i].used && s->blocks[i].bytes >= need) at = take(s, i, need);
    if (at == NULL && raise_top(s, need)) at = take(s, s->count - 1, need);
    if (at == NULL) {
        gsa_out_of_memory(&b->error, "backend guard", bytes);
        return NULL;
    }
    opened(b);
    memset(at, 0xff, (size_t)bytes);
    closed(b, GSA_OK);
    return at;
}

static void join_with_next(guard_state *s, int64_t place)
{
    if (place < 0 || place + 1 >= s->count || s->blocks[place].used || s->blocks[place + 1].used) return;
    s->blocks[place].bytes += s->blocks[place + 1].bytes;
    remove_block(s, place + 1);
}

static void guard_free(gsa_backend *b, void *at)
{
    guard_state *s = b->state;
    int64_t low = 0, high = s->count;
    if (at == NULL) return;
    const int64_t offset = (char *)at - s->base;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (s->blocks[middle].at <= offset) low = middle;
        else high = middle;
    }
    if (s->count == 0 || s->blocks[low].at != offset || !s->blocks[low].used) abort(); /* not from guard_alloc, or twice */
    s->blocks[low].used = 0;
    join_with_next(s, low);
    join_with_next(s, low - 1);
}

static void guard_release(gsa_backend *b)
{
    guard_state *s = b->state;
    const gsa_system *system = s->system;
    munmap(s->base, (size_t)s->reserved);
    gsa_backend_release(s->inner);
    gsa_release(system, s->blocks);
    gsa_release(system, s);
    gsa_release(system, b);
}

/* ---- every op: open, call ref, shut ---- */

#define GUARD(op, parameters, arguments)                                                                                    \
    static gsa_status guard_##op parameters                                                                                 \
    {                                                                                                                       \
        gsa_backend *const in = opened(b);                                                                                  \
        return closed(b, in->op arguments);                                                                                 \
    }

#define B gsa_backend *b
GUARD(upload, (B, void *to, const void *from, int64_t n), (in, to, from, n))
GUARD(download, (B, void *to, const void *from, int64_t n), (in, to, from, n))
GUARD(copy, (B, void *to, const void *from, int64_t n), (in, to, from, n))
GUARD(zero_fill, (B, void *at, int64_t n), (in, at, n))
GUARD(gemm,
      (B, void *c, const void *a, const void *bb, int64_t m, int64_t n, int64_t k, int ta, int tb, int64_t ldc, int64_t lda,
       int64_t ldb, int accumulate),
      (in, c, a, bb, m, n, k, ta, tb, ldc, lda, ldb, accumulate))
GUARD(bias_forward, (B, void *y, const void *bias, int64_t rows, int64_t cols), (in, y, bias, rows, cols))
GUARD(bias_backward, (B, void *dbias, const void *dy, int64_t rows, int64_t cols), (in, dbias, dy, rows, cols))
GUARD(add, (B, void *y, const void *a, const void *c, int64_t n), (in, y, a, c, n))
GUARD(accumulate, (B, void *y, const void *x, double scale, int64_t n), (in, y, x, scale, n))
GUARD(multiply, (B, void *y, const void *a, const void *c, int accumulate, int64_t n), (in, y, a, c, accumulate, n))
GUARD(activate_forward, (B, void *y, const void *x, int activation, int64_t n), (in, y, x, activation, n))
GUARD(activate_backward, (B, void *dx, const void *dy, const void *x, int activation, int64_t n),
      (in, dx, dy, x, activation, n))
GUARD(dropout_forward, (B, void *y, const void *x, const gsa_dropout *d, int64_t rows, int64_t cols),
      (in, y, x, d, rows, cols))
GUARD(dropout_backward, (B, void *dx, const void *dy, const gsa_dropout *d, int64_t rows, int64_t cols),
      (in, dx, dy, d, rows, cols))
GUARD(norm_forward,
      (B, void *y, void *mean, void *rstd, const void *x, const void *gain, const void *bias, double eps, int64_t rows,
       int64_t cols),
      (in, y, mean, rstd, x, gain, bias, eps, rows, cols))
GUARD(norm_backward,
      (B, void *dx, void *dgain, void *dbias, const void *dy, const void *x, const void *gain, const void *mean,
       const void *rstd, int64_t rows, int64_t cols),
      (in, dx, dgain, dbias, dy, x, gain, mean, rstd, rows, cols))
GUARD(gather_forward,
      (B, void *y, const void *table, const int32_t *ids, double scale, int accumulate, int64_t rows, int64_t cols,
       int64_t table_rows),
      (in, y, table, ids, scale, accumulate, rows, cols, table_rows))
GUARD(gather_backward,
      (B, void *dtable, const void *dy, const int32_t *ids, int32_t first_id, double scale, int64_t rows, int64_t cols,
       int64_t table_rows),
      (in, dtable, dy, ids, first_id, scale, rows, cols, table_rows))
GUARD(select_forward, (B, void *y, const uint8_t *mask, const void *a, const void *c, int64_t rows, int64_t cols),
      (in, y, mask, a, c, rows, cols))
GUARD(select_backward, (B, void *da, void *dc, const uint8_t *mask, const void *dy, int64_t rows, int64_t cols),
      (in, da, dc, mask, dy, rows, cols))
GUARD(pool_forward,
      (B, void *y, int32_t *arg, const void *x, const int64_t *offset, int maximum, int64_t examples, int64_t cols),
      (in, y, arg, x, offset, maximum, examples, cols))
GUARD(pool_backward,
      (B, void *dx, const void *dy, const int32_t *arg, const int64_t *offset, int maximum, int64_t examples, int64_t cols),
      (in, dx, dy, arg, offset, maximum, examples, cols))
GUARD(aggregate_forward, (B, void *y, const gsa_edges *edges, const gsa_part *parts, int mean, int64_t cols),
      (in, y, edges, parts, mean, cols))
GUARD(aggregate_backward, (B, const gsa_part *parts, const void *dy, const gsa_edges *edges, int mean, int64_t cols),
      (in, parts, dy, edges, mean, cols))
GUARD(attend_forward, (B, const gsa_attend_args *args), (in, args))
GUARD(attend_backward, (B, const gsa_attend_args *args), (in, args))
GUARD(crf_forward, (B, const gsa_crf_args *args), (in, args))
GUARD(crf_backward, (B, const gsa_crf_args *args), (in, args))
GUARD(crf_decode, (B, const gsa_crf_args *args), (in, args))
GUARD(cross_entropy_forward,
      (B, void *loss, void *nll, const void *logits, const int32_t *targets, double smoothing, double scale, int64_t rows,
       int64_t classes),
      (in, loss, nll, logits, targets, smoothing, scale, rows, classes))
GUARD(cross_entropy_backward,
      (B, void *dlogits, const void *dloss, const void *logits, const int32_t *targets, double smoothing, double scale,
       int64_t rows, int64_t classes),
      (in, dlogits, dloss, logits, targets, smoothing, scale, rows, classes))
GUARD(segment_entropy_forward,
      (B, void *loss, const void *logits, const int64_t *offset, const int32_t *targets, double scale, int64_t segments,
       int64_t rows, int64_t cols),
      (in, loss, logits, offset, targets, scale, segments, rows, cols))
GUARD(segment_entropy_backward,
      (B, void *dlogits, const void *dloss, const void *logits, const int64_t *offset, const int32_t *targets, double scale,
       int64_t segments, int64_t rows, int64_t cols),
      (in, dlogits, dloss, logits, offset, targets, scale, segments, rows, cols))
GUARD(square_error_forward, (B, void *loss, const void *x, const void *target, double scale, int64_t n),
      (in, loss, x, target, scale, n))
GUARD(square_error_backward, (B, void *dx, const void *dloss, const void *x, const void *target, double scale, int64_t n),
      (in, dx, dloss, x, target, scale, n))
GUARD(sum, (B, double *out, const void *x, int64_t n), (in, out, x, n))
GUARD(sum_squares, (B, double *out, const void *x, int accumulate, int64_t n), (in, out, x, accumulate, n))
GUARD(count_bad, (B, int64_t *out, const void *x, int64_t n), (in, out, x, n))
GUARD(clip, (B, double *control, const double *squares, double max_norm), (in, control, squares, max_norm))
GUARD(adam, (B, void *w, void *m, void *v, const void *g, const double *control, const gsa_adam *adam, int64_t n),
      (in, w, m, v, g, control, adam, n))
GUARD(sgd, (B, void *w, void *m, const void *g, const double *control, double lr, double momentum, double l2, int64_t n),
      (in, w, m, g, control, lr, momentum, l2, n))
#undef B

static void fill(gsa_backend *b)
{
    b->release = guard_release, b->alloc = guard_alloc, b->free = guard_free;
    b->upload = guard_upload, b->download = guard_download, b->copy = guard_copy, b->zero_fill = guard_zero_fill;
    b->gemm = guard_gemm, b->bias_forward = guard_bias_forward, b->bias_backward = guard_bias_backward;
    b->add = guard_add, b->accumulate = guard_accumulate, b->multiply = guard_multiply;
    b->activate_forward = guard_activate_forward, b->activate_backward = guard_activate_backward;
    b->dropout_forward = guard_dropout_forward, b->dropout_backward = guard_dropout_backward;
    b->norm_forward = guard_norm_forward, b->norm_backward = guard_norm_backward;
    b->gather_forward = guard_gather_forward, b->gather_backward = guard_gather_backward;
    b->select_forward = guard_select_forward, b->select_backward = guard_select_backward;
    b->pool_forward = guard_pool_forward, b->pool_backward = guard_pool_backward;
    b->aggregate_forward = guard_aggregate_forward, b->aggregate_backward = guard_aggregate_backward;
    b->attend_forward = guard_attend_forward, b->attend_backward = guard_attend_backward;
    b->cross_entropy_forward = guard_cross_entropy_forward, b->cross_entropy_backward = guard_cross_entropy_backward;
    b->square_error_forward = guard_square_error_forward, b->square_error_backward = guard_square_error_backward;
    b->sum = guard_sum, b->sum_squares = guard_sum_squares, b->count_bad = guard_count_bad, b->clip = guard_clip;
    b->adam = guard_adam, b->sgd = guard_sgd;
    b->crf_forward = guard_crf_forward, b->crf_backward = guard_crf_backward, b->crf_decode = guard_crf_decode;
    b->segment_entropy_forward = guard_segment_entropy_forward;
    b->segment_entropy_backward = guard_segment_entropy_backward;
}

gsa_status gsa_backend_guard(const gsa_system *system, int real, int threads, gsa_backend **backend, gsa_error *error)
{
    gsa_backend *inner;
    const gsa_status status = gsa_backend_ref(system, real, threads, &inner, error);
    if (status != GSA_OK) return status;
    system = inner->system;
    gsa_backend *b = gsa_alloc_zero(system, 1, sizeof *b);
    guard_state *s = gsa_alloc_zero(system, 1, sizeof *s);
    const int64_t reserved = INT64_C(1) << 34;
    void *base = mmap(NULL, (size_t)reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (b == NULL || s == NULL || base == MAP_FAILED) {
        if (base != MAP_FAILED) munmap(base, (size_t)reserved);
        gsa_release(system, b);
        gsa_release(system, s);
        gsa_backend_release(inner);
        return gsa_out_of_memory(error, "backend guard", reserved);
    }
    *b = *inner;
    *s =
        (guard_state){ .inner = inner, .system = system, .base = base, .reserved = reserved, .page = sysconf(_SC_PAGESIZE) };
    b->state = s;
    b->name = "guard";
    b->shares_host_memory = 0;
    fill(b);
    *backend = b;
    return GSA_OK;
}

gsa_status gsa_test_backend(const gsa_system *system, int real, int threads, gsa_backend **backend, gsa_error *error)
{
    const char *name = getenv("GSA_TEST_BACKEND");
    if (name == NULL || name[0] == 0 || strcmp(name, "ref") == 0)
        return gsa_backend_ref(system, real, threads, backend, error);
    if (strcmp(name, "guard") == 0) return gsa_backend_guard(system, real, threads, backend, error);
    for (int level = GSA_CPU_PLAIN; level <= GSA_CPU_AVX512; level++) {
        static const char *const levels[] = { "best", "plain", "avx2", "avx512" };
        if (strcmp(name, levels[level]) != 0) continue;
        return real == GSA_F32 ? gsa_backend_cpu(system, level, threads, backend, error)
                               : gsa_backend_ref(system, real, threads, backend, error);
    }
    return gsa_fail(error, GSA_ERR_ARGUMENT, "GSA_TEST_BACKEND=%s: expected ref, guard, avx2 or avx512", name);
}
