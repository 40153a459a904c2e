/* Texts that stay in their file: what a token is, any part of a text as a naive reading of the
 * whole gives it, malformed bytes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gsa/scratch.h"
#include "support/faults.h"
#include "support/suite.h"
#include "train/settings/keys.h"
#include "train/score/ngram.h"

/* ---- units --------------------------------------------------------------------------------- */

static const struct {
    int kind;
    const char *text, *tokens; /* separated by '|', a line end is $ */
} splits[] = {
    { GSA_TOKENS_WORDS, "", "" },
    { GSA_TOKENS_WORDS, " \t ", "" },
    { GSA_TOKENS_WORDS, "a", "a" },
    { GSA_TOKENS_WORDS, " a  bc \nd\r\n\n e", "a|bc|$|d|$|$|e" },
    { GSA_TOKENS_WORDS,
      "a\xc2\xa0"
      "b\xe3\x80\x80"
      "c\xe2\x80\xa8"
      "d\xc2\x85"
      "e",
      "a|b|c|d|e" },
    { GSA_TOKENS_WORDS, "\xe4\xbd\xa0\xe5\xa5\xbd \xf0\x9f\x98\x80",
      "\xe4\xbd\xa0\xe5\xa5\xbd|\xf0\x9f\x98\x80" },
    { GSA_TOKENS_CHARS, "", "" },
    { GSA_TOKENS_CHARS, "a \n\xe4\xbd\xa0\xf0\x9f\x98\x80", "a| |$|\xe4\xbd\xa0|\xf0\x9f\x98\x80" },
    { GSA_TOKENS_BYTES, "a\n\xe4\xbd", "a|$|\xe4|\xbd" },
};

START_TEST(what_a_token_is)
{
    char shown[64] = "";
    size_t used = 0;
    gsa_slice unit;
    const char *at = splits[_i].text;
    int64_t left = (int64_t)strlen(at);
    for (int64_t took; left > 0; at += took, left -= took) {
        took = gsa_unit_next(splits[_i].kind, at, left, 1, &unit);
        ck_assert_int_gt(took, 0);
        if (unit.bytes == 0) continue;
        used += (size_t)snprintf(shown + used, sizeof shown - used, "%s%.*s", used ? "|" : "",
                                 (int)unit.bytes, *unit.at == '\n' ? "$" : unit.at);
    }
    ck_assert_str_eq(shown, splits[_i].tokens);
}
END_TEST

/* However the bytes are cut, the first token is the same, or more bytes are requested. */
START_TEST(a_cut_changes_no_token)
{
    gsa_slice whole, part;
    const char *at = splits[_i].text;
    const int64_t bytes = (int64_t)strlen(at),
                  took = gsa_unit_next(splits[_i].kind, at, bytes, 1, &whole);
    for (int64_t given = 0; given <= bytes; given++) {
        const int64_t now = gsa_unit_next(splits[_i].kind, at, given, 0, &part);
        ck_assert_int_ge(now, 0);
        if (part.bytes > 0)
            ck_assert(now == took && part.bytes == whole.bytes && part.at == whole.at);
        else ck_assert_int_le(now, given);
    }
}
END_TEST

static const int kinds[] = { GSA_TOKENS_WORDS, GSA_TOKENS_CHARS, GSA_TOKENS_BYTES };

static gsa_units learn(int kind, const char *text, int64_t bytes, int64_t min_count, int64_t most)
{
    gsa_unit_counts counts = { 0 };
    gsa_units units;
    gsa_slice unit;
    ck_assert_int_eq(gsa_vocabulary_create(gsa_system_default(), &counts.words, NULL), GSA_OK);
    for (int64_t at = 0, took; at < bytes; at += took) {
        took = gsa_unit_next(kind, text + at, bytes - at, 1, &unit);
        ck_assert_int_gt(took, 0);
        if (unit.bytes > 0) ck_assert_int_eq(gsa_unit_count(&counts, kind, unit, NULL), GSA_OK);
    }
    ck_assert_int_eq(
        gsa_units_learn(gsa_system_default(), kind, &counts, min_count, most, &units, NULL),
        GSA_OK);
    return units;
}

