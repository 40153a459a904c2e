/* How many bytes of device memory the backward pass of attention reads and writes, by launch: what
 * a launch touches counts once each, read and written (a cache holds the rest), and so do fills.
 * The floor is what two passes must move: by row q, do, o, dq and all k and v, by source q, do, dk
 * and dv. Beyond it are the edges and what the first pass leaves of each for the second. The
 * passes' sources are compiled once more for it (-fsanitize=thread), so that they call what is
 * below at every load and store.
 *
 *   test_bytes TABLE        compare with bytes.table
 *   test_bytes              print the table */
#include "kernels/cuda.h"
#include "simt.h"
#include "support/edges_of.h"
#include "topologies/pattern.h"
#include "topologies/spec.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 144, HEADS = 8, DIM = 64, WIDTH = HEADS * DIM, LINE = 128, CASES = 3 };
static const char *const specs[CASES] = { "star", "ring", "window:width=11" };

/* ---- words of 4 bytes that a launch touched ------------------------------------------------ */
enum { ROOM = 1 << 21 };
typedef struct words {
    uintptr_t *at; /* [ROOM] address / 4; 0: nobody */
    int64_t count;
} words;

static struct counts {
    words read, written;
    int64_t bytes, fills;
    const char *kernel; /* that is at work, or NULL */
    int blind;          /* launches that touched nothing: their source is not compiled for this */
} counts;

static void add_words(words *w, const void *from, size_t bytes)
{
    const uintptr_t last = ((uintptr_t)from + bytes - 1) / 4;
    for (uintptr_t word = (uintptr_t)from / 4; word <= last; word++) {
        size_t i = (size_t)(word * UINT64_C(0x9e3779b97f4a7c15) >> 43);
        while (w->at[i] != 0 && w->at[i] != word) i = (i + 1) % ROOM;
        if (w->at[i] != 0) continue;
        w->at[i] = word;
        if (++w->count > ROOM / 2) abort();
    }
}

static void touch(words *w, const void *at, size_t bytes)
{
    if (counts.kernel && simt_on_device(at, bytes)) add_words(w, at, bytes);
}

static void clear(words *w)
{
    memset(w->at, 0, ROOM * sizeof *w->at);
    w->count = 0;
}

static void end_kernel(void)
{
    const int64_t all = counts.read.count + counts.written.count;
    if (counts.kernel && all == 0) {
        fprintf(stderr, "FAILED: nothing that %s touches is counted\n", counts.kernel);
        counts.blind++;
    }
    counts.bytes += 4 * all;
    counts.kernel = NULL;
    clear(&counts.read), clear(&counts.written);
}

static void see(void *context, const simt_work *work)
{
    (void)context;
    end_kernel();
    if (work->what == SIMT_CALL) counts.kernel = work->name;
    else if (work->what == SIMT_FILL) counts.bytes += (int64_t)work->bytes, counts.fills++;
    else if (work->what == SIMT_COPY) counts.bytes += 2 * (int64_t)work->bytes;
}

/* ---- what the compiler calls ---- */
#define HOOKS(bytes)                                                                               \
    void __tsan_read##bytes(const void *at);                                                       \
    void __tsan_write##bytes(const void *at);                                                      \
    void __tsan_unaligned_read##bytes(const void *at);                                             \
    void __tsan_unaligned_write##bytes(const void *at);                                            \
    void __tsan_read##bytes(const void *at)                                                        \
    {                                                                                              \
        touch(&counts.read, at, bytes);                                                            \
    }                                                                                              \
    void __tsan_write##bytes(const void *at)                                                       \
    {                                                                                              \
        touch(&counts.written, at, bytes);                                                         \
    }                                                                                              \
    void __tsan_unaligned_read##bytes(const void *at)                                              \
    {                                                                                              \
        touch(&counts.read, at, bytes);                                                            \
    }                                                                                              \
    void __tsan_unaligned_write##bytes(const void *at)                                             \
    {                                                                                              \
        touch(&counts.written, at, bytes);                                                         \
    }
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
void __tsan_init(void);
void __tsan_func_entry(void *caller);
void __tsan_func_exit(void);
void __tsan_read_range(const void *at, size_t bytes);
void __tsan_write_range(const void *at, size_t bytes);
void __tsan_init(void)
{
}
void __tsan_func_entry(void *caller)
{
    (void)caller;
}
void __tsan_func_exit(void)
{
}
void __tsan_read_range(const void *at, size_t bytes)
{
    touch(&counts.read, at, bytes);
}
void __tsan_write_range(const void *at, size_t bytes)
{
    touch(&counts.written, at, bytes);
}

/* ---- a phase's backward pass --------------------------------------------------------------- */
static void must(int good, const char *what)
{
    if (good) return;
    fprintf(stderr, "FAILED: %s\n", what);
    exit(1);
}

static float *plane(gsa_backend *b, int64_t rows)
{
    const int64_t bytes = rows * WIDTH * (int64_t)sizeof(float);
    float *const at = b->alloc(b, bytes), *const from = malloc((size_t)bytes + 1);
    must(at != NULL && from != NULL, "no memory");
    for (int64_t i = 0; i < rows * WIDTH; i++) from[i] = (float)(i * 37 % 101 - 50) / 64;
    must(b->upload(b, at, from, bytes) == GSA_OK, b->error.text);
    free(from);
    return at;
}

