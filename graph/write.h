/* write.h - an instance as GraphML, DOT or Matrix Market: one layer's phases.
 *
 * GraphML profile: UTF-8, one directed graph, node ids n0.., edge ids e0.., keys v_* and e_* declared per class, ints stay
 * ints, every value written, floats %.9g in the C locale whatever the process's locale; facts of the graph as for="graph"
 * keys and again in an XML comment. All text is checked first (valid UTF-8 that XML can carry), so nothing is half-written.
 * Nodes in kind order, per-head phases over (node, head) write edges between the nodes with e_head_from, e_head_to (-1 on the
 * edges of other phases). Once-phases are not part of a layer and not drawn. Keys, as id (attr.name, type):
 *   node   v_label (label: the token, or "relay 0"), v_kind (kind), v_index, v_level, v_first, v_last (-1: emit said nothing)
 *   edge   e_phase (phase, int), e_label (rel, int: the label), e_name (label: the label's name or ""), e_k (k: place in its
 *          row), e_interaction (interaction: the phase's name), e_weight (weight, 1) */
#ifndef GSA_WRITE_H
#define GSA_WRITE_H
#include "instance.h"

#ifdef __cplusplus
extern "C" {
#endif

enum gsa_format { GSA_FORMAT_GRAPHML, GSA_FORMAT_DOT, GSA_FORMAT_MTX };

typedef struct gsa_picture {          /* what is written, all borrowed */
    const gsa_instance *instance;
    const gsa_schema *schema;
    const gsa_topology *topology;     /* for label names; its self below */
    const void *self;
    const char *spec;                 /* "star:cyclic=0"; goes into the facts */
    const gsa_slice *text;            /* `length` tokens or NULL: node labels */
} gsa_picture;

/* .graphml, .dot, .mtx by the end of the path; GSA_ERR_ARGUMENT names what is known. */
gsa_status gsa_format_of(const char *path, int *format, gsa_error *error);

/* Writes to an open output; the caller commits it. Matrix Market: the phases' pattern over all nodes, duplicate edges
 * summed to their number, as "matrix coordinate integer general", 1-based, row = destination, column = source. */
gsa_status gsa_write_picture(const gsa_system *system, const gsa_picture *picture, int format, gsa_output *output,
                             gsa_error *error);

#ifdef __cplusplus
}
#endif
#endif
