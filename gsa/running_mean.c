#include "gsa/running_mean.h"

static int64_t values_of(const gsa_parameter *p)
{
    return p->value.rows * p->value.cols;
}

static gsa_status failed(const gsa_running_mean *a, gsa_status status, gsa_error *error)
{
    return status == GSA_OK
               ? GSA_OK
               : gsa_fail(error, status, "%s: %s", a->backend->name, a->backend->error.text);
}

static gsa_status create_plane(gsa_running_mean *a, gsa_error *error)
{
    const gsa_planes *planes = gsa_parameters_planes(a->parameters);
    gsa_backend *b = a->backend;
    const int64_t bytes = planes->learned * b->real_bytes;
    if (bytes == 0) return GSA_OK;
    a->plane = b->alloc(b, bytes);
    if (!a->plane) return gsa_backend_no_memory(b, "the mean of the weights", bytes, error);
    for (int i = 0; i < gsa_parameters_count(a->parameters); i++)
        if (planes->place[i] >= 0 && planes->place[i] < planes->learned)
            a->mean[i] = a->plane + planes->place[i] * b->real_bytes;
    return failed(a, b->copy(b, a->plane, planes->values, bytes), error);
}

gsa_status gsa_running_mean_create(const gsa_system *system, gsa_parameters *parameters,
                                   gsa_backend *backend, double decay, gsa_running_mean *running,
                                   gsa_error *error)
{
    const int count = gsa_parameters_count(parameters);
    *running = (gsa_running_mean){
        .backend = backend, .parameters = parameters, .system = system, .decay = decay
    };
    if (decay <= 0 || count == 0) return GSA_OK;
    running->mean = gsa_alloc_zero(system, (size_t)count, sizeof *running->mean);
    if (!running->mean)
        return gsa_out_of_memory(error, "the mean of the weights", count * (int64_t)sizeof(void *));
    if (gsa_parameters_planes(parameters)->values) return create_plane(running, error);
    for (int i = 0; i < count; i++) {
        const gsa_parameter *p = gsa_parameters_at(parameters, i);
        const int64_t bytes = values_of(p) * backend->real_bytes;
        if (!gsa_is_learned(p)) continue;
        running->mean[i] = backend->alloc(backend, bytes);
        if (!running->mean[i])
            return gsa_backend_no_memory(backend, "the mean of the weights", bytes, error);
        const gsa_status status = backend->copy(backend, running->mean[i], p->value.data, bytes);
        if (status != GSA_OK) return failed(running, status, error);
    }
    return GSA_OK;
}

void gsa_running_mean_release(gsa_running_mean *running)
{
    const int apart = running->mean && !running->plane;
    for (int i = 0; apart && i < gsa_parameters_count(running->parameters); i++)
        if (running->mean[i]) running->backend->free(running->backend, running->mean[i]);
    if (running->plane) running->backend->free(running->backend, running->plane);
    running->plane = NULL;
    gsa_release(running->system, running->mean);
    running->mean = NULL;
}

static double decay_at(const gsa_running_mean *running, int64_t t)
{
    const double early = (1 + (double)t) / (10 + (double)t);
    return early < running->decay ? early : running->decay;
}

gsa_status gsa_running_mean_piece(gsa_running_mean *running, int parameter, int64_t first,
                                  int64_t count, int64_t t, gsa_error *error)
{
    gsa_backend *b = running->backend;
    const double d = decay_at(running, t);
    if (!running->mean || !running->mean[parameter]) return GSA_OK;
    const char *value = gsa_parameters_at(running->parameters, parameter)->value.data;
    char *mean = (char *)running->mean[parameter] + first * b->real_bytes;
    gsa_status status = b->accumulate(b, mean, mean, d - 1, count);
    if (status == GSA_OK)
        status = b->accumulate(b, mean, value + first * b->real_bytes, 1 - d, count);
    return failed(running, status, error);
}

/* mean += (1 - d) (w - mean), which is a step of SGD: w its gradient, its decay -1, its rate d -
 * 1. */
gsa_status gsa_running_mean_gated(gsa_running_mean *running, int64_t t, const double *control,
                                  gsa_error *error)
{
    gsa_backend *b = running->backend;
    const gsa_planes *planes = gsa_parameters_planes(running->parameters);
    if (!running->plane) return GSA_OK;
    return failed(running,
                  b->sgd(b, running->plane, NULL, planes->values, control, decay_at(running, t) - 1,
                         0, -1, planes->learned),
                  error);
}

gsa_status gsa_running_mean_step(gsa_running_mean *running, int64_t t, gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int i = 0;
         running->mean && i < gsa_parameters_count(running->parameters) && status == GSA_OK; i++)
        status = gsa_running_mean_piece(
            running, i, 0, values_of(gsa_parameters_at(running->parameters, i)), t, error);
    return status;
}

void gsa_running_mean_swap(gsa_running_mean *running)
{
    for (int i = 0; running->mean && i < gsa_parameters_count(running->parameters); i++) {
        gsa_parameter *p = gsa_parameters_at(running->parameters, i);
        void *now = p->value.data;
        if (running->mean[i]) p->value.data = running->mean[i], running->mean[i] = now;
    }
}
