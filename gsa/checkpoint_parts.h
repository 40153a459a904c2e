/* checkpoint_parts.h - what writing and finding checkpoints share; not installed. */
#ifndef GSA_CHECKPOINT_PARTS_H
#define GSA_CHECKPOINT_PARTS_H
#include "graph/anchor.h"

#define GSA_MANIFEST "manifest.sha256"
#define GSA_LATEST   "latest"
#define GSA_STEP     "step-"
#define GSA_WRITING  ".tmp-gsa" /* step-N.tmp-gsa[-K]: being written, or being removed */
#define GSA_REPLACED                                                                               \
    ".old-gsa" /* step-N.old-gsa: whole; a newer step-N takes its place. Removed after that one is \
              in `latest` */

#define GSA_STATE_FILE                                                                             \
    "state.safetensors"    /* moments and counts: `gsa train --resume` and `gsa average` read it */
#define GSA_RUN_NOTE "run" /* of it: which run it is of. Earlier versions wrote none */

/* Formatted text, released by the caller; NULL: no memory. */
char *gsa_text_of(const gsa_system *system, const char *format, ...) GSA_PRINTF(2, 3);

/* Is `name` step-N with that suffix ("" for a finished one; GSA_WRITING: also with -K)? N as
 * printed: digits, no leading zero. */
int gsa_step_of(const char *name, const char *suffix, int64_t *step);
/* The step that the folder's name says, also with ".old-gsa"; -1: it is none of a step. */
int64_t gsa_step_of_folder(const char *folder);

/* gsa_checkpoint_find (checkpoint.h) in a folder that stays the one that was opened: the anchor
 * (anchor.h) holds the checkpoint that was found. On failure there is none. */
gsa_status gsa_checkpoint_hold(const gsa_system *through, const gsa_system *below,
                               const char *folder, const char *unread, gsa_anchor **anchor,
                               char **path, char **warning, gsa_error *error);

/* Removes what a kill left of the folder's checkpoints, which the caller has locked; one that
 * stepped aside and was never replaced comes back. What a save does before all else. */
gsa_status gsa_checkpoint_clean(const gsa_system *system, const char *folder, gsa_error *error);

typedef struct gsa_names { /* what a folder holds; owns its texts */
    const gsa_system *system;
    char **at;
    int count, room, failed;
} gsa_names;
gsa_status gsa_names_list(const gsa_system *system, const char *folder, gsa_names *names,
                          gsa_error *error);
gsa_status gsa_names_add(gsa_names *names, const char *name, gsa_error *error);
void gsa_names_release(gsa_names *names);

/* ---- manifest.sha256: "<64 hex digits>  <name>" a line, as `sha256sum` prints and `sha256sum -c`
 * checks, then "# N files of step-M" (0.1.0: "# N files"). Names are [A-Za-z0-9._-]+ and start with
 * no dot, so that nothing is quoted and nothing leaves the folder. */
enum { GSA_MOST_FILES = 64 /* of a checkpoint */ };
int gsa_manifest_takes(const char *name);
gsa_status gsa_manifest_write(const gsa_system *system, const char *folder, int64_t step,
                              const gsa_names *names, gsa_error *error);
/* The names in it, whatever its hashes are; none where there is no such file. *whole: the list
 * ends as it should, and with the folder's step. */
gsa_status gsa_manifest_names(const gsa_system *system, const char *folder, gsa_names *names,
                              int *whole, gsa_error *error);
/* The list is whole, every listed file but `unread` (NULL: none) is there with its hash, and no
 * other file of a name that a list takes is: else GSA_ERR_FORMAT or GSA_ERR_IO. Too large a file,
 * or one that is nearly all hole: GSA_ERR_LIMIT. Through the anchor, if the folder has one, which
 * watches what was checked: what is read there later is that. */
gsa_status gsa_manifest_check(gsa_anchor *anchor, const gsa_system *system, const char *folder,
                              const char *unread, gsa_error *error);

#endif
