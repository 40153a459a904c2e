#include "train/driver/log.h"
#include "graph/system_parts.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "train/data/lines.h"
#include "train/data/json.h"

gsa_status gsa_log_open(const gsa_system *system, const char *path, gsa_log *log, gsa_error *error)
{
    *log = (gsa_log){ .system = system, .file = -1 };
    if (!path) return GSA_OK;
    log->path = gsa_copy_text(system, path);
    if (!log->path) return gsa_out_of_memory(error, path, (int64_t)strlen(path));
    log->file = system->open(system->user, path, GSA_OPEN_OWN);
    if (log->file >= 0) return GSA_OK;
    const gsa_status status =
        gsa_fail(error, GSA_ERR_IO, "'%s' cannot be opened: %s", path, strerror(errno));
    gsa_release(system, log->path);
    log->path = NULL;
    return status;
}

gsa_status gsa_log_close(gsa_log *log, gsa_error *error)
{
    gsa_status status = GSA_OK;
    if (log->path && log->file >= 0 && log->system->close(log->system->user, log->file) < 0)
        status =
            gsa_fail(error, GSA_ERR_IO, "'%s' cannot be closed: %s", log->path, strerror(errno));
    if (log->path) gsa_release(log->system, log->path);
    *log = (gsa_log){ .file = -1 };
    return status;
}

static gsa_status append(gsa_log *log, const char *text, int64_t bytes, gsa_error *error)
{
    while (bytes > 0) {
        const int64_t done = log->system->write(log->system->user, log->file, text, bytes);
        if (done <= 0)
            return gsa_fail(error, GSA_ERR_IO, "'%s' cannot be written: %s", log->path,
                            done == 0 ? "no space" : strerror(errno));
        text += done, bytes -= done;
    }
    return GSA_OK;
}

gsa_status gsa_log_write(gsa_log *log, json_t *object, gsa_error *error)
{
    char *text = object && log->file >= 0
                     ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(12))
                     : NULL;
    gsa_status status = GSA_OK;
    if (!object || (log->file >= 0 && !text))
        status = gsa_out_of_memory(error, "a line of the log", 256);
    if (text) {
        const size_t length = strlen(text);
        text[length] = '\n'; /* over the terminator: one write a line */
        status = append(log, text, (int64_t)length + 1, error);
    }
    free(text);
    json_decref(object);
    return status;
}

json_t *gsa_json_number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

/* 1: the line stays. */
static int take_line(const char *line, int64_t bytes, int64_t step, const char *metric,
                     gsa_chart *curve)
{
    json_t *object = gsa_json_parse(line, bytes, 0, NULL);
    const char *kind = json_string_value(json_object_get(object, "kind"));
    const int64_t at = json_integer_value(json_object_get(object, "step"));
    const int stays = kind && at <= step && strcmp(kind, "result") != 0;
    const json_t *loss = json_object_get(object, "loss"), *value = json_object_get(object, metric);
    if (stays && strcmp(kind, "step") == 0 && json_is_number(loss))
        gsa_chart_add(curve, 0, (double)at, json_number_value(loss));
    if (stays && json_is_number(value))
        gsa_chart_add(curve, 1, (double)at, json_number_value(value));
    json_decref(object);
    return stays;
}

gsa_status gsa_log_is_of_a_run(const gsa_system *system, const char *path, int *kind, int *is,
                               gsa_error *error)
{
    static const char begin[] = "{\"kind\":\"environment\"";
    char text[sizeof begin], why[128];
    int64_t bytes = 0, more = 1;
    const gsa_status status = gsa_see_entry(system, path, kind, error);
    *is = *kind == GSA_FILE_LINK ? -1 : 0;
    if (status != GSA_OK || *kind != GSA_FILE_REGULAR) return status;
    const int file = system->open(system->user, path, GSA_OPEN_READ);
    while (file >= 0 && more > 0 && bytes < (int64_t)sizeof begin - 1) {
        more = system->read(system->user, file, text + bytes, (int64_t)sizeof begin - 1 - bytes);
        if (more > 0) bytes += more;
    }
    const int failed = file < 0 || more < 0;
    if (failed)
        gsa_fail(error, GSA_ERR_IO, "'%s' cannot be read: %s", path,
                 gsa_errno_text(errno, why, sizeof why));
    if (file >= 0) system->close(system->user, file);
    *is = failed ? 0 : bytes == 0 ? -1 : memcmp(text, begin, (size_t)bytes) == 0;
    return failed ? GSA_ERR_IO : GSA_OK;
}

gsa_status gsa_log_rewind(const gsa_system *system, const char *path, int64_t step,
                          const char *metric, gsa_chart *curve, gsa_error *error)
{
    char *bytes = NULL, *line;
    int64_t count = 0;
    gsa_output *output;
    gsa_status status = GSA_OK;
    const int kind = gsa_entry_kind(system, path);
    if (kind != GSA_FILE_REGULAR && kind != GSA_FILE_LINK) return GSA_OK;
    if (kind == GSA_FILE_REGULAR) /* a link goes, and what it names is not read: a device waits */
        status = gsa_read_file(system, path, INT64_C(1) << 36, &bytes, &count, error);
    if (status != GSA_OK) return status;
    status = gsa_output_open_own(system, path, &output, error);
    gsa_lines lines = gsa_lines_start(path, bytes, count);
    while (status == GSA_OK && gsa_lines_next(&lines, &line, &count)) {
        if (!take_line(line, count, step, metric, curve)) continue;
        gsa_output_write(output, line, count);
        gsa_output_text(output, "\n");
    }
    gsa_release(system, bytes);
    return status == GSA_OK ? gsa_output_commit(output, error) : status;
}
