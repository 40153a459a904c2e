#include "train/decode/generate.h"
#include "graph/index.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "train/driver/alike.h"
#include "train/use/apply.h"
#include "train/use/turns.h"
#include "train/decode/language.h"
#include "train/data/encoding.h"
#include "train/data/lines.h"
#include "train/decode/next.h"
#include "train/data/plain.h"
#include "train/decode/written.h"

typedef struct generator {
    gsa_session session;
    const gsa_system *system;
    const gsa_generate_options *o;
    const gsa_apply_options *apply;
    const gsa_units *units;
    gsa_turns turns;
    gsa_sampler *sampler;
    gsa_written *text;            /* [count] */
    double *logits;               /* [count][outputs] */
    int32_t *id, *length, *alive; /* [count]; alive: numbers of the texts that go on */
    int32_t limit,
        keep;        /* positions that the model has; tokens that stay where a text grows beyond */
    int32_t *recent; /* [count][keep] newest tokens, token i of a text at i % keep */
    int32_t *again;  /* [count * keep] of all texts that go on, side by side */
    int said;        /* 1: that texts slide */
    int zero;
    int64_t told;          /* bytes of the first text that were written */
    int64_t drawn;         /* tokens of all texts */
    double seconds, first; /* of drawing; of reading the prompts */
} generator;

/* ---- what is written ----------------------------------------------------------------------- */
static void tell(generator *g)
{
    gsa_output_write(g->turns.part, g->text[0].text + g->told, g->text[0].bytes - g->told);
    g->told = g->text[0].bytes;
    gsa_output_flush(g->turns.part);
}

static gsa_status end_texts(generator *g, gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int32_t t = 0; t < g->o->count && status == GSA_OK; t++) {
        gsa_written *text = &g->text[t];
        status = gsa_written_end(g->system, text, error);
        if (t > 0) gsa_output_write(g->turns.part, text->text, text->bytes);
        else tell(g);
        if (!g->o->raw && (text->bytes == 0 || text->text[text->bytes - 1] != '\n'))
            gsa_output_text(g->turns.part, "\n");
        text->bytes = 0;
    }
    g->told = 0;
    gsa_output_flush(g->turns.part);
    return status;
}

/* ---- one prompt ---------------------------------------------------------------------------- */
static gsa_status draw(generator *g, int64_t prompt, int64_t at, int32_t row, gsa_error *error)
{
    const int32_t outputs = g->session.model.plan.outputs, first = g->units->first_class;
    double *logits = g->logits + (int64_t)row * outputs;
    const int32_t t = g->alive[row];
    int32_t drawn = 0;
    if (first <= GSA_WORD_UNKNOWN) logits[GSA_WORD_UNKNOWN - first] = -INFINITY;
    const double u = gsa_sample_uniform(g->o->seed, (uint32_t)t, prompt << 32 | at);
    const gsa_status status = gsa_sampler_draw(g->sampler, logits, u, &drawn, NULL, error);
    if (status != GSA_OK) return status;
    g->id[row] = drawn + first;
    g->drawn++;
    return gsa_written_token(g->system, &g->text[t], g->id[row], error);
}

/* Tokens that the model reads of a text of n: all, or beyond its positions the newest ones.
 * Whenever no position is left it begins anew with `keep` of them, so what is read goes with n
 * alone. */
static int32_t read_of(const generator *g, int64_t n)
{
    return (int32_t)(n <= g->limit ? n : g->keep + (n - g->limit - 1) % (g->limit - g->keep + 1));
}

/* Reads the newest tokens of the texts that go on, of n each, as if they were alone. */
static gsa_status begin_anew(generator *g, gsa_next *next, int32_t living, int64_t n,
                             gsa_error *error)
{
    const gsa_status status = gsa_next_begin(next, living, error);
    for (int32_t i = 0; i < living; i++) {
        const int32_t *recent = g->recent + (int64_t)g->alive[i] * g->keep;
        for (int32_t k = 0; k < g->keep; k++)
            g->again[(int64_t)i * g->keep + k] = recent[(n - g->keep + k) % g->keep];
        g->length[i] = g->keep;
    }
    return status == GSA_OK ? gsa_next_append(next, g->again, g->length, g->logits, error) : status;
}

