/* The binary-partition tree: its edges equal the definition's, its counts the public builder's;
 * tokens are covered once. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bpt_naive.h"
#include "support/faults.h"
#include "subject.h"

enum { TOKEN, SPAN };
enum { ATTEND, FFN };
static const char *const variants[] = { "fixed", "reference", "paper" };

static subject subject_with(int64_t k, int causal, int64_t clip, int variant, int prune)
{
    char text[128];
    snprintf(text, sizeof text, "bpt:k=%" PRId64 ":causal=%d:clip=%" PRId64 ":variant=%s:prune=%d",
             k, causal, clip, variants[variant], prune);
    return subject_of(text);
}

/* An instance as a list of edges between (level, place in the level), found by the places that emit
 * gave. */
typedef struct drawn {
    gsa_instance *instance;
    int64_t n, spans, runs;
    bpt_list list;
} drawn;

static gsa_instance *instance_of(const subject *s, int64_t n)
{
    gsa_instance *instance;
    gsa_error error = { 0 };
    const gsa_example x = { .struct_size = sizeof x, .length = (int32_t)n, .heads = 1 };
    ck_assert_msg(gsa_pattern_instance(s->pattern, NULL, &x, NULL, 1, &instance, &error) == GSA_OK,
                  "%s", error.text);
    return instance;
}

/* Each ck_assert of Check is a write to its parent: what is asked of every edge goes through
 * this. */
