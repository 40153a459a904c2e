#include "train/data/sample.h"
#include <stdio.h>
#include <string.h>
#include "train/driver/batches.h"

enum { TRAIN, DEV, TEST }; /* gsa_split */

void gsa_sample_of(const gsa_recipe_values *v, int split, const char **path, gsa_sample *part)
{
    const char *const paths[] = { v->data_train, v->data_dev, v->data_test };
    const int64_t held = *v->data_dev ? 0 : v->data_hold;
    *path = paths[split], *part = (gsa_sample){ 0 };
    if (split == TEST) part->count = v->data_test_part;
    if (split == TRAIN) *part = (gsa_sample){ held, v->data_train_part, held, 0, 0 };
    if (split == DEV && held > 0) *path = paths[TRAIN], *part = (gsa_sample){ 0, held, held, 0, 0 };
    part->stratify = (int32_t)v->data_stratify;
}

/* What needs all examples at once, or lines that are no examples. */
static gsa_status check_stream(const gsa_recipe *recipe, gsa_error *error)
{
    const gsa_recipe_values *v = &recipe->values;
    const struct {
        const char *name;
        int set;
    } all[] = { { "hold", !*v->data_dev && v->data_hold > 0 },
                { "train_part", v->data_train_part > 0 },
                { "unique", v->data_unique != 0 },
                { "format", v->data_format == GSA_TEXT_CSV },
                { "header", v->task_name == GSA_TASK_SENTENCE_PAIRS && v->data_header != 0 &&
                                !*v->data_columns },
                { "subtrees", v->data_subtrees != 0 } };
    char number[64];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char key[32];
        snprintf(key, sizeof key, "data.%s", all[i].name);
        if (v->data_stream == 0 || !all[i].set) continue;
        return gsa_recipe_fail(
            recipe, "data", all[i].name, error,
            "= %.100s: data.stream reads one line after the other and has no place for it",
            gsa_recipe_text(recipe, gsa_key_find(key), number, sizeof number));
    }
    return GSA_OK;
}

gsa_status gsa_sample_check(const gsa_recipe *recipe, gsa_error *error)
{
    const gsa_recipe_values *v = &recipe->values;
    const gsa_status status = check_stream(recipe, error);
    if (status != GSA_OK) return status;
    if (*v->data_dev || v->data_hold == 0) return GSA_OK;
    if (v->data_subtrees)
        return gsa_recipe_fail(recipe, "data", "hold", error,
                               "= %lld and subtrees = 1 exclude each other: phrases of the "
                               "sentences that are held out "
                               "would be trained on",
                               (long long)v->data_hold);
    if (v->data_documents)
        return gsa_recipe_fail(recipe, "data", "hold", error,
                               "= %lld and documents = 1 exclude each other: sentences would be "
                               "taken out of documents",
                               (long long)v->data_hold);
    if (strcmp(v->data_train, "-") != 0) return GSA_OK;
    return gsa_recipe_fail(recipe, "data", "hold", error,
                           "= %lld reads train twice, and standard input can be read once",
                           (long long)v->data_hold);
}

gsa_text_options gsa_sample_options(const gsa_recipe_values *v)
{
    return (gsa_text_options){ .format = (int32_t)v->data_format,
                               .header = (int32_t)v->data_header,
                               .subtrees = (int32_t)v->data_subtrees,
                               .phrase_min = (int32_t)v->data_phrase_min,
                               .lower = (int32_t)v->data_lower,
                               .tokens = (int32_t)v->data_tokens,
                               .max_length = (int32_t)v->data_max_length,
                               .encoding = (int32_t)v->data_encoding,
                               .markup = (int32_t)v->data_markup,
                               .escapes = (int32_t)v->data_escapes,
                               .empty = (int32_t)v->data_empty,
                               .columns = v->data_columns };
}

void gsa_text_compact(gsa_text *text, const uint8_t *drop)
{
    int64_t kept = 0, tokens = 0, first = 0;
    text->longest = 0;
    for (int64_t e = 0; e < text->examples; e++) {
        const int64_t last = text->offset[e + 1], count = last - first;
        if (!drop[e]) {
            memmove(text->token + tokens, text->token + first, (size_t)count * sizeof *text->token);
            text->label[kept] = text->label[e], text->line[kept] = text->line[e];
            tokens += count;
            text->offset[++kept] = tokens;
            if (count > text->longest) text->longest = (int32_t)count;
        }
        first = last;
    }
    text->examples = kept, text->tokens = tokens;
}

