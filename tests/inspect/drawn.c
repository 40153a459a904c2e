#include "drawn.h"
#include "graph/utf8.h"
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "graph/write.h"
#include "topologies/spec.h"

static const char *const hostile[] = { "\xe5\x8c\x97",
                                       "\xe4\xba\xac",
                                       "<&>\"'",
                                       "]]>",
                                       "<!--",
                                       "-->",
                                       "&amp;",
                                       "a\tb",
                                       "  two  ",
                                       " ",
                                       "\xc3\xa9",
                                       "\xf0\x9f\x98\x80",
                                       "\xd7\xa9\xd7\x9c",
                                       "e\xcc\x81",
                                       "%s%n",
                                       "<node id=\"n0\"/>",
                                       "\xe5\x8c\x97",
                                       "\xe4\xba\xac",
                                       "\\",
                                       "{}",
                                       "longer than any token of a text should be, really" };

gsa_slice drawn_token(int64_t i)
{
    const char *at = hostile[i % (int64_t)(sizeof hostile / sizeof *hostile)];
    return (gsa_slice){ at, (int64_t)strlen(at) };
}

void drawn_write(char *path, const char *text, int64_t bytes)
{
    strcpy(path, "/tmp/gsa-drawn-XXXXXX");
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, text, (size_t)bytes), bytes);
    close(file);
}

static int no_sync(void *user, int file)
{
    (void)user, (void)file;
    return 0;
}
static int no_sync_folder(void *user, const char *path)
{
    (void)user, (void)path;
    return 0;
}

gsa_system drawn_quick_system(void)
{
    gsa_system quick = *gsa_system_default();
    quick.sync = no_sync, quick.sync_folder = no_sync_folder;
    return quick;
}

/* The settings of a spec, LEXICON replaced by the dictionary's path. */
static gsa_status create(drawn *d, const char *text, const char *lexicon, gsa_error *error)
{
    gsa_stack_spec spec;
    gsa_setting settings[8];
    gsa_status status = gsa_spec_parse(NULL, text, &spec, error);
    if (status != GSA_OK) return status;
    const gsa_part_spec *part = &spec.segments[0].parts[0];
    for (int i = 0; i < part->n_settings; i++) {
        settings[i] = part->settings[i];
        if (strcmp(settings[i].value, "LEXICON") == 0) settings[i].value = lexicon;
    }
    status =
        gsa_pattern_create(d->registry, part->id, settings, part->n_settings, &d->pattern, error);
    gsa_spec_release(&spec);
    return status;
}

static void write_graphml(const drawn *d, const gsa_slice *text, gsa_error *error)
{
    const gsa_picture_stack stack = { .text = text, .memory = -1 };
    const gsa_picture_sheet sheet = { .instance = d->instance,
                                      .schema = gsa_pattern_schema(d->pattern),
                                      .topology = gsa_pattern_topology(d->pattern),
                                      .self = gsa_pattern_self(d->pattern) };
    const gsa_picture picture = { .spec = gsa_pattern_text(d->pattern),
                                  .stacks = &stack,
                                  .sheets = &sheet,
                                  .n_stacks = 1,
                                  .n_sheets = 1 };
    const gsa_system quick = drawn_quick_system();
    gsa_output *output;
    ck_assert_int_eq(gsa_output_open(&quick, d->path, &output, error), GSA_OK);
    ck_assert_msg(gsa_write_picture(NULL, &picture, GSA_FORMAT_GRAPHML, output, error) == GSA_OK,
                  "%s", error->text);
    ck_assert_msg(gsa_output_commit(output, error) == GSA_OK, "%s", error->text);
}

