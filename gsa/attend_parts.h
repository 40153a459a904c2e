/* attend_parts.h - what the files of gsa/attend.h share. Private to gsa/. */
#ifndef GSA_ATTEND_PARTS_H
#define GSA_ATTEND_PARTS_H
#include "attend.h"

struct gsa_graph {
    const gsa_system *system;
    gsa_pattern *pattern; /* or NULL, and */
    gsa_schema *own;      /* the schema of edges of one's own */
    gsa_batch *batch;
    gsa_instance **instances; /* [examples] */
    int32_t *number;          /* [examples] 0, 1, ... */
    int32_t examples, room;
    int64_t *order; /* gsa_graph_order */
    /* a copy of the batch's arrays and of `number` in a device's memory, or NULL */
    gsa_backend *device;
    void *base, *device_number;
};

/* Of edges of one's own: only the names of phase and kinds are read. */
extern const gsa_topology gsa_own_edges;

gsa_status gsa_graph_reserve(gsa_graph *graph, int32_t examples, gsa_error *error);
/* Joins the instances that are there; drops them where that fails. */
gsa_status gsa_graph_join(gsa_graph *graph, int32_t examples, gsa_error *error);
void gsa_graph_empty(gsa_graph *graph);

#endif
