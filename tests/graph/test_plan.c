/* The plan against brute force: bins, chunks, transpose, expansion. */
#include <stdlib.h>
#include <string.h>
#include "graph/plan.h"
#include "support/faults.h"
#include "support/suite.h"
#include "support/compare.h"

typedef struct edges_of { /* random edges, owned */
    gsa_edges view;
    int64_t *run_offset, *edge_offset;
    gsa_run *runs;
} edges_of;

static gsa_run random_run(gsa_dice *dice, const gsa_edges *e, int32_t most)
{
    gsa_run run = { 0, 1, 1, (int32_t)gsa_between(dice, 0, e->labels - 1), 0, 0 };
    do run.kind = (int32_t)gsa_between(dice, 0, e->kinds - 1);
    while (e->part_rows[run.kind] == 0);
    const int64_t part = e->part_rows[run.kind];
    run.first = (int32_t)gsa_between(dice, 0, part - 1),
    run.count = (int32_t)gsa_between(dice, 1, most);
    run.step = (int32_t)gsa_between(dice, -1, 2),
    run.label_step = (int32_t)gsa_between(dice, -1, 1);
    int64_t last;
    while ((last = run.first + (int64_t)(run.count - 1) * run.step) < 0 || last >= part)
        run.count--;
    if ((last = run.label + (int64_t)(run.count - 1) * run.label_step) < 0 || last >= e->labels)
        run.label_step = 0;
    return run;
}

/* Up to `rows` rows, most of them short, some with hundreds of edges. */
static edges_of random_edges(uint64_t seed, int64_t rows)
{
    gsa_dice dice = { seed };
    edges_of x = { .view = {
                       .rows = gsa_between(&dice, 0, rows),
                       .kinds = 3,
                       .labels = (int32_t)gsa_between(&dice, 1, 4),
                       .part_rows = { gsa_between(&dice, 1, 40), 0, gsa_between(&dice, 1, 9) } } };
    gsa_edges *e = &x.view;
    e->run_offset = x.run_offset = calloc((size_t)e->rows + 1, sizeof(int64_t));
    e->edge_offset = x.edge_offset = calloc((size_t)e->rows + 1, sizeof(int64_t));
    e->runs = x.runs = calloc((size_t)e->rows * 40 + 1, sizeof(gsa_run));
    for (int64_t r = 0; r < e->rows; r++) {
        static const int64_t most[] = { 0, 1, 2, 5, 40 };
        x.edge_offset[r + 1] = x.edge_offset[r];
        for (int64_t i = gsa_between(&dice, 0, most[gsa_between(&dice, 0, 4)]); i > 0; i--) {
            x.runs[e->run_total] = random_run(&dice, e, 30);
            x.edge_offset[r + 1] += x.runs[e->run_total++].count;
        }
        x.run_offset[r + 1] = e->run_total;
    }
    e->edge_total = x.edge_offset[e->rows];
    ck_assert_int_eq(gsa_edges_check(e, "random", NULL), GSA_OK);
    return x;
}

static void release(edges_of *x)
{
    free(x->run_offset), free(x->edge_offset), free(x->runs);
}

static int64_t degree(const gsa_edges *e, int64_t row)
{
    return e->edge_offset[row + 1] - e->edge_offset[row];
}

static int64_t wrong_bins(const gsa_edges *e, const gsa_plan *plan, int32_t hub)
{
    static const int64_t low[] = { 0, 1, 5, 9, 17, 33, 65 };
    int64_t wrong = plan->bin_offset[0] != 0 || plan->bin_offset[GSA_DEGREE_BINS] != e->rows,
            largest = 0;
    for (int b = 0; b < GSA_DEGREE_BINS; b++)
        for (int64_t i = plan->bin_offset[b]; i < plan->bin_offset[b + 1]; i++) {
            const int64_t row = plan->rows_by_degree[i], d = degree(e, row);
            wrong += i > plan->bin_offset[b] && plan->rows_by_degree[i - 1] >= row;
            wrong += (d > hub) != (b == 7);
            if (b < 7) wrong += d < low[b] || (b < 6 && d >= low[b + 1]);
            if (d > largest) largest = d;
        }
    return wrong + (plan->max_degree != largest);
}