/* Every id's text is found as that id again: escapes, blanks, all bytes. */
START_TEST(texts_and_ids)
{
    char text[600], room[4];
    int64_t bytes = 0;
    for (int c = 1; c < 128; c++) text[bytes++] = (char)c, text[bytes++] = ' ';
    bytes +=
        snprintf(text + bytes, sizeof text - (size_t)bytes, "\xc3\xa9 \xe4\xbd\xa0 \\x41 <eos>x");
    const int kind = kinds[_i];
    gsa_units units = learn(kind, text, bytes, 1, 0);
    for (int32_t id = GSA_WORD_FIRST; id < gsa_units_size(&units); id++)
        ck_assert_int_eq(gsa_units_id(&units, gsa_units_text(&units, id, room)), id);
    ck_assert_int_eq(gsa_units_id(&units, (gsa_slice){ "\n", 1 }), units.line_end);
    ck_assert_int_gt(units.line_end, GSA_WORD_UNKNOWN);
    ck_assert_int_eq(units.first_class, kind == GSA_TOKENS_BYTES ? 2 : 1);
    if (kind == GSA_TOKENS_BYTES) ck_assert_int_eq(gsa_units_size(&units), 258);
    if (kind == GSA_TOKENS_CHARS)
        ck_assert_int_eq(gsa_units_id(&units, (gsa_slice){ "\xc3\xa8", 2 }), GSA_WORD_UNKNOWN);
    gsa_units_release(&units);
}
END_TEST

START_TEST(rare_words_are_unknown)
{
    static const char text[] = "a a a b b c\n\n";
    gsa_units units = learn(GSA_TOKENS_WORDS, text, sizeof text - 1, 2, 0);
    ck_assert_int_eq(gsa_units_size(&units), 5); /* a, <eos>, b */
    ck_assert_int_eq(gsa_units_id(&units, (gsa_slice){ "c", 1 }), GSA_WORD_UNKNOWN);
    ck_assert_int_eq(gsa_units_id(&units, (gsa_slice){ "a", 1 }), 2);
    gsa_units_release(&units);
    units = learn(GSA_TOKENS_WORDS, text, sizeof text - 1, 1, 1);
    ck_assert_int_eq(gsa_units_size(&units), 3);
    ck_assert_int_eq(units.line_end, 0);
    gsa_units_release(&units);
}
END_TEST

/* ---- streams: any part as the whole says --------------------------------------------------- */

enum { LARGE = 400000 };

/* Words of 1 to 9 characters of 1 to 4 bytes, a few of 60000; blanks, long stretches of them, line
 * ends. */
static char *random_text(uint64_t seed, int64_t *bytes)
{
    static const char *const letters[] = { "a", "b", "\xc3\xa9", "\xe4\xbd\xa0", "\xf0\x9f\x98\x80",
                                           "z" };
    char *text = malloc(LARGE + 70000);
    int64_t used = 0;
    for (uint64_t i = 0; used < LARGE; i++) {
        const uint64_t dice = gsa_random(seed, i, 0);
        const int64_t length = dice % 4001 == 0 ? 15000 : 1 + (int64_t)(dice >> 20) % 9;
        const int64_t blanks = dice % 4003 == 0 ? 30000 : 1;
        for (int64_t c = 0; c < length; c++) {
            const char *letter = letters[gsa_random(seed, i, (uint64_t)c + 1) % 6];
            memcpy(text + used, letter, strlen(letter));
            used += (int64_t)strlen(letter);
        }
        for (int64_t b = 0; b < blanks; b++) text[used++] = dice % 11 == 0 ? '\n' : ' ';
    }
    *bytes = used;
    return text;
}

static int32_t *naive(const gsa_units *units, const char *text, int64_t bytes, int64_t *count)
{
    int32_t *id = malloc(((size_t)bytes + 1) * sizeof *id);
    gsa_slice unit;
    *count = 0;
    for (int64_t at = 0, took; at < bytes; at += took) {
        took = gsa_unit_next(units->kind, text + at, bytes - at, 1, &unit);
        if (unit.bytes > 0) id[(*count)++] = gsa_units_id(units, unit);
    }
    return id;
}

