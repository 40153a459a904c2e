/* tile.h - LANES rows that follow one another, and the sources that they read together.
 *
 * Where rows share sources (windows, whole sentences, the levels of a tree) their scores are a small matrix [columns, LANES] with a mask:
 * a score vector holds one source and all rows, so there are no horizontal sums; each row of K and V is read once a tile. What
 * stands outside the mask has weight 0. Tiles start at rows whose place in their example is a multiple of LANES: how examples are
 * batched changes no tile. */
#ifndef GSA_CPU_TILE_H
#define GSA_CPU_TILE_H
#include "kernels/cpu/attention/soon.h"
#include "kernels/cpu/attention/attend.h"
#include "kernels/ref/attend_items.h"

enum {
    TILE_COLUMNS = 8192,   /* sources of a tile at most */
    TILE_CLUSTERS = 64,    /* ranges of neighbouring sources at most */
    TILE_DIM = 256,        /* columns of a head at most */
    TILE_LABELS = 512,     /* labels of a tile at most, and */
    TILE_PLACED = 1024,    /* its sources, where labels matter */
    TILE_ROWS = LANES / 4, /* rows of a product that stand in registers at once, at least (cpu_rows_together) */
    STRIP_ENDS = 48,       /* numbers of a strip's lists at most, beside 4 an edge: what goes up to multiples of QUADS */
    STRIP_ROOM = 6 * TILE_PLACED + TILE_LABELS + STRIP_ENDS, /* of any strip: column, mask, from; wanted */
};

typedef struct cpu_cluster { /* sources first .. last of a kind are the tile's columns from `column` */
    int32_t kind, first, last, column;
} cpu_cluster;

/* By how many labels the four rows of a strip read a place, and which of them share one: bit r of a way says that row r's label need not be
 * that of row r - 1; the last one shares nothing. A strip's places are sorted by the first way that fits; a row that does not read a place fits any. What binary
 * trees have: a row that begins or ends four which read the same spans, two twos, the middle two. */
enum { LABEL_WAYS = 5 };
#define CPU_LABEL_WAYS { 0x3, 0x9, 0x5, 0xB, 0xF }

/* Four rows of a tile, row 4 g the first of them in strip g: the columns that one of them reads, in an order of its own. QUADS of these
 * places stand in a vector of scores, [places][4]: lane 4 i + r is row r at place i. */
typedef struct cpu_strip {
    int32_t count;  /* places; behind them columns that are there and none of whose lanes is an edge, up to a multiple of QUADS */
    int32_t plain;  /* the first places, a multiple of QUADS of them: their rows read them by one label. All, where labels do not matter */
    int32_t labels; /* by which the rows read the others */
    int32_t end[LABEL_WAYS]; /* where the others of each way end, counted from `plain`: multiples of QUADS */
    const uint16_t *column;
    const uint16_t *mask;   /* [vectors]: the lanes that are edges */
    const uint16_t *label;  /* [plain], none where labels do not matter: a place among the tile's labels */
    const uint16_t *wanted; /* [labels], up to a multiple of QUADS: likewise */
    const uint16_t *from;   /* [places behind `plain`][4]: i where row r's label is wanted[i]; without an edge what the rows have that share theirs
                               with it by the way, 0 where there is none */
} cpu_strip;

typedef struct cpu_pair { /* which rows of a tile read a column by one label, a place among the tile's */
    uint16_t column, label, rows;
} cpu_pair;

typedef struct cpu_tile {
    int64_t row; /* the first */
    int32_t columns, clusters, labels;
    int32_t fours; /* how often one of its rows' fours reads a column */
    const cpu_cluster *cluster;
    const uint16_t *mask; /* [columns]; bit r: row + r reads the column */
    /* Where labels matter: which ones there are, and which one row r reads column c by, as a place among them. */
    const int32_t *label;
    const uint16_t *place; /* [columns][LANES] */
    int32_t pairs;
    const cpu_pair *pair, *turned; /* [pairs]: the same once more, by columns that ascend and by labels that ascend */
    int32_t strips;                      /* QUADS, or 0: there are none */
    cpu_strip strip[QUADS];
} cpu_tile;

