/* attend_cut.h - how one example is cut for attention's backward pass where its heads are few: rows
 * of one example add to the same dK and dV, so whole examples and heads alone would leave threads
 * without work.
 *
 * Parts are ranges of rows with about as much work each. They go together, or in two turns: parts
 * 0, 2, 4, ..., then 1, 3, ... Of a window, parts of one such turn read no common source, and all
 * add to dK and dV themselves. A part that reads sources of another one of its turn has sums of its
 * own of that kind, which are added after the turn. Rows with more than a part's edges (hubs) come
 * last, cut by edges: a row reads its sources once, so its pieces meet in dq alone. The cut is a
 * function of the example and the heads: no bit depends on the number of threads, or on the
 * batch. */
#ifndef GSA_REF_ATTEND_CUT_H
#define GSA_REF_ATTEND_CUT_H
#include "kernels/ref/attend.h"

enum {
    REF_PARTS = 2 * REF_WIDE, /* of one head, in two turns, at most */
    REF_PART_ROWS = 128,      /* parts begin at multiples: formats work on rows together */
    REF_CUT_KINDS = 8,        /* an example with more is whole */
    REF_ROW_WORK = 16,        /* a row takes as long as so many edges, besides its own */
    REF_CUT_WORK = 1 << 18,   /* edges x columns: a smaller example is whole */
    REF_CUT_EDGES = 64, /* edges for each source whose sum is a part's own, at least: such a sum
                           takes as long as about four edges */
    REF_CUT_NUMBERS = 1 << 25, /* of own sums at most */
    REF_FAR = 4,        /* sources are read from afar where more parts than these read one, */
    REF_FAR_EDGES = 16, /* and at least so many edges, on the average */
    REF_NEAR = 1 << 21  /* numbers of their K, V, dK and dV that a cache keeps */
};

typedef struct ref_look { /* at one example, whatever the call */
    int64_t example, edges;
    int32_t parts, hubs;
    int64_t at[REF_PARTS + 1]; /* part i has rows at[i] .. at[i+1]-1, counted over the blocks, */
    int64_t held[REF_PARTS];   /* and so much work, in edges */
    int64_t hub[REF_WIDE];     /* rows, in the order of the blocks */
    int64_t first[REF_CUT_KINDS], count[REF_CUT_KINDS]; /* sources of each kind */
    int32_t shift[REF_CUT_KINDS];             /* a stretch is 2^shift of them: at most 64 are all */
    uint64_t reads[REF_PARTS][REF_CUT_KINDS]; /* bit i: stretch i; of no hub */
} ref_look;

typedef struct ref_looks { /* at the examples that are large enough for calls of `width`, ascending;
                              kept with their edges */
    int64_t width, count;
    ref_look *at;
} ref_looks;

typedef struct ref_cut { /* of one example, for a call */
    ref_look of;
    int wide, turns;              /* parts of a turn, pieces of a hub; turns */
    int32_t same[REF_CUT_KINDS];  /* the first kind that has these gradients */
    uint32_t own[REF_PARTS];      /* bit k: of kind k the part has sums of its own, */
    int64_t plane[REF_CUT_KINDS]; /* dk from there on, then dv, of all the example's sources, */
    int64_t numbers;              /* so many for all kinds */
    int slot[REF_PARTS], slots;   /* whose sums a part has; so many in a turn at most */
} ref_cut;

/* Parts that should go together: where heads are few. Dropout is drawn for four of them at once. */
static inline int ref_wide_wanted(const ref_attend *t)
{
    if (t->heads <= 1) return REF_WIDE;
    if (t->heads <= 3) return 4;
    return t->heads < 8 && t->drop.on ? 2 : 1;
}

static inline int64_t ref_edges_of(const gsa_edges *e, gsa_rows rows)
{
    return e->edge_offset[rows.first + rows.count] - e->edge_offset[rows.first];
}

static inline int64_t ref_example_edges(const gsa_edges *e, int64_t example)
{
    int64_t edges = 0;
    for (int64_t r = e->block_offset[example]; r < e->block_offset[example + 1]; r++)
        edges += ref_edges_of(e, e->blocks[r]);
    return edges;
}

