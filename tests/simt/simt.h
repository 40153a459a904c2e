/* simt.h - a small SIMT executor: runs the project's CUDA kernels on the host, one fiber for each
 * CUDA thread.
 *
 * Law. One block runs at a time, its threads one at a time; a thread runs until it waits (shuffle,
 * vote, __syncwarp,
 *      __syncthreads) or ends. Who runs next is the order's business (simt_order): a right kernel
 *      gives the same bits in every order, one that lacks a barrier does not. Shared memory holds
 *      NaN when a block starts, device memory when it is allocated. Misuse (lanes that name each
 *      other with different masks or operations, a barrier that cannot complete, a shuffle from a
 *      lane that is not there, too much shared memory, a copy between the wrong memories) ends the
 *      launch with cudaErrorLaunchFailure, which is sticky as on a device, and a sentence in
 *      simt_message().
 *      Device memory is poisoned for ASan outside kernels and copies: host code that touches it
 *        dies at the place. */
#ifndef GSA_SIMT_H
#define GSA_SIMT_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what kernels are made of */
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __restrict__ __restrict
#define __shared__   simt_shared_arrays_are_declared_by_GSA_SHARED
#define __constant__ simt_has_no_constant_memory

typedef struct simt_index {
    unsigned x, y, z;
} simt_index;
extern simt_index threadIdx, blockIdx, blockDim, gridDim;

enum simt_op { SIMT_SYNC, SIMT_SHUFFLE, SIMT_XOR, SIMT_UP, SIMT_BALLOT, SIMT_ANY, SIMT_ALL };
uint64_t simt_warp(int op, unsigned mask, uint64_t value, int argument, int width, const char *file,
                   int line);
void simt_barrier(const char *file, int line);
void *simt_shared(size_t bytes, const char *file, int line);
void simt_yield(void); /* random order: lets others overtake */

#define __syncthreads() simt_barrier(__FILE__, __LINE__)
#define __threadfence() ((void)0)
#define __syncwarp()    ((void)simt_warp(SIMT_SYNC, 0xffffffffu, 0, 0, 32, __FILE__, __LINE__))
#define __ballot_sync(mask, p)                                                                     \
    ((unsigned)simt_warp(SIMT_BALLOT, mask, (p) != 0, 0, 32, __FILE__, __LINE__))
#define __any_sync(mask, p)              ((int)simt_warp(SIMT_ANY, mask, (p) != 0, 0, 32, __FILE__, __LINE__))
#define __all_sync(mask, p)              ((int)simt_warp(SIMT_ALL, mask, (p) != 0, 0, 32, __FILE__, __LINE__))
#define SIMT_WIDTH(argument, width, ...) argument, width
#define __shfl_sync(mask, v, ...)                                                                  \
    simt_exchange(SIMT_SHUFFLE, mask, v, SIMT_WIDTH(__VA_ARGS__, 32, 0), __FILE__, __LINE__)
#define __shfl_xor_sync(mask, v, ...)                                                              \
    simt_exchange(SIMT_XOR, mask, v, SIMT_WIDTH(__VA_ARGS__, 32, 0), __FILE__, __LINE__)
#define __shfl_up_sync(mask, v, ...)                                                               \
    simt_exchange(SIMT_UP, mask, v, SIMT_WIDTH(__VA_ARGS__, 32, 0), __FILE__, __LINE__)

