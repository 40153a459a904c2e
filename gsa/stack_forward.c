/* stack_forward.c - the phase executor: runs a stack's steps on a tape. docs/executor.md, section
 * by section. */
#include "stack_parts.h"
#include <limits.h>
#include <string.h>

/* A projection that was made already: the same rows through the same weights are one value. */
typedef struct projection projection;
struct projection {
    projection *before;
    const void *data, *weight;
    int64_t rows;
    gsa_tensor *y;
};

typedef struct gsa_stack_pass {
    const gsa_stack *stack;
    const gsa_stack_batch *batch;
    gsa_tape *tape;
    const void **base; /* by part: its batch's block in backend memory */
    gsa_tensor **now;  /* by stack kind */
    uint8_t *stale;    /* by stack kind: its ghosts are older than their owners' rows */
    gsa_tensor **old;  /* as of the start of the phase, or of its together group */
    gsa_tensor *input, *memory;
    projection **projections; /* [n_steps] lists, by what is projected and the weight */
    gsa_readout *readout;
    int at, tap, done; /* the next step; the next tap; layers */
} executor;

static gsa_tensor *value(gsa_parameter *p)
{
    return p ? &p->value : NULL;
}

/* A list for each step keeps them short: a step projects each kind that it reads twice at most, and
 * one list of all would be looked through for each. */
static projection **projections_of(const executor *x, const void *data, const void *weight)
{
    const uint64_t hash = gsa_random((uintptr_t)data, (uintptr_t)weight, 0);
    return &x->projections[hash % (uint64_t)x->stack->n_steps];
}

static gsa_tensor *projected(const executor *x, const gsa_tensor *rows, const gsa_parameter *weight)
{
    if (rows->rows == 0) return NULL;
    for (const projection *p = *projections_of(x, rows->data, weight); p; p = p->before)
        if (p->data == rows->data && p->rows == rows->rows && p->weight == weight) return p->y;
    return NULL;
}

static gsa_tensor *project(executor *x, gsa_tensor *rows, gsa_parameter *weight,
                           gsa_parameter *bias)
{
    if (!rows) return NULL;
    gsa_tensor *known = projected(x, rows, weight);
    if (known) return known;
    gsa_tensor *y = gsa_op_linear(x->tape, rows, value(weight), value(bias));
    projection *p = y ? gsa_tape_host(x->tape, (int64_t)sizeof *p) : NULL;
    if (p) {
        projection **list = projections_of(x, rows->data, weight);
        *p = (projection){ *list, rows->data, weight, rows->rows, y };
        *list = p;
    }
    return y;
}

/* ---- starts -------------------------------------------------------------------------------- */
/* The input or the memory, which must have the rows that the kind starts from. */
static gsa_tensor *given_rows(executor *x, const gsa_stack_kind *kind, int64_t rows)
{
    gsa_tensor *given = kind->start == GSA_MEMORY ? x->memory : x->input;
    if (given && given->rows == rows && given->cols == x->stack->settings.hidden) return given;
    return gsa_tape_fail(
        x->tape, GSA_ERR_ARGUMENT,
        "stack %s: kind '%s' starts from %lld rows of %d columns, but %s has %lld rows of %lld",
        x->stack->name, kind->name, (long long)rows, x->stack->settings.hidden,
        kind->start == GSA_MEMORY ? "the memory" : "the input", given ? (long long)given->rows : 0,
        given ? (long long)given->cols : 0);
}

static gsa_tensor *mean_input(executor *x, const gsa_stack_kind *kind, int schema_kind)
{
    if (!given_rows(x, kind, x->batch->tokens)) return NULL;
    const gsa_batch *batch = x->batch->batch[kind->part];
    const int64_t nodes = gsa_batch_nodes(batch, schema_kind), count = x->batch->count;
    gsa_tensor *mean;
    const int64_t *offset =
        gsa_tape_upload(x->tape, x->batch->offset, (count + 1) * (int64_t)sizeof *offset);
    if (x->batch->group)
        mean = gsa_op_pool_ranks(x->tape, x->batch->group, x->batch->share,
                                 x->batch->share->token_kind, x->input, x->batch->offset, NULL);
    else mean = gsa_op_pool(x->tape, x->input, offset, count, 0);
    return gsa_op_gather(x->tape, NULL, mean,
                         gsa_batch_node_example(batch, schema_kind, x->base[kind->part]), nodes, 1,
                         0);
}

