/* What a language model expects next, token by token as by whole passes; beams as by slow
 * re-computation and by looking at every sequence there is; texts as they are written. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rig.h"
#include "support/compare.h"
#include "support/faults.h"
#include "support/guard.h"
#include "train/use/apply.h"
#include "train/decode/beam.h"
#include "train/decode/coverage.h"
#include "train/decode/generate.h"
#include "train/decode/language.h"
#include "train/decode/next.h"
#include "train/decode/written.h"

static const char recipe[] =
    "[task]\nname = language_modelling\n[data]\nwindow = 16\ntokens = chars\n"
    "[model]\nhidden = 12\nheads = 3\nffn = 10\nnorm = pre\nembedding = 12\nembedding_std = 1\n"
    "input_scale = 2\nhead_hidden = 0\ninit = normal\ninit_scale = 0.4\n"
    "[train]\nmax_steps = 3\nbatch = 2\n";
static const char text[] =
    "the cat sat on the mat.\nthe dog ate the cat.\na rat sat on the dog and the mat.\n";

typedef struct world {
    rig r;
    gsa_session session;
    gsa_next *next;
    int32_t outputs;
} world;

static void say(void *context, const char *sentence)
{
    (void)context, (void)sentence;
}

static void open_world(world *w, const char *encoder, const char *position, int tied,
                       int32_t longest)
{
    char sets[4][128], path[300];
    rig_open(&w->r, recipe, GSA_F64, 1);
    gsa_put_file(gsa_scratch_path(&w->r.scratch, "text.txt"), text, sizeof text - 1);
    snprintf(path, sizeof path, "data.train=%s", gsa_scratch_path(&w->r.scratch, "text.txt"));
    snprintf(sets[0], sizeof sets[0], "model.encoder=%s", encoder);
    snprintf(sets[1], sizeof sets[1], "model.position=%s", position);
    snprintf(sets[2], sizeof sets[2], "model.tied=%d", tied);
    const char *const overrides[] = { path, sets[0], sets[1], sets[2], "model.position_max=64" };
    const gsa_session_options options = { .recipe = w->r.path,
                                          .overrides = overrides,
                                          .n_overrides = 5,
                                          .threads = 1,
                                          .splits = 1u << GSA_SPLIT_TRAIN,
                                          .backend = w->r.backend,
                                          .say = say };
    ck_assert_msg(gsa_session_create(gsa_system_default(), &options, &w->session, &w->r.error) ==
                      GSA_OK,
                  "%s", w->r.error.text);
    w->outputs = w->session.model.plan.outputs;
    w->next = NULL;
    if (longest)
        ck_assert_msg(gsa_next_create(&w->session, longest, &w->next, &w->r.error) == GSA_OK, "%s",
                      w->r.error.text);
}

static void close_world(world *w)
{
    gsa_next_release(w->next);
    gsa_session_release(&w->session);
    rig_close(&w->r);
}

#define WELL(call) ck_assert_msg((call) == GSA_OK, "%s: %s", #call, w.r.error.text)

static const struct {
    const char *encoder, *position;
    int tied;
} models[] = {
    { "window:width=5:causal=1*2", "sinusoid", 0 },
    { "bpt:k=2:causal=1*2", "none", 1 },
    { "full:causal=1:clip=3*2", "learned", 1 },
    { "strided:stride=3,full:causal=1", "learned", 0 },
};

START_TEST(next_is_as_by_whole_passes)
{
    enum { LENGTH = 40 };
    world w;
    open_world(&w, models[_i].encoder, models[_i].position, models[_i].tied, LENGTH);
    gsa_dice dice = { 5 };
    int32_t id[LENGTH];
    double *fast = malloc((size_t)w.outputs * sizeof *fast),
           *slow = malloc((size_t)w.outputs * sizeof *slow);
    for (int i = 0; i < LENGTH; i++) id[i] = (int32_t)gsa_between(&dice, 1, w.outputs);
    WELL(gsa_next_begin(w.next, 1, &w.r.error));
    for (int32_t at = 0, piece; at < LENGTH; at += piece) {
        piece = (int32_t)gsa_between(&dice, 1, LENGTH - at < 5 ? LENGTH - at : 5);
        WELL(gsa_next_append(w.next, id + at, &piece, fast, &w.r.error));
        WELL(gsa_language_next(&w.session, id, at + piece, slow, &w.r.error));
        ck_assert(!gsa_differ(models[_i].encoder, fast, slow, w.outputs, 1e-12, 1e-12));
    }
    free(fast), free(slow);
    close_world(&w);
}
END_TEST

START_TEST(models_that_cannot)
{
    world w;
    open_world(&w, "full:causal=1", "learned", 0, 0);
    ck_assert_int_eq(gsa_next_create(&w.session, 65, &w.next, &w.r.error), GSA_ERR_LIMIT);
    ck_assert_str_eq(
        w.r.error.text,
        "65 tokens in all, but the model has learned 64 positions (model.position_max)");
    close_world(&w);
    open_world(&w, "strided", "none", 0, 0);
    ck_assert_int_eq(gsa_next_create(&w.session, 8, &w.next, &w.r.error), GSA_ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(
        strstr(w.r.error.text,
               "layers 0 to 0 run strided, which does not promise that what a token reads"));
    close_world(&w);
}
END_TEST

/* ---- beams --------------------------------------------------------------------------------- */
static void log_softmax(double *x, int32_t count)
{
    double top = x[0], sum = 0;
    for (int32_t c = 1; c < count; c++) top = x[c] > top ? x[c] : top;
    for (int32_t c = 0; c < count; c++) sum += exp(x[c] - top);
    for (int32_t c = 0; c < count; c++) x[c] -= top + log(sum);
}

