/* How one example with few heads is cut for attention's backward pass, and a hub for both: by
 * edges, so that every thread has work; the same bits for any number of threads and in any batch;
 * and the gradients of the oracle. */
#define GSA_REF_BITS 64
#include "kernels/ref/attend_items.h"
#include "kernels/cpu/cpu.h"
#include "level_rig.h"
#include "oracle_check.h"
#include "support/thin.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { KINDS = 2, EXAMPLES = 16, LABELS = 5 };
static const int level[] = { GSA_CPU_AVX2, GSA_CPU_AVX512, GSA_CPU_EMULATED, GSA_CPU_NEON };

enum {
    WINDOW,
    FULL,
    HUB,
    STAR,
    BOTH,
    TREE,
    RANDOM,
    PATTERNS,
    WIDE = PATTERNS,
    TWICE,
    OUTSIDE,
    ALL
};
static const struct pattern {
    const char *name;
    int32_t rows, sources[KINDS], dim;
} patterns[ALL] = {
    [WINDOW] = { "window", 2048, { 2048, 1 }, 32 },
    [FULL] = { "full", 512, { 512, 1 }, 8 },
    [HUB] = { "hub", 1, { 5000, 1 }, 64 },
    [STAR] = { "star", 5000, { 5000, 1 }, 64 },
    [BOTH] = { "star and its hub", 5001, { 5000, 1 }, 64 },
    [TREE] = { "tree", 3072, { 2048, 200 }, 8 },
    [RANDOM] = { "random", 1024, { 512, 1 }, 16 },
    [WIDE] = { "wide tree", 3072, { 2048, 200 }, 1024 },
    [TWICE] = { "planes of two kinds", 2048, { 2048, 2048 }, 32 },
    [OUTSIDE] = { "sources of another example", 2048, { 2048, 1 }, 32 },
};

static void read_run(rig *r, int32_t first, int32_t count, int32_t step, int32_t label,
                     int32_t kind)
{
    edges_run(&r->maker, (gsa_run){ first, count, step, label, 0, kind });
}

/* The sources around a place, of `width`. */
static void read_window(rig *r, int32_t from, int32_t place, int32_t sources, int32_t width)
{
    const int32_t low = place < width / 2 ? 0 : place - width / 2,
                  high = place + width / 2 < sources ? place + width / 2 : sources - 1;
    read_run(r, from + low, high - low + 1, 1, place % LABELS, 0);
}

static void make_row(rig *r, int pattern, int32_t example, int32_t row, gsa_dice *dice)
{
    const struct pattern *p = &patterns[pattern];
    const int32_t sources = p->sources[0], from = example * sources;
    edges_row(&r->maker, example, row);
    switch (pattern) {
    case TWICE: /* a window, and by the other kind what all rows read */
        read_run(r, from, 16, 1, 3, 1);
        read_window(r, from, row, sources, 33);
        break;
    case WINDOW:
    case OUTSIDE:
        read_window(r, from, row, sources, 33);
        break;
    case TREE:
    case WIDE: /* tokens read a window and some spans; spans read 64 tokens */
        if (row < sources) {
            read_window(r, from, row, sources, 65);
            read_run(r, example * p->sources[1] + row / 64, 4, 32, 3, 1);
        } else read_run(r, from + (row - sources) * 37 % (sources - 64), 64, 1, 2, 0);
        break;
    case RANDOM:
        for (int i = 0; i < 96; i++)
            read_run(r, from + (int32_t)gsa_between(dice, 0, sources - 1), 1, 1, i % LABELS, 0);
        break;
    default:
        if ((pattern == STAR || pattern == BOTH) && row < sources) {
            read_window(r, from, row, sources, 3);
            read_run(r, example, 1, 1, 2, 1);
        } else read_run(r, from, sources, 1, 0, 0);
        break;
    }
}

