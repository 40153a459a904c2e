#include "rig.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BAND = 1024, PATTERN = 0xA5 };

static void must(rig *r, int ok)
{
    if (ok) return;
    fprintf(stderr, "rig: %s\n", r->b->error.text);
    abort();
}

static void *host(int64_t count, size_t size)
{
    void *at = calloc((size_t)count + 1, size);
    if (at == NULL) abort();
    return at;
}

void rig_begin(rig *r, gsa_backend *b, uint64_t seed, int fill, const int64_t *shape)
{
    memset(r, 0, sizeof *r);
    r->b = b;
    r->dice.state = seed;
    r->fill = fill;
    r->shape = shape;
}

/* Numbers side by side as a backend keeps them; `at` is aligned for them. */
typedef union words {
    void *at;
    uint8_t *byte;
    int32_t *small;
    int64_t *large;
    float *f;
    double *d;
} words;

static void encode(const rig_tensor *t, const double *values, void *to)
{
    const words x = { to };
    const int64_t n = t->count;
    if (t->type == RIG_BYTE)
        for (int64_t i = 0; i < n; i++) x.byte[i] = (uint8_t)values[i];
    else if (t->type == RIG_INT32)
        for (int64_t i = 0; i < n; i++) x.small[i] = (int32_t)values[i];
    else if (t->type == RIG_INT64)
        for (int64_t i = 0; i < n; i++) x.large[i] = (int64_t)values[i];
    else if (t->bytes == 4)
        for (int64_t i = 0; i < n; i++) x.f[i] = (float)values[i];
    else memcpy(to, values, sizeof *values * (size_t)n);
}

static void decode(const rig_tensor *t, double *values, void *from)
{
    const words x = { from };
    const int64_t n = t->count;
    if (t->type == RIG_BYTE)
        for (int64_t i = 0; i < n; i++) values[i] = x.byte[i];
    else if (t->type == RIG_INT32)
        for (int64_t i = 0; i < n; i++) values[i] = x.small[i];
    else if (t->type == RIG_INT64)
        for (int64_t i = 0; i < n; i++) values[i] = (double)x.large[i];
    else if (t->bytes == 4)
        for (int64_t i = 0; i < n; i++) values[i] = (double)x.f[i];
    else memcpy(values, from, sizeof *values * (size_t)n);
}

static void make_array(rig *r, const rig_tensor *t, rig_array *a)
{
    const int64_t bytes = t->count * t->bytes;
    char *bands = host(bytes + 2 * BAND, 1);
    memset(bands, PATTERN, (size_t)bytes + 2 * BAND);
    a->whole = r->b->alloc(r->b, bytes + 2 * BAND);
    must(r, a->whole != NULL);
    must(r, r->b->upload(r->b, a->whole, bands, bytes + 2 * BAND) == GSA_OK);
    free(bands);
    a->at = a->whole + BAND;
    a->value = host(t->count, sizeof(double));
    a->start = host(t->count, sizeof(double));
    a->want = host(t->count, sizeof(double));
}

/* The starting values as the backend rounds them; `want` starts there, since gradients and in-place
 * ops add. */
static void start_array(rig *r, const rig_tensor *t, rig_array *a)
{
    char *bytes = host(t->count * t->bytes, 1);
    encode(t, a->start, bytes);
    decode(t, a->start, bytes);
    memcpy(a->want, a->start, sizeof(double) * (size_t)t->count);
    memcpy(a->value, a->start, sizeof(double) * (size_t)t->count);
    must(r, r->b->upload(r->b, a->at, bytes, t->count * t->bytes) == GSA_OK);
    free(bytes);
}

static int has_gradient(int role)
{
    return role == RIG_INPUT || role == RIG_OUTPUT || role == RIG_INOUT;
}

static rig_tensor *new_tensor(rig *r, const char *name, int type, int role, int64_t count,
                              int64_t row)
{
    if (r->count == RIG_TENSORS) abort();
    rig_tensor *t = &r->t[r->count++];
    const int bytes = type == RIG_REAL    ? r->b->real_bytes
                      : type == RIG_BYTE  ? 1
                      : type == RIG_INT32 ? 4
                                          : 8;
    *t = (rig_tensor){
        .name = name, .type = type, .role = role, .bytes = bytes, .count = count, .row = row
    };
    make_array(r, t, &t->data);
    return t;
}

