/* ops_ranks.c - rows that other ranks own: fetched, merged, pooled. */
#include "ranks.h"
#include <math.h>
#include <string.h>
#include "tape_parts.h"

enum { PLANES = 3 };

typedef struct plane { /* rows of so many numbers */
    void *at;
    int64_t cols;
} plane;

typedef struct packet { /* rows of one rank, their planes next to each other */
    const gsa_row_list *rows;
    const void *numbers;
} packet;

static int fits(gsa_tape *tape)
{
    if (!tape->failed && !tape->backend->shares_host_memory)
        gsa_tape_fail(tape, GSA_ERR_ARGUMENT,
                      "rows of one example over several ranks need a backend in the host's memory, "
                      "and %s has its own",
                      tape->backend->name);
    return !tape->failed;
}

/* Rows out[r] of the planes go to each rank r, which gives its in[r] of them to `take`. */
typedef struct goods {
    const gsa_row_list *out, *in;
    plane planes[PLANES];
    int count;
    void (*take)(void *user, packet from);
    void *user;
} goods;

static int64_t width_of(const gsa_tape *tape, const goods *x)
{
    int64_t width = 0;
    for (int p = 0; p < x->count; p++) width += x->planes[p].cols * tape->backend->real_bytes;
    return width;
}

static char *pack(const goods *x, const gsa_row_list *rows, int64_t real, char *to)
{
    for (int64_t i = 0; i < rows->count; i++)
        for (int p = 0; p < x->count; p++) {
            const size_t bytes = (size_t)(x->planes[p].cols * real);
            memcpy(to, (const char *)x->planes[p].at + (size_t)rows->at[i] * bytes, bytes);
            to += bytes;
        }
    return to;
}

static void fail_with(gsa_tape *tape, gsa_status status, const gsa_error *error)
{
    if (status != GSA_OK && !tape->failed) gsa_tape_fail(tape, status, "%s", error->text);
}

/* A rank whose tape has failed says so instead. */
static void begin_trade(gsa_tape *tape, gsa_group *group, const goods *x, int kinds)
{
    const int32_t ranks = group->ranks;
    gsa_error error = { 0 };
    int64_t *out = gsa_tape_host(tape, ranks * (int64_t)sizeof *out),
            *in = gsa_tape_host(tape, ranks * (int64_t)sizeof *in);
    gsa_status status = gsa_tape_status(tape, &error);
    for (int32_t r = 0; r < ranks && status == GSA_OK; r++) {
        out[r] = in[r] = 0;
        for (int k = 0; k < kinds; k++)
            out[r] += x[k].out[r].count * width_of(tape, &x[k]),
                in[r] += x[k].in[r].count * width_of(tape, &x[k]);
    }
    if (status == GSA_OK) status = gsa_group_room(group, out, in, &error);
    for (int32_t r = 0; r < ranks && status == GSA_OK; r++) {
        char *to = gsa_group_outbox(group, r);
        for (int k = 0; k < kinds; k++)
            to = pack(&x[k], &x[k].out[r], tape->backend->real_bytes, to);
    }
    fail_with(tape, gsa_group_begin(group, status, &error), &error);
}

static void end_trade(gsa_tape *tape, gsa_group *group, const goods *x, int kinds)
{
    gsa_error error = { 0 };
    fail_with(tape, gsa_group_go_on(group, 1, &error), &error);
    for (int32_t d = 1; d < group->ranks && !tape->failed; d++) {
        const int32_t r = group->rank ^ d;
        const char *from = gsa_group_inbox(group, r);
        for (int k = 0; k < kinds && !tape->failed; k++) {
            if (x[k].in[r].count > 0) x[k].take(x[k].user, (packet){ &x[k].in[r], from });
            from += x[k].in[r].count * width_of(tape, &x[k]);
        }
    }
}

static void trade(gsa_tape *tape, gsa_group *group, const goods *x)
{
    begin_trade(tape, group, x, 1);
    end_trade(tape, group, x, 1);
}

/* ---- ghosts -------------------------------------------------------------------------------- */
typedef struct target { /* where received rows go */
    gsa_tape *tape;
    void *at;
    int64_t cols;
} target;

