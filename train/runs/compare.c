#include "train/runs/compare.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/philox.h"
#include "train/score/outcomes.h"

enum { FIELDS = GSA_SCORE_NUMBERS, FACTS = 8 };

/* ---- the metric ---------------------------------------------------------------------------- */

/* Of sums; an absent one (F1 of nothing) is 0. */
static double metric_of(const gsa_task *task, const char *name, const gsa_score *sum)
{
    gsa_fact facts[FACTS];
    if (strcmp(name, task->metric) == 0) return gsa_score_metric(task, sum);
    const int count = task->metrics ? task->metrics(sum, facts, FACTS) : 0;
    for (int i = 0; i < count; i++)
        if (strcmp(facts[i].name, name) == 0) return facts[i].value;
    return 0;
}

static gsa_status choose_metric(const gsa_outcomes *o, const char *asked,
                                char name[GSA_METRIC_NAME], gsa_error *error)
{
    gsa_score sum = { 0 };
    gsa_fact facts[FACTS];
    char known[256];
    for (int64_t u = 0; u < o->units; u++) gsa_score_add(&sum, &o->unit[u]);
    const int count = o->task->metrics ? o->task->metrics(&sum, facts, FACTS) : 0;
    int used = snprintf(known, sizeof known, "%s", o->task->metric);
    int found = !asked || strcmp(asked, o->task->metric) == 0;
    for (int i = 0; i < count && used < (int)sizeof known; i++) {
        used += snprintf(known + used, sizeof known - (size_t)used, ", %s", facts[i].name);
        found |= asked && strcmp(asked, facts[i].name) == 0;
    }
    if (!found || (asked && strlen(asked) >= GSA_METRIC_NAME))
        return gsa_fail(error, GSA_ERR_ARGUMENT, "task %s has no metric '%s'; it has %s",
                        o->task->name, asked, known);
    snprintf(name, GSA_METRIC_NAME, "%s", asked ? asked : o->task->metric);
    return GSA_OK;
}

/* ---- resamples ----------------------------------------------------------------------------- */

/* Runs that draw the same units: runs 2i and 2i+1 are a pair. A run's sums have FIELDS columns;
 * those whose value is the same in all units need no adding. */
typedef struct group {
    const gsa_pair *pair;
    int pairs, active;
    double weight; /* of a pair's difference */
    int64_t units;
    double *sum;   /* [2 pairs FIELDS] */
    int *column;   /* [active] of sum */
    double *value; /* [units, active] */
    double *drawn; /* [active] */
} group;

static double field(const gsa_score *s, int index)
{
    double number[GSA_SCORE_NUMBERS];
    gsa_score_numbers(s, number);
    return number[index];
}

static const gsa_outcomes *run_of(const group *g, int run)
{
    return run % 2 ? g->pair[run / 2].b : g->pair[run / 2].a;
}

static void group_release(const gsa_system *system, group *g)
{
    gsa_release(system, g->sum);
    gsa_release(system, g->column);
    gsa_release(system, g->value);
    gsa_release(system, g->drawn);
}

static void find_columns(group *g)
{
    for (int c = 0; c < 2 * g->pairs * FIELDS; c++) {
        const gsa_score *unit = run_of(g, c / FIELDS)->unit;
        const double first = field(unit, c % FIELDS);
        int64_t same = 1;
        while (same < g->units && field(&unit[same], c % FIELDS) == first) same++;
        g->sum[c] = first * (double)g->units;
        if (same < g->units) g->column[g->active++] = c;
    }
}

