/* manifest.c - the hashes of a folder's files. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "checkpoint_parts.h"
#include "graph/system_parts.h"
#include "hash.h"

/* The last line, a comment to `sha256sum -c`: what is cut off at the end of a line is noticed, and
 * so is a folder under another step's name. Manifests of 0.1.0 say no step. */
#define END "# %d files"
#define OF  " of "

enum { HEX = 64, LONGEST_NAME = 128, LONGEST_PATH = 4095, LONGEST_MANIFEST = 1 << 14 };
static const int64_t LARGEST_FILE = INT64_C(1) << 36, LARGEST_TEXT = INT64_C(1) << 30;

int gsa_manifest_takes(const char *name)
{
    static const char known[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const size_t bytes = strlen(name);
    return bytes > 0 && bytes <= LONGEST_NAME && name[0] != '.' && strspn(name, known) == bytes &&
           strcmp(name, GSA_MANIFEST) != 0;
}

/* Nothing in the folder is a device, a FIFO or a socket, which could be read for ever or waited
 * for, or a link, listed or not: what it leads to may not be the maker's to read. */
static gsa_status check_kinds(const gsa_system *system, const char *folder, const gsa_names *names,
                              gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int i = 0; i < names->count && status == GSA_OK; i++) {
        char *path = gsa_text_of(system, "%s/%s", folder, names->at[i]);
        if (!path) status = gsa_out_of_memory(error, folder, LONGEST_NAME);
        else status = gsa_check_regular(system, path, error);
        gsa_release(system, path);
    }
    return status;
}

static gsa_status write_lines(const gsa_system *system, const char *folder, int64_t step,
                              const gsa_names *names, gsa_output *output, gsa_error *error)
{
    char hex[HEX + 1];
    for (int i = 0; i < names->count; i++) {
        char *path = gsa_text_of(system, "%s/%s", folder, names->at[i]);
        const gsa_status status = path ? gsa_sha256_file(system, path, hex, error)
                                       : gsa_out_of_memory(error, folder, LONGEST_NAME);
        gsa_release(system, path);
        if (status != GSA_OK) return status;
        gsa_output_format(output, "%s  %s\n", hex, names->at[i]);
    }
    gsa_output_format(output, END OF GSA_STEP "%" PRId64 "\n", names->count, step);
    return GSA_OK;
}

gsa_status gsa_manifest_write(const gsa_system *system, const char *folder, int64_t step,
                              const gsa_names *names, gsa_error *error)
{
    gsa_output *output;
    char *path = gsa_text_of(system, "%s/" GSA_MANIFEST, folder);
    if (!path) return gsa_out_of_memory(error, folder, LONGEST_NAME);
    gsa_status status = gsa_output_open_own(system, path, &output, error);
    gsa_release(system, path);
    if (status != GSA_OK) return status;
    status = write_lines(system, folder, step, names, output, error);
    if (status == GSA_OK) return gsa_output_commit(output, error);
    gsa_output_abandon(output);
    return status;
}

/* A listed file has a path that can be used, is there, and is no larger than what is read: words
 * are fewer than weights. It is watched from here on. */
static gsa_status check_file(const gsa_system *system, gsa_anchor *anchor, const char *path,
                             const char *name, gsa_error *error)
{
    const char *dot = strrchr(name, '.');
    const int64_t most = dot && strcmp(dot, ".safetensors") == 0 ? LARGEST_FILE : LARGEST_TEXT;
    int64_t bytes = 0;
    if (strlen(path) > LONGEST_PATH)
        return gsa_fail(error, GSA_ERR_LIMIT,
                        "'%s': a path of %zu bytes is too long, expected at most %d", path,
                        strlen(path), LONGEST_PATH);
    if (system->kind(system->user, path, &bytes) == GSA_FILE_ABSENT)
        return gsa_fail(error, GSA_ERR_FORMAT, "'%s' cannot be read: No such file or directory",
                        path);
    if (bytes > most)
        return gsa_fail(error, GSA_ERR_LIMIT,
                        "'%s' has %" PRId64 " bytes, and the most that is read is %" PRId64, path,
                        bytes, most);
    const gsa_status status = gsa_check_stored(system, path, bytes, error);
    return status == GSA_OK ? gsa_anchor_watch(anchor, path, bytes, error) : status;
}

/* One line, which is ended with a zero byte in place of its line end: there is no other in it. */
static gsa_status check_form(const char *folder, const char *line, const char *end, int number,
                             gsa_error *error)
{
    if (line + strlen(line) == end && strspn(line, "0123456789abcdef") == HEX &&
        strncmp(line + HEX, "  ", 2) == 0 && gsa_manifest_takes(line + HEX + 2))
        return GSA_OK;
    return gsa_fail(error, GSA_ERR_FORMAT,
                    "%s/" GSA_MANIFEST ":%d: expected a hash, two spaces and a file's name", folder,
                    number);
}

static gsa_status check_line(const gsa_system *system, gsa_anchor *anchor, const char *folder,
                             const char *unread, const char *line, gsa_error *error)
{
    char hex[HEX + 1] = "";
    const char *name = line + HEX + 2;
    if (unread && strcmp(name, unread) == 0) return GSA_OK;
    char *path = gsa_text_of(system, "%s/%s", folder, name);
    if (!path) return gsa_out_of_memory(error, folder, LONGEST_NAME);
    gsa_status status = check_file(system, anchor, path, name, error);
    if (status == GSA_OK) status = gsa_sha256_file(system, path, hex, error);
    if (status == GSA_OK && strncmp(hex, line, HEX) != 0)
        status = gsa_fail(error, GSA_ERR_FORMAT,
                          "'%s' does not have the hash that its manifest says", path);
    gsa_release(system, path);
    return status;
}

