/* apply.c - a trained model opened; gsa_evaluate. */
#include "train/use/apply.h"
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "gsa/checkpoint_parts.h"
#include "train/driver/alike.h"
#include "train/driver/log.h"
#include "train/use/reports.h"
#include "train/score/outcomes.h"
#include "train/data/plain.h"
#include "train/driver/trainer.h"

static void report(const gsa_apply_options *o, int32_t kind, const char *sentence)
{
    if (o->progress) o->progress(o->context, &(gsa_progress){ .kind = kind, .text = sentence });
}

void gsa_apply_say(void *context, const char *sentence)
{
    report(context, 2, sentence);
}

int gsa_is_others(const char *folder)
{
    struct stat facts;
    return stat(folder, &facts) != 0 || (facts.st_uid != geteuid() && facts.st_uid != 0);
}

gsa_status gsa_apply_open(const gsa_system *system, const gsa_apply_options *o, uint32_t splits,
                          gsa_session *session, gsa_error *error)
{
    char *checkpoint, *warning;
    gsa_anchor *anchor;
    gsa_status status = gsa_checkpoint_hold(system, system, o->model, GSA_STATE_FILE, &anchor,
                                            &checkpoint, &warning, error);
    if (warning) report(o, 3, warning);
    gsa_release(system, warning);
    if (status != GSA_OK) return status;
    system = gsa_anchor_system(anchor, system);
    const char *at = anchor ? gsa_anchor_at(anchor) : checkpoint;
    /* the folder that was named, and the step that is opened: either may be another's */
    const int untrusted =
        o->untrusted || (o->distrusts && (o->distrusts(o->model) || o->distrusts(at)));
    const gsa_session_options options = { .checkpoint = checkpoint,
                                          .overrides = o->overrides,
                                          .n_overrides = o->n_overrides,
                                          .plugins = o->plugins,
                                          .n_plugins = o->n_plugins,
                                          .policy = o->policy,
                                          .untrusted = untrusted,
                                          .allow_nonfinite = o->allow_nonfinite,
                                          .device = o->device,
                                          .build = o->build,
                                          .threads = o->threads,
                                          .splits = splits,
                                          .applies = 1,
                                          .backend = o->backend,
                                          .say = gsa_apply_say,
                                          .context = (void *)(uintptr_t)o,
                                          .group = o->group };
    status = gsa_session_create(system, &options, session, error);
    const int made = status == GSA_OK;
    status = gsa_alike_check(o->group, session, checkpoint, status, error);
    if (made && status != GSA_OK) gsa_session_release(session);
    char *path = status == GSA_OK ? gsa_path_join(system, checkpoint, GSA_MODEL_FILE, error) : NULL;
    if (status == GSA_OK) {
        status = path ? gsa_parameters_read(system, session->model.parameters, path, error)
                      : GSA_ERR_MEMORY;
        if (status != GSA_OK) gsa_session_release(session);
    }
    gsa_release(system, path);
    gsa_release(system, checkpoint);
    if (status == GSA_OK) session->anchor = anchor;
    else gsa_anchor_close(anchor);
    return status;
}

/* ---- evaluation ---------------------------------------------------------------------------- */

static int64_t tokens_of(const gsa_session *s, int split)
{
    int64_t tokens = 0;
    for (int64_t i = 0; i < s->task->examples(s->self, split); i++)
        tokens += s->task->lengths(s->self, split)[i];
    return tokens;
}

static void add_scores(json_t *result, const gsa_session *s, const char *split,
                       const gsa_score *score)
{
    char name[64];
    if (score->examples == 0) return;
    snprintf(name, sizeof name, "%s_%s", split, s->task->metric);
    json_object_set_new(result, name, gsa_json_number(gsa_score_metric(s->task, score)));
    gsa_json_metrics(result, s->task, split, score);
    snprintf(name, sizeof name, "%s_loss", split);
    json_object_set_new(result, name, gsa_json_number(score->loss / (double)score->targets));
    snprintf(name, sizeof name, "%s_examples", split);
    json_object_set_new(result, name, json_integer(score->examples));
}

