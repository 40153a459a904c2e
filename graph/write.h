/* write.h - patterns as GraphML, DOT, Matrix Market, a page or numbers: the phases of one layer, of
 * a whole stack, or of several stacks.
 *
 * Example:
 *
 *     #include <gsa/pattern.h>
 *     const gsa_example example = { sizeof example, 6, 0, 1 };
 *     gsa_error error;
 *     gsa_registry *registry = NULL;
 *     gsa_pattern *pattern = NULL;
 *     gsa_instance *x = NULL;
 *     gsa_output *output = NULL;
 *     if (gsa_registry_create(NULL, &registry, &error) ||
 *         gsa_pattern_create(registry, "bpt", NULL, 0, &pattern, &error) ||
 *         gsa_pattern_instance(pattern, NULL, &example, NULL, 0, &x, &error) ||
 *         gsa_output_open(NULL, "tree.graphml", &output, &error))
 *         return puts(error.text), 1;
 *     const gsa_picture_stack stack = { NULL, NULL, NULL, -1 };
 *     const gsa_picture_sheet sheet = { x, gsa_pattern_schema(pattern) };
 *     const gsa_picture picture = { "bpt", &stack, &sheet, 1, 1 };
 *     if (gsa_write_picture(NULL, &picture, GSA_FORMAT_GRAPHML, output, &error) ||
 *         gsa_output_commit(output, &error))
 *         return puts(error.text), 1;
 *     gsa_instance_release(x), gsa_pattern_release(pattern), gsa_registry_release(registry);
 *     return 0;
 *
 * A picture is a list of sheets: one pattern in one layer of one stack each. Inside a stack kinds
 * of equal name are one kind, whose nodes are drawn once; they must start alike and have the same
 * number of nodes in every sheet. MEMORY kinds are the nodes of another stack's sequence where the
 * stack is bound to one, else they have nodes of their own. Once-phases are not part of a layer and
 * not drawn, nor are phases without edges.
 *
 * GraphML profile: UTF-8, one directed graph, node ids n0.., edge ids e0.., keys v_* and e_*
 * declared per class, ints stay ints, every value written, floats %.9g in the C locale whatever the
 * process's locale; facts of the graph as for="graph" keys and again in an XML comment. Everything
 * that can be wrong is checked first (text: valid UTF-8 that XML can carry; weights: finite), so
 * nothing is half-written. Parallel edges are kept, each with its own id.
 * Nodes by stack, then in order of the kinds' first declaration; edges by sheet, phase and
 * destination, in order of emission. Keys, as id (attr.name, type):
 *   graph  g_topology (topology: the ids that occur, joined by ','), g_spec (spec), g_length
 *          (length, int: tokens, of all stacks together), g_heads (heads, int), g_nodes (nodes,
 *          long), g_edges (edges, long)
 *   node   v_label (label: the token, or "relay 0"), v_kind (kind; with several stacks
 *          "encoder.token"), v_index, v_level, v_first, v_last (-1: emit said nothing), v_stack
 *          (stack: its name, "" where it has none), v_x, v_y, v_size (double; y grows upwards),
 *          v_r, v_g, v_b (int; by kind), as Gephi reads them; v_yed: yEd's y:ShapeNode of the same
 *   edge   e_phase (phase, int: its place among the phases of the layer's patterns, in order of the
 *          sheets), e_label (rel, int: the label), e_name (label: the label's name or ""), e_k (k:
 *          place in its row), e_interaction (interaction: the phase's name, "ring.attend" where the
 *          layer has several patterns), e_weight (weight, double), e_layer (layer, int); in a
 *          picture of at most 20,000 edges e_r, e_g, e_b (by phase) and yEd's e_yed; in a picture
 *          with a per-head phase e_head_from, e_head_to (-1 on the edges of other phases); in a
 *          picture with weights e_w0 .. (w0 .., double): the weight in each head. `weight` is their
 *          mean; 1 without weights. An edge of a per-head phase belongs to one head: `weight` is
 *          its weight in it, the other heads have 0.
 * Any thread; calls share nothing. Errors: GSA_ERR_ARGUMENT (a format, sheets that do not fit
 * together), GSA_ERR_FORMAT (a text that the format cannot carry), GSA_ERR_NUMBER (a weight that
 * is not finite), GSA_ERR_LIMIT (too large for the format), GSA_ERR_IO, GSA_ERR_MEMORY. */
