#include "train/score/answers.h"
#include <string.h>
#include <utf8proc.h>
#include "train/data/english.h"
#include "train/settings/keys.h"

typedef struct words { /* of one text: word i is text[at[2i]] .. text[at[2i+1]-1] */
    const int32_t *text;
    int64_t *at, count;
} words;

gsa_status gsa_scorer_create(const gsa_system *system, int32_t kind, int64_t most,
                             gsa_scorer *scorer, gsa_error *error)
{
    const size_t room = (size_t)(most < 0 ? 0 : most) + 1;
    int whole = 1;
    *scorer = (gsa_scorer){ .system = system, .kind = kind, .most = most };
    for (int i = 0; i < 2; i++) {
        scorer->text[i] = gsa_alloc(system, room, sizeof **scorer->text);
        scorer->word[i] = gsa_alloc(system, 2 * room, sizeof **scorer->word);
        whole = whole && scorer->text[i] && scorer->word[i];
    }
    scorer->row = gsa_alloc(system, room, sizeof *scorer->row);
    scorer->mark = gsa_alloc(system, room, sizeof *scorer->mark);
    if (whole && scorer->row && scorer->mark) return GSA_OK;
    gsa_scorer_release(scorer);
    return gsa_out_of_memory(error, "the scorer of answers", (int64_t)room * 57);
}

void gsa_scorer_release(gsa_scorer *scorer)
{
    for (int i = 0; i < 2; i++)
        gsa_release(scorer->system, scorer->text[i]), gsa_release(scorer->system, scorer->word[i]);
    gsa_release(scorer->system, scorer->row);
    gsa_release(scorer->system, scorer->mark);
    *scorer = (gsa_scorer){ 0 };
}

/* ---- lower case as Unicode's SpecialCasing.txt has it: never more code points than there were
 * bytes ---- */

static int is_cased(int32_t c)
{
    const utf8proc_category_t k = utf8proc_category(c);
    return k == UTF8PROC_CATEGORY_LU || k == UTF8PROC_CATEGORY_LL || k == UTF8PROC_CATEGORY_LT;
}

static int is_passed_over(int32_t c)
{
    const utf8proc_category_t k = utf8proc_category(c);
    return k == UTF8PROC_CATEGORY_MN || k == UTF8PROC_CATEGORY_ME || k == UTF8PROC_CATEGORY_CF ||
           k == UTF8PROC_CATEGORY_LM || k == UTF8PROC_CATEGORY_SK || c == '\'' || c == '.' ||
           c == ':' || c == 0xb7 || c == 0x2018 || c == 0x2019;
}

/* A sigma that ends a word: a letter before it, none after it. */
static int is_final(const int32_t *text, int64_t count, int64_t at)
{
    int64_t before = at - 1, after = at + 1;
    while (before >= 0 && is_passed_over(text[before])) before--;
    while (after < count && is_passed_over(text[after])) after++;
    return before >= 0 && is_cased(text[before]) && (after == count || !is_cased(text[after]));
}

static int64_t lower(gsa_slice from, int32_t *text)
{
    enum { SIGMA = 0x3a3, DOTTED_I = 0x130, DOT = 0x307 };
    int64_t count = 0;
    for (int64_t i = 0; i < from.bytes;) {
        utf8proc_int32_t c;
        i += utf8proc_iterate((const utf8proc_uint8_t *)from.at + i, from.bytes - i, &c);
        text[count++] = c == DOTTED_I ? 'i' : c;
        if (c == DOTTED_I) text[count++] = DOT;
    }
    for (int64_t i = 0; i < count; i++) /* the letters before `i` keep their case class */
        text[i] = text[i] == SIGMA ? (is_final(text, count, i) ? 0x3c2 : 0x3c3)
                                   : utf8proc_tolower(text[i]);
    return count;
}

/* ---- SQuAD --------------------------------------------------------------------------------- */

static int is_word(int32_t c)
{
    const utf8proc_category_t k = utf8proc_category(c);
    return (k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO) ||
           (k >= UTF8PROC_CATEGORY_ND && k <= UTF8PROC_CATEGORY_NO);
}

static int is_article(const int32_t *at, int64_t count)
{
    return (count == 1 && at[0] == 'a') || (count == 2 && at[0] == 'a' && at[1] == 'n') ||
           (count == 3 && at[0] == 't' && at[1] == 'h' && at[2] == 'e');
}

/* Without punctuation; articles, which are whole runs of letters and digits, become a blank. */
static int64_t strip_squad(int32_t *text, int64_t count)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++)
        if (text[i] == 0 || text[i] >= 128 ||
            !strchr("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", text[i]))
            text[kept++] = text[i];
    for (int64_t i = 0, last; i < kept; i = last) {
        for (last = i + 1; is_word(text[i]) && last < kept && is_word(text[last]);) last++;
        if (!is_article(text + i, last - i)) continue;
        for (int64_t k = i; k < last; k++) text[k] = ' ';
    }
    return kept;
}

static words cut_squad(const int32_t *text, int64_t count, int64_t *at)
{
    words w = { text, at, 0 };
    for (int64_t i = 0, begin = -1; i <= count; i++) {
        const int blank = i == count || gsa_is_blank(text[i]);
        if (blank && begin >= 0) at[2 * w.count] = begin, at[2 * w.count++ + 1] = i, begin = -1;
        if (!blank && begin < 0) begin = i;
    }
    return w;
}