enum { MOST_ROWS = 64, MOST_LENGTH = 16 };
typedef struct asked { /* of beam search by a language model */
    world *w;
    int32_t begun;
    int32_t length, id[MOST_ROWS][MOST_LENGTH]; /* slow: every sequence anew */
    int64_t calls;
} asked;

static gsa_status fast_next(void *context, const int32_t *parent, const int32_t *token,
                            int32_t count, double *log_p, gsa_error *error)
{
    asked *a = context;
    const int32_t first = gsa_language_units(a->w->session.self)->first_class;
    int32_t id[MOST_ROWS], one[MOST_ROWS];
    gsa_status status = a->begun ? GSA_OK : gsa_next_begin(a->w->next, count, error);
    if (status == GSA_OK && a->begun) status = gsa_next_choose(a->w->next, parent, count, error);
    for (int32_t i = 0; i < count; i++) id[i] = token[i] + first, one[i] = 1;
    if (status == GSA_OK) status = gsa_next_append(a->w->next, id, one, log_p, error);
    for (int32_t i = 0; i < count; i++)
        log_softmax(log_p + (int64_t)i * a->w->outputs, a->w->outputs);
    a->begun = 1, a->calls++;
    return status;
}

static gsa_status slow_next(void *context, const int32_t *parent, const int32_t *token,
                            int32_t count, double *log_p, gsa_error *error)
{
    asked *a = context;
    int32_t old[MOST_ROWS][MOST_LENGTH];
    const int32_t first = gsa_language_units(a->w->session.self)->first_class;
    memcpy(old, a->id, sizeof old);
    gsa_status status = GSA_OK;
    for (int32_t i = 0; i < count && status == GSA_OK; i++) {
        memcpy(a->id[i], old[parent[i]], sizeof old[0]);
        a->id[i][a->length] = token[i] + first;
        status = gsa_language_next(&a->w->session, a->id[i], a->length + 1,
                                   log_p + (int64_t)i * a->w->outputs, error);
        log_softmax(log_p + (int64_t)i * a->w->outputs, a->w->outputs);
    }
    a->length++;
    return status;
}

