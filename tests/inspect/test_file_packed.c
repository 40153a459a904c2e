/* The topology `file` on packed files (.gz, .zst): the graphs of plain ones, or a refusal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include "file_rig.h"

enum { GZIP, ZSTD, PACKINGS };

/* The bytes as .gz or .zst in `out`, of so many bytes of room. */
static size_t pack(int packing, const char *bytes, size_t count, char *out, size_t room)
{
    if (packing == ZSTD) return ZSTD_compress(out, room, bytes, count, 3);
    z_stream z = { .next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)count };
    z.next_out = (Bytef *)out, z.avail_out = (uInt)room;
    deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 5, Z_DEFAULT_STRATEGY);
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return z.total_out;
}

/* Each of file_graphs. */
START_TEST(a_packed_file_is_the_graph_that_it_says)
{
    const int which = _i / PACKINGS, packing = _i % PACKINGS;
    char bytes[4096], edges[4096];
    gsa_pattern *pattern;
    gsa_error error = { 0 };
    file_write(bytes, pack(packing, file_graphs[which].text, strlen(file_graphs[which].text), bytes,
                           sizeof bytes));
    gsa_registry *registry = file_registry(NULL);
    const gsa_status status = file_make(registry, file_graphs[which].settings, &pattern, &error);
    if (file_graphs[which].graphml) {
        ck_assert_int_eq(status, GSA_ERR_ARGUMENT);
        file_expect("%: it is compressed GraphML: unpack it first", error.text);
    } else {
        ck_assert_msg(status == GSA_OK, "%s", error.text);
        file_edges(pattern, file_graphs[which].n, 0, edges, sizeof edges);
        ck_assert_str_eq(edges, file_graphs[which].edges);
        gsa_pattern_release(pattern);
    }
    gsa_registry_release(registry);
    unlink(file_path);
}
END_TEST

START_TEST(a_long_packed_file)
{
    enum { LINES = 200000, BYTES = 16 * LINES };
    char *text = malloc(BYTES), *packed = malloc(BYTES);
    size_t used = 0;
    gsa_pattern *pattern;
    gsa_error error = { 0 };
    for (int i = 0; i < LINES; i++)
        used += (size_t)snprintf(text + used, BYTES - used, "%d %d\n", i, (i * 7 + 1) % LINES);
    gsa_registry *registry = file_registry(NULL);
    uint64_t sum[2] = { 0 };
    for (int i = 0; i < 2; i++) {
        gsa_instance *instance;
        gsa_edges edges;
        if (i) file_write(packed, pack(_i, text, used, packed, BYTES));
        else file_write(text, used);
        ck_assert_msg(file_make(registry, "", &pattern, &error) == GSA_OK, "%s", error.text);
        const gsa_example example = { .struct_size = sizeof example, .length = LINES, .heads = 1 };
        ck_assert_int_eq(gsa_pattern_instance(pattern, NULL, &example, NULL, 0, &instance, &error),
                         GSA_OK);
        gsa_instance_edges(instance, 0, &edges);
        ck_assert_int_eq(edges.edge_total, LINES);
        for (int64_t row = 0; row < edges.rows; row++)
            for (int64_t r = edges.run_offset[row]; r < edges.run_offset[row + 1]; r++)
                sum[i] = sum[i] * 31 + (uint64_t)edges.runs[r].first + (uint64_t)row;
        gsa_instance_release(instance);
        gsa_pattern_release(pattern);
        unlink(file_path);
    }
    ck_assert_uint_eq(sum[0], sum[1]);
    gsa_registry_release(registry);
    free(text), free(packed);
}
END_TEST

/* Cut anywhere, or with a wrong byte: a sentence or a graph, and a small file does not fill the
 * memory. */
START_TEST(a_bad_packed_file_is_a_sentence)
{
    enum { LARGE = (1 << 26) + 100 };
    static const char text[] = "0 1 a\n1 2 b\n2 0 c\n0 2 some\n";
    char bytes[512], bad[512];
    gsa_pattern *pattern = NULL;
    gsa_error error = { 0 };
    gsa_registry *registry = file_registry(NULL);
    const size_t count = pack(_i, text, sizeof text - 1, bytes, sizeof bytes);
    for (size_t cut = 5; cut < count; cut++) {
        file_write(bytes, cut);
        ck_assert_int_eq(file_make(registry, "", &pattern, &error), GSA_ERR_ARGUMENT);
        ck_assert_msg(strstr(error.text, "it is truncated"), "%s", error.text);
        unlink(file_path);
    }
    for (size_t at = 0; at < count; at++) {
        memcpy(bad, bytes, count), bad[at] ^= 0x55;
        file_write(bad, count);
        if (file_make(registry, "", &pattern, &error) == GSA_OK) gsa_pattern_release(pattern);
        else ck_assert_int_gt((int)strlen(error.text), 10);
        unlink(file_path);
    }
    char *large = malloc(LARGE), *packed = malloc(LARGE);
    memset(large, '\n', LARGE);
    file_write(packed, pack(_i, large, LARGE, packed, LARGE));
    ck_assert_int_eq(file_make(registry, "", &pattern, &error), GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(error.text, "it unpacks to too much for its size: unpack it first"), "%s",
                  error.text);
    unlink(file_path);
    free(large), free(packed);
    gsa_registry_release(registry);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    static const char text[] = "0 1 x\n1 2 y\n2 0 z\n0 2 x\n";
    char bytes[512];
    file_write(bytes, pack(GZIP, text, 24, bytes, sizeof bytes));
    const int tried = gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, file_attempt,
                                       "labels=keys self=1 directed=0");
    ck_assert_int_gt(tried, 12);
    unlink(file_path);
}
END_TEST

static const gsa_test packed_tests[] = {
    GSA_LOOP(a_packed_file_is_the_graph_that_it_says, PACKINGS *FILE_GRAPHS),
    GSA_LOOP(a_long_packed_file, PACKINGS),
    GSA_LOOP(a_bad_packed_file_is_a_sentence, PACKINGS),
};
static const gsa_test memory_tests[] = { GSA_TEST(every_allocation_may_fail) };

int main(int argc, char **argv)
{
    static const gsa_case cases[] = { GSA_CASE("packed", packed_tests, 60),
                                      GSA_CASE("memory", memory_tests, 60) };
    return gsa_run_suite("file_packed", cases, GSA_COUNT(cases), argc, argv);
}
