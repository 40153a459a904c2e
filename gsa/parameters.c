#include "parameters.h"
#include "graph/slots.h"
#include "kernels/philox.h"
#include <math.h>
#include <string.h>

struct gsa_parameters {
    const gsa_system *system;
    gsa_backend *backend;
    uint32_t seed, without;
    gsa_parameters_allow *allow;
    void *context;
    gsa_parameter **at;
    int count, room;
    int32_t *slot; /* [2 room] by name: a number of `at`, or -1 */
    gsa_planes planes;
};

gsa_status gsa_parameters_create(const gsa_system *system, gsa_backend *backend, uint32_t seed,
                                 gsa_parameters **parameters, gsa_error *error)
{
    gsa_parameters *made = gsa_alloc_zero(system, 1, sizeof *made);
    if (!made) return gsa_out_of_memory(error, "parameters", (int64_t)sizeof *made);
    made->system = system;
    made->backend = backend;
    made->seed = seed;
    *parameters = made;
    return GSA_OK;
}

static int is_apart(const gsa_parameters *ps, const gsa_parameter *p)
{
    return !ps->planes.values || !p->value.grad;
}

static void parameter_free(gsa_parameters *ps, gsa_parameter *p)
{
    if (!p) return;
    const int apart = is_apart(ps, p);
    if (p->value.data && apart) ps->backend->free(ps->backend, p->value.data);
    if (p->value.grad && apart) ps->backend->free(ps->backend, p->value.grad);
    if (p->value.marks) gsa_release(ps->system, p->value.marks->row);
    gsa_release(ps->system, p->value.marks);
    gsa_release(ps->system, p->name);
    gsa_release(ps->system, p);
}

static void planes_free(gsa_parameters *ps, gsa_planes *planes)
{
    if (planes->values) ps->backend->free(ps->backend, planes->values);
    if (planes->gradients) ps->backend->free(ps->backend, planes->gradients);
    gsa_release(ps->system, planes->place);
    *planes = (gsa_planes){ 0 };
}

void gsa_parameters_release(gsa_parameters *parameters)
{
    if (!parameters) return;
    for (int i = 0; i < parameters->count; i++) parameter_free(parameters, parameters->at[i]);
    planes_free(parameters, &parameters->planes);
    gsa_release(parameters->system, parameters->at);
    gsa_release(parameters->system, parameters->slot);
    gsa_release(parameters->system, parameters);
}

void gsa_parameters_without(gsa_parameters *parameters, uint32_t what)
{
    parameters->without = what;
}

uint32_t gsa_parameters_lack(const gsa_parameters *parameters)
{
    return parameters->without;
}

void gsa_parameters_ask(gsa_parameters *parameters, gsa_parameters_allow *allow, void *context)
{
    parameters->allow = allow, parameters->context = context;
}

/* FNV-1a: 64 bits of a name, so that two parameters of one shape do not start equal. */
static uint64_t name_hash(const char *name)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *name; name++) h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return h;
}

static double unit(uint32_t word) /* (0, 1) */
{
    return ((double)word + 0.5) * 0x1p-32;
}

static double draw(const gsa_parameter *p, const uint32_t *word)
{
    const double u = unit(word[0]), both = (double)(p->value.rows + p->value.cols);
    switch (p->init) {
    case GSA_INIT_ONE:
        return 1;
    case GSA_INIT_XAVIER:
        return (2 * u - 1) * sqrt(6 / both);
    case GSA_INIT_NORMAL:
        return p->scale * sqrt(-2 * log(u)) * cos(6.283185307179586476925 * unit(word[1]));
    case GSA_INIT_UNIFORM:
        return (2 * u - 1) * p->scale;
    case GSA_INIT_FAN_IN:
        return (2 * u - 1) / sqrt((double)p->value.cols);
    default:
        return 0;
    }
}

