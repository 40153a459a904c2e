/* look_parts.h - the steps of gsa_look_at, one file each. */
#ifndef GSA_LOOK_PARTS_H
#define GSA_LOOK_PARTS_H
#include "train/data/columns.h"
#include "train/data/text.h"
#include "train/look/look.h"
#include "train/settings/keys.h"

enum {
    GSA_LOOK_ROWS = 2000,
    GSA_LOOK_NUMBERS = 16,
    GSA_LOOK_PLAIN = -1 /* a form that is no format: running text */
};

/* ---- bytes.c: is it text? ------------------------------------------------------------------ */
typedef struct gsa_look_bytes {
    const char *path;
    char *bytes; /* UTF-8 */
    int64_t count;
    int32_t encoding, zero; /* gsa_encoding: utf8, or mixed where some lines are not */
} gsa_look_bytes;
gsa_status gsa_look_read(const gsa_system *system, const char *path, gsa_look_bytes *file,
                         gsa_error *error);

/* ---- form.c: which format? ----------------------------------------------------------------- */
/* A name that promises columns, of a file that was found to be running text. */
gsa_status gsa_look_check_name(const gsa_look_bytes *file, gsa_error *error);
/* gsa_data_format or GSA_LOOK_PLAIN. */
gsa_status gsa_look_form(const gsa_system *system, const gsa_look_bytes *file, int32_t *form,
                         gsa_error *error);

/* ---- table.c: which columns? --------------------------------------------------------------- */
typedef struct gsa_look_table {
    const gsa_system *system;
    int32_t rows, columns, header, pairs; /* pairs: two texts were found */
    char chosen[GSA_LOOK_TEXT];           /* as data.columns */
    char *copy;                           /* of the first records */
    gsa_slice *cell;                      /* [rows, columns] */
    gsa_slice name[GSA_COLUMNS];          /* of columns, where they have any */
    void *objects[GSA_LOOK_ROWS];         /* json_t that cells point into */
    char number[GSA_LOOK_ROWS][GSA_LOOK_NUMBERS][24];
} gsa_look_table;
/* Which columns of a tsv, csv or json file hold labels and texts. task: what is requested, or -1;
 * *task: what it is. */
gsa_status gsa_look_columns(const gsa_system *system, const gsa_look_bytes *file, int32_t form,
                            int32_t *task, gsa_look_table *table, gsa_error *error);
void gsa_look_table_release(gsa_look_table *table);

/* ---- facts.c: how many, how long? ---------------------------------------------------------- */
typedef struct gsa_look_facts {
    int64_t examples, tokens, longest, half,
        most; /* half, most: lengths that 50 % and 95 % of the examples do not exceed */
    int64_t labels, smallest; /* labels, and examples of the rarest */
    int32_t numbers, zero;    /* 1: every label is a number */
    char listed[512];         /* "pos 2010, neg 1990" */
    char rarest[96];          /* its name, to be shown */
} gsa_look_facts;
gsa_status gsa_look_measure(const gsa_text *const *side, int sides, int labelled,
                            gsa_look_facts *facts, gsa_error *error);
/* labels, smallest, numbers, listed and rarest of a text's labels. */
gsa_status gsa_look_tally(const gsa_text *text, gsa_look_facts *facts, gsa_error *error);
/* One label, or nothing but different ones: a sentence. */
gsa_status gsa_look_check_labels(const char *path, const gsa_look_facts *facts, gsa_error *error);
/* How texts are cut: words, punctuated or chars. */
int32_t gsa_look_script(const char *bytes, int64_t count);
/* Tags as <br />, in more than one line of a hundred. */
int gsa_look_has_markup(const char *bytes, int64_t count);

/* ---- choose.c: settings -------------------------------------------------------------------- */
typedef struct gsa_look_found {
    const gsa_look_options *options;
    gsa_look_facts facts;
    const char *kind, *format; /* format: as data.format */
    const char *columns;
    int32_t task, encoding, tokens, header, markup;
    int32_t spans;     /* tagging: tags are spans */
    int32_t single;    /* tagging: tokens are characters */
    int32_t word, tag; /* tagging: columns */
    int64_t hold;
    char stem[GSA_LOOK_TEXT], suffix[2][64]; /* parallel text in two files */
} gsa_look_found;
/* Fills look->value. */
gsa_status gsa_look_choose(const gsa_look_found *found, gsa_look *look, gsa_error *error);
int64_t gsa_look_hold(int64_t examples);

#endif
