/* safetensors: golden bytes, round trips, damage, a table of malformed headers, faults. */
#include <fcntl.h>
#include <unistd.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/utf8.h"
#include "gsa/safetensors.h"
#include "scratch.h"
#include "tensor_file.h"
#include "support/compare.h"
#include "support/faults.h"
#include "support/suite.h"

/* Eight bytes of length and a header; `extra` bytes 0, 1, 2, ... as data. */
static void put_header(const char *path, const char *header, int64_t length, int extra)
{
    char file[4096];
    ck_assert_int_le(8 + length + extra, sizeof file);
    for (int i = 0; i < 8; i++) file[i] = (char)((uint64_t)length >> 8 * i & 0xff);
    memcpy(file + 8, header, (size_t)length);
    for (int i = 0; i < extra; i++) file[8 + length + i] = (char)i;
    gsa_put_file(path, file, 8 + length + extra);
}

/* ---- golden -------------------------------------------------------------------------------- */

static const float golden_w[6] = { 0, 1, 2, -1, 0.5f, 1e-3f };
static const int64_t golden_step[1] = { -2 };
static const gsa_blob golden_blobs[] = {
    { "w", GSA_DTYPE_F32, 2, { 2, 3 }, golden_w },
    { "step", GSA_DTYPE_I64, 0, { 0 }, golden_step },
};
static const gsa_note golden_notes[] = { { "model", "star \"1\"\n" } };
#define GOLDEN_HEADER                                                                              \
    "{\"__metadata__\":{\"model\":\"star "                                                         \
    "\\\"1\\\"\\u000a\"},\"step\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]},"        \
    "\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[8,32]}}    "
#define GOLDEN_DATA                                                                                \
    "\xfe\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x80" \
    "\xbf\x00\x00\x00\x3f\x6f"                                                                     \
    "\x12"                                                                                         \
    "\x83\x3a"

static void write_golden(const char *path)
{
    gsa_error error = { 0 };
    ck_assert_msg(gsa_write_tensors(NULL, path, golden_blobs, 2, golden_notes, 1, &error) == GSA_OK,
                  "%s", error.text);
}

START_TEST(tiny_file_has_these_bytes)
{
    static const char expected[] = "\xa0\x00\x00\x00\x00\x00\x00\x00" GOLDEN_HEADER GOLDEN_DATA;
    gsa_scratch scratch;
    int64_t bytes;
    gsa_scratch_open(&scratch);
    write_golden(gsa_scratch_path(&scratch, "t"));
    char *file = gsa_get_file(gsa_scratch_path(&scratch, "t"), &bytes);
    ck_assert_int_eq(bytes, sizeof expected - 1);
    ck_assert_mem_eq(file, expected, sizeof expected - 1);
    free(file);
    gsa_scratch_close(&scratch);
}
END_TEST

START_TEST(empty_set_is_a_file)
{
    gsa_scratch scratch;
    gsa_safetensors file;
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "t");
    ck_assert_int_eq(gsa_write_tensors(NULL, path, NULL, 0, NULL, 0, NULL), GSA_OK);
    ck_assert_int_eq(gsa_safetensors_read(NULL, path, &file, NULL), GSA_OK);
    ck_assert_int_eq(file.count, 0);
    ck_assert_int_eq(file.n_notes, 0);
    ck_assert_ptr_null(gsa_safetensors_find(&file, "w"));
    ck_assert_ptr_null(gsa_safetensors_note(&file, "w"));
    gsa_safetensors_release(&file);
    gsa_scratch_close(&scratch);
}
END_TEST

/* ---- round trip ---------------------------------------------------------------------------- */

enum { MOST_BLOBS = 20, MOST_NOTES = 5, MOST_NAME = 40, MOST_DATA = 4096 };
static const int64_t width_of[] = { 4, 8, 4, 8, 1 };

typedef struct set {
    gsa_blob blobs[MOST_BLOBS];
    gsa_note notes[MOST_NOTES];
    char names[MOST_BLOBS][MOST_NAME], keys[MOST_NOTES][MOST_NAME], values[MOST_NOTES][MOST_NAME];
    char data[MOST_BLOBS][MOST_DATA];
    int count, n_notes;
} set;

/* A number makes it unique; then characters of every length, quotes and controls among them. */
static void roll_text(gsa_dice *dice, int number, char out[MOST_NAME])
{
    static const char *const pieces[] = { "a",
                                          "\"",
                                          "\\",
                                          "/",
                                          "\x01",
                                          "\n",
                                          "\t",
                                          "\x7f",
                                          "é",
                                          "€",
                                          "\xf0\x9f\x8c\xb3",
                                          "\xef\xbf\xbf",
                                          ".",
                                          " ",
                                          "{",
                                          "}",
                                          ",",
                                          ":",
                                          "\\u0041",
                                          "\x1f" };
    int used = snprintf(out, MOST_NAME, "%d", number);
    for (int n = (int)gsa_between(dice, 0, 5); n > 0; n--)
        used += snprintf(out + used, (size_t)(MOST_NAME - used), "%s",
                         pieces[gsa_between(dice, 0, GSA_COUNT(pieces) - 1)]);
}

