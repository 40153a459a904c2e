/* Rows of a sweep that read all sources of a piece go four, two or one at a time, short ones with
 * three others of their length: whatever their number, each gets what it would get alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/cpu/cpu.h"
#include "level_rig.h"
#include "oracle_check.h"
#include "support/suite.h"
#include "support/thin.h"

enum {
    LABELS = 5,
    EXAMPLES = 3,
    MOST_SOURCES = 1400,
    MOST_ROWS = 1040 /* of an example at most */
};

static const int level[] = { GSA_CPU_AVX2, GSA_CPU_AVX512, GSA_CPU_EMULATED, GSA_CPU_NEON };

/* How many rows read a range: one of each range in turn, again and again. */
typedef struct reading {
    int32_t first, count, rows;
} reading;

enum { NO_TREE, WHOLE, GAP, TWICE, CHANGES };
static const int32_t odd_span[] = {
    [GAP] = 36, [TWICE] = 72, [CHANGES] = 100
}; /* where it starts: one of four sources */

static const struct pattern {
    const char *name;
    int32_t sources;
    int32_t between; /* rows of two edges after each of the others: rows that are side by side
                        would be tiles */
    int tree; /* spans of 2, 4, ..., 64 sources, level by level, and what is wrong with some */
    reading of[8];
} patterns[] = {
    { "one", 300, 12, NO_TREE, { { 0, 300, 1 }, { 8, 3, 7 }, { 3, 2, 4 } } },
    { "two", 300, 12, NO_TREE, { { 0, 300, 2 }, { 64, 64, 1 }, { 11, 1, 9 } } },
    { "three", 320, 12, NO_TREE, { { 0, 320, 3 }, { 128, 64, 3 }, { 256, 32, 5 }, { 16, 17, 4 } } },
    { "unaligned",
      333,
      12,
      NO_TREE,
      { { 7, 320, 5 }, { 130, 190, 3 }, { 63, 65, 2 }, { 31, 33, 6 }, { 99, 16, 5 } } },
    { "segments",
      1400,
      12,
      NO_TREE,
      { { 0, 1400, 6 }, { 1000, 200, 3 }, { 1024, 64, 4 }, { 5, 1300, 1 }, { 1384, 16, 8 } } },
    { "far apart", 1400, 12, NO_TREE, { { 0, 1400, 2 }, { 700, 64, 2 }, { 300, 4, 1 } } },
    { "many at once",
      400,
      0,
      NO_TREE,
      { { 0, 48, 75 }, { 390, 2, 75 }, { 144, 256, 75 }, { 100, 6, 75 } } },
    { "tree", 320, 0, WHOLE, { { 0 } } },
    { "tree of two segments", 1056, 0, WHOLE, { { 0 } } },
    { "tree that ends inside of a span", 306, 0, WHOLE, { { 0 } } },
    { "tree that lacks a row", 288, 0, GAP, { { 0 } } },
    { "tree that has a row twice", 288, 0, TWICE, { { 0 } } },
    { "tree with a row whose labels change", 288, 0, CHANGES, { { 0 } } },
};

static void make_span(rig *r, int32_t example, int32_t local, gsa_run run)
{
    if (!r) return;
    edges_row(&r->maker, example, local);
    edges_run(&r->maker, run);
}

/* The spans of a tree, and a row of all sources; returns how many rows there are. `r` NULL: none is
 * made. */
static int32_t make_tree(rig *r, const struct pattern *p, int32_t example, int32_t from)
{
    int32_t local = 0;
    for (int32_t span = 2; span <= 64; span *= 2)
        for (int32_t first = 0; first + span <= p->sources; first += span) {
            const int odd = p->tree != WHOLE && span == 4 && first == odd_span[p->tree],
                      step = odd && p->tree == CHANGES;
            const int32_t rows = !odd || p->tree == CHANGES ? 1 : p->tree == TWICE ? 2 : 0;
            for (int32_t i = 0; i < rows; i++)
                make_span(r, example, local++,
                          (gsa_run){ from + first, span, 1,
                                     step ? 0 : (first / span + span) % LABELS, step, 0 });
        }
    make_span(r, example, local, (gsa_run){ from, p->sources, 1, 0, 0, 0 });
    return local + 1;
}

