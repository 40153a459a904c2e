/* tile_strip_backward.c - gradients of a tile's rows by its strips:
 *   g = v do,  s = k q  of all strips,  p = exp(s - lse),  ds = p (g - D),  D = do.o;  then dq of each strip, then dK and dV of the tile.
 *
 * A head's slices of rows stand a row apart, where the first cache has room for few: they are packed before one strip after another reads
 * them. Scores stand as the strip has its columns ([places][4]); dK and dV look them up by columns. */
#include "kernels/cpu/attention/kept.h"
#include "kernels/cpu/attention/tile_read.h"
#include "kernels/cpu/attention/tile_sources.h"
#include "kernels/cpu/attention/tile_strip.h"

enum {
    PACKED = LANES == 16 ? SLICE * LANES : TILE_DIM, /* numbers of a packed row at most, */
    STRIP_SCORES = 4 * (TILE_PLACED + QUADS),        /* of one strip at most */
    SCORES_ROOM = LANES + QUADS * STRIP_SCORES,      /* zeros first */
    STRIP_LABELS = 4 * (TILE_LABELS + QUADS)
};

typedef struct back_strips {
    cpu_strips in;
    const cpu_kept_tile *kept;                                  /* where there is dropout */
    int64_t at;                                                 /* of the head in a row of the planes */
    _Alignas(64) float q[LANES * PACKED], dout[LANES * PACKED]; /* q is scaled */
    _Alignas(64) float p[SCORES_ROOM], ds[SCORES_ROOM];         /* of one strip after another; s and g first */
    int32_t found[TILE_PLACED][QUADS];                          /* where p and ds of a column and of row r stand, less r */
    float *dk[TILE_PLACED], *dv[TILE_PLACED];
    _Alignas(64) float slope[TILE_LABELS * LANES],
        part[QUADS][STRIP_LABELS];               /* sums of ds by label; of a strip's wanted labels */
    _Alignas(64) float lse[LANES], inner[LANES]; /* D */
    vec odd;                                     /* NaN where a product is not finite */
    int64_t packed;                              /* numbers from one packed row to the next */
} back_strips;

static int64_t packed_row(const back_strips *x)
{
    return LANES == 16 ? PACKED : x->packed;
}

/* Where the scores of strip g start. */
static int32_t scores_at(int g)
{
    return LANES + g * STRIP_SCORES;
}

/* The head's columns of a row, padded with zeros to whole vectors. */
static void pack_row(float *to, const float *x, int32_t dim, float scale)
{
    for (int32_t i = 0; i < dim; i += LANES)
        vec_store(to + i, vec_mul(vec_load_first(x + i, lanes_first(dim - i < LANES ? dim - i : LANES)), vec_all(scale)));
}

/* g of all strips, then s. */
static void score(back_strips *x)
{
    const int64_t row = packed_row(x);
    for (int g = 0; g < x->in.tile->strips; g++)
        x->odd = cpu_strip_values(&x->in, g, x->dout + STRIP * g * row, row, x->ds + scores_at(g), x->odd);
    for (int g = 0; g < x->in.tile->strips; g++)
        x->odd = cpu_strip_bare_scores(&x->in, g, x->q + STRIP * g * row, row, x->p + scores_at(g), x->odd);
}

/* p and ds of strip g, where s and g stood. */
static void weigh(back_strips *x, int g)
{
    const cpu_strip *strip = &x->in.tile->strip[g];
    const int32_t vectors = cpu_whole_quads(strip->count) / QUADS;
    float *s = x->p + scores_at(g), *slope = x->ds + scores_at(g);
    const vec lse = vec_four(x->lse + STRIP * g), inner = vec_four(x->inner + STRIP * g);
    if (x->in.t->drop.on) cpu_keep_strip(x->in.t, slope, x->kept, x->in.head, strip, g);
    for (int32_t j = 0, some; j < vectors; j += some) {
        vec p[VEC_SOME];
        some = vectors - j < VEC_SOME ? 1 : VEC_SOME;
        for (int i = 0; i < some; i++) p[i] = vec_sub(vec_load(s + (j + i) * LANES), lse);
        if (some == VEC_SOME) vec_exp_some(p, VEC_SOME);
        else vec_exp_some(p, 1);
        for (int i = 0; i < some; i++) {
            float *at = slope + (j + i) * LANES;
            const lanes edges = lanes_of_bits(strip->mask[j + i]);
            p[i] = vec_keep(edges, p[i], vec_zero());
            vec_store(s + (j + i) * LANES, p[i]);
            vec_store(at, vec_keep(edges, vec_mul(p[i], vec_sub(vec_load(at), inner)), vec_zero()));
        }
    }
    if (x->in.t->drop.on) cpu_keep_strip(x->in.t, s, x->kept, x->in.head, strip, g);
}

