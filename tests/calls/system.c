/* Memory, sentences, text, files. */
#include "calls.h"
#include "graph/utf8.h"
#include "gsa/hash.h"
#include "gsa/vocabulary.h"

gsa_status calls_system(gsa_faults *faults, void *scratch)
{
    const gsa_system *s = &faults->table;
    gsa_status status = GSA_ERR_MEMORY;
    void *plain, *grown, *zero = NULL;
    char *text = NULL;
    (void)scratch;
    if (!(plain = CALL(gsa_alloc)(s, 3, 8))) goto out;
    if (!(grown = CALL(gsa_resize)(s, plain, 30, 8))) goto out;
    plain = grown;
    if (!(zero = CALL(gsa_alloc_zero)(s, 3, 8))) goto out;
    if (!(text = CALL(gsa_copy_text)(s, "text"))) goto out;
    status = GSA_OK;
    CALL(gsa_calling)(s, NULL);
    ck_assert_int_eq(CALL(gsa_out_of_memory)(&calls_error, "a test", 8), GSA_ERR_MEMORY);
    ck_assert_int_eq(CALL(gsa_fail)(&calls_error, GSA_ERR_IO, "%d", 1), GSA_ERR_IO);
    ck_assert_int_eq(CALL(gsa_fail_at)(&calls_error, GSA_ERR_IO, "%s: ", "here"), GSA_ERR_IO);
    ck_assert_str_eq(CALL(gsa_status_name)(GSA_OK), "ok");
    ck_assert_ptr_nonnull(CALL(gsa_system_default)());
    ck_assert_int_eq(CALL(gsa_utf8_invalid)("a", 1), -1);
    ck_assert_int_eq(CALL(gsa_xml_invalid)("a", 1), -1);
    ck_assert_int_eq(CALL(gsa_utf8_length)("a"), 1);
out:
    CALL(gsa_release)(s, plain);
    gsa_release(s, zero), gsa_release(s, text);
    return status;
}

gsa_status calls_files(gsa_faults *faults, void *scratch)
{
    const gsa_system *s = &faults->table;
    gsa_status status;
    gsa_output *output = NULL;
    char *data = NULL, hex[65];
    int64_t bytes;
    gsa_sha256 hash;
    const char *path = gsa_scratch_path(scratch, "made/here/file");
    TRY(gsa_make_folders, s, gsa_scratch_path(scratch, "made/here"));
    TRY(gsa_output_check, s, path);
    TRY(gsa_output_open, s, path, &output);
    CALL(gsa_output_write)(output, "ab", 2);
    CALL(gsa_output_text)(output, "cd");
    CALL(gsa_output_format)(output, "%d %0*d", 12, 3000, 0);
    CALL(gsa_output_flush)(output);
    CALL(gsa_output_failed)(output);
    calls_next("gsa_output_commit");
    status = gsa_output_commit(output, &calls_error);
    output = NULL;
    if (status) goto out;
    TRY(gsa_read_file, s, path, 1 << 20, &data, &bytes);
    TRY(gsa_sha256_file, s, path, hex);
    CALL(gsa_sha256_start)(&hash);
    CALL(gsa_sha256_add)(&hash, data, bytes);
    CALL(gsa_sha256_end)(&hash, hex);
    TRY(gsa_output_open_own, s, path, &output);
out:
    CALL(gsa_output_abandon)(output);
    gsa_release(s, data);
    return status;
}

gsa_status calls_words(gsa_faults *faults, void *scratch)
{
    const gsa_system *s = &faults->table;
    static const gsa_slice words[] = { { "one", 3 }, { "two", 3 }, { "three", 5 } };
    gsa_status status;
    gsa_vocabulary *words_of = NULL, *read = NULL;
    gsa_output *output = NULL;
    const char *path = gsa_scratch_path(scratch, "words");
    TRY(gsa_vocabulary_create, s, &read);
    for (int i = 0; i < GSA_COUNT(words); i++) TRY(gsa_vocabulary_add, read, words[i], i + 1);
    TRY(gsa_vocabulary_bound, read, 2);
    gsa_vocabulary_release(read), read = NULL;
    TRY(gsa_vocabulary_create, s, &words_of);
    for (int i = 0; i < GSA_COUNT(words); i++) TRY(gsa_vocabulary_add, words_of, words[i], i + 1);
    TRY(gsa_vocabulary_freeze, words_of, 1, 0);
    ck_assert_int_eq(CALL(gsa_vocabulary_size)(words_of), GSA_WORD_FIRST + 3);
    ck_assert_int_eq(CALL(gsa_vocabulary_find)(words_of, words[2]), GSA_WORD_FIRST);
    ck_assert_int_eq(CALL(gsa_vocabulary_word)(words_of, GSA_WORD_FIRST).bytes, 5);
    ck_assert_int_eq(CALL(gsa_vocabulary_count)(words_of, GSA_WORD_FIRST), 3);
    TRY(gsa_output_open, s, path, &output);
    calls_next("gsa_vocabulary_write");
    status = gsa_vocabulary_write(words_of, output);
    calls_next("gsa_output_commit");
    if (status == GSA_OK) status = gsa_output_commit(output, &calls_error), output = NULL;
    if (status) goto out;
    TRY(gsa_vocabulary_read, s, path, &read);
out:
    gsa_output_abandon(output);
    CALL(gsa_vocabulary_release)(read);
    gsa_vocabulary_release(words_of);
    return status;
}
