#include "train/data/json.h"
#include <stdio.h>
#include <string.h>

int64_t gsa_json_lists(const char *text, int64_t bytes)
{
    int64_t lists = 0;
    for (int64_t i = 0; i < bytes; i++) lists += text[i] == '[' || text[i] == '{';
    return lists;
}

typedef enum verdict { FINE, DEEP, MANY } verdict;

/* Of the first value, as far as it is JSON: the rest is the parser's to judge. */
static verdict judge(const char *text, int64_t bytes)
{
    int depth = 0, quoted = 0, lists = 0;
    for (int64_t i = 0; i < bytes; i++) {
        const char c = text[i];
        if (quoted && c == '\\') i++;
        else if (c == '"') quoted = !quoted;
        else if (!quoted && (c == '[' || c == '{')) depth++, lists++;
        else if (!quoted && (c == ']' || c == '}')) depth--;
        else if (depth == 0 && !quoted && !memchr(" \t\r\n", c, 4)) return FINE; /* no container */
        if (depth > GSA_JSON_DEEPEST) return DEEP;
        if (lists > GSA_JSON_LISTS) return MANY;
        if (depth <= 0 && !quoted && memchr("]}\"", c, 3)) return FINE; /* its end */
    }
    return FINE;
}

json_t *gsa_json_parse(const char *text, int64_t bytes, size_t flags, json_error_t *why)
{
    const verdict found = judge(text, bytes);
    if (found == FINE) return json_loadb(text, (size_t)bytes, flags, why);
    if (why) *why = (json_error_t){ .line = 1 };
    if (why && found == DEEP)
        snprintf(why->text, sizeof why->text, "it is nested more than %d deep", GSA_JSON_DEEPEST);
    if (why && found == MANY)
        snprintf(why->text, sizeof why->text, "it has more than %d lists and objects",
                 GSA_JSON_LISTS);
    return NULL;
}
