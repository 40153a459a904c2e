/* What the writer of safetensors refuses, and numbers that are not finite. */
#include <check.h>
#include <math.h>
#include <string.h>
#include "gsa/safetensors.h"
#include "scratch.h"
#include "support/compare.h"
#include "support/suite.h"
#include "tensor_file.h"

/* Names that occur twice, whatever is between them. */
START_TEST(twins_are_refused)
{
    static const float x[1] = { 0 };
    const gsa_blob blobs[] = { { "b", 0, 1, { 1 }, x },
                               { "a", 0, 1, { 1 }, x },
                               { "b", 0, 1, { 1 }, x } };
    const gsa_note notes[] = { { "b", "1" }, { "a", "2" }, { "b", "3" } };
    gsa_scratch scratch;
    gsa_error error;
    gsa_output *output;
    gsa_scratch_open(&scratch);
    ck_assert_int_eq(gsa_output_open(NULL, gsa_scratch_path(&scratch, "t"), &output, &error),
                     GSA_OK);
    const gsa_status status =
        gsa_safetensors_write(NULL, output, blobs, _i ? 1 : 3, notes, _i ? 3 : 0, &error);
    ck_assert_int_eq(status, GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(error.text, "'b'") != NULL, "%s", error.text);
    gsa_output_abandon(output);
    gsa_scratch_close(&scratch);
}
END_TEST

/* The first number that is not finite, by its row and column. */
static const struct {
    int dtype;
    int64_t rows, columns, at; /* -1: all are finite */
    double value;
    const char *says;
} numbers[] = {
    { GSA_DTYPE_F32, 714, 7, -1, 0, NULL },
    { GSA_DTYPE_F64, 714, 7, -1, 0, NULL },
    { GSA_DTYPE_I64, 714, 7, 1, NAN, NULL }, /* whatever its bits are */
    { GSA_DTYPE_F32, 714, 7, 0, NAN, "row 0, column 0 of 'x', counted from 0, is nan" },
    { GSA_DTYPE_F32, 714, 7, 4095, INFINITY, "row 585, column 0 of 'x', counted from 0, is inf" },
    { GSA_DTYPE_F32, 714, 7, 4096, -INFINITY, "row 585, column 1 of 'x', counted from 0, is -inf" },
    { GSA_DTYPE_F32, 714, 7, 4997, NAN, "row 713, column 6 of 'x', counted from 0, is nan" },
    { GSA_DTYPE_F32, 1, 1, 0, INFINITY, "row 0, column 0 of 'x', counted from 0, is inf" },
    { GSA_DTYPE_F32, 5, 0, 3, INFINITY, "row 3, column 0 of 'x', counted from 0, is inf" },
    { GSA_DTYPE_F64, 714, 7, 0, -INFINITY, "row 0, column 0 of 'x', counted from 0, is -inf" },
    { GSA_DTYPE_F64, 714, 7, 4997, INFINITY, "row 713, column 6 of 'x', counted from 0, is inf" },
};

START_TEST(what_is_not_finite_is_named)
{
    static float x[5000];
    static double y[5000];
    const int matrix = numbers[_i].columns > 0;
    const gsa_blob blob = { "x",
                            numbers[_i].dtype,
                            matrix ? 2 : 1,
                            { numbers[_i].rows, numbers[_i].columns },
                            numbers[_i].dtype == GSA_DTYPE_F32 ? (const void *)x : y };
    gsa_error error;
    for (int i = 0; i < 5000; i++) x[i] = (float)(y[i] = i % 2 ? 1.5e30 : -i);
    x[4998] = (float)(y[4998] = NAN); /* after the end */
    if (numbers[_i].at >= 0) x[numbers[_i].at] = (float)(y[numbers[_i].at] = numbers[_i].value);
    const gsa_status status = gsa_blob_check_finite(&blob, "file", &error);
    ck_assert_int_eq(status, numbers[_i].says ? GSA_ERR_NUMBER : GSA_OK);
    if (status) ck_assert_msg(strstr(error.text, numbers[_i].says) != NULL, "%s", error.text);
}
END_TEST

