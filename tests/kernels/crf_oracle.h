/* crf_oracle.h - one sequence of a linear-chain CRF in double, slow and plain: all paths where they
 * are at most some thousands, else the recursions in log space, an exponential a pair. Shares no
 * code with kernels/. */
#ifndef GSA_TEST_CRF_ORACLE_H
#define GSA_TEST_CRF_ORACLE_H
#include <stdint.h>

typedef struct crf_problem {
    int64_t length, tags;
    const double *emissions, *transitions, *start, *end;
    const double *targets; /* [length]; -1: any */
    const double *allowed; /* [tags+2, tags] or NULL */
    double *demissions, *dtransitions, *dstart,
        *dend; /* all or none; each gets weight d nll added */
    double weight;
} crf_problem;

double crf_oracle_nll(const crf_problem *p);
/* The best legal path (of equals: smallest last tag, then smallest before it, ...), -1 where there
 * is none; returns its score. */
double crf_oracle_best(const crf_problem *p, double *path);

#endif
