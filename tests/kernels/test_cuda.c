/* The CUDA backend against oracles and ref. One source, two programs: on the SIMT executor
 * (GSA_ON_EXECUTOR, every build), and on a device.
 *
 *   test_cuda_device [CASE...]  all cases without a name; exits 0 passed, 1 failed, 77 no device
 *       (and says why)
 *   test_cuda_device --list          their names
 *
 * It needs neither Check nor fork: a CUDA context does not survive one. */
#include "coverage.h"
#include "cuda_cases.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(GSA_ON_EXECUTOR)
#include "simt.h"
#endif

/* ---- the table of ops that every backend runs ---------------------------------------------- */
/* One shape in one order; returns the hash of all that came out. */
static uint64_t run_shape(tally *t, gsa_backend *b, const op_case *op, int shape, int order)
{
    char name[128];
    rig r;
    const int64_t *s = op->shapes[shape];
    snprintf(name, sizeof name, "%s [%lld %lld %lld %lld %lld], order %d", op->name,
             (long long)s[0], (long long)s[1], (long long)s[2], (long long)s[3], (long long)s[4],
             order);
    use_order(order);
    rig_begin(&r, b, 100 + (uint64_t)shape, RIG_RANDOM, s);
    op->setup(&r);
    check(t, op->forward(&r) == GSA_OK, "%s: %s", name, b->error.text);
    rig_fetch(&r);
    op->oracle(&r);
    check(t, rig_compare(&r, name, 0, 1e-7, 1e-4) == 0, "%s: forward differs", name);
    if (op->backward) {
        check(t, op->backward(&r) == GSA_OK, "%s: %s", name, b->error.text);
        rig_fetch(&r);
        op->oracle_backward(&r);
        check(t, rig_compare(&r, name, 1, 1e-7, 1e-4) == 0, "%s: backward differs", name);
        check(t, rig_compare(&r, name, 0, 1e-7, 1e-4) == 0,
              "%s: backward changed a tensor of forward", name);
    }
    check(t, rig_bands_touched(&r) == 0, "%s: a guard band was touched", name);
    const uint64_t hash = rig_hash(&r);
    rig_end(&r);
    return hash;
}

static void table_case(tally *t)
{
    gsa_backend *b = open_cuda();
    for (int i = 0; op_case_any(i); i++)
        for (int s = 0; s < op_case_any(i)->shape_count; s++) {
            const uint64_t first = run_shape(t, b, op_case_any(i), s, 0),
                           second = run_shape(t, b, op_case_any(i), s, 1 + s % 2);
            check(t, first == second, "%s, shape %d: two runs differ in their bits",
                  op_case_any(i)->name, s);
        }
    gsa_backend_release(b);
}

/* ---- attention against ref on any edges ---------------------------------------------------- */
enum { Q, K, V, R, B, DOUT, OUT, LSE, DQ, DK, DV, DR, DB, WEIGHTS, TENSORS };
enum { BAND = 1024, KINDS = GSA_MAX_KINDS };
static const char *const tensor_names[] = { "q",   "k",  "v",  "r",  "b",  "dout", "out",
                                            "lse", "dq", "dk", "dv", "dr", "db",   "weights" };

typedef struct attend_side { /* one backend's copy of everything */
    gsa_backend *b;
    gsa_edges edges;
    char *whole[TENSORS][KINDS];
    float *at[TENSORS][KINDS];
    int32_t *example_id;
} attend_side;

typedef struct attend_probe {
    const gsa_edges *edges; /* host */
    int32_t heads, dim;
    int flags;
    const char *name;
    float *start[TENSORS][KINDS];
    int64_t count[TENSORS][KINDS], row[TENSORS];
} attend_probe;

static int has_tensor(const attend_probe *p, int tensor)
{
    if (tensor == R || tensor == DR) return (p->flags & WITH_VECTORS) != 0;
    if (tensor == B || tensor == DB) return (p->flags & WITH_BIAS) != 0;
    return tensor != WEIGHTS || (p->flags & WITH_WEIGHTS);
}

static int copies(const attend_probe *p, int tensor)
{
    return tensor == K || tensor == V || tensor == DK || tensor == DV ? p->edges->kinds : 1;
}

static void size_probe(attend_probe *p, gsa_dice *dice)
{
    const int64_t rows = p->edges->rows, width = (int64_t)p->heads * p->dim,
                  labels = p->edges->labels;
    for (int i = 0; i < TENSORS; i++) {
        p->row[i] = i == R || i == DR                               ? p->dim
                    : i == B || i == DB || i == LSE || i == WEIGHTS ? p->heads
                                                                    : width;
        for (int k = 0; k < copies(p, i); k++) {
            const int64_t count = i == K || i == V || i == DK || i == DV   ? p->edges->part_rows[k]
                                  : i == R || i == DR || i == B || i == DB ? labels
                                  : i == WEIGHTS                           ? p->edges->edge_total
                                                                           : rows;
            p->count[i][k] = count * p->row[i];
            p->start[i][k] = calloc((size_t)p->count[i][k] + 1, sizeof(float));
            if (p->start[i][k] == NULL) abort();
            for (int64_t n = 0; n < p->count[i][k]; n++)
                p->start[i][k][n] =
                    i == OUT || i == LSE || i == WEIGHTS ? NAN : (float)gsa_bell(dice);
        }
    }
}

