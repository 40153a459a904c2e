/* A JSON object of a line. */
#include "train/data/objects.h"
#include "fuzz.h"

void gsa_fuzz_one(const gsa_system *system, const char *path, const uint8_t *at, size_t bytes)
{
    static const char *const names[] = { "label", "text" };
    gsa_object_keys keys;
    gsa_slice field[GSA_OBJECT_ROLES];
    gsa_error error;
    char *line = malloc(bytes);
    (void)system;
    memcpy(line, at + 1, bytes - 1);
    line[bytes - 1] = 0;
    FUZZ_CHECK(gsa_object_keys_read(at[0] & 1 ? "label=a,text=b" : "", names, 2, &keys, &error) ==
               GSA_OK);
    const gsa_status status =
        gsa_object_read(path, 1, &keys, at[0] >> 1 & 1, line, (int64_t)bytes - 1, field, &error);
    FUZZ_SAID(status, error);
    for (int i = at[0] >> 1 & 1; status == GSA_OK && i < 2; i++)
        FUZZ_CHECK(field[i].at >= line && field[i].at + field[i].bytes <= line + bytes);
    free(line);
}