static void check_places(gsa_stream *stream, const gsa_units *units, const int32_t *expected,
                         int64_t count, uint64_t seed)
{
    ck_assert_int_eq(stream->tokens, count);
    int32_t *id = malloc(((size_t)count + 1) * sizeof *id);
    for (uint64_t i = 0; i < 300; i++) {
        const int64_t first = (int64_t)(gsa_random(seed, i, 1) % (uint64_t)count);
        const int64_t most = i < 295 ? 300 : count,
                      wanted = (int64_t)(gsa_random(seed, i, 2) % (uint64_t)most) + 1;
        const int64_t n = wanted < count - first ? wanted : count - first;
        ck_assert_int_eq(gsa_stream_read(stream, units, first, n, id, NULL), GSA_OK);
        ck_assert_msg(memcmp(id, expected + first, (size_t)n * sizeof *id) == 0,
                      "tokens %d..%d differ", (int)first, (int)(first + n));
    }
    ck_assert_int_eq(gsa_stream_read(stream, units, count, 0, id, NULL), GSA_OK);
    free(id);
}

START_TEST(any_part_is_as_in_memory)
{
    const int kind = kinds[_i % 3], shorter = _i / 3;
    gsa_scratch scratch;
    gsa_stream stream;
    gsa_faults faults;
    int64_t bytes, count;
    gsa_faults_start(&faults);
    faults.most = shorter ? 777 : 0; /* reads come in small pieces */
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "t.txt");
    char *text = random_text(7 + (uint64_t)_i, &bytes);
    gsa_put_file(path, text, bytes);
    gsa_units units = learn(kind, text, bytes, kind == GSA_TOKENS_WORDS ? 2 : 1, 0);
    int32_t *id = naive(&units, text, bytes, &count);
    ck_assert_int_eq(gsa_stream_open(&faults.table, path, kind, 0, -1, NULL, &stream, NULL),
                     GSA_OK);
    check_places(&stream, &units, id, count, 3);
    ck_assert_int_eq(faults.files, 1);
    gsa_stream_release(&stream);
    ck_assert_int_eq(gsa_faults_live(&faults), 0);
    gsa_units_release(&units);
    free(text);
    free(id);
    gsa_scratch_close(&scratch);
}
END_TEST

/* Cut anywhere: the parts' tokens, one after the other, are those of the whole. */
START_TEST(parts_make_the_whole)
{
    const int kind = kinds[_i];
    gsa_scratch scratch;
    gsa_stream part;
    int64_t bytes, count;
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "t.txt");
    char *text = random_text(99, &bytes);
    bytes = 9000;
    while ((text[bytes] & 0xc0) == 0x80) bytes++;
    gsa_put_file(path, text, bytes);
    gsa_units units = learn(kind, text, bytes, 1, 0);
    int32_t *whole = naive(&units, text, bytes, &count), *id = malloc((size_t)count * sizeof *id);
    gsa_source *source;
    ck_assert_int_eq(gsa_source_open(NULL, path, 0, &source, NULL), GSA_OK);
    for (int64_t at = 0; at <= bytes; at += at < 40 || at > bytes - 40 ? 1 : 501) {
        int64_t cut, done = 0;
        ck_assert_int_eq(gsa_stream_cut(source, kind, at, &cut, NULL), GSA_OK);
        ck_assert(cut >= at && cut <= bytes);
        if (kind == GSA_TOKENS_WORDS && cut > 0 && cut < bytes)
            ck_assert_int_eq(text[cut - 1], '\n');
        for (int side = 0; side < 2; side++) {
            const gsa_status status = gsa_stream_open(NULL, path, kind, side ? cut : 0,
                                                      side ? -1 : cut, NULL, &part, NULL);
            ck_assert_int_eq(status, GSA_OK);
            ck_assert_int_le(done + part.tokens, count);
            ck_assert_int_eq(gsa_stream_read(&part, &units, 0, part.tokens, id + done, NULL),
                             GSA_OK);
            done += part.tokens;
            gsa_stream_release(&part);
        }
        ck_assert_int_eq(done, count);
        ck_assert_int_eq(memcmp(id, whole, (size_t)count * sizeof *id), 0);
    }
    gsa_source_release(source);
    gsa_units_release(&units);
    free(text);
    free(whole);
    free(id);
    gsa_scratch_close(&scratch);
}
END_TEST

