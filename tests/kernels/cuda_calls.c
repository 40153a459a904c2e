/* What a device is asked and how often: its names, waits of the host, launches that do not grow
 * with the batch, edges beyond 2^31. */
#include "cuda_cases.h"
#include "graph/batch.h"
#include "topologies/pattern.h"
#include "topologies/spec.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(GSA_ON_EXECUTOR)
#include "simt.h"
#endif

/* ---- names of devices ---------------------------------------------------------------------- */
static void names(tally *t)
{
    static const struct {
        const char *name, *said; /* what the backend's own name ends with */
        int graphs;
    } good[] = { { "cuda", ")", 0 },
                 { "cuda:0", ")", 0 },
                 { "auto:0", ")", 0 },
                 { "cuda:0-graphs-bf16", "), in bf16", 1 },
                 { "cuda-graphs", ")", 1 },
                 { "cuda-bf16", "), in bf16", 0 },
                 { "cuda-graphs-bf16", "), in bf16", 1 },
                 { "cuda-bf16-graphs", "), in bf16", 1 },
                 { "cuda-tf32", "), in tf32", 0 },
                 { "cuda-graphs-tf32", "), in tf32", 1 },
                 { "cuda-tf32-graphs", "), in tf32", 1 } };
    static const char *const bad[] = { "cuda-",
                                       "cuda-graphs-graphs",
                                       "cuda-bf16-tf32",
                                       "cuda-bf",
                                       "cuda-bf16x",
                                       "cuda bf16",
                                       "cuda-bf16-bf16",
                                       "cudabf16",
                                       "cuda-graph",
                                       "cuda--bf16",
                                       "graphs-cuda",
                                       "cuda-graphs-",
                                       "-bf16",
                                       "",
                                       "cuda-windows",
                                       "cuda-tensor",
                                       "cuda-cusparse-bf16",
                                       "cuda-degrees",
                                       "cuda:",
                                       "cuda:x",
                                       "cuda:1x",
                                       "cuda:-1",
                                       "cuda:10000",
                                       "auto:x",
                                       "auto:0-bf16" };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        gsa_backend *b = NULL;
        gsa_error error = { 0 };
        if (gsa_backend_open(NULL, good[i].name, GSA_F32, 1, &b, &error) != GSA_OK) {
            check(t, 0, "%s: %s", good[i].name, error.text);
            continue;
        }
        const size_t end = strlen(b->name), said = strlen(good[i].said);
        check(t, end > said && strcmp(b->name + end - said, good[i].said) == 0, "%s is '%s'",
              good[i].name, b->name);
        check(t, (b->step_begin != NULL) == good[i].graphs, "%s: graphs", good[i].name);
        gsa_backend_release(b);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        gsa_backend *b = NULL;
        gsa_error error = { 0 };
        const gsa_status status = gsa_backend_open(NULL, bad[i], GSA_F32, 1, &b, &error);
        check(t, status == GSA_ERR_ARGUMENT && b == NULL && strstr(error.text, "-bf16"), "'%s': %s",
              bad[i], error.text);
    }
}

#if defined(GSA_ON_EXECUTOR)
static void numbers(tally *t)
{
    gsa_backend *b = NULL;
    gsa_error error = { 0 };
    simt_devices(2);
    check(t, gsa_cuda_devices() == 2, "%d devices", gsa_cuda_devices());
    check(t, gsa_backend_open(NULL, "cuda:1", GSA_F32, 1, &b, &error) == GSA_OK, "%s", error.text);
    check(t, strstr(b->name, "(device 1,") != NULL, "cuda:1 is '%s'", b->name);
    gsa_backend_release(b);
    check(t,
          gsa_backend_open(NULL, "cuda:2", GSA_F32, 1, &b, &error) == GSA_ERR_UNSUPPORTED &&
              strstr(error.text, "device 2, expected 0 to 1"),
          "cuda:2: %s", error.text);
    simt_devices(0);
    check(t, gsa_cuda_devices() == 0, "%d devices", gsa_cuda_devices());
    simt_devices(1);
}
#endif

/* ---- how often the host waits: once a download, of whatever size, with and without faults to
 * report; never for an upload that fits ---- */
