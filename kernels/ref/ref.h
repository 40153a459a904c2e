/* ref.h - what every file of ref/ sees. A file is compiled twice, with GSA_REF_BITS 32 and 64:
 * `real` is the type of the tensors, GSA_REF(name) the name of an op in that half. <tgmath.h> picks
 * expf or exp, ... by type. The cpu backend compiles the float half again for each level of
 * vectors, under GSA_REF_LEVEL's names.
 *
 * Two rules keep the bits equal for any number of threads: loops are cut into items by sizes alone,
 * and where items add to one place each has its own partial, added in the order of items
 * afterwards. */
#ifndef GSA_REF_H
#define GSA_REF_H
#include "kernels/backend.h"
#include "kernels/team.h"
#include "kernels/ref/memory.h"
#include <string.h>
#include <tgmath.h>

#if GSA_REF_BITS == 64
typedef double real;
#define GSA_REF(name) gsa_ref64_##name
#else
typedef float real;
#ifdef GSA_REF_LEVEL
#define GSA_REF_JOIN(level, name)   gsa_ref32_##level##_##name
#define GSA_REF_EXPAND(level, name) GSA_REF_JOIN(level, name)
#define GSA_REF(name)               GSA_REF_EXPAND(GSA_REF_LEVEL, name)
#else
#define GSA_REF(name) gsa_ref32_##name
#endif
#endif

/* Each file puts its ops into the table. */
void GSA_REF(fill_aggregate)(gsa_backend *b);
void GSA_REF(fill_attend_backward)(gsa_backend *b);
void GSA_REF(fill_attend_forward)(gsa_backend *b);
void GSA_REF(fill_crf)(gsa_backend *b);
void GSA_REF(fill_dropout)(gsa_backend *b);
void GSA_REF(fill_elements)(gsa_backend *b);
void GSA_REF(fill_gemm)(gsa_backend *b);
void GSA_REF(fill_loss)(gsa_backend *b);
void GSA_REF(fill_norm)(gsa_backend *b);
void GSA_REF(fill_optim)(gsa_backend *b);
void GSA_REF(fill_pool)(gsa_backend *b);
void GSA_REF(fill_reduce)(gsa_backend *b);
void GSA_REF(fill_rows)(gsa_backend *b);
void GSA_REF(fill_segments)(gsa_backend *b);

enum {
    REF_CHUNK = 16384, /* elements an item handles at least */
    REF_PARTIALS = 64, /* most partial sums of one reduction over rows: bounds the scratch */
    REF_COLUMNS = 64   /* columns an item handles where rows cannot be cut; also the width of sums
                          kept on the stack */
};

static inline int64_t ref_items(int64_t count, int64_t chunk)
{
    return count / chunk + (count % chunk != 0);
}

static inline int64_t ref_smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Rows an item handles, for rows of `cols` elements. */
static inline int64_t ref_row_chunk(int64_t cols)
{
    return cols >= REF_CHUNK ? 1 : REF_CHUNK / (cols + 1) + 1;
}

/* Rows of one partial sum: at least `least`, at most REF_PARTIALS partials. */
static inline int64_t ref_partial_chunk(int64_t rows, int64_t least)
{
    const int64_t chunk = ref_items(rows, REF_PARTIALS);
    return chunk > least ? chunk : least;
}

/* sum_i a_i b_i in eight independent sums. */
static inline real ref_dot(const real *restrict a, const real *restrict b, int64_t count)
{
    real lane[8] = { 0 }, rest = 0;
    int64_t i = 0;
    for (; i + 8 <= count; i += 8)
        for (int l = 0; l < 8; l++) lane[l] += a[i + l] * b[i + l];
    if (i + 4 <= count) {
        for (int l = 0; l < 4; l++) lane[l] += a[i + l] * b[i + l];
        i += 4;
    }
    for (; i < count; i++) rest += a[i] * b[i];
    return (((lane[0] + lane[4]) + (lane[2] + lane[6])) +
            ((lane[1] + lane[5]) + (lane[3] + lane[7]))) +
           rest;
}

/* y += scale x */
static inline void ref_axpy(real *restrict y, real scale, const real *restrict x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) y[i] += scale * x[i];
}

/* out[c] += sum over partials of partial[p * stride + c], p ascending. */
static inline void ref_add_partials(real *restrict out, const real *restrict partial,
                                    int64_t partials, int64_t stride, int64_t cols)
{
    for (int64_t p = 0; p < partials; p++) ref_axpy(out, 1, partial + p * stride, cols);
}

#endif