static void roll_blob(gsa_dice *dice, set *s, int i)
{
    gsa_blob *blob = &s->blobs[i];
    roll_text(dice, i, s->names[i]);
    *blob = (gsa_blob){ s->names[i],
                        (int32_t)gsa_between(dice, 0, 4),
                        (int32_t)gsa_between(dice, 0, 4),
                        { 0 },
                        s->data[i] };
    for (int d = 0; d < blob->dims; d++)
        blob->shape[d] = gsa_between(dice, gsa_between(dice, 0, 3) == 0 ? 0 : 1, 4);
    for (int b = 0; b < MOST_DATA; b++) s->data[i][b] = (char)gsa_roll(dice);
}

static void roll_set(gsa_dice *dice, set *s)
{
    s->count = (int)gsa_between(dice, 0, MOST_BLOBS);
    s->n_notes = (int)gsa_between(dice, 0, MOST_NOTES);
    for (int i = 0; i < s->count; i++) roll_blob(dice, s, i);
    for (int i = 0; i < s->n_notes; i++) {
        roll_text(dice, i, s->keys[i]);
        roll_text(dice, i, s->values[i]);
        s->notes[i] = (gsa_note){ s->keys[i], s->values[i] };
    }
}

static void same_set(const set *s, const gsa_safetensors *file)
{
    ck_assert_int_eq(file->count, s->count);
    ck_assert_int_eq(file->n_notes, s->n_notes);
    for (int i = 0; i < s->count; i++) {
        const gsa_blob *want = &s->blobs[i], *got = gsa_safetensors_find(file, want->name);
        ck_assert_ptr_nonnull(got);
        ck_assert_int_eq(got->dtype, want->dtype);
        ck_assert_int_eq(got->dims, want->dims);
        ck_assert_mem_eq(got->shape, want->shape, (size_t)want->dims * sizeof *want->shape);
        ck_assert_int_eq(gsa_blob_count(got), gsa_blob_count(want));
        ck_assert_mem_eq(got->data, want->data,
                         (size_t)(gsa_blob_count(want) * width_of[want->dtype]));
        ck_assert_uint_eq((uintptr_t)got->data % 8, 0);
    }
    for (int i = 0; i < s->n_notes; i++)
        ck_assert_str_eq(gsa_safetensors_note(file, s->keys[i]), s->values[i]);
}

START_TEST(random_sets_come_back)
{
    static set s;
    gsa_dice dice = { 20240601 };
    gsa_scratch scratch;
    gsa_faults faults;
    gsa_faults_start(&faults);
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "t");
    for (int round = 0; round < 500; round++) {
        gsa_error error = { 0 };
        gsa_safetensors file;
        roll_set(&dice, &s);
        faults.most = round % 2 ? gsa_between(&dice, 1, 50) : 0; /* short reads */
        ck_assert_msg(gsa_write_tensors(NULL, path, s.blobs, s.count, s.notes, s.n_notes, &error) ==
                          GSA_OK,
                      "%s", error.text);
        ck_assert_msg(gsa_safetensors_read(&faults.table, path, &file, &error) == GSA_OK, "%s",
                      error.text);
        same_set(&s, &file);
        gsa_safetensors_release(&file);
        ck_assert_int_eq(gsa_faults_live(&faults), 0);
    }
    gsa_scratch_close(&scratch);
}
END_TEST

/* Headers that are odd and right: white space, escapes, any order of keys and tensors, padding. */
START_TEST(odd_but_valid_headers)
{
    static const char *const headers[] = {
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
        " ",
        "{ \"a\" : { \"shape\" : [ 1 , 1 ] ,\t\"data_offsets\":\n[ 0 , 4 ] ,\r\n \"dtype\" : "
        "\"F32\" } }   \n",
        "{\"\\u0061\":{\"d\\u0074ype\":\"\\u0046\\u00332\",\"shape\":[1],\"data_offsets\":[0,4]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,4]},\"b\":{\"dtype\":\"U8\","
        "\"shape\":[2],\"data_"
        "offsets\":[0,2]}}",
        "{\"a\":{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[0,4]},\"__metadata__\":{}}",
        "{\"z\":{\"dtype\":\"F64\",\"shape\":[0],\"data_offsets\":[0,0]},\"a\":{\"dtype\":\"F32\","
        "\"shape\":[1],\"data_"
        "offsets\":[0,4]},"
        "\"y\":{\"dtype\":\"F64\",\"shape\":[3,0],\"data_offsets\":[4,4]}}",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"z\":{\"dtype\":\"F64\","
        "\"shape\":[0],\"data_offsets\":[0,0]}}",
    };
    gsa_scratch scratch;
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "t");
    for (int i = 0; i < GSA_COUNT(headers); i++) {
        gsa_error error = { 0 };
        gsa_safetensors file;
        put_header(path, headers[i], (int64_t)strlen(headers[i]), 4);
        const gsa_status status = gsa_safetensors_read(NULL, path, &file, &error);
        if (i == 1) {
            ck_assert_int_eq(status, GSA_ERR_FORMAT); /* the header must start with '{' */
            continue;
        }
        ck_assert_msg(status == GSA_OK, "header %d: %s", i, error.text);
        const unsigned char *a = gsa_safetensors_find(&file, "a")->data;
        ck_assert_int_eq(a[1], i == 4 ? 3 : 1);
        gsa_safetensors_release(&file);
    }
    gsa_scratch_close(&scratch);
}
END_TEST

