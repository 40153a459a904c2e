/* cross - every token reads the memory: the sequence of another stack (Vaswani et al. 2017, section
 * 3.2.3).
 *
 *   attend: x_i <- sublayer(att(x_i; m_0 .. m_{len-1}))
 * align=1: only the memory tokens of its own group, for sentences in documents (Ye et al. 2019,
 * section 4.3); a token whose group has no memory reads nothing: x <- sublayer(0).
 * Made to be after another pattern in one layer, which brings the summary and the ffn:
 * `full:causal=1+cross` is the decoder layer of the Transformer. No token reads a token, so it
 * takes nothing from what a causal pattern promises. n len edges, or the sum over groups; one run a
 * row: time O(n + len). */
#include <stdio.h>
#include "builtin.h"
enum { ALIGN, N_PARAMS };
static const gsa_param params[N_PARAMS] = {
    { "align", GSA_BOOL, 0, 0, 1, NULL, "0", "read the memory tokens of its own group only" },
};
enum { MEMORY, TOKEN };
enum { ATTEND };

static void describe(const void *self, gsa_describer *d)
{
    const int align = ((const gsa_value *)self)[ALIGN].i != 0;
    d->promise(d, GSA_CAUSAL | GSA_PREFIX_STABLE | (align ? 0 : GSA_BY_LENGTH), GSA_SQUARE_EDGES);
    d->kind(d, &GSA_KIND(.start = GSA_MEMORY, .name = "memory"));
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    d->phase(d, &GSA_PHASE(.aggregate = GSA_ATTEND, .update = GSA_SUBLAYER, .sources = 1 << MEMORY,
                           .destinations = 1 << TOKEN, .name = "attend"));
    d->sequence(d, TOKEN);
}

static int32_t group_of(const int32_t *group, int64_t i)
{
    return group ? group[i] : 0;
}

static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    const int align = ((const gsa_value *)self)[ALIGN].i != 0;
    const int64_t n = x->length, m = x->memory_length;
    int64_t first = 0,
            end = align ? 0 : m; /* of the token's group; groups ascend, so both only move on */
    for (int64_t i = 0; i < n; i++) {
        const int32_t group = group_of(x->group, i);
        while (align && first < m && group_of(x->memory_group, first) < group) first++;
        while (align && end < m && group_of(x->memory_group, end) <= group) end++;
        e->run(e, ATTEND, gsa_at(MEMORY, first), end - first, 1, gsa_at(TOKEN, i), 0, 0);
    }
}

static void label(const void *self, int phase, int32_t id, char *out, size_t size)
{
    (void)self;
    snprintf(out, size, "%s", phase == ATTEND && id == 0 ? "memory" : "");
}

const gsa_topology gsa_topology_cross = { GSA_HEAD(params),
                                          .id = "cross",
                                          .summary = "every token reads the memory",
                                          .reference = "Vaswani et al. 2017; Ye et al. 2019",
                                          .describe = describe,
                                          .emit = emit,
                                          .label = label };
