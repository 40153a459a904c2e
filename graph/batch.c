#include "graph/batch.h"
#include "graph/index.h"
#include <inttypes.h>
#include <string.h>
#include "graph/instance_parts.h"
#include "graph/schema_parts.h"
#include "graph/system_parts.h"

enum { ALIGN = 64 };

typedef struct kind_layout { /* places are bytes from the block's start; -1: NULL */
    int64_t nodes, offset, example, local, summary;
} kind_layout;

typedef struct phase_layout {
    int64_t rows, run_total, edge_total, destinations;
    int64_t run_offset, edge_offset, runs, row_example, row_local, block_offset, blocks;
    int64_t empty, destination_example, destination_local;
} phase_layout;

struct gsa_batch {
    const gsa_system *system;
    const gsa_schema *schema;
    void *memory; /* as the table gave it; `block` is its first aligned byte */
    char *block;
    int64_t capacity, bytes;
    int32_t examples, heads;
    kind_layout kind[GSA_MAX_KINDS];
    phase_layout phase[GSA_MAX_PHASES];
    gsa_memo *memo; /* [GSA_MAX_PHASES] */
    int tells_content;
    int32_t *out_edges; /* [out_room] scratch of most_out */
    int64_t out_room;
    gsa_content content[GSA_MAX_PHASES];
};

gsa_status gsa_batch_create(const gsa_system *system, const gsa_schema *schema, gsa_batch **batch,
                            gsa_error *error)
{
    *batch = NULL;
    gsa_batch *made = gsa_alloc_zero(system, 1, sizeof *made);
    if (!made) return gsa_out_of_memory(error, "batch", (int64_t)sizeof *made);
    made->system = gsa_system_or_default(system), made->schema = schema;
    made->memo = gsa_alloc_zero(system, GSA_MAX_PHASES, sizeof *made->memo);
    const gsa_status status =
        made->memo
            ? gsa_batch_build(made, NULL, 0, error)
            : gsa_out_of_memory(error, "batch", GSA_MAX_PHASES * (int64_t)sizeof *made->memo);
    if (status != GSA_OK) gsa_batch_release(made);
    else *batch = made;
    return status;
}

/* What backends know of the arrays, which are about to change or go. */
static void forget(const gsa_batch *batch)
{
    for (int p = 0; p < GSA_MAX_PHASES && batch->memo; p++) gsa_memo_clear(&batch->memo[p]);
}

void gsa_batch_release(gsa_batch *batch)
{
    if (!batch) return;
    forget(batch);
    gsa_release(batch->system, batch->memo);
    gsa_release(batch->system, batch->memory);
    gsa_release(batch->system, batch->out_edges);
    gsa_release(batch->system, batch);
}

/* ---- layout: where each array is ------------------------------------------------------- */

/* Sizes stay far below overflow: at most 2^31 rows and 2^28 runs an instance, summed by memory that
 * exists. */
static int64_t take(gsa_batch *batch, int64_t count, size_t size)
{
    const int64_t at = batch->bytes;
    batch->bytes += (count * (int64_t)size + ALIGN - 1) / ALIGN * ALIGN;
    return at;
}

static int64_t scale_of(const gsa_batch *batch, int p)
{
    return batch->schema->phase[p].per_head ? batch->heads : 1;
}

static int writes(const gsa_batch *batch, int p, int k)
{
    return (int)(batch->schema->phase[p].destinations >> k & 1);
}

static void lay_kind(gsa_batch *batch, int k, gsa_instance *const *instances)
{
    kind_layout *x = &batch->kind[k];
    x->nodes = 0;
    int named = 0, kind = -1;
    for (int32_t e = 0; e < batch->examples; e++) {
        x->nodes += gsa_instance_nodes(instances[e], k);
        named |= gsa_instance_summary(instances[e], &kind, NULL) && kind == k;
    }
    x->offset = take(batch, batch->examples + 1, sizeof(int64_t));
    x->example = take(batch, x->nodes, sizeof(int32_t));
    x->local = take(batch, x->nodes, sizeof(int32_t));
    x->summary = named ? take(batch, batch->examples, sizeof(int32_t)) : -1;
}

