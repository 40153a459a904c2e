/* json_fails.c - loaded before the command: jansson has no memory once the file is there that
 * GSA_FAILS_AFTER names. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

static json_malloc_t given;

static void *lacking(size_t bytes)
{
    const char *after = getenv("GSA_FAILS_AFTER");
    return given(after && access(after, F_OK) == 0 ? SIZE_MAX / 4 : bytes);
}

void json_set_alloc_funcs(json_malloc_t allocate, json_free_t release)
{
    typedef void setter(json_malloc_t, json_free_t);
    setter *next;
    *(void **)&next = dlsym(RTLD_NEXT, "json_set_alloc_funcs");
    given = allocate;
    next(lacking, release);
}
