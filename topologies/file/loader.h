/* loader.h - how a graph file becomes rows of sources: what the readers of the three formats share.
 *
 * Law.  A reader calls loader_begin once it knows the nodes (or leaves them at -1: the largest
 *     index decides), loader_edge for each edge in the order of the file, and returns 0, or -1
 *     after loader_fail. Node indices count from 0 here.
 *     All memory comes from the host; loader_build turns the edges into rows, loader_release frees
 *     what it did not take. */
#ifndef GSA_FILE_LOADER_H
#define GSA_FILE_LOADER_H
#include <stddef.h>
#include <stdint.h>
#include "graph/topology.h"
#include "topologies/unpack.h"

enum {
    FILE_WORD = 256,
    FILE_WHY = GSA_ERROR_SIZE,
    FILE_LABEL_LIMIT = 1 << 20,
    FILE_FREE = 1 << 20,
    FILE_EACH = 64
};

typedef struct file_label { /* an edge's label as the file says it: a number, a name, or both */
    int64_t number;
    const char *name; /* "" for none */
    int32_t place;    /* in order of first appearance; set by labels_find */
} file_label;

typedef struct file_labels { /* distinct labels, numbered by (number, name) once they are sorted */
    file_label *at;          /* names are owned */
    int32_t *slots;          /* hash table: place in `at` + 1, 0 = free */
    int64_t count, room, n_slots;
} file_labels;

typedef struct file_graph {
    int64_t nodes, edges;
    int64_t *row;      /* [nodes+1] */
    int32_t *source;   /* [edges], in the order of the file inside a row */
    int32_t *label;    /* [edges], or NULL: all 0 */
    file_label *names; /* [labels]; what label() says */
    int32_t labels;    /* at least 1; the last is that of added self edges, where there are more */
    int duplicates;    /* some row reads a source twice */
} file_graph;

typedef struct file_edge {
    int32_t from, to, label;
} file_edge;

typedef struct file_options {
    int64_t base; /* of edge lists: 0, 1, or -1 = 1 when no index is 0 */
    int both;     /* every edge in both directions: 0, 1, or -1 = what the file says */
    int self, unique, repeat, use_labels, header;
} file_options;

typedef struct loader {
    const gsa_host *host;
    const char *path;
    file_options options;
    int64_t nodes; /* -1: not stated */
    int64_t bytes; /* of the file; nodes and edges are at most FILE_FREE and FILE_EACH a byte */
    file_edge *edges;
    int64_t count, room;
    int32_t largest; /* index in an edge, -1: none */
    int undirected;  /* said by the file */
    file_labels labels;
    char why[FILE_WHY];
} loader;

/* Always -1, so that a reader's failure is one line. The first sentence stays; `line` > 0 is in
 * it as path:line. */
int loader_fail(loader *load, int64_t line, const char *format, ...);
/* The file is none of holes, whose bytes cost its maker nothing. */
int loader_stored(loader *load);
int loader_begin(loader *load, int64_t line, int64_t nodes);
int loader_edge(loader *load, int64_t line, int64_t from, int64_t to, file_label label);
int loader_build(loader *load, file_graph *graph);
void loader_release(loader *load);
void file_graph_release(const gsa_host *host, file_graph *graph);
/* A larger copy; the old block is released. NULL (and the old block kept) when there is no
 * memory. */
void *loader_grow(const loader *load, void *at, int64_t used, int64_t room, size_t size);

/* The label's place in order of first appearance, or -1 after loader_fail. */
int32_t labels_find(loader *load, int64_t line, file_label label);
/* Sorts by (number, name); rank[place] = the label's number from now on. */
void labels_sort(file_labels *labels, int32_t *rank);
void labels_release(const gsa_host *host, file_labels *labels);

/* ---- text: words of a line; .gz and .zst are unpacked (topologies/unpack.h) */
typedef struct file_text {
    loader *load;
    gsa_system system; /* the host's memory */
    gsa_unpacker *unpacker;
    char *chunk;
    int64_t line, place, used, held; /* place: of the text, after the chunk */
    int file, packing, failed, zero;
    char word[FILE_WORD];
} file_text;
enum { TEXT_FAILED = -1, TEXT_END, TEXT_LINE, TEXT_WORD };
/* 0, or -1 after loader_fail, and it is closed. */
int text_open(file_text *text, loader *load);
/* The first bytes, as many as there are, and a zero after them. */
void text_start(const file_text *text, char *start, size_t size);
/* The next word of the line (TEXT_WORD), the line's end (TEXT_LINE) or the file's (TEXT_END).
 * Spaces, tabs, commas and CR separate. */
int text_next(file_text *text);
int text_skip_line(
    file_text *text); /* to the end of the line: TEXT_LINE, TEXT_END or TEXT_FAILED */
/* 1 when the word is an integer within low..high; no sentence. */
int text_integer(const char *word, int64_t low, int64_t high, int64_t *value);
/* 1 when the word is UTF-8 without control characters, as names of labels are: pictures carry no
 * others. */
int text_is_name(const char *word);
void text_close(file_text *text);

/* ---- readers; 0 or -1 */
int read_mtx(loader *load);
int read_edges(loader *load);
int read_graphml(loader *load);

/* ---- the reader of GraphML that links igraph: a shared object next to this one, opened when it is
 * needed */
typedef struct file_sink {
    loader *load;
    int (*begin)(loader *load, int64_t line, int64_t nodes);
    int (*edge)(loader *load, int64_t line, int64_t from, int64_t to, file_label label);
} file_sink;
/* 0, or -1: `why` is what igraph says, or "" where the sink has failed. */
typedef int file_graphml_reader(const char *path, const file_sink *sink, int *undirected, char *why,
                                size_t size);
#define FILE_GRAPHML_SYMBOL "gsa_file_graphml_1"
#define FILE_GRAPHML_OBJECT "graphml.so"

#endif