static void open_side(attend_side *side, gsa_backend *b, const attend_probe *p)
{
    memset(side, 0, sizeof *side);
    side->b = b;
    side->edges = edges_upload(b, p->edges);
    for (int i = 0; i < TENSORS; i++)
        for (int k = 0; k < copies(p, i); k++) {
            const int64_t bytes = 4 * p->count[i][k];
            char *bands = malloc((size_t)bytes + 2 * BAND + 16);
            if (bands == NULL) abort();
            memset(bands, 0xA5, (size_t)bytes + 2 * BAND + 16);
            if (bytes > 0) memcpy(bands + BAND, p->start[i][k], (size_t)bytes);
            char *whole = b->alloc(b, bytes + 2 * BAND + 16);
            must(b, whole != NULL);
            side->whole[i][k] = whole;
            whole += (p->flags & MISALIGNED) && i != LSE ? 4 * (i % 3 + 1) : 0;
            must(b, b->upload(b, whole, bands, bytes + 2 * BAND) == GSA_OK);
            side->at[i][k] = (float *)(void *)(whole + BAND);
            free(bands);
        }
    int32_t ids[64];
    for (int e = 0; e < 64; e++) ids[e] = 1000 + 7 * e;
    side->example_id = b->alloc(b, sizeof ids);
    must(b, side->example_id != NULL && b->upload(b, side->example_id, ids, sizeof ids) == GSA_OK);
}

static void close_side(attend_side *side)
{
    for (int i = 0; i < TENSORS; i++)
        for (int k = 0; k < KINDS; k++) side->b->free(side->b, side->whole[i][k]);
    side->b->free(side->b, side->example_id);
    edges_unload(side->b, &side->edges);
}

/* All that backward reads; what forward does not is taken out by it. */
static gsa_attend_args args_of(const attend_probe *p, float *at[TENSORS][KINDS],
                               gsa_part parts[GSA_MAX_KINDS])
{
    for (int k = 0; k < p->edges->kinds; k++) {
        const int from = (p->flags & ALIASED) ? 0 : k;
        parts[k] = (gsa_part){ at[K][from], at[V][from], at[DK][from], at[DV][from] };
    }
    gsa_attend_args args = { .edges = p->edges,
                             .heads = p->heads,
                             .head_dim = p->dim,
                             .scale = 0.5,
                             .q = at[Q][0],
                             .parts = parts,
                             .out = at[OUT][0],
                             .lse = at[LSE][0],
                             .dout = at[DOUT][0],
                             .dq = at[DQ][0] };
    if (p->flags & WITH_VECTORS) args.label_vectors = at[R][0], args.dlabel_vectors = at[DR][0];
    if (p->flags & WITH_BIAS) args.label_bias = at[B][0], args.dlabel_bias = at[DB][0];
    return args;
}

static gsa_status run_side(attend_side *side, const attend_probe *p, int backward)
{
    gsa_part parts[GSA_MAX_KINDS] = { { 0 } };
    gsa_attend_args args = args_of(p, side->at, parts);
    args.edges = &side->edges;
    if (p->flags & WITH_DROPOUT)
        args.dropout = (gsa_dropout){
            .p = 0.25, .seed = 9, .step = 3, .site = 5, .example_id = side->example_id
        };
    if (backward) return side->b->attend_backward(side->b, &args);
    if (p->flags & WITH_WEIGHTS) args.weights = side->at[WEIGHTS][0];
    args.dout = args.dq = args.dlabel_vectors = args.dlabel_bias = NULL;
    return side->b->attend_forward(side->b, &args);
}

/* The tensor with its guard bands. */
static char *fetch_side(attend_side *side, const attend_probe *p, int i, int k)
{
    const int64_t bytes = 4 * p->count[i][k] + 2 * BAND;
    char *at = malloc((size_t)bytes);
    if (at == NULL) abort();
    must(side->b,
         side->b->download(side->b, at, (char *)(void *)side->at[i][k] - BAND, bytes) == GSA_OK);
    return at;
}

static int bands_hold(const char *at, int64_t bytes)
{
    for (int i = 0; i < BAND; i++)
        if ((unsigned char)at[i] != 0xA5 || (unsigned char)at[BAND + bytes + i] != 0xA5) return 0;
    return 1;
}

static int same_db(attend_probe *p, const float *got, const float *want)
{
    gsa_part parts[GSA_MAX_KINDS] = { { 0 } };
    const gsa_attend_args args = args_of(p, p->start, parts);
    return sums_of_slopes(&args, got, want);
}