static void make_edges(rig *r, int pattern, int32_t examples)
{
    const struct pattern *p = &patterns[pattern];
    const int64_t part_rows[KINDS] = { (int64_t)p->sources[0] * examples,
                                       (int64_t)p->sources[1] * examples };
    int64_t first[EXAMPLES + 1] = { 0 };
    edges_begin(&r->maker, KINDS, part_rows, LABELS);
    for (int32_t e = 0; e < examples; e++) {
        gsa_dice dice = { 3 };
        for (int32_t row = 0; row < p->rows; row++) make_row(r, pattern, e, row, &dice);
        first[e + 1] = first[e] + p->rows;
    }
    edges_done(&r->maker, examples, 1, first);
    int64_t *offset = calloc(KINDS * (size_t)(examples + 1), sizeof *offset);
    ck_assert_ptr_nonnull(offset);
    for (int k = 0; k < KINDS; k++)
        for (int32_t e = 0; e <= examples; e++)
            offset[k * (examples + 1) + e] =
                (int64_t)e * p->sources[k] / (pattern == OUTSIDE && k == 0 ? 2 : 1);
    r->maker.source_offset = offset, r->maker.view.source_scale = 1;
    for (int k = 0; k < KINDS; k++) r->maker.view.source_offset[k] = offset + k * (examples + 1);
    rig_graph(r);
}

/* ---- shares -------------------------------------------------------------------------------- */

static atomic_llong largest, together;

/* Counts the edges that one thread gets at once, and all. */
static void count_rows(const ref_attend *t, gsa_rows rows, int32_t first, int32_t last,
                       const ref_label_sums *sums, void *room)
{
    const long long edges =
        (t->end > 0 ? t->end - t->from : ref_edges_of(t->edges, rows)) * (last - first);
    long long most = atomic_load(&largest);
    (void)sums, (void)room;
    atomic_fetch_add(&together, edges);
    while (edges > most && !atomic_compare_exchange_weak(&largest, &most, edges)) continue;
}

/* Of one example, one head: no thread gets more than a half of the edges of a pattern that reads
 * far, or an eighth of others. */
START_TEST(one_head_is_cut_by_edges)
{
    static const int most[ALL] = {
        [WINDOW] = 8, [FULL] = 4,   [HUB] = 8,  [STAR] = 8,  [BOTH] = 8,
        [TREE] = 2,   [RANDOM] = 2, [WIDE] = 2, [TWICE] = 2, [OUTSIDE] = 1
    };
    for (int p = 0; p < ALL; p++)
        for (int wanted = 0; wanted < 2; wanted++) { /* gradients of labels */
            rig r = { 0 };
            gsa_part parts[KINDS] = { { 0 } };
            ref_looks looks = { 0 };
            ck_assert_int_eq(gsa_backend_ref(NULL, GSA_F64, 4, &r.b, NULL), GSA_OK);
            make_edges(&r, p, 1);
            const int64_t edges = r.maker.view.edge_total, width = patterns[p].dim;
            for (int k = 0; k < KINDS; k++) {
                parts[k].dk = calloc((size_t)(patterns[p].sources[k] * width), sizeof(double));
                parts[k].dv = calloc((size_t)(patterns[p].sources[k] * width), sizeof(double));
            }
            const gsa_part own = parts[1];
            if (p == TWICE) parts[1] = parts[0];
            double *dq = calloc((size_t)(r.maker.view.rows * width), sizeof *dq);
            double *table = calloc((size_t)(LABELS * width), sizeof *table);
            const gsa_attend_args args = { .edges = &r.device,
                                           .heads = 1,
                                           .head_dim = patterns[p].dim,
                                           .parts = parts,
                                           .dq = dq,
                                           .dlabel_vectors = wanted ? table : NULL };
            atomic_store(&largest, 0), atomic_store(&together, 0);
            ck_assert_int_eq(ref_back(r.b, &args, count_rows, NULL, &looks, 0), GSA_OK);
            ck_assert_int_eq(together, edges);
            ck_assert(p != OUTSIDE || largest == edges); /* whole */
            ck_assert_msg(largest <= edges / most[p] + edges / 16,
                          "%s: of %lld edges one thread gets %lld at once", patterns[p].name,
                          (long long)edges, (long long)largest);
            parts[1] = own;
            for (int k = 0; k < KINDS; k++) free(parts[k].dk), free(parts[k].dv);
            free(dq), free(table), gsa_release(NULL, looks.at);
            level_rig_end(&r);
        }
}
END_TEST

