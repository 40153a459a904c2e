/* The sparse patterns of the literature: their edges equal the definition's, pair by pair, and what
 * they promise holds. */
#include "subject_edges.h"

enum { CAUSAL = GSA_CAUSAL, STABLE = GSA_CAUSAL | GSA_PREFIX_STABLE, DUPLICATES = GSA_DUPLICATES };
enum { LINEAR = GSA_LINEAR_EDGES, NSQRTN = GSA_NSQRTN_EDGES, SQUARE = GSA_SQUARE_EDGES };

static const struct {
    const char *spec;
    naive_shape *naive;
    int parameters[6];
    uint32_t flags; /* besides BY_LENGTH */
    int growth;
} table[] = {
    /*                                                                  width heads border */
    { "head_area", naive_head_area, { 11, 3, 0 }, 0, LINEAR },
    { "head_area:border=circular", naive_head_area, { 11, 3, 1 }, DUPLICATES, LINEAR },
    { "head_area:border=clamp", naive_head_area, { 11, 3, 2 }, DUPLICATES, LINEAR },
    { "head_area:width=1:heads=1", naive_head_area, { 1, 1, 0 }, 0, LINEAR },
    { "head_area:width=3:heads=1:border=circular", naive_head_area, { 3, 1, 1 }, 0, LINEAR },
    { "head_area:width=3:heads=1:border=clamp", naive_head_area, { 3, 1, 2 }, 0, LINEAR },
    { "head_area:width=1:heads=3:border=clamp", naive_head_area, { 1, 3, 2 }, DUPLICATES, LINEAR },
    { "head_area:width=5:heads=5:border=circular",
      naive_head_area,
      { 5, 5, 1 },
      DUPLICATES,
      LINEAR },
    { "head_area:width=101:heads=17", naive_head_area, { 101, 17, 0 }, 0, LINEAR },
    { "head_area:width=3:heads=17:border=circular",
      naive_head_area,
      { 3, 17, 1 },
      DUPLICATES,
      LINEAR },
    { "head_area:width=3:heads=17:border=clamp",
      naive_head_area,
      { 3, 17, 2 },
      DUPLICATES,
      LINEAR },
    /*                                                            width step causal */
    { "dilated", naive_dilated, { 11, 2, 0 }, 0, LINEAR },
    { "dilated:width=1:step=7", naive_dilated, { 1, 7, 0 }, 0, LINEAR },
    { "dilated:width=3:step=1", naive_dilated, { 3, 1, 0 }, 0, LINEAR },
    { "dilated:width=5:step=3", naive_dilated, { 5, 3, 0 }, 0, LINEAR },
    { "dilated:width=5:step=3:causal", naive_dilated, { 5, 3, 1 }, STABLE, LINEAR },
    { "dilated:width=3:step=1000:causal", naive_dilated, { 3, 1000, 1 }, STABLE, LINEAR },
    { "dilated:width=1048575:step=2", naive_dilated, { 1048575, 2, 0 }, 0, LINEAR },
    { "dilated:width=1048575:step=1048576:causal",
      naive_dilated,
      { 1048575, 1048576, 1 },
      STABLE,
      LINEAR },
    /*                                                               width global own causal */
    { "longformer", naive_longformer, { 11, 1, 1, 0 }, 0, LINEAR },
    { "longformer:own=0", naive_longformer, { 11, 1, 0, 0 }, 0, LINEAR },
    { "longformer:width=1:global=0", naive_longformer, { 1, 0, 1, 0 }, 0, LINEAR },
    { "longformer:width=3:global=2", naive_longformer, { 3, 2, 1, 0 }, 0, LINEAR },
    { "longformer:width=5:global=7:own=0", naive_longformer, { 5, 7, 0, 0 }, 0, LINEAR },
    { "longformer:width=5:global=7:causal", naive_longformer, { 5, 7, 1, 1 }, STABLE, LINEAR },
    { "longformer:width=7:global=3:own=0:causal",
      naive_longformer,
      { 7, 3, 0, 1 },
      STABLE,
      LINEAR },
    { "longformer:width=1:global=1048576", naive_longformer, { 1, 1048576, 1, 0 }, 0, LINEAR },
    { "longformer:width=1048575:global=5", naive_longformer, { 1048575, 5, 1, 0 }, 0, LINEAR },
    /*                                                       width global random block seed
     * causal */
    { "bigbird", naive_bigbird, { 3, 2, 3, 1, 1, 0 }, 0, LINEAR },
    { "bigbird:seed=77", naive_bigbird, { 3, 2, 3, 1, 77, 0 }, 0, LINEAR },
    { "bigbird:global=0:random=1", naive_bigbird, { 3, 0, 1, 1, 1, 0 }, 0, LINEAR },
    { "bigbird:random=0", naive_bigbird, { 3, 2, 0, 1, 1, 0 }, 0, LINEAR },
    { "bigbird:width=1:global=0:random=64", naive_bigbird, { 1, 0, 64, 1, 1, 0 }, 0, LINEAR },
    { "bigbird:width=1:global=1:random=20:causal",
      naive_bigbird,
      { 1, 1, 20, 1, 1, 1 },
      STABLE,
      LINEAR },
    { "bigbird:block=4", naive_bigbird, { 3, 2, 3, 4, 1, 0 }, 0, LINEAR },
    { "bigbird:width=1:global=1:random=2:block=3:causal",
      naive_bigbird,
      { 1, 1, 2, 3, 1, 1 },
      STABLE,
      LINEAR },
    { "bigbird:width=7:global=1:block=5:seed=0", naive_bigbird, { 7, 1, 3, 5, 0, 0 }, 0, LINEAR },
    { "bigbird:block=1048576", naive_bigbird, { 3, 2, 3, 1048576, 1, 0 }, 0, LINEAR },
    { "bigbird:width=1048575:global=1048576:random=64",
      naive_bigbird,
      { 1048575, 1048576, 64, 1, 1, 0 },
      0,
      LINEAR },
    /*                                                    fixed stride c heads causal */
    { "strided", naive_strided, { 0, 0, 1, 0, 1 }, CAUSAL, NSQRTN },
    { "strided:causal=0", naive_strided, { 0, 0, 1, 0, 0 }, 0, NSQRTN },
    { "strided:stride=1", naive_strided, { 0, 1, 1, 0, 1 }, STABLE, SQUARE },
    { "strided:stride=4", naive_strided, { 0, 4, 1, 0, 1 }, STABLE, SQUARE },
    { "strided:stride=5:causal=0", naive_strided, { 0, 5, 1, 0, 0 }, 0, SQUARE },
    { "strided:stride=5:heads=near", naive_strided, { 0, 5, 1, 1, 1 }, STABLE, LINEAR },
    { "strided:stride=5:heads=far", naive_strided, { 0, 5, 1, 2, 1 }, STABLE, SQUARE },
    { "strided:stride=5:heads=far:causal=0", naive_strided, { 0, 5, 1, 2, 0 }, 0, SQUARE },
    { "strided:stride=5:heads=split", naive_strided, { 0, 5, 1, 3, 1 }, STABLE, SQUARE },
    { "strided:heads=split:causal=0", naive_strided, { 0, 0, 1, 3, 0 }, 0, NSQRTN },
    { "strided:stride=4:relative", naive_strided, { 0, 4, 1, 0, 1, 1 }, STABLE, SQUARE },
    { "strided:stride=5:causal=0:relative", naive_strided, { 0, 5, 1, 0, 0, 1 }, 0, SQUARE },
    { "strided:stride=5:heads=far:relative", naive_strided, { 0, 5, 1, 2, 1, 1 }, STABLE, SQUARE },
    { "strided:stride=5:heads=split:relative",
      naive_strided,
      { 0, 5, 1, 3, 1, 1 },
      STABLE,
      SQUARE },
    { "strided:pattern=fixed:stride=9:c=4:causal=0:relative",
      naive_strided,
      { 1, 9, 4, 0, 0, 1 },
      0,
      SQUARE },
    { "strided:pattern=fixed:stride=6:c=6:relative",
      naive_strided,
      { 1, 6, 6, 0, 1, 1 },
      STABLE,
      SQUARE },
    { "strided:stride=1048576", naive_strided, { 0, 1048576, 1, 0, 1 }, STABLE, SQUARE },
    { "strided:pattern=fixed", naive_strided, { 1, 0, 1, 0, 1 }, CAUSAL, NSQRTN },
    { "strided:pattern=fixed:causal=0", naive_strided, { 1, 0, 1, 0, 0 }, 0, NSQRTN },
    { "strided:pattern=fixed:c=1000:causal=0", naive_strided, { 1, 0, 1000, 0, 0 }, 0, NSQRTN },
    { "strided:pattern=fixed:stride=6:c=2", naive_strided, { 1, 6, 2, 0, 1 }, STABLE, SQUARE },
    { "strided:pattern=fixed:stride=6:c=6", naive_strided, { 1, 6, 6, 0, 1 }, STABLE, SQUARE },
    { "strided:pattern=fixed:stride=9:c=4:causal=0", naive_strided, { 1, 9, 4, 0, 0 }, 0, SQUARE },
    { "strided:pattern=fixed:stride=6:c=2:heads=near",
      naive_strided,
      { 1, 6, 2, 1, 1 },
      STABLE,
      LINEAR },
    { "strided:pattern=fixed:stride=6:c=5:heads=far",
      naive_strided,
      { 1, 6, 5, 2, 1 },
      STABLE,
      SQUARE },
    { "strided:pattern=fixed:stride=7:c=3:heads=far:causal=0",
      naive_strided,
      { 1, 7, 3, 2, 0 },
      0,
      SQUARE },
    { "strided:pattern=fixed:stride=7:c=3:heads=split",
      naive_strided,
      { 1, 7, 3, 3, 1 },
      STABLE,
      SQUARE },
    { "strided:pattern=fixed:stride=1:heads=split:causal=0",
      naive_strided,
      { 1, 1, 1, 3, 0 },
      0,
      SQUARE },
    { "strided:pattern=fixed:stride=1048576:c=1048576",
      naive_strided,
      { 1, 1048576, 1048576, 0, 1 },
      STABLE,
      SQUARE },
};

