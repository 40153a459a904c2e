/* gpu_bench - attention on a device over a fixed grid of patterns: time by events, bytes, the share
 * of the floor and which term binds; without labels by cuSPARSE, and how far that is from the
 * first. One JSON object a line on stdout. It needs no library beyond CUDA; `gsa bench kernel`
 * measures the same through the command.
 *
 * Exits 1 when a version fails or is too far from the fused kernels, 77 without a device.
 *
 *   gpu_bench [--quick] [CASE...]     all cases without a name; --quick: a fourth of them
 *   gpu_bench --list [--quick]        their names
 *   gpu_bench --edges CASE FILE  without a device: what each phase of one example reads, for the
 *       peers: phase, rows, sources, edges (64 bits each), then the row of each edge, then the
 *       source, among all kinds (32 bits each)
 *
 * Floor (fp32, s = 4; D = heads x head_dim; Nd rows, Ns sources, E edges, I bytes of the run
 * index):
 *   forward  s D (2 Nd + 2 Ns) + 4 Nd H + I;  backward  s D (5 Nd + 4 Ns) + 8 Nd H + 2 I + 4 E,
 *            over the rate of a
 * copy measured here, and 4 E D (10 E D) operations over the card's fp32 rate; what is printed
 * binds is the larger. Gathers that leave the second-level cache are not in it. */
#include "graph/batch.h"
#include "kernels/cuda.h"
#include "kernels/cuda/state.h"
#include "topologies/pattern.h"
#include "topologies/spec.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bench_case {
    const char *spec;
    int32_t length, examples, heads, dim;
};
static const bench_case cases[] = {
    { "star", 32, 64, 8, 64 },
    { "star", 32768, 1, 8, 64 },
    { "ring", 32768, 1, 8, 64 },
    { "window:width=5", 32768, 1, 8, 64 },
    { "window:width=33", 4096, 8, 8, 64 },
    { "window:width=257", 4096, 8, 8, 64 },
    { "bpt:k=4", 512, 32, 8, 64 },
    { "bpt:k=4", 2048, 8, 8, 64 },
    { "bpt:k=4", 32768, 1, 8, 64 },
    { "bpt:k=64:causal", 8192, 1, 8, 64 },
    { "full", 512, 8, 8, 64 },
    { "star", 32768, 1, 10, 10 },
    { "star", 32768, 1, 6, 50 },
    { "window:width=5", 32768, 1, 3, 100 },
};
enum { CASES = sizeof cases / sizeof *cases, CALLS = 20, ROUNDS = 7 };

/* "window-width-5-32768x1-8x64" */
static const char *case_name(const bench_case *at, char name[128])
{
    snprintf(name, 128, "%s-%dx%d-%dx%d", at->spec, at->length, at->examples, at->heads, at->dim);
    for (char *c = name; *c; c++)
        if (*c == ':' || *c == '=') *c = '-';
    return name;
}

static void stop(const char *what)
{
    fprintf(stderr, "gpu_bench: %s\n", what);
    exit(1);
}

static void must(gsa_backend *b, gsa_status status)
{
    if (status != GSA_OK) stop(b->error.text);
}

static void *numbers(gsa_backend *b, int64_t count, unsigned seed)
{
    float *host = (float *)malloc(sizeof(float) * (size_t)(count + 1));
    void *at = b->alloc(b, count * 4);
    if (!host || !at) stop(at ? "no host memory" : b->error.text);
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        host[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
    }
    must(b, b->upload(b, at, host, count * 4));
    free(host);
    return at;
}

/* A version that a card cannot run is no failure; one that fails otherwise, or is too far from the
 * fused kernels, is. */
static int failures;

static int ascending(const void *a, const void *b)
{
    return (*(const float *)a > *(const float *)b) - (*(const float *)a < *(const float *)b);
}

/* Median milliseconds of one call. */
static double time_op(gsa_backend *b, gsa_status (*op)(gsa_backend *, const gsa_attend_args *),
                      const gsa_attend_args *args)
{
    cudaStream_t stream = gsa_cuda_of(b)->stream;
    cudaEvent_t from, to;
    float all[ROUNDS];
    cudaEventCreate(&from), cudaEventCreate(&to);
    for (int i = 0; i < 3; i++) must(b, op(b, args));
    for (int round = 0; round < ROUNDS; round++) {
        cudaEventRecord(from, stream);
        for (int i = 0; i < CALLS; i++) must(b, op(b, args));
        cudaEventRecord(to, stream);
        cudaEventSynchronize(to);
        cudaEventElapsedTime(&all[round], from, to);
    }
    cudaEventDestroy(from), cudaEventDestroy(to);
    qsort(all, ROUNDS, sizeof *all, ascending);
    return (double)all[ROUNDS / 2] / CALLS;
}

