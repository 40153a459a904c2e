/* Plans made on the device are those that graph/plan.c makes on the host: out-edges in the same order, the same expansion, pieces
 * that cover every hub once. One source, two programs without Check: on the executor (GSA_ON_EXECUTOR), and on a device, where CUB
 * sorts and adds; 77: there is none. */
extern "C" {
#include "support/edges_of.h"
#include "support/thin.h"
}
#include "kernels/cuda.h"
#include "kernels/cuda/plan.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int checks, failures;

static void check(int good, const char *what, int graph)
{
    checks++;
    if (good) return;
    failures++;
    fprintf(stderr, "FAILED: graph %d: %s\n", graph, what);
}

/* An array of the device on the host; the caller frees it. */
template <class T> static T *fetch(gsa_backend *b, const T *at, int64_t count)
{
    T *host = (T *)malloc(sizeof(T) * (size_t)(count + 1));
    if (host == NULL || b->download(b, host, at, (int64_t)sizeof(T) * count) != GSA_OK) abort();
    return host;
}

static void compare_out(gsa_backend *b, const gsa_plan *host, const gsa_cuda_plan *device, int graph)
{
    int64_t *offset = fetch(b, device->out_offset, device->sources + 1);
    gsa_transposed *out = fetch(b, device->out, host->edges);
    check(device->sources == host->sources, "the number of sources", graph);
    check(memcmp(offset, host->out_offset, sizeof *offset * (size_t)(host->sources + 1)) == 0, "where out-edges start",
          graph);
    check(host->edges == 0 || memcmp(out, host->out, sizeof *out * (size_t)host->edges) == 0, "the out-edges", graph);
    free(offset);
    free(out);
}

static void compare_entries(gsa_backend *b, const gsa_plan *host, const gsa_cuda_plan *device, int graph)
{
    gsa_cuda_entry *entry = fetch(b, device->entries, host->edges);
    int same = 1;
    for (int64_t e = 0; e < host->edges; e++) {
        const int64_t source = host->part_first[entry[e].tag % GSA_MAX_KINDS] + entry[e].source;
        same = same && source == host->csr_source[e] && (int32_t)(entry[e].tag / GSA_MAX_KINDS) == host->csr_label[e];
    }
    check(same, "the expanded edges", graph);
    free(entry);
}

/* Rows longer than `length` have as many pieces as hold them, the others none; each piece knows its row. */
static void compare_cut(gsa_backend *b, const gsa_cuda_cut *cut, const int64_t *offset, int64_t rows, int graph)
{
    int good = 1;
    if (cut->piece == NULL) {
        for (int64_t row = 0; row < rows; row++) good = good && offset[row + 1] - offset[row] <= cut->length;
        check(good, "a hub without pieces", graph);
        return;
    }
    int64_t *piece = fetch(b, (const int64_t *)cut->piece, rows + 1);
    int32_t *owner = fetch(b, (const int32_t *)cut->owner, cut->bound);
    for (int64_t row = 0; row < rows; row++) {
        const int64_t degree = offset[row + 1] - offset[row];
        good = good && piece[row + 1] - piece[row] == (degree > cut->length ? (degree + cut->length - 1) / cut->length : 0);
        for (int64_t p = piece[row]; p < piece[row + 1]; p++) good = good && owner[p] == row;
    }
    check(good && piece[rows] <= cut->bound, "the pieces of hubs", graph);
    free(piece);
    free(owner);
}

static void compare_graph(gsa_backend *b, const gsa_edges *edges, int graph)
{
    gsa_plan *host = NULL;
    const gsa_cuda_plan *device = NULL, *again = NULL;
    gsa_edges uploaded = edges_upload(b, edges);
    if (gsa_plan_create(NULL, edges, NULL, &host, NULL) != GSA_OK) abort();
    check(gsa_cuda_plan_of(b, "test", &uploaded, GSA_PLAN_OUT, &device) == GSA_OK, b->error.text, graph);
    compare_out(b, host, device, graph);
    compare_entries(b, host, device, graph);
    compare_cut(b, &device->in, edges->edge_offset, edges->rows, graph);
    compare_cut(b, &device->out_cut, host->out_offset, host->sources, graph);
    check(gsa_cuda_plan_of(b, "test", &uploaded, GSA_PLAN_IN, &again) == GSA_OK && again == device, "the plan is not found again",
          graph);
    edges_unload(b, &uploaded);
    gsa_plan_release(NULL, host);
}

