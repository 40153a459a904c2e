#include "train/look/look.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "topologies/words.h"
#include "train/data/conll.h"
#include "train/data/pairs.h"
#include "train/data/parallel.h"
#include "train/look/look_parts.h"
#include "train/score/spans.h"

enum { FEWEST = 8 };

static const char *const task_names[] = { [GSA_TASK_MASKED_SUMMATION] = "masked_summation",
                                          [GSA_TASK_TEXT_CLASSIFICATION] = "text_classification",
                                          [GSA_TASK_SENTENCE_PAIRS] = "sentence_pairs",
                                          [GSA_TASK_NODE_CLASSIFICATION] = "node_classification",
                                          [GSA_TASK_TAGGING] = "tagging",
                                          [GSA_TASK_SPAN_EXTRACTION] = "span_extraction",
                                          [GSA_TASK_LANGUAGE_MODELLING] = "language_modelling",
                                          [GSA_TASK_TRANSLATION] = "translation" };

typedef struct looker {
    const gsa_system *system;
    const gsa_look_options *options;
    gsa_look_bytes file;
    gsa_look_table *table;
    gsa_look_found found;
    gsa_look *look;
} looker;

static void say(looker *l, const char *format, ...) GSA_PRINTF(2, 3);
static void say(looker *l, const char *format, ...)
{
    va_list arguments;
    if (l->look->says == GSA_LOOK_SAYS) return;
    va_start(arguments, format);
    vsnprintf(l->look->say[l->look->says++], GSA_LOOK_TEXT, format, arguments);
    va_end(arguments);
}

/* ---- what is said -------------------------------------------------------------------------- */

static const char *shown_format(const looker *l)
{
    static const struct {
        const char *format, *text;
    } known[] = { { "tsv", "columns between tabs" },
                  { "csv", "CSV" },
                  { "json", "JSON, an object a line" },
                  { "snli", "JSON as SNLI has it, an object a line" },
                  { "fasttext", "__label__LABEL text" },
                  { "stsa", "LABEL text" },
                  { "sst", "trees with labels" },
                  { "conll", "CoNLL: a token and its tag a line" },
                  { "conllu", "CoNLL-U" },
                  { "chars", "a character and its tag a line" } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].format, l->found.format) == 0) return known[i].text;
    return l->found.format;
}

static void say_form(looker *l, const char *what)
{
    const gsa_look_found *f = &l->found;
    say(l, "%s: %s%s%s%s%s", l->file.path, what, *f->columns ? ", columns " : "", f->columns,
        f->header ? ", the first line names them" : "",
        f->encoding == GSA_ENCODING_UTF8
            ? ""
            : ", not all UTF-8: lines that are not are read as windows-1252");
    say(l, "task %s%s", task_names[f->task], l->options->task < 0 ? "; another one: --task" : "");
}

static void say_size(looker *l, const char *examples, const char *tokens)
{
    const gsa_look_facts *f = &l->found.facts;
    say(l, "%lld %s, %lld %s: half of them have at most %lld, 95 %% at most %lld, the longest %lld",
        (long long)f->examples, examples, (long long)f->tokens, tokens, (long long)f->half,
        (long long)f->most, (long long)f->longest);
}

static void say_labels(looker *l, const char *what)
{
    const gsa_look_facts *f = &l->found.facts;
    say(l, "%lld %s: %s", (long long)f->labels, what, f->listed);
    if (f->smallest == 1)
        say(l, "note: the label %s has one example: it is trained on, and never held out",
            f->rarest);
    if (f->numbers && f->labels > 20)
        say(l, "note: all %lld labels are numbers: they are learned as names, not as a scale",
            (long long)f->labels);
}

/* What is held out where no file is given for it. */
static gsa_status hold(looker *l, const char *what, int by_label, gsa_error *error)
{
    const int64_t n = l->found.facts.examples;
    if (n < FEWEST)
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s: %lld examples are too few to learn from: %d at least", l->file.path,
                        (long long)n, FEWEST);
    if (l->options->files > 1 && !*l->found.stem) {
        say(l, "development data: %s", l->options->file[1]);
        return GSA_OK;
    }
    l->found.hold = gsa_look_hold(n);
    if (l->found.task == GSA_TASK_TRANSLATION && l->found.hold > 500)
        l->found.hold = 500; /* a beam search each */
    say(l, "development data: %lld of the %s, by a fixed rule%s; or name a second file",
        (long long)l->found.hold, what, by_label ? ", of each label its share" : "");
    return GSA_OK;
}

