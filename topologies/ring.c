/* ring - token i reads its neighbours and itself: h_{i-1}, h_i, h_{i+1}, in this order.
 *
 *   ring: x_i <- sublayer(att(x_i; x_{i-1}, x_i, x_{i+1}))
 *         indices mod n; cyclic=0: the ends have one neighbour less
 *   ffn:  x_i <- sublayer(FFN(x_i))
 * The ring of Star-Transformer (Guo et al. 2019, section 3.1) in a standard Transformer layer,
 * without a relay. The formula is taken literally, so duplicates are meant: n = 1 reads itself
 * three times, n = 2 its only neighbour twice. Summary: mean of the tokens.
 * 3n edges (cyclic=0: 3n - 2 for n > 0); in-degree 3; time and memory O(n). Path between tokens:
 * O(n). */
#include <stdio.h>
#include "builtin.h"
enum { CYCLIC, N_PARAMS };
static const gsa_param params[N_PARAMS] = {
    { "cyclic", GSA_BOOL, 0, 0, 1, NULL, "1", "first and last token are neighbours" },
};
enum { TOKEN };
enum { RING, FFN };
enum { LEFT, SELF, RIGHT, N_LABELS };

static void describe(const void *self, gsa_describer *d)
{
    const int cyclic = ((const gsa_value *)self)[CYCLIC].i != 0;
    d->promise(d, GSA_BY_LENGTH | (cyclic ? GSA_DUPLICATES : 0), GSA_LINEAR_EDGES);
    gsa_transformer_layer(d, GSA_NAMES_ONLY, N_LABELS, 0);
}

static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    const int wrap = ((const gsa_value *)self)[CYCLIC].i != 0;
    const int64_t n = x->length;
    for (int64_t i = 0; i < n; i++) {
        const gsa_node me = gsa_at(TOKEN, i);
        if (i > 0 || wrap) gsa_edge(e, RING, gsa_at(TOKEN, i > 0 ? i - 1 : n - 1), me, LEFT);
        gsa_edge(e, RING, me, me, SELF);
        if (i + 1 < n || wrap) gsa_edge(e, RING, gsa_at(TOKEN, i + 1 < n ? i + 1 : 0), me, RIGHT);
    }
}

static void label(const void *self, int phase, int32_t id, char *out, size_t size)
{
    static const char *const names[N_LABELS] = { "left", "self", "right" };
    (void)self;
    snprintf(out, size, "%s", phase == RING && id >= 0 && id < N_LABELS ? names[id] : "");
}

const gsa_topology gsa_topology_ring = { GSA_HEAD(params),
                                         .id = "ring",
                                         .summary =
                                             "every token reads its two neighbours and itself",
                                         .reference = "Guo et al. 2019",
                                         .describe = describe,
                                         .emit = emit,
                                         .label = label };
