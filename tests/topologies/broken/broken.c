/* broken.c - one plugin, built many times with one thing wrong: the definitions on the command line
 * say what happens where. */
#define _GNU_SOURCE
#include <gsa/topology.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef AT_LOAD
#define AT_LOAD
#endif
#ifndef AT_UNLOAD
#define AT_UNLOAD
#endif
#ifndef IN_CREATE
#define IN_CREATE
#endif
#ifndef IN_DESCRIBE
#define IN_DESCRIBE
#endif
#ifndef IN_EMIT
#define IN_EMIT
#endif
#ifndef IN_LABEL
#define IN_LABEL
#endif
#ifndef IN_DESTROY
#define IN_DESTROY
#endif
#ifndef SOURCE /* the token that token i of n reads */
#define SOURCE i
#endif
#ifndef SYMBOL
#define SYMBOL GSA_PLUGIN
#endif
#ifndef LABELS /* of its edges */
#define LABELS 1
#endif

static volatile int *volatile nowhere; /* NULL, and no compiler knows it */
static volatile int turn;              /* counts the calls of those that change from call to call */

__attribute__((unused)) static void crash(void)
{
    *nowhere = 1;
}

__attribute__((unused)) static void hang(void)
{
    for (;;) turn++;
}

__attribute__((unused)) static void hog(void)
{
    for (;;) {
        char *more = malloc(1 << 20);
        if (more) memset(more, 1, 1 << 20);
    }
}

__attribute__((unused)) static void slow_hog(void) /* a MiB each 50 ms */
{
    for (;;) {
        char *more = malloc(1 << 20);
        if (more) memset(more, 1, 1 << 20);
        usleep(50000);
    }
}

__attribute__((unused)) static void
says_done(void) /* to the descriptor that the check listens to */
{
    const ssize_t wrote = write(3, "done\n", 5);
    _Exit(wrote == 5 ? 0 : 1);
}

__attribute__((unused)) static void overrun(void) /* one byte after its memory */
{
    char *own = malloc(16);
    volatile char *end = own + 16 + turn;
    if (own) *end = 1;
    free(own);
}

__attribute__((unused)) static void overflow(void) /* of an int */
{
    volatile int most = 2147483647;
    turn = most + 1 + turn * 0;
    turn = 0;
}

__attribute__((unused)) static int recurse(volatile int depth) /* until the stack ends */
{
    volatile char room[4096];
    room[depth % 4096] = (char)depth;
    return recurse(depth + 1) + room[0];
}

__attribute__((unused)) static void *wait_for_ever(void *unused)
{
    for (;;) usleep(100); /* back in code that may be gone */
    return unused;
}

__attribute__((unused)) static void leave_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_ever, NULL);
}

__attribute__((unused)) static void *crash_there(void *unused)
{
    crash();
    return unused;
}

__attribute__((unused)) static void *abort_there(void *unused) /* the instruction is not ours */
{
    abort();
    return unused;
}

__attribute__((unused)) static void in_thread(void *(*run)(void *)) /* and waits for its end */
{
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
}

__attribute__((constructor)) static void load(void)
{
    AT_LOAD;
}

__attribute__((destructor)) static void unload(void)
{
    AT_UNLOAD;
}

static const gsa_param params[] = { { "unused", GSA_INT, 0, 0, 9, NULL, "4",
                                      "nothing depends on it" } };

static int create(const gsa_host *host, const gsa_value *values, void **self)
{
    *self = host->alloc(host, sizeof *values);
    IN_CREATE;
    return *self ? 0 : -1;
}

static void destroy(const gsa_host *host, void *self)
{
    IN_DESTROY;
    host->release(host, self);
}

static void describe(const void *self, gsa_describer *d)
{
    (void)self;
    IN_DESCRIBE;
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    d->phase(d, &GSA_PHASE(.aggregate = GSA_ATTEND, .update = GSA_SUBLAYER, .sources = 1,
                           .destinations = 1, .labels = LABELS, .name = "read"));
    d->sequence(d, 0);
    d->summary(d, 0, GSA_MEAN_OF, 1);
    d->promise(d, GSA_BY_LENGTH | GSA_CAUSAL | GSA_PREFIX_STABLE, GSA_LINEAR_EDGES);
}

static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    (void)self;
    IN_EMIT;
    for (int64_t i = 0, n = x->length; i < n; i++)
        gsa_edge(e, 0, gsa_at(0, SOURCE), gsa_at(0, i), 0);
}

static void label(const void *self, int phase, int32_t id, char *out, size_t size)
{
    (void)self, (void)phase, (void)id;
    IN_LABEL;
    snprintf(out, size, "self");
}

extern const gsa_topology SYMBOL;
const gsa_topology SYMBOL = {
    GSA_HEAD(params),      .id = "broken",   .summary = "one thing is wrong with it",
    .reference = "a test", .create = create, .destroy = destroy,
    .describe = describe,  .emit = emit,     .label = label
};
