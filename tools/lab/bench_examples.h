/* bench_examples.h - the examples that are measured: copies of one, or passages of --text. */
#ifndef GSA_BENCH_EXAMPLES_H
#define GSA_BENCH_EXAMPLES_H
#include "graph/batch.h"
#include "topologies/pattern.h"

typedef struct gsa_bench_text { /* characters other than line ends are the tokens */
    char *data;
    gsa_slice *token; /* [tokens] */
    int64_t bytes, tokens;
} gsa_bench_text;

gsa_status gsa_bench_text_open(const gsa_system *system, const char *path, gsa_bench_text *text,
                               gsa_error *error);
void gsa_bench_text_close(const gsa_system *system,
                          gsa_bench_text *text); /* a zeroed one is fine */

typedef struct gsa_bench_examples {
    gsa_instance **at; /* [count]; without a text all are the first */
    int32_t count, different;
} gsa_bench_examples;

/* `count` examples of `length` tokens. text NULL: one, count times; else example i is the i-th
 * passage of that length, and after the text's last whole passage the first follows again.
 * GSA_ERR_ARGUMENT: the text is shorter than one passage. */
gsa_status gsa_bench_emit(const gsa_system *system, const gsa_pattern *pattern,
                          const gsa_bench_text *text, int32_t length, int32_t heads, int32_t count,
                          gsa_bench_examples *examples, gsa_error *error);
gsa_status gsa_bench_join(const gsa_system *system, const gsa_pattern *pattern,
                          const gsa_bench_examples *examples, gsa_batch **batch, gsa_error *error);
void gsa_bench_examples_release(const gsa_system *system,
                                gsa_bench_examples *examples); /* a zeroed one is fine */

#endif
