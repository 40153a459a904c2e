/* Attention over random graphs against ref, and where numbers that are not finite go. */
#include "cuda_cases.h"
#include "support/thin.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const int all_flags[] = { 0, WITH_VECTORS | WITH_BIAS, WITH_DROPOUT | WITH_WEIGHTS,
                                 WITH_VECTORS | WITH_BIAS | WITH_DROPOUT | WITH_WEIGHTS |
                                     MISALIGNED,
                                 ALIASED | WITH_BIAS };
static const int32_t widths[] = { 1, 4, 10, 16, 25, 32, 50, 64 };

/* Rows of no edge to hundreds, several kinds, examples and heads. */
static void random_graphs(tally *t, const both *pair)
{
    for (int i = 0; i < 24; i += GSA_THIN(3)) {
        char name[96];
        edges_maker m;
        gsa_dice dice = { 5000 + (uint64_t)i };
        const int flags = all_flags[i % 5], heads = 1 + (i % 3 + i / 9) % 3;
        snprintf(name, sizeof name, "random %d", i);
        edges_random(&m, &dice,
                     (edges_wish){ .examples = 1 + i / 3 % 3,
                                   .kinds = 1 + i % 4,
                                   .row_kinds = 1 + i % 2,
                                   .labels = 7,
                                   .nodes = 30 + 10 * (i % 4),
                                   .equal_kinds = (flags & ALIASED) != 0 });
        attend_pair(t, pair->cuda, pair->ref, &m.view, heads, widths[i % 8], flags, name);
        edges_free(&m);
    }
}

/* As many kinds as a launch's parameters hold, one more, and all that there can be. */
static void many_kinds(tally *t, const both *pair)
{
    static const int32_t kinds[] = { 12, 13, GSA_MAX_KINDS };
    for (int i = 0; i < 3; i++)
        for (int f = 0; f < 5; f += GSA_THIN(2)) {
            char name[96];
            edges_maker m;
            gsa_dice dice = { 6000 + (uint64_t)i };
            snprintf(name, sizeof name, "%d kinds, flags %d", (int)kinds[i], all_flags[f]);
            edges_random(&m, &dice,
                         (edges_wish){ .examples = 2,
                                       .kinds = kinds[i],
                                       .row_kinds = 1,
                                       .labels = 5,
                                       .nodes = 5,
                                       .equal_kinds = (all_flags[f] & ALIASED) != 0 });
            attend_pair(t, pair->cuda, pair->ref, &m.view, 2, f % 2 ? 10 : 16, all_flags[f], name);
            edges_free(&m);
        }
}

/* A number that is not finite reaches the rows that read it and no others: in a key or value of
 * source 3, or in the vector of label 3, which rows 0 to 8 read. */
static void keeps_bad_numbers(tally *t, gsa_backend *b)
{
    enum { ROWS = 16, DIM = 12, BAD = 3 };
    static const float bad[] = { NAN, INFINITY, -INFINITY };
    for (int plane = 0; plane < 3; plane++)
        for (int n = 0; n < 3; n++) {
            float x[3][ROWS * DIM], out[ROWS * DIM], dq[ROWS * DIM], lse[ROWS];
            edges_maker m;
            edges_begin(&m, 1, (const int64_t[]){ ROWS }, ROWS);
            for (int32_t row = 0; row < ROWS; row++) {
                edges_row(&m, 0, row);
                const int32_t first = row < 9 ? 0 : BAD + 1;
                edges_run(&m, (gsa_run){ .first = first,
                                         .count = row < 9 ? 8 : 9,
                                         .step = 1,
                                         .label = first,
                                         .label_step = 1 });
            }
            gsa_edges edges = edges_upload(b, edges_done(&m, 0, 0, NULL));
            for (int p = 0; p < 3; p++)
                for (int i = 0; i < ROWS * DIM; i++)
                    x[p][i] =
                        p == plane && i / DIM == BAD ? bad[n] : 0.01f * (float)((i * 7 + p) % 31);
            memset(dq, 0, sizeof dq);
            memset(lse, 0, sizeof lse);
            for (int i = 0; i < ROWS * DIM; i++) out[i] = 0.1f + 0.01f * (float)(i % 13);
            float *k = put(b, x[0], sizeof x[0]), *v = put(b, x[1], sizeof x[1]),
                  *r = put(b, x[2], sizeof x[2]), *dr = put(b, dq, sizeof dq),
                  *q = put(b, out, sizeof out), *dout = put(b, out, sizeof out),
                  *o = put(b, out, sizeof out), *ddq = put(b, dq, sizeof dq),
                  *dlse = put(b, lse, sizeof lse), *dk = put(b, dq, sizeof dq),
                  *dv = put(b, dq, sizeof dq);
            gsa_part parts[GSA_MAX_KINDS] = { { k, v, dk, dv } };
            const gsa_attend_args args = { .edges = &edges,
                                           .heads = 1,
                                           .head_dim = DIM,
                                           .scale = 1,
                                           .q = q,
                                           .parts = parts,
                                           .out = o,
                                           .lse = dlse,
                                           .dout = dout,
                                           .dq = ddq,
                                           .label_vectors = r,
                                           .dlabel_vectors = dr };
            check(t,
                  b->attend_forward(b, &args) == GSA_OK && b->attend_backward(b, &args) == GSA_OK,
                  "%s", b->error.text);
            get(b, out, o, sizeof out);
            get(b, dq, ddq, sizeof dq);
            for (int row = 0; row < ROWS; row++) {
                int finite = 1, finite_back = 1;
                for (int i = row * DIM; i < (row + 1) * DIM; i++)
                    finite &= isfinite(out[i]) != 0, finite_back &= isfinite(dq[i]) != 0;
                const int spared =
                    row >= 9 || (plane != 1 && bad[n] < 0); /* a key of -inf has weight 0 */
                check(t, finite == spared, "%g in plane %d, row %d: o is %s", (double)bad[n], plane,
                      row, finite ? "finite" : "not finite");
                check(t, row < 9 || finite_back, "%g in plane %d, row %d: dq is not finite",
                      (double)bad[n], plane, row);
            }
            void *all[] = { q, k, v, r, dr, dout, o, ddq, dlse, dk, dv };
            for (size_t i = 0; i < sizeof all / sizeof *all; i++) b->free(b, all[i]);
            edges_unload(b, &edges);
            edges_free(&m);
        }
}

void random_case(tally *t)
{
    both pair = open_both();
    random_graphs(t, &pair);
    many_kinds(t, &pair);
    keeps_bad_numbers(t, pair.cuda);
    close_both(&pair);
}
