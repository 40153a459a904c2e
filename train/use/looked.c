#include "train/use/looked.h"
#include <string.h>

/* ---- sheets -------------------------------------------------------------------------------- */

static void fill_sheets(gsa_looked *l, int first, int layers)
{
    for (int i = 0, at = 0; i < layers; i++)
        for (int p = 0; p < gsa_stack_patterns(l->stack, first + i); p++, at++) {
            int owner = 0;
            const gsa_pattern *pattern = gsa_stack_pattern(l->stack, first + i, p);
            while (owner < at && l->sheet[owner].pattern != pattern) owner++;
            l->sheet[at] = (gsa_looked_sheet){ pattern, first + i, p, owner };
        }
}

static gsa_status make_room(gsa_looked *l, gsa_error *error)
{
    const gsa_system *system = l->session->system;
    const size_t n = (size_t)l->n_sheets;
    l->sheet = gsa_alloc_zero(system, n, sizeof *l->sheet);
    l->watched = gsa_alloc_zero(system, n * GSA_MAX_PHASES, sizeof *l->watched);
    if (n == 0 || (l->sheet && l->watched)) return GSA_OK;
    return gsa_out_of_memory(error, "a picture",
                             (int64_t)(n * GSA_MAX_PHASES * sizeof *l->watched));
}

/* The settings of the stack's own, where the plan gives it some; else NULL. */
static const gsa_settings *own_settings(const gsa_learner *model, const char *stack)
{
    for (int s = 0; s < model->plan.n_stacks; s++) {
        const gsa_settings *own = &model->plan.stack[s].settings;
        if (strcmp(model->plan.stack[s].name, stack) == 0) return own->hidden > 0 ? own : NULL;
    }
    return NULL;
}

gsa_status gsa_looked_open(const gsa_session *session, int pass, int layer, gsa_looked *l,
                           gsa_error *error)
{
    const gsa_learner *model = &session->model;
    const gsa_model_pass *asked = &model->plan.pass[pass];
    const gsa_settings *own = own_settings(model, asked->stack);
    *l = (gsa_looked){ .session = session,
                       .stack = gsa_model_stack_of(model->net, pass),
                       .name = gsa_model_pass_name(model->net, pass),
                       .pass = pass,
                       .heads = own ? own->heads : model->settings.heads,
                       .apart = own != NULL,
                       .sequence = gsa_model_find_sequence(model->net, asked->sequence),
                       .memory =
                           asked->memory ? gsa_model_find_pass(model->net, asked->memory) : -1 };
    const int all = gsa_stack_layers(l->stack);
    const int first = layer < 0 ? 0 : layer, layers = layer < 0 ? all : layer < all;
    for (int i = 0; i < layers; i++) l->n_sheets += gsa_stack_patterns(l->stack, first + i);
    const gsa_status status = make_room(l, error);
    if (status == GSA_OK) fill_sheets(l, first, layers);
    return status;
}

void gsa_looked_release(gsa_looked *l)
{
    if (!l->session) return;
    const gsa_system *system = l->session->system;
    const size_t each = (size_t)l->n_sheets * (size_t)l->examples;
    for (size_t i = 0; l->instance && i < each; i++) gsa_instance_release(l->instance[i]);
    for (size_t i = 0; l->weight && i < each * GSA_MAX_PHASES; i++)
        gsa_release(system, l->weight[i]);
    void *const all[] = { l->token, l->sheet, l->instance, l->weight, l->watched };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) gsa_release(system, all[i]);
    *l = (gsa_looked){ 0 };
}

/* ---- instances ----------------------------------------------------------------------------- */

/* Nodes of the sequence that the pass reads: its tokens. */
static gsa_status measure_memory(const gsa_looked *l, int32_t e, int64_t token,
                                 gsa_example *example, gsa_error *error)
{
    const gsa_learner *model = &l->session->model;
    if (l->memory < 0) return GSA_OK;
    const gsa_stack *other = gsa_model_stack_of(model->net, l->memory);
    const gsa_schema *schema =
        gsa_pattern_schema(gsa_stack_pattern(other, gsa_stack_layers(other) - 1, 0));
    const int start = gsa_schema_kind(schema, gsa_schema_sequence(schema))->start;
    const int sequence = gsa_model_find_sequence(model->net, model->plan.pass[l->memory].sequence);
    const gsa_minibatch_sequence *from = &l->session->batch.sequence[sequence];
    if (start != GSA_INPUT && start != GSA_COPY)
        return gsa_fail(error, GSA_ERR_UNSUPPORTED,
                        "'%s' reads nodes of '%s' that are no tokens, which cannot be drawn",
                        l->name, gsa_model_pass_name(model->net, l->memory));
    example->memory_length = from->length[e];
    if (from->grouped) example->memory_group = from->group + token;
    return GSA_OK;
}

