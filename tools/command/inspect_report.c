#include "tools/command/inspect_report.h"
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* ---- table --------------------------------------------------------------------------------- */

/* A name of a foreign file as sentences show it: none commands a terminal. */
static const char *printable(const char *name, gsa_error *room)
{
    gsa_fail(room, GSA_OK, "%s", name);
    return room->text;
}

static void write_kinds(const gsa_view *view, const gsa_measures *m, gsa_output *out)
{
    gsa_output_text(out, "\nnodes                     count   in: least  25 %  half  75 %  most    "
                         "mean   out: least  25 %  half  75 %"
                         "  most    mean\n");
    for (int32_t k = 0; k <= view->kinds.count; k++) {
        const int all = k == view->kinds.count;
        const gsa_quantiles *in = &m->in[k], *from = &m->out[k];
        gsa_error room;
        const char *name = all ? "all" : printable(view->kinds.at[k], &room);
        if (all && view->kinds.count == 1) continue;
        gsa_output_format(
            out,
            "  %-20s %8" PRId64 "  %10" PRId64 " %5" PRId64 " %5" PRId64 " %5" PRId64 " %5" PRId64
            " %7.2f  %11" PRId64 " %5" PRId64 " %5" PRId64 " %5" PRId64 " %5" PRId64 " %7.2f\n",
            name, all ? (int64_t)view->nodes : m->kind_nodes[k], in->least, in->quarter, in->half,
            in->three_quarters, in->most, in->mean, from->least, from->quarter, from->half,
            from->three_quarters, from->most, from->mean);
    }
}

static void write_phases(const gsa_view *view, const gsa_measures *m, gsa_output *out)
{
    gsa_error room;
    gsa_output_text(out, "\nedges                     count\n");
    for (int32_t p = 0; p < view->phases.count; p++)
        if (m->phase_edges[p] > 0)
            gsa_output_format(out, "  %-20s %8" PRId64 "\n", printable(view->phases.at[p], &room),
                              m->phase_edges[p]);
    gsa_output_format(out, "  %-20s %8" PRId64 "\n  %-20s %8" PRId64 "\n", "(to itself)", m->loops,
                      "(parallel)", m->parallel);
}

static void write_graph(const gsa_view *view, const gsa_measures *m, gsa_output *out)
{
    gsa_output_format(out, "\ndensity          %.6g\n", m->density);
    gsa_output_format(out, "components       %" PRId64 " (the largest has %" PRId64 " nodes)",
                      m->weak, m->largest_weak);
    if (view->directed)
        gsa_output_format(out, ", %" PRId64 " strong (%" PRId64 ")", m->strong, m->largest_strong);
    gsa_output_format(out, "; %" PRId64 " isolated node%s\n", m->isolated,
                      m->isolated == 1 ? "" : "s");
    const int exact = m->sources == view->nodes;
    if (m->diameter < 0) gsa_output_text(out, "distance         no node reaches another\n");
    else {
        gsa_output_format(out,
                          "diameter         %s%" PRId64
                          "\nmean distance    %.4g over the %.4g %% of pairs that are joined\n",
                          exact ? "" : "at least ", m->diameter, m->mean_distance,
                          100 * m->reachable);
        if (!exact)
            gsa_output_format(out,
                              "                 sampled: from %" PRId64 " of %" PRId32
                              " nodes, evenly spaced\n",
                              m->sources, view->nodes);
    }
}

static int by_fewest(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

/* The least number of edges that a label must have to be one of the `most` most frequent; 0: all
 * are. */
static int64_t least_shown(const gsa_view *view, const gsa_measures *m, int most)
{
    int64_t *counts = most > 0 && m->n_labels > most
                          ? gsa_alloc(view->system, (size_t)m->n_labels, sizeof *counts)
                          : NULL;
    if (!counts) return 0;
    for (int32_t i = 0; i < m->n_labels; i++) counts[i] = m->labels[i].edges;
    qsort(counts, (size_t)m->n_labels, sizeof *counts, by_fewest);
    const int64_t least = counts[most - 1];
    gsa_release(view->system, counts);
    return least;
}

static void write_labels(const gsa_view *view, const gsa_measures *m, int most, gsa_output *out)
{
    const int64_t least = least_shown(view, m, most);
    int64_t largest = 1;
    int32_t shown = 0;
    for (int32_t i = 0; i < m->n_labels; i++)
        if (m->labels[i].edges > largest) largest = m->labels[i].edges;
    gsa_output_text(out, "\nlabels                                     edges\n");
    for (int32_t i = 0; i < m->n_labels && (most == 0 || shown < most); i++) {
        const gsa_label_count *x = &m->labels[i];
        const char *name = view->labels.at[x->label];
        if (x->edges < least) continue;
        char text[256];
        gsa_error room;
        snprintf(text, sizeof text, "%s %" PRId32 "%s%.160s", view->phases.at[x->phase], x->rel,
                 *name ? ": " : "", name);
        gsa_output_format(out, "  %-36s %9" PRId64 "  %.*s\n", printable(text, &room), x->edges,
                          (int)(30 * x->edges / largest), "##############################");
        shown++;
    }
    if (shown < m->n_labels)
        gsa_output_format(out, "  and %" PRId32 " more\n", m->n_labels - shown);
}

void gsa_report_table(const gsa_view *view, const gsa_measures *m, int labels, gsa_output *out)
{
    gsa_error room;
    gsa_output_format(out, "%s: %" PRId32 " nodes, %" PRId64 " edges%s",
                      printable(view->spec, &room), view->nodes, view->edges,
                      view->directed ? "" : ", undirected");
    if (view->length >= 0) gsa_output_format(out, ", length %" PRId32, view->length);
    if (view->heads >= 0) gsa_output_format(out, ", heads %" PRId32, view->heads);
    gsa_output_text(out, "\n");
    write_kinds(view, m, out);
    write_phases(view, m, out);
    write_graph(view, m, out);
    write_labels(view, m, labels, out);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static json_t *quantiles_json(const gsa_quantiles *q)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:f}", "min", (json_int_t)q->least, "q25",
                     (json_int_t)q->quarter, "median", (json_int_t)q->half, "q75",
                     (json_int_t)q->three_quarters, "max", (json_int_t)q->most, "mean", q->mean);
}