/* ---- the slice of the runtime API that the backend calls */
typedef enum cudaError {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorIllegalState = 401,
    cudaErrorIllegalAddress = 700,
    cudaErrorLaunchFailure = 719,
    cudaErrorStreamCaptureUnsupported = 900,
    cudaErrorStreamCaptureInvalidated = 901,
    cudaErrorStreamCaptureIsolation = 905,
    cudaErrorCapturedEvent = 907,
    cudaErrorGraphExecUpdateFailure = 910
} cudaError_t;
enum cudaMemcpyKind {
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3
};
enum cudaDeviceAttr {
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76
};
enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2, cudaHostAllocDefault = 0 };
typedef struct simt_stream *cudaStream_t;
typedef struct simt_event *cudaEvent_t;
typedef struct simt_graph *cudaGraph_t, *cudaGraphExec_t;
typedef struct simt_work *cudaGraphNode_t;
typedef struct cudaGraphExecUpdateResultInfo {
    int result;
    cudaGraphNode_t errorNode, errorFromNode;
} cudaGraphExecUpdateResultInfo;
enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal,
    cudaStreamCaptureModeThreadLocal,
    cudaStreamCaptureModeRelaxed
};
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive };
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr what, int device);
cudaError_t cudaMalloc(void **at, size_t bytes);
cudaError_t cudaFree(void *at);
cudaError_t cudaHostAlloc(void **at, size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void *at);
cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *at, int byte, size_t bytes, cudaStream_t stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph,
                                          unsigned long long flags);
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo *info);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);

/* ---- what tests call */
enum simt_order { SIMT_FORWARD, SIMT_REVERSE, SIMT_RANDOM };
void simt_order(enum simt_order order,
                uint64_t seed);     /* of threads and of blocks; the default is forward */
const char *simt_message(void);     /* "" or the sentence of the first misuse */
void simt_reset(void);              /* forget the sticky error: a device would need a new process */
void simt_break(cudaError_t error); /* from now on every call fails so, as on a lost device */
void simt_memory(int64_t bytes);    /* the device has this much in all; default 1 GiB */
void simt_pinnable(int64_t bytes);  /* so much host memory can be pinned in all; default: any */
void simt_fail_malloc(int64_t nth); /* the nth allocation from now on fails; 0: none */
void simt_devices(int count);       /* default 1 */
void simt_capability(int capability); /* what devices say of themselves; default 90 */
int64_t simt_live(void);              /* allocations, graphs and events that nobody freed */
int64_t simt_launches(void);
int64_t simt_waits(void);  /* how often the host waited for a stream or an event */
int64_t simt_graphs(void); /* how many were instantiated */
enum simt_lateness { SIMT_AT_ONCE, SIMT_LATE, SIMT_BEHIND };
void simt_late(
    int how); /* what streams are given runs when somebody waits for it, not before; After: the
                 first stream alone, which the others overtake wherever nothing holds them */
void simt_refuse_updates(int count); /* so many updates of graphs from now on are refused */
void simt_invalidate(
    int64_t nth); /* the nth call that a capture records from now on invalidates it; 0: none */

/* ---- what a stream does: a launch, a library's call (block 0), a copy, a fill; stream.c keeps
 * them, launch.c and runtime.c do them */
enum simt_what { SIMT_CALL, SIMT_COPY, SIMT_FILL, SIMT_WAIT };
typedef struct simt_work {
    struct simt_work *next;
    enum simt_what what;
    unsigned grid, block;
    const char *name;
    void (*call)(const void *);
    void *to;
    const void *from;
    size_t bytes, size; /* of the copy; of the closure after this struct */
    enum cudaMemcpyKind kind;
    int byte, unused;
} simt_work;
cudaError_t simt_submit(cudaStream_t stream, const simt_work *work, const void *closure);
/* Sees whatever streams are given from now on, captured or not; NULL: nobody does. */
void simt_watch(void (*seen)(void *context, const simt_work *work), void *context);
cudaError_t simt_launch(unsigned grid, unsigned block, const char *name, void (*call)(const void *),
                        const void *kernel);
cudaError_t simt_launch_fits(unsigned grid, unsigned block, const char *name);
cudaError_t simt_move(const simt_work *work); /* a copy or a fill, now */
cudaError_t simt_move_fits(const simt_work *work);
int simt_is_pinned(const void *at, size_t bytes);
int simt_on_device(const void *at, size_t bytes);
cudaError_t simt_unsafe(
    const char *call);    /* a call that no thread may make while one of its streams is captured */
