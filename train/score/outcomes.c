#include "graph/system_parts.h"
#include "train/score/outcomes.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "gsa/hash.h"
#include "topologies/words.h"
#include "train/data/lines.h"
#include "train/data/json.h"

enum { FIELDS = 7, STRICT_FIELDS = GSA_SCORE_NUMBERS };

/* ---- the signature ------------------------------------------------------------------------- */

/* "cpu (AVX-512)" is written cpu-avx-512. */
static void write_slug(const char *name, char *text, size_t room)
{
    size_t n = 0;
    for (; *name && n + 2 < room; name++) {
        const char c = *name >= 'A' && *name <= 'Z' ? (char)(*name - 'A' + 'a') : *name;
        const int plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
        if (!plain && (n == 0 || text[n - 1] == '-')) continue;
        text[n++] = plain ? c : '-';
    }
    while (n > 0 && text[n - 1] == '-') n--;
    text[n] = 0;
}

void gsa_signature(const gsa_session *s, char text[GSA_SIGNATURE])
{
    char own[192] = "", device[96];
    write_slug(s->backend->name, device, sizeof device);
    if (s->task->signature) s->task->signature(s->self, &s->recipe.values, own, sizeof own);
    snprintf(text, GSA_SIGNATURE, "task:%s|metric:%s%s%s|seed:%lld|version:%s%s%.40s|device:%s",
             s->task->name, s->task->metric, *own ? "|" : "", own,
             (long long)s->recipe.values.train_seed, GSA_VERSION, s->build ? "+" : "",
             s->build ? s->build : "", device);
}

/* ---- taking -------------------------------------------------------------------------------- */

/* One example at a time, so that the hash knows nothing of batches. */
static gsa_status hash_gold(gsa_session *s, int split, char gold[65], gsa_error *error)
{
    gsa_sha256 hash;
    gsa_status status = GSA_OK;
    const int64_t examples = s->task->examples(s->self, split), terms = s->model.plan.terms;
    gsa_sha256_start(&hash);
    for (int64_t e = 0; e < examples && s->task->gold; e++) s->task->gold(s->self, split, e, &hash);
    for (int64_t e = 0; e < examples && !s->task->gold && status == GSA_OK; e++) {
        s->batch.first = 0;
        status = gsa_task_fill(s->task, s->self, split, &e, 1, &s->batch, error);
        if (status != GSA_OK) return status;
        const int64_t targets = s->batch.targets;
        gsa_sha256_add(&hash, &targets, sizeof targets);
        if (terms > 0)
            gsa_sha256_add(&hash, s->batch.target,
                           targets * terms * (int64_t)sizeof *s->batch.target);
        else gsa_sha256_add(&hash, s->batch.label, targets * (int64_t)sizeof *s->batch.label);
    }
    gsa_sha256_end(&hash, gold);
    return status;
}

gsa_status gsa_outcomes_take(gsa_session *s, int split, gsa_score *score, gsa_outcomes *outcomes,
                             gsa_error *error)
{
    gsa_outcomes *o = outcomes;
    *score = (gsa_score){ 0 };
    *o =
        (gsa_outcomes){ .system = s->system, .task = s->task, .seed = s->recipe.values.train_seed };
    gsa_signature(s, o->signature);
    o->units = gsa_session_units(s, split);
    if (o->units == 0) return GSA_OK;
    o->unit = gsa_alloc_zero(s->system, (size_t)o->units, sizeof *o->unit);
    gsa_status status =
        o->unit ? GSA_OK
                : gsa_out_of_memory(error, "the outcomes", o->units * (int64_t)sizeof *o->unit);
    if (status == GSA_OK) status = gsa_session_score(s, split, score, o->unit, error);
    if (status == GSA_OK) status = hash_gold(s, split, o->gold, error);
    if (status != GSA_OK) gsa_outcomes_release(o);
    return status;
}

void gsa_outcomes_release(gsa_outcomes *outcomes)
{
    gsa_release(outcomes->system, outcomes->unit);
    gsa_release(outcomes->system, outcomes->own);
    *outcomes = (gsa_outcomes){ 0 };
}

/* ---- writing ------------------------------------------------------------------------------- */

