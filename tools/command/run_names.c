/* What a run calls its files. */
#include <string.h>
#include "tools/command/verbs.h"

int gsa_is_of_a_run(const char *path, int remade)
{
    static const char *const names[] = { "config.ini",     "latest",      "lock",
                                         "log.jsonl",      "asked.ini",   "result.json",
                                         "outcomes.jsonl", "report.json", "recipe.ini",
                                         "curve.svg" };
    enum { NEEDED = 9 };
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (int i = 0; i < (remade ? (int)(sizeof names / sizeof *names) : NEEDED); i++)
        if (strcmp(name, names[i]) == 0) return 1;
    return 0;
}
