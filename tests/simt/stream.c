/* stream.c - streams, events and graphs of the executor. What a stream is given runs at once, or
 * late (simt_late), when somebody waits for it, the host or another stream; while it is captured
 * nothing runs: launches, copies and fills are kept with their arguments, and a graph's launch runs
 * them. A call that a device forbids during a capture fails as there and invalidates it; stricter
 * than a device: in every mode of capture, and copies from memory that is not pinned are
 * refused. */
#include "simt.h"
#include <stdlib.h>

typedef struct work_list {
    simt_work *first, **end; /* end: NULL while empty */
    size_t count;
} work_list;

struct simt_stream {
    struct simt_stream *next;
    work_list pending, captured;
    uint64_t queued, done; /* how many works it was given, and how many of them ran */
    int capturing, invalid;
    int first; /* of those that live: the one that SIMT_BEHIND makes late */
};
struct simt_event {
    cudaStream_t stream;
    uint64_t upto;
    int captured;
};
struct simt_graph {
    work_list works;
};

static struct queues {
    cudaStream_t streams;
    int late, refusals;
    int64_t until_invalid, waits, graphs;
    void (*seen)(void *context, const simt_work *work);
    void *context;
} q;

void simt_watch(void (*seen)(void *context, const simt_work *work), void *context)
{
    q.seen = seen, q.context = context;
}

int64_t simt_waits(void)
{
    return q.waits;
}

int64_t simt_graphs(void)
{
    return q.graphs;
}

void simt_late(int how)
{
    simt_catch_up();
    q.late = how;
}
void simt_refuse_updates(int count)
{
    q.refusals = count;
}
void simt_invalidate(int64_t nth)
{
    q.until_invalid = nth;
}

static void *or_die(void *memory)
{
    if (memory == NULL) abort();
    return memory;
}

/* ---- works --------------------------------------------------------------------------------- */
enum { CLOSURE = (sizeof(simt_work) + 15) / 16 * 16 }; /* where a kept work's closure follows it */

static const void *closure_of(const simt_work *work)
{
    return (const char *)work + CLOSURE;
}

static void append(work_list *list, const simt_work *work, const void *closure)
{
    simt_work *kept = or_die(malloc(CLOSURE + work->size));
    *kept = *work;
    kept->next = NULL;
    if (work->size > 0 && closure) memcpy((char *)kept + CLOSURE, closure, work->size);
    if (list->end == NULL) list->end = &list->first;
    *list->end = kept;
    list->end = &kept->next;
    list->count++;
}

static void clear(work_list *list)
{
    while (list->first) {
        simt_work *work = list->first;
        list->first = work->next;
        free(work);
    }
    *list = (work_list){ 0 };
}

static void run_until(cudaStream_t stream, uint64_t upto);

static cudaError_t run(const simt_work *work, const void *closure)
{
    if (simt_sticky() != cudaSuccess) return simt_sticky();
    if (work->what == SIMT_WAIT) {
        run_until(work->to, work->bytes);
        return simt_sticky();
    }
    if (work->what != SIMT_CALL) return simt_move(work);
    if (work->block > 0)
        return simt_launch(work->grid, work->block, work->name, work->call, closure);
    simt_device_visible(1);
    work->call(closure);
    simt_device_visible(0);
    return cudaSuccess;
}

static void run_until(cudaStream_t stream, uint64_t upto)
{
    while (stream->done < upto && stream->pending.first) {
        simt_work *work = stream->pending.first;
        stream->pending.first = work->next;
        if (stream->pending.first == NULL) stream->pending.end = NULL;
        stream->done++;
        run(work, closure_of(work));
        free(work);
    }
}

void simt_catch_up(void)
{
    for (cudaStream_t s = q.streams; s; s = s->next) run_until(s, s->queued);
}