/* Those that have met their end go; the others have n tokens now. */
static gsa_status go_on(generator *g, gsa_next *next, int32_t *living, int64_t n, gsa_error *error)
{
    int32_t stay = 0;
    for (int32_t i = 0; i < *living; i++) {
        if (g->o->line && g->id[i] == g->units->line_end) continue;
        g->id[stay] = g->id[i], g->alive[stay] = g->alive[i], g->length[stay++] = i;
    }
    const int anew = n > g->limit && read_of(g, n) == g->keep;
    gsa_status status =
        stay < *living && !anew ? gsa_next_choose(next, g->length, stay, error) : GSA_OK;
    *living = stay;
    for (int32_t i = 0; g->keep && i < stay; i++)
        g->recent[(int64_t)g->alive[i] * g->keep + (n - 1) % g->keep] = g->id[i];
    if (anew && stay > 0) return begin_anew(g, next, stay, n, error);
    for (int32_t i = 0; i < stay; i++) g->length[i] = 1;
    if (status == GSA_OK && stay > 0)
        status = gsa_next_append(next, g->id, g->length, g->logits, error);
    return status;
}

static gsa_status spread(generator *g, gsa_next *next, gsa_error *error)
{
    const int32_t outputs = g->session.model.plan.outputs;
    for (int32_t t = 0; t < g->o->count; t++) {
        g->length[t] = 0, g->alive[t] = t;
        if (t > 0)
            memcpy(g->logits + (int64_t)t * outputs, g->logits,
                   (size_t)outputs * sizeof *g->logits);
    }
    return g->o->count > 1 ? gsa_next_choose(next, g->length, g->o->count, error) : GSA_OK;
}

/* After a prompt of n tokens. */
static gsa_status write_texts(generator *g, gsa_next *next, int64_t prompt, int64_t n,
                              gsa_error *error)
{
    int32_t living = g->o->count;
    gsa_status status = GSA_OK;
    const double start = gsa_seconds();
    for (int64_t at = 0; at < g->o->tokens && living > 0 && status == GSA_OK; at++) {
        for (int32_t i = 0; i < living && status == GSA_OK; i++)
            status = draw(g, prompt, at, i, error);
        if (status == GSA_OK) tell(g);
        if (status == GSA_OK && at + 1 < g->o->tokens)
            status = go_on(g, next, &living, n + at + 1, error);
    }
    g->seconds += gsa_seconds() - start;
    return status == GSA_OK ? end_texts(g, error) : status;
}

/* The line end before the text, then its tokens. */
static gsa_status ids_of(generator *g, const char *text, int64_t bytes, int32_t **id,
                         int64_t *count, gsa_error *error)
{
    int32_t *own;
    gsa_status status = gsa_language_ids(g->session.self, text, bytes, &own, count, error);
    if (status != GSA_OK) return status;
    *id = gsa_alloc(g->system, (size_t)*count + 1, sizeof **id);
    if (*id) {
        (*id)[0] = g->units->line_end;
        if (*count) memcpy(*id + 1, own, (size_t)*count * sizeof *own);
        ++*count;
    } else status = gsa_out_of_memory(error, "a prompt", *count * 4);
    gsa_release(g->system, own);
    if (status == GSA_OK && *count + g->o->tokens > gsa_index_most) {
        gsa_release(g->system, *id);
        status = gsa_fail(error, GSA_ERR_LIMIT, "%lld tokens after a prompt of %lld are too many",
                          (long long)g->o->tokens, (long long)*count);
    }
    return status;
}

static gsa_status echo(generator *g, const int32_t *id, int64_t count, gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int32_t t = 0; t < g->o->count; t++) {
        g->text[t].blank = 0;
        for (int64_t i = 1; i < count && g->o->echo && status == GSA_OK; i++)
            status = gsa_written_token(g->system, &g->text[t], id[i], error);
    }
    return status;
}

