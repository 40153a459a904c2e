/* BLEU and chrF against sacreBLEU: tokens, sufficient statistics, scores of sentences and of a
 * corpus. */
#include <stdio.h>
#include <string.h>
#include "golden_bleu.h"
#include "support/faults.h"
#include "support/suite.h"
#include "train/score/bleu.h"

static gsa_slice slice(const char *text)
{
    return (gsa_slice){ text, (int64_t)strlen(text) };
}

static int references_of(int i, gsa_slice *reference)
{
    int count = 0;
    for (; count < 3 && golden[i].reference[count]; count++)
        reference[count] = slice(golden[i].reference[count]);
    return count;
}

START_TEST(tokens_are_those_of_13a)
{
    char *text;
    int64_t bytes;
    gsa_error error;
    ck_assert_int_eq(gsa_bleu_tokens(gsa_system_default(), slice(golden[_i].translation), 0, &text,
                                     &bytes, &error),
                     GSA_OK);
    const int same = bytes == (int64_t)strlen(golden[_i].tokens) &&
                     memcmp(text, golden[_i].tokens, (size_t)bytes) == 0;
    ck_assert_msg(same, "case %d: '%.*s', expected '%s'", _i, (int)bytes, text, golden[_i].tokens);
    gsa_release(gsa_system_default(), text);
}
END_TEST

static void check_bleu(int i, int lower, gsa_bleu_counts *sum)
{
    const golden_score *e = lower ? &golden[i].lower : &golden[i].mixed;
    gsa_slice reference[3];
    gsa_bleu_counts c;
    gsa_error error;
    const int references = references_of(i, reference);
    ck_assert_int_eq(gsa_bleu_count(gsa_system_default(), slice(golden[i].translation), reference,
                                    references, lower, &c, &error),
                     GSA_OK);
    const int64_t found[] = { c.length,   c.reference, c.right[0], c.right[1], c.right[2],
                              c.right[3], c.total[0],  c.total[1], c.total[2], c.total[3] };
    for (int k = 0; k < 10; k++)
        ck_assert_msg(found[k] == e->bleu[k], "case %d, lower %d, number %d: %lld, expected %lld",
                      i, lower, k, (long long)found[k], (long long)e->bleu[k]);
    ck_assert_double_eq_tol(gsa_bleu_score(&c).score, e->bleu_score, 1e-7);
    gsa_bleu_add(sum, &c);
}

static void check_chrf(int i, int lower, gsa_chrf_counts *sum)
{
    const golden_score *e = lower ? &golden[i].lower : &golden[i].mixed;
    gsa_slice reference[3];
    gsa_chrf_counts c;
    gsa_error error;
    const int references = references_of(i, reference);
    ck_assert_int_eq(gsa_chrf_count(gsa_system_default(), slice(golden[i].translation), reference,
                                    references, lower, &c, &error),
                     GSA_OK);
    for (int n = 0; n < GSA_CHRF_ORDER; n++) {
        const int64_t found[] = { c.translation[n], c.reference[n], c.right[n] };
        for (int k = 0; k < 3; k++)
            ck_assert_msg(found[k] == e->chrf[3 * n + k],
                          "case %d, lower %d, order %d, number %d: %lld, expected %lld", i, lower,
                          n + 1, k, (long long)found[k], (long long)e->chrf[3 * n + k]);
    }
    ck_assert_double_eq_tol(gsa_chrf_score(&c), e->chrf_score, 1e-7);
    gsa_chrf_add(sum, &c);
}

START_TEST(sentences_and_their_corpus)
{
    gsa_bleu_counts bleu = { 0 };
    gsa_chrf_counts chrf = { 0 };
    for (int i = 0; i < GSA_COUNT(golden); i++) check_bleu(i, _i, &bleu), check_chrf(i, _i, &chrf);
    ck_assert_double_eq_tol(gsa_bleu_score(&bleu).score, golden_bleu[_i], 1e-9);
    ck_assert_double_eq_tol(gsa_chrf_score(&chrf), golden_chrf[_i], 1e-9);
}
END_TEST

START_TEST(signatures)
{
    static const char *const bleu = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:gsa-",
                             *const lower =
                                 "nrefs:2|case:lc|eff:no|tok:13a|smooth:exp|version:gsa-",
                             *const chrf =
                                 "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:gsa-";
    char text[128];
    gsa_bleu_signature(1, 0, text, sizeof text);
    ck_assert_int_eq(strncmp(text, bleu, strlen(bleu)), 0);
    gsa_bleu_signature(2, 1, text, sizeof text);
    ck_assert_int_eq(strncmp(text, lower, strlen(lower)), 0);
    gsa_chrf_signature(1, 0, text, sizeof text);
    ck_assert_int_eq(strncmp(text, chrf, strlen(chrf)), 0);
}
END_TEST

/* By hand: 7 of 8, 5 of 7, 3 of 6 and 1 of 5 n-grams, as long as the reference. */
START_TEST(an_equation)
{
    const gsa_bleu_counts c = { { 7, 5, 3, 1 }, { 8, 7, 6, 5 }, 8, 8 },
                          none = { { 0 }, { 0 }, 0, 0 };
    ck_assert_double_eq_tol(gsa_bleu_score(&c).score, 50, 1e-12); /* the fourth root of 1/16 */
    ck_assert_double_eq_tol(gsa_bleu_score(&c).precision[3], 20, 1e-12);
    ck_assert_double_eq(gsa_bleu_score(&none).score, 0);
    ck_assert_double_eq(gsa_chrf_score(&(gsa_chrf_counts){ { 0 }, { 0 }, { 0 } }), 0);
}
END_TEST

static gsa_status count_one(gsa_faults *faults, void *lower)
{
    gsa_slice reference[3];
    gsa_bleu_counts c;
    gsa_error error;
    const int references = references_of(0, reference);
    return gsa_bleu_count(&faults->table, slice(golden[0].translation), reference, references,
                          *(const int *)lower, &c, &error);
}

START_TEST(every_failing_allocation_is_met)
{
    int lower = _i;
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, count_one, &lower), 8);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test tokens[] = { GSA_LOOP(tokens_are_those_of_13a, GSA_COUNT(golden)) };
    static const gsa_test scores[] = { GSA_LOOP(sentences_and_their_corpus, 2),
                                       GSA_TEST(signatures), GSA_TEST(an_equation),
                                       GSA_LOOP(every_failing_allocation_is_met, 2) };
    static const gsa_case cases[] = { GSA_CASE("tokens", tokens, 30),
                                      GSA_CASE("scores", scores, 30) };
    return gsa_run_suite("bleu", cases, GSA_COUNT(cases), argc, argv);
}
