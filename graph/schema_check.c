/* schema_check.c - the laws of schema.h, each a line with its sentence. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "graph/schema_parts.h"

int gsa_is_name(const char *text)
{
    if (*text < 'a' || *text > 'z') return 0;
    for (; *text; text++)
        if (!(*text >= 'a' && *text <= 'z') && !(*text >= '0' && *text <= '9') && *text != '_')
            return 0;
    return 1;
}

/* "topology 'x': kind 'y': ..."; the place without a name is its number. */
GSA_PRINTF(6, 7)
static gsa_status broken(gsa_error *error, const gsa_schema *s, const char *what, const char *name,
                         int index, const char *format, ...)
{
    char text[GSA_ERROR_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (name)
        return gsa_fail(error, GSA_ERR_PLUGIN, "topology '%s': %s '%s': %s", s->id, what, name,
                        text);
    return gsa_fail(error, GSA_ERR_PLUGIN, "topology '%s': %s %d: %s", s->id, what, index, text);
}
#define BAD_KIND(k, ...)  broken(error, s, "kind", s->kind[k].name, k, __VA_ARGS__)
#define BAD_PHASE(p, ...) broken(error, s, "phase", s->phase[p].name, p, __VA_ARGS__)

static gsa_status check_kind(const gsa_schema *s, int k, gsa_error *error)
{
    const gsa_kind *kind = &s->kind[k];
    if (!kind->name) return BAD_KIND(k, "no name, expected [a-z][a-z0-9_]*");
    if (!gsa_is_name(kind->name)) return BAD_KIND(k, "the name does not match [a-z][a-z0-9_]*");
    for (int j = 0; j < k; j++)
        if (strcmp(s->kind[j].name, kind->name) == 0)
            return BAD_KIND(k, "kinds %d and %d have this name", j, k);
    if (kind->start < GSA_INPUT || kind->start > GSA_MEMORY)
        return BAD_KIND(k, "start is %" PRId32 ", expected 0 to %d", kind->start, GSA_MEMORY);
    if (kind->learned < 0)
        return BAD_KIND(k, "learned is %" PRId32 ", expected at least 0", kind->learned);
    if (kind->learned && (kind->start == GSA_COPY || kind->start == GSA_MEMORY))
        return BAD_KIND(k, "learned is %" PRId32 ", but a copy or memory kind has no learned rows",
                        kind->learned);
    return GSA_OK;
}

static gsa_status check_enumerations(const gsa_schema *s, int p, gsa_error *error)
{
    const gsa_phase *x = &s->phase[p];
    const struct {
        const char *name;
        int32_t value, last;
    } fields[] = { { "when", x->when, GSA_ONCE },
                   { "aggregate", x->aggregate, GSA_NONE },
                   { "update", x->update, GSA_ASSIGN },
                   { "empty", x->empty, GSA_KEEP_EMPTY },
                   { "label_use", x->label_use, GSA_HEAD_BIAS },
                   { "per_head", x->per_head, 1 },
                   { "together", x->together, 1 },
                   { "labels", x->labels, INT32_MAX } };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].value < 0 || fields[i].value > fields[i].last)
            return BAD_PHASE(p, "%s is %" PRId32 ", expected 0 to %" PRId32, fields[i].name,
                             fields[i].value, fields[i].last);
    return GSA_OK;
}

static gsa_status check_names(const gsa_schema *s, int p, gsa_error *error)
{
    const gsa_phase *x = &s->phase[p];
    if (!x->name) return BAD_PHASE(p, "no name, expected [a-z][a-z0-9_]*");
    if (!gsa_is_name(x->name)) return BAD_PHASE(p, "the name does not match [a-z][a-z0-9_]*");
    for (int j = 0; j < p; j++)
        if (strcmp(s->phase[j].name, x->name) == 0)
            return BAD_PHASE(p, "phases %d and %d have this name", j, p);
    if (x->weights && !gsa_is_name(x->weights))
        return BAD_PHASE(p, "weights is '%s', expected [a-z][a-z0-9_]*", x->weights);
    return GSA_OK;
}

/* What may be written and read: known kinds, never a copy or memory, BY_PHASE kinds alone by
 * once-phases. */
