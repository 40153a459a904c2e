#include <math.h>
#include <string.h>
#include "graph/system_parts.h"
#include "gsa/optimiser_parts.h"

enum {
    PIECE =
        1 << 15, /* numbers a thread: weights, gradient, moments and mean are 640 KiB of float */
    BRIDGED = 512,
    CONTROL = 4 * sizeof(double)
};

static gsa_backend *backend_of(const gsa_optimiser *o)
{
    return gsa_parameters_backend(o->parameters);
}

static gsa_status backend_failed(gsa_backend *b, gsa_status status, gsa_error *error)
{
    return status == GSA_OK ? GSA_OK : gsa_fail(error, status, "%s: %s", b->name, b->error.text);
}

static gsa_status moment(gsa_optimiser *o, void **at, int64_t bytes, gsa_error *error)
{
    gsa_backend *b = backend_of(o);
    *at = b->alloc(b, bytes > 0 ? bytes : 1);
    if (!*at) return gsa_backend_no_memory(b, "the optimiser's moments", bytes, error);
    return backend_failed(b, b->zero_fill(b, *at, bytes), error);
}

static gsa_status create_planes(gsa_optimiser *o, int moments, gsa_error *error)
{
    gsa_backend *b = backend_of(o);
    const gsa_planes *planes = gsa_parameters_planes(o->parameters);
    gsa_status status = GSA_OK;
    for (int k = 0; k < moments && status == GSA_OK; k++) {
        void **of = k == 0 ? o->first : o->second;
        status = moment(o, (void **)&o->plane[k], planes->learned * b->real_bytes, error);
        for (int i = 0; i < o->count && status == GSA_OK; i++)
            if (planes->place[i] >= 0 && planes->place[i] < planes->learned)
                of[i] = o->plane[k] + planes->place[i] * b->real_bytes;
    }
    return status;
}

static gsa_status create_moments(gsa_optimiser *o, gsa_error *error)
{
    gsa_backend *b = backend_of(o);
    const int adam = o->options.kind != GSA_OPTIMISER_SGD;
    gsa_status status = GSA_OK;
    if (gsa_parameters_planes(o->parameters)->values)
        return create_planes(o, adam ? 2 : o->options.momentum > 0, error);
    for (int i = 0; i < o->count && status == GSA_OK; i++) {
        const gsa_parameter *p = gsa_parameters_at(o->parameters, i);
        const int64_t bytes = p->value.rows * p->value.cols * b->real_bytes;
        if (!gsa_is_learned(p)) continue;
        if (adam || o->options.momentum > 0) status = moment(o, &o->first[i], bytes, error);
        if (adam && status == GSA_OK) status = moment(o, &o->second[i], bytes, error);
        if (status == GSA_OK && p->value.marks) {
            o->moving[i] = gsa_alloc_zero(o->system, (size_t)p->value.rows, 1);
            if (!o->moving[i])
                status = gsa_out_of_memory(error, "the optimiser's rows", p->value.rows);
        }
    }
    return status;
}

static gsa_status create_numbers(gsa_optimiser *o, gsa_error *error)
{
    gsa_backend *b = backend_of(o);
    o->squares = b->alloc(b, sizeof *o->squares);
    o->control = b->alloc(b, CONTROL);
    o->bad = b->alloc(b, sizeof *o->bad);
    return o->squares && o->control && o->bad
               ? GSA_OK
               : gsa_backend_no_memory(b, "the optimiser", CONTROL, error);
}

gsa_optimiser_options gsa_optimiser_default(int kind)
{
    return (gsa_optimiser_options){ .struct_size = sizeof(gsa_optimiser_options),
                                    .kind = kind,
                                    .beta1 = 0.9,
                                    .beta2 = 0.999,
                                    .eps = 1e-8 };
}

#define LEAST_EPS 1e-30 /* is a float that is added to a root of 0 */

