/* group.h - the processes that share a run. Each is a rank and computes a part; alone there is a
 * group of one, which is NULL everywhere. Not installed.
 *
 * Law.  All ranks make the same calls in the same order. Calls take the caller's status, but for
 *     swaps and sums: where a rank comes with a failure, the call fails on every rank with that
 *     rank's sentence, and nothing is sent any more. So a rank that fails needs no way out but its
 *     next call. Results of gsa_group_tell, merges and sums have the same bits on every rank, for
 *     any number of ranks. */
#ifndef GSA_GROUP_H
#define GSA_GROUP_H
#include "kernels/backend.h"

enum {
    GSA_GROUP_RANKS = 1024,
    GSA_GROUP_LEVELS = 10, /* of the tree over so many ranks */
    GSA_GROUP_NUMBERS = 3,
    GSA_GROUP_CHUNK = 1 << 30 /* bytes of one transfer at most */
};

/* Transfers of different channels may overtake each other. */
enum gsa_channel { GSA_CHANNEL_NOW, GSA_CHANNEL_SUM, GSA_CHANNELS };

/* One that has begun: what the group needs to know of it. */
typedef struct gsa_transfer {
    int64_t word[2];
    int32_t channel, partner;
} gsa_transfer;

/* What goes to each rank and comes from it while other work goes on: see gsa_group_begin. */
typedef struct gsa_group_trade gsa_group_trade;

struct gsa_share_graph; /* graph/share.h */

enum { GSA_WIRE_KEY = 128 };

/* How device memory goes from rank to rank without the host. Functions that may fail give 0, or
 * else `why`. */
typedef struct gsa_wire {
    const char *name;
    int32_t (*version)(char *why, size_t why_room); /* 0: `why` it cannot be used here */
    /* What rank 0 makes and all open it with: each on the device of its calling thread. */
    int (*make_key)(char key[GSA_WIRE_KEY], char *why, size_t why_room);
    int (*open)(const char key[GSA_WIRE_KEY], int32_t rank, int32_t ranks, void **line, char *why,
                size_t why_room);
    /* Queues a transfer to the partner and one from it; either may be 0 bytes. */
    int (*swap)(void *line, int32_t partner, const void *send, int64_t send_bytes, void *receive,
                int64_t receive_bytes, void *queue, char *why, size_t why_room);
    /* Whether what was queued has failed since. In any thread. */
    int (*ask)(void *line, char *why, size_t why_room);
    /* whole: what was queued ends first; else it ends at once, wherever it waits. */
    void (*close)(void *line, int whole);
} gsa_wire;

typedef struct gsa_group {
    const gsa_system *system;
    int32_t rank, ranks;        /* ranks: a power of two, 2 to GSA_GROUP_RANKS */
    int32_t on_host, host_rank; /* ranks on this machine; which of them this one is */
    int32_t failed, blamed;     /* 1: a failure was told; it was of some ranks alone */
    const char *program;        /* a hash of what runs here, or NULL */
    int64_t sent;               /* bytes, of all calls */
    int64_t early;              /* sums that began before their step's backward pass had ended */
    void *scratch;
    int64_t room;
    /* Begins to send to the transfer's partner and to receive from it; both may be 0 bytes, none is
     * more than GSA_GROUP_CHUNK. 0; else `why` says what went wrong. */
    int (*start)(void *user, gsa_transfer *transfer, const void *send, int64_t send_bytes,
                 void *receive, int64_t receive_bytes, char *why, size_t why_room);
    /* 1: it has ended; 0: not yet, where it does not wait; -1: `why`. */
    int (*poll)(void *user, gsa_transfer *transfer, int waits, char *why, size_t why_room);
    void *user;
    /* Cuts a graph into parts of like weight that read few nodes of each other; the same graph
     * always in the same way. part: [nodes]. 0; else `why`. NULL: there is no partitioner here. */
    int (*cut)(const struct gsa_share_graph *graph, int32_t parts, int32_t *part, char *why,
               size_t why_room);
    gsa_group_trade *trade; /* of gsa_group_begin, or NULL */
    /* What there is, or NULL and `why`; NULL: nothing. */
    const gsa_wire *(*find_wire)(char *why, size_t why_room);
    const gsa_wire *wire; /* with its line open, or NULL: sums go through the host's memory */
    void *line;
    /* For a rank that waits for its device while another one's has failed: that one's message does
     * not reach it. heed: the thread that watches ranks asks the wire now and then; NULL: no more.
     * waits: this rank comes with a failure, and ends all ranks where the others do not come;
     * GSA_OK: they have. */
    void (*heed)(void *user, const gsa_wire *wire, void *line);
    void (*waits)(void *user, gsa_status status, const char *sentence);
} gsa_group;

