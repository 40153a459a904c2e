/* The fragments of docs/models.md, each in a function that has what the page leaves to the reader.
 * install.sh compiles it with the installed headers; nothing of it is run. */
#include <gsa/model.h>

void encoder_and_decoder(const gsa_system *system, const gsa_registry *registry,
                         gsa_parameters *parameters, gsa_tape *tape, gsa_cache *cache,
                         gsa_input *input, gsa_stack_spec encoder, gsa_stack_spec decoder,
                         gsa_settings settings, int32_t n, int32_t *source_length,
                         int32_t *target_length, int32_t *number, int32_t *source_ids,
                         int32_t *target_ids, uint32_t seed, uint32_t step, gsa_readout *readouts,
                         gsa_error error);
int pair_of_sentences(void);

void encoder_and_decoder(const gsa_system *system, const gsa_registry *registry,
                         gsa_parameters *parameters, gsa_tape *tape, gsa_cache *cache,
                         gsa_input *input, gsa_stack_spec encoder, gsa_stack_spec decoder,
                         gsa_settings settings, int32_t n, int32_t *source_length,
                         int32_t *target_length, int32_t *number, int32_t *source_ids,
                         int32_t *target_ids, uint32_t seed, uint32_t step, gsa_readout *readouts,
                         gsa_error error)
{
    gsa_model *model;
    gsa_model_batch *batch;
    gsa_tensor *rows[2];
#include "models-1.inc"
}

int pair_of_sentences(void)
{
#include "models-2.inc"
    return (int)(sizeof passes / sizeof *passes);
}
