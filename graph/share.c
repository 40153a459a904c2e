/* share.c - who owns which node, which rows are split, and the part of an example that is this
 * rank's. */
#include "graph/share.h"
#include <string.h>
#include "graph/instance_parts.h"
#include "graph/schema_parts.h"
#include "graph/system_parts.h"

enum { DENSE = 64 }; /* edges whose work is like a token's products with weights */

/* One example at work. Arrays are by kind of the share; kinds of tokens have those of the first. */
typedef struct work {
    gsa_share *share;
    gsa_instance *const *whole;
    int token;       /* the first kind of tokens; -1: none */
    int *same;       /* [kinds] whose arrays a kind has */
    int64_t *nodes;  /* [kinds] */
    int32_t **owner; /* [nodes] */
    uint8_t **mark;  /* [ranks x nodes] 1: the rank has a ghost */
    int32_t **index; /* [nodes] local place, -1: not local */
    int64_t *mine;   /* [kinds] local nodes */
    uint8_t **guest; /* by pattern and phase: [ranks x rows] 1: the rank has a partial result */
    double *cost;    /* [ranks] */
    int64_t *votes;  /* [ranks] */
    gsa_error *error;
    gsa_status status;
} work;

typedef struct view { /* one phase of one pattern */
    int pattern, phase;
    const gsa_schema *schema;
    const gsa_phase *law;
    const int *kind;
    int64_t scale;
    gsa_edges edges;
    int64_t base[GSA_MAX_KINDS];   /* rows before those of a destination kind */
    int64_t source[GSA_MAX_KINDS]; /* nodes before those of a source kind */
    int64_t rows, sources;         /* nodes, heads not counted */
} view;

static gsa_status lacks(work *w, const char *what, int64_t bytes)
{
    if (w->status == GSA_OK) w->status = gsa_out_of_memory(w->error, what, bytes);
    return w->status;
}

static void *hold(work *w, size_t count, size_t size)
{
    void *at = gsa_alloc_zero(w->share->system, count, size);
    if (!at) lacks(w, "an example's share", (int64_t)(count * size));
    return at;
}

static view look(const work *w, int pattern, int phase)
{
    const gsa_share *s = w->share;
    view v = { .pattern = pattern,
               .phase = phase,
               .schema = s->pattern[pattern].schema,
               .kind = s->pattern[pattern].kind };
    v.law = &v.schema->phase[phase];
    v.scale = v.law->per_head ? gsa_instance_heads(w->whole[pattern]) : 1;
    gsa_instance_edges(w->whole[pattern], phase, &v.edges);
    for (int k = 0; k < v.schema->kinds; k++) {
        const int64_t nodes = gsa_instance_nodes(w->whole[pattern], k);
        v.base[k] = v.rows, v.source[k] = v.sources;
        if (v.law->destinations >> k & 1) v.rows += nodes;
        if (v.law->sources >> k & 1) v.sources += nodes;
    }
    return v;
}

static int has_edges(const view *v)
{
    return v->law->aggregate != GSA_NONE;
}

static int writes(const view *v, int kind)
{
    return (int)(v->law->destinations >> kind & 1);
}

/* Edges of a node, all heads together. */
static int64_t degree(const view *v, int64_t row)
{
    return v->edges.edge_offset[(row + 1) * v->scale] - v->edges.edge_offset[row * v->scale];
}

/* What an edge of a row is: `rank` owns the source, -1: none yet. */
typedef struct edge {
    int32_t kind, node, rank; /* kind: of the schema */
} edge;

static edge edge_at(const work *w, const view *v, const gsa_run *run, int32_t i)
{
    const int32_t node = (int32_t)((run->first + (int64_t)i * run->step) / v->scale);
    const int32_t *owner = w->owner[w->same[v->kind[run->kind]]];
    return (edge){ run->kind, node, owner ? owner[node] : -1 };
}

#define EACH_EDGE(w, v, row, e)                                                                    \
    for (int64_t r_ = (v)->edges.run_offset[row]; r_ < (v)->edges.run_offset[(row) + 1]; r_++)     \
        for (int32_t i_ = 0; i_ < (v)->edges.runs[r_].count &&                                     \
                             ((e) = edge_at((w), (v), &(v)->edges.runs[r_], i_), 1);               \
             i_++)

/* ---- owners -------------------------------------------------------------------------------- */

#define EACH_PHASE(w, v)                                                                           \
    for (int p_ = 0; p_ < (w)->share->n_patterns; p_++)                                            \
        for (int f_ = 0; f_ < (w)->share->pattern[p_].schema->phases; f_++)                        \
            for (int once_ = ((v) = look((w), p_, f_), 1); once_ && has_edges(&(v)); once_ = 0)

