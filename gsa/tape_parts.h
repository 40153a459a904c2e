/* tape_parts.h - what the op files share. Private to gsa/. */
#ifndef GSA_TAPE_PARTS_H
#define GSA_TAPE_PARTS_H
#include "tape.h"

/* A recorded op: its record starts with this. `back` adds to the gradients of what the op read; it
 * is called only when `out` has a gradient. */
typedef struct gsa_op gsa_op;
struct gsa_op {
    void (*back)(gsa_tape *tape, gsa_op *op);
    gsa_op *before;
    gsa_tensor *out;
    int always; /* other ranks wait for `back`: it is called where `out` has no gradient, too */
    void (*rest)(gsa_tape *tape, gsa_op *op); /* what `back` put off: gradients of weights */
    gsa_op *after;                            /* of those that were put off */
    void *dy;                                 /* its gradient then */
    int puts_off;
    int reads; /* `back` neither writes out's gradient nor hands it on: it may be another's too */
};

/* Bump memory in chunks; what one round needed in several chunks, the next gets in one. */
typedef struct gsa_chunk_list gsa_chunk_list;
typedef struct gsa_arena {
    gsa_chunk_list *chunks;
    int64_t total;
} gsa_arena;

/* Memory of a gradient that nobody reads any more. */
typedef struct gsa_spare gsa_spare;
struct gsa_spare {
    gsa_spare *before;
    void *at;
    int64_t bytes;
};

/* tape_late.c: rows that are on their way from other ranks. A product, a norm or a concatenation of
 * a tensor with such rows leaves its own late rows out until gsa_tape_arrive gives them. Others are
 * to be given such a tensor after that alone. */
typedef struct gsa_late gsa_late;
struct gsa_late { /* a tensor that lacks rows, and how they come to be; the first of all came first
                   */
    gsa_late *next;
    gsa_tensor *y;
    const uint8_t *row, *block;                          /* [rows], [row blocks of gemm]: 1: late */
    void (*again)(gsa_tape *tape, const gsa_late *late); /* NULL: they arrive */
    gsa_tensor *x, *w, *bias, *mean, *rstd, **parts;
    double eps;
};
typedef struct gsa_journey {
    gsa_late *first, *last;
    /* With `waits` the rows are there afterwards, or the tape has failed. NULL: none are late. */
    void (*go_on)(gsa_tape *tape, void *user, int waits);
    void *user;
    gsa_op *put_off, *put_off_last; /* backward: ops whose `rest` waits for a journey to run with */
} gsa_journey;

/* tape_ahead.c */
enum { GSA_STAGED = 64 };
typedef struct gsa_staged_array {
    const void *host;
    int64_t bytes;
    void *at;
} gsa_staged_array;
typedef struct gsa_staged { /* a room, and what is in it */
    gsa_staged_array array[GSA_STAGED];
    int count;
    char *at;
    int64_t bytes, used, offered; /* offered: all that was to go there, whether it fitted or not */
} gsa_staged;
typedef struct gsa_ahead {
    gsa_staged room[2];
    int now, expected, full; /* now: this round's room; full: there was no memory for one */
    int64_t most;            /* bytes that were offered for one round */
    gsa_error refused;       /* why there was none; status GSA_OK: there was, or it was told */
} gsa_ahead;

struct gsa_tape {
    const gsa_system *system;
    gsa_backend *backend;
    gsa_arena host, device;
    gsa_ahead ahead;
    gsa_journey journey;
    gsa_spare *spare, *blank;    /* the last that fell free first, which a cache may still hold;
                                    records without memory */
    int handed;                  /* the op at work has handed its gradient on */
    const gsa_tensor *shared[2]; /* have one gradient: who writes it first gets a copy; or one,
                                    whose gradient is `one` */
    int64_t most;                /* bytes that a round before this one has used */
    gsa_op *last;
    void *one; /* the number 1 in the backend's memory, made once; NULL: not yet */
    int training, failed;
    void (*between)(void *user); /* of tape_watch.h, or NULL */
    void *user;
    uint32_t seed, step;
    const int32_t *example_id; /* backend memory, [examples] */
    int32_t examples, named;   /* named: the caller gave the numbers */
    gsa_error error;
};

/* A fresh tensor of the tape, memory not cleared; needs a gradient only while training. NULL after
 * a failure. */
gsa_tensor *gsa_tape_new(gsa_tape *tape, int64_t rows, int64_t cols, int wants_grad);
/* The gradient of x, made (zeroed) at first need; NULL where none is wanted. */
void *gsa_tape_grad(gsa_tape *tape, gsa_tensor *x);
/* The same where the caller writes all of it if *unset, and adds to it otherwise: then nothing is
 * zeroed first. */
