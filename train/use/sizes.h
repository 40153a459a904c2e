/* sizes.h - what a model's recipe asks for that its files do not pay for: a model that is not
 * trusted gets so much of it, the user's own --set any amount that a recipe takes. */
#ifndef GSA_SIZES_H
#define GSA_SIZES_H
#include "train/settings/recipe.h"

/* GSA_ERR_FORMAT with the key, what it asks for and the most of it. */
gsa_status gsa_sizes_check(const gsa_recipe *recipe, gsa_error *error);

#endif