static gsa_status check_spaces(const gsa_schema *s, int p, gsa_error *error)
{
    const gsa_phase *x = &s->phase[p];
    const uint64_t known = s->kinds == 64 ? UINT64_MAX : (UINT64_C(1) << s->kinds) - 1;
    if (x->sources & ~known)
        return BAD_PHASE(p, "sources %#" PRIx64 " name a kind beyond the %d kinds", x->sources,
                         s->kinds);
    if (x->destinations & ~known)
        return BAD_PHASE(p, "destinations %#" PRIx64 " name a kind beyond the %d kinds",
                         x->destinations, s->kinds);
    if (!x->destinations) return BAD_PHASE(p, "no destinations");
    if (x->aggregate == GSA_NONE && x->sources)
        return BAD_PHASE(p, "sources are %#" PRIx64 ", but a phase without edges has none",
                         x->sources);
    if (x->aggregate != GSA_NONE && !x->sources)
        return BAD_PHASE(p, "no sources, but a phase with edges needs them");
    for (int k = 0; k < s->kinds; k++) {
        const int start = s->kind[k].start;
        if (!(x->destinations >> k & 1)) continue;
        if (start == GSA_COPY || start == GSA_MEMORY)
            return BAD_PHASE(p, "kind '%s' is a destination, but a %s is never written",
                             s->kind[k].name, start == GSA_COPY ? "copy" : "memory");
        if (x->when == GSA_ONCE && start != GSA_BY_PHASE)
            return BAD_PHASE(p, "a once-phase writes kind '%s', which does not start by phase",
                             s->kind[k].name);
    }
    return GSA_OK;
}

static gsa_status check_pointwise(const gsa_schema *s, int p, gsa_error *error)
{
    const gsa_phase *x = &s->phase[p];
    if (x->update == GSA_FFN && x->aggregate != GSA_NONE)
        return BAD_PHASE(p, "the update is FFN, which needs aggregate NONE, not %" PRId32,
                         x->aggregate);
    if (x->label_use != GSA_NAMES_ONLY && x->aggregate != GSA_ATTEND)
        return BAD_PHASE(p, "label_use is %" PRId32 ", but labels are learned only by ATTEND",
                         x->label_use);
    if (x->aggregate != GSA_NONE) return GSA_OK;
    if (x->per_head) return BAD_PHASE(p, "per_head is 1, but a phase without edges has no heads");
    if (x->labels > 1)
        return BAD_PHASE(p, "labels is %" PRId32 ", but a phase without edges has no labels",
                         x->labels);
    if (x->empty == GSA_KEEP_EMPTY)
        return BAD_PHASE(p, "empty is keep, but a phase without edges would keep every row");
    return GSA_OK;
}

static void resolve(gsa_schema *s, int p)
{
    gsa_phase *x = &s->phase[p];
    if (x->labels == 0) x->labels = 1;
    if (x->empty == GSA_EMPTY_DEFAULT)
        x->empty = x->update == GSA_SUBLAYER || x->aggregate == GSA_NONE ? GSA_UPDATE_EMPTY
                                                                         : GSA_KEEP_EMPTY;
}

/* Phases of one `when` run in the order of their calls; a together phase joins the group of the one
 * before it. */
static gsa_status form_groups(gsa_schema *s, gsa_error *error)
{
    int before[2] = { -1, -1 };
    for (int p = 0; p < s->phases; p++) {
        const gsa_phase *x = &s->phase[p];
        if (x->together && before[x->when] < 0)
            return BAD_PHASE(p, "together is 1, but no %s is before it",
                             x->when ? "once-phase" : "phase of a layer");
        s->group[p] = x->together ? s->group[before[x->when]] : p;
        before[x->when] = p;
    }
    return GSA_OK;
}

static gsa_status check_group(const gsa_schema *s, int p, gsa_error *error)
{
    for (int q = s->group[p]; q < p; q++) {
        if (s->group[q] != s->group[p] || !(s->phase[q].destinations & s->phase[p].destinations))
            continue;
        const int loud = s->phase[q].empty != GSA_KEEP_EMPTY   ? q
                         : s->phase[p].empty != GSA_KEEP_EMPTY ? p
                                                               : -1;
        if (loud >= 0)
            return BAD_PHASE(p,
                             "is together with '%s' and shares a destination kind, so '%s' must "
                             "keep its empty rows",
                             s->phase[q].name, s->phase[loud].name);
    }
    return GSA_OK;
}

static gsa_status check_weights(const gsa_schema *s, int p, gsa_error *error)
{
    const gsa_phase *x = &s->phase[p];
    for (int q = 0; x->weights && q < p; q++) {
        const gsa_phase *y = &s->phase[q];
        if (!y->weights || strcmp(x->weights, y->weights) != 0) continue;
        const char *differs = x->aggregate != y->aggregate   ? "aggregate"
                              : x->update != y->update       ? "update"
                              : x->labels != y->labels       ? "labels"
                              : x->label_use != y->label_use ? "label_use"
                              : x->per_head != y->per_head   ? "per_head"
                              : x->when != y->when           ? "when"
                                                             : NULL;
        if (differs)
            return BAD_PHASE(p, "shares the weights '%s' with phase '%s', but differs in %s",
                             x->weights, y->name, differs);
    }
    return GSA_OK;
}

