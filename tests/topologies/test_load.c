/* Loading a shared object: the good ones work, and each way to be wrong is one sentence. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "support/faults.h"
#include "support/suite.h"
#include "topologies/pattern.h"

static const char *folder(void)
{
    const char *path = getenv("GSA_TEST_PLUGINS");
    ck_assert_msg(path != NULL, "GSA_TEST_PLUGINS is not set: run through ctest");
    return path;
}

static void path_of(const char *name, char *out, size_t size)
{
    ck_assert_int_lt(snprintf(out, size, "%s/%s", folder(), name), (int)size);
}

static gsa_registry *registry_of(const gsa_system *system)
{
    gsa_registry *registry;
    ck_assert_int_eq(gsa_registry_create(system, &registry, NULL), GSA_OK);
    return registry;
}

START_TEST(the_template_loads_and_emits)
{
    char path[4096];
    gsa_error error = { 0 };
    gsa_pattern *pattern;
    gsa_instance *instance;
    gsa_edges edges;
    gsa_registry *registry = registry_of(NULL);
    const int before = gsa_registry_count(registry);
    path_of("logsparse.so", path, sizeof path);
    ck_assert_msg(gsa_registry_load(registry, path, &error) == GSA_OK, "%s", error.text);
    ck_assert_int_eq(gsa_registry_count(registry), before + 1);
    ck_assert_ptr_nonnull(gsa_registry_find(registry, "logsparse", &error));
    const gsa_setting settings[] = { { "causal", "0" }, { "near", "3" }, { "labels", "1" } };
    ck_assert_msg(gsa_pattern_create(registry, "logsparse", settings, 3, &pattern, &error) ==
                      GSA_OK,
                  "%s", error.text);
    ck_assert_str_eq(gsa_pattern_text(pattern), "logsparse:causal=0:near=3:labels=1");
    const gsa_example example = { .struct_size = sizeof example, .length = 40, .heads = 1 };
    ck_assert_msg(gsa_pattern_instance(pattern, NULL, &example, NULL, 0, &instance, &error) ==
                      GSA_OK,
                  "%s", error.text);
    gsa_instance_edges(instance, 0, &edges);
    ck_assert_int_eq(gsa_edges_check(&edges, "logsparse", &error), GSA_OK);
    int32_t *sources = calloc((size_t)edges.edge_total, sizeof *sources);
    gsa_edges_expand(&edges, sources, NULL, NULL);
    for (int i = 0; i < 40; i++) {
        int reads[40] = { 0 };
        for (int64_t k = edges.edge_offset[i]; k < edges.edge_offset[i + 1]; k++)
            reads[sources[k]]++;
        for (int j = 0; j < 40; j++) {
            const int distance = abs(i - j);
            ck_assert_int_eq(reads[j], distance <= 3 || (distance & (distance - 1)) == 0);
        }
    }
    free(sources);
    char name[16];
    gsa_pattern_topology(pattern)->label(gsa_pattern_self(pattern), 0, 3 + 1 + 4, name,
                                         sizeof name);
    ck_assert_str_eq(name, "-16");
    gsa_instance_release(instance);
    gsa_pattern_release(pattern);
    gsa_registry_release(registry);
}
END_TEST

START_TEST(several_plugins_live_together_and_none_loads_twice)
{
    char one[4096], two[4096];
    gsa_error error = { 0 };
    gsa_registry *registry = registry_of(NULL);
    const int before = gsa_registry_count(registry);
    path_of("logsparse.so", one, sizeof one);
    path_of("sound.so", two, sizeof two);
    ck_assert_int_eq(gsa_registry_load(registry, two, &error), GSA_OK);
    ck_assert_int_eq(gsa_registry_load(registry, one, &error), GSA_OK);
    ck_assert_int_eq(gsa_registry_load(registry, one, &error), GSA_ERR_PLUGIN);
    ck_assert_ptr_nonnull(strstr(error.text, "the id 'logsparse' is taken (by "));
    ck_assert_int_eq(gsa_registry_count(registry), before + 2);
    ck_assert_ptr_nonnull(gsa_registry_find(registry, "odd", &error));
    gsa_registry_release(registry);
}
END_TEST

static const struct {
    const char *name; /* of a plugin, or a path with its meaning below */
    gsa_status status;
    const char *fragment;
} broken[] = {
    { "no_symbol.so", GSA_ERR_PLUGIN, "it exports no symbol gsa_plugin_1" },
    { "next_abi.so", GSA_ERR_PLUGIN,
      "it has gsa_plugin_2 and no gsa_plugin_1: it was built for ABI 2, expected ABI 1" },
    { "wrong_abi.so", GSA_ERR_PLUGIN, "its abi is 7, expected 1" },
    { "small_struct.so", GSA_ERR_PLUGIN, "its struct_size is 16 bytes, expected at least " },
    { "small_stride.so", GSA_ERR_PLUGIN,
      "its param_stride is 8 bytes, expected a multiple of 8 from " },
    { "odd_stride.so", GSA_ERR_PLUGIN, "its param_stride is 61 bytes" },
    { "many_params.so", GSA_ERR_PLUGIN, "it declares 100000 parameters, expected at most 256" },
    { "no_params.so", GSA_ERR_PLUGIN, "it declares 2 parameters and no list of them" },
    { "no_describe.so", GSA_ERR_PLUGIN, "topology 'odd' has no describe function" },
    { "no_emit.so", GSA_ERR_PLUGIN, "topology 'odd' has no emit function" },
    { "only_destroy.so", GSA_ERR_PLUGIN, "topology 'odd' has destroy without create" },
    { "bad_id.so", GSA_ERR_PLUGIN, "its id is 'Odd one', expected [a-z][a-z0-9_]*" },
    { "no_id.so", GSA_ERR_PLUGIN, "its id is (nothing), expected [a-z][a-z0-9_]*" },
    { "taken_id.so", GSA_ERR_PLUGIN, "the id 'star' is taken (by built-in)" },
    { "no_summary.so", GSA_ERR_PLUGIN, "topology 'odd' has no summary of one line (what it does)" },
    { "two_lines.so", GSA_ERR_PLUGIN, "topology 'odd' has no summary of one line" },
    { "no_reference.so", GSA_ERR_PLUGIN,
      "topology 'odd' has no reference of one line (the paper, or whose idea it is)" },
    { "twice_param.so", GSA_ERR_PLUGIN, "topology 'odd': parameter 'first' is declared twice" },
    { "bad_param.so", GSA_ERR_PLUGIN,
      "topology 'odd': parameter 1 is named '2nd', expected [a-z][a-z0-9_]*" },
    { "stack_param.so", GSA_ERR_PLUGIN, "parameter 'share' has a name that belongs to the stack" },
    { "bad_type.so", GSA_ERR_PLUGIN, "parameter 'second' has the unknown type 9" },
    { "bad_zero.so", GSA_ERR_PLUGIN, "parameter 'second' has 5 in the field `zero`" },
    { "bad_range.so", GSA_ERR_PLUGIN, "parameter 'second' has no value from 5 to 1" },
    { "half_range.so", GSA_ERR_PLUGIN, "integer parameter 'second' has bounds 0.5 and 1" },
    { "nan_range.so", GSA_ERR_PLUGIN, "parameter 'second' has no value from 0 to nan" },
    { "no_choices.so", GSA_ERR_PLUGIN, "parameter 'second' has a wrong list of choices" },
    { "empty_choice.so", GSA_ERR_PLUGIN, "parameter 'second' has a wrong list of choices" },
    { "twice_choice.so", GSA_ERR_PLUGIN, "parameter 'second' has a wrong list of choices" },
    { "int_choices.so", GSA_ERR_PLUGIN, "parameter 'second' has a wrong list of choices" },
    { "no_doc.so", GSA_ERR_PLUGIN, "parameter 'second' has no doc of one line" },
    { "bad_fallback.so", GSA_ERR_PLUGIN,
      "its own fallback is refused: parameter 'second' is '2', expected an integer from 0 to 1" },
    { "undefined.so", GSA_ERR_PLUGIN, "it is no shared object that loads: " },
    { "absent.so", GSA_ERR_IO, "there is no such file" },
    { "", GSA_ERR_IO, "it is a folder, expected a shared object" },
    { "sound.so/below", GSA_ERR_IO, "plugin '" },
};