/* ---- edges --------------------------------------------------------------------------------- */
static void expect(const subject *s, const naive_example *x, naive_shape *naive,
                   const int *parameters)
{
    gsa_instance *instance = instance_of(s, x);
    naive_list have = edges_of(s, instance), want = { 0 };
    naive(&want, x, parameters);
    naive_sort(&have), naive_sort(&want);
    for (int64_t i = 0; i < have.count && i < want.count; i++) {
        const naive_edge *h = &have.edges[i], *w = &want.edges[i];
        if (h->phase != w->phase || h->to != w->to || h->from != w->from || h->label != w->label ||
            h->from_kind != w->from_kind)
            ck_abort_msg("%s, length %" PRId64 ", heads %d: %d: %" PRId64 " <- %" PRId64
                         " label %d, expected %d: %" PRId64 " <- %" PRId64 " label %d",
                         gsa_pattern_text(s->pattern), x->n, x->heads, h->phase, h->to, h->from,
                         h->label, w->phase, w->to, w->from, w->label);
    }
    ck_assert_msg(have.count == want.count,
                  "%s, length %" PRId64 ": %" PRId64 " edges, expected %" PRId64,
                  gsa_pattern_text(s->pattern), x->n, have.count, want.count);
    naive_release(&have);
    naive_release(&want);
    gsa_instance_release(instance);
}

