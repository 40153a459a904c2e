/* The validator: every broken invariant is found, nothing sound is refused; and the expansion. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/batch.h"
#include "support/suite.h"
#include "support/toy.h"

/* A writable copy of some edges. */
typedef struct copy {
    gsa_edges view;
    int64_t *run_offset, *edge_offset, *block_offset;
    gsa_run *runs;
    int32_t *row_example, *row_local;
    gsa_rows *blocks;
} copy;

static void *twin(const void *from, int64_t count, size_t size)
{
    void *at = malloc((size_t)count * size + 1);
    if (count > 0) memcpy(at, from, (size_t)count * size);
    return at;
}

static copy copy_edges(const gsa_edges *e)
{
    copy c = { .view = *e };
    c.view.run_offset = c.run_offset = twin(e->run_offset, e->rows + 1, sizeof(int64_t));
    c.view.edge_offset = c.edge_offset = twin(e->edge_offset, e->rows + 1, sizeof(int64_t));
    c.view.runs = c.runs = twin(e->runs, e->run_total, sizeof(gsa_run));
    c.view.row_example = c.row_example = twin(e->row_example, e->rows, sizeof(int32_t));
    c.view.row_local = c.row_local = twin(e->row_local, e->rows, sizeof(int32_t));
    c.view.block_offset = c.block_offset = twin(e->block_offset, e->examples + 1, sizeof(int64_t));
    c.view.blocks = c.blocks = twin(e->blocks, e->block_offset[e->examples], sizeof(gsa_rows));
    return c;
}

static void release(copy *c)
{
    free(c->run_offset), free(c->edge_offset), free(c->runs), free(c->row_example),
        free(c->row_local), free(c->block_offset);
    free(c->blocks);
}

/* ---- corruptions: each breaks exactly one invariant, and returns 0 where there is nothing to
 * break ---- */

static int64_t other_than_zero(gsa_dice *dice, int64_t most)
{
    const int64_t x = gsa_between(dice, 1, most);
    return gsa_between(dice, 0, 1) ? x : -x;
}

static gsa_run *any_run(copy *c, gsa_dice *dice, int many)
{
    for (int tries = 0; tries < 50 && c->view.run_total > 0; tries++) {
        gsa_run *run = &c->runs[gsa_between(dice, 0, c->view.run_total - 1)];
        if (!many || run->count > 1) return run;
    }
    return NULL;
}

static int64_t part(const copy *c, const gsa_run *run)
{
    return c->view.part_rows[run->kind];
}

static int64_t largest_source(const gsa_run *run)
{
    const int64_t last = run->first + (int64_t)(run->count - 1) * run->step;
    return last > run->first ? last : run->first;
}

static int64_t largest_label(const gsa_run *run)
{
    const int64_t last = run->label + (int64_t)(run->count - 1) * run->label_step;
    return last > run->label ? last : run->label;
}

#define RUN(many)                                                                                  \
    gsa_run *run = any_run(c, dice, many);                                                         \
    if (!run) return 0

