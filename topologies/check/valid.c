/* valid.c - patterns that can be built at all: edges in range, labels with names, a given graph's
 * one length. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "graph/utf8.h"
#include "parts.h"

/* ---- valid --------------------------------------------------------------------------------- */

static gsa_status scan(const gsa_checking *c, const gsa_instance *x, gsa_error *why)
{
    gsa_status status = GSA_OK;
    for (int p = 0; p < gsa_schema_phases(c->schema) && status == GSA_OK; p++) {
        gsa_edges edges;
        gsa_instance_edges(x, p, &edges);
        status = gsa_edges_check(&edges, gsa_schema_phase(c->schema, p)->name, why);
    }
    return status;
}

/* Every example of one length and text: heads 1 and some more, memory of 0 and some, with groups
 * and without. */
static gsa_status try_text(gsa_checking *c, int32_t length, int text, int64_t *tried,
                           gsa_finding *finding, gsa_error *error)
{
    static const int32_t heads[] = { 4, 6, 8, 16, 64 };
    for (int variant = 0; variant < 8; variant++) {
        gsa_trial trial = gsa_checking_trial(c, length);
        gsa_instance *x;
        gsa_error why = { 0 };
        if (variant & 2 && !c->reads_memory) continue;
        if (variant & 1) trial.heads = heads[length % 5];
        if (variant & 2) trial.memory_length = 0;
        trial.text = text;
        trial.grouped = (variant & 4) != 0;
        gsa_status status = gsa_checking_build(c, &trial, &x, &why);
        if (status == GSA_OK) status = scan(c, x, &why);
        gsa_instance_release(x);
        if (status != GSA_OK) return gsa_found_error(finding, &trial, status, &why, error);
        ++*tried;
    }
    return GSA_OK;
}

static gsa_status try_length(gsa_checking *c, int32_t length, int64_t *tried, gsa_finding *finding,
                             gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int i = 0, text;
         gsa_checking_text(c, i, &text) && status == GSA_OK && finding->verdict == GSA_VERDICT_OK;
         i++)
        if (gsa_checking_has(c, text, length))
            status = try_text(c, length, text, tried, finding, error);
    return status;
}

/* A given graph: the length that its author names, or the first that works. */
static gsa_status find_one_length(gsa_checking *c, gsa_finding *finding, gsa_error *error)
{
    enum { MOST = 4096 };
    gsa_error why = { 0 };
    gsa_trial trial = { 0 };
    const int32_t first = c->options.length > 0 ? c->options.length : 0,
                  last = first ? first : MOST;
    for (int32_t n = first; n <= last; n++) {
        gsa_instance *x;
        trial = gsa_checking_trial(c, n);
        const gsa_status status = gsa_checking_build(c, &trial, &x, &why);
        gsa_instance_release(x);
        if (status == GSA_ERR_MEMORY) return gsa_fail(error, status, "%s", why.text);
        if (status == GSA_OK && (n > 0 || first == last)) {
            c->only = n;
            return GSA_OK;
        }
    }
    finding->length = last;
    gsa_found(finding, GSA_VERDICT_FAILED,
              "no length from %" PRId32 " to %" PRId32 " works, give the right one; %s", first,
              last, why.text);
    return GSA_OK;
}

gsa_status gsa_check_valid(gsa_checking *c, gsa_finding *finding, gsa_error *error)
{
    int64_t tried = 0;
    gsa_status status = GSA_OK;
    if (gsa_checking_promised(c, GSA_ONE_LENGTH)) status = find_one_length(c, finding, error);
    for (int i = 0;
         gsa_checking_length(c, i) >= 0 && status == GSA_OK && finding->verdict == GSA_VERDICT_OK;
         i++)
        status = try_length(c, gsa_checking_length(c, i), &tried, finding, error);
    if (status != GSA_OK || finding->verdict != GSA_VERDICT_OK) return status;
    char texts[64] = "";
    if (c->reads_text && c->options.n_texts)
        snprintf(texts, sizeof texts, ", %" PRId32 " text%s given among them", c->options.n_texts,
                 c->options.n_texts == 1 ? "" : "s");
    if (c->only >= 0)
        gsa_found(finding, GSA_VERDICT_OK, "%" PRId64 " examples of %" PRId32 " tokens%s", tried,
                  c->only, texts);
    else
        gsa_found(finding, GSA_VERDICT_OK, "%" PRId64 " examples of 0 to 130 and 1000 tokens%s",
                  tried, texts);
    return GSA_OK;
}

/* ---- labels -------------------------------------------------------------------------------- */

enum { NAME_SIZE = 64, NAMES_MOST = 4096, FILL = 0x5a };

/* NULL, or what is wrong with the name that the plugin wrote twice. */
static const char *wrong_name(const char one[2 * NAME_SIZE], const char two[2 * NAME_SIZE])
{
    for (int i = NAME_SIZE; i < 2 * NAME_SIZE; i++)
        if (one[i] != FILL) return "writes beyond its buffer";
    if (!memchr(one, 0, NAME_SIZE)) return "is not terminated";
    if (strcmp(one, two) != 0) return "changes from call to call";
    if (gsa_utf8_invalid(one, (int64_t)strlen(one)) >= 0 && strlen(one) < NAME_SIZE - 4)
        return "is not UTF-8";
    return NULL;
}

