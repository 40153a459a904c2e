/* Rows that read ranges which lie over one another: each level of the cpu backend takes them by a
 * sweep over their sources. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "level_rig.h"
#include "oracle_check.h"
#include "support/suite.h"

static const struct {
    const char *name;
    int level;
} levels[] = { { "AVX2", GSA_CPU_AVX2 },
               { "AVX-512", GSA_CPU_AVX512 },
               { "AVX-512, emulated", GSA_CPU_EMULATED },
               { "NEON", GSA_CPU_NEON } };

/* Where the two examples' sources begin. The first is longer than the segments that the forward
 * pass is cut into. */
static const int32_t start[] = { 0, 1500, 1840 };
enum { SOURCES = 1840, LEVELS = 12, LABELS = 5 /* of the cases' tables */ };

/* Every level cuts the sources anew, `shift` sources further on; a range in seven has labels that
 * differ from edge to edge, and the last row of an example reads two ranges. */
static void make_levels(rig *r, int32_t shift)
{
    const int64_t part_rows[1] = { SOURCES };
    int64_t first[3] = { 0 }, row = 0;
    edges_begin(&r->maker, 1, part_rows, LABELS);
    for (int32_t e = 0; e < 2; e++) {
        int32_t local = 0;
        for (int32_t j = 1; j < LEVELS; j++)
            for (int32_t at = start[e] + (j * shift) % (1 << j); at < start[e + 1];
                 at += 1 << j, row++) {
                const int32_t left = start[e + 1] - at, count = left < 1 << j ? left : 1 << j,
                              mixed = row % 7 == 0 && count < LABELS;
                edges_row(&r->maker, e, local++);
                edges_run(&r->maker, (gsa_run){ at, count, 1, mixed ? 0 : j % LABELS, mixed, 0 });
            }
        edges_row(&r->maker, e, local);
        edges_run(&r->maker, (gsa_run){ start[e], 3, 1, 1, 0, 0 });
        edges_run(&r->maker, (gsa_run){ start[e + 1] - 2, 2, -1, 1, 1, 0 });
        first[e + 1] = ++row;
    }
    edges_done(&r->maker, 2, 1, first);
    rig_graph(r);
}

static const struct {
    int heads, dim, flags,
        shift; /* vectors 1, bias 2, dropout 4, weights 8, gradients of v alone 32, -inf 64 */
} shapes[] = { { 3, 16, 0, 0 },  { 4, 64, 1, 0 },   { 1, 20, 3, 1 },
               { 17, 8, 1, 3 },  { 2, 70, 5, 1 },   { 3, 9, 66, 2 },
               { 2, 33, 15, 0 }, { 2, 136, 32, 3 }, { 5, 16, 6, 2 } };

START_TEST(sweeps_equal_the_oracle)
{
    const op_case *op = &graph_cases[graph_case_count - 1];
    for (int l = 0; l < GSA_COUNT(levels); l++) {
        const op_shape shape = { SOURCES, shapes[_i].heads, shapes[_i].dim, 1, shapes[_i].flags };
        char name[96];
        rig r;
        gsa_backend *b;
        if (!gsa_cpu_has(levels[l].level)) continue;
        ck_assert_int_eq(gsa_backend_cpu(NULL, levels[l].level, 2, &b, NULL), GSA_OK);
        snprintf(name, sizeof name, "%s, shape %d", levels[l].name, _i);
        rig_begin(&r, b, 77, RIG_RANDOM, shape);
        make_levels(&r, shapes[_i].shift);
        equals_the_oracle(&r, op, name);
        rig_end(&r);
        gsa_backend_release(b);
    }
}
END_TEST

enum { HEADS = 5, DIM = 6, WIDTH = HEADS * DIM, ROWS = 2 * SOURCES, COUNT = ROWS * WIDTH };

typedef struct results {
    float out[COUNT], lse[ROWS * HEADS], dq[COUNT], dk[COUNT], dv[COUNT], dr[LABELS * DIM];
} results;

enum {
    VECTORS = 1,
    DEAD = 2 /* biases, of which those of the last head are -inf for two labels; they are not
                learned */
};

/* Forward and backward with numbers that are the same for every call. `bad`: where q, k or v is
 * NaN, -1: nowhere. */
