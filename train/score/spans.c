/* spans.c - schemes: reading spans from tags, writing them, what may follow what. */
#include "train/score/spans.h"
#include <string.h>
#include <strings.h>
#include "topologies/words.h"

static const gsa_slice nothing = { "", 0 };
static const struct {
    const char *name, *letters; /* next to O */
} schemes[GSA_SCHEMES] = {
    { "none", "" }, { "IOB1", "BI" }, { "IOB2", "BI" }, { "BIOES", "BIES" }, { "BMES", "BMES" }
};

const char *gsa_scheme_name(int32_t scheme)
{
    return schemes[scheme].name;
}

int32_t gsa_scheme_find(const char *name)
{
    if (strcasecmp(name, "IOBES") == 0) return GSA_SCHEME_BIOES;
    if (strcasecmp(name, "BMESO") == 0) return GSA_SCHEME_BMES;
    for (int32_t i = 0; i < GSA_SCHEMES; i++)
        if (strcasecmp(name, schemes[i].name) == 0) return i;
    return -1;
}

static int same(gsa_slice a, gsa_slice b)
{
    return a.bytes == b.bytes && (a.bytes == 0 || memcmp(a.at, b.at, (size_t)a.bytes) == 0);
}

gsa_tag gsa_tag_of(gsa_slice tag)
{
    const char *dash = tag.bytes > 0 ? memchr(tag.at, '-', (size_t)tag.bytes) : NULL;
    const int64_t prefix = dash ? dash - tag.at : tag.bytes;
    return (gsa_tag){ .prefix = { tag.at, prefix },
                      .type = dash ? (gsa_slice){ dash + 1, tag.bytes - prefix - 1 } : nothing,
                      .letter = prefix == 1 ? tag.at[0] : '?' };
}

int64_t gsa_tag_write(char *out, size_t room, char letter, gsa_slice type)
{
    const int64_t bytes = letter == 'O' || type.bytes == 0 ? 1 : type.bytes + 2;
    if (room == 0) return bytes;
    const int64_t kept = bytes < (int64_t)room ? bytes : (int64_t)room - 1;
    if (kept > 0) out[0] = letter;
    if (kept > 1) out[1] = '-';
    if (kept > 2) memcpy(out + 2, type.at, (size_t)kept - 2);
    out[kept] = 0;
    return bytes;
}

/* ---- lenient: conlleval's two rules -------------------------------------------------------- */

static int one_of(char letter, const char *letters)
{
    return letter != 0 && strchr(letters, letter) != NULL;
}

/* M plays the part of I. */
static char plain(gsa_tag tag)
{
    return tag.letter == 'M' ? 'I' : tag.letter;
}

int gsa_tag_ends(gsa_tag before, gsa_tag tag)
{
    const char was = plain(before), is = plain(tag);
    if (one_of(was, "ES[]")) return 1;
    if (one_of(was, "BI") && one_of(is, "BSO")) return 1;
    return !one_of(was, "O.") && !same(before.type, tag.type);
}

int gsa_tag_starts(gsa_tag before, gsa_tag tag)
{
    const char was = plain(before), is = plain(tag);
    if (one_of(is, "BS[]")) return 1;
    if (one_of(is, "EI") && one_of(was, "ESO")) return 1;
    return !one_of(is, "O.") && !same(before.type, tag.type);
}

int64_t gsa_spans_lenient(const gsa_slice *tag, int64_t count, gsa_span *span)
{
    const gsa_tag outside = { { "O", 1 }, nothing, 'O' };
    gsa_tag before = outside;
    int64_t spans = 0, first = -1;
    for (int64_t t = 0; t <= count; t++) {
        const gsa_tag is = t < count ? gsa_tag_of(tag[t]) : outside;
        const int starts = gsa_tag_starts(before, is);
        if (first >= 0 && (starts || t == count || gsa_tag_ends(before, is))) {
            span[spans++] = (gsa_span){ first, t - 1, before.type };
            first = -1;
        }
        if (starts) first = t;
        before = is;
    }
    return spans;
}

/* ---- strict -------------------------------------------------------------------------------- */

