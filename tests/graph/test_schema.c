/* Descriptions, good and bad: each broken law with the words that its sentence must hold. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "graph/schema.h"
#include "support/suite.h"
#include "support/toy.h"
#undef fail /* an old macro of Check; here it is a member of the describer */

static int kind(gsa_describer *d, const char *name, int32_t start, int32_t learned)
{
    return d->kind(d, &GSA_KIND(.start = start, .learned = learned, .name = name));
}

static gsa_phase phase_of(const char *name, int32_t aggregate, int32_t update, uint64_t from,
                          uint64_t to)
{
    return (gsa_phase){ .struct_size = sizeof(gsa_phase),
                        .aggregate = aggregate,
                        .update = update,
                        .sources = from,
                        .destinations = to,
                        .name = name };
}

static void attend(gsa_describer *d, const char *name, uint64_t from, uint64_t to)
{
    const gsa_phase x = phase_of(name, GSA_ATTEND, GSA_SUBLAYER, from, to);
    d->phase(d, &x);
}

/* Kinds and phases that are right as they are; each bad description adds its fault. */
static void sound(gsa_describer *d)
{
    kind(d, "token", GSA_INPUT, 0);
    kind(d, "relay", GSA_ZERO, 0);
    kind(d, "copy", GSA_COPY, 0);
    kind(d, "memory", GSA_MEMORY, 0);
    attend(d, "read", 0xf, 0x1);
    d->sequence(d, 0);
}

#define BAD(name, body)                                                                            \
    static void name(gsa_describer *d)                                                             \
    {                                                                                              \
        body                                                                                       \
    }
/* Adds one phase, written as changes to a sound one. */
#define BAD_PHASE(name, changes)                                                                   \
    static void name(gsa_describer *d)                                                             \
    {                                                                                              \
        gsa_phase x = phase_of("extra", GSA_ATTEND, GSA_SUBLAYER, 0x1, 0x2);                       \
        sound(d);                                                                                  \
        changes d->phase(d, &x);                                                                   \
    }

BAD(no_kinds, d->sequence(d, 0); attend(d, "read", 1, 1);)
BAD(no_phases, kind(d, "token", GSA_INPUT, 0); d->sequence(d, 0);)
BAD(no_sequence, kind(d, "token", GSA_INPUT, 0); attend(d, "read", 1, 1);)
BAD(far_sequence, kind(d, "token", GSA_INPUT, 0); attend(d, "read", 1, 1); d->sequence(d, 3);)
BAD(negative_sequence, kind(d, "token", GSA_INPUT, 0); attend(d, "read", 1, 1); d->sequence(d, -1);)
BAD(two_sequences, sound(d); d->sequence(d, 1);)
BAD(zero_sequence, kind(d, "token", GSA_ZERO, 0); attend(d, "read", 1, 1); d->sequence(d, 0);)
BAD(
    many_kinds, for (int i = 0; i < 65; i++) {
        char name[8];
        snprintf(name, sizeof name, "k%d", i);
        kind(d, name, GSA_INPUT, 0);
    })
BAD(
    many_phases, kind(d, "token", GSA_INPUT, 0); for (int i = 0; i < 65; i++) {
        char name[8];
        snprintf(name, sizeof name, "p%d", i);
        attend(d, name, 1, 1);
    })
