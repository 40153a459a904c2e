/* Instances: what emit may not say, and that what it says is kept edge for edge. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/instance.h"
#include "support/suite.h"
#include "support/toy.h"
#undef fail /* an old macro of Check; here it is a member of the emitter */

enum { TOKEN, RELAY, COPY, MEMORY };
enum { READ, HEADS, FFN };

static void describe(gsa_describer *d)
{
    static const gsa_kind kinds[] = { { sizeof(gsa_kind), GSA_INPUT, 0, 0, "token" },
                                      { sizeof(gsa_kind), GSA_ZERO, 3, 0, "relay" },
                                      { sizeof(gsa_kind), GSA_COPY, 0, 0, "copy" },
                                      { sizeof(gsa_kind), GSA_MEMORY, 0, 0, "memory" } };
    for (int k = 0; k < GSA_COUNT(kinds); k++) d->kind(d, &kinds[k]);
    d->phase(d, &GSA_PHASE(.labels = 3, .sources = 1 << TOKEN | 1 << RELAY | 1 << MEMORY,
                           .destinations = 1 << TOKEN | 1 << RELAY, .name = "read"));
    d->phase(d, &GSA_PHASE(.per_head = 1, .sources = 1 << TOKEN, .destinations = 1 << TOKEN,
                           .name = "heads"));
    d->phase(d, &GSA_PHASE(.aggregate = GSA_NONE, .update = GSA_FFN, .destinations = 1 << TOKEN,
                           .name = "ffn"));
    d->sequence(d, TOKEN);
    d->summary(d, RELAY, GSA_MEAN_OF, 1);
}

static gsa_status build_with(void (*describing)(gsa_describer *),
                             void (*emit)(const gsa_example *, gsa_emitter *),
                             const gsa_example *example, const gsa_limits *limits,
                             gsa_schema **schema, gsa_instance **instance, gsa_error *error)
{
    const gsa_script script = { describing, emit };
    const gsa_status status = gsa_schema_create(NULL, &gsa_scripted, &script, schema, error);
    ck_assert_msg(status == GSA_OK, "%s", error->text);
    return gsa_instance_create(NULL, *schema, &gsa_scripted, &script, example, limits, 1, instance,
                               error);
}

/* ---- bad calls: length 4, memory 2, heads 2, one relay ------------------------------------- */

#define BAD(name, call)                                                                            \
    static void name(const gsa_example *x, gsa_emitter *e)                                         \
    {                                                                                              \
        (void)x;                                                                                   \
        const gsa_node token = gsa_at(TOKEN, 0), relay = gsa_at(RELAY, e->nodes(e, RELAY, 1));     \
        (void)token, (void)relay;                                                                  \
        call e->run(e, READ, token, 1, 1, relay, 0, 0);                                            \
    }
