/* dia.h - the format dia: DIA_ROWS rows that follow one another and whose runs follow one another
 * too: rings, windows, stars, convolutions.
 *
 * Row r of a diagonal block reads, at place e of its edges, source(e) + r or source(e) alone, with
 * one label for all rows. So its scores are [places][DIA_ROWS] (a vector holds QUADS places) with
 * no mask and no number too many: a row of K is multiplied with all rows that read it while it is
 * in a register, and so it goes for V, dK and dV, whose rows are read and written once a diagonal
 * block, not once an edge. What a diagonal block reads again of the diagonal block before is in the
 * caches.
 *
 * Diagonal blocks start at rows whose place in their example is a multiple of DIA_ROWS: how
 * examples are batched changes none. */
#ifndef GSA_CPU_DIA_H
#define GSA_CPU_DIA_H
#include "kernels/cpu/attention/dropout_mask.h"

enum {
    DIA_ROWS = 4,
    DIA_EDGES = ROWS4_PLACES,          /* of a row at most; */
    DIA_SHORT = 32,                    /* with more of them bcsr goes first, */
    DIA_STRIPES = 16,                  /* and with more stripes: dilated windows */
    DIA_WIDE = LANES == 8 ? 3 : SLICE, /* vectors of a row that are worked on at once:
                                               DIA_ROWS rows of them are in registers */
    DIA_SCORES = DIA_EDGES * DIA_ROWS,
    DIA_VECTORS = DIA_SCORES / LANES
};
_Static_assert(DIA_ROWS *QUADS == LANES, "LANES rows are QUADS diagonal blocks");

typedef struct cpu_stripe { /* places `place` .. place+count-1: row r reads first + move r at the
                               first of them, one more at each next */
    int32_t kind, first, count, move, place;
} cpu_stripe;

typedef struct cpu_dia {
    int64_t row; /* the first */
    int32_t edges, stripes;
    cpu_stripe stripe[DIA_EDGES];
    int32_t label[DIA_EDGES];
} cpu_dia;

/* 1 when a diagonal block starts at `row`: then it is filled. Rows from `last` on are another's,
 * and so are those of intervals (interval.h; NULL: none). */
int cpu_dia_at(const ref_attend *t, int64_t row, int64_t last, const int32_t *axis_of,
               cpu_dia *dia);

/* 1 when LANES rows from `row` on are diagonal blocks and a block of bcsr could start there: then
 * all of them are filled. */
int cpu_dia_all_at(const ref_attend *t, int64_t row, int64_t last, const int32_t *axis_of,
                   cpu_dia dia[QUADS]);

void cpu_dia_forward(const ref_attend *t, const cpu_dia *dia);

/* The gradients of some heads; 0, and nothing is done, when a row has none (its lse is -inf). */
int cpu_dia_backward(const ref_attend *t, const cpu_dia *dia, int32_t first, int32_t last,
                     const ref_label_sums *sums);

/* A diagonal block works head by head: a few lines of each of its rows, which no prefetcher of the
 * machine foresees. So with each line that it reads for the first time it prefetches one of a later
 * diagonal block: at 16 lanes for that of the same place, at 8 for the next in the order of
 * addresses, where all heads are at work. (Zen 3 answers prefetches for rows by pieces at half the
 * rate of prefetches along rows: kernels/cpu/TRIED.md.) */
enum { DIA_AHEAD = 4 * DIA_ROWS /* rows */, DIA_FETCHES_ALONG = LANES == 8 };
enum { DIA_FETCHED = 1 << 17 /* numbers of K that they read at most: more would leave L2 again */ };

typedef struct cpu_dia_fetch { /* for the same columns of DIA_ROWS rows, row 0's at hand */
    int64_t ahead;             /* numbers from there to what is prefetched; 0: nothing is */
    int64_t width;             /* and from row to row */
} cpu_dia_fetch;

/* `heads`: so many are at work. */
static inline int64_t cpu_dia_ahead(const ref_attend *t, int32_t heads, int32_t stripes)
{
    if (t->edges->rows * t->width < PREFETCH_LEAST || (DIA_FETCHES_ALONG && heads < t->heads) ||
        DIA_AHEAD * stripes * t->width > DIA_FETCHED)
        return 0;
    return DIA_AHEAD * t->width;
}

/* Along rows: the pieces that DIA_ROWS rows have from column `at` on are as many lines as are
 * side by side in a later diagonal block from its number DIA_ROWS at on. */
CPU_INLINE cpu_dia_fetch cpu_dia_ahead_of(int64_t ahead, int64_t at, int64_t width)
{
    return (cpu_dia_fetch){ DIA_FETCHES_ALONG && ahead ? ahead + (DIA_ROWS - 1) * at : ahead,
                            width };
}

