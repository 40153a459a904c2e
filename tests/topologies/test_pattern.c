/* The registry and the pattern: order, origins, canonical text, the host table, and memory that
 * runs out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "probe.h"
#include "support/faults.h"
#include "support/suite.h"
#include "topologies/builtin.h"
#include "topologies/pattern.h"
#include "topologies/spec.h"

static gsa_registry *probe_registry(const gsa_system *system)
{
    gsa_registry *registry;
    gsa_error error = { 0 };
    ck_assert_msg(gsa_registry_create(system, &registry, &error) == GSA_OK, "%s", error.text);
    ck_assert_msg(gsa_registry_add(registry, &probe, &error) == GSA_OK, "%s", error.text);
    return registry;
}

static gsa_pattern *pattern_of(const gsa_registry *registry, const char *id,
                               const gsa_setting *settings, int count)
{
    gsa_pattern *pattern;
    gsa_error error = { 0 };
    ck_assert_msg(gsa_pattern_create(registry, id, settings, count, &pattern, &error) == GSA_OK,
                  "%s", error.text);
    return pattern;
}

START_TEST(the_registry_is_ordered_and_says_where_from)
{
    gsa_registry *registry = probe_registry(NULL);
    int builtin = 0;
    while (gsa_builtin[builtin]) builtin++;
    ck_assert_int_eq(gsa_registry_count(registry), builtin + 1);
    for (int i = 0; i <= builtin; i++) {
        const char *id = gsa_registry_at(registry, i)->id;
        if (i > 0) ck_assert_int_lt(strcmp(gsa_registry_at(registry, i - 1)->id, id), 0);
        ck_assert_str_eq(gsa_registry_origin(registry, i),
                         strcmp(id, "probe") == 0 ? "this program" : "built-in");
        ck_assert_ptr_eq(gsa_registry_find(registry, id, NULL), gsa_registry_at(registry, i));
    }
    for (int i = 0; i < builtin; i++)
        ck_assert_ptr_eq(gsa_registry_find(registry, gsa_builtin[i]->id, NULL), gsa_builtin[i]);
    for (int i = -1; i <= builtin + 1; i += builtin + 2) {
        ck_assert_ptr_null(gsa_registry_at(registry, i));
        ck_assert_ptr_null(gsa_registry_origin(registry, i));
    }
    ck_assert_ptr_null(gsa_topology_param(&probe, PROBE_PARAMS));
    gsa_registry_release(registry);
    gsa_registry_release(NULL);
}
END_TEST

START_TEST(a_wider_stride_finds_its_parameters)
{
    struct wide {
        gsa_param param;
        double more[3];
    };
    static const struct wide params[] = {
        { { "first", GSA_INT, 0, 0, 9, NULL, "4", "one" }, { 1, 2, 3 } },
        { { "second", GSA_BOOL, 0, 0, 1, NULL, "1", "two" }, { 4, 5, 6 } }
    };
    gsa_topology wide = probe;
    wide.id = "wide", wide.params = &params[0].param, wide.n_params = 2,
    wide.param_stride = sizeof(struct wide);
    wide.create = NULL, wide.destroy = NULL;
    gsa_registry *registry = probe_registry(NULL);
    gsa_error error = { 0 };
    ck_assert_msg(gsa_registry_add(registry, &wide, &error) == GSA_OK, "%s", error.text);
    ck_assert_str_eq(gsa_topology_param(&wide, 1)->name, "second");
    gsa_pattern *pattern = pattern_of(registry, "wide", &(gsa_setting){ "second", "0" }, 1);
    ck_assert_str_eq(gsa_pattern_text(pattern), "wide:second=0");
    const gsa_value *values = gsa_pattern_self(pattern); /* without create, self is the values */
    ck_assert_int_eq(values[0].i, 4);
    gsa_pattern_release(pattern);
    gsa_registry_release(registry);
}
END_TEST

static const struct {
    gsa_setting settings[4];
    int count;
    const char *text;
} canonical[] = {
    { { { NULL, NULL } }, 0, "probe" },
    { { { "int", "2" } }, 1, "probe" },
    { { { "int", "+02" }, { "real", "5e-1" }, { "choice", "circular" } }, 3, "probe" },
    { { { "real", "0.25" }, { "int", "3" } }, 2, "probe:int=3:real=0.25" },
    { { { "choice", "clamp" }, { "bool", "0" } }, 2, "probe:bool=0:choice=clamp" },
    { { { "path", "/a/very/long/path/to/some/file.txt" }, { "wide", "-7" } },
      2,
      "probe:wide=-7:path=/a/very/long/path/to/some/file.txt" },
};