START_TEST(beams_are_as_by_slow_recomputation)
{
    world w;
    open_world(&w, models[_i].encoder, models[_i].position, models[_i].tied, 24);
    const int32_t start[] = { 2, 5, 3 }, most[] = { 9, 12, 1 };
    for (int width = 1; width <= 5; width += 2)
        for (int penalty = GSA_BEAM_WU; penalty <= GSA_BEAM_LENGTH; penalty++) {
            const gsa_beam_options o = { .width = width,
                                         .best = width,
                                         .classes = w.outputs,
                                         .end = 1,
                                         .penalty = penalty,
                                         .alpha = penalty == GSA_BEAM_WU ? 0.6 : 1,
                                         .start = start,
                                         .most = most };
            asked a = { .w = &w }, b = { .w = &w };
            gsa_beam_results fast, slow;
            WELL(gsa_beam_search(NULL, &o, &(gsa_beam_model){ &a, fast_next }, 3, &fast,
                                 &w.r.error));
            WELL(gsa_beam_search(NULL, &o, &(gsa_beam_model){ &b, slow_next }, 3, &slow,
                                 &w.r.error));
            for (int t = 0; t < 3; t++) {
                ck_assert_int_eq(fast.count[t], slow.count[t]);
                ck_assert_int_ge(fast.count[t], 1);
                for (int i = 0; i < fast.count[t]; i++) {
                    const gsa_beam_found *x = &fast.found[t * width + i],
                                         *y = &slow.found[t * width + i];
                    ck_assert_int_eq(x->length, y->length);
                    ck_assert_int_lt(x->length, most[t]);
                    if (x->length)
                        ck_assert_int_eq(
                            memcmp(x->token, y->token, (size_t)x->length * sizeof *x->token), 0);
                    ck_assert_double_eq_tol(x->score, y->score, 1e-10);
                }
            }
            gsa_beam_release(&fast), gsa_beam_release(&slow);
        }
    close_world(&w);
}
END_TEST

/* A model without a network: log p of the next token is a table's row of the token before it, and
 * of the step. */
enum { LETTERS = 4, STEPS = 5 };
typedef struct table {
    double log_p[STEPS + 1][LETTERS][LETTERS];
    int32_t step;
} table;

static table random_table(uint64_t seed)
{
    table t = { .step = 0 };
    gsa_dice dice = { seed };
    for (int s = 0; s <= STEPS; s++)
        for (int a = 0; a < LETTERS; a++) {
            for (int b = 0; b < LETTERS; b++) t.log_p[s][a][b] = 2 * gsa_normal(&dice);
            log_softmax(t.log_p[s][a], LETTERS);
        }
    return t;
}

static gsa_status table_next(void *context, const int32_t *parent, const int32_t *token,
                             int32_t count, double *log_p, gsa_error *error)
{
    table *t = context;
    (void)parent, (void)error;
    for (int32_t i = 0; i < count; i++)
        memcpy(log_p + i * LETTERS, t->log_p[t->step][token[i]], sizeof(double) * LETTERS);
    t->step++;
    return GSA_OK;
}

typedef struct best { /* over all sequences: depth first */
    double score;
    int32_t length, token[STEPS];
} best;

static void look_at_all(const table *t, const gsa_beam_options *o, int32_t length, int32_t last,
                        double log_p, int32_t *token, best *found)
{
    const double ended =
        (log_p + t->log_p[length][last][o->end]) / gsa_beam_penalty_of(o, length + 1);
    if (ended > found->score) {
        found->score = ended, found->length = length;
        memcpy(found->token, token, (size_t)length * sizeof *token);
    }
    for (int32_t c = 0; c < LETTERS && length + 1 < o->most[0]; c++) {
        if (c == o->end) continue;
        token[length] = c;
        look_at_all(t, o, length + 1, c, log_p + t->log_p[length][last][c], token, found);
    }
}

