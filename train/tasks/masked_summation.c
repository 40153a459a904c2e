/* masked_summation.c - the task that checks whether an encoder finds and adds marked rows (Guo et
 * al. 2019, section 4.1). */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "graph/system_parts.h"
#include "train/data/encoding.h"
#include "train/data/lines.h"
#include "train/data/plain.h"
#include "graph/index.h"
#include "train/data/summation.h"
#include "train/driver/log.h"
#include "train/memory.h"
#include "train/score/report.h"
#include "train/task_parts.h"

typedef struct summation_task {
    const gsa_system *system;
    gsa_summation data;
    int64_t examples[GSA_SPLITS];
    int32_t *length; /* [largest split] */
    /* prediction: examples of split TEST come from lines */
    float *given; /* [rows, d] */
    int64_t given_rows;
    int64_t *first; /* [examples + 1] row */
} summation_task;

static int64_t most_examples(const summation_task *t)
{
    int64_t most = 1;
    for (int s = 0; s < GSA_SPLITS; s++) most = t->examples[s] > most ? t->examples[s] : most;
    return most;
}

static void destroy(void *self)
{
    summation_task *t = self;
    gsa_release(t->system, t->length);
    gsa_release(t->system, t->given);
    gsa_release(t->system, t->first);
    gsa_release(t->system, t);
}

/* Examples are drawn, as large as the recipe says: a batch of them, and of states, must fit. A run
 * that begins with train.memory is judged by that alone. */
static gsa_status check_batch(const summation_task *t, const gsa_task_options *o, gsa_error *error)
{
    /* numbers that training keeps of a token at least: a layer of star, the cheapest pattern, has
     * 11 for each column of its states, and 100 and more for its graph and its row */
    enum { FEW = 1 << 30, COLUMNS = 10, OTHERS = 50 };
    const gsa_recipe_values *v = &o->recipe->values;
    int64_t batch = most_examples(t);
    if (v->train_batch > 0 && v->train_batch < batch) batch = v->train_batch;
    if (v->train_batch_tokens > 0 && v->train_batch_tokens / v->task_n < batch)
        batch = v->train_batch_tokens < v->task_n ? 1 : v->train_batch_tokens / v->task_n;
    const double states = o->checkpoint ? (double)v->model_hidden
                                        : COLUMNS * (double)v->model_hidden + OTHERS,
                 bytes = 4.0 * (double)batch * (double)v->task_n * ((double)v->task_d + states);
    if (bytes < FEW || (v->train_memory > 0 && !o->checkpoint)) return GSA_OK;
    const int64_t available = gsa_memory_available(t->system);
    if (available == 0 || bytes <= (double)available) return GSA_OK;
    return gsa_recipe_fail(o->recipe, "task", "n", error,
                           "= %lld: a batch of %lld examples with their states needs %.2f GB, %.2f "
                           "GB are available: take a smaller train.batch",
                           (long long)v->task_n, (long long)batch, 1e-9 * bytes,
                           1e-9 * (double)available);
}

static gsa_status create(const gsa_task_options *options, void **self, gsa_error *error)
{
    const gsa_recipe_values *v = &options->recipe->values;
    const int64_t sizes[GSA_SPLITS] = { v->task_train, v->task_dev, v->task_test };
    summation_task *t = gsa_alloc_zero(options->system, 1, sizeof *t);
    if (!t) return gsa_out_of_memory(error, "the task", sizeof *t);
    t->system = options->system;
    t->data = (gsa_summation){ (int32_t)v->task_n, (int32_t)v->task_k, (int32_t)v->task_d,
                               (uint32_t)v->train_seed };
    for (int s = 0; s < GSA_SPLITS; s++) t->examples[s] = options->splits >> s & 1 ? sizes[s] : 0;
    const gsa_status status = check_batch(t, options, error);
    if (status != GSA_OK) {
        destroy(t);
        return status;
    }
    const int64_t most = most_examples(t);
    t->length = gsa_alloc(t->system, (size_t)most, sizeof *t->length);
    if (!t->length) {
        destroy(t);
        return gsa_out_of_memory(error, "the task", most * 4);
    }
    for (int64_t i = 0; i < most; i++) t->length[i] = t->data.n;
    *self = t;
    return GSA_OK;
}

static int64_t examples(const void *self, int split)
{
    return ((const summation_task *)self)->examples[split];
}

static const int32_t *lengths(const void *self, int split)
{
    (void)split;
    return ((const summation_task *)self)->length;
}

static int32_t outputs(const void *self)
{
    return ((const summation_task *)self)->data.d - 1;
}

static gsa_status plan(const void *self, const gsa_task_plan_options *options, gsa_task_plan *plan,
                       gsa_error *error)
{
    (void)options, (void)error;
    *plan = (gsa_task_plan){ .sequence = { "x" },
                             .pass = { { .stack = "encoder", .sequence = "x" } },
                             .n_sequences = 1,
                             .n_passes = 1,
                             .input = { { .width = ((const summation_task *)self)->data.d } },
                             .n_inputs = 1,
                             .stack = { { .name = "encoder", .reads = GSA_READ_SUMMARY } },
                             .n_stacks = 1,
                             .outputs = outputs(self),
                             .terms = outputs(self) };
    return GSA_OK;
}

