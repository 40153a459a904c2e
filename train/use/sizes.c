#include "train/use/sizes.h"

/* Sizes of weights are compared with the weights, those of batches with the data and the memory.
 * These are not: an example that is drawn costs nothing before, and a token that is in many
 * windows or hypotheses is computed as often. */
typedef struct wish {
    const char *section, *key, *what;
    double value, most;
    uint32_t tasks;
} wish;

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static gsa_status check(const gsa_recipe *recipe, const wish *w, gsa_error *error)
{
    const gsa_ini_entry *entry = gsa_ini_find(&recipe->ini, w->section, w->key);
    const int own = entry && entry->line == 0; /* --set */
    if (own || w->value <= w->most || !(w->tasks >> recipe->values.task_name & 1)) return GSA_OK;
    return gsa_recipe_fail(recipe, w->section, w->key, error,
                           "asks for %.6g %s, expected at most %.6g of a model that is not "
                           "trusted: --set %s.%s=N says another number",
                           w->value, w->what, w->most, w->section, w->key);
}

gsa_status gsa_sizes_check(const gsa_recipe *recipe, gsa_error *error)
{
    const gsa_recipe_values *v = &recipe->values;
    const double example = (double)v->task_n * (double)v->task_d,
                 window = v->data_window > 0 ? (double)v->data_window : 256,
                 stride = v->data_stride > 0 ? (double)v->data_stride : larger(window / 2, 1),
                 context = v->data_context < 0 ? window / 2 : (double)v->data_context;
    const uint32_t drawn = 1u << GSA_TASK_MASKED_SUMMATION, spans = 1u << GSA_TASK_SPAN_EXTRACTION,
                   language = 1u << GSA_TASK_LANGUAGE_MODELLING,
                   translation = 1u << GSA_TASK_TRANSLATION;
    const wish wishes[] = {
        { "task", "n", "numbers an example", example, 1e6, drawn },
        { "task", "dev", "numbers that are drawn", (double)v->task_dev * example, 1e7, drawn },
        { "task", "test", "numbers that are drawn", (double)v->task_test * example, 1e7, drawn },
        { "data", "stride", "windows with each token", window / stride, 64, spans },
        { "data", "context", "windows with each token", window / larger(window - context, 1), 64,
          language },
        { "data", "previous", "sentences before each", (double)v->data_previous, 16, translation },
        { "decode", "beam", "hypotheses", (double)v->decode_beam, 32, translation }
    };
    gsa_status status = GSA_OK;
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes && status == GSA_OK; i++)
        status = check(recipe, &wishes[i], error);
    return status;
}