START_TEST(each_broken_plugin_is_one_sentence)
{
    char path[4096];
    gsa_error error = { 0 };
    gsa_registry *registry = registry_of(NULL);
    const int before = gsa_registry_count(registry);
    path_of(broken[_i].name, path, sizeof path);
    ck_assert_int_eq(gsa_registry_load(registry, path, &error), broken[_i].status);
    ck_assert_int_eq(error.status, broken[_i].status);
    ck_assert_msg(strstr(error.text, "plugin '") == error.text &&
                      strstr(error.text, broken[_i].name),
                  "%s", error.text);
    ck_assert_msg(strstr(error.text, broken[_i].fragment) != NULL, "%s: %s", broken[_i].name,
                  error.text);
    ck_assert_ptr_null(strpbrk(error.text, "\r\n"));
    ck_assert_int_eq(gsa_registry_load(registry, path, NULL), broken[_i].status);
    ck_assert_int_eq(gsa_registry_count(registry), before);
    gsa_registry_release(registry);
}
END_TEST

/* The built folder holds nothing that the table above forgot. */
START_TEST(every_plugin_that_is_built_is_loaded_here)
{
    DIR *list = opendir(folder());
    int count = 0;
    ck_assert_ptr_nonnull(list);
    for (struct dirent *entry; (entry = readdir(list));) {
        if (!strstr(entry->d_name, ".so")) continue;
        int listed =
            strcmp(entry->d_name, "logsparse.so") == 0 || strcmp(entry->d_name, "sound.so") == 0;
        for (int i = 0; i < GSA_COUNT(broken); i++)
            listed |= strcmp(entry->d_name, broken[i].name) == 0;
        ck_assert_msg(listed, "%s is built and not tested", entry->d_name);
        count++;
    }
    closedir(list);
    ck_assert_int_eq(count, GSA_COUNT(broken) - 3 + 2);
}
END_TEST

