/* The batch is the block-diagonal union of its instances, kind-major, in one block that is used
 * again. */
#include <stdlib.h>
#include <string.h>
#include "graph/batch.h"
#include "support/faults.h"
#include "support/suite.h"
#include "support/toy.h"

enum { MOST = 5 };

typedef struct group { /* some instances of one random schema, and what was emitted for each */
    gsa_toy toy;
    gsa_schema *schema;
    gsa_instance *instances[MOST];
    gsa_toy_log logs[MOST];
    int32_t count, heads;
} group;

static void make(group *g, uint64_t seed, int32_t shortest, int32_t longest)
{
    gsa_dice dice = { seed };
    memset(g, 0, sizeof *g);
    gsa_toy_make(&g->toy, seed);
    g->heads = (int32_t)gsa_between(&dice, 1, 3);
    g->count = (int32_t)gsa_between(&dice, 1, MOST);
    ck_assert_int_eq(gsa_schema_create(NULL, &gsa_random_toy, &g->toy, &g->schema, NULL), GSA_OK);
    for (int32_t i = 0; i < g->count; i++) {
        const gsa_example example = gsa_toy_example((int32_t)gsa_between(&dice, shortest, longest),
                                                    (int32_t)gsa_between(&dice, 0, 4), g->heads);
        g->toy.log = &g->logs[i];
        ck_assert_int_eq(gsa_instance_create(NULL, g->schema, &gsa_random_toy, &g->toy, &example,
                                             NULL, 0, &g->instances[i], NULL),
                         GSA_OK);
    }
}

static void release(group *g)
{
    for (int32_t i = 0; i < g->count; i++)
        gsa_instance_release(g->instances[i]), free(g->logs[i].at);
    gsa_schema_release(g->schema);
}

/* Where the nodes of (kind, example) start, counted afresh. */
static int64_t start_of(const group *g, int kind, int32_t example)
{
    int64_t start = 0;
    for (int32_t e = 0; e < example; e++) start += gsa_instance_nodes(g->instances[e], kind);
    return start;
}

/* The in-edges of one row of the batch against the example's log. */
static int64_t wrong_row(const group *g, const gsa_edges *e, const int32_t *sources,
                         const int32_t *labels, const int64_t *part_first, int p, int32_t example,
                         int kind, int64_t index, int64_t row)
{
    const int64_t scale = g->toy.phase[p].per_head ? g->heads : 1;
    int64_t at = e->edge_offset[row], wrong = 0;
    for (int64_t j = 0; j < g->logs[example].count; j++) {
        const gsa_toy_edge *x = &g->logs[example].at[j];
        if (x->phase != p || x->to_kind != kind || x->to != index) continue;
        if (at == e->edge_offset[row + 1]) return 1;
        wrong += sources[at] !=
                 part_first[x->from_kind] + start_of(g, x->from_kind, example) * scale + x->from;
        wrong += labels[at] != x->label;
        at++;
    }
    return wrong + (at != e->edge_offset[row + 1]);
}

static int64_t wrong_phase(const group *g, const gsa_batch *batch, int p, const void *base)
{
    const gsa_phase *phase = &g->toy.phase[p];
    const int64_t scale = phase->per_head ? g->heads : 1;
    int64_t wrong = 0, row = 0, part_first[GSA_MAX_KINDS], local[MOST] = { 0 }, any_empty = 0;
    gsa_edges e;
    gsa_batch_edges(batch, p, base, &e);
    wrong += gsa_edges_check(&e, phase->name, NULL) != GSA_OK;
    int32_t *sources = malloc((size_t)e.edge_total * 4 + 4),
            *labels = malloc((size_t)e.edge_total * 4 + 4);
    gsa_edges_expand(&e, sources, labels, part_first);
    const uint8_t *empty = gsa_batch_empty(batch, p, base);
    const int32_t *example = gsa_batch_destination_example(batch, p, base);
    const int32_t *place = gsa_batch_destination_local(batch, p, base);
    for (int k = 0; k < g->toy.kinds; k++)
        for (int32_t x = 0; (phase->destinations >> k & 1) && x < g->count; x++)
            for (int64_t i = 0; i < gsa_instance_nodes(g->instances[x], k); i++) {
                const int64_t d = row / scale,
                              edges = e.edge_offset[row + scale] - e.edge_offset[row];
                wrong += empty && empty[d] != (edges == 0);
                any_empty |= edges == 0;
                wrong += example[d] != x || place[d] != local[x] / scale;
                for (int64_t h = 0; h < scale; h++, row++, local[x]++) {
                    wrong += e.row_example[row] != x || e.row_local[row] != local[x];
                    wrong +=
                        wrong_row(g, &e, sources, labels, part_first, p, x, k, i * scale + h, row);
                }
            }
    free(sources), free(labels);
    wrong += e.source_scale != scale;
    for (int k = 0; k < g->toy.kinds; k++)
        for (int32_t x = 0; (phase->sources >> k & 1) && x <= g->count; x++)
            wrong += e.source_offset[k][x] != start_of(g, k, x) ||
                     e.source_offset[k][g->count] * scale != e.part_rows[k];
    wrong += row != e.rows || e.rows != gsa_batch_destinations(batch, p) * scale ||
             e.examples != g->count;
    return wrong + ((empty != NULL) != (any_empty && phase->aggregate != GSA_NONE));
}

