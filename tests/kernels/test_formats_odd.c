/* Numbers that are not finite, and scores so large that roundings show, in every format of
 * attention (formats_table.h): they stay in the rows that read them. */
#include "formats_table.h"
#include <math.h>

/* Whether a row of a plane is other than without the taint, 1: in head 1 alone; gradients of rows
 * that go together are summed in another order then. */
static int differs(const call *x, const call *clean, int plane, int32_t row)
{
    const int64_t width = (int64_t)x->heads * x->dim;
    const float most = x->p->exact ? 0 : plane == OUT ? 1e-4f : 1e-3f;
    int bad = 0;
    for (int64_t i = 0; i < width; i++) {
        const float by = x->of[plane][row * width + i] - clean->of[plane][row * width + i];
        if (!(by <= most && by >= -most)) bad |= i / x->dim == 1 ? 1 : 2;
    }
    return bad;
}

/* Whether a row reads a source of a kind; one whose scores are all -inf reads no
 * value. */
static int reads(const call *c, const gsa_edges *e, int32_t row, int kind, int32_t source)
{
    int found = 0, alive = !c->dead;
    for (int64_t i = e->run_offset[row]; i < e->run_offset[row + 1]; i++) {
        const gsa_run *run = &e->runs[i];
        const int32_t by = source - run->first, at = by / run->step;
        found |= run->kind == kind && by == at * run->step && at >= 0 && at < run->count;
        for (int32_t j = 0; j < run->count && !alive; j++)
            alive = run->label + j * run->label_step == ALIVE;
    }
    return found && alive;
}

static int has_edges(const gsa_edges *e, int32_t row)
{
    return e->edge_offset[row + 1] > e->edge_offset[row];
}

/* A query that is no number makes none of what its row has in head 1. */
static void check_nan(const call *x, const gsa_edges *e)
{
    const int64_t width = (int64_t)x->heads * x->dim;
    const float *out = x->of[OUT] + x->tainted * width, *dq = x->of[DQ] + x->tainted * width;
    if (x->taint != Q || !isnan(x->odd) || !has_edges(e, x->tainted)) return;
    for (int32_t i = x->dim; i < 2 * x->dim; i++)
        ck_assert_msg(isnan(out[i]) && isnan(dq[i]), "%s: row %d, column %d", x->p->name,
                      (int)x->tainted, (int)i);
}

/* `may`: rows whose head 1 the taint may reach. */
static void check_rows(const call *x, const call *clean, const gsa_edges *e, char *may)
{
    int odd = 0, spoilt = 0, reached = 0;
    for (int32_t row = 0; row < x->p->rows; row++) {
        const int out = differs(x, clean, OUT, row), dq = differs(x, clean, DQ, row);
        may[row] = x->taint <= DOUT ? row == x->tainted && has_edges(e, row)
                                    : (char)reads(x, e, row, 0, x->tainted);
        odd += dq, spoilt += out, reached += may[row];
        ck_assert_msg((out | dq) <= may[row], "%s: plane %d, %d, row %d", x->p->name, x->taint,
                      (int)x->tainted, (int)row);
    }
    ck_assert_msg((odd > 0) == (reached > 0), "%s: plane %d, %d: %d rows differ, %d may",
                  x->p->name, x->taint, (int)x->tainted, odd, reached);
    ck_assert_msg((spoilt > 0) == (reached > 0 && x->taint != DOUT),
                  "%s: plane %d, %d: %d outputs differ", x->p->name, x->taint, (int)x->tainted,
                  spoilt);
    /* the first is read, and by all where all read all */
    ck_assert_msg(x->tainted != 20 || x->dead || reached > 0, "%s: %d is not read", x->p->name,
                  (int)x->tainted);
    ck_assert_msg(reached < x->p->rows || x->p->format == GEMM, "%s: all rows read %d", x->p->name,
                  (int)x->tainted);
}

/* Gradients of sources that no row reads which the taint reaches, `may`, are as without it. */
static void check_sources(const call *x, const call *clean, const gsa_edges *e, const char *may)
{
    int given = 0;
    for (int32_t source = 0; source < x->p->sources; source++)
        for (int kind = 0; kind < 2; kind++) {
            int any = 0;
            const int bad =
                differs(x, clean, DK + kind, source) | differs(x, clean, DV + kind, source);
            for (int32_t row = 0; row < x->p->rows && bad; row++)
                any |= may[row] && reads(x, e, row, kind, source);
            given += bad;
            ck_assert_msg(bad <= any, "%s: plane %d, %d, source %d", x->p->name, x->taint,
                          (int)x->tainted, (int)source);
        }
    ck_assert_msg((given > 0) == (memchr(may, 1, (size_t)x->p->rows) != NULL),
                  "%s: plane %d, %d: %d sources differ", x->p->name, x->taint, (int)x->tainted,
                  given);
}

