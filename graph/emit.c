/* emit.c - the emitter's calls: each is checked at once and remembered; the first bad one
 * sticks. */
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include "graph/instance_parts.h"
#include "graph/index.h"
#include "graph/schema_parts.h"

struct gsa_scratch {
    gsa_scratch *next;
    max_align_t bytes[];
};

gsa_status gsa_building_fail(gsa_building *b, gsa_status status, const char *format, ...)
{
    if (b->status != GSA_OK) return b->status;
    char text[GSA_ERROR_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    b->status = gsa_fail(&b->error, status, "topology '%s', length %" PRId32 ": %s", b->schema->id,
                         b->example->length, text);
    return b->status;
}

static int kind_of(gsa_node node)
{
    return (int16_t)(node >> 48);
}

/* The 48-bit index with its sign, so that a negative one is named as it was meant. */
static int64_t index_of(gsa_node node)
{
    const int64_t low = (int64_t)(node & 0xffffffffffffu);
    return low >> 47 ? low - (INT64_C(1) << 48) : low;
}

static const char *kind_name(const gsa_building *b, int kind)
{
    return kind >= 0 && kind < b->schema->kinds ? b->schema->kind[kind].name : "?";
}

static int64_t on_nodes(gsa_emitter *emitter, int kind, int64_t count)
{
    gsa_building *b = emitter->host;
    int64_t total = 0;
    if (b->status != GSA_OK) return 0;
    if (kind < 0 || kind >= b->schema->kinds) {
        gsa_building_fail(b, GSA_ERR_PLUGIN, "nodes of kind %d, expected 0 to %d", kind,
                          b->schema->kinds - 1);
        return 0;
    }
    const int start = b->schema->kind[kind].start;
    if (start == GSA_INPUT || start == GSA_COPY || start == GSA_MEMORY)
        gsa_building_fail(b, GSA_ERR_PLUGIN, "nodes of kind '%s', which has its nodes already",
                          kind_name(b, kind));
    else if (count < 0)
        gsa_building_fail(b, GSA_ERR_PLUGIN, "%" PRId64 " nodes of kind '%s', expected at least 0",
                          count, kind_name(b, kind));
    else if (!gsa_add(b->node_total, count, &total) || total > b->limits.nodes)
        gsa_building_fail(b, GSA_ERR_LIMIT,
                          "%" PRId64 " nodes of kind '%s' beside %" PRId64
                          " others, the limit is %" PRId64,
                          count, kind_name(b, kind), b->node_total, b->limits.nodes);
    if (b->status != GSA_OK) return 0;
    const int64_t first = b->instance->nodes[kind];
    b->instance->nodes[kind] += count;
    b->node_total = total;
    return first;
}

/* 1 when the node exists (heads not counted); else remembers the failure. */
static int node_exists(gsa_building *b, const char *what, gsa_node node)
{
    const int kind = kind_of(node);
    const int64_t index = index_of(node);
    if (kind < 0 || kind >= b->schema->kinds)
        gsa_building_fail(b, GSA_ERR_PLUGIN, "%s of kind %d, expected 0 to %d", what, kind,
                          b->schema->kinds - 1);
    else if (index < 0 || index >= b->instance->nodes[kind])
        gsa_building_fail(b, GSA_ERR_PLUGIN, "%s of '%s' %" PRId64 ", which has %" PRId64 " nodes",
                          what, kind_name(b, kind), index, b->instance->nodes[kind]);
    return b->status == GSA_OK;
}

static void keep_place(gsa_building *b, int kind, int64_t index, gsa_place place)
{
    gsa_instance *x = b->instance;
    if (index >= x->places[kind]) {
        const int64_t want =
            x->nodes[kind]; /* nodes come before their places, mostly all at once */
        const int64_t room = want > 2 * x->places[kind] ? want : 2 * x->places[kind];
        gsa_place *more = gsa_resize(b->system, x->place[kind], (size_t)room, sizeof *more);
        if (!more) {
            gsa_building_fail(b, GSA_ERR_MEMORY, "out of memory for %" PRId64 " places", room);
            return;
        }
        for (int64_t i = x->places[kind]; i < room; i++) more[i] = (gsa_place){ -1, 0, 0 };
        x->place[kind] = more, x->places[kind] = room;
    }
    x->place[kind][index] = place;
}

static void on_place(gsa_emitter *emitter, gsa_node node, int level, int64_t first, int64_t last)
{
    gsa_building *b = emitter->host;
    if (b->status != GSA_OK || !node_exists(b, "place", node)) return;
    if (level < 0)
        gsa_building_fail(b, GSA_ERR_PLUGIN,
                          "place of '%s' %" PRId64 ": level is %d, expected at least 0",
                          kind_name(b, kind_of(node)), index_of(node), level);
    else if (first < 0 || last >= b->example->length ||
             first > last + 1) /* in this order: last + 1 may not exist */
        gsa_building_fail(b, GSA_ERR_PLUGIN,
                          "place of '%s' %" PRId64 ": tokens %" PRId64 " to %" PRId64
                          " are not in the input",
                          kind_name(b, kind_of(node)), index_of(node), first, last);
    else if (b->inspect)
        keep_place(b, kind_of(node), index_of(node), (gsa_place){ level, first, last });
}

int gsa_run_join(gsa_run *run, const gsa_run *next)
{
    if (run->kind != next->kind || (run->count > 1 && run->step != 1) ||
        (next->count > 1 && next->step != 1))
        return 0;
    if ((int64_t)run->first + run->count != next->first ||
        run->count > gsa_index_most - next->count)
        return 0;
    const int64_t step = run->count > 1    ? run->label_step
                         : next->count > 1 ? next->label_step
                                           : (int64_t)next->label - run->label;
    if (next->count > 1 && next->label_step != step) return 0;
    if ((int64_t)run->label + step * run->count != next->label) return 0;
    run->step = 1, run->label_step = (int32_t)step;
    run->count += next->count;
    return 1;
}

/* Mostly a phase has a run or more for every node: room for that at once, then twice as much. */
static int grow(gsa_building *b, gsa_records *list)
{
    const int64_t least = b->node_total < 1 << 16 ? b->node_total + 64 : 1 << 16;
    const int64_t room = list->capacity ? 2 * list->capacity : least;
    gsa_run *runs = gsa_resize(b->system, list->runs, (size_t)room, sizeof *runs);
    if (runs) list->runs = runs;
    gsa_target *to = runs ? gsa_resize(b->system, list->to, (size_t)room, sizeof *to) : NULL;
    if (to) list->to = to, list->capacity = room;
    else gsa_building_fail(b, GSA_ERR_MEMORY, "out of memory for %" PRId64 " runs", room);
    return to != NULL;
}

static void append(gsa_building *b, gsa_records *list, gsa_target to, const gsa_run *run)
{
    if (list->count) {
        const gsa_target last = list->to[list->count - 1];
        if (last.kind == to.kind && last.index == to.index) {
            if (gsa_run_join(&list->runs[list->count - 1], run)) return;
        } else if (last.kind > to.kind || (last.kind == to.kind && last.index > to.index))
            list->in_order = 0;
    }
    if (b->run_total == b->limits.runs) {
        gsa_building_fail(b, GSA_ERR_LIMIT, "more than %" PRId64 " runs, the limit",
                          b->limits.runs);
        return;
    }
    if (list->count == list->capacity && !grow(b, list)) return;
    list->runs[list->count] = *run, list->to[list->count] = to;
    list->count++, b->run_total++;
}

void gsa_building_append(gsa_building *b, int phase, gsa_target to, const gsa_run *run)
{
    if (b->status != GSA_OK) return;
    b->edge_total += run->count, b->phase[phase].edges += run->count;
    append(b, &b->phase[phase], to, run);
}

/* A number of a run, and what it may be; `high` below `low`: not told. */
typedef struct asked {
    int64_t is, low, high;
} asked;

static int outside(asked *bad, int64_t is, int64_t low, int64_t high)
{
    *bad = (asked){ is, low, high };
    return is < low || is > high;
}

/* Every way in which a run can be wrong, in words; NULL when it is right. `nodes` (x heads) are
 * those of both ends. */
static const char *wrong_run(const gsa_phase *phase, const int64_t *nodes, int64_t scale,
                             gsa_node from, int64_t count, int64_t step, gsa_node to, int32_t label,
                             int32_t label_step, asked *bad)
{
    const int source = kind_of(from), target = kind_of(to);
    *bad = (asked){ source, 0, -1 };
    if (source < 0 || source >= GSA_MAX_KINDS || !(phase->sources >> source & 1))
        return "a source kind that the phase does not read";
    *bad = (asked){ target, 0, -1 };
    if (target < 0 || target >= GSA_MAX_KINDS || !(phase->destinations >> target & 1))
        return "a destination kind that the phase does not write";
    const int64_t first = index_of(from), sources = nodes[source] * scale,
                  targets = nodes[target] * scale;
    if (outside(bad, index_of(to), 0, targets - 1)) return "a destination that does not exist";
    if (outside(bad, first, 0, sources - 1)) return "a first source that does not exist";
    if (outside(bad, count, 0, gsa_index_most)) return "a count of edges out of range";
    if (count > 1 && outside(bad, step, 1 - sources, sources - 1))
        return "a source step that leaves the kind";
    if (outside(bad, first + (count > 1 ? (count - 1) * step : 0), 0, sources - 1))
        return "a last source that does not exist";
    if (outside(bad, label, 0, phase->labels - 1)) return "a label out of range";
    if (outside(bad, label + (count - 1) * (int64_t)label_step, 0, phase->labels - 1))
        return "a last label out of range";
    return NULL;
}

/* A call that is not right, or says nothing: the sentence, or count 0. */
static void on_odd_run(gsa_building *b, int phase, gsa_node from, int64_t count, int64_t step,
                       gsa_node to, int32_t label, int32_t label_step)
{
    if (phase < 0 || phase >= b->schema->phases) {
        gsa_building_fail(b, GSA_ERR_PLUGIN, "edges of phase %d, expected 0 to %d", phase,
                          b->schema->phases - 1);
        return;
    }
    const gsa_phase *x = &b->schema->phase[phase];
    asked bad;
    if (x->aggregate == GSA_NONE) {
        gsa_building_fail(b, GSA_ERR_PLUGIN, "edges of phase '%s', which has none", x->name);
        return;
    }
    if (count == 0) return;
    char range[80] = "";
    const char *why = wrong_run(x, b->instance->nodes, x->per_head ? b->example->heads : 1, from,
                                count, step, to, label, label_step, &bad);
    if (bad.low <= bad.high)
        snprintf(range, sizeof range, ", expected %" PRId64 " to %" PRId64, bad.low, bad.high);
    gsa_building_fail(b, GSA_ERR_PLUGIN,
                      "phase '%s', %" PRId64 " edges from %s %" PRId64 " step %" PRId64
                      " to %s %" PRId64 ", label %" PRId32 " step %" PRId32 ": %s: %" PRId64 "%s",
                      x->name, count, kind_name(b, kind_of(from)), index_of(from), step,
                      kind_name(b, kind_of(to)), index_of(to), label, label_step,
                      why ? why : "not a run", bad.is, range);
}

/* The same rules as wrong_run, without words: each run goes through here. Indices are compared
 * unsigned: negative ones are large. */
static inline int is_right(const gsa_phase *x, const int64_t *nodes, int64_t scale, gsa_node from,
                           int64_t count, int64_t step, gsa_node to, int32_t label,
                           int32_t label_step)
{
    const uint64_t source = from >> 48, target = to >> 48, low = UINT64_C(0xffffffffffff);
    if (source >= GSA_MAX_KINDS || target >= GSA_MAX_KINDS) return 0;
    if (!(x->sources >> source & 1) || !(x->destinations >> target & 1)) return 0;
    const uint64_t sources = (uint64_t)(nodes[source] * scale), first = from & low;
    if ((to & low) >= (uint64_t)(nodes[target] * scale) || first >= sources) return 0;
    if (count < 1 || count > gsa_index_most || (uint32_t)label >= (uint32_t)x->labels) return 0;
    if (count == 1) return 1;
    if (step >= (int64_t)sources || step <= -(int64_t)sources) return 0;
    const int64_t last = label + (count - 1) * (int64_t)label_step;
    return first + (uint64_t)((count - 1) * step) < sources && last >= 0 && last < x->labels;
}

static void on_run(gsa_emitter *emitter, int phase, gsa_node from, int64_t count, int64_t step,
                   gsa_node to, int32_t label, int32_t label_step)
{
    gsa_building *b = emitter->host;
    if (b->status != GSA_OK) return;
    const gsa_phase *x = b->schema->phase + (phase < 0 || phase >= b->schema->phases ? 0 : phase);
    if (phase != x - b->schema->phase || x->aggregate == GSA_NONE ||
        !is_right(x, b->instance->nodes, x->per_head ? b->example->heads : 1, from, count, step, to,
                  label, label_step)) {
        on_odd_run(b, phase, from, count, step, to, label, label_step);
        return;
    }
    if (count > b->limits.edges - b->edge_total) {
        gsa_building_fail(b, GSA_ERR_LIMIT, "phase '%s': more than %" PRId64 " edges, the limit",
                          x->name, b->limits.edges);
        return;
    }
    const gsa_run run = { (int32_t)index_of(from),       (int32_t)count,
                          count > 1 ? (int32_t)step : 1, label,
                          count > 1 ? label_step : 0,    kind_of(from) };
    gsa_building_append(b, phase, (gsa_target){ kind_of(to), (int32_t)index_of(to) }, &run);
}

static void on_summary(gsa_emitter *emitter, gsa_node node)
{
    gsa_building *b = emitter->host;
    if (b->status != GSA_OK || !node_exists(b, "summary", node)) return;
    b->instance->summary_kind = kind_of(node), b->instance->summary_index = index_of(node);
}

static void *on_scratch(gsa_emitter *emitter, size_t bytes)
{
    gsa_building *b = emitter->host;
    if (b->status != GSA_OK) return NULL;
    gsa_scratch *block =
        bytes < PTRDIFF_MAX / 2 ? gsa_alloc(b->system, sizeof *block + bytes, 1) : NULL;
    if (!block) {
        gsa_building_fail(b, GSA_ERR_MEMORY, "out of memory, %zu bytes of scratch were requested",
                          bytes);
        return NULL;
    }
    block->next = b->scratch;
    b->scratch = block;
    return block->bytes;
}

static void on_fail(gsa_emitter *emitter, const char *sentence)
{
    gsa_building_fail(emitter->host, GSA_ERR_ARGUMENT, "%s",
                      sentence ? sentence : "failed without a sentence");
}

gsa_emitter gsa_building_emitter(gsa_building *b)
{
    return (gsa_emitter){ .struct_size = sizeof(gsa_emitter),
                          .host = b,
                          .nodes = on_nodes,
                          .place = on_place,
                          .run = on_run,
                          .summary = on_summary,
                          .scratch = on_scratch,
                          .fail = on_fail };
}

void gsa_building_end(gsa_building *b)
{
    while (b->scratch) {
        gsa_scratch *next = b->scratch->next;
        gsa_release(b->system, b->scratch);
        b->scratch = next;
    }
    for (int p = 0; p < b->schema->phases; p++) {
        gsa_release(b->system, b->phase[p].runs);
        gsa_release(b->system, b->phase[p].to);
    }
}