#if defined(GSA_ON_EXECUTOR)
static void waits(tally *t)
{
    gsa_backend *b = open_cuda();
    static float x[2048], y[2048];
    static const int32_t ids[4] = { 0, 1, 2, 3 };
    for (int i = 0; i < 2048; i++) x[i] = (float)i;
    int64_t before = simt_waits();
    float *at = put(b, x, sizeof x), *rows = put(b, x, sizeof x);
    int32_t *id = put(b, ids, sizeof ids);
    must(b, b->add(b, rows, at, at, 2048) == GSA_OK);
    check(t, simt_waits() == before, "%lld waits for uploads and an op",
          (long long)(simt_waits() - before));
    static const int64_t sizes[] = { 0, 4, 4096, 8192 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int suspect = 0; suspect < 2; suspect++) {
            if (suspect) must(b, b->gather_forward(b, rows, at, id, 1, 0, 4, 1, 4) == GSA_OK);
            memset(y, 0, sizeof y);
            before = simt_waits();
            must(b, b->download(b, y, at, sizes[i]) == GSA_OK);
            check(t, simt_waits() == before + 1, "%lld waits for a download of %lld bytes",
                  (long long)(simt_waits() - before), (long long)sizes[i]);
            check(t, memcmp(y, x, (size_t)sizes[i]) == 0, "a download of %lld bytes",
                  (long long)sizes[i]);
        }
    b->free(b, at), b->free(b, rows), b->free(b, id);
    gsa_backend_release(b);
}
#endif

/* ---- what was wrong with data is named however many ops were queued since ------------------ */
static void late_faults(tally *t)
{
    const float x[4] = { 1, 2, 3, 4 };
    const int32_t ids[4] = { 0, 9, 1, 0 };
    float y[4];
    gsa_backend *b = open_cuda();
    float *at = put(b, x, sizeof x), *rows = put(b, x, sizeof x);
    int32_t *id = put(b, ids, sizeof ids);
    must(b, b->gather_forward(b, rows, at, id, 1, 0, 2, 2, 2) == GSA_OK);
    for (int i = 0; i < 300; i++)
        must(b, b->gather_forward(b, rows, at, id + 2, 1, 0, 2, 2, 2) == GSA_OK);
    fails(t, b, b->download(b, y, rows, sizeof y), GSA_ERR_ARGUMENT,
          "gather_forward: id 1 is outside");
    must(b, b->download(b, y, rows, sizeof y) == GSA_OK);
    b->free(b, at), b->free(b, rows), b->free(b, id);
    gsa_backend_release(b);
}

/* ---- uploads next to the work: two rooms in turns, each read while the other is written, with
 * more bytes than the stages hold ---- */
static void ahead(tally *t, int graphs, int late)
{
    enum { BYTES = (9 << 20) + 12, ROUNDS = 5, COUNT = BYTES / 4, ENDS = 1024 };
    gsa_backend *b = open_cuda(), *ref = NULL;
    float *host = calloc(COUNT, 4), back[2 * ENDS], *room[2] = { NULL, NULL }, *sum = NULL;
    if (!host) abort();
#if defined(GSA_ON_EXECUTOR)
    simt_late(late);
#endif
    if (graphs) must(b, gsa_cuda_use_graphs(b) == GSA_OK);
    must(b, (room[0] = b->alloc(b, BYTES)) && (room[1] = b->alloc(b, BYTES)) &&
                (sum = b->alloc(b, sizeof back)));
    must(b, b->zero_fill(b, sum, sizeof back) == GSA_OK);
    fails(t, b, b->upload_ahead(b, room[0], host, 4), GSA_ERR_ARGUMENT, "before any upload_arrive");
    must(b, b->upload_arrive(b) == GSA_OK);
    double want = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int launched;
        for (int i = 0; i < COUNT; i++) host[i] = (float)(round + i % 7);
        must(b, b->upload_ahead(b, room[round % 2], host, BYTES) == GSA_OK);
        must(b, b->upload_ahead(b, room[round % 2], host, 0) == GSA_OK);
        memset(host, 0xff, BYTES);
        if (graphs) must(b, b->step_begin(b) == GSA_OK);
        must(b, b->upload_arrive(b) == GSA_OK);
        must(b, b->accumulate(b, sum, room[round % 2], 1, ENDS) == GSA_OK);
        must(b, b->accumulate(b, sum + ENDS, room[round % 2] + COUNT - ENDS, 1, ENDS) == GSA_OK);
        if (graphs) must(b, b->step_end(b, &launched) == GSA_OK);
        want += round;
    }
    get(b, back, sum, sizeof back);
    int right = 0;
    for (int i = 0; i < 2 * ENDS; i++)
        right += (double)back[i] == want + ROUNDS * ((i < ENDS ? i : COUNT - 2 * ENDS + i) % 7);
    check(t, right == 2 * ENDS, "uploads ahead%s, late %d: %d numbers",
          graphs ? " with graphs" : "", late, right);
    fails(t, b, b->upload_ahead(b, room[0], host, -1), GSA_ERR_ARGUMENT, "upload_ahead: -1 bytes");
    b->free(b, room[0]), b->free(b, room[1]), b->free(b, sum);
    free(host);
    gsa_backend_release(b);
