#include "train/data/english.h"
#include <string.h>
#include <utf8proc.h>

enum { OPENING = -1, CLOSING = -2 };

/* A stretch of text; gap[i]: a word ends before its place i, as if a blank was there. */
typedef struct stretch {
    int32_t *text;
    uint8_t *gap;
    int64_t count;
} stretch;

int gsa_is_blank(int32_t c)
{
    if (c < 0x80) return (c >= 9 && c <= 13) || (c >= 28 && c <= 32);
    const utf8proc_category_t k = utf8proc_category(c);
    return c == 0x85 || k == UTF8PROC_CATEGORY_ZS || k == UTF8PROC_CATEGORY_ZL ||
           k == UTF8PROC_CATEGORY_ZP;
}

static int is_letter(int32_t c)
{
    if (c < 0) return 0;
    const utf8proc_category_t k = utf8proc_category(c);
    return c == '_' || (k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO) ||
           (k >= UTF8PROC_CATEGORY_ND && k <= UTF8PROC_CATEGORY_NO);
}

static int is_digit(int32_t c)
{
    return c >= 0 && utf8proc_category(c) == UTF8PROC_CATEGORY_ND;
}

static int is_one_of(int32_t c, const char *list)
{
    return c > 0 && c < 128 && strchr(list, c) != NULL;
}

static void around(const stretch *s, int64_t first, int64_t end)
{
    s->gap[first] = s->gap[end] = 1;
}

/* Is a space, or a gap, right before place i? The end of the stretch alone is none. */
static int space_before(const stretch *s, int64_t i)
{
    return s->gap[i] || (i > 0 && s->text[i - 1] == ' ');
}

/* ... right at place i, after what ends there? */
static int space_at(const stretch *s, int64_t i)
{
    return s->gap[i] || (i < s->count && s->text[i] == ' ');
}

/* Is the word whole at i, nothing cut within? */
static int reads(const stretch *s, int64_t i, const char *word)
{
    for (int64_t k = 0; word[k]; k++)
        if (i + k >= s->count || s->text[i + k] != word[k] || (k > 0 && s->gap[i + k])) return 0;
    return 1;
}

/* No letter goes on over place i. */
static int ends_word(const stretch *s, int64_t i)
{
    return i <= 0 || i >= s->count || s->gap[i] ||
           is_letter(s->text[i - 1]) != is_letter(s->text[i]);
}

/* A quote of `length` characters becomes one. */
static void quote(const stretch *s, int64_t i, int64_t length, int32_t kind)
{
    s->text[i] = kind;
    if (length == 2) s->text[i + 1] = ' ';
    around(s, i, i + 1);
}

static int64_t quote_length(const stretch *s, int64_t i)
{
    return s->text[i] == '"' ? 1 : reads(s, i, "''") ? 2 : 0;
}

static void open_quotes(const stretch *s)
{
    static const char *const clitics[] = { "re", "ve", "ll", "m", "t", "s", "d", "n" };
    for (int64_t i = 0; i < s->count; i++)
        if (s->text[i] == 0xab || s->text[i] == 0x201e || s->text[i] == 0x2018) around(s, i, i + 1);
    if (s->count > 0 && s->text[0] == '"') quote(s, 0, 1, OPENING);
    for (int64_t i = 1, free = 1; i < s->count; i++) {
        const int64_t length = quote_length(s, i);
        if (length == 0 || i < free || !(space_before(s, i) || is_one_of(s->text[i - 1], "([{<")))
            continue;
        quote(s, i, length, OPENING);
        free = i + length + 1; /* what follows has been read */
    }
    for (int64_t i = 0; i + 1 < s->count; i++) {
        if (s->text[i] != '\'' || (i > 0 && !s->gap[i] && is_letter(s->text[i - 1])) ||
            !is_letter(s->text[i + 1]))
            continue;
        int clitic = 0;
        for (size_t k = 0; k < sizeof clitics / sizeof *clitics; k++)
            clitic |=
                reads(s, i + 1, clitics[k]) && ends_word(s, i + 1 + (int64_t)strlen(clitics[k]));
        if (!clitic) s->gap[i + 1] = 1;
    }
}

