/* topology_new.c - `gsa topology new NAME`: the template with the name put in. */
#include <stdio.h>
#include <string.h>
#include "graph/anchor.h"
#include "graph/system_parts.h"
#include "topologies/words.h"
#include "train/driver/lock.h"
#include "tools/command/topology.h"

#define TEMPLATE "logsparse" /* the template's id, which is also its file's name */

/* Names that CMake keeps for targets of its own. */
static int is_taken_by_cmake(const char *name)
{
    static const char *const taken[] = { "all",           "clean",   "depend",  "edit_cache",
                                         "help",          "install", "package", "preinstall",
                                         "rebuild_cache", "test" };
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcmp(name, taken[i]) == 0) return 1;
    return 0;
}

static gsa_status check_name(const gsa_args *args, const char *name, gsa_error *error)
{
    char shown[GSA_SHOWN];
    gsa_registry *registry;
    if (!gsa_word_ok(name))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "the name is %s, expected [a-z][a-z0-9_]* of at most %d bytes",
                        gsa_word_show(name, shown), GSA_WORD_LIMIT);
    if (is_taken_by_cmake(name))
        return gsa_fail(error, GSA_ERR_ARGUMENT, "the name is '%s', which CMake keeps for itself",
                        name);
    const gsa_status status = gsa_open_registry(args, &registry, error);
    if (status != GSA_OK) return status;
    const int taken = gsa_registry_find(registry, name, NULL) != NULL;
    gsa_registry_release(registry);
    return taken ? gsa_fail(error, GSA_ERR_ARGUMENT,
                            "the name is '%s', and there is a topology of that id", name)
                 : GSA_OK;
}

/* Writes the text with every TEMPLATE in it replaced. */
static void write_text(gsa_output *out, const gsa_template_file *file, const char *name)
{
    const size_t length = strlen(TEMPLATE);
    size_t from = 0;
    for (size_t at = 0; at + length <= file->bytes; at++) {
        if (memcmp(file->text + at, TEMPLATE, length) != 0) continue;
        gsa_output_write(out, file->text + from, (int64_t)(at - from));
        gsa_output_text(out, name);
        from = at + length;
        at = from - 1;
    }
    gsa_output_write(out, file->text + from, (int64_t)(file->bytes - from));
}

/* DIR/logsparse.c is DIR/NAME.c; the caller releases the path. */
static char *path_of(const gsa_system *system, const char *folder, const gsa_template_file *file,
                     const char *name)
{
    const int named = strncmp(file->name, TEMPLATE, strlen(TEMPLATE)) == 0;
    const size_t size = strlen(folder) + strlen(file->name) + strlen(name) + 2;
    char *path = gsa_alloc(system, size, 1);
    if (path)
        snprintf(path, size, "%s/%s%s", folder, named ? name : "",
                 file->name + (named ? strlen(TEMPLATE) : 0));
    return path;
}

static gsa_status write_file(const gsa_system *system, const char *path,
                             const gsa_template_file *file, const char *name, gsa_error *error)
{
    gsa_output *out;
    const gsa_status status = gsa_output_open(system, path, &out, error);
    if (status != GSA_OK) return status;
    write_text(out, file, name);
    return gsa_output_commit(out, error);
}

/* 1: the template in the other language. */
static int is_left_out(const gsa_template_file *file, const char *ending)
{
    const char *dot = strrchr(file->name, '.');
    return (strcmp(dot, ".c") == 0 || strcmp(dot, ".cpp") == 0) && strcmp(dot, ending) != 0;
}

/* All files, or none. */
static gsa_status write_files(const gsa_system *system, const char *folder, const char *name,
                              const char *ending, gsa_error *error)
{
    gsa_status status = GSA_OK;
    int written = 0;
    for (; written < gsa_template_files && status == GSA_OK; written += status == GSA_OK) {
        if (is_left_out(&gsa_template[written], ending)) continue;
        char *path = path_of(system, folder, &gsa_template[written], name);
        status = path ? write_file(system, path, &gsa_template[written], name, error)
                      : gsa_out_of_memory(error, "a path", (int64_t)strlen(folder));
        gsa_release(system, path);
    }
    while (status != GSA_OK && written-- > 0) {
        if (is_left_out(&gsa_template[written], ending)) continue;
        char *path = path_of(system, folder, &gsa_template[written], name);
        if (path) system->remove(system->user, path);
        gsa_release(system, path);
    }
    return status;
}

/* In the folder that was made just now. */
static gsa_status fill(const gsa_system *system, const char *folder, const char *name,
                       const char *ending, gsa_error *error)
{
    gsa_anchor *made;
    gsa_status status = gsa_anchor_open(system, system, folder, &made, error);
    const gsa_system *inside = gsa_anchor_system(made, system);
    if (status == GSA_OK) status = gsa_check_made(inside, folder, 0, error);
    if (status == GSA_OK) status = write_files(inside, folder, name, ending, error);
    gsa_anchor_close(made);
    if (status != GSA_OK) gsa_remove_made(system, folder);
    return status;
}

gsa_status gsa_topology_new(const gsa_args *args, const char *name, gsa_error *error)
{
    const gsa_system *system = gsa_args_system(args);
    const char *folder = gsa_args_text(args, "out");
    const char *ending = strcmp(gsa_args_text(args, "language"), "c") == 0 ? ".c" : ".cpp";
    char said[4096 + 128];
    gsa_status status = check_name(args, name, error);
    if (status != GSA_OK) return status;
    if (!folder) folder = name;
    if (strlen(folder) > 4000)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "--out has %zu bytes, expected at most 4000",
                        strlen(folder));
    int kind;
    status = gsa_see(system, folder, &kind, error);
    if (status != GSA_OK) return gsa_fail_at(error, status, "expected the name of a new folder");
    if (kind != GSA_FILE_ABSENT)
        return gsa_fail(
            error, GSA_ERR_ARGUMENT,
            "'%s' is there already, expected the name of a new folder: --out names another",
            folder);
    status = gsa_make_run_folder(system, folder, error);
    if (status == GSA_OK) status = fill(system, folder, name, ending, error);
    gsa_let_signals_come();
    if (status != GSA_OK) return status;
    snprintf(said, sizeof said,
             "%s/%s%s, CMakeLists.txt and README.md are written; README.md says how to go on",
             folder, name, ending);
    return gsa_print_line(system, said, error);
}
