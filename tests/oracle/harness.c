#include "harness.h"
#include "gsa/stack_parts.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double *doubles(int64_t count)
{
    double *at = calloc(count > 0 ? (size_t)count : 1, sizeof *at);
    if (!at) fprintf(stderr, "oracle: no memory\n"), abort();
    return at;
}

/* ---- making */
static gsa_status make_registry(oracle_harness *h)
{
    gsa_status status = gsa_registry_create(NULL, &h->registry, &h->error);
    if (status == GSA_OK)
        status = gsa_registry_offer(h->registry, ORACLE_SERVICE, h->model, &h->error);
    for (int p = 0; p < h->model->patterns && status == GSA_OK; p++)
        status = gsa_registry_add(h->registry, &h->model->topology[p], &h->error);
    return status;
}

static gsa_status make_stack(oracle_harness *h, int s)
{
    const oracle_stack *stack = &h->model->stack[s];
    const gsa_stack_options options = { .name = stack->name,
                                        .reads = (stack->read_sequence ? GSA_READ_SEQUENCE : 0u) |
                                                 (stack->read_summary ? GSA_READ_SUMMARY : 0u),
                                        .taps = stack->tap,
                                        .n_taps = stack->taps,
                                        .first_site = s ? gsa_stack_sites(h->stack[s - 1]) : 0 };
    gsa_stack_spec spec = { 0 };
    gsa_status status = gsa_spec_parse(NULL, stack->spec, &spec, &h->error);
    if (status == GSA_OK)
        status = gsa_stack_create(NULL, h->registry, &spec, &stack->settings, &options,
                                  h->parameters, &h->stack[s], &h->error);
    gsa_spec_release(&spec);
    /* few destinations projected on the side of their queries wherever that can be, where it pays,
     * nowhere */
    if (status == GSA_OK) h->stack[s]->queries = (int)(h->model->seed % 3) - 1;
    if (status == GSA_OK) status = gsa_stack_batch_create(h->stack[s], &h->batch[s], &h->error);
    return status;
}

static gsa_status make_input(oracle_harness *h, int s)
{
    int64_t tokens = 0;
    char name[ORACLE_PATH];
    for (int e = 0; e < h->model->examples; e++) tokens += h->model->stack[s].length[e];
    if (!tokens) return GSA_OK;
    snprintf(name, sizeof name, "%s.input", h->model->stack[s].name);
    return gsa_parameters_add(h->parameters, name, tokens, h->model->stack[s].settings.hidden,
                              GSA_INIT_ZERO, 0, 0, &h->input[s], &h->error);
}

/* Reordered rows of an input: example order[i] of the model, wherever it is in the batch. */
static void order_rows(const oracle_harness *h, int s, double *values, int64_t cols)
{
    const oracle_stack *stack = &h->model->stack[s];
    int64_t total = 0, at = 0;
    for (int e = 0; e < h->model->examples; e++) total += stack->length[e] * cols;
    double *kept = doubles(total);
    memcpy(kept, values, (size_t)total * sizeof *kept);
    for (int i = 0; i < h->model->examples; i++) {
        int64_t first = 0;
        for (int e = 0; e < h->order[i]; e++) first += stack->length[e] * cols;
        const int64_t count = stack->length[h->order[i]] * cols;
        memcpy(values + at, kept + first, (size_t)count * sizeof *kept);
        at += count;
    }
    free(kept);
}

static double value_for(const char *name, int64_t cols, gsa_dice *dice)
{
    const size_t length = strlen(name);
    const int gain = length > 9 && strcmp(name + length - 9, "norm.gain") == 0;
    if (gain) return 1 + 0.3 * gsa_normal(dice);
    return gsa_normal(dice) * (cols > 1 && !strstr(name, "bias") && !strstr(name, "input")
                                   ? 1 / sqrt((double)cols)
                                   : 0.7);
}

static gsa_status fill_parameters(oracle_harness *h)
{
    gsa_status status = GSA_OK;
    for (int i = 0; i < gsa_parameters_count(h->parameters) && status == GSA_OK; i++) {
        gsa_parameter *p = gsa_parameters_at(h->parameters, i);
        const int64_t count = p->value.rows * p->value.cols;
        gsa_dice dice = { h->model->seed };
        for (const char *c = p->name; *c; c++)
            dice.state = dice.state * 1099511628211u + (unsigned char)*c;
        double *values = doubles(count);
        for (int64_t j = 0; j < count; j++) values[j] = value_for(p->name, p->value.cols, &dice);
        for (int s = 0; s < h->model->stacks; s++)
            if (p == h->input[s]) order_rows(h, s, values, p->value.cols);
        status = gsa_tensor_write(h->backend, &p->value, values, &h->error);
        free(values);
    }
    return status;
}

