/* idle.h - keys that do something only where another key has a certain value. A value that does
 * nothing is refused, so that nobody believes in it; but where the other key is an override (--set,
 * --each) over a recipe that is there: who tries another schedule or other files need not take out
 * of the recipe what belongs to the old ones. Not asked of a recipe that names more than half of
 * all keys, as a run's config.ini does, of an earlier version too, which names those that there
 * were. */
#ifndef GSA_IDLE_H
#define GSA_IDLE_H
#include "train/settings/recipe.h"

/* file:line, the key, and the other key with what it would have to be. */
gsa_status gsa_idle_check(const gsa_recipe *recipe, gsa_error *error);
/* Of rule 0, 1, ...: its key, the other key ("data.format"), and the other's values with blanks
 * around each, or in brackets what it must be; 0: there are no more. */
int gsa_idle_rule(int rule, const char **key, const char **other, const char **values);

#endif