static gsa_tensor *start_rows(executor *x, const gsa_stack_kind *kind, int schema_kind)
{
    const int64_t nodes = gsa_batch_nodes(x->batch->batch[kind->part], schema_kind);
    switch (kind->start) {
    case GSA_MEAN_INPUT:
        return mean_input(x, kind, schema_kind);
    case GSA_ZERO:
    case GSA_BY_PHASE:
        return gsa_tape_zeros(x->tape, nodes, x->stack->settings.hidden);
    default:
        return given_rows(x, kind, nodes);
    }
}

static void enter_segment(executor *x, int segment)
{
    for (int k = 0; k < x->stack->n_kinds; k++) {
        const gsa_stack_kind *kind = &x->stack->kinds[k];
        if (kind->segment != segment || !kind->needed) continue;
        const int schema_kind =
            gsa_schema_find_kind(x->stack->parts[kind->part].schema, kind->name);
        const gsa_batch *batch = x->batch->batch[kind->part];
        x->now[k] = start_rows(x, kind, schema_kind);
        x->stale[k] = 0;
        if (kind->rows)
            x->now[k] = gsa_op_gather(x->tape, x->now[k], &kind->rows->value,
                                      gsa_batch_node_local(batch, schema_kind, x->base[kind->part]),
                                      gsa_batch_nodes(batch, schema_kind), 1, 0);
    }
    memcpy(x->old, x->now, (size_t)x->stack->n_kinds * sizeof *x->old);
}

/* ---- one phase ----------------------------------------------------------------------------- */
typedef struct phase_run {
    const gsa_step *step;
    const gsa_stack_part *part;
    const gsa_phase *phase;
    const gsa_phase_weights *w;
    const gsa_batch *batch;
    const void *base;
    int64_t rows;                    /* destination nodes */
    gsa_tensor *x, *y;               /* old states; what is read of them: y = x, or norm(x) */
    gsa_tensor *read[GSA_MAX_KINDS]; /* by schema kind: what is read of each source */
    gsa_row_identity identity;
} phase_run;

static gsa_tensor *stack_rows(executor *x, const phase_run *r, gsa_tensor **states)
{
    gsa_tensor *parts[GSA_MAX_KINDS];
    int n = 0;
    for (int k = 0; k < gsa_schema_kinds(r->part->schema); k++)
        if (r->phase->destinations >> k & 1) parts[n++] = states[r->part->kind[k]];
    return gsa_op_concat(x->tape, parts, n);
}

static void read_states(executor *x, phase_run *r)
{
    const int norm_first = gsa_stack_norm_first(x->stack, r->phase);
    if (gsa_phase_reads_old(r->phase)) {
        r->y = r->x = stack_rows(x, r, x->old);
        if (norm_first)
            r->y = gsa_op_norm(x->tape, r->x, value(r->w->gain), value(r->w->shift),
                               x->stack->settings.norm_eps);
    }
    int64_t first = 0;
    for (int k = 0; k < gsa_schema_kinds(r->part->schema); k++) {
        const int written = r->phase->destinations >> k & 1, read = r->phase->sources >> k & 1;
        const int64_t nodes = gsa_batch_nodes(r->batch, k);
        if (read)
            r->read[k] = written && norm_first ? gsa_op_view(x->tape, r->y, first, nodes)
                                               : x->old[r->part->kind[k]];
        if (written) first += nodes;
    }
}

/* Of destinations that are not split. Ghosts have no edges: their queries, which may be late, are
 * nobody's. */
static gsa_tensor *project_queries(executor *x, const phase_run *r)
{
    gsa_late *late = x->tape->journey.first;
    x->tape->journey.first = NULL;
    gsa_tensor *q = project(x, r->y, r->w->q, r->w->q_bias);
    x->tape->journey.first = late;
    return q;
}