/* 1 when some destination node has no in-edge (in any of its `scale` rows). */
static int has_empty(const gsa_edges *edges, int64_t scale, const uint8_t *edged)
{
    for (int64_t r = 0; edged && r < edges->rows / scale; r++)
        if (!edged[r]) return 1;
    for (int64_t r = 0; !edged && r < edges->rows; r += scale)
        if (edges->edge_offset[r] == edges->edge_offset[r + scale]) return 1;
    return 0;
}

static void lay_phase(gsa_batch *batch, int p, gsa_instance *const *instances)
{
    phase_layout *x = &batch->phase[p];
    const int64_t scale = scale_of(batch, p);
    const int pointwise = batch->schema->phase[p].aggregate == GSA_NONE;
    int empty = 0, kinds = 0;
    x->rows = x->run_total = x->edge_total = 0;
    for (int k = 0; k < batch->schema->kinds; k++) kinds += writes(batch, p, k);
    for (int32_t e = 0; e < batch->examples; e++) {
        gsa_edges edges;
        gsa_instance_edges(instances[e], p, &edges);
        x->rows += edges.rows, x->run_total += edges.run_total, x->edge_total += edges.edge_total;
        empty = empty || (!pointwise && has_empty(&edges, scale, instances[e]->phase[p].edged));
    }
    x->destinations = x->rows / scale;
    x->run_offset = take(batch, x->rows + 1, sizeof(int64_t));
    x->edge_offset = pointwise ? x->run_offset : take(batch, x->rows + 1, sizeof(int64_t));
    x->runs = take(batch, x->run_total, sizeof(gsa_run));
    x->row_example = take(batch, x->rows, sizeof(int32_t));
    x->row_local = take(batch, x->rows, sizeof(int32_t));
    x->block_offset = take(batch, batch->examples + 1, sizeof(int64_t));
    x->blocks = take(batch, (int64_t)kinds * batch->examples, sizeof(gsa_rows));
    x->empty = empty ? take(batch, x->destinations, 1) : -1;
    x->destination_example =
        scale == 1 ? x->row_example : take(batch, x->destinations, sizeof(int32_t));
    x->destination_local =
        scale == 1 ? x->row_local : take(batch, x->destinations, sizeof(int32_t));
}

static gsa_status reserve(gsa_batch *batch, gsa_error *error)
{
    if (batch->bytes <= batch->capacity) return GSA_OK;
    const int64_t want = batch->bytes + batch->bytes / 8; /* lengths vary from batch to batch */
    void *memory = gsa_alloc(batch->system, (size_t)want + ALIGN, 1);
    if (!memory)
        return gsa_out_of_memory(error, "batch",
                                 want + ALIGN); /* the old block holds the empty batch */
    gsa_release(batch->system, batch->memory);
    batch->memory = memory;
    batch->block = (char *)memory + (ALIGN - (uintptr_t)memory % ALIGN) % ALIGN;
    batch->capacity = want;
    return GSA_OK;
}

/* ---- filling ------------------------------------------------------------------------------- */

static void *in_block(gsa_batch *batch, int64_t place)
{
    return batch->block + place;
}

static void fill_kind(gsa_batch *batch, int k, gsa_instance *const *instances)
{
    const kind_layout *x = &batch->kind[k];
    int64_t *offset = in_block(batch, x->offset), row = 0;
    int32_t *example = in_block(batch, x->example), *local = in_block(batch, x->local);
    int32_t *summary = x->summary < 0 ? NULL : in_block(batch, x->summary);
    offset[0] = 0;
    for (int32_t e = 0; e < batch->examples; e++) {
        const int64_t nodes = gsa_instance_nodes(instances[e], k);
        int kind;
        int64_t index;
        if (summary)
            summary[e] = gsa_instance_summary(instances[e], &kind, &index) && kind == k
                             ? (int32_t)(row + index)
                             : -1;
        const int32_t *number = instances[e]->number[k];
        for (int64_t i = 0; i < nodes; i++, row++)
            example[row] = e, local[row] = number ? number[i] : (int32_t)i;
        offset[e + 1] = row;
    }
}

typedef struct cursor { /* where the next row of a phase goes */
    int64_t row, run, edge;
} cursor;

