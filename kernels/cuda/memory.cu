/* memory.cu - device memory through a cache, uploads through pinned memory: two stages, filled
 * piece by piece; the host waits only where it comes back to one whose copies are still on their
 * way. Uploads next to the work have stages and a stream of their own.
 *
 * The cache: blocks are never given back while the backend lives, unless the device runs out; a
 * request takes the smallest kept block that holds it and wastes at most a quarter. All work is on
 * one stream, so a block may be taken again while kernels that used it are still queued; uploads
 * next to the work write what was taken before upload_arrive alone. */
#include "kernels/cuda/plan.h"
#include <stdio.h>
#include <string.h>

static const int64_t ALIGN = 512, LINE = 64;

/* ---- cache --------------------------------------------------------------------------------- */
static void drop_kept(gsa_backend *b)
{
    gsa_cuda_state *s = gsa_cuda_of(b);
    for (gsa_cuda_block **link = &s->blocks; *link;) {
        gsa_cuda_block *block = *link;
        if (block->used) {
            link = &block->next;
            continue;
        }
        *link = block->next;
        cudaFree(block->at);
        gsa_release(b->system, block);
    }
}

static gsa_cuda_block *kept_block(gsa_cuda_state *s, int64_t bytes)
{
    gsa_cuda_block *best = NULL;
    for (gsa_cuda_block *block = s->blocks; block; block = block->next)
        if (!block->used && block->bytes >= bytes && block->bytes - bytes <= block->bytes / 4 &&
            (best == NULL || block->bytes < best->bytes))
            best = block;
    return best;
}

/* From the device; where it is full, once more without what the cache keeps. What is captured may
 * use what is kept: it is launched before. */
static gsa_status fresh_memory(gsa_backend *b, const char *what, int64_t bytes, void **at)
{
    char asked[128];
    GSA_TRY(gsa_cuda_leave_capture(b));
    cudaError_t error = cudaMalloc(at, (size_t)bytes);
    if (error == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        drop_kept(b);
        error = cudaMalloc(at, (size_t)bytes);
    }
    if (error != cudaErrorMemoryAllocation)
        return gsa_cuda_check(b, error, "cudaMalloc", __FILE__, __LINE__);
    snprintf(asked, sizeof asked, "%s: %lld bytes", what, (long long)bytes);
    return gsa_cuda_no_memory(b, asked);
}

static gsa_status check_bytes(gsa_backend *b, const char *op, int64_t bytes)
{
    if (bytes < 0)
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT, "%s: %lld bytes", op, (long long)bytes);
    return GSA_CUDA(b, cudaSuccess); /* a lost device fails here */
}

void *gsa_cuda_take(gsa_backend *b, const char *what, int64_t bytes)
{
    gsa_cuda_state *s = gsa_cuda_of(b);
    if (check_bytes(b, what, bytes) != GSA_OK) return NULL;
    if (bytes > INT64_MAX - ALIGN) bytes = INT64_MAX - ALIGN; /* more than any device has */
    bytes = bytes == 0 ? ALIGN : (bytes + ALIGN - 1) / ALIGN * ALIGN;
    gsa_cuda_block *block = kept_block(s, bytes);
    if (block == NULL) {
        block = (gsa_cuda_block *)gsa_alloc_zero(b->system, 1, sizeof *block);
        if (block == NULL) {
            gsa_out_of_memory(&b->error, what, (int64_t)sizeof *block);
            return NULL;
        }
        if (fresh_memory(b, what, bytes, &block->at) != GSA_OK) {
            gsa_release(b->system, block);
            return NULL;
        }
        gsa_cuda_enter_capture(b);
        block->bytes = bytes;
        block->next = s->blocks;
        s->blocks = block;
    }
    block->used = 1;
    s->in_use += block->bytes;
    return block->at;
}

void gsa_cuda_give(gsa_backend *b, void *at)
{
    gsa_cuda_state *s = gsa_cuda_of(b);
    if (at == NULL) return;
    for (gsa_cuda_block *block = s->blocks; block; block = block->next)
        if (block->at == at && block->used) {
            block->used = 0;
            s->in_use -= block->bytes;
            gsa_cuda_touch_plans(b, at, block->bytes);
            return;
        }
}

