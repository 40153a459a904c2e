/* trend.c - a task: the slope of a series. A line of data is SLOPE<TAB>x x x ..., of prediction
 * x x x ... */
#include <gsa/task.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct trend {
    const gsa_system *system;
    float *x[GSA_SPLITS], *slope[GSA_SPLITS];         /* numbers of all series; [examples] */
    int64_t *first[GSA_SPLITS], examples[GSA_SPLITS]; /* first[e]: where series e begins */
    int32_t *length[GSA_SPLITS];
    double scale; /* of the numbers, which the recipe gives */
} trend;

static const gsa_param trend_options[] = {
    { "scale", GSA_REAL, 0, 1e-6, 1e6, NULL, "1", "the numbers of a series are multiplied by it" },
};

static void forget(trend *t, int s)
{
    free(t->x[s]), free(t->slope[s]), free(t->first[s]), free(t->length[s]);
    t->x[s] = t->slope[s] = NULL, t->first[s] = NULL, t->length[s] = NULL, t->examples[s] = 0;
}

static void destroy(void *self)
{
    for (int s = 0; s < GSA_SPLITS; s++) forget((trend *)self, s);
    free(self);
}

static gsa_status add(trend *t, int s, const char *path, char *line, int labelled, int64_t *used,
                      gsa_error *error)
{
    const int64_t e = t->examples[s], from = *used;
    char *end = line;
    t->slope[s][e] = labelled ? strtof(line, &end) : 0;
    if (labelled && (end == line || *end++ != '\t' || !isfinite(t->slope[s][e])))
        return gsa_fail(error, GSA_ERR_FORMAT, "%s:%lld: no finite slope before a tab", path,
                        (long long)e + 1);
    for (char *at = end;; at = end) {
        const float x = strtof(at, &end);
        if (end == at) break;
        if (!isfinite(x)) {
            end = at;
            break;
        }
        t->x[s][(*used)++] = x * (float)t->scale;
    }
    if (*end || *used == from)
        return gsa_fail(error, GSA_ERR_FORMAT, "%s:%lld: no number in '%.20s'", path,
                        (long long)e + 1, end);
    t->first[s][e] = from, t->length[s][e] = (int32_t)(*used - from), t->examples[s]++;
    return GSA_OK;
}

static gsa_status read_split(trend *t, int s, const char *path, int labelled, gsa_error *error)
{
    char *text;
    int64_t bytes, lines = 1, used = 0;
    gsa_status status = gsa_read_file(t->system, path, 1 << 30, &text, &bytes, error);
    if (status) return status;
    for (int64_t i = 0; i < bytes; i++) lines += text[i] == '\n';
    forget(t, s);
    t->x[s] = (float *)malloc((size_t)(bytes + 1) * sizeof(float));
    t->slope[s] = (float *)malloc((size_t)lines * sizeof(float));
    t->first[s] = (int64_t *)malloc((size_t)lines * sizeof(int64_t));
    t->length[s] = (int32_t *)malloc((size_t)lines * sizeof(int32_t));
    if (!t->x[s] || !t->slope[s] || !t->first[s] || !t->length[s])
        status = gsa_out_of_memory(error, path, bytes);
    for (char *at = text, *next; *at && !status; at = next) {
        next = at + strcspn(at, "\n");
        if (*next) *next++ = 0;
        status = add(t, s, path, at, labelled, &used, error);
    }
    gsa_release(t->system, text);
    return status;
}

static gsa_status create(const gsa_task_options *options, void **self, gsa_error *error)
{
    static const char *const key[] = { "data.train", "data.dev", "data.test" };
    trend *t = (trend *)calloc(1, sizeof *t);
    gsa_status status = t ? GSA_OK : gsa_out_of_memory(error, "the task", sizeof *t);
    for (int s = 0; s < GSA_SPLITS && !status; s++) {
        char number[64];
        const char *path = gsa_task_value(options->recipe, key[s], number);
        t->system = options->system, t->scale = options->value[0].x;
        if (options->splits >> s & 1 && *path) status = read_split(t, s, path, 1, error);
    }
    if (status && t) destroy(t);
    else *self = t;
    return status;
}

