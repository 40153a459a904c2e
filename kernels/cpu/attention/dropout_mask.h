/* dropout_mask.h - which edges attention's dropout keeps: the words of words.h, which are ref's,
 * drawn for LANES edges and four heads at once and kept as bits as long as a row's block, a
 * diagonal block, a tile or a block of dense rows is worked on. Backward draws them again.
 *
 * A dropped edge's weight is multiplied by 0, not replaced: NaN stays NaN. */
#ifndef GSA_CPU_DROPOUT_MASK_H
#define GSA_CPU_DROPOUT_MASK_H
#include "kernels/cpu/attention/bcsr.h"
#include "kernels/cpu/attention/softmax.h"

#if GSA_CPU_LANES == 16
typedef uint16_t cpu_bits; /* LANES edges: bit i is set where lane i is kept */
#else
typedef uint8_t cpu_bits;
#endif

enum {
    MASK_HEADS = 4, /* drawn together, as the key has it; the first is a multiple of 4 */
    MASK_WORD = 32  /* columns of a block */
};

typedef struct cpu_bcsr_mask { /* bit c of word [c / 32][r]: row r keeps its edge to column c. Of
                                  edges that are not there: 0 */
    uint32_t word[MASK_HEADS][BCSR_COLUMNS / MASK_WORD * LANES];
} cpu_bcsr_mask;

/* Of four rows, edges first[r] .. first[r]+places-1 (first NULL: from 0 on), for the heads head ..
 * head + 3, as their scores are (softmax.h): bits[stride j + i] for vector i of head + j. */
void cpu_mask_rows4(const ref_attend *t, const int64_t row[4], const uint32_t *first,
                    int32_t places, int32_t head, cpu_bits *bits, int64_t stride);

/* Of a block of bcsr for the heads head .. head + 3. */
void cpu_mask_bcsr(const ref_attend *t, const bcsr_block *block, int32_t head,
                   cpu_bcsr_mask *keep_mask);

/* Of a row's edges from .. from+count-1 for the heads head .. head + 3: bits[stride j + i] for
 * LANES edges of head + j. */
void cpu_mask_edges(const ref_attend *t, int64_t row, int64_t from, int64_t count, int32_t head,
                    cpu_bits *bits, int64_t stride);

/* s *= 0 or 1/(1-p): `vectors` vectors whose lanes are edges. */
static inline void cpu_mask_apply(const ref_attend *t, float *s, const cpu_bits *bits,
                                  int64_t vectors)
{
    const vec keep = vec_all(t->drop.keep);
    for (int64_t i = 0; i < vectors; i++, s += LANES)
        vec_store(s, vec_mul(vec_load(s), vec_keep(lanes_of_bits(bits[i]), keep, vec_zero())));
}

/* The same for the scores [place][row] of the places of panel g. */
static inline void cpu_mask_panel(const ref_attend *t, float *s, const cpu_bcsr_mask *keep_mask,
                                  int32_t head, const bcsr_panel *panel, int g)
{
    const vec keep = vec_all(t->drop.keep);
    const uint32_t *rows = keep_mask->word[head % MASK_HEADS] + 4 * g, *word[QUADS];
    int bit[QUADS];
    for (int32_t j = 0; j < panel->count; j += QUADS, s += LANES) {
        for (int i = 0; i < QUADS; i++) {
            const int32_t column = panel->column[j + i];
            word[i] = rows + column / MASK_WORD * LANES, bit[i] = column % MASK_WORD;
        }
        vec_store(s,
                  vec_mul(vec_load(s), vec_keep(lanes_of_quad_bits(word, bit), keep, vec_zero())));
    }
}

enum { ROWS4_VECTORS = HEADS * ROWS4_PLACES * ROWS4 / LANES }; /* of a cpu_rows4 at most */

/* Where there is dropout: s *= 0 or 1/(1-p); the bits too, where `keep_mask` is not NULL. */
static inline void cpu_rows4_drop(const cpu_rows4 *x, float *s, cpu_bits *keep_mask)
{
    const int32_t vectors = x->stride / LANES;
    cpu_bits bits[ROWS4_VECTORS];
    if (!x->t->drop.on) return;
    for (int32_t h = 0; h < x->heads; h += MASK_HEADS)
        cpu_mask_rows4(x->t, x->row, NULL, x->places, x->first + h, bits + h * vectors, vectors);
    cpu_mask_apply(x->t, s, bits, (int64_t)x->heads * vectors);
    if (keep_mask) memcpy(keep_mask, bits, sizeof *bits * (size_t)(x->heads * vectors));
}

/* Backward, of all heads: p, which holds s, and ds, which holds g; lse, inner: [heads][4], with
 * room for LANES numbers more; lse is filled. */
static inline void cpu_rows4_weigh(const cpu_rows4 *x, float *p, float *ds, float *lse,
                                   const float *inner)
{
    const ref_attend *t = x->t;
    cpu_bits keep_mask[ROWS4_VECTORS];
    for (int r = 0; r < ROWS4; r++)
        for (int32_t h = 0; h < x->heads; h++)
            lse[ROWS4 * h + r] = ((const float *)t->args->lse)[x->row[r] * t->heads + x->first + h];
    cpu_rows4_drop(x, ds, keep_mask);
    cpu_rows4_slopes(x, p, ds, lse, inner);
    if (t->drop.on) cpu_mask_apply(t, p, keep_mask, x->heads * x->stride / LANES);
}

#endif
