/* longformer - a window, and g global tokens that read all and are read by all (Beltagy et al.
 * 2020, section 3.1).
 *
 *   attend: x_i <- sublayer(att(x_i; x_0 .. x_{g-1}, x_{i-r} .. x_{i+r}))    i >= g; r = width/2
 *   global: x_i <- sublayer(att(x_i; x_0 .. x_{n-1}))  i < g, with the same old states
 *   ffn:    x_i <- sublayer(FFN(x_i))
 * The global tokens are the first g, as [CLS]. No token is read twice: the window leaves out what
 * is global. own=1: the rows of global tokens have their own projections, the paper's Q_g, K_g, V_g
 * (and W_o and norm, which the public code shares), else `attend` does both. causal=1: nothing
 * later than i is read. Labels are names only. Summary: mean of the tokens. At most n (width + 2g)
 * edges, 2 runs a row: time and memory O(n). Path between tokens: 2 when g > 0 and not causal. */
#include <stdio.h>
#include "builtin.h"
enum { WIDTH, GLOBAL, OWN, CAUSAL, N_PARAMS };
static const gsa_param params[N_PARAMS] = {
    { "width", GSA_INT, 0, 1, (1 << 20) - 1, NULL, "11",
      "tokens read around each, itself in the middle: odd" },
    { "global", GSA_INT, 0, 0, 1 << 20, NULL, "1",
      "first tokens, which read all and are read by all" },
    { "own", GSA_BOOL, 0, 0, 1, NULL, "1", "global tokens have their own projections" },
    { "causal", GSA_BOOL, 0, 0, 1, NULL, "0", "read itself and earlier tokens only" },
};
enum { TOKEN };
enum { ATTEND, ROWS_OF_GLOBAL };
enum { WINDOW, FROM_GLOBAL, ALL, N_LABELS };

static int create(const gsa_host *host, const gsa_value *p, void **self)
{
    char why[64];
    *self = (void *)(uintptr_t)
        p; /* the values live as long as the instance, and emit only reads them */
    if (p[WIDTH].i % 2 == 1) return 0;
    snprintf(why, sizeof why, "width is %lld, expected an odd number", (long long)p[WIDTH].i);
    return host->fail(host, why);
}

static void describe(const void *self, gsa_describer *d)
{
    const gsa_value *p = self;
    const int own = p[OWN].i && p[GLOBAL].i > 0;
    d->promise(d, GSA_BY_LENGTH | (p[CAUSAL].i ? GSA_CAUSAL | GSA_PREFIX_STABLE : 0),
               GSA_LINEAR_EDGES);
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    /* The two phases write all rows, each once. */
    gsa_phase attend =
        GSA_PHASE(.name = "attend", .aggregate = GSA_ATTEND, .update = GSA_SUBLAYER,
                  .empty = own ? GSA_KEEP_EMPTY : GSA_UPDATE_EMPTY, .labels = N_LABELS,
                  .sources = 1 << TOKEN, .destinations = 1 << TOKEN);
    d->phase(d, &attend);
    attend.name = "global", attend.together = 1;
    if (own) d->phase(d, &attend);
    d->phase(d, &GSA_PHASE(.name = "ffn", .aggregate = GSA_NONE, .update = GSA_FFN,
                           .destinations = 1 << TOKEN));
    d->sequence(d, TOKEN);
    d->summary(d, TOKEN, GSA_MEAN_OF, 1);
}

static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    const gsa_value *p = self;
    const int64_t n = x->length, half = p[WIDTH].i / 2, ahead = p[CAUSAL].i ? 0 : half,
                  g = p[GLOBAL].i;
    const int rows_of_global = p[OWN].i ? ROWS_OF_GLOBAL : ATTEND;
    for (int64_t i = 0; i < g && i < n; i++)
        e->run(e, rows_of_global, gsa_at(TOKEN, 0), p[CAUSAL].i ? i + 1 : n, 1, gsa_at(TOKEN, i),
               ALL, 0);
    for (int64_t i = g; i < n; i++) {
        const int64_t first = i - half > g ? i - half : g, last = i + ahead < n ? i + ahead : n - 1;
        e->run(e, ATTEND, gsa_at(TOKEN, 0), g, 1, gsa_at(TOKEN, i), FROM_GLOBAL, 0);
        e->run(e, ATTEND, gsa_at(TOKEN, first), last - first + 1, 1, gsa_at(TOKEN, i), WINDOW, 0);
    }
}

static void label(const void *self, int phase, int32_t id, char *out, size_t size)
{
    static const char *const names[N_LABELS] = { "window", "global", "all" };
    const gsa_value *p = self;
    const int known = phase == ATTEND || (phase == ROWS_OF_GLOBAL && p[OWN].i && p[GLOBAL].i > 0);
    snprintf(out, size, "%s", known && id >= 0 && id < N_LABELS ? names[id] : "");
}

const gsa_topology gsa_topology_longformer = {
    GSA_HEAD(params),
    .id = "longformer",
    .summary = "a window and tokens that read and are read by all",
    .reference = "Beltagy et al. 2020",
    .create = create,
    .describe = describe,
    .emit = emit,
    .label = label
};