/* Every hub edge lies in exactly one chunk, and a chunk says where it begins. */
static int64_t wrong_chunks(const gsa_edges *e, const gsa_plan *plan, int32_t hub)
{
    int64_t wrong = 0, c = 0;
    for (int64_t i = plan->bin_offset[7]; i < e->rows; i++) {
        const int64_t row = plan->rows_by_degree[i];
        for (int64_t k = 0; k < degree(e, row); k += hub, c++) {
            if (c >= plan->chunks) return wrong + 1;
            const gsa_chunk *x = &plan->chunk[c];
            const int64_t left = degree(e, row) - k;
            wrong += x->row != row || x->first_edge != k || x->edges != (left < hub ? left : hub);
            int64_t before = 0, run = e->run_offset[row];
            while (before + e->runs[run].count <= k) before += e->runs[run++].count;
            wrong += x->run != run || x->skip != k - before || x->skip >= e->runs[run].count;
        }
    }
    return wrong + (c != plan->chunks);
}

static int64_t wrong_transpose(const gsa_edges *e, const gsa_plan *plan, const int32_t *sources,
                               const int32_t *labels)
{
    int64_t wrong = plan->out_offset[0] != 0 || plan->out_offset[plan->sources] != e->edge_total,
            seen = 0;
    for (int64_t s = 0; s < plan->sources; s++) {
        int64_t row = -1, k = -1;
        for (int64_t i = plan->out_offset[s]; i < plan->out_offset[s + 1]; i++, seen++) {
            const gsa_transposed *x = &plan->out[i];
            wrong += x->row < row || (x->row == row && x->k <= k);
            row = x->row, k = x->k;
            if (row < 0 || row >= e->rows || k < 0 || k >= degree(e, row)) return wrong + 1;
            const int64_t edge = e->edge_offset[row] + k;
            wrong += sources[edge] != s || labels[edge] != x->label;
        }
    }
    return wrong + (seen != e->edge_total); /* no (row, k) twice, as many as there are: each once */
}

static int64_t wrong_plan(const gsa_edges *e, int32_t hub)
{
    gsa_plan *plan;
    int64_t part_first[GSA_MAX_KINDS];
    const gsa_plan_options options = { .hub_chunk = hub };
    if (gsa_plan_create(NULL, e, &options, &plan, NULL) != GSA_OK) return 1;
    if (hub == 0) hub = 256;
    int32_t *sources = malloc((size_t)e->edge_total * 4 + 4),
            *labels = malloc((size_t)e->edge_total * 4 + 4);
    gsa_edges_expand(e, sources, labels, part_first);
    int64_t wrong = wrong_bins(e, plan, hub) + wrong_chunks(e, plan, hub) +
                    wrong_transpose(e, plan, sources, labels);
    wrong += plan->rows != e->rows || plan->edges != e->edge_total ||
             plan->sources != e->part_rows[0] + e->part_rows[2];
    wrong += memcmp(plan->part_first, part_first, sizeof part_first) != 0;
    wrong += memcmp(plan->csr_source, sources, (size_t)e->edge_total * 4) != 0;
    wrong += memcmp(plan->csr_label, labels, (size_t)e->edge_total * 4) != 0;
    wrong += e->run_total ? plan->mean_run != (double)e->edge_total / (double)e->run_total
                          : plan->mean_run != 0;
    free(sources), free(labels);
    gsa_plan_release(NULL, plan);
    return wrong;
}

START_TEST(plans_agree_with_brute_force)
{
    static const int32_t hubs[] = { 0, 1, 7, 64, 100 };
    int64_t wrong = 0, edges = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        edges_of x = random_edges(seed, 60);
        wrong += wrong_plan(&x.view, hubs[seed % GSA_COUNT(hubs)]);
        edges += x.view.edge_total;
        release(&x);
    }
    ck_assert_int_eq(wrong, 0);
    ck_assert_int_gt(edges, 100000);
}
END_TEST

START_TEST(degrees_fall_into_their_bins)
{
    static const int64_t degrees[] = { 0, 1, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 256, 257 };
    static const int bins[] = { 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7 };
    int64_t offsets[15] = { 0 }, runs_at[15] = { 0 };
    gsa_run runs[14];
    gsa_plan *plan;
    gsa_edges e = { .rows = 14,
                    .kinds = 1,
                    .labels = 1,
                    .part_rows = { 300 },
                    .run_offset = runs_at,
                    .edge_offset = offsets,
                    .runs = runs };
    for (int r = 0; r < 14; r++) {
        if (degrees[r]) runs[e.run_total++] = (gsa_run){ 0, (int32_t)degrees[r], 1, 0, 0, 0 };
        offsets[r + 1] = offsets[r] + degrees[r], runs_at[r + 1] = e.run_total;
    }
    e.edge_total = offsets[14];
    ck_assert_int_eq(gsa_plan_create(NULL, &e, NULL, &plan, NULL), GSA_OK);
    for (int r = 0; r < 14; r++) {
        ck_assert_int_eq(plan->rows_by_degree[r], r); /* degrees ascend, so bins do */
        ck_assert(plan->bin_offset[bins[r]] <= r && r < plan->bin_offset[bins[r] + 1]);
    }
    ck_assert_int_eq(plan->chunks, 2);
    ck_assert(plan->chunk[0].edges == 256 && plan->chunk[1].edges == 1 &&
              plan->chunk[1].skip == 256);
    gsa_plan_release(NULL, plan);
}
END_TEST