static int run_offset_start(copy *c, gsa_dice *dice)
{
    return (int)(c->run_offset[0] = other_than_zero(dice, 3)) || 1;
}
static int edge_offset_start(copy *c, gsa_dice *dice)
{
    return (int)(c->edge_offset[0] = other_than_zero(dice, 3)) || 1;
}
static int run_offset_moves(copy *c, gsa_dice *dice)
{
    if (c->view.rows == 0) return 0;
    c->run_offset[gsa_between(dice, 1, c->view.rows)] += other_than_zero(dice, 3);
    return 1;
}
static int edge_offset_moves(copy *c, gsa_dice *dice)
{
    if (c->view.rows == 0) return 0;
    c->edge_offset[gsa_between(dice, 1, c->view.rows)] += other_than_zero(dice, 9);
    return 1;
}
static int run_total(copy *c, gsa_dice *dice)
{
    return (c->view.run_total += other_than_zero(dice, 5)), 1;
}
static int edge_total(copy *c, gsa_dice *dice)
{
    return (c->view.edge_total += other_than_zero(dice, 5)), 1;
}
static int rows_negative(copy *c, gsa_dice *dice)
{
    return (c->view.rows = -gsa_between(dice, 1, 9)), 1;
}
static int rows_many(copy *c, gsa_dice *dice)
{
    return (c->view.rows = INT32_MAX + gsa_between(dice, 1, 9)), 1;
}
static int rows_fewer(copy *c, gsa_dice *dice)
{
    if (c->view.rows == 0) return 0;
    c->view.rows -= gsa_between(dice, 1, c->view.rows);
    return 1;
}
static int count_zero(copy *c, gsa_dice *dice)
{
    RUN(0);
    return (run->count = 0), 1;
}
static int count_negative(copy *c, gsa_dice *dice)
{
    RUN(0);
    return (run->count = (int32_t)-gsa_between(dice, 1, 1 << 30)), 1;
}
static int count_differs(copy *c, gsa_dice *dice)
{
    RUN(0);
    return (run->count += (int32_t)other_than_zero(dice, 2)), 1;
}
static int kind_outside(copy *c, gsa_dice *dice)
{
    RUN(0);
    run->kind = gsa_between(dice, 0, 1) ? c->view.kinds + (int32_t)gsa_between(dice, 0, 80)
                                        : (int32_t)-gsa_between(dice, 1, 80);
    return 1;
}
static int kind_too_small(copy *c, gsa_dice *dice)
{
    RUN(0);
    for (int k = 0; k < c->view.kinds; k++)
        if (c->view.part_rows[k] <= largest_source(run)) return (run->kind = k), 1;
    return 0;
}
static int first_negative(copy *c, gsa_dice *dice)
{
    RUN(0);
    return (run->first = (int32_t)-gsa_between(dice, 1, 99)), 1;
}
static int first_beyond(copy *c, gsa_dice *dice)
{
    RUN(0);
    return (run->first = (int32_t)(part(c, run) + gsa_between(dice, 0, 9))), 1;
}
static int last_beyond(copy *c, gsa_dice *dice)
{
    RUN(1);
    return (run->step = (int32_t)(part(c, run) + gsa_between(dice, 0, 9))), 1;
}
static int last_negative(copy *c, gsa_dice *dice)
{
    RUN(1);
    return (run->step = (int32_t) - (part(c, run) + gsa_between(dice, 0, 9))), 1;
}
static int step_extreme(copy *c, gsa_dice *dice)
{
    RUN(1);
    return (run->step = gsa_between(dice, 0, 1) ? INT32_MAX : INT32_MIN), 1;
}
static int first_extreme(copy *c, gsa_dice *dice)
{
    RUN(0);
    return (run->first = gsa_between(dice, 0, 1) ? INT32_MAX : INT32_MIN), 1;
}
static int label_negative(copy *c, gsa_dice *dice)
{
    RUN(0);
    return (run->label = (int32_t)-gsa_between(dice, 1, 99)), 1;
}
static int label_beyond(copy *c, gsa_dice *dice)
{
    RUN(0);
    return (run->label = c->view.labels + (int32_t)gsa_between(dice, 0, 9)), 1;
}
static int last_label_beyond(copy *c, gsa_dice *dice)
{
    RUN(1);
    return (run->label_step = c->view.labels + (int32_t)gsa_between(dice, 0, 9)), 1;
}
static int last_label_negative(copy *c, gsa_dice *dice)
{
    RUN(1);
    return (run->label_step = -c->view.labels - (int32_t)gsa_between(dice, 0, 9)), 1;
}
static int label_step_extreme(copy *c, gsa_dice *dice)
{
    RUN(1);
    return (run->label_step = gsa_between(dice, 0, 1) ? INT32_MAX : INT32_MIN), 1;
}
static int part_shrinks(copy *c, gsa_dice *dice)
{
    RUN(0);
    c->view.part_rows[run->kind] = gsa_between(dice, 0, largest_source(run));
    return 1;
}
static int part_negative(copy *c, gsa_dice *dice)
{
    return (c->view.part_rows[gsa_between(dice, 0, c->view.kinds - 1)] = -gsa_between(dice, 1, 9)),
           1;
}
static int parts_overflow(copy *c, gsa_dice *dice)
{
    return (c->view.part_rows[gsa_between(dice, 0, c->view.kinds - 1)] =
                INT32_MAX + gsa_between(dice, 1, 9)),
           1;
}
static int labels_shrink(copy *c, gsa_dice *dice)
{
    RUN(0);
    return (c->view.labels = (int32_t)gsa_between(dice, 0, largest_label(run))), 1;
}
static int labels_none(copy *c, gsa_dice *dice)
{
    return (c->view.labels = (int32_t)-gsa_between(dice, 0, 3)), 1;
}
static int kinds_shrink(copy *c, gsa_dice *dice)
{
    RUN(0);
    return (c->view.kinds = (int32_t)gsa_between(dice, 0, run->kind)), 1;
}
static int kinds_many(copy *c, gsa_dice *dice)
{
    return (c->view.kinds = (int32_t)gsa_between(dice, 65, 99)), 1;
}
static int no_run_offset(copy *c, gsa_dice *dice)
{
    return (void)dice, c->view.run_offset = NULL, 1;
}
static int no_edge_offset(copy *c, gsa_dice *dice)
{
    return (void)dice, c->view.edge_offset = NULL, 1;
}
static int no_runs(copy *c, gsa_dice *dice)
{
    return (void)dice, c->view.runs = NULL, c->view.run_total > 0;
}
static int example_outside(copy *c, gsa_dice *dice)
{
    if (c->view.rows == 0) return 0;
    c->row_example[gsa_between(dice, 0, c->view.rows - 1)] =
        gsa_between(dice, 0, 1) ? c->view.examples : -1;
    return 1;
}
static int example_of_another(copy *c, gsa_dice *dice)
{
    if (c->view.rows == 0 || c->view.examples < 2) return 0;
    int32_t *at = &c->row_example[gsa_between(dice, 0, c->view.rows - 1)];
    *at = (*at + 1) % c->view.examples;
    return 1;
}
static int local_negative(copy *c, gsa_dice *dice)
{
    if (c->view.rows == 0) return 0;
    c->row_local[gsa_between(dice, 0, c->view.rows - 1)] = (int32_t)-gsa_between(dice, 1, 9);
    return 1;
}
static int block_offset_start(copy *c, gsa_dice *dice)
{
    return (c->block_offset[0] = other_than_zero(dice, 2)), 1;
}
static int block_offset_falls(copy *c, gsa_dice *dice)
{
    if (c->view.examples < 2) return 0;
    c->block_offset[gsa_between(dice, 1, c->view.examples - 1)] = -gsa_between(dice, 1, 3);
    return 1;
}
static gsa_rows *any_block(copy *c, gsa_dice *dice)
{
    if (c->view.rows == 0) return NULL;
    for (;;) {
        gsa_rows *block =
            &c->blocks[gsa_between(dice, 0, c->view.block_offset[c->view.examples] - 1)];
        if (block->count > 0) return block;
    }
}
static int block_moves(copy *c, gsa_dice *dice)
{
    gsa_rows *block = any_block(c, dice);
    return block ? (block->first += other_than_zero(dice, 3)), 1 : 0;
}
static int block_grows(copy *c, gsa_dice *dice)
{
    gsa_rows *block = any_block(c, dice);
    return block ? (block->count += other_than_zero(dice, 3)), 1 : 0;
}
static int examples_differ(copy *c, gsa_dice *dice)
{
    if (c->view.rows == 0) return 0;
    c->view.examples = gsa_between(dice, 0, 1) ? 0 : -1;
    return 1;
}

