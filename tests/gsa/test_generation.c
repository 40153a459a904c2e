/* Token by token: the numbers of the whole, in whatever pieces and company; what it costs; what it
 * refuses. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "growing.h"
#include "support/faults.h"

enum { H = GROWING_HIDDEN, SHORT = 70, LONG = 300, MOST_SEQUENCES = 8 };

static const char *const causal[] = {
    "window:width=7:causal=1",
    "window:width=7:causal=1*3",
    "full:causal=1*2",
    "full:causal=1:clip=4*2",
    "dilated:causal=1:width=5:step=3*2",
    "strided:stride=4*2",
    "strided:stride=5:pattern=fixed:c=2*2",
    "strided:stride=4:heads=split*2",
    "strided:stride=4:heads=near,strided:stride=4:heads=far",
    "longformer:causal=1:width=5:global=2*2",
    "longformer:causal=1:width=3:global=3:own=0*2",
    "bigbird:causal=1:width=3:global=1:random=2*2",
    "bigbird:causal=1:width=3:global=2:random=1:block=3*2",
    "bpt:causal=1",
    "bpt:causal=1:k=1*3",
    "bpt:causal=1:k=2:variant=paper:prune=1*2",
    "bpt:causal=1:k=3:variant=reference:share=1*2",
    "logsparse*2",
    "odd",
    "odd*3",
    "bpt:causal=1:k=2,window:width=3:causal=1,full:causal=1,odd,bpt:causal=1:k=2",
    "window:width=3:causal=1,odd*2,bpt:causal=1:k=1*2",
    "full:causal=1+cross*2",
    "bpt:causal=1:k=2+cross*2,cross:align=1,window:width=5:causal=1+cross",
    "cross,odd+cross*2",
};

static void growing_same(const char *name, const double *a, const double *b, int64_t rows,
                         double bound)
{
    ck_assert_msg(!gsa_differ(name, a, b, rows * H, bound, bound), "%s", name);
}

/* ---- equal --------------------------------------------------------------------------------- */
static void one_by_one(int i, int real, int32_t most, double bound)
{
    const gsa_settings settings = growing_settings((uint64_t)i + 100);
    growing w = growing_open(gsa_system_default(), causal[i], &settings, real, most, most);
    double *row = malloc((size_t)most * H * sizeof *row);
    const int32_t one = 1;
    growing_begin(&w, 1, NULL);
    for (int32_t t = 0; t < most; t++) growing_append(&w, &t, &one, row + t * H);
    for (int32_t n = 1; n <= most; n += most > SHORT ? 97 : 1) {
        double *whole = growing_at_once(&w, n, GROWING_MEMORY);
        growing_same(causal[i], row, whole, n, bound);
        free(whole);
    }
    free(row);
    growing_close(&w);
}

/* On the guard backend every call changes the protection of memory: fewer of them. */
static int is_guarded(void)
{
    const char *name = getenv("GSA_TEST_BACKEND");
    return name && strcmp(name, "guard") == 0;
}

START_TEST(each_token_is_as_in_the_whole)
{
    one_by_one(_i, GSA_F64, is_guarded() ? 12 : SHORT, 1e-12);
}
END_TEST

START_TEST(far_tokens_too)
{
    one_by_one(_i, GSA_F64, is_guarded() ? 40 : LONG, 1e-12);
}
END_TEST

START_TEST(in_float)
{
    one_by_one(_i, GSA_F32, is_guarded() ? 12 : SHORT, 1e-5);
}
END_TEST

/* The pattern is emitted for a greater length than is reached: nothing may depend on it. */
START_TEST(longest_does_not_matter)
{
    const gsa_settings settings = growing_settings((uint64_t)_i + 200);
    const int32_t longest[] = { 33, 34, 64, 65, 200 }, zero = 0, n = 33;
    double row[5][33 * H];
    for (int l = 0; l < 5; l++) {
        growing w =
            growing_open(gsa_system_default(), causal[_i], &settings, GSA_F64, 200, longest[l]);
        growing_begin(&w, 1, NULL);
        growing_append(&w, &zero, &n, row[l]);
        growing_same(causal[_i], row[l], row[0], n, 1e-12);
        growing_close(&w);
    }
}
END_TEST

/* Sentences of a document: each reads its own sentence of the memory. Where one ends is known when
 * the next begins. */