#define REQUIRE(what)                                                                              \
    do                                                                                             \
        if (!(what)) ck_abort_msg("%s", #what);                                                    \
    while (0)

/* Row `at` of the tokens and, after them, the spans. */
static void node_of(const gsa_instance *instance, int64_t at, int *level, int64_t *place)
{
    const int64_t n = gsa_instance_length(instance);
    *level = 0, *place = at;
    if (at < n) return;
    const gsa_place p = gsa_instance_place(instance, SPAN, at - n);
    REQUIRE(p.level > 0);
    *level = p.level, *place = p.first >> p.level;
    REQUIRE(p.first == bpt_naive_first(*level, *place) &&
            p.last == bpt_naive_last(n, *level, *place));
}

static drawn draw(const subject *s, int64_t n)
{
    drawn d = { .instance = instance_of(s, n), .n = n };
    gsa_edges edges;
    gsa_error error = { 0 };
    int64_t first[GSA_MAX_KINDS];
    gsa_instance_edges(d.instance, ATTEND, &edges);
    ck_assert_msg(gsa_edges_check(&edges, "attend", &error) == GSA_OK, "%s", error.text);
    d.spans = gsa_instance_nodes(d.instance, SPAN), d.runs = edges.run_total;
    ck_assert_int_eq(edges.rows, n + d.spans);
    d.list.edges = calloc((size_t)edges.edge_total + 1, sizeof *d.list.edges),
    d.list.count = edges.edge_total;
    int32_t *sources = malloc(((size_t)edges.edge_total + 1) * sizeof *sources);
    int32_t *labels = malloc(((size_t)edges.edge_total + 1) * sizeof *labels);
    gsa_edges_expand(&edges, sources, labels, first);
    ck_assert_int_eq(first[TOKEN], 0);
    ck_assert_int_eq(first[SPAN], n);
    for (int64_t row = 0; row < edges.rows; row++)
        for (int64_t k = edges.edge_offset[row]; k < edges.edge_offset[row + 1]; k++) {
            bpt_edge *edge = &d.list.edges[k];
            node_of(d.instance, row, &edge->to_level, &edge->to);
            node_of(d.instance, sources[k], &edge->from_level, &edge->from);
            edge->label = labels[k];
        }
    free(sources);
    free(labels);
    return d;
}

static void erase(drawn *d)
{
    bpt_naive_release(&d->list);
    gsa_instance_release(d->instance);
}

static int equal_edges(const bpt_edge *a, const bpt_edge *b)
{
    return a->to_level == b->to_level && a->from_level == b->from_level && a->to == b->to &&
           a->from == b->from && a->label == b->label;
}

/* ---- edges --------------------------------------------------------------------------------- */
static const struct {
    int64_t k, clip;
} shapes[] = { { 1, 3 }, { 1, 0 }, { 2, 2 },   { 3, 31 },
               { 4, 1 }, { 8, 2 }, { 130, 0 }, { 1000000, 5 } };
enum { SHAPES = GSA_COUNT(shapes), WAYS = 6 * SHAPES };
static bpt_shape shape_at(int i)
{
    const int way = i / SHAPES;
    return (bpt_shape){ .k = shapes[i % SHAPES].k,
                        .clip = shapes[i % SHAPES].clip,
                        .causal = way % 2,
                        .variant = way / 2 };
}

START_TEST(edges_equal_the_definition)
{
    bpt_shape shape = shape_at(_i);
    subject s = subject_with(shape.k, shape.causal, shape.clip, shape.variant, 0);
    for (int l = 0; l <= 131; l++) {
        shape.n = l < 131 ? l : 333;
        bpt_list want = { 0 };
        bpt_naive(&want, &shape);
        drawn got = draw(&s, shape.n);
        for (int64_t e = 0; e < want.count && e < got.list.count; e++) {
            const bpt_edge *a = &got.list.edges[e], *b = &want.edges[e];
            if (!equal_edges(a, b))
                ck_abort_msg("%s, n = %d, edge %d: (%d,%d) -> (%d,%d) label %d, expected (%d,%d) "
                             "-> (%d,%d) label %d",
                             gsa_pattern_text(s.pattern), (int)shape.n, (int)e, a->from_level,
                             (int)a->from, a->to_level, (int)a->to, a->label, b->from_level,
                             (int)b->from, b->to_level, (int)b->to, b->label);
        }
        ck_assert_int_eq(got.list.count, want.count);
        bpt_naive_release(&want);
        erase(&got);
    }
    end(&s);
}
END_TEST

/* Spans are numbered level by level, the root last, ceil(n / 2^level) a level. The root is the
 * summary, or the one token. */
START_TEST(levels_halve)
{
    subject s = subject_of("bpt");
    for (int64_t n = 0; n <= 300; n++) {
        gsa_instance *instance = instance_of(&s, n);
        int64_t at = 0, index = -1;
        int kind = -1;
        for (int level = 1; level < bpt_naive_depth(n); level++)
            for (int64_t m = 0; m < bpt_naive_size(n, level); m++, at++) {
                const gsa_place place = gsa_instance_place(instance, SPAN, at);
                REQUIRE(place.level == level);
                REQUIRE(place.first == bpt_naive_first(level, m) &&
                        place.last == bpt_naive_last(n, level, m));
            }
        ck_assert_int_eq(gsa_instance_nodes(instance, SPAN), at);
        ck_assert_int_eq(gsa_instance_summary(instance, &kind, &index), n > 0);
        ck_assert_int_eq(kind, n == 0 ? -1 : n == 1 ? TOKEN : SPAN);
        ck_assert_int_eq(index, n == 0 ? -1 : n == 1 ? 0 : at - 1);
        gsa_instance_release(instance);
    }
    end(&s);
}
END_TEST

/* By hand: "to: sources/label", spans as s0, s1, ... */
static const struct {
    const char *spec;
    int n;
    const char *edges;
} small[] = {
    { "bpt", 0, "" },
    { "bpt", 1, "0: 0/0" },
    { "bpt:k=1", 2, "0: 0/0 1/2; 1: 1/0 0/1; s0: 0/3 1/3" },
    { "bpt:k=1:causal", 2, "0: 0/0; 1: 1/0 0/1; s0: 0/3 1/3" },
    { "bpt:k=1", 3,
      "0: 0/0 1/2 s1/5; 1: 1/0 0/1 2/2; 2: 2/0 1/1 0/4; s0: 0/3 1/3; s1: 2/3; s2: 0/6 1/6 2/6" },
    { "bpt:k=1:clip=1", 3,
      "0: 0/0 1/2 s1/5; 1: 1/0 0/1 2/2; 2: 2/0 1/1 0/4; s0: 0/3 1/3; s1: 2/3; s2: 0/3 1/3 2/3" },
    { "bpt:k=1:variant=reference", 3,
      "0: 0/0 1/2 s1/5; 1: 1/0 0/1 2/2 s0/5; 2: 2/0 1/1 0/4; s0: 0/3 1/3; s1: 2/3; s2: 0/6 1/6 "
      "2/6" },
    { "bpt:k=1:variant=paper", 3,
      "0: 0/0 1/2 s1/7; 1: 1/0 0/1 2/2; 2: 2/0 1/1 0/3; s0: 0/5 1/5; s1: 2/5; s2: 0/10 1/10 2/10" },
    { "bpt:k=1:prune", 3,
      "0: 0/0 1/2 s0/5; 1: 1/0 0/1 2/2; 2: 2/0 1/1 0/4; s0: 2/3; s1: 0/6 1/6 2/6" },
    { "bpt:k=2:prune:causal", 3, "0: 0/0; 1: 1/0 0/1; 2: 2/0 1/1 0/3; s0: 0/10 1/10 2/10" },
    { "bpt:prune", 1, "0: 0/0" },
    { "bpt:prune", 0, "" },
};

START_TEST(small_trees_are_as_drawn_by_hand)
{
    subject s = subject_of(small[_i].spec);
    gsa_instance *instance = instance_of(&s, small[_i].n);
    gsa_edges edges;
    char text[512] = "";
    size_t used = 0;
    int32_t sources[64], labels[64];
    gsa_instance_edges(instance, ATTEND, &edges);
    gsa_edges_expand(&edges, sources, labels, NULL);
    for (int64_t row = 0; row < edges.rows; row++) {
        const int64_t n = small[_i].n;
        used += (size_t)sprintf(text + used, "%s%s%d:", row ? "; " : "", row < n ? "" : "s",
                                (int)(row < n ? row : row - n));
        for (int64_t k = edges.edge_offset[row]; k < edges.edge_offset[row + 1]; k++)
            used += (size_t)sprintf(text + used, " %s%d/%d", sources[k] < n ? "" : "s",
                                    (int)(sources[k] < n ? sources[k] : sources[k] - n), labels[k]);
    }
    ck_assert_str_eq(text, small[_i].edges);
    gsa_instance_release(instance);
    end(&s);
}
END_TEST

/* ---- counts -------------------------------------------------------------------------------- */
static const struct {
    int variant, n, k, both, causal;
} counts[] = {
    { BPT_FIXED, 8, 1, 66, 49 },
    { BPT_FIXED, 8, 2, 76, 54 },
    { BPT_FIXED, 16, 1, 178, 129 },
    { BPT_FIXED, 16, 2, 216, 148 },
    { BPT_FIXED, 16, 4, 258, 169 },
    { BPT_FIXED, 32, 4, 730, 461 },
    { BPT_REFERENCE, 8, 1, 66, 49 },
    { BPT_REFERENCE, 32, 4, 730, 461 }, /* powers of two: no odd level but the root */
    { BPT_REFERENCE, 3, 1, 16, 12 },
    { BPT_REFERENCE, 5, 1, 40, 28 },
    { BPT_REFERENCE, 7, 1, 58, 42 },
    { BPT_REFERENCE, 19, 1, 262, 178 },
    { BPT_FIXED, 3, 1, 15, 12 },
    { BPT_FIXED, 5, 1, 37, 28 },
    { BPT_FIXED, 7, 1, 57, 42 },
    { BPT_FIXED, 19, 1, 249, 178 },
    { BPT_PAPER, 8, 1, 68, 50 },
    { BPT_PAPER, 16, 4, 260, 170 },
    { BPT_PAPER, 19, 1, 263, 185 },
    { BPT_PAPER, 100, 1, 2269, 1499 },
};

START_TEST(counts_are_those_of_the_public_builder_and_the_paper)
{
    for (int causal = 0; causal < 2; causal++) {
        subject s = subject_with(counts[_i].k, causal, -1, counts[_i].variant, 0);
        drawn d = draw(&s, counts[_i].n);
        ck_assert_int_eq(d.list.count, causal ? counts[_i].causal : counts[_i].both);
        erase(&d);
        end(&s);
    }
}
END_TEST

/* Levels of odd size: 42 of these 50 lengths have edges that only the public builder has, 0.4 % of
 * all. */
START_TEST(the_public_builders_extra_edges_are_few)
{
    subject fixed = subject_of("bpt"), reference = subject_of("bpt:variant=reference");
    int64_t lengths = 0, edges = 0, extra = 0;
    for (int n = 10; n < 60; n++) {
        drawn a = draw(&fixed, n), b = draw(&reference, n);
        lengths += b.list.count > a.list.count, edges += b.list.count,
            extra += b.list.count - a.list.count;
        erase(&a);
        erase(&b);
    }
    ck_assert_int_eq(lengths, 42);
    ck_assert_int_eq(extra * 1000 / edges, 3); /* 3.8 in a thousand */
    end(&fixed);
    end(&reference);
}
END_TEST

/* k >= n: all pairs at level 0, with the distance for a label, and the tokens of each span. */
START_TEST(a_wide_step_is_the_full_graph)
{
    for (int variant = 0; variant < 3; variant++)
        for (int64_t n = 0; n <= 40; n++)
            for (int64_t k = n ? n : 1; k <= n + 2; k++) {
                subject s = subject_with(k, 0, -1, variant, 0);
                drawn d = draw(&s, n);
                ck_assert_int_eq(d.list.count, n * n + n * (bpt_naive_depth(n) - 1));
                for (int64_t e = 0; e < n * n; e++) {
                    const bpt_edge *edge = &d.list.edges[e];
                    const int64_t distance = edge->from - edge->to;
                    REQUIRE(edge->to_level == 0 && edge->to == e / n && edge->from_level == 0);
                    REQUIRE(edge->label == (distance < 0 ? -2 * distance - 1 : 2 * distance));
                }
                erase(&d);
                end(&s);
            }
}
END_TEST

/* f(n) = n log2 n; the runs likewise: at most two a level and side, one for itself and one a span.
 * (The edges are about k n log(n/k): with a larger k they come near this class only at lengths far
 * above it.) */
START_TEST(growth_is_n_log_n)
{
    static const char *const specs[] = { "bpt", "bpt:k=1:causal", "bpt:variant=paper",
                                         "bpt:k=2:variant=reference", "bpt:prune" };
    for (int i = 0; i < GSA_COUNT(specs); i++) {
        subject s = subject_of(specs[i]);
        int64_t before = 0;
        ck_assert_int_eq(gsa_schema_growth(s.schema), GSA_NLOGN_EDGES);
        for (int log = 12; log <= 14; log++) {
            const int64_t n = INT64_C(1) << log;
            gsa_instance *instance = instance_of(&s, n);
            gsa_edges edges;
            gsa_instance_edges(instance, ATTEND, &edges);
            if (before)
                ck_assert_msg((double)edges.edge_total / (double)before <=
                                  1.05 * 2 * log / (log - 1),
                              "%s", specs[i]);
            ck_assert_int_le(edges.run_total,
                             n * (4 * (log + 1) + 1) + gsa_instance_nodes(instance, SPAN));
            before = edges.edge_total;
            gsa_instance_release(instance);
        }
        end(&s);
    }
}
END_TEST

/* ---- tiling -------------------------------------------------------------------------------- */

/* How often the sources of each token stand for each token: cover[to * n + token]. */
static int *cover_of(const drawn *d)
{
    int *cover = calloc((size_t)(d->n * d->n) + 1, sizeof *cover);
    for (int64_t e = 0; e < d->list.count; e++) {
        const bpt_edge *edge = &d->list.edges[e];
        if (edge->to_level > 0) continue;
        for (int64_t t = bpt_naive_first(edge->from_level, edge->from);
             t <= bpt_naive_last(d->n, edge->from_level, edge->from); t++)
            cover[edge->to * d->n + t]++;
    }
    return cover;
}

static const int steps[] = { 1, 2, 3, 4, 8 };
static const int tiling_variants[] = { BPT_FIXED, BPT_PAPER };
enum { TILINGS = GSA_COUNT(steps) * 2 * 2 };

START_TEST(every_allowed_token_is_covered_once)
{
    const int causal = _i % 2, variant = tiling_variants[_i / 2 % 2], k = steps[_i / 4];
    subject s = subject_with(k, causal, -1, variant, 0);
    for (int64_t n = 0; n < 200; n++) {
        drawn d = draw(&s, n);
        int *cover = cover_of(&d);
        for (int64_t i = 0; i < n; i++)
            for (int64_t t = 0; t < n; t++)
                if (cover[i * n + t] != (!causal || t <= i))
                    ck_abort_msg("k = %d, n = %d: token %d covers %d %d times", k, (int)n, (int)i,
                                 (int)t, cover[i * n + t]);
        free(cover);
        erase(&d);
    }
    end(&s);
}
END_TEST

/* The public builder leaves nothing out, reads a start twice where a level is odd, and nothing
 * twice where none is. */
START_TEST(the_public_builder_covers_every_token_at_least_once)
{
    for (int k = 0; k < GSA_COUNT(steps); k++) {
        subject s = subject_with(steps[k], 0, -1, BPT_REFERENCE, 0);
        int64_t more = 0;
        for (int64_t n = 1; n < 100; n++) {
            drawn d = draw(&s, n);
            int *cover = cover_of(&d), most = 0;
            for (int64_t c = 0; c < n * n; c++) {
                REQUIRE(cover[c] >= 1);
                if (cover[c] > most) most = cover[c];
            }
            more += most > 1;
            if ((n & (n - 1)) == 0) ck_assert_int_eq(most, 1);
            free(cover);
            erase(&d);
        }
        ck_assert_int_gt(more, 0);
        end(&s);
    }
}
END_TEST

/* ---- promises ------------------------------------------------------------------------------ */

/* Sources of a row of tokens, by what they stand for; one label and the same order. */
static int same_rows(const drawn *shorter, const drawn *longer)
{
    const bpt_edge *a = shorter->list.edges, *b = longer->list.edges;
    int64_t e = 0;
    for (; e < shorter->list.count && a[e].to_level == 0; e++) {
        if (e >= longer->list.count || !equal_edges(&a[e], &b[e])) return 0;
        if (bpt_naive_last(shorter->n, a[e].from_level, a[e].from) !=
            bpt_naive_last(longer->n, b[e].from_level, b[e].from))
            return 0;
    }
    return e == longer->list.count || b[e].to_level > 0 || b[e].to >= shorter->n;
}

/* 1 when nothing that a token reads, in any number of layers, started at a later token: a span
 * holds its tokens. */
static int reads_no_later_token(const drawn *d)
{
    for (int64_t e = 0; e < d->list.count; e++) {
        const bpt_edge *edge = &d->list.edges[e];
        if (edge->to_level == 0 && bpt_naive_last(d->n, edge->from_level, edge->from) > edge->to)
            return 0;
    }
    return 1;
}

static int has_duplicates(const drawn *d)
{
    const bpt_edge *x = d->list.edges;
    for (int64_t a = 0; a < d->list.count; a++)
        for (int64_t b = a - 1; b >= 0 && x[b].to_level == x[a].to_level && x[b].to == x[a].to; b--)
            if (x[b].from_level == x[a].from_level && x[b].from == x[a].from) return 1;
    return 0;
}

START_TEST(promises_hold_and_are_no_smaller_than_need_be)
{
    const int causal = _i % 2, prune = _i / 2 % 2, variant = _i / 4;
    for (int k = 0; k < GSA_COUNT(steps); k++) {
        subject s = subject_with(steps[k], causal, -1, variant, prune);
        const uint32_t flags = gsa_schema_flags(s.schema);
        int unstable = 0, leaky = 0, doubled = 0;
        for (int64_t n = 0; n < 70; n++) {
            drawn d = draw(&s, n);
            for (int64_t more = 1; more < 70;
                 more += more) { /* lengths n+1, n+2, n+4, ...: every end of every level */
                drawn longer = draw(&s, n + more);
                unstable += !same_rows(&d, &longer);
                erase(&longer);
            }
            leaky += !reads_no_later_token(&d), doubled += has_duplicates(&d);
            erase(&d);
        }
        ck_assert(flags & GSA_BY_LENGTH);
        ck_assert_int_eq((flags & GSA_CAUSAL) != 0, leaky == 0);
        ck_assert_int_eq((flags & GSA_PREFIX_STABLE) != 0, unstable == 0);
        ck_assert_int_eq((flags & GSA_DUPLICATES) != 0, doubled > 0);
        ck_assert_int_eq((flags & GSA_CAUSAL) != 0, causal);
        end(&s);
    }
}
END_TEST

/* ---- prune --------------------------------------------------------------------------------- */

static int is_read(const drawn *d, int level, int64_t place)
{
    for (int64_t e = 0; e < d->list.count; e++) {
        const bpt_edge *edge = &d->list.edges[e];
        if (edge->to_level == 0 && edge->from_level == level && edge->from == place) return 1;
    }
    return 0;
}

/* Of the whole pattern's edges exactly those of the spans that nobody reads are missing; the root
 * stays. */
static int64_t check_pruned(const drawn *whole, const drawn *pruned)
{
    const int top = bpt_naive_depth(whole->n) - 1;
    int64_t at = 0, gone = 0, last = -1;
    int kept = 1;
    for (int64_t e = 0; e < whole->list.count; e++) {
        const bpt_edge *edge = &whole->list.edges[e];
        const int64_t row = edge->to_level * whole->n + edge->to;
        if (edge->to_level > 0 && row != last) {
            kept = edge->to_level == top || is_read(whole, edge->to_level, edge->to);
            last = row, gone += !kept;
        }
        if (!kept) continue;
        REQUIRE(at < pruned->list.count);
        REQUIRE(equal_edges(edge, &pruned->list.edges[at++]));
    }
    ck_assert_int_eq(at, pruned->list.count);
    ck_assert_int_eq(pruned->spans, whole->spans - gone);
    return gone;
}

START_TEST(prune_drops_what_nobody_reads_and_nothing_else)
{
    const int causal = _i % 2, variant = _i / 2;
    for (int k = 0; k < GSA_COUNT(steps); k++) {
        subject a = subject_with(steps[k], causal, -1, variant, 0),
                b = subject_with(steps[k], causal, -1, variant, 1);
        for (int64_t n = 0; n < 60; n++) {
            drawn whole = draw(&a, n), pruned = draw(&b, n);
            int kind = -1;
            int64_t index = -1;
            const int64_t gone = check_pruned(&whole, &pruned);
            if (causal && n > 2)
                ck_assert_int_gt(gone, 0); /* nobody reads the span that ends with the last token */
            if (steps[k] >= n && n > 1) ck_assert_int_eq(pruned.spans, 1);
            ck_assert_int_eq(gsa_instance_summary(pruned.instance, &kind, &index), n > 0);
            if (n > 1) ck_assert(kind == SPAN && index == pruned.spans - 1);
            erase(&whole);
            erase(&pruned);
        }
        end(&a);
        end(&b);
    }
}
END_TEST

static gsa_status emit_pruned(gsa_faults *faults, void *context)
{
    subject s;
    gsa_error error;
    gsa_instance *instance = NULL;
    const gsa_example x = { .struct_size = sizeof x, .length = 9, .heads = 1 };
    gsa_status status = open_subject(&s, &faults->table, context, &error);
    if (status == GSA_OK)
        status = gsa_pattern_instance(s.pattern, NULL, &x, NULL, 1, &instance, &error);
    gsa_instance_release(instance);
    end(&s);
    return status;
}

START_TEST(every_failing_allocation_is_met)
{
    char whole[] = "bpt:k=1", pruned[] = "bpt:k=1:prune";
    const int calls = gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, emit_pruned, whole);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, emit_pruned, pruned), calls);
}
END_TEST

