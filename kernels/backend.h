/* backend.h - the table that every device fills.
 *
 * Example:
 *
 *     const float a[6] = { 1, 2, 3, 4, 5, 6 };
 *     float c[4];
 *     gsa_error error;
 *     gsa_backend *b;
 *     if (gsa_backend_open(NULL, "cpu", GSA_F32, 0, &b, &error)) return puts(error.text), 1;
 *     void *x = b->alloc(b, sizeof a), *y = b->alloc(b, sizeof c);
 *     int failed = !x || !y || b->upload(b, x, a, sizeof a) ||
 *                  b->gemm(b, y, x, x, 2, 2, 3, 0, 1, 2, 3, 3, 0) || // y [2,2] = a a^T, a [2,3]
 *                  b->download(b, c, y, sizeof c);
 *     if (failed) puts(b->error.text);
 *     b->free(b, x), b->free(b, y);
 *     gsa_backend_release(b);
 *     return failed || c[1] != 32;
 *
 * Law.  A backend computes in one real type (float or double; fp32 accumulates in fp32 or wider).
 *     All data pointers below are in the backend's memory; `edges`, id, mask and offset arrays too.
 *     Only `gsa_*_args` structs, part arrays and scalars are host memory. Matrices are row-major,
 *     [rows, cols], contiguous unless a leading dimension is given.
 *     Outputs come before inputs, sizes last. `d` names a gradient. Forward ops write their
 *     outputs; backward ops ADD to the gradients they are given, and skip those that are NULL.
 *     Where they take `accumulate`, 0 says that the gradient which the entry's comment names (dx
 *     where it names none) holds nothing yet: all of it is written, whatever was there. Every op
 *     returns GSA_OK or a status whose sentence is in backend->error. A NULL entry means that the
 *     backend has no such op: the caller fails with a sentence, it never falls back to another
 *     device.
 *     Same inputs, same bits, for any number of threads: no atomics, a fixed order of every sum.
 *     NaN stays NaN. Empty sizes are fine. One thread uses a backend at a time; its loops use
 *     `threads` threads. GSA_CHECKED builds scan edges in full at entry.
 *     Opening fails with GSA_ERR_ARGUMENT (an unknown device or number of threads) or
 *     GSA_ERR_UNSUPPORTED (this build or machine lacks it). */
#ifndef GSA_BACKEND_H
#define GSA_BACKEND_H
#include "graph/edges.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { GSA_GEMM_ROWS = 256 }; /* of C, that gemm works on together */
/* Numbers of a backend: float or double. */
enum gsa_real { GSA_F32, GSA_F64 };
/* The function inside a feed-forward layer; gsa_settings and gsa_linear take its number. */
enum gsa_activation {
    GSA_RELU,
    GSA_LEAKY_RELU /* slope 0.01 */,
    GSA_GELU /* exact, erf */,
    GSA_TANH,
    GSA_SIGMOID
};

/* Dropout is keyed by what batching does not change: word i of Philox4x32-10 with
 *   attention:  counter (example_id[row_example[row]], row_local[row], k, site << 12 | head / 4), i
 *               = head % 4
 *   states:  counter (example_id[row_example[row]], row_local[row], column / 4, site << 12),
 *            i = column % 4
 * and key (seed, step). The element is dropped when the word < floor(p 2^32); kept elements are
 * scaled by 1/(1-p). */
typedef struct gsa_dropout {
    double p;                  /* 0 <= p < 1; 0: none, the rest is not read */
    uint32_t seed, step, site; /* the key; site < 2^20: one number per place of the model */
    uint32_t zero;
    const int32_t *example_id;  /* [examples] number of the example in the global batch */
    const int32_t *row_example; /* [rows]; for attention the edges' own arrays are meant */
    const int32_t *row_local;   /* [rows] */
} gsa_dropout;

/* One source kind's plane. Kinds that hold one value may point to the same plane. */
typedef struct gsa_part {
    const void *k, *v; /* [part_rows[kind], heads * head_dim]; aggregate ops read `v` alone */
    /* gradients, shaped as k and v; NULL: not wanted; two planes, even where k and v are one */
    void *dk, *dv;
} gsa_part;

