#include "file_rig.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char file_path[] = "/tmp/gsa-file-XXXXXX";

void file_write(const char *text, size_t bytes)
{
    strcpy(file_path, "/tmp/gsa-file-XXXXXX");
    const int file = mkstemp(file_path);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, text, bytes), (ssize_t)bytes);
    close(file);
}

gsa_registry *file_registry(const gsa_system *system)
{
    gsa_registry *registry;
    gsa_error error = { 0 };
    ck_assert_int_eq(gsa_registry_create(system, &registry, &error), GSA_OK);
    ck_assert_msg(gsa_registry_load(registry, getenv("GSA_TEST_FILE"), &error) == GSA_OK, "%s",
                  error.text);
    return registry;
}

gsa_status file_make(const gsa_registry *registry, const char *settings, gsa_pattern **pattern,
                     gsa_error *error)
{
    gsa_setting list[8] = { { "path", file_path } };
    char text[256];
    int count = 1;
    snprintf(text, sizeof text, "%s", settings);
    for (char *key = strtok(text, " "); key; key = strtok(NULL, " ")) {
        char *equals = strchr(key, '=');
        *equals = 0;
        list[count++] = (gsa_setting){ key, equals + 1 };
    }
    return gsa_pattern_create(registry, "file", list, count, pattern, error);
}

void file_edges(const gsa_pattern *pattern, int32_t n, int64_t draw, char *out, size_t size)
{
    gsa_instance *instance;
    gsa_edges edges;
    gsa_error error = { 0 };
    size_t used = 0;
    const gsa_example example = {
        .struct_size = sizeof example, .length = n, .heads = 1, .draw = draw
    };
    const gsa_status status =
        gsa_pattern_instance(pattern, NULL, &example, NULL, 0, &instance, &error);
    ck_assert_msg(status == GSA_OK, "%s", error.text);
    gsa_instance_edges(instance, 0, &edges);
    ck_assert_int_eq(gsa_edges_check(&edges, "file", &error), GSA_OK);
    out[0] = 0;
    for (int64_t row = 0; row < edges.rows; row++)
        for (int64_t r = edges.run_offset[row]; r < edges.run_offset[row + 1]; r++)
            for (int32_t j = 0; j < edges.runs[r].count; j++) {
                char name[64];
                const gsa_run *run = &edges.runs[r];
                gsa_pattern_topology(pattern)->label(gsa_pattern_self(pattern), 0,
                                                     run->label + j * run->label_step, name,
                                                     sizeof name);
                used +=
                    (size_t)snprintf(out + used, size - used, "%s%d>%d%s%s", used ? " " : "",
                                     run->first + j * run->step, (int)row, *name ? ":" : "", name);
                ck_assert_uint_lt(used, size);
            }
    gsa_instance_release(instance);
}

void file_expect(const char *says, const char *text)
{
    char wanted[512];
    const int here = says[0] == '%' && says[1] == ':';
    snprintf(wanted, sizeof wanted, "%s%s", here ? file_path : "", here ? says + 1 : says);
    char *percent = strstr(wanted, "'%MatrixMarket'");
    if (percent) memmove(percent + 2, percent + 1, strlen(percent)), percent[1] = '%';
    ck_assert_msg(strstr(text, wanted), "'%s' does not say '%s'", text, wanted);
}

gsa_status file_attempt(gsa_faults *faults, void *settings)
{
    gsa_registry *registry;
    gsa_pattern *pattern = NULL;
    gsa_error error = { 0 };
    gsa_status status = gsa_registry_create(&faults->table, &registry, &error);
    if (status != GSA_OK) return status;
    status = gsa_registry_load(registry, getenv("GSA_TEST_FILE"), &error);
    if (status == GSA_OK) status = file_make(registry, settings, &pattern, &error);
    gsa_pattern_release(pattern);
    gsa_registry_release(registry);
    return status;
}

