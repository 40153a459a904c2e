/* file_rig.h - a file at a path of its own, the topology `file` that reads it, and graphs with what
 * they mean. */
#ifndef GSA_TEST_INSPECT_FILE_RIG_H
#define GSA_TEST_INSPECT_FILE_RIG_H
#include "support/faults.h"
#include "support/suite.h"
#include "topologies/pattern.h"

extern char file_path[]; /* of the last file_write; the test removes it */

/* Into a new file. */
void file_write(const char *text, size_t bytes);
/* A registry that has loaded the plugin. */
gsa_registry *file_registry(const gsa_system *system);
/* The pattern of file_path; settings: "key=value key=value". */
gsa_status file_make(const gsa_registry *registry, const char *settings, gsa_pattern **pattern,
                     gsa_error *error);
/* Every edge as "from>to" or "from>to:label", in order of rows, with blanks between. */
void file_edges(const gsa_pattern *pattern, int32_t n, int64_t draw, char *out, size_t size);
/* That `text` holds `says`, in which %: at the beginning is file_path and a colon, and
 * '%MatrixMarket' has two %. */
void file_expect(const char *says, const char *text);
/* For gsa_faults_sweep: a registry, the plugin and the pattern of file_path with these settings. */
gsa_status file_attempt(gsa_faults *faults, void *settings);

#define GRAPHML(edges)                                                                             \
    "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\"><key id=\"r\" for=\"edge\" "         \
    "attr.name=\"rel\" "                                                                           \
    "attr.type=\"int\"/><key id=\"l\" for=\"edge\" attr.name=\"label\" attr.type=\"string\"/>"     \
    "<graph edgedefault=\"directed\"><node id=\"a\"/><node id=\"b\"/><node id=\"c\"/>" edges       \
    "</graph></graphml>"
#define MTX(kind, rest) "%%MatrixMarket matrix coordinate " kind "\n" rest

typedef struct file_graph {
    const char *text, *settings;
    int32_t n;
    const char *edges;
    int graphml; /* needs igraph */
} file_graph;
enum { FILE_GRAPHS = 49 };
extern const file_graph file_graphs[FILE_GRAPHS];
#endif
