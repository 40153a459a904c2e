/* state.h - what every file of the backend sees on the host's side: its state, how a CUDA call is
 * checked, memory. */
#ifndef GSA_CUDA_STATE_H
#define GSA_CUDA_STATE_H
#include "kernels/cuda/platform.h"
#include "kernels/backend.h"
#include "kernels/cuda/tuning.h"
#include "kernels/ref/memory.h"

typedef struct gsa_cuda_plan gsa_cuda_plan;
typedef struct gsa_cuda_library gsa_cuda_library;
typedef struct gsa_cuda_sparse gsa_cuda_sparse;
typedef struct gsa_cuda_steps gsa_cuda_steps;
typedef struct gsa_cuda_products gsa_cuda_products;

/* What kernels found wrong: the first op that says so wins, and of its rows the first. Written by
 * kernels, read by download. */
enum gsa_cuda_fault_code {
    GSA_FAULT_NONE,
    GSA_FAULT_GATHER,
    GSA_FAULT_GATHER_BACKWARD,
    GSA_FAULT_TARGET,
    GSA_FAULT_CRF_OFFSET,
    GSA_FAULT_CRF_TARGET,
    GSA_FAULT_PLACE /* at most 7: three bits */
};
/* serial << 43 | code << 40 | row; all ones: nothing. The smallest wins. */
typedef unsigned long long gsa_cuda_fault;

typedef struct gsa_cuda_block { /* device memory, in use or kept for the next of its size */
    struct gsa_cuda_block *next;
    void *at;
    int64_t bytes;
    int used;
} gsa_cuda_block;

enum { GSA_CUDA_STAGES = 2, GSA_CUDA_STAGE_BYTES = 4 << 20, GSA_CUDA_PLANS = 64 };
typedef struct gsa_cuda_ring { /* stages of pinned memory that one stream's uploads pass through */
    cudaStream_t stream;
    char *stages;
    cudaEvent_t done[GSA_CUDA_STAGES]; /* what was copied from each has arrived */
    int next;                          /* the stage that is filled */
    int64_t used;                      /* bytes of it */
    char *to;     /* uploads next to the work that follow one another are one copy, of the last */
    int64_t left; /* `left` bytes of `used`, to here: not queued yet */
} gsa_cuda_ring;

/* Uploads next to the work: a stream of their own, made with the first one. */
typedef struct gsa_cuda_ahead {
    gsa_cuda_ring ring;
    cudaEvent_t began, arrived; /* the work's place at the last upload_arrive; the last copy */
    int waits;                  /* the next copy has still to wait for `began` */
    int pending;                /* copies that the work has not waited for */
} gsa_cuda_ahead;

/* Work of a second stream (aside.cu), made with the first one. */
typedef struct gsa_cuda_aside {
    cudaStream_t stream, work; /* work: where calls go again after it */
    cudaEvent_t before, done;  /* the work's place where it began; its own last place */
    int on, pending;           /* calls go there now; the work has not waited for it */
} gsa_cuda_aside;

/* What a group of lanes reads in the place of an edge that is not there: a head vector of zeros. */
enum { GSA_CUDA_ZEROS = 256 };

/* How many blocks of a kernel have come to its last part (gsa_last_block of device.h). */
enum { GSA_CUDA_COUNTERS = 1024 };

/* Pinned memory where small downloads arrive, and with each the word of faults: the host waits
 * once. */
enum { GSA_CUDA_LANDING_BYTES = 4096 };
typedef struct gsa_cuda_landing {
    gsa_cuda_fault fault;
    char bytes[GSA_CUDA_LANDING_BYTES];
} gsa_cuda_landing;

typedef struct gsa_cuda_columns {    /* sums of columns (reduce.h) */
    float *out, *weighted, *partial; /* weighted: of x (norm_x - mean) rstd; either may be NULL */
    const float *x, *norm_x, *mean, *rstd;
    unsigned *counters; /* [slices of this launch] */
    int64_t rows, cols, chunk, first, slices, chunks, labels;
} gsa_cuda_columns;

/* Calls on elements or rows that wait, to be one kernel (elements.cu). Forward: y = f(x + bias),
 * sum = with + y, out = norm(sum); NULL: without. Back: y = dx of a norm from dy = with, times the
 * slope of an activation at `slope`; next to it the sums of columns, where there are any. */
enum { GSA_ROWWISE_NONE, GSA_ROWWISE_FORWARD, GSA_ROWWISE_BACK };
typedef struct gsa_cuda_rowwise {
    const float *x, *bias, *with, *gain, *shift, *slope;
    float *y, *sum, *out, *mean, *rstd;
    int64_t rows, cols;
    int what, activates, activation, accumulate;
    float eps;
    gsa_cuda_columns columns;
} gsa_cuda_rowwise;

