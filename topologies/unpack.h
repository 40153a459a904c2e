/* unpack.h - the bytes of one file, unpacked where it is .gz (RFC 1952, by zlib) or .zst (RFC 8878,
 * by libzstd), from its start or from an entry. A file of several members or frames is one. */
#ifndef GSA_UNPACK_H
#define GSA_UNPACK_H
#include "graph/system.h"

enum gsa_packing { GSA_PACKED_NOT, GSA_PACKED_GZIP, GSA_PACKED_ZSTD };
enum { GSA_UNPACK_WINDOW = 1 << 15 };
/* Where what a file unpacks to is kept, a small one cannot claim all memory: above GSA_UNPACK_EASY
 * bytes it may unpack to GSA_UNPACK_RATIO times its size. */
enum { GSA_UNPACK_EASY = 1 << 26, GSA_UNPACK_RATIO = 256 };
static inline int64_t gsa_unpack_most(int64_t packed)
{
    return packed > GSA_UNPACK_EASY / GSA_UNPACK_RATIO ? packed * GSA_UNPACK_RATIO
                                                       : GSA_UNPACK_EASY;
}

typedef struct gsa_entry { /* where unpacking can begin */
    int64_t place;         /* byte of what is unpacked */
    int64_t packed;        /* byte of the file */
    int32_t bits, bytes;   /* of gzip: bits of the byte before; bytes of the window */
    char *window;          /* what came before, owned by who keeps the entry; NULL: a start */
} gsa_entry;

typedef struct gsa_unpacker gsa_unpacker;

/* By its first bytes. */
int gsa_packing_of(const char *at, int64_t bytes);
/* `file` is open, and stays the caller's. A packing that this build lacks is a sentence. */
gsa_status gsa_unpacker_open(const gsa_system *system, const char *path, int file, int packing,
                             const gsa_entry *from, gsa_unpacker **unpacker, gsa_error *error);
/* Up to `room` bytes; *got 0: the end. notes: it stops where an entry may be. A file that ends too
 * early, or is damaged, is a sentence. */
gsa_status gsa_unpacker_read(gsa_unpacker *unpacker, char *to, int64_t room, int notes,
                             int64_t *got, gsa_error *error);
/* 1 and the entry here; 0: none can be here. */
int gsa_unpacker_entry(const gsa_unpacker *unpacker, gsa_entry *entry);
void gsa_unpacker_release(gsa_unpacker *unpacker); /* NULL is fine */

#endif
