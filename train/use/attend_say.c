/* attend_say.c - what a person needs to know of a text that was looked at, in sentences. */
#include <stdio.h>
#include <string.h>
#include "gsa/vocabulary.h"
#include "topologies/words.h"
#include "train/use/apply.h"
#include "train/use/looked.h"

enum { SHOWN_NODES = 12, SHOWN_EDGES = 3, SHOWN_WORDS = 8, LINE = 640 };

/* Appends text safe for a terminal. */
static void show(char line[LINE], const char *before, gsa_slice text)
{
    char word[GSA_SHOWN], shown[GSA_SHOWN];
    const size_t used = strlen(line);
    snprintf(word, sizeof word, "%.*s", (int)(text.bytes < 64 ? text.bytes : 64), text.at);
    snprintf(line + used, LINE - used, "%s%s", before, gsa_word_show(word, shown));
}

static void say_unknown(const gsa_looked *l, const gsa_apply_options *o)
{
    const gsa_minibatch_sequence *batch = &l->session->batch.sequence[l->sequence];
    char line[LINE] = "words that the model does not know:";
    int unknown = 0;
    if (!gsa_looked_text(l, 0) || !batch->id) return;
    for (int64_t i = 0; i < batch->tokens; i++) {
        if (batch->id[i] != GSA_WORD_UNKNOWN) continue;
        if (unknown++ < SHOWN_WORDS) show(line, unknown > 1 ? ", " : " ", batch->text[i]);
    }
    if (unknown > SHOWN_WORDS)
        snprintf(line + strlen(line), LINE - strlen(line), ", and %d more", unknown - SHOWN_WORDS);
    if (unknown > 0) gsa_apply_say((void *)(uintptr_t)o, line);
}

/* The node of a kind as people call it: its word, or "relay 0". */
static void show_node(const gsa_looked *l, const gsa_schema *schema, int kind, int64_t index,
                      const char *before, char *line)
{
    const gsa_kind *k = gsa_schema_kind(schema, kind);
    const gsa_slice *text = gsa_looked_text(l, 0);
    if (text && (k->start == GSA_INPUT || k->start == GSA_COPY)) {
        show(line, before, text[index]);
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

typedef struct teller {
    const gsa_looked *looked;
    const gsa_apply_options *options;
    int several; /* does the model run several passes, whose names tell them apart? */
} teller;

/* One line a destination: "layer 1, up: relay 0 reads 'good' 0.410, 'film' 0.220, relay 0
 * 0.170". */
static void say_phase(const teller *t, int sheet, int phase)
{
    const gsa_looked *l = t->looked;
    const gsa_looked_sheet *s = &l->sheet[sheet];
    const gsa_schema *schema = gsa_pattern_schema(s->pattern);
    const gsa_phase *x = gsa_schema_phase(schema, phase);
    const double *weights = gsa_looked_weights(l, sheet, 0)[phase];
    const gsa_instance *instance = gsa_looked_instance(l, sheet, 0);
    const int patterns = gsa_stack_patterns(l->stack, s->layer) > 1;
    int64_t row = 0, shown = 0;
    gsa_edges edges;
    if (!weights || x->aggregate != GSA_ATTEND || x->per_head) return;
    gsa_instance_edges(instance, phase, &edges);
    for (int k = 0; k < gsa_schema_kinds(schema); k++)
        for (int64_t i = 0; x->destinations >> k & 1 && i < gsa_instance_nodes(instance, k);
             i++, row++) {
            char line[LINE];
            const strong best =
                strongest(&edges, row, weights, gsa_looked_columns(l, sheet, phase));
            if (best.count == 0 || shown++ >= SHOWN_NODES) continue;
            snprintf(line, sizeof line, "%.40s%slayer %d, %s%s%.60s: ", t->several ? l->name : "",
                     t->several ? " " : "", s->layer, patterns ? gsa_schema_topology(schema) : "",
                     patterns ? "." : "", x->name);
            show_node(l, schema, k, i, "", line);
            for (int e = 0; e < best.count; e++) {
                show_node(l, schema, best.kind[e], best.source[e], e ? ", " : " reads ", line);
                snprintf(line + strlen(line), LINE - strlen(line), " %.3f", best.weight[e]);
            }
            gsa_apply_say((void *)(uintptr_t)t->options, line);
        }
}

void gsa_looked_say(const gsa_looked *l, const gsa_apply_options *options, int several)
{
    const teller t = { l, options, several };
    if (l->n_sheets == 0) return;
    say_unknown(l, options);
    for (int i = 0; i < l->n_sheets; i++)
        for (int f = 0; l->sheet[i].layer == l->sheet[l->n_sheets - 1].layer &&
                        f < gsa_schema_phases(gsa_pattern_schema(l->sheet[i].pattern));
             f++)
            say_phase(&t, i, f);
}