START_TEST(canonical_text_names_what_differs_in_declared_order)
{
    gsa_registry *registry = probe_registry(NULL);
    gsa_pattern *pattern =
        pattern_of(registry, "probe", canonical[_i].settings, canonical[_i].count);
    char small[8];
    ck_assert_str_eq(gsa_pattern_text(pattern), canonical[_i].text);
    ck_assert_int_eq(gsa_pattern_value(pattern, PROBE_CHOICE, small, sizeof small),
                     _i == 4 ? 5 : 8);
    ck_assert_str_eq(small, _i == 4 ? "clamp" : "circula");
    ck_assert_int_eq(gsa_pattern_value(pattern, 99, small, sizeof small), 0);
    ck_assert_str_eq(small, "");
    gsa_pattern_release(pattern);
    gsa_registry_release(registry);
}
END_TEST

static const struct {
    const char *mode;
    gsa_status status;
    const char *sentence;
} failures[] = {
    { "fail", GSA_ERR_ARGUMENT, "topology 'probe': int and wide do not fit" },
    { "fail_twice", GSA_ERR_ARGUMENT, "topology 'probe': the first sentence" },
    { "silent", GSA_ERR_PLUGIN, "topology 'probe': create returned -5 without a sentence" },
    { "fail_return_0", GSA_ERR_ARGUMENT, "topology 'probe': failed, but returned 0" },
    { "fail_early", GSA_ERR_ARGUMENT, "topology 'probe': before anything was made" },
    { "hog", GSA_ERR_MEMORY, "topology 'probe': out of memory in create" },
    { "mute", GSA_ERR_ARGUMENT, "topology 'probe': create failed with an empty sentence" },
};

START_TEST(what_create_refuses_is_one_sentence_and_destroyed)
{
    gsa_registry *registry = probe_registry(NULL);
    int64_t alive = 0, *counter = &alive;
    gsa_error error = { 0 };
    gsa_pattern *pattern;
    ck_assert_int_eq(gsa_registry_offer(registry, "test.count/1", &counter, &error), GSA_OK);
    ck_assert_int_eq(gsa_pattern_create(registry, "probe",
                                        &(gsa_setting){ "mode", failures[_i].mode }, 1, &pattern,
                                        &error),
                     failures[_i].status);
    ck_assert_str_eq(error.text, failures[_i].sentence);
    ck_assert_int_eq(error.status, failures[_i].status);
    ck_assert_ptr_null(pattern);
    ck_assert_int_eq(alive, 0);
    gsa_registry_release(registry);
}
END_TEST

START_TEST(services_are_offered_replaced_and_found)
{
    static const char one[] = "one", two[] = "two";
    gsa_registry *registry = probe_registry(NULL);
    gsa_error error = { 0 };
    gsa_pattern *without = pattern_of(registry, "probe", NULL, 0);
    char id[] = "test.words/1";
    ck_assert_int_eq(gsa_registry_offer(registry, id, one, &error), GSA_OK);
    ck_assert_int_eq(gsa_registry_offer(registry, "test.other/1", two, &error), GSA_OK);
    id[0] = 'X'; /* it was copied */
    gsa_pattern *first = pattern_of(registry, "probe", NULL, 0);
    ck_assert_int_eq(gsa_registry_offer(registry, "test.words/1", two, &error), GSA_OK);
    gsa_pattern *second = pattern_of(registry, "probe", NULL, 0);
    ck_assert_ptr_null(((const probe_state *)gsa_pattern_self(without))->service);
    ck_assert_ptr_eq(((const probe_state *)gsa_pattern_self(first))->service, one);
    ck_assert_ptr_eq(((const probe_state *)gsa_pattern_self(second))->service, two);
    ck_assert_int_eq(gsa_registry_offer(registry, "", one, &error), GSA_ERR_ARGUMENT);
    ck_assert_int_eq(gsa_registry_offer(registry, NULL, one, &error), GSA_ERR_ARGUMENT);
    gsa_pattern_release(without);
    gsa_pattern_release(first);
    gsa_pattern_release(second);
    gsa_registry_release(registry);
}
END_TEST

