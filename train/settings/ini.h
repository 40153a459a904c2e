/* ini.h - a strict reader of INI text: `[section]`, `key = value`, whole-line comments after '#' or
 * ';'. No line is too long, a value holds any character ('#' and ';' too), every message says
 * file:line. Sections and keys match [a-z][a-z0-9_.]*; none is there twice. UTF-8, LF or CRLF. */
#ifndef GSA_INI_H
#define GSA_INI_H
#include "graph/system.h"

typedef struct gsa_ini_entry { /* texts live as long as the gsa_ini */
    const char *section, *key; /* key NULL: the section's own line */
    const char *value;         /* blanks at both ends are cut; may be "" */
    int32_t line, zero;        /* 0: from gsa_ini_set */
} gsa_ini_entry;

typedef struct gsa_ini {
    const gsa_system *system;
    char *path, *bytes; /* the file; entries point into it */
    gsa_ini_entry *entries;
    int32_t *slot; /* [2 * room] */
    int count, room;
    char **copies; /* texts of gsa_ini_set */
    int n_copies;
} gsa_ini;

gsa_status gsa_ini_read(const gsa_system *system, const char *path, gsa_ini *ini, gsa_error *error);
/* "section.key=value": appended, wins over what is; the section ends at the last dot before
 * '='. */
gsa_status gsa_ini_set(gsa_ini *ini, const char *text, gsa_error *error);
void gsa_ini_release(gsa_ini *ini); /* a zeroed one is fine */

/* The last entry of that name, or NULL. */
const gsa_ini_entry *gsa_ini_find(const gsa_ini *ini, const char *section, const char *key);
/* "recipe.ini:12" or "--set train.epochs"; snprintf-like. */
int gsa_ini_place(const gsa_ini *ini, const gsa_ini_entry *entry, char *out, size_t size);

#endif
