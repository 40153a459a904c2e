/* Every format of attention on the cpu backend (kernels/cpu/attention/attention.h) by every
 * property, in one table. Threads, the batch and outputs larger than the caches change no bit, also
 * with dropout and labels. Each head gives what it gives alone. NaN and infinities stay in the rows
 * that read them. A failed allocation is an error. Rows that share some of their sources, with the
 * same labels and with others, equal the oracle. */
#include "kernels/cpu/cpu.h"
#include "level_rig.h"
#include "oracle_check.h"
#include "support/thin.h"
#include <math.h>
#include <stdio.h>

enum { LABELS = 5, LEVELS = 4, MOST_HEADS = 20, MOST_DIM = 64 };
static const int level[LEVELS] = { GSA_CPU_AVX2, GSA_CPU_AVX512, GSA_CPU_EMULATED, GSA_CPU_NEON };

/* ---- patterns: the runs of a row, of two kinds of sources from `base` on --------------------- */

typedef void row_maker(edges_maker *m, int which, int32_t row, int32_t base);

static void window(edges_maker *m, int which, int32_t row, int32_t base) /* of five */
{
    enum { ROWS = 67 };
    const int32_t low = row < 2 ? 0 : row - 2, high = row + 2 < ROWS ? row + 2 : ROWS - 1;
    (void)which;
    edges_run(m, (gsa_run){ base + low, high - low + 1, 1, 0, 0, 0 });
}

static void few(edges_maker *m, int which, int32_t row, int32_t base) /* 0 to 4, now and then 20 */
{
    const int32_t count = row % 13 == 7 ? 20 : (row * row + row / 3) % 5;
    (void)which;
    for (int32_t e = 0; e < count; e++)
        edges_run(m, (gsa_run){ base + (row * 17 + e * 11) % 40, 1, 1, (row + e) % LABELS, 0, 0 });
}

static void far_apart(edges_maker *m, int which, int32_t row, int32_t base)
{
    (void)which;
    edges_run(m, (gsa_run){ base + row % 7, 35, 4, row % LABELS, 0, 0 });
    edges_run(m, (gsa_run){ base + row * 5 % 40, 35, 4, (row + 3) % LABELS, 0, 1 });
}

static void strided(edges_maker *m, int which, int32_t row, int32_t base) /* near and far ones */
{
    (void)which;
    edges_run(m, (gsa_run){ base + row, 40, 1, 0, 0, 0 });
    edges_run(m, (gsa_run){ base + row, 20, 10, 1, 0, 1 });
}

/* Seven tokens of a head and of its neighbours, as `head_area` reads them; head 1 backwards. */
static void area(edges_maker *m, int which, int32_t row, int32_t base)
{
    enum { HEADS = 4, WIDTH = 7 };
    const int32_t token = row / HEADS * HEADS, head = row % HEADS;
    (void)which;
    for (int32_t h = head ? head - 1 : 0; h <= head + 1 && h < HEADS; h++) {
        const int32_t first = base + token + h, last = first + (WIDTH - 1) * HEADS;
        edges_run(m, h == 1 ? (gsa_run){ last, WIDTH, -HEADS, h - head + 1, 0, 0 }
                            : (gsa_run){ first, WIDTH, HEADS, h - head + 1, 0, 0 });
    }
}

static void holes(edges_maker *m, int which, int32_t row, int32_t base) /* a dilated window */
{
    (void)which;
    edges_run(m, (gsa_run){ base + row, 21, 2, 1, 0, 0 });
}

static void spans(edges_maker *m, int which, int32_t row, int32_t base) /* of 2, ... 64, and all */
{
    enum { SOURCES = 320 };
    int32_t span = 2;
    (void)which;
    for (; span <= 64 && row >= SOURCES / span; span *= 2) row -= SOURCES / span;
    edges_run(m, span > 64 ? (gsa_run){ base, SOURCES, 1, 0, 0, 0 }
                           : (gsa_run){ base + row * span, span, 1, (row + span) % LABELS, 0, 0 });
}

