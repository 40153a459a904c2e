#include "train/data/objects.h"
#include <stdio.h>
#include <string.h>
#include "topologies/words.h"
#include "train/data/columns.h"
#include "train/data/json.h"

enum { KEY = 256 };

static int is_text(gsa_slice a, const char *b)
{
    return (int64_t)strlen(b) == a.bytes && memcmp(a.at, b, (size_t)a.bytes) == 0;
}

static gsa_status bad_columns(const char *text, const gsa_object_keys *keys, gsa_error *error)
{
    char shown[GSA_SHOWN], all[256];
    size_t used = 0;
    for (int r = 0; r < keys->roles; r++)
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s=FIELD", r ? "," : "",
                                 keys->names[r]);
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "data.columns = %s, expected fields of JSON objects, each once: %s",
                    gsa_word_show(text, shown), all);
}

gsa_status gsa_object_keys_read(const char *text, const char *const *names, int roles,
                                gsa_object_keys *keys, gsa_error *error)
{
    gsa_slice part[GSA_COLUMNS];
    int told[GSA_OBJECT_ROLES] = { 0 };
    *keys = (gsa_object_keys){ .names = names, .roles = roles };
    for (int r = 0; r < roles; r++)
        keys->key[r] = (gsa_slice){ names[r], (int64_t)strlen(names[r]) };
    const int count = *text ? gsa_columns_split(text, (int64_t)strlen(text), ',', part) : 0;
    for (int i = 0; i < count; i++) {
        const char *equals = memchr(part[i].at, '=', (size_t)part[i].bytes);
        const gsa_slice name = { part[i].at, equals ? equals - part[i].at : part[i].bytes };
        int r = 0;
        while (r < roles && !is_text(name, names[r])) r++;
        if (r == roles || told[r]++ || (equals && equals + 1 == part[i].at + part[i].bytes))
            return bad_columns(text, keys, error);
        if (equals)
            keys->key[r] = (gsa_slice){ equals + 1, part[i].at + part[i].bytes - equals - 1 };
        if (keys->key[r].bytes >= KEY) return bad_columns(text, keys, error);
    }
    return count < 0 ? bad_columns(text, keys, error) : GSA_OK;
}

const char *gsa_object_kind(const json_t *value)
{
    static const char *const kinds[] = { [JSON_OBJECT] = "an object",
                                         [JSON_ARRAY] = "a list",
                                         [JSON_STRING] = "a string",
                                         [JSON_INTEGER] = "a number",
                                         [JSON_REAL] = "a number with a fraction",
                                         [JSON_TRUE] = "true",
                                         [JSON_FALSE] = "false",
                                         [JSON_NULL] = "null" };
    return kinds[json_typeof(value)];
}

/* A value of the object, copied to *to, which moves on: what is decoded is no longer than what
 * was in the line. */
static gsa_status take(const char *path, int64_t line, const json_t *object, gsa_slice key,
                       char **to, const char *end, gsa_slice *field, gsa_error *error)
{
    char name[KEY], number[32];
    snprintf(name, sizeof name, "%.*s", (int)key.bytes, key.at);
    const json_t *value = json_object_get(object, name);
    const char *text = number;
    if (!value)
        return gsa_fail(error, GSA_ERR_FORMAT, "%s:%lld: the object has no field '%s'", path,
                        (long long)line, name);
    switch (json_typeof(value)) {
    case JSON_INTEGER:
        snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        text = gsa_object_kind(value);
        break;
    case JSON_STRING: /* no NUL is in it: no \u0000 is read */
        text = json_string_value(value);
        break;
    default:
        return gsa_fail(error, GSA_ERR_FORMAT, "%s:%lld: field '%s' is no string, but %s", path,
                        (long long)line, name, gsa_object_kind(value));
    }
    const size_t bytes = strlen(text);
    if (bytes > (size_t)(end - *to))
        return gsa_fail(error, GSA_ERR_FORMAT, "%s:%lld: field '%s' is longer than its line", path,
                        (long long)line, name);
    memcpy(*to, text, bytes);
    *field = (gsa_slice){ *to, (int64_t)bytes };
    *to += bytes;
    return GSA_OK;
}

gsa_status gsa_object_read(const char *path, int64_t number, const gsa_object_keys *keys, int first,
                           char *line, int64_t bytes, gsa_slice *field, gsa_error *error)
{
    json_error_t why;
    char *to = line;
    json_t *object = gsa_json_parse(line, bytes, JSON_REJECT_DUPLICATES, &why);
    if (!object)
        return gsa_fail(error, GSA_ERR_FORMAT, "%s:%lld: no JSON: %s (byte %d)", path,
                        (long long)number, why.text, why.position);
    gsa_status status = json_is_object(object)
                            ? GSA_OK
                            : gsa_fail(error, GSA_ERR_FORMAT, "%s:%lld: the line is no JSON object",
                                       path, (long long)number);
    for (int r = first; r < keys->roles && status == GSA_OK; r++)
        status = take(path, number, object, keys->key[r], &to, line + bytes, &field[r], error);
    json_decref(object);
    return status;
}