static void compare_graphs(int first, int last)
{
    gsa_backend *b = NULL;
    gsa_error error = {};
    if (gsa_backend_cuda(NULL, GSA_F32, 0, &b, &error) != GSA_OK) {
        printf("skipped: %s\n", error.text);
        exit(77);
    }
    for (int graph = first; graph < last; graph++) {
        edges_maker maker;
        gsa_dice dice = { (uint64_t)graph * 31 + 7 };
        edges_wish wish = {};
#if defined(GSA_ON_EXECUTOR)
        simt_order(graph % 2 ? SIMT_RANDOM : SIMT_REVERSE, (uint64_t)graph + 1);
#endif
        wish.examples = 1 + graph % 3, wish.kinds = 1 + graph % 4, wish.row_kinds = 1, wish.labels = 9;
        wish.nodes = graph % 10 == 0 ? 400 : 30;
        compare_graph(b, edges_random(&maker, &dice, wish), graph);
        edges_free(&maker);
    }
    gsa_backend_release(b);
}

/* ---- other numbers in the tuning's row: blocks of rows whose sums by label are in memory together, lengths of a hub's pieces */
enum { DIM = 12, HEADS = 2, WIDTH = DIM * HEADS, RESULTS = 6 };
enum { DQ = 2, DK = 4, DV = 8, DR = 16, DB = 32 }; /* a bit of each result */

struct gradients {
    float *at[RESULTS]; /* out, dq, dk, dv of kind 0, dr, db */
    int64_t count[RESULTS];
};

struct knobs {
    int64_t label_bytes;
    int32_t hub_edges, hub_chunks; /* 0: as they are */
    double scale;
    int keep_plans = 0;
    int64_t slope_bytes = INT64_C(1) << 30;
    int without = 0; /* bits of gradients that are not wanted */
    int set = 0;     /* what dq, dk and dv hold is written over */
    int shared = 0;  /* kinds have the planes of kind 0 */
};

static float *fill(gsa_backend *b, int64_t count, uint64_t seed, int zero)
{
    gsa_dice dice = { seed };
    float *host = (float *)calloc((size_t)count + 1, sizeof *host);
    if (host == NULL) abort();
    for (int64_t i = 0; i < count && !zero; i++) host[i] = (float)gsa_bell(&dice);
    float *at = (float *)b->alloc(b, count * 4);
    if (at == NULL || b->upload(b, at, host, count * 4) != GSA_OK) abort();
    free(host);
    return at;
}

