#include "tools/command/own.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/system_parts.h"
#include "tools/command/verbs.h"
#include "topologies/words.h"
#include "train/driver/recycle.h"
#include "train/look/look.h"
#include "train/settings/keys.h"

#define LAST "runs/last"
enum { NAME = 256, LINE = NAME + 16, MOST = 1000 };

/* ---- the recipe ---------------------------------------------------------------------------- */

/* The place of a word among choices between `separator`s, -1: none. */
static int place_of(const char *choices, char separator, const char *word)
{
    int place = 0;
    for (const char *at = choices; at; at = strchr(at, separator), at += at != NULL, place++) {
        const size_t bytes = strlen(word);
        if (strncmp(at, word, bytes) == 0 && (at[bytes] == separator || at[bytes] == 0))
            return place;
    }
    return -1;
}

static const char *choices_of(const char *section, const char *name)
{
    int count;
    const gsa_key *keys = gsa_recipe_keys(&count);
    for (int i = 0; i < count; i++)
        if (strcmp(keys[i].section, section) == 0 && strcmp(keys[i].name, name) == 0)
            return keys[i].choices;
    return "";
}

int gsa_own_is_task(const char *word)
{
    return place_of(choices_of("task", "name"), ',', word) >= 0;
}

static const char *value_of(const gsa_look *look, const char *name, size_t bytes)
{
    for (int i = 0; i < look->values; i++)
        if (strncmp(look->value[i].name, name, bytes) == 0 && look->value[i].name[bytes] == 0)
            return look->value[i].text;
    return NULL;
}

/* The template with a value for each name in braces. */
static void fill(gsa_output *out, const gsa_template_file *template, const gsa_look *look)
{
    const char *at = (const char *)template->text, *const end = at + template->bytes;
    while (at < end) {
        const char *open = memchr(at, '{', (size_t)(end - at)),
                   *close = open ? memchr(open, '}', (size_t)(end - open)) : NULL;
        const char *text = close ? value_of(look, open + 1, (size_t)(close - open - 1)) : NULL;
        gsa_output_write(out, at, (text ? open : close ? close + 1 : end) - at);
        if (text) gsa_output_text(out, text);
        at = close ? close + 1 : end;
    }
}

static const gsa_template_file *template_for(const gsa_look *look)
{
    const size_t bytes = strlen(look->kind);
    for (int i = 0; i < gsa_own_files; i++)
        if (strncmp(gsa_own[i].name, look->kind, bytes) == 0 && gsa_own[i].name[bytes] == '.')
            return &gsa_own[i];
    return gsa_own;
}

/* The recipe's text, in the memory's. */
static gsa_status make_recipe(gsa_recycler *memory, const gsa_look *look, gsa_error *error)
{
    gsa_output *out;
    const gsa_status status = gsa_output_open(&memory->above.table, GSA_RECYCLE_TEXT, &out, error);
    if (status != GSA_OK) return status;
    gsa_output_text(out, "# Written by gsa init. What it saw:\n");
    for (int i = 0; i < look->says; i++) gsa_output_format(out, "#   %s\n", look->say[i]);
    fill(out, template_for(look), look);
    return gsa_output_commit(out, error);
}

static gsa_status is_there(const char *path, gsa_error *error)
{
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "'%s' is there already: choose another --out, or take it away", path);
}

/* *absent: a file is to be made of that name. A device or a pipe is written to. */
static gsa_status check_new(const gsa_system *system, const char *path, int *absent,
                            gsa_error *error)
{
    int kind = GSA_FILE_OTHER;
    const gsa_status status = strcmp(path, "-") == 0 ? GSA_OK : gsa_see(system, path, &kind, error);
    *absent = status == GSA_OK && kind == GSA_FILE_ABSENT;
    return kind == GSA_FILE_REGULAR ? is_there(path, error) : status;
}

/* Only who makes the file may replace it: one that came while the data were read is another's.
 * made: its path, "" where none was made. */
