/* gsa graph - the phases of a topology, or of a whole stack, as GraphML, DOT or Matrix Market. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "tools/command/drawn.h"
#include "tools/command/tokens.h"
#include "topologies/words.h"
#include "tools/command/verbs.h"

enum {
    MEMORY,
    MAIN,
    STACKS
}; /* places in a picture of two: encoder, decoder; a picture of one is MAIN alone */

enum { BESIDE = 15 }; /* specs that a page may have next to the first */

typedef struct gsa_job { /* a picture: everything that is released at the end */
    const gsa_system *system;
    const char *topology; /* as it was given */
    gsa_registry *registry;
    gsa_stack_spec spec[STACKS];
    gsa_drawn_stack stack[STACKS];
    gsa_tokens tokens[STACKS];
    int32_t length[STACKS];
    gsa_picture_sheet *sheets;
    char *text; /* the spec as the picture says it */
} gsa_job;

/* ---- what was asked ------------------------------------------------------------------------ */

/* A length and a text for it, either or both; -1: neither was given. */
static gsa_status read_length(gsa_job *job, const gsa_args *args, int stack,
                              const char *length_option, const char *text_option, gsa_error *error)
{
    const char *text = gsa_args_text(args, text_option), *how = gsa_args_text(args, "tokens");
    const int64_t length = gsa_args_number(args, length_option, -1);
    gsa_tokens *tokens = &job->tokens[stack];
    job->length[stack] = (int32_t)length;
    if (!text) return GSA_OK;
    const gsa_status status = gsa_tokens_split(job->system, text_option, text, how, tokens, error);
    if (status != GSA_OK) return status;
    if (length >= 0 && length != tokens->count)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "--%s is %" PRId64 ", but --%s has %d %s: give one of them", length_option,
                        length, text_option, tokens->count, how);
    job->length[stack] = tokens->count;
    return GSA_OK;
}

static gsa_status read_lengths(gsa_job *job, const gsa_args *args, gsa_error *error)
{
    gsa_status status = read_length(job, args, MAIN, "length", "text", error);
    if (status == GSA_OK)
        status = read_length(job, args, MEMORY, "memory-length", "memory-text", error);
    if (status != GSA_OK) return status;
    if (job->length[MAIN] < 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "'gsa graph' needs --length N or --text T");
    const char *memory = gsa_args_text(args, "memory");
    char shown[GSA_SHOWN];
    if (memory && job->length[MEMORY] < 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "--memory %s needs --memory-length M or --memory-text T",
                        gsa_word_show(memory, shown));
    if (job->length[MEMORY] < 0) job->length[MEMORY] = 0;
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

/* "2.": skipped, and 2; without a number 1. */
static int64_t read_place(const char **at)
{
    const size_t digits = strspn(*at, "0123456789");
    int64_t place = 0;
    if (digits == 0 || digits > 6 || (*at)[digits] != '.') return 1;
    for (size_t i = 0; i < digits; i++) place = 10 * place + ((*at)[i] - '0');
    *at += digits + 1;
    return place;
}

/* [memory.][N.]KEY=VALUE: for pattern N of the stack, counted from 1. */
static gsa_status set_one(gsa_job *job, const char *text, gsa_error *error)
{
    char key[GSA_WORD_LIMIT + 1], shown[GSA_SHOWN];
    const char *at = text;
    const int memory = strncmp(at, "memory.", 7) == 0;
    if (memory) at += 7;
    const int64_t place = read_place(&at);
    gsa_stack_spec *spec = &job->spec[memory ? MEMORY : MAIN];
    const size_t bytes = strcspn(at, "=");
    if (at[bytes] != '=' || bytes == 0 || bytes >= sizeof key)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "--set %s, expected [memory.][N.]KEY=VALUE, such as 2.width=3",
                        gsa_word_show(text, shown));
    snprintf(key, sizeof key, "%.*s", (int)bytes, at);
    if (memory && spec->n_segments == 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "--set %s, but there is no --memory SPEC",
                        gsa_word_show(text, shown));
    int64_t parts = 0;
    for (int s = 0; s < spec->n_segments; parts += spec->segments[s++].n_parts)
        if (place > parts && place <= parts + spec->segments[s].n_parts)
            return gsa_spec_set(spec, s, (int)(place - parts - 1), key, at + bytes + 1, error);
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "--set %s: %s has %" PRId64 " patterns, counted from 1",
                    gsa_word_show(text, shown), memory ? "--memory" : "--topology", parts);
}