/* With room for every prefix, the search must find what is best of all. */
START_TEST(a_wide_beam_finds_the_best_of_all)
{
    const int32_t start = 0, most = STEPS;
    const double alphas[] = { 0, 0.6, 1, 2 };
    for (uint64_t seed = 0; seed < 40; seed++) {
        table t = random_table(seed * 31 + (uint64_t)_i);
        const gsa_beam_options o = { .width = 300,
                                     .best = 2,
                                     .classes = LETTERS,
                                     .end = 1,
                                     .penalty = (int32_t)(seed % 2),
                                     .alpha = alphas[_i],
                                     .start = &start,
                                     .most = &most };
        gsa_beam_results r;
        gsa_error error = { GSA_OK, "" };
        best wanted = { .score = -INFINITY };
        int32_t token[STEPS];
        look_at_all(&t, &o, 0, start, 0, token, &wanted);
        ck_assert_msg(
            gsa_beam_search(NULL, &o, &(gsa_beam_model){ &t, table_next }, 1, &r, &error) == GSA_OK,
            "%s", error.text);
        ck_assert_int_eq(r.count[0], 2);
        ck_assert_double_eq_tol(r.found[0].score, wanted.score, 1e-12);
        ck_assert_int_eq(r.found[0].length, wanted.length);
        if (wanted.length)
            ck_assert_int_eq(
                memcmp(r.found[0].token, wanted.token, (size_t)wanted.length * sizeof *token), 0);
        ck_assert(r.found[1].score <= r.found[0].score);
        gsa_beam_release(&r);
    }
}
END_TEST

/* Attention of a model without a network: a table, too. */
enum { SOURCES = 3 };
typedef double attention[STEPS + 1][LETTERS][SOURCES];

static void cover_all(const table *t, attention *a, const gsa_beam_options *o, double beta,
                      int32_t length, double log_p, int32_t *token, best *found)
{
    const int32_t last = length ? token[length - 1] : o->start[0];
    double score = (log_p + t->log_p[length][last][o->end]) / pow((5.0 + length + 1) / 6, o->alpha);
    for (int i = 0; i < SOURCES; i++) {
        double sum = 0;
        for (int32_t j = 0; j <= length; j++) sum += (*a)[j][j ? token[j - 1] : o->start[0]][i];
        score += beta * log(sum < 1 ? sum : 1);
    }
    if (score > found->score) {
        found->score = score, found->length = length;
        memcpy(found->token, token, (size_t)length * sizeof *token);
    }
    for (int32_t c = 0; c < LETTERS && length + 1 < STEPS; c++) {
        if (c == o->end) continue;
        token[length] = c;
        cover_all(t, a, o, beta, length + 1, log_p + t->log_p[length][last][c], token, found);
    }
}

/* With room for every prefix, what coverage ranks first is what equation 14 has best of all
 * sequences. */
START_TEST(coverage_ranks_as_brute_force)
{
    const int32_t start = 0, most = STEPS;
    const double betas[] = { 0, 0.2, 3 };
    int other = 0;
    for (uint64_t seed = 0; seed < 30; seed++) {
        table t = random_table(seed * 17 + (uint64_t)_i);
        attention a;
        gsa_dice dice = { seed };
        for (int s = 0; s <= STEPS; s++)
            for (int y = 0; y < LETTERS; y++) {
                for (int i = 0; i < SOURCES; i++) a[s][y][i] = 3 * gsa_normal(&dice);
                log_softmax(a[s][y], SOURCES);
                for (int i = 0; i < SOURCES; i++) a[s][y][i] = exp(a[s][y][i]);
            }
        const gsa_beam_options o = { .width = 300,
                                     .best = 300,
                                     .classes = LETTERS,
                                     .end = 1,
                                     .alpha = 0.6,
                                     .start = &start,
                                     .most = &most };
        gsa_beam_results r;
        best wanted = { .score = -INFINITY };
        int32_t token[STEPS];
        double extra[300] = { 0 };
        cover_all(&t, &a, &o, betas[_i], 0, 0, token, &wanted);
        ck_assert_int_eq(
            gsa_beam_search(NULL, &o, &(gsa_beam_model){ &t, table_next }, 1, &r, NULL), GSA_OK);
        const int32_t before = r.found[0].length;
        for (int32_t n = 0; n < r.count[0]; n++) {
            double sum[SOURCES + 1] = { 0, 0, 0, -1 }; /* the last one is read by nobody */
            for (int i = 0; i < SOURCES; i++)
                for (int32_t j = 0; j <= r.found[n].length; j++)
                    sum[i] += a[j][j ? r.found[n].token[j - 1] : start][i];
            extra[n] = betas[_i] * gsa_coverage_of(sum, SOURCES + 1);
        }
        gsa_beam_rank(&r, extra);
        ck_assert_double_eq_tol(r.found[0].score, wanted.score, 1e-12);
        ck_assert_int_eq(r.found[0].length, wanted.length);
        if (wanted.length)
            ck_assert_mem_eq(r.found[0].token, wanted.token, (size_t)wanted.length * sizeof *token);
        for (int32_t n = 1; n < r.count[0]; n++)
            ck_assert(r.found[n].score <= r.found[n - 1].score);
        other += r.found[0].length != before;
        gsa_beam_release(&r);
    }
    ck_assert_int_eq(other > 0, betas[_i] > 0); /* it does something */
}
END_TEST

