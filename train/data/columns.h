/* columns.h - which column of a line holds what: "label,-,text", where - is passed over. */
#ifndef GSA_COLUMNS_H
#define GSA_COLUMNS_H
#include "graph/system.h"
#include "graph/topology.h"
#include "topologies/words.h"

enum { GSA_COLUMNS = 64, GSA_COLUMN_PASSED = -1 };

typedef struct gsa_columns {
    int32_t role[GSA_COLUMNS], count; /* role: index of a name, or GSA_COLUMN_PASSED */
} gsa_columns;

/* data.side: columns that are next to the tokens, with names by which patterns request them. */
enum { GSA_BESIDE = 8 };
typedef struct gsa_sides {
    int32_t count, column[GSA_BESIDE]; /* 1 the first, -1 the last */
    char name[GSA_BESIDE][GSA_WORD_LIMIT + 1];
} gsa_sides;
/* "head:7,type:-1"; "" is none. */
gsa_status gsa_sides_read(const char *text, gsa_sides *sides, gsa_error *error);

/* The parts of a line between `separator`s; their number, or -1: more than GSA_COLUMNS. */
int gsa_columns_split(const char *at, int64_t bytes, char separator, gsa_slice part[GSA_COLUMNS]);
/* Each role once, or a sentence that starts with `place`. */
gsa_status gsa_columns_check(const gsa_columns *columns, const char *const *names, int roles,
                             const char *place, gsa_error *error);
/* From data.columns. */
gsa_status gsa_columns_read(const char *text, const char *const *names, int roles,
                            gsa_columns *columns, gsa_error *error);

#endif
