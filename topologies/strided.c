/* strided - the factorised attention of the Sparse Transformer (Child et al. 2019, section 4.3 and
 * 5.1); l = stride.
 *
 *   attend: x_i <- sublayer(att(x_i; x_j for j in A1_i or A2_i))      j <= i; causal=0: any j
 *   ffn:    x_i <- sublayer(FFN(x_i))
 *   pattern=strided: A1_i = { j : |i - j| <= l }              A2_i = { j : (i - j) mod l = 0 }
 *   pattern=fixed:  A1_i = { j : j in the block of i }
 *       A2_i = { j : j among the last c of its block }
 * Blocks of l tokens count from 0; causal=0: so that the last one ends with the sequence, else
 * nobody would read its tokens. The paper's three ways to use A1 and A2: heads=merged, all heads
 * read the union, no token twice; near and far, layers that read one of them
 * (`strided:heads=near,strided:heads=far`); split, the first half of the heads reads A1, the others
 * A2. stride=0 is ceil(sqrt(n)), as the paper advises; then what a token reads changes with n, so
 * it cannot generate. Labels near (A1) and far, names only. relative=1: vectors on the keys, one
 * for each distance j - i of A1 (label = distance + l, as in window.c) and one for all of A2.
 * Summary: mean of the tokens. Path between tokens: 2.
 * At most n (2l + 1 + c n / l) edges, O(n sqrt(n)) with stride=0; at most 3 runs a row, fixed: 2
 * min(c, n / l) + 3. */
#include <stdio.h>
#include "builtin.h"
enum { PATTERN, STRIDE, C, HEADS, CAUSAL, RELATIVE, N_PARAMS };
enum { STRIDED, FIXED };
enum { MERGED, NEAR_ONLY, FAR_ONLY, SPLIT };
static const gsa_param params[N_PARAMS] = {
    { "pattern", GSA_CHOICE, 0, 0, 0, "strided,fixed", "strided",
      "for data with a period; for data without one, as text" },
    { "stride", GSA_INT, 0, 0, 1 << 20, NULL, "0", "l; 0: the root of the length" },
    { "c", GSA_INT, 0, 1, 1 << 20, NULL, "1",
      "fixed: the last tokens of a block, which others read; at most the stride" },
    { "heads", GSA_CHOICE, 0, 0, 0, "merged,near,far,split", "merged", "what each head reads" },
    { "causal", GSA_BOOL, 0, 0, 1, NULL, "1", "read itself and earlier tokens only" },
    { "relative", GSA_BOOL, 0, 0, 1, NULL, "0",
      "relative positions as vectors on the edges nearby; needs a stride" },
};
enum { TOKEN };
enum { ATTEND, FFN };
enum { NEAR, FAR, N_LABELS };

static int create(const gsa_host *host, const gsa_value *p, void **self)
{
    char why[96];
    *self = (void *)(uintptr_t)
        p; /* the values live as long as the instance, and emit only reads them */
    const long long c = p[C].i, most = p[PATTERN].i == STRIDED ? 1 : p[STRIDE].i ? p[STRIDE].i : c;
    if (p[RELATIVE].i && p[STRIDE].i == 0)
        return host->fail(host, "relative=1 needs a stride, stride=0 is given");
    if (c <= most) return 0;
    snprintf(why, sizeof why, "c is %lld, expected at most %lld, %s", c, most,
             p[PATTERN].i == STRIDED ? "which is all that pattern=strided has" : "the stride");
    return host->fail(host, why);
}

/* After those of the distances, from -l to 0 or l. */
static int64_t far_label(const gsa_value *p)
{
    return (p[CAUSAL].i ? 1 : 2) * p[STRIDE].i + 1;
}

static void describe(const void *self, gsa_describer *d)
{
    const gsa_value *p = self;
    const int stable = p[CAUSAL].i && p[STRIDE].i;
    d->promise(d, GSA_BY_LENGTH | (p[CAUSAL].i ? GSA_CAUSAL : 0) | (stable ? GSA_PREFIX_STABLE : 0),
               p[STRIDE].i == 0          ? GSA_NSQRTN_EDGES
               : p[HEADS].i == NEAR_ONLY ? GSA_LINEAR_EDGES
                                         : GSA_SQUARE_EDGES);
    gsa_transformer_layer(d, p[RELATIVE].i ? GSA_KEY_VECTORS : GSA_NAMES_ONLY,
                          p[RELATIVE].i ? (int32_t)far_label(p) + 1 : N_LABELS,
                          p[HEADS].i == SPLIT);
}

