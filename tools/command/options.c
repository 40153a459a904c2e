#define _DEFAULT_SOURCE /* realpath */
#include "tools/command/options.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "graph/system_parts.h"
#include "topologies/words.h"

typedef struct gsa_arg { /* what one option got */
    int given;
    const char **texts; /* every value, in order */
    int n_texts;
    int64_t *numbers; /* GSA_OPTION_NUMBER: one; GSA_OPTION_NUMBERS: all */
    int n_numbers;
} gsa_arg;

struct gsa_args {
    const gsa_system *system;
    const gsa_verb *verb;
    gsa_option_hint *hint; /* or NULL */
    gsa_arg *args;         /* [verb->n_options] */
    const char **operands;
    int n_operands, help;
};

typedef struct gsa_words { /* the words that are still to be read */
    char **argv;
    int count, next;
} gsa_words;

static const char *option_name(const void *context, int index)
{
    const gsa_verb *verb = context;
    return verb->options[index].name;
}

static gsa_status unknown_option(const gsa_verb *verb, gsa_option_hint *hint, const char *name,
                                 gsa_error *error)
{
    char shown[GSA_SHOWN], known[512];
    if (hint && hint(verb, name, known, sizeof known))
        return gsa_fail(error, GSA_ERR_ARGUMENT, "'%s%s' has no option %s: %s",
                        GSA_VERB_CALLED(verb), gsa_word_show(name, shown), known);
    gsa_word_list(known, sizeof known, option_name, verb, verb->n_options, name);
    return gsa_fail(error, GSA_ERR_ARGUMENT, "'%s%s' has no option %s (%s)", GSA_VERB_CALLED(verb),
                    gsa_word_show(name, shown), known);
}

static gsa_status bad_value(const gsa_verb *verb, const gsa_option *option, const char *text,
                            gsa_error *error)
{
    char shown[GSA_SHOWN];
    if (option->type == GSA_OPTION_CHOICE)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "'%s%s --%s' is %s, expected one of %s",
                        GSA_VERB_CALLED(verb), option->name, gsa_word_show(text, shown),
                        option->value);
    return gsa_fail(
        error, GSA_ERR_ARGUMENT, "'%s%s --%s' is %s, expected %s from %" PRId64 " to %" PRId64,
        GSA_VERB_CALLED(verb), option->name, gsa_word_show(text, shown),
        option->type == GSA_OPTION_NUMBERS ? "integers, separated by commas," : "an integer",
        option->low, option->high);
}

/* ---- choices: "a|b[-c][-d]|e"; a choice is a word and others after it, which begin with "-" */
/* Bytes of the word at `at`, 0 at the end of the choice. */
static size_t word_bytes(const char *at)
{
    return *at && *at != '|' ? 1 + strcspn(at + 1, "-[]|") : 0;
}

/* The word after the one at `at`. */
static const char *next_word(const char *at, int *optional)
{
    at += word_bytes(at);
    at += *at == ']';
    *optional = *at == '[';
    return at + *optional;
}

/* 1 when the word is among those of the choice after its first one. */
static int has_word(const char *choice, const char *word)
{
    const size_t bytes = word_bytes(word);
    int optional;
    for (const char *at = next_word(choice, &optional); word_bytes(at);
         at = next_word(at, &optional))
        if (word_bytes(at) == bytes && strncmp(at, word, bytes) == 0) return 1;
    return 0;
}

/* 1 when `text` is the choice: its first word, then the others in any order and each once, those in
 * brackets or not. */
static int is_this(const char *choice, const char *text)
{
    const size_t first = word_bytes(choice);
    int optional;
    if (word_bytes(text) != first || strncmp(choice, text, first) != 0 || strpbrk(text, "[]|"))
        return 0;
    for (const char *word = text + first; *word; word += word_bytes(word))
        if (!has_word(choice, word) || has_word(word, word)) return 0;
    for (const char *at = next_word(choice, &optional); word_bytes(at);
         at = next_word(at, &optional))
        if (!optional && !has_word(text, at)) return 0;
    return 1;
}

