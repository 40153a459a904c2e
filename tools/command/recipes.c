/* recipes.c - the recipes that come with the command, by name from any folder. */
#include <stdio.h>
#include <string.h>
#include "topologies/words.h"
#include "tools/command/verbs.h"

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
