/* safetensors.c - reading a file of named matrices: length, header (safetensors_header.c), data.
 * Peak memory is the file's size and some: each tensor is read straight into its own place, aligned
 * to 16 bytes whatever the file does. */
#include "safetensors.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "graph/system_parts.h"
#include "safetensors_parts.h"

enum { ALIGN = 16 };

const gsa_dtype_fact *gsa_dtype_about(int32_t dtype)
{
    static const gsa_dtype_fact facts[] = { [GSA_DTYPE_F32] = { "F32", 4 },
                                            [GSA_DTYPE_F64] = { "F64", 8 },
                                            [GSA_DTYPE_I32] = { "I32", 4 },
                                            [GSA_DTYPE_I64] = { "I64", 8 },
                                            [GSA_DTYPE_U8] = { "U8", 1 } };
    return dtype >= 0 && dtype < (int32_t)(sizeof facts / sizeof *facts) ? &facts[dtype] : NULL;
}

int64_t gsa_blob_count(const gsa_blob *blob)
{
    int64_t count = 1;
    int empty = 0, fits = 1;
    for (int i = 0; i < blob->dims; i++) {
        empty |= blob->shape[i] == 0;
        fits = fits && gsa_mul(count, blob->shape[i] ? blob->shape[i] : 1, &count);
    }
    return !fits ? -1 : empty ? 0 : count;
}

int gsa_blob_bytes(const gsa_blob *blob, int64_t *bytes)
{
    return gsa_mul(gsa_blob_count(blob), gsa_dtype_about(blob->dtype)->bytes, bytes);
}

/* ---- numbers ------------------------------------------------------------------------------- */

/* The first that is NaN or infinite: all bits of its exponent are set. -1: none. Blocks first, so
 * that the loop holds no branch. */
static int64_t first_bad_float(const uint32_t *bits, int64_t count)
{
    enum { BLOCK = 4096 };
    const uint32_t exponent = 0x7f800000u;
    for (int64_t from = 0; from < count; from += BLOCK) {
        const int64_t to = from + BLOCK < count ? from + BLOCK : count;
        uint32_t bad = 0;
        for (int64_t i = from; i < to; i++) bad |= (bits[i] & exponent) == exponent;
        for (int64_t i = from; bad && i < to; i++)
            if ((bits[i] & exponent) == exponent) return i;
    }
    return -1;
}

static int64_t first_bad_double(const double *numbers, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(numbers[i])) return i;
    return -1;
}

gsa_status gsa_blob_check_finite(const gsa_blob *blob, const char *path, gsa_error *error)
{
    const int64_t count = gsa_blob_count(blob);
    const int64_t at = blob->dtype == GSA_DTYPE_F32   ? first_bad_float(blob->data, count)
                       : blob->dtype == GSA_DTYPE_F64 ? first_bad_double(blob->data, count)
                                                      : -1;
    if (at < 0) return GSA_OK;
    const int64_t columns = blob->dims > 1 ? blob->shape[blob->dims - 1] : 1;
    const double value = blob->dtype == GSA_DTYPE_F32 ? (double)((const float *)blob->data)[at]
                                                      : ((const double *)blob->data)[at];
    return gsa_fail(error, GSA_ERR_NUMBER,
                    "'%s': row %" PRId64 ", column %" PRId64
                    " of '%s', counted from 0, is %g, expected a finite number",
                    path, at / columns, at % columns, blob->name, gsa_shown(value));
}

/* ---- names --------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *first_twin(const char **names, int count)
{
    if (count > 1) qsort(names, (size_t)count, sizeof *names, by_text);
    for (int i = 1; i < count; i++)
        if (strcmp(names[i - 1], names[i]) == 0) return names[i];
    return NULL;
}

gsa_status gsa_safetensors_twin(const gsa_system *system, const gsa_blob *blobs, int count,
                                const gsa_note *notes, int n_notes, const char **twin,
                                gsa_error *error)
{
    const int most = count > n_notes ? count : n_notes;
    const char **names = gsa_alloc(system, (size_t)most, sizeof *names);
    if (!names)
        return gsa_out_of_memory(error, "the names of a safetensors file",
                                 most * (int64_t)sizeof *names);
    for (int i = 0; i < count; i++) names[i] = blobs[i].name;
    *twin = first_twin(names, count);
    for (int i = 0; i < n_notes; i++) names[i] = notes[i].key;
    if (!*twin) *twin = first_twin(names, n_notes);
    gsa_release(system, names);
    return GSA_OK;
}

const gsa_blob *gsa_safetensors_find(const gsa_safetensors *file, const char *name)
{
    for (int i = 0; i < file->count; i++)
        if (strcmp(file->blobs[i].name, name) == 0) return &file->blobs[i];
    return NULL;
}

const char *gsa_safetensors_note(const gsa_safetensors *file, const char *key)
{
    for (int i = 0; i < file->n_notes; i++)
        if (strcmp(file->notes[i].key, key) == 0) return file->notes[i].value;
    return NULL;
}

/* ---- reading ------------------------------------------------------------------------------- */