void simt_catch_up(void); /* everything that streams were given runs */
int simt_allocation_fails(void); /* counts towards simt_fail_malloc */
void simt_count_live(int more);
void simt_device_visible(int yes);
int simt_in_kernel(void);
enum { SIMT_SHARED_BYTES = 48 << 10, SIMT_REDZONE = 64, SIMT_MAX_ARRAYS = 32 };
extern unsigned char
    simt_shared_memory[]; /* of the block at work: its arrays, each between redzones */
cudaError_t simt_fail(cudaError_t error, int sticky, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
cudaError_t simt_sticky(void);

#ifdef __cplusplus
}

template <class T>
static inline T simt_exchange(int op, unsigned mask, T v, int argument, int width, const char *file,
                              int line)
{
    static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, &v, sizeof v);
    bits = simt_warp(op, mask, bits, argument, width, file, line);
    memcpy(&v, &bits, sizeof v);
    return v;
}

#define GSA_SHARED(type, name, dims)                                                               \
    typedef type simt_##name dims;                                                                 \
    simt_##name &name = *(simt_##name *)simt_shared(sizeof(simt_##name), __FILE__, __LINE__)
#define GSA_ARGUMENT(type) const type

template <class F> static inline void simt_call(const void *f)
{
    (*(const F *)f)();
}
template <class F>
static inline cudaError_t simt_launch_of(cudaStream_t stream, unsigned grid, unsigned block,
                                         const char *name, const F &f)
{
    static_assert(__is_trivially_copyable(F), "a kernel's arguments are kept byte by byte");
    simt_work work = {};
    work.what = SIMT_CALL, work.grid = grid, work.block = block, work.name = name,
    work.call = simt_call<F>;
    work.size = sizeof f;
    return simt_submit(stream, &work, &f);
}
/* Arguments are evaluated at the launch, as what the kernel takes. */
template <class T> struct simt_same {
    typedef T type;
};
template <class... P>
static inline cudaError_t simt_launch_kernel(cudaStream_t stream, unsigned grid, unsigned block,
                                             const char *name, void (*kernel)(P...),
                                             typename simt_same<P>::type... arguments)
{
    static_assert((sizeof(P) + ... + 0) <= 1024, "parameters of a launch take at most 1 KB");
    return simt_launch_of(stream, grid, block, name, [=] { kernel(arguments...); });
}
#define GSA_LAUNCH(kernel, grid, block, stream, ...)                                               \
    simt_launch_kernel((stream), (unsigned)(grid), (unsigned)(block), #kernel, kernel, __VA_ARGS__)
/* A call of a library: plain code on device memory, queued as its kernels would be. */
template <class F>
static inline cudaError_t simt_library(cudaStream_t stream, const char *name, const F &f)
{
    return simt_launch_of(stream, 0, 0, name, f);
}

struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
static inline float2 make_float2(float x, float y)
{
    return float2{ x, y };
}
static inline float4 make_float4(float x, float y, float z, float w)
{
    return float4{ x, y, z, w };
}
/* glibc declares functions of these names, so macros come after <math.h> */
#define __expf(x) expf(x)
template <class T> static inline T __ldg(const T *at)
{
    return *at;
}
template <class T> static inline T min(T a, T b)
{
    return b < a ? b : a;
}
template <class T> static inline T max(T a, T b)
{
    return a < b ? b : a;
}
template <class T> static inline T atomicAdd(T *at, T v)
{
    simt_yield();
    const T old = *at;
    *at = old + v;
    return old;
}
template <class T> static inline T atomicMin(T *at, T v)
{
    simt_yield();
    const T old = *at;
    *at = v < old ? v : old;
    return old;
}
template <class T> static inline T atomicMax(T *at, T v)
{
    simt_yield();
    const T old = *at;
    *at = v > old ? v : old;
    return old;
}
static inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
#endif
#endif