static void all(edges_maker *m, int which, int32_t row, int32_t base)
{
    (void)which, (void)row;
    edges_run(m, (gsa_run){ base, 96, 1, 0, 0, 0 });
}

/* How sparse rows are, in per cent, and how edges are labelled. */
enum {
    COMMON,
    DIAGONAL,
    MIXED,
    ANY,
    SHARED /* by some of four rows that follow one another, in all eight ways */
};
static const struct strip {
    int density, labels;
} strip_kinds[] = { { 35, COMMON }, { 35, MIXED }, { 45, DIAGONAL }, { 60, MIXED },
                    { 60, ANY },    { 80, MIXED }, { 55, SHARED } };

static int32_t label_of(int how, int32_t column, int32_t row, gsa_dice *dice)
{
    if (how == MIXED) how = column % 3;
    if (how == COMMON) return column % LABELS;
    if (how == SHARED)
        return (column / 8 + __builtin_popcount((unsigned)column % 8 & ((1u << row % 4) - 1))) %
               LABELS;
    return how == DIAGONAL ? (column + LABELS * 40 - row) % LABELS
                           : (int32_t)gsa_between(dice, 0, LABELS - 1);
}

/* Rows of four read most of a column or nothing of it; ranges of columns are apart and are of two
 * kinds. `which`: of the table above, and in how many ways it has been drawn before. */
static void strips(edges_maker *m, int which, int32_t row, int32_t base)
{
    const struct strip *kind = &strip_kinds[which % GSA_COUNT(strip_kinds)];
    gsa_dice fours = { (uint64_t)(1000 * which + row / 4) },
             own = { (uint64_t)(1000 * row + which) };
    for (int32_t c = 0; c < 120; c++) {
        const int32_t read = (int32_t)gsa_between(&fours, 0, 99),
                      label = label_of(kind->labels, c, row, &own);
        if (c % 40 < 33 && read < kind->density && gsa_between(&own, 0, 9) > 0)
            edges_run(m, (gsa_run){ base + c, 1, 1, label, 0, c >= 60 });
    }
}

enum { TILES, LABELLED, BANDS }; /* BANDS: each second tile is four bands */

/* Rows of a tile read 100 and more of 150; labels go by diagonals and by columns. */
static void tiles(edges_maker *m, int which, int32_t row, int32_t base)
{
    if (which == BANDS && row / 16 % 2) {
        edges_run(m, (gsa_run){ base + row % 16 / 4 * 37, 32, 1, 0, 0, 0 });
        return;
    }
    for (int32_t c = 0; c < 150; c++)
        if (c % 31 < 25 && (c * 7 + row / 4 * 5) % 10 < 8 && (c + row) % 13 != 0)
            edges_run(
                m, (gsa_run){ base + c, 1, 1,
                              which == LABELLED ? (c % 3 ? c + LABELS * 70 - row : c) % LABELS : 0,
                              0, c >= 70 });
}

enum { ROW, ELL, DIA, BCSR, INTERVAL, GEMM };

