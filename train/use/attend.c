/* attend.c - gsa_attend: texts or examples through trained models, the attention weights on the
 * edges of pictures. A picture has the passes of a model that read one sequence each: both texts of
 * a pair, an encoder and its decoder. A pass over many sequences, the characters of each word, has
 * a picture for each. Memory: edges x heads doubles of every drawn layer. */
#include <stdio.h>
#include <string.h>
#include "graph/utf8.h"
#include "train/data/plain.h"
#include "train/driver/recycle.h"
#include "train/use/apply.h"
#include "train/use/looked.h"

enum { TITLE = 160, MOST_PARTS = 64 };

typedef struct gsa_looker {
    const gsa_apply_options *apply; /* of the model that is open */
    const gsa_attend_options *options;
    gsa_recycler *recycler; /* whose text is what is looked at */
    gsa_session *session;
    gsa_pictures *pictures;
    gsa_looked pass[GSA_TASK_PASSES];
    int n_passes, models;
} gsa_looker;

/* ---- what is looked at --------------------------------------------------------------------- */

/* Texts of one item: two of a pair. */
static int texts_each(const gsa_session *s)
{
    return s->task == &gsa_task_sentence_pairs ? 2 : 1;
}

/* The texts as a line of a file: no line end, and between two of them a tab. */
static gsa_status feed_line(const gsa_looker *l, const char *const *text, int texts, char **line,
                            gsa_error *error)
{
    const gsa_system *system = l->recycler->above.below;
    size_t room = 2;
    for (int i = 0; i < texts; i++) room += strlen(text[i]) + 1;
    char *at = gsa_resize(system, *line, room, 1);
    if (!at) return gsa_out_of_memory(error, "a text", (int64_t)room);
    *line = at;
    for (int i = 0; i < texts; i++) {
        if (i > 0) *at++ = '\t';
        for (const char *c = text[i]; *c; c++)
            *at++ = *c == '\n' || *c == '\r' || *c == '\t' ? ' ' : *c;
    }
    *at++ = '\n', *at = 0;
    gsa_recycler_feed(l->recycler, *line, at - *line);
    return GSA_OK;
}

static gsa_status read_texts(const gsa_looker *l, const char *const *text, char **line,
                             gsa_error *error)
{
    const gsa_session *s = l->session;
    if (s->task->read_text) return s->task->read_text(s->self, text[0], error);
    if (!s->task->read_lines || s->task->whole || gsa_learner_columns(&s->model, 0) > 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "%s: request an example of its test data (--example N)",
                        s->task == &gsa_task_span_extraction
                            ? "the model reads a question and a passage, not one text"
                            : "the model reads numbers, not text");
    const gsa_status status = feed_line(l, text, texts_each(s), line, error);
    return status == GSA_OK ? s->task->read_lines(s->self, GSA_RECYCLE_TEXT, error) : status;
}

/* Where the examples are; texts are read in as test data. */
static int split_of(const gsa_looker *l)
{
    return l->options->dev && l->options->n_texts == 0 ? GSA_SPLIT_DEV : GSA_SPLIT_TEST;
}

static gsa_status check_example(const gsa_looker *l, int64_t example, gsa_error *error)
{
    const gsa_session *s = l->session;
    const char *name = gsa_split_name(split_of(l));
    const int64_t examples = s->task->examples(s->self, split_of(l));
    if (examples == 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "the model's recipe has no %s data: give a text, or --set data.%s=FILE",
                        name, name);
    if (example >= 0 && example < examples) return GSA_OK;
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "there is no example %lld: the %s data has %lld, counted from 0",
                    (long long)example, name, (long long)examples);
}

/* ---- pictures ------------------------------------------------------------------------------ */

/* Is the pass part of the main picture? */
static int is_main(const gsa_looked *p)
{
    return !p->apart && p->n_sheets > 0;
}

/* As much of the text as fits, whole characters. */
static void append(char title[TITLE], const char *text, int64_t bytes)
{
    const size_t used = strlen(title);
    size_t fits = 0;
    while (fits < (size_t)bytes) {
        const int32_t next = gsa_utf8_length(text + fits);
        if (next < 1 || fits + (size_t)next > (size_t)bytes || used + fits + (size_t)next >= TITLE)
            break;
        fits += (size_t)next;
    }
    memcpy(title + used, text, fits);
    title[used + fits] = 0;
}

