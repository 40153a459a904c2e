/* Attention's dropout edge by edge: whichever way the cpu backend takes rows, the edges that it
 * drops, forward and backward, are those of backend.h's key. All scores are 0 and values and
 * gradients have one 1 each, so that every edge's factor is in `out` and in dv by itself or in
 * a sum of a few. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "dense.h"
#include "kernels/cpu/cpu.h"
#include "support/suite.h"
#include "support/thin.h"

enum {
    EXAMPLES = 2,
    NODES = 256,
    HEADS = 5,
    DIM = 256,
    WIDTH = HEADS * DIM,
    ROWS = EXAMPLES * NODES,
    COUNT = ROWS * WIDTH
};

static const int levels[] = { GSA_CPU_PLAIN, GSA_CPU_AVX2, GSA_CPU_AVX512, GSA_CPU_EMULATED,
                              GSA_CPU_NEON },
                 threads[] = { 1, 3 };
static const double rates[] = { 0.1, 0.9 };

static int32_t at_least_0(int32_t x)
{
    return x > 0 ? x : 0;
}

/* Each makes the runs of row i of an example, sources counted from `base`. */
static void ring(edges_maker *m, int32_t i, int32_t base)
{
    for (int32_t j = -1; j < 2; j++)
        edges_run(m, (gsa_run){ base + (i + j + NODES) % NODES, 1, 1, 0, 0, 0 });
}
static void short_window(edges_maker *m, int32_t i, int32_t base)
{
    const int32_t low = at_least_0(i - 5), end = i + 6 < NODES ? i + 6 : NODES;
    edges_run(m, (gsa_run){ base + low, end - low, 1, 0, 0, 0 });
}
static void far_apart(edges_maker *m, int32_t i,
                      int32_t base) /* 14 sources, each third one, ascending and descending */
{
    edges_run(m, (gsa_run){ base + (i < 200 ? i : 200), 7, 3, 0, 0, 0 });
    edges_run(m, (gsa_run){ base + (i > 50 ? i : 50), 7, -3, 0, 0, 0 });
}
static void long_window(edges_maker *m, int32_t i,
                        int32_t base) /* itself, what is after it backwards, what is before it */
{
    const int32_t low = at_least_0(i - 50), end = i + 41 < NODES ? i + 41 : NODES;
    edges_run(m, (gsa_run){ base + i, 1, 1, 0, 0, 0 });
    if (i > low) edges_run(m, (gsa_run){ base + i - 1, i - low, -1, 0, 0, 0 });
    if (i + 1 < end) edges_run(m, (gsa_run){ base + i + 1, end - i - 1, 1, 0, 0, 0 });
}
static void all(edges_maker *m, int32_t i, int32_t base)
{
    (void)i;
    edges_run(m, (gsa_run){ base, NODES, 1, 0, 0, 0 });
}
static void all_shifted(edges_maker *m, int32_t i,
                        int32_t base) /* as one run or two, begun elsewhere in each row */
{
    edges_run(m, (gsa_run){ base + i, NODES - i, 1, 0, 0, 0 });
    if (i > 0) edges_run(m, (gsa_run){ base, i, 1, 0, 0, 0 });
}
static void spans(edges_maker *m, int32_t i, int32_t base) /* of 2, 4, ... 128 sources */
{
    int32_t size = 2;
    for (; i >= NODES / size && size < NODES; size *= 2) i -= NODES / size;
    if (size < NODES) edges_run(m, (gsa_run){ base + i * size, size, 1, 0, 0, 0 });
}
static void few(edges_maker *m, int32_t i, int32_t base) /* nothing that rows share */
{
    for (int32_t j = 0; j < i % 7; j++)
        edges_run(m, (gsa_run){ base + (i * 37 + j * 61) % NODES, 1, 1, 0, 0, 0 });
}

static const struct {
    const char *name;
    void (*row)(edges_maker *m, int32_t i, int32_t base);
    int dia, bcsr, gemm; /* rows that go so at least */
} patterns[] = { { "ring", ring, 480, 0, 0 },
                 { "short window", short_window, 440, 0, 0 },
                 { "far apart", far_apart, 250, 0, 0 },
                 { "long window", long_window, 0, 512, 0 },
                 { "all", all, 0, 0, 512 },
                 { "all, shifted", all_shifted, 0, 512, 0 },
                 { "spans", spans, 0, 0, 0 },
                 { "few", few, 0, 0, 0 } };

typedef struct planes {
    float zero[COUNT], v[COUNT], dout[COUNT], out[COUNT], dv[COUNT], lse[ROWS * HEADS];
    double want[COUNT], want_dv[COUNT];
} planes;

static void make(edges_maker *m, int pattern)
{
    const int64_t part_rows[1] = { ROWS }, first[EXAMPLES + 1] = { 0, NODES, 2 * NODES };
    edges_begin(m, 1, part_rows, 1);
    for (int32_t e = 0; e < EXAMPLES; e++)
        for (int32_t i = 0; i < NODES; i++) {
            edges_row(m, e, i);
            patterns[pattern].row(m, i, e * NODES);
        }
    edges_done(m, EXAMPLES, 1, first);
}

