/* model_world.h - a model for one test, from a picture of it: sequences with lengths, stacks as
 * text, passes. Each sequence has learned input rows "rows.NAME", so that gradients reach them too.
 * Dies through Check where something cannot be made. */
#ifndef GSA_TEST_MODEL_WORLD_H
#define GSA_TEST_MODEL_WORLD_H
#include "bench.h"
#include "gsa/model.h"
#include "support/faults.h"

enum { WORLD_EXAMPLES = 8, WORLD_TOKENS = 128, WORLD_MOST = 4 };

typedef struct picture_stack {
    const char *name, *spec;
    uint32_t reads;
    int hidden; /* 0: the settings' */
    int taps[2], n_taps;
} picture_stack;

typedef struct picture { /* lists end with NULL; passes with one without stack and name */
    const char *sequences[WORLD_MOST + 1];
    picture_stack stacks[WORLD_MOST + 1];
    gsa_model_pass passes[2 * WORLD_MOST + 1];
} picture;

typedef struct world {
    bench b;
    const gsa_system *system;
    gsa_registry *registry;
    gsa_cache *cache;
    gsa_settings settings;
    gsa_model *model;
    gsa_model_batch *batch;
    gsa_parameter *rows[WORLD_MOST];
} world;

gsa_settings small_settings(void); /* hidden 6, 2 heads of 4, ffn 10, GELU: no kinks */
world world_open(const gsa_system *system, int real);
gsa_status world_try(world *w, const picture *p);
/* Model and batch; rows for sequences of so many tokens. */
void world_make(world *w, const picture *p, const int64_t *tokens);
void world_close(world *w);

/* Builds the batch, resets the tape with (seed 3, step 5) and passes the model from the first of
 * the learned rows. */
void world_run(world *w, const gsa_model_sequence *sequences, int training, gsa_readout *out);
/* sum_i (sin(i) x_i)-like loss over some tensors: every element counts differently. NULL tensors
 * are skipped. */
gsa_tensor *world_loss(world *w, gsa_tensor *const *x, int count);
void world_backward(world *w, gsa_tensor *loss);
/* Values (or the gradient) of x, at most WORLD_TOKENS rows of 6; returns the count. */
int64_t world_read(world *w, const gsa_tensor *x, int gradient, double *out);
/* All parameters' gradients, one after the other, malloc'ed. */
double *world_gradients(world *w, int64_t *count);
void world_set(world *w, gsa_tensor *x, uint64_t seed); /* random normal values */

int64_t sum_of(const int32_t *length, int32_t count);
/* An encoder on `source` and a decoder on `target` that reads it. */
picture translator(const char *encoder, const char *decoder);
#define SOURCE_AND_TARGET(l, m)                                                                    \
    {                                                                                              \
        { GSA_COUNT(l), l, NULL, NULL, NULL, NULL, 0, 0, NULL, 0 },                                \
        {                                                                                          \
            GSA_COUNT(m), m, NULL, NULL, NULL, NULL, 0, 0, NULL, 0                                 \
        }                                                                                          \
    }

#endif
