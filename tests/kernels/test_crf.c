/* The linear-chain CRF: loss, gradient and best path against all paths of tags; ties, NaN, nothing
 * legal, long sequences. */
#include "crf_oracle.h"
#include "support/compare.h"
#include "support/guard.h"
#include "support/suite.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 5, K = 4 };

/* One sequence at most, on any backend, in double on the host. */
typedef struct chain {
    gsa_backend *b;
    int64_t length, tags;
    double emissions[N * K], transitions[K * K], start[K], end[K], targets[N], allowed[(K + 2) * K];
    double grad[N * K + K * K + 2 * K], nll;
    double path[N], score;
} chain;

static void *put(gsa_backend *b, const double *from, int64_t count)
{
    char bytes[8 * 64];
    for (int64_t i = 0; i < count; i++) {
        if (b->real == GSA_F64) memcpy(bytes + 8 * i, from + i, 8);
        else memcpy(bytes + 4 * i, &(float){ (float)from[i] }, 4);
    }
    void *at = b->alloc(b, count * b->real_bytes);
    ck_assert_int_eq(b->upload(b, at, bytes, count * b->real_bytes), GSA_OK);
    return at;
}

static void get(gsa_backend *b, double *to, const void *from, int64_t count)
{
    char bytes[8 * 64];
    float small;
    ck_assert_int_eq(b->download(b, bytes, from, count * b->real_bytes), GSA_OK);
    for (int64_t i = 0; i < count; i++) {
        memcpy(&small, bytes + 4 * i, 4);
        if (b->real == GSA_F64) memcpy(to + i, bytes + 8 * i, 8);
        else to[i] = (double)small;
    }
}

/* Forward, backward and decode of the chain; what comes out is in it. */
static void run(chain *c, int masked)
{
    gsa_backend *b = c->b;
    const int64_t n = c->length, k = c->tags, offset[2] = { 0, n }, grads = n * k + k * k + 2 * k;
    const double zeros[N * K + K * K + 2 * K] = { 0 }, one = 1;
    int32_t targets[N];
    uint8_t allowed[(K + 2) * K];
    for (int t = 0; t < n; t++) targets[t] = (int32_t)c->targets[t];
    for (int i = 0; i < (k + 2) * k; i++) allowed[i] = c->allowed[i] != 0;
    void *there[] = { put(b, c->emissions, n * k),
                      put(b, c->transitions, k * k),
                      put(b, c->start, k),
                      put(b, c->end, k),
                      put(b, zeros, grads),
                      put(b, &one, 1),
                      put(b, &one, 1),
                      b->alloc(b, sizeof offset),
                      b->alloc(b, sizeof targets),
                      b->alloc(b, sizeof allowed),
                      put(b, &one, 1) };
    b->upload(b, there[7], offset, sizeof offset);
    b->upload(b, there[8], targets, sizeof targets);
    b->upload(b, there[9], allowed, sizeof allowed);
    char *g = there[4];
    gsa_crf_args args = { .sequences = 1, .tokens = n, .tags = (int32_t)k, .scale = 1 };
    args.emissions = there[0], args.transitions = there[1], args.start = there[2],
    args.end = there[3];
    args.offset = there[7], args.targets = there[8], args.allowed = masked ? there[9] : NULL;
    args.loss = there[5], args.nll = there[10];
    ck_assert_msg(b->crf_forward(b, &args) == GSA_OK, "%s", b->error.text);
    args.dloss = there[6], args.demissions = g, args.dtransitions = g + n * k * b->real_bytes;
    args.dstart = g + (n * k + k * k) * b->real_bytes,
    args.dend = g + (n * k + k * k + k) * b->real_bytes;
    ck_assert_msg(b->crf_backward(b, &args) == GSA_OK, "%s", b->error.text);
    get(b, &c->nll, there[10], 1);
    get(b, c->grad, there[4], grads);
    args.path = there[8], args.score = there[5];
    ck_assert_msg(b->crf_decode(b, &args) == GSA_OK, "%s", b->error.text);
    get(b, &c->score, there[5], 1);
    b->download(b, targets, there[8], sizeof targets);
    for (int t = 0; t < n; t++) c->path[t] = targets[t];
    for (size_t i = 0; i < sizeof there / sizeof *there; i++) b->free(b, there[i]);
}

