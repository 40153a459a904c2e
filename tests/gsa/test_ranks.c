/* Rows of one example over several ranks: states, losses and gradients are those of one rank. */
#include "gsa/spread.h"
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"
#include "gsa/stack.h"
#include "support/fabric.h"
#include "train/group/metis.h"

enum { HIDDEN = 8, NUMBERS = 40000, TOKENS = 4096 };

/* One model on one rank, or alone. */
typedef struct world {
    fabric_rank *place; /* NULL: alone */
    const char *spec;
    const int32_t *length;
    int32_t count;
    int norm, equal; /* equal: all tokens have one input */
    int (*cut)(const gsa_share_graph *graph, int32_t parts, int32_t *part, char *why, size_t room);
    double dropout;
    bench b;
    gsa_registry *registry;
    gsa_cache *cache;
    gsa_stack *stack;
    gsa_stack_batch *batch;
    gsa_settings settings;
    gsa_tensor *input;
    double loss;
    double *sequence; /* [tokens, hidden], a rank's own rows alone */
    double *input_gradient, *gradient;
    int64_t numbers, sent, most_local, ghosts;
    gsa_status status;
    char *events; /* what happened, in order, where requested: see look_on */
} world;

static double value(int64_t i)
{
    return sin((double)i * 0.7) + cos((double)i * 0.31);
}

/* One relay that begins as the mean of the tokens, without weights; tokens read it. */
enum { TOKEN, RELAY };
enum { BEGIN, READ };

static void describe(const void *self, gsa_describer *d)
{
    (void)self;
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    d->kind(d, &GSA_KIND(.start = GSA_BY_PHASE, .name = "relay"));
    d->phase(d,
             &GSA_PHASE(.name = "begin", .when = GSA_ONCE, .aggregate = GSA_MEAN,
                        .update = GSA_ASSIGN, .sources = 1 << TOKEN, .destinations = 1 << RELAY));
    d->phase(d, &GSA_PHASE(.name = "read", .aggregate = GSA_ATTEND, .update = GSA_SUBLAYER,
                           .sources = 1 << TOKEN | 1 << RELAY, .destinations = 1 << TOKEN));
    d->sequence(d, TOKEN);
    d->promise(d, GSA_BY_LENGTH, GSA_LINEAR_EDGES);
}

static void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    (void)self;
    e->nodes(e, RELAY, 1);
    e->run(e, BEGIN, gsa_at(TOKEN, 0), x->length, 1, gsa_at(RELAY, 0), 0, 0);
    for (int64_t i = 0; i < x->length; i++) {
        gsa_edge(e, READ, gsa_at(TOKEN, i), gsa_at(TOKEN, i), 0);
        gsa_edge(e, READ, gsa_at(RELAY, 0), gsa_at(TOKEN, i), 0);
    }
}

/* The same with two relays, of which the first begins with the later half of the text; the summary
 * is their maximum. */
static void describe_crossed(const void *self, gsa_describer *d)
{
    describe(self, d);
    d->summary(d, RELAY, GSA_MAX_OF, 1);
}

static void emit_crossed(const void *self, const gsa_example *x, gsa_emitter *e)
{
    const int64_t half = x->length / 2;
    (void)self;
    e->nodes(e, RELAY, 2);
    e->run(e, BEGIN, gsa_at(TOKEN, half), half, 1, gsa_at(RELAY, 0), 0, 0);
    e->run(e, BEGIN, gsa_at(TOKEN, 0), half, 1, gsa_at(RELAY, 1), 0, 0);
    for (int64_t i = 0; i < x->length; i++)
        gsa_edge(e, READ, gsa_at(TOKEN, i), gsa_at(TOKEN, i), 0);
}

static const gsa_topology crossed = { .abi = GSA_ABI,
                                      .struct_size = sizeof(gsa_topology),
                                      .param_stride = sizeof(gsa_param),
                                      .id = "crossed",
                                      .summary = "two relays, the last half first",
                                      .reference = "none",
                                      .describe = describe_crossed,
                                      .emit = emit_crossed };

/* A given graph: a square grid whose nodes are numbered in no order. */
static void describe_grid(const void *self, gsa_describer *d)
{
    (void)self;
    gsa_transformer_layer(d, GSA_NAMES_ONLY, 1, 0);
    d->promise(d, GSA_BY_LENGTH | GSA_ONE_LENGTH, GSA_LINEAR_EDGES);
}

