/* local_tokens.h - the tokens that a rank has of examples whose rows are spread over ranks. Not
 * installed. */
#ifndef GSA_LOCAL_TOKENS_H
#define GSA_LOCAL_TOKENS_H
#include "tape.h"

typedef struct gsa_local_tokens { /* of the last build, in the order of the input rows */
    int64_t count;
    const int32_t *token;           /* [count] its place among the tokens of all examples */
    const uint8_t *ghost;           /* [count] 1: another rank owns it, and has its target */
    const int32_t *example, *place; /* [count] */
} gsa_local_tokens;

struct gsa_input;
/* gsa_input_forward_typed of these tokens alone. */
gsa_tensor *gsa_input_forward_local(const struct gsa_input *input, gsa_tape *tape,
                                    const int32_t *ids, const int32_t *type, gsa_tensor *features,
                                    const gsa_local_tokens *local, int32_t count);

#endif