/* Heads that rows_heads gets at once. */
static void count_heads(const ref_attend *t, gsa_rows rows, int32_t first, int32_t last,
                        const ref_label_sums *sums, void *room)
{
    (void)t, (void)rows, (void)sums, (void)room;
    if (last - first > atomic_load(&largest)) atomic_store(&largest, last - first);
}

/* As many heads go together as a cache keeps, where rows far apart read the same sources; all go
 * where these are near, or few; by fours with dropout; in no more items than label sums allow. */
START_TEST(heads_go_together)
{
    enum { HEADS = 10 };
    static const struct {
        int pattern, dim, dropout, wanted, together;
    } cases[] = {
        { RANDOM, 16, 0, 0, HEADS },  { RANDOM, 512, 0, 0, 2 },   { RANDOM, 512, 1, 0, 4 },
        { RANDOM, 512, 0, 1, 2 },     { RANDOM, 4096, 0, 0, 1 },  { RANDOM, 1 << 19, 0, 1, HEADS },
        { WINDOW, 512, 0, 0, HEADS }, { STAR, 512, 0, 0, HEADS },
    };
    for (int i = 0; i < GSA_COUNT(cases); i++) {
        rig r = { 0 };
        gsa_part parts[KINDS] = { { 0 } };
        ref_looks looks = { 0 };
        int32_t id = 0;
        double *table = calloc(LABELS, sizeof *table * (size_t)cases[i].dim);
        ck_assert_int_eq(gsa_backend_ref(NULL, GSA_F64, 1, &r.b, NULL), GSA_OK);
        make_edges(&r, cases[i].pattern, 1);
        gsa_attend_args args = { .edges = &r.device,
                                 .heads = HEADS,
                                 .head_dim = cases[i].dim,
                                 .parts = parts,
                                 .dlabel_vectors = cases[i].wanted ? table : NULL };
        if (cases[i].dropout) args.dropout = (gsa_dropout){ .p = .5, .example_id = &id };
        atomic_store(&largest, 0);
        ck_assert_int_eq(ref_back(r.b, &args, count_heads, NULL, &looks, 0), GSA_OK);
        ck_assert_msg(largest == cases[i].together, "%s, heads of %d: %d together",
                      patterns[cases[i].pattern].name, cases[i].dim, (int)largest);
        free(table), gsa_release(NULL, looks.at);
        level_rig_end(&r);
    }
}
END_TEST

/* Of equal scores a large value comes first, ones after it: these are lost where they are added to
 * it one after another, and not where pieces of the hub have sums of their own. */
START_TEST(forward_cuts_a_hub)
{
    enum { HEADS = 3, DIM = 24, WIDTH = HEADS * DIM, LARGE = 1 << 30 };
    const int32_t edges = patterns[HUB].sources[0];
    for (int at = 0; at < GSA_COUNT(level); at++) {
        if (!gsa_cpu_has(level[at])) continue;
        rig r = level_rig(level[at], 2);
        float *v = calloc((size_t)edges * WIDTH, sizeof *v), q[WIDTH] = { 0 }, out[WIDTH],
              lse[HEADS], *weights = calloc((size_t)edges * HEADS, sizeof *weights);
        gsa_part parts[KINDS] = { { v, v, NULL, NULL } };
        make_edges(&r, HUB, 1);
        for (int32_t i = 0; i < edges * WIDTH; i++) v[i] = i < WIDTH ? LARGE : 1;
        const gsa_attend_args args = { .edges = &r.device,
                                       .heads = HEADS,
                                       .head_dim = DIM,
                                       .scale = 1,
                                       .q = q,
                                       .parts = parts,
                                       .out = out,
                                       .lse = lse,
                                       .weights = weights };
        level_rig_attend(&r, &args);
        for (int32_t i = 0; i < WIDTH; i++)
            ck_assert_double_eq_tol((double)out[i] * edges, LARGE + (double)edges, edges / 4.0);
        for (int32_t i = 0; i < edges * HEADS; i++)
            ck_assert_double_eq_tol((double)weights[i] * edges, 1, 1e-5);
        free(v), free(weights), level_rig_end(&r);
    }
}
END_TEST