/* 1 when `text` is one of "a|b[-c][-d]|e": a, b, b-c, b-d-c and so on. */
static int is_choice(const char *choices, const char *text)
{
    for (const char *at = choices; *at; at += strcspn(at, "|"), at += *at == '|')
        if (is_this(at, text)) return 1;
    return 0;
}

static int read_number(const char *text, const gsa_option *option, int64_t *number,
                       const char **end)
{
    char *stop;
    if (*text != '-' && (*text < '0' || *text > '9')) return 0;
    errno = 0;
    const intmax_t value = strtoimax(text, &stop, 10);
    if (errno || stop == text || value < option->low || value > option->high) return 0;
    *number = (int64_t)value, *end = stop;
    return 1;
}

static gsa_status add_numbers(gsa_args *args, const gsa_option *option, gsa_arg *arg,
                              const char *text, gsa_error *error)
{
    const char *at = text;
    arg->n_numbers = 0; /* the last one given holds */
    for (;;) {
        int64_t *more =
            gsa_resize(args->system, arg->numbers, (size_t)arg->n_numbers + 1, sizeof *more);
        if (!more) return gsa_out_of_memory(error, "options", (int64_t)sizeof *more);
        arg->numbers = more;
        if (!read_number(at, option, &more[arg->n_numbers++], &at)) break;
        if (!*at) return GSA_OK;
        if (*at != ',' || option->type != GSA_OPTION_NUMBERS) break;
        at++;
    }
    return bad_value(args->verb, option, text, error);
}

static gsa_status add_value(gsa_args *args, int index, const char *text, gsa_error *error)
{
    const gsa_option *option = &args->verb->options[index];
    gsa_arg *arg = &args->args[index];
    if (option->type == GSA_OPTION_CHOICE && !is_choice(option->value, text))
        return bad_value(args->verb, option, text, error);
    if (option->type == GSA_OPTION_NUMBER || option->type == GSA_OPTION_NUMBERS) {
        const gsa_status status = add_numbers(args, option, arg, text, error);
        if (status != GSA_OK) return status;
    }
    const char **more =
        gsa_resize(args->system, arg->texts, (size_t)arg->n_texts + 1, sizeof *more);
    if (!more) return gsa_out_of_memory(error, "options", (int64_t)sizeof *more);
    arg->texts = more;
    arg->texts[arg->n_texts++] = text;
    return GSA_OK;
}

static int find_option(const gsa_verb *verb, const char *name, size_t bytes)
{
    for (int i = 0; i < verb->n_options; i++) {
        if (strlen(verb->options[i].name) == bytes &&
            strncmp(verb->options[i].name, name, bytes) == 0)
            return i;
    }
    return -1;
}

/* One "--name", "--name=value" or "--name value"; `word` is what follows the dashes. */
static gsa_status read_option(gsa_args *args, const char *word, gsa_words *words, gsa_error *error)
{
    const gsa_verb *verb = args->verb;
    const size_t bytes = strcspn(word, "=");
    if (strcmp(word, "help") == 0) {
        args->help = 1;
        return GSA_OK;
    }
    const int index = find_option(verb, word, bytes);
    if (index < 0) {
        char name[GSA_WORD_LIMIT + 1] = { 0 };
        memcpy(name, word, bytes < GSA_WORD_LIMIT ? bytes : GSA_WORD_LIMIT);
        return unknown_option(verb, args->hint, name, error);
    }
    const gsa_option *option = &verb->options[index];
    const char *value = word[bytes] == '=' ? word + bytes + 1 : NULL;
    if (option->type == GSA_OPTION_FLAG) {
        args->args[index].given = 1;
        return value ? gsa_fail(error, GSA_ERR_ARGUMENT, "'%s%s --%s' takes no value",
                                GSA_VERB_CALLED(verb), option->name)
                     : GSA_OK;
    }
    if (!value && words->next < words->count) value = words->argv[words->next++];
    if (!value)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "'%s%s --%s' needs a value: %s",
                        GSA_VERB_CALLED(verb), option->name, option->value);
    if (args->args[index].given && option->type != GSA_OPTION_TEXTS)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "'%s%s --%s' is given twice",
                        GSA_VERB_CALLED(verb), option->name);
    if (strcmp(option->name, "set") == 0 && !strchr(value, '=') && words->next < words->count &&
        words->argv[words->next][0] != '-')
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "'%s%s --set' got '%s', expected section.key=value: --set %s=%s",
                        GSA_VERB_CALLED(verb), value, value, words->argv[words->next]);
    args->args[index].given = 1;
    return add_value(args, index, value, error);
}

