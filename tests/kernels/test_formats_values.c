/* Every format of attention (formats_table.h) in heads of many widths against the oracle, with what
 * its calls may ask for; and the edges that it drops, one by one. */
#include "dense.h"
#include "formats_table.h"
#include "oracle_check.h"
#include <math.h>
#include <stdio.h>

/* ---- values ---------------------------------------------------------------------------------- */

/* As many of each as no other has a divisor of: each meets each of the others. */
static const int dims[] = { 1,  16, 33, 2,  64, 10, 50, 7,  128, 9,  17, 3,   65, 8,   48, 256,
                            15, 80, 24, 63, 31, 20, 44, 32, 200, 70, 12, 258, 66, 100, 203 },
                 flags[] = { 0, 4, 3, 66, 32, 7, 1, 67, 2, 36, 5, 15, 35 },
                 heads[] = { 3, 1, 5, 2, 9, 4, 17 };
/* flags: vectors 1, bias 2, dropout 4, weights 8, gradients of v alone 32, -inf 64 */

static void check_values(int at, const pattern *p, int number)
{
    const op_case *op = &graph_cases[graph_case_count - 1];
    int set = flags[number % GSA_COUNT(flags)];
    const int dim = dims[number % GSA_COUNT(dims)], most = 150 / dim + 1;
    if (p->labels < 2) set &= 4 | 8 | 32;
    /* of both, scores are so large that their rounding shows in sums over long ranges */
    if (p->format == INTERVAL && dim > 150 && set & 2) set &= ~1;
    const int count = heads[number % GSA_COUNT(heads)];
    const op_shape shape = { 19, count < most ? count : most, dim, 1, set };
    const pattern drawn = pattern_drawn(p, number % 64);
    const call c = { .p = &drawn, .at = at, .examples = p->rows < 300 ? 2 : 1 };
    char name[96];
    gsa_backend *b;
    rig r;
    ck_assert_int_eq(gsa_backend_cpu(NULL, level[at], 1 + number % 3, &b, NULL), GSA_OK);
    snprintf(name, sizeof name, "%s, %s, %d heads of %d, flags %d", b->name, p->name, (int)shape[1],
             (int)shape[2], set);
    rig_begin(&r, b, (uint64_t)number, RIG_RANDOM, shape);
    make_edges(&r, &c);
    if (p->format != GEMM && !(set & 8)) /* which small heads and weights do without */
        check_format(&c, &(gsa_attend_args){ .edges = &r.device,
                                             .heads = (int32_t)shape[1],
                                             .head_dim = (int32_t)shape[2] });
    equals_the_oracle(&r, op, name);
    rig_end(&r);
    gsa_backend_release(b);
}

START_TEST(equal_the_oracle)
{
    const int place = _i % PATTERNS, at = _i / PATTERNS;
    const pattern *p = &patterns[place];
    const int most = p->rows > 1000 || p->sources > 1000 ? 3
                     : p->format == INTERVAL             ? 12
                                                         : GSA_COUNT(dims),
              count = most < GSA_THIN(4) ? 1 : most / GSA_THIN(4);
    for (int i = 0; i < count && gsa_cpu_has(level[at]); i++)
        check_values(at, p, place * 37 + i * (GSA_COUNT(dims) / count));
}
END_TEST

/* ---- dropout --------------------------------------------------------------------------------- */

/* Each edge's factor is in `out` and in dv by itself, or in a sum of a few. */
static void check_factors(const call *c, const pointed *x, const gsa_edges *edges)
{
    const int64_t width = (int64_t)c->heads * c->dim;
    double *want[PLANES] = { 0 };
    edges_list list = edges_expand(edges);
    for (int p = OUT; p <= DV2; p++) {
        want[p] = calloc((size_t)(size_of(c, p) * c->examples), sizeof(double));
        ck_assert_ptr_nonnull(want[p]);
    }
    for (int64_t i = 0; i < list.total; i++)
        for (int32_t h = 0; h < c->heads; h++) {
            const int64_t row = list.row[i], source = list.source[i];
            const int kind = list.kind[i];
            const double degree = (double)(edges->edge_offset[row + 1] - edges->edge_offset[row]),
                         share =
                             dense_attention_factor(&x->args.dropout, edges, row, list.k[i], h) /
                             degree;
            want[OUT][row * width + h * c->dim + (source % c->p->sources + 131 * kind) % c->dim] +=
                share;
            want[DV + kind][source * width + h * c->dim + row % c->p->rows % c->dim] += share;
        }
    for (int p = OUT; p <= DV2; p++)
        for (int64_t i = 0; i < size_of(c, p) * c->examples && (p == OUT || p >= DV); i++)
            if (!(fabs(c->of[p][i] - want[p][i]) < 1e-6))
                ck_abort_msg("%s: plane %d of row %d, column %d is %g, expected %g", c->p->name, p,
                             (int)(i / width), (int)(i % width), (double)c->of[p][i], want[p][i]);
    for (int p = OUT; p <= DV2; p++) free(want[p]);
    edges_list_free(&list);
}

static void drop(int at, int pattern_at, int threads, double rate)
{
    enum { HEADS = 5 };
    static pointed x;
    call c = call_of(pattern_at);
    c.at = at, c.threads = threads, c.examples = 2, c.heads = HEADS;
    c.dim = c.p->sources > 1000 ? 64 : 256;
    c.ones = c.kept = 1, c.drop = rate;
    rig r = level_rig(level[at], threads);
    make_edges(&r, &c), fill(&c), point(&x, &c, &r);
    x.id[0] = 1007, x.id[1] = 3;
    x.args.dq = NULL;
    check_format(&c, &x.args);
    ck_assert_int_eq(r.b->attend_forward(r.b, &x.args), GSA_OK);
    ck_assert_int_eq(r.b->attend_backward(r.b, &x.args), GSA_OK);
    check_factors(&c, &x, &r.maker.view);
    free(x.id), finish(&c);
    level_rig_end(&r);
}

START_TEST(every_format_drops_the_same_edges)
{
    for (int rate = _i % GSA_THIN(2) % 2; rate < 2; rate += GSA_THIN(2))
        for (int at = 0; at < LEVELS; at++) /* each two of level, rate and threads meet */
            if (gsa_cpu_has(level[at]) && (at < VECTOR_LEVELS || (_i + rate) % GSA_THIN(4) == 0))
                drop(at, _i, (at + rate) % 2 ? 3 : 1, rate ? 0.9 : 0.1);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test values[] = { GSA_LOOP(equal_the_oracle, EACH) };
    static const gsa_test dropout[] = { GSA_LOOP(every_format_drops_the_same_edges, PATTERNS) };
    static const gsa_case cases[] = { GSA_CASE("values", values, 120),
                                      GSA_CASE("dropout", dropout, 120) };
    return gsa_run_suite("cpu_formats_values", cases, GSA_COUNT(cases), argc, argv);
}
