/* launch.c - blocks, warps and barriers of the executor. */
#define _GNU_SOURCE
#include "fiber.h"
#include "simt.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    WARP = 32,
    MAX_THREADS = 1024,
    SHARED_BYTES = SIMT_SHARED_BYTES,
    REDZONE = SIMT_REDZONE,
    MAX_ARRAYS = SIMT_MAX_ARRAYS
};
enum state { READY, IN_WARP, AT_BARRIER, GONE };

typedef struct thread {
    fiber at; /* first: a fiber is its thread */
    simt_index index;
    int number, warp, lane, made;
    enum state state;
    /* what it waits in */
    int op, argument, width, line;
    unsigned mask;
    const char *file;
    uint64_t value, result;
} thread;

typedef struct shared_array {
    const char *file;
    int line;
    size_t bytes;
    unsigned char *at;
} shared_array;

simt_index threadIdx, blockIdx, blockDim, gridDim;

static struct machine {
    thread threads[MAX_THREADS];
    unsigned live[MAX_THREADS / WARP], ready[MAX_THREADS / WARP], waiting[MAX_THREADS / WARP],
        ready_warps;
    fiber host;
    thread *running; /* NULL: the host */
    int count, alive, at_barrier, fresh_host;
    void (*call)(const void *);
    const void *kernel;
    const char *name;
    shared_array arrays[MAX_ARRAYS];
    int n_arrays;
    size_t shared_used;
    enum simt_order order;
    uint64_t dice;
    int64_t launches, lose_at;
    cudaError_t sticky, last;
    char message[1024];
} m = { .dice = 1, .shared_used = SHARED_BYTES + MAX_ARRAYS * REDZONE };

static const char *const op_names[] = { "__syncwarp",     "__shfl_sync",   "__shfl_xor_sync",
                                        "__shfl_up_sync", "__ballot_sync", "__any_sync",
                                        "__all_sync" };

/* ---- errors -------------------------------------------------------------------------------- */
cudaError_t simt_sticky(void)
{
    return m.sticky;
}
int simt_in_kernel(void)
{
    return m.running != NULL;
}
const char *simt_message(void)
{
    return m.message;
}
void simt_reset(void)
{
    m.sticky = m.last = cudaSuccess;
    m.message[0] = 0;
}
void simt_break(cudaError_t error)
{
    m.sticky = m.last = error;
    snprintf(m.message, sizeof m.message, "the device was lost on request");
}
cudaError_t cudaPeekAtLastError(void)
{
    return m.last;
}
cudaError_t cudaGetLastError(void)
{
    const cudaError_t error = m.last;
    m.last = m.sticky;
    return error;
}

cudaError_t simt_fail(cudaError_t error, int sticky, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(m.message, sizeof m.message, format, arguments);
    va_end(arguments);
    if (sticky) m.sticky = error;
    return m.last = error;
}

/* A kernel's misuse: the sentence, and back to the host for good. */
__attribute__((noreturn, format(printf, 1, 2))) static void misuse(const char *format, ...)
{
    char text[768];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    simt_fail(cudaErrorLaunchFailure, 1, "%s: block %u, thread %d: %s", m.name, blockIdx.x,
              m.running->number, text);
    fiber *const mine = &m.running->at;
    for (int i = 0; i < m.count; i++) m.threads[i].at.abandoned = 1;
    m.running = NULL;
    fiber_switch(mine, &m.host, 1);
    abort();
}

/* ---- order --------------------------------------------------------------------------------- */
void simt_order(enum simt_order order, uint64_t seed)
{
    m.order = order;
    m.dice = seed | 1;
}

static uint64_t roll(void)
{
    m.dice ^= m.dice << 13, m.dice ^= m.dice >> 7, m.dice ^= m.dice << 17;
    return m.dice;
}

