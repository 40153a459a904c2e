#include "train/data/overlap.h"
#include <math.h>
#include <string.h>

enum { MOST_ASKED = 256 }; /* words of a question that the baseline looks at */

static int equal(gsa_slice a, gsa_slice b)
{
    return a.bytes == b.bytes && memcmp(a.at, b.at, (size_t)a.bytes) == 0;
}

static int64_t count_of(gsa_slice word, const gsa_slice *token, int64_t count)
{
    int64_t found = 0;
    for (int64_t i = 0; i < count; i++) found += equal(word, token[i]);
    return found;
}

static int ends_sentence(gsa_slice token)
{
    static const char *const marks[] = { ".",           "!", "?", "\xe3\x80\x82", "\xef\xbc\x81",
                                         "\xef\xbc\x9f" }; /* ideographic, too */
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (equal(token, (gsa_slice){ marks[i], (int64_t)strlen(marks[i]) })) return 1;
    return 0;
}

void gsa_overlap_sentence(const gsa_reading *r, int64_t question, int64_t *first, int64_t *last)
{
    const int64_t passage = r->question[question].passage, from = r->told.offset[passage];
    const int64_t count = r->told.offset[passage + 1] - from;
    const gsa_slice *told = r->told.token + from,
                    *asked = r->asked.token + r->asked.offset[question];
    int64_t questions = r->asked.offset[question + 1] - r->asked.offset[question];
    double weight[MOST_ASKED], most = -1;
    if (questions > MOST_ASKED) questions = MOST_ASKED;
    for (int64_t q = 0; q < questions; q++) {
        const int64_t there = count_of(asked[q], asked, q) ? 0 : count_of(asked[q], told, count);
        weight[q] = there > 0 ? log1p(1 / (double)there) : 0;
    }
    *first = 0, *last = count - 1;
    for (int64_t begin = 0, end; begin < count; begin = end + 1) {
        double sum = 0;
        for (end = begin; end < count && !ends_sentence(told[end]);) end++;
        if (end == begin) continue;
        for (int64_t q = 0; q < questions; q++)
            if (weight[q] > 0 && count_of(asked[q], told + begin, end - begin)) sum += weight[q];
        if (sum > most) most = sum, *first = begin, *last = end - 1;
    }
}

void gsa_overlap_types(const gsa_slice *told, int32_t count, const gsa_slice *asked,
                       int32_t questions, int32_t *type)
{
    for (int32_t i = 0; i < count; i++) type[i] = 0;
    for (int32_t i = 0; i < count; i++)
        for (int32_t q = 0; q < questions && type[i] < 2; q++) {
            if (!equal(told[i], asked[q])) continue;
            if (type[i] == 0) type[i] = 1;
            if (i + 1 < count && q + 1 < questions && equal(told[i + 1], asked[q + 1]))
                type[i] = type[i + 1] = 2;
        }
}