const file_graph file_graphs[] = {
    /* lists of edges: from to */
    { "0 1\n1 2\n", "", 3, "0>1 1>2", 0 },
    { "1 2\n2 3\n", "", 3, "0>1 1>2", 0 },
    { "1 2\n2 3\n", "base=0", 4, "1>2 2>3", 0 },
    { "0 1\n", "base=0", 2, "0>1", 0 },
    { "# a comment\n% another\n\n0\t1\n0,2", "", 3, "0>1 0>2", 0 },
    { "0 1\r\n1 0\r\n", "", 2, "1>0 0>1", 0 },
    { "0 1\n", "directed=0", 2, "1>0 0>1", 0 },
    { "0 0\n0 1\n", "directed=0", 2, "0>0 1>0 0>1", 0 },
    { "0 1\n", "self=1", 2, "0>0 0>1 1>1", 0 },
    { "0 0\n0 1\n", "self=1", 2, "0>0 0>1 1>1", 0 },
    { "0 1\n0 1\n1 0\n", "", 2, "1>0 0>1 0>1", 0 },
    { "0 1\n0 1\n1 0\n", "unique=1 directed=0", 2, "1>0 0>1", 0 },
    { "2 1\n0 1\n1 1\n", "", 3, "2>1 0>1 1>1", 0 }, /* the order of the file */
    { "", "", 0, "", 0 },
    { "# nothing\n", "", 0, "", 0 },
    { "# nothing", "self=1", 0, "", 0 },
    { "5 2\n0 1\n1 2\n", "header=1", 5, "0>1 1>2", 0 },
    { "5 2\n0 1\n1 2\n", "", 6, "0>1 5>2 1>2", 0 }, /* never guessed */
    { "3 1\n1 3\n", "header=1", 3, "0>2", 0 },
    { "2 0\n", "header=1", 2, "", 0 },
    { "0 1 red\n1 2 blue\n2 0 red\n", "", 3, "2>0:red 0>1:red 1>2:blue", 0 },
    { "0 1 7\n1 2 -3\n", "", 3, "0>1:7 1>2:-3", 0 },
    { "0 1 red\n", "labels=none", 2, "0>1", 0 },
    { "0 1 \xff\n", "labels=none", 2, "0>1", 0 },
    { "0 1 \xe5\x8c\x97\xf0\x9f\x98\x80\n", "", 2, "0>1:\xe5\x8c\x97\xf0\x9f\x98\x80", 0 },
    { "0 1 red\n", "self=1", 2, "0>0:self 0>1:red 1>1:self", 0 },
    { "0 1 red\n", "labels=keys directed=0", 2, "1>0:red 0>1:red", 0 },
    { "2 1\n0 1 red\n", "header=1", 2, "0>1:red", 0 },
    /* Matrix Market: row = destination, column = source */
    { MTX("pattern general", "3 3 2\n2 1\n3 2\n"), "", 3, "0>1 1>2", 0 },
    { MTX("pattern general", "% a comment\n\n3 3 2\n2 1\n% one more\n3 2\n"), "", 3, "0>1 1>2", 0 },
    { MTX("pattern symmetric", "3 3 2\n2 1\n3 3\n"), "", 3, "1>0 0>1 2>2", 0 },
    { MTX("pattern symmetric", "3 3 1\n2 1\n"), "directed=1", 3, "0>1", 0 },
    { MTX("pattern general", "3 3 1\n2 1\n"), "directed=0", 3, "1>0 0>1", 0 },
    { MTX("real skew-symmetric", "2 2 1\n2 1 -0.5\n"), "", 2, "1>0 0>1", 0 },
    { MTX("real general", "2 2 1\n2 1 1e-3\n"), "", 2, "0>1", 0 },
    { MTX("integer general", "2 2 2\n2 1 4\n1 2 -1\n"), "", 2, "1>0:-1 0>1:4", 0 },
    { MTX("integer general", "2 2 2\n2 1 2\n1 2 0\n"), "repeat=1", 2, "0>1 0>1", 0 },
    { MTX("integer general", "2 2 1\n2 1 2\n"), "labels=none", 2, "0>1", 0 },
    { MTX("integer general", "2 2 1\n2 1 2\n"), "labels=bias self=1", 2, "0>0:self 0>1:2 1>1:self",
      0 },
    { "%%MatrixMarket MATRIX Coordinate Pattern General\n0 0 0\n", "", 0, "", 0 },
    { MTX("pattern general", "4 4 0\n"), "self=1", 4, "0>0 1>1 2>2 3>3", 0 },
    { "2 1\n", "format=edges base=1", 2, "1>0", 0 },
    /* GraphML: source target */
    { GRAPHML("<edge source=\"a\" target=\"b\"/><edge source=\"b\" target=\"c\"/>"), "", 3,
      "0>1 1>2", 1 },
    { "\xef\xbb\xbf" GRAPHML("<edge source=\"a\" target=\"b\"/>"), "", 3, "0>1", 1 },
    { GRAPHML("<edge source=\"c\" target=\"a\"/><edge source=\"c\" target=\"a\"/>"), "", 3,
      "2>0 2>0", 1 },
    { GRAPHML("<edge source=\"a\" target=\"b\"/>"), "directed=0", 3, "1>0 0>1", 1 },
    { GRAPHML("<edge source=\"a\" target=\"b\"><data key=\"r\">5</data><data key=\"l\">f\xc3\xbcnf "
              "&lt;&amp;&gt;</data></edge>"),
      "", 3, "0>1:f\xc3\xbcnf <&>", 1 },
    { GRAPHML("<edge source=\"a\" target=\"b\"><data key=\"r\">5</data></edge><edge source=\"a\" "
              "target=\"c\"><data "
              "key=\"r\">2</data></edge>"),
      "labels=keys", 3, "0>1:5 0>2:2", 1 },
    { GRAPHML(""), "self=1", 3, "0>0 1>1 2>2", 1 },
};
