/* model.c - a model is made: names become places, runs an order, what runs read becomes taps of the
 * stacks. */
#include "model_parts.h"
#include <stdio.h>
#include <string.h>
#include "topologies/words.h"

enum { LIST = 512 };

/* ---- names --------------------------------------------------------------------------------- */
static const char *run_name(const gsa_model_run *run)
{
    return run->name ? run->name : run->stack;
}
static const char *name_of_sequence(const void *options, int i)
{
    return ((const gsa_model_options *)options)->sequences[i];
}
static const char *name_of_stack(const void *options, int i)
{
    return ((const gsa_model_options *)options)->stacks[i].name;
}
static const char *name_of_run(const void *options, int i)
{
    return run_name(&((const gsa_model_options *)options)->runs[i]);
}

static const struct sort {
    const char *word;
    gsa_word_at *at;
} sequence_names = { "sequence", name_of_sequence }, stack_names = { "stack", name_of_stack },
  run_names = { "run", name_of_run };

static int count_of(const gsa_model_options *o, const struct sort *sort)
{
    return sort == &sequence_names ? o->n_sequences
           : sort == &stack_names  ? o->n_stacks
                                   : o->n_runs;
}

static gsa_status check_names(const gsa_model_options *o, const struct sort *sort, gsa_error *error)
{
    char shown[GSA_SHOWN];
    const int count = count_of(o, sort);
    if (count < 1 || count > GSA_MODEL_MOST)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "a model of %d %ss: 1 to %d are possible", count,
                        sort->word, GSA_MODEL_MOST);
    for (int i = 0; i < count; i++) {
        const char *name = sort->at(o, i);
        if (!name || !*name)
            return gsa_fail(error, GSA_ERR_ARGUMENT, "%s %d of the model has no name", sort->word,
                            i);
        for (int k = 0; k < i; k++)
            if (strcmp(sort->at(o, k), name) == 0)
                return gsa_fail(error, GSA_ERR_ARGUMENT, "two %ss of the model are named %s%s",
                                sort->word, gsa_word_show(name, shown),
                                sort == &run_names ? ": name the runs of a stack apart" : "");
    }
    return GSA_OK;
}

/* The place of `name`, or a sentence that lists the known ones. */
static gsa_status find(const gsa_model_options *o, const struct sort *sort, const char *name,
                       const char *reader, int *place, gsa_error *error)
{
    char shown[GSA_SHOWN], list[LIST];
    if (name)
        for (*place = 0; *place < count_of(o, sort); ++*place)
            if (strcmp(sort->at(o, *place), name) == 0) return GSA_OK;
    gsa_word_list(list, sizeof list, sort->at, o, count_of(o, sort), name ? name : "");
    return gsa_fail(error, GSA_ERR_ARGUMENT, "run '%s' names the unknown %s %s; %s", reader,
                    sort->word, gsa_word_show(name, shown), list);
}

/* ---- runs ---------------------------------------------------------------------------------- */
static int layers_of(const gsa_stack_spec *spec)
{
    int layers = 0;
    for (int s = 0; s < spec->n_segments; s++) layers += spec->segments[s].layers;
    return layers;
}

/* `what` is "input" or "memory". Reading after the last layer is reading the final sequence. */
static gsa_status resolve_link(const gsa_model_options *o, const gsa_model_run *run,
                               const char *what, const char *name, int after, gsa_model_link *link,
                               gsa_error *error)
{
    int stack;
    *link = (gsa_model_link){ -1, -1 };
    if (!name && after != 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "run '%s': %s_after = %d without %s",
                        run_name(run), what, after, what);
    if (!name) return GSA_OK;
    gsa_status status = find(o, &run_names, name, run_name(run), &link->run, error);
    if (status == GSA_OK)
        status = find(o, &stack_names, o->runs[link->run].stack, name, &stack, error);
    if (status != GSA_OK) return status;
    const gsa_model_stack *read = &o->stacks[stack];
    const int layers = layers_of(read->spec);
    if (after < 0 || after > layers)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "run '%s': %s_after = %d, but stack '%s' of run '%s' has %d layers",
                        run_name(run), what, after, read->name, name, layers);
    if (after != 0 && after != layers) link->layer = after - 1;
    return GSA_OK;
}

static gsa_status check_link(const gsa_model_options *o, const gsa_model *m, int r,
                             const char *what, int other, gsa_error *error)
{
    if (other < 0) return GSA_OK;
    const gsa_settings *own = o->stacks[m->run[r].stack].settings,
                       *read = o->stacks[m->run[other].stack].settings;
    if (own->hidden == read->hidden) return GSA_OK;
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "run '%s' has hidden = %d, but its %s, run '%s', has hidden = %d",
                    m->run[r].name, own->hidden, what, m->run[other].name, read->hidden);
}

