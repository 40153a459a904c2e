/* input.h - from ids or features to a stack's input rows:
 *   rows = (embedding[id] or features W^T + b) [through a Linear when the embedding's width is not
 *   hidden] x input_scale + type [row's type] + position, then norm and dropout in the order that
 *   settings.input says. Id 0 is a frozen zero row.
 * With `beside` > 0 so many columns made elsewhere are next to the embedding: [embedding[id],
 * columns] W^T + b.
 * The tape's thread uses an input. Errors: GSA_ERR_ARGUMENT (options or settings out of range),
 * GSA_ERR_LIMIT (too many parameters), GSA_ERR_MEMORY.
 *
 * Example:
 *
 *     #include <gsa/context.h>
 *     const int32_t ids[] = { 3, 1, 2 }, length[] = { 2, 1 };
 *     const gsa_input_options words = { "input", 4, 0, 0, 1.0 };
 *     const gsa_settings settings = gsa_settings_default();
 *     gsa_error error;
 *     gsa_context *c = NULL;
 *     gsa_input *input = NULL;
 *     int failed = gsa_context_open(NULL, &c, &error) ||
 *                  gsa_input_create(NULL, &settings, &words, gsa_context_parameters(c), &input,
 *                                   &error);
 *     if (!failed) {
 *         gsa_tape *tape = gsa_context_tape(c);
 *         gsa_tensor *rows = gsa_input_forward(input, tape, ids, NULL, length, 2);
 *         failed = gsa_tape_status(tape, &error) || rows->rows != 3; // [3, hidden]
 *     }
 *     if (failed) puts(error.text);
 *     gsa_input_release(input);
 *     gsa_context_release(c);
 *     return failed;
 *
 */
#ifndef GSA_INPUT_H
#define GSA_INPUT_H
#include "parameters.h"
#include "settings.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Turns ids or numbers of tokens into the rows that a stack reads. Opaque. */
typedef struct gsa_input gsa_input;

/* What an input reads: an embedding of ids, or numbers. */
typedef struct gsa_input_options {
    const char *name;     /* first word of parameter names: "input" */
    int64_t vocabulary;   /* > 0: an embedding of so many rows (row 0 is zero) */
    int32_t width;        /* embedding width (0: hidden), or number of features */
    int32_t frozen;       /* the embedding is not learned */
    double embedding_std; /* initial standard deviation */
    uint32_t site;        /* dropout site, below 16: one number per input of a tape */
    int32_t beside;       /* columns next to the embedding, 0: none */
    int32_t types; /* > 0: a table of so many types of rows (question, passage), which is added */
} gsa_input_options;

/* vocabulary 0: real-valued features of `width` columns. */
gsa_status gsa_input_create(const gsa_system *system, const gsa_settings *settings,
                            const gsa_input_options *options, gsa_parameters *parameters,
                            gsa_input **input, gsa_error *error);
void gsa_input_release(gsa_input *input);
/* Of the parameters that it was made with, which own it; NULL with features. */
gsa_parameter *gsa_input_embedding(const gsa_input *input);

/* ids [tokens] on the host (or NULL with features), features [tokens, width] (with ids: [tokens,
 * next to]) or NULL; length [count] on the host. A sequence longer than position_max with learned
 * positions is a failure that names both. Host arrays must live until the tape's reset. */
gsa_tensor *gsa_input_forward(const gsa_input *input, gsa_tape *tape, const int32_t *ids,
                              gsa_tensor *features, const int32_t *length, int32_t count);
/* Likewise of an input with types; type [tokens] on the host, each below options.types. */
gsa_tensor *gsa_input_forward_typed(const gsa_input *input, gsa_tape *tape, const int32_t *ids,
                                    const int32_t *type, gsa_tensor *features,
                                    const int32_t *length, int32_t count);
/* The same for tokens that come after before[e] others of their example, as in generation. NULL:
 * after none. */
gsa_tensor *gsa_input_append(const gsa_input *input, gsa_tape *tape, const int32_t *ids,
                             gsa_tensor *features, const int32_t *before, const int32_t *length,
                             int32_t count);

#ifdef __cplusplus
}
#endif
#endif
