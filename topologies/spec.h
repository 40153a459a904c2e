/* spec.h - the text form of a stack: segments joined by commas, each one or more patterns joined by
 * '+', times layers.
 *
 * Example:
 *
 *     gsa_error error;
 *     gsa_stack_spec spec;
 *     if (gsa_spec_parse(NULL, "window:width=11*3,full*3", &spec, &error))
 *         return puts(error.text), 1;
 *     for (int s = 0; s < spec.n_segments; s++)
 *         printf("%d layers of %s\n", spec.segments[s].layers, spec.segments[s].parts[0].id);
 *     gsa_spec_release(&spec);
 *     if (gsa_spec_parse(NULL, "full*0", &spec, &error)) puts(error.text);
 *     return 0;
 *
 *   stack   = segment { "," segment }
 *   segment = part { "+" part } [ "*" layers ]           layers: 1..1000, default 1
 *   part    = id { ":" key [ "=" value ] }               "key" alone means "key=1"
 *
 *   star*2          window:width=11*3,full*3          bpt:k=4:causal=1+cross*6
 *
 * `share=1` on a part of a segment belongs to the stack: the segment's layers share one set of
 * parameters. Values hold no ',', '+', '*' or ':'; paths go into a recipe section instead.
 * One thread changes a spec, any may read it. Errors: GSA_ERR_FORMAT (the text),
 * GSA_ERR_ARGUMENT (a key or a value), GSA_ERR_LIMIT (too many segments), GSA_ERR_MEMORY. */
#ifndef GSA_SPEC_H
#define GSA_SPEC_H
#include "pattern.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One pattern of a segment: topology and settings, as text. */
typedef struct gsa_part_spec {
    char *id;              /* the topology */
    gsa_setting *settings; /* without `share` */
    int n_settings;        /* of settings */
} gsa_part_spec;
/* Patterns joined by `+`, for some layers. */
typedef struct gsa_segment_spec {
    gsa_part_spec *parts;       /* owned */
    int n_parts, layers, share; /* of parts; times it is repeated; 1: layers share parameters */
} gsa_segment_spec;
/* A stack as text, parsed: its segments in order. */
typedef struct gsa_stack_spec {
    const gsa_system *system;   /* that frees it */
    gsa_segment_spec *segments; /* owned */
    int n_segments;             /* of segments */
} gsa_stack_spec;

/* The sentence shows the text, the place (column, from 1) and what was expected. */
gsa_status gsa_spec_parse(const gsa_system *system, const char *text, gsa_stack_spec *spec,
                          gsa_error *error);
/* Adds a setting (both copied) to a part, as a recipe section does; replaces nothing: a key given
 * twice is found by gsa_pattern_create. The key "share" sets the segment's share. */
gsa_status gsa_spec_set(gsa_stack_spec *spec, int segment, int part, const char *key,
                        const char *value, gsa_error *error);
void gsa_spec_release(gsa_stack_spec *spec); /* a zeroed spec is fine */

#ifdef __cplusplus
}
#endif
#endif