/* ---- the tasks ----------------------------------------------------------------------------- */

static gsa_text_options text_options(const looker *l, int32_t format)
{
    return (gsa_text_options){ .format = format,
                               .header = l->found.header,
                               .phrase_min = 1,
                               .tokens = l->found.tokens,
                               .encoding = l->found.encoding,
                               .markup = l->found.markup,
                               .empty = GSA_EMPTY_SKIP,
                               .columns = l->found.columns };
}

static const char *units(const looker *l)
{
    return l->found.tokens == GSA_TOKENS_CHARS        ? "characters"
           : l->found.tokens == GSA_TOKENS_PUNCTUATED ? "words and marks"
                                                      : "words";
}

static gsa_status texts(looker *l, int32_t format, gsa_error *error)
{
    gsa_text text = { 0 };
    const gsa_text *sides[] = { &text };
    const gsa_text_options options = text_options(l, format);
    l->found.kind = format == GSA_TEXT_SST                ? "phrases"
                    : l->found.tokens == GSA_TOKENS_CHARS ? "characters"
                                                          : "texts";
    say_form(l, shown_format(l));
    gsa_status status = gsa_text_read(l->system, l->file.path, &options, &text, error);
    if (status != GSA_OK) return status;
    status = gsa_look_measure(sides, 1, 1, &l->found.facts, error);
    if (status == GSA_OK) status = gsa_look_check_labels(l->file.path, &l->found.facts, error);
    if (status == GSA_OK) say_labels(l, "labels"), say_size(l, "texts", units(l));
    if (status == GSA_OK && format == GSA_TEXT_SST && l->options->files < 2)
        status = gsa_fail(error, GSA_ERR_ARGUMENT,
                          "%s: trees are trained on with all their phrases, so none can be held "
                          "out: name a second file with "
                          "development data",
                          l->file.path);
    if (status == GSA_OK) status = hold(l, "texts", 1, error);
    gsa_text_release(&text);
    return status;
}

static gsa_status pairs(looker *l, int32_t format, gsa_error *error)
{
    gsa_pairs read = { .format = 0 };
    const gsa_text *sides[] = { &read.side[0], &read.side[1] };
    if (strcmp(l->found.format, "snli") == 0) format = GSA_TEXT_SNLI;
    const gsa_text_options options = text_options(l, format);
    l->found.kind = "pairs";
    say_form(l, shown_format(l));
    gsa_status status =
        gsa_pairs_read(l->system, l->file.path, &options, l->found.columns, &read, error);
    if (status != GSA_OK) return status;
    status = gsa_look_measure(sides, 2, 1, &l->found.facts, error);
    if (status == GSA_OK) status = gsa_look_check_labels(l->file.path, &l->found.facts, error);
    if (status == GSA_OK) say_labels(l, "labels"), say_size(l, "pairs", units(l));
    if (status == GSA_OK) status = hold(l, "pairs", 1, error);
    gsa_pairs_release(&read);
    return status;
}

/* --columns word,-,tag */
static gsa_status tag_columns(looker *l, gsa_error *error)
{
    static const char *const names[] = { "word", "tag" };
    gsa_columns columns;
    if (!*l->options->columns) return GSA_OK;
    const gsa_status status = gsa_columns_read(l->options->columns, names, 2, &columns, error);
    for (int i = 0; i < columns.count && status == GSA_OK; i++) {
        if (columns.role[i] == 0) l->found.word = i + 1;
        if (columns.role[i] == 1) l->found.tag = i + 1;
    }
    return status;
}

