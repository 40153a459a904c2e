/* runtime.c - the executor's device memory, copies, devices and errors. */
#define _GNU_SOURCE
#include "simt.h"
#include <stdio.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#if defined(WITH_ASAN)
#include <sanitizer/asan_interface.h>
#define HIDE(at, bytes) ASAN_POISON_MEMORY_REGION(at, bytes)
#define SHOW(at, bytes) ASAN_UNPOISON_MEMORY_REGION(at, bytes)
#else
#define HIDE(at, bytes) ((void)(at), (void)(bytes))
#define SHOW(at, bytes) ((void)(at), (void)(bytes))
#endif

enum { ALIGN = 256 };
/* Here, not next to the blocks that use it: ASan guards what lies next to it wherever launch.c is
 * compiled without it. */
_Alignas(
    128) unsigned char simt_shared_memory[SIMT_SHARED_BYTES + (SIMT_MAX_ARRAYS + 2) * SIMT_REDZONE];

typedef struct block {
    struct block *next;
    unsigned char *at;
    size_t bytes;
    int pinned;
} block;

static struct memory {
    block *blocks;
    int64_t total, used, live, countdown, pinnable, pinned;
    int devices, capability;
} mem = { .total = INT64_C(1) << 30, .pinnable = INT64_MAX, .devices = 1, .capability = 90 };

void simt_memory(int64_t bytes)
{
    mem.total = bytes;
}
void simt_pinnable(int64_t bytes)
{
    mem.pinnable = bytes;
}
void simt_fail_malloc(int64_t nth)
{
    mem.countdown = nth;
}
void simt_capability(int capability)
{
    mem.capability = capability;
}
void simt_devices(int count)
{
    mem.devices = count;
}
int64_t simt_live(void)
{
    return mem.live;
}
void simt_count_live(int more)
{
    mem.live += more;
}
int simt_allocation_fails(void)
{
    return mem.countdown > 0 && --mem.countdown == 0;
}

void simt_device_visible(int yes)
{
    for (const block *b = mem.blocks; b; b = b->next)
        if (b->pinned) continue;
        else if (yes) SHOW(b->at, b->bytes);
        else HIDE(b->at, b->bytes);
}

/* ---- memory -------------------------------------------------------------------------------- */
static cudaError_t take(void **at, size_t bytes, int pinned)
{
    *at = NULL;
    if (simt_unsafe("an allocation") != cudaSuccess) return cudaErrorStreamCaptureUnsupported;
    if (simt_sticky() != cudaSuccess) return simt_sticky();
    if (bytes == 0) return cudaSuccess;
    if (simt_allocation_fails())
        return simt_fail(cudaErrorMemoryAllocation, 0, "allocation failed on request");
    if (!pinned && (int64_t)bytes > mem.total - mem.used)
        return simt_fail(cudaErrorMemoryAllocation, 0, "device memory is full");
    if (pinned && (int64_t)bytes > mem.pinnable - mem.pinned)
        return simt_fail(cudaErrorMemoryAllocation, 0, "no more host memory can be pinned");
    block *b = malloc(sizeof *b);
    void *memory = NULL; /* not a byte more than was requested: ASan sees what is after it */
    if (b == NULL || posix_memalign(&memory, ALIGN, bytes) != 0) abort();
    memset(memory, 0xff, bytes); /* NaN, and -1 */
    *b = (block){ mem.blocks, memory, bytes, pinned };
    mem.blocks = b;
    mem.live++;
    if (!pinned) mem.used += (int64_t)bytes, HIDE(memory, bytes);
    else mem.pinned += (int64_t)bytes;
    *at = memory;
    return cudaSuccess;
}

/* Waits for the device, as cudaFree does. */
static cudaError_t give(void *at, int pinned)
{
    if (simt_unsafe("a free") != cudaSuccess) return cudaErrorStreamCaptureUnsupported;
    simt_catch_up();
    if (at == NULL) return simt_sticky();
    for (block **link = &mem.blocks; *link; link = &(*link)->next) {
        block *b = *link;
        if (b->at != at || b->pinned != pinned) continue;
        *link = b->next;
        *(pinned ? &mem.pinned : &mem.used) -= (int64_t)b->bytes;
        mem.live--;
        SHOW(b->at, b->bytes);
        free(b->at);
        free(b);
        return simt_sticky();
    }
    return simt_fail(cudaErrorInvalidValue, 0, "freed what was never allocated");
}

cudaError_t cudaMalloc(void **at, size_t bytes)
{
    return take(at, bytes, 0);
}
cudaError_t cudaFree(void *at)
{
    return give(at, 0);
}
cudaError_t cudaHostAlloc(void **at, size_t bytes, unsigned flags)
{
    (void)flags;
    return take(at, bytes, 1);
}
cudaError_t cudaFreeHost(void *at)
{
    return give(at, 1);
}
cudaError_t cudaMemGetInfo(size_t *unused, size_t *total)
{
    *unused = (size_t)(mem.total - mem.used);
    *total = (size_t)mem.total;
    return simt_sticky();
}

