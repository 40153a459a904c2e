/* papers.h - a small stack with random parameters, and the parts of the papers' equations, written
 * once more in double with plain loops: nothing of the executor is used but the parameters' values,
 * found by name. Dies through Check where something cannot be made. */
#ifndef GSA_TEST_PAPERS_H
#define GSA_TEST_PAPERS_H
#include "bench.h"
#include "gsa/stack.h"

enum {
    D = 6,
    HEADS = 5,
    HEAD = 2,
    INNER = 7,
    WIDTH = HEADS * HEAD,
    MOST = 17,
    COUNT = 7,
    TOKENS = 40
};
extern const int32_t paper_lengths[COUNT]; /* COUNT examples, TOKENS tokens in all */

typedef struct paper_model {
    bench b;
    gsa_registry *registry;
    gsa_stack *stack[2];
    gsa_stack_batch *batch[2];
    gsa_settings settings;
    int stacks;
} paper_model;

paper_model paper_open(int real); /* without a stack; hidden D, HEADS heads of HEAD numbers */
void paper_add(paper_model *m, const char *name, const char *text, uint32_t reads);
void paper_randomise(paper_model *m, uint64_t seed); /* all parameters, normal, 0.6 times */
/* One stack "encoder" from the text, with random parameters. */
paper_model paper_with(int real, const char *text, uint32_t reads);
void paper_close(paper_model *m);

/* Stack `at` over the tokens' rows [tokens, D] in the tape; memory may be NULL. */
gsa_readout paper_forward(paper_model *m, int at, const gsa_sequences *sequences,
                          const double *rows, gsa_tensor *memory);
/* Sequence [tokens, D] (and summary [count, D] where not NULL) of the first stack. */
void paper_run(paper_model *m, const int32_t *length, int32_t count, const double *rows,
               double *sequence, double *summary);
void paper_rows(double *rows, int count, uint64_t seed); /* `count` normal numbers */

/* The values of parameter PREFIX.LEAF, which has this shape. */
void paper_weights(paper_model *m, const char *prefix, const char *leaf, double *values,
                   int64_t rows, int64_t cols);
/* y = W x + b [out]; bias may be NULL. */
void paper_project(paper_model *m, const char *prefix, const char *matrix, const char *bias,
                   const double *x, int in, int out, double *y);
void paper_norm(paper_model *m, const char *prefix, double *x);

/* How often head h of the query reads head g of source j: the pattern, as one query's table. */
typedef struct paper_reads {
    int times[HEADS][2 * MOST + 2][HEADS];
} paper_reads;

void paper_read_all(paper_reads *r, int j); /* each head reads its own of source j once more */
/* W_o of: head h = sum over what it reads of softmax(q_h . k_{j,g} / sqrt(d)) v_{j,g}; nothing
 * read: zeros. */
void paper_multi_head(paper_model *m, const char *prefix, const double *query,
                      const double *const *source, int count, const paper_reads *r, double *out);
void paper_add_norm(paper_model *m, const char *prefix, double *x, const double *a);
void paper_ffn(paper_model *m, const char *prefix, double *x);

/* Fills what query i of n reads; returns the name of the weights. */
typedef const char *paper_reader(const void *context, int n, int i, paper_reads *r);
/* One layer over x [n, D] in place: norm(x + attention), then norm(x + W_2 relu(W_1 x + b_1) +
 * b_2) (Vaswani et al. 2017). */
void paper_layer(paper_model *m, const char *stack, int number, paper_reader *who,
                 const void *context, int n, double *x);

#endif
