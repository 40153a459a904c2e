/* same_data.h - the files of data.train, data.dev and data.test are those that the run began with:
 * a checkpoint holds their hashes as data.sha256, lines "sha256  data.train"; of translation
 * "data.train.source" and "data.train.target". Texts of data.stream have stream.txt (source.h),
 * files of patterns inputs.sha256, plugins theirs. Vectors and merges are read when a run begins,
 * and never again: weights and words are the checkpoint's. */
#ifndef GSA_SAME_DATA_H
#define GSA_SAME_DATA_H
#include "gsa/checkpoint.h"
#include "train/settings/recipe.h"

enum { GSA_DATA_HASHES = 1024 };
/* *text: the lines of now. With a checkpoint, GSA_ERR_ARGUMENT for a file whose hash it has
 * otherwise, or that is no regular file now; one of an earlier version has none. What was no
 * regular file then is left out. */
gsa_status gsa_data_hash(const gsa_system *system, const gsa_recipe *recipe, const char *checkpoint,
                         char text[GSA_DATA_HASHES], gsa_error *error);
/* Writes data.sha256; nothing where the text is "". */
gsa_status gsa_data_save(gsa_checkpoint *checkpoint, const char *text, gsa_error *error);

#endif
