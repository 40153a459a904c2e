#include "train/group/nccl.h"
#include <nccl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    OLDEST = NCCL_VERSION(2, 14, 0), /* with communicators that do not block (ncclConfig_t) */
    SPINS = 2000,                    /* looks before this thread sleeps between two */
    LOOK_NS = 1000 * 1000,
    OPENS = 8000, /* looks, and so milliseconds, until all ranks are to be there: */
    OPENS_A_RANK = 100,
    ENDS = 2000 /* until all is done */
};
_Static_assert(NCCL_VERSION_CODE >= OLDEST, "NCCL 2.14 or later");
_Static_assert(sizeof(ncclUniqueId) == GSA_WIRE_KEY, "a key is NCCL's unique id");

static int failed(ncclResult_t result, ncclComm_t comm, char *why, size_t room)
{
    if (result == ncclSuccess || result == ncclInProgress) return 0;
    const char *last = ncclGetLastError(comm);
    const int more = last ? (int)strcspn(last, "\n") : 0;
    snprintf(why, room, "NCCL: %s%s%.*s%s", ncclGetErrorString(result), more ? " (" : "", more,
             more ? last : "", more ? ")" : "");
    return -1;
}

/* Waits for what a call began in the background. At most about `looks` ms; 0: as long as it takes,
 * as MPI notices ranks that stop. */
static int settle(ncclComm_t comm, int looks, char *why, size_t room)
{
    const struct timespec soon = { .tv_nsec = LOOK_NS };
    ncclResult_t state = ncclInProgress;
    for (int look = 0; state == ncclInProgress; look++) {
        const ncclResult_t result = ncclCommGetAsyncError(comm, &state);
        if (failed(result, comm, why, room)) return -1;
        if (state != ncclInProgress) break;
        if (looks > 0 && look - SPINS >= looks) {
            snprintf(why, room, "NCCL: no other rank's answer for %d seconds", looks / 1000);
            return -1;
        }
        if (look < SPINS) sched_yield();
        else nanosleep(&soon, NULL);
    }
    return failed(state, comm, why, room);
}

static int32_t get_version(char *why, size_t room)
{
    int version = 0;
    if (failed(ncclGetVersion(&version), NULL, why, room)) return 0;
    if (version >= OLDEST) return version;
    snprintf(why, room, "NCCL %d is here, expected %d or later", version, OLDEST);
    return 0;
}

static int make_key(char key[GSA_WIRE_KEY], char *why, size_t room)
{
    ncclUniqueId id;
    if (failed(ncclGetUniqueId(&id), NULL, why, room)) return -1;
    memcpy(key, &id, sizeof id);
    return 0;
}

static int open_line(const char key[GSA_WIRE_KEY], int32_t rank, int32_t ranks, void **line,
                     char *why, size_t room)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclComm_t comm = NULL;
    ncclUniqueId id;
    memcpy(&id, key, sizeof id);
    config.blocking = 0;
    const ncclResult_t result = ncclCommInitRankConfig(&comm, ranks, id, rank, &config);
    if (!failed(result, comm, why, room) &&
        settle(comm, OPENS + ranks * OPENS_A_RANK, why, room) == 0) {
        *line = comm;
        return 0;
    }
    if (comm) ncclCommAbort(comm);
    return -1;
}

static int ask(void *line, char *why, size_t room)
{
    ncclResult_t state = ncclSuccess;
    const ncclResult_t result = ncclCommGetAsyncError(line, &state);
    return failed(result != ncclSuccess ? result : state, line, why, room);
}

static int swap(void *line, int32_t partner, const void *send, int64_t send_bytes, void *receive,
                int64_t receive_bytes, void *queue, char *why, size_t room)
{
    if (ask(line, why, room) != 0) return -1;
    ncclResult_t result = ncclGroupStart();
    if (result == ncclSuccess && send_bytes > 0)
        result = ncclSend(send, (size_t)send_bytes, ncclInt8, partner, line, queue);
    if ((result == ncclSuccess || result == ncclInProgress) && receive_bytes > 0)
        result = ncclRecv(receive, (size_t)receive_bytes, ncclInt8, partner, line, queue);
    const ncclResult_t ended = ncclGroupEnd();
    if (failed(result, line, why, room) || failed(ended, line, why, room)) return -1;
    return settle(line, 0, why, room);
}

static void close_line(void *line, int whole)
{
    char why[256];
    if (whole && !failed(ncclCommFinalize(line), line, why, sizeof why) &&
        settle(line, ENDS, why, sizeof why) == 0)
        ncclCommDestroy(line);
    else ncclCommAbort(line);
}

const gsa_wire gsa_group_nccl_table = { .name = "NCCL",
                                        .version = get_version,
                                        .make_key = make_key,
                                        .open = open_line,
                                        .swap = swap,
                                        .ask = ask,
                                        .close = close_line };
