#include "tape_parts.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- arenas -------------------------------------------------------------------------------- */
struct gsa_chunk_list {
    gsa_chunk_list *before;
    char *at;
    int64_t size, used;
};
enum { ALIGN = 64, PAGE = 1 << 12, FIRST_CHUNK = 1 << 20 };

static void *chunk_memory(gsa_tape *tape, int device, int64_t bytes)
{
    return device ? tape->backend->alloc(tape->backend, bytes)
                  : gsa_alloc(tape->system, (size_t)bytes, 1);
}

static void chunk_free(gsa_tape *tape, int device, void *at)
{
    if (device) tape->backend->free(tape->backend, at);
    else gsa_release(tape->system, at);
}

static int arena_grow(gsa_tape *tape, gsa_arena *arena, int64_t bytes)
{
    const int device = arena == &tape->device;
    gsa_chunk_list *chunk = gsa_alloc(tape->system, 1, sizeof *chunk);
    if (!chunk)
        return gsa_tape_fail(tape, GSA_ERR_MEMORY,
                             "out of memory: no record of more of the tape's memory") != NULL;
    int64_t size = arena->total > FIRST_CHUNK ? arena->total : FIRST_CHUNK; /* doubling */
    if (size < bytes) size = bytes;
    *chunk = (gsa_chunk_list){ arena->chunks, chunk_memory(tape, device, size), size, 0 };
    if (!chunk->at && size > bytes) chunk->at = chunk_memory(tape, device, chunk->size = bytes);
    if (!chunk->at && device && gsa_tape_yield_ahead(tape))
        chunk->at = chunk_memory(tape, device, chunk->size = bytes);
    if (!chunk->at) {
        gsa_release(tape->system, chunk);
        return 0;
    }
    arena->chunks = chunk;
    arena->total += chunk->size;
    return 1;
}

static void arena_clear(gsa_tape *tape, gsa_arena *arena)
{
    while (arena->chunks) {
        gsa_chunk_list *chunk = arena->chunks;
        arena->chunks = chunk->before;
        chunk_free(tape, arena == &tape->device, chunk->at);
        gsa_release(tape->system, chunk);
    }
    arena->total = 0;
}

static int64_t arena_used(const gsa_arena *arena)
{
    int64_t used = 0;
    for (const gsa_chunk_list *chunk = arena->chunks; chunk; chunk = chunk->before)
        used += chunk->used;
    return used;
}

/* One chunk of the whole size for the next round: from then on nothing is allocated. */
static void arena_reset(gsa_tape *tape, gsa_arena *arena)
{
    const int64_t total = arena->total;
    if (arena->chunks && arena->chunks->before) {
        arena_clear(tape, arena);
        arena_grow(tape, arena, total);
    }
    if (arena->chunks) arena->chunks->used = 0;
}

/* Arrays of whole pages are a line apart: rows of one number would meet in the same sets of a
 * cache (kernels/ref/memory.c). */
static void *arena_take(gsa_tape *tape, gsa_arena *arena, int64_t bytes)
{
    const int64_t lines = (bytes + ALIGN - 1) / ALIGN,
                  need = (lines + (lines % (PAGE / ALIGN) == 0)) * ALIGN;
    if (!arena->chunks || arena->chunks->size - arena->chunks->used < need)
        if (!arena_grow(tape, arena, need)) return NULL;
    char *at = arena->chunks->at + arena->chunks->used;
    arena->chunks->used += need;
    return at;
}

static void no_memory(gsa_tape *tape, const gsa_arena *arena, int64_t bytes)
{
    gsa_error why = { 0 };
    const gsa_backend *b = tape->backend;
    if (arena == &tape->host || b->shares_host_memory)
        gsa_tape_fail(tape, GSA_ERR_MEMORY,
                      "out of memory: the tape's %s arena needs %lld more bytes beyond its %lld",
                      arena == &tape->device ? "tensor" : "host", (long long)bytes,
                      (long long)arena->total);
    else gsa_tape_fail(tape, gsa_backend_no_memory(b, "tensors", bytes, &why), "%s", why.text);
}

static void *take(gsa_tape *tape, gsa_arena *arena, int64_t bytes)
{
    if (tape->failed || bytes == 0) return NULL;
    void *at = bytes > 0 && bytes <= INT64_MAX - 2 * ALIGN ? arena_take(tape, arena, bytes) : NULL;
    if (!at) no_memory(tape, arena, bytes);
    return at;
}