#if defined(GSA_ON_EXECUTOR)
    simt_late(0);
#endif
    must(b = open_cuda(), gsa_backend_ref(NULL, GSA_F32, 1, &ref, NULL) == GSA_OK);
    check(t, ref->upload_ahead == NULL && ref->upload_arrive == NULL, "ref uploads ahead");
    gsa_backend_release(b), gsa_backend_release(ref);
}

/* ---- a second queue beside the work: each waits for the other where it says so ---- */
static void beside(tally *t, int graphs, int late)
{
    enum { COUNT = 4, ROUNDS = 4 };
    const float start[COUNT] = { 1, 2, 3, 4 };
    float want[2][COUNT], back[COUNT];
    void *queue = NULL;
    gsa_backend *b = open_cuda();
#if defined(GSA_ON_EXECUTOR)
    simt_late(late);
#endif
    if (graphs) must(b, gsa_cuda_use_graphs(b) == GSA_OK);
    memcpy(want[0], start, sizeof start), memcpy(want[1], start, sizeof start);
    float *x = put(b, start, sizeof start), *sum = put(b, start, sizeof start);
    must(b, b->back(b) == GSA_OK && b->meet(b) == GSA_OK); /* from nowhere */
    for (int round = 0; round < ROUNDS; round++) {
        int launched;
        if (graphs) must(b, b->step_begin(b) == GSA_OK);
        must(b, b->accumulate(b, x, x, 1, COUNT) == GSA_OK);
        must(b, b->aside(b, &queue) == GSA_OK && queue);
        must(b, b->accumulate(b, sum, x, 1, COUNT) == GSA_OK);
        must(b, b->aside(b, &queue) == GSA_OK && b->back(b) == GSA_OK);
        must(b, b->meet(b) == GSA_OK && b->accumulate(b, x, sum, 1, COUNT) == GSA_OK);
        if (graphs) must(b, b->step_end(b, &launched) == GSA_OK);
        for (int i = 0; i < COUNT; i++)
            want[0][i] *= 2, want[1][i] += want[0][i], want[0][i] += want[1][i];
    }
    get(b, back, x, sizeof back);
    check(t, memcmp(back, want[0], sizeof back) == 0, "work beside, graphs %d, late %d: the work",
          graphs, late);
    get(b, back, sum, sizeof back);
    check(t, memcmp(back, want[1], sizeof back) == 0, "work beside, graphs %d, late %d: the sum",
          graphs, late);
    b->free(b, x), b->free(b, sum);
    gsa_backend_release(b);
#if defined(GSA_ON_EXECUTOR)
    simt_late(0);
#endif
    (void)late;
}

/* ---- one launch an operation for a whole batch of small graphs ----------------------------- */
#if defined(GSA_ON_EXECUTOR)
enum { WIDTH = 8 };

