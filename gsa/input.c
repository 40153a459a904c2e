#include "input.h"
#include "local_tokens.h"
#include "tape_parts.h"
#include <math.h>
#include <stdio.h>

struct gsa_input {
    const gsa_system *system;
    gsa_settings settings;
    int64_t vocabulary;
    int32_t width, beside;
    uint32_t site;
    gsa_parameter *embedding, *weight, *bias, *types, *positions, *gain, *shift;
};

static gsa_status add(gsa_parameters *ps, const char *name, const char *leaf, int64_t rows,
                      int64_t cols, int init, double scale, int flags, gsa_parameter **p,
                      gsa_error *error)
{
    char full[256];
    snprintf(full, sizeof full, "%s.%s", name, leaf);
    return gsa_parameters_add(ps, full, rows, cols, init, scale, flags, p, error);
}

static gsa_status add_all(gsa_input *in, const gsa_input_options *o, gsa_parameters *ps,
                          gsa_error *error)
{
    const gsa_settings *s = &in->settings;
    gsa_status status = GSA_OK;
    if (in->vocabulary > 0)
        status = add(ps, o->name, "embedding.weight", in->vocabulary, in->width, GSA_INIT_NORMAL,
                     o->embedding_std,
                     GSA_NO_DECAY | GSA_ZERO_ROW | GSA_BY_ROWS | (o->frozen ? GSA_FROZEN : 0),
                     &in->embedding, error);
    if (status == GSA_OK && (in->vocabulary == 0 || in->width != s->hidden || in->beside > 0)) {
        status = add(ps, o->name, "linear.weight", s->hidden, (int64_t)in->width + in->beside,
                     s->init, s->init_scale, 0, &in->weight, error);
        if (status == GSA_OK)
            status = add(ps, o->name, "linear.bias", 1, s->hidden, GSA_INIT_ZERO, 0, GSA_NO_DECAY,
                         &in->bias, error);
    }
    if (status == GSA_OK && o->types > 0)
        status = add(ps, o->name, "type.weight", o->types, s->hidden, GSA_INIT_NORMAL, 0.02,
                     GSA_NO_DECAY, &in->types, error);
    if (status == GSA_OK && s->position == GSA_POSITION_LEARNED)
        status = add(ps, o->name, "position.weight", s->position_max, s->hidden, GSA_INIT_NORMAL,
                     0.02, GSA_NO_DECAY, &in->positions, error);
    const int norm = s->input == GSA_INPUT_NORM || s->input == GSA_INPUT_NORM_DROPOUT ||
                     s->input == GSA_INPUT_DROPOUT_NORM;
    if (status == GSA_OK && norm) {
        status = add(ps, o->name, "norm.gain", 1, s->hidden, GSA_INIT_ONE, 0, GSA_NO_DECAY,
                     &in->gain, error);
        if (status == GSA_OK)
            status = add(ps, o->name, "norm.bias", 1, s->hidden, GSA_INIT_ZERO, 0, GSA_NO_DECAY,
                         &in->shift, error);
    }
    return status;
}

gsa_status gsa_input_create(const gsa_system *system, const gsa_settings *settings,
                            const gsa_input_options *options, gsa_parameters *parameters,
                            gsa_input **input, gsa_error *error)
{
    if (!options->name) return gsa_fail(error, GSA_ERR_ARGUMENT, "the name of an input is NULL");
    if (options->vocabulary < 0 || options->width < 0 ||
        (options->vocabulary == 0 && options->width == 0))
        return gsa_fail(
            error, GSA_ERR_ARGUMENT,
            "input: a vocabulary of %lld and a width of %d: one of them must be at least 1",
            (long long)options->vocabulary, options->width);
    if (options->beside < 0 || (options->beside > 0 && options->vocabulary == 0))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "input: %d columns beside an embedding of %lld rows", options->beside,
                        (long long)options->vocabulary);
    if (options->types < 0 || !(options->embedding_std >= 0) || isinf(options->embedding_std))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "input: types = %d, embedding_std = %g: expected finite numbers >= 0",
                        options->types, options->embedding_std);
    gsa_input *in = gsa_alloc_zero(system, 1, sizeof *in);
    if (!in) return gsa_out_of_memory(error, "an input", (int64_t)sizeof *in);
    in->system = system;
    in->settings = *settings;
    in->vocabulary = options->vocabulary;
    in->site = options->site, in->beside = options->beside;
    in->width = options->width ? options->width : settings->hidden;
    const gsa_status status = add_all(in, options, parameters, error);
    if (status != GSA_OK) gsa_release(system, in);
    else *input = in;
    return status;
}

