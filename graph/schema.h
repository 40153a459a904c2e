/* schema.h - what a topology described: kinds, phases, readout. Immutable once made; any thread may
 * read it.
 *
 * Example:
 *
 *     #include <gsa/pattern.h>
 *     gsa_error error;
 *     gsa_registry *registry;
 *     gsa_pattern *pattern = NULL; // describes itself to a schema, which is borrowed here
 *     int failed = gsa_registry_create(NULL, &registry, &error) ||
 *                  gsa_pattern_create(registry, "bpt", NULL, 0, &pattern, &error);
 *     if (failed) return puts(error.text), 1;
 *     const gsa_schema *schema = gsa_pattern_schema(pattern);
 *     for (int p = 0; p < gsa_schema_phases(schema); p++)
 *         printf("phase %d is %s\n", p, gsa_schema_phase(schema, p)->name);
 *     gsa_pattern_release(pattern);
 *     gsa_registry_release(registry);
 *     return 0;
 *
 * Checked when made, each failure one sentence naming topology, kind or phase, and value:
 *   struct sizes; 1..64 kinds and phases; names match [a-z][a-z0-9_]* and are unique; enumerations
 *     in range; masks name
 *   known kinds; COPY and MEMORY kinds are never destinations; a phase with edges has sources, NONE
 *     has none; FFN needs NONE;
 *   NONE is neither per_head nor labelled nor KEEP; labels learned only by ATTEND; `learned` not on
 *     COPY or MEMORY;
 *   a BY_PHASE kind is some ONCE phase's destination; ONCE phases write BY_PHASE kinds only;
 *   `together` not on the first phase of its `when`, and the phases of a together group that share
 *   a destination kind keep their empty rows (they write other rows); phases with equal `weights`
 *   agree in aggregate, update, labels, label_use, per_head and when; a sequence kind, which starts
 *   as INPUT; summary pools (at most 64) name known kinds, weights finite; promised flags and
 *   growth are known, and no pattern both depends on lengths alone and needs text. Each is
 *   GSA_ERR_PLUGIN. A phase that is together with another and shares its kinds is also checked per
 *   instance: no row is written twice. */
#ifndef GSA_SCHEMA_H
#define GSA_SCHEMA_H
#include "system.h"
#include "topology.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a pattern declares: kinds, phases, readout, promises. Immutable. Opaque. */
typedef struct gsa_schema gsa_schema;

/* Calls topology->describe(self) and checks what it said. The topology and `self` must outlive
 * nothing: all is copied. */
gsa_status gsa_schema_create(const gsa_system *system, const gsa_topology *topology,
                             const void *self, gsa_schema **schema, gsa_error *error);
void gsa_schema_release(gsa_schema *schema); /* NULL does nothing */

const char *gsa_schema_topology(const gsa_schema *schema); /* the topology's id */
/* How many kinds of nodes there are. */
int gsa_schema_kinds(const gsa_schema *schema);
/* How many phases there are. */
int gsa_schema_phases(const gsa_schema *schema);
/* Pointers live as long as the schema. `empty` of a phase is resolved: never GSA_EMPTY_DEFAULT;
 * `labels` is >= 1. */
const gsa_kind *gsa_schema_kind(const gsa_schema *schema, int kind);
const gsa_phase *gsa_schema_phase(const gsa_schema *schema, int phase);
int gsa_schema_find_kind(const gsa_schema *schema, const char *name); /* -1: none */
int gsa_schema_sequence(const gsa_schema *schema);
int gsa_schema_summaries(const gsa_schema *schema); /* 0: no summary */
/* One part of the summary: its kind, its pool (gsa_pool), its weight in the sum. */
void gsa_schema_summary(const gsa_schema *schema, int index, int *kind, int *pool, double *weight);
uint32_t gsa_schema_flags(const gsa_schema *schema);
int gsa_schema_growth(const gsa_schema *schema);

#ifdef __cplusplus
}
#endif
#endif