typedef int corruption(copy *c, gsa_dice *dice);
static corruption *const corruptions[] = {
    run_offset_start,   edge_offset_start, run_offset_moves,
    edge_offset_moves,  run_total,         edge_total,
    rows_negative,      rows_many,         rows_fewer,
    count_zero,         count_negative,    count_differs,
    kind_outside,       kind_too_small,    first_negative,
    first_beyond,       last_beyond,       last_negative,
    step_extreme,       first_extreme,     label_negative,
    label_beyond,       last_label_beyond, last_label_negative,
    label_step_extreme, part_shrinks,      part_negative,
    parts_overflow,     labels_shrink,     labels_none,
    kinds_shrink,       kinds_many,        no_run_offset,
    no_edge_offset,     no_runs,           example_outside,
    example_of_another, local_negative,    block_offset_start,
    block_offset_falls, block_moves,       block_grows,
    examples_differ,
};

typedef struct tally {
    int tried, missed, refused;
    int of[GSA_COUNT(corruptions)];
} tally;

static void corrupt(const gsa_edges *sound, gsa_dice *dice, tally *t)
{
    gsa_error error;
    t->refused += gsa_edges_check(sound, "sound", &error) != GSA_OK;
    for (int i = 0; i < GSA_COUNT(corruptions); i++) {
        copy c = copy_edges(sound);
        if (corruptions[i](&c, dice)) {
            t->tried++, t->of[i]++;
            error.text[0] = 0;
            if (gsa_edges_check(&c.view, "edges", &error) == GSA_OK ||
                strncmp(error.text, "edges: ", 7) != 0) {
                t->missed++;
                fprintf(stderr, "corruption %d was not seen\n", i);
            }
        }
        release(&c);
    }
}

