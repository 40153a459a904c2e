#include "train/decode/coverage.h"
#include <math.h>

/* The memory that a phase attends to from tokens alone, as a kind; -1: it does not. */
static int memory_of(const gsa_schema *schema, const gsa_phase *phase)
{
    const int sequence = gsa_schema_sequence(schema);
    if (phase->aggregate != GSA_ATTEND || phase->when != GSA_EACH_LAYER || phase->per_head)
        return -1;
    if (sequence < 0 || phase->destinations != UINT64_C(1) << sequence) return -1;
    for (int k = 0; k < gsa_schema_kinds(schema); k++)
        if (phase->sources >> k & 1 && gsa_schema_kind(schema, k)->start == GSA_MEMORY) return k;
    return -1;
}

static int find_in(const gsa_stack *stack, int layer, int p, gsa_coverage *found)
{
    const gsa_pattern *pattern = gsa_stack_pattern(stack, layer, p);
    const gsa_schema *schema = gsa_pattern_schema(pattern);
    for (int f = gsa_schema_phases(schema) - 1; f >= 0; f--) {
        const int kind = memory_of(schema, gsa_schema_phase(schema, f));
        if (kind < 0 || !gsa_stack_runs(stack, layer, p, f)) continue;
        *found = (gsa_coverage){ { .layer = layer, .pattern = p, .phase = f }, pattern, kind, 0 };
        return 1;
    }
    return 0;
}

gsa_status gsa_coverage_find(const gsa_stack *decoder, gsa_coverage *coverage, gsa_error *error)
{
    for (int layer = gsa_stack_layers(decoder) - 1; layer >= 0; layer--)
        for (int p = gsa_stack_patterns(decoder, layer) - 1; p >= 0; p--)
            if (find_in(decoder, layer, p, coverage)) return GSA_OK;
    return gsa_fail(error, GSA_ERR_UNSUPPORTED,
                    "no phase of the decoder %s attends from its tokens alone to the source: "
                    "decode.coverage must be 0",
                    gsa_stack_text(decoder));
}

void gsa_coverage_add(const gsa_coverage *coverage, const gsa_edges *edges, const double *weights,
                      int32_t heads, int64_t first, int64_t last, int32_t *source, double *sum)
{
    int64_t part[GSA_MAX_KINDS];
    gsa_edges_expand(edges, source, NULL, part);
    for (int64_t e = edges->edge_offset[first]; e < edges->edge_offset[last]; e++) {
        const int64_t i = source[e] - part[coverage->kind];
        double p = 0;
        if (i < 0 || i >= edges->part_rows[coverage->kind]) continue;
        for (int32_t h = 0; h < heads; h++) p += weights[e * heads + h];
        sum[i] = fmax(sum[i], 0) + p / heads;
    }
}

double gsa_coverage_of(const double *sum, int32_t sources)
{
    double all = 0;
    for (int32_t i = 0; i < sources; i++)
        if (sum[i] >= 0) all += log(fmin(sum[i], 1));
    return all;
}
