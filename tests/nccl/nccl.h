/* nccl.h - a stand-in for NVIDIA's NCCL, for tests alone: the public names that train/group/nccl.c
 * calls, over MPI, for devices of the executor (tests/simt). What it is given is queued on the
 * executor's streams, and as there a call may go on in the background.
 *
 * GSA_TEST_NCCL=WHAT:RANK[:NTH] has it fail on one rank (-1: on all):
 *   old, other   the library has a version that is too old, or another one
 *   id, init     no unique id; no communicator
 *   system       the nth transfer is refused with ncclSystemError
 *   async        the nth transfer never ends, and the communicator tells ncclRemoteError */
#ifndef NCCL_H_
#define NCCL_H_
#include <stddef.h>

#define NCCL_VERSION(x, y, z) ((x)*10000 + (y)*100 + (z))
#define NCCL_VERSION_CODE     NCCL_VERSION(2, 14, 0)
#define NCCL_UNIQUE_ID_BYTES  128

typedef enum {
    ncclSuccess = 0,
    ncclSystemError = 2,
    ncclInvalidArgument = 4,
    ncclInvalidUsage = 5,
    ncclRemoteError = 6,
    ncclInProgress = 7
} ncclResult_t;
typedef enum { ncclInt8 = 0 } ncclDataType_t;
typedef struct ncclComm *ncclComm_t;
typedef struct {
    char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;
typedef struct {
    int blocking;
} ncclConfig_t;
#define NCCL_CONFIG_INITIALIZER                                                                    \
    {                                                                                              \
        .blocking = 1                                                                              \
    }
typedef struct simt_stream *cudaStream_t;

ncclResult_t ncclGetVersion(int *version);
ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config);
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommAbort(ncclComm_t comm);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error);
const char *ncclGetErrorString(ncclResult_t result);
const char *ncclGetLastError(ncclComm_t comm);
ncclResult_t ncclSend(const void *at, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream);
ncclResult_t ncclRecv(void *at, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream);
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);

#endif
