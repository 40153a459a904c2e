/* table.c - which columns of a file, or fields of its objects, hold the labels and the texts. Told
 * by names where there are any that one knows, else by what is in the first records: labels are
 * short and come again, texts hold blanks or are of a script without any. */
#include <stdio.h>
#include <string.h>
#include "topologies/words.h"
#include "train/driver/batches.h"
#include "train/data/csv.h"
#include "train/data/objects.h"
#include "train/look/look_parts.h"
#include "train/data/json.h"

enum { NONE, LABEL, TEXT, FIRST, SECOND }; /* what a name says */
static const char *const role_names[] = { "-", "label", "text", "a", "b" };

typedef struct column {
    int64_t distinct, bytes, texty, filled;
    int32_t named, zero;
} column;

void gsa_look_table_release(gsa_look_table *t)
{
    for (int r = 0; r < GSA_LOOK_ROWS; r++) json_decref(t->objects[r]);
    gsa_release(t->system, t->copy);
    gsa_release(t->system, t->cell);
    *t = (gsa_look_table){ .rows = 0 };
}

static int32_t named(gsa_slice name)
{
    static const char *const known[] = {
        [NONE] = "",
        [LABEL] = " label labels gold_label class category target sentiment y tag intent rating "
                  "stars score polarity topic "
                  "is_duplicate entailment_judgment ",
        [TEXT] = " text texts text_a sentence review review_text content comment tweet message "
                 "headline body document utterance "
                 "description title question ",
        [FIRST] = " a sentence1 premise question1 text1 sentence_a sentence_1 text_1 source ",
        [SECOND] =
            " b sentence2 hypothesis question2 text2 sentence_b sentence_2 text_2 target_text "
    };
    char word[64];
    if (name.bytes == 0 || name.bytes > 40) return NONE;
    const int used = snprintf(word, sizeof word, " %.*s ", (int)name.bytes, name.at);
    for (int i = 0; i < used; i++)
        if (word[i] >= 'A' && word[i] <= 'Z') word[i] = (char)(word[i] | 0x20);
    for (int32_t r = LABEL; r <= SECOND; r++)
        if (strstr(known[r], word)) return r;
    return NONE;
}

/* ---- some of the records ------------------------------------------------------------------- */

static void add_row(gsa_look_table *t, const gsa_slice *part, int count)
{
    if (t->rows == 0) t->columns = count;
    for (int i = 0; i < t->columns; i++)
        t->cell[(int64_t)t->rows * GSA_COLUMNS + i] = i < count ? part[i] : (gsa_slice){ "", 0 };
    t->rows += count > 0;
}

/* A field that no object before had is a column, empty in their rows. */
static void add_field(gsa_look_table *t, const char *name)
{
    const gsa_slice field = { name, (int64_t)strlen(name) };
    for (int i = 0; i < t->columns; i++)
        if (gsa_slice_compare(t->name[i], field) == 0) return;
    if (t->columns == GSA_COLUMNS || strchr(name, ',') || strchr(name, '=')) return;
    for (int r = 0; r < t->rows; r++)
        t->cell[(int64_t)r * GSA_COLUMNS + t->columns] = (gsa_slice){ "", 0 };
    t->name[t->columns++] = field;
}

static void add_object(gsa_look_table *t, json_t *object)
{
    const char *name;
    json_t *value;
    t->objects[t->rows] = object;
    json_object_foreach (object, name, value) add_field(t, name);
    for (int i = 0; i < t->columns; i++) {
        gsa_slice *cell = &t->cell[(int64_t)t->rows * GSA_COLUMNS + i];
        value = json_object_get(object, t->name[i].at);
        *cell = json_is_string(value)
                    ? (gsa_slice){ json_string_value(value), (int64_t)json_string_length(value) }
                : json_is_true(value)  ? (gsa_slice){ "true", 4 }
                : json_is_false(value) ? (gsa_slice){ "false", 5 }
                                       : (gsa_slice){ "", 0 };
        if (json_is_integer(value) && i < GSA_LOOK_NUMBERS) {
            const int used = snprintf(t->number[t->rows][i], sizeof t->number[0][0], "%lld",
                                      (long long)json_integer_value(value));
            *cell = (gsa_slice){ t->number[t->rows][i], used };
        }
    }
    t->rows++;
}