BAD(kind_size, d->kind(d, &(gsa_kind){ .struct_size = 8, .name = "token" });)
BAD(kind_zero, d->kind(d, &(gsa_kind){ sizeof(gsa_kind), 0, 0, 9, "token" });)
BAD(kind_nameless, kind(d, NULL, GSA_INPUT, 0); attend(d, "read", 1, 1); d->sequence(d, 0);)
BAD(kind_name_empty, sound(d); kind(d, "", GSA_INPUT, 0);)
BAD(kind_name_capital, sound(d); kind(d, "Word", GSA_INPUT, 0);)
BAD(kind_name_digit, sound(d); kind(d, "2nd", GSA_INPUT, 0);)
BAD(kind_name_space, sound(d); kind(d, "a word", GSA_INPUT, 0);)
BAD(kind_name_twice, sound(d); kind(d, "relay", GSA_INPUT, 0);)
BAD(kind_start, sound(d); kind(d, "extra", 6, 0);)
BAD(kind_start_negative, sound(d); kind(d, "extra", -1, 0);)
BAD(kind_learned_negative, sound(d); kind(d, "extra", GSA_ZERO, -2);)
BAD(copy_learned, sound(d); kind(d, "extra", GSA_COPY, 3);)
BAD(memory_learned, sound(d); kind(d, "extra", GSA_MEMORY, 3);)
BAD(by_phase_alone, sound(d); kind(d, "word", GSA_BY_PHASE, 0); attend(d, "write", 1, 1 << 4);)
BAD(summary_kind, sound(d); d->summary(d, 4, GSA_MEAN_OF, 1);)
BAD(summary_pool, sound(d); d->summary(d, 0, 3, 1);)
BAD(summary_nan, sound(d); d->summary(d, 0, GSA_MEAN_OF, NAN);)
BAD(summary_infinite, sound(d); d->summary(d, 0, GSA_MEAN_OF, INFINITY);)
BAD(many_summaries, sound(d); for (int i = 0; i < 65; i++) d->summary(d, 0, GSA_MEAN_OF, 1);)
BAD(promise_flags, sound(d); d->promise(d, 1u << 20, GSA_LINEAR_EDGES);)
BAD(promise_growth, sound(d); d->promise(d, 0, 4);)
BAD(promise_both, sound(d); d->promise(d, GSA_BY_LENGTH | GSA_NEEDS_TEXT, 0);)
BAD(own_failure, sound(d); d->fail(d, "the moon is wrong");)
BAD(failure_first, d->fail(d, "the first counts"); d->fail(d, "the second does not");)
BAD(sticky, d->kind(d, &(gsa_kind){ .struct_size = 1 }); sound(d);)

BAD_PHASE(phase_size, x.struct_size = 4;)
BAD_PHASE(phase_size_huge, x.struct_size = 1u << 30;)
BAD_PHASE(phase_zero, x.zero = 1;)
BAD_PHASE(phase_nameless, x.name = NULL;)
BAD_PHASE(phase_name_bad, x.name = "a-b";)
BAD_PHASE(phase_name_twice, x.name = "read";)
BAD_PHASE(phase_when, x.when = 2;)
BAD_PHASE(phase_aggregate, x.aggregate = 4;)
BAD_PHASE(phase_update, x.update = 6;)
BAD_PHASE(phase_empty, x.empty = 3;)
BAD_PHASE(phase_label_use, x.label_use = 3;)
BAD_PHASE(phase_labels, x.labels = -1;)
BAD_PHASE(phase_per_head, x.per_head = 2;)
BAD_PHASE(phase_together, x.together = -1;)
BAD_PHASE(phase_weights, x.weights = "W";)
BAD_PHASE(sources_beyond, x.sources = 1 << 4;)
BAD_PHASE(destinations_beyond, x.destinations = UINT64_C(1) << 63;)
BAD_PHASE(no_destinations, x.destinations = 0;)
BAD_PHASE(no_sources, x.sources = 0;)
BAD_PHASE(copy_written, x.destinations = 1 << 2;)
BAD_PHASE(memory_written, x.destinations = 1 << 3;)
BAD_PHASE(none_with_sources, x.aggregate = GSA_NONE;)
BAD_PHASE(ffn_with_edges, x.update = GSA_FFN;)
BAD_PHASE(none_per_head, x.aggregate = GSA_NONE; x.sources = 0; x.per_head = 1;)
BAD_PHASE(none_labelled, x.aggregate = GSA_NONE; x.sources = 0; x.labels = 2;)
BAD_PHASE(none_keeps, x.aggregate = GSA_NONE; x.sources = 0; x.empty = GSA_KEEP_EMPTY;)
BAD_PHASE(sum_learns_labels, x.aggregate = GSA_SUM; x.label_use = GSA_KEY_VECTORS;)
BAD_PHASE(mean_learns_labels, x.aggregate = GSA_MEAN; x.label_use = GSA_HEAD_BIAS;)
BAD_PHASE(once_writes_zero, x.when = GSA_ONCE;)
BAD_PHASE(together_loud, x.together = 1; x.destinations = 1; x.empty = GSA_KEEP_EMPTY;)
BAD(together_first, kind(d, "token", GSA_INPUT, 0);
    gsa_phase x = phase_of("one", GSA_ATTEND, GSA_SUBLAYER, 1, 1); x.together = 1; d->phase(d, &x);
    d->sequence(d, 0);)