static gsa_status emit_one(gsa_looked *l, int sheet, int32_t e, gsa_example example,
                           gsa_error *error)
{
    const gsa_slice *column[GSA_COLUMNS_ASKED];
    const gsa_pattern *pattern = l->sheet[sheet].pattern;
    const gsa_minibatch_sequence *from = &l->session->batch.sequence[l->sequence];
    const gsa_status status =
        gsa_pattern_take(pattern, from->column, from->sides, l->token[e], column, error);
    if (status != GSA_OK) return status;
    example.columns = gsa_pattern_columns(pattern), example.column = column;
    return gsa_pattern_instance(pattern, NULL, &example, NULL, 1,
                                &l->instance[(size_t)sheet * (size_t)l->examples + (size_t)e],
                                error);
}

gsa_status gsa_looked_emit(gsa_looked *l, gsa_error *error)
{
    const gsa_session *s = l->session;
    const gsa_minibatch_sequence *from = &s->batch.sequence[l->sequence];
    const size_t each = (size_t)l->n_sheets * (size_t)from->count;
    int64_t token = 0, memory = 0;
    gsa_status status = GSA_OK;
    l->examples = from->count;
    l->token = gsa_alloc_zero(s->system, (size_t)from->count + 1, sizeof *l->token);
    l->instance = gsa_alloc_zero(s->system, each, sizeof(gsa_instance *));
    l->weight = gsa_alloc_zero(s->system, each * GSA_MAX_PHASES, sizeof(double *));
    if (!l->token || (each > 0 && (!l->instance || !l->weight)))
        return gsa_out_of_memory(error, "a picture", (int64_t)(each * GSA_MAX_PHASES * 8));
    for (int32_t e = 0; e < l->examples && status == GSA_OK; e++) {
        gsa_example example = { .struct_size = sizeof example,
                                .length = from->length[e],
                                .heads = l->heads,
                                .text = s->model.reads_text ? from->text + token : NULL,
                                .group = from->grouped ? from->group + token : NULL };
        l->token[e] = token;
        status = measure_memory(l, e, memory, &example, error);
        for (int i = 0; i < l->n_sheets && status == GSA_OK; i++)
            if (l->sheet[i].owner == i) status = emit_one(l, i, e, example, error);
        token += example.length, memory += example.memory_length;
    }
    return status;
}

static const gsa_schema *schema_of(const gsa_looked *l, int sheet)
{
    return gsa_pattern_schema(l->sheet[sheet].pattern);
}

static int is_drawn(const gsa_looked *l, int sheet, int phase)
{
    return gsa_schema_phase(schema_of(l, sheet), phase)->aggregate != GSA_NONE &&
           gsa_stack_runs(l->stack, l->sheet[sheet].layer, l->sheet[sheet].place, phase);
}

int64_t gsa_looked_edges(const gsa_looked *l)
{
    int64_t total = 0;
    for (int i = 0; i < l->n_sheets; i++)
        for (int f = 0; f < gsa_schema_phases(schema_of(l, i)); f++)
            for (int32_t e = 0; e < l->examples && is_drawn(l, i, f); e++) {
                gsa_edges edges;
                gsa_instance_edges(gsa_looked_instance(l, i, e), f, &edges);
                if (!gsa_add(total, edges.edge_total, &total)) return INT64_MAX;
            }
    return total;
}

/* ---- weights ------------------------------------------------------------------------------- */

gsa_status gsa_looked_watch(gsa_looked *l, gsa_error *error)
{
    for (int i = 0; i < l->n_sheets; i++)
        for (int f = 0; f < gsa_schema_phases(schema_of(l, i)); f++)
            if (is_drawn(l, i, f) && gsa_schema_phase(schema_of(l, i), f)->aggregate == GSA_ATTEND)
                l->watched[l->n_watched++] = (gsa_watched){ .layer = l->sheet[i].layer,
                                                            .pattern = l->sheet[i].place,
                                                            .phase = f };
    return gsa_stack_watch(gsa_model_batch_of(l->session->model.graph, l->pass), l->watched,
                           l->n_watched, error);
}

/* Sum: 1; mean: 1/degree; the same in each head. */
static void plain_weights(const gsa_edges *edges, int mean, int64_t columns, double *out)
{
    for (int64_t row = 0; row < edges->rows; row++) {
        const int64_t first = edges->edge_offset[row], last = edges->edge_offset[row + 1];
        for (int64_t i = first * columns; i < last * columns; i++)
            out[i] = mean ? 1 / (double)(last - first) : 1;
    }
}