static inline int32_t gsa_group_ranks(const gsa_group *group)
{
    return group ? group->ranks : 1;
}

static inline int32_t gsa_group_rank(const gsa_group *group)
{
    return group ? group->rank : 0;
}

void gsa_group_release(gsa_group *group); /* its own memory; a NULL one is fine */

/* Sends to the partner and receives from it at once. The partner makes the same call with the two
 * sizes exchanged. Where both are 0 nothing is sent. It tells no status: call gsa_group_tell before
 * a round of swaps. */
gsa_status gsa_group_swap(gsa_group *group, int32_t partner, const void *send, int64_t send_bytes,
                          void *receive, int64_t receive_bytes, gsa_error *error);
/* Each rank's status, and GSA_GROUP_NUMBERS numbers of each to all: all[rank * NUMBERS + i]; both
 * NULL: none. A barrier, too. The sentence of a failure of some ranks alone names
 * the first. */
gsa_status gsa_group_tell(gsa_group *group, gsa_status status, const int64_t *numbers, int64_t *all,
                          gsa_error *error);
/* `bytes` of each rank to all: all[rank * bytes]. */
gsa_status gsa_group_gather(gsa_group *group, gsa_status status, const void *mine, int64_t bytes,
                            void *all, gsa_error *error);
/* The bytes of all ranks, one after the other, as many as each has: *total at *all, until the next
 * call of the group. */
gsa_status gsa_group_join(gsa_group *group, gsa_status status, const void *mine, int64_t bytes,
                          const void **all, int64_t *total, gsa_error *error);
/* Bytes that are zero on all ranks but one become that rank's. */
gsa_status gsa_group_merge(gsa_group *group, gsa_status status, void *at, int64_t bytes,
                           gsa_error *error);
/* One trade at a time between each two ranks, which goes on during other work. Its bytes are in the
 * group's memory: out[r] that go to rank r at gsa_group_outbox, in[r] that come from it at
 * gsa_group_inbox, until the next trade. gsa_group_room makes room for them; with its status every
 * rank begins, in the order of its other calls. First each tells that status, as gsa_group_tell
 * does, then the bytes go. Every other call ends a trade first, so a rank that fails in between
 * blocks no other. */
gsa_status gsa_group_room(gsa_group *group, const int64_t *out, const int64_t *in,
                          gsa_error *error); /* [ranks] each */
char *gsa_group_outbox(gsa_group *group, int32_t rank);
char *gsa_group_inbox(gsa_group *group, int32_t rank);
gsa_status gsa_group_begin(gsa_group *group, gsa_status status, gsa_error *error);
/* As far as what the others did allows; with `waits` to the end: then everything is there. */
gsa_status gsa_group_go_on(gsa_group *group, int waits, gsa_error *error);
/* Sums of the backend's memory go from device to device from now on, where it is a device's and the
 * wire opens on all ranks. `said`: how they go and why; "" where there is no choice. */
gsa_status gsa_group_open_wire(gsa_group *group, const gsa_backend *backend, char *said,
                               size_t said_room, gsa_error *error);
/* Before the backend is released. A NULL group is fine. */
void gsa_group_close_wire(gsa_group *group);

/* A sum of `count` numbers (floats of real_bytes 4 or doubles) that goes on during other work, one
 * at a time: along the tree of gradient_tree.h, ranks 2i and 2i + 1 first, whatever `count` is cut
 * into. Each rank sends 2 (ranks - 1) / ranks times their bytes. Recursive halving and doubling
 * (Thakur, Rabenseifner and Gropp 2005).
 *
 * With a backend they are its memory, and all of the sum is queued beside its work (backend.h,
 * aside): the wire carries, the backend adds, so the order of additions is the same. */
typedef struct gsa_group_adding {
    gsa_backend *backend;      /* or NULL: the host's memory */
    char *at, *room;           /* room of (count + 1) / 2 numbers, for what others send */
    int64_t count, real_bytes; /* at most GSA_GROUP_CHUNK bytes */
    int64_t low[GSA_GROUP_LEVELS + 1], high[GSA_GROUP_LEVELS + 1]; /* this rank's, at each level */
    int32_t turn, zero;                                            /* up the tree, then down */
    gsa_transfer transfer;
} gsa_group_adding;

/* Ranks call it in the same order, each when it can. It tells no status: a rank that has failed
 * adds what it has, and tells afterwards. */
gsa_status gsa_group_add(gsa_group *group, gsa_group_adding *adding, gsa_error *error);
/* As far as what the others sent allows; with `waits` to the end. *done: 1: `at` has the sums. */
gsa_status gsa_group_advance(gsa_group *group, gsa_group_adding *adding, int waits, int *done,
                             gsa_error *error);

#endif
