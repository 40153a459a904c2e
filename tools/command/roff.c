/* roff.c - what manual pages in roff are made of: text, options, a verb's section, a page of one
 * program. */
#include <inttypes.h>
#include <ctype.h>
#include "tools/command/verbs.h"

/* roff's own characters: backslash, a dash that can be copied, a dot or quote that opens a line. */
void gsa_write_roff(gsa_output *out, const char *text)
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
    gsa_write_roff(out, option->name);
    gsa_output_text(out, "\\fR");
    if (*option->value) {
        gsa_output_text(out, " \\fI");
        gsa_write_roff(out, option->value);
        gsa_output_text(out, "\\fR");
    }
    gsa_output_text(out, "\n");
    gsa_write_roff(out, option->doc);
    if (option->type == GSA_OPTION_NUMBER || option->type == GSA_OPTION_NUMBERS)
        gsa_output_format(out, "; %" PRId64 " to %" PRId64, option->low, option->high);
    if (value) {
        gsa_output_text(out, ". Default: ");
        gsa_write_roff(out, value);
    }
    gsa_output_text(out, ".\n");
}

/* The verb's operands, options and notes. */
static void write_parts(gsa_output *out, const gsa_verb *verb)
{
    for (int i = 0; i < verb->n_options; i++) write_option(out, &verb->options[i]);
    if (!*verb->notes) return;
    gsa_output_text(out, ".PP\n");
    gsa_write_roff(out, verb->notes);
    gsa_output_text(out, "\n");
}

void gsa_write_man_verb(gsa_output *out, const gsa_verb *verb)
{
    gsa_output_format(out, ".SS \"gsa %s%s%s\"\n", verb->name, *verb->operands ? " " : "",
                      verb->operands);
    gsa_write_roff(out, verb->summary);
    gsa_output_text(out, ".\n");
    write_parts(out, verb);
}

void gsa_write_man_title(gsa_output *out, const char *program, const char *summary)
{
    gsa_output_text(out, ".TH ");
    for (const char *at = program; *at; at++)
        gsa_output_format(out, "%c", toupper((unsigned char)*at));
    gsa_output_format(out, " 1 \"\" \"gsa %s\" \"User Commands\"\n.SH NAME\n", GSA_VERSION);
    gsa_write_roff(out, program);
    gsa_output_text(out, " \\- ");
    gsa_write_roff(out, summary);
    gsa_output_text(out, "\n");
}

void gsa_write_man_program(gsa_output *out, const gsa_verb *verb)
{
    gsa_write_man_title(out, verb->program, verb->summary);
    gsa_output_text(out, ".SH SYNOPSIS\n.B ");
    gsa_write_roff(out, verb->program);
    gsa_output_text(out, "\n.I ");
    gsa_write_roff(out, verb->operands);
    gsa_output_text(out, "\n.RI [ options ]\n.SH OPTIONS\n");
    write_parts(out, verb);
    gsa_output_text(
        out, ".SH EXIT STATUS\n.TP\n0\ndone\n.TP\n1\nthe work failed: file system, memory, limits\n"
             ".TP\n2\nwhat was asked is wrong: options, the content of a file\n"
             ".SH SEE ALSO\n.BR gsa (1)\n");
}