static void compare_sides(tally *t, attend_side *cuda, attend_side *again, attend_side *ref,
                          attend_probe *p)
{
    for (int i = 0; i < TENSORS; i++)
        for (int k = 0; k < copies(p, i) && has_tensor(p, i); k++) {
            char *got = fetch_side(cuda, p, i, k), *want = fetch_side(ref, p, i, k),
                 *second = fetch_side(again, p, i, k);
            const int64_t bytes = 4 * p->count[i][k];
            const float *const x = (const float *)(void *)(got + BAND),
                               *const y = (const float *)(void *)(want + BAND);
            const int same = i == DB ? same_db(p, x, y) : close_to(x, y, p->count[i][k], p->row[i]);
            check(t, same, "%s: %s differs from ref", p->name, tensor_names[i]);
            check(t, bands_hold(got, bytes), "%s: a guard band of %s was touched", p->name,
                  tensor_names[i]);
            check(t, (p->flags & LOOSE) || memcmp(got, second, (size_t)bytes + 2 * BAND) == 0,
                  "%s: %s: two runs differ in their bits", p->name, tensor_names[i]);
            free(got), free(want), free(second);
        }
}

void attend_pair(tally *t, gsa_backend *cuda, gsa_backend *ref, const gsa_edges *edges,
                 int32_t heads, int32_t dim, int flags, const char *name)
{
    static attend_side sides[3];
    attend_probe p = { .edges = edges, .heads = heads, .dim = dim, .flags = flags, .name = name };
    gsa_dice dice = { 31 + (uint64_t)(dim * 64 + flags) };
    size_probe(&p, &dice);
    for (int s = 0; s < 3; s++) {
        open_side(&sides[s], s < 2 ? cuda : ref, &p);
        use_order(s * (1 + dim % 2));
        check(t, run_side(&sides[s], &p, 0) == GSA_OK, "%s: forward: %s", name,
              sides[s].b->error.text);
        check(t, run_side(&sides[s], &p, 1) == GSA_OK, "%s: backward: %s", name,
              sides[s].b->error.text);
    }
    compare_sides(t, &sides[0], &sides[1], &sides[2], &p);
    for (int s = 0; s < 3; s++) close_side(&sides[s]);
    for (int i = 0; i < TENSORS; i++)
        for (int k = 0; k < copies(&p, i); k++) free(p.start[i][k]);
}

/* ---- every width of a head, with and without what labels bring ----------------------------- */
static const int32_t dims[] = { 0,  1,   2,   3,   5,   6,   8,   10,  12,  15,  16,  17, 20, 24,
                                30, 31,  32,  33,  40,  48,  50,  60,  63,  64,  65,  66, 80, 96,
                                98, 100, 101, 127, 128, 130, 160, 192, 200, 251, 254, 256 };
enum { DIMS = sizeof dims / sizeof *dims };
static const int dim_flags[] = { 0, WITH_VECTORS | WITH_BIAS, WITH_DROPOUT | WITH_WEIGHTS,
                                 WITH_VECTORS | WITH_BIAS | WITH_DROPOUT | WITH_WEIGHTS |
                                     MISALIGNED };
enum { DIM_FLAGS = sizeof dim_flags / sizeof *dim_flags };

void every_width(tally *t, const both *pair, int extra)
{
    for (int d = 0; d < DIMS; d++)
        for (int f = 0; f < DIM_FLAGS; f++) {
            char name[64];
            edges_maker maker;
            gsa_dice dice = { (uint64_t)(d * 10 + f) };
            snprintf(name, sizeof name, "head_dim %d, flags %d", (int)dims[d], dim_flags[f]);
            edges_random(&maker, &dice,
                         (edges_wish){ .examples = 2,
                                       .kinds = 2,
                                       .row_kinds = 1,
                                       .labels = 7,
                                       .nodes = dims[d] > 100 ? 12 : 24 });
            attend_pair(t, pair->cuda, pair->ref, &maker.view, 1 + (d + f) % 3, dims[d],
                        dim_flags[f] | extra, name);
            edges_free(&maker);
        }
}

static void dims_case(tally *t)
{
    both pair = open_both();
    every_width(t, &pair, 0);
    close_both(&pair);
}

/* ---- hubs: rows and sources with more edges than one group takes --------------------------- */
void hub_graph(edges_maker *m, int form, int32_t labels)
{
    const int64_t part_rows[2] = { 40, 24 };
    edges_begin(m, 2, part_rows, labels);
    for (int32_t row = 0; row < 6; row++) {
        edges_row(m, 0, row);
        const int32_t many = form == 0 ? 12 : row == 2 ? 400 : row == 4 ? 129 : 2;
        for (int32_t r = 0; r < many; r++) {
            if (form == 0 && row % 2)
                edges_run(m, (gsa_run){ .first = 0, .count = 40, .step = 1, .label = r % labels });
            else if (form == 0 && row == 4)
                edges_run(m, (gsa_run){ .first = 23,
                                        .count = 24,
                                        .step = -1,
                                        .kind = 1,
                                        .label = 0,
                                        .label_step = labels >= 24 });
            else if (form == 1)
                edges_run(
                    m, (gsa_run){ .first = r % 3 ? 7 : r % 40, .count = 1, .label = r % labels });
            else if (form == 2)
                edges_run(m, (gsa_run){ .first = 5,
                                        .count = 4,
                                        .step = 0,
                                        .kind = r % 2,
                                        .label = (r + row) % labels });
        }
    }
    edges_done(m, 0, 0, NULL);
}