void *gsa_cuda_scratch(gsa_backend *b, const char *op, int64_t bytes)
{
    gsa_cuda_state *s = gsa_cuda_of(b);
    if (s->scratch && bytes <= s->scratch_bytes) return s->scratch;
    gsa_cuda_give(b, s->scratch);
    s->scratch = gsa_cuda_take(b, op, bytes), s->scratch_bytes = bytes;
    return s->scratch;
}

static void *cuda_alloc(gsa_backend *b, int64_t bytes)
{
    return gsa_cuda_take(b, "alloc", bytes);
}

/* ---- copies -------------------------------------------------------------------------------- */
static char *stage_of(const gsa_cuda_ring *ring)
{
    return ring->stages + (int64_t)ring->next * GSA_CUDA_STAGE_BYTES + ring->used;
}

/* The stage is full: it may be filled again when what was copied from it has arrived. */
static gsa_status turn_stage(gsa_backend *b, gsa_cuda_ring *ring)
{
    GSA_TRY(gsa_cuda_leave_capture(b));
    GSA_TRY(GSA_CUDA(b, cudaEventRecord(ring->done[ring->next], ring->stream)));
    ring->next = (ring->next + 1) % GSA_CUDA_STAGES;
    GSA_TRY(GSA_CUDA(b, cudaEventSynchronize(ring->done[ring->next])));
    ring->used = 0;
    gsa_cuda_enter_capture(b);
    return GSA_OK;
}

/* What of the stage is not queued yet. */
static gsa_status send_left(gsa_backend *b, gsa_cuda_ring *ring)
{
    const int64_t bytes = ring->left;
    const char *from = stage_of(ring) - bytes;
    ring->left = 0;
    if (bytes == 0) return GSA_OK;
    return GSA_CUDA(
        b, cudaMemcpyAsync(ring->to, from, (size_t)bytes, cudaMemcpyHostToDevice, ring->stream));
}

/* The caller's memory is free again at return; the copy from the pinned stage to the device is only
 * queued, or captured: no byte of the stage is written again before it has arrived. Next to the
 * work whole lines are copied (backend.h), as soon as one comes that does not follow. */
static gsa_status upload_piece(gsa_backend *b, gsa_cuda_ring *ring, char *to, const char *from,
                               int64_t bytes)
{
    const int64_t lines = (bytes + LINE - 1) / LINE * LINE;
    const int beside = ring == &gsa_cuda_of(b)->ahead.ring;
    if (ring->used + lines > GSA_CUDA_STAGE_BYTES || to != ring->to + ring->left)
        GSA_TRY(send_left(b, ring));
    if (ring->used + lines > GSA_CUDA_STAGE_BYTES) GSA_TRY(turn_stage(b, ring));
    char *stage = stage_of(ring);
    ring->used += lines;
    memcpy(stage, from, (size_t)bytes);
    if (ring->left == 0) ring->to = to;
    ring->left += beside ? lines : 0;
    if (beside) return GSA_OK;
    return GSA_CUDA(
        b, cudaMemcpyAsync(to, stage, (size_t)bytes, cudaMemcpyHostToDevice, ring->stream));
}

static gsa_status upload_pieces(gsa_backend *b, gsa_cuda_ring *ring, void *to,
                                const void *from_host, int64_t bytes)
{
    gsa_cuda_touch_plans(b, to, bytes);
    for (int64_t at = 0; at < bytes; at += GSA_CUDA_STAGE_BYTES) {
        const int64_t piece = min(bytes - at, (int64_t)GSA_CUDA_STAGE_BYTES);
        GSA_TRY(upload_piece(b, ring, (char *)to + at, (const char *)from_host + at, piece));
    }
    return GSA_OK;
}

static gsa_status cuda_upload(gsa_backend *b, void *to, const void *from_host, int64_t bytes)
{
    GSA_TRY(check_bytes(b, "upload", bytes));
    gsa_cuda_stream(b);
    return upload_pieces(b, &gsa_cuda_of(b)->ring, to, from_host, bytes);
}