/* Of all phases of a pattern, forward and backward, over a batch of equal graphs. */
static int64_t launches_of(gsa_backend *b, const gsa_pattern *pattern, gsa_instance *instance,
                           int examples)
{
    gsa_instance *all[16];
    gsa_batch *batch = NULL;
    gsa_error error = { 0 };
    int64_t bytes, most = 0;
    const gsa_schema *schema = gsa_pattern_schema(pattern);
    for (int i = 0; i < examples; i++) all[i] = instance;
    if (gsa_batch_create(NULL, schema, &batch, &error) != GSA_OK ||
        gsa_batch_build(batch, all, examples, &error) != GSA_OK)
        abort();
    const void *block = gsa_batch_block(batch, &bytes);
    void *at = put(b, block, bytes);
    for (int phase = 0; phase < gsa_schema_phases(schema); phase++) {
        gsa_edges edges;
        gsa_batch_edges(batch, phase, at, &edges);
        for (int k = 0; k < edges.kinds; k++)
            most = edges.part_rows[k] > most ? edges.part_rows[k] : most;
        most = edges.rows > most ? edges.rows : most;
    }
    float *const zeros = calloc((size_t)most * WIDTH + 1, sizeof *zeros);
    if (zeros == NULL) abort();
    float *plane = put(b, zeros, most * WIDTH * 4), *grad = put(b, zeros, most * WIDTH * 4),
          *lse = put(b, zeros, most * WIDTH * 4);
    const int64_t before = simt_launches();
    for (int phase = 0; phase < gsa_schema_phases(schema); phase++) {
        gsa_edges edges;
        gsa_part parts[GSA_MAX_KINDS];
        gsa_batch_edges(batch, phase, at, &edges);
        for (int k = 0; k < GSA_MAX_KINDS; k++) parts[k] = (gsa_part){ plane, plane, grad, grad };
        const gsa_attend_args args = { .edges = &edges,
                                       .heads = 2,
                                       .head_dim = WIDTH / 2,
                                       .scale = 1,
                                       .q = plane,
                                       .parts = parts,
                                       .out = plane,
                                       .lse = lse,
                                       .dout = plane,
                                       .dq = grad };
        must(b, b->attend_forward(b, &args) == GSA_OK && b->attend_backward(b, &args) == GSA_OK);
    }
    const int64_t count = simt_launches() - before;
    b->free(b, plane), b->free(b, grad), b->free(b, lse), b->free(b, at);
    free(zeros);
    gsa_batch_release(batch);
    return count;
}

static void launches(tally *t)
{
    static const char *const specs[] = { "star", "ring", "window:width=3", "bpt:k=1", "full" };
    gsa_backend *b = open_cuda();
    gsa_registry *registry;
    gsa_error error = { 0 };
    if (gsa_registry_create(NULL, &registry, &error) != GSA_OK) abort();
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        gsa_stack_spec spec;
        gsa_pattern *pattern = NULL;
        gsa_instance *instance = NULL;
        const gsa_example example = { .struct_size = sizeof example, .length = 24, .heads = 2 };
        if (gsa_spec_parse(NULL, specs[i], &spec, &error) != GSA_OK) abort();
        const gsa_part_spec *part = &spec.segments[0].parts[0];
        if (gsa_pattern_create(registry, part->id, part->settings, part->n_settings, &pattern,
                               &error) != GSA_OK ||
            gsa_pattern_instance(pattern, NULL, &example, NULL, 0, &instance, &error) != GSA_OK)
            abort();
        const int64_t few = launches_of(b, pattern, instance, 8),
                      many = launches_of(b, pattern, instance, 16);
        check(t, few > 0 && few == many, "%s: %lld launches for 8 graphs, %lld for 16", specs[i],
              (long long)few, (long long)many);
        gsa_instance_release(instance);
        gsa_pattern_release(pattern);
        gsa_spec_release(&spec);
    }
    gsa_registry_release(registry);
    gsa_backend_release(b);
}
#endif

/* ---- products wait and join (kernels/cuda/gemm.cu): the results are those of calls in turn ----
 */
enum { FLOATS = 512, SLOT = 16, CHAIN = 14, CHAINS = 300 };
typedef struct chain_step {
    int64_t m, n, k, c, a, b;
    int ta, tb, accumulate, other; /* other: a copy follows, from a to c */
} chain_step;