static void cut_tokens(work *w, int64_t *weight)
{
    const int64_t nodes = w->nodes[w->token];
    int64_t total = 0, before = 0;
    view v;
    for (int64_t i = 0; i < nodes; i++) weight[i] = DENSE;
    EACH_PHASE(w, v)
    for (int k = 0; k < v.schema->kinds; k++)
        for (int64_t i = 0; writes(&v, k) && w->same[v.kind[k]] == w->token && i < nodes; i++)
            weight[i] += degree(&v, v.base[k] + i);
    for (int64_t i = 0; i < nodes; i++) total += weight[i];
    for (int64_t i = 0; i < nodes; before += weight[i++])
        w->owner[w->token][i] =
            (int32_t)((double)(before + weight[i] / 2) / (double)total * w->share->ranks);
}

/* Between tokens: counts them in end[node]; with `adjacent` lists them, end[node] being the place.
 */
static void list_pairs(const work *w, int64_t *end, int32_t *adjacent)
{
    view v;
    edge e;
    EACH_PHASE(w, v)
    for (int k = 0; k < v.schema->kinds; k++) {
        const int takes = writes(&v, k) && w->same[v.kind[k]] == w->token;
        for (int64_t i = 0; takes && i < w->nodes[w->token] * v.scale; i++)
            EACH_EDGE(w, &v, v.base[k] * v.scale + i, e)
            {
                const int32_t to = (int32_t)(i / v.scale);
                if (w->same[v.kind[e.kind]] != w->token || e.node == to) continue;
                if (adjacent) adjacent[end[to]] = e.node, adjacent[end[e.node]] = to;
                end[to]++, end[e.node]++;
            }
    }
}

/* Neighbours end at end[node]: each once, one after the other. seen: [nodes], 0 */
static void close_up(gsa_share_graph *g, const int64_t *end, int32_t *seen)
{
    int32_t from = 0, out = 0;
    for (int32_t i = 0; i < g->nodes; i++) {
        g->first[i] = out;
        for (; from < end[i]; from++) {
            const int32_t other = g->adjacent[from];
            if (seen[other] != i + 1) g->adjacent[out++] = other, seen[other] = i + 1;
        }
    }
    g->first[g->nodes] = out;
}

/* end: [nodes] how many neighbours each node has, all together `pairs` */
static gsa_status make_graph(work *w, int64_t *end, int64_t pairs, const int64_t *weight,
                             gsa_share_graph *g)
{
    const gsa_system *system = w->share->system;
    int64_t total = 0, place = 0;
    int shift = 0;
    g->first = gsa_alloc(system, (size_t)g->nodes + 1, sizeof *g->first);
    g->adjacent = gsa_alloc(system, (size_t)pairs + 1, sizeof *g->adjacent);
    g->weight = gsa_alloc_zero(system, (size_t)g->nodes + 1, sizeof *g->weight);
    if (!g->first || !g->adjacent || !g->weight)
        return lacks(w, "the graph that is cut", (pairs + 2 * g->nodes) * INT64_C(4));
    for (int32_t i = 0; i < g->nodes; i++) {
        const int64_t count = end[i];
        end[i] = place, place += count, total += weight[i];
    }
    list_pairs(w, end, g->adjacent);
    close_up(g, end, g->weight);
    while (total >> shift > 1 << 30) shift++;
    for (int32_t i = 0; i < g->nodes; i++) g->weight[i] = (int32_t)(weight[i] >> shift);
    return GSA_OK;
}

static void keep_owners(work *w, const int32_t *owner, int64_t nodes)
{
    gsa_share *s = w->share;
    gsa_release(s->system, s->kept);
    s->kept = gsa_alloc(s->system, (size_t)nodes + 1, sizeof *owner);
    if (!s->kept) lacks(w, "owners of nodes", nodes * INT64_C(4));
    else memcpy(s->kept, owner, (size_t)nodes * sizeof *owner), s->kept_nodes = nodes;
}

/* Of 2^31 neighbours or more no partitioner's index tells: ranges stay. */
static void cut_graph(work *w, const int64_t *weight)
{
    gsa_share *s = w->share;
    const int64_t nodes = w->nodes[w->token];
    int32_t *owner = w->owner[w->token];
    gsa_share_graph g = { .nodes = (int32_t)nodes };
    int64_t pairs = 0;
    if (s->kept && s->kept_nodes == nodes) {
        memcpy(owner, s->kept, (size_t)nodes * sizeof *owner);
        return;
    }
    int64_t *end = NULL; /* rank 0 cuts; the others wait */
    if (s->rank == 0) {
        end = hold(w, (size_t)nodes + 1, sizeof *end);
        if (end) list_pairs(w, end, NULL);
        for (int64_t i = 0; end && i < nodes; i++) pairs += end[i];
        if (w->status == GSA_OK && pairs <= INT32_MAX) make_graph(w, end, pairs, weight, &g);
    }
    w->status = s->cut(s->user, w->status, s->rank == 0 && pairs <= INT32_MAX ? &g : NULL, nodes,
                       owner, w->error);
    gsa_release(s->system, end), gsa_release(s->system, g.first);
    gsa_release(s->system, g.adjacent), gsa_release(s->system, g.weight);
    if (w->status == GSA_OK) keep_owners(w, owner, nodes);
}