BAD(unknown_phase, e->run(e, 3, token, 1, 1, relay, 0, 0);)
BAD(negative_phase, e->run(e, -1, token, 0, 1, relay, 0, 0);)
BAD(edges_of_none, gsa_edge(e, FFN, token, token, 0);)
BAD(unread_source, gsa_edge(e, READ, gsa_at(COPY, 1), token, 0);)
BAD(unknown_source, gsa_edge(e, READ, gsa_at(9, 1), token, 0);)
BAD(negative_source_kind, gsa_edge(e, READ, gsa_at(-1, 1), token, 0);)
BAD(unwritten_destination, gsa_edge(e, HEADS, token, relay, 0);)
BAD(memory_destination, gsa_edge(e, READ, token, gsa_at(MEMORY, 0), 0);)
BAD(unknown_destination, gsa_edge(e, READ, token, gsa_at(77, 0), 0);)
BAD(source_beyond, gsa_edge(e, READ, gsa_at(TOKEN, 4), relay, 0);)
BAD(source_negative, gsa_edge(e, READ, gsa_at(TOKEN, -3), relay, 0);)
BAD(memory_beyond, gsa_edge(e, READ, gsa_at(MEMORY, 2), relay, 0);)
BAD(relay_beyond, gsa_edge(e, READ, gsa_at(RELAY, 1), token, 0);)
BAD(destination_beyond, gsa_edge(e, READ, token, gsa_at(RELAY, 1), 0);)
BAD(destination_negative, gsa_edge(e, READ, token, gsa_at(TOKEN, -1), 0);)
BAD(last_beyond, e->run(e, READ, gsa_at(TOKEN, 1), 4, 1, relay, 0, 0);)
BAD(last_negative, e->run(e, READ, gsa_at(TOKEN, 1), 3, -1, relay, 0, 0);)
BAD(step_huge, e->run(e, READ, token, 3, INT64_MAX, relay, 0, 0);)
BAD(step_lowest, e->run(e, READ, token, 3, INT64_MIN, relay, 0, 0);)
BAD(count_negative, e->run(e, READ, token, -1, 1, relay, 0, 0);)
BAD(count_huge, e->run(e, READ, token, INT64_MAX, 0, relay, 0, 0);)
BAD(label_beyond, gsa_edge(e, READ, token, relay, 3);)
BAD(label_negative, gsa_edge(e, READ, token, relay, -1);)
BAD(last_label_beyond, e->run(e, READ, token, 4, 1, relay, 0, 1);)
BAD(last_label_negative, e->run(e, READ, token, 3, 1, relay, 1, -1);)
BAD(unlabelled, gsa_edge(e, HEADS, token, token, 1);)
BAD(head_beyond, gsa_edge(e, HEADS, gsa_at(TOKEN, 8), token, 0);)
BAD(head_destination_beyond, gsa_edge(e, HEADS, token, gsa_at(TOKEN, 8), 0);)
BAD(nodes_of_input, e->nodes(e, TOKEN, 1);)
BAD(nodes_of_copy, e->nodes(e, COPY, 1);)
BAD(nodes_of_memory, e->nodes(e, MEMORY, 1);)
BAD(nodes_of_unknown, e->nodes(e, 4, 1);)
BAD(nodes_negative, e->nodes(e, RELAY, -1);)
BAD(nodes_huge, e->nodes(e, RELAY, INT64_MAX);)
BAD(nodes_unlearned, e->nodes(e, RELAY, 3);)
BAD(place_beyond, e->place(e, gsa_at(RELAY, 1), 1, 0, 3);)
BAD(place_unknown, e->place(e, gsa_at(5, 0), 1, 0, 3);)
BAD(place_level, e->place(e, relay, -1, 0, 3);)
BAD(place_first, e->place(e, relay, 1, -1, 3);)
BAD(place_last, e->place(e, relay, 1, 0, 4);)
BAD(place_endless, e->place(e, relay, 1, 0, INT64_MAX);)
BAD(place_backwards, e->place(e, relay, 1, 3, 1);)
BAD(summary_beyond, e->summary(e, gsa_at(TOKEN, 4));)
BAD(summary_unknown, e->summary(e, gsa_at(4, 0));)
BAD(own_failure, e->fail(e, "no such word"); e->fail(e, "too late");)
BAD(scratch_huge, ck_assert_ptr_null(e->scratch(e, SIZE_MAX));)
BAD(first_failure, gsa_edge(e, READ, token, relay, 7); gsa_edge(e, 99, token, relay, 0);
    ck_assert_int_eq(e->nodes(e, RELAY, 1), 0); ck_assert_ptr_null(e->scratch(e, 8));)

