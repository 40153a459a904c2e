/* stack_parts.h - what the stack's files share. Private to gsa/. docs/executor.md is the law. */
#ifndef GSA_STACK_PARTS_H
#define GSA_STACK_PARTS_H
#include "stack.h"
#include "ranks.h"
#include "tape_parts.h"

typedef struct gsa_phase_weights { /* the parameters of one phase in one layer; NULL where it has
                                      none */
    gsa_parameter *q, *k, *v, *o, *q_bias, *v_bias, *o_bias;
    gsa_parameter *up, *up_bias, *down, *down_bias;
    gsa_parameter *gain, *shift;
    gsa_parameter *label_vectors, *label_bias;
    int needed; /* by a step that a readout depends on */
} gsa_phase_weights;

typedef struct gsa_stack_kind {        /* kinds with equal names are one */
    const char *name;                  /* of the schema that declared it first */
    int start, learned, segment, part; /* where it was declared first */
    int needed;                        /* does any readout depend on its start? */
    gsa_parameter *rows;               /* learned > 0 */
} gsa_stack_kind;

typedef struct gsa_stack_part { /* one pattern of one segment */
    gsa_pattern *pattern;
    const gsa_schema *schema;
    int segment;
    int kind[GSA_MAX_KINDS]; /* schema kind -> stack kind */
    char prefix[80];         /* "" or "cross." : in front of phase names where a segment has several
                                patterns */
} gsa_stack_part;

enum gsa_step_what { GSA_STEP_ENTER, GSA_STEP_PHASE, GSA_STEP_LAYER_END };
typedef struct gsa_step {
    int what, segment;
    int layer;                /* over all segments; -1 for once-phases */
    int part, phase, weights; /* GSA_STEP_PHASE; weights indexes gsa_stack.weights */
    int opens;  /* is it the first of its together group that runs? (most groups are one phase) */
    int needed; /* does a readout depend on it? */
    uint32_t site;
} gsa_step;

struct gsa_stack {
    const gsa_system *system;
    gsa_settings settings;
    char *name, *text, *report;
    uint32_t reads, first_site, next_site;
    int *taps, n_taps;
    gsa_stack_kind *kinds;
    int n_kinds;
    gsa_stack_part *parts;
    int n_parts, n_segments, n_layers;
    gsa_segment_spec *segments; /* layers and share of each; parts unused */
    int *first_part;            /* [n_segments + 1] */
    gsa_step *steps;
    int n_steps, room_steps;
    gsa_phase_weights *weights;
    int n_weights, room_weights;
    gsa_parameter *gain, *shift; /* the last norm, with norm=pre */
    int sequence;                /* stack kind */
    int reads_memory, needs_text;
    int queries; /* stack_query.c: 0 where it pays, 1 wherever it can be, -1 nowhere; tests set it
                  */
};

struct gsa_stack_batch {
    const gsa_stack *stack;
    int32_t count, room;
    int64_t tokens;
    gsa_batch **batch;        /* [n_parts] */
    gsa_instance **instances; /* [n_parts][room] */
    int64_t *offset;          /* [count + 1] of the tokens */
    int64_t edges;
    gsa_watched *watched; /* [n_watched], borrowed */
    int n_watched;
    gsa_group *group; /* NULL: the examples are whole; else `share` is this rank's part */
    gsa_share *share;
    uint8_t **late; /* [n_parts x GSA_MAX_PHASES] rows that read what travels, or NULL */
};

static inline const gsa_phase *gsa_step_phase(const gsa_stack *stack, const gsa_step *step)
{
    return gsa_schema_phase(stack->parts[step->part].schema, step->phase);
}

/* stack.c: the pools whose weighted sum the summary is, over kinds of the last segment's pattern:
 * the pattern's pools, or the single pool that model.readout names */
int gsa_stack_pools(const gsa_stack *stack);
void gsa_stack_pool(const gsa_stack *stack, int index, int *kind, int *pool, double *weight);
/* stack_watch.c: the entry that requests the step's weights, or NULL */
gsa_watched *gsa_stack_find_watched(const gsa_stack_batch *batch, const gsa_step *step);
/* stack_ranks.c: this rank's part of the instances that were made; and states of kinds that a
 * phase is about to read: ghosts whose owners have made new ones are fetched. stale: [kinds] */
gsa_status gsa_stack_settle(gsa_stack_batch *batch, gsa_error *error); /* of the first example */
gsa_status gsa_stack_share(gsa_stack_batch *batch, int32_t count, gsa_error *error);
/* After the batch is built: which rows may read ghosts, or keys and values made with theirs. */
gsa_status gsa_stack_mark_late(gsa_stack_batch *batch, gsa_error *error);
void gsa_stack_fetch(const gsa_stack_batch *batch, gsa_tape *tape, const gsa_step *step,
                     gsa_tensor **now, uint8_t *stale);
/* stack_program.c: kinds, order of execution, what is needed */
gsa_status gsa_stack_join_kinds(gsa_stack *stack, gsa_error *error);
gsa_status gsa_stack_order(gsa_stack *stack, gsa_error *error);
void gsa_stack_find_needed(gsa_stack *stack);
/* stack_weights.c: parameters; and flags for those that nothing reads */
gsa_status gsa_stack_add_weights(gsa_stack *stack, gsa_parameters *parameters, gsa_error *error);
void gsa_stack_flag_unreached(gsa_stack *stack);
/* stack_update.c: the new states of rows, from their old ones (NULL where the phase does not look
 * at them) and their aggregate */
gsa_tensor *gsa_stack_update(const gsa_stack *stack, gsa_tape *tape, const gsa_step *step,
                             gsa_row_identity rows, gsa_tensor *x, gsa_tensor *a);
gsa_tensor *gsa_stack_last_norm(const gsa_stack *stack, gsa_tape *tape,
                                gsa_tensor *x); /* with norm=pre; else x */
double gsa_stack_scale(const gsa_stack *stack); /* of scores */
/* Does the phase look at its destinations' old states? Those of SUM and MEAN without residual are
 * overwritten unread. */
static inline int gsa_phase_reads_old(const gsa_phase *phase)
{
    return phase->aggregate == GSA_ATTEND || phase->aggregate == GSA_NONE ||
           phase->update == GSA_SUBLAYER || phase->update == GSA_FFN;
}
/* stack_query.c: is the phase projected on the side of its queries, where `unprojected` rows of its
 * sources have no K and V yet? Then its aggregate, from the projected queries and what is read of
 * each kind */
int gsa_stack_asks(const gsa_stack *stack, const gsa_tape *tape, const gsa_batch *batch, int phase,
                   int64_t unprojected);
gsa_tensor *gsa_stack_ask(const gsa_stack *stack, gsa_tape *tape, const gsa_phase_weights *w,
                          const gsa_batch *batch, int phase, gsa_tensor *q,
                          gsa_tensor *const *read);
/* columns of a phase's aggregate */
int64_t gsa_stack_aggregate_columns(const gsa_stack *stack, const gsa_phase *phase);
/* 1 when the phase's destinations are read as norm(x) under norm=pre */
static inline int gsa_stack_norm_first(const gsa_stack *stack, const gsa_phase *phase)
{
    return stack->settings.norm == GSA_NORM_PRE &&
           (phase->update == GSA_SUBLAYER || phase->update == GSA_FFN);
}

#endif
