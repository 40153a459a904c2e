/* edges_of.h - makes gsa_edges for tests from a list of runs, at random or by hand, and puts them
 * into a backend's memory. Failures to allocate abort: this is test code. */
#ifndef GSA_TEST_EDGES_OF_H
#define GSA_TEST_EDGES_OF_H
#include "kernels/backend.h"
#include "support/compare.h"

/* Arrays grow as rows are made; `view` is valid after edges_done and lives until edges_free. */
typedef struct edges_maker {
    gsa_edges view;
    int64_t run_room, row_room, block_room;
    gsa_run *runs;
    int64_t *run_offset, *edge_offset, *block_offset;
    int32_t *row_example, *row_local;
    gsa_rows *blocks;
    int64_t *source_offset; /* [kinds, examples+1], or NULL: edges_random tells it */
} edges_maker;

/* Rows come in order; every row belongs to the example and the place that edges_row is given. After
 * the rows, edges_done takes the blocks: examples x destination kinds, first[kind * (examples + 1)
 * + example] = first row, or NULL for one example of all rows. */
void edges_begin(edges_maker *maker, int32_t kinds, const int64_t *part_rows, int32_t labels);
void edges_row(edges_maker *maker, int32_t example, int32_t local);
void edges_run(edges_maker *maker, gsa_run run);
const gsa_edges *edges_done(edges_maker *maker, int32_t examples, int32_t row_kinds,
                            const int64_t *first);
void edges_free(edges_maker *maker);

/* A random batch: examples with their own node counts, row kinds x source kinds, rows that are
 * empty, hubs or a few runs with steps -3..3; self loops and duplicates happen. At most `nodes`
 * nodes of a kind in all. */
typedef struct edges_wish {
    int32_t examples, kinds, row_kinds, labels;
    int64_t nodes;
    int equal_kinds; /* every source kind has the same nodes, as kinds that share one plane have */
} edges_wish;
const gsa_edges *edges_random(edges_maker *maker, gsa_dice *dice, edges_wish wish);

/* Every edge by itself, in order: the tests' own expansion. Arrays of edge_total entries, freed by
 * edges_list_free. */
typedef struct edges_list {
    int64_t total;
    int64_t *row;
    int32_t *kind, *source, *label, *k;
} edges_list;
edges_list edges_expand(const gsa_edges *edges);
void edges_list_free(edges_list *list);

/* The same edges in the backend's memory. */
gsa_edges edges_upload(gsa_backend *b, const gsa_edges *host);
void edges_unload(gsa_backend *b, gsa_edges *device);

#endif
