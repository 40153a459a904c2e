/* summary.c - the end of a run as a table for people. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include "tools/command/verbs.h"

enum { NAME = 96 };

static int begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static int ends(const char *text, const char *with)
{
    const size_t bytes = strlen(text), tail = strlen(with);
    return bytes >= tail && strcmp(text + bytes - tail, with) == 0;
}

/* "bayes_bigram" as words. */
static void words(char name[NAME], const char *from, size_t bytes)
{
    snprintf(name, NAME, "%.*s", (int)bytes, from);
    for (char *at = name; *at; at++)
        if (*at == '_') *at = ' ';
}

static void row(const char *name, const json_t *dev, const json_t *test)
{
    const json_t *const value[] = { dev, test };
    fprintf(stderr, "  %-32s", name);
    for (int i = 0; i < 2; i++) {
        if (json_is_number(value[i])) fprintf(stderr, " %10.4f", json_number_value(value[i]));
        else if (i == 0) fprintf(stderr, " %10s", "");
    }
    fputc('\n', stderr);
}

/* What needs no training: "majority_accuracy" is the baseline "majority" of the metric accuracy, on
 * dev. */
static void baselines(const json_t *result, const char *metric)
{
    const char *key;
    json_t *value;
    char tail[NAME], name[NAME], line[NAME + 16];
    snprintf(tail, sizeof tail, "_%s", metric);
    json_object_foreach ((json_t *)(uintptr_t)result, key, value) {
        if (!ends(key, tail) || begins(key, "dev_") || begins(key, "test_") ||
            !json_is_number(value))
            continue;
        words(name, key, strlen(key) - strlen(tail));
        snprintf(line, sizeof line, "  baseline: %s", name);
        row(line, value, NULL);
    }
}

/* A row for each metric of dev, or of test alone. */
static void metrics(const json_t *result)
{
    static const char *const splits[] = { "dev_", "test_" };
    const char *key;
    json_t *value;
    char other[NAME], name[NAME];
    fprintf(stderr, "  %-32s %10s %10s\n", "", "dev", "test");
    for (int s = 0; s < 2; s++)
        json_object_foreach ((json_t *)(uintptr_t)result, key, value) {
            if (!begins(key, splits[s]) || !json_is_number(value) || ends(key, "_examples"))
                continue;
            const char *metric = key + strlen(splits[s]);
            snprintf(other, sizeof other, "%s%s", splits[!s], metric);
            const json_t *beside = json_object_get(result, other);
            if (s == 1 && beside) continue;
            words(name, metric, strlen(metric));
            row(name, s == 0 ? value : NULL, s == 0 ? beside : value);
            baselines(result, metric);
        }
}

static double number(const json_t *result, const char *key)
{
    return json_number_value(json_object_get(result, key));
}

gsa_status gsa_print_summary(const char *result, const char *folder, gsa_error *error)
{
    json_error_t why;
    char time[32];
    json_t *object = json_loads(result, 0, &why);
    const json_t *best;
    if (!object) return gsa_fail(error, GSA_ERR_FORMAT, "the result is no JSON: %s", why.text);
    metrics(object);
    gsa_write_duration(time, sizeof time, number(object, "seconds"));
    fprintf(stderr, "  time %s, %.0f tokens a second; %.0f steps", time,
            number(object, "tokens_per_second"), number(object, "steps"));
    if ((best = json_object_get(object, "best_step")))
        fprintf(stderr, ", the best %.0f", json_number_value(best));
    fprintf(stderr, "; %.0f parameters\n", number(object, "parameters"));
    if (folder)
        fprintf(
            stderr,
            "  in %s: result.json, log.jsonl, curve.svg, config.ini, outcomes.jsonl, the model\n",
            folder);
    else fputs("  nothing is kept: --out DIR keeps the model\n", stderr);
    json_decref(object);
    return GSA_OK;
}
