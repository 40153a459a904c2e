/* interpret.c - the stacks of a model, from their starts to the loss. The phases are in
 * phase.c. */
#include "interpret_parts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the bank */
void *oracle_memory(size_t count, size_t size)
{
    void *at = calloc(count ? count : 1, size);
    if (!at) fprintf(stderr, "oracle: no memory\n"), abort();
    return at;
}

oracle_matrix *oracle_bank_add(oracle_bank *bank, const char *name, int rows, int cols)
{
    if (bank->count == bank->room) {
        bank->room = bank->room ? 2 * bank->room : 64;
        bank->matrix = realloc(bank->matrix, (size_t)bank->room * sizeof *bank->matrix);
        if (!bank->matrix) fprintf(stderr, "oracle: no memory for the bank\n"), abort();
    }
    oracle_matrix *m = &bank->matrix[bank->count++];
    *m = (oracle_matrix){ .rows = rows, .cols = cols, .first = -1 };
    snprintf(m->name, sizeof m->name, "%s", name);
    m->value = oracle_memory((size_t)rows * (size_t)cols, sizeof *m->value);
    m->grad = oracle_memory((size_t)rows * (size_t)cols, sizeof *m->grad);
    return m;
}

void oracle_bank_release(oracle_bank *bank)
{
    for (int i = 0; i < bank->count; i++) free(bank->matrix[i].value), free(bank->matrix[i].grad);
    free(bank->matrix);
    *bank = (oracle_bank){ 0 };
}

oracle_matrix *oracle_weights(oracle_machine *r, const char *path, const char *leaf, int rows,
                              int cols, int reached)
{
    char name[ORACLE_PATH];
    snprintf(name, sizeof name, "%s.%s", path, leaf);
    for (int i = 0; i < r->bank->count; i++) {
        oracle_matrix *m = &r->bank->matrix[i];
        if (strcmp(m->name, name) != 0) continue;
        if (m->rows != rows || m->cols != cols) {
            snprintf(r->result->error, ORACLE_SENTENCE, "%s is [%d, %d], the law says [%d, %d]",
                     name, m->rows, m->cols, rows, cols);
            return NULL;
        }
        if (m->first < 0) m->first = r->t.count;
        if (m->first == r->t.count)
            for (int j = 0; j < rows * cols; j++) (void)scalar_leaf(&r->t, m->value[j]);
        m->used = 1;
        m->reached |= reached;
        return m;
    }
    snprintf(r->result->error, ORACLE_SENTENCE, "there is no parameter %s", name);
    return NULL;
}

/* ---- planes */
oracle_plane oracle_new_plane(oracle_machine *r, int rows)
{
    if (r->planes == r->plane_room) {
        r->plane_room = r->plane_room ? 2 * r->plane_room : 256;
        r->plane = realloc(r->plane, (size_t)r->plane_room * sizeof *r->plane);
        if (!r->plane) fprintf(stderr, "oracle: no memory for planes\n"), abort();
    }
    scalar *at = oracle_memory((size_t)rows * (size_t)r->hidden, sizeof *at);
    r->plane[r->planes++] = at;
    return (oracle_plane){ rows, at };
}

/* ---- starts */
static void count_rows(oracle_machine *r)
{
    for (int p = 0; p < r->model->patterns; p++) {
        const oracle_pattern *pattern = &r->model->pattern[p];
        if (pattern->stack != r->s) continue;
        for (int e = 0; e < r->model->examples; e++) {
            int32_t group[ORACLE_LENGTH], memory_group[ORACLE_LENGTH];
            const gsa_example example = oracle_example(r->model, r->s, e, group, memory_group);
            r->graph[p][e] = oracle_invent_graph(r->model, pattern, &example);
            for (int k = 0; k < pattern->kinds; k++)
                r->nodes[pattern->kind[k]][e] = r->graph[p][e].nodes[k];
        }
    }
    for (int k = 0; k < r->stack->kinds; k++)
        for (int e = 0; e < r->model->examples; e++)
            r->first[k][e + 1] = r->first[k][e] + r->nodes[k][e];
}

/* Column c of what node i of example e starts with, without the learned row. */
static scalar start_of(oracle_machine *r, int start, int e, int i, int c)
{
    int before = 0;
    const int length = r->stack->length[e];
    for (int j = 0; j < e; j++)
        before += start == GSA_MEMORY ? r->model->stack[r->s - 1].length[j] : r->stack->length[j];
    if (start == GSA_MEMORY) return r->memory.at[(before + i) * r->hidden + c];
    if (start == GSA_INPUT || start == GSA_COPY)
        return r->input->first + (before + i) * r->hidden + c;
    scalar sum = scalar_leaf(&r->t, 0);
    if (start != GSA_MEAN_INPUT || !length) return sum;
    for (int j = 0; j < length; j++)
        sum = scalar_add(&r->t, sum, r->input->first + (before + j) * r->hidden + c);
    return scalar_scale(&r->t, sum, 1.0 / length);
}

