/* backend.cu - opening and closing the backend; errors. */
#include "kernels/cuda.h"
#include "kernels/cuda/library.h"
#include "kernels/cuda/plan.h"
#include <stdio.h>
#include <string.h>

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* An error that stays after it was cleared has taken the whole context with it. */
static int is_sticky(cudaError_t error)
{
    cudaGetLastError();
    return error != cudaErrorMemoryAllocation && cudaFree(NULL) != cudaSuccess;
}

gsa_status gsa_cuda_no_memory(gsa_backend *b, const char *what)
{
    const gsa_cuda_state *s = gsa_cuda_of(b);
    size_t unused = 0, total = 0;
    cudaMemGetInfo(&unused, &total);
    cudaGetLastError();
    return gsa_fail(&b->error, GSA_ERR_MEMORY,
                    "%s asked of device %d, which has %lld bytes free of %lld; %lld are in use by "
                    "this backend",
                    what, s->device, (long long)unused, (long long)total, (long long)s->in_use);
}

gsa_status gsa_cuda_check(gsa_backend *b, cudaError_t error, const char *expression,
                          const char *file, int line)
{
    gsa_cuda_state *s = gsa_cuda_of(b);
    char what[512];
    if (s->lost != cudaSuccess) {
        b->error = s->loss;
        return s->loss.status;
    }
    if (s->late.status != GSA_OK) {
        b->error = s->late;
        s->late.status = GSA_OK;
        return b->error.status;
    }
    if (error == cudaSuccess) return gsa_cuda_count_call(b);
    snprintf(what, sizeof what, "cuda: %s at %s:%d: %s (%s)", expression, file_name(file), line,
             cudaGetErrorString(error), cudaGetErrorName(error));
    const int dropped = gsa_cuda_drop_capture(b);
    if (is_sticky(error)) {
        s->lost = error;
        gsa_fail(&s->loss, GSA_ERR_DEVICE, "%s: the device is lost; nothing was read from it since",
                 what);
        b->error = s->loss;
        return GSA_ERR_DEVICE;
    }
    if (error == cudaErrorMemoryAllocation) gsa_cuda_no_memory(b, what);
    else gsa_fail(&b->error, GSA_ERR_UNSUPPORTED, "%s", what);
    if (dropped) gsa_cuda_keep_dropped(b);
    return b->error.status;
}

int64_t gsa_cuda_blocks(gsa_backend *b, const char *op, int64_t count, int64_t per_block)
{
    const int64_t blocks = count / per_block + (count % per_block != 0);
    if (blocks <= INT32_MAX) return blocks;
    gsa_fail(&b->error, GSA_ERR_LIMIT,
             "%s: %lld items need %lld blocks, at most 2147483647 fit a grid", op, (long long)count,
             (long long)blocks);
    return -1;
}

/* ---- faults -------------------------------------------------------------------------------- */
gsa_cuda_watch gsa_cuda_suspect(gsa_backend *b, int code)
{
    gsa_cuda_state *s = gsa_cuda_of(b);
    const uint32_t serial = ++s->serial & 0xfffff;
    return gsa_cuda_watch{ s->fault, (unsigned long long)(serial << 3 | (uint32_t)code) << 40 };
}

static const gsa_cuda_fault NO_FAULT = ~0ull;

gsa_status gsa_cuda_ask_faults(gsa_backend *b)
{
    gsa_cuda_state *s = gsa_cuda_of(b);
    s->landing->fault = NO_FAULT;
    if (s->serial == 0) return GSA_OK;
    return GSA_CUDA(b, cudaMemcpyAsync(&s->landing->fault, s->fault, sizeof *s->fault,
                                       cudaMemcpyDeviceToHost, gsa_cuda_stream(b)));
}

gsa_status gsa_cuda_tell_faults(gsa_backend *b)
{
    static const char *const ops[] = { "",
                                       "gather_forward: id",
                                       "gather_backward: id",
                                       "cross_entropy: target",
                                       "crf: offset of sequence",
                                       "crf: target",
                                       "segment_entropy: target of segment" };
    gsa_cuda_state *s = gsa_cuda_of(b);
    const gsa_cuda_fault key = s->landing->fault;
    s->serial = 0;
    if (key == NO_FAULT) return GSA_OK;
    GSA_TRY(GSA_CUDA(b, cudaMemsetAsync(s->fault, 0xff, sizeof *s->fault, gsa_cuda_stream(b))));
    return gsa_fail(&b->error, GSA_ERR_ARGUMENT,
                    "%s %lld is outside its range (found on the device, reported at this download)",
                    ops[key >> 40 & 7], (long long)(key & 0xffffffffffull));
}

