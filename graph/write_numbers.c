/* write_numbers.c - what each head of each phase does, in numbers: as JSON, as CSV, and in the
 * page. A row is what one node reads in one phase (of one head); its weights are taken as shares of
 * their sum. Cost O(edges x heads) time; 8 bytes a node, 4 an edge of a phase, and 8 for each head
 * and each label that an edge has: not for those that the pattern names, which may be 2^31. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/write_parts.h"

typedef struct head_numbers { /* sums over the rows that read anything */
    int64_t rows, near;       /* near: rows that have a distance */
    double entropy, distance, self;
    double all, *kind, *label; /* of weights; by what is read [n_kinds], by label [met.count] */
    double sum, logs, far, far_sum, own; /* of the row that is open */
} head_numbers;

typedef struct counter {
    const gsa_drawing *drawing;
    const gsa_met_labels *met;
    const double *place; /* [nodes] in tokens */
    head_numbers *head;  /* [heads] */
    int heads;
    int64_t to;
    int32_t head_to;
} counter;

/* ---- where nodes are --------------------------------------------------------------------- */

static int64_t length_of(const gsa_drawing *d, int stack)
{
    int64_t length = 1;
    for (int k = 0; k < d->n_kinds; k++)
        if (d->kinds[k].stack == stack && d->kinds[k].count > length) length = d->kinds[k].count;
    return length;
}

/* The middle of what a node stands for, in tokens. */
static void find_places(const gsa_drawing *d, double *place)
{
    for (int k = 0; k < d->n_kinds; k++) {
        const gsa_drawn_kind *kind = &d->kinds[k];
        const double half = (double)(length_of(d, kind->stack) - 1) / 2;
        for (int64_t i = 0; i < kind->count; i++) {
            const gsa_place p = gsa_draw_place(d, k, i);
            place[kind->first + i] = p.level >= 0       ? ((double)p.first + p.last) / 2
                                     : kind->count == 1 ? half
                                                        : (double)i;
        }
    }
}

static const gsa_drawn_kind *kind_of(const gsa_drawing *d, int64_t node)
{
    const gsa_drawn_kind *kind = d->kinds;
    while (node >= kind->first + kind->count) kind++;
    return kind;
}

/* Tokens between two nodes of one sequence; -1: they are of two. */
static double distance(const counter *c, const gsa_drawn_edge *e)
{
    const gsa_drawn_kind *a = kind_of(c->drawing, e->from), *b = kind_of(c->drawing, e->to);
    if (a->stack != b->stack || (a->start == GSA_MEMORY) != (b->start == GSA_MEMORY)) return -1;
    return fabs(c->place[e->from] - c->place[e->to]);
}

/* ---- labels that are met ------------------------------------------------------------------- */

static void meet(void *context, const gsa_drawn_edge *e)
{
    gsa_met_labels *met = context;
    if (met->count > 0 && e->label == met->last) return;
    met->last = e->label;
    if (met->label) met->label[met->count] = e->label;
    met->count++;
}