/* Whether an example is large enough for a cut by a call of `width`. */
static inline int ref_may_cut(const ref_attend *t, int64_t example, int64_t width)
{
    return t->edges->source_scale > 0 && t->edges->kinds <= REF_CUT_KINDS &&
           (double)ref_example_edges(t->edges, example) * (double)width >= REF_CUT_WORK;
}

static inline int64_t ref_run_low(const gsa_run *run)
{
    return run->first + (run->step < 0 ? (int64_t)(run->count - 1) * run->step : 0);
}
static inline int64_t ref_run_high(const gsa_run *run)
{
    return run->first + (run->step > 0 ? (int64_t)(run->count - 1) * run->step : 0);
}

/* Whether a row surely reads no source twice, whatever kinds share planes: its runs go up. */
static inline int ref_reads_once(const gsa_edges *e, int64_t row)
{
    int64_t behind[REF_CUT_KINDS];
    for (int k = 0; k < REF_CUT_KINDS; k++) behind[k] = -1;
    for (int64_t i = e->run_offset[row]; i < e->run_offset[row + 1]; i++) {
        const gsa_run *run = &e->runs[i];
        if (ref_run_low(run) <= behind[run->kind] || (run->step == 0 && run->count > 1)) return 0;
        behind[run->kind] = ref_run_high(run);
    }
    return 1;
}

/* Hubs, and where parts begin: the last row of a part is the one that fills it. */
static inline void ref_look_rows(const gsa_edges *e, ref_look *x)
{
    const int64_t most = x->edges / REF_WIDE, first = e->block_offset[x->example],
                  last = e->block_offset[x->example + 1];
    int64_t place = 0, left = x->edges, seen = 0, wanted = 0;
    for (int64_t r = first; r < last; r++) left += e->blocks[r].count * REF_ROW_WORK;
    for (int64_t r = first; r < last; r++)
        for (int64_t row = e->blocks[r].first, end = row + e->blocks[r].count; row < end; row++) {
            const int64_t edges = e->edge_offset[row + 1] - e->edge_offset[row];
            if (edges > most && edges >= REF_WIDE * REF_PIECE && ref_reads_once(e, row))
                x->hub[x->hubs++] = row, left -= edges + REF_ROW_WORK;
        }
    for (int64_t r = first, hub = 0; r < last; r++) {
        const gsa_rows block = e->blocks[r];
        for (int64_t row = block.first; row < block.first + block.count; row++, place++) {
            const int64_t local = e->row_local ? e->row_local[row] : row - block.first;
            if (x->parts == 0 || (local % REF_PART_ROWS == 0 && seen >= wanted)) {
                x->at[x->parts++] = place;
                while (wanted <= seen) wanted += left / REF_PARTS + 1;
            }
            if (hub < x->hubs && x->hub[hub] == row) {
                hub++;
                continue;
            }
            const int64_t work = e->edge_offset[row + 1] - e->edge_offset[row] + REF_ROW_WORK;
            x->held[x->parts - 1] += work, seen += work;
        }
    }
    x->at[x->parts] = place;
}

/* 0: the run reads sources of another example. */
static inline int ref_note_run(ref_look *x, int part, const gsa_run *run)
{
    const int k = run->kind;
    const int64_t low = ref_run_low(run) - x->first[k], high = ref_run_high(run) - x->first[k];
    if (low < 0 || high >= x->count[k]) return 0;
    x->reads[part][k] |= ~UINT64_C(0) >> (63 - (high >> x->shift[k])) & ~UINT64_C(0)
                                                                            << (low >> x->shift[k]);
    return 1;
}