void *gsa_tape_memory(gsa_tape *tape, int64_t bytes)
{
    return take(tape, &tape->device, bytes);
}

void *gsa_tape_host(gsa_tape *tape, int64_t bytes)
{
    return take(tape, &tape->host, bytes);
}

/* ---- life ---------------------------------------------------------------------------------- */
gsa_status gsa_tape_create(const gsa_system *system, gsa_backend *backend, gsa_tape **tape,
                           gsa_error *error)
{
    gsa_tape *made = gsa_alloc_zero(system, 1, sizeof *made);
    if (!made) return gsa_out_of_memory(error, "a tape", (int64_t)sizeof *made);
    made->system = system;
    made->backend = backend;
    *tape = made;
    return GSA_OK;
}

void gsa_tape_release(gsa_tape *tape)
{
    if (!tape) return;
    arena_clear(tape, &tape->host);
    arena_clear(tape, &tape->device);
    if (tape->one) tape->backend->free(tape->backend, tape->one);
    gsa_tape_close_ahead(tape);
    gsa_release(tape->system, tape);
}

gsa_backend *gsa_tape_backend(const gsa_tape *tape)
{
    return tape->backend;
}

void gsa_tape_reset(gsa_tape *tape, int training, uint32_t seed, uint32_t step)
{
    tape->most = gsa_tape_peak(tape);
    arena_reset(tape, &tape->host);
    arena_reset(tape, &tape->device);
    tape->spare = tape->blank = NULL;
    tape->last = NULL;
    tape->shared[0] = tape->shared[1] = NULL;
    tape->journey = (gsa_journey){ 0 };
    tape->training = training != 0;
    tape->between = NULL;
    tape->failed = 0;
    tape->error.status = GSA_OK;
    tape->seed = seed;
    tape->step = step;
    tape->example_id = NULL;
    tape->examples = tape->named = 0;
    gsa_tape_turn_ahead(tape);
}

int gsa_tape_training(const gsa_tape *tape)
{
    return tape->training;
}

static void set_examples(gsa_tape *tape, const int32_t *example_id, int32_t count, int named)
{
    tape->example_id =
        gsa_tape_upload(tape, example_id, (int64_t)count * (int64_t)sizeof *example_id);
    tape->examples = tape->example_id ? count : 0;
    tape->named = named;
}

void gsa_tape_examples(gsa_tape *tape, const int32_t *example_id, int32_t count)
{
    set_examples(tape, example_id, count, 1);
}

void gsa_tape_default_examples(gsa_tape *tape, int32_t count)
{
    if (tape->failed || count <= tape->examples) return;
    if (tape->named) {
        gsa_tape_fail(tape, GSA_ERR_ARGUMENT,
                      "a batch of %d examples, but gsa_tape_examples gave numbers for %d", count,
                      tape->examples);
        return;
    }
    int32_t *id = gsa_tape_host(tape, (int64_t)count * (int64_t)sizeof *id);
    for (int32_t i = 0; id && i < count; i++) id[i] = i;
    if (id) set_examples(tape, id, count, 0);
}

gsa_dropout gsa_tape_dropout(const gsa_tape *tape, double p, uint32_t site, gsa_row_identity rows)
{
    return (gsa_dropout){ .p = tape->training ? p : 0,
                          .seed = tape->seed,
                          .step = tape->step,
                          .site = site,
                          .example_id = tape->example_id,
                          .row_example = rows.example,
                          .row_local = rows.local };
}

/* ---- failures ------------------------------------------------------------------------------ */
gsa_tensor *gsa_tape_fail(gsa_tape *tape, gsa_status status, const char *format, ...)
{
    if (tape->failed) return NULL;
    char text[GSA_ERROR_SIZE];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    tape->failed = 1;
    gsa_fail(&tape->error, status, "%s", text);
    return NULL;
}

gsa_status gsa_tape_status(const gsa_tape *tape, gsa_error *error)
{
    if (!tape->failed) return GSA_OK;
    return gsa_fail(error, tape->error.status, "%s", tape->error.text);
}

int gsa_tape_check(gsa_tape *tape, gsa_status status)
{
    if (status == GSA_OK) return 1;
    gsa_tape_fail(tape, status, "%s: %s", tape->backend->name, tape->backend->error.text);
    return 0;
}