/* Destination nodes of rows first .. first+count-1, which become those from row `to` on. */
static void note_empty(gsa_batch *batch, int p, const gsa_instance_phase *from, int64_t first,
                       int64_t count, int64_t to)
{
    const int64_t scale = scale_of(batch, p);
    uint8_t *empty = batch->phase[p].empty < 0 ? NULL : in_block(batch, batch->phase[p].empty);
    for (int64_t r = first; empty && r < first + count; r += scale)
        empty[(to + r - first) / scale] =
            from->edged ? !from->edged[r / scale]
                        : from->edge_offset[r] == from->edge_offset[r + scale];
}

/* Copies rows first .. first+count-1 of example e's phase; a source moves by where its example's
 * nodes of the kind start. */
static void copy_rows(gsa_batch *batch, int p, int32_t e, const gsa_edges *from, int64_t first,
                      int64_t count, cursor *to)
{
    const phase_layout *x = &batch->phase[p];
    int64_t *run_offset = in_block(batch, x->run_offset),
            *edge_offset = in_block(batch, x->edge_offset);
    gsa_run *runs = in_block(batch, x->runs);
    int32_t *example = in_block(batch, x->row_example), *local = in_block(batch, x->row_local),
            shift[GSA_MAX_KINDS];
    const int64_t *start;
    for (int k = 0; k < batch->schema->kinds; k++) {
        start = in_block(batch, batch->kind[k].offset);
        shift[k] = (int32_t)(start[e] * scale_of(batch, p));
    }
    const int64_t run_shift = to->run - from->run_offset[first],
                  edge_shift = to->edge - from->edge_offset[first];
    for (int64_t r = first; r < first + count; r++, to->row++) {
        example[to->row] = e, local[to->row] = from->row_local[r];
        run_offset[to->row + 1] = from->run_offset[r + 1] + run_shift;
        edge_offset[to->row + 1] = from->edge_offset[r + 1] + edge_shift;
    }
    for (int64_t i = from->run_offset[first]; i < from->run_offset[first + count]; i++) {
        runs[to->run] = from->runs[i];
        runs[to->run++].first += shift[from->runs[i].kind];
    }
    to->edge += from->edge_offset[first + count] - from->edge_offset[first];
}

static void fill_rows(gsa_batch *batch, int p, gsa_instance *const *instances)
{
    const phase_layout *x = &batch->phase[p];
    cursor to = { 0, 0, 0 };
    *(int64_t *)in_block(batch, x->run_offset) = 0;
    *(int64_t *)in_block(batch, x->edge_offset) = 0;
    gsa_rows *blocks = in_block(batch, x->blocks);
    int64_t kinds = 0, seen = 0;
    for (int k = 0; k < batch->schema->kinds; k++) kinds += writes(batch, p, k);
    for (int k = 0; k < batch->schema->kinds; k++) {
        if (!writes(batch, p, k)) continue;
        for (int32_t e = 0; e < batch->examples; e++) {
            gsa_edges from;
            gsa_instance_edges(instances[e], p, &from);
            const gsa_rows *mine = &from.blocks[seen];
            blocks[e * kinds + seen] = (gsa_rows){ to.row, mine->count };
            note_empty(batch, p, &instances[e]->phase[p], mine->first, mine->count, to.row);
            copy_rows(batch, p, e, &from, mine->first, mine->count, &to);
        }
        seen++;
    }
    int64_t *block_offset = in_block(batch, x->block_offset);
    for (int32_t e = 0; e <= batch->examples; e++) block_offset[e] = e * kinds;
}

static void fill_destinations(gsa_batch *batch, int p)
{
    const phase_layout *x = &batch->phase[p];
    const int64_t scale = scale_of(batch, p);
    const int32_t *row_example = in_block(batch, x->row_example),
                  *row_local = in_block(batch, x->row_local);
    if (scale == 1) return;
    int32_t *example = in_block(batch, x->destination_example),
            *local = in_block(batch, x->destination_local);
    for (int64_t d = 0; d < x->destinations; d++)
        example[d] = row_example[d * scale], local[d] = row_local[d * scale] / (int32_t)scale;
}

/* ---- content ------------------------------------------------------------------------------- */

/* Of whole words of 8 bytes; each step can be undone, so that one word alone that differs always
 * shows. */
static void add_words(gsa_content *content, const void *at, int64_t bytes)
{
    uint64_t a = content->word[0], b = content->word[1], word;
    for (int64_t i = 0; i < bytes; i += 8) {
        memcpy(&word, (const char *)at + i, sizeof word);
        a = (a ^ word) * UINT64_C(0x9e3779b97f4a7c15), a ^= a >> 32;
        b = (b ^ word) * UINT64_C(0xd6e8feb86659fd93), b ^= b >> 29;
    }
    content->word[0] = a, content->word[1] = b;
}

