/* gsa graph - one layer's phases of a pattern as GraphML, DOT or Matrix Market. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "graph/write.h"
#include "tokens.h"
#include "verbs.h"

typedef struct gsa_job { /* everything that is released at the end */
    const gsa_system *system;
    gsa_registry *registry;
    gsa_pattern *pattern;
    gsa_instance *instance;
    gsa_tokens tokens;
    gsa_example example;
    int has_text;
} gsa_job;

static gsa_status read_length(gsa_job *job, const gsa_args *args, gsa_error *error)
{
    const char *text = gsa_args_text(args, "text");
    const int64_t length = gsa_args_number(args, "length", -1);
    if (!text && length < 0) return gsa_fail(error, GSA_ERR_ARGUMENT, "'gsa graph' wants --length N or --text T");
    job->example.length = (int32_t)length;
    if (!text) return GSA_OK;
    const gsa_status status = gsa_tokens_split(job->system, text, gsa_args_text(args, "tokens"), &job->tokens, error);
    if (status != GSA_OK) return status;
    if (length >= 0 && length != job->tokens.count)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "--length is %" PRId64 ", but --text has %d %s: give one of them", length,
                        job->tokens.count, gsa_args_text(args, "tokens"));
    job->has_text = 1;
    job->example.length = job->tokens.count;
    job->example.text = job->tokens.token;
    return GSA_OK;
}

static gsa_status read_format(const gsa_args *args, int *format, gsa_error *error)
{
    const char *asked = gsa_args_text(args, "format"), *out = gsa_args_text(args, "out");
    char path[16];
    if (strcmp(asked, "auto") == 0) {
        if (strcmp(out, "-") != 0) return gsa_format_of(out, format, error);
        asked = "graphml";
    }
    snprintf(path, sizeof path, "x.%s", asked);
    return gsa_format_of(path, format, error);
}

static gsa_status build(gsa_job *job, const gsa_args *args, gsa_error *error)
{
    const char *spec = gsa_args_text(args, "topology");
    if (!spec) return gsa_fail(error, GSA_ERR_ARGUMENT, "'gsa graph' wants --topology SPEC; 'gsa topologies' lists them");
    gsa_status status = gsa_open_registry(args, &job->registry, error);
    if (status == GSA_OK) status = gsa_open_pattern(job->registry, job->system, spec, &job->pattern, error);
    if (status == GSA_OK) status = read_length(job, args, error);
    if (status != GSA_OK) return status;
    const int64_t most = gsa_args_number(args, "max-edges", 0);
    const gsa_limits limits = { .nodes = most < INT32_MAX ? most : INT32_MAX, .edges = most, .runs = most };
    job->example.struct_size = sizeof job->example;
    job->example.memory_length = (int32_t)gsa_args_number(args, "memory-length", 0);
    job->example.heads = (int32_t)gsa_args_number(args, "heads", 1);
    return gsa_pattern_instance(job->pattern, NULL, &job->example, &limits, 1, &job->instance, error);
}

static gsa_status write(const gsa_job *job, const gsa_args *args, int format, gsa_error *error)
{
    const gsa_picture picture = { job->instance,
                                  gsa_pattern_schema(job->pattern),
                                  gsa_pattern_topology(job->pattern),
                                  gsa_pattern_self(job->pattern),
                                  gsa_pattern_text(job->pattern),
                                  job->has_text ? job->tokens.label : NULL };
    gsa_output *out;
    gsa_status status = gsa_output_open(job->system, gsa_args_text(args, "out"), &out, error);
    if (status != GSA_OK) return status;
    status = gsa_write_picture(job->system, &picture, format, out, error);
    if (status == GSA_OK) return gsa_output_commit(out, error);
    gsa_output_abandon(out);
    return status;
}

/* star, length 16 | nodes: embedding 16, token 16, relay 1 | edges: down 80, up 17 | 33 nodes, 97 edges */
static void say_summary(const gsa_job *job)
{
    const gsa_schema *schema = gsa_pattern_schema(job->pattern);
    int64_t nodes = 0, total = 0;
    fprintf(stderr, "%s, length %d | nodes:", gsa_pattern_text(job->pattern), job->example.length);
    for (int k = 0; k < gsa_schema_kinds(schema); k++) {
        const int64_t count = gsa_instance_nodes(job->instance, k);
        fprintf(stderr, "%s %s %" PRId64, k ? "," : "", gsa_schema_kind(schema, k)->name, count);
        nodes += count;
    }
    fputs(" | edges:", stderr);
    for (int p = 0, shown = 0; p < gsa_schema_phases(schema); p++) {
        if (gsa_schema_phase(schema, p)->aggregate == GSA_NONE) continue;
        gsa_edges edges;
        gsa_instance_edges(job->instance, p, &edges);
        fprintf(stderr, "%s %s %" PRId64, shown++ ? "," : "", gsa_schema_phase(schema, p)->name, edges.edge_total);
        total += edges.edge_total;
    }
    fprintf(stderr, " | %" PRId64 " nodes, %" PRId64 " edges\n", nodes, total);
}

static gsa_status run(const gsa_args *args, gsa_error *error)
{
    int format = 0;
    gsa_job job = { .system = gsa_args_system(args) };
    gsa_status status = read_format(args, &format, error);
    if (status == GSA_OK) status = build(&job, args, error);
    if (status == GSA_OK) status = write(&job, args, format, error);
    if (status == GSA_OK) say_summary(&job);
    gsa_instance_release(job.instance);
    gsa_tokens_release(&job.tokens);
    gsa_pattern_release(job.pattern);
    gsa_registry_release(job.registry);
    return status;
}

static const gsa_option options[] = {
    { "topology", GSA_OPTION_TEXT, "SPEC", NULL, NULL, 0, 0, "one topology with its settings: star:cyclic=0 (needed)" },
    { "length", GSA_OPTION_NUMBER, "N", NULL, "the tokens of --text", 0, INT32_MAX, "tokens; 0 is a valid pattern" },
    { "text", GSA_OPTION_TEXT, "T", NULL, NULL, 0, 0,
      "a text in UTF-8: its tokens are the nodes' labels, and topologies may read it" },
    { "tokens", GSA_OPTION_CHOICE, "words|chars|bytes", "words", NULL, 0, 0, "how --text is cut" },
    { "heads", GSA_OPTION_NUMBER, "H", "1", NULL, 1, 4096, "attention heads, for patterns that differ by head" },
    { "memory-length", GSA_OPTION_NUMBER, "M", "0", NULL, 0, INT32_MAX,
      "tokens of the memory, for patterns that read another stack" },
    { "out", GSA_OPTION_TEXT, "FILE", "-", NULL, 0, 0,
      "where the graph goes: .graphml, .dot or .mtx; - is standard output" },
    { "format", GSA_OPTION_CHOICE, "auto|graphml|dot|mtx", "auto", NULL, 0, 0,
      "auto: by the ending of --out, graphml for -" },
    { "max-edges", GSA_OPTION_NUMBER, "N", "20000000", NULL, 1, INT64_C(1) << 40,
      "refuse a larger graph (GraphML takes some 180 bytes an edge)" },
    GSA_OPTION_ROW_PLUGIN,
};
const gsa_verb gsa_verb_graph = { .name = "graph",
                                  .summary = "write one layer's phases of a pattern as a graph",
                                  .operands = "",
                                  .options = options,
                                  .n_options = sizeof options / sizeof *options,
                                  .notes = "A line on stderr counts the nodes of each kind and the edges of each phase.",
                                  .run = run };
