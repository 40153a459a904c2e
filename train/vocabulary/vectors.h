/* vectors.h - word vectors as text: "word v1 ... vd" a line, an optional first line "count d"
 * (word2vec). Strict. */
#ifndef GSA_VECTORS_H
#define GSA_VECTORS_H
#include "graph/system.h"
#include "graph/topology.h"

typedef struct gsa_vectors {
    const gsa_system *system;
    char *path, *bytes; /* words point into it */
    int64_t count, room;
    int32_t width, zero;
    gsa_slice *word; /* [count] */
    float *value;    /* [count, width] */
} gsa_vectors;

gsa_status gsa_vectors_read(const gsa_system *system, const char *path, gsa_vectors *vectors,
                            gsa_error *error);
void gsa_vectors_release(gsa_vectors *vectors); /* a zeroed one is fine */

#endif