START_TEST(a_byte_order_mark_is_passed_over)
{
    static const int64_t tokens[] = {
        [GSA_TOKENS_WORDS] = 2, [GSA_TOKENS_CHARS] = 3, [GSA_TOKENS_BYTES] = 6
    };
    gsa_scratch scratch;
    gsa_stream stream;
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "t.txt");
    gsa_put_file(path,
                 "\xef\xbb\xbf"
                 "a b",
                 6);
    ck_assert_int_eq(gsa_stream_open(NULL, path, kinds[_i], 0, -1, NULL, &stream, NULL), GSA_OK);
    ck_assert_int_eq(stream.tokens, tokens[kinds[_i]]);
    gsa_stream_release(&stream);
    gsa_scratch_close(&scratch);
}
END_TEST

/* abab...: c(a) = c(b) = 4; after a always b, after b always a, and a first token after
 * nothing. */
START_TEST(counts_of_pairs)
{
    gsa_scratch scratch;
    gsa_stream train, held;
    double one, two;
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "t.txt");
    gsa_put_file(path, "abababab", 8);
    gsa_units units = learn(GSA_TOKENS_CHARS, "abababab", 8, 1, 0);
    gsa_stream_open(NULL, path, GSA_TOKENS_CHARS, 0, -1, NULL, &train, NULL);
    gsa_stream_open(NULL, path, GSA_TOKENS_CHARS, 0, 2, NULL, &held, NULL);
    ck_assert_int_eq(gsa_ngram_losses(&train, &held, &units, &one, &two, NULL), GSA_OK);
    const double p = 5.0 / 11, start = (1 + p) / 2,
                 ab = (4 + p) / 5; /* 3 classes with the unknown one */
    ck_assert_double_eq_tol(one, -log(p), 1e-14);
    ck_assert_double_eq_tol(two, -(log(start) + log(ab)) / 2, 1e-14);
    gsa_stream_release(&train);
    gsa_stream_release(&held);
    gsa_units_release(&units);
    gsa_scratch_close(&scratch);
}
END_TEST

/* ---- malformed ----------------------------------------------------------------------------- */

static const struct {
    int kind;
    const char *bytes;
    int64_t count;
    const char *expected;
} bad[] = {
    { GSA_TOKENS_WORDS, "a\nb \xff c", 7, "t.txt:2: invalid UTF-8 at byte 5 of the file" },
    { GSA_TOKENS_CHARS, "a\nb \xff c", 7, "t.txt:2: invalid UTF-8 at byte 5 of the file" },
    { GSA_TOKENS_WORDS, "\xc3", 1, "t.txt:1: invalid UTF-8 at byte 1 of the file" },
    { GSA_TOKENS_CHARS, "\xe4\xbd", 2, "t.txt:1: invalid UTF-8 at byte 1 of the file" },
    { GSA_TOKENS_CHARS, "\xed\xa0\x80", 3,
      "t.txt:1: invalid UTF-8 at byte 1 of the file" }, /* a surrogate */
    { GSA_TOKENS_CHARS, "\xc0\x80", 2,
      "t.txt:1: invalid UTF-8 at byte 1 of the file" }, /* overlong */
    { GSA_TOKENS_WORDS, "\n\na\0b", 5, "t.txt:3: a NUL at byte 4 of the file" },
};

START_TEST(bad_texts)
{
    gsa_scratch scratch;
    gsa_stream stream;
    gsa_error error;
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "t.txt");
    gsa_put_file(path, bad[_i].bytes, bad[_i].count);
    ck_assert_int_eq(gsa_stream_open(NULL, path, bad[_i].kind, 0, -1, NULL, &stream, &error),
                     GSA_ERR_FORMAT);
    ck_assert_msg(strstr(error.text, bad[_i].expected), "'%s' lacks '%s'", error.text,
                  bad[_i].expected);
    gsa_scratch_close(&scratch);
}
END_TEST

