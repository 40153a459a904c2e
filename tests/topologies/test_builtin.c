/* The built-in topologies: their edges equal the definition's, their promises hold, their counts
 * are as documented. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "naive.h"
#include "subject.h"

static const struct {
    const char *spec;
    naive_pattern *naive;
    int parameters[4];
} table[] = {
    { "full", naive_full, { 0, 0 } },
    { "full:causal", naive_full, { 1, 0 } },
    { "full:clip=1", naive_full, { 0, 1 } },
    { "full:clip=2", naive_full, { 0, 2 } },
    { "full:clip=16", naive_full, { 0, 16 } },
    { "full:clip=129", naive_full, { 0, 129 } },
    { "full:clip=1048576", naive_full, { 0, 1048576 } },
    { "full:causal:clip=1", naive_full, { 1, 1 } },
    { "full:causal:clip=5", naive_full, { 1, 5 } },
    { "full:causal:clip=200", naive_full, { 1, 200 } },
    { "ring", naive_ring, { 1 } },
    { "ring:cyclic=0", naive_ring, { 0 } },
    { "window:width=1", naive_window, { 1, 0 } },
    { "window:width=3", naive_window, { 3, 0 } },
    { "window", naive_window, { 11, 0 } },
    { "window:width=259", naive_window, { 259, 0 } },
    { "window:width=1048575", naive_window, { 1048575, 0 } },
    { "window:width=1:causal", naive_window, { 1, 1 } },
    { "window:width=5:causal", naive_window, { 5, 1 } },
    { "window:width=261:causal", naive_window, { 261, 1 } },
    { "window:width=1:relative", naive_window, { 1, 0, 1 } },
    { "window:width=7:relative", naive_window, { 7, 0, 1 } },
    { "window:width=9:causal:relative", naive_window, { 9, 1, 1 } },
    { "window:width=1048575:relative", naive_window, { 1048575, 0, 1 } },
    { "star", naive_star, { 1, 1, 1 } },
    { "star:cyclic=0", naive_star, { 1, 1, 0 } },
    { "star:ring=0", naive_star, { 1, 0, 1 } },
    { "star:radial=0", naive_star, { 0, 1, 1 } },
    { "star:radial=0:cyclic=0", naive_star, { 0, 1, 0 } },
    { "star:radial=0:ring=0", naive_star, { 0, 0, 1 } },
    { "star:ring=0:cyclic=0", naive_star, { 1, 0, 0 } },
    { "star:radial=0:ring=0:cyclic=0", naive_star, { 0, 0, 0 } },
    { "star:relays=2", naive_star, { 1, 1, 1, 2 } },
    { "star:relays=7:cyclic=0", naive_star, { 1, 1, 0, 7 } },
    { "star:relays=140:ring=0", naive_star, { 1, 0, 1, 140 } },
};

static gsa_instance *instance_of(const subject *s, const gsa_example *example)
{
    gsa_instance *instance;
    gsa_error error = { 0 };
    ck_assert_msg(gsa_pattern_instance(s->pattern, NULL, example, NULL, 1, &instance, &error) ==
                      GSA_OK,
                  "%s", error.text);
    return instance;
}

static gsa_instance *of_length(const subject *s, int32_t n)
{
    return instance_of(
        s, &(gsa_example){ .struct_size = sizeof(gsa_example), .length = n, .heads = 1 });
}

static const int32_t lengths[] = { 1000 };
enum { SHORT = 131, LENGTHS = SHORT + 1 }; /* 0 .. 130 and 1000 */
static int32_t length_at(int index)
{
    return index < SHORT ? index : lengths[index - SHORT];
}

/* ---- edges --------------------------------------------------------------------------------- */