/* --set is for the first picture. */
static gsa_status read_specs(gsa_job *job, const gsa_args *args, int number, gsa_error *error)
{
    int count;
    const char *const *settings = gsa_args_texts(args, "set", &count);
    const char *memory = gsa_args_text(args, "memory");
    if (number > 0) count = 0;
    gsa_status status = gsa_spec_parse(job->system, job->topology, &job->spec[MAIN], error);
    if (status == GSA_OK && memory)
        status = gsa_spec_parse(job->system, memory, &job->spec[MEMORY], error);
    for (int i = 0; i < count && status == GSA_OK; i++) status = set_one(job, settings[i], error);
    return status;
}

/* ---- patterns and examples ----------------------------------------------------------------- */

static gsa_status make_stacks(gsa_job *job, const gsa_args *args, gsa_error *error)
{
    gsa_drawn_stack *own = &job->stack[MAIN], *memory = &job->stack[MEMORY];
    gsa_status status = gsa_open_registry(args, &job->registry, error);
    if (status == GSA_OK)
        status = gsa_drawn_stack_create(job->system, job->registry, &job->spec[MAIN], own, error);
    if (status == GSA_OK && !own->reads_memory && job->tokens[MEMORY].label)
        return gsa_fail(
            error, GSA_ERR_ARGUMENT,
            "--memory-text would be read by nothing: no pattern of %s reads another stack's "
            "sequence",
            own->text);
    if (status != GSA_OK || job->spec[MEMORY].n_segments == 0) return status;
    status = gsa_drawn_stack_create(job->system, job->registry, &job->spec[MEMORY], memory, error);
    if (status == GSA_OK && !own->reads_memory)
        return gsa_fail(
            error, GSA_ERR_ARGUMENT,
            "--memory %s would be read by nothing: no pattern of %s reads another stack's sequence",
            memory->text, own->text);
    if (status == GSA_OK && memory->reads_memory)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "--memory %s reads a memory itself, which cannot be drawn", memory->text);
    return status;
}

static gsa_status emit(gsa_job *job, const gsa_args *args, gsa_error *error)
{
    const int64_t most = gsa_args_number(args, "max-edges", 0);
    const gsa_limits limits = { .nodes = most < INT32_MAX ? most : INT32_MAX,
                                .edges = most,
                                .runs = most };
    gsa_status status = GSA_OK;
    int64_t edges = 0;
    for (int s = 0; s < STACKS && status == GSA_OK; s++) {
        if (job->stack[s].n_parts == 0) continue;
        const gsa_example example = { .struct_size = sizeof example,
                                      .length = job->length[s],
                                      .memory_length = s == MAIN ? job->length[MEMORY] : 0,
                                      .heads = (int32_t)gsa_args_number(args, "heads", 1),
                                      .text = job->tokens[s].token };
        status = gsa_drawn_stack_emit(&job->stack[s], &example, &limits, error);
        if (status == GSA_OK) edges += gsa_drawn_stack_edges(&job->stack[s]);
    }
    if (status == GSA_ERR_LIMIT && error) {
        const gsa_error why = *error;
        return gsa_fail(error, status, "%s (--max-edges is %" PRId64 ")", why.text, most);
    }
    if (status != GSA_OK || edges <= most) return status;
    return gsa_fail(error, GSA_ERR_LIMIT,
                    "the graph has %" PRId64 " edges over its layers, --max-edges is %" PRId64,
                    edges, most);
}

/* ---- the picture --------------------------------------------------------------------------- */

static gsa_status draw_one(gsa_job *job, gsa_pictures *pictures, gsa_error *error)
{
    const gsa_drawn_stack *own = &job->stack[MAIN];
    const gsa_picture_stack stack = { "", job->tokens[MAIN].label, job->tokens[MEMORY].label, -1 };
    const gsa_picture picture = { own->text, &stack, job->sheets, 1, own->sheets };
    gsa_drawn_stack_sheets(own, 0, job->sheets);
    return gsa_pictures_add(pictures, &picture, NULL, error);
}