START_TEST(escapes_are_decoded)
{
    static const char header[] =
        "{\"__metadata__\":{\"k\":\"\\\"\\\\\\/"
        "\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20AC\\uD83C\\uDF33\\uffff\\u0001\"}}";
    gsa_scratch scratch;
    gsa_safetensors file;
    gsa_error error = { 0 };
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "t");
    put_header(path, header, sizeof header - 1, 0);
    ck_assert_msg(gsa_safetensors_read(NULL, path, &file, &error) == GSA_OK, "%s", error.text);
    ck_assert_str_eq(gsa_safetensors_note(&file, "k"),
                     "\"\\/\b\f\n\r\tAé€\xf0\x9f\x8c\xb3\xef\xbf\xbf\x01");
    gsa_safetensors_release(&file);
    gsa_scratch_close(&scratch);
}
END_TEST

/* ---- damage -------------------------------------------------------------------------------- */

static gsa_status read_bytes(const char *path, const char *bytes, int64_t count,
                             gsa_safetensors *file, gsa_error *error)
{
    gsa_put_file(path, bytes, count);
    error->text[0] = 0;
    const gsa_status status = gsa_safetensors_read(NULL, path, file, error);
    if (status != GSA_OK) {
        ck_assert_int_eq(status, GSA_ERR_FORMAT);
        ck_assert_ptr_nonnull(strstr(error->text, path));
        ck_assert_int_lt(gsa_utf8_invalid(error->text, (int64_t)strlen(error->text)), 0);
    }
    return status;
}

START_TEST(every_truncation_is_rejected)
{
    gsa_scratch scratch;
    gsa_safetensors file;
    gsa_error error;
    int64_t bytes;
    gsa_scratch_open(&scratch);
    write_golden(gsa_scratch_path(&scratch, "t"));
    char *good = gsa_get_file(gsa_scratch_path(&scratch, "t"), &bytes);
    const char *path = gsa_scratch_path(&scratch, "cut");
    for (int64_t length = 0; length < bytes; length++) {
        ck_assert_int_eq(read_bytes(path, good, length, &file, &error), GSA_ERR_FORMAT);
        ck_assert_ptr_nonnull(strstr(error.text, "cut short"));
    }
    free(good);
    gsa_scratch_close(&scratch);
}
END_TEST

/* What was accepted may differ in one text, a name or a note, and in nothing else. */
static void harmless(const gsa_safetensors *file, int64_t bit)
{
    int texts = 0;
    ck_assert_msg(file->count == 2 && file->n_notes == 1, "bit %lld", (long long)bit);
    for (int i = 0; i < 2; i++) {
        const gsa_blob *want = &golden_blobs[1 - i], *got = &file->blobs[i];
        texts += strcmp(got->name, want->name) != 0;
        ck_assert_int_eq(got->dtype, want->dtype);
        ck_assert_int_eq(got->dims, want->dims);
        ck_assert_mem_eq(got->shape, want->shape, (size_t)want->dims * sizeof *want->shape);
        ck_assert_mem_eq(got->data, want->data,
                         (size_t)(gsa_blob_count(want) * width_of[want->dtype]));
    }
    texts += strcmp(file->notes[0].key, golden_notes[0].key) != 0;
    texts += strcmp(file->notes[0].value, golden_notes[0].value) != 0;
    ck_assert_msg(texts <= 1, "bit %lld", (long long)bit);
}

START_TEST(every_flipped_bit_of_the_header)
{
    gsa_scratch scratch;
    gsa_safetensors file;
    gsa_error error;
    int64_t bytes, rejected = 0;
    gsa_scratch_open(&scratch);
    write_golden(gsa_scratch_path(&scratch, "t"));
    char *text = gsa_get_file(gsa_scratch_path(&scratch, "t"), &bytes);
    const char *path = gsa_scratch_path(&scratch, "flipped");
    const int64_t bits = (8 + (int64_t)strlen(GOLDEN_HEADER)) * 8;
    for (int64_t bit = 0; bit < bits; bit++) {
        text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
        if (read_bytes(path, text, bytes, &file, &error) != GSA_OK) rejected++;
        else harmless(&file, bit), gsa_safetensors_release(&file);
        text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
    }
    ck_assert_int_gt(rejected, bits * 3 / 4); /* else the test proves little */
    free(text);
    gsa_scratch_close(&scratch);
}
END_TEST

/* Random bytes over a good header: never a crash, never a file that is not consistent. */
START_TEST(random_damage_is_survived)
{
    gsa_dice dice = { 77 };
    gsa_scratch scratch;
    gsa_safetensors file;
    gsa_error error;
    int64_t bytes;
    gsa_scratch_open(&scratch);
    write_golden(gsa_scratch_path(&scratch, "t"));
    char *good = gsa_get_file(gsa_scratch_path(&scratch, "t"), &bytes);
    char *text = malloc((size_t)bytes);
    const char *path = gsa_scratch_path(&scratch, "damaged");
    for (int round = 0; round < 3000; round++) {
        static const char likely[] = "{}[]\",:\\u0123456789dF- \n\0\xc3\xff";
        memcpy(text, good, (size_t)bytes);
        for (int n = (int)gsa_between(&dice, 1, 4); n > 0; n--)
            text[gsa_between(&dice, 8, bytes - 33)] =
                likely[gsa_between(&dice, 0, sizeof likely - 2)];
        if (read_bytes(path, text, bytes, &file, &error) == GSA_OK) gsa_safetensors_release(&file);
    }
    free(text);
    free(good);
    gsa_scratch_close(&scratch);
}
END_TEST

/* ---- malformed ----------------------------------------------------------------------------- */

#define TENSOR(name, dtype, shape, from, to)                                                       \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" from "," to "]" \
    "}"