static const struct {
    void (*emit)(const gsa_example *, gsa_emitter *);
    gsa_status status;
    const char *says, *where;
} bad[] = {
    { unknown_phase, GSA_ERR_PLUGIN, "phase 3, expected 0 to 2", "" },
    { negative_phase, GSA_ERR_PLUGIN, "phase -1", "" },
    { edges_of_none, GSA_ERR_PLUGIN, "which has none", "phase 'ffn'" },
    { unread_source, GSA_ERR_PLUGIN, "does not read: 2", "from copy 1" },
    { unknown_source, GSA_ERR_PLUGIN, "does not read: 9", "from ? 1" },
    { negative_source_kind, GSA_ERR_PLUGIN, "does not read: -1", "from ?" },
    { unwritten_destination, GSA_ERR_PLUGIN, "does not write: 1", "phase 'heads'" },
    { memory_destination, GSA_ERR_PLUGIN, "does not write: 3", "to memory 0" },
    { unknown_destination, GSA_ERR_PLUGIN, "does not write: 77", "" },
    { source_beyond, GSA_ERR_PLUGIN, "source that does not exist: 4, expected 0 to 3",
      "from token 4" },
    { source_negative, GSA_ERR_PLUGIN, "source that does not exist: -3", "from token -3" },
    { memory_beyond, GSA_ERR_PLUGIN, "source that does not exist: 2", "from memory 2" },
    { relay_beyond, GSA_ERR_PLUGIN, "source that does not exist: 1", "from relay 1" },
    { destination_beyond, GSA_ERR_PLUGIN, "destination that does not exist: 1", "to relay 1" },
    { destination_negative, GSA_ERR_PLUGIN, "destination that does not exist: -1", "to token -1" },
    { last_beyond, GSA_ERR_PLUGIN, "last source that does not exist: 4", "4 edges from token 1" },
    { last_negative, GSA_ERR_PLUGIN, "last source that does not exist: -1, expected 0 to ",
      "step -1" },
    { step_huge, GSA_ERR_PLUGIN, "step that leaves", "" },
    { step_lowest, GSA_ERR_PLUGIN, "step that leaves", "" },
    { count_negative, GSA_ERR_PLUGIN, "count of edges out of range: -1, expected 0 to 2147483647",
      "" },
    { count_huge, GSA_ERR_PLUGIN, "count of edges out of range", "" },
    { label_beyond, GSA_ERR_PLUGIN, "label out of range: 3, expected 0 to 2", "phase 'read'" },
    { label_negative, GSA_ERR_PLUGIN, "label out of range: -1", "" },
    { last_label_beyond, GSA_ERR_PLUGIN, "last label out of range: 3", "label 0 step 1" },
    { last_label_negative, GSA_ERR_PLUGIN, "last label out of range: -1", "" },
    { unlabelled, GSA_ERR_PLUGIN, "label out of range: 1", "phase 'heads'" },
    { head_beyond, GSA_ERR_PLUGIN, "source that does not exist: 8", "phase 'heads'" },
    { head_destination_beyond, GSA_ERR_PLUGIN, "destination that does not exist: 8",
      "phase 'heads'" },
    { nodes_of_input, GSA_ERR_PLUGIN, "has its nodes already", "'token'" },
    { nodes_of_copy, GSA_ERR_PLUGIN, "has its nodes already", "'copy'" },
    { nodes_of_memory, GSA_ERR_PLUGIN, "has its nodes already", "'memory'" },
    { nodes_of_unknown, GSA_ERR_PLUGIN, "kind 4, expected 0 to 3", "" },
    { nodes_negative, GSA_ERR_PLUGIN, "-1 nodes", "'relay'" },
    { nodes_huge, GSA_ERR_LIMIT, "9223372036854775807 nodes", "'relay'" },
    { nodes_unlearned, GSA_ERR_LIMIT, "4 nodes of kind 'relay', which has 3 learned rows", "" },
    { place_beyond, GSA_ERR_PLUGIN, "place of 'relay' 1, which has 1 nodes", "" },
    { place_unknown, GSA_ERR_PLUGIN, "place of kind 5", "" },
    { place_level, GSA_ERR_PLUGIN, "level is -1", "'relay' 0" },
    { place_first, GSA_ERR_PLUGIN, "tokens -1 to 3", "" },
    { place_last, GSA_ERR_PLUGIN, "tokens 0 to 4", "" },
    { place_endless, GSA_ERR_PLUGIN, "tokens 0 to 9223372036854775807", "" },
    { place_backwards, GSA_ERR_PLUGIN, "tokens 3 to 1", "" },
    { summary_beyond, GSA_ERR_PLUGIN, "summary of 'token' 4, which has 4 nodes", "" },
    { summary_unknown, GSA_ERR_PLUGIN, "summary of kind 4", "" },
    { own_failure, GSA_ERR_ARGUMENT, "no such word", "" },
    { scratch_huge, GSA_ERR_MEMORY, "scratch", "" },
    { first_failure, GSA_ERR_PLUGIN, "label out of range: 7", "" },
};

START_TEST(a_bad_call_has_its_sentence)
{
    gsa_error error = { GSA_OK, "" };
    gsa_schema *schema;
    gsa_instance *instance;
    const gsa_example example = gsa_toy_example(4, 2, 2);
    const gsa_status status =
        build_with(describe, bad[_i].emit, &example, NULL, &schema, &instance, &error);
    ck_assert_msg(status == bad[_i].status, "row %d: %s: '%s'", _i, gsa_status_name(status),
                  error.text);
    ck_assert_ptr_null(instance);
    ck_assert_msg(strstr(error.text, bad[_i].says) && strstr(error.text, bad[_i].where) &&
                      strstr(error.text, "'scripted', length 4"),
                  "row %d: '%s' lacks '%s' or '%s'", _i, error.text, bad[_i].says, bad[_i].where);
    gsa_schema_release(schema);
}
END_TEST

static void full(const gsa_example *x, gsa_emitter *e)
{
    for (int i = 0; i < x->length; i++)
        e->run(e, READ, gsa_at(TOKEN, 0), x->length, 1, gsa_at(TOKEN, i), 0, 0);
}

static void dotted(const gsa_example *x, gsa_emitter *e)
{
    for (int i = 0; i < x->length; i += 2) gsa_edge(e, READ, gsa_at(TOKEN, i), gsa_at(TOKEN, 0), 0);
}