static gsa_status resolve_run(const gsa_model_options *o, gsa_model *m, int r, gsa_error *error)
{
    const gsa_model_run *from = &o->runs[r];
    gsa_model_place *run = &m->run[r];
    gsa_status status = find(o, &stack_names, from->stack, run_name(from), &run->stack, error);
    if (status == GSA_OK)
        status = find(o, &sequence_names, from->sequence, run_name(from), &run->sequence, error);
    if (status == GSA_OK)
        status = resolve_link(o, from, "input", from->input, from->input_after, &run->input, error);
    if (status == GSA_OK)
        status =
            resolve_link(o, from, "memory", from->memory, from->memory_after, &run->memory, error);
    if (status != GSA_OK) return status;
    run->name = gsa_copy_text(m->system, run_name(from));
    if (!run->name)
        return gsa_out_of_memory(error, "a run's name", (int64_t)strlen(run_name(from)) + 1);
    m->n_runs++;
    for (int k = 0; k < r; k++) run->range += m->run[k].stack == run->stack;
    int *ranges = &m->ranges[run->sequence];
    const int most = run->range > run->sequence
                         ? run->range
                         : run->sequence; /* its input takes the sequence's place */
    if (most >= *ranges) *ranges = most + 1;
    return GSA_OK;
}

static gsa_status resolve_runs(const gsa_model_options *o, gsa_model *m, gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int r = 0; r < o->n_runs && status == GSA_OK; r++) status = resolve_run(o, m, r, error);
    for (int r = 0; r < m->n_runs && status == GSA_OK; r++) {
        const gsa_model_place *run = &m->run[r];
        if (run->input.run >= 0 && m->run[run->input.run].sequence != run->sequence)
            return gsa_fail(
                error, GSA_ERR_ARGUMENT,
                "run '%s' on sequence '%s' cannot start from run '%s', which is on '%s'", run->name,
                o->sequences[run->sequence], m->run[run->input.run].name,
                o->sequences[m->run[run->input.run].sequence]);
        status = check_link(o, m, r, "input", run->input.run, error);
        if (status == GSA_OK) status = check_link(o, m, r, "memory", run->memory.run, error);
    }
    return status;
}

/* ---- stacks -------------------------------------------------------------------------------- */
/* What the caller and the runs read of stack s: marks[layer] for taps. Returns gsa_readout_use. */
static uint32_t mark_reads(const gsa_model_options *o, const gsa_model *m, int s, uint8_t *marks)
{
    uint32_t reads = o->stacks[s].reads;
    for (int t = 0; t < o->stacks[s].n_taps; t++) marks[o->stacks[s].taps[t]] = 1;
    for (int r = 0; r < m->n_runs; r++) {
        const gsa_model_link links[] = { m->run[r].input, m->run[r].memory };
        for (int i = 0; i < 2; i++) {
            if (links[i].run < 0 || m->run[links[i].run].stack != s) continue;
            if (links[i].layer >= 0) marks[links[i].layer] = 1;
            else reads |= GSA_READ_SEQUENCE;
        }
    }
    return reads;
}

static gsa_status check_taps(const gsa_model_stack *stack, int layers, gsa_error *error)
{
    for (int t = 0; t < stack->n_taps; t++)
        if (stack->taps[t] < 0 || stack->taps[t] >= layers)
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "stack %s: tap %d must be a layer from 0 to %d", stack->name,
                            stack->taps[t], layers - 1);
    return GSA_OK;
}

static gsa_status create_stack(const gsa_registry *registry, const gsa_model_options *o,
                               gsa_model *m, int s, uint8_t *marks, int *taps,
                               gsa_parameters *parameters, gsa_error *error)
{
    const gsa_model_stack *from = &o->stacks[s];
    const int layers = layers_of(from->spec);
    gsa_stack_options options = { .name = from->name, .taps = taps };
    const gsa_status status = check_taps(from, layers, error);
    if (status != GSA_OK) return status;
    options.first_site = s == 0 ? o->first_site : gsa_stack_sites(m->stack[s - 1]);
    options.reads = mark_reads(o, m, s, marks);
    for (int layer = 0; layer < layers; layer++)
        if (marks[layer]) taps[options.n_taps++] = layer;
    if (!options.reads && !options.n_taps)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "of stack '%s' nothing is read, neither by the task nor by a run",
                        from->name);
    return gsa_stack_create(m->system, registry, from->spec, from->settings, &options, parameters,
                            &m->stack[s], error);
}

