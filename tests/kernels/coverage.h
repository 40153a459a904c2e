/* coverage.h - the entries of gsa_backend, read from its header, so that an op without a case is
 * red. */
#ifndef GSA_TEST_COVERAGE_H
#define GSA_TEST_COVERAGE_H
#include "op_cases.h"
#include <stdio.h>
#include <string.h>

/* Calls visit for each `(*name)(gsa_backend *b` of the header; returns how many there were. */
static inline int each_entry(const char *header, void (*visit)(const char *name, void *context),
                             void *context)
{
    char line[1024], name[64];
    int count = 0;
    FILE *file = fopen(header, "r");
    if (file == NULL) return 0;
    while (fgets(line, sizeof line, file)) {
        const char *at = strstr(line, "(*");
        if (at == NULL || strstr(at, "(gsa_backend *b") == NULL ||
            sscanf(at, "(*%63[a-z_])", name) != 1)
            continue;
        visit(name, context);
        count++;
    }
    fclose(file);
    return count;
}

/* Is the name among the words of some case? with_gradient: of one that has shapes for central
 * differences. */
static inline int entry_covered(const char *name, int with_gradient)
{
    for (int i = 0; op_case_any(i); i++) {
        const op_case *op = op_case_any(i);
        const char *at = op->covers;
        const size_t length = strlen(name);
        if (with_gradient && (op->grad_count == 0 || op->backward == NULL)) continue;
        while ((at = strstr(at, name)) != NULL) {
            if ((at == op->covers || at[-1] == ' ') && (at[length] == 0 || at[length] == ' '))
                return 1;
            at += length;
        }
    }
    return 0;
}

#endif
