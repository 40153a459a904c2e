#include "train/data/json.h"
#include <stdio.h>
#include <string.h>

/* Of the first value, as far as it is JSON: the rest is the parser's to judge. */
static int is_deep(const char *text, int64_t bytes)
{
    int depth = 0, quoted = 0;
    for (int64_t i = 0; i < bytes; i++) {
        const char c = text[i];
        if (quoted && c == '\\') i++;
        else if (c == '"') quoted = !quoted;
        else if (!quoted && (c == '[' || c == '{')) depth++;
        else if (!quoted && (c == ']' || c == '}')) depth--;
        else if (depth == 0 && !quoted && !memchr(" \t\r\n", c, 4)) return 0; /* no container */
        if (depth > GSA_JSON_DEEPEST) return 1;
        if (depth <= 0 && !quoted && memchr("]}\"", c, 3)) return 0; /* its end */
    }
    return 0;
}

json_t *gsa_json_parse(const char *text, int64_t bytes, size_t flags, json_error_t *why)
{
    if (!is_deep(text, bytes)) return json_loadb(text, (size_t)bytes, flags, why);
    if (why) {
        *why = (json_error_t){ .line = 1 };
        snprintf(why->text, sizeof why->text, "it is nested more than %d deep", GSA_JSON_DEEPEST);
    }
    return NULL;
}
