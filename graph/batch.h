/* batch.h - the block-diagonal union of instances, kind-major: the rows of a kind are one
 * contiguous range over all examples, so that GEMMs need no gather; nothing is padded.
 *
 * Example:
 *
 *     #include <gsa/pattern.h>
 *     const gsa_example two[] = { { sizeof *two, 5, 0, 1 }, { sizeof *two, 3, 0, 1 } }; // lengths
 *     gsa_error error;
 *     gsa_registry *registry = NULL;
 *     gsa_pattern *pattern = NULL;
 *     gsa_instance *x[2] = { NULL, NULL };
 *     gsa_batch *batch = NULL;
 *     int failed = gsa_registry_create(NULL, &registry, &error) ||
 *                  gsa_pattern_create(registry, "full", NULL, 0, &pattern, &error) ||
 *                  gsa_pattern_instance(pattern, NULL, &two[0], NULL, 0, &x[0], &error) ||
 *                  gsa_pattern_instance(pattern, NULL, &two[1], NULL, 0, &x[1], &error) ||
 *                  gsa_batch_create(NULL, gsa_pattern_schema(pattern), &batch, &error) ||
 *                  gsa_batch_build(batch, x, 2, &error);
 *     puts(failed ? error.text : "example 1 begins at node 5 of kind 0");
 *     failed = failed || gsa_batch_offset(batch, 0, NULL)[1] != 5;
 *     gsa_batch_release(batch), gsa_instance_release(x[0]), gsa_instance_release(x[1]);
 *     gsa_pattern_release(pattern), gsa_registry_release(registry);
 *     return failed;
 *
 * A batch owns one block of bytes in host memory that holds every array below; gsa_batch_* views
 * take `base`: NULL for the host block itself, or the address of a copy of it (a device upload of
 * gsa_batch_block). The object is reused: building again allocates only when the block must grow.
 * One thread at a time.
 * Errors: GSA_ERR_ARGUMENT (instances that do not fit together), GSA_ERR_LIMIT (more nodes than
 * an index holds), GSA_ERR_MEMORY. */
#ifndef GSA_BATCH_H
#define GSA_BATCH_H
#include "instance.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The block-diagonal union of the instances of several examples. Opaque. */
typedef struct gsa_batch gsa_batch;

/* Makes a batch without examples for patterns of this schema, which must outlive it. */
gsa_status gsa_batch_create(const gsa_system *system, const gsa_schema *schema, gsa_batch **batch,
                            gsa_error *error);
/* NULL does nothing. */
void gsa_batch_release(gsa_batch *batch);

/* Joins `count` instances of the batch's schema, all with the same heads (else GSA_ERR_ARGUMENT).
 * Keeps no reference. rows x heads >= 2^31 is GSA_ERR_LIMIT. Cost O(nodes + runs). On failure the
 * batch is empty. */
gsa_status gsa_batch_build(gsa_batch *batch, gsa_instance *const *instances, int32_t count,
                           gsa_error *error);

/* From now on gsa_batch_build works out the content of the edges too: O(edges + nodes) more. Where
 * there is no memory for it, content stays unknown. */
void gsa_batch_tell_content(gsa_batch *batch);

/* How many examples are in the batch. */
int32_t gsa_batch_examples(const gsa_batch *batch);
int64_t gsa_batch_nodes(const gsa_batch *batch, int kind); /* rows of the kind over all examples */
const void *gsa_batch_block(const gsa_batch *batch, int64_t *bytes); /* 64-byte aligned arrays */
/* The schema that the batch was made for; it lives as long as the batch. */
const gsa_schema *gsa_batch_schema(const gsa_batch *batch);
int64_t gsa_batch_edge_total(const gsa_batch *batch); /* over the phases, for reports */

/* [examples+1]: where each example's nodes of the kind start. */
const int64_t *gsa_batch_offset(const gsa_batch *batch, int kind, const void *base);
const int32_t *gsa_batch_node_example(const gsa_batch *batch, int kind,
                                      const void *base); /* [nodes] place in the batch */
const int32_t *gsa_batch_node_local(const gsa_batch *batch, int kind,
                                    const void *base); /* [nodes] index in the example */
void gsa_batch_edges(const gsa_batch *batch, int phase, const void *base, gsa_edges *edges);
/* The phase's destination nodes over its kinds in kind order (not multiplied by heads): [nodes] of
 * 1 where the node has no in-edge (per-head: none in any head), else 0. NULL when every node has
 * one, and for NONE phases. */
const uint8_t *gsa_batch_empty(const gsa_batch *batch, int phase, const void *base);
int64_t gsa_batch_destinations(const gsa_batch *batch,
                               int phase); /* nodes, not multiplied by heads */
/* Identity of the phase's destination nodes (not multiplied by heads), for dropout on states:
 * [destinations] each. */
const int32_t *gsa_batch_destination_example(const gsa_batch *batch, int phase, const void *base);
const int32_t *gsa_batch_destination_local(const gsa_batch *batch, int phase, const void *base);
/* Summary nodes that lie in `kind`: [examples] row of the kind, or -1 where the example's summary
 * is of another kind. NULL when no example's is in this kind. An example whose emit named no
 * summary node (length 0) is -1 in all. */
const int32_t *gsa_batch_summary(const gsa_batch *batch, int kind, const void *base);

#ifdef __cplusplus
}
#endif
#endif
