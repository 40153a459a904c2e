/* Batches, schedules and generated data: pure functions. */
#include <stdlib.h>
#include "support/compare.h"
#include "support/suite.h"
#include "train/driver/batches.h"
#include "gsa/schedule.h"
#include "train/data/summation.h"

/* ---- batches ------------------------------------------------------------------------------- */

enum { MOST = 400 };

static const gsa_batches_options budgets[] = {
    { .batch = 1, .accumulate = 1, .bucket = 1, .seed = 1 },
    { .batch = 7, .accumulate = 1, .bucket = 1, .seed = 1 },
    { .batch = 8, .accumulate = 3, .bucket = 4, .seed = 2 },
    { .batch_tokens = 50, .accumulate = 1, .bucket = 4, .seed = 3 },
    { .batch_tokens = 30, .accumulate = 4, .bucket = 16, .seed = 4 },
    { .batch = 5, .batch_tokens = 40, .accumulate = 2, .bucket = 3, .seed = 5 },
    { .batch = 1000, .accumulate = 1, .bucket = 16, .seed = 6 },
    { .batch_tokens = 1, .accumulate = 1, .bucket = 2, .seed = 7 }, /* every example alone */
    { .batch_tokens = 1000000000,
      .accumulate = 65536,
      .bucket = 1000000,
      .seed = 8 }, /* the largest recipe */
};

static int32_t lengths[MOST];

static gsa_batches make(const gsa_batches_options *options, int64_t examples)
{
    gsa_batches b;
    gsa_dice dice = { 11 };
    for (int i = 0; i < MOST; i++) lengths[i] = (int32_t)gsa_between(&dice, 1, 40);
    ck_assert_int_eq(gsa_batches_create(gsa_system_default(), options, lengths, examples, &b, NULL),
                     GSA_OK);
    return b;
}

static void check_epoch(const gsa_batches *b)
{
    int seen[MOST] = { 0 };
    const gsa_batches_options *o = &b->options;
    for (int64_t i = 0; i < b->count; i++) {
        int64_t count, pieces = 0;
        const int64_t *example = gsa_batches_at(b, i, &count);
        ck_assert_int_gt(count, 0);
        if (o->batch) ck_assert_int_le(count, o->batch * o->accumulate);
        for (int64_t from = 0, to; from < count; from = to, pieces++) {
            int64_t tokens = 0;
            to = gsa_batches_piece(b, example, count, from);
            ck_assert_int_gt(to, from);
            if (o->batch) ck_assert_int_le(to - from, o->batch);
            for (int64_t k = from; k < to; k++) tokens += lengths[example[k]];
            if (o->batch_tokens && to - from > 1) ck_assert_int_le(tokens, o->batch_tokens);
        }
        if (o->batch_tokens == 0) ck_assert_int_le(pieces, o->accumulate);
        for (int64_t k = 0; k < count; k++) seen[example[k]]++;
    }
    for (int64_t e = 0; e < b->examples; e++)
        ck_assert_msg(seen[e] == 1, "example %lld: %d times", (long long)e, seen[e]);
}

START_TEST(each_example_once_within_budget)
{
    static const int64_t sizes[] = { 1, 2, 23, MOST };
    for (int s = 0; s < GSA_COUNT(sizes); s++) {
        gsa_batches b = make(&budgets[_i], sizes[s]);
        for (int64_t epoch = 0; epoch < 3; epoch++) {
            gsa_batches_shuffle(&b, epoch);
            check_epoch(&b);
            if (b.options.batch_tokens == 0) {
                const int64_t whole = b.options.batch * b.options.accumulate;
                ck_assert_int_eq(b.count, (sizes[s] + whole - 1) / whole);
            }
        }
        gsa_batches_plain(&b);
        check_epoch(&b);
        gsa_batches_release(&b);
    }
}
END_TEST