static void check_phase(const subject *s, const gsa_instance *instance, int phase,
                        const naive_list *list, int64_t *at)
{
    gsa_edges edges;
    gsa_error error = { 0 };
    int64_t first[GSA_MAX_KINDS];
    gsa_instance_edges(instance, phase, &edges);
    ck_assert_msg(gsa_edges_check(&edges, gsa_pattern_text(s->pattern), &error) == GSA_OK, "%s",
                  error.text);
    int32_t *sources = malloc(((size_t)edges.edge_total + 1) * sizeof *sources);
    int32_t *labels = malloc(((size_t)edges.edge_total + 1) * sizeof *labels);
    gsa_edges_expand(&edges, sources, labels, first);
    for (int64_t row = 0; row < edges.rows; row++)
        for (int64_t k = edges.edge_offset[row]; k < edges.edge_offset[row + 1]; k++, ++*at) {
            if (*at == list->count)
                ck_abort_msg("%s: more edges than the definition has",
                             gsa_pattern_text(s->pattern));
            const naive_edge *want = &list->edges[*at];
            if (want->phase != phase || want->to != row ||
                sources[k] != first[want->from_kind] + want->from || labels[k] != want->label)
                ck_abort_msg("%s, length %d, phase %d, row %" PRId64
                             ": source %d label %d, expected %" PRId64 " of kind %d "
                             "label %d",
                             gsa_pattern_text(s->pattern), gsa_instance_length(instance), phase,
                             row, sources[k], labels[k], want->from, want->from_kind, want->label);
        }
    free(sources);
    free(labels);
}

START_TEST(edges_equal_the_definition)
{
    subject s = subject_of(table[_i].spec);
    for (int l = 0; l < LENGTHS; l++) {
        const int32_t n = length_at(l);
        naive_list list = { 0 };
        int64_t at = 0;
        table[_i].naive(&list, n, table[_i].parameters);
        gsa_instance *instance = of_length(&s, n);
        for (int phase = 0; phase < gsa_schema_phases(s.schema); phase++)
            check_phase(&s, instance, phase, &list, &at);
        ck_assert_int_eq(at, list.count);
        gsa_instance_release(instance);
        naive_release(&list);
    }
    end(&s);
}
END_TEST

/* The same bytes whatever the text, the groups, the memory and the number of heads: the edges
 * depend on the length alone. */
START_TEST(edges_depend_on_the_length_alone)
{
    static const int32_t some[] = { 0, 1, 2, 3, 64, 130 };
    subject s = subject_of(table[_i].spec);
    ck_assert(gsa_schema_flags(s.schema) & GSA_BY_LENGTH);
    for (int l = 0; l < GSA_COUNT(some); l++) {
        gsa_slice text[130];
        int32_t group[130];
        for (int i = 0; i < 130; i++) text[i] = (gsa_slice){ "word", 4 }, group[i] = i / 7;
        const gsa_example other = {
            sizeof other, some[l], 17, 8, text, group, group, NULL, 0, 0, 0
        };
        gsa_instance *pair[3] = { of_length(&s, some[l]), of_length(&s, some[l]),
                                  instance_of(&s, &other) };
        for (int phase = 0; phase < gsa_schema_phases(s.schema); phase++) {
            gsa_edges edges[3];
            for (int i = 0; i < 3; i++) gsa_instance_edges(pair[i], phase, &edges[i]);
            for (int i = 1; i < 3; i++) {
                ck_assert_int_eq(edges[i].run_total, edges[0].run_total);
                ck_assert_int_eq(edges[i].edge_total, edges[0].edge_total);
                ck_assert_int_eq(edges[i].rows, edges[0].rows);
                if (edges[0].run_total == 0) continue;
                ck_assert_mem_eq(edges[i].runs, edges[0].runs,
                                 (size_t)edges[0].run_total * sizeof(gsa_run));
                ck_assert_mem_eq(edges[i].run_offset, edges[0].run_offset,
                                 ((size_t)edges[0].rows + 1) * sizeof(int64_t));
            }
        }
        for (int i = 0; i < 3; i++) gsa_instance_release(pair[i]);
    }
    end(&s);
}
END_TEST

/* ---- promises ------------------------------------------------------------------------------ */

/* The largest token that any path into each node starts from, after some layers; a node's own start
 * counts. */
typedef struct reach {
    int64_t *of[GSA_MAX_KINDS];
} reach;

static reach start_of(const subject *s, const gsa_instance *instance)
{
    reach r = { { 0 } };
    const int64_t n = gsa_instance_length(instance);
    for (int kind = 0; kind < gsa_schema_kinds(s->schema); kind++) {
        const int64_t count = gsa_instance_nodes(instance, kind);
        const int start = gsa_schema_kind(s->schema, kind)->start;
        r.of[kind] = malloc(((size_t)count + 1) * sizeof(int64_t));
        for (int64_t i = 0; i < count; i++) r.of[kind][i] = start == GSA_MEAN_INPUT ? n - 1 : i;
    }
    return r;
}