#define GOOD             TENSOR("a", "F32", "[1]", "0", "4")
#define SHAPED(shape)    "{" TENSOR("a", "F32", shape, "0", "4") "}"
#define PLACED(from, to) "{" TENSOR("a", "F32", "[1]", from, to) "}"
#define NAMED(name)      "{\"" name "\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}"
#define NOTED(notes)     "{\"__metadata__\":" notes "," GOOD "}"

typedef struct malformed {
    const char *header;
    int data; /* bytes */
    const char *says;
} malformed;

/* clang-format off */
static const malformed headers[] = {
    /* header                                                       data  the sentence holds */
    /* ---- around */
    { "",                                                           4, "byte 8: expected '{' at the start of the header, found the end of the header" },
    { "[]",                                                         0, "expected '{' at the start of the header, found '['" },
    { " {}",                                                        0, "expected '{' at the start of the header, found the byte 0x20" },
    { "null",                                                       0, "expected '{' at the start of the header, found 'n'" },
    { "{",                                                          0, "byte 9: expected '\"' before a tensor's name, found the end of the header" },
    { "{" GOOD,                                                     4, "expected ',' or '}' around the header, found the end of the header" },
    { "{" GOOD "]",                                                 4, "expected ',' or '}' around the header, found ']'" },
    { "{" GOOD ",}",                                                4, "expected '\"' before a tensor's name, found '}'" },
    { "{," GOOD "}",                                                4, "expected '\"' before a tensor's name, found ','" },
    { "{" GOOD " " GOOD "}",                                        4, "expected ',' or '}' around the header, found '\"'" },
    { "{" GOOD "}{}",                                               4, "expected the end of the header, found '{'" },
    { "{" GOOD "}x",                                                4, "expected the end of the header, found 'x'" },
    { "{'a':{}}",                                                   4, "expected '\"' before a tensor's name, found '''" },
    { "{a:{}}",                                                     4, "expected '\"' before a tensor's name, found 'a'" },
    { "{\"a\"{}}",                                                  4, "expected ':' after a tensor's name, found '{'" },
    { "{\"a\":[]}",                                                 4, "expected '{' around a tensor's facts, found '['" },
    { "{\"a\":1}",                                                  4, "expected '{' around a tensor's facts, found '1'" },
    { "{\"a\":null}",                                               4, "expected '{' around a tensor's facts, found 'n'" },
    { "{\"a\":{\"a\":{\"a\":{}}}}",                                 4, "'a' of 'a' is not one of dtype, shape, data_offsets" },
    { "{\"a\":{" GOOD "}}",                                         4, "'a' of 'a' is not one of dtype" },
    { "{/**/" GOOD "}",                                             4, "expected '\"' before a tensor's name, found '/'" },
    { "\xef\xbb\xbf{" GOOD "}",                                     4, "expected '{' at the start of the header, found the byte 0xef" },
    /* ---- facts */
    { "{\"a\":{}}",                                                 4, "'a' has no dtype" },
    { "{\"a\":{\"dtype\":\"F32\"}}",                                4, "'a' has no shape" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}",                  4, "'a' has no data_offsets" },
    { "{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}",             4, "'a' has no dtype" },
    { "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}",              4, "'dtype' of 'a' occurs twice" },
    { "{\"a\":{\"shape\":[1],\"shape\":[1]}}",                      4, "'shape' of 'a' occurs twice" },
    { "{\"a\":{\"data_offsets\":[0,4],\"data_offsets\":[0,4]}}",    4, "'data_offsets' of 'a' occurs twice" },
    { "{\"a\":{\"Dtype\":\"F32\"}}",                                4, "'Dtype' of 'a' is not one of dtype, shape, data_offsets" },
    { "{\"a\":{\"dtype\":32}}",                                     4, "expected '\"' before a dtype, found '3'" },
    { "{\"a\":{\"dtype\" \"F32\"}}",                                4, "expected ':' after a key, found '\"'" },
    { "{" TENSOR("a", "BF16", "[2]", "0", "4") "}",                 4, "the dtype 'BF16' of 'a' is not one of F32, F64, I32, I64, U8" },
    { "{" TENSOR("a", "f32", "[1]", "0", "4") "}",                  4, "the dtype 'f32' of 'a' is not one of" },
    { "{" TENSOR("a", "", "[1]", "0", "4") "}",                     4, "the dtype '' of 'a' is not one of" },
    { "{" TENSOR("a", "F64", "[1]", "0", "4") "}",                  4, "'a' has 4 bytes of data, and its dtype and shape make 8" },
    { "{" TENSOR("a", "U8", "[1]", "0", "4") "}",                   4, "'a' has 4 bytes of data, and its dtype and shape make 1" },
    /* ---- shapes */
    { SHAPED("[2]"),                                                4, "'a' has 4 bytes of data, and its dtype and shape make 8" },
    { SHAPED("[0]"),                                                4, "'a' has 4 bytes of data, and its dtype and shape make 0" },
    { SHAPED("1"),                                                  4, "expected '[' around a shape, found '1'" },
    { SHAPED("[1.0]"),                                              4, "expected an integer >= 0 in shape of 'a', found '.'" },
    { SHAPED("[1e0]"),                                              4, "expected an integer >= 0 in shape of 'a', found 'e'" },
    { SHAPED("[1E0]"),                                              4, "expected an integer >= 0 in shape of 'a', found 'E'" },
    { SHAPED("[-1]"),                                               4, "expected an integer >= 0 in shape of 'a', found '-'" },
    { SHAPED("[+1]"),                                               4, "expected an integer >= 0 in shape of 'a', found '+'" },
    { SHAPED("[01]"),                                               4, "a number in shape of 'a' starts with a 0" },
    { SHAPED("[0x1]"),                                              4, "expected ',' or ']' around a shape, found 'x'" },
    { SHAPED("[\"1\"]"),                                            4, "expected an integer >= 0 in shape of 'a', found '\"'" },
    { SHAPED("[true]"),                                             4, "expected an integer >= 0 in shape of 'a', found 't'" },
    { SHAPED("[[1]]"),                                              4, "expected an integer >= 0 in shape of 'a', found '['" },
    { SHAPED("[1,]"),                                               4, "expected an integer >= 0 in shape of 'a', found ']'" },
    { SHAPED("[,1]"),                                               4, "expected an integer >= 0 in shape of 'a', found ','" },
    { SHAPED("[1 1]"),                                              4, "expected ',' or ']' around a shape, found '1'" },
    { SHAPED("[1}"),                                                4, "expected ',' or ']' around a shape, found '}'" },
    { SHAPED("[1,1,1,1,1]"),                                        4, "shape of 'a' has more than 4 numbers" },
    { SHAPED("[9223372036854775808]"),                              4, "a number in shape of 'a' exceeds 9223372036854775807" },
    { SHAPED("[99999999999999999999999999]"),                       4, "a number in shape of 'a' exceeds 9223372036854775807" },
    { SHAPED("[9223372036854775807]"),                              4, "the shape of 'a' is too large to be counted" },
    { SHAPED("[4294967296,4294967296]"),                            4, "the shape of 'a' is too large to be counted" },
    /* times 4 is 4 modulo 2^64 */
    { SHAPED("[4611686018427387905]"),                              4, "the shape of 'a' is too large to be counted" },
    { SHAPED("[0,9223372036854775807,2]"),                          0, "the shape of 'a' is too large to be counted" },
    /* ---- offsets */
    { PLACED("0", "4.0"),                                           4, "expected an integer >= 0 in data_offsets of 'a', found '.'" },
    { PLACED("-0", "4"),                                            4, "expected an integer >= 0 in data_offsets of 'a', found '-'" },
    { PLACED("0", "-4"),                                            4, "expected an integer >= 0 in data_offsets of 'a', found '-'" },
    { PLACED("0", "4,8"),                                           8, "data_offsets of 'a' has more than 2 numbers" },
    { PLACED("4", "0"),                                             4, "data_offsets of 'a' fall, from 4 to 0" },
    { PLACED("0", "18446744073709551620"),                          4, "a number in data_offsets of 'a' exceeds" },
    { PLACED("9223372036854775803", "9223372036854775807"),         4, "the data of 'a' begins at 9223372036854775803, which leaves a hole" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4]}}", 4, "data_offsets of 'a' has 1 numbers, not 2" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[]}}",  4, "data_offsets of 'a' has 0 numbers, not 2" },
    { PLACED("0", "5"),                                             5, "'a' has 5 bytes of data, and its dtype and shape make 4" },
    { PLACED("4", "8"),                                             8, "the data of 'a' begins at 4, which leaves a hole: the data before it ends at 0" },
    { "{" GOOD "," TENSOR("b", "F32", "[1]", "5", "9") "}",         9, "the data of 'b' begins at 5, which leaves a hole: the data before it ends at 4" },
    { "{" GOOD "," TENSOR("b", "F32", "[1]", "3", "7") "}",         7, "the data of 'b' begins at 3, which leaves an overlap: the data before it ends at 4" },
    { "{" GOOD "," TENSOR("b", "F32", "[1]", "0", "4") "}",         4, "begins at 0, which leaves an overlap: the data before it ends at 4" },
    { "{" TENSOR("b", "U8", "[2]", "2", "4") "," GOOD "}",          4, "the data of 'b' begins at 2, which leaves an overlap" },
    { "{" GOOD "," TENSOR("z", "U8", "[0]", "2", "2") "}",          4, "the data of 'z' begins at 2, which leaves an overlap" },
    { "{" GOOD "}",                                                 3, "is cut short: its header describes 4 bytes of data and 3 are there" },
    { "{" GOOD "}",                                                 0, "is cut short: its header describes 4 bytes of data and 0 are there" },
    { "{" GOOD "}",                                                 5, "has trailing bytes: its header describes 4 bytes of data and 5 are there" },
    { "{}",                                                         1, "has trailing bytes: its header describes 0 bytes of data and 1 are there" },
    /* ---- names */
    { "{" GOOD "," TENSOR("a", "F32", "[1]", "4", "8") "}",         8, "the name 'a' occurs twice in the header" },
    { "{" GOOD "," TENSOR("\\u0061", "F32", "[1]", "4", "8") "}",   8, "the name 'a' occurs twice in the header" },
    { NAMED("a\\x41"),                                              4, "a string holds an escape that JSON does not know" },
    { NAMED("a\\'"),                                                4, "a string holds an escape that JSON does not know" },
    { NAMED("\\u12"),                                               4, "\\u in a string is not followed by four hexadecimal digits" },
    { NAMED("\\u12g4"),                                             4, "\\u in a string is not followed by four hexadecimal digits" },
    { NAMED("\\U0041"),                                             4, "a string holds an escape that JSON does not know" },
    { NAMED("\\u0000"),                                             4, "a string holds \\u0000" },
    { NAMED("\\ud83c"),                                             4, "a string holds a lone surrogate, \\ud83c" },
    { NAMED("\\ud83cx"),                                            4, "a string holds a lone surrogate, \\ud83c" },
    { NAMED("\\ud83c\\n"),                                          4, "a string holds a lone surrogate, \\ud83c" },
    { NAMED("\\ud83c\\u0041"),                                      4, "a string holds a lone surrogate, \\ud83c" },
    { NAMED("\\ud83c\\ud83c"),                                      4, "a string holds a lone surrogate, \\ud83c" },
    { NAMED("\\ud83c\\ue000"),                                      4, "a string holds a lone surrogate, \\ud83c" },
    { NAMED("\\udf33"),                                             4, "a string holds a lone surrogate, \\udf33" },
    { NAMED("\\udf33\\ud83c"),                                      4, "a string holds a lone surrogate, \\udf33" },
    { NAMED("a\nb"),                                                4, "a string holds the control character 0x0a" },
    { NAMED("a\x1f"),                                               4, "a string holds the control character 0x1f" },
    { NAMED("\xff"),                                                4, "byte 10: the header is not valid UTF-8" },
    { NAMED("\xc0\x80"),                                            4, "byte 10: the header is not valid UTF-8" },
    { NAMED("\xed\xa0\x80"),                                        4, "byte 10: the header is not valid UTF-8" },
    { NAMED("\xf4\x90\x80\x80"),                                    4, "byte 10: the header is not valid UTF-8" },
    { NAMED("\xe2\x82"),                                            4, "byte 10: the header is not valid UTF-8" },
    { "{\"a",                                                       4, "a string does not end" },
    { "{\"a\\\"",                                                   4, "a string does not end" },
    { "{\"a\\",                                                     4, "a string holds an escape that JSON does not know" },
    { "{\"a\\u00",                                                  4, "\\u in a string is not followed by four hexadecimal digits" },
    { "{\"a\\ud83c",                                                4, "a string holds a lone surrogate" },
    /* ---- metadata */
    { NOTED("[]"),                                                  4, "expected '{' around __metadata__, found '['" },
    { NOTED("null"),                                                4, "expected '{' around __metadata__, found 'n'" },
    { NOTED("{\"k\":1}"),                                           4, "expected '\"' before a value of __metadata__, found '1'" },
    { NOTED("{\"k\":{}}"),                                          4, "expected '\"' before a value of __metadata__, found '{'" },
    { NOTED("{\"k\":null}"),                                        4, "expected '\"' before a value of __metadata__, found 'n'" },
    { NOTED("{\"k\"}"),                                             4, "expected ':' after a key of __metadata__, found '}'" },
    { NOTED("{1:\"v\"}"),                                           4, "expected '\"' before a key of __metadata__, found '1'" },
    { NOTED("{\"k\":\"v\",}"),                                      4, "expected '\"' before a key of __metadata__, found '}'" },
    { NOTED("{\"k\":\"v\" \"l\":\"v\"}"),                           4, "expected ',' or '}' around __metadata__, found '\"'" },
    { NOTED("{\"k\":\"v\",\"k\":\"w\"}"),                           4, "the name 'k' occurs twice in the header" },
    { NOTED("{\"k\":\"\\ud83c\"}"),                                 4, "a string holds a lone surrogate" },
    { NOTED("{\"k\":\"\\ud83c\\uz\"}"),                            4, "\\u in a string is not followed by four hexadecimal digits" },
    { "{\"__metadata__\":{},\"__metadata__\":{}}",                  0, "'__metadata__' occurs twice" },
    { NAMED("__metadata__"),                                        4, "expected '\"' before a value of __metadata__, found '['" },
};
/* clang-format on */

