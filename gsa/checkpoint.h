/* checkpoint.h - a folder of checkpoints that is never half-written.
 *
 * Example:
 *
 *     gsa_error error;
 *     gsa_checkpoint *checkpoint;
 *     gsa_output *output;
 *     char *path, *warning;
 *     if (gsa_checkpoint_begin(NULL, "model", 7, &checkpoint, &error)) return puts(error.text), 1;
 *     int failed = gsa_checkpoint_file(checkpoint, "words.txt", &output, &error);
 *     if (failed) return gsa_checkpoint_abandon(checkpoint), puts(error.text), 1;
 *     gsa_output_text(output, "a b c\n");
 *     failed = gsa_output_commit(output, &error);
 *     if (failed) return gsa_checkpoint_abandon(checkpoint), puts(error.text), 1;
 *     if (gsa_checkpoint_commit(checkpoint, 2, &error) ||
 *         gsa_checkpoint_find(NULL, "model", NULL, &path, &warning, &error))
 *         return puts(error.text), 1;
 *     puts(path); // model/step-7
 *     gsa_release(NULL, path), gsa_release(NULL, warning);
 *     return 0;
 *
 *   DIR/step-N/{files..., manifest.sha256}
 *       written as DIR/step-N.tmp-gsa, files and folder synced, renamed
 *   DIR/latest                                one line, "step-N", replaced after the rename
 * The previous checkpoint is kept, older ones are removed after `latest` points to the new one;
 * what a kill left (*.tmp-gsa, *.old-gsa) goes with the next save, where it holds no other file.
 * Reading follows `latest`, checks what will be read by the manifest, and falls back to the newest
 * other step whose manifest holds, saying so. One process at a time saves in a folder, in one
 * thread (the command holds a lock); any may read. Errors: GSA_ERR_ARGUMENT (a name that is no file
 * name), GSA_ERR_IO, GSA_ERR_FORMAT (damaged, or no checkpoint). */
#ifndef GSA_CHECKPOINT_H
#define GSA_CHECKPOINT_H
#include "parameters.h"
#include "safetensors.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gsa_checkpoint gsa_checkpoint; /* one being written */

/* Begins a checkpoint FOLDER/step-N, written under another name until the commit. */
gsa_status gsa_checkpoint_begin(const gsa_system *system, const char *folder, int64_t step,
                                gsa_checkpoint **checkpoint, gsa_error *error);
/* An output for one file of it ("model.safetensors"); the caller commits it before the next. */
gsa_status gsa_checkpoint_file(gsa_checkpoint *checkpoint, const char *name, gsa_output **output,
                               gsa_error *error);
/* Manifest, sync, rename, latest, pruning. `keep` >= 1 checkpoints stay in all. Releases the
 * checkpoint, also on failure. */
gsa_status gsa_checkpoint_commit(gsa_checkpoint *checkpoint, int keep, gsa_error *error);
/* Removes what was written, unless a file that is not the checkpoint's is there: then the folder
 * stays, as it does where memory or the disk fails, and the next save removes it. */
void gsa_checkpoint_abandon(gsa_checkpoint *checkpoint);

/* Finds a whole checkpoint: `folder` itself when it holds a manifest, else as above. `unread`
 * (NULL: none) names
 * a file of it that the caller will not read: that one is not checked and may be missing. `path`
 * receives the
 * step's folder; *warning is NULL or one sentence when it had to fall back. The caller releases
 * both. */
gsa_status gsa_checkpoint_find(const gsa_system *system, const char *folder, const char *unread,
                               char **path, char **warning, gsa_error *error);

/* ---- parameters as safetensors: float or double as the backend's; read checks names and shapes
 * both ways: a missing, unknown or differently shaped tensor is GSA_ERR_FORMAT ("checkpoint of
 * another model: ..."), one that holds a NaN or an infinity GSA_ERR_NUMBER (but see
 * GSA_WITHOUT_CHECKING), and nothing is changed. Nor is such a one written: GSA_ERR_NUMBER. */
gsa_status gsa_parameters_write(const gsa_system *system, const gsa_parameters *parameters,
                                gsa_output *output, const gsa_note *notes, int n_notes,
                                gsa_error *error);
gsa_status gsa_parameters_read(const gsa_system *system, gsa_parameters *parameters,
                               const char *path, gsa_error *error);
/* From now on a parameter is added only where the file has one of that name and shape, so that a
 * model of other sizes is refused before its memory is requested. The file's header alone is read;
 * the caller releases it once the parameters are there, after gsa_parameters_ask(.., NULL, NULL).
 */
typedef struct gsa_expected {
    gsa_safetensors header;     /* of the file; gsa_expected owns it */
    const char *path;           /* borrowed */
    const gsa_backend *backend; /* whose numbers are counted */
} gsa_expected;
/* Opens the header of the weights at `path`, which `expected` then holds. */
gsa_status gsa_parameters_expect(const gsa_system *system, gsa_parameters *parameters,
                                 const char *path, gsa_expected *expected, gsa_error *error);

#ifdef __cplusplus
}
#endif
#endif
