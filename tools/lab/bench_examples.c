/* bench_examples.c - emits and joins the examples that gsa bench kernel and gsa bench graph
 * measure. */
#include "tools/lab/bench_examples.h"
#include <string.h>
#include "graph/utf8.h"

/* No character of the text: an end of a line, of either kind, or the mark of bytes' order that a
 * file may begin with. */
static int is_no_token(const gsa_bench_text *text, int64_t i)
{
    const char *at = text->data + i;
    const int64_t left = text->bytes - i;
    return *at == '\n' || (*at == '\r' && (left == 1 || at[1] == '\n')) ||
           (i == 0 && left >= 3 && memcmp(at, "\xEF\xBB\xBF", 3) == 0);
}

/* Counts the tokens, and fills them in where there is room. */
static void split(gsa_bench_text *text)
{
    int64_t tokens = 0;
    for (int64_t i = 0; i < text->bytes; i += gsa_utf8_length(text->data + i)) {
        if (is_no_token(text, i)) continue;
        if (text->token)
            text->token[tokens] = (gsa_slice){ text->data + i, gsa_utf8_length(text->data + i) };
        tokens++;
    }
    text->tokens = tokens;
}

gsa_status gsa_bench_text_open(const gsa_system *system, const char *path, gsa_bench_text *text,
                               gsa_error *error)
{
    *text = (gsa_bench_text){ 0 };
    const gsa_status status =
        gsa_read_file(system, path, INT64_C(1) << 30, &text->data, &text->bytes, error);
    if (status != GSA_OK) return status;
    const int64_t bad = gsa_utf8_invalid(text->data, text->bytes);
    if (bad >= 0) {
        gsa_bench_text_close(system, text);
        return gsa_fail(error, GSA_ERR_FORMAT, "%s: byte %lld of the file is not UTF-8", path,
                        (long long)bad + 1);
    }
    split(text);
    text->token = gsa_alloc(system, (size_t)text->tokens, sizeof *text->token);
    if (!text->token) {
        const int64_t bytes = text->tokens * (int64_t)sizeof *text->token;
        gsa_bench_text_close(system, text);
        return gsa_out_of_memory(error, path, bytes);
    }
    split(text);
    return GSA_OK;
}

void gsa_bench_text_close(const gsa_system *system, gsa_bench_text *text)
{
    gsa_release(system, text->token);
    gsa_release(system, text->data);
    *text = (gsa_bench_text){ 0 };
}

static const gsa_slice *passage(const gsa_bench_text *text, int32_t length, int32_t i)
{
    return length > 0 ? text->token + i % (text->tokens / length) * length : text->token;
}

gsa_status gsa_bench_emit(const gsa_system *system, const gsa_pattern *pattern,
                          const gsa_bench_text *text, int32_t length, int32_t heads, int32_t count,
                          gsa_bench_examples *examples, gsa_error *error)
{
    gsa_example example = { .struct_size = sizeof example, .length = length, .heads = heads };
    gsa_status status = GSA_OK;
    *examples =
        (gsa_bench_examples){ .count = count,
                              .at = gsa_alloc_zero(system, (size_t)count, sizeof *examples->at) };
    if (!examples->at)
        return gsa_out_of_memory(error, "a batch", count * (int64_t)sizeof *examples->at);
    if (text && text->tokens < length)
        status = gsa_fail(error, GSA_ERR_ARGUMENT,
                          "the text of --text has %lld characters, but --length takes %d",
                          (long long)text->tokens, length);
    for (int32_t i = 0; i < (text ? count : 1) && status == GSA_OK; i++) {
        if (text) example.text = passage(text, length, i);
        status = gsa_pattern_instance(pattern, NULL, &example, NULL, 0, &examples->at[i], error);
        if (status == GSA_OK) examples->different++;
    }
    for (int32_t i = examples->different; i < count && status == GSA_OK; i++)
        examples->at[i] = examples->at[0];
    if (status != GSA_OK) gsa_bench_examples_release(system, examples);
    return status;
}

gsa_status gsa_bench_join(const gsa_system *system, const gsa_pattern *pattern,
                          const gsa_bench_examples *examples, gsa_batch **batch, gsa_error *error)
{
    gsa_status status = gsa_batch_create(system, gsa_pattern_schema(pattern), batch, error);
    if (status == GSA_OK) {
        status = gsa_batch_build(*batch, examples->at, examples->count, error);
        if (status != GSA_OK) gsa_batch_release(*batch);
    }
    if (status != GSA_OK) *batch = NULL;
    return status;
}

void gsa_bench_examples_release(const gsa_system *system, gsa_bench_examples *examples)
{
    for (int32_t i = 0; i < examples->different; i++) gsa_instance_release(examples->at[i]);
    gsa_release(system, examples->at);
    *examples = (gsa_bench_examples){ 0 };
}
