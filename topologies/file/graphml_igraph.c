/* graphml_igraph.c - the shared object graphml.so: igraph's reader of GraphML. It alone links
 * igraph (GPL-2.0-or-later).
 *
 * igraph reports errors through a handler without context and this build of it may not be
 * thread-safe: one call at a time, which the plugin contract promises (create runs alone). What the
 * process had set up is put back afterwards. */
#include <errno.h>
#include <fcntl.h>
#include <igraph/igraph.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "graph/inspect/graphml_size.h"
#include "loader.h"

extern file_graphml_reader gsa_file_graphml_1;

static char said[FILE_WHY]; /* the first error of the current call */

static void on_error(const char *reason, const char *file, int line, igraph_error_t code)
{
    (void)file, (void)line;
    if (!said[0]) snprintf(said, sizeof said, "%s (igraph: %s)", reason, igraph_strerror(code));
    IGRAPH_FINALLY_FREE();
}

static void on_warning(const char *reason, const char *file, int line)
{
    (void)reason, (void)file, (void)line;
}

static int has(const igraph_t *graph, const char *name, int numeric)
{
    igraph_attribute_type_t type;
    if (!igraph_cattribute_has_attr(graph, IGRAPH_ATTRIBUTE_EDGE, name)) return 0;
    const igraph_attribute_table_t *table = &igraph_cattribute_table;
    if (table->gettype(graph, &type, IGRAPH_ATTRIBUTE_EDGE, name) != IGRAPH_SUCCESS) return 0;
    return numeric ? type == IGRAPH_ATTRIBUTE_NUMERIC : type == IGRAPH_ATTRIBUTE_STRING;
}

/* The label of an edge: attribute rel as its number, label or name as its name; either may be
 * missing. */
static int send_edge(const igraph_t *graph, igraph_integer_t edge, int numbered, const char *named,
                     const file_sink *sink)
{
    file_label label = { 0, "", 0 };
    const double number = numbered ? EAN(graph, "rel", edge) : 0;
    if (number >= -9e15 && number <= 9e15) label.number = (int64_t)number;
    if (named) label.name = EAS(graph, named, edge);
    return sink->edge(sink->load, 0, IGRAPH_FROM(graph, edge), IGRAPH_TO(graph, edge), label);
}

static int send_graph(const igraph_t *graph, const file_sink *sink)
{
    const char *named = has(graph, "label", 0) ? "label" : has(graph, "name", 0) ? "name" : NULL;
    const int numbered = has(graph, "rel", 1);
    if (sink->begin(sink->load, 0, igraph_vcount(graph)) < 0) return -1;
    for (igraph_integer_t e = 0; e < igraph_ecount(graph); e++)
        if (send_edge(graph, e, numbered, named, sink) < 0) return -1;
    return 0;
}

static int read_open(FILE *in, const file_sink *sink, int *undirected, char *why, size_t size)
{
    igraph_t graph;
    igraph_safelocale_t locale;
    int done = -1;
    if (igraph_enter_safelocale(&locale) != IGRAPH_SUCCESS) {
        snprintf(why, size, "%s", said);
        return -1;
    }
    if (igraph_read_graph_graphml(&graph, in, 0) == IGRAPH_SUCCESS) {
        *undirected = !igraph_is_directed(&graph);
        done = send_graph(&graph, sink);
        igraph_destroy(&graph);
    } else
        snprintf(why, size, "%s",
                 strstr(said, "Graph index was too large") ? "it is XML that holds no <graph>"
                                                           : said);
    igraph_exit_safelocale(&locale);
    return done;
}

static int check_size(FILE *in, char *why, size_t size)
{
    gsa_graphml_size seen = { .zeros = 0 };
    char text[4096];
    for (size_t got; !seen.zeros && (got = fread(text, 1, sizeof text, in)) > 0;)
        gsa_graphml_add(&seen, text, (int64_t)got);
    rewind(in);
    return gsa_graphml_fits(&seen, why, size);
}

/* A regular file, or NULL: nobody waits for a FIFO that has taken its place. */
static FILE *open_regular(const char *path)
{
    struct stat facts;
    const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return NULL;
    const int regular = fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
    FILE *in = regular ? fdopen(file, "rb") : NULL;
    const int why = regular ? errno : EINVAL;
    if (!in) close(file);
    return errno = why, in;
}

int gsa_file_graphml_1(const char *path, const file_sink *sink, int *undirected, char *why,
                       size_t size)
{
    FILE *in = open_regular(path);
    if (!in) {
        snprintf(why, size, "it cannot be opened: %s", strerror(errno));
        return -1;
    }
    if (!check_size(in, why, size)) {
        fclose(in);
        return -1;
    }
    said[0] = 0;
    igraph_error_handler_t *const errors = igraph_set_error_handler(on_error);
    igraph_warning_handler_t *const warnings = igraph_set_warning_handler(on_warning);
    igraph_attribute_table_t *const attributes =
        igraph_set_attribute_table(&igraph_cattribute_table);
    const int done = read_open(in, sink, undirected, why, size);
    igraph_set_attribute_table(attributes);
    igraph_set_warning_handler(warnings);
    igraph_set_error_handler(errors);
    fclose(in);
    return done;
}
