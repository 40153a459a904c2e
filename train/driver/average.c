#include "train/driver/average.h"
#include "train/driver/optimiser.h"

static int64_t values_of(const gsa_parameter *p)
{
    return p->value.rows * p->value.cols;
}

static gsa_status failed(const gsa_average *a, gsa_status status, gsa_error *error)
{
    return status == GSA_OK
               ? GSA_OK
               : gsa_fail(error, status, "%s: %s", a->backend->name, a->backend->error.text);
}

gsa_status gsa_average_create(const gsa_system *system, gsa_parameters *parameters,
                              gsa_backend *backend, double decay, gsa_average *average,
                              gsa_error *error)
{
    const int count = gsa_parameters_count(parameters);
    *average = (gsa_average){
        .backend = backend, .parameters = parameters, .system = system, .decay = decay
    };
    if (decay <= 0 || count == 0) return GSA_OK;
    average->mean = gsa_alloc_zero(system, (size_t)count, sizeof *average->mean);
    if (!average->mean)
        return gsa_out_of_memory(error, "the mean of the weights", count * (int64_t)sizeof(void *));
    for (int i = 0; i < count; i++) {
        const gsa_parameter *p = gsa_parameters_at(parameters, i);
        const int64_t bytes = values_of(p) * backend->real_bytes;
        if (!gsa_is_learned(p)) continue;
        average->mean[i] = backend->alloc(backend, bytes);
        if (!average->mean[i])
            return gsa_backend_no_memory(backend, "the mean of the weights", bytes, error);
        const gsa_status status = backend->copy(backend, average->mean[i], p->value.data, bytes);
        if (status != GSA_OK) return failed(average, status, error);
    }
    return GSA_OK;
}

void gsa_average_release(gsa_average *average)
{
    for (int i = 0; average->mean && i < gsa_parameters_count(average->parameters); i++)
        if (average->mean[i]) average->backend->free(average->backend, average->mean[i]);
    gsa_release(average->system, average->mean);
    average->mean = NULL;
}

static double decay_at(const gsa_average *average, int64_t t)
{
    const double early = (1 + (double)t) / (10 + (double)t);
    return early < average->decay ? early : average->decay;
}

gsa_status gsa_average_piece(gsa_average *average, int parameter, int64_t first, int64_t count,
                             int64_t t, gsa_error *error)
{
    gsa_backend *b = average->backend;
    const double d = decay_at(average, t);
    if (!average->mean || !average->mean[parameter]) return GSA_OK;
    const char *value = gsa_parameters_at(average->parameters, parameter)->value.data;
    char *mean = (char *)average->mean[parameter] + first * b->real_bytes;
    gsa_status status = b->accumulate(b, mean, mean, d - 1, count);
    if (status == GSA_OK)
        status = b->accumulate(b, mean, value + first * b->real_bytes, 1 - d, count);
    return failed(average, status, error);
}

/* mean += (1 - d) (w - mean), which is a step of SGD: w its gradient, its decay -1, its rate d -
 * 1. */
gsa_status gsa_average_gated(gsa_average *average, int parameter, int64_t count, int64_t t,
                             const double *control, gsa_error *error)
{
    gsa_backend *b = average->backend;
    if (!average->mean || !average->mean[parameter]) return GSA_OK;
    const void *w = gsa_parameters_at(average->parameters, parameter)->value.data;
    return failed(average,
                  b->sgd(b, average->mean[parameter], NULL, w, control, decay_at(average, t) - 1, 0,
                         -1, count),
                  error);
}

gsa_status gsa_average_step(gsa_average *average, int64_t t, gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int i = 0;
         average->mean && i < gsa_parameters_count(average->parameters) && status == GSA_OK; i++)
        status = gsa_average_piece(average, i, 0,
                                   values_of(gsa_parameters_at(average->parameters, i)), t, error);
    return status;
}

void gsa_average_swap(gsa_average *average)
{
    for (int i = 0; average->mean && i < gsa_parameters_count(average->parameters); i++) {
        gsa_parameter *p = gsa_parameters_at(average->parameters, i);
        void *now = p->value.data;
        if (average->mean[i]) p->value.data = average->mean[i], average->mean[i] = now;
    }
}
