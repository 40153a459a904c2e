/* write_parts.h - what the three writers share; not installed. */
#ifndef GSA_WRITE_PARTS_H
#define GSA_WRITE_PARTS_H
#include "graph/write.h"

enum { GSA_LABEL_NAME = 256 };

typedef struct gsa_drawing {
    const gsa_system *system;
    const gsa_picture *picture;
    gsa_output *output;
    int64_t first_node[GSA_MAX_KINDS]; /* nodes of all kinds are numbered in kind order */
    int64_t nodes, edges;
    int per_head; /* some drawn phase is per-head */
} gsa_drawing;

typedef struct gsa_drawn_edge {
    int phase;
    int64_t from, to, k;        /* node numbers; place in its row */
    int32_t head_from, head_to; /* -1: the phase has no heads of its own */
    int32_t label;
} gsa_drawn_edge;

typedef void gsa_draw_edge(void *context, const gsa_drawn_edge *edge);

/* Phases of a layer that have edges; once-phases and pointwise ones are not drawn. */
int gsa_is_drawn(const gsa_drawing *drawing, int phase);
/* Every edge into node `index` of `kind` in one phase (heads ascending), or every edge of every drawn phase. */
void gsa_draw_node_edges(const gsa_drawing *drawing, int phase, int kind, int64_t index, gsa_draw_edge *each, void *context);
void gsa_draw_edges(const gsa_drawing *drawing, gsa_draw_edge *each, void *context);
/* The label's name, "" where the topology has none; `name` holds GSA_LABEL_NAME bytes. */
const char *gsa_draw_label_name(const gsa_drawing *drawing, int phase, int32_t label, char *name);
/* The token that the node is (kinds that start as input or its copy, with text), or a slice without bytes and at NULL. */
gsa_slice gsa_draw_token(const gsa_drawing *drawing, int kind, int64_t index);
void gsa_draw_int(gsa_output *output, int64_t value);

gsa_status gsa_write_graphml(const gsa_drawing *drawing, gsa_error *error);
gsa_status gsa_write_dot(const gsa_drawing *drawing, gsa_error *error);
gsa_status gsa_write_mtx(const gsa_drawing *drawing, gsa_error *error);

#endif