static int64_t most_of(const int64_t *offset, int64_t rows)
{
    int64_t most = 0;
    for (int64_t r = 0; r < rows; r++)
        if (offset[r + 1] - offset[r] > most) most = offset[r + 1] - offset[r];
    return most;
}

/* Edges of the source with most; -1: no memory to count them. */
static int64_t most_out(gsa_batch *batch, const gsa_edges *edges)
{
    int64_t first[GSA_MAX_KINDS], sources = 0;
    int32_t most = 0;
    for (int k = 0; k < edges->kinds; k++) first[k] = sources, sources += edges->part_rows[k];
    if (sources + 1 > batch->out_room) {
        int32_t *more =
            gsa_resize(batch->system, batch->out_edges, (size_t)sources + 1, sizeof *more);
        if (!more) return -1;
        batch->out_edges = more, batch->out_room = sources + 1;
    }
    int32_t *count = batch->out_edges;
    memset(count, 0, ((size_t)sources + 1) * sizeof *count);
    for (int64_t i = 0; i < edges->run_total; i++) {
        const gsa_run *run = &edges->runs[i];
        int32_t *at = count + first[run->kind] + run->first;
        for (int32_t e = 0; e < run->count; e++, at += run->step)
            if (++*at > most) most = *at;
    }
    return most;
}

static gsa_content content_of(gsa_batch *batch, int p)
{
    gsa_edges edges;
    gsa_batch_edges(batch, p, NULL, &edges);
    gsa_content content = { .word = { (uint64_t)edges.rows, (uint64_t)edges.kinds } };
    add_words(&content, edges.part_rows, sizeof edges.part_rows);
    add_words(&content, edges.run_offset, 8 * (edges.rows + 1));
    add_words(&content, edges.edge_offset, 8 * (edges.rows + 1));
    add_words(&content, edges.runs, (int64_t)sizeof(gsa_run) * edges.run_total);
    content.word[0] |= 1;
    content.most_in = most_of(edges.edge_offset, edges.rows);
    content.most_out = most_out(batch, &edges);
    return content.most_out < 0 ? (gsa_content){ 0 } : content;
}

void gsa_batch_tell_content(gsa_batch *batch)
{
    batch->tells_content = 1;
}

/* ---- build --------------------------------------------------------------------------------- */

static gsa_status check_instances(const gsa_batch *batch, gsa_instance *const *instances,
                                  int32_t count, gsa_error *error)
{
    int64_t nodes = 0;
    if (count < 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "batch of %" PRId32 " examples, expected at least 0", count);
    for (int32_t e = 0; e < count; e++) {
        if (gsa_instance_schema(instances[e]) != batch->schema)
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "batch: example %" PRId32 " was built for another schema than '%s'", e,
                            batch->schema->id);
        const int32_t heads = gsa_instance_heads(instances[e]),
                      first = gsa_instance_heads(instances[0]);
        if (heads != first)
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "batch: example %" PRId32 " has %" PRId32
                            " heads, the first has %" PRId32,
                            e, heads, first);
        for (int k = 0; k < batch->schema->kinds; k++)
            nodes += gsa_instance_nodes(instances[e], k) * heads;
        if (nodes > gsa_index_most)
            return gsa_fail(error, GSA_ERR_LIMIT,
                            "batch: examples 0 to %" PRId32 " have %" PRId64
                            " nodes x heads, the limit is %" PRId32,
                            e, nodes, gsa_index_most);
    }
    return GSA_OK;
}

/* Layout and content; without examples every array is there and empty. */
static gsa_status join(gsa_batch *batch, gsa_instance *const *instances, int32_t count,
                       gsa_error *error)
{
    const gsa_schema *s = batch->schema;
    forget(batch);
    batch->examples = count, batch->heads = count ? gsa_instance_heads(instances[0]) : 1,
    batch->bytes = 0;
    for (int k = 0; k < s->kinds; k++) lay_kind(batch, k, instances);
    for (int p = 0; p < s->phases; p++) lay_phase(batch, p, instances);
    const gsa_status status = reserve(batch, error);
    if (status != GSA_OK) return status;
    for (int k = 0; k < s->kinds; k++) fill_kind(batch, k, instances);
    for (int p = 0; p < s->phases; p++) {
        fill_rows(batch, p, instances);
        fill_destinations(batch, p);
        batch->memo[p].of = in_block(batch, batch->phase[p].run_offset);
        batch->content[p] = (gsa_content){ 0 };
        if (batch->tells_content) batch->content[p] = content_of(batch, p);
    }
    return GSA_OK;
}

