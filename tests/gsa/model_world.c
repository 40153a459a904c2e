#include "model_world.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

gsa_settings small_settings(void)
{
    gsa_settings s = gsa_settings_default();
    s.hidden = 6, s.heads = 2, s.head_dim = 4, s.ffn = 10, s.activation = GSA_GELU;
    return s;
}

world world_open(const gsa_system *system, int real)
{
    world w = { .b = bench_open(system, real), .system = system, .settings = small_settings() };
    MUST(&w.b, gsa_registry_create(system, &w.registry, &w.b.error));
    MUST(&w.b, gsa_cache_create(system, 1 << 20, &w.cache, &w.b.error));
    return w;
}

void world_close(world *w)
{
    gsa_model_batch_release(w->batch);
    gsa_model_release(w->model);
    gsa_cache_release(w->cache);
    gsa_registry_release(w->registry);
    bench_close(&w->b);
}

gsa_status world_try(world *w, const picture *p)
{
    gsa_model_stack stacks[WORLD_MOST];
    gsa_stack_spec specs[WORLD_MOST] = { 0 };
    gsa_settings settings[WORLD_MOST];
    gsa_model_options o = { .sequences = p->sequences, .stacks = stacks, .passes = p->passes };
    gsa_status status = GSA_OK;
    while (p->sequences[o.n_sequences]) o.n_sequences++;
    while (p->passes[o.n_passes].stack || p->passes[o.n_passes].name) o.n_passes++;
    for (; p->stacks[o.n_stacks].spec && status == GSA_OK; o.n_stacks++) {
        const int s = o.n_stacks;
        const picture_stack *from = &p->stacks[s];
        settings[s] = w->settings;
        if (from->hidden) settings[s].hidden = from->hidden;
        status = gsa_spec_parse(w->system, from->spec, &specs[s], &w->b.error);
        stacks[s] = (gsa_model_stack){ from->name,  &specs[s],  &settings[s],
                                       from->reads, from->taps, from->n_taps };
    }
    if (status == GSA_OK)
        status =
            gsa_model_create(w->system, w->registry, &o, w->b.parameters, &w->model, &w->b.error);
    for (int s = 0; s < o.n_stacks; s++) gsa_spec_release(&specs[s]);
    return status;
}

void world_make(world *w, const picture *p, const int64_t *tokens)
{
    MUST(&w->b, world_try(w, p));
    MUST(&w->b, gsa_model_batch_create(w->model, &w->batch, &w->b.error));
    for (int s = 0; p->sequences[s]; s++) {
        char name[64];
        snprintf(name, sizeof name, "rows.%s", p->sequences[s]);
        MUST(&w->b, gsa_parameters_add(w->b.parameters, name, tokens[s] ? tokens[s] : 1,
                                       w->settings.hidden, GSA_INIT_NORMAL, 1, 0, &w->rows[s],
                                       &w->b.error));
    }
}

void world_run(world *w, const gsa_model_sequence *sequences, int training, gsa_readout *out)
{
    gsa_tensor *rows[WORLD_MOST] = { 0 };
    MUST(&w->b, gsa_model_batch_build(w->batch, w->cache, NULL, sequences, &w->b.error));
    gsa_tape_reset(w->b.tape, training, 3, 5);
    for (int s = 0; s < gsa_model_sequences(w->model); s++)
        rows[s] = gsa_op_view(w->b.tape, &w->rows[s]->value, 0,
                              sum_of(sequences[s].length, sequences[s].count));
    gsa_model_forward(w->model, w->b.tape, w->batch, rows, out);
    MUST(&w->b, gsa_tape_status(w->b.tape, &w->b.error));
}

gsa_tensor *world_loss(world *w, gsa_tensor *const *x, int count)
{
    gsa_tensor *sum = NULL;
    for (int i = 0; i < count; i++) {
        if (!x[i]) continue;
        const int64_t values = x[i]->rows * x[i]->cols;
        double *target = malloc((size_t)(values + 1) * sizeof *target);
        for (int64_t j = 0; j < values; j++) target[j] = sin(1.7 * (double)j + i);
        gsa_tensor *t = gsa_tape_constant(w->b.tape, target, GSA_F64, x[i]->rows, x[i]->cols);
        gsa_tensor *loss = gsa_op_square_error(w->b.tape, x[i], t, 0.5);
        sum = sum ? gsa_op_add(w->b.tape, sum, loss) : loss;
        free(target);
    }
    return sum;
}

void world_backward(world *w, gsa_tensor *loss)
{
    MUST(&w->b, gsa_parameters_zero_gradients(w->b.parameters, &w->b.error));
    MUST(&w->b, gsa_tape_backward(w->b.tape, loss, &w->b.error));
}

int64_t world_read(world *w, const gsa_tensor *x, int gradient, double *out)
{
    ck_assert(x != NULL && x->rows * x->cols <= WORLD_TOKENS * 6);
    MUST(&w->b, gsa_tensor_read(w->b.backend, x, gradient, out, &w->b.error));
    return x->rows * x->cols;
}

double *world_gradients(world *w, int64_t *count)
{
    gsa_parameters *ps = w->b.parameters;
    double *out = malloc((size_t)(gsa_parameters_total(ps) + 1) * sizeof *out);
    *count = 0;
    for (int p = 0; p < gsa_parameters_count(ps); p++) {
        const gsa_tensor *x = &gsa_parameters_at(ps, p)->value;
        MUST(&w->b, gsa_tensor_read(w->b.backend, x, 1, out + *count, &w->b.error));
        *count += x->rows * x->cols;
    }
    return out;
}

void world_set(world *w, gsa_tensor *x, uint64_t seed)
{
    double values[WORLD_TOKENS * 6];
    gsa_dice dice = { seed };
    ck_assert(x->rows * x->cols <= WORLD_TOKENS * 6);
    for (int64_t i = 0; i < x->rows * x->cols; i++) values[i] = gsa_normal(&dice);
    MUST(&w->b, gsa_tensor_write(w->b.backend, x, values, &w->b.error));
}

int64_t sum_of(const int32_t *length, int32_t count)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < count; i++) sum += length[i];
    return sum;
}

picture translator(const char *encoder, const char *decoder)
{
    return (
        picture){ .sequences = { "source", "target" },
                  .stacks = { { .name = "encoder", .spec = encoder },
                              { .name = "decoder", .spec = decoder, .reads = GSA_READ_SEQUENCE } },
                  .passes = { { .stack = "encoder", .sequence = "source" },
                              { .stack = "decoder", .sequence = "target", .memory = "encoder" } } };
}