static double draw(rig *r, int role, int64_t i, double scale)
{
    const double x = gsa_bell(&r->dice) * scale;
    if (role != RIG_INPUT || r->fill == RIG_RANDOM) return x;
    if (r->fill == RIG_ZEROS) return 0;
    return i == 0 ? 0.7 * scale : 0.25 * scale;
}

int rig_real(rig *r, const char *name, int role, int64_t rows, int64_t cols, double scale)
{
    rig_tensor *t = new_tensor(r, name, RIG_REAL, role, rows * cols, cols > 0 ? cols : 1);
    for (int64_t i = 0; i < t->count; i++)
        t->data.start[i] =
            role == RIG_OUTPUT || role == RIG_KEPT ? NAN : draw(r, role, i % t->row, scale);
    start_array(r, t, &t->data);
    if (has_gradient(role)) {
        make_array(r, t, &t->grad);
        for (int64_t i = 0; i < t->count; i++) t->grad.start[i] = gsa_bell(&r->dice);
        start_array(r, t, &t->grad);
    }
    return r->count - 1;
}

int rig_other(rig *r, const char *name, int type, int role, int64_t count, const double *values)
{
    rig_tensor *t = new_tensor(r, name, type, role, count, count > 0 ? count : 1);
    if (values) memcpy(t->data.start, values, sizeof(double) * (size_t)count);
    start_array(r, t, &t->data);
    return r->count - 1;
}

void rig_set(rig *r, int tensor, int64_t i, double value)
{
    rig_tensor *t = &r->t[tensor];
    t->data.start[i] = value;
    start_array(r, t, &t->data);
}

void rig_soil(rig *r, int tensor)
{
    const rig_tensor *t = &r->t[tensor];
    char *soil = malloc((size_t)(t->count * t->bytes) + 1);
    if (!soil) abort();
    memset(soil, 0xff, (size_t)(t->count * t->bytes)); /* a NaN in float and in double */
    r->b->upload(r->b, t->grad.at, soil, t->count * t->bytes);
    free(soil);
}

void rig_start_at_zeros(rig *r, int tensor)
{
    memset(r->t[tensor].grad.want, 0, sizeof(double) * (size_t)r->t[tensor].count);
}

int rig_find(const rig *r, const char *name)
{
    for (int i = 0; i < r->count; i++)
        if (strcmp(r->t[i].name, name) == 0) return i;
    return -1;
}

void rig_edges(rig *r, edges_wish wish)
{
    edges_random(&r->maker, &r->dice, wish);
    rig_graph(r);
}

void rig_graph(rig *r)
{
    r->device = edges_upload(r->b, &r->maker.view);
    r->has_edges = 1;
}

/* Rows belong to examples of three rows each; the examples have numbers that are not their
 * places. */
void rig_dropout(rig *r, double p, int64_t rows)
{
    const int64_t examples = r->has_edges ? r->maker.view.examples : rows / 3 + 1;
    double *id = host(examples, sizeof *id), *example = host(rows, sizeof *example),
           *local = host(rows, sizeof *local);
    for (int64_t e = 0; e < examples; e++) id[e] = (double)(1000 + 7 * e);
    for (int64_t i = 0; i < rows; i++) example[i] = (double)(i / 3), local[i] = (double)(i % 3);
    const int ids = rig_other(r, "example_id", RIG_INT32, RIG_CONST, examples, id);
    r->dropout = (gsa_dropout){ .p = p, .seed = 11, .step = 5, .site = 3, .example_id = R_AT(ids) };
    if (!r->has_edges) {
        r->dropout.row_example =
            R_AT(rig_other(r, "row_example", RIG_INT32, RIG_CONST, rows, example));
        r->dropout.row_local = R_AT(rig_other(r, "row_local", RIG_INT32, RIG_CONST, rows, local));
    }
    free(id);
    free(example);
    free(local);
}

static void free_array(rig *r, rig_array *a)
{
    r->b->free(r->b, a->whole);
    free(a->value);
    free(a->start);
    free(a->want);
}

void rig_end(rig *r)
{
    for (int i = 0; i < r->count; i++) {
        free_array(r, &r->t[i].data);
        free_array(r, &r->t[i].grad);
    }
    if (r->has_edges) {
        edges_unload(r->b, &r->device);
        edges_free(&r->maker);
    }
    r->count = 0;
}