/* Bytes a second of a large copy, read and written. */
static double copy_rate(gsa_backend *b)
{
    const int64_t bytes = INT64_C(1) << 30;
    void *from = b->alloc(b, bytes), *to = b->alloc(b, bytes);
    cudaStream_t stream = gsa_cuda_of(b)->stream;
    cudaEvent_t start, end;
    float ms = 0;
    if (!from || !to) stop(b->error.text);
    cudaEventCreate(&start), cudaEventCreate(&end);
    for (int i = 0; i < 12; i++) {
        if (i == 2) cudaEventRecord(start, stream);
        must(b, b->copy(b, to, from, bytes));
    }
    cudaEventRecord(end, stream);
    cudaEventSynchronize(end);
    cudaEventElapsedTime(&ms, start, end);
    b->free(b, from), b->free(b, to);
    return 10 * 2 * (double)bytes / ((double)ms * 1e-3);
}

/* Rows of 256 bytes (a head of 64 columns in float), read by warps in an order without locality. */
static __global__ void gather_rows(const float2 *table, unsigned mask, unsigned reads, float *sums)
{
    const unsigned lane = threadIdx.x % 32, warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    unsigned at = warp * 2654435761u + 12345u;
    float sum = 0;
    for (unsigned i = 0; i < reads; i += 4) { /* four loads under way at once */
        float2 x[4];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            at = at * 1664525u + 1013904223u;
            x[j] = table[(size_t)((at >> 7) & mask) * 32 + lane];
        }
#pragma unroll
        for (int j = 0; j < 4; j++) sum += x[j].x + x[j].y;
    }
    sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/* Bytes a second that gathers of whole rows reach from a table of so many rows: what attention over
 * scattered edges cannot pass. 2^16 rows (16 MiB) stay in the second-level cache of the cards that
 * count, 2^22 (1 GiB) do not. */
static double gather_rate(gsa_backend *b, unsigned rows)
{
    enum { BLOCK = 256, READS = 512 };
    int processors = 0;
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
    const unsigned blocks = 8 * (unsigned)processors;
    void *table = b->alloc(b, (int64_t)rows * 256),
         *sums = b->alloc(b, (int64_t)blocks * BLOCK * 4);
    cudaStream_t stream = gsa_cuda_of(b)->stream;
    cudaEvent_t start, end;
    float ms = 0;
    if (!table || !sums) stop(b->error.text);
    must(b, b->zero_fill(b, table, (int64_t)rows * 256));
    cudaEventCreate(&start), cudaEventCreate(&end);
    for (int i = 0; i < 6; i++) {
        if (i == 1) cudaEventRecord(start, stream);
        gather_rows<<<blocks, BLOCK, 0, stream>>>((const float2 *)table, rows - 1, READS,
                                                  (float *)sums);
    }
    cudaEventRecord(end, stream);
    if (cudaEventSynchronize(end) != cudaSuccess) stop("the gathers failed");
    cudaEventElapsedTime(&ms, start, end);
    cudaEventDestroy(start), cudaEventDestroy(end);
    b->free(b, table), b->free(b, sums);
    return 5.0 * blocks * (BLOCK / 32) * READS * 256 / ((double)ms * 1e-3);
}

struct card {
    char name[256];
    double copy, flops, near, far; /* gathers from the second-level cache, and from beyond */
};

static card measure_card(gsa_backend *b)
{
    cudaDeviceProp p;
    card found = {};
    int clock = 0;
    cudaGetDeviceProperties(&p, 0);
    cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0);
    snprintf(found.name, sizeof found.name, "%s", p.name);
    found.copy = copy_rate(b);
    found.near = gather_rate(b, 1u << 16), found.far = gather_rate(b, 1u << 22);
    found.flops = 2.0 * 128 * p.multiProcessorCount * clock * 1e3;
    return found;
}