static void put_rows(void *user, packet from)
{
    const target *t = user;
    const size_t bytes = (size_t)(t->cols * t->tape->backend->real_bytes);
    for (int64_t i = 0; i < from.rows->count; i++)
        memcpy((char *)t->at + (size_t)from.rows->at[i] * bytes,
               (const char *)from.numbers + (size_t)i * bytes, bytes);
}

static void add_rows(void *user, packet from)
{
    const target *t = user;
    const int64_t bytes = t->cols * t->tape->backend->real_bytes;
    for (int64_t i = 0; i < from.rows->count; i++)
        GSA_CALL(t->tape, accumulate, (char *)t->at + from.rows->at[i] * bytes,
                 (const char *)from.numbers + i * bytes, 1, t->cols);
}

static void clear_ghosts(gsa_tape *tape, const gsa_share_kind *kind, void *at, int64_t cols)
{
    const int64_t bytes = cols * tape->backend->real_bytes;
    for (int64_t i = 0; at && i < kind->nodes; i++)
        if (kind->ghost[i]) memset((char *)at + i * bytes, 0, (size_t)bytes);
}

typedef struct fetched { /* one kind */
    const gsa_share_kind *kind;
    gsa_tensor *x, *y;
    target own; /* of y forward, of its gradient backward */
} fetched;

typedef struct fetch_op {
    gsa_op op; /* out: y of the first kind */
    gsa_group *group;
    fetched *at;
    goods *goods;
    int count;
} fetch_op;

static void look_after(gsa_tape *tape, void *user)
{
    gsa_error error = { 0 };
    const fetch_op *f = user;
    fail_with(tape, gsa_group_go_on(f->group, 0, &error), &error);
}

static void fetch_back(gsa_tape *tape, gsa_op *op)
{
    fetch_op *f = (fetch_op *)op;
    for (int i = 0; i < f->count; i++) {
        fetched *one = &f->at[i];
        one->own.at = gsa_tape_grad(tape, one->y);
        f->goods[i] =
            (goods){ one->kind->receive, one->kind->send, { { one->own.at, one->x->cols } }, 1,
                     add_rows,           &one->own };
    }
    begin_trade(tape, f->group, f->goods, f->count);
    gsa_tape_catch_up(tape, look_after, f);
    end_trade(tape, f->group, f->goods, f->count);
    for (int i = f->count - 1; i >= 0 && !tape->failed; i--) { /* the first, op's own, at the end */
        fetched *one = &f->at[i];
        if (!one->own.at) continue;
        clear_ghosts(tape, one->kind, one->own.at, one->x->cols);
        tape->handed = 0;
        gsa_tape_add_grad(tape, one->x, one->own.at, 1);
        if (i == 0) continue;
        if (!tape->handed)
            gsa_tape_spare(tape, one->own.at, gsa_tape_bytes(tape, one->y->rows, one->y->cols));
        one->y->grad = NULL;
    }
}

/* Its rows are not looked at before: they are in the group's memory. */
static void fetch_on(gsa_tape *tape, void *user, int waits)
{
    fetch_op *f = user;
    if (waits) end_trade(tape, f->group, f->goods, f->count);
    else look_after(tape, f);
}

static int fetch_one(gsa_tape *tape, fetched *one, goods *g)
{
    gsa_tensor *x = one->x;
    if (gsa_tape_lacks(tape, x, "fetch") || !fits(tape)) return 0;
    if (x->rows != one->kind->nodes)
        return gsa_tape_fail(tape, GSA_ERR_ARGUMENT, "fetch: %lld rows for %lld local nodes",
                             (long long)x->rows, (long long)one->kind->nodes),
               0;
    gsa_tensor *y = one->y =
        gsa_tape_new(tape, x->rows, x->cols, 1); /* whether x does differs by rank */
    if (!y) return 0;
    if (x->rows * x->cols > 0)
        GSA_CALL(tape, copy, y->data, x->data, gsa_tape_bytes(tape, x->rows, x->cols));
    one->own = (target){ tape, y->data, x->cols };
    *g = (goods){ one->kind->send, one->kind->receive, { { x->data, x->cols } }, 1,
                  put_rows,        &one->own };
    return gsa_tape_lack(tape, y, one->kind->ghost) != NULL;
}

