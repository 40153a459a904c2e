/* marked.h - checkpoints whose files tell which it is: the bytes of three files depend on the mark
 * and the file. */
#ifndef GSA_TEST_MARKED_H
#define GSA_TEST_MARKED_H
#include "gsa/checkpoint.h"

enum { MARKED_FILES = 3, MARKED_BIG = 20000 }; /* more than is hashed at a time */
extern const char *const marked_file[MARKED_FILES];
extern const int64_t marked_size[MARKED_FILES];

void marked_fill(char *out, int mark, int file); /* marked_size[file] bytes */
gsa_status marked_put(gsa_checkpoint *checkpoint, int mark, gsa_error *error);
gsa_status marked_save(const gsa_system *system, const char *folder, int64_t step, int mark,
                       int keep, gsa_error *error);
void marked_must_save(const char *folder, int64_t step, int mark, int keep);
/* Are the files of `path` those of `mark`, all of them? */
int marked_is(const gsa_system *system, const char *path, int mark);
/* The last part of the path that is found, "" when none is; which mark, when it is one of `marks`
 * (the list ends with -1); was there a warning? The text lives until the next call. */
const char *marked_found(const gsa_system *system, const char *folder, const int *marks, int *mark,
                         int *warned);
/* The names in a folder, sorted, with a space between them; the text lives until the next call. */
const char *marked_names(const gsa_system *system, const char *folder);
#define MARKED_NAMES(scratch) marked_names(gsa_system_default(), (scratch).folder)
void marked_flip(const char *path, int64_t at); /* one bit of the file's byte */
void marked_copy(const char *folder, const char *from, const char *to); /* of a step's folder */

#endif