static void print_row(const card *c, const bench_case *at, int phase, const gsa_edges *e,
                      const char *version, const char *pass, double ms, double bytes, double flops)
{
    const double by_bytes = bytes / c->copy * 1e3, by_flops = flops / c->flops * 1e3,
                 floor = by_bytes > by_flops ? by_bytes : by_flops;
    printf("{\"spec\": \"%s\", \"length\": %d, \"examples\": %d, \"heads\": %d, \"head_dim\": %d, "
           "\"phase\": %d, "
           "\"version\": \"%s\", \"pass\": \"%s\", \"rows\": %lld, "
           "\"edges\": %lld, \"runs\": %lld, \"ms\": %.5f, \"floor_ms\": %.5f, \"share\": %.4f, "
           "\"binds\": \"%s\", "
           "\"bytes\": %.0f, "
           "\"gather_gb_s\": %.1f, \"gflop_s\": %.1f}\n",
           at->spec, at->length, at->examples, at->heads, at->dim, phase, version, pass,
           (long long)e->rows, (long long)e->edge_total, (long long)e->run_total, ms, floor,
           floor / ms, by_bytes > by_flops ? "bytes" : "flops", bytes,
           8e-6 * (double)e->edge_total * at->heads * at->dim / ms, flops * 1e-6 / ms);
}

/* What both versions of attention move and compute at least. */
struct work {
    double bytes[2], flops[2]; /* forward, backward */
};

static void time_both(gsa_backend *b, const card *c, const bench_case *at, int phase,
                      const gsa_attend_args *a, const char *version, const work *w)
{
    const gsa_edges *e = a->edges;
    print_row(c, at, phase, e, version, "forward", time_op(b, b->attend_forward, a), w->bytes[0],
              w->flops[0]);
    print_row(c, at, phase, e, version, "backward", time_op(b, b->attend_backward, a), w->bytes[1],
              w->flops[1]);
}

static float *run_once(gsa_backend *b, const gsa_attend_args *a, int64_t count)
{
    float *host = (float *)malloc(sizeof(float) * (size_t)(count + 1));
    if (host == NULL) stop("no host memory");
    if (b->attend_forward(b, a) == GSA_OK && b->download(b, host, a->out, count * 4) == GSA_OK)
        return host;
    free(host);
    return NULL;
}

/* Sum of squared gaps over the sum of squares. */
static double nmse(const float *x, const float *wanted, int64_t count)
{
    double gap = 0, all = 0;
    for (int64_t i = 0; i < count; i++) {
        const double d = (double)x[i] - (double)wanted[i];
        gap += d * d, all += (double)wanted[i] * (double)wanted[i];
    }
    return all > 0 ? gap / all : gap;
}

/* The baseline, and the oracle: cuSPARSE without labels against the fused kernels without
 * labels. */
static void run_sparse(gsa_backend *b, const card *c, const bench_case *at, int phase,
                       gsa_attend_args a, const work *w)
{
    const int64_t count = a.edges->rows * at->heads * at->dim;
    a.label_vectors = a.label_bias = NULL, a.dlabel_vectors = a.dlabel_bias = NULL;
    float *fused = run_once(b, &a, count), *other = NULL;
    if (fused == NULL) stop(b->error.text);
    if (gsa_cuda_choose_attention(b, GSA_CUDA_CUSPARSE) == GSA_OK) other = run_once(b, &a, count);
    if (other == NULL) {
        const int unable = b->error.status == GSA_ERR_UNSUPPORTED;
        printf(
            "{\"spec\": \"%s\", \"length\": %d, \"phase\": %d, \"version\": \"cusparse\", \"%s\": "
            "\"%s\"}\n",
            at->spec, at->length, phase, unable ? "unable" : "failed", b->error.text);
        failures += !unable;
    } else {
        const double gap = nmse(other, fused, count), most = 1e-7;
        printf("{\"spec\": \"%s\", \"length\": %d, \"phase\": %d, \"version\": \"cusparse\", "
               "\"nmse_to_fused\": %.3g, \"within\": %s}\n",
               at->spec, at->length, phase, gap, gap <= most ? "true" : "false");
        failures += !(gap <= most);
        time_both(b, c, at, phase, &a, "cusparse", w);
    }
    free(fused), free(other);
    must(b, gsa_cuda_choose_attention(b, GSA_CUDA_FUSED));
}

/* Backward that writes gradients where nothing is yet, as a training step's first call does. */
static void run_set(gsa_backend *b, const card *c, const bench_case *at, int phase,
                    gsa_attend_args a, const work *w)
{
    a.set_dq = 1, a.set_dk = a.set_dv = ~UINT64_C(0);
    print_row(c, at, phase, a.edges, "set", "backward", time_op(b, b->attend_backward, &a),
              w->bytes[1], w->flops[1]);
}

