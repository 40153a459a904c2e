#include "train/settings/applies.h"
#include <stdio.h>
#include <string.h>
#include "topologies/param.h"

enum {
    SUMMATION = 1 << GSA_TASK_MASKED_SUMMATION,
    TEXTS = 1 << GSA_TASK_TEXT_CLASSIFICATION,
    PAIRS = 1 << GSA_TASK_SENTENCE_PAIRS,
    NODES = 1 << GSA_TASK_NODE_CLASSIFICATION,
    TAGGING = 1 << GSA_TASK_TAGGING,
    SPANS = 1 << GSA_TASK_SPAN_EXTRACTION,
    LANGUAGE = 1 << GSA_TASK_LANGUAGE_MODELLING,
    TRANSLATION = 1 << GSA_TASK_TRANSLATION,
    WORDS = TEXTS | PAIRS | TAGGING | SPANS /* wordbook.h */
};
enum { PLACE = 512, LIST = 512, VALUE = 128 };

/* Keys that some tasks alone read. What is nowhere here is read by all: the model, the
 * optimiser, the batches. */
static const struct {
    uint32_t tasks;
    const char *keys; /* blanks around each */
} readers[] = {
    { SUMMATION, " task.n task.k task.d task.train task.dev task.test " },
    { TEXTS, " data.escapes data.subtrees data.phrase_min data.unique " },
    { PAIRS, " task.features " },
    { NODES, " data.features data.normalize " },
    { TAGGING, " task.head task.legal task.scheme model.characters model.character_hidden "
               "model.character_heads"
               " model.character_max model.character_dropout data.word data.tag data.side "
               "data.scheme data.zero_digits "
               "data.capitals " },
    { SPANS, " task.scorer task.match data.answer_max " },
    { LANGUAGE, " task.aux data.split data.context data.max_words " },
    { TRANSLATION, " model.decoder data.source data.target data.bpe data.bpe_codes data.documents"
                   " data.previous data.previous_tokens decode.beam decode.alpha decode.penalty "
                   "decode.coverage " },
    { TEXTS | PAIRS,
      " data.header data.markup data.empty data.stratify data.train_part data.test_part " },
    { TEXTS | PAIRS | TAGGING | TRANSLATION, " data.hold " },
    { TEXTS | PAIRS | TAGGING, " data.format " },
    { TEXTS | PAIRS | NODES | TAGGING, " data.classes data.encoding " },
    { TEXTS | PAIRS | NODES | TRANSLATION, " data.columns " },
    { TEXTS | PAIRS | SPANS | TRANSLATION, " data.max_length " },
    { WORDS, " data.vocabulary data.vectors data.vectors_frozen data.vectors_normalize " },
    { WORDS | TRANSLATION, " data.lower " },
    { WORDS | LANGUAGE | TRANSLATION,
      " data.dev data.test data.tokens data.min_count model.embedding model.embedding_std " },
    { WORDS | LANGUAGE | TRANSLATION | NODES, " data.train " },
    { SPANS | LANGUAGE, " data.window data.stride " },
    { LANGUAGE | TRANSLATION, " model.tied train.label_smoothing " },
};

/* Choices that some of a key's tasks alone read. */
static const struct {
    uint32_t tasks;
    const char *key, *choices; /* blanks around each */
} choice_readers[] = {
    { TEXTS | PAIRS, " data.format ", " tsv csv json " },
    { TEXTS, " data.format ", " fasttext sst stsa " },
    { PAIRS, " data.format ", " snli " },
    { TAGGING, " data.format ", " conll conllu chars " },
    { LANGUAGE, " data.tokens ", " bytes " },
    { TEXTS | PAIRS | TAGGING | TRANSLATION, " data.tokens ", " punctuated " },
};

static void spaced(char out[VALUE], const gsa_key *key)
{
    snprintf(out, VALUE, " %s.%s ", key->section, key->name);
}

uint32_t gsa_key_tasks(int index)
{
    char name[VALUE];
    spaced(name, &gsa_recipe_keys(NULL)[index]);
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        if (strstr(readers[i].keys, name)) return readers[i].tasks;
    return GSA_ALL_TASKS;
}

int gsa_applies_keys(void)
{
    int count = 0;
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        for (const char *at = readers[i].keys; *at; at++) count += *at == '.';
    return count;
}