static void read_phase(const subject *s, const gsa_instance *instance, int phase, reach *r)
{
    gsa_edges edges;
    gsa_instance_edges(instance, phase, &edges);
    const uint64_t mask = gsa_schema_phase(s->schema, phase)->destinations;
    int to = 0;
    while (!(mask >> to & 1)) to++;
    ck_assert_uint_eq(mask, UINT64_C(1) << to); /* one destination kind: a row is its node */
    if (edges.run_total == 0) return;
    int64_t *now = malloc((size_t)edges.rows * sizeof *now);
    for (int64_t row = 0; row < edges.rows; row++) {
        now[row] = r->of[to][row];
        for (int64_t q = edges.run_offset[row]; q < edges.run_offset[row + 1]; q++)
            for (int64_t k = 0; k < edges.runs[q].count; k++) {
                const int64_t from =
                    r->of[edges.runs[q].kind][edges.runs[q].first + k * edges.runs[q].step];
                if (from > now[row]) now[row] = from;
            }
    }
    memcpy(r->of[to], now, (size_t)edges.rows * sizeof *now);
    free(now);
}

/* 1 when no token reads a later one within three layers. */
static int is_causal(const subject *s, const gsa_instance *instance)
{
    reach r = start_of(s, instance);
    const int sequence = gsa_schema_sequence(s->schema);
    int causal = 1;
    for (int layer = 0; layer < 3; layer++)
        for (int phase = 0; phase < gsa_schema_phases(s->schema); phase++)
            read_phase(s, instance, phase, &r);
    for (int64_t i = 0; i < gsa_instance_length(instance); i++) causal &= r.of[sequence][i] <= i;
    for (int kind = 0; kind < gsa_schema_kinds(s->schema); kind++) free(r.of[kind]);
    return causal;
}

static int same_row(const gsa_edges *a, const gsa_edges *b, int64_t row)
{
    const int64_t first = a->run_offset[row], count = a->run_offset[row + 1] - first;
    return b->run_offset[row + 1] - b->run_offset[row] == count &&
           (count == 0 || memcmp(a->runs + first, b->runs + b->run_offset[row],
                                 (size_t)count * sizeof(gsa_run)) == 0);
}

static int is_prefix_of(const subject *s, const gsa_instance *shorter, const gsa_instance *longer)
{
    int same = 1;
    for (int phase = 0; phase < gsa_schema_phases(s->schema); phase++) {
        gsa_edges a, b;
        gsa_instance_edges(shorter, phase, &a);
        gsa_instance_edges(longer, phase, &b);
        for (int64_t row = 0; row < a.rows && a.run_total > 0; row++) same &= same_row(&a, &b, row);
    }
    return same;
}

START_TEST(causal_and_prefix_stable_are_true)
{
    static const int32_t some[] = { 0, 1, 2, 3, 4, 5, 17, 64, 130 };
    subject s = subject_of(table[_i].spec);
    const uint32_t flags = gsa_schema_flags(s.schema);
    const int asked = strstr(table[_i].spec, "causal") != NULL;
    ck_assert_int_eq((flags & GSA_CAUSAL) != 0, asked);
    ck_assert_int_eq((flags & GSA_PREFIX_STABLE) != 0, asked);
    for (int l = 0; l < GSA_COUNT(some); l++) {
        gsa_instance *shorter = of_length(&s, some[l]), *longer = of_length(&s, some[l] + 9);
        if (flags & GSA_CAUSAL) ck_assert(is_causal(&s, shorter));
        if (flags & GSA_PREFIX_STABLE) ck_assert(is_prefix_of(&s, shorter, longer));
        gsa_instance_release(shorter);
        gsa_instance_release(longer);
    }
    end(&s);
}
END_TEST

