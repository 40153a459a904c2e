#include "spec.h"
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include "words.h"

enum { LAYER_LIMIT = 1000, TEXT_LIMIT = 1 << 16 };
_Static_assert(GSA_WORD_LIMIT == 63, "the sentence says so");
static const char TOO_LONG[] = "the end of a name of at most 63 letters";

typedef struct reader {
    gsa_stack_spec *spec;
    const char *text, *at;
    gsa_error *error;
} reader;

/* ---- failures ------------------------------------------------------------------------------ */

static long column(const char *text, const char *at)
{
    long column = 1;
    for (; text < at; text++)
        column += ((unsigned char)*text & 0xc0) != 0x80; /* characters, not bytes */
    return column;
}

static gsa_status expected(const reader *r, const char *at, const char *what)
{
    char whole[GSA_SHOWN], found[GSA_SHOWN], piece[5] = "";
    for (int i = 0; i < 4 && at[i] && (i == 0 || ((unsigned char)at[i] & 0xc0) == 0x80); i++)
        piece[i] = at[i];
    return gsa_fail(r->error, GSA_ERR_FORMAT, "stack %s, column %ld: expected %s, found %s",
                    gsa_word_show(r->text, whole), column(r->text, at), what,
                    *at ? gsa_word_show(piece, found) : "the end");
}

static gsa_status no_memory(gsa_error *error)
{
    return gsa_fail(error, GSA_ERR_MEMORY, "stack: out of memory");
}

/* ---- growing lists: room is doubled when the count is a power of two ----------------------- */

static void *room_for_one(const gsa_system *system, void *list, int count, size_t size)
{
    return count & (count - 1) ? list
                               : gsa_resize(system, list, count ? 2 * (size_t)count : 1, size);
}

static gsa_segment_spec *add_segment(gsa_stack_spec *spec)
{
    gsa_segment_spec *list =
        room_for_one(spec->system, spec->segments, spec->n_segments, sizeof *list);
    if (!list) return NULL;
    spec->segments = list;
    list[spec->n_segments] = (gsa_segment_spec){ .layers = 1, .share = -1 };
    return &list[spec->n_segments++];
}

static gsa_part_spec *add_part(gsa_stack_spec *spec, gsa_segment_spec *segment)
{
    gsa_part_spec *list =
        room_for_one(spec->system, segment->parts, segment->n_parts, sizeof *list);
    if (!list) return NULL;
    segment->parts = list;
    list[segment->n_parts] = (gsa_part_spec){ 0 };
    return &list[segment->n_parts++];
}

static char *copy(const gsa_system *system, const char *at, size_t bytes)
{
    char *text = gsa_alloc(system, bytes + 1, 1);
    if (!text) return NULL;
    memcpy(text, at, bytes);
    text[bytes] = 0;
    return text;
}

static gsa_status add_setting(gsa_stack_spec *spec, gsa_part_spec *part, const char *key,
                              size_t key_bytes, const char *value, size_t value_bytes,
                              gsa_error *error)
{
    const gsa_system *system = spec->system;
    gsa_setting *list = room_for_one(system, part->settings, part->n_settings, sizeof *list);
    if (!list) return no_memory(error);
    part->settings = list;
    char *name = copy(system, key, key_bytes), *text = copy(system, value, value_bytes);
    if (!name || !text) {
        gsa_release(system, name);
        gsa_release(system, text);
        return no_memory(error);
    }
    list[part->n_settings++] = (gsa_setting){ name, text };
    return GSA_OK;
}

/* ---- the grammar, one function a rule ------------------------------------------------------ */

static gsa_status read_name(reader *r, const char *what, const char **name, size_t *bytes)
{
    *name = r->at;
    *bytes =
        *r->at >= 'a' && *r->at <= 'z' ? strspn(r->at, "abcdefghijklmnopqrstuvwxyz0123456789_") : 0;
    if (*bytes == 0) return expected(r, r->at, what);
    if (*bytes > GSA_WORD_LIMIT) return expected(r, r->at + GSA_WORD_LIMIT, TOO_LONG);
    r->at += *bytes;
    return GSA_OK;
}

static int is_key(const char *name, size_t bytes, const char *key)
{
    return strlen(key) == bytes && memcmp(name, key, bytes) == 0;
}

static gsa_status read_share(reader *r, gsa_segment_spec *segment, const char *key,
                             const char *value, size_t bytes)
{
    if (bytes != 1 || (*value != '0' && *value != '1'))
        return expected(r, value, "0 or 1 for share");
    if (segment->share >= 0) return expected(r, key, "share only once in a segment");
    segment->share = *value - '0';
    return GSA_OK;
}

/* key [ "=" value ], after the ':' */
static gsa_status read_setting(reader *r, gsa_segment_spec *segment, gsa_part_spec *part)
{
    const char *key, *value = "1";
    size_t key_bytes, value_bytes = 1;
    const gsa_status status =
        read_name(r, "a parameter's name ([a-z][a-z0-9_]*)", &key, &key_bytes);
    if (status != GSA_OK) return status;
    if (is_key(key, key_bytes, "layers"))
        return expected(r, key, "layers written as *2 at the end of the segment");
    if (is_key(key, key_bytes, "topology"))
        return expected(r, key, "the topology's name in front, without a key");
    if (*r->at == '=') {
        value = ++r->at;
        value_bytes = strcspn(r->at, ",+*:");
        if (value_bytes == 0) return expected(r, r->at, "a value after '='");
        r->at += value_bytes;
    }
    if (is_key(key, key_bytes, "share")) return read_share(r, segment, key, value, value_bytes);
    return add_setting(r->spec, part, key, key_bytes, value, value_bytes, r->error);
}

