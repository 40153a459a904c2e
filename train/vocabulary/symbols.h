/* symbols.h - strings numbered in the order of their first coming, and a table from pairs of such
 * numbers to a number. */
#ifndef GSA_SYMBOLS_H
#define GSA_SYMBOLS_H
#include "graph/system.h"
#include "graph/topology.h"

typedef struct gsa_symbol {
    int64_t at; /* into gsa_symbols.bytes */
    int32_t bytes;
    uint32_t hash;
} gsa_symbol;

typedef struct gsa_symbols {
    const gsa_system *system;
    char *bytes;
    gsa_symbol *symbol; /* [count] */
    int32_t *slot;      /* [slots] a number or -1; at most half full */
    int64_t used, room; /* of bytes */
    int32_t count, symbol_room, slots, zero;
} gsa_symbols;

/* The number of the string `head` followed by `tail`; -1: no memory, or 2^29 strings. Both may be
 * strings of the table itself. */
int32_t gsa_symbols_add(gsa_symbols *symbols, gsa_slice head, gsa_slice tail);
int32_t gsa_symbols_find(const gsa_symbols *symbols, gsa_slice text); /* -1: it is not in */
/* Valid until the next string is added. */
gsa_slice gsa_symbols_text(const gsa_symbols *symbols, int32_t symbol);
void gsa_symbols_clear(gsa_symbols *symbols);   /* forgets the strings, keeps the memory */
void gsa_symbols_release(gsa_symbols *symbols); /* a zeroed one is fine */

typedef struct gsa_couple {
    int32_t left, right, value;
} gsa_couple;

typedef struct gsa_couples {
    const gsa_system *system;
    gsa_couple *slot; /* [slots], left < 0: free; at most half full */
    int32_t count, slots;
} gsa_couples;

/* Where the pair's value is, which is -1 for a pair that is new; valid until the next call.
 * NULL: no memory. */
int32_t *gsa_couples_at(gsa_couples *couples, int32_t left, int32_t right);
int32_t gsa_couples_find(const gsa_couples *couples, int32_t left,
                         int32_t right); /* its value, or -1 */
void gsa_couples_release(gsa_couples *couples);

#endif