/* Where most of what the node reads is; -1: it reads nothing that has an owner. */
static int32_t most_read(work *w, const view *v, int64_t row)
{
    const int32_t ranks = w->share->ranks;
    int64_t seen = 0;
    int32_t best = 0;
    memset(w->votes, 0, (size_t)ranks * sizeof *w->votes);
    for (int64_t r = v->edges.run_offset[row * v->scale];
         r < v->edges.run_offset[(row + 1) * v->scale]; r++) {
        const gsa_run *run = &v->edges.runs[r];
        const int32_t *owner = w->owner[w->same[v->kind[run->kind]]];
        for (int32_t i = 0; owner && i < run->count; i++, seen++)
            w->votes[owner[(run->first + (int64_t)i * run->step) / v->scale]]++;
    }
    for (int32_t r = 1; r < ranks; r++)
        if (w->votes[r] > w->votes[best]) best = r;
    return seen ? best : -1;
}

/* The first phase that writes the kind and reads kinds that have owners settles it. */
static int place_kind(work *w, int kind, int32_t *owner)
{
    view v;
    EACH_PHASE(w, v)
    for (int k = 0; k < v.schema->kinds; k++) {
        int reads = 0;
        if (!writes(&v, k) || v.kind[k] != kind) continue;
        for (int s = 0; s < v.schema->kinds; s++)
            reads |= (v.law->sources >> s & 1) && w->owner[w->same[v.kind[s]]];
        if (!reads) continue;
        for (int64_t i = 0; i < w->nodes[kind]; i++) {
            const int32_t best = most_read(w, &v, v.base[k] + i);
            owner[i] = best >= 0 ? best : (int32_t)(i * w->share->ranks / w->nodes[kind]);
        }
        return 1;
    }
    return 0;
}

static int32_t *new_owners(work *w, int kind)
{
    return hold(w, (size_t)w->nodes[kind] + 1, sizeof(int32_t));
}

static void find_owners(work *w)
{
    gsa_share *s = w->share;
    if (w->token >= 0) {
        int64_t *weight = hold(w, (size_t)w->nodes[w->token] + 1, sizeof *weight);
        w->owner[w->token] = new_owners(w, w->token);
        if (w->status == GSA_OK) cut_tokens(w, weight);
        if (w->status == GSA_OK && s->cut && s->given) cut_graph(w, weight);
        gsa_release(s->system, weight);
    }
    for (int turn = 0; turn < 2 * s->n_kinds && w->status == GSA_OK; turn++) {
        const int kind = turn % s->n_kinds;
        if (w->same[kind] != kind || w->owner[kind]) continue;
        int32_t *owner = new_owners(w, kind);
        if (!owner) return;
        const int placed = place_kind(w, kind, owner);
        for (int64_t i = 0; !placed && i < w->nodes[kind]; i++)
            owner[i] = (int32_t)(i * s->ranks / w->nodes[kind]);
        if (placed || turn >= s->n_kinds) w->owner[kind] = owner;
        else gsa_release(s->system, owner); /* kinds that it reads may have owners later */
    }
}

/* ---- ghosts and split rows ----------------------------------------------------------------- */

/* Of each rank, how many of its rows read a source of another. */
static void count_readers(const work *w, const view *v, int32_t *readers)
{
    edge e;
    for (int k = 0; k < v->schema->kinds; k++) {
        const int32_t *owner = w->owner[w->same[v->kind[k]]];
        const int64_t rows = writes(v, k) ? w->nodes[w->same[v->kind[k]]] * v->scale : 0;
        for (int64_t i = 0; i < rows; i++) {
            const int32_t own = owner[i / v->scale];
            EACH_EDGE(w, v, v->base[k] * v->scale + i, e)
            if (e.rank != own) readers[own * v->sources + v->source[e.kind] + e.node]++;
        }
    }
}

static uint8_t *guests(work *w, const view *v)
{
    uint8_t **at = &w->guest[v->pattern * GSA_MAX_PHASES + v->phase];
    if (!*at) *at = hold(w, (size_t)(v->rows * w->share->ranks) + 1, 1);
    return *at;
}

