/* Attention by row windows against ref: plain products and tensor cores (on the executor their
 * plain twin), with windows wherever they can be, by the device's rule, and nowhere. */
#include "cuda_cases.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows in blocks that share their sources: row u reads sources from u / block * block on, `reach`
 * of them but every skip-th (0: all), with labels that run along; kinds in turn; some rows
 * empty. */
static void block_graph(edges_maker *m, int32_t rows, int32_t sources, int32_t block, int32_t reach,
                        int32_t skip, int32_t kinds, int32_t labels)
{
    int64_t part_rows[GSA_MAX_KINDS] = { 0 };
    for (int k = 0; k < kinds; k++) part_rows[k] = sources;
    edges_begin(m, kinds, part_rows, labels);
    for (int32_t row = 0; row < rows; row++) {
        edges_row(m, 0, row);
        if (row % 11 == 7) continue;
        for (int32_t k = 0; k < kinds; k++) {
            const int32_t first = row / block * block % sources;
            for (int32_t i = 0; i < reach && first + i < sources; i += 4) {
                const int32_t left = sources - first - i, most = reach - i < 4 ? reach - i : 4;
                if (skip > 0 && (row + i / 4) % skip == 0) continue;
                edges_run(m, (gsa_run){ .first = first + i,
                                        .count = left < most ? left : most,
                                        .step = 1,
                                        .kind = k,
                                        .label = (row + i) % labels });
            }
        }
    }
    edges_done(m, 0, 0, NULL);
}

/* How windows are chosen: everywhere, by the rule, nowhere; and how they multiply. */
typedef struct window_mode {
    const char *name;
    int attention;
    double density;
    int flags; /* for attend_pair */
} window_mode;
static const window_mode modes[] = { { "all in tf32", GSA_CUDA_TF32, 0, TF32 },
                                     { "tf32 by rule", GSA_CUDA_TF32, 0.3, TF32 },
                                     { "no windows", GSA_CUDA_TF32, INFINITY, 0 },
                                     { "all in bf16", GSA_CUDA_BF16, 0, BF16 },
                                     { "bf16 by rule", GSA_CUDA_BF16, 0.3, BF16 },
                                     { "no windows in bf16", GSA_CUDA_BF16, INFINITY, BF16 } };

static void use_mode(both *pair, const window_mode *mode)
{
    must(pair->cuda, gsa_cuda_choose_attention(pair->cuda, mode->attention) == GSA_OK);
    must(pair->cuda, gsa_cuda_choose_windows(pair->cuda, mode->density) == GSA_OK);
}

static void run_graph(tally *t, both *pair, const window_mode *mode, const edges_maker *m,
                      int32_t heads, int32_t dim, int flags, const char *graph)
{
    char name[160];
    snprintf(name, sizeof name, "%s, %s, %d heads of %d, flags %d", graph, mode->name, (int)heads,
             (int)dim, flags);
    attend_pair(t, pair->cuda, pair->ref, &m->view, heads, dim, flags | mode->flags, name);
}

static const int all_flags[] = { 0,
                                 WITH_VECTORS | WITH_BIAS,
                                 WITH_DROPOUT | WITH_WEIGHTS,
                                 WITH_VECTORS | WITH_BIAS | WITH_DROPOUT | WITH_WEIGHTS |
                                     MISALIGNED,
                                 WITH_VECTORS,
                                 WITH_BIAS };

/* Widths of heads, and what labels and dropout bring, on blocks that pay. */
static void widths(tally *t, both *pair, const window_mode *mode, const int32_t *dims, int count)
{
    for (int d = 0; d < count; d++) {
        edges_maker m;
        use_mode(pair, mode);
        block_graph(&m, dims[d] > 64 ? 18 : 37, dims[d] > 64 ? 20 : 40, 16, 20, d % 3 ? 0 : 3,
                    1 + d % 2, 1 + d * 5 % 37);
        run_graph(t, pair, mode, &m, 1 + d % 2, dims[d], all_flags[d % 6], "blocks");
        edges_free(&m);
    }
}

