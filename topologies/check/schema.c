/* schema.c - one number of a whole schema: two that differ in what a model depends on differ in
 * it. */
#include <string.h>
#include "parts.h"

static uint64_t add_text(uint64_t digest, const char *text)
{
    digest = gsa_random(digest, text != NULL, 0);
    for (; text && *text; text++) digest = gsa_random(digest, (unsigned char)*text, 1);
    return digest;
}

static uint64_t add_phase(uint64_t digest, const gsa_phase *p)
{
    const int32_t numbers[] = { p->when,      p->aggregate, p->update,   p->empty,
                                p->label_use, p->labels,    p->per_head, p->together };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        digest = gsa_random(digest, i, (uint32_t)numbers[i]);
    digest = gsa_random(digest, p->sources, p->destinations);
    return add_text(add_text(digest, p->name), p->weights);
}

uint64_t gsa_check_schema(const gsa_schema *s)
{
    uint64_t digest = gsa_random(gsa_schema_flags(s), (uint32_t)gsa_schema_growth(s),
                                 (uint32_t)gsa_schema_sequence(s));
    for (int k = 0; k < gsa_schema_kinds(s); k++) {
        const gsa_kind *kind = gsa_schema_kind(s, k);
        digest = gsa_random(digest, (uint32_t)kind->start, (uint32_t)kind->learned);
        digest = add_text(digest, kind->name);
    }
    for (int p = 0; p < gsa_schema_phases(s); p++)
        digest = add_phase(digest, gsa_schema_phase(s, p));
    for (int i = 0; i < gsa_schema_summaries(s); i++) {
        int kind, pool;
        double weight;
        uint64_t bits;
        gsa_schema_summary(s, i, &kind, &pool, &weight);
        memcpy(&bits, &weight, sizeof bits);
        digest = gsa_random(gsa_random(digest, (uint32_t)kind, (uint32_t)pool), bits, 2);
    }
    return digest;
}
