/* manual.c - gsa help, gsa help VERB. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "tools/command/verbs.h"

enum { COLUMN = 28, WIDTH = 100 };

/* `text` from the current column on, broken between words before WIDTH; later lines are
 * indented. */
static void write_wrapped(gsa_output *out, const char *text, int column, int indent)
{
    int blank = 0; /* a space is due before the next word on this line */
    while (*text) {
        const int bytes = (int)strcspn(text, " \n");
        if (blank && column + 1 + bytes > WIDTH)
            gsa_output_format(out, "\n%*s", indent, ""), column = indent, blank = 0;
        if (blank) gsa_output_text(out, " "), column++;
        gsa_output_write(out, text, bytes);
        text += bytes, column += bytes, blank = 1;
        if (*text == '\n') gsa_output_format(out, "\n%*s", indent, ""), column = indent, blank = 0;
        text += *text != 0;
    }
    gsa_output_text(out, "\n");
}

/* "  --name value", broken after a | before WIDTH; the column after it. */
static int write_head(gsa_output *out, const gsa_option *option)
{
    const int indent = (int)strlen(option->name) + 5;
    int column = indent;
    gsa_output_format(out, "  --%s ", option->name);
    for (const char *at = option->value; *at;) {
        int bytes = (int)strcspn(at, "|");
        bytes += at[bytes] == '|';
        if (column > indent && column + bytes > WIDTH)
            gsa_output_format(out, "\n%*s", indent, ""), column = indent;
        gsa_output_write(out, at, bytes);
        at += bytes, column += bytes;
    }
    return column;
}

static void write_option(gsa_output *out, const gsa_option *option)
{
    char text[512];
    const char *value = gsa_option_default(option);
    const int ranged = option->type == GSA_OPTION_NUMBER || option->type == GSA_OPTION_NUMBERS;
    int used = snprintf(text, sizeof text, "%s", option->doc);
    if (ranged)
        used += snprintf(text + used, sizeof text - (size_t)used, "; %" PRId64 "..%" PRId64,
                         option->low, option->high);
    if (value) snprintf(text + used, sizeof text - (size_t)used, " [%s]", value);
    const int column = write_head(out, option);
    if (column >= COLUMN - 1) gsa_output_format(out, "\n%*s", COLUMN, "");
    else gsa_output_format(out, "%*s", COLUMN - column, "");
    write_wrapped(out, text, COLUMN, COLUMN);
}

void gsa_write_help(gsa_output *out, const gsa_verb *verb)
{
    gsa_output_format(out, "usage: %s%s%s%s [options]\n\n%s\n\noptions, defaults in brackets:\n",
                      GSA_VERB_CALLED(verb), *verb->operands ? " " : "", verb->operands,
                      verb->summary);
    for (int i = 0; i < verb->n_options; i++) write_option(out, &verb->options[i]);
    static const gsa_option help = { "help", GSA_OPTION_FLAG, "", NULL, NULL, 0, 0, "this text" };
    write_option(out, &help);
    if (*verb->notes) {
        gsa_output_text(out, "\n");
        write_wrapped(out, verb->notes, 0, 0);
    }
    if (verb->more) verb->more(out);
}

void gsa_write_usage(gsa_output *out)
{
    int count;
    const gsa_verb *const *verbs = gsa_verbs(&count);
    gsa_output_text(out, "usage: gsa VERB [operands] [options]\n\nGraph self-attention: attention "
                         "patterns are data.\n\n");
    for (int i = 0; i < count; i++)
        gsa_output_format(out, "  %-12s %s\n", verbs[i]->name, verbs[i]->summary);
    gsa_output_text(out, "\n'gsa help VERB' (or gsa VERB --help) shows every option with its "
                         "default; gsa --version the version.\n"
                         "Results go to stdout, logs to stderr. Exit codes: 0 done (or stopped by "
                         "a first signal, work saved),\n"
                         "1 the work failed, 2 what was asked is wrong, 3 a rank of mpirun failed "
                         "or differs from the others, 75 the device was lost, "
                         "130 and 143 a second SIGINT or SIGTERM.\n");
}