drawn drawn_make(const char *spec, int32_t length, int with_text)
{
    drawn d = { 0 };
    gsa_error error = { 0 };
    char lexicon[64];
    gsa_slice *text = calloc((size_t)length + 1, sizeof *text);
    for (int32_t i = 0; i < length; i++) text[i] = drawn_token(i);
    drawn_write(lexicon, "\xe5\x8c\x97\xe4\xba\xac\n", 7);
    drawn_write(d.path, "", 0);
    ck_assert_int_eq(gsa_registry_create(NULL, &d.registry, &error), GSA_OK);
    ck_assert_msg(create(&d, spec, lexicon, &error) == GSA_OK, "%s: %s", spec, error.text);
    const gsa_example example = { .struct_size = sizeof example,
                                  .length = length,
                                  .memory_length = length + 2,
                                  .heads = 3,
                                  .text = with_text ? text : NULL };
    ck_assert_msg(gsa_pattern_instance(d.pattern, NULL, &example, NULL, 1, &d.instance, &error) ==
                      GSA_OK,
                  "%s", error.text);
    write_graphml(&d, with_text ? text : NULL, &error);
    ck_assert_msg(gsa_view_read(gsa_system_default(), d.path, &d.view, &error) == GSA_OK, "%s",
                  error.text);
    ck_assert_str_eq(d.view->note, "");
    unlink(lexicon);
    free(text);
    return d;
}

void drawn_end(drawn *d)
{
    gsa_view_release(d->view);
    gsa_instance_release(d->instance);
    gsa_pattern_release(d->pattern);
    gsa_registry_release(d->registry);
    unlink(d->path);
}

gsa_view *drawn_view(const char *graphml)
{
    char path[64];
    gsa_view *view;
    gsa_error error = { 0 };
    drawn_write(path, graphml, (int64_t)strlen(graphml));
    ck_assert_msg(gsa_view_read(gsa_system_default(), path, &view, &error) == GSA_OK, "%s",
                  error.text);
    unlink(path);
    return view;
}

/* The nodes and edges of a view, its kinds under the name of a stack. */
static void add_stack(gsa_view *pair, const gsa_view *from, const char *stack)
{
    const int32_t first = pair->nodes;
    char kind[128];
    pair->node =
        gsa_resize(pair->system, pair->node, (size_t)(first + from->nodes), sizeof *pair->node);
    pair->edge = gsa_resize(pair->system, pair->edge, (size_t)(pair->edges + from->edges),
                            sizeof *pair->edge);
    for (int32_t v = 0; v < from->nodes; v++) {
        gsa_view_node *node = &pair->node[pair->nodes++];
        *node = from->node[v];
        snprintf(kind, sizeof kind, "%s.%s", stack, from->kinds.at[node->kind]);
        node->label = gsa_copy_text(pair->system, from->node[v].label);
        node->kind = gsa_texts_add(pair->system, &pair->kinds, kind);
    }
    for (int64_t e = 0; e < from->edges; e++) {
        gsa_view_edge *edge = &pair->edge[pair->edges++];
        *edge = from->edge[e];
        edge->from += first, edge->to += first;
        edge->phase =
            gsa_texts_add(pair->system, &pair->phases, from->phases.at[from->edge[e].phase]);
        edge->label =
            gsa_texts_add(pair->system, &pair->labels, from->labels.at[from->edge[e].label]);
    }
}

gsa_view *drawn_pair(const char *spec, int32_t encoder_length, int32_t decoder_length)
{
    drawn encoder = drawn_make(spec, encoder_length, 1),
          decoder = drawn_make(spec, decoder_length, 1);
    gsa_view *pair = drawn_large(0, 0);
    add_stack(pair, encoder.view, "encoder");
    add_stack(pair, decoder.view, "decoder");
    const int32_t phase = gsa_texts_add(pair->system, &pair->phases, "cross.attend");
    for (int32_t to = 0; to < decoder_length; to++)
        for (int32_t from = 0; from < encoder_length; from++) {
            pair->edge =
                gsa_resize(pair->system, pair->edge, (size_t)(pair->edges + 1), sizeof *pair->edge);
            pair->edge[pair->edges++] =
                (gsa_view_edge){ from, encoder.view->nodes + to, phase, 0, 0, 0, -1, -1, 1 };
        }
    drawn_end(&encoder);
    drawn_end(&decoder);
    return pair;
}

