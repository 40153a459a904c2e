/* toy.h - topologies for tests: one written in the test itself, and a random one that keeps a naive
 * list of its edges. */
#ifndef GSA_TEST_TOY_H
#define GSA_TEST_TOY_H
#include "graph/topology.h"
#include "support/compare.h"

/* ---- scripted: `self` is a gsa_script */
typedef struct gsa_script {
    void (*describe)(gsa_describer *describer);
    void (*emit)(const gsa_example *example, gsa_emitter *emitter);
} gsa_script;
extern const gsa_topology gsa_scripted; /* id "scripted" */

/* ---- random: `self` is a gsa_toy. Kind 0 starts as input and is the sequence. The edges depend on
 * (seed, lengths, heads). */
typedef struct gsa_toy_edge {
    int32_t phase, to_kind, from_kind, label;
    int64_t to, from; /* x heads in per-head phases */
} gsa_toy_edge;
typedef struct gsa_toy_log { /* what the last emit said, in the order of the calls; owned by the
                                test: free(at) */
    gsa_toy_edge *at;
    int64_t count, capacity;
} gsa_toy_log;
typedef struct gsa_toy {
    uint64_t seed;
    int kinds, phases;
    gsa_kind kind[6];
    gsa_phase phase[6];
    uint32_t flags;
    int shuffled;     /* rows come in any order, and twice; else ascending */
    gsa_toy_log *log; /* NULL: nothing is kept. One thread at a time when set */
} gsa_toy;
extern const gsa_topology gsa_random_toy; /* id "toy" */

/* 1 to 5 kinds, 1 to 4 phases (per-head, labelled, pointwise and once-phases among them), valid by
 * construction. */
void gsa_toy_make(gsa_toy *toy, uint64_t seed);
/* An example without text. */
gsa_example gsa_toy_example(int32_t length, int32_t memory_length, int32_t heads);

#endif
