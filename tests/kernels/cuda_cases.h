/* cuda_cases.h - what the files of test_cuda share: counted checks, two backends side by side, comparison of floats. */
#ifndef GSA_TEST_CUDA_CASES_H
#define GSA_TEST_CUDA_CASES_H
#include "kernels/cuda.h"

typedef struct tally {
    int checks, failures;
} tally;
void check(tally *t, int good, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* A call that must fail so, with these words in its sentence. */
void fails(tally *t, gsa_backend *b, gsa_status got, gsa_status wanted, const char *words);

/* On the executor kernels run in another order of threads and blocks each time; a device does so by itself. */
void use_order(int i);

typedef struct both {
    gsa_backend *cuda, *ref;
} both;
gsa_backend *open_cuda(void); /* exits 77 with the reason where there is no device */
both open_both(void);
void close_both(both *pair);

/* Aborts with the backend's sentence. */
void must(gsa_backend *b, int ok);
void *put(gsa_backend *b, const void *from, int64_t bytes);
void get(gsa_backend *b, void *to, const void *at, int64_t bytes);

/* NMSE at most 1e-7 and every error at most 1e-4 of its row's scale (rows that hardly count: of a hundredth of the
 * whole's). */
int close_to(const float *got, const float *want, int64_t count, int64_t row);

/* ---- the cases of other files */
void crf_case(tally *t);

#endif
