/* Sums and means over edges against ref: hubs in pieces, rows of every degree, kinds that share one
 * plane, more columns than a warp has lanes; forward and backward, twice in other orders, with the
 * same bits. */
#include "cuda_cases.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = GSA_MAX_KINDS };

typedef struct sums { /* what one run gave, on the host */
    float *y, *dv[KINDS];
} sums;

typedef struct sums_job {
    const gsa_edges *edges;
    int64_t cols;
    int mean, aliased; /* aliased: all kinds read and write the plane of kind 0 */
    float *v[KINDS], *dy;
} sums_job;

static float *numbers(int64_t count, gsa_dice *dice)
{
    float *at = calloc((size_t)count + 1, sizeof *at);
    if (at == NULL) abort();
    for (int64_t i = 0; i < count; i++) at[i] = (float)gsa_bell(dice);
    return at;
}

static int64_t plane(const sums_job *job, int kind)
{
    return job->edges->part_rows[kind] * job->cols;
}

/* Gradients are added to what is there. */
static sums run(tally *t, gsa_backend *b, const sums_job *job, const char *name)
{
    const gsa_edges *edges = job->edges;
    gsa_edges here = edges_upload(b, edges);
    gsa_part parts[GSA_MAX_KINDS] = { { 0 } };
    const int64_t out = edges->rows * job->cols;
    void *y = put(b, job->dy, out * 4), *dy = put(b, job->dy, out * 4), *v[KINDS], *dv[KINDS];
    sums got = { calloc((size_t)out + 1, 4), { NULL } };
    for (int k = 0; k < edges->kinds; k++) {
        v[k] = put(b, job->v[k], plane(job, k) * 4), dv[k] = put(b, job->v[k], plane(job, k) * 4);
        got.dv[k] = calloc((size_t)plane(job, k) + 1, 4);
        parts[k] = (gsa_part){ .v = v[job->aliased ? 0 : k], .dv = dv[job->aliased ? 0 : k] };
    }
    check(t, b->aggregate_forward(b, y, &here, parts, job->mean, job->cols) == GSA_OK, "%s: %s",
          name, b->error.text);
    check(t, b->aggregate_backward(b, parts, dy, &here, job->mean, job->cols) == GSA_OK, "%s: %s",
          name, b->error.text);
    get(b, got.y, y, out * 4);
    for (int k = 0; k < edges->kinds; k++) get(b, got.dv[k], dv[k], plane(job, k) * 4);
    for (int k = 0; k < edges->kinds; k++) b->free(b, v[k]), b->free(b, dv[k]);
    b->free(b, y), b->free(b, dy);
    edges_unload(b, &here);
    return got;
}

static void drop(sums *s)
{
    free(s->y);
    for (int k = 0; k < KINDS; k++) free(s->dv[k]);
}

static void compare(tally *t, const both *pair, const gsa_edges *edges, int64_t cols, int mean,
                    int aliased, const char *name)
{
    gsa_dice dice = { (uint64_t)cols * 2 + (uint64_t)mean };
    sums_job job = { .edges = edges, .cols = cols, .mean = mean, .aliased = aliased };
    job.dy = numbers(edges->rows * cols, &dice);
    for (int k = 0; k < edges->kinds; k++) job.v[k] = numbers(plane(&job, k), &dice);
    use_order(0);
    sums first = run(t, pair->cuda, &job, name);
    use_order(1 + (int)cols % 2);
    sums second = run(t, pair->cuda, &job, name), want = run(t, pair->ref, &job, name);
    const int64_t out = edges->rows * cols;
    check(t, close_to(first.y, want.y, out, cols), "%s: y differs from ref", name);
    check(t, memcmp(first.y, second.y, (size_t)out * 4) == 0,
          "%s: y: two runs differ in their bits", name);
    for (int k = 0; k < edges->kinds; k++) {
        check(t, close_to(first.dv[k], want.dv[k], plane(&job, k), cols),
              "%s: dv of kind %d differs from ref", name, k);
        check(t, memcmp(first.dv[k], second.dv[k], (size_t)plane(&job, k) * 4) == 0,
              "%s: dv: two runs differ in their bits", name);
    }
    drop(&first), drop(&second), drop(&want);
    free(job.dy);
    for (int k = 0; k < KINDS; k++) free(job.v[k]);
}

void aggregate_hubs(tally *t, const both *pair)
{
    static const int64_t cols[] = { 1, 7, 32, 33, 100 };
    static const int32_t kinds[] = { 1, 4, 13, 2, GSA_MAX_KINDS };
    for (int c = 0; c < 5; c++)
        for (int mean = 0; mean < 2; mean++) {
            char name[80];
            edges_maker m;
            for (int form = 0; form < 3; form++) {
                snprintf(name, sizeof name, "%s of hubs %d, %d columns", mean ? "mean" : "sum",
                         form, (int)cols[c]);
                hub_graph(&m, form, 3);
                compare(t, pair, &m.view, cols[c], mean, 0, name);
                edges_free(&m);
            }
            for (int aliased = 0; aliased < 2; aliased++) {
                gsa_dice dice = { (uint64_t)(40 + c) };
                snprintf(name, sizeof name, "%s, %d columns%s", mean ? "mean" : "sum", (int)cols[c],
                         aliased ? ", one plane for all kinds" : "");
                edges_random(&m, &dice,
                             (edges_wish){ .examples = 2,
                                           .kinds = kinds[c],
                                           .row_kinds = 1,
                                           .labels = 1,
                                           .nodes = kinds[c] > 4 ? 20 : 150,
                                           .equal_kinds = aliased });
                compare(t, pair, &m.view, cols[c], mean, aliased, name);
                edges_free(&m);
            }
        }
}
