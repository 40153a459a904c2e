/* lexicon.h - what implements the service "gsa.lexicon/1" (graph/lexicon.h says what a file
 * holds and what a match is). */
#ifndef GSA_TOPOLOGY_LEXICON_H
#define GSA_TOPOLOGY_LEXICON_H
#include "graph/lexicon.h"
#include "graph/system.h"

/* Immutable once open; any thread may match. */
gsa_status gsa_lexicon_open(const gsa_system *system, const char *path, int32_t shortest,
                            int32_t longest, gsa_lexicon **lexicon, gsa_error *error);
void gsa_lexicon_close(gsa_lexicon *lexicon); /* NULL does nothing */
int64_t gsa_lexicon_match(const gsa_lexicon *lexicon, const gsa_example *example,
                          gsa_lexicon_found *found, void *context);

typedef struct gsa_lexicon_facts {
    int64_t words;  /* different ones, of the lengths requested */
    int64_t states; /* of the automaton: different beginnings of words, in bytes */
    int64_t bytes;  /* of memory */
} gsa_lexicon_facts;
gsa_lexicon_facts gsa_lexicon_count(const gsa_lexicon *lexicon);

/* The service over a system, which must outlive it. */
gsa_lexicon_service gsa_lexicon_service_of(const gsa_system *system);

#endif
