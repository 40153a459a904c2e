#include "tests/nccl/nccl.h"
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "tests/simt/simt.h"

enum { BACKGROUND = 3 }; /* so often a call that goes on is seen to */

struct ncclComm {
    MPI_Comm mpi;
    int rank, transfers;
    atomic_int background, broken, aborted;
};

typedef struct transfer {
    ncclComm_t comm;
    const void *send;
    void *receive;
    size_t send_bytes, receive_bytes;
    int peer, hangs;
} transfer;

static struct group { /* of the thread that makes all calls */
    int open;
    transfer transfer;
    cudaStream_t stream;
} group;

/* 1: this call is to fail so. */
static int fails(const char *what, int nth)
{
    char kind[16] = "";
    int rank = -1, at = 0, own = 0;
    const char *asked = getenv("GSA_TEST_NCCL");
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    if (!asked || sscanf(asked, "%15[a-z]:%d:%d", kind, &rank, &at) < 2) return 0;
    return strcmp(kind, what) == 0 && (rank == -1 || rank == own) && at == nth;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    switch (result) {
    case ncclSuccess:
        return "no error";
    case ncclSystemError:
        return "unhandled system error";
    case ncclInvalidArgument:
        return "invalid argument";
    case ncclInvalidUsage:
        return "invalid usage";
    case ncclRemoteError:
        return "remote process exited or there was a network error";
    default:
        return "NCCL operation in progress";
    }
}

const char *ncclGetLastError(ncclComm_t comm)
{
    (void)comm;
    return "the stand-in was asked to fail\nin its second line";
}

ncclResult_t ncclGetVersion(int *version)
{
    *version = NCCL_VERSION_CODE + fails("other", 0);
    if (fails("old", 0)) *version = NCCL_VERSION(2, 13, 4);
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    struct timespec now;
    if (fails("id", 0)) return ncclSystemError;
    clock_gettime(CLOCK_REALTIME, &now);
    for (size_t i = 0; i < sizeof id->internal; i++)
        id->internal[i] = (char)((uint64_t)now.tv_nsec >> i % 24);
    return ncclSuccess;
}

/* All ranks have come with the one id of rank 0. */
ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
    int size = 0, own = -1, zeros = 1;
    ncclUniqueId first = id;
    *comm = NULL;
    if (fails("init", 0)) return ncclInvalidUsage;
    MPI_Comm_size(MPI_COMM_WORLD, &size), MPI_Comm_rank(MPI_COMM_WORLD, &own);
    for (size_t i = 0; i < sizeof id.internal; i++) zeros &= id.internal[i] == 0;
    if (config->blocking != 0 || size != ranks || own != rank || zeros) return ncclInvalidArgument;
    struct ncclComm *made = calloc(1, sizeof *made);
    if (!made) abort();
    made->rank = rank, made->background = BACKGROUND;
    if (getenv("GSA_TEST_NCCL") && strncmp(getenv("GSA_TEST_NCCL"), "init", 4) == 0)
        made->background = INT32_MAX; /* the other one never comes */
    else {
        MPI_Comm_dup(MPI_COMM_WORLD, &made->mpi);
        MPI_Bcast(&first, sizeof first, MPI_BYTE, 0, made->mpi);
    }
    if (memcmp(&first, &id, sizeof id) != 0) return ncclInvalidArgument;
    *comm = made;
    return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
    *error = comm->broken ? ncclRemoteError : ncclSuccess;
    int left = comm->background; /* two threads may ask */
    if (comm->broken) return ncclSuccess;
    do {
        if (left == 0) return ncclSuccess;
    } while (!atomic_compare_exchange_weak(&comm->background, &left, left - 1));
    *error = ncclInProgress;
    return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    comm->background = BACKGROUND;
    return ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    MPI_Comm_free(&comm->mpi);
    free(comm);
    return ncclSuccess;
}

/* What streams hold of it ends when it runs, so it is kept. */
ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    comm->aborted = 1;
    return ncclSuccess;
}

ncclResult_t ncclGroupStart(void)
{
    if (group.open) return ncclInvalidUsage;
    group = (struct group){ .open = 1 };
    return ncclSuccess;
}

static ncclResult_t enter(ncclComm_t comm, int peer, cudaStream_t stream)
{
    if (!group.open || comm->background > 0 || peer == comm->rank || !stream)
        return ncclInvalidUsage;
    group.transfer.comm = comm, group.transfer.peer = peer, group.stream = stream;
    return ncclSuccess;
}

ncclResult_t ncclSend(const void *at, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    (void)type;
    group.transfer.send = at, group.transfer.send_bytes = count;
    return enter(comm, peer, stream);
}

ncclResult_t ncclRecv(void *at, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    (void)type;
    group.transfer.receive = at, group.transfer.receive_bytes = count;
    return enter(comm, peer, stream);
}

static void run(const void *closure)
{
    const struct timespec soon = { .tv_nsec = 20 * 1000 };
    const transfer *t = closure;
    MPI_Request request[2] = { MPI_REQUEST_NULL, MPI_REQUEST_NULL };
    MPI_Status status[2];
    int done = 0;
    if (t->comm->aborted) return;
    if (!t->hangs && t->receive_bytes > 0)
        MPI_Irecv(t->receive, (int)t->receive_bytes, MPI_BYTE, t->peer, 0, t->comm->mpi,
                  &request[0]);
    if (!t->hangs && t->send_bytes > 0)
        MPI_Isend(t->send, (int)t->send_bytes, MPI_BYTE, t->peer, 0, t->comm->mpi, &request[1]);
    while (!t->comm->aborted) {
        if (!t->hangs) MPI_Testall(2, request, &done, status);
        if (done) return;
        nanosleep(&soon, NULL);
    }
    if (request[0] != MPI_REQUEST_NULL) MPI_Cancel(&request[0]); /* its memory goes */
    for (int i = 0; i < 2; i++)
        if (request[i] != MPI_REQUEST_NULL) MPI_Request_free(&request[i]);
}

ncclResult_t ncclGroupEnd(void)
{
    transfer *t = &group.transfer;
    if (!group.open) return ncclInvalidUsage;
    group.open = 0;
    if (!t->comm) return ncclSuccess;
    const int nth = ++t->comm->transfers;
    if (fails("system", nth)) return ncclSystemError;
    t->hangs = fails("async", nth), t->comm->broken |= t->hangs;
    const simt_work work = {
        .what = SIMT_CALL, .name = "a transfer of NCCL", .call = run, .size = sizeof *t
    };
    if (simt_submit(group.stream, &work, t) != cudaSuccess) return ncclSystemError;
    t->comm->background = BACKGROUND;
    return ncclInProgress;
}