static gsa_status create_stacks(const gsa_registry *registry, const gsa_model_options *o,
                                gsa_model *m, gsa_parameters *parameters, gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int s = 0; s < o->n_stacks && status == GSA_OK; s++) {
        const size_t layers = (size_t)layers_of(o->stacks[s].spec);
        uint8_t *marks = gsa_alloc_zero(m->system, layers, sizeof *marks);
        int *taps = gsa_alloc_zero(m->system, layers, sizeof *taps);
        status = marks && taps
                     ? create_stack(registry, o, m, s, marks, taps, parameters, error)
                     : gsa_out_of_memory(error, "a model's taps", (int64_t)(layers * sizeof *taps));
        gsa_release(m->system, marks);
        gsa_release(m->system, taps);
        m->n_stacks += status == GSA_OK;
    }
    return status;
}

static gsa_status check_memories(const gsa_model *m, gsa_error *error)
{
    for (int r = 0; r < m->n_runs; r++) {
        const gsa_model_place *run = &m->run[r];
        const gsa_stack *stack = m->stack[run->stack];
        if (gsa_stack_reads_memory(stack) && run->memory.run < 0)
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "stack %s (%s) reads a memory, but run '%s' binds none", stack->name,
                            stack->text, run->name);
        if (!gsa_stack_reads_memory(stack) && run->memory.run >= 0)
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "run '%s' binds run '%s' as memory, but stack %s (%s) reads none",
                            run->name, m->run[run->memory.run].name, stack->name, stack->text);
    }
    return GSA_OK;
}

/* ---- order: of the halves whose readings are done, the first in the list ------------------- */
/* Half 2 r is the layers of run r that come before it reads its memory, half 2 r + 1 the rest. */
static int half_of(const gsa_model *m, gsa_model_link link)
{
    return 2 * link.run + !(link.layer >= 0 && link.layer < m->early[link.run]);
}

static int waits_for(const gsa_model *m, int half, const int *done)
{
    const gsa_model_place *run = &m->run[half / 2];
    const int rest = half % 2,
              first = !rest || m->early[half / 2] == 0; /* the half that starts the run */
    if (!first && !done[half - 1]) return half - 1;
    if (first && run->input.run >= 0 && !done[half_of(m, run->input)])
        return half_of(m, run->input);
    if (rest && run->memory.run >= 0 && !done[half_of(m, run->memory)])
        return half_of(m, run->memory);
    return -1;
}

/* Some half waits for itself by way of others: walk until one comes again, and show the way from
 * there. */
static gsa_status say_circle(const gsa_model *m, const int *done, gsa_error *error)
{
    char way[LIST];
    int seen[2 * GSA_MODEL_MOST] = { 0 }, at = 0;
    while (done[at]) at++;
    while (!seen[at]++) at = waits_for(m, at, done);
    int used = snprintf(way, sizeof way, "%s", m->run[at / 2].name);
    for (int last = at, next = waits_for(m, at, done); used < LIST;
         last = next, next = waits_for(m, next, done)) {
        if (next / 2 != last / 2 || next == at)
            used +=
                snprintf(way + used, sizeof way - (size_t)used, " -> %s", m->run[next / 2].name);
        if (next == at) break;
    }
    return gsa_fail(error, GSA_ERR_ARGUMENT, "the model's runs read each other in a circle: %s",
                    way);
}

static gsa_status order_runs(gsa_model *m, gsa_error *error)
{
    int done[2 * GSA_MODEL_MOST] = { 0 }, left = 2 * m->n_runs;
    for (int r = 0; r < m->n_runs; r++) {
        const int layer =
            m->run[r].memory.run >= 0 ? gsa_stack_memory_layer(m->stack[m->run[r].stack]) : 0;
        m->early[r] = layer;
        if (layer == 0) done[2 * r] = 1, left--;
    }
    for (; left > 0; left--) {
        int next = 0;
        while (next < 2 * m->n_runs && (done[next] || waits_for(m, next, done) >= 0)) next++;
        if (next == 2 * m->n_runs) return say_circle(m, done, error);
        done[m->order[m->n_order++] = next] = 1;
    }
    return GSA_OK;
}

/* A memory of tokens is as long as its sequence; one of other nodes is as long as its run's batch
 * says, which is built before. */
static gsa_status order_batches(gsa_model *m, gsa_error *error)
{
    int done[GSA_MODEL_MOST] = { 0 };
    for (int placed = 0; placed < m->n_runs; placed++) {
        int next = 0, waiting = 0;
        for (; next < m->n_runs; next++) {
            const int read = m->run[next].memory.run;
            if (done[next]) continue;
            if (read < 0 || done[read] ||
                gsa_stack_sequence_kind(m->stack[m->run[read].stack]).by_token)
                break;
            waiting = next;
        }
        if (next == m->n_runs)
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "run '%s' reads run '%s', whose sequence is not of tokens, in a circle",
                            m->run[waiting].name, m->run[m->run[waiting].memory.run].name);
        done[m->build[placed] = next] = 1;
    }
    return GSA_OK;
}

