/* Watched attention weights: the softmax that plain loops compute, sums of one, nothing where
 * nothing runs, nothing changed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"
#include "gsa/stack.h"
#include "support/faults.h"

enum { HIDDEN = 6, HEADS = 3, HEAD_DIM = 4, COUNT = 4, TOKENS = 11, MOST = 64 };
static const int32_t lengths[COUNT] = { 5, 0, 1, 5 };

typedef struct world {
    bench b;
    gsa_registry *registry;
    gsa_stack *stack;
    gsa_stack_batch *batch;
    double rows[TOKENS * HIDDEN];
    gsa_readout out;
} world;

static world world_with(const gsa_system *system, const char *text, int real, uint32_t reads,
                        const int *tap)
{
    world w = { .b = bench_open(system, real) };
    gsa_stack_spec spec;
    gsa_dice dice = { 3 };
    gsa_settings settings = gsa_settings_default();
    settings.hidden = HIDDEN, settings.heads = HEADS, settings.head_dim = HEAD_DIM,
    settings.ffn = 8;
    settings.bias = GSA_BIAS_Q | GSA_BIAS_V | GSA_BIAS_O, settings.dropout_attention = 0.5;
    const gsa_stack_options options = {
        .name = "encoder", .reads = reads, .taps = tap, .n_taps = tap != NULL
    };
    MUST(&w.b, gsa_registry_create(system, &w.registry, &w.b.error));
    MUST(&w.b, gsa_spec_parse(system, text, &spec, &w.b.error));
    MUST(&w.b, gsa_stack_create(system, w.registry, &spec, &settings, &options, w.b.parameters,
                                &w.stack, &w.b.error));
    gsa_spec_release(&spec);
    MUST(&w.b, gsa_stack_batch_create(w.stack, &w.batch, &w.b.error));
    for (int i = 0; i < TOKENS * HIDDEN; i++) w.rows[i] = gsa_normal(&dice);
    return w;
}

static void world_close(world *w)
{
    gsa_stack_batch_release(w->batch);
    gsa_stack_release(w->stack);
    gsa_registry_release(w->registry);
    bench_close(&w->b);
}

static void run(world *w, int training)
{
    const gsa_sequences sequences = { .count = COUNT, .length = lengths };
    MUST(&w->b, gsa_stack_batch_build(w->batch, NULL, NULL, &sequences, &w->b.error));
    gsa_tape_reset(w->b.tape, training, 1, 1);
    gsa_stack_forward(w->stack, w->b.tape, w->batch,
                      gsa_tape_constant(w->b.tape, w->rows, GSA_F64, TOKENS, HIDDEN), NULL,
                      &w->out);
    MUST(&w->b, gsa_tape_status(w->b.tape, &w->b.error));
}

static double *read_tensor(const world *w, const gsa_tensor *x)
{
    gsa_error error;
    double *values = malloc((size_t)(x->rows * x->cols + 1) * sizeof *values);
    ck_assert_int_eq(gsa_tensor_read(w->b.backend, x, 0, values, &error), GSA_OK);
    return values;
}

static gsa_instance *instance_of(const world *w, int layer, int pattern, int32_t length)
{
    gsa_error error = { GSA_OK, "" };
    gsa_instance *instance;
    const gsa_example example = { .struct_size = sizeof example, .length = length, .heads = HEADS };
    ck_assert_msg(gsa_pattern_instance(gsa_stack_pattern(w->stack, layer, pattern), NULL, &example,
                                       NULL, 0, &instance, &error) == GSA_OK,
                  "%s", error.text);
    return instance;
}

/* ---- the softmax, with plain loops --------------------------------------------------------- */

/* Values of "encoder.0.L.PHASE.NAME" (to be freed); NULL: the model has no such parameter. */
static double *parameter(const world *w, int layer, const char *phase, const char *name)
{
    char full[96];
    snprintf(full, sizeof full, "encoder.0.%d.%s.%s", layer, phase, name);
    const gsa_parameter *p = gsa_parameters_find(w->b.parameters, full);
    return p ? read_tensor(w, &p->value) : NULL;
}

