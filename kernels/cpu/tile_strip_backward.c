/* tile_strip_backward.c - gradients of a tile's rows by its strips:
 *   g = v do,  s = k q  of all strips,  p = exp(s - lse),  ds = p (g - D),  D = do.o;  then dq of each strip, then dK and dV of the tile.
 *
 * A head's slices of rows stand a row apart, where the first cache has room for few: they are packed before one strip after another reads
 * them. Scores stand as the strip has its columns ([places][4]); dK and dV look them up by columns. */
#include "kernels/cpu/kept.h"
#include "kernels/cpu/tile_read.h"
#include "kernels/cpu/tile_sources.h"
#include "kernels/cpu/tile_own.h"
#include "kernels/cpu/tile_turned.h"

enum {
    PACKED = LANES == 16 ? SLICE * LANES : TILE_DIM, /* numbers of a packed row at most, */
    MIXED = LANES == 16 ? SLICE : 3,                 /* vectors of four rows whose sums stand in registers at once */
    STRIP_SCORES = 4 * (TILE_PLACED + QUADS),        /* of one strip at most */
    SCORES_ROOM = LANES + QUADS * STRIP_SCORES,      /* zeros first */
    STRIP_LABELS = 4 * (TILE_LABELS + QUADS)
};

typedef struct back_strips {
    const ref_attend *t;
    const cpu_tile *tile;
    const cpu_kept_tile *kept; /* where there is dropout */
    cpu_soon *soon;
    int32_t head;
    int64_t at, source_at; /* of the head in a row; in one of k and v: 0 where these are packed */
    const float *k[TILE_PLACED], *v[TILE_PLACED], *r[TILE_LABELS]; /* rows of columns, label vectors */
    const float *own[TILE_LABELS];                                 /* those of a strip's wanted labels */
    _Alignas(64) float q[LANES * PACKED], dout[LANES * PACKED];    /* q is scaled */
    _Alignas(64) float p[SCORES_ROOM], ds[SCORES_ROOM];            /* of one strip after another; s and g first */
    int32_t found[TILE_PLACED][QUADS]; /* where p and ds of a column and of row r stand, less r */
    float *dk[TILE_PLACED], *dv[TILE_PLACED];
    _Alignas(64) float of[STRIP_LABELS],
        more[STRIP_SCORES]; /* what wanted labels' biases add to a strip's scores, and where */
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

typedef struct products { /* of four rows with x[place[i]] + at, to which r[label[i]] is added */
    int32_t places;       /* a multiple of QUADS */
    const uint16_t *place, *label;
    const float *const *x, *const *r;
    int64_t at;
    const float *more; /* [places][4], added; NULL: nothing is */
} products;

/* s[j ..][r] <- the sums of QUADS places. */
CPU_INLINE vec put_sums(float *s, const products *p, int32_t j, vec sum, cpu_soon *soon, vec odd)
{
    odd = vec_fma(sum, vec_zero(), odd);
    if (p->more) sum = vec_add(sum, vec_load(p->more + 4 * j));
    vec_store(s + 4 * j, sum);
    cpu_ask_portion(soon);
    return odd;
}

CPU_INLINE vec multiply_slice(float *s, const cpu_turned *from, const products *p, cpu_soon *soon, vec odd, int labelled,
                              int vectors, int whole, lanes end)
{
    cpu_turned four;
    CPU_UNROLL
    for (int i = 0; i < STRIP; i++) CPU_UNROLL
    for (int v = 0; v < vectors; v++) four.part[i][v] = from->part[i][v];
    for (int32_t j = 0; j < p->places; j += QUADS) {
        vec w[QUADS];
        CPU_UNROLL
        for (int i = 0; i < QUADS; i++)
            w[i] = cpu_turned_dots(&four, p->x[p->place[j + i]] + p->at, labelled ? p->r[p->label[j + i]] : NULL, labelled,
                                   vectors, whole, end);
        vec sum = vec_fold(w);
        odd = vec_fma(sum, vec_zero(), odd);
        if (p->more) sum = vec_add(sum, vec_load(p->more + 4 * j));
        vec_store(s + 4 * j, sum);
        cpu_ask_portion(soon);
    }
    return odd;
}

/* The same where MET rows at a time meet the four: 2 MET places fill whole vectors. */
CPU_INLINE vec multiply_some(float *s, const cpu_turned *four, const products *p, cpu_soon *soon, vec odd, int labelled,
                             int32_t dim)
{
    enum { SOME = 2 * MET };
    const uint16_t *label = labelled ? p->label : p->place; /* not read then */
    int32_t j = 0;
    for (; j + SOME <= p->places; j += SOME) {
        vec w[SOME];
        CPU_UNROLL
        for (int i = 0; i < SOME; i += MET)
            cpu_turned_some(w + i, four, p->x, p->place + j + i, p->at, p->r, label + j + i, MET, labelled, dim);
        CPU_UNROLL
        for (int i = 0; i < SOME; i += QUADS) odd = put_sums(s, p, j + i, vec_fold(w + i), soon, odd);
    }
    for (; j < p->places; j += QUADS) {
        vec w[QUADS];
        cpu_turned_some(w, four, p->x, p->place + j, p->at, p->r, label + j, 2, labelled, dim);
        odd = put_sums(s, p, j, vec_fold(w), soon, odd);
    }
    return odd;
}

/* s[i][r] of all places. */
static void multiply(back_strips *x, float *s, const cpu_turned *four, const products *p)
{
    const cpu_cut cut = cpu_cut_at(x->t->dim, 0);
    vec odd = x->odd;
    if (LANES != 16) {
        x->odd = p->label ? multiply_some(s, four, p, x->soon, odd, 1, x->t->dim)
                          : multiply_some(s, four, p, x->soon, odd, 0, x->t->dim);
        return;
    }
#define BARE(vectors, whole)     odd = multiply_slice(s, four, p, x->soon, odd, 0, vectors, whole, cut.end)
#define LABELLED(vectors, whole) odd = multiply_slice(s, four, p, x->soon, odd, 1, vectors, whole, cut.end)
    if (p->label) CPU_BY_CUT(cut, LABELLED)
    else CPU_BY_CUT(cut, BARE)
#undef BARE
#undef LABELLED
    x->odd = odd;
}

/* The head's columns of a row, padded with zeros to whole vectors. */
static void pack_row(float *to, const float *x, int32_t dim, float scale)
{
    for (int32_t i = 0; i < dim; i += LANES)
        vec_store(to + i, vec_mul(vec_load_first(x + i, lanes_first(dim - i < LANES ? dim - i : LANES)), vec_all(scale)));
}

static float bias_of(const back_strips *x, int32_t label)
{
    return x->t->bias[(int64_t)x->tile->label[label] * x->t->heads + x->head];
}

/* of[i][r] = b_l of the labels that are wanted, and which of them is added where. One by one: a gather takes longer. */
static void look_up(back_strips *x, const cpu_strip *strip)
{
    const int32_t mixed = cpu_whole_quads(strip->count) - strip->plain;
    for (int32_t i = 0; i < strip->labels; i++)
        for (int r = 0; r < STRIP; r++) x->of[4 * i + r] = bias_of(x, strip->wanted[i]);
    for (int32_t i = 0; i < 4 * mixed; i += 4) CPU_UNROLL
    for (int j = 0; j < 4; j++) {
        float one = x->of[strip->from[i + j]];
        __asm__("" : "+x"(one));
        x->more[i + j] = one;
    }
}

CPU_INLINE vec own_slice(back_strips *x, float *s, const cpu_own *rows, const products *p, const uint16_t *from, int vectors,
                         int whole, lanes end)
{
    cpu_own near;
    vec odd = x->odd;
    rows = cpu_own_near(&near, rows, vectors);
    for (int32_t j = 0; j < p->places; j += QUADS)
        odd = put_sums(s, p, j, cpu_own_products(rows, p->x, p->place + j, p->at, x->own, from + 4 * j, vectors, whole, end),
                       x->soon, odd);
    return odd;
}

/* Places behind the plain ones, each of whose rows adds what its own label has. */
static void score_mixed(back_strips *x, int g, float *s, const cpu_turned *turned)
{
    const ref_attend *t = x->t;
    const cpu_strip *strip = &x->tile->strip[g];
    const products p = { cpu_whole_quads(strip->count) - strip->plain,
                         strip->column + strip->plain,
                         NULL,
                         x->k,
                         NULL,
                         x->source_at,
                         t->bias ? x->more : NULL };
    const cpu_cut cut = cpu_own_cut(t->dim);
    cpu_own q;
    if (t->bias) look_up(x, strip);
    if (!t->r) {
        multiply(x, s, turned, &p);
        return;
    }
    for (int32_t i = 0; i < strip->labels; i++) x->own[i] = x->r[strip->wanted[i]];
    cpu_own_rows(&q, x->q + STRIP * g * packed_row(x), packed_row(x), 1, t->dim);
#define OWN_SLICE(vectors, whole) x->odd = own_slice(x, s, &q, &p, strip->from, vectors, whole, cut.end)
    CPU_BY_OWN(cut, OWN_SLICE)
#undef OWN_SLICE
}

static void score_strip(back_strips *x, int g)
{
    const cpu_strip *strip = &x->tile->strip[g];
    const int32_t mixed = cpu_whole_quads(strip->count) - strip->plain;
    const int labelled = x->tile->labels > 0;
    const products p = { strip->plain, strip->column, labelled && x->t->r ? strip->label : NULL, x->k, x->r,
                         x->source_at, NULL };
    float *s = x->p + scores_at(g);
    cpu_turned q;
    cpu_turn_rows(&q, x->q + STRIP * g * packed_row(x), packed_row(x), 1, x->t->dim);
    multiply(x, s, &q, &p);
    for (int32_t i = 0; labelled && x->t->bias && i < strip->plain; i++)
        for (int r = 0; r < STRIP; r++) s[4 * i + r] += bias_of(x, strip->label[i]);
    if (mixed > 0) score_mixed(x, g, s + 4 * strip->plain, &q);
}

/* g of all strips, then s. */
static void score(back_strips *x)
{
    for (int g = 0; g < x->tile->strips; g++) {
        const cpu_strip *strip = &x->tile->strip[g];
        const products p = { cpu_whole_quads(strip->count), strip->column, NULL, x->v, NULL, x->source_at, NULL };
        cpu_turned dout;
        cpu_turn_rows(&dout, x->dout + STRIP * g * packed_row(x), packed_row(x), 1, x->t->dim);
        multiply(x, x->ds + scores_at(g), &dout, &p);
    }
    for (int g = 0; g < x->tile->strips; g++) score_strip(x, g);
}

/* p and ds of strip g, where s and g stood. */
static void weigh(back_strips *x, int g)
{
    const cpu_strip *strip = &x->tile->strip[g];
    const int32_t vectors = cpu_whole_quads(strip->count) / QUADS;
    float *s = x->p + scores_at(g), *slope = x->ds + scores_at(g);
    const vec lse = vec_four(x->lse + STRIP * g), inner = vec_four(x->inner + STRIP * g);
    if (x->t->drop.on) cpu_keep_strip(x->t, slope, x->kept, x->head, strip, g);
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
    if (x->t->drop.on) cpu_keep_strip(x->t, s, x->kept, x->head, strip, g);
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
    const cpu_strip *strip = &x->tile->strip[g];
    const float *ds = x->ds + scores_at(g) + 4 * strip->plain;
    memset(x->part[g], 0, sizeof(float) * 4 * (size_t)strip->labels);
    for (int32_t i = 0; i < 4 * (strip->count - strip->plain); i += 4) CPU_UNROLL
    for (int j = 0; j < 4; j++) x->part[g][strip->from[i + j]] += ds[i + j];
}

/* The next columns of a head: at most MIXED vectors, of four two and two. */
static cpu_cut mix_cut(int32_t dim, int32_t from)
{
    if (LANES == 16) return cpu_cut_at(dim, from);
    const int32_t left = dim - from, all = (left + LANES - 1) / LANES,
                  vectors = all == MIXED + 1 ? 2
                            : all < MIXED    ? all
                                             : MIXED;
    return (cpu_cut){ vectors, left >= vectors * LANES, lanes_first(left - (vectors - 1) * LANES) };
}

static void add_queries(const back_strips *x, int g)
{
    const ref_attend *t = x->t;
    const cpu_strip *strip = &x->tile->strip[g];
    const int labelled = x->tile->labels > 0 && t->r;
    const float *ds = x->ds + scores_at(g);
    float *to = (float *)t->args->dq + (x->tile->row + STRIP * g) * t->width + x->at;
    const shares m[3] = {
        { labelled ? strip->plain : strip->count, strip->column, strip->label, ds, x->k, x->r, x->source_at },
        { strip->count - strip->plain, strip->column + strip->plain, NULL, ds + 4 * strip->plain, x->k, NULL, x->source_at },
        { strip->labels, strip->wanted, NULL, x->part[g], x->r, NULL, 0 },
    };
    for (int32_t from = 0; from < t->dim;) {
        const cpu_cut cut = mix_cut(t->dim, from);
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
    const cpu_tile *tile = x->tile;
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
        if (sums->db) sums->db[(int64_t)tile->label[l] * sums->group + x->head - sums->first_head] += vec_sum(slope);
    }
    if (sums->dr) cpu_give_labels(x->t, tile, x->slope, reads, x->q, packed_row(x), sums->dr);
}

static void begin_head(back_strips *x)
{
    const ref_attend *t = x->t;
    const gsa_attend_args *args = t->args;
    const int64_t at = x->tile->row * t->width + x->at;
    const float *q = (const float *)args->q + at, *dout = (const float *)args->dout + at,
                *out = (const float *)args->out + at;
    const float *lse = (const float *)args->lse + x->tile->row * t->heads + x->head;
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
    while (cpu_next_columns(x->t, x->tile, &c)) GSA_CPU(tile_by_rows)(x->t, x->tile, x->kept, x->head, &c, sums);
}

/* dK and dV of the columns. */
static void add_sources(const back_strips *x)
{
    const cpu_tile *tile = x->tile;
    const cpu_given k = { x->ds, x->q, x->dk, x->at, x->found }, v = { x->p, x->dout, x->dv, x->at, x->found };
    for (int32_t i = 0, end; i < tile->clusters; i = end) {
        const int32_t kind = tile->cluster[i].kind, first = tile->cluster[i].column;
        const gsa_part *part = &x->t->args->parts[kind];
        const cpu_given *g[GIVEN_PLANES];
        int planes = 0;
        for (end = i; end < tile->clusters && tile->cluster[end].kind == kind;) end++;
        if (part->dk) g[planes++] = &k;
        if (part->dv) g[planes++] = &v;
        cpu_give_planes(g, planes, packed_row(x), tile->mask, first,
                        end < tile->clusters ? tile->cluster[end].column : tile->columns, x->t->dim, 1);
    }
}

/* 0 when a product is not finite: nothing is added then. */
static int backward_head(back_strips *x, const ref_label_sums *sums)
{
    begin_head(x);
    score(x);
    if (vec_has_nan(x->odd)) return 0;
    for (int g = 0; g < x->tile->strips; g++) {
        weigh(x, g);
        if (x->tile->labels > 0) sum_wanted(x, g);
        if (x->t->args->dq) add_queries(x, g);
    }
    if (x->tile->labels > 0) add_labels(x, sums);
    add_sources(x);
    return 1;
}

/* Where the rows of columns stand. */
static void find_rows(back_strips *x, const cpu_pack *pack)
{
    const ref_attend *t = x->t;
    const int64_t stride = pack ? pack->stride : t->width;
    for (int i = 0; i < x->tile->clusters; i++) {
        const cpu_cluster *cluster = &x->tile->cluster[i];
        const gsa_part *part = &t->args->parts[cluster->kind];
        int64_t at = pack ? GSA_CPU(pack_place)(pack, cluster) : cluster->first * t->width, to = cluster->first * t->width;
        const float *k = pack ? pack->plane[0] : part->k, *v = pack ? pack->plane[1] : part->v;
        for (int64_t source = cluster->first, c = cluster->column; source <= cluster->last; source++, c++) {
            x->k[c] = k + at, x->v[c] = v + at;
            x->dk[c] = part->dk ? (float *)part->dk + to : NULL;
            x->dv[c] = part->dv ? (float *)part->dv + to : NULL;
            at += stride, to += t->width;
        }
    }
}

/* Where the scores of columns stand. */
static void find_scores(back_strips *x)
{
    const cpu_tile *tile = x->tile;
    for (int32_t c = 0; c < tile->columns; c++)
        for (int g = 0; g < QUADS; g++) x->found[c][g] = -STRIP * g;
    for (int g = 0; g < tile->strips; g++)
        for (int32_t i = 0; i < tile->strip[g].count; i++)
            x->found[tile->strip[g].column[i]][g] = scores_at(g) + 4 * i - STRIP * g;
    memset(x->p, 0, sizeof(float) * 4), memset(x->ds, 0, sizeof(float) * 4);
}

static void begin_tile(back_strips *x, const cpu_tile *tile, const cpu_pack *pack)
{
    x->tile = tile;
    if (x->t->r) cpu_tile_vectors(x->t, tile, x->r);
    find_rows(x, pack);
    find_scores(x);
}

static void begin(back_strips *x, const ref_attend *t, cpu_soon *soon, const cpu_kept_tile *kept)
{
    x->t = t, x->soon = soon, x->kept = kept;
    x->packed = (t->dim + SOON_LINE - 1) / SOON_LINE * SOON_LINE;
}

void GSA_CPU(strips_backward)(const ref_attend *t, const cpu_tile *tile, cpu_reading *reading, const ref_label_sums *sums)
{
    cpu_kept_tile kept;
    back_strips x;
    begin(&x, t, &reading->soon, &kept);
    begin_tile(&x, tile, NULL);
    for (x.head = reading->first; x.head < reading->last; x.head++) {
        x.at = x.source_at = (int64_t)x.head * t->dim;
        if (t->drop.on && x.head % KEPT_HEADS == 0) GSA_CPU(kept_tile)(t, tile, x.head, &kept);
        if (!backward_head(&x, sums)) by_rows(&x, sums);
    }
}

void GSA_CPU(strips_backward_packed)(const ref_attend *t, const cpu_pack *pack, int32_t first, int32_t last,
                                     const ref_label_sums *sums)
{
    back_strips x;
    cpu_soon none;
    cpu_soon_start(&none, t->width, 0);
    begin(&x, t, &none, NULL);
    x.source_at = 0;
    for (x.head = first; x.head < last; x.head++) {
        x.at = (int64_t)x.head * t->dim;
        GSA_CPU(pack_head)(pack, t, x.at);
        for (int i = 0; i < pack->tiles; i++) {
            begin_tile(&x, &pack->tile[i], pack);
            if (!backward_head(&x, sums)) by_rows(&x, sums);
        }
    }
}
