/* model.c - a model is made: names become places, passes an order, what passes read becomes taps of
 * the stacks. */
#include "model_parts.h"
#include <stdio.h>
#include <string.h>
#include "topologies/words.h"

enum { LIST = 512 };

/* ---- names --------------------------------------------------------------------------------- */
static const char *pass_name(const gsa_model_pass *pass)
{
    return pass->name ? pass->name : pass->stack;
}
static const char *name_of_sequence(const void *options, int i)
{
    return ((const gsa_model_options *)options)->sequences[i];
}
static const char *name_of_stack(const void *options, int i)
{
    return ((const gsa_model_options *)options)->stacks[i].name;
}
static const char *name_of_pass(const void *options, int i)
{
    return pass_name(&((const gsa_model_options *)options)->passes[i]);
}

static const struct sort {
    const char *word, *words;
    gsa_word_at *at;
} sequence_names = { "sequence", "sequences", name_of_sequence },
  stack_names = { "stack", "stacks", name_of_stack },
  pass_names = { "pass", "passes", name_of_pass };

static int count_of(const gsa_model_options *o, const struct sort *sort)
{
    return sort == &sequence_names ? o->n_sequences
           : sort == &stack_names  ? o->n_stacks
                                   : o->n_passes;
}

static gsa_status check_names(const gsa_model_options *o, const struct sort *sort, gsa_error *error)
{
    char shown[GSA_SHOWN];
    const int count = count_of(o, sort);
    if (count < 1 || count > GSA_MODEL_MOST)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "a model of %d %s: 1 to %d are possible", count,
                        sort->words, GSA_MODEL_MOST);
    for (int i = 0; i < count; i++) {
        const char *name = sort->at(o, i);
        if (!name || !*name)
            return gsa_fail(error, GSA_ERR_ARGUMENT, "%s %d of the model has no name", sort->word,
                            i);
        for (int k = 0; k < i; k++)
            if (strcmp(sort->at(o, k), name) == 0)
                return gsa_fail(error, GSA_ERR_ARGUMENT, "two %s of the model are named %s%s",
                                sort->words, gsa_word_show(name, shown),
                                sort == &pass_names ? ": name the passes of a stack apart" : "");
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
    return gsa_fail(error, GSA_ERR_ARGUMENT, "pass '%s' names the unknown %s %s; %s", reader,
                    sort->word, gsa_word_show(name, shown), list);
}

/* ---- passes ---------------------------------------------------------------------------------- */
static int layers_of(const gsa_stack_spec *spec)
{
    int layers = 0;
    for (int s = 0; s < spec->n_segments; s++) layers += spec->segments[s].layers;
    return layers;
}

/* `what` is "input" or "memory". Reading after the last layer is reading the final sequence. */
static gsa_status resolve_link(const gsa_model_options *o, const gsa_model_pass *pass,
                               const char *what, const char *name, int after, gsa_model_link *link,
                               gsa_error *error)
{
    int stack;
    *link = (gsa_model_link){ -1, -1 };
    if (!name && after != 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "pass '%s': %s_after = %d without %s",
                        pass_name(pass), what, after, what);
    if (!name) return GSA_OK;
    gsa_status status = find(o, &pass_names, name, pass_name(pass), &link->pass, error);
    if (status == GSA_OK)
        status = find(o, &stack_names, o->passes[link->pass].stack, name, &stack, error);
    if (status != GSA_OK) return status;
    const gsa_model_stack *read = &o->stacks[stack];
    const int layers = layers_of(read->spec);
    if (after < 0 || after > layers)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "pass '%s': %s_after = %d, but stack '%s' of pass '%s' has %d layers",
                        pass_name(pass), what, after, read->name, name, layers);
    if (after != 0 && after != layers) link->layer = after - 1;
    return GSA_OK;
}

static gsa_status check_link(const gsa_model_options *o, const gsa_model *m, int r,
                             const char *what, int other, gsa_error *error)
{
    if (other < 0) return GSA_OK;
    const gsa_settings *own = o->stacks[m->pass[r].stack].settings,
                       *read = o->stacks[m->pass[other].stack].settings;
    if (own->hidden == read->hidden) return GSA_OK;
    return gsa_fail(error, GSA_ERR_ARGUMENT,
                    "pass '%s' has hidden = %d, but its %s, pass '%s', has hidden = %d",
                    m->pass[r].name, own->hidden, what, m->pass[other].name, read->hidden);
}