static uint64_t hash_of(gsa_slice label)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (int64_t i = 0; i < label.bytes; i++)
        h = (h ^ (unsigned char)label.at[i]) * UINT64_C(0x100000001b3);
    return h;
}

/* The examples that are held out get the lowest keys of the fixed order, which they keep among
 * themselves: of those that are in order of their labels, within a label in the fixed order,
 * every (pool / held)-th. So each label gives its share. */
static gsa_status stratify(const gsa_system *system, const gsa_sample *part, const char *path,
                           const gsa_slice *label, gsa_keyed *order, int64_t n, gsa_error *error)
{
    const uint64_t top = UINT64_C(1) << 63;
    gsa_keyed *by_label = gsa_alloc(system, (size_t)n, sizeof *by_label);
    int64_t pool = 0, sum = 0;
    if (!by_label) return gsa_out_of_memory(error, path, n * (int64_t)sizeof *by_label);
    for (int64_t i = 0; i < n; i++) by_label[i] = (gsa_keyed){ hash_of(label[order[i].value]), i };
    gsa_sort_keyed(by_label, n);
    for (int64_t i = 0; i < n; i++) {
        const int alone = (i == 0 || by_label[i - 1].key != by_label[i].key) &&
                          (i + 1 == n || by_label[i + 1].key != by_label[i].key);
        order[by_label[i].value].key = order[by_label[i].value].key >> 1 | top;
        if (!alone) by_label[pool++].value = by_label[i].value;
    }
    for (int64_t i = 0; i < pool && part->held < pool; i++) {
        sum += part->held;
        if (sum < pool) continue;
        sum -= pool;
        order[by_label[i].value].key &= ~top;
    }
    gsa_release(system, by_label);
    if (part->held < pool) gsa_sort_keyed(order, n);
    if (part->held < pool) return GSA_OK;
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "%s: data.hold is %lld, and %lld examples have a label that another one has: "
                    "data.stratify holds out "
                    "fewer than these",
                    path, (long long)part->held, (long long)pool);
}

gsa_status gsa_sample_choose(const gsa_system *system, const gsa_sample *part, const char *path,
                             const gsa_slice *label, int64_t n, uint8_t *drop, gsa_error *error)
{
    const int64_t end = part->count > 0 ? part->first + part->count : n;
    if (part->held >= n)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "%s: data.hold is %lld, of %lld examples: none is left to train on", path,
                        (long long)part->held, (long long)n);
    gsa_keyed *keyed = gsa_alloc(system, (size_t)n, sizeof *keyed);
    if (!keyed) return gsa_out_of_memory(error, path, n * (int64_t)sizeof *keyed);
    for (int64_t e = 0; e < n; e++) keyed[e] = (gsa_keyed){ gsa_random(0, (uint64_t)e, 0), e };
    gsa_sort_keyed(keyed, n);
    const int by_label = label && part->stratify && part->held > 0;
    const gsa_status status =
        by_label ? stratify(system, part, path, label, keyed, n, error) : GSA_OK;
    for (int64_t i = 0; i < n && status == GSA_OK; i++)
        drop[keyed[i].value] = i < part->first || i >= end;
    gsa_release(system, keyed);
    return status;
}

gsa_status gsa_sample_take(const gsa_sample *part, gsa_text *const *texts, int count,
                           gsa_error *error)
{
    const gsa_text *text = texts[0];
    const int64_t n = text->examples;
    if (part->first == 0 && (part->count == 0 || part->count >= n) && part->held == 0)
        return GSA_OK;
    uint8_t *drop = gsa_alloc_zero(text->system, (size_t)n, 1);
    if (!drop) return gsa_out_of_memory(error, text->path, n);
    const gsa_status status =
        gsa_sample_choose(text->system, part, text->path, text->label, n, drop, error);
    for (int t = 0; t < count && status == GSA_OK; t++) gsa_text_compact(texts[t], drop);
    gsa_release(text->system, drop);
    return status;
}
