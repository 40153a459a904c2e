/* The patterns and the calls of formats_table.h. */
#include "formats_table.h"
#include <math.h>

const int level[LEVELS] = { GSA_CPU_AVX2, GSA_CPU_AVX512, GSA_CPU_EMULATED, GSA_CPU_NEON,
                            GSA_CPU_PLAIN };

/* ---- patterns: the runs of a row, of two kinds of sources from `base` on --------------------- */

static void window(edges_maker *m, const pattern *p, int32_t row, int32_t base) /* of five */
{
    enum { ROWS = 67 };
    const int32_t low = row < 2 ? 0 : row - 2, high = row + 2 < ROWS ? row + 2 : ROWS - 1;
    (void)p;
    edges_run(m, (gsa_run){ base + low, high - low + 1, 1, 0, 0, 0 });
}

static void few(edges_maker *m, const pattern *p, int32_t row,
                int32_t base) /* 0 to 4, now and then 20 */
{
    const int32_t count = row % 13 == 7 ? 20 : (row * row + row / 3) % 5;
    (void)p;
    for (int32_t e = 0; e < count; e++)
        edges_run(m, (gsa_run){ base + (row * 17 + e * 11) % 40, 1, 1, (row + e) % LABELS, 0, 0 });
}

static void far_apart(edges_maker *m, const pattern *p, int32_t row, int32_t base)
{
    (void)p;
    edges_run(m, (gsa_run){ base + row % 7, 35, 4, row % LABELS, 0, 0 });
    edges_run(m, (gsa_run){ base + row * 5 % 40, 35, 4, (row + 3) % LABELS, 0, 1 });
}

static void strided(edges_maker *m, const pattern *p, int32_t row,
                    int32_t base) /* near and far ones */
{
    (void)p;
    edges_run(m, (gsa_run){ base + row, 40, 1, 0, 0, 0 });
    edges_run(m, (gsa_run){ base + row, 20, 10, 1, 0, 1 });
}

/* Seven tokens of a head and of its neighbours, as `head_area` reads them; head 1 backwards. */
static void area(edges_maker *m, const pattern *p, int32_t row, int32_t base)
{
    enum { HEADS = 4, WIDTH = 7 };
    const int32_t token = row / HEADS * HEADS, head = row % HEADS;
    (void)p;
    for (int32_t h = head ? head - 1 : 0; h <= head + 1 && h < HEADS; h++) {
        const int32_t first = base + token + h, last = first + (WIDTH - 1) * HEADS;
        edges_run(m, h == 1 ? (gsa_run){ last, WIDTH, -HEADS, h - head + 1, 0, 0 }
                            : (gsa_run){ first, WIDTH, HEADS, h - head + 1, 0, 0 });
    }
}

static void holes(edges_maker *m, const pattern *p, int32_t row,
                  int32_t base) /* a dilated window */
{
    (void)p;
    edges_run(m, (gsa_run){ base + row, 21, 2, 1, 0, 0 });
}

enum { WHOLE, GAP, TWICE, CHANGES }; /* what is wrong with a span of four sources */

/* A tree: spans of 2, 4, ..., 64 sources, level by level, and all sources. */
static void spans(edges_maker *m, const pattern *p, int32_t row, int32_t base)
{
    static const int32_t odd[] = { [WHOLE] = -1, [GAP] = 9, [TWICE] = 18, [CHANGES] = 25 };
    const int32_t at = odd[p->which];
    int32_t span = 2, label_step = 0;
    for (int32_t count; span <= 64; span *= 2, row -= count) {
        count = p->sources / span + (span == 4 ? (p->which == TWICE) - (p->which == GAP) : 0);
        if (row < count) break;
    }
    if (span == 4 && p->which == GAP) row += row >= at;
    if (span == 4 && p->which == TWICE) row -= row > at;
    if (span == 4 && p->which == CHANGES) label_step = row == at;
    edges_run(m, span > 64 ? (gsa_run){ base, p->sources, 1, 0, 0, 0 }
                           : (gsa_run){ base + row * span, span, 1,
                                        label_step ? 0 : (row + span) % LABELS, label_step, 0 });
}

