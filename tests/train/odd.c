/* odd - a topology for tests: every token reads all, but texts of `bad` tokens have no pattern. */
#include <gsa/topology.h>

static const gsa_param params[] = { { "bad", GSA_INT, 0, 0, 100, NULL, "0",
                                      "a length that is refused" } };

static void describe(const void *self, gsa_describer *d)
{
    (void)self;
    d->promise(d, 0, GSA_SQUARE_EDGES);
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    d->phase(d, &GSA_PHASE(.aggregate = GSA_ATTEND, .update = GSA_SUBLAYER, .labels = 1,
                           .sources = 1, .destinations = 1, .name = "attend"));
    d->sequence(d, 0);
    d->summary(d, 0, GSA_MEAN_OF, 1);
}

static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    const gsa_value *p = self;
    if (x->length == p[0].i) {
        e->fail(e, "this length is odd");
        return;
    }
    for (int64_t i = 0; i < x->length; i++)
        e->run(e, 0, gsa_at(0, 0), x->length, 1, gsa_at(0, i), 0, 0);
}

const gsa_topology GSA_PLUGIN = {
    GSA_HEAD(params),      .id = "odd",          .summary = "all but one length",
    .reference = "a test", .describe = describe, .emit = emit
};
