/* write_parts.h - what the writers share; not installed. */
#ifndef GSA_WRITE_PARTS_H
#define GSA_WRITE_PARTS_H
#include "graph/write.h"

enum { GSA_LABEL_NAME = 256, GSA_PHASE_NAME = 160 };

typedef struct gsa_drawn_kind { /* one kind of one stack */
    const char *name;
    int stack, start;
    int sheet, kind;      /* the sheet that declared it first, and its number there */
    int64_t first, count; /* its nodes' numbers */
} gsa_drawn_kind;

typedef struct gsa_drawing {
    const gsa_system *system;
    const gsa_picture *picture;
    const char *title; /* or NULL */
    gsa_output *output;
    gsa_drawn_kind *kinds; /* in order of their nodes */
    int n_kinds;
    int *kind;        /* [sheets][GSA_MAX_KINDS]: place in `kinds` of a sheet's kind */
    int *first_phase; /* [sheets]: e_phase of its phase 0 */
    int *twin; /* [sheets]: 0: the only pattern of its layer; else which of those with its id it is,
                  from 1 */
    char *topologies; /* ids, joined by ',' */
    int64_t length, nodes, edges;
    int heads, columns;   /* columns: of weights, 0 without */
    int per_head, layers; /* is some drawn phase per-head; is some sheet's layer not 0 */
} gsa_drawing;

typedef struct gsa_drawn_edge {
    int sheet, phase;           /* the sheet's phase */
    int64_t from, to, k;        /* node numbers; place in its row */
    int32_t head_from, head_to; /* -1: the phase has no heads of its own */
    int32_t label;
    const double *weights; /* [heads], of a per-head phase [1]; NULL: 1 in each */
} gsa_drawn_edge;

typedef void gsa_draw_edge(void *context, const gsa_drawn_edge *edge);

/* write_drawing.c: fills the drawing from its picture; what does not fit together is a sentence.
 * Released in any case. */
gsa_status gsa_drawing_create(gsa_drawing *drawing, gsa_error *error);
void gsa_drawing_release(gsa_drawing *drawing);

/* Phases of a layer that have edges and were computed; once-phases and pointwise ones are not
 * drawn. */
int gsa_is_drawn(const gsa_picture_sheet *sheet, int phase);
/* Every edge into one node of a drawn kind: over all sheets, phases and heads in order; every edge
 * of one phase; or all. */
void gsa_draw_node_edges(const gsa_drawing *drawing, int kind, int64_t index, gsa_draw_edge *each,
                         void *context);
void gsa_draw_phase_edges(const gsa_drawing *drawing, int sheet, int phase, gsa_draw_edge *each,
                          void *context);
void gsa_draw_edges(const gsa_drawing *drawing, gsa_draw_edge *each, void *context);

/* The label's name, "" where the topology has none; `name` holds GSA_LABEL_NAME bytes. */
const char *gsa_draw_label_name(const gsa_picture_sheet *sheet, int phase, int32_t label,
                                char *name);

typedef struct gsa_met_labels { /* those of a phase's edges, ascending */
    int32_t *label;             /* [count], the caller's to release; NULL while they are counted */
    int64_t count;
    int32_t last;
} gsa_met_labels;
/* 4 bytes a run of edges with one label: a pattern may name 2^31 labels. */
gsa_status gsa_draw_labels(const gsa_drawing *drawing, int sheet, int phase, gsa_met_labels *met,
                           gsa_error *error);
int64_t gsa_draw_label_place(const gsa_met_labels *met, int32_t label); /* in label[] */

/* "attend", or "ring.attend" where the layer has several patterns; written to `name`,
 * GSA_PHASE_NAME bytes. */
const char *gsa_draw_phase_name(const gsa_drawing *drawing, const gsa_drawn_edge *edge, char *name);
/* The token that the node is, or a slice at NULL. */
gsa_slice gsa_draw_token(const gsa_drawing *drawing, const gsa_drawn_kind *kind, int64_t index);
/* What the first sheet that knows it says of the node's place; level -1: none does. */
gsa_place gsa_draw_place(const gsa_drawing *drawing, int kind, int64_t index);
/* "" or the stack's name; "" or what is before '.' in v_kind. */
const char *gsa_draw_stack(const gsa_drawing *drawing, int stack);
const char *gsa_draw_prefix(const gsa_drawing *drawing, int stack);
/* The edge's weight in one head, and their mean. */
double gsa_draw_weight_in(const gsa_drawn_edge *edge, int head);
double gsa_draw_weight(const gsa_drawing *drawing, const gsa_drawn_edge *edge);
void gsa_draw_int(gsa_output *output, int64_t value);
void gsa_draw_real(gsa_output *output, double value); /* %.9g, in any locale */

/* write_places.c: the place of each node, [nodes]; which view suits the picture. */
typedef struct gsa_point {
    double x, y;
} gsa_point;
enum { GSA_PLACES_ARCS, GSA_PLACES_TREE, GSA_PLACES_RING, GSA_PLACES };
void gsa_draw_places(const gsa_drawing *drawing, int view, gsa_point *at);
int gsa_draw_view(const gsa_drawing *drawing);

gsa_status gsa_write_graphml(const gsa_drawing *drawing, gsa_error *error);
gsa_status gsa_write_dot(const gsa_drawing *drawing, gsa_error *error);
gsa_status gsa_write_mtx(const gsa_drawing *drawing, gsa_error *error);
/* A page is begun, each picture's object written, and the page ended; ',' is between. */
void gsa_page_begin(gsa_output *output);
gsa_status gsa_write_html(const gsa_drawing *drawing, gsa_error *error);
void gsa_page_end(gsa_output *output, int beside);
/* {"light": [...], "dark": [...]}: the palette on both papers. */
void gsa_page_hues(gsa_output *output);
/* A JSON string without '<'. */
void gsa_page_text(gsa_output *output, const char *text, int64_t bytes);

/* write_numbers.c: an object for each head of each phase, in a list; with its picture's title; a
 * line for each number. A head that gives itself more than GSA_ONLY_SELF looks at nothing else. */
#define GSA_ONLY_SELF 0.99
gsa_status gsa_write_numbers(const gsa_drawing *drawing, gsa_error *error);
gsa_status gsa_write_json(const gsa_drawing *drawing, gsa_error *error);
gsa_status gsa_write_csv(const gsa_drawing *drawing, gsa_error *error);

/* page.cmake: the page before its data, and after; UTF-8, terminated. */
extern const unsigned char gsa_page_before[], gsa_page_after[];

#endif
