/* instances - what a picture must hold, by a way of its own: one line a node and one an edge, from
 * the instances and their expanded edges; read_networkx.py compares it with what NetworkX reads.
 *
 *   instances HEADS SPEC LENGTH TEXT [MEMORY-SPEC MEMORY-LENGTH MEMORY-TEXT]
 *             texts: tokens joined by blanks, or ""
 *
 *   N label kind index level first last stack
 *   E from to phase rel label k interaction layer head_from head_to */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "topologies/spec.h"

enum { MOST = 64, TOKENS = 4096, PLACE = GSA_MAX_KINDS * MOST };

typedef struct node_kind {
    const char *name;
    const gsa_instance *instance;
    int kind, start;
    int64_t first, count;
} node_kind;

typedef struct stack {
    const char *name;
    gsa_stack_spec spec;
    gsa_pattern *pattern[MOST];
    gsa_instance *instance[MOST];
    int parts, kinds;
    node_kind kind[PLACE];
    gsa_slice token[TOKENS];
    int tokens, length;
} stack;

static void must(gsa_status status, const gsa_error *error)
{
    if (status == GSA_OK) return;
    fprintf(stderr, "instances: %s\n", error->text);
    exit(2);
}

static void cut(stack *s, const char *text)
{
    while (*text) {
        const size_t bytes = strcspn(text, " ");
        s->token[s->tokens++] = (gsa_slice){ text, (int64_t)bytes };
        text += bytes + strspn(text + bytes, " ");
    }
}

static void open_stack(stack *s, const gsa_registry *registry, char **arg, int heads, int memory)
{
    gsa_error error;
    must(gsa_spec_parse(NULL, arg[0], &s->spec, &error), &error);
    s->length = atoi(arg[1]);
    cut(s, arg[2]);
    const gsa_example example = { .struct_size = sizeof example,
                                  .length = s->length,
                                  .memory_length = memory,
                                  .heads = heads,
                                  .text = s->tokens ? s->token : NULL };
    for (int g = 0; g < s->spec.n_segments; g++)
        for (int p = 0; p < s->spec.segments[g].n_parts; p++, s->parts++) {
            const gsa_part_spec *part = &s->spec.segments[g].parts[p];
            gsa_pattern **pattern = &s->pattern[s->parts];
            must(gsa_pattern_create(registry, part->id, part->settings, part->n_settings, pattern,
                                    &error),
                 &error);
            must(gsa_pattern_instance(*pattern, NULL, &example, NULL, 1, &s->instance[s->parts],
                                      &error),
                 &error);
        }
}

static const node_kind *find_kind(const stack *s, const char *name)
{
    for (int k = 0; k < s->kinds; k++)
        if (strcmp(s->kind[k].name, name) == 0) return &s->kind[k];
    return NULL;
}

/* Prints the stack's nodes; `first` is the number of the first one, and then of the first after
 * them. */
static void print_nodes(stack *s, int64_t *first, int bound)
{
    for (int p = 0; p < s->parts; p++) {
        const gsa_schema *schema = gsa_pattern_schema(s->pattern[p]);
        for (int k = 0; k < gsa_schema_kinds(schema); k++) {
            const gsa_kind *kind = gsa_schema_kind(schema, k);
            if (find_kind(s, kind->name) || (bound && kind->start == GSA_MEMORY)) continue;
            const int64_t count = gsa_instance_nodes(s->instance[p], k);
            s->kind[s->kinds++] =
                (node_kind){ kind->name, s->instance[p], k, kind->start, *first, count };
            *first += count;
            for (int64_t i = 0; i < count; i++) {
                const gsa_place place = gsa_instance_place(s->instance[p], k, i);
                const int word = s->tokens && (kind->start == GSA_INPUT || kind->start == GSA_COPY);
                if (word) printf("N\t%.*s", (int)s->token[i].bytes, s->token[i].at);
                else printf("N\t%s %" PRId64, kind->name, i);
                printf("\t%s%s%s\t%" PRId64 "\t%d\t%" PRId64 "\t%" PRId64 "\t%s\n", s->name,
                       *s->name ? "." : "", kind->name, i, place.level,
                       place.level < 0 ? -1 : place.first, place.level < 0 ? -1 : place.last,
                       s->name);
            }
        }
    }
}

typedef struct walk { /* one phase of one part in one layer */
    const stack *own, *memory;
    int part, phase, number, layer, heads;
    const char *interaction;
} walk;