static int64_t wrong_kind(const group *g, const gsa_batch *batch, int k, const void *base)
{
    const int64_t *offset = gsa_batch_offset(batch, k, base);
    const int32_t *example = gsa_batch_node_example(batch, k, base),
                  *local = gsa_batch_node_local(batch, k, base);
    const int32_t *summary = gsa_batch_summary(batch, k, base);
    int64_t wrong = gsa_batch_nodes(batch, k) != start_of(g, k, g->count), named = 0;
    for (int32_t e = 0; e <= g->count; e++) wrong += offset[e] != start_of(g, k, e);
    for (int32_t e = 0; e < g->count; e++) {
        int kind;
        int64_t index;
        const int mine = gsa_instance_summary(g->instances[e], &kind, &index) && kind == k;
        named |= mine;
        wrong += summary && summary[e] != (mine ? offset[e] + index : -1);
        for (int64_t i = 0; i < gsa_instance_nodes(g->instances[e], k); i++)
            wrong += example[offset[e] + i] != e || local[offset[e] + i] != i;
    }
    return wrong + ((summary != NULL) != named);
}

static int64_t wrong_batch(const group *g, const gsa_batch *batch, const void *base)
{
    int64_t wrong = gsa_batch_examples(batch) != g->count;
    for (int k = 0; k < g->toy.kinds; k++) wrong += wrong_kind(g, batch, k, base);
    for (int p = 0; p < g->toy.phases; p++) wrong += wrong_phase(g, batch, p, base);
    return wrong;
}

START_TEST(a_batch_is_the_union_of_its_instances)
{
    int64_t wrong = 0, edges = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        group g;
        gsa_batch *batch;
        int64_t bytes;
        make(&g, seed, 0, 9);
        ck_assert_int_eq(gsa_batch_create(NULL, g.schema, &batch, NULL), GSA_OK);
        ck_assert_int_eq(gsa_batch_build(batch, g.instances, g.count, NULL), GSA_OK);
        wrong += wrong_batch(&g, batch, NULL);
        const void *block = gsa_batch_block(batch, &bytes);
        wrong += (uintptr_t)block % 64 != 0 ||
                 (uintptr_t)gsa_batch_offset(batch, g.toy.kinds - 1, NULL) % 64 != 0;
        void *moved = malloc((size_t)bytes); /* as an upload would */
        memcpy(moved, block, (size_t)bytes);
        ck_assert_int_eq(gsa_batch_build(batch, NULL, 0, NULL), GSA_OK);
        wrong += gsa_batch_examples(batch) != 0 || gsa_batch_edge_total(batch) != 0;
        ck_assert_int_eq(gsa_batch_build(batch, g.instances, g.count, NULL), GSA_OK);
        wrong += wrong_batch(&g, batch, moved);
        edges += gsa_batch_edge_total(batch);
        free(moved);
        gsa_batch_release(batch);
        release(&g);
    }
    ck_assert_int_eq(wrong, 0);
    ck_assert_int_gt(edges, 10000);
}
END_TEST

static gsa_content content_of(const group *g, int32_t count, int p, int64_t *rows)
{
    gsa_batch *batch;
    gsa_edges e;
    ck_assert_int_eq(gsa_batch_create(NULL, g->schema, &batch, NULL), GSA_OK);
    ck_assert_int_eq(gsa_batch_build(batch, g->instances, count, NULL), GSA_OK);
    gsa_batch_edges(batch, p, NULL, &e);
    ck_assert(e.content.word[0] == 0 && e.content.word[1] == 0); /* nobody asked */
    gsa_batch_tell_content(batch);
    ck_assert_int_eq(gsa_batch_build(batch, g->instances, count, NULL), GSA_OK);
    gsa_batch_edges(batch, p, NULL, &e);
    int64_t *out = calloc((size_t)GSA_MAX_KINDS << 16, sizeof *out), in = 0, most = 0;
    for (int64_t r = 0; r < e.rows; r++)
        if (e.edge_offset[r + 1] - e.edge_offset[r] > in)
            in = e.edge_offset[r + 1] - e.edge_offset[r];
    for (int64_t i = 0; i < e.run_total; i++)
        for (int32_t k = 0; k < e.runs[i].count; k++) {
            int64_t *at =
                &out[((int64_t)e.runs[i].kind << 16) + e.runs[i].first + k * e.runs[i].step];
            if (++*at > most) most = *at;
        }
    ck_assert(e.content.most_in == in && e.content.most_out == most);
    *rows = e.rows;
    free(out);
    gsa_batch_release(batch);
    return e.content;
}

