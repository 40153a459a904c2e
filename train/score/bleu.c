/* bleu.c - n-grams as slices: tokens are with one blank between two, characters with none, so
 * that an n-gram is a stretch of bytes. Slices are sorted and runs of equal ones counted. */
#include "train/score/bleu.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "train/data/blank.h"

/* Length first: cheaper, and any order does. */
static int by_bytes(const void *a, const void *b)
{
    const gsa_slice *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
    return memcmp(x->at, y->at, (size_t)x->bytes);
}

/* A sentence cut into units: tokens or characters. */
typedef struct units {
    char *text;
    gsa_slice *unit;
    gsa_slice *gram; /* room for as many */
    int64_t count;
} units;

static void units_release(const gsa_system *system, units *u)
{
    gsa_release(system, u->text);
    gsa_release(system, u->unit);
    gsa_release(system, u->gram);
}

static gsa_status units_room(const gsa_system *system, units *u, int64_t count, gsa_error *error)
{
    u->unit = gsa_alloc(system, (size_t)count, sizeof *u->unit);
    u->gram = gsa_alloc(system, (size_t)count, sizeof *u->gram);
    return u->unit && u->gram
               ? GSA_OK
               : gsa_out_of_memory(error, "n-grams", count * 2 * (int64_t)sizeof *u->unit);
}

static gsa_status cut_tokens(const gsa_system *system, gsa_slice sentence, int lower, units *u,
                             gsa_error *error)
{
    int64_t bytes = 0;
    *u = (units){ 0 };
    gsa_status status = gsa_bleu_tokens(system, sentence, lower, &u->text, &bytes, error);
    if (status == GSA_OK) status = units_room(system, u, bytes / 2 + 1, error);
    for (int64_t from = 0, to; status == GSA_OK && from < bytes; from = to + 1) {
        const char *blank = memchr(u->text + from, ' ', (size_t)(bytes - from));
        to = blank ? blank - u->text : bytes;
        u->unit[u->count++] = (gsa_slice){ u->text + from, to - from };
    }
    return status;
}

static gsa_status cut_characters(const gsa_system *system, gsa_slice sentence, int lower, units *u,
                                 gsa_error *error)
{
    int64_t bytes = sentence.bytes, used = 0;
    *u = (units){ 0 };
    gsa_status status = GSA_OK;
    if (lower) status = gsa_lower_text(system, sentence, &u->text, &bytes, error);
    else if (!(u->text = gsa_alloc(system, (size_t)bytes, 1)))
        status = gsa_out_of_memory(error, "a sentence", bytes);
    else if (bytes > 0) memcpy(u->text, sentence.at, (size_t)bytes);
    if (status == GSA_OK) status = units_room(system, u, bytes, error);
    for (int64_t i = 0; status == GSA_OK && i < bytes;) {
        int32_t length;
        const int blank = gsa_blank_at(u->text + i, bytes - i, &length);
        if (!blank) {
            memmove(u->text + used, u->text + i, (size_t)length);
            u->unit[u->count++] = (gsa_slice){ u->text + used, length };
            used += length;
        }
        i += length;
    }
    return status;
}

/* The n-grams in order; their number. */
static int64_t sort_grams(units *u, int n)
{
    const int64_t count = u->count >= n ? u->count - n + 1 : 0;
    for (int64_t i = 0; i < count; i++) {
        const gsa_slice *last = &u->unit[i + n - 1];
        u->gram[i] = (gsa_slice){ u->unit[i].at, last->at + last->bytes - u->unit[i].at };
    }
    if (count > 1) qsort(u->gram, (size_t)count, sizeof *u->gram, by_bytes);
    return count;
}

/* For each distinct gram of `a`: the smaller of its numbers in a and b, at most what *best holds
 * for it already stays. */
