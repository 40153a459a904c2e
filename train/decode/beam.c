#include "graph/system_parts.h"
#include "train/decode/beam.h"
#include "graph/index.h"
#include <math.h>
#include <string.h>

typedef struct beam_node { /* a token and what is before it */
    int32_t before, token; /* before -1: the text's start */
} beam_node;

typedef struct beam_row { /* a living hypothesis, or one that could be */
    double log_p;
    int32_t node, row, token; /* row: of the model's last call */
} beam_row;

typedef struct beam_end { /* a finished one */
    double score, log_p;
    int32_t node, length;
} beam_end;

typedef struct beam_text {
    int32_t living, finished, done;
    beam_row *live; /* [width] */
    beam_end *end;  /* [width], the best first */
} beam_text;

typedef struct beam_search {
    const gsa_system *system;
    const gsa_beam_options *o;
    const gsa_beam_model *model;
    int32_t texts;
    beam_text *text;
    beam_row *lives, *candidate; /* candidate [2 width] */
    beam_end *ends;
    beam_node *node;
    int64_t nodes, room;
    int32_t *parent, *token; /* [texts width] */
    double *log_p;           /* [texts width][classes] */
} beam_search;

double gsa_beam_penalty_of(const gsa_beam_options *o, int32_t length)
{
    return pow(o->penalty == GSA_BEAM_WU ? (5 + length) / 6.0 : length, o->alpha);
}

/* ---- making and ending --------------------------------------------------------------------- */
static gsa_status check_options(const gsa_beam_options *o, int32_t texts, gsa_error *error)
{
    if (o->width < 1 || o->best < 1 || o->best > o->width || o->width > 1 << 16)
        return gsa_fail(
            error, GSA_ERR_ARGUMENT,
            "a beam of %d, of which the best %d are requested: expected 1 <= best <= width",
            o->width, o->best);
    if (o->classes < 1 || o->end < 0 || o->end >= o->classes)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "beam search: token %d ends a sequence, but the tokens are 0 .. %d", o->end,
                        o->classes - 1);
    if (!(o->alpha >= 0 && isfinite(o->alpha)))
        return gsa_fail(error, GSA_ERR_ARGUMENT, "beam search: alpha = %g, expected 0 or more",
                        gsa_shown(o->alpha));
    for (int32_t t = 0; t < texts; t++)
        if (o->most[t] < 1)
            return gsa_fail(error, GSA_ERR_ARGUMENT,
                            "beam search: text %d may have %d tokens, expected at least 1", t,
                            o->most[t]);
    return GSA_OK;
}

static void end_search(beam_search *s)
{
    void *const all[] = { s->text, s->lives,  s->candidate, s->ends,
                          s->node, s->parent, s->token,     s->log_p };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) gsa_release(s->system, all[i]);
}

static gsa_status begin_search(beam_search *s, gsa_error *error)
{
    const size_t width = (size_t)s->o->width, rows = (size_t)s->texts * width;
    int64_t numbers;
    if (!gsa_mul((int64_t)rows, s->o->classes, &numbers) || rows > (size_t)gsa_index_most)
        return gsa_fail(error, GSA_ERR_LIMIT,
                        "beam search: %d texts with %d hypotheses are too many", s->texts,
                        s->o->width);
    s->text = gsa_alloc_zero(s->system, (size_t)s->texts, sizeof *s->text);
    s->lives = gsa_alloc(s->system, rows, sizeof *s->lives);
    s->ends = gsa_alloc(s->system, rows, sizeof *s->ends);
    s->candidate = gsa_alloc(s->system, 2 * width, sizeof *s->candidate);
    s->parent = gsa_alloc(s->system, rows, sizeof *s->parent);
    s->token = gsa_alloc(s->system, rows, sizeof *s->token);
    s->log_p = gsa_alloc(s->system, (size_t)numbers, sizeof *s->log_p);
    if (!s->text || !s->lives || !s->ends || !s->candidate || !s->parent || !s->token || !s->log_p)
        return gsa_out_of_memory(error, "beam search", numbers * (int64_t)sizeof *s->log_p);
    for (int32_t t = 0; t < s->texts; t++) {
        s->text[t] = (beam_text){ .living = 1,
                                  .live = s->lives + (size_t)t * width,
                                  .end = s->ends + (size_t)t * width };
        s->text[t].live[0] = (beam_row){ .node = -1, .row = t, .token = s->o->start[t] };
    }
    return GSA_OK;
}

