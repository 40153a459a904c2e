/* generation_forward.c - what opening a sequence and appending tokens compute: the turns, over new
 * rows. docs/executor.md. */
#include <string.h>
#include "generation_parts.h"

typedef struct advance {
    gsa_generation *g;
    gsa_tape *tape;
    int32_t items;
    gsa_tensor *input, *memory;
} advance;

static gsa_tensor *tensor_of(gsa_parameter *p)
{
    return p ? &p->value : NULL;
}

/* ---- values: rows that are made, rows that are read again ---------------------------------- */
static void note_moments(const advance *x, int value)
{
    gsa_generation *g = x->g;
    int64_t row = g->value[value].rows;
    for (int32_t i = 0; i < x->items; i++) {
        const gsa_item *item = &g->item[i];
        const int64_t *start = item->sequence->plan->of[value]->start;
        for (int32_t t = item->first; t < item->end; t++) {
            g->moment[(int64_t)item->sequence->moment[t + 1] * g->n_values + value] = row;
            row += start[t + 2] - start[t + 1];
        }
    }
}

/* The rows of a value that these items make, in their order. */
static void set_value(const advance *x, int v, gsa_tensor *rows)
{
    gsa_value_of *value = &x->g->value[v];
    if (!rows || x->tape->failed) return;
    note_moments(x, v);
    value->base = value->rows;
    value->rows += rows->rows;
    value->fresh = rows;
    if (value->keep >= 0) gsa_kept_append(x->g, x->tape, &x->g->pool[value->keep], rows);
}

/* Rows of a tensor: a view where they are neighbours. */
static gsa_tensor *pick(const advance *x, gsa_tensor *from, const int32_t *row, int64_t count)
{
    int64_t n = 1;
    while (n < count && row[n] == row[0] + n) n++;
    if (n >= count) return gsa_op_view(x->tape, from, count ? row[0] : 0, count);
    const int32_t *ids = gsa_tape_upload(x->tape, row, count * (int64_t)sizeof *row);
    return gsa_op_gather(x->tape, NULL, from, ids, count, 1, 0);
}

/* Of each of `count` rows of a turn, from `first` on, what its node's value is. */
static gsa_tensor *value_rows(const advance *x, int v, const gsa_fresh_rows *rows, int64_t first,
                              int64_t count)
{
    gsa_generation *g = x->g;
    const gsa_value_of *value = &g->value[v];
    gsa_kept *pool = value->keep >= 0 ? &g->pool[value->keep] : NULL;
    int32_t *row = gsa_tape_host(x->tape, count * (int64_t)sizeof *row);
    int64_t lowest = INT64_MAX;
    if (x->tape->failed) return NULL;
    for (int64_t i = 0; i < count; i++) {
        const int64_t at =
            gsa_row_of(g, g->item[rows->item[first + i]].sequence, v, rows->node[first + i]);
        lowest = at < lowest ? at : lowest;
        row[i] = (int32_t)(at - (pool ? pool->first : value->base));
    }
    if (count == 0) return gsa_op_view(x->tape, value->fresh, 0, 0);
    if (lowest < (pool ? pool->first : value->base))
        return gsa_tape_fail(x->tape, GSA_ERR_PLUGIN,
                             "generation: a row of kind '%s' is read that was not kept",
                             g->stack->kinds[value->kind].name);
    if (pool && lowest >= value->base) {
        for (int64_t i = 0; i < count; i++) row[i] -= (int32_t)(value->base - pool->first);
        pool = NULL;
    }
    return pick(x, pool ? &pool->x : value->fresh, row, count);
}

/* ---- starts -------------------------------------------------------------------------------- */
static int64_t new_rows(const advance *x, int v)
{
    int64_t rows = 0;
    for (int32_t i = 0; i < x->items; i++) {
        const int64_t *start = x->g->item[i].sequence->plan->of[v]->start;
        rows += start[x->g->item[i].end + 1] - start[x->g->item[i].first + 1];
    }
    return rows;
}

static gsa_tensor *learned_rows(const advance *x, int v, gsa_tensor *base, int64_t count)
{
    const gsa_generation *g = x->g;
    int32_t *node = gsa_tape_host(x->tape, count * (int64_t)sizeof *node);
    int64_t at = 0;
    for (int32_t i = 0; !x->tape->failed && i < x->items; i++) {
        const gsa_layout *layout = g->item[i].sequence->plan->of[v];
        for (int64_t r = layout->start[g->item[i].first + 1]; r < layout->start[g->item[i].end + 1];
             r++)
            node[at++] = layout->node[r];
    }
    const int32_t *ids = gsa_tape_upload(x->tape, node, count * (int64_t)sizeof *node);
    return gsa_op_gather(x->tape, base, &g->stack->kinds[g->value[v].kind].rows->value, ids, count,
                         1, 0);
}

