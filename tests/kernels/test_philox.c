/* Philox4x32-10 against the vectors published with Random123 (kat_vectors), and what dropout draws
 * from it. */
#include "dense.h"
#include "kernels/philox.h"
#include "support/guard.h"
#include "support/suite.h"
#include <math.h>
#include <string.h>

START_TEST(published_vectors)
{
    static const struct {
        uint32_t counter[4], key[2], want[4];
    } rows[] = {
        { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
        { { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff },
          { 0xffffffff, 0xffffffff },
          { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
        { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
          { 0xa4093822, 0x299f31d0 },
          { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
    };
    for (int i = 0; i < GSA_COUNT(rows); i++) {
        const uint32_t *c = rows[i].counter;
        const gsa_philox got = gsa_philox4x32((gsa_philox){ { c[0], c[1], c[2], c[3] } },
                                              rows[i].key[0], rows[i].key[1]);
        for (int w = 0; w < 4; w++) ck_assert_uint_eq(got.word[w], rows[i].want[w]);
    }
}
END_TEST

enum { ROWS = 400, COLS = 257 };

/* Drops a matrix of ones whose rows are the rows first .. first+count-1 of one long list of
 * (example, row) pairs. */
static void drop_ones(double p, uint32_t step, int64_t first, int64_t count, float *out)
{
    static float ones[ROWS * COLS];
    int32_t example_id[ROWS], row_example[ROWS], row_local[ROWS], examples = 0;
    gsa_backend *b;
    for (int64_t i = 0; i < ROWS * COLS; i++) ones[i] = 1;
    for (int64_t i = 0; i < count;
         i++) { /* examples of 5 rows; numbered inside this batch from 0 */
        const int32_t id = (int32_t)((first + i) / 5);
        if (i == 0 || example_id[examples - 1] != id) example_id[examples++] = id;
        row_example[i] = examples - 1;
        row_local[i] = (int32_t)((first + i) % 5);
    }
    const gsa_dropout d = { .p = p,
                            .seed = 3,
                            .step = step,
                            .site = 9,
                            .example_id = example_id,
                            .row_example = row_example,
                            .row_local = row_local };
    ck_assert_int_eq(gsa_backend_ref(NULL, GSA_F32, 1, &b, NULL), GSA_OK);
    ck_assert_int_eq(b->dropout_forward(b, out, ones, &d, count, COLS), GSA_OK);
    gsa_backend_release(b);
}

START_TEST(keep_rate_and_scale)
{
    static const double rates[] = { 0, 0.1, 0.25, 0.5, 0.9 };
    static float out[ROWS * COLS];
    for (int i = 0; i < GSA_COUNT(rates); i++) {
        const double p = rates[i], n = ROWS * COLS;
        int64_t kept = 0, odd = 0;
        drop_ones(p, 1, 0, ROWS, out);
        for (int64_t j = 0; j < ROWS * COLS; j++) {
            kept += out[j] != 0;
            odd += out[j] != 0 && out[j] != (float)(1 / (1 - p));
        }
        ck_assert_int_eq(odd, 0);
        ck_assert_double_le(fabs((double)kept / n - (1 - p)),
                            5 * sqrt(p * (1 - p) / n)); /* five deviations */
    }
}
END_TEST

START_TEST(any_split_draws_the_same)
{
    static float whole[ROWS * COLS], part[ROWS * COLS];
    static const int64_t cuts[] = { 0, 5, 35, 150, 155, 400 };
    drop_ones(0.4, 7, 0, ROWS, whole);
    for (int c = 0; c + 1 < GSA_COUNT(cuts); c++) {
        drop_ones(0.4, 7, cuts[c], cuts[c + 1] - cuts[c], part);
        ck_assert(memcmp(part, whole + cuts[c] * COLS,
                         (size_t)((cuts[c + 1] - cuts[c]) * COLS) * sizeof(float)) == 0);
    }
}
END_TEST

START_TEST(another_step_draws_another_mask)
{
    static float one[ROWS * COLS], two[ROWS * COLS];
    int64_t equal = 0;
    drop_ones(0.5, 1, 0, ROWS, one);
    drop_ones(0.5, 2, 0, ROWS, two);
    for (int64_t j = 0; j < ROWS * COLS; j++) equal += one[j] == two[j];
    ck_assert_double_le(fabs((double)equal / (ROWS * COLS) - 0.5), 0.01);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test vectors[] = { GSA_TEST(published_vectors) };
    static const gsa_test dropout[] = { GSA_TEST(keep_rate_and_scale),
                                        GSA_TEST(any_split_draws_the_same),
                                        GSA_TEST(another_step_draws_another_mask) };
    static const gsa_case cases[] = { GSA_CASE("vectors", vectors, 10),
                                      GSA_CASE("dropout", dropout, 30) };
    return gsa_run_suite("philox", cases, GSA_COUNT(cases), argc, argv);
}
