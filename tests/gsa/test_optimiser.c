/* Adam, AdamW and SGD against the equations written out in double. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "gsa/optimiser_parts.h"
#include "support/compare.h"
#include "support/guard.h"
#include "support/suite.h"

enum { PARAMETERS = 5, ROWS = 3, COLS = 4, COUNT = ROWS * COLS };
static const int flags[PARAMETERS] = { 0, GSA_NO_DECAY, GSA_FROZEN, GSA_UNREACHED, GSA_ZERO_ROW };

typedef struct fixture {
    gsa_backend *backend;
    gsa_parameters *parameters;
    gsa_optimiser *optimiser;
    gsa_error error;
    double w[PARAMETERS][COUNT], m[PARAMETERS][COUNT], v[PARAMETERS][COUNT], g[PARAMETERS][COUNT];
} fixture;

#define MUST(f, call) ck_assert_msg((call) == GSA_OK, "%s: %s", #call, (f)->error.text)

static void open_fixture(fixture *f, const gsa_optimiser_options *options)
{
    static const char *const names[] = { "plain", "free_of_decay", "frozen", "unreached",
                                         "padded" };
    *f = (fixture){ 0 };
    gsa_parameter *p;
    MUST(f, gsa_test_backend(gsa_system_default(), GSA_F64, 1, &f->backend, &f->error));
    MUST(f, gsa_parameters_create(gsa_system_default(), f->backend, 3, &f->parameters, &f->error));
    for (int i = 0; i < PARAMETERS; i++) {
        MUST(f, gsa_parameters_add(f->parameters, names[i], ROWS, COLS, GSA_INIT_UNIFORM, 1,
                                   flags[i], &p, &f->error));
        MUST(f, gsa_tensor_read(f->backend, &p->value, 0, f->w[i], &f->error));
    }
    MUST(f, gsa_optimiser_create(gsa_system_default(), f->parameters, options, &f->optimiser,
                                 &f->error));
}

static void close_fixture(fixture *f)
{
    gsa_optimiser_release(f->optimiser);
    gsa_parameters_release(f->parameters);
    gsa_backend_release(f->backend);
}

/* Puts a gradient where the tape would. */
static void put_gradient(fixture *f, int i)
{
    gsa_parameter *p = gsa_parameters_at(f->parameters, i);
    gsa_backend *b = f->backend;
    if (!p->value.grad) p->value.grad = b->alloc(b, COUNT * 8);
    ck_assert_ptr_nonnull(p->value.grad);
    ck_assert_int_eq(b->upload(b, p->value.grad, f->g[i], COUNT * 8), GSA_OK);
}

static void draw_gradients(fixture *f, gsa_dice *dice)
{
    for (int i = 0; i < PARAMETERS; i++) {
        for (int k = 0; k < COUNT; k++)
            f->g[i][k] = flags[i] & GSA_ZERO_ROW && k < COLS ? 0 : gsa_normal(dice);
        if (!(flags[i] & GSA_FROZEN)) put_gradient(f, i);
    }
}

static int moves(int i)
{
    return !(flags[i] & (GSA_FROZEN | GSA_UNREACHED));
}

static double true_norm(const fixture *f)
{
    double squares = 0;
    for (int i = 0; i < PARAMETERS; i++)
        for (int k = 0; k < COUNT && moves(i); k++) squares += f->g[i][k] * f->g[i][k];
    return sqrt(squares);
}

/* One step of Kingma and Ba 2015, Loshchilov and Hutter 2019, or SGD with momentum, in double. */
static void reference_step(fixture *f, const gsa_optimiser_options *o, double lr, int t)
{
    const double norm = true_norm(f), factor = o->clip > 0 && norm > o->clip ? o->clip / norm : 1;
    for (int i = 0; i < PARAMETERS; i++) {
        const double decay = flags[i] & GSA_NO_DECAY ? 0 : o->weight_decay;
        for (int k = 0; k < COUNT && moves(i); k++) {
            double g = factor * f->g[i][k], *w = &f->w[i][k], *m = &f->m[i][k], *v = &f->v[i][k];
            if (o->kind != GSA_OPTIMISER_ADAMW) g += decay * *w;
            if (o->kind == GSA_OPTIMISER_SGD) {
                *m = o->momentum * *m + g;
                *w -= lr * *m;
                continue;
            }
            if (o->kind == GSA_OPTIMISER_ADAMW) *w -= lr * decay * *w;
            *m = o->beta1 * *m + (1 - o->beta1) * g;
            *v = o->beta2 * *v + (1 - o->beta2) * g * g;
            *w -= lr * (*m / (1 - pow(o->beta1, t))) / (sqrt(*v / (1 - pow(o->beta2, t))) + o->eps);
        }
    }
}