static void emit_grid(const void *self, const gsa_example *x, gsa_emitter *e)
{
    enum { STRIDE = 577 }; /* a prime: i STRIDE mod length is a permutation */
    const int64_t side = (int64_t)sqrt((double)x->length), n = side * side;
    (void)self;
    for (int64_t i = 0; i < n; i++) {
        const int64_t neighbour[] = { i, i - side, i + side, i % side ? i - 1 : -1,
                                      (i + 1) % side ? i + 1 : -1 };
        for (size_t k = 0; k < GSA_COUNT(neighbour); k++)
            if (neighbour[k] >= 0 && neighbour[k] < n)
                gsa_edge(e, 0, gsa_at(TOKEN, neighbour[k] * STRIDE % n),
                         gsa_at(TOKEN, i * STRIDE % n), 0);
    }
}

static const gsa_topology grid = { .abi = GSA_ABI,
                                   .struct_size = sizeof(gsa_topology),
                                   .param_stride = sizeof(gsa_param),
                                   .id = "grid",
                                   .summary = "a square grid in no order",
                                   .reference = "none",
                                   .describe = describe_grid,
                                   .emit = emit_grid };

/* The same, of which each step keeps some edges. */
static void describe_drawn(const void *self, gsa_describer *d)
{
    (void)self;
    gsa_transformer_layer(d, GSA_NAMES_ONLY, 1, 0);
    d->promise(d, GSA_ONE_LENGTH, GSA_LINEAR_EDGES);
}

static void emit_drawn(const void *self, const gsa_example *x, gsa_emitter *e)
{
    const int64_t side = (int64_t)sqrt((double)x->length), n = side * side;
    (void)self;
    for (int64_t i = 0; i < n; i++) {
        gsa_edge(e, 0, gsa_at(TOKEN, i), gsa_at(TOKEN, i), 0);
        if ((i + x->draw) % 3) gsa_edge(e, 0, gsa_at(TOKEN, (i + side) % n), gsa_at(TOKEN, i), 0);
    }
}

static const gsa_topology drawn = { .abi = GSA_ABI,
                                    .struct_size = sizeof(gsa_topology),
                                    .param_stride = sizeof(gsa_param),
                                    .id = "drawn",
                                    .summary = "some edges of a grid, others in each step",
                                    .reference = "none",
                                    .describe = describe_drawn,
                                    .emit = emit_drawn };

/* Two phases with the same weights, of the same queries: neighbours, and the first token all. */
static void describe_twice(const void *self, gsa_describer *d)
{
    (void)self;
    d->kind(d, &GSA_KIND(.start = GSA_INPUT, .name = "token"));
    d->phase(d, &GSA_PHASE(.name = "near", .aggregate = GSA_ATTEND, .update = GSA_SUBLAYER,
                           .empty = GSA_KEEP_EMPTY, .weights = "both", .sources = 1 << TOKEN,
                           .destinations = 1 << TOKEN));
    d->phase(d, &GSA_PHASE(.name = "far", .aggregate = GSA_ATTEND, .update = GSA_SUBLAYER,
                           .together = 1, .empty = GSA_KEEP_EMPTY, .weights = "both",
                           .sources = 1 << TOKEN, .destinations = 1 << TOKEN));
    d->sequence(d, TOKEN);
    d->promise(d, GSA_BY_LENGTH, GSA_LINEAR_EDGES);
}

static void emit_twice(const void *self, const gsa_example *x, gsa_emitter *e)
{
    (void)self;
    for (int64_t i = 1; i < x->length; i++) {
        gsa_edge(e, 0, gsa_at(TOKEN, i), gsa_at(TOKEN, i), 0);
        gsa_edge(e, 0, gsa_at(TOKEN, i - 1), gsa_at(TOKEN, i), 0);
    }
    if (x->length > 0) e->run(e, 1, gsa_at(TOKEN, 0), x->length, 1, gsa_at(TOKEN, 0), 0, 0);
}

static const gsa_topology twice = { .abi = GSA_ABI,
                                    .struct_size = sizeof(gsa_topology),
                                    .param_stride = sizeof(gsa_param),
                                    .id = "twice",
                                    .summary = "two phases of the same queries",
                                    .reference = "none",
                                    .describe = describe_twice,
                                    .emit = emit_twice };

static const gsa_topology begun = { .abi = GSA_ABI,
                                    .struct_size = sizeof(gsa_topology),
                                    .param_stride = sizeof(gsa_param),
                                    .id = "begun",
                                    .summary = "a relay that begins as a mean",
                                    .reference = "none",
                                    .describe = describe,
                                    .emit = emit };