START_TEST(writer_refuses)
{
    static const float x[4] = { 0 };
    static const struct {
        gsa_blob blobs[2];
        int count;
        gsa_note notes[2];
        int n_notes;
        gsa_status status;
        const char *says;
    } rows[] = {
        { { { NULL, 0, 1, { 1 }, x } },
          1,
          { { 0 } },
          0,
          GSA_ERR_ARGUMENT,
          "a tensor's name to be written is NULL" },
        { { { "a\xff", 0, 1, { 1 }, x } },
          1,
          { { 0 } },
          0,
          GSA_ERR_ARGUMENT,
          "is not valid UTF-8 at byte 1" },
        { { { "__metadata__", 0, 1, { 1 }, x } },
          1,
          { { 0 } },
          0,
          GSA_ERR_ARGUMENT,
          "cannot be named '__metadata__'" },
        { { { "a", 5, 1, { 1 }, x } }, 1, { { 0 } }, 0, GSA_ERR_ARGUMENT, "'a' has the dtype 5" },
        { { { "a", -1, 1, { 1 }, x } }, 1, { { 0 } }, 0, GSA_ERR_ARGUMENT, "'a' has the dtype -1" },
        { { { "a", 0, 5, { 1, 1, 1, 1 }, x } },
          1,
          { { 0 } },
          0,
          GSA_ERR_ARGUMENT,
          "'a' has 5 dims, not 0 to 4" },
        { { { "a", 0, -1, { 1 }, x } }, 1, { { 0 } }, 0, GSA_ERR_ARGUMENT, "'a' has -1 dims" },
        { { { "a", 0, 1, { -1 }, x } },
          1,
          { { 0 } },
          0,
          GSA_ERR_LIMIT,
          "the shape of 'a' is negative or too large" },
        { { { "a", 0, 2, { INT64_MAX, 2 }, x } },
          1,
          { { 0 } },
          0,
          GSA_ERR_LIMIT,
          "the shape of 'a' is negative or too large" },
        { { { "a", 4, 1, { INT64_MAX }, x }, { "b", 4, 1, { 1 }, x } },
          2,
          { { 0 } },
          0,
          GSA_ERR_LIMIT,
          "the shape of 'b'" },
        { { { "a", 0, 1, { 1 }, NULL } }, 1, { { 0 } }, 0, GSA_ERR_ARGUMENT, "'a' has no data" },
        { { { "a", 0, 1, { 1 }, x }, { "a", 0, 1, { 1 }, x } },
          2,
          { { 0 } },
          0,
          GSA_ERR_ARGUMENT,
          "the name 'a' occurs twice" },
        { { { 0 } },
          0,
          { { "k", "v" }, { "k", "w" } },
          2,
          GSA_ERR_ARGUMENT,
          "the name 'k' occurs twice" },
        { { { 0 } },
          0,
          { { "k", NULL } },
          1,
          GSA_ERR_ARGUMENT,
          "a note's value to be written is NULL" },
        { { { 0 } }, 0, { { "k", "\x80" } }, 1, GSA_ERR_ARGUMENT, "a note's value" },
        { { { 0 } }, -1, { { 0 } }, 0, GSA_ERR_ARGUMENT, "-1 tensors" },
    };
    gsa_scratch scratch;
    gsa_scratch_open(&scratch);
    for (int i = 0; i < GSA_COUNT(rows); i++) {
        gsa_error error = { 0 };
        const char *path = gsa_scratch_path(&scratch, "t");
        ck_assert_int_eq(gsa_write_tensors(NULL, path, rows[i].blobs, rows[i].count, rows[i].notes,
                                           rows[i].n_notes, &error),
                         rows[i].status);
        ck_assert_msg(strstr(error.text, rows[i].says) != NULL, "row %d says %s", i, error.text);
        ck_assert_int_eq(gsa_count_entries(scratch.folder, ""), 0);
    }
    gsa_scratch_close(&scratch);
}
END_TEST

START_TEST(count_of_a_blob)
{
    static const struct {
        gsa_blob blob;
        int64_t count;
    } rows[] = {
        { { "", 0, 0, { 0 }, NULL }, 1 },
        { { "", 0, 1, { 7 }, NULL }, 7 },
        { { "", 0, 4, { 2, 3, 4, 5 }, NULL }, 120 },
        { { "", 0, 3, { 2, 0, 4 }, NULL }, 0 },
        { { "", 0, 1, { -1 }, NULL }, -1 },
        { { "", 0, 2, { INT64_MAX, 2 }, NULL }, -1 },
        { { "", 0, 4, { INT64_MAX, 2, 0, 2 }, NULL }, -1 },
    };
    for (int i = 0; i < GSA_COUNT(rows); i++)
        ck_assert_int_eq(gsa_blob_count(&rows[i].blob), rows[i].count);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test refused[] = { GSA_TEST(writer_refuses), GSA_LOOP(twins_are_refused, 2),
                                        GSA_LOOP(what_is_not_finite_is_named, GSA_COUNT(numbers)),
                                        GSA_TEST(count_of_a_blob) };
    static const gsa_case cases[] = { GSA_CASE("refused", refused, 30) };
    return gsa_run_suite("safetensors_writer", cases, GSA_COUNT(cases), argc, argv);
}