void every_hub(tally *t, const both *pair, int extra)
{
    static const int flags[] = { 0, WITH_VECTORS, WITH_BIAS,
                                 WITH_VECTORS | WITH_BIAS | WITH_DROPOUT | WITH_WEIGHTS };
    for (int form = 0; form < 3; form++)
        for (int f = 0; f < 4; f++)
            for (int d = 0; d < 4; d++) {
                static const int32_t widths[] = { 4, 10, 25, 64 };
                char name[64];
                edges_maker maker;
                snprintf(name, sizeof name, "hubs %d, head_dim %d, flags %d", form, (int)widths[d],
                         flags[f]);
                hub_graph(&maker, form, d % 2 ? 40 : 3);
                attend_pair(t, pair->cuda, pair->ref, &maker.view, d == 3 ? 1 : 2, widths[d],
                            flags[f] | extra, name);
                edges_free(&maker);
            }
}

static void hubs_case(tally *t)
{
    both pair = open_both();
    every_hub(t, &pair, 0);
    aggregate_hubs(t, &pair);
    close_both(&pair);
}

/* ---- values that are not numbers, and plans that must be forgotten ------------------------- */
static void nan_stays_nan(tally *t, gsa_backend *b)
{
    const float x[4] = { 1, NAN, -2, 3 }, ones[4] = { 1, 1, 1, 1 };
    const int64_t offset[2] = { 0, 4 };
    const int32_t target = 0;
    float y[4];
    int32_t arg;
    float *dx = put(b, x, sizeof x), *done = put(b, ones, sizeof ones),
          *dy = put(b, ones, sizeof ones);
    int64_t *doffset = put(b, offset, sizeof offset);
    int32_t *dtarget = put(b, &target, sizeof target), *darg = put(b, &target, sizeof target);
    for (int kind = GSA_RELU; kind <= GSA_SIGMOID; kind++) {
        b->activate_forward(b, dy, dx, kind, 4);
        get(b, y, dy, sizeof y);
        check(t, isnan(y[1]) && isfinite(y[0]) && isfinite(y[2]), "activation %d loses a NaN",
              kind);
    }
    b->norm_forward(b, dy, dy, dy, dx, done, done, 1e-5, 1, 4);
    get(b, y, dy, sizeof y);
    check(t, isnan(y[0]) && isnan(y[3]), "norm loses a NaN");
    b->pool_forward(b, dy, darg, dx, doffset, 1, 1, 1);
    get(b, y, dy, 4);
    get(b, &arg, darg, 4);
    check(t, isnan(y[0]) && arg == 1, "the maximum loses a NaN: %g from row %d", (double)y[0],
          (int)arg);
    b->cross_entropy_forward(b, dy, NULL, dx, dtarget, 0, 1, 1, 4);
    get(b, y, dy, 4);
    check(t, isnan(y[0]), "cross-entropy loses a NaN");
    void *all[] = { dx, done, dy, doffset, dtarget, darg };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) b->free(b, all[i]);
}

/* NaN in one key: the rows that read it are NaN, others are not. */
static void nan_in_attention(tally *t, gsa_backend *b)
{
    edges_maker m;
    const int64_t part_rows[1] = { 3 };
    float x[12], out[8], lse[2];
    for (int i = 0; i < 12; i++) x[i] = i == 4 ? NAN : 0.25f * (float)i;
    edges_begin(&m, 1, part_rows, 1);
    edges_row(&m, 0, 0);
    edges_run(&m, (gsa_run){ .first = 0, .count = 2, .step = 1 });
    edges_row(&m, 0, 1);
    edges_run(&m, (gsa_run){ .first = 0, .count = 2, .step = 2 });
    gsa_edges edges = edges_upload(b, edges_done(&m, 0, 0, NULL));
    float *dx = put(b, x, sizeof x), *dout = put(b, x, sizeof out), *dlse = put(b, x, sizeof lse);
    gsa_part parts[GSA_MAX_KINDS] = { { .k = dx, .v = dx } };
    const gsa_attend_args args = { .edges = &edges,
                                   .heads = 1,
                                   .head_dim = 4,
                                   .scale = 1,
                                   .q = dx + 0,
                                   .parts = parts,
                                   .out = dout,
                                   .lse = dlse };
    check(t, b->attend_forward(b, &args) == GSA_OK, "%s", b->error.text);
    get(b, out, dout, sizeof out);
    get(b, lse, dlse, sizeof lse);
    check(t, isnan(out[0]) && isnan(out[3]) && isnan(lse[0]), "attention loses a NaN");
    check(t, isnan(lse[1]), "a NaN in q is lost");
    edges_unload(b, &edges);
    edges_free(&m);
    b->free(b, dx), b->free(b, dout), b->free(b, dlse);
}