/* ---- the order of events: b, a transfer begins; w, it is waited for; e and r, attention over the
 * rows that are not late, and over the rest; g, a product that gives a gradient of weights */
enum { EVENTS = 4096 };
static _Thread_local struct {
    char *at;
    gsa_group group;
    gsa_backend backend;
} seen;

static void note(char event)
{
    const size_t length = strlen(seen.at);
    if (length + 1 < EVENTS) seen.at[length] = event;
}

static int noted_start(void *user, gsa_transfer *t, const void *send, int64_t send_bytes,
                       void *receive, int64_t receive_bytes, char *why, size_t room)
{
    note('b');
    return seen.group.start(user, t, send, send_bytes, receive, receive_bytes, why, room);
}

static int noted_poll(void *user, gsa_transfer *t, int waits, char *why, size_t room)
{
    if (waits) note('w');
    return seen.group.poll(user, t, waits, why, room);
}

static gsa_status noted_attend(gsa_backend *b, const gsa_attend_args *args)
{
    if (args->late) note(args->rest ? 'r' : 'e');
    return seen.backend.attend_forward(b, args);
}

static gsa_status noted_gemm(gsa_backend *b, void *c, const void *a, const void *bb, int64_t m,
                             int64_t n, int64_t k, int ta, int tb, int64_t ldc, int64_t lda,
                             int64_t ldb, int accumulate)
{
    if (ta) note('g');
    return seen.backend.gemm(b, c, a, bb, m, n, k, ta, tb, ldc, lda, ldb, accumulate);
}

static void look_on(world *w)
{
    seen.at = w->events, seen.group = w->place->group, seen.backend = *w->b.backend;
    w->place->group.start = noted_start, w->place->group.poll = noted_poll;
    w->b.backend->attend_forward = noted_attend, w->b.backend->gemm = noted_gemm;
}

static void open_world(world *w)
{
    gsa_stack_spec spec = { 0 };
    w->b = bench_open(NULL, GSA_F64);
    w->settings = gsa_settings_default();
    w->settings.hidden = HIDDEN, w->settings.heads = 2, w->settings.ffn = 12;
    w->settings.norm = w->norm, w->settings.dropout_hidden = w->dropout;
    w->settings.dropout_attention = w->dropout, w->settings.bias = GSA_BIAS_Q | GSA_BIAS_V;
    MUST(&w->b, gsa_registry_create(NULL, &w->registry, &w->b.error));
    MUST(&w->b, gsa_registry_add(w->registry, &begun, &w->b.error));
    MUST(&w->b, gsa_registry_add(w->registry, &crossed, &w->b.error));
    MUST(&w->b, gsa_registry_add(w->registry, &grid, &w->b.error));
    MUST(&w->b, gsa_registry_add(w->registry, &drawn, &w->b.error));
    MUST(&w->b, gsa_registry_add(w->registry, &twice, &w->b.error));
    MUST(&w->b, gsa_cache_create(NULL, 1 << 20, &w->cache, &w->b.error));
    MUST(&w->b, gsa_spec_parse(NULL, w->spec, &spec, &w->b.error));
    gsa_stack_options options = { .name = "encoder", .reads = GSA_READ_SEQUENCE };
    if (gsa_stack_create(NULL, w->registry, &spec, &w->settings,
                         &(gsa_stack_options){ .name = "encoder",
                                               .reads = GSA_READ_SEQUENCE | GSA_READ_SUMMARY },
                         w->b.parameters, &w->stack, &w->b.error) != GSA_OK) {
        gsa_parameters_release(w->b.parameters);
        MUST(&w->b, gsa_parameters_create(NULL, w->b.backend, 7, &w->b.parameters, &w->b.error));
        MUST(&w->b, gsa_stack_create(NULL, w->registry, &spec, &w->settings, &options,
                                     w->b.parameters, &w->stack, &w->b.error));
    }
    gsa_spec_release(&spec);
    MUST(&w->b, gsa_stack_batch_create(w->stack, &w->batch, &w->b.error));
    if (w->place && w->cut) w->place->group.cut = w->cut;
    if (w->place) MUST(&w->b, gsa_stack_batch_spread(w->batch, &w->place->group, &w->b.error));
}

static void close_world(world *w)
{
    gsa_stack_batch_release(w->batch);
    gsa_stack_release(w->stack);
    gsa_cache_release(w->cache);
    gsa_registry_release(w->registry);
    bench_close(&w->b);
    free(w->sequence), free(w->input_gradient), free(w->gradient);
}

