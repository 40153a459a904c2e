/* looked.h - one pass of a model over a batch, looked into: the instances of its layers' patterns,
 * example by example, and the weights on their edges; not installed. */
#ifndef GSA_TRAIN_LOOKED_H
#define GSA_TRAIN_LOOKED_H
#include "graph/write.h"
#include "train/driver/session.h"

typedef struct gsa_looked_sheet { /* a pattern in a layer */
    const gsa_pattern *pattern;
    int layer, place; /* place: among the patterns of its layer */
    int owner;        /* the first sheet of this pattern, whose instances it shares */
} gsa_looked_sheet;

typedef struct gsa_looked {
    const gsa_session *session;
    const gsa_stack *stack;
    const char *name; /* of the pass */
    int pass, sequence;
    int memory; /* the pass whose sequence it reads; -1: none */
    int n_sheets, n_watched, heads;
    int apart; /* its stack has settings of its own: of each sequence a picture of its own */
    int32_t examples;
    int64_t *token; /* [examples] where each begins in the sequence */
    gsa_looked_sheet *sheet;
    gsa_instance **instance; /* [n_sheets][examples]; of owners alone */
    double **weight; /* [n_sheets][examples][GSA_MAX_PHASES]; NULL: the phase is not drawn */
    gsa_watched *watched;
} gsa_looked;

/* The sheets of one layer, or of all (-1); none where the stack has not that layer. */
gsa_status gsa_looked_open(const gsa_session *session, int pass, int layer, gsa_looked *looked,
                           gsa_error *error);
/* Instances of the batch that the session holds. */
gsa_status gsa_looked_emit(gsa_looked *looked, gsa_error *error);
/* Edges that will be drawn, of all examples. */
int64_t gsa_looked_edges(const gsa_looked *looked);
/* From now on a forward pass keeps what gsa_looked_read reads. */
gsa_status gsa_looked_watch(gsa_looked *looked, gsa_error *error);
gsa_status gsa_looked_read(gsa_looked *looked, gsa_error *error);
/* The sheets of one example, [n_sheets], as stack `number` of a picture. */
void gsa_looked_sheets(const gsa_looked *looked, int32_t example, int number,
                       gsa_picture_sheet *sheets);
/* Its tokens; NULL: numbers. */
const gsa_slice *gsa_looked_text(const gsa_looked *looked, int32_t example);
void gsa_looked_release(gsa_looked *looked); /* a zeroed one is fine */

/* attend_say.c: words that the model does not know, and of the last layer's nodes what they read
 * most. */
void gsa_looked_say(const gsa_looked *looked, const gsa_apply_options *options, int several);

static inline int64_t gsa_looked_columns(const gsa_looked *looked, int sheet, int phase)
{
    const gsa_pattern *pattern = looked->sheet[sheet].pattern;
    return gsa_schema_phase(gsa_pattern_schema(pattern), phase)->per_head ? 1 : looked->heads;
}

static inline double *const *gsa_looked_weights(const gsa_looked *looked, int sheet,
                                                int32_t example)
{
    return looked->weight +
           ((size_t)sheet * (size_t)looked->examples + (size_t)example) * GSA_MAX_PHASES;
}

static inline const gsa_instance *gsa_looked_instance(const gsa_looked *looked, int sheet,
                                                      int32_t example)
{
    const size_t owner = (size_t)looked->sheet[sheet].owner;
    return looked->instance[owner * (size_t)looked->examples + (size_t)example];
}

#endif
