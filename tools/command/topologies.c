/* gsa topologies - every topology: id, summary, paper, parameters with range and default. */
#include <jansson.h>
#include "tools/command/verbs.h"

void gsa_write_expected(char *text, size_t size, int type, double low, double high,
                        const char *choices)
{
    switch (type) {
    case GSA_INT:
    case GSA_REAL:
        snprintf(text, size, "%s %.15g..%.15g", type == GSA_INT ? "integer" : "number", low, high);
        break;
    case GSA_BOOL:
        snprintf(text, size, "0 or 1");
        break;
    case GSA_CHOICE:
        snprintf(text, size, "one of %s", choices ? choices : "");
        break;
    default:
        snprintf(text, size, "path");
    }
}

static void write_param(gsa_output *out, const gsa_param *param)
{
    char expected[256];
    gsa_write_expected(expected, sizeof expected, param->type, param->low, param->high,
                       param->choices);
    gsa_output_format(out, "    %-12s %s; %s", param->name, param->doc, expected);
    if (param->fallback)
        gsa_output_format(out, " [%s]\n", *param->fallback ? param->fallback : "empty");
    else gsa_output_text(out, " (needed)\n");
}

static void write_table(gsa_output *out, const gsa_registry *registry)
{
    for (int i = 0; i < gsa_registry_count(registry); i++) {
        const gsa_topology *topology = gsa_registry_at(registry, i);
        gsa_output_format(out, "%s%s - %s\n", i > 0 ? "\n" : "", topology->id, topology->summary);
        gsa_output_format(out, "    %s; %s\n", topology->reference,
                          gsa_registry_origin(registry, i));
        for (uint32_t p = 0; p < topology->n_params; p++)
            write_param(out, gsa_topology_param(topology, p));
    }
}

static json_t *param_json(const gsa_param *param)
{
    static const char *const types[] = { "integer", "real", "bool", "choice", "path" };
    const int ranged = param->type == GSA_INT || param->type == GSA_REAL;
    json_t *low = ranged ? json_real(param->low) : json_null(),
           *high = ranged ? json_real(param->high) : json_null();
    return json_pack("{s:s, s:s, s:o, s:o, s:s?, s:s?, s:s}", "name", param->name, "type",
                     types[param->type], "low", low, "high", high, "choices", param->choices,
                     "default", param->fallback, "doc", param->doc);
}

static json_t *topology_json(const gsa_topology *topology, const char *origin)
{
    json_t *params = json_array();
    for (uint32_t p = 0; p < topology->n_params; p++)
        json_array_append_new(params, param_json(gsa_topology_param(topology, p)));
    return json_pack("{s:s, s:s, s:s, s:s, s:i, s:o}", "id", topology->id, "summary",
                     topology->summary, "reference", topology->reference, "origin", origin, "abi",
                     (int)topology->abi, "parameters", params);
}

static int put_json(const char *bytes, size_t count, void *out)
{
    gsa_output_write(out, bytes, (int64_t)count);
    return 0;
}

static void write_json(gsa_output *out, const gsa_registry *registry)
{
    json_t *all = json_array();
    for (int i = 0; i < gsa_registry_count(registry); i++)
        json_array_append_new(
            all, topology_json(gsa_registry_at(registry, i), gsa_registry_origin(registry, i)));
    json_dump_callback(all, put_json, out, JSON_INDENT(2));
    json_decref(all);
    gsa_output_text(out, "\n");
}

static gsa_status run(const gsa_args *args, gsa_error *error)
{
    gsa_registry *registry;
    gsa_output *out;
    gsa_status status = gsa_open_registry(args, &registry, error);
    if (status != GSA_OK) return status;
    status = gsa_output_open(gsa_args_system(args), "-", &out, error);
    if (status == GSA_OK) {
        if (gsa_args_flag(args, "json")) write_json(out, registry);
        else write_table(out, registry);
        status = gsa_output_commit(out, error);
    }
    gsa_registry_release(registry);
    return status;
}

static const gsa_option options[] = {
    GSA_OPTION_ROW_PLUGIN,
    { "json", GSA_OPTION_FLAG, "", NULL, NULL, 0, 0, "a JSON array instead of text" },
};
const gsa_verb gsa_verb_topologies = {
    .name = "topologies",
    .summary = "list the attention patterns with their parameters and papers",
    .operands = "",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .notes =
        "'gsa topology check SPEC' tries what a pattern promises: growth, causality, and more.",
    .run = run
};
