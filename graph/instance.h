/* instance.h - one example's nodes and edges, as a topology emitted them. Immutable,
 * reference-counted (any thread).
 * A cache serves any thread. Errors: GSA_ERR_ARGUMENT (emit refused the example), GSA_ERR_LIMIT
 * (too many nodes or runs), GSA_ERR_PLUGIN (a call that breaks the contract), GSA_ERR_MEMORY.
 *
 * Example:
 *
 *     #include <gsa/pattern.h>
 *     const gsa_example example = { sizeof example, 10, 0, 1 }; // 10 tokens, no memory, 1 head
 *     gsa_error error;
 *     gsa_registry *registry = NULL;
 *     gsa_pattern *pattern = NULL;
 *     gsa_instance *x = NULL;
 *     gsa_edges edges;
 *     int failed = gsa_registry_create(NULL, &registry, &error) ||
 *                  gsa_pattern_create(registry, "bpt", NULL, 0, &pattern, &error) ||
 *                  gsa_instance_create(NULL, gsa_pattern_schema(pattern),
 *                                      gsa_pattern_topology(pattern), gsa_pattern_self(pattern),
 *                                      &example, NULL, 0, &x, &error);
 *     if (failed) return puts(error.text), 1;
 *     gsa_instance_edges(x, 0, &edges);
 *     printf("phase 0: %d rows, %d edges\n", (int)edges.rows, (int)edges.edge_total);
 *     gsa_instance_release(x), gsa_pattern_release(pattern), gsa_registry_release(registry);
 *     return 0;
 *
 */
#ifndef GSA_INSTANCE_H
#define GSA_INSTANCE_H
#include "edges.h"
#include "schema.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gsa_limits { /* 0 = default */
    int64_t nodes;          /* of one example, all kinds; default and largest 2^31-1 */
    int64_t edges;          /* of one example, all phases; default 2^40 */
    int64_t runs;           /* likewise; default 2^28 */
} gsa_limits;

typedef struct gsa_place { /* what emit said of a node; level -1: nothing */
    int32_t level;         /* height above the tokens; -1: nothing was said */
    int64_t first, last;   /* tokens that the node stands for, inclusive */
} gsa_place;

/* Nodes and runs of one example. Counted by references; immutable. Opaque. */
typedef struct gsa_instance gsa_instance;

/* Calls topology->emit and builds the runs. Each call of emit is checked at once, O(1) per run
 * (phase, kinds, first and last source, both label ends, limits); adjacent runs of one row that
 * continue each other with step 1 are joined, which changes no edge; finish is O(nodes + runs). The
 * sentence names topology, phase, edge and value. `inspect` != 0 keeps places. A call that breaks
 * the contract is GSA_ERR_PLUGIN, emit's own fail() GSA_ERR_ARGUMENT, a size GSA_ERR_LIMIT. A
 * pattern of length > 0 must name a summary node when the schema pools one; one that needs text
 * must get it.
 * `self` is what create() made, or the parameters. Length 0 is a valid pattern. The example's
 * arrays are read only during the call. Cost O(runs + nodes), and a counting sort where rows do not
 * arrive in order. */
gsa_status gsa_instance_create(const gsa_system *system, const gsa_schema *schema,
                               const gsa_topology *topology, const void *self,
                               const gsa_example *example, const gsa_limits *limits, int inspect,
                               gsa_instance **instance, gsa_error *error);
gsa_instance *gsa_instance_retain(gsa_instance *instance);
void gsa_instance_release(gsa_instance *instance); /* NULL does nothing */

/* Nodes of one kind in this example. */
int64_t gsa_instance_nodes(const gsa_instance *instance, int kind);
/* Tokens of the example. */
int32_t gsa_instance_length(const gsa_instance *instance);
/* Heads that its per-head phases were emitted for. */
int32_t gsa_instance_heads(const gsa_instance *instance);
/* The phase's edges; a NONE phase has rows and no edges. The view lives as long as the instance.
 * row_example is all 0. */
void gsa_instance_edges(const gsa_instance *instance, int phase, gsa_edges *edges);
/* 1 and the node that emit named by summary(), or 0. */
int gsa_instance_summary(const gsa_instance *instance, int *kind, int64_t *index);
/* Level -1 where emit said nothing or the instance was made without `inspect`. */
gsa_place gsa_instance_place(const gsa_instance *instance, int kind, int64_t index);
int64_t gsa_instance_bytes(const gsa_instance *instance);
/* The schema that it was built for (identity only: for checks that an instance fits). */
const gsa_schema *gsa_instance_schema(const gsa_instance *instance);

/* ---- cache: instances of patterns that depend on lengths only
 * --------------------------------------------------------- Key: (schema identity, length, memory
 * length, heads). Bounded in bytes, the least recently used goes first; an instance that is in use
 * lives on by its reference. Any thread. A schema must outlive its entries: gsa_cache_forget.
 * Limits are not part of the key: what is kept is given to all, whatever their limits. */
typedef struct gsa_cache gsa_cache;
/* Makes an empty cache; what exceeds `byte_limit` bytes pushes out what was used least lately. */
gsa_status gsa_cache_create(const gsa_system *system, int64_t byte_limit, gsa_cache **cache,
                            gsa_error *error);
/* Releases the cache and its references; NULL does nothing. */
void gsa_cache_release(gsa_cache *cache);
/* The caller gets a reference; arguments as of gsa_instance_create, `self` too. A schema that did
 * not promise GSA_BY_LENGTH is built anew each time and not kept. */
gsa_status gsa_cache_get(gsa_cache *cache, const gsa_schema *schema, const gsa_topology *topology,
                         const void *self, const gsa_example *example, const gsa_limits *limits,
                         gsa_instance **instance, gsa_error *error);
void gsa_cache_forget(gsa_cache *cache, const gsa_schema *schema);
/* What a cache did and holds. */
typedef struct gsa_cache_counts {
    int64_t hits, misses, evictions, entries, bytes; /* entries and bytes: held now */
} gsa_cache_counts;
/* Hits, misses and contents up to now. */
gsa_cache_counts gsa_cache_count(gsa_cache *cache);

#ifdef __cplusplus
}
#endif
#endif
