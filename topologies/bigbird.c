/* bigbird - a window, global tokens and random tokens (Zaheer et al. 2020, section 2; in blocks:
 * appendix D).
 *
 *   attend: x_i <- sublayer(att(x_i; blocks B_0 .. B_{g-1}, B_{q-w} .. B_{q+w}, and t others drawn
 *           for q))  i in B_q
 *   ffn:    x_i <- sublayer(FFN(x_i))
 * B_q = tokens q b .. q b + b-1 (block=1: tokens), w = width/2, g = global, t = random. The rows of
 * the first g blocks read all (the paper's ITC). No token is read twice: the window leaves out what
 * is global, and the t blocks are drawn without repetition from what is neither, all of it where
 * there is less; one draw for all heads and layers of a segment, another for another seed.
 * causal=1: nothing later than i is read; then a row's draw depends on i alone, else on n too.
 * Labels are names only. Summary: mean of the tokens. Path between tokens: 2 when g > 0 and not
 * causal.
 * At most n b (width + random + 2 g) edges, 2 + t runs a row: time O(n t^2), memory O(n t). */
#include <stdio.h>
#include "builtin.h"
enum { WIDTH, GLOBAL, RANDOM, BLOCK, SEED, CAUSAL, N_PARAMS };
enum { MOST = 64 };
static const gsa_param params[N_PARAMS] = {
    { "width", GSA_INT, 0, 1, (1 << 20) - 1, NULL, "3",
      "blocks read around each, its own in the middle: odd" },
    { "global", GSA_INT, 0, 0, 1 << 20, NULL, "2",
      "first blocks, which read all and are read by all" },
    { "random", GSA_INT, 0, 0, MOST, NULL, "3", "other blocks that each block reads" },
    { "block", GSA_INT, 0, 1, 1 << 20, NULL, "1", "tokens of a block" },
    { "seed", GSA_INT, 0, 0, INT32_MAX, NULL, "1", "of the random blocks" },
    { "causal", GSA_BOOL, 0, 0, 1, NULL, "0", "read itself and earlier tokens only" },
};
enum { TOKEN };
enum { ATTEND, FFN };
enum { WINDOW, FROM_GLOBAL, ALL, BY_CHANCE, N_LABELS };

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
    const int causal = ((const gsa_value *)self)[CAUSAL].i != 0;
    d->promise(d, GSA_BY_LENGTH | (causal ? GSA_CAUSAL | GSA_PREFIX_STABLE : 0), GSA_LINEAR_EDGES);
    gsa_transformer_layer(d, GSA_NAMES_ONLY, N_LABELS, 0);
}

/* t of 0 .. m-1 without repetition, ascending (Floyd's method: draw k is of 0 .. m-t+k, or the last
 * of them if taken). */
static int64_t draw(int64_t *drawn, int64_t t, int64_t m, uint64_t seed, int64_t q)
{
    if (t > m) t = m;
    for (int64_t k = 0; k < t; k++) {
        int64_t pick = (int64_t)(gsa_random(seed, (uint64_t)q, (uint64_t)k) %
                                 (uint64_t)(m - t + k + 1)),
                at = k;
        for (int64_t a = 0; a < k; a++)
            if (drawn[a] == pick) pick = m - t + k;
        for (; at > 0 && drawn[at - 1] > pick; at--) drawn[at] = drawn[at - 1];
        drawn[at] = pick;
    }
    return t;
}

static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    const gsa_value *p = self;
    const int64_t n = x->length, b = p[BLOCK].i, blocks = (n + b - 1) / b, g = p[GLOBAL].i,
                  half = p[WIDTH].i / 2;
    const int causal = p[CAUSAL].i != 0;
    int64_t drawn[MOST];
    for (int64_t i = 0; i < g * b && i < n; i++)
        e->run(e, ATTEND, gsa_at(TOKEN, 0), causal ? i + 1 : n, 1, gsa_at(TOKEN, i), ALL, 0);
    for (int64_t q = g; q < blocks; q++) {
        const int64_t first = q - half > g ? q - half : g,
                      last = q + half < blocks ? q + half : blocks - 1;
        const int64_t before = first - g,
                      after = causal ? 0 : blocks - 1 - last; /* blocks to draw from */
        const int64_t t = draw(drawn, p[RANDOM].i, before + after, (uint64_t)p[SEED].i, q);
        for (int64_t i = q * b; i < q * b + b && i < n; i++) {
            const int64_t end = causal ? i + 1 : last < blocks - 1 ? (last + 1) * b : n;
            e->run(e, ATTEND, gsa_at(TOKEN, 0), g * b, 1, gsa_at(TOKEN, i), FROM_GLOBAL, 0);
            e->run(e, ATTEND, gsa_at(TOKEN, first * b), end - first * b, 1, gsa_at(TOKEN, i),
                   WINDOW, 0);
            for (int64_t k = 0; k < t; k++) {
                const int64_t from =
                    b * (drawn[k] < before ? g + drawn[k] : last + 1 + drawn[k] - before);
                e->run(e, ATTEND, gsa_at(TOKEN, from), n - from < b ? n - from : b, 1,
                       gsa_at(TOKEN, i), BY_CHANCE, 0);
            }
        }
    }
}

static void label(const void *self, int phase, int32_t id, char *out, size_t size)
{
    static const char *const names[N_LABELS] = { "window", "global", "all", "random" };
    (void)self;
    snprintf(out, size, "%s", phase == ATTEND && id >= 0 && id < N_LABELS ? names[id] : "");
}

const gsa_topology gsa_topology_bigbird = {
    GSA_HEAD(params),
    .id = "bigbird",
    .summary = "a window, tokens that read and are read by all, and random tokens",
    .reference = "Zaheer et al. 2020",
    .create = create,
    .describe = describe,
    .emit = emit,
    .label = label
};