/* Two runs that go on, in a space of 2^32 (node, head): more edges than one run can count. */
static void vast(const gsa_example *x, gsa_emitter *e)
{
    (void)x;
    e->run(e, HEADS, gsa_at(TOKEN, 0), INT32_MAX, 1, gsa_at(TOKEN, 0), 0, 0);
    e->run(e, HEADS, gsa_at(TOKEN, INT32_MAX), 9, 1, gsa_at(TOKEN, 0), 0, 0);
}

START_TEST(limits_hold)
{
    static const struct {
        gsa_example example;
        gsa_limits limits;
        void (*emit)(const gsa_example *, gsa_emitter *);
        gsa_status status;
        const char *says;
    } rows[] = {
        { { sizeof(gsa_example), 4, 0, 1, 0, 0, 0, 0, 0, 0, 0 },
          { 8, 16, 4 },
          full,
          GSA_OK,
          "" }, /* token and copy have 4 nodes each */
        { { sizeof(gsa_example), 4, 0, 1, 0, 0, 0, 0, 0, 0, 0 },
          { 7, 0, 0 },
          full,
          GSA_ERR_LIMIT,
          "8 nodes of input and memory" },
        { { sizeof(gsa_example), 4, 0, 1, 0, 0, 0, 0, 0, 0, 0 },
          { 0, 15, 0 },
          full,
          GSA_ERR_LIMIT,
          "more than 15 edges" },
        { { sizeof(gsa_example), 4, 0, 1, 0, 0, 0, 0, 0, 0, 0 },
          { 0, 0, 3 },
          full,
          GSA_ERR_LIMIT,
          "more than 3 runs" },
        { { sizeof(gsa_example), 8, 0, 1, 0, 0, 0, 0, 0, 0, 0 }, { 0, 0, 4 }, dotted, GSA_OK, "" },
        { { sizeof(gsa_example), 9, 0, 1, 0, 0, 0, 0, 0, 0, 0 },
          { 0, 0, 4 },
          dotted,
          GSA_ERR_LIMIT,
          "more than 4 runs" },
        { { sizeof(gsa_example), 4, 0, 1, 0, 0, 0, 0, 0, 0, 0 },
          { -1, 0, 0 },
          full,
          GSA_ERR_ARGUMENT,
          "limits of -1 nodes" },
        { { sizeof(gsa_example), -1, 0, 1, 0, 0, 0, 0, 0, 0, 0 },
          { 0, 0, 0 },
          full,
          GSA_ERR_ARGUMENT,
          "length -1" },
        { { sizeof(gsa_example), 1, -1, 1, 0, 0, 0, 0, 0, 0, 0 },
          { 0, 0, 0 },
          full,
          GSA_ERR_ARGUMENT,
          "memory length -1" },
        { { sizeof(gsa_example), 1, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
          { 0, 0, 0 },
          full,
          GSA_ERR_ARGUMENT,
          "heads 0" },
        { { offsetof(gsa_example, column), 4, 0, 1, 0, 0, 0, 0, 0, 0, 0 },
          { 8, 16, 4 },
          full,
          GSA_OK,
          "" }, /* of an older caller */
        { { 4, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0 },
          { 0, 0, 0 },
          full,
          GSA_ERR_ARGUMENT,
          "struct_size is 4" },
        { { sizeof(gsa_example), 4, 0, 1 << 29, 0, 0, 0, 0, 0, 0, 0 },
          { 0, 0, 0 },
          NULL,
          GSA_ERR_LIMIT,
          "8 nodes x 536870912 heads" },
        { { sizeof(gsa_example), 1 << 29, 0, 8, 0, 0, 0, 0, 0, 0, 0 },
          { 0, 0, 0 },
          vast,
          GSA_ERR_LIMIT,
          "1073741824 nodes x 8 heads" },
        { { sizeof(gsa_example), INT32_MAX, 0, 1, 0, 0, 0, 0, 0, 0, 0 },
          { 0, 0, 0 },
          NULL,
          GSA_ERR_LIMIT,
          "4294967294 nodes of input" },
    };
    for (int i = 0; i < GSA_COUNT(rows); i++) {
        gsa_error error = { GSA_OK, "" };
        gsa_schema *schema;
        gsa_instance *instance;
        ck_assert_msg(build_with(describe, rows[i].emit, &rows[i].example, &rows[i].limits, &schema,
                                 &instance, &error) == rows[i].status,
                      "row %d: '%s'", i, error.text);
        ck_assert_msg(strstr(error.text, rows[i].says) != NULL, "row %d: '%s'", i, error.text);
        gsa_instance_release(instance);
        gsa_schema_release(schema);
    }
}
END_TEST

/* ---- promises about text and the summary node ---------------------------------------------- */

static void describe_text(gsa_describer *d)
{
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    d->phase(d, &GSA_PHASE(.sources = 1, .destinations = 1, .name = "read"));
    d->sequence(d, 0);
    d->summary(d, 0, GSA_SUMMARY_NODE, 1);
    d->promise(d, GSA_NEEDS_TEXT, GSA_LINEAR_EDGES);
}

static void name_last(const gsa_example *x, gsa_emitter *e)
{
    if (x->length) e->summary(e, gsa_at(0, x->length - 1));
}

START_TEST(text_and_summary_are_asked_for)
{
    const gsa_slice text[2] = { { "a", 1 }, { "b", 1 } };
    gsa_example example = gsa_toy_example(2, 0, 1);
    gsa_error error = { GSA_OK, "" };
    gsa_schema *schema;
    gsa_instance *instance;
    ck_assert_int_eq(
        build_with(describe_text, name_last, &example, NULL, &schema, &instance, &error),
        GSA_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "needs text"));
    gsa_schema_release(schema);
    example.text = text;
    ck_assert_int_eq(build_with(describe_text, NULL, &example, NULL, &schema, &instance, &error),
                     GSA_ERR_PLUGIN);
    ck_assert_ptr_nonnull(strstr(error.text, "no summary node"));
    gsa_schema_release(schema);
    ck_assert_int_eq(
        build_with(describe_text, name_last, &example, NULL, &schema, &instance, &error), GSA_OK);
    int kind;
    int64_t index;
    ck_assert(gsa_instance_summary(instance, &kind, &index) && kind == 0 && index == 1);
    gsa_instance_release(instance);
    gsa_schema_release(schema);
    example = gsa_toy_example(0, 0, 1);
    ck_assert_int_eq(
        build_with(describe_text, name_last, &example, NULL, &schema, &instance, &error), GSA_OK);
    ck_assert_int_eq(gsa_instance_summary(instance, &kind, &index), 0);
    gsa_instance_release(instance);
    gsa_schema_release(schema);
}
END_TEST