static gsa_status plan(const void *self, const gsa_task_plan_options *options, gsa_task_plan *plan,
                       gsa_error *error)
{
    (void)self, (void)options, (void)error;
    memset(plan, 0, sizeof *plan);
    plan->n_sequences = plan->n_inputs = plan->n_stacks = plan->n_passes = 1;
    plan->sequence[0] = plan->pass[0].sequence = "series";
    plan->stack[0].name = plan->pass[0].stack = "encoder";
    plan->stack[0].reads = GSA_READ_SUMMARY; /* a row an example */
    plan->input[0].width = 1;                /* numbers of a token */
    plan->outputs = plan->terms = 1;         /* a target is one number */
    return GSA_OK;
}

static int64_t examples(const void *self, int split)
{
    return ((const trend *)self)->examples[split];
}

static const int32_t *lengths(const void *self, int split)
{
    return ((const trend *)self)->length[split];
}

static gsa_status fill(void *self, int s, const int64_t *example, int32_t count,
                       gsa_minibatch *batch, gsa_error *error)
{
    const trend *t = (const trend *)self;
    gsa_minibatch_sequence *series = &batch->sequence[0];
    int64_t tokens = 0;
    for (int32_t i = 0; i < count; i++) tokens += t->length[s][example[i]];
    gsa_status status = gsa_minibatch_begin(batch, count, error);
    if (!status) status = gsa_minibatch_sequence_size(batch, 0, count, tokens, 1, error);
    if (!status) status = gsa_minibatch_targets(batch, count, 1, error);
    float *x = status ? NULL : series->feature;
    for (int32_t i = 0; i < count && !status; i++) {
        const int32_t length = series->length[i] = t->length[s][example[i]];
        memcpy(x, t->x[s] + t->first[s][example[i]], (size_t)length * sizeof *x);
        x += length, batch->target[i] = t->slope[s][example[i]];
    }
    return status;
}

static gsa_tensor *loss(const void *self, gsa_tape *tape, gsa_tensor *out,
                        const gsa_minibatch *batch, double scale)
{
    (void)self;
    return gsa_op_square_error(
        tape, out, gsa_tape_constant(tape, batch->target, GSA_F32, batch->targets, 1), scale);
}

static void score(const void *self, const double *out, const gsa_minibatch *batch, gsa_score *unit)
{
    (void)self;
    for (int64_t i = 0; i < batch->targets; i++) {
        unit[i].loss = (out[i] - (double)batch->target[i]) * (out[i] - (double)batch->target[i]);
        unit[i].targets = unit[i].examples = 1;
    }
}

static gsa_status save(const void *self, gsa_checkpoint *checkpoint, gsa_error *error)
{
    (void)self, (void)checkpoint, (void)error; /* nothing is learned from the data but weights */
    return GSA_OK;
}

static gsa_status read_lines(void *self, const char *path, gsa_error *error)
{
    return read_split((trend *)self, GSA_SPLIT_TEST, path, 0, error);
}

static void print(const void *self, const double *out, const gsa_minibatch *batch,
                  gsa_output *output)
{
    (void)self;
    for (int64_t i = 0; i < batch->targets; i++) gsa_output_format(output, "%.4f\n", out[i]);
}

const gsa_task GSA_TASK_PLUGIN = { GSA_TASK_HEAD,
                                   .name = "trend",
                                   .metric = "mse",
                                   .create = create,
                                   .destroy = destroy,
                                   .plan = plan,
                                   .examples = examples,
                                   .lengths = lengths,
                                   .fill = fill,
                                   .loss = loss,
                                   .score = score,
                                   .save = save,
                                   .read_lines = read_lines,
                                   .print = print,
                                   .keys = " data.train data.dev data.test ",
                                   GSA_TASK_OPTIONS(trend_options) };