START_TEST(every_corruption_is_seen)
{
    tally t = { 0 };
    gsa_dice dice = { 2 };
    for (uint64_t seed = 0; t.tried < 12000 || seed < 100; seed++) {
        gsa_toy toy;
        gsa_schema *schema;
        gsa_batch *batch;
        gsa_instance *instances[3];
        gsa_toy_make(&toy, seed);
        ck_assert_int_eq(gsa_schema_create(NULL, &gsa_random_toy, &toy, &schema, NULL), GSA_OK);
        for (int i = 0; i < 3; i++) {
            const gsa_example example = gsa_toy_example((int32_t)gsa_between(&dice, 0, 7),
                                                        (int32_t)gsa_between(&dice, 0, 3), 2);
            ck_assert_int_eq(gsa_instance_create(NULL, schema, &gsa_random_toy, &toy, &example,
                                                 NULL, 0, &instances[i], NULL),
                             GSA_OK);
        }
        ck_assert_int_eq(gsa_batch_create(NULL, schema, &batch, NULL), GSA_OK);
        ck_assert_int_eq(gsa_batch_build(batch, instances, 3, NULL), GSA_OK);
        for (int p = 0; p < gsa_schema_phases(schema); p++) {
            gsa_edges edges;
            gsa_batch_edges(batch, p, NULL, &edges);
            corrupt(&edges, &dice, &t);
            gsa_instance_edges(instances[0], p, &edges);
            corrupt(&edges, &dice, &t);
        }
        gsa_batch_release(batch);
        for (int i = 0; i < 3; i++) gsa_instance_release(instances[i]);
        gsa_schema_release(schema);
    }
    printf("%d corruptions of %d sorts, %d missed\n", t.tried, GSA_COUNT(corruptions), t.missed);
    ck_assert_int_ge(t.tried, 10000);
    ck_assert_int_eq(t.missed, 0);
    ck_assert_int_eq(t.refused, 0);
    for (int i = 0; i < GSA_COUNT(corruptions); i++)
        ck_assert_msg(t.of[i] >= 20, "corruption %d was tried %d times", i, t.of[i]);
}
END_TEST

/* ---- all tiny cases ------------------------------------------------------------------------ */

/* The law of one run, edge by edge. */
static int sound_run(const gsa_run *run, const int64_t *parts, int kinds, int labels)
{
    if (run->count < 1 || run->kind < 0 || run->kind >= kinds) return 0;
    for (int i = 0; i < run->count; i++) {
        const int source = run->first + i * run->step, label = run->label + i * run->label_step;
        if (source < 0 || source >= parts[run->kind] || label < 0 || label >= labels) return 0;
    }
    return 1;
}

START_TEST(every_tiny_run_is_judged_as_the_law_says)
{
    int64_t wrong = 0, passed = 0, edge_offset[2] = { 0, 0 };
    const int64_t run_offset[2] = { 0, 1 };
    gsa_run run;
    gsa_edges e = { .rows = 1,
                    .run_total = 1,
                    .run_offset = run_offset,
                    .edge_offset = edge_offset,
                    .runs = &run,
                    .kinds = 2,
                    .labels = 3,
                    .part_rows = { 3, 1 } };
    for (run.first = -1; run.first <= 3; run.first++)
        for (run.count = -1; run.count <= 4; run.count++)
            for (run.step = -3; run.step <= 3; run.step++)
                for (run.label = -1; run.label <= 3; run.label++)
                    for (run.label_step = -3; run.label_step <= 3; run.label_step++)
                        for (run.kind = -1; run.kind <= 2; run.kind++)
                            for (edge_offset[1] = 0; edge_offset[1] <= 4; edge_offset[1]++) {
                                e.edge_total = edge_offset[1];
                                const int law = sound_run(&run, e.part_rows, 2, 3) &&
                                                run.count == edge_offset[1];
                                wrong += (gsa_edges_check(&e, "tiny", NULL) == GSA_OK) != law;
                                passed += law;
                            }
    ck_assert_int_gt(passed, 100);
    ck_assert_int_eq(wrong, 0);
}
END_TEST

