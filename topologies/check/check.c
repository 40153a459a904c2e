/* check.c - the properties in order. */
#include "topologies/check.h"
#include "parts.h"

static const struct {
    const char *name;
    gsa_property_run *run;
} properties[GSA_CHECKS] = {
    [GSA_CHECK_VALID] = { "valid", gsa_check_valid },
    [GSA_CHECK_LABELS] = { "labels", gsa_check_labels },
    [GSA_CHECK_DETERMINISTIC] = { "deterministic", gsa_check_deterministic },
    [GSA_CHECK_BY_LENGTH] = { "by length", gsa_check_by_length },
    [GSA_CHECK_DUPLICATES] = { "duplicates", gsa_check_duplicates },
    [GSA_CHECK_CAUSAL] = { "causal", gsa_check_causal },
    [GSA_CHECK_PREFIX_STABLE] = { "prefix-stable", gsa_check_prefix_stable },
    [GSA_CHECK_ONE_LENGTH] = { "one length", gsa_check_one_length },
    [GSA_CHECK_GROWTH] = { "growth", gsa_check_growth },
    [GSA_CHECK_PATH] = { "longest path", gsa_check_path },
    [GSA_CHECK_ISOLATED] = { "isolated nodes", gsa_check_isolated },
};

const char *gsa_check_name(int property)
{
    return property >= 0 && property < GSA_CHECKS ? properties[property].name : "?";
}

const char *gsa_verdict_name(int verdict)
{
    static const char *const names[] = { "ok", "FAILED", "not promised", "note", "not checked" };
    return verdict >= 0 && verdict < (int)(sizeof names / sizeof *names) ? names[verdict] : "?";
}

/* What a pattern does wrong that was valid a moment ago is its failure; a lack of memory or threads
 * is ours. */
static gsa_status run_one(gsa_checking *c, int property, gsa_finding *finding, gsa_error *error)
{
    gsa_error why = { 0 };
    c->property = property;
    const gsa_status status = properties[property].run(c, finding, &why);
    if (status == GSA_OK) return GSA_OK;
    if (status == GSA_ERR_MEMORY || status == GSA_ERR_UNSUPPORTED)
        return gsa_fail(error, status, "%s", why.text);
    gsa_found(finding, GSA_VERDICT_FAILED, "%s", why.text);
    return GSA_OK;
}

static gsa_status run_all(gsa_checking *c, gsa_check_report *report, gsa_error *error)
{
    gsa_status status = GSA_OK;
    const int last = c->options.last ? c->options.last : GSA_CHECKS - 1;
    for (int p = 0; p <= last && status == GSA_OK; p++) {
        gsa_finding *finding = &report->finding[p];
        *finding = (gsa_finding){ .length = -1, .phase = -1, .row = -1, .edge = -1, .value = -1 };
        if (report->finding[GSA_CHECK_VALID].verdict == GSA_VERDICT_FAILED && p != GSA_CHECK_VALID)
            gsa_found(finding, GSA_VERDICT_NOT_CHECKED, "needs a valid pattern");
        else status = run_one(c, p, finding, error);
        report->failed += finding->verdict == GSA_VERDICT_FAILED;
    }
    return status;
}

gsa_status gsa_check_pattern(const gsa_system *system, const gsa_pattern *pattern,
                             const gsa_check_options *options, gsa_check_report *report,
                             gsa_error *error)
{
    gsa_checking c = { .system = system,
                       .pattern = pattern,
                       .schema = gsa_pattern_schema(pattern),
                       .options = options ? *options : (gsa_check_options){ 0 },
                       .only = -1 };
    *report = (gsa_check_report){ 0 };
    for (int i = 0; i < c.options.n_texts; i++)
        if (c.options.texts[i].count < 0 || c.options.texts[i].count > GSA_CHECK_TEXT_MOST)
            return gsa_fail(error, GSA_ERR_ARGUMENT, "text %d has %d tokens, expected 0 to %d",
                            i + 1, c.options.texts[i].count, GSA_CHECK_TEXT_MOST);
    c.reads_text = gsa_checking_promised(&c, GSA_NEEDS_TEXT);
    for (int k = 0; k < gsa_schema_kinds(c.schema); k++)
        if (gsa_schema_kind(c.schema, k)->start == GSA_MEMORY) c.reads_memory = 1;
    const gsa_status status = run_all(&c, report, error);
    report->digest = c.digest;
    gsa_checking_end(&c);
    return status;
}