static gsa_status draw_two(gsa_job *job, gsa_pictures *pictures, gsa_error *error)
{
    const gsa_drawn_stack *own = &job->stack[MAIN], *memory = &job->stack[MEMORY];
    const gsa_picture_stack stacks[] = { { "encoder", job->tokens[MEMORY].label, NULL, -1 },
                                         { "decoder", job->tokens[MAIN].label, NULL, MEMORY } };
    gsa_drawn_stack_sheets(memory, MEMORY, job->sheets);
    gsa_drawn_stack_sheets(own, MAIN, job->sheets + memory->sheets);
    const size_t room = strlen(memory->text) + strlen(own->text) + 32;
    char *text = gsa_alloc(job->system, room, 1);
    if (!text) return gsa_out_of_memory(error, "a picture", (int64_t)room);
    snprintf(text, room, "encoder=%s decoder=%s", memory->text, own->text);
    job->text = text;
    const gsa_picture picture = { text, stacks, job->sheets, STACKS, memory->sheets + own->sheets };
    return gsa_pictures_add(pictures, &picture, NULL, error);
}

static gsa_status draw(gsa_job *job, gsa_pictures *pictures, gsa_error *error)
{
    const size_t sheets = (size_t)job->stack[MAIN].sheets + (size_t)job->stack[MEMORY].sheets;
    job->sheets = gsa_alloc(job->system, sheets, sizeof *job->sheets);
    if (!job->sheets)
        return gsa_out_of_memory(error, "a picture", (int64_t)(sheets * sizeof *job->sheets));
    return job->stack[MEMORY].n_parts ? draw_two(job, pictures, error)
                                      : draw_one(job, pictures, error);
}

static gsa_status prepare(gsa_job *job, const gsa_args *args, int number, gsa_error *error)
{
    gsa_status status = read_specs(job, args, number, error);
    if (status == GSA_OK) status = read_lengths(job, args, error);
    if (status == GSA_OK) status = make_stacks(job, args, error);
    return status == GSA_OK ? emit(job, args, error) : status;
}

/* The summary on stderr, once the picture is written. */
static void say(const gsa_job *job)
{
    const int two = job->stack[MEMORY].n_parts > 0;
    if (two) gsa_drawn_stack_say(&job->stack[MEMORY], "encoder", 0);
    gsa_drawn_stack_say(&job->stack[MAIN], two ? "decoder" : NULL, two);
}

/* All of them are complete before the first byte is written. */
static gsa_status write_all(gsa_job *jobs, int count, const gsa_args *args, int format,
                            gsa_error *error)
{
    gsa_pictures pictures = { .system = gsa_args_system(args),
                              .format = format,
                              .beside = count > 1 };
    gsa_status status =
        gsa_output_open(pictures.system, gsa_args_text(args, "out"), &pictures.output, error);
    if (status != GSA_OK) return status;
    for (int i = 0; i < count && status == GSA_OK; i++) status = draw(&jobs[i], &pictures, error);
    if (status != GSA_OK) {
        gsa_output_abandon(pictures.output);
        return status;
    }
    gsa_pictures_end(&pictures);
    status = gsa_output_commit(pictures.output, error);
    for (int i = 0; i < count && status == GSA_OK; i++) say(&jobs[i]);
    return status;
}

static void release(gsa_job *job)
{
    for (int s = 0; s < STACKS; s++) {
        gsa_drawn_stack_release(&job->stack[s]);
        gsa_tokens_release(&job->tokens[s]);
        gsa_spec_release(&job->spec[s]);
    }
    gsa_release(job->system, job->sheets);
    gsa_release(job->system, job->text);
    gsa_registry_release(job->registry);
}