static void add_line(gsa_look_table *t, int32_t form, const char *line, int64_t bytes)
{
    gsa_slice part[GSA_COLUMNS];
    json_error_t why;
    if (form == GSA_TEXT_TSV) {
        add_row(t, part, gsa_columns_split(line, bytes, '\t', part));
        return;
    }
    json_t *object = gsa_json_parse(line, bytes, JSON_REJECT_DUPLICATES, &why);
    if (json_is_object(object)) add_object(t, object);
    else json_decref(object);
}

/* One of `step` records, the first among them, in no rhythm that labels could have, too. */
static int is_taken(int64_t record, int64_t step)
{
    return ((uint64_t)record * UINT64_C(0x9e3779b97f4a7c15) >> 40) % (uint64_t)step == 0;
}

/* Records from all over the file, which is often sorted by label. */
static gsa_status take_rows(gsa_look_table *t, const gsa_look_bytes *file, int32_t form,
                            gsa_error *error)
{
    gsa_lines lines = gsa_lines_start(file->path, t->copy, file->count);
    gsa_slice part[GSA_COLUMNS];
    const char separator = gsa_csv_separator(&lines);
    gsa_status status = GSA_OK;
    char *line;
    int64_t bytes, step = 1;
    int count = 1;
    for (const char *at = file->bytes;
         (at = memchr(at, '\n', (size_t)(file->bytes + file->count - at))); at++)
        step++;
    step = 1 + step / GSA_LOOK_ROWS;
    for (int64_t i = 0; t->rows < GSA_LOOK_ROWS && status == GSA_OK; i++) {
        if (form == GSA_TEXT_CSV) {
            status = gsa_csv_next(&lines, separator, part, &count, &bytes, error);
            if (status == GSA_OK && count == 0) break;
            if (status == GSA_OK && is_taken(i, step)) add_row(t, part, count);
            continue;
        }
        if (!gsa_lines_next(&lines, &line, &bytes)) break;
        if (bytes > 0 && is_taken(i, step)) add_line(t, form, line, bytes);
    }
    return status;
}

/* ---- what is in a column --------------------------------------------------------------- */

static gsa_slice cell(const gsa_look_table *t, int row, int col)
{
    return t->cell[(int64_t)row * GSA_COLUMNS + col];
}

/* A blank between words, or a character of a script that has none. */
static int is_texty(gsa_slice s)
{
    for (int64_t i = 1; i + 1 < s.bytes; i++)
        if (s.at[i] == ' ' || (unsigned char)s.at[i] >= 0xe3) return 1;
    return 0;
}

static uint64_t hash_of(gsa_slice s)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (int64_t i = 0; i < s.bytes; i++)
        h = (h ^ (unsigned char)s.at[i]) * UINT64_C(0x100000001b3);
    return h;
}

static column look_at(const gsa_look_table *t, int col, gsa_keyed *scratch)
{
    column c = { .named = named(t->name[col]) };
    int64_t n = 0;
    for (int r = t->header; r < t->rows; r++) {
        const gsa_slice s = cell(t, r, col);
        c.bytes += s.bytes, c.texty += is_texty(s), c.filled += s.bytes > 0;
        scratch[n++] = (gsa_keyed){ hash_of(s), r };
    }
    gsa_sort_keyed(scratch, n);
    for (int64_t i = 0; i < n; i++) c.distinct += i == 0 || scratch[i].key != scratch[i - 1].key;
    return c;
}

/* The first row names columns: names that one knows are there, or it is the only one with that
 * value among labels. */
static int has_header(const gsa_look_table *t)
{
    int label = 0, text = 0;
    for (int i = 0; i < t->columns; i++) {
        const int32_t is = named(cell(t, 0, i));
        label += is == LABEL, text += is == TEXT || is == FIRST || is == SECOND;
    }
    return t->rows > 1 && ((label && text) || text > 1 || (label && t->columns == 2));
}

static int is_only_here(const gsa_look_table *t, int col)
{
    const gsa_slice head = cell(t, 0, col);
    for (int r = 1; r < t->rows; r++)
        if (gsa_slice_compare(head, cell(t, r, col)) == 0) return 0;
    return 1;
}

/* ---- roles --------------------------------------------------------------------------------- */

/* `gaps`: one that is empty on some lines, too. -1: none. */
static int find_label(const gsa_look_table *t, const column *c, int gaps)
{
    const int64_t n = t->rows - t->header;
    int best = -1;
    for (int i = 0; i < t->columns; i++) {
        if (c[i].named == LABEL && c[i].filled > 0) return i;
        if (c[i].distinct > (n > 3 ? n / 2 : n - 1) || c[i].bytes > 40 * n || c[i].named > LABEL ||
            (!gaps && c[i].filled < n))
            continue;
        if (c[i].distinct < 2 && t->columns > 2) continue;
        const int less = best >= 0 && 2 * c[i].texty > n, more = best >= 0 && 2 * c[best].texty > n;
        if (best < 0 || (!less && more) || (less == more && c[i].distinct < c[best].distinct))
            best = i;
    }
    return best;
}

