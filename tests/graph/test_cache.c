/* The cache: least recently used out, bounded in bytes, safe in threads. */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "graph/instance.h"
#include "graph/schema.h"
#include "support/faults.h"
#include "support/suite.h"
#include "support/toy.h"

enum { ROW_BYTES = 1 << 12 };

/* Token i reads all: the size of an instance is a matter of its length. */
static void describe(gsa_describer *d)
{
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    d->phase(d, &GSA_PHASE(.sources = 1, .destinations = 1, .name = "read"));
    d->sequence(d, 0);
    d->promise(d, GSA_BY_LENGTH, GSA_SQUARE_EDGES);
}

static void describe_any(gsa_describer *d)
{
    describe(d);
    d->promise(d, 0, GSA_SQUARE_EDGES);
}

static void emit(const gsa_example *x, gsa_emitter *e)
{
    ck_assert_ptr_null(x->text); /* who promised lengths alone sees lengths alone */
    ck_assert_ptr_null(x->group);
    for (int i = 0; i < x->length; i++)
        e->run(e, 0, gsa_at(0, 0), x->length, 1, gsa_at(0, i), 0, 0);
}

static const gsa_script script = { describe, emit };

static gsa_instance *get(gsa_cache *cache, const gsa_schema *schema, int32_t length, int32_t memory,
                         int32_t heads)
{
    static const gsa_slice text[64];
    static const int32_t group[64];
    gsa_example example = gsa_toy_example(length, memory, heads);
    example.text = text, example.group = group;
    gsa_instance *instance = NULL;
    gsa_error error = { GSA_OK, "" };
    const gsa_status status =
        gsa_cache_get(cache, schema, &gsa_scripted, &script, &example, NULL, &instance, &error);
    if (status != GSA_OK || gsa_instance_length(instance) != length) ck_abort_msg("%s", error.text);
    return instance;
}

static gsa_schema *schema_of(const gsa_script *from)
{
    gsa_schema *schema;
    ck_assert_int_eq(gsa_schema_create(NULL, &gsa_scripted, from, &schema, NULL), GSA_OK);
    return schema;
}

static void counts_are(gsa_cache *cache, int hits, int misses, int evictions, int entries)
{
    const gsa_cache_counts c = gsa_cache_count(cache);
    ck_assert_msg(c.hits == hits && c.misses == misses && c.evictions == evictions &&
                      c.entries == entries,
                  "hits %lld misses %lld evictions %lld entries %lld", (long long)c.hits,
                  (long long)c.misses, (long long)c.evictions, (long long)c.entries);
}

START_TEST(the_key_is_schema_lengths_and_heads)
{
    gsa_cache *cache;
    gsa_schema *a = schema_of(&script), *b = schema_of(&script);
    ck_assert_int_eq(gsa_cache_create(NULL, 1 << 20, &cache, NULL), GSA_OK);
    gsa_instance *first = get(cache, a, 5, 2, 1), *same = get(cache, a, 5, 2, 1);
    ck_assert_ptr_eq(first, same);
    gsa_instance *others[] = { get(cache, b, 5, 2, 1), get(cache, a, 6, 2, 1),
                               get(cache, a, 5, 3, 1), get(cache, a, 5, 2, 2) };
    for (int i = 0; i < 4; i++) {
        ck_assert_ptr_ne(others[i], first);
        gsa_instance_release(others[i]);
    }
    counts_are(cache, 1, 5, 0, 5);
    gsa_cache_forget(cache, a);
    counts_are(cache, 1, 5, 0, 1);
    ck_assert_int_eq(gsa_cache_count(cache).bytes > 0, 1);
    gsa_cache_forget(cache, b);
    ck_assert_int_eq(gsa_cache_count(cache).bytes, 0);
    ck_assert_int_eq(gsa_instance_nodes(first, 0), 5); /* lives on by its references */
    gsa_instance_release(first), gsa_instance_release(same);
    gsa_cache_release(cache), gsa_cache_release(NULL);
    gsa_schema_release(a), gsa_schema_release(b);
}
END_TEST