static void run_phase(gsa_backend *b, const card *c, const bench_case *at, int phase, gsa_edges *e,
                      int label_use)
{
    const int64_t width = (int64_t)at->heads * at->dim, labels = e->labels > 0 ? e->labels : 1;
    gsa_part parts[GSA_MAX_KINDS] = {};
    void *made[8 + 4 * GSA_MAX_KINDS];
    int n = 0;
    double sources = 0;
    gsa_attend_args a = {};
    for (int k = 0; k < e->kinds; k++) {
        void *planes[4];
        if (e->part_rows[k] == 0) continue;
        for (int i = 0; i < 4; i++)
            made[n++] = planes[i] = numbers(b, e->part_rows[k] * width, (unsigned)(n + 1));
        parts[k] = gsa_part{ planes[0], planes[1], planes[2], planes[3] };
        sources += (double)e->part_rows[k];
    }
    a.edges = e, a.heads = at->heads, a.head_dim = at->dim, a.scale = 0.1, a.parts = parts;
    a.q = made[n++] = numbers(b, e->rows * width, 1),
    a.dout = made[n++] = numbers(b, e->rows * width, 2);
    a.out = made[n++] = numbers(b, e->rows * width, 3),
    a.dq = made[n++] = numbers(b, e->rows * width, 4);
    a.lse = made[n++] = numbers(b, e->rows * at->heads, 5);
    if (label_use == GSA_KEY_VECTORS)
        a.label_vectors = made[n++] = numbers(b, labels * at->dim, 6),
        a.dlabel_vectors = made[n++] = numbers(b, labels * at->dim, 7);
    const double d = (double)width, rows = (double)e->rows, edges = (double)e->edge_total,
                 index = 16 * rows + (double)sizeof(gsa_run) * (double)e->run_total;
    const work least = { { 4 * d * (2 * rows + 2 * sources) + 4 * rows * at->heads + index,
                           4 * d * (5 * rows + 4 * sources) + 8 * rows * at->heads + 2 * index +
                               4 * edges },
                         { 4 * edges * d, 10 * edges * d } };
    time_both(b, c, at, phase, &a, "fused", &least);
    run_set(b, c, at, phase, a, &least);
    run_sparse(b, c, at, phase, a, &least);
    fflush(stdout);
    for (int i = 0; i < n; i++) b->free(b, made[i]);
}

static gsa_pattern *open_pattern(gsa_registry *registry, const char *text)
{
    gsa_stack_spec spec;
    gsa_pattern *pattern = NULL;
    gsa_error error = {};
    if (gsa_spec_parse(NULL, text, &spec, &error) != GSA_OK) stop(error.text);
    const gsa_part_spec *part = &spec.segments[0].parts[0];
    if (gsa_pattern_create(registry, part->id, part->settings, part->n_settings, &pattern,
                           &error) != GSA_OK)
        stop(error.text);
    gsa_spec_release(&spec);
    return pattern;
}

/* So many equal examples. */
static gsa_batch *make_batch(const gsa_pattern *pattern, const bench_case *at, int examples)
{
    gsa_example example = {};
    gsa_instance *instance = NULL, *all[64];
    gsa_batch *batch = NULL;
    gsa_error error = {};
    example.struct_size = sizeof example, example.length = at->length, example.heads = at->heads;
    if (gsa_pattern_instance(pattern, NULL, &example, NULL, 0, &instance, &error) != GSA_OK)
        stop(error.text);
    for (int i = 0; i < examples; i++) all[i] = instance;
    if (gsa_batch_create(NULL, gsa_pattern_schema(pattern), &batch, &error) != GSA_OK ||
        gsa_batch_build(batch, all, examples, &error) != GSA_OK)
        stop(error.text);
    gsa_instance_release(instance);
    return batch;
}

static void write_all(FILE *out, const void *from, size_t bytes)
{
    if (bytes > 0 && fwrite(from, 1, bytes, out) != bytes) stop("the edges cannot be written");
}

static void write_phase(FILE *out, int64_t phase, const gsa_edges *e)
{
    int64_t first[GSA_MAX_KINDS] = {}, sources = 0, n = 0;
    int32_t *row = (int32_t *)malloc(sizeof(int32_t) * (size_t)(e->edge_total + 1)),
            *source = (int32_t *)malloc(sizeof(int32_t) * (size_t)(e->edge_total + 1));
    if (!row || !source) stop("no host memory");
    for (int k = 0; k < e->kinds; k++) first[k] = sources, sources += e->part_rows[k];
    for (int64_t u = 0; u < e->rows; u++)
        for (int64_t r = e->run_offset[u]; r < e->run_offset[u + 1]; r++)
            for (int32_t i = 0; i < e->runs[r].count; i++)
                row[n] = (int32_t)u,
                source[n++] =
                    (int32_t)(first[e->runs[r].kind] + e->runs[r].first + i * e->runs[r].step);
    const int64_t head[4] = { phase, e->rows, sources, n };
    write_all(out, head, sizeof head);
    write_all(out, row, sizeof(int32_t) * (size_t)n);
    write_all(out, source, sizeof(int32_t) * (size_t)n);
    free(row), free(source);
}