static const struct pattern {
    const char *name;
    row_maker *row;
    int which, format;
    int32_t least, most; /* rows of an example that go by the format; 0: all that fill vectors */
    int32_t rows, sources, kinds, labels, heads, dim;
    int biased; /* labels have biases, not vectors alone */
    int exact;  /* no sum is taken in another order where something is not finite */
} patterns[] = {
    { "window", window, 0, DIA, 55, 67, 67, 67, 1, 1, 4, 50, 0, 0 },
    { "few", few, 0, ELL, 40, 61, 61, 40, 1, LABELS, 6, 20, 0, 1 },
    { "far apart", far_apart, 0, ROW, 30, 30, 30, 180, 2, LABELS, 5, 20, 1, 1 },
    { "strided", strided, 0, DIA, 64, 64, 67, 260, 2, LABELS, 5, 20, 1, 0 },
    { "spans", spans, 0, INTERVAL, 315, 316, 316, 320, 2, LABELS, 5, 12, 1, 1 },
    { "all", all, 0, GEMM, 96, 96, 96, 96, 2, 0, 3, 32, 0, 0 },
    { "area", area, 0, BCSR, 0, 0, 68, 92, 1, LABELS, 5, 20, 1, 0 },
    { "holes", holes, 0, BCSR, 0, 0, 37, 77, 1, LABELS, 5, 20, 1, 0 },
    { "strips, common", strips, 0, BCSR, 0, 0, 37, 120, 2, LABELS, 3, 50, 1, 0 },
    { "strips, sparse", strips, 1, BCSR, 0, 0, 37, 120, 2, LABELS, 3, 50, 1, 0 },
    { "strips, diagonal", strips, 2, BCSR, 0, 0, 37, 120, 2, LABELS, 3, 50, 1, 0 },
    { "strips, mixed", strips, 3, BCSR, 0, 0, 37, 120, 2, LABELS, 3, 50, 1, 0 },
    { "strips, any", strips, 4, BCSR, 0, 0, 37, 120, 2, LABELS, 3, 50, 1, 0 },
    { "strips, dense", strips, 5, BCSR, 0, 0, 37, 120, 2, LABELS, 3, 50, 1, 0 },
    { "strips, shared", strips, 6, BCSR, 0, 0, 37, 120, 2, LABELS, 3, 50, 1, 0 },
    { "tiles", tiles, TILES, BCSR, 0, 0, 70, 150, 2, 0, MOST_HEADS, 50, 0, 0 },
    { "tiles, labelled", tiles, LABELLED, BCSR, 0, 0, 70, 150, 2, LABELS, MOST_HEADS, 50, 1, 0 },
    { "bands", tiles, BANDS, DIA, 32, 32, 70, 150, 2, 0, MOST_HEADS, 50, 0, 0 },
};
enum { PATTERNS = GSA_COUNT(patterns) };

static void make_edges(rig *r, const struct pattern *p, int32_t examples)
{
    const int64_t part_rows[2] = { (int64_t)examples * p->sources, (int64_t)examples * p->sources };
    int64_t *first = calloc((size_t)examples + 1, sizeof *first);
    ck_assert_ptr_nonnull(first);
    edges_begin(&r->maker, p->kinds, part_rows, p->labels);
    for (int32_t e = 0; e < examples; e++)
        for (int32_t row = 0; row < p->rows; row++) {
            edges_row(&r->maker, e, row);
            p->row(&r->maker, p->which, row, e * p->sources);
        }
    for (int32_t e = 0; e <= examples; e++) first[e] = (int64_t)e * p->rows;
    edges_done(&r->maker, examples, 1, first);
    free(first);
    rig_graph(r);
}

/* ---- a call ---------------------------------------------------------------------------------- */

enum { Q, DOUT, K, K2, V, V2, INPUTS, OUT = INPUTS, LSE, DQ, DK, DK2, DV, DV2, DR, DB, PLANES };

typedef struct call {
    const struct pattern *p;
    int at, threads, kept;               /* kept: dv alone of the sources' gradients */
    int32_t examples, first, heads, dim; /* first: of the heads at work among the pattern's */
    double drop;
    int taint; /* a plane, whose row or source `tainted` holds `odd` in head 1 */
    int32_t tainted;
    float odd;
    double scale, gradient; /* of queries; do where it is not 0 */
    float *of[PLANES];
} call;

static call call_of(int i)
{
    const struct pattern *p = &patterns[i % PATTERNS];
    return (call){ .p = p,
                   .at = i / PATTERNS,
                   .threads = 1,
                   .examples = 1,
                   .heads = p->heads,
                   .dim = p->dim,
                   .taint = -1,
                   .scale = 1 };
}