static void start_kind(oracle_machine *r, int k, int reached)
{
    const oracle_kind *kind = &r->stack->kind[k];
    char path[ORACLE_PATH];
    snprintf(path, sizeof path, "%s.%s", r->stack->name, kind->name);
    const oracle_matrix *rows =
        kind->learned ? oracle_weights(r, path, "rows.weight", kind->learned, r->hidden, reached)
                      : NULL;
    r->now[k] = oracle_new_plane(r, r->first[k][r->model->examples]);
    if (r->result->error[0]) return;
    for (int e = 0; e < r->model->examples; e++)
        for (int i = 0; i < r->nodes[k][e]; i++)
            for (int c = 0; c < r->hidden; c++) {
                scalar x = start_of(r, kind->start, e, i, c);
                if (rows) x = scalar_add(&r->t, x, rows->first + i * r->hidden + c);
                r->now[k].at[(r->first[k][e] + i) * r->hidden + c] = x;
            }
}

/* ---- readouts */
static oracle_plane final_norm(oracle_machine *r, oracle_plane x)
{
    if (r->stack->settings.norm == GSA_NORM_POST) return x;
    const oracle_matrix *gain = oracle_weights(r, r->stack->name, "norm.gain", 1, r->hidden, 1);
    const oracle_matrix *bias = oracle_weights(r, r->stack->name, "norm.bias", 1, r->hidden, 1);
    oracle_plane y = oracle_new_plane(r, x.rows);
    if (r->result->error[0]) return y;
    for (int i = 0; i < x.rows; i++)
        oracle_norm(r, y.at + i * r->hidden, x.at + i * r->hidden, gain, bias);
    return y;
}

static scalar pool(oracle_machine *r, int how, const scalar *x, int rows)
{
    if (!rows) return scalar_leaf(&r->t, 0);
    scalar y = x[0];
    for (int i = 1; i < rows; i++)
        y = how == GSA_MAX_OF ? scalar_max(&r->t, y, x[i * r->hidden])
                              : scalar_add(&r->t, y, x[i * r->hidden]);
    return how == GSA_MAX_OF ? y : scalar_scale(&r->t, y, 1.0 / rows);
}

static oracle_plane summarise(oracle_machine *r, const oracle_pattern *pattern)
{
    oracle_plane out = oracle_new_plane(r, r->model->examples), state[ORACLE_KINDS];
    for (int k = 0; k < pattern->kinds; k++) state[k] = final_norm(r, r->now[pattern->kind[k]]);
    if (r->result->error[0]) return out;
    for (int e = 0; e < r->model->examples; e++)
        for (int c = 0; c < r->hidden; c++) {
            const oracle_graph *graph = &r->graph[pattern->number][e];
            scalar sum = scalar_leaf(&r->t, 0);
            for (int i = 0; i < pattern->pools; i++) {
                int kind = pattern->pool[i].kind, from = 0, rows = graph->nodes[kind];
                if (pattern->pool[i].pool == GSA_SUMMARY_NODE) {
                    kind = graph->summary_kind, from = graph->summary_index, rows = 1;
                    if (kind < 0) continue;
                }
                const scalar *x =
                    state[kind].at + (r->first[pattern->kind[kind]][e] + from) * r->hidden + c;
                sum = scalar_add(&r->t, sum,
                                 scalar_scale(&r->t, pool(r, pattern->pool[i].pool, x, rows),
                                              pattern->pool[i].weight));
            }
            out.at[e * r->hidden + c] = sum;
        }
    return out;
}

static double *values_of(const oracle_machine *r, oracle_plane x)
{
    double *out = oracle_memory((size_t)x.rows * (size_t)r->hidden, sizeof *out);
    for (int i = 0; i < x.rows * r->hidden; i++) out[i] = scalar_value(&r->t, x.at[i]);
    return out;
}

double oracle_weight(const oracle_model *model, int readout)
{
    gsa_dice dice = { model->seed * 1000003 + (uint64_t)readout };
    return 0.25 + gsa_unit(&dice);
}

double oracle_target(const oracle_model *model, int readout, int element)
{
    gsa_dice dice = { model->seed * 7919 + (uint64_t)readout * 104729 + (uint64_t)element };
    return gsa_normal(&dice);
}

static void add_loss(oracle_machine *r, oracle_plane x)
{
    const int readout = r->readouts++;
    scalar sum = scalar_leaf(&r->t, 0);
    for (int i = 0; i < x.rows * r->hidden; i++) {
        const scalar gap = scalar_shift(&r->t, x.at[i], -oracle_target(r->model, readout, i));
        sum = scalar_add(&r->t, sum, scalar_mul(&r->t, gap, gap));
    }
    sum = scalar_scale(&r->t, sum, oracle_weight(r->model, readout));
    r->loss = r->loss < 0 ? sum : scalar_add(&r->t, r->loss, sum);
}