/* ---- together ------------------------------------------------------------------------------ */

static void describe_together(gsa_describer *d)
{
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    gsa_phase x = { .struct_size = sizeof(gsa_phase),
                    .empty = GSA_KEEP_EMPTY,
                    .sources = 1,
                    .destinations = 1,
                    .name = "one" };
    d->phase(d, &x);
    x.name = "two", x.together = 1, x.per_head = 1;
    d->phase(d, &x);
    x.name = "three", x.together = 0, x.per_head = 0;
    d->phase(d, &x);
    d->sequence(d, 0);
}

/* heads = 2: one writes token 0, two writes token 1 (head 1) or token 0 (head 1); three is of
 * another group. */
static void apart(const gsa_example *x, gsa_emitter *e)
{
    (void)x;
    gsa_edge(e, 0, gsa_at(0, 1), gsa_at(0, 0), 0);
    gsa_edge(e, 1, gsa_at(0, 1), gsa_at(0, 3), 0);
    gsa_edge(e, 2, gsa_at(0, 1), gsa_at(0, 0), 0);
}

static void overlapping(const gsa_example *x, gsa_emitter *e)
{
    (void)x;
    gsa_edge(e, 0, gsa_at(0, 1), gsa_at(0, 0), 0);
    gsa_edge(e, 1, gsa_at(0, 1), gsa_at(0, 1), 0);
}

START_TEST(together_phases_write_other_rows)
{
    const gsa_example example = gsa_toy_example(3, 0, 2);
    gsa_error error = { GSA_OK, "" };
    gsa_schema *schema;
    gsa_instance *instance;
    ck_assert_msg(
        build_with(describe_together, apart, &example, NULL, &schema, &instance, &error) == GSA_OK,
        "%s", error.text);
    gsa_instance_release(instance);
    gsa_schema_release(schema);
    ck_assert_int_eq(
        build_with(describe_together, overlapping, &example, NULL, &schema, &instance, &error),
        GSA_ERR_PLUGIN);
    ck_assert_msg(strstr(error.text, "phase 'two' writes token 0") != NULL, "%s", error.text);
    gsa_schema_release(schema);
}
END_TEST

/* ---- what is kept -------------------------------------------------------------------------- */