static int values_differ(fixture *f, double tolerance)
{
    double now[COUNT];
    int differ = 0;
    for (int i = 0; i < PARAMETERS; i++) {
        const gsa_parameter *p = gsa_parameters_at(f->parameters, i);
        MUST(f, gsa_tensor_read(f->backend, &p->value, 0, now, &f->error));
        differ |= gsa_differ(p->name, now, f->w[i], COUNT, tolerance, tolerance);
    }
    return differ;
}

#define BETAS .struct_size = sizeof(gsa_optimiser_options), .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8
static const gsa_optimiser_options options[] = {
    { .kind = GSA_OPTIMISER_ADAM, BETAS },
    { .kind = GSA_OPTIMISER_ADAM, BETAS, .weight_decay = 0.1 },
    { .kind = GSA_OPTIMISER_ADAM, BETAS, .clip = 0.5 },
    { .kind = GSA_OPTIMISER_ADAM, BETAS, .clip = 1e6 },
    { .kind = GSA_OPTIMISER_ADAMW, BETAS, .weight_decay = 0.1, .clip = 1 },
    { .struct_size = sizeof(gsa_optimiser_options), .kind = GSA_OPTIMISER_SGD },
    { .struct_size = sizeof(gsa_optimiser_options),
      .kind = GSA_OPTIMISER_SGD,
      .momentum = 0.9,
      .weight_decay = 0.01,
      .clip = 2 },
};

START_TEST(follows_the_equations)
{
    fixture f;
    gsa_dice dice = { 21 };
    open_fixture(&f, &options[_i]);
    for (int t = 1; t <= 12; t++) {
        double norm;
        const double lr = 0.1 / t;
        draw_gradients(&f, &dice);
        MUST(&f, gsa_optimiser_step(f.optimiser, lr, &norm, &f.error));
        ck_assert_double_eq_tol(norm, true_norm(&f), 1e-12 * norm);
        reference_step(&f, &options[_i], lr, t);
        ck_assert_int_eq(values_differ(&f, 1e-12), 0);
    }
    ck_assert_int_eq(f.optimiser->steps, 12);
    for (int k = 0; k < COLS; k++) ck_assert_double_eq(f.w[4][k], 0); /* the zero row stays so */
    close_fixture(&f);
}
END_TEST

START_TEST(what_is_not_finite_changes_nothing_and_is_named)
{
    static const double poison[] = { NAN, INFINITY, -INFINITY };
    for (int which = 0; which < PARAMETERS; which++) {
        fixture f;
        gsa_dice dice = { 4 };
        double norm;
        if (!moves(which)) continue;
        open_fixture(&f, &options[4]);
        draw_gradients(&f, &dice);
        f.g[which][COUNT - 1] = poison[which % 3];
        put_gradient(&f, which);
        MUST(&f, gsa_optimiser_step(f.optimiser, 0.1, &norm, &f.error));
        ck_assert(!isfinite(norm));
        ck_assert_int_eq(f.optimiser->steps, 0);
        ck_assert_int_eq(values_differ(&f, 0), 0);
        ck_assert_int_eq(gsa_optimiser_blame(f.optimiser, 12, 0.5, norm, &f.error), GSA_ERR_NUMBER);
        ck_assert_ptr_nonnull(strstr(f.error.text, "step 12: the gradient of '"));
        ck_assert_ptr_nonnull(strstr(f.error.text, gsa_parameters_at(f.parameters, which)->name));
        /* and the next good step is as if nothing had been */
        draw_gradients(&f, &dice);
        MUST(&f, gsa_optimiser_step(f.optimiser, 0.1, &norm, &f.error));
        reference_step(&f, &options[4], 0.1, 1);
        ck_assert_int_eq(values_differ(&f, 1e-12), 0);
        close_fixture(&f);
    }
}
END_TEST

/* Against the equation, on its own (0) and within the optimiser's step (1); and twice swapped is as
 * before. */