/* ---- stacks */
static void run_program(oracle_machine *r, const oracle_program *program,
                        const oracle_pattern *reader, oracle_plane taps[ORACLE_TAPS])
{
    int segment = -1, taken = 0;
    for (int i = 0; i < program->items && !r->result->error[0]; i++) {
        const oracle_item *item = &program->item[i];
        if (item->segment != segment) {
            segment = item->segment;
            for (int k = 0; k < r->stack->kinds; k++)
                if (program->born[segment] >> k & 1)
                    start_kind(r, k, program->start_needed >> k & 1);
        }
        if (r->result->error[0]) return;
        oracle_run_phase(r, item, i);
        if (taken < r->stack->taps && item->last == r->stack->tap[taken] && !r->result->error[0])
            taps[taken++] = final_norm(r, r->now[reader->kind[reader->sequence]]);
    }
}

static void read_out(oracle_machine *r, const oracle_pattern *reader,
                     const oracle_plane taps[ORACLE_TAPS])
{
    oracle_readout *out = &r->result->readout[r->s];
    const oracle_plane sequence = final_norm(r, r->now[reader->kind[reader->sequence]]);
    if (r->result->error[0]) return;
    out->tokens = sequence.rows;
    r->memory = sequence;
    if (r->stack->read_sequence) {
        out->sequence = values_of(r, sequence);
        add_loss(r, sequence);
    }
    if (r->stack->read_summary) {
        const oracle_pattern pooled = oracle_read_as(r->stack, reader);
        const oracle_plane summary = summarise(r, &pooled);
        if (r->result->error[0]) return;
        out->summary = values_of(r, summary);
        add_loss(r, summary);
    }
    for (int i = 0; i < r->stack->taps; i++) {
        out->tap[i] = values_of(r, taps[i]);
        add_loss(r, taps[i]);
    }
}

static void run_stack(oracle_machine *r, int s)
{
    oracle_program *program = oracle_memory(1, sizeof *program);
    oracle_plane taps[ORACLE_TAPS];
    int tokens = 0;
    r->s = s;
    r->stack = &r->model->stack[s];
    memset(r->nodes, 0, sizeof r->nodes);
    memset(r->first, 0, sizeof r->first);
    for (int e = 0; e < r->model->examples; e++) tokens += r->stack->length[e];
    oracle_compile(r->model, s, program);
    for (int i = 0; i < program->items; i++) r->result->skipped[s] += program->item[i].skipped;
    count_rows(r);
    const oracle_pattern *reader =
        &r->model->pattern[r->stack->segment[r->stack->segments - 1].part[0]];
    r->input = oracle_weights(r, r->stack->name, "input", tokens, r->hidden, 1);
    if (r->input) run_program(r, program, reader, taps);
    if (!r->result->error[0]) read_out(r, reader, taps);
    r->first_site += 3 * (uint32_t)program->items;
    free(program);
}

static void collect(oracle_machine *r)
{
    if (r->loss < 0) return;
    r->result->loss = scalar_value(&r->t, r->loss);
    scalar_backward(&r->t, r->loss);
    for (int i = 0; i < r->bank->count; i++) {
        oracle_matrix *m = &r->bank->matrix[i];
        for (int j = 0; m->first >= 0 && j < m->rows * m->cols; j++)
            m->grad[j] = scalar_grad(&r->t, m->first + j);
    }
}

void oracle_interpret(const oracle_model *model, oracle_bank *bank, oracle_result *result)
{
    oracle_machine *r = oracle_memory(1, sizeof *r);
    *result = (oracle_result){ 0 };
    r->model = model, r->bank = bank, r->result = result;
    r->hidden = model->stack[0].settings.hidden;
    r->loss = -1;
    r->first_site = 16;
    for (int s = 0; s < model->stacks && !result->error[0]; s++) run_stack(r, s);
    if (!result->error[0]) collect(r);
    for (int p = 0; p < model->patterns; p++)
        for (int e = 0; e < model->examples; e++) oracle_forget_graph(&r->graph[p][e]);
    for (int i = 0; i < r->planes; i++) free(r->plane[i]);
    free(r->plane);
    scalar_release(&r->t);
    free(r);
}

void oracle_result_release(oracle_result *result)
{
    for (int s = 0; s < ORACLE_STACKS; s++) {
        oracle_readout *x = &result->readout[s];
        free(x->sequence), free(x->summary);
        for (int i = 0; i < ORACLE_TAPS; i++) free(x->tap[i]);
    }
}
