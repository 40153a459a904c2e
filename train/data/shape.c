#include "train/data/shape.h"
#include <utf8proc.h>

/* The character at byte *at, which moves after it. */
static int32_t next_character(gsa_slice word, int64_t *at)
{
    utf8proc_int32_t c = (unsigned char)word.at[*at];
    *at += c < 0x80
               ? 1
               : utf8proc_iterate((const utf8proc_uint8_t *)word.at + *at, word.bytes - *at, &c);
    return c;
}

int32_t gsa_capitals_of(gsa_slice word)
{
    int64_t upper = 0, lower = 0, digits = 0;
    int first_upper = 0;
    for (int64_t at = 0; at < word.bytes;) {
        const utf8proc_category_t category = utf8proc_category(next_character(word, &at));
        const int is_upper = category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LT;
        if (is_upper && upper + lower == 0) first_upper = 1;
        upper += is_upper, lower += category == UTF8PROC_CATEGORY_LL,
            digits += category == UTF8PROC_CATEGORY_ND;
    }
    if (upper + lower == 0) return digits > 0 ? GSA_CAPITALS_DIGIT : GSA_CAPITALS_NO_LETTER;
    if (upper == 0) return GSA_CAPITALS_LOWER;
    if (first_upper && upper == 1) return GSA_CAPITALS_FIRST;
    return lower == 0 ? GSA_CAPITALS_ALL : GSA_CAPITALS_MIXED;
}

int64_t gsa_zero_digits(char *word, int64_t bytes)
{
    int64_t used = 0;
    for (int64_t at = 0, first = 0; at < bytes; first = at) {
        const int32_t c = next_character((gsa_slice){ word, bytes }, &at);
        if (utf8proc_category(c) == UTF8PROC_CATEGORY_ND) word[used++] = '0';
        else
            while (first < at) word[used++] = word[first++];
    }
    return used;
}

int64_t gsa_character_count(gsa_slice word)
{
    int64_t count = 0;
    for (int64_t at = 0; at < word.bytes; count++) next_character(word, &at);
    return count;
}

gsa_status gsa_characters_add(gsa_vocabulary *vocabulary, gsa_slice word, int64_t count,
                              gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int64_t at = 0, first = 0; at < word.bytes && status == GSA_OK; first = at) {
        next_character(word, &at);
        status = gsa_vocabulary_add(vocabulary, (gsa_slice){ word.at + first, at - first }, count,
                                    error);
    }
    return status;
}

int64_t gsa_characters_find(const gsa_vocabulary *vocabulary, gsa_slice word, int32_t *id,
                            int64_t room)
{
    int64_t count = 0;
    for (int64_t at = 0, first = 0; at < word.bytes && count < room; first = at) {
        next_character(word, &at);
        id[count++] = gsa_vocabulary_find(vocabulary, (gsa_slice){ word.at + first, at - first });
    }
    return count;
}