static int longest(const gsa_look_table *t, const column *c, int but, int other)
{
    int best = -1;
    for (int i = 0; i < t->columns; i++)
        if (i != but && i != other && (best < 0 || c[i].bytes > c[best].bytes)) best = i;
    return best;
}

/* Two texts of a row: by their names, or the only two that read as text and are not of quite
 * another length. */
static int find_pair(const gsa_look_table *t, const column *c, int label, int pair[2])
{
    const int64_t n = t->rows - t->header;
    int texts = 0;
    pair[0] = pair[1] = -1;
    for (int i = 0; i < t->columns; i++) {
        if (c[i].named == FIRST) pair[0] = i;
        if (c[i].named == SECOND) pair[1] = i;
    }
    if (pair[0] >= 0 && pair[1] >= 0) return 1;
    for (int i = 0; i < t->columns && texts < 3; i++) {
        if (i == label || 3 * c[i].texty < n || c[i].bytes == 0) continue;
        if (texts < 2) pair[texts] = i;
        texts++;
    }
    if (texts < 2 || (label >= 0 && texts > 2)) return 0;
    const int64_t a = c[pair[0]].bytes, b = c[pair[1]].bytes;
    return a < 8 * b && b < 8 * a;
}

static void write_columns(gsa_look_table *t, int32_t form, const int *of, int roles,
                          const char *const *names)
{
    size_t used = 0;
    const int json = form == GSA_TEXT_JSON;
    for (int i = 0; i < (json ? roles : t->columns) && used < sizeof t->chosen; i++) {
        const char *name = "-";
        for (int r = 0; r < roles && !json; r++)
            if (of[r] == i) name = names[r];
        const gsa_slice field = json ? t->name[of[i]] : (gsa_slice){ "", 0 };
        used +=
            (size_t)snprintf(t->chosen + used, sizeof t->chosen - used, "%s%s%s%.*s", i ? "," : "",
                             json ? names[i] : name, json ? "=" : "", (int)field.bytes, field.at);
    }
}

/* "column 2", "field 'stars'". */
static const char *shown_column(const gsa_look_table *t, int col, char shown[96])
{
    if (t->objects[0]) snprintf(shown, 96, "field '%.60s'", t->name[col].at);
    else snprintf(shown, 96, "column %d", col + 1);
    return shown;
}

static gsa_status no_label(const gsa_look_bytes *file, const gsa_look_table *t, const column *c,
                           gsa_error *error)
{
    const int like = find_label(t, c, 1), rows = t->rows - t->header;
    char shown[96];
    if (like >= 0 && c[like].filled > rows / 2)
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s: %s is like labels, but %lld of its first %d are empty: expected "
                        "one on each line",
                        file->path, shown_column(t, like, shown),
                        (long long)(rows - c[like].filled), rows);
    for (int i = 0; i < t->columns; i++) {
        const json_t *value = t->objects[0] ? json_object_get(t->objects[0], t->name[i].at) : NULL;
        if (value && c[i].filled == 0 && !json_is_string(value))
            return gsa_fail(error, GSA_ERR_FORMAT,
                            "%s: no field holds labels: field '%.60s' holds %s, expected a string, "
                            "an integer, true or false",
                            file->path, t->name[i].at, gsa_object_kind(value));
    }
    return gsa_fail(error, GSA_ERR_FORMAT,
                    "%s: none of its %d columns holds labels, which come again: values that are "
                    "all different are ids, or "
                    "numbers to be predicted, which no task here does; --columns label,text says "
                    "which column it is",
                    file->path, t->columns);
}

