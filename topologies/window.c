/* window - token i reads i - w/2 .. i + w/2, the window of width w (1-D convolutional
 * self-attention, Yang et al. 2019, eq. 4-6).
 *
 *   window: x_i <- sublayer(att(x_i; x_{i-w/2} .. x_{i+w/2}))  causal=1: x_{i-w/2} .. x_i
 *   ffn:    x_i <- sublayer(FFN(x_i))
 * At the ends the window is cut: nothing outside 0 .. n-1 is read. Summary: mean of the tokens.
 * relative=1: positions as vectors on the keys, one for each distance j - i (Shaw et al. 2018,
 * section 3.2, keys only); label = distance + w/2: w labels, w/2+1 when causal.
 * At most n w edges, one run a row: time and memory O(n). Path between tokens: O(n / w). */
#include <stdio.h>
#include "builtin.h"
enum { WIDTH, CAUSAL, RELATIVE, N_PARAMS };
static const gsa_param params[N_PARAMS] = {
    { "width", GSA_INT, 0, 1, (1 << 20) - 1, NULL, "11", "tokens read, itself in the middle: odd" },
    { "causal", GSA_BOOL, 0, 0, 1, NULL, "0", "read the left half and itself only" },
    { "relative", GSA_BOOL, 0, 0, 1, NULL, "0", "relative positions as vectors on the edges" },
};
enum { TOKEN };
enum { WINDOW, FFN };

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
    const int causal = p[CAUSAL].i != 0, relative = p[RELATIVE].i != 0;
    const int64_t half = p[WIDTH].i / 2;
    d->promise(d, GSA_BY_LENGTH | (causal ? GSA_CAUSAL | GSA_PREFIX_STABLE : 0), GSA_LINEAR_EDGES);
    gsa_transformer_layer(d, relative ? GSA_KEY_VECTORS : GSA_NAMES_ONLY,
                          (int32_t)(!relative ? 1
                                    : causal  ? half + 1
                                              : p[WIDTH].i),
                          0);
}

static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    const gsa_value *p = self;
    const int64_t n = x->length, half = p[WIDTH].i / 2, ahead = p[CAUSAL].i ? 0 : half;
    for (int64_t i = 0; i < n; i++) {
        const int64_t first = i > half ? i - half : 0, last = i + ahead < n ? i + ahead : n - 1;
        const int32_t label = (int32_t)(p[RELATIVE].i ? first - i + half : 0);
        e->run(e, WINDOW, gsa_at(TOKEN, first), last - first + 1, 1, gsa_at(TOKEN, i), label,
               p[RELATIVE].i != 0);
    }
}

static void label(const void *self, int phase, int32_t id, char *out, size_t size)
{
    const gsa_value *p = self;
    const long long distance = id - p[WIDTH].i / 2;
    if (phase != WINDOW || !p[RELATIVE].i) snprintf(out, size, "%s", "");
    else if (distance == 0) snprintf(out, size, "self");
    else
        snprintf(out, size, "%s %lld", distance < 0 ? "left" : "right",
                 distance < 0 ? -distance : distance);
}

const gsa_topology gsa_topology_window = { GSA_HEAD(params),
                                           .id = "window",
                                           .summary = "every token reads the tokens around it",
                                           .reference = "Yang et al. 2019; Shaw et al. 2018",
                                           .create = create,
                                           .describe = describe,
                                           .emit = emit,
                                           .label = label };