static crf_problem problem_of(const chain *c, int masked, double *grad)
{
    const int64_t n = c->length, k = c->tags;
    crf_problem p = { .length = n,
                      .tags = k,
                      .emissions = c->emissions,
                      .transitions = c->transitions,
                      .start = c->start,
                      .end = c->end,
                      .targets = c->targets,
                      .allowed = masked ? c->allowed : NULL };
    p.demissions = grad, p.dtransitions = grad + n * k, p.dstart = p.dtransitions + k * k,
    p.dend = p.dstart + k, p.weight = 1;
    return p;
}

static double draw(gsa_dice *dice, int integers)
{
    return integers ? (double)gsa_between(dice, 0, 2) : (double)(float)(2 * gsa_normal(dice));
}

static void fill(chain *c, gsa_dice *dice, int integers, int unobserved)
{
    for (int i = 0; i < N * K; i++) c->emissions[i] = draw(dice, integers);
    for (int i = 0; i < K * K; i++) c->transitions[i] = draw(dice, integers);
    for (int i = 0; i < K; i++)
        c->start[i] = draw(dice, integers), c->end[i] = draw(dice, integers);
    for (int i = 0; i < N; i++)
        c->targets[i] = (double)gsa_between(dice, unobserved ? -1 : 0, c->tags - 1);
    for (int i = 0; i < (K + 2) * K; i++) c->allowed[i] = (double)(gsa_between(dice, 0, 3) != 0);
}

static chain open_chain(int real)
{
    chain c = { 0 };
    gsa_error error;
    ck_assert_msg(gsa_test_backend(NULL, real, 1, &c.b, &error) == GSA_OK, "%s", error.text);
    return c;
}

/* Every length to 5, 1 to 4 tags, with and without a mask and unobserved tokens; scores that tie.
 * Many masks leave no legal path. */
static void compare_with_all_paths(int real)
{
    const double most = real == GSA_F64 ? 1e-12 : 1e-5;
    gsa_dice dice = { 99 };
    int illegal = 0, none = 0;
    chain c = open_chain(real);
    for (int round = 0; round < 4000; round++) {
        const int masked = round & 1, integers = (round & 6) == 0;
        c.length = round / 8 % (N + 1), c.tags = 1 + round / 48 % K;
        fill(&c, &dice, integers, round & 8);
        run(&c, masked);
        double grad[N * K + K * K + 2 * K] = { 0 }, best[N];
        const crf_problem p = problem_of(&c, masked, grad);
        const double nll = crf_oracle_nll(&p), score = crf_oracle_best(&p, best);
        illegal += isinf(nll) != 0, none += isinf(score) != 0;
        ck_assert_msg(nll == c.nll || fabs(nll - c.nll) <= most * (1 + fabs(nll)),
                      "round %d: %.17g, not %.17g", round, c.nll, nll);
        for (int64_t i = 0; i < c.length * c.tags + c.tags * c.tags + 2 * c.tags; i++)
            ck_assert_msg(fabs(grad[i] - c.grad[i]) <= most,
                          "round %d: gradient %d is %.17g, not %.17g", round, (int)i, c.grad[i],
                          grad[i]);
        ck_assert_msg(score == c.score || fabs(score - c.score) <= most * (1 + fabs(score)),
                      "round %d: best %.17g, not %.17g", round, c.score, score);
        for (int64_t t = 0; t < c.length; t++)
            ck_assert_msg(best[t] == c.path[t], "round %d: tag %d is %g, not %g", round, (int)t,
                          c.path[t], best[t]);
    }
    ck_assert_int_ge(illegal, 200);
    ck_assert_int_ge(none, 20);
    gsa_backend_release(c.b);
}

START_TEST(all_paths_in_double)
{
    compare_with_all_paths(GSA_F64);
}
END_TEST

START_TEST(all_paths_in_float)
{
    compare_with_all_paths(GSA_F32);
}
END_TEST

