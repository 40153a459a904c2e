/* json.h - JSON of files that come from anywhere: nested at most GSA_JSON_DEEPEST deep, as what
 * reads, walks and frees a value calls itself once a level. */
#ifndef GSA_JSON_H
#define GSA_JSON_H
#include <jansson.h>
#include <stdint.h>

enum { GSA_JSON_DEEPEST = 64 };
/* As json_loadb; `why` may be NULL. */
json_t *gsa_json_parse(const char *text, int64_t bytes, size_t flags, json_error_t *why);

#endif