/* Which stretches of sources each part reads. 0: they are not all the example's. */
static inline int ref_look_reads(const gsa_edges *e, ref_look *x)
{
    int64_t place = 0;
    int part = 0, hub = 0;
    for (int64_t r = e->block_offset[x->example]; r < e->block_offset[x->example + 1]; r++) {
        const gsa_rows block = e->blocks[r];
        for (int64_t row = block.first; row < block.first + block.count; row++, place++) {
            while (place >= x->at[part + 1]) part++;
            if (hub < x->hubs && x->hub[hub] == row) {
                hub++;
                continue;
            }
            for (int64_t i = e->run_offset[row]; i < e->run_offset[row + 1]; i++)
                if (!ref_note_run(x, part, &e->runs[i])) return 0;
        }
    }
    return 1;
}

static inline void ref_look_at(const gsa_edges *e, int64_t example, ref_look *x)
{
    *x = (ref_look){ .example = example, .edges = ref_example_edges(e, example) };
    for (int k = 0; k < e->kinds; k++) {
        if (e->part_rows[k] == 0) continue;
        x->first[k] = e->source_offset[k][example] * e->source_scale;
        x->count[k] = e->source_offset[k][example + 1] * e->source_scale - x->first[k];
        while ((x->count[k] - 1) >> x->shift[k] > 63) x->shift[k]++;
    }
    ref_look_rows(e, x);
    if (!ref_look_reads(e, x)) x->parts = 1, x->hubs = 0;
}

/* ---- for a call ---------------------------------------------------------------------------- */

/* Heads of `dim` whose K, V, dK and dV a cache keeps between rows that are far apart and read the
 * same sources. */
static inline int64_t ref_near_heads(const ref_look *x, int32_t dim)
{
    int64_t numbers = 0;
    for (int k = 0; k < REF_CUT_KINDS; k++) {
        int64_t reads = 0;
        for (int i = 0; i < x->parts; i++) reads += __builtin_popcountll(x->reads[i][k]);
        if (reads > REF_FAR * (((x->count[k] - 1) >> x->shift[k]) + 1) &&
            x->edges >= REF_FAR_EDGES * x->count[k])
            numbers += 4 * x->count[k] * dim;
    }
    return numbers == 0 ? INT32_MAX : numbers > REF_NEAR ? 1 : REF_NEAR / numbers;
}

/* Heads that a call works on together, in at most `most` groups: as many as all its examples keep
 * in a cache, by fours where these share draws of dropout. */
static inline int32_t ref_heads_together(const ref_attend *t, const ref_looks *looks, int64_t most)
{
    int64_t near = t->heads;
    for (int64_t i = 0; i < looks->count; i++)
        near = ref_smaller(near, ref_near_heads(&looks->at[i], t->dim));
    near = ref_items(t->heads, ref_smaller(ref_items(t->heads, near), most));
    return (int32_t)(t->drop.on ? 4 * ref_items(near, 4) : near);
}

/* Kinds that share gradients are one. 0 where they do in part. */
static inline int ref_cut_kinds(const ref_attend *t, ref_cut *cut)
{
    for (int k = 0; k < t->edges->kinds; k++) {
        const gsa_part *a = &t->args->parts[k];
        cut->same[k] = k;
        for (int j = 0; j < k && t->edges->part_rows[k] > 0; j++) {
            const gsa_part *b = &t->args->parts[j];
            if (t->edges->part_rows[j] == 0 ||
                !((a->dk && a->dk == b->dk) || (a->dv && a->dv == b->dv)))
                continue;
            if (a->dk != b->dk || a->dv != b->dv || cut->of.first[k] != cut->of.first[j] ||
                cut->of.count[k] != cut->of.count[j] || cut->of.hubs > 0)
                return 0;
            cut->same[k] = cut->same[j];
            break;
        }
    }
    for (int i = 0; i < cut->of.parts; i++)
        for (int k = 0; k < t->edges->kinds; k++)
            cut->of.reads[i][cut->same[k]] |= cut->of.reads[i][k];
    return 1;
}

/* The largest part of a turn that is not among `done`; -1: there is none. */
static inline int ref_largest(const ref_cut *cut, int turn, const int *size, uint32_t done)
{
    int best = -1;
    for (int i = turn; i < cut->of.parts; i += cut->turns)
        if (!(done >> i & 1) && (best < 0 || size[i] > size[best])) best = i;
    return best;
}

