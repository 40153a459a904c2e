/* keys.h - recipe keys (keys_table.h): the resolved values and the enums of choices. */
#ifndef GSA_KEYS_H
#define GSA_KEYS_H
#include <stddef.h>
#include <stdint.h>

/* The resolved values: one 8-byte member a key. */
typedef int64_t gsa_member_INT, gsa_member_BOOL, gsa_member_CHOICE;
typedef double gsa_member_REAL;
typedef const char *gsa_member_PATH;
typedef struct gsa_recipe_values {
#define KEY(section, name, type, readers, fallback, ...) gsa_member_##type section##_##name;
#include "train/settings/keys_table.h"
#undef KEY
} gsa_recipe_values;

/* The members' places: values + gsa_key_offset(index), index as in gsa_recipe_keys(). */
size_t gsa_key_offset(int index);
/* The index of "section.name"; -1: there is no such key. */
int gsa_key_find(const char *name);

/* What gsa_key.with asks of the other key, where it lists no values. */
#define GSA_MUST_BE_SET      "!be set"
#define GSA_MUST_NOT_BE_SET  "!not be set"
#define GSA_MUST_BE_POSITIVE "!be more than 0"
#define GSA_MUST_BE_SEVERAL  "!be more than 1"

/* Choices, in the order of the table. */
enum gsa_task_name {
    GSA_TASK_MASKED_SUMMATION,
    GSA_TASK_TEXT_CLASSIFICATION,
    GSA_TASK_SENTENCE_PAIRS,
    GSA_TASK_NODE_CLASSIFICATION,
    GSA_TASK_TAGGING,
    GSA_TASK_SPAN_EXTRACTION,
    GSA_TASK_LANGUAGE_MODELLING,
    GSA_TASK_TRANSLATION,
    GSA_TASKS,
    GSA_TASK_PLUGGED = GSA_TASKS, /* no choice of the table: a plugin brings it */
    GSA_ALL_TASKS = (1 << GSA_TASKS) - 1
};
enum gsa_tag_head { GSA_TAG_HEAD_LINEAR, GSA_TAG_HEAD_CRF };
enum gsa_features { GSA_FEATURES_DIFFERENCE, GSA_FEATURES_PRODUCT, GSA_FEATURES_BOTH };
enum gsa_train_split { GSA_SPLIT_EXAMPLES, GSA_SPLIT_ROWS };
enum gsa_select { GSA_SELECT_BEST, GSA_SELECT_LAST };
enum gsa_data_format {
    GSA_TEXT_AUTO,
    GSA_TEXT_TSV,
    GSA_TEXT_FASTTEXT,
    GSA_TEXT_SST,
    GSA_TEXT_STSA,
    GSA_TEXT_SNLI,
    GSA_TEXT_CONLL,
    GSA_TEXT_CONLLU,
    GSA_TEXT_CHARS,
    GSA_TEXT_CSV,
    GSA_TEXT_JSON
};
enum gsa_data_escapes {
    GSA_ESCAPES_AUTO,
    GSA_ESCAPES_NONE,
    GSA_ESCAPES_BRACKETS,
    GSA_ESCAPES_TREEBANK
};
enum gsa_data_tokens {
    GSA_TOKENS_WORDS,
    GSA_TOKENS_CHARS,
    GSA_TOKENS_PUNCTUATED,
    GSA_TOKENS_BYTES
};
enum gsa_data_empty {
    GSA_EMPTY_REFUSE,
    GSA_EMPTY_SKIP,
    GSA_EMPTY_KEEP
}; /* KEEP is of parallel text, whose lines count: no choice */
enum gsa_scorer_kind { GSA_SCORER_SQUAD, GSA_SCORER_CMRC };
enum gsa_data_vocabulary { GSA_WORDS_TRAIN, GSA_WORDS_DATA, GSA_WORDS_VECTORS };

#endif
