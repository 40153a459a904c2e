/* source.h - one or several files as one run of bytes, as `cat` gives them; .gz and .zst are
 * unpacked (unpack.h). Any place of it is read, though places near each other are cheap.
 *
 * Names.  "a.txt", "part-*.gz" (a pattern in the last part, files in order of their names), and
 *     lists of these with commas between. A name that is a file is no list.
 *
 * Memory.  Of a packed file two spans of `span` bytes, and 32 KiB a span where it is .gz. A .zst
 * can be entered where a frame begins: a place in the midst of one costs unpacking the frame to it.
 *
 * Law.  With span > 0, or a packed file, or several: opening reads all, and keeps a hash of each
 *     file. One thread uses a source at a time; files must not change meanwhile. */
#ifndef GSA_SOURCE_H
#define GSA_SOURCE_H
#include "gsa/checkpoint.h"
#include "topologies/unpack.h"

enum { GSA_SOURCE_SPAN = 1 << 22 };

typedef struct gsa_source_file {
    char *path;
    int64_t first, bytes; /* in the run; bytes as unpacked */
    uint64_t hash;        /* of them */
    int32_t packing, zero;
    gsa_entry *entry; /* [entries], by place */
    int64_t entries, room;
} gsa_source_file;

typedef struct gsa_source gsa_source;
gsa_status gsa_source_open(const gsa_system *system, const char *names, int64_t span,
                           gsa_source **source, gsa_error *error);
void gsa_source_release(gsa_source *source); /* NULL is fine */
const gsa_system *gsa_source_system(const gsa_source *source);
int64_t gsa_source_bytes(const gsa_source *source);
const gsa_source_file *gsa_source_files(const gsa_source *source, int64_t *count);
/* The file that byte `place` is in, or the last. */
const gsa_source_file *gsa_source_at(const gsa_source *source, int64_t place);
/* All `bytes` at `place`, or a sentence. */
gsa_status gsa_source_read(gsa_source *source, char *to, int64_t bytes, int64_t place,
                           gsa_error *error);

/* A whole file in memory as gsa_read_file gives it, unpacked to gsa_unpack_most bytes; "-" is
 * standard input. */
gsa_status gsa_source_whole(const gsa_system *system, const char *path, int64_t most, char **bytes,
                            int64_t *count, gsa_error *error);

/* stream.txt of a checkpoint: bytes and hash of each file; and that they are the same still. */
gsa_status gsa_source_save(const gsa_source *source, gsa_checkpoint *checkpoint, gsa_error *error);
gsa_status gsa_source_check(const gsa_source *source, const char *folder, gsa_error *error);

/* Calls `each` with the path of each file of the names, in order. */
gsa_status gsa_source_names(const gsa_system *system, const char *names,
                            gsa_status (*each)(void *context, const char *path, gsa_error *error),
                            void *context, gsa_error *error);

#endif