/* ---- uploads next to the work --------------------------------------------------------------- */
gsa_status gsa_cuda_need(gsa_backend *b, cudaStream_t *stream)
{
    if (*stream) return GSA_OK;
    return GSA_CUDA(b, cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
}

gsa_status gsa_cuda_need(gsa_backend *b, cudaEvent_t *event)
{
    return *event ? GSA_OK : GSA_CUDA(b, cudaEventCreateWithFlags(event, cudaEventDisableTiming));
}

static gsa_status open_ring(gsa_backend *b, gsa_cuda_ring *ring)
{
    if (!ring->stages)
        GSA_TRY(GSA_CUDA(b, cudaHostAlloc((void **)&ring->stages,
                                          GSA_CUDA_STAGES * GSA_CUDA_STAGE_BYTES,
                                          cudaHostAllocDefault)));
    for (cudaEvent_t &done : ring->done) GSA_TRY(gsa_cuda_need(b, &done));
    return GSA_OK;
}

static void close_ring(gsa_cuda_ring *ring)
{
    for (cudaEvent_t done : ring->done) gsa_cuda_undo(done);
    if (ring->stages) cudaFreeHost(ring->stages);
}

static gsa_status open_ahead(gsa_backend *b, gsa_cuda_ahead *a)
{
    GSA_TRY(gsa_cuda_need(b, &a->ring.stream));
    GSA_TRY(open_ring(b, &a->ring));
    GSA_TRY(gsa_cuda_need(b, &a->began));
    return gsa_cuda_need(b, &a->arrived);
}

/* What read `to` last was given before `began`, which is recorded outside of captures: another
 * stream must not wait for a captured event. */
static gsa_status cuda_upload_ahead(gsa_backend *b, void *to, const void *from_host, int64_t bytes)
{
    gsa_cuda_ahead *a = &gsa_cuda_of(b)->ahead;
    GSA_TRY(check_bytes(b, "upload_ahead", bytes));
    if (!a->arrived)
        return gsa_fail(&b->error, GSA_ERR_ARGUMENT,
                        "upload_ahead: %lld bytes before any upload_arrive", (long long)bytes);
    if (a->waits) GSA_TRY(GSA_CUDA(b, cudaStreamWaitEvent(a->ring.stream, a->began, 0)));
    a->waits = 0, a->pending = 1;
    return upload_pieces(b, &a->ring, to, from_host, bytes);
}

/* Callers can do without the memory that is requested here, not without work that was dropped on
 * the way: that is another status. */
static gsa_status cuda_upload_arrive(gsa_backend *b)
{
    gsa_cuda_state *s = gsa_cuda_of(b);
    gsa_cuda_ahead *a = &s->ahead;
    const gsa_status left = gsa_cuda_leave_capture(b);
    if (left == GSA_ERR_MEMORY) {
        const gsa_error why = b->error;
        return gsa_fail(&b->error, GSA_ERR_UNSUPPORTED, "what was given before it was dropped: %s",
                        why.text);
    }
    GSA_TRY(left);
    GSA_TRY(check_bytes(b, "upload_arrive", 0));
    const gsa_status opened = a->arrived ? GSA_OK : open_ahead(b, a);
    if (opened != GSA_OK) {
        gsa_cuda_enter_capture(b);
        return opened;
    }
    if (a->pending) {
        GSA_TRY(send_left(b, &a->ring));
        GSA_TRY(GSA_CUDA(b, cudaEventRecord(a->arrived, a->ring.stream)));
        GSA_TRY(GSA_CUDA(b, cudaStreamWaitEvent(gsa_cuda_stream(b), a->arrived, 0)));
        a->pending = 0;
    }
    GSA_TRY(GSA_CUDA(b, cudaEventRecord(a->began, gsa_cuda_stream(b))));
    a->waits = 1;
    gsa_cuda_enter_capture(b);
    return GSA_OK;
}

static void close_ahead(gsa_cuda_state *s)
{
    gsa_cuda_ahead *a = &s->ahead;
    if (a->ring.stream && s->lost == cudaSuccess) cudaStreamSynchronize(a->ring.stream);
    close_ring(&a->ring);
    gsa_cuda_undo(a->began), gsa_cuda_undo(a->arrived), gsa_cuda_undo(a->ring.stream);
}

/* ---- downloads, copies, fills -------------------------------------------------------------- */
/* The numbers that a step reads are few: they and the faults arrive in pinned memory, and the host
 * waits once for both. */
static gsa_status cuda_download(gsa_backend *b, void *to_host, const void *from, int64_t bytes)
{
    const gsa_cuda_state *s = gsa_cuda_of(b);
    const int few = bytes <= (int64_t)GSA_CUDA_LANDING_BYTES;
    void *to = few ? s->landing->bytes : to_host;
    GSA_TRY(check_bytes(b, "download", bytes));
    GSA_TRY(send_left(b, &gsa_cuda_of(b)->ahead.ring)); /* on its way while the host waits */
    GSA_TRY(gsa_cuda_leave_capture(b));
    if (bytes > 0)
        GSA_TRY(GSA_CUDA(b, cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDeviceToHost,
                                            gsa_cuda_stream(b))));
    GSA_TRY(gsa_cuda_ask_faults(b));
    GSA_TRY(GSA_CUDA(b, cudaStreamSynchronize(gsa_cuda_stream(b))));
    if (few && bytes > 0) memcpy(to_host, to, (size_t)bytes);
    const gsa_status status = gsa_cuda_tell_faults(b);
    gsa_cuda_enter_capture(b);
    return status;
}

