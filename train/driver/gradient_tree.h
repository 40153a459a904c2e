/* gradient_tree.h - the gradients of a step's pieces (train.pieces) are added along a fixed binary
 * tree: piece 2i and 2i+1 first, then the sums of neighbours, up to the root. So the sum has the
 * same bits wherever a subtree is computed.
 *
 * A rank of a group has the pieces of one subtree; what it found is added to the others' along the
 * levels above (group.h). That goes by buckets, from the last parameter to the first, which
 * backward reaches last: while it runs a bucket leaves once its parameters are whole
 * (gsa/tape_watch.h).
 *
 * On a device with a wire (group.h) the buckets are cuts of the plane of gradients (parameters.h),
 * summed where they lie; what does not decay, of parameters from first to last, leaves at the end.
 *
 * Memory: log2(pieces) times the gradients, and with several ranks 1.07 times more, with a wire
 * 0.07. One piece of one rank: none, and nothing is done. */
#ifndef GSA_GRADIENT_TREE_H
#define GSA_GRADIENT_TREE_H
#include "gsa/group.h"
#include "gsa/parameters.h"

enum { GSA_TREE_PIECES = 1024, GSA_TREE_LEVELS = 10, GSA_TREE_BUCKETS = 8 };

typedef struct gsa_tree {
    const gsa_system *system;
    gsa_parameters *parameters; /* borrowed */
    int64_t pieces;             /* of this rank: a power of two, 1 to GSA_TREE_PIECES */
    gsa_group *group;           /* NULL: alone */
    const gsa_planes *planes;   /* of the device whose sums go over the wire, or NULL */
    char *flat, *room;          /* [numbers] all gradients, where there are several ranks; for what
                                   others send: [half a bucket] */
    int64_t numbers, bucket;    /* bucket: numbers of one */
    int looks;                  /* with a wire: 1: end finds out whether a number is not finite */
    int64_t packed, sent, left; /* numbers before those that are in flat; on their way; added */
    int64_t bad;                /* 1: one of them is not finite */
    int next;                   /* the parameter to pack next, downwards */
    gsa_group_adding adding;
    gsa_error error;               /* what went wrong between two ops */
    void **level[GSA_TREE_LEVELS]; /* [parameters] the sum of a subtree of 2^level pieces */
} gsa_tree;

gsa_status gsa_tree_create(const gsa_system *system, gsa_parameters *parameters, int64_t pieces,
                           gsa_group *group, gsa_tree *made, gsa_error *error);
void gsa_tree_release(gsa_tree *tree); /* a zeroed one is fine */
/* Before the forward pass that ends this rank's last piece: buckets leave during its backward
 * pass. A hint; nothing where the backend has its own memory and no wire, or alone. */
void gsa_tree_watch(gsa_tree *tree, gsa_tape *tape);
/* The gradients are those of piece `piece`; 0, 1, 2, ... in turn. Afterwards they are zero, and
 * after the last piece they are the sum. */
gsa_status gsa_tree_add(gsa_tree *tree, int64_t piece, gsa_error *error);
/* After this rank's last piece, or where it failed before: what is left goes to the other ranks,
 * which wait for it. *bad: 1: one of this rank's numbers is not finite. */
gsa_status gsa_tree_end(gsa_tree *tree, int64_t *bad, gsa_error *error);
/* Then the gradients become those of all ranks. */
gsa_status gsa_tree_take(gsa_tree *tree, gsa_error *error);

#endif
