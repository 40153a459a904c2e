/* gradient_tree.h - the gradients of a step's pieces (train.pieces) are added along a fixed binary
 * tree: piece 2i and 2i+1 first, then the sums of neighbours, up to the root. So the sum has the
 * same bits wherever a subtree is computed.
 *
 * Memory: log2(pieces) times the gradients. One piece: none, and nothing is done. */
#ifndef GSA_GRADIENT_TREE_H
#define GSA_GRADIENT_TREE_H
#include "gsa/parameters.h"

enum { GSA_TREE_PIECES = 1024, GSA_TREE_LEVELS = 10 };

typedef struct gsa_tree {
    const gsa_system *system;
    gsa_parameters *parameters;    /* borrowed */
    int64_t pieces;                /* a power of two, 1 to GSA_TREE_PIECES */
    void **level[GSA_TREE_LEVELS]; /* [parameters] the sum of a subtree of 2^level pieces */
} gsa_tree;

gsa_status gsa_tree_create(const gsa_system *system, gsa_parameters *parameters, int64_t pieces,
                           gsa_tree *made, gsa_error *error);
void gsa_tree_release(gsa_tree *pieces); /* a zeroed one is fine */
/* The gradients are those of piece `piece`; 0, 1, 2, ... in turn. Afterwards they are zero, and
 * after the last piece they are the sum. */
gsa_status gsa_tree_add(gsa_tree *pieces, int64_t piece, gsa_error *error);

#endif