typedef struct shares { /* dq += p[i][r] (x[place[i]] + at + r[label[i]]) */
    int32_t places;
    const uint16_t *place, *label;
    const float *p;
    const float *const *x, *const *r;
    int64_t at;
} shares;

CPU_INLINE vec place_piece(const float *x, const float *r, int v, int labelled, int vectors, int whole, lanes end)
{
    const vec part = cpu_piece(x, v, vectors, whole, end);
    return vec_held(labelled ? vec_add(part, cpu_piece(r, v, vectors, whole, end)) : part);
}

/* sum += p[j] (x + r) of one place: the four shares stand in registers while vectors pass by; or vectors while shares do, which needs one
 * register less and so all of AVX2's. */
CPU_INLINE void mix_by_vectors(vec sum[STRIP][MIXED], const float *x, const float *r, const float *p, int labelled,
                               int vectors, int whole, lanes end)
{
    vec share[STRIP];
    CPU_UNROLL
    for (int j = 0; j < STRIP; j++) share[j] = vec_held(vec_all(p[j]));
    CPU_UNROLL
    for (int v = 0; v < vectors; v++) {
        const vec part = place_piece(x, r, v, labelled, vectors, whole, end);
        CPU_UNROLL
        for (int j = 0; j < STRIP; j++) sum[j][v] = vec_fma(share[j], part, sum[j][v]);
    }
}

CPU_INLINE void mix_by_rows(vec sum[STRIP][MIXED], const float *x, const float *r, const float *p, int labelled, int vectors,
                            int whole, lanes end)
{
    vec part[MIXED];
    CPU_UNROLL
    for (int v = 0; v < vectors; v++) part[v] = place_piece(x, r, v, labelled, vectors, whole, end);
    CPU_UNROLL
    for (int j = 0; j < STRIP; j++) {
        const vec share = vec_held(vec_all(p[j]));
        CPU_UNROLL
        for (int v = 0; v < vectors; v++) sum[j][v] = vec_fma_in_place(share, part[v], sum[j][v]);
    }
}

CPU_INLINE void mix_places(vec sum[STRIP][MIXED], const shares *m, int32_t from, int labelled, int vectors, int whole,
                           lanes end)
{
    for (int32_t i = 0; i < m->places; i++) {
        const float *x = m->x[m->place[i]] + m->at + from, *r = labelled ? m->r[m->label[i]] + from : NULL;
        if (LANES == 16) mix_by_vectors(sum, x, r, m->p + 4 * i, labelled, vectors, whole, end);
        else mix_by_rows(sum, x, r, m->p + 4 * i, labelled, vectors, whole, end);
    }
}

/* to[r] += scale times the shares of `m` of row r: plain places, the others, labels. */
CPU_INLINE void mix_slice(float *to, int64_t stride, float scale, const shares m[3], int32_t from, int labelled, int vectors,
                          int whole, lanes end)
{
    vec sum[STRIP][MIXED];
    CPU_UNROLL
    for (int r = 0; r < STRIP; r++) CPU_UNROLL
    for (int v = 0; v < vectors; v++) sum[r][v] = vec_zero();
    mix_places(sum, &m[0], from, labelled, vectors, whole, end);
    if (labelled) {
        mix_places(sum, &m[1], from, 0, vectors, whole, end);
        mix_places(sum, &m[2], from, 0, vectors, whole, end);
    }
    CPU_UNROLL
    for (int r = 0; r < STRIP; r++) CPU_UNROLL
    for (int v = 0; v < vectors; v++) {
        float *y = to + r * stride + from;
        cpu_put_piece(y, v, vectors, whole, end, vec_fma(vec_all(scale), sum[r][v], cpu_piece(y, v, vectors, whole, end)));
    }
}