void gsa_op_fetch(gsa_tape *tape, gsa_group *group, const gsa_share_kind *const *kind,
                  gsa_tensor **x, int count)
{
    if (count == 0) return;
    fetch_op *f = gsa_tape_host(tape, (int64_t)sizeof *f);
    fetched *at = gsa_tape_host(tape, count * (int64_t)sizeof *at);
    goods *g = gsa_tape_host(tape, count * (int64_t)sizeof *g);
    for (int i = 0; i < count && !tape->failed; i++) {
        at[i] = (fetched){ .kind = kind[i], .x = x[i] };
        x[i] = fetch_one(tape, &at[i], &g[i]) ? at[i].y : NULL;
    }
    begin_trade(tape, group, g, count);
    if (tape->failed) return;
    *f = (fetch_op){ .group = group, .at = at, .goods = g, .count = count };
    tape->journey.go_on = fetch_on, tape->journey.user = f;
    fetch_op *op = gsa_tape_record(tape, sizeof *op, fetch_back, at[0].y);
    if (!op) return;
    const gsa_op recorded = op->op;
    *op = *f, op->op = recorded, op->op.always = 1;
}

/* ---- split rows ---------------------------------------------------------------------------- */

/* (o, l) and (p, m) of one row and head, l and m their log-sum-exps: the row over both's edges is
 * (e^l o + e^m p) / (e^l + e^m), with log (e^l + e^m). */
#define DEFINE_MERGE(name, real)                                                                   \
    static void name(real *o, real *l, const real *p, real m, int64_t cols)                        \
    {                                                                                              \
        const double high = (double)(*l > m ? *l : m);                                             \
        if (high == -(double)INFINITY) return;                                                     \
        const double a = exp((double)*l - high), b = exp((double)m - high), sum = a + b;           \
        for (int64_t c = 0; c < cols; c++)                                                         \
            o[c] = (real)((a * (double)o[c] + b * (double)p[c]) / sum);                            \
        *l = (real)(high + log(sum));                                                              \
    }
DEFINE_MERGE(merge_float, float)
DEFINE_MERGE(merge_double, double)

static void merge_rows(void *user, packet from)
{
    const gsa_split_attend *s = user;
    const int64_t width = (int64_t)s->heads * s->head_dim, all = width + s->heads;
    for (int64_t i = 0; i < from.rows->count; i++)
        for (int32_t h = 0; h < s->heads; h++) {
            const int64_t row = from.rows->at[i], o = row * width + h * s->head_dim,
                          l = row * s->heads + h, p = i * all + h * s->head_dim;
            if (s->real == GSA_F32)
                merge_float((float *)s->out + o, (float *)s->lse + l,
                            (const float *)from.numbers + p,
                            ((const float *)from.numbers)[i * all + width + h], s->head_dim);
            else
                merge_double((double *)s->out + o, (double *)s->lse + l,
                             (const double *)from.numbers + p,
                             ((const double *)from.numbers)[i * all + width + h], s->head_dim);
        }
}

void gsa_merge_split(gsa_tape *tape, gsa_split_attend *s)
{
    const plane out = { s->out, (int64_t)s->heads * s->head_dim }, lse = { s->lse, s->heads };
    trade(tape, s->group,
          &(goods){ s->phase->lent, s->phase->owed, { out, lse }, 2, merge_rows, s });
}

/* What the owner made of the row, in place of the partial result. */
static void take_rows(void *user, packet from)
{
    const gsa_split_attend *s = user;
    const int64_t real = s->real == GSA_F32 ? 4 : 8, width = (int64_t)s->heads * s->head_dim * real;
    const int64_t heads = s->heads * real;
    for (int64_t i = 0; i < from.rows->count; i++) {
        const int64_t row = from.rows->at[i];
        const char *at = (const char *)from.numbers + i * (2 * width + heads);
        memcpy((char *)s->out + row * width, at, (size_t)width);
        memcpy((char *)s->dout + row * width, at + width, (size_t)width);
        memcpy((char *)s->lse + row * heads, at + 2 * width, (size_t)heads);
    }
}

void gsa_spread_split(gsa_tape *tape, gsa_split_attend *s)
{
    const int64_t width = (int64_t)s->heads * s->head_dim;
    const goods rows = { s->phase->owed,
                         s->phase->lent,
                         { { s->out, width }, { s->dout, width }, { s->lse, s->heads } },
                         PLANES,
                         take_rows,
                         s };
    trade(tape, s->group, &rows);
}