static void split_row(work *w, const view *v, int kind, int64_t node, int32_t rank)
{
    const int same = w->same[v->kind[kind]];
    uint8_t *guest = guests(w, v);
    if (!guest) return;
    guest[rank * v->rows + v->base[kind] + node] = 1;
    w->mark[same][rank * w->nodes[same] + node] = 1;
    w->share->phase[v->pattern * GSA_MAX_PHASES + v->phase].split = 1;
    w->share->kind[v->kind[kind]].ghosts = 1;
}

static void settle_row(work *w, const view *v, int kind, int64_t i, const int32_t *readers)
{
    const int64_t row = v->base[kind] * v->scale + i, node = i / v->scale;
    const int32_t own = w->owner[w->same[v->kind[kind]]][node], ranks = w->share->ranks;
    const int splits = w->share->may_split && v->law->aggregate == GSA_ATTEND && v->scale == 1;
    edge e;
    memset(w->cost, 0, (size_t)ranks * sizeof *w->cost);
    EACH_EDGE(w, v, row, e)
    if (e.rank != own)
        w->cost[e.rank] += 1.0 / readers[own * v->sources + v->source[e.kind] + e.node];
    for (int32_t r = 0; r < ranks && splits; r++)
        if (w->cost[r] > GSA_SPLIT_COST) split_row(w, v, kind, node, r), w->cost[r] = -1;
    EACH_EDGE(w, v, row, e)
    if (e.rank != own && w->cost[e.rank] >= 0) {
        const int same = w->same[v->kind[e.kind]];
        w->mark[same][own * w->nodes[same] + e.node] = 1;
        w->share->kind[v->kind[e.kind]].ghosts = 1;
    }
}

static void find_ghosts(work *w)
{
    view v;
    EACH_PHASE(w, v)
    {
        int32_t *readers = hold(w, (size_t)(v.sources * w->share->ranks) + 1, sizeof *readers);
        if (!readers) return;
        count_readers(w, &v, readers);
        for (int k = 0; k < v.schema->kinds; k++) {
            const int64_t rows = writes(&v, k) ? w->nodes[w->same[v.kind[k]]] * v.scale : 0;
            for (int64_t i = 0; i < rows && w->status == GSA_OK; i++)
                settle_row(w, &v, k, i, readers);
        }
        gsa_release(w->share->system, readers);
    }
    for (int k = 0; k < w->share->n_kinds; k++)
        if (w->share->kind[k].ghosts) w->share->kind[w->same[k]].ghosts = 1;
    for (int k = 0; k < w->share->n_kinds; k++)
        if (w->share->kind[w->same[k]].ghosts) w->share->kind[k].ghosts = 1;
}

/* ---- lists --------------------------------------------------------------------------------- */

static void put(work *w, gsa_row_list *list, int64_t row)
{
    if (list->count == list->room) {
        const int64_t room = 2 * list->room + 64;
        int32_t *more = gsa_resize(w->share->system, list->at, (size_t)room, sizeof *more);
        if (!more) {
            lacks(w, "rows that ranks share", room * (int64_t)sizeof *more);
            return;
        }
        list->at = more, list->room = room;
    }
    list->at[list->count++] = (int32_t)row;
}

static int is_mine(const work *w, int same, int64_t node)
{
    return w->owner[same][node] == w->share->rank;
}

static int is_local(const work *w, int same, int64_t node)
{
    return is_mine(w, same, node) || w->mark[same][w->share->rank * w->nodes[same] + node];
}

static void number_nodes(work *w, int same)
{
    const int64_t nodes = w->nodes[same];
    int32_t local = 0;
    w->index[same] = hold(w, (size_t)nodes + 1, sizeof **w->index);
    if (!w->index[same]) return;
    for (int64_t i = 0; i < nodes; i++) w->index[same][i] = is_local(w, same, i) ? local++ : -1;
    w->mine[same] = local;
}

static int hold_flags(work *w, gsa_share_kind *kind, int64_t nodes)
{
    if (nodes <= kind->room && kind->ghost) return 1;
    const int64_t room = nodes + nodes / 4 + 64;
    uint8_t *more = gsa_resize(w->share->system, kind->ghost, (size_t)room, 1);
    if (!more) return lacks(w, "ghosts", room), 0;
    kind->ghost = more, kind->room = room;
    return 1;
}

