#include "train/vocabulary/vectors.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "train/data/encoding.h"
#include "train/data/lines.h"
#include "train/data/plain.h"

static const int64_t LARGEST = INT64_C(1) << 36;

static gsa_status fail_line(const gsa_lines *lines, gsa_error *error, const char *why, int64_t got,
                            int64_t expected)
{
    return gsa_fail(error, GSA_ERR_FORMAT, "%s:%lld: %s: %lld, expected %lld", lines->path,
                    (long long)lines->number, why, (long long)got, (long long)expected);
}

/* Fields are separated by single or more blanks; trailing ones are fine. */
static int64_t count_fields(const char *line, int64_t bytes)
{
    int64_t fields = 0;
    for (int64_t i = 0; i < bytes; i++)
        fields += line[i] != ' ' && line[i] != '\t' &&
                  (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t');
    return fields;
}

/* "400000 50": a word2vec header, where the second line holds more fields. */
static int is_header(const char *line, int64_t bytes)
{
    for (int64_t i = 0; i < bytes; i++)
        if (!strchr("0123456789 \t", line[i])) return 0; /* no line holds a NUL */
    return count_fields(line, bytes) == 2;
}

static int64_t width_told(const char *header, int64_t *count)
{
    char *end;
    *count = strtoll(header, &end, 10);
    return strtoll(end, NULL, 10);
}

static gsa_status add_row(gsa_vectors *v, gsa_slice word, gsa_error *error)
{
    if (v->count == v->room) {
        const int64_t room = 2 * v->room + 16; /* few: a line may be of millions of numbers */
        gsa_slice *words = gsa_resize(v->system, v->word, (size_t)room, sizeof *words);
        if (words) v->word = words;
        float *values =
            words ? gsa_resize(v->system, v->value, (size_t)room, (size_t)v->width * sizeof *values)
                  : NULL;
        if (!values)
            return gsa_out_of_memory(error, v->path, room * v->width * (int64_t)sizeof *values);
        v->value = values, v->room = room;
    }
    v->word[v->count++] = word;
    return GSA_OK;
}

static gsa_status read_row(gsa_vectors *v, const gsa_lines *lines, char *line, int64_t bytes,
                           gsa_error *error)
{
    const int64_t fields = count_fields(line, bytes);
    if (fields < 2)
        return fail_line(lines, error, "too few columns for a word and its vector", fields, 2);
    if (v->width == 0) v->width = (int32_t)(fields - 1);
    if (fields != (int64_t)v->width + 1)
        return fail_line(lines, error, "the number of columns is", fields, (int64_t)v->width + 1);
    char *const end = line + bytes, kept = *end;
    int64_t word = 0;
    while (line[word] != ' ' && line[word] != '\t') word++;
    if (word == 0 || memchr(line, '\r', (size_t)word))
        return gsa_fail(error, GSA_ERR_FORMAT, "%s:%lld: the word is %s", lines->path,
                        (long long)lines->number,
                        word == 0 ? "empty: the line starts with a blank"
                                  : "not one: it holds a carriage return");
    const gsa_status status = add_row(v, (gsa_slice){ line, word }, error);
    if (status != GSA_OK) return status;
    float *row = v->value + (v->count - 1) * v->width;
    *end = 0; /* the byte after the line: its end or the file's */
    char *at = line + word;
    for (int32_t i = 0; i < v->width; i++) {
        char *stop;
        row[i] = strtof(at, &stop);
        if (!gsa_plain_is(at, stop) || !strchr(" \t\r", *stop) || !isfinite(row[i])) {
            *end = kept;
            return gsa_fail(error, GSA_ERR_FORMAT, "%s:%lld: no finite number in column %d",
                            lines->path, (long long)lines->number, i + 2);
        }
        at = stop;
    }
    *end = kept;
    return GSA_OK;
}

static gsa_status read_rows(gsa_vectors *v, int64_t bytes, gsa_error *error)
{
    gsa_lines lines = gsa_lines_start(v->path, v->bytes, bytes);
    gsa_status status = GSA_OK;
    int64_t told = 0, count = 0;
    char *line;
    while (status == GSA_OK && gsa_lines_next(&lines, &line, &bytes)) {
        status = gsa_lines_check(&lines, line, bytes, error);
        if (status != GSA_OK) continue;
        if (lines.number == 1 && is_header(line, bytes)) told = width_told(line, &count);
        else status = read_row(v, &lines, line, bytes, error);
        if (status == GSA_OK && told > 0 && v->width > 0 && v->width != told)
            status =
                fail_line(&lines, error, "the header on line 1 has another width", told, v->width);
    }
    if (status == GSA_OK && v->count == 0)
        return gsa_fail(error, GSA_ERR_FORMAT, "%s: the file holds no word vector", v->path);
    if (status == GSA_OK && v->count < count)
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s:1: the header tells %lld vectors, and the file ends after %lld",
                        v->path, (long long)count, (long long)v->count);
    return status;
}

gsa_status gsa_vectors_read(const gsa_system *system, const char *path, gsa_vectors *vectors,
                            gsa_error *error)
{
    int64_t bytes;
    *vectors = (gsa_vectors){ .system = system };
    gsa_status status = gsa_read_file(system, path, LARGEST, &vectors->bytes, &bytes, error);
    if (status != GSA_OK) return status;
    vectors->path = gsa_copy_text(system, path);
    if (!vectors->path) status = gsa_out_of_memory(error, path, (int64_t)strlen(path));
    const gsa_plain plain = gsa_plain_begin();
    if (status == GSA_OK)
        status =
            gsa_encoding_decode(system, path, GSA_ENCODING_UTF8, &vectors->bytes, &bytes, error);
    if (status == GSA_OK) status = read_rows(vectors, bytes, error);
    gsa_plain_end(plain);
    if (status != GSA_OK) gsa_vectors_release(vectors);
    return status;
}

void gsa_vectors_release(gsa_vectors *vectors)
{
    gsa_release(vectors->system, vectors->word);
    gsa_release(vectors->system, vectors->value);
    gsa_release(vectors->system, vectors->bytes);
    gsa_release(vectors->system, vectors->path);
    *vectors = (gsa_vectors){ 0 };
}
