#include "train/driver/curve.h"
#include <float.h>
#include <math.h>

enum { WIDTH = 760, HEIGHT = 440, LEFT = 76, RIGHT = 76, TOP = 64, BOTTOM = 56 };
static const char *const colour[] = { "#1f77b4", "#d62728" };

typedef struct axis {
    double low, high;   /* of the axis; logarithms where `log` */
    double first, step; /* ticks */
    int log, used;
} axis;

void gsa_curve_add(gsa_curve *curve, int line, int64_t step, double value)
{
    if (!isfinite(value)) return;
    if (curve->count[line] == curve->room[line]) {
        const int64_t room = 2 * curve->room[line] + 256;
        gsa_curve_point *larger =
            gsa_resize(curve->system, curve->point[line], (size_t)room, sizeof *larger);
        if (!larger) return;
        curve->point[line] = larger, curve->room[line] = room;
    }
    curve->point[line][curve->count[line]++] = (gsa_curve_point){ step, value };
}

void gsa_curve_release(gsa_curve *curve)
{
    gsa_release(curve->system, curve->point[0]);
    gsa_release(curve->system, curve->point[1]);
    *curve = (gsa_curve){ .system = curve->system };
}

/* 1, 2 or 5 times a power of ten: about five ticks. */
static double nice_step(double span)
{
    const double raw = span / 5, power = pow(10, floor(log10(raw))), rest = raw / power;
    return power * (rest < 1.5 ? 1 : rest < 3.5 ? 2 : rest < 7.5 ? 5 : 10);
}

static axis axis_of(double low, double high, int may_log)
{
    axis a = { .log = may_log && low > 0 && high > 30 * low, .used = 1 };
    if (a.log) {
        a.low = floor(log10(low)), a.high = ceil(log10(high)), a.first = a.low, a.step = 1;
        return a;
    }
    const double size = fmax(fabs(low), fabs(high));
    if (high - low < 1e-4 * size ||
        high - low < DBL_MIN) { /* what ticks of four digits cannot tell apart */
        const double middle = low / 2 + high / 2, half = size > 1e-300 ? 0.05 * size : 0.05;
        low = middle - half, high = middle + half;
    }
    a.step = nice_step(high - low);
    a.low = a.first = floor(low / a.step) * a.step;
    a.high = ceil(high / a.step) * a.step;
    return a;
}

static axis value_axis(const gsa_curve *curve, int line)
{
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < curve->count[line]; i++) {
        low = fmin(low, curve->point[line][i].value);
        high = fmax(high, curve->point[line][i].value);
    }
    return curve->count[line] ? axis_of(low, high, 1) : (axis){ .low = 0, .high = 1, .step = 1 };
}

static axis step_axis(const gsa_curve *curve)
{
    int64_t last = 1;
    for (int line = 0; line < 2; line++)
        if (curve->count[line] && curve->point[line][curve->count[line] - 1].step > last)
            last = curve->point[line][curve->count[line] - 1].step;
    axis a = axis_of(0, (double)last, 0);
    a.high = (double)last;
    return a;
}

static double x_of(const axis *a, double value)
{
    return LEFT + (value - a->low) / (a->high - a->low) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const axis *a, double value)
{
    if (a->log) value = log10(value);
    return HEIGHT - BOTTOM - (value - a->low) / (a->high - a->low) * (HEIGHT - TOP - BOTTOM);
}

/* Text that SVG can hold, into the output. */
static void put_text(gsa_output *out, const char *text)
{
    for (; *text; text++) {
        const char *entity = *text == '<'   ? "&lt;"
                             : *text == '>' ? "&gt;"
                             : *text == '&' ? "&amp;"
                                            : NULL;
        if (entity) gsa_output_text(out, entity);
        else gsa_output_write(out, text, 1);
    }
}