static gradients run_tuned(gsa_backend *b, const gsa_edges *edges, const knobs *with, int graph)
{
    const gsa_cuda_tuning *const own = gsa_cuda_of(b)->tuning;
    gsa_cuda_tuning small = *own;
    gsa_part parts[GSA_MAX_KINDS] = {};
    gsa_attend_args args = {};
    void *made[6 + 4 * GSA_MAX_KINDS];
    int n = 0;
    small.label_bytes = with->label_bytes, small.slope_bytes = with->slope_bytes;
    if (with->hub_edges) small.hub_edges = with->hub_edges, small.hub_chunks = with->hub_chunks;
    gsa_cuda_of(b)->tuning = &small;
    if (!with->keep_plans) gsa_cuda_forget_plans(b);
    for (int k = 0; k < edges->kinds; k++) {
        float *plane[4];
        for (int i = 0; i < 4; i++)
            made[n++] = plane[i] = fill(b, edges->part_rows[k] * WIDTH, (uint64_t)(40 + 4 * k + i), i > 1 && !with->set);
        parts[k] = gsa_part{ plane[0], plane[1], plane[2], plane[3] };
        if (with->without & DK) parts[k].dk = NULL;
        if (with->without & DV) parts[k].dv = NULL;
        if (with->shared) parts[k] = parts[0];
    }
    const int64_t rows = edges->rows * WIDTH, labels = edges->labels;
    float *const q = fill(b, rows, 1, 0), *const dout = fill(b, rows, 2, 0), *const r = fill(b, labels * DIM, 3, 0),
                 *const out = fill(b, rows, 0, 1), *const lse = fill(b, edges->rows * HEADS, 0, 1);
    gradients got = { { out, fill(b, rows, 4, !with->set), (float *)made[2], (float *)made[3], fill(b, labels * DIM, 0, 1),
                        fill(b, labels * HEADS, 0, 1) },
                      { rows, rows, edges->part_rows[0] * WIDTH, edges->part_rows[0] * WIDTH, labels * DIM,
                        labels * HEADS } };
    args.edges = edges, args.heads = HEADS, args.head_dim = DIM, args.scale = with->scale, args.parts = parts;
    args.q = q, args.dout = dout, args.label_vectors = r, args.out = out, args.lse = lse;
    args.dq = with->without & DQ ? NULL : got.at[1];
    args.dlabel_vectors = with->without & DR ? NULL : got.at[4];
    args.dlabel_bias = with->without & DB ? NULL : got.at[5];
    if (with->set) args.set_dq = 1, args.set_dk = args.set_dv = with->shared ? 1 : UINT64_MAX;
    check(b->attend_forward(b, &args) == GSA_OK && b->attend_backward(b, &args) == GSA_OK, b->error.text, graph);
    for (int i = 0; i < RESULTS; i++) {
        float *const at = got.at[i];
        got.at[i] = fetch(b, (const float *)at, got.count[i]);
        if (i == 1 || i > 3) b->free(b, at);
    }
    for (int i = 0; i < n; i++) b->free(b, made[i]);
    b->free(b, q), b->free(b, dout), b->free(b, r), b->free(b, out), b->free(b, lse);
    gsa_cuda_of(b)->tuning = own;
    return got;
}

static void drop(gradients *g)
{
    for (int i = 0; i < RESULTS; i++) free(g->at[i]);
}

/* The first `same` results in every bit, the others up to the order of sums. far: the scale of scores that are far apart, or 0. Then a row's
 * weights are nearly 1 and 0, and the slopes that dq and dk sum cancel: they are compared with the size of their terms, about
 * scale * sqrt(DIM), and the label gradients not at all. A float near a thousand, as the scores are, is within 6e-5. */
static void compare_tuned(const gradients *whole, gradients *other, int same, double far, const char *what, int graph)
{
    for (int i = 0; i < (far > 0 ? 4 : RESULTS); i++) {
        double gap = 0, all = i == 1 || i == 2 ? far * far * DIM * (double)whole->count[i] : 1e-30;
        for (int64_t n = 0; n < whole->count[i]; n++) {
            const double x = whole->at[i][n], y = other->at[i][n];
            gap += (x - y) * (x - y), all += x * x;
        }
        check(gap <= (i < same ? 0 : far > 0 ? 1e-7 : 1e-10) * all, what, graph);
    }
    drop(other);
}

/* Blocks of 1, 3 and half of the rows: label gradients are summed block by block, all else does not know of them. A device's products may
 * take another order of sums where they have other rows; the executor's do not. */
#if defined(GSA_ON_EXECUTOR)
enum { SAME_BY_BLOCKS = 4 };
#else
enum { SAME_BY_BLOCKS = 0 };
#endif

static void label_blocks(gsa_backend *b)
{
    for (int graph = 0; graph < 24; graph += GSA_THIN(6)) {
        edges_maker maker;
        gsa_dice dice = { 700 + (uint64_t)graph };
        edges_wish wish = {};
        wish.examples = 1 + graph % 3, wish.kinds = 1 + graph % 2, wish.row_kinds = 1, wish.labels = 5, wish.nodes = 45;
        gsa_edges uploaded = edges_upload(b, edges_random(&maker, &dice, wish));
        const int64_t row_bytes = HEADS * 5 * 4, rows = uploaded.rows;
        const int64_t sizes[] = { INT64_C(1) << 30, 1, 3 * row_bytes, (rows / 2 + 1) * row_bytes, rows * row_bytes };
        gradients whole = {};
        for (int size = 0; size < 5; size++) {
            const knobs with = { sizes[size], 0, 0, 0.3 };
            gradients got = run_tuned(b, &uploaded, &with, graph);
            if (size == 0) whole = got;
            else compare_tuned(&whole, &got, SAME_BY_BLOCKS, 0, "gradients by blocks of rows", graph);
        }
        drop(&whole);
        edges_unload(b, &uploaded);
        edges_free(&maker);
    }
}

