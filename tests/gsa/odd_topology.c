/* odd - what no built-in pattern is: causal and prefix-stable, with blocks of three tokens that
 * sums, means and heads reach.
 *
 *   fill:  block_q <- mean of its tokens, assigned, once  blocks that are whole alone
 *   heads: token_{i,h} reads itself, the copy of token i - h, and the blocks before it; every
 *          fourth token reads nothing: kept
 *   gather, with the same old states: block_q <- norm(relu((sum of its copies and of its first
 *     tokens) W)); odd blocks are kept
 *   mix:   block_q <- block_q + mean of the blocks up to q, normed
 *   point: token and block <- FFN */
#include "odd_topology.h"

enum { BLOCK = 3 };
enum { TOKEN, COPIED, BLOCKS };
enum { FILL, HEADS, GATHER, MIX, POINT };
#define PHASE(...) d->phase(d, &GSA_PHASE(__VA_ARGS__))

static void describe(const void *self, gsa_describer *d)
{
    (void)self;
    d->promise(d, GSA_BY_LENGTH | GSA_CAUSAL | GSA_PREFIX_STABLE | GSA_DUPLICATES,
               GSA_SQUARE_EDGES);
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    d->kind(d, &GSA_KIND(.start = GSA_COPY, .name = "copy"));
    d->kind(d, &GSA_KIND(.start = GSA_BY_PHASE, .learned = 100, .name = "block"));
    PHASE(.when = GSA_ONCE, .aggregate = GSA_MEAN, .update = GSA_ASSIGN, .sources = 1 << TOKEN,
          .destinations = 1 << BLOCKS, .name = "fill");
    PHASE(.aggregate = GSA_ATTEND, .update = GSA_SUBLAYER, .empty = GSA_KEEP_EMPTY, .per_head = 1,
          .label_use = GSA_HEAD_BIAS, .labels = 5,
          .sources = 1 << TOKEN | 1 << COPIED | 1 << BLOCKS, .destinations = 1 << TOKEN,
          .name = "heads");
    PHASE(.aggregate = GSA_SUM, .update = GSA_RELU_NORM, .empty = GSA_KEEP_EMPTY, .together = 1,
          .sources = 1 << TOKEN | 1 << COPIED, .destinations = 1 << BLOCKS, .name = "gather");
    PHASE(.aggregate = GSA_MEAN, .update = GSA_SUBLAYER, .sources = 1 << BLOCKS,
          .destinations = 1 << BLOCKS, .name = "mix");
    PHASE(.aggregate = GSA_NONE, .update = GSA_FFN, .destinations = 1 << TOKEN | 1 << BLOCKS,
          .name = "point");
    d->sequence(d, TOKEN);
}

static void emit_token(const gsa_example *x, gsa_emitter *e, int64_t i)
{
    for (int64_t h = 0; h < x->heads && i % 4 != 3; h++) {
        const gsa_node me = gsa_at(TOKEN, i * x->heads + h);
        e->run(e, HEADS, gsa_at(BLOCKS, h), (i + 1) / BLOCK, x->heads, me, 4, -1 * (i < 15));
        gsa_edge(e, HEADS, me, me, 0);
        gsa_edge(e, HEADS, gsa_at(COPIED, (i > h ? i - h : 0) * x->heads + x->heads - 1 - h), me,
                 1);
    }
}

static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    (void)self;
    const int64_t blocks = x->length / BLOCK;
    e->nodes(e, BLOCKS, blocks);
    for (int64_t i = 0; i < x->length; i++) emit_token(x, e, i);
    for (int64_t q = 0; q < blocks; q++) {
        e->run(e, FILL, gsa_at(TOKEN, q * BLOCK), BLOCK, 1, gsa_at(BLOCKS, q), 0, 0);
        e->run(e, MIX, gsa_at(BLOCKS, q), q + 1, -1, gsa_at(BLOCKS, q), 0, 0);
        if (q % 2) continue;
        e->run(e, GATHER, gsa_at(COPIED, q * BLOCK + BLOCK - 1), BLOCK, -1, gsa_at(BLOCKS, q), 0,
               0);
        e->run(e, GATHER, gsa_at(TOKEN, 0), 2 * q + 1, 1, gsa_at(BLOCKS, q), 0, 0);
    }
}

const gsa_topology odd_topology = { .abi = GSA_ABI,
                                    .struct_size = sizeof(gsa_topology),
                                    .param_stride = sizeof(gsa_param),
                                    .id = "odd",
                                    .summary = "blocks of three tokens",
                                    .reference = "none",
                                    .describe = describe,
                                    .emit = emit };