static gsa_status tell(gsa_session *s, const gsa_apply_options *o, const gsa_score score[2],
                       double seconds, char **result, gsa_error *error)
{
    char signature[GSA_SIGNATURE];
    const int64_t tokens = tokens_of(s, GSA_SPLIT_DEV) + tokens_of(s, GSA_SPLIT_TEST);
    json_t *r = json_pack("{s:s}", "task", s->task->name);
    gsa_json_stacks(r, s);
    add_scores(r, s, "dev", &score[0]);
    add_scores(r, s, "test", &score[1]);
    gsa_status status = gsa_session_decode(s, r, error);
    if (status == GSA_OK && s->survey) status = gsa_reports_write(s, r, o->report, o->json, error);
    if (status != GSA_OK) {
        json_decref(r);
        return status;
    }
    gsa_signature(s, signature);
    json_object_set_new(r, "seconds", gsa_json_number(seconds));
    json_object_set_new(r, "tokens_per_second",
                        gsa_json_number(seconds > 0 ? (double)tokens / seconds : 0));
    json_object_set_new(r, "parameters", json_integer(gsa_parameters_total(s->model.parameters)));
    json_object_set_new(r, "seed", json_integer(s->recipe.values.train_seed));
    json_object_set_new(r, "signature", json_string(signature));
    return gsa_json_text(s->system, r, result, error);
}

static gsa_status evaluate(gsa_session *s, const gsa_apply_options *o, char **result,
                           gsa_error *error)
{
    const char *path = o->outcomes;
    gsa_score score[2];
    gsa_outcomes outcomes[2] = { 0 };
    gsa_output *output;
    gsa_status status = GSA_OK;
    const double start = gsa_seconds();
    for (int i = 0; i < 2 && status == GSA_OK; i++)
        status = path ? gsa_outcomes_take(s, GSA_SPLIT_DEV + i, &score[i], &outcomes[i], error)
                      : gsa_session_score(s, GSA_SPLIT_DEV + i, &score[i], NULL, error);
    const double seconds = gsa_seconds() - start;
    if (status == GSA_OK && score[0].examples + score[1].examples == 0)
        status = gsa_fail(error, GSA_ERR_ARGUMENT,
                          "there is nothing to evaluate on: --set data.dev=FILE or data.test=FILE");
    if (status == GSA_OK && path) status = gsa_output_open(s->system, path, &output, error);
    if (status == GSA_OK && path) status = gsa_outcomes_save(outcomes, output, error);
    for (int i = 0; i < 2; i++) gsa_outcomes_release(&outcomes[i]);
    return status == GSA_OK ? tell(s, o, score, seconds, result, error) : status;
}

/* Before anything is opened, and once all is known that is read. */
static gsa_status check_outputs(const gsa_system *system, const gsa_apply_options *o,
                                gsa_error *error)
{
    const char *const path[] = { o->outcomes, o->report, o->json };
    gsa_status status = GSA_OK;
    for (int i = 0; i < 3 && status == GSA_OK; i++)
        if (path[i]) status = gsa_output_check(system, path[i], error);
    return status;
}

gsa_status gsa_evaluate(const gsa_system *system, const gsa_apply_options *options, char **result,
                        gsa_error *error)
{
    gsa_session session;
    gsa_survey survey[GSA_SPLITS] = { 0 };
    *result = NULL;
    if (!system) system = gsa_system_default();
    gsa_status status = check_outputs(system, options, error);
    if (status != GSA_OK) return status;
    const gsa_plain plain = gsa_plain_begin();
    status = gsa_apply_open(system, options, 1u << GSA_SPLIT_DEV | 1u << GSA_SPLIT_TEST, &session,
                            error);
    if (status == GSA_OK) {
        status = check_outputs(system, options, error);
        if (status == GSA_OK && (options->report || options->json))
            status = gsa_reports_begin(&session, survey, error);
        if (status == GSA_OK) status = evaluate(&session, options, result, error);
        gsa_reports_end(&session, survey);
        if (status != GSA_OK) gsa_release(system, *result), *result = NULL;
        gsa_session_release(&session);
    }
    gsa_plain_end(plain);
    return status;
}
