/* language.h - a language model beyond its training: its tokens, and what it expects next. For
 * sessions whose task is language modelling. */
#ifndef GSA_LANGUAGE_H
#define GSA_LANGUAGE_H
#include "train/driver/session.h"
#include "train/vocabulary/units.h"

/* The tokens of a task's object (session->self): ids, texts, and the first class. Class c of `out`
 * is id c + first_class. */
const gsa_units *gsa_language_units(const void *self);
/* Ids of a text, to be released by the caller; NULL and 0 for an empty one. */
gsa_status gsa_language_ids(const void *self, const char *text, int64_t bytes, int32_t **id,
                            int64_t *count, gsa_error *error);
/* logits [session->model.plan.outputs] of the token after these: one whole forward pass. What a
 * text starts after is the line end (units->line_end, 0 where there is none): it is id[0] of every
 * text. */
gsa_status gsa_language_next(gsa_session *session, const int32_t *id, int32_t count, double *logits,
                             gsa_error *error);

#endif
