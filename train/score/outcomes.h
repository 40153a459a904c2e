/* outcomes.h - what an evaluation found of each unit (task.h), kept so that two runs can be
 * compared on the same units. As a file, JSON lines: for each split
 *   {"outcomes": 1, "split": "dev", "task": "text_classification", "metric": "accuracy", "seed": 1,
 *     "units": 1101,
 *    "gold": "SHA-256", "signature": "..."}
 * and then, for each of its units in the order of the data,
 *   [loss, right, targets, examples, hits, found, wanted]
 *       and, of spans, strict hits, found and wanted
 * A plugin's task says of itself also "rising" and "f1" (task.h), so that its file is compared
 * without it. `gold` is the hash of what was to be found: for each example the number of its
 * targets, and these; of labels, tags and answers as the file writes them, so that runs that number
 * labels or cut texts otherwise can be compared. */
#ifndef GSA_OUTCOMES_H
#define GSA_OUTCOMES_H
#include "train/driver/session.h"

enum { GSA_SIGNATURE = 512 };

typedef struct gsa_outcomes { /* of one split */
    const gsa_system *system;
    const gsa_task *task;
    int64_t seed, units;
    gsa_score *unit;
    struct gsa_outcome_task *own; /* of a file: the facts of a plugin's task, or NULL */
    char gold[65], signature[GSA_SIGNATURE];
} gsa_outcomes;

/* Scores the split as gsa_session_score does and keeps what it is made of. An absent split has no
 * units. */
gsa_status gsa_outcomes_take(gsa_session *session, int split, gsa_score *score,
                             gsa_outcomes *outcomes, gsa_error *error);
void gsa_outcomes_write(const gsa_outcomes *outcomes, int split, gsa_output *output);
/* Both splits into one file, and ends it: [0] dev, [1] test; what has no units is left out. */
gsa_status gsa_outcomes_save(const gsa_outcomes *outcomes, gsa_output *output, gsa_error *error);
/* What the file says of a split; no units where it says nothing. */
gsa_status gsa_outcomes_read(const gsa_system *system, const char *path, int split,
                             gsa_outcomes *outcomes, gsa_error *error);
void gsa_outcomes_release(gsa_outcomes *outcomes); /* a zeroed one is fine */

/* What a figure was measured with,
 * "task:tagging|metric:f1|scheme:BIOES|seed:1|version:0.1.0+4f5e|device:cpu-avx2", as sacreBLEU has
 * made usual (Post 2018). Not the number of threads: no bit depends on it. */
void gsa_signature(const gsa_session *session, char text[GSA_SIGNATURE]);

#endif
