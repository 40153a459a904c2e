/* invent.h - random models: settings, one or two stacks of random topologies, and a batch of random
 * examples.
 *
 * The schemas are topologies through the public ABI: one parameter, the pattern's number, and the
 * description of the whole model comes as a service. An example's nodes and edges are a function of
 * (model, pattern, the example as emit sees it), so that emit replays what the interpreter reads
 * from oracle_invent_graph. Everything follows from the seed. */
#ifndef ORACLE_INVENT_H
#define ORACLE_INVENT_H
#include "model.h"
#include "support/compare.h"

void oracle_invent(oracle_model *model, uint64_t seed);
int oracle_layers(const oracle_stack *stack);
void oracle_print(const oracle_model *model); /* to stderr */

/* ---- graphs */
typedef struct oracle_run { /* as emitted; count 0 allowed */
    int phase, from_kind, to_kind, count, step, label, label_step;
    int64_t from, to;
} oracle_run;
typedef struct oracle_edge {
    int from_kind, label;
    int64_t from;
} oracle_edge;
typedef struct oracle_event { /* what emit calls, in order */
    enum { ORACLE_ADD_NODES, ORACLE_ADD_RUN, ORACLE_NAME_SUMMARY } what;
    int kind, count; /* nodes; summary: kind and index */
    oracle_run run;
} oracle_event;
typedef struct oracle_graph {        /* of one example */
    int nodes[ORACLE_KINDS];         /* by kind of the pattern */
    int summary_kind, summary_index; /* kind < 0: none named */
    int events, room;
    oracle_event *event;
} oracle_graph;

/* What emit sees of example `e` of stack `s`. `group` receives the groups of its tokens. */
gsa_example oracle_example(const oracle_model *model, int s, int e, int32_t group[ORACLE_LENGTH],
                           int32_t memory_group[ORACLE_LENGTH]);
/* The graph of one example; oracle_forget_graph frees it. */
oracle_graph oracle_invent_graph(const oracle_model *model, const oracle_pattern *pattern,
                                 const gsa_example *example);
void oracle_forget_graph(oracle_graph *graph);
/* The in-edges of one row of a phase, in order; at most `room` are written, the number of all is
 * returned. */
int oracle_row(const oracle_graph *graph, int phase, int to_kind, int64_t to, oracle_edge *edge,
               int room);

/* ---- the ABI: fills model->topology (plug.c); `create` finds the model under the service's
 * name. */
#define ORACLE_SERVICE "oracle.model/1"
void oracle_plug(oracle_model *model);
/* The pattern's phase that opens the group of phase `p` (the phases that read the same old
 * states). */
int oracle_group(const oracle_pattern *pattern, int p);
/* `empty` with the default resolved: 1 keep, 0 update. */
int oracle_keeps(const oracle_phase *phase);

#endif