START_TEST(bad_files)
{
    gsa_scratch scratch;
    gsa_stream stream;
    gsa_error error;
    int32_t id[8];
    gsa_scratch_open(&scratch);
    ck_assert_int_eq(
        gsa_stream_open(NULL, gsa_scratch_path(&scratch, "none"), 0, 0, -1, NULL, &stream, &error),
        GSA_ERR_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "none cannot be opened: "));
    ck_assert_int_eq(gsa_stream_open(NULL, scratch.folder, 0, 0, -1, NULL, &stream, &error),
                     GSA_ERR_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "is no regular file"));
    const char *path = gsa_scratch_path(&scratch, "t.txt");
    char *word = malloc(200000);
    memset(word, 'x', 200000), word[0] = '\n';
    gsa_put_file(path, word, 200000);
    ck_assert_int_eq(gsa_stream_open(NULL, path, GSA_TOKENS_WORDS, 0, -1, NULL, &stream, &error),
                     GSA_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(error.text, "t.txt:2: a word of more than 65536 bytes"));
    word[70000] = ' '; /* one that is seen whole is as long */
    gsa_put_file(path, word, 200000);
    ck_assert_int_eq(gsa_stream_open(NULL, path, GSA_TOKENS_WORDS, 0, -1, NULL, &stream, &error),
                     GSA_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(error.text, "t.txt:2: a word of more than 65536 bytes"));
    free(word);
    gsa_put_file(path, "abcdef", 6);
    for (int k = 1; k < 3; k++) {
        const int kind = kinds[k];
        gsa_put_file(path, "abcdef", 6);
        gsa_units units = learn(kind, "abcdef", 6, 1, 0);
        ck_assert_int_eq(gsa_stream_open(NULL, path, kind, 0, -1, NULL, &stream, NULL), GSA_OK);
        gsa_put_file(path, "abc", 3); /* the same file, cut off */
        ck_assert_int_eq(gsa_stream_read(&stream, &units, 1, 5, id, &error), GSA_ERR_IO);
        ck_assert_msg(strstr(error.text, "t.txt has become shorter while it was in use"), "%s",
                      error.text);
        gsa_stream_release(&stream);
        gsa_units_release(&units);
    }
    gsa_scratch_close(&scratch);
}
END_TEST

/* Where not even the line can be found, for the file can no longer be read, it is line 0. */
START_TEST(a_bad_text_that_cannot_be_read_again)
{
    gsa_scratch scratch;
    gsa_stream stream;
    gsa_faults faults;
    gsa_error error;
    gsa_faults_start(&faults);
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "t.txt");
    gsa_put_file(path, "a\nb \xff c", 7);
    ck_assert_int_eq(
        gsa_stream_open(&faults.table, path, GSA_TOKENS_WORDS, 0, -1, NULL, &stream, &error),
        GSA_ERR_FORMAT);
    const int64_t reads = faults.calls[GSA_OP_READ];
    gsa_faults_rewind(&faults);
    faults.fail[GSA_OP_READ] = reads, faults.forever = 1;
    ck_assert_int_eq(
        gsa_stream_open(&faults.table, path, GSA_TOKENS_WORDS, 0, -1, NULL, &stream, &error),
        GSA_ERR_FORMAT);
    ck_assert_msg(strstr(error.text, "t.txt:0: invalid UTF-8 at byte 5 of the file"), "%s",
                  error.text);
    ck_assert_int_eq(gsa_faults_live(&faults), 0);
    gsa_scratch_close(&scratch);
}
END_TEST

/* A text of one long line is cut at its end, and not before its start. */
START_TEST(a_line_is_not_cut)
{
    gsa_scratch scratch;
    gsa_source *source;
    int64_t cut;
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "t.txt");
    char *text = malloc(10000);
    memset(text, 'x', 10000);
    gsa_put_file(path, text, 10000);
    ck_assert_int_eq(gsa_source_open(NULL, path, 0, &source, NULL), GSA_OK);
    for (int64_t at = -1; at <= 10001; at += at < 2 || at > 9997 ? 1 : 2499) {
        ck_assert_int_eq(gsa_stream_cut(source, GSA_TOKENS_WORDS, at, &cut, NULL), GSA_OK);
        ck_assert_int_eq(cut, at <= 0 ? at : 10000);
    }
    gsa_source_release(source);
    free(text);
    gsa_scratch_close(&scratch);
}
END_TEST