static gsa_status tags(looker *l, int32_t format, gsa_error *error)
{
    gsa_conll c = { 0 };
    gsa_conll_options options = { .format = format == GSA_TEXT_CONLLU  ? GSA_CONLL_U
                                            : format == GSA_TEXT_CHARS ? GSA_CONLL_CHARS
                                                                       : GSA_CONLL_COLUMNS,
                                  .encoding = l->found.encoding };
    gsa_status status = tag_columns(l, error);
    options.word = l->found.word, options.tag = l->found.tag;
    l->found.kind = "tags", l->found.columns = "",
    l->found.format = gsa_conll_format_name(options.format);
    if (status == GSA_OK) status = gsa_conll_read(l->system, l->file.path, &options, &c, error);
    if (status != GSA_OK) return status;
    const int32_t scheme = gsa_scheme_detect(c.tag, c.offset, c.sentences, NULL, NULL);
    const gsa_text sentences = { .system = l->system,
                                 .path = c.path,
                                 .examples = c.sentences,
                                 .tokens = c.tokens,
                                 .offset = c.offset };
    const gsa_text each = {
        .system = l->system, .path = c.path, .examples = c.tokens, .label = c.tag
    };
    const gsa_text *side = &sentences;
    gsa_look_facts of_tags = { 0 };
    int64_t characters = 0;
    for (int64_t i = 0; i < c.tokens; i++)
        characters += c.word[i].bytes > 0 && c.word[i].bytes <= 4;
    for (int64_t i = 0; i < c.tokens; i++) {
        const unsigned char first = c.word[i].bytes > 0 ? (unsigned char)c.word[i].at[0] : 0;
        const int64_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
        characters -= c.word[i].bytes > 0 && c.word[i].bytes <= 4 && c.word[i].bytes != length;
    }
    l->found.single = 10 * characters > 9 * c.tokens, l->found.spans = scheme != GSA_SCHEME_NONE;
    say_form(l, shown_format(l));
    status = gsa_look_measure(&side, 1, 0, &l->found.facts, error);
    if (status == GSA_OK && c.tokens > 0) status = gsa_look_tally(&each, &of_tags, error);
    if (status == GSA_OK && of_tags.labels == 1)
        status = gsa_fail(error, GSA_ERR_FORMAT,
                          "%s: every token has the tag %s: there is nothing to tell apart",
                          l->file.path, of_tags.rarest);
    l->found.facts.labels = of_tags.labels, l->found.facts.smallest = 2;
    memcpy(l->found.facts.listed, of_tags.listed, sizeof of_tags.listed);
    if (status == GSA_OK) {
        say_labels(l, l->found.spans ? "tags of spans" : "plain tags");
        say_size(l, "sentences", l->found.single ? "characters" : "words");
        status = hold(l, "sentences", 0, error);
    }
    gsa_conll_release(&c);
    return status;
}

static gsa_status language(looker *l, gsa_error *error)
{
    int64_t characters = 0;
    for (int64_t i = 0; i < l->file.count; i++)
        characters += ((unsigned char)l->file.bytes[i] & 0xc0) != 0x80;
    l->found.kind = "language", l->found.columns = "",
    l->found.facts = (gsa_look_facts){ .examples = 1, .tokens = characters };
    say(l, "%s: running text, no labels%s", l->file.path,
        l->found.encoding == GSA_ENCODING_UTF8 ? "" : ", not all UTF-8: it is read as bytes");
    say(l, "task %s: each character from those before it%s", task_names[l->found.task],
        l->options->task < 0 ? "; another one: --task" : "");
    if (characters < 1000)
        return gsa_fail(
            error, GSA_ERR_FORMAT,
            "%s: %lld characters of running text are too few to learn from: 1000 at least",
            l->file.path, (long long)characters);
    if (l->options->files > 1)
        say(l, "%lld characters; development data: %s", (long long)characters, l->options->file[1]);
    else
        say(l, "%lld characters; development data: the last tenth; or name a second file",
            (long long)characters);
    return GSA_OK;
}

