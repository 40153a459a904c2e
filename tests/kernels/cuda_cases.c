#include "cuda_cases.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(GSA_ON_EXECUTOR)
#include "simt.h"
#endif

void check(tally *t, int good, const char *format, ...)
{
    t->checks++;
    if (good) return;
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "FAILED: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    t->failures++;
}

/* Kernels run in another order of threads and blocks each time; a device does so by itself. */
void use_order(int i)
{
#if defined(GSA_ON_EXECUTOR)
    simt_order(i % 3 == 0   ? SIMT_FORWARD
               : i % 3 == 1 ? SIMT_REVERSE
                            : SIMT_RANDOM,
               4711 + (uint64_t)i);
#else
    (void)i;
#endif
}

gsa_backend *open_cuda(void)
{
    gsa_backend *b = NULL;
    gsa_error error = { 0 };
    if (gsa_backend_cuda(NULL, GSA_F32, 0, &b, &error) == GSA_OK) return b;
    printf("skipped: %s\n", error.text);
    exit(77);
}

both open_both(void)
{
    both pair = { open_cuda(), NULL };
    if (gsa_backend_ref(NULL, GSA_F32, 1, &pair.ref, NULL) != GSA_OK) abort();
    return pair;
}

void close_both(both *pair)
{
    gsa_backend_release(pair->cuda);
    gsa_backend_release(pair->ref);
}

void must(gsa_backend *b, int ok)
{
    if (ok) return;
    fprintf(stderr, "test_cuda: %s\n", b->error.text);
    abort();
}

void *put(gsa_backend *b, const void *from, int64_t bytes)
{
    void *at = b->alloc(b, bytes);
    must(b, at != NULL && b->upload(b, at, from, bytes) == GSA_OK);
    return at;
}

void get(gsa_backend *b, void *to, const void *at, int64_t bytes)
{
    must(b, b->download(b, to, at, bytes) == GSA_OK);
}

int close_to(const float *got, const float *want, int64_t count, int64_t row)
{
    return within(got, want, count, row, 1e-7, 1e-4);
}

int within(const float *got, const float *want, int64_t count, int64_t row, double nmse,
           double per_row)
{
    double gap2 = 0, want2 = 0, whole = 0;
    for (int64_t i = 0; i < count; i++)
        if (isfinite(want[i]) && fabs((double)want[i]) > whole) whole = fabs((double)want[i]);
    for (int64_t first = 0; first < count; first += row) {
        double scale = 1e-2 * whole;
        for (int64_t i = first; i < first + row; i++)
            if (isfinite(want[i]) && fabs((double)want[i]) > scale) scale = fabs((double)want[i]);
        for (int64_t i = first; i < first + row; i++) {
            const double gap = (double)got[i] - (double)want[i];
            if (isfinite(want[i])) want2 += (double)want[i] * (double)want[i];
            if (memcmp(&got[i], &want[i], 4) == 0 || got[i] == want[i] ||
                (isnan(got[i]) && isnan(want[i])))
                continue;
            if (!(fabs(gap) <= per_row * scale)) {
                fprintf(stderr, "[%lld] = %.9g, expected %.9g\n", (long long)i, (double)got[i],
                        (double)want[i]);
                return 0;
            }
            gap2 += gap * gap;
        }
    }
    if (!(gap2 <= nmse * (want2 > 0 ? want2 : 1)))
        fprintf(stderr, "NMSE %.3g, at most %.3g\n", gap2 / want2, nmse);
    return gap2 <= nmse * (want2 > 0 ? want2 : 1);
}

/* scores[e] and do.v of the edges first.. of one row in head h, and how many there are. */
static int64_t row_of_slopes(const gsa_attend_args *a, const edges_list *e, int64_t first,
                             int64_t h, double *score, double *through)
{
    const int64_t dim = a->head_dim, width = a->heads * dim;
    const float *const q = a->q, *const dout = a->dout, *const r = a->label_vectors,
                       *const b = a->label_bias;
    int64_t i = first;
    for (; i < e->total && e->row[i] == e->row[first]; i++) {
        const int64_t from = e->source[i] * width + h * dim, to = e->row[i] * width + h * dim;
        const float *const k = a->parts[e->kind[i]].k, *const v = a->parts[e->kind[i]].v;
        score[i] = (double)b[e->label[i] * a->heads + h], through[i] = 0;
        for (int64_t c = 0; c < dim; c++) {
            const double label = r ? (double)r[e->label[i] * dim + c] : 0;
            score[i] += a->scale * ((double)k[from + c] + label) * (double)q[to + c];
            through[i] += (double)v[from + c] * (double)dout[to + c];
        }
    }
    return i - first;
}

int sums_of_slopes(const gsa_attend_args *a, const float *got, const float *want)
{
    edges_list e = edges_expand(a->edges);
    const int64_t count = (int64_t)a->edges->labels * a->heads;
    const float *const start = a->dlabel_bias;
    double *const sizes = calloc((size_t)count + 1, sizeof *sizes),
                  *const p = calloc((size_t)e.total + 1, sizeof *p),
                  *const through = calloc((size_t)e.total + 1, sizeof *through);
    int good = 1;
    if (!sizes || !p || !through) abort();
    for (int64_t h = 0; h < a->heads; h++)
        for (int64_t first = 0, edges_here; first < e.total; first += edges_here) {
            double top = -INFINITY, sum = 0, mean = 0;
            edges_here = row_of_slopes(a, &e, first, h, p, through);
            const int64_t end = first + edges_here;
            for (int64_t i = first; i < end; i++) top = fmax(top, p[i]);
            for (int64_t i = first; i < end; i++) sum += p[i] = exp(p[i] - top);
            for (int64_t i = first; i < end; i++) mean += (p[i] /= sum) * fabs(through[i]);
            for (int64_t i = first; i < end; i++)
                sizes[e.label[i] * a->heads + h] += p[i] * (fabs(through[i]) + mean);
        }
    for (int64_t i = 0; i < count && good; i++) {
        const double gap = fabs((double)got[i] - (double)want[i]),
                     size = sizes[i] + fabs((double)start[i]);
        good = gap <= SLOPES_ERROR * size;
        if (!good)
            fprintf(stderr, "[%lld] = %.9g, expected %.9g: a gap of %.3g of its terms' sizes\n",
                    (long long)i, (double)got[i], (double)want[i], gap / size);
    }
    edges_list_free(&e);
    free(sizes), free(p), free(through);
    return good;
}

void fails(tally *t, gsa_backend *b, gsa_status got, gsa_status wanted, const char *words)
{
    check(t, got == wanted && strstr(b->error.text, words), "status %s, '%s' lacks '%s'",
          gsa_status_name(got), b->error.text, words);
}