/* ---- schema and labels --------------------------------------------------------------------- */

START_TEST(the_layer_is_the_papers)
{
    subject s = subject_of("bpt:k=2:clip=3");
    const gsa_phase *attend = gsa_schema_phase(s.schema, ATTEND),
                    *ffn = gsa_schema_phase(s.schema, FFN);
    ck_assert_int_eq(gsa_schema_kinds(s.schema), 2);
    ck_assert_str_eq(gsa_schema_kind(s.schema, TOKEN)->name, "token");
    ck_assert_int_eq(gsa_schema_kind(s.schema, TOKEN)->start, GSA_INPUT);
    ck_assert_str_eq(gsa_schema_kind(s.schema, SPAN)->name, "span");
    ck_assert_int_eq(gsa_schema_kind(s.schema, SPAN)->start, GSA_ZERO);
    ck_assert_int_eq(gsa_schema_phases(s.schema), 2);
    ck_assert(strcmp(attend->name, "attend") == 0 && attend->aggregate == GSA_ATTEND &&
              attend->update == GSA_SUBLAYER);
    ck_assert(attend->label_use == GSA_KEY_VECTORS && attend->labels == 5 * 4);
    ck_assert(attend->sources == 3 && attend->destinations == 3);
    ck_assert(strcmp(ffn->name, "ffn") == 0 && ffn->aggregate == GSA_NONE &&
              ffn->update == GSA_FFN && ffn->destinations == 3);
    ck_assert_int_eq(gsa_schema_sequence(s.schema), TOKEN);
    ck_assert_int_eq(gsa_schema_summaries(s.schema), 1);
    end(&s);
}
END_TEST