static void attend(int level, int threads, int tables, double drop, gsa_memo *memo, int bad,
                   int *which, results *to)
{
    static float x[5][COUNT];
    static const int32_t id[] = { 4, 9 };
    static const float bias[LABELS * HEADS] = { [HEADS - 1] = -INFINITY,
                                                [4 * HEADS - 1] = -INFINITY };
    const int vectors = tables & VECTORS;
    gsa_dice dice = { 9 };
    rig r = level_rig(level, threads);
    make_levels(&r, 1);
    ck_assert_int_le(r.device.rows, ROWS);
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < COUNT; j++) x[i][j] = (float)gsa_bell(&dice);
    if (which) x[*which][bad * WIDTH] = NAN;
    memset(to, 0, sizeof *to);
    const gsa_part parts[GSA_MAX_KINDS] = { { x[1], x[2], to->dk, to->dv } };
    const gsa_attend_args args = { .edges = &r.device,
                                   .heads = HEADS,
                                   .head_dim = DIM,
                                   .scale = 0.5,
                                   .q = x[0],
                                   .parts = parts,
                                   .dropout = { .p = drop, .example_id = id },
                                   .label_vectors = vectors ? x[4] : NULL,
                                   .label_bias = tables & DEAD ? bias : NULL,
                                   .out = to->out,
                                   .lse = to->lse,
                                   .dout = x[3],
                                   .dq = to->dq,
                                   .dlabel_vectors = vectors ? to->dr : NULL };
    if (memo) memo->of = r.device.run_offset, r.device.memo = memo;
    if (memo) ck_assert_int_eq(r.b->attend_forward(r.b, &args), GSA_OK);
    level_rig_attend(&r, &args);
    if (memo) ck_assert_ptr_nonnull(memo->data);
    if (memo) gsa_memo_clear(memo);
    level_rig_end(&r);
}

START_TEST(threads_and_memos_change_no_bit)
{
    static const int threads[] = { 2, 3, 8, 16 }, tables[] = { 0, VECTORS, DEAD };
    const double drop = _i / 3 * 0.2;
    static results want, got;
    for (int l = 0; l < GSA_COUNT(levels); l++) {
        if (!gsa_cpu_has(levels[l].level)) continue;
        attend(levels[l].level, 1, tables[_i % 3], drop, NULL, -1, NULL, &want);
        for (int i = 0; i < GSA_COUNT(threads); i++) {
            gsa_memo memo = { 0 };
            attend(levels[l].level, threads[i], tables[_i % 3], drop, i % 2 ? &memo : NULL, -1,
                   NULL, &got);
            ck_assert_msg(memcmp(&want, &got, sizeof want) == 0, "%s, %d threads", levels[l].name,
                          threads[i]);
        }
    }
}
END_TEST

/* A NaN among the sources spoils the rows that read it, and no other. */
START_TEST(what_is_not_read_does_not_matter)
{
    enum { BAD = 777 };
    static results y;
    for (int l = 0; l < GSA_COUNT(levels); l++)
        for (int which = 1; which < 3 && gsa_cpu_has(levels[l].level); which++) {
            rig r = level_rig(levels[l].level, 1);
            make_levels(&r, 1);
            attend(levels[l].level, 1, 0, 0.2, NULL, BAD, &which, &y);
            const gsa_edges *e = &r.maker.view;
            for (int64_t row = 0; row < e->rows; row++) {
                int reads = 0, clean = 1;
                for (int64_t i = e->run_offset[row]; i < e->run_offset[row + 1]; i++)
                    reads |= e->runs[i].step == 1 && e->runs[i].first <= BAD &&
                             BAD < e->runs[i].first + e->runs[i].count;
                for (int i = 0; i < WIDTH; i++)
                    clean &= isfinite(y.out[row * WIDTH + i]) && isfinite(y.dq[row * WIDTH + i]);
                ck_assert_msg(clean == !reads, "%s: input %d, row %d", levels[l].name, which,
                              (int)row);
            }
            level_rig_end(&r);
        }
}
END_TEST

/* ---- the same example alone and in a batch ------------------------------------------------- */

enum {
    OWN = 600,
    OTHERS = 5000,
    WIDE_ROWS = 32,
    OWN_ROWS = WIDE_ROWS + OWN / 2 + OWN / 4 + OWN / 8
};

typedef struct own_results { /* of the example that is compared */
    float out[OWN_ROWS * DIM], lse[OWN_ROWS], dq[OWN_ROWS * DIM], dk[2][OWN * DIM],
        dv[2][OWN * DIM];
} own_results;

/* Wide ranges that lie over one another, of two kinds in turn, then levels of narrow ones of the
 * first kind. `others`: sources of the second kind that belong to an example before this one. */
static void make_mixed(rig *r, int32_t others)
{
    const int64_t part_rows[2] = { OWN, others + OWN },
                  first[3] = { 0, others > 0, OWN_ROWS + (others > 0) };
    int32_t local = 0;
    edges_begin(&r->maker, 2, part_rows, 1);
    if (others) edges_row(&r->maker, 0, 0), edges_run(&r->maker, (gsa_run){ 0, 1, 1, 0, 0, 1 });
    for (; local < WIDE_ROWS; local++) {
        edges_row(&r->maker, others > 0, local);
        edges_run(&r->maker,
                  (gsa_run){ 4 * local + (local % 2 ? others : 0), 60, 1, 0, 0, local % 2 });
    }
    for (int32_t size = 2; size <= 8; size *= 2)
        for (int32_t at = 0; at < OWN; at += size) {
            edges_row(&r->maker, others > 0, local++);
            edges_run(&r->maker, (gsa_run){ at, size, 1, 0, 0, 0 });
        }
    edges_done(&r->maker, 1 + (others > 0), 1, first + (others == 0));
    rig_graph(r);
}

