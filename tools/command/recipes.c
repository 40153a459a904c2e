/* recipes.c - the recipes that come with the command, by name from any folder. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "graph/anchor.h"
#include "graph/system_parts.h"
#include "gsa/checkpoint_parts.h"
#include "topologies/words.h"
#include "tools/command/apply.h"
#include "train/data/source.h"
#include "train/settings/recipe.h"

/* Relative to the program's folder: the build tree's, then the installation's. */
static const char *const places[] = { "recipes", GSA_OWN_RECIPES };
enum { PLACES = sizeof places / sizeof *places, KNOWN = 64, NAME = 64 };

typedef struct known_recipes {
    char name[KNOWN][NAME];
    int count;
} known_recipes;

static int note(void *context, const char *name)
{
    known_recipes *known = context;
    const size_t length = strlen(name);
    if (known->count == KNOWN || length >= NAME || length < 5 ||
        strcmp(name + length - 4, ".ini") != 0)
        return 0;
    int at = known->count++;
    for (; at > 0 && strcmp(known->name[at - 1], name) > 0; at--)
        memcpy(known->name[at], known->name[at - 1], NAME);
    snprintf(known->name[at], NAME, "%.*s", (int)length - 4, name);
    return 0;
}

static const char *name_of(const void *context, int index)
{
    return ((const known_recipes *)context)->name[index];
}

static gsa_status fail(const char *asked, gsa_error *error)
{
    const gsa_system *system = gsa_system_default();
    known_recipes known = { .count = 0 };
    char folder[GSA_PATH_ROOM], list[2048], shown[GSA_SHOWN];
    for (int i = 0; i < PLACES && known.count == 0; i++)
        if (gsa_beside_program(places[i], "", folder) &&
            system->kind(system->user, folder, NULL) == GSA_FILE_FOLDER)
            system->list(system->user, folder, note, &known);
    gsa_word_list(list, sizeof list, name_of, &known, known.count, asked);
    return gsa_fail(error, GSA_ERR_IO, "there is no file %s, and no recipe of that name (%s)",
                    gsa_word_show(asked, shown), known.count ? list : "none is installed");
}

gsa_status gsa_find_recipe(const char *asked, char path[GSA_PATH_ROOM], const char **found,
                           gsa_error *error)
{
    const gsa_system *system = gsa_system_default();
    char name[GSA_PATH_ROOM];
    *found = asked;
    if (strchr(asked, '/') || system->kind(system->user, asked, NULL) != GSA_FILE_ABSENT)
        return GSA_OK;
    const size_t length = strlen(asked);
    const char *ending = length > 4 && strcmp(asked + length - 4, ".ini") == 0 ? "" : ".ini";
    snprintf(name, sizeof name, "/%.1024s%s", asked, ending);
    for (int i = 0; i < PLACES; i++)
        if (gsa_beside_program(places[i], name, path) &&
            system->kind(system->user, path, NULL) == GSA_FILE_REGULAR) {
            *found = path;
            return GSA_OK;
        }
    return fail(asked, error);
}

/* ---- what a recipe names ------------------------------------------------------------------- */

/* The file, where it is one, and those of its two languages. */
static int note_file(const gsa_system *system, const gsa_recipe_values *v, const char *name)
{
    const char *const end[] = { "", v->data_source, v->data_target };
    char path[GSA_PATH_ROOM];
    int good = 1;
    for (int i = 0; i < 3 && good; i++) {
        snprintf(path, sizeof path, "%s%s%s", name, i ? "." : "", end[i]);
        if ((i == 0 || *end[i]) && system->kind(system->user, path, NULL) == GSA_FILE_REGULAR)
            good = gsa_note_read(path);
    }
    return good;
}

static gsa_status note_name(void *context, const char *path, gsa_error *error)
{
    (void)context;
    return gsa_note_read(path) ? GSA_OK : gsa_out_of_memory(error, path, 4096);
}

/* The value itself, what it is a list or a pattern of, and words of it: file:path=g.mtx. */
static int note_value(const gsa_system *system, const gsa_recipe_values *v, const char *value)
{
    char word[GSA_PATH_ROOM];
    gsa_error error;
    int good = note_file(system, v, value) &&
               gsa_source_names(system, value, note_name, NULL, &error) != GSA_ERR_MEMORY;
    while (*value && good) {
        const size_t bytes = strcspn(value, ":=,;+*");
        snprintf(word, sizeof word, "%.*s", (int)bytes, value);
        if (bytes) good = note_file(system, v, word);
        value += bytes + (value[bytes] != 0);
    }
    return good;
}

typedef struct steps {
    const gsa_system *system;
    const char *folder, *const *set;
    int count, good;
} steps;

static int note_inside(steps *s, const char *below)
{
    char config[GSA_PATH_ROOM];
    if (snprintf(config, sizeof config, "%s/%s%sconfig.ini", s->folder, below, *below ? "/" : "") <
            (int)sizeof config &&
        gsa_entry_kind(s->system, config) == GSA_FILE_REGULAR)
        s->good = gsa_note_recipe(s->system, config, s->set, s->count);
    return s->good ? 0 : -1;
}

static int note_step(void *context, const char *name)
{
    return gsa_step_of_folder(name) < 0 ? 0 : note_inside(context, name);
}

/* A model is read with the recipe of its step; gsa average makes no other. */
int gsa_note_config(const gsa_system *system, const char *folder, const char *const *set, int count,
                    int anyones)
{
    gsa_anchor *run;
    if (gsa_anchor_open(system, system, folder, &run, NULL) != GSA_OK) return 1; /* said later */
    steps s = { gsa_anchor_system(run, system), folder, set, count, 1 };
    if (anyones || !gsa_is_others(run ? gsa_anchor_at(run) : folder)) {
        note_inside(&s, "");
        if (s.good) s.system->list(s.system->user, folder, note_step, &s);
    }
    gsa_anchor_close(run);
    return s.good;
}

int gsa_note_run(const gsa_args *args, const char *folder)
{
    static const char *const outputs[] = { "out", "output", "json", "outcomes", "report" };
    int count;
    struct stat out;
    int writes = fstat(STDOUT_FILENO, &out) == 0 && S_ISREG(out.st_mode);
    const char *const *set = gsa_args_texts(args, "set", &count);
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        writes |= gsa_args_text(args, outputs[i]) != NULL;
    return !writes || gsa_note_config(gsa_args_system(args), folder, set, count, 0);
}

gsa_status gsa_check_reread(const char *recipe, gsa_error *error)
{
    struct stat there;
    if (stat(recipe, &there) < 0 || !(S_ISFIFO(there.st_mode) || S_ISSOCK(there.st_mode)))
        return GSA_OK;
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "recipe '%s' is a pipe, and is read more than once: expected a file", recipe);
}

int gsa_note_recipe(const gsa_system *system, const char *recipe, const char *const *set, int count)
{
    gsa_recipe read = { 0 };
    int good = 1;
    if (gsa_recipe_read(system, recipe, set, count, &read, NULL) != GSA_OK) return 1;
    for (int i = 0; i < read.ini.count && good; i++)
        if (read.ini.entries[i].key)
            good = note_value(system, &read.values, read.ini.entries[i].value);
    gsa_recipe_release(&read);
    return good;
}