/* y [rows, HEADS HEAD_DIM] = x W^T + b */
static void project(const double *x, int64_t rows, const double *weight, const double *bias,
                    double *y)
{
    for (int64_t r = 0; r < rows; r++)
        for (int o = 0; o < HEADS * HEAD_DIM; o++) {
            double sum = bias ? bias[o] : 0;
            for (int c = 0; c < HIDDEN; c++) sum += x[r * HIDDEN + c] * weight[o * HIDDEN + c];
            y[r * HEADS * HEAD_DIM + o] = sum;
        }
}

/* p of every edge of one example's phase; `state` by kind, [nodes, HIDDEN]. One destination
 * kind. */
static void softmax(const world *w, int layer, const gsa_schema *schema,
                    const gsa_instance *instance, int phase, double *const *state, double *out)
{
    const gsa_phase *x = gsa_schema_phase(schema, phase);
    const int heads = x->per_head ? 1 : HEADS, width = heads * HEAD_DIM;
    double *wq = parameter(w, layer, x->name, "q.weight"),
           *bq = parameter(w, layer, x->name, "q.bias");
    double *wk = parameter(w, layer, x->name, "k.weight"),
           *r = parameter(w, layer, x->name, "labels.vectors");
    static double q[MOST * HEADS * HEAD_DIM], k[GSA_MAX_KINDS][MOST * HEADS * HEAD_DIM];
    gsa_edges e;
    gsa_instance_edges(instance, phase, &e);
    for (int kind = 0; kind < gsa_schema_kinds(schema); kind++) {
        if (x->destinations >> kind & 1)
            project(state[kind], gsa_instance_nodes(instance, kind), wq, bq, q);
        if (x->sources >> kind & 1)
            project(state[kind], gsa_instance_nodes(instance, kind), wk, NULL, k[kind]);
    }
    for (int64_t row = 0; row < e.rows; row++)
        for (int h = 0; h < heads; h++) {
            double score[MOST], sum = 0;
            int64_t n = 0, first = e.edge_offset[row];
            for (int64_t i = e.run_offset[row]; i < e.run_offset[row + 1]; i++)
                for (int j = 0; j < e.runs[i].count; j++, n++) {
                    const gsa_run *run = &e.runs[i];
                    const double *key =
                        &k[run->kind][(int64_t)(run->first + j * run->step) * width + h * HEAD_DIM];
                    score[n] = 0;
                    for (int c = 0; c < HEAD_DIM; c++)
                        score[n] +=
                            q[row * width + h * HEAD_DIM + c] *
                            (key[c] +
                             (r ? r[(run->label + j * run->label_step) * HEAD_DIM + c] : 0));
                    sum += score[n] = exp(score[n] / sqrt(HEAD_DIM));
                }
            for (int64_t i = 0; i < n; i++) out[(first + i) * heads + h] = score[i] / sum;
        }
    free(wq), free(bq), free(wk), free(r);
}

static const struct {
    const char *spec, *phase;
    int layer;
} watched[] = {
    { "full", "attend", 0 },
    { "full:clip=2*2", "attend", 0 },
    { "full:clip=2*2", "attend", 1 }, /* reads what a tap shows of layer 0 */
    { "window:width=3*2", "attend", 1 },
    { "star*2", "down", 0 }, /* embedding, token: the input; relay: its mean */
    { "head_area:width=3:heads=3", "attend", 0 },
};

static int phase_of(const gsa_schema *schema, const char *name)
{
    for (int f = 0; f < gsa_schema_phases(schema); f++)
        if (strcmp(gsa_schema_phase(schema, f)->name, name) == 0) return f;
    ck_abort_msg("no phase %s", name);
}