/* Other edges uploaded to the same place: the plan of the old ones is not used. */
static void plans_are_forgotten(tally *t, both *pair)
{
    gsa_run runs[2][4];
    const int64_t run_offset[3] = { 0, 2, 4 }, edge_offset[3] = { 0, 3, 6 };
    float x[8], got[2][8], want[8];
    gsa_backend *const b = pair->cuda;
    for (int i = 0; i < 8; i++) x[i] = (float)(i * i);
    for (int v = 0; v < 2; v++)
        for (int r = 0; r < 4; r++)
            runs[v][r] = (gsa_run){ .first = v ? 1 : r, .count = r % 2 ? 1 : 2 };
    gsa_edges edges = { .rows = 2,
                        .run_total = 4,
                        .edge_total = 6,
                        .kinds = 1,
                        .labels = 1,
                        .part_rows = { 4 },
                        .examples = 1 };
    void *at = put(b, runs[0], sizeof runs[0]), *dx = put(b, x, sizeof x),
         *dy = put(b, x, sizeof x);
    edges.runs = at, edges.run_offset = put(b, run_offset, sizeof run_offset),
    edges.edge_offset = put(b, edge_offset, sizeof edge_offset);
    gsa_part parts[GSA_MAX_KINDS] = { { .v = dx } };
    for (int v = 0; v < 2; v++) {
        void *dv = put(b, (float[8]){ 0 }, sizeof x);
        must(b, b->upload(b, at, runs[v], sizeof runs[v]) == GSA_OK);
        parts[0].dv = dv;
        must(b, b->aggregate_forward(b, dy, &edges, parts, 0, 2) == GSA_OK &&
                    b->aggregate_backward(b, parts, dy, &edges, 0, 2) == GSA_OK);
        get(b, got[v], dv, sizeof x);
        b->free(b, dv);
        gsa_edges host = edges;
        const gsa_rows block = { 0, 2 };
        const int64_t blocks[2] = { 0, 1 };
        host.runs = runs[v], host.run_offset = run_offset, host.edge_offset = edge_offset,
        host.blocks = &block, host.block_offset = blocks;
        float y[4];
        memset(want, 0, sizeof want);
        gsa_part plain[GSA_MAX_KINDS] = { { .v = x, .dv = want } };
        must(pair->ref, pair->ref->aggregate_forward(pair->ref, y, &host, plain, 0, 2) == GSA_OK);
        must(pair->ref, pair->ref->aggregate_backward(pair->ref, plain, y, &host, 0, 2) == GSA_OK);
        check(t, memcmp(got[v], want, sizeof want) == 0,
              "edges %d at the same place: an old plan was used", v);
    }
}

/* Ids that go on through several chunks of sorted rows, start and end inside them, or are not
 * wanted. */
static void long_scatters(tally *t, both *pair)
{
    enum { ROWS = 700, COLS = 37, TABLE = 5 };
    static float dy[ROWS * COLS], want[TABLE * COLS], got[TABLE * COLS];
    static int32_t ids[ROWS];
    gsa_dice dice = { 3 };
    for (int i = 0; i < ROWS * COLS; i++) dy[i] = (float)gsa_normal(&dice);
    for (int form = 0; form < 4; form++) {
        for (int i = 0; i < ROWS; i++)
            ids[i] = form == 0   ? 2
                     : form == 1 ? (int)gsa_between(&dice, -1, TABLE - 1)
                     : form == 2 ? i / 64 % TABLE
                                 : i == 77;
        memset(want, 0, sizeof want);
        must(pair->ref, pair->ref->gather_backward(pair->ref, want, dy, ids, form == 1, 0.5, ROWS,
                                                   COLS, TABLE) == GSA_OK);
        void *dtable = put(pair->cuda, (float[TABLE * COLS]){ 0 }, sizeof got),
             *ddy = put(pair->cuda, dy, sizeof dy), *dids = put(pair->cuda, ids, sizeof ids);
        use_order(form);
        must(pair->cuda, pair->cuda->gather_backward(pair->cuda, dtable, ddy, dids, form == 1, 0.5,
                                                     ROWS, COLS, TABLE) == GSA_OK);
        get(pair->cuda, got, dtable, sizeof got);
        check(t, close_to(got, want, TABLE * COLS, COLS), "gather_backward of long ids, form %d",
              form);
        pair->cuda->free(pair->cuda, dtable), pair->cuda->free(pair->cuda, ddy),
            pair->cuda->free(pair->cuda, dids);
    }
}

static void special_case(tally *t)
{
    both pair = open_both();
    long_scatters(t, &pair);
    nan_stays_nan(t, pair.cuda);
    nan_in_attention(t, pair.cuda);
    plans_are_forgotten(t, &pair);
    close_both(&pair);
}