/* o_u = sum_e m_e p_e v_e,  p = softmax over the in-edges e=(v->u, label l) of u of
 *     s_e = scale q_u.(k_v + r_l) + b_{l,h}
 * (Vaswani et al. 2017, eq. 1, over a graph; r_l as Shaw et al. 2018 on keys). Head h is columns
 * h*head_dim.. of a row. Empty row, or all scores -inf: o = 0, lse = -inf, no gradient.
 * Backward takes p_e = exp(s_e - lse) with lse as it was stored: in float all p of a row share a
 * factor within 1 +- |lse| 2^-24 (3e-5 for 512 <= |lse| < 1024), no more than the rounding of
 * scores of that size does to each p anyway. */
typedef struct gsa_attend_args {
    const gsa_edges *edges;    /* the phase's, borrowed */
    int32_t heads, head_dim;   /* >= 0; columns of one head */
    double scale;              /* factor of scores */
    const void *q;             /* [rows, heads * head_dim] */
    const gsa_part *parts;     /* [GSA_MAX_KINDS] by kind; only kinds with part_rows > 0 are read */
    const void *label_vectors; /* r [labels, head_dim] or NULL */
    const void *label_bias;    /* b [labels, heads] or NULL */
    gsa_dropout dropout;       /* of p */
    void *out;                 /* [rows, heads * head_dim] */
    void *lse;                 /* [rows, heads]: log sum exp of s, all that is kept for backward */
    void *weights; /* forward only: [edge_total, heads] receives p (before dropout), or NULL */
    /* backward: reads q, parts, tables, out, lse, dout */
    const void *dout;                   /* [rows, heads * head_dim] */
    void *dq;                           /* as q, or NULL: not wanted */
    void *dlabel_vectors, *dlabel_bias; /* as the tables, or NULL: not wanted */
    /* what holds nothing yet, of which all is written: dq (1), dk and dv of kind k (bit k; of kinds
     * that share a plane one may say so) */
    uint64_t set_dq, set_dk, set_dv;
    /* forward only, in the host's memory: [rows], or NULL. A call with `rest` 0 may leave out rows
     * that are late and those worked on together with one; one with `rest` 1 gives what it left
     * out. Together the bits of one call. */
    const uint8_t *late;
    int rest;
} gsa_attend_args;

/* A linear-chain conditional random field (Lafferty, McCallum and Pereira 2001) over ragged
 * sequences. A path y scores
 *   s(y) = start[y_1] + sum_t emissions[t, y_t] + sum_t transitions[y_t, y_{t+1}] + end[y_n]
 * and is legal when nothing in it is forbidden: by `allowed`, or by a score of -inf.
 *   nll = log sum exp s(y) over the legal y  -
 *       log sum exp s(y) over those that agree with the targets
 * A target of -1 agrees with every tag (with all of them known the second term is the score of one
 * path). Targets that no legal path agrees with have nll +inf and give no gradient; an empty
 * sequence has nll 0. Sums run in double, in log space. */
typedef struct gsa_crf_args {
    int64_t sequences, tokens; /* how many; tokens of all sequences */
    int32_t tags, zero;        /* tags: classes of a token */
    const int64_t *offset;     /* [sequences+1]: first token of each; 0 first, `tokens` last */
    const void *emissions;     /* [tokens, tags] */
    const void *transitions;   /* [tags, tags]: from row to column */
    const void *start, *end;   /* [tags] */
    const uint8_t *allowed;    /* [tags+2, tags] or NULL (all): may column follow row; row `tags`:
                                  start; row tags+1: end */
    const int32_t *targets;    /* [tokens]; forward and backward */
    double scale;              /* factor of the loss */
    void *loss;                /* forward: one real, scale sum nll */
    void *nll;                 /* forward: [sequences] or NULL */
    const void *dloss;         /* backward: one real */
    void *demissions, *dtransitions, *dstart, *dend; /* NULL: not wanted */
    int32_t *path; /* decode: [tokens] the best legal path; of equals the one with the smallest last
                      tag, then the smallest one before it, ...; -1 throughout a sequence that has
                      no legal path */
    void *score; /* decode: [sequences] its s(y), -inf for none, 0 for an empty sequence, or NULL */
} gsa_crf_args;

