/* The lines of an INI file: each entry is found again by its name. */
#include "train/settings/ini.h"
#include "fuzz.h"

void gsa_fuzz_one(const gsa_system *system, const char *path, const uint8_t *at, size_t bytes)
{
    gsa_ini ini;
    gsa_error error;
    (void)at, (void)bytes;
    const gsa_status status = gsa_ini_read(system, path, &ini, &error);
    FUZZ_SAID(status, error);
    if (status != GSA_OK) return;
    for (int i = 0; i < ini.count; i++)
        FUZZ_CHECK(gsa_ini_find(&ini, ini.entries[i].section, ini.entries[i].key) ==
                   &ini.entries[i]);
    gsa_ini_set(&ini, "train.lr=1", &error);
    gsa_ini_release(&ini);
}
