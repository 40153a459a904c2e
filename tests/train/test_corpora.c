/* Corpora larger than memory (data.stream): several files, packed or not, are one run of bytes;
 * blocks change no bit between packings, ranks (test_group.c) and resumed runs; memory is bounded;
 * what is wrong with a file is one sentence. */
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if GSA_HAVE_ZLIB
#include <zlib.h>
#endif
#if GSA_HAVE_ZSTD
#include <zstd.h>
#endif
#include "gsa/vocabulary.h"
#include "rig.h"
#include "train/data/blocks.h"
#include "train/driver/batches.h"

/* ---- packing ------------------------------------------------------------------------------- */

enum { MEMBERS = 3 };
enum pack { PLAIN, GZIP, ZSTD };
static const char *const ends[] = { "", ".gz", ".zst" };

/* In several members or frames, one after the other; before those of zstd one that is passed over,
 * as pzstd writes. The bytes of the file. */
static int64_t put_packed(const char *path, int how, const char *at, int64_t bytes)
{
    if (how == PLAIN) {
        gsa_put_file(path, at, bytes);
        return bytes;
    }
    int64_t used = 0;
    char *out = malloc((size_t)bytes * 2 + 4096);
    if (how == ZSTD) memcpy(out, "\x50\x2a\x4d\x18\4\0\0\0note", 12), used = 12;
    for (int m = 0; m < MEMBERS; m++) {
        const int64_t first = bytes * m / MEMBERS, count = bytes * (m + 1) / MEMBERS - first;
#if GSA_HAVE_ZLIB
        if (how == GZIP) {
            z_stream z = { .next_in = (Bytef *)(uintptr_t)(at + first),
                           .avail_in = (uInt)count,
                           .next_out = (Bytef *)out + used,
                           .avail_out = (uInt)(bytes * 2 + 4096 - used) };
            deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 5, Z_DEFAULT_STRATEGY);
            ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
            used += (int64_t)z.total_out;
            deflateEnd(&z);
        }
#endif
#if GSA_HAVE_ZSTD
        if (how == ZSTD)
            used += (int64_t)ZSTD_compress(out + used, (size_t)(bytes * 2 + 4096 - used),
                                           at + first, (size_t)count, 3);
#endif
        (void)first, (void)count, (void)at;
    }
    gsa_put_file(path, out, used);
    free(out);
    return used;
}

static int can(int how)
{
#if !GSA_HAVE_ZLIB
    if (how == GZIP) return 0;
#endif
#if !GSA_HAVE_ZSTD
    if (how == ZSTD) return 0;
#endif
    return how >= PLAIN;
}

/* Words of the letters a to z, `bytes` of them in lines. */
static char *random_lines(uint64_t seed, int64_t bytes)
{
    char *text = malloc((size_t)bytes + 1);
    for (int64_t i = 0; i < bytes; i++) {
        const uint64_t dice = gsa_random(seed, (uint64_t)i, 0) >> 20;
        text[i] = dice % 41 == 0 ? '\n' : dice % 5 == 0 ? ' ' : (char)('a' + dice % 26);
    }
    text[bytes - 1] = '\n', text[bytes] = 0;
    return text;
}

/* ---- the run of bytes ---------------------------------------------------------------------- */

enum { LARGE = 900000 };