/* Numbers of one step of Adam or AdamW (Kingma and Ba 2015; Loshchilov and Hutter 2019). */
typedef struct gsa_adam {
    double lr, beta1, beta2, eps; /* rate, decays of the moments, what the root is added to */
    double correct1, correct2;    /* 1 - beta^t */
    double decay;                 /* AdamW: w -= lr decay w */
    double l2;                    /* Adam with L2: g += l2 w */
} gsa_adam;

typedef struct gsa_backend gsa_backend;
/* A device's table of operations. All pointers in it are set, or NULL where it says so. */
struct gsa_backend {
    uint32_t struct_size;
    int32_t real;               /* gsa_real */
    int32_t real_bytes;         /* 4 or 8 */
    int32_t shares_host_memory; /* its memory is ordinary host memory that the caller may read and
                                   write */
    int32_t threads, zero;      /* threads of its loops, >= 1 */
    const char *name;           /* "ref" */
    struct gsa_team *team;      /* the threads of its loops (team.h) */
    const gsa_system *system;   /* memory and files, borrowed */
    void *state;                /* the backend's own */
    gsa_error error;            /* the sentence of the last failure */
    void (*release)(gsa_backend *b); /* frees the backend; nothing of it is used after */

    /* ---- memory */
    void *(*alloc)(
        gsa_backend *b,
        int64_t bytes); /* 64-byte aligned, not cleared; NULL: no memory (gsa_backend_no_memory) */
    void (*free)(gsa_backend *b, void *at); /* what alloc gave, or NULL */
    /* `bytes` from host memory, to it, within the backend's, or zeros; whole when it returns */
    gsa_status (*upload)(gsa_backend *b, void *to, const void *from_host, int64_t bytes);
    gsa_status (*download)(gsa_backend *b, void *to_host, const void *from, int64_t bytes);
    gsa_status (*copy)(gsa_backend *b, void *to, const void *from, int64_t bytes);
    gsa_status (*zero_fill)(gsa_backend *b, void *at, int64_t bytes);

    /* ---- matrices:  C [m,n] = (accumulate ? C : 0) + op(A) [m,k] op(B) [k,n], op = transpose
     *     where asked; ld* = row strides
     * as stored. k = 0 gives zeros. */
    gsa_status (*gemm)(gsa_backend *b, void *c, const void *a, const void *bb, int64_t m, int64_t n,
                       int64_t k, int transpose_a, int transpose_b, int64_t ldc, int64_t lda,
                       int64_t ldb, int accumulate);
    gsa_status (*bias_forward)(gsa_backend *b, void *y, const void *bias, int64_t rows,
                               int64_t cols); /* y += bias */
    gsa_status (*bias_backward)(gsa_backend *b, void *dbias, const void *dy, int64_t rows,
                                int64_t cols);

    /* ---- elements */
    gsa_status (*add)(gsa_backend *b, void *y, const void *a, const void *c,
                      int64_t count); /* y = a + c */
    gsa_status (*accumulate)(gsa_backend *b, void *y, const void *x, double scale,
                             int64_t count); /* y += scale x; y may be x */
    gsa_status (*multiply)(gsa_backend *b, void *y, const void *a, const void *c, int accumulate,
                           int64_t count); /* y = (y) + a c */
    gsa_status (*activate_forward)(gsa_backend *b, void *y, const void *x, int activation,
                                   int64_t count); /* y may be x */
    /* x may be y of relu and leaky relu, whose slopes depend on its sign alone; dx may be dy where
     * it is not added to */
    gsa_status (*activate_backward)(gsa_backend *b, void *dx, const void *dy, const void *x,
                                    int activation, int accumulate, int64_t count);
    gsa_status (*dropout_forward)(gsa_backend *b, void *y, const void *x,
                                  const gsa_dropout *dropout, int64_t rows, int64_t cols);
    /* adds; dx = dy mask / (1-p) is dropout_forward of dy, where y may be x */
    gsa_status (*dropout_backward)(gsa_backend *b, void *dx, const void *dy,
                                   const gsa_dropout *dropout, int64_t rows, int64_t cols);
    /* layer norm: y = (x - mean) rstd gain + bias, rstd = 1/sqrt(var + eps), var biased; mean, rstd
     * [rows] are kept */
    gsa_status (*norm_forward)(gsa_backend *b, void *y, void *mean, void *rstd, const void *x,
                               const void *gain, const void *bias, double eps, int64_t rows,
                               int64_t cols);
    gsa_status (*norm_backward)(gsa_backend *b, void *dx, void *dgain, void *dbias, const void *dy,
                                const void *x, const void *gain, const void *mean, const void *rstd,
                                int accumulate, int64_t rows,
                                int64_t cols); /* dgain, dbias are added to */

