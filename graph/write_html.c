/* write_html.c - a page that needs no other file: markup, style and script (graph/page), and the
 * pictures as JSON between them. Numbers of nodes and edges are columns in base64.
 * docs/file-formats.md lists the keys. No text of a picture can end the element that holds it: '<'
 * is written \u003c. */

/* The data of a page, in its element script#data: {"pictures": [...], "beside": ...} as JSON, with
 * every '<' as \u003c; `beside`: the picture that is shown next to the first one, from 1, or -1. A
 * column has `type`, `count` and `base64`. Types: `f32`, floats, little-endian; `curve`, integers
 * by their second differences d, as 2d or -2d-1; `steps`, weights, as multiples of 1 / `steps`. The
 * last two are bits in blocks of 128 values, coded after Rice: 5 bits k, then each value v as v >>
 * k ones, a zero and k low bits. From 16 ones on, 16 ones and 32 bits of v follow. A regular edge
 * takes 0.6 bytes. Up to 200,000 weights are floats of 5.4 bytes; more take 1.4 bytes each, in
 * steps of 1e-4 or of a hundredth of the mean weight.
 *
 * A picture: `title`, `spec`, `length`, `heads`, `nodes`, `edges` as in GraphML; `columns`: weights
 * of an edge (0: none); `stacks`: names; `kinds` in the order of their nodes: `name`, `start`
 * (input, copy, memory, own), `stack`, `count`; `tokens`: a text for each node, or null; `level`,
 * `first`, `last`: columns over nodes, the value plus 1 (0: nothing is declared); `sheets`.
 * A sheet is a phase of a layer: `phase`, `layer`, `place`, `edges`; `readers`, `degree`: the kinds
 * that read, and the edges into each of their nodes, in order; `from`, `label`: columns over edges
 * (no label: all are 0); `heads`, `head_from` of a phase over (node, head), where each node has a
 * degree for each head; `names`: of labels, by number; `same` in place of these: the place of a
 * sheet with equal edges; `weights`: a column of edges by heads. */
#include <math.h>
#include <string.h>
#include "graph/palette.h"
#include "graph/write_parts.h"

/* ---- texts and columns --------------------------------------------------------------------- */

void gsa_page_text(gsa_output *out, const char *text, int64_t bytes)
{
    int64_t from = 0;
    gsa_output_text(out, "\"");
    for (int64_t i = 0; i < bytes; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c >= ' ' && c != '"' && c != '\\' && c != '<') continue;
        gsa_output_write(out, text + from, i - from);
        gsa_output_format(out, "\\u%04x", c);
        from = i + 1;
    }
    gsa_output_write(out, text + from, bytes - from);
    gsa_output_text(out, "\"");
}

static void put_text(gsa_output *out, const char *text)
{
    gsa_page_text(out, text, (int64_t)strlen(text));
}

static void put_key(gsa_output *out, const char *key, int64_t value)
{
    gsa_output_format(out, ",\"%s\":", key);
    gsa_draw_int(out, value);
}

/* Integers by their second differences (weights by their steps), in blocks of BLOCK values by
 * Rice's code: 5 bits k, then of each value v the quotient v >> k as so many ones and a zero, and
 * its k low bits; ESCAPE ones and 32 bits where it is not less. Rice, "Some practical universal
 * noiseless coding techniques", 1979. Near the entropy where values fall off as weights do, without
 * a library that a reader would need too. */
enum { BLOCK = 128, ESCAPE = 16, EXACT = 200000 };

typedef struct column {
    gsa_output *out;
    int64_t values;
    uint32_t last, step, block[BLOCK];
    int reals;      /* are its values floats? */
    int64_t steps;  /* of its weights; 0: they are no multiples */
    int bits, held; /* of the byte that is open; bytes of `three` */
    unsigned char byte, three[3];
} column;

static void put_three(column *c)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned bits = (unsigned)c->three[0] << 16 | (unsigned)c->three[1] << 8 | c->three[2];
    char four[4];
    for (int i = 0; i < 4; i++) four[i] = i <= c->held ? alphabet[bits >> (18 - 6 * i) & 63] : '=';
    gsa_output_write(c->out, four, 4);
    memset(c->three, 0, sizeof c->three);
    c->held = 0;
}