void gsa_outcomes_write(const gsa_outcomes *o, int split, gsa_output *output)
{
    gsa_output_format(output,
                      "{\"outcomes\": 1, \"split\": \"%s\", \"task\": \"%s\", \"metric\": \"%s\", "
                      "\"seed\": %lld, "
                      "\"units\": %lld, \"gold\": \"%s\", \"signature\": \"%s\"",
                      gsa_split_name(split), o->task->name, o->task->metric, (long long)o->seed,
                      (long long)o->units, o->gold, o->signature);
    if (!gsa_task_named(o->task->name, o->task->metric))
        gsa_output_format(output, ", \"rising\": %d, \"f1\": %d", o->task->rising != 0,
                          o->task->f1 != 0);
    gsa_output_text(output, "}\n");
    for (const gsa_score *u = o->unit; u < o->unit + o->units; u++) {
        gsa_output_format(output, "[%.9g,%.9g,%lld,%lld,%lld,%lld,%lld", gsa_shown(u->loss),
                          gsa_shown(u->right), (long long)u->targets, (long long)u->examples,
                          (long long)u->hits, (long long)u->found, (long long)u->wanted);
        if (o->task->f1)
            gsa_output_format(output, ",%lld,%lld,%lld", (long long)u->strict_hits,
                              (long long)u->strict_found, (long long)u->strict_wanted);
        gsa_output_text(output, "]\n");
    }
}

gsa_status gsa_outcomes_save(const gsa_outcomes *outcomes, gsa_output *output, gsa_error *error)
{
    for (int i = 0; i < 2; i++)
        if (outcomes[i].units > 0) gsa_outcomes_write(&outcomes[i], GSA_SPLIT_DEV + i, output);
    return gsa_output_commit(output, error);
}

/* ---- reading ------------------------------------------------------------------------------- */

static gsa_status bad(const gsa_lines *lines, gsa_error *error, const char *why)
{
    return gsa_fail(error, GSA_ERR_FORMAT, "%s:%lld: %s", lines->path, (long long)lines->number,
                    why);
}

struct gsa_outcome_task {
    gsa_task table;
    char name[64], metric[64];
};

/* The task that the header names: of this program, or what the header says of a plugin's. */
static gsa_status take_task(gsa_outcomes *o, const json_t *header, const gsa_lines *lines,
                            gsa_error *error)
{
    const char *name = json_string_value(json_object_get(header, "task"));
    const char *metric = json_string_value(json_object_get(header, "metric"));
    const json_t *rising = json_object_get(header, "rising"), *f1 = json_object_get(header, "f1");
    o->task = gsa_task_named(name, metric);
    if (o->task) return GSA_OK;
    if (!gsa_word_ok(name) || !gsa_word_ok(metric) || !json_is_integer(rising) ||
        !json_is_integer(f1) || strlen(name) > 63 || strlen(metric) > 63)
        return bad(lines, error, "the task is none that this program knows");
    if (!o->own) o->own = gsa_alloc_zero(o->system, 1, sizeof *o->own);
    if (!o->own) return gsa_out_of_memory(error, "a task", (int64_t)sizeof *o->own);
    snprintf(o->own->name, sizeof o->own->name, "%s", name);
    snprintf(o->own->metric, sizeof o->own->metric, "%s", metric);
    o->own->table = (gsa_task){ .name = o->own->name,
                                .metric = o->own->metric,
                                .rising = json_integer_value(rising) != 0,
                                .f1 = json_integer_value(f1) != 0 };
    o->task = &o->own->table;
    return GSA_OK;
}

static gsa_status take_header(gsa_outcomes *o, const json_t *header, int64_t bytes,
                              const gsa_lines *lines, gsa_error *error)
{
    const char *gold = json_string_value(json_object_get(header, "gold"));
    const char *signature = json_string_value(json_object_get(header, "signature"));
    const int64_t units = json_integer_value(json_object_get(header, "units"));
    const gsa_status status = take_task(o, header, lines, error);
    if (status != GSA_OK) return status;
    /* a row has brackets, a digit a number, the commas between them and the end of its line */
    const int64_t row = 2 * (o->task->f1 ? STRICT_FIELDS : FIELDS) + 2;
    if (o->unit) return bad(lines, error, "the split is here a second time");
    if (!gold || !signature || strlen(gold) != 64 || units < 1)
        return bad(lines, error,
                   "no header of outcomes: gold (64 digits), signature and units are wanted");
    if (units > bytes / row)
        return gsa_fail(error, GSA_ERR_FORMAT,
                        "%s:%lld: no header of outcomes: it claims %lld units, expected at most "
                        "%lld in a file of %lld bytes",
                        lines->path, (long long)lines->number, (long long)units,
                        (long long)(bytes / row), (long long)bytes);
    o->seed = json_integer_value(json_object_get(header, "seed"));
    snprintf(o->gold, sizeof o->gold, "%s", gold);
    snprintf(o->signature, sizeof o->signature, "%s", signature);
    o->unit = gsa_alloc_zero(o->system, (size_t)units, sizeof *o->unit);
    o->units = units;
    return o->unit ? GSA_OK
                   : gsa_out_of_memory(error, lines->path, units * (int64_t)sizeof *o->unit);
}