BAD(together_first_once, sound(d); kind(d, "word", GSA_BY_PHASE, 0);
    gsa_phase x = phase_of("one", GSA_MEAN, GSA_ASSIGN, 1, 1 << 4); x.together = 1;
    x.when = GSA_ONCE; d->phase(d, &x);)

static void shared(gsa_describer *d, gsa_phase second)
{
    sound(d);
    gsa_phase first = phase_of("first", GSA_ATTEND, GSA_SUBLAYER, 1, 2);
    first.weights = second.weights = "both";
    first.labels = 2;
    second.name = "second";
    if (second.labels == 0) second.labels = 2;
    d->phase(d, &first);
    d->phase(d, &second);
}
#define BAD_SHARED(name, changes)                                                                  \
    static void name(gsa_describer *d)                                                             \
    {                                                                                              \
        gsa_phase x = phase_of("second", GSA_ATTEND, GSA_SUBLAYER, 1, 2);                          \
        changes shared(d, x);                                                                      \
    }
BAD_SHARED(shared_aggregate, x.aggregate = GSA_SUM;)
BAD_SHARED(shared_update, x.update = GSA_NORM;)
BAD_SHARED(shared_labels, x.labels = 3;)
BAD_SHARED(shared_label_use, x.label_use = GSA_HEAD_BIAS;)
BAD_SHARED(shared_per_head, x.per_head = 1;)

static void shared_when(gsa_describer *d)
{
    sound(d);
    kind(d, "word", GSA_BY_PHASE, 0);
    gsa_phase x = phase_of("first", GSA_MEAN, GSA_ASSIGN, 1, 1 << 4);
    x.weights = "both";
    d->phase(d, &x);
    x.name = "start", x.when = GSA_ONCE;
    d->phase(d, &x);
}

typedef struct longer {
    gsa_phase phase;
    int32_t news[4];
} longer;

static void newer_plugin(gsa_describer *d)
{
    longer x = { phase_of("extra", GSA_ATTEND, GSA_SUBLAYER, 1, 2), { 0, 0, 5, 0 } };
    sound(d);
    x.phase.struct_size = sizeof x;
    d->phase(d, &x.phase);
}

