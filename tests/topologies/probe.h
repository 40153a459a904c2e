/* probe.h - a small topology with a parameter of each type, for tests of what is between a text
 * and emit. */
#ifndef GSA_TEST_PROBE_H
#define GSA_TEST_PROBE_H
#include "topologies/registry.h"

enum {
    PROBE_INT,
    PROBE_WIDE,
    PROBE_REAL,
    PROBE_BOOL,
    PROBE_CHOICE,
    PROBE_PATH,
    PROBE_MODE,
    PROBE_PARAMS
};
/* Values of "mode": what create() does. */
enum {
    PROBE_GOOD,
    PROBE_FAIL,
    PROBE_FAIL_TWICE,
    PROBE_SILENT,
    PROBE_FAIL_RETURN_0,
    PROBE_FAIL_EARLY,
    PROBE_HOG,
    PROBE_MUTE
};

typedef struct probe_state { /* what create() keeps */
    const gsa_value *values;
    const void *service;
    char *memory;
    int64_t *alive; /* counts live states, where the service "test.count/1" is offered */
} probe_state;

extern const gsa_topology probe;

#endif
