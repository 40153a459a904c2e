/* share.h - one rank's share of examples whose rows are spread over ranks. Not installed.
 *
 * Law.  Each node has one owner. Tokens are cut into ranges of like work; those of a given graph
 *     (a pattern that promises GSA_ONE_LENGTH) as `cut` says. A node of another kind goes to the
 *     rank that owns most of what it reads. An edge is computed by the owner of its
 *     row, which then keeps a copy of the source, a *ghost*. Where a row reads very many sources
 *     of another rank it is *split* instead: that rank keeps a ghost of the row, computes a partial
 *     result over its own sources, and the owner merges the partial results (a relay, a span).
 *     Every rank works out the same decisions from the whole example: nothing is negotiated.
 *
 * A row is split for rank b where fetching its sources of b costs more than GSA_SPLIT_COST rows. A
 * source that m rows of one rank read costs each of them 1/m.
 *
 * Cost: O(ranks x nodes) bytes and O(edges) time on each rank and example, on the host. */
#ifndef GSA_SHARE_H
#define GSA_SHARE_H
#include "graph/instance.h"

enum { GSA_SPLIT_COST = 16 };

typedef struct gsa_row_list {
    int32_t *at; /* [count] rows */
    int64_t count, room;
} gsa_row_list;

typedef struct gsa_share_kind { /* of all examples of a batch, in local rows */
    int64_t nodes;              /* owned ones and ghosts, in the order of the whole */
    int32_t ghosts, zero;       /* has any rank ghosts of it? */
    uint8_t *ghost;             /* [nodes] 1: a ghost */
    int64_t room;
    gsa_row_list *send, *receive; /* [ranks] own rows that rank r has ghosts of; ghosts of r's */
} gsa_share_kind;

typedef struct gsa_share_phase { /* rows of the phase's destinations, as batch.h numbers them */
    int32_t split, zero;         /* has any rank split rows? */
    gsa_row_list *owed, *lent;   /* [ranks] own rows that r has a partial result of; the reverse */
} gsa_share_phase;

typedef struct gsa_share_pattern {
    const gsa_schema *schema;
    const int *kind; /* [schema kinds] which of the share's kinds each is */
} gsa_share_pattern;

typedef struct gsa_share_graph { /* tokens that read each other, both ways, each pair once */
    int32_t nodes, zero;
    int32_t *first, *adjacent; /* [nodes + 1], [first[nodes]] */
    int32_t *weight;           /* [nodes] work, 2^30 in all at most */
} gsa_share_graph;

/* Which rank has each node: owner[nodes] holds ranges, and becomes what every rank will have. All
 * ranks call it; the graph is rank 0's alone, NULL on the others. `status`: the caller's. */
typedef gsa_status gsa_share_cut(void *user, gsa_status status, const gsa_share_graph *graph,
                                 int64_t nodes, int32_t *owner, gsa_error *error);

typedef struct gsa_share {
    const gsa_system *system;
    gsa_share_cut *cut; /* NULL: ranges */
    void *user;         /* of cut */
    int32_t rank, ranks, may_split, zero;
    int given;     /* is it a given graph? */
    int32_t *kept; /* [kept_nodes] owners of its nodes, or NULL: it was not cut yet */
    int64_t kept_nodes;
    int n_kinds, n_patterns;
    int token_kind;             /* whose nodes are the tokens; -1: none */
    gsa_share_kind *kind;       /* [n_kinds] */
    gsa_share_pattern *pattern; /* [n_patterns], borrowed texts */
    gsa_share_phase *phase;     /* [n_patterns x GSA_MAX_PHASES] */
    gsa_row_list token;         /* the local tokens, counted over all examples */
    int64_t tokens;             /* of the whole examples */
    int64_t *count, *local;     /* [examples x n_kinds] nodes of the whole, and local ones */
    int64_t examples, room;
} gsa_share;

gsa_status gsa_share_create(const gsa_system *system, int32_t rank, int32_t ranks, int n_kinds,
                            const gsa_share_pattern *pattern, int n_patterns, gsa_share **share,
                            gsa_error *error);
void gsa_share_release(gsa_share *share); /* NULL does nothing */

/* Is there a given graph to be cut? Then gsa_share_settle does, once, by its draw 0: edges may be
 * drawn anew in each step, owners stay, whichever step is the first. All ranks call it. */
int gsa_share_unsettled(const gsa_share *share);
gsa_status gsa_share_settle(gsa_share *share, gsa_instance *const *whole, gsa_error *error);
/* A new batch. may_split 0: no row is split. */
void gsa_share_begin(gsa_share *share, int may_split);
/* The next example: whole[pattern] becomes mine[pattern], whose nodes know their numbers in the
 * whole. The caller releases both. */
gsa_status gsa_share_add(gsa_share *share, gsa_instance *const *whole, gsa_instance **mine,
                         gsa_error *error);
/* After the last one: rows of phases become those of the batch. */
void gsa_share_end(gsa_share *share);

static inline const gsa_share_phase *gsa_share_phase_of(const gsa_share *share, int pattern,
                                                        int phase)
{
    return &share->phase[pattern * GSA_MAX_PHASES + phase];
}

#endif