typedef struct source {
    const gsa_system *system;
    const char *path;
    int file;
    int64_t size; /* of a regular file, else -1: only its end will tell */
    int64_t most; /* bytes that there can be: of a descriptor, those of its file; or INT64_MAX */
    gsa_error *error;
} source;

/* As many bytes as there are, at most `bytes`; -1 with a sentence. */
static int64_t read_some(source *in, void *to, int64_t bytes)
{
    int64_t have = 0;
    while (have < bytes) {
        const int64_t got =
            in->system->read(in->system->user, in->file, (char *)to + have, bytes - have);
        if (got < 0) {
            char why[128];
            gsa_fail(in->error, GSA_ERR_IO, "'%s' cannot be read: %s", in->path,
                     gsa_errno_text(errno, why, sizeof why));
            return -1;
        }
        if (got == 0) break;
        have += got;
    }
    return have;
}

static gsa_status read_exactly(source *in, void *to, int64_t bytes, const char *what)
{
    const int64_t have = read_some(in, to, bytes);
    if (have == bytes) return GSA_OK;
    if (have < 0) return GSA_ERR_IO;
    return gsa_fail(in->error, GSA_ERR_FORMAT,
                    "'%s' is cut short: %" PRId64 " of the %" PRId64 " bytes of its %s are there",
                    in->path, have, bytes, what);
}

static gsa_status read_length(source *in, int64_t *length)
{
    uint8_t raw[8];
    const gsa_status status = read_exactly(in, raw, 8, "header length");
    if (status != GSA_OK) return status;
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) value |= (uint64_t)raw[i] << 8 * i;
    if (value > (uint64_t)GSA_SAFETENSORS_MAX_HEADER)
        return gsa_fail(in->error, GSA_ERR_FORMAT,
                        "'%s' says that its header has %" PRIu64
                        " bytes, and the limit is %" PRId64,
                        in->path, value, GSA_SAFETENSORS_MAX_HEADER);
    *length = (int64_t)value;
    if (*length <= in->most - 8) return GSA_OK;
    return gsa_fail(in->error, GSA_ERR_FORMAT,
                    "'%s' is cut short: its header has %" PRId64 " bytes and %" PRId64 " are there",
                    in->path, *length, in->most - 8);
}

static int by_place(const void *a, const void *b)
{
    const gsa_span *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->end != y->end ? (x->end < y->end ? -1 : 1)
                            : (x->blob > y->blob) - (x->blob < y->blob);
}

/* Sorts the spans by place, where each must begin where the one before ended; *total: the end of
 * the last. */
static gsa_status check_spans(source *in, const gsa_safetensors *file, gsa_span *spans,
                              int64_t *total)
{
    int64_t end = 0;
    if (file->count > 1) qsort(spans, (size_t)file->count, sizeof *spans, by_place);
    for (int i = 0; i < file->count; i++) {
        if (spans[i].begin != end)
            return gsa_fail(in->error, GSA_ERR_FORMAT,
                            "'%s': the data of '%.160s' begins at %" PRId64
                            ", which leaves %s: the data before it ends at %" PRId64,
                            in->path, file->blobs[spans[i].blob].name, spans[i].begin,
                            spans[i].begin > end ? "a hole" : "an overlap", end);
        end = spans[i].end;
    }
    *total = end;
    return GSA_OK;
}

static gsa_status check_size(source *in, int64_t header, int64_t total)
{
    const int64_t there = in->most - 8 - header;
    if (in->most == INT64_MAX || there == total || (in->size < 0 && there > total)) return GSA_OK;
    return gsa_fail(in->error, GSA_ERR_FORMAT,
                    "'%s' %s: its header describes %" PRId64 " bytes of data and %" PRId64
                    " are there",
                    in->path, there < total ? "is cut short" : "has trailing bytes", total, there);
}

