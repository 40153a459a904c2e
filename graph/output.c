/* output.c - all-or-nothing output: a buffered temporary next to the target, or a device written
 * directly. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>
#include "graph/system.h"
#include "graph/system_parts.h"

enum { BUFFER = 1 << 16, TRIES = 100, PATH_ROOM = 4096 };

struct gsa_output {
    const gsa_system *system;
    char *path, *temporary; /* temporary NULL: the target itself is open */
    int file, owned;        /* file -1 once closed; owned: opened as a folder's own */
    int begun;              /* the target itself is written */
    gsa_error error;        /* the first one; status GSA_OK: none */
    int64_t used;
    char buffer[BUFFER];
};

static const char *shown(const gsa_output *output)
{
    return strcmp(output->path, "-") == 0 ? "standard output" : output->path;
}

static void note(gsa_output *output, const char *what)
{
    if (output->error.status != GSA_OK) return;
    char why[128];
    const int number = errno;
    gsa_fail(&output->error, GSA_ERR_IO, "'%s' cannot be %s: %s", shown(output), what,
             gsa_errno_text(number, why, sizeof why));
}

int gsa_output_failed(const gsa_output *output)
{
    return output && output->error.status != GSA_OK;
}

static void end(gsa_output *output)
{
    const gsa_system *system = output->system;
    gsa_release(system, output->temporary);
    gsa_release(system, output->path);
    gsa_release(system, output);
}

/* path.tmp-gsa-XXXXXXXXXXXX; another name while one of that name exists. */
static gsa_status open_temporary(gsa_output *output, int mode, gsa_error *error)
{
    const gsa_system *system = output->system;
    const size_t room = strlen(output->path) + sizeof GSA_TEMPORARY + GSA_TEMPORARY_DIGITS;
    output->temporary = gsa_alloc(system, room, 1);
    if (!output->temporary) return gsa_out_of_memory(error, output->path, (int64_t)room);
    for (unsigned i = 0; i < TRIES && output->file < 0; i++) {
        snprintf(output->temporary, room, "%s" GSA_TEMPORARY "%08x%04x", output->path,
                 (unsigned)getpid(), i);
        output->file = system->open(system->user, output->temporary, mode);
        if (output->file < 0 && errno != EEXIST) break;
    }
    if (output->file >= 0) return GSA_OK;
    note(output, "written (its temporary cannot be made)");
    return gsa_fail(error, GSA_ERR_IO, "%s", output->error.text);
}

/* The path becomes what its link names. */
static gsa_status follow_link(gsa_output *output, gsa_error *error)
{
    const gsa_system *system = output->system;
    const int kind = system->entry ? system->entry(system->user, output->path) : GSA_FILE_REGULAR;
    if (kind >= 0 && kind != GSA_FILE_LINK) return GSA_OK;
    char *to = gsa_alloc(system, PATH_ROOM, 1);
    if (!to) return gsa_out_of_memory(error, output->path, PATH_ROOM);
    if (kind < 0 || system->resolve(system->user, output->path, to, PATH_ROOM) < 0) {
        note(output, "opened for writing");
        gsa_release(system, to);
        return gsa_fail(error, GSA_ERR_IO, "%s", output->error.text);
    }
    gsa_release(system, output->path);
    output->path = to;
    return GSA_OK;
}

/* The program may have a reason to keep what is there: when it is opened, or only now that it is
 * written or replaced. */
static gsa_status check_place(const gsa_output *output, gsa_error *error)
{
    const gsa_system *system = output->system;
    char why[256];
    if (output->owned || !system->refuses ||
        !system->refuses(system->user, output->path, why, sizeof why))
        return GSA_OK;
    return gsa_fail(error, GSA_ERR_ARGUMENT, "'%s' cannot be written: %s", shown(output), why);
}

/* Next to a regular file, or nothing; one that is there keeps its permissions, and until they are
 * given nobody else can open the new one and read what is written later. */