START_TEST(malformed_header_is_named)
{
    const malformed *m = &headers[_i];
    gsa_scratch scratch;
    gsa_safetensors file;
    gsa_error error = { 0 };
    gsa_faults faults;
    gsa_faults_start(&faults);
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "t");
    put_header(path, m->header, (int64_t)strlen(m->header), m->data);
    const gsa_status status = gsa_safetensors_read(&faults.table, path, &file, &error);
    ck_assert_msg(status == GSA_ERR_FORMAT, "%s: status %d", m->header, (int)status);
    ck_assert_msg(strstr(error.text, m->says) != NULL, "%s\nsays     %s\nexpected %s", m->header,
                  error.text, m->says);
    ck_assert_ptr_nonnull(strstr(error.text, path));
    ck_assert_int_eq(gsa_faults_live(&faults), 0);
    gsa_scratch_close(&scratch);
}
END_TEST

/* Lengths that lie, and a zero byte in the header. */
START_TEST(malformed_length_is_named)
{
    static const struct {
        const char *bytes;
        int count;
        const char *says;
    } files[] = {
        { "", 0, "is cut short: 0 of the 8 bytes of its header length are there" },
        { "\1\0\0\0\0\0\0", 7, "is cut short: 7 of the 8 bytes of its header length are there" },
        { "\2\0\0\0\0\0\0\0{", 9, "is cut short: its header has 2 bytes and 1 are there" },
        { "\1\xe1\xf5\5\0\0\0\0{}", 10,
          "says that its header has 100000001 bytes, and the limit is 100000000" },
        { "\xff\xff\xff\xff\xff\xff\xff\xff{}", 10,
          "says that its header has 18446744073709551615 bytes" },
        { "\0\0\0\0\0\0\0\x80{}", 10, "says that its header has 9223372036854775808 bytes" },
        { "\0\xe1\xf5\5\0\0\0\0{}", 10,
          "is cut short: its header has 100000000 bytes and 2 are there" },
        { "\3\0\0\0\0\0\0\0{}\0", 11,
          "byte 10: expected the end of the header, found the byte 0x00" },
        { "\4\0\0\0\0\0\0\0{\"\0\"", 12, "a string holds the control character 0x00" },
    };
    gsa_scratch scratch;
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "t");
    for (int i = 0; i < GSA_COUNT(files); i++) {
        gsa_safetensors file;
        gsa_error error;
        ck_assert_int_eq(read_bytes(path, files[i].bytes, files[i].count, &file, &error),
                         GSA_ERR_FORMAT);
        ck_assert_msg(strstr(error.text, files[i].says) != NULL, "file %d says %s", i, error.text);
    }
    gsa_scratch_close(&scratch);
}
END_TEST