typedef struct gsa_cuda_state {
    int device, capability; /* major * 10 + minor */
    char name[128];
    const gsa_cuda_tuning *tuning;
    cudaStream_t stream, own;    /* of the work: `own`, or the caller's (gsa_cuda_use_stream) */
    gsa_cuda_products *products; /* gemm.cu: not queued yet; `late`: why one could not be */
    gsa_cuda_rowwise rowwise;    /* not queued yet, after the products */
    int sending;                 /* what waits is being queued */
    gsa_error late;
    cudaError_t lost; /* sticky: every further call fails with `loss` */
    gsa_error loss;
    gsa_cuda_block *blocks;
    int64_t in_use;     /* bytes of them */
    gsa_cuda_ring ring; /* of uploads in turn; its stream is the one above */
    gsa_cuda_ahead ahead;
    gsa_cuda_aside aside;
    void *scratch;
    int64_t scratch_bytes;
    gsa_cuda_fault *fault; /* on the device */
    float *zeros;          /* on the device: GSA_CUDA_ZEROS of them, never written */
    unsigned *counters;    /* on the device: GSA_CUDA_COUNTERS, zeros between kernels */
    gsa_cuda_landing *landing;
    uint32_t serial; /* of ops that may have written a fault since it was read */
    gsa_cuda_plan *plans[GSA_CUDA_PLANS];
    int64_t plan_clock;
    gsa_cuda_library *library;
    gsa_cuda_sparse *sparse; /* NULL until attention by cuSPARSE is chosen */
    int attention;           /* enum gsa_cuda_attention */
    gsa_cuda_steps *steps;   /* NULL: no graphs, every call is queued by itself */
} gsa_cuda_state;

static inline gsa_cuda_state *gsa_cuda_of(gsa_backend *b)
{
    return (gsa_cuda_state *)b->state;
}

/* The stream of the work. What waits (gemm.cu, elements.cu) is queued on it first: whatever is
 * given to the stream comes after it. Where that fails the next checked call does. */
cudaStream_t gsa_cuda_stream(gsa_backend *b);
gsa_status gsa_cuda_send_rowwise(gsa_backend *b); /* alone */

typedef struct gsa_cuda_span { /* addresses of some words of 4 bytes: from..to-1 */
    uintptr_t from, to;
} gsa_cuda_span;

/* Of NULL: none. */
static inline gsa_cuda_span gsa_cuda_span_of(const void *at, int64_t count)
{
    if (at == NULL) return gsa_cuda_span{ 0, 0 };
    return gsa_cuda_span{ (uintptr_t)at, (uintptr_t)at + sizeof(float) * (uintptr_t)count };
}

static inline int gsa_cuda_meet(gsa_cuda_span x, gsa_cuda_span y)
{
    return x.from < y.to && y.from < x.to;
}

/* cudaSuccess, or a status with the sentence "expression at file:line: what CUDA says". Errors are
 * cleared; one that cannot be is sticky. */
gsa_status gsa_cuda_check(gsa_backend *b, cudaError_t error, const char *expression,
                          const char *file, int line);
#define GSA_CUDA(b, expression) gsa_cuda_check((b), (expression), #expression, __FILE__, __LINE__)
/* "WHAT asked of device 0, which has ..." */
gsa_status gsa_cuda_no_memory(gsa_backend *b, const char *what);

/* Leaves the calling function when the status is not GSA_OK. */
#define GSA_TRY(expression)                                                                        \
    do {                                                                                           \
        const gsa_status gsa_tried = (expression);                                                 \
        if (gsa_tried != GSA_OK) return gsa_tried;                                                 \
    } while (0)

/* Launches on the backend's stream; no blocks: nothing. The name of the kernel is in the
 * sentence of an error. */
