#include "support/toy.h"
#include <stdlib.h>
#include <string.h>

/* ---- scripted ------------------------------------------------------------------------------ */

static void scripted_describe(const void *self, gsa_describer *describer)
{
    ((const gsa_script *)self)->describe(describer);
}

static void scripted_emit(const void *self, const gsa_example *example, gsa_emitter *emitter)
{
    const gsa_script *script = self;
    if (script->emit) script->emit(example, emitter);
}

const gsa_topology gsa_scripted = { .abi = GSA_ABI,
                                    .struct_size = sizeof(gsa_topology),
                                    .id = "scripted",
                                    .summary = "written in a test",
                                    .describe = scripted_describe,
                                    .emit = scripted_emit };

/* ---- random: schema ------------------------------------------------------------------------ */

static const char *const kind_names[] = { "token", "relay", "span", "word", "copy", "memory" };
static const char *const phase_names[] = { "first", "second", "third", "fourth", "fifth", "sixth" };

static uint64_t random_mask(gsa_dice *dice, uint64_t among)
{
    uint64_t mask = gsa_roll(dice) & among;
    while (!mask) mask = gsa_roll(dice) & among;
    return mask;
}

static void make_phase(gsa_toy *toy, gsa_dice *dice, int p, int32_t when, uint64_t destinations)
{
    gsa_phase *x = &toy->phase[p];
    *x = (gsa_phase){
        .struct_size = sizeof *x, .when = when, .destinations = destinations, .name = phase_names[p]
    };
    x->aggregate =
        (int32_t)gsa_between(dice, GSA_ATTEND, p == 0 || when == GSA_ONCE ? GSA_MEAN : GSA_NONE);
    static const int32_t updates[] = { GSA_SUBLAYER, GSA_RELU_NORM, GSA_NORM, GSA_LINEAR,
                                       GSA_ASSIGN };
    x->update = x->aggregate == GSA_NONE ? GSA_FFN : updates[gsa_between(dice, 0, 4)];
    if (x->aggregate == GSA_NONE) return;
    x->empty = (int32_t)gsa_between(dice, GSA_EMPTY_DEFAULT, GSA_KEEP_EMPTY);
    x->labels = (int32_t)gsa_between(dice, 0, 5);
    x->per_head = gsa_between(dice, 0, 3) == 0;
    x->label_use = x->aggregate == GSA_ATTEND ? (int32_t)gsa_between(dice, 0, 2) : GSA_NAMES_ONLY;
    x->sources = random_mask(dice, (UINT64_C(1) << toy->kinds) - 1);
}

void gsa_toy_make(gsa_toy *toy, uint64_t seed)
{
    gsa_dice dice = { seed };
    memset(toy, 0, sizeof *toy);
    toy->seed = seed;
    toy->kinds = (int)gsa_between(&dice, 1, 5);
    toy->phases = (int)gsa_between(&dice, 1, 4);
    toy->shuffled = (int)gsa_between(&dice, 0, 1);
    toy->flags = GSA_BY_LENGTH | GSA_DUPLICATES;
    uint64_t written = 1, by_phase = 0;
    toy->kind[0] = (gsa_kind){ sizeof(gsa_kind), GSA_INPUT, 0, 0, kind_names[0] };
    for (int k = 1; k < toy->kinds; k++) {
        const int32_t start = (int32_t)gsa_between(&dice, GSA_INPUT, GSA_MEMORY);
        toy->kind[k] = (gsa_kind){ sizeof(gsa_kind), start, 0, 0, kind_names[k] };
        if (start != GSA_COPY && start != GSA_MEMORY) written |= UINT64_C(1) << k;
        if (start == GSA_BY_PHASE) by_phase |= UINT64_C(1) << k;
    }
    for (int p = 0; p < toy->phases; p++)
        make_phase(toy, &dice, p, GSA_EACH_LAYER, random_mask(&dice, written));
    if (by_phase) make_phase(toy, &dice, toy->phases++, GSA_ONCE, by_phase);
}

static void toy_describe(const void *self, gsa_describer *d)
{
    const gsa_toy *toy = self;
    d->promise(d, toy->flags, GSA_LINEAR_EDGES);
    for (int k = 0; k < toy->kinds; k++) d->kind(d, &toy->kind[k]);
    for (int p = 0; p < toy->phases; p++) d->phase(d, &toy->phase[p]);
    d->sequence(d, 0);
    d->summary(d, 0, GSA_MEAN_OF, 1);
    d->summary(d, toy->kinds - 1, GSA_SUMMARY_NODE, 0.5);
}

/* ---- random: edges ------------------------------------------------------------------------- */

typedef struct emission {
    const gsa_toy *toy;
    gsa_emitter *emitter;
    gsa_dice dice;
    int64_t nodes[6];
    int64_t heads;
} emission;

static void keep(gsa_toy_log *log, gsa_toy_edge edge)
{
    if (log->count == log->capacity) {
        log->capacity = log->capacity ? 2 * log->capacity : 256;
        log->at = realloc(log->at, (size_t)log->capacity * sizeof *log->at);
        if (!log->at) abort();
    }
    log->at[log->count++] = edge;
}