static void list_kind(work *w, int k)
{
    gsa_share *s = w->share;
    gsa_share_kind *kind = &s->kind[k];
    const int same = w->same[k];
    const int64_t nodes = w->nodes[same], base = kind->nodes;
    if (!hold_flags(w, kind, base + w->mine[same])) return;
    for (int64_t i = 0; i < nodes && w->status == GSA_OK; i++) {
        const int64_t row = base + w->index[same][i];
        if (w->index[same][i] < 0) continue;
        kind->ghost[row] = !is_mine(w, same, i);
        if (k == w->token) put(w, &s->token, s->tokens + i);
        if (kind->ghost[row]) put(w, &kind->receive[w->owner[same][i]], row);
        for (int32_t r = 0; r < s->ranks && !kind->ghost[row]; r++)
            if (r != s->rank && w->mark[same][r * nodes + i]) put(w, &kind->send[r], row);
    }
}

/* Rows are (kind, place) until the end, when the batch's sizes are known. */
static void list_split(work *w, const view *v)
{
    gsa_share *s = w->share;
    const uint8_t *guest = w->guest[v->pattern * GSA_MAX_PHASES + v->phase];
    gsa_share_phase *phase = &s->phase[v->pattern * GSA_MAX_PHASES + v->phase];
    for (int k = 0; guest && k < v->schema->kinds; k++) {
        const int same = w->same[v->kind[k]];
        const int64_t nodes = writes(v, k) ? w->nodes[same] : 0, base = s->kind[v->kind[k]].nodes;
        for (int64_t i = 0; i < nodes; i++)
            for (int32_t r = 0; r < s->ranks; r++) {
                gsa_row_list *list = r == s->rank          ? &phase->lent[w->owner[same][i]]
                                     : is_mine(w, same, i) ? &phase->owed[r]
                                                           : NULL;
                if (!list || !guest[r * v->rows + v->base[k] + i]) continue;
                put(w, list, k);
                put(w, list, base + w->index[same][i]);
            }
    }
}

/* ---- the local instance -------------------------------------------------------------------- */

static int computes(const work *w, const view *v, int same, int64_t node, int64_t row, edge e)
{
    const int32_t rank = w->share->rank;
    const uint8_t *guest = w->guest[v->pattern * GSA_MAX_PHASES + v->phase];
    if (w->owner[same][node] == rank)
        return e.rank == rank || !guest || !guest[e.rank * v->rows + row];
    return e.rank == rank && guest && guest[rank * v->rows + row];
}

/* Edges of a row become runs again: longest ones first come first. */
static void emit_row(work *w, gsa_building *b, const view *v, int kind, int64_t node, int32_t head)
{
    const int same = w->same[v->kind[kind]];
    const int64_t row = (v->base[kind] + node) * v->scale + head;
    const gsa_target to = { kind, (int32_t)(w->index[same][node] * v->scale + head) };
    gsa_run run = { 0 };
    for (int64_t r = v->edges.run_offset[row]; r < v->edges.run_offset[row + 1]; r++) {
        const gsa_run *from = &v->edges.runs[r];
        for (int32_t i = 0; i < from->count; i++) {
            const edge e = edge_at(w, v, from, i);
            if (!computes(w, v, same, node, v->base[kind] + node, e)) continue;
            const int64_t source = from->first + (int64_t)i * from->step;
            const int32_t at = (int32_t)(w->index[w->same[v->kind[e.kind]]][e.node] * v->scale +
                                         source % v->scale),
                          label = from->label + i * from->label_step;
            const int32_t step = at - (run.first + (run.count - 1) * run.step),
                          turn = label - (run.label + (run.count - 1) * run.label_step);
            if (run.count == 1 && run.kind == e.kind && step != 0)
                run.step = step, run.label_step = turn, run.count = 2;
            else if (run.count > 1 && run.kind == e.kind && step == run.step &&
                     turn == run.label_step)
                run.count++;
            else {
                if (run.count) gsa_building_append(b, v->phase, to, &run);
                run = (gsa_run){ at, 1, 1, label, 0, e.kind };
            }
        }
    }
    if (run.count) gsa_building_append(b, v->phase, to, &run);
}

static gsa_status name_nodes(work *w, gsa_instance *x, const int *kind)
{
    for (int k = 0; k < x->kinds; k++) {
        const int same = w->same[kind[k]];
        x->number[k] = gsa_alloc(x->system, (size_t)x->nodes[k] + 1, sizeof *x->number[k]);
        if (!x->number[k]) return lacks(w, "numbers of nodes", x->nodes[k] * INT64_C(4));
        for (int64_t i = 0, at = 0; i < w->nodes[same]; i++)
            if (w->index[same][i] >= 0) x->number[k][at++] = (int32_t)i;
    }
    return GSA_OK;
}