/* The lines from `text` to `end` end with zero bytes. Is one of them the file's? */
static int is_listed(const char *text, const char *end, const char *name)
{
    for (; text < end; text += strlen(text) + 1)
        if (strcmp(text + HEX + 2, name) == 0) return 1;
    return 0;
}

/* A file that no line vouches for may be anybody's: it is not read, and not passed over either. */
static gsa_status check_others(const char *folder, const gsa_names *names, const char *text,
                               const char *end, gsa_error *error)
{
    for (int i = 0; i < names->count; i++)
        if (gsa_manifest_takes(names->at[i]) && !is_listed(text, end, names->at[i]))
            return gsa_fail(error, GSA_ERR_FORMAT,
                            "'%s/%s' is not in the folder's manifest: move it away", folder,
                            names->at[i]);
    return GSA_OK;
}

int64_t gsa_step_of_folder(const char *folder)
{
    char name[64];
    int64_t step;
    size_t bytes = 0;
    for (const char *at = folder; *at; at += strcspn(at, "/")) {
        at += strspn(at, "/");
        if (*at) folder = at, bytes = strcspn(at, "/");
    }
    snprintf(name, sizeof name, "%.*s", (int)bytes, folder);
    return gsa_step_of(name, "", &step) || gsa_step_of(name, GSA_REPLACED, &step) ? step : -1;
}

/* *is_end: the line, which ends with a zero byte in place of its line end, is the last one. */
static gsa_status check_end(const char *folder, const char *line, const char *end, int files,
                            int *is_end, gsa_error *error)
{
    char last[32];
    int64_t step = -1;
    const size_t length = (size_t)snprintf(last, sizeof last, END, files);
    *is_end = line + strlen(line) == end && strncmp(line, last, length) == 0 &&
              (!line[length] || (strncmp(line + length, OF, strlen(OF)) == 0 &&
                                 gsa_step_of(line + length + strlen(OF), "", &step)));
    const int64_t named = gsa_step_of_folder(folder);
    if (!*is_end || step < 0 || named < 0 || named == step) return GSA_OK;
    return gsa_fail(error, GSA_ERR_FORMAT,
                    "'%s' is a checkpoint of step %" PRId64 ": it was copied or renamed", folder,
                    step);
}

static gsa_status check_lines(const gsa_system *system, gsa_anchor *anchor, const char *folder,
                              const char *unread, const gsa_names *names, char *text, int64_t bytes,
                              gsa_error *error)
{
    char *line = text, *const stop = text + bytes;
    for (int files = 0, is_end;; files++) {
        char *end = memchr(line, '\n', (size_t)(stop - line));
        if (!end)
            return gsa_fail(error, GSA_ERR_FORMAT,
                            "%s/" GSA_MANIFEST ":%d: %s, expected '# %d files' at the end", folder,
                            files + 1,
                            line < stop ? "the line does not end" : "the list is cut off", files);
        *end = 0;
        gsa_status status = check_end(folder, line, end, files, &is_end, error);
        if (status == GSA_OK && is_end && end + 1 == stop)
            return check_others(folder, names, text, line, error);
        if (status != GSA_OK) return status;
        status = check_form(folder, line, end, files + 1, error);
        if (status == GSA_OK && is_listed(text, line, line + HEX + 2))
            status = gsa_fail(error, GSA_ERR_FORMAT, "%s/" GSA_MANIFEST ":%d: '%s' is there twice",
                              folder, files + 1, line + HEX + 2);
        if (status == GSA_OK) status = check_line(system, anchor, folder, unread, line, error);
        if (status != GSA_OK) return status;
        line = end + 1;
    }
}

gsa_status gsa_manifest_names(const gsa_system *system, const char *folder, gsa_names *names,
                              int *whole, gsa_error *error)
{
    char *text = NULL, *path = gsa_text_of(system, "%s/" GSA_MANIFEST, folder);
    int64_t bytes = 0;
    *names = (gsa_names){ .system = system }, *whole = 0;
    if (!path) return gsa_out_of_memory(error, folder, LONGEST_NAME);
    int kind;
    gsa_status status = gsa_see(system, path, &kind, error);
    if (status == GSA_OK && kind == GSA_FILE_REGULAR)
        status = gsa_read_file(system, path, LONGEST_MANIFEST, &text, &bytes, error);
    gsa_release(system, path);
    char *line = text, *end;
    for (; status == GSA_OK && line && (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        if (check_form(folder, line, end, names->count + 1, NULL) == GSA_OK)
            status = gsa_names_add(names, line + HEX + 2, error);
        else if (check_end(folder, line, end, names->count, whole, NULL) != GSA_OK ||
                 end + 1 != text + bytes)
            *whole = 0;
    }
    gsa_release(system, text);
    return status;
}

gsa_status gsa_manifest_check(gsa_anchor *anchor, const gsa_system *system, const char *folder,
                              const char *unread, gsa_error *error)
{
    system = gsa_anchor_system(anchor, system);
    char *text = NULL, *path = gsa_text_of(system, "%s/" GSA_MANIFEST, folder);
    int64_t bytes;
    gsa_names names;
    if (!path) return gsa_out_of_memory(error, folder, LONGEST_NAME);
    gsa_status status = gsa_names_list(system, folder, &names, error);
    if (status == GSA_OK) status = check_kinds(system, folder, &names, error);
    if (status == GSA_OK)
        status = gsa_anchor_watch(anchor, path, -1, error); /* a list may be empty */
    if (status == GSA_OK)
        status = gsa_read_file(system, path, LONGEST_MANIFEST, &text, &bytes, error);
    gsa_release(system, path);
    if (status == GSA_OK)
        status = check_lines(system, anchor, folder, unread, &names, text, bytes, error);
    gsa_names_release(&names);
    gsa_release(system, text);
    return status;
}