/* Numbers of a plane's example; of labels all. */
static int64_t size_of(const call *c, int plane)
{
    const int64_t width = (int64_t)c->heads * c->dim;
    if (plane == DR) return (int64_t)LABELS * c->dim;
    if (plane == DB) return (int64_t)LABELS * c->heads;
    if (plane == LSE) return (int64_t)c->p->rows * c->heads;
    return width * (plane == Q || plane == DOUT || plane == OUT || plane == DQ ? c->p->rows
                                                                               : c->p->sources);
}

/* The number of a plane at a row and a column of all heads, the same in each example. */
static float number(int plane, int64_t row, int64_t column)
{
    gsa_dice dice = { (uint64_t)((plane * 1000 + row) * 2000 + column) };
    return (float)gsa_normal(&dice);
}

static void fill(call *c)
{
    const int64_t width = (int64_t)c->heads * c->dim;
    for (int p = 0; p < PLANES; p++) {
        const int64_t size = size_of(c, p);
        /* outputs go past the caches where they are on lines of memory */
        const size_t bytes = (sizeof(float) * (size_t)(size * c->examples) / 64 + 1) * 64;
        float *x = c->of[p] = aligned_alloc(64, bytes);
        ck_assert_ptr_nonnull(x);
        memset(x, 0, bytes);
        if (p >= INPUTS) continue;
        for (int64_t i = 0; i < size; i++)
            x[i] = number(p, i / width, (int64_t)c->first * c->dim + i % width);
        for (int64_t i = 0; p == Q && i < size; i++) x[i] *= (float)c->scale;
        for (int64_t i = 0; p == DOUT && c->gradient != 0 && i < size; i++)
            x[i] = (float)c->gradient;
        if (p == c->taint) x[c->tainted * width + c->dim + 5] = c->odd;
        for (int32_t e = 1; e < c->examples; e++) memcpy(x + e * size, x, sizeof *x * (size_t)size);
    }
}

static void finish(call *c)
{
    for (int p = 0; p < PLANES; p++) free(c->of[p]);
}

typedef struct pointed { /* what args point to */
    gsa_part parts[GSA_MAX_KINDS];
    float vectors[LABELS * MOST_DIM], bias[LABELS * MOST_HEADS];
    int32_t *id;
    gsa_attend_args args;
} pointed;

static void point(pointed *x, const call *c, const rig *r)
{
    const int labelled = c->p->labels > 1, biased = c->p->biased;
    for (int i = 0; i < LABELS * c->dim; i++) x->vectors[i] = number(PLANES, 0, i);
    for (int l = 0; l < LABELS; l++)
        for (int32_t h = 0; h < c->heads; h++)
            x->bias[l * c->heads + h] = number(PLANES + 1, l, c->first + h);
    for (int k = 0; k < 2; k++)
        x->parts[k] =
            (gsa_part){ c->of[K + k], c->of[V + k], c->kept ? NULL : c->of[DK + k], c->of[DV + k] };
    x->id = calloc((size_t)c->examples, sizeof *x->id); /* all drop the same edges */
    x->args = (gsa_attend_args){
        .edges = &r->device,
        .heads = c->heads,
        .head_dim = c->dim,
        .scale = 0.2,
        .dropout = { .p = c->drop, .seed = 3, .step = 9, .site = 3, .example_id = x->id },
        .q = c->of[Q],
        .parts = x->parts,
        .label_vectors = labelled ? x->vectors : NULL,
        .label_bias = biased ? x->bias : NULL,
        .out = c->of[OUT],
        .lse = c->of[LSE],
        .dout = c->of[DOUT],
        .dq = c->of[DQ],
        .dlabel_vectors = labelled ? c->of[DR] : NULL,
        .dlabel_bias = biased ? c->of[DB] : NULL
    };
}

static void check_format(const call *c, const gsa_attend_args *args)
{
    const gsa_cpu_probe *probe = gsa_cpu_probe_of(level[c->at]);
    const int64_t full = c->p->rows - c->p->rows % probe->lanes;
    const int64_t least = c->p->least ? c->p->least : full, most = c->p->most ? c->p->most : full;
    gsa_cpu_formats f;
    ck_assert(probe->formats(args, &f));
    const int64_t rows[] = { f.row, f.ell, f.dia, f.bcsr, f.interval, f.gemm };
    ck_assert_msg(rows[c->p->format] >= least * c->examples &&
                      rows[c->p->format] <= most * c->examples,
                  "%s: %lld rows go so", c->p->name, (long long)rows[c->p->format]);
}

