/* file - any graph as a pattern: node i is token i and reads the sources of its in-edges (graph
 * attention over a given graph, Velickovic et al. 2018).
 *
 *   attend: x_i <- sublayer(att(x_i; x_j for each edge j -> i))
 *   ffn:    x_i <- sublayer(FFN(x_i))
 * Formats: GraphML (read through igraph), Matrix Market coordinate files (row = destination, column
 * = source; symmetric ones are both directions), lists of edges "from to [label]" with # or %
 * comments and, with header=1, a first line "nodes edges". Edges of a row are in the order of the
 * file; self=1 adds a self edge last where there is none. A row without in-edges is updated with
 * aggregate 0. .gz and .zst are unpacked, but for GraphML. sample=K keeps K of a row's edges, each
 * K of them alike (Knuth, TAOCP 3.4.2, algorithm S; Hamilton et al. 2017 draw neighbours anew in
 * each step, this one once). Labels: rel and label (or name) of GraphML edges, integers of Matrix
 * Market, the third column of a list; distinct (number, name) pairs are numbered in that order, the
 * label of added self edges comes last. One length works: the number of nodes. Summary: mean of the
 * tokens. Edges as the file says; O(nodes + edges) time and memory, 4 bytes an edge (8 with
 * labels). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "loader.h"

enum {
    FILE_PATH,
    FILE_FORMAT,
    FILE_DIRECTED,
    FILE_SELF,
    FILE_LABELS,
    FILE_BASE,
    FILE_HEADER,
    FILE_UNIQUE,
    FILE_REPEAT,
    FILE_SAMPLE,
    FILE_SEED,
    FILE_REDRAW,
    FILE_PARAMS
};
enum { FORMAT_AUTO, FORMAT_GRAPHML, FORMAT_MTX, FORMAT_EDGES };
enum { LABELS_NAMES, LABELS_KEYS, LABELS_BIAS, LABELS_NONE };
static const gsa_param params[FILE_PARAMS] = {
    { "path", GSA_PATH, 0, 0, 0, NULL, NULL, "the graph; .gz and .zst are unpacked" },
    { "format", GSA_CHOICE, 0, 0, 0, "auto,graphml,mtx,edges", "auto",
      "auto: by how the file begins" },
    { "directed", GSA_CHOICE, 0, 0, 0, "auto,0,1", "auto",
      "0: every edge in both directions; auto: as a GraphML or Matrix Market file says, edge lists "
      "are directed" },
    { "self", GSA_BOOL, 0, 0, 1, NULL, "0",
      "every node reads itself, also where the file has no such edge" },
    { "labels", GSA_CHOICE, 0, 0, 0, "names,keys,bias,none", "names",
      "edge labels are names for people, learned vectors on the keys, learned biases of the "
      "scores, or left out" },
    { "base", GSA_CHOICE, 0, 0, 0, "auto,0,1", "auto",
      "first node of an edge list; auto: 0 if a 0 occurs, else 1" },
    { "header", GSA_BOOL, 0, 0, 1, NULL, "0",
      "the first line of an edge list holds the numbers of nodes and of edges" },
    { "unique", GSA_BOOL, 0, 0, 1, NULL, "0", "of parallel edges only the first counts" },
    { "repeat", GSA_BOOL, 0, 0, 1, NULL, "0",
      "an integer of a Matrix Market file is a number of parallel edges, as gsa graph writes it, "
      "and no label" },
    { "sample", GSA_INT, 0, 0, INT32_MAX, NULL, "0",
      "a node reads at most so many in-edges of the file, drawn alike by seed; 0: all" },
    { "seed", GSA_INT, 0, 0, INT32_MAX, NULL, "1", "of sample" },
    { "redraw", GSA_BOOL, 0, 0, 1, NULL, "0",
      "the sample is drawn anew in each step of training; what is not training has one for all" },
};
enum { TOKEN };
enum { ATTEND, FFN };

typedef struct file_self {
    file_graph graph;
    int label_use, self, redraw;
    int64_t sample; /* edges of a row at most, the added self edge not counted; 0: all */
    uint64_t seed;
} file_self;

/* By how it begins, unpacked: "%%MatrixMarket", "<" (after blanks and a byte order mark), anything
 * else. -1 after loader_fail. */