static void say_slides(generator *g)
{
    char sentence[200];
    snprintf(sentence, sizeof sentence,
             "texts grow longer than the %d positions that the model has learned: beyond, a token "
             "is drawn from the %d to %d "
             "tokens before it",
             g->limit, g->keep, g->limit);
    if (!g->said) gsa_apply_say((void *)(uintptr_t)g->apply, sentence);
    g->said = 1;
}

static gsa_status answer(generator *g, int64_t prompt, const char *text, int64_t bytes,
                         gsa_error *error)
{
    int32_t *id;
    int64_t count;
    gsa_next *next = NULL;
    gsa_status status = ids_of(g, text, bytes, &id, &count, error);
    if (status != GSA_OK) return status;
    const int32_t length = read_of(g, count);
    const int64_t longest = count + g->o->tokens - 1;
    const double start = gsa_seconds();
    if (longest > g->limit) say_slides(g);
    for (int64_t i = count > g->keep ? count - g->keep : 0; g->keep && i < count; i++)
        for (int32_t t = 0; t < g->o->count; t++)
            g->recent[(int64_t)t * g->keep + i % g->keep] = id[i];
    status = gsa_next_create(&g->session, (int32_t)(longest < g->limit ? longest : g->limit), &next,
                             error);
    if (status == GSA_OK) status = gsa_next_begin(next, 1, error);
    if (status == GSA_OK)
        status = gsa_next_append(next, id + count - length, &length, g->logits, error);
    g->first += gsa_seconds() - start;
    if (status == GSA_OK) status = echo(g, id, count, error);
    if (status == GSA_OK) status = spread(g, next, error);
    if (status == GSA_OK) status = write_texts(g, next, prompt, count, error);
    gsa_next_release(next);
    gsa_release(g->system, id);
    return status;
}

/* ---- all of them --------------------------------------------------------------------------- */
static gsa_status answer_lines(generator *g, const char *path, gsa_error *error)
{
    char *bytes, *line;
    int64_t count, turn = 0;
    gsa_group *group = g->apply->group;
    const int64_t ranks = gsa_group_ranks(group), rank = gsa_group_rank(group);
    gsa_status status = gsa_read_file(g->system, path, INT64_C(1) << 36, &bytes, &count, error);
    if (status != GSA_OK) return status;
    gsa_lines lines = gsa_lines_start(gsa_input_name(path), bytes, count);
    while (status == GSA_OK && gsa_lines_next(&lines, &line, &count)) {
        if (g->units->kind != GSA_TOKENS_BYTES)
            status = gsa_lines_check(&lines, line, count, error);
        if (status == GSA_OK && turn == rank) status = answer(g, lines.number, line, count, error);
        if (++turn == ranks) status = gsa_turns_next(&g->turns, status, error), turn = 0;
    }
    if (turn > 0) status = gsa_turns_next(&g->turns, status, error);
    gsa_release(g->system, bytes);
    return status;
}

/* Of the command line, which is rank 0's. */
static gsa_status answer_prompt(generator *g, gsa_error *error)
{
    const char *prompt = g->o->prompt;
    const gsa_status status = gsa_group_rank(g->apply->group) > 0
                                  ? GSA_OK
                                  : answer(g, 0, prompt, (int64_t)strlen(prompt), error);
    return gsa_turns_next(&g->turns, status, error);
}

/* Scores of all texts are side by side. */
static gsa_status check_count(int64_t count, int64_t outputs, gsa_error *error)
{
    const int64_t bytes = count * outputs * (int64_t)sizeof(double), most = INT64_C(1) << 32;
    return bytes <= most
               ? GSA_OK
               : gsa_fail(error, GSA_ERR_LIMIT,
                          "%lld texts side by side have %lld bytes of scores, expected at most "
                          "%lld: the model can "
                          "draw %lld tokens",
                          (long long)count, (long long)bytes, (long long)most, (long long)outputs);
}