/* A row of one label for all its edges, now and then one that changes; returns how many rows there
 * are. */
static int32_t make_rows(rig *r, const struct pattern *p, int32_t example, int32_t from)
{
    int32_t local = 0, left = 1;
    if (p->tree) return make_tree(r, p, example, from);
    for (int32_t round = 0; left > 0; round++) {
        left = 0;
        for (int i = 0; i < GSA_COUNT(p->of) && p->of[i].count; i++) {
            const reading x = p->of[i];
            const int mixed = x.count < LABELS && round % 5 == 3;
            if (round >= x.rows) continue;
            edges_row(&r->maker, example, local++);
            edges_run(&r->maker, (gsa_run){ from + x.first, x.count, 1,
                                            mixed ? 0 : (i + round / 2) % LABELS, mixed, 0 });
            left++;
            for (int j = 0; j < p->between; j++) {
                edges_row(&r->maker, example, local);
                edges_run(&r->maker,
                          (gsa_run){ from + local++ * 37 % (p->sources - 2), 2, 1, 1, 0, 0 });
            }
        }
    }
    return local;
}

static void make_edges(rig *r, const struct pattern *p, int32_t examples)
{
    const int64_t part_rows[1] = { (int64_t)p->sources * examples };
    int64_t first[EXAMPLES + 1] = { 0 };
    edges_begin(&r->maker, 1, part_rows, LABELS);
    for (int32_t e = 0; e < examples; e++)
        first[e + 1] = first[e] + make_rows(r, p, e, e * p->sources);
    edges_done(&r->maker, examples, 1, first);
    rig_graph(r);
}

static const struct {
    int heads, dim, flags; /* vectors 1, bias 2, dropout 4, gradients of v alone 32, -inf 64 */
} shapes[] = { { 3, 64, 0 },  { 2, 64, 3 },  { 5, 17, 1 },  { 1, 32, 66 },
               { 2, 63, 2 },  { 1, 33, 5 },  { 2, 80, 1 },  { 9, 16, 32 },
               { 3, 7, 67 },  { 2, 128, 3 }, { 1, 203, 1 }, { 1, 256, 2 },
               { 1, 258, 1 }, { 5, 64, 67 }, { 9, 48, 66 }, { 2, 44, 3 } };

START_TEST(equal_the_oracle)
{
    const op_case *op = &graph_cases[graph_case_count - 1];
    for (int at = 0; at < GSA_COUNT(level); at++)
        for (int p = _i % GSA_THIN(2); p < GSA_COUNT(patterns) && gsa_cpu_has(level[at]);
             p += GSA_THIN(2)) {
            const int32_t examples = 1 + p % 2;
            const op_shape shape = { patterns[p].sources * examples, shapes[_i].heads,
                                     shapes[_i].dim, 1, shapes[_i].flags };
            char name[96];
            gsa_backend *b;
            rig r;
            if (patterns[p].sources > 1000 && _i % 3) continue; /* takes long */
            ck_assert_int_eq(gsa_backend_cpu(NULL, level[at], 2, &b, NULL), GSA_OK);
            snprintf(name, sizeof name, "%s, %s, shape %d", b->name, patterns[p].name, _i);
            rig_begin(&r, b, 31, RIG_RANDOM, shape);
            make_edges(&r, &patterns[p], examples);
            equals_the_oracle(&r, op, name);
            rig_end(&r);
            gsa_backend_release(b);
        }
}
END_TEST

/* ---- bits ---------------------------------------------------------------------------------- */

enum {
    HEADS = 5,
    MOST_DIM = 44,
    MOST_WIDTH = HEADS * MOST_DIM,
    ONE = MOST_ROWS * MOST_WIDTH,
    PART = MOST_SOURCES * MOST_WIDTH
};
static const int32_t bits_dim[] = { 12, MOST_DIM };

typedef struct planes { /* of all examples, one after the other */
    float q[EXAMPLES * ONE], k[EXAMPLES * PART], v[EXAMPLES * PART], dout[EXAMPLES * ONE];
    float out[EXAMPLES * ONE], lse[EXAMPLES * MOST_ROWS * HEADS], dq[EXAMPLES * ONE],
        dk[EXAMPLES * PART], dv[EXAMPLES * PART];
} planes;