START_TEST(edges_equal_the_definition)
{
    static const int heads[] = { 1, 2, 3, 8 };
    subject s = subject_of(table[_i].spec);
    for (int h = 0; h < (is_per_head(&s) ? GSA_COUNT(heads) : 1); h++)
        for (int64_t n = 0; n <= 42; n++) /* and 63: the largest for which naive_bigbird has room */
            expect(&s, &(naive_example){ .n = n < 42 ? n : 63, .heads = heads[h] }, table[_i].naive,
                   table[_i].parameters);
    end(&s);
}
END_TEST

/* Groups ascend, with gaps; some are on one side only. */
START_TEST(cross_reads_the_memory_or_its_group)
{
    enum { MOST = 40 };
    static const char *const specs[] = { "cross", "cross:align" };
    for (int align = 0; align < 2; align++) {
        subject s = subject_of(specs[align]);
        ck_assert_int_eq((gsa_schema_flags(s.schema) & GSA_BY_LENGTH) != 0, !align);
        for (uint64_t seed = 0; seed < 2000; seed++) {
            int32_t group[2][MOST] = { { 0 } };
            const int64_t n = (int64_t)(gsa_random(seed, 1, 1) % MOST),
                          m = (int64_t)(gsa_random(seed, 1, 2) % MOST);
            for (int side = 0; side < 2; side++)
                for (int i = 0; i < MOST; i++)
                    group[side][i] = (i > 0 ? group[side][i - 1] : 0) +
                                     (gsa_random(seed, 2, (uint64_t)(side * MOST + i)) % 4 == 0) *
                                         (int)(1 + seed % 3);
            const uint64_t given = gsa_random(seed, 3, 3);
            const naive_example x = { .n = n,
                                      .memory = m,
                                      .heads = 2,
                                      given & 1 ? group[0] : NULL,
                                      given & 2 ? group[1] : NULL };
            expect(&s, &x, naive_cross, &align);
        }
        end(&s);
    }
}
END_TEST

