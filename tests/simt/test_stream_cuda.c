/* Attention on device memory and a stream of the caller's (gsa_cuda_use_stream): what `ref`
 * computes, in the order of the streams, and the host waits for nothing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gsa/attend.h"
#include "kernels/cuda.h"
#include "simt.h"

enum { HEADS = 2, DIM = 8, BUFFERS = 12 };
enum { Q, K, V, R, B, DOUT, OUT, LSE, DQ, DK, DV, DR };
static const int32_t lengths[] = { 40, 0, 7 };
static const gsa_sequences sequences = { .count = 3, .length = lengths };
static int checks, failures;
static gsa_error error;

static void check(int good, const char *what)
{
    checks++;
    if (good) return;
    failures++;
    fprintf(stderr, "FAILED: %s: %s\n", what, error.text);
}

typedef struct world {
    gsa_registry *registry;
    gsa_graph *graph, *twin; /* of the device, of ref */
    gsa_backend *device, *ref;
    gsa_attention a, expected;
    int64_t count[BUFFERS];
    float *at[BUFFERS], *pinned[BUFFERS], *host[BUFFERS]; /* device; its copies; ref's */
} world;

static gsa_attention attention_of(float *const at[BUFFERS])
{
    return (gsa_attention){ .struct_size = sizeof(gsa_attention),
                            .heads = HEADS,
                            .head_dim = DIM,
                            .q = at[Q],
                            .k = at[K],
                            .v = at[V],
                            .key_labels = at[R],
                            .bias = at[B],
                            .dropout = 0.25,
                            .seed = 7,
                            .out = at[OUT],
                            .lse = at[LSE],
                            .dout = at[DOUT],
                            .dq = at[DQ],
                            .dk = at[DK],
                            .dv = at[DV],
                            .dkey_labels = at[DR] };
}

static void open_graph(world *w, gsa_graph **graph)
{
    check(gsa_graph_open(NULL, w->registry, "window:width=5:relative=1", graph, &error) == GSA_OK &&
              gsa_graph_build(*graph, NULL, NULL, &sequences, HEADS, &error) == GSA_OK,
          "the graph");
}

static void open_world(world *w)
{
    check(gsa_registry_create(NULL, &w->registry, &error) == GSA_OK, "the registry");
    open_graph(w, &w->graph), open_graph(w, &w->twin);
    check(gsa_backend_cuda(NULL, GSA_F32, 0, &w->device, &error) == GSA_OK, "cuda");
    check(gsa_backend_open(NULL, "ref", GSA_F32, 1, &w->ref, &error) == GSA_OK, "ref");
    const int64_t rows = gsa_graph_rows(w->graph, 0),
                  labels = gsa_schema_phase(gsa_graph_schema(w->graph), 0)->labels;
    for (int i = 0; i < BUFFERS; i++) {
        w->count[i] = rows * HEADS * DIM;
        if (i == R || i == DR) w->count[i] = labels * DIM;
        if (i == B) w->count[i] = labels * HEADS;
        if (i == LSE) w->count[i] = rows * HEADS;
        const size_t bytes = (size_t)w->count[i] * sizeof(float);
        check(cudaMalloc((void **)&w->at[i], bytes) == cudaSuccess &&
                  cudaHostAlloc((void **)&w->pinned[i], bytes, 0) == cudaSuccess,
              "memory");
        w->host[i] = calloc(1, bytes);
        for (int64_t k = 0; k < w->count[i]; k++)
            w->host[i][k] = w->pinned[i][k] = (float)((k * 37 + i * 11) % 64 - 32) / 32;
    }
    w->a = attention_of(w->at), w->expected = attention_of(w->host);
}

static void close_world(world *w)
{
    gsa_graph_release(w->graph), gsa_graph_release(w->twin);
    gsa_backend_release(w->device), gsa_backend_release(w->ref);
    for (int i = 0; i < BUFFERS; i++)
        cudaFree(w->at[i]), cudaFreeHost(w->pinned[i]), free(w->host[i]);
    gsa_registry_release(w->registry);
}

static void move_inputs(world *w, cudaStream_t stream)
{
    for (int i = Q; i <= DOUT; i++)
        cudaMemcpyAsync(w->at[i], w->pinned[i], (size_t)w->count[i] * sizeof(float),
                        cudaMemcpyHostToDevice, stream);
}