int gsa_tape_missing(gsa_tape *tape, const char *entry)
{
    gsa_tape_fail(tape, GSA_ERR_UNSUPPORTED, "the backend '%s' has no operation '%s'",
                  tape->backend->name, entry);
    return 0;
}

/* ---- tensors ------------------------------------------------------------------------------- */
int64_t gsa_tape_bytes(const gsa_tape *tape, int64_t rows, int64_t cols)
{
    int64_t bytes;
    return gsa_mul(rows, cols, &bytes) && gsa_mul(bytes, tape->backend->real_bytes, &bytes) ? bytes
                                                                                            : -1;
}

gsa_tensor *gsa_tape_new(gsa_tape *tape, int64_t rows, int64_t cols, int wants_grad)
{
    if (tape->failed) return NULL;
    const int64_t bytes = gsa_tape_bytes(tape, rows, cols);
    if (bytes < 0)
        return gsa_tape_fail(tape, GSA_ERR_LIMIT, "a tensor of %lld x %lld is too large",
                             (long long)rows, (long long)cols);
    gsa_tensor *x = gsa_tape_host(tape, (int64_t)sizeof *x);
    void *data = gsa_tape_memory(tape, bytes);
    if (tape->failed) return NULL;
    *x = (gsa_tensor){
        .rows = rows, .cols = cols, .data = data, .wants_grad = tape->training && wants_grad
    };
    return x;
}

int64_t gsa_tape_peak(const gsa_tape *tape)
{
    const int64_t now = arena_used(&tape->host) + arena_used(&tape->device);
    return now > tape->most ? now : tape->most;
}

void gsa_tape_spare(gsa_tape *tape, void *at, int64_t bytes)
{
    if (!at || (uintptr_t)at % ALIGN != 0)
        return; /* a row range of a larger gradient stays where it is */
    gsa_spare *spare = tape->blank ? tape->blank : gsa_tape_host(tape, (int64_t)sizeof *spare);
    if (!spare) return;
    if (spare == tape->blank) tape->blank = spare->before;
    *spare = (gsa_spare){ tape->spare, at, bytes };
    tape->spare = spare;
}

void *gsa_tape_grad_memory(gsa_tape *tape, int64_t bytes)
{
    for (gsa_spare **link = &tape->spare; *link && !tape->failed; link = &(*link)->before) {
        gsa_spare *spare = *link;
        if (spare->bytes != bytes) continue;
        *link = spare->before;
        spare->before = tape->blank, tape->blank = spare;
        return spare->at;
    }
    return gsa_tape_memory(tape, bytes);
}

int gsa_tape_shares_grad(const gsa_tape *tape, const gsa_tensor *x)
{
    return x == tape->shared[0] || x == tape->shared[1];
}

/* Before x's gradient is written: its own. */
static void own_grad(gsa_tape *tape, gsa_tensor *x)
{
    const int64_t bytes = gsa_tape_bytes(tape, x->rows, x->cols);
    if (!gsa_tape_shares_grad(tape, x)) return;
    void *own = gsa_tape_grad_memory(tape, bytes);
    if (own && !GSA_CALL(tape, copy, own, x->grad, bytes)) own = NULL;
    x->grad = own;
    tape->shared[0] = tape->shared[1] = NULL;
}

void *gsa_tape_grad(gsa_tape *tape, gsa_tensor *x)
{
    if (!x || !x->wants_grad || tape->failed) return NULL;
    gsa_tape_spend(tape, x);
    if (x->marks) x->marks->all = 1;
    own_grad(tape, x);
    if (x->grad || tape->failed) return x->grad;
    const int64_t bytes = gsa_tape_bytes(tape, x->rows, x->cols);
    if (x->whole) {
        char *whole = gsa_tape_grad(tape, x->whole);
        x->grad = whole ? whole + x->first * x->cols * tape->backend->real_bytes : NULL;
    } else if (bytes > 0) {
        x->grad = gsa_tape_grad_memory(tape, bytes);
        if (x->grad && !GSA_CALL(tape, zero_fill, x->grad, bytes)) x->grad = NULL;
    }
    return x->grad;
}

void *gsa_tape_grad_unset(gsa_tape *tape, gsa_tensor *x, int *unset)
{
    *unset =
        x && x->wants_grad && !tape->failed && !x->grad && !x->whole && x->rows > 0 && x->cols > 0;
    if (!*unset) return gsa_tape_grad(tape, x);
    return x->grad = gsa_tape_grad_memory(tape, gsa_tape_bytes(tape, x->rows, x->cols));
}