/* The checks above do see a pattern that is not causal, and one that is not prefix-stable. */
START_TEST(the_checks_can_fail)
{
    static const char *const specs[] = { "full",          "window:width=3", "ring",
                                         "ring:cyclic=0", "star",           "star:ring=0" };
    for (int i = 0; i < GSA_COUNT(specs); i++) {
        subject s = subject_of(specs[i]);
        gsa_instance *two = of_length(&s, 5), *three = of_length(&s, 6);
        ck_assert_msg(!is_causal(&s, two), "%s", specs[i]);
        if (i != 5)
            ck_assert_msg(!is_prefix_of(&s, two, three), "%s",
                          specs[i]); /* star without ring: the relay alone */
        gsa_instance_release(two);
        gsa_instance_release(three);
        end(&s);
    }
}
END_TEST

static int64_t duplicates(const gsa_edges *edges)
{
    int32_t *sources = malloc(((size_t)edges->edge_total + 1) * sizeof *sources);
    int64_t count = 0;
    gsa_edges_expand(edges, sources, NULL, NULL);
    for (int64_t row = 0; row < edges->rows; row++)
        for (int64_t a = edges->edge_offset[row]; a < edges->edge_offset[row + 1]; a++)
            for (int64_t b = edges->edge_offset[row]; b < a; b++) count += sources[a] == sources[b];
    free(sources);
    return count;
}

START_TEST(duplicates_are_there_where_promised_and_nowhere_else)
{
    subject s = subject_of(table[_i].spec);
    int64_t found[6] = { 0 };
    for (int32_t n = 0; n < 40; n++) {
        gsa_instance *instance = of_length(&s, n);
        for (int phase = 0; phase < gsa_schema_phases(s.schema); phase++) {
            gsa_edges edges;
            gsa_instance_edges(instance, phase, &edges);
            found[n < 5 ? n : 5] += duplicates(&edges);
        }
        gsa_instance_release(instance);
    }
    const int promised = (gsa_schema_flags(s.schema) & GSA_DUPLICATES) != 0;
    ck_assert_int_eq(found[0] + found[3] + found[4] + found[5], 0);
    ck_assert_int_eq(found[1], promised ? 3 : 0); /* itself three times: three pairs */
    ck_assert_int_eq(found[2], promised ? 2 : 0); /* each reads its only neighbour twice */
    end(&s);
}
END_TEST

/* ---- counts -------------------------------------------------------------------------------- */

static int64_t edges_of(const subject *s, int32_t n, int64_t *runs)
{
    gsa_instance *instance = of_length(s, n);
    int64_t count = 0;
    *runs = 0;
    for (int phase = 0; phase < gsa_schema_phases(s->schema); phase++) {
        gsa_edges edges;
        gsa_instance_edges(instance, phase, &edges);
        count += edges.edge_total, *runs += edges.run_total;
    }
    gsa_instance_release(instance);
    return count;
}

static int64_t square(int64_t n)
{
    return n * n;
}
static int64_t triangle(int64_t n)
{
    return n * (n + 1) / 2;
}
static int64_t three(int64_t n)
{
    return 3 * n;
}
static int64_t chain(int64_t n)
{
    return n ? 3 * n - 2 : 0;
}
static int64_t star_edges(int64_t n)
{
    return n ? 6 * n + 1 : 0;
}
static int64_t star_chain(int64_t n)
{
    return n ? 6 * n - 1 : 0;
}
static int64_t star_without_ring(int64_t n)
{
    return n ? 4 * n + 1 : 0;
}
static int64_t star_without_relay(int64_t n)
{
    return 4 * n;
}
static int64_t star_of_three(int64_t n)
{
    return n ? 10 * n + 3 : 0;
}
static int64_t window_11(int64_t n)
{
    return n > 10 ? 11 * n - 30 : n > 5 ? n * n - (n - 6) * (n - 5) : n * n;
}
static const struct {
    const char *spec;
    int64_t (*edges)(int64_t n);
    int runs_per_row;
} counts[] = {
    { "full", square, 1 },
    { "full:clip=4", square, 3 },
    { "full:causal", triangle, 1 },
    { "full:causal:clip=4", triangle, 2 },
    { "ring", three, 3 },
    { "ring:cyclic=0", chain, 1 },
    { "window", window_11, 1 },
    { "star", star_edges, 5 },
    { "star:cyclic=0", star_chain, 4 },
    { "star:ring=0", star_without_ring, 4 },
    { "star:radial=0", star_without_relay, 4 },
    { "star:relays=3", star_of_three, 9 },
};