START_TEST(a_beam_of_one_is_greedy)
{
    const int32_t start = 2, most = STEPS;
    for (uint64_t seed = 0; seed < 20; seed++) {
        table t = random_table(seed);
        const gsa_beam_options o = {
            .width = 1, .best = 1, .classes = LETTERS, .end = 3, .start = &start, .most = &most
        };
        gsa_beam_results r;
        gsa_error error = { GSA_OK, "" };
        ck_assert_int_eq(
            gsa_beam_search(NULL, &o, &(gsa_beam_model){ &t, table_next }, 1, &r, &error), GSA_OK);
        int32_t last = start;
        for (int32_t i = 0; i < r.found[0].length; i++) {
            int32_t top = -1; /* the likeliest that goes on */
            for (int32_t c = 0; c < LETTERS; c++)
                if (c != o.end && (top < 0 || t.log_p[i][last][c] > t.log_p[i][last][top])) top = c;
            ck_assert_int_eq(r.found[0].token[i], top);
            last = top;
        }
        gsa_beam_release(&r);
    }
}
END_TEST

START_TEST(beams_asked_wrongly)
{
    const int32_t start = 0, most = 3, none = 0;
    gsa_beam_results r;
    gsa_error error;
    table t = random_table(1);
    const gsa_beam_options right = {
        .width = 2, .best = 2, .classes = LETTERS, .end = 1, .start = &start, .most = &most
    };
    gsa_beam_options wrong[5];
    for (int i = 0; i < 5; i++) wrong[i] = right;
    wrong[0].width = 0, wrong[1].best = 3, wrong[2].end = LETTERS, wrong[3].alpha = -1,
    wrong[4].most = &none;
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(
            gsa_beam_search(NULL, &wrong[i], &(gsa_beam_model){ &t, table_next }, 1, &r, &error),
            GSA_ERR_ARGUMENT);
    t.step = 0, t.log_p[0][0][2] = NAN;
    ck_assert_int_eq(
        gsa_beam_search(NULL, &right, &(gsa_beam_model){ &t, table_next }, 1, &r, &error),
        GSA_ERR_FORMAT);
    ck_assert_int_eq(
        gsa_beam_search(NULL, &right, &(gsa_beam_model){ &t, table_next }, 0, &r, &error), GSA_OK);
    gsa_beam_release(&r);
}
END_TEST

static gsa_status search_with(gsa_faults *faults, void *context)
{
    const int32_t start[] = { 0, 2 }, most[] = { 4, 5 };
    gsa_beam_options o = { .width = 3,
                           .best = 3,
                           .classes = LETTERS,
                           .end = 1,
                           .alpha = 1,
                           .start = start,
                           .most = most };
    table t = *(table *)context;
    gsa_beam_results r;
    gsa_error error;
    const gsa_status status =
        gsa_beam_search(&faults->table, &o, &(gsa_beam_model){ &t, table_next }, 2, &r, &error);
    gsa_beam_release(&r);
    return status;
}

START_TEST(a_lack_of_memory_is_told)
{
    table t = random_table(4);
    ck_assert_int_gt(gsa_faults_sweep(GSA_OP_ALLOC, 0, GSA_ERR_MEMORY, search_with, &t), 10);
}
END_TEST