/* ---- one step of one text ------------------------------------------------------------------ */
/* Puts a candidate into its place among the `most` likeliest; returns how many there are. Those
 * that come later follow equals. */
static int32_t insert(beam_row *list, int32_t count, int32_t most, beam_row row)
{
    if (row.log_p == -INFINITY || (count == most && !(row.log_p > list[most - 1].log_p)))
        return count;
    int32_t at = count < most ? count : most - 1;
    for (; at > 0 && row.log_p > list[at - 1].log_p; at--) list[at] = list[at - 1];
    list[at] = row;
    return count < most ? count + 1 : most;
}

/* The likeliest continuations; of a text that must end, its ends. */
static int32_t find_candidates(const beam_search *s, const beam_text *t, int must_end,
                               gsa_error *error)
{
    int32_t count = 0;
    for (int32_t h = 0; h < t->living; h++) {
        const beam_row *live = &t->live[h];
        const double *log_p = s->log_p + (int64_t)live->row * s->o->classes;
        for (int32_t c = must_end ? s->o->end : 0; c < (must_end ? s->o->end + 1 : s->o->classes);
             c++) {
            if (!(log_p[c] <= 1e-3)) /* a little above 0 by rounding */
                return gsa_fail(error, GSA_ERR_FORMAT, "beam search: the model gives log p = %g",
                                gsa_shown(log_p[c])),
                       -1;
            count = insert(s->candidate, count, 2 * s->o->width,
                           (beam_row){ live->log_p + log_p[c], live->node, live->row, c });
        }
    }
    return count;
}

static void finish(const beam_search *s, beam_text *t, const beam_row *row, int32_t length)
{
    const beam_end end = { row->log_p / gsa_beam_penalty_of(s->o, length), row->log_p, row->node,
                           length - 1 };
    if (t->finished == s->o->width && !(end.score > t->end[t->finished - 1].score)) return;
    int32_t at = t->finished < s->o->width ? t->finished++ : t->finished - 1;
    for (; at > 0 && end.score > t->end[at - 1].score; at--) t->end[at] = t->end[at - 1];
    t->end[at] = end;
}

static gsa_status grow(beam_search *s, beam_row *row, gsa_error *error)
{
    if (s->nodes == s->room) {
        const int64_t room = s->room ? 2 * s->room : 1024;
        beam_node *node =
            room <= INT32_MAX ? gsa_resize(s->system, s->node, (size_t)room, sizeof *node) : NULL;
        if (!node) return gsa_out_of_memory(error, "hypotheses", room * (int64_t)sizeof *node);
        s->node = node, s->room = room;
    }
    s->node[s->nodes] = (beam_node){ row->node, row->token };
    row->node = (int32_t)s->nodes++;
    return GSA_OK;
}

/* `step` tokens are in the text when this one is done. */
static gsa_status step_text(beam_search *s, int32_t at, int32_t step, gsa_error *error)
{
    beam_text *t = &s->text[at];
    const int must_end = step == s->o->most[at];
    const int32_t count = find_candidates(s, t, must_end, error);
    if (count < 0) return error ? error->status : GSA_ERR_FORMAT;
    t->living = 0;
    for (int32_t i = 0; i < count && t->living < s->o->width; i++) {
        beam_row *row = &s->candidate[i];
        if (row->token == s->o->end) {
            if (i < s->o->width) finish(s, t, row, step);
            continue;
        }
        const gsa_status status = grow(s, row, error);
        if (status != GSA_OK) return status;
        t->live[t->living++] = *row;
    }
    const double hope =
        t->living ? t->live[0].log_p / gsa_beam_penalty_of(s->o, s->o->most[at]) : -INFINITY;
    t->done =
        t->living == 0 || (t->finished == s->o->width && hope <= t->end[t->finished - 1].score);
    return GSA_OK;
}

