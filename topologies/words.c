#include "words.h"
#include <stdio.h>
#include <string.h>
#include "graph/utf8.h"

int gsa_word_ok(const char *name)
{
    if (!name || *name < 'a' || *name > 'z') return 0;
    const size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return name[length] == 0 && length <= GSA_WORD_LIMIT;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Optimal string alignment: three rows of the table are alive. */
int gsa_word_distance(const char *a, const char *b)
{
    int rows[3][GSA_WORD_LIMIT + 1], *older = rows[0], *old = rows[1], *row = rows[2];
    const size_t la = strlen(a), lb = strlen(b);
    if (la > GSA_WORD_LIMIT || lb > GSA_WORD_LIMIT) return 2 * GSA_WORD_LIMIT;
    for (size_t j = 0; j <= lb; j++) row[j] = (int)j;
    for (size_t i = 1; i <= la; i++) {
        int *spare = older;
        older = old, old = row, row = spare;
        row[0] = (int)i;
        for (size_t j = 1; j <= lb; j++) {
            row[j] = smaller(smaller(old[j], row[j - 1]) + 1, old[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller(row[j], older[j - 2] + 1);
        }
    }
    return row[lb];
}

static void append(char *out, size_t size, const char *text)
{
    const size_t used = strlen(out);
    if (used + 1 < size) snprintf(out + used, size - used, "%s", text);
}

void gsa_word_list(char *out, size_t size, gsa_word_at *at, const void *context, int count,
                   const char *wanted)
{
    const int near = (int)(strlen(wanted) / 3 + 1);
    int best = near + 1;
    const char *nearest = NULL;
    snprintf(out, size, "known: ");
    for (int i = 0; i < count; i++) {
        const char *name = at(context, i);
        const int distance = gsa_word_distance(name, wanted);
        if (distance < best) best = distance, nearest = name;
        if (i > 0) append(out, size, ", ");
        append(out, size, name);
    }
    if (count == 0) append(out, size, "none");
    if (!nearest) return;
    append(out, size, "; the nearest is '");
    append(out, size, nearest);
    append(out, size, "'");
}

const char *gsa_word_show(const char *text, char out[GSA_SHOWN])
{
    size_t used = 0;
    if (!text) return "(nothing)";
    out[used++] = '\'';
    while (*text &&
           used < GSA_SHOWN -
                      12) { /* the longest step is \xNN or 4 bytes, the end is ...' and a zero */
        const unsigned char c = (unsigned char)*text;
        const int32_t length = c < 0x80 ? 1 : gsa_utf8_length(text);
        const int whole = length >= 1 && length <= 4 &&
                          strnlen(text, (size_t)length) == (size_t)length &&
                          gsa_utf8_invalid(text, length) < 0;
        const int control = c < 0x20 || c == 0x7f || (c == 0xc2 && (unsigned char)text[1] < 0xa0);
        if (whole && !control) {
            memcpy(out + used, text, (size_t)length);
            used += (size_t)length, text += length;
        } else {
            used += (size_t)snprintf(out + used, 5, "\\x%02x", c);
            text++;
        }
    }
    snprintf(out + used, GSA_SHOWN - used, "%s'", *text ? "..." : "");
    return out;
}
