/* counts.c - how large the pattern is that a run was trained on: for measurements, and for the
 * in-degree in a language model's result. */
#include "train/driver/trainer.h"

json_t *gsa_trainer_counts(const gsa_trainer *t)
{
    const gsa_learner *model = &t->session.model;
    const gsa_stack_counts c =
        gsa_stack_batch_count(gsa_model_batch_of(model->graph, model->plan.head_pass));
    return json_pack("{s:I, s:I, s:I, s:I, s:I}", "examples", (json_int_t)c.examples, "tokens",
                     (json_int_t)c.tokens, "nodes", (json_int_t)c.nodes, "edges",
                     (json_int_t)c.edges, "score_bytes",
                     (json_int_t)(c.scores * t->session.backend->real_bytes));
}

static int32_t longest_example(const gsa_session *s)
{
    const int64_t examples = s->task->examples(s->self, GSA_SPLIT_TRAIN);
    const int32_t *length = s->task->lengths(s->self, GSA_SPLIT_TRAIN);
    int32_t longest = 0;
    for (int64_t e = 0; e < examples; e++) longest = length[e] > longest ? length[e] : longest;
    return longest;
}

double gsa_session_in_degree(const gsa_session *session)
{
    const gsa_stack *stack = gsa_learner_encoder(&session->model);
    const int32_t length = longest_example(session);
    const gsa_sequences sequences = { .count = 1, .length = &length };
    gsa_stack_batch *batch = NULL;
    gsa_error ignored;
    double degree = 0;
    if (gsa_stack_needs_text(stack) || gsa_stack_reads_memory(stack) || length == 0) return 0;
    if (gsa_stack_batch_create(stack, &batch, &ignored) != GSA_OK) return 0;
    if (gsa_stack_batch_build(batch, NULL, NULL, &sequences, &ignored) == GSA_OK)
        degree = (double)gsa_stack_batch_count(batch).read / length / gsa_stack_layers(stack);
    gsa_stack_batch_release(batch);
    return degree;
}
