/* model_forward.c - a model's passes on a tape, each after those that it reads. */
#include "model_parts.h"
#include "spread.h"
#include <string.h>

static int fits(const gsa_model *model, gsa_tape *tape, const gsa_model_batch *batch)
{
    if (batch->model != model)
        gsa_tape_fail(tape, GSA_ERR_ARGUMENT, "the batch was made for another model");
    else if (!batch->built)
        gsa_tape_fail(tape, GSA_ERR_ARGUMENT,
                      "the model's batch was not built, or its build failed");
    return !tape->failed;
}

/* `which` is what a look-up by name gave: -1 where there is no such name. */
static int has(gsa_tape *tape, const char *what, int which, int count)
{
    if (which < 0 || which >= count)
        gsa_tape_fail(tape, GSA_ERR_ARGUMENT, "%s %d of the model, which has %d, counted from 0",
                      what, which, count);
    return !tape->failed;
}

/* Which number an example has is a matter of who draws: ops keep what the tape has when they are
 * recorded. */
static void number(gsa_tape *tape, const gsa_model_batch *batch, int sequence, int range)
{
    const gsa_numbered *s = &batch->sequence[sequence];
    gsa_tape_examples(tape, s->number ? s->number + (int64_t)range * s->count : NULL, s->count);
}

void gsa_model_number(const gsa_model *model, gsa_tape *tape, const gsa_model_batch *batch,
                      int pass)
{
    if (fits(model, tape, batch) && has(tape, "pass", pass, model->n_passes))
        number(tape, batch, model->pass[pass].sequence, model->pass[pass].range);
}

gsa_tensor *gsa_model_input(const gsa_model *model, gsa_tape *tape, const gsa_model_batch *batch,
                            int sequence, const gsa_input *input, const int32_t *ids,
                            gsa_tensor *features)
{
    return gsa_model_input_typed(model, tape, batch, sequence, input, ids, NULL, features);
}

gsa_tensor *gsa_model_input_typed(const gsa_model *model, gsa_tape *tape,
                                  const gsa_model_batch *batch, int sequence,
                                  const gsa_input *input, const int32_t *ids, const int32_t *type,
                                  gsa_tensor *features)
{
    if (!fits(model, tape, batch) || !has(tape, "sequence", sequence, model->n_sequences))
        return NULL;
    const gsa_numbered *s = &batch->sequence[sequence];
    number(tape, batch, sequence,
           sequence); /* some pass on it starts from rows: the range is there */
    gsa_tensor *rows;
    if (gsa_stack_batch_spreads(batch->batch[0])) { /* then there is no other pass */
        const gsa_local_tokens local = gsa_stack_batch_tokens(batch->batch[0]);
        rows = gsa_input_forward_local(input, tape, ids, type, features, &local, s->count);
    } else rows = gsa_input_forward_typed(input, tape, ids, type, features, s->length, s->count);
    number(tape, batch, model->pass[0].sequence, 0);
    return rows;
}

gsa_tensor *gsa_model_tap(const gsa_model *model, const gsa_readout *readouts, int pass, int layer)
{
    const gsa_stack *stack = gsa_model_stack_of(model, pass);
    for (int t = 0; stack && t < stack->n_taps && readouts[pass].taps; t++)
        if (stack->taps[t] == layer) return readouts[pass].taps[t];
    return NULL;
}

static gsa_tensor *read_link(const gsa_model *model, gsa_tape *tape, int pass, gsa_model_link link,
                             const gsa_readout *readouts)
{
    gsa_tensor *x = link.layer < 0 ? readouts[link.pass].sequence
                                   : gsa_model_tap(model, readouts, link.pass, link.layer);
    if (x) return x;
    return gsa_tape_fail(tape, GSA_ERR_ARGUMENT,
                         "pass '%s' reads pass '%s', which was not executed before it",
                         model->pass[pass].name, model->pass[link.pass].name);
}

static gsa_stack_pass *begin(const gsa_model *model, gsa_tape *tape, const gsa_model_batch *batch,
                             int r, gsa_tensor *rows, gsa_readout *readouts)
{
    const gsa_model_place *pass = &model->pass[r];
    if (pass->input.pass >= 0 && rows)
        gsa_tape_fail(tape, GSA_ERR_ARGUMENT, "pass '%s' starts from pass '%s', not from rows",
                      pass->name, model->pass[pass->input.pass].name);
    else if (pass->input.pass >= 0) rows = read_link(model, tape, r, pass->input, readouts);
    else if (!rows)
        gsa_tape_fail(tape, GSA_ERR_ARGUMENT, "pass '%s' needs input rows of sequence '%s'",
                      pass->name, model->sequence[pass->sequence]);
    number(tape, batch, pass->sequence, pass->range);
    return tape->failed ? NULL
                        : gsa_stack_begin(model->stack[pass->stack], tape, batch->batch[r], rows,
                                          &readouts[r]);
}

/* What a pass draws is numbered as its own, in each of its halves. */
static void execute(const gsa_model *model, gsa_tape *tape, const gsa_model_batch *batch, int half,
                    gsa_stack_pass *going, const gsa_readout *readouts)
{
    const gsa_model_place *pass = &model->pass[half / 2];
    gsa_tensor *memory = NULL;
    if (half % 2 && pass->memory.pass >= 0)
        memory = read_link(model, tape, half / 2, pass->memory, readouts);
    if (tape->failed) return;
    number(tape, batch, pass->sequence, pass->range);
    if (half % 2) gsa_stack_finish(going, memory);
    else gsa_stack_advance(going, NULL, model->early[half / 2]);
}

void gsa_model_forward_pass(const gsa_model *model, gsa_tape *tape, const gsa_model_batch *batch,
                            int pass, gsa_tensor *rows, gsa_readout *readouts)
{
    if (!fits(model, tape, batch) || !has(tape, "pass", pass, model->n_passes)) return;
    gsa_stack_pass *going = begin(model, tape, batch, pass, rows, readouts);
    execute(model, tape, batch, 2 * pass + 1, going, readouts);
    number(tape, batch, model->pass[0].sequence, 0);
}

void gsa_model_forward(const gsa_model *model, gsa_tape *tape, const gsa_model_batch *batch,
                       gsa_tensor *const *rows, gsa_readout *readouts)
{
    gsa_stack_pass *going[GSA_MODEL_MOST];
    memset(readouts, 0, (size_t)model->n_passes * sizeof *readouts);
    if (!fits(model, tape, batch)) return;
    for (int i = 0; i < model->n_order; i++) {
        const int half = model->order[i], r = half / 2;
        if (half % 2 == 0 || model->early[r] == 0)
            going[r] = begin(model, tape, batch, r,
                             model->pass[r].input.pass < 0 ? rows[model->pass[r].sequence] : NULL,
                             readouts);
        execute(model, tape, batch, half, going[r], readouts);
    }
    number(tape, batch, model->pass[0].sequence, 0);
}
