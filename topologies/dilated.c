/* dilated - a window with holes: token i reads i - r s .. i - s, i, i + s .. i + r s (r = width/2,
 * s = step), the dilated sliding window of Longformer (Beltagy et al. 2020, section 3.1).
 *
 *   attend: x_i <- sublayer(att(x_i; x_{i-rs} .. x_{i-s}, x_i, x_{i+s} .. x_{i+rs}))
 *           causal=1: x_{i-rs} .. x_i
 *   ffn:    x_i <- sublayer(FFN(x_i))
 * At the ends the window is cut: nothing outside 0 .. n-1 is read. Labels are the places -r .. r:
 * names, or with relative=1 vectors on the keys (Shaw et al. 2018, section 3.2). step=1 is
 * `window`. Layers with growing steps see far: `dilated:step=1,dilated:step=4,dilated:step=16`.
 * Summary: mean of the tokens. At most n width edges, one run a row: time and memory O(n). Tokens
 * meet only when they are a multiple of s apart. */
#include <stdio.h>
#include "builtin.h"
enum { WIDTH, STEP, CAUSAL, RELATIVE, N_PARAMS };
static const gsa_param params[N_PARAMS] = {
    { "width", GSA_INT, 0, 1, (1 << 20) - 1, NULL, "11", "tokens read, itself in the middle: odd" },
    { "step", GSA_INT, 0, 1, 1 << 20, NULL, "2", "distance between them" },
    { "causal", GSA_BOOL, 0, 0, 1, NULL, "0", "read the left half and itself only" },
    { "relative", GSA_BOOL, 0, 0, 1, NULL, "0", "relative positions as vectors on the edges" },
};
enum { TOKEN };
enum { ATTEND, FFN };

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
    d->promise(d, GSA_BY_LENGTH | (p[CAUSAL].i ? GSA_CAUSAL | GSA_PREFIX_STABLE : 0),
               GSA_LINEAR_EDGES);
    gsa_transformer_layer(d, p[RELATIVE].i ? GSA_KEY_VECTORS : GSA_NAMES_ONLY,
                          (int32_t)(p[CAUSAL].i ? p[WIDTH].i / 2 + 1 : p[WIDTH].i), 0);
}

static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    const gsa_value *p = self;
    const int64_t n = x->length, r = p[WIDTH].i / 2, s = p[STEP].i, ahead = p[CAUSAL].i ? 0 : r;
    for (int64_t i = 0; i < n; i++) {
        const int64_t left = i < r * s ? i / s : r,
                      right = n - 1 - i < ahead * s ? (n - 1 - i) / s : ahead;
        e->run(e, ATTEND, gsa_at(TOKEN, i - left * s), left + 1 + right, s, gsa_at(TOKEN, i),
               (int32_t)(r - left), 1);
    }
}

static void label(const void *self, int phase, int32_t id, char *out, size_t size)
{
    const gsa_value *p = self;
    const long long distance = (id - p[WIDTH].i / 2) * p[STEP].i;
    if (phase != ATTEND || distance == 0) snprintf(out, size, "%s", phase == ATTEND ? "self" : "");
    else
        snprintf(out, size, "%s %lld", distance < 0 ? "left" : "right",
                 distance < 0 ? -distance : distance);
}

const gsa_topology gsa_topology_dilated = { GSA_HEAD(params),
                                            .id = "dilated",
                                            .summary =
                                                "every token reads every step-th token around it",
                                            .reference = "Beltagy et al. 2020; Shaw et al. 2018",
                                            .create = create,
                                            .describe = describe,
                                            .emit = emit,
                                            .label = label };