static chain_step random_step(gsa_dice *dice, const chain_step *last)
{
    const int64_t slots = FLOATS / SLOT;
    chain_step s = *last;
    if (gsa_between(dice, 0, 2) == 0) {
        s.m = gsa_between(dice, 2, 3), s.n = gsa_between(dice, 2, 3), s.k = gsa_between(dice, 2, 3);
        s.ta = (int)gsa_between(dice, 0, 1), s.tb = (int)gsa_between(dice, 0, 1);
        s.accumulate = (int)gsa_between(dice, 0, 1);
    }
    do {
        s.c = gsa_between(dice, 0, 7) == 0 ? last->c : SLOT * gsa_between(dice, 0, slots - 1);
        s.a = SLOT * gsa_between(dice, 0, slots - 1) + gsa_between(dice, 0, 3);
        s.b = SLOT * gsa_between(dice, 0, slots - 1);
    } while (s.c / SLOT == s.a / SLOT || s.c / SLOT == s.b / SLOT);
    s.other = gsa_between(dice, 0, 9) == 0;
    return s;
}

static void run_step(gsa_backend *b, float *at, const chain_step *s)
{
    must(b, b->gemm(b, at + s->c, at + s->a, at + s->b, s->m, s->n, s->k, s->ta, s->tb, s->n,
                    s->ta ? s->m : s->k, s->tb ? s->k : s->n, s->accumulate) == GSA_OK);
    if (s->other) must(b, b->copy(b, at + s->c, at + s->a, 4 * sizeof(float)) == GSA_OK);
}

#if defined(GSA_ON_EXECUTOR)
static void count_products(void *context, const simt_work *work)
{
    *(int *)context += work->what == SIMT_CALL && strstr(work->name, "Gemm") != NULL;
}
#endif

static void products(tally *t)
{
    both pair = open_both();
    float start[FLOATS], got[FLOATS], wanted[FLOATS];
#if defined(GSA_ON_EXECUTOR)
    int calls = 0;
#endif
    for (int i = 0; i < CHAINS; i++) {
        gsa_dice dice = { 40 + (uint64_t)i };
        for (int j = 0; j < FLOATS; j++) start[j] = (float)gsa_between(&dice, -4, 4) / 8;
        float *cuda = put(pair.cuda, start, sizeof start),
              *ref = put(pair.ref, start, sizeof start);
        chain_step s = { .m = 2, .n = 2, .k = 2 };
#if defined(GSA_ON_EXECUTOR)
        simt_watch(count_products, &calls);
#endif
        for (int j = 0; j < CHAIN; j++) {
            s = random_step(&dice, &s);
            run_step(pair.cuda, cuda, &s);
            run_step(pair.ref, ref, &s);
        }
        get(pair.cuda, got, cuda, sizeof got);
        get(pair.ref, wanted, ref, sizeof wanted);
#if defined(GSA_ON_EXECUTOR)
        simt_watch(NULL, NULL);
#endif
        check(t, close_to(got, wanted, FLOATS, SLOT), "chain %d of products differs from ref", i);
        pair.cuda->free(pair.cuda, cuda);
        pair.ref->free(pair.ref, ref);
    }
#if defined(GSA_ON_EXECUTOR)
    check(t, calls > 0 && calls < CHAINS * CHAIN * 9 / 10, "%d calls for %d products", calls,
          CHAINS * CHAIN);
#endif
    close_both(&pair);
}

/* ---- so do calls on elements and rows (kernels/cuda/elements.cu) --------------------------- */
typedef struct row_step {
    int what, kind, accumulate;
    int64_t rows, cols,
        at[8]; /* result first, then what is read: an array of it, or a slot of its own */
} row_step;
enum { BIAS, ACTIVATE, SUM, NORM, NORM_BACK, SLOPE, PRODUCT, ROW_STEPS };