static gsa_status group_create(const gsa_system *system, const gsa_pair *pair, int pairs,
                               double weight, group *g, gsa_error *error)
{
    *g = (group){ .pair = pair, .pairs = pairs, .weight = weight, .units = pair->a->units };
    const size_t columns = 2 * (size_t)pairs * FIELDS;
    g->sum = gsa_alloc(system, columns, sizeof *g->sum);
    g->column = gsa_alloc(system, columns, sizeof *g->column);
    g->drawn = gsa_alloc(system, columns, sizeof *g->drawn);
    if (!g->sum || !g->column || !g->drawn)
        return gsa_out_of_memory(error, "the sums of runs", (int64_t)columns * 20);
    find_columns(g);
    g->value = gsa_alloc(system, (size_t)g->units * (size_t)g->active, sizeof *g->value);
    if (!g->value) return gsa_out_of_memory(error, "the outcomes", g->units * g->active * 8);
    for (int64_t u = 0; u < g->units; u++)
        for (int i = 0; i < g->active; i++)
            g->value[u * g->active + i] =
                field(&run_of(g, g->column[i] / FIELDS)->unit[u], g->column[i] % FIELDS);
    return GSA_OK;
}

static double run_metric(const group *g, const char *name, int run)
{
    const double *x = g->sum + (ptrdiff_t)run * FIELDS;
    const gsa_score sum = gsa_score_of(x);
    return metric_of(run_of(g, run)->task, name, &sum);
}

static void add_unit(group *g, int64_t unit)
{
    const double *value = g->value + unit * g->active;
    for (int i = 0; i < g->active; i++) g->drawn[i] += value[i];
}

/* The weighted difference of the group's pairs on the sample's units; sample < 0: on all of them,
 * once. */
static double difference(group *g, const char *name, uint32_t seed, uint32_t number, int64_t sample)
{
    double sum = 0;
    for (int i = 0; i < g->active; i++) g->drawn[i] = 0;
    for (int64_t u = 0; u < g->units && sample < 0; u++) add_unit(g, u);
    for (int64_t u = 0; u < g->units && sample >= 0; u += 4) {
        const gsa_philox draw =
            gsa_philox4x32((gsa_philox){ { (uint32_t)(u / 4), (uint32_t)(u / 4 >> 32), number,
                                           (uint32_t)sample } },
                           seed, 0x626f6f74u);
        for (int64_t i = 0; i < 4 && u + i < g->units; i++)
            add_unit(g, (int64_t)((uint64_t)draw.word[i] * (uint64_t)g->units >> 32));
    }
    for (int i = 0; i < g->active; i++) g->sum[g->column[i]] = g->drawn[i];
    for (int i = 0; i < g->pairs; i++)
        sum += run_metric(g, name, 2 * i) - run_metric(g, name, 2 * i + 1);
    return g->weight * sum;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static gsa_status resample(const gsa_system *system, const gsa_compare_options *o, group *groups,
                           int count, gsa_compared *c, gsa_error *error)
{
    double *d = gsa_alloc(system, (size_t)o->samples, sizeof *d);
    if (!d) return gsa_out_of_memory(error, "the resamples", o->samples * 8);
    const double sign = c->difference < 0 ? -1 : 1,
                 slack = 1e-12 * (fabs(c->a) + fabs(c->b)); /* sums of rounded terms */
    int64_t against = 0;
    for (int64_t s = 0; s < o->samples; s++) {
        d[s] = 0;
        for (int g = 0; g < count; g++)
            d[s] += difference(&groups[g], c->metric, o->seed, (uint32_t)g, s);
        against += sign * d[s] <= slack;
    }
    qsort(d, (size_t)o->samples, sizeof *d, ascending);
    const int64_t cut = (int64_t)(0.025 * (double)o->samples);
    c->low = d[cut], c->high = d[o->samples - 1 - cut];
    c->p = fabs(c->difference) <= slack
               ? 1
               : fmin(1, 2 * (1 + (double)against) / (1 + (double)o->samples));
    gsa_release(system, d);
    return GSA_OK;
}

/* ---- pairs --------------------------------------------------------------------------------- */

static int is_alike(const gsa_task *a, const gsa_task *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->metric, b->metric) == 0;
}

