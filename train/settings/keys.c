#include "train/settings/keys.h"
#include "train/driver.h"

static const gsa_key keys[] = {
#define KEY(section, name, type, low, high, choices, fallback, doc)                                \
    { #section, #name, GSA_##type, 0, low, high, choices, fallback, doc },
    GSA_RECIPE_KEYS(KEY)
#undef KEY
};

static const size_t offsets[] = {
#define KEY(section, name, type, low, high, choices, fallback, doc)                                \
    offsetof(gsa_recipe_values, section##_##name),
    GSA_RECIPE_KEYS(KEY)
#undef KEY
};

const gsa_key *gsa_recipe_keys(int *count)
{
    if (count) *count = (int)(sizeof keys / sizeof *keys);
    return keys;
}

size_t gsa_key_offset(int index)
{
    return offsets[index];
}
