/* safetensors_header.c - a strict reader of exactly this grammar (strings and white space as RFC
 * 8259), keys in any order:
 *   header = "{" [ entry { "," entry } ] "}"
 *   entry  = "__metadata__" ":" "{" [ string ":" string { "," string ":" string } ] "}" | string
 *          ":" "{" "dtype" ":" string "," "shape" ":" integers "," "data_offsets" ":" integers "}"
 * The depth is fixed, so nothing recurses. Linear time but for the search for twins, O(n log n). */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "graph/utf8.h"
#include "safetensors_parts.h"

typedef struct reader {
    const gsa_system *system;
    const char *path;
    char *text; /* text[bytes] is 0: looking one byte ahead is safe */
    int64_t bytes, at;
    gsa_safetensors *file;
    gsa_span *spans;
    int64_t blob_room, note_room;
    int metadata_seen;
    gsa_error *error;
} reader;

/* Texts of a file in a sentence: long ones are cut so that the reason stays in it. */
#define SHOWN "'%.160s'"

static gsa_status fail(reader *in, const char *format, ...) GSA_PRINTF(2, 3);
static gsa_status fail(reader *in, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return gsa_fail(in->error, GSA_ERR_FORMAT, "'%s', byte %" PRId64 ": %s", in->path, 8 + in->at,
                    text);
}

static void skip_space(reader *in)
{
    while (in->at < in->bytes && strchr(" \t\n\r", in->text[in->at]) && in->text[in->at]) in->at++;
}

/* What is where something else should: "'x'". */
static const char *found(const reader *in, char out[32])
{
    const unsigned char c = (unsigned char)in->text[in->at];
    if (in->at >= in->bytes) return "the end of the header";
    snprintf(out, 32, c > 0x20 && c < 0x7f ? "'%c'" : "the byte 0x%02x", c);
    return out;
}

static gsa_status expect(reader *in, char c, const char *what)
{
    char seen[32];
    skip_space(in);
    if (in->at >= in->bytes || in->text[in->at] != c)
        return fail(in, "expected '%c' %s, found %s", c, what, found(in, seen));
    in->at++;
    return GSA_OK;
}

/* open [ element { "," element } ] close */
typedef gsa_status element(reader *in, void *context);
static gsa_status read_list(reader *in, const char *brackets, const char *what, element *one,
                            void *context)
{
    char seen[32];
    gsa_status status = expect(in, brackets[0], what);
    if (status != GSA_OK) return status;
    skip_space(in);
    if (in->text[in->at] == brackets[1]) {
        in->at++;
        return GSA_OK;
    }
    for (;;) {
        if ((status = one(in, context)) != GSA_OK) return status;
        skip_space(in);
        const char c = in->text[in->at];
        if (c != ',' && c != brackets[1])
            return fail(in, "expected ',' or '%c' %s, found %s", brackets[1], what,
                        found(in, seen));
        in->at++;
        if (c != ',') return GSA_OK;
    }
}

/* ---- strings ------------------------------------------------------------------------------- */

/* "\uXXXX" at in->at. */
static gsa_status read_unit(reader *in, uint32_t *unit)
{
    *unit = 0;
    for (int i = 2; i < 6; i++) {
        static const char digits[] = "0123456789abcdef";
        const char c = in->text[in->at + i],
                   lower = c >= 'A' && c <= 'F' ? (char)(c - 'A' + 'a') : c;
        const char *digit = lower ? strchr(digits, lower) : NULL;
        if (!digit) return fail(in, "\\u in a string is not followed by four hexadecimal digits");
        *unit = *unit << 4 | (uint32_t)(digit - digits);
    }
    in->at += 6;
    return GSA_OK;
}

static char *put_utf8(char *to, uint32_t code)
{
    const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char first[4] = { 0, 0xc0, 0xe0, 0xf0 };
    *to++ = (char)(first[more] | code >> 6 * more);
    for (int i = more - 1; i >= 0; i--) *to++ = (char)(0x80 | (code >> 6 * i & 0x3f));
    return to;
}

/* One or, beyond U+FFFF, two \uXXXX; never longer as UTF-8 than as it was. */
static gsa_status read_unicode(reader *in, char **to)
{
    uint32_t code, low = 0;
    gsa_status status = read_unit(in, &code);
    if (status != GSA_OK) return status;
    if (code == 0) return fail(in, "a string holds \\u0000, and names are texts without NUL");
    if (code >= 0xd800 && code < 0xe000) {
        const int pair = code < 0xdc00 && in->text[in->at] == '\\' && in->text[in->at + 1] == 'u';
        if (pair && (status = read_unit(in, &low)) != GSA_OK) return status;
        if (low < 0xdc00 || low >= 0xe000)
            return fail(in, "a string holds a lone surrogate, \\u%04x", (unsigned)code);
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    *to = put_utf8(*to, code);
    return GSA_OK;
}

static gsa_status read_escape(reader *in, char **to)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char c = in->text[in->at + 1];
    const char *letter = c ? strchr(letters, c) : NULL;
    if (c == 'u') return read_unicode(in, to);
    if (!letter) return fail(in, "a string holds an escape that JSON does not know");
    *(*to)++ = meanings[letter - letters];
    in->at += 2;
    return GSA_OK;
}