/* Without clip: the largest with k 2^clip <= 256; labels are (2k+1) (clip+1), of the paper's (2k+3)
 * (clip+1). */
static const struct {
    const char *spec;
    int32_t labels;
} ranges[] = {
    { "bpt:k=1", 3 * 9 },
    { "bpt:k=2", 5 * 8 },
    { "bpt:k=3", 7 * 7 },
    { "bpt", 9 * 7 },
    { "bpt:k=5", 11 * 6 },
    { "bpt:k=64", 129 * 3 },
    { "bpt:k=128", 257 * 2 },
    { "bpt:k=129", 259 },
    { "bpt:k=256", 513 },
    { "bpt:k=257", 515 },
    { "bpt:clip=0", 9 },
    { "bpt:clip=31", 9 * 32 },
    { "bpt:clip=-1", 9 * 7 },
    { "bpt:variant=paper", 11 * 7 },
    { "bpt:variant=reference", 9 * 7 },
    { "bpt:k=1073741823", INT32_MAX },
};

START_TEST(labels_are_as_many_as_documented)
{
    subject s = subject_of(ranges[_i].spec);
    ck_assert_int_eq(gsa_schema_phase(s.schema, ATTEND)->labels, ranges[_i].labels);
    end(&s);
}
END_TEST

static const struct {
    const char *spec, *fragment;
} refusals[] = {
    { "bpt:k=1073741823:clip=1",
      "k = 1073741823 with clip = 1 makes 4294967294 labels, expected at most 2147483647" },
    { "bpt:k=1073741823:variant=paper", "k = 1073741823 with clip = 0 makes 2147483649 labels" },
    { "bpt:k=33554432:clip=31", "k = 33554432 with clip = 31 makes 2147483680 labels" },
    { "bpt:k=0", "'k' is '0', expected an integer from 1 to 1073741823" },
    { "bpt:clip=32", "'clip' is '32', expected an integer from -1 to 31" },
    { "bpt:variant=exact", "expected one of fixed,reference,paper" },
};

