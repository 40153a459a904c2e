#include "topologies/unpack.h"
#include <errno.h>
#include <string.h>
#include "graph/system_parts.h"
#if GSA_HAVE_ZLIB
#include <zlib.h>
#endif
#if GSA_HAVE_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif

enum { CHUNK = 1 << 16, TRAILER = 8 };

struct gsa_unpacker {
    const gsa_system *system;
    const char *path;
    int file, packing;
    int64_t place, packed; /* bytes given; place in the file of chunk[0] */
    int64_t used, held;    /* bytes of the chunk */
    int inside;            /* is a member or frame begun? */
    int raw, skip;         /* gzip entered within a member: trailer bytes still to be passed over */
#if GSA_HAVE_ZLIB
    z_stream gzip;
#endif
#if GSA_HAVE_ZSTD
    ZSTD_DStream *zstd;
#endif
    char chunk[CHUNK];
};

int gsa_packing_of(const char *at, int64_t bytes)
{
    if (bytes >= 2 && memcmp(at, "\x1f\x8b", 2) == 0) return GSA_PACKED_GZIP;
    if (bytes < 4) return GSA_PACKED_NOT;
    const int skippable = (*at & 0xf0) == 0x50 && memcmp(at + 1, "\x2a\x4d\x18", 3) == 0;
    return skippable || memcmp(at, "\x28\xb5\x2f\xfd", 4) == 0 ? GSA_PACKED_ZSTD : GSA_PACKED_NOT;
}

/* More of the file, where all before it is used. */
static gsa_status refill(gsa_unpacker *u, gsa_error *error)
{
    char why[128];
    if (u->used < u->held) return GSA_OK;
    u->packed += u->held, u->used = 0;
    u->held = u->system->read_at(u->system->user, u->file, u->chunk, CHUNK, u->packed);
    if (u->held >= 0) return GSA_OK;
    u->held = 0;
    return gsa_fail(error, GSA_ERR_IO, "%s cannot be read: %s", u->path,
                    gsa_errno_text(errno, why, sizeof why));
}

#if GSA_HAVE_ZLIB || GSA_HAVE_ZSTD
static gsa_status damaged(const gsa_unpacker *u, gsa_error *error)
{
    return gsa_fail(error, GSA_ERR_FORMAT, "%s: the compressed data is damaged near byte %lld",
                    u->path, (long long)(u->packed + u->used));
}

static gsa_status cut_off(const gsa_unpacker *u, gsa_error *error)
{
    return gsa_fail(error, GSA_ERR_FORMAT,
                    "%s: the compressed file ends at byte %lld in the midst of its data: it is "
                    "truncated",
                    u->path, (long long)(u->packed + u->held));
}
#endif

/* ---- gzip ---------------------------------------------------------------------------------- */

#if GSA_HAVE_ZLIB
enum { WITH_HEADER = 15 + 16, WITHOUT = -15 };

static void *alloc_for(void *system, unsigned count, unsigned size)
{
    return gsa_alloc(system, count, size);
}

static void release_for(void *system, void *at)
{
    gsa_release(system, at);
}

static gsa_status open_gzip(gsa_unpacker *u, const gsa_entry *from, gsa_error *error)
{
    u->raw = from && from->window;
    u->gzip = (z_stream){ .zalloc = alloc_for,
                          .zfree = release_for,
                          .opaque = (void *)(uintptr_t)u->system };
    if (inflateInit2(&u->gzip, u->raw ? WITHOUT : WITH_HEADER) != Z_OK)
        return gsa_out_of_memory(error, u->path, GSA_UNPACK_WINDOW);
    if (!u->raw) return GSA_OK;
    if (from->bits) { /* the rest of a byte before */
        unsigned char byte;
        if (u->system->read_at(u->system->user, u->file, &byte, 1, from->packed - 1) != 1)
            return cut_off(u, error);
        inflatePrime(&u->gzip, from->bits, byte >> (8 - from->bits));
    }
    inflateSetDictionary(&u->gzip, (const Bytef *)from->window, (uInt)from->bytes);
    u->inside = 1;
    return GSA_OK;
}

/* A member's end: after a raw one the trailer is still there. */
static void end_member(gsa_unpacker *u)
{
    u->inside = 0, u->skip = u->raw ? TRAILER : 0;
    inflateReset2(&u->gzip, WITH_HEADER);
    u->raw = 0;
}

static gsa_status read_gzip(gsa_unpacker *u, char *to, int64_t room, int notes, int64_t *got,
                            gsa_error *error)
{
    z_stream *z = &u->gzip;
    for (*got = 0; *got == 0;) {
        const gsa_status status = refill(u, error);
        if (status != GSA_OK) return status;
        if (u->held == 0) return u->inside || u->skip ? cut_off(u, error) : GSA_OK;
        if (u->skip) {
            const int64_t left = u->held - u->used, pass = left < u->skip ? left : u->skip;
            u->used += pass, u->skip -= (int)pass;
            continue;
        }
        u->inside = 1;
        z->next_in = (Bytef *)u->chunk + u->used, z->avail_in = (uInt)(u->held - u->used);
        z->next_out = (Bytef *)to, z->avail_out = (uInt)(room < CHUNK ? room : CHUNK);
        const uInt out = z->avail_out;
        const int done = inflate(z, notes ? Z_BLOCK : Z_NO_FLUSH);
        u->used = u->held - z->avail_in, *got = out - z->avail_out;
        if (done == Z_MEM_ERROR) return gsa_out_of_memory(error, u->path, GSA_UNPACK_WINDOW);
        if (done == Z_STREAM_END) end_member(u);
        else if (done != Z_OK && done != Z_BUF_ERROR) return damaged(u, error);
        else if (done == Z_BUF_ERROR && z->avail_in) return damaged(u, error);
    }
    return GSA_OK;
}