static void star_like(const gsa_example *x, gsa_emitter *e)
{
    const gsa_node relay = gsa_at(RELAY, e->nodes(e, RELAY, 1));
    void *scratch[3];
    for (int i = 0; i < 3; i++) {
        scratch[i] = e->scratch(e, (size_t)i * 100);
        ck_assert_ptr_nonnull(scratch[i]);
        memset(scratch[i], i, (size_t)i * 100);
    }
    e->run(e, READ, gsa_at(TOKEN, 0), x->length, 1, relay, 2, 0);
    e->place(e, relay, 1, 0, x->length - 1);
    for (int i = x->length - 1; i >= 0; i--) gsa_edge(e, READ, relay, gsa_at(TOKEN, i), i % 3);
    if (x->length) e->summary(e, relay);
}

START_TEST(views_say_what_was_emitted)
{
    gsa_error error;
    gsa_schema *schema;
    gsa_instance *instance;
    gsa_edges e;
    const gsa_example example = gsa_toy_example(3, 2, 2);
    ck_assert_int_eq(build_with(describe, star_like, &example, NULL, &schema, &instance, &error),
                     GSA_OK);
    ck_assert_int_eq(gsa_instance_nodes(instance, RELAY), 1);
    ck_assert_int_eq(gsa_instance_nodes(instance, MEMORY), 2);
    ck_assert_int_eq(gsa_instance_length(instance), 3);
    ck_assert_int_eq(gsa_instance_heads(instance), 2);
    ck_assert_ptr_eq(gsa_instance_schema(instance), schema);
    ck_assert_int_gt(gsa_instance_bytes(instance), 4 * 8);
    gsa_place place = gsa_instance_place(instance, RELAY, 0);
    ck_assert(place.level == 1 && place.first == 0 && place.last == 2);
    ck_assert_int_eq(gsa_instance_place(instance, TOKEN, 2).level, -1);
    gsa_instance_edges(instance, READ, &e);
    ck_assert_int_eq(gsa_edges_check(&e, "read", &error), GSA_OK);
    ck_assert(e.rows == 4 && e.run_total == 4 && e.edge_total == 6 && e.labels == 3);
    ck_assert(e.part_rows[TOKEN] == 3 && e.part_rows[RELAY] == 1 && e.part_rows[COPY] == 0 &&
              e.part_rows[MEMORY] == 2);
    for (int r = 0; r < 3; r++)
        ck_assert(e.runs[r].kind == RELAY && e.runs[r].label == r % 3 && e.runs[r].count == 1);
    ck_assert(e.runs[3].kind == TOKEN && e.runs[3].count == 3 && e.runs[3].label == 2);
    ck_assert(e.examples == 1 && e.block_offset[1] == 2 && e.blocks[0].count == 3 &&
              e.blocks[1].first == 3);
    gsa_instance_edges(instance, HEADS, &e);
    ck_assert(e.rows == 6 && e.part_rows[TOKEN] == 6 && e.edge_total == 0);
    gsa_instance_edges(instance, FFN, &e);
    ck_assert(e.rows == 3 && e.run_total == 0 && e.edge_offset[3] == 0 && e.part_rows[TOKEN] == 0);
    ck_assert_int_eq(gsa_edges_check(&e, "ffn", &error), GSA_OK);
    gsa_instance *again = gsa_instance_retain(instance);
    gsa_instance_release(instance);
    ck_assert_int_eq(gsa_instance_length(again), 3);
    gsa_instance_release(again);
    gsa_instance_release(NULL);
    gsa_schema_release(schema);
}
END_TEST

START_TEST(length_zero_is_a_pattern)
{
    gsa_error error;
    gsa_schema *schema;
    gsa_instance *instance;
    const gsa_example example = gsa_toy_example(0, 0, 3);
    ck_assert_int_eq(build_with(describe, star_like, &example, NULL, &schema, &instance, &error),
                     GSA_OK);
    for (int p = 0; p < 3; p++) {
        gsa_edges e;
        gsa_instance_edges(instance, p, &e);
        ck_assert_int_eq(e.rows, p == READ);
        ck_assert_int_eq(gsa_edges_check(&e, "empty", &error), GSA_OK);
    }
    gsa_place place = gsa_instance_place(instance, RELAY, 0);
    ck_assert(place.level == 1 && place.first == 0 && place.last == -1);
    gsa_instance_release(instance);
    gsa_schema_release(schema);
}
END_TEST