static gsa_status initialise(gsa_parameters *ps, gsa_parameter *p, gsa_error *error)
{
    const int64_t count = p->value.rows * p->value.cols;
    double *values = gsa_alloc(ps->system, (size_t)count, sizeof *values);
    if (!values) return gsa_out_of_memory(error, p->name, count * (int64_t)sizeof *values);
    const uint64_t h = name_hash(p->name);
    for (int64_t i = 0; i < count; i++) {
        const gsa_philox c = { { (uint32_t)i, (uint32_t)(i >> 32), (uint32_t)h,
                                 (uint32_t)(h >> 32) } };
        values[i] = draw(p, gsa_philox4x32(c, ps->seed, 0x70617261u).word);
    }
    if (p->flags & GSA_ZERO_ROW) memset(values, 0, (size_t)p->value.cols * sizeof *values);
    const gsa_status status = gsa_tensor_write(ps->backend, &p->value, values, error);
    gsa_release(ps->system, values);
    return status;
}

static gsa_status mark(gsa_parameters *ps, gsa_parameter *p, gsa_error *error)
{
    p->value.marks = gsa_alloc_zero(ps->system, 1, sizeof *p->value.marks);
    if (p->value.marks) p->value.marks->row = gsa_alloc_zero(ps->system, (size_t)p->value.rows, 1);
    return p->value.marks && p->value.marks->row ? GSA_OK
                                                 : gsa_out_of_memory(error, p->name, p->value.rows);
}

static gsa_status fill_zero(gsa_backend *b, void *at, int64_t bytes, gsa_error *error)
{
    return b->zero_fill(b, at, bytes) == GSA_OK
               ? GSA_OK
               : gsa_fail(error, b->error.status, "%s", b->error.text);
}

static gsa_status build_gradient(gsa_parameters *ps, gsa_parameter *p, int64_t bytes,
                                 gsa_error *error)
{
    gsa_backend *b = ps->backend;
    if (p->flags & GSA_FROZEN || ps->without & GSA_WITHOUT_GRADIENTS) return GSA_OK;
    p->value.wants_grad = 1;
    p->value.grad = b->alloc(b, bytes);
    if (!p->value.grad) return gsa_backend_no_memory(b, p->name, bytes, error);
    const gsa_status status = fill_zero(b, p->value.grad, bytes, error);
    return status == GSA_OK && p->flags & GSA_BY_ROWS && b->shares_host_memory ? mark(ps, p, error)
                                                                               : status;
}

static gsa_status build(gsa_parameters *ps, gsa_parameter *p, const char *name, gsa_error *error)
{
    gsa_backend *b = ps->backend;
    int64_t bytes;
    if (p->value.rows < 1 || p->value.cols < 1 || !gsa_mul(p->value.rows, p->value.cols, &bytes) ||
        !gsa_mul(bytes, b->real_bytes, &bytes))
        return gsa_fail(error, GSA_ERR_LIMIT, "parameter %s: %lld x %lld is no possible shape",
                        name, (long long)p->value.rows, (long long)p->value.cols);
    p->name = gsa_copy_text(ps->system, name);
    if (!p->name) return gsa_out_of_memory(error, name, (int64_t)strlen(name) + 1);
    p->value.data = b->alloc(b, bytes);
    if (!p->value.data) return gsa_backend_no_memory(b, name, bytes, error);
    const gsa_status status = build_gradient(ps, p, bytes, error);
    if (status != GSA_OK) return status;
    return ps->without & GSA_WITHOUT_DRAWING ? fill_zero(b, p->value.data, bytes, error)
                                             : initialise(ps, p, error);
}

/* The slot that holds the name, or the free one where it would be: half of them are free. */
static int32_t *slot_of(const gsa_parameters *ps, const char *name)
{
    const uint64_t last = 2 * (uint64_t)ps->room - 1; /* room: a power of two */
    uint64_t i = gsa_slot_hash(gsa_slot_seed(ps->slot), name, (int64_t)strlen(name)) & last;
    while (ps->slot[i] >= 0 && strcmp(ps->at[ps->slot[i]]->name, name) != 0) i = (i + 1) & last;
    return &ps->slot[i];
}

