/* head_area - 2-D convolutional self-attention (Yang et al. 2019, eq. 7-9): a window over tokens
 * and heads.
 *
 *   attend: x_{i,h} <- att(x_{i,h}; x_{j,g} for |j - i| <= M/2, |g - h| <= N/2), one softmax over
 *           the area; then sublayer
 *   ffn:    x_i <- sublayer(FFN(x_i))
 * The phase's nodes are (token, head), index i H + h; width = M+1, heads = N+1; no learned numbers
 * beyond those of `full`. Tokens outside 0 .. n-1 are not read. A head outside 0 .. H-1 is by
 * border: clip = nothing; circular = counted mod H; clamp = the nearest. The last two are taken
 * literally, so duplicates are meant: clamp reads an end head again, circular some head twice where
 * N+1 > H. heads=1 is the 1-D model (eq. 4-6), as `window`. Labels are names. Summary: mean of
 * tokens. At most n H (M+1)(N+1) edges, N+1 runs a row: time and memory O(n). Path between tokens:
 * O(n / M). */
#include <stdio.h>
#include "builtin.h"
enum { WIDTH, HEADS, BORDER, N_PARAMS };
enum { CLIP, CIRCULAR, CLAMP };
static const gsa_param params[N_PARAMS] = {
    { "width", GSA_INT, 0, 1, (1 << 20) - 1, NULL, "11",
      "tokens read, its own in the middle: odd" },
    { "heads", GSA_INT, 0, 1, (1 << 10) - 1, NULL, "3", "heads read, its own in the middle: odd" },
    { "border", GSA_CHOICE, 0, 0, 0, "clip,circular,clamp", "clip",
      "what heads before the first and after the last are" },
};
enum { TOKEN };
enum { ATTEND, FFN };

static int create(const gsa_host *host, const gsa_value *p, void **self)
{
    char why[64];
    *self = (void *)(uintptr_t)
        p; /* the values live as long as the instance, and emit only reads them */
    const int odd = p[WIDTH].i % 2 == 0 ? WIDTH : HEADS;
    if (p[odd].i % 2 == 1) return 0;
    snprintf(why, sizeof why, "%s is %lld, expected an odd number", params[odd].name,
             (long long)p[odd].i);
    return host->fail(host, why);
}

static void describe(const void *self, gsa_describer *d)
{
    const gsa_value *p = self;
    const int literal = p[BORDER].i != CLIP && p[HEADS].i > 1;
    d->promise(d, GSA_BY_LENGTH | (literal ? GSA_DUPLICATES : 0), GSA_LINEAR_EDGES);
    gsa_transformer_layer(d, GSA_NAMES_ONLY, (int32_t)p[HEADS].i, 1);
}

static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    const gsa_value *p = self;
    const int64_t n = x->length, H = x->heads, half = p[WIDTH].i / 2, k = p[HEADS].i / 2;
    const int clip = p[BORDER].i == CLIP;
    for (int64_t i = 0; i < n; i++) {
        const int64_t first = i > half ? i - half : 0, last = i + half < n ? i + half : n - 1;
        for (int64_t h = 0; h < H; h++)
            for (int64_t g = clip && h < k ? 0 : h - k; g <= (clip && h + k >= H ? H - 1 : h + k);
                 g++) {
                const int64_t head = p[BORDER].i != CLAMP ? (g % H + H) % H
                                     : g < 0              ? 0
                                     : g < H              ? g
                                                          : H - 1;
                e->run(e, ATTEND, gsa_at(TOKEN, first * H + head), last - first + 1, H,
                       gsa_at(TOKEN, i * H + h), (int32_t)(g - h + k), 0);
            }
    }
}

static void label(const void *self, int phase, int32_t id, char *out, size_t size)
{
    const long long offset = id - ((const gsa_value *)self)[HEADS].i / 2;
    if (phase != ATTEND || offset == 0)
        snprintf(out, size, "%s", phase == ATTEND ? "own head" : "");
    else snprintf(out, size, "head %+lld", offset);
}

const gsa_topology gsa_topology_head_area = { GSA_HEAD(params),
                                              .id = "head_area",
                                              .summary = "a window over tokens and heads",
                                              .reference = "Yang et al. 2019",
                                              .create = create,
                                              .describe = describe,
                                              .emit = emit,
                                              .label = label };