int gsa_scheme_follows(int32_t scheme, gsa_tag before, gsa_tag tag)
{
    const char inner = scheme == GSA_SCHEME_BMES ? 'M' : 'I';
    const int goes_on =
        (before.letter == 'B' || before.letter == inner) && same(before.type, tag.type);
    if (scheme == GSA_SCHEME_NONE) return 1;
    if (tag.letter != 'O' && !one_of(tag.letter, schemes[scheme].letters)) return 0;
    if (scheme == GSA_SCHEME_IOB1) return tag.letter != 'B' || goes_on;
    if (scheme == GSA_SCHEME_IOB2) return tag.letter != 'I' || goes_on;
    if (before.letter == 'B' || before.letter == inner)
        return goes_on && (tag.letter == inner || tag.letter == 'E');
    return one_of(tag.letter, "OBS");
}

/* The last token of a span of B, inner ones and E that starts at `first`, or -1. */
static int64_t closed_at(int32_t scheme, const gsa_slice *tag, int64_t first, int64_t count)
{
    for (int64_t t = first + 1; t < count; t++) {
        if (!gsa_scheme_follows(scheme, gsa_tag_of(tag[t - 1]), gsa_tag_of(tag[t]))) return -1;
        if (gsa_tag_of(tag[t]).letter == 'E') return t;
    }
    return -1;
}

static int64_t open_until(const gsa_slice *tag, int64_t first, int64_t count)
{
    const gsa_slice type = gsa_tag_of(tag[first]).type;
    int64_t last = first;
    while (last + 1 < count && gsa_tag_of(tag[last + 1]).letter == 'I' &&
           same(gsa_tag_of(tag[last + 1]).type, type))
        last++;
    return last;
}

int64_t gsa_spans_strict(int32_t scheme, const gsa_slice *tag, int64_t count, gsa_span *span)
{
    const gsa_tag outside = { { "O", 1 }, nothing, 'O' };
    int64_t spans = 0;
    for (int64_t t = 0, last; t < count; t = last + 1) {
        const gsa_tag is = gsa_tag_of(tag[t]), before = t > 0 ? gsa_tag_of(tag[t - 1]) : outside;
        last = t;
        if (is.letter == 'O' || !one_of(is.letter, schemes[scheme].letters)) continue;
        if (scheme == GSA_SCHEME_IOB1 || scheme == GSA_SCHEME_IOB2) {
            last = open_until(tag, t, count);
            if (!gsa_scheme_follows(scheme, before, is)) continue;
        } else {
            const int64_t end = is.letter == 'S'   ? t
                                : is.letter == 'B' ? closed_at(scheme, tag, t, count)
                                                   : -1;
            if (end < 0) continue;
            last = end;
        }
        span[spans++] = (gsa_span){ t, last, is.type };
    }
    return spans;
}

/* ---- writing ------------------------------------------------------------------------------- */

void gsa_spans_letters(int32_t scheme, const gsa_span *span, int64_t spans, int64_t count,
                       char *letter)
{
    const int closed = scheme == GSA_SCHEME_BIOES || scheme == GSA_SCHEME_BMES;
    if (count > 0) memset(letter, 'O', (size_t)count);
    for (int64_t s = 0; s < spans; s++) {
        const int64_t first = span[s].first, last = span[s].last;
        const int touches =
            s > 0 && span[s - 1].last == first - 1 && same(span[s - 1].type, span[s].type);
        memset(letter + first, scheme == GSA_SCHEME_BMES ? 'M' : 'I', (size_t)(last - first + 1));
        if (scheme != GSA_SCHEME_IOB1 || touches) letter[first] = 'B';
        if (closed) letter[last] = first == last ? 'S' : 'E';
    }
}

/* ---- what a file is written in ------------------------------------------------------------- */

void gsa_scheme_broken(int32_t scheme, const gsa_slice *tag, const int64_t *offset,
                       int64_t sentences, int64_t *broken, int64_t *first)
{
    const gsa_tag outside = { { "O", 1 }, nothing, 'O' };
    int64_t count = 0, at = -1;
    for (int64_t s = 0; s < sentences; s++) {
        gsa_tag before = outside;
        for (int64_t t = offset[s]; t < offset[s + 1]; t++) {
            const gsa_tag is = gsa_tag_of(tag[t]);
            const int good = gsa_scheme_follows(scheme, before, is) &&
                             (t + 1 < offset[s + 1] || gsa_scheme_follows(scheme, is, outside));
            if (!good && ++count == 1) at = t;
            before = is;
        }
    }
    if (broken) *broken = count;
    if (first) *first = at;
}

