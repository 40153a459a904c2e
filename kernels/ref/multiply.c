/* multiply.c - C = op(A) op(B) in plain loops on one thread: panels of op(A) and op(B) are copied
 * side by side into a small block on the stack, and 4 x 8 results are kept in registers (Goto, van
 * de Geijn 2008, in its simplest form). */
#include "kernels/gemm.h"
#include "kernels/ref/ref.h"

enum {
    TALL = 4,
    WIDE = 8,
    DEEP = 128,
    SPAN = (int)(256 / sizeof(real)) /* columns of op(B) packed at a time: 32 kB of stack */
};

static inline int64_t place(int64_t row, int64_t col, int64_t ld, int transpose)
{
    return transpose ? col * ld + row : row * ld + col;
}

/* panel [deep][TALL] of op(A) rows i.., columns k..; rows beyond the end are 0. */
static void pack_a(real *restrict panel, const gsa_gemm *g, int64_t i, int64_t k, int64_t deep)
{
    const real *a = g->a;
    for (int64_t d = 0; d < deep; d++)
        for (int64_t t = 0; t < TALL; t++)
            panel[d * TALL + t] = i + t < g->m ? a[place(i + t, k + d, g->lda, g->transpose_a)] : 0;
}

/* panels [SPAN / WIDE][deep][WIDE] of op(B) rows k.., columns j..; columns beyond the end are 0. */
static void pack_b(real *restrict panels, const gsa_gemm *g, int64_t k, int64_t j, int64_t deep)
{
    const real *b = g->b;
    for (int64_t s = 0; s < SPAN && j + s < g->n; s += WIDE)
        for (int64_t d = 0; d < deep; d++)
            for (int64_t w = 0; w < WIDE; w++)
                panels[s * DEEP + d * WIDE + w] =
                    j + s + w < g->n ? b[place(k + d, j + s + w, g->ldb, g->transpose_b)] : 0;
}

/* C [TALL, WIDE] += panel_a panel_b, cut at the edges of C. WIDE is written out: sanitizers check
 * each access of a loop, and this is where sanitized training is. */
_Static_assert(WIDE == 8, "corner writes it out");
static void corner(const gsa_gemm *g, int64_t i, int64_t j, const real *restrict pa,
                   const real *restrict pb, int64_t deep)
{
    real sum[TALL][WIDE] = { { 0 } };
    for (int64_t d = 0; d < deep; d++)
        for (int t = 0; t < TALL; t++) {
            const real a = pa[d * TALL + t], *const b = pb + d * WIDE;
            real *const to = sum[t];
            to[0] += a * b[0], to[1] += a * b[1], to[2] += a * b[2], to[3] += a * b[3];
            to[4] += a * b[4], to[5] += a * b[5], to[6] += a * b[6], to[7] += a * b[7];
        }
    for (int64_t t = 0; t < TALL && i + t < g->m; t++)
        for (int64_t w = 0; w < WIDE && j + w < g->n; w++)
            ((real *)g->c)[(i + t) * g->ldc + j + w] += sum[t][w];
}

void GSA_REF(multiply)(const gsa_gemm *g)
{
    real pa[DEEP * TALL], pb[DEEP * SPAN];
    if (!g->accumulate)
        for (int64_t i = 0; i < g->m; i++)
            memset((real *)g->c + i * g->ldc, 0, sizeof(real) * (size_t)g->n);
    for (int64_t j = 0; j < g->n; j += SPAN)
        for (int64_t k = 0; k < g->k; k += DEEP) {
            const int64_t deep = ref_smaller(DEEP, g->k - k);
            pack_b(pb, g, k, j, deep);
            for (int64_t i = 0; i < g->m; i += TALL) {
                pack_a(pa, g, i, k, deep);
                for (int64_t s = 0; s < SPAN && j + s < g->n; s += WIDE)
                    corner(g, i, j + s, pa, pb + s * DEEP, deep);
            }
        }
}