START_TEST(shares_are_even_and_whole)
{
    static const int64_t pieces[] = { 1, 2, 8, 64 };
    gsa_batches b = make(&budgets[_i], MOST);
    gsa_batches_shuffle(&b, 1);
    for (int64_t i = 0; i < b.count; i++) {
        int64_t count, total = 0, largest = 0;
        const int64_t *example = gsa_batches_at(&b, i, &count);
        for (int64_t k = 0; k < count; k++) {
            const int64_t length = lengths[example[k]];
            total += length, largest = length > largest ? length : largest;
        }
        for (int p = 0; p < GSA_COUNT(pieces); p++) {
            int64_t to = 0;
            for (int64_t s = 0; s < pieces[p]; s++) {
                const int64_t from = to;
                int64_t tokens = 0;
                ck_assert_int_eq(gsa_batches_share(&b, example, count, s, pieces[p]), from);
                to = gsa_batches_share(&b, example, count, s + 1, pieces[p]);
                ck_assert_int_ge(to, from);
                for (int64_t k = from; k < to; k++) tokens += lengths[example[k]];
                ck_assert_int_le(tokens, total / pieces[p] + 1 + largest);
            }
            ck_assert_int_eq(to, count);
        }
    }
    gsa_batches_release(&b);
}
END_TEST

static uint64_t fingerprint(const gsa_batches *b)
{
    uint64_t h = 1;
    for (int64_t i = 0; i < b->count; i++) {
        int64_t count;
        const int64_t *example = gsa_batches_at(b, i, &count);
        h = h * UINT64_C(0x100000001b3) + (uint64_t)count;
        for (int64_t k = 0; k < count; k++)
            h = (h ^ (uint64_t)example[k]) * UINT64_C(0x100000001b3);
    }
    return h;
}

START_TEST(the_order_is_a_function_of_seed_and_epoch)
{
    uint64_t print[4];
    gsa_batches a = make(&budgets[_i], MOST), b = make(&budgets[_i], MOST);
    for (int64_t epoch = 0; epoch < 4; epoch++)
        gsa_batches_shuffle(&a, epoch), print[epoch] = fingerprint(&a);
    for (int64_t epoch = 3; epoch >= 0; epoch--) { /* whatever came before */
        gsa_batches_shuffle(&b, epoch);
        ck_assert(fingerprint(&b) == print[epoch]);
        for (int64_t other = 0; other < epoch; other++) ck_assert(print[other] != print[epoch]);
    }
    b.options.seed++;
    gsa_batches_shuffle(&b, 0);
    ck_assert(fingerprint(&b) != print[0]);
    gsa_batches_release(&a);
    gsa_batches_release(&b);
}
END_TEST

START_TEST(the_split_does_not_change_a_step)
{
    static const int64_t splits[][2] = { { 8, 1 }, { 4, 2 }, { 2, 4 }, { 1, 8 } };
    uint64_t first = 0;
    for (int s = 0; s < GSA_COUNT(splits); s++) {
        const gsa_batches_options o = {
            .batch = splits[s][0], .accumulate = splits[s][1], .bucket = 4, .seed = 9
        };
        gsa_batches b = make(&o, 101);
        gsa_batches_shuffle(&b, 5);
        if (s == 0) first = fingerprint(&b);
        ck_assert(fingerprint(&b) == first);
        gsa_batches_release(&b);
    }
}
END_TEST

START_TEST(buckets_hold_like_lengths)
{
    /* sorted stretches: the lengths in a batch differ far less than those of all examples */
    double spread[2];
    for (int sorted = 0; sorted < 2; sorted++) {
        const gsa_batches_options o = {
            .batch = 10, .accumulate = 1, .bucket = sorted ? 20 : 1, .seed = 9
        };
        gsa_batches b = make(&o, MOST);
        gsa_batches_shuffle(&b, 0);
        spread[sorted] = 0;
        for (int64_t i = 0; i < b.count; i++) {
            int64_t count, low = 99, high = 0;
            const int64_t *example = gsa_batches_at(&b, i, &count);
            for (int64_t k = 0; k < count; k++) {
                if (lengths[example[k]] < low) low = lengths[example[k]];
                if (lengths[example[k]] > high) high = lengths[example[k]];
            }
            spread[sorted] += (double)(high - low) / (double)b.count;
        }
        gsa_batches_release(&b);
    }
    ck_assert_double_gt(spread[0], 25);
    ck_assert_double_lt(spread[1], 5);
}
END_TEST