START_TEST(what_cannot_be_is_refused)
{
    subject s;
    gsa_error error = { 0 };
    ck_assert_int_eq(open_subject(&s, NULL, refusals[_i].spec, &error), GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(error.text, refusals[_i].fragment) != NULL, "%s", error.text);
    end(&s);
}
END_TEST

static const struct {
    const char *spec;
    int phase, label;
    const char *name;
} names[] = {
    { "bpt:k=2", 0, 0, "self" },
    { "bpt:k=2", 0, 1, "left 0:1" },
    { "bpt:k=2", 0, 2, "right 0:1" },
    { "bpt:k=2", 0, 3, "left 0:2" },
    { "bpt:k=2", 0, 4, "right 0:2" },
    { "bpt:k=2", 0, 5, "anc 1" },
    { "bpt:k=2", 0, 11, "left 2:1" },
    { "bpt:k=2", 0, 15, "anc 3" },
    { "bpt:k=2", 0, 39, "right >=7:2" },
    { "bpt:k=2", 0, 35, "anc >=7" },
    { "bpt:k=2", 0, 40, "" },
    { "bpt:k=2", 0, -1, "" },
    { "bpt:k=2", 1, 0, "" },
    { "bpt:k=2:clip=0", 0, 0, "self" }, /* and every ancestor */
    { "bpt:k=2:clip=0", 0, 3, "left >=0:2" },
    { "bpt:k=2:variant=paper", 0, 5, "left 0:3" },
    { "bpt:k=2:variant=paper", 0, 6, "right 0:3" },
    { "bpt:k=2:variant=paper", 0, 7, "anc 1" },
};