static gsa_status make_new(const gsa_system *system, const char *path, char made[GSA_PATH_ROOM],
                           gsa_error *error)
{
    char why[128];
    int absent;
    const gsa_status status = check_new(system, path, &absent, error);
    if (!absent) return status;
    const int file = system->resolve(system->user, path, made, GSA_PATH_ROOM) < 0
                         ? -1
                         : system->open(system->user, made, GSA_OPEN_CREATE);
    if (file >= 0 && system->close(system->user, file) == 0) return GSA_OK;
    if (file < 0) *made = 0;
    if (file < 0 && errno == EEXIST) return is_there(path, error);
    return gsa_fail(error, GSA_ERR_IO, "'%s' cannot be made: %s", path,
                    gsa_errno_text(errno, why, sizeof why));
}

/* *written: what was written, the caller's. NULL: it is put into a new file, and not kept. */
static gsa_status write_recipe(const gsa_system *system, const gsa_look *look, const char *path,
                               char **written, gsa_error *error)
{
    gsa_recycler memory;
    gsa_output *out;
    char made[GSA_PATH_ROOM] = "";
    gsa_recycler_start(&memory, system);
    gsa_status status = make_recipe(&memory, look, error);
    if (status == GSA_OK && written && !(*written = gsa_copy_text(system, memory.made)))
        status = gsa_out_of_memory(error, path, memory.written);
    if (status == GSA_OK) status = gsa_output_open(system, path, &out, error);
    if (status == GSA_OK) {
        gsa_output_text(out, memory.made);
        if (!written) status = make_new(system, path, made, error);
        if (status == GSA_OK) status = gsa_output_commit(out, error);
        else gsa_output_abandon(out);
    }
    if (status != GSA_OK && *made) system->remove(system->user, made);
    gsa_recycler_end(&memory);
    return status;
}

/* What the files hold, which is said unless `quiet`; the caller releases *look. */
static gsa_status look_at(const gsa_args *args, const char *task, int first, int quiet,
                          gsa_look **look, gsa_error *error)
{
    const char *format = gsa_args_text(args, "format"), *columns = gsa_args_text(args, "columns");
    gsa_look_options options = {
        .files = gsa_args_operands(args) - first,
        .task = task ? place_of(choices_of("task", "name"), ',', task) : -1,
        .format = format ? place_of(choices_of("data", "format"), ',', format) : GSA_TEXT_AUTO,
        .columns = columns ? columns : ""
    };
    for (int i = 0; i < options.files; i++) options.file[i] = gsa_args_operand(args, first + i);
    const gsa_status status = gsa_look_at(gsa_args_system(args), &options, look, error);
    for (int i = 0; status == GSA_OK && !quiet && i < (*look)->says; i++)
        fprintf(stderr, "%s\n", (*look)->say[i]);
    return status;
}

gsa_status gsa_own_recipe(const gsa_args *args, const char *task, int first, int quiet,
                          const char *path, gsa_error *error)
{
    gsa_look *look = NULL;
    int absent;
    gsa_status status = check_new(gsa_args_system(args), path, &absent, error);
    if (status == GSA_OK) status = look_at(args, task, first, quiet, &look, error);
    if (status == GSA_OK) status = write_recipe(gsa_args_system(args), look, path, NULL, error);
    gsa_release(gsa_args_system(args), look);
    return status;
}

/* ---- gsa train FILE ------------------------------------------------------------------------ */

gsa_status gsa_own_is_data(const gsa_system *system, const char *operand, int *data,
                           gsa_error *error)
{
    const size_t length = strlen(operand);
    char *bytes = NULL;
    int64_t count;
    *data = 0;
    if (length > 4 && strcmp(operand + length - 4, ".ini") == 0) return GSA_OK;
    int kind;
    gsa_status status = gsa_see(system, operand, &kind, error);
    if (status != GSA_OK || kind != GSA_FILE_REGULAR) return status;
    status = gsa_read_file(system, operand, INT64_C(1) << 36, &bytes, &count, error);
    if (status == GSA_OK) *data = !gsa_look_is_recipe(bytes, count);
    gsa_release(system, bytes);
    return status;
}

/* reviews.tsv is runs/reviews; runs/reviews-2 where that is there. The folder is made: no other
 * command gets its name. */