static gsa_status make_room(gsa_parameters *ps, gsa_error *error)
{
    if (ps->count < ps->room) return GSA_OK;
    const int room = ps->room ? 2 * ps->room : 64;
    gsa_parameter **at = gsa_resize(ps->system, ps->at, (size_t)room, sizeof *at);
    if (at) ps->at = at;
    int32_t *slot = at ? gsa_alloc(ps->system, 2 * (size_t)room, sizeof *slot) : NULL;
    if (!slot) return gsa_out_of_memory(error, "parameters", room * (int64_t)sizeof *at);
    gsa_release(ps->system, ps->slot);
    ps->slot = slot, ps->room = room;
    memset(slot, -1, 2 * (size_t)room * sizeof *slot);
    for (int i = 0; i < ps->count; i++) *slot_of(ps, ps->at[i]->name) = i;
    return GSA_OK;
}

gsa_status gsa_parameters_add(gsa_parameters *parameters, const char *name, int64_t rows,
                              int64_t cols, int init, double scale, int flags,
                              gsa_parameter **parameter, gsa_error *error)
{
    if (parameters->planes.values)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "parameter %s comes after an optimiser was made: add it before", name);
    if (gsa_parameters_find(parameters, name))
        return gsa_fail(error, GSA_ERR_ARGUMENT, "a parameter named %s exists already", name);
    if (parameters->allow) {
        const gsa_status allowed =
            parameters->allow(parameters->context, name, rows, cols, flags, error);
        if (allowed != GSA_OK) return allowed;
    }
    gsa_status status = make_room(parameters, error);
    if (status != GSA_OK) return status;
    gsa_parameter *p = gsa_alloc_zero(parameters->system, 1, sizeof *p);
    if (!p) return gsa_out_of_memory(error, name, (int64_t)sizeof *p);
    p->value.rows = rows;
    p->value.cols = cols;
    p->init = init;
    p->scale = scale;
    p->flags = flags;
    status = build(parameters, p, name, error);
    if (status != GSA_OK) {
        parameter_free(parameters, p);
        return status;
    }
    *slot_of(parameters, name) = parameters->count;
    parameters->at[parameters->count++] = *parameter = p;
    return GSA_OK;
}

int gsa_parameters_count(const gsa_parameters *parameters)
{
    return parameters->count;
}

gsa_parameter *gsa_parameters_at(const gsa_parameters *parameters, int index)
{
    return parameters->at[index];
}

gsa_parameter *gsa_parameters_find(const gsa_parameters *parameters, const char *name)
{
    const int32_t found = parameters->count ? *slot_of(parameters, name) : -1;
    return found < 0 ? NULL : parameters->at[found];
}

int64_t gsa_parameters_total(const gsa_parameters *parameters)
{
    int64_t total = 0;
    for (int i = 0; i < parameters->count; i++)
        total += parameters->at[i]->value.rows * parameters->at[i]->value.cols;
    return total;
}

/* Row by row where it is told which ones hold something. */
static gsa_status zero_gradient(gsa_backend *b, const gsa_tensor *x)
{
    const int64_t bytes = x->cols * b->real_bytes;
    gsa_status status = GSA_OK;
    if (!x->marks || x->marks->all) status = b->zero_fill(b, x->grad, x->rows * bytes);
    for (int64_t row = 0; x->marks && !x->marks->all && row < x->rows && status == GSA_OK; row++)
        if (x->marks->row[row]) status = b->zero_fill(b, (char *)x->grad + row * bytes, bytes);
    if (x->marks && status == GSA_OK) {
        memset(x->marks->row, 0, (size_t)x->rows);
        x->marks->all = 0;
    }
    return status;
}

gsa_status gsa_parameters_zero_gradients(gsa_parameters *parameters, gsa_error *error)
{
    gsa_backend *b = parameters->backend;
    const gsa_planes *planes = &parameters->planes;
    if (planes->values)
        return fill_zero(b, planes->gradients, planes->total * b->real_bytes, error);
    for (int i = 0; i < parameters->count; i++) {
        const gsa_tensor *x = &parameters->at[i]->value;
        if (x->grad && zero_gradient(b, x) != GSA_OK)
            return gsa_fail(error, b->error.status, "%s: %s", parameters->at[i]->name,
                            b->error.text);
    }
    return GSA_OK;
}