/* Lengths and groups of a stack's examples in the batch's order, token after token. */
static int gather(const oracle_harness *h, int s, int32_t *length, int32_t *group)
{
    int n = 0;
    for (int i = 0; i < h->model->examples; i++) {
        const oracle_stack *stack = &h->model->stack[s];
        length[i] = stack->length[h->order[i]];
        for (int t = 0; t < length[i]; t++) group[n++] = stack->group[h->order[i]][t];
    }
    return h->model->stack[s].grouped;
}

static gsa_status build_batch(oracle_harness *h, int s)
{
    int32_t length[ORACLE_EXAMPLES], group[ORACLE_EXAMPLES * ORACLE_LENGTH + 1];
    int32_t memory_length[ORACLE_EXAMPLES], memory_group[ORACLE_EXAMPLES * ORACLE_LENGTH + 1];
    gsa_sequences sequences = { .count = h->model->examples, .length = length };
    if (gather(h, s, length, group)) sequences.group = group;
    if (s) {
        sequences.memory_length = memory_length;
        if (gather(h, s - 1, memory_length, memory_group)) sequences.memory_group = memory_group;
    }
    return gsa_stack_batch_build(h->batch[s], h->cache, NULL, &sequences, &h->error);
}

gsa_status oracle_open(oracle_harness *h, const oracle_model *model, gsa_backend *backend,
                       const int *order)
{
    *h = (oracle_harness){ .model = model, .backend = backend };
    for (int e = 0; e < model->examples; e++) h->order[e] = order ? order[e] : e;
    gsa_status status = make_registry(h);
    if (status == GSA_OK)
        status = gsa_parameters_create(NULL, backend, 1, &h->parameters, &h->error);
    if (status == GSA_OK) status = gsa_tape_create(NULL, backend, &h->tape, &h->error);
    if (status == GSA_OK && model->seed % 2)
        status = gsa_cache_create(NULL, 1 << 20, &h->cache, &h->error);
    for (int s = 0; s < model->stacks && status == GSA_OK; s++) {
        status = make_stack(h, s);
        if (status == GSA_OK) status = make_input(h, s);
        if (status == GSA_OK) status = build_batch(h, s);
    }
    return status == GSA_OK ? fill_parameters(h) : status;
}

void oracle_close(oracle_harness *h)
{
    for (int s = 0; s < ORACLE_STACKS; s++) {
        if (h->batch[s]) gsa_stack_batch_release(h->batch[s]);
        if (h->stack[s]) gsa_stack_release(h->stack[s]);
    }
    if (h->tape) gsa_tape_release(h->tape);
    if (h->parameters) gsa_parameters_release(h->parameters);
    if (h->cache) gsa_cache_release(h->cache);
    if (h->registry) gsa_registry_release(h->registry);
}

/* ---- running */
static double *read_tensor(oracle_harness *h, const gsa_tensor *x)
{
    if (!x) return NULL;
    double *out = doubles(x->rows * x->cols);
    gsa_error error;
    if (gsa_tensor_read(h->backend, x, 0, out, &error) != GSA_OK)
        gsa_tape_fail(h->tape, error.status, "%s", error.text);
    return out;
}

/* The targets of a readout, in the batch's order; `by_token` rows belong to tokens, else to
 * examples. */
static double *targets_of(const oracle_harness *h, int s, int readout, const gsa_tensor *x,
                          int by_token)
{
    const int cols = h->model->stack[s].settings.hidden;
    double *out = doubles(x->rows * cols);
    for (int i = 0, row = 0; i < h->model->examples; i++) {
        const int e = h->order[i], rows = by_token ? h->model->stack[s].length[e] : 1;
        int first = 0;
        for (int j = 0; j < e; j++) first += by_token ? h->model->stack[s].length[j] : 1;
        for (int k = 0; k < rows; k++, row++)
            for (int c = 0; c < cols && row < x->rows; c++)
                out[row * cols + c] = oracle_target(h->model, readout, (first + k) * cols + c);
    }
    return out;
}