static row_step random_row_step(gsa_dice *dice, const row_step *last)
{
    row_step s = { .what = (int)gsa_between(dice, 0, ROW_STEPS - 1),
                   .kind = (int)gsa_between(dice, GSA_RELU, GSA_SIGMOID),
                   .accumulate = (int)gsa_between(dice, 0, 1),
                   .rows = last->rows,
                   .cols = last->cols };
    const int64_t slots = FLOATS / SLOT, first = gsa_between(dice, 0, slots - 1);
    if (gsa_between(dice, 0, 5) == 0) s.rows = gsa_between(dice, 2, 3), s.cols = 5 - s.rows;
    for (int i = 0; i < 8; i++)
        s.at[i] = SLOT * ((first + 5 * i) % slots) +
                  (gsa_between(dice, 0, 3) ? 0 : gsa_between(dice, 1, 3));
    for (int i = 1; i < 3; i++) /* what the last one made, as it is or shifted */
        if (gsa_between(dice, 0, i) == 0 || i == 1) {
            const int64_t to =
                last->at[0] / SLOT * SLOT + (gsa_between(dice, 0, 7) ? last->at[0] % SLOT : 1);
            int taken = 0;
            for (int j = 0; j < 8; j++) taken |= j != i && s.at[j] / SLOT == to / SLOT;
            if (!taken) s.at[i] = to;
        }
    if (gsa_between(dice, 0, 1)) s.at[0] = s.at[1]; /* in place */
    if (s.what == SLOPE && gsa_between(dice, 0, 1)) {
        s.at[0] = last->at[0];
        if (!gsa_between(dice, 0, 3) || s.at[2] / SLOT == s.at[0] / SLOT) s.at[2] = s.at[0];
    }
    return s;
}

/* Returns how many kernels it takes alone. */
static int run_row_step(gsa_backend *b, float *x, const row_step *s)
{
    const int64_t n = s->rows * s->cols, *at = s->at;
    const int moves = at[0] != at[1] || (s->what != NORM_BACK && s->what != PRODUCT);
    gsa_status status = GSA_OK;
    if (!moves) return 0;
    switch (s->what) {
    case BIAS:
        status = b->bias_forward(b, x + at[0], x + at[2], s->rows, s->cols);
        break;
    case ACTIVATE:
        status = b->activate_forward(b, x + at[0], x + at[1], s->kind, n);
        break;
    case SUM:
        status = b->add(b, x + at[0], x + at[1], x + at[s->accumulate ? 1 : 2], n);
        break;
    case NORM:
        status = b->norm_forward(b, x + at[0], x + at[3], x + at[4], x + at[1], x + at[5],
                                 x + at[6], 0.1, s->rows, s->cols);
        break;
    case NORM_BACK:
        status = b->norm_backward(b, x + at[0], s->kind == GSA_RELU ? NULL : x + at[6],
                                  s->kind == GSA_RELU ? NULL : x + at[7], x + at[1], x + at[2],
                                  x + at[3], x + at[4], x + at[5], s->accumulate, s->rows, s->cols);
        break;
    case SLOPE:
        status = b->activate_backward(b, x + at[0], x + at[0], x + at[2], s->kind, 0, n);
        break;
    default:
        status = b->gemm(b, x + at[0], x + at[1], x + at[2], s->rows, s->cols, 2, 0, 0, s->cols, 2,
                         s->cols, 0);
    }
    must(b, status == GSA_OK);
    return 1 + (s->what == NORM_BACK && s->kind != GSA_RELU);
}

/* Gaps count beside all numbers, not beside those alone that have one. */
static void comparison(tally *t)
{
    const float want[2] = { 1, 1e-4f }, near[2] = { 1, 1.001e-4f }, far[2] = { 1, 3e-4f };
    check(t, close_to(near, want, 2, 2), "a gap of 1e-7 beside 1");
    check(t, !close_to(far, want, 2, 2), "a gap of 2e-4 beside 1");
}

#if defined(GSA_ON_EXECUTOR)
static void count_all(void *context, const simt_work *work)
{
    *(int *)context += work->what == SIMT_CALL;
}
#endif

