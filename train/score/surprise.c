#include "train/score/surprise.h"
#include <math.h>
#include <string.h>
#include "train/driver/log.h"
#include "train/settings/keys.h"

enum { BANDS = 20, LINE = 5, SHOWN = 1024 };

typedef struct tally {
    int64_t count;
    double loss;
} tally;

static void add(tally *t, double loss)
{
    t->count++, t->loss += loss;
}

static json_t *tally_json(const tally *t)
{
    const double mean = t->loss / (double)t->count;
    json_t *object = json_object();
    json_object_set_new(object, "count", json_integer(t->count));
    json_object_set_new(object, "loss", gsa_json_number(mean));
    json_object_set_new(object, "perplexity", gsa_json_number(exp(mean)));
    return object;
}

/* 0: never; b: from 10^(b-1) up to 10^b - 1 times, the last one up to the largest count. */
static int band_of(int64_t count)
{
    int band = 0;
    for (; count > 0 && band + 1 < BANDS; count /= 10) band++;
    return band;
}

/* each[id]: of the text's tokens. */
static json_t *bands_json(const tally *each, const gsa_units *units)
{
    tally band[BANDS] = { { 0 } };
    const int own = units->kind == GSA_TOKENS_BYTES;
    json_t *list = json_array();
    for (int32_t i = 1; i < gsa_units_size(units); i++) {
        const int64_t trained = own ? each[i].count : gsa_vocabulary_count(units->vocabulary, i);
        tally *to = &band[i == GSA_WORD_UNKNOWN ? 0 : band_of(trained)];
        to->count += each[i].count, to->loss += each[i].loss;
    }
    int64_t from = 0, to = 0;
    for (int b = 0; b < BANDS; b++) {
        if (b > 0) from = to + 1, to = b + 1 < BANDS ? 10 * from - 1 : INT64_MAX;
        if (band[b].count == 0) continue;
        json_t *one = json_object();
        json_object_set_new(one, "from", json_integer(from));
        json_object_set_new(one, "to", json_integer(to));
        json_t *numbers = tally_json(&band[b]);
        json_object_update(one, numbers);
        json_decref(numbers);
        json_array_append_new(list, one);
    }
    return list;
}

static json_t *tokens_json(const tally *each, const gsa_units *units, double *key)
{
    int64_t row[GSA_REPORT_WORST];
    const int32_t size = gsa_units_size(units);
    json_t *list = json_array();
    for (int32_t i = 0; i < size; i++) key[i] = each[i].loss;
    const int64_t count = gsa_report_largest(key, size, 0, row, GSA_REPORT_WORST);
    for (int64_t i = 0; i < count; i++) {
        json_t *one = json_object(), *numbers = tally_json(&each[row[i]]);
        json_object_set_new(
            one, "token", gsa_json_slice(gsa_vocabulary_word(units->vocabulary, (int32_t)row[i])));
        json_object_set_new(one, "sum", gsa_json_number(each[row[i]].loss));
        json_object_update(one, numbers);
        json_decref(numbers);
        json_array_append_new(list, one);
    }
    return list;
}

/* ---- lines --------------------------------------------------------------------------------- */

/* The token that ends the line which `first` begins. */
static int64_t line_from(const gsa_units *units, const int32_t *id, int64_t rows, int64_t first)
{
    while (first + 1 < rows && (id[first] != units->line_end || units->line_end == 0)) first++;
    return first;
}

static json_t *text_json(const gsa_units *units, const int32_t *id, int64_t count)
{
    char text[SHOWN + 64], room[4];
    int64_t used = 0;
    const int words = units->kind == GSA_TOKENS_WORDS;
    for (int64_t i = 0; i < count && used < SHOWN; i++) {
        const gsa_slice token = gsa_units_text(units, id[i], room);
        const int64_t left = SHOWN + 32 - used, bytes = token.bytes < left ? token.bytes : left;
        if (words && i > 0) text[used++] = ' ';
        memcpy(text + used, token.at, (size_t)bytes);
        used += bytes;
    }
    return gsa_json_slice((gsa_slice){ text, used });
}

typedef struct line {
    int64_t first, tokens, number;
} line;

static int64_t list_lines(const gsa_survey *s, const gsa_units *units, const int32_t *id, line *at,
                          double *key)
{
    int64_t lines = 0, number = 0;
    for (int64_t i = 0, last; i < s->rows; i = last + 1) {
        double loss = 0;
        last = line_from(units, id, s->rows, i);
        number++;
        if (last + 1 - i < LINE) continue;
        for (int64_t k = i; k <= last; k++) loss += s->value[k];
        at[lines] = (line){ i, last + 1 - i, number };
        key[lines++] = loss / (double)(last + 1 - i);
    }
    return lines;
}

static gsa_status add_lines(const gsa_survey *s, const gsa_units *units, const int32_t *id,
                            json_t *object, gsa_error *error)
{
    int64_t row[GSA_REPORT_WORST];
    const int64_t most = s->rows / LINE + 1;
    line *at = gsa_alloc(s->system, (size_t)most, sizeof *at);
    double *key = gsa_alloc(s->system, (size_t)most, sizeof *key);
    gsa_status status =
        at && key ? GSA_OK : gsa_out_of_memory(error, "a report", most * (int64_t)(sizeof *at + 8));
    if (status == GSA_OK) {
        const int64_t lines = list_lines(s, units, id, at, key);
        const int64_t count = gsa_report_largest(key, lines, 0, row, GSA_REPORT_WORST);
        json_t *list = json_array();
        for (int64_t i = 0; i < count; i++) {
            const line *l = &at[row[i]];
            const int ends = units->line_end > 0 && id[l->first + l->tokens - 1] == units->line_end;
            json_t *one = json_object();
            json_object_set_new(one, "line", json_integer(l->number));
            json_object_set_new(one, "tokens", json_integer(l->tokens));
            json_object_set_new(one, "loss", gsa_json_number(key[row[i]]));
            json_object_set_new(one, "text", text_json(units, id + l->first, l->tokens - ends));
            json_array_append_new(list, one);
        }
        json_object_set_new(object, "worst_lines", list);
    }
    gsa_release(s->system, at);
    gsa_release(s->system, key);
    return status;
}

gsa_status gsa_report_surprises(const gsa_survey *survey, const gsa_units *units, const int32_t *id,
                                json_t *object, gsa_error *error)
{
    const gsa_survey *s = survey;
    const int32_t size = gsa_units_size(units);
    tally *each = gsa_alloc_zero(s->system, (size_t)size, sizeof *each), all = { 0 };
    double *key = gsa_alloc(s->system, (size_t)size, sizeof *key);
    gsa_status status =
        each && key ? GSA_OK : gsa_out_of_memory(error, "a report", size * INT64_C(24));
    for (int64_t i = 0; i < s->rows && status == GSA_OK; i++)
        add(&each[id[i]], s->value[i]), add(&all, s->value[i]);
    if (status == GSA_OK) {
        json_object_set_new(object, "all", tally_json(&all));
        json_object_set_new(object, "by_frequency", bands_json(each, units));
        json_object_set_new(object, "worst_tokens", tokens_json(each, units, key));
        status = add_lines(s, units, id, object, error);
    }
    gsa_release(s->system, each);
    gsa_release(s->system, key);
    return status;
}
