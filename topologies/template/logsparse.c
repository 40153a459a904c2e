/* logsparse - the plugin to copy. Token i reads itself, its near neighbours, and tokens at the
 * distances 2, 4, 8, 16, ...
 *
 * How to write your own topology:
 *   1. Make the copy: `gsa topology new NAME`. Then change this comment: the rule that says who
 *      reads whom, the paper with its equation numbers, how many edges there are, what it costs.
 *   2. Declare the parameters. The host parses and checks them; here they arrive as numbers, in the
 *      declared order.
 *   3. describe: which kinds of nodes there are, which phases a layer has and in what order, what
 *      is read out, and what you promise about the edges. It depends on the parameters only.
 *   4. emit: the edges of one example, as runs {first, count, step}. Loop over the rows; the host
 *      checks each call.
 *   5. label (optional): a name for each edge label, for pictures.
 *   6. Build it, check it, look at it, train it: README.md has the commands.
 * Nothing is registered, parsed, allocated or freed here. A topology that needs memory of its own
 * or needs to refuse a combination of parameters adds .create and .destroy (see <gsa/topology.h>).
 *
 * LogSparse attention (Li et al. 2019, section 4.2), j over all tokens whose distance |i - j| is at
 * most `near` or a power of 2:
 *   attend: x_i <- sublayer(att(x_i; x_j))                     causal=1: j <= i only
 *   ffn:    x_i <- sublayer(FFN(x_i))
 * Labels, learned on the keys when labels=1: one for each distance and side. Summary: mean of the
 * tokens.
 * At most 2 near + 1 + 2 log2 n edges a row: time and memory O(n log n). Path between tokens: O(log
 * n), one hop a layer. */
#include <gsa/topology.h>
#include <stdio.h>

enum { CAUSAL, NEAR, LABELS, N_PARAMS };
static const gsa_param params[N_PARAMS] = {
    { "causal", GSA_BOOL, 0, 0, 1, NULL, "1", "read itself and earlier tokens only" },
    { "near", GSA_INT, 0, 1, 1 << 16, NULL, "1", "distance up to which every token is read" },
    { "labels", GSA_BOOL, 0, 0, 1, NULL, "0", "learn one key vector for each distance and side" },
};
enum { TOKEN };       /* kinds of nodes, in the order in which describe declares them */
enum { ATTEND, FFN }; /* phases, likewise */
enum { POWERS = 31 }; /* 2^0 .. 2^30: every distance that is a power of two */

/* Labels of one side: 0 itself, 1 .. near the neighbours, then one for each power of two. */
static int32_t side(const gsa_value *p)
{
    return (int32_t)p[NEAR].i + 1 + POWERS;
}

static void describe(const void *self, gsa_describer *d)
{
    const gsa_value *p = self; /* without .create, self is the parameters' values */
    d->promise(d, GSA_BY_LENGTH | (p[CAUSAL].i ? GSA_CAUSAL | GSA_PREFIX_STABLE : 0),
               GSA_NLOGN_EDGES);
    gsa_transformer_layer(d, p[LABELS].i ? GSA_KEY_VECTORS : GSA_NAMES_ONLY,
                          p[CAUSAL].i ? side(p) : 2 * side(p), 0);
}

static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    const gsa_value *p = self;
    const int64_t n = x->length, near = p[NEAR].i;
    for (int64_t i = 0; i < n; i++) {
        const gsa_node me = gsa_at(TOKEN, i);
        const int64_t left = i < near ? i : near, ahead = p[CAUSAL].i ? 0 : n - 1 - i,
                      right = ahead < near ? ahead : near;
        e->run(e, ATTEND, gsa_at(TOKEN, i - left), left + 1, 1, me, (int32_t)left, -1);
        e->run(e, ATTEND, gsa_at(TOKEN, i + 1), right, 1, me, side(p) + 1, 1);
        for (int32_t k = 1; k < POWERS; k++) {
            const int64_t far = INT64_C(1) << k;
            if (far > near && far <= i)
                gsa_edge(e, ATTEND, gsa_at(TOKEN, i - far), me, (int32_t)near + 1 + k);
            if (far > near && far <= ahead)
                gsa_edge(e, ATTEND, gsa_at(TOKEN, i + far), me, side(p) + (int32_t)near + 1 + k);
        }
    }
}

static void label(const void *self, int phase, int32_t id, char *out, size_t size)
{
    const gsa_value *p = self;
    const int32_t rank = id % side(p), near = (int32_t)p[NEAR].i;
    const long long distance = rank <= near ? rank : 1LL << (rank - near - 1);
    if (phase != ATTEND || distance == 0) snprintf(out, size, "%s", phase == ATTEND ? "self" : "");
    else snprintf(out, size, "%+lld", id < side(p) ? -distance : distance);
}

const gsa_topology GSA_PLUGIN = { GSA_HEAD(params),
                                  .id = "logsparse",
                                  .summary = "itself, its neighbours, and steps that double",
                                  .reference = "Li et al. 2019",
                                  .describe = describe,
                                  .emit = emit,
                                  .label = label };