void gsa_input_release(gsa_input *input)
{
    if (input) gsa_release(input->system, input);
}

gsa_parameter *gsa_input_embedding(const gsa_input *input)
{
    return input->embedding;
}

/* Where each token is: its example and its place, in the backend's memory. */
typedef struct places {
    int64_t tokens, longest;
    int whole;             /* do the examples start at their first token? */
    const int32_t *places; /* of the tokens, on the host */
    const int32_t *local;
    gsa_row_identity identity;
} places;

static int find_places(gsa_tape *tape, const int32_t *before, const int32_t *length, int32_t count,
                       places *out)
{
    *out = (places){ .whole = before == NULL };
    for (int32_t e = 0; e < count; e++) {
        if (length[e] < 0)
            return gsa_tape_fail(tape, GSA_ERR_ARGUMENT, "input: example %d has a length of %d", e,
                                 length[e]),
                   0;
        out->tokens += length[e];
        const int64_t end = (before ? before[e] : 0) + (int64_t)length[e];
        if (end > out->longest) out->longest = end;
    }
    const int64_t bytes = out->tokens * (int64_t)sizeof(int32_t);
    int32_t *example = gsa_tape_host(tape, bytes), *local = gsa_tape_host(tape, bytes);
    if (out->tokens && (!example || !local)) return 0;
    int64_t at = 0;
    for (int32_t e = 0; e < count; e++)
        for (int32_t i = 0; i < length[e]; i++, at++)
            example[at] = e, local[at] = i + (before ? before[e] : 0);
    out->places = local;
    out->identity.example = gsa_tape_upload(tape, example, bytes);
    out->local = out->identity.local = gsa_tape_upload(tape, local, bytes);
    return 1;
}

/* PE(pos, 2i) = sin(pos / base^(2i/hidden)), PE(pos, 2i+1) = cos of the same (Vaswani et al. 2017,
 * section 3.5); `place` NULL: of positions 0, 1, 2, ... */
static gsa_tensor *sinusoids(gsa_tape *tape, const int32_t *place, int64_t rows, int32_t hidden,
                             double base)
{
    double *table = gsa_tape_host(tape, rows * hidden * (int64_t)sizeof *table);
    if (!table && rows) return NULL;
    for (int64_t p = 0; p < rows; p++)
        for (int32_t c = 0; c < hidden; c++) {
            const double angle =
                (double)(place ? place[p] : p) / pow(base, (double)(c - c % 2) / hidden);
            table[p * hidden + c] = c % 2 ? cos(angle) : sin(angle);
        }
    return gsa_tape_constant(tape, table, GSA_F64, rows, hidden);
}

static gsa_tensor *add_positions(const gsa_input *in, gsa_tape *tape, gsa_tensor *x,
                                 const places *at)
{
    const gsa_settings *s = &in->settings;
    if (s->position == GSA_POSITION_NONE) return x;
    if (s->position == GSA_POSITION_LEARNED && at->longest > s->position_max)
        return gsa_tape_fail(
            tape, GSA_ERR_LIMIT,
            "an example of %lld tokens exceeds position_max = %d of the learned positions",
            (long long)at->longest, s->position_max);
    if (!in->positions &&
        !at->whole) /* few tokens far on: a row for each, not for each place before them */
        return gsa_op_add(tape, x,
                          sinusoids(tape, at->places, at->tokens, s->hidden, s->position_base));
    gsa_tensor *table = in->positions
                            ? &in->positions->value
                            : sinusoids(tape, NULL, at->longest, s->hidden, s->position_base);
    return gsa_op_gather(tape, x, table, at->local, at->tokens, 1, 0);
}

static gsa_tensor *normed(const gsa_input *in, gsa_tape *tape, gsa_tensor *x)
{
    return gsa_op_norm(tape, x, &in->gain->value, &in->shift->value, in->settings.norm_eps);
}

static gsa_tensor *finish(const gsa_input *in, gsa_tape *tape, gsa_tensor *x, gsa_row_identity rows)
{
    const int order = in->settings.input;
    const double p = in->settings.dropout_input;
    if (order == GSA_INPUT_NORM || order == GSA_INPUT_NORM_DROPOUT) x = normed(in, tape, x);
    if (order != GSA_INPUT_PLAIN && order != GSA_INPUT_NORM)
        x = gsa_op_dropout(tape, x, p, in->site, rows);
    if (order == GSA_INPUT_DROPOUT_NORM) x = normed(in, tape, x);
    return x;
}

