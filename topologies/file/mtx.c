/* mtx.c - Matrix Market coordinate files: entry (row, column) is an edge column -> row, as `gsa
 * graph` writes them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "loader.h"

enum { PATTERN, INTEGER, REAL, FIELDS };
static const char *const fields[FIELDS] = { "pattern", "integer", "real" };

typedef struct matrix {
    file_text text;
    int field, symmetric;
    int64_t nodes, entries;
} matrix;

static int next_is_word(matrix *m, const char *expected)
{
    const int64_t line = m->text.line;
    const int got = text_next(&m->text);
    if (got == TEXT_WORD) return 0;
    return loader_fail(m->text.load, line, "%s ends, expected %s",
                       got == TEXT_END ? "the file" : "the line", expected);
}

/* %%MatrixMarket matrix coordinate integer general */
static int read_banner(matrix *m)
{
    static const char *const expected[] = { "%%MatrixMarket", "matrix", "coordinate" };
    loader *load = m->text.load;
    for (int i = 0; i < 3; i++) {
        if (next_is_word(m, expected[i]) < 0) return -1;
        if (strcasecmp(m->text.word, expected[i]) != 0)
            return loader_fail(load, 1, "'%s', expected '%s'%s", m->text.word, expected[i],
                               i == 2 ? ": only sparse matrices are graphs" : "");
    }
    if (next_is_word(m, "a field") < 0) return -1;
    while (m->field < FIELDS && strcasecmp(m->text.word, fields[m->field]) != 0) m->field++;
    if (m->field == FIELDS)
        return loader_fail(load, 1, "the field '%s', expected pattern, integer or real",
                           m->text.word);
    if (next_is_word(m, "a symmetry") < 0) return -1;
    m->symmetric = strcasecmp(m->text.word, "symmetric") == 0 ||
                   strcasecmp(m->text.word, "skew-symmetric") == 0;
    if (!m->symmetric && strcasecmp(m->text.word, "general") != 0)
        return loader_fail(load, 1,
                           "the symmetry '%s', expected general, symmetric or skew-symmetric",
                           m->text.word);
    return text_next(&m->text) == TEXT_LINE
               ? 0
               : loader_fail(load, 1, "more after the symmetry, expected the line's end");
}

/* Skips comments and blank lines; leaves the first word of a line in text.word. TEXT_WORD, TEXT_END
 * or TEXT_FAILED. */
static int first_word(matrix *m)
{
    for (;;) {
        const int got = text_next(&m->text);
        if (got == TEXT_LINE) continue;
        if (got != TEXT_WORD || m->text.word[0] != '%') return got;
        if (text_skip_line(&m->text) == TEXT_FAILED) return TEXT_FAILED;
    }
}

static int read_number(matrix *m, const char *what, int64_t low, int64_t high, int64_t *value)
{
    if (text_integer(m->text.word, low, high, value)) return 0;
    return loader_fail(m->text.load, m->text.line,
                       "%s is '%.64s', expected an integer from %" PRId64 " to %" PRId64, what,
                       m->text.word, low, high);
}

static int end_line(matrix *m, const char *what)
{
    const int64_t line = m->text.line;
    const int got = text_next(&m->text);
    if (got == TEXT_FAILED) return -1;
    return got == TEXT_WORD
               ? loader_fail(m->text.load, line, "'%.64s' after %s, expected the line's end",
                             m->text.word, what)
               : 0;
}

static int read_size(matrix *m)
{
    int64_t columns;
    const int got = first_word(m);
    if (got != TEXT_WORD)
        return loader_fail(m->text.load, m->text.line,
                           "the file ends, expected the size: rows columns entries");
    if (read_number(m, "the number of rows", 0, INT32_MAX, &m->nodes) < 0) return -1;
    if (next_is_word(m, "the number of columns") < 0) return -1;
    if (read_number(m, "the number of columns", 0, INT32_MAX, &columns) < 0) return -1;
    if (columns != m->nodes)
        return loader_fail(m->text.load, m->text.line,
                           "%" PRId64 " rows and %" PRId64 " columns, expected as many of each",
                           m->nodes, columns);
    if (next_is_word(m, "the number of entries") < 0) return -1;
    if (read_number(m, "the number of entries", 0, INT64_MAX - 16, &m->entries) < 0) return -1;
    return end_line(m, "the size");
}

/* The entry's value: a label, or how many parallel edges it is (repeat=1). */
static int read_value(matrix *m, file_label *label, int64_t *times)
{
    const loader *load = m->text.load;
    if (m->field == PATTERN) return 0;
    if (next_is_word(m, "a value") < 0) return -1;
    if (m->field == REAL) return 0;
    if (load->options.repeat)
        return read_number(m, "the number of parallel edges", 0, INT32_MAX, times);
    return read_number(m, "the value", -(INT64_C(1) << 53), INT64_C(1) << 53, &label->number);
}

static int read_entry(matrix *m)
{
    loader *load = m->text.load;
    int64_t row, column, times = 1;
    file_label label = { 0, "", 0 };
    const int64_t line = m->text.line;
    if (read_number(m, "the row", 1, m->nodes, &row) < 0) return -1;
    if (next_is_word(m, "a column") < 0) return -1;
    if (read_number(m, "the column", 1, m->nodes, &column) < 0) return -1;
    if (read_value(m, &label, &times) < 0) return -1;
    for (; times > 0; times--)
        if (loader_edge(load, line, column - 1, row - 1, label) < 0) return -1;
    return end_line(m, "the entry");
}

static int read_entries(matrix *m)
{
    loader *load = m->text.load;
    int64_t read = 0;
    for (int got; (got = first_word(m)) != TEXT_END; read++) {
        if (got == TEXT_FAILED) return -1;
        if (read == m->entries)
            return loader_fail(load, m->text.line,
                               "more than the %" PRId64 " entries that the size says", m->entries);
        if (read_entry(m) < 0) return -1;
    }
    if (read < m->entries)
        return loader_fail(load, m->text.line,
                           "the file ends after %" PRId64 " of %" PRId64 " entries", read,
                           m->entries);
    return 0;
}

int read_mtx(loader *load)
{
    matrix m = { 0 };
    if (text_open(&m.text, load) < 0) return -1;
    int done = read_banner(&m);
    if (done == 0) done = read_size(&m);
    if (done == 0) done = loader_begin(load, m.text.line, m.nodes);
    if (m.field != INTEGER || load->options.repeat)
        load->options.use_labels = 0; /* no integer stands for a label */
    load->undirected = m.symmetric;
    if (done == 0) done = read_entries(&m);
    text_close(&m.text);
    return done;
}