static gsa_status take_folder(const gsa_args *args, char *folder, gsa_error *error)
{
    const gsa_system *system = gsa_args_system(args);
    const char *file = gsa_args_operand(args, 0), *slash = strrchr(file, '/'),
               *name = slash ? slash + 1 : file;
    const char *dot = strrchr(name, '.');
    const int bytes = dot && dot > name ? (int)(dot - name) : (int)strlen(name);
    const gsa_status status = gsa_make_run_folder(system, "runs", error);
    for (int i = 1; i <= MOST && status == GSA_OK; i++) {
        snprintf(folder, GSA_PATH_ROOM, i > 1 ? "runs/%.*s-%d" : "runs/%.*s",
                 bytes < NAME ? bytes : NAME, name, i);
        if (strcmp(folder, LAST) == 0) continue;
        if (system->make_folder(system->user, folder) == 0) return GSA_OK;
        if (errno != EEXIST)
            return gsa_fail(error, GSA_ERR_IO, "'%s' cannot be made as a folder: %s", folder,
                            strerror(errno));
    }
    return status != GSA_OK
               ? status
               : gsa_fail(error, GSA_ERR_LIMIT,
                          "there are %d runs of that file in runs: --out names another folder",
                          MOST);
}

/* --out may be a folder that is there, without a recipe. */
static gsa_status check_out(const gsa_system *system, const char *out, gsa_error *error)
{
    char recipe[GSA_PATH_ROOM];
    const size_t name = sizeof LAST - 1;
    if (strncmp(out, LAST, name) == 0 && !out[name + strspn(out + name, "/")])
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "--out %s: a file of that name says which run was the last: name another",
                        out);
    if (snprintf(recipe, sizeof recipe, "%s/recipe.ini", out) >= GSA_PATH_ROOM)
        return gsa_fail(error, GSA_ERR_LIMIT, "--out has more than %d bytes", GSA_PATH_ROOM - 12);
    int kind;
    const gsa_status status = gsa_see_entry(system, recipe, &kind, error);
    if (status != GSA_OK || kind == GSA_FILE_ABSENT) return status;
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "'%s' is there already: train it (gsa train %s), or choose another --out",
                    recipe, recipe);
}

/* A folder that runs/last can name, in a line. */
static int is_last(const char *folder)
{
    return strncmp(folder, "runs/", 5) == 0 && folder[5] && !strpbrk(folder + 5, "/\n");
}

static struct { /* what gsa_own_give_up gives up */
    const gsa_system *system;
    gsa_own_run *run;
} begun;

gsa_status gsa_own_begin(const gsa_args *args, int quiet, gsa_own_run *run, gsa_error *error)
{
    const gsa_system *system = gsa_args_system(args);
    const char *out = gsa_args_text(args, "out");
    char *const folder = run->folder;
    gsa_lock *lock = &run->lock;
    gsa_look *look = NULL;
    int took = 0;
    gsa_status status = out ? check_out(system, out, error) : GSA_OK;
    if (status == GSA_OK && (!out || is_last(out))) status = gsa_check_stream(system, LAST, error);
    if (status == GSA_OK)
        status = look_at(args, gsa_args_text(args, "task"), 0, quiet, &look, error);
    run->made = !out || gsa_entry_kind(system, out) == GSA_FILE_ABSENT;
    if (status == GSA_OK && out) snprintf(folder, GSA_PATH_ROOM, "%s", out);
    else if (status == GSA_OK) status = take_folder(args, folder, error), took = status == GSA_OK;
    if (status == GSA_OK) status = gsa_lock_folder(system, folder, lock, error);
    if (status == GSA_OK && is_last(folder))
        status = gsa_anchor_open(system, system, "runs", &run->runs, error);
    if (status == GSA_OK && out) status = check_out(lock->system, out, error); /* another came */
    if (status == GSA_OK && !out)
        status = gsa_check_made(lock->system, folder, lock->path != NULL, error);
    if (status == GSA_OK) {
        snprintf(run->recipe, sizeof run->recipe, "%s/recipe.ini", folder);
        status = write_recipe(lock->system, look, run->recipe, &run->written, error);
    }
    if (status != GSA_OK) gsa_lock_release(lock);
    else begun.system = system, begun.run = run;
    if (status != GSA_OK && took) gsa_remove_made(system, folder);
    if (status == GSA_OK && !quiet) fprintf(stderr, "recipe: %s\n", run->recipe);
    gsa_release(system, look);
    return status;
}