static int64_t tokens_of(const world *w)
{
    int64_t tokens = 0;
    for (int32_t e = 0; e < w->count; e++) tokens += w->length[e];
    return tokens;
}

static gsa_tensor *constant(world *w, const int32_t *token, int64_t rows, int64_t from)
{
    const int equal = w->equal && from == 0;
    double *x = malloc((size_t)(rows * HIDDEN + 1) * sizeof *x);
    for (int64_t i = 0; i < rows; i++)
        for (int c = 0; c < HIDDEN; c++)
            x[i * HIDDEN + c] = value(from + (equal ? 0 : token ? token[i] : i) * HIDDEN + c);
    gsa_tensor *made = gsa_tape_constant(w->b.tape, x, GSA_F64, rows, HIDDEN);
    free(x);
    return made;
}

/* Its own rows of the sequence against numbers, and on rank 0 the summary's. */
static gsa_tensor *loss_of(world *w, const gsa_readout *out, const int32_t *own,
                           const int32_t *token, int64_t rows)
{
    const int64_t bytes = rows * (int64_t)sizeof *own;
    gsa_tensor *sequence = gsa_op_gather(w->b.tape, NULL, out->sequence,
                                         gsa_tape_upload(w->b.tape, own, bytes), rows, 1, 0);
    gsa_tensor *loss =
        gsa_op_square_error(w->b.tape, sequence, constant(w, token, rows, 1000), 0.1);
    const double first = !w->place || w->place->group.rank == 0 ? 0.5 : 0;
    if (out->summary)
        loss = gsa_op_add(
            w->b.tape, loss,
            gsa_op_square_error(w->b.tape, out->summary, constant(w, NULL, w->count, 77), first));
    return loss;
}

static void keep_gradients(world *w)
{
    gsa_error *error = &w->b.error;
    w->gradient = calloc(NUMBERS, sizeof *w->gradient);
    for (int p = 0; p < gsa_parameters_count(w->b.parameters); p++) {
        const gsa_parameter *x = gsa_parameters_at(w->b.parameters, p);
        const int64_t count = x->value.rows * x->value.cols;
        ck_assert_int_le(w->numbers + count, NUMBERS);
        MUST(&w->b, gsa_tensor_read(w->b.backend, &x->value, 1, w->gradient + w->numbers, error));
        w->numbers += count;
    }
}

static void *learn(void *argument)
{
    world *w = argument;
    const int64_t tokens = tokens_of(w);
    int32_t own[TOKENS], token[TOKENS];
    int64_t rows = 0;
    open_world(w);
    w->status = gsa_stack_batch_build(w->batch, w->cache, NULL,
                                      &(gsa_sequences){ .count = w->count, .length = w->length },
                                      &w->b.error);
    ck_assert_msg(w->status == GSA_OK, "%s", w->b.error.text);
    gsa_local_tokens local = { .count = tokens };
    if (w->place) local = gsa_stack_batch_tokens(w->batch);
    for (int64_t i = 0; i < local.count; i++)
        if (!w->place || !local.ghost[i])
            own[rows] = (int32_t)i, token[rows++] = w->place ? local.token[i] : (int32_t)i;
    gsa_tape_reset(w->b.tape, 1, 3, 5);
    if (w->events) look_on(w);
    w->input = constant(w, w->place ? local.token : NULL, local.count, 0);
    w->input->wants_grad = 1;
    gsa_readout out;
    gsa_stack_forward(w->stack, w->b.tape, w->batch, w->input, NULL, &out);
    gsa_tensor *loss = loss_of(w, &out, own, token, rows);
    w->status = gsa_tape_status(w->b.tape, &w->b.error);
    ck_assert_msg(w->status == GSA_OK, "%s", w->b.error.text);
    MUST(&w->b, gsa_tensor_read(w->b.backend, loss, 0, &w->loss, &w->b.error));
    double *all = malloc((size_t)(local.count * HIDDEN + 1) * sizeof *all);
    w->sequence = calloc((size_t)(tokens * HIDDEN + 1), sizeof *w->sequence);
    w->input_gradient = calloc((size_t)(tokens * HIDDEN + 1), sizeof *w->input_gradient);
    MUST(&w->b, gsa_tensor_read(w->b.backend, out.sequence, 0, all, &w->b.error));
    for (int64_t i = 0; i < rows; i++)
        memcpy(w->sequence + token[i] * HIDDEN, all + own[i] * HIDDEN, HIDDEN * sizeof *all);
    MUST(&w->b, gsa_tape_backward(w->b.tape, loss, &w->b.error));
    MUST(&w->b, gsa_tensor_read(w->b.backend, w->input, 1, all, &w->b.error));
    for (int64_t i = 0; i < local.count; i++) /* a start is everywhere: its gradients add up */
        for (int c = 0; c < HIDDEN; c++)
            w->input_gradient[(w->place ? local.token[i] : i) * HIDDEN + c] += all[i * HIDDEN + c];
    keep_gradients(w);
    if (w->place) w->sent = w->place->group.sent;
    w->most_local = local.count, w->ghosts = local.count - rows;
    free(all);
    return NULL;
}