/* Graphs without order: duplicates, hubs, empty rows, several examples and kinds, steps of any
 * sign. */
static void random_graphs(tally *t, both *pair, const window_mode *mode, int count)
{
    for (int i = 0; i < count; i++) {
        edges_maker m;
        gsa_dice dice = { 900 + (uint64_t)i };
        use_mode(pair, mode);
        edges_random(&m, &dice,
                     (edges_wish){ .examples = 1 + i % 3,
                                   .kinds = 1 + i % 4,
                                   .row_kinds = 1 + i % 2,
                                   .labels = 7,
                                   .nodes = 40 });
        run_graph(t, pair, mode, &m, 1 + i % 2, 3 + 7 * (i % 5), all_flags[i % 6], "random");
        edges_free(&m);
    }
    for (int form = 0; form < 3; form++) {
        edges_maker m;
        use_mode(pair, mode);
        hub_graph(&m, form, form ? 3 : 40);
        run_graph(t, pair, mode, &m, 2, 10, all_flags[1 + form], "hubs");
        edges_free(&m);
    }
}

/* Kinds that share one plane take turns. */
static void shared_planes(tally *t, both *pair, const window_mode *mode)
{
    edges_maker m;
    use_mode(pair, mode);
    block_graph(&m, 20, 24, 16, 24, 0, 3, 5);
    run_graph(t, pair, mode, &m, 1, 8, WITH_VECTORS | WITH_BIAS | ALIASED,
              "one plane for three kinds");
    run_graph(t, pair, mode, &m, 2, 17, WITH_VECTORS | ALIASED, "one plane for three kinds");
    edges_free(&m);
}

/* A number that is not finite reaches the rows that read it and no others, though a window
 * multiplies them together: source 3, which rows 0 to 8 read. */
static void keeps_bad_numbers(tally *t, gsa_backend *b, const window_mode *mode)
{
    enum { ROWS = 16, DIM = 12, BAD = 3 };
    static const float bad[] = { NAN, INFINITY, -INFINITY };
    for (int plane = 0; plane < 2; plane++)
        for (int n = 0; n < 3; n++) {
            float x[2][ROWS * DIM], out[ROWS * DIM], dq[ROWS * DIM], lse[ROWS];
            edges_maker m;
            edges_begin(&m, 1, (const int64_t[]){ ROWS }, 1);
            for (int32_t row = 0; row < ROWS; row++) {
                edges_row(&m, 0, row);
                edges_run(&m, (gsa_run){ .first = row < 9 ? 0 : BAD + 1,
                                         .count = row < 9 ? 8 : 9,
                                         .step = 1 });
            }
            gsa_edges edges = edges_upload(b, edges_done(&m, 0, 0, NULL));
            for (int p = 0; p < 2; p++)
                for (int i = 0; i < ROWS * DIM; i++)
                    x[p][i] =
                        p == plane && i / DIM == BAD ? bad[n] : 0.01f * (float)((i * 7 + p) % 31);
            memset(dq, 0, sizeof dq);
            memset(lse, 0, sizeof lse);
            for (int i = 0; i < ROWS * DIM; i++) out[i] = 0.1f + 0.01f * (float)(i % 13);
            float *k = put(b, x[0], sizeof x[0]), *v = put(b, x[1], sizeof x[1]),
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
                                           .dq = ddq };
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
                    row >= 9 || (plane == 0 && bad[n] < 0); /* a key of -inf has weight 0 */
                check(t, finite == spared, "%s: %g in plane %d, row %d: o is %s", mode->name,
                      (double)bad[n], plane, row, finite ? "finite" : "not finite");
                check(t, row < 9 || finite_back, "%s: %g in plane %d, row %d: dq is not finite",
                      mode->name, (double)bad[n], plane, row);
            }
            void *all[] = { q, k, v, dout, o, ddq, dlse, dk, dv };
            for (size_t i = 0; i < sizeof all / sizeof *all; i++) b->free(b, all[i]);
            edges_unload(b, &edges);
            edges_free(&m);
        }
}

