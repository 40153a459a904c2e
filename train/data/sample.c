#include "train/data/sample.h"
#include <string.h>
#include "train/batches.h"

enum { TRAIN, DEV, TEST }; /* gsa_split */

void gsa_sample_of(const gsa_recipe_values *v, int split, const char **path, gsa_sample *part)
{
    const char *const paths[] = { v->data_train, v->data_dev, v->data_test };
    const int64_t held = *v->data_dev ? 0 : v->data_hold;
    *path = paths[split], *part = (gsa_sample){ 0 };
    if (split == TEST) part->count = v->data_test_part;
    if (split == TRAIN) *part = (gsa_sample){ held, v->data_train_part, held };
    if (split == DEV && held > 0) *path = paths[TRAIN], *part = (gsa_sample){ 0, held, held };
}

gsa_status gsa_sample_check(const gsa_recipe *recipe, gsa_error *error)
{
    const gsa_recipe_values *v = &recipe->values;
    if (*v->data_dev || v->data_hold == 0) return GSA_OK;
    if (v->data_subtrees)
        return gsa_recipe_fail(recipe, "data", "hold", error,
                               "= %lld and subtrees = 1 exclude each other: phrases of the sentences that are held out "
                               "would be trained on",
                               (long long)v->data_hold);
    if (strcmp(v->data_train, "-") != 0) return GSA_OK;
    return gsa_recipe_fail(recipe, "data", "hold", error, "= %lld reads train twice, and standard input can be read once",
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

gsa_status gsa_sample_take(const gsa_sample *part, gsa_text *const *texts, int count, gsa_error *error)
{
    const gsa_text *text = texts[0];
    const int64_t n = text->examples, end = part->count > 0 ? part->first + part->count : n;
    if (part->first == 0 && end >= n && part->held == 0) return GSA_OK;
    if (part->held >= n)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "%s: data.hold is %lld, of %lld examples: none is left to train on",
                        text->path, (long long)part->held, (long long)n);
    gsa_keyed *keyed = gsa_alloc(text->system, (size_t)n, sizeof *keyed);
    uint8_t *drop = gsa_alloc_zero(text->system, (size_t)n, 1);
    const int whole = keyed && drop;
    for (int64_t e = 0; e < n && whole; e++) keyed[e] = (gsa_keyed){ gsa_random(0, (uint64_t)e, 0), e };
    if (whole) gsa_sort_keyed(keyed, n);
    for (int64_t i = 0; i < n && whole; i++) drop[keyed[i].value] = i < part->first || i >= end;
    for (int t = 0; t < count && whole; t++) gsa_text_compact(texts[t], drop);
    gsa_release(text->system, keyed);
    gsa_release(text->system, drop);
    return whole ? GSA_OK : gsa_out_of_memory(error, text->path, n * 17);
}