START_TEST(nan_stays_nan)
{
    gsa_dice dice = { 4 };
    for (int real = GSA_F32; real <= GSA_F64; real++) {
        chain c = open_chain(real);
        c.length = 3, c.tags = K;
        for (int where = 0; where < 3 * K + K * K + 2 * K; where++) {
            fill(&c, &dice, 0, 0);
            double *at = where < 3 * K           ? c.emissions + where
                         : where < 3 * K + K * K ? c.transitions + where - 3 * K
                         : where < 4 * K + K * K ? c.start + where - 3 * K - K * K
                                                 : c.end + where - 4 * K - K * K;
            *at = NAN;
            run(&c, 0);
            ck_assert_msg(isnan(c.nll) && isnan(c.score) && isnan(c.grad[0]),
                          "NaN at %d: nll %g, score %g, gradient %g", where, c.nll, c.score,
                          c.grad[0]);
        }
        gsa_backend_release(c.b);
    }
}
END_TEST

/* Scores far apart, where products of exponentials vanish or overflow: the paths through are found
 * all the same. */
START_TEST(far_scores_are_not_lost)
{
    static const double gaps[] = { 1, 50, 120, 180, 220, 300, 400, 700, 750, 1000, 5000 };
    const double gap = gaps[_i / 2];
    chain c = open_chain(_i % 2 ? GSA_F64 : GSA_F32);
    c.length = N, c.tags = 3;
    for (int t = 0; t < N; t++) c.emissions[t * 3] = gap, c.targets[t] = t % 2;
    for (int i = 0; i < 9; i++) c.transitions[i] = i % 3 == 2 ? -gap / 5 : 0.1 * i;
    for (int i = 0; i < 3; i++) c.transitions[i * 3] = -gap * (2 * i + 4) / 5;
    double grad[N * K + K * K + 2 * K] = { 0 };
    for (int i = 0; i < 9; i++) c.transitions[i] = (double)(float)c.transitions[i];
    run(&c, 0);
    const crf_problem p = problem_of(&c, 0, grad);
    const double nll = crf_oracle_nll(&p);
    ck_assert_msg(fabs(nll - c.nll) <= 1e-6 * (1 + fabs(nll)), "%.17g, not %.17g", c.nll, nll);
    for (int i = 0; i < N * 3 + 9 + 6; i++)
        ck_assert_msg(fabs(grad[i] - c.grad[i]) < 1e-6, "gradient %d: %.17g, not %.17g", i,
                      c.grad[i], grad[i]);
    gsa_backend_release(c.b);
}
END_TEST

/* 5000 tokens in float: the gradient at each token sums to 0, and nll is what double says. */
START_TEST(long_sequences_keep_their_gradient)
{
    enum { LONG = 5000, TAGS = 9 };
    static float x[2][LONG * TAGS], w[TAGS * TAGS], ends[TAGS], dx[LONG * TAGS], nll;
    static double wide[LONG * TAGS], w_wide[TAGS * TAGS], ends_wide[TAGS], nll_wide;
    static int32_t targets[LONG];
    const int64_t offset[2] = { 0, LONG };
    const float one = 1;
    gsa_dice dice = { 8 };
    gsa_backend *narrow, *exact;
    for (int i = 0; i < LONG * TAGS; i++) wide[i] = x[0][i] = (float)(3 * gsa_normal(&dice) + 20);
    for (int i = 0; i < TAGS * TAGS; i++) w_wide[i] = w[i] = (float)gsa_normal(&dice);
    for (int i = 0; i < LONG; i++) targets[i] = (int32_t)gsa_between(&dice, 0, TAGS - 1);
    ck_assert_int_eq(gsa_backend_ref(NULL, GSA_F32, 1, &narrow, NULL), GSA_OK);
    ck_assert_int_eq(gsa_backend_ref(NULL, GSA_F64, 1, &exact, NULL), GSA_OK);
    gsa_crf_args args = { .sequences = 1,
                          .tokens = LONG,
                          .tags = TAGS,
                          .offset = offset,
                          .targets = targets,
                          .scale = 1 };
    args.emissions = x[0], args.transitions = w, args.start = args.end = ends, args.loss = &nll;
    args.dloss = &one, args.demissions = dx;
    ck_assert_int_eq(narrow->crf_forward(narrow, &args), GSA_OK);
    ck_assert_int_eq(narrow->crf_backward(narrow, &args), GSA_OK);
    args.emissions = wide, args.transitions = w_wide, args.start = args.end = ends_wide,
    args.loss = &nll_wide;
    ck_assert_int_eq(exact->crf_forward(exact, &args), GSA_OK);
    ck_assert_msg(fabs((double)nll / nll_wide - 1) < 1e-7, "%g against %g", (double)nll, nll_wide);
    for (int t = 0; t < LONG; t++) {
        double sum = 0;
        for (int j = 0; j < TAGS; j++) sum += (double)dx[t * TAGS + j];
        ck_assert_msg(fabs(sum) < 5e-7, "token %d: the gradient sums to %g", t, sum);
    }
    gsa_backend_release(narrow);
    gsa_backend_release(exact);
}
END_TEST