static gsa_status check_phase(gsa_schema *s, int p, gsa_error *error)
{
    gsa_status (*const checks[])(const gsa_schema *, int,
                                 gsa_error *) = { check_names, check_enumerations, check_spaces,
                                                  check_pointwise };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        const gsa_status status = checks[i](s, p, error);
        if (status != GSA_OK) return status;
    }
    resolve(s, p);
    return GSA_OK;
}

static gsa_status check_starts(const gsa_schema *s, gsa_error *error)
{
    uint64_t once = 0;
    for (int p = 0; p < s->phases; p++)
        if (s->phase[p].when == GSA_ONCE) once |= s->phase[p].destinations;
    for (int k = 0; k < s->kinds; k++)
        if (s->kind[k].start == GSA_BY_PHASE && !(once >> k & 1))
            return BAD_KIND(k, "starts by phase, but no once-phase writes it");
    return GSA_OK;
}

static gsa_status check_readout(const gsa_schema *s, gsa_error *error)
{
    if (s->sequence < 0)
        return gsa_fail(error, GSA_ERR_PLUGIN, "topology '%s': no sequence kind", s->id);
    if (s->sequence >= s->kinds)
        return gsa_fail(error, GSA_ERR_PLUGIN,
                        "topology '%s': the sequence kind is %d, expected 0 to %d", s->id,
                        s->sequence, s->kinds - 1);
    if (s->kind[s->sequence].start != GSA_INPUT)
        return BAD_KIND(s->sequence,
                        "is the sequence, but its start is %" PRId32 ", expected input",
                        s->kind[s->sequence].start);
    for (int i = 0; i < s->summaries; i++) {
        const gsa_summary *x = &s->summary[i];
        if (x->kind < 0 || x->kind >= s->kinds)
            return broken(error, s, "summary", NULL, i, "kind %d, expected 0 to %d", x->kind,
                          s->kinds - 1);
        if (x->pool < GSA_MEAN_OF || x->pool > GSA_SUMMARY_NODE)
            return broken(error, s, "summary", NULL, i, "pool %d, expected 0 to %d", x->pool,
                          GSA_SUMMARY_NODE);
        if (!isfinite(x->weight))
            return broken(error, s, "summary", NULL, i, "weight %g is not finite", x->weight);
    }
    return GSA_OK;
}

static gsa_status check_promises(const gsa_schema *s, gsa_error *error)
{
    const uint32_t known = GSA_BY_LENGTH | GSA_CAUSAL | GSA_PREFIX_STABLE | GSA_DUPLICATES |
                           GSA_NEEDS_TEXT | GSA_ONE_LENGTH;
    if (s->flags & ~known)
        return gsa_fail(error, GSA_ERR_PLUGIN,
                        "topology '%s': promise: flags %#" PRIx32 " are beyond %#" PRIx32, s->id,
                        s->flags, known);
    if ((s->flags & GSA_BY_LENGTH) && (s->flags & GSA_NEEDS_TEXT))
        return gsa_fail(
            error, GSA_ERR_PLUGIN,
            "topology '%s': promise: edges cannot both depend on lengths alone and need text",
            s->id);
    if (s->growth < GSA_LINEAR_EDGES || s->growth > GSA_SQUARE_EDGES)
        return gsa_fail(error, GSA_ERR_PLUGIN,
                        "topology '%s': promise: growth is %d, expected 0 to %d", s->id, s->growth,
                        GSA_SQUARE_EDGES);
    return GSA_OK;
}

gsa_status gsa_schema_check(gsa_schema *s, gsa_error *error)
{
    gsa_status status = GSA_OK;
    if (s->kinds == 0)
        return gsa_fail(error, GSA_ERR_PLUGIN, "topology '%s': no kinds, expected 1 to 64", s->id);
    if (s->phases == 0)
        return gsa_fail(error, GSA_ERR_PLUGIN, "topology '%s': no phases, expected 1 to 64", s->id);
    for (int k = 0; k < s->kinds && status == GSA_OK; k++) status = check_kind(s, k, error);
    for (int p = 0; p < s->phases && status == GSA_OK; p++) status = check_phase(s, p, error);
    if (status == GSA_OK) status = form_groups(s, error);
    for (int p = 0; p < s->phases && status == GSA_OK; p++) {
        status = check_group(s, p, error);
        if (status == GSA_OK) status = check_weights(s, p, error);
    }
    if (status == GSA_OK) status = check_starts(s, error);
    if (status == GSA_OK) status = check_readout(s, error);
    return status == GSA_OK ? check_promises(s, error) : status;
}
