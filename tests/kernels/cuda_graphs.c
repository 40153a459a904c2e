/* Steps that are launched as graphs: whatever happens between step_begin and step_end gives what it
 * gives without, and an error in a capture leaves a backend that works. */
#include "cuda_cases.h"
#include <stdlib.h>
#include <string.h>
#if defined(GSA_ON_EXECUTOR)
#include "simt.h"
#endif

/* What streams are given runs when somebody waits, as on a device. */
static void late(int yes)
{
#if defined(GSA_ON_EXECUTOR)
    simt_late(yes);
#else
    (void)yes;
#endif
}

static gsa_backend *open_graphs(void)
{
    gsa_backend *b = open_cuda();
    must(b, b->step_begin == NULL && b->step_end == NULL && gsa_cuda_use_graphs(b) == GSA_OK);
    must(b, b->step_begin != NULL && b->step_end != NULL);
    return b;
}

static int end_step(gsa_backend *b)
{
    int graphs = -1;
    must(b, b->step_end(b, &graphs) == GSA_OK);
    return graphs;
}

/* Memory taken and given back, uploads, plans, hubs, sorts and downloads inside a step, in shapes
 * that repeat and that do not. */
static void any_work(tally *t)
{
    both pair = { open_graphs(), NULL };
    must(pair.cuda, gsa_backend_ref(NULL, GSA_F32, 1, &pair.ref, NULL) == GSA_OK);
    for (int i = 0; i < 12; i++) {
        edges_maker maker;
        gsa_dice dice = { 90 + (uint64_t)i };
        if (i % 4 == 3) hub_graph(&maker, i / 4, 3);
        else
            edges_random(&maker, &dice,
                         (edges_wish){ .examples = 2,
                                       .kinds = 2,
                                       .row_kinds = 1,
                                       .labels = 4,
                                       .nodes = 20 + 7 * (i % 3) });
        must(pair.cuda, pair.cuda->step_begin(pair.cuda) == GSA_OK);
        attend_pair(t, pair.cuda, pair.ref, &maker.view, 2, 8,
                    WITH_VECTORS | WITH_BIAS | WITH_DROPOUT, "attention in a step");
        const int graphs = end_step(pair.cuda);
        check(t, (graphs > 0) == (i > 0), "step %d: %d graphs", i, graphs);
        edges_free(&maker);
    }
    close_both(&pair);
}

/* More is uploaded than the pinned stages hold, from memory that the caller writes again at
 * once. */
static void many_uploads(tally *t)
{
    enum { PIECES = 9, BYTES = (5 << 18) + 12 };
    gsa_backend *b = open_graphs();
    unsigned char *host = malloc(BYTES), *back = malloc(BYTES);
    void *at[PIECES];
    if (!host || !back) abort();
    for (int p = 0; p < PIECES; p++) must(b, (at[p] = b->alloc(b, BYTES)) != NULL);
    for (int step = 0; step < 4; step++) {
        must(b, b->step_begin(b) == GSA_OK);
        for (int p = 0; p < PIECES; p++) {
            memset(host, 16 * step + p, BYTES);
            must(b, b->upload(b, at[p], host, BYTES) == GSA_OK);
        }
        memset(host, 0xee, BYTES);
        end_step(b);
        for (int p = 0; p < PIECES; p++) {
            get(b, back, at[p], BYTES);
            check(t, back[0] == 16 * step + p && memcmp(back, back + 1, BYTES - 1) == 0,
                  "step %d: upload %d", step, p);
        }
    }
    for (int p = 0; p < PIECES; p++) b->free(b, at[p]);
    free(host), free(back);
    gsa_backend_release(b);
}

/* A refused call, and one whose data are found wrong on the device, end nothing. */
static void refused_calls(tally *t)
{
    const float x[4] = { 1, 2, 3, 4 };
    const int32_t ids[2] = { 0, 9 };
    float y[4] = { 0 };
    gsa_backend *b = open_graphs(), *ref = NULL;
    for (int step = 0; step < 3; step++) {
        must(b, b->step_begin(b) == GSA_OK);
        float *at = put(b, x, sizeof x), *to = put(b, y, sizeof y);
        int32_t *id = put(b, ids, sizeof ids);
        must(b, b->add(b, to, at, at, 4) == GSA_OK);
        fails(t, b, b->gemm(b, to, at, at, -1, 1, 1, 0, 0, 1, 1, 1, 0), GSA_ERR_ARGUMENT, "gemm");
        must(b, b->add(b, to, to, at, 4) == GSA_OK &&
                    b->gather_forward(b, at, to, id, 1, 0, 2, 2, 2) == GSA_OK);
        fails(t, b, b->download(b, y, to, sizeof y), GSA_ERR_ARGUMENT, "gather_forward: id 1");
        check(t, (end_step(b) > 0) == (step > 0) && y[0] == 3 && y[3] == 12,
              "step %d after a refused call", step);
        b->free(b, at), b->free(b, to), b->free(b, id);
    }
    gsa_backend_release(b);
    must(b = open_cuda(), gsa_backend_ref(NULL, GSA_F32, 1, &ref, NULL) == GSA_OK);
    check(t, ref->step_begin == NULL && ref->step_end == NULL, "ref has steps");
    fails(t, ref, gsa_cuda_use_graphs(ref), GSA_ERR_UNSUPPORTED,
          "backend 'ref' has no graphs of calls");
    gsa_backend_release(b), gsa_backend_release(ref);
}