START_TEST(labels_have_names)
{
    check_label_name(names[_i].spec, names[_i].phase, names[_i].label, names[_i].name);
}
END_TEST

/* Every edge's label says what the edge is: whether it is the token itself, an ancestor, left or
 * right. */
START_TEST(names_say_where_the_source_is)
{
    subject s = subject_with(2, 0, 31, _i, 0);
    drawn d = draw(&s, 77);
    for (int64_t e = 0; e < d.list.count; e++) {
        const bpt_edge *edge = &d.list.edges[e];
        char name[32];
        int level = 0, place = 0;
        gsa_pattern_topology(s.pattern)->label(gsa_pattern_self(s.pattern), ATTEND, edge->label,
                                               name, sizeof name);
        const int64_t first = bpt_naive_first(edge->from_level, edge->from),
                      last = bpt_naive_last(d.n, edge->from_level, edge->from);
        if (strcmp(name, "self") == 0)
            REQUIRE(edge->to_level == 0 && edge->from_level == 0 && edge->from == edge->to);
        else if (sscanf(name, "anc %d", &level) == 1)
            REQUIRE(level == edge->to_level && edge->from_level == 0);
        else if (sscanf(name, "left %d:%d", &level, &place) == 2) REQUIRE(last < edge->to);
        else if (sscanf(name, "right %d:%d", &level, &place) == 2)
            REQUIRE(first > edge->to || _i == BPT_REFERENCE);
        else ck_abort_msg("'%s'", name);
        REQUIRE(place <= (_i == BPT_PAPER ? 3 : 2));
        if (place)
            REQUIRE(edge->from_level == level ||
                    (edge->from_level == level - 1 && place == 1 && _i != BPT_PAPER));
    }
    erase(&d);
    end(&s);
}
END_TEST