/* Bytes that it moves; set: what the gradients hold is written over. */
static int64_t moved(gsa_backend *b, const gsa_edges *host, int set, int64_t *floor)
{
    gsa_edges edges = edges_upload(b, host);
    gsa_part parts[GSA_MAX_KINDS] = { { 0 } };
    float *rows[5];
    *floor = 6 * host->rows;
    for (int i = 0; i < 5; i++) rows[i] = plane(b, host->rows);
    for (int k = 0; k < host->kinds; k++) {
        const int64_t n = host->part_rows[k];
        parts[k] = (gsa_part){ plane(b, n), plane(b, n), plane(b, n), plane(b, n) };
        *floor += 4 * n;
    }
    *floor *= WIDTH * (int64_t)sizeof(float);
    gsa_attend_args args = { .edges = &edges,
                             .heads = HEADS,
                             .head_dim = DIM,
                             .scale = 0.125,
                             .q = rows[0],
                             .parts = parts,
                             .out = rows[1],
                             .lse = rows[2],
                             .dout = rows[3],
                             .dq = rows[4],
                             .set_dq = set ? 1 : 0,
                             .set_dk = set ? UINT64_MAX : 0,
                             .set_dv = set ? UINT64_MAX : 0 };
    must(b->attend_forward(b, &args) == GSA_OK, b->error.text);
    must(b->attend_backward(b, &args) == GSA_OK, b->error.text); /* makes the plan */
    counts.bytes = 0;
    simt_watch(see, NULL);
    must(b->attend_backward(b, &args) == GSA_OK, b->error.text);
    end_kernel();
    simt_watch(NULL, NULL);
    for (int i = 0; i < 5; i++) b->free(b, rows[i]);
    for (int k = 0; k < host->kinds; k++) {
        b->free(b, (void *)(uintptr_t)parts[k].k), b->free(b, (void *)(uintptr_t)parts[k].v);
        b->free(b, parts[k].dk), b->free(b, parts[k].dv);
    }
    edges_unload(b, &edges);
    return counts.bytes;
}

/* Of all phases of a topology: the share beyond the floor, in percent. */
static double beyond(gsa_backend *b, const char *text, int set, int64_t *floor, int64_t *bytes)
{
    const gsa_example example = { .struct_size = sizeof example, .length = LENGTH, .heads = HEADS };
    gsa_registry *registry = NULL;
    gsa_stack_spec spec;
    gsa_pattern *pattern = NULL;
    gsa_instance *instance = NULL;
    gsa_error error = { 0 };
    must(gsa_registry_create(NULL, &registry, &error) == GSA_OK &&
             gsa_spec_parse(NULL, text, &spec, &error) == GSA_OK,
         error.text);
    const gsa_part_spec *part = &spec.segments[0].parts[0];
    must(gsa_pattern_create(registry, part->id, part->settings, part->n_settings, &pattern,
                            &error) == GSA_OK &&
             gsa_pattern_instance(pattern, NULL, &example, NULL, 0, &instance, &error) == GSA_OK,
         error.text);
    *floor = *bytes = 0;
    for (int phase = 0; phase < gsa_schema_phases(gsa_pattern_schema(pattern)); phase++) {
        gsa_edges edges;
        int64_t least;
        gsa_instance_edges(instance, phase, &edges);
        if (edges.edge_total == 0) continue;
        *bytes += moved(b, &edges, set, &least), *floor += least;
    }
    gsa_instance_release(instance);
    gsa_pattern_release(pattern);
    gsa_spec_release(&spec);
    gsa_registry_release(registry);
    return 100 * (double)(*bytes - *floor) / (double)*floor;
}

int main(int argc, char **argv)
{
    FILE *const table = argc > 1 ? fopen(argv[1], "r") : NULL;
    gsa_backend *b = NULL;
    gsa_error error = { 0 };
    char line[LINE], wanted[LINE];
    int failures = argc > 1 && (!table || !fgets(wanted, sizeof wanted, table));
    counts.read.at = calloc(ROOM, sizeof *counts.read.at);
    counts.written.at = calloc(ROOM, sizeof *counts.written.at);
    must(counts.read.at && counts.written.at, "no memory");
    must(gsa_backend_open(NULL, "cuda", GSA_F32, 1, &b, &error) == GSA_OK, error.text);
    if (!table) printf("# backward of         floor      bytes  beyond %%  where they are added\n");
    for (int i = 0; i < CASES; i++) {
        int64_t floor, bytes, added;
        const double set = beyond(b, specs[i], 1, &floor, &bytes),
                     add = beyond(b, specs[i], 0, &floor, &added);
        snprintf(line, sizeof line, "%-16s %10lld %10lld %9.1f %21.1f\n", specs[i],
                 (long long)floor, (long long)bytes, set, add);
        if (!table) fputs(line, stdout);
        else if (!fgets(wanted, sizeof wanted, table) || strcmp(line, wanted) != 0)
            failures++, fprintf(stderr, "FAILED: %sexpected %s", line, wanted);
        /* what counts nothing would be below the floor, and read what is added to */
        if (set < 0 || set > 10 || add < set + 20)
            failures++, fprintf(stderr, "FAILED: %s: beyond the floor\n", specs[i]);
    }
    gsa_backend_release(b);
    free(counts.read.at), free(counts.written.at);
    if (table) fclose(table), printf("Checks: %d, Failures: %d\n", CASES, failures + counts.blind);
    return failures + counts.blind > 0;
}