static gsa_status resolve_pass(const gsa_model_options *o, gsa_model *m, int r, gsa_error *error)
{
    const gsa_model_pass *from = &o->passes[r];
    gsa_model_place *pass = &m->pass[r];
    gsa_status status = find(o, &stack_names, from->stack, pass_name(from), &pass->stack, error);
    if (status == GSA_OK)
        status = find(o, &sequence_names, from->sequence, pass_name(from), &pass->sequence, error);
    if (status == GSA_OK)
        status =
            resolve_link(o, from, "input", from->input, from->input_after, &pass->input, error);
    if (status == GSA_OK)
        status =
            resolve_link(o, from, "memory", from->memory, from->memory_after, &pass->memory, error);
    if (status != GSA_OK) return status;
    pass->name = gsa_copy_text(m->system, pass_name(from));
    if (!pass->name)
        return gsa_out_of_memory(error, "a pass's name", (int64_t)strlen(pass_name(from)) + 1);
    m->n_passes++;
    for (int k = 0; k < r; k++) pass->range += m->pass[k].stack == pass->stack;
    int *ranges = &m->ranges[pass->sequence];
    const int most = pass->range > pass->sequence
                         ? pass->range
                         : pass->sequence; /* its input takes the sequence's place */
    if (most >= *ranges) *ranges = most + 1;
    return GSA_OK;
}

static gsa_status resolve_passes(const gsa_model_options *o, gsa_model *m, gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int r = 0; r < o->n_passes && status == GSA_OK; r++) status = resolve_pass(o, m, r, error);
    for (int r = 0; r < m->n_passes && status == GSA_OK; r++) {
        const gsa_model_place *pass = &m->pass[r];
        if (pass->input.pass >= 0 && m->pass[pass->input.pass].sequence != pass->sequence)
            return gsa_fail(
                error, GSA_ERR_ARGUMENT,
                "pass '%s' on sequence '%s' cannot start from pass '%s', which is on '%s'",
                pass->name, o->sequences[pass->sequence], m->pass[pass->input.pass].name,
                o->sequences[m->pass[pass->input.pass].sequence]);
        status = check_link(o, m, r, "input", pass->input.pass, error);
        if (status == GSA_OK) status = check_link(o, m, r, "memory", pass->memory.pass, error);
    }
    return status;
}

/* ---- stacks -------------------------------------------------------------------------------- */
/* What the caller and the passes read of stack s: marks[layer] for taps. Returns gsa_readout_use.
 */
static uint32_t mark_reads(const gsa_model_options *o, const gsa_model *m, int s, uint8_t *marks)
{
    uint32_t reads = o->stacks[s].reads;
    for (int t = 0; t < o->stacks[s].n_taps; t++) marks[o->stacks[s].taps[t]] = 1;
    for (int r = 0; r < m->n_passes; r++) {
        const gsa_model_link links[] = { m->pass[r].input, m->pass[r].memory };
        for (int i = 0; i < 2; i++) {
            if (links[i].pass < 0 || m->pass[links[i].pass].stack != s) continue;
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
                        "of stack '%s' nothing is read, neither by the task nor by a pass",
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
    for (int r = 0; r < m->n_passes; r++) {
        const gsa_model_place *pass = &m->pass[r];
        const gsa_stack *stack = m->stack[pass->stack];
        if (gsa_stack_reads_memory(stack) && pass->memory.pass < 0)
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "stack %s (%s) reads a memory, but pass '%s' binds none", stack->name,
                            stack->text, pass->name);
        if (!gsa_stack_reads_memory(stack) && pass->memory.pass >= 0)
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "pass '%s' binds pass '%s' as memory, but stack %s (%s) reads none",
                            pass->name, m->pass[pass->memory.pass].name, stack->name, stack->text);
    }
    return GSA_OK;
}

/* ---- order: of the halves whose readings are done, the first in the list ------------------- */
/* Half 2 r is the layers of pass r that come before it reads its memory, half 2 r + 1 the rest. */
static int half_of(const gsa_model *m, gsa_model_link link)
{
    return 2 * link.pass + !(link.layer >= 0 && link.layer < m->early[link.pass]);
}

static int waits_for(const gsa_model *m, int half, const int *done)
{
    const gsa_model_place *pass = &m->pass[half / 2];
    const int rest = half % 2,
              first = !rest || m->early[half / 2] == 0; /* the half that starts the pass */
    if (!first && !done[half - 1]) return half - 1;
    if (first && pass->input.pass >= 0 && !done[half_of(m, pass->input)])
        return half_of(m, pass->input);
    if (rest && pass->memory.pass >= 0 && !done[half_of(m, pass->memory)])
        return half_of(m, pass->memory);
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
    int used = snprintf(way, sizeof way, "%s", m->pass[at / 2].name);
    for (int last = at, next = waits_for(m, at, done); used < LIST;
         last = next, next = waits_for(m, next, done)) {
        if (next / 2 != last / 2 || next == at)
            used +=
                snprintf(way + used, sizeof way - (size_t)used, " -> %s", m->pass[next / 2].name);
        if (next == at) break;
    }
    return gsa_fail(error, GSA_ERR_ARGUMENT, "the model's passes read each other in a circle: %s",
                    way);
}