/* ---- what a caller can get wrong ----------------------------------------------------------- */
static void arguments_case(tally *t)
{
    gsa_backend *b = open_cuda(), *none = NULL;
    gsa_error error = { 0 };
    const int32_t ids[4] = { 0, 5, -1, 1 };
    float y[8], *x = put(b, (float[8]){ 0 }, 32), *z = put(b, (float[8]){ 0 }, 32);
    int32_t *dids = put(b, ids, sizeof ids);
    gsa_edges edges = { .rows = 1, .kinds = 1 };
    gsa_part parts[GSA_MAX_KINDS] = { { 0 } };
    gsa_attend_args args = { .edges = &edges, .heads = -1, .head_dim = 2, .parts = parts };
    const gsa_dropout all = { .p = 1 }, far = { .p = 0.5, .site = 1u << 20 };
    fails(t, b, b->gemm(b, z, x, x, -1, 1, 1, 0, 0, 1, 1, 1, 0), GSA_ERR_ARGUMENT, "-1");
    fails(t, b, b->gemm(b, z, x, x, 1, 2, 1, 0, 0, 1, 1, 2, 0), GSA_ERR_ARGUMENT, "ldc");
    fails(t, b, b->add(b, z, x, x, -3), GSA_ERR_ARGUMENT, "-3");
    fails(t, b, b->bias_forward(b, z, x, INT64_C(1) << 40, INT64_C(1) << 40), GSA_ERR_LIMIT,
          "64 bits");
    fails(t, b, b->activate_forward(b, z, x, 17, 1), GSA_ERR_ARGUMENT, "17");
    fails(t, b, b->norm_forward(b, z, z, z, x, x, x, 1e-5, 1, 0), GSA_ERR_ARGUMENT, "0 columns");
    fails(t, b, b->dropout_forward(b, z, x, &all, 1, 1), GSA_ERR_ARGUMENT, "p = 1");
    fails(t, b, b->dropout_forward(b, z, x, &far, 1, 1), GSA_ERR_ARGUMENT, "1048576");
    fails(t, b, b->pool_forward(b, z, NULL, x, NULL, 1, 1, 1), GSA_ERR_ARGUMENT, "arg");
    fails(t, b, b->clip(b, NULL, NULL, -1, 0), GSA_ERR_ARGUMENT, "-1");
    fails(t, b, b->attend_forward(b, &args), GSA_ERR_ARGUMENT, "-1 heads");
    fails(t, b, b->zero_fill(b, x, -8), GSA_ERR_ARGUMENT, "-8");
    check(t, b->alloc(b, -1) == NULL, "alloc of -1 bytes");
    /* what the device finds: at the next download, and only there */
    check(t, b->gather_forward(b, z, x, dids, 1, 0, 4, 1, 5) == GSA_OK, "%s", b->error.text);
    fails(t, b, b->download(b, y, z, 16), GSA_ERR_ARGUMENT, "gather_forward: id 1");
    check(t, b->download(b, y, z, 16) == GSA_OK, "the fault is reported twice: %s", b->error.text);
    b->gather_backward(b, z, x, dids, 0, 1, 4, 1, 5);
    fails(t, b, b->download(b, y, z, 16), GSA_ERR_ARGUMENT, "gather_backward: id 1");
    const int64_t offset[2] = { 0, 2 };
    int64_t *doffset = put(b, offset, sizeof offset);
    b->segment_entropy_forward(b, z, x, doffset, dids + 1, 1, 1, 2, 1);
    fails(t, b, b->download(b, y, z, 4), GSA_ERR_ARGUMENT, "segment_entropy: target of segment 0");
    b->free(b, doffset);
    fails(t, b, b->cross_entropy_forward(b, z, NULL, x, dids, 1, 1, 2, 2), GSA_ERR_ARGUMENT,
          "smoothing of 1");
    fails(t, b, gsa_cuda_choose_attention(b, -1), GSA_ERR_ARGUMENT, "attention -1");
    b->cross_entropy_forward(b, z, NULL, x, dids, 0, 1, 2, 2);
    fails(t, b, b->download(b, y, z, 4), GSA_ERR_ARGUMENT, "target 1");
    b->free(b, x), b->free(b, z), b->free(b, dids);
    gsa_backend_release(b);
    check(t,
          gsa_backend_cuda(NULL, GSA_F64, 0, &none, &error) == GSA_ERR_UNSUPPORTED &&
              strstr(error.text, "float"),
          "'%s'", error.text);
    check(t,
          gsa_backend_cuda(NULL, GSA_F32, 999, &none, &error) == GSA_ERR_UNSUPPORTED &&
              strstr(error.text, "999"),
          "'%s'", error.text);
    edges_maker maker;
    gsa_dice dice = { 5 };
    b = open_cuda();
    edges_random(
        &maker, &dice,
        (edges_wish){ .examples = 1, .kinds = 1, .row_kinds = 1, .labels = 1, .nodes = 9 });
    args = (gsa_attend_args){ .edges = &maker.view, .heads = 1, .head_dim = 257, .parts = parts };
    gsa_edges uploaded = edges_upload(b, &maker.view);
    args.edges = &uploaded;
    fails(t, b, b->attend_forward(b, &args), GSA_ERR_UNSUPPORTED, "257");
#if defined(GSA_CHECKED)
    maker.runs[maker.view.run_total / 2].first =
        1000000; /* checked builds scan the runs when edges are first used */
    gsa_edges wrong = edges_upload(b, &maker.view);
    args.edges = &wrong, args.head_dim = 4;
    fails(t, b, b->attend_forward(b, &args), GSA_ERR_FORMAT, "is out of range");
    edges_unload(b, &wrong);
#endif
    edges_unload(b, &uploaded);
    edges_free(&maker);
    gsa_backend_release(b);
}

