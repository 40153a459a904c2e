/* safetensors_write.c - the header is walked twice, first to count its bytes; nothing is allocated
 * for it. Wide numbers come first in the data and the header is padded to 8 bytes, so that every
 * tensor is aligned for whoever maps the file. */
#include <inttypes.h>
#include <string.h>
#include "graph/system_parts.h"
#include "graph/utf8.h"
#include "safetensors_parts.h"

typedef struct sink {
    gsa_output *output; /* NULL: counts only */
    int64_t bytes;
} sink;

static void put(sink *to, const char *text, int64_t bytes)
{
    if (to->output) gsa_output_write(to->output, text, bytes);
    to->bytes += bytes;
}

static void put_text(sink *to, const char *text)
{
    put(to, text, (int64_t)strlen(text));
}

static void put_string(sink *to, const char *text)
{
    static const char digits[] = "0123456789abcdef";
    put_text(to, "\"");
    for (const char *c = text; *c; c++) {
        const unsigned char byte = (unsigned char)*c;
        const char control[6] = { '\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15] },
                   plain[2] = { '\\', *c };
        if (byte < 0x20) put(to, control, 6);
        else if (byte == '"' || byte == '\\') put(to, plain, 2);
        else put(to, c, 1);
    }
    put_text(to, "\"");
}

static void put_number(sink *to, int64_t number)
{
    char text[24], *at = text + sizeof text;
    do *--at = (char)('0' + number % 10);
    while (number /= 10);
    put(to, at, text + sizeof text - at);
}

static void put_notes(sink *to, const gsa_note *notes, int count)
{
    put_text(to, "\"" GSA_SAFETENSORS_METADATA "\":{");
    for (int i = 0; i < count; i++) {
        if (i > 0) put_text(to, ",");
        put_string(to, notes[i].key);
        put_text(to, ":");
        put_string(to, notes[i].value);
    }
    put_text(to, "}");
}

static void put_blob(sink *to, const gsa_blob *blob, int64_t begin, int64_t end)
{
    put_string(to, blob->name);
    put_text(to, ":{\"dtype\":\"");
    put_text(to, gsa_dtype_about(blob->dtype)->name);
    put_text(to, "\",\"shape\":[");
    for (int i = 0; i < blob->dims; i++) {
        if (i > 0) put_text(to, ",");
        put_number(to, blob->shape[i]);
    }
    put_text(to, "],\"data_offsets\":[");
    put_number(to, begin);
    put_text(to, ",");
    put_number(to, end);
    put_text(to, "]}");
}

static const int64_t widths[] = { 8, 4, 1 }; /* the order of the data */
enum { WIDTHS = sizeof widths / sizeof *widths };

/* {"__metadata__":{...},"name":{...},...} in the order of the data, filled up with spaces to
 * `padded` bytes. */
static void put_header(sink *to, const gsa_blob *blobs, int count, const gsa_note *notes,
                       int n_notes, int64_t padded)
{
    int64_t begin = 0, bytes;
    int first = n_notes == 0;
    put_text(to, "{");
    if (n_notes > 0) put_notes(to, notes, n_notes);
    for (int w = 0; w < WIDTHS; w++) {
        for (int i = 0; i < count; i++) {
            if (gsa_dtype_about(blobs[i].dtype)->bytes != widths[w] ||
                !gsa_blob_bytes(&blobs[i], &bytes))
                continue;
            if (!first) put_text(to, ",");
            put_blob(to, &blobs[i], begin, begin + bytes);
            begin += bytes, first = 0;
        }
    }
    put_text(to, "}");
    while (to->bytes < padded) put_text(to, " ");
}

static void put_data(gsa_output *output, const gsa_blob *blobs, int count)
{
    int64_t bytes;
    for (int w = 0; w < WIDTHS; w++)
        for (int i = 0; i < count; i++)
            if (gsa_dtype_about(blobs[i].dtype)->bytes == widths[w] &&
                gsa_blob_bytes(&blobs[i], &bytes))
                gsa_output_write(output, blobs[i].data, bytes);
}

static gsa_status check_text(const char *text, const char *what, gsa_error *error)
{
    if (!text) return gsa_fail(error, GSA_ERR_ARGUMENT, "%s to be written is NULL", what);
    const int64_t bad = gsa_utf8_invalid(text, (int64_t)strlen(text));
    if (bad < 0) return GSA_OK;
    return gsa_fail(error, GSA_ERR_ARGUMENT, "%s '%.160s' is not valid UTF-8 at byte %" PRId64,
                    what, text, bad);
}

static gsa_status check_blob(const gsa_blob *blob, int64_t *total, gsa_error *error)
{
    int64_t bytes;
    const gsa_status status = check_text(blob->name, "a tensor's name", error);
    if (status != GSA_OK) return status;
    if (strcmp(blob->name, GSA_SAFETENSORS_METADATA) == 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "a tensor cannot be named '" GSA_SAFETENSORS_METADATA "'");
    if (!gsa_dtype_about(blob->dtype))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "'%.160s' has the dtype %d, which is not one of " GSA_SAFETENSORS_DTYPES,
                        blob->name, (int)blob->dtype);
    if (blob->dims < 0 || blob->dims > GSA_SAFETENSORS_MAX_DIMS)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "'%.160s' has %d dims, not 0 to %d", blob->name,
                        (int)blob->dims, GSA_SAFETENSORS_MAX_DIMS);
    if (!gsa_blob_bytes(blob, &bytes) || !gsa_add(*total, bytes, total))
        return gsa_fail(error, GSA_ERR_LIMIT,
                        "the shape of '%.160s' is negative or too large to be counted", blob->name);
    if (bytes > 0 && !blob->data)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "'%.160s' has no data", blob->name);
    return GSA_OK;
}