START_TEST(the_least_recently_used_goes_first)
{
    gsa_cache *cache;
    gsa_schema *schema = schema_of(&script);
    ck_assert_int_eq(gsa_cache_create(NULL, 0, &cache, NULL), GSA_OK);
    gsa_instance *held = get(cache, schema, 8, 0, 1);
    counts_are(cache, 0, 1, 0, 0); /* larger than the cache: not kept */
    const int64_t bytes = gsa_instance_bytes(held);
    gsa_instance_release(held);
    gsa_cache_release(cache);

    ck_assert_int_eq(gsa_cache_create(NULL, 3 * bytes, &cache, NULL), GSA_OK);
    static const struct {
        int32_t memory; /* tells entries of one size apart */
        int hit;
    } steps[] = { { 1, 0 }, { 2, 0 }, { 3, 0 }, { 1, 1 }, { 4, 0 }, { 1, 1 },
                  { 2, 0 }, { 4, 1 }, { 3, 0 }, { 1, 0 }, { 2, 0 } };
    int hits = 0;
    for (int i = 0; i < GSA_COUNT(steps); i++) {
        gsa_instance_release(get(cache, schema, 8, steps[i].memory, 1));
        hits += steps[i].hit;
        ck_assert_msg(gsa_cache_count(cache).hits == hits, "step %d", i);
        ck_assert_int_le(gsa_cache_count(cache).bytes, 3 * bytes);
    }
    counts_are(cache, 3, 8, 5, 3);
    held = get(cache, schema, 8, 2, 1); /* in use while it is pushed out */
    for (int32_t m = 10; m < 14; m++) gsa_instance_release(get(cache, schema, 8, m, 1));
    ck_assert_int_eq(gsa_instance_nodes(held, 0), 8);
    gsa_instance_release(held);
    gsa_cache_release(cache);
    gsa_schema_release(schema);
}
END_TEST

/* An example of a caller that was compiled when the struct was shorter: nothing after its end is
 * read. */
START_TEST(older_examples_are_shorter)
{
    gsa_cache *cache;
    gsa_schema *schema = schema_of(&script);
    gsa_instance *instance = NULL;
    gsa_example full = gsa_toy_example(4, 0, 1);
    const size_t size = offsetof(gsa_example, draw);
    gsa_example *example = malloc(size);
    full.struct_size = (uint32_t)size;
    memcpy(example, &full, size);
    ck_assert_int_eq(gsa_cache_create(NULL, 1 << 20, &cache, NULL), GSA_OK);
    ck_assert_int_eq(
        gsa_cache_get(cache, schema, &gsa_scripted, &script, example, NULL, &instance, NULL),
        GSA_OK);
    ck_assert_int_eq(gsa_instance_length(instance), 4);
    gsa_instance_release(instance);
    gsa_cache_release(cache);
    gsa_schema_release(schema);
    free(example);
}
END_TEST

START_TEST(other_patterns_are_built_anew)
{
    static const gsa_script any = { describe_any, emit };
    gsa_cache *cache;
    gsa_schema *schema = schema_of(&any);
    gsa_instance *a = NULL, *b = NULL;
    const gsa_example example = gsa_toy_example(4, 0, 1), bad = gsa_toy_example(-1, 0, 1);
    ck_assert_int_eq(gsa_cache_create(NULL, 1 << 20, &cache, NULL), GSA_OK);
    ck_assert_int_eq(gsa_cache_get(cache, schema, &gsa_scripted, &any, &example, NULL, &a, NULL),
                     GSA_OK);
    ck_assert_int_eq(gsa_cache_get(cache, schema, &gsa_scripted, &any, &example, NULL, &b, NULL),
                     GSA_OK);
    ck_assert_ptr_ne(a, b);
    counts_are(cache, 0, 2, 0, 0);
    gsa_instance_release(a), gsa_instance_release(b);
    ck_assert_int_eq(gsa_cache_get(cache, schema, &gsa_scripted, &any, &bad, NULL, &a, NULL),
                     GSA_ERR_ARGUMENT);
    ck_assert_ptr_null(a);
    gsa_cache_release(cache);
    gsa_schema_release(schema);
    ck_assert_int_eq(gsa_cache_create(NULL, -1, &cache, NULL), GSA_ERR_ARGUMENT);
}
END_TEST