static gsa_status check(const gsa_optimiser_options *o, gsa_error *error)
{
    const struct {
        const char *name;
        double value, below;
    } number[] = { { "beta1", o->beta1, 1 },
                   { "beta2", o->beta2, 1 },
                   { "eps", o->eps, INFINITY },
                   { "momentum", o->momentum, 1 },
                   { "weight_decay", o->weight_decay, INFINITY },
                   { "clip", o->clip, INFINITY } };
    if (o->struct_size < sizeof *o)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "the optimiser's options say struct_size = %u, expected at least %zu",
                        o->struct_size, sizeof *o);
    if (o->kind < GSA_OPTIMISER_ADAM || o->kind > GSA_OPTIMISER_SGD)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "%d is no kind of optimiser, expected 0 (Adam), 1 (AdamW) or 2 (SGD)",
                        o->kind);
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        if (!(number[i].value >= 0 && number[i].value < number[i].below))
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "the optimiser's %s = %g, expected 0 <= %s < %g", number[i].name,
                            number[i].value, number[i].name, number[i].below);
    if (o->kind != GSA_OPTIMISER_SGD && o->eps < LEAST_EPS)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "the optimiser's eps = %g, expected at least %g: a value whose gradient "
                        "was always 0 would become NaN",
                        o->eps, LEAST_EPS);
    return GSA_OK;
}

static gsa_status create_parts(gsa_optimiser *o, gsa_error *error)
{
    const size_t count = (size_t)o->count + !o->count;
    o->first = gsa_alloc_zero(o->system, count, sizeof *o->first);
    o->second = gsa_alloc_zero(o->system, count, sizeof *o->second);
    o->moving = gsa_alloc_zero(o->system, count, sizeof *o->moving);
    gsa_status status = o->first && o->second && o->moving
                            ? gsa_parameters_join(o->parameters, error)
                            : gsa_out_of_memory(error, "the optimiser", 3 * o->count * 8);
    if (status == GSA_OK) status = create_numbers(o, error);
    if (status == GSA_OK) status = create_moments(o, error);
    return status == GSA_OK ? gsa_optimiser_resume(o, 0, error) : status;
}

gsa_status gsa_optimiser_create(const gsa_system *system, gsa_parameters *parameters,
                                const gsa_optimiser_options *options, gsa_optimiser **optimiser,
                                gsa_error *error)
{
    *optimiser = NULL;
    if (!parameters || !options)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "an optimiser needs parameters and options, %s NULL",
                        parameters ? "the options are" : "the parameters are");
    gsa_status status = check(options, error);
    gsa_optimiser *o = status == GSA_OK ? gsa_alloc_zero(system, 1, sizeof *o) : NULL;
    if (!o)
        return status == GSA_OK ? gsa_out_of_memory(error, "the optimiser", (int64_t)sizeof *o)
                                : status;
    *o = (gsa_optimiser){ .system = system,
                          .parameters = parameters,
                          .options = *options,
                          .count = gsa_parameters_count(parameters) };
    status = create_parts(o, error);
    if (status == GSA_OK) *optimiser = o;
    else gsa_optimiser_release(o);
    return status;
}

void gsa_optimiser_release(gsa_optimiser *o)
{
    if (!o) return;
    gsa_backend *b = backend_of(o);
    for (int i = 0; i < o->count; i++) {
        if (!o->plane[0] && o->first && o->first[i]) b->free(b, o->first[i]);
        if (!o->plane[0] && o->second && o->second[i]) b->free(b, o->second[i]);
        if (o->moving) gsa_release(o->system, o->moving[i]);
    }
    for (int k = 0; k < 2; k++)
        if (o->plane[k]) b->free(b, o->plane[k]);
    if (o->squares) b->free(b, o->squares);
    if (o->control) b->free(b, o->control);
    if (o->bad) b->free(b, o->bad);
    gsa_release(o->system, o->first);
    gsa_release(o->system, o->second);
    gsa_release(o->system, o->moving);
    gsa_release(o->system, o);
}

int64_t gsa_optimiser_steps(const gsa_optimiser *optimiser)
{
    return optimiser->steps;
}

void *gsa_optimiser_moment(const gsa_optimiser *o, int parameter, int moment)
{
    if (parameter < 0 || parameter >= o->count || moment < 0 || moment > 1) return NULL;
    return (moment ? o->second : o->first)[parameter];
}