/* ---- memory -------------------------------------------------------------------------------- */
static void memory_case(tally *t)
{
    gsa_backend *b = open_cuda();
    float x[4] = { 1, 2, 3, 4 }, y[4] = { 0 };
    check(t, b->alloc(b, INT64_C(1) << 50) == NULL && b->error.status == GSA_ERR_MEMORY,
          "2^50 bytes were given");
    check(t,
          strstr(b->error.text, "1125899906842624 bytes asked") && strstr(b->error.text, "free of"),
          "'%s'", b->error.text);
    void *at = put(b, x, sizeof x);
    get(b, y, at, sizeof y);
    check(t, memcmp(x, y, sizeof x) == 0, "the backend is not usable after it ran out of memory");
    for (int i = 0; i < 200; i++) {
        void *more = b->alloc(b, 1 + i % 7);
        check(t, more != NULL && (uintptr_t)more % 64 == 0, "memory is not aligned");
        b->free(b, more);
    }
    b->free(b, at);
    b->free(b, NULL);
    const int64_t large = (9 << 20) + 3; /* several stages of an upload */
    unsigned char *host = malloc((size_t)large), *back = malloc((size_t)large);
    if (!host || !back) abort();
    for (int64_t i = 0; i < large; i++) host[i] = (unsigned char)(i * 7 + i / 1000);
    at = put(b, host, large);
    get(b, back, at, large);
    check(t, memcmp(host, back, (size_t)large) == 0, "an upload of several stages");
    b->free(b, at);
    free(host), free(back);
    gsa_backend_release(b);
#if defined(GSA_ON_EXECUTOR)
    check(t, simt_live() == 0, "%lld allocations are left", (long long)simt_live());
    /* every allocation of opening, and of a backward pass, fails once: a status, nothing lost,
     * usable afterwards */
    edges_maker maker;
    gsa_dice dice = { 77 };
    edges_random(
        &maker, &dice,
        (edges_wish){ .examples = 1, .kinds = 2, .row_kinds = 1, .labels = 5, .nodes = 40 });
    for (int nth = 1; nth < 90; nth++) { /* from 40 on with products in bf16 */
        gsa_error error = { 0 };
        simt_fail_malloc(nth < 40 ? nth : 0);
        if (gsa_backend_cuda(NULL, GSA_F32, 0, &b, &error) != GSA_OK) {
            check(t, error.status == GSA_ERR_MEMORY && simt_live() == 0,
                  "allocation %d at opening: '%s', %lld left", nth, error.text,
                  (long long)simt_live());
            continue;
        }
        simt_fail_malloc(0);
        attend_probe p = { .edges = &maker.view,
                           .heads = 2,
                           .dim = 8,
                           .flags = WITH_VECTORS | WITH_BIAS,
                           .name = "memory" };
        attend_side side;
        size_probe(&p, &dice);
        open_side(&side, b, &p);
        if (nth >= 40) must(b, gsa_cuda_choose_attention(b, GSA_CUDA_BF16) == GSA_OK);
        simt_fail_malloc(nth < 40 ? nth - 3 : nth - 39);
        const gsa_status forward = run_side(&side, &p, 0), backward = run_side(&side, &p, 1);
        simt_fail_malloc(0);
        check(t,
              (forward == GSA_OK || forward == GSA_ERR_MEMORY) &&
                  (backward == GSA_OK || backward == GSA_ERR_MEMORY),
              "allocation %d: %s", nth, b->error.text);
        check(t, run_side(&side, &p, 0) == GSA_OK && run_side(&side, &p, 1) == GSA_OK,
              "after allocation %d: %s", nth, b->error.text);
        close_side(&side);
        for (int i = 0; i < TENSORS; i++)
            for (int k = 0; k < copies(&p, i); k++) free(p.start[i][k]);
        gsa_backend_release(b);
        check(t, simt_live() == 0, "allocation %d: %lld are left", nth, (long long)simt_live());
    }
    edges_free(&maker);
#endif
}