typedef struct call {
    int level, threads;
    int32_t examples, dim;
    int dead;    /* biases of the first head are -inf, but for one label */
    int tainted; /* 1: an infinity, 2: a NaN among the keys, 3, 4: values, of source TAINTED; 5: a
                    NaN in q, 6: an infinity in do of row 0 */
} call;

enum { TAINTED = 70, TAINTED_COLUMN = 21 };

/* All of a pattern's rows read one range; those whose labels change are no intervals. */
static int64_t rows_of_one_label(const gsa_edges *e)
{
    int64_t rows = 0;
    for (int64_t i = 0; i < e->run_total; i++)
        rows += e->runs[i].count == 1 || e->runs[i].label_step == 0;
    return rows;
}

/* Copies of one example. */
static void attend(planes *x, const struct pattern *p, call c)
{
    static float vectors[LABELS * MOST_DIM], bias[LABELS * HEADS];
    gsa_dice dice = { 5 };
    rig r = level_rig(c.level, c.threads);
    gsa_cpu_formats formats;
    memset(x, 0, sizeof *x);
    make_edges(&r, p, c.examples);
    const int64_t width = (int64_t)HEADS * c.dim, one = r.maker.view.rows / c.examples * width,
                  part = p->sources * width;
    ck_assert_int_le(one, ONE);
    for (int64_t i = 0; i < one; i++)
        x->q[i] = (float)gsa_normal(&dice), x->dout[i] = (float)gsa_normal(&dice);
    for (int64_t i = 0; i < part; i++)
        x->k[i] = (float)gsa_normal(&dice), x->v[i] = (float)gsa_normal(&dice);
    for (int i = 0; i < LABELS * c.dim; i++) vectors[i] = (float)gsa_normal(&dice);
    for (int i = 0; i < LABELS * HEADS; i++)
        bias[i] = c.dead && i % HEADS == 0 && i / HEADS != 2 ? -INFINITY : (float)gsa_normal(&dice);
    if (c.tainted > 4)
        (c.tainted == 5 ? x->q : x->dout)[TAINTED_COLUMN] = c.tainted == 5 ? NAN : INFINITY;
    else if (c.tainted)
        (c.tainted > 2 ? x->v : x->k)[TAINTED * width + TAINTED_COLUMN] =
            c.tainted % 2 ? INFINITY : NAN;
    for (int32_t e = 1; e < c.examples; e++) {
        memcpy(x->q + e * one, x->q, sizeof *x->q * (size_t)one),
            memcpy(x->dout + e * one, x->dout, sizeof *x->q * (size_t)one);
        memcpy(x->k + e * part, x->k, sizeof *x->k * (size_t)part),
            memcpy(x->v + e * part, x->v, sizeof *x->v * (size_t)part);
    }
    const gsa_part parts[GSA_MAX_KINDS] = { { x->k, x->v, x->dk, x->dv } };
    const gsa_attend_args args = { .edges = &r.device,
                                   .heads = HEADS,
                                   .head_dim = c.dim,
                                   .scale = 0.3,
                                   .q = x->q,
                                   .parts = parts,
                                   .label_vectors = vectors,
                                   .label_bias = bias,
                                   .out = x->out,
                                   .lse = x->lse,
                                   .dout = x->dout,
                                   .dq = x->dq };
    ck_assert(gsa_cpu_probe_of(c.level)->formats(&args, &formats));
    ck_assert_int_eq(formats.interval, rows_of_one_label(&r.maker.view));
    level_rig_attend(&r, &args);
    level_rig_end(&r);
}

static void check_bits(const planes *want, const planes *got, const struct pattern *p, call c,
                       int64_t rows, const char *name)
{
    const int64_t width = (int64_t)HEADS * c.dim, one = rows * width, part = p->sources * width;
    const size_t row_bytes = sizeof(float) * (size_t)one, part_bytes = sizeof(float) * (size_t)part;
    for (int32_t e = 0; e < c.examples; e++) {
        ck_assert_msg(memcmp(want->out, got->out + e * one, row_bytes) == 0,
                      "%s: out of example %d", name, (int)e);
        ck_assert_msg(memcmp(want->lse, got->lse + e * rows * HEADS,
                             sizeof(float) * (size_t)(rows * HEADS)) == 0,
                      "%s: lse", name);
        ck_assert_msg(memcmp(want->dq, got->dq + e * one, row_bytes) == 0, "%s: dq of example %d",
                      name, (int)e);
        ck_assert_msg(memcmp(want->dk, got->dk + e * part, part_bytes) == 0, "%s: dk of example %d",
                      name, (int)e);
        ck_assert_msg(memcmp(want->dv, got->dv + e * part, part_bytes) == 0, "%s: dv of example %d",
                      name, (int)e);
    }
}