#if defined(GSA_ON_EXECUTOR)
/* One step of attention over edges that stay on the device: a plan that a dropped capture was to
 * make must not be used. */
typedef struct fixture {
    gsa_backend *b;
    edges_maker maker;
    gsa_edges edges;
    float *q, *out, *lse, first[40 * 8];
    gsa_part parts[GSA_MAX_KINDS];
} fixture;

static void open_fixture(fixture *f)
{
    float x[64 * 8];
    gsa_dice dice = { 3 };
    *f = (fixture){ .b = open_graphs() };
    hub_graph(&f->maker, 2, 3);
    f->edges = edges_upload(f->b, &f->maker.view);
    for (int i = 0; i < 64 * 8; i++) x[i] = (float)gsa_normal(&dice);
    f->q = put(f->b, x, sizeof x), f->out = put(f->b, x, sizeof x), f->lse = put(f->b, x, 4 * 64);
    for (int k = 0; k < 2; k++) f->parts[k] = (gsa_part){ .k = f->q, .v = f->q };
}

static gsa_status attend(fixture *f)
{
    const gsa_attend_args args = { .edges = &f->edges,
                                   .heads = 1,
                                   .head_dim = 8,
                                   .scale = 1,
                                   .q = f->q,
                                   .parts = f->parts,
                                   .out = f->out,
                                   .lse = f->lse };
    return f->b->attend_forward(f->b, &args);
}

static gsa_status step_of(fixture *f, int *graphs)
{
    *graphs = 0;
    gsa_status status = f->b->step_begin(f->b);
    if (status == GSA_OK) status = attend(f);
    if (status == GSA_OK) status = attend(f);
    const gsa_status ended = f->b->step_end(f->b, graphs);
    return status == GSA_OK ? ended : status;
}

static int as_before(fixture *f)
{
    float now[40 * 8] = { 0 };
    const int64_t bytes = 4 * 8 * f->edges.rows;
    get(f->b, now, f->out, bytes);
    return memcmp(now, f->first, (size_t)bytes) == 0;
}

/* The arrays are touched: plans have to be made again. */
static void touch(fixture *f)
{
    must(f->b, f->b->upload(f->b, (void *)(uintptr_t)f->edges.run_offset, f->maker.view.run_offset,
                            8) == GSA_OK);
    must(f->b, f->b->zero_fill(f->b, f->out, 4 * 8 * f->edges.rows) == GSA_OK);
}

static void close_fixture(tally *t, fixture *f)
{
    f->b->free(f->b, f->q), f->b->free(f->b, f->out), f->b->free(f->b, f->lse);
    edges_unload(f->b, &f->edges);
    edges_free(&f->maker);
    gsa_backend_release(f->b);
    check(t, simt_live() == 0, "%lld allocations are left", (long long)simt_live());
}

enum fault { INVALID, NO_MEMORY };
static void fault_in_a_step(tally *t, enum fault fault, int nth)
{
    fixture f;
    int graphs;
    open_fixture(&f);
    must(f.b, step_of(&f, &graphs) == GSA_OK);
    get(f.b, f.first, f.out, 4 * 8 * f.edges.rows);
    touch(&f);
    if (fault == INVALID) simt_invalidate(nth);
    else simt_fail_malloc(nth);
    const gsa_status status = step_of(&f, &graphs);
    simt_invalidate(0), simt_fail_malloc(0);
    check(
        t, status == GSA_OK || status == (fault == INVALID ? GSA_ERR_UNSUPPORTED : GSA_ERR_MEMORY),
        "fault %d of kind %d: %s, '%s'", nth, (int)fault, gsa_status_name(status), f.b->error.text);
    if (status == GSA_OK)
        check(t, as_before(&f), "fault %d of kind %d: the step that went well", nth, (int)fault);
    must(f.b, attend(&f) == GSA_OK); /* without touching the edges again */
    check(t, as_before(&f), "fault %d of kind %d: a call after the step", nth, (int)fault);
    touch(&f);
    check(t, step_of(&f, &graphs) == GSA_OK && as_before(&f), "fault %d of kind %d: the next step",
          nth, (int)fault);
    close_fixture(t, &f);
}

/* The graph of what was captured finds no memory in a call that may fail, or that has nothing to do
 * with it: all calls fail from there to the step's end, each time with the graph's sentence, and
 * none as if it had itself no memory to do without; the next step is whole. */