static gsa_status read_string(reader *in, const char *what, char **string)
{
    gsa_status status = expect(in, '"', what);
    char *to = *string = in->text + in->at;
    while (status == GSA_OK) {
        const char c = in->text[in->at];
        if (c == '"') break;
        if (in->at >= in->bytes) return fail(in, "a string does not end");
        if ((unsigned char)c < 0x20)
            return fail(in, "a string holds the control character 0x%02x", (unsigned)c);
        if (c == '\\') status = read_escape(in, &to);
        else *to++ = c, in->at++;
    }
    if (status == GSA_OK) *to = 0, in->at++; /* at or before the closing quote */
    return status;
}

/* ---- integers ------------------------------------------------------------------------------ */

typedef struct integers {
    const char *name, *what;
    int64_t *at;
    int count, most;
} integers;

static gsa_status read_integer(reader *in, void *context)
{
    integers *list = context;
    char seen[32];
    int64_t value = 0;
    skip_space(in);
    const int64_t first = in->at;
    if (list->count == list->most)
        return fail(in, "%s of " SHOWN " has more than %d numbers", list->what, list->name,
                    list->most);
    for (; in->text[in->at] >= '0' && in->text[in->at] <= '9'; in->at++) {
        const int digit = in->text[in->at] - '0';
        if (value > (INT64_MAX - digit) / 10)
            return fail(in, "a number in %s of " SHOWN " exceeds %" PRId64, list->what, list->name,
                        INT64_MAX);
        value = 10 * value + digit;
    }
    const char after = in->text[in->at];
    if (in->at == first || after == '.' || after == 'e' || after == 'E')
        return fail(in, "expected an integer >= 0 in %s of " SHOWN ", found %s", list->what,
                    list->name, found(in, seen));
    if (in->text[first] == '0' && in->at > first + 1)
        return fail(in, "a number in %s of " SHOWN " starts with a 0", list->what, list->name);
    list->at[list->count++] = value;
    return GSA_OK;
}

/* ---- one tensor ---------------------------------------------------------------------------- */

enum { DTYPE, SHAPE, OFFSETS, KEYS };
static const char *const keys[KEYS] = { "dtype", "shape", "data_offsets" };

typedef struct facts {
    gsa_blob blob;
    gsa_span span;
    int seen[KEYS];
} facts;

static gsa_status read_dtype(reader *in, facts *entry)
{
    char *text;
    const gsa_status status = read_string(in, "before a dtype", &text);
    if (status != GSA_OK) return status;
    const gsa_dtype_fact *fact;
    for (int32_t dtype = 0; (fact = gsa_dtype_about(dtype)); dtype++) {
        if (strcmp(fact->name, text) != 0) continue;
        entry->blob.dtype = dtype;
        return GSA_OK;
    }
    return fail(in, "the dtype " SHOWN " of " SHOWN " is not one of " GSA_SAFETENSORS_DTYPES, text,
                entry->blob.name);
}

static gsa_status read_offsets(reader *in, facts *entry)
{
    int64_t pair[2];
    integers list = { entry->blob.name, "data_offsets", pair, 0, 2 };
    const gsa_status status = read_list(in, "[]", "around data_offsets", read_integer, &list);
    if (status != GSA_OK) return status;
    if (list.count != 2)
        return fail(in, "data_offsets of " SHOWN " has %d numbers, not 2", entry->blob.name,
                    list.count);
    entry->span.begin = pair[0], entry->span.end = pair[1];
    return GSA_OK;
}

static gsa_status read_shape(reader *in, facts *entry)
{
    integers list = { entry->blob.name, "shape", entry->blob.shape, 0, GSA_SAFETENSORS_MAX_DIMS };
    const gsa_status status = read_list(in, "[]", "around a shape", read_integer, &list);
    entry->blob.dims = list.count;
    return status;
}

static gsa_status read_fact(reader *in, void *context)
{
    facts *entry = context;
    const char *const name = entry->blob.name;
    char *key;
    gsa_status status = read_string(in, "before a key", &key);
    if (status != GSA_OK) return status;
    int which = 0;
    while (which < KEYS && strcmp(keys[which], key) != 0) which++;
    if (which == KEYS)
        return fail(in, SHOWN " of " SHOWN " is not one of dtype, shape, data_offsets", key, name);
    if (entry->seen[which]++) return fail(in, "'%s' of " SHOWN " occurs twice", keys[which], name);
    if ((status = expect(in, ':', "after a key")) != GSA_OK) return status;
    return which == DTYPE   ? read_dtype(in, entry)
           : which == SHAPE ? read_shape(in, entry)
                            : read_offsets(in, entry);
}