/* The sums of ds by those labels of strip g that are wanted. */
static void sum_wanted(back_strips *x, int g)
{
    const cpu_strip *strip = &x->in.tile->strip[g];
    const float *ds = x->ds + scores_at(g) + 4 * strip->plain;
    memset(x->part[g], 0, sizeof(float) * 4 * (size_t)strip->labels);
    for (int32_t i = 0; i < 4 * (strip->count - strip->plain); i += 4) CPU_UNROLL
    for (int j = 0; j < 4; j++) x->part[g][4 * strip->from[i + j] + j] += ds[i + j];
}

static void add_queries(const back_strips *x, int g)
{
    const ref_attend *t = x->in.t;
    const cpu_strip *strip = &x->in.tile->strip[g];
    const int labelled = x->in.tile->labels > 0 && t->r;
    const float *ds = x->ds + scores_at(g);
    float *to = (float *)t->args->dq + (x->in.tile->row + STRIP * g) * t->width + x->at;
    const shares m[3] = {
        { labelled ? strip->plain : strip->count, strip->column, strip->label, ds, x->in.k, x->in.r, x->in.at },
        { strip->count - strip->plain, strip->column + strip->plain, NULL, ds + 4 * strip->plain, x->in.k, NULL, x->in.at },
        { strip->labels, strip->wanted, NULL, x->part[g], x->in.r, NULL, 0 },
    };
    for (int32_t from = 0; from < t->dim;) {
        const cpu_cut cut = cpu_mix_cut(t->dim, from);
#define BARE(vectors, whole)                                                                                                \
    if ((vectors) <= MIXED) mix_slice(to, t->width, t->scale, m, from, 0, vectors, whole, cut.end)
#define LABELLED(vectors, whole)                                                                                            \
    if ((vectors) <= MIXED) mix_slice(to, t->width, t->scale, m, from, 1, vectors, whole, cut.end)
        if (labelled) CPU_BY_CUT(cut, LABELLED)
        else CPU_BY_CUT(cut, BARE)
        if (LANES == 16) break;
        from += cut.vectors * LANES;
    }
#undef BARE
#undef LABELLED
}

/* The sums of ds by labels, and what they give: db_l, dr_l. */
static void add_labels(back_strips *x, const ref_label_sums *sums)
{
    const cpu_tile *tile = x->in.tile;
    uint16_t reads[TILE_LABELS];
    memset(x->slope, 0, sizeof(float) * LANES * (size_t)tile->labels);
    for (int g = 0; g < tile->strips; g++) {
        const cpu_strip *strip = &tile->strip[g];
        const float *ds = x->ds + scores_at(g);
        for (int32_t i = 0; i < strip->plain; i++) vec_add_four(x->slope + strip->label[i] * LANES + STRIP * g, ds + 4 * i);
        for (int32_t i = 0; i < strip->labels; i++)
            vec_add_four(x->slope + strip->wanted[i] * LANES + STRIP * g, x->part[g] + 4 * i);
    }
    for (int32_t l = 0; l < tile->labels; l++) {
        const vec slope = vec_load(x->slope + l * LANES);
        reads[l] = (uint16_t)vec_bits_nonzero(slope);
        if (sums->db) sums->db[(int64_t)tile->label[l] * sums->group + x->in.head - sums->first_head] += vec_sum(slope);
    }
    if (sums->dr) cpu_give_labels(x->in.t, tile, x->slope, reads, x->q, packed_row(x), sums->dr);
}

static void begin_head(back_strips *x)
{
    const ref_attend *t = x->in.t;
    const gsa_attend_args *args = t->args;
    const int64_t at = x->in.tile->row * t->width + x->at;
    const float *q = (const float *)args->q + at, *dout = (const float *)args->dout + at,
                *out = (const float *)args->out + at;
    const float *lse = (const float *)args->lse + x->in.tile->row * t->heads + x->in.head;
    vec_store(x->inner, cpu_row_dots(out, dout, t->width, t->dim));
    for (int r = 0; r < LANES; r++) {
        x->lse[r] = lse[(int64_t)r * t->heads];
        pack_row(x->q + r * packed_row(x), q + r * t->width, t->dim, t->scale);
        pack_row(x->dout + r * packed_row(x), dout + r * t->width, t->dim, 1);
    }
    x->odd = vec_mul(vec_add(vec_load(x->lse), vec_load(x->inner)), vec_zero());
}

