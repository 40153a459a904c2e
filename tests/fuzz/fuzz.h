/* fuzz.h - what the fuzz targets share. A target is one function:
 *
 *   void gsa_fuzz_one(const gsa_system *system, const char *path, const uint8_t *at, size_t bytes);
 *
 * `path` names a regular file of the system that holds the bytes after the first, which chooses
 * options; the file is memory, and no other file is there. FUZZ_CHECK is an assertion. */
#ifndef GSA_FUZZ_H
#define GSA_FUZZ_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/system.h"

void gsa_fuzz_one(const gsa_system *system, const char *path, const uint8_t *at, size_t bytes);

/* The same bytes as a file on the disk, for readers that open files themselves. */
const char *gsa_fuzz_on_disk(const uint8_t *at, size_t bytes);

#define FUZZ_CHECK(what)                                                                           \
    do {                                                                                           \
        if (!(what)) fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what), abort();           \
    } while (0)
/* A reader succeeds, or fails with one sentence. */
#define FUZZ_SAID(status, error)                                                                   \
    FUZZ_CHECK((status) == GSA_OK || ((error).text[0] && !strchr((error).text, '\n')))

#endif
