/* tape.h - tensors and reverse-mode automatic differentiation on one backend.
 *
 * Example:
 *
 *     const float x[2] = { 1, 2 }, wanted[1] = { 5 };
 *     float w[2] = { 1, 1 }, dw[2] = { 0, 0 };
 *     gsa_tensor weight = { 1, 2, w, dw, 1 }; // or one of parameters.h
 *     gsa_error error;
 *     gsa_backend *b = NULL;
 *     gsa_tape *tape = NULL;
 *     if (gsa_backend_open(NULL, "cpu", GSA_F32, 1, &b, &error) ||
 *         gsa_tape_create(NULL, b, &tape, &error))
 *         return puts(error.text), 1;
 *     gsa_tape_reset(tape, 1, 0, 0);
 *     gsa_tensor *rows = gsa_tape_constant(tape, x, GSA_F32, 1, 2);
 *     gsa_tensor *goal = gsa_tape_constant(tape, wanted, GSA_F32, 1, 1);
 *     gsa_tensor *y = gsa_op_linear(tape, rows, &weight, NULL);
 *     const int failed = gsa_tape_backward(tape, gsa_op_square_error(tape, y, goal, 1), &error);
 *     puts(failed ? error.text : "dw = -4 -8"); // of the first op that failed
 *     gsa_tape_release(tape), gsa_backend_release(b);
 *     return failed || dw[0] != -4 || dw[1] != -8;
 *
 * Law.  Tensors are matrices [rows, cols] of the backend's real type. What an op returns belongs to
 *     the tape and lives until gsa_tape_reset; parameters own themselves (parameters.h). Ops never
 *     update in place. They take and return NULL freely: after the first failure every op returns
 *     NULL, and gsa_tape_status tells which it was (an operand that is NULL where nothing has
 *     failed is a failure itself); so a forward pass is written without checks and checked once.
 *     Memory is an arena: reset keeps it, so that a step whose shapes were seen before allocates
 *     nothing.
 *     Backward runs the ops in reverse order of recording; gradients accumulate in that order: same
 *     program, same bits. What is left of it are the gradients of leaves and parameters: that of an
 *     op's result is dropped once the op has passed it on, its memory used again. One thread uses a
 *     tape at a time.
 *     Failures of ops: GSA_ERR_ARGUMENT (shapes that do not fit), GSA_ERR_LIMIT (a size),
 *     GSA_ERR_UNSUPPORTED (the backend lacks the op), GSA_ERR_MEMORY, GSA_ERR_DEVICE. */
#ifndef GSA_TAPE_H
#define GSA_TAPE_H
#include "kernels/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which rows of a table's gradient may hold other numbers than zeros, where a table is told to say
 * so (GSA_BY_ROWS of parameters.h): those that gathers gave to. Host memory. */
typedef struct gsa_marks {
    uint8_t *row;      /* [rows] */
    int32_t all, zero; /* all: any row, for something else gave to the gradient too */
} gsa_marks;

typedef struct gsa_tensor gsa_tensor;
/* A matrix on the tape, with its gradient once something needs it. */
struct gsa_tensor {
    int64_t rows, cols; /* its shape */
    void *data;         /* backend memory */
    void *grad;         /* same shape; NULL until something needs it */
    int32_t wants_grad; /* does a parameter that is learned follow it? */
    int32_t uses;       /* of a parameter: what a backward pass that is watched still gives it */
    gsa_tensor *whole;  /* a view of rows first.. of `whole`; NULL: its own memory */
    int64_t first;      /* of a view: its first row */
    gsa_marks *marks;   /* NULL: not told */
};

/* Operations of one forward pass, for the backward pass. Opaque. */
typedef struct gsa_tape gsa_tape;

/* Makes an empty tape on this backend, which must outlive it. */
gsa_status gsa_tape_create(const gsa_system *system, gsa_backend *backend, gsa_tape **tape,
                           gsa_error *error);
