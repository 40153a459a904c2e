/* report_pictures.c - what the page of runs draws: the patterns of each run, and the attention of
 * its model on its worst errors. Each is written as a page into memory, whose pictures go into a
 * list of their own; a run's JSON names their places in it. What cannot be drawn says why. */
#include <string.h>
#include "tools/command/apply.h"
#include "tools/command/drawn.h"
#include "tools/command/report.h"
#include "train/driver/recycle.h"
#include "train/driver/session.h"
#include "train/use/paths.h"

enum {
    SHOWN_LENGTH = 12,
    MOST_EDGES = 50000,
    MOST_BYTES = 1 << 26 /* of a page's pictures: a few bytes of a run's JSON ask for each */
};

typedef struct drawer {
    const gsa_reported *of;
    gsa_recycler *memory; /* whose file is the page */
    json_t *pictures;
    gsa_error *lack; /* else every reason is on the page */
    int64_t *bytes;  /* of the pictures so far */
} drawer;

/* Takes the pictures of the page that was written; `object` learns the first one's place, or why
 * there is none. */
static void take(const drawer *d, gsa_status status, gsa_error *error, json_t *object)
{
    static const char before[] = "id=\"data\">";
    const char *from = d->memory->written > 0 ? strstr(d->memory->made, before) : NULL,
               *end = from ? strstr(from, "</script>") : NULL;
    json_t *page = NULL;
    *d->bytes += d->memory->written;
    if (status == GSA_OK && *d->bytes > MOST_BYTES)
        status = gsa_fail(error, GSA_ERR_LIMIT,
                          "the page's pictures have more than %d bytes: the rest is left out",
                          MOST_BYTES);
    if (status == GSA_OK && end)
        page =
            json_loadb(from + sizeof before - 1, (size_t)(end - from) - sizeof before + 1, 0, NULL);
    if (status == GSA_OK && !page)
        status = gsa_out_of_memory(error, "a picture", d->memory->written);
    gsa_report_lack(d->of, status, error, d->lack);
    if (status == GSA_OK)
        json_object_set_new(object, "picture",
                            json_integer((json_int_t)json_array_size(d->pictures)));
    else json_object_set_new(object, "said", json_string(error->text));
    json_array_extend(d->pictures, json_object_get(page, "pictures"));
    json_decref(page);
    gsa_recycler_feed(d->memory, "", 0);
}

/* ---- the pattern --------------------------------------------------------------------------- */

static gsa_status write_stack(const drawer *d, gsa_drawn_stack *stack, gsa_error *error)
{
    const gsa_picture_stack own = { .name = "", .memory = -1 };
    gsa_output *out;
    gsa_picture_sheet *sheet = gsa_alloc(d->of->system, (size_t)stack->sheets, sizeof *sheet);
    if (!sheet) return gsa_out_of_memory(error, "a picture", stack->sheets);
    const gsa_picture picture = { stack->text, &own, sheet, 1, stack->sheets };
    gsa_drawn_stack_sheets(stack, 0, sheet);
    gsa_status status = gsa_output_open(&d->memory->above.table, GSA_RECYCLE_TEXT, &out, error);
    if (status == GSA_OK) {
        status = gsa_write_picture(d->of->system, &picture, GSA_FORMAT_HTML, out, error);
        if (status == GSA_OK) status = gsa_output_commit(out, error);
        else gsa_output_abandon(out);
    }
    gsa_release(d->of->system, sheet);
    return status;
}

static gsa_status draw_stack(const drawer *d, const char *text, gsa_error *error)
{
    const gsa_reported *of = d->of;
    gsa_stack_spec spec = { 0 };
    gsa_drawn_stack stack = { 0 };
    const gsa_limits limits = { MOST_EDGES, MOST_EDGES, MOST_EDGES };
    gsa_example example = { .struct_size = sizeof example, .length = SHOWN_LENGTH, .heads = 4 };
    gsa_status status = gsa_spec_parse(of->system, text, &spec, error);
    if (status == GSA_OK)
        status = gsa_drawn_stack_create(of->system, of->registry, &spec, &stack, error);
    if (status == GSA_OK && stack.reads_memory) example.memory_length = SHOWN_LENGTH;
    if (status == GSA_OK) status = gsa_drawn_stack_emit(&stack, &example, &limits, error);
    if (status == GSA_OK) status = write_stack(d, &stack, error);
    gsa_drawn_stack_release(&stack);
    gsa_spec_release(&spec);
    return status;
}

/* A run comes from anywhere: what its recipe names is not told of, and in another user's it is no
 * reason to open a file. What was checked is drawn: the file may be another one by now. */