static int pick(unsigned bits)
{
    if (m.order == SIMT_FORWARD) return __builtin_ctz(bits);
    if (m.order == SIMT_REVERSE) return 31 - __builtin_clz(bits);
    const unsigned turn = (unsigned)(roll() >> 20) & 31,
                   turned = bits >> turn | bits << (-turn & 31);
    return (int)((unsigned)__builtin_ctz(turned) + turn) & 31;
}

static void set_ready(int warp, unsigned lanes)
{
    m.ready[warp] |= lanes;
    m.ready_warps |= 1u << warp;
}

static void clear_ready(const thread *t)
{
    m.ready[t->warp] &= ~(1u << t->lane);
    if (m.ready[t->warp] == 0) m.ready_warps &= ~(1u << t->warp);
}

static void resume(thread *next, int last)
{
    thread *const self = m.running;
    fiber *const from = self ? &self->at : &m.host;
    if (next == self) return;
    m.running = next;
    if (next) threadIdx = next->index;
    fiber_switch(from, next ? &next->at : &m.host, last);
}

/* Threads wait and none can go on. */
__attribute__((noreturn)) static void stuck(void)
{
    char text[640];
    int used = 0;
    for (int i = 0; i < m.count && used < 500; i++) {
        const thread *t = &m.threads[i];
        if (t->state != IN_WARP && t->state != AT_BARRIER) continue;
        if (i > 0 && m.threads[i - 1].state == t->state && m.threads[i - 1].line == t->line)
            continue;
        used +=
            snprintf(text + used, sizeof text - (size_t)used, "%sfrom thread %d on in %s at %s:%d",
                     used ? "; " : "", i,
                     t->state == AT_BARRIER ? "__syncthreads" : op_names[t->op], t->file, t->line);
    }
    misuse("deadlock with %d of %d threads gone: %s", m.count - m.alive, m.count, text);
}

static void run_next(int last)
{
    if (m.ready_warps == 0) {
        if (m.alive > 0) stuck();
        resume(NULL, last);
    }
    const int warp = pick(m.ready_warps);
    resume(&m.threads[warp * WARP + pick(m.ready[warp])], last);
}

void simt_yield(void)
{
    if (m.order == SIMT_RANDOM && m.running) run_next(0);
}

/* ---- warps --------------------------------------------------------------------------------- */
static int source_lane(const thread *t)
{
    const int base = t->lane & ~(t->width - 1);
    const int from = t->op == SIMT_SHUFFLE ? base | (t->argument & (t->width - 1))
                     : t->op == SIMT_XOR   ? t->lane ^ t->argument
                                           : t->lane - t->argument;
    return t->op != SIMT_SHUFFLE && (from < base || from >= WARP) ? t->lane : from;
}

static void exchange(thread *lanes, unsigned mask)
{
    for (unsigned rest = mask; rest; rest &= rest - 1) {
        thread *t = &lanes[__builtin_ctz(rest)];
        const int from = source_lane(t);
        if (!(mask >> from & 1))
            misuse("lane %d reads lane %d in %s at %s:%d, which mask %08x does not name", t->lane,
                   from, op_names[t->op], t->file, t->line, mask);
        t->result = lanes[from].value;
    }
}

static void vote(thread *lanes, unsigned mask, int op)
{
    unsigned votes = 0;
    for (unsigned rest = mask; rest; rest &= rest - 1)
        votes |= (unsigned)(lanes[__builtin_ctz(rest)].value != 0) << __builtin_ctz(rest);
    const unsigned result = op == SIMT_BALLOT ? votes : op == SIMT_ANY ? votes != 0 : votes == mask;
    for (unsigned rest = mask; rest; rest &= rest - 1) lanes[__builtin_ctz(rest)].result = result;
}

/* 1 when every lane of the mask waits in the same call; misuse when one of those that wait already,
 * waits in another: the first of them while lanes are missing, any once all are there. */
