/* spans.h - spans from tags, in the schemes of Ramshaw and Marcus 1995, Tjong Kim Sang and Veenstra
 * 1999 and the sets that followed.
 *   IOB1   I in a span; B only where a span follows one of the same type at once
 *   IOB2   B first, I after it
 *   BIOES  B first, I inside, E last, S alone (also called IOBES)
 *   BMES   the same with M for I (also called BMESO)
 * A tag is what is before its first '-', and the type after it; a tag without '-' has the
 * empty type.
 *
 * Two ways to read tags, always to be named next to a score:
 *   lenient  the rules of conlleval (CoNLL-2000), which make the best of any tags: a span starts at
 *            B and S, at a change of type, at I or E after O, E or S; it ends at a change of type,
 *            before B, S and O, after E and S; '[' and ']' are spans of one token. M is I here.
 *            (The Perl script of 2000 knows no S; on B, I and O all editions agree.)
 *   strict   a span counts only when each of its tags is where its scheme puts it.
 * Slices point into the caller's memory. */
#ifndef GSA_SPANS_H
#define GSA_SPANS_H
#include "graph/system.h"
#include "graph/topology.h"

/* none: plain tags, no spans */
enum gsa_scheme {
    GSA_SCHEME_NONE,
    GSA_SCHEME_IOB1,
    GSA_SCHEME_IOB2,
    GSA_SCHEME_BIOES,
    GSA_SCHEME_BMES,
    GSA_SCHEMES
};
const char *gsa_scheme_name(int32_t scheme); /* "none", "IOB1", ... */
int32_t gsa_scheme_find(const char *name);   /* also IOBES and BMESO, in any case; -1: unknown */

typedef struct gsa_tag {
    gsa_slice prefix, type; /* of "B-PER": "B" and "PER" */
    char letter;            /* the prefix, where it is one character, else '?' */
} gsa_tag;
gsa_tag gsa_tag_of(gsa_slice tag);
/* "B-PER", "B" or "O", terminated, cut where `room` ends; returns the bytes of the whole. */
int64_t gsa_tag_write(char *out, size_t room, char letter, gsa_slice type);

/* The two rules of conlleval: does a span end after `before`, does one start at `tag`? */
int gsa_tag_ends(gsa_tag before, gsa_tag tag);
int gsa_tag_starts(gsa_tag before, gsa_tag tag);

typedef struct gsa_span {
    int64_t first, last; /* tokens, inclusive */
    gsa_slice type;
} gsa_span;

/* The spans of one sentence, ascending, at most one a token; returns how many. Linear time. */
int64_t gsa_spans_lenient(const gsa_slice *tag, int64_t count, gsa_span *span);
int64_t gsa_spans_strict(int32_t scheme, const gsa_slice *tag, int64_t count, gsa_span *span);
/* The letter of each token of a sentence with these spans; the type is the span's. */
void gsa_spans_letters(int32_t scheme, const gsa_span *span, int64_t spans, int64_t count,
                       char *letter);

/* May `tag` follow `before`? Both ends of a sentence are O. */
int gsa_scheme_follows(int32_t scheme, gsa_tag before, gsa_tag tag);

/* What the tags are written in: by their letters, then IOB2 if no tag breaks it, else IOB1, else
 * the one that fewer tags break. `broken` receives how many tags break the scheme, `first` the
 * first of them (-1: none); either may be NULL. Broken tags are mended by writing their lenient
 * spans again (gsa_spans_letters). */
int32_t gsa_scheme_detect(const gsa_slice *tag, const int64_t *offset, int64_t sentences,
                          int64_t *broken, int64_t *first);

/* Tags by what they are: B, I, E, S or M, '-' and a type; O, or one of these letters alone; or
 * nothing that a scheme knows ("B_PER"). */
typedef struct gsa_tag_census {
    int64_t typed, strange, first; /* first: strange one, -1: none */
} gsa_tag_census;
gsa_tag_census gsa_tag_count(const gsa_slice *tag, int64_t count);

/* How many tags break a scheme that is known, and the first of them (-1: none); either may be
 * NULL. */
void gsa_scheme_broken(int32_t scheme, const gsa_slice *tag, const int64_t *offset,
                       int64_t sentences, int64_t *broken, int64_t *first);

/* For gsa_crf_args.allowed, [count+2, count]: 1 where the scheme lets tag `column` follow tag
 * `row`, start (row `count`), end. All 1 for none. A name that is not of the scheme is a
 * sentence. */
gsa_status gsa_scheme_allowed(int32_t scheme, const gsa_slice *name, int32_t count,
                              uint8_t *allowed, gsa_error *error);

/* ---- scores -------------------------------------------------------------------------------- */

typedef struct gsa_span_counts {
    gsa_slice type;
    int64_t gold, found, right; /* spans */
} gsa_span_counts;

typedef struct gsa_span_score {
    const gsa_system *system;
    int32_t strict;                    /* 0: lenient */
    int32_t gold_scheme, found_scheme; /* strict reads these */
    int64_t tokens, right_tokens;
    gsa_span_counts all;
    gsa_span_counts *type; /* [types], in the order met */
    int64_t types, type_room;
    gsa_span *span; /* scratch of strict */
    int64_t span_room;
    int32_t inside,
        zero; /* lenient: conlleval's flag, which outlives a sentence in tags like "X" */
} gsa_span_score;

/* A zeroed score with `system` (and `strict` and the schemes) set is ready. One sentence; types
 * point into the tags from then on. */
gsa_status gsa_span_score_add(gsa_span_score *score, const gsa_slice *gold, const gsa_slice *found,
                              int64_t count, gsa_error *error);
/* After the last sentence: conlleval counts a span that nothing has ended as right. */
void gsa_span_score_finish(gsa_span_score *score);
void gsa_span_score_release(gsa_span_score *score);

typedef struct gsa_span_rates {
    double precision, recall, f1; /* per cent; 0 where nothing is divided */
} gsa_span_rates;
gsa_span_rates gsa_span_rates_of(const gsa_span_counts *counts);
void gsa_span_sort(gsa_span_score *score); /* its types, by bytes */
/* The text that conlleval prints, byte for byte; types sorted by bytes. */
void gsa_span_report(gsa_span_score *score, gsa_output *output);

#endif