START_TEST(any_place_is_as_in_the_whole)
{
    static const int64_t spans[] = { 0, 1, 70000, INT64_C(1) << 46 };
    gsa_scratch scratch;
    gsa_source *source;
    char names[600], *text = random_lines(3, LARGE), *got = malloc(LARGE);
    gsa_faults faults;
    gsa_scratch_open(&scratch);
    gsa_faults_start(&faults);
    const int how[3] = { _i % 3, PLAIN, (_i + 1) % 3 };
    if (!can(how[0]) || !can(how[2])) goto done;
    const int64_t cut[] = { 0, 300001, 300002, LARGE }; /* the second file has one byte */
    for (int f = 0; f < 3; f++) {
        const char *path = gsa_scratch_path(&scratch, "part-%d%s", f, ends[how[f]]);
        put_packed(path, how[f], text + cut[f], cut[f + 1] - cut[f]);
    }
    snprintf(names, sizeof names, "%s/part-*", scratch.folder);
    ck_assert_int_eq(gsa_source_open(&faults.table, names, spans[_i / 3], &source, NULL), GSA_OK);
    ck_assert_int_eq(gsa_source_bytes(source), LARGE);
    for (uint64_t n = 0; n < 60; n++) {
        const int64_t at = (int64_t)(gsa_random(5, n, 1) % LARGE), most = n % 9 ? 3000 : LARGE - at,
                      left = LARGE - at,
                      bytes = 1 + (int64_t)(gsa_random(5, n, 2) % (uint64_t)most);
        const int64_t count = bytes < left ? bytes : left;
        ck_assert_int_eq(gsa_source_read(source, got, count, at, NULL), GSA_OK);
        ck_assert_int_eq(memcmp(got, text + at, (size_t)count), 0);
    }
    ck_assert_int_le(faults.files, 1);
    gsa_source_release(source);
    ck_assert_int_eq(gsa_faults_live(&faults), 0);
done:
    free(text), free(got);
    gsa_scratch_close(&scratch);
}
END_TEST

static gsa_status fault_source(gsa_faults *faults, void *context)
{
    gsa_source *source;
    gsa_error error;
    char to[64];
    gsa_status status = gsa_source_open(&faults->table, context, 1, &source, &error);
    if (status != GSA_OK) return status;
    status = gsa_source_read(source, to, sizeof to, 100000, &error);
    gsa_source_release(source);
    return status;
}

START_TEST(every_failure_is_told)
{
    static const int ops[] = { GSA_OP_ALLOC, GSA_OP_OPEN, GSA_OP_READ, GSA_OP_LIST };
    gsa_scratch scratch;
    char names[300], *text = random_lines(4, 200000);
    gsa_scratch_open(&scratch);
    put_packed(gsa_scratch_path(&scratch, "a.gz"), can(GZIP) ? GZIP : PLAIN, text, 200000);
    snprintf(names, sizeof names, "%s/*.gz", scratch.folder);
    for (int i = 0; i < GSA_COUNT(ops); i++)
        ck_assert_int_gt(gsa_faults_sweep(ops[i], i == 0, i == 0 ? GSA_ERR_MEMORY : GSA_ERR_IO,
                                          fault_source, names),
                         0);
    free(text);
    gsa_scratch_close(&scratch);
}
END_TEST

static const struct {
    int how;
    int64_t keep; /* bytes of the packed file; < 0: less so many of the end */
    const char *names, *expected;
} bad[] = {
    { GZIP, 5, "a", "in the midst of its data: it is truncated" },
    { GZIP, -1, "a", "in the midst of its data: it is truncated" },
    { GZIP, -400, "a", "in the midst of its data: it is truncated" },
    { ZSTD, 7, "a", "in the midst of its data: it is truncated" },
    { ZSTD, -1, "a", "in the midst of its data: it is truncated" },
    { PLAIN, 0, "a", "a is empty" },
    { PLAIN, 9, "a,none", "none cannot be opened: No such file or directory" },
    { PLAIN, 9, "b*", "b*: no file is named so" },
    { PLAIN, 9, "a,", "/a,': a name of a file is empty" },
    { PLAIN, 9, ",a", "/a': a name of a file is empty" },
};

START_TEST(bad_files)
{
    char names[600] = "", *text = random_lines(6, 50000);
    gsa_scratch scratch;
    gsa_source *source;
    gsa_error error;
    gsa_scratch_open(&scratch);
    if (can(bad[_i].how)) {
        int64_t count;
        const char *path = gsa_scratch_path(&scratch, "a");
        put_packed(path, bad[_i].how, text, 50000);
        char *packed = gsa_get_file(path, &count);
        gsa_put_file(path, packed, bad[_i].keep < 0 ? count + bad[_i].keep : bad[_i].keep);
        free(packed);
        for (const char *at = bad[_i].names; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s%s%.*s",
                     at > bad[_i].names ? "," : "", strcspn(at, ",") ? scratch.folder : "",
                     strcspn(at, ",") ? "/" : "", (int)strcspn(at, ","), at);
        ck_assert_int_ne(gsa_source_open(NULL, names, 1, &source, &error), GSA_OK);
        ck_assert_msg(strstr(error.text, bad[_i].expected) != NULL, "%s", error.text);
    }
    free(text);
    gsa_scratch_close(&scratch);
}
END_TEST