/* ---- open and close ------------------------------------------------------------------------ */
static void cuda_release(gsa_backend *b)
{
    const gsa_system *system = b->system;
    gsa_cuda_state *s = gsa_cuda_of(b);
    gsa_cuda_close_steps(b);
    if (s->own && s->lost == cudaSuccess) cudaStreamSynchronize(s->stream);
    gsa_cuda_close_aside(b);
    gsa_cuda_forget_plans(b);
    gsa_cuda_sparse_close(b);
    gsa_cuda_library_close(b);
    gsa_release(system, s->products);
    gsa_cuda_close_memory(b);
    gsa_cuda_undo(s->own);
    gsa_release(system, s);
    gsa_release(system, b);
}

int gsa_cuda_is(const gsa_backend *b)
{
    return b->release == cuda_release;
}

static gsa_status find_device(gsa_backend *b, int device)
{
    gsa_cuda_state *s = gsa_cuda_of(b);
    int count = 0, major = 0, minor = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess || count == 0) {
        cudaGetLastError();
        return gsa_fail(&b->error, GSA_ERR_UNSUPPORTED, "cuda: no device: %s",
                        status == cudaSuccess ? "the driver lists none"
                                              : cudaGetErrorString(status));
    }
    if (device < 0 || device >= count)
        return gsa_fail(&b->error, GSA_ERR_UNSUPPORTED, "cuda: device %d, expected 0 to %d", device,
                        count - 1);
    s->device = device;
    GSA_TRY(GSA_CUDA(b, cudaSetDevice(device)));
    GSA_TRY(GSA_CUDA(b, cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device)));
    GSA_TRY(GSA_CUDA(b, cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device)));
    s->capability = 10 * major + minor;
    if (s->capability < 75)
        return gsa_fail(&b->error, GSA_ERR_UNSUPPORTED,
                        "cuda: device %d has compute capability %d.%d, at least 7.5 is needed",
                        device, major, minor);
    snprintf(s->name, sizeof s->name, "cuda (device %d, sm_%d)", device, s->capability);
    return GSA_OK;
}

static gsa_status open_device(gsa_backend *b, int device)
{
    gsa_cuda_state *s = gsa_cuda_of(b);
    GSA_TRY(find_device(b, device));
    s->tuning = &gsa_cuda_tuned;
    GSA_TRY(gsa_cuda_need(b, &s->own));
    s->stream = s->own;
    GSA_TRY(gsa_cuda_open_memory(b));
    GSA_TRY(gsa_cuda_open_products(b));
    return gsa_cuda_library_open(b);
}

static void fill_table(gsa_backend *b)
{
    gsa_cuda_fill_memory(b);
    gsa_cuda_fill_aggregate(b);
    gsa_cuda_fill_aside(b);
    gsa_cuda_fill_attend(b);
    gsa_cuda_fill_crf(b);
    gsa_cuda_fill_elements(b);
    gsa_cuda_fill_gemm(b);
    gsa_cuda_fill_loss(b);
    gsa_cuda_fill_optim(b);
    gsa_cuda_fill_pool(b);
    gsa_cuda_fill_reduce(b);
    gsa_cuda_fill_rows(b);
}

/* The stream `to` waits for what was queued before. */
static gsa_status queue_behind(gsa_backend *b, cudaStream_t to)
{
    cudaEvent_t before = NULL;
    GSA_TRY(gsa_cuda_need(b, &before));
    gsa_status status = GSA_CUDA(b, cudaEventRecord(before, gsa_cuda_stream(b)));
    if (status == GSA_OK) status = GSA_CUDA(b, cudaStreamWaitEvent(to, before, 0));
    cudaEventDestroy(before);
    return status;
}

