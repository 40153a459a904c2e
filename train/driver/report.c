/* report.c - what a run tells: progress, log lines, the curve, the result. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "graph/system_parts.h"
#include "train/score/outcomes.h"
#include "train/driver/trainer.h"

char *gsa_path_join(const gsa_system *system, const char *folder, const char *name,
                    gsa_error *error)
{
    const size_t room = strlen(folder) + strlen(name) + 2;
    char *path = gsa_alloc(system, room, 1);
    if (path) snprintf(path, room, "%s/%s", folder, name);
    else gsa_out_of_memory(error, folder, (int64_t)room);
    return path;
}

gsa_status gsa_json_text(const gsa_system *system, json_t *object, char **text, gsa_error *error)
{
    char *made = object ? json_dumps(object, JSON_REAL_PRECISION(8)) : NULL;
    *text = made ? gsa_copy_text(system, made) : NULL;
    free(made);
    json_decref(object);
    return *text ? GSA_OK : gsa_out_of_memory(error, "the result", 4096);
}

void gsa_json_stacks(json_t *object, const gsa_session *session)
{
    static const char *const names[] = { "encoder", "decoder" };
    for (int i = 0; i < 2; i++) {
        const char *text = gsa_learner_text(&session->model, names[i]);
        if (text) json_object_set_new(object, names[i], json_string(text));
    }
}

void gsa_json_metrics(json_t *object, const gsa_task *task, const char *split,
                      const gsa_score *score)
{
    gsa_fact facts[4];
    char name[64];
    const int count = task->metrics ? task->metrics(score, facts, 4) : 0;
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s_%s", split, facts[i].name);
        json_object_set_new(object, name, gsa_json_number(facts[i].value));
    }
}

static void tell(gsa_trainer *t, const gsa_progress *progress)
{
    if (t->options->progress) t->options->progress(t->options->context, progress);
}

static void say(gsa_trainer *t, int32_t kind, const char *sentence)
{
    tell(t,
         &(gsa_progress){
             .kind = kind, .step = t->counts.step, .steps = t->schedule.steps, .text = sentence });
}

void gsa_trainer_say(void *trainer, const char *sentence)
{
    say(trainer, 2, sentence);
}

void gsa_trainer_warn(void *trainer, const char *sentence)
{
    say(trainer, 3, sentence);
}

static gsa_progress progress_of(const gsa_trainer *t, int32_t kind)
{
    const int64_t left = t->schedule.steps - t->counts.step;
    const double seconds = gsa_seconds() - t->started;
    return (gsa_progress){ .kind = kind,
                           .seconds = seconds,
                           .remaining = t->counts.step > 0
                                            ? seconds / (double)t->counts.step * (double)left
                                            : 0,
                           .epoch = (int32_t)t->counts.epoch + 1,
                           .epochs = (int32_t)t->session.recipe.values.train_epochs,
                           .step = t->counts.step,
                           .steps = t->schedule.steps,
                           .norm = gsa_shown(t->norm),
                           .lr = t->lr };
}

static double per(double sum, double count)
{
    return count > 0 ? gsa_shown(sum / count) : 0;
}

/* Bytes that the process had at most. */
static int64_t peak_memory(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (int64_t)usage.ru_maxrss * 1024 : 0;
}

gsa_status gsa_trainer_report_environment(gsa_trainer *t, gsa_error *error)
{
    struct utsname name;
    const gsa_session *s = &t->session;
    if (t->log.file < 0 || uname(&name) < 0) return GSA_OK;
    return gsa_log_write(&t->log,
                         json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:i, s:s}", "kind",
                                   "environment", GSA_RUN_NOTE, t->run, "version", GSA_VERSION,
                                   "system", name.sysname, "release", name.release, "machine",
                                   name.machine, "processors",
                                   (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "threads",
                                   s->backend->threads, "compiler", __VERSION__),
                         error);
}

