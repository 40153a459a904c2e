/* large [ROWS] - attention over more edges than an int holds: 46,353 rows (or ROWS) that each read
 * as many, 2^31 + 2^20 and more, forward and backward, in one graph of runs; then the same in four
 * graphs, each of a quarter of the rows. States, and the gradients of queries, must agree to the
 * bit, those of keys and values, sums in another order, to 1e-4 of their largest. About a minute.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "gsa/attend.h"
#include "kernels/backend.h"

enum { ROWS = 46353, PARTS = 4, DIM = 4 };
typedef struct result {
    float *out, *lse, *dq, *dk, *dv;
    int64_t edges;
} result;

static float *room(int64_t rows)
{
    float *at = calloc((size_t)rows * DIM, sizeof *at);
    return at ? at : (perror("large"), exit(1), at);
}

static result new_result(int64_t rows)
{
    return (result){ room(rows), room(rows), room(rows), room(rows), room(rows), 0 };
}

/* Rows first .. first + count - 1 read all. */
static gsa_status run(gsa_backend *backend, gsa_graph *graph, const float *x, int32_t rows,
                      int64_t first, int32_t count, result *r, gsa_error *error)
{
    const gsa_sequences sequences = { .count = 1, .length = &count, .memory_length = &rows };
    const gsa_attention a = { .struct_size = sizeof a,
                              .heads = 1,
                              .head_dim = DIM,
                              .q = x + first * DIM,
                              .k = x,
                              .v = x,
                              .add = 1,
                              .out = r->out + first * DIM,
                              .lse = r->lse + first,
                              .dout = x + first * DIM,
                              .dq = r->dq + first * DIM,
                              .dk = r->dk,
                              .dv = r->dv };
    gsa_status status = gsa_graph_build(graph, NULL, NULL, &sequences, 1, error);
    if (status == GSA_OK) r->edges += gsa_graph_edges(graph, 0);
    if (status == GSA_OK) status = gsa_attend_forward(backend, graph, &a, error);
    return status == GSA_OK ? gsa_attend_backward(backend, graph, &a, error) : status;
}

/* The largest difference, in parts of the largest number; infinite where one is not finite. */
static double differ(const float *a, const float *b, int64_t count)
{
    double most = 0, size = 0;
    for (int64_t i = 0; i < count; i++) {
        const double by = fabs((double)a[i] - b[i]);
        if (!isfinite(by)) return INFINITY;
        most = fmax(most, by), size = fmax(size, fabs((double)a[i]));
    }
    return size > 0 ? most / size : INFINITY;
}

/* Of a few rows, plain loops in double: the largest difference of `out`. */
static double naive(const float *x, const float *out, int64_t rows)
{
    double most = 0;
    for (int64_t r = 0; r < rows; r += (rows - 1) / 4) {
        double sum = 0, y[DIM] = { 0 };
        for (int64_t s = 0; s < rows; s++) {
            double score = 0;
            for (int i = 0; i < DIM; i++) score += (double)x[r * DIM + i] * x[s * DIM + i];
            score = exp(score / sqrt(DIM)), sum += score;
            for (int i = 0; i < DIM; i++) y[i] += score * x[s * DIM + i];
        }
        for (int i = 0; i < DIM; i++) most = fmax(most, fabs(y[i] / sum - out[r * DIM + i]));
    }
    return most;
}

int main(int argc, char **argv)
{
    const int32_t rows = argc > 1 ? (int32_t)strtol(argv[1], NULL, 10) : ROWS;
    const int64_t numbers = (int64_t)rows * DIM;
    gsa_error error = { GSA_OK, "" };
    gsa_registry *registry = NULL;
    gsa_backend *backend = NULL;
    gsa_graph *graph = NULL;
    float *x = room(rows);
    result whole = new_result(rows), parts = new_result(rows);
    for (int64_t i = 0; i < numbers; i++) x[i] = sinf(1.7f * (float)i);
    gsa_status status = gsa_registry_create(NULL, &registry, &error);
    if (status == GSA_OK) status = gsa_backend_open(NULL, "cpu", GSA_F32, 0, &backend, &error);
    if (status == GSA_OK) status = gsa_graph_open(NULL, registry, "cross", &graph, &error);
    if (status == GSA_OK) status = run(backend, graph, x, rows, 0, rows, &whole, &error);
    for (int p = 0; p < PARTS && status == GSA_OK; p++) {
        const int64_t first = (int64_t)rows * p / PARTS, end = (int64_t)rows * (p + 1) / PARTS;
        status = run(backend, graph, x, rows, first, (int32_t)(end - first), &parts, &error);
    }
    if (status) return fprintf(stderr, "large: %s\n", error.text), 1;
    const double same = fmax(differ(whole.out, parts.out, numbers),
                             differ(whole.dq, parts.dq, numbers)),
                 summed =
                     fmax(differ(whole.dk, parts.dk, numbers), differ(whole.dv, parts.dv, numbers)),
                 worst = fmax(same, summed);
    const double by_hand = naive(x, whole.out, rows);
    printf("large: %lld edges; in parts out, dq, dk, dv differ by %.1e; plain loops by %.1e\n",
           (long long)whole.edges, worst, by_hand);
    gsa_graph_release(graph), gsa_backend_release(backend), gsa_registry_release(registry);
    return !(whole.edges == parts.edges && same == 0 && summed < 1e-4 && by_hand < 1e-5);
}
