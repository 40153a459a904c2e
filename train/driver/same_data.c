#include "train/driver/same_data.h"
#include <stdio.h>
#include <string.h>
#include "graph/system_parts.h"
#include "gsa/hash.h"
#include "train/task.h"
#include "train/use/inputs.h"

enum { PATH = 4096, LONGEST = 1 << 20 };
static const int64_t LARGEST = INT64_C(1) << 36; /* a larger file is refused when it is read */
static const char file_name[] = "data.sha256";

/* Puts the file's line to the text. said: those of the checkpoint, or NULL. */
static gsa_status hash_one(const gsa_system *system, const char *path, const char *key,
                           const char *said, char text[GSA_DATA_HASHES], gsa_error *error)
{
    char hex[65], line[128];
    int64_t bytes = 0;
    const size_t used = strlen(text);
    int kind = system->kind(system->user, path, &bytes);
    gsa_status status = gsa_take_kind(path, &kind, error);
    if (status != GSA_OK) return status;
    snprintf(line, sizeof line, "  %s\n", key);
    if (kind == GSA_FILE_OTHER && said && strstr(said, line))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "%s is no regular file, and was one when the run began: what it holds is "
                        "compared before the run goes on",
                        path);
    if (kind != GSA_FILE_REGULAR || bytes > LARGEST) return GSA_OK;
    status = gsa_check_stored(system, path, bytes, error);
    if (status == GSA_OK) status = gsa_sha256_file(system, path, hex, error);
    if (status != GSA_OK) return status;
    snprintf(line, sizeof line, "%s  %s\n", hex, key);
    snprintf(text + used, GSA_DATA_HASHES - used, "%s", line);
    if (!said || !strstr(said, line + 64) || strstr(said, line)) return GSA_OK;
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "%s has changed since the run began: a run goes on with the data that it began "
                    "with, a new one begins with its weights by train.start",
                    path);
}

static gsa_status hash_all(const gsa_system *system, const gsa_recipe_values *v, const char *said,
                           char text[GSA_DATA_HASHES], gsa_error *error)
{
    const char *const file[] = { v->data_stream ? "" : v->data_train, v->data_dev, v->data_test };
    const struct {
        const char *suffix, *key[GSA_SPLITS];
    } part[] = { { "", { "data.train", "data.dev", "data.test" } },
                 { v->data_source, { "data.train.source", "data.dev.source", "data.test.source" } },
                 { v->data_target,
                   { "data.train.target", "data.dev.target", "data.test.target" } } };
    gsa_status status = GSA_OK;
    for (int f = 0; f < GSA_SPLITS; f++)
        for (int p = 0; p < 3 && status == GSA_OK && *file[f]; p++) {
            char path[PATH];
            if (p > 0 && !*part[p].suffix) continue;
            snprintf(path, sizeof path, "%s%s%s", file[f], p > 0 ? "." : "", part[p].suffix);
            status = hash_one(system, path, part[p].key[f], said, text, error);
        }
    return status;
}

gsa_status gsa_data_hash(const gsa_system *system, const gsa_recipe *recipe, const char *checkpoint,
                         char text[GSA_DATA_HASHES], gsa_error *error)
{
    char path[PATH] = "", *said = NULL;
    int64_t bytes;
    int kind = GSA_FILE_ABSENT;
    gsa_status status = GSA_OK;
    text[0] = 0;
    if (checkpoint) snprintf(path, sizeof path, "%s/%s", checkpoint, file_name);
    if (checkpoint) status = gsa_see(system, path, &kind, error);
    if (status == GSA_OK && kind != GSA_FILE_ABSENT)
        status = gsa_read_file(system, path, LONGEST, &said, &bytes, error);
    if (status == GSA_OK) status = hash_all(system, &recipe->values, said, text, error);
    gsa_release(system, said);
    return status;
}

gsa_status gsa_data_save(gsa_checkpoint *checkpoint, const char *text, gsa_error *error)
{
    return gsa_save_lines(checkpoint, file_name, text, error);
}