/* Frees the tape and all tensors on it; NULL does nothing. */
void gsa_tape_release(gsa_tape *tape);
/* The backend that the tape computes on. */
gsa_backend *gsa_tape_backend(const gsa_tape *tape);

/* Forgets all tensors and errors. `training` 0: nothing is recorded and dropout is off. (seed,
 * step) key the dropout. */
void gsa_tape_reset(gsa_tape *tape, int training, uint32_t seed, uint32_t step);
/* example_id [count]: the examples' numbers in the global batch (host), for dropout; without it 0,
 * 1, 2, ... All batches of the tape share them; a batch of more examples than `count` is a failure.
 */
void gsa_tape_examples(gsa_tape *tape, const int32_t *example_id, int32_t count);
int gsa_tape_training(const gsa_tape *tape);
/* GSA_OK, or the first failure of any op since reset, with its sentence. */
gsa_status gsa_tape_status(const gsa_tape *tape, gsa_error *error);
/* Remembers a failure met outside an op; returns NULL, so that it can be returned as a tensor. */
gsa_tensor *gsa_tape_fail(gsa_tape *tape, gsa_status status, const char *format, ...)
    GSA_PRINTF(3, 4);

/* Backend memory that lives until reset, and the upload of host bytes into it (no copy where the
 * backend shares host memory: then the host array must live until reset). NULL after a failure, and
 * for 0 bytes. */
void *gsa_tape_memory(gsa_tape *tape, int64_t bytes);
const void *gsa_tape_upload(gsa_tape *tape, const void *host, int64_t bytes);
/* For the round after the next reset: host arrays that it will upload may go up while the ops of
 * this round run. Until that round ends they stay as they are, or gsa_tape_forget_ahead is called.
 * gsa_tape_expect, before the reset, says (as_offered) whether the round is the offered one: then
 * gsa_tape_upload and gsa_tape_constant of the same address have nothing left to copy. A hint: what
 * does not fit is uploaded in its turn, and all of it by a backend without upload_ahead
 * (backend.h). Memory: twice what a round offers at most, and a quarter. */
gsa_status gsa_tape_ahead(gsa_tape *tape, const void *host, int64_t bytes, gsa_error *error);
void gsa_tape_expect(gsa_tape *tape, int as_offered);
void gsa_tape_forget_ahead(gsa_tape *tape);
/* The sentence with which the backend had no memory for that, once; then NULL: everything is
 * uploaded in its turn from there on. */
const char *gsa_tape_refused(gsa_tape *tape);
/* Bytes of tensors, gradients and scratch that a round of the tape has taken at most, host and
 * backend together. What it holds is less than twice that. */
int64_t gsa_tape_peak(const gsa_tape *tape);
/* Host scratch that lives until reset. */
void *gsa_tape_host(gsa_tape *tape, int64_t bytes);

/* ---- leaves */
/* `values` [rows, cols] from the host, float or double (`real`), converted to the backend's type.
 * No gradient. */
gsa_tensor *gsa_tape_constant(gsa_tape *tape, const void *values, int real, int64_t rows,
                              int64_t cols);
gsa_tensor *gsa_tape_zeros(gsa_tape *tape, int64_t rows, int64_t cols);

/* ---- ops: shapes next to each; a wrong shape is a failure with a sentence, never undefined */
gsa_tensor *gsa_op_view(gsa_tape *tape, gsa_tensor *x, int64_t first,
                        int64_t rows); /* rows first.. of x, no copy */
gsa_tensor *gsa_op_concat(gsa_tape *tape, gsa_tensor *const *x,
                          int count); /* below each other; no copy where they are
                                         neighbouring views already */
gsa_tensor *gsa_op_reshape(gsa_tape *tape, gsa_tensor *x, int64_t rows,
                           int64_t cols); /* as many numbers, no copy */
gsa_tensor *gsa_op_beside(gsa_tape *tape, gsa_tensor *const *x,
                          int count); /* [r, c_i] -> [r, sum c_i] */
gsa_tensor *gsa_op_linear(gsa_tape *tape, gsa_tensor *x, gsa_tensor *w,
                          gsa_tensor *bias); /* [r,in] [out,in] [1,out]|NULL -> [r,out] */
