/* plug.c - invented patterns as topologies of the public ABI. */
#include "invent.h"
#include <string.h>

static int plug_create(const gsa_host *host, const gsa_value *params, void **self)
{
    const void *found = host->service(host, ORACLE_SERVICE);
    if (!found) return host->fail(host, "no service '" ORACLE_SERVICE "'");
    const oracle_pattern *pattern = &((const oracle_model *)found)->pattern[params[0].i];
    memcpy(self, &pattern, sizeof pattern); /* self is never written through */
    return 0;
}

static void describe_phase(const oracle_phase *x, gsa_describer *d)
{
    const gsa_phase phase = { .struct_size = sizeof phase,
                              .when = x->when,
                              .aggregate = x->aggregate,
                              .update = x->update,
                              .empty = x->empty,
                              .label_use = x->label_use,
                              .labels = x->labels,
                              .per_head = x->per_head,
                              .together = x->together,
                              .sources = x->sources,
                              .destinations = x->destinations,
                              .name = x->name,
                              .weights = x->weights[0] ? x->weights : NULL };
    d->phase(d, &phase);
}

static void plug_describe(const void *self, gsa_describer *d)
{
    const oracle_pattern *pattern = self;
    const oracle_stack *stack = &pattern->model->stack[pattern->stack];
    for (int k = 0; k < pattern->kinds; k++) {
        const oracle_kind *x = &stack->kind[pattern->kind[k]];
        const gsa_kind kind = {
            .struct_size = sizeof kind, .start = x->start, .learned = x->learned, .name = x->name
        };
        d->kind(d, &kind);
    }
    for (int p = 0; p < pattern->phases; p++) describe_phase(&pattern->phase[p], d);
    d->sequence(d, pattern->sequence);
    for (int i = 0; i < pattern->pools; i++)
        d->summary(d, pattern->pool[i].kind, pattern->pool[i].pool, pattern->pool[i].weight);
    d->promise(d, GSA_DUPLICATES | (pattern->model->by_length ? (uint32_t)GSA_BY_LENGTH : 0u),
               GSA_LINEAR_EDGES);
}

static void plug_emit(const void *self, const gsa_example *example, gsa_emitter *e)
{
    const oracle_pattern *pattern = self;
    oracle_graph graph = oracle_invent_graph(pattern->model, pattern, example);
    for (int i = 0; i < graph.events; i++) {
        const oracle_event *x = &graph.event[i];
        const oracle_run *run = &x->run;
        if (x->what == ORACLE_ADD_NODES) e->nodes(e, x->kind, x->count);
        else if (x->what == ORACLE_NAME_SUMMARY) e->summary(e, gsa_at(x->kind, x->count));
        else
            e->run(e, run->phase, gsa_at(run->from_kind, run->from), run->count, run->step,
                   gsa_at(run->to_kind, run->to), run->label, run->label_step);
    }
    oracle_forget_graph(&graph);
}

static const char *const numbers[ORACLE_PATTERNS] = { "0", "1", "2", "3", "4",  "5",
                                                      "6", "7", "8", "9", "10", "11" };

void oracle_plug(oracle_model *model)
{
    for (int p = 0; p < model->patterns; p++) {
        model->param[p] = (gsa_param){ .name = "number",
                                       .type = GSA_INT,
                                       .low = 0,
                                       .high = ORACLE_PATTERNS - 1,
                                       .fallback = numbers[p],
                                       .doc = "Which pattern of the model." };
        model->topology[p] = (gsa_topology){ .abi = GSA_ABI,
                                             .struct_size = sizeof(gsa_topology),
                                             .param_stride = sizeof(gsa_param),
                                             .n_params = 1,
                                             .id = model->pattern[p].id,
                                             .summary = "A random pattern.",
                                             .reference = "none",
                                             .params = &model->param[p],
                                             .create = plug_create,
                                             .describe = plug_describe,
                                             .emit = plug_emit };
    }
}
