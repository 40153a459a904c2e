#include "growing.h"
#include <stdlib.h>
#include <string.h>
#include "odd_topology.h"

extern const gsa_topology GSA_PLUGIN; /* the template, logsparse */

gsa_settings growing_settings(uint64_t seed)
{
    gsa_dice dice = { seed };
    gsa_settings s = gsa_settings_default();
    s.hidden = GROWING_HIDDEN, s.ffn = 8, s.activation = GSA_GELU;
    s.heads = gsa_between(&dice, 0, 1) ? 2 : 3, s.head_dim = 6 / s.heads;
    s.norm = (int32_t)gsa_between(&dice, GSA_NORM_POST, GSA_NORM_PRE);
    s.bias = (int32_t)gsa_between(&dice, 0, 7);
    s.scale = (int32_t)gsa_between(&dice, GSA_SCALE_HEAD, GSA_SCALE_FULL);
    s.dropout_attention = s.dropout_hidden = s.dropout_ffn = 0.5; /* off outside of training */
    return s;
}

/* Zeros and ones would hide a bias or a gain that is left out. */
static void shake(growing *w)
{
    gsa_dice dice = { 11 };
    for (int p = 0; p < gsa_parameters_count(w->b.parameters); p++) {
        gsa_parameter *x = gsa_parameters_at(w->b.parameters, p);
        const int64_t count = x->value.rows * x->value.cols;
        double *values = malloc((size_t)count * sizeof *values);
        for (int64_t i = 0; i < count; i++) values[i] = 0.6 * gsa_normal(&dice);
        MUST(&w->b, gsa_tensor_write(w->b.backend, &x->value, values, &w->b.error));
        free(values);
    }
}

growing growing_open(const gsa_system *system, const char *spec, const gsa_settings *settings,
                     int real, int32_t tokens, int32_t longest)
{
    growing w = { .b = bench_open(system, real), .tokens = tokens };
    gsa_stack_spec parsed;
    gsa_dice dice = { 5 };
    MUST(&w.b, gsa_registry_create(system, &w.registry, &w.b.error));
    MUST(&w.b, gsa_registry_add(w.registry, &odd_topology, &w.b.error));
    MUST(&w.b, gsa_registry_add(w.registry, &GSA_PLUGIN, &w.b.error));
    MUST(&w.b, gsa_cache_create(system, 1 << 24, &w.cache, &w.b.error));
    MUST(&w.b, gsa_spec_parse(system, spec, &parsed, &w.b.error));
    const gsa_stack_options options = { .name = "decoder", .reads = GSA_READ_SEQUENCE };
    MUST(&w.b, gsa_stack_create(system, w.registry, &parsed, settings, &options, w.b.parameters,
                                &w.stack, &w.b.error));
    gsa_spec_release(&parsed);
    MUST(&w.b, gsa_stack_batch_create(w.stack, &w.batch, &w.b.error));
    shake(&w);
    const int64_t count = (int64_t)tokens * settings->hidden;
    w.rows = malloc((size_t)count * sizeof *w.rows),
    w.memory = malloc((size_t)count * sizeof *w.memory);
    for (int64_t i = 0; i < count; i++)
        w.rows[i] = gsa_normal(&dice), w.memory[i] = gsa_normal(&dice);
    const gsa_generation_options grown = { .longest = longest, .cache = w.cache };
    if (longest)
        MUST(&w.b, gsa_generation_create(w.stack, w.b.backend, &grown, &w.generation, &w.b.error));
    return w;
}

void growing_close(growing *w)
{
    gsa_generation_release(w->generation);
    gsa_stack_batch_release(w->batch);
    gsa_stack_release(w->stack);
    gsa_cache_release(w->cache);
    gsa_registry_release(w->registry);
    bench_close(&w->b);
    free(w->rows), free(w->memory);
}

static gsa_tensor *constant(growing *w, const double *values, int64_t rows)
{
    return gsa_tape_constant(w->b.tape, values, GSA_F64, rows, GROWING_HIDDEN);
}

double *growing_at_once(growing *w, int32_t length, int32_t memory)
{
    double *out = malloc((size_t)(length + 1) * GROWING_HIDDEN * sizeof *out);
    const gsa_sequences sequences = { .count = 1,
                                      .length = &length,
                                      .memory_length = &memory,
                                      .group = w->group,
                                      .memory_group = w->memory_group };
    gsa_readout readout;
    MUST(&w->b, gsa_stack_batch_build(w->batch, w->cache, NULL, &sequences, &w->b.error));
    gsa_tape_reset(w->b.tape, 0, 0, 0);
    gsa_stack_forward(w->stack, w->b.tape, w->batch, constant(w, w->rows, length),
                      constant(w, w->memory, memory), &readout);
    MUST(&w->b, gsa_tape_status(w->b.tape, &w->b.error));
    MUST(&w->b, gsa_tensor_read(w->b.backend, readout.sequence, 0, out, &w->b.error));
    return out;
}

void growing_begin(growing *w, int32_t count, const int32_t *memory)
{
    int32_t *length = malloc((size_t)count * sizeof *length);
    int64_t total = 0;
    for (int32_t i = 0; i < count; i++) total += length[i] = memory ? memory[i] : GROWING_MEMORY;
    double *rows = malloc((size_t)(total + 1) * GROWING_HIDDEN * sizeof *rows), *at = rows;
    int32_t *group = malloc((size_t)(total + 1) * sizeof *group), *to = group;
    for (int32_t i = 0; w->memory_group && i < count; to += length[i++])
        memcpy(to, w->memory_group, (size_t)length[i] * sizeof *to);
    for (int32_t i = 0; i < count; at += length[i++] * GROWING_HIDDEN)
        memcpy(at, w->memory, (size_t)length[i] * GROWING_HIDDEN * sizeof *rows);
    gsa_tape_reset(w->b.tape, 0, 0, 0);
    const gsa_generation_memory given = { constant(w, rows, total), length,
                                          w->memory_group ? group : NULL };
    gsa_generation_open(w->generation, w->b.tape, count,
                        gsa_stack_reads_memory(w->stack) ? &given : NULL);
    MUST(&w->b, gsa_tape_status(w->b.tape, &w->b.error));
    free(length), free(rows), free(group);
}

void growing_append(growing *w, const int32_t *first, const int32_t *length, double *out)
{
    const int32_t count = gsa_generation_sequences(w->generation);
    int64_t total = 0;
    for (int32_t i = 0; i < count; i++) total += length[i];
    double *rows = malloc((size_t)(total + 1) * GROWING_HIDDEN * sizeof *rows), *at = rows;
    int32_t *group = malloc((size_t)(total + 1) * sizeof *group), *to = group;
    for (int32_t i = 0; w->group && i < count; to += length[i++])
        memcpy(to, w->group + first[i], (size_t)length[i] * sizeof *to);
    for (int32_t i = 0; i < count; at += length[i++] * GROWING_HIDDEN)
        memcpy(at, w->rows + first[i] * GROWING_HIDDEN,
               (size_t)length[i] * GROWING_HIDDEN * sizeof *rows);
    gsa_tape_reset(w->b.tape, 0, 0, 0);
    gsa_tensor *y = gsa_generation_append(w->generation, w->b.tape, constant(w, rows, total),
                                          length, w->group ? group : NULL);
    MUST(&w->b, gsa_tape_status(w->b.tape, &w->b.error));
    MUST(&w->b, gsa_tensor_read(w->b.backend, y, 0, out, &w->b.error));
    free(rows), free(group);
}
