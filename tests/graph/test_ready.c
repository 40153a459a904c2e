/* Ready indices: random patterns against sets of tokens followed edge by edge, and the rules one by
 * one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/ready.h"
#include "support/faults.h"
#include "support/suite.h"
#include "support/toy.h"

enum { LAYERS = 3, NODES = 64 };

static gsa_instance *build(const gsa_topology *topology, const void *self,
                           const gsa_example *example, gsa_schema **schema)
{
    gsa_error error = { 0 };
    gsa_instance *x;
    ck_assert_msg(gsa_schema_create(NULL, topology, self, schema, &error) == GSA_OK, "%s",
                  error.text);
    ck_assert_msg(
        gsa_instance_create(NULL, *schema, topology, self, example, NULL, 0, &x, &error) == GSA_OK,
        "%s", error.text);
    return x;
}

static gsa_ready *follow(gsa_instance *x, int layers, const int32_t *const *start)
{
    gsa_error error = { 0 };
    gsa_ready *ready;
    ck_assert_msg(gsa_ready_create(NULL, x, layers, start, &ready, &error) == GSA_OK, "%s",
                  error.text);
    return ready;
}

/* ---- random: the set of tokens after each node, a bit a token ----------------------------- */

typedef struct sets {
    uint64_t of[6][NODES];
} sets;

static sets start_sets(const gsa_instance *x, const gsa_schema *schema)
{
    sets s = { 0 };
    for (int k = 0; k < gsa_schema_kinds(schema); k++)
        for (int64_t i = 0; i < gsa_instance_nodes(x, k); i++) {
            const int start = gsa_schema_kind(schema, k)->start;
            if (start == GSA_INPUT || start == GSA_COPY) s.of[k][i] = UINT64_C(1) << i;
            if (start == GSA_MEAN_INPUT) s.of[k][i] = (UINT64_C(1) << gsa_instance_length(x)) - 1;
        }
    return s;
}

static void run_phase(const gsa_instance *x, const gsa_schema *schema, const gsa_toy_log *log,
                      int p, sets *s)
{
    const gsa_phase *phase = gsa_schema_phase(schema, p);
    const sets old = *s;
    const int64_t heads = phase->per_head ? gsa_instance_heads(x) : 1;
    for (int k = 0; k < gsa_schema_kinds(schema); k++)
        for (int64_t i = 0; (phase->destinations >> k & 1) && i < gsa_instance_nodes(x, k); i++) {
            uint64_t read = 0;
            int edges = 0;
            for (int64_t e = 0; e < log->count; e++) {
                const gsa_toy_edge *edge = &log->at[e];
                if (edge->phase != p || edge->to_kind != k || edge->to / heads != i) continue;
                read |= old.of[edge->from_kind][edge->from / heads];
                edges++;
            }
            if (phase->aggregate == GSA_NONE) continue; /* pointwise: itself */
            if (edges == 0 && phase->empty == GSA_KEEP_EMPTY) continue;
            if (phase->update == GSA_SUBLAYER || (phase->aggregate == GSA_ATTEND && edges > 0))
                read |= old.of[k][i];
            s->of[k][i] = read;
        }
}

static int32_t latest(uint64_t set)
{
    int32_t at = -1;
    for (int32_t i = 0; i < 64; i++)
        if (set >> i & 1) at = i;
    return at;
}

static void compare(const gsa_ready *ready, const gsa_instance *x, const gsa_schema *schema,
                    int step, const sets *s)
{
    for (int k = 0; k < gsa_schema_kinds(schema); k++)
        for (int64_t i = 0; i < gsa_instance_nodes(x, k); i++)
            ck_assert_msg(gsa_ready_at(ready, step, k)[i] == latest(s->of[k][i]),
                          "step %d, kind %d, node %d: %d, expected %d", step, k, (int)i,
                          gsa_ready_at(ready, step, k)[i], latest(s->of[k][i]));
}