/* Which row of the whole each is, and whether it has an edge there. */
static gsa_status name_rows(work *w, gsa_instance *x, const view *v)
{
    gsa_instance_phase *p = &x->phase[v->phase];
    p->row_local = gsa_alloc(x->system, (size_t)p->rows + 1, sizeof *p->row_local);
    p->edged = gsa_alloc_zero(x->system, (size_t)(p->rows / v->scale) + 1, 1);
    if (!p->row_local || !p->edged) return lacks(w, "numbers of rows", p->rows * INT64_C(5));
    for (int64_t k = 0, row = 0; k < x->kinds; k++)
        for (int64_t i = 0; writes(v, (int)k) && i < x->nodes[k]; i++) {
            const int64_t node = v->base[k] + x->number[k][i];
            if (has_edges(v)) p->edged[row / v->scale] = degree(v, node) > 0;
            for (int64_t h = 0; h < v->scale; h++)
                p->row_local[row++] = (int32_t)(node * v->scale + h);
        }
    return GSA_OK;
}

static void name_summary(const work *w, gsa_instance *x, int pattern, gsa_example *example)
{
    int kind;
    int64_t node;
    if (!gsa_instance_summary(w->whole[pattern], &kind, &node)) return;
    const int same = w->same[w->share->pattern[pattern].kind[kind]];
    if (is_mine(w, same, node)) x->summary_kind = kind, x->summary_index = w->index[same][node];
    else example->length = 0; /* another rank has it */
}

static gsa_status fill(work *w, int pattern, gsa_instance *x)
{
    const gsa_share_pattern *from = &w->share->pattern[pattern];
    gsa_example example = { .struct_size = sizeof example, .length = x->length, .heads = x->heads };
    gsa_building b = { .system = x->system,
                       .schema = from->schema,
                       .example = &example,
                       .limits = { INT32_MAX, INT64_MAX, INT64_MAX },
                       .instance = x };
    for (int k = 0; k < x->kinds; k++)
        x->nodes[k] = w->mine[w->same[from->kind[k]]], b.node_total += x->nodes[k];
    name_summary(w, x, pattern, &example);
    for (int f = 0; f < from->schema->phases; f++) {
        const view v = look(w, pattern, f);
        b.phase[f].in_order = 1;
        for (int k = 0; k < x->kinds && has_edges(&v); k++) {
            const int same = w->same[from->kind[k]];
            for (int64_t i = 0; writes(&v, k) && i < w->nodes[same]; i++)
                for (int32_t h = 0; w->index[same][i] >= 0 && h < v.scale; h++)
                    emit_row(w, &b, &v, k, i, h);
        }
    }
    gsa_status status = b.status == GSA_OK ? gsa_building_finish(&b) : b.status;
    gsa_building_end(&b);
    if (status != GSA_OK) return w->status = gsa_fail(w->error, status, "%s", b.error.text);
    status = name_nodes(w, x, from->kind);
    for (int f = 0; f < from->schema->phases && status == GSA_OK; f++) {
        const view v = look(w, pattern, f);
        status = name_rows(w, x, &v);
    }
    return status;
}

static gsa_instance *local_instance(work *w, int pattern)
{
    const gsa_instance *whole = w->whole[pattern];
    gsa_instance *x = gsa_alloc_zero(w->share->system, 1, sizeof *x);
    if (!x) {
        lacks(w, "instance", (int64_t)sizeof *x);
        return NULL;
    }
    x->system = w->share->system, x->schema = whole->schema;
    x->heads = whole->heads, x->kinds = whole->kinds, x->phases = whole->phases;
    x->length = w->token < 0 ? whole->length : (int32_t)w->mine[w->token];
    x->summary_kind = -1;
    atomic_init(&x->references, 1);
    if (fill(w, pattern, x) == GSA_OK) return x;
    gsa_instance_release(x);
    return NULL;
}

/* ---- one example --------------------------------------------------------------------------- */

static void open_work(work *w)
{
    const gsa_share *s = w->share;
    const size_t kinds = (size_t)s->n_kinds, ranks = (size_t)s->ranks;
    w->token = -1;
    w->same = hold(w, kinds, sizeof *w->same), w->nodes = hold(w, kinds, sizeof *w->nodes);
    w->owner = hold(w, kinds, sizeof *w->owner), w->mark = hold(w, kinds, sizeof *w->mark);
    w->index = hold(w, kinds, sizeof *w->index), w->mine = hold(w, kinds, sizeof *w->mine);
    w->cost = hold(w, ranks, sizeof *w->cost), w->votes = hold(w, ranks, sizeof *w->votes);
    w->guest = hold(w, (size_t)s->n_patterns * GSA_MAX_PHASES, sizeof *w->guest);
    if (w->status != GSA_OK) return;
    for (int k = 0; k < s->n_kinds; k++) w->same[k] = k;
    for (int p = 0; p < s->n_patterns; p++)
        for (int k = 0; k < s->pattern[p].schema->kinds; k++) {
            const int kind = s->pattern[p].kind[k], start = s->pattern[p].schema->kind[k].start;
            w->nodes[kind] = gsa_instance_nodes(w->whole[p], k);
            if (start != GSA_INPUT && start != GSA_COPY) continue;
            if (w->token < 0) w->token = kind;
            w->same[kind] = w->token;
        }
    for (int k = 0; k < s->n_kinds; k++)
        if (w->same[k] == k) w->mark[k] = hold(w, (size_t)(w->nodes[k] * s->ranks) + 1, 1);
}