static gsa_status use_stream(gsa_backend *b, cudaStream_t to)
{
    gsa_cuda_state *s = gsa_cuda_of(b);
    cudaStreamCaptureStatus captured = cudaStreamCaptureStatusNone;
    GSA_TRY(GSA_CUDA(b, cudaSetDevice(s->device)));
    if (gsa_cuda_in_step(b))
        return to == s->stream ? GSA_OK
                               : gsa_fail(&b->error, GSA_ERR_ARGUMENT,
                                          "cuda: the stream cannot change within a step of graphs");
    /* A replay would use scratch memory that is another call's by then. */
    GSA_TRY(GSA_CUDA(b, cudaStreamIsCapturing(to, &captured)));
    if (captured != cudaStreamCaptureStatusNone)
        return gsa_fail(&b->error, GSA_ERR_UNSUPPORTED,
                        "cuda: the stream is being captured: the library's calls are no part of "
                        "the caller's graphs");
    if (to == s->stream) return GSA_OK;
    GSA_TRY(queue_behind(b, to));
    const cudaStream_t before = s->stream;
    s->stream = s->ring.stream = to;
    const gsa_status status = gsa_cuda_library_follow(b);
    if (status == GSA_OK) return GSA_OK;
    const gsa_error why = b->error; /* nothing of the switch stays */
    s->stream = s->ring.stream = before;
    gsa_cuda_library_follow(b);
    b->error = why;
    return status;
}

extern "C" gsa_status gsa_cuda_use_stream(gsa_backend *b, void *stream, gsa_error *error)
{
    if (!gsa_cuda_is(b))
        return gsa_fail(error, GSA_ERR_UNSUPPORTED, "backend '%s' has no streams; only cuda has",
                        b->name);
    const gsa_status status = use_stream(b, (cudaStream_t)stream);
    if (status != GSA_OK && error) *error = b->error;
    return status;
}

extern "C" int gsa_cuda_is_built(void)
{
    return 1;
}

extern "C" int gsa_cuda_devices(void)
{
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    cudaGetLastError();
    return status == cudaSuccess ? count : 0;
}

extern "C" gsa_status gsa_backend_cuda(const gsa_system *system, int real, int device,
                                       gsa_backend **backend, gsa_error *error)
{
    if (real != GSA_F32)
        return gsa_fail(error, GSA_ERR_UNSUPPORTED,
                        "backend cuda: real type %d; only float (%d) runs on a device", real,
                        GSA_F32);
    if (system == NULL) system = gsa_system_default();
    gsa_backend *b = (gsa_backend *)gsa_alloc_zero(system, 1, sizeof *b);
    gsa_cuda_state *s = (gsa_cuda_state *)gsa_alloc_zero(system, 1, sizeof *s);
    if (b == NULL || s == NULL) {
        gsa_release(system, b);
        gsa_release(system, s);
        return gsa_out_of_memory(error, "backend cuda", (int64_t)(sizeof *b + sizeof *s));
    }
    b->struct_size = sizeof *b;
    b->real = GSA_F32;
    b->real_bytes = 4;
    b->threads = 1;
    b->name = s->name;
    b->system = system;
    b->state = s;
    b->release = cuda_release;
    fill_table(b);
    const gsa_status status = open_device(b, device);
    if (status == GSA_OK) {
        *backend = b;
        return GSA_OK;
    }
    if (error) *error = b->error;
    cuda_release(b);
    return status;
}

extern "C" gsa_status gsa_cuda_choose_attention(gsa_backend *b, int attention)
{
    static const char *const said[] = { "", ", attention by cuSPARSE", ", in tf32", ", in bf16" };
    if (!gsa_cuda_is(b))
        return gsa_fail(&b->error, GSA_ERR_UNSUPPORTED,
                        "backend '%s' has one way to attend; only cuda has a choice", b->name);
    if (attention < GSA_CUDA_FUSED || attention > GSA_CUDA_BF16)
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT,
                        "attention %d, expected %d (float), %d (cuSPARSE), %d (tf32) or %d (bf16)",
                        attention, (int)GSA_CUDA_FUSED, (int)GSA_CUDA_CUSPARSE, (int)GSA_CUDA_TF32,
                        (int)GSA_CUDA_BF16);
    gsa_cuda_state *s = gsa_cuda_of(b);
    if (attention == GSA_CUDA_TF32 && s->capability < 80)
        return gsa_fail(&b->error, GSA_ERR_UNSUPPORTED,
                        "%s: products of tf32 need a device of sm_80 or later", s->name);
    if (attention == GSA_CUDA_CUSPARSE) {
        GSA_TRY(gsa_cuda_sparse_open(b));
        gsa_cuda_fill_attend_sparse(b);
    } else gsa_cuda_fill_attend(b);
    s->attention = attention;
    snprintf(s->name, sizeof s->name, "cuda (device %d, sm_%d)%s", s->device, s->capability,
             said[attention]);
    return GSA_OK;
}
