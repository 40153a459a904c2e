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
            if (memcmp(&got[i], &want[i], 4) == 0 || got[i] == want[i] ||
                (isnan(got[i]) && isnan(want[i])))
                continue;
            if (!(fabs(gap) <= per_row * scale)) {
                fprintf(stderr, "[%lld] = %.9g, expected %.9g\n", (long long)i, (double)got[i],
                        (double)want[i]);
                return 0;
            }
            gap2 += gap * gap, want2 += (double)want[i] * (double)want[i];
        }
    }
    if (!(gap2 <= nmse * (want2 > 0 ? want2 : 1)))
        fprintf(stderr, "NMSE %.3g, at most %.3g\n", gap2 / want2, nmse);
    return gap2 <= nmse * (want2 > 0 ? want2 : 1);
}

void fails(tally *t, gsa_backend *b, gsa_status got, gsa_status wanted, const char *words)
{
    check(t, got == wanted && strstr(b->error.text, words), "status %s, '%s' lacks '%s'",
          gsa_status_name(got), b->error.text, words);
}