static gsa_status order_passes(gsa_model *m, gsa_error *error)
{
    int done[2 * GSA_MODEL_MOST] = { 0 }, left = 2 * m->n_passes;
    for (int r = 0; r < m->n_passes; r++) {
        const int layer =
            m->pass[r].memory.pass >= 0 ? gsa_stack_memory_layer(m->stack[m->pass[r].stack]) : 0;
        m->early[r] = layer;
        if (layer == 0) done[2 * r] = 1, left--;
    }
    for (; left > 0; left--) {
        int next = 0;
        while (next < 2 * m->n_passes && (done[next] || waits_for(m, next, done) >= 0)) next++;
        if (next == 2 * m->n_passes) return say_circle(m, done, error);
        done[m->order[m->n_order++] = next] = 1;
    }
    return GSA_OK;
}

/* A memory of tokens is as long as its sequence; one of other nodes is as long as its pass's batch
 * says, which is built before. */
static gsa_status order_batches(gsa_model *m, gsa_error *error)
{
    int done[GSA_MODEL_MOST] = { 0 };
    for (int placed = 0; placed < m->n_passes; placed++) {
        int next = 0, waiting = 0;
        for (; next < m->n_passes; next++) {
            const int read = m->pass[next].memory.pass;
            if (done[next]) continue;
            if (read < 0 || done[read] ||
                gsa_stack_sequence_kind(m->stack[m->pass[read].stack]).by_token)
                break;
            waiting = next;
        }
        if (next == m->n_passes)
            return gsa_fail(
                error, GSA_ERR_ARGUMENT,
                "pass '%s' reads pass '%s', whose sequence is not of tokens, in a circle",
                m->pass[waiting].name, m->pass[m->pass[waiting].memory.pass].name);
        done[m->build[placed] = next] = 1;
    }
    return GSA_OK;
}

/* ---- life ---------------------------------------------------------------------------------- */
static gsa_status check_used(const gsa_model_options *o, const gsa_model *m, gsa_error *error)
{
    int stack[GSA_MODEL_MOST] = { 0 }, sequence[GSA_MODEL_MOST] = { 0 };
    for (int r = 0; r < m->n_passes; r++)
        stack[m->pass[r].stack] = sequence[m->pass[r].sequence] = 1;
    for (int s = 0; s < o->n_stacks; s++)
        if (!stack[s])
            return gsa_fail(error, GSA_ERR_ARGUMENT, "stack '%s' is in no pass of the model",
                            o->stacks[s].name);
    for (int s = 0; s < o->n_sequences; s++)
        if (!sequence[s])
            return gsa_fail(error, GSA_ERR_ARGUMENT, "no pass of the model is on sequence '%s'",
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
    if (status == GSA_OK) status = check_names(o, &pass_names, error);
    if (status == GSA_OK) status = copy_sequences(o, m, error);
    if (status == GSA_OK) status = resolve_passes(o, m, error);
    if (status == GSA_OK) status = check_used(o, m, error);
    if (status == GSA_OK) status = create_stacks(registry, o, m, parameters, error);
    if (status == GSA_OK) status = check_memories(m, error);
    if (status == GSA_OK) status = order_passes(m, error);
    return status == GSA_OK ? order_batches(m, error) : status;
}

gsa_status gsa_model_create(const gsa_system *system, const gsa_registry *registry,
                            const gsa_model_options *options, gsa_parameters *parameters,
                            gsa_model **model, gsa_error *error)
{
    gsa_model *made = gsa_alloc_zero(system, 1, sizeof *made);
    if (!made) return gsa_out_of_memory(error, "a model", (int64_t)sizeof *made);
    made->system = system;
    made->apart = !gsa_parameters_backend(parameters)->shares_host_memory;
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
    for (int r = 0; r < model->n_passes; r++) gsa_release(model->system, model->pass[r].name);
    gsa_release(model->system, model);
}

int gsa_model_passes(const gsa_model *model)
{
    return model->n_passes;
}

int gsa_model_sequences(const gsa_model *model)
{
    return model->n_sequences;
}

int gsa_model_find_pass(const gsa_model *model, const char *name)
{
    for (int r = 0; r < model->n_passes; r++)
        if (strcmp(model->pass[r].name, name) == 0) return r;
    return -1;
}

int gsa_model_find_sequence(const gsa_model *model, const char *name)
{
    for (int s = 0; s < model->n_sequences; s++)
        if (strcmp(model->sequence[s], name) == 0) return s;
    return -1;
}

const char *gsa_model_pass_name(const gsa_model *model, int pass)
{
    return pass < 0 || pass >= model->n_passes ? NULL : model->pass[pass].name;
}

const gsa_stack *gsa_model_stack_of(const gsa_model *model, int pass)
{
    return pass < 0 || pass >= model->n_passes ? NULL : model->stack[model->pass[pass].stack];
}

uint32_t gsa_model_sites(const gsa_model *model)
{
    return gsa_stack_sites(model->stack[model->n_stacks - 1]);
}
