/* ops_rows.c - rows: views, concatenation, gather, select, pooling. */
#include "tape_parts.h"
#include "tape_watch.h"
#include "graph/index.h"
#include <string.h>

/* ---- rows first.. of x, sharing memory and gradient: nothing to record */
gsa_tensor *gsa_op_view(gsa_tape *tape, gsa_tensor *x, int64_t first, int64_t rows)
{
    if (gsa_tape_lacks(tape, x, "view")) return NULL;
    if (first < 0 || rows < 0 || first > x->rows - rows)
        return gsa_tape_fail(tape, GSA_ERR_ARGUMENT,
                             "view: rows %lld..%lld of a tensor of %lld rows", (long long)first,
                             (long long)(first + rows), (long long)x->rows);
    if (first == 0 && rows == x->rows) return x;
    gsa_tensor *whole = x->whole ? x->whole : x, *view = gsa_tape_host(tape, (int64_t)sizeof *view);
    if (!view) return NULL;
    if (tape->between) whole->uses = GSA_USES_VIEWED;
    const int64_t start = first + (x->whole ? x->first : 0);
    char *data = whole->data;
    *view =
        (gsa_tensor){ .rows = rows,
                      .cols = x->cols,
                      .wants_grad = x->wants_grad,
                      .whole = whole,
                      .first = start,
                      .data = data ? data + start * x->cols * tape->backend->real_bytes : NULL };
    const gsa_late *late = gsa_tape_late(tape, x);
    return late && !gsa_tape_lack(tape, view, late->row + first) ? NULL : view;
}

/* ---- the same numbers in other rows: a view of the whole of x */
gsa_tensor *gsa_op_reshape(gsa_tape *tape, gsa_tensor *x, int64_t rows, int64_t cols)
{
    int64_t values;
    if (gsa_tape_lacks(tape, x, "reshape")) return NULL;
    if (rows < 0 || cols < 0 || !gsa_mul(rows, cols, &values) || values != x->rows * x->cols)
        return gsa_tape_fail(tape, GSA_ERR_ARGUMENT,
                             "reshape: [%lld, %lld] does not fit [%lld, %lld]", (long long)x->rows,
                             (long long)x->cols, (long long)rows, (long long)cols);
    if (rows == x->rows && cols == x->cols) return x;
    gsa_tensor *whole = x->whole ? x->whole : x, *view = gsa_tape_host(tape, (int64_t)sizeof *view);
    const int64_t before =
        x->whole ? x->first * x->cols : 0; /* numbers of `whole` before the first */
    if (!view) return NULL;
    if (tape->between) whole->uses = GSA_USES_VIEWED;
    if (cols > 0 && before % cols != 0)
        return gsa_tape_fail(
            tape, GSA_ERR_ARGUMENT,
            "reshape: a view that starts at number %lld has no rows of %lld columns",
            (long long)before, (long long)cols);
    *view = (gsa_tensor){ .rows = rows,
                          .cols = cols,
                          .wants_grad = x->wants_grad,
                          .whole = whole,
                          .first = cols > 0 ? before / cols : 0,
                          .data = x->data };
    return view;
}

/* ---- next to each other: blocks of columns as wide as all parts allow, in a new order */
static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