static void try_seed(int seed)
{
    gsa_toy toy;
    gsa_toy_log log = { 0 };
    gsa_schema *schema;
    gsa_toy_make(&toy, (uint64_t)seed + 1);
    toy.log = &log;
    const gsa_example example = gsa_toy_example(seed % 17, seed % 4, 1 + seed % 3);
    gsa_instance *x = build(&gsa_random_toy, &toy, &example, &schema);
    gsa_ready *ready = follow(x, LAYERS, NULL);
    sets s = start_sets(x, schema);
    int step = 0;
    for (int layer = -1; layer < LAYERS; layer++)
        for (int p = 0; p < gsa_schema_phases(schema); p++) {
            int phase, at;
            if ((gsa_schema_phase(schema, p)->when == GSA_ONCE) != (layer < 0)) continue;
            compare(ready, x, schema, step, &s);
            gsa_ready_step(ready, step++, &phase, &at);
            ck_assert_int_eq(phase, p);
            ck_assert_int_eq(at, layer);
            run_phase(x, schema, &log, p, &s);
        }
    compare(ready, x, schema, step, &s);
    ck_assert_int_eq(gsa_ready_steps(ready), step);
    gsa_ready_release(ready);
    gsa_instance_release(x);
    gsa_schema_release(schema);
    free(log.at);
}

START_TEST(random_patterns_agree_with_sets_of_tokens)
{
    for (int i = 0; i < 50; i++) try_seed(50 * _i + i);
}
END_TEST

static const gsa_test random_tests[] = { GSA_LOOP(random_patterns_agree_with_sets_of_tokens, 8) };

/* ---- rules --------------------------------------------------------------------------------- */

enum { TOKEN, RELAY, FIXED };

static void describe_rules(gsa_describer *d)
{
    gsa_phase phase = { .struct_size = sizeof phase,
                        .aggregate = GSA_ATTEND,
                        .update = GSA_SUBLAYER,
                        .sources = 7,
                        .destinations = 1 << TOKEN,
                        .name = "back" };
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    d->kind(d, &GSA_KIND(.start = GSA_ZERO, .name = "relay"));
    d->kind(d, &GSA_KIND(.start = GSA_MEMORY, .name = "fixed"));
    d->phase(d, &phase);
    phase.destinations = 1 << RELAY, phase.name = "up", phase.together = 1;
    d->phase(d, &phase);
    phase.aggregate = GSA_MEAN, phase.update = GSA_ASSIGN, phase.name = "forget",
    phase.together = 0;
    d->phase(d, &phase);
    d->sequence(d, TOKEN);
}

/* Token i reads i - 1; relay 0 reads token 2, relay 1 nothing; then relay 0 becomes the memory,
 * relay 1 keeps its state. */
static void emit_rules(const gsa_example *x, gsa_emitter *e)
{
    e->nodes(e, RELAY, 2);
    for (int64_t i = 1; i < x->length; i++)
        gsa_edge(e, 0, gsa_at(TOKEN, i - 1), gsa_at(TOKEN, i), 0);
    if (x->length > 2) gsa_edge(e, 1, gsa_at(TOKEN, 2), gsa_at(RELAY, 0), 0);
    if (x->memory_length > 0) gsa_edge(e, 2, gsa_at(FIXED, 0), gsa_at(RELAY, 0), 0);
}

START_TEST(together_residual_assign_and_keep)
{
    const gsa_script script = { describe_rules, emit_rules };
    const gsa_example example = gsa_toy_example(4, 1, 1);
    gsa_schema *schema;
    gsa_instance *x = build(&gsa_scripted, &script, &example, &schema);
    gsa_ready *ready = follow(x, 1, NULL);
    static const int32_t relay[4][2] = {
        { -1, -1 }, { -1, -1 }, { 2, -1 }, { -1, -1 }
    }; /* before each step, and at the end */
    ck_assert_int_eq(gsa_ready_steps(ready), 3);
    for (int s = 0; s <= 3; s++) {
        for (int i = 0; i < 2; i++) ck_assert_int_eq(gsa_ready_at(ready, s, RELAY)[i], relay[s][i]);
        for (int i = 0; i < 4; i++) ck_assert_int_eq(gsa_ready_at(ready, s, TOKEN)[i], i);
        ck_assert_int_eq(gsa_ready_at(ready, s, FIXED)[0], -1);
    }
    ck_assert_ptr_eq(gsa_ready_at(ready, 2, TOKEN),
                     gsa_ready_at(ready, 1, TOKEN)); /* a state that nothing wrote is shared */
    gsa_ready_release(ready);
    gsa_instance_release(x);
    gsa_schema_release(schema);
}
END_TEST

