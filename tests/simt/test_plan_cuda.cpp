/* Plans made on the device (executor) are those that graph/plan.c makes on the host: out-edges in the same order, the same expansion, pieces
 * that cover every hub once. A program of its own, without Check. */
extern "C" {
#include "support/edges_of.h"
}
#include "kernels/cuda.h"
#include "kernels/cuda/plan.h"
#include <stdio.h>
#include <stdlib.h>

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
    if (device->entries == NULL) return;
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
    check(gsa_cuda_plan_of(b, "test", &uploaded, 1, &device) == GSA_OK, b->error.text, graph);
    compare_out(b, host, device, graph);
    compare_entries(b, host, device, graph);
    compare_cut(b, &device->in, edges->edge_offset, edges->rows, graph);
    compare_cut(b, &device->out_cut, host->out_offset, host->sources, graph);
    check(gsa_cuda_plan_of(b, "test", &uploaded, 0, &again) == GSA_OK && again == device, "the plan is not found again",
          graph);
    edges_unload(b, &uploaded);
    gsa_plan_release(NULL, host);
}

int main()
{
    gsa_backend *b = NULL;
    gsa_error error = {};
    if (gsa_backend_cuda(NULL, GSA_F32, 0, &b, &error) != GSA_OK) abort();
    for (int graph = 0; graph < 200; graph++) {
        edges_maker maker;
        gsa_dice dice = { (uint64_t)graph * 31 + 7 };
        edges_wish wish = {};
        simt_order(graph % 2 ? SIMT_RANDOM : SIMT_REVERSE, (uint64_t)graph + 1);
        wish.examples = 1 + graph % 3, wish.kinds = 1 + graph % 4, wish.row_kinds = 1, wish.labels = 9;
        wish.nodes = graph % 10 == 0 ? 400 : 30;
        compare_graph(b, edges_random(&maker, &dice, wish), graph);
        edges_free(&maker);
    }
    gsa_backend_release(b);
    check(simt_live() == 0, "device memory is left", -1);
    printf("Checks: %d, Failures: %d\n", checks, failures);
    return failures > 0;
}