static void *moved(void *base, int64_t bytes)
{
    return base ? (char *)base + bytes : NULL;
}

typedef struct stretch { /* of one parameter, or of the planes */
    void *w, *g, *m, *v;
    double decay;
} stretch;

/* `count` numbers, from `first`. */
static gsa_status apply_to(gsa_optimiser *o, const stretch *x, int64_t first, int64_t count,
                           double lr, gsa_error *error)
{
    gsa_backend *b = backend_of(o);
    const gsa_optimiser_options *s = &o->options;
    const int64_t at = first * b->real_bytes;
    void *w = moved(x->w, at), *g = moved(x->g, at), *m = moved(x->m, at);
    const double decay = x->decay, t = (double)o->steps + 1;
    if (s->kind == GSA_OPTIMISER_SGD)
        return backend_failed(b, b->sgd(b, w, m, g, o->control, lr, s->momentum, decay, count),
                              error);
    const gsa_adam adam = { .lr = lr,
                            .beta1 = s->beta1,
                            .beta2 = s->beta2,
                            .eps = s->eps,
                            .correct1 = 1 - pow(s->beta1, t),
                            .correct2 = 1 - pow(s->beta2, t),
                            .decay = s->kind == GSA_OPTIMISER_ADAMW ? decay : 0,
                            .l2 = s->kind == GSA_OPTIMISER_ADAM ? decay : 0 };
    return backend_failed(b, b->adam(b, w, m, moved(x->v, at), g, o->control, &adam, count), error);
}

static gsa_status apply(gsa_optimiser *o, int i, int64_t first, int64_t count, double lr,
                        gsa_error *error)
{
    const gsa_parameter *p = gsa_parameters_at(o->parameters, i);
    const stretch x = { p->value.data, p->value.grad, o->first[i], o->second[i],
                        p->flags & GSA_NO_DECAY ? 0 : o->options.weight_decay };
    return apply_to(o, &x, first, count, lr, error);
}

/* The parameters that a step changes: learned, and with a gradient. */
static int moves(const gsa_parameter *p)
{
    return gsa_is_learned(p) && p->value.grad;
}

/* ---- tables of which a step reads few rows ------------------------------------------------- */

static int not_zero(const void *plane, int64_t row, int64_t bytes)
{
    const uint8_t *at = plane ? (const uint8_t *)plane + row * bytes : NULL;
    for (int64_t i = 0; at && i < bytes; i++)
        if (at[i]) return 1;
    return 0;
}

static void find_moving(gsa_optimiser *o, int i)
{
    const gsa_tensor *x = &gsa_parameters_at(o->parameters, i)->value;
    const int64_t bytes = x->cols * backend_of(o)->real_bytes;
    for (int64_t row = 0; row < x->rows; row++)
        o->moving[i][row] =
            (uint8_t)(not_zero(o->first[i], row, bytes) || not_zero(o->second[i], row, bytes));
}

/* Is a step over the rows that move alone worth more than one over all of them, which threads
 * share? Without decay a row of no gradient and no moments stays as it is to the bit. */
static int moves_by_rows(const gsa_optimiser *o, int i)
{
    const gsa_parameter *p = gsa_parameters_at(o->parameters, i);
    const gsa_marks *marks = p->value.marks;
    const int threads = backend_of(o)->threads;
    int64_t moving = 0;
    if (!o->moving[i] || !o->rows_known || marks->all) return 0;
    if (o->options.weight_decay != 0 && !(p->flags & GSA_NO_DECAY)) return 0;
    for (int64_t row = 0; row < p->value.rows; row++) moving += o->moving[i][row];
    return moving * 2 * (threads > 1 ? threads : 1) < p->value.rows;
}

/* Of `count` numbers from `first` those in rows that move; a gap of BRIDGED numbers is not worth a
 * call. */
