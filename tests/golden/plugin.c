/* A plugin of ABI 1 as an author had it at version 0.1.0, kept to be loaded and built by every
 * later one: memory of its own, four types of parameters, a kind of nodes of its own, texts.
 *   read: token i <- itself, token i - gap, and earlier tokens that begin with the same byte
 *   tell: the hub <- every token (mode = all), or every second (mode = even) */
#include <gsa/topology.h>

enum { GAP, HUB, SCALE, MODE, N_PARAMS };

static const gsa_param params[N_PARAMS] = {
    { "gap", GSA_INT, 0, 1, 100, NULL, "2", "how far back a token looks" },
    { "hub", GSA_BOOL, 0, 0, 1, NULL, "1", "a node that reads tokens" },
    { "scale", GSA_REAL, 0, 0, 2, NULL, "0.5", "times the gap: the gap in use" },
    { "mode", GSA_CHOICE, 0, 0, 0, "all,even", "all", "which tokens the hub reads" },
};
typedef struct golden {
    int64_t gap, step;
    int hub;
} golden;

static int create(const gsa_host *host, const gsa_value *p, void **self)
{
    golden *g = host->alloc(host, sizeof *g);
    if (!g) return host->fail(host, "no memory for a golden topology");
    *g = (golden){ (int64_t)((double)p[GAP].i * p[SCALE].x), p[MODE].i + 1, (int)p[HUB].i };
    *self = g;
    return g->gap > 0 ? 0 : host->fail(host, "gap times scale is below 1");
}

static void destroy(const gsa_host *host, void *self)
{
    host->release(host, self);
}

static void describe(const void *self, gsa_describer *d)
{
    const golden *g = self;
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    if (g->hub) d->kind(d, &GSA_KIND(.start = GSA_ZERO, .name = "hub"));
    d->phase(d, &GSA_PHASE(.aggregate = GSA_ATTEND, .update = GSA_SUBLAYER, .sources = 1,
                           .destinations = 1, .labels = 3, .name = "read"));
    if (g->hub)
        d->phase(d, &GSA_PHASE(.aggregate = GSA_ATTEND, .update = GSA_SUBLAYER, .sources = 1,
                               .destinations = 2, .name = "tell"));
    d->sequence(d, 0);
    d->summary(d, 0, GSA_MEAN_OF, 1);
    d->promise(d, 0, GSA_SQUARE_EDGES);
}

static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    const golden *g = self;
    if (g->hub) e->nodes(e, 1, 1);
    for (int64_t i = 0; i < x->length; i++) {
        gsa_edge(e, 0, gsa_at(0, i), gsa_at(0, i), 0);
        if (i >= g->gap) gsa_edge(e, 0, gsa_at(0, i - g->gap), gsa_at(0, i), 1);
        for (int64_t k = 0; x->text && k < i; k++)
            if (i - k != g->gap && x->text[i].bytes && x->text[k].bytes &&
                *x->text[i].at == *x->text[k].at)
                gsa_edge(e, 0, gsa_at(0, k), gsa_at(0, i), 2);
    }
    if (g->hub && x->length)
        e->run(e, 1, gsa_at(0, 0), (x->length + g->step - 1) / g->step, g->step, gsa_at(1, 0), 0,
               0);
}

static void label(const void *self, int phase, int32_t id, char *out, size_t size)
{
    static const char names[] = "self\0gap\0\0same\0";
    size_t i = 0;
    (void)self;
    for (; phase == 0 && i + 1 < size && names[id * 5 + (int32_t)i]; i++)
        out[i] = names[id * 5 + (int32_t)i];
    out[i] = 0;
}

const gsa_topology GSA_PLUGIN = {
    GSA_HEAD(params),     .id = "golden",   .summary = "a gap, equal first bytes, a hub",
    .reference = "none",  .create = create, .destroy = destroy,
    .describe = describe, .emit = emit,     .label = label
};