static void load_fails(const char *path, gsa_status status, const char *fragment)
{
    gsa_error error = { 0 };
    gsa_registry *registry = registry_of(NULL);
    ck_assert_int_eq(gsa_registry_load(registry, path, &error), status);
    ck_assert_msg(strstr(error.text, fragment) != NULL, "%s", error.text);
    gsa_registry_release(registry);
}

START_TEST(paths_are_never_searched_for)
{
    load_fails("logsparse.so", GSA_ERR_ARGUMENT, "plugin 'logsparse.so': the path has no slash");
    load_fails("", GSA_ERR_ARGUMENT, "plugin '': the path has no slash");
    load_fails(NULL, GSA_ERR_ARGUMENT, "plugin (nothing): the path has no slash");
    load_fails("/dev/null", GSA_ERR_IO, "it is no regular file");
}
END_TEST

/* Files that are no shared objects: text, nothing, and a good one cut short. */
START_TEST(other_files_are_refused_with_the_loaders_words)
{
    static const long sizes[] = { 0, 1, 4, 16, 64, 200 };
    char good[4096], path[] = "/tmp/gsa-not-a-plugin-XXXXXX", bytes[200];
    path_of("sound.so", good, sizeof good);
    FILE *in = fopen(good, "rb");
    ck_assert_ptr_nonnull(in);
    ck_assert_uint_eq(fread(bytes, 1, sizeof bytes, in), sizeof bytes);
    fclose(in);
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    for (int i = 0; i <= GSA_COUNT(sizes); i++) {
        static const char text[] = "this is a text and no program, however often it is loaded\n";
        const int is_text = i == GSA_COUNT(sizes);
        const size_t size = is_text ? sizeof text - 1 : (size_t)sizes[i];
        ck_assert_int_eq(ftruncate(file, 0), 0);
        ck_assert_int_eq(pwrite(file, is_text ? text : bytes, size, 0), (ssize_t)size);
        load_fails(path, GSA_ERR_PLUGIN,
                   !is_text && size >= 64 ? "it is cut short" /* 64: the header is there */
                                          : "it is no shared object that loads: ");
    }
    close(file);
    unlink(path);
}
END_TEST