static void append_text(char title[TITLE], const char *text)
{
    append(title, text, (int64_t)strlen(text));
}

/* "encoder=full*2 decoder=full:causal=1+cross*2"; one pass has no name. */
static gsa_status write_spec(const gsa_looker *l, int several, char **spec, gsa_error *error)
{
    size_t room = 1, at = 0;
    for (int p = 0; p < l->n_passes; p++)
        room += strlen(l->pass[p].name) + strlen(gsa_stack_text(l->pass[p].stack)) + 2;
    *spec = gsa_alloc_zero(l->session->system, room, 1);
    if (!*spec) return gsa_out_of_memory(error, "a picture", (int64_t)room);
    for (int p = 0; p < l->n_passes; p++)
        if (is_main(&l->pass[p]))
            at += (size_t)snprintf(*spec + at, room - at, "%s%s%s%s", at ? " " : "",
                                   several ? l->pass[p].name : "", several ? "=" : "",
                                   gsa_stack_text(l->pass[p].stack));
    return GSA_OK;
}

static int main_passes(const gsa_looker *l, int *sheets)
{
    int passes = 0;
    *sheets = 0;
    for (int p = 0; p < l->n_passes; p++)
        if (is_main(&l->pass[p])) passes++, *sheets += l->pass[p].n_sheets;
    return passes;
}

static gsa_status add_main(const gsa_looker *l, const char *title, gsa_error *error)
{
    gsa_picture_stack stack[GSA_TASK_PASSES];
    int place[GSA_TASK_PASSES], sheets, n = 0, at = 0;
    char *spec = NULL;
    const int several = main_passes(l, &sheets) > 1;
    gsa_picture_sheet *sheet = gsa_alloc(l->session->system, (size_t)sheets, sizeof *sheet);
    gsa_status status = write_spec(l, several, &spec, error);
    if (!sheet) status = gsa_out_of_memory(error, "a picture", sheets * (int64_t)sizeof *sheet);
    for (int p = 0; p < l->n_passes; p++) place[p] = is_main(&l->pass[p]) ? n++ : -1;
    for (int p = 0; p < l->n_passes && status == GSA_OK; p++) {
        const gsa_looked *own = &l->pass[p];
        if (place[p] < 0) continue;
        stack[place[p]] = (gsa_picture_stack){
            .name = several ? own->name : NULL,
            .text = gsa_looked_text(own, 0),
            .memory = own->memory >= 0 ? place[own->memory] : -1,
            .memory_text = own->memory >= 0 ? gsa_looked_text(&l->pass[own->memory], 0) : NULL
        };
        gsa_looked_sheets(own, 0, place[p], sheet + at);
        at += own->n_sheets;
    }
    const gsa_picture picture = { spec, stack, sheet, n, sheets };
    if (status == GSA_OK) status = gsa_pictures_add(l->pictures, &picture, title, error);
    gsa_release(l->session->system, sheet);
    gsa_release(l->session->system, spec);
    return status;
}

/* One of a pass's many sequences: the characters of a word. */
static gsa_status add_part(const gsa_looker *l, const gsa_looked *p, int32_t e, const char *title,
                           gsa_error *error)
{
    char own[TITLE] = "";
    const gsa_slice *text = gsa_looked_text(p, e);
    const int32_t length = l->session->batch.sequence[p->sequence].length[e];
    gsa_picture_sheet *sheet = gsa_alloc(l->session->system, (size_t)p->n_sheets, sizeof *sheet);
    if (!sheet) return gsa_out_of_memory(error, "a picture", p->n_sheets * (int64_t)sizeof *sheet);
    append_text(own, p->name), append_text(own, " ");
    for (int32_t i = 0; text && i < length; i++) append(own, text[i].at, text[i].bytes);
    append_text(own, *title ? " of " : ""), append_text(own, title);
    gsa_looked_sheets(p, e, 0, sheet);
    const gsa_picture_stack stack = { .text = text, .memory = -1 };
    const gsa_picture picture = { gsa_stack_text(p->stack), &stack, sheet, 1, p->n_sheets };
    const gsa_status status = gsa_pictures_add(l->pictures, &picture, own, error);
    gsa_release(l->session->system, sheet);
    return status;
}