static const struct {
    void (*describe)(gsa_describer *);
    const char *says, *where; /* both must be in the sentence */
} bad[] = {
    { no_kinds, "no kinds", "" },
    { no_phases, "no phases", "" },
    { no_sequence, "no sequence", "" },
    { far_sequence, "sequence kind is 3", "expected 0 to 0" },
    { negative_sequence, "sequence kind is -1", "" },
    { two_sequences, "two sequence kinds, 0 and 1", "" },
    { zero_sequence, "expected input", "kind 'token'" },
    { many_kinds, "more than 64 kinds", "" },
    { many_phases, "more than 64 phases", "" },
    { kind_size, "struct_size is 8", "kind 0" },
    { kind_zero, "zero is 9", "kind 0" },
    { kind_nameless, "no name", "kind 0" },
    { kind_name_empty, "does not match", "kind ''" },
    { kind_name_capital, "does not match", "kind 'Word'" },
    { kind_name_digit, "does not match", "kind '2nd'" },
    { kind_name_space, "does not match", "kind 'a word'" },
    { kind_name_twice, "kinds 1 and 4", "kind 'relay'" },
    { kind_start, "start is 6", "kind 'extra'" },
    { kind_start_negative, "start is -1", "kind 'extra'" },
    { kind_learned_negative, "learned is -2", "kind 'extra'" },
    { copy_learned, "learned is 3", "kind 'extra'" },
    { memory_learned, "learned is 3", "kind 'extra'" },
    { by_phase_alone, "no once-phase", "kind 'word'" },
    { summary_kind, "kind 4", "summary 0" },
    { summary_pool, "pool 3", "summary 0" },
    { summary_nan, "not finite", "summary 0" },
    { summary_infinite, "not finite", "summary 0" },
    { many_summaries, "more than 64 summary", "" },
    { promise_flags, "0x100000", "promise" },
    { promise_growth, "growth is 4", "promise" },
    { promise_both, "need text", "promise" },
    { own_failure, "the moon is wrong", "" },
    { failure_first, "the first counts", "" },
    { sticky, "struct_size is 1", "kind 0" },
    { phase_size, "struct_size is 4", "phase 1" },
    { phase_size_huge, "struct_size is 1073741824", "phase 1" },
    { newer_plugin, "this ABI does not know", "phase 1" },
    { phase_zero, "zero is 1", "phase 1" },
    { phase_nameless, "no name", "phase 1" },
    { phase_name_bad, "does not match", "phase 'a-b'" },
    { phase_name_twice, "phases 0 and 1", "phase 'read'" },
    { phase_when, "when is 2", "phase 'extra'" },
    { phase_aggregate, "aggregate is 4", "phase 'extra'" },
    { phase_update, "update is 6", "phase 'extra'" },
    { phase_empty, "empty is 3", "phase 'extra'" },
    { phase_label_use, "label_use is 3", "phase 'extra'" },
    { phase_labels, "labels is -1", "phase 'extra'" },
    { phase_per_head, "per_head is 2", "phase 'extra'" },
    { phase_together, "together is -1", "phase 'extra'" },
    { phase_weights, "weights is 'W'", "phase 'extra'" },
    { sources_beyond, "sources 0x10", "phase 'extra'" },
    { destinations_beyond, "destinations 0x8000000000000000", "phase 'extra'" },
    { no_destinations, "no destinations", "phase 'extra'" },
    { no_sources, "no sources", "phase 'extra'" },
    { copy_written, "a copy is never written", "'copy'" },
    { memory_written, "a memory is never written", "'memory'" },
    { none_with_sources, "without edges has none", "phase 'extra'" },
    { ffn_with_edges, "FFN, which needs aggregate NONE", "phase 'extra'" },
    { none_per_head, "per_head is 1", "phase 'extra'" },
    { none_labelled, "labels is 2", "phase 'extra'" },
    { none_keeps, "empty is keep", "phase 'extra'" },
    { sum_learns_labels, "learned only by ATTEND", "phase 'extra'" },
    { mean_learns_labels, "learned only by ATTEND", "phase 'extra'" },
    { once_writes_zero, "once-phase writes kind 'relay'", "phase 'extra'" },
    { together_first, "no phase of a layer", "phase 'one'" },
    { together_first_once, "no once-phase is before", "phase 'one'" },
    { together_loud, "'read' must keep", "phase 'extra'" },
    { shared_aggregate, "differs in aggregate", "phase 'second'" },
    { shared_update, "differs in update", "phase 'second'" },
    { shared_labels, "differs in labels", "phase 'second'" },
    { shared_label_use, "differs in label_use", "phase 'second'" },
    { shared_per_head, "differs in per_head", "phase 'second'" },
    { shared_when, "differs in when", "phase 'start'" },
};

static gsa_status make(void (*describe)(gsa_describer *), gsa_schema **schema, gsa_error *error)
{
    const gsa_script script = { describe, NULL };
    return gsa_schema_create(NULL, &gsa_scripted, &script, schema, error);
}

START_TEST(a_bad_description_has_its_sentence)
{
    gsa_error error = { GSA_OK, "" };
    gsa_schema *schema;
    ck_assert_msg(make(bad[_i].describe, &schema, &error) == GSA_ERR_PLUGIN, "row %d passed: %s",
                  _i, bad[_i].says);
    ck_assert_ptr_null(schema);
    ck_assert_msg(strstr(error.text, bad[_i].says) && strstr(error.text, bad[_i].where) &&
                      strstr(error.text, "'scripted'"),
                  "row %d: '%s' lacks '%s' or '%s'", _i, error.text, bad[_i].says, bad[_i].where);
}
END_TEST