typedef struct losses {
    int count;
    gsa_tensor *term[ORACLE_STACKS * (2 + ORACLE_TAPS)];
    double weight[ORACLE_STACKS * (2 + ORACLE_TAPS)];
    double *target[ORACLE_STACKS * (2 + ORACLE_TAPS)]; /* must outlive the step */
} losses;

static void add_loss(oracle_harness *h, int s, losses *l, gsa_tensor *x, int by_token)
{
    if (!x) return;
    const int i = l->count++;
    l->target[i] = targets_of(h, s, i, x, by_token);
    l->weight[i] = oracle_weight(h->model, i);
    gsa_tensor *target = gsa_tape_constant(h->tape, l->target[i], GSA_F64, x->rows, x->cols);
    l->term[i] = gsa_op_square_error(h->tape, x, target, 1);
}

static void forward(oracle_harness *h, losses *l, gsa_readout out[ORACLE_STACKS])
{
    gsa_tensor *memory = NULL;
    for (int s = 0; s < h->model->stacks; s++) {
        const oracle_stack *stack = &h->model->stack[s];
        gsa_tensor *input =
            h->input[s] ? &h->input[s]->value : gsa_tape_zeros(h->tape, 0, stack->settings.hidden);
        gsa_stack_forward(h->stack[s], h->tape, h->batch[s], input, memory, &out[s]);
        if (gsa_tape_status(h->tape, NULL) != GSA_OK) return;
        memory = out[s].sequence;
        add_loss(h, s, l, out[s].sequence, 1);
        add_loss(h, s, l, out[s].summary, 0);
        for (int i = 0; i < stack->taps; i++) add_loss(h, s, l, out[s].taps[i], 1);
    }
}

static void keep(oracle_harness *h, const gsa_readout out[ORACLE_STACKS], const gsa_tensor *loss,
                 oracle_result *result)
{
    for (int s = 0; s < h->model->stacks; s++) {
        oracle_readout *x = &result->readout[s];
        for (int e = 0; e < h->model->examples; e++) x->tokens += h->model->stack[s].length[e];
        x->sequence = read_tensor(h, out[s].sequence);
        x->summary = read_tensor(h, out[s].summary);
        for (int i = 0; i < h->model->stack[s].taps; i++)
            x->tap[i] = read_tensor(h, out[s].taps[i]);
        for (const char *c = gsa_stack_report(h->stack[s]); *c; c++)
            result->skipped[s] += *c == '\n';
    }
    double *value = read_tensor(h, loss);
    if (value) result->loss = *value;
    free(value);
}

gsa_status oracle_step(oracle_harness *h, int training, oracle_result *result)
{
    losses l = { 0 };
    gsa_readout out[ORACLE_STACKS] = { { 0 } };
    int32_t ids[ORACLE_EXAMPLES];
    *result = (oracle_result){ 0 };
    for (int i = 0; i < h->model->examples; i++) ids[i] = h->model->example_id[h->order[i]];
    gsa_status status = gsa_parameters_zero_gradients(h->parameters, &h->error);
    gsa_tape_reset(h->tape, training, h->model->drop_seed, h->model->drop_step);
    gsa_tape_examples(h->tape, ids, h->model->examples);
    forward(h, &l, out);
    gsa_tensor *loss = gsa_op_combine(h->tape, l.term, l.weight, l.count);
    if (status == GSA_OK) status = gsa_tape_status(h->tape, &h->error);
    if (status == GSA_OK) keep(h, out, loss, result);
    if (status == GSA_OK) status = gsa_tape_status(h->tape, &h->error);
    if (status == GSA_OK && training) status = gsa_tape_backward(h->tape, loss, &h->error);
    for (int i = 0; i < l.count; i++) free(l.target[i]);
    return status;
}

gsa_status oracle_fill_bank(const oracle_harness *h, oracle_bank *bank)
{
    gsa_error error;
    for (int i = 0; i < gsa_parameters_count(h->parameters); i++) {
        const gsa_parameter *p = gsa_parameters_at(h->parameters, i);
        oracle_matrix *m = oracle_bank_add(bank, p->name, (int)p->value.rows, (int)p->value.cols);
        const gsa_status status = gsa_tensor_read(h->backend, &p->value, 0, m->value, &error);
        if (status != GSA_OK) return status;
    }
    for (int s = 0; s < h->model->stacks; s++) {
        char name[ORACLE_PATH];
        snprintf(name, sizeof name, "%s.input", h->model->stack[s].name);
        if (!h->input[s]) oracle_bank_add(bank, name, 0, h->model->stack[s].settings.hidden);
    }
    return GSA_OK;
}