START_TEST(edges_without_rows_or_identity_pass)
{
    const int64_t zero[1] = { 0 };
    gsa_edges e = { .run_offset = zero, .edge_offset = zero, .kinds = 1, .labels = 1 };
    ck_assert_int_eq(gsa_edges_check(&e, "none", NULL), GSA_OK);
    e.block_offset = zero;
    ck_assert_int_eq(gsa_edges_check(&e, "none", NULL), GSA_OK);
    int64_t part_first[GSA_MAX_KINDS];
    gsa_edges_expand(&e, NULL, NULL, part_first);
    ck_assert_int_eq(part_first[63], 0);
    e.examples = -1;
    ck_assert_int_eq(gsa_edges_check(&e, "none", NULL), GSA_ERR_FORMAT);
    const int64_t none[3] = { 0 }, block_offset[2] = { 0, 1 };
    gsa_rows block = { 0, 2 };
    e = (gsa_edges){ .rows = 2,
                     .run_offset = none,
                     .edge_offset = none,
                     .kinds = 1,
                     .labels = 1,
                     .examples = 1,
                     .block_offset = block_offset,
                     .blocks = &block };
    ck_assert_int_eq(gsa_edges_check(&e, "two rows of no example", NULL), GSA_OK);
    block.count = 1;
    ck_assert_int_eq(gsa_edges_check(&e, "a row in no block", NULL), GSA_ERR_FORMAT);
}
END_TEST

START_TEST(runs_expand_in_order)
{
    const int64_t run_offset[] = { 0, 2, 2, 3 }, edge_offset[] = { 0, 5, 5, 7 };
    const gsa_run runs[] = { { 0, 3, 1, 0, 1, 0 }, { 4, 2, -4, 2, 0, 2 }, { 1, 2, 0, 1, -1, 0 } };
    const gsa_edges e = { .rows = 3,
                          .run_total = 3,
                          .edge_total = 7,
                          .run_offset = run_offset,
                          .edge_offset = edge_offset,
                          .runs = runs,
                          .kinds = 3,
                          .labels = 3,
                          .part_rows = { 3, 7, 5 } };
    static const int32_t expected_source[] = { 0, 1, 2, 14, 10, 1, 1 },
                         expected_label[] = { 0, 1, 2, 2, 2, 1, 0 };
    int32_t source[7], label[7];
    int64_t part_first[GSA_MAX_KINDS];
    ck_assert_int_eq(gsa_edges_check(&e, "three rows", NULL), GSA_OK);
    gsa_edges_expand(&e, source, label, part_first);
    ck_assert_mem_eq(source, expected_source, sizeof source);
    ck_assert_mem_eq(label, expected_label, sizeof label);
    ck_assert(part_first[0] == 0 && part_first[1] == 3 && part_first[2] == 10 &&
              part_first[3] == 15);
    memset(source, 0, sizeof source);
    gsa_edges_expand(&e, source, NULL, NULL);
    ck_assert_mem_eq(source, expected_source, sizeof source);
    memset(label, 0, sizeof label);
    gsa_edges_expand(&e, NULL, label, NULL);
    ck_assert_mem_eq(label, expected_label, sizeof label);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test corrupted[] = { GSA_TEST(every_corruption_is_seen) };
    static const gsa_test tiny[] = { GSA_TEST(every_tiny_run_is_judged_as_the_law_says),
                                     GSA_TEST(edges_without_rows_or_identity_pass) };
    static const gsa_test expansion[] = { GSA_TEST(runs_expand_in_order) };
    static const gsa_case cases[] = { GSA_CASE("corrupted", corrupted, 120),
                                      GSA_CASE("tiny", tiny, 60),
                                      GSA_CASE("expansion", expansion, 30) };
    return gsa_run_suite("edges", cases, GSA_COUNT(cases), argc, argv);
}