static gsa_status prepare(generator *g, gsa_error *error)
{
    const gsa_generate_options *o = g->o;
    const size_t count = (size_t)o->count;
    const int64_t outputs = g->session.model.plan.outputs;
    if (o->count < 1 || o->tokens < 1)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "%d texts of %lld tokens, expected at least 1 of each", o->count,
                        (long long)o->tokens);
    if (strcmp(g->session.task->name, "language_modelling") != 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "the model's task is %s: only a language model goes on with a text",
                        g->session.task->name);
    g->units = gsa_language_units(g->session.self);
    if (o->line && g->units->line_end == 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "a line end is to end a text, but the model's texts have none");
    const gsa_status status = check_count(o->count, outputs, error);
    if (status != GSA_OK) return status;
    g->text = gsa_alloc_zero(g->system, count, sizeof *g->text);
    g->logits = gsa_alloc(g->system, count * (size_t)outputs, sizeof *g->logits);
    g->id = gsa_alloc(g->system, 3 * count, sizeof *g->id);
    if (!g->text || !g->logits || !g->id)
        return gsa_out_of_memory(error, "texts",
                                 (int64_t)count * outputs * (int64_t)sizeof *g->logits);
    g->length = g->id + count, g->alive = g->length + count;
    for (size_t t = 0; t < count; t++) g->text[t].units = g->units, g->text[t].raw = o->raw;
    return gsa_sampler_create(g->system, &o->sampling, (int32_t)outputs, &g->sampler, error);
}

/* Learned positions end; sinusoids and models without any do not. */
static gsa_status prepare_to_slide(generator *g, gsa_error *error)
{
    const gsa_settings *settings = &g->session.model.settings;
    const size_t count = (size_t)g->o->count;
    g->limit = INT32_MAX;
    if (settings->position != GSA_POSITION_LEARNED) return GSA_OK;
    g->limit = settings->position_max;
    g->keep = g->limit > 1 ? g->limit / 2 : 1;
    g->recent = gsa_alloc(g->system, 2 * count * (size_t)g->keep, sizeof *g->recent);
    if (!g->recent) return gsa_out_of_memory(error, "texts", (int64_t)count * g->keep * 8);
    g->again = g->recent + count * (size_t)g->keep;
    return GSA_OK;
}

static void release(generator *g)
{
    for (int32_t t = 0; g->text && t < g->o->count; t++)
        gsa_written_release(g->system, &g->text[t]);
    gsa_release(g->system, g->text);
    gsa_release(g->system, g->logits);
    gsa_release(g->system, g->id);
    gsa_release(g->system, g->recent);
    gsa_sampler_release(g->sampler);
    gsa_session_release(&g->session);
}

static gsa_status generate(generator *g, gsa_error *error)
{
    char sentence[160];
    const gsa_apply_options *options = g->apply;
    const char *input = g->o->prompt ? NULL : options->input ? options->input : "-";
    gsa_status status = prepare(g, error);
    if (status == GSA_OK) status = prepare_to_slide(g, error);
    status = gsa_alike_file(input ? options->group : NULL, g->system, input, status, error);
    if (status == GSA_OK)
        status = gsa_turns_begin(g->system, options->group, options->output ? options->output : "-",
                                 &g->turns, error);
    if (status != GSA_OK) return status;
    if (input) status = answer_lines(g, input, error);
    else status = answer_prompt(g, error);
    snprintf(sentence, sizeof sentence, "prompts %.3f s, then %lld tokens, %.3f ms each%s",
             g->first, (long long)g->drawn, g->drawn ? 1e3 * g->seconds / (double)g->drawn : 0,
             options->group ? ", on this rank" : "");
    if (status == GSA_OK) gsa_apply_say((void *)(uintptr_t)options, sentence);
    return gsa_turns_end(&g->turns, status, error);
}

gsa_status gsa_generate(const gsa_system *system, const gsa_apply_options *options,
                        const gsa_generate_options *how, gsa_error *error)
{
    generator g = { .system = system ? system : gsa_system_default(), .o = how, .apply = options };
    const gsa_plain plain = gsa_plain_begin();
    gsa_status status = gsa_apply_open(g.system, options, 0, &g.session, error);
    if (status == GSA_OK) {
        status = generate(&g, error);
        release(&g);
    }
    gsa_plain_end(plain);
    return status;
}