int simt_on_device(const void *at, size_t bytes)
{
    for (const block *b = mem.blocks; b; b = b->next)
        if (!b->pinned && (uintptr_t)at >= (uintptr_t)b->at &&
            (uintptr_t)at + bytes <= (uintptr_t)b->at + b->bytes)
            return 1;
    return 0;
}

int simt_is_pinned(const void *at, size_t bytes)
{
    for (const block *b = mem.blocks; b; b = b->next)
        if (b->pinned && (uintptr_t)at >= (uintptr_t)b->at &&
            (uintptr_t)at + bytes <= (uintptr_t)b->at + b->bytes)
            return 1;
    return 0;
}

cudaError_t simt_move_fits(const simt_work *w)
{
    if (w->what == SIMT_FILL)
        return simt_on_device(w->to, w->bytes)
                   ? cudaSuccess
                   : simt_fail(cudaErrorInvalidValue, 0,
                               "a fill of %zu bytes outside device memory", w->bytes);
    if ((w->kind != cudaMemcpyDeviceToHost) != simt_on_device(w->to, w->bytes) ||
        (w->kind != cudaMemcpyHostToDevice) != simt_on_device(w->from, w->bytes))
        return simt_fail(cudaErrorInvalidValue, 0,
                         "a copy of %zu bytes: a pointer is not where its direction says",
                         w->bytes);
    return cudaSuccess;
}

cudaError_t simt_move(const simt_work *w)
{
    if (simt_sticky() != cudaSuccess) return simt_sticky();
    if (simt_move_fits(w) != cudaSuccess) /* it fitted when it was queued: the memory is gone */
        return simt_fail(cudaErrorIllegalAddress, 1,
                         "a queued copy or fill of %zu bytes meets freed memory", w->bytes);
    simt_device_visible(1);
    if (w->what == SIMT_COPY) memmove(w->to, w->from, w->bytes);
    else memset(w->to, w->byte, w->bytes);
    simt_device_visible(0);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    const simt_work work = {
        .what = SIMT_COPY, .name = "a copy", .to = to, .from = from, .bytes = bytes, .kind = kind
    };
    if (simt_sticky() != cudaSuccess) return simt_sticky();
    return bytes == 0 ? cudaSuccess : simt_submit(stream, &work, NULL);
}

cudaError_t cudaMemsetAsync(void *at, int byte, size_t bytes, cudaStream_t stream)
{
    const simt_work work = {
        .what = SIMT_FILL, .name = "a fill", .to = at, .bytes = bytes, .byte = byte
    };
    if (simt_sticky() != cudaSuccess) return simt_sticky();
    return bytes == 0 ? cudaSuccess : simt_submit(stream, &work, NULL);
}

/* ---- devices, errors ----------------------------------------------------------------------- */
/* SIMT_DEVICES=N, SIMT_MEMORY=BYTES, SIMT_LATE=HOW: for programs that no test can call
 * simt_devices, simt_memory and simt_late in. */
static void read_environment(void)
{
    const char *devices = getenv("SIMT_DEVICES"), *memory = getenv("SIMT_MEMORY"),
               *late = getenv("SIMT_LATE");
    if (devices) mem.devices = atoi(devices);
    if (memory) mem.total = atoll(memory);
    if (late) simt_late(atoi(late));
}

cudaError_t cudaGetDeviceCount(int *count)
{
    read_environment();
    *count = mem.devices;
    return mem.devices > 0 ? simt_sticky() : cudaErrorNoDevice;
}
cudaError_t cudaSetDevice(int device)
{
    return device >= 0 && device < mem.devices
               ? simt_sticky()
               : simt_fail(cudaErrorInvalidDevice, 0, "no device %d", device);
}
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr what, int device)
{
    (void)device;
    *value = what == cudaDevAttrMultiProcessorCount      ? 4
             : what == cudaDevAttrComputeCapabilityMajor ? mem.capability / 10
                                                         : mem.capability % 10;
    return simt_sticky();
}
const char *cudaGetErrorName(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return "cudaSuccess";
    case cudaErrorInvalidValue:
        return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
        return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration:
        return "cudaErrorInvalidConfiguration";
    case cudaErrorNoDevice:
        return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice:
        return "cudaErrorInvalidDevice";
    case cudaErrorIllegalAddress:
        return "cudaErrorIllegalAddress";
    case cudaErrorIllegalState:
        return "cudaErrorIllegalState";
    case cudaErrorStreamCaptureUnsupported:
        return "cudaErrorStreamCaptureUnsupported";
    case cudaErrorStreamCaptureInvalidated:
        return "cudaErrorStreamCaptureInvalidated";
    case cudaErrorStreamCaptureIsolation:
        return "cudaErrorStreamCaptureIsolation";
    case cudaErrorCapturedEvent:
        return "cudaErrorCapturedEvent";
    case cudaErrorGraphExecUpdateFailure:
        return "cudaErrorGraphExecUpdateFailure";
    default:
        return "cudaErrorLaunchFailure";
    }
}
const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaSuccess ? "no error"
           : *simt_message()    ? simt_message()
                                : cudaGetErrorName(error);
}
