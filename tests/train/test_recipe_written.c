/* What tells whether a file is, to the byte, what gsa_recipe_write writes. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include "graph/system_parts.h"
#include "gsa/scratch.h"
#include "support/faults.h"
#include "support/suite.h"
#include "train/settings/recipe.h"

static const char recipe[] = "[model]\nencoder=full,star*2\n[encoder.2]\nring=0\n";

/* Of the recipe, which is read from there. */
static void write_config(const char *path)
{
    gsa_output *output;
    gsa_recipe read;
    gsa_put_file(path, recipe, sizeof recipe - 1);
    ck_assert_int_eq(gsa_recipe_read(gsa_system_default(), path, NULL, 0, &read, NULL), GSA_OK);
    ck_assert_int_eq(gsa_output_open(gsa_system_default(), path, &output, NULL), GSA_OK);
    gsa_recipe_write(&read, output);
    ck_assert_int_eq(gsa_output_commit(output, NULL), GSA_OK);
    gsa_recipe_release(&read);
}

static int is_written(const char *path)
{
    int is = -1;
    gsa_error error;
    ck_assert_msg(gsa_recipe_is_written(gsa_system_default(), path, &is, &error) == GSA_OK, "%s",
                  error.text);
    return is;
}

/* Another text of the same meaning is none, nor is one that goes on, ends early, or is no recipe.
 */
START_TEST(what_was_written_is_known_by_each_byte)
{
    static const char *const ends[] = { "#", "\n", "[train]\nlr = 1\n", "[none]\n" };
    gsa_scratch scratch;
    gsa_scratch_open(&scratch);
    const char *path = gsa_scratch_path(&scratch, "config.ini");
    char *text;
    int64_t bytes;
    int is;
    write_config(path);
    ck_assert_int_eq(is_written(path), 1);
    ck_assert_int_eq(gsa_read_file(gsa_system_default(), path, 1 << 20, &text, &bytes, NULL),
                     GSA_OK);
    for (int i = 0; i < GSA_COUNT(ends); i++) {
        char *more = malloc((size_t)bytes + 32);
        ck_assert_ptr_nonnull(more);
        memcpy(more, text, (size_t)bytes), strcpy(more + bytes, ends[i]);
        gsa_put_file(path, more, (size_t)bytes + strlen(ends[i]));
        free(more);
        ck_assert_int_eq(is_written(path), 0);
    }
    gsa_put_file(path, text, (size_t)bytes - 1);
    ck_assert_int_eq(is_written(path), 0);
    gsa_put_file(path, "[task]\n", 7);
    ck_assert_int_eq(is_written(path), 0);
    gsa_put_file(path, recipe, sizeof recipe - 1);
    ck_assert_int_eq(is_written(path), 0);
    ck_assert_int_eq(gsa_recipe_is_written(gsa_system_default(), scratch.folder, &is, NULL),
                     GSA_ERR_IO);
    gsa_release(gsa_system_default(), text);
    gsa_scratch_close(&scratch);
}
END_TEST

static gsa_status with_faults(gsa_faults *faults, void *context)
{
    int is;
    return gsa_recipe_is_written(&faults->table, context, &is, NULL);
}

START_TEST(a_failed_look_is_told_of)
{
    gsa_scratch scratch;
    gsa_scratch_open(&scratch);
    char *path = gsa_copy_text(NULL, gsa_scratch_path(&scratch, "config.ini"));
    write_config(path);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, with_faults, path), 0);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_READ, 0, GSA_ERR_IO, with_faults, path), 0);
    gsa_release(NULL, path);
    gsa_scratch_close(&scratch);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test written[] = { GSA_TEST(what_was_written_is_known_by_each_byte),
                                        GSA_TEST(a_failed_look_is_told_of) };
    static const gsa_case cases[] = { GSA_CASE("written", written, 30) };
    return gsa_run_suite("recipe_written", cases, GSA_COUNT(cases), argc, argv);
}
