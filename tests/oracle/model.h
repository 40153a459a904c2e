/* model.h - what a random model is: its stacks, patterns and phases. */
#ifndef ORACLE_MODEL_H
#define ORACLE_MODEL_H
#include "graph/topology.h"
#include "gsa/settings.h"

enum {
    ORACLE_KINDS = 5,
    ORACLE_PHASES = 6, /* 1-4 of a layer, up to 2 once-phases */
    ORACLE_POOLS = 3,
    ORACLE_PARTS = 3,
    ORACLE_SEGMENTS = 2,
    ORACLE_STACKS = 2,
    ORACLE_PATTERNS = ORACLE_PARTS * ORACLE_SEGMENTS * ORACLE_STACKS,
    ORACLE_EXAMPLES = 4,
    ORACLE_LENGTH = 6, /* longest example */
    ORACLE_NAME = 16,
    ORACLE_SPEC = 256
};

typedef struct oracle_kind {
    char name[ORACLE_NAME];
    int start, learned;
} oracle_kind;

typedef struct oracle_phase { /* as gsa_phase; sources and destinations are kinds of the pattern */
    char name[ORACLE_NAME], weights[ORACLE_NAME];
    int when, aggregate, update, empty, label_use, labels, per_head, together;
    unsigned sources, destinations;
} oracle_phase;

typedef struct oracle_pattern {
    const struct oracle_model *model;
    char id[ORACLE_NAME];
    int stack, number;             /* of the model */
    int kinds, kind[ORACLE_KINDS]; /* kind of the stack that the pattern's kind k is */
    int phases;
    oracle_phase phase[ORACLE_PHASES];
    int sequence; /* kind of the pattern */
    int pools;
    struct {
        int kind, pool;
        double weight;
    } pool[ORACLE_POOLS];
} oracle_pattern;

typedef struct oracle_segment {
    int parts, part[ORACLE_PARTS]; /* patterns of the model */
    int layers, share;
} oracle_segment;

typedef struct oracle_stack {
    const char *name;
    gsa_settings settings;
    int kinds;
    oracle_kind kind[ORACLE_KINDS];
    int late; /* two segments with many kinds that start by phase: some new in the second */
    int segments;
    oracle_segment segment[ORACLE_SEGMENTS];
    int read_sequence, read_summary;
    int taps, tap[4];
    int length[ORACLE_EXAMPLES];
    int grouped;
    int group[ORACLE_EXAMPLES][ORACLE_LENGTH];
    char spec[ORACLE_SPEC];
} oracle_stack;

typedef struct oracle_model {
    uint64_t seed;
    int by_length; /* graphs depend on lengths alone, and say so */
    int stacks;    /* the second reads the first one's sequence as memory */
    oracle_stack stack[ORACLE_STACKS];
    int patterns;
    oracle_pattern pattern[ORACLE_PATTERNS];
    int examples;
    int32_t example_id[ORACLE_EXAMPLES]; /* in the global batch, for dropout */
    uint32_t drop_seed, drop_step;
    gsa_param param[ORACLE_PATTERNS];
    gsa_topology topology[ORACLE_PATTERNS];
} oracle_model;

#endif