/* The reason survives a name of a megabyte. */
START_TEST(long_names_do_not_hide_the_reason)
{
    enum { LONG = 1 << 20 };
    gsa_scratch scratch;
    gsa_safetensors file;
    gsa_error error;
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "t");
    char *text = malloc(LONG + 200);
    const int64_t length =
        LONG + 3 + (int64_t)strlen("{\"dtype\":\"F32\",\"shape\":[7],\"data_offsets\":[0,4]}}") + 1;
    memset(text, 0, 8);
    for (int i = 0; i < 8; i++) text[i] = (char)((uint64_t)length >> 8 * i & 0xff);
    memcpy(text + 8, "{\"", 2);
    memset(text + 10, 'n', LONG);
    sprintf(text + 10 + LONG, "\":{\"dtype\":\"F32\",\"shape\":[7],\"data_offsets\":[0,4]}}");
    ck_assert_int_eq(read_bytes(path, text, 8 + length, &file, &error), GSA_ERR_FORMAT);
    ck_assert_msg(strstr(error.text, "its dtype and shape make 28") != NULL, "%s", error.text);
    free(text);
    gsa_scratch_close(&scratch);
}
END_TEST

/* ---- faults -------------------------------------------------------------------------------- */

static gsa_status try_reading(gsa_faults *faults, void *path)
{
    gsa_safetensors file;
    const gsa_status status = gsa_safetensors_read(&faults->table, path, &file, NULL);
    if (status == GSA_OK) {
        ck_assert_int_eq(file.count, 2);
        gsa_safetensors_release(&file);
    }
    return status;
}

