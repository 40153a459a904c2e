#include "slopes.h"
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_parameter(gsa_session *s, double (*loss)(gsa_session *, int), gsa_parameter *p,
                            int stride, int silent)
{
    const int64_t n = p->value.rows * p->value.cols;
    double *value = malloc((size_t)n * sizeof *value),
           *gradient = malloc((size_t)n * sizeof *gradient), most = 0;
    gsa_tensor_read(s->backend, &p->value, 0, value, NULL);
    gsa_tensor_read(s->backend, &p->value, 1, gradient, NULL);
    for (int64_t i = 0; i < n; i++) {
        const double eps = 1e-6, was = value[i];
        double at[2];
        most = fmax(most, fabs(gradient[i]));
        if (i % stride || (p->flags & GSA_ZERO_ROW && i < p->value.cols))
            continue; /* the row of padding has none */
        for (int side = 0; side < 2; side++) {
            value[i] = was + (side ? -eps : eps);
            gsa_tensor_write(s->backend, &p->value, value, NULL);
            at[side] = loss(s, 0);
        }
        value[i] = was;
        gsa_tensor_write(s->backend, &p->value, value, NULL);
        const double slope = (at[0] - at[1]) / (2 * eps);
        ck_assert_msg(fabs(slope - gradient[i]) <= 1e-7 + 1e-5 * fabs(slope),
                      "%s, element %d: %.10g, differences say %.10g", p->name, (int)i, gradient[i],
                      slope);
    }
    const int may = (silent & SILENT_UNREACHED && p->flags & GSA_UNREACHED) ||
                    (silent & SILENT_LABELS && strstr(p->name, ".labels."));
    ck_assert_msg(may || most > 0, "%s has no gradient at all", p->name);
    free(value);
    free(gradient);
}

double slopes_loss(gsa_session *s, const int64_t *example, int32_t count, int backward)
{
    gsa_error error;
    double value;
    gsa_tape *tape = s->model.tape;
    ck_assert_msg(gsa_task_fill(s->task, s->self, GSA_SPLIT_TRAIN, example, count, &s->batch,
                                &error) == GSA_OK,
                  "%s", error.text);
    gsa_tape_reset(tape, 1, 3, 4);
    gsa_tensor *loss =
        gsa_learner_loss(&s->model, gsa_learner_forward(&s->model, &s->batch), &s->batch, 0.1);
    ck_assert_msg(gsa_tape_status(tape, &error) == GSA_OK, "%s", error.text);
    ck_assert_int_eq(gsa_tensor_read(s->backend, loss, 0, &value, &error), GSA_OK);
    if (backward) ck_assert_int_eq(gsa_tape_backward(tape, loss, &error), GSA_OK);
    return value;
}

void check_slopes(gsa_session *session, double (*loss)(gsa_session *session, int backward),
                  int stride, int silent)
{
    gsa_parameters_zero_gradients(session->model.parameters, NULL);
    loss(session, 1);
    for (int i = 0; i < gsa_parameters_count(session->model.parameters); i++)
        check_parameter(session, loss, gsa_parameters_at(session->model.parameters, i), stride,
                        silent);
}