START_TEST(the_mean_follows_the_weights)
{
    fixture f;
    gsa_running_mean running;
    gsa_dice dice = { 33 };
    double mean[PARAMETERS][COUNT], now[COUNT];
    open_fixture(&f, &options[0]);
    MUST(&f, gsa_running_mean_create(gsa_system_default(), f.parameters, f.backend, 0.5, &running,
                                     &f.error));
    if (_i == 1) f.optimiser->mean = &running;
    memcpy(mean, f.w, sizeof mean);
    for (int t = 1; t <= 9; t++) {
        double norm;
        const double d = t < 8 ? (1.0 + t) / (10.0 + t) : 0.5;
        draw_gradients(&f, &dice);
        MUST(&f, gsa_optimiser_step(f.optimiser, 0.1, &norm, &f.error));
        if (_i == 0) MUST(&f, gsa_running_mean_step(&running, t, &f.error));
        reference_step(&f, &options[0], 0.1, t);
        for (int i = 0; i < PARAMETERS; i++)
            for (int k = 0; k < COUNT; k++) mean[i][k] = d * mean[i][k] + (1 - d) * f.w[i][k];
    }
    ck_assert_int_eq(values_differ(&f, 1e-12), 0);
    gsa_running_mean_swap(&running);
    for (int i = 0; i < PARAMETERS; i++) {
        MUST(&f, gsa_tensor_read(f.backend, &gsa_parameters_at(f.parameters, i)->value, 0, now,
                                 &f.error));
        ck_assert_int_eq(gsa_differ("mean", now, moves(i) ? mean[i] : f.w[i], COUNT, 1e-12, 1e-12),
                         0);
    }
    gsa_running_mean_swap(&running);
    ck_assert_int_eq(values_differ(&f, 1e-12), 0);
    gsa_running_mean_release(&running);
    close_fixture(&f);
}
END_TEST

/* ---- tables of which a step reads few rows: the same bits as where all rows are gone over ---- */
enum { WORDS = 4000, WIDE = 12, READ = 9, STEPS = 30 };

typedef struct table_side {
    gsa_backend *backend;
    gsa_parameters *parameters;
    gsa_parameter *table;
    gsa_tape *tape;
    gsa_optimiser *optimiser;
    gsa_running_mean running;
    double norm;
    gsa_error error;
} table_side;

static void open_side(table_side *s, const gsa_optimiser_options *o, int told, int level,
                      double mean)
{
    const gsa_system *system = gsa_system_default();
    double *value = calloc((size_t)WORDS * WIDE, sizeof *value);
    *s = (table_side){ 0 };
    if (level < 0) MUST(s, gsa_test_backend(system, GSA_F32, 2, &s->backend, &s->error));
    else MUST(s, gsa_backend_cpu(system, level, 2, &s->backend, &s->error));
    MUST(s, gsa_parameters_create(system, s->backend, 3, &s->parameters, &s->error));
    MUST(s, gsa_parameters_add(s->parameters, "table", WORDS, WIDE, GSA_INIT_NORMAL, 1,
                               GSA_NO_DECAY | (told ? GSA_BY_ROWS : 0), &s->table, &s->error));
    MUST(s, gsa_tensor_read(s->backend, &s->table->value, 0, value, &s->error));
    for (int i = 0; i < WORDS * WIDE; i += 7) value[i] = -0.0; /* a step makes 0 of it */
    MUST(s, gsa_tensor_write(s->backend, &s->table->value, value, &s->error));
    free(value);
    MUST(s, gsa_tape_create(system, s->backend, &s->tape, &s->error));
    MUST(s, gsa_optimiser_create(system, s->parameters, o, &s->optimiser, &s->error));
    MUST(s,
         gsa_running_mean_create(system, s->parameters, s->backend, mean, &s->running, &s->error));
    if (mean > 0) s->optimiser->mean = &s->running;
}

static void close_side(table_side *s)
{
    gsa_running_mean_release(&s->running);
    gsa_optimiser_release(s->optimiser);
    gsa_tape_release(s->tape);
    gsa_parameters_release(s->parameters);
    gsa_backend_release(s->backend);
}

/* READ words are read, all of them (by a product) with `whole`; the words of a step lie close to
 * each other, or far. */