static void put_byte(column *c, unsigned byte)
{
    c->three[c->held++] = (unsigned char)byte;
    if (c->held == 3) put_three(c);
}

static void put_bits(column *c, uint32_t value, int count)
{
    while (count-- > 0) {
        c->byte = (unsigned char)(c->byte << 1 | (value >> count & 1));
        if (++c->bits == 8) put_byte(c, c->byte), c->bits = 0, c->byte = 0;
    }
}

static int64_t bits_of(uint32_t value, int k)
{
    const uint32_t ones = value >> k;
    return ones < ESCAPE ? (int64_t)ones + 1 + k : ESCAPE + 32;
}

/* By the k that makes it shortest. */
static void put_block(column *c, int count)
{
    int64_t least = INT64_MAX;
    int k = 0;
    for (int t = 0; t < 32; t++) {
        int64_t bits = 0;
        for (int i = 0; i < count && bits < least; i++) bits += bits_of(c->block[i], t);
        if (bits < least) least = bits, k = t;
    }
    put_bits(c, (uint32_t)k, 5);
    for (int i = 0; i < count; i++) {
        const uint32_t ones = c->block[i] >> k;
        for (uint32_t one = 0; one < ones && one < ESCAPE; one++) put_bits(c, 1, 1);
        if (ones < ESCAPE) put_bits(c, 0, 1);
        put_bits(c, c->block[i], ones < ESCAPE ? k : 32);
    }
}

static void put_value(column *c, uint32_t value)
{
    c->block[c->values++ % BLOCK] = value;
    if (c->values % BLOCK == 0) put_block(c, BLOCK);
}

static column begin(gsa_output *out, const char *key, const char *type)
{
    gsa_output_format(out, ",\"%s\":{\"type\":\"%s\",\"base64\":\"", key, type);
    return (column){ .out = out, .reals = strcmp(type, "f32") == 0 };
}

/* How far the value is from where the last step would lead again, as 0, -1, 1, -2, ... */
static void put(column *c, uint32_t value)
{
    const uint32_t delta = value - c->last - c->step;
    put_value(c, delta << 1 ^ (delta >> 31 ? UINT32_MAX : 0));
    c->step = value - c->last, c->last = value;
}

static void put_real(column *c, double value)
{
    const float real = (float)value;
    uint32_t bits;
    memcpy(&bits, &real, sizeof bits);
    for (int i = 0; i < 4; i++) put_byte(c, bits >> 8 * i & 255);
    c->values++;
}

static void end(column *c)
{
    if (!c->reals && c->values % BLOCK) put_block(c, (int)(c->values % BLOCK));
    while (c->bits > 0) put_bits(c, 0, 1);
    if (c->held) put_three(c);
    gsa_output_text(c->out, "\"");
    put_key(c->out, "count", c->values);
    if (c->steps) put_key(c->out, "steps", c->steps);
    gsa_output_text(c->out, "}");
}

/* ---- nodes --------------------------------------------------------------------------------- */

static void kinds(const gsa_drawing *d)
{
    static const char *const starts[] = {
        [GSA_INPUT] = "input",
        [GSA_COPY] = "copy",
        [GSA_MEMORY] = "memory",
    };
    gsa_output_text(d->output, ",\"kinds\":[");
    for (int k = 0; k < d->n_kinds; k++) {
        const gsa_drawn_kind *kind = &d->kinds[k];
        const int known = kind->start >= 0 && kind->start < (int)(sizeof starts / sizeof *starts) &&
                          starts[kind->start];
        gsa_output_text(d->output, k ? ",{\"name\":" : "{\"name\":");
        put_text(d->output, kind->name);
        gsa_output_format(d->output, ",\"start\":\"%s\"", known ? starts[kind->start] : "own");
        put_key(d->output, "stack", kind->stack);
        put_key(d->output, "count", kind->count);
        gsa_output_text(d->output, "}");
    }
    gsa_output_text(d->output, "]");
}