/* Slopes of one head at a time, with pieces and blocks of rows: not a bit is another. */
static void slope_heads(gsa_backend *b)
{
    for (int graph = 0; graph < 12; graph += GSA_THIN(6)) {
        edges_maker maker;
        gsa_dice dice = { 800 + (uint64_t)graph };
        edges_wish wish = {};
        wish.examples = 1 + graph % 3, wish.kinds = 1 + graph % 2, wish.row_kinds = 1, wish.labels = 5, wish.nodes = 45;
        gsa_edges uploaded = edges_upload(b, edges_random(&maker, &dice, wish));
        knobs with = { graph % 2 ? 40 * 10 : 1 << 30, graph % 3 ? 7 : 0, 1 << 20, 0.3 };
        gradients whole = run_tuned(b, &uploaded, &with, graph);
        with.slope_bytes = 1;
        gradients got = run_tuned(b, &uploaded, &with, graph);
        compare_tuned(&whole, &got, RESULTS, 0, "slopes of a head at a time", graph);
        drop(&whole);
        edges_unload(b, &uploaded);
        edges_free(&maker);
    }
}

/* Pieces of 1 edge, thousands of them, up to none, and few by their number; scores far apart too, where sums need the largest of all pieces. */
static void piece_lengths(gsa_backend *b)
{
    static const knobs all[] = { { 1 << 30, INT32_MAX, 1, 0 }, { 1 << 30, 1, 1 << 20, 0 }, { 1 << 30, 3, 1 << 20, 0 },
                                 { 1 << 30, 17, 1 << 20, 0 },  { 1 << 30, 2, 7, 0 },       { 40 * 10, 5, 1 << 20, 0 } };
    int64_t most = 0;
    for (int graph = 0; graph < 12; graph += GSA_THIN(3)) {
        edges_maker maker;
        gsa_dice dice = { 900 + (uint64_t)graph };
        edges_wish wish = {};
        wish.examples = 1 + graph % 2, wish.kinds = 1 + graph % 3, wish.row_kinds = 1, wish.labels = 5,
        wish.nodes = graph == 3 ? 900 : 60;
        gsa_edges uploaded = edges_upload(b, edges_random(&maker, &dice, wish));
        most = uploaded.edge_total > most ? uploaded.edge_total : most;
        gradients whole = {};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            knobs with = all[i];
            with.scale = graph % 2 ? 60 : 0.3;
            gradients got = run_tuned(b, &uploaded, &with, graph);
            if (i == 0) whole = got;
            else compare_tuned(&whole, &got, 0, graph % 2 ? with.scale : 0, "hubs in pieces of another length", graph);
        }
        drop(&whole);
        edges_unload(b, &uploaded);
        edges_free(&maker);
    }
    check(most > 2500, "pieces that hardly fill a launch of merges", -1);
}

/* The others' bits are the same where some gradients are not wanted: in blocks of rows, with hubs in pieces of which few have room at a
 * time, slopes of one head, and kinds that share planes; added to zeros, or written over what was there. */
static void wanted_gradients(gsa_backend *b)
{
    static const int without[] = { 0, DQ, DK, DV, DR | DB, DQ | DR, DQ | DK | DV | DR, DK | DV | DB, DQ | DK | DV, DQ | DV | DB };
    for (int graph = 0; graph < 4; graph++) {
        edges_maker maker;
        gsa_dice dice = { 1000 + (uint64_t)graph };
        edges_wish wish = {};
        wish.examples = 1 + graph % 2, wish.kinds = 2 + graph % 2, wish.row_kinds = 1, wish.labels = 5, wish.nodes = 25;
        wish.equal_kinds = graph % 4 > 1;
        gsa_edges uploaded = edges_upload(b, edges_random(&maker, &dice, wish));
        knobs with = { 40 * 10, 3, 1 << 20, 0.3 };
        with.shared = wish.equal_kinds;
        gradients whole = run_tuned(b, &uploaded, &with, graph);
        for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
            with.without = without[i], with.set = without[i] == 0 || graph % 2;
            with.slope_bytes = i % 2 ? 1 : INT64_C(1) << 30;
            gradients got = run_tuned(b, &uploaded, &with, graph);
            for (int r = 0; r < RESULTS; r++)
                if (with.without >> r & 1) memcpy(got.at[r], whole.at[r], (size_t)whole.count[r] * sizeof(float));
            compare_tuned(&whole, &got, RESULTS, 0, "gradients of which some are not wanted", graph);
        }
        drop(&whole);
        edges_unload(b, &uploaded);
        edges_free(&maker);
    }
}