/* A search of each group from the start would be 4e10 steps. */
START_TEST(cross_aligns_long_documents)
{
    enum { N = 200000 };
    int32_t *group = malloc(N * sizeof *group);
    for (int32_t i = 0; i < N; i++) group[i] = i;
    subject s = subject_of("cross:align=1");
    gsa_instance *instance = instance_of(
        &s,
        &(naive_example){ .n = N, .memory = N, .heads = 1, .group = group, .memory_group = group });
    gsa_edges edges;
    gsa_instance_edges(instance, 0, &edges);
    ck_assert_int_eq(edges.edge_total, N);
    for (int32_t i = 0; i < N; i++) ck_assert_int_eq(edges.runs[i].first, i);
    gsa_instance_release(instance);
    end(&s);
    free(group);
}
END_TEST

/* ---- promises ------------------------------------------------------------------------------ */
START_TEST(promises_are_as_stated)
{
    subject s = subject_of(table[_i].spec);
    ck_assert_uint_eq(gsa_schema_flags(s.schema), table[_i].flags | GSA_BY_LENGTH);
    ck_assert_int_eq(gsa_schema_growth(s.schema), table[_i].growth);
    end(&s);
}
END_TEST

/* One kind, so a path from a later token to an earlier one starts with an edge that goes back.
 * Without the promise some edge goes back, unless the parameters leave every token alone. */
START_TEST(causal_patterns_read_nothing_later)
{
    subject s = subject_of(table[_i].spec);
    const int heads = is_per_head(&s) ? 3 : 1;
    int64_t later = 0, others = 0;
    for (int64_t n = 0; n <= 70; n++) {
        gsa_instance *instance = of_length(&s, n, heads);
        naive_list list = edges_of(&s, instance);
        for (int64_t k = 0; k < list.count; k++) {
            later += list.edges[k].from / heads > list.edges[k].to / heads;
            others += list.edges[k].from / heads != list.edges[k].to / heads;
        }
        naive_release(&list);
        gsa_instance_release(instance);
    }
    if (table[_i].flags & GSA_CAUSAL) ck_assert_int_eq(later, 0);
    else ck_assert(later > 0 || others == 0);
    end(&s);
}
END_TEST

static int same_row(const gsa_edges *a, const gsa_edges *b, int64_t row)
{
    if (a->run_total == 0 || b->run_total == 0)
        return a->run_total == 0 || a->edge_offset[row + 1] == a->edge_offset[row];
    const int64_t first = a->run_offset[row], count = a->run_offset[row + 1] - first;
    return b->run_offset[row + 1] - b->run_offset[row] == count &&
           (count == 0 || memcmp(a->runs + first, b->runs + b->run_offset[row],
                                 (size_t)count * sizeof(gsa_run)) == 0);
}

/* Rows of every length are those of the longest; without the promise some row is not. */
START_TEST(prefix_stable_rows_do_not_change)
{
    subject s = subject_of(table[_i].spec);
    const int heads = is_per_head(&s) ? 3 : 1;
    gsa_instance *longest = of_length(&s, 71, heads);
    int same = 1;
    for (int64_t n = 0; n <= 70; n++) {
        gsa_instance *instance = of_length(&s, n, heads);
        for (int phase = 0; phase < gsa_schema_phases(s.schema); phase++) {
            gsa_edges a, b;
            gsa_instance_edges(instance, phase, &a);
            gsa_instance_edges(longest, phase, &b);
            for (int64_t row = 0; row < a.rows && a.edge_total > 0; row++)
                same &= same_row(&a, &b, row);
        }
        gsa_instance_release(instance);
    }
    if (table[_i].flags & GSA_PREFIX_STABLE) ck_assert(same);
    else if (table[_i].flags & GSA_CAUSAL) ck_assert(!same); /* the root of the length */
    gsa_instance_release(longest);
    end(&s);
}
END_TEST

/* No row reads a source twice, except head_area's borders, and those at their first length
 * already. */
START_TEST(duplicates_only_where_promised)
{
    static const int heads[] = { 1, 2, 3, 16 };
    subject s = subject_of(table[_i].spec);
    int64_t twice = 0;
    for (int h = 0; h < (is_per_head(&s) ? GSA_COUNT(heads) : 1); h++)
        for (int64_t n = 0; n <= 40; n++) {
            gsa_instance *instance = of_length(&s, n, heads[h]);
            naive_list list = edges_of(&s, instance);
            naive_sort(&list);
            for (int64_t k = 1; k < list.count; k++)
                twice += list.edges[k].phase == list.edges[k - 1].phase &&
                         list.edges[k].to == list.edges[k - 1].to &&
                         list.edges[k].from == list.edges[k - 1].from;
            naive_release(&list);
            gsa_instance_release(instance);
        }
    ck_assert_int_eq(twice > 0, (table[_i].flags & DUPLICATES) != 0);
    end(&s);
}
END_TEST

