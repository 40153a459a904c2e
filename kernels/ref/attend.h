/* attend.h - what the forward and the backward pass of attention share: the scores of a block of
 * edges for one head. */
#ifndef GSA_REF_ATTEND_H
#define GSA_REF_ATTEND_H
#include "kernels/ref/dropout.h"
#include "kernels/ref/walk.h"

typedef struct ref_attend {
    const gsa_attend_args *args;
    const gsa_edges *edges;
    int32_t heads, dim;
    int64_t width; /* heads * dim */
    real scale;
    const real *r, *bias; /* [labels, dim], [labels, heads] or NULL */
    ref_drop drop;
    const void *plan;  /* for a level of cpu: of the edges */
    int64_t from, end; /* edges of a lone row, where it is cut; end 0: all of them */
} ref_attend;

/* One block with its rows of K and V. */
typedef struct ref_attend_block {
    ref_edge_block edge;
    uint32_t first; /* place of the first edge in its row */
    const real *k[REF_BLOCK], *v[REF_BLOCK];
    real factor[REF_BLOCK][4]; /* dropout of the heads 4i..4i+3 at work */
} ref_attend_block;

static inline ref_attend ref_attend_of(const gsa_attend_args *args)
{
    return (ref_attend){ .args = args,
                         .edges = args->edges,
                         .heads = args->heads,
                         .dim = args->head_dim,
                         .width = (int64_t)args->heads * args->head_dim,
                         .scale = (real)args->scale,
                         .r = args->label_vectors,
                         .bias = args->label_bias,
                         .drop = ref_drop_of(&args->dropout) };
}

static inline gsa_status ref_attend_check(gsa_backend *b, const char *op,
                                          const gsa_attend_args *args, int backward)
{
    const gsa_status status = gsa_ref_check_attend(b, op, args, backward);
    return status == GSA_OK ? gsa_ref_check_edges(b, op, args->edges, backward) : status;
}

/* Whether the call gives none of the rows, which are worked on together. */
static inline int ref_leaves_out(const gsa_attend_args *args, int64_t row, int64_t rows)
{
    int late = 0;
    for (int64_t i = 0; args->late && i < rows; i++) late |= args->late[row + i];
    return args->late && late != (args->rest != 0);
}

enum { REF_WIDE = 8 /* pieces of a hub */, REF_PIECE = 64 /* they begin at multiples, of edges */ };

/* A piece of a hub's edges, of `pieces`; 0: it has none. */
static inline int ref_attend_piece(ref_attend *t, int64_t row, int piece, int pieces)
{
    const int64_t edges = t->edges->edge_offset[row + 1] - t->edges->edge_offset[row],
                  most = REF_PIECE * ref_items(edges, (int64_t)REF_PIECE * pieces);
    t->from = piece * most, t->end = ref_smaller(t->from + most, edges);
    return t->from < t->end;
}

/* Whether a row's edges, of which the first `first` + `count` are done, are not at the end of a
 * cut. */
static inline int ref_attend_goes_on(const ref_attend *t, uint32_t first, int32_t count)
{
    return t->end == 0 || first + (int64_t)count < t->end;
}

/* The next block of a row; 0 at its end. */
static inline int ref_attend_next(const ref_attend *t, ref_walk *walk, ref_attend_block *block)
{
    block->first += (uint32_t)block->edge.count;
    if (ref_walk_next(walk, &block->edge) == 0) return 0;
    for (int32_t e = 0; e < block->edge.count; e++) {
        const gsa_part *part = &t->args->parts[block->edge.kind[e]];
        block->k[e] = (const real *)part->k + block->edge.source[e] * t->width;
        block->v[e] = (const real *)part->v + block->edge.source[e] * t->width;
    }
    return 1;
}

/* Draws the dropout factors of the heads head..head+3 (head is a multiple of 4) for all edges of
 * the block. */
static inline void ref_attend_draw(const ref_attend *t, int64_t row, int32_t head,
                                   ref_attend_block *block)
{
    const int32_t example = t->drop.example_id[t->edges->row_example[row]],
                  local = t->edges->row_local[row];
    for (int32_t e = 0; e < block->edge.count; e++)
        ref_drop_four(&t->drop, example, local, block->first + (uint32_t)e, (uint32_t)head / 4,
                      block->factor[e]);
}

/* s_e = scale q.(k_e + r_l) + b_{l,head};  q is at the head's columns. */
static inline void ref_scores(const ref_attend *t, const ref_attend_block *block, const real *q,
                              int32_t head, real *restrict s)
{
    const int64_t at = (int64_t)head * t->dim;
    for (int32_t e = 0; e < block->edge.count; e++) s[e] = ref_dot(q, block->k[e] + at, t->dim);
    if (t->r)
        for (int32_t e = 0; e < block->edge.count; e++)
            s[e] += ref_dot(q, t->r + (int64_t)block->edge.label[e] * t->dim, t->dim);
    for (int32_t e = 0; e < block->edge.count; e++) s[e] *= t->scale;
    if (t->bias)
        for (int32_t e = 0; e < block->edge.count; e++)
            s[e] += t->bias[(int64_t)block->edge.label[e] * t->heads + head];
}

/* y += sum_e p_e x_e[at ..], four edges at a time. */
static inline void ref_mix(real *restrict y, const real *restrict p, const real *const *x,
                           int64_t at, int32_t edges, int32_t dim)
{
    int32_t e = 0;
    for (; e + 4 <= edges; e += 4) {
        const real *restrict a = x[e] + at, *restrict b = x[e + 1] + at,
                             *restrict c = x[e + 2] + at, *restrict d = x[e + 3] + at;
        for (int32_t i = 0; i < dim; i++)
            y[i] += (p[e] * a[i] + p[e + 1] * b[i]) + (p[e + 2] * c[i] + p[e + 3] * d[i]);
    }
    for (; e < edges; e++) ref_axpy(y, p[e], x[e] + at, dim);
}

#endif