static void in_pieces(const gsa_example *x, gsa_emitter *e)
{
    (void)x;
    const gsa_node to = gsa_at(TOKEN, 1);
    e->run(e, READ, gsa_at(TOKEN, 0), 2, 1, to, 0, 0); /* these four are one run */
    e->run(e, READ, gsa_at(TOKEN, 2), 1, 7, to, 0, 9); /* a single edge has no step */
    e->run(e, READ, gsa_at(TOKEN, 3), 0, 1, to, 0, 0);
    e->run(e, READ, gsa_at(TOKEN, 3), 3, 1, to, 0, 0);
    e->run(e, READ, gsa_at(TOKEN, 6), 1, 1, to, 1, 0); /* another label: another run */
    e->run(e, READ, gsa_at(TOKEN, 7), 1, 1, to, 2, 0); /* labels 1, 2 have step 1 */
    e->run(e, READ, gsa_at(TOKEN, 7), 1, 1, to, 2, 0); /* a duplicate does not go on */
    e->run(e, READ, gsa_at(TOKEN, 0), 2, 2, to, 0, 0); /* nor does step 2 */
    e->run(e, READ, gsa_at(TOKEN, 4), 2, 2, to, 0, 0);
    e->run(e, READ, gsa_at(RELAY, e->nodes(e, RELAY, 1)), 1, 1, to, 0, 0);
}

START_TEST(runs_that_go_on_are_joined)
{
    static const gsa_run expected[] = { { 0, 6, 1, 0, 0, TOKEN }, { 6, 2, 1, 1, 1, TOKEN },
                                        { 7, 1, 1, 2, 0, TOKEN }, { 0, 2, 2, 0, 0, TOKEN },
                                        { 4, 2, 2, 0, 0, TOKEN }, { 0, 1, 1, 0, 0, RELAY } };
    gsa_error error;
    gsa_schema *schema;
    gsa_instance *instance;
    gsa_edges e;
    const gsa_example example = gsa_toy_example(8, 0, 1);
    ck_assert_int_eq(build_with(describe, in_pieces, &example, NULL, &schema, &instance, &error),
                     GSA_OK);
    gsa_instance_edges(instance, READ, &e);
    ck_assert_int_eq(e.run_total, GSA_COUNT(expected));
    ck_assert_mem_eq(e.runs, expected, sizeof expected);
    gsa_instance_release(instance);
    gsa_schema_release(schema);
}
END_TEST

static void in_turns(const gsa_example *x, gsa_emitter *e)
{
    for (int i = 0; i < x->length; i++)
        for (int to = 1; to >= 0; to--) gsa_edge(e, READ, gsa_at(TOKEN, i), gsa_at(TOKEN, to), 0);
}

START_TEST(runs_that_meet_by_sorting_are_joined)
{
    gsa_error error;
    gsa_schema *schema;
    gsa_instance *instance;
    gsa_edges e;
    const gsa_example example = gsa_toy_example(8, 0, 1);
    ck_assert_int_eq(build_with(describe, in_turns, &example, NULL, &schema, &instance, &error),
                     GSA_OK);
    gsa_instance_edges(instance, READ, &e);
    ck_assert(e.run_total == 2 && e.edge_total == 16 && e.run_offset[1] == 1 &&
              e.run_offset[8] == 2);
    for (int r = 0; r < 2; r++)
        ck_assert(e.runs[r].first == 0 && e.runs[r].count == 8 && e.runs[r].step == 1);
    gsa_instance_release(instance);
    gsa_schema_release(schema);
}
END_TEST

/* ---- random: the views hold the naive list, in its order ----------------------------------- */

/* Number of differences between a phase's edges and the log's, row by row. */
static int64_t differences(const gsa_toy *toy, const gsa_instance *instance, int p)
{
    const gsa_phase *phase = &toy->phase[p];
    const int64_t scale = phase->per_head ? gsa_instance_heads(instance) : 1;
    int64_t wrong = 0, row = 0, seen = 0;
    gsa_edges e;
    gsa_instance_edges(instance, p, &e);
    int32_t *sources = malloc((size_t)e.edge_total * 4 + 4),
            *labels = malloc((size_t)e.edge_total * 4 + 4);
    int64_t part_first[GSA_MAX_KINDS];
    gsa_edges_expand(&e, sources, labels, part_first);
    for (int k = 0; k < toy->kinds; k++)
        for (int64_t i = 0;
             (phase->destinations >> k & 1) && i < gsa_instance_nodes(instance, k) * scale;
             i++, row++) {
            int64_t at = e.edge_offset[row];
            for (int64_t j = 0; j < toy->log->count; j++) {
                const gsa_toy_edge *edge = &toy->log->at[j];
                if (edge->phase != p || edge->to_kind != k || edge->to != i) continue;
                if (at == e.edge_offset[row + 1]) return free(sources), free(labels), 1;
                wrong += sources[at] != part_first[edge->from_kind] + edge->from ||
                         labels[at] != edge->label;
                at++, seen++;
            }
            wrong += at != e.edge_offset[row + 1];
        }
    free(sources), free(labels);
    return wrong + (row != e.rows) + (seen != e.edge_total);
}