/* ---- bits ---------------------------------------------------------------------------------- */

typedef struct call {
    int pattern, level, threads;  /* level -1: ref */
    int32_t examples, heads, dim; /* dim 0: the pattern's */
    int dropout, labels, shared;  /* shared: both kinds have the planes of the first */
} call;

static int32_t dim_of(call c)
{
    return c.dim ? c.dim : patterns[c.pattern].dim;
}

typedef struct planes { /* of all examples, one after the other */
    float *q, *dout, *out, *lse, *dq, *k[KINDS], *v[KINDS], *dk[KINDS], *dv[KINDS], *r, *dr;
    int64_t own, part[KINDS], lses; /* of an example */
} planes;

/* The same numbers for each example. */
static float *numbers(int64_t count, int32_t examples, int seed)
{
    float *at = calloc((size_t)(count * examples) + 1, sizeof *at);
    gsa_dice dice = { (uint64_t)seed };
    ck_assert_ptr_nonnull(at);
    for (int64_t i = 0; i < count && seed; i++) at[i] = (float)(4 * gsa_unit(&dice) - 2);
    for (int32_t e = 1; e < examples && seed; e++)
        memcpy(at + e * count, at, sizeof *at * (size_t)count);
    return at;
}

static planes attend(call c)
{
    const struct pattern *p = &patterns[c.pattern];
    const int32_t dim = dim_of(c);
    const int64_t width = (int64_t)c.heads * dim;
    planes x = { .own = p->rows * width, .lses = (int64_t)p->rows * c.heads };
    gsa_part parts[KINDS];
    int32_t id[EXAMPLES] = { 0 }; /* of dropout: all alike */
    rig r = { 0 };
    ck_assert_int_eq(c.level < 0 ? gsa_backend_ref(NULL, GSA_F32, c.threads, &r.b, NULL)
                                 : gsa_backend_cpu(NULL, c.level, c.threads, &r.b, NULL),
                     GSA_OK);
    make_edges(&r, c.pattern, c.examples);
    x.q = numbers(x.own, c.examples, 1), x.dout = numbers(x.own, c.examples, 2);
    x.out = numbers(x.own, c.examples, 0), x.dq = numbers(x.own, c.examples, 3);
    x.lse = numbers(x.lses, c.examples, 0);
    x.r = numbers(LABELS * dim, 1, 4), x.dr = numbers(LABELS * dim, 1, 0);
    for (int k = 0; k < KINDS; k++) {
        x.part[k] = p->sources[k] * width;
        x.k[k] = numbers(x.part[k], c.examples, 5 + (c.pattern == TWICE ? 0 : k));
        x.v[k] = numbers(x.part[k], c.examples, 8 + (c.pattern == TWICE ? 0 : k));
        x.dk[k] = numbers(x.part[k], c.examples, 11), x.dv[k] = numbers(x.part[k], c.examples, 12);
        parts[k] = c.shared && k > 0 ? parts[0] : (gsa_part){ x.k[k], x.v[k], x.dk[k], x.dv[k] };
    }
    gsa_attend_args args = { .edges = &r.device,
                             .heads = c.heads,
                             .head_dim = dim,
                             .scale = 0.2,
                             .q = x.q,
                             .parts = parts,
                             .label_vectors = c.labels ? x.r : NULL,
                             .out = x.out,
                             .lse = x.lse,
                             .dout = x.dout,
                             .dq = x.dq,
                             .dlabel_vectors = c.labels ? x.dr : NULL,
                             .set_dk = c.pattern == TWICE ? 3 : 2,
                             .set_dv = c.pattern == TWICE ? 3 : 1 };
    if (c.dropout)
        args.dropout = (gsa_dropout){ .p = 0.2,
                                      .seed = 1,
                                      .example_id = id,
                                      .row_example = r.device.row_example,
                                      .row_local = r.device.row_local };
    level_rig_attend(&r, &args);
    level_rig_end(&r);
    return x;
}