static const gsa_test edge_tests[] = {
    GSA_LOOP(edges_equal_the_definition, WAYS), GSA_TEST(levels_halve),
    GSA_LOOP(small_trees_are_as_drawn_by_hand, GSA_COUNT(small))
};
static const gsa_test count_tests[] = {
    GSA_LOOP(counts_are_those_of_the_public_builder_and_the_paper, GSA_COUNT(counts)),
    GSA_TEST(the_public_builders_extra_edges_are_few), GSA_TEST(a_wide_step_is_the_full_graph),
    GSA_TEST(growth_is_n_log_n)
};
static const gsa_test tiling_tests[] = { GSA_LOOP(every_allowed_token_is_covered_once, TILINGS),
                                         GSA_TEST(
                                             the_public_builder_covers_every_token_at_least_once) };
static const gsa_test promise_tests[] = { GSA_LOOP(promises_hold_and_are_no_smaller_than_need_be,
                                                   12) };
static const gsa_test prune_tests[] = { GSA_LOOP(prune_drops_what_nobody_reads_and_nothing_else, 6),
                                        GSA_TEST(every_failing_allocation_is_met) };
static const gsa_test schema_tests[] = {
    GSA_TEST(the_layer_is_the_papers),
    GSA_LOOP(labels_are_as_many_as_documented, GSA_COUNT(ranges)),
    GSA_LOOP(what_cannot_be_is_refused, GSA_COUNT(refusals)),
    GSA_LOOP(labels_have_names, GSA_COUNT(names)), GSA_LOOP(names_say_where_the_source_is, 3)
};

int main(int argc, char **argv)
{
    static const gsa_case cases[] = {
        GSA_CASE("edges", edge_tests, 120),    GSA_CASE("counts", count_tests, 120),
        GSA_CASE("tiling", tiling_tests, 120), GSA_CASE("promises", promise_tests, 120),
        GSA_CASE("prune", prune_tests, 120),   GSA_CASE("schema", schema_tests, 60)
    };
    return gsa_run_suite("bpt", cases, GSA_COUNT(cases), argc, argv);
}
