/* span_score.c - precision, recall and F1 of spans: conlleval's count over tags, or equal spans in
 * strict. */
#include <string.h>
#include "train/data/plain.h"
#include "train/score/spans.h"
#include "train/data/text.h"

static gsa_span_counts *counts_of(gsa_span_score *score, gsa_slice type, gsa_error *error)
{
    for (int64_t i = 0; i < score->types; i++)
        if (gsa_slice_compare(score->type[i].type, type) == 0) return &score->type[i];
    if (score->types == score->type_room) {
        const int64_t room = 2 * score->type_room + 16;
        gsa_span_counts *larger =
            gsa_resize(score->system, score->type, (size_t)room, sizeof *larger);
        if (!larger) {
            gsa_out_of_memory(error, "span types", room * (int64_t)sizeof *larger);
            return NULL;
        }
        score->type = larger, score->type_room = room;
    }
    score->type[score->types] = (gsa_span_counts){ .type = type };
    return &score->type[score->types++];
}

enum event { GOLD, FOUND, RIGHT };

static gsa_status count(gsa_span_score *score, int event, gsa_slice type, gsa_error *error)
{
    gsa_span_counts *one = counts_of(score, type, error), *both[2] = { one, &score->all };
    if (!one) return GSA_ERR_MEMORY;
    for (int i = 0; i < 2; i++) {
        both[i]->gold += event == GOLD;
        both[i]->found += event == FOUND;
        both[i]->right += event == RIGHT;
    }
    return GSA_OK;
}

/* ---- lenient ------------------------------------------------------------------------------- */

typedef struct pair { /* of a token */
    gsa_tag gold, found;
} pair;

/* A span counts as right when both sides start it at once and with one type, and end it at once. */
static gsa_status step(gsa_span_score *score, const pair *before, const pair *is, gsa_error *error)
{
    const int ends_gold = gsa_tag_ends(before->gold, is->gold),
              ends_found = gsa_tag_ends(before->found, is->found);
    const int starts_gold = gsa_tag_starts(before->gold, is->gold),
              starts_found = gsa_tag_starts(before->found, is->found);
    const int alike = gsa_slice_compare(is->gold.type, is->found.type) == 0;
    gsa_status status = GSA_OK;
    if (score->inside && ends_gold && ends_found &&
        gsa_slice_compare(before->gold.type, before->found.type) == 0) {
        score->inside = 0;
        status = count(score, RIGHT, before->gold.type, error);
    } else if (score->inside && (ends_gold != ends_found || !alike)) score->inside = 0;
    if (starts_gold && starts_found && alike) score->inside = 1;
    if (status == GSA_OK && starts_gold) status = count(score, GOLD, is->gold.type, error);
    if (status == GSA_OK && starts_found) status = count(score, FOUND, is->found.type, error);
    return status;
}

static gsa_status add_lenient(gsa_span_score *score, const gsa_slice *gold, const gsa_slice *found,
                              int64_t tokens, gsa_error *error)
{
    const gsa_tag outside = gsa_tag_of((gsa_slice){ "O", 1 });
    pair before = { outside, outside };
    gsa_status status = GSA_OK;
    for (int64_t t = 0; t <= tokens && status == GSA_OK; t++) {
        const pair is = t < tokens ? (pair){ gsa_tag_of(gold[t]), gsa_tag_of(found[t]) }
                                   : (pair){ outside, outside };
        status = step(score, &before, &is, error);
        before = is;
    }
    return status;
}

/* ---- strict -------------------------------------------------------------------------------- */

static gsa_status room_for(gsa_span_score *score, int64_t spans, gsa_error *error)
{
    if (spans <= score->span_room) return GSA_OK;
    gsa_span *larger = gsa_resize(score->system, score->span, (size_t)spans, sizeof *larger);
    if (!larger) return gsa_out_of_memory(error, "spans", spans * (int64_t)sizeof *larger);
    score->span = larger, score->span_room = spans;
    return GSA_OK;
}