/* Which parts have sums of their own of a kind; returns of how many sources. */
static inline int64_t ref_cut_kind(ref_cut *cut, int kind)
{
    int64_t sources = 0;
    int size[REF_PARTS];
    for (int i = 0; i < cut->of.parts; i++) size[i] = __builtin_popcountll(cut->of.reads[i][kind]);
    for (int turn = 0; turn < cut->turns; turn++) {
        uint64_t taken = 0;
        uint32_t done = 0;
        for (int i; (i = ref_largest(cut, turn, size, done)) >= 0; done |= 1U << i) {
            const uint64_t reads = cut->of.reads[i][kind];
            if (!(taken & reads)) {
                taken |= reads;
                continue;
            }
            cut->own[i] |= 1U << kind;
            sources += ref_smaller((int64_t)size[i] << cut->of.shift[kind], cut->of.count[kind]);
        }
    }
    return sources;
}

/* Who has own sums shares them with no other one of its turn. */
static inline void ref_cut_slots(ref_cut *cut)
{
    int used[2] = { 0 };
    for (int i = 0; i < cut->of.parts; i++)
        if (cut->own[i]) cut->slot[i] = used[i % cut->turns]++;
    cut->slots = used[0] > used[1] ? used[0] : used[1];
}

/* Finds the parts' own sums; returns whether these are worth their while. */
static inline int ref_cut_pays(const ref_attend *t, ref_cut *cut)
{
    int64_t all = 0;
    cut->numbers = 0;
    memset(cut->own, 0, sizeof cut->own);
    for (int k = 0; k < t->edges->kinds; k++) {
        const gsa_part *part = &t->args->parts[k];
        if (t->edges->part_rows[k] == 0 || cut->same[k] != k || (!part->dk && !part->dv)) continue;
        const int64_t sources = ref_cut_kind(cut, k);
        if (sources == 0) continue;
        all += sources, cut->plane[k] = cut->numbers;
        cut->numbers += 2 * cut->of.count[k] * t->width;
    }
    ref_cut_slots(cut);
    return all * REF_CUT_EDGES <= cut->of.edges && cut->slots * cut->numbers <= REF_CUT_NUMBERS;
}

/* At most `parts` parts, with about as much work each: those whose middles are in one share. */
static inline void ref_cut_join(const gsa_edges *e, ref_look *x, int parts)
{
    const ref_look from = *x;
    int64_t seen = 0, all = 1, share = -1;
    for (int i = 0; i < from.parts; i++) all += from.held[i];
    x->parts = 0;
    memset(x->reads, 0, sizeof x->reads), memset(x->held, 0, sizeof x->held);
    for (int i = 0; i < from.parts; seen += from.held[i++]) {
        const int64_t own = (seen + from.held[i] / 2) * parts / all;
        if (own > share) share = own, x->at[x->parts++] = from.at[i];
        x->held[x->parts - 1] += from.held[i];
        for (int k = 0; k < e->kinds; k++) x->reads[x->parts - 1][k] |= from.reads[i][k];
    }
    x->at[x->parts] = from.at[from.parts];
}

/* The cut of an example; 1 part and no hub: it is whole. */
static inline void ref_cut_of(const ref_attend *t, const ref_look *look, ref_cut *cut)
{
    ref_cut whole = { .of = *look, .wide = ref_wide_wanted(t) };
    if (whole.wide > 1 && ref_may_cut(t, look->example, t->width) && ref_cut_kinds(t, &whole))
        for (int wide = whole.wide; wide > 1; wide /= 2)
            for (int turns = 1; turns <= 2; turns++) {
                *cut = whole, cut->turns = turns;
                ref_cut_join(t->edges, &cut->of, turns * wide);
                if (cut->of.parts > turns && ref_cut_pays(t, cut)) return;
            }
    else whole.of.hubs = 0;
    *cut = whole, cut->turns = 1;
    ref_cut_join(t->edges, &cut->of, 1);
}

#endif