/* Equal batches, of which each has arrays of its own, have equal words; another has others. */
START_TEST(equal_content_has_equal_words)
{
    int64_t rows, less, compared = 0, wrong = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        group g;
        make(&g, seed, 2, 6);
        for (int p = 0; p < g.toy.phases; p++) {
            const gsa_content a = content_of(&g, g.count, p, &rows),
                              b = content_of(&g, g.count, p, &rows),
                              fewer = content_of(&g, g.count - 1, p, &less);
            wrong += memcmp(&a, &b, sizeof a) != 0;
            wrong += less != rows && memcmp(a.word, fewer.word, sizeof a.word) == 0;
            compared += less != rows;
        }
        release(&g);
    }
    ck_assert_int_eq(wrong, 0);
    ck_assert_int_gt(compared, 50);
}
END_TEST

START_TEST(an_empty_batch_has_its_arrays)
{
    group g;
    gsa_batch *batch;
    make(&g, 3, 2, 4);
    ck_assert_int_eq(gsa_batch_create(NULL, g.schema, &batch, NULL), GSA_OK);
    ck_assert_ptr_eq(gsa_batch_schema(batch), g.schema);
    for (int round = 0; round < 2; round++) {
        ck_assert_int_eq(gsa_batch_examples(batch), 0);
        for (int k = 0; k < g.toy.kinds; k++) {
            ck_assert_int_eq(gsa_batch_nodes(batch, k), 0);
            ck_assert_int_eq(gsa_batch_offset(batch, k, NULL)[0], 0);
            ck_assert_ptr_null(gsa_batch_summary(batch, k, NULL));
        }
        for (int p = 0; p < g.toy.phases; p++) {
            gsa_edges e;
            gsa_batch_edges(batch, p, NULL, &e);
            ck_assert_int_eq(gsa_edges_check(&e, "empty", NULL), GSA_OK);
            ck_assert_int_eq(e.rows, 0);
            ck_assert_ptr_null(gsa_batch_empty(batch, p, NULL));
        }
        ck_assert_int_eq(gsa_batch_build(batch, g.instances, g.count, NULL), GSA_OK);
        ck_assert_int_eq(gsa_batch_build(batch, NULL, 0, NULL), GSA_OK);
    }
    gsa_batch_release(batch), gsa_batch_release(NULL);
    release(&g);
}
END_TEST

START_TEST(a_batch_that_fits_allocates_nothing)
{
    gsa_faults faults;
    gsa_faults_start(&faults);
    for (uint64_t seed = 0; seed < 40; seed++) {
        group g;
        gsa_batch *batch;
        make(&g, seed, 3, 9);
        ck_assert_int_eq(gsa_batch_create(&faults.table, g.schema, &batch, NULL), GSA_OK);
        ck_assert_int_eq(gsa_batch_build(batch, g.instances, g.count, NULL), GSA_OK);
        gsa_faults_rewind(&faults);
        for (int32_t n = g.count; n >= 0; n--)
            ck_assert_int_eq(gsa_batch_build(batch, g.instances, n, NULL), GSA_OK);
        ck_assert_int_eq(gsa_batch_build(batch, g.instances, g.count, NULL), GSA_OK);
        ck_assert_int_eq(faults.calls[GSA_OP_ALLOC], 0);
        ck_assert_int_eq(wrong_batch(&g, batch, NULL), 0);
        gsa_batch_release(batch);
        release(&g);
    }
    ck_assert_int_eq(gsa_faults_live(&faults), 0);
}
END_TEST