void rig_restart(rig *r)
{
    for (int i = 0; i < r->count; i++) {
        rig_tensor *t = &r->t[i];
        for (int g = 0; g < 2; g++) {
            rig_array *a = g ? &t->grad : &t->data;
            if (a->whole == NULL) continue;
            char *bytes = host(t->count * t->bytes, 1);
            encode(t, a->start, bytes);
            must(r, r->b->upload(r->b, a->at, bytes, t->count * t->bytes) == GSA_OK);
            free(bytes);
        }
    }
}

void rig_fetch(rig *r)
{
    for (int i = 0; i < r->count; i++) {
        rig_tensor *t = &r->t[i];
        for (int g = 0; g < 2; g++) {
            rig_array *a = g ? &t->grad : &t->data;
            if (a->whole == NULL) continue;
            char *bytes = host(t->count * t->bytes, 1);
            must(r, r->b->download(r->b, bytes, a->at, t->count * t->bytes) == GSA_OK);
            decode(t, a->value, bytes);
            free(bytes);
        }
    }
}

static int band_touched(rig *r, const rig_tensor *t, const rig_array *a, const char *what)
{
    const int64_t bytes = t->count * t->bytes;
    unsigned char *whole = host(bytes + 2 * BAND, 1);
    int touched = 0;
    must(r, r->b->download(r->b, whole, a->whole, bytes + 2 * BAND) == GSA_OK);
    for (int64_t i = 0; i < 2 * BAND && !touched; i++) {
        const int64_t at = i < BAND ? i : bytes + i;
        if (whole[at] != PATTERN) {
            touched = 1;
            fprintf(stderr, "%s%s: the guard band was written at byte %lld\n", what, t->name,
                    (long long)(at - BAND));
        }
    }
    free(whole);
    return touched;
}

int rig_bands_touched(rig *r)
{
    int touched = 0;
    for (int i = 0; i < r->count; i++) {
        touched |= band_touched(r, &r->t[i], &r->t[i].data, "");
        if (r->t[i].grad.whole) touched |= band_touched(r, &r->t[i], &r->t[i].grad, "d");
    }
    return touched;
}

static double scale_of(const double *want, int64_t count)
{
    double top = 0;
    for (int64_t i = 0; i < count; i++)
        if (isfinite(want[i]) && fabs(want[i]) > top) top = fabs(want[i]);
    return top;
}

static int compare_array(const rig_tensor *t, const rig_array *a, const char *name,
                         const char *what, double nmse, double per_row)
{
    const double whole = scale_of(a->want, t->count);
    double gap2 = 0, want2 = 0;
    for (int64_t first = 0; first < t->count; first += t->row) {
        double scale = scale_of(a->want + first, t->row);
        if (scale < 1e-2 * whole) scale = 1e-2 * whole;
        for (int64_t i = first; i < first + t->row; i++) {
            const double got = a->value[i], want = a->want[i];
            if (got == want || (isnan(got) && isnan(want))) {
                if (isfinite(want)) want2 += want * want;
                continue;
            }
            if (!(fabs(got - want) <= per_row * scale)) {
                fprintf(stderr, "%s: %s%s[%lld] = %.17g, expected %.17g (row scale %.3g)\n", name,
                        what, t->name, (long long)i, got, want, scale);
                return 1;
            }
            gap2 += (got - want) * (got - want);
            want2 += want * want;
        }
    }
    if (gap2 <= nmse * want2) return 0;
    fprintf(stderr, "%s: %s%s: NMSE %.3g, at most %.3g was expected\n", name, what, t->name,
            gap2 / want2, nmse);
    return 1;
}

int rig_compare(const rig *r, const char *name, int gradients, double nmse, double per_row)
{
    int wrong = 0;
    for (int i = 0; i < r->count; i++) {
        const rig_tensor *t = &r->t[i];
        if (gradients && t->role == RIG_INPUT)
            wrong |= compare_array(t, &t->grad, name, "d", nmse, per_row);
        if (!gradients)
            wrong |= compare_array(t, &t->data, name, "", nmse, per_row); /* inputs: unchanged */
    }
    return wrong;
}

uint64_t rig_hash(const rig *r)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < r->count; i++)
        for (int g = 0; g < 2; g++) {
            const rig_array *a = g ? &r->t[i].grad : &r->t[i].data;
            for (int64_t k = 0; a->whole && k < r->t[i].count; k++) {
                uint64_t bits;
                memcpy(&bits, &a->value[k], sizeof bits);
                hash = (hash ^ bits ^ hash >> 32) * UINT64_C(0x100000001b3);
            }
        }
    return hash;
}