/* So many rows read a range: one of each range in turn, again and again. Between them are rows of
 * two edges, as rows side by side would be bcsr's. */
typedef struct reading {
    int32_t first, count, rows;
} reading;
static const struct readings {
    int32_t between;
    reading of[5];
} readings[] = {
    { 12, { { 0, 300, 1 }, { 8, 3, 7 }, { 3, 2, 4 } } },
    { 12, { { 0, 300, 2 }, { 64, 64, 1 }, { 11, 1, 9 } } },
    { 12, { { 0, 320, 3 }, { 128, 64, 3 }, { 256, 32, 5 }, { 16, 17, 4 } } },
    { 12, { { 7, 320, 5 }, { 130, 190, 3 }, { 63, 65, 2 }, { 31, 33, 6 }, { 99, 16, 5 } } },
    { 12, { { 0, 1400, 6 }, { 1000, 200, 3 }, { 1024, 64, 4 }, { 5, 1300, 1 }, { 1384, 16, 8 } } },
    { 12, { { 0, 1400, 2 }, { 700, 64, 2 }, { 300, 4, 1 } } },
    { 0, { { 0, 48, 75 }, { 390, 2, 75 }, { 144, 256, 75 }, { 100, 6, 75 } } },
};

/* A row of one label, now and then a short one whose labels change. */
static void ranges(edges_maker *m, const pattern *p, int32_t row, int32_t base)
{
    const struct readings *x = &readings[p->which];
    int32_t left = row / (1 + x->between), round = 0, i = 0;
    for (;; i = (i + 1) % GSA_COUNT(x->of), round += i == 0)
        if (round < x->of[i].rows && left-- == 0) break;
    const int mixed = x->of[i].count < LABELS && round % 5 == 3;
    edges_run(m, row % (1 + x->between)
                     ? (gsa_run){ base + row * 37 % (p->sources - 2), 2, 1, 1, 0, 0 }
                     : (gsa_run){ base + x->of[i].first, x->of[i].count, 1,
                                  mixed ? 0 : (i + round / 2) % LABELS, mixed, 0 });
}

/* Levels of ranges twice as long as those before, each level cut `which` sources further on; and a
 * row of two ranges. Short ones have labels that change now and then. */
static void levels(edges_maker *m, const pattern *p, int32_t row, int32_t base)
{
    int32_t j = 1, at = row;
    for (int32_t count; j < 12; j++, at -= count) {
        const int32_t begin = j * p->which % (1 << j);
        count = (p->sources - begin + (1 << j) - 1) >> j;
        if (at < count) {
            const int32_t from = begin + (at << j), left = p->sources - from,
                          size = left < 1 << j ? left : 1 << j,
                          mixed = row % 7 == 0 && size < LABELS;
            edges_run(m, (gsa_run){ base + from, size, 1, mixed ? 0 : j % LABELS, mixed, 0 });
            return;
        }
    }
    edges_run(m, (gsa_run){ base, 3, 1, 1, 0, 0 });
    edges_run(m, (gsa_run){ base + p->sources - 2, 2, -1, 1, 1, 0 });
}

/* Wide ranges that lie over one another, of the two kinds in turn; then levels of narrow ones. */
static void kinds(edges_maker *m, const pattern *p, int32_t row, int32_t base)
{
    enum { WIDE = 32 };
    int32_t at = row - WIDE, size = 2;
    for (; at >= p->sources / size; size *= 2) at -= p->sources / size;
    edges_run(m, at < 0 ? (gsa_run){ base + 4 * row, 60, 1, 0, 0, row % 2 }
                        : (gsa_run){ base + at * size, size, 1, 0, 0, 0 });
}

static void all(edges_maker *m, const pattern *p, int32_t row, int32_t base)
{
    (void)row;
    edges_run(m, (gsa_run){ base, p->sources, 1, 0, 0, 0 });
}

/* Causal, but for sources that all rows read; the last row alone reads the last source. `which`
 * rows read one source more than the ones before. */