static void near(double got, double wanted, const char *spec, const char *what, int64_t at)
{
    ck_assert_msg(fabs(got - wanted) <= 1e-9 * (1 + fabs(wanted)),
                  "%s: %s %lld is %.17g, not %.17g", spec, what, (long long)at, got, wanted);
}

static void on_ranks(const world *model, int ranks, world *each, fabric_rank *at)
{
    void *argument[FABRIC_RANKS] = { 0 };
    for (int r = 0; r < ranks; r++)
        each[r] = *model, each[r].place = &at[r], argument[r] = &each[r];
    fabric_run(ranks, at, learn, argument);
}

static void compare(const world *model, int ranks)
{
    world alone = *model, each[FABRIC_RANKS];
    fabric_rank at[FABRIC_RANKS];
    learn(&alone);
    on_ranks(model, ranks, each, at);
    double loss = 0;
    const int64_t numbers = tokens_of(&alone) * HIDDEN;
    for (int r = 0; r < ranks; r++) loss += each[r].loss;
    near(loss, alone.loss, model->spec, "loss", ranks);
    for (int64_t i = 0; i < numbers; i++) {
        double state = 0, gradient = 0;
        for (int r = 0; r < ranks; r++)
            state += each[r].sequence[i], gradient += each[r].input_gradient[i];
        near(state, alone.sequence[i], model->spec, "state", i);
        near(gradient, alone.input_gradient[i], model->spec, "gradient of input", i);
    }
    for (int64_t i = 0; i < alone.numbers; i++) {
        double gradient = 0;
        for (int r = 0; r < ranks; r++) gradient += each[r].gradient[i];
        near(gradient, alone.gradient[i], model->spec, "gradient", i);
    }
    for (int r = 0; r < ranks; r++) close_world(&each[r]);
    close_world(&alone);
}

/* Relays and spans split rows at these lengths; one example is shorter than the ranks are many. */
static const int32_t lengths[] = { 150, 3, 97, 0, 64 };
static const char *const specs[] = { "full*2",
                                     "star*2",
                                     "ring*2",
                                     "window:width=9*2",
                                     "dilated:width=5:step=3*2",
                                     "bpt:k=2*2",
                                     "bpt:k=2:causal=1*2",
                                     "bigbird*2",
                                     "longformer*2",
                                     "strided*2",
                                     "head_area*2",
                                     "star,window:width=5",
                                     "twice*2",
                                     "begun*2" };
static const int counts[] = { 2, 4, 8 };

START_TEST(states_and_gradients_are_those_of_one_rank)
{
    const world model = { .spec = specs[_i / 3],
                          .length = lengths,
                          .count = 5,
                          .norm = _i % 2 ? GSA_NORM_PRE : GSA_NORM_POST };
    compare(&model, counts[_i % 3]);
}
END_TEST

/* A rank without a row takes part in every trade, backward too. */
START_TEST(ranks_without_rows_are_there)
{
    static const int32_t few[][2] = { { 0, 0 }, { 1, 0 }, { 3, 0 }, { 2, 1 } };
    for (size_t i = 0; i < GSA_COUNT(few); i++) {
        const world model = { .spec = specs[_i],
                              .length = few[i],
                              .count = 2,
                              .norm = i % 2 ? GSA_NORM_PRE : GSA_NORM_POST };
        compare(&model, 8);
    }
}
END_TEST

START_TEST(masks_are_those_of_one_rank)
{
    const world model = {
        .spec = specs[_i], .length = lengths, .count = 5, .dropout = 0.25, .norm = GSA_NORM_POST
    };
    compare(&model, 4);
}
END_TEST

/* The first of equal rows has the gradient, whichever rank owns it: tokens, whose owners are in
 * their order, and relays, whose owners are not. */