static void attend(call *c)
{
    static pointed x;
    rig r = level_rig(level[c->at], c->threads);
    make_edges(&r, c->p, c->examples);
    fill(c);
    point(&x, c, &r);
    check_format(c, &x.args);
    level_rig_attend(&r, &x.args);
    free(x.id);
    level_rig_end(&r);
}

/* ---- bits ------------------------------------------------------------------------------------ */

/* Every example's results are `want`'s. */
static void check_bits(const call *c, const call *want)
{
    static const char *const name[PLANES] = {
        [OUT] = "out", [DQ] = "dq",    [LSE] = "lse", [DK] = "dk", [DK2] = "dk 2",
        [DV] = "dv",   [DV2] = "dv 2", [DR] = "dr",   [DB] = "db"
    };
    for (int p = INPUTS; p < (c->examples == 1 ? PLANES : DR); p++)
        for (int64_t e = 0, size = size_of(c, p); e < c->examples; e++)
            ck_assert_msg(memcmp(c->of[p] + e * size, want->of[p], sizeof(float) * (size_t)size) ==
                              0,
                          "%s: %s, %d threads, example %d of %d, dropout %g", c->p->name, name[p],
                          c->threads, (int)e, (int)c->examples, c->drop);
}

START_TEST(threads_and_the_batch_change_no_bit)
{
    /* so many rows, too, that items are larger the fewer threads there are */
    static const struct {
        int threads, examples;
    } ways[] = { { 1, 1 }, { 2, 1 }, { 3, 1 },  { 8, 1 },  { 16, 1 }, { 1, 5 },  { 2, 7 },
                 { 3, 3 }, { 8, 3 }, { 16, 7 }, { 1, 24 }, { 2, 24 }, { 3, 24 }, { 8, 24 } };
    if (!gsa_cpu_has(level[_i / PATTERNS])) return;
    for (int drop = 0; drop < 2; drop++) {
        call want = call_of(_i);
        want.drop = drop * 0.3;
        attend(&want);
        for (int i = (_i + drop) % GSA_THIN(3); i < GSA_COUNT(ways); i += GSA_THIN(3)) {
            call c = call_of(_i);
            c.drop = want.drop, c.threads = ways[i].threads, c.examples = ways[i].examples;
            if (c.heads == MOST_HEADS && c.examples > 3) c.examples = 3;
            attend(&c), check_bits(&c, &want), finish(&c);
        }
        finish(&want);
    }
}
END_TEST

START_TEST(outputs_past_the_caches_are_the_same)
{
    enum { NUMBERS = 1 << 22, HEADS = 4, DIM = 64 };
    call want = call_of(_i / 2);
    if (!gsa_cpu_has(level[want.at]) || want.p->which > 0 || want.p->format == GEMM) return;
    want.heads = HEADS, want.dim = DIM, want.drop = _i % 2 * 0.3;
    call c = want;
    c.examples = NUMBERS / (c.p->rows * HEADS * DIM) + 1, c.threads = 2;
    attend(&want), attend(&c), check_bits(&c, &want), finish(&c), finish(&want);
}
END_TEST

/* Whether head h of rows of `wide` is what `one` has, a plane of one head of `dim` numbers. */
static int same_head(const call *wide, const call *one, int plane, int32_t h)
{
    const int64_t dim = plane == LSE ? 1 : wide->dim, width = wide->heads * dim;
    for (int64_t i = 0, rows = size_of(one, plane) / dim; i < rows; i++)
        if (memcmp(wide->of[plane] + i * width + h * dim, one->of[plane] + i * dim,
                   sizeof(float) * (size_t)dim))
            return 0;
    return 1;
}