/* Tokens; null: the node is called by its kind and index. */
static void tokens(const gsa_drawing *d)
{
    gsa_output_text(d->output, ",\"tokens\":[");
    for (int k = 0; k < d->n_kinds; k++)
        for (int64_t i = 0; i < d->kinds[k].count; i++) {
            const gsa_slice token = gsa_draw_token(d, &d->kinds[k], i);
            if (k || i) gsa_output_text(d->output, ",");
            if (token.at) gsa_page_text(d->output, token.at, token.bytes);
            else gsa_output_text(d->output, "null");
        }
    gsa_output_text(d->output, "]");
}

/* Places of the nodes in each view, in hundredths of a token. */
static gsa_status points(const gsa_drawing *d, gsa_error *error)
{
    static const char *const views[GSA_PLACES] = { "arcs", "tree", "ring" };
    gsa_point *at = gsa_alloc(d->system, (size_t)d->nodes + 1, sizeof *at);
    if (!at) return gsa_out_of_memory(error, "a picture", d->nodes * (int64_t)sizeof *at);
    gsa_output_text(d->output, ",\"places\":{");
    for (int v = 0; v < GSA_PLACES; v++) {
        gsa_draw_places(d, v, at);
        gsa_output_format(d->output, "%s\"%s\":{\"unit\":100", v ? "," : "", views[v]);
        for (int side = 0; side < 2; side++) {
            column c = begin(d->output, side ? "y" : "x", "curve");
            for (int64_t i = 0; i < d->nodes; i++)
                put(&c, (uint32_t)(int32_t)lround(100 * (side ? at[i].y : at[i].x)));
            end(&c);
        }
        gsa_output_text(d->output, "}");
    }
    gsa_output_text(d->output, "}");
    gsa_release(d->system, at);
    return GSA_OK;
}

/* level, first and last, each plus 1; 0: not said. */
static void spans(const gsa_drawing *d)
{
    static const char *const names[] = { "level", "first", "last" };
    for (int which = 0; which < 3; which++) {
        column c = begin(d->output, names[which], "curve");
        for (int k = 0; k < d->n_kinds; k++)
            for (int64_t i = 0; i < d->kinds[k].count; i++) {
                const gsa_place p = gsa_draw_place(d, k, i);
                const int32_t value = which == 0 ? p.level : which == 1 ? p.first : p.last;
                put(&c, p.level < 0 ? 0 : (uint32_t)value + 1);
            }
        end(&c);
    }
}

/* ---- edges: the phases of the sheets ------------------------------------------------------- */

typedef struct edge_writer {
    const gsa_drawing *drawing;
    column column;
    gsa_met_labels met;
    uint8_t *seen; /* a bit for each of them */
    int named;
} edge_writer;

static void put_from(void *context, const gsa_drawn_edge *e)
{
    put(&((edge_writer *)context)->column, (uint32_t)e->from);
}

static void put_head_from(void *context, const gsa_drawn_edge *e)
{
    put(&((edge_writer *)context)->column, (uint32_t)e->head_from);
}

static void put_label(void *context, const gsa_drawn_edge *e)
{
    put(&((edge_writer *)context)->column, (uint32_t)e->label);
}

/* "3":"left 3" where the label has a name and comes for the first time. */
static void put_name(void *context, const gsa_drawn_edge *e)
{
    edge_writer *w = context;
    const int64_t place = gsa_draw_label_place(&w->met, e->label);
    uint8_t *byte = &w->seen[place / 8], bit = (uint8_t)(1u << place % 8);
    char name[GSA_LABEL_NAME];
    if (*byte & bit) return;
    *byte |= bit;
    gsa_draw_label_name(&w->drawing->picture->sheets[e->sheet], e->phase, e->label, name);
    if (!*name) return;
    gsa_output_format(w->drawing->output, "%s\"%d\":", w->named++ ? "," : "", (int)e->label);
    put_text(w->drawing->output, name);
}

/* Rows by destination: the kinds that read, then how many edges each of their nodes has (of a
 * per-head phase, each of its heads). */