/* ---- written ------------------------------------------------------------------------------- */
static const struct {
    const char *bytes, *written;
    int raw;
} bytes[] = {
    { "abc\n", "abc\n", 0 },
    { "\xc3\xa4", "\xc3\xa4", 0 },
    { "\xe2\x82\xac"
      "x",
      "\xe2\x82\xac"
      "x",
      0 },
    { "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", 0 },
    { "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf", 0 },
    { "\xf4\x90", "\xef\xbf\xbd\xef\xbf\xbd", 0 },
    { "\xe2\x82x", "\xef\xbf\xbdx", 0 },
    { "\xe2\x82\xc3\xa4", "\xef\xbf\xbd\xc3\xa4", 0 },
    { "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", 0 },
    { "\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd", 0 },
    { "\x80\xff", "\xef\xbf\xbd\xef\xbf\xbd", 0 },
    { "a\xe2\x82", "a\xef\xbf\xbd", 0 },
    { "a\xe2\x82", "a\xe2\x82", 1 },
    { "\xff", "\xff", 1 },
};

START_TEST(characters_are_written_whole)
{
    gsa_error error;
    gsa_units units = { 0 };
    gsa_unit_counts counts = { 0 };
    ck_assert_int_eq(gsa_vocabulary_create(gsa_system_default(), &counts.words, &error), GSA_OK);
    ck_assert_int_eq(
        gsa_units_learn(gsa_system_default(), GSA_TOKENS_BYTES, &counts, 1, 0, &units, &error),
        GSA_OK);
    gsa_vocabulary_release(counts.words);
    gsa_written w = { .units = &units, .raw = bytes[_i].raw };
    for (const char *c = bytes[_i].bytes; *c; c++) {
        const int32_t id = gsa_units_id(&units, (gsa_slice){ c, 1 });
        ck_assert_int_eq(gsa_written_token(gsa_system_default(), &w, id, &error), GSA_OK);
    }
    ck_assert_int_eq(gsa_written_end(gsa_system_default(), &w, &error), GSA_OK);
    ck_assert_int_eq(w.bytes, (int64_t)strlen(bytes[_i].written));
    ck_assert_int_eq(memcmp(w.text, bytes[_i].written, (size_t)w.bytes), 0);
    gsa_written_release(gsa_system_default(), &w);
    gsa_units_release(&units);
}
END_TEST

/* ---- texts --------------------------------------------------------------------------------- */
/* Texts of a trained model into a file, which is read back. */
static char *texts_of(rig *r, const gsa_generate_options *how, const char *input)
{
    char model[300], out[300], in[300];
    int64_t count;
    gsa_error error = { GSA_OK, "" };
    snprintf(model, sizeof model, "%s", gsa_scratch_path(&r->scratch, "run"));
    snprintf(out, sizeof out, "%s", gsa_scratch_path(&r->scratch, "out.txt"));
    snprintf(in, sizeof in, "%s", gsa_scratch_path(&r->scratch, "in.txt"));
    if (input) gsa_put_file(in, input, (int64_t)strlen(input));
    const gsa_apply_options apply = {
        .model = model, .threads = 1, .backend = r->backend, .input = in, .output = out
    };
    ck_assert_msg(gsa_generate(NULL, &apply, how, &error) == GSA_OK, "%s", error.text);
    return gsa_get_file(out, &count);
}

/* Greedy, by whole passes over what a model of `most` positions reads: a token more than that
 * leaves the last half. */