static void beginnings(edges_maker *m, const pattern *p, int32_t row, int32_t base)
{
    const int32_t after = (p->rows - 1 - row + p->which - 1) / p->which;
    edges_run(m, (gsa_run){ base, p->sources - after, 1, 0, 0, 0 });
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
static void strips(edges_maker *m, const pattern *p, int32_t row, int32_t base)
{
    const struct strip *kind = &strip_kinds[p->which % GSA_COUNT(strip_kinds)];
    gsa_dice fours = { (uint64_t)(1000 * p->which + row / 4) },
             own = { (uint64_t)(1000 * row + p->which) };
    for (int32_t c = 0; c < 120; c++) {
        const int32_t read = (int32_t)gsa_between(&fours, 0, 99),
                      label = label_of(kind->labels, c, row, &own);
        if (c % 40 < 33 && read < kind->density && gsa_between(&own, 0, 9) > 0)
            edges_run(m, (gsa_run){ base + c, 1, 1, label, 0, c >= 60 });
    }
}

enum { TILES, LABELLED, BANDS }; /* BANDS: each second tile is four bands */

/* Rows of a tile read 100 and more of 150; labels go by diagonals and by columns. */
static void tiles(edges_maker *m, const pattern *p, int32_t row, int32_t base)
{
    if (p->which == BANDS && row / 16 % 2) {
        edges_run(m, (gsa_run){ base + row % 16 / 4 * 37, 32, 1, 0, 0, 0 });
        return;
    }
    for (int32_t c = 0; c < 150; c++)
        if (c % 31 < 25 && (c * 7 + row / 4 * 5) % 10 < 8 && (c + row) % 13 != 0)
            edges_run(
                m,
                (gsa_run){ base + c, 1, 1,
                           p->which == LABELLED ? (c % 3 ? c + LABELS * 70 - row : c) % LABELS : 0,
                           0, c >= 70 });
}

/* Runs of up to a tenth of the sources, with holes of up to `which` between them: of every second
 * run each second source, now up and now down. The last source is read by one row alone. */
static void ragged(edges_maker *m, const pattern *p, int32_t row, int32_t base)
{
    enum { ALONE = 5 };
    const int32_t nodes = p->sources - 1;
    gsa_dice dice = { (uint64_t)(1000 * row + p->which) };
    int32_t turn = row, count;
    for (int32_t at = 0; at < nodes; at += count + (int32_t)gsa_between(&dice, 0, p->which)) {
        count = (int32_t)gsa_between(&dice, 1, nodes / 10);
        if (at + count > nodes) count = nodes - at;
        gsa_run run = { base + at, count, 1, p->labels > 1 ? at % LABELS : 0, 0, 0 };
        if (turn++ % 2) run.count = (count + 1) / 2, run.step = turn % 4 ? 2 : -2;
        if (run.step < 0) run.first += 2 * (run.count - 1);
        edges_run(m, run);
    }
    if (row == ALONE) edges_run(m, (gsa_run){ base + nodes, 1, 1, 0, 0, 0 });
}

const pattern patterns[PATTERNS] = {
    { "window", window, 0, DIA, 55, 67, 67, 67, 1, 1, 4, 50, 0, 0, 0 },
    { "few", few, 0, ELL, 40, 61, 61, 40, 1, LABELS, 6, 20, 0, 1, 0 },
    { "far apart", far_apart, 0, ROW, 30, 30, 30, 180, 2, LABELS, 5, 20, 1, 1, 0 },
    { "strided", strided, 0, DIA, 64, 64, 67, 260, 2, LABELS, 5, 20, 1, 0, 0 },
    { "all", all, 0, GEMM, 96, 96, 96, 96, 2, 0, 3, 32, 0, 0, 0 },
    { "all, blocks", all, 0, GEMM, 150, 150, 150, 300, 1, 0, 3, 32, 0, 0, 0 },
    { "beginnings", beginnings, 16, GEMM, 150, 150, 150, 160, 1, 0, 3, 32, 0, 0, 159 },
    { "beginnings, causal", beginnings, 1, GEMM, 128, 128, 128, 2300, 1, 0, 2, 8, 0, 0, 2290 },
    { "area", area, 0, BCSR, 0, 0, 68, 92, 1, LABELS, 5, 20, 1, 0, 0 },
    { "holes", holes, 0, BCSR, 0, 0, 37, 77, 1, LABELS, 5, 20, 1, 0, 0 },
    { "strips, common", strips, 0, BCSR, 0, 0, 37, 120, 2, LABELS, 3, 50, 1, 0, 0 },
    { "strips, sparse", strips, 1, BCSR, 0, 0, 37, 120, 2, LABELS, 3, 50, 1, 0, 0 },
    { "strips, diagonal", strips, 2, BCSR, 0, 0, 37, 120, 2, LABELS, 3, 50, 1, 0, 0 },
    { "strips, mixed", strips, 3, BCSR, 0, 0, 37, 120, 2, LABELS, 3, 50, 1, 0, 0 },
    { "strips, any", strips, 4, BCSR, 0, 0, 37, 120, 2, LABELS, 3, 50, 1, 0, 0 },
    { "strips, dense", strips, 5, BCSR, 0, 0, 37, 120, 2, LABELS, 3, 50, 1, 0, 0 },
    { "strips, shared", strips, 6, BCSR, 0, 0, 37, 120, 2, LABELS, 3, 50, 1, 0, 0 },
    { "tiles", tiles, TILES, BCSR, 0, 0, 70, 150, 2, 0, MOST_HEADS, 50, 0, 0, 0 },
    { "tiles, labelled", tiles, LABELLED, BCSR, 0, 0, 70, 150, 2, LABELS, MOST_HEADS, 50, 1, 0, 0 },
    { "bands", tiles, BANDS, DIA, 32, 32, 70, 150, 2, 0, MOST_HEADS, 50, 0, 0, 0 },
    { "ragged", ragged, 3, BCSR, 0, 0, 37, 400, 1, 0, 2, 24, 0, 0, 399 },
    { "ragged, no holes", ragged, 0, BCSR, 0, 0, 37, 400, 1, 0, 2, 10, 0, 0, 399 },
    { "ragged, blocks", ragged, 2, BCSR, 0, 0, 37, 2300, 1, LABELS, 2, 10, 1, 0, 2299 },
    { "tree", spans, WHOLE, INTERVAL, 316, 316, 316, 320, 2, LABELS, 5, 12, 1, 1, 0 },
    { "tree, segments", spans, WHOLE, INTERVAL, 1040, 1040, 1040, 1056, 1, LABELS, 2, 44, 1, 1,
      1055 },
    { "tree, cut", spans, WHOLE, INTERVAL, 300, 300, 300, 306, 1, LABELS, 3, 44, 1, 1, 0 },
    { "tree, no row", spans, GAP, INTERVAL, 283, 283, 283, 288, 1, LABELS, 5, 12, 1, 1, 0 },
    { "tree, a row twice", spans, TWICE, INTERVAL, 285, 285, 285, 288, 1, LABELS, 5, 12, 1, 1, 0 },
    { "tree, labels", spans, CHANGES, INTERVAL, 283, 283, 284, 288, 1, LABELS, 3, 44, 1, 1, 0 },
    { "one range", ranges, 0, INTERVAL, 154, 154, 156, 300, 1, LABELS, 3, 44, 1, 1, 0 },
    { "two ranges", ranges, 1, INTERVAL, 156, 156, 156, 300, 1, LABELS, 5, 12, 1, 1, 0 },
    { "three ranges", ranges, 2, INTERVAL, 195, 195, 195, 320, 1, LABELS, 5, 44, 1, 1, 0 },
    { "ranges anywhere", ranges, 3, INTERVAL, 273, 273, 273, 333, 1, LABELS, 5, 44, 1, 1, 0 },
    { "ranges, segments", ranges, 4, INTERVAL, 286, 286, 286, 1400, 1, LABELS, 3, 12, 1, 1, 0 },
    { "ranges far apart", ranges, 5, INTERVAL, 65, 65, 65, 1400, 1, LABELS, 2, 44, 1, 1, 0 },
    { "many ranges", ranges, 6, INTERVAL, 285, 285, 300, 400, 1, LABELS, 5, 12, 1, 1, 0 },
    { "two kinds", kinds, 0, INTERVAL, 541, 541, 557, 600, 2, 0, 2, 6, 0, 1, 0 },
    { "levels", levels, 1, INTERVAL, 1342, 1342, 1503, 1500, 1, LABELS, 2, 6, 1, 1, 0 },
    { "levels, short", levels, 3, INTERVAL, 299, 307, 345, 340, 1, LABELS, 5, 6, 1, 0, 0 },
};

pattern pattern_drawn(const pattern *p, int turn)
{
    pattern drawn = *p;
    if (p->row == strips) drawn.which += GSA_COUNT(strip_kinds) * turn;
    return drawn;
}

int pattern_is_first(const pattern *p)
{
    return p == patterns || p->row != p[-1].row;
}

/* An example of one row, whose sources of the last kind are before those of the others. */
static void make_beside(rig *r, const call *c)
{
    const int32_t last = c->p->kinds - 1;
    edges_row(&r->maker, 0, 0);
    edges_run(&r->maker, (gsa_run){ 0, 1, 1, 0, 0, last });
}

void make_edges(rig *r, const call *c)
{
    const pattern *p = c->p;
    const int32_t before = c->beside > 0, examples = c->examples + before, last = p->kinds - 1;
    int64_t part_rows[2] = { (int64_t)c->examples * p->sources, (int64_t)c->examples * p->sources };
    int64_t *first = calloc((size_t)examples + 1, sizeof *first);
    ck_assert_ptr_nonnull(first);
    part_rows[last] += c->beside;
    edges_begin(&r->maker, p->kinds, part_rows, p->labels);
    if (before) make_beside(r, c);
    for (int32_t e = 0; e < c->examples; e++)
        for (int32_t row = 0; row < p->rows; row++) {
            edges_row(&r->maker, c->backwards ? c->examples - 1 - e : e + before, row);
            p->row(&r->maker, p, row, e * p->sources);
        }
    for (int64_t i = before; i < r->maker.view.run_total; i++)
        if (r->maker.runs[i].kind == last) r->maker.runs[i].first += c->beside;
    for (int32_t e = 0; e < c->examples; e++)
        first[e + 1 + before] = before + (int64_t)(e + 1) * p->rows;
    if (before) first[1] = 1;
    edges_done(&r->maker, examples, 1, first);
    free(first);
    for (int32_t e = 0; e < c->examples && c->backwards; e++)
        r->maker.blocks[e] = (gsa_rows){ (int64_t)(c->examples - 1 - e) * p->rows, p->rows };
    rig_graph(r);
}

/* ---- a call ---------------------------------------------------------------------------------- */

call call_of(int i)
{
    const pattern *p = &patterns[i % PATTERNS];
    return (call){ .p = p,
                   .at = i / PATTERNS,
                   .threads = 1,
                   .examples = 1,
                   .heads = p->heads,
                   .dim = p->dim,
                   .taint = -1,
                   .scale = 1 };
}

int64_t size_of(const call *c, int plane)
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
    gsa_dice dice = { (uint64_t)((plane * 10000 + row) * 2000 + column) };
    return (float)gsa_bell(&dice);
}