/* With row r's `vectors` vectors of columns; x: row 0's. */
CPU_INLINE void cpu_dia_fetch_row(const float *x, int r, cpu_dia_fetch fetch, int vectors)
{
    const int piece = vectors > 1 ? vectors * LANES : CPU_LINE;
    if (!DIA_FETCHES_ALONG) cpu_prefetch_ahead(x + r * fetch.width, fetch.ahead, vectors);
    else
        for (int i = (r * piece + CPU_LINE - 1) / CPU_LINE * CPU_LINE; i < (r + 1) * piece;
             i += CPU_LINE)
            cpu_prefetch_ahead(x, fetch.ahead + i, 1);
}

/* Where place e of row 0 reads in a plane (K, V or label vectors), and how far on the next row. */
typedef struct cpu_places {
    const float *x[DIA_EDGES + QUADS];
    int64_t move[DIA_EDGES + QUADS];
    uint8_t diagonal[DIA_EDGES + QUADS]; /* e is a multiple of QUADS, and row r reads at e + 1 what
                                             row r + 1 reads at e */
    uint8_t fresh[DIA_EDGES + QUADS];    /* what the rows read at e no diagonal block before did */
    int64_t ahead; /* numbers from there to what a later diagonal block reads, which is prefetched;
                      0: nothing is */
} cpu_places;

/* Whether scores are worked out along the block's one stripe (dia_round.h), not place by place. */
static inline int cpu_by_rounds(const cpu_dia *dia)
{
    return dia->stripes == 1 && dia->stripe->move == 1 && dia->edges > QUADS;
}

/* By rounds the first place alone. */
static inline void cpu_places_of(const ref_attend *t, const cpu_dia *dia, int values, int32_t heads,
                                 cpu_places *to)
{
    const int first = cpu_by_rounds(dia);
    to->ahead = cpu_dia_ahead(t, heads, dia->stripes);
    for (int32_t i = 0; i < dia->stripes; i++) {
        const cpu_stripe *s = &dia->stripe[i];
        const gsa_part *part = &t->args->parts[s->kind];
        const float *x = (const float *)(values ? part->v : part->k) + s->first * t->width;
        for (int32_t e = 0; e < (first ? 1 : s->count); e++) {
            to->x[s->place + e] = x + e * t->width, to->move[s->place + e] = s->move * t->width;
            to->diagonal[s->place + e] =
                s->move == 1 && (s->count - e >= QUADS || s->place + s->count == dia->edges);
            to->fresh[s->place + e] = s->move == 1 && e + 1 == s->count;
        }
    }
}

static inline void cpu_label_places_of(const ref_attend *t, const cpu_dia *dia, cpu_places *to)
{
    to->ahead = 0;
    for (int32_t e = 0; e < dia->edges; e++)
        to->x[e] = t->r + (int64_t)dia->label[e] * t->dim, to->move[e] = 0,
        to->diagonal[e] = to->fresh[e] = 0;
}

/* sum[e][r] += q_r . x_e,r lane by lane, for one vector of columns. */
CPU_INLINE void cpu_dia_dot(vec sum[QUADS][DIA_ROWS], const float *q, const float *const *x,
                            const int64_t *move, int64_t width, int places, int diagonal,
                            cpu_cut one)
{
    vec row[DIA_ROWS];
    CPU_UNROLL
    for (int r = 0; r < DIA_ROWS; r++) row[r] = cpu_piece(q + r * width, 0, one);
    if (diagonal) {
        CPU_UNROLL
        for (int j = 0; j < places + DIA_ROWS - 1; j++) {
            const vec k = vec_held(cpu_piece(*x + j * width, 0, one));
            CPU_UNROLL
            for (int r = 0; r < DIA_ROWS; r++)
                if (j >= r && j - r < places) sum[j - r][r] = vec_fma(row[r], k, sum[j - r][r]);
        }
    } else {
        CPU_UNROLL
        for (int e = 0; e < places; e++) CPU_UNROLL
        for (int r = 0; r < DIA_ROWS; r++)
            sum[e][r] = vec_fma(row[r], cpu_piece(x[e] + r * move[e], 0, one), sum[e][r]);
    }
}

/* For one vector of columns. */
CPU_INLINE void cpu_dia_fetch_places(const float *q, const float *const *x, const cpu_places *p,
                                     int32_t e, cpu_dia_fetch fetch, int places, int diagonal)
{
    for (int r = 0; e == 0 && r < DIA_ROWS; r++) cpu_dia_fetch_row(q, r, fetch, 1);
    for (int i = diagonal ? places - 1 : 0; i < places; i++)
        for (int r = 0; p->fresh[e + i] && r < DIA_ROWS; r++) cpu_dia_fetch_row(x[i], r, fetch, 1);
}