static void by_rows(const back_strips *x, const ref_label_sums *sums)
{
    cpu_columns c;
    c.first = c.count = 0;
    while (cpu_next_columns(x->in.t, x->in.tile, &c)) cpu_tile_by_rows(x->in.t, x->in.tile, x->kept, x->in.head, &c, sums);
}

/* dK and dV of the columns. */
static void add_sources(const back_strips *x)
{
    const cpu_tile *tile = x->in.tile;
    const cpu_given k = { x->ds, x->q, x->dk, x->at, x->found }, v = { x->p, x->dout, x->dv, x->at, x->found };
    for (int32_t i = 0, end; i < tile->clusters; i = end) {
        const int32_t kind = tile->cluster[i].kind, first = tile->cluster[i].column;
        const gsa_part *part = &x->in.t->args->parts[kind];
        const cpu_given *g[GIVEN_PLANES];
        int planes = 0;
        for (end = i; end < tile->clusters && tile->cluster[end].kind == kind;) end++;
        if (part->dk) g[planes++] = &k;
        if (part->dv) g[planes++] = &v;
        cpu_give_planes(g, planes, packed_row(x), tile->mask, first,
                        end < tile->clusters ? tile->cluster[end].column : tile->columns, x->in.t->dim, 1);
    }
}

/* 0 when a product is not finite: nothing is added then. */
static int backward_head(back_strips *x, const ref_label_sums *sums)
{
    begin_head(x);
    score(x);
    if (vec_has_nan(x->odd)) return 0;
    for (int g = 0; g < x->in.tile->strips; g++) {
        weigh(x, g);
        if (x->in.tile->labels > 0) sum_wanted(x, g);
        if (x->in.t->args->dq) add_queries(x, g);
    }
    if (x->in.tile->labels > 0) add_labels(x, sums);
    add_sources(x);
    return 1;
}

/* Where the rows of columns stand that are added to. */
static void find_given(back_strips *x)
{
    const ref_attend *t = x->in.t;
    for (int i = 0; i < x->in.tile->clusters; i++) {
        const cpu_cluster *cluster = &x->in.tile->cluster[i];
        const gsa_part *part = &t->args->parts[cluster->kind];
        for (int64_t source = cluster->first, c = cluster->column; source <= cluster->last; source++, c++) {
            x->dk[c] = part->dk ? (float *)part->dk + source * t->width : NULL;
            x->dv[c] = part->dv ? (float *)part->dv + source * t->width : NULL;
        }
    }
}

/* Where the scores of columns stand. */
static void find_scores(back_strips *x)
{
    const cpu_tile *tile = x->in.tile;
    for (int32_t c = 0; c < tile->columns; c++)
        for (int g = 0; g < QUADS; g++) x->found[c][g] = -STRIP * g;
    for (int g = 0; g < tile->strips; g++)
        for (int32_t i = 0; i < tile->strip[g].count; i++)
            x->found[tile->strip[g].column[i]][g] = scores_at(g) + 4 * i - STRIP * g;
    memset(x->p, 0, sizeof(float) * 4), memset(x->ds, 0, sizeof(float) * 4);
}

static void begin_tile(back_strips *x, const ref_attend *t, const cpu_tile *tile, cpu_soon *soon)
{
    cpu_strips_begin(&x->in, t, tile, soon);
    x->packed = (t->dim + SOON_LINE - 1) / SOON_LINE * SOON_LINE;
    find_given(x);
    find_scores(x);
}

void cpu_strips_backward(const ref_attend *t, const cpu_tile *tile, cpu_reading *reading, const ref_label_sums *sums)
{
    cpu_kept_tile kept;
    back_strips x;
    x.kept = &kept;
    begin_tile(&x, t, tile, &reading->soon);
    for (x.in.head = reading->first; x.in.head < reading->last; x.in.head++) {
        x.at = x.in.at = (int64_t)x.in.head * t->dim;
        if (t->drop.on && x.in.head % KEPT_HEADS == 0) cpu_keep_tile(t, tile, x.in.head, &kept);
        if (!backward_head(&x, sums)) by_rows(&x, sums);
    }
}