static void side_step(table_side *s, int t, int whole)
{
    int32_t ids[READ];
    double target[READ * WIDE], x[WIDE];
    gsa_tensor *rows, *y;
    gsa_tape_reset(s->tape, 1, 1, (uint32_t)t);
    for (int i = 0; i < READ; i++)
        ids[i] = i == 0 ? -1 : i == 1 ? 0 : (t % 3 * 1700 + i * i * (t % 2 ? 1 : 29)) % WORDS;
    for (int i = 0; i < READ * WIDE; i++) target[i] = i % 5 - 2;
    for (int i = 0; i < WIDE; i++) x[i] = 0.1 * i;
    const int32_t *id = gsa_tape_upload(s->tape, ids, sizeof ids);
    MUST(s, gsa_parameters_zero_gradients(s->parameters, &s->error));
    rows = gsa_op_gather(s->tape, NULL, &s->table->value, id, READ, 0.5, 1);
    y = gsa_op_square_error(s->tape, rows, gsa_tape_constant(s->tape, target, GSA_F64, READ, WIDE),
                            0.2);
    if (whole) {
        gsa_tensor *z = gsa_op_linear(s->tape, gsa_tape_constant(s->tape, x, GSA_F64, 1, WIDE),
                                      gsa_op_view(s->tape, &s->table->value, 1, WORDS - 1), NULL);
        y = gsa_op_add(
            s->tape, y,
            gsa_op_square_error(s->tape, z, gsa_tape_zeros(s->tape, 1, WORDS - 1), 1e-3));
    }
    MUST(s, gsa_tape_backward(s->tape, y, &s->error));
    MUST(s, gsa_optimiser_step(s->optimiser, 0.05, &s->norm, &s->error));
}

static void same_bits(table_side *a, table_side *b, const void *x, const void *y, const char *what,
                      int t)
{
    static float p[2][WORDS * WIDE];
    if (!x || !y) return;
    ck_assert_int_eq(a->backend->download(a->backend, p[0], x, sizeof *p), GSA_OK);
    ck_assert_int_eq(b->backend->download(b->backend, p[1], y, sizeof *p), GSA_OK);
    int i = 0;
    while (i < WORDS * WIDE && memcmp(&p[0][i], &p[1][i], sizeof(float)) == 0) i++;
    if (i < WORDS * WIDE)
        ck_abort_msg("step %d: %s %d of row %d is %.9g by rows, else %.9g", t, what, i % WIDE,
                     i / WIDE, (double)p[1][i], (double)p[0][i]);
}

static const struct {
    int options, level, whole_at, again_at; /* steps; again: moments are as loaded */
    double mean;
} by_rows[] = {
    { 0, -1, -1, -1, 0 }, { 0, -1, -1, 11, 0.9 }, { 2, -1, 7, -1, 0 },
    { 4, -1, -1, 5, 0 },  { 6, -1, -1, 12, 0.5 }, { 5, -1, -1, -1, 0 },
    { 1, -1, -1, -1, 0 }, { 0, 0, -1, 11, 0.9 },  { 2, 0, 20, 25, 0 },
};

START_TEST(rows_that_nothing_touched_stay_to_the_bit)
{
    table_side a, b;
    const int level = by_rows[_i].level < 0 ? -1 : GSA_CPU_BEST;
    gsa_optimiser_options o = options[by_rows[_i].options];
    open_side(&a, &o, 0, level, by_rows[_i].mean);
    open_side(&b, &o, 1, level, by_rows[_i].mean);
    ck_assert_int_eq(b.table->value.marks != NULL, b.backend->shares_host_memory);
    for (int t = 0; t < STEPS && b.table->value.marks;
         t++) { /* a backend of its own memory is told nothing */
        if (t == by_rows[_i].again_at) b.optimiser->rows_known = 0;
        side_step(&a, t, t == by_rows[_i].whole_at);
        side_step(&b, t, t == by_rows[_i].whole_at);
        ck_assert_msg(memcmp(&a.norm, &b.norm, sizeof a.norm) == 0,
                      "step %d: norms %.17g and %.17g", t, a.norm, b.norm);
        same_bits(&a, &b, a.table->value.grad, b.table->value.grad, "gradient", t);
        same_bits(&a, &b, a.table->value.data, b.table->value.data, "weight", t);
        same_bits(&a, &b, a.optimiser->first[0], b.optimiser->first[0], "first moment", t);
        same_bits(&a, &b, a.optimiser->second[0], b.optimiser->second[0], "second moment", t);
        if (by_rows[_i].mean > 0)
            same_bits(&a, &b, a.running.mean[0], b.running.mean[0], "mean", t);
    }
    int moving = 0;
    for (int r = 0; b.table->value.marks && r < WORDS; r++) moving += b.optimiser->moving[0][r];
    if (by_rows[_i].whole_at < 0) ck_assert_int_lt(moving, WORDS / 4);
    close_side(&a), close_side(&b);
}
END_TEST