gsa_backend *gsa_parameters_backend(const gsa_parameters *parameters)
{
    return parameters->backend;
}

/* ---- planes -------------------------------------------------------------------------------- */
static int stretch_of(const gsa_parameter *p)
{
    return !gsa_is_learned(p) ? 2 : p->flags & GSA_NO_DECAY ? 1 : 0;
}

static void place_all(const gsa_parameters *ps, gsa_planes *planes)
{
    int64_t *const ends[] = { &planes->decayed, &planes->learned, &planes->total };
    int64_t at = 0;
    for (int stretch = 0; stretch < 3; stretch++) {
        for (int i = 0; i < ps->count; i++) {
            const gsa_parameter *p = ps->at[i];
            if (!p->value.grad) planes->place[i] = -1;
            if (!p->value.grad || stretch_of(p) != stretch) continue;
            planes->place[i] = at;
            at += (p->value.rows * p->value.cols + GSA_PLANE_LINE - 1) / GSA_PLANE_LINE *
                  GSA_PLANE_LINE;
        }
        *ends[stretch] = at;
    }
}

static gsa_status fill_planes(const gsa_parameters *ps, const gsa_planes *planes)
{
    gsa_backend *b = ps->backend;
    const int64_t bytes = planes->total * b->real_bytes;
    gsa_status status = b->zero_fill(b, planes->values, bytes);
    if (status == GSA_OK) status = b->zero_fill(b, planes->gradients, bytes);
    for (int i = 0; i < ps->count && status == GSA_OK; i++) {
        const gsa_tensor *x = &ps->at[i]->value;
        const int64_t at = planes->place[i] * b->real_bytes;
        if (at < 0) continue;
        status = b->copy(b, planes->values + at, x->data, x->rows * x->cols * b->real_bytes);
        if (status == GSA_OK)
            status = b->copy(b, planes->gradients + at, x->grad, x->rows * x->cols * b->real_bytes);
    }
    return status;
}

static void move_all(gsa_parameters *ps, const gsa_planes *planes)
{
    gsa_backend *b = ps->backend;
    for (int i = 0; i < ps->count; i++) {
        gsa_tensor *x = &ps->at[i]->value;
        if (planes->place[i] < 0) continue;
        b->free(b, x->data);
        b->free(b, x->grad);
        x->data = planes->values + planes->place[i] * b->real_bytes;
        x->grad = planes->gradients + planes->place[i] * b->real_bytes;
    }
    ps->planes = *planes;
}

static gsa_status make_planes(gsa_parameters *ps, gsa_planes *planes, gsa_error *error)
{
    gsa_backend *b = ps->backend;
    planes->place = gsa_alloc_zero(ps->system, (size_t)ps->count, sizeof *planes->place);
    if (!planes->place) return gsa_out_of_memory(error, "parameters", ps->count * 8);
    place_all(ps, planes);
    const int64_t bytes = planes->total * b->real_bytes;
    if (bytes == 0) return GSA_OK;
    planes->values = b->alloc(b, bytes);
    planes->gradients = planes->values ? b->alloc(b, bytes) : NULL;
    if (!planes->gradients) return gsa_backend_no_memory(b, "parameters", bytes, error);
    const gsa_status status = fill_planes(ps, planes);
    return status == GSA_OK ? GSA_OK : gsa_fail(error, status, "%s: %s", b->name, b->error.text);
}

gsa_status gsa_parameters_join(gsa_parameters *parameters, gsa_error *error)
{
    gsa_planes planes = { 0 };
    if (parameters->backend->shares_host_memory || parameters->planes.values) return GSA_OK;
    const gsa_status status = make_planes(parameters, &planes, error);
    if (status != GSA_OK || !planes.values) planes_free(parameters, &planes);
    else move_all(parameters, &planes);
    return status;
}

const gsa_planes *gsa_parameters_planes(const gsa_parameters *parameters)
{
    return &parameters->planes;
}