/* No byte that is damaged is read as another text. */
START_TEST(damage_is_told)
{
    const int how = _i ? ZSTD : GZIP;
    char *text = random_lines(7, 30000), *got = malloc(30000);
    int64_t count, told = 0;
    gsa_scratch scratch;
    gsa_scratch_open(&scratch);
    char path[300];
    snprintf(path, sizeof path, "%s", gsa_scratch_path(&scratch, "a"));
    if (can(how)) {
        put_packed(path, how, text, 30000);
        char *packed = gsa_get_file(path, &count);
        for (int64_t i = 40; i < count; i += count / 50) {
            gsa_source *source = NULL;
            gsa_error error;
            packed[i] ^= 0x55;
            gsa_put_file(path, packed, count);
            packed[i] ^= 0x55;
            if (gsa_source_open(NULL, path, 1, &source, &error) != GSA_OK) told++;
            gsa_source_release(source);
        }
        /* libzstd writes no checksum by default, so that a literal may change; gzip has one */
        if (how == GZIP) ck_assert_int_ge(told, 50);
        else ck_assert_int_ge(told, 1);
        free(packed);
    }
    free(text), free(got);
    gsa_scratch_close(&scratch);
}
END_TEST

/* ---- the order ----------------------------------------------------------------------------- */

START_TEST(blocks_are_permuted_and_so_is_each)
{
    static const int64_t block[] = { 0, 100, 100, 130, 131, 300 };
    int32_t length[300];
    gsa_batches b;
    for (int i = 0; i < 300; i++) length[i] = 1 + (int32_t)(gsa_random(1, (uint64_t)i, 0) % 40);
    const gsa_batches_options o = { .batch = 7,
                                    .batch_tokens = _i ? 90 : 0,
                                    .accumulate = 2,
                                    .bucket = 3,
                                    .seed = 9,
                                    .block = block,
                                    .blocks = 5 };
    int64_t order[2][5];
    ck_assert_int_eq(gsa_batches_create(gsa_system_default(), &o, length, 300, &b, NULL), GSA_OK);
    for (int64_t epoch = 0; epoch < 2; epoch++) {
        int seen[300] = { 0 }, blocks = 0;
        int64_t last = -1;
        gsa_batches_shuffle(&b, epoch);
        for (int64_t i = 0; i < b.count; i++) {
            int64_t count, other, of = 0;
            const int64_t *example = gsa_batches_at(&b, i, &count);
            while (block[of + 1] <= example[0]) of++;
            if (of != last) order[epoch][blocks++] = last = of;
            if (i + 1 < b.count) gsa_batches_at(&b, i + 1, &other); /* the batch ahead */
            for (int64_t k = 0; k < count; k++) {
                ck_assert(example[k] >= block[of] && example[k] < block[of + 1]);
                seen[example[k]]++;
            }
        }
        ck_assert_int_eq(blocks, 4); /* one is empty */
        for (int e = 0; e < 300; e++) ck_assert_int_eq(seen[e], 1);
    }
    ck_assert_int_ne(memcmp(order[0], order[1], 4 * sizeof **order), 0);
    /* any batch again, from anywhere */
    int64_t count, first[64];
    for (int64_t i = 0; i < b.count; i++) first[i] = *gsa_batches_at(&b, i, &count);
    for (int64_t i = b.count - 1; i >= 0; i -= 3)
        ck_assert_int_eq(*gsa_batches_at(&b, i, &count), first[i]);
    gsa_batches_release(&b);
}
END_TEST

START_TEST(counting_forgets_the_rarest)
{
    gsa_vocabulary *v;
    char word[16];
    ck_assert_int_eq(gsa_vocabulary_create(NULL, &v, NULL), GSA_OK);
    for (int i = 0; i < 1000; i++) {
        snprintf(word, sizeof word, "w%d", i % 2 ? i : i % 10);
        ck_assert_int_eq(gsa_vocabulary_add(v, (gsa_slice){ word, (int64_t)strlen(word) }, 1, NULL),
                         GSA_OK);
        ck_assert_int_eq(gsa_vocabulary_bound(v, 40, NULL), GSA_OK);
    }
    ck_assert_int_eq(gsa_vocabulary_freeze(v, 1, 0, NULL), GSA_OK);
    ck_assert_int_le(gsa_vocabulary_size(v), 42);
    for (int i = 0; i < 5; i++) {
        snprintf(word, sizeof word, "w%d", 2 * i);
        const int32_t id = gsa_vocabulary_find(v, (gsa_slice){ word, (int64_t)strlen(word) });
        ck_assert_int_ne(id, GSA_WORD_UNKNOWN);
        ck_assert_int_eq(gsa_vocabulary_count(v, id), 100);
    }
    gsa_vocabulary_release(v);
}
END_TEST

