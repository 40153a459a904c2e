/* bpt - binary-partition tree (Ye et al. 2019, sections 3.2 and 3.4, eq. 8-13, algorithms 1 and 2).
 *
 * Level j has ceil(n / 2^j) nodes, j = 0 .. D-1, the last one the root. Level 0 are the tokens;
 * span (j, m) stands for the tokens m 2^j .. min(n, (m+1) 2^j) - 1 and starts at zero. One layer,
 * all nodes at once:
 *   attend: token <- sublayer(att(token; itself, its context)), span <- sublayer(att(span; the
 *           tokens that it stands for))
 *   ffn:    x     <- sublayer(FFN(x))
 * The context of token i is walked outwards on each side, k nodes a level, fine to coarse (eq.
 * 8-12): from i-1 and i+1 at level 0, then from the parent of the next node. Where that parent is
 * read in half already, the variants differ:
 *   fixed      the other half, one level finer, stands for the parent as one of the next level's k;
 *              at an odd level's end, where there is no other half, nothing does. Sources cover
 *              every allowed token exactly once.
 *   reference  as fixed, but for a missing half the public builder (yzh119/BPT,
 *              graph_builder/builder.pyx) takes the first node of the next level: tokens at the
 *              start are read again, and an edge may be there twice. Right side only.
 *   paper      the other half is read as one more node of its own level (section 3.2.2), and the
 *              walk goes on at the parent next to it. Exact too.
 * causal=1 drops the right side: what token i reads stands for no later token, and is the same for
 * every length > i. Labels are vectors on the keys (section 3.4), w = 2k+1 a level (paper: 2k+3): w
 * min(j, clip) + {0: self, span <- its tokens; 2t-1: t-th left; 2t: t-th right}. clip is the public
 * builder's clip_dist; the paper has no limit. The edges into a span have one label, which the
 * softmax does not see: vectors r^anc of eq. 13 change nothing.
 * prune=1 leaves out spans that no token reads (k >= n: all), but not the root. Summary: the root;
 * n = 1: the token. In-degree: token at most 2k (paper: 2k+2) a level + 1, span its tokens. n (D-1)
 * + O(k n log(n/k)) edges, for k >= n n^2 + n (D-1); at most two runs a level and side: time and
 * memory O(n log n). Path between tokens: 2. */
#include <inttypes.h>
#include <stdio.h>
#include "bpt_tree.h"
#include "builtin.h"
enum { K, CAUSAL, CLIP, VARIANT, PRUNE, N_PARAMS };
static const gsa_param params[N_PARAMS] = {
    { "k", GSA_INT, 0, 1, (1 << 30) - 1, NULL, "4", "context nodes a side and level" },
    { "causal", GSA_BOOL, 0, 0, 1, NULL, "0", "read itself and the left context only" },
    { "clip", GSA_INT, 0, -1, 31, NULL, "-1",
      "levels from here up share labels; -1: the largest with k 2^clip <= 256" },
    { "variant", GSA_CHOICE, 0, 0, 0, "fixed,reference,paper", "fixed",
      "half-read parents: exact, public code's, paper's" },
    { "prune", GSA_BOOL, 0, 0, 1, NULL, "0", "leave out the spans that no token reads" },
};
enum { TOKEN = GSA_BPT_TOKEN, SPAN = GSA_BPT_SPAN, ATTEND = GSA_BPT_ATTEND, FFN = GSA_BPT_FFN };

static int64_t width_of(const gsa_value *p)
{
    return 2 * p[K].i + (p[VARIANT].i == GSA_BPT_PAPER ? 3 : 1);
}

static int64_t clip_of(const gsa_value *p)
{
    int64_t clip = p[CLIP].i < 0 ? 0 : p[CLIP].i;
    while (p[CLIP].i < 0 && p[K].i << (clip + 1) <= 256) clip++;
    return clip;
}