START_TEST(weights_are_the_softmax_of_the_scores)
{
    static const int first_layer[] = { 0 };
    const int layer = watched[_i].layer;
    world w = world_with(NULL, watched[_i].spec, GSA_F64, GSA_READ_SEQUENCE | GSA_READ_SUMMARY,
                         layer ? first_layer : NULL);
    const gsa_schema *schema = gsa_pattern_schema(gsa_stack_pattern(w.stack, layer, 0));
    gsa_watched one = { .layer = layer, .phase = phase_of(schema, watched[_i].phase) };
    MUST(&w.b, gsa_stack_watch(w.batch, &one, 1, &w.b.error));
    run(&w, 0);
    ck_assert_ptr_nonnull(one.weights);
    double *got = read_tensor(&w, one.weights),
           *tapped = layer ? read_tensor(&w, w.out.taps[0]) : NULL;
    const double *input = layer ? tapped : w.rows;
    int64_t at = 0, token = 0;
    for (int e = 0; e < COUNT; token += lengths[e++]) {
        double wanted[MOST * MOST], mean[HIDDEN] = { 0 }, *state[GSA_MAX_KINDS];
        gsa_instance *instance = instance_of(&w, layer, 0, lengths[e]);
        gsa_edges edges;
        gsa_instance_edges(instance, one.phase, &edges);
        for (int i = 0; i < lengths[e] * HIDDEN; i++)
            mean[i % HIDDEN] += input[token * HIDDEN + i] / lengths[e];
        for (int k = 0; k < gsa_schema_kinds(schema); k++)
            state[k] = gsa_schema_kind(schema, k)->start == GSA_MEAN_INPUT
                           ? mean
                           : (double *)(uintptr_t)input + token * HIDDEN;
        softmax(&w, layer, schema, instance, one.phase, state, wanted);
        const int64_t count = edges.edge_total * one.weights->cols;
        ck_assert_int_eq(gsa_differ(watched[_i].spec, got + at, wanted, count, 1e-13, 1e-12), 0);
        at += count;
        gsa_instance_release(instance);
    }
    ck_assert_int_eq(at, one.weights->rows * one.weights->cols);
    ck_assert_int_gt(at, 0);
    free(got), free(tapped);
    world_close(&w);
}
END_TEST

/* ---- every phase of a stack ---------------------------------------------------------------- */

static const char *const specs[] = { "star*2", "full:clip=2,window:width=3+ring*2", "bpt:k=1*2",
                                     "head_area:width=3:heads=3,full", "longformer:width=3,star" };

/* All that can be watched; their number. */
static int watch_all(const world *w, gsa_watched *list)
{
    int n = 0;
    for (int l = 0; l < gsa_stack_layers(w->stack); l++)
        for (int p = 0; p < gsa_stack_patterns(w->stack, l); p++) {
            const gsa_schema *schema = gsa_pattern_schema(gsa_stack_pattern(w->stack, l, p));
            for (int f = 0; f < gsa_schema_phases(schema); f++)
                if (gsa_schema_phase(schema, f)->when == GSA_EACH_LAYER &&
                    gsa_schema_phase(schema, f)->aggregate == GSA_ATTEND)
                    list[n++] = (gsa_watched){ .layer = l, .pattern = p, .phase = f };
        }
    return n;
}

/* Rows of one example that lie in destination kind number `block`: each sums to 1 in each head.
 * Returns how many have edges. */
static int64_t check_block(const world *w, const gsa_watched *one, int32_t length, int block,
                           const double **p, double tolerance)
{
    gsa_instance *instance = instance_of(w, one->layer, one->pattern, length);
    int64_t rows = 0;
    gsa_edges edges;
    gsa_instance_edges(instance, one->phase, &edges);
    const gsa_rows range = edges.blocks[block];
    for (int64_t row = range.first; row < range.first + range.count; row++) {
        const int64_t degree = edges.edge_offset[row + 1] - edges.edge_offset[row],
                      heads = one->weights->cols;
        for (int64_t h = 0; degree > 0 && h < heads; h++) {
            double sum = 0;
            for (int64_t i = 0; i < degree; i++) sum += (*p)[i * heads + h];
            ck_assert_msg(fabs(sum - 1) <= tolerance, "layer %d phase %d row %ld head %ld: %.17g",
                          one->layer, one->phase, (long)row, (long)h, sum);
        }
        *p += degree * heads, rows += degree > 0;
    }
    gsa_instance_release(instance);
    return rows;
}