START_TEST(a_topology_without_its_parts_is_refused)
{
    gsa_topology topology = gsa_scripted;
    gsa_schema *schema;
    const gsa_script script = { sound, NULL };
    static const char *const ids[] = { NULL, "", "Star", "a b" };
    for (int i = 0; i < GSA_COUNT(ids); i++) {
        topology.id = ids[i];
        ck_assert_int_eq(gsa_schema_create(NULL, &topology, &script, &schema, NULL),
                         GSA_ERR_PLUGIN);
    }
    topology = gsa_scripted, topology.describe = NULL;
    ck_assert_int_eq(gsa_schema_create(NULL, &topology, &script, &schema, NULL), GSA_ERR_PLUGIN);
    topology = gsa_scripted, topology.emit = NULL;
    ck_assert_int_eq(gsa_schema_create(NULL, &topology, &script, &schema, NULL), GSA_ERR_PLUGIN);
}
END_TEST

/* ---- good ---------------------------------------------------------------------------------- */

static void rich(gsa_describer *d)
{
    char name[16] = "token"; /* names are copied: this buffer is reused */
    ck_assert_int_eq(kind(d, name, GSA_INPUT, 0), 0);
    strcpy(name, "relay");
    ck_assert_int_eq(kind(d, name, GSA_MEAN_INPUT, 4), 1);
    strcpy(name, "word");
    ck_assert_int_eq(kind(d, name, GSA_BY_PHASE, 0), 2);
    gsa_phase x = phase_of("read", GSA_ATTEND, GSA_SUBLAYER, 7, 1);
    ck_assert_int_eq(d->phase(d, &x), 0);
    x = phase_of("relay", GSA_ATTEND, GSA_RELU_NORM, 1, 2), x.together = 1, x.labels = 5,
    x.weights = "both";
    ck_assert_int_eq(d->phase(d, &x), 1);
    x.name = "relay2", x.together = 1; /* shares its kind with the one before, and both keep */
    ck_assert_int_eq(d->phase(d, &x), 2);
    x = phase_of("start", GSA_MEAN, GSA_ASSIGN, 1, 4), x.when = GSA_ONCE,
    x.empty = GSA_UPDATE_EMPTY;
    ck_assert_int_eq(d->phase(d, &x), 3);
    longer y = { phase_of("ffn", GSA_NONE, GSA_FFN, 0, 1), { 0 } };
    y.phase.struct_size = sizeof y;
    ck_assert_int_eq(d->phase(d, &y.phase), 4);
    memset(name, 'X', sizeof name);
    d->sequence(d, 0);
    d->summary(d, 1, GSA_MAX_OF, 0.5);
    d->summary(d, 0, GSA_SUMMARY_NODE, -1);
    d->promise(d, GSA_BY_LENGTH | GSA_CAUSAL, GSA_NLOGN_EDGES);
}

START_TEST(what_was_described_is_kept)
{
    gsa_error error = { GSA_OK, "" };
    gsa_schema *s;
    ck_assert_msg(make(rich, &s, &error) == GSA_OK, "%s", error.text);
    ck_assert_str_eq(gsa_schema_topology(s), "scripted");
    ck_assert_int_eq(gsa_schema_kinds(s), 3);
    ck_assert_int_eq(gsa_schema_phases(s), 5);
    ck_assert_int_eq(gsa_schema_find_kind(s, "word"), 2);
    ck_assert_int_eq(gsa_schema_find_kind(s, "wor"), -1);
    ck_assert_int_eq(gsa_schema_kind(s, 1)->learned, 4);
    ck_assert_int_eq(gsa_schema_sequence(s), 0);
    static const struct {
        const char *name, *weights;
        int32_t labels, empty;
    } phases[] = { { "read", NULL, 1, GSA_UPDATE_EMPTY },
                   { "relay", "both", 5, GSA_KEEP_EMPTY },
                   { "relay2", "both", 5, GSA_KEEP_EMPTY },
                   { "start", NULL, 1, GSA_UPDATE_EMPTY },
                   { "ffn", NULL, 1, GSA_UPDATE_EMPTY } };
    for (int p = 0; p < 5; p++) {
        const gsa_phase *x = gsa_schema_phase(s, p);
        ck_assert_str_eq(x->name, phases[p].name);
        if (phases[p].weights) ck_assert_str_eq(x->weights, phases[p].weights);
        else ck_assert_ptr_null(x->weights);
        ck_assert_int_eq(x->labels, phases[p].labels);
        ck_assert_int_eq(x->empty, phases[p].empty);
        ck_assert_int_eq(x->struct_size, sizeof(gsa_phase));
    }
    int kinds, pool;
    double weight;
    ck_assert_int_eq(gsa_schema_summaries(s), 2);
    gsa_schema_summary(s, 1, &kinds, &pool, &weight);
    ck_assert(kinds == 0 && pool == GSA_SUMMARY_NODE && weight == -1);
    ck_assert_int_eq(gsa_schema_flags(s), GSA_BY_LENGTH | GSA_CAUSAL);
    ck_assert_int_eq(gsa_schema_growth(s), GSA_NLOGN_EDGES);
    gsa_schema_release(s);
    gsa_schema_release(NULL);
}
END_TEST

