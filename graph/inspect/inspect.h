/* inspect.h - a pattern's GraphML read back: what is in it in numbers, and as a picture for a page.
 *
 * Law.  Of the libraries only this one links igraph. Calls that touch igraph (gsa_view_read,
 *     gsa_view_measure, gsa_view_draw) are made by one thread at a time: igraph's error handler has
 *     no context, and common builds of it are not thread-safe. What the process had set up in
 *     igraph (handlers, attribute table) is put back. A view owns all its texts; nothing here
 *     prints. */
#ifndef GSA_INSPECT_H
#define GSA_INSPECT_H
#include "graph/system.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gsa_view_node {
    const char *label; /* the token, or what the file calls the node */
    int32_t kind;      /* place in view.kinds; with several stacks they are called "stack.kind" */
    int32_t index;     /* inside its kind */
    int32_t level, first, last; /* -1: the file says nothing */
} gsa_view_node;

typedef struct gsa_view_edge {
    int32_t from, to;
    int32_t phase, label;       /* places in view.phases and view.labels */
    int32_t rel;                /* the label's number */
    int32_t layer;              /* -1: the file says nothing */
    int32_t head_from, head_to; /* -1: not a phase over heads */
    double weight;
} gsa_view_edge;

typedef struct gsa_texts { /* distinct texts, numbered as they came; place 0 may be "" */
    const char **at;
    int32_t count;
    int32_t room, n_slots, *slots;
} gsa_texts;

typedef struct gsa_view {
    const gsa_system *system;
    char *spec;             /* what the file says of itself, or its path */
    int32_t length, heads;  /* -1: the file does not say */
    int directed, weighted; /* weighted: not all weights are equal */
    int profile;            /* nodes have kinds: a picture of this project, no foreign graph */
    int32_t nodes, head_weights, layers;
    int64_t edges;
    gsa_view_node *node;
    gsa_view_edge *edge;
    double *head_weight; /* [edges][head_weights]: attributes w0, w1, ... */
    gsa_texts kinds, phases, labels;
    char note[256]; /* igraph's first warning, or "" */
} gsa_view;

/* Reads GraphML ("-": standard input). A file that igraph refuses, or that does not have the nodes
 * and edges that it says, is GSA_ERR_FORMAT with igraph's words. Cost about 3 us an edge; at most 4
 * GiB. */
gsa_status gsa_view_read(const gsa_system *system, const char *path, gsa_view **view,
                         gsa_error *error);
void gsa_view_release(gsa_view *view); /* NULL does nothing */

/* Keeps the edges of one layer (-1: all), of one phase (NULL: all) and takes the weights of one
 * head (-1: their mean, as the file has it). What is not there is GSA_ERR_ARGUMENT; the sentence
 * lists what is. */
gsa_status gsa_view_select(gsa_view *view, int32_t layer, const char *phase, int32_t head,
                           gsa_error *error);

/* ---- numbers ------------------------------------------------------------------------------- */

typedef struct gsa_quantiles { /* of degrees: the nearest rank, no interpolation */
    int64_t least, quarter, half, three_quarters, most;
    double mean;
} gsa_quantiles;

typedef struct gsa_label_count {
    int32_t phase, label, rel;
    int64_t edges;
} gsa_label_count;

typedef struct gsa_measures {
    const gsa_system *system;
    int64_t *kind_nodes, *phase_edges; /* [kinds], [phases] */
    gsa_quantiles *in, *out;           /* [kinds + 1]; the last is of all nodes */
    gsa_label_count *labels;           /* by phase and number */
    int32_t n_labels;
    int64_t loops,
        parallel;   /* edges from a node to itself; edges beyond the first of their two ends */
    double density; /* distinct (from, to) / nodes^2 */
    int64_t weak, largest_weak, strong, largest_strong; /* components */
    int64_t isolated;                                   /* nodes without any edge to another node */
    /* Distances: the least number of edges from one node to another, along the edges. */
    int64_t sources; /* from which distances were measured: all nodes, or a sample */
    int64_t
        diameter; /* of what was measured: with a sample, at least so much; -1: no pair is joined */
    double mean_distance, reachable; /* over joined pairs; the share of ordered pairs that are */
} gsa_measures;

/* O(nodes x edges) for the distances while that is at most 4e8; else from 64 nodes evenly
 * spaced. */
gsa_status gsa_view_measure(const gsa_view *view, gsa_measures **measures, gsa_error *error);
void gsa_measures_release(gsa_measures *measures); /* NULL does nothing */

/* ---- pictures ------------------------------------------------------------------------------ */

enum gsa_style {
    GSA_STYLE_AUTO, /* matrix above 500 nodes or 4,000 lines; else by levels, spans and kinds */
    GSA_STYLE_ARC,  /* nodes of each kind in a row, arcs between them */
    GSA_STYLE_TREE, /* spans above the tokens that they stand for, a row a level */
    GSA_STYLE_BIPARTITE, /* spans as bars above the tokens that they cover */
    GSA_STYLE_MATRIX,    /* row = destination, column = source */
    GSA_STYLE_CIRCLE,    /* tokens on a circle, what covers them all in its centre */
    GSA_STYLE_HEADS,     /* tokens by heads, the edges into one node: phases over (token, head) */
    GSA_STYLE_FORCE,     /* igraph's Fruchterman-Reingold, seeded: foreign graphs */
    GSA_STYLES
};
extern const char *const gsa_style_names[GSA_STYLES];

typedef struct gsa_drawing_options {
    int style;         /* gsa_style */
    int32_t focus;     /* only edges into this node (of GSA_STYLE_HEADS: this token), -1: all (the
                          middle) */
    const char *title; /* NULL: what the file says of itself */
} gsa_drawing_options;

/* Writes SVG to an open output; the caller commits it. The same view gives the same bytes. */
gsa_status gsa_view_draw(const gsa_view *view, const gsa_drawing_options *options,
                         gsa_output *output, gsa_error *error);

/* ---- for the files of this folder ---------------------------------------------------------- */

/* The text's place, added when it is new; -1: out of memory. */
int32_t gsa_texts_add(const gsa_system *system, gsa_texts *names, const char *text);
void gsa_texts_release(const gsa_system *system, gsa_texts *names);

#ifdef __cplusplus
}
#endif
#endif
