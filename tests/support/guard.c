#define _DEFAULT_SOURCE
#include "support/guard.h"
#include "kernels/backend_calls.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    GAP = 64 /* never handed out, between blocks; also the alignment */,
    SHUT = 2 << 20 /* a large page */
};

typedef struct guard_block {
    int64_t at, bytes;
    int used;
} guard_block;

/* One reserved region; blocks cover 0..top in order. `top` never falls: 0..top is what is opened
 * and shut, in large pages where the system has them: most of the time of these tests is the
 * system's, which goes through every page. */
typedef struct guard_state {
    gsa_backend *inner;
    const gsa_system *system;
    char *base, *whole;
    int64_t reserved, top, page;
    guard_block *blocks;
    int64_t count, room;
} guard_state;

static void protect(const guard_state *s, int how)
{
    if (s->top > 0) mprotect(s->base, (size_t)((s->top + SHUT - 1) / SHUT * SHUT), how);
}

static gsa_backend *opened(gsa_backend *b)
{
    guard_state *s = b->state;
    protect(s, PROT_READ | PROT_WRITE);
    return s->inner;
}

static gsa_status closed(gsa_backend *b, gsa_status status)
{
    guard_state *s = b->state;
    protect(s, PROT_NONE);
    if (status != GSA_OK) b->error = s->inner->error;
    return status;
}

/* ---- memory: first fit in a list of blocks that is outside the region ------------------ */

static int insert_block(guard_state *s, int64_t place, guard_block block)
{
    if (s->count == s->room) {
        guard_block *more =
            gsa_resize(s->system, s->blocks, (size_t)s->room * 2 + 64, sizeof *more);
        if (more == NULL) return 0;
        s->blocks = more;
        s->room = s->room * 2 + 64;
    }
    memmove(s->blocks + place + 1, s->blocks + place,
            (size_t)(s->count - place) * sizeof *s->blocks);
    s->blocks[place] = block;
    s->count++;
    return 1;
}

static void remove_block(guard_state *s, int64_t place)
{
    memmove(s->blocks + place, s->blocks + place + 1,
            (size_t)(s->count - place - 1) * sizeof *s->blocks);
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
    if (found.bytes > need &&
        !insert_block(s, place + 1, (guard_block){ found.at + need, found.bytes - need, 0 }))
        return NULL;
    s->blocks[place] = (guard_block){ found.at, need, 1 };
    return s->base + found.at;
}

static void *guard_alloc(gsa_backend *b, int64_t bytes)
{
    guard_state *s = b->state;
    const int64_t need =
        bytes < 0 || bytes > s->reserved ? s->reserved + 1 : (bytes + GAP - 1) / GAP * GAP + GAP;
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
    if (place < 0 || place + 1 >= s->count || s->blocks[place].used || s->blocks[place + 1].used)
        return;
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
    if (s->count == 0 || s->blocks[low].at != offset || !s->blocks[low].used)
        abort(); /* not from guard_alloc, or twice */
    s->blocks[low].used = 0;
    join_with_next(s, low);
    join_with_next(s, low - 1);
}

static void guard_release(gsa_backend *b)
{
    guard_state *s = b->state;
    const gsa_system *system = s->system;
    munmap(s->whole, (size_t)s->reserved + SHUT);
    gsa_backend_release(s->inner);
    gsa_release(system, s->blocks);
    gsa_release(system, s);
    gsa_release(system, b);
}

/* ---- every op: open, call ref, shut -------------------------------------------------------- */

#define GUARD(op, parameters, arguments)                                                           \
    static gsa_status guard_##op parameters                                                        \
    {                                                                                              \
        gsa_backend *const in = opened(b);                                                         \
        return closed(b, in->op arguments);                                                        \
    }

GSA_BACKEND_CALLS(GUARD)

static void fill(gsa_backend *b)
{
    b->release = guard_release, b->alloc = guard_alloc, b->free = guard_free;
#define FILL(op, parameters, arguments) b->op = guard_##op;
    GSA_BACKEND_CALLS(FILL)
#undef FILL
}

gsa_status gsa_backend_guard(const gsa_system *system, int real, int threads, gsa_backend **backend,
                             gsa_error *error)
{
    gsa_backend *inner;
    const gsa_status status = gsa_backend_ref(system, real, threads, &inner, error);
    if (status != GSA_OK) return status;
    system = inner->system;
    gsa_backend *b = gsa_alloc_zero(system, 1, sizeof *b);
    guard_state *s = gsa_alloc_zero(system, 1, sizeof *s);
    const int64_t reserved = INT64_C(1) << 34;
    char *whole = mmap(NULL, (size_t)reserved + SHUT, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (b == NULL || s == NULL || whole == MAP_FAILED) {
        if (whole != MAP_FAILED) munmap(whole, (size_t)reserved + SHUT);
        gsa_release(system, b);
        gsa_release(system, s);
        gsa_backend_release(inner);
        return gsa_out_of_memory(error, "backend guard", reserved);
    }
    *b = *inner;
    *s = (guard_state){ .inner = inner,
                        .system = system,
                        .base = whole + (SHUT - (uintptr_t)whole % SHUT) % SHUT,
                        .whole = whole,
                        .reserved = reserved,
                        .page = sysconf(_SC_PAGESIZE) };
    madvise(s->base, (size_t)reserved,
            MADV_HUGEPAGE); /* where the system has none, pages are small */
    b->state = s;
    b->name = "guard";
    b->shares_host_memory = 0;
    fill(b);
    *backend = b;
    return GSA_OK;
}

gsa_status gsa_test_backend(const gsa_system *system, int real, int threads, gsa_backend **backend,
                            gsa_error *error)
{
    const char *name = getenv("GSA_TEST_BACKEND");
    if (name == NULL || name[0] == 0 || strcmp(name, "ref") == 0)
        return gsa_backend_ref(system, real, threads, backend, error);
    if (strcmp(name, "guard") == 0) return gsa_backend_guard(system, real, threads, backend, error);
    for (int level = GSA_CPU_PLAIN; level <= GSA_CPU_NEON; level++) {
        static const char *const levels[] = {
            "best", "plain", "avx2", "avx512", "emulated", "neon"
        };
        if (strcmp(name, levels[level]) != 0) continue;
        return real == GSA_F32 ? gsa_backend_cpu(system, level, threads, backend, error)
                               : gsa_backend_ref(system, real, threads, backend, error);
    }
    return gsa_fail(
        error, GSA_ERR_ARGUMENT,
        "GSA_TEST_BACKEND=%s: expected ref, guard, plain, avx2, avx512, emulated or neon", name);
}