gsa_status gsa_batch_build(gsa_batch *batch, gsa_instance *const *instances, int32_t count,
                           gsa_error *error)
{
    gsa_status status = check_instances(batch, instances, count, error);
    if (status == GSA_OK) status = join(batch, instances, count, error);
    if (status != GSA_OK && batch->block) join(batch, NULL, 0, NULL);
    return status;
}

/* ---- views --------------------------------------------------------------------------------- */

static const void *view(const gsa_batch *batch, const void *base, int64_t place)
{
    return place < 0 ? NULL : (const char *)(base ? base : batch->block) + place;
}

int32_t gsa_batch_examples(const gsa_batch *batch)
{
    return batch->examples;
}

int64_t gsa_batch_nodes(const gsa_batch *batch, int kind)
{
    return batch->kind[kind].nodes;
}

const void *gsa_batch_block(const gsa_batch *batch, int64_t *bytes)
{
    *bytes = batch->bytes;
    return batch->block;
}

const gsa_schema *gsa_batch_schema(const gsa_batch *batch)
{
    return batch->schema;
}

int64_t gsa_batch_edge_total(const gsa_batch *batch)
{
    int64_t total = 0;
    for (int p = 0; p < batch->schema->phases; p++) total += batch->phase[p].edge_total;
    return total;
}

const int64_t *gsa_batch_offset(const gsa_batch *batch, int kind, const void *base)
{
    return view(batch, base, batch->kind[kind].offset);
}

const int32_t *gsa_batch_node_example(const gsa_batch *batch, int kind, const void *base)
{
    return view(batch, base, batch->kind[kind].example);
}

const int32_t *gsa_batch_node_local(const gsa_batch *batch, int kind, const void *base)
{
    return view(batch, base, batch->kind[kind].local);
}

void gsa_batch_edges(const gsa_batch *batch, int phase, const void *base, gsa_edges *edges)
{
    const phase_layout *x = &batch->phase[phase];
    *edges = (gsa_edges){ .rows = x->rows,
                          .run_total = x->run_total,
                          .edge_total = x->edge_total,
                          .run_offset = view(batch, base, x->run_offset),
                          .edge_offset = view(batch, base, x->edge_offset),
                          .runs = view(batch, base, x->runs),
                          .kinds = batch->schema->kinds,
                          .labels = batch->schema->phase[phase].labels,
                          .row_example = view(batch, base, x->row_example),
                          .row_local = view(batch, base, x->row_local),
                          .examples = batch->examples,
                          .source_scale = (int32_t)scale_of(batch, phase),
                          .block_offset = view(batch, base, x->block_offset),
                          .blocks = view(batch, base, x->blocks),
                          .memo = &batch->memo[phase],
                          .content = batch->content[phase] };
    for (int k = 0; k < batch->schema->kinds; k++) {
        if (!(batch->schema->phase[phase].sources >> k & 1)) continue;
        edges->part_rows[k] = batch->kind[k].nodes * scale_of(batch, phase);
        edges->source_offset[k] = view(batch, base, batch->kind[k].offset);
    }
}

const uint8_t *gsa_batch_empty(const gsa_batch *batch, int phase, const void *base)
{
    return view(batch, base, batch->phase[phase].empty);
}

int64_t gsa_batch_destinations(const gsa_batch *batch, int phase)
{
    return batch->phase[phase].destinations;
}

const int32_t *gsa_batch_destination_example(const gsa_batch *batch, int phase, const void *base)
{
    return view(batch, base, batch->phase[phase].destination_example);
}

const int32_t *gsa_batch_destination_local(const gsa_batch *batch, int phase, const void *base)
{
    return view(batch, base, batch->phase[phase].destination_local);
}

const int32_t *gsa_batch_summary(const gsa_batch *batch, int kind, const void *base)
{
    return view(batch, base, batch->kind[kind].summary);
}