static gsa_status check_entry(reader *in, const facts *entry)
{
    const char *const name = entry->blob.name;
    const int64_t begin = entry->span.begin, end = entry->span.end;
    int64_t bytes;
    for (int k = 0; k < KEYS; k++)
        if (!entry->seen[k]) return fail(in, SHOWN " has no %s", name, keys[k]);
    if (begin > end)
        return fail(in, "data_offsets of " SHOWN " fall, from %" PRId64 " to %" PRId64, name, begin,
                    end);
    if (!gsa_blob_bytes(&entry->blob, &bytes))
        return fail(in, "the shape of " SHOWN " is too large to be counted", name);
    if (bytes == end - begin) return GSA_OK;
    return fail(in, SHOWN " has %" PRId64 " bytes of data, and its dtype and shape make %" PRId64,
                name, end - begin, bytes);
}

/* Room for one more in an array that holds `count`. */
static gsa_status grow(reader *in, void **at, int64_t *room, int count, size_t size)
{
    if (count < *room) return GSA_OK;
    const int64_t want = *room ? 2 * *room : 16;
    void *more = gsa_resize(in->system, *at, (size_t)want, size);
    if (!more) return gsa_out_of_memory(in->error, in->path, want * (int64_t)size);
    *at = more, *room = want;
    return GSA_OK;
}

static gsa_status keep_entry(reader *in, const facts *entry)
{
    gsa_safetensors *file = in->file;
    int64_t room = in->blob_room;
    void *blobs = file->blobs, *spans = in->spans;
    gsa_status status = grow(in, &blobs, &room, file->count, sizeof *file->blobs);
    file->blobs = blobs;
    if (status != GSA_OK) return status;
    status = grow(in, &spans, &in->blob_room, file->count, sizeof *in->spans);
    in->spans = spans;
    if (status != GSA_OK) return status;
    file->blobs[file->count] = entry->blob;
    in->spans[file->count] = entry->span;
    in->spans[file->count].blob = file->count;
    file->count++;
    return GSA_OK;
}

/* ---- the header ---------------------------------------------------------------------------- */

static gsa_status read_note(reader *in, void *context)
{
    (void)context;
    gsa_safetensors *file = in->file;
    char *key, *value;
    gsa_status status = read_string(in, "before a key of " GSA_SAFETENSORS_METADATA, &key);
    if (status == GSA_OK) status = expect(in, ':', "after a key of " GSA_SAFETENSORS_METADATA);
    if (status == GSA_OK)
        status = read_string(in, "before a value of " GSA_SAFETENSORS_METADATA, &value);
    if (status != GSA_OK) return status;
    void *notes = file->notes;
    status = grow(in, &notes, &in->note_room, file->n_notes, sizeof *file->notes);
    file->notes = notes;
    if (status == GSA_OK) file->notes[file->n_notes++] = (gsa_note){ key, value };
    return status;
}

static gsa_status read_entry(reader *in, void *context)
{
    (void)context;
    char *name;
    gsa_status status = read_string(in, "before a tensor's name", &name);
    if (status == GSA_OK) status = expect(in, ':', "after a tensor's name");
    if (status != GSA_OK) return status;
    if (strcmp(name, GSA_SAFETENSORS_METADATA) == 0) {
        if (in->metadata_seen++) return fail(in, "'" GSA_SAFETENSORS_METADATA "' occurs twice");
        return read_list(in, "{}", "around " GSA_SAFETENSORS_METADATA, read_note, NULL);
    }
    facts entry = { .blob.name = name };
    status = read_list(in, "{}", "around a tensor's facts", read_fact, &entry);
    if (status == GSA_OK) status = check_entry(in, &entry);
    return status == GSA_OK ? keep_entry(in, &entry) : status;
}

static gsa_status parse(reader *in)
{
    char seen[32];
    const char *twin;
    in->at = gsa_utf8_invalid(in->text, in->bytes);
    if (in->at >= 0) return fail(in, "the header is not valid UTF-8");
    in->at = 0;
    if (in->text[0] != '{')
        return fail(in, "expected '{' at the start of the header, found %s", found(in, seen));
    gsa_status status = read_list(in, "{}", "around the header", read_entry, NULL);
    if (status != GSA_OK) return status;
    skip_space(in);
    if (in->at < in->bytes)
        return fail(in, "expected the end of the header, found %s", found(in, seen));
    const gsa_safetensors *file = in->file;
    status = gsa_safetensors_twin(in->system, file->blobs, file->count, file->notes, file->n_notes,
                                  &twin, in->error);
    if (status != GSA_OK || !twin) return status;
    return gsa_fail(in->error, GSA_ERR_FORMAT,
                    "'%s': the name " SHOWN " occurs twice in the header", in->path, twin);
}

gsa_status gsa_safetensors_parse(const gsa_system *system, const char *path, char *text,
                                 int64_t bytes, gsa_safetensors *file, gsa_span **spans,
                                 gsa_error *error)
{
    reader in = {
        .system = system, .path = path, .text = text, .bytes = bytes, .file = file, .error = error
    };
    const gsa_status status = parse(&in);
    *spans = in.spans;
    return status;
}