/* Of any length: the loader would map what is not there, and its first look would be SIGBUS. */
START_TEST(a_cut_plugin_is_refused)
{
    char good[4096], path[] = "/tmp/gsa-cut-plugin-XXXXXX";
    char *bytes;
    int64_t whole, cut = 64;
    gsa_error error;
    path_of("sound.so", good, sizeof good);
    ck_assert_int_eq(gsa_read_file(NULL, good, 1 << 28, &bytes, &whole, &error), GSA_OK);
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(pwrite(file, bytes, (size_t)whole, 0), (ssize_t)whole);
    for (int refused = 0; cut < whole; cut += 512, refused = 0) {
        gsa_registry *registry;
        ck_assert_int_eq(gsa_registry_create(NULL, &registry, &error), GSA_OK);
        ck_assert_int_eq(pwrite(file, bytes, (size_t)whole, 0), (ssize_t)whole);
        ck_assert_int_eq(ftruncate(file, cut), 0);
        refused = gsa_registry_load(registry, path, &error) != GSA_OK;
        ck_assert_msg(!refused || strstr(error.text, "cut short") || strstr(error.text, "loads: "),
                      "%s", error.text);
        gsa_registry_release(registry);
        if (!refused) break; /* what is left are names for debuggers */
    }
    ck_assert_int_gt(cut, 2048);
    close(file);
    unlink(path);
    gsa_release(NULL, bytes);
}
END_TEST

/* Is a file of this name mapped into the process? Linux only; elsewhere 0. */
static int is_mapped(const char *name)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[8192];
    int found = 0;
    while (maps && fgets(line, sizeof line, maps)) found |= strstr(line, name) != NULL;
    if (maps) fclose(maps);
    return found;
}

START_TEST(plugins_leave_with_the_registry_and_refused_ones_at_once)
{
    char path[4096];
    gsa_registry *registry = registry_of(NULL);
    path_of("no_emit.so", path, sizeof path);
    ck_assert_int_eq(gsa_registry_load(registry, path, NULL), GSA_ERR_PLUGIN);
    ck_assert(!is_mapped("no_emit.so"));
    path_of("logsparse.so", path, sizeof path);
    ck_assert_int_eq(gsa_registry_load(registry, path, NULL), GSA_OK);
    ck_assert(is_mapped("logsparse.so") || !is_mapped("test_load"));
    gsa_registry_release(registry);
    ck_assert(!is_mapped("logsparse.so"));
}
END_TEST

static gsa_status load_and_use(gsa_faults *faults, void *path)
{
    gsa_registry *registry;
    gsa_pattern *pattern = NULL;
    gsa_status status = gsa_registry_create(&faults->table, &registry, NULL);
    if (status != GSA_OK) return status;
    status = gsa_registry_load(registry, path, NULL);
    if (status == GSA_OK)
        status = gsa_pattern_create(registry, "logsparse", NULL, 0, &pattern, NULL);
    gsa_pattern_release(pattern);
    gsa_registry_release(registry);
    return status;
}

START_TEST(memory_and_files_may_fail_anywhere)
{
    char path[4096];
    path_of("logsparse.so", path, sizeof path);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, load_and_use, path), 10);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_KIND, 0, GSA_ERR_IO, load_and_use, path), 0);
}
END_TEST

static const gsa_test memory_tests[] = { GSA_TEST(memory_and_files_may_fail_anywhere) };
static const gsa_test sound_tests[] = {
    GSA_TEST(the_template_loads_and_emits),
    GSA_TEST(several_plugins_live_together_and_none_loads_twice),
    GSA_TEST(plugins_leave_with_the_registry_and_refused_ones_at_once)
};
static const gsa_test broken_tests[] = {
    GSA_LOOP(each_broken_plugin_is_one_sentence, GSA_COUNT(broken)),
    GSA_TEST(every_plugin_that_is_built_is_loaded_here), GSA_TEST(paths_are_never_searched_for),
    GSA_TEST(other_files_are_refused_with_the_loaders_words), GSA_TEST(a_cut_plugin_is_refused)
};

int main(int argc, char **argv)
{
    static const gsa_case cases[] = { GSA_CASE("sound", sound_tests, 30),
                                      GSA_CASE("broken", broken_tests, 60),
                                      GSA_CASE("memory", memory_tests, 60) };
    return gsa_run_suite("load", cases, GSA_COUNT(cases), argc, argv);
}
