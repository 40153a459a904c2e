/* mteval.c - the tokens of mteval-v13a, and lower case. Each pass reads one buffer and writes the
 * other. */
#include <string.h>
#include <utf8proc.h>
#include "train/score/bleu.h"
#include "train/data/blank.h"

typedef struct strand { /* what a pass writes */
    char *at;
    int64_t bytes;
} strand;

static void put(strand *to, char c)
{
    to->at[to->bytes++] = c;
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ASCII punctuation but ' , - . */
static int stands_alone(char c)
{
    return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') ||
           (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

/* Every `name` becomes `is`, or nothing. */
static void replace(strand *text, const char *name, char is)
{
    const int64_t bytes = (int64_t)strlen(name);
    int64_t kept = 0;
    for (int64_t i = 0; i < text->bytes; i++) {
        const int here = text->bytes - i >= bytes && memcmp(text->at + i, name, (size_t)bytes) == 0;
        if (!here || is) text->at[kept++] = here ? is : text->at[i];
        if (here) i += bytes - 1;
    }
    text->bytes = kept;
}

/* One after the other, each in what the one before left: &amp;lt; becomes <. */
static void replace_marks(strand *text)
{
    static const struct {
        const char *name;
        char is;
    } mark[] = { { "<skipped>", 0 }, { "-\n", 0 },    { "\n", ' ' },  { "&quot;", '"' },
                 { "&amp;", '&' },   { "&lt;", '<' }, { "&gt;", '>' } };
    for (size_t m = 0; m < sizeof mark / sizeof *mark; m++) replace(text, mark[m].name, mark[m].is);
}

static void split_punctuation(const strand *from, strand *to)
{
    put(to, ' ');
    for (int64_t i = 0; i < from->bytes; i++) {
        const int alone = stands_alone(from->at[i]);
        if (alone) put(to, ' ');
        put(to, from->at[i]);
        if (alone) put(to, ' ');
    }
    put(to, ' ');
}

/* The three rules about . , - and digits, as expressions that are substituted one after the other:
 * what one match has eaten is not looked at by the next. */
enum rule { AFTER_NO_DIGIT, BEFORE_NO_DIGIT, DASH_AFTER_DIGIT };

static int matches(enum rule rule, char a, char b)
{
    const int point_a = a == '.' || a == ',', point_b = b == '.' || b == ',';
    if (rule == AFTER_NO_DIGIT) return !is_digit(a) && point_b;
    return rule == BEFORE_NO_DIGIT ? point_a && !is_digit(b) : is_digit(a) && b == '-';
}

/* Of UTF-8 the last byte stands for the character: none of its bytes is a digit or a point. */
static void substitute(enum rule rule, const strand *from, strand *to)
{
    for (int64_t i = 0; i < from->bytes; i++) {
        const char a = from->at[i];
        const int here = i + 1 < from->bytes && matches(rule, a, from->at[i + 1]);
        if (here && rule == BEFORE_NO_DIGIT) put(to, ' ');
        put(to, a);
        if (!here) continue;
        put(to, ' ');
        put(to, from->at[++i]);
        if (rule != BEFORE_NO_DIGIT) put(to, ' ');
    }
}

/* One blank between words, none around them. */
static void squeeze(const strand *from, strand *to)
{
    int blank = 0;
    for (int64_t i = 0; i < from->bytes;) {
        int32_t bytes;
        if (gsa_blank_at(from->at + i, from->bytes - i, &bytes)) blank = 1;
        else {
            if (blank && to->bytes > 0) put(to, ' ');
            for (int32_t k = 0; k < bytes; k++) put(to, from->at[i + k]);
            blank = 0;
        }
        i += bytes;
    }
}

static int64_t without_last_blanks(gsa_slice text)
{
    int64_t end = 0;
    for (int64_t i = 0; i < text.bytes;) {
        int32_t bytes;
        const int blank = gsa_blank_at(text.at + i, text.bytes - i, &bytes);
        i += bytes;
        if (!blank) end = i;
    }
    return end;
}

/* From a into b, or back. */
static void tokenize(gsa_slice sentence, strand *a, strand *b)
{
    a->bytes = without_last_blanks(sentence);
    if (a->bytes > 0) memcpy(a->at, sentence.at, (size_t)a->bytes);
    replace_marks(a);
    split_punctuation(a, b);
    a->bytes = 0;
    substitute(AFTER_NO_DIGIT, b, a);
    b->bytes = 0;
    substitute(BEFORE_NO_DIGIT, a, b);
    a->bytes = 0;
    substitute(DASH_AFTER_DIGIT, b, a);
    b->bytes = 0;
    squeeze(a, b);
}

gsa_status gsa_bleu_tokens(const gsa_system *system, gsa_slice sentence, int lower, char **text,
                           int64_t *bytes, gsa_error *error)
{
    char *lowered = NULL;
    const gsa_status status =
        lower ? gsa_lower_text(system, sentence, &lowered, &sentence.bytes, error) : GSA_OK;
    if (status != GSA_OK) return status;
    if (lower) sentence.at = lowered;
    const int64_t room =
        8 * sentence.bytes + 16; /* a point gets four blanks at most, other bytes two */
    strand a = { gsa_alloc(system, (size_t)room, 1), 0 },
           b = { gsa_alloc(system, (size_t)room, 1), 0 };
    const int held = a.at && b.at;
    if (held) tokenize(sentence, &a, &b);
    gsa_release(system, lowered);
    gsa_release(system, a.at);
    *text = held ? b.at : NULL, *bytes = b.bytes;
    if (held) return GSA_OK;
    gsa_release(system, b.at);
    return gsa_out_of_memory(error, "a sentence's tokens", 2 * room);
}

/* ---- lower case ---------------------------------------------------------------------------- */

static int is_cased(int32_t c)
{
    const utf8proc_category_t category = utf8proc_category(c);
    return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
           category == UTF8PROC_CATEGORY_LT;
}

/* Characters that a word's end is looked for beyond. */
static int is_passed_over(int32_t c)
{
    const utf8proc_category_t category = utf8proc_category(c);
    return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME ||
           category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_LM ||
           category == UTF8PROC_CATEGORY_SK || c == '\'' || c == '.' || c == ':' || c == 0xb7 ||
           c == 0x2018 || c == 0x2019;
}

/* Does the sigma at `i` (2 bytes) end a word: is there a letter before it, and none after? */
static int ends_word(gsa_slice text, int64_t i)
{
    utf8proc_int32_t c = 0;
    int64_t k = i;
    do { /* back over one character at a time */
        if (k == 0) return 0;
        for (k--; k > 0 && ((unsigned char)text.at[k] & 0xc0) == 0x80;) k--;
        utf8proc_iterate((const utf8proc_uint8_t *)text.at + k, text.bytes - k, &c);
    } while (is_passed_over(c));
    if (!is_cased(c)) return 0;
    for (k = i + 2; k < text.bytes;) {
        k += utf8proc_iterate((const utf8proc_uint8_t *)text.at + k, text.bytes - k, &c);
        if (!is_passed_over(c)) return !is_cased(c);
    }
    return 1;
}

gsa_status gsa_lower_text(const gsa_system *system, gsa_slice text, char **lower, int64_t *bytes,
                          gsa_error *error)
{
    const int32_t dotted_i = 0x130, dot = 0x307, sigma = 0x3a3, final_sigma = 0x3c2;
    const int64_t room = 4 * text.bytes + 4;
    utf8proc_uint8_t *to = gsa_alloc(system, (size_t)room, 1);
    if (!to) return gsa_out_of_memory(error, "text in lower case", room);
    int64_t used = 0;
    for (int64_t i = 0, length; i < text.bytes; i += length) {
        utf8proc_int32_t c;
        length = utf8proc_iterate((const utf8proc_uint8_t *)text.at + i, text.bytes - i, &c);
        const int32_t low = c == sigma && ends_word(text, i) ? final_sigma
                            : c == dotted_i                  ? 'i'
                                                             : utf8proc_tolower(c);
        used += utf8proc_encode_char(low, to + used);
        if (c == dotted_i) used += utf8proc_encode_char(dot, to + used);
    }
    *lower = (char *)to, *bytes = used;
    return GSA_OK;
}