gsa_view *drawn_large(int32_t n, int32_t half)
{
    const gsa_system *system = gsa_system_default();
    gsa_view *v = gsa_alloc_zero(system, 1, sizeof *v);
    v->system = system, v->spec = gsa_copy_text(system, "window"), v->length = v->nodes = n,
    v->directed = v->profile = 1;
    v->node = gsa_alloc_zero(system, (size_t)n, sizeof *v->node);
    v->edge = gsa_alloc_zero(system, (size_t)n * (2 * (size_t)half + 1), sizeof *v->edge);
    gsa_texts_add(system, &v->kinds, "token");
    gsa_texts_add(system, &v->phases, "attend");
    gsa_texts_add(system, &v->labels, "");
    for (int32_t i = 0; i < n; i++) {
        v->node[i] = (gsa_view_node){ gsa_copy_text(system, "token"), 0, i, -1, -1, -1 };
        for (int32_t j = i > half ? i - half : 0; j <= i + half && j < n; j++)
            v->edge[v->edges++] =
                (gsa_view_edge){ .from = j, .to = i, .head_from = -1, .head_to = -1, .weight = 1 };
    }
    return v;
}

char *drawn_svg(const gsa_view *view, int style, int32_t focus)
{
    char path[64], *svg;
    int64_t bytes;
    gsa_output *output;
    gsa_error error = { 0 };
    const gsa_drawing_options options = { .style = style, .focus = focus };
    const gsa_system quick = drawn_quick_system();
    drawn_write(path, "", 0);
    ck_assert_int_eq(gsa_output_open(&quick, path, &output, &error), GSA_OK);
    ck_assert_msg(gsa_view_draw(view, &options, output, &error) == GSA_OK, "%s", error.text);
    ck_assert_int_eq(gsa_output_commit(output, &error), GSA_OK);
    ck_assert_int_eq(gsa_read_file(NULL, path, 1 << 26, &svg, &bytes, &error), GSA_OK);
    unlink(path);
    return svg;
}

/* One tag from its '<' on: its name's bytes in *name, 1 in *closed for <x/>. Returns what follows
 * it, NULL when it is malformed. */
static const char *tag_at(const char *at, size_t *name, int *closed)
{
    at += 1 + (at[1] == '/');
    *name = strspn(at, "abcdefghijklmnopqrstuvwxyz");
    for (at += *name; *at == ' ';) {
        at += 1 + strspn(at + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-:");
        if (at[0] != '=' || at[1] != '"') return NULL;
        at += 2 + strcspn(at + 2, "\"<&");
        if (*at++ != '"') return NULL;
    }
    *closed = *at == '/';
    at += *closed;
    return *name && *at == '>' ? at + 1 : NULL;
}

/* The declaration, one root, nested tags, quoted attributes, three entities, characters that XML
 * carries. */
int drawn_is_well_formed(const char *text)
{
    static const char declaration[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    const char *open[32];
    size_t lengths[32], name;
    int depth = 0, roots = 0, closed;
    if (strncmp(text, declaration, strlen(declaration)) != 0 ||
        gsa_xml_invalid(text, (int64_t)strlen(text)) >= 0)
        return 0;
    for (const char *at = text + strlen(declaration), *next; *at; at = next) {
        next = at + 1;
        if (*at == '&' && strncmp(at, "&amp;", 5) != 0 && strncmp(at, "&lt;", 4) != 0 &&
            strncmp(at, "&gt;", 4) != 0)
            return 0;
        if (*at != '<') continue;
        if (!(next = tag_at(at, &name, &closed))) return 0;
        if (at[1] == '/') {
            if (depth-- == 0 || lengths[depth] != name || strncmp(open[depth], at + 2, name) != 0)
                return 0;
        } else if (depth == 32 || (depth == 0 && roots++)) return 0;
        else if (!closed) open[depth] = at + 1, lengths[depth++] = name;
    }
    return depth == 0 && roots == 1;
}

char *drawn_group(const char *svg, const char *class)
{
    char open[64];
    snprintf(open, sizeof open, "<g class=\"%s\"", class);
    const char *at = strstr(svg, open), *end = at;
    if (!at) return strdup("");
    for (int depth = 0; *end; end++) {
        if (strncmp(end, "<g", 2) == 0 && (end[2] == ' ' || end[2] == '>')) depth++;
        if (strncmp(end, "</g>", 4) == 0 && --depth == 0) break;
    }
    return strndup(at, (size_t)(end - at));
}