START_TEST(random_emissions_are_kept)
{
    gsa_toy_log log = { 0 };
    int64_t wrong = 0, edges = 0, emitted = 0, runs = 0;
    static const int32_t lengths[] = { 0, 1, 2, 5, 11 };
    for (uint64_t seed = 0; seed < 400; seed++) {
        gsa_toy toy;
        gsa_schema *schema;
        gsa_toy_make(&toy, seed);
        toy.log = &log;
        ck_assert_int_eq(gsa_schema_create(NULL, &gsa_random_toy, &toy, &schema, NULL), GSA_OK);
        for (int i = 0; i < GSA_COUNT(lengths); i++) {
            gsa_instance *instance;
            gsa_error error = { GSA_OK, "" };
            const gsa_example example =
                gsa_toy_example(lengths[i], (int32_t)(seed % 4), (int32_t)(seed % 3) + 1);
            ck_assert_msg(gsa_instance_create(NULL, schema, &gsa_random_toy, &toy, &example, NULL,
                                              1, &instance, &error) == GSA_OK,
                          "seed %d: %s", (int)seed, error.text);
            for (int p = 0; p < toy.phases; p++) {
                gsa_edges e;
                gsa_instance_edges(instance, p, &e);
                wrong += gsa_edges_check(&e, toy.phase[p].name, NULL) != GSA_OK;
                wrong += differences(&toy, instance, p);
                edges += e.edge_total, runs += e.run_total;
            }
            emitted += log.count;
            wrong += lengths[i] > 0 && gsa_instance_place(instance, 0, 0).level != 0;
            gsa_instance_release(instance);
        }
        gsa_schema_release(schema);
    }
    free(log.at);
    ck_assert_int_eq(wrong, 0);
    ck_assert_int_eq(edges, emitted);
    ck_assert_int_gt(edges, 20000);
    ck_assert_int_lt(runs, edges / 2); /* some were joined */
}
END_TEST

/* ---- one schema, many threads -------------------------------------------------------------- */

typedef struct work {
    const gsa_schema *schema;
    const gsa_toy *toy;
    int64_t edges;
} work;

static void *build_many(void *context)
{
    work *w = context;
    for (int32_t n = 0; n < 60; n++) {
        gsa_instance *instance;
        const gsa_example example = gsa_toy_example(n, 3, 2);
        if (gsa_instance_create(NULL, w->schema, &gsa_random_toy, w->toy, &example, NULL, 0,
                                &instance, NULL) != GSA_OK)
            continue;
        for (int p = 0; p < w->toy->phases; p++) {
            gsa_edges e;
            gsa_instance_edges(instance, p, &e);
            w->edges += e.edge_total * (n + 1);
        }
        gsa_instance_release(instance);
    }
    return NULL;
}

START_TEST(threads_build_the_same)
{
    gsa_toy toy;
    gsa_schema *schema;
    pthread_t threads[4];
    work works[4];
    gsa_toy_make(&toy, 12);
    ck_assert_int_eq(gsa_schema_create(NULL, &gsa_random_toy, &toy, &schema, NULL), GSA_OK);
    for (int i = 0; i < 4; i++) {
        works[i] = (work){ schema, &toy, 0 };
        ck_assert_int_eq(pthread_create(&threads[i], NULL, build_many, &works[i]), 0);
    }
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++) ck_assert(works[i].edges == works[0].edges && works[i].edges > 0);
    gsa_schema_release(schema);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test refused[] = { GSA_LOOP(a_bad_call_has_its_sentence, GSA_COUNT(bad)),
                                        GSA_TEST(limits_hold),
                                        GSA_TEST(text_and_summary_are_asked_for),
                                        GSA_TEST(together_phases_write_other_rows) };
    static const gsa_test kept[] = { GSA_TEST(views_say_what_was_emitted),
                                     GSA_TEST(length_zero_is_a_pattern),
                                     GSA_TEST(runs_that_go_on_are_joined),
                                     GSA_TEST(runs_that_meet_by_sorting_are_joined),
                                     GSA_TEST(random_emissions_are_kept) };
    static const gsa_test threads[] = { GSA_TEST(threads_build_the_same) };
    static const gsa_case cases[] = { GSA_CASE("refused", refused, 30), GSA_CASE("kept", kept, 60),
                                      GSA_CASE("threads", threads, 60) };
    return gsa_run_suite("instance", cases, GSA_COUNT(cases), argc, argv);
}