#ifndef GSA_WRITE_H
#define GSA_WRITE_H
#include "instance.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { GSA_MAX_SHEETS = 1 << 14 };
/* Formats of graphs that are written. */
enum gsa_format {
    GSA_FORMAT_GRAPHML,
    GSA_FORMAT_DOT,
    GSA_FORMAT_MTX,
    GSA_FORMAT_HTML,
    GSA_FORMAT_JSON,
    GSA_FORMAT_CSV
};

/* What is written, all borrowed. */
typedef struct gsa_picture_stack {
    const char *name; /* unique and not empty where there are several; NULL: "" */
    const gsa_slice
        *text; /* tokens of its sequence, or NULL: labels of the nodes that start as the input */
    const gsa_slice *memory_text; /* likewise of MEMORY kinds that are not bound */
    int memory;                   /* the stack whose sequence the MEMORY kinds are; -1: not bound */
} gsa_picture_stack;

/* One phase of one layer of a picture. */
typedef struct gsa_picture_sheet {
    const gsa_instance *instance; /* nodes and edges, borrowed as all here */
    const gsa_schema *schema;     /* of its kinds and phases */
    const gsa_topology *topology; /* for label names, or NULL; its self below */
    const void *self;             /* of the topology */
    int stack, layer;             /* place in `stacks`; layers count from 0 */
    /* NULL, or [phases of the schema]: NULL for a phase that was not computed, which is then not
     * drawn; else [edges, heads] in the order of gsa_edges, [edges, 1] for a per-head phase. In a
     * picture with weights, a sheet without any has 1. */
    const double *const *weights;
} gsa_picture_sheet;

/* What a graph file shows: stacks, sheets, texts, weights. */
typedef struct gsa_picture {
    const char *spec; /* "star:cyclic=0"; goes into the facts. NULL: the topologies */
    const gsa_picture_stack *stacks; /* [n_stacks] */
    const gsa_picture_sheet *sheets; /* [n_sheets], by stack, then by layer */
    int n_stacks, n_sheets;          /* of each, >= 0 */
} gsa_picture;

/* .graphml, .dot, .mtx, .html, .json, .csv by the end of the path; GSA_ERR_ARGUMENT names them. */
gsa_status gsa_format_of(const char *path, int *format, gsa_error *error);

/* Writes to an open output; the caller commits it.
 * DOT: the same attributes by attr.name; stack, layer, level, heads and weights only where they say
 * something.
 * Matrix Market: all sheets over all nodes in one matrix, 1-based, row = destination, column =
 * source; parallel edges (of several phases, layers and heads) are summed: without weights to their
 * number, as "matrix coordinate integer general", with weights to the sum of `weight`, as "real". A
 * picture of one layer is the matrix of that layer.
 * HTML: one page without any other file, whose script shows the picture; docs/file-formats.md has
 * its data. Weights are floats, in a page of more than 200,000 of them steps of 1e-4 or finer.
 * JSON, CSV: numbers of each head of each phase, means over the rows that read anything: entropy
 * (bits), distance (tokens between the ends; absent where they are of two sequences), self (share
 * of a node's weight that is its own), and shares of the weight by kind read and by label.
 * Cost O(nodes + edges) time; memory O(sheets); a node takes 16 bytes in GraphML and a page, 20 in
 * Matrix Market, 8 in numbers.
 */
gsa_status gsa_write_picture(const gsa_system *system, const gsa_picture *picture, int format,
                             gsa_output *output, gsa_error *error);

/* Several pictures in one file: a page, JSON or CSV takes any number, the other formats one
 * (GSA_ERR_ARGUMENT). `title`, UTF-8, tells them apart: "" or NULL where there is one. Nothing is
 * kept of a picture once it is added. */
typedef struct gsa_pictures {
    const gsa_system *system; /* or NULL */
    gsa_output *output;       /* borrowed */
    int format, count;        /* gsa_format; count: of pictures that were added */
    int beside;               /* which a page shows next to the first one, from 1; 0: none */
} gsa_pictures;
/* Writes one more picture, with this title. */
gsa_status gsa_pictures_add(gsa_pictures *pictures, const gsa_picture *picture, const char *title,
                            gsa_error *error);
void gsa_pictures_end(const gsa_pictures *pictures); /* after at least one */

#ifdef __cplusplus
}
#endif
#endif