static int by_key(const void *a, const void *b)
{
    const gsa_keyed *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->value > y->value) - (x->value < y->value);
}

START_TEST(heap_sort_equals_qsort)
{
    gsa_dice dice = { 5 };
    for (int64_t n = 0; n < 200; n++) {
        gsa_keyed a[200], b[200];
        for (int64_t i = 0; i < n; i++)
            a[i] = b[i] = (gsa_keyed){ gsa_roll(&dice) % (uint64_t)(n + 1), i };
        gsa_sort_keyed(a, n);
        qsort(b, (size_t)n, sizeof *b, by_key);
        if (n > 0) ck_assert_mem_eq(a, b, (size_t)n * sizeof *a);
    }
}
END_TEST

/* ---- schedules: golden values -------------------------------------------------------------- */

static const struct {
    gsa_schedule s;
    int64_t step;
    double rate;
} rates[] = {
    { { .kind = GSA_SCHEDULE_CONSTANT, .steps = 10, .lr = 2 }, 0, 2 },
    { { .kind = GSA_SCHEDULE_CONSTANT, .steps = 10, .lr = 2 }, 99, 2 },
    { { .kind = GSA_SCHEDULE_CONSTANT, .steps = 10, .lr = 2, .warmup = 4 }, 0, 0.5 },
    { { .kind = GSA_SCHEDULE_CONSTANT, .steps = 10, .lr = 2, .warmup = 4 }, 3, 2 },
    { { .kind = GSA_SCHEDULE_LINEAR, .steps = 11, .lr = 2 }, 0, 2 },
    { { .kind = GSA_SCHEDULE_LINEAR, .steps = 11, .lr = 2 }, 5, 1 },
    { { .kind = GSA_SCHEDULE_LINEAR, .steps = 11, .lr = 2, .final = 0.5 }, 10, 1 },
    { { .kind = GSA_SCHEDULE_LINEAR, .steps = 11, .lr = 2, .final = 0.5 }, 1000, 1 },
    { { .kind = GSA_SCHEDULE_LINEAR, .steps = 15, .lr = 2, .warmup = 4 }, 4, 2 },
    { { .kind = GSA_SCHEDULE_LINEAR, .steps = 15, .lr = 2, .warmup = 4 }, 9, 1 },
    { { .kind = GSA_SCHEDULE_COSINE, .steps = 11, .lr = 2 }, 0, 2 },
    { { .kind = GSA_SCHEDULE_COSINE, .steps = 11, .lr = 2 }, 5, 1 },
    { { .kind = GSA_SCHEDULE_COSINE, .steps = 13, .lr = 2 }, 4, 1.5 }, /* cos(pi/3) = 1/2 */
    { { .kind = GSA_SCHEDULE_COSINE, .steps = 11, .lr = 2, .final = 0.1 }, 10, 0.2 },
    { { .kind = GSA_SCHEDULE_NOAM, .lr = 2, .hidden = 256, .warmup = 4 }, 0, 2.0 / 16 / 8 },
    { { .kind = GSA_SCHEDULE_NOAM, .lr = 2, .hidden = 256, .warmup = 4 }, 3, 2.0 / 16 / 2 },
    { { .kind = GSA_SCHEDULE_NOAM, .lr = 2, .hidden = 256, .warmup = 4 }, 15, 2.0 / 16 / 4 },
    { { .kind = GSA_SCHEDULE_HOLD_LINEAR, .steps = 101, .lr = 2, .hold = 0.5, .final = 0.02 },
      50,
      2 },
    { { .kind = GSA_SCHEDULE_HOLD_LINEAR, .steps = 101, .lr = 2, .hold = 0.5, .final = 0.02 },
      100,
      0.04 },
    { { .kind = GSA_SCHEDULE_HOLD_LINEAR, .steps = 41, .lr = 2, .hold = 0, .final = 0 }, 10, 1.5 },
    { { .kind = GSA_SCHEDULE_HOLD_LINEAR, .steps = 1, .lr = 2, .hold = 1, .final = 0.5 }, 0, 2 },
};