static void refusals(tally *t, both *pair)
{
    fails(t, pair->cuda, gsa_cuda_choose_windows(pair->cuda, -1), GSA_ERR_ARGUMENT, "density -1");
    fails(t, pair->cuda, gsa_cuda_choose_windows(pair->cuda, NAN), GSA_ERR_ARGUMENT,
          "a number >= 0");
    fails(t, pair->ref, gsa_cuda_choose_windows(pair->ref, 0), GSA_ERR_UNSUPPORTED, "'ref'");
}

static const int32_t widths_of_heads[] = { 1,  2,   3,   5,   8, 10, 16, 31, 32, 33, 50, 64,
                                           65, 100, 128, 129, 4, 12, 20, 24, 40, 60, 62, 7 };

/* Windows in tf32, within its bounds; where none is chosen, every result is that of edges in
 * float. */
void windows_case(tally *t)
{
    both pair = open_both();
    refusals(t, &pair);
    for (int i = 0; i < 3; i++) {
        widths(t, &pair, &modes[i], widths_of_heads, i == 0 ? 24 : 6);
        if (i == 1) every_topology(t, &pair, TF32);
        random_graphs(t, &pair, &modes[i], i == 2 ? 4 : 16);
        shared_planes(t, &pair, &modes[i]);
        keeps_bad_numbers(t, pair.cuda, &modes[i]);
    }
    close_both(&pair);
}

/* Windows over arrays in bf16, held to what edges in bf16 are held to. */
void windows16_case(tally *t)
{
    both pair = open_both();
    for (int i = 3; i < 6; i++) {
        widths(t, &pair, &modes[i], widths_of_heads, i == 3 ? 24 : 6);
        if (i < 5) every_topology(t, &pair, BF16);
        random_graphs(t, &pair, &modes[i], i == 5 ? 4 : 16);
        shared_planes(t, &pair, &modes[i]);
        keeps_bad_numbers(t, pair.cuda, &modes[i]);
    }
    close_both(&pair);
}

/* Matrix products with factors rounded to tf32 or bf16: near those of floats, and, where the
 * executor rounds them, equal to those of rounded factors. */
static void rounded_products(tally *t, both *pair, int attention, double most)
{
    enum { M = 37, N = 29, K = 41 };
    float a[M * K], bb[K * N], got[M * N], wanted[M * N];
    double gap = 0, all = 0;
    for (int i = 0; i < M * K; i++) a[i] = 0.01f * (float)((i * 37 + 11) % 201 - 100);
    for (int i = 0; i < K * N; i++) bb[i] = 0.013f * (float)((i * 53 + 7) % 199 - 99);
    must(pair->cuda, gsa_cuda_choose_attention(pair->cuda, attention) == GSA_OK);
    gsa_backend *const sides[] = { pair->cuda, pair->ref };
    for (int side = 0; side < 2; side++) {
        gsa_backend *const b = sides[side];
        float *const x = put(b, a, sizeof a), *const y = put(b, bb, sizeof bb),
                     *const c = put(b, got, sizeof got);
        must(b, b->gemm(b, c, x, y, M, N, K, 0, 0, N, K, N, 0) == GSA_OK);
        get(b, side ? wanted : got, c, sizeof got);
        b->free(b, x), b->free(b, y), b->free(b, c);
    }
    for (int i = 0; i < M * N; i++) {
        const double d = (double)got[i] - (double)wanted[i];
        gap += d * d, all += (double)wanted[i] * (double)wanted[i];
    }
    check(t, gap <= most * all, "products, attention %d: NMSE %g, at most %g", attention, gap / all,
          most);
#if defined(GSA_ON_EXECUTOR)
    check(t, attention == GSA_CUDA_FUSED || gap > 1e-3 * most * all,
          "products, attention %d: factors are not rounded, NMSE %g", attention, gap / all);
#endif
}

void products_case(tally *t)
{
    both pair = open_both();
    rounded_products(t, &pair, GSA_CUDA_TF32, 1e-6);
    rounded_products(t, &pair, GSA_CUDA_BF16, 1e-4);
    rounded_products(t, &pair, GSA_CUDA_FUSED, 1e-12);
    close_both(&pair);
}