static void close_work(work *w)
{
    const gsa_system *system = w->share->system;
    for (int k = 0; k < w->share->n_kinds; k++) {
        if (w->owner) gsa_release(system, w->owner[k]);
        if (w->mark) gsa_release(system, w->mark[k]);
        if (w->index) gsa_release(system, w->index[k]);
    }
    for (int i = 0; w->guest && i < w->share->n_patterns * GSA_MAX_PHASES; i++)
        gsa_release(system, w->guest[i]);
    gsa_release(system, w->same), gsa_release(system, w->nodes), gsa_release(system, w->owner);
    gsa_release(system, w->mark), gsa_release(system, w->index), gsa_release(system, w->mine);
    gsa_release(system, w->cost), gsa_release(system, w->votes), gsa_release(system, w->guest);
}

static void note_counts(work *w)
{
    gsa_share *s = w->share;
    if (s->examples == s->room) {
        const int64_t room = 2 * s->room + 16;
        const size_t numbers = (size_t)(room * s->n_kinds);
        int64_t *count = gsa_resize(s->system, s->count, numbers, sizeof *count);
        if (count) s->count = count;
        int64_t *local = gsa_resize(s->system, s->local, numbers, sizeof *local);
        if (local) s->local = local;
        if (!count || !local) {
            lacks(w, "counts of nodes", (int64_t)(numbers * sizeof *count));
            return;
        }
        s->room = room;
    }
    for (int k = 0; k < s->n_kinds; k++) {
        const int64_t at = s->examples * s->n_kinds + k;
        s->count[at] = w->nodes[w->same[k]], s->local[at] = 0;
        for (int64_t i = 0; i < w->nodes[w->same[k]]; i++)
            s->local[at] += is_mine(w, w->same[k], i);
    }
    s->examples++;
}

int gsa_share_unsettled(const gsa_share *s)
{
    return s->given && s->cut && !s->kept;
}

gsa_status gsa_share_settle(gsa_share *s, gsa_instance *const *whole, gsa_error *error)
{
    work w = { .share = s, .whole = whole, .error = error };
    open_work(&w);
    if (w.status == GSA_OK) find_owners(&w);
    close_work(&w);
    return w.status;
}

gsa_status gsa_share_add(gsa_share *s, gsa_instance *const *whole, gsa_instance **mine,
                         gsa_error *error)
{
    work w = { .share = s, .whole = whole, .error = error };
    view v;
    for (int p = 0; p < s->n_patterns; p++) mine[p] = NULL;
    open_work(&w);
    if (w.status == GSA_OK) find_owners(&w);
    if (w.status == GSA_OK) find_ghosts(&w);
    for (int k = 0; k < s->n_kinds && w.status == GSA_OK; k++)
        if (w.same[k] == k) number_nodes(&w, k);
    for (int k = 0; k < s->n_kinds && w.status == GSA_OK; k++) w.mine[k] = w.mine[w.same[k]];
    for (int p = 0; p < s->n_patterns && w.status == GSA_OK; p++) mine[p] = local_instance(&w, p);
    if (w.status == GSA_OK) EACH_PHASE(&w, v) list_split(&w, &v);
    for (int k = 0; k < s->n_kinds && w.status == GSA_OK; k++) list_kind(&w, k);
    if (w.status == GSA_OK) note_counts(&w);
    for (int k = 0; k < s->n_kinds && w.status == GSA_OK; k++) s->kind[k].nodes += w.mine[k];
    s->token_kind = w.token;
    if (w.token >= 0 && w.status == GSA_OK) s->tokens += w.nodes[w.token];
    close_work(&w);
    for (int p = 0; p < s->n_patterns && w.status != GSA_OK; p++) {
        gsa_instance_release(mine[p]);
        mine[p] = NULL;
    }
    return w.status;
}

/* ---- the life of a share ------------------------------------------------------------------- */

static gsa_row_list *new_lists(const gsa_share *s)
{
    return gsa_alloc_zero(s->system, (size_t)s->ranks, sizeof(gsa_row_list));
}

