/* bpt_tree.h - the tree of bpt.c: its levels, and the walk that finds what a token reads. */
#ifndef GSA_BPT_TREE_H
#define GSA_BPT_TREE_H
#include "graph/topology.h"

enum gsa_bpt_variant { GSA_BPT_FIXED, GSA_BPT_REFERENCE, GSA_BPT_PAPER };
enum { GSA_BPT_TOKEN, GSA_BPT_SPAN }; /* kinds */
enum { GSA_BPT_ATTEND, GSA_BPT_FFN }; /* phases */
enum { GSA_BPT_LEVELS = 32 };         /* of 2^31-1 tokens */

typedef struct gsa_bpt_level {
    gsa_node first;
    int64_t size;
    int32_t label; /* of the span's tokens; + 2t-1: t-th left, + 2t: t-th right */
} gsa_bpt_level;

typedef struct gsa_bpt_tree {
    gsa_emitter *e;
    int64_t n, k, spans;
    int variant, sides; /* sides 1: left, 2: both */
    int depth;
    gsa_bpt_level level[GSA_BPT_LEVELS];
    int32_t
        *index;  /* of each span in the instance, -1: pruned. NULL: all are there, in their order */
    int marking; /* walks emit nothing: in the index +1 is where a run of spans begins, -1
                    after its end */
} gsa_bpt_tree;

/* `width` labels for each level below `clip`, and for all from there on. */
void gsa_bpt_grow(gsa_bpt_tree *tree, int64_t width, int64_t clip);
/* Emits the edges from the context of token i, left side first, fine to coarse. */
void gsa_bpt_read_context(const gsa_bpt_tree *tree, int64_t i);
/* Gives an index to the root and to the spans that are in some token's context, -1 to the others;
 * returns how many are left. 0 also without memory, which the emitter has noted. */
int64_t gsa_bpt_prune(gsa_bpt_tree *tree);
int gsa_bpt_kept(const gsa_bpt_tree *tree, int j, int64_t m); /* 0: node m of level j is pruned */
gsa_node gsa_bpt_node(const gsa_bpt_tree *tree, int j, int64_t m); /* of a kept one */

#endif