gsa_status gsa_trainer_report_step(gsa_trainer *t, gsa_error *error)
{
    const double now = gsa_seconds(), seconds = now - t->step_clock;
    char best[96];
    gsa_progress p = progress_of(t, 0);
    if (t->counts.has_best) {
        snprintf(best, sizeof best, "best dev %s %.4f", t->session.task->metric, t->sums.best);
        p.text = best;
    }
    p.loss = per(t->sums.report_loss, (double)t->counts.report_targets);
    p.step_ms = 1e3 * per(seconds, (double)t->step_steps),
    p.tokens_per_second = per((double)t->step_tokens, seconds);
    t->sums.report_loss = 0, t->counts.report_targets = 0;
    t->step_clock = now, t->step_steps = t->step_tokens = 0;
    tell(t, &p);
    if (t->log.file < 0) return GSA_OK;
    gsa_chart_add(&t->curve, 0, (double)p.step, p.loss);
    return gsa_log_write(&t->log,
                         json_pack("{s:s, s:i, s:I, s:o, s:o, s:o, s:o, s:o, s:I, s:o}", "kind",
                                   "step", "epoch", p.epoch, "step", (json_int_t)p.step, "loss",
                                   gsa_json_number(p.loss), "norm", gsa_json_number(p.norm), "lr",
                                   gsa_json_number(p.lr), "step_ms", gsa_json_number(p.step_ms),
                                   "tokens_per_second", gsa_json_number(p.tokens_per_second),
                                   "peak_rss_bytes", (json_int_t)peak_memory(), "seconds",
                                   gsa_json_number(p.seconds)),
                         error);
}

/* "dev loss 1.2345, bpc 1.781" */
static void say_means(const gsa_trainer *t, const gsa_score *dev, char *text, size_t size)
{
    gsa_fact facts[4];
    const gsa_task *task = t->session.task;
    const int count = task->metrics ? task->metrics(dev, facts, 4) : 0;
    int used =
        snprintf(text, size, "dev %s %.6g", task->metric, gsa_shown(gsa_score_metric(task, dev)));
    for (int i = 0; i < count && (size_t)used < size; i++)
        used += snprintf(text + used, size - (size_t)used, ", %s %.6g", facts[i].name,
                         gsa_shown(facts[i].value));
}

gsa_status gsa_trainer_report_epoch(gsa_trainer *t, const gsa_score *dev, gsa_error *error)
{
    char text[160];
    const gsa_task *task = t->session.task;
    gsa_progress p = progress_of(t, 1);
    const double value = dev ? gsa_score_metric(task, dev) : 0,
                 loss = dev ? per(dev->loss, (double)dev->targets) : 0;
    p.loss = per(t->sums.epoch_loss, (double)t->counts.epoch_targets);
    p.tokens_per_second = per((double)t->counts.tokens, gsa_seconds() - t->started);
    if (!dev) snprintf(text, sizeof text, "no dev data");
    else if (!task->rising) say_means(t, dev, text, sizeof text);
    else
        snprintf(text, sizeof text, "dev %s %.4f, loss %.4f%s", task->metric, gsa_shown(value),
                 gsa_shown(loss), t->counts.waited ? "" : ", the best");
    p.text = text;
    tell(t, &p);
    if (t->log.file < 0) return GSA_OK;
    json_t *line = json_pack("{s:s, s:i, s:I, s:o, s:o}", "kind", "epoch", "epoch", p.epoch, "step",
                             (json_int_t)p.step, "train_loss", gsa_json_number(p.loss), "seconds",
                             gsa_json_number(gsa_seconds() - t->started));
    if (dev) {
        json_object_set_new(line, t->metric, gsa_json_number(value));
        gsa_json_metrics(line, task, "dev", dev);
        json_object_set_new(line, "dev_loss", gsa_json_number(loss));
        gsa_chart_add(&t->curve, 1, (double)p.step, value);
    }
    return gsa_log_write(&t->log, line, error);
}

gsa_status gsa_trainer_draw(gsa_trainer *t, gsa_error *error)
{
    char title[256], metric[64];
    if (!t->folder) return GSA_OK;
    char *path = gsa_path_join(t->system, t->folder, "curve.svg", error);
    if (!path) return GSA_ERR_MEMORY;
    snprintf(title, sizeof title, "%s, seed %lld",
             gsa_stack_text(gsa_learner_encoder(&t->session.model)),
             (long long)t->session.recipe.values.train_seed);
    snprintf(metric, sizeof metric, "dev %s", t->session.task->metric);
    gsa_chart chart = t->curve; /* its points are borrowed */
    char loss[] = "train loss";
    chart.line[0].name = loss, chart.line[1].name = metric;
    const gsa_chart_look look = { .title = title,
                                  .x_label = "step",
                                  .y_label = loss,
                                  .right_label = metric,
                                  .log_y = GSA_CHART_AUTO };
    gsa_output *out;
    const gsa_status status = gsa_output_open_own(t->system, path, &out, error);
    gsa_release(t->system, path);
    if (status != GSA_OK) return status;
    gsa_chart_write(&chart, &look, out);
    return gsa_output_commit(out, error);
}