static gsa_status apply_rows(gsa_optimiser *o, int i, int64_t first, int64_t count, double lr,
                             gsa_error *error)
{
    const int64_t cols = gsa_parameters_at(o->parameters, i)->value.cols, end = first + count;
    const int64_t last = (end + cols - 1) / cols, bridge = BRIDGED / cols;
    const uint8_t *moving = o->moving[i];
    gsa_status status = GSA_OK;
    for (int64_t row = first / cols; row < last && status == GSA_OK; row++) {
        if (!moving[row]) continue;
        int64_t to = row + 1;
        for (int64_t next = to; next < last && next <= to + bridge; next++)
            if (moving[next]) to = next + 1;
        const int64_t from = row * cols > first ? row * cols : first,
                      stop = to * cols < end ? to * cols : end;
        status = apply(o, i, from, stop - from, lr, error);
        row = to - 1;
    }
    return status;
}

/* Rows that the gradient gave something to move from now on. */
static void note_rows(gsa_optimiser *o, int i)
{
    const gsa_tensor *x = &gsa_parameters_at(o->parameters, i)->value;
    for (int64_t row = 0; o->moving[i] && row < x->rows; row++)
        o->moving[i][row] |= x->marks->row[row];
    if (o->moving[i] && (x->marks->all || !o->rows_known)) memset(o->moving[i], 1, (size_t)x->rows);
}

/* Pieces of the gradient without marked rows add nothing to the sum; PIECE is a multiple of the
 * chunks that backends add up, so that the sum of the others has the same bits. */
static gsa_status sum_squares(gsa_optimiser *o, const gsa_tensor *x)
{
    gsa_backend *b = backend_of(o);
    const int64_t count = x->rows * x->cols;
    gsa_status status = GSA_OK;
    if (!x->marks || x->marks->all) return b->sum_squares(b, o->squares, x->grad, 1, count);
    for (int64_t first = 0, row = 0, to; first < count && status == GSA_OK; first = to) {
        to = first + PIECE < count ? first + PIECE : count;
        int any = 0;
        for (row = first / x->cols; row * x->cols < to; row++) any |= x->marks->row[row];
        if (any)
            status =
                b->sum_squares(b, o->squares, moved(x->grad, first * b->real_bytes), 1, to - first);
    }
    return status;
}

static gsa_status measure(gsa_optimiser *o, gsa_error *error)
{
    gsa_backend *b = backend_of(o);
    const gsa_planes *planes = gsa_parameters_planes(o->parameters);
    gsa_status status = planes->values
                            ? b->sum_squares(b, o->squares, planes->gradients, 0, planes->learned)
                            : b->zero_fill(b, o->squares, sizeof *o->squares);
    for (int i = 0; i < o->count && status == GSA_OK && !planes->values; i++) {
        const gsa_parameter *p = gsa_parameters_at(o->parameters, i);
        if (moves(p)) status = sum_squares(o, &p->value);
    }
    if (status == GSA_OK)
        status = b->clip(b, o->control, o->squares, o->options.clip, !b->shares_host_memory);
    if (status == GSA_OK && !b->shares_host_memory && o->mean)
        status = b->clip(b, o->control + 2, o->squares, 0, 1);
    return backend_failed(b, status, error);
}

gsa_status gsa_optimiser_resume(gsa_optimiser *o, int64_t steps, gsa_error *error)
{
    gsa_backend *b = backend_of(o);
    o->steps = steps, o->rows_known = 0;
    return backend_failed(b, b->zero_fill(b, o->control, CONTROL), error);
}

static gsa_status follow(gsa_optimiser *o, int i, int64_t first, int64_t count, gsa_error *error)
{
    return o->mean ? gsa_running_mean_piece(o->mean, i, first, count, o->steps + 1, error) : GSA_OK;
}

/* A parameter, and its running mean: by pieces that stay in the caches of the threads, where there
 * is a mean to follow. */
static gsa_status advance(gsa_optimiser *o, int i, double lr, gsa_error *error)
{
    const gsa_backend *b = backend_of(o);
    const gsa_parameter *p = gsa_parameters_at(o->parameters, i);
    const int64_t count = p->value.rows * p->value.cols;
    const int64_t most =
        o->mean && o->mean->mean ? PIECE * (int64_t)(b->threads > 0 ? b->threads : 1) : count;
    gsa_status status = GSA_OK;
    if (moves(p)) note_rows(o, i);
    const int by_rows = moves(p) && moves_by_rows(o, i);
    for (int64_t first = 0; first < count && status == GSA_OK; first += most) {
        const int64_t piece = count - first < most ? count - first : most;
        if (moves(p))
            status = by_rows ? apply_rows(o, i, first, piece, lr, error)
                             : apply(o, i, first, piece, lr, error);
        if (status == GSA_OK) status = follow(o, i, first, piece, error);
    }
    if (moves(p) && o->moving[i] && !o->rows_known) find_moving(o, i);
    return status;
}