static const char *const aligned[] = { "full:causal=1+cross:align=1*2",
                                       "bpt:causal=1:k=2+cross:align=1,odd,cross:align=1" };

START_TEST(groups_come_with_their_tokens)
{
    enum { N = 24, M = 9 };
    static const int32_t group[N] = { 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2,
                                      2, 2, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6 };
    static const int32_t memory_group[M] = { 0, 0, 1, 1, 1, 2, 4, 4, 5 }, memory = M;
    const gsa_settings settings = growing_settings((uint64_t)_i / 3 + 500);
    growing w = growing_open(gsa_system_default(), aligned[_i / 3], &settings, GSA_F64, N, N + 3);
    double out[N * H];
    w.group = group, w.memory_group = memory_group;
    for (int round = 0; round < 2; round++) {
        growing_begin(&w, 1, &memory);
        for (int32_t t = 0, piece; t < N; t += piece) {
            piece = _i % 3 == 0 ? 1 : _i % 3 == 1 ? 5 : N;
            piece = piece < N - t ? piece : N - t;
            growing_append(&w, &t, &piece, out + t * H);
        }
        double *whole = growing_at_once(&w, N, M);
        growing_same(aligned[_i / 3], out, whole, N, 1e-12);
        free(whole);
        gsa_generation_clear(w.generation);
    }
    growing_begin(&w, 1, &memory);
    static const int32_t falls[] = { 3, 2 }, two = 2;
    gsa_tape_reset(w.b.tape, 0, 0, 0);
    gsa_generation_append(w.generation, w.b.tape,
                          gsa_tape_constant(w.b.tape, w.rows, GSA_F64, 2, H), &two, falls);
    ck_assert_int_eq(gsa_tape_status(w.b.tape, &w.b.error), GSA_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(
        strstr(w.b.error.text, "group 2 of token 1 comes before that of the token before it"));
    growing_close(&w);
}
END_TEST

/* ---- company: sequences of different lengths, in pieces, opened late, copied and dropped ---- */
typedef struct told { /* what a sequence should have read: its tokens are pieces of `rows` */
    int32_t length, memory, first[SHORT], count[SHORT];
    int pieces;
} told;

static void check_told(growing *w, const told *t, int32_t length, const double *got)
{
    double *saved = w->rows, *rows = malloc((size_t)w->tokens * H * sizeof *rows);
    int32_t at = 0;
    for (int p = 0; p < t->pieces; at += t->count[p++])
        memcpy(rows + at * H, saved + t->first[p] * H, (size_t)t->count[p] * H * sizeof *rows);
    w->rows = rows;
    double *whole = growing_at_once(w, t->length, t->memory);
    growing_same("piece", got, whole + (t->length - length) * H, length, 1e-12);
    free(whole), free(rows);
    w->rows = saved;
}

static void random_step(growing *w, gsa_dice *dice, told *told_of, int32_t count)
{
    int32_t first[MOST_SEQUENCES], length[MOST_SEQUENCES];
    double out[MOST_SEQUENCES * 8 * H], *at = out;
    for (int32_t i = 0; i < count; i++) {
        first[i] = (int32_t)gsa_between(dice, 0, SHORT - 8),
        length[i] = (int32_t)gsa_between(dice, 0, 6);
        if (length[i] > SHORT - told_of[i].length) length[i] = SHORT - told_of[i].length;
        told_of[i].first[told_of[i].pieces] = first[i],
        told_of[i].count[told_of[i].pieces++] = length[i];
        told_of[i].length += length[i];
    }
    growing_append(w, first, length, out);
    for (int32_t i = 0; i < count; at += length[i++] * H) {
        ck_assert_int_eq(gsa_generation_length(w->generation, i), told_of[i].length);
        if (length[i]) check_told(w, &told_of[i], length[i], at);
    }
}

static int32_t random_choice(growing *w, gsa_dice *dice, told *told_of, int32_t count)
{
    told old[MOST_SEQUENCES];
    int32_t parent[MOST_SEQUENCES];
    memcpy(old, told_of, sizeof old);
    const int32_t next = (int32_t)gsa_between(dice, 1, MOST_SEQUENCES - 2);
    for (int32_t i = 0; i < next; i++)
        told_of[i] = old[parent[i] = (int32_t)gsa_between(dice, 0, count - 1)];
    MUST(&w->b, gsa_generation_choose(w->generation, parent, next, &w->b.error));
    return next;
}

START_TEST(sequences_come_fork_and_go)
{
    const gsa_settings settings = growing_settings((uint64_t)_i + 300);
    growing w = growing_open(gsa_system_default(), causal[_i], &settings, GSA_F64, SHORT, SHORT);
    for (uint64_t seed = 0; seed < (is_guarded() ? 1 : 3); seed++) {
        gsa_dice dice = { seed * 1000 + (uint64_t)_i };
        told told_of[MOST_SEQUENCES] = { 0 };
        int32_t count = 0;
        gsa_generation_clear(w.generation);
        for (int step = 0; step < (is_guarded() ? 6 : 12); step++) {
            if (count == 0 || (count < MOST_SEQUENCES - 1 && gsa_between(&dice, 0, 2) == 0)) {
                told_of[count] = (told){ .memory = (int32_t)gsa_between(&dice, 0, 4) };
                growing_begin(&w, 1, &told_of[count].memory);
                count++;
            }
            random_step(&w, &dice, told_of, count);
            if (gsa_between(&dice, 0, 1)) count = random_choice(&w, &dice, told_of, count);
        }
    }
    growing_close(&w);
}
END_TEST

/* In double the bits of a row do not depend on its company, nor on the pieces in which its tokens
 * came. In float they may: the matrix product's library takes another path for few rows. */
static void keep_company(int i, int real)
{
    const gsa_settings settings = growing_settings((uint64_t)i + 400);
    growing w = growing_open(gsa_system_default(), causal[i], &settings, real, SHORT, SHORT);
    double alone[40 * H], beside[3 * 40 * H], step[3 * H];
    const int32_t zero[] = { 0, 0, 0 }, other[] = { 20, 0, 7 }, forty[] = { 40, 40, 40 },
                  one[] = { 1, 1, 1 };
    growing_begin(&w, 1, NULL);
    growing_append(&w, zero, forty, alone);
    gsa_generation_clear(w.generation);
    growing_begin(&w, 3, NULL);
    for (int32_t t = 0; t < 20; t++) {
        const int32_t at[] = { other[0] + t, t, other[2] + t };
        growing_append(&w, at, one, step);
        memcpy(beside + t * H, step + H, sizeof(double) * H);
    }
    const int32_t rest[] = { 0, 20, 3 }, from[] = { 0, 20, 1 };
    double last[23 * H];
    growing_append(&w, from, rest, last);
    memcpy(beside + 20 * H, last, 20 * H * sizeof *last);
    growing_same("company", beside, alone, 40, real == GSA_F64 ? 0 : 1e-5);
    growing_close(&w);
}

START_TEST(company_changes_no_bit)
{
    keep_company(_i, GSA_F64);
}
END_TEST

START_TEST(company_changes_little_in_float)
{
    keep_company(_i, GSA_F32);
}
END_TEST

/* ---- cost ---------------------------------------------------------------------------------- */
typedef struct priced {
    int64_t rows, edges;
} priced;

/* Rows and edges of tokens first .. last-1 of one sequence. */
static priced price(growing *w, int32_t first, int32_t last)
{
    const gsa_generation_counts before = gsa_generation_count(w->generation);
    double row[H];
    const int32_t one = 1;
    for (int32_t t = first; t < last; t++) {
        const int32_t from = t % w->tokens;
        growing_append(w, &from, &one, row);
    }
    const gsa_generation_counts after = gsa_generation_count(w->generation);
    return (priced){ after.rows - before.rows, after.edges - before.edges };
}

static growing priced_stack(const char *spec, int32_t longest)
{
    gsa_settings settings = growing_settings(1);
    growing w = growing_open(gsa_system_default(), spec, &settings, GSA_F32, SHORT, longest);
    growing_begin(&w, 1, NULL);
    return w;
}

START_TEST(window_is_flat)
{
    growing w = priced_stack("window:width=9:causal=1*3", 500);
    price(&w, 0, 100);
    const priced early = price(&w, 100, 200);
    price(&w, 200, 400);
    const priced late = price(&w, 400, 500);
    ck_assert_int_eq(early.rows, 100 * 3 * 2); /* a row a token, layer and phase */
    ck_assert_int_eq(early.edges, 100 * 3 * 5);
    ck_assert_int_eq(late.rows, early.rows);
    ck_assert_int_eq(late.edges, early.edges);
    growing_close(&w);
}
END_TEST

START_TEST(full_is_linear)
{
    growing w = priced_stack("full:causal=1*2", 300);
    price(&w, 0, 100);
    const priced one = price(&w, 100, 150);
    price(&w, 150, 250);
    const priced two = price(&w, 250, 300);
    ck_assert_int_eq(one.rows, 50 * 2 * 2);
    ck_assert_int_eq(one.edges, 2 * (101 + 150) * 25);
    ck_assert_int_eq(two.edges, 2 * (251 + 300) * 25);
    growing_close(&w);
}
END_TEST

/* Every doubling of the prefix adds the same to a token's price: k nodes of a new level to its row,
 * and the tokens of a level's span to the spans' rows, once in so many tokens. The last layer's
 * spans are read by nobody and cost nothing. */
START_TEST(bpt_grows_as_the_logarithm)
{
    enum { LAYERS = 3, K = 4 };
    growing w = priced_stack("bpt:causal=1:k=4*3", 1024);
    int64_t edges[5];
    price(&w, 0, 32);
    for (int e = 0; e < 5; e++) {
        const int32_t n = 32 << e;
        const priced p = price(&w, n, 2 * n);
        ck_assert_int_le(p.rows, 2 * (LAYERS + LAYERS - 1) * n + 2 * LAYERS);
        edges[e] = p.edges / n;
    }
    for (int e = 2; e < 5; e++) {
        const int64_t step = edges[e] - edges[e - 1], before = edges[e - 1] - edges[e - 2];
        ck_assert_int_le(llabs(step - before), 1);
        ck_assert_int_le(step, LAYERS * K + LAYERS);
    }
    growing_close(&w);
}
END_TEST

/* Spans that end because the text does are read by nobody: its last token is not dearer. */
START_TEST(the_last_token_is_like_any)
{
    growing w = priced_stack("bpt:causal=1:k=4*3", 197);
    price(&w, 0, 196);
    const priced last = price(&w, 196, 197);
    ck_assert_int_eq(last.rows, 2 * 3); /* no span of two tokens ends here */
    ck_assert_int_le(last.edges, 3 * (1 + 4 * 8));
    growing_close(&w);
}
END_TEST

START_TEST(a_memory_is_projected_once)
{
    growing w = priced_stack("full:causal=1+cross*2", 64);
    const gsa_generation_counts opened = gsa_generation_count(w.generation);
    ck_assert_int_eq(opened.kept, 2 * 2 * GROWING_MEMORY); /* K and V, two layers */
    ck_assert_int_eq(opened.rows, 0);
    price(&w, 0, 10);
    ck_assert_int_eq(gsa_generation_count(w.generation).kept, opened.kept + 2 * 2 * 10);
    growing_close(&w);
}
END_TEST

START_TEST(a_beam_shares_its_prefix)
{
    growing w = priced_stack("full:causal=1*2", 64);
    price(&w, 0, 50);
    const gsa_generation_counts prefix = gsa_generation_count(w.generation);
    const int32_t parent[] = { 0, 0, 0, 0 }, from[] = { 1, 2, 3, 4 }, one[] = { 1, 1, 1, 1 };
    double out[4 * H];
    MUST(&w.b, gsa_generation_choose(w.generation, parent, 4, &w.b.error));
    ck_assert_int_eq(gsa_generation_count(w.generation).kept, prefix.kept);
    growing_append(&w, from, one, out);
    ck_assert_int_eq(gsa_generation_count(w.generation).kept, prefix.kept + 4 * 2 * 2);
    growing_close(&w);
}
END_TEST

/* ---- refused ------------------------------------------------------------------------------- */
static const struct {
    const char *spec, *said;
} refused[] = {
    { "star*2", "stack decoder cannot generate: layers 0 to 1 run star, which does not promise "
                "that no token depends on a later "
                "one" },
    { "window:causal=1*3,ring",
      "layers 3 to 3 run ring, which does not promise that no token depends on a later one" },
    { "window", "layers 0 to 0 run window, which does not promise that no token depends on a later "
                "one (see its parameter "
                "'causal')" },
    { "bpt:k=2*2", "layers 0 to 1 run bpt:k=2, which does not promise that no token depends" },
    { "head_area", "run head_area, which does not promise that no token depends on a later one" },
    { "full:causal=1,strided", "layers 1 to 1 run strided, which does not promise that what a "
                               "token reads stays the same as the "
                               "text grows" },
};

START_TEST(patterns_that_do_not_promise)
{
    const gsa_settings settings = growing_settings(1);
    growing w = growing_open(gsa_system_default(), refused[_i].spec, &settings, GSA_F64, 4, 0);
    const gsa_generation_options options = { .longest = 8 };
    ck_assert_int_eq(
        gsa_generation_create(w.stack, w.b.backend, &options, &w.generation, &w.b.error),
        GSA_ERR_UNSUPPORTED);
    ck_assert_msg(strstr(w.b.error.text, refused[_i].said) != NULL, "said: %s", w.b.error.text);
    ck_assert_ptr_null(w.generation);
    growing_close(&w);
}
END_TEST

static void expect(growing *w, gsa_status status, const char *said)
{
    gsa_error error = { GSA_OK, "" };
    ck_assert_int_eq(gsa_tape_status(w->b.tape, &error), status);
    ck_assert_msg(strstr(error.text, said) != NULL, "said: %s", error.text);
    gsa_tape_reset(w->b.tape, 0, 0, 0);
}

START_TEST(calls_that_do_not_fit)
{
    const gsa_settings settings = growing_settings(1);
    growing w = growing_open(gsa_system_default(), "full:causal=1", &settings, GSA_F64, 20, 5);
    const gsa_generation_options none = { .longest = 0 };
    gsa_generation *g = NULL;
    const int32_t three = 3, four = 4, minus = -1, parent = 1;
    double out[3 * H];
    ck_assert_int_eq(gsa_generation_create(w.stack, w.b.backend, &none, &g, &w.b.error),
                     GSA_ERR_ARGUMENT);
    growing_begin(&w, 1, NULL);
    ck_assert_int_eq(gsa_generation_choose(w.generation, &parent, 1, &w.b.error), GSA_ERR_ARGUMENT);
    ck_assert_int_eq(gsa_generation_choose(w.generation, &parent, -1, &w.b.error),
                     GSA_ERR_ARGUMENT);
    gsa_tensor *rows = gsa_tape_constant(w.b.tape, w.rows, GSA_F64, 4, H);
    gsa_generation_append(w.generation, w.b.tape, rows, &three, NULL);
    expect(&w, GSA_ERR_ARGUMENT, "3 tokens of 6 columns, but the input is [4, 6]");
    gsa_generation_append(w.generation, w.b.tape,
                          gsa_tape_constant(w.b.tape, w.rows, GSA_F64, 4, H), &minus, NULL);
    expect(&w, GSA_ERR_LIMIT, "-1 tokens");
    growing_append(&w, (const int32_t[]){ 0 }, &three, out);
    gsa_generation_append(w.generation, w.b.tape,
                          gsa_tape_constant(w.b.tape, w.rows, GSA_F64, 4, H), &four, NULL);
    expect(&w, GSA_ERR_LIMIT, "4 tokens after 3 of sequence 0, but it may have 5 at most");
    const int32_t two = 2;
    growing_append(&w, (const int32_t[]){ 3 }, &two, out); /* as if nothing had happened */
    double *whole = growing_at_once(&w, 5, 0);
    growing_same("afterwards", out, whole + 3 * H, 2, 1e-12);
    free(whole);
    const gsa_generation_memory memory = { NULL, &three, NULL };
    gsa_tape_reset(w.b.tape, 0, 0, 0);
    gsa_generation_open(w.generation, w.b.tape, 1, &memory);
    expect(&w, GSA_ERR_ARGUMENT, "stack decoder reads no memory");
    gsa_tape_reset(w.b.tape, 1, 0, 0);
    gsa_generation_open(w.generation, w.b.tape, 1, NULL);
    expect(&w, GSA_ERR_ARGUMENT, "the tape is training");
    growing_close(&w);
}
END_TEST

/* ---- memory -------------------------------------------------------------------------------- */
static gsa_status grow_a_little(growing *w, double *out)
{
    const gsa_generation_options options = { .longest = 20 };
    const int32_t parent[] = { 0, 0 }, length[] = { 3, 4 };
    gsa_tape *tape = w->b.tape;
    gsa_tape_reset(tape, 0, 0, 0);
    gsa_status status =
        gsa_generation_create(w->stack, w->b.backend, &options, &w->generation, &w->b.error);
    if (status == GSA_OK) gsa_generation_open(w->generation, tape, 1, NULL);
    if (status == GSA_OK) status = gsa_tape_status(tape, &w->b.error);
    if (status == GSA_OK) status = gsa_generation_choose(w->generation, parent, 2, &w->b.error);
    gsa_tensor *x = status == GSA_OK ? gsa_tape_constant(tape, w->rows, GSA_F64, 7, H) : NULL;
    gsa_tensor *y = x ? gsa_generation_append(w->generation, tape, x, length, NULL) : NULL;
    if (status == GSA_OK) status = gsa_tape_status(tape, &w->b.error);
    if (y && status == GSA_OK) status = gsa_tensor_read(w->b.backend, y, 0, out, &w->b.error);
    gsa_generation_release(w->generation);
    w->generation = NULL;
    return status;
}

START_TEST(every_lack_of_memory_is_told)
{
    gsa_faults faults;
    gsa_faults_start(&faults);
    const gsa_settings settings = growing_settings(2);
    growing w = growing_open(&faults.table, "bpt:causal=1:k=1*2,odd", &settings, GSA_F64, 20, 0);
    double right[7 * H], out[7 * H];
    MUST(&w.b, grow_a_little(&w, right));
    const int64_t live = gsa_faults_live(&faults);
    int64_t n = 1;
    for (;; n++) {
        gsa_faults_rewind(&faults);
        faults.fail[GSA_OP_ALLOC] = n;
        const gsa_status status = grow_a_little(&w, out);
        if (faults.calls[GSA_OP_ALLOC] < n) break;
        ck_assert_int_eq(status, GSA_ERR_MEMORY);
        faults.fail[GSA_OP_ALLOC] = 0;
        ck_assert_int_le(gsa_faults_live(&faults), live + 4); /* the tape's arenas may have grown */
    }
    ck_assert_int_gt(n, 50);
    growing_same("after all", out, right, 7, 0);
    growing_close(&w);
    ck_assert_int_eq(gsa_faults_live(&faults), 0);
}
END_TEST

static const gsa_test equal[] = { GSA_LOOP(each_token_is_as_in_the_whole, GSA_COUNT(causal)),
                                  GSA_LOOP(in_float, GSA_COUNT(causal)),
                                  GSA_LOOP(longest_does_not_matter, GSA_COUNT(causal)),
                                  GSA_LOOP(groups_come_with_their_tokens, 3 * GSA_COUNT(aligned)) };
static const gsa_test far[] = { GSA_LOOP(far_tokens_too, GSA_COUNT(causal)) };
static const gsa_test company[] = { GSA_LOOP(sequences_come_fork_and_go, GSA_COUNT(causal)),
                                    GSA_LOOP(company_changes_no_bit, GSA_COUNT(causal)),
                                    GSA_LOOP(company_changes_little_in_float, GSA_COUNT(causal)) };
static const gsa_test cost[] = { GSA_TEST(window_is_flat),
                                 GSA_TEST(full_is_linear),
                                 GSA_TEST(bpt_grows_as_the_logarithm),
                                 GSA_TEST(the_last_token_is_like_any),
                                 GSA_TEST(a_memory_is_projected_once),
                                 GSA_TEST(a_beam_shares_its_prefix) };
static const gsa_test memory[] = { GSA_TEST(every_lack_of_memory_is_told) };
static const gsa_test refusals[] = { GSA_LOOP(patterns_that_do_not_promise, GSA_COUNT(refused)),
                                     GSA_TEST(calls_that_do_not_fit) };

int main(int argc, char **argv)
{
    static const gsa_case cases[] = {
        GSA_CASE("equal", equal, 60),       GSA_CASE("far", far, 60),
        GSA_CASE("company", company, 60),   GSA_CASE("cost", cost, 60),
        GSA_CASE("refusals", refusals, 30), GSA_CASE("memory", memory, 60)
    };
    return gsa_run_suite("generation", cases, GSA_COUNT(cases), argc, argv);
}
