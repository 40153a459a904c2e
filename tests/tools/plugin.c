/* pairs - a plugin for tests: every token reads its partner 0-1, 2-3, ... (a last odd token reads
 * itself). */
#include <gsa/topology.h>

static void describe(const void *self, gsa_describer *d)
{
    (void)self;
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    d->phase(d, &GSA_PHASE(.aggregate = GSA_ATTEND, .update = GSA_SUBLAYER, .sources = 1,
                           .destinations = 1, .name = "pair"));
    d->sequence(d, 0);
    d->summary(d, 0, GSA_MEAN_OF, 1);
    d->promise(d, GSA_BY_LENGTH, GSA_LINEAR_EDGES);
}

static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    (void)self;
    for (int32_t i = 0; i < x->length; i++) {
        const int32_t partner = (i ^ 1) < x->length ? i ^ 1 : i;
        gsa_edge(e, 0, gsa_at(0, partner), gsa_at(0, i), 0);
    }
}

const gsa_topology GSA_PLUGIN = { .abi = GSA_ABI,
                                  .struct_size = sizeof(gsa_topology),
                                  .param_stride = sizeof(gsa_param),
                                  .id = "pairs",
                                  .summary = "tokens in pairs",
                                  .reference = "a test",
                                  .describe = describe,
                                  .emit = emit };