static int complete(const thread *t, const thread *lanes)
{
    const unsigned there = t->mask & m.waiting[t->warp], all = there == t->mask;
    for (unsigned rest = all ? there : there & -there; rest; rest &= rest - 1) {
        const thread *o = &lanes[__builtin_ctz(rest)];
        if (o->op == t->op && o->mask == t->mask && o->line == t->line && o->width == t->width)
            continue;
        misuse("%s mask %08x at %s:%d meets lane %d in %s mask %08x at %s:%d", op_names[t->op],
               t->mask, t->file, t->line, o->lane, op_names[o->op], o->mask, o->file, o->line);
    }
    return all;
}

uint64_t simt_warp(int op, unsigned mask, uint64_t value, int argument, int width, const char *file,
                   int line)
{
    thread *t = m.running, *lanes = t - t->lane;
    t->op = op, t->mask = mask, t->value = value, t->argument = argument, t->width = width,
    t->file = file, t->line = line;
    if (!(mask >> t->lane & 1))
        misuse("%s at %s:%d: mask %08x does not name its caller", op_names[op], file, line, mask);
    if (mask & ~m.live[t->warp])
        misuse("%s at %s:%d: mask %08x names lanes %08x, which have left", op_names[op], file, line,
               mask, mask & ~m.live[t->warp]);
    if (width < 1 || width > WARP || (width & (width - 1)))
        misuse("%s at %s:%d: width %d", op_names[op], file, line, width);
    t->state = IN_WARP;
    m.waiting[t->warp] |= 1u << t->lane;
    clear_ready(t);
    if (complete(t, lanes)) {
        if (op == SIMT_BALLOT || op == SIMT_ANY || op == SIMT_ALL) vote(lanes, mask, op);
        else if (op != SIMT_SYNC) exchange(lanes, mask);
        for (unsigned rest = mask; rest; rest &= rest - 1) lanes[__builtin_ctz(rest)].state = READY;
        m.waiting[t->warp] &= ~mask;
        set_ready(t->warp, mask);
        if (m.order == SIMT_FORWARD) return t->result;
    }
    run_next(0);
    return t->result;
}

/* ---- blocks -------------------------------------------------------------------------------- */
void simt_barrier(const char *file, int line)
{
    thread *t = m.running;
    t->state = AT_BARRIER, t->file = file, t->line = line;
    if (m.alive < m.count)
        misuse("__syncthreads at %s:%d after %d threads have left", file, line, m.count - m.alive);
    clear_ready(t);
    if (++m.at_barrier == m.count) {
        m.at_barrier = 0;
        for (int i = 0; i < m.count; i++) {
            thread *o = &m.threads[i];
            if (o->line != line)
                misuse("__syncthreads at %s:%d meets thread %d at %s:%d", file, line, i, o->file,
                       o->line);
            o->state = READY;
            set_ready(o->warp, 1u << o->lane);
        }
    }
    run_next(0);
}

static void body(void)
{
    fiber_entered(m.fresh_host ? &m.host : NULL);
    m.fresh_host = 0;
    m.call(m.kernel);
    thread *t = m.running;
    if (m.at_barrier > 0) misuse("leaves while %d threads wait in __syncthreads", m.at_barrier);
    t->state = GONE;
    m.alive--;
    m.live[t->warp] &= ~(1u << t->lane);
    clear_ready(t);
    run_next(1);
}

void *simt_shared(size_t bytes, const char *file, int line)
{
    for (int i = 0; i < m.n_arrays; i++)
        if (m.arrays[i].line == line &&
            (m.arrays[i].file == file || strcmp(m.arrays[i].file, file) == 0))
            return m.arrays[i].at;
    const size_t at = m.shared_used + REDZONE, room = (bytes + REDZONE - 1) / REDZONE * REDZONE;
    if (m.n_arrays == MAX_ARRAYS || at + room - (size_t)(m.n_arrays + 1) * REDZONE > SHARED_BYTES)
        misuse("%zu bytes of shared memory at %s:%d exceed %d in all", bytes, file, line,
               (int)SHARED_BYTES);
    m.arrays[m.n_arrays++] = (shared_array){ file, line, bytes, simt_shared_memory + at };
    m.shared_used = at + room;
    memset(simt_shared_memory + at, 0xff, bytes); /* NaN, and -1 */
    return simt_shared_memory + at;
}

