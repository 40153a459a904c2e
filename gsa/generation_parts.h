/* generation_parts.h - what the files of generation share. Private to gsa/. generation.h explains
 * the words. */
#ifndef GSA_GENERATION_PARTS_H
#define GSA_GENERATION_PARTS_H
#include "generation.h"
#include "stack_parts.h"

typedef struct gsa_value_of { /* a value: a kind's state after a step of the program */
    int kind;                 /* of the stack */
    int read;                 /* does the sequence depend on it? */
    int keep;                 /* does a later token read it as it is? Then pool `keep`; -1: no */
    int64_t rows;             /* made so far */
    int64_t base;             /* of them, before the append under way */
    gsa_tensor *fresh;        /* the rows from `base` on, until the tape's reset */
} gsa_value_of;

typedef struct gsa_kept { /* rows that stay, one for each of a value's */
    int value;
    gsa_parameter *gain, *shift, *weight, *bias; /* norm, then projection; NULL: without */
    gsa_tensor x;
    int64_t room;
    int64_t first; /* the value's row that is its first: a pool may come when rows are there that
                      nobody reads again */
} gsa_kept;

typedef struct gsa_turn { /* a step of the program that is executed; values and pools by kind of its
                             pattern's schema, -1: none */
    const gsa_step *step;
    int old[GSA_MAX_KINDS], now[GSA_MAX_KINDS], made[GSA_MAX_KINDS];
    int k[GSA_MAX_KINDS], v[GSA_MAX_KINDS]; /* what sources are read as; SUM and MEAN: v alone */
    int first, count;                       /* entering a segment: the values that start there */
} gsa_turn;

/* When the rows of a value are made. Values of a plan with equal ones share it. */
typedef struct gsa_layout {
    int64_t nodes;
    int32_t *ready; /* [nodes] */
    int32_t *node;  /* [nodes] by (ready, index) */
    int32_t *rank;  /* [nodes] among those of the same ready index */
    int64_t *start; /* [longest + 2]: node[start[t+1] ..] have ready = t */
    int one;        /* all nodes are one row, made when the sequence is opened */
} gsa_layout;

/* Patterns of g->longest tokens and a memory. Where they read groups these belong to the plan:
 * those of tokens that have not come are taken to be the last one's. */
typedef struct gsa_generation_plan {
    int32_t memory_length;
    int32_t *memory_group,
        *group; /* [memory_length], [longest]; NULL where nothing but lengths is read */
    gsa_instance **instance; /* [parts] */
    gsa_layout **layouts;    /* [n_layouts], owned */
    int n_layouts;
    gsa_layout **of; /* [values] */
} gsa_generation_plan;

typedef struct gsa_grown { /* a sequence */
    const gsa_generation_plan *plan;
    int32_t length, room;
    int32_t *moment; /* [length + 1]: of opening, then of each token */
} gsa_grown;

typedef struct gsa_item { /* of an append: the rows of a sequence with first <= ready < end */
    gsa_grown *sequence;
    int32_t first, end;
} gsa_item;

struct gsa_generation {
    const gsa_system *system;
    const gsa_stack *stack;
    gsa_backend *backend;
    int32_t most, longest; /* tokens of a sequence; of the patterns, one more: rows that a text's
                              end makes are of no use to it */
    gsa_cache *cache;
    gsa_limits limits;
    int by_length; /* do the patterns read lengths alone? */
    gsa_value_of *value;
    int n_values, last; /* last: the value that is read out */
    gsa_kept *pool;
    int n_pools;
    gsa_turn *turn;
    int n_turns;
    gsa_generation_plan **plan;
    int n_plans;
    gsa_grown *sequence, *other; /* [room_sequences]: they take turns */
    int32_t n_sequences, room_sequences;
    gsa_item *item;  /* [room_sequences] */
    int64_t *moment; /* [n_moments][n_values]: the first row that it made of each value */
    int64_t n_moments, room_moments;
    gsa_run *run; /* of the phase under way */
    int64_t n_runs, room_runs;
    int broken;
    gsa_generation_counts counts;
};

/* generation_program.c: values, pools and turns; refusals */
gsa_status gsa_generation_program(gsa_generation *g, gsa_error *error);
int gsa_generation_pool(gsa_generation *g, gsa_kept wanted); /* found or made */
/* generation_plan.c: the plan for a memory of so many rows (0 without one) and for groups (NULL:
 * all 0), found or made */
gsa_status gsa_generation_plan_for(gsa_generation *g, int32_t memory_length,
                                   const int32_t *memory_group, const int32_t *group,
                                   const gsa_generation_plan **plan, gsa_error *error);
/* Gives the sequence the plan for `length` more tokens of these groups (NULL: of its last
 * one's). */
gsa_status gsa_generation_regroup(gsa_generation *g, gsa_grown *sequence, const int32_t *group,
                                  int32_t length, gsa_error *error);
void gsa_generation_plans_release(gsa_generation *g);

/* generation.c: room for so many sequences */
gsa_status gsa_generation_reserve(gsa_generation *g, int32_t count, gsa_error *error);
/* generation_rows.c */
gsa_status gsa_sequence_grow(gsa_generation *g, gsa_grown *sequence, int32_t moments,
                             gsa_error *error);
/* A new moment, nothing made yet; -1: no memory. */
int64_t gsa_moment_new(gsa_generation *g);
/* More rows for a pool, copied; 0 after a failure, which the tape takes. */
int gsa_kept_append(gsa_generation *g, gsa_tape *tape, gsa_kept *pool, const gsa_tensor *from);

/* The row of a node's value; -1 where the token that makes it has not come. */
static inline int64_t gsa_row_of(const gsa_generation *g, const gsa_grown *sequence, int value,
                                 int64_t node)
{
    const gsa_layout *layout = sequence->plan->of[value];
    const int64_t at = (int64_t)layout->ready[node] + 1;
    if (at > sequence->length) return -1;
    return g->moment[(int64_t)sequence->moment[at] * g->n_values + value] + layout->rank[node];
}

/* generation_edges.c: the edges of a turn's new rows, over the pools */
typedef struct gsa_fresh_rows { /* the rows of a turn's destinations in an append, kind by kind,
                                   item by item */
    int64_t count;
    int64_t of[GSA_MAX_KINDS]; /* by kind of the schema */
    int32_t *node, *item;      /* [count] */
} gsa_fresh_rows;
int gsa_generation_find_rows(gsa_generation *g, gsa_tape *tape, const gsa_turn *turn, int32_t items,
                             gsa_fresh_rows *rows);
/* Their edges, in the backend's memory, until the next call; empty[row] = 1 where a node has none.
 * 0 after a failure. */
int gsa_generation_edges(gsa_generation *g, gsa_tape *tape, const gsa_turn *turn,
                         const gsa_fresh_rows *rows, gsa_edges *edges, uint8_t *empty);

#endif
