#include "train/group/mpi.h"
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "train/group/metis.h"

enum {
    SPINS = 200, /* tries for a message before the core is lent, and before this rank sleeps */
    YIELDS = 400,
    TURN_NS = 50 * 1000 * 1000, /* of the watch */
    BEAT_TURNS = 10,            /* between two signs of life */
    MISSED = 120,               /* turns without one: 6 seconds */
    UNHEARD = 60,               /* turns in which others may come to hear of a failure: 3 seconds */
    BROKEN = 40,                /* turns in which a wire that failed may be found out: 2 seconds */
    BEAT = 1,
    LAST = 2 /* tags */
};

typedef struct watch {
    MPI_Comm comm;
    pthread_t thread;
    pthread_mutex_t lock;
    int (*lost)(gsa_status status, const char *sentence);
    int rank, ranks, ends; /* ends: 1: this rank is done */
    atomic_int needs;      /* 1: it waits for a message */
    /* what this rank said (heed, waits of gsa/group.h), and the turns since */
    const gsa_wire *wire;
    void *line;
    gsa_status failure;
    int broken, waited;
    char sentence[GSA_ERROR_SIZE];
} watch;

static int failed(int rc, char *why, size_t room)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (rc == MPI_SUCCESS) return 0;
    MPI_Error_string(rc, text, &length);
    snprintf(why, room, "%s", text);
    return 1;
}

_Static_assert(sizeof(MPI_Request) <= sizeof(int64_t), "a transfer holds two requests");

static int start_transfer(void *user, gsa_transfer *t, const void *send, int64_t send_bytes,
                          void *receive, int64_t receive_bytes, char *why, size_t room)
{
    MPI_Request in = MPI_REQUEST_NULL, out = MPI_REQUEST_NULL;
    int rc = MPI_SUCCESS;
    (void)user;
    if (receive_bytes > 0)
        rc = MPI_Irecv(receive, (int)receive_bytes, MPI_BYTE, t->partner, t->channel,
                       MPI_COMM_WORLD, &in);
    if (rc == MPI_SUCCESS && send_bytes > 0)
        rc = MPI_Isend(send, (int)send_bytes, MPI_BYTE, t->partner, t->channel, MPI_COMM_WORLD,
                       &out);
    memcpy(&t->word[0], &in, sizeof in), memcpy(&t->word[1], &out, sizeof out);
    return failed(rc, why, room) ? -1 : 0;
}

/* MPI's own wait keeps a core busy, which other threads of the ranks could use. */
static int poll_transfer(void *user, gsa_transfer *t, int waits, char *why, size_t room)
{
    const struct timespec soon = { .tv_nsec = 20 * 1000 };
    int done = 0, rc = MPI_SUCCESS;
    MPI_Request request[2];
    MPI_Status status[2]; /* MPICH's MPI_STATUSES_IGNORE is an array of none to the compiler */
    watch *w = user;
    memcpy(&request[0], &t->word[0], sizeof *request);
    memcpy(&request[1], &t->word[1], sizeof *request);
    for (int tries = 0; rc == MPI_SUCCESS && !done; tries++) {
        rc = MPI_Testall(2, request, &done, status);
        if (done || !waits) break;
        if (tries < SPINS) continue;
        if (tries == YIELDS) atomic_store(&w->needs, 1);
        if (tries < YIELDS) sched_yield();
        else nanosleep(&soon, NULL);
    }
    atomic_store(&w->needs, 0);
    return failed(rc, why, room) ? -1 : done;
}

/* ---- who lives ----------------------------------------------------------------------------- */

static int is_done(watch *w)
{
    pthread_mutex_lock(&w->lock);
    const int ends = w->ends;
    pthread_mutex_unlock(&w->lock);
    return ends;
}

static int before(const watch *w)
{
    return (w->rank + w->ranks - 1) % w->ranks;
}

/* A sign of the rank before this one: 0: none, else its tag. */
static int hear(const watch *w)
{
    int there = 0, heard = 0;
    MPI_Status status;
    for (;;) {
        if (MPI_Iprobe(before(w), MPI_ANY_TAG, w->comm, &there, &status) != MPI_SUCCESS || !there)
            return heard;
        MPI_Recv(NULL, 0, MPI_BYTE, before(w), status.MPI_TAG, w->comm, MPI_STATUS_IGNORE);
        if (heard != LAST) heard = status.MPI_TAG;
    }
}

static void tell(const watch *w, int tag)
{
    MPI_Send(NULL, 0, MPI_BYTE, (w->rank + 1) % w->ranks, tag, w->comm);
}

static void end_job(const watch *w, int rank, gsa_status status, const char *what)
{
    char text[GSA_ERROR_SIZE + 64];
    snprintf(text, sizeof text, "rank %d of %d%s", rank, w->ranks, what);
    MPI_Abort(MPI_COMM_WORLD, w->lost(status, text));
}

static void heed(void *user, const gsa_wire *wire, void *line)
{
    watch *w = user;
    pthread_mutex_lock(&w->lock);
    w->wire = wire, w->line = line, w->broken = 0;
    pthread_mutex_unlock(&w->lock);
}