static gsa_status open_beside(gsa_output *output, int kind, gsa_error *error)
{
    const gsa_system *system = output->system;
    const int keeps = kind == GSA_FILE_REGULAR && system->keep_mode;
    const gsa_status status =
        open_temporary(output, keeps ? GSA_OPEN_CREATE_PRIVATE : GSA_OPEN_CREATE, error);
    if (status != GSA_OK || !keeps) return status;
    if (system->keep_mode(system->user, output->file, output->path) >= 0) return GSA_OK;
    note(output, "written (its permissions cannot be kept)");
    system->close(system->user, output->file);
    system->remove(system->user, output->temporary);
    return gsa_fail(error, GSA_ERR_IO, "%s", output->error.text);
}

static gsa_status open_target(gsa_output *output, gsa_error *error)
{
    const gsa_system *system = output->system;
    const int owned = output->owned;
    const int standard = strcmp(output->path, "-") == 0 ||
                         (!owned && gsa_descriptor_of(output->path) == STDIN_FILENO);
    const int kind = standard ? GSA_FILE_OTHER
                     : owned  ? gsa_entry_kind(system, output->path)
                              : system->kind(system->user, output->path, NULL);
    if (kind == GSA_FILE_FOLDER)
        return gsa_fail(error, GSA_ERR_IO, "'%s' cannot be written: it is a folder", output->path);
    if (!owned && kind == GSA_FILE_REGULAR &&
        gsa_descriptor_of(output->path) == GSA_ANOTHERS_DESCRIPTOR)
        return gsa_fail(error, GSA_ERR_IO,
                        "'%s' cannot be written: it is a descriptor of another process, and its "
                        "file would be replaced: name the file",
                        output->path);
    if (owned && kind == GSA_FILE_OTHER)
        return gsa_fail(error, GSA_ERR_IO, "'%s' cannot be written: it is no regular file",
                        output->path);
    if (kind == GSA_FILE_ABSENT || kind == GSA_FILE_REGULAR || kind == GSA_FILE_LINK) {
        gsa_status status = owned ? GSA_OK : follow_link(output, error);
        if (status == GSA_OK) status = check_place(output, error);
        return status == GSA_OK ? open_beside(output, kind, error) : status;
    }
    const gsa_status status = kind >= 0 ? check_place(output, error) : GSA_OK;
    if (status != GSA_OK) return status;
    if (kind >= 0) output->file = system->open(system->user, output->path, GSA_OPEN_EXISTING);
    if (output->file >= 0) return GSA_OK;
    note(output, "opened for writing");
    return gsa_fail(error, GSA_ERR_IO, "%s", output->error.text);
}

static gsa_status open_output(const gsa_system *system, const char *path, int owned,
                              gsa_output **output, gsa_error *error)
{
    system = gsa_system_or_default(system);
    *output = NULL;
    if (!*path) return gsa_fail(error, GSA_ERR_ARGUMENT, "an output's path is empty");
    gsa_output *made = gsa_alloc(system, 1, sizeof *made);
    if (!made) return gsa_out_of_memory(error, path, (int64_t)sizeof *made);
    made->system = system, made->file = -1, made->owned = owned, made->used = 0,
    made->temporary = NULL;
    made->begun = 0, made->error.status = GSA_OK, made->error.text[0] = 0;
    made->path = gsa_copy_text(system, path);
    const gsa_status status = made->path
                                  ? open_target(made, error)
                                  : gsa_out_of_memory(error, path, (int64_t)strlen(path) + 1);
    if (status != GSA_OK) end(made);
    else *output = made;
    return status;
}

gsa_status gsa_output_open(const gsa_system *system, const char *path, gsa_output **output,
                           gsa_error *error)
{
    return open_output(system, path, 0, output, error);
}

gsa_status gsa_output_open_own(const gsa_system *system, const char *path, gsa_output **output,
                               gsa_error *error)
{
    return open_output(system, path, 1, output, error);
}

