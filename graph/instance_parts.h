/* instance_parts.h - the inside of an instance and of its builder, for the files of graph/; not
 * installed. */
#ifndef GSA_INSTANCE_PARTS_H
#define GSA_INSTANCE_PARTS_H
#include <stdatomic.h>
#include "graph/instance.h"

typedef struct gsa_instance_phase {
    int64_t rows, run_total, edge_total;
    int64_t *run_offset, *edge_offset; /* one block; the same array in a NONE phase, all 0 */
    gsa_run *runs;
    int64_t block_offset[2]; /* 0 and the destination kinds */
    int64_t first_block;     /* of the instance's blocks */
    int32_t labels;
    int32_t scale;    /* heads in a per-head phase, else 1 */
    uint64_t sources; /* 0 in a NONE phase */
    /* Of a rank's share (share.h) alone, else NULL: the row of the whole that each is, and of each
     * destination node whether it has an edge there. */
    int32_t *row_local;
    uint8_t *edged;
} gsa_instance_phase;

struct gsa_instance {
    const gsa_system *system;
    const gsa_schema *schema;
    atomic_int_fast64_t references;
    int32_t length, heads;
    int kinds, phases;
    int summary_kind; /* -1: none */
    int64_t summary_index, bytes;
    int64_t nodes[GSA_MAX_KINDS];
    gsa_place *place[GSA_MAX_KINDS]; /* NULL, or one a node of the first `places` nodes */
    int64_t places[GSA_MAX_KINDS];
    gsa_instance_phase *phase;
    gsa_rows *blocks;               /* one a phase and destination kind, phases in order */
    int32_t *zeros;                 /* [rows of the longest phase]: row_example */
    int32_t *identity;              /* likewise 0, 1, 2, ...: row_local */
    int32_t *number[GSA_MAX_KINDS]; /* of a rank's share: the node of the whole; else NULL */
};

typedef struct gsa_target { /* where a run ends */
    int32_t kind, index;
} gsa_target;

typedef struct gsa_records { /* the runs of one phase as emitted, and where each ends */
    gsa_run *runs;           /* in_order: already the instance's own */
    gsa_target *to;
    int64_t count, capacity, edges;
    int in_order; /* destinations never fell */
} gsa_records;

typedef struct gsa_scratch gsa_scratch;

typedef struct gsa_building { /* what implements an emitter */
    const gsa_system *system;
    const gsa_schema *schema;
    const gsa_example *example;
    gsa_limits limits;
    int inspect;
    gsa_status status; /* the first failure; later calls do nothing */
    gsa_error error;
    gsa_instance *instance; /* nodes, places and summary are written here */
    int64_t node_total, edge_total, run_total;
    gsa_records phase[GSA_MAX_PHASES];
    gsa_scratch *scratch;
} gsa_building;

/* Remembers the first failure: "topology 'x', length n: ...". Returns the status that is there. */
gsa_status gsa_building_fail(gsa_building *b, gsa_status status, const char *format, ...)
    GSA_PRINTF(3, 4);

/* The emitter whose calls fill `b`. */
gsa_emitter gsa_building_emitter(gsa_building *b);
/* Releases scratch memory and records, not the instance. */
void gsa_building_end(gsa_building *b);
/* Makes the canonical edges of every phase out of the records. */
gsa_status gsa_building_finish(gsa_building *b);

/* One more run into row `to` of a phase, which has been checked. */
void gsa_building_append(gsa_building *b, int phase, gsa_target to, const gsa_run *run);

/* Appends `next` to `run` when that changes no edge: then 1. */
int gsa_run_join(gsa_run *run, const gsa_run *next);

#endif