static void put_step_ticks(gsa_output *out, const axis *a)
{
    for (double v = a->first; v <= a->high * (1 + 1e-9); v += a->step) {
        const double x = x_of(a, v);
        gsa_output_format(out,
                          "<path d=\"M%.1f %d v5\" stroke=\"#444\"/><text x=\"%.1f\" y=\"%d\" "
                          "text-anchor=\"middle\">%g</text>\n",
                          x, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 19, v);
    }
    gsa_output_format(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">step</text>\n",
                      WIDTH / 2, HEIGHT - 14);
}

static void put_value_ticks(gsa_output *out, const axis *a, int line)
{
    const int x = line ? WIDTH - RIGHT : LEFT;
    for (double v = a->first; a->used && v <= a->high + a->step * 1e-6; v += a->step) {
        const double value = a->log                     ? pow(10, v)
                             : fabs(v) < a->step * 1e-6 ? 0
                                                        : v,
                     y = y_of(a, value);
        if (line == 0)
            gsa_output_format(out, "<path d=\"M%d %.1f H%d\" stroke=\"#ddd\"/>\n", LEFT, y,
                              WIDTH - RIGHT);
        gsa_output_format(out,
                          "<text x=\"%d\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">%.4g</text>\n",
                          line ? x + 8 : x - 8, y + 4, line ? "start" : "end", colour[line], value);
    }
}

static void put_line(gsa_output *out, const gsa_curve *curve, int line, const axis *x,
                     const axis *y)
{
    if (curve->count[line] == 0) return;
    gsa_output_format(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\" points=\"",
                      colour[line]);
    for (int64_t i = 0; i < curve->count[line]; i++) {
        const gsa_curve_point p = curve->point[line][i];
        gsa_output_format(out, "%s%.1f,%.1f", i ? " " : "", x_of(x, (double)p.step),
                          y_of(y, p.value));
    }
    gsa_output_text(out, "\"/>\n");
    for (int64_t i = 0; line == 1 && i < curve->count[1]; i++)
        gsa_output_format(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n",
                          x_of(x, (double)curve->point[1][i].step),
                          y_of(y, curve->point[1][i].value), colour[1]);
}

static void put_legend(gsa_output *out, const char *title, const char *metric)
{
    const char *const names[] = { "train loss", metric };
    gsa_output_format(out, "<text x=\"%d\" y=\"22\" text-anchor=\"middle\" font-size=\"15\">",
                      WIDTH / 2);
    put_text(out, title);
    gsa_output_text(out, "</text>\n");
    for (int line = 0; line < 2; line++) {
        const int x = LEFT + 20 + 180 * line;
        gsa_output_format(
            out,
            "<path d=\"M%d 44 h24\" stroke=\"%s\" stroke-width=\"2\"/><text x=\"%d\" y=\"48\">", x,
            colour[line], x + 30);
        put_text(out, names[line]);
        gsa_output_text(out, line ? " (right)</text>\n" : " (left)</text>\n");
    }
}

gsa_status gsa_curve_write(const gsa_curve *curve, const char *path, const char *title,
                           const char *metric, gsa_error *error)
{
    gsa_output *out;
    const gsa_status status = gsa_output_open_own(curve->system, path, &out, error);
    if (status != GSA_OK) return status;
    const axis x = step_axis(curve), y[] = { value_axis(curve, 0), value_axis(curve, 1) };
    gsa_output_format(out,
                      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                      "viewBox=\"0 0 %d %d\" "
                      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" "
                      "height=\"100%%\" fill=\"#fff\"/>\n",
                      WIDTH, HEIGHT, WIDTH, HEIGHT);
    put_value_ticks(out, &y[0], 0);
    put_value_ticks(out, &y[1], 1);
    put_step_ticks(out, &x);
    gsa_output_format(out, "<path d=\"M%d %d V%d H%d V%d\" fill=\"none\" stroke=\"#444\"/>\n", LEFT,
                      TOP, HEIGHT - BOTTOM, WIDTH - RIGHT, TOP);
    for (int line = 0; line < 2; line++) put_line(out, curve, line, &x, &y[line]);
    put_legend(out, title, metric);
    gsa_output_text(out, "</svg>\n");
    return gsa_output_commit(out, error);
}