/* Value s is 1 in column s % DIM of each head; so is dout of row r in column r % DIM. */
static void expect(planes *x, const gsa_edges *edges, const gsa_dropout *dropout)
{
    edges_list list = edges_expand(edges);
    memset(x->want, 0, sizeof x->want);
    memset(x->want_dv, 0, sizeof x->want_dv);
    for (int64_t i = 0; i < list.total; i++)
        for (int32_t h = 0; h < HEADS; h++) {
            const int64_t row = list.row[i], source = list.source[i];
            const double degree = (double)(edges->edge_offset[row + 1] - edges->edge_offset[row]);
            const double share = dense_attention_factor(dropout, edges, row, list.k[i], h) / degree;
            x->want[row * WIDTH + h * DIM + source % DIM] += share;
            x->want_dv[source * WIDTH + h * DIM + row % DIM] += share;
        }
    edges_list_free(&list);
}

static void check(const char *what, const char *name, const float *got, const double *want)
{
    for (int64_t i = 0; i < COUNT; i++)
        if (!(fabs(got[i] - want[i]) < 1e-6))
            ck_abort_msg("%s: %s of row %d, head %d, column %d is %g, expected %g", name, what,
                         (int)(i / WIDTH), (int)(i % WIDTH / DIM), (int)(i % DIM), (double)got[i],
                         want[i]);
}

static void check_ways(int level, int pattern, const gsa_attend_args *args)
{
    const gsa_cpu_probe *probe = gsa_cpu_probe_of(level);
    if (!probe) return;
    gsa_cpu_formats formats;
    ck_assert(probe->formats(args, &formats));
    ck_assert_msg(formats.dia >= patterns[pattern].dia && formats.bcsr >= patterns[pattern].bcsr &&
                      formats.gemm >= patterns[pattern].gemm,
                  "%s: %lld rows as dia, %lld as bcsr, %lld as gemm", patterns[pattern].name,
                  (long long)formats.dia, (long long)formats.bcsr, (long long)formats.gemm);
}

static void attend(planes *x, int level, int count, int pattern, const gsa_edges *edges,
                   const gsa_dropout *dropout)
{
    const gsa_part parts[GSA_MAX_KINDS] = { { x->zero, x->v, NULL, x->dv } };
    const gsa_attend_args args = { .edges = edges,
                                   .heads = HEADS,
                                   .head_dim = DIM,
                                   .scale = 1,
                                   .q = x->zero,
                                   .parts = parts,
                                   .dropout = *dropout,
                                   .out = x->out,
                                   .lse = x->lse,
                                   .dout = x->dout };
    gsa_backend *b;
    ck_assert_int_eq(gsa_backend_cpu(NULL, level, count, &b, NULL), GSA_OK);
    check_ways(level, pattern, &args);
    memset(x->dv, 0, sizeof x->dv);
    ck_assert_int_eq(b->attend_forward(b, &args), GSA_OK);
    ck_assert_int_eq(b->attend_backward(b, &args), GSA_OK);
    gsa_backend_release(b);
    check("out", patterns[pattern].name, x->out, x->want);
    check("dv", patterns[pattern].name, x->dv, x->want_dv);
}

START_TEST(every_way_drops_the_same_edges)
{
    static const int32_t id[EXAMPLES] = { 1007, 3 };
    planes *x = calloc(1, sizeof *x);
    edges_maker m;
    ck_assert_ptr_nonnull(x);
    for (int64_t i = 0; i < ROWS; i++)
        for (int32_t h = 0; h < HEADS; h++) {
            const int64_t at = i * WIDTH + h * DIM + i % DIM;
            x->v[at] = x->dout[at] = 1;
        }
    make(&m, _i);
    for (int p = 0; p < GSA_COUNT(rates); p++) {
        const gsa_dropout dropout = {
            .p = rates[p], .seed = 77, .step = 9 + (uint32_t)p, .site = 12, .example_id = id
        };
        expect(x, &m.view, &dropout);
        for (int l = 0; l < GSA_COUNT(levels);
             l++) /* each two of level, rate and number of threads meet */
            if (gsa_cpu_has(levels[l]) &&
                (levels[l] != GSA_CPU_PLAIN || (_i + p) % GSA_THIN(4) == 0))
                attend(x, levels[l], threads[(l + p) % GSA_COUNT(threads)], _i, &m.view, &dropout);
    }
    edges_free(&m);
    free(x);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test edges[] = { GSA_LOOP(every_way_drops_the_same_edges,
                                               GSA_COUNT(patterns)) };
    static const gsa_case cases[] = { GSA_CASE("edges", edges, 60) };
    return gsa_run_suite("cpu_dropped", cases, GSA_COUNT(cases), argc, argv);
}