static uint32_t choice_tasks(const gsa_key *key, const char *value)
{
    char name[VALUE], choice[VALUE];
    spaced(name, key);
    snprintf(choice, sizeof choice, " %s ", value);
    for (size_t i = 0; i < sizeof choice_readers / sizeof *choice_readers; i++)
        if (strcmp(choice_readers[i].key, name) == 0 && strstr(choice_readers[i].choices, choice))
            return choice_readers[i].tasks;
    return GSA_ALL_TASKS;
}

/* The task's name: a choice of the first key. */
static gsa_slice task_name(int64_t task)
{
    const char *at = gsa_recipe_keys(NULL)[0].choices;
    for (; task > 0; task--) at = strchr(at, ',') + 1;
    return (gsa_slice){ at, (int64_t)strcspn(at, ",") };
}

/* "tagging, span_extraction and translation" */
static void list_tasks(uint32_t tasks, char *out, size_t size)
{
    size_t used = 0;
    *out = 0;
    for (int t = 0; t < GSA_TASKS && used < size; t++) {
        if (!(tasks >> t & 1)) continue;
        const gsa_slice name = task_name(t);
        const char *before = used == 0 ? "" : tasks >> (t + 1) ? ", " : " and ";
        used +=
            (size_t)snprintf(out + used, size - used, "%s%.*s", before, (int)name.bytes, name.at);
    }
}

void gsa_tasks_text(uint32_t tasks, char *out, size_t size)
{
    int count = 0;
    for (int t = 0; t < GSA_TASKS; t++) count += tasks >> t & 1;
    const int most = 2 * count > GSA_TASKS + 1;
    const int used = most ? snprintf(out, size, count < GSA_TASKS ? "all but " : "all") : 0;
    if (count < GSA_TASKS)
        list_tasks(most ? GSA_ALL_TASKS & ~tasks : tasks, out + used, size - (size_t)used);
}

static gsa_status refuse(const gsa_recipe *recipe, const gsa_key *key, const char *value,
                         uint32_t tasks, gsa_error *error)
{
    char place[PLACE], list[LIST];
    const gsa_slice task = task_name(recipe->values.task_name);
    gsa_recipe_place(recipe, key->section, key->name, place, sizeof place);
    gsa_tasks_text(tasks, list, sizeof list);
    return gsa_fail(error, GSA_ERR_FORMAT,
                    "%s: [%s] %s = %.100s is not for task %.*s: it is read by %s", place,
                    key->section, key->name, value, (int)task.bytes, task.at, list);
}

gsa_status gsa_applies_check(const gsa_recipe *recipe, gsa_error *error)
{
    int count;
    const gsa_key *keys = gsa_recipe_keys(&count);
    const uint32_t own = 1u << recipe->values.task_name;
    gsa_status status = GSA_OK;
    if (own == 1u << GSA_TASK_PLUGGED) return GSA_OK; /* gsa_applies_plugged, once it is loaded */
    for (int i = 0; i < count && status == GSA_OK; i++) {
        char number[64];
        const char *value = gsa_recipe_text(recipe, i, number, sizeof number);
        const uint32_t tasks = gsa_key_tasks(i) & choice_tasks(&keys[i], value);
        if (!(tasks & own) && !gsa_recipe_is_default(recipe, i))
            status = refuse(recipe, &keys[i], value, tasks, error);
    }
    return status;
}

gsa_status gsa_applies_plugged(const gsa_recipe *recipe, const char *own, gsa_error *error)
{
    int count;
    const gsa_key *keys = gsa_recipe_keys(&count);
    for (int i = 0; i < count; i++) {
        char name[VALUE], number[64];
        const char *value = gsa_recipe_text(recipe, i, number, sizeof number);
        spaced(name, &keys[i]);
        if (gsa_key_tasks(i) != GSA_ALL_TASKS && !(own && strstr(own, name)) &&
            !gsa_recipe_is_default(recipe, i))
            return gsa_recipe_fail(recipe, keys[i].section, keys[i].name, error,
                                   "= %.100s is not for task %s, which reads%s%s", value,
                                   gsa_recipe_task(recipe), own ? own : " no key of its own",
                                   own ? "beside those of all tasks" : "");
    }
    return GSA_OK;
}