static gsa_status make_weights(gsa_looked *l, int sheet, int phase, int64_t *total,
                               gsa_error *error)
{
    const gsa_phase *x = gsa_schema_phase(schema_of(l, sheet), phase);
    const int64_t columns = gsa_looked_columns(l, sheet, phase);
    *total = 0;
    for (int32_t e = 0; e < l->examples; e++) {
        gsa_edges edges;
        int64_t values;
        gsa_instance_edges(gsa_looked_instance(l, sheet, e), phase, &edges);
        double *out = gsa_mul(edges.edge_total, columns, &values)
                          ? gsa_alloc(l->session->system, (size_t)values + 1, sizeof *out)
                          : NULL;
        if (!out) return gsa_out_of_memory(error, "attention weights", edges.edge_total * 8);
        *(double **)(uintptr_t)(gsa_looked_weights(l, sheet, e) + phase) = out;
        if (x->aggregate != GSA_ATTEND)
            plain_weights(&edges, x->aggregate == GSA_MEAN, columns, out);
        *total += edges.edge_total;
    }
    return GSA_OK;
}

/* The batch has the rows of a kind over all examples, one kind after the other (graph/batch.h). */
static void part_examples(const gsa_looked *l, int sheet, int phase, int64_t *row,
                          const double *all)
{
    const gsa_schema *schema = schema_of(l, sheet);
    const gsa_phase *x = gsa_schema_phase(schema, phase);
    const int64_t columns = gsa_looked_columns(l, sheet, phase);
    const int64_t heads = x->per_head ? l->heads : 1;
    memset(row, 0, (size_t)l->examples * sizeof *row);
    for (int k = 0; k < gsa_schema_kinds(schema); k++)
        for (int32_t e = 0; e < l->examples && x->destinations >> k & 1; e++) {
            gsa_edges edges;
            const gsa_instance *instance = gsa_looked_instance(l, sheet, e);
            gsa_instance_edges(instance, phase, &edges);
            const int64_t first = edges.edge_offset[row[e]];
            row[e] += gsa_instance_nodes(instance, k) * heads;
            const int64_t values = (edges.edge_offset[row[e]] - first) * columns;
            memcpy(gsa_looked_weights(l, sheet, e)[phase] + first * columns, all,
                   (size_t)values * sizeof *all);
            all += values;
        }
}

/* `watched` is the list's next entry, used up by a phase that attends. */
static gsa_status read_phase(gsa_looked *l, int sheet, int phase, const gsa_watched **watched,
                             gsa_error *error)
{
    const gsa_system *system = l->session->system;
    const gsa_schema *schema = schema_of(l, sheet);
    int64_t total;
    gsa_status status = make_weights(l, sheet, phase, &total, error);
    if (status != GSA_OK || gsa_schema_phase(schema, phase)->aggregate != GSA_ATTEND) return status;
    const gsa_tensor *weights = (*watched)++->weights;
    const int64_t columns = gsa_looked_columns(l, sheet, phase);
    if (!weights || weights->rows != total || weights->cols != columns)
        return gsa_fail(error, GSA_ERR_PLUGIN,
                        "topology %s, phase %s: a second emission of the example has other edges",
                        gsa_schema_topology(schema), gsa_schema_phase(schema, phase)->name);
    double *all = gsa_alloc(system, (size_t)(total * columns) + 1, sizeof *all);
    int64_t *row = gsa_alloc(system, (size_t)l->examples + 1, sizeof *row);
    if (!all || !row) status = gsa_out_of_memory(error, "attention weights", total * columns * 8);
    if (status == GSA_OK) status = gsa_tensor_read(l->session->backend, weights, 0, all, error);
    if (status == GSA_OK) part_examples(l, sheet, phase, row, all);
    gsa_release(system, row);
    gsa_release(system, all);
    return status;
}

gsa_status gsa_looked_read(gsa_looked *l, gsa_error *error)
{
    const gsa_watched *watched = l->watched;
    gsa_status status = GSA_OK;
    for (int i = 0; i < l->n_sheets; i++)
        for (int f = 0; f < gsa_schema_phases(schema_of(l, i)) && status == GSA_OK; f++)
            if (is_drawn(l, i, f)) status = read_phase(l, i, f, &watched, error);
    return status;
}

/* ---- for a picture ------------------------------------------------------------------------- */

void gsa_looked_sheets(const gsa_looked *l, int32_t example, int number, gsa_picture_sheet *sheets)
{
    for (int i = 0; i < l->n_sheets; i++)
        sheets[i] = (gsa_picture_sheet){ .instance = gsa_looked_instance(l, i, example),
                                         .schema = schema_of(l, i),
                                         .topology = gsa_pattern_topology(l->sheet[i].pattern),
                                         .self = gsa_pattern_self(l->sheet[i].pattern),
                                         .stack = number,
                                         .layer = l->sheet[i].layer,
                                         .weights = (const double *const *)gsa_looked_weights(
                                             l, i, example) };
}

const gsa_slice *gsa_looked_text(const gsa_looked *l, int32_t example)
{
    const gsa_minibatch_sequence *from = &l->session->batch.sequence[l->sequence];
    return gsa_learner_columns(&l->session->model, l->sequence) > 0 || !from->text
               ? NULL
               : from->text + l->token[example];
}