static gsa_status add_pictures(const gsa_looker *l, const char *title, gsa_error *error)
{
    char sentence[128];
    gsa_status status = add_main(l, title, error);
    for (int p = 0; p < l->n_passes; p++) {
        const gsa_looked *own = &l->pass[p];
        const int many = own->apart && own->n_sheets > 0;
        if (many && l->options->format < GSA_FORMAT_HTML) {
            snprintf(sentence, sizeof sentence, "the pass '%.40s' is in a page or in numbers alone",
                     own->name);
            gsa_apply_say((void *)(uintptr_t)l->apply, sentence);
            continue;
        }
        for (int32_t e = 0; many && e < own->examples && e < MOST_PARTS && status == GSA_OK; e++)
            status = add_part(l, own, e, title, error);
        if (many && own->examples > MOST_PARTS && status == GSA_OK) {
            snprintf(sentence, sizeof sentence, "the pass '%.40s': the first %d of %d are shown",
                     own->name, MOST_PARTS, own->examples);
            gsa_apply_say((void *)(uintptr_t)l->apply, sentence);
        }
    }
    return status;
}

/* ---- an example ---------------------------------------------------------------------------- */

static gsa_status check_edges(const gsa_looker *l, gsa_error *error)
{
    int64_t total = 0;
    for (int p = 0; p < l->n_passes; p++)
        if (!gsa_add(total, gsa_looked_edges(&l->pass[p]), &total)) total = INT64_MAX;
    if (l->options->most_edges <= 0 || total <= l->options->most_edges) return GSA_OK;
    return gsa_fail(
        error, GSA_ERR_LIMIT,
        "the picture has %lld edges, at most %lld are wanted (--max-edges, or one --layer)",
        (long long)total, (long long)l->options->most_edges);
}

static gsa_status look(gsa_looker *l, int64_t example, const char *title, gsa_error *error)
{
    gsa_session *s = l->session;
    gsa_status status = gsa_task_fill(s->task, s->self, split_of(l), &example, 1, &s->batch, error);
    for (int p = 0; p < l->n_passes && status == GSA_OK; p++) {
        status = gsa_looked_open(s, p, l->options->layer, &l->pass[p], error);
        if (status == GSA_OK) status = gsa_looked_emit(&l->pass[p], error);
    }
    if (status == GSA_OK) status = check_edges(l, error);
    for (int p = 0; p < l->n_passes && status == GSA_OK; p++)
        status = gsa_looked_watch(&l->pass[p], error);
    if (status == GSA_OK) status = gsa_session_outputs(s, split_of(l), &example, 1, error);
    for (int p = 0; p < l->n_passes && status == GSA_OK; p++)
        status = gsa_looked_read(&l->pass[p], error);
    if (status == GSA_OK) status = add_pictures(l, title, error);
    for (int p = 0; p < l->n_passes && status == GSA_OK; p++)
        if (is_main(&l->pass[p])) gsa_looked_say(&l->pass[p], l->apply, l->n_passes > 1);
    for (int p = 0; p < l->n_passes; p++) gsa_looked_release(&l->pass[p]);
    return status;
}

/* What tells this picture from others: the model, where there are several, and the text. */
static void make_title(const gsa_looker *l, const char *const *text, int texts, int64_t example,
                       char title[TITLE])
{
    char number[40];
    const int many = l->options->n_texts + l->options->n_examples > (texts ? texts : 1);
    title[0] = 0;
    if (l->models > 1) append_text(title, l->apply->model), append_text(title, many ? ": " : "");
    snprintf(number, sizeof number, "example %lld", (long long)example);
    if (many && texts == 0) append_text(title, number);
    for (int i = 0; many && i < texts; i++)
        append_text(title, i ? " | " : ""), append_text(title, text[i]);
}

