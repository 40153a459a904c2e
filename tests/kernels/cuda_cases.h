/* cuda_cases.h - what the files of test_cuda share: counted checks, two backends side by side,
 * comparison of floats. */
#ifndef GSA_TEST_CUDA_CASES_H
#define GSA_TEST_CUDA_CASES_H
#include "kernels/cuda.h"
#include "support/edges_of.h"

typedef struct tally {
    int checks, failures;
} tally;
void check(tally *t, int good, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* A call that must fail so, with these words in its sentence. */
void fails(tally *t, gsa_backend *b, gsa_status got, gsa_status wanted, const char *words);

/* On the executor kernels run in another order of threads and blocks each time; a device does so by
 * itself. */
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

/* NMSE at most 1e-7 and every error at most 1e-4 of its row's scale (rows that hardly count: of a
 * hundredth of the whole's). */
int close_to(const float *got, const float *want, int64_t count, int64_t row);
int within(const float *got, const float *want, int64_t count, int64_t row, double nmse,
           double per_row);

/* db = the sum of slopes p (m do.v - D) over a label's edges, added to what stood there, of
 * arguments in the host's memory: each gap at most SLOPES_ERROR of its terms' sizes, p (|do.v| +
 * sum p |do.v|), for the slopes of a row add up to nothing: a sum of them may be as small as what
 * scores are rounded by makes of them. */
#define SLOPES_ERROR 1e-5
int sums_of_slopes(const gsa_attend_args *a, const float *got, const float *want);

/* ---- attention against ref (test_cuda.c): forward and backward on both backends, on CUDA twice in
 * other orders, and the second time with the same bits unless LOOSE. Kinds that are ALIASED share
 * the planes of kind 0. */
enum {
    WITH_VECTORS = 1,
    WITH_BIAS = 2,
    WITH_DROPOUT = 4,
    WITH_WEIGHTS = 8,
    ALIASED = 16,
    MISALIGNED = 32,
    LOOSE = 64
};
void attend_pair(tally *t, gsa_backend *cuda, gsa_backend *ref, const gsa_edges *edges,
                 int32_t heads, int32_t dim, int flags, const char *name);
/* Rows and sources with more edges than one group takes, in three forms; at least 1 label. */
void hub_graph(edges_maker *m, int form, int32_t labels);

/* Every width of a head with all that labels bring, hubs, and the built-in topologies; `extra`:
 * more flags for all of them. */
void every_width(tally *t, const both *pair, int extra);
void every_hub(tally *t, const both *pair, int extra);
void every_topology(tally *t, const both *pair, int extra);
int topology_specs(void); /* how many it runs, each at five lengths */

/* Sums and means, as attend_pair. */
void aggregate_hubs(tally *t, const both *pair);

/* ---- the cases of other files */
void topology_case(tally *t);
void crf_case(tally *t);
void sparse_case(tally *t);
void products_case(tally *t);
void graphs_case(tally *t);
void random_case(tally *t);
void calls_case(tally *t);
void large_case(tally *t);

#endif