static gsa_status check_pair(const gsa_pair *pair, const gsa_pair *first, gsa_error *error)
{
    const gsa_outcomes *a = pair->a, *b = pair->b;
    if (!is_alike(a->task, b->task) || !is_alike(a->task, first->a->task))
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "runs of task %s and of task %s are not measured alike", a->task->name,
                        is_alike(a->task, b->task) ? first->a->task->name : b->task->name);
    if (strcmp(a->gold, b->gold) != 0 || a->units != b->units)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "the runs were measured on different data: A on %lld units with gold "
                        "%.12s, B on %lld with %.12s",
                        (long long)a->units, a->gold, (long long)b->units, b->gold);
    if (a->units >= INT64_C(1) << 32)
        return gsa_fail(error, GSA_ERR_LIMIT, "%lld units are too many to draw from",
                        (long long)a->units);
    return GSA_OK;
}

/* Pairs from `from` on that draw the same units. */
static int together(const gsa_pair *pair, int pairs, int from)
{
    int to = from + 1;
    while (to < pairs && pair[to].combination == pair[from].combination &&
           pair[to].a->units == pair[from].a->units && /* a file may say any gold */
           strcmp(pair[to].a->gold, pair[from].a->gold) == 0)
        to++;
    return to;
}

static int seeds_of(const gsa_pair *pair, int pairs, int combination)
{
    int count = 0;
    for (int i = 0; i < pairs; i++) count += pair[i].combination == combination;
    return count;
}

static gsa_status create_groups(const gsa_system *system, const gsa_pair *pair, int pairs,
                                group *groups, int *count, gsa_error *error)
{
    gsa_status status = GSA_OK;
    int combinations = 0;
    for (int i = 0; i < pairs; i++)
        combinations += i == 0 || pair[i].combination != pair[i - 1].combination;
    for (int from = 0, to; from < pairs && status == GSA_OK; from = to) {
        to = together(pair, pairs, from);
        const double weight = 1.0 / combinations / seeds_of(pair, pairs, pair[from].combination);
        status = group_create(system, pair + from, to - from, weight, &groups[(*count)++], error);
    }
    return status;
}

static void measure(group *groups, int count, gsa_compared *c)
{
    for (int g = 0; g < count; g++) {
        group *one = &groups[g];
        difference(one, c->metric, 0, 0, -1);
        c->units += one->units, c->pairs += one->pairs;
        for (int i = 0; i < one->pairs; i++) {
            const double a = run_metric(one, c->metric, 2 * i),
                         b = run_metric(one, c->metric, 2 * i + 1);
            c->a += one->weight * a, c->b += one->weight * b;
            c->better += c->rising ? a > b : a < b, c->worse += c->rising ? a < b : a > b;
        }
    }
    c->difference = c->a - c->b;
}

gsa_status gsa_compare_pairs(const gsa_system *system, const gsa_compare_options *options,
                             const gsa_pair *pair, int pairs, gsa_compared *compared,
                             gsa_error *error)
{
    int count = 0;
    if (!system) system = gsa_system_default();
    *compared = (gsa_compared){ .samples = options->samples };
    if (pairs < 1 || options->samples < 1 || options->samples > 10000000)
        return gsa_fail(error, GSA_ERR_ARGUMENT,
                        "%d pairs, %lld resamples: expected at least one pair, 1 to 10000000",
                        pairs, (long long)options->samples);
    gsa_status status = GSA_OK;
    for (int i = 0; i < pairs && status == GSA_OK; i++) status = check_pair(&pair[i], pair, error);
    if (status == GSA_OK) status = choose_metric(pair->a, options->metric, compared->metric, error);
    if (status != GSA_OK) return status;
    compared->rising = pair->a->task->rising;
    group *groups = gsa_alloc_zero(system, (size_t)pairs, sizeof *groups);
    if (!groups) return gsa_out_of_memory(error, "the pairs", pairs * (int64_t)sizeof *groups);
    status = create_groups(system, pair, pairs, groups, &count, error);
    if (status == GSA_OK) measure(groups, count, compared);
    if (status == GSA_OK) status = resample(system, options, groups, count, compared, error);
    for (int g = 0; g < count; g++) group_release(system, &groups[g]);
    gsa_release(system, groups);
    return status;
}
