/* pattern.h - a topology with its parameters set: created, described, ready to emit. Immutable,
 * reference-counted.
 * Any thread may use a pattern. What is returned lives as long as the pattern, but an instance,
 * which is the caller's to release. Errors: GSA_ERR_ARGUMENT (an unknown id or key, a value out
 * of range, create or emit refused), GSA_ERR_PLUGIN (describe or emit broke the contract),
 * GSA_ERR_LIMIT (too many nodes), GSA_ERR_MEMORY.
 *
 * Example:
 *
 *     const gsa_setting width = { "width", "5" };
 *     const gsa_example example = { sizeof example, 10, 0, 1 };
 *     gsa_error error;
 *     gsa_registry *registry = NULL;
 *     gsa_pattern *pattern = NULL;
 *     gsa_instance *x = NULL;
 *     int failed = gsa_registry_create(NULL, &registry, &error) ||
 *                  gsa_pattern_create(registry, "window", &width, 1, &pattern, &error) ||
 *                  gsa_pattern_instance(pattern, NULL, &example, NULL, 0, &x, &error);
 *     puts(failed ? error.text : gsa_pattern_text(pattern)); // window:width=5
 *     gsa_instance_release(x);
 *     gsa_pattern_release(pattern);
 *     gsa_registry_release(registry); // after its patterns
 *     return failed;
 *
 */
#ifndef GSA_PATTERN_H
#define GSA_PATTERN_H
#include "graph/column.h"
#include "graph/instance.h"
#include "registry.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gsa_setting { /* one "key=value" as text, borrowed */
    const char *key, *value; /* the parameter's name, and its value as text */
} gsa_setting;

/* What is next to tokens in the data, by name: a value for each. */
typedef struct gsa_named_column {
    const char *name;       /* such as "head" */
    const gsa_slice *value; /* [tokens] */
} gsa_named_column;

/* A topology with its parameters set. Counted by references; immutable. Opaque. */
typedef struct gsa_pattern gsa_pattern;

/* Parses and checks the settings against the topology's declared parameters (unknown key: the
 * sentence lists the known ones and the nearest; malformed or out of range: value, type and range;
 * given twice), calls create and describe. The registry must outlive the pattern. */
gsa_status gsa_pattern_create(const gsa_registry *registry, const char *id,
                              const gsa_setting *settings, int count, gsa_pattern **pattern,
                              gsa_error *error);
gsa_pattern *gsa_pattern_retain(gsa_pattern *pattern);
void gsa_pattern_release(gsa_pattern *pattern); /* NULL does nothing */

/* The topology that the pattern was made of. */
const gsa_topology *gsa_pattern_topology(const gsa_pattern *pattern);
/* What the pattern declares; it lives as long as the pattern. */
const gsa_schema *gsa_pattern_schema(const gsa_pattern *pattern);
/* What the topology's create made, or the parameters' values. */
const void *gsa_pattern_self(const gsa_pattern *pattern);
/* Canonical text: "star:cyclic=0" - every parameter that differs from its fallback, in declared
 * order. Lives as long as the pattern. */
const char *gsa_pattern_text(const gsa_pattern *pattern);
/* The value of parameter `index` as canonical text ("0.5", "clip"), snprintf-like. */
int gsa_pattern_value(const gsa_pattern *pattern, uint32_t index, char *out, size_t size);

/* Names of the columns that its topology requested (graph/column.h), by place from 0: what its
 * examples' `column` must hold. */
int gsa_pattern_columns(const gsa_pattern *pattern);
const char *gsa_pattern_column(const gsa_pattern *pattern, int place);
/* Puts them together from columns that are there, from token `first` on: `place`
 * [GSA_COLUMNS_ASKED] is what example.column may be. GSA_ERR_ARGUMENT where one is not there: the
 * sentence names it and those that are. */
gsa_status gsa_pattern_take(const gsa_pattern *pattern, const gsa_named_column *columns, int count,
                            int64_t first, const gsa_slice **place, gsa_error *error);

/* Builds the example's instance: through the cache where it is not NULL, unless `inspect` requests
 * places (a cached instance holds none). */
gsa_status gsa_pattern_instance(const gsa_pattern *pattern, gsa_cache *cache,
                                const gsa_example *example, const gsa_limits *limits, int inspect,
                                gsa_instance **instance, gsa_error *error);

#ifdef __cplusplus
}
#endif
#endif