#define FAILS(call, status, words)                                                                 \
    do {                                                                                           \
        b->error.text[0] = 0;                                                                      \
        ck_assert_int_eq(call, status);                                                            \
        ck_assert_msg(strstr(b->error.text, words) != NULL, "'%s' lacks '%s'", b->error.text,      \
                      words);                                                                      \
    } while (0)

START_TEST(bad_arguments_are_sentences)
{
    gsa_backend *b;
    const float x[12] = { 0 };
    float loss;
    const int64_t good[3] = { 0, 1, 2 }, late[3] = { 1, 1, 2 }, falling[3] = { 0, 2, 1 },
                  few[3] = { 0, 1, 1 }, far[3] = { 0, 1, 3 };
    const int32_t targets[2] = { 0, 3 }, low[2] = { -2, 0 };
    gsa_crf_args args = { .sequences = 2,
                          .tokens = 2,
                          .tags = 3,
                          .offset = good,
                          .emissions = x,
                          .transitions = x,
                          .scale = 1 };
    args.start = args.end = x, args.targets = targets, args.loss = &loss, args.dloss = x;
    ck_assert_int_eq(gsa_backend_ref(NULL, GSA_F32, 1, &b, NULL), GSA_OK);
    FAILS(b->crf_forward(b, &args), GSA_ERR_ARGUMENT,
          "crf_forward: target 3 of row 1 is outside -1..2");
    FAILS(b->crf_backward(b, &args), GSA_ERR_ARGUMENT, "crf_backward: target 3 of row 1");
    args.targets = low;
    FAILS(b->crf_forward(b, &args), GSA_ERR_ARGUMENT, "target -2 of row 0");
    args.offset = late;
    FAILS(b->crf_forward(b, &args), GSA_ERR_ARGUMENT, "offset 1 of sequence 0 is outside 0..0");
    args.offset = falling;
    FAILS(b->crf_decode(b, &args), GSA_ERR_ARGUMENT, "offset 1 of sequence 2 is outside 2..2");
    args.offset = far;
    FAILS(b->crf_decode(b, &args), GSA_ERR_ARGUMENT, "offset 3 of sequence 2 is outside 1..2");
    args.offset = few;
    FAILS(b->crf_decode(b, &args), GSA_ERR_ARGUMENT, "the sequences hold 1 tokens of 2");
    args.tags = 0;
    FAILS(b->crf_decode(b, &args), GSA_ERR_ARGUMENT, "0 tags");
    args.tags = 40000;
    FAILS(b->crf_decode(b, &args), GSA_ERR_LIMIT, "40000 tags");
    args.tags = 3, args.sequences = -1;
    FAILS(b->crf_decode(b, &args), GSA_ERR_ARGUMENT, "-1 sequences");
    args.sequences = 0, args.tokens = 0, args.offset = NULL, args.targets = NULL;
    ck_assert_int_eq(b->crf_forward(b, &args), GSA_OK);
    ck_assert(loss == 0);
    ck_assert_int_eq(b->crf_backward(b, &args),
                     GSA_OK); /* and gradients that are NULL are skipped */
    args.sequences = 2, args.tokens = 2, args.offset = good,
    args.targets = (const int32_t[2]){ 1, 2 };
    ck_assert_int_eq(b->crf_backward(b, &args), GSA_OK);
    gsa_backend_release(b);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test paths[] = { GSA_TEST(all_paths_in_double), GSA_TEST(all_paths_in_float) };
    static const gsa_test special[] = { GSA_TEST(nan_stays_nan),
                                        GSA_LOOP(far_scores_are_not_lost, 22),
                                        GSA_TEST(long_sequences_keep_their_gradient),
                                        GSA_TEST(bad_arguments_are_sentences) };
    static const gsa_case cases[] = { GSA_CASE("paths", paths, 120),
                                      GSA_CASE("special", special, 60) };
    return gsa_run_suite("crf", cases, GSA_COUNT(cases), argc, argv);
}