static const char span_letters[] = "BIESM";

gsa_tag_census gsa_tag_count(const gsa_slice *tag, int64_t count)
{
    gsa_tag_census c = { 0, 0, -1 };
    for (int64_t t = 0; t < count; t++) {
        const gsa_tag is = gsa_tag_of(tag[t]);
        const int plain_o = is.letter == 'O' && is.type.bytes == 0;
        if (one_of(is.letter, span_letters)) c.typed += is.type.bytes > 0;
        else if (!plain_o && c.strange++ == 0) c.first = t;
    }
    return c;
}

/* The letters that occur, as bits of "BIESM"; -1 when something is no tag of any scheme. */
static int letters_of(const gsa_slice *tag, int64_t count)
{
    int seen = 0;
    for (int64_t t = 0; t < count; t++) {
        const gsa_tag is = gsa_tag_of(tag[t]);
        if (is.letter == 'O' && is.type.bytes == 0) continue;
        if (!one_of(is.letter, span_letters)) return -1;
        seen |= 1 << (strchr(span_letters, is.letter) - span_letters);
    }
    return seen;
}

int32_t gsa_scheme_detect(const gsa_slice *tag, const int64_t *offset, int64_t sentences,
                          int64_t *broken, int64_t *first)
{
    enum { INSIDE = 2, END = 4, SINGLE = 8, MIDDLE = 16 };
    const int seen = sentences > 0 ? letters_of(tag, offset[sentences]) : 0;
    int64_t count[2] = { 0, 0 }, at[2] = { -1, -1 };
    int32_t scheme = seen < 0 ? GSA_SCHEME_NONE : GSA_SCHEME_IOB2;
    if (seen > 0 && seen & (END | SINGLE | MIDDLE))
        scheme = seen & MIDDLE ? GSA_SCHEME_BMES : GSA_SCHEME_BIOES;
    gsa_scheme_broken(scheme, tag, offset, sentences, &count[0], &at[0]);
    if (scheme == GSA_SCHEME_IOB2 && count[0] > 0) {
        gsa_scheme_broken(GSA_SCHEME_IOB1, tag, offset, sentences, &count[1], &at[1]);
        if (count[1] < count[0]) scheme = GSA_SCHEME_IOB1, count[0] = count[1], at[0] = at[1];
    }
    if (broken) *broken = count[0];
    if (first) *first = at[0];
    return scheme;
}

gsa_status gsa_scheme_allowed(int32_t scheme, const gsa_slice *name, int32_t count,
                              uint8_t *allowed, gsa_error *error)
{
    const gsa_tag outside = { { "O", 1 }, nothing, 'O' };
    char text[64], shown[GSA_SHOWN];
    for (int32_t i = 0; i < count; i++) {
        const gsa_tag tag = gsa_tag_of(name[i]);
        const int known =
            tag.letter == 'O' ? tag.type.bytes == 0 : one_of(tag.letter, schemes[scheme].letters);
        if (known || scheme == GSA_SCHEME_NONE) continue;
        const int64_t kept = name[i].bytes < 63 ? name[i].bytes : 63;
        memcpy(text, name[i].at, (size_t)kept);
        text[kept] = 0;
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "the tag %s is not of the scheme %s, whose tags are O and %s with a type",
                        gsa_word_show(text, shown), schemes[scheme].name, schemes[scheme].letters);
    }
    for (int64_t row = 0; row < count + 2; row++)
        for (int64_t tag = 0; tag < count; tag++) {
            const gsa_tag before = row < count ? gsa_tag_of(name[row]) : outside,
                          is = gsa_tag_of(name[tag]);
            allowed[row * count + tag] =
                (uint8_t)(row == count + 1 ? gsa_scheme_follows(scheme, is, outside)
                                           : gsa_scheme_follows(scheme, before, is));
        }
    return GSA_OK;
}