static void waits(void *user, gsa_status status, const char *sentence)
{
    watch *w = user;
    pthread_mutex_lock(&w->lock);
    w->failure = status, w->waited = 0;
    snprintf(w->sentence, sizeof w->sentence, ": %s", sentence ? sentence : "");
    pthread_mutex_unlock(&w->lock);
}

/* Whether others do not come to hear of this rank's failure, and whether the wire has failed and
 * this rank, which waits for its device, does not find out. */
static void mind_device(watch *w)
{
    char why[GSA_ERROR_SIZE] = ": ";
    pthread_mutex_lock(&w->lock);
    if (w->failure != GSA_OK && ++w->waited == UNHEARD)
        end_job(w, w->rank, w->failure, w->sentence);
    if (w->wire && w->wire->ask(w->line, why + 2, sizeof why - 2) != 0 && ++w->broken == BROKEN)
        end_job(w, w->rank, GSA_ERR_IO, why);
    pthread_mutex_unlock(&w->lock);
}

/* A rank ends after all messages that others may still wait for. So who waits on and on ran another
 * command. */
static void mind_end(watch *w, int heard, int *alone)
{
    *alone = heard == LAST && atomic_load(&w->needs) ? *alone + 1 : 0;
    if (*alone == MISSED)
        end_job(w, before(w), GSA_ERR_ARGUMENT,
                " has ended, and others wait for it: every rank runs the same command");
}

/* Turns are counted, not seconds: a job that was stopped as a whole, and goes on, missed none. */
static void *keep_watch(void *user)
{
    watch *w = user;
    const struct timespec pause = { .tv_nsec = TURN_NS };
    int missed = 0, heard = BEAT, ended = 0, alone = 0;
    for (int turn = 0; !ended || heard != LAST; turn++) {
        nanosleep(&pause, NULL);
        mind_device(w);
        mind_end(w, heard, &alone);
        if (!ended && is_done(w)) ended = 1, tell(w, LAST);
        else if (!ended && turn % BEAT_TURNS == 0) tell(w, BEAT);
        if (heard == LAST) continue;
        const int now = hear(w);
        missed = now ? 0 : missed + 1;
        if (now) heard = now;
        if (missed == MISSED)
            end_job(
                w, before(w), GSA_ERR_IO,
                " has given no sign of life for 6 seconds: it is stopped, or its machine cannot "
                "be reached");
    }
    return NULL;
}

/* ---- begin and end ------------------------------------------------------------------------- */

static watch *start_watch(const gsa_group *g, int (*lost)(gsa_status, const char *))
{
    watch *w = g->system->alloc(g->system->user, sizeof *w);
    if (!w) return NULL;
    *w = (watch){ .lost = lost, .rank = g->rank, .ranks = g->ranks };
    MPI_Comm_dup(MPI_COMM_WORLD, &w->comm);
    pthread_mutex_init(&w->lock, NULL);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the program's own affair */
    const int rc = pthread_create(&w->thread, NULL, keep_watch, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0) return w;
    g->system->release(g->system->user, w);
    return NULL;
}

static int32_t count_on_host(int rank, int32_t *own)
{
    int count = 1, place = 0;
    MPI_Comm host;
    if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host) !=
        MPI_SUCCESS)
        return 1;
    MPI_Comm_size(host, &count), MPI_Comm_rank(host, &place);
    *own = place;
    MPI_Comm_free(&host);
    return count;
}

static int open_group(gsa_group *g, int (*lost)(gsa_status, const char *), char *why, size_t room)
{
    int threads = 0, rank = 0, ranks = 1;
    if (failed(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &threads), why, room)) return -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    g->rank = rank, g->ranks = ranks, g->on_host = count_on_host(rank, &g->host_rank),
    g->start = start_transfer, g->poll = poll_transfer, g->cut = gsa_metis_cut, g->heed = heed,
    g->waits = waits;
    if (threads < MPI_THREAD_MULTIPLE)
        snprintf(why, room, "this MPI gives no MPI_THREAD_MULTIPLE, which watching ranks needs");
    else if (ranks == 1)
        snprintf(why, room,
                 "MPI finds no other rank: expected the launcher of the MPI that "
                 "gsa-mpi.so was built with");
    else if (ranks > GSA_GROUP_RANKS || (ranks & (ranks - 1)))
        snprintf(why, room, "%d ranks: expected a power of two, 2 to %d", ranks, GSA_GROUP_RANKS);
    else if (!(g->user = start_watch(g, lost)))
        snprintf(why, room, "there is no memory, or no thread, to watch the ranks");
    else return 0;
    MPI_Finalize();
    return -1;
}

static void close_group(gsa_group *g)
{
    watch *w = g->user;
    pthread_mutex_lock(&w->lock);
    w->ends = 1;
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    MPI_Comm_free(&w->comm);
    pthread_mutex_destroy(&w->lock);
    g->system->release(g->system->user, w);
    MPI_Finalize();
}

const gsa_group_mpi gsa_group_mpi_table = { .open = open_group, .close = close_group };