static int create(const gsa_host *host, const gsa_value *p, void **self)
{
    char why[128];
    const int64_t labels = width_of(p) * (clip_of(p) + 1);
    *self = (void *)(uintptr_t)
        p; /* the values live as long as the instance, and emit only reads them */
    if (labels <= INT32_MAX) return 0;
    snprintf(why, sizeof why,
             "k = %" PRId64 " with clip = %" PRId64 " makes %" PRId64
             " labels, expected at most 2147483647",
             p[K].i, clip_of(p), labels);
    return host->fail(host, why);
}

static void describe(const void *self, gsa_describer *d)
{
    const gsa_value *p = self;
    const uint64_t both = 1 << TOKEN | 1 << SPAN;
    const uint32_t left = GSA_CAUSAL | GSA_PREFIX_STABLE,
                   twice = p[VARIANT].i == GSA_BPT_REFERENCE ? GSA_DUPLICATES : 0;
    d->promise(d, GSA_BY_LENGTH | (p[CAUSAL].i ? left : twice), GSA_NLOGN_EDGES);
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    d->kind(d, &GSA_KIND(.start = GSA_ZERO, .name = "span"));
    d->phase(d, &GSA_PHASE(.aggregate = GSA_ATTEND, .update = GSA_SUBLAYER,
                           .label_use = GSA_KEY_VECTORS,
                           .labels = (int32_t)(width_of(p) * (clip_of(p) + 1)), .sources = both,
                           .destinations = both, .name = "attend"));
    d->phase(d, &GSA_PHASE(.aggregate = GSA_NONE, .update = GSA_FFN, .destinations = both,
                           .name = "ffn"));
    d->sequence(d, TOKEN);
    d->summary(d, SPAN, GSA_SUMMARY_NODE, 1);
}

static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    const gsa_value *p = self;
    const int64_t n = x->length;
    gsa_bpt_tree t = {
        .e = e, .n = n, .k = p[K].i, .variant = (int)p[VARIANT].i, .sides = p[CAUSAL].i ? 1 : 2
    };
    gsa_bpt_grow(&t, width_of(p), clip_of(p));
    e->nodes(e, SPAN, p[PRUNE].i ? gsa_bpt_prune(&t) : t.spans);
    for (int64_t i = 0; i < n; i++) {
        gsa_edge(e, ATTEND, gsa_at(TOKEN, i), gsa_at(TOKEN, i), 0);
        gsa_bpt_read_context(&t, i);
    }
    for (int j = 1; j < t.depth; j++)
        for (int64_t m = 0; m < t.level[j].size; m++) {
            const int64_t first = m << j, end = (m + 1) << j < n ? (m + 1) << j : n;
            if (!gsa_bpt_kept(&t, j, m)) continue;
            e->place(e, gsa_bpt_node(&t, j, m), j, first, end - 1);
            e->run(e, ATTEND, gsa_at(TOKEN, first), end - first, 1, gsa_bpt_node(&t, j, m),
                   t.level[j].label, 0);
        }
    if (n > 0) e->summary(e, gsa_bpt_node(&t, t.depth - 1, 0));
}

static void label(const void *self, int phase, int32_t id, char *out, size_t size)
{
    const gsa_value *p = self;
    const int64_t level = id / width_of(p), place = id % width_of(p), clip = clip_of(p);
    const char *from = level == clip ? ">=" : "";
    if (phase != ATTEND || id < 0 || level > clip) snprintf(out, size, "%s", "");
    else if (id == 0) snprintf(out, size, "self");
    else if (place == 0) snprintf(out, size, "anc %s%" PRId64, from, level);
    else
        snprintf(out, size, "%s %s%" PRId64 ":%" PRId64, place % 2 ? "left" : "right", from, level,
                 (place + 1) / 2);
}

const gsa_topology gsa_topology_bpt = { GSA_HEAD(params),
                                        .id = "bpt",
                                        .summary =
                                            "tokens read a binary tree of spans, fine to coarse",
                                        .reference = "Ye et al. 2019",
                                        .create = create,
                                        .describe = describe,
                                        .emit = emit,
                                        .label = label };