    /* ---- rows */
    /* y[i] = (accumulate ? y[i] : 0) + scale table[ids[i]]; ids < 0 stand for a zero row */
    gsa_status (*gather_forward)(gsa_backend *b, void *y, const void *table, const int32_t *ids,
                                 double scale, int accumulate, int64_t rows, int64_t cols,
                                 int64_t table_rows);
    /* dtable[ids[i]] += scale dy[i], i ascending; ids < first_id get nothing (first_id 1: row 0 is
     * frozen) */
    gsa_status (*gather_backward)(gsa_backend *b, void *dtable, const void *dy, const int32_t *ids,
                                  int32_t first_id, double scale, int64_t rows, int64_t cols,
                                  int64_t table_rows);
    /* y[i] = mask[i] ? a[i] : c[i] */
    gsa_status (*select_forward)(gsa_backend *b, void *y, const uint8_t *mask, const void *a,
                                 const void *c, int64_t rows, int64_t cols);
    gsa_status (*select_backward)(gsa_backend *b, void *da, void *dc, const uint8_t *mask,
                                  const void *dy, int64_t rows, int64_t cols);
    /* y[e] = mean of, or elementwise first maximum over, rows offset[e]..offset[e+1]-1 of x; none:
     * 0. arg [examples, cols] int32 receives the row of the maximum, -1 for none; needed for max
     * only */
    gsa_status (*pool_forward)(gsa_backend *b, void *y, int32_t *arg, const void *x,
                               const int64_t *offset, int maximum, int64_t examples, int64_t cols);
    /* rows of x outside of all examples are left alone */
    gsa_status (*pool_backward)(gsa_backend *b, void *dx, const void *dy, const int32_t *arg,
                                const int64_t *offset, int maximum, int accumulate,
                                int64_t examples, int64_t cols);

    /* ---- graphs */
    /* y[u] = sum or mean over in-edges of parts[kind].v[source]; [rows, cols]; empty: 0 */
    gsa_status (*aggregate_forward)(gsa_backend *b, void *y, const gsa_edges *edges,
                                    const gsa_part *parts, int mean, int64_t cols);
    gsa_status (*aggregate_backward)(gsa_backend *b, const gsa_part *parts /* dv */, const void *dy,
                                     const gsa_edges *edges, int mean, int64_t cols);
    gsa_status (*attend_forward)(gsa_backend *b, const gsa_attend_args *args);
    gsa_status (*attend_backward)(gsa_backend *b, const gsa_attend_args *args);

    /* ---- losses: *loss is one real; targets of -1 are ignored. dloss: one real */
    /* scale sum_i (nll_i + smoothing (logit_i[target_i] - mean_c logit_i[c])),
     *       nll_i = log sum_c exp logit_i[c] - logit_i[target_i]:
     * the cross entropy against (1 - smoothing) [c = target] + smoothing / classes (Szegedy et al.
     * 2016, section 7). nll [rows] or NULL receives nll_i, 0 where the target is -1 */
    gsa_status (*cross_entropy_forward)(gsa_backend *b, void *loss, void *nll, const void *logits,
                                        const int32_t *targets, double smoothing, double scale,
                                        int64_t rows, int64_t classes);
    gsa_status (*cross_entropy_backward)(gsa_backend *b, void *dlogits, const void *dloss,
                                         const void *logits, const int32_t *targets,
                                         double smoothing, double scale, int accumulate,
                                         int64_t rows, int64_t classes); /* of dlogits */
    gsa_status (*square_error_forward)(gsa_backend *b, void *loss, const void *x,
                                       const void *target, double scale,
                                       int64_t count); /* scale sum (x - target)^2 */
    gsa_status (*square_error_backward)(gsa_backend *b, void *dx, const void *dloss, const void *x,
                                        const void *target, double scale, int64_t count);

