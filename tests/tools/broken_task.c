/* broken_task.c - the task of train/template with one thing wrong, which is said as a definition:
 * -DFILL=NULL, -DABI=2, -DLOSS=no_loss, ... */
#include <gsa/task.h>
#undef GSA_TASK_PLUGIN
#define GSA_TASK_PLUGIN trend_task
#include "train/template/trend.c"

#ifndef SYMBOL
#define SYMBOL gsa_task_1
#endif
#ifndef ABI
#define ABI GSA_TASK_ABI
#endif
#ifndef SIZE
#define SIZE sizeof(gsa_task)
#endif
#ifndef NAME
#define NAME "trend"
#endif
#ifndef METRIC
#define METRIC "mse"
#endif
#ifndef CREATE
#define CREATE create
#endif
#ifndef PLAN
#define PLAN plan
#endif
#ifndef EXAMPLES
#define EXAMPLES examples
#endif
#ifndef LENGTHS
#define LENGTHS lengths
#endif
#ifndef FILL
#define FILL fill
#endif
#ifndef LOSS
#define LOSS loss
#endif
#ifndef OPTIONS
#define OPTIONS trend_options
#endif

gsa_status no_object(const gsa_task_options *options, void **self, gsa_error *error);
gsa_status no_object(const gsa_task_options *options, void **self, gsa_error *error)
{
    (void)options, (void)error;
    *self = NULL;
    return GSA_OK;
}

gsa_status large_plan(const void *self, const gsa_task_plan_options *options, gsa_task_plan *p,
                      gsa_error *error);
gsa_status large_plan(const void *self, const gsa_task_plan_options *options, gsa_task_plan *p,
                      gsa_error *error)
{
    const gsa_status status = plan(self, options, p, error);
    p->n_sequences = 9;
    return status;
}

gsa_status nameless_plan(const void *self, const gsa_task_plan_options *options, gsa_task_plan *p,
                         gsa_error *error);
gsa_status nameless_plan(const void *self, const gsa_task_plan_options *options, gsa_task_plan *p,
                         gsa_error *error)
{
    const gsa_status status = plan(self, options, p, error);
    p->pass[0].stack = NULL;
    return status;
}

int64_t too_few(const void *self, int split);
int64_t too_few(const void *self, int split)
{
    (void)self, (void)split;
    return -3;
}

const int32_t *no_lengths(const void *self, int split);
const int32_t *no_lengths(const void *self, int split)
{
    (void)self, (void)split;
    return NULL;
}

gsa_status no_targets(void *self, int split, const int64_t *example, int32_t count,
                      gsa_minibatch *batch, gsa_error *error);
gsa_status no_targets(void *self, int split, const int64_t *example, int32_t count,
                      gsa_minibatch *batch, gsa_error *error)
{
    const gsa_status status = fill(self, split, example, count, batch, error);
    batch->targets = 0;
    return status;
}

gsa_tensor *no_loss(const void *self, gsa_tape *tape, gsa_tensor *out, const gsa_minibatch *batch,
                    double scale);
gsa_tensor *no_loss(const void *self, gsa_tape *tape, gsa_tensor *out, const gsa_minibatch *batch,
                    double scale)
{
    (void)self, (void)tape, (void)out, (void)batch, (void)scale;
    return NULL;
}

extern const gsa_task SYMBOL;
const gsa_task SYMBOL = { .abi = ABI,
                          .struct_size = SIZE,
                          .name = NAME,
                          .metric = METRIC,
                          .create = CREATE,
                          .destroy = destroy,
                          .plan = PLAN,
                          .examples = EXAMPLES,
                          .lengths = LENGTHS,
                          .fill = FILL,
                          .loss = LOSS,
                          .score = score,
                          .save = save,
                          .read_lines = read_lines,
                          .print = print,
                          .keys = " data.train data.test ",
                          .options = OPTIONS,
                          .n_options = 1,
                          .option_stride = sizeof(gsa_param) };