/* A file whose tokens became fewer, of as many bytes; and a cut that cannot be read. */
START_TEST(a_text_that_changes)
{
    gsa_scratch scratch;
    gsa_stream stream;
    gsa_source *source;
    gsa_faults faults;
    gsa_error error;
    int32_t id[8];
    int64_t cut;
    gsa_faults_start(&faults);
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "t.txt");
    gsa_put_file(path, "a b c", 5);
    gsa_units units = learn(GSA_TOKENS_WORDS, "a b c", 5, 1, 0);
    ck_assert_int_eq(gsa_stream_open(NULL, path, GSA_TOKENS_WORDS, 0, -1, NULL, &stream, NULL),
                     GSA_OK);
    gsa_put_file(path, "abcde", 5);
    ck_assert_int_eq(gsa_stream_read(&stream, &units, 0, 3, id, &error), GSA_ERR_IO);
    ck_assert_msg(strstr(error.text, "t.txt has changed while it was in use"), "%s", error.text);
    ck_assert_int_eq(gsa_stream_read(&stream, &units, 0, 0, id, &error), GSA_OK);
    gsa_stream_release(&stream);
    gsa_units_release(&units);
    ck_assert_int_eq(gsa_source_open(&faults.table, path, 0, &source, NULL), GSA_OK);
    gsa_faults_rewind(&faults);
    faults.fail[GSA_OP_READ] = 1, faults.forever = 1;
    ck_assert_int_eq(gsa_stream_cut(source, GSA_TOKENS_WORDS, 2, &cut, &error), GSA_ERR_IO);
    gsa_source_release(source);
    ck_assert_int_eq(gsa_faults_live(&faults), 0);
    gsa_scratch_close(&scratch);
}
END_TEST

static gsa_status open_and_read(gsa_faults *faults, void *path)
{
    gsa_stream stream;
    gsa_unit_counts counts = { 0 };
    gsa_error error;
    gsa_units units = { 0 };
    int32_t id[8];
    gsa_status status = gsa_vocabulary_create(&faults->table, &counts.words, &error);
    if (status == GSA_OK)
        status = gsa_stream_open(&faults->table, path, GSA_TOKENS_WORDS, 0, -1, &counts, &stream,
                                 &error);
    if (status == GSA_OK) {
        status = gsa_units_learn(&faults->table, GSA_TOKENS_WORDS, &counts, 1, 0, &units, &error);
        if (status == GSA_OK) status = gsa_stream_read(&stream, &units, 1, 3, id, &error);
        gsa_stream_release(&stream);
    }
    gsa_units_release(&units);
    gsa_vocabulary_release(counts.words);
    return status;
}

START_TEST(every_failure_is_told)
{
    gsa_scratch scratch;
    gsa_scratch_open(&scratch);
    char path[300];
    snprintf(path, sizeof path, "%s", gsa_scratch_path(&scratch, "t.txt"));
    gsa_put_file(path, "a b c\nd e\n", 10);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, open_and_read, path), 3);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_READ, 0, GSA_ERR_IO, open_and_read, path), 2);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_OPEN, 0, GSA_ERR_IO, open_and_read, path), 0);
    gsa_scratch_close(&scratch);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test units[] = { GSA_LOOP(what_a_token_is, GSA_COUNT(splits)),
                                      GSA_LOOP(a_cut_changes_no_token, GSA_COUNT(splits)),
                                      GSA_LOOP(texts_and_ids, 3),
                                      GSA_TEST(rare_words_are_unknown) };
    static const gsa_test streams[] = { GSA_LOOP(any_part_is_as_in_memory, 6),
                                        GSA_LOOP(parts_make_the_whole, 3),
                                        GSA_LOOP(a_byte_order_mark_is_passed_over, 3),
                                        GSA_TEST(counts_of_pairs) };
    static const gsa_test bads[] = { GSA_LOOP(bad_texts, GSA_COUNT(bad)),
                                     GSA_TEST(bad_files),
                                     GSA_TEST(a_bad_text_that_cannot_be_read_again),
                                     GSA_TEST(a_line_is_not_cut),
                                     GSA_TEST(a_text_that_changes),
                                     GSA_TEST(every_failure_is_told) };
    static const gsa_case cases[] = { GSA_CASE("units", units, 30),
                                      GSA_CASE("streams", streams, 60), GSA_CASE("bad", bads, 60) };
    return gsa_run_suite("stream", cases, GSA_COUNT(cases), argc, argv);
}