typedef struct cpu_tile_room { /* what a tile may need at most */
    cpu_cluster cluster[TILE_CLUSTERS];
    uint16_t mask[TILE_COLUMNS];
    int32_t label[TILE_LABELS];
    uint16_t place[TILE_PLACED * LANES];
    cpu_pair pair[TILE_PLACED * LANES], turned[TILE_PLACED * LANES];
    uint16_t strip[QUADS * STRIP_ROOM];
} cpu_tile_room;

/* The column of a run's first source. `near`: of the cluster that is looked at first; afterwards of the one that holds it. */
static inline int32_t cpu_column_of(const cpu_tile *tile, const gsa_run *run, int32_t *near)
{
    const cpu_cluster *x = tile->cluster + *near;
    if (x->kind != run->kind || run->first < x->first || x->last < run->first)
        for (x = tile->cluster; x->kind != run->kind || x->last < run->first; x++) {
        }
    *near = (int32_t)(x - tile->cluster);
    return x->column + (run->first - x->first);
}

typedef struct cpu_columns { /* at most BLOCK columns of a tile */
    int32_t first, count;
    const uint16_t *mask;
    const float *k[BLOCK], *v[BLOCK];
    int32_t kind[BLOCK], source[BLOCK];
} cpu_columns;

typedef struct cpu_reading cpu_reading; /* tile_read.h */
struct cpu_kept_tile;                   /* kept.h */

/* 1 when a tile starts at `row` and pays: then it stands in `room`. Rows from `last` on are another's. */
int cpu_tile_find(const gsa_edges *e, int64_t row, int64_t last, int labelled, cpu_tile_room *room, cpu_tile *tile);

/* Whether a call can work by tiles at all; whether labels matter to it. */
static inline int cpu_tiles_serve(const ref_attend *t)
{
    return !t->args->weights && t->dim > 0 && t->dim <= TILE_DIM;
}
static inline int cpu_labelled(const ref_attend *t)
{
    return t->r || t->bias || t->args->dlabel_vectors || t->args->dlabel_bias;
}

/* Few rows read a column: scores are worked out for four rows at a time (cpu_score_tile). That costs about half more for a column that four
 * rows read, and nothing for one that they do not. */
static inline int cpu_by_fours(const ref_attend *t, const cpu_tile *tile)
{
    return LANES == 16 && t->dim <= SLICE * LANES && 3 * (int64_t)tile->fours < 2 * QUADS * (int64_t)tile->columns;
}

/* Whether a call's heads and a tile are worked on by strips (tile_strip.h); how many vectors of them are scored or mixed by then. */
static inline int cpu_strips_serve(const ref_attend *t)
{
    return LANES == 8 || t->dim <= SLICE * LANES;
}
static inline int cpu_by_strips(const ref_attend *t, const cpu_tile *tile)
{
    return tile->strips > 0 && cpu_strips_serve(t);
}
static inline int64_t cpu_strip_vectors(const cpu_tile *tile)
{
    int64_t vectors = 0;
    for (int g = 0; g < tile->strips; g++)
        vectors += 2 * ((tile->strip[g].count + QUADS - 1) / QUADS);
    return vectors;
}

/* Whether LANES rows from `row` on, which all stand before `last`, may be a tile by where they stand; whether so many columns may be one. */
int cpu_tile_starts(const gsa_edges *e, int64_t row, int64_t last);
int cpu_tile_pays(int64_t columns, int64_t edges);
int64_t cpu_tile_columns(int64_t edges); /* of tiles of so many edges at most */

/* Fills the strips of a tile whose columns and labels are known (tile_strip.c). */
void cpu_tile_strips(cpu_tile *tile, cpu_tile_room *room);

/* Where a range of rows that starts at `row` may be cut: behind the tile that `row` would stand inside of. */
int64_t cpu_tile_cut(const gsa_edges *edges, int64_t row);

/* The forward pass of a tile; 0 when something is not finite: then rows are computed one by one, for a NaN or an infinity that a row
 * does not read must not reach it. */
int cpu_tile_forward(const ref_attend *t, const cpu_tile *tile, cpu_reading *reading);

int cpu_strips_forward(const ref_attend *t, const cpu_tile *tile, cpu_reading *reading); /* by its strips */

/* The backward pass of a tile for the heads that are read. */
void cpu_tile_backward(const ref_attend *t, const cpu_tile *tile, cpu_reading *reading, const ref_label_sums *sums);

void cpu_strips_backward(const ref_attend *t, const cpu_tile *tile, cpu_reading *reading,
                         const ref_label_sums *sums); /* by its strips */