START_TEST(the_first_of_equal_maxima_wins)
{
    static const int32_t even[] = { 64, 32 };
    const world model = {
        .spec = _i / 3 ? "crossed*2" : "star*2", .length = even, .count = 2, .equal = 1
    };
    compare(&model, counts[_i % 3]);
}
END_TEST

/* A window of 9 over one long text: 4 rows on either side, to each neighbour, once a layer but the
 * first, whose states every rank can make; back again as often. */
START_TEST(a_window_sends_its_border)
{
    const int32_t length[] = { 4000 };
    const world model = { .spec = "window:width=9*3", .length = length, .count = 1 };
    world each[FABRIC_RANKS], short_one[FABRIC_RANKS];
    fabric_rank at[FABRIC_RANKS];
    on_ranks(&model, 4, each, at);
    const int32_t less[] = { 400 };
    const world half = { .spec = model.spec, .length = less, .count = 1 };
    on_ranks(&half, 4, short_one, at);
    const int64_t border = 4 * HIDDEN * (int64_t)sizeof(double);
    for (int r = 0; r < 4; r++) {
        const int neighbours = r == 0 || r == 3 ? 1 : 2;
        const int64_t words = 2 * 8 * (1 + GSA_GROUP_NUMBERS); /* of a status, at most */
        ck_assert_int_ge(each[r].sent, 2 * 2 * neighbours * border);
        ck_assert_int_le(each[r].sent, 2 * 2 * neighbours * border + 64 * words * 4);
        ck_assert_int_eq(each[r].sent, short_one[r].sent); /* whatever the length */
        ck_assert_int_eq(each[r].most_local, 1000 + 4 * neighbours);
    }
    for (int r = 0; r < 4; r++) close_world(&each[r]), close_world(&short_one[r]);
}
END_TEST

/* Forward attention over the rows that read nothing of others, backward the gradients of weights
 * begin after a transfer's begin, before anybody waits for it; where it has ended by then, nobody
 * does. */
START_TEST(work_goes_on_during_transfers)
{
    const int32_t length[] = { 2400 };
    world each[2];
    fabric_rank at[2];
    void *argument[2];
    for (int r = 0; r < 2; r++) {
        each[r] = (world){ .spec = "window:width=9*2",
                           .length = length,
                           .count = 1,
                           .norm = _i ? GSA_NORM_PRE : GSA_NORM_POST,
                           .place = &at[r],
                           .events = calloc(EVENTS, 1) };
        argument[r] = &each[r];
    }
    fabric_run(2, at, learn, argument);
    for (int r = 0; r < 2; r++) {
        const char *events = each[r].events, *forward = strstr(events, "be"),
                   *rest = strchr(events, 'r');
        ck_assert_msg(forward && rest && forward < rest && strstr(rest, "bg"), "rank %d: %s", r,
                      events);
        free(each[r].events), close_world(&each[r]);
    }
}
END_TEST

/* Of 8 times the tokens. Ghosts grow as the logarithm: relays and spans are split, not fetched. */
START_TEST(long_texts_send_few_rows)
{
    static const char *const few[] = { "star*2", "bpt:k=2*2" };
    const int32_t short_text[] = { 500 }, long_text[] = { 4000 };
    world a[FABRIC_RANKS], b[FABRIC_RANKS];
    fabric_rank at[FABRIC_RANKS];
    const world small = { .spec = few[_i], .length = short_text, .count = 1 };
    const world large = { .spec = few[_i], .length = long_text, .count = 1 };
    on_ranks(&small, 2, a, at);
    on_ranks(&large, 2, b, at);
    for (int r = 0; r < 2; r++) {
        ck_assert_msg(3 * a[r].sent >= b[r].sent, "%s: %lld bytes of 500 tokens, %lld of 4000",
                      few[_i], (long long)a[r].sent, (long long)b[r].sent);
        close_world(&a[r]), close_world(&b[r]);
    }
}
END_TEST

/* ---- given graphs -------------------------------------------------------------------------- */

#if GSA_HAVE_METIS
static int to_ranges(const gsa_share_graph *graph, int32_t parts, int32_t *part, char *why,
                     size_t room)
{
    (void)why, (void)room;
    for (int32_t i = 0; i < graph->nodes; i++)
        part[i] = (int32_t)((int64_t)i * parts / graph->nodes);
    return 0;
}
#endif