static int by_number(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* One for each run of edges first, then each once. */
gsa_status gsa_draw_labels(const gsa_drawing *d, int sheet, int phase, gsa_met_labels *met,
                           gsa_error *error)
{
    *met = (gsa_met_labels){ 0 };
    gsa_draw_phase_edges(d, sheet, phase, meet, met);
    int32_t *label = gsa_alloc(d->system, (size_t)met->count + 1, sizeof *label);
    if (!label) return gsa_out_of_memory(error, "labels of edges", 4 * (met->count + 1));
    *met = (gsa_met_labels){ .label = label };
    gsa_draw_phase_edges(d, sheet, phase, meet, met);
    qsort(label, (size_t)met->count, sizeof *label, by_number);
    int64_t once = 0;
    for (int64_t i = 0; i < met->count; i++)
        if (i == 0 || label[i] != label[i - 1]) label[once++] = label[i];
    met->count = once;
    return GSA_OK;
}

int64_t gsa_draw_label_place(const gsa_met_labels *met, int32_t label)
{
    const int32_t *at = bsearch(&label, met->label, (size_t)met->count, sizeof label, by_number);
    return at - met->label;
}

/* ---- rows ---------------------------------------------------------------------------------- */

static void end_row(counter *c)
{
    for (int h = 0; h < c->heads; h++) {
        head_numbers *n = &c->head[h];
        if (n->sum > 0) {
            const double entropy = log2(n->sum) - n->logs / n->sum;
            n->rows++;
            n->entropy += entropy > 0 ? entropy : 0; /* one edge: rounding alone */
            n->self += n->own / n->sum;
            if (n->far_sum > 0) n->near++, n->distance += n->far / n->far_sum;
        }
        n->sum = n->logs = n->far = n->far_sum = n->own = 0;
    }
}

static void add_edge(void *context, const gsa_drawn_edge *e)
{
    counter *c = context;
    const double far = distance(c, e);
    const ptrdiff_t kind = kind_of(c->drawing, e->from) - c->drawing->kinds;
    const int64_t label = gsa_draw_label_place(c->met, e->label);
    if (e->to != c->to || e->head_to != c->head_to) end_row(c);
    c->to = e->to, c->head_to = e->head_to;
    for (int h = 0; h < c->heads; h++) {
        const double w = gsa_draw_weight_in(e, h);
        head_numbers *n = &c->head[h];
        if (!(w > 0)) continue;
        n->sum += w, n->logs += w * log2(w);
        n->all += w, n->kind[kind] += w, n->label[label] += w;
        if (e->from == e->to) n->own += w;
        if (far >= 0) n->far += w * far, n->far_sum += w;
    }
}

/* ---- output -------------------------------------------------------------------------------- */

typedef struct number_writer {
    const gsa_drawing *drawing;
    const gsa_picture_sheet *sheet;
    const char *phase;
    gsa_met_labels met;
    int sheet_number, phase_number, head, csv, written;
} number_writer;

static void put_csv_text(gsa_output *out, const char *text)
{
    gsa_output_text(out, "\"");
    for (const char *c = text; *c; c++) {
        if (*c == '"') gsa_output_text(out, "\"");
        gsa_output_write(out, c, 1);
    }
    gsa_output_text(out, "\"");
}

/* A line of the CSV: picture, stack, layer, phase, head, measure, of, value. */
static void csv_line(const number_writer *w, const char *measure, const char *of, double value)
{
    gsa_output *out = w->drawing->output;
    put_csv_text(out, w->drawing->title ? w->drawing->title : "");
    gsa_output_text(out, ",");
    put_csv_text(out, gsa_draw_prefix(w->drawing, w->sheet->stack));
    gsa_output_format(out, ",%d,", w->sheet->layer);
    put_csv_text(out, w->phase);
    gsa_output_format(out, ",%d,%s,", w->head, measure);
    put_csv_text(out, of);
    gsa_output_text(out, ",");
    gsa_draw_real(out, value);
    gsa_output_text(out, "\n");
}

static void put_number(number_writer *w, const char *key, double value)
{
    if (w->csv) {
        csv_line(w, key, "", value);
        return;
    }
    gsa_output_format(w->drawing->output, ",\"%s\":", key);
    gsa_draw_real(w->drawing->output, value);
}

static void put_share(number_writer *w, const char *group, const char *of, double share)
{
    if (w->csv) {
        csv_line(w, group, of, share);
        return;
    }
    if (w->written++) gsa_output_text(w->drawing->output, ",");
    gsa_page_text(w->drawing->output, of, (int64_t)strlen(of));
    gsa_output_text(w->drawing->output, ":");
    gsa_draw_real(w->drawing->output, share);
}

static void open_group(number_writer *w, const char *group)
{
    w->written = 0;
    if (!w->csv) gsa_output_format(w->drawing->output, ",\"%s\":{", group);
}

static void close_group(const number_writer *w)
{
    if (!w->csv) gsa_output_text(w->drawing->output, "}");
}

static void put_kinds(number_writer *w, const head_numbers *n)
{
    const gsa_drawing *d = w->drawing;
    char name[2 * GSA_LABEL_NAME];
    open_group(w, "kinds");
    for (int k = 0; k < d->n_kinds; k++) {
        const char *stack = gsa_draw_prefix(d, d->kinds[k].stack);
        if (!(n->kind[k] > 0)) continue;
        snprintf(name, sizeof name, "%s%s%s", stack, *stack ? "." : "", d->kinds[k].name);
        put_share(w, "kinds", name, n->kind[k] / n->all);
    }
    close_group(w);
}

/* Labels have names of their own; one without a name is its number. */
static void put_labels(number_writer *w, const head_numbers *n, int32_t labels)
{
    char name[GSA_LABEL_NAME];
    open_group(w, "labels");
    for (int64_t i = 0; labels > 1 && i < w->met.count; i++) {
        if (!(n->label[i] > 0)) continue;
        gsa_draw_label_name(w->sheet, w->phase_number, w->met.label[i], name);
        if (!*name) snprintf(name, sizeof name, "label %d", (int)w->met.label[i]);
        put_share(w, "labels", name, n->label[i] / n->all);
    }
    close_group(w);
}

static void put_head(number_writer *w, const head_numbers *n, int32_t labels)
{
    const double rows = n->rows > 0 ? (double)n->rows : 1;
    gsa_output *out = w->drawing->output;
    if (!w->csv) {
        const char *stack = gsa_draw_prefix(w->drawing, w->sheet->stack);
        gsa_output_format(out, "%s\n{\"stack\":", w->head ? "," : "");
        gsa_page_text(out, stack, (int64_t)strlen(stack));
        gsa_output_format(out, ",\"layer\":%d,\"phase\":", w->sheet->layer);
        gsa_page_text(out, w->phase, (int64_t)strlen(w->phase));
        gsa_output_format(out, ",\"head\":%d", w->head);
    }
    put_number(w, "rows", (double)n->rows);
    put_number(w, "entropy", n->entropy / rows);
    if (n->near > 0) put_number(w, "distance", n->distance / (double)n->near);
    put_number(w, "self", n->self / rows);
    if (w->csv) csv_line(w, "only_self", "", n->rows > 0 && n->self / rows > GSA_ONLY_SELF);
    else
        gsa_output_format(out, ",\"only_self\":%s",
                          n->rows > 0 && n->self / rows > GSA_ONLY_SELF ? "true" : "false");
    put_kinds(w, n);
    put_labels(w, n, labels);
    if (!w->csv) gsa_output_text(out, "}");
}

/* ---- a phase of a sheet -------------------------------------------------------------------- */

static gsa_status count_phase(const gsa_drawing *d, number_writer *w, const double *place,
                              gsa_error *error)
{
    const gsa_phase *x = gsa_schema_phase(w->sheet->schema, w->phase_number);
    const int heads = x->per_head ? d->heads : d->columns ? d->columns : 1;
    gsa_status status = gsa_draw_labels(d, w->sheet_number, w->phase_number, &w->met, error);
    if (status != GSA_OK) return status;
    const size_t labels = (size_t)w->met.count, kinds = (size_t)d->n_kinds;
    head_numbers *all = gsa_alloc_zero(d->system, (size_t)heads, sizeof *all);
    double *sums = gsa_alloc_zero(d->system, (size_t)heads * (kinds + labels), sizeof *sums);
    counter c = {
        .drawing = d, .met = &w->met, .place = place, .head = all, .heads = heads, .to = -1
    };
    if (!all || !sums)
        status = gsa_out_of_memory(error, "numbers of heads",
                                   heads * (int64_t)(sizeof *all + (kinds + labels) * 8));
    for (int h = 0; status == GSA_OK && h < heads; h++) {
        all[h].kind = sums + (size_t)h * (kinds + labels);
        all[h].label = all[h].kind + kinds;
    }
    if (status == GSA_OK) {
        gsa_draw_phase_edges(d, w->sheet_number, w->phase_number, add_edge, &c);
        end_row(&c);
    }
    for (w->head = 0; status == GSA_OK && w->head < heads; w->head++)
        put_head(w, &all[w->head], x->labels);
    gsa_release(d->system, sums);
    gsa_release(d->system, all);
    gsa_release(d->system, w->met.label);
    return status;
}

static gsa_status write_numbers(const gsa_drawing *d, int csv, gsa_error *error)
{
    char name[GSA_PHASE_NAME];
    gsa_status status = GSA_OK;
    double *place = gsa_alloc(d->system, (size_t)d->nodes, sizeof *place);
    number_writer w = { .drawing = d, .csv = csv };
    int shown = 0;
    if (!place && d->nodes > 0) return gsa_out_of_memory(error, "places of nodes", d->nodes * 8);
    find_places(d, place);
    for (int s = 0; s < d->picture->n_sheets; s++)
        for (int f = 0; f < gsa_schema_phases(d->picture->sheets[s].schema); f++) {
            const gsa_drawn_edge any = { .sheet = s, .phase = f };
            if (status != GSA_OK || !gsa_is_drawn(&d->picture->sheets[s], f)) continue;
            w.sheet = &d->picture->sheets[s], w.sheet_number = s, w.phase_number = f;
            w.phase = gsa_draw_phase_name(d, &any, name);
            if (!csv && shown++) gsa_output_text(d->output, ",");
            status = count_phase(d, &w, place, error);
        }
    gsa_release(d->system, place);
    return status;
}

gsa_status gsa_write_numbers(const gsa_drawing *d, gsa_error *error)
{
    gsa_output_text(d->output, "[");
    const gsa_status status = write_numbers(d, 0, error);
    gsa_output_text(d->output, "]");
    return status;
}

gsa_status gsa_write_json(const gsa_drawing *d, gsa_error *error)
{
    const char *title = d->title ? d->title : "";
    const char *spec = d->picture->spec ? d->picture->spec : d->topologies;
    gsa_output_text(d->output, "{\"title\":");
    gsa_page_text(d->output, title, (int64_t)strlen(title));
    gsa_output_text(d->output, ",\"spec\":");
    gsa_page_text(d->output, spec, (int64_t)strlen(spec));
    gsa_output_text(d->output, ",\"numbers\":");
    const gsa_status status = gsa_write_numbers(d, error);
    gsa_output_text(d->output, "}");
    return status;
}

gsa_status gsa_write_csv(const gsa_drawing *d, gsa_error *error)
{
    return write_numbers(d, 1, error);
}