/* A loud once-phase between two quiet ones of a group is not of the group, though it writes the
 * same kind. */
static void apart(gsa_describer *d)
{
    kind(d, "token", GSA_INPUT, 0);
    kind(d, "word", GSA_BY_PHASE, 0);
    gsa_phase x = phase_of("one", GSA_ATTEND, GSA_NORM, 1, 2);
    d->phase(d, &x);
    gsa_phase once = phase_of("start", GSA_MEAN, GSA_ASSIGN, 1, 2);
    once.when = GSA_ONCE, once.empty = GSA_UPDATE_EMPTY;
    d->phase(d, &once);
    x.name = "two", x.together = 1;
    d->phase(d, &x);
    d->sequence(d, 0);
}

START_TEST(groups_are_of_one_when)
{
    gsa_schema *s;
    gsa_error error = { GSA_OK, "" };
    ck_assert_msg(make(apart, &s, &error) == GSA_OK, "%s", error.text);
    gsa_schema_release(s);
}
END_TEST

static void widest(gsa_describer *d)
{
    char name[8];
    for (int i = 0; i < 64; i++) snprintf(name, sizeof name, "k%d", i), kind(d, name, GSA_INPUT, 0);
    for (int i = 0; i < 64; i++) {
        snprintf(name, sizeof name, "p%d", i);
        gsa_phase x = phase_of(name, GSA_ATTEND, GSA_SUBLAYER, UINT64_MAX, UINT64_MAX);
        x.weights = "all";
        d->phase(d, &x);
    }
    d->sequence(d, 63);
}

START_TEST(sixty_four_of_each_fit)
{
    gsa_schema *s;
    gsa_error error = { GSA_OK, "" };
    ck_assert_msg(make(widest, &s, &error) == GSA_OK, "%s", error.text);
    ck_assert(gsa_schema_phase(s, 63)->sources == UINT64_MAX);
    gsa_schema_release(s);
}
END_TEST

START_TEST(random_descriptions_pass)
{
    for (uint64_t seed = 0; seed < 1000; seed++) {
        gsa_toy toy;
        gsa_schema *s;
        gsa_error error = { GSA_OK, "" };
        gsa_toy_make(&toy, seed);
        ck_assert_msg(gsa_schema_create(NULL, &gsa_random_toy, &toy, &s, &error) == GSA_OK,
                      "seed %d: %s", (int)seed, error.text);
        gsa_schema_release(s);
    }
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test refused[] = { GSA_LOOP(a_bad_description_has_its_sentence,
                                                 GSA_COUNT(bad)),
                                        GSA_TEST(a_topology_without_its_parts_is_refused) };
    static const gsa_test kept[] = { GSA_TEST(what_was_described_is_kept),
                                     GSA_TEST(groups_are_of_one_when),
                                     GSA_TEST(sixty_four_of_each_fit),
                                     GSA_TEST(random_descriptions_pass) };
    static const gsa_case cases[] = { GSA_CASE("refused", refused, 30),
                                      GSA_CASE("kept", kept, 30) };
    return gsa_run_suite("schema", cases, GSA_COUNT(cases), argc, argv);
}