/* Rows of sources that have no K yet; kinds may hold one value. */
static int64_t unprojected(const executor *x, const phase_run *r)
{
    int64_t rows = 0;
    for (int k = 0; k < gsa_schema_kinds(r->part->schema); k++) {
        int seen = !r->read[k] || projected(x, r->read[k], r->w->k) != NULL;
        for (int other = 0; other < k && !seen; other++)
            seen = r->read[other] && r->read[other]->data == r->read[k]->data;
        if (!seen) rows += r->read[k]->rows;
    }
    return rows;
}

static gsa_tensor *attend(executor *x, phase_run *r)
{
    const gsa_settings *s = &x->stack->settings;
    gsa_watched *watched = gsa_stack_find_watched(x->batch, r->step);
    const gsa_share_phase *shared =
        x->batch->group ? gsa_share_phase_of(x->batch->share, r->step->part, r->step->phase) : NULL;
    const int split = shared && shared->split;
    const int waits = split || r->phase->weights; /* another phase, which is split, may have them */
    gsa_tensor *q = waits ? project(x, r->y, r->w->q, r->w->q_bias) : project_queries(x, r);
    if (!watched && !split &&
        gsa_stack_asks(x->stack, x->tape, r->batch, r->step->phase, unprojected(x, r))) {
        gsa_tape_arrive(x->tape);
        return gsa_stack_ask(x->stack, x->tape, r->w, r->batch, r->step->phase, q, r->read);
    }
    gsa_edges edges;
    gsa_batch_edges(r->batch, r->step->phase, r->base, &edges);
    gsa_attend_op op = { .edges = &edges,
                         .heads = r->phase->per_head ? 1 : s->heads,
                         .head_dim = s->head_dim,
                         .scale = gsa_stack_scale(x->stack),
                         .label_vectors = value(r->w->label_vectors),
                         .label_bias = value(r->w->label_bias),
                         .dropout = s->dropout_attention,
                         .site = r->step->site,
                         .q = q };
    for (int k = 0; k < gsa_schema_kinds(r->part->schema); k++) {
        if (!r->read[k]) continue;
        op.k[k] = project(x, r->read[k], r->w->k, NULL);
        op.v[k] = project(x, r->read[k], r->w->v, r->w->v_bias);
    }
    gsa_tensor *weights = watched ? gsa_tape_new(x->tape, edges.edge_total, op.heads, 0) : NULL;
    if (weights) op.weights = weights->data;
    const uint8_t *late =
        shared && !waits ? x->batch->late[r->step->part * GSA_MAX_PHASES + r->step->phase] : NULL;
    gsa_tensor *a = split ? gsa_op_attend_split(x->tape, &op, x->batch->group, shared)
                          : gsa_op_attend_late(x->tape, &op, late);
    if (a && watched) watched->weights = weights;
    return a;
}

static gsa_tensor *aggregate(executor *x, phase_run *r)
{
    const gsa_settings *s = &x->stack->settings;
    if (r->phase->aggregate == GSA_ATTEND) return attend(x, r);
    gsa_tape_arrive(x->tape);
    if (r->phase->aggregate == GSA_NONE) return r->y;
    gsa_edges edges;
    gsa_batch_edges(r->batch, r->step->phase, r->base, &edges);
    return gsa_op_aggregate(x->tape, &edges, r->read, r->phase->aggregate == GSA_MEAN,
                            r->phase->per_head ? s->hidden / s->heads : s->hidden, r->rows,
                            s->hidden);
}

static void write_states(executor *x, const phase_run *r, gsa_tensor *u)
{
    const uint8_t *empty = gsa_batch_empty(r->batch, r->step->phase, r->base);
    if (r->phase->empty == GSA_KEEP_EMPTY && empty)
        u = gsa_op_select(x->tape, empty, stack_rows(x, r, x->now), u);
    int64_t first = 0;
    for (int k = 0; k < gsa_schema_kinds(r->part->schema); k++) {
        if (!(r->phase->destinations >> k & 1)) continue;
        const int64_t nodes = gsa_batch_nodes(r->batch, k);
        x->now[r->part->kind[k]] = gsa_op_view(x->tape, u, first, nodes);
        x->stale[r->part->kind[k]] = 1;
        first += nodes;
    }
}