START_TEST(the_last_reference_destroys)
{
    gsa_registry *registry = probe_registry(NULL);
    int64_t alive = 0, *counter = &alive;
    ck_assert_int_eq(gsa_registry_offer(registry, "test.count/1", &counter, NULL), GSA_OK);
    gsa_pattern *pattern = pattern_of(registry, "probe", NULL, 0);
    ck_assert_int_eq(alive, 1);
    ck_assert_ptr_eq(gsa_pattern_retain(pattern), pattern);
    gsa_pattern_release(pattern);
    ck_assert_int_eq(alive, 1);
    ck_assert_ptr_eq(gsa_pattern_topology(pattern), &probe);
    gsa_pattern_release(pattern);
    ck_assert_int_eq(alive, 0);
    gsa_pattern_release(NULL);
    gsa_registry_release(registry);
}
END_TEST

START_TEST(instances_come_through_the_cache_unless_places_are_wanted)
{
    gsa_registry *registry = probe_registry(NULL);
    gsa_pattern *pattern = pattern_of(registry, "probe", NULL, 0);
    gsa_cache *cache;
    gsa_instance *at[3];
    const gsa_example example = { .struct_size = sizeof example, .length = 5, .heads = 2 };
    ck_assert_int_eq(gsa_cache_create(NULL, 1 << 20, &cache, NULL), GSA_OK);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(gsa_pattern_instance(pattern, cache, &example, NULL, i == 2, &at[i], NULL),
                         GSA_OK);
    ck_assert_ptr_eq(at[0], at[1]);
    ck_assert_ptr_ne(at[0], at[2]);
    ck_assert_int_eq(gsa_instance_place(at[0], 0, 4).level, -1);
    ck_assert_int_eq(gsa_instance_place(at[2], 0, 4).level, 3);
    ck_assert_int_eq(gsa_cache_count(cache).hits, 1);
    for (int i = 0; i < 3; i++) gsa_instance_release(at[i]);
    gsa_cache_release(cache);
    gsa_pattern_release(pattern);
    gsa_registry_release(registry);
}
END_TEST

/* Each allocation in turn fails, once and for ever: the right code, nothing left over, and it
 * works again afterwards. */
static gsa_status make_all(gsa_faults *faults, void *context)
{
    const gsa_setting settings[] = { { "path", "./words.txt" }, { "real", "0.25" } };
    const gsa_example example = { .struct_size = sizeof example, .length = 3, .heads = 1 };
    gsa_registry *registry;
    gsa_pattern *pattern = NULL;
    gsa_instance *instance = NULL;
    gsa_status status = gsa_registry_create(&faults->table, &registry, NULL);
    if (status != GSA_OK) return status;
    status = gsa_registry_add(registry, &probe, NULL);
    if (status == GSA_OK) status = gsa_registry_offer(registry, "test.words/1", context, NULL);
    if (status == GSA_OK) status = gsa_registry_offer(registry, "test.other/1", context, NULL);
    if (status == GSA_OK)
        status = gsa_pattern_create(registry, "probe", settings, 2, &pattern, NULL);
    if (status == GSA_OK)
        status = gsa_pattern_instance(pattern, NULL, &example, NULL, 1, &instance, NULL);
    gsa_instance_release(instance);
    gsa_pattern_release(pattern);
    gsa_registry_release(registry);
    return status;
}

START_TEST(memory_may_run_out_anywhere)
{
    char context[] = "a service";
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, make_all, context), 30);
}
END_TEST

static const gsa_test memory_tests[] = { GSA_TEST(memory_may_run_out_anywhere) };
static const gsa_test registry_tests[] = { GSA_TEST(the_registry_is_ordered_and_says_where_from),
                                           GSA_TEST(a_wider_stride_finds_its_parameters),
                                           GSA_TEST(services_are_offered_replaced_and_found) };
static const gsa_test pattern_tests[] = {
    GSA_LOOP(canonical_text_names_what_differs_in_declared_order, GSA_COUNT(canonical)),
    GSA_LOOP(what_create_refuses_is_one_sentence_and_destroyed, GSA_COUNT(failures)),
    GSA_TEST(the_last_reference_destroys),
    GSA_TEST(instances_come_through_the_cache_unless_places_are_wanted),
};

int main(int argc, char **argv)
{
    static const gsa_case cases[] = { GSA_CASE("registry", registry_tests, 30),
                                      GSA_CASE("pattern", pattern_tests, 30),
                                      GSA_CASE("memory", memory_tests, 30) };
    return gsa_run_suite("pattern", cases, GSA_COUNT(cases), argc, argv);
}