static json_t *result_of(gsa_trainer *t, const gsa_score *test)
{
    const gsa_session *s = &t->session;
    gsa_fact facts[8];
    char name[64], signature[GSA_SIGNATURE];
    const int64_t *d = t->counts.dev;
    const gsa_score dev = {
        t->sums.dev_loss, t->sums.dev_right, d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7]
    };
    const int n = s->task->facts ? s->task->facts(s->self, facts, 8) : 0;
    json_t *r = json_pack("{s:s}", "task", s->task->name);
    gsa_json_stacks(r, s);
    if (t->counts.evaluated >= 0)
        json_object_set_new(r, t->metric, gsa_json_number(t->best ? t->sums.best : t->sums.last));
    if (t->counts.evaluated >= 0) gsa_json_metrics(r, s->task, "dev", &dev);
    snprintf(name, sizeof name, "test_%s", s->task->metric);
    if (test->examples > 0)
        json_object_set_new(r, name, gsa_json_number(gsa_score_metric(s->task, test)));
    if (test->examples > 0) gsa_json_metrics(r, s->task, "test", test);
    for (int i = 0; i < n; i++)
        json_object_set_new(r, facts[i].name, gsa_json_number(facts[i].value));
    if (s->recipe.values.task_name == GSA_TASK_LANGUAGE_MODELLING) {
        const double degree = gsa_session_in_degree(s);
        if (degree > 0) json_object_set_new(r, "in_degree", gsa_json_number(degree));
    }
    const double seconds = gsa_seconds() - t->started;
    json_object_set_new(r, "epochs", json_integer(t->counts.epoch));
    json_object_set_new(r, "steps", json_integer(t->counts.step));
    if (t->best) json_object_set_new(r, "best_step", json_integer(t->counts.best_step));
    if (t->counts.skipped > 0)
        json_object_set_new(r, "skipped_steps", json_integer(t->counts.skipped));
    if (s->backend->step_begin) json_object_set_new(r, "graph_steps", json_integer(t->graph_steps));
    if (s->group) json_object_set_new(r, "sent_bytes", json_integer(t->sent));
    if (s->group) json_object_set_new(r, "early_sums", json_integer(s->group->early));
    json_object_set_new(r, "seconds", gsa_json_number(seconds));
    json_object_set_new(r, "tokens_per_second",
                        gsa_json_number(per((double)t->counts.tokens, seconds)));
    json_object_set_new(r, "parameters", json_integer(gsa_parameters_total(s->model.parameters)));
    json_object_set_new(r, "tape_bytes", json_integer(gsa_tape_peak(s->model.tape)));
    json_object_set_new(r, "seed", json_integer(s->recipe.values.train_seed));
    gsa_signature(s, signature);
    json_object_set_new(r, "signature", json_string(signature));
    return r;
}

gsa_status gsa_trainer_result(gsa_trainer *t, const gsa_score *test, json_t *more, char **result,
                              gsa_error *error)
{
    gsa_output *output;
    json_t *object = result_of(t, test);
    if (more) json_object_update(object, more);
    gsa_status status = GSA_OK;
    if (t->log.file >= 0) {
        json_t *line = json_deep_copy(object);
        if (line) json_object_set_new(line, "kind", json_string("result"));
        status = gsa_log_write(&t->log, line, error);
    }
    *result = NULL;
    if (status != GSA_OK) json_decref(object);
    else status = gsa_json_text(t->system, object, result, error);
    char *path = status == GSA_OK && t->folder
                     ? gsa_path_join(t->system, t->folder, "result.json", error)
                     : NULL;
    if (status == GSA_OK && t->folder && !path) status = GSA_ERR_MEMORY;
    if (path) status = gsa_output_open_own(t->system, path, &output, error);
    if (path && status == GSA_OK) {
        gsa_output_format(output, "%s\n", *result);
        status = gsa_output_commit(output, error);
    }
    gsa_release(t->system, path);
    return status;
}