START_TEST(heads_are_as_alone)
{
    call wide = call_of(_i / 2);
    double dr[LABELS * MOST_DIM] = { 0 };
    if (!gsa_cpu_has(level[wide.at])) return;
    wide.kept = _i % 2;
    attend(&wide);
    for (int32_t h = 0; h < wide.heads; h++) {
        call one = call_of(_i / 2);
        one.kept = wide.kept, one.heads = 1, one.first = h;
        attend(&one);
        for (int p = INPUTS; p < DR; p++)
            ck_assert_msg(same_head(&wide, &one, p, h), "%s: plane %d of head %d", wide.p->name, p,
                          (int)h);
        for (int l = 0; l < LABELS; l++)
            ck_assert_float_eq_tol(wide.of[DB][l * wide.heads + h], one.of[DB][l], 1e-4f);
        for (int i = 0; i < LABELS * wide.dim; i++) dr[i] += (double)one.of[DR][i];
        finish(&one);
    }
    for (int i = 0; i < LABELS * wide.dim; i++)
        ck_assert_double_eq_tol((double)wide.of[DR][i], dr[i], 2e-3);
    finish(&wide);
}
END_TEST

/* ---- what is not finite ---------------------------------------------------------------------- */

/* Whether a row of a plane is other than without the taint, 1: in head 1 alone; gradients of rows
 * that go together are summed in another order then. */
static int differs(const call *x, const call *clean, int plane, int32_t row)
{
    const int64_t width = (int64_t)x->heads * x->dim;
    const float most = x->p->exact ? 0 : plane == OUT ? 1e-4f : 1e-3f;
    int bad = 0;
    for (int64_t i = 0; i < width; i++) {
        const float by = x->of[plane][row * width + i] - clean->of[plane][row * width + i];
        if (!(by <= most && by >= -most)) bad |= i / x->dim == 1 ? 1 : 2;
    }
    return bad;
}

/* Whether a row reads a source of a kind. */
static int reads(const gsa_edges *e, int32_t row, int kind, int32_t source)
{
    for (int64_t i = e->run_offset[row]; i < e->run_offset[row + 1]; i++)
        for (int32_t j = 0; j < e->runs[i].count; j++)
            if (e->runs[i].kind == kind && e->runs[i].first + j * e->runs[i].step == source)
                return 1;
    return 0;
}

static int has_edges(const gsa_edges *e, int32_t row)
{
    return e->edge_offset[row + 1] > e->edge_offset[row];
}

/* A query that is no number makes none of what its row has in head 1. */
static void check_nan(const call *x, const gsa_edges *e)
{
    const int64_t width = (int64_t)x->heads * x->dim;
    const float *out = x->of[OUT] + x->tainted * width, *dq = x->of[DQ] + x->tainted * width;
    if (x->taint != Q || !isnan(x->odd) || !has_edges(e, x->tainted)) return;
    for (int32_t i = x->dim; i < 2 * x->dim; i++)
        ck_assert_msg(isnan(out[i]) && isnan(dq[i]), "%s: row %d, column %d", x->p->name,
                      (int)x->tainted, (int)i);
}

/* `may`: rows whose head 1 the taint may reach. */
static void check_rows(const call *x, const call *clean, const gsa_edges *e, char *may)
{
    int odd = 0, spoilt = 0, reached = 0;
    for (int32_t row = 0; row < x->p->rows; row++) {
        const int out = differs(x, clean, OUT, row), dq = differs(x, clean, DQ, row);
        may[row] = x->taint <= DOUT ? row == x->tainted && has_edges(e, row)
                                    : (char)reads(e, row, 0, x->tainted);
        odd += dq, spoilt += out, reached += may[row];
        ck_assert_msg((out | dq) <= may[row], "%s: plane %d, %d, row %d", x->p->name, x->taint,
                      (int)x->tainted, (int)row);
    }
    ck_assert_msg((odd > 0) == (reached > 0), "%s: plane %d, %d: %d rows differ, %d may",
                  x->p->name, x->taint, (int)x->tainted, odd, reached);
    ck_assert_msg((spoilt > 0) == (reached > 0 && x->taint != DOUT),
                  "%s: plane %d, %d: %d outputs differ", x->p->name, x->taint, (int)x->tainted,
                  spoilt);
    /* the first is read, and by all where all read all */
    ck_assert_msg(x->tainted != 20 || reached > 0, "%s: %d is not read", x->p->name,
                  (int)x->tainted);
    ck_assert_msg(reached < x->p->rows || x->p->row == all, "%s: all rows read %d", x->p->name,
                  (int)x->tainted);
}

