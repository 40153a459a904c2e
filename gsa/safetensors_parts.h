/* safetensors_parts.h - what the reader and the writer of the format share; not installed. */
#ifndef GSA_SAFETENSORS_PARTS_H
#define GSA_SAFETENSORS_PARTS_H
#include "safetensors.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the data of a safetensors file is little-endian and is read and written as it is in memory"
#endif

#define GSA_SAFETENSORS_METADATA   "__metadata__"
#define GSA_SAFETENSORS_MAX_HEADER INT64_C(100000000) /* the official reader's limit */
#define GSA_SAFETENSORS_DTYPES     "F32, F64, I32, I64, U8"
enum { GSA_SAFETENSORS_MAX_DIMS = 4 };

typedef struct gsa_dtype_fact {
    const char *name;
    int64_t bytes;
} gsa_dtype_fact;
const gsa_dtype_fact *gsa_dtype_about(int32_t dtype); /* NULL: no such number */

/* Bytes of its data, whose dtype and dims are in range: 1, or 0 when the shape or the product are
 * not. */
int gsa_blob_bytes(const gsa_blob *blob, int64_t *bytes);

/* *twin: a name (or a note's key) that is there twice, else NULL. */
gsa_status gsa_safetensors_twin(const gsa_system *system, const gsa_blob *blobs, int count,
                                const gsa_note *notes, int n_notes, const char **twin,
                                gsa_error *error);

typedef struct gsa_span { /* where a blob's data lies, counted from the end of the header */
    int64_t begin, end;
    int blob;
} gsa_span;

/* The JSON header, read in place: strings are decoded inside `text`, which ends with a zero byte
 * that is not counted. Fills file->blobs (without data) and notes, and one span a blob, in the same
 * order, released by the caller. On failure file->blobs, file->notes and *spans are to be released
 * all the same. */
gsa_status gsa_safetensors_parse(const gsa_system *system, const char *path, char *text,
                                 int64_t bytes, gsa_safetensors *file, gsa_span **spans,
                                 gsa_error *error);

#endif