/* Neighbours in the list are apart; checks the graph on its way: both ways, each once. */
static int in_turn(const gsa_share_graph *graph, int32_t parts, int32_t *part, char *why,
                   size_t room)
{
    int64_t weight = 0;
    (void)why, (void)room;
    for (int32_t i = 0; i < graph->nodes; i++) {
        part[i] = i % parts, weight += graph->weight[i];
        for (int32_t k = graph->first[i]; k < graph->first[i + 1]; k++) {
            const int32_t j = graph->adjacent[k];
            int back = 0, again = 0;
            for (int32_t l = graph->first[j]; l < graph->first[j + 1]; l++)
                back += graph->adjacent[l] == i;
            for (int32_t l = graph->first[i]; l < graph->first[i + 1]; l++)
                again += graph->adjacent[l] == j;
            ck_assert_msg(j != i && back == 1 && again == 1, "%d and %d", i, j);
        }
    }
    ck_assert_int_le(weight, 1 << 30);
    return 0;
}

static int fails(const gsa_share_graph *graph, int32_t parts, int32_t *part, char *why, size_t room)
{
    (void)graph, (void)parts, (void)part;
    snprintf(why, room, "it will not");
    return -1;
}

enum { SIDE = 32 };
static const int32_t square[] = { SIDE * SIDE };
static const world of_grid = { .spec = "grid*2", .length = square, .count = 1 };

/* The fabric cuts by METIS where the build has it. The sums do not depend on the cut. */
START_TEST(graphs_are_those_of_one_rank)
{
    world model = of_grid;
    if (_i / 3 == 1) model.cut = in_turn;
    if (_i / 3 == 2) model.spec = "star,grid";
    compare(&model, counts[_i % 3]);
}
END_TEST

#if GSA_HAVE_METIS
static int64_t ghosts_of(const world *model, int ranks)
{
    world each[FABRIC_RANKS];
    fabric_rank at[FABRIC_RANKS];
    int64_t ghosts = 0;
    on_ranks(model, ranks, each, at);
    for (int r = 0; r < ranks; r++) ghosts += each[r].ghosts, close_world(&each[r]);
    return ghosts;
}

/* A grid of 32 x 32 cut into halves needs 64 rows of the others, into quarters 128: METIS comes
 * near that, ranges of nodes in no order do not. */
START_TEST(few_rows_are_read_across)
{
    world ranges = of_grid;
    const int ranks = counts[_i];
    ranges.cut = to_ranges;
    const int64_t without = ghosts_of(&ranges, ranks), with = ghosts_of(&of_grid, ranks);
    ck_assert_msg(with <= 3 * SIDE * ranks / 2 && without >= 4 * with,
                  "%d ranks: %lld rows of others by METIS, %lld by ranges", ranks, (long long)with,
                  (long long)without);
    ck_assert_int_eq(ghosts_of(&of_grid, ranks), with);
}
END_TEST
#endif

/* By how many edges there are. */
static atomic_int cuts;
static int by_edges(const gsa_share_graph *graph, int32_t parts, int32_t *part, char *why,
                    size_t room)
{
    (void)why, (void)room;
    for (int32_t i = 0; i < graph->nodes; i++)
        part[i] = (i + graph->adjacent[graph->first[graph->nodes / 2]]) % parts;
    atomic_fetch_add(&cuts, 1);
    return 0;
}

static void *draw_twice(void *argument)
{
    world *w = argument;
    open_world(w);
    for (int64_t step = 0; step < 2; step++)
        MUST(&w->b, gsa_stack_batch_build(w->batch, w->cache, NULL,
                                          &(gsa_sequences){ .count = w->count,
                                                            .length = w->length,
                                                            .draw = w->equal + step },
                                          &w->b.error));
    const gsa_local_tokens local = gsa_stack_batch_tokens(w->batch);
    for (int64_t i = 0; i < local.count; i++) w->numbers += !local.ghost[i] * local.token[i];
    close_world(w);
    return NULL;
}

/* A graph whose edges are drawn anew is cut once, whichever draw comes first. */
START_TEST(a_cut_outlives_its_draw)
{
    int64_t owned[2];
    for (int first = 1; first <= 2; first++) {
        world each[2];
        fabric_rank at[2];
        void *argument[2];
        atomic_store(&cuts, 0);
        for (int r = 0; r < 2; r++) {
            each[r] = (world){ .spec = "drawn",
                               .length = square,
                               .count = 1,
                               .cut = by_edges,
                               .place = &at[r],
                               .equal = first };
            argument[r] = &each[r];
        }
        fabric_run(2, at, draw_twice, argument);
        owned[first - 1] = each[0].numbers;
        ck_assert_int_eq(atomic_load(&cuts), 1);
    }
    ck_assert_int_eq(owned[0], owned[1]);
}
END_TEST