/* ---- runs ---------------------------------------------------------------------------------- */

static const char *const recipes[] = { rig_text, rig_pairs, rig_language };
static char train_names[600];

/* The rig's training text in two files, packed so. */
static void stream_of(rig *r, const char *name, int how)
{
    int64_t bytes, cut;
    char *text = gsa_get_file(gsa_scratch_path(&r->scratch, "%s", r->data[0]), &bytes);
    for (cut = bytes / 2; text[cut - 1] != '\n';) cut++;
    put_packed(gsa_scratch_path(&r->scratch, "%s-1%s", name, ends[how]), how, text, cut);
    put_packed(gsa_scratch_path(&r->scratch, "%s-2%s", name, ends[how]), how, text + cut,
               bytes - cut);
    snprintf(train_names, sizeof train_names, "data.train=%s/%s-*", r->scratch.folder, name);
    free(text);
}

START_TEST(packing_changes_no_bit)
{
    rig r;
    rig_open(&r, recipes[_i], GSA_F32, 1);
    rig_set(&r, "data.stream=100");
    rig_set(&r, train_names);
    for (int how = PLAIN; how <= ZSTD; how++) {
        if (!can(how)) continue;
        char name[16];
        snprintf(name, sizeof name, "run%d", how);
        stream_of(&r, ends[how] + (how > 0), how);
        rig_train_ok(&r, name);
        ck_assert_ptr_nonnull(strstr(r.messages, " blocks"));
        if (how) ck_assert_int_eq(rig_differ(&r, "run0", name), 0);
    }
    rig_close(&r);
}
END_TEST

/* Without data.stream, too, each file may be packed. */
START_TEST(a_packed_file_is_read_whole)
{
    rig r;
    rig_open(&r, recipes[_i], GSA_F32, 1);
    rig_train_ok(&r, "plain");
    for (int f = 0; f < 2; f++) {
        int64_t bytes;
        char *text = gsa_get_file(gsa_scratch_path(&r.scratch, "%s", r.data[f]), &bytes);
        put_packed(gsa_scratch_path(&r.scratch, "packed%d", f), can(GZIP) ? GZIP : PLAIN, text,
                   bytes);
        r.data[f] = f ? "packed1" : "packed0";
        free(text);
    }
    rig_train_ok(&r, "packed");
    ck_assert_int_eq(rig_differ(&r, "plain", "packed"), 0);
    rig_close(&r);
}
END_TEST

/* 80 MB of zeros are some 80 kB as .gz, and less as .zst. */
START_TEST(a_small_file_claims_no_large_memory)
{
    enum { MANY = 80 << 20 };
    gsa_scratch scratch;
    gsa_faults faults;
    gsa_error error = { 0 };
    char *zeros = calloc(MANY, 1), *bytes = NULL;
    int64_t count = 0;
    gsa_scratch_open(&scratch);
    gsa_faults_start(&faults);
    const char *path = gsa_scratch_path(&scratch, "bomb%s", ends[GZIP + _i]);
    if (can(GZIP + _i)) {
        put_packed(path, GZIP + _i, zeros, MANY);
        ck_assert_int_eq(
            gsa_source_whole(&faults.table, path, INT64_C(1) << 36, &bytes, &count, &error),
            GSA_ERR_LIMIT);
        ck_assert_msg(strstr(error.text, "unpacks to more than 67108864 bytes") != NULL, "%s",
                      error.text);
        ck_assert_ptr_null(bytes);
        gsa_source *source;
        ck_assert_int_eq(gsa_source_open(&faults.table, path, 0, &source, &error), GSA_ERR_LIMIT);
        ck_assert_ptr_nonnull(strstr(error.text, "unpacks to more than 67108864 bytes"));
        ck_assert_int_eq(gsa_source_open(&faults.table, path, 1 << 20, &source, &error), GSA_OK);
        ck_assert_int_eq(gsa_source_bytes(source), MANY); /* as data.stream asks */
        gsa_source_release(source);
        put_packed(path, GZIP + _i, zeros, MANY / 2); /* as text without data.stream may be */
        ck_assert_int_eq(
            gsa_source_whole(&faults.table, path, INT64_C(1) << 36, &bytes, &count, &error),
            GSA_OK);
        ck_assert_int_eq(count, MANY / 2);
        gsa_release(&faults.table, bytes);
        ck_assert_int_eq(gsa_faults_live(&faults), 0);
    }
    free(zeros);
    gsa_scratch_close(&scratch);
}
END_TEST

