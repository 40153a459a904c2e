/* scratch.h - a folder of its own for a test, and whole files in it. Failures die through Check. */
#ifndef GSA_TEST_SCRATCH_H
#define GSA_TEST_SCRATCH_H
#include <stddef.h>
#include <stdint.h>
#include "graph/system.h"

typedef struct gsa_scratch {
    char folder[128];
} gsa_scratch;

void gsa_scratch_open(gsa_scratch *scratch);
void gsa_scratch_close(gsa_scratch *scratch); /* removes it with what is in it */
/* folder/name in one of a few static buffers, which later calls use again. */
const char *gsa_scratch_path(const gsa_scratch *scratch, const char *format, ...) GSA_PRINTF(2, 3);
void gsa_put_file(const char *path, const void *bytes, int64_t count);
/* Released by the caller with free(); one zero byte more. */
char *gsa_get_file(const char *path, int64_t *count);
int gsa_exists(const char *path);
/* Entries whose name ends with `suffix`. */
int gsa_count_entries(const char *folder, const char *suffix);

#endif