gsa_status gsa_output_check(const gsa_system *system, const char *path, gsa_error *error)
{
    gsa_output *output;
    system = gsa_system_or_default(system);
    if (strcmp(path, "-") == 0 || system->kind(system->user, path, NULL) == GSA_FILE_OTHER)
        return GSA_OK;
    const gsa_status status = gsa_output_open(system, path, &output, error);
    if (status == GSA_OK) gsa_output_abandon(output);
    return status;
}

static void put(gsa_output *output, const char *bytes, int64_t count)
{
    const gsa_system *system = output->system;
    if (count > 0 && !output->temporary && !output->begun) {
        check_place(output, &output->error);
        output->begun = 1;
    }
    while (count > 0 && output->error.status == GSA_OK) {
        const int64_t done = system->write(system->user, output->file, bytes, count);
        if (done == 0) errno = ENOSPC; /* a write that takes nothing would be tried for ever */
        if (done <= 0) note(output, "written");
        else bytes += done, count -= done;
    }
}

void gsa_output_flush(gsa_output *output)
{
    put(output, output->buffer, output->used);
    output->used = 0;
}

void gsa_output_write(gsa_output *output, const void *bytes, int64_t count)
{
    if (output->error.status != GSA_OK || count <= 0) return;
    if (count > BUFFER - output->used) gsa_output_flush(output);
    if (count > BUFFER) {
        put(output, bytes, count);
        return;
    }
    memcpy(output->buffer + output->used, bytes, (size_t)count);
    output->used += count;
}

void gsa_output_text(gsa_output *output, const char *text)
{
    gsa_output_write(output, text, (int64_t)strlen(text));
}

void gsa_output_format(gsa_output *output, const char *format, ...)
{
    char near[512], *text = near;
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int length = vsnprintf(near, sizeof near, format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof near) {
        text = gsa_alloc(output->system, (size_t)length + 1, 1);
        if (text) vsnprintf(text, (size_t)length + 1, format, again);
        else if (output->error.status == GSA_OK)
            gsa_out_of_memory(&output->error, output->path, length);
    }
    va_end(again);
    if (length < 0) note(output, "written (a value cannot be formatted)");
    else if (text) gsa_output_write(output, text, length);
    if (text != near) gsa_release(output->system, text);
}

static void close_file(gsa_output *output)
{
    const gsa_system *system = output->system;
    if (output->file >= 0 && system->close(system->user, output->file) < 0) note(output, "closed");
    output->file = -1;
}

/* The folder that holds the target, so that the rename itself is on the medium. */
static void sync_parent(gsa_output *output)
{
    const gsa_system *system = output->system;
    char *slash = strrchr(output->path, '/');
    const char *folder = !slash ? "." : slash == output->path ? "/" : output->path;
    if (slash) *slash = 0;
    const int rc = system->sync_folder(system->user, folder);
    if (slash) *slash = '/';
    if (rc < 0)
        note(output, "made durable (the file is in place, its folder cannot be synchronised)");
}

static void replace_target(gsa_output *output)
{
    const gsa_system *system = output->system;
    if (output->error.status == GSA_OK && check_place(output, &output->error) == GSA_OK &&
        system->rename(system->user, output->temporary, output->path) < 0)
        note(output, "replaced");
    if (output->error.status == GSA_OK) sync_parent(output);
    else system->remove(system->user, output->temporary);
}

gsa_status gsa_output_commit(gsa_output *output, gsa_error *error)
{
    const gsa_system *system = output->system;
    gsa_output_flush(output);
    if (output->temporary && output->error.status == GSA_OK &&
        system->sync(system->user, output->file) < 0)
        note(output, "synchronised");
    close_file(output);
    if (output->temporary) replace_target(output);
    const gsa_status status = output->error.status;
    if (status != GSA_OK) gsa_fail(error, status, "%s", output->error.text);
    end(output);
    return status;
}

void gsa_output_abandon(gsa_output *output)
{
    if (!output) return;
    const gsa_system *system = output->system;
    close_file(output);
    if (output->temporary) system->remove(system->user, output->temporary);
    end(output);
}