static int64_t rows_of(const struct pattern *p)
{
    int64_t rows = 0;
    if (p->tree) return make_tree(NULL, p, 0, 0);
    for (int i = 0; i < GSA_COUNT(p->of); i++) rows += p->of[i].rows;
    return rows * (1 + p->between);
}

START_TEST(nothing_changes_a_bit)
{
    static planes want, got;
    static const int threads[] = { 1, 2, 3, 8 };
    const struct pattern *p = &patterns[_i % GSA_COUNT(patterns)];
    const int32_t dim = bits_dim[_i / GSA_COUNT(patterns)];
    for (int at = 0; at < GSA_COUNT(level); at++)
        for (int dead = 0; dead < 2 && gsa_cpu_has(level[at]); dead++) {
            attend(&want, p,
                   (call){
                       .level = level[at], .threads = 1, .examples = 1, .dim = dim, .dead = dead });
            for (int i = 0; i < GSA_COUNT(threads); i += GSA_THIN(2)) {
                const call c = { .level = level[at],
                                 .threads = threads[i],
                                 .examples = 1 + (i + 1) % EXAMPLES,
                                 .dim = dim,
                                 .dead = dead };
                attend(&got, p, c);
                check_bits(&want, &got, p, c, rows_of(p), p->name);
            }
        }
}
END_TEST

/* Whether what is not finite reaches a row. A value does not where all biases of the head that has
 * it are -inf; rows whose labels change do not read it. */
static int reached(const gsa_edges *e, int64_t row, const call *c)
{
    const gsa_run *run = &e->runs[e->run_offset[row]];
    const int32_t at = TAINTED - run->first;
    if (c->tainted > 4) return row == 0;
    return at >= 0 && at < run->count && (!c->dead || run->label + at * run->label_step == 2);
}

/* Sources get of it by rows that it reaches alone. */
static void check_sources(const planes *x, const planes *clean, const gsa_edges *e,
                          const struct pattern *p, const call *c)
{
    static char may[MOST_SOURCES];
    const int32_t width = HEADS * c->dim;
    int given = 0, rows = 0;
    memset(may, 0, sizeof may);
    for (int64_t row = 0; row < e->rows; row++) {
        const gsa_run *run = &e->runs[e->run_offset[row]];
        if (!reached(e, row, c)) continue;
        memset(may + run->first, 1, (size_t)run->count), rows++;
    }
    for (int at = 0; at < p->sources; at++) {
        int same = 1;
        for (int i = at * width; i < (at + 1) * width; i++)
            same &= x->dk[i] == clean->dk[i] && x->dv[i] == clean->dv[i];
        given += !same;
        ck_assert_msg(may[at] || same, "%s, kind %d, source %d", p->name, c->tainted, at);
    }
    ck_assert_msg((given > 0) == (rows > 0), "%s, kind %d: gradients of %d sources differ", p->name,
                  c->tainted, given);
}

/* What is not finite reaches the rows that read it, and what they read, and no others: theirs are
 * as without it. */
