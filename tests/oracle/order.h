/* order.h - the order in which a layer's phases run. */
#ifndef ORACLE_ORDER_H
#define ORACLE_ORDER_H
#include "model.h"

enum { ORACLE_ITEMS = 128 };

typedef struct oracle_item { /* one phase in one layer, or at the entry of a segment */
    int segment, layer;      /* layer of the segment; -1: a once-phase */
    int part, phase;
    const oracle_pattern *pattern;
    int last;  /* the layer ends after it: its number over all segments, else -1 */
    int opens; /* the first of its together group (or alone): what it finds is "old" for all of them
                */
    int skipped;
    char name[128]; /* "encoder.0.1.ia.p2", parameters follow */
} oracle_item;
/* One layer of a segment; -1 where a '+' parts a phase from the one that it is together with. Law
 * "One layer": what comes after the last phase with edges waits for the parts that follow. */
int oracle_order(const oracle_model *model, const oracle_segment *segment,
                 oracle_item out[ORACLE_ITEMS]);

#endif