#define GSA_RUN(b, kernel, blocks, threads, ...)                                                   \
    ((blocks) == 0                                                                                 \
         ? GSA_OK                                                                                  \
         : gsa_cuda_check((b),                                                                     \
                          GSA_LAUNCH(kernel, blocks, threads, gsa_cuda_stream(b), __VA_ARGS__),    \
                          "launch of " #kernel, __FILE__, __LINE__))

/* The same for `count` items, so many a block. More than a grid holds is a sentence of `op`. */
#define GSA_RUN_OVER(b, op, count, per_block, threads, kernel, ...)                                \
    (gsa_cuda_blocks((b), (op), (count), (per_block)) < 0                                          \
         ? (b)->error.status                                                                       \
         : GSA_RUN(b, kernel, gsa_cuda_blocks((b), (op), (count), (per_block)), threads,           \
                   __VA_ARGS__))

int gsa_cuda_is(const gsa_backend *b); /* 0: another's table, whose state is not ours */

/* Blocks for `count` items of `per_block`; more than a grid holds is a sentence: -1. */
int64_t gsa_cuda_blocks(gsa_backend *b, const char *op, int64_t count, int64_t per_block);

/* ---- graph.cu: steps that are launched as graphs. Without them these do nothing */
int gsa_cuda_in_step(gsa_backend *b);
/* Before a call that a captured stream forbids: what was captured is launched. After it: what
 * follows is captured again. leave fails where work of this step was dropped, now or before, and so
 * does every checked call from then to the step's end. */
gsa_status gsa_cuda_leave_capture(gsa_backend *b);
void gsa_cuda_enter_capture(gsa_backend *b);
/* After an error: what was captured never runs; 0: nothing was captured. Then, with the error in
 * b->error, keep: the rest of the step fails so. */
int gsa_cuda_drop_capture(gsa_backend *b);
void gsa_cuda_keep_dropped(gsa_backend *b);
gsa_status
gsa_cuda_count_call(gsa_backend *b); /* after each call: a capture that holds many is launched */
void gsa_cuda_settle_capture(gsa_backend *b); /* before plans are used: those that a dropped capture
                                                 was to make are forgotten */
void gsa_cuda_close_steps(gsa_backend *b);

/* ---- memory.cu */
void gsa_cuda_fill_memory(gsa_backend *b);
gsa_status gsa_cuda_open_memory(gsa_backend *b);
void gsa_cuda_close_memory(gsa_backend *b);
/* NULL: b->error says why. `what` opens the sentence. */
void *gsa_cuda_take(gsa_backend *b, const char *what, int64_t bytes);
void gsa_cuda_give(gsa_backend *b, void *at);
/* The same, of bytes that live until the next call of this. */
void *gsa_cuda_scratch(gsa_backend *b, const char *op, int64_t bytes);

/* Memory that arrays are cut from, each at a multiple of 16 bytes. Without memory they are counted,
 * and NULL; more than 64 bits hold is more than any device has. */
struct gsa_cuda_room {
    char *at;
    int64_t used;
    template <class T> void cut(T *&array, int64_t count)
    {
        int64_t bytes;
        array = at ? (T *)(void *)(at + used) : NULL;
        if (!gsa_mul(count, (int64_t)sizeof(T), &bytes) || bytes > INT64_MAX / 2 - used)
            used = INT64_MAX / 2;
        else used += (bytes + 15) / 16 * 16;
    }
};

/* lay(room) cuts arrays: first they are counted, then they are in scratch, or in memory of their
 * own where the caller keeps it, to give it back. */
template <class F>
gsa_status gsa_cuda_lay(gsa_backend *b, const char *op, const F &lay, void **kept = NULL)
{
    gsa_cuda_room room = {};
    lay(room);
    void *const at =
        kept ? *kept = gsa_cuda_take(b, op, room.used) : gsa_cuda_scratch(b, op, room.used);
    if (at == NULL) return b->error.status;
    room = gsa_cuda_room{ (char *)at, 0 };
    lay(room);
    return GSA_OK;
}

/* ---- faults: what a kernel that may find bad data is given */
typedef struct gsa_cuda_watch {
    gsa_cuda_fault *fault;
    unsigned long long serial; /* with the code, << 40 */
} gsa_cuda_watch;
gsa_cuda_watch gsa_cuda_suspect(gsa_backend *b, int code);
gsa_status
gsa_cuda_ask_faults(gsa_backend *b); /* queues their copy; then the stream is waited for, and */
gsa_status gsa_cuda_tell_faults(gsa_backend *b); /* what came is a sentence, or GSA_OK */

/* ---- streams and events: NULL, or there; one that is not there is made, or dropped for nothing */
gsa_status gsa_cuda_need(gsa_backend *b, cudaStream_t *stream);
gsa_status gsa_cuda_need(gsa_backend *b, cudaEvent_t *event);
static inline void gsa_cuda_undo(cudaStream_t stream)
{
    if (stream) cudaStreamDestroy(stream);
}
static inline void gsa_cuda_undo(cudaEvent_t event)
{
    if (event) cudaEventDestroy(event);
}

/* ---- aside.cu */
void gsa_cuda_close_aside(gsa_backend *b);

/* ---- every file puts its ops into the table */
void gsa_cuda_fill_aggregate(gsa_backend *b);
void gsa_cuda_fill_aside(gsa_backend *b);
void gsa_cuda_fill_attend(gsa_backend *b);
void gsa_cuda_fill_attend_sparse(gsa_backend *b);
void gsa_cuda_fill_crf(gsa_backend *b);
void gsa_cuda_fill_elements(gsa_backend *b);
void gsa_cuda_fill_gemm(gsa_backend *b);
void gsa_cuda_fill_loss(gsa_backend *b);
void gsa_cuda_fill_optim(gsa_backend *b);
void gsa_cuda_fill_pool(gsa_backend *b);
void gsa_cuda_fill_reduce(gsa_backend *b);
void gsa_cuda_fill_rows(gsa_backend *b);

#endif