static cudaError_t invalidate(cudaStream_t stream, const char *what)
{
    stream->invalid = 1;
    return simt_fail(cudaErrorStreamCaptureUnsupported, 0, "%s while a stream is captured", what);
}

cudaError_t simt_unsafe(const char *call)
{
    for (cudaStream_t s = q.streams; s; s = s->next)
        if (s->capturing) return invalidate(s, call);
    return cudaSuccess;
}

static int is_pageable(const simt_work *work)
{
    if (work->what != SIMT_COPY || work->kind == cudaMemcpyDeviceToDevice) return 0;
    return !simt_is_pinned(work->kind == cudaMemcpyHostToDevice ? work->from : work->to,
                           work->bytes);
}

static cudaError_t capture(cudaStream_t stream, const simt_work *work, const void *closure)
{
    if (stream->invalid)
        return simt_fail(cudaErrorStreamCaptureInvalidated, 0,
                         "%s: the capture was invalidated before", work->name);
    if (is_pageable(work)) return invalidate(stream, "a copy of memory that is not pinned");
    if (q.until_invalid > 0 && --q.until_invalid == 0)
        return invalidate(stream, "a call that is invalid on request");
    append(&stream->captured, work, closure);
    return cudaSuccess;
}

static cudaError_t enqueue(cudaStream_t stream, const simt_work *work, const void *closure)
{
    if (stream && q.late && (stream->first || q.late != SIMT_BEHIND) && !is_pageable(work)) {
        append(&stream->pending, work, closure);
        stream->queued++;
        return cudaSuccess;
    }
    if (stream) run_until(stream, stream->queued);
    return run(work, closure);
}

cudaError_t simt_submit(cudaStream_t stream, const simt_work *work, const void *closure)
{
    const cudaError_t fits = work->what != SIMT_CALL ? simt_move_fits(work)
                             : work->block > 0
                                 ? simt_launch_fits(work->grid, work->block, work->name)
                                 : simt_sticky();
    if (fits != cudaSuccess) return fits;
    if (q.seen) q.seen(q.context, work);
    return stream && stream->capturing ? capture(stream, work, closure)
                                       : enqueue(stream, work, closure);
}

/* ---- streams and events -------------------------------------------------------------------- */
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    (void)flags;
    *stream = or_die(calloc(1, sizeof **stream));
    (*stream)->first = q.streams == NULL;
    (*stream)->next = q.streams;
    q.streams = *stream;
    simt_count_live(1);
    return simt_sticky();
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    run_until(stream, stream->queued);
    for (cudaStream_t *link = &q.streams; *link; link = &(*link)->next)
        if (*link == stream) {
            *link = stream->next;
            break;
        }
    clear(&stream->pending);
    clear(&stream->captured);
    free(stream);
    simt_count_live(-1);
    return simt_sticky();
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    if (stream && stream->capturing) return invalidate(stream, "cudaStreamSynchronize");
    q.waits++;
    if (stream) run_until(stream, stream->queued);
    return simt_sticky();
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    (void)flags;
    *event = or_die(calloc(1, sizeof **event));
    simt_count_live(1);
    return simt_sticky();
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    free(event);
    simt_count_live(-1);
    return simt_sticky();
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    *event = stream ? (struct simt_event){ stream, stream->queued, stream->capturing }
                    : (struct simt_event){ 0 }; /* what the default stream is given runs at once */
    return simt_sticky();
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    if (event->captured) {
        simt_unsafe("cudaEventSynchronize of a captured event");
        return simt_fail(cudaErrorCapturedEvent, 0, "waits for an event that a capture holds");
    }
    if (simt_unsafe("cudaEventSynchronize") != cudaSuccess)
        return cudaErrorStreamCaptureUnsupported;
    q.waits++;
    if (event->stream) run_until(event->stream, event->upto);
    return simt_sticky();
}