/* The same edge by edge for one head and some columns, where something is not finite: what a row does not read must not reach it. `kept`
 * where there is dropout. */
void cpu_tile_by_rows(const ref_attend *t, const cpu_tile *tile, const struct cpu_kept_tile *kept, int32_t head,
                      const cpu_columns *c, const ref_label_sums *sums);

/* The backward pass of a block of a row's edges, for a tile that meets what is not finite. */
void cpu_back_block(const ref_attend *t, int64_t row, const cpu_block *block, int32_t first, int32_t last,
                    const ref_label_sums *sums);

static inline int32_t cpu_whole_quads(int32_t count)
{
    return (count + QUADS - 1) / QUADS * QUADS;
}

/* Where the lists of a strip stand, one behind the other from `at` on; returns their end. */
static inline const uint16_t *cpu_lay_strip(cpu_strip *x, const uint16_t *at, int labelled)
{
    const int32_t places = cpu_whole_quads(x->count);
    x->column = at, x->mask = x->column + places, x->label = x->mask + places / QUADS;
    x->wanted = x->label + (labelled ? x->plain : 0), x->from = x->wanted + cpu_whole_quads(x->labels);
    return x->from + 4 * (int64_t)(places - x->plain);
}

/* The next columns; 0 at the end. Start with first = count = 0. */
static inline int32_t cpu_next_columns(const ref_attend *t, const cpu_tile *tile, cpu_columns *c)
{
    c->first += c->count, c->count = 0;
    c->mask = tile->mask + c->first;
    for (int i = 0; i < tile->clusters; i++) {
        const cpu_cluster *x = &tile->cluster[i];
        const gsa_part *part = &t->args->parts[x->kind];
        const int64_t from = c->first + c->count - x->column; /* columns of the cluster that are behind */
        for (int64_t source = x->first + (from > 0 ? from : 0); source <= x->last && from >= 0 && c->count < BLOCK;
             source++) {
            c->k[c->count] = (const float *)part->k + source * t->width;
            c->v[c->count] = (const float *)part->v + source * t->width;
            c->kind[c->count] = x->kind, c->source[c->count++] = (int32_t)source;
        }
    }
    return c->count;
}

/* The label vectors of a tile. */
static inline void cpu_tile_vectors(const ref_attend *t, const cpu_tile *tile, const float **r)
{
    for (int32_t l = 0; l < tile->labels; l++) r[l] = t->r + (int64_t)tile->label[l] * t->dim;
}

/* What labels add to scores: s[c][r] += of[place[c][r]][r]. */
static inline void cpu_add_label_scores(const cpu_tile *tile, const cpu_columns *c, const float *of, float *s)
{
    for (int32_t i = 0; tile->labels > 0 && i < c->count; i++)
        vec_store(s + i * LANES,
                  vec_add(vec_load(s + i * LANES), vec_lookup(of, tile->place + (int64_t)(c->first + i) * LANES)));
}

/* of[l][r] += b of label l and the head. */
static inline void cpu_add_label_bias(const ref_attend *t, const cpu_tile *tile, int32_t head, float *of)
{
    for (int32_t l = 0; t->bias && l < tile->labels; l++) {
        const vec bias = vec_all(t->bias[(int64_t)tile->label[l] * t->heads + head]);
        vec_store(of + l * LANES, vec_add(vec_load(of + l * LANES), bias));
    }
}

/* qt[i][r] = scale x[r stride + i]: `dim` columns of LANES rows, turned. */
static inline void cpu_turn(float *qt, const float *x, int64_t stride, int32_t dim, float scale)
{
    vec part[LANES];
    for (int32_t i = 0; i < dim; i += LANES) {
        const int left = dim - i < LANES ? dim - i : LANES;
        const lanes end = lanes_first(left);
        for (int r = 0; r < LANES; r++) part[r] = vec_load_first(x + r * stride + i, end);
        vec_transpose(part);
        for (int j = 0; j < left; j++) vec_store(qt + (i + j) * LANES, vec_mul(part[j], vec_all(scale)));
    }
}

