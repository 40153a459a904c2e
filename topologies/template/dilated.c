/* dilated - the plugin to copy: a window with holes. Token i reads i - r*s, .., i - s, i, i + s, .., i + r*s.
 *
 * How to write your own topology:
 *   1. Copy this folder, rename the file, and change this comment: the rule that says who reads whom, the paper with its
 *      equation numbers, how many edges there are, what it costs.
 *   2. Declare the parameters. The host parses and checks them; here they arrive as numbers, in the declared order.
 *   3. describe: which kinds of nodes there are, which phases a layer has and in what order, what is read out, and what you
 *      promise about the edges. It depends on the parameters only.
 *   4. emit: the edges of one example, as runs {first, count, step}. Loop over the rows; the host checks each call.
 *   5. label (optional): a name for each edge label, for pictures.
 *   6. Build it, look at it, train it: README.md has the three commands.
 * Nothing is registered, parsed, allocated or freed here. A topology that needs memory of its own or wants to refuse a
 * combination of parameters adds .create and .destroy (see <gsa/topology.h>).
 *
 *   dilated: x_i <- sublayer(att(x_i; x_{i-rs}, .., x_i, .., x_{i+rs}))     what lies outside 0 .. n-1 is not read
 *   ffn:     x_i <- sublayer(FFN(x_i))
 * Labels -r .. r, learned on the keys when labels=1. At most n (2r+1) edges, one run a row: time and memory O(n). */
#include <gsa/topology.h>
#include <stdio.h>

enum { REACH, STEP, LABELS, N_PARAMS };
static const gsa_param params[N_PARAMS] = {
    { "reach", GSA_INT, 0, 0, 1 << 16, NULL, "2", "tokens read on each side" },
    { "step", GSA_INT, 0, 1, 1 << 16, NULL, "2", "distance between them" },
    { "labels", GSA_BOOL, 0, 0, 1, NULL, "0", "learn one key vector for each place" },
};
enum { TOKEN };        /* kinds of nodes, in the order in which describe declares them */
enum { DILATED, FFN }; /* phases, likewise */

static void describe(const void *self, gsa_describer *d)
{
    const gsa_value *p = self; /* without .create, self is the parameters' values */
    d->promise(d, GSA_BY_LENGTH, GSA_LINEAR_EDGES);
    d->kind(d, &(gsa_kind){ .struct_size = sizeof(gsa_kind), .start = GSA_INPUT, .name = "token" });
    d->phase(d, &(gsa_phase){ .struct_size = sizeof(gsa_phase),
                              .aggregate = GSA_ATTEND,
                              .update = GSA_SUBLAYER,
                              .label_use = p[LABELS].i ? GSA_KEY_VECTORS : GSA_NAMES_ONLY,
                              .labels = (int32_t)(2 * p[REACH].i + 1),
                              .sources = 1 << TOKEN,
                              .destinations = 1 << TOKEN,
                              .name = "dilated" });
    d->phase(d, &(gsa_phase){ .struct_size = sizeof(gsa_phase),
                              .aggregate = GSA_NONE,
                              .update = GSA_FFN,
                              .destinations = 1 << TOKEN,
                              .name = "ffn" });
    d->sequence(d, TOKEN);
    d->summary(d, TOKEN, GSA_MEAN_OF, 1);
}

static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    const gsa_value *p = self;
    const int64_t n = x->length, r = p[REACH].i, s = p[STEP].i;
    for (int64_t i = 0; i < n; i++) {
        const int64_t left = i / s < r ? i / s : r, right = (n - 1 - i) / s < r ? (n - 1 - i) / s : r;
        e->run(e, DILATED, gsa_at(TOKEN, i - left * s), left + 1 + right, s, gsa_at(TOKEN, i), (int32_t)(r - left), 1);
    }
}

static void label(const void *self, int phase, int32_t id, char *out, size_t size)
{
    const gsa_value *p = self;
    snprintf(out, size, "%+lld", phase == DILATED ? (id - (long long)p[REACH].i) * (long long)p[STEP].i : 0);
}

const gsa_topology GSA_PLUGIN = {
    GSA_HEAD(params), .id = "dilated", .summary = "a window with holes", .reference = "the template", .describe = describe,
    .emit = emit,     .label = label
};