/* ---- what is refused, in one sentence ------------------------------------------------------ */
static const struct {
    const char *says;
    gsa_optimiser_options options;
} refused[] = {
    { "struct_size = 0, expected at least 56", { 0 } },
    { "7 is no kind of optimiser, expected 0 (Adam)", { sizeof options[0], 7, .eps = 1 } },
    { "beta1 = 1, expected 0 <= beta1 < 1", { sizeof options[0], 0, .beta1 = 1 } },
    { "beta2 = -0.5, expected 0 <= beta2 < 1", { sizeof options[0], 0, .beta2 = -0.5 } },
    { "eps = nan, expected 0 <= eps < inf", { sizeof options[0], 0, .eps = NAN } },
    { "eps = 0, expected at least 1e-30", { sizeof options[0], 0, .eps = 0 } },
    { "momentum = 1.5,", { sizeof options[0], GSA_OPTIMISER_SGD, .momentum = 1.5 } },
    { "weight_decay = inf,", { sizeof options[0], 0, .weight_decay = INFINITY } },
    { "clip = -1, expected 0 <= clip < inf", { sizeof options[0], 0, .clip = -1 } },
};

START_TEST(bad_options_are_one_sentence)
{
    fixture f;
    gsa_optimiser *none = (gsa_optimiser *)&f;
    open_fixture(&f, &options[0]);
    ck_assert_int_eq(
        gsa_optimiser_create(NULL, f.parameters, &refused[_i].options, &none, &f.error),
        GSA_ERR_ARGUMENT);
    ck_assert_ptr_null(none);
    ck_assert_msg(strstr(f.error.text, refused[_i].says), "%s", f.error.text);
    ck_assert_int_eq(gsa_optimiser_create(NULL, NULL, &options[0], &none, &f.error),
                     GSA_ERR_ARGUMENT);
    ck_assert_int_eq(gsa_optimiser_create(NULL, f.parameters, NULL, &none, NULL), GSA_ERR_ARGUMENT);
    close_fixture(&f);
}
END_TEST

/* A state is found again by its parts; what is not there is NULL. */
START_TEST(moments_are_found_by_index)
{
    fixture f;
    open_fixture(&f, &options[_i]);
    const int kept = options[_i].kind != GSA_OPTIMISER_SGD ? 2 : options[_i].momentum > 0;
    for (int i = -1; i <= PARAMETERS; i++)
        for (int m = -1; m <= 2; m++)
            ck_assert_int_eq(gsa_optimiser_moment(f.optimiser, i, m) != NULL,
                             i >= 0 && i < PARAMETERS && m >= 0 && m < kept && moves(i));
    MUST(&f, gsa_optimiser_resume(f.optimiser, 5, &f.error));
    MUST(&f,
         gsa_optimiser_step(f.optimiser, 0.1, NULL, &f.error)); /* a norm that nobody requests */
    ck_assert_int_eq(gsa_optimiser_steps(f.optimiser), 6);
    close_fixture(&f);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test rows[] = { GSA_LOOP(rows_that_nothing_touched_stay_to_the_bit,
                                              GSA_COUNT(by_rows)) };
    static const gsa_test steps[] = { GSA_LOOP(follows_the_equations, GSA_COUNT(options)) };
    static const gsa_test numbers[] = { GSA_TEST(what_is_not_finite_changes_nothing_and_is_named) };
    static const gsa_test mean[] = { GSA_LOOP(the_mean_follows_the_weights, 2) };
    static const gsa_test refusals[] = { GSA_LOOP(bad_options_are_one_sentence, GSA_COUNT(refused)),
                                         GSA_LOOP(moments_are_found_by_index, GSA_COUNT(options)) };
    static const gsa_case cases[] = { GSA_CASE("steps", steps, 30),
                                      GSA_CASE("numbers", numbers, 30), GSA_CASE("mean", mean, 30),
                                      GSA_CASE("rows", rows, 30),
                                      GSA_CASE("refused", refusals, 30) };
    return gsa_run_suite("optimiser", cases, GSA_COUNT(cases), argc, argv);
}
