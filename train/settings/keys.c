#include "train/settings/keys.h"
#include <string.h>
#include "train/driver.h"

enum {
    SUMMATION = 1 << GSA_TASK_MASKED_SUMMATION,
    TEXTS = 1 << GSA_TASK_TEXT_CLASSIFICATION,
    PAIRS = 1 << GSA_TASK_SENTENCE_PAIRS,
    NODES = 1 << GSA_TASK_NODE_CLASSIFICATION,
    TAGGING = 1 << GSA_TASK_TAGGING,
    SPANS = 1 << GSA_TASK_SPAN_EXTRACTION,
    LANGUAGE = 1 << GSA_TASK_LANGUAGE_MODELLING,
    TRANSLATION = 1 << GSA_TASK_TRANSLATION,
    WORDS = TEXTS | PAIRS | TAGGING | SPANS, /* wordbook.h */
    ALL = GSA_ALL_TASKS
};
#define SET                GSA_MUST_BE_SET
#define UNSET              GSA_MUST_NOT_BE_SET
#define POSITIVE           GSA_MUST_BE_POSITIVE
#define SEVERAL            GSA_MUST_BE_SEVERAL
#define RANGE(least, most) .low = least, .high = most
#define WITH(...)          .with = { { __VA_ARGS__ } }

static const gsa_key keys[] = {
#define KEY(in, of, kind, tasks, usual, ...)                                                       \
    { .section = #in,                                                                              \
      .name = #of,                                                                                 \
      .type = GSA_##kind,                                                                          \
      .readers = tasks,                                                                            \
      .fallback = usual,                                                                           \
      .doc = __VA_ARGS__ },
#include "train/settings/keys_table.h"
#undef KEY
};

static const size_t offsets[] = {
#define KEY(section, name, ...) offsetof(gsa_recipe_values, section##_##name),
#include "train/settings/keys_table.h"
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

int gsa_key_find(const char *name)
{
    const size_t section = strcspn(name, ".");
    for (int i = 0; i < (int)(sizeof keys / sizeof *keys) && name[section]; i++)
        if (strncmp(keys[i].section, name, section) == 0 && !keys[i].section[section] &&
            strcmp(keys[i].name, name + section + 1) == 0)
            return i;
    return -1;
}
