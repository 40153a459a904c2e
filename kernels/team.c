#include "kernels/team.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

typedef struct loop {
    int64_t items;
    void (*body)(void *context, void *room, int64_t item);
    void *context;
    char *rooms;
    int64_t bytes; /* of a room */
} loop;

typedef struct share { /* the items that a thread takes before others', in a line of its own */
    _Atomic int64_t next;
    int64_t end;
    char apart[48];
} share;

struct gsa_team {
    const gsa_system *system;
    pthread_t *threads;
    share *shares;
    int helpers, begun; /* threads besides the caller; how many of them run */
    pid_t process;
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    /* the loop in progress: written under the lock; `round` and `inside` are also peeked at without
     * it */
    _Atomic uint64_t round;
    _Atomic int inside;
    int stop;
    loop now;
};

/* Some ten microseconds: the loops of a training step follow each other closer than a sleeping
 * thread wakes. Longer spinning is what makes a pool harm its neighbours. */
enum { PEEKS = 400 };
static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* The share with items left, a thread's own first; NULL: there is none. */
static share *share_left(gsa_team *team, int own)
{
    const int all = team->helpers + 1;
    for (int i = own; i < own + all; i++) {
        share *x = &team->shares[i % all];
        if (atomic_load_explicit(&x->next, memory_order_relaxed) < x->end) return x;
    }
    return NULL;
}

/* `own`: which of the team's threads this is; 0 is the caller. */
static void work(gsa_team *team, const loop *x, int own)
{
    char *room = x->rooms ? x->rooms + own * x->bytes : NULL;
    for (share *from; (from = share_left(team, own));) {
        const int64_t i = atomic_fetch_add(&from->next, 1);
        if (i < from->end) x->body(x->context, room, i);
    }
}

static void *helper(void *argument)
{
    gsa_team *team = argument;
    uint64_t seen = 0;
    pthread_mutex_lock(&team->lock);
    const int own = ++team->begun;
    for (;;) {
        pthread_mutex_unlock(&team->lock);
        for (int i = 0;
             i < PEEKS && atomic_load_explicit(&team->round, memory_order_relaxed) == seen; i++)
            relax();
        pthread_mutex_lock(&team->lock);
        while (!team->stop && team->round == seen) pthread_cond_wait(&team->wake, &team->lock);
        if (team->stop) break;
        seen = team->round;
        if (!share_left(team, own)) continue; /* too late for this one */
        team->inside++;
        const loop now = team->now;
        pthread_mutex_unlock(&team->lock);
        work(team, &now, own);
        pthread_mutex_lock(&team->lock);
        if (--team->inside == 0) pthread_cond_signal(&team->done);
    }
    pthread_mutex_unlock(&team->lock);
    return NULL;
}

/* The system says the same of both: no memory for a stack, no thread left to give. Whether a stack
 * could be had tells which it was. */
static gsa_status refused(const gsa_team *team, int wanted, int why, gsa_error *error)
{
    pthread_attr_t usual;
    size_t bytes = 0;
    if (pthread_attr_init(&usual) == 0) {
        pthread_attr_getstacksize(&usual, &bytes);
        pthread_attr_destroy(&usual);
    }
    void *stack = gsa_alloc(team->system, bytes, 1);
    gsa_release(team->system, stack);
    if (bytes > 0 && !stack)
        return gsa_out_of_memory(error, "the stack of a thread", (int64_t)bytes);
    return gsa_fail(error, GSA_ERR_LIMIT, "the system started %d of %d threads: %s",
                    team->helpers + 1, wanted, strerror(why));
}

/* Signals are the program's own affair: its main thread gets them. */
static gsa_status start_helpers(gsa_team *team, int helpers, gsa_error *error)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = 0;
    while (team->helpers < helpers && !failed) {
        failed = pthread_create(&team->threads[team->helpers], NULL, helper, team);
        team->helpers += failed == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed ? refused(team, helpers + 1, failed, error) : GSA_OK;
}

gsa_status gsa_team_create(const gsa_system *system, int threads, gsa_team **team, gsa_error *error)
{
    if (threads < 1 || threads > 4096)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "%d threads: from 1 to 4096 are possible",
                        threads);
    gsa_team *made = gsa_alloc_zero(system, 1, sizeof *made);
    if (!made) return gsa_out_of_memory(error, "a team of threads", (int64_t)sizeof *made);
    made->system = system;
    made->process = getpid();
    made->threads = gsa_alloc(system, (size_t)threads, sizeof *made->threads);
    made->shares = gsa_alloc_zero(system, (size_t)threads, sizeof *made->shares);
    if (!made->threads || !made->shares) {
        gsa_release(system, made->threads), gsa_release(system, made->shares);
        gsa_release(system, made);
        return gsa_out_of_memory(error, "a team of threads",
                                 threads * (int64_t)(sizeof *made->threads + sizeof(share)));
    }
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->wake, NULL);
    pthread_cond_init(&made->done, NULL);
    const gsa_status status = start_helpers(made, threads - 1, error);
    if (status != GSA_OK) gsa_team_release(made);
    else *team = made;
    return status;
}

static int is_ours(const gsa_team *team)
{
    return team->process == getpid();
}

void gsa_team_release(gsa_team *team)
{
    if (!team) return;
    if (is_ours(team)) {
        pthread_mutex_lock(&team->lock);
        team->stop = 1;
        pthread_cond_broadcast(&team->wake);
        pthread_mutex_unlock(&team->lock);
        for (int i = 0; i < team->helpers; i++) pthread_join(team->threads[i], NULL);
        pthread_cond_destroy(&team->done);
        pthread_cond_destroy(&team->wake);
        pthread_mutex_destroy(&team->lock);
    }
    gsa_release(team->system, team->threads);
    gsa_release(team->system, team->shares);
    gsa_release(team->system, team);
}

void gsa_team_run_in(gsa_team *team, int64_t items,
                     void (*body)(void *context, void *room, int64_t item), void *context,
                     void *rooms, int64_t bytes)
{
    const loop now = { items, body, context, rooms, bytes };
    if (team->helpers == 0 || items <= 1 || !is_ours(team)) {
        for (int64_t i = 0; i < items; i++) body(context, rooms, i);
        return;
    }
    pthread_mutex_lock(&team->lock);
    team->now = now;
    for (int i = 0, all = team->helpers + 1; i < all; i++) {
        atomic_store(&team->shares[i].next, items * i / all);
        team->shares[i].end = items * (i + 1) / all;
    }
    team->round++;
    if (items == 2) pthread_cond_signal(&team->wake);
    else pthread_cond_broadcast(&team->wake);
    pthread_mutex_unlock(&team->lock);
    work(team, &now, 0);
    for (int i = 0; i < PEEKS && atomic_load_explicit(&team->inside, memory_order_relaxed) > 0; i++)
        relax();
    pthread_mutex_lock(&team->lock);
    while (team->inside > 0) pthread_cond_wait(&team->done, &team->lock);
    pthread_mutex_unlock(&team->lock);
}

typedef struct roomless {
    void (*body)(void *context, int64_t item);
    void *context;
} roomless;

static void run_roomless(void *context, void *room, int64_t item)
{
    const roomless *x = context;
    (void)room;
    x->body(x->context, item);
}

void gsa_team_run(gsa_team *team, int64_t items, void (*body)(void *context, int64_t item),
                  void *context)
{
    roomless x = { body, context };
    gsa_team_run_in(team, items, run_roomless, &x, NULL, 0);
}