START_TEST(what_cannot_be_joined_leaves_it_empty)
{
    group g, other;
    gsa_batch *batch;
    gsa_instance *mixed[2];
    gsa_error error;
    gsa_faults faults;
    gsa_faults_start(&faults);
    make(&g, 8, 5, 9);
    make(&other, 8, 5, 9);
    ck_assert_int_eq(gsa_batch_create(&faults.table, g.schema, &batch, NULL), GSA_OK);
    ck_assert_int_eq(gsa_batch_build(batch, g.instances, 1, NULL), GSA_OK);
    mixed[0] = g.instances[0], mixed[1] = other.instances[0];
    ck_assert_int_eq(gsa_batch_build(batch, mixed, 2, &error), GSA_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "example 1 was built for another schema"));
    ck_assert_int_eq(gsa_batch_examples(batch), 0);
    const gsa_example example = gsa_toy_example(2, 0, g.heads + 1);
    ck_assert_int_eq(gsa_instance_create(NULL, g.schema, &gsa_random_toy, &g.toy, &example, NULL, 0,
                                         &mixed[1], NULL),
                     GSA_OK);
    ck_assert_int_eq(gsa_batch_build(batch, mixed, 2, &error), GSA_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "heads"));
    gsa_instance_release(mixed[1]);
    ck_assert_int_eq(gsa_batch_build(batch, NULL, -1, &error), GSA_ERR_ARGUMENT);
    gsa_faults_rewind(&faults);
    faults.fail[GSA_OP_ALLOC] = 1;
    gsa_instance *many[64];
    for (int i = 0; i < 64; i++) many[i] = g.instances[0];
    ck_assert_int_eq(gsa_batch_build(batch, many, 64, &error), GSA_ERR_MEMORY);
    ck_assert_int_eq(gsa_batch_examples(batch), 0);
    ck_assert_int_eq(gsa_batch_nodes(batch, 0), 0);
    ck_assert_int_eq(gsa_batch_build(batch, many, 64, &error), GSA_OK);
    ck_assert_int_eq(gsa_batch_nodes(batch, 0), 64 * gsa_instance_nodes(many[0], 0));
    gsa_batch_release(batch);
    release(&g), release(&other);
}
END_TEST

static void describe_plain(gsa_describer *d)
{
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    d->phase(d, &GSA_PHASE(.sources = 1, .destinations = 1, .name = "read"));
    d->sequence(d, 0);
}

START_TEST(nodes_times_heads_stay_below_2_31)
{
    static const gsa_script script = { describe_plain, NULL };
    gsa_schema *schema;
    gsa_instance *instance, *all[8];
    gsa_batch *batch;
    gsa_error error;
    const gsa_example example = gsa_toy_example(1 << 8, 0, 1 << 20);
    ck_assert_int_eq(gsa_schema_create(NULL, &gsa_scripted, &script, &schema, NULL), GSA_OK);
    ck_assert_int_eq(gsa_instance_create(NULL, schema, &gsa_scripted, &script, &example, NULL, 0,
                                         &instance, NULL),
                     GSA_OK);
    ck_assert_int_eq(gsa_batch_create(NULL, schema, &batch, NULL), GSA_OK);
    for (int i = 0; i < 8; i++) all[i] = instance;
    ck_assert_int_eq(gsa_batch_build(batch, all, 7, &error), GSA_OK);
    ck_assert_int_eq(gsa_batch_build(batch, all, 8, &error), GSA_ERR_LIMIT);
    ck_assert_ptr_nonnull(strstr(error.text, "2147483648 nodes x heads"));
    gsa_batch_release(batch);
    gsa_instance_release(instance);
    gsa_schema_release(schema);
}
END_TEST

static void count_release(const gsa_system *system, void *data)
{
    (void)system;
    ++*(int *)data;
}

/* What a backend keeps with the edges of a batch goes when their arrays do. */
START_TEST(a_memo_lasts_as_long_as_its_edges)
{
    group g;
    gsa_batch *batch;
    gsa_edges edges;
    int released = 0;
    make(&g, 3, 1, 9);
    ck_assert_int_eq(gsa_batch_create(NULL, g.schema, &batch, NULL), GSA_OK);
    for (int round = 1; round <= 3; round++) {
        ck_assert_int_eq(gsa_batch_build(batch, g.instances, g.count, NULL), GSA_OK);
        ck_assert_int_eq(released, round - 1);
        gsa_batch_edges(batch, 0, NULL, &edges);
        ck_assert_ptr_null(edges.memo->data);
        ck_assert_ptr_eq(edges.memo->of, edges.run_offset);
        edges.memo->data = &released, edges.memo->release = count_release;
    }
    gsa_batch_release(batch);
    ck_assert_int_eq(released, 3);
    release(&g);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test join[] = { GSA_TEST(a_batch_is_the_union_of_its_instances),
                                     GSA_TEST(equal_content_has_equal_words),
                                     GSA_TEST(an_empty_batch_has_its_arrays) };
    static const gsa_test reuse[] = { GSA_TEST(a_batch_that_fits_allocates_nothing),
                                      GSA_TEST(a_memo_lasts_as_long_as_its_edges) };
    static const gsa_test refused[] = { GSA_TEST(what_cannot_be_joined_leaves_it_empty),
                                        GSA_TEST(nodes_times_heads_stay_below_2_31) };
    static const gsa_case cases[] = { GSA_CASE("union", join, 60), GSA_CASE("reuse", reuse, 60),
                                      GSA_CASE("refused", refused, 30) };
    return gsa_run_suite("batch", cases, GSA_COUNT(cases), argc, argv);
}