/* From the device, with the stream that the caller waits for. */
static void read(world *w, cudaStream_t stream, int from, int to)
{
    for (int i = from; i <= to; i++) {
        memset(w->pinned[i], 0, (size_t)w->count[i] * sizeof(float));
        cudaMemcpyAsync(w->pinned[i], w->at[i], (size_t)w->count[i] * sizeof(float),
                        cudaMemcpyDeviceToHost, stream);
    }
    cudaStreamSynchronize(stream);
    for (int i = from; i <= to; i++) {
        int far = 0;
        for (int64_t k = 0; k < w->count[i]; k++)
            far += !(fabsf(w->pinned[i][k] - w->host[i][k]) <= 2e-5F);
        checks++;
        if (far) failures++, fprintf(stderr, "FAILED: buffer %d: %d numbers differ\n", i, far);
    }
}

/* Forward on one stream, backward on the other; each stream is chosen before its call. */
static void round_trip(world *w, cudaStream_t first, cudaStream_t second, int warm)
{
    for (int i = OUT; i <= DR; i++)
        cudaMemsetAsync(w->at[i], 0, (size_t)w->count[i] * sizeof(float), first);
    move_inputs(w, first);
    const int64_t waits = simt_waits();
    check(gsa_cuda_use_stream(w->device, first, &error) == GSA_OK, "use_stream");
    check(gsa_attend_forward(w->device, w->graph, &w->a, &error) == GSA_OK, "forward");
    check(!warm || simt_waits() == waits, "forward waits for the device");
    check(gsa_cuda_use_stream(w->device, second, &error) == GSA_OK, "use_stream again");
    check(gsa_attend_backward(w->device, w->graph, &w->a, &error) == GSA_OK, "backward");
    check(!warm || simt_waits() == waits, "backward waits for the device");
    read(w, second, OUT, DR);
}

/* It is refused, as the backend's own stream and as another, and the capture goes on. */
static void a_captured_stream(world *w, cudaStream_t *stream)
{
    static const char sentence[] = "cuda: the stream is being captured: the library's calls are "
                                   "no part of the caller's graphs";
    for (int i = 0; i < 2; i++) {
        cudaGraph_t graph = NULL;
        check(cudaStreamBeginCapture(stream[i], cudaStreamCaptureModeGlobal) == cudaSuccess,
              "capture");
        check(gsa_cuda_use_stream(w->device, stream[i], &error) == GSA_ERR_UNSUPPORTED &&
                  strcmp(error.text, sentence) == 0,
              "a captured stream");
        cudaMemsetAsync(w->at[OUT], 0, 4, stream[i]);
        check(cudaStreamEndCapture(stream[i], &graph) == cudaSuccess && graph, "end of capture");
        cudaGraphDestroy(graph);
    }
    round_trip(w, stream[0], stream[1], 1);
}

int main(void)
{
    static world w;
    cudaStream_t stream[2];
    open_world(&w);
    for (int i = 0; i < 2; i++) cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking);
    check(gsa_attend_forward(w.ref, w.twin, &w.expected, &error) == GSA_OK, "ref forward");
    check(gsa_attend_backward(w.ref, w.twin, &w.expected, &error) == GSA_OK, "ref backward");
    simt_late(SIMT_LATE);
    for (int warm = 0; warm < 2; warm++) round_trip(&w, stream[0], stream[1], warm);
    round_trip(&w, stream[0], NULL, 1); /* the default stream */
    round_trip(&w, NULL, stream[1], 1);
    a_captured_stream(&w, stream);
    check(gsa_cuda_use_graphs(w.device) == GSA_OK, "use_graphs");
    int graphs;
    for (int step = 0; step < 2; step++) {
        w.device->step_begin(w.device);
        checks++,
            failures += (gsa_cuda_use_stream(w.device, stream[0], &error) == GSA_OK) != (step == 0);
        /* the first step is no graph */
        if (step == 0) gsa_cuda_use_stream(w.device, stream[1], &error);
        w.device->step_end(w.device, &graphs);
    }
    check(gsa_cuda_use_stream(w.ref, stream[0], &error) == GSA_ERR_UNSUPPORTED &&
              strcmp(error.text, "backend 'ref' has no streams; only cuda has") == 0,
          "another backend");
    close_world(&w);
    for (int i = 0; i < 2; i++) cudaStreamDestroy(stream[i]);
    simt_late(SIMT_AT_ONCE);
    printf("Checks: %d, Failures: %d\n", checks, failures);
    return failures != 0;
}