/* The last period, where nothing but closing marks comes after it. */
static void final_period(const stretch *s)
{
    int64_t i = s->count - 1;
    while (i > 0 && (is_one_of(s->text[i], "])}>\"' ") || s->text[i] == 0xbb ||
                     s->text[i] == CLOSING || gsa_is_blank(s->text[i])))
        i--;
    if (i > 0 && s->text[i] == '.' && (s->text[i - 1] != '.' || s->gap[i]))
        around(s, i, i + 1), s->gap[s->count] = 1;
}

static void punctuation(const stretch *s)
{
    final_period(s);
    for (int64_t i = 0; i < s->count; i++)
        if (s->text[i] == ',' && (i + 1 == s->count || !is_digit(s->text[i + 1])))
            around(s, i, i + 1), i++; /* the one after it has been read */
    if (s->count > 0 && s->text[s->count - 1] == ',') around(s, s->count - 1, s->count);
    for (int64_t i = 0, last; i < s->count; i = last) {
        for (last = i + 1; s->text[i] == '.' && last < s->count && s->text[last] == '.';) last++;
        if (last - i > 1) around(s, i, last);
    }
    for (int64_t i = 0; i < s->count; i++)
        if (is_one_of(s->text[i], ";@#$%&?!") || (s->text[i] >= 0x2012 && s->text[i] <= 0x2015))
            around(s, i, i + 1);
    for (int64_t i = 1; i < s->count; i++)
        if (s->text[i] == '\'' && (s->text[i - 1] != '\'' || s->gap[i]) && space_at(s, i + 1))
            around(s, i, i + 1);
    for (int64_t i = 0; i < s->count; i++)
        if (is_one_of(s->text[i], "[](){}<>")) around(s, i, i + 1);
    s->gap[0] = s->gap[s->count] = 1;
}

static void close_quotes(const stretch *s)
{
    static const char *const clitics[] = { "'s", "'m", "'d", "'", "'ll", "'re", "'ve", "n't" };
    for (int64_t i = 0; i < s->count; i++) {
        if (s->text[i] == 0xbb) around(s, i, i + 1);
        if (gsa_is_blank(s->text[i])) s->text[i] = ' '; /* from here on all blanks are alike */
    }
    for (int64_t i = 0; i < s->count; i++) {
        const int64_t length = quote_length(s, i);
        if (length > 0) quote(s, i, length, CLOSING);
    }
    for (size_t k = 0; k < sizeof clitics / sizeof *clitics; k++)
        for (int64_t i = 1; i < s->count; i++)
            if (reads(s, i, clitics[k]) && !space_before(s, i) && s->text[i - 1] != '\'' &&
                space_at(s, i + (int64_t)strlen(clitics[k])))
                s->gap[i] = 1;
}

static void contractions(const stretch *s)
{
    static const struct {
        const char *word;
        int64_t cut;
    } list[] = { { "cannot", 3 }, { "d'ye", 1 },  { "gimme", 3 },  { "gonna", 3 }, { "gotta", 3 },
                 { "lemme", 3 },  { "wanna", 3 }, { "more'n", 4 }, { "'tis", 2 },  { "'twas", 2 } };
    for (size_t k = 0; k < sizeof list / sizeof *list; k++)
        for (int64_t i = 0, end; i < s->count; i++) {
            if (!reads(s, i, list[k].word)) continue;
            end = i + (int64_t)strlen(list[k].word);
            const int begins = list[k].word[0] == '\'' ? space_before(s, i) : ends_word(s, i);
            const int ends = list[k].word[0] == 'w' ? space_at(s, end) : ends_word(s, end);
            if (begins && ends) around(s, i, end), s->gap[i + list[k].cut] = 1;
        }
}

int64_t gsa_english_words(int32_t *text, int64_t from, int64_t to, uint8_t *gap, int64_t *word)
{
    const stretch s = { text + from, gap, to - from };
    int64_t count = 0;
    memset(gap, 0, (size_t)(s.count + 1));
    open_quotes(&s);
    punctuation(&s);
    close_quotes(&s);
    contractions(&s);
    for (int64_t i = 0, begin = -1; i <= s.count; i++) {
        const int blank = i == s.count || gsa_is_blank(s.text[i]);
        if (begin >= 0 && (blank || gap[i]))
            word[2 * count] = from + begin, word[2 * count++ + 1] = from + i, begin = -1;
        if (!blank && begin < 0) begin = i;
    }
    return count;
}