/* `only`: a plane, with dropout; or -1. Values do not reach rows that have weight nowhere. */
static void taint_all(int i, int only)
{
    static const int plane[] = { V, Q, DOUT, K };
    call clean = call_of(i);
    const int32_t tainted[] = { 20, 31, 34, clean.p->alone }; /* `few` have 20 edges, 1 and 2 */
    rig r = level_rig(level[clean.at], 1);
    char *may = calloc((size_t)clean.p->rows, 1);
    ck_assert_ptr_nonnull(may);
    make_edges(&r, &clean);
    clean.dead = only == V && clean.p->biased, clean.drop = only < 0 ? 0 : 0.2;
    attend(&clean);
    for (int j = i % GSA_THIN(13); j < 2 * GSA_COUNT(plane) * GSA_COUNT(tainted);
         j += GSA_THIN(13)) {
        call x = clean;
        x.tainted = tainted[j / 2 / GSA_COUNT(plane)];
        x.taint = plane[j / 2 % GSA_COUNT(plane)], x.odd = j % 2 ? INFINITY : NAN;
        if (x.tainted == 0 || (only >= 0 && x.taint != only)) continue;
        if (only == K && isinf(x.odd)) continue; /* may be no more than an edge without weight */
        if (x.tainted >= (x.taint <= DOUT ? x.p->rows : x.p->sources)) continue;
        attend(&x), check_nan(&x, &r.maker.view);
        check_rows(&x, &clean, &r.maker.view, may);
        check_sources(&x, &clean, &r.maker.view, may), finish(&x);
    }
    free(may);
    finish(&clean);
    level_rig_end(&r);
}

START_TEST(rows_keep_to_their_sources)
{
    const call c = call_of(_i);
    if (!gsa_cpu_has(level[c.at])) return;
    taint_all(_i, -1), taint_all(_i, K), taint_all(_i, V);
}
END_TEST

/* An edge whose score is -inf has no weight: 0 times its key is in its own row's dq alone. */
START_TEST(keys_without_weight_stay_in_their_rows)
{
    call clean = call_of(_i);
    if (!gsa_cpu_has(level[clean.at]) || clean.p->format != GEMM || !clean.p->alone) return;
    clean.scale = -1; /* of the row that reads the key */
    attend(&clean);
    call x = clean;
    x.taint = K, x.tainted = x.p->alone, x.odd = INFINITY;
    attend(&x);
    rig r = level_rig(level[x.at], 1);
    make_edges(&r, &x);
    for (int32_t row = 0; row < x.p->rows; row++) {
        const int read = reads(&x, &r.maker.view, row, 0, x.tainted);
        ck_assert_msg(read == isnan(x.of[DQ][(row * x.heads + 1) * x.dim + 5]), "row %d", (int)row);
        ck_assert_msg(read || !(differs(&x, &clean, OUT, row) | differs(&x, &clean, DQ, row)),
                      "row %d", (int)row);
    }
    level_rig_end(&r);
    finish(&x), finish(&clean);
}
END_TEST

/* p = exp(s - lse) of a row sum to 1 where s are the forward pass's bits. Of other roundings they
 * do not: a unit of the last place of such scores is an eighth. */
START_TEST(weights_of_large_scores_sum_to_one)
{
    call x = call_of(_i);
    int32_t rows = 0;
    if (!gsa_cpu_has(level[x.at]) || x.p->format != BCSR) return;
    x.scale = 1e6, x.gradient = 1;
    attend(&x);
    rig r = level_rig(level[x.at], 1);
    make_edges(&r, &x);
    for (int32_t row = 0; row < x.p->rows; row++)
        rows += r.maker.view.edge_offset[row + 1] > r.maker.view.edge_offset[row];
    for (int64_t j = 0, width = (int64_t)x.heads * x.dim; j < width; j++) {
        double sum = 0;
        for (int64_t c = 0; c < x.p->sources; c++)
            sum += (double)x.of[DV][c * width + j] + (double)x.of[DV2][c * width + j];
        ck_assert_msg(sum > rows - 0.02 && sum < rows + 0.02, "%s: dv sum to %g, not %d", x.p->name,
                      sum, (int)rows);
    }
    finish(&x);
    level_rig_end(&r);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test odd[] = { GSA_LOOP(rows_keep_to_their_sources, EACH),
                                    GSA_LOOP(keys_without_weight_stay_in_their_rows, EACH),
                                    GSA_LOOP(weights_of_large_scores_sum_to_one, EACH) };
    static const gsa_case cases[] = { GSA_CASE("odd", odd, 120) };
    return gsa_run_suite("cpu_formats_odd", cases, GSA_COUNT(cases), argc, argv);
}