/* As `zstd --long=31` packs: two gigabytes of the past would have to be held. */
START_TEST(a_large_window_is_refused)
{
    static const char frame[] = "\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00";
    gsa_scratch scratch;
    gsa_error error = { 0 };
    char *bytes = NULL;
    int64_t count = 0;
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "long.zst");
    gsa_put_file(path, frame, sizeof frame - 1);
    if (can(ZSTD)) {
        ck_assert_int_eq(
            gsa_source_whole(gsa_system_default(), path, INT64_C(1) << 36, &bytes, &count, &error),
            GSA_ERR_LIMIT);
        ck_assert_msg(strstr(error.text, "long.zst: its zstd window is more than the 128 MiB"),
                      "%s", error.text);
    }
    gsa_scratch_close(&scratch);
}
END_TEST

START_TEST(a_stopped_run_goes_on_to_the_same_bits)
{
    rig r;
    rig_open(&r, recipes[_i / 2], GSA_F32, 1);
    rig_set(&r, "data.stream=100");
    rig_set(&r, train_names);
    rig_set(&r, _i % 2 ? "train.prefetch=0" : "train.prefetch=1");
    stream_of(&r, "t", can(GZIP) ? GZIP : PLAIN);
    rig_train_ok(&r, "whole");
    const int64_t steps = r.last_step;
    for (r.stop_at = 1; r.stop_at < steps; r.stop_at += 2) {
        char name[16];
        snprintf(name, sizeof name, "cut%d", (int)r.stop_at);
        const int64_t stop = r.stop_at;
        ck_assert_int_eq(rig_train(&r, name), GSA_ERR_INTERRUPTED);
        r.stop_at = 0;
        ck_assert_msg(rig_resume(&r, name) == GSA_OK, "%s", r.error.text);
        ck_assert_int_eq(rig_differ(&r, "whole", name), 0);
        r.stop_at = stop;
    }
    rig_close(&r);
}
END_TEST

START_TEST(a_changed_file_is_refused)
{
    rig r;
    rig_open(&r, recipes[_i], GSA_F32, 1);
    rig_set(&r, "data.stream=100");
    rig_set(&r, train_names);
    stream_of(&r, "t", PLAIN);
    r.stop_at = 2;
    ck_assert_int_eq(rig_train(&r, "run"), GSA_ERR_INTERRUPTED);
    r.stop_at = 0;
    int64_t bytes;
    const char *path = gsa_scratch_path(&r.scratch, "t-2");
    char *text = gsa_get_file(path, &bytes), *at = text + bytes - 2, was = *at;
    *at = was == 'o' ? 'a' : 'o';
    gsa_put_file(path, text, bytes);
    ck_assert_int_eq(rig_resume(&r, "run"), GSA_ERR_IO);
    ck_assert_msg(strstr(r.error.text, "t-2 is not the file that the run was trained on") != NULL,
                  "%s", r.error.text);
    *at = was;
    gsa_put_file(path, text, bytes);
    gsa_put_file(gsa_scratch_path(&r.scratch, "t-3"), text, bytes);
    ck_assert_int_eq(rig_resume(&r, "run"), GSA_ERR_IO);
    remove(gsa_scratch_path(&r.scratch, "t-3"));
    ck_assert_msg(rig_resume(&r, "run") == GSA_OK, "%s", r.error.text);
    free(text);
    rig_close(&r);
}
END_TEST