/* One head; the other example's numbers are zeros. */
static void attend_mixed(int level, int32_t others, own_results *to)
{
    static float k[2][(OTHERS + OWN) * DIM], v[2][(OTHERS + OWN) * DIM],
        dk[2][(OTHERS + OWN) * DIM], dv[2][(OTHERS + OWN) * DIM];
    static float row[4][(OWN_ROWS + 1) * DIM], lse[OWN_ROWS + 1]; /* q, dout, out, dq */
    gsa_part parts[GSA_MAX_KINDS] = { { 0 } };
    const int64_t at = others > 0;
    gsa_dice dice = { 3 };
    rig r = level_rig(level, 1);
    memset(k, 0, sizeof k), memset(v, 0, sizeof v), memset(dk, 0, sizeof dk),
        memset(dv, 0, sizeof dv), memset(row, 0, sizeof row);
    for (int i = 0; i < OWN_ROWS * DIM; i++)
        for (int j = 0; j < 2; j++) row[j][at * DIM + i] = (float)gsa_normal(&dice);
    for (int kind = 0; kind < 2; kind++) {
        for (int i = 0; i < OWN * DIM; i++) {
            k[kind][kind * others * DIM + i] = (float)gsa_normal(&dice);
            v[kind][kind * others * DIM + i] = (float)gsa_normal(&dice);
        }
        parts[kind] = (gsa_part){ k[kind], v[kind], dk[kind], dv[kind] };
    }
    make_mixed(&r, others);
    ck_assert_int_eq(r.device.rows, OWN_ROWS + at);
    const gsa_attend_args args = { .edges = &r.device,
                                   .heads = 1,
                                   .head_dim = DIM,
                                   .scale = 0.5,
                                   .q = row[0],
                                   .parts = parts,
                                   .out = row[2],
                                   .lse = lse,
                                   .dout = row[1],
                                   .dq = row[3] };
    level_rig_attend(&r, &args);
    memcpy(to->out, row[2] + at * DIM, sizeof to->out),
        memcpy(to->dq, row[3] + at * DIM, sizeof to->dq);
    memcpy(to->lse, lse + at, sizeof to->lse);
    for (int kind = 0; kind < 2; kind++) {
        memcpy(to->dk[kind], dk[kind] + kind * others * DIM, sizeof to->dk[kind]);
        memcpy(to->dv[kind], dv[kind] + kind * others * DIM, sizeof to->dv[kind]);
    }
    level_rig_end(&r);
}

/* Where the sources of one kind are among those of all examples says nothing of where those of
 * another do. */
START_TEST(examples_beside_it_change_no_bit)
{
    static own_results alone, batched;
    for (int l = 0; l < GSA_COUNT(levels); l++) {
        if (!gsa_cpu_has(levels[l].level)) continue;
        attend_mixed(levels[l].level, 0, &alone);
        attend_mixed(levels[l].level, OTHERS, &batched);
        ck_assert_msg(memcmp(&alone, &batched, sizeof alone) == 0, "%s", levels[l].name);
    }
}
END_TEST

/* ---- the memory of plans ------------------------------------------------------------------- */

typedef struct books {     /* of a system */
    int64_t held, strange; /* blocks; those of another system's that came here */
    size_t bytes, most;    /* held now; at any time */
} books;

typedef union owner { /* before a block */
    struct {
        books *books;
        size_t bytes;
    } of;
    max_align_t align;
} owner;

static void *book_resize(void *user, void *at, size_t bytes)
{
    books *x = user;
    owner *block = at ? (owner *)at - 1 : NULL;
    if (block) x->strange += block->of.books != x, x->bytes -= block->of.bytes;
    else x->held++;
    block = realloc(block, sizeof *block + bytes);
    ck_assert(block != NULL);
    block->of.books = x, block->of.bytes = bytes, x->bytes += bytes;
    if (x->bytes > x->most) x->most = x->bytes;
    return block + 1;
}

static void *book_alloc(void *user, size_t bytes)
{
    return book_resize(user, NULL, bytes);
}

static void book_release(void *user, void *at)
{
    books *x = user;
    if (!at) return;
    owner *block = (owner *)at - 1;
    x->held--, x->strange += block->of.books != x, x->bytes -= block->of.bytes;
    free(block);
}