/* Nobody has changed the recipe, or put another one there. */
static int is_as_written(const gsa_own_run *run)
{
    const gsa_system *system = run->lock.system;
    char *text = NULL;
    int64_t bytes;
    const int same = gsa_entry_kind(system, run->recipe) == GSA_FILE_REGULAR &&
                     gsa_read_file(system, run->recipe, 1 << 30, &text, &bytes, NULL) == GSA_OK &&
                     bytes == (int64_t)strlen(run->written) && strcmp(text, run->written) == 0;
    gsa_release(system, text);
    return same;
}

void gsa_own_undo(const gsa_system *system, gsa_own_run *run)
{
    const gsa_system *inside = run->lock.system;
    const int alone = is_as_written(run) &&
                      gsa_count_names(inside, run->folder) == 1 + (run->lock.path != NULL) &&
                      inside->remove(inside->user, run->recipe) == 0;
    gsa_lock_release(&run->lock);
    if (alone && run->made) gsa_remove_made(system, run->folder);
}

void gsa_own_give_up(void)
{
    if (begun.run && begun.run->lock.system) gsa_own_undo(begun.system, begun.run);
}

void gsa_own_release(const gsa_system *system, gsa_own_run *run)
{
    begun.run = NULL;
    gsa_release(system, run->written);
    gsa_lock_release(&run->lock);
    gsa_anchor_close(run->runs);
}

/* The run that runs/last names, in `name`. 0: there is no such file, or it is none of ours: a link,
 * a pipe, or what is not one line of a folder's name. */
static int read_last(const gsa_system *system, char name[LINE])
{
    const int file = system->open(system->user, LAST, GSA_OPEN_READ_OWN);
    const int64_t bytes = file < 0 ? 0 : system->read(system->user, file, name, LINE - 1);
    if (file >= 0) system->close(system->user, file);
    name[bytes > 0 ? bytes : 0] = 0;
    const size_t line = strcspn(name, "\n/");
    const int ours = bytes > 1 && line == (size_t)bytes - 1 && name[line] == '\n';
    name[line] = 0;
    return ours;
}

/* runs/last is not there, or names a run next to it: any other line may be a user's. */
static int is_ours(const gsa_system *system)
{
    char name[LINE], folder[LINE + 8];
    int kind;
    if (gsa_see_entry(system, LAST, &kind, NULL) == GSA_OK && kind == GSA_FILE_ABSENT) return 1;
    if (!read_last(system, name)) return 0;
    snprintf(folder, sizeof folder, "runs/%s", name);
    return gsa_see_in(system, folder, "config.ini", &kind, NULL) == GSA_OK &&
           kind == GSA_FILE_REGULAR;
}

gsa_status gsa_own_end(const gsa_system *system, const gsa_own_run *run, gsa_error *error)
{
    const char *folder = run->folder;
    gsa_output *out;
    if (!is_last(folder)) return GSA_OK;
    system = gsa_anchor_system(run->runs, system);
    if (!is_ours(system)) {
        fprintf(stderr,
                "note: runs/last names no run and stays as it is: remove it, or name this run by "
                "--model %s\n",
                folder);
        return GSA_OK;
    }
    const gsa_status status = gsa_output_open_own(system, LAST, &out, error);
    if (status != GSA_OK) return status;
    gsa_output_format(out, "%s\n", folder + 5);
    return gsa_output_commit(out, error);
}

gsa_status gsa_own_add_last(gsa_args *args, const gsa_verb *verb, char folder[GSA_PATH_ROOM],
                            gsa_error *error)
{
    const gsa_system *system = gsa_args_system(args);
    char name[LINE];
    int has = 0;
    for (int i = 0; i < verb->n_options; i++) has |= strcmp(verb->options[i].name, "model") == 0;
    if (!has || gsa_args_text(args, "model") || !read_last(system, name)) return GSA_OK;
    snprintf(folder, GSA_PATH_ROOM, "runs/%s", name);
    if (system->kind(system->user, folder, NULL) != GSA_FILE_FOLDER)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "runs/last names the run '%s', which is not there: expected --model DIR",
                        name);
    return gsa_args_append(args, "model", folder, error);
}