/* What gsa_outcomes_write can have written, whose sums cannot overflow: a plugin's loss may be any
 * number. `right` was rounded. */
static int possible(const gsa_score *u)
{
    const int64_t least = u->found < u->wanted ? u->found : u->wanted,
                  most = u->found + u->wanted > 0 ? least : u->examples,
                  strict = u->strict_found < u->strict_wanted ? u->strict_found : u->strict_wanted;
    return fabs(u->loss) <= 1e100 && u->right >= 0 &&
           u->right <= (double)u->examples * (1 + 1e-8) && u->hits <= most &&
           u->strict_hits <= strict;
}

static gsa_status take_unit(gsa_score *unit, size_t fields, const json_t *row,
                            const gsa_lines *lines, gsa_error *error)
{
    double x[STRICT_FIELDS] = { 0 };
    if (json_array_size(row) != fields)
        return bad(lines, error,
                   fields == FIELDS ? "expected 7 numbers in brackets"
                                    : "expected 10 numbers in brackets");
    for (size_t i = 0; i < fields; i++) {
        const json_t *one = json_array_get(row, i);
        if (!json_is_number(one) || (i > 1 && !json_is_integer(one)))
            return bad(lines, error,
                       fields == FIELDS ? "expected 7 numbers in brackets, the last 5 whole"
                                        : "expected 10 numbers in brackets, the last 8 whole");
        x[i] = json_number_value(one);
        if (i > 1 && !(x[i] >= 0 && x[i] <= INT32_MAX))
            return bad(lines, error, "a count is not in 0 .. 2^31-1");
    }
    *unit = gsa_score_of(x);
    return possible(unit) ? GSA_OK
                          : bad(lines, error,
                                "no unit has these numbers: [loss, right, targets, examples, hits, "
                                "found, wanted] are wanted, of which the loss is at most 1e100, "
                                "right is a part of examples, hits of found and of wanted");
}

/* `left` counts down the units of the header's split, `wanted` says whether they are requested. */
typedef struct outcome_reader {
    gsa_lines lines;
    int64_t bytes, left;
    int split, wanted;
} outcome_reader;

static gsa_status take_line(outcome_reader *r, const json_t *line, gsa_outcomes *o,
                            gsa_error *error)
{
    if (r->left > 0) {
        r->left--;
        if (!r->wanted) return GSA_OK;
        return take_unit(&o->unit[o->units - r->left - 1], o->task->f1 ? STRICT_FIELDS : FIELDS,
                         line, &r->lines, error);
    }
    const char *split = json_string_value(json_object_get(line, "split"));
    if (!split || json_integer_value(json_object_get(line, "outcomes")) != 1)
        return bad(&r->lines, error, "expected a header, {\"outcomes\": 1, \"split\": ...}");
    r->wanted = strcmp(split, gsa_split_name(r->split)) == 0;
    r->left = json_integer_value(json_object_get(line, "units"));
    return r->wanted ? take_header(o, line, r->bytes, &r->lines, error) : GSA_OK;
}

gsa_status gsa_outcomes_read(const gsa_system *system, const char *path, int split,
                             gsa_outcomes *outcomes, gsa_error *error)
{
    char *bytes, *line, no[JSON_ERROR_TEXT_LENGTH + 32];
    json_error_t why;
    outcome_reader r = { .split = split };
    *outcomes = (gsa_outcomes){ .system = system };
    gsa_status status = gsa_read_file(system, path, INT64_C(1) << 36, &bytes, &r.bytes, error);
    if (status != GSA_OK) return status;
    r.lines = gsa_lines_start(path, bytes, r.bytes);
    for (int64_t count; status == GSA_OK && gsa_lines_next(&r.lines, &line, &count);) {
        json_t *object = gsa_json_parse(line, count, JSON_REJECT_DUPLICATES, &why);
        snprintf(no, sizeof no, "the line is no JSON: %s", why.text);
        status = object ? take_line(&r, object, outcomes, error) : bad(&r.lines, error, no);
        json_decref(object);
    }
    if (status == GSA_OK && r.left > 0)
        status = gsa_fail(error, GSA_ERR_FORMAT, "%s: %lld units are missing at the end", path,
                          (long long)r.left);
    gsa_release(system, bytes);
    if (status != GSA_OK) gsa_outcomes_release(outcomes);
    return status;
}