static gsa_status add_strict(gsa_span_score *score, const gsa_slice *gold, const gsa_slice *found,
                             int64_t tokens, gsa_error *error)
{
    gsa_status status = room_for(score, 2 * tokens, error);
    if (status != GSA_OK || tokens == 0) return status;
    gsa_span *a = score->span, *b = a + tokens;
    const int64_t as = gsa_spans_strict(score->gold_scheme, gold, tokens, a),
                  bs = gsa_spans_strict(score->found_scheme, found, tokens, b);
    for (int64_t i = 0; i < as && status == GSA_OK; i++)
        status = count(score, GOLD, a[i].type, error);
    for (int64_t i = 0; i < bs && status == GSA_OK; i++)
        status = count(score, FOUND, b[i].type, error);
    for (int64_t i = 0, j = 0; i < as && j < bs && status == GSA_OK;) {
        if (a[i].first == b[j].first && a[i].last == b[j].last &&
            gsa_slice_compare(a[i].type, b[j].type) == 0)
            status = count(score, RIGHT, a[i].type, error);
        if (a[i].first <= b[j].first) i++;
        else j++;
    }
    return status;
}

gsa_status gsa_span_score_add(gsa_span_score *score, const gsa_slice *gold, const gsa_slice *found,
                              int64_t tokens, gsa_error *error)
{
    for (int64_t t = 0; t < tokens; t++) {
        const pair is = { gsa_tag_of(gold[t]), gsa_tag_of(found[t]) };
        score->tokens++;
        score->right_tokens += gsa_slice_compare(is.gold.prefix, is.found.prefix) == 0 &&
                               gsa_slice_compare(is.gold.type, is.found.type) == 0;
    }
    return (score->strict ? add_strict : add_lenient)(score, gold, found, tokens, error);
}

void gsa_span_score_finish(gsa_span_score *score)
{
    for (int64_t i = 0; i < score->types && score->inside; i++)
        score->type[i].right += score->type[i].type.bytes == 0;
    score->all.right += score->inside;
    score->inside = 0;
}

void gsa_span_score_release(gsa_span_score *score)
{
    gsa_release(score->system, score->type);
    gsa_release(score->system, score->span);
    *score = (gsa_span_score){ 0 };
}

/* ---- the report ---------------------------------------------------------------------------- */

static double percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

gsa_span_rates gsa_span_rates_of(const gsa_span_counts *counts)
{
    gsa_span_rates rates = { .precision = percent(counts->right, counts->found),
                             .recall = percent(counts->right, counts->gold) };
    const double sum = rates.precision + rates.recall;
    rates.f1 = sum > 0 ? 2 * rates.precision * rates.recall / sum : 0;
    return rates;
}

void gsa_span_sort(gsa_span_score *score)
{
    for (int64_t i = 1; i < score->types; i++)
        for (int64_t j = i;
             j > 0 && gsa_slice_compare(score->type[j - 1].type, score->type[j].type) > 0; j--) {
            const gsa_span_counts kept = score->type[j];
            score->type[j] = score->type[j - 1], score->type[j - 1] = kept;
        }
}

void gsa_span_report(gsa_span_score *score, gsa_output *output)
{
    const gsa_plain plain = gsa_plain_begin();
    const gsa_span_rates all = gsa_span_rates_of(&score->all);
    gsa_output_format(
        output, "processed %lld tokens with %lld phrases; found: %lld phrases; correct: %lld.\n",
        (long long)score->tokens, (long long)score->all.gold, (long long)score->all.found,
        (long long)score->all.right);
    if (score->tokens > 0)
        gsa_output_format(
            output, "accuracy: %6.2f%%; precision: %6.2f%%; recall: %6.2f%%; FB1: %6.2f\n",
            percent(score->right_tokens, score->tokens), all.precision, all.recall, all.f1);
    gsa_span_sort(score);
    for (int64_t i = 0; i < score->types; i++) {
        const gsa_span_counts *type = &score->type[i];
        const gsa_span_rates rates = gsa_span_rates_of(type);
        for (int64_t blanks = type->type.bytes; blanks < 17; blanks++) gsa_output_text(output, " ");
        gsa_output_write(output, type->type.at, type->type.bytes);
        gsa_output_format(output, ": precision: %6.2f%%; recall: %6.2f%%; FB1: %6.2f  %lld\n",
                          rates.precision, rates.recall, rates.f1, (long long)type->found);
    }
    gsa_plain_end(plain);
}