int gsa_tape_hand_grad(gsa_tape *tape, gsa_tensor *x, void *dy)
{
    if (!x || !x->wants_grad || x->grad || x->whole) return 0;
    x->grad = dy;
    return tape->handed = 1;
}

int gsa_tape_share_grad(gsa_tape *tape, gsa_tensor *a, gsa_tensor *b, void *dy)
{
    if (tape->shared[0] || a == b || a->grad || !a->wants_grad || a->whole ||
        !gsa_tape_hand_grad(tape, b, dy))
        return 0;
    a->grad = dy;
    tape->shared[0] = a, tape->shared[1] = b;
    return 1;
}

void gsa_tape_add_grad(gsa_tape *tape, gsa_tensor *x, void *dy, int last)
{
    int unset;
    if (last && gsa_tape_hand_grad(tape, x, dy)) return;
    void *dx = gsa_tape_grad_unset(tape, x, &unset);
    if (dx && unset) GSA_CALL(tape, copy, dx, dy, gsa_tape_bytes(tape, x->rows, x->cols));
    else if (dx) GSA_CALL(tape, accumulate, dx, dy, 1, x->rows * x->cols);
}

void *gsa_tape_record(gsa_tape *tape, size_t bytes, void (*back)(gsa_tape *, gsa_op *),
                      gsa_tensor *out)
{
    if (tape->failed || !tape->training || !out || !out->wants_grad) return NULL;
    gsa_op *op = gsa_tape_host(tape, (int64_t)bytes);
    if (!op) return NULL;
    *op = (gsa_op){ .back = back, .before = tape->last, .out = out };
    tape->last = op;
    return op;
}

const void *gsa_tape_upload(gsa_tape *tape, const void *host, int64_t bytes)
{
    if (tape->failed || bytes <= 0) return NULL;
    if (tape->backend->shares_host_memory) return host;
    void *at = gsa_tape_staged(tape, host, bytes);
    if (at) return at;
    at = gsa_tape_memory(tape, bytes);
    return at && GSA_CALL(tape, upload, at, host, bytes) ? at : NULL;
}

static void convert(void *to, int to_real, const void *from, int from_real, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const double x =
            from_real == GSA_F32 ? (double)((const float *)from)[i] : ((const double *)from)[i];
        if (to_real == GSA_F32) ((float *)to)[i] = (float)x;
        else ((double *)to)[i] = x;
    }
}

/* The values went ahead as they are. */
static gsa_tensor *staged_constant(gsa_tape *tape, const void *values, int real, int64_t rows,
                                   int64_t cols)
{
    const int64_t bytes = gsa_tape_bytes(tape, rows, cols);
    void *at = real == tape->backend->real && bytes > 0 && !tape->failed
                   ? gsa_tape_staged(tape, values, bytes)
                   : NULL;
    gsa_tensor *x = at ? gsa_tape_host(tape, (int64_t)sizeof *x) : NULL;
    if (x) *x = (gsa_tensor){ .rows = rows, .cols = cols, .data = at };
    return x;
}

gsa_tensor *gsa_tape_constant(gsa_tape *tape, const void *values, int real, int64_t rows,
                              int64_t cols)
{
    gsa_tensor *x = staged_constant(tape, values, real, rows, cols);
    if (x) return x;
    x = gsa_tape_new(tape, rows, cols, 0);
    if (!x || rows * cols == 0) return x;
    if (tape->backend->shares_host_memory) {
        convert(x->data, tape->backend->real, values, real, rows * cols);
        return x;
    }
    const int64_t bytes = gsa_tape_bytes(tape, rows, cols);
    void *stage = gsa_tape_host(tape, bytes);
    if (!stage) return NULL;
    convert(stage, tape->backend->real, values, real, rows * cols);
    return GSA_CALL(tape, upload, x->data, stage, bytes) ? x : NULL;
}

gsa_tensor *gsa_tape_zeros(gsa_tape *tape, int64_t rows, int64_t cols)
{
    gsa_tensor *x = gsa_tape_new(tape, rows, cols, 0);
    if (!x || rows * cols == 0) return x;
    return GSA_CALL(tape, zero_fill, x->data, gsa_tape_bytes(tape, rows, cols)) ? x : NULL;
}