/* The node that a place of the concatenation of `kinds` is. */
static int64_t node_of(const walk *w, uint64_t kinds, int64_t index, int scale)
{
    const gsa_schema *schema = gsa_pattern_schema(w->own->pattern[w->part]);
    for (int k = 0; k < gsa_schema_kinds(schema); k++) {
        const int64_t rows =
            kinds >> k & 1 ? gsa_instance_nodes(w->own->instance[w->part], k) * scale : 0;
        if (index >= rows) {
            index -= rows;
            continue;
        }
        const gsa_kind *kind = gsa_schema_kind(schema, k);
        const stack *in = w->memory && kind->start == GSA_MEMORY ? w->memory : w->own;
        const gsa_schema *last = gsa_pattern_schema(in->pattern[in->parts - 1]);
        const char *name =
            in == w->own ? kind->name : gsa_schema_kind(last, gsa_schema_sequence(last))->name;
        return find_kind(in, name)->first + index / scale;
    }
    return -1;
}

static void print_phase(const walk *w)
{
    const gsa_pattern *pattern = w->own->pattern[w->part];
    const gsa_phase *x = gsa_schema_phase(gsa_pattern_schema(pattern), w->phase);
    const gsa_topology *topology = gsa_pattern_topology(pattern);
    const int scale = x->per_head ? w->heads : 1;
    gsa_edges e;
    gsa_instance_edges(w->own->instance[w->part], w->phase, &e);
    int32_t *source = malloc((size_t)e.edge_total * 4 + 4),
            *label = malloc((size_t)e.edge_total * 4 + 4);
    gsa_edges_expand(&e, source, label, NULL);
    for (int64_t row = 0; row < e.rows; row++)
        for (int64_t i = e.edge_offset[row]; i < e.edge_offset[row + 1]; i++) {
            char name[256] = "";
            if (topology->label)
                topology->label(gsa_pattern_self(pattern), w->phase, label[i], name, sizeof name);
            printf("E\t%" PRId64 "\t%" PRId64 "\t%d\t%d\t%s\t%" PRId64 "\t%s\t%d\t%" PRId64
                   "\t%" PRId64 "\n",
                   node_of(w, x->sources, source[i], scale),
                   node_of(w, x->destinations, row, scale), w->number, label[i], name,
                   i - e.edge_offset[row], w->interaction, w->layer,
                   x->per_head ? source[i] % scale : INT64_C(-1),
                   x->per_head ? row % scale : INT64_C(-1));
        }
    free(source), free(label);
}

static void print_layer(const stack *s, const stack *memory, int first, int parts, int layer,
                        int heads)
{
    for (int p = first, number = 0; p < first + parts; p++) {
        const gsa_schema *schema = gsa_pattern_schema(s->pattern[p]);
        int twin = 1;
        for (int q = first; q < p; q++)
            twin += strcmp(gsa_schema_topology(gsa_pattern_schema(s->pattern[q])),
                           gsa_schema_topology(schema)) == 0;
        for (int f = 0; f < gsa_schema_phases(schema); f++, number++) {
            const gsa_phase *x = gsa_schema_phase(schema, f);
            char digits[16] = "", name[192];
            if (x->when == GSA_ONCE || x->aggregate == GSA_NONE) continue;
            if (twin > 1) snprintf(digits, sizeof digits, "%d", twin);
            if (parts > 1)
                snprintf(name, sizeof name, "%s%s.%s", gsa_schema_topology(schema), digits,
                         x->name);
            else snprintf(name, sizeof name, "%s", x->name);
            print_phase(&(walk){ s, memory, p, f, number, layer, heads, name });
        }
    }
}

static void print_edges(const stack *s, const stack *memory, int heads)
{
    for (int g = 0, part = 0, layer = 0; g < s->spec.n_segments;
         part += s->spec.segments[g++].n_parts)
        for (int l = 0; l < s->spec.segments[g].layers; l++, layer++)
            print_layer(s, memory, part, s->spec.segments[g].n_parts, layer, heads);
}

static void close_stack(stack *s)
{
    for (int p = 0; p < s->parts; p++) {
        gsa_instance_release(s->instance[p]);
        gsa_pattern_release(s->pattern[p]);
    }
    gsa_spec_release(&s->spec);
}

int main(int argc, char **argv)
{
    static stack main_stack, memory;
    gsa_registry *registry;
    gsa_error error;
    int64_t nodes = 0;
    if (argc != 5 && argc != 8) return 2;
    const int heads = atoi(argv[1]), two = argc == 8;
    main_stack.name = two ? "decoder" : "", memory.name = "encoder";
    must(gsa_registry_create(NULL, &registry, &error), &error);
    if (two) open_stack(&memory, registry, argv + 5, heads, 0);
    open_stack(&main_stack, registry, argv + 2, heads, memory.length);
    if (two) print_nodes(&memory, &nodes, 0);
    print_nodes(&main_stack, &nodes, two);
    if (two) print_edges(&memory, NULL, heads);
    print_edges(&main_stack, two ? &memory : NULL, heads);
    close_stack(&main_stack);
    close_stack(&memory);
    gsa_registry_release(registry);
    return 0;
}