gsa_tensor *gsa_op_beside(gsa_tape *tape, gsa_tensor *const *x, int count)
{
    int64_t cols = 0, width = 0;
    if (count <= 0)
        return gsa_tape_fail(tape, GSA_ERR_ARGUMENT, "beside: %d parts, at least 1 is needed",
                             count);
    for (int i = 0; i < count; i++) {
        if (gsa_tape_lacks(tape, x[i], "beside")) return NULL;
        if (x[i]->rows != x[0]->rows)
            return gsa_tape_fail(tape, GSA_ERR_ARGUMENT,
                                 "beside: part %d has %lld rows, the first %lld", i,
                                 (long long)x[i]->rows, (long long)x[0]->rows);
        cols += x[i]->cols, width = common_divisor(x[i]->cols, width);
    }
    if (count == 1 || width == 0) return x[0];
    const int64_t rows = x[0]->rows, blocks = rows * (cols / width),
                  bytes = blocks * (int64_t)sizeof(int32_t);
    if (blocks > gsa_index_most)
        return gsa_tape_fail(tape, GSA_ERR_LIMIT,
                             "beside: %lld blocks of %lld columns are too many", (long long)blocks,
                             (long long)width);
    int32_t *id = gsa_tape_host(tape, bytes);
    gsa_tensor **part = gsa_tape_host(tape, count * (int64_t)sizeof *part);
    if (tape->failed) return NULL;
    int64_t at = 0, first = 0;
    for (int i = 0; i < count; i++) { /* block k of row r of part i */
        const int64_t own = x[i]->cols / width;
        for (int64_t r = 0; r < rows; r++)
            for (int64_t k = 0; k < own; k++)
                id[r * (cols / width) + at + k] = (int32_t)(first + r * own + k);
        at += own, first += rows * own;
        part[i] = gsa_op_reshape(tape, x[i], rows * own, width);
    }
    gsa_tensor *y = gsa_op_gather(tape, NULL, gsa_op_concat(tape, part, count),
                                  gsa_tape_upload(tape, id, bytes), blocks, 1, 0);
    return gsa_op_reshape(tape, y, rows, cols);
}

/* ---- below each other */
typedef struct concat_op {
    gsa_op op;
    gsa_tensor **x;
    int count;
} concat_op;

static void concat_back(gsa_tape *tape, gsa_op *op)
{
    concat_op *c = (concat_op *)op;
    char *dy = op->out->grad;
    for (int i = 0; i < c->count; i++) {
        const int64_t n = c->x[i]->rows * c->x[i]->cols;
        if (n) gsa_tape_add_grad(tape, c->x[i], dy, 1);
        dy += n * tape->backend->real_bytes;
    }
}

/* The tensors with rows, when they lie one after the other in one tensor already: that stretch of
 * it. */
static gsa_tensor *neighbours(gsa_tape *tape, gsa_tensor *const *x, int count)
{
    gsa_tensor *whole = NULL;
    int64_t first = 0, end = 0;
    for (int i = 0; i < count; i++) {
        if (x[i]->rows == 0) continue;
        gsa_tensor *w = x[i]->whole ? x[i]->whole : x[i];
        const int64_t at = x[i]->whole ? x[i]->first : 0;
        if (!whole) whole = w, first = end = at;
        if (w != whole || at != end || x[i]->cols != w->cols) return NULL; /* the last: reshaped */
        end += x[i]->rows;
    }
    return whole ? gsa_op_view(tape, whole, first, end - first) : x[0];
}

static void concat_again(gsa_tape *tape, const gsa_late *late)
{
    const int64_t bytes = gsa_tape_bytes(tape, 1, late->y->cols);
    for (int64_t row = 0, i = 0, part = 0; row < late->y->rows; row++, i++) {
        while (i == late->parts[part]->rows) part++, i = 0;
        if (late->row[row])
            GSA_CALL(tape, copy, (char *)late->y->data + row * bytes,
                     (char *)late->parts[part]->data + i * bytes, bytes);
    }
}

/* The parts' late rows are y's. */
static void note_late(gsa_tape *tape, gsa_tensor *y, gsa_tensor *const *x, int count)
{
    const gsa_late *of = NULL;
    for (int i = 0; i < count && !of; i++) of = gsa_tape_late(tape, x[i]);
    if (!of) return;
    uint8_t *row = gsa_tape_host(tape, y->rows + 1), *to = row;
    gsa_tensor **parts = gsa_tape_host(tape, count * (int64_t)sizeof *parts);
    if (!row || !parts) return;
    memset(row, 0, (size_t)y->rows);
    for (int i = 0; i < count; to += x[i++]->rows)
        if ((of = gsa_tape_late(tape, x[i]))) memcpy(to, of->row, (size_t)x[i]->rows);
    memcpy(parts, x, (size_t)count * sizeof *parts);
    gsa_late *late = gsa_tape_lack(tape, y, row);
    if (late) late->again = concat_again, late->parts = parts;
}

