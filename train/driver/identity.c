#include "train/driver/identity.h"
#include <stdio.h>
#include <string.h>
#include "gsa/hash.h"
#include "train/data/json.h"

static void add(gsa_sha256 *hash, const char *text)
{
    if (text) gsa_sha256_add(hash, text, (int64_t)strlen(text) + 1);
}

void gsa_identity_of(const gsa_session *s, char id[GSA_IDENTITY])
{
    char hex[65] = "", path[4096];
    gsa_sha256 hash;
    gsa_recipe_hash(&s->recipe, NULL, 0, hex);
    gsa_sha256_start(&hash);
    add(&hash, hex), add(&hash, s->data), add(&hash, s->inputs), add(&hash, s->plugins);
    if (s->start) {
        snprintf(path, sizeof path, "%s/manifest.sha256", s->start);
        if (gsa_sha256_file(s->system, path, hex, NULL) == GSA_OK) add(&hash, hex);
    }
    gsa_sha256_end(&hash, id);
}

/* The name that a text says, "" where it is none. */
static void take(const char *text, char id[GSA_IDENTITY])
{
    const int good = text && strlen(text) == GSA_IDENTITY - 1 &&
                     strspn(text, "0123456789abcdef") == GSA_IDENTITY - 1;
    snprintf(id, GSA_IDENTITY, "%s", good ? text : "");
}

/* The name in the first line of the folder's log. */
static void read_log(const gsa_system *system, const char *folder, char id[GSA_IDENTITY])
{
    char path[4096], line[4096] = "";
    *id = 0;
    if (snprintf(path, sizeof path, "%s/log.jsonl", folder) >= (int)sizeof path) return;
    const int file = system->open(system->user, path, GSA_OPEN_READ_OWN);
    if (file < 0) return;
    const int64_t bytes = system->read(system->user, file, line, sizeof line - 1);
    system->close(system->user, file);
    line[bytes > 0 ? bytes : 0] = 0;
    json_t *first = gsa_json_parse(line, (int64_t)strcspn(line, "\n"), 0, NULL);
    take(json_string_value(json_object_get(first, GSA_RUN_NOTE)), id);
    json_decref(first);
}

gsa_status gsa_identity_read(const gsa_system *system, const char *folder,
                             const gsa_safetensors *state, const char *path, char id[GSA_IDENTITY],
                             gsa_error *error)
{
    char told[GSA_IDENTITY];
    take(gsa_safetensors_note(state, GSA_RUN_NOTE), id);
    read_log(system, folder, told);
    if (!*id || !*told || strcmp(id, told) == 0) return GSA_OK;
    return gsa_fail(error, GSA_ERR_FORMAT,
                    "%s: the checkpoint is of another run than '%s/log.jsonl' tells of: it was "
                    "copied here, move it away",
                    path, folder);
}