static void match_grams(const units *a, int64_t grams_a, const units *b, int64_t grams_b,
                        int64_t *best)
{
    for (int64_t i = 0, k = 0, end; i < grams_a; i = end) {
        int64_t found = 0;
        for (end = i + 1; end < grams_a && by_bytes(&a->gram[i], &a->gram[end]) == 0;) end++;
        while (k < grams_b && by_bytes(&b->gram[k], &a->gram[i]) < 0) k++;
        for (; k < grams_b && by_bytes(&b->gram[k], &a->gram[i]) == 0; k++) found++;
        if (found > end - i) found = end - i;
        if (found > best[i]) best[i] = found;
    }
}

static int64_t sum_of(const int64_t *x, int64_t count)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < count; i++) sum += x[i];
    return sum;
}

/* ---- BLEU ---------------------------------------------------------------------------------- */

static int64_t distance(int64_t a, int64_t b)
{
    return a < b ? b - a : a - b;
}

/* A gram counts as often as the reference that has it most often, so that each reference is matched
 * and the best kept. */
static void count_orders(units *own, units *reference, int references, int64_t *best,
                         gsa_bleu_counts *counts)
{
    for (int n = 1; n <= GSA_BLEU_ORDER; n++) {
        const int64_t grams = sort_grams(own, n);
        if (grams > 0) memset(best, 0, (size_t)grams * sizeof *best);
        for (int r = 0; r < references; r++)
            match_grams(own, grams, &reference[r], sort_grams(&reference[r], n), best);
        counts->right[n - 1] = sum_of(best, grams), counts->total[n - 1] = grams;
    }
}

gsa_status gsa_bleu_count(const gsa_system *system, gsa_slice translation,
                          const gsa_slice *reference, int references, int lower,
                          gsa_bleu_counts *counts, gsa_error *error)
{
    units own, *other = gsa_alloc_zero(system, (size_t)references, sizeof *other);
    *counts = (gsa_bleu_counts){ 0 };
    if (!other) return gsa_out_of_memory(error, "references", references * (int64_t)sizeof *other);
    gsa_status status = cut_tokens(system, translation, lower, &own, error);
    for (int r = 0; r < references && status == GSA_OK; r++) {
        status = cut_tokens(system, reference[r], lower, &other[r], error);
        const int64_t near = distance(own.count, other[r].count),
                      nearest = distance(own.count, counts->reference);
        if (r == 0 || near < nearest || (near == nearest && other[r].count < counts->reference))
            counts->reference = other[r].count;
    }
    int64_t *best = status == GSA_OK ? gsa_alloc(system, (size_t)own.count, sizeof *best) : NULL;
    if (status == GSA_OK && !best) status = gsa_out_of_memory(error, "n-grams", own.count * 8);
    counts->length = own.count;
    if (status == GSA_OK) count_orders(&own, other, references, best, counts);
    gsa_release(system, best);
    units_release(system, &own);
    for (int r = 0; r < references; r++) units_release(system, &other[r]);
    gsa_release(system, other);
    return status;
}

void gsa_bleu_add(gsa_bleu_counts *sum, const gsa_bleu_counts *counts)
{
    for (int n = 0; n < GSA_BLEU_ORDER; n++)
        sum->right[n] += counts->right[n], sum->total[n] += counts->total[n];
    sum->length += counts->length, sum->reference += counts->reference;
}

/* score = brevity exp(mean over n of log precision_n). The k-th order without a match counts as
 * 1/2^k of one; an order of which there are no n-grams at all makes the score 0. */
gsa_bleu gsa_bleu_score(const gsa_bleu_counts *sum)
{
    gsa_bleu bleu = { .brevity = 1 };
    double logs = 0, share = 1;
    if (sum->length == 0) bleu.brevity = sum->reference > 0 ? 0 : 1;
    else if (sum->length < sum->reference)
        bleu.brevity = exp(1 - (double)sum->reference / (double)sum->length);
    if (sum_of(sum->right, GSA_BLEU_ORDER) == 0) return bleu;
    for (int n = 0; n < GSA_BLEU_ORDER; n++) {
        if (sum->total[n] == 0) return bleu;
        if (sum->right[n] == 0) share /= 2;
        bleu.precision[n] =
            100 * (sum->right[n] > 0 ? (double)sum->right[n] : share) / (double)sum->total[n];
        logs += log(bleu.precision[n]);
    }
    bleu.score = bleu.brevity * exp(logs / GSA_BLEU_ORDER);
    return bleu;
}