static gsa_tensor *add_types(const gsa_input *in, gsa_tape *tape, gsa_tensor *x,
                             const int32_t *type, int64_t tokens)
{
    if (!in->types && !type) return x;
    if (!in->types || (!type && tokens > 0))
        return gsa_tape_fail(tape, GSA_ERR_ARGUMENT, "input: rows %s types, the input %s",
                             type ? "have" : "have no",
                             in->types ? "has a table of them" : "has none");
    return gsa_op_gather(tape, x, &in->types->value,
                         gsa_tape_upload(tape, type, tokens * (int64_t)sizeof *type), tokens, 1, 0);
}

static gsa_tensor *forward(const gsa_input *input, gsa_tape *tape, const int32_t *ids,
                           const int32_t *type, gsa_tensor *features, const places *at,
                           int32_t count)
{
    gsa_tensor *x = features;
    double scale = input->settings.input_scale;
    if (input->embedding && !ids && at->tokens > 0)
        return gsa_tape_fail(tape, GSA_ERR_ARGUMENT,
                             "input: %lld tokens without ids, which its vocabulary needs",
                             (long long)at->tokens);
    gsa_tape_default_examples(tape, count);
    if (input->embedding) {
        const int32_t *id = gsa_tape_upload(tape, ids, at->tokens * (int64_t)sizeof *ids);
        const int direct = input->weight == NULL;
        x = gsa_op_gather(tape, NULL, &input->embedding->value, id, at->tokens, direct ? scale : 1,
                          1);
        if (direct) scale = 1;
        if (input->beside > 0) x = gsa_op_beside(tape, (gsa_tensor *[]){ x, features }, 2);
    }
    if (x && x->rows != at->tokens)
        return gsa_tape_fail(tape, GSA_ERR_ARGUMENT, "input: %lld feature rows for %lld tokens",
                             (long long)x->rows, (long long)at->tokens);
    if (input->weight) x = gsa_op_linear(tape, x, &input->weight->value, &input->bias->value);
    if (scale != 1) x = gsa_op_combine(tape, &x, &scale, 1);
    x = add_types(input, tape, x, type, at->tokens);
    return finish(input, tape, add_positions(input, tape, x, at), at->identity);
}

static gsa_tensor *forward_whole(const gsa_input *input, gsa_tape *tape, const int32_t *ids,
                                 const int32_t *type, gsa_tensor *features, const int32_t *before,
                                 const int32_t *length, int32_t count)
{
    places at;
    if (!find_places(tape, before, length, count, &at)) return NULL;
    return forward(input, tape, ids, type, features, &at, count);
}

gsa_tensor *gsa_input_forward(const gsa_input *input, gsa_tape *tape, const int32_t *ids,
                              gsa_tensor *features, const int32_t *length, int32_t count)
{
    return forward_whole(input, tape, ids, NULL, features, NULL, length, count);
}

gsa_tensor *gsa_input_forward_typed(const gsa_input *input, gsa_tape *tape, const int32_t *ids,
                                    const int32_t *type, gsa_tensor *features,
                                    const int32_t *length, int32_t count)
{
    return forward_whole(input, tape, ids, type, features, NULL, length, count);
}

gsa_tensor *gsa_input_append(const gsa_input *input, gsa_tape *tape, const int32_t *ids,
                             gsa_tensor *features, const int32_t *before, const int32_t *length,
                             int32_t count)
{
    return forward_whole(input, tape, ids, NULL, features, before, length, count);
}

gsa_tensor *gsa_input_forward_local(const gsa_input *input, gsa_tape *tape, const int32_t *ids,
                                    const int32_t *type, gsa_tensor *features,
                                    const gsa_local_tokens *local, int32_t count)
{
    places at = { .tokens = local->count, .places = local->place };
    const int64_t bytes = at.tokens * (int64_t)sizeof(int32_t);
    for (int64_t i = 0; i < at.tokens; i++)
        if (local->place[i] >= at.longest) at.longest = local->place[i] + 1;
    at.identity.example = gsa_tape_upload(tape, local->example, bytes);
    at.local = at.identity.local = gsa_tape_upload(tape, local->place, bytes);
    return forward(input, tape, ids, type, features, &at, count);
}
