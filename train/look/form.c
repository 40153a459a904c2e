/* form.c - the format of a file, from its first lines. The reader of that format then reads all of
 * it, and says what is wrong where. */
#include <stdio.h>
#include <string.h>
#include "graph/utf8.h"
#include "train/driver/batches.h"
#include "train/data/csv.h"
#include "train/look/look_parts.h"
#include "train/data/json.h"

enum { MOST = 2000, LONGEST = 1 << 24 };

/* Counts over the first lines that hold something. */
typedef struct census {
    int64_t lines, gaps;               /* gaps: empty lines that are followed by another one */
    int64_t fast, trees, objects;      /* __label__, ( ... ), { */
    int64_t tabs, with_tabs;           /* of the first line; lines with as many */
    int64_t blanks, with_blanks;       /* runs of blanks, likewise */
    int64_t commented, numbered;       /* CoNLL-U: "# ", ten columns that begin with a number */
    int64_t single;                    /* a character, a blank, a word */
    int64_t two;                       /* lines of two words at least */
    int64_t plain_first;               /* tabs: the first column holds no blank */
    gsa_keyed first[MOST], last[MOST]; /* words of lines, as hashes */
} census;

static uint64_t hash_of(const char *at, int64_t bytes)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (int64_t i = 0; i < bytes; i++) h = (h ^ (unsigned char)at[i]) * UINT64_C(0x100000001b3);
    return h;
}

static int is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void count_line(census *c, const char *line, int64_t bytes)
{
    int64_t tabs = 0, runs = 0, first = 0, last = bytes;
    for (int64_t i = 0; i < bytes; i++) {
        tabs += line[i] == '\t';
        runs += is_blank(line[i]) && i > 0 && !is_blank(line[i - 1]) && i + 1 < bytes;
    }
    while (first < bytes && !is_blank(line[first])) first++;
    while (last > 0 && !is_blank(line[last - 1])) last--;
    if (c->lines == 0) c->tabs = tabs, c->blanks = runs;
    c->fast += bytes > 9 && memcmp(line, "__label__", 9) == 0;
    c->trees +=
        bytes > 4 && line[0] == '(' && line[bytes - 1] == ')' && line[1] >= '0' && line[1] <= '9';
    c->objects += line[0] == '{';
    c->with_tabs += tabs == c->tabs, c->with_blanks += runs == c->blanks;
    c->commented += bytes > 1 && line[0] == '#' && line[1] == ' ';
    c->numbered += tabs == 9 && line[0] >= '0' && line[0] <= '9';
    const int64_t token = last - 1; /* bytes before the last word's blank */
    c->single += token > 0 && last < bytes && token == gsa_utf8_length(line);
    c->two += first > 0 && first < bytes;
    c->plain_first += !memchr(
        line, ' ', (size_t)(tabs ? (const char *)memchr(line, '\t', (size_t)bytes) - line : bytes));
    c->first[c->lines] = (gsa_keyed){ hash_of(line, first), 0 };
    c->last[c->lines++] = (gsa_keyed){ hash_of(line + last, bytes - last), 0 };
}

static int64_t distinct(gsa_keyed *word, int64_t count)
{
    int64_t found = count > 0;
    gsa_sort_keyed(word, count);
    for (int64_t i = 1; i < count; i++) found += word[i].key != word[i - 1].key;
    return found;
}

/* Of sorted words: those that occur once. */
static int64_t single(const gsa_keyed *word, int64_t count)
{
    int64_t found = 0;
    for (int64_t i = 0; i < count; i++)
        found += (i == 0 || word[i].key != word[i - 1].key) &&
                 (i + 1 == count || word[i].key != word[i + 1].key);
    return found;
}

static gsa_status take_census(const gsa_look_bytes *file, census *c, gsa_error *error)
{
    gsa_lines lines = gsa_lines_start(file->path, file->bytes, file->count);
    char *line;
    int64_t bytes, gap = 0;
    while (c->lines < MOST && gsa_lines_next(&lines, &line, &bytes)) {
        if (bytes > LONGEST && lines.at < lines.end)
            return gsa_fail(
                error, GSA_ERR_FORMAT,
                "%s:%lld: the line has %lld bytes, more than %d: expected an example a line",
                file->path, (long long)lines.number, (long long)bytes, LONGEST);
        if (bytes == 0 || (bytes >= 10 && memcmp(line, "-DOCSTART-", 10) == 0)) {
            gap = c->lines > 0;
            continue;
        }
        c->gaps += gap, gap = 0;
        count_line(c, line, bytes);
    }
    return GSA_OK;
}