static const char *const beside[][2] = {
    { "data.unique=1", "= 1: data.stream reads one line after the other" },
    { "data.hold=2", "= 2: data.stream reads one line after the other" },
    { "data.format=csv", "= csv: data.stream reads one line after the other" },
    { "data.train_part=3", "= 3: data.stream reads one line after the other" },
};

START_TEST(what_wants_all_at_once_is_refused)
{
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    if (_i == 1) r.data[1] = NULL;
    rig_set(&r, "data.stream=100");
    rig_set(&r, beside[_i][0]);
    ck_assert_int_ne(rig_train(&r, NULL), GSA_OK);
    ck_assert_msg(strstr(r.error.text, beside[_i][1]) != NULL, "%s", r.error.text);
    rig_close(&r);
}
END_TEST

/* The error names the file and the line of a bad line, in whatever block it is. */
START_TEST(lines_have_their_numbers)
{
    rig r;
    rig_open(&r, rig_text, GSA_F32, 1);
    rig_set(&r, "data.stream=100");
    rig_set(&r, train_names);
    stream_of(&r, "t", can(ZSTD) ? ZSTD : PLAIN);
    char lines[700] = "";
    for (int i = 0; i < 20; i++)
        snprintf(lines + strlen(lines), 40, i == 16 ? "no tab\n" : "good\ta good film\n");
    gsa_put_file(gsa_scratch_path(&r.scratch, "t-3"), lines, (int64_t)strlen(lines));
    ck_assert_int_eq(rig_train(&r, NULL), GSA_ERR_FORMAT);
    ck_assert_msg(strstr(r.error.text, "t-3:17: the line has 1 column") != NULL, "%s",
                  r.error.text);
    rig_close(&r);
}
END_TEST

/* A block is whole lines: one that never ends would be a block as large as it. */
START_TEST(a_line_has_a_limit)
{
    enum { BLOCK = 100, MOST = 1 << 20 };
    static const struct {
        int64_t block, bytes;
        const char *why; /* NULL: it is taken */
    } lines[] = { { BLOCK, MOST, NULL },
                  { BLOCK, MOST + 1, "a:2: the line has more than 1048576 bytes" },
                  { MOST + 9, MOST + 9, NULL },
                  { MOST + 9, 3 * MOST, "a:2: the line has more than 1048585 bytes" } };
    gsa_scratch scratch;
    gsa_blocks blocks;
    gsa_error error = { 0 };
    gsa_scratch_open(&scratch);
    const int64_t count = lines[_i].bytes + 6;
    char *text = malloc((size_t)count), path[300];
    memcpy(text, "one\n", 4), memset(text + 4, 'a', (size_t)count - 4);
    text[count - 2] = '\n';
    snprintf(path, sizeof path, "%s", gsa_scratch_path(&scratch, "a"));
    for (int ended = 0; ended < 2; ended++) /* by the file, by a line end */
        for (int how = PLAIN; how <= ZSTD; how++) {
            if (!can(how)) continue;
            put_packed(path, how, text, count - (ended ? 0 : 2));
            const gsa_status status = gsa_blocks_open(NULL, path, lines[_i].block, &blocks, &error);
            if (status == GSA_OK) gsa_blocks_release(&blocks);
            ck_assert_int_eq(status, lines[_i].why ? GSA_ERR_LIMIT : GSA_OK);
            if (lines[_i].why) ck_assert_ptr_nonnull(strstr(error.text, lines[_i].why));
        }
    free(text);
    gsa_scratch_close(&scratch);
}
END_TEST

/* ---- memory -------------------------------------------------------------------------------- */

static _Atomic int64_t live, peak;

static void note(int64_t bytes)
{
    const int64_t now = atomic_fetch_add(&live, bytes) + bytes;
    int64_t most = atomic_load(&peak);
    while (now > most && !atomic_compare_exchange_weak(&peak, &most, now)) {
    }
}

static void *counted_alloc(void *user, size_t bytes)
{
    void *at = gsa_system_default()->alloc(user, bytes);
    note((int64_t)malloc_usable_size(at));
    return at;
}

static void *counted_resize(void *user, void *old, size_t bytes)
{
    const int64_t had = (int64_t)malloc_usable_size(old);
    void *at = gsa_system_default()->resize(user, old, bytes);
    if (at) note((int64_t)malloc_usable_size(at) - had);
    return at;
}