/* The same bytes whenever, and for any number of heads where the phase has none. */
START_TEST(edges_are_the_same_every_time)
{
    subject s = subject_of(table[_i].spec), other = subject_of(table[_i].spec);
    for (int64_t n = 0; n <= 64; n += n < 5 ? 1 : 13) {
        gsa_instance *pair[2] = { of_length(&s, n, 4),
                                  of_length(&other, n, is_per_head(&s) ? 4 : 9) };
        for (int phase = 0; phase < gsa_schema_phases(s.schema); phase++) {
            gsa_edges a, b;
            gsa_instance_edges(pair[0], phase, &a);
            gsa_instance_edges(pair[1], phase, &b);
            ck_assert_int_eq(a.rows, b.rows);
            ck_assert_int_eq(a.run_total, b.run_total);
            for (int64_t row = 0; row < a.rows && a.run_total > 0; row++)
                ck_assert(same_row(&a, &b, row));
        }
        for (int i = 0; i < 2; i++) gsa_instance_release(pair[i]);
    }
    end(&other);
    end(&s);
}
END_TEST

/* Two layers join every two tokens (causal: what is earlier to what is later), as the files say.
 * Heads are one token. */
static int joined_in_two(const subject *s, int64_t n, int causal)
{
    enum { MOST = 40 };
    static int reads[MOST][MOST];
    const int heads = is_per_head(s) ? 4 : 1;
    gsa_instance *instance = of_length(s, n, heads);
    naive_list list = edges_of(s, instance);
    int all = 1;
    memset(reads, 0, sizeof reads);
    for (int64_t k = 0; k < list.count; k++)
        reads[list.edges[k].to / heads][list.edges[k].from / heads] = 1;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < (causal ? i : n); j++) {
            int found = reads[i][j];
            for (int via = 0; via < n && !found; via++) found = reads[i][via] && reads[via][j];
            all &= found;
        }
    naive_release(&list);
    gsa_instance_release(instance);
    return all;
}

START_TEST(two_layers_join_all_tokens)
{
    static const char *const specs[] = {
        "longformer:width=1",
        "longformer:width=3:global=2:own=0",
        "bigbird:width=1:global=1:random=0",
        "bigbird:block=4",
        "strided",
        "strided:stride=5",
        "strided:causal=0",
        "strided:stride=7:causal=0",
        "strided:stride=5:heads=split",
        "strided:pattern=fixed",
        "strided:pattern=fixed:stride=6:c=2",
        "strided:pattern=fixed:causal=0",
        "strided:pattern=fixed:stride=7:causal=0",
        "strided:pattern=fixed:stride=7:c=3:heads=split:causal=0",
    };
    for (int i = 0; i < GSA_COUNT(specs); i++) {
        subject s = subject_of(specs[i]);
        const int causal = (gsa_schema_flags(s.schema) & GSA_CAUSAL) != 0;
        for (int64_t n = 0; n < 40; n++)
            ck_assert_msg(joined_in_two(&s, n, causal), "%s, length %" PRId64, specs[i], n);
        end(&s);
    }
    subject s = subject_of("window:width=3");
    ck_assert(!joined_in_two(&s, 9, 0)); /* the check can fail */
    end(&s);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test edges[] = { GSA_LOOP(edges_equal_the_definition, GSA_COUNT(table)),
                                      GSA_TEST(cross_reads_the_memory_or_its_group),
                                      GSA_TEST(cross_aligns_long_documents) };
    static const gsa_test promises[] = {
        GSA_LOOP(promises_are_as_stated, GSA_COUNT(table)),
        GSA_LOOP(causal_patterns_read_nothing_later, GSA_COUNT(table)),
        GSA_LOOP(prefix_stable_rows_do_not_change, GSA_COUNT(table)),
        GSA_LOOP(duplicates_only_where_promised, GSA_COUNT(table)),
        GSA_LOOP(edges_are_the_same_every_time, GSA_COUNT(table)),
        GSA_TEST(two_layers_join_all_tokens)
    };
    static const gsa_case cases[] = { GSA_CASE("edges", edges, 120),
                                      GSA_CASE("promises", promises, 120) };
    return gsa_run_suite("patterns", cases, GSA_COUNT(cases), argc, argv);
}