/* A batch's rows are kind by kind, in each example by example. */
static int64_t check_sums(const world *w, const gsa_watched *one, double tolerance)
{
    const gsa_schema *schema =
        gsa_pattern_schema(gsa_stack_pattern(w->stack, one->layer, one->pattern));
    const gsa_phase *phase = gsa_schema_phase(schema, one->phase);
    double *values = read_tensor(w, one->weights);
    const double *p = values;
    int64_t rows = 0;
    ck_assert_int_eq(one->weights->cols, phase->per_head ? 1 : HEADS);
    for (int k = 0, block = 0; k < gsa_schema_kinds(schema); k++) {
        if (!(phase->destinations >> k & 1)) continue;
        for (int e = 0; e < COUNT; e++)
            rows += check_block(w, one, lengths[e], block, &p, tolerance);
        block++;
    }
    ck_assert_int_eq(p - values, one->weights->rows * one->weights->cols);
    free(values);
    return rows;
}

START_TEST(rows_sum_to_one_in_each_head)
{
    for (int training = 0; training < 2; training++)
        for (int real = GSA_F32; real <= GSA_F64; real++) {
            world w = world_with(NULL, specs[_i], real, GSA_READ_SEQUENCE | GSA_READ_SUMMARY, NULL);
            gsa_watched list[MOST];
            const int n = watch_all(&w, list);
            int64_t rows = 0;
            MUST(&w.b, gsa_stack_watch(w.batch, list, n, &w.b.error));
            run(&w, training); /* with dropout: p before it */
            for (int i = 0; i < n; i++) {
                ck_assert_ptr_nonnull(list[i].weights);
                ck_assert(gsa_stack_runs(w.stack, list[i].layer, list[i].pattern, list[i].phase));
                rows += check_sums(&w, &list[i], real == GSA_F32 ? 1e-6 : 1e-14);
            }
            ck_assert_int_gt(rows, 0);
            world_close(&w);
        }
}
END_TEST

START_TEST(a_skipped_phase_has_none)
{
    world w = world_with(NULL, "star*2", GSA_F64, GSA_READ_SEQUENCE,
                         NULL); /* the last relay is read by nobody */
    gsa_watched list[MOST];
    const int n = watch_all(&w, list);
    ck_assert_int_eq(n, 4);
    MUST(&w.b, gsa_stack_watch(w.batch, list, n, &w.b.error));
    for (int times = 0; times < 2; times++) {
        run(&w, 0);
        for (int i = 0; i < n; i++) {
            ck_assert_int_eq(list[i].weights == NULL, i == 3);
            ck_assert_int_eq(gsa_stack_runs(w.stack, list[i].layer, list[i].pattern, list[i].phase),
                             i != 3);
        }
    }
    world_close(&w);
}
END_TEST

START_TEST(watching_changes_nothing)
{
    double values[2][TOKENS * HIDDEN];
    for (int watch = 0; watch < 2; watch++) {
        world w = world_with(NULL, specs[_i], GSA_F32, GSA_READ_SEQUENCE, NULL);
        gsa_watched list[MOST];
        if (watch) MUST(&w.b, gsa_stack_watch(w.batch, list, watch_all(&w, list), &w.b.error));
        run(&w, 1);
        MUST(&w.b, gsa_tensor_read(w.b.backend, w.out.sequence, 0, values[watch], &w.b.error));
        if (watch) { /* and ends */
            MUST(&w.b, gsa_stack_watch(w.batch, NULL, 0, &w.b.error));
            list[0].weights = NULL;
            run(&w, 1);
            ck_assert_ptr_null(list[0].weights);
        }
        world_close(&w);
    }
    ck_assert_int_eq(memcmp(values[0], values[1], sizeof values[0]), 0);
}
END_TEST

/* ---- what cannot be watched ---------------------------------------------------------------- */