static void counted_release(void *user, void *at)
{
    note(-(int64_t)malloc_usable_size(at));
    gsa_system_default()->release(user, at);
}

enum { CORPUS = 4 << 20, BLOCK = 1 << 16 };

/* The largest sum of what was live, in a run of a few steps. */
static int64_t peak_of(const char *stream, int how)
{
    rig r;
    int64_t used = 0;
    gsa_system counted = *gsa_system_default();
    counted.alloc = counted_alloc, counted.resize = counted_resize,
    counted.release = counted_release;
    rig_open(&r, rig_text, GSA_F32, 1);
    char *text = malloc(CORPUS + 64);
    for (uint64_t i = 0; used < CORPUS; i++) {
        const uint64_t dice = gsa_random(1, i, 0);
        used += sprintf(text + used, "%s\tw%d w%d w%d\n", dice & 1 ? "good" : "bad",
                        (int)(dice >> 8 & 255), (int)(dice >> 20 & 255), (int)(dice >> 32 & 255));
    }
    put_packed(gsa_scratch_path(&r.scratch, "large"), how, text, used);
    free(text);
    r.data[0] = "large", r.system = &counted;
    rig_set(&r, stream);
    rig_set(&r, "train.max_steps=12");
    atomic_store(&live, 0), atomic_store(&peak, 0);
    ck_assert_msg(rig_train(&r, NULL) == GSA_OK, "%s", r.error.text);
    gsa_release(&counted, r.result);
    r.result = NULL, r.system = NULL;
    rig_close(&r);
    return atomic_load(&peak);
}

/* Of a text of 64 blocks: two of them, with 24 bytes for each word and example, twice where arrays
 * double; 4 bytes for the length of each example; the windows of .gz; and the run itself. */
START_TEST(memory_is_bounded)
{
    enum { EXAMPLES = CORPUS / 16, WINDOWS = CORPUS / BLOCK * (1 << 15) + 2 * BLOCK };
    const int how = _i && can(GZIP) ? GZIP : PLAIN;
    const int64_t most = 2 * BLOCK * 12 + EXAMPLES * 4 * 2 + (how ? WINDOWS : 0) + (1 << 20),
                  streamed = peak_of("data.stream=65536", how);
    ck_assert_msg(streamed < most, "%lld, expected less than %lld", (long long)streamed,
                  (long long)most);
    if (_i) return;
    const int64_t whole = peak_of("data.stream=0", how);
    ck_assert_msg(whole > 5 * most, "%lld and %lld", (long long)whole, (long long)most);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test bytes[] = { GSA_LOOP(any_place_is_as_in_the_whole, 12),
                                      GSA_TEST(every_failure_is_told),
                                      GSA_LOOP(bad_files, GSA_COUNT(bad)),
                                      GSA_LOOP(damage_is_told, 2),
                                      GSA_LOOP(a_small_file_claims_no_large_memory, 2),
                                      GSA_TEST(a_large_window_is_refused) };
    static const gsa_test order[] = { GSA_LOOP(blocks_are_permuted_and_so_is_each, 2),
                                      GSA_TEST(counting_forgets_the_rarest) };
    static const gsa_test runs[] = { GSA_LOOP(packing_changes_no_bit, GSA_COUNT(recipes)),
                                     GSA_LOOP(a_packed_file_is_read_whole, GSA_COUNT(recipes)),
                                     GSA_LOOP(a_stopped_run_goes_on_to_the_same_bits,
                                              2 * GSA_COUNT(recipes)),
                                     GSA_LOOP(a_changed_file_is_refused, GSA_COUNT(recipes)),
                                     GSA_LOOP(what_wants_all_at_once_is_refused, GSA_COUNT(beside)),
                                     GSA_TEST(lines_have_their_numbers),
                                     GSA_LOOP(a_line_has_a_limit, 4) };
    static const gsa_test memory[] = { GSA_LOOP(memory_is_bounded, 2) };
    static const gsa_case cases[] = { GSA_CASE("bytes", bytes, 60), GSA_CASE("order", order, 60),
                                      GSA_CASE("runs", runs, 120),
                                      GSA_CASE("memory", memory, 120) };
    return gsa_run_suite("corpora", cases, GSA_COUNT(cases), argc, argv);
}