static gsa_status try_writing(gsa_faults *faults, void *path)
{
    gsa_error error = { 0 };
    const gsa_status status =
        gsa_write_tensors(&faults->table, path, golden_blobs, 2, golden_notes, 1, &error);
    ck_assert_int_eq(status == GSA_OK, error.text[0] == 0);
    return status;
}

START_TEST(every_fault_is_reported)
{
    static char path[512];
    gsa_scratch scratch;
    gsa_scratch_open(&scratch);
    snprintf(path, sizeof path, "%s", gsa_scratch_path(&scratch, "t"));
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, try_writing, path), 0);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_WRITE, 0, GSA_ERR_IO, try_writing, path), 0);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_CLOSE, 0, GSA_ERR_IO, try_writing, path), 0);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, try_reading, path), 0);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_OPEN, 0, GSA_ERR_IO, try_reading, path), 0);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_READ, 0, GSA_ERR_IO, try_reading, path), 0);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_KIND, 1, GSA_OK, try_reading, path), 0);
    gsa_scratch_close(&scratch);
}
END_TEST

/* Where the size is not known beforehand (a pipe), the end tells. */
START_TEST(size_is_not_known)
{
    static const char header[] = "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}";
    static const char *const says[] = { "is cut short: 3 of the 4 bytes of its data are there",
                                        NULL, "has trailing bytes after the 4 of its data" };
    gsa_scratch scratch;
    gsa_faults faults;
    gsa_faults_start(&faults);
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "t");
    for (int i = 0; i < 3; i++) {
        gsa_error error = { 0 };
        gsa_safetensors file;
        put_header(path, header, sizeof header - 1, 3 + i);
        gsa_faults_rewind(&faults);
        faults.fail[GSA_OP_KIND] = 1;
        const gsa_status status = gsa_safetensors_read(&faults.table, path, &file, &error);
        ck_assert_int_eq(status, says[i] ? GSA_ERR_FORMAT : GSA_OK);
        if (says[i]) ck_assert_msg(strstr(error.text, says[i]) != NULL, "%s", error.text);
        else gsa_safetensors_release(&file);
        ck_assert_int_eq(gsa_faults_live(&faults), 0);
    }
    /* nor how much memory is requested: more than there can be (the last allocation, which a
     * sanitizer would not let pass) */
    static const char vast[] = "{\"a\":{\"dtype\":\"U8\",\"shape\":[9223372036854775807],"
                               "\"data_offsets\":[0,9223372036854775807]}}";
    gsa_safetensors file;
    const int64_t last = faults.calls[GSA_OP_ALLOC];
    put_header(path, vast, sizeof vast - 1, 4);
    gsa_faults_rewind(&faults);
    faults.fail[GSA_OP_KIND] = 1, faults.fail[GSA_OP_ALLOC] = last;
    faults.table.stamp = NULL;
    ck_assert_int_eq(gsa_safetensors_read(&faults.table, path, &file, NULL), GSA_ERR_MEMORY);
    ck_assert_int_eq(gsa_faults_live(&faults), 0);
    gsa_scratch_close(&scratch);
}
END_TEST

