/* nodes.h - the nodes of a given graph, with sparse features, a label and a split: one node a line,
 * with tabs between columns.
 *
 *   id<TAB>split<TAB>label<TAB>index:value index:value ...
 *
 * ids are 0, 1, 2, ... in order; split is train, dev (or val), test or none; label is a name, - or
 * -1 for none, which only nodes of split none may have; indices count from 0, ascending; a value
 * may be left out (1). `columns` gives another order of these four. */
#ifndef GSA_NODES_H
#define GSA_NODES_H
#include "graph/system.h"
#include "graph/topology.h"
#include "train/data/encoding.h"

typedef struct gsa_nodes {
    const gsa_system *system;
    char *path, *bytes; /* the file; labels point into it */
    int64_t count, room;
    int32_t width, zero; /* features: largest index + 1 */
    int32_t *split;      /* [count] gsa_split, -1: none */
    int64_t *line;       /* [count] */
    gsa_slice *label;    /* [count]; no bytes: none */
    int64_t *first;      /* [count+1] entry of a node's features */
    int32_t *index;      /* [entries] */
    float *value;        /* [entries] */
    int64_t entries, entry_room;
} gsa_nodes;

/* "-" is standard input; encoding is a gsa_encoding. Every bad line is a sentence with
 * file:line. */
gsa_status gsa_nodes_read(const gsa_system *system, const char *path, const char *columns,
                          int32_t encoding, gsa_nodes *nodes, gsa_error *error);
void gsa_nodes_release(gsa_nodes *nodes); /* a zeroed one is fine */

#endif