static void row_steps(tally *t)
{
    both pair = open_both();
    float start[FLOATS], got[FLOATS], wanted[FLOATS];
    int finite = 0, alone = 0;
#if defined(GSA_ON_EXECUTOR)
    int calls = 0;
    simt_watch(count_all, &calls);
#endif
    for (int i = 0; i < 4 * CHAINS; i++) {
        gsa_dice dice = { 9000 + (uint64_t)i };
        for (int j = 0; j < FLOATS; j++) start[j] = (float)gsa_between(&dice, -8, 8) / 8;
        float *cuda = put(pair.cuda, start, sizeof start),
              *ref = put(pair.ref, start, sizeof start), size = 0;
        row_step s = { .rows = 3, .cols = 3 };
        use_order(i);
        for (int j = 0; j < CHAIN; j++) {
            s = random_row_step(&dice, &s);
            alone += run_row_step(pair.cuda, cuda, &s);
            run_row_step(pair.ref, ref, &s);
        }
        get(pair.cuda, got, cuda, sizeof got);
        get(pair.ref, wanted, ref, sizeof wanted);
        for (int j = 0; j < FLOATS; j++) size = fmaxf(size, fabsf(wanted[j]));
        finite += size < 100;
        check(t, size >= 100 || close_to(got, wanted, FLOATS, SLOT),
              "chain %d of rows differs from ref", i);
        pair.cuda->free(pair.cuda, cuda);
        pair.ref->free(pair.ref, ref);
    }
    check(t, finite > 3 * CHAINS && alone > CHAINS, "%d of %d chains of small numbers", finite,
          4 * CHAINS);
#if defined(GSA_ON_EXECUTOR)
    simt_watch(NULL, NULL);
    check(t, calls < alone - CHAINS, "%d kernels, %d without joining", calls, alone);
#endif
    close_both(&pair);
}

void calls_case(tally *t)
{
    gsa_backend_release(open_cuda()); /* skipped here where there is no device */
    names(t);
    products(t);
    comparison(t);
    row_steps(t);
    late_faults(t);
    for (int graphs = 0; graphs < 2; graphs++)
        for (int late = 0; late < 3; late++) ahead(t, graphs, late), beside(t, graphs, late);
#if defined(GSA_ON_EXECUTOR)
    numbers(t);
    waits(t);
    launches(t);
#endif
}

#if !defined(GSA_ON_EXECUTOR)
/* ---- more than 2^31 edges, on a device: every row reads all sources by one run ---- */
typedef struct large_graph {
    int64_t rows, sources;
    gsa_run *runs;
    int64_t *run_offset, *edge_offset;
    float *q, *k, *v;
} large_graph;
enum { LARGE_DIM = 4 };

static void *room(int64_t count, size_t size)
{
    void *at = calloc((size_t)count + 1, size);
    if (at == NULL) abort();
    return at;
}

static large_graph make_large(int64_t rows, int64_t sources)
{
    large_graph g = { rows,
                      sources,
                      room(rows, sizeof(gsa_run)),
                      room(rows + 1, 8),
                      room(rows + 1, 8),
                      room(rows * LARGE_DIM, 4),
                      room(sources * LARGE_DIM, 4),
                      room(sources * LARGE_DIM, 4) };
    gsa_dice dice = { 2147483648u };
    for (int64_t row = 0; row <= rows; row++) {
        if (row < rows) g.runs[row] = (gsa_run){ .first = 0, .count = (int32_t)sources, .step = 1 };
        g.run_offset[row] = row, g.edge_offset[row] = row * sources;
    }
    for (int64_t i = 0; i < rows * LARGE_DIM; i++) g.q[i] = (float)gsa_bell(&dice);
    for (int64_t i = 0; i < sources * LARGE_DIM; i++)
        g.k[i] = (float)gsa_bell(&dice), g.v[i] = (float)gsa_bell(&dice);
    return g;
}