typedef struct row {
    gsa_emitter *e;
    gsa_node to;
    int64_t scale, head, l, a, c; /* nodes are token * scale + head; blocks end at a mod l, with c
                                     tokens that others read */
    int32_t far;                  /* their label */
} row;

static void run(const row *r, int64_t first, int64_t last, int64_t step, int32_t label,
                int32_t label_step)
{
    const int64_t count = first <= last ? (last - first) / step + 1 : 0;
    r->e->run(r->e, ATTEND, gsa_at(TOKEN, first * r->scale + r->head), count, step * r->scale,
              r->to, label, label_step);
}

/* The first token from `from` on that is a mod l. */
static int64_t next(int64_t from, int64_t a, int64_t l)
{
    return from + ((a - from) % l + l) % l;
}

/* A2 from `first` to `last`: by its c columns or by its blocks, whichever are fewer. */
static void far(const row *r, int64_t first, int64_t last)
{
    if (r->c <= (last - first) / r->l + 1)
        for (int64_t k = r->c - 1; k >= 0; k--)
            run(r, next(first, r->a - k, r->l), last, r->l, r->far, 0);
    else
        for (int64_t z = next(first, r->a, r->l); z - r->c < last; z += r->l)
            run(r, z - r->c + 1 > first ? z - r->c + 1 : first, z < last ? z : last, 1, r->far, 0);
}

static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    const gsa_value *p = self;
    const int64_t n = x->length, scale = p[HEADS].i == SPLIT ? x->heads : 1;
    int64_t l = p[STRIDE].i;
    const int relative = p[RELATIVE].i != 0;
    const int32_t far_is = (int32_t)(relative ? far_label(p) : FAR);
    while (p[STRIDE].i == 0 && (l < 1 || l * l < n)) l++;
    for (int64_t i = 0; i < n; i++) {
        const int64_t end = p[CAUSAL].i ? i : n - 1, a = p[PATTERN].i == STRIDED ? i
                                                         : p[CAUSAL].i           ? l - 1
                                                                                 : n - 1;
        const int64_t up = p[PATTERN].i == STRIDED ? i + l : next(i, a, l),
                      down = p[PATTERN].i == STRIDED ? i - l : up - l + 1;
        const int64_t lo = down > 0 ? down : 0, hi = up < end ? up : end;
        for (int64_t h = 0; h < scale; h++) {
            const row r = { e, gsa_at(TOKEN, i * scale + h), scale, h, l,
                            a, p[C].i < l ? p[C].i : l,      far_is };
            const int near_too = p[HEADS].i == SPLIT ? h < (scale + 1) / 2 : p[HEADS].i != FAR_ONLY;
            const int far_too = p[HEADS].i == SPLIT ? !near_too : p[HEADS].i != NEAR_ONLY;
            if (far_too) far(&r, 0, near_too ? lo - 1 : end);
            if (near_too) run(&r, lo, hi, 1, (int32_t)(relative ? lo - i + l : NEAR), relative);
            if (far_too && near_too) far(&r, hi + 1, end);
        }
    }
}

static void label(const void *self, int phase, int32_t id, char *out, size_t size)
{
    const gsa_value *p = self;
    const int relative = p[RELATIVE].i != 0;
    const long long distance = id - p[STRIDE].i;
    if (phase != ATTEND) snprintf(out, size, "%s", "");
    else if (id == (relative ? far_label(p) : FAR)) snprintf(out, size, "far");
    else if (!relative || distance == 0)
        snprintf(out, size, "%s", relative ? "self" : id == NEAR ? "near" : "");
    else
        snprintf(out, size, "%s %lld", distance < 0 ? "left" : "right",
                 distance < 0 ? -distance : distance);
}

const gsa_topology gsa_topology_strided = {
    GSA_HEAD(params),
    .id = "strided",
    .summary = "tokens nearby, and every l-th or the last of each block",
    .reference = "Child et al. 2019",
    .create = create,
    .describe = describe,
    .emit = emit,
    .label = label
};
