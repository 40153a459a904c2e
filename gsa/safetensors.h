/* safetensors.h - named matrices in one file: 8 bytes little-endian header length, a JSON header,
 * raw little-endian data. What is written is read by the official reader; the reader here is
 * strict: header at most 100,000,000 bytes, starts with '{'; known dtypes; shape x dtype equals the
 * bytes (checked); no hole, no overlap, no duplicate name; every number an integer.
 * Any thread; calls share nothing. Errors: GSA_ERR_IO, GSA_ERR_FORMAT (the file is not that),
 * GSA_ERR_NUMBER (NaN or infinity), GSA_ERR_ARGUMENT (a name twice or not UTF-8), GSA_ERR_LIMIT
 * (a header or tensor too large), GSA_ERR_MEMORY.
 *
 * Example:
 *
 *     const float numbers[6] = { 1, 2, 3, 4, 5, 6 };
 *     const gsa_blob blob = { "weight", GSA_DTYPE_F32, 2, { 2, 3 }, numbers };
 *     gsa_error error;
 *     gsa_output *output;
 *     gsa_safetensors file;
 *     if (gsa_output_open(NULL, "x.safetensors", &output, &error)) return puts(error.text), 1;
 *     if (gsa_safetensors_write(NULL, output, &blob, 1, NULL, 0, &error))
 *         return gsa_output_abandon(output), puts(error.text), 1;
 *     if (gsa_output_commit(output, &error) ||
 *         gsa_safetensors_read(NULL, "x.safetensors", &file, &error))
 *         return puts(error.text), 1;
 *     const gsa_blob *found = gsa_safetensors_find(&file, "weight");
 *     const int right = found && gsa_blob_count(found) == 6;
 *     gsa_safetensors_release(&file);
 *     return !right;
 *
 */
#ifndef GSA_SAFETENSORS_H
#define GSA_SAFETENSORS_H
#include "graph/system.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types of numbers in a file of tensors. */
enum gsa_dtype { GSA_DTYPE_F32, GSA_DTYPE_F64, GSA_DTYPE_I32, GSA_DTYPE_I64, GSA_DTYPE_U8 };

typedef struct gsa_blob { /* one tensor */
    const char *name;     /* UTF-8 without NUL */
    int32_t dtype, dims;  /* dims: 0 to 4 */
    int64_t shape[4];     /* [dims] */
    const void *data;     /* little-endian numbers, row-major */
} gsa_blob;
typedef struct gsa_note {    /* one "__metadata__" pair */
    const char *key, *value; /* UTF-8 without NUL */
} gsa_note;

/* Writes to an open output. Names and notes are any UTF-8 without NUL. */
gsa_status gsa_safetensors_write(const gsa_system *system, gsa_output *output,
                                 const gsa_blob *blobs, int count, const gsa_note *notes,
                                 int n_notes, gsa_error *error);

typedef struct gsa_safetensors { /* owns everything that its blobs and notes point to */
    const gsa_system *system;    /* whose memory it is */
    gsa_blob *blobs;             /* [count] in the order of the file */
    int count;                   /* of blobs */
    gsa_note *notes;             /* [n_notes] */
    int n_notes;                 /* of notes */
    char *bytes, *texts;         /* memory of the file, and of the names */
} gsa_safetensors;
/* Reads a whole file and checks its header; gsa_safetensors_release frees what it holds. */
gsa_status gsa_safetensors_read(const gsa_system *system, const char *path, gsa_safetensors *file,
                                gsa_error *error);
/* Names, types and shapes, checked against the file's size; no blob has data. */
gsa_status gsa_safetensors_read_header(const gsa_system *system, const char *path,
                                       gsa_safetensors *file, gsa_error *error);
void gsa_safetensors_release(gsa_safetensors *file);
/* The tensor of that name, the note of that key, as long as the file is open; NULL: none. */
const gsa_blob *gsa_safetensors_find(const gsa_safetensors *file, const char *name);
const char *gsa_safetensors_note(const gsa_safetensors *file, const char *key);
int64_t gsa_blob_count(const gsa_blob *blob); /* numbers in it */
/* Every number of an F32 or F64 blob is finite, else GSA_ERR_NUMBER with its name and place; `path`
 * is for the sentence. O(numbers). */
gsa_status gsa_blob_check_finite(const gsa_blob *blob, const char *path, gsa_error *error);

#ifdef __cplusplus
}
#endif
#endif