/* Of a plane's numbers, those of the example beside the others. */
static int64_t beside_of(const call *c, int plane)
{
    const int kind = c->p->kinds - 1;
    const int64_t width = (int64_t)c->heads * c->dim;
    if (c->beside == 0 || plane == DR || plane == DB) return 0;
    if (plane == LSE) return c->heads;
    if (plane == Q || plane == DOUT || plane == OUT || plane == DQ) return width;
    return plane == K + kind || plane == V + kind || plane == DK + kind || plane == DV + kind
               ? c->beside * width
               : 0;
}

static float start_of(const call *c, int plane, int64_t row, int64_t column)
{
    if (c->ones) /* sources of the second kind elsewhere */
        return (plane == DOUT || plane == V || plane == V2) &&
               column % c->dim == (row + 131 * (plane == V2)) % c->dim;
    if (plane == DOUT && c->gradient != 0) return (float)c->gradient;
    const float x = number(plane, row, (int64_t)c->first * c->dim + column);
    return plane == Q ? x * (float)c->scale : x;
}

void fill(call *c)
{
    const int64_t width = (int64_t)c->heads * c->dim;
    for (int p = 0; p < PLANES; p++) {
        const int64_t size = size_of(c, p), all = beside_of(c, p) + size * c->examples;
        /* outputs go past the caches where they are on lines of memory */
        const size_t bytes = (sizeof(float) * (size_t)all / 64 + 1) * 64;
        float *x = aligned_alloc(64, bytes);
        ck_assert_ptr_nonnull(x);
        memset(x, 0, bytes);
        x = c->of[p] = x + beside_of(c, p);
        if (p >= INPUTS) continue;
        for (int64_t i = 0; i < size; i++) x[i] = start_of(c, p, i / width, i % width);
        if (p == c->taint) x[c->tainted * width + c->dim + 5] = c->odd;
        for (int32_t e = 1; e < c->examples; e++) memcpy(x + e * size, x, sizeof *x * (size_t)size);
    }
}