/* The data in order of place, each tensor into a place of its own. */
static gsa_status read_data(source *in, gsa_safetensors *file, const gsa_span *spans, int64_t total)
{
    int64_t room;
    char extra;
    if (!gsa_add(total, (int64_t)file->count * ALIGN, &room)) room = INT64_MAX;
    file->bytes = gsa_alloc(in->system, (size_t)room, 1);
    if (!file->bytes) return gsa_out_of_memory(in->error, in->path, room);
    char *next = file->bytes;
    for (int i = 0; i < file->count; i++) {
        const int64_t bytes = spans[i].end - spans[i].begin;
        const gsa_status status = read_exactly(in, next, bytes, "data");
        if (status != GSA_OK) return status;
        file->blobs[spans[i].blob].data = next;
        next += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    }
    const int64_t more = read_some(in, &extra, 1);
    if (more == 0) return GSA_OK;
    if (more < 0) return GSA_ERR_IO;
    return gsa_fail(in->error, GSA_ERR_FORMAT,
                    "'%s' has trailing bytes after the %" PRId64 " of its data", in->path, total);
}

static gsa_status read_all(source *in, int data, gsa_safetensors *file, gsa_span **spans)
{
    int64_t length = 0, total = 0;
    gsa_status status = read_length(in, &length);
    if (status != GSA_OK) return status;
    file->texts = gsa_alloc(in->system, (size_t)length + 1, 1);
    if (!file->texts) return gsa_out_of_memory(in->error, in->path, length + 1);
    if ((status = read_exactly(in, file->texts, length, "header")) != GSA_OK) return status;
    file->texts[length] = 0;
    status =
        gsa_safetensors_parse(in->system, in->path, file->texts, length, file, spans, in->error);
    if (status == GSA_OK) status = check_spans(in, file, *spans, &total);
    if (status == GSA_OK) status = check_size(in, length, total);
    return status == GSA_OK && data ? read_data(in, file, *spans, total) : status;
}

static gsa_status open_source(source *in)
{
    int64_t bytes = 0;
    gsa_stamp now;
    const gsa_system *system = in->system;
    const int kind =
        strcmp(in->path, "-") == 0 ? GSA_FILE_OTHER : system->kind(system->user, in->path, &bytes);
    if (kind == GSA_FILE_FOLDER)
        return gsa_fail(in->error, GSA_ERR_IO, "'%s' cannot be read: it is a folder", in->path);
    in->size = kind == GSA_FILE_REGULAR ? bytes : -1;
    in->file = system->open(system->user, in->path, GSA_OPEN_READ);
    /* a pipe or a device has no bytes by its stamp */
    if (in->size < 0 && in->file >= 0 && system->stamp &&
        system->stamp(system->user, in->file, &now) == 0)
        bytes = now.bytes;
    in->most = in->size >= 0 || bytes > 0 ? bytes : INT64_MAX;
    if (in->file >= 0) return GSA_OK;
    char why[128];
    return gsa_fail(in->error, GSA_ERR_IO, "'%s' cannot be opened: %s", in->path,
                    gsa_errno_text(errno, why, sizeof why));
}

static gsa_status read_file(const gsa_system *system, const char *path, int data,
                            gsa_safetensors *file, gsa_error *error)
{
    system = gsa_system_or_default(system);
    *file = (gsa_safetensors){ .system = system };
    source in = { .system = system, .path = path, .error = error };
    gsa_span *spans = NULL;
    gsa_status status = open_source(&in);
    if (status != GSA_OK) return status;
    status = read_all(&in, data, file, &spans);
    system->close(system->user, in.file);
    gsa_release(system, spans);
    if (status != GSA_OK) gsa_safetensors_release(file);
    return status;
}

gsa_status gsa_safetensors_read(const gsa_system *system, const char *path, gsa_safetensors *file,
                                gsa_error *error)
{
    return read_file(system, path, 1, file, error);
}

gsa_status gsa_safetensors_read_header(const gsa_system *system, const char *path,
                                       gsa_safetensors *file, gsa_error *error)
{
    return read_file(system, path, 0, file, error);
}

void gsa_safetensors_release(gsa_safetensors *file)
{
    gsa_release(file->system, file->blobs);
    gsa_release(file->system, file->notes);
    gsa_release(file->system, file->bytes);
    gsa_release(file->system, file->texts);
    *file = (gsa_safetensors){ .system = file->system };
}