static gsa_status check_all(const gsa_system *system, const gsa_blob *blobs, int count,
                            const gsa_note *notes, int n_notes, gsa_error *error)
{
    int64_t total = 0;
    const char *twin;
    gsa_status status = GSA_OK;
    if (count < 0 || n_notes < 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "%d tensors and %d notes cannot be written", count,
                        n_notes);
    for (int i = 0; i < count && status == GSA_OK; i++)
        status = check_blob(&blobs[i], &total, error);
    for (int i = 0; i < n_notes && status == GSA_OK; i++) {
        status = check_text(notes[i].key, "a note's key", error);
        if (status == GSA_OK) status = check_text(notes[i].value, "a note's value", error);
    }
    if (status == GSA_OK)
        status = gsa_safetensors_twin(system, blobs, count, notes, n_notes, &twin, error);
    if (status != GSA_OK || !twin) return status;
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "the name '%.160s' occurs twice among what is to be written", twin);
}

gsa_status gsa_safetensors_write(const gsa_system *system, gsa_output *output,
                                 const gsa_blob *blobs, int count, const gsa_note *notes,
                                 int n_notes, gsa_error *error)
{
    system = gsa_system_or_default(system);
    const gsa_status status = check_all(system, blobs, count, notes, n_notes, error);
    if (status != GSA_OK) return status;
    sink measure = { 0 }, real = { .output = output };
    put_header(&measure, blobs, count, notes, n_notes, 0);
    const int64_t length = (measure.bytes + 7) / 8 * 8;
    if (length > GSA_SAFETENSORS_MAX_HEADER)
        return gsa_fail(error, GSA_ERR_LIMIT,
                        "the header would have %" PRId64 " bytes, and the limit is %" PRId64,
                        length, GSA_SAFETENSORS_MAX_HEADER);
    uint8_t raw[8];
    for (int i = 0; i < 8; i++) raw[i] = (uint8_t)((uint64_t)length >> 8 * i);
    gsa_output_write(output, raw, 8);
    put_header(&real, blobs, count, notes, n_notes, length);
    put_data(output, blobs, count);
    return GSA_OK;
}
