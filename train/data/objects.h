/* objects.h - examples as JSON objects, one a line: which of their fields are taken. */
#ifndef GSA_OBJECTS_H
#define GSA_OBJECTS_H
#include "graph/status.h"
#include "graph/topology.h"

struct json_t;

enum { GSA_OBJECT_ROLES = 4 };

typedef struct gsa_object_keys {
    const char *const *names; /* what a role is called; its field too, where nothing else is said */
    int32_t roles, zero;
    gsa_slice key[GSA_OBJECT_ROLES];
} gsa_object_keys;

/* From data.columns: "label=category,text=headline"; a role that it does not name has the field of
 * its name. The text must outlive keys. */
gsa_status gsa_object_keys_read(const char *text, const char *const *names, int roles,
                                gsa_object_keys *keys, gsa_error *error);
/* "null", "a list", "an object", ... : what a value is, for a sentence. */
const char *gsa_object_kind(const struct json_t *value);
/* The fields of roles first..roles-1, in the line's own bytes: strings, and integers and truth
 * values as they are written. An error names path and number, the line's. */
gsa_status gsa_object_read(const char *path, int64_t number, const gsa_object_keys *keys, int first,
                           char *line, int64_t bytes, gsa_slice *field, gsa_error *error);

#endif