static void start_value(const advance *x, int v)
{
    const gsa_stack *stack = x->g->stack;
    const gsa_stack_kind *kind = &stack->kinds[x->g->value[v].kind];
    const int64_t count = new_rows(x, v);
    gsa_tensor *given = kind->start == GSA_MEMORY                             ? x->memory
                        : kind->start == GSA_INPUT || kind->start == GSA_COPY ? x->input
                                                                              : NULL;
    if (count == 0 || !given) given = gsa_tape_zeros(x->tape, count, stack->settings.hidden);
    if (given && (given->rows != count || given->cols != stack->settings.hidden)) {
        gsa_tape_fail(x->tape, GSA_ERR_ARGUMENT,
                      "generation: %lld rows of %d columns are needed of %s, not %lld of %lld",
                      (long long)count, stack->settings.hidden,
                      kind->start == GSA_MEMORY ? "the memory" : "the input",
                      (long long)given->rows, (long long)given->cols);
        return;
    }
    set_value(x, v, kind->rows && count > 0 ? learned_rows(x, v, given, count) : given);
}

/* ---- one phase ----------------------------------------------------------------------------- */
/* A pool takes what its value has that it has not. */
static int catch_up(const advance *x, int p)
{
    gsa_generation *g = x->g;
    gsa_kept *pool = &g->pool[p];
    const gsa_value_of *value = &g->value[pool->value];
    const int64_t missing = value->rows - pool->first - pool->x.rows;
    if (missing == 0) return !x->tape->failed;
    gsa_tensor *rows =
        gsa_op_view(x->tape, value->fresh, value->rows - value->base - missing, missing);
    if (pool->gain)
        rows = gsa_op_norm(x->tape, rows, &pool->gain->value, &pool->shift->value,
                           g->stack->settings.norm_eps);
    if (pool->weight)
        rows = gsa_op_linear(x->tape, rows, &pool->weight->value, tensor_of(pool->bias));
    return gsa_kept_append(g, x->tape, pool, rows);
}

static gsa_tensor *attend(const advance *x, const gsa_turn *turn, const gsa_edges *edges,
                          gsa_tensor *y)
{
    const gsa_stack *stack = x->g->stack;
    const gsa_phase_weights *w = &stack->weights[turn->step->weights];
    const int per_head = gsa_step_phase(stack, turn->step)->per_head;
    gsa_attend_op op = { .edges = edges,
                         .heads = per_head ? 1 : stack->settings.heads,
                         .head_dim = stack->settings.head_dim,
                         .scale = gsa_stack_scale(stack),
                         .label_vectors = tensor_of(w->label_vectors),
                         .label_bias = tensor_of(w->label_bias) };
    op.q = gsa_op_linear(x->tape, y, tensor_of(w->q), tensor_of(w->q_bias));
    for (int k = 0; k < edges->kinds; k++) {
        if (turn->k[k] >= 0) op.k[k] = &x->g->pool[turn->k[k]].x;
        if (turn->v[k] >= 0) op.v[k] = &x->g->pool[turn->v[k]].x;
    }
    return gsa_op_attend(x->tape, &op);
}

static gsa_tensor *aggregate(const advance *x, const gsa_turn *turn, const gsa_edges *edges,
                             gsa_tensor *y, int64_t rows)
{
    const gsa_settings *s = &x->g->stack->settings;
    const gsa_phase *phase = gsa_step_phase(x->g->stack, turn->step);
    gsa_tensor *states[GSA_MAX_KINDS] = { 0 };
    if (phase->aggregate == GSA_NONE) return y;
    if (phase->aggregate == GSA_ATTEND) return attend(x, turn, edges, y);
    for (int k = 0; k < edges->kinds; k++)
        if (turn->v[k] >= 0) states[k] = &x->g->pool[turn->v[k]].x;
    return gsa_op_aggregate(x->tape, edges, states, phase->aggregate == GSA_MEAN,
                            phase->per_head ? s->hidden / s->heads : s->hidden, rows, s->hidden);
}

/* The destinations' values before the turn, kind below kind. */
static gsa_tensor *stacked(const advance *x, const int *value, const gsa_fresh_rows *rows)
{
    gsa_tensor *part[GSA_MAX_KINDS];
    int64_t first = 0;
    int n = 0;
    for (int k = 0; k < GSA_MAX_KINDS; k++) {
        if (rows->of[k] == 0) continue;
        part[n++] = value_rows(x, value[k], rows, first, rows->of[k]);
        first += rows->of[k];
    }
    return gsa_op_concat(x->tape, part, n);
}