gsa_status gsa_share_create(const gsa_system *system, int32_t rank, int32_t ranks, int n_kinds,
                            const gsa_share_pattern *pattern, int n_patterns, gsa_share **share,
                            gsa_error *error)
{
    const int phases = n_patterns * GSA_MAX_PHASES;
    gsa_share *s = gsa_alloc_zero(system, 1, sizeof *s);
    *share = NULL;
    if (!s) return gsa_out_of_memory(error, "a rank's share", (int64_t)sizeof *s);
    *s = (gsa_share){ .system = gsa_system_or_default(system),
                      .rank = rank,
                      .ranks = ranks,
                      .n_kinds = n_kinds,
                      .n_patterns = n_patterns };
    s->kind = gsa_alloc_zero(system, (size_t)n_kinds, sizeof *s->kind);
    s->pattern = gsa_alloc_zero(system, (size_t)n_patterns, sizeof *s->pattern);
    s->phase = gsa_alloc_zero(system, (size_t)phases, sizeof *s->phase);
    int whole = s->kind && s->pattern && s->phase;
    for (int p = 0; p < n_patterns && whole; p++) {
        s->pattern[p] = pattern[p];
        s->given |= (pattern[p].schema->flags & GSA_ONE_LENGTH) != 0;
    }
    for (int k = 0; k < n_kinds && whole; k++) {
        s->kind[k].send = new_lists(s), s->kind[k].receive = new_lists(s);
        whole = s->kind[k].send && s->kind[k].receive;
    }
    for (int i = 0; i < phases && whole; i++) {
        s->phase[i].owed = new_lists(s), s->phase[i].lent = new_lists(s);
        whole = s->phase[i].owed && s->phase[i].lent;
    }
    if (whole) *share = s;
    else gsa_share_release(s);
    return whole ? GSA_OK : gsa_out_of_memory(error, "a rank's share", (int64_t)sizeof *s);
}

static void release_lists(const gsa_share *s, gsa_row_list *lists)
{
    for (int32_t r = 0; lists && r < s->ranks; r++) gsa_release(s->system, lists[r].at);
    gsa_release(s->system, lists);
}

void gsa_share_release(gsa_share *s)
{
    if (!s) return;
    for (int k = 0; s->kind && k < s->n_kinds; k++) {
        release_lists(s, s->kind[k].send), release_lists(s, s->kind[k].receive);
        gsa_release(s->system, s->kind[k].ghost);
    }
    for (int i = 0; s->phase && i < s->n_patterns * GSA_MAX_PHASES; i++)
        release_lists(s, s->phase[i].owed), release_lists(s, s->phase[i].lent);
    gsa_release(s->system, s->token.at), gsa_release(s->system, s->kept);
    gsa_release(s->system, s->count), gsa_release(s->system, s->local);
    gsa_release(s->system, s->kind), gsa_release(s->system, s->pattern);
    gsa_release(s->system, s->phase);
    gsa_release(s->system, s);
}

void gsa_share_begin(gsa_share *s, int may_split)
{
    s->may_split = may_split, s->tokens = s->examples = s->token.count = 0;
    for (int k = 0; k < s->n_kinds; k++) {
        s->kind[k].nodes = 0, s->kind[k].ghosts = 0;
        for (int32_t r = 0; r < s->ranks; r++)
            s->kind[k].send[r].count = s->kind[k].receive[r].count = 0;
    }
    for (int i = 0; i < s->n_patterns * GSA_MAX_PHASES; i++) {
        s->phase[i].split = 0;
        for (int32_t r = 0; r < s->ranks; r++)
            s->phase[i].owed[r].count = s->phase[i].lent[r].count = 0;
    }
}

static void place_rows(gsa_row_list *list, const int64_t *base)
{
    for (int64_t i = 0; i < list->count / 2; i++)
        list->at[i] = (int32_t)(base[list->at[2 * i]] + list->at[2 * i + 1]);
    list->count /= 2;
}

void gsa_share_end(gsa_share *s)
{
    for (int p = 0; p < s->n_patterns; p++) {
        const gsa_share_pattern *pattern = &s->pattern[p];
        for (int f = 0; f < pattern->schema->phases; f++) {
            int64_t base[GSA_MAX_KINDS], rows = 0;
            for (int k = 0; k < pattern->schema->kinds; k++) {
                base[k] = rows;
                if (pattern->schema->phase[f].destinations >> k & 1)
                    rows += s->kind[pattern->kind[k]].nodes;
            }
            gsa_share_phase *phase = &s->phase[p * GSA_MAX_PHASES + f];
            for (int32_t r = 0; r < s->ranks; r++)
                place_rows(&phase->owed[r], base), place_rows(&phase->lent[r], base);
        }
    }
}