static void *refuse(void *argument)
{
    world *w = argument;
    open_world(w);
    const gsa_status status = gsa_stack_batch_build(
        w->batch, w->cache, NULL, &(gsa_sequences){ .count = w->count, .length = w->length },
        &w->b.error);
    ck_assert_int_eq(status, GSA_ERR_MEMORY);
    ck_assert_str_eq(w->b.error.text,
                     "rank 0 of 2: 1024 tokens were not cut into 2 parts: it will not");
    close_world(w);
    return NULL;
}

START_TEST(a_partitioner_may_fail)
{
    world each[] = { of_grid, of_grid };
    fabric_rank at[2];
    void *argument[2];
    for (int r = 0; r < 2; r++) each[r].place = &at[r], each[r].cut = fails, argument[r] = &each[r];
    fabric_run(2, at, refuse, argument);
}
END_TEST

START_TEST(a_memory_is_refused)
{
    fabric_rank at = { .group = { .system = gsa_system_default(), .ranks = 2 } };
    world w = { .spec = "cross", .norm = GSA_NORM_POST };
    open_world(&w);
    ck_assert_int_eq(gsa_stack_batch_spread(w.batch, &at.group, &w.b.error), GSA_ERR_ARGUMENT);
    ck_assert_str_eq(w.b.error.text, "stack encoder reads a memory: its examples cannot be spread "
                                     "over ranks");
    close_world(&w);
}
END_TEST

#if GSA_HAVE_METIS
static volatile sig_atomic_t terms;
static void count_term(int number)
{
    (void)number;
    terms++;
}

/* The partitioner catches signals for itself; after it they are the caller's, each time. */
START_TEST(signals_stay_the_callers)
{
    enum { NODES = 64 };
    int32_t first[NODES + 1], adjacent[2 * NODES], weight[NODES], part[NODES];
    char why[64];
    struct sigaction mine = { .sa_handler = count_term, .sa_flags = SA_RESTART }, found;
    for (int i = 0; i <= NODES; i++) first[i] = 2 * i;
    for (int i = 0; i < NODES; i++) {
        weight[i] = 1;
        adjacent[2 * i] = (i + NODES - 1) % NODES, adjacent[2 * i + 1] = (i + 1) % NODES;
    }
    const gsa_share_graph ring = { NODES, 0, first, adjacent, weight };
    sigaction(SIGTERM, &mine, NULL);
    for (int round = 1; round <= 2; round++) {
        ck_assert_int_eq(gsa_metis_cut(&ring, 2, part, why, sizeof why), 0);
        raise(SIGTERM), raise(SIGTERM);
        ck_assert_int_eq(terms, 2 * round);
        sigaction(SIGTERM, NULL, &found);
        ck_assert(found.sa_handler == count_term && found.sa_flags & SA_RESTART);
        sigaction(SIGABRT, NULL, &found);
        ck_assert(found.sa_handler == SIG_DFL);
    }
}
END_TEST
#endif

int main(int argc, char **argv)
{
    static const gsa_test equal[] = {
        GSA_LOOP(states_and_gradients_are_those_of_one_rank, 3 * GSA_COUNT(specs)),
        GSA_LOOP(ranks_without_rows_are_there, GSA_COUNT(specs)),
        GSA_LOOP(masks_are_those_of_one_rank, GSA_COUNT(specs)),
        GSA_LOOP(the_first_of_equal_maxima_wins, 6),
    };
    static const gsa_test traffic[] = { GSA_TEST(a_window_sends_its_border),
                                        GSA_LOOP(work_goes_on_during_transfers, 2),
                                        GSA_LOOP(long_texts_send_few_rows, 2) };
    static const gsa_test given[] = {
        GSA_LOOP(graphs_are_those_of_one_rank, 9),
#if GSA_HAVE_METIS
        GSA_LOOP(few_rows_are_read_across, 3),
        GSA_TEST(signals_stay_the_callers),
#endif
        GSA_TEST(a_cut_outlives_its_draw),
        GSA_TEST(a_partitioner_may_fail)
    };
    static const gsa_test refused[] = { GSA_TEST(a_memory_is_refused) };
    static const gsa_case cases[] = { GSA_CASE("equal", equal, 60),
                                      GSA_CASE("traffic", traffic, 60),
                                      GSA_CASE("given", given, 60),
                                      GSA_CASE("refused", refused, 60) };
    return gsa_run_suite("ranks", cases, GSA_COUNT(cases), argc, argv);
}
