#include "bpt_naive.h"
#include <stdlib.h>

static void add(bpt_list *list, bpt_edge edge)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 1024;
        list->edges = realloc(list->edges, (size_t)list->capacity * sizeof *list->edges);
        if (!list->edges) abort();
    }
    list->edges[list->count++] = edge;
}

void bpt_naive_release(bpt_list *list)
{
    free(list->edges);
    *list = (bpt_list){ 0 };
}

int64_t bpt_naive_size(int64_t n, int level)
{
    const int64_t width = INT64_C(1) << level;
    return n / width + (n % width != 0);
}

int bpt_naive_depth(int64_t n)
{
    int depth = 1;
    while (bpt_naive_size(n, depth - 1) > 1) depth++;
    return depth;
}

int64_t bpt_naive_first(int level, int64_t place)
{
    return place * (INT64_C(1) << level);
}

int64_t bpt_naive_last(int64_t n, int level, int64_t place)
{
    const int64_t end = (place + 1) * (INT64_C(1) << level);
    return (end < n ? end : n) - 1;
}

static int64_t base(const bpt_shape *s, int level)
{
    return (2 * s->k + (s->variant == BPT_PAPER ? 3 : 1)) * (level < s->clip ? level : s->clip);
}

/* The largest node of at most this level that holds the token and nothing of the interval that is
 * covered already. */
static bpt_edge largest_beside(const bpt_shape *s, int level, int64_t token, int64_t low,
                               int64_t high)
{
    bpt_edge node = { .from_level = level };
    for (;; node.from_level--) {
        node.from = token / (INT64_C(1) << node.from_level);
        if (bpt_naive_first(node.from_level, node.from) > high ||
            bpt_naive_last(s->n, node.from_level, node.from) < low)
            break;
    }
    return node;
}

/* The public builder, where k nodes ended just at the end of an odd level: it looks for the sibling
 * of the last one, and finds the first node of the next level, which counts as one of that level's
 * k. */
static void phantoms(bpt_list *list, const bpt_shape *s, int64_t i, int level, int64_t used)
{
    for (; used == s->k && bpt_naive_size(s->n, level) % 2 == 1; level++, used = 1)
        add(list, (bpt_edge){ .to = i,
                              .from_level = level + 1,
                              .label = (int32_t)(base(s, level + 1) + 2) });
}

/* One side of token i: `low .. high` is covered. A level reads k nodes; the paper reads one more
 * where the rest of the level above would begin within a node. */
static void cover_side(bpt_list *list, const bpt_shape *s, int64_t i, int right)
{
    int64_t low = i, high = i, used = 0;
    for (int level = 0; right ? high + 1 < s->n : low > 0; level++) {
        const int64_t above = INT64_C(2) << level;
        for (used = 0; right ? high + 1 < s->n : low > 0; used++) {
            const int aligned = right ? (high + 1) % above == 0 : low % above == 0;
            if (used >= s->k && (s->variant != BPT_PAPER || aligned || used > s->k)) break;
            bpt_edge edge = largest_beside(s, level, right ? high + 1 : low - 1, low, high);
            edge.to = i, edge.label = (int32_t)(base(s, level) + 2 * used + 1 + right);
            add(list, edge);
            if (right) high = bpt_naive_last(s->n, edge.from_level, edge.from);
            else low = bpt_naive_first(edge.from_level, edge.from);
        }
        if (s->variant == BPT_REFERENCE && right && high + 1 == s->n)
            phantoms(list, s, i, level, used);
    }
}

void bpt_naive(bpt_list *list, const bpt_shape *s)
{
    for (int64_t i = 0; i < s->n; i++) {
        add(list, (bpt_edge){ .to = i, .from = i });
        cover_side(list, s, i, 0);
        if (!s->causal) cover_side(list, s, i, 1);
    }
    for (int level = 1; level < bpt_naive_depth(s->n); level++)
        for (int64_t m = 0; m < bpt_naive_size(s->n, level); m++)
            for (int64_t t = bpt_naive_first(level, m); t <= bpt_naive_last(s->n, level, m); t++)
                add(list, (bpt_edge){ level, 0, m, t, (int32_t)base(s, level) });
}