/* Gradients of sources that no row reads which the taint reaches, `may`, are as without it. */
static void check_sources(const call *x, const call *clean, const gsa_edges *e, const char *may)
{
    int given = 0;
    for (int32_t source = 0; source < x->p->sources; source++)
        for (int kind = 0; kind < 2; kind++) {
            int any = 0;
            const int bad =
                differs(x, clean, DK + kind, source) | differs(x, clean, DV + kind, source);
            for (int32_t row = 0; row < x->p->rows && bad; row++)
                any |= may[row] && reads(e, row, kind, source);
            given += bad;
            ck_assert_msg(bad <= any, "%s: plane %d, %d, source %d", x->p->name, x->taint,
                          (int)x->tainted, (int)source);
        }
    ck_assert_msg((given > 0) == (memchr(may, 1, (size_t)x->p->rows) != NULL),
                  "%s: plane %d, %d: %d sources differ", x->p->name, x->taint, (int)x->tainted,
                  given);
}

START_TEST(rows_keep_to_their_sources)
{
    static const int plane[] = { Q, DOUT, K, V };
    static const int32_t tainted[] = { 20, 31, 34 }; /* `few` have 20 edges, 1 and 2 */
    call clean = call_of(_i);
    if (!gsa_cpu_has(level[clean.at])) return;
    rig r = level_rig(level[clean.at], 1);
    char *may = calloc((size_t)clean.p->rows, 1);
    ck_assert_ptr_nonnull(may);
    make_edges(&r, clean.p, 1);
    attend(&clean);
    for (int i = 0; i < 2 * GSA_COUNT(plane) * GSA_COUNT(tainted); i++) {
        call x = call_of(_i);
        x.taint = plane[i / 2 % GSA_COUNT(plane)], x.odd = i % 2 ? INFINITY : NAN;
        x.tainted = tainted[i / 2 / GSA_COUNT(plane)];
        if (x.tainted >= x.p->rows) continue;
        attend(&x), check_nan(&x, &r.maker.view);
        check_rows(&x, &clean, &r.maker.view, may);
        check_sources(&x, &clean, &r.maker.view, may), finish(&x);
    }
    free(may);
    finish(&clean);
    level_rig_end(&r);
}
END_TEST

/* p = exp(s - lse) of a row sum to 1 where s are the forward pass's bits. Of other roundings they
 * do not: a unit of the last place of such scores is an eighth. */