    /* ---- reductions and optimisers. Sums are in double over fixed chunks */
    gsa_status (*sum)(gsa_backend *b, double *out, const void *x, int64_t count); /* *out = sum x */
    /* *out = sum x^2; with `accumulate` it is added to *out */
    gsa_status (*sum_squares)(gsa_backend *b, double *out, const void *x, int accumulate,
                              int64_t count);
    gsa_status (*count_bad)(gsa_backend *b, int64_t *out, const void *x,
                            int64_t count); /* NaN or infinite */
    /* control[0] = norm = sqrt(*squares), control[1] = factor for gradients = min(1, max_norm /
     * norm) (1 when max_norm = 0; NaN when the norm is not finite: then optimiser steps change
     * nothing). `latch`: a factor that is NaN already stays NaN, so that steps change nothing until
     * the caller has filled control with zeros */
    gsa_status (*clip)(gsa_backend *b, double *control, const double *squares, double max_norm,
                       int latch);
    gsa_status (*adam)(gsa_backend *b, void *w, void *m, void *v, const void *g,
                       const double *control, const gsa_adam *adam, int64_t count);
    /* g' = factor g + l2 w; m = momentum m + g' (m NULL: none); w -= lr (m or g') */
    gsa_status (*sgd)(gsa_backend *b, void *w, void *m, const void *g, const double *control,
                      double lr, double momentum, double l2, int64_t count);

    /* ---- sequences of tags */
    /* gsa_crf_args: the loss; its gradients, added; the best paths */
    gsa_status (*crf_forward)(gsa_backend *b, const gsa_crf_args *args);
    gsa_status (*crf_backward)(gsa_backend *b, const gsa_crf_args *args);
    gsa_status (*crf_decode)(gsa_backend *b, const gsa_crf_args *args); /* Viterbi 1967 */

    /* ---- places in sequences: one softmax down each column of a segment's rows, offset
     * [segments+1] as in pool; targets [segments, cols]: the right row, counted in its segment, or
     * -1 (ignored).
     * *loss = scale sum_{s,c} (log sum_i exp logits[i,c] - logits[target,c]) */
    gsa_status (*segment_entropy_forward)(gsa_backend *b, void *loss, const void *logits,
                                          const int64_t *offset, const int32_t *targets,
                                          double scale, int64_t segments, int64_t rows,
                                          int64_t cols);
    gsa_status (*segment_entropy_backward)(gsa_backend *b, void *dlogits, const void *dloss,
                                           const void *logits, const int64_t *offset,
                                           const int32_t *targets, double scale, int64_t segments,
                                           int64_t rows, int64_t cols);

    /* ---- steps that repeat, or NULL, both. In between the backend may hold back what it is given
     * and launch it as a whole: the same results, downloads and bits. step_end is called after a
     * failure too. An op that fails in between may take with it what was given before it in the
     * step: then every op, download and alloc up to step_end fails with the reason, and step_end
     * does.
     * *graphs: how many launches was for many calls; 0: each was queued by itself. */
    gsa_status (*step_begin)(gsa_backend *b);
    gsa_status (*step_end)(gsa_backend *b, int *graphs);

    /* ---- uploads next to the work. NULL where an upload is no journey, and always together:
     * callers upload in turn then. upload_ahead is an upload that does not wait for the ops that
     * were given before it. `to` is memory that was there at the last upload_arrive, and that no op
     * was given since; ops may be given it after the next upload_arrive. Up to 63 bytes after it
     * may be written too, up to the next multiple of 64. from_host is free at return.
     * upload_arrive: GSA_ERR_MEMORY, the first time alone, where there is no memory for the
     * journey: callers upload in turn then. */
    gsa_status (*upload_ahead)(gsa_backend *b, void *to, const void *from_host, int64_t bytes);
    gsa_status (*upload_arrive)(gsa_backend *b);