static int64_t kept_rows(const gsa_phase *phase, const uint8_t *empty, int64_t rows)
{
    int64_t kept = 0;
    if (phase->empty != GSA_KEEP_EMPTY || phase->aggregate == GSA_NONE) return 0;
    for (int64_t i = 0; i < rows; i++) kept += empty[i];
    return kept;
}

/* The new states of a turn's rows. Where all are kept nothing is computed. */
static gsa_tensor *compute(const advance *x, const gsa_turn *turn, const gsa_fresh_rows *rows)
{
    gsa_generation *g = x->g;
    const gsa_phase *phase = gsa_step_phase(g->stack, turn->step);
    const gsa_phase_weights *w = &g->stack->weights[turn->step->weights];
    uint8_t *empty = gsa_tape_host(x->tape, rows->count);
    gsa_edges edges = { 0 };
    if (x->tape->failed) return NULL;
    if (phase->aggregate != GSA_NONE &&
        !gsa_generation_edges(g, x->tape, turn, rows, &edges, empty))
        return NULL;
    const int64_t kept = kept_rows(phase, empty, rows->count);
    if (kept == rows->count) return stacked(x, turn->now, rows);
    g->counts.rows += rows->count;
    gsa_tensor *old = gsa_phase_reads_old(phase) ? stacked(x, turn->old, rows) : NULL, *y = old;
    if (gsa_stack_norm_first(g->stack, phase))
        y = gsa_op_norm(x->tape, old, tensor_of(w->gain), tensor_of(w->shift),
                        g->stack->settings.norm_eps);
    gsa_tensor *a = aggregate(x, turn, &edges, y, rows->count);
    gsa_tensor *u =
        gsa_stack_update(g->stack, x->tape, turn->step, (gsa_row_identity){ 0 }, old, a);
    if (kept == 0) return u;
    return gsa_op_select(x->tape, gsa_tape_upload(x->tape, empty, rows->count),
                         stacked(x, turn->now, rows), u);
}

static void run_phase(const advance *x, const gsa_turn *turn)
{
    gsa_generation *g = x->g;
    gsa_fresh_rows rows;
    for (int k = 0; k < GSA_MAX_KINDS; k++) {
        if (turn->k[k] >= 0 && !catch_up(x, turn->k[k])) return;
        if (turn->v[k] >= 0 && !catch_up(x, turn->v[k])) return;
    }
    if (!gsa_generation_find_rows(g, x->tape, turn, x->items, &rows)) return;
    gsa_tensor *made = rows.count ? compute(x, turn, &rows)
                                  : gsa_tape_zeros(x->tape, 0, g->stack->settings.hidden);
    int64_t first = 0;
    for (int k = 0; k < GSA_MAX_KINDS && !x->tape->failed; k++) {
        if (turn->made[k] < 0 || !g->value[turn->made[k]].read) continue;
        set_value(x, turn->made[k], gsa_op_view(x->tape, made, first, rows.of[k]));
        first += rows.of[k];
    }
}

static void run(const advance *x)
{
    gsa_generation *g = x->g;
    for (int i = 0; i < g->n_turns && !x->tape->failed; i++) {
        const gsa_turn *turn = &g->turn[i];
        for (int v = 0; v < turn->count; v++)
            if (g->value[turn->first + v].read) start_value(x, turn->first + v);
        if (turn->step->what == GSA_STEP_PHASE) run_phase(x, turn);
    }
}

/* The last values of the new tokens, item by item. */
static gsa_tensor *read_out(const advance *x)
{
    gsa_generation *g = x->g;
    gsa_fresh_rows rows = { 0 };
    for (int32_t i = 0; i < x->items; i++) rows.count += g->item[i].end - g->item[i].first;
    rows.node = gsa_tape_host(x->tape, rows.count * (int64_t)sizeof *rows.node);
    rows.item = gsa_tape_host(x->tape, rows.count * (int64_t)sizeof *rows.item);
    if (x->tape->failed) return NULL;
    for (int32_t i = 0, at = 0; i < x->items; i++)
        for (int32_t t = g->item[i].first; t < g->item[i].end; t++, at++)
            rows.node[at] = t, rows.item[at] = i;
    return gsa_stack_last_norm(g->stack, x->tape, value_rows(x, g->last, &rows, 0, rows.count));
}

static void finish(const advance *x)
{
    for (int v = 0; v < x->g->n_values; v++) x->g->value[v].fresh = NULL;
    if (x->tape->failed) x->g->broken = 1;
}

/* ---- the two calls ------------------------------------------------------------------------- */
static int usable(const gsa_generation *g, gsa_tape *tape)
{
    if (tape->failed) return 0;
    if (tape->backend != g->backend || tape->training)
        gsa_tape_fail(tape, GSA_ERR_ARGUMENT, "generation: the tape %s",
                      tape->training ? "is training" : "is on another backend");
    else if (g->broken)
        gsa_tape_fail(tape, GSA_ERR_ARGUMENT,
                      "generation: an earlier call failed, and nothing was cleared");
    return !tape->failed;
}