static void planes_free(planes *x)
{
    float *const at[] = { x->q, x->dout, x->out, x->lse, x->dq, x->r, x->dr };
    for (int i = 0; i < GSA_COUNT(at); i++) free(at[i]);
    for (int k = 0; k < KINDS; k++) free(x->k[k]), free(x->v[k]), free(x->dk[k]), free(x->dv[k]);
}

static int same(const float *want, const float *got, int64_t count, int32_t examples)
{
    int equal = 1;
    for (int32_t e = 0; e < examples; e++)
        equal &= memcmp(want, got + e * count, sizeof *want * (size_t)count) == 0;
    return equal;
}

static void check_same(const planes *want, const planes *got, call c)
{
    int equal = same(want->dq, got->dq, want->own, c.examples) &&
                same(want->out, got->out, want->own, c.examples) &&
                same(want->lse, got->lse, want->lses, c.examples);
    for (int k = 0; k < KINDS; k++)
        equal &= same(want->dk[k], got->dk[k], want->part[k], c.examples) &&
                 same(want->dv[k], got->dv[k], want->part[k], c.examples);
    ck_assert_msg(equal,
                  "%s, level %d, %d heads, dropout %d, labels %d: %d examples and %d threads",
                  patterns[c.pattern].name, c.level, (int)c.heads, c.dropout, c.labels,
                  (int)c.examples, c.threads);
    if (c.examples == 1)
        ck_assert_msg(!c.labels || same(want->dr, got->dr, LABELS * dim_of(c), 1),
                      "%s, level %d, %d heads: dr, %d threads", patterns[c.pattern].name, c.level,
                      (int)c.heads, c.threads);
}

static void same_bits(call c)
{
    static const struct {
        int threads, examples;
    } others[] = { { 2, 1 }, { 1, 2 }, { 5, 3 } };
    c.threads = 1, c.examples = 1;
    planes want = attend(c);
    for (int i = c.pattern % GSA_THIN(3); i < GSA_COUNT(others); i += GSA_THIN(3)) {
        c.threads = others[i].threads, c.examples = others[i].examples;
        planes got = attend(c);
        check_same(&want, &got, c);
        planes_free(&got);
    }
    planes_free(&want);
}

START_TEST(threads_and_batch_change_no_bit)
{
    for (int at = -1; at < GSA_COUNT(level); at++) {
        if ((at >= 0 && !gsa_cpu_has(level[at])) || (_i + at + 1) % GSA_THIN(2)) continue;
        const int lv = at < 0 ? -1 : level[at];
        same_bits((call){ .pattern = _i,
                          .level = lv,
                          .heads = 1 + (_i + at + 1) % 3,
                          .labels = (_i + at + 1) % 3 == 1,
                          .dropout = (_i + at + 1) % 3 == 2 });
        same_bits((call){ /* heads by fours, and what is left */
                          .pattern = _i,
                          .level = lv,
                          .heads = 4 + (_i + at + 1) % 4,
                          .dim = 8,
                          .labels = _i % 2,
                          .dropout = 1 });
    }
}
END_TEST