CPU_INLINE void cpu_tile_dots_some(float *s, const float *qt, const float *const *x, int64_t at, int32_t dim, int columns)
{
    vec sum[8];
    for (int j = 0; j < columns; j++) sum[j] = vec_zero();
    for (int32_t i = 0; i < dim; i++) {
        const vec q = vec_load(qt + i * LANES);
        for (int j = 0; j < columns; j++) sum[j] = vec_fma(q, vec_all(x[j][at + i]), sum[j]);
    }
    for (int j = 0; j < columns; j++) vec_store(s + j * LANES, sum[j]);
}

/* s[c][r] = qt[..][r] . x[c][at ..]; asks for what comes meanwhile, a step for each column. */
static inline void cpu_tile_dots(float *s, const float *qt, const float *const *x, int64_t at, int32_t dim, int32_t count,
                                 cpu_soon *soon)
{
    int32_t c = 0;
    for (; c + 8 <= count; c += 8) {
        cpu_tile_dots_some(s + c * LANES, qt, x + c, at, dim, 8);
        cpu_ask_soon(soon, 8);
    }
    cpu_ask_soon(soon, count - c);
    if (c + 4 <= count) cpu_tile_dots_some(s + c * LANES, qt, x + c, at, dim, 4), c += 4;
    if (c == count) return;
    const float *last[4]; /* one column alone would wait for each multiplication */
    float four[4 * LANES];
    for (int32_t i = 0; i < 4; i++) last[i] = x[c + i < count ? c + i : c];
    cpu_tile_dots_some(four, qt, last, at, dim, 4);
    memcpy(s + c * LANES, four, sizeof(float) * LANES * (size_t)(count - c));
}

/* s[c][0 .. 3] = scale q_r . x[c][at ..] of four rows r for the columns that one of them reads: `bits` of the mask. Heads of at most
 * SLICE vectors: q stays in registers, and sums are folded for four columns at once. */
CPU_INLINE void cpu_four_rows(float *s, const float *q, int64_t stride, float scale, const float *const *x, int64_t at,
                              const uint16_t *mask, unsigned bits, int32_t count, int vectors, int whole, lanes end)
{
    vec part[4][SLICE];
    int32_t column[BLOCK + 4], columns = 0;
    for (int32_t c = 0; c < count; c++) column[columns] = c, columns += (mask[c] & bits) != 0;
    for (int32_t i = columns; i < columns + 3; i++) column[i] = column[0];
    for (int r = 0; r < 4; r++)
        for (int v = 0; v < vectors; v++)
            part[r][v] = vec_mul(cpu_piece(q + r * stride, v, vectors, whole, end), vec_all(scale));
    for (int32_t c = 0; c < columns; c += QUADS) {
        vec w[QUADS];
        for (int i = 0; i < QUADS; i++) {
            const float *row = x[column[c + i]] + at;
            vec sum[4] = { vec_zero(), vec_zero(), vec_zero(), vec_zero() };
            for (int v = 0; v < vectors; v++) {
                const vec k = cpu_piece(row, v, vectors, whole, end);
                for (int r = 0; r < 4; r++) sum[r] = vec_fma(part[r][v], k, sum[r]);
            }
            w[i] = vec_sum_fours(sum[0], sum[1], sum[2], sum[3]);
        }
        float four[LANES];
        vec_store(four, vec_fold(w));
        for (int i = 0; i < QUADS; i++) memcpy(s + column[c + i] * LANES, four + 4 * i, sizeof(float) * 4);
    }
}

static inline void cpu_score_fours(const ref_attend *t, const cpu_columns *c, float *s, const float *q, float scale,
                                   const float *const *x, int64_t at, cpu_soon *soon)
{
    const cpu_cut cut = cpu_cut_at(t->dim, 0);
    for (int32_t i = 0; i < c->count; i++) vec_store(s + i * LANES, vec_zero());
    for (int r = 0; r < LANES; r += 4) {
#define FOUR(vectors, whole)                                                                                                \
    cpu_four_rows(s + r, q + r * t->width, t->width, scale, x, at, c->mask, 15u << r, c->count, vectors, whole, cut.end)
        CPU_BY_CUT(cut, FOUR)
#undef FOUR
        cpu_ask_soon(soon, c->count / QUADS);
    }
}

/* s[c][r] = scale q_r . x[c][at ..]: by fours where the tile is sparse, 0 where none of the four reads the column; else from qt, which is
 * q turned and scaled. */