static void check_names(const gsa_checking *c, int p, gsa_finding *finding)
{
    const gsa_topology *topology = gsa_pattern_topology(c->pattern);
    const gsa_phase *phase = gsa_schema_phase(c->schema, p);
    for (int32_t id = 0; topology->label && id < phase->labels && id < NAMES_MOST; id++) {
        char one[2 * NAME_SIZE], two[2 * NAME_SIZE];
        memset(one, FILL, sizeof one);
        memset(two, FILL, sizeof two);
        if (id % 64 == 0) gsa_checking_beat(c, -1);
        topology->label(gsa_pattern_self(c->pattern), p, id, one, NAME_SIZE);
        topology->label(gsa_pattern_self(c->pattern), p, id, two, NAME_SIZE);
        const char *why = wrong_name(one, two);
        if (!why) continue;
        finding->phase = p, finding->value = id;
        gsa_found(finding, GSA_VERDICT_FAILED, "phase '%s': the name of label %" PRId32 " %s",
                  phase->name, id, why);
        return;
    }
}

static void mark_labels(const gsa_edges *edges, uint8_t *used)
{
    for (int64_t i = 0; i < edges->run_total; i++) {
        const gsa_run *run = &edges->runs[i];
        for (int64_t j = 0; j < (run->label_step ? run->count : 1); j++)
            used[run->label + j * run->label_step] = 1;
    }
}

static gsa_status mark_example(gsa_checking *c, int p, gsa_trial trial, uint8_t *used,
                               gsa_error *error)
{
    gsa_instance *x;
    gsa_edges edges;
    trial.heads = 4;
    const gsa_status status = gsa_checking_build(c, &trial, &x, error);
    if (status != GSA_OK) return status;
    gsa_instance_edges(x, p, &edges);
    mark_labels(&edges, used);
    gsa_instance_release(x);
    return GSA_OK;
}

/* How many of a phase's labels some edge of the usual lengths has. */
static gsa_status count_labels(gsa_checking *c, int p, int64_t *count, gsa_error *error)
{
    const int32_t labels = gsa_schema_phase(c->schema, p)->labels;
    uint8_t *used = gsa_alloc_zero(c->system, (size_t)labels, 1);
    if (!used) return gsa_out_of_memory(error, "labels", labels);
    gsa_status status = GSA_OK;
    for (int i = 0; gsa_checking_few(c, i) >= 0; i++) {
        gsa_trial trial = gsa_checking_trial(c, gsa_checking_few(c, i));
        for (int t = 0; gsa_checking_text(c, t, &trial.text) && status == GSA_OK; t++)
            if (gsa_checking_has(c, trial.text, trial.length))
                status = mark_example(c, p, trial, used, error);
    }
    for (int32_t l = 0; l < labels; l++) *count += used[l];
    gsa_release(c->system, used);
    return status;
}

gsa_status gsa_check_labels(gsa_checking *c, gsa_finding *finding, gsa_error *error)
{
    int64_t used = 0, declared = 0;
    gsa_status status = GSA_OK;
    for (int p = 0;
         p < gsa_schema_phases(c->schema) && finding->verdict == GSA_VERDICT_OK && status == GSA_OK;
         p++) {
        if (gsa_schema_phase(c->schema, p)->aggregate == GSA_NONE) continue;
        check_names(c, p, finding);
        declared += gsa_schema_phase(c->schema, p)->labels;
        status = count_labels(c, p, &used, error);
    }
    if (status == GSA_OK && finding->verdict == GSA_VERDICT_OK)
        gsa_found(finding, GSA_VERDICT_OK, "%" PRId64 " of %" PRId64 " are used%s%s", used,
                  declared, c->only >= 0 ? "" : " up to 1000 tokens",
                  gsa_pattern_topology(c->pattern)->label ? "" : "; they have no names");
    return status;
}

/* ---- one length ---------------------------------------------------------------------------- */

gsa_status gsa_check_one_length(gsa_checking *c, gsa_finding *finding, gsa_error *error)
{
    const int32_t others[] = { 0, 1, c->only - 1, c->only + 1, 2 * c->only, 1000 };
    if (c->only < 0) {
        gsa_found(finding, GSA_VERDICT_NOT_PROMISED, "every length works");
        return GSA_OK;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        gsa_instance *x;
        gsa_error why = { 0 };
        const gsa_trial trial = gsa_checking_trial(c, others[i]);
        if (others[i] == c->only || others[i] < 1) continue; /* nothing is a part of every graph */
        const gsa_status status = gsa_checking_build(c, &trial, &x, &why);
        gsa_instance_release(x);
        if (status == GSA_ERR_MEMORY) return gsa_fail(error, status, "%s", why.text);
        if (status == GSA_ERR_ARGUMENT) continue;
        finding->length = others[i];
        gsa_found(finding, GSA_VERDICT_FAILED, "%" PRId32 " tokens work, and so do %" PRId32 "%s%s",
                  c->only, others[i], status == GSA_OK ? "" : ", but for: ", why.text);
        return GSA_OK;
    }
    gsa_found(finding, GSA_VERDICT_OK, "%" PRId32 " tokens work, others are refused", c->only);
    return GSA_OK;
}
