/* repeats - each token reads itself, the last earlier token of the same bytes, and a node for the
 * whole text. begin, once: t <- mean(x_0, x_1, ..) read:        x_i <- sublayer(att(x_i; x_i,
 * x_last(i), t))       a learned bias for each label and head gather:      t <- sublayer(att(t; t,
 * x_0, x_1, ..))              a learned vector for each label, added to the key Summary: half of t,
 * half of the largest of the tokens. 4n + 1 edges. */
#include <gsa/topology.h>
#include <string.h>

enum { SLOTS, N_PARAMS };
static const gsa_param params[N_PARAMS] = { { "slots", GSA_INT, 0, 2, 1 << 24, NULL, "4096",
                                              "of the table of words, a power of 2" } };
enum { TOKEN, TEXT };
enum { BEGIN, READ, GATHER };
enum { ITSELF, LAST, WHOLE, N_LABELS };

/* create: memory of its own, files, and what parameters must not be together. destroy gives back
 * what it took. */
static int create(const gsa_host *host, const gsa_value *p, void **self)
{
    if (p[SLOTS].i & (p[SLOTS].i - 1)) return host->fail(host, "slots is no power of 2");
    int64_t *slots = host->alloc(host, sizeof *slots);
    if (!slots) return -1; /* the host has noted that memory ran out */
    *slots = p[SLOTS].i, *self = slots;
    return 0;
}

static void destroy(const gsa_host *host, void *self)
{
    host->release(host, self);
}

static void describe(const void *self, gsa_describer *d)
{
    (void)self;
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    d->kind(d, &GSA_KIND(.start = GSA_BY_PHASE, .name = "text"));
    d->phase(d, &GSA_PHASE(.name = "begin", .when = GSA_ONCE, .aggregate = GSA_MEAN,
                           .update = GSA_ASSIGN, .sources = 1 << TOKEN, .destinations = 1 << TEXT));
    gsa_phase phase = GSA_PHASE(.name = "read", .aggregate = GSA_ATTEND, .update = GSA_SUBLAYER,
                                .label_use = GSA_HEAD_BIAS, .labels = N_LABELS,
                                .sources = 1 << TOKEN | 1 << TEXT, .destinations = 1 << TOKEN);
    d->phase(d, &phase);
    phase.name = "gather", phase.label_use = GSA_KEY_VECTORS, phase.labels = 2,
    phase.destinations = 1 << TEXT;
    d->phase(d, &phase);
    d->sequence(d, TOKEN);
    d->summary(d, TEXT, GSA_SUMMARY_NODE, 0.5); /* the node that emit names */
    d->summary(d, TOKEN, GSA_MAX_OF, 0.5);      /* pools are added up with their weights */
    d->promise(d, GSA_NEEDS_TEXT, GSA_LINEAR_EDGES);
}

static uint64_t hash(gsa_slice word)
{
    uint64_t h = 14695981039346656037u;
    for (int64_t i = 0; i < word.bytes; i++) h = (h ^ (unsigned char)word.at[i]) * 1099511628211u;
    return h ^ h >> 32;
}

static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    const int64_t n = x->length, slots = *(const int64_t *)self;
    if (n > 1 << 24) { /* ends the example with this sentence, and the topology's name and length
                          before it */
        e->fail(e, "repeats takes at most 2^24 tokens");
        return;
    }
    int32_t *last = e->scratch(e, (size_t)slots * sizeof *last); /* freed after emit */
    if (!last) return;
    memset(last, -1, (size_t)slots * sizeof *last);
    const gsa_node text = gsa_at(TEXT, e->nodes(e, TEXT, 1));
    e->place(e, text, 1, 0, n - 1); /* for pictures: level 1, stands for tokens 0 to n - 1 */
    e->summary(e, text);
    e->run(e, BEGIN, gsa_at(TOKEN, 0), n, 1, text, 0, 0);
    gsa_edge(e, GATHER, text, text, ITSELF);
    e->run(e, GATHER, gsa_at(TOKEN, 0), n, 1, text, 1, 0);
    for (int64_t i = 0; i < n; i++) {
        const gsa_slice word = x->text[i];
        int32_t *slot = &last[hash(word) & (uint64_t)(slots - 1)];
        const gsa_slice before = *slot < 0 ? (gsa_slice){ "", -1 } : x->text[*slot];
        gsa_edge(e, READ, gsa_at(TOKEN, i), gsa_at(TOKEN, i), ITSELF);
        if (before.bytes == word.bytes && memcmp(before.at, word.at, (size_t)word.bytes) == 0)
            gsa_edge(e, READ, gsa_at(TOKEN, *slot), gsa_at(TOKEN, i), LAST);
        gsa_edge(e, READ, text, gsa_at(TOKEN, i), WHOLE);
        *slot = (int32_t)i;
    }
}

const gsa_topology GSA_PLUGIN = {
    GSA_HEAD(params),           .id = "repeats",  .summary = "words read their last repetition",
    .reference = "my notebook", .create = create, .destroy = destroy,
    .describe = describe,       .emit = emit
};
