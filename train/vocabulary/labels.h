/* labels.h - the names of classes, sorted by bytes; class i is the i-th. */
#ifndef GSA_LABELS_H
#define GSA_LABELS_H
#include "gsa/checkpoint.h"
#include "gsa/vocabulary.h"
#include "train/data/text.h"

typedef struct gsa_labels {
    const gsa_system *system;
    char *bytes;     /* the names, owned */
    gsa_slice *name; /* [count] */
    int32_t count;
    int32_t read; /* 1: a model's, by gsa_labels_read */
} gsa_labels;

/* The labels of the text, at least two; `wanted` > 0: exactly so many. */
gsa_status gsa_labels_learn(const gsa_text *text, int64_t wanted, gsa_labels *labels,
                            gsa_error *error);
/* The same of counted ones, which are not frozen; `path` is for messages. */
gsa_status gsa_labels_counted(const gsa_system *system, gsa_vocabulary *counted, const char *path,
                              int64_t wanted, gsa_labels *labels, gsa_error *error);
gsa_status gsa_labels_read(const gsa_system *system, const char *path, gsa_labels *labels,
                           gsa_error *error);
gsa_status gsa_labels_write(const gsa_labels *labels, gsa_checkpoint *checkpoint, gsa_error *error);
void gsa_labels_release(gsa_labels *labels); /* a zeroed one is fine */

/* Adds a name, which stays the caller's; after the last they are sorted, each once. room: of
 * labels->name, 0 at first. */
gsa_status gsa_labels_add(gsa_labels *labels, gsa_slice name, int32_t *room, gsa_error *error);
void gsa_labels_sort(gsa_labels *labels);
int32_t gsa_labels_find(const gsa_labels *labels, gsa_slice name); /* -1: unknown */
/* The class of each example; a label that is not known is a sentence with file:line. */
gsa_status gsa_labels_map(const gsa_labels *labels, const gsa_text *text, int32_t *out,
                          gsa_error *error);

#endif