START_TEST(rows_keep_to_their_sources)
{
    static planes clean, x;
    const struct pattern *p = &patterns[_i % GSA_COUNT(patterns)];
    const int32_t dim = bits_dim[_i / GSA_COUNT(patterns)];
    for (int at = 0; at < GSA_COUNT(level); at++)
        for (int taint = 1; taint <= 8 && gsa_cpu_has(level[at]); taint++) {
            /* the last two: values of the first head, whose biases are -inf but for one label */
            call c = {
                .level = level[at], .threads = 1, .examples = 1, .dim = dim, .dead = taint > 6
            };
            if (c.dead && dim <= TAINTED_COLUMN) continue;
            rig r = level_rig(level[at], 1);
            attend(&clean, p, c);
            c.tainted = c.dead ? taint - 4 : taint;
            attend(&x, p, c);
            make_edges(&r, p, 1);
            const gsa_edges *e = &r.maker.view;
            for (int64_t row = 0; row < e->rows; row++) {
                const int reads = reached(e, row, &c);
                int same = 1;
                for (int64_t i = row * HEADS * dim; i < (row + 1) * HEADS * dim; i++)
                    same &= x.out[i] == clean.out[i] && x.dq[i] == clean.dq[i];
                ck_assert_msg(same == !reads, "%s, kind %d, row %d", p->name, taint, (int)row);
            }
            check_sources(&x, &clean, e, p, &c);
            level_rig_end(&r);
        }
}
END_TEST

/* ---- trees --------------------------------------------------------------------------------- */

static const struct pattern *tree_pattern(void)
{
    for (int i = 0; i < GSA_COUNT(patterns); i++)
        if (patterns[i].tree == WHOLE) return &patterns[i];
    ck_abort_msg("no pattern is a tree");
    return NULL;
}

/* Forward, of enough numbers for outputs to go past the caches where they are on lines of
 * memory. */
typedef struct wide_call {
    int32_t heads, dim;
    float *q, *k, *v, *lse, *bias;
} wide_call;

static float *some_numbers(gsa_dice *dice, int64_t count)
{
    float *at = malloc(sizeof *at * (size_t)count);
    ck_assert_ptr_nonnull(at);
    for (int64_t i = 0; i < count; i++) at[i] = (float)gsa_normal(dice);
    return at;
}

static gsa_status wide_forward(gsa_backend *b, const wide_call *c, const gsa_edges *edges,
                               float *out)
{
    const gsa_part parts[GSA_MAX_KINDS] = { { c->k, c->v, NULL, NULL } };
    return b->attend_forward(b, &(gsa_attend_args){ .edges = edges,
                                                    .heads = c->heads,
                                                    .head_dim = c->dim,
                                                    .scale = 0.1,
                                                    .q = c->q,
                                                    .parts = parts,
                                                    .label_bias = c->bias,
                                                    .out = out,
                                                    .lse = c->lse });
}

static wide_call wide_new(int32_t heads, int32_t dim, int64_t rows, int64_t sources)
{
    gsa_dice dice = { 11 };
    const int64_t width = (int64_t)heads * dim;
    wide_call c = { heads,
                    dim,
                    some_numbers(&dice, rows * width),
                    some_numbers(&dice, sources * width),
                    some_numbers(&dice, sources * width),
                    some_numbers(&dice, rows * heads),
                    some_numbers(&dice, (int64_t)LABELS * heads) };
    for (int l = 1; l < LABELS; l++) c.bias[l * heads] = -INFINITY;
    return c;
}

static void wide_free(wide_call *c)
{
    free(c->q), free(c->k), free(c->v), free(c->lse), free(c->bias);
}

/* Outputs past the caches are the same bits as outputs that are not, where rows have weight
 * nowhere, too. */
START_TEST(outputs_past_the_caches)
{
    enum { ALIGNED = 64, ASIDE = 4 /* numbers */ };
    const struct pattern *p = tree_pattern();
    if (!gsa_cpu_has(level[_i])) return;
    rig r = level_rig(level[_i], 2);
    make_edges(&r, p, 1);
    const int64_t rows = r.maker.view.rows;
    wide_call c = wide_new((int32_t)((1 << 22) / (64 * rows) + 1), 64, rows, p->sources);
    const size_t numbers = (size_t)(rows * c.heads * c.dim),
                 bytes = (numbers * sizeof(float) / ALIGNED + 2) * ALIGNED;
    float *near = aligned_alloc(ALIGNED, bytes), *past = aligned_alloc(ALIGNED, bytes);
    ck_assert(near && past);
    memset(near, 0xff, bytes), memset(past, 0xff, bytes);
    ck_assert_int_eq(wide_forward(r.b, &c, &r.device, near + ASIDE), GSA_OK);
    ck_assert_int_eq(wide_forward(r.b, &c, &r.device, past), GSA_OK);
    ck_assert_mem_eq(near + ASIDE, past, numbers * sizeof(float));
    for (int i = 0; i < c.dim; i++)
        ck_assert(past[i] == 0); /* the first head of a row of label 2 */
    free(near), free(past);
    wide_free(&c);
    level_rig_end(&r);
}
END_TEST

