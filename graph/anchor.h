/* anchor.h - a folder that stays the one that was opened; not installed.
 *
 * Between two calls another process can replace a run's folder by another folder or by a link. An
 * anchor opens the folder once. Its table is the one below,
 * but for paths that begin with the folder's name: they go beneath what was opened, where no link
 * is followed, neither for a folder on the way nor for the last name, and what is read is a regular
 * file: nobody waits for a FIFO in its place. Callers build their paths as ever, and messages name
 * them so.
 *
 * Tables without `hold` have no anchors: theirs are NULL, and all goes by name. */
#ifndef GSA_ANCHOR_H
#define GSA_ANCHOR_H
#include "graph/system.h"

typedef struct gsa_anchor gsa_anchor;

/* Where there is no such folder, nothing is beneath it, even if one comes meanwhile: who reads
 * there says so. The folder is looked for through one table, and the calls go to another: that one
 * itself, or one below it. Both outlive the anchor. Files and memory of its table are those of
 * `below`. */
gsa_status gsa_anchor_open(const gsa_system *through, const gsa_system *below, const char *path,
                           gsa_anchor **anchor, gsa_error *error);
int gsa_anchor_lacks(const gsa_anchor *anchor); /* there was no such folder */
/* The path that leads there, whatever has its name; "" where the folder was not there. */
const char *gsa_anchor_at(const gsa_anchor *anchor);
/* Its table; without an anchor the other one. */
const gsa_system *gsa_anchor_system(const gsa_anchor *anchor, const gsa_system *otherwise);
/* Watches a file of the folder. Its next opening through the anchor's table finds `bytes` in it
 * (-1: any number), and keeps its stamp (system.h), else it fails with ESTALE. So does each later
 * opening, and each read, if the stamp has changed. From the first watched file on, a file of the
 * folder itself that is not watched cannot be opened to be read. Not seen is what is written
 * within the clock's tick of the file's last change, or through a mapping that was written before.
 * No anchor, or a table without stamps: nothing is watched. */
gsa_status gsa_anchor_watch(gsa_anchor *anchor, const char *path, int64_t bytes, gsa_error *error);
void gsa_anchor_close(gsa_anchor *anchor); /* NULL does nothing */

#endif
