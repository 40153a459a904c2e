/* gsa topology - the plugin author's two commands: a copy of the template, and the check of what a
 * pattern promises. */
#include <string.h>
#include "topologies/words.h"
#include "tools/command/topology.h"

static gsa_status run(const gsa_args *args, gsa_error *error)
{
    static const struct {
        const char *name, *operand;
        gsa_status (*run)(const gsa_args *args, const char *operand, gsa_error *error);
    } parts[] = { { "new", "NAME", gsa_topology_new },
                  { "check", "SPEC or FILE.so", gsa_topology_check },
                  { "probe", "SPEC or FILE.so", gsa_topology_probe },
                  { "again", "SPEC or FILE.so", gsa_topology_again } };
    char shown[GSA_SHOWN];
    const char *asked = gsa_args_operand(args, 0);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (strcmp(asked, parts[i].name) != 0) continue;
        if (gsa_args_operands(args) == 2)
            return parts[i].run(args, gsa_args_operand(args, 1), error);
        return gsa_fail(error, GSA_ERR_ARGUMENT, "'gsa topology %s' needs %s", asked,
                        parts[i].operand);
    }
    return gsa_fail(error, GSA_ERR_ARGUMENT, "'gsa topology' is given %s, expected new or check",
                    gsa_word_show(asked, shown));
}

static const gsa_option options[] = {
    { "out", GSA_OPTION_OUTPUT, "DIR", NULL, "./NAME", 0, 0,
      "new: the folder to make; it must not exist" },
    { "language", GSA_OPTION_CHOICE, "c|c++", "c", NULL, 0, 0, "new: C11 or C++17" },
    { "length", GSA_OPTION_NUMBER, "N", NULL, "the first from 0 to 4096 that works", 1, INT32_MAX,
      "check: tokens of a given graph, for topologies of exactly one length" },
    { "patience", GSA_OPTION_NUMBER, "MS", "700", NULL, 1, 3600000,
      "check: milliseconds that one call into the plugin may take, such as reading a large file" },
    { "text", GSA_OPTION_TEXT, "FILE", NULL, "texts that are made up alone", 0, 0,
      "check: lines in UTF-8 to try too, for topologies that read text: brackets, tags, whatever "
      "they look for" },
    { "tokens", GSA_OPTION_CHOICE, "words|chars|bytes", "words", NULL, 0, 0,
      "check: how the lines of --text are cut" },
    { "verbose", GSA_OPTION_FLAG, "", NULL, NULL, 0, 0,
      "check: show what the topology prints, and reports of sanitizers" },
    { "memory", GSA_OPTION_NUMBER, "MIB", "256", NULL, 16, 1 << 20,
      "check: memory that the checked process may hold" },
    GSA_OPTION_ROW_PLUGIN,
};
const gsa_verb gsa_verb_topology = {
    .name = "topology",
    .summary = "write a new topology's files, or check what a topology promises",
    .operands = "new NAME | check SPEC | check FILE.so[:key=value...]",
    .least = 1,
    .most = 2,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .notes = "new writes NAME.c (or NAME.cpp), CMakeLists.txt and README.md, a complete plugin to "
             "change, into a new folder.\n"
             "check runs the topology in a process of its own, with limits, on made-up examples, "
             "and prints one line a property: "
             "ok, FAILED with a counterexample, or not promised. A plugin that crashes, hangs, "
             "ends the process or takes all "
             "memory is "
             "contained and named. It exits with 1 when a promise is broken. A plugin that was "
             "built with AddressSanitizer or "
             "UndefinedBehaviorSanitizer is checked with it.",
    .run = run,
};
