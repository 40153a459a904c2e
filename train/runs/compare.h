/* compare.h - is one system better than another, or is it the test data's chance? The paired
 * bootstrap (Koehn 2004; Berg-Kirkpatrick, Burkett and Klein 2012) over outcomes of both on the
 * same units.
 *
 * A system is some runs: combinations (domains) times seeds. Run i of A is paired with run i of B.
 * Of a system,
 *     m = mean over combinations of the mean over their seeds of the metric,
 * the metric being made of the sums over units. A resample draws, for each combination, as many
 * units as it has, with replacement, the same ones for A and B and for every seed whose gold is the
 * same (drawn data may differ from seed to seed: then each seed draws for itself), and makes m of
 * both anew. The seeds are not resampled: what is asked is whether *these* models differ on other
 * data from the same source; that seeds spread is told by their standard deviation and by the count
 * of pairs won.
 *     d = m(A) - m(B);   interval: the 2.5th and 97.5th percentiles of d over the resamples
 *     p = min(1, 2 (1 + number of resamples whose d has not the sign of the difference) / (1 +
 *       resamples)),  two-sided; 1 where d = 0
 * Draws are Philox words of (seed; resample, combination, place): the same on every machine. */
#ifndef GSA_COMPARE_H
#define GSA_COMPARE_H
#include "graph/system.h"

enum { GSA_METRIC_NAME = 64 };

typedef struct gsa_compare_options {
    const char *metric; /* "accuracy", "f1"; NULL: the task's own */
    int64_t samples;    /* 1 to 1e7 */
    uint32_t seed, zero;
} gsa_compare_options;

typedef struct gsa_compared {
    char metric[GSA_METRIC_NAME];
    int rising; /* larger is better */
    double a, b, difference, low, high, p;
    int64_t samples, units;   /* units: of all combinations */
    int pairs, better, worse; /* pairs in which A is better, worse */
} gsa_compared;

struct gsa_outcomes;
typedef struct gsa_pair {
    const struct gsa_outcomes *a, *b;
    int combination, zero; /* equal numbers: runs that differ in their seed alone */
} gsa_pair;
/* The pairs of a combination are side by side. */
gsa_status gsa_compare_pairs(const gsa_system *system, const gsa_compare_options *options,
                             const gsa_pair *pair, int pairs, gsa_compared *compared,
                             gsa_error *error);

/* The runs in two folders, each a run or a tree of runs (folders with outcomes.jsonl), paired by
 * their paths below, of which none is a link; two runs are a pair whatever they are called. split:
 * "dev" or "test". *there 0: no run has outcomes of the split, and nothing is compared. */
gsa_status gsa_compare_folders(const gsa_system *system, const gsa_compare_options *options,
                               const char *a, const char *b, const char *split, int *there,
                               gsa_compared *compared, gsa_error *error);

#endif
