#include "bpt_tree.h"
#include <string.h>

void gsa_bpt_grow(gsa_bpt_tree *t, int64_t width, int64_t clip)
{
    t->level[0] = (gsa_bpt_level){ gsa_at(GSA_BPT_TOKEN, 0), t->n, 0 };
    for (t->depth = 1, t->spans = 0; t->level[t->depth - 1].size > 1; t->depth++) {
        gsa_bpt_level *level = &t->level[t->depth];
        level->first = gsa_at(GSA_BPT_SPAN, t->spans);
        level->size = (level[-1].size + 1) / 2;
        level->label = (int32_t)(width * (t->depth < clip ? t->depth : clip));
        t->spans += level->size;
    }
}

static int32_t *index_of(const gsa_bpt_tree *t, int j, int64_t m)
{
    return &t->index[t->level[j].first - t->level[1].first + (uint64_t)m];
}

int gsa_bpt_kept(const gsa_bpt_tree *t, int j, int64_t m)
{
    return j == 0 || !t->index || *index_of(t, j, m) >= 0;
}

static inline gsa_node node_at(const gsa_bpt_tree *t, int j, int64_t m)
{
    return j > 0 && t->index ? gsa_at(GSA_BPT_SPAN, *index_of(t, j, m))
                             : t->level[j].first + (uint64_t)m;
}

gsa_node gsa_bpt_node(const gsa_bpt_tree *t, int j, int64_t m)
{
    return node_at(t, j, m);
}

/* `count` nodes of level j, from m outwards. They are read, so none of them is pruned, and what was
 * a run stays one. */
static inline void read_nodes(const gsa_bpt_tree *t, int j, int64_t m, int64_t count, int64_t way,
                              int64_t i, int32_t label)
{
    if (count <= 0) return;
    if (!t->marking)
        t->e->run(t->e, GSA_BPT_ATTEND, node_at(t, j, m), count, way, gsa_at(GSA_BPT_TOKEN, i),
                  label, 2);
    else if (j > 0) {
        const int64_t first = way > 0 ? m : m - count + 1;
        ++*index_of(t, j, first), --*index_of(t, j, first + count);
    }
}

/* Level by level: `at` is the next node; `half` says that its nearer child has been read, so that
 * the farther one stands for it. A side ends where nothing is left of a level. The public builder
 * overlooks that where just k nodes were left: at the end of an odd level it goes on to a parent
 * whose nearer child is its only one. */
static inline void walk(const gsa_bpt_tree *t, int64_t i, int64_t way)
{
    const int paper = t->variant == GSA_BPT_PAPER;
    int64_t at = i + way;
    for (int j = 0, half = 0;; j++) {
        const gsa_bpt_level *level = &t->level[j];
        const int64_t here = way > 0 ? level->size - at : at + 1;
        const int32_t label = level->label + (way > 0 ? 2 : 1);
        int64_t count = here < t->k ? here : t->k;
        if (here <= 0) return;
        if (half) {
            const int64_t child = 2 * at + (way > 0);
            if (child < level[-1].size) read_nodes(t, j - 1, child, 1, way, i, label);
            else
                read_nodes(
                    t, j, 0, 1, way, i,
                    label); /* the number after the last child's: the first node of level j */
        }
        if (paper && here > count && ((at + way * count) & 1) == (way > 0)) count++;
        read_nodes(t, j, at + way * half, count - half, way, i, label + 2 * half);
        if (here == count && (here < t->k || t->variant != GSA_BPT_REFERENCE)) return;
        at += way * count;
        half = !paper && (at & 1) == (way > 0);
        at >>= 1; /* -1 stays -1 */
    }
}

void gsa_bpt_read_context(const gsa_bpt_tree *t, int64_t i)
{
    walk(t, i, -1);
    if (t->sides == 2) walk(t, i, 1);
}

int64_t gsa_bpt_prune(gsa_bpt_tree *t)
{
    int64_t kept = 0;
    int32_t readers = 0;
    t->index = t->e->scratch(t->e, ((size_t)t->spans + 1) * sizeof *t->index);
    if (!t->index) return 0;
    memset(t->index, 0, ((size_t)t->spans + 1) * sizeof *t->index);
    t->marking = 1;
    for (int64_t i = 0; i < t->n; i++) gsa_bpt_read_context(t, i);
    t->marking = 0;
    for (int64_t s = 0; s < t->spans; s++) {
        readers += t->index[s];
        t->index[s] =
            readers > 0 || s == t->spans - 1 ? (int32_t)kept++ : -1; /* the last one is the root */
    }
    return kept;
}