static float *whole(const call *c, int plane)
{
    return c->of[plane] - beside_of(c, plane);
}

void finish(call *c)
{
    for (int p = 0; p < PLANES; p++) free(whole(c, p));
}

void point(pointed *x, const call *c, const rig *r)
{
    const int labelled = c->p->labels > 1 && !c->ones, biased = c->p->biased && !c->ones;
    for (int i = 0; i < LABELS * c->dim && labelled; i++) x->vectors[i] = number(PLANES, 0, i);
    for (int l = 0; l < LABELS; l++)
        for (int32_t h = 0; h < c->heads; h++)
            x->bias[l * c->heads + h] =
                c->dead && h == 1 && l != ALIVE ? -INFINITY : number(PLANES + 1, l, c->first + h);
    for (int k = 0; k < 2; k++)
        x->parts[k] = (gsa_part){ whole(c, K + k), whole(c, V + k),
                                  c->kept ? NULL : whole(c, DK + k), whole(c, DV + k) };
    x->id = calloc((size_t)c->examples + 1, sizeof *x->id); /* all drop the same edges */
    x->args = (gsa_attend_args){
        .edges = &r->device,
        .heads = c->heads,
        .head_dim = c->dim,
        .scale = 0.2,
        .dropout = { .p = c->drop, .seed = 3, .step = 9, .site = 3, .example_id = x->id },
        .q = whole(c, Q),
        .parts = x->parts,
        .label_vectors = labelled ? x->vectors : NULL,
        .label_bias = biased ? x->bias : NULL,
        .out = whole(c, OUT),
        .lse = whole(c, LSE),
        .dout = whole(c, DOUT),
        .dq = whole(c, DQ),
        .dlabel_vectors = labelled ? c->of[DR] : NULL,
        .dlabel_bias = biased ? c->of[DB] : NULL
    };
}

