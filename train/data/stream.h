/* stream.h - a text as one long row of tokens that stays in its files (source.h): a part of it is
 * read when it is wanted.
 *
 * Law.  Opening passes over the bytes once and notes where every 1024th token starts; reading goes
 *     there and splits on. So memory is
 *       8 bytes in 1024 tokens (bytes need none) and a buffer of 128 KiB, however large the file,
 *       and any place costs the reading of at most 1023 tokens more than it has. The file must not
 *       change meanwhile. One thread uses a stream at a time. */
#ifndef GSA_STREAM_H
#define GSA_STREAM_H
#include "train/data/source.h"
#include "train/vocabulary/units.h"

typedef struct gsa_stream {
    const gsa_system *system;
    gsa_source *source;
    const char *path;    /* of its first file, for messages */
    int32_t kind, owns;  /* owns: the source */
    int64_t first, last; /* bytes of the source that it covers */
    int64_t tokens;
    int64_t *mark; /* [marks] byte of the source where token 1024 i starts to be looked for */
    int64_t marks, room;
    char *buffer;
} gsa_stream;

enum { GSA_LONGEST_WORD = 1 << 16 }; /* bytes; a longer one is a sentence */

/* Bytes first .. last-1 of the source (last < 0: to its end), which outlives the stream. A byte
 * order mark at the start is passed over, but by bytes. counts: every token is counted too, or
 * NULL. */
gsa_status gsa_stream_begin(gsa_source *source, int kind, int64_t first, int64_t last,
                            gsa_unit_counts *counts, gsa_stream *stream, gsa_error *error);
/* The same of a source of its own. */
gsa_status gsa_stream_open(const gsa_system *system, const char *path, int kind, int64_t first,
                           int64_t last, gsa_unit_counts *counts, gsa_stream *stream,
                           gsa_error *error);
void gsa_stream_release(gsa_stream *stream); /* a zeroed one is fine */
/* Ids of tokens first .. first+count-1, which the stream has. */
gsa_status gsa_stream_read(gsa_stream *stream, const gsa_units *units, int64_t first, int64_t count,
                           int32_t *id, gsa_error *error);
/* The first place from `at` on where the source can be cut: anywhere (bytes), before a character,
 * after a line end (words). */
gsa_status gsa_stream_cut(gsa_source *source, int kind, int64_t at, int64_t *cut, gsa_error *error);

#endif