/* Every sequence of the list is extended by one moment a token, from `first` to `end` of its
 * item. */
static int add_moments(const advance *x)
{
    gsa_generation *g = x->g;
    gsa_error error;
    for (int32_t i = 0; i < x->items; i++) {
        gsa_grown *sequence = g->item[i].sequence;
        const gsa_status status = gsa_sequence_grow(g, sequence, g->item[i].end + 1, &error);
        if (status != GSA_OK) return gsa_tape_fail(x->tape, status, "%s", error.text), 0;
        for (int32_t t = g->item[i].first; t < g->item[i].end; t++) {
            const int64_t moment = gsa_moment_new(g);
            if (moment < 0)
                return gsa_tape_fail(x->tape, GSA_ERR_MEMORY, "out of memory: a token's rows"), 0;
            sequence->moment[t + 1] = (int32_t)moment;
        }
        sequence->length = g->item[i].end;
    }
    return 1;
}

static int check_memory(const gsa_generation *g, gsa_tape *tape, int32_t count,
                        const gsa_generation_memory *memory)
{
    if (count < 0 || count > INT32_MAX - g->n_sequences)
        return gsa_tape_fail(tape, GSA_ERR_ARGUMENT, "generation: %d sequences are to be opened",
                             count),
               0;
    if (!memory == !g->stack->reads_memory) return 1;
    return gsa_tape_fail(tape, GSA_ERR_ARGUMENT, "generation: stack %s reads %s memory",
                         g->stack->name, memory ? "no" : "a"),
           0;
}

void gsa_generation_open(gsa_generation *g, gsa_tape *tape, int32_t count,
                         const gsa_generation_memory *memory)
{
    advance x = { .g = g, .tape = tape, .items = count, .memory = memory ? memory->rows : NULL };
    gsa_error error;
    if (!usable(g, tape) || !check_memory(g, tape, count, memory)) return;
    gsa_status status = gsa_generation_reserve(g, g->n_sequences + count, &error);
    const int32_t *group = memory ? memory->group : NULL;
    for (int32_t i = 0; i < count && status == GSA_OK; i++) {
        gsa_grown *sequence = &g->sequence[g->n_sequences + i];
        sequence->length = 0;
        const int32_t rows = memory ? memory->length[i] : 0;
        status = gsa_generation_plan_for(g, rows, group, NULL, &sequence->plan, &error);
        if (group) group += rows;
        g->item[i] = (gsa_item){ sequence, -1, 0 };
    }
    if (status != GSA_OK) gsa_tape_fail(tape, status, "%s", error.text);
    else if (add_moments(&x)) run(&x);
    g->n_sequences += count;
    finish(&x);
}

static int regroup(gsa_generation *g, gsa_tape *tape, const int32_t *length, const int32_t *group)
{
    gsa_status status = GSA_OK;
    gsa_error error;
    for (int32_t i = 0; group && i < g->n_sequences && status == GSA_OK; group += length[i++])
        status = gsa_generation_regroup(g, &g->sequence[i], group, length[i], &error);
    if (status != GSA_OK) gsa_tape_fail(tape, status, "%s", error.text);
    return status == GSA_OK;
}

gsa_tensor *gsa_generation_append(gsa_generation *g, gsa_tape *tape, gsa_tensor *input,
                                  const int32_t *length, const int32_t *group)
{
    advance x = { .g = g, .tape = tape, .input = input };
    int64_t tokens = 0;
    if (!usable(g, tape) || gsa_tape_lacks(tape, input, "generation")) return NULL;
    for (int32_t i = 0; i < g->n_sequences; i++) {
        gsa_grown *sequence = &g->sequence[i];
        if (length[i] < 0 || length[i] > g->most - sequence->length)
            return gsa_tape_fail(
                tape, GSA_ERR_LIMIT,
                "generation: %d tokens after %d of sequence %d, but it may have %d at most",
                length[i], sequence->length, i, g->most);
        tokens += length[i];
        if (length[i] > 0)
            g->item[x.items++] =
                (gsa_item){ sequence, sequence->length, sequence->length + length[i] };
    }
    if (input->rows != tokens || input->cols != g->stack->settings.hidden)
        return gsa_tape_fail(tape, GSA_ERR_ARGUMENT,
                             "generation: %lld tokens of %d columns, but the input is [%lld, %lld]",
                             (long long)tokens, g->stack->settings.hidden, (long long)input->rows,
                             (long long)input->cols);
    if (regroup(g, tape, length, group) && add_moments(&x)) run(&x);
    gsa_tensor *out = tape->failed ? NULL : read_out(&x);
    g->counts.tokens += tokens;
    finish(&x);
    return out;
}