static gsa_status translation(looker *l, gsa_error *error)
{
    gsa_text side[GSA_SIDES] = { { 0 } };
    const gsa_text *sides[] = { &side[0], &side[1] };
    const int two = *l->found.stem != 0;
    const gsa_parallel_options options = { .suffix = { l->found.suffix[0], l->found.suffix[1] },
                                           .columns = l->found.columns,
                                           .tokens = l->found.tokens };
    l->found.kind = "translation";
    if (l->found.encoding != GSA_ENCODING_UTF8)
        return gsa_fail(
            error, GSA_ERR_FORMAT,
            "%s: not all of it is UTF-8: 'iconv -f CP1252 -t UTF-8 %s >NEW' writes such a file",
            l->file.path, l->file.path);
    if (two) {
        say(l, "%s and %s: parallel text, line by line", l->options->file[0], l->options->file[1]);
        say(l, "task %s, %s into %s%s", task_names[l->found.task], l->found.suffix[0],
            l->found.suffix[1], l->options->task < 0 ? "; another one: --task" : "");
    } else say_form(l, "parallel text between tabs");
    gsa_status status =
        gsa_parallel_read(l->system, two ? l->found.stem : l->file.path, &options, side, error);
    if (status == GSA_OK) status = gsa_look_measure(sides, 2, 0, &l->found.facts, error);
    if (status == GSA_OK) say_size(l, "pairs of sentences", units(l));
    if (status == GSA_OK) status = hold(l, "pairs", 0, error);
    for (int s = 0; s < GSA_SIDES; s++)
        if (side[s].system) gsa_text_release(&side[s]);
    return status;
}

/* ---- which task ---------------------------------------------------------------------------- */

/* PATH.en and PATH.de, but not PATH.train and PATH.dev. */
static int are_parallel(looker *l)
{
    static const char splits[] =
        " .txt .tsv .train .dev .test .val .valid .testa .testb .trn .tst ";
    const gsa_look_options *o = l->options;
    if (o->files != 2) return 0;
    const char *a = o->file[0], *b = o->file[1], *dot[2] = { strrchr(a, '.'), strrchr(b, '.') };
    if (!dot[0] || !dot[1] || dot[0] - a != dot[1] - b || memcmp(a, b, (size_t)(dot[0] - a)) != 0)
        return 0;
    for (int s = 0; s < 2; s++) {
        char ending[40];
        snprintf(ending, sizeof ending, " %.32s ", dot[s]);
        if (strstr(splits, ending)) return 0;
    }
    if (strlen(dot[0]) > 32 || strlen(dot[1]) > 32 || strchr(dot[0], '/') ||
        dot[0] - a >= GSA_LOOK_TEXT)
        return 0;
    snprintf(l->found.stem, sizeof l->found.stem, "%.*s", (int)(dot[0] - a), a);
    for (int s = 0; s < 2; s++)
        snprintf(l->found.suffix[s], sizeof l->found.suffix[s], "%s", dot[s] + 1);
    return 1;
}

static int32_t task_of(int32_t form)
{
    switch (form) {
    case GSA_TEXT_CONLL:
    case GSA_TEXT_CONLLU:
    case GSA_TEXT_CHARS:
        return GSA_TASK_TAGGING;
    case GSA_TEXT_SNLI:
        return GSA_TASK_SENTENCE_PAIRS;
    case GSA_LOOK_PLAIN:
        return GSA_TASK_LANGUAGE_MODELLING;
    default:
        return GSA_TASK_TEXT_CLASSIFICATION;
    }
}

static int has_columns(int32_t form)
{
    return form == GSA_TEXT_TSV || form == GSA_TEXT_CSV || form == GSA_TEXT_JSON;
}

/* Is this one of the columns, or of the fields ("a=question")? */
static int names(const char *columns, const char *role)
{
    for (const char *at = columns; at; at = strchr(at, ','), at += at != NULL) {
        const size_t bytes = strlen(role);
        if (strncmp(at, role, bytes) == 0 &&
            (at[bytes] == ',' || at[bytes] == '=' || at[bytes] == 0))
            return 1;
    }
    return 0;
}

static gsa_status find_columns(looker *l, int32_t form, gsa_error *error)
{
    gsa_look_found *f = &l->found;
    const int32_t asked = f->task;
    gsa_status status = gsa_look_columns(l->system, &l->file, form, &f->task, l->table, error);
    const int own = *l->options->columns != 0;
    if (status != GSA_OK && !own) return status;
    f->columns = own ? l->options->columns : l->table->chosen;
    f->header = l->table->header && (form == GSA_TEXT_TSV || form == GSA_TEXT_CSV);
    if (strcmp(f->columns, "label=gold_label,a=sentence1,b=sentence2") == 0)
        f->format = "snli", f->columns = "";
    if (!own || asked >= 0) return GSA_OK;
    f->task = names(f->columns, "source") && names(f->columns, "target") ? GSA_TASK_TRANSLATION
              : names(f->columns, "a") && names(f->columns, "b")         ? GSA_TASK_SENTENCE_PAIRS
                                                                 : GSA_TASK_TEXT_CLASSIFICATION;
    return GSA_OK;
}