    /* ---- work of a second queue, such as sums over ranks during a backward pass: all three, or
     * NULL where a call's work is done when it returns. From aside to back, calls are given to the
     * second queue, behind all that was given before; only accumulate may be. aside gives the queue
     * (a cudaStream_t) to callers who put work of their own on it, and is called again after the
     * calls which that work is to follow. meet: what is given from now on comes after what was
     * given aside. */
    gsa_status (*aside)(gsa_backend *b, void **queue);
    gsa_status (*back)(gsa_backend *b);
    gsa_status (*meet)(gsa_backend *b);

    /* ---- matrices in two calls */
    /* C [m,n] = A [m,k] B^T, B [n,k], by two calls, with the bits of one gemm: while some rows of A
     * are not there yet. late [m / GSA_GEMM_ROWS, rounded up]: the first call, with `rest` 0, gives
     * those GSA_GEMM_ROWS rows of C whose `late` is 0, the other one the rest. NULL where memory is
     * not the host's. */
    gsa_status (*gemm_part)(gsa_backend *b, void *c, const void *a, const void *bb, int64_t m,
                            int64_t n, int64_t k, const uint8_t *late, int rest);
};

/* The complete plain-C backend. threads >= 1. */
gsa_status gsa_backend_ref(const gsa_system *system, int real, int threads, gsa_backend **backend,
                           gsa_error *error);

/* The fast CPU backend (float): ref's table, of it what pays in kernels for vectors (kernels/cpu/).
 * `level` forces one kind of vectors, as tests do: one that this build or this machine lacks is
 * GSA_ERR_ARGUMENT. Its name is "cpu (AVX-512)", "cpu (AVX2)", "cpu (NEON)" or, where there are no
 * such vectors, "cpu (plain C)", which is ref. Bits depend on the level, never on the threads.
 * GSA_CPU_EMULATED is the kernels of AVX-512 by means of AVX2, slowly: for tests, in
 * builds that have tests, on machines without AVX-512; never the best. */
enum gsa_cpu_level {
    GSA_CPU_BEST,
    GSA_CPU_PLAIN,
    GSA_CPU_AVX2,
    GSA_CPU_AVX512,
    GSA_CPU_EMULATED,
    GSA_CPU_NEON
};
/* The CPU at one level of vectors; a level that build or machine lacks is an error. */
gsa_status gsa_backend_cpu(const gsa_system *system, int level, int threads, gsa_backend **backend,
                           gsa_error *error);
int gsa_cpu_has(int level); /* 1 when this build and this machine have it */

/* The backend of a device by name: "cpu" (the fast one; in double ref), "ref" (plain C), "auto"
 * (cuda where it can be had, else cpu, whose error then holds the sentence with which a CUDA build
 * was refused its device), "cuda", and after it, in any order and each once, "-graphs"
 * (gsa_cuda_use_graphs of cuda.h), and one of "-tf32", "-bf16" and "-cusparse"
 * (gsa_cuda_choose_attention); as "cuda-graphs-bf16". Right after "cuda" or "auto" may stand which
 * device: "cuda:1-bf16"; else it is 0.
 * A device that is not there is a sentence that says why; nothing else falls back by itself.
 * device NULL: "auto".
 * threads: 0 (one for each core) to 4096. */
gsa_status gsa_backend_open(const gsa_system *system, const char *device, int real, int threads,
                            gsa_backend **backend, gsa_error *error);

void gsa_backend_release(gsa_backend *backend); /* NULL does nothing */

/* What a caller says when `alloc` gave NULL: on a device its own sentence, with the bytes it asked,
 * had free and has, after `what`; GSA_ERR_MEMORY, or GSA_ERR_DEVICE where the device was found
 * lost. */
gsa_status gsa_backend_no_memory(const gsa_backend *backend, const char *what, int64_t bytes,
                                 gsa_error *error);

/* What multiplies: "oneDNN 2.6.3", "CBLAS", "plain loops"; a static text. */
const char *gsa_gemm_library(void);

#ifdef __cplusplus
}
#endif
#endif