/* Relay 0 reads token 2 as it was before "back", together with it: with given starts 5, 0, 7, 0
 * that is 7, not more. */
START_TEST(a_segment_starts_where_the_one_before_ended)
{
    const gsa_script script = { describe_rules, emit_rules };
    const gsa_example example = gsa_toy_example(4, 0, 1);
    static const int32_t given[] = { 5, 9, 7, 0 };
    const int32_t *const start[] = { given, NULL, NULL };
    gsa_schema *schema;
    gsa_instance *x = build(&gsa_scripted, &script, &example, &schema);
    gsa_ready *ready = follow(x, 1, start);
    static const int32_t after[] = { 5, 9, 9, 7 };
    for (int i = 0; i < 4; i++) ck_assert_int_eq(gsa_ready_at(ready, 3, TOKEN)[i], after[i]);
    ck_assert_int_eq(gsa_ready_at(ready, 2, RELAY)[0], 7);
    gsa_ready_release(ready);
    gsa_instance_release(x);
    gsa_schema_release(schema);
}
END_TEST

START_TEST(no_tokens_and_no_layers)
{
    const gsa_script script = { describe_rules, emit_rules };
    const gsa_example example = gsa_toy_example(0, 0, 1);
    gsa_schema *schema;
    gsa_error error = { 0 };
    gsa_instance *x = build(&gsa_scripted, &script, &example, &schema);
    gsa_ready *ready = follow(x, 0, NULL);
    ck_assert_int_eq(gsa_ready_steps(ready), 0);
    ck_assert_int_eq(gsa_ready_at(ready, 0, RELAY)[1], -1);
    gsa_ready_release(ready);
    ck_assert_int_eq(gsa_ready_create(NULL, x, -1, NULL, &ready, &error), GSA_ERR_ARGUMENT);
    ck_assert_ptr_null(ready);
    ck_assert_int_eq(gsa_ready_create(NULL, x, INT32_MAX, NULL, &ready, &error), GSA_ERR_LIMIT);
    gsa_ready_release(NULL);
    gsa_instance_release(x);
    gsa_schema_release(schema);
}
END_TEST

static const gsa_test rule_tests[] = { GSA_TEST(together_residual_assign_and_keep),
                                       GSA_TEST(a_segment_starts_where_the_one_before_ended),
                                       GSA_TEST(no_tokens_and_no_layers) };

/* ---- faults -------------------------------------------------------------------------------- */

static gsa_status follow_under_faults(gsa_faults *faults, void *instance)
{
    gsa_ready *ready;
    const gsa_status status = gsa_ready_create(&faults->table, instance, 2, NULL, &ready, NULL);
    gsa_ready_release(ready);
    return status;
}

START_TEST(memory_may_fail_anywhere)
{
    const gsa_script script = { describe_rules, emit_rules };
    const gsa_example example = gsa_toy_example(5, 1, 1);
    gsa_schema *schema;
    gsa_instance *x = build(&gsa_scripted, &script, &example, &schema);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, follow_under_faults, x), 8);
    gsa_instance_release(x);
    gsa_schema_release(schema);
}
END_TEST

static const gsa_test fault_tests[] = { GSA_TEST(memory_may_fail_anywhere) };

int main(int argc, char **argv)
{
    static const gsa_case cases[] = { GSA_CASE("random", random_tests, 30),
                                      GSA_CASE("rules", rule_tests, 30),
                                      GSA_CASE("faults", fault_tests, 30) };
    return gsa_run_suite("ready", cases, GSA_COUNT(cases), argc, argv);
}
