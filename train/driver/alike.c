#include "train/driver/alike.h"
#include <stdio.h>
#include <string.h>
#include "graph/system_parts.h"
#include "train/data/source.h"

enum { PROGRAM, DEVICE, RECIPE, PLUGINS, INPUTS, MODEL, DATA, THINGS };
static const char *const thing[THINGS] = { "program or library", "kernels", "recipe", "plugin",
                                           "file of a pattern",  "model",   "data" };

static void hash_text(const char *text, char hex[65])
{
    gsa_sha256 hash;
    gsa_sha256_start(&hash);
    if (text) gsa_sha256_add(&hash, text, (int64_t)strlen(text));
    gsa_sha256_end(&hash, hex);
}

/* Ranks of one machine have devices of other numbers: "cuda (device 0, sm_90)". */
static const char *kind_of(const char *backend)
{
    const char *comma = strchr(backend, ',');
    return comma ? comma : backend;
}

static void hash_recipe(const gsa_session *s, char hex[65])
{
    int count;
    char number[64];
    gsa_sha256 hash;
    gsa_recipe_keys(&count);
    gsa_sha256_start(&hash);
    for (int i = 0; i < count; i++) {
        const char *text = gsa_recipe_text(&s->recipe, i, number, sizeof number);
        gsa_sha256_add(&hash, text, (int64_t)strlen(text) + 1);
    }
    gsa_sha256_end(&hash, hex);
}

typedef struct hashing {
    const gsa_system *system;
    gsa_sha256 hash;
} hashing;

static gsa_status hash_file(void *context, const char *path, gsa_error *error)
{
    char hex[65];
    hashing *h = context;
    const gsa_status status = gsa_sha256_file(h->system, path, hex, error);
    if (status == GSA_OK) gsa_sha256_add(&h->hash, hex, 64);
    return status;
}

/* Of every key of [data] that names a file, and of training texts that are several. */
static gsa_status hash_data(const gsa_session *s, char hex[65], gsa_error *error)
{
    int count;
    char number[64];
    hashing h = { .system = s->system };
    gsa_status status = GSA_OK;
    const gsa_key *keys = gsa_recipe_keys(&count);
    gsa_sha256_start(&h.hash);
    for (int i = 0; i < count && status == GSA_OK; i++) {
        const char *path = gsa_recipe_text(&s->recipe, i, number, sizeof number);
        const int several = s->recipe.values.data_stream && strcmp(keys[i].name, "train") == 0;
        int kind = GSA_FILE_ABSENT;
        if (strcmp(keys[i].section, "data") != 0 || !*path) continue;
        if (!several) status = gsa_see_value(s->system, path, &kind, error);
        if (status == GSA_OK && (several || kind == GSA_FILE_REGULAR))
            status = gsa_source_names(s->system, path, hash_file, &h, error);
    }
    gsa_sha256_end(&h.hash, hex);
    return status;
}

/* By the manifest, which holds the hashes of its files. */
static gsa_status hash_model(const gsa_system *system, const char *checkpoint, char hex[65],
                             gsa_error *error)
{
    char path[4096];
    hash_text(NULL, hex);
    if (!checkpoint) return GSA_OK;
    snprintf(path, sizeof path, "%s/manifest.sha256", checkpoint);
    return gsa_sha256_file(system, path, hex, error);
}

gsa_status gsa_alike_check(gsa_group *g, const gsa_session *s, const char *checkpoint,
                           gsa_status status, gsa_error *error)
{
    char own[THINGS][65];
    if (!g) return status;
    char(*all)[THINGS][65] = gsa_alloc_zero(g->system, (size_t)g->ranks, sizeof own);
    if (!all && status == GSA_OK) status = gsa_out_of_memory(error, "hashes of the ranks", 65);
    if (status == GSA_OK) {
        hash_text(g->program, own[PROGRAM]);
        hash_text(kind_of(s->backend->name), own[DEVICE]);
        hash_recipe(s, own[RECIPE]);
        hash_text(s->plugins, own[PLUGINS]);
        hash_text(s->inputs, own[INPUTS]);
        status = hash_model(g->system, checkpoint, own[MODEL], error);
    }
    if (status == GSA_OK) status = hash_data(s, own[DATA], error);
    status = gsa_group_gather(g, status, own, sizeof own, all, error);
    for (int r = 1; r < g->ranks && status == GSA_OK; r++)
        for (int i = 0; i < THINGS && status == GSA_OK; i++)
            if (memcmp(all[r][i], all[0][i], 65) != 0)
                g->blamed = 1,
                status = gsa_fail(error, GSA_ERR_ARGUMENT,
                                  "rank %d of %d has another %s than rank 0: every rank runs the "
                                  "same (SHA-256 %.12s, expected %.12s)",
                                  r, g->ranks, thing[i], all[r][i], all[0][i]);
    gsa_release(g->system, all);
    return status;
}

gsa_status gsa_alike_file(gsa_group *g, const gsa_system *system, const char *path,
                          gsa_status status, gsa_error *error)
{
    char own[65] = "", first[65] = "";
    if (!g) return status;
    if (status == GSA_OK &&
        (strcmp(path, "-") == 0 || system->kind(system->user, path, NULL) == GSA_FILE_OTHER))
        status = gsa_fail(error, GSA_ERR_ARGUMENT,
                          "'%s' is read by one process alone: %d ranks share the lines of a file, "
                          "--input FILE",
                          path, g->ranks);
    if (status == GSA_OK) status = gsa_sha256_file(system, path, own, error);
    if (g->rank == 0) memcpy(first, own, sizeof first);
    status = gsa_group_merge(g, status, first, sizeof first, error);
    if (status == GSA_OK && memcmp(own, first, sizeof own) != 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "its '%s' is another file than that of rank 0",
                        path);
    return status;
}