/* ---- backward ------------------------------------------------------------------------------ */
/* Ops that read what this one made have all run: its gradient's memory is free, unless it is
 * another's now. */
static void run_back(gsa_tape *tape, gsa_op *op)
{
    gsa_tensor *out = op->out;
    tape->handed = 0;
    if (!op->reads) own_grad(tape, out);
    if (tape->failed) return;
    op->back(tape, op);
    if (gsa_tape_shares_grad(tape, out))
        tape->shared[0] = tape->shared[1] = NULL; /* the other's alone */
    else if (!tape->handed && !out->whole)
        gsa_tape_spare(tape, out->grad, gsa_tape_bytes(tape, out->rows, out->cols));
    out->grad = NULL;
}

static int make_one(gsa_tape *tape)
{
    const float one_f = 1;
    const double one_d = 1;
    gsa_backend *b = tape->backend;
    const void *one = b->real == GSA_F32 ? (const void *)&one_f : (const void *)&one_d;
    gsa_error why = { 0 };
    if (tape->one) return 1;
    void *at = b->alloc(b, b->real_bytes);
    if (!at) gsa_tape_fail(tape, gsa_backend_no_memory(b, "a number", 8, &why), "%s", why.text);
    if (at && GSA_CALL(tape, upload, at, one, b->real_bytes)) tape->one = at;
    else if (at) b->free(b, at);
    return tape->one != NULL;
}

gsa_status gsa_tape_backward(gsa_tape *tape, gsa_tensor *loss, gsa_error *error)
{
    if (tape->failed) return gsa_tape_status(tape, error);
    if (!loss || loss->rows != 1 || loss->cols != 1)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "backward starts at a loss of 1 x 1, not %lld x %lld",
                        loss ? (long long)loss->rows : 0, loss ? (long long)loss->cols : 0);
    if (!loss->wants_grad) return GSA_OK; /* nothing learned follows it */
    if (!make_one(tape)) return gsa_tape_status(tape, error);
    if (loss->grad || loss->whole || tape->shared[0]) {
        void *seed = gsa_tape_grad(tape, loss);
        if (seed) GSA_CALL(tape, copy, seed, tape->one, tape->backend->real_bytes);
    } else loss->grad = tape->one, tape->shared[0] = loss;
    for (gsa_op *op = tape->last; op && !tape->failed; op = op->before)
        if (op->out->grad || op->always) {
            run_back(tape, op);
            if (tape->between) tape->between(tape->user);
        }
    gsa_tape_catch_up(tape, NULL, NULL);
    tape->last = NULL;
    return gsa_tape_status(tape, error);
}

/* ---- to and from the host ------------------------------------------------------------------ */
gsa_status gsa_tensor_read(gsa_backend *backend, const gsa_tensor *x, int gradient, double *out,
                           gsa_error *error)
{
    const int64_t count = x->rows * x->cols, bytes = count * backend->real_bytes;
    const void *from = gradient ? x->grad : x->data;
    if (count == 0) return GSA_OK;
    if (!from) {
        memset(out, 0, (size_t)count * sizeof *out);
        return GSA_OK;
    }
    void *stage = gsa_alloc(backend->system, (size_t)bytes, 1);
    if (!stage) return gsa_out_of_memory(error, "a copy of a tensor", bytes);
    const gsa_status status = backend->download(backend, stage, from, bytes);
    if (status == GSA_OK) convert(out, GSA_F64, stage, backend->real, count);
    gsa_release(backend->system, stage);
    return status == GSA_OK ? GSA_OK : gsa_fail(error, status, "%s", backend->error.text);
}

gsa_status gsa_tensor_write(gsa_backend *backend, gsa_tensor *x, const double *values,
                            gsa_error *error)
{
    const int64_t count = x->rows * x->cols, bytes = count * backend->real_bytes;
    if (count == 0) return GSA_OK;
    void *stage = gsa_alloc(backend->system, (size_t)bytes, 1);
    if (!stage) return gsa_out_of_memory(error, "a copy of a tensor", bytes);
    convert(stage, backend->real, values, GSA_F64, count);
    const gsa_status status = backend->upload(backend, x->data, stage, bytes);
    gsa_release(backend->system, stage);
    return status == GSA_OK ? GSA_OK : gsa_fail(error, status, "%s", backend->error.text);
}