static gsa_status draw_named(const drawer *d, const char *folder, const char *key, gsa_error *error)
{
    const gsa_reported *of = d->of;
    gsa_recipe recipe = { 0 };
    gsa_anchor *run;
    gsa_status status = gsa_anchor_open(of->system, of->system, folder, &run, error);
    if (status != GSA_OK) return status;
    const gsa_system *system = gsa_anchor_system(run, of->system);
    const int others = of->apply.untrusted || (run && gsa_is_others(gsa_anchor_at(run)));
    char *path = gsa_path_join(of->system, folder, "config.ini", error);
    status = path ? gsa_recipe_read(system, path, NULL, 0, &recipe, error) : GSA_ERR_MEMORY;
    gsa_release(of->system, path);
    if (status == GSA_OK && others)
        status = gsa_paths_check(of->system, &recipe, of->registry, 0, 1, error);
    const gsa_ini_entry *spec = status == GSA_OK ? gsa_ini_find(&recipe.ini, "model", key) : NULL;
    if (status == GSA_OK && !spec)
        status = gsa_fail(error, GSA_ERR_FORMAT, "its recipe has no model.%s any more", key);
    if (spec) {
        status = draw_stack(d, spec->value, error);
        if (status != GSA_OK) gsa_paths_hide(&recipe, of->registry, 0, error);
    }
    gsa_recipe_release(&recipe);
    gsa_anchor_close(run);
    return status;
}

/* [{"stack": "encoder", "spec": ..., "picture": place}] */
static void draw_patterns(const drawer *d, const char *folder, json_t *run)
{
    static const char *const keys[][2] = { { "encoder", "model.encoder" },
                                           { "decoder", "model.decoder" } };
    json_t *list = json_array();
    for (size_t k = 0; d->of->registry && k < sizeof keys / sizeof *keys; k++) {
        gsa_error error = { 0 };
        const char *spec =
            json_string_value(json_object_get(json_object_get(run, "settings"), keys[k][1]));
        if (!spec || !*spec) continue;
        json_t *one = json_pack("{s:s, s:s}", "stack", keys[k][0], "spec", spec);
        const gsa_status status = draw_named(d, folder, keys[k][0], &error);
        take(d, status, &error, one);
        json_array_append_new(list, one);
    }
    json_object_set_new(run, "patterns", list);
}

/* ---- the worst errors ---------------------------------------------------------------------- */

/* The texts of an error, as its task tells them; 0: it tells none. */
static int texts_of(const json_t *error, const char *text[2])
{
    static const char *const alone[] = { "text", "source" };
    for (size_t k = 0; k < sizeof alone / sizeof *alone; k++) {
        text[0] = json_string_value(json_object_get(error, alone[k]));
        if (text[0]) return 1;
    }
    text[0] = json_string_value(json_object_get(error, "a"));
    text[1] = json_string_value(json_object_get(error, "b"));
    return text[0] && text[1] ? 2 : 0;
}

/* By its texts; else by its example, which of nodes is the whole graph. */
static void attend(const drawer *d, const char *folder, int dev, json_t *wrong)
{
    const char *text[2] = { NULL, NULL };
    const int texts = texts_of(wrong, text);
    const json_t *number = json_object_get(wrong, "example");
    const int64_t example = json_integer_value(number);
    gsa_apply_options apply = d->of->apply;
    gsa_error error = { 0 };
    if (*d->bytes > MOST_BYTES || (texts == 0 && !number && !json_object_get(wrong, "node")))
        return;
    apply.model = folder, apply.output = GSA_RECYCLE_TEXT;
    const gsa_attend_options options = { .texts = text,
                                         .n_texts = texts,
                                         .examples = &example,
                                         .n_examples = texts == 0,
                                         .dev = dev,
                                         .layer = -1,
                                         .most_edges = MOST_EDGES,
                                         .format = GSA_FORMAT_HTML };
    take(d, gsa_attend(&d->memory->above.table, &apply, &options, &error), &error, wrong);
}

/* The first ones of each split, which are the worst. Nodes share the picture of their graph. */
static void draw_errors(const drawer *d, const char *folder, json_t *run)
{
    const json_t *splits = json_object_get(json_object_get(run, "report"), "splits");
    json_t *graph = NULL;
    for (int s = 0; s < GSA_SPLITS; s++) {
        const json_t *split = json_object_get(splits, gsa_split_name(s));
        json_t *worst = json_object_get(split, "worst");
        if (!worst) worst = json_object_get(split, "worst_lines"); /* of a language model */
        for (size_t i = 0; i < json_array_size(worst) && (int64_t)i < d->of->errors; i++) {
            json_t *wrong = json_array_get(worst, i);
            if (graph) json_object_set(wrong, "picture", graph);
            else attend(d, folder, s == GSA_SPLIT_DEV, wrong);
            if (json_object_get(wrong, "node")) graph = json_object_get(wrong, "picture");
        }
    }
}

json_t *gsa_report_draw(const gsa_reported *of, json_t *runs, gsa_error *error)
{
    gsa_recycler memory;
    gsa_error lack = { GSA_OK, "" };
    int64_t bytes = 0;
    const drawer d = { of, &memory, json_array(), &lack, &bytes };
    gsa_recycler_start(&memory, of->system);
    for (int r = 0; r < of->count && lack.status == GSA_OK; r++) {
        json_t *run = json_array_get(runs, (size_t)r);
        draw_patterns(&d, of->run[r], run);
        draw_errors(&d, of->run[r], run);
    }
    gsa_recycler_end(&memory);
    if (lack.status == GSA_OK) return d.pictures;
    json_decref(d.pictures);
    gsa_fail(error, lack.status, "%s", lack.text);
    return NULL;
}