static gsa_status cuda_copy(gsa_backend *b, void *to, const void *from, int64_t bytes)
{
    GSA_TRY(check_bytes(b, "copy", bytes));
    if (bytes == 0 || to == from) return GSA_OK;
    gsa_cuda_touch_plans(b, to, bytes);
    return GSA_CUDA(
        b, cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDeviceToDevice, gsa_cuda_stream(b)));
}

static gsa_status cuda_zero_fill(gsa_backend *b, void *at, int64_t bytes)
{
    GSA_TRY(check_bytes(b, "zero_fill", bytes));
    if (bytes == 0) return GSA_OK;
    gsa_cuda_touch_plans(b, at, bytes);
    return GSA_CUDA(b, cudaMemsetAsync(at, 0, (size_t)bytes, gsa_cuda_stream(b)));
}

/* ---- open and close ------------------------------------------------------------------------ */
gsa_status gsa_cuda_open_memory(gsa_backend *b)
{
    gsa_cuda_state *s = gsa_cuda_of(b);
    s->ring.stream = s->stream;
    GSA_TRY(open_ring(b, &s->ring));
    GSA_TRY(
        GSA_CUDA(b, cudaHostAlloc((void **)&s->landing, sizeof *s->landing, cudaHostAllocDefault)));
    void *all;
    GSA_TRY(gsa_cuda_lay(
        b, "backend cuda",
        [&](gsa_cuda_room &room) {
            room.cut(s->fault, 1), room.cut(s->zeros, GSA_CUDA_ZEROS);
            room.cut(s->counters, GSA_CUDA_COUNTERS);
        },
        &all));
    GSA_TRY(GSA_CUDA(b, cudaMemsetAsync(s->zeros, 0,
                                        GSA_CUDA_ZEROS * sizeof *s->zeros +
                                            GSA_CUDA_COUNTERS * sizeof *s->counters,
                                        s->stream)));
    return GSA_CUDA(b, cudaMemsetAsync(s->fault, 0xff, sizeof *s->fault, s->stream));
}

void gsa_cuda_close_memory(gsa_backend *b)
{
    gsa_cuda_state *s = gsa_cuda_of(b);
    close_ahead(s);
    for (gsa_cuda_block *block = s->blocks; block; block = block->next) block->used = 0;
    drop_kept(b);
    close_ring(&s->ring);
    cudaFreeHost(s->landing);
    cudaGetLastError();
}

void gsa_cuda_fill_memory(gsa_backend *b)
{
    b->alloc = cuda_alloc;
    b->free = gsa_cuda_give;
    b->upload = cuda_upload;
    b->download = cuda_download;
    b->copy = cuda_copy;
    b->zero_fill = cuda_zero_fill;
    b->upload_ahead = cuda_upload_ahead;
    b->upload_arrive = cuda_upload_arrive;
}