static int attends(const gsa_schema *schema, int phase)
{
    const gsa_phase *p = gsa_schema_phase(schema, phase);
    return p->aggregate == GSA_ATTEND && !p->per_head;
}

static void write_edges(gsa_registry *registry, const bench_case *at, const char *path)
{
    gsa_pattern *pattern = open_pattern(registry, at->spec);
    const gsa_schema *schema = gsa_pattern_schema(pattern);
    gsa_batch *batch = make_batch(pattern, at, 1);
    FILE *out = fopen(path, "wb");
    if (out == NULL) stop("the file of edges cannot be opened");
    for (int phase = 0; phase < gsa_schema_phases(schema); phase++) {
        gsa_edges edges;
        if (!attends(schema, phase)) continue;
        gsa_batch_edges(batch, phase, NULL, &edges);
        write_phase(out, phase, &edges);
    }
    if (fclose(out) != 0) stop("the edges cannot be written");
    gsa_batch_release(batch);
    gsa_pattern_release(pattern);
}

static void run_case(gsa_backend *b, gsa_registry *registry, const card *c, const bench_case *at)
{
    gsa_pattern *pattern = open_pattern(registry, at->spec);
    const gsa_schema *schema = gsa_pattern_schema(pattern);
    gsa_batch *batch = make_batch(pattern, at, at->examples);
    int64_t bytes;
    const void *block = gsa_batch_block(batch, &bytes);
    void *copy = b->alloc(b, bytes);
    if (copy == NULL) stop(b->error.text);
    must(b, b->upload(b, copy, block, bytes));
    for (int phase = 0; phase < gsa_schema_phases(schema); phase++) {
        gsa_edges edges;
        if (!attends(schema, phase)) continue;
        gsa_batch_edges(batch, phase, copy, &edges);
        run_phase(b, c, at, phase, &edges, gsa_schema_phase(schema, phase)->label_use);
    }
    b->free(b, copy);
    gsa_batch_release(batch);
    gsa_pattern_release(pattern);
}

static const bench_case *find_case(const char *name)
{
    char text[128];
    for (int i = 0; i < CASES; i++)
        if (strcmp(case_name(&cases[i], text), name) == 0) return &cases[i];
    fprintf(stderr, "gpu_bench: no case '%s'; --list names them\n", name);
    exit(2);
}

static int run_all(gsa_registry *registry, int quick, char **names, int count)
{
    gsa_backend *b = NULL;
    gsa_error error = {};
    for (int i = 0; i < count; i++) find_case(names[i]);
    if (gsa_backend_cuda(NULL, GSA_F32, 0, &b, &error) != GSA_OK) {
        fprintf(stderr, "gpu_bench: skipped: %s\n", error.text);
        return 77;
    }
    const card c = measure_card(b);
    printf("{\"card\": \"%s\", \"copy_gb_s\": %.1f, \"fp32_gflop_s\": %.1f, "
           "\"cached_gather_gb_s\": %.1f, \"far_gather_gb_s\": %.1f}\n",
           c.name, c.copy * 1e-9, c.flops * 1e-9, c.near * 1e-9, c.far * 1e-9);
    for (int i = 0; i < count; i++) run_case(b, registry, &c, find_case(names[i]));
    for (int i = 0; i < CASES && count == 0; i += quick ? 4 : 1)
        run_case(b, registry, &c, &cases[i]);
    gsa_backend_release(b);
    return failures > 0;
}

int main(int argc, char **argv)
{
    gsa_registry *registry = NULL;
    gsa_error error = {};
    int list = 0, quick = 0, first = 1, status = 0;
    if (gsa_registry_create(NULL, &registry, &error) != GSA_OK) stop(error.text);
    if (argc == 4 && strcmp(argv[1], "--edges") == 0) {
        write_edges(registry, find_case(argv[2]), argv[3]);
        gsa_registry_release(registry);
        return 0;
    }
    for (; first < argc && argv[first][0] == '-'; first++) {
        list |= strcmp(argv[first], "--list") == 0;
        quick |= strcmp(argv[first], "--quick") == 0;
    }
    char name[128];
    for (int i = 0; i < CASES && list; i += quick ? 4 : 1) puts(case_name(&cases[i], name));
    if (!list) status = run_all(registry, quick, argv + first, argc - first);
    gsa_registry_release(registry);
    return status;
}
