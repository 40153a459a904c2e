#include "graph/inspect/guard.h"
#include <stdio.h>
#include <string.h>

/* igraph's handlers get no context: the first error and the first warning of the call that runs
 * (inspect.h: one at a time). */
static char said[512], warned[256];

static void on_error(const char *reason, const char *file, int line, igraph_error_t code)
{
    (void)file, (void)line, (void)code;
    if (!said[0]) snprintf(said, sizeof said, "%s", reason);
    IGRAPH_FINALLY_FREE();
}

static void on_warning(const char *reason, const char *file, int line)
{
    (void)file, (void)line;
    if (!warned[0]) snprintf(warned, sizeof warned, "%s", reason);
}

gsa_status gsa_igraph_enter(gsa_igraph_guard *guard, gsa_error *error)
{
    said[0] = warned[0] = 0;
    *guard = (gsa_igraph_guard){ 0 };
    guard->errors = igraph_set_error_handler(on_error);
    guard->warnings = igraph_set_warning_handler(on_warning);
    guard->attributes = igraph_set_attribute_table(&igraph_cattribute_table);
    const igraph_error_t code = igraph_enter_safelocale(&guard->locale);
    guard->plain = code == IGRAPH_SUCCESS;
    if (guard->plain) return GSA_OK;
    gsa_igraph_leave(guard);
    return gsa_igraph_failed(code, GSA_ERR_UNSUPPORTED, "the C locale", error);
}

void gsa_igraph_leave(gsa_igraph_guard *guard)
{
    if (guard->plain) igraph_exit_safelocale(&guard->locale);
    igraph_set_attribute_table(guard->attributes);
    igraph_set_warning_handler(guard->warnings);
    igraph_set_error_handler(guard->errors);
}

gsa_status gsa_igraph_failed(igraph_error_t code, gsa_status otherwise, const char *what,
                             gsa_error *error)
{
    if (code == IGRAPH_ENOMEM)
        return gsa_fail(error, GSA_ERR_MEMORY, "%s: out of memory in igraph", what);
    return gsa_fail(error, otherwise, "%s: %s (igraph: %s)", what,
                    said[0] ? said : "no reason given", igraph_strerror(code));
}

const char *gsa_igraph_warning(void)
{
    return warned;
}