/* ---- all texts ----------------------------------------------------------------------------- */
static int32_t list_rows(beam_search *s)
{
    int32_t count = 0;
    for (int32_t t = 0; t < s->texts; t++)
        for (int32_t h = 0; h < s->text[t].living && !s->text[t].done; h++, count++) {
            beam_row *live = &s->text[t].live[h];
            s->parent[count] = live->row, s->token[count] = live->token;
            live->row = count;
        }
    return count;
}

static gsa_status search(beam_search *s, gsa_error *error)
{
    gsa_status status = GSA_OK;
    for (int32_t step = 1; status == GSA_OK; step++) {
        const int32_t count = list_rows(s);
        if (count == 0) break;
        status = s->model->next(s->model->context, s->parent, s->token, count, s->log_p, error);
        for (int32_t t = 0; t < s->texts && status == GSA_OK; t++)
            if (!s->text[t].done) status = step_text(s, t, step, error);
    }
    return status;
}

static gsa_status tell_one(const beam_search *s, const beam_end *end, gsa_beam_found *found,
                           gsa_error *error)
{
    *found = (gsa_beam_found){ end->score, end->log_p, end->length, 0, NULL };
    found->token = gsa_alloc(s->system, (size_t)end->length, sizeof *found->token);
    if (!found->token)
        return gsa_out_of_memory(error, "a hypothesis",
                                 end->length * (int64_t)sizeof *found->token);
    for (int32_t i = end->length - 1, node = end->node; i >= 0; i--, node = s->node[node].before)
        found->token[i] = s->node[node].token;
    return GSA_OK;
}

static gsa_status tell(const beam_search *s, gsa_beam_results *results, gsa_error *error)
{
    const int32_t best = s->o->best;
    *results = (gsa_beam_results){ .system = s->system, .texts = s->texts, .best = best };
    results->count = gsa_alloc_zero(s->system, (size_t)s->texts, sizeof *results->count);
    results->found =
        gsa_alloc_zero(s->system, (size_t)s->texts * (size_t)best, sizeof *results->found);
    if (!results->count || !results->found) return gsa_out_of_memory(error, "hypotheses", s->texts);
    for (int32_t t = 0; t < s->texts; t++)
        for (int32_t i = 0; i < s->text[t].finished && i < best; i++) {
            const gsa_status status =
                tell_one(s, &s->text[t].end[i], &results->found[(int64_t)t * best + i], error);
            if (status != GSA_OK) return status;
            results->count[t]++;
        }
    return GSA_OK;
}

gsa_status gsa_beam_search(const gsa_system *system, const gsa_beam_options *options,
                           const gsa_beam_model *model, int32_t texts, gsa_beam_results *results,
                           gsa_error *error)
{
    if (!system) system = gsa_system_default();
    beam_search s = { .system = system, .o = options, .model = model, .texts = texts };
    *results = (gsa_beam_results){ .system = system };
    gsa_status status = check_options(options, texts, error);
    if (status == GSA_OK) status = begin_search(&s, error);
    if (status == GSA_OK) status = search(&s, error);
    if (status == GSA_OK) status = tell(&s, results, error);
    if (status != GSA_OK) gsa_beam_release(results);
    end_search(&s);
    return status;
}

void gsa_beam_rank(gsa_beam_results *results, const double *extra)
{
    for (int32_t t = 0; t < results->texts; t++) {
        gsa_beam_found *found = results->found + (int64_t)t * results->best;
        for (int32_t i = 0; i < results->count[t]; i++) {
            gsa_beam_found one = found[i];
            int32_t at = i;
            one.score += extra[(int64_t)t * results->best + i];
            for (; at > 0 && one.score > found[at - 1].score; at--) found[at] = found[at - 1];
            found[at] = one;
        }
    }
}

void gsa_beam_release(gsa_beam_results *results)
{
    for (int64_t i = 0; results->found && i < (int64_t)results->texts * results->best; i++)
        gsa_release(results->system, results->found[i].token);
    gsa_release(results->system, results->count);
    gsa_release(results->system, results->found);
    *results = (gsa_beam_results){ 0 };
}