static inline void cpu_score_tile(const ref_attend *t, const cpu_tile *tile, const cpu_columns *c, float *s, const float *q,
                                  float scale, const float *qt, const float *const *x, int64_t at, cpu_soon *soon)
{
    if (cpu_by_fours(t, tile)) cpu_score_fours(t, c, s, q, scale, x, at, soon);
    else cpu_tile_dots(s, qt, x, at, t->dim, c->count, soon);
}

/* Whether qt is needed. */
static inline int cpu_turns(const ref_attend *t, const cpu_tile *tile)
{
    return !cpu_by_fours(t, tile) || (t->r && tile->labels > 0);
}

/* Lane r: a_r . b_r of LANES rows. */
static inline vec cpu_row_dots(const float *a, const float *b, int64_t stride, int32_t dim)
{
    vec w[QUADS];
    for (int g = 0; g < QUADS; g++, a += 4 * stride, b += 4 * stride) {
        vec sum[4] = { vec_zero(), vec_zero(), vec_zero(), vec_zero() };
        for (int32_t i = 0; i < dim; i += LANES) {
            const lanes end = lanes_first(dim - i < LANES ? dim - i : LANES);
            for (int r = 0; r < 4; r++)
                sum[r] = vec_fma(vec_load_first(a + r * stride + i, end), vec_load_first(b + r * stride + i, end), sum[r]);
        }
        w[g] = vec_sum_fours(sum[0], sum[1], sum[2], sum[3]);
    }
    return vec_fold(w);
}

typedef struct cpu_product { /* y[i] <- keep[i] y[i] + sum_j p[i out + j in] x[j][at ..] over the j with mask[j] & bits */
    const float *p;
    int32_t out, in, count;
    const float *const *x;
    int64_t at;
    const uint16_t *mask;
    unsigned bits;
    const float *keep; /* NULL: y is not read */
} cpu_product;

CPU_INLINE void cpu_product_slice(float *const *y, const cpu_product *g, int32_t from, int rows, int vectors, int whole,
                                  lanes end)
{
    vec sum[LANES][SLICE], part[SLICE];
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++)
            sum[i][v] = g->keep ? vec_mul(vec_all(g->keep[i]), cpu_piece(y[i] + from, v, vectors, whole, end)) : vec_zero();
    for (int32_t j = 0; j < g->count; j++) {
        if (!(g->mask[j] & g->bits)) continue;
        for (int v = 0; v < vectors; v++) part[v] = cpu_piece(g->x[j] + g->at + from, v, vectors, whole, end);
        for (int i = 0; i < rows; i++)
            for (int v = 0; v < vectors; v++) sum[i][v] = vec_fma(vec_all(g->p[i * g->out + j * g->in]), part[v], sum[i][v]);
    }
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++) cpu_put_piece(y[i] + from, v, vectors, whole, end, sum[i][v]);
}

/* How many rows of a tile meet a row of x at once: TILE_ROWS of heads that fill the registers, so that few are multiplied with what they do
 * not read; of heads of one vector or two more, if most fours of rows read most columns, for a few sums alone wait for one another. */
static inline int cpu_rows_together(const cpu_tile *tile, int32_t dim)
{
    const int dense = 5 * (int64_t)tile->fours >= 4 * (int64_t)tile->columns * QUADS;
    return !dense || dim > 2 * LANES ? TILE_ROWS : dim > LANES ? LANES / 2 : LANES;
}

/* `rows` as cpu_rows_together has it. */
static inline void cpu_product_rows(float *const *y, const cpu_product *g, int32_t dim, int rows)
{
    for (int32_t i = 0; i < dim; i += SLICE * LANES) {
        const cpu_cut cut = cpu_cut_at(dim, i);
#define FEW(vectors, whole) cpu_product_slice(y, g, i, TILE_ROWS, vectors, whole, cut.end)
#define HALF(vectors, whole)                                                                                                \
    if ((vectors) <= 2) cpu_product_slice(y, g, i, LANES / 2, vectors, whole, cut.end)
#define ALL(vectors, whole)                                                                                                 \
    if ((vectors) <= 1) cpu_product_slice(y, g, i, LANES, vectors, whole, cut.end)
        if (rows == TILE_ROWS) CPU_BY_CUT(cut, FEW)
        else if (rows == LANES) CPU_BY_CUT(cut, ALL)
        else CPU_BY_CUT(cut, HALF)
#undef FEW
#undef HALF
#undef ALL
    }
}

#endif
