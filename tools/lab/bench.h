/* bench.h - the frame of gsa bench: cases that are run in turn, so that a change of the machine's
 * speed meets all alike.
 *
 * Each round runs every case once and each case notes the seconds of its series (forward, backward,
 * ...). One round warms up and is not counted; then median, smallest and largest of `runs` rounds
 * are reported. */
#ifndef GSA_BENCH_H
#define GSA_BENCH_H
#include <jansson.h>
#include "tools/lab/bench_ceilings.h"
#include "tools/lab/bench_examples.h"
#include "train/runs/sweep.h"
#include "tools/command/verbs.h"

enum { GSA_BENCH_SERIES = 3, GSA_BENCH_SIDES = 8, GSA_BENCH_RECIPES = 16, GSA_BENCH_DETAIL = 64 };

typedef struct gsa_bench_case {
    char name[96], detail[GSA_BENCH_DETAIL]; /* "star:cyclic=0", "n=512" */
    json_t *facts;                           /* of the case, go into the JSON: length, edges, ... */
    double flops[GSA_BENCH_SERIES]; /* of one run of each series, or what bench->rate counts; 0: no
                                       rate is shown */
    double
        floor[GSA_BENCH_SERIES]; /* seconds below which no run of the series can be; 0: not known */
    const char *bound[GSA_BENCH_SERIES]; /* what the floor is made of: "memory", "compute" */
    double items;                        /* edges or tokens, for ns an item; 0: not shown */
    char *skipped; /* [GSA_ERROR_SIZE] why the case could not be measured; empty: it was */
    void *state;
    gsa_status (*run)(void *state, double *seconds, gsa_error *error);
    gsa_status (*explain)(void *state, gsa_output *out, gsa_error *error); /* or NULL */
    void (*release)(void *state);
    double *seconds; /* [GSA_BENCH_SERIES][runs] */
} gsa_bench_case;

typedef struct gsa_bench_rate { /* of flops in a second */
    const char *name, *key;     /* "GFLOP/s" in the table, "gflops" in the JSON */
    double unit;                /* 1e-9 */
} gsa_bench_rate;

typedef struct gsa_bench_side { /* where kernels are measured: --device and --threads, then each
                                   --against */
    char device[48];
    int threads;
    char computes_on[GSA_ERROR_SIZE + 96]; /* the backend, and why it is no CUDA device where that
                                              was requested first */
    gsa_ceilings ceilings;                 /* of the host at so many threads */
} gsa_bench_side;

typedef struct gsa_bench {
    const gsa_system *system;
    const gsa_args *args;
    gsa_registry *registry;
    const char *what; /* "kernel" */
    const char *series[GSA_BENCH_SERIES];
    gsa_bench_rate rate;
    int n_series, runs, threads;
    int counts_cpu;             /* --clock cpu */
    int32_t batch;              /* of the case that is added */
    double dropout;             /* of attention: kernel alone */
    const gsa_bench_text *text; /* kernel, graph: of --text; NULL: none */
    double load; /* of the machine before anything was measured: processes that ran, on average over
                    a minute; < 0: not known */
    gsa_bench_case *cases;
    int n_cases;
    gsa_bench_side sides[GSA_BENCH_SIDES]; /* kernel alone */
    int n_sides;
    gsa_sweep_plan plans[GSA_BENCH_RECIPES]; /* train alone */
    int n_plans, no_warm_up; /* no_warm_up: no round is needed that is not counted */
} gsa_bench;

/* A new case at the end of bench->cases, zeroed; NULL and a sentence without memory. Its address
 * holds until the next call. */
gsa_bench_case *gsa_bench_add(gsa_bench *bench, gsa_error *error);

/* Each adds its cases and names its series. */
gsa_status gsa_bench_kernel(gsa_bench *bench, gsa_error *error);
gsa_status gsa_bench_graph(gsa_bench *bench, gsa_error *error);
gsa_status gsa_bench_lexicon(gsa_bench *bench, gsa_error *error);
gsa_status gsa_bench_train(gsa_bench *bench, gsa_error *error);
gsa_status gsa_bench_generate(gsa_bench *bench, gsa_error *error);
gsa_status gsa_bench_profile(gsa_bench *bench, gsa_error *error); /* train --profile */

/* "n=512", and where there are several batches "n=512 x 4". */
void gsa_bench_detail(const gsa_bench *bench, const char *what, int32_t length,
                      char detail[GSA_BENCH_DETAIL]);

/* Calls add(bench, pattern, length) for every --topology, --length and --batch (bench->batch);
 * without --topology for a few built-ins. */
typedef gsa_status gsa_bench_add_pattern(gsa_bench *bench, gsa_pattern *pattern, int32_t length,
                                         gsa_error *error);
gsa_status gsa_bench_each_pattern(gsa_bench *bench, gsa_bench_add_pattern *add, gsa_error *error);

/* bench_report.c */
void gsa_bench_write_table(const gsa_bench *bench, gsa_output *out);
gsa_status gsa_bench_write_json(const gsa_bench *bench, const char *path, gsa_error *error);

#endif
