/* attend_turns.h - runs the parts of one example (attend_cut.h): side by side where it comes alone,
 * one after the other in an item of many examples. Either way each sum has the same terms in the
 * same order. */
#ifndef GSA_REF_ATTEND_TURNS_H
#define GSA_REF_ATTEND_TURNS_H
#include "kernels/ref/attend_cut.h"

/* One item's place in the partial sums; NULL where the gradient is not wanted. */
typedef struct ref_label_sums {
    real *dr, *db;
    int32_t first_head, group;
} ref_label_sums;

/* Adds the gradients of the rows' heads first .. last-1, of the edges t->from .. t->end-1 of a row
 * that is cut; `room` is its thread's (team.h). */
typedef void ref_rows_heads(const ref_attend *t, gsa_rows rows, int32_t first, int32_t last,
                            const ref_label_sums *sums, void *room);

typedef struct ref_share { /* some heads, and who works on them */
    const ref_attend *t;
    ref_rows_heads *rows_heads;
    int32_t first, last;
    ref_label_sums sums;
    void *room;
} ref_share;

/* The share of a group of heads; `part`, where an example comes alone: whose label sums. */
typedef ref_share ref_share_of(const void *job, int64_t group, int64_t part, void *room);

typedef struct ref_example {
    const ref_cut *cut;
    const void *job;
    ref_share_of *share_of;
    gsa_team *team;        /* NULL: this thread, with `room` */
    int64_t group, groups; /* of heads: the first one, and how many */
    void *room;            /* of this thread, or of each */
    int64_t room_bytes;
    real *own; /* [cut->slots][cut->numbers]: own sums of the parts of a turn */
    real *dq;  /* [REF_WIDE][width]: of the pieces of a hub */
    int turn;
    uint64_t joins; /* stretches of which a part of the turn has own sums */
    int64_t hub;
} ref_example;

/* Where row 0 would be, of a plane that begins with another row. */
static inline real *ref_plane_of(real *at, int64_t row, int64_t width)
{
    return (real *)((uintptr_t)at - (uintptr_t)(row * width) * sizeof(real));
}

/* Heads first .. last-1 of rows from .. to-1 of a plane. */
static inline void ref_clear(const ref_attend *t, void *plane, int64_t from, int64_t to,
                             int32_t first, int32_t last)
{
    const size_t columns = (size_t)(last - first) * (size_t)t->dim;
    real *at = (real *)plane + from * t->width + (int64_t)first * t->dim;
    if ((int64_t)columns == t->width) memset(at, 0, sizeof(real) * columns * (size_t)(to - from));
    else
        for (int64_t row = from; row < to; row++, at += t->width)
            memset(at, 0, sizeof(real) * columns);
}

/* The same added to another plane, where there is one. */
static inline void ref_add(const ref_share *x, void *plane, const real *more, int64_t from,
                           int64_t to)
{
    const int64_t width = x->t->width, columns = (int64_t)(x->last - x->first) * x->t->dim,
                  at = (int64_t)x->first * x->t->dim;
    if (!plane) return;
    if (columns == width)
        ref_axpy((real *)plane + from * width, 1, more + from * width, (to - from) * width);
    else
        for (int64_t row = from; row < to; row++)
            ref_axpy((real *)plane + row * width + at, 1, more + row * width + at, columns);
}

static inline real *ref_own_of(const ref_example *x, int part)
{
    return x->own + x->cut->slot[part] * x->cut->numbers;
}

/* Stretch `stretch` of a part's own sums is cleared, or (`add`) added to the gradients. */
static inline void ref_own_stretch(const ref_example *x, const ref_share *share, int part,
                                   int stretch, int add)
{
    const ref_look *of = &x->cut->of;
    const int64_t width = share->t->width;
    for (int k = 0; k < share->t->edges->kinds; k++) {
        if (!(x->cut->own[part] >> k & 1) || !(of->reads[part][k] >> stretch & 1)) continue;
        const int64_t from = of->first[k] + ((int64_t)stretch << of->shift[k]),
                      to = ref_smaller(from + (INT64_C(1) << of->shift[k]),
                                       of->first[k] + of->count[k]);
        real *dk = ref_plane_of(ref_own_of(x, part) + x->cut->plane[k], of->first[k], width),
             *dv = dk + of->count[k] * width;
        if (add) {
            ref_add(share, share->t->args->parts[k].dk, dk, from, to);
            ref_add(share, share->t->args->parts[k].dv, dv, from, to);
        } else {
            ref_clear(share->t, dk, from, to, share->first, share->last);
            ref_clear(share->t, dv, from, to, share->first, share->last);
        }
    }
}