static gsa_status fill(void *self, int split, const int64_t *example, int32_t count,
                       gsa_minibatch *batch, gsa_error *error)
{
    const summation_task *t = self;
    int64_t rows = 0;
    for (int32_t i = 0; i < count; i++) rows += t->length[example[i]];
    gsa_status status = gsa_minibatch_begin(batch, count, error);
    if (status == GSA_OK)
        status = gsa_minibatch_sequence_size(batch, 0, count, rows, t->data.d, error);
    if (status == GSA_OK) status = gsa_minibatch_targets(batch, count, outputs(self), error);
    if (status != GSA_OK) return status;
    float *x = batch->sequence[0].feature, *target = batch->target;
    for (int32_t i = 0; i < count; i++, target += t->data.d - 1) {
        const int64_t values = (int64_t)t->length[example[i]] * t->data.d;
        batch->sequence[0].length[i] = t->length[example[i]];
        if (t->given)
            memcpy(x, t->given + t->first[example[i]] * t->data.d, (size_t)values * sizeof *x);
        else gsa_summation_example(&t->data, (uint32_t)split, (uint64_t)example[i], x, target);
        x += values;
    }
    return GSA_OK;
}

static gsa_tensor *loss(const void *self, gsa_tape *tape, gsa_tensor *out,
                        const gsa_minibatch *batch, double scale)
{
    gsa_tensor *target =
        gsa_tape_constant(tape, batch->target, GSA_F32, batch->count, outputs(self));
    return gsa_op_square_error(tape, out, target, scale);
}

static void score(const void *self, const double *out, const gsa_minibatch *batch, gsa_score *unit)
{
    const int64_t width = outputs(self);
    for (int64_t i = 0; i < batch->count * width; i++) {
        const double off = out[i] - (double)batch->target[i];
        unit[i / width].loss += off * off;
    }
    for (int32_t u = 0; u < batch->count; u++) unit[u].targets = width, unit[u].examples = 1;
}

/* A row is a number of a sum: the right one, the one found. */
static gsa_status survey(const void *self, gsa_survey *survey, gsa_error *error)
{
    return gsa_survey_open(survey, examples(self, survey->split) * outputs(self), 2, error);
}

static void observe(const void *self, const double *out, const gsa_minibatch *batch,
                    const int64_t *example, gsa_survey *survey)
{
    const int64_t width = outputs(self);
    for (int64_t i = 0; i < batch->count * width; i++) {
        double *row = survey->value + 2 * (example[i / width] * width + i % width);
        row[0] = (double)batch->target[i], row[1] = out[i];
    }
}

static void add_errors(const gsa_survey *survey, double *off, json_t *object)
{
    const double count = (double)survey->rows;
    double sum = 0, squares = 0, sizes = 0;
    for (int64_t i = 0; i < survey->rows; i++) {
        const double error = survey->value[2 * i + 1] - survey->value[2 * i];
        off[i] = fabs(error);
        sum += error, squares += error * error, sizes += off[i];
    }
    json_t *errors = json_object();
    json_object_set_new(errors, "mse", gsa_json_number(squares / count));
    json_object_set_new(errors, "rmse", gsa_json_number(sqrt(squares / count)));
    json_object_set_new(errors, "mae", gsa_json_number(sizes / count));
    json_object_set_new(errors, "mean", gsa_json_number(sum / count));
    json_object_set_new(object, "errors", errors);
    json_object_set_new(object, "error_quantiles", gsa_report_quantiles(off, survey->rows));
}

static void add_worst(const gsa_survey *survey, double *mse, int64_t width, json_t *object)
{
    int64_t row[GSA_REPORT_WORST];
    json_t *list = json_array();
    for (int64_t i = 0; i < survey->rows; i++) {
        const double off = survey->value[2 * i + 1] - survey->value[2 * i];
        mse[i / width] = (i % width ? mse[i / width] : 0) + off * off / (double)width;
    }
    const int64_t count = gsa_report_largest(mse, survey->rows / width, -1, row, GSA_REPORT_WORST);
    for (int64_t i = 0; i < count; i++) {
        json_t *one = json_object(), *numbers[2] = { json_array(), json_array() };
        for (int64_t k = 0; k < 2 * width; k++)
            json_array_append_new(numbers[k % 2],
                                  gsa_json_number(survey->value[2 * row[i] * width + k]));
        json_object_set_new(one, "example", json_integer(row[i]));
        json_object_set_new(one, "mse", gsa_json_number(mse[row[i]]));
        json_object_set_new(one, "gold", numbers[0]);
        json_object_set_new(one, "found", numbers[1]);
        json_array_append_new(list, one);
    }
    json_object_set_new(object, "worst", list);
}