/* On a device all is queued before the norm is known: one that is not finite changes nothing
 * (backend.h), the means included. */
static gsa_status queue_all(gsa_optimiser *o, double lr, double *norm, gsa_error *error)
{
    gsa_backend *b = backend_of(o);
    const gsa_planes *planes = gsa_parameters_planes(o->parameters);
    stretch x = { planes->values, planes->gradients, o->plane[0], o->plane[1],
                  o->options.weight_decay };
    const int64_t decayed = x.decay == 0 ? 0 : planes->decayed; /* without: all at once */
    gsa_status status = decayed == 0 ? GSA_OK : apply_to(o, &x, 0, decayed, lr, error);
    x.decay = 0;
    if (status == GSA_OK && planes->learned > decayed)
        status = apply_to(o, &x, decayed, planes->learned - decayed, lr, error);
    if (status == GSA_OK && o->mean)
        status = gsa_running_mean_gated(o->mean, o->steps + 1, o->control + 2, error);
    if (status != GSA_OK || !norm) return status;
    return backend_failed(b, b->download(b, norm, o->control, sizeof *norm), error);
}

/* What is read at once is told at once: nothing has to be held back after it. */
static gsa_status step_of_device(gsa_optimiser *o, double lr, double *norm, gsa_error *error)
{
    const gsa_status status = queue_all(o, lr, norm, error);
    if (status != GSA_OK) return status;
    if (norm && !isfinite(*norm)) return gsa_optimiser_resume(o, o->steps, error);
    o->steps++;
    return GSA_OK;
}

gsa_status gsa_optimiser_step(gsa_optimiser *o, double lr, double *norm, gsa_error *error)
{
    gsa_backend *b = backend_of(o);
    double own;
    gsa_status status = measure(o, error);
    if (status != GSA_OK) return status;
    if (!b->shares_host_memory) return step_of_device(o, lr, norm, error);
    if (!norm) norm = &own;
    status = backend_failed(b, b->download(b, norm, o->control, sizeof *norm), error);
    for (int i = 0; i < o->count && status == GSA_OK && isfinite(*norm); i++)
        status = advance(o, i, lr, error);
    if (status == GSA_OK && isfinite(*norm)) o->rows_known = 1, o->steps++;
    return status;
}

gsa_status gsa_optimiser_blame(gsa_optimiser *o, int64_t step, double loss, double norm,
                               gsa_error *error)
{
    gsa_backend *b = backend_of(o);
    for (int part = 0; part < 2; part++) {
        for (int i = 0; i < o->count; i++) {
            const gsa_parameter *p = gsa_parameters_at(o->parameters, i);
            const void *at = part == 0 ? p->value.data : p->value.grad;
            int64_t bad = 0;
            if (!at) continue;
            gsa_status status = b->count_bad(b, o->bad, at, p->value.rows * p->value.cols);
            if (status == GSA_OK) status = b->download(b, &bad, o->bad, sizeof bad);
            if (status != GSA_OK) return backend_failed(b, status, error);
            if (bad > 0)
                return gsa_fail(error, GSA_ERR_NUMBER,
                                "step %lld: the %s of '%s' holds %lld numbers that are not finite "
                                "(loss %g, gradient norm %g); "
                                "nothing was applied",
                                (long long)step, part == 0 ? "value" : "gradient", p->name,
                                (long long)bad, gsa_shown(loss), gsa_shown(norm));
        }
    }
    return gsa_fail(error, GSA_ERR_NUMBER,
                    "step %lld: the loss is %g and the gradient's norm %g; nothing was applied",
                    (long long)step, gsa_shown(loss), gsa_shown(norm));
}