/* One row in double: its output, and the weights of its first and last edge. */
static void large_row(const large_graph *g, int64_t row, double *out, double ends[2])
{
    double sum = 0, *p = room(g->sources, sizeof *p);
    for (int c = 0; c < LARGE_DIM; c++) out[c] = 0;
    for (int64_t s = 0; s < g->sources; s++) {
        double score = 0;
        for (int c = 0; c < LARGE_DIM; c++)
            score += (double)g->q[row * LARGE_DIM + c] * (double)g->k[s * LARGE_DIM + c];
        sum += p[s] = exp(0.5 * score);
        for (int c = 0; c < LARGE_DIM; c++) out[c] += p[s] * (double)g->v[s * LARGE_DIM + c];
    }
    for (int c = 0; c < LARGE_DIM; c++) out[c] /= sum;
    ends[0] = p[0] / sum, ends[1] = p[g->sources - 1] / sum;
    free(p);
}

static void check_large(tally *t, gsa_backend *b, const large_graph *g, const float *out,
                        const float *weights)
{
    for (int64_t i = 0; i < 20; i++) {
        const int64_t row = g->rows <= 20 ? i % g->rows
                            : i == 0      ? g->rows - 1
                                          : (i * 2333) % g->rows;
        double want[LARGE_DIM], ends[2];
        float got[LARGE_DIM], weight[2];
        large_row(g, row, want, ends);
        get(b, got, out + row * LARGE_DIM, sizeof got);
        for (int c = 0; c < LARGE_DIM; c++)
            check(t, fabs((double)got[c] - want[c]) <= 1e-4,
                  "row %lld of %lld edges: %g, expected %g", (long long)row, (long long)g->sources,
                  (double)got[c], want[c]);
        if (weights == NULL) continue;
        get(b, &weight[0], weights + row * g->sources, 4);
        get(b, &weight[1], weights + (row + 1) * g->sources - 1, 4);
        for (int end = 0; end < 2; end++)
            check(t, fabs((double)weight[end] - ends[end]) <= 1e-4 * ends[end],
                  "row %lld: weight %g, expected %g", (long long)row, (double)weight[end],
                  ends[end]);
    }
}

void large_case(tally *t)
{
    gsa_backend *b = open_cuda();
    large_graph g = make_large(46400, 46400);
    const int64_t edges_here = g.rows * g.sources;
    gsa_edges edges = { .rows = g.rows,
                        .run_total = g.rows,
                        .edge_total = edges_here,
                        .kinds = 1,
                        .labels = 1,
                        .examples = 1 };
    edges.part_rows[0] = g.sources;
    void *const runs = put(b, g.runs, g.rows * (int64_t)sizeof *g.runs),
                *run_offset = put(b, g.run_offset, (g.rows + 1) * 8),
                *edge_offset = put(b, g.edge_offset, (g.rows + 1) * 8);
    edges.runs = runs, edges.run_offset = run_offset, edges.edge_offset = edge_offset;
    float *q = put(b, g.q, g.rows * LARGE_DIM * 4), *k = put(b, g.k, g.sources * LARGE_DIM * 4),
          *v = put(b, g.v, g.sources * LARGE_DIM * 4), *out = put(b, g.q, g.rows * LARGE_DIM * 4),
          *lse = put(b, g.q, g.rows * 4);
    float *weights = b->alloc(
        b, edges_here *
               4); /* a small device has no room for them: then only the outputs are looked at */
    const gsa_part parts[GSA_MAX_KINDS] = { { .k = k, .v = v } };
    gsa_attend_args args = { .edges = &edges,
                             .heads = 1,
                             .head_dim = LARGE_DIM,
                             .scale = 0.5,
                             .q = q,
                             .parts = parts,
                             .out = out,
                             .lse = lse };
    args.weights = weights;
    const gsa_status status = b->attend_forward(b, &args); /* the plan takes 8 bytes an edge */
    check(t, status == GSA_OK || status == GSA_ERR_MEMORY, "%lld edges: %s", (long long)edges_here,
          b->error.text);
    if (status == GSA_OK) check_large(t, b, &g, out, weights);
    printf("%lld edges%s\n", (long long)edges_here,
           status != GSA_OK ? "; no room for their plan"
           : weights        ? ""
                            : "; no room for their weights");
    void *all[] = { runs, run_offset, edge_offset, q, k, v, out, lse, weights };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) b->free(b, all[i]);
    free(g.runs), free(g.run_offset), free(g.edge_offset), free(g.q), free(g.k), free(g.v);
    gsa_backend_release(b);
}
#endif
