/* draw.h - what the files that draw share: boxes (nodes on the page), lines (edges on the page),
 * colours. Pixels; y grows downwards. */
#ifndef GSA_INSPECT_DRAW_H
#define GSA_INSPECT_DRAW_H
#include "graph/inspect/inspect.h"

enum { CATEGORIES = 24, SHORT_TEXT = 96, MATRIX_NODES = 500, MATRIX_LINES = 4000 };

typedef struct gsa_box {
    double x, y, w, h; /* centre and size; w 0: not on the page */
    int dot;           /* drawn as a dot; its text is placed next to it */
    int32_t row; /* boxes of one row are joined by arcs; -1: it stands for itself (a span, a hub) */
    int upright; /* its text is turned by 90 degrees */
    char text[SHORT_TEXT];
} gsa_box;

typedef struct gsa_line { /* edges with equal ends and colour are one line */
    int32_t from, to, category;
    int32_t lane; /* 0, 1, ... among the lines with these ends */
    int64_t edges;
    double weight; /* the sum of the edges' */
} gsa_line;

typedef struct gsa_category { /* what one colour means */
    char name[SHORT_TEXT];
    char colour[8];
    int64_t edges, loops;
} gsa_category;

typedef struct gsa_kind_place { /* how a kind is drawn on the page */
    int32_t base; /* the kind of its stack that is the sequence, whose tokens levels and spans speak
                     of */
    int32_t last; /* index of its last node */
    int32_t row;  /* as of its boxes */
} gsa_kind_place;

typedef struct gsa_extent {
    double left, top, right, bottom;
} gsa_extent;

typedef struct gsa_page {
    const gsa_view *view;
    const gsa_system *system;
    const gsa_drawing_options *options;
    gsa_output *out;
    int style;
    int32_t focus, focus_head;
    uint8_t *category; /* [edges] */
    gsa_category categories[CATEGORIES];
    int n_categories;
    gsa_kind_place *kind; /* [kinds] */
    gsa_box *box;         /* [boxes]: a node each, of GSA_STYLE_HEADS (node, head) */
    int32_t boxes;
    gsa_line *line;
    int64_t lines;
    double heaviest; /* weight of a line */
    double flat;     /* height of an arc / half its width */
    int arcs;     /* 0: above to the right, below to the left; 1: row 0 above, other rows below; -1:
                     below */
    int up, down; /* lines between rows that carry messages upwards, and downwards */
    double cx, cy, tilt; /* centre of a circle; by how much loops on it lean aside */
    gsa_extent extent;   /* of the drawing */
    const char *reading; /* how the picture is to be read: a sentence for the legend */
} gsa_page;

/* ---- structure of the view (structure.c) */
typedef struct gsa_structure {
    int32_t primary; /* the kind that is the sequence; -1: no node */
    int32_t last;    /* index of its last node */
    int spans, hubs; /* nodes that stand for some tokens; for all of them, alone in their kind */
    int levels;      /* some kind of spans has several levels */
    int rows;        /* kinds without places */
    int stacks;      /* kinds are called "encoder.token", "decoder.token": a sequence each */
    int per_head;
    int cyclic; /* neighbours of the sequence's first node are at its end, and all edges in it are
                   short on a circle */
} gsa_structure;
gsa_status gsa_page_structure(gsa_page *page, gsa_structure *structure, gsa_error *error);
int gsa_is_placed(const gsa_view *view, int32_t node);
int gsa_covers_all(const gsa_page *page, int32_t node);
int gsa_page_style(const gsa_page *page, const gsa_structure *structure);

int32_t gsa_page_heads(const gsa_page *page); /* boxes of a node */

/* ---- colours and lines (category.c) */
gsa_status gsa_page_colour(gsa_page *page, gsa_error *error);
gsa_status gsa_page_lines(gsa_page *page, gsa_error *error);

/* ---- places on the page */
enum { MOST_WIDTH = 1600 }; /* pixels that a row or a circle of dots is wide at most */
gsa_status gsa_layout_rows(gsa_page *page, const gsa_structure *structure,
                           gsa_error *error); /* arc, tree, bipartite */
void gsa_layout_circle(gsa_page *page, const gsa_structure *structure);
void gsa_layout_heads(gsa_page *page, const gsa_structure *structure);
gsa_status gsa_layout_force(gsa_page *page, const gsa_structure *structure, gsa_error *error);

/* ---- ink */
int gsa_has_arrows(const gsa_page *page);
void gsa_measure_lines(gsa_page *page); /* grows page->extent */
void gsa_draw_lines(const gsa_page *page);
void gsa_draw_boxes(const gsa_page *page);
gsa_status gsa_draw_matrix(gsa_page *page, gsa_error *error);
double gsa_draw_legend(const gsa_page *page, double width, double top, int write); /* its height */
void gsa_draw_text(const gsa_page *page, const char *text);                        /* escaped */
double gsa_text_width(const char *text, double size);
/* The text, cut at `most` characters with an ellipsis. */
void gsa_text_short(const char *text, int most, char out[SHORT_TEXT]);
void gsa_extent_add(gsa_extent *extent, double x, double y);
const char *gsa_kind_fill(int32_t kind);

#define INK   "#2b2f36"
#define FAINT "#6a717c"
/* Emoji last: their font has digits and blanks of its own, as wide as a picture. */
#define FONT                                                                                       \
    "'Helvetica Neue',Helvetica,Arial,'Noto Sans','Noto Sans CJK SC',sans-serif,"                  \
    "'Noto Color Emoji'"

#endif