static gsa_system booked(books *x)
{
    gsa_system system = *gsa_system_default();
    system.user = x, system.alloc = book_alloc, system.resize = book_resize,
    system.release = book_release;
    return system;
}

enum { FULL_ROWS = 64 };

/* Each of FULL_ROWS rows reads 1 / `share` of the sources, which begins here and there. */
static void make_full(rig *r, int32_t sources, int32_t share)
{
    const int32_t count = sources / share, rest = sources - count;
    const int64_t part_rows[1] = { sources };
    edges_begin(&r->maker, 1, part_rows, LABELS);
    for (int32_t row = 0; row < FULL_ROWS; row++) {
        edges_row(&r->maker, 0, row);
        edges_run(&r->maker, (gsa_run){ row % 5 * (rest / 4), count, 1, 1, 0, 0 });
    }
    edges_done(&r->maker, 1, 1, NULL);
    rig_graph(r);
}

/* One head of one column. */
static void attend_full(gsa_backend *b, const gsa_edges *edges, const float *numbers,
                        const float *bias)
{
    static float out[FULL_ROWS], lse[FULL_ROWS];
    const gsa_part parts[GSA_MAX_KINDS] = { { numbers, numbers, NULL, NULL } };
    const gsa_attend_args args = { .edges = edges,
                                   .heads = 1,
                                   .head_dim = 1,
                                   .scale = 1,
                                   .q = numbers,
                                   .parts = parts,
                                   .label_bias = bias,
                                   .out = out,
                                   .lse = lse };
    ck_assert_int_eq(b->attend_forward(b, &args), GSA_OK);
}

/* Edges cost nothing: rows that read a whole long text, or a long part of it, are a run each. */
START_TEST(plans_do_not_grow_with_edges)
{
    enum { TEXT = 100000 };
    static const size_t most[] = { 1 << 21, 1 << 19 };
    static const int32_t shares[] = { 1, 5 };
    static float numbers[TEXT];
    for (int l = 0; l < GSA_COUNT(levels); l++) {
        books book = { 0 };
        const gsa_system system = booked(&book);
        rig r = { 0 };
        if (!gsa_cpu_has(levels[l].level)) continue;
        ck_assert_int_eq(gsa_backend_cpu(&system, levels[l].level, 1, &r.b, NULL), GSA_OK);
        make_full(&r, TEXT, shares[_i]);
        attend_full(r.b, &r.device, numbers, NULL);
        ck_assert_msg(book.most <= most[_i], "%s: %lld bytes at once", levels[l].name,
                      (long long)book.most);
        level_rig_end(&r);
        ck_assert_int_eq(book.held, 0);
    }
}
END_TEST

/* Backends that do not share memory take turns with one memo. */
START_TEST(plans_go_back_to_where_they_came_from)
{
    static const float numbers[FULL_ROWS], bias[LABELS];
    for (int l = 0; l < GSA_COUNT(levels); l++) {
        books book[2] = { { 0 } };
        const gsa_system system[2] = { booked(&book[0]), booked(&book[1]) };
        gsa_memo memo = { 0 };
        gsa_backend *b[2];
        rig r = { 0 };
        if (!gsa_cpu_has(levels[l].level)) continue;
        for (int i = 0; i < 2; i++)
            ck_assert_int_eq(gsa_backend_cpu(&system[i], levels[l].level, 1, &b[i], NULL), GSA_OK);
        r.b = b[0];
        make_full(&r, FULL_ROWS, 1);
        memo.of = r.device.run_offset, r.device.memo = &memo;
        for (int call = 0; call < 6; call++)
            attend_full(b[call % 2], &r.device, numbers, call % 3 ? bias : NULL);
        gsa_memo_clear(&memo);
        edges_unload(r.b, &r.device);
        edges_free(&r.maker);
        for (int i = 0; i < 2; i++) gsa_backend_release(b[i]);
        for (int i = 0; i < 2; i++) ck_assert(book[i].held == 0 && book[i].strange == 0);
    }
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test tests[] = { GSA_LOOP(sweeps_equal_the_oracle, GSA_COUNT(shapes)),
                                      GSA_LOOP(threads_and_memos_change_no_bit, 6),
                                      GSA_TEST(what_is_not_read_does_not_matter),
                                      GSA_TEST(examples_beside_it_change_no_bit) };
    static const gsa_test memory[] = { GSA_LOOP(plans_do_not_grow_with_edges, 2),
                                       GSA_TEST(plans_go_back_to_where_they_came_from) };
    static const gsa_case cases[] = { GSA_CASE("sweeps", tests, 60),
                                      GSA_CASE("memory", memory, 60) };
    return gsa_run_suite("cpu_ranges", cases, GSA_COUNT(cases), argc, argv);
}
