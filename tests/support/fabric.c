#include "fabric.h"
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "train/group/metis.h"

struct fabric {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct {
        const void *at;
        int64_t bytes;
        int full;
    } post[GSA_CHANNELS][FABRIC_RANKS][FABRIC_RANKS]; /* [channel][from][to] */
};

/* word[0]: where to receive, -1 once received; word[1]: how many bytes. */
static int start_transfer(void *user, gsa_transfer *t, const void *send, int64_t send_bytes,
                          void *receive, int64_t receive_bytes, char *why, size_t room)
{
    fabric_rank *p = user;
    fabric *f = p->fabric;
    (void)why, (void)room;
    t->word[0] = (int64_t)(intptr_t)receive, t->word[1] = receive_bytes;
    pthread_mutex_lock(&f->lock);
    f->post[t->channel][p->group.rank][t->partner].at = send;
    f->post[t->channel][p->group.rank][t->partner].bytes = send_bytes;
    f->post[t->channel][p->group.rank][t->partner].full = 1;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
    return 0;
}

static int poll_transfer(void *user, gsa_transfer *t, int waits, char *why, size_t room)
{
    fabric_rank *p = user;
    fabric *f = p->fabric;
    const int own = p->group.rank;
    int done = 0;
    pthread_mutex_lock(&f->lock);
    for (;;) {
        if (t->word[0] != -1 && f->post[t->channel][t->partner][own].full) {
            const int64_t bytes = f->post[t->channel][t->partner][own].bytes;
            if (bytes != t->word[1]) done = -1, snprintf(why, room, "sizes do not fit");
            else if (bytes > 0)
                memcpy((void *)(intptr_t)t->word[0], f->post[t->channel][t->partner][own].at,
                       (size_t)bytes);
            f->post[t->channel][t->partner][own].full = 0, t->word[0] = -1;
            pthread_cond_broadcast(&f->changed);
        }
        if (done == 0) done = t->word[0] == -1 && !f->post[t->channel][own][t->partner].full;
        if (done || !waits) break;
        pthread_cond_wait(&f->changed, &f->lock);
    }
    pthread_mutex_unlock(&f->lock);
    return done;
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
                                          .start = start_transfer,
                                          .poll = poll_transfer,
                                          .cut = gsa_metis_cut,
                                          .user = &at[r] } };
        ck_assert_int_eq(pthread_create(&thread[r], NULL, body, argument[r]), 0);
    }
    for (int r = 0; r < ranks; r++) pthread_join(thread[r], NULL);
    for (int r = 0; r < ranks; r++) gsa_group_release(&at[r].group);
    pthread_cond_destroy(&f.changed);
    pthread_mutex_destroy(&f.lock);
}