static gsa_cache *entered;
static const gsa_schema *entered_schema;
static int depth;

/* While a pattern is built, the same one is requested: as another thread would. */
static void emit_and_ask(const gsa_example *x, gsa_emitter *e)
{
    static const gsa_script asking = { describe, emit_and_ask };
    gsa_instance *inner = NULL;
    if (depth++ == 0)
        ck_assert_int_eq(
            gsa_cache_get(entered, entered_schema, &gsa_scripted, &asking, x, NULL, &inner, NULL),
            GSA_OK);
    gsa_instance_release(inner);
    emit(x, e);
}

START_TEST(of_two_builders_the_first_back_is_kept)
{
    static const gsa_script asking = { describe, emit_and_ask };
    gsa_schema *schema = schema_of(&asking);
    gsa_instance *instance = NULL;
    const gsa_example example = gsa_toy_example(4, 0, 1);
    ck_assert_int_eq(gsa_cache_create(NULL, 1 << 20, &entered, NULL), GSA_OK);
    entered_schema = schema;
    ck_assert_int_eq(
        gsa_cache_get(entered, schema, &gsa_scripted, &asking, &example, NULL, &instance, NULL),
        GSA_OK);
    counts_are(entered, 0, 2, 0, 1);
    ck_assert_int_eq(gsa_cache_count(entered).bytes, gsa_instance_bytes(instance));
    gsa_instance_release(instance);
    gsa_cache_release(entered);
    gsa_schema_release(schema);
}
END_TEST

/* ---- threads ------------------------------------------------------------------------------- */

typedef struct work {
    gsa_cache *cache;
    const gsa_schema *schema;
    uint64_t seed;
    int wrong;
} work;

static void *use(void *context)
{
    work *w = context;
    gsa_dice dice = { w->seed };
    for (int i = 0; i < 3000; i++) {
        const int32_t length = (int32_t)gsa_between(&dice, 0, 40);
        gsa_instance *instance = get(w->cache, w->schema, length, 0, 1);
        gsa_edges edges;
        gsa_instance_edges(instance, 0, &edges);
        w->wrong += edges.edge_total != (int64_t)length * length || edges.rows != length;
        gsa_instance_release(instance);
        if (i % 1000 == 999) gsa_cache_forget(w->cache, w->schema);
    }
    return NULL;
}

START_TEST(threads_share_a_cache)
{
    gsa_faults faults;
    gsa_cache *cache;
    gsa_schema *schema = schema_of(&script);
    pthread_t threads[6];
    work works[6];
    gsa_faults_start(&faults);
    ck_assert_int_eq(gsa_cache_create(&faults.table, 20 * ROW_BYTES, &cache, NULL), GSA_OK);
    for (int i = 0; i < 6; i++) {
        works[i] = (work){ cache, schema, (uint64_t)i + 1, 0 };
        ck_assert_int_eq(pthread_create(&threads[i], NULL, use, &works[i]), 0);
    }
    for (int i = 0; i < 6; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_int_eq(works[i].wrong, 0);
    }
    const gsa_cache_counts counts = gsa_cache_count(cache);
    ck_assert_int_eq(counts.hits + counts.misses, 18000);
    ck_assert_int_gt(counts.hits, 0);
    ck_assert_int_gt(counts.evictions, 0);
    ck_assert_int_le(counts.bytes, 20 * ROW_BYTES);
    gsa_cache_release(cache);
    ck_assert_int_eq(gsa_faults_live(&faults), 0);
    gsa_schema_release(schema);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test use_order[] = { GSA_TEST(the_key_is_schema_lengths_and_heads),
                                          GSA_TEST(the_least_recently_used_goes_first),
                                          GSA_TEST(older_examples_are_shorter),
                                          GSA_TEST(other_patterns_are_built_anew),
                                          GSA_TEST(of_two_builders_the_first_back_is_kept) };
    static const gsa_test threads[] = { GSA_TEST(threads_share_a_cache) };
    static const gsa_case cases[] = { GSA_CASE("order", use_order, 30),
                                      GSA_CASE("threads", threads, 120) };
    return gsa_run_suite("cache", cases, GSA_COUNT(cases), argc, argv);
}
