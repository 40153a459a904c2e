#include "train/score/survey.h"
#include <math.h>
#include <string.h>

gsa_status gsa_survey_open(gsa_survey *survey, int64_t rows, int32_t width, gsa_error *error)
{
    gsa_survey *s = survey;
    int64_t numbers;
    s->rows = rows, s->width = width;
    if (!gsa_mul(rows, width > 0 ? width : 1, &numbers))
        return gsa_fail(error, GSA_ERR_LIMIT, "a report of %lld rows is too large",
                        (long long)rows);
    if (width > 0) s->value = gsa_alloc_zero(s->system, (size_t)numbers, sizeof *s->value);
    else s->found = gsa_alloc_zero(s->system, (size_t)rows, sizeof *s->found);
    s->text_at = gsa_alloc(s->system, (size_t)rows, sizeof *s->text_at);
    if ((!s->value && !s->found) || !s->text_at)
        return gsa_out_of_memory(error, "a report", numbers * (int64_t)sizeof *s->found);
    for (int64_t i = 0; i < rows; i++) s->text_at[i] = -1;
    for (int64_t i = 0; i < rows && s->found; i++) s->found[i].gold = -1;
    return GSA_OK;
}

void gsa_survey_release(gsa_survey *survey)
{
    if (!survey->system) return;
    gsa_release(survey->system, survey->found);
    gsa_release(survey->system, survey->value);
    gsa_release(survey->system, survey->text);
    gsa_release(survey->system, survey->text_at);
    *survey = (gsa_survey){ 0 };
}

gsa_status gsa_survey_text(gsa_survey *survey, int64_t row, gsa_slice text, gsa_error *error)
{
    gsa_survey *s = survey;
    if (s->bytes + text.bytes + 1 > s->room) {
        const int64_t room = 2 * (s->bytes + text.bytes) + 1024;
        char *larger = gsa_resize(s->system, s->text, (size_t)room, 1);
        if (!larger) return gsa_out_of_memory(error, "the texts of a report", room);
        s->text = larger, s->room = room;
    }
    if (text.bytes > 0) memcpy(s->text + s->bytes, text.at, (size_t)text.bytes);
    s->text_at[row] = s->bytes;
    s->bytes += text.bytes;
    s->text[s->bytes++] = 0;
    return GSA_OK;
}

gsa_found gsa_found_of(const double *out, int32_t classes, int32_t gold, int32_t label)
{
    gsa_found found = { .gold = gold, .label = 0 };
    double sum = 0;
    int32_t top = 0;
    for (int32_t c = 1; c < classes; c++)
        if (out[c] > out[top]) top = c;
    found.label = label >= 0 ? label : top;
    for (int32_t c = 0; c < classes; c++) sum += exp(out[c] - out[top]);
    found.confidence = exp(out[found.label] - out[top]) / sum;
    if (gold < 0) return found;
    found.nll = log(sum) - (out[gold] - out[top]); /* beside a large one it would be lost */
    for (int32_t c = 0; c < classes; c++) {
        const double off = exp(out[c] - out[top]) / sum - (c == gold);
        found.brier += off * off;
        found.rank += out[c] > out[gold] || (c < gold && out[c] == out[gold]);
    }
    return found;
}