START_TEST(counts_are_as_documented)
{
    subject s = subject_of(counts[_i].spec);
    for (int32_t n = 0; n <= 200; n++) {
        int64_t runs;
        ck_assert_int_eq(edges_of(&s, n, &runs), counts[_i].edges(n));
        ck_assert_int_le(runs, (int64_t)counts[_i].runs_per_row * n + 2);
    }
    end(&s);
}
END_TEST

/* Doubling a long input: twice the edges for linear, four times for square patterns; the runs
 * double in any case. */
START_TEST(growth_is_as_promised)
{
    subject s = subject_of(counts[_i].spec);
    const double wanted = gsa_schema_growth(s.schema) == GSA_SQUARE_EDGES ? 4 : 2;
    int64_t runs[3], edges[3];
    for (int i = 0; i < 3; i++) edges[i] = edges_of(&s, INT32_C(1) << (14 + i), &runs[i]);
    for (int i = 0; i < 2; i++) {
        const double ratio = (double)edges[i + 1] / (double)edges[i],
                     run_ratio = (double)runs[i + 1] / (double)runs[i];
        ck_assert_msg(ratio > wanted * 0.999 && ratio < wanted * 1.001, "%s: %g", counts[_i].spec,
                      ratio);
        ck_assert_msg(run_ratio > 1.999 && run_ratio < 2.001, "%s: runs %g", counts[_i].spec,
                      run_ratio);
    }
    ck_assert_int_eq(edges[2],
                     counts[_i].edges(1 << 16)); /* full: 2^32 edges, counted and not stored */
    end(&s);
}
END_TEST

/* ---- schema and names ---------------------------------------------------------------------- */

START_TEST(layers_are_what_the_papers_say)
{
    static const struct {
        const char *spec, *kinds, *phases; /* phase: name aggregate.update.label_use.labels */
        int summaries;
    } schemas[] = {
        { "full", "token:0 ", "attend:0.0.0.1 ffn:3.1.0.1 ", 1 },
        { "full:clip=3", "token:0 ", "attend:0.0.1.7 ffn:3.1.0.1 ", 1 },
        { "full:causal:clip=3", "token:0 ", "attend:0.0.1.4 ffn:3.1.0.1 ", 1 },
        { "ring", "token:0 ", "attend:0.0.0.3 ffn:3.1.0.1 ", 1 },
        { "window", "token:0 ", "attend:0.0.0.1 ffn:3.1.0.1 ", 1 },
        { "window:width=5:relative", "token:0 ", "attend:0.0.1.5 ffn:3.1.0.1 ", 1 },
        { "window:width=5:relative:causal", "token:0 ", "attend:0.0.1.3 ffn:3.1.0.1 ", 1 },
        { "star", "embedding:1 token:0 relay:2 ", "down:0.2.0.5 up:0.2.0.2 ", 2 },
        { "star:radial=0", "embedding:1 token:0 ", "down:0.2.0.4 ", 1 },
        { "star:relays=3", "embedding:1 token:0 relay:2 ", "down:0.2.0.5 up:0.2.0.2 ", 2 },
    };
    for (int i = 0; i < GSA_COUNT(schemas); i++) {
        subject s = subject_of(schemas[i].spec);
        char kinds[128] = "", phases[128] = "";
        for (int k = 0; k < gsa_schema_kinds(s.schema); k++)
            sprintf(kinds + strlen(kinds), "%s:%d ", gsa_schema_kind(s.schema, k)->name,
                    gsa_schema_kind(s.schema, k)->start);
        for (int p = 0; p < gsa_schema_phases(s.schema); p++) {
            const gsa_phase *phase = gsa_schema_phase(s.schema, p);
            sprintf(phases + strlen(phases), "%s:%d.%d.%d.%d ", phase->name, phase->aggregate,
                    phase->update, phase->label_use, phase->labels);
        }
        ck_assert_str_eq(kinds, schemas[i].kinds);
        ck_assert_str_eq(phases, schemas[i].phases);
        ck_assert_int_eq(gsa_schema_summaries(s.schema), schemas[i].summaries);
        ck_assert_str_eq(gsa_schema_kind(s.schema, gsa_schema_sequence(s.schema))->name, "token");
        end(&s);
    }
}
END_TEST