static gsa_status findings(void *self, gsa_survey *survey, json_t *object, gsa_error *error)
{
    double *room = gsa_alloc(survey->system, (size_t)survey->rows, sizeof *room);
    if (!room) return gsa_out_of_memory(error, "a report", survey->rows * 8);
    add_errors(survey, room, object);
    add_worst(survey, room, outputs(self), object);
    gsa_release(survey->system, room);
    return GSA_OK;
}

static gsa_status save(const void *self, gsa_checkpoint *checkpoint, gsa_error *error)
{
    (void)self, (void)checkpoint, (void)error; /* the settings say it all */
    return GSA_OK;
}

static int facts(const void *self, gsa_fact *facts, int room)
{
    const summation_task *t = self;
    if (room < 1) return 0;
    facts[0] =
        (gsa_fact){ "constant_mse", t->data.k / 12.0 }; /* of the best constant, k/2: k Var(U) */
    return 1;
}

/* ---- prediction: a line is n x d numbers, row by row --------------------------------------- */

static gsa_status add_line(summation_task *t, const gsa_lines *lines, char *line, int64_t bytes,
                           gsa_error *error)
{
    char *const end = line + bytes, *at = line;
    int64_t count = 0, room = (bytes / 2 + 1) + t->given_rows * t->data.d;
    float *larger = gsa_resize(t->system, t->given, (size_t)room, sizeof *larger);
    if (!larger) return gsa_out_of_memory(error, lines->path, room * (int64_t)sizeof *larger);
    t->given = larger;
    *end = 0;
    for (char *stop;; at = stop, count++) {
        at += strspn(at, " \t,");
        if (!*at) break;
        const float x = strtof(at, &stop);
        if (!gsa_plain_is(at, stop) || !strchr(" \t,", *stop) || !isfinite(x))
            return gsa_fail(error, GSA_ERR_FORMAT, "%s:%lld: no finite number in column %lld",
                            lines->path, (long long)lines->number, (long long)count + 1);
        t->given[t->given_rows * t->data.d + count] = x;
    }
    if (count == 0 || count % t->data.d != 0 || count / t->data.d > gsa_index_most)
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s:%lld: the line holds %lld numbers, expected a multiple of d = %d",
                        lines->path, (long long)lines->number, (long long)count, t->data.d);
    t->given_rows += count / t->data.d;
    return GSA_OK;
}

static gsa_status keep_line(summation_task *t, int64_t before, gsa_error *error)
{
    const int64_t n = t->examples[GSA_SPLIT_TEST];
    int32_t *length = gsa_resize(t->system, t->length, (size_t)n + 1, sizeof *length);
    if (length) t->length = length;
    int64_t *first = length ? gsa_resize(t->system, t->first, (size_t)n + 2, sizeof *first) : NULL;
    if (!first) return gsa_out_of_memory(error, "the input", n * 12);
    t->first = first;
    t->length[n] = (int32_t)(t->given_rows - before), t->first[n] = before,
    t->first[n + 1] = t->given_rows;
    t->examples[GSA_SPLIT_TEST] = n + 1;
    return GSA_OK;
}

static gsa_status parse_lines(summation_task *t, const char *path, char *bytes, int64_t count,
                              gsa_error *error)
{
    gsa_lines lines = gsa_lines_start(path, bytes, count);
    gsa_status status = GSA_OK;
    char *line;
    while (status == GSA_OK && gsa_lines_next(&lines, &line, &count)) {
        const int64_t before = t->given_rows;
        status = gsa_lines_check(&lines, line, count, error);
        if (status == GSA_OK) status = add_line(t, &lines, line, count, error);
        if (status == GSA_OK) status = keep_line(t, before, error);
    }
    return status;
}

static gsa_status read_lines(void *self, const char *path, gsa_error *error)
{
    summation_task *t = self;
    char *bytes;
    int64_t count;
    gsa_status status = gsa_read_file(t->system, path, INT64_C(1) << 36, &bytes, &count, error);
    if (status != GSA_OK) return status;
    for (int s = 0; s < GSA_SPLITS; s++) t->examples[s] = 0;
    t->given_rows = 0;
    status = parse_lines(t, gsa_input_name(path), bytes, count, error);
    gsa_release(t->system, bytes);
    return status;
}

static void print(const void *self, const double *out, const gsa_minibatch *batch,
                  gsa_output *output)
{
    const int64_t values = outputs(self);
    for (int64_t i = 0; i < batch->count * values; i++)
        gsa_output_format(output, "%.9g%s", gsa_shown(out[i]), (i + 1) % values ? "\t" : "\n");
}

const gsa_task gsa_task_masked_summation = {
    .name = "masked_summation",
    .by_row = 1,
    .metric = "mse",
    .rising = 0,
    .create = create,
    .destroy = destroy,
    .plan = plan,
    .examples = examples,
    .lengths = lengths,
    .fill = fill,
    .loss = loss,
    .score = score,
    .survey = survey,
    .observe = observe,
    .findings = findings,
    .save = save,
    .facts = facts,
    .read_lines = read_lines,
    .print = print,
};