double gsa_bleu_sentence(const gsa_bleu_counts *counts)
{
    double logs = 0, share = 1;
    int orders = 0;
    if (sum_of(counts->right, GSA_BLEU_ORDER) == 0) return 0;
    for (; orders < GSA_BLEU_ORDER && counts->total[orders] > 0; orders++) {
        const int64_t right = counts->right[orders];
        if (right == 0) share /= 2;
        logs += log(100 * (right > 0 ? (double)right : share) / (double)counts->total[orders]);
    }
    const double ratio = (double)counts->reference / (double)counts->length;
    return (ratio > 1 ? exp(1 - ratio) : 1) * exp(logs / orders);
}

void gsa_bleu_signature(int references, int lower, char *text, size_t size)
{
    snprintf(text, size, "nrefs:%d|case:%s|eff:no|tok:13a|smooth:exp|version:gsa-%s", references,
             lower ? "lc" : "mixed", GSA_VERSION);
}

/* ---- chrF ---------------------------------------------------------------------------------- */

static gsa_status chrf_pair(const gsa_system *system, units *own, units *other,
                            gsa_chrf_counts *counts, gsa_error *error)
{
    int64_t *best = gsa_alloc(system, (size_t)own->count, sizeof *best);
    if (!best) return gsa_out_of_memory(error, "n-grams", own->count * 8);
    for (int n = 0; n < GSA_CHRF_ORDER; n++) {
        const int64_t grams = sort_grams(own, n + 1), wanted = sort_grams(other, n + 1);
        if (grams > 0) memset(best, 0, (size_t)grams * sizeof *best);
        match_grams(own, grams, other, wanted, best);
        counts->translation[n] = wanted > 0 ? grams : 0, counts->reference[n] = wanted;
        counts->right[n] = sum_of(best, grams);
    }
    gsa_release(system, best);
    return GSA_OK;
}

gsa_status gsa_chrf_count(const gsa_system *system, gsa_slice translation,
                          const gsa_slice *reference, int references, int lower,
                          gsa_chrf_counts *counts, gsa_error *error)
{
    units own, other;
    double best = -1;
    *counts = (gsa_chrf_counts){ 0 };
    gsa_status status = cut_characters(system, translation, lower, &own, error);
    for (int r = 0; r < references && status == GSA_OK; r++) {
        gsa_chrf_counts now = { 0 };
        status = cut_characters(system, reference[r], lower, &other, error);
        if (status == GSA_OK) status = chrf_pair(system, &own, &other, &now, error);
        units_release(system, &other);
        const double score = gsa_chrf_score(&now);
        if (status == GSA_OK && score > best) *counts = now, best = score;
    }
    units_release(system, &own);
    return status;
}

void gsa_chrf_add(gsa_chrf_counts *sum, const gsa_chrf_counts *counts)
{
    for (int n = 0; n < GSA_CHRF_ORDER; n++) {
        sum->translation[n] += counts->translation[n], sum->reference[n] += counts->reference[n];
        sum->right[n] += counts->right[n];
    }
}

/* F_2 of the mean precision and the mean recall, over the orders that both sides have. */
double gsa_chrf_score(const gsa_chrf_counts *sum)
{
    double precision = 0, recall = 0;
    int orders = 0;
    for (int n = 0; n < GSA_CHRF_ORDER; n++) {
        if (sum->translation[n] == 0 || sum->reference[n] == 0) continue;
        precision += (double)sum->right[n] / (double)sum->translation[n];
        recall += (double)sum->right[n] / (double)sum->reference[n];
        orders++;
    }
    if (precision + recall <= 0) return 0;
    precision /= orders, recall /= orders;
    return 100 * 5 * precision * recall / (4 * precision + recall);
}

void gsa_chrf_signature(int references, int lower, char *text, size_t size)
{
    snprintf(text, size, "nrefs:%d|case:%s|eff:yes|nc:6|nw:0|space:no|version:gsa-%s", references,
             lower ? "lc" : "mixed", GSA_VERSION);
}