/* ---- life ---------------------------------------------------------------------------------- */
static gsa_status check_used(const gsa_model_options *o, const gsa_model *m, gsa_error *error)
{
    int stack[GSA_MODEL_MOST] = { 0 }, sequence[GSA_MODEL_MOST] = { 0 };
    for (int r = 0; r < m->n_runs; r++) stack[m->run[r].stack] = sequence[m->run[r].sequence] = 1;
    for (int s = 0; s < o->n_stacks; s++)
        if (!stack[s])
            return gsa_fail(error, GSA_ERR_ARGUMENT, "stack '%s' is in no run of the model",
                            o->stacks[s].name);
    for (int s = 0; s < o->n_sequences; s++)
        if (!sequence[s])
            return gsa_fail(error, GSA_ERR_ARGUMENT, "no run of the model is on sequence '%s'",
                            o->sequences[s]);
    return GSA_OK;
}

static gsa_status copy_sequences(const gsa_model_options *o, gsa_model *m, gsa_error *error)
{
    for (int s = 0; s < o->n_sequences; s++) {
        m->sequence[s] = gsa_copy_text(m->system, o->sequences[s]);
        if (!m->sequence[s])
            return gsa_out_of_memory(error, "a sequence's name",
                                     (int64_t)strlen(o->sequences[s]) + 1);
        m->n_sequences++;
    }
    return GSA_OK;
}

static gsa_status build(const gsa_registry *registry, const gsa_model_options *o, gsa_model *m,
                        gsa_parameters *parameters, gsa_error *error)
{
    gsa_status status = check_names(o, &sequence_names, error);
    if (status == GSA_OK) status = check_names(o, &stack_names, error);
    if (status == GSA_OK) status = check_names(o, &run_names, error);
    if (status == GSA_OK) status = copy_sequences(o, m, error);
    if (status == GSA_OK) status = resolve_runs(o, m, error);
    if (status == GSA_OK) status = check_used(o, m, error);
    if (status == GSA_OK) status = create_stacks(registry, o, m, parameters, error);
    if (status == GSA_OK) status = check_memories(m, error);
    if (status == GSA_OK) status = order_runs(m, error);
    return status == GSA_OK ? order_batches(m, error) : status;
}

gsa_status gsa_model_create(const gsa_system *system, const gsa_registry *registry,
                            const gsa_model_options *options, gsa_parameters *parameters,
                            gsa_model **model, gsa_error *error)
{
    gsa_model *made = gsa_alloc_zero(system, 1, sizeof *made);
    if (!made) return gsa_out_of_memory(error, "a model", (int64_t)sizeof *made);
    made->system = system;
    const gsa_status status = build(registry, options, made, parameters, error);
    if (status != GSA_OK) gsa_model_release(made);
    else *model = made;
    return status;
}

void gsa_model_release(gsa_model *model)
{
    if (!model) return;
    for (int s = 0; s < model->n_stacks; s++) gsa_stack_release(model->stack[s]);
    for (int s = 0; s < model->n_sequences; s++) gsa_release(model->system, model->sequence[s]);
    for (int r = 0; r < model->n_runs; r++) gsa_release(model->system, model->run[r].name);
    gsa_release(model->system, model);
}

int gsa_model_runs(const gsa_model *model)
{
    return model->n_runs;
}

int gsa_model_sequences(const gsa_model *model)
{
    return model->n_sequences;
}

int gsa_model_find_run(const gsa_model *model, const char *name)
{
    for (int r = 0; r < model->n_runs; r++)
        if (strcmp(model->run[r].name, name) == 0) return r;
    return -1;
}

int gsa_model_find_sequence(const gsa_model *model, const char *name)
{
    for (int s = 0; s < model->n_sequences; s++)
        if (strcmp(model->sequence[s], name) == 0) return s;
    return -1;
}

const char *gsa_model_run_name(const gsa_model *model, int run)
{
    return run < 0 || run >= model->n_runs ? NULL : model->run[run].name;
}

const gsa_stack *gsa_model_stack_of(const gsa_model *model, int run)
{
    return run < 0 || run >= model->n_runs ? NULL : model->stack[model->run[run].stack];
}

uint32_t gsa_model_sites(const gsa_model *model)
{
    return gsa_stack_sites(model->stack[model->n_stacks - 1]);
}