/* What names a model may have been meant. */
static const char *model_hint(const gsa_verb *verb)
{
    for (int i = 0; i < verb->n_options; i++)
        if (strcmp(verb->options[i].name, "model") == 0)
            return "; a trained model is named by --model DIR";
    return "";
}

static gsa_status add_operand(gsa_args *args, const char *word, gsa_error *error)
{
    const gsa_verb *verb = args->verb;
    char shown[GSA_SHOWN];
    if (args->n_operands == verb->most)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "'%s%s' does not know what to do with %s: usage: %s%s%s%s [options]%s",
                        GSA_VERB_CALLED(verb), gsa_word_show(word, shown), GSA_VERB_CALLED(verb),
                        *verb->operands ? " " : "", verb->operands, model_hint(verb));
    args->operands[args->n_operands++] = word;
    return GSA_OK;
}

static gsa_status read_words(gsa_args *args, gsa_words *words, gsa_error *error)
{
    int ended = 0;
    char shown[GSA_SHOWN];
    gsa_status status = GSA_OK;
    while (status == GSA_OK && words->next < words->count) {
        const char *word = words->argv[words->next++];
        if (!ended && strcmp(word, "--") == 0) ended = 1;
        else if (!ended && strcmp(word, "-h") == 0) args->help = 1;
        else if (!ended && word[0] == '-' && word[1] == '-')
            status = read_option(args, word + 2, words, error);
        else if (!ended && word[0] == '-' && word[1])
            status = gsa_fail(error, GSA_ERR_ARGUMENT,
                              "'%s%s' has no option %s: options are spelled out, see '%s%s --help'",
                              GSA_VERB_CALLED(args->verb), gsa_word_show(word, shown),
                              GSA_VERB_CALLED(args->verb));
        else status = add_operand(args, word, error);
    }
    return status;
}

/* ---- outputs ------------------------------------------------------------------------------- */

/* The path without links, ".", ".." and "//", from the root; what is not there yet stays as it is
 * said. 0: it is too long. */
static int tidy(const char *path, char out[PATH_MAX])
{
    char real[PATH_MAX];
    *out = 0;
    if (*path != '/' && !getcwd(out, PATH_MAX)) return 0;
    for (size_t bytes; *(path += strspn(path, "/")); path += bytes) {
        char *end = out[0] && !out[1] ? out : out + strlen(out), *slash = strrchr(out, '/');
        bytes = strcspn(path, "/");
        if (bytes == 1 && *path == '.') continue;
        if (bytes == 2 && strncmp(path, "..", 2) == 0) {
            if (slash) *slash = 0;
            continue;
        }
        if ((size_t)(end - out) + bytes + 2 > PATH_MAX) return 0;
        *end = '/', memcpy(end + 1, path, bytes), end[bytes + 1] = 0;
        if (realpath(out, real)) strcpy(out, real);
    }
    if (!*out) strcpy(out, "/");
    return 1;
}

typedef struct gsa_place { /* where an output is, through its links */
    char path[PATH_MAX];
    struct stat there; /* st_ino 0: nothing is */
} gsa_place;

/* 1, or 0: no file, but a stream or device, which takes any number. Where the current folder's own
 * path is too long for a system call, the path is what it is called. */
static int place_of(const gsa_system *system, const char *path, gsa_place *place)
{
    char end[PATH_MAX];
    if (strcmp(path, "-") == 0) return 0;
    const int64_t bytes = system->resolve(system->user, path, end, PATH_MAX);
    if (bytes <= 0 && snprintf(end, sizeof end, "%s", path) >= PATH_MAX) return 0;
    if (!tidy(end, place->path) &&
        snprintf(place->path, PATH_MAX, "%s%s", *end == '/' ? "" : "./", end) >= PATH_MAX)
        return 0;
    if (stat(place->path, &place->there) < 0) place->there = (struct stat){ .st_ino = 0 };
    return place->there.st_ino == 0 || S_ISREG(place->there.st_mode) ||
           S_ISDIR(place->there.st_mode);
}