static const struct {
    const char *spec;
    int phase, label;
    const char *name;
} names[] = {
    { "full", 0, 0, "" },
    { "full:clip=5", 1, 0, "" },
    { "full:clip=5", 0, 0, "left >=5" },
    { "full:clip=5", 0, 1, "left 4" },
    { "full:clip=5", 0, 2, "left 3" },
    { "full:clip=5", 0, 5, "self" },
    { "full:clip=5", 0, 6, "right 1" },
    { "full:clip=5", 0, 10, "right >=5" },
    { "full:clip=1", 0, 0, "left >=1" },
    { "full:clip=1", 0, 1, "self" },
    { "full:causal:clip=2", 0, 2, "self" },
    { "window", 0, 0, "" },
    { "window:width=5:relative", 1, 0, "" },
    { "window:width=5:relative", 0, 0, "left 2" },
    { "window:width=5:relative", 0, 2, "self" },
    { "window:width=5:relative", 0, 3, "right 1" },
    { "ring", 0, 0, "left" },
    { "ring", 0, 1, "self" },
    { "ring", 0, 2, "right" },
    { "ring", 0, 3, "" },
    { "star", 0, 0, "left" },
    { "star", 0, 1, "self" },
    { "star", 0, 2, "right" },
    { "star", 0, 3, "embed" },
    { "star", 0, 4, "relay" },
    { "star", 1, 0, "self" },
    { "star", 1, 1, "up" },
    { "star", 1, 2, "" },
    { "star", 2, 0, "" },
};

START_TEST(labels_have_names)
{
    check_label_name(names[_i].spec, names[_i].phase, names[_i].label, names[_i].name);
}
END_TEST

START_TEST(the_relay_stands_for_all_tokens_and_needs_one)
{
    static const char *const specs[] = { "star", "star:relays=1", "star:relays=3" };
    static const int relays[] = { 1, 1, 3 };
    subject s = subject_of(specs[_i]);
    ck_assert_int_eq(gsa_schema_kind(s.schema, 2)->learned, relays[_i] > 1 ? relays[_i] : 0);
    for (int32_t n = 0; n < 4; n++) {
        gsa_instance *instance = of_length(&s, n);
        ck_assert_int_eq(gsa_instance_nodes(instance, 0), n);
        ck_assert_int_eq(gsa_instance_nodes(instance, 2), n > 0 ? relays[_i] : 0);
        for (int64_t a = 0; a < gsa_instance_nodes(instance, 2); a++) {
            const gsa_place place = gsa_instance_place(instance, 2, a);
            ck_assert_int_eq(place.level, 1);
            ck_assert_int_eq(place.first, 0);
            ck_assert_int_eq(place.last, n - 1);
        }
        gsa_instance_release(instance);
    }
    end(&s);
}
END_TEST

static const gsa_test edge_tests[] = { GSA_LOOP(edges_equal_the_definition, GSA_COUNT(table)) };
static const gsa_test promise_tests[] = {
    GSA_LOOP(edges_depend_on_the_length_alone, GSA_COUNT(table)),
    GSA_LOOP(causal_and_prefix_stable_are_true, GSA_COUNT(table)), GSA_TEST(the_checks_can_fail),
    GSA_LOOP(duplicates_are_there_where_promised_and_nowhere_else, GSA_COUNT(table))
};
static const gsa_test count_tests[] = { GSA_LOOP(counts_are_as_documented, GSA_COUNT(counts)),
                                        GSA_LOOP(growth_is_as_promised, GSA_COUNT(counts)) };
static const gsa_test schema_tests[] = {
    GSA_TEST(layers_are_what_the_papers_say), GSA_LOOP(labels_have_names, GSA_COUNT(names)),
    GSA_LOOP(the_relay_stands_for_all_tokens_and_needs_one, 3)
};

int main(int argc, char **argv)
{
    static const gsa_case cases[] = { GSA_CASE("edges", edge_tests, 120),
                                      GSA_CASE("promises", promise_tests, 120),
                                      GSA_CASE("counts", count_tests, 120),
                                      GSA_CASE("schema", schema_tests, 30) };
    return gsa_run_suite("builtin", cases, GSA_COUNT(cases), argc, argv);
}