/* ---- a device that is lost: everything fails at once, nothing is read ---------------------- */
static void lost_case(tally *t)
{
#if defined(GSA_ON_EXECUTOR)
    gsa_backend *b = open_cuda();
    float x[4] = { 1, 2, 3, 4 }, y[4] = { 9, 9, 9, 9 };
    void *at = put(b, x, sizeof x);
    simt_break(cudaErrorIllegalAddress);
    must(b, b->add(b, at, at, at, 4) == GSA_OK); /* waits */
    fails(t, b, b->accumulate(b, at, at, 1, 4), GSA_ERR_DEVICE, "cudaErrorIllegalAddress");
    fails(t, b, b->download(b, y, at, sizeof y), GSA_ERR_DEVICE, "device is lost");
    check(t, y[0] == 9 && y[3] == 9, "something was read from a lost device");
    fails(t, b, b->upload(b, at, x, sizeof x), GSA_ERR_DEVICE, "device is lost");
    check(t, b->alloc(b, 8) == NULL && b->error.status == GSA_ERR_DEVICE,
          "memory of a lost device");
    gsa_backend_release(b);
    simt_reset();
    simt_devices(0);
    gsa_error error = { 0 };
    check(t,
          gsa_backend_cuda(NULL, GSA_F32, 0, &b, &error) == GSA_ERR_UNSUPPORTED &&
              strstr(error.text, "no device"),
          "'%s'", error.text);
    simt_devices(1);
    simt_capability(70);
    check(t,
          gsa_backend_cuda(NULL, GSA_F32, 0, &b, &error) == GSA_ERR_UNSUPPORTED &&
              strstr(error.text, "compute capability 7.0, at least 7.5 is needed"),
          "'%s'", error.text);
    simt_capability(90);
#else
    gsa_backend *b = open_cuda();
    float x[4] = { 1, 2, 3, 4 }, y[4] = { 9, 9, 9, 9 };
    void *at = put(b, x, sizeof x), *nowhere = (void *)(uintptr_t)4096;
    b->add(b, nowhere, at, at, 4); /* a kernel writes where no memory is: the context is gone */
    fails(t, b, b->download(b, y, at, sizeof y), GSA_ERR_DEVICE, "device is lost");
    check(t, y[0] == 9 && y[3] == 9, "something was read from a lost device");
    fails(t, b, b->add(b, at, at, at, 4), GSA_ERR_DEVICE, "device is lost");
    fails(t, b, b->upload(b, at, x, sizeof x), GSA_ERR_DEVICE, "device is lost");
    check(t, b->alloc(b, 8) == NULL && b->error.status == GSA_ERR_DEVICE,
          "memory of a lost device");
    gsa_backend_release(b);
#endif
}

/* ---- how much is compared ------------------------------------------------------------------ */
static void count_missing(const char *name, void *context)
{
    static const char *const memory[] = { "release",       "alloc",      "free",     "upload",
                                          "download",      "step_begin", "step_end", "upload_ahead",
                                          "upload_arrive", "aside",      "back",     "meet" };
    int known = entry_covered(name, 0);
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        known |= strcmp(name, memory[i]) == 0;
    if (!known) fprintf(stderr, "%s: no case covers this entry of gsa_backend\n", name);
    *(int *)context += !known;
}

static void coverage_case(tally *t)
{
    int total = 2 * (2 * DIMS * DIM_FLAGS + 2 * 3 * 4 * 4 + 2 * topology_specs() * 5), missing = 0;
    for (int i = 0; op_case_any(i); i++)
        total += op_case_any(i)->shape_count * (op_case_any(i)->backward ? 2 : 1);
    gsa_backend *b = open_cuda();
    check(t, each_entry(GSA_BACKEND_HEADER, count_missing, &missing) >= 38 && missing == 0,
          "%d entries have no case", missing);
    check(t, total >= 500, "%d cases", total);
    printf("%d cases (op x shape x direction), each twice; multiplied and sorted by %s\n", total,
#if defined(GSA_ON_EXECUTOR)
           "plain loops: cuBLAS and CUB are skipped here");
#else
           "cuBLAS and CUB");
#endif
    void *const *entry = (void *const *)(const void *)&b->release;
    for (; entry <= (void *const *)(const void *)&b->segment_entropy_backward; entry++)
        check(t, *entry != NULL, "an entry of the table is NULL");
    check(t, b->gemm_part == NULL, "gemm_part, which is for the host's memory, is not NULL");
    gsa_backend_release(b);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(tally *t);
    } cases[] = {
        { "table", table_case },
        { "dims", dims_case },
        { "hubs", hubs_case },
        { "topology", topology_case },
        { "special", special_case },
        { "arguments", arguments_case },
        { "memory", memory_case },
        { "lost", lost_case },
        { "coverage", coverage_case },
        { "crf", crf_case },
        { "sparse", sparse_case },
        { "products", products_case },
        { "graphs", graphs_case },
        { "random", random_case },
        { "calls", calls_case },
#if !defined(GSA_ON_EXECUTOR)
        { "large", large_case }
#endif
    };
    tally t = { 0, 0 };
    int ran = 0;
    const int list = argc > 1 && strcmp(argv[1], "--list") == 0;
    for (size_t i = 0; list && i < sizeof cases / sizeof *cases; i++) puts(cases[i].name);
    if (list) return 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int wanted = argc < 2;
        for (int a = 1; a < argc; a++) wanted |= strcmp(argv[a], cases[i].name) == 0;
        if (!wanted) continue;
        cases[i].run(&t);
        ran++;
    }
    printf("Checks: %d, Failures: %d\n", t.checks, t.failures);
    return t.failures > 0 || ran == 0 ? 1 : 0;
}