int gsa_place_of_output(const gsa_system *system, const char *path, char at[PATH_MAX])
{
    gsa_place place;
    if (!place_of(system, path, &place)) return 0;
    strcpy(at, place.path);
    return 1;
}

static int is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* One name in one folder, which may be mounted at two places. */
static int is_same_name(const gsa_place *a, const gsa_place *b)
{
    char folder[PATH_MAX];
    const char *const path[] = { a->path, b->path };
    const char *const name[] = { strrchr(a->path, '/'), strrchr(b->path, '/') };
    struct stat there[2];
    if (strcmp(name[0], name[1]) != 0) return 0;
    for (int i = 0; i < 2; i++) {
        snprintf(folder, sizeof folder, "%.*s/", (int)(name[i] - path[i]), path[i]);
        if (stat(folder, &there[i]) < 0) return 0;
    }
    return is_same(&there[0], &there[1]);
}

static int is_one_file(const struct stat *a, const struct stat *b)
{
    return is_same(a, b) && (S_ISDIR(a->st_mode) || (S_ISREG(a->st_mode) && a->st_nlink == 1));
}

/* Is what both write one file or folder? A file with two names is two: each gets its own. */
int gsa_is_one_output(const gsa_system *system, const char *a, const char *b)
{
    gsa_place x, y;
    if (!place_of(system, a, &x) || !place_of(system, b, &y)) return 0;
    return strcmp(x.path, y.path) == 0 || is_same_name(&x, &y) || is_one_file(&x.there, &y.there);
}

const char *gsa_stream_to(const gsa_system *system, const char *path)
{
    return gsa_is_one_output(system, path, "/dev/stdout")   ? "standard output"
           : gsa_is_one_output(system, path, "/dev/stderr") ? "standard error"
                                                            : NULL;
}

static gsa_status check_stream(const gsa_args *args, const gsa_option *option, const char *path,
                               gsa_error *error)
{
    const char *stream = gsa_descriptor_of(path) < 0 ? gsa_stream_to(args->system, path) : NULL;
    if (!stream) return GSA_OK;
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "'%s%s --%s' names '%s', where %s goes: one of the two would be lost",
                    GSA_VERB_CALLED(args->verb), option->name, path, stream);
}

/* Of two outputs that are one file only the last would stay. */
static gsa_status check_outputs(const gsa_args *args, gsa_error *error)
{
    const gsa_verb *verb = args->verb;
    const gsa_option *option = verb->options, *const end = option + verb->n_options;
    for (; option < end; option++) {
        const char *path = gsa_args_text(args, option->name);
        if (option->type != GSA_OPTION_OUTPUT || !path) continue;
        const gsa_status status = check_stream(args, option, path, error);
        if (status != GSA_OK) return status;
        for (const gsa_option *other = option + 1; other < end; other++) {
            const char *second = gsa_args_text(args, other->name);
            if (other->type == GSA_OPTION_OUTPUT && second &&
                gsa_is_one_output(args->system, path, second))
                return gsa_fail(error, GSA_ERR_ARGUMENT,
                                "'%s%s --%s' and '--%s' both name '%s': one of the two would be "
                                "lost",
                                GSA_VERB_CALLED(verb), option->name, other->name, second);
        }
    }
    return GSA_OK;
}

static gsa_status finish(gsa_args *args, gsa_error *error)
{
    const gsa_verb *verb = args->verb;
    if (args->help) return GSA_OK;
    if (args->n_operands < verb->least)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "'%s%s' needs %s: usage: %s%s %s [options]",
                        GSA_VERB_CALLED(verb), verb->operands, GSA_VERB_CALLED(verb),
                        verb->operands);
    gsa_status status = GSA_OK;
    for (int i = 0; i < verb->n_options && status == GSA_OK; i++) {
        if (verb->options[i].fallback && !args->args[i].given)
            status = add_value(args, i, verb->options[i].fallback, error);
    }
    return status == GSA_OK ? check_outputs(args, error) : status;
}