START_TEST(standard_input_is_a_file)
{
    static const char header[] = "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}";
    gsa_scratch scratch;
    gsa_safetensors file;
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "t");
    put_header(path, header, sizeof header - 1, 4);
    ck_assert_ptr_nonnull(freopen(path, "rb", stdin));
    ck_assert_int_eq(gsa_safetensors_read(NULL, "-", &file, NULL), GSA_OK);
    ck_assert_int_eq(file.count, 1);
    gsa_safetensors_release(&file);
    gsa_scratch_close(&scratch);
}
END_TEST

static int no_stamp(void *user, int file, gsa_stamp *stamp)
{
    (void)user, (void)file, (void)stamp;
    return -1;
}

/* Of a stream its end alone tells; a descriptor of a file has no more bytes than the file, and no
 * memory is taken for what the header claims beyond. */
START_TEST(descriptors_have_the_bytes_of_their_file)
{
    static const char good[] = "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
                      claims[] = "{\"a\":{\"dtype\":\"U8\",\"shape\":[5000000000000],"
                                 "\"data_offsets\":[0,5000000000000]}}";
    gsa_system table[3] = { *gsa_system_default(), *gsa_system_default(), *gsa_system_default() };
    table[1].stamp = NULL, table[2].stamp = no_stamp;
    gsa_scratch scratch;
    gsa_safetensors file;
    gsa_error error;
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "t");
    for (int i = 0; i < 4; i++) { /* the last one is a pipe */
        char name[64];
        int ends[2] = { -1, -1 };
        put_header(path, good, sizeof good - 1, 4);
        if (i == 3) {
            int64_t bytes;
            char *all = gsa_get_file(path, &bytes);
            ck_assert_int_eq(pipe(ends), 0);
            ck_assert_int_eq(write(ends[1], all, (size_t)bytes), bytes);
            close(ends[1]);
            free(all);
        } else ends[0] = open(path, O_RDONLY | O_CLOEXEC);
        snprintf(name, sizeof name, "/proc/self/fd/%d", ends[0]);
        ck_assert_msg(gsa_safetensors_read(&table[i % 3], name, &file, &error) == GSA_OK, "%s",
                      error.text);
        gsa_safetensors_release(&file);
        close(ends[0]);
    }
    put_header(path, claims, sizeof claims - 1, 4);
    const int claimed = open(path, O_RDONLY | O_CLOEXEC);
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", claimed);
    ck_assert_int_eq(gsa_safetensors_read(NULL, name, &file, &error), GSA_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(error.text, "is cut short: its header describes 5000000000000"));
    close(claimed);
    put_header(path, good, sizeof good - 1, 5); /* what comes before it may be read already */
    const int longer = open(path, O_RDONLY | O_CLOEXEC);
    snprintf(name, sizeof name, "/proc/self/fd/%d", longer);
    ck_assert_int_eq(gsa_safetensors_read(NULL, name, &file, &error), GSA_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(error.text, "has trailing bytes after the 4 of its data"));
    close(longer);
    gsa_scratch_close(&scratch);
}
END_TEST

START_TEST(no_file_and_no_regular_file)
{
    gsa_scratch scratch;
    gsa_safetensors file;
    gsa_error error;
    gsa_scratch_open(&scratch);
    ck_assert_int_eq(
        gsa_safetensors_read(NULL, gsa_scratch_path(&scratch, "absent"), &file, &error),
        GSA_ERR_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "absent' cannot be opened: No such file"));
    ck_assert_int_eq(gsa_safetensors_read(NULL, scratch.folder, &file, &error), GSA_ERR_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "it is a folder"));
    ck_assert_int_eq(gsa_safetensors_read(NULL, "/dev/zero", &file, &error), GSA_ERR_FORMAT);
    ck_assert_int_eq(gsa_safetensors_read(NULL, "/dev/null", &file, &error), GSA_ERR_FORMAT);
    gsa_scratch_close(&scratch);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test golden[] = { GSA_TEST(tiny_file_has_these_bytes),
                                       GSA_TEST(empty_set_is_a_file) };
    static const gsa_test trips[] = { GSA_TEST(random_sets_come_back),
                                      GSA_TEST(odd_but_valid_headers),
                                      GSA_TEST(escapes_are_decoded) };
    static const gsa_test damage[] = { GSA_TEST(every_truncation_is_rejected),
                                       GSA_TEST(every_flipped_bit_of_the_header),
                                       GSA_TEST(random_damage_is_survived) };
    static const gsa_test bad[] = { GSA_LOOP(malformed_header_is_named, GSA_COUNT(headers)),
                                    GSA_TEST(malformed_length_is_named),
                                    GSA_TEST(long_names_do_not_hide_the_reason) };
    static const gsa_test faults[] = { GSA_TEST(every_fault_is_reported),
                                       GSA_TEST(size_is_not_known),
                                       GSA_TEST(standard_input_is_a_file),
                                       GSA_TEST(descriptors_have_the_bytes_of_their_file),
                                       GSA_TEST(no_file_and_no_regular_file) };
    static const gsa_case cases[] = { GSA_CASE("golden", golden, 30),
                                      GSA_CASE("round_trip", trips, 60),
                                      GSA_CASE("damage", damage, 60),
                                      GSA_CASE("malformed", bad, 30),
                                      GSA_CASE("faults", faults, 60) };
    return gsa_run_suite("safetensors", cases, GSA_COUNT(cases), argc, argv);
}