static void dropped_on_the_way(tally *t, int by_alloc)
{
    fixture f;
    int graphs;
    float number;
    open_fixture(&f);
    must(f.b, step_of(&f, &graphs) == GSA_OK);
    get(f.b, f.first, f.out, 4 * 8 * f.edges.rows);
    must(f.b, f.b->zero_fill(f.b, f.out, 4 * 8 * f.edges.rows) == GSA_OK &&
                  f.b->step_begin(f.b) == GSA_OK);
    must(f.b, attend(&f) == GSA_OK);
    simt_fail_malloc(1);
    if (by_alloc)
        check(t, f.b->alloc(f.b, 1 << 20) == NULL,
              "memory, but what was given before it was dropped");
    simt_fail_malloc(by_alloc ? 0 : 1);
    fails(t, f.b, f.b->upload_arrive(f.b), GSA_ERR_UNSUPPORTED, "given before it was dropped: ");
    simt_fail_malloc(0);
    check(t, f.b->alloc(f.b, 4) == NULL && f.b->alloc(f.b, 1 << 20) == NULL,
          "memory after work was dropped");
    fails(t, f.b, attend(&f), GSA_ERR_MEMORY, "cudaGraphInstantiate");
    for (int i = 0; i < 2; i++)
        fails(t, f.b, f.b->download(f.b, &number, f.out, sizeof number), GSA_ERR_MEMORY,
              "bytes free of");
    fails(t, f.b, f.b->step_end(f.b, &graphs), GSA_ERR_MEMORY, "cudaGraphInstantiate");
    check(t, step_of(&f, &graphs) == GSA_OK && as_before(&f),
          "the step behind one whose work was dropped");
    close_fixture(t, &f);
}

/* Updates that are refused cost credit: after a while steps are queued call by call, and the
 * results stay. */
static void refused_updates(tally *t)
{
    fixture f;
    int graphs, with = 0, without = 0;
    open_fixture(&f);
    must(f.b, step_of(&f, &graphs) == GSA_OK && graphs == 0);
    get(f.b, f.first, f.out, 4 * 8 * f.edges.rows);
    simt_refuse_updates(1000000);
    for (int i = 0; i < 40; i++) {
        touch(&f);
        check(t, step_of(&f, &graphs) == GSA_OK && as_before(&f),
              "step %d, whose update is refused", i);
        if (graphs > 0) with++;
        else without++;
        check(t, graphs == 0 || without == 0, "step %d: graphs again", i);
    }
    simt_refuse_updates(0);
    check(t, with >= 8 && without >= 8, "%d steps as graphs, %d call by call", with, without);
    close_fixture(t, &f);
}

/* Steps of as many calls in two orders: each is an update of the earlier one like it. */
static void two_orders(tally *t)
{
    gsa_backend *b = open_graphs();
    float x[4] = { 1, 2, 3, 4 };
    float *const y = put(b, x, sizeof x);
    for (int i = 0; i < 60; i++) {
        must(b, b->step_begin(b) == GSA_OK);
        for (int call = 0; call < 2; call++)
            must(b, (call == i % 2 ? b->zero_fill(b, y, sizeof x)
                                   : b->add(b, y, y, y, sizeof x / sizeof *x)) == GSA_OK);
        check(t, (end_step(b) > 0) == (i > 0), "step %d of two orders in turn", i);
    }
    b->free(b, y);
    gsa_backend_release(b);
}

static void lost_in_a_step(tally *t)
{
    fixture f;
    int graphs;
    open_fixture(&f);
    must(f.b,
         step_of(&f, &graphs) == GSA_OK && f.b->step_begin(f.b) == GSA_OK && attend(&f) == GSA_OK);
    simt_break(cudaErrorIllegalAddress);
    fails(t, f.b, attend(&f), GSA_ERR_DEVICE, "cudaErrorIllegalAddress");
    fails(t, f.b, f.b->step_end(f.b, &graphs), GSA_ERR_DEVICE, "device is lost");
    fails(t, f.b, f.b->step_begin(f.b), GSA_ERR_DEVICE, "device is lost");
    edges_unload(f.b, &f.edges);
    edges_free(&f.maker);
    gsa_backend_release(f.b);
    simt_reset();
}
#endif

void graphs_case(tally *t)
{
    late(1);
    any_work(t);
    many_uploads(t);
    refused_calls(t);
#if defined(GSA_ON_EXECUTOR)
    for (int nth = 1; nth < 30; nth++) fault_in_a_step(t, INVALID, nth);
    for (int nth = 1; nth < 6; nth++) fault_in_a_step(t, NO_MEMORY, nth);
    for (int i = 0; i < 2; i++) dropped_on_the_way(t, i);
    refused_updates(t);
    two_orders(t);
    lost_in_a_step(t);
#endif
    late(0);
}