static gsa_status unlike(const looker *l, int32_t form, gsa_error *error)
{
    const int plain = form == GSA_LOOK_PLAIN;
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "%s: task %s cannot be learned from %s; --format says what it is", l->file.path,
                    task_names[l->found.task], plain ? "running text" : shown_format(l));
}

static gsa_status look_on(looker *l, gsa_error *error)
{
    gsa_look_found *f = &l->found;
    int32_t form = l->options->format;
    gsa_status status = GSA_OK;
    if (form == GSA_TEXT_AUTO) status = gsa_look_form(l->system, &l->file, &form, error);
    if (status == GSA_OK && form == GSA_LOOK_PLAIN && f->task < 0)
        status = gsa_look_check_name(&l->file, error);
    if (status != GSA_OK) return status;
    const int parallel = (f->task == GSA_TASK_TRANSLATION ||
                          (f->task < 0 && (form == GSA_LOOK_PLAIN || form == GSA_TEXT_STSA))) &&
                         are_parallel(l);
    if (f->task == GSA_TASK_LANGUAGE_MODELLING) form = GSA_LOOK_PLAIN;
    f->format = form == GSA_LOOK_PLAIN ? "" : gsa_text_format_name(form),
    f->encoding = l->file.encoding;
    f->tokens = gsa_look_script(l->file.bytes, l->file.count);
    f->markup = form != GSA_LOOK_PLAIN && gsa_look_has_markup(l->file.bytes, l->file.count);
    if (parallel) f->task = GSA_TASK_TRANSLATION;
    else if (has_columns(form)) status = find_columns(l, form, error);
    else if (f->task < 0) f->task = task_of(form);
    if (status != GSA_OK) return status;
    if (parallel) return translation(l, error);
    const int tagged = task_of(form) == GSA_TASK_TAGGING;
    switch (f->task) {
    case GSA_TASK_TEXT_CLASSIFICATION:
        return tagged || form == GSA_LOOK_PLAIN || form == GSA_TEXT_SNLI ? unlike(l, form, error)
                                                                         : texts(l, form, error);
    case GSA_TASK_SENTENCE_PAIRS:
        return has_columns(form) || form == GSA_TEXT_SNLI ? pairs(l, form, error)
                                                          : unlike(l, form, error);
    case GSA_TASK_TAGGING:
        return tagged ? tags(l, form, error) : unlike(l, form, error);
    case GSA_TASK_LANGUAGE_MODELLING:
        return language(l, error);
    case GSA_TASK_TRANSLATION:
        return form == GSA_TEXT_TSV ? translation(l, error) : unlike(l, form, error);
    default:
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "task %s has no default: write a recipe (docs/tasks.md)",
                        task_names[f->task]);
    }
}

gsa_status gsa_look_at(const gsa_system *system, const gsa_look_options *options, gsa_look **look,
                       gsa_error *error)
{
    looker l = { .system = system,
                 .options = options,
                 .found = { .options = options, .task = options->task, .columns = "" } };
    l.table = gsa_alloc_zero(system, 1, sizeof *l.table);
    l.look = gsa_alloc_zero(system, 1, sizeof *l.look);
    gsa_status status =
        l.table && l.look ? GSA_OK : gsa_out_of_memory(error, "looking at a file", sizeof *l.table);
    if (status == GSA_OK) status = gsa_look_read(system, options->file[0], &l.file, error);
    if (status == GSA_OK) status = look_on(&l, error);
    if (status == GSA_OK) status = gsa_look_choose(&l.found, l.look, error);
    if (l.table && l.table->system) gsa_look_table_release(l.table);
    gsa_release(system, l.table);
    gsa_release(system, l.file.bytes);
    if (status == GSA_OK) *look = l.look;
    else gsa_release(system, l.look);
    return status;
}