static gsa_status settle(const gsa_look_bytes *file, int32_t form, int32_t *task, gsa_look_table *t,
                         const column *c, gsa_error *error)
{
    static const char *const sides[] = { "source", "target" };
    int label = find_label(t, c, 0), of[3], pair[2];
    const int gaps = find_label(t, c, 1), n = t->rows - t->header;
    if (label >= 0 && gaps != label && 2 * c[label].texty > n && 2 * c[gaps].texty <= n)
        label = -1; /* texts that come again, next to labels that are empty on some lines */
    const int two = find_pair(t, c, label, pair);
    if (*task < 0)
        *task = label < 0 && two ? GSA_TASK_TRANSLATION
                : two            ? GSA_TASK_SENTENCE_PAIRS
                                 : GSA_TASK_TEXT_CLASSIFICATION;
    if (*task == GSA_TASK_TRANSLATION) {
        if (!two) pair[0] = 0, pair[1] = 1;
        if (form != GSA_TEXT_TSV)
            return gsa_fail(error, GSA_ERR_FORMAT,
                            "%s: parallel text is read from columns between tabs, or from two "
                            "files: this one is another "
                            "format",
                            file->path);
        write_columns(t, form, pair, 2, sides);
        return GSA_OK;
    }
    if (label < 0) return no_label(file, t, c, error);
    of[0] = label;
    if (*task == GSA_TASK_SENTENCE_PAIRS) {
        if (!two) pair[0] = longest(t, c, label, -1), pair[1] = longest(t, c, label, pair[0]);
        if (pair[1] < 0)
            return gsa_fail(error, GSA_ERR_FORMAT,
                            "%s: a pair has a label and two texts, and the file has %d columns",
                            file->path, t->columns);
        of[1] = !two && pair[1] < pair[0] ? pair[1] : pair[0],
        of[2] = of[1] == pair[0] ? pair[1] : pair[0];
        write_columns(
            t, form, of, 3,
            (const char *const[]){ role_names[LABEL], role_names[FIRST], role_names[SECOND] });
        return GSA_OK;
    }
    of[1] = longest(t, c, label, -1);
    for (int i = 0; i < t->columns; i++)
        if (i != label && c[i].named == TEXT && c[of[1]].named != TEXT) of[1] = i;
    if (of[1] < 0)
        return gsa_fail(error, GSA_ERR_FORMAT, "%s: the file has a label and no text next to it",
                        file->path);
    write_columns(t, form, of, 2, &role_names[LABEL]);
    return GSA_OK;
}

static gsa_status too_few(const gsa_look_bytes *file, int32_t form, const gsa_look_table *t,
                          gsa_error *error)
{
    if (form == GSA_TEXT_JSON && t->columns == 1)
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s: the objects have one field, '%.60s': expected a label and a text in "
                        "each",
                        file->path, t->name[0].at);
    return gsa_fail(error, GSA_ERR_FORMAT, "%s: no %s, expected a label and a text in each",
                    file->path,
                    form == GSA_TEXT_JSON  ? "object has a field"
                    : form == GSA_TEXT_CSV ? "record has two columns between ',' or ';'"
                                           : "line has two columns between tabs");
}

gsa_status gsa_look_columns(const gsa_system *system, const gsa_look_bytes *file, int32_t form,
                            int32_t *task, gsa_look_table *t, gsa_error *error)
{
    column c[GSA_COLUMNS];
    gsa_keyed *scratch = gsa_alloc(system, GSA_LOOK_ROWS, sizeof *scratch);
    t->system = system;
    t->copy = gsa_alloc(system, (size_t)file->count + 1, 1);
    t->cell = gsa_alloc(system, GSA_LOOK_ROWS, GSA_COLUMNS * sizeof *t->cell);
    gsa_status status =
        scratch && t->copy && t->cell ? GSA_OK : gsa_out_of_memory(error, file->path, file->count);
    if (status == GSA_OK) memcpy(t->copy, file->bytes, (size_t)file->count + 1);
    if (status == GSA_OK) status = take_rows(t, file, form, error);
    if (status == GSA_OK && (t->rows == 0 || t->columns < 2))
        status = too_few(file, form, t, error);
    if (status == GSA_OK && form != GSA_TEXT_JSON) {
        t->header = has_header(t);
        for (int i = 0; t->header && i < t->columns; i++) t->name[i] = cell(t, 0, i);
    }
    for (int i = 0; i < t->columns && status == GSA_OK; i++) c[i] = look_at(t, i, scratch);
    if (status == GSA_OK && form != GSA_TEXT_JSON && !t->header && t->rows >= 10) {
        const int label = find_label(t, c, 0);
        t->header = label >= 0 && is_only_here(t, label) && c[label].distinct > 2 &&
                    4 * c[label].distinct < t->rows && !is_texty(cell(t, 0, label == 0)) &&
                    c[label == 0].texty > t->rows / 2;
    }
    if (status == GSA_OK) status = settle(file, form, task, t, c, error);
    gsa_release(system, scratch);
    if (status != GSA_OK) gsa_look_table_release(t);
    return status;
}