static void rows(const gsa_drawing *d, int sheet, int phase, const gsa_edges *edges)
{
    const gsa_picture_sheet *s = &d->picture->sheets[sheet];
    const gsa_phase *x = gsa_schema_phase(s->schema, phase);
    gsa_output_text(d->output, ",\"readers\":[");
    for (int k = 0, shown = 0; k < gsa_schema_kinds(s->schema); k++)
        if (x->destinations >> k & 1)
            gsa_output_format(d->output, "%s%d", shown++ ? "," : "",
                              d->kind[(size_t)sheet * GSA_MAX_KINDS + (size_t)k]);
    gsa_output_text(d->output, "]");
    column degrees = begin(d->output, "degree", "curve");
    for (int64_t r = 0; r < edges->rows; r++)
        put(&degrees, (uint32_t)(edges->edge_offset[r + 1] - edges->edge_offset[r]));
    end(&degrees);
}

static gsa_status structure(const gsa_drawing *d, int sheet, int phase, const gsa_edges *edges,
                            gsa_error *error)
{
    const gsa_picture_sheet *s = &d->picture->sheets[sheet];
    const gsa_phase *x = gsa_schema_phase(s->schema, phase);
    edge_writer w = { .drawing = d };
    rows(d, sheet, phase, edges);
    w.column = begin(d->output, "from", "curve");
    gsa_draw_phase_edges(d, sheet, phase, put_from, &w);
    end(&w.column);
    if (x->per_head) {
        w.column = begin(d->output, "head_from", "curve");
        gsa_draw_phase_edges(d, sheet, phase, put_head_from, &w);
        end(&w.column);
    }
    if (x->labels > 1) {
        w.column = begin(d->output, "label", "curve");
        gsa_draw_phase_edges(d, sheet, phase, put_label, &w);
        end(&w.column);
    }
    const gsa_status status = gsa_draw_labels(d, sheet, phase, &w.met, error);
    if (status != GSA_OK) return status;
    w.seen = gsa_alloc_zero(d->system, (size_t)w.met.count / 8 + 1, 1);
    gsa_output_text(d->output, ",\"names\":{");
    if (w.seen) gsa_draw_phase_edges(d, sheet, phase, put_name, &w);
    gsa_output_text(d->output, "}");
    gsa_release(d->system, w.met.label);
    if (!w.seen) return gsa_out_of_memory(error, "label names", w.met.count / 8 + 1);
    gsa_release(d->system, w.seen);
    return GSA_OK;
}

/* The layers of a segment share an instance: an earlier sheet with the same edges, or -1. */
static int same_edges(const gsa_drawing *d, int sheet, int phase)
{
    const gsa_picture_sheet *s = &d->picture->sheets[sheet];
    for (int before = 0; before < sheet; before++) {
        const gsa_picture_sheet *b = &d->picture->sheets[before];
        if (b->instance == s->instance && b->stack == s->stack && b->self == s->self &&
            gsa_is_drawn(b, phase))
            return before;
    }
    return -1;
}

/* Floats in a page of at most EXACT weights, and where one is no share of 1. Else steps of 1e-4, or
 * of a hundredth of the mean weight where that is finer. */
static void weights(const gsa_drawing *d, const gsa_picture_sheet *s, int phase,
                    const gsa_edges *edges)
{
    const int own = gsa_schema_phase(s->schema, phase)->per_head;
    const int64_t count = edges->edge_total * (own ? 1 : gsa_instance_heads(s->instance));
    const double *value = s->weights[phase];
    int exact = d->edges * d->columns <= EXACT;
    for (int64_t i = 0; i < count && !exact; i++) exact = !(value[i] >= 0 && value[i] <= 1);
    const double degree = (double)edges->edge_total / (double)(edges->rows ? edges->rows : 1);
    const double steps = ceil(100 * (degree > 100 ? degree : 100));
    column c = begin(d->output, "weights", exact ? "f32" : "steps");
    for (int64_t i = 0; i < count; i++)
        if (exact) put_real(&c, value[i]);
        else put_value(&c, (uint32_t)(value[i] * steps + 0.5));
    c.steps = exact ? 0 : (int64_t)steps;
    end(&c);
}

