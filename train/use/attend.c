/* attend.c - gsa_attend: one example through a trained model, its attention weights on the edges of
 * a picture. Memory: edges x heads doubles of every drawn layer. */
#include <stdio.h>
#include <string.h>
#include "graph/write.h"
#include "gsa/vocabulary.h"
#include "topologies/words.h"
#include "train/use/apply.h"
#include "train/data/plain.h"

enum { SHOWN_NODES = 12, SHOWN_EDGES = 3, SHOWN_WORDS = 8, LINE = 640 };

typedef struct gsa_looker { /* everything that is released at the end */
    gsa_session session;
    const gsa_apply_options *apply;
    const gsa_attend_options *options;
    const gsa_stack *stack;
    int64_t example;
    int first_layer, layers, n_sheets, n_watched;
    gsa_picture_sheet *sheets;   /* [n_sheets] patterns of the drawn layers */
    const gsa_pattern **pattern; /* [n_sheets] */
    int *place;                  /* [n_sheets] number of the pattern in its layer */
    gsa_instance **instance;     /* [n_sheets]; NULL where an earlier sheet owns it */
    const double **weights;      /* [n_sheets][GSA_MAX_PHASES] */
    gsa_watched *watched;        /* [n_watched] */
} gsa_looker;

/* ---- the example --------------------------------------------------------------------------- */

static gsa_status read_example(gsa_looker *l, gsa_error *error)
{
    gsa_session *s = &l->session;
    const gsa_attend_options *o = l->options;
    if (o->text) {
        if (s->task->read_text) return s->task->read_text(s->self, o->text, error);
        return gsa_fail(
            error, GSA_ERR_ARGUMENT,
            "the model reads numbers, not text: ask for an example of its test data (--example N)");
    }
    const int64_t examples = s->task->examples(s->self, GSA_SPLIT_TEST);
    l->example = o->example;
    if (examples == 0)
        return gsa_fail(
            error, GSA_ERR_ARGUMENT,
            "the model's recipe has no test data: give a text, or --set data.test=FILE");
    if (o->example >= 0 && o->example < examples) return GSA_OK;
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "there is no example %lld: the test data has %lld, counted from 0",
                    (long long)o->example, (long long)examples);
}

/* ---- sheets -------------------------------------------------------------------------------- */

static gsa_status choose_layers(gsa_looker *l, gsa_error *error)
{
    const int layers = gsa_stack_layers(l->stack), asked = l->options->layer;
    if (asked < -1 || asked >= layers)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "there is no layer %d: the encoder %s has layers 0 to %d", asked,
                        gsa_stack_text(l->stack), layers - 1);
    l->first_layer = asked < 0 ? 0 : asked;
    l->layers = asked < 0 ? layers : 1;
    for (int i = 0; i < l->layers; i++)
        l->n_sheets += gsa_stack_patterns(l->stack, l->first_layer + i);
    return GSA_OK;
}

static gsa_status allocate(gsa_looker *l, gsa_error *error)
{
    const gsa_system *system = l->session.system;
    const size_t n = (size_t)l->n_sheets;
    l->sheets = gsa_alloc_zero(system, n, sizeof *l->sheets);
    l->pattern = gsa_alloc_zero(system, n, sizeof(gsa_pattern *));
    l->place = gsa_alloc_zero(system, n, sizeof *l->place);
    l->instance = gsa_alloc_zero(system, n, sizeof(gsa_instance *));
    l->weights = gsa_alloc_zero(system, n * GSA_MAX_PHASES, sizeof(double *));
    l->watched = gsa_alloc_zero(system, n * GSA_MAX_PHASES, sizeof *l->watched);
    if (l->sheets && l->pattern && l->place && l->instance && l->weights && l->watched)
        return GSA_OK;
    return gsa_out_of_memory(error, "a picture",
                             (int64_t)(n * GSA_MAX_PHASES * sizeof *l->watched));
}

/* The layers of a segment share the pattern, and so the instance. */
static gsa_status make_instance(gsa_looker *l, int sheet, const gsa_example *example,
                                gsa_error *error)
{
    for (int before = 0; before < sheet; before++)
        if (l->pattern[before] == l->pattern[sheet]) {
            l->sheets[sheet].instance = l->sheets[before].instance;
            return GSA_OK;
        }
    const gsa_minibatch_sequence *from = &l->session.batch.sequence[0];
    const gsa_slice *column[GSA_COLUMNS_ASKED];
    gsa_example own = *example;
    gsa_status status =
        gsa_pattern_take(l->pattern[sheet], from->column, from->sides, 0, column, error);
    if (status != GSA_OK) return status;
    own.columns = gsa_pattern_columns(l->pattern[sheet]), own.column = column;
    status =
        gsa_pattern_instance(l->pattern[sheet], NULL, &own, NULL, 1, &l->instance[sheet], error);
    l->sheets[sheet].instance = l->instance[sheet];
    return status;
}

