/* axis.c - axes and their ticks. */
#include <math.h>
#include <stdio.h>
#include "train/chart/chart.h"

enum { MOST_TICKS = 14 };

/* Puts the ticks first + i step for i = 0 .. count - 1 through `value`. */
static void fill(gsa_axis *s, double first, double step, int count, double (*value)(double at))
{
    s->n_ticks = count;
    for (int i = 0; i < count; i++) s->tick[i] = value(first + i * step);
    s->low = s->tick[0], s->high = s->tick[count - 1];
}

static double itself(double at)
{
    return at;
}

/* The at-th of ..., 1, 2, 5, 10, 20, 50, ... counted from 1. */
static double one_two_five(double at)
{
    static const double of[] = { 1, 2, 5 };
    const double decade = floor(at / 3);
    return of[(int)(at - 3 * decade)] * pow(10, decade);
}

static double power_of_ten(double at)
{
    return pow(10, at);
}

static gsa_axis linear(double low, double high)
{
    gsa_axis s = { 0 };
    const double size = fmax(fabs(low), fabs(high));
    if (high - low <= 1e-6 * size || high - low < 1e-300) { /* what labels cannot tell apart */
        const double half = size > 1e-290 ? 0.05 * size : 0.5;
        low -= half, high += half;
    }
    double place = floor(3 * log10((high - low) / 6));
    while (one_two_five(place) < (high - low) / 6) place++;
    while (one_two_five(place - 1) >= (high - low) / 6) place--;
    const double step = one_two_five(place), slack = 1e-9;
    const double first = floor(low / step + slack), last = ceil(high / step - slack);
    fill(&s, first, 1, (int)(last - first) + 1, itself);
    for (int i = 0; i < s.n_ticks; i++) s.tick[i] *= step; /* no sum of rounded steps */
    s.low = s.tick[0], s.high = s.tick[s.n_ticks - 1];
    return s;
}

static gsa_axis powers(double low, double high, int base)
{
    gsa_axis s = { .log = base };
    const double of = base == 2 ? 1 : log2(10), slack = 1e-9;
    double first = floor(log2(low) / of + slack), last = ceil(log2(high) / of - slack);
    if (first == last) first--, last++;
    int step = 1;
    while ((last - first) / step > MOST_TICKS - 1) step++;
    const int count = (int)ceil((last - first) / step) + 1;
    fill(&s, first, step, count, base == 2 ? exp2 : power_of_ten);
    return s;
}

static gsa_axis logarithm_of_ten(double low, double high)
{
    gsa_axis s = { .log = 10 };
    double first = 3 * floor(log10(low)), last = 3 * ceil(log10(high));
    const double slack = 1 + 1e-9;
    if (high > 1000 * low) return powers(low, high, 10);
    while (one_two_five(first + 1) <= low * slack) first++;
    while (one_two_five(last - 1) >= high / slack) last--;
    if (last <= first) first--, last = first + 2;
    fill(&s, first, 1, (int)(last - first) + 1, one_two_five);
    return s;
}

gsa_axis gsa_axis_of(double low, double high, int log, int bytes)
{
    if (log) return log == 2 ? powers(low, high, 2) : logarithm_of_ten(low, high);
    double unit = 1;
    while (bytes && fmax(fabs(low), fabs(high)) >= 1024 * unit) unit *= 1024;
    gsa_axis s = linear(low / unit, high / unit);
    for (int i = 0; i < s.n_ticks; i++) s.tick[i] *= unit;
    s.low *= unit, s.high *= unit;
    return s;
}

double gsa_axis_at(const gsa_axis *s, double value)
{
    if (s->log) return log(value / s->low) / log(s->high / s->low);
    return (value - s->low) / (s->high - s->low);
}

void gsa_axis_label(double value, int bytes, char label[GSA_CHART_LABEL])
{
    static const char *const binary[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
    static const char *const decimal[] = { "", "k", "M", "G", "T" };
    int i = 0;
    if (bytes) {
        for (; i < 5 && fabs(value) >= 1024; i++) value /= 1024;
        snprintf(label, GSA_CHART_LABEL, "%.4g %s", value, binary[i]);
        return;
    }
    for (; i < 4 && fabs(value) >= (i ? 1000 : 10000) && fmod(value, 1000) == 0; i++) value /= 1000;
    snprintf(label, GSA_CHART_LABEL, "%.6g%s", value, decimal[i]);
}