static gsa_status sheet(const gsa_drawing *d, int number, int phase, gsa_error *error)
{
    const gsa_picture_sheet *s = &d->picture->sheets[number];
    const gsa_phase *x = gsa_schema_phase(s->schema, phase);
    const gsa_drawn_edge any = { .sheet = number, .phase = phase };
    const int same = same_edges(d, number, phase);
    char name[GSA_PHASE_NAME];
    gsa_edges edges;
    gsa_status status = GSA_OK;
    gsa_instance_edges(s->instance, phase, &edges);
    gsa_output_text(d->output, "{\"phase\":");
    put_text(d->output, gsa_draw_phase_name(d, &any, name));
    put_key(d->output, "layer", s->layer);
    put_key(d->output, "place", (int64_t)number * GSA_MAX_PHASES + phase);
    put_key(d->output, "edges", edges.edge_total);
    if (x->per_head) put_key(d->output, "heads", gsa_instance_heads(s->instance));
    if (same >= 0) put_key(d->output, "same", (int64_t)same * GSA_MAX_PHASES + phase);
    else status = structure(d, number, phase, &edges, error);
    if (s->weights) weights(d, s, phase, &edges);
    gsa_output_text(d->output, "}");
    return status;
}

static gsa_status sheets(const gsa_drawing *d, gsa_error *error)
{
    const gsa_picture *p = d->picture;
    gsa_status status = GSA_OK;
    int shown = 0;
    gsa_output_text(d->output, ",\"sheets\":[");
    for (int s = 0; s < p->n_sheets; s++)
        for (int f = 0; f < gsa_schema_phases(p->sheets[s].schema) && status == GSA_OK; f++) {
            if (!gsa_is_drawn(&p->sheets[s], f)) continue;
            gsa_output_text(d->output, shown++ ? ",\n" : "\n");
            status = sheet(d, s, f, error);
        }
    gsa_output_text(d->output, "]");
    return status;
}

/* ---- the page ------------------------------------------------------------------------------ */

void gsa_page_hues(gsa_output *out)
{
    static const char *const papers[GSA_PAPERS] = { "{\"light\":[", "],\"dark\":[" };
    for (int p = 0; p < GSA_PAPERS; p++)
        for (int h = 0; h < GSA_HUES; h++)
            gsa_output_format(out, "%s\"%s\"", h ? "," : papers[p], gsa_hues[p][h]);
    gsa_output_text(out, "],\"others\":\"" GSA_GREY "\"}");
}

void gsa_page_begin(gsa_output *out)
{
    gsa_output_text(out, (const char *)gsa_page_before);
    gsa_output_text(out, "{\"hues\":");
    gsa_page_hues(out);
    gsa_output_text(out, ",\"pictures\":[");
}

void gsa_page_end(gsa_output *out, int beside)
{
    gsa_output_format(out, "],\"beside\":%d}", beside > 0 ? beside : -1);
    gsa_output_text(out, (const char *)gsa_page_after);
}

gsa_status gsa_write_html(const gsa_drawing *d, gsa_error *error)
{
    gsa_output_text(d->output, "{\"title\":");
    put_text(d->output, d->title ? d->title : "");
    gsa_output_text(d->output, ",\"spec\":");
    put_text(d->output, d->picture->spec ? d->picture->spec : d->topologies);
    put_key(d->output, "length", d->length);
    put_key(d->output, "heads", d->heads);
    put_key(d->output, "nodes", d->nodes);
    put_key(d->output, "edges", d->edges);
    put_key(d->output, "columns", d->columns);
    gsa_output_text(d->output, ",\"stacks\":[");
    for (int s = 0; s < d->picture->n_stacks; s++) {
        if (s) gsa_output_text(d->output, ",");
        put_text(d->output, gsa_draw_prefix(d, s));
    }
    gsa_output_text(d->output, "]");
    kinds(d);
    tokens(d);
    spans(d);
    gsa_status status = points(d, error);
    if (status == GSA_OK) status = sheets(d, error);
    gsa_output_text(d->output, ",\"numbers\":");
    if (status == GSA_OK) status = gsa_write_numbers(d, error);
    gsa_output_text(d->output, "}");
    return status;
}
