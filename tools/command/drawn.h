/* drawn.h - a stack as gsa graph draws it: the patterns of a spec with one example's instance of
 * each. */
#ifndef GSA_DRAWN_H
#define GSA_DRAWN_H
#include "graph/write.h"
#include "topologies/spec.h"

typedef struct gsa_drawn_part { /* one pattern of one segment */
    gsa_pattern *pattern;
    gsa_instance *instance;
    int first_layer, layers;
} gsa_drawn_part;

typedef struct gsa_drawn_stack {
    const gsa_system *system;
    gsa_drawn_part *parts;
    int n_parts;
    int sheets;       /* parts x layers */
    int reads_memory; /* has a kind that starts as another stack's sequence */
    char *text;       /* canonical text of the spec */
} gsa_drawn_stack;

/* Makes the patterns. The registry must outlive the stack, which is released in any case. */
gsa_status gsa_drawn_stack_create(const gsa_system *system, const gsa_registry *registry,
                                  const gsa_stack_spec *spec, gsa_drawn_stack *stack,
                                  gsa_error *error);
void gsa_drawn_stack_release(gsa_drawn_stack *stack); /* a zeroed one is fine */

/* Makes the instances. */
gsa_status gsa_drawn_stack_emit(gsa_drawn_stack *stack, const gsa_example *example,
                                const gsa_limits *limits, gsa_error *error);
/* Fills `sheets` entries, layer by layer. */
void gsa_drawn_stack_sheets(const gsa_drawn_stack *stack, int number, gsa_picture_sheet *sheets);
/* Edges that are drawn: those of each layer's phases. */
int64_t gsa_drawn_stack_edges(const gsa_drawn_stack *stack);
/* "star*2, length 16 | nodes: embedding 16, token 16, relay 1 | edges: down 2 x 80, up 2 x 17 | 33
 * nodes, 194 edges" on stderr. `name`: NULL where there is one stack; `bound`: MEMORY kinds are the
 * other stack's nodes. */
void gsa_drawn_stack_say(const gsa_drawn_stack *stack, const char *name, int bound);

#endif