gsa_tensor *gsa_op_concat(gsa_tape *tape, gsa_tensor *const *x, int count)
{
    int64_t rows = 0;
    int wants = 0;
    for (int i = 0; i < count; i++) {
        if (gsa_tape_lacks(tape, x[i], "concat")) return NULL;
        if (x[i]->cols != x[0]->cols)
            return gsa_tape_fail(tape, GSA_ERR_ARGUMENT,
                                 "concat: part %d has %lld columns, the first %lld", i,
                                 (long long)x[i]->cols, (long long)x[0]->cols);
        rows += x[i]->rows;
        wants |= x[i]->wants_grad;
    }
    if (count <= 0)
        return gsa_tape_fail(tape, GSA_ERR_ARGUMENT, "concat: %d parts, at least 1 is needed",
                             count);
    gsa_tensor *y = neighbours(tape, x, count);
    if (y || tape->failed) return y;
    y = gsa_tape_new(tape, rows, x[0]->cols, wants);
    char *to = y ? y->data : NULL;
    for (int i = 0; y && i < count; i++) {
        const int64_t bytes = gsa_tape_bytes(tape, x[i]->rows, x[i]->cols);
        if (bytes && !GSA_CALL(tape, copy, to, x[i]->data, bytes)) return NULL;
        to += bytes;
    }
    if (y) note_late(tape, y, x, count);
    concat_op *op = gsa_tape_record(tape, sizeof *op, concat_back, y);
    if (op) {
        op->count = count;
        op->x = gsa_tape_host(tape, count * (int64_t)sizeof *op->x);
        if (!op->x) return NULL;
        memcpy(op->x, x, (size_t)count * sizeof *op->x);
    }
    for (int i = 0; i < count; i++) gsa_tape_use(tape, x[i]);
    return tape->failed ? NULL : y;
}

/* ---- y[i] = base[i] + scale table[ids[i]] */
typedef struct gather_op {
    gsa_op op;
    gsa_tensor *base, *table;
    const int32_t *ids;
    double scale;
    int32_t first_id;
} gather_op;

/* The table's gradient, with the rows marked that are about to get something. */
static void *table_grad(gsa_tape *tape, const gather_op *g)
{
    const gsa_marks *marks = g->table->marks;
    if (!marks || tape->failed || !g->table->wants_grad) return gsa_tape_grad(tape, g->table);
    gsa_tape_spend(tape, g->table);
    for (int64_t i = 0; i < g->op.out->rows; i++)
        if (g->ids[i] >= g->first_id && g->ids[i] >= 0) marks->row[g->ids[i]] = 1;
    return g->table->grad;
}

static void gather_back(gsa_tape *tape, gsa_op *op)
{
    gather_op *g = (gather_op *)op;
    const gsa_tensor *y = op->out;
    void *dtable = table_grad(tape, g);
    if (dtable)
        GSA_CALL(tape, gather_backward, dtable, y->grad, g->ids, g->first_id, g->scale, y->rows,
                 y->cols, g->table->rows);
    gsa_tape_add_grad(tape, g->base, y->grad, 1);
}