/* Numbers of edges that begin beyond 2^31, as in a phase of so many: the same bits of what is summed by row, for slopes beyond 2^31 there
 * is no room. Content is told, so that the plan stays. */
static void large_numbers(gsa_backend *b)
{
    const int64_t beyond = (INT64_C(1) << 31) + 11;
    edges_maker maker;
    gsa_dice dice = { 31 };
    edges_wish wish = {};
    wish.examples = 2, wish.kinds = 2, wish.row_kinds = 1, wish.labels = 5, wish.nodes = 45;
    const gsa_edges *const edges = edges_random(&maker, &dice, wish);
    gsa_edges uploaded = edges_upload(b, edges);
    const gsa_cuda_plan *plan = NULL;
    knobs with = { 1 << 30, 0, 0, 0.3 };
    uploaded.content.word[0] = 31, uploaded.content.most_in = uploaded.content.most_out = edges->edge_total;
    with.without = DK | DV;
    gradients whole = run_tuned(b, &uploaded, &with, 31);
    check(gsa_cuda_plan_of(b, "test", &uploaded, GSA_PLAN_OUT, &plan) == GSA_OK, b->error.text, 31);
    const_cast<gsa_cuda_plan *>(plan)->entries -= beyond;
    int64_t *const moved = (int64_t *)malloc(sizeof *moved * (size_t)(edges->rows + 1));
    if (moved == NULL) abort();
    for (int64_t row = 0; row <= edges->rows; row++) moved[row] = edges->edge_offset[row] + beyond;
    check(b->upload(b, const_cast<int64_t *>(uploaded.edge_offset), moved, 8 * (edges->rows + 1)) == GSA_OK, b->error.text, 31);
    free(moved);
    with.keep_plans = 1;
    gradients got = run_tuned(b, &uploaded, &with, 31);
    compare_tuned(&whole, &got, RESULTS, 0, "numbers of edges beyond 2^31", 31);
    drop(&whole);
    gsa_cuda_forget_plans(b);
    edges_unload(b, &uploaded);
    edges_free(&maker);
}

static void compare_tunings()
{
    gsa_backend *b = NULL;
    if (gsa_backend_cuda(NULL, GSA_F32, 0, &b, NULL) != GSA_OK) abort();
#if defined(GSA_ON_EXECUTOR)
    simt_order(SIMT_FORWARD, 0);
#endif
    label_blocks(b);
    slope_heads(b);
    piece_lengths(b);
    wanted_gradients(b);
    large_numbers(b);
    gsa_backend_release(b);
}

#if defined(GSA_ON_EXECUTOR)
/* On a device of sm_75 tf32 is refused. */
static void without_tensor_cores()
{
    gsa_backend *b = NULL;
    simt_capability(75);
    if (gsa_backend_cuda(NULL, GSA_F32, 0, &b, NULL) != GSA_OK) abort();
    check(gsa_cuda_choose_attention(b, GSA_CUDA_TF32) == GSA_ERR_UNSUPPORTED && strstr(b->error.text, "sm_80"),
          b->error.text, 75);
    check(gsa_cuda_choose_attention(b, GSA_CUDA_BF16) == GSA_OK, b->error.text, 75);
    gsa_backend_release(b);
    compare_graphs(200, 220);
    simt_capability(90);
}
#endif

int main()
{
    compare_graphs(0, 200);
#if defined(GSA_ON_EXECUTOR)
    without_tensor_cores();
#endif
    compare_tunings();
#if defined(GSA_ON_EXECUTOR)
    check(simt_live() == 0, "device memory is left", -1);
#endif
    printf("Checks: %d, Failures: %d\n", checks, failures);
    return failures > 0;
}