/* gsa_op_activate of that, without room of its own where the activation allows it (relu, leaky
 * relu). */
gsa_tensor *gsa_op_linear_activated(gsa_tape *tape, gsa_tensor *x, gsa_tensor *w, gsa_tensor *bias,
                                    int activation);
/* One product for each head, w's rows h out/heads.. being head h's [w rows / heads, w cols]; room
 * >= heads heads are in a row of the wider of x and y, those beyond are zeros in y and not read
 * in x:
 *   to_columns: [r, w rows] -> [r, room w cols],   y_h = x_h w_h
 *   else  [r, room w cols] -> [r, w rows],  y_h = x_h w_h^T + bias_h  bias [1, w rows] or NULL */
gsa_tensor *gsa_op_heads(gsa_tape *tape, gsa_tensor *x, gsa_tensor *w, gsa_tensor *bias,
                         int32_t heads, int32_t room, int to_columns);
gsa_tensor *gsa_op_combine(gsa_tape *tape, gsa_tensor *const *x, const double *weight,
                           int count); /* the sum of weight[i] x[i] */
gsa_tensor *gsa_op_add(gsa_tape *tape, gsa_tensor *a, gsa_tensor *b);
gsa_tensor *gsa_op_multiply(gsa_tape *tape, gsa_tensor *a, gsa_tensor *b); /* elementwise */
gsa_tensor *gsa_op_activate(gsa_tape *tape, gsa_tensor *x, int activation);
typedef struct gsa_row_identity { /* backend memory, [rows] each: the key of dropout (backend.h) */
    const int32_t *example, *local; /* number of the row's example, and of the row in it */
} gsa_row_identity;
/* x with elements dropped with probability p and the rest divided by 1 - p, keyed by `site` and
 * `rows`. */
gsa_tensor *gsa_op_dropout(gsa_tape *tape, gsa_tensor *x, double p, uint32_t site,
                           gsa_row_identity rows);
gsa_tensor *gsa_op_norm(gsa_tape *tape, gsa_tensor *x, gsa_tensor *gain, gsa_tensor *bias,
                        double eps); /* gain, bias [1,cols]; eps is added to the variance */
/* out[i] = scale table[ids[i]] (+ base[i]); ids in backend memory, < 0: zero row; ids < first_id
 * get no gradient */
gsa_tensor *gsa_op_gather(gsa_tape *tape, gsa_tensor *base, gsa_tensor *table, const int32_t *ids,
                          int64_t rows, double scale, int32_t first_id);
gsa_tensor *gsa_op_select(gsa_tape *tape, const uint8_t *mask, gsa_tensor *a,
                          gsa_tensor *b); /* mask ? a : b, by row */
/* [examples, cols]: the mean of each example's rows of x, or with `maximum` their largest; offset
 * [examples+1] ends at x's rows. */
gsa_tensor *gsa_op_pool(gsa_tape *tape, gsa_tensor *x, const int64_t *offset, int64_t examples,
                        int maximum);

/* Graph ops. `edges` is host struct whose arrays are in backend memory; it is copied. Planes of
 * k, v by kind (NULL where the phase does not read the kind); the same tensor may stand for several
 * kinds. `heads` here is the phase's: 1 in per-head phases, whose edges count (node, head) rows
 * while tensors keep [nodes, heads * head_dim]. */
typedef struct gsa_attend_op {
    const gsa_edges *edges;  /* of the phase */
    int32_t heads, head_dim; /* head_dim: columns of a head */
    double scale;            /* of q k^T, such as 1 / sqrt(head_dim) */
    gsa_tensor *q;           /* rows x heads x head_dim values in any [r, c] */
    gsa_tensor *k[GSA_MAX_KINDS], *v[GSA_MAX_KINDS]; /* by kind of the sources */
    gsa_tensor *label_vectors;                       /* [labels, head_dim] or NULL */
    gsa_tensor *label_bias;                          /* [labels, heads] or NULL */
    double dropout;                                  /* of the weights, in [0, 1) */
    uint32_t site;                                   /* of that dropout, below 2^20 */
    void *weights; /* backend memory [edge_total, heads], or NULL */
} gsa_attend_op;
gsa_tensor *gsa_op_attend(gsa_tape *tape, const gsa_attend_op *op); /* the shape of q */
/* sum or mean of rows of `x[kind]`, each seen as [edges' sources, width]; out [out_rows, out_cols]
 * = edges' rows x width */