void *gsa_tape_grad_unset(gsa_tape *tape, gsa_tensor *x, int *unset);
/* For each tensor that may be a parameter (which has a gradient already) of an op that is recorded:
 * its backward takes the gradient once, by gsa_tape_grad or gsa_tape_spend. */
static inline void gsa_tape_use(const gsa_tape *tape, gsa_tensor *x)
{
    if (tape->between && tape->training && x && x->wants_grad && x->grad) x->uses++;
}
/* One use is over; a failure where none was left. */
void gsa_tape_spend(gsa_tape *tape, gsa_tensor *x);
/* Adds dy, as many numbers as x has, to its gradient. The first is a copy; with `last`, where
 * nobody reads dy any more, dy itself. */
void gsa_tape_add_grad(gsa_tape *tape, gsa_tensor *x, void *dy, int last);
/* Makes dy, which the op at work got and has turned into it, the gradient of x: 1; 0 where x has
 * one already, or is a view. */
int gsa_tape_hand_grad(gsa_tape *tape, gsa_tensor *x, void *dy);
/* The same for two at once, which share it until one of them is to be written: 1; 0: not done. */
int gsa_tape_share_grad(gsa_tape *tape, gsa_tensor *a, gsa_tensor *b, void *dy);
/* Memory of a gradient, which gsa_tape_spare gives back for later ones. */
void *gsa_tape_grad_memory(gsa_tape *tape, int64_t bytes);
void gsa_tape_spare(gsa_tape *tape, void *at, int64_t bytes);
/* Records an op of `bytes` bytes with `out`; returns the record to fill in, or NULL when nothing is
 * recorded or memory ran out. */
void *gsa_tape_record(gsa_tape *tape, size_t bytes, void (*back)(gsa_tape *, gsa_op *),
                      gsa_tensor *out);
/* 1 when the call went well; else takes the backend's sentence over. */
int gsa_tape_check(gsa_tape *tape, gsa_status status);
int gsa_tape_missing(gsa_tape *tape, const char *entry);
/* Calls an entry of the backend's table: 1 or 0. */
#define GSA_CALL(tape, entry, ...)                                                                 \
    ((tape)->backend->entry                                                                        \
         ? gsa_tape_check((tape), (tape)->backend->entry((tape)->backend, __VA_ARGS__))            \
         : gsa_tape_missing((tape), #entry))
/* 1 when the op cannot run: the tape has failed, or an operand is missing, which then is the
 * failure. */
static inline int gsa_tape_lacks(gsa_tape *tape, const void *operand, const char *op)
{
    if (!tape->failed && !operand)
        gsa_tape_fail(tape, GSA_ERR_ARGUMENT, "%s: an operand is NULL", op);
    return tape->failed;
}
/* y lacks rows: row [y's rows], until gsa_tape_arrive. Returns what `again` needs, to be filled in,
 * or NULL after a failure. */
gsa_late *gsa_tape_lack(gsa_tape *tape, gsa_tensor *y, const uint8_t *row);
/* What is said of x, or NULL: all of its rows are there. */
const gsa_late *gsa_tape_late(const gsa_tape *tape, const gsa_tensor *x);
/* Waits for the rows, and gives what was left out, in order. Where none are late it does nothing.
 */
void gsa_tape_arrive(gsa_tape *tape);
/* Backward: op's `rest` runs at gsa_tape_catch_up, its gradient is kept until then; 0: it cannot be
 * put off. `beside` is called between them. */
int gsa_tape_put_off(gsa_tape *tape, gsa_op *op);
void gsa_tape_catch_up(gsa_tape *tape, void (*beside)(gsa_tape *tape, void *user), void *user);
/* Is x's gradient another's too? */
int gsa_tape_shares_grad(const gsa_tape *tape, const gsa_tensor *x);
/* At a reset: what was uploaded ahead is this round's, where it was expected. */
void gsa_tape_turn_ahead(gsa_tape *tape);
void gsa_tape_close_ahead(gsa_tape *tape);
/* Where tensors need the memory: gives back the room that nothing was offered for yet; 0: there is
 * none. */
int gsa_tape_yield_ahead(gsa_tape *tape);
/* Where these bytes exist already, or NULL. */
void *gsa_tape_staged(const gsa_tape *tape, const void *host, int64_t bytes);
/* Bytes of rows x cols reals, or -1 on overflow. */
int64_t gsa_tape_bytes(const gsa_tape *tape, int64_t rows, int64_t cols);
gsa_dropout gsa_tape_dropout(const gsa_tape *tape, double p, uint32_t site, gsa_row_identity rows);
/* Sets identity numbers 0..count-1 when the caller gave none; fails when those it gave are
 * fewer. */
void gsa_tape_default_examples(gsa_tape *tape, int32_t count);

#endif