static int64_t format_of(loader *load, int *packed)
{
    char start[64];
    file_text text;
    if (text_open(&text, load) < 0) return -1;
    text_start(&text, start, sizeof start);
    *packed = text.packing;
    text_close(&text);
    const char *at = start + (strncmp(start, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
    if (strncmp(at, "%%MatrixMarket", 14) == 0) return FORMAT_MTX;
    return at[strspn(at, " \t\r\n")] == '<' ? FORMAT_GRAPHML : FORMAT_EDGES;
}

/* A pattern is made more than once, and its file is opened twice: what can be read only once will
 * not do. */
static int read_file(loader *load, int64_t format)
{
    struct stat facts;
    const int there = stat(load->path, &facts) == 0;
    if (there && S_ISDIR(facts.st_mode))
        return loader_fail(load, 0, "it cannot be read: it is a folder");
    if (there && !S_ISREG(facts.st_mode))
        return loader_fail(load, 0, "it is no regular file, which can be read again");
    load->bytes = there ? (int64_t)facts.st_size : 0;
    if (loader_stored(load) < 0) return -1;
    int packed;
    const int64_t begins_as = format_of(load, &packed);
    if (begins_as < 0) return -1;
    if (format == FORMAT_AUTO) format = begins_as;
    if (format == FORMAT_GRAPHML && packed)
        return loader_fail(load, 0, "it is compressed GraphML: unpack it first");
    if (format == FORMAT_GRAPHML) return read_graphml(load);
    return format == FORMAT_MTX ? read_mtx(load) : read_edges(load);
}

static int load_graph(loader *load, const gsa_value *p, file_graph *graph)
{
    int done = read_file(load, p[FILE_FORMAT].i);
    const file_label *only = load->labels.count == 1 ? &load->labels.at[0] : NULL;
    if (only && only->number == 0 && !*only->name)
        labels_release(load->host, &load->labels); /* says nothing */
    const int learned = p[FILE_LABELS].i == LABELS_KEYS || p[FILE_LABELS].i == LABELS_BIAS;
    if (done == 0 && learned && load->labels.count == 0)
        done = loader_fail(load, 0,
                           "its edges have no labels, which labels=keys and labels=bias learn");
    if (done == 0) done = loader_build(load, graph);
    return done;
}

static int create(const gsa_host *host, const gsa_value *p, void **self)
{
    static const int uses[] = { GSA_NAMES_ONLY, GSA_KEY_VECTORS, GSA_HEAD_BIAS, GSA_NAMES_ONLY };
    file_self *made = host->alloc(host, sizeof *made);
    if (!made) return host->fail(host, "out of memory");
    *made = (file_self){ .label_use = uses[p[FILE_LABELS].i],
                         .self = p[FILE_SELF].i != 0,
                         .redraw = p[FILE_REDRAW].i != 0,
                         .sample = p[FILE_SAMPLE].i,
                         .seed = (uint64_t)p[FILE_SEED].i };
    *self = made; /* released by destroy, also after a failure */
    loader load = { .host = host, .path = p[FILE_PATH].s, .nodes = -1, .largest = -1 };
    load.options = (file_options){ .base = p[FILE_BASE].i - 1,
                                   .both = p[FILE_DIRECTED].i == 0 ? -1 : p[FILE_DIRECTED].i == 1,
                                   .self = p[FILE_SELF].i != 0,
                                   .unique = p[FILE_UNIQUE].i != 0,
                                   .repeat = p[FILE_REPEAT].i != 0,
                                   .header = p[FILE_HEADER].i != 0,
                                   .use_labels = p[FILE_LABELS].i != LABELS_NONE };
    const int done = load_graph(&load, p, &made->graph);
    loader_release(&load);
    return done == 0 ? 0 : host->fail(host, load.why);
}

static void destroy(const gsa_host *host, void *self)
{
    file_self *x = self;
    file_graph_release(host, &x->graph);
    host->release(host, x);
}

static void describe(const void *self, gsa_describer *d)
{
    const file_self *x = self;
    const uint32_t same = x->sample && x->redraw ? 0 : GSA_BY_LENGTH;
    d->promise(d, same | GSA_ONE_LENGTH | (x->graph.duplicates ? GSA_DUPLICATES : 0),
               GSA_SQUARE_EDGES);
    gsa_transformer_layer(d, x->label_use, x->graph.labels, 0);
}

/* What node i reads. Of more than `sample` edges so many are drawn, in their order. */
static void emit_row(const file_self *f, uint64_t seed, int64_t i, gsa_emitter *e)
{
    const file_graph *g = &f->graph;
    const int64_t from = g->row[i], end = g->row[i + 1];
    int64_t left = f->sample && f->sample < end - from ? f->sample : end - from;
    int self = 0;
    for (int64_t k = from; left > 0; k++) {
        const uint64_t rest = (uint64_t)(end - k);
        if ((int64_t)rest > left &&
            (int64_t)(gsa_random(seed, (uint64_t)i, (uint64_t)(k - from)) % rest) >= left)
            continue;
        gsa_edge(e, ATTEND, gsa_at(TOKEN, g->source[k]), gsa_at(TOKEN, i),
                 g->label ? g->label[k] : 0);
        self |= g->source[k] == i, left--;
    }
    if (f->self && !self) gsa_edge(e, ATTEND, gsa_at(TOKEN, i), gsa_at(TOKEN, i), g->labels - 1);
}

static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    const file_self *f = self;
    const int64_t draw = x->struct_size >= sizeof *x && f->redraw ? x->draw : 0;
    const uint64_t seed = draw ? gsa_random(f->seed, (uint64_t)draw, 0) : f->seed;
    char why[96];
    if (x->length != f->graph.nodes) {
        snprintf(why, sizeof why, "the graph has %" PRId64 " nodes, the length is %" PRId32,
                 f->graph.nodes, x->length);
        e->fail(e, why);
        return;
    }
    for (int64_t i = 0; i < f->graph.nodes; i++) emit_row(f, seed, i, e);
}

/* As much of the name as fits, whole characters. */
static void put_name(const char *name, char *out, size_t size)
{
    size_t used = strnlen(name, size - 1);
    while (used > 0 && ((unsigned char)name[used] & 0xc0) == 0x80) used--;
    memcpy(out, name, used), out[used] = 0;
}

static void label(const void *self, int phase, int32_t id, char *out, size_t size)
{
    const file_graph *g = &((const file_self *)self)->graph;
    if (phase != ATTEND || !g->names || id < 0 || id >= g->labels) snprintf(out, size, "%s", "");
    else if (*g->names[id].name) put_name(g->names[id].name, out, size);
    else snprintf(out, size, "%" PRId64, g->names[id].number);
}

const gsa_topology GSA_PLUGIN = {
    GSA_HEAD(params),
    .id = "file",
    .summary = "a graph from a file: GraphML, Matrix Market or a list of edges",
    .reference = "Velickovic et al. 2018: attention over a given graph",
    .create = create,
    .destroy = destroy,
    .describe = describe,
    .emit = emit,
    .label = label
};
