/* next.h - what a trained language model expects next, token by token: its input, generation
 * (gsa/generation.h) and head. */
#ifndef GSA_NEXT_H
#define GSA_NEXT_H
#include "gsa/generation.h"
#include "train/driver/session.h"

typedef struct gsa_next gsa_next;

/* For models of one run over words whose head reads its sequence; else a sentence, so where the
 * stack cannot generate, and where learned positions end before `longest`. The session must outlive
 * it; its tape is reset by every call. */
gsa_status gsa_next_create(gsa_session *session, int32_t longest, gsa_next **next,
                           gsa_error *error);
void gsa_next_release(gsa_next *next); /* NULL does nothing */

/* Forgets what is there; from now on `count` sequences without tokens. */
gsa_status gsa_next_begin(gsa_next *next, int32_t count, gsa_error *error);
/* length[i] >= 0 tokens more after sequence i, one sequence's ids after the other's. logits
 * [sequences with length > 0][outputs]: of the token after each. */
gsa_status gsa_next_append(gsa_next *next, const int32_t *id, const int32_t *length, double *logits,
                           gsa_error *error);
/* As gsa_generation_choose. */
gsa_status gsa_next_choose(gsa_next *next, const int32_t *parent, int32_t count, gsa_error *error);
const gsa_generation *gsa_next_generation(const gsa_next *next); /* for its counts */

#endif
