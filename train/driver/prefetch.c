#include "train/driver/prefetch.h"
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "kernels/profile.h"
#include "train/data/plain.h"

enum work { IDLE, ASKED, BEGUN, DONE };

struct gsa_prefetch {
    const gsa_system *system;
    gsa_learner *model;
    pthread_t thread;
    pid_t process;
    int started; /* 1: the thread runs; -1: it cannot be had */
    /* what is built: the thread's from BEGUN to DONE, else the caller's */
    gsa_wanted wanted;
    int64_t *example; /* [example_room] of wanted, its own copy */
    int64_t example_room;
    gsa_minibatch batch;
    gsa_model_batch *graph;
    gsa_status status;
    gsa_error error;
    gsa_profile_mark fill, join; /* what they took */
    pthread_mutex_t lock;        /* guards `work` and `stop` */
    pthread_cond_t wake, done;
    int work, stop;
};

/* ---- in the thread ------------------------------------------------------------------------- */

static gsa_profile_mark since(const gsa_prefetch *p, gsa_profile_mark began)
{
    const gsa_profile_mark now = gsa_profile_thread(p->model->profile);
    return (gsa_profile_mark){ now.seconds - began.seconds, now.processor - began.processor };
}

static void build(gsa_prefetch *p)
{
    const gsa_learner *m = p->model;
    gsa_profile_mark began = gsa_profile_thread(m->profile);
    p->batch.first = p->wanted.first, p->batch.draw = p->wanted.draw;
    p->status = gsa_task_fill(m->task, m->self, p->wanted.split, p->example, p->wanted.count,
                              &p->batch, &p->error);
    p->fill = since(p, began);
    began = gsa_profile_thread(m->profile);
    if (p->status == GSA_OK) p->status = gsa_learner_join(m, &p->batch, p->graph, &p->error);
    p->join = since(p, began);
}

static void *serve(void *argument)
{
    gsa_prefetch *p = argument;
    const gsa_plain plain = gsa_plain_begin();
    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (!p->stop && p->work != ASKED) pthread_cond_wait(&p->wake, &p->lock);
        if (p->stop) break;
        p->work = BEGUN;
        pthread_mutex_unlock(&p->lock);
        build(p);
        pthread_mutex_lock(&p->lock);
        p->work = DONE;
        pthread_cond_signal(&p->done);
    }
    pthread_mutex_unlock(&p->lock);
    gsa_plain_end(plain);
    return NULL;
}

/* ---- life ---------------------------------------------------------------------------------- */

gsa_status gsa_prefetch_create(const gsa_system *system, gsa_learner *model,
                               gsa_prefetch **prefetch, gsa_error *error)
{
    *prefetch = NULL;
    gsa_prefetch *made = gsa_alloc_zero(system, 1, sizeof *made);
    if (!made) return gsa_out_of_memory(error, "a batch ahead", (int64_t)sizeof *made);
    made->system = made->batch.system = system;
    made->model = model;
    made->process = getpid();
    const gsa_status status = gsa_model_batch_create(model->net, &made->graph, error);
    if (status != GSA_OK) {
        gsa_release(system, made);
        return status;
    }
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->wake, NULL);
    pthread_cond_init(&made->done, NULL);
    *prefetch = made;
    return GSA_OK;
}

static int is_ours(const gsa_prefetch *p)
{
    return p->process == getpid();
}

static void end_thread(gsa_prefetch *p)
{
    pthread_mutex_lock(&p->lock);
    p->stop = 1;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
    if (p->started > 0) pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
}

void gsa_prefetch_release(gsa_prefetch *prefetch)
{
    if (!prefetch) return;
    if (is_ours(prefetch)) end_thread(prefetch);
    gsa_minibatch_release(&prefetch->batch);
    gsa_model_batch_release(prefetch->graph);
    gsa_release(prefetch->system, prefetch->example);
    gsa_release(prefetch->system, prefetch);
}

/* Signals are the program's own affair: its main thread gets them. */
static int start(gsa_prefetch *p)
{
    sigset_t all, before;
    if (p->started != 0) return p->started > 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    p->started = pthread_create(&p->thread, NULL, serve, p) == 0 ? 1 : -1;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return p->started > 0;
}

/* ---- the caller's side --------------------------------------------------------------------- */

/* Until the thread has done what it has begun; how far it came with its request. A thread
 * that wakes late is not waited for. */
static int settle(gsa_prefetch *p)
{
    pthread_mutex_lock(&p->lock);
    while (p->work == BEGUN) pthread_cond_wait(&p->done, &p->lock);
    const int work = p->work;
    p->work = IDLE;
    pthread_mutex_unlock(&p->lock);
    return work;
}

static int keep_examples(gsa_prefetch *p, const gsa_wanted *wanted)
{
    if (wanted->count > p->example_room || !p->example) {
        gsa_release(p->system, p->example);
        p->example = gsa_alloc(p->system, (size_t)wanted->count, sizeof *p->example);
        p->example_room = p->example ? wanted->count : 0;
    }
    if (p->example && wanted->count > 0)
        memcpy(p->example, wanted->example, (size_t)wanted->count * sizeof *p->example);
    return p->example != NULL;
}

void gsa_prefetch_ask(gsa_prefetch *p, const gsa_wanted *wanted)
{
    if (!is_ours(p) || !start(p)) return;
    settle(p);
    if (!keep_examples(p, wanted)) return; /* who takes it requests the memory again, and is told */
    p->wanted = *wanted;
    p->wanted.example = p->example;
    pthread_mutex_lock(&p->lock);
    p->work = ASKED;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

static int same(const gsa_wanted *a, const gsa_wanted *b)
{
    return a->split == b->split && a->count == b->count && a->first == b->first &&
           a->draw == b->draw &&
           (a->count <= 0 ||
            memcmp(a->example, b->example, (size_t)a->count * sizeof *a->example) == 0);
}

int gsa_prefetch_take(gsa_prefetch *p, const gsa_wanted *wanted, gsa_minibatch *batch,
                      gsa_status *status, gsa_error *error)
{
    if (!is_ours(p) || p->started <= 0 || settle(p) != DONE || !same(&p->wanted, wanted)) return 0;
    gsa_learner *m = p->model;
    gsa_profile_beside(m->profile, GSA_PROFILE_FILL, p->fill);
    gsa_profile_beside(m->profile, GSA_PROFILE_GRAPH, p->join);
    *status = p->status;
    if (p->status != GSA_OK) {
        gsa_fail(error, p->status, "%s", p->error.text);
        return 1;
    }
    const gsa_minibatch other = *batch;
    gsa_model_batch *graph = m->graph;
    *batch = p->batch, m->graph = p->graph, m->joined = 1;
    p->batch = other, p->graph = graph;
    return 1;
}

int gsa_prefetch_look(gsa_prefetch *p, const gsa_minibatch **batch, const gsa_model_batch **graph)
{
    if (!is_ours(p) || p->started <= 0) return 0;
    pthread_mutex_lock(&p->lock);
    while (p->work == ASKED || p->work == BEGUN) pthread_cond_wait(&p->done, &p->lock);
    const int work = p->work;
    pthread_mutex_unlock(&p->lock);
    *batch = &p->batch, *graph = p->graph;
    return work == DONE && p->status == GSA_OK;
}