/* Lane 4 e + r: q_r . x_e,r of `places` places, 0 of others. One loop alone, for gcc keeps sums of
 * two in memory. */
CPU_INLINE vec cpu_dia_dots_some(const float *q, const cpu_places *p, int32_t e, int64_t at,
                                 int64_t width, int32_t dim, int places, int diagonal, int whole)
{
    const float *from[QUADS];
    vec sum[QUADS][DIA_ROWS], w[QUADS];
    CPU_UNROLL
    for (int i = 0; i < places; i++) from[i] = p->x[e + i] + at;
    CPU_UNROLL
    for (int i = 0; i < QUADS; i++) CPU_UNROLL
    for (int r = 0; r < DIA_ROWS; r++) sum[i][r] = vec_zero();
    for (int32_t left = dim; left > 0; left -= LANES, q += LANES) {
        cpu_dia_dot(sum, q, from, p->move + e, width, places, diagonal,
                    cpu_one_vector(left, whole));
        if (p->ahead && left / LANES % (CPU_LINE / LANES) == 0)
            cpu_dia_fetch_places(q, from, p, e, cpu_dia_ahead_of(p->ahead, at + dim - left, width),
                                 places, diagonal);
        CPU_UNROLL
        for (int i = 0; i < places; i++) from[i] += LANES;
    }
    CPU_UNROLL
    for (int i = 0; i < QUADS; i++)
        w[i] = i < places ? vec_sum_fours(sum[i][0], sum[i][1], sum[i][2], sum[i][3]) : vec_zero();
    return vec_fold(w);
}

/* The same where `places` alone is known. */
CPU_INLINE vec cpu_dia_dots_few(const float *q, const cpu_places *p, int32_t e, int64_t at,
                                int64_t width, int32_t dim, int places)
{
    if (dim % LANES)
        return p->diagonal[e] ? cpu_dia_dots_some(q, p, e, at, width, dim, places, 1, 0)
                              : cpu_dia_dots_some(q, p, e, at, width, dim, places, 0, 0);
    return p->diagonal[e] ? cpu_dia_dots_some(q, p, e, at, width, dim, places, 1, 1)
                          : cpu_dia_dots_some(q, p, e, at, width, dim, places, 0, 1);
}

static inline cpu_rows4 cpu_dia_rows(const ref_attend *t, const cpu_dia *dia)
{
    return (cpu_rows4){ .t = t,
                        .row = { dia->row, dia->row + 1, dia->row + 2, dia->row + 3 },
                        .places = dia->edges,
                        .stride = 4 * cpu_whole_quads(dia->edges) };
}

/* s[e][r] <- scale q_r . x_e,r of one head, whose columns in a row of x begin at `at`; q is at
 * them. */
static inline void cpu_dia_dots(float *s, const float *q, const cpu_places *p, int32_t edges,
                                int64_t at, int64_t width, int32_t dim, float scale)
{
    for (int32_t e = 0; e < edges; e += QUADS) {
        const int32_t left = edges - e;
        const vec sum = left >= QUADS ? cpu_dia_dots_few(q, p, e, at, width, dim, QUADS)
                        : left == 1   ? cpu_dia_dots_few(q, p, e, at, width, dim, 1)
                        : left == 2   ? cpu_dia_dots_few(q, p, e, at, width, dim, QUADS / 2)
                                      : cpu_dia_dots_few(q, p, e, at, width, dim, QUADS - 1);
        vec_store(s + e * DIA_ROWS, vec_mul(vec_all(scale), sum));
    }
}

/* s += what labels, whose vectors are at r, add to the scores of a head; q is at its columns. */
static inline void cpu_dia_add_labels(const ref_attend *t, const cpu_dia *dia, const cpu_places *r,
                                      const float *q, int32_t head, float *s)
{
    const int32_t count = 4 * cpu_whole_quads(dia->edges);
    float more[DIA_SCORES];
    if (t->r) cpu_dia_dots(more, q, r, dia->edges, 0, t->width, t->dim, t->scale);
    for (int32_t i = 0; t->r && i < count; i += LANES)
        vec_store(s + i, vec_add(vec_load(s + i), vec_load(more + i)));
    for (int32_t e = 0; t->bias && e < dia->edges; e++)
        for (int i = 0; i < DIA_ROWS; i++)
            s[DIA_ROWS * e + i] += t->bias[(int64_t)dia->label[e] * t->heads + head];
}