gsa_tensor *gsa_op_aggregate(gsa_tape *tape, const gsa_edges *edges, gsa_tensor *const *x, int mean,
                             int64_t width, int64_t out_rows, int64_t out_cols);

/* Losses [1,1], times `scale`; targets in backend memory. */
gsa_tensor *gsa_op_cross_entropy(gsa_tape *tape, gsa_tensor *logits, const int32_t *targets,
                                 double scale);
/* With label smoothing, 0 <= smoothing < 1, times `scale` (backend.h has the equation). */
gsa_tensor *gsa_op_smooth_entropy(gsa_tape *tape, gsa_tensor *logits, const int32_t *targets,
                                  double smoothing, double scale);
/* [rows, 1]: -log p(target) of each row, 0 where the target is -1; has no gradient. */
gsa_tensor *gsa_op_surprise(gsa_tape *tape, gsa_tensor *logits, const int32_t *targets);
/* `scale` times the sum of squares of x - target. */
gsa_tensor *gsa_op_square_error(gsa_tape *tape, gsa_tensor *x, gsa_tensor *target, double scale);
/* One softmax down each column of a segment's rows: where in a sequence something is. offset
 * [segments+1], targets [segments, cols]: the right row, counted in its segment, or -1
 * (ignored); times `scale`. */
gsa_tensor *gsa_op_segment_entropy(gsa_tape *tape, gsa_tensor *logits, const int64_t *offset,
                                   const int32_t *targets, int64_t segments, double scale);

/* A linear-chain CRF over ragged sequences of rows (gsa_crf_args in backend.h has the equations).
 * offset [sequences+1], targets [tokens] (-1: unobserved), allowed [tags+2, tags] or NULL: backend
 * memory. */
typedef struct gsa_crf_op {
    gsa_tensor *emissions;   /* [tokens, tags] */
    gsa_tensor *transitions; /* [tags, tags]: from row to column */
    gsa_tensor *start, *end; /* [1, tags] */
    int64_t sequences;       /* >= 0 */
    const int64_t *offset;   /* [sequences+1] */
    const uint8_t *allowed;  /* [tags+2, tags], or NULL: all are */
    const int32_t *targets;  /* the loss reads them */
    void *nll; /* [sequences] reals, backend memory, or NULL: the loss puts each sequence's -log p
                  there */
} gsa_crf_op;
gsa_tensor *gsa_op_crf(gsa_tape *tape, const gsa_crf_op *op,
                       double scale); /* [1,1]: scale sum of -log p(targets) */
/* The best legal path to the host, [tokens] (-1: a sequence has none), and its `score` in the
 * backend's real type, [sequences], or NULL. */
gsa_status gsa_crf_decode(gsa_tape *tape, const gsa_crf_op *op, int32_t *path, void *score,
                          gsa_error *error);

/* Gradients of the scalar `loss` for everything that needs one; parameters' gradients are added
 * to. */
gsa_status gsa_tape_backward(gsa_tape *tape, gsa_tensor *loss, gsa_error *error);

/* Copies a tensor's values (or gradient) to the host as double; rows*cols of them. A missing
 * gradient reads as zeros. */
gsa_status gsa_tensor_read(gsa_backend *backend, const gsa_tensor *x, int gradient, double *out,
                           gsa_error *error);
/* Sets a tensor's values from host doubles. */
gsa_status gsa_tensor_write(gsa_backend *backend, gsa_tensor *x, const double *values,
                            gsa_error *error);

#ifdef __cplusplus
}
#endif
#endif