/* Files of objects: one a line, or one in all. */
static gsa_status check_objects(const gsa_look_bytes *file, gsa_error *error)
{
    json_error_t why;
    gsa_lines lines = gsa_lines_start(file->path, file->bytes, file->count);
    char *line = file->bytes;
    int64_t bytes = 0;
    while (bytes == 0 && gsa_lines_next(&lines, &line, &bytes)) {
    }
    json_t *first = gsa_json_parse(line, bytes, 0, &why);
    const int object = json_is_object(first),
              squad = object && json_object_get(first, "data") && lines.at == lines.end;
    json_decref(first);
    if (object && !squad) return GSA_OK;
    if (squad || strstr(file->bytes, "\"paragraphs\""))
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s: questions on passages (SQuAD's JSON): 'gsa train drcd' and 'gsa train "
                        "cmrc' are recipes for "
                        "them, --set data.train=%s",
                        file->path, file->path);
    return gsa_fail(error, GSA_ERR_FORMAT,
                    "%s: JSON over several lines, expected an object a line: 'jq -c .[] %s >NEW' "
                    "writes such a file",
                    file->path, file->path);
}

/* Every record has as many fields, two or more; `sure`: the file's name or a quote says so. */
static int is_csv(const gsa_look_bytes *file, int sure)
{
    gsa_lines lines = gsa_lines_start(file->path, file->bytes, file->count);
    int64_t same = 0, other = 0, quotes = 0;
    const char separator = gsa_csv_separator(&lines);
    int first = 0, inside = 0, fields = 1;
    for (const char *at = lines.at; at < lines.end && same + other < MOST; at++) {
        quotes += *at == '"', inside ^= *at == '"';
        if (!inside) fields += *at == separator;
        if (inside || (*at != '\n' && at + 1 < lines.end)) continue;
        if (first == 0) first = fields;
        same += fields == first, other += fields != first;
        fields = 1;
    }
    if (sure && inside) return 1; /* a quote is open, which the reader will say, with its line */
    return first > 1 && same > 9 * other && (sure || quotes >= same);
}

static int ends_in(const char *path, const char *ending)
{
    const size_t bytes = strlen(path), more = strlen(ending);
    return bytes > more && strcmp(path + bytes - more, ending) == 0;
}

static int32_t decide(const gsa_look_bytes *file, census *c)
{
    const int64_t n = c->lines, most = n - n / 10;
    if (c->fast >= most) return GSA_TEXT_FASTTEXT;
    if (c->trees >= most) return GSA_TEXT_SST;
    if (c->numbered > 0 && c->numbered + c->commented >= most) return GSA_TEXT_CONLLU;
    const int64_t tags = distinct(c->last, n), words = distinct(c->first, n);
    const int blocks = c->gaps > 0 && tags <= 8 + n / 8 && tags < words;
    if (blocks && c->single >= most) return GSA_TEXT_CHARS;
    if (blocks && c->tabs > 0 && c->with_tabs >= most && c->plain_first >= most)
        return GSA_TEXT_CONLL;
    if (blocks && c->blanks > 0 && c->with_blanks >= most) return GSA_TEXT_CONLL;
    if (ends_in(file->path, ".csv") && is_csv(file, 1)) return GSA_TEXT_CSV;
    if (c->tabs > 0 && c->with_tabs >= most) return GSA_TEXT_TSV;
    if (is_csv(file, 0)) return GSA_TEXT_CSV;
    if (c->two == n && n >= 10 && words <= 50 && words <= n / 5 &&
        single(c->first, n) <= 1 + n / 20)
        return GSA_TEXT_STSA;
    return GSA_LOOK_PLAIN;
}

/* Of a file without a task: columns that are none would be learned letter by letter. */
gsa_status gsa_look_check_name(const gsa_look_bytes *file, gsa_error *error)
{
    char told[112] = "";
    int64_t line = 1, before = -1, tabs = 0;
    const int tabbed = strchr(file->bytes, '\t') != NULL;
    if (!ends_in(file->path, ".csv") && !ends_in(file->path, ".tsv")) return GSA_OK;
    for (const char *at = file->bytes; tabbed && *at && !*told; at++) {
        tabs += *at == '\t';
        if (*at != '\n') continue;
        if (before >= 0 && tabs != before)
            snprintf(told, sizeof told, " (line %lld has %lld tabs, line %lld has %lld)",
                     (long long)line - 1, (long long)before, (long long)line, (long long)tabs);
        before = tabs, tabs = 0, line++;
    }
    return gsa_fail(error, GSA_ERR_FORMAT,
                    "%s: its name says columns, but its lines have no equal numbers of tabs, or of "
                    "',' or ';'%s; --task language_modelling takes it as running text",
                    file->path, told);
}

gsa_status gsa_look_form(const gsa_system *system, const gsa_look_bytes *file, int32_t *form,
                         gsa_error *error)
{
    census *c = gsa_alloc_zero(system, 1, sizeof *c);
    if (!c) return gsa_out_of_memory(error, file->path, sizeof *c);
    gsa_status status = take_census(file, c, error);
    const char *at =
        file->bytes + (file->count >= 3 && memcmp(file->bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
    while (*at && strchr(" \t\r\n", *at)) at++;
    *form = GSA_TEXT_JSON;
    if (status == GSA_OK && *at == '{') status = check_objects(file, error);
    else if (status == GSA_OK && *at == '[' && strchr("{\n\r \t", at[1]) && strchr(at, '{'))
        status = check_objects(file, error);
    else if (status == GSA_OK) *form = decide(file, c);
    gsa_release(system, c);
    return status;
}