gsa_status gsa_args_parse(const gsa_system *system, const gsa_verb *verb, gsa_option_hint *hint,
                          char **argv, int count, gsa_args **args, gsa_error *error)
{
    gsa_args *made = gsa_alloc_zero(system, 1, sizeof *made);
    *args = NULL;
    if (!made) return gsa_out_of_memory(error, "options", (int64_t)sizeof *made);
    made->system = system, made->verb = verb, made->hint = hint;
    made->args = gsa_alloc_zero(system, (size_t)verb->n_options, sizeof *made->args);
    made->operands = gsa_alloc_zero(system, (size_t)verb->most, sizeof *made->operands);
    gsa_words words = { argv, count, 0 };
    gsa_status status = made->args && made->operands
                            ? read_words(made, &words, error)
                            : gsa_out_of_memory(error, "options", verb->n_options);
    if (status == GSA_OK) status = finish(made, error);
    if (status == GSA_OK) *args = made;
    else gsa_args_release(made);
    return status;
}

void gsa_args_release(gsa_args *args)
{
    if (!args) return;
    for (int i = 0; args->args && i < args->verb->n_options; i++) {
        gsa_release(args->system, args->args[i].texts);
        gsa_release(args->system, args->args[i].numbers);
    }
    gsa_release(args->system, args->args);
    gsa_release(args->system, args->operands);
    gsa_release(args->system, args);
}

const gsa_system *gsa_args_system(const gsa_args *args)
{
    return args->system;
}

int gsa_args_help(const gsa_args *args)
{
    return args->help;
}

int gsa_args_operands(const gsa_args *args)
{
    return args->n_operands;
}

const char *gsa_args_operand(const gsa_args *args, int index)
{
    return args->operands[index];
}

/* A name that is not in the table is a mistake of the verb's author; it reads as an option that
 * nobody gave. */
static const gsa_arg *find_arg(const gsa_args *args, const char *name)
{
    static const gsa_arg none = { 0 };
    const int index = find_option(args->verb, name, strlen(name));
    return index < 0 ? &none : &args->args[index];
}

int gsa_args_given(const gsa_args *args, const char *name)
{
    return find_arg(args, name)->given;
}

int gsa_args_flag(const gsa_args *args, const char *name)
{
    return find_arg(args, name)->given;
}

const char *gsa_args_text(const gsa_args *args, const char *name)
{
    const gsa_arg *arg = find_arg(args, name);
    return arg->n_texts ? arg->texts[arg->n_texts - 1] : NULL;
}

int64_t gsa_args_number(const gsa_args *args, const char *name, int64_t absent)
{
    const gsa_arg *arg = find_arg(args, name);
    return arg->n_numbers ? arg->numbers[0] : absent;
}

const char *const *gsa_args_texts(const gsa_args *args, const char *name, int *count)
{
    const gsa_arg *arg = find_arg(args, name);
    *count = arg->n_texts;
    return arg->texts;
}

const int64_t *gsa_args_numbers(const gsa_args *args, const char *name, int *count)
{
    const gsa_arg *arg = find_arg(args, name);
    *count = arg->n_numbers;
    return arg->numbers;
}

gsa_status gsa_args_append(gsa_args *args, const char *name, const char *text, gsa_error *error)
{
    const int index = find_option(args->verb, name, strlen(name));
    return index < 0 ? GSA_OK : add_value(args, index, text, error);
}

gsa_status gsa_args_svg(const gsa_args *args, const char *name, gsa_error *error)
{
    char shown[GSA_SHOWN];
    const char *path = gsa_args_text(args, name), *slash = path ? strrchr(path, '/') : NULL;
    const char *base = slash ? slash + 1 : path, *end = base ? strrchr(base, '.') : NULL;
    if (!end || end == base || !end[1] || strcmp(end, ".svg") == 0)
        return GSA_OK; /* "..", ".name" have no ending */
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "--%s %s: pictures are SVG, expected a name that ends in .svg", name,
                    gsa_word_show(path, shown));
}

const char *gsa_option_default(const gsa_option *option)
{
    return option->fallback ? option->fallback : option->absent;
}