static gsa_status run(const gsa_args *args, gsa_error *error)
{
    int format = 0, beside;
    gsa_job job[1 + BESIDE] = { { .topology = gsa_args_text(args, "topology") } };
    const char *const *others = gsa_args_texts(args, "beside", &beside);
    gsa_status status = read_format(args, &format, error);
    if (status == GSA_OK && !job[0].topology)
        status = gsa_fail(error, GSA_ERR_ARGUMENT,
                          "'gsa graph' needs --topology SPEC; 'gsa topologies' lists them");
    if (status == GSA_OK && beside > BESIDE)
        status = gsa_fail(error, GSA_ERR_ARGUMENT, "--beside was given %d times, at most %d",
                          beside, BESIDE);
    if (status == GSA_OK && beside > 0 && format < GSA_FORMAT_HTML)
        status = gsa_fail(error, GSA_ERR_ARGUMENT,
                          "--beside needs a page or numbers: --out FILE.html, .json or .csv");
    if (status != GSA_OK) return status;
    for (int i = 0; i <= beside && status == GSA_OK; i++) {
        job[i].system = gsa_args_system(args);
        if (i > 0) job[i].topology = others[i - 1];
        status = prepare(&job[i], args, i, error);
    }
    if (status == GSA_OK) status = write_all(job, 1 + beside, args, format, error);
    for (int i = 0; i <= beside && job[i].system; i++) release(&job[i]);
    return status;
}

static const gsa_option options[] = {
    { "topology", GSA_OPTION_TEXT, "SPEC", NULL, NULL, 0, 0,
      "a topology, or a stack of them: star:cyclic=0, window:width=11*3,full*3 (needed)" },
    { "length", GSA_OPTION_NUMBER, "N", NULL, "the tokens of --text", 0, INT32_MAX,
      "tokens; 0 is a valid pattern" },
    { "text", GSA_OPTION_TEXT, "T", NULL, NULL, 0, 0,
      "a text in UTF-8: its tokens are the nodes' labels, and topologies may read it" },
    { "tokens", GSA_OPTION_CHOICE, "words|chars|bytes", "words", NULL, 0, 0,
      "how --text and --memory-text are cut" },
    { "heads", GSA_OPTION_NUMBER, "H", "1", NULL, 1, 4096,
      "attention heads, for patterns that differ by head" },
    { "memory", GSA_OPTION_TEXT, "SPEC", NULL, NULL, 0, 0,
      "another stack, drawn too, whose sequence --topology reads: an encoder and its decoder" },
    { "memory-length", GSA_OPTION_NUMBER, "M", NULL, "the tokens of --memory-text, else 0", 0,
      INT32_MAX, "tokens of the memory, for patterns that read another stack" },
    { "memory-text", GSA_OPTION_TEXT, "T", NULL, NULL, 0, 0, "its text" },
    { "set", GSA_OPTION_TEXTS, "[memory.][N.]KEY=VALUE", NULL, NULL, 0, 0,
      "a setting of pattern N of the spec, counted from 1 (the default), whose value may hold ':' "
      "',' '+' '*'; repeatable" },
    { "beside", GSA_OPTION_TEXTS, "SPEC", NULL, NULL, 0, 0,
      "another pattern of the same text in the same page, to look at side by side; repeatable" },
    { "out", GSA_OPTION_OUTPUT, "FILE", "-", NULL, 0, 0,
      "where the graph goes: .graphml, .dot, .mtx, .html (a page to look at), .json or .csv "
      "(numbers of each head); - is standard output" },
    { "format", GSA_OPTION_CHOICE, "auto|graphml|dot|mtx|html|json|csv", "auto", NULL, 0, 0,
      "auto: by the ending of --out, graphml for -" },
    { "max-edges", GSA_OPTION_NUMBER, "N", "20000000", NULL, 1, INT64_C(1) << 40,
      "refuse a larger graph (GraphML takes some 200 bytes an edge)" },
    GSA_OPTION_ROW_PLUGIN,
};
const gsa_verb gsa_verb_graph = {
    .name = "graph",
    .summary = "write the phases of a topology, or of a whole stack, as a graph",
    .operands = "",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .notes = "A line on stderr counts the nodes of each kind and the edges of each phase.\n"
             "Edges carry their layer; with --memory nodes carry their stack, and kinds are called "
             "encoder.token, decoder.token.",
    .run = run
};
