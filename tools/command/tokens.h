/* tokens.h - a text on the command line, cut into words, characters or bytes. */
#ifndef GSA_TOKENS_H
#define GSA_TOKENS_H
#include "graph/system.h"
#include "graph/topology.h"

typedef struct gsa_tokens {
    const gsa_system *system;
    int32_t count;
    gsa_slice *token; /* [count] into the caller's text: what the topology reads */
    gsa_slice *label; /* [count] what pictures show: the same, or "0xE4" for a byte that is no
                         printable ASCII */
    char *names;      /* where such labels are */
} gsa_tokens;

/* how: "words" (between spaces, tabs and line ends), "chars" (characters other than line ends),
 * "bytes". The text must be UTF-8; sentences call it --option. */
gsa_status gsa_tokens_split(const gsa_system *system, const char *option, const char *text,
                            const char *how, gsa_tokens *tokens, gsa_error *error);
void gsa_tokens_release(gsa_tokens *tokens); /* a zeroed one is fine */

#endif
