#include "train/settings/idle.h"
#include <stdio.h>
#include <string.h>
#include "topologies/words.h"

enum { NAME = 128, LIST = 256, ANY = -1 };
static const char SET[] = "(set)", UNSET[] = "(not set)", POSITIVE[] = "(positive)",
                  SEVERAL[] = "(several)";

/* A key other than its default, of `choice` where there is one, does something only where `other`
 * is one of `values`. */
static const struct {
    int64_t task;                              /* gsa_task_name, or ANY */
    const char *key, *choice, *other, *values; /* values: blanks around each */
} rules[] = {
    { ANY, "model.position_max", NULL, "model.position", " learned " },
    { ANY, "model.position_base", NULL, "model.position", " sinusoid " },
    { ANY, "model.init_scale", NULL, "model.init", " normal uniform " },
    { ANY, "model.character_hidden", NULL, "model.characters", SET },
    { ANY, "model.character_heads", NULL, "model.characters", SET },
    { ANY, "model.character_max", NULL, "model.characters", SET },
    { ANY, "model.character_dropout", NULL, "model.characters", SET },
    { ANY, "train.momentum", NULL, "train.optimizer", " sgd " },
    { ANY, "train.beta1", NULL, "train.optimizer", " adam adamw " },
    { ANY, "train.beta2", NULL, "train.optimizer", " adam adamw " },
    { ANY, "train.eps", NULL, "train.optimizer", " adam adamw " },
    { ANY, "train.hold", NULL, "train.schedule", " hold_linear " },
    { ANY, "train.final", NULL, "train.schedule", " linear cosine hold_linear " },
    { ANY, "data.columns", NULL, "data.format", " auto tsv csv json " },
    { ANY, "data.header", NULL, "data.format", " auto tsv fasttext sst stsa csv " },
    { ANY, "data.subtrees", NULL, "data.format", " auto sst " },
    { ANY, "data.phrase_min", NULL, "data.subtrees", " 1 " },
    { ANY, "data.min_count", NULL, "data.tokens", " words chars punctuated " },
    { ANY, "data.max_words", NULL, "data.tokens", " words chars " },
    { ANY, "data.vocabulary", "vectors", "data.vectors", SET },
    { ANY, "data.hold", NULL, "data.dev", UNSET },
    { ANY, "data.stratify", NULL, "data.hold", POSITIVE },
    { ANY, "data.columns", NULL, "data.source", UNSET },
    { ANY, "data.bpe", NULL, "data.bpe_codes", UNSET },
    { GSA_TASK_SPAN_EXTRACTION, "data.stride", NULL, "data.window", POSITIVE },
    { GSA_TASK_TRANSLATION, "decode.coverage", NULL, "decode.beam", SEVERAL },
};

static int count_rules(void)
{
    return (int)(sizeof rules / sizeof *rules);
}

int gsa_idle_rule(int rule, const char **key, const char **other, const char **values)
{
    if (rule < 0 || rule >= count_rules()) return 0;
    *key = rules[rule].key, *other = rules[rule].other, *values = rules[rule].values;
    return 1;
}

/* As in gsa_recipe_keys(). */
static int index_of(const char *name)
{
    int count;
    const gsa_key *keys = gsa_recipe_keys(&count);
    const size_t section = strcspn(name, ".");
    for (int i = 0; i < count; i++)
        if (strncmp(keys[i].section, name, section) == 0 && keys[i].section[section] == 0 &&
            strcmp(keys[i].name, name + section + 1) == 0)
            return i;
    return -1;
}

static int serves(const char *values, const char *value)
{
    char spaced[NAME];
    const int set = *value && strcmp(value, "none") != 0;
    if (values == POSITIVE) return *value != '0';
    if (values == SEVERAL) return strcmp(value, "1") != 0;
    if (values == SET || values == UNSET) return set == (values == SET);
    snprintf(spaced, sizeof spaced, " %s ", value);
    return strstr(values, spaced) != NULL;
}

/* "it is for train.schedule = linear, cosine or hold_linear" */
static void advise(const char *values, const char *other, char *out, size_t size)
{
    if (values == SET || values == UNSET || values == POSITIVE || values == SEVERAL) {
        snprintf(out, size, "%s must %s", other,
                 values == SET        ? "be set"
                 : values == UNSET    ? "not be set"
                 : values == POSITIVE ? "be more than 0"
                                      : "be more than 1");
        return;
    }
    size_t used = (size_t)snprintf(out, size, "it is for %s = ", other);
    for (const char *at = values + 1, *end; *at && used < size; at = end + 1) {
        end = strchr(at, ' ');
        const char *after = end[1] == 0 ? "" : strchr(end + 1, ' ')[1] == 0 ? " or " : ", ";
        used += (size_t)snprintf(out + used, size - used, "%.*s%s", (int)(end - at), at, after);
    }
}

static gsa_status refuse(const gsa_recipe *recipe, const gsa_key *key, const char *value,
                         const char *other, const char *given, const char *values, gsa_error *error)
{
    char advice[LIST], shown[GSA_SHOWN];
    advise(values, other, advice, sizeof advice);
    return gsa_recipe_fail(
        recipe, key->section, key->name, error, "= %.100s does nothing with %s %s%s: %s", value,
        other, *given ? "= " : "not set", *given ? gsa_word_show(given, shown) : "", advice);
}

static int is_override(const gsa_recipe *recipe, const gsa_key *key)
{
    const gsa_ini_entry *entry = gsa_ini_find(&recipe->ini, key->section, key->name);
    return entry && entry->line == 0;
}

/* A run's config.ini names every key that there was when it was written: to name one there is to
 * want nothing by it. */
static int names_most_keys(const gsa_recipe *recipe)
{
    int count, named = 0;
    const gsa_key *keys = gsa_recipe_keys(&count);
    for (int i = 0; i < count; i++)
        named += gsa_ini_find(&recipe->ini, keys[i].section, keys[i].name) != NULL;
    return named > count / 2;
}

gsa_status gsa_idle_check(const gsa_recipe *recipe, gsa_error *error)
{
    const gsa_key *keys = gsa_recipe_keys(NULL);
    if (names_most_keys(recipe)) return GSA_OK;
    for (int i = 0; i < count_rules(); i++) {
        char number[2][64];
        const int key = index_of(rules[i].key), other = index_of(rules[i].other);
        const char *value = gsa_recipe_text(recipe, key, number[0], sizeof number[0]);
        const char *given = gsa_recipe_text(recipe, other, number[1], sizeof number[1]);
        if (rules[i].task != ANY && rules[i].task != recipe->values.task_name) continue;
        if (gsa_recipe_is_default(recipe, key) ||
            (rules[i].choice && strcmp(rules[i].choice, value) != 0))
            continue;
        if (serves(rules[i].values, given) || is_override(recipe, &keys[other])) continue;
        return refuse(recipe, &keys[key], value, rules[i].other, given, rules[i].values, error);
    }
    return GSA_OK;
}