/* What the stream is given from now on runs after what was before the event's record. */
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)flags;
    if (simt_sticky() != cudaSuccess) return simt_sticky();
    if (event->captured || (stream && stream->capturing)) {
        simt_unsafe("cudaStreamWaitEvent");
        return simt_fail(cudaErrorStreamCaptureIsolation, 0,
                         "a stream waits for an event across the bounds of a capture");
    }
    if (event->stream == NULL) return cudaSuccess;
    const simt_work work = {
        .what = SIMT_WAIT, .name = "a wait", .to = event->stream, .bytes = event->upto
    };
    return enqueue(stream, &work, NULL);
}

/* ---- capture ------------------------------------------------------------------------------- */
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    (void)mode;
    if (simt_sticky() != cudaSuccess) return simt_sticky();
    if (stream == NULL || stream->capturing)
        return simt_fail(cudaErrorIllegalState, 0, "the stream cannot be captured");
    stream->capturing = 1, stream->invalid = 0;
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    *status =
        stream && stream->capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return simt_sticky();
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    *graph = NULL;
    if (stream == NULL || !stream->capturing)
        return simt_fail(cudaErrorIllegalState, 0, "the stream is not captured");
    const int invalid = stream->invalid;
    work_list works = stream->captured;
    stream->capturing = stream->invalid = 0;
    stream->captured = (work_list){ 0 };
    if (invalid || simt_sticky() != cudaSuccess) {
        clear(&works);
        return invalid && simt_sticky() == cudaSuccess
                   ? simt_fail(cudaErrorStreamCaptureInvalidated, 0,
                               "the capture was invalidated before its end")
                   : simt_sticky();
    }
    *graph = or_die(calloc(1, sizeof **graph));
    (*graph)->works = works;
    simt_count_live(1);
    return cudaSuccess;
}

/* ---- graphs: lists of works ---------------------------------------------------------------- */
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    (void)nodes;
    *count = graph->works.count;
    return simt_sticky();
}

static void copy_works(work_list *to, const work_list *from)
{
    for (const simt_work *work = from->first; work; work = work->next)
        append(to, work, closure_of(work));
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph,
                                          unsigned long long flags)
{
    (void)flags;
    *exec = NULL;
    if (simt_sticky() != cudaSuccess) return simt_sticky();
    if (simt_allocation_fails())
        return simt_fail(cudaErrorMemoryAllocation, 0,
                         "no memory for an executable graph, on request");
    *exec = or_die(calloc(1, sizeof **exec));
    copy_works(&(*exec)->works, &graph->works);
    simt_count_live(1);
    q.graphs++;
    return cudaSuccess;
}

/* Kernels may become others, copies keep their direction. */
static int same_topology(const work_list *a, const work_list *b)
{
    const simt_work *x = a->first, *y = b->first;
    for (; x && y; x = x->next, y = y->next)
        if (x->what != y->what || (x->what == SIMT_COPY && x->kind != y->kind)) return 0;
    return x == NULL && y == NULL;
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo *info)
{
    *info = (cudaGraphExecUpdateResultInfo){ 0 };
    if (simt_sticky() != cudaSuccess) return simt_sticky();
    const int refused = q.refusals > 0 && q.refusals--;
    if (refused || !same_topology(&exec->works, &graph->works)) {
        info->result = 1;
        return simt_fail(cudaErrorGraphExecUpdateFailure, 0, "the graph's topology changed");
    }
    clear(&exec->works);
    copy_works(&exec->works, &graph->works);
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    if (simt_sticky() != cudaSuccess) return simt_sticky();
    if (stream == NULL || stream->capturing)
        return simt_fail(cudaErrorStreamCaptureUnsupported, 0,
                         "a graph is launched into a capture");
    for (const simt_work *work = exec->works.first; work; work = work->next) {
        const cudaError_t error = enqueue(stream, work, closure_of(work));
        if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    clear(&exec->works);
    free(exec);
    simt_count_live(-1);
    return simt_sticky();
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    return cudaGraphExecDestroy(graph);
}