static void slide_slowly(rig *r, const char *prompt, int64_t tokens, int32_t most, char *wanted)
{
    gsa_session session;
    char model[300];
    int32_t window[64] = { 0 }, held = 0, *id, outputs, top;
    int64_t count;
    snprintf(model, sizeof model, "%s", gsa_scratch_path(&r->scratch, "run"));
    const gsa_apply_options apply = { .model = model, .threads = 1, .backend = r->backend };
    ck_assert_int_eq(gsa_apply_open(gsa_system_default(), &apply, 0, &session, &r->error), GSA_OK);
    const gsa_units *units = gsa_language_units(session.self);
    gsa_written own = { .units = units };
    outputs = session.model.plan.outputs;
    double *logits = malloc((size_t)outputs * sizeof *logits);
    ck_assert_int_eq(
        gsa_language_ids(session.self, prompt, (int64_t)strlen(prompt), &id, &count, &r->error),
        GSA_OK);
    for (int64_t i = -1; i < count + tokens; i++) {
        if (i >= count) {
            ck_assert_int_eq(gsa_language_next(&session, window, held, logits, &r->error), GSA_OK);
            top = GSA_WORD_UNKNOWN + 1 - units->first_class;
            for (int32_t c = top; c < outputs; c++) top = logits[c] > logits[top] ? c : top;
            top += units->first_class;
        } else top = i < 0 ? units->line_end : id[i];
        if (i >= 0)
            ck_assert_int_eq(gsa_written_token(gsa_system_default(), &own, top, &r->error), GSA_OK);
        if (held == most) {
            held = most / 2 - 1;
            memmove(window, window + most - held, (size_t)held * sizeof *window);
        }
        window[held++] = top;
    }
    ck_assert_int_eq(gsa_written_end(gsa_system_default(), &own, &r->error), GSA_OK);
    snprintf(wanted, 256, "%.*s%s", (int)own.bytes, own.text,
             own.text[own.bytes - 1] == '\n' ? "" : "\n");
    gsa_written_release(gsa_system_default(), &own);
    gsa_release(gsa_system_default(), id);
    free(logits);
    gsa_session_release(&session);
}

static void train_text(rig *r, const char *tokens)
{
    static char sets[3][300];
    rig_open(r, recipe, GSA_F64, 1);
    gsa_put_file(gsa_scratch_path(&r->scratch, "text.txt"), text, sizeof text - 1);
    r->data[0] = r->data[1] = "text.txt";
    rig_set(r, "model.encoder=bpt:k=2:causal=1,window:causal=1");
    snprintf(sets[0], sizeof sets[0], "data.tokens=%s", tokens);
    rig_set(r, sets[0]);
    rig_train_ok(r, "run");
}

START_TEST(a_text_does_not_hang_on_others)
{
    rig r;
    train_text(&r, "chars");
    gsa_generate_options how = { .prompt = "the ",
                                 .tokens = 30,
                                 .count = 3,
                                 .seed = 4,
                                 .sampling = { 1, 0.9, 0, 0 },
                                 .echo = 1 };
    char *three = texts_of(&r, &how, NULL), *again = texts_of(&r, &how, NULL);
    how.count = 1;
    char *one = texts_of(&r, &how, NULL);
    ck_assert_str_eq(three, again);
    ck_assert_int_eq(strncmp(three, one, strlen(one)), 0);
    ck_assert_int_eq(strncmp(one, "the ", 4), 0);
    how.seed = 5;
    char *other = texts_of(&r, &how, NULL);
    ck_assert_str_ne(one, other);
    how.sampling.temperature = 0;
    char *greedy = texts_of(&r, &how, NULL);
    how.seed = 6;
    char *same = texts_of(&r, &how, NULL);
    ck_assert_str_eq(greedy, same);
    free(three), free(again), free(one), free(other), free(greedy), free(same);
    rig_close(&r);
}
END_TEST