static void run_phase(executor *x, const gsa_step *step)
{
    const gsa_stack *stack = x->stack;
    phase_run r = { .step = step,
                    .part = &stack->parts[step->part],
                    .phase = gsa_step_phase(stack, step),
                    .w = &stack->weights[step->weights],
                    .batch = x->batch->batch[step->part],
                    .base = x->base[step->part] };
    if (step->opens && x->batch->group) gsa_stack_fetch(x->batch, x->tape, step, x->now, x->stale);
    if (step->opens) memcpy(x->old, x->now, (size_t)stack->n_kinds * sizeof *x->old);
    if (!step->needed) return;
    r.rows = gsa_batch_destinations(r.batch, step->phase);
    r.identity = (gsa_row_identity){ gsa_batch_destination_example(r.batch, step->phase, r.base),
                                     gsa_batch_destination_local(r.batch, step->phase, r.base) };
    read_states(x, &r);
    gsa_tensor *a = aggregate(x, &r);
    gsa_tape_arrive(x->tape); /* whatever failed: other ranks wait */
    write_states(x, &r, gsa_stack_update(stack, x->tape, step, r.identity, r.x, a));
}

/* ---- readout ------------------------------------------------------------------------------- */
static gsa_tensor *summary_node(executor *x, int p, gsa_tensor *zero)
{
    const gsa_stack_part *part = &x->stack->parts[p];
    gsa_tensor *sum = NULL;
    for (int k = 0; k < gsa_schema_kinds(part->schema); k++) {
        const int32_t *row = gsa_batch_summary(x->batch->batch[p], k, x->base[p]);
        if (!row) continue;
        gsa_tensor *rows = gsa_stack_last_norm(x->stack, x->tape, x->now[part->kind[k]]);
        sum = gsa_op_gather(x->tape, sum, rows, row, x->batch->count, 1, 0);
    }
    if (x->batch->group) return gsa_op_sum_ranks(x->tape, x->batch->group, sum ? sum : zero);
    return sum ? sum : zero;
}

static gsa_tensor *pooled(executor *x, int p, int kind, int maximum)
{
    const int k = x->stack->parts[p].kind[kind];
    gsa_tensor *rows = gsa_stack_last_norm(x->stack, x->tape, x->now[k]);
    const int64_t *offset = gsa_batch_offset(x->batch->batch[p], kind, x->base[p]);
    if (x->batch->group)
        return gsa_op_pool_ranks(
            x->tape, x->batch->group, x->batch->share, k, rows, offset,
            maximum ? gsa_batch_node_local(x->batch->batch[p], kind, x->base[p]) : NULL);
    return gsa_op_pool(x->tape, rows, offset, x->batch->count, maximum);
}

static gsa_tensor *summary(executor *x)
{
    const int p = x->stack->first_part[x->stack->n_segments - 1];
    const int n = gsa_stack_pools(x->stack);
    gsa_tensor **pools = gsa_tape_host(x->tape, n * (int64_t)sizeof(gsa_tensor *));
    double *weights = gsa_tape_host(x->tape, n * (int64_t)sizeof *weights);
    for (int i = 0; pools && weights && i < n; i++) {
        int kind, pool;
        gsa_stack_pool(x->stack, i, &kind, &pool, &weights[i]);
        if (pool == GSA_SUMMARY_NODE)
            pools[i] = summary_node(
                x, p, gsa_tape_zeros(x->tape, x->batch->count, x->stack->settings.hidden));
        else pools[i] = pooled(x, p, kind, pool == GSA_MAX_OF);
    }
    return pools && weights ? gsa_op_combine(x->tape, pools, weights, n) : NULL;
}

