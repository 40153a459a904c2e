#include "fabric.h"
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct fabric {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct {
        const void *at;
        int64_t bytes;
        int full;
    } post[FABRIC_RANKS][FABRIC_RANKS]; /* [from][to] */
};

static int exchange(void *user, int partner, const void *send, int64_t send_bytes, void *receive,
                    int64_t receive_bytes, char *why, size_t room)
{
    fabric_rank *p = user;
    fabric *f = p->fabric;
    const int own = p->group.rank;
    int fits;
    pthread_mutex_lock(&f->lock);
    f->post[own][partner].at = send, f->post[own][partner].bytes = send_bytes;
    f->post[own][partner].full = 1;
    pthread_cond_broadcast(&f->changed);
    while (!f->post[partner][own].full) pthread_cond_wait(&f->changed, &f->lock);
    fits = f->post[partner][own].bytes == receive_bytes;
    if (fits && receive_bytes > 0) memcpy(receive, f->post[partner][own].at, (size_t)receive_bytes);
    f->post[partner][own].full = 0;
    pthread_cond_broadcast(&f->changed);
    while (f->post[own][partner].full) pthread_cond_wait(&f->changed, &f->lock);
    pthread_mutex_unlock(&f->lock);
    if (!fits) snprintf(why, room, "sizes do not fit");
    return fits ? 0 : -1;
}

void fabric_run(int ranks, fabric_rank *at, void *(*body)(void *), void *const *argument)
{
    pthread_t thread[FABRIC_RANKS];
    fabric f = { 0 };
    pthread_mutex_init(&f.lock, NULL);
    pthread_cond_init(&f.changed, NULL);
    for (int r = 0; r < ranks; r++) {
        at[r] = (fabric_rank){ .fabric = &f,
                               .group = { .system = gsa_system_default(),
                                          .rank = r,
                                          .ranks = ranks,
                                          .on_host = ranks,
                                          .exchange = exchange,
                                          .user = &at[r] } };
        ck_assert_int_eq(pthread_create(&thread[r], NULL, body, argument[r]), 0);
    }
    for (int r = 0; r < ranks; r++) pthread_join(thread[r], NULL);
    for (int r = 0; r < ranks; r++) gsa_group_release(&at[r].group);
    pthread_cond_destroy(&f.changed);
    pthread_mutex_destroy(&f.lock);
}