static void say_run(emission *e, int p, int from_kind, int64_t first, int64_t count, int64_t step,
                    int to_kind, int64_t to, int32_t label, int32_t label_step)
{
    e->emitter->run(e->emitter, p, gsa_at(from_kind, first), count, step, gsa_at(to_kind, to),
                    label, label_step);
    for (int64_t i = 0; e->toy->log && i < count; i++)
        keep(e->toy->log, (gsa_toy_edge){ p, to_kind, from_kind, (int32_t)(label + i * label_step),
                                          to, first + i * step });
}

/* Some runs into one row; about half go on where the run before ended, so that they can be
 * joined. */
static void say_row(emission *e, int p, int to_kind, int64_t to)
{
    const gsa_phase *x = &e->toy->phase[p];
    const int64_t labels = x->labels ? x->labels : 1, scale = x->per_head ? e->heads : 1;
    int64_t next = -1, next_label = 0;
    int next_kind = 0;
    for (int64_t runs = gsa_between(&e->dice, 0, 3); runs > 0; runs--) {
        int kind = (int)gsa_between(&e->dice, 0, e->toy->kinds - 1);
        const int go_on = next >= 0 && gsa_between(&e->dice, 0, 1);
        if (go_on) kind = next_kind;
        const int64_t part = e->nodes[kind] * scale;
        if (!(x->sources >> kind & 1) || part == 0) continue;
        int64_t first = go_on ? next : gsa_between(&e->dice, 0, part - 1),
                count = gsa_between(&e->dice, 0, 5);
        int64_t step = go_on || gsa_between(&e->dice, 0, 1) ? 1 : gsa_between(&e->dice, -2, 2);
        int64_t label = go_on ? next_label : gsa_between(&e->dice, 0, labels - 1),
                label_step = gsa_between(&e->dice, -1, 1);
        if (first >= part || label < 0 || label >= labels) continue;
        while (count > 0 && (first + (count - 1) * step < 0 || first + (count - 1) * step >= part))
            count--;
        if (label + (count - 1) * label_step < 0 || label + (count - 1) * label_step >= labels)
            label_step = 0;
        say_run(e, p, kind, first, count, step, to_kind, to, (int32_t)label, (int32_t)label_step);
        next = count > 0 && step == 1 ? first + count : -1;
        next_label = label + count * label_step, next_kind = kind;
    }
}

static void say_phase(emission *e, int p)
{
    const gsa_phase *x = &e->toy->phase[p];
    const int64_t scale = x->per_head ? e->heads : 1;
    if (x->aggregate == GSA_NONE) return;
    for (int pass = 0; pass <= e->toy->shuffled; pass++)
        for (int k = 0; k < e->toy->kinds; k++)
            for (int64_t i = 0; (x->destinations >> k & 1) && i < e->nodes[k] * scale; i++) {
                const int64_t to =
                    e->toy->shuffled ? gsa_between(&e->dice, 0, e->nodes[k] * scale - 1) : i;
                say_row(e, p, k, to);
            }
}

static void toy_emit(const void *self, const gsa_example *x, gsa_emitter *emitter)
{
    const gsa_toy *toy = self;
    emission e = { .toy = toy, .emitter = emitter, .heads = x->heads };
    e.dice.state = gsa_random(toy->seed, (uint64_t)x->length,
                              (uint64_t)x->memory_length * 64 + (uint64_t)x->heads);
    if (toy->log) toy->log->count = 0;
    for (int k = 0; k < toy->kinds; k++) {
        const int32_t start = toy->kind[k].start;
        if (start == GSA_INPUT || start == GSA_COPY) e.nodes[k] = x->length;
        else if (start == GSA_MEMORY) e.nodes[k] = x->memory_length;
        else {
            e.nodes[k] = gsa_between(&e.dice, 0, 4);
            emitter->nodes(emitter, k, e.nodes[k]);
        }
    }
    for (int p = 0; p < toy->phases; p++) say_phase(&e, p);
    int kind = toy->kinds - 1;
    if (e.nodes[kind] == 0) kind = 0;
    if (e.nodes[kind] > 0)
        emitter->summary(emitter, gsa_at(kind, gsa_between(&e.dice, 0, e.nodes[kind] - 1)));
    for (int64_t i = 0; i < e.nodes[0]; i++)
        emitter->place(emitter, gsa_at(0, i), (int)i % 3, i, i);
}

const gsa_topology gsa_random_toy = { .abi = GSA_ABI,
                                      .struct_size = sizeof(gsa_topology),
                                      .id = "toy",
                                      .summary = "random",
                                      .describe = toy_describe,
                                      .emit = toy_emit };

gsa_example gsa_toy_example(int32_t length, int32_t memory_length, int32_t heads)
{
    return (gsa_example){ .struct_size = sizeof(gsa_example),
                          .length = length,
                          .memory_length = memory_length,
                          .heads = heads };
}