static int enter_gzip(const gsa_unpacker *u, gsa_entry *entry)
{
    z_stream *z = (z_stream *)(uintptr_t)&u->gzip;
    uInt bytes = 0;
    if (!u->inside) return u->skip == 0;
    if (!(z->data_type & 128) || z->data_type & 64) return 0;
    entry->window = gsa_alloc(u->system, GSA_UNPACK_WINDOW, 1);
    if (!entry->window) return 0; /* an entry fewer: only time */
    inflateGetDictionary(z, (Bytef *)entry->window, &bytes);
    entry->bytes = (int32_t)bytes, entry->bits = z->data_type & 7;
    return 1;
}
#endif

/* ---- zstd ---------------------------------------------------------------------------------- */

#if GSA_HAVE_ZSTD
static gsa_status read_zstd(gsa_unpacker *u, char *to, int64_t room, int64_t *got, gsa_error *error)
{
    for (*got = 0; *got == 0;) {
        const gsa_status status = refill(u, error);
        if (status != GSA_OK) return status;
        if (u->held == 0 && !u->inside) return GSA_OK;
        ZSTD_inBuffer in = { u->chunk, (size_t)u->held, (size_t)u->used };
        ZSTD_outBuffer out = { to, (size_t)room, 0 };
        const size_t left = ZSTD_decompressStream(u->zstd, &out, &in);
        const ZSTD_ErrorCode why = ZSTD_getErrorCode(left);
        if (why == ZSTD_error_frameParameter_windowTooLarge)
            return gsa_fail(error, GSA_ERR_LIMIT,
                            "%s: its zstd window is more than the 128 MiB that are read: pack it "
                            "again with --long=27 or without --long",
                            u->path);
        if (why == ZSTD_error_memory_allocation)
            return gsa_out_of_memory(error, u->path, INT64_C(1) << 27);
        if (ZSTD_isError(left)) return damaged(u, error);
        if (u->held == 0 && out.pos == 0) return cut_off(u, error);
        u->used = (int64_t)in.pos, *got = (int64_t)out.pos, u->inside = left != 0;
    }
    return GSA_OK;
}
#endif

/* ---- both ---------------------------------------------------------------------------------- */

gsa_status gsa_unpacker_open(const gsa_system *system, const char *path, int file, int packing,
                             const gsa_entry *from, gsa_unpacker **unpacker, gsa_error *error)
{
    gsa_unpacker *u = *unpacker = gsa_alloc_zero(system, 1, sizeof *u);
    gsa_status status = GSA_ERR_UNSUPPORTED;
    if (!u) return gsa_out_of_memory(error, path, (int64_t)sizeof *u);
    u->system = system, u->path = path, u->file = file, u->packing = packing;
    if (from) u->place = from->place, u->packed = from->packed;
#if GSA_HAVE_ZLIB
    if (packing == GSA_PACKED_GZIP) status = open_gzip(u, from, error);
#endif
#if GSA_HAVE_ZSTD
    if (packing == GSA_PACKED_ZSTD) {
        u->zstd = ZSTD_createDStream();
        status = u->zstd ? GSA_OK : gsa_out_of_memory(error, path, CHUNK);
    }
#endif
    if (status == GSA_ERR_UNSUPPORTED)
        gsa_fail(error, status, "%s is compressed, and this build has no %s: unpack it first", path,
                 packing == GSA_PACKED_GZIP ? "zlib" : "libzstd");
    if (status != GSA_OK) gsa_unpacker_release(u), *unpacker = NULL;
    return status;
}

gsa_status gsa_unpacker_read(gsa_unpacker *u, char *to, int64_t room, int notes, int64_t *got,
                             gsa_error *error)
{
    gsa_status status = GSA_OK;
    *got = 0;
    (void)to, (void)room, (void)notes;
#if GSA_HAVE_ZLIB
    if (u->packing == GSA_PACKED_GZIP) status = read_gzip(u, to, room, notes, got, error);
#endif
#if GSA_HAVE_ZSTD
    if (u->packing == GSA_PACKED_ZSTD) status = read_zstd(u, to, room, got, error);
#endif
    u->place += *got;
    return status;
}

int gsa_unpacker_entry(const gsa_unpacker *u, gsa_entry *entry)
{
    *entry = (gsa_entry){ .place = u->place, .packed = u->packed + u->used };
#if GSA_HAVE_ZLIB
    if (u->packing == GSA_PACKED_GZIP) return enter_gzip(u, entry);
#endif
    return !u->inside;
}

void gsa_unpacker_release(gsa_unpacker *u)
{
    if (!u) return;
#if GSA_HAVE_ZLIB
    if (u->packing == GSA_PACKED_GZIP) inflateEnd(&u->gzip);
#endif
#if GSA_HAVE_ZSTD
    if (u->packing == GSA_PACKED_ZSTD) ZSTD_freeDStream(u->zstd);
#endif
    gsa_release(u->system, u);
}
