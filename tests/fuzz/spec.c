/* The text form of a stack. */
#include "topologies/spec.h"
#include "fuzz.h"

void gsa_fuzz_one(const gsa_system *system, const char *path, const uint8_t *at, size_t bytes)
{
    gsa_stack_spec spec;
    gsa_error error;
    char *text = strndup((const char *)at, bytes);
    (void)path;
    const gsa_status status = gsa_spec_parse(system, text, &spec, &error);
    FUZZ_SAID(status, error);
    if (status == GSA_OK) gsa_spec_release(&spec);
    free(text);
}
