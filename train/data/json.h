/* json.h - JSON of files that come from anywhere: nested at most GSA_JSON_DEEPEST deep, as what
 * reads, walks and frees a value calls itself once a level, and of at most GSA_JSON_LISTS lists and
 * objects: two bytes of a file are one, which takes a hundred times as many. */
#ifndef GSA_JSON_H
#define GSA_JSON_H
#include <jansson.h>
#include <stdint.h>

enum { GSA_JSON_DEEPEST = 64, GSA_JSON_LISTS = 1 << 20 };
/* As json_loadb; `why` may be NULL. */
json_t *gsa_json_parse(const char *text, int64_t bytes, size_t flags, json_error_t *why);
/* Of a text of any number of values; those in strings are counted, too: they are few. */
int64_t gsa_json_lists(const char *text, int64_t bytes);

#endif
