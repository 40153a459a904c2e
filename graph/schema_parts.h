/* schema_parts.h - the inside of a schema, for the files of graph/; not installed. */
#ifndef GSA_SCHEMA_PARTS_H
#define GSA_SCHEMA_PARTS_H
#include "graph/schema.h"

enum { GSA_MAX_SUMMARIES = 64, GSA_SCHEMA_TEXTS = 1 + GSA_MAX_KINDS + 2 * GSA_MAX_PHASES };

typedef struct gsa_summary {
    int kind, pool;
    double weight;
} gsa_summary;

struct gsa_schema {
    const gsa_system *system;
    const char *id;
    int kinds, phases, summaries, sequence; /* sequence -1: not named yet */
    uint32_t flags;
    int growth;
    gsa_kind kind[GSA_MAX_KINDS];
    gsa_phase phase[GSA_MAX_PHASES];
    int group[GSA_MAX_PHASES]; /* the first phase of the together group that the phase belongs to */
    gsa_summary summary[GSA_MAX_SUMMARIES];
    int texts;
    char *text[GSA_SCHEMA_TEXTS]; /* every string above, owned */
};

/* Resolves defaults (labels, empty, groups) and checks every law of schema.h that needs no look at
 * the plugin's structs. */
gsa_status gsa_schema_check(gsa_schema *schema, gsa_error *error);

/* [a-z][a-z0-9_]* */
int gsa_is_name(const char *text);

#endif
