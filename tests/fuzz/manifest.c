#define _GNU_SOURCE /* memmem */
/* manifest.sha256 of a folder whose files are not there: all but an empty list is refused. */
#include "gsa/checkpoint_parts.h"
#include "fuzz.h"

static gsa_system table;
static const gsa_system *below;

static int open_manifest(void *user, const char *path, int mode)
{
    const char *name = strrchr(path, '/');
    return below->open(user, name && strcmp(name + 1, GSA_MANIFEST) == 0 ? "/input" : path, mode);
}

void gsa_fuzz_one(const gsa_system *system, const char *path, const uint8_t *at, size_t bytes)
{
    gsa_error error;
    (void)path;
    below = system, table = *system, table.open = open_manifest;
    const gsa_status status =
        gsa_manifest_check(NULL, &table, "/folder", at[0] & 1 ? "state" : NULL, &error);
    FUZZ_SAID(status, error);
    if (status != GSA_OK) return;
    FUZZ_CHECK(bytes > 10 && memmem(at, bytes, " files", 6));
}