/* Whatever part of a text is the prompt: as if it had come token by token. */
START_TEST(texts_slide_over_learned_positions)
{
    static const char *const prompts[] = { "the ", "the cat sat on the mat and the dog" };
    rig r;
    char wanted[256];
    rig_open(&r, recipe, GSA_F64, 1);
    gsa_put_file(gsa_scratch_path(&r.scratch, "text.txt"), text, sizeof text - 1);
    r.data[0] = r.data[1] = "text.txt";
    rig_set(&r, "model.encoder=bpt:k=2:causal=1,full:causal=1");
    rig_set(&r, "model.position=learned");
    rig_set(&r, "model.position_max=16");
    rig_set(&r, "train.max_steps=60");
    rig_set(&r, "train.epochs=60");
    rig_set(&r, "train.lr=0.01");
    rig_train_ok(&r, "run");
    for (int i = 0; i < GSA_COUNT(prompts); i++) {
        const gsa_generate_options how = {
            .prompt = prompts[i], .tokens = 50, .count = 2, .sampling = { 0, 1, 0, 0 }, .echo = 1
        };
        slide_slowly(&r, prompts[i], 50, 16, wanted);
        char *got = texts_of(&r, &how, NULL);
        const size_t n = strlen(wanted);
        ck_assert_msg(strlen(got) == 2 * n && strncmp(got, wanted, n) == 0 &&
                          strcmp(got + n, wanted) == 0,
                      "'%s', expected twice '%s'", got, wanted);
        free(got);
    }
    rig_close(&r);
}
END_TEST

/* The texts of a list of prompts are those of each prompt, one below the other; with `line` they
 * hold no line end but the last. */
START_TEST(prompts_one_a_line)
{
    rig r;
    train_text(&r, "words");
    const gsa_generate_options how = {
        .tokens = 25, .count = 2, .seed = 4, .sampling = { 1, 1, 0, 0 }, .line = 1, .echo = 1
    };
    char *all = texts_of(&r, &how, "the cat\n\na dog\n"), *at = all;
    int lines = 0;
    for (; *at; lines++) {
        char *end = strchr(at, '\n');
        ck_assert_ptr_nonnull(end);
        *end = 0;
        if (lines < 2) ck_assert_int_eq(strncmp(at, "the cat", 7), 0);
        if (lines >= 4) ck_assert_int_eq(strncmp(at, "a dog", 5), 0);
        ck_assert_ptr_null(strstr(at, "<unk>"));
        at = end + 1;
    }
    ck_assert_int_eq(lines, 6);
    free(all);
    rig_close(&r);
}
END_TEST

START_TEST(only_language_models)
{
    rig r;
    char model[300];
    gsa_error error = { GSA_OK, "" };
    rig_open(&r, rig_summation, GSA_F64, 1);
    rig_train_ok(&r, "run");
    snprintf(model, sizeof model, "%s", gsa_scratch_path(&r.scratch, "run"));
    const gsa_apply_options apply = {
        .model = model, .threads = 1, .backend = r.backend, .output = "-"
    };
    const gsa_generate_options how = {
        .prompt = "x", .tokens = 2, .count = 1, .sampling = { 1, 1, 0, 0 }
    };
    ck_assert_int_eq(gsa_generate(NULL, &apply, &how, &error), GSA_ERR_ARGUMENT);
    ck_assert_str_eq(
        error.text,
        "the model's task is masked_summation: only a language model goes on with a text");
    rig_close(&r);
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test next[] = { GSA_LOOP(next_is_as_by_whole_passes, GSA_COUNT(models)),
                                     GSA_TEST(models_that_cannot) };
    static const gsa_test beams[] = { GSA_LOOP(beams_are_as_by_slow_recomputation,
                                               GSA_COUNT(models)),
                                      GSA_LOOP(a_wide_beam_finds_the_best_of_all, 4),
                                      GSA_LOOP(coverage_ranks_as_brute_force, 3),
                                      GSA_TEST(a_beam_of_one_is_greedy),
                                      GSA_TEST(beams_asked_wrongly),
                                      GSA_TEST(a_lack_of_memory_is_told) };
    static const gsa_test written[] = { GSA_LOOP(characters_are_written_whole, GSA_COUNT(bytes)) };
    static const gsa_test texts[] = { GSA_TEST(a_text_does_not_hang_on_others),
                                      GSA_TEST(texts_slide_over_learned_positions),
                                      GSA_TEST(prompts_one_a_line),
                                      GSA_TEST(only_language_models) };
    static const gsa_case cases[] = { GSA_CASE("next", next, 60), GSA_CASE("beams", beams, 60),
                                      GSA_CASE("written", written, 30),
                                      GSA_CASE("texts", texts, 60) };
    return gsa_run_suite("generate", cases, GSA_COUNT(cases), argc, argv);
}
