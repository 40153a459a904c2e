/* options.h - what the command's verbs are and take. One table a verb: it drives parsing, --help,
 * the man page and completion.
 *
 * Law.  Tables are constants; texts in them are UTF-8 without line ends unless said otherwise.
 *     Parsing keeps pointers into argv, which must outlive the gsa_args. Nothing here prints. */
#ifndef GSA_OPTIONS_H
#define GSA_OPTIONS_H
#include <limits.h>
#include "graph/system.h"

enum gsa_option_type {
    GSA_OPTION_FLAG,    /* --name */
    GSA_OPTION_NUMBER,  /* --name N, low..high */
    GSA_OPTION_NUMBERS, /* --name N,N,..., low..high each */
    GSA_OPTION_TEXT,    /* --name VALUE */
    GSA_OPTION_TEXTS,   /* --name VALUE, as often as one likes */
    GSA_OPTION_OUTPUT,  /* as TEXT: a file or folder that is written; no two name one */
    GSA_OPTION_CHOICE   /* --name a|b|c; b[-x][-y]: b, b-x, b-y and b-x-y */
};

typedef struct gsa_option {
    const char *name;     /* without the dashes */
    int type;             /* gsa_option_type */
    const char *value;    /* what stands for the value in help: "N", "FILE", "SPEC"; of a choice
                             "a|b|c", which is also the check */
    const char *fallback; /* the value when none is given, parsed like one; NULL: the option is
                             absent then */
    const char
        *absent; /* what help shows as default where fallback is NULL: "all cores"; NULL: nothing */
    int64_t low, high;
    const char *doc;
} gsa_option;

typedef struct gsa_args gsa_args;

typedef struct gsa_verb {
    const char *name;
    const char *program;  /* "gsa-inspect": a program of its own; NULL: the verb `name` of gsa */
    const char *summary;  /* one line */
    const char *operands; /* "RECIPE", "[VERB]", "" */
    int least, most;      /* operands that must and may be given */
    int shared;           /* 1: ranks of mpirun share the work */
    const gsa_option *options;
    int n_options;
    const char *notes; /* paragraphs, one a line; "" for none */
    /* What --help shows after the options (the recipe keys), or NULL. */
    void (*more)(gsa_output *out);
    gsa_status (*run)(const gsa_args *args, gsa_error *error);
} gsa_verb;

/* What the name of an unknown option may mean, as the end of a sentence; 0: nothing that is known.
 */
typedef int gsa_option_hint(const gsa_verb *verb, const char *name, char *hint, size_t size);

/* Reads argv[0..count-1], the words after the verb: options in any order, "--name=value" or "--name
 * value", "--" ends them, "-" is an operand. --help is accepted everywhere (gsa_args_help). The
 * sentence names the word, what was expected, the nearest known one, or the hint (NULL: none). */
gsa_status gsa_args_parse(const gsa_system *system, const gsa_verb *verb, gsa_option_hint *hint,
                          char **argv, int count, gsa_args **args, gsa_error *error);
void gsa_args_release(gsa_args *args); /* NULL does nothing */

const gsa_system *gsa_args_system(const gsa_args *args);
int gsa_args_help(const gsa_args *args);
int gsa_args_operands(const gsa_args *args);
const char *gsa_args_operand(const gsa_args *args, int index);

/* How sentences and help call it, for "%s%s": "gsa train", or the program's name. */
#define GSA_VERB_CALLED(verb)                                                                      \
    (verb)->program ? (verb)->program : "gsa ", (verb)->program ? "" : (verb)->name

/* Adds a value after those given to an option that is repeatable; does nothing where the verb has
 * no such option. The text must outlive the gsa_args. */
gsa_status gsa_args_append(gsa_args *args, const char *name, const char *text, gsa_error *error);

/* By the option's name, which must be in the verb's table. `given`: on the command line, not by
 * fallback. */
int gsa_args_given(const gsa_args *args, const char *name);
int gsa_args_flag(const gsa_args *args, const char *name);
const char *gsa_args_text(const gsa_args *args, const char *name); /* NULL: absent */
int64_t gsa_args_number(const gsa_args *args, const char *name, int64_t absent);
const char *const *gsa_args_texts(const gsa_args *args, const char *name,
                                  int *count); /* in order */
const int64_t *gsa_args_numbers(const gsa_args *args, const char *name, int *count);

/* The option names a file whose name has another ending than .svg: GSA_ERR_ARGUMENT; a name without
 * ending and "-" are fine. */
gsa_status gsa_args_svg(const gsa_args *args, const char *name, gsa_error *error);

/* The option's default for people: its fallback, else what `absent` says, else NULL. */
const char *gsa_option_default(const gsa_option *option);
/* Do both write one file or folder, by whatever names? */
int gsa_is_one_output(const gsa_system *system, const char *a, const char *b);
/* Where an output is, through links and descriptors; 0: no file, but a stream or device. */
int gsa_place_of_output(const gsa_system *system, const char *path, char at[PATH_MAX]);
/* "standard output" or "standard error", where it goes to that file, else NULL: a file that is made
 * anew takes the name of it, and what the command prints is lost. */
const char *gsa_stream_to(const gsa_system *system, const char *path);

#endif
