/* full - every token reads every token (Vaswani et al. 2017, section 3.2), the standard Transformer
 * layer.
 *
 *   attend: x_i <- sublayer(att(x_i; x_0 .. x_{n-1}))          causal=1: x_0 .. x_i only
 *   ffn:    x_i <- sublayer(FFN(x_i))
 * clip = c > 0: relative positions as vectors on the keys (Shaw et al. 2018, section 3.2, keys
 * only), one for each distance j - i clipped to -c .. c; label = clipped distance + c: 2c+1 labels,
 * c+1 when causal.
 * Summary: mean of the tokens.
 * n^2 edges, n(n+1)/2 when causal; at most 3 runs a row, so O(n) time and memory. Path between
 * tokens: 1. */
#include <stdio.h>
#include "builtin.h"
enum { CAUSAL, CLIP, N_PARAMS };
static const gsa_param params[N_PARAMS] = {
    { "causal", GSA_BOOL, 0, 0, 1, NULL, "0", "read itself and earlier tokens only" },
    { "clip", GSA_INT, 0, 0, 1 << 20, NULL, "0",
      "distance from which relative positions are one; 0: no positions on edges" },
};
enum { TOKEN };
enum { ATTEND, FFN };

static void describe(const void *self, gsa_describer *d)
{
    const gsa_value *p = self;
    const int32_t clip = (int32_t)p[CLIP].i;
    d->promise(d, GSA_BY_LENGTH | (p[CAUSAL].i ? GSA_CAUSAL | GSA_PREFIX_STABLE : 0),
               GSA_SQUARE_EDGES);
    gsa_transformer_layer(d, clip ? GSA_KEY_VECTORS : GSA_NAMES_ONLY,
                          p[CAUSAL].i ? clip + 1 : 2 * clip + 1, 0);
}

static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    const gsa_value *p = self;
    const int64_t n = x->length, c = p[CLIP].i;
    for (int64_t i = 0; i < n; i++) {
        const gsa_node me = gsa_at(TOKEN, i);
        const int64_t end =
            p[CAUSAL].i ? i + 1 : n; /* reads 0 .. end-1: far left, near, far right */
        const int64_t near = c == 0  ? 0
                             : i > c ? i - c
                                     : 0,
                      far = c > 0 && i + c + 1 < end ? i + c + 1 : end;
        e->run(e, ATTEND, gsa_at(TOKEN, 0), near, 1, me, 0, 0);
        e->run(e, ATTEND, gsa_at(TOKEN, near), far - near, 1, me, (int32_t)(c ? near - i + c : 0),
               c > 0);
        e->run(e, ATTEND, gsa_at(TOKEN, far), end - far, 1, me, (int32_t)(2 * c), 0);
    }
}

static void label(const void *self, int phase, int32_t id, char *out, size_t size)
{
    const int64_t c = ((const gsa_value *)self)[CLIP].i, distance = id - c;
    const char *side = distance < 0 ? "left" : "right";
    const long long steps = distance < 0 ? -distance : distance;
    if (phase != ATTEND || c == 0) snprintf(out, size, "%s", "");
    else if (distance == 0) snprintf(out, size, "self");
    else snprintf(out, size, steps == c ? "%s >=%lld" : "%s %lld", side, steps);
}

const gsa_topology gsa_topology_full = { GSA_HEAD(params),
                                         .id = "full",
                                         .summary = "every token reads every token",
                                         .reference = "Vaswani et al. 2017; Shaw et al. 2018",
                                         .describe = describe,
                                         .emit = emit,
                                         .label = label };