static void check_redzones(void)
{
    for (int i = 0; i < m.n_arrays; i++)
        for (int k = 0; k < REDZONE; k++) {
            const shared_array *a = &m.arrays[i];
            if (a->at[-1 - k] == 0xa5 && a->at[a->bytes + (size_t)k] == 0xa5) continue;
            simt_fail(cudaErrorLaunchFailure, 1,
                      "%s: block %u wrote beside the shared array of %s:%d", m.name, blockIdx.x,
                      a->file, a->line);
            return;
        }
}

static void run_block(unsigned threads)
{
    m.count = m.alive = (int)threads;
    memset(simt_shared_memory, 0xa5,
           m.shared_used + 2 * REDZONE); /* what the last block had, and next to it */
    m.at_barrier = 0, m.ready_warps = 0, m.n_arrays = 0, m.shared_used = 0;
    for (int w = 0; w * WARP < m.count; w++) {
        m.ready[w] = m.waiting[w] = 0;
        m.live[w] = 0xffffffffu;
        set_ready(w, 0xffffffffu);
    }
    for (int i = 0; i < m.count; i++) {
        thread *t = &m.threads[i];
        if (!t->made) fiber_create(&t->at), t->made = 1;
        t->number = i, t->warp = i / WARP, t->lane = i % WARP, t->state = READY;
        t->index = (simt_index){ (unsigned)i, 0, 0 };
        fiber_prepare(&t->at, body, (size_t)i * 320 % 8192);
    }
    m.fresh_host = 1;
    run_next(0);
    if (m.sticky == cudaSuccess) check_redzones();
}

cudaError_t simt_launch_fits(unsigned grid, unsigned block, const char *name)
{
    if (m.sticky != cudaSuccess) return m.sticky;
    if (grid == 0 || grid > 0x7fffffffu || block == 0 || block > MAX_THREADS || block % WARP != 0)
        return simt_fail(cudaErrorInvalidConfiguration, 0, "%s: %u blocks of %u threads", name,
                         grid, block);
    return cudaSuccess;
}

/* SIMT_LOSE_AFTER=N in the environment: the device is lost at launch N. For programs that no test
 * can call simt_break in. */
static int is_lost_now(void)
{
    if (m.launches == 1) {
        const char *after = getenv("SIMT_LOSE_AFTER");
        m.lose_at = after ? atoll(after) : 0;
    }
    return m.launches == m.lose_at;
}

cudaError_t simt_launch(unsigned grid, unsigned block, const char *name, void (*call)(const void *),
                        const void *kernel)
{
    if (m.sticky != cudaSuccess) return m.sticky;
    m.launches++;
    if (is_lost_now()) {
        simt_break(cudaErrorIllegalAddress);
        return m.sticky;
    }
    m.name = name, m.call = call, m.kernel = kernel;
    gridDim = (simt_index){ grid, 1, 1 };
    blockDim = (simt_index){ block, 1, 1 };
    simt_device_visible(1);
    uint64_t first = 0, step = 1;
    if (m.order == SIMT_REVERSE) first = grid - 1, step = grid - 1;
    if (m.order == SIMT_RANDOM) first = roll() % grid, step = grid > 2 && roll() % 2 ? grid - 1 : 1;
    for (unsigned b = 0; b < grid && m.sticky == cudaSuccess; b++) {
        blockIdx = (simt_index){ (unsigned)((first + b * step) % grid), 0, 0 };
        run_block(block);
    }
    simt_device_visible(0);
    return m.last = m.sticky;
}

int64_t simt_launches(void)
{
    return m.launches;
}