gsa_tensor *gsa_op_gather(gsa_tape *tape, gsa_tensor *base, gsa_tensor *table, const int32_t *ids,
                          int64_t rows, double scale, int32_t first_id)
{
    if (gsa_tape_lacks(tape, table, "gather")) return NULL;
    if (base && (base->rows != rows || base->cols != table->cols))
        return gsa_tape_fail(
            tape, GSA_ERR_ARGUMENT, "gather: base is [%lld, %lld], but [%lld, %lld] is gathered",
            (long long)base->rows, (long long)base->cols, (long long)rows, (long long)table->cols);
    gsa_tensor *y =
        gsa_tape_new(tape, rows, table->cols, table->wants_grad || (base && base->wants_grad));
    if (!y) return NULL;
    const int64_t bytes = gsa_tape_bytes(tape, rows, table->cols);
    if (base && bytes && !GSA_CALL(tape, copy, y->data, base->data, bytes)) return NULL;
    if (rows && !GSA_CALL(tape, gather_forward, y->data, table->data, ids, scale, base != NULL,
                          rows, table->cols, table->rows))
        return NULL;
    gather_op *op = gsa_tape_record(tape, sizeof *op, gather_back, y);
    if (op)
        op->base = base, op->table = table, op->ids = ids, op->scale = scale,
        op->first_id = first_id;
    gsa_tape_use(tape, table);
    return y;
}

/* ---- y[i] = mask[i] ? a[i] : b[i] */
typedef struct select_op {
    gsa_op op;
    gsa_tensor *a, *b;
    const uint8_t *mask;
} select_op;

static void select_back(gsa_tape *tape, gsa_op *op)
{
    select_op *s = (select_op *)op;
    void *da = gsa_tape_grad(tape, s->a), *db = gsa_tape_grad(tape, s->b);
    GSA_CALL(tape, select_backward, da, db, s->mask, op->out->grad, op->out->rows, op->out->cols);
}

gsa_tensor *gsa_op_select(gsa_tape *tape, const uint8_t *mask, gsa_tensor *a, gsa_tensor *b)
{
    if (gsa_tape_lacks(tape, a, "select") || gsa_tape_lacks(tape, b, "select")) return NULL;
    if (a->rows != b->rows || a->cols != b->cols)
        return gsa_tape_fail(tape, GSA_ERR_ARGUMENT, "select: [%lld, %lld] and [%lld, %lld] differ",
                             (long long)a->rows, (long long)a->cols, (long long)b->rows,
                             (long long)b->cols);
    gsa_tensor *y = gsa_tape_new(tape, a->rows, a->cols, a->wants_grad || b->wants_grad);
    if (!y || !GSA_CALL(tape, select_forward, y->data, mask, a->data, b->data, y->rows, y->cols))
        return NULL;
    select_op *op = gsa_tape_record(tape, sizeof *op, select_back, y);
    if (op) op->a = a, op->b = b, op->mask = mask;
    gsa_tape_use(tape, a), gsa_tape_use(tape, b);
    return y;
}

/* ---- y[e] = mean or maximum over the example's rows */
typedef struct pool_op {
    gsa_op op;
    gsa_tensor *x;
    int32_t *arg;
    const int64_t *offset;
    int maximum;
} pool_op;

static void pool_back(gsa_tape *tape, gsa_op *op)
{
    pool_op *p = (pool_op *)op;
    int unset;
    void *dx = gsa_tape_grad_unset(tape, p->x, &unset); /* every row of x is an example's */
    if (dx)
        GSA_CALL(tape, pool_backward, dx, op->out->grad, p->arg, p->offset, p->maximum, !unset,
                 op->out->rows, op->out->cols);
}

gsa_tensor *gsa_op_pool(gsa_tape *tape, gsa_tensor *x, const int64_t *offset, int64_t examples,
                        int maximum)
{
    if (gsa_tape_lacks(tape, x, "pool")) return NULL;
    gsa_tensor *y = gsa_tape_new(tape, examples, x->cols, x->wants_grad);
    int32_t *arg =
        maximum && y ? gsa_tape_memory(tape, examples * x->cols * (int64_t)sizeof *arg) : NULL;
    if (tape->failed) return NULL;
    if (examples &&
        !GSA_CALL(tape, pool_forward, y->data, arg, x->data, offset, maximum, examples, x->cols))
        return NULL;
    pool_op *op = gsa_tape_record(tape, sizeof *op, pool_back, y);
    if (op) op->x = x, op->arg = arg, op->offset = offset, op->maximum = maximum;
    return y;
}