START_TEST(golden_rate)
{
    ck_assert_double_eq_tol(gsa_schedule_rate(&rates[_i].s, rates[_i].step), rates[_i].rate, 1e-12);
}
END_TEST

/* ---- masked summation ---------------------------------------------------------------------- */

static const gsa_summation shapes[] = { { 1, 0, 2, 3 }, { 1, 1, 2, 3 },  { 5, 5, 4, 3 },
                                        { 9, 0, 5, 3 }, { 40, 4, 5, 3 }, { 200, 10, 10, 3 } };

START_TEST(exactly_k_ones_and_their_sum)
{
    const gsa_summation s = shapes[_i];
    float x[200 * 10], target[9];
    double mean = 0;
    for (uint64_t example = 0; example < 50; example++) {
        double ones = 0, sum[9] = { 0 };
        gsa_summation_example(&s, 0, example, x, target);
        for (int r = 0; r < s.n; r++) {
            ck_assert(x[r * s.d] == 0 || x[r * s.d] == 1);
            ones += (double)x[r * s.d];
            for (int c = 1; c < s.d; c++) {
                ck_assert(x[r * s.d + c] >= 0 && x[r * s.d + c] < 1);
                sum[c - 1] += (double)(x[r * s.d] * x[r * s.d + c]);
                mean += (double)x[r * s.d + c] / (50.0 * s.n * (s.d - 1));
            }
        }
        ck_assert_double_eq(ones, s.k);
        for (int c = 0; c < s.d - 1; c++) ck_assert_double_eq_tol((double)target[c], sum[c], 1e-5);
    }
    if (s.n >= 40) ck_assert_double_eq_tol(mean, 0.5, 0.01);
}
END_TEST

START_TEST(examples_are_independent_of_order_and_split)
{
    const gsa_summation s = { 8, 3, 4, 7 }, other = { 8, 3, 4, 8 };
    float a[32], b[32], target[3];
    gsa_summation_example(&s, 1, 5, a, target);
    gsa_summation_example(&s, 1, 6, b, target);
    ck_assert_mem_ne(a, b, sizeof a);
    gsa_summation_example(&s, 1, 5, b, target);
    ck_assert_mem_eq(a, b, sizeof a);
    gsa_summation_example(&s, 0, 5, b, target);
    ck_assert_mem_ne(a, b, sizeof a);
    gsa_summation_example(&other, 1, 5, b, target);
    ck_assert_mem_ne(a, b, sizeof a);
}
END_TEST

START_TEST(every_row_is_chosen_alike)
{
    const gsa_summation s = { 10, 3, 2, 1 };
    float x[20], target[1];
    double chosen[10] = { 0 };
    for (uint64_t e = 0; e < 4000; e++) {
        gsa_summation_example(&s, 0, e, x, target);
        for (int r = 0; r < 10; r++) chosen[r] += (double)x[2 * r] / 4000;
    }
    for (int r = 0; r < 10; r++)
        ck_assert_double_eq_tol(chosen[r], 0.3, 0.03); /* 4 standard deviations */
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test order[] = { GSA_LOOP(each_example_once_within_budget, GSA_COUNT(budgets)),
                                      GSA_LOOP(shares_are_even_and_whole, GSA_COUNT(budgets)),
                                      GSA_LOOP(the_order_is_a_function_of_seed_and_epoch,
                                               GSA_COUNT(budgets)),
                                      GSA_TEST(the_split_does_not_change_a_step),
                                      GSA_TEST(buckets_hold_like_lengths),
                                      GSA_TEST(heap_sort_equals_qsort) };
    static const gsa_test schedule[] = { GSA_LOOP(golden_rate, GSA_COUNT(rates)) };
    static const gsa_test summation[] = { GSA_LOOP(exactly_k_ones_and_their_sum, GSA_COUNT(shapes)),
                                          GSA_TEST(examples_are_independent_of_order_and_split),
                                          GSA_TEST(every_row_is_chosen_alike) };
    static const gsa_case cases[] = { GSA_CASE("order", order, 30),
                                      GSA_CASE("schedule", schedule, 30),
                                      GSA_CASE("summation", summation, 30) };
    return gsa_run_suite("batches", cases, GSA_COUNT(cases), argc, argv);
}
