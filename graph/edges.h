/* edges.h - the canonical form of edges: runs, grouped by destination row.
 *
 * Example:
 *
 *     const gsa_run runs[] = { { 0, 3, 1, 0, 0, 0 }, { 4, 1, 1, 1, 0, 0 } }; // 0, 1, 2; 4
 *     const int64_t run_offset[] = { 0, 1, 2 }, edge_offset[] = { 0, 3, 4 };
 *     const gsa_edges edges = { 2, 2, 4, run_offset, edge_offset, runs, 1, 2, { 5 } };
 *     int32_t source[4], label[4];
 *     gsa_error error;
 *     if (gsa_edges_check(&edges, "two rows of five sources", &error)) return puts(error.text), 1;
 *     gsa_edges_expand(&edges, source, label, NULL);
 *     printf("row 1 reads source %d by label %d\n", source[3], label[3]); // 4, 1
 *     return source[3] != 4;
 *
 * Invariants (GSA_EDGES), checked once where edges are made and again in full by gsa_edges_check:
 *   run_offset and edge_offset have rows+1 entries, start at 0, never fall, end at run_total and
 *     edge_total;
 *   the counts of a row's runs add up to its edges; every count is >= 1;
 *   a run stays inside one kind: 0 <= first and last source < part_rows[kind], first + (count-1)
 *     step = last;
 *   0 <= label and last label < labels. Order inside a row is emission order; an edge is (row, k);
 *     duplicates count.
 *
 * In an instance, sources count inside the example's nodes of the kind; in a batch, inside the
 * batch's nodes of the kind (kind-major union), so batching adds one number per run. In a per-head
 * phase both rows and sources are
 * node * heads + head. Node and row indices are int32 (checked), offsets int64.
 * Functions read only: any thread may call them on edges that nobody changes. What is wrong is
 * GSA_ERR_FORMAT. */
#ifndef GSA_EDGES_H
#define GSA_EDGES_H
#include "system.h"
#include "topology.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gsa_run { /* 24 bytes; edges first, first+step, ... labelled label, label+label_step,
                            ... */
    /* source of the first edge, edges, from one source to the next; label of the first edge, from
     * one label to the next; kind of the sources */
    int32_t first, count, step, label, label_step, kind;
} gsa_run;

typedef struct gsa_rows { /* a range of destination rows */
    int64_t first, count; /* rows first .. first+count-1 */
} gsa_rows;

/* What a backend works out of edges once and finds again at its next call. It is with the owner
 * of their arrays, who clears it before they change or go; views of other arrays that were copied
 * with the pointer leave it alone: `of` is the run_offset that it is about. One thread at a
 * time. */
typedef struct gsa_memo {
    const int64_t *of;                                     /* the run_offset that `data` is about */
    void *data;                                            /* NULL: nothing yet */
    const gsa_system *system;                              /* which `data` is released by */
    void (*release)(const gsa_system *system, void *data); /* also says whose data it is */
} gsa_memo;

void gsa_memo_clear(gsa_memo *memo); /* keeps `of` */

/* What can be said of edges to who cannot look into their arrays. Equal offsets, runs, kinds and
 * rows have equal words, and others have others, but for 128 bits' chance. */
typedef struct gsa_content {
    uint64_t word[2];          /* both 0: unknown */
    int64_t most_in, most_out; /* edges of the row, and of the source, with most */
} gsa_content;

typedef struct gsa_edges { /* a read-only view; the pointers are in memory that the reader can
                              reach (host or device) */
    int64_t rows, run_total, edge_total; /* destination rows, runs, edges; >= 0 each */
    const int64_t *run_offset;           /* [rows+1] */
    const int64_t *edge_offset;          /* [rows+1] */
    const gsa_run *runs;                 /* [run_total] */
    int32_t kinds;                       /* run.kind < kinds */
    int32_t labels;                      /* labels of edges are 0 .. labels-1 */
    int64_t part_rows[GSA_MAX_KINDS]; /* source nodes (x heads) of each kind; 0 where the phase does
                                         not read the kind */
    /* Identity of rows, free of batching: the key of dropout. */
    const int32_t *row_example; /* [rows] place in the batch; the tape maps it to the example's
                                   number in the global batch */
    const int32_t *row_local;   /* [rows] row inside its own instance */
    /* Rows of one example: block_offset[e] .. block_offset[e+1]-1 index `blocks` (one range per
     * destination kind). Sources of different examples are disjoint, so examples may run in
     * parallel in the backward pass. */
    int32_t examples;
    int32_t source_scale; /* sources a node is: 1, in per-head phases heads; 0: source_offset is not
                             told */
    const int64_t *block_offset; /* [examples+1] */
    const gsa_rows *blocks;
    const int64_t *source_offset[GSA_MAX_KINDS]; /* [examples+1] each: the nodes of a kind with
                                                    part_rows > 0, by example */
    gsa_memo *memo;                              /* or NULL */
    gsa_content content;                         /* zeros: unknown */
} gsa_edges;

/* Full scan, O(rows + runs): every invariant above. `what` opens the sentence. */
gsa_status gsa_edges_check(const gsa_edges *edges, const char *what, gsa_error *error);

/* Expands to CSR: sources index the concatenation of the parts in kind order (part_first[kind]
 * receives where each starts, [GSA_MAX_KINDS]; may be NULL). `sources` and `labels` hold edge_total
 * entries; either may be NULL. */
void gsa_edges_expand(const gsa_edges *edges, int32_t *sources, int32_t *labels,
                      int64_t *part_first);

#ifdef __cplusplus
}
#endif
#endif
