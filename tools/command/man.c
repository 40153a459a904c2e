/* man.c - gsa(1) in roff, from the verb tables. */
#include "tools/command/verbs.h"

static void write_keys(gsa_output *out)
{
    int count;
    const gsa_key *keys = gsa_recipe_keys(&count);
    gsa_output_text(out, ".SH RECIPE KEYS\nA recipe is an INI file; every key can be overridden "
                         "by\n.BR \\-\\-set .\n");
    for (int i = 0; i < count; i++) {
        char expected[256];
        gsa_write_expected_of_key(expected, sizeof expected, &keys[i]);
        gsa_output_format(out, ".TP\n\\fB%s.%s\\fR\n", keys[i].section, keys[i].name);
        gsa_write_roff(out, keys[i].doc);
        gsa_output_text(out, "; ");
        gsa_write_roff(out, expected);
        if (keys[i].fallback && *keys[i].fallback) {
            gsa_output_text(out, ". Default: ");
            gsa_write_roff(out, keys[i].fallback);
        }
        gsa_output_text(out, ".\n");
    }
}

void gsa_write_man(gsa_output *out)
{
    int count;
    const gsa_verb *const *verbs = gsa_verbs(&count);
    gsa_write_man_title(out, "gsa", "graph self-attention: attention patterns are data");
    gsa_output_text(out, ".SH SYNOPSIS\n.B gsa\n.I VERB\n.RI [ operands ]\n.RI [ options ]\n"
                         ".SH DESCRIPTION\nBuilds attention patterns as graphs, trains models on "
                         "them, measures and runs the models.\n"
                         ".SH VERBS\n");
    for (int i = 0; i < count; i++) gsa_write_man_verb(out, verbs[i]);
    write_keys(out);
    gsa_output_text(
        out, ".SH EXIT STATUS\n.TP\n0\ndone; also: stopped by the first SIGINT or SIGTERM, the "
             "work saved\n"
             ".TP\n1\nthe work failed: file system, memory, limits, numbers, a plugin, an "
             "unsupported device\n"
             ".TP\n2\nwhat was asked is wrong: options, recipe, parameters, the content of a file\n"
             ".TP\n75\nthe device was lost while it computed: nothing was saved from its memory, "
             "earlier checkpoints "
             "remain\n"
             ".TP\n130, 143\na second SIGINT or SIGTERM\n");
}
