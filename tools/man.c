/* man.c - gsa(1) in roff, from the verb tables. */
#include <inttypes.h>
#include <string.h>
#include "verbs.h"

/* roff's own characters: backslash, a dash that can be copied, a dot or quote that opens a line. */
static void write_roff(gsa_output *out, const char *text)
{
    int start = 1;
    for (; *text; text++) {
        if (start && (*text == '.' || *text == '\'')) gsa_output_text(out, "\\&");
        start = *text == '\n';
        if (*text == '\\') gsa_output_text(out, "\\e");
        else if (*text == '-') gsa_output_text(out, "\\-");
        else if (*text == '\n') gsa_output_text(out, "\n.PP\n");
        else gsa_output_write(out, text, 1);
    }
}

static void write_option(gsa_output *out, const gsa_option *option)
{
    const char *value = gsa_option_default(option);
    gsa_output_format(out, ".TP\n\\fB\\-\\-");
    write_roff(out, option->name);
    gsa_output_text(out, "\\fR");
    if (*option->value) {
        gsa_output_text(out, " \\fI");
        write_roff(out, option->value);
        gsa_output_text(out, "\\fR");
    }
    gsa_output_text(out, "\n");
    write_roff(out, option->doc);
    if (option->type == GSA_OPTION_NUMBER || option->type == GSA_OPTION_NUMBERS)
        gsa_output_format(out, "; %" PRId64 " to %" PRId64, option->low, option->high);
    if (value) {
        gsa_output_text(out, ". Default: ");
        write_roff(out, value);
    }
    gsa_output_text(out, ".\n");
}

static void write_verb(gsa_output *out, const gsa_verb *verb)
{
    gsa_output_format(out, ".SS \"gsa %s%s%s\"\n", verb->name, *verb->operands ? " " : "", verb->operands);
    write_roff(out, verb->summary);
    gsa_output_text(out, ".\n");
    for (int i = 0; i < verb->n_options; i++) write_option(out, &verb->options[i]);
    if (!*verb->notes) return;
    gsa_output_text(out, ".PP\n");
    write_roff(out, verb->notes);
    gsa_output_text(out, "\n");
}

static void write_keys(gsa_output *out)
{
    int count;
    const gsa_key *keys = gsa_recipe_keys(&count);
    gsa_output_text(out, ".SH RECIPE KEYS\nA recipe is an INI file; every key can be overridden by\n.BR \\-\\-set .\n");
    for (int i = 0; i < count; i++) {
        char expected[256];
        gsa_write_expected_of_key(expected, sizeof expected, &keys[i]);
        gsa_output_format(out, ".TP\n\\fB%s.%s\\fR\n", keys[i].section, keys[i].name);
        write_roff(out, keys[i].doc);
        gsa_output_text(out, "; ");
        write_roff(out, expected);
        if (keys[i].fallback && *keys[i].fallback) {
            gsa_output_text(out, ". Default: ");
            write_roff(out, keys[i].fallback);
        }
        gsa_output_text(out, ".\n");
    }
}

void gsa_write_man(gsa_output *out)
{
    int count;
    const gsa_verb *const *verbs = gsa_verbs(&count);
    gsa_output_format(out, ".TH GSA 1 \"\" \"gsa %s\" \"User Commands\"\n", GSA_VERSION);
    gsa_output_text(
        out, ".SH NAME\ngsa \\- graph self\\-attention: attention patterns are data\n"
             ".SH SYNOPSIS\n.B gsa\n.I VERB\n.RI [ operands ]\n.RI [ options ]\n"
             ".SH DESCRIPTION\nBuilds attention patterns as graphs, trains models on them, measures and runs the models.\n"
             ".SH VERBS\n");
    for (int i = 0; i < count; i++) write_verb(out, verbs[i]);
    write_keys(out);
    gsa_output_text(out,
                    ".SH EXIT STATUS\n.TP\n0\ndone; also: stopped by the first SIGINT or SIGTERM, the work saved\n"
                    ".TP\n1\nthe work failed: file system, memory, limits, numbers, a plugin, an unsupported device\n"
                    ".TP\n2\nwhat was asked is wrong: options, recipe, parameters, the content of a file\n"
                    ".TP\n75\nthe device was lost while it computed: nothing was saved from its memory, earlier checkpoints "
                    "stand\n"
                    ".TP\n130, 143\na second SIGINT or SIGTERM\n");
}