/* A part's rows that are no hubs. */
static inline void ref_part_rows(const ref_look *of, const ref_share *x, const ref_attend *t,
                                 int part)
{
    const gsa_edges *e = t->edges;
    int64_t place = 0;
    for (int64_t r = e->block_offset[of->example]; r < e->block_offset[of->example + 1]; r++) {
        const gsa_rows block = e->blocks[r];
        const int64_t skipped = of->at[part] - place,
                      end = block.first + ref_smaller(block.count, of->at[part + 1] - place);
        int64_t row = block.first + (skipped > 0 ? skipped : 0);
        for (int i = 0; i < of->hubs; i++) {
            const int64_t hub = of->hub[i];
            if (row > hub || hub >= end) continue;
            if (row < hub)
                x->rows_heads(t, (gsa_rows){ row, hub - row }, x->first, x->last, &x->sums,
                              x->room);
            row = hub + 1;
        }
        if (row < end)
            x->rows_heads(t, (gsa_rows){ row, end - row }, x->first, x->last, &x->sums, x->room);
        place += block.count;
    }
}

static inline void ref_part_item(void *context, void *room, int64_t item)
{
    const ref_example *x = context;
    const int part = x->cut->turns * (int)(item / x->groups) + x->turn;
    const ref_share share = x->share_of(x->job, x->group + item % x->groups, part, room);
    const uint32_t own = x->cut->own[part];
    ref_attend t = *share.t;
    gsa_attend_args args = *t.args;
    gsa_part parts[REF_CUT_KINDS];
    for (int i = 0; i < 64 && own; i++) ref_own_stretch(x, &share, part, i, 0);
    for (int k = 0; k < t.edges->kinds; k++) {
        const int same = x->cut->same[k];
        real *dk = ref_own_of(x, part) + x->cut->plane[same];
        parts[k] = args.parts[k];
        if (!(own >> same & 1)) continue;
        dk = ref_plane_of(dk, x->cut->of.first[k], t.width);
        if (parts[k].dk) parts[k].dk = dk;
        if (parts[k].dv) parts[k].dv = dk + x->cut->of.count[k] * t.width;
    }
    args.parts = parts, t.args = &args;
    ref_part_rows(&x->cut->of, &share, own ? &t : share.t, part);
}

/* Which stretches of sources are to be added after the turn. */
static inline uint64_t ref_joins(const ref_cut *cut, int turn)
{
    uint64_t joins = 0;
    for (int part = turn; part < cut->of.parts; part += cut->turns)
        for (int k = 0; k < REF_CUT_KINDS; k++)
            if (cut->own[part] >> k & 1) joins |= cut->of.reads[part][k];
    return joins;
}

/* One of them, of all parts of a turn. */
static inline void ref_join_item(void *context, void *room, int64_t item)
{
    const ref_example *x = context;
    const ref_share share = x->share_of(x->job, x->group + item % x->groups, 0, room);
    uint64_t joins = x->joins;
    for (int64_t i = 0; i < item / x->groups; i++) joins &= joins - 1;
    for (int part = x->turn; part < x->cut->of.parts; part += x->cut->turns)
        ref_own_stretch(x, &share, part, __builtin_ctzll(joins), 1);
}

/* A piece of a hub: the first adds to its dq, the others have sums of their own. */
static inline void ref_piece_item(void *context, void *room, int64_t item)
{
    const ref_example *x = context;
    const int piece = (int)(item / x->groups);
    const ref_share share = x->share_of(x->job, x->group + item % x->groups, piece, room);
    const gsa_rows hub = { x->hub, 1 };
    ref_attend t = *share.t;
    gsa_attend_args args = *t.args;
    real *dq = x->dq + piece * t.width;
    if (piece > 0) {
        ref_clear(&t, dq, 0, 1, share.first, share.last);
        if (args.dq) args.dq = ref_plane_of(dq, x->hub, t.width);
    }
    t.args = &args;
    if (ref_attend_piece(&t, x->hub, piece, x->cut->wide))
        share.rows_heads(&t, hub, share.first, share.last, &share.sums, share.room);
}

static inline void ref_add_pieces_item(void *context, void *room, int64_t item)
{
    const ref_example *x = context;
    const ref_share share = x->share_of(x->job, x->group + item, 0, room);
    for (int piece = 1; piece < x->cut->wide; piece++)
        ref_add(&share, share.t->args->dq,
                ref_plane_of(x->dq + piece * share.t->width, x->hub, share.t->width), x->hub,
                x->hub + 1);
}

static inline void ref_each(ref_example *x, int64_t items,
                            void (*body)(void *context, void *room, int64_t item))
{
    if (x->team) gsa_team_run_in(x->team, items * x->groups, body, x, x->room, x->room_bytes);
    else
        for (int64_t i = 0; i < items * x->groups; i++) body(x, x->room, i);
}

static inline void ref_run_example(ref_example *x)
{
    const ref_look *of = &x->cut->of;
    const int turns = x->cut->turns;
    for (x->turn = 0; x->turn < turns; x->turn++) {
        ref_each(x, (of->parts + turns - 1 - x->turn) / turns, ref_part_item);
        x->joins = ref_joins(x->cut, x->turn);
        ref_each(x, __builtin_popcountll(x->joins), ref_join_item);
    }
    for (int i = 0; i < of->hubs; i++) {
        x->hub = of->hub[i];
        ref_each(x, x->cut->wide, ref_piece_item);
        ref_each(x, 1, ref_add_pieces_item);
    }
}

#endif
