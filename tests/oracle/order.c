#include "order.h"
#include <string.h>

static const oracle_pattern *part_of(const oracle_model *model, const oracle_segment *segment,
                                     int part)
{
    return &model->pattern[segment->part[part]];
}

int oracle_order(const oracle_model *model, const oracle_segment *segment,
                 oracle_item out[ORACLE_ITEMS])
{
    int n = 0, parted = 0;
    for (int part = 0; part < segment->parts; part++) {
        const oracle_pattern *pattern = part_of(model, segment, part);
        oracle_item own[ORACLE_PHASES];
        int owns = 0, at = 0;
        for (int p = 0; p < pattern->phases; p++)
            if (pattern->phase[p].when == GSA_EACH_LAYER)
                own[owns++] = (oracle_item){ .part = part, .phase = p, .pattern = pattern };
        for (int i = 0; i < n; i++)
            if (out[i].pattern->phase[out[i].phase].aggregate != GSA_NONE) at = i + 1;
        if (at < n && out[at].pattern->phase[out[at].phase].together) parted = 1;
        memmove(out + at + owns, out + at, (size_t)(n - at) * sizeof *out);
        memcpy(out + at, own, (size_t)owns * sizeof *out);
        n += owns;
    }
    return parted ? -1 : n;
}