/* Examples whose rows are in another order than the examples: each segment of their sweeps is
 * worked on all the same. */
START_TEST(examples_in_any_order)
{
    const struct pattern *p = tree_pattern();
    if (!gsa_cpu_has(level[_i])) return;
    rig r = level_rig(level[_i], 1);
    make_edges(&r, p, 2);
    const int64_t rows = r.maker.view.rows, one = rows / 2;
    wide_call c = wide_new(3, 20, rows, 2 * p->sources);
    const int64_t numbers = rows * c.heads * c.dim;
    float *want = calloc((size_t)numbers, sizeof *want),
          *got = calloc((size_t)numbers, sizeof *got);
    int32_t *example = malloc(sizeof *example * (size_t)rows);
    ck_assert(want && got && example);
    ck_assert_int_eq(wide_forward(r.b, &c, &r.device, want), GSA_OK);
    /* The same rows, of which the second half is said to be the first example. */
    const gsa_rows blocks[] = { { one, one }, { 0, one } };
    gsa_edges edges = r.device;
    for (int64_t i = 0; i < rows; i++) example[i] = i < one;
    edges.blocks = blocks, edges.row_example = example, edges.memo = NULL;
    ck_assert_int_eq(wide_forward(r.b, &c, &edges, got), GSA_OK);
    ck_assert_mem_eq(want, got, sizeof *want * (size_t)numbers);
    free(want), free(got), free(example);
    wide_free(&c);
    level_rig_end(&r);
}
END_TEST

typedef struct faulty {
    int at;
    wide_call *call;
    float *out;
} faulty;

static gsa_status faulty_forward(gsa_backend *b, const gsa_edges *edges, void *context)
{
    const faulty *x = context;
    return wide_forward(b, x->call, edges, x->out);
}

static gsa_status forward_with_faults(gsa_faults *faults, void *context)
{
    const faulty *x = context;
    rig r = level_rig(level[x->at], 1);
    make_edges(&r, tree_pattern(), 1);
    const gsa_status status = level_rig_faulty(faults, level[x->at], &r, faulty_forward, context);
    level_rig_end(&r);
    return status;
}

START_TEST(memory_that_is_not_there_is_told_of)
{
    if (!gsa_cpu_has(level[_i])) return;
    rig r = level_rig(level[_i], 1);
    make_edges(&r, tree_pattern(), 1);
    wide_call c = wide_new(2, 20, r.maker.view.rows, tree_pattern()->sources);
    float *out = calloc((size_t)(r.maker.view.rows * 40), sizeof *out);
    ck_assert_ptr_nonnull(out);
    ck_assert_int_ge(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, forward_with_faults,
                                      &(faulty){ _i, &c, out }),
                     10);
    free(out);
    wide_free(&c);
    level_rig_end(&r);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test values[] = { GSA_LOOP(equal_the_oracle, GSA_COUNT(shapes)) };
    static const gsa_test bits[] = { GSA_LOOP(nothing_changes_a_bit,
                                              GSA_COUNT(patterns) * GSA_COUNT(bits_dim)) };
    static const gsa_test odd[] = { GSA_LOOP(rows_keep_to_their_sources,
                                             GSA_COUNT(patterns) * GSA_COUNT(bits_dim)) };
    static const gsa_test trees[] = { GSA_LOOP(outputs_past_the_caches, GSA_COUNT(level)),
                                      GSA_LOOP(examples_in_any_order, GSA_COUNT(level)),
                                      GSA_LOOP(memory_that_is_not_there_is_told_of,
                                               GSA_COUNT(level)) };
    static const gsa_case cases[] = { GSA_CASE("values", values, 60), GSA_CASE("bits", bits, 60),
                                      GSA_CASE("odd", odd, 60), GSA_CASE("trees", trees, 60) };
    return gsa_run_suite("cpu_sweeps", cases, GSA_COUNT(cases), argc, argv);
}