static int prepare(executor *x)
{
    const gsa_stack *stack = x->stack;
    const int64_t kinds = stack->n_kinds * (int64_t)sizeof(gsa_tensor *);
    const int64_t lists = stack->n_steps * (int64_t)sizeof *x->projections;
    if (x->batch->stack != stack)
        return gsa_tape_fail(x->tape, GSA_ERR_ARGUMENT, "stack %s: the batch was made for stack %s",
                             stack->name, x->batch->stack->name),
               0;
    gsa_tape_default_examples(x->tape, x->batch->count);
    x->now = gsa_tape_host(x->tape, kinds);
    x->old = gsa_tape_host(x->tape, kinds);
    x->stale = gsa_tape_host(x->tape, stack->n_kinds);
    x->base = gsa_tape_host(x->tape, stack->n_parts * (int64_t)sizeof *x->base);
    x->projections = gsa_tape_host(x->tape, lists);
    if (!x->now || !x->old || !x->base || !x->stale || !x->projections) return 0;
    memset(x->now, 0, (size_t)kinds);
    memset(x->projections, 0, (size_t)lists);
    memset(x->stale, 0, (size_t)stack->n_kinds);
    for (int p = 0; p < stack->n_parts; p++) {
        int64_t bytes;
        const void *block = gsa_batch_block(x->batch->batch[p], &bytes);
        x->base[p] = gsa_tape_upload(x->tape, block, bytes);
    }
    return gsa_tape_status(x->tape, NULL) == GSA_OK;
}

gsa_stack_pass *gsa_stack_begin(const gsa_stack *stack, gsa_tape *tape,
                                const gsa_stack_batch *batch, gsa_tensor *input,
                                gsa_readout *readout)
{
    *readout = (gsa_readout){ 0 };
    for (int i = 0; i < batch->n_watched; i++) batch->watched[i].weights = NULL;
    const int64_t bytes = stack->n_taps * (int64_t)sizeof(gsa_tensor *);
    executor *x =
        gsa_tape_lacks(tape, input, "stack") ? NULL : gsa_tape_host(tape, (int64_t)sizeof *x);
    if (!x) return NULL;
    *x = (executor){
        .stack = stack, .batch = batch, .tape = tape, .input = input, .readout = readout
    };
    if (!prepare(x)) return NULL;
    readout->taps = gsa_tape_host(tape, bytes);
    if (readout->taps) memset(readout->taps, 0, (size_t)bytes);
    return tape->failed ? NULL : x;
}

static void end_layer(executor *x, int layer)
{
    x->done = layer + 1;
    if (x->tap < x->stack->n_taps && x->stack->taps[x->tap] == layer)
        x->readout->taps[x->tap++] =
            gsa_stack_last_norm(x->stack, x->tape, x->now[x->stack->sequence]);
}

/* Stops after the step that ends a layer: the next may enter a segment that starts from memory. */
void gsa_stack_advance(gsa_stack_pass *x, gsa_tensor *memory, int layers)
{
    for (; x && x->at < x->stack->n_steps && x->done < layers && !x->tape->failed; x->at++) {
        const gsa_step *step = &x->stack->steps[x->at];
        x->memory = memory;
        if (step->what == GSA_STEP_ENTER) enter_segment(x, step->segment);
        else if (step->what == GSA_STEP_PHASE) run_phase(x, step);
        else end_layer(x, step->layer);
    }
}

void gsa_stack_finish(gsa_stack_pass *x, gsa_tensor *memory)
{
    gsa_stack_advance(x, memory, INT_MAX);
    if (!x || x->tape->failed) return;
    const gsa_stack *stack = x->stack;
    if (stack->reads & GSA_READ_SEQUENCE)
        x->readout->sequence = gsa_stack_last_norm(x->stack, x->tape, x->now[stack->sequence]);
    if (stack->reads & GSA_READ_SUMMARY) x->readout->summary = summary(x);
    const int p = stack->first_part[stack->n_segments - 1];
    const int kind = gsa_schema_sequence(stack->parts[p].schema);
    x->readout->tokens.example = gsa_batch_node_example(x->batch->batch[p], kind, x->base[p]);
    x->readout->tokens.local = gsa_batch_node_local(x->batch->batch[p], kind, x->base[p]);
}

void gsa_stack_forward(const gsa_stack *stack, gsa_tape *tape, const gsa_stack_batch *batch,
                       gsa_tensor *input, gsa_tensor *memory, gsa_readout *readout)
{
    gsa_stack_finish(gsa_stack_begin(stack, tape, batch, input, readout), memory);
}