static int same(const words *a, int64_t i, const words *b, int64_t j)
{
    const int64_t length = a->at[2 * i + 1] - a->at[2 * i];
    return length == b->at[2 * j + 1] - b->at[2 * j] &&
           memcmp(a->text + a->at[2 * i], b->text + b->at[2 * j],
                  (size_t)length * sizeof *a->text) == 0;
}

/* Words that both bags hold. */
static int64_t common_words(const words *a, const words *b, uint8_t *taken)
{
    int64_t common = 0;
    memset(taken, 0, (size_t)b->count);
    for (int64_t i = 0; i < a->count; i++) {
        int64_t j = 0;
        while (j < b->count && (taken[j] || !same(a, i, b, j))) j++;
        if (j < b->count) taken[j] = 1, common++;
    }
    return common;
}

static double f1_of(int64_t common, const words *prediction, const words *reference)
{
    if (common == 0) return 0;
    const double precision = (double)common / (double)prediction->count,
                 recall = (double)common / (double)reference->count;
    return 2 * precision * recall / (precision + recall);
}

static gsa_answer_score squad(const gsa_scorer *s, const int64_t *count)
{
    words w[2];
    for (int i = 0; i < 2; i++)
        w[i] = cut_squad(s->text[i], strip_squad(s->text[i], count[i]), s->word[i]);
    int exact = w[0].count == w[1].count;
    for (int64_t i = 0; exact && i < w[0].count; i++) exact = same(&w[0], i, &w[1], i);
    return (gsa_answer_score){ exact, 0, f1_of(common_words(&w[0], &w[1], s->mark), &w[0], &w[1]) };
}

/* ---- CMRC 2018 ----------------------------------------------------------------------------- */

/* The scorer's marks. It lists the ellipsis as two characters, which no single one equals. */
static int is_mark(int32_t c)
{
    static const int32_t marks[] = {
        '-',    ':',    '_',    '*',    '^',    '/',    '\\',   '~',    '`',    '+',    '=',
        0xff0c, 0x3002, 0xff1a, 0xff1f, 0xff01, 0x201c, 0x201d, 0xff1b, 0x2019, 0x300a, 0x300b,
        0xb7,   0x3001, 0x300c, 0x300d, 0xff08, 0xff09, 0xff0d, 0xff5e, 0x300e, 0x300f
    };
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (marks[i] == c) return 1;
    return 0;
}

/* Without blanks at both ends, then without marks. */
static int64_t strip_cmrc(int32_t *text, int64_t count)
{
    int64_t first = 0, kept = 0;
    while (count > 0 && gsa_is_blank(text[count - 1])) count--;
    while (first < count && gsa_is_blank(text[first])) first++;
    for (int64_t i = first; i < count; i++)
        if (!is_mark(text[i])) text[kept++] = text[i];
    return kept;
}

static words cut_cmrc(int32_t *text, int64_t count, int64_t *at, uint8_t *gap)
{
    words w = { text, at, 0 };
    for (int64_t i = 0, begin = 0; i <= count; i++) {
        if (i < count && (text[i] < 0x4e00 || text[i] > 0x9fa5)) continue;
        w.count += gsa_english_words(text, begin, i, gap, at + 2 * w.count);
        if (i < count) at[2 * w.count] = i, at[2 * w.count++ + 1] = i + 1;
        begin = i + 1;
    }
    return w;
}

static int64_t longest_run(const words *a, const words *b, int64_t *row)
{
    int64_t best = 0;
    memset(row, 0, (size_t)b->count * sizeof *row);
    for (int64_t i = 0; i < a->count; i++)
        for (int64_t j = b->count - 1; j >= 0;
             j--) { /* row[j]: the run that ends at (i, j); row[j-1] is still of i - 1 */
            row[j] = same(a, i, b, j) ? (j > 0 ? row[j - 1] : 0) + 1 : 0;
            if (row[j] > best) best = row[j];
        }
    return best;
}

static gsa_answer_score cmrc(const gsa_scorer *s, const int64_t *count)
{
    words w[2];
    int64_t kept[2];
    for (int i = 0; i < 2; i++) kept[i] = strip_cmrc(s->text[i], count[i]);
    const int exact = kept[0] == kept[1] &&
                      memcmp(s->text[0], s->text[1], (size_t)kept[0] * sizeof **s->text) == 0;
    for (int i = 0; i < 2; i++) w[i] = cut_cmrc(s->text[i], kept[i], s->word[i], s->mark);
    return (gsa_answer_score){ exact, 0, f1_of(longest_run(&w[0], &w[1], s->row), &w[0], &w[1]) };
}

gsa_answer_score gsa_answer_against(const gsa_scorer *scorer, gsa_slice prediction,
                                    gsa_slice reference)
{
    const int64_t count[] = { lower(prediction, scorer->text[0]),
                              lower(reference, scorer->text[1]) };
    return scorer->kind == GSA_SCORER_SQUAD ? squad(scorer, count) : cmrc(scorer, count);
}