/* ---- y_r += sum_e p[e][r] x_e,r, where y is in registers, or x_e,r += p[e][r] y_r ----------- */

enum { DIA_K, DIA_V, DIA_DK, DIA_DV }; /* planes; the last two are added to */

/* What rows from .. to have to do with one row of x, row r by p[step r]. x is written where it
 * scatters. */
CPU_INLINE void cpu_dia_row(int scatter, vec y[DIA_ROWS][DIA_WIDE], const float *p, int step,
                            float *x, int from, int to, cpu_cut cut)
{
    vec part[DIA_WIDE];
    CPU_UNROLL
    for (int v = 0; v < cut.vectors; v++)
        part[v] = scatter ? cpu_piece(x, v, cut) : vec_held(cpu_piece(x, v, cut));
    CPU_UNROLL
    for (int r = from; r <= to; r++) CPU_UNROLL
    for (int v = 0; v < cut.vectors; v++)
        if (scatter) part[v] = vec_fma(vec_all(p[step * r]), y[r][v], part[v]);
        else y[r][v] = vec_fma(vec_all(p[step * r]), part[v], y[r][v]);
    if (!scatter) return;
    CPU_UNROLL
    for (int v = 0; v < cut.vectors; v++) cpu_put_piece(x, v, cut, part[v]);
}

/* One place: each row has a row of x, `move` numbers from the one before; with 0 all have the same,
 * which is read and written once. */
CPU_INLINE void cpu_dia_place(int scatter, vec y[DIA_ROWS][DIA_WIDE], const float *p, float *x,
                              int64_t move, cpu_dia_fetch fetch, cpu_cut cut)
{
    for (int r = 0; fetch.ahead && r < DIA_ROWS; r++) cpu_dia_fetch_row(x, r, fetch, cut.vectors);
    if (move == 0) cpu_dia_row(scatter, y, p, 1, x, 0, 3, cut);
    else CPU_UNROLL
    for (int r = 0; r < DIA_ROWS; r++) cpu_dia_row(scatter, y, p, 1, x + r * move, r, r, cut);
}

/* `count` places from p on, along x: a next row has a row of x at the place before. */
CPU_INLINE void cpu_dia_stripe(int scatter, vec y[DIA_ROWS][DIA_WIDE], const float *p, float *x,
                               int32_t count, cpu_dia_fetch fetch, cpu_cut cut)
{
    const float *fresh = x + (count - 1) * fetch.width;
    CPU_UNROLL
    for (int j = 0; j < 3; j++, x += fetch.width, p += 4) {
        cpu_dia_row(scatter, y, p, -3, x, 0, j, cut);
        if (fetch.ahead && j < 2) cpu_dia_fetch_row(fresh, j, fetch, cut.vectors);
    }
    for (int32_t j = 3; j < count; j++, x += fetch.width, p += 4)
        cpu_dia_row(scatter, y, p, -3, x, 0, 3, cut);
    CPU_UNROLL
    for (int j = 0; j < 3; j++, x += fetch.width, p += 4) {
        cpu_dia_row(scatter, y, p, -3, x, j + 1, 3, cut);
        if (fetch.ahead && j < 2) cpu_dia_fetch_row(fresh, j + 2, fetch, cut.vectors);
    }
}

/* All places of a plane, from column `at` on. */
CPU_INLINE void cpu_dia_along(int plane, vec y[DIA_ROWS][DIA_WIDE], const ref_attend *t,
                              const cpu_dia *dia, const float *p, int64_t at, cpu_dia_fetch fetch,
                              cpu_cut cut)
{
    const int scatter = plane >= DIA_DK;
    for (int32_t i = 0; i < dia->stripes; i++) {
        const cpu_stripe *s = &dia->stripe[i];
        const gsa_part *part = &t->args->parts[s->kind];
        const float *share = p + s->place * DIA_ROWS;
        const void *const all[] = { part->k, part->v, part->dk, part->dv };
        float *x = (float *)(uintptr_t)all[plane]; /* K and V are read alone */
        if (!x) continue;
        x += s->first * t->width + at;
        if (s->move == 1 && s->count >= 3)
            cpu_dia_stripe(scatter, y, share, x, s->count, fetch, cut);
        else
            for (int32_t e = 0; e < s->count; e++, x += t->width, share += DIA_ROWS)
                cpu_dia_place(scatter, y, share, x, s->move * t->width,
                              s->move == 1 && e + 1 == s->count ? fetch
                                                                : (cpu_dia_fetch){ 0, t->width },
                              cut);
    }
}

#endif
