/* schema.c - copies what a topology describes; the laws are in schema_check.c. */
#include "graph/schema.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "graph/schema_parts.h"

typedef struct describing {
    gsa_schema *schema;
    gsa_status status; /* the first failure; later calls do nothing */
    gsa_error error;
} describing;

GSA_PRINTF(3, 4) static int refuse(describing *d, gsa_status status, const char *format, ...)
{
    if (d->status != GSA_OK) return -1;
    char text[GSA_ERROR_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    d->status = gsa_fail(&d->error, status, "topology '%s': %s", d->schema->id, text);
    return -1;
}

/* The schema's own copy of a name; NULL after a failure or for NULL. */
static const char *own(describing *d, const char *text)
{
    if (!text) return NULL;
    char *copy = gsa_copy_text(d->schema->system, text);
    if (!copy) refuse(d, GSA_ERR_MEMORY, "out of memory for the name '%s'", text);
    else d->schema->text[d->schema->texts++] = copy;
    return copy;
}

/* A longer struct than this host's comes from a newer plugin: fine as long as what the host does
 * not know is zero. */
static int fits(describing *d, const char *what, int index, const void *at, uint32_t given,
                uint32_t known)
{
    const unsigned char *bytes = at;
    if (given < known || given > 4096)
        return refuse(d, GSA_ERR_PLUGIN, "%s %d: struct_size is %" PRIu32 ", expected %" PRIu32,
                      what, index, given, known) == 0;
    for (uint32_t i = known; i < given; i++)
        if (bytes[i])
            return refuse(d, GSA_ERR_PLUGIN,
                          "%s %d: byte %" PRIu32 " is set, which this ABI does not know", what,
                          index, i) == 0;
    return 1;
}

static int on_kind(gsa_describer *describer, const gsa_kind *kind)
{
    describing *d = describer->host;
    gsa_schema *s = d->schema;
    if (d->status != GSA_OK || !fits(d, "kind", s->kinds, kind, kind->struct_size, sizeof *kind))
        return -1;
    if (s->kinds == GSA_MAX_KINDS)
        return refuse(d, GSA_ERR_PLUGIN, "more than %d kinds", GSA_MAX_KINDS);
    if (kind->zero)
        return refuse(d, GSA_ERR_PLUGIN, "kind %d: the field zero is %" PRId32, s->kinds,
                      kind->zero);
    gsa_kind *copy = &s->kind[s->kinds];
    *copy = *kind;
    copy->struct_size = sizeof *copy;
    copy->name = own(d, kind->name);
    return d->status == GSA_OK ? s->kinds++ : -1;
}

static int on_phase(gsa_describer *describer, const gsa_phase *phase)
{
    describing *d = describer->host;
    gsa_schema *s = d->schema;
    if (d->status != GSA_OK ||
        !fits(d, "phase", s->phases, phase, phase->struct_size, sizeof *phase))
        return -1;
    if (s->phases == GSA_MAX_PHASES)
        return refuse(d, GSA_ERR_PLUGIN, "more than %d phases", GSA_MAX_PHASES);
    if (phase->zero)
        return refuse(d, GSA_ERR_PLUGIN, "phase %d: the field zero is %" PRId32, s->phases,
                      phase->zero);
    gsa_phase *copy = &s->phase[s->phases];
    *copy = *phase;
    copy->struct_size = sizeof *copy;
    copy->name = own(d, phase->name);
    copy->weights = own(d, phase->weights);
    return d->status == GSA_OK ? s->phases++ : -1;
}

static void on_sequence(gsa_describer *describer, int kind)
{
    describing *d = describer->host;
    if (d->schema->sequence >= 0)
        refuse(d, GSA_ERR_PLUGIN, "two sequence kinds, %d and %d", d->schema->sequence, kind);
    else if (kind < 0)
        refuse(d, GSA_ERR_PLUGIN, "the sequence kind is %d, expected one of the kinds", kind);
    else d->schema->sequence = kind;
}

static void on_summary(gsa_describer *describer, int kind, int pool, double weight)
{
    describing *d = describer->host;
    gsa_schema *s = d->schema;
    if (s->summaries == GSA_MAX_SUMMARIES)
        refuse(d, GSA_ERR_PLUGIN, "more than %d summary pools", GSA_MAX_SUMMARIES);
    else s->summary[s->summaries++] = (gsa_summary){ kind, pool, weight };
}

static void on_promise(gsa_describer *describer, uint32_t flags, int growth)
{
    describing *d = describer->host;
    d->schema->flags = flags, d->schema->growth = growth;
}

static void on_fail(gsa_describer *describer, const char *sentence)
{
    refuse(describer->host, GSA_ERR_PLUGIN, "%s",
           sentence ? sentence : "failed without a sentence");
}

static gsa_status describe(gsa_schema *schema, const gsa_topology *topology, const void *self,
                           gsa_error *error)
{
    describing d = { .schema = schema };
    gsa_describer describer = { .struct_size = sizeof describer,
                                .host = &d,
                                .kind = on_kind,
                                .phase = on_phase,
                                .sequence = on_sequence,
                                .summary = on_summary,
                                .promise = on_promise,
                                .fail = on_fail };
    gsa_calling(schema->system, &(gsa_plugin_call){ .who = topology->id, .function = "describe" });
    topology->describe(self, &describer);
    gsa_calling(schema->system, NULL);
    if (d.status != GSA_OK) return gsa_fail(error, d.status, "%s", d.error.text);
    return gsa_schema_check(schema, error);
}

gsa_status gsa_schema_create(const gsa_system *system, const gsa_topology *topology,
                             const void *self, gsa_schema **schema, gsa_error *error)
{
    *schema = NULL;
    if (!topology->id || !gsa_is_name(topology->id))
        return gsa_fail(error, GSA_ERR_PLUGIN, "a topology's id is '%s', expected [a-z][a-z0-9_]*",
                        topology->id ? topology->id : "(none)");
    if (!topology->describe || !topology->emit)
        return gsa_fail(error, GSA_ERR_PLUGIN, "topology '%s' has no %s()", topology->id,
                        topology->describe ? "emit" : "describe");
    gsa_schema *made = gsa_alloc_zero(system, 1, sizeof *made);
    if (!made) return gsa_out_of_memory(error, "schema", (int64_t)sizeof *made);
    made->system = system, made->sequence = -1, made->growth = GSA_SQUARE_EDGES;
    made->id = made->text[0] = gsa_copy_text(system, topology->id);
    made->texts = 1;
    const gsa_status status =
        made->id ? describe(made, topology, self, error)
                 : gsa_out_of_memory(error, "schema", (int64_t)strlen(topology->id) + 1);
    if (status != GSA_OK) gsa_schema_release(made);
    else *schema = made;
    return status;
}

void gsa_schema_release(gsa_schema *schema)
{
    if (!schema) return;
    for (int i = 0; i < schema->texts; i++) gsa_release(schema->system, schema->text[i]);
    gsa_release(schema->system, schema);
}

const char *gsa_schema_topology(const gsa_schema *schema)
{
    return schema->id;
}

int gsa_schema_kinds(const gsa_schema *schema)
{
    return schema->kinds;
}

int gsa_schema_phases(const gsa_schema *schema)
{
    return schema->phases;
}

const gsa_kind *gsa_schema_kind(const gsa_schema *schema, int kind)
{
    return &schema->kind[kind];
}

const gsa_phase *gsa_schema_phase(const gsa_schema *schema, int phase)
{
    return &schema->phase[phase];
}

int gsa_schema_find_kind(const gsa_schema *schema, const char *name)
{
    for (int k = 0; k < schema->kinds; k++)
        if (strcmp(schema->kind[k].name, name) == 0) return k;
    return -1;
}

int gsa_schema_sequence(const gsa_schema *schema)
{
    return schema->sequence;
}

int gsa_schema_summaries(const gsa_schema *schema)
{
    return schema->summaries;
}

void gsa_schema_summary(const gsa_schema *schema, int index, int *kind, int *pool, double *weight)
{
    const gsa_summary *s = &schema->summary[index];
    if (kind) *kind = s->kind;
    if (pool) *pool = s->pool;
    if (weight) *weight = s->weight;
}

uint32_t gsa_schema_flags(const gsa_schema *schema)
{
    return schema->flags;
}

int gsa_schema_growth(const gsa_schema *schema)
{
    return schema->growth;
}