static const struct {
    gsa_watched one;
    const char *sentence;
} refusals[] = {
    { { -1, 0, 0, 0, NULL }, "layer -1 cannot be watched, its layers are 0 to 2" },
    { { 3, 0, 0, 0, NULL }, "layer 3 cannot be watched" },
    { { 0, 1, 0, 0, NULL }, "layer 0 has patterns 0 to 0, but 1 is to be watched" },
    { { 1, -1, 0, 0, NULL }, "layer 1 has patterns 0 to 1" },
    { { 2, 1, 9, 0, NULL }, "ring has phases 0 to" },
    { { 0, 0, 1, 0, NULL }, "phase ffn of full cannot be watched" },
};

START_TEST(what_cannot_be_watched_is_said)
{
    world w = world_with(NULL, "full,window:width=3+ring*2", GSA_F64, GSA_READ_SEQUENCE, NULL);
    gsa_watched good = { .layer = 2, .pattern = 1 }, list[2] = { good, refusals[_i].one };
    MUST(&w.b, gsa_stack_watch(w.batch, &good, 1, &w.b.error));
    ck_assert_ptr_null(good.weights);
    ck_assert_int_eq(gsa_stack_watch(w.batch, list, 2, &w.b.error), GSA_ERR_ARGUMENT);
    ck_assert_msg(strstr(w.b.error.text, refusals[_i].sentence) != NULL, "'%s'", w.b.error.text);
    run(&w, 0); /* the list that was there goes on */
    ck_assert_ptr_nonnull(good.weights);
    gsa_tape_reset(w.b.tape, 0, 1, 1);
    gsa_stack_forward(w.stack, w.b.tape, w.batch, gsa_tape_zeros(w.b.tape, 1, HIDDEN), NULL,
                      &w.out); /* too few rows */
    ck_assert_int_eq(gsa_tape_status(w.b.tape, NULL), GSA_ERR_ARGUMENT);
    ck_assert_ptr_null(good.weights);
    world_close(&w);
}
END_TEST

START_TEST(a_watched_step_allocates_nothing_after_warm_up)
{
    gsa_faults faults;
    gsa_faults_start(&faults);
    world w = world_with(&faults.table, "full*2", GSA_F32, GSA_READ_SEQUENCE, NULL);
    gsa_watched list[MOST];
    MUST(&w.b, gsa_stack_watch(w.batch, list, watch_all(&w, list), &w.b.error));
    for (int step = 0; step < 5; step++) {
        if (step == 3) gsa_faults_rewind(&faults);
        gsa_tape_reset(w.b.tape, 0, 1, 1);
        if (step == 0) run(&w, 0);
        gsa_stack_forward(w.stack, w.b.tape, w.batch,
                          gsa_tape_constant(w.b.tape, w.rows, GSA_F64, TOKENS, HIDDEN), NULL,
                          &w.out);
        MUST(&w.b, gsa_tape_status(w.b.tape, &w.b.error));
    }
    ck_assert_int_eq(faults.calls[GSA_OP_ALLOC], 0);
    world_close(&w);
    ck_assert_int_eq(gsa_faults_live(&faults), 0);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test softmaxes[] = { GSA_LOOP(weights_are_the_softmax_of_the_scores,
                                                   GSA_COUNT(watched)) };
    static const gsa_test phases[] = { GSA_LOOP(rows_sum_to_one_in_each_head, GSA_COUNT(specs)),
                                       GSA_TEST(a_skipped_phase_has_none),
                                       GSA_LOOP(watching_changes_nothing, GSA_COUNT(specs)),
                                       GSA_TEST(a_watched_step_allocates_nothing_after_warm_up) };
    static const gsa_test refused[] = { GSA_LOOP(what_cannot_be_watched_is_said,
                                                 GSA_COUNT(refusals)) };
    static const gsa_case cases[] = { GSA_CASE("softmax", softmaxes, 30),
                                      GSA_CASE("phases", phases, 60),
                                      GSA_CASE("refused", refused, 30) };
    return gsa_run_suite("watch", cases, GSA_COUNT(cases), argc, argv);
}
