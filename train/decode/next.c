#include "train/decode/next.h"

struct gsa_next {
    gsa_session *session;
    gsa_generation *generation;
    int32_t *before; /* [room] tokens of each sequence */
    int32_t *last;   /* [room] row of its newest token */
    int32_t room;
};

static gsa_status check_model(const gsa_session *s, int32_t longest, gsa_error *error)
{
    const gsa_learner *m = &s->model;
    const gsa_input_options *input = &m->plan.input[m->plan.input_of[0]];
    if (m->plan.n_passes != 1 || m->plan.n_sequences != 1 || m->task->features ||
        gsa_learner_columns(m, 0) > 0 || input->beside > 0 || input->types > 0)
        return gsa_fail(error, GSA_ERR_UNSUPPORTED,
                        "task %s does not predict a text token by token: expected a model of "
                        "language_modelling",
                        s->task->name);
    if (m->settings.position == GSA_POSITION_LEARNED && longest > m->settings.position_max)
        return gsa_fail(
            error, GSA_ERR_LIMIT,
            "%d tokens in all, but the model has learned %d positions (model.position_max)",
            longest, m->settings.position_max);
    return GSA_OK;
}

/* A pattern is emitted for the longest text before the first token comes: what that may take, a few
 * GB. */
static const gsa_limits LIMITS = { .nodes = INT64_C(1) << 24, .runs = INT64_C(1) << 25 };

static gsa_status too_long(gsa_error *error, int32_t longest)
{
    const gsa_error why = error ? *error : (gsa_error){ .text = "" };
    return gsa_fail(error, GSA_ERR_LIMIT, "%d tokens in all are too many to generate: %s", longest,
                    why.text);
}

gsa_status gsa_next_create(gsa_session *session, int32_t longest, gsa_next **next, gsa_error *error)
{
    *next = NULL;
    gsa_status status = check_model(session, longest, error);
    if (status != GSA_OK) return status;
    gsa_next *n = gsa_alloc_zero(session->system, 1, sizeof *n);
    if (!n) return gsa_out_of_memory(error, "what comes next", (int64_t)sizeof *n);
    n->session = session;
    const gsa_generation_options options = { .longest = longest,
                                             .cache = session->model.cache,
                                             .limits = &LIMITS };
    status = gsa_generation_create(gsa_learner_encoder(&session->model), session->backend, &options,
                                   &n->generation, error);
    if (status == GSA_OK) *next = n;
    else gsa_next_release(n);
    return status == GSA_ERR_LIMIT ? too_long(error, longest) : status;
}

void gsa_next_release(gsa_next *n)
{
    if (!n) return;
    gsa_generation_release(n->generation);
    gsa_release(n->session->system, n->before);
    gsa_release(n->session->system, n->last);
    gsa_release(n->session->system, n);
}

static gsa_status reserve(gsa_next *n, int32_t count, gsa_error *error)
{
    if (count <= n->room) return GSA_OK;
    int32_t *before = gsa_resize(n->session->system, n->before, (size_t)count, sizeof *before);
    if (before) n->before = before;
    int32_t *last =
        before ? gsa_resize(n->session->system, n->last, (size_t)count, sizeof *last) : NULL;
    if (!last) return gsa_out_of_memory(error, "sequences", count * (int64_t)sizeof *last);
    n->last = last, n->room = count;
    return GSA_OK;
}

gsa_status gsa_next_begin(gsa_next *n, int32_t count, gsa_error *error)
{
    gsa_tape *tape = n->session->model.tape;
    gsa_generation_clear(n->generation);
    gsa_tape_reset(tape, 0, 0, 0);
    gsa_generation_open(n->generation, tape, count, NULL);
    const gsa_status status = gsa_tape_status(tape, error);
    return status == GSA_OK ? reserve(n, count, error) : status;
}

gsa_status gsa_next_choose(gsa_next *n, const int32_t *parent, int32_t count, gsa_error *error)
{
    const gsa_status status = gsa_generation_choose(n->generation, parent, count, error);
    return status == GSA_OK ? reserve(n, count, error) : status;
}

gsa_status gsa_next_append(gsa_next *n, const int32_t *id, const int32_t *length, double *logits,
                           gsa_error *error)
{
    gsa_learner *m = &n->session->model;
    gsa_tape *tape = m->tape;
    const int32_t count = gsa_generation_sequences(n->generation);
    int64_t row = 0, asked = 0;
    for (int32_t i = 0; i < count; i++) {
        n->before[i] = gsa_generation_length(n->generation, i);
        row += length[i];
        if (length[i] > 0) n->last[asked++] = (int32_t)(row - 1);
    }
    gsa_tape_reset(tape, 0, 0, 0);
    gsa_tensor *x =
        gsa_input_append(m->input[m->plan.input_of[0]], tape, id, NULL, n->before, length, count);
    x = gsa_generation_append(n->generation, tape, x, length, NULL);
    if (asked < row) {
        const int32_t *last = gsa_tape_upload(tape, n->last, asked * (int64_t)sizeof *last);
        x = gsa_op_gather(tape, NULL, x, last, asked, 1, 0);
    }
    gsa_tensor *out = gsa_learner_head(m, x);
    const gsa_status status = gsa_tape_status(tape, error);
    return status == GSA_OK ? gsa_tensor_read(n->session->backend, out, 0, logits, error) : status;
}

const gsa_generation *gsa_next_generation(const gsa_next *n)
{
    return n->generation;
}
