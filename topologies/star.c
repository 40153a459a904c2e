/* star - Star-Transformer (Guo et al. 2019, eq. 4-8, algorithm 1).
 *
 * Satellites h (the tokens), a relay s = mean(e), and the input rows e as constant sources. One
 * layer:
 *   down: h_i <- norm(relu(att(h_i; h_{i-1}, h_i, h_{i+1}, e_i, s)))
 *         all i at once, with the OLD s  5n edges
 *   up:  s   <- norm(relu(att(s; s, h_0 .. h_{n-1})))  with the NEW h  n+1 edges
 * Indices mod n (section 3.1; cyclic=0: the ends have one neighbour less). Summary: s + max_i h_i.
 * The formula is taken literally, so duplicates are meant: n = 1 reads itself three times as left,
 * self and right, n = 2 its only neighbour twice. n = 0 has no relay: there is no row to take the
 * mean of, and both pools of the summary are empty. radial=0 drops the relay (table 6, variant a;
 * the summary is max_i h_i), ring=0 the neighbours (variant b). relays=r > 1 (ours): s_a = mean(e)
 * + learned row a, so that they differ; h_i reads all r, each relay itself and all tokens with the
 * same weights; the summary is their mean + max_i h_i.
 * (4+2r) n + r edges, for one relay 6n+1; in-degree 4+r, of a relay n+1; time and memory O(n). Path
 * between tokens: 2. */
#include <stdio.h>
#include "builtin.h"
enum { RADIAL, RING, CYCLIC, RELAYS, N_PARAMS };
static const gsa_param params[N_PARAMS] = {
    { "radial", GSA_BOOL, 0, 0, 1, NULL, "1", "the relay and its edges" },
    { "ring", GSA_BOOL, 0, 0, 1, NULL, "1", "edges from both neighbours" },
    { "cyclic", GSA_BOOL, 0, 0, 1, NULL, "1", "first and last token are neighbours" },
    { "relays", GSA_INT, 0, 1, 1 << 10, NULL, "1",
      "relays; more than one have a learned row each" },
};
enum { EMBED, TOKEN, RELAY };
enum { DOWN, UP, N_PHASES };
enum { LEFT, SELF, RIGHT, ORIGIN, FROM_RELAY, N_DOWN };
enum { RELAY_SELF, FROM_TOKEN, N_UP };

static int create(const gsa_host *host, const gsa_value *p, void **self)
{
    char why[64];
    *self = (void *)(uintptr_t)
        p; /* the values live as long as the instance, and emit only reads them */
    if (p[RADIAL].i || p[RELAYS].i == 1) return 0;
    snprintf(why, sizeof why, "relays is %lld, but radial=0 has no relay", (long long)p[RELAYS].i);
    return host->fail(host, why);
}

static void phase(gsa_describer *d, const char *name, int32_t labels, uint64_t sources, int to)
{
    d->phase(d, &GSA_PHASE(.aggregate = GSA_ATTEND, .update = GSA_RELU_NORM, .labels = labels,
                           .sources = sources, .destinations = UINT64_C(1) << to, .name = name));
}

static void describe(const void *self, gsa_describer *d)
{
    const gsa_value *p = self;
    const uint64_t tokens = 1 << EMBED | 1 << TOKEN;
    d->promise(d, GSA_BY_LENGTH | (p[RING].i && p[CYCLIC].i ? GSA_DUPLICATES : 0),
               GSA_LINEAR_EDGES);
    d->kind(d, &GSA_KIND(.start = GSA_COPY, .name = "embedding"));
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    const int32_t rows = p[RELAYS].i > 1 ? (int32_t)p[RELAYS].i : 0;
    if (p[RADIAL].i)
        d->kind(d, &GSA_KIND(.start = GSA_MEAN_INPUT, .learned = rows, .name = "relay"));
    phase(d, "down", p[RADIAL].i ? N_DOWN : FROM_RELAY, p[RADIAL].i ? tokens | 1 << RELAY : tokens,
          TOKEN);
    if (p[RADIAL].i) phase(d, "up", N_UP, 1 << TOKEN | 1 << RELAY, RELAY);
    d->sequence(d, TOKEN);
    d->summary(d, TOKEN, GSA_MAX_OF, 1);
    if (p[RADIAL].i) d->summary(d, RELAY, GSA_MEAN_OF, 1);
}

static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    const gsa_value *p = self;
    const int64_t n = x->length, relays = p[RADIAL].i && n > 0 ? p[RELAYS].i : 0;
    const int ring = p[RING].i != 0, wrap = p[CYCLIC].i != 0;
    if (relays) e->nodes(e, RELAY, relays);
    for (int64_t i = 0; i < n; i++) {
        const gsa_node me = gsa_at(TOKEN, i);
        if (ring && (i > 0 || wrap))
            gsa_edge(e, DOWN, gsa_at(TOKEN, i > 0 ? i - 1 : n - 1), me, LEFT);
        gsa_edge(e, DOWN, me, me, SELF);
        if (ring && (i + 1 < n || wrap))
            gsa_edge(e, DOWN, gsa_at(TOKEN, i + 1 < n ? i + 1 : 0), me, RIGHT);
        gsa_edge(e, DOWN, gsa_at(EMBED, i), me, ORIGIN);
        e->run(e, DOWN, gsa_at(RELAY, 0), relays, 1, me, FROM_RELAY, 0);
    }
    for (int64_t a = 0; a < relays; a++) {
        const gsa_node relay = gsa_at(RELAY, a);
        e->place(e, relay, 1, 0, n - 1);
        gsa_edge(e, UP, relay, relay, RELAY_SELF);
        e->run(e, UP, gsa_at(TOKEN, 0), n, 1, relay, FROM_TOKEN, 0);
    }
}

static void label(const void *self, int phase_index, int32_t id, char *out, size_t size)
{
    static const char *const names[N_PHASES][N_DOWN] = {
        { "left", "self", "right", "embed", "relay" }, { "self", "up" }
    };
    const int32_t count = phase_index == DOWN ? N_DOWN : phase_index == UP ? N_UP : 0;
    (void)self;
    snprintf(out, size, "%s", id >= 0 && id < count ? names[phase_index][id] : "");
}

const gsa_topology gsa_topology_star = { GSA_HEAD(params),
                                         .id = "star",
                                         .summary = "a ring of satellites around a relay",
                                         .reference = "Guo et al. 2019",
                                         .create = create,
                                         .describe = describe,
                                         .emit = emit,
                                         .label = label };