/* ---- sums over ranks ----------------------------------------------------------------------- */

static double number(const gsa_tape *tape, const void *x, int64_t i)
{
    return tape->backend->real == GSA_F32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

static void add_number(const gsa_tape *tape, void *x, int64_t i, double value)
{
    if (tape->backend->real == GSA_F32) ((float *)x)[i] += (float)value;
    else ((double *)x)[i] += value;
}

/* all [ranks, count] of each rank's numbers, which are at all[rank]; room that lives until reset */
static double *gather(gsa_tape *tape, gsa_group *group, double *all, int64_t count)
{
    gsa_error error = { 0 };
    gsa_status status = gsa_tape_status(tape, &error);
    if (!all && status == GSA_OK) status = gsa_out_of_memory(&error, "what ranks give", count * 8);
    const double *own = all ? all + group->rank * count : NULL;
    status = gsa_group_gather(group, status, own, count * (int64_t)sizeof *own, all, &error);
    if (status != GSA_OK && !tape->failed) gsa_tape_fail(tape, status, "%s", error.text);
    return tape->failed ? NULL : all;
}

static double *room_of(gsa_tape *tape, const gsa_group *group, int64_t count)
{
    return gsa_tape_host(tape, (group->ranks * count + 1) * (int64_t)sizeof(double));
}

static double over_ranks(const gsa_group *group, const double *all, int64_t count, int64_t i)
{
    double sum = 0;
    for (int32_t r = 0; r < group->ranks; r++) sum += all[r * count + i];
    return sum;
}

/* The gradients of all ranks of what all ranks have: [count] sums, or NULL. */
static double *all_gradients(gsa_tape *tape, gsa_group *group, gsa_tensor *y)
{
    const int64_t count = y->rows * y->cols;
    const void *dy = gsa_tape_grad(tape, y);
    double *all = room_of(tape, group, count);
    for (int64_t i = 0; all && dy && i < count; i++)
        all[group->rank * count + i] = number(tape, dy, i);
    if (!gather(tape, group, all, count)) return NULL;
    for (int64_t i = 0; i < count; i++) all[i] = over_ranks(group, all, count, i);
    return all;
}

typedef struct sum_op {
    gsa_op op;
    gsa_group *group;
    gsa_tensor *x;
} sum_op;

static void sum_back(gsa_tape *tape, gsa_op *op)
{
    const sum_op *s = (const sum_op *)op;
    const double *total = all_gradients(tape, s->group, op->out);
    void *dx = total ? gsa_tape_grad(tape, s->x) : NULL;
    for (int64_t i = 0; dx && i < s->x->rows * s->x->cols; i++) add_number(tape, dx, i, total[i]);
}

gsa_tensor *gsa_op_sum_ranks(gsa_tape *tape, gsa_group *group, gsa_tensor *x)
{
    if (gsa_tape_lacks(tape, x, "sum over ranks") || !fits(tape)) return NULL;
    const int64_t count = x->rows * x->cols;
    gsa_tensor *y = gsa_tape_zeros(tape, x->rows, x->cols);
    double *all = room_of(tape, group, count);
    for (int64_t i = 0; all && i < count; i++)
        all[group->rank * count + i] = number(tape, x->data, i);
    all = gather(tape, group, all, count);
    for (int64_t i = 0; all && i < count; i++)
        add_number(tape, y->data, i, over_ranks(group, all, count, i));
    if (y) y->wants_grad = tape->training; /* here perhaps not, but on another rank */
    sum_op *op = gsa_tape_record(tape, sizeof *op, sum_back, y);
    if (op) op->op.always = 1, op->group = group, op->x = x;
    return tape->failed ? NULL : y;
}

/* ---- pools --------------------------------------------------------------------------------- */
typedef struct pool_op {
    gsa_op op;
    gsa_group *group;
    const gsa_share *share;
    const int64_t *offset;
    const int32_t *place; /* NULL: the mean */
    int32_t *best;        /* [examples, cols] the row of the maximum; -1: another rank has it */
    gsa_tensor *x;
    int kind;
} pool_op;

static int64_t whole_count(const pool_op *p, int64_t example)
{
    return p->share->count[example * p->share->n_kinds + p->kind];
}

static void pool_back(gsa_tape *tape, gsa_op *op)
{
    const pool_op *p = (const pool_op *)op;
    const int64_t cols = op->out->cols;
    const double *total = all_gradients(tape, p->group, op->out);
    void *dx = total ? gsa_tape_grad(tape, p->x) : NULL;
    for (int64_t e = 0; dx && e < op->out->rows; e++)
        for (int64_t c = 0; c < cols; c++) {
            const double dy = total[e * cols + c];
            if (p->place && p->best[e * cols + c] >= 0)
                add_number(tape, dx, p->best[e * cols + c] * cols + c, dy);
            for (int64_t i = p->offset[e]; !p->place && i < p->offset[e + 1]; i++)
                if (!p->share->kind[p->kind].ghost[i])
                    add_number(tape, dx, i * cols + c, dy / (double)whole_count(p, e));
        }
}

/* This rank's own rows: their sum, or their maximum (none: -inf) and where it is in the whole. */
static void pool_own(const gsa_tape *tape, const pool_op *p, int64_t e, double *own, double *where)
{
    const int64_t cols = p->x->cols;
    for (int64_t c = 0; c < cols; c++) {
        own[c] = p->place ? -(double)INFINITY : 0, p->best[e * cols + c] = -1;
        if (p->place) where[c] = (double)INFINITY;
        for (int64_t i = p->offset[e]; i < p->offset[e + 1]; i++) {
            const double x = number(tape, p->x->data, i * cols + c);
            if (p->share->kind[p->kind].ghost[i]) continue;
            if (!p->place) own[c] += x;
            else if (!(x <= own[c]) || p->best[e * cols + c] < 0)
                own[c] = x, where[c] = p->place[i], p->best[e * cols + c] = (int32_t)i;
        }
    }
}

static int32_t best_rank(const pool_op *p, const double *all, int64_t count, int64_t i)
{
    const double *best = all + i;
    for (int32_t r = 1; r < p->group->ranks; r++) {
        const double *at = all + 2 * r * count + i;
        if (*at > *best || (*at == *best && at[count] < best[count])) best = at;
    }
    return (int32_t)((best - all) / (2 * count));
}

static void pool_all(const gsa_tape *tape, const pool_op *p, const double *all, gsa_tensor *y)
{
    const int64_t cols = y->cols, count = y->rows * cols;
    for (int64_t e = 0; e < y->rows; e++)
        for (int64_t i = e * cols; i < (e + 1) * cols && whole_count(p, e) > 0; i++) {
            const int32_t best = p->place ? best_rank(p, all, count, i) : 0;
            if (p->place && best != p->group->rank) p->best[i] = -1;
            add_number(tape, y->data, i,
                       p->place ? all[2 * best * count + i]
                                : over_ranks(p->group, all, count, i) / (double)whole_count(p, e));
        }
}

gsa_tensor *gsa_op_pool_ranks(gsa_tape *tape, gsa_group *group, const gsa_share *share, int kind,
                              gsa_tensor *x, const int64_t *offset, const int32_t *place)
{
    if (gsa_tape_lacks(tape, x, "pool over ranks") || !fits(tape)) return NULL;
    const int64_t count = share->examples * x->cols, told = (1 + (place != NULL)) * count;
    gsa_tensor *y = gsa_tape_zeros(tape, share->examples, x->cols);
    double *all = room_of(tape, group, told), *own = all ? all + group->rank * told : NULL;
    pool_op pool = {
        .group = group, .share = share, .offset = offset, .place = place, .x = x, .kind = kind
    };
    pool.best = gsa_tape_host(tape, (count + 1) * (int64_t)sizeof *pool.best);
    for (int64_t e = 0; own && pool.best && e < share->examples; e++)
        pool_own(tape, &pool, e, own + e * x->cols, own + count + e * x->cols);
    all = gather(tape, group, pool.best ? all : NULL, told);
    if (all && y) pool_all(tape, &pool, all, y);
    if (y) y->wants_grad = tape->training;
    pool_op *op = gsa_tape_record(tape, sizeof *op, pool_back, y);
    if (op) pool.op = op->op, *op = pool, op->op.always = 1;
    return tape->failed ? NULL : y;
}
