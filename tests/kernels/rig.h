/* rig.h - tensors for tests of ops. Each is in the backend's memory between two guard bands of
 * 1 KiB, has a copy in double on the host (`value`, rounded as the backend holds it), the expected
 * result next to it (`want`), and where it takes part in backward a gradient with the same three.
 */
#ifndef GSA_TEST_RIG_H
#define GSA_TEST_RIG_H
#include "support/compare.h"
#include "support/edges_of.h"

enum rig_type { RIG_REAL, RIG_DOUBLE, RIG_INT32, RIG_INT64, RIG_BYTE };
enum rig_role {
    RIG_CONST,  /* read only                                                            */
    RIG_INPUT,  /* read only; backward adds to its gradient                             */
    RIG_OUTPUT, /* written by forward; its gradient is given to backward                */
    RIG_KEPT,   /* written by forward, has no gradient                                  */
    RIG_STATE,  /* changed in place                                                     */
    RIG_INOUT   /* changed in place by forward; its gradient is given to backward       */
};
enum rig_fill { RIG_RANDOM, RIG_ZEROS, RIG_EQUAL_ROWS };

typedef struct rig_array { /* one array in the backend, guard bands around it */
    char *whole;
    void *at;
    double *value, *start, *want;
} rig_array;

typedef struct rig_tensor {
    const char *name;
    int type, role, bytes;
    int64_t count, row; /* row: elements that share a scale */
    rig_array data, grad;
} rig_tensor;

enum { RIG_TENSORS = 24 };
typedef struct rig {
    gsa_backend *b;
    gsa_dice dice;
    int fill; /* how RIG_INPUT tensors start */
    rig_tensor t[RIG_TENSORS];
    int count;
    const int64_t *shape;
    /* what cases keep next to tensors */
    edges_maker maker;
    gsa_edges device;
    int has_edges;
    gsa_dropout dropout;
} rig;

void rig_begin(rig *r, gsa_backend *b, uint64_t seed, int fill, const int64_t *shape);
/* Makes the next tensor; values are normal with deviation `scale`. Returns its place. */
int rig_real(rig *r, const char *name, int role, int64_t rows, int64_t cols, double scale);
/* A constant array of int32, int64, double or bytes with these values; or an output (values
 * NULL). */
int rig_other(rig *r, const char *name, int type, int role, int64_t count, const double *values);
/* Sets one value of a tensor, host and backend, as its starting value. */
void rig_set(rig *r, int tensor, int64_t i, double value);
/* A gradient that holds nothing yet, of which all is to be written: NaN in the backend; and zeros
 * in what is expected, for an oracle that adds. */
void rig_soil(rig *r, int tensor);
void rig_start_at_zeros(rig *r, int tensor);
int rig_find(const rig *r, const char *name); /* -1: none */
void rig_edges(rig *r, edges_wish wish);
void rig_graph(rig *r); /* takes the graph that the caller made in r->maker */
void rig_dropout(rig *r, double p, int64_t rows);
void rig_end(rig *r);

void rig_restart(rig *r);      /* every array back to its starting values */
void rig_fetch(rig *r);        /* from the backend to `value` */
int rig_bands_touched(rig *r); /* 0, or prints where */
/* FNV-1a over the bits of every fetched value and gradient, 8 bytes at a time; high bits come down,
 * since a product moves them up only. */
uint64_t rig_hash(const rig *r);
/* Compares value with want of everything that forward (or backward) writes: NMSE and max error over
 * row scale. */
int rig_compare(const rig *r, const char *name, int gradients, double nmse, double per_row);

#define R_AT(i) (r->t[i].data.at) /* in the backend */
#define R_D(i)  (r->t[i].grad.at)
#define R_X(i)  (r->t[i].data.start) /* host: what the op is given */
#define R_Y(i)  (r->t[i].data.want)  /* host: what is expected */
#define R_DY(i) (r->t[i].grad.start)
#define R_DX(i) (r->t[i].grad.want)

#endif