static gsa_status look_at_all(gsa_looker *l, gsa_error *error)
{
    const gsa_attend_options *o = l->options;
    const int each = texts_each(l->session);
    char title[TITLE], *line = NULL;
    gsa_status status = GSA_OK;
    if (o->n_texts % each)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "%d text%s given, the task %s takes two for each example", o->n_texts,
                        o->n_texts == 1 ? " was" : "s were", l->session->task->name);
    for (int i = 0; i < o->n_texts && status == GSA_OK; i += each) {
        make_title(l, o->texts + i, each, 0, title);
        status = read_texts(l, o->texts + i, &line, error);
        if (status == GSA_OK && l->session->task->examples(l->session->self, GSA_SPLIT_TEST) == 0)
            status = gsa_fail(error, GSA_ERR_FORMAT, "the text is empty: it holds no token");
        if (status == GSA_OK) status = look(l, 0, title, error);
    }
    gsa_release(l->recycler->above.below, line);
    for (int i = 0; i < o->n_examples && status == GSA_OK; i++) {
        make_title(l, NULL, 0, o->examples[i], title);
        status = check_example(l, o->examples[i], error);
        if (status == GSA_OK) status = look(l, o->examples[i], title, error);
    }
    return status;
}

/* ---- translations, as they are decoded ----------------------------------------------------- */

/* Adds "source<TAB>translation" to the lines. */
static gsa_status translate(gsa_looker *l, const char *text, char **lines, gsa_error *error)
{
    const gsa_system *system = l->recycler->above.below;
    gsa_session *s = l->session;
    gsa_decode_options own = { .split = GSA_SPLIT_TEST, .batch = 1 };
    gsa_decoded decoded;
    char *line = NULL;
    gsa_status status = feed_line(l, &text, 1, &line, error);
    if (status == GSA_OK) status = s->task->read_lines(s->self, GSA_RECYCLE_TEXT, error);
    if (status == GSA_OK) status = gsa_output_open(s->system, GSA_RECYCLE_TEXT, &own.output, error);
    if (status == GSA_OK) {
        status = s->task->decode_split(s->self, &s->model, &own, &decoded, error);
        if (status == GSA_OK) status = gsa_output_commit(own.output, error);
        else gsa_output_abandon(own.output);
    }
    const size_t had = *lines ? strlen(*lines) : 0, source = line ? strlen(line) : 0;
    const size_t found = status == GSA_OK ? (size_t)l->recycler->written : 0;
    char *more = status == GSA_OK ? gsa_resize(system, *lines, had + source + found + 2, 1) : NULL;
    if (status == GSA_OK && !more)
        status = gsa_out_of_memory(error, "a translation", (int64_t)(had + source + found));
    if (status == GSA_OK) {
        snprintf(more + had, source + found + 2, "%.*s\t%.*s", (int)(source - 1), line, (int)found,
                 l->recycler->made);
        *lines = more;
    }
    gsa_release(system, line);
    return status;
}

/* ---- models -------------------------------------------------------------------------------- */

static gsa_status check_layer(const gsa_looker *l, gsa_error *error)
{
    const gsa_stack *stack = gsa_learner_encoder(&l->session->model);
    const int layers = gsa_stack_layers(stack), asked = l->options->layer;
    if (asked >= -1 && asked < layers) return GSA_OK;
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "there is no layer %d: the encoder %s has layers 0 to %d", asked,
                    gsa_stack_text(stack), layers - 1);
}

typedef gsa_status attend_call(gsa_looker *l, char **lines, gsa_error *error);

static gsa_status with_model(gsa_looker *l, uint32_t splits, attend_call *call, char **lines,
                             gsa_error *error)
{
    gsa_session session;
    gsa_status status =
        gsa_apply_open(&l->recycler->above.table, l->apply, splits, &session, error);
    if (status != GSA_OK) return status;
    l->session = &session;
    l->n_passes = gsa_model_passes(session.model.net);
    status = check_layer(l, error);
    if (status == GSA_OK) status = call(l, lines, error);
    gsa_session_release(&session);
    l->session = NULL;
    return status;
}