void check_format(const call *c, const gsa_attend_args *args)
{
    const gsa_cpu_probe *probe = gsa_cpu_probe_of(level[c->at]);
    gsa_cpu_formats f;
    if (!probe) return;
    const int64_t full = c->p->rows - c->p->rows % probe->lanes;
    const int64_t least = c->p->least ? c->p->least : full, most = c->p->most ? c->p->most : full;
    ck_assert(probe->formats(args, &f));
    const int64_t rows[] = { f.row, f.ell, f.dia, f.bcsr, f.interval, f.gemm };
    ck_assert_msg(rows[c->p->format] >= least * c->examples &&
                      rows[c->p->format] <= most * c->examples + (c->beside > 0),
                  "%s: %lld rows go so", c->p->name, (long long)rows[c->p->format]);
}

void attend(call *c)
{
    static pointed x;
    gsa_memo memo = { 0 };
    rig r = level_rig(level[c->at], c->threads);
    make_edges(&r, c);
    fill(c);
    point(&x, c, &r);
    check_format(c, &x.args);
    if (c->memo) memo.of = r.device.run_offset, r.device.memo = &memo;
    level_rig_attend(&r, &x.args);
    ck_assert(!c->memo || memo.data);
    gsa_memo_clear(&memo);
    free(x.id);
    level_rig_end(&r);
}