START_TEST(limits_leave_copies_out)
{
    edges_of x = random_edges(4, 60);
    const int64_t edges = x.view.edge_total, sources = x.view.part_rows[0] + x.view.part_rows[2];
    const struct {
        int64_t csr, transpose;
        int has_csr, has_transpose;
    } rows[] = { { 0, 0, 1, 1 },
                 { -1, -1, 0, 0 },
                 { 8 * edges, 12 * edges + 8 * (sources + 1), 1, 1 },
                 { 8 * edges - 1, 12 * edges + 8 * (sources + 1) - 1, 0, 0 } };
    for (int i = 0; i < GSA_COUNT(rows); i++) {
        gsa_plan *plan;
        char text[2000], cut[20];
        const gsa_plan_options options = { .csr_limit = rows[i].csr,
                                           .transpose_limit = rows[i].transpose };
        ck_assert_int_eq(gsa_plan_create(NULL, &x.view, &options, &plan, NULL), GSA_OK);
        ck_assert_int_eq(plan->csr_source != NULL && plan->csr_label != NULL, rows[i].has_csr);
        ck_assert_int_eq(plan->out != NULL && plan->out_offset != NULL, rows[i].has_transpose);
        const int length = gsa_plan_explain(plan, text, sizeof text);
        ck_assert_int_eq(length, (int)strlen(text));
        ck_assert_ptr_nonnull(strstr(text, rows[i].has_csr ? "CSR: yes" : "CSR: no"));
        ck_assert_ptr_nonnull(
            strstr(text, rows[i].has_transpose ? "transpose: yes" : "transpose: no"));
        ck_assert_int_eq(gsa_plan_explain(plan, cut, sizeof cut), length);
        ck_assert(strlen(cut) == sizeof cut - 1 && strncmp(cut, text, sizeof cut - 1) == 0);
        ck_assert_int_eq(gsa_plan_explain(plan, NULL, 0), length);
        gsa_plan_release(NULL, plan);
    }
    gsa_plan *plan;
    gsa_error error;
    ck_assert_int_eq(
        gsa_plan_create(NULL, &x.view, &(gsa_plan_options){ .hub_chunk = -1 }, &plan, &error),
        GSA_ERR_ARGUMENT);
    ck_assert_ptr_null(plan);
    ck_assert_ptr_nonnull(strstr(error.text, "hub_chunk is -1"));
    gsa_plan_release(NULL, NULL);
    release(&x);
}
END_TEST

START_TEST(nothing_plans_to_nothing)
{
    const int64_t zero[3] = { 0 };
    gsa_plan *plan;
    gsa_edges e = { .run_offset = zero, .edge_offset = zero, .kinds = 1, .labels = 1 };
    for (e.rows = 0; e.rows <= 2; e.rows += 2) {
        ck_assert_int_eq(gsa_plan_create(NULL, &e, NULL, &plan, NULL), GSA_OK);
        ck_assert(plan->rows == e.rows && plan->edges == 0 && plan->chunks == 0 &&
                  plan->out_offset[0] == 0);
        ck_assert_int_eq(plan->bin_offset[1], e.rows);
        gsa_plan_release(NULL, plan);
    }
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test brute[] = { GSA_TEST(plans_agree_with_brute_force) };
    static const gsa_test edge_cases[] = { GSA_TEST(degrees_fall_into_their_bins),
                                           GSA_TEST(limits_leave_copies_out),
                                           GSA_TEST(nothing_plans_to_nothing) };
    static const gsa_case cases[] = { GSA_CASE("brute", brute, 60),
                                      GSA_CASE("limits", edge_cases, 30) };
    return gsa_run_suite("plan", cases, GSA_COUNT(cases), argc, argv);
}