START_TEST(weights_of_large_scores_sum_to_one)
{
    call x = call_of(_i);
    int32_t rows = 0;
    if (!gsa_cpu_has(level[x.at]) || x.p->format != BCSR) return;
    x.scale = 1e6, x.gradient = 1;
    attend(&x);
    rig r = level_rig(level[x.at], 1);
    make_edges(&r, x.p, 1);
    for (int32_t row = 0; row < x.p->rows; row++)
        rows += r.maker.view.edge_offset[row + 1] > r.maker.view.edge_offset[row];
    for (int64_t j = 0, width = (int64_t)x.heads * x.dim; j < width; j++) {
        double sum = 0;
        for (int64_t c = 0; c < x.p->sources; c++)
            sum += (double)x.of[DV][c * width + j] + (double)x.of[DV2][c * width + j];
        ck_assert_msg(sum > rows - 0.02 && sum < rows + 0.02, "%s: dv sum to %g, not %d", x.p->name,
                      sum, (int)rows);
    }
    finish(&x);
    level_rig_end(&r);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

static gsa_status both_passes(gsa_backend *b, const gsa_edges *edges, void *context)
{
    const gsa_attend_args *args = context;
    (void)edges; /* args have them */
    const gsa_status status = b->attend_forward(b, args);
    return status == GSA_OK ? b->attend_backward(b, args) : status;
}

static gsa_status with_faults(gsa_faults *faults, void *context)
{
    static pointed x;
    const call *c = context;
    rig r = level_rig(level[c->at], 1);
    make_edges(&r, c->p, 1);
    point(&x, c, &r);
    const gsa_status status = level_rig_faulty(faults, level[c->at], &r, both_passes, &x.args);
    free(x.id);
    level_rig_end(&r);
    return status;
}

START_TEST(memory_that_is_not_there_is_told_of)
{
    call c = call_of(_i);
    if (!gsa_cpu_has(level[c.at])) return;
    fill(&c);
    ck_assert_int_ge(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, with_faults, &c), 10);
    finish(&c);
}
END_TEST

/* ---- values ---------------------------------------------------------------------------------- */

static const int dims[] = { 1, 3, 8, 10, 16, 17, 33, 48, 50, 63, 64, 65, 100, 128, 200, 256 };

static void check_values(int at, int dim, int flags, const struct pattern *p)
{
    const op_case *op = &graph_cases[graph_case_count - 1];
    const op_shape shape = { 19, 1 + p->which, dim, 1, flags };
    struct pattern drawn = *p; /* with other edges for other flags */
    char name[96];
    gsa_backend *b;
    rig r;
    ck_assert_int_eq(gsa_backend_cpu(NULL, level[at], 1, &b, NULL), GSA_OK);
    snprintf(name, sizeof name, "%s, head_dim %d, flags %d, %s", b->name, dim, flags, p->name);
    rig_begin(&r, b, (uint64_t)p->which, RIG_RANDOM, shape);
    drawn.which += GSA_COUNT(strip_kinds) * flags;
    make_edges(&r, &drawn, 2);
    equals_the_oracle(&r, op, name);
    rig_end(&r);
    gsa_backend_release(b);
}

START_TEST(equal_the_oracle)
{
    static const int flags[] = {
        0, 1, 2, 3, 5, 7, 67, 35
    }; /* vectors 1, bias 2, dropout 4, gradients of v alone 32, -inf 64 */
    int first = 0;
    while (patterns[first].row != strips) first++;
    for (int at = 0; at < LEVELS; at++)
        for (int f = _i % GSA_THIN(2); f < GSA_COUNT(flags) && gsa_cpu_has(level[at]);
             f += GSA_THIN(2))
            check_values(at, dims[_i], flags[f],
                         &patterns[first + (_i + f / GSA_THIN(2)) % GSA_COUNT(strip_kinds)]);
}
END_TEST

int main(int argc, char **argv)
{
    enum { EACH = PATTERNS * LEVELS };
    static const gsa_test bits[] = { GSA_LOOP(threads_and_the_batch_change_no_bit, EACH),
                                     GSA_LOOP(outputs_past_the_caches_are_the_same, 2 * EACH),
                                     GSA_LOOP(heads_are_as_alone, 2 * EACH) };
    static const gsa_test odd[] = { GSA_LOOP(rows_keep_to_their_sources, EACH),
                                    GSA_LOOP(weights_of_large_scores_sum_to_one, EACH) };
    static const gsa_test memory[] = { GSA_LOOP(memory_that_is_not_there_is_told_of, EACH) };
    static const gsa_test values[] = { GSA_LOOP(equal_the_oracle, GSA_COUNT(dims)) };
    static const gsa_case cases[] = { GSA_CASE("bits", bits, 120), GSA_CASE("odd", odd, 120),
                                      GSA_CASE("memory", memory, 120),
                                      GSA_CASE("values", values, 120) };
    return gsa_run_suite("cpu_formats", cases, GSA_COUNT(cases), argc, argv);
}
