#include "train/use/reports.h"
#include <stdlib.h>
#include <string.h>
#include "train/score/outcomes.h"
#include "train/score/report.h"

gsa_status gsa_reports_begin(gsa_session *s, gsa_survey *survey, gsa_error *error)
{
    gsa_status status = GSA_OK;
    memset(survey, 0, GSA_SPLITS * sizeof *survey);
    for (int split = GSA_SPLIT_DEV; split < GSA_SPLITS && status == GSA_OK; split++) {
        const int64_t examples = s->task->examples(s->self, split);
        if (examples == 0) continue;
        survey[split].system = s->system, survey[split].split = split;
        status = s->task->survey ? s->task->survey(s->self, &survey[split], error)
                                 : gsa_survey_open(&survey[split], examples, 1, error);
    }
    s->survey = survey;
    return status;
}

void gsa_reports_end(gsa_session *s, gsa_survey *survey)
{
    s->survey = NULL;
    for (int split = 0; split < GSA_SPLITS; split++) gsa_survey_release(&survey[split]);
}

static json_t *scores_of(const json_t *result, const char *split)
{
    const size_t length = strlen(split);
    const char *name;
    const json_t *value;
    json_t *scores = json_object();
    json_object_foreach ((json_t *)(uintptr_t)result, name, value)
        if (strncmp(name, split, length) == 0 && name[length] == '_')
            json_object_set(scores, name + length + 1, (json_t *)(uintptr_t)value);
    return scores;
}

static gsa_status make(gsa_session *s, const json_t *result, json_t *report, gsa_error *error)
{
    char signature[GSA_SIGNATURE];
    json_t *splits = json_object();
    gsa_status status = GSA_OK;
    gsa_signature(s, signature);
    json_object_set_new(report, "report", json_integer(1));
    json_object_set_new(report, "task", json_string(s->task->name));
    json_object_set_new(report, "metric", json_string(s->task->metric));
    json_object_set_new(report, "signature", json_string(signature));
    json_object_set_new(report, "splits", splits);
    for (int split = GSA_SPLIT_DEV; split < GSA_SPLITS && status == GSA_OK; split++) {
        json_t *object = json_object();
        if (s->survey[split].rows > 0) {
            json_object_set_new(object, "scores", scores_of(result, gsa_split_name(split)));
            if (s->task->findings)
                status = s->task->findings(s->self, &s->survey[split], object, error);
            else if (!s->task->survey) status = gsa_report_losses(&s->survey[split], object, error);
            json_object_set(splits, gsa_split_name(split), object);
        }
        json_decref(object);
    }
    return status;
}

static gsa_status finish(gsa_output *output, gsa_status status, gsa_error *error)
{
    if (status == GSA_OK) return gsa_output_commit(output, error);
    gsa_output_abandon(output);
    return status;
}

static gsa_status write_text(gsa_session *s, const json_t *report, const char *path,
                             gsa_error *error)
{
    gsa_output *output;
    gsa_status status = gsa_output_open(s->system, path, &output, error);
    if (status != GSA_OK) return status;
    for (int split = GSA_SPLIT_DEV; split < GSA_SPLITS && status == GSA_OK && s->task->report;
         split++)
        status = s->task->report(s->self, split, output, error);
    gsa_report_write(report, output);
    return finish(output, status, error);
}

static gsa_status write_json(gsa_session *s, const json_t *report, const char *path,
                             gsa_error *error)
{
    gsa_output *output;
    char *text = json_dumps(report, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    gsa_status status = text ? gsa_output_open(s->system, path, &output, error)
                             : gsa_out_of_memory(error, "the report", 1 << 16);
    if (status == GSA_OK) {
        gsa_output_format(output, "%s\n", text);
        status = gsa_output_commit(output, error);
    }
    free(text);
    return status;
}

gsa_status gsa_reports_write(gsa_session *s, const json_t *result, const char *text,
                             const char *json, gsa_error *error)
{
    json_t *report = json_object();
    gsa_status status = make(s, result, report, error);
    if (status == GSA_OK && text) status = write_text(s, report, text, error);
    if (status == GSA_OK && json) status = write_json(s, report, json, error);
    json_decref(report);
    return status;
}