static gsa_status make_sheets(gsa_looker *l, gsa_error *error)
{
    const gsa_session *s = &l->session;
    const gsa_example example = { .struct_size = sizeof example,
                                  .length = s->batch.sequence[0].length[0],
                                  .heads = s->model.settings.heads,
                                  .text = s->model.reads_text ? s->batch.sequence[0].text : NULL };
    gsa_status status = GSA_OK;
    for (int i = 0, at = 0; i < l->layers; i++)
        for (int p = 0; p < gsa_stack_patterns(l->stack, l->first_layer + i) && status == GSA_OK;
             p++, at++) {
            const gsa_pattern *pattern = l->pattern[at] =
                gsa_stack_pattern(l->stack, l->first_layer + i, p);
            l->place[at] = p;
            l->sheets[at] =
                (gsa_picture_sheet){ .schema = gsa_pattern_schema(pattern),
                                     .topology = gsa_pattern_topology(pattern),
                                     .self = gsa_pattern_self(pattern),
                                     .layer = l->first_layer + i,
                                     .weights = l->weights + (size_t)at * GSA_MAX_PHASES };
            status = make_instance(l, at, &example, error);
        }
    return status;
}

/* ---- weights ------------------------------------------------------------------------------- */

static int is_drawn(const gsa_looker *l, int sheet, int phase)
{
    const gsa_picture_sheet *s = &l->sheets[sheet];
    return gsa_schema_phase(s->schema, phase)->aggregate != GSA_NONE &&
           gsa_stack_runs(l->stack, s->layer, l->place[sheet], phase);
}

static int64_t columns_of(const gsa_picture_sheet *sheet, int phase)
{
    return gsa_schema_phase(sheet->schema, phase)->per_head ? 1
                                                            : gsa_instance_heads(sheet->instance);
}

