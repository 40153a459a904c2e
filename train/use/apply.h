/* apply.h - a trained model, opened for use: what apply.c and attend.c share; not installed. */
#ifndef GSA_TRAIN_APPLY_H
#define GSA_TRAIN_APPLY_H
#include "train/driver/session.h"

/* The session of a checkpoint with its parameters read. Messages go to options->progress. */
gsa_status gsa_apply_open(const gsa_system *system, const gsa_apply_options *options,
                          uint32_t splits, gsa_session *session, gsa_error *error);
/* gsa_apply_options.distrusts of gsa predict and of predictors: 1 where neither the process's user
 * nor root owns it, or its owner cannot be seen. */
int gsa_is_others(const char *folder);
/* One sentence to options->progress; the context is the gsa_apply_options. */
void gsa_apply_say(void *context, const char *sentence);

#endif