/* id { ":" key [ "=" value ] } */
static gsa_status read_part(reader *r, gsa_segment_spec *segment)
{
    const char *id;
    size_t bytes;
    gsa_status status = read_name(r, "a topology's name ([a-z][a-z0-9_]*)", &id, &bytes);
    if (status != GSA_OK) return status;
    gsa_part_spec *part = add_part(r->spec, segment);
    if (!part || !(part->id = copy(r->spec->system, id, bytes))) return no_memory(r->error);
    while (status == GSA_OK && *r->at == ':') {
        r->at++;
        status = read_setting(r, segment, part);
    }
    return status;
}

static gsa_status read_layers(reader *r, gsa_segment_spec *segment)
{
    const char *digits = r->at;
    int layers = 0;
    while (*r->at >= '0' && *r->at <= '9' && layers <= LAYER_LIMIT)
        layers = 10 * layers + (*r->at++ - '0');
    if (layers > LAYER_LIMIT) {
        char whole[GSA_SHOWN];
        return gsa_fail(
            r->error, GSA_ERR_FORMAT,
            "stack %s, column %ld: expected a number of layers from 1 to 1000, found '%.*s'",
            gsa_word_show(r->text, whole), column(r->text, digits),
            (int)strspn(digits, "0123456789"), digits);
    }
    if (layers < 1) return expected(r, digits, "a number of layers from 1 to 1000");
    segment->layers = layers;
    return *r->at && *r->at != ',' ? expected(r, r->at, "',' or the end after the layers") : GSA_OK;
}

/* part { "+" part } [ "*" layers ] */
static gsa_status read_segment(reader *r)
{
    gsa_segment_spec *segment = add_segment(r->spec);
    if (!segment) return no_memory(r->error);
    gsa_status status = read_part(r, segment);
    while (status == GSA_OK && *r->at == '+') {
        r->at++;
        status = read_part(r, segment);
    }
    if (segment->share < 0) segment->share = 0;
    if (status != GSA_OK || !*r->at || *r->at == ',') return status;
    if (*r->at != '*') return expected(r, r->at, "':', '+', '*', ',' or the end");
    r->at++;
    return read_layers(r, segment);
}

gsa_status gsa_spec_parse(const gsa_system *system, const char *text, gsa_stack_spec *spec,
                          gsa_error *error)
{
    *spec = (gsa_stack_spec){ .system = system };
    if (!text) return gsa_fail(error, GSA_ERR_ARGUMENT, "stack: the text is missing");
    if (strlen(text) > TEXT_LIMIT)
        return gsa_fail(error, GSA_ERR_LIMIT, "stack: the text has %zu bytes, expected at most %d",
                        strlen(text), TEXT_LIMIT);
    reader r = { spec, text, text, error };
    gsa_status status = read_segment(&r);
    while (status == GSA_OK && *r.at == ',') {
        r.at++;
        status = read_segment(&r);
    }
    if (status != GSA_OK) gsa_spec_release(spec);
    return status;
}

gsa_status gsa_spec_set(gsa_stack_spec *spec, int segment, int part, const char *key,
                        const char *value, gsa_error *error)
{
    char shown[GSA_SHOWN];
    if (segment < 0 || segment >= spec->n_segments || part < 0 ||
        part >= spec->segments[segment].n_parts)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "stack: there is no part %d of segment %d, counted from 0", part, segment);
    if (!key || !value)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "stack: a setting needs a key and a value");
    gsa_segment_spec *s = &spec->segments[segment];
    if (strcmp(key, "share") != 0)
        return add_setting(spec, &s->parts[part], key, strlen(key), value, strlen(value), error);
    if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "stack: share is %s, expected 0 or 1",
                        gsa_word_show(value, shown));
    s->share = value[0] == '1';
    return GSA_OK;
}

/* ---- release ------------------------------------------------------------------------------- */

static void release_part(const gsa_system *system, gsa_part_spec *part)
{
    for (int i = 0; i < part->n_settings; i++) {
        gsa_release(system,
                    (void *)(uintptr_t)part->settings[i].key); /* ours: add_setting copied them */
        gsa_release(system, (void *)(uintptr_t)part->settings[i].value);
    }
    gsa_release(system, part->settings);
    gsa_release(system, part->id);
}

void gsa_spec_release(gsa_stack_spec *spec)
{
    for (int s = 0; s < spec->n_segments; s++) {
        for (int p = 0; p < spec->segments[s].n_parts; p++)
            release_part(spec->system, &spec->segments[s].parts[p]);
        gsa_release(spec->system, spec->segments[s].parts);
    }
    gsa_release(spec->system, spec->segments);
    *spec = (gsa_stack_spec){ .system = spec->system };
}