static gsa_status watch(gsa_looker *l, gsa_error *error)
{
    int64_t total = 0;
    for (int i = 0; i < l->n_sheets; i++)
        for (int f = 0; f < gsa_schema_phases(l->sheets[i].schema); f++) {
            gsa_edges edges;
            if (!is_drawn(l, i, f)) continue;
            gsa_instance_edges(l->sheets[i].instance, f, &edges);
            if (!gsa_add(total, edges.edge_total, &total)) total = INT64_MAX;
            if (gsa_schema_phase(l->sheets[i].schema, f)->aggregate == GSA_ATTEND)
                l->watched[l->n_watched++] = (gsa_watched){ .layer = l->sheets[i].layer,
                                                            .pattern = l->place[i],
                                                            .phase = f };
        }
    if (l->options->most_edges > 0 && total > l->options->most_edges)
        return gsa_fail(
            error, GSA_ERR_LIMIT,
            "the picture has %lld edges, at most %lld are wanted (--max-edges, or one --layer)",
            (long long)total, (long long)l->options->most_edges);
    return gsa_stack_watch(gsa_model_batch_of(l->session.model.graph, 0), l->watched, l->n_watched,
                           error);
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

/* `watched` is the list's next entry, used up by a phase that attends. */
static gsa_status read_weights(gsa_looker *l, int sheet, int phase, const gsa_watched **watched,
                               gsa_error *error)
{
    const gsa_picture_sheet *s = &l->sheets[sheet];
    const gsa_phase *x = gsa_schema_phase(s->schema, phase);
    const int64_t columns = columns_of(s, phase);
    int64_t values;
    gsa_edges edges;
    gsa_instance_edges(s->instance, phase, &edges);
    double *out = gsa_mul(edges.edge_total, columns, &values)
                      ? gsa_alloc(l->session.system, (size_t)values, sizeof *out)
                      : NULL;
    if (!out) return gsa_out_of_memory(error, "attention weights", edges.edge_total * 8);
    l->weights[(size_t)sheet * GSA_MAX_PHASES + (size_t)phase] = out;
    if (x->aggregate != GSA_ATTEND) {
        plain_weights(&edges, x->aggregate == GSA_MEAN, columns, out);
        return GSA_OK;
    }
    const gsa_tensor *weights = (*watched)++->weights;
    if (weights && weights->rows == edges.edge_total && weights->cols == columns)
        return gsa_tensor_read(l->session.backend, weights, 0, out, error);
    return gsa_fail(error, GSA_ERR_PLUGIN,
                    "topology %s, phase %s: a second emission of the example has other edges",
                    gsa_schema_topology(s->schema), x->name);
}

static gsa_status compute(gsa_looker *l, gsa_error *error)
{
    gsa_status status = watch(l, error);
    if (status == GSA_OK)
        status = gsa_session_outputs(&l->session, GSA_SPLIT_TEST, &l->example, 1, error);
    const gsa_watched *watched = l->watched;
    for (int i = 0; i < l->n_sheets && status == GSA_OK; i++)
        for (int f = 0; f < gsa_schema_phases(l->sheets[i].schema) && status == GSA_OK; f++)
            if (is_drawn(l, i, f)) status = read_weights(l, i, f, &watched, error);
    return status;
}

/* ---- messages ------------------------------------------------------------------------------ */

static void say(const gsa_looker *l, const char *sentence)
{
    gsa_apply_say((void *)(uintptr_t)l->apply, sentence);
}

/* Appends text safe for a terminal. */
static void show(char line[LINE], const char *before, gsa_slice text)
{
    char word[GSA_SHOWN], shown[GSA_SHOWN];
    const size_t used = strlen(line);
    snprintf(word, sizeof word, "%.*s", (int)(text.bytes < 64 ? text.bytes : 64), text.at);
    snprintf(line + used, LINE - used, "%s%s", before, gsa_word_show(word, shown));
}

static void say_unknown(const gsa_looker *l)
{
    const gsa_minibatch_sequence *batch = &l->session.batch.sequence[0];
    char line[LINE] = "words that the model does not know:";
    int unknown = 0;
    if (gsa_learner_columns(&l->session.model, 0) > 0) return;
    for (int64_t i = 0; i < batch->tokens; i++) {
        if (batch->id[i] != GSA_WORD_UNKNOWN) continue;
        if (unknown++ < SHOWN_WORDS) show(line, unknown > 1 ? ", " : " ", batch->text[i]);
    }
    if (unknown > SHOWN_WORDS)
        snprintf(line + strlen(line), LINE - strlen(line), ", and %d more", unknown - SHOWN_WORDS);
    if (unknown > 0) say(l, line);
}

/* The node of a kind as people call it: its word, or "relay 0". */
static void show_node(const gsa_looker *l, const gsa_schema *schema, int kind, int64_t index,
                      const char *before, char *line)
{
    const gsa_kind *k = gsa_schema_kind(schema, kind);
    if (gsa_learner_columns(&l->session.model, 0) == 0 &&
        (k->start == GSA_INPUT || k->start == GSA_COPY)) {
        show(line, before, l->session.batch.sequence[0].text[index]);
        return;
    }
    snprintf(line + strlen(line), LINE - strlen(line), "%s%s %lld", before, k->name,
             (long long)index);
}

typedef struct strong { /* the strongest edges of a row, falling */
    int count;
    double weight[SHOWN_EDGES];
    int kind[SHOWN_EDGES];
    int64_t source[SHOWN_EDGES];
} strong;

static void consider(strong *s, double weight, int kind, int64_t source)
{
    int at = s->count;
    while (at > 0 && s->weight[at - 1] < weight) at--;
    if (at == SHOWN_EDGES) return;
    if (s->count < SHOWN_EDGES) s->count++;
    for (int i = s->count - 1; i > at; i--)
        s->weight[i] = s->weight[i - 1], s->kind[i] = s->kind[i - 1],
        s->source[i] = s->source[i - 1];
    s->weight[at] = weight, s->kind[at] = kind, s->source[at] = source;
}

static strong strongest(const gsa_edges *edges, int64_t row, const double *weights, int64_t columns)
{
    strong s = { 0 };
    weights += edges->edge_offset[row] * columns;
    for (int64_t i = edges->run_offset[row]; i < edges->run_offset[row + 1]; i++) {
        const gsa_run *run = &edges->runs[i];
        for (int64_t j = 0; j < run->count; j++, weights += columns) {
            double mean = 0;
            for (int64_t h = 0; h < columns; h++) mean += weights[h] / (double)columns;
            consider(&s, mean, run->kind, run->first + j * run->step);
        }
    }
    return s;
}

/* One line a destination: "layer 1, up: relay 0 reads 'good' 0.410, 'film' 0.220, relay 0
 * 0.170". */
static void say_phase(const gsa_looker *l, int sheet, int phase)
{
    const gsa_picture_sheet *s = &l->sheets[sheet];
    const gsa_phase *x = gsa_schema_phase(s->schema, phase);
    const double *weights = s->weights[phase];
    const int several = gsa_stack_patterns(l->stack, s->layer) > 1;
    int64_t row = 0, shown = 0;
    gsa_edges edges;
    if (!weights || x->aggregate != GSA_ATTEND || x->per_head) return;
    gsa_instance_edges(s->instance, phase, &edges);
    for (int k = 0; k < gsa_schema_kinds(s->schema); k++)
        for (int64_t i = 0; x->destinations >> k & 1 && i < gsa_instance_nodes(s->instance, k);
             i++, row++) {
            char line[LINE];
            const strong best = strongest(&edges, row, weights, columns_of(s, phase));
            if (best.count == 0 || shown++ >= SHOWN_NODES) continue;
            snprintf(line, sizeof line, "layer %d, %s%s%.60s: ", s->layer,
                     several ? gsa_schema_topology(s->schema) : "", several ? "." : "", x->name);
            show_node(l, s->schema, k, i, "", line);
            for (int e = 0; e < best.count; e++) {
                show_node(l, s->schema, best.kind[e], best.source[e], e ? ", " : " reads ", line);
                snprintf(line + strlen(line), LINE - strlen(line), " %.3f", best.weight[e]);
            }
            say(l, line);
        }
}

static void say_last_layer(const gsa_looker *l)
{
    for (int i = 0; i < l->n_sheets; i++)
        for (int f = 0; l->sheets[i].layer == l->first_layer + l->layers - 1 &&
                        f < gsa_schema_phases(l->sheets[i].schema);
             f++)
            say_phase(l, i, f);
}

/* ---- the picture --------------------------------------------------------------------------- */

static gsa_status write(const gsa_looker *l, gsa_error *error)
{
    const gsa_session *s = &l->session;
    const gsa_picture_stack stack = { .text = gsa_learner_columns(&s->model, 0) > 0
                                                  ? NULL
                                                  : s->batch.sequence[0].text,
                                      .memory = -1 };
    const gsa_picture picture = { gsa_stack_text(l->stack), &stack, l->sheets, 1, l->n_sheets };
    gsa_output *output;
    gsa_status status =
        gsa_output_open(s->system, l->apply->output ? l->apply->output : "-", &output, error);
    if (status != GSA_OK) return status;
    status = gsa_write_picture(s->system, &picture, l->options->format, output, error);
    if (status == GSA_OK) return gsa_output_commit(output, error);
    gsa_output_abandon(output);
    return status;
}

static gsa_status look(gsa_looker *l, gsa_error *error)
{
    gsa_session *s = &l->session;
    l->stack = gsa_learner_encoder(&s->model);
    if (gsa_model_passes(s->model.net) > 1)
        return gsa_fail(error, GSA_ERR_UNSUPPORTED,
                        "the model executes %d stacks on an example (both texts of a pair, "
                        "characters of words, a decoder), and "
                        "a picture shows one",
                        gsa_model_passes(s->model.net));
    gsa_status status = choose_layers(l, error);
    if (status == GSA_OK) status = read_example(l, error);
    if (status == GSA_OK)
        status = s->task->fill(s->self, GSA_SPLIT_TEST, &l->example, 1, &s->batch, error);
    if (status == GSA_OK) status = allocate(l, error);
    if (status == GSA_OK) status = make_sheets(l, error);
    if (status == GSA_OK) status = compute(l, error);
    if (status == GSA_OK) status = write(l, error);
    if (status != GSA_OK) return status;
    say_unknown(l);
    say_last_layer(l);
    return GSA_OK;
}

static void release(gsa_looker *l)
{
    const gsa_system *system = l->session.system;
    for (int i = 0; l->instance && i < l->n_sheets; i++) gsa_instance_release(l->instance[i]);
    for (int i = 0; l->weights && i < l->n_sheets * GSA_MAX_PHASES; i++)
        gsa_release(system, (void *)(uintptr_t)l->weights[i]); /* ours: read_weights made them */
    void *const all[] = { l->sheets, l->pattern, l->place, l->instance, l->weights, l->watched };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) gsa_release(system, all[i]);
    gsa_session_release(&l->session);
}

gsa_status gsa_attend(const gsa_system *system, const gsa_apply_options *options,
                      const gsa_attend_options *attend, gsa_error *error)
{
    gsa_looker looker = { .apply = options, .options = attend };
    const uint32_t splits = attend->text ? 0 : 1u << GSA_SPLIT_TEST;
    const gsa_plain plain = gsa_plain_begin();
    gsa_status status = gsa_apply_open(system ? system : gsa_system_default(), options, splits,
                                       &looker.session, error);
    if (status == GSA_OK) {
        status = look(&looker, error);
        release(&looker);
    }
    gsa_plain_end(plain);
    return status;
}