/* Decodes where the task is translation; `lines` stays NULL in others, which are looked at here. */
static gsa_status first_look(gsa_looker *l, char **lines, gsa_error *error)
{
    gsa_status status = GSA_OK;
    if (l->options->n_texts == 0 || l->session->task != &gsa_task_translation)
        return look_at_all(l, error);
    for (int i = 0; i < l->options->n_texts && status == GSA_OK; i++)
        status = translate(l, l->options->texts[i], lines, error);
    return status;
}

static gsa_status look_at_pairs(gsa_looker *l, char **lines, gsa_error *error)
{
    char title[TITLE];
    gsa_status status = GSA_OK;
    (void)lines;
    for (int i = 0; i < l->options->n_texts && status == GSA_OK; i++) {
        make_title(l, l->options->texts + i, 1, 0, title);
        status = check_example(l, i, error);
        if (status == GSA_OK) status = look(l, i, title, error);
    }
    return status;
}

/* The pairs of source and translation are in for the test data. */
static gsa_status look_at_translations(gsa_looker *l, char *lines, gsa_error *error)
{
    static const char *const own[] = { "data.test=" GSA_RECYCLE_TEXT,
                                       "data.source=", "data.target=", "data.columns=" };
    enum { OWN = sizeof own / sizeof *own };
    const gsa_apply_options *given = l->apply;
    const size_t n = (size_t)given->n_overrides;
    const char **all = gsa_alloc(l->recycler->above.below, n + OWN, sizeof(char *));
    if (!all) return gsa_out_of_memory(error, "settings", (int64_t)(n + OWN) * 8);
    for (size_t i = 0; i < n; i++) all[i] = given->overrides[i];
    memcpy(all + n, own, sizeof own);
    gsa_apply_options apply = *given;
    apply.overrides = all, apply.n_overrides = (int)n + OWN;
    l->apply = &apply;
    gsa_recycler_feed(l->recycler, lines, (int64_t)strlen(lines));
    const gsa_status status = with_model(l, 1u << GSA_SPLIT_TEST, look_at_pairs, NULL, error);
    l->apply = given;
    gsa_release(l->recycler->above.below, all);
    return status;
}

static gsa_status look_with(gsa_looker *l, gsa_error *error)
{
    const uint32_t splits = l->options->n_texts ? 0 : 1u << split_of(l);
    char *lines = NULL;
    gsa_status status = with_model(l, splits, first_look, &lines, error);
    if (status == GSA_OK && lines) status = look_at_translations(l, lines, error);
    gsa_release(l->recycler->above.below, lines);
    return status;
}

static gsa_status write_all(gsa_looker *l, const gsa_apply_options *options, gsa_error *error)
{
    gsa_pictures pictures = { .system = l->recycler->above.below, .format = l->options->format };
    const char *path = options->output ? options->output : "-";
    gsa_status status = gsa_output_open(pictures.system, path, &pictures.output, error);
    l->pictures = &pictures;
    if (status != GSA_OK) return status;
    for (int m = 0; m < l->models && status == GSA_OK; m++) {
        gsa_apply_options own = *options;
        if (m > 0) own.model = l->options->beside[m - 1];
        if (m == 1) pictures.beside = pictures.count;
        l->apply = &own;
        status = look_with(l, error);
    }
    if (status != GSA_OK) {
        gsa_output_abandon(pictures.output);
        return status;
    }
    gsa_pictures_end(&pictures);
    return gsa_output_commit(pictures.output, error);
}

gsa_status gsa_attend(const gsa_system *system, const gsa_apply_options *options,
                      const gsa_attend_options *attend, gsa_error *error)
{
    gsa_recycler recycler;
    gsa_looker looker = { .options = attend,
                          .recycler = &recycler,
                          .models = 1 + attend->n_beside };
    const int many = attend->n_beside > 0 || attend->n_texts + attend->n_examples > 1;
    if (many && !(options->output && strcmp(options->output, "-") != 0))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "several pictures go to a file, not to standard output");
    gsa_recycler_start(&recycler, system ? system : gsa_system_default());
    const gsa_plain plain = gsa_plain_begin();
    const gsa_status status = write_all(&looker, options, error);
    gsa_plain_end(plain);
    gsa_recycler_end(&recycler);
    return status;
}