/* Planes that two kinds share get what both kinds' own planes get together. */
START_TEST(planes_of_two_kinds)
{
    for (int at = -1; at < GSA_COUNT(level); at++) {
        if (at >= 0 && !gsa_cpu_has(level[at])) continue;
        call c = { .pattern = TWICE, .level = at < 0 ? -1 : level[at], .threads = 2 };
        c.examples = 1, c.heads = 1 + (at + 1) % 2, c.dropout = (at + 1) % 2;
        planes want = attend(c);
        c.shared = 1;
        planes got = attend(c);
        for (int64_t i = 0; i < want.part[0]; i++) {
            ck_assert_float_eq_tol(got.dk[0][i], want.dk[0][i] + want.dk[1][i], 1e-3);
            ck_assert_float_eq_tol(got.dv[0][i], want.dv[0][i] + want.dv[1][i], 1e-3);
        }
        planes_free(&want), planes_free(&got);
        same_bits(c);
    }
}
END_TEST

/* Of so many threads not each has room for the sums of an example's parts. */
START_TEST(threads_change_no_label_gradient)
{
    call c = { .pattern = FULL, .threads = 1, .heads = 1, .labels = 1, .examples = EXAMPLES };
    c.dim = 64, c.level = -1;
    for (int at = 0; at < GSA_COUNT(level) && c.level < 0; at++)
        if (gsa_cpu_has(level[at])) c.level = level[at];
    planes want = attend(c);
    c.threads = 80;
    planes got = attend(c);
    check_same(&want, &got, c);
    ck_assert(same(want.dr, got.dr, (int64_t)LABELS * c.dim, 1));
    planes_free(&want), planes_free(&got);
}
END_TEST

/* Heads that go together by what a cache keeps. */
START_TEST(groups_of_heads)
{
    for (int at = 0; at < GSA_COUNT(level); at++)
        if (gsa_cpu_has(level[at]))
            same_bits((call){
                .pattern = RANDOM, .level = level[at], .heads = 2, .dim = 600, .labels = at % 2 });
}
END_TEST

/* ---- values -------------------------------------------------------------------------------- */

START_TEST(equal_the_oracle)
{
    static const int flags[] = { 0, 3, 5 }; /* vectors 1, bias 2, dropout 4 */
    const op_case *op = &graph_cases[graph_case_count - 1];
    for (int at = 0; at < GSA_COUNT(level); at++)
        if (gsa_cpu_has(level[at])) {
            const int f = (_i + at) % GSA_COUNT(flags);
            const op_shape shape = { patterns[_i].sources[0], 1 + f, patterns[_i].dim, KINDS,
                                     flags[f] };
            char name[96];
            rig r;
            gsa_backend *b;
            ck_assert_int_eq(gsa_backend_cpu(NULL, level[at], 2, &b, NULL), GSA_OK);
            snprintf(name, sizeof name, "%s, %s", b->name, patterns[_i].name);
            rig_begin(&r, b, 31, RIG_RANDOM, shape);
            make_edges(&r, _i, 1);
            equals_the_oracle(&r, op, name);
            rig_end(&r);
            gsa_backend_release(b);
        }
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test shares[] = { GSA_TEST(one_head_is_cut_by_edges),
                                       GSA_TEST(heads_go_together), GSA_TEST(forward_cuts_a_hub) };
    static const gsa_test bits[] = { GSA_LOOP(threads_and_batch_change_no_bit, PATTERNS),
                                     GSA_TEST(planes_of_two_kinds),
                                     GSA_TEST(threads_change_no_label_gradient),
                                     GSA_TEST(groups_of_heads) };
    static const gsa_test values[] = { GSA_LOOP(equal_the_oracle, PATTERNS) };
    static const gsa_case cases[] = { GSA_CASE("shares", shares, 60), GSA_CASE("bits", bits, 120),
                                      GSA_CASE("values", values, 120) };
    return gsa_run_suite("cpu_cut", cases, GSA_COUNT(cases), argc, argv);
}