static json_t *kinds_json(const gsa_view *view, const gsa_measures *m)
{
    json_t *kinds = json_array();
    for (int32_t k = 0; k < view->kinds.count; k++)
        json_array_append_new(kinds, json_pack("{s:s, s:I, s:o, s:o}", "kind", view->kinds.at[k],
                                               "nodes", (json_int_t)m->kind_nodes[k], "in",
                                               quantiles_json(&m->in[k]), "out",
                                               quantiles_json(&m->out[k])));
    return kinds;
}

static json_t *phases_json(const gsa_view *view, const gsa_measures *m)
{
    json_t *phases = json_array();
    for (int32_t p = 0; p < view->phases.count; p++)
        json_array_append_new(phases, json_pack("{s:s, s:I}", "phase", view->phases.at[p], "edges",
                                                (json_int_t)m->phase_edges[p]));
    return phases;
}

static json_t *labels_json(const gsa_view *view, const gsa_measures *m)
{
    json_t *labels = json_array();
    for (int32_t i = 0; i < m->n_labels; i++) {
        const gsa_label_count *x = &m->labels[i];
        json_array_append_new(labels,
                              json_pack("{s:s, s:i, s:s, s:I}", "phase", view->phases.at[x->phase],
                                        "rel", (int)x->rel, "label", view->labels.at[x->label],
                                        "edges", (json_int_t)x->edges));
    }
    return labels;
}

static json_t *distance_json(const gsa_view *view, const gsa_measures *m)
{
    json_t *diameter = m->diameter < 0 ? json_null() : json_integer(m->diameter);
    json_t *mean = m->diameter < 0 ? json_null() : json_real(m->mean_distance);
    return json_pack("{s:o, s:o, s:f, s:I, s:b}", "diameter", diameter, "mean", mean, "reachable",
                     m->reachable, "sources", (json_int_t)m->sources, "exact",
                     m->sources == view->nodes);
}

static int put(const char *bytes, size_t count, void *out)
{
    gsa_output_write(out, bytes, (int64_t)count);
    return 0;
}

gsa_status gsa_report_json(const gsa_view *view, const gsa_measures *m, gsa_output *out,
                           gsa_error *error)
{
    json_t *all = json_pack(
        "{s:s, s:i, s:i, s:i, s:I, s:b, s:o, s:o, s:o, s:o}", "spec", view->spec, "length",
        (int)view->length, "heads", (int)view->heads, "nodes", (int)view->nodes, "edges",
        (json_int_t)view->edges, "directed", view->directed, "kinds", kinds_json(view, m), "phases",
        phases_json(view, m), "labels", labels_json(view, m), "distance", distance_json(view, m));
    json_t *rest = json_pack(
        "{s:o, s:o, s:I, s:I, s:f, s:I, s:{s:I, s:I}, s:{s:I, s:I}}", "in",
        quantiles_json(&m->in[view->kinds.count]), "out",
        quantiles_json(&m->out[view->kinds.count]), "loops", (json_int_t)m->loops, "parallel",
        (json_int_t)m->parallel, "density", m->density, "isolated", (json_int_t)m->isolated, "weak",
        "components", (json_int_t)m->weak, "largest", (json_int_t)m->largest_weak, "strong",
        "components", (json_int_t)m->strong, "largest", (json_int_t)m->largest_strong);
    const int made = all && rest && json_object_update(all, rest) == 0;
    if (made) json_dump_callback(all, put, out, JSON_INDENT(2));
    gsa_output_text(out, "\n");
    json_decref(all);
    json_decref(rest);
    return made ? GSA_OK
                : gsa_fail(error, GSA_ERR_MEMORY,
                           "out of memory for JSON, or a text that is no UTF-8");
}
