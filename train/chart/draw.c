/* draw.c - points as SVG: one picture for light and dark paper, no fonts from elsewhere, the
 * same bytes for the same points. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "train/chart/chart.h"
#include "graph/palette.h"
#include "graph/utf8.h"

enum {
    WIDTH = 760,
    PLOT = 330,
    PAD = 16,
    FONT_SIZE = 12,
    KEY = 26,
    ROW = 20,
    NAME = 255, /* bytes that are drawn of one */
    MARKED = 60 /* points: a line of more has no mark at each */
};

/* Of a point: what an axis adds to it is a number, too. */
#define LARGEST 1e100
#define FONT    "'Helvetica Neue',Helvetica,Arial,'Noto Sans','Noto Sans CJK SC',sans-serif"

typedef struct sheet {
    const gsa_chart *chart;
    const gsa_chart_look *look;
    gsa_output *out;
    gsa_axis x, y[2];                /* y: on the left, on the right */
    double left, right, top, bottom; /* of the plot */
    int legend, repeated;            /* is there a legend; has a point several samples */
} sheet;

/* ---- text ---------------------------------------------------------------------------------- */

/* About, of Helvetica's sort. */
static double width_of(const char *text, double size)
{
    double sum = 0;
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if ((c & 0xC0) == 0x80) continue;
        sum += c >= 0xE0                         ? 1
               : strchr("iljtf.,:;'|!()[]I ", c) ? 0.32
               : strchr("mwMW@%", c)             ? 0.9
                                                 : 0.58;
    }
    return sum * size;
}

/* What is drawn of a word or of a line's name. */
static const char *cut(const char *name, char room[NAME + 1])
{
    snprintf(room, NAME + 1, "%.*s", NAME, name);
    return room;
}

static double width_of_name(const char *name)
{
    char room[NAME + 1];
    return width_of(cut(name, room), FONT_SIZE);
}

/* A word that was cut, or the name of a file or a line, may end in a character or be no UTF-8. */
static void put_text(gsa_output *out, const char *text)
{
    for (int32_t bytes; *text; text += bytes) {
        const char c = *text;
        bytes = (int32_t)strnlen(text, (size_t)gsa_utf8_length(text));
        if (gsa_utf8_invalid(text, bytes) >= 0) bytes = 1;
        if (gsa_xml_invalid(text, bytes) >= 0 || c == '\r' || c == '\n' || c == '\t')
            gsa_output_text(out, "\xef\xbf\xbd");
        else if (c == '&') gsa_output_text(out, "&amp;");
        else if (c == '<') gsa_output_text(out, "&lt;");
        else if (c == '>') gsa_output_text(out, "&gt;");
        else gsa_output_write(out, text, bytes);
    }
}

static void put_label(const sheet *s, const char *class, const char *anchor, double x, double y,
                      const char *text)
{
    gsa_output_format(s->out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", class,
                      x, y, anchor);
    put_text(s->out, text);
    gsa_output_text(s->out, "</text>\n");
}

/* ---- places -------------------------------------------------------------------------------- */

/* Points of several lines over one word are next to each other. */
static double aside(const sheet *s, int line)
{
    const gsa_chart *c = s->chart;
    if (c->n_names == 0) return 0;
    const double room = 0.7 * (s->right - s->left) / (c->n_names * c->lines),
                 step = room < 9 ? room : 9;
    return step * (line - 0.5 * (c->lines - 1));
}

static double x_of(const sheet *s, double value)
{
    const double first = s->left + PAD, width = s->right - PAD - first;
    const int names = s->chart->n_names;
    if (names > 0) return first + (value + 0.5) / names * width;
    return first + gsa_axis_at(&s->x, value) * width;
}

static double y_of(const sheet *s, int right, double value)
{
    return s->bottom - gsa_axis_at(&s->y[right], value) * (s->bottom - s->top);
}

typedef struct span {
    double low, high;
} span;

static void widen(span *of, double low, double high)
{
    of->low = fmin(of->low, low), of->high = fmax(of->high, high);
}

static gsa_axis scale_of(span of, int log, int bytes)
{
    if (!(of.low <= of.high)) return gsa_axis_of(0, 1, 0, bytes); /* there is no point */
    if (log == GSA_CHART_AUTO) log = of.low > 0 && of.high > 30 * of.low ? 10 : 0;
    return gsa_axis_of(of.low, of.high, log, bytes);
}

static void find_scales(sheet *s)
{
    span x = { INFINITY, -INFINITY }, y[2] = { x, x };
    for (int l = 0; l < s->chart->lines; l++)
        for (int i = 0; i < s->chart->line[l].points; i++) {
            const gsa_chart_point *p = &s->chart->line[l].point[i];
            widen(&x, p->x, p->x);
            widen(&y[s->chart->line[l].right], p->low, p->high);
            if (p->n > 1) s->repeated = 1;
        }
    if (s->look->zero && !s->look->log_y) widen(&y[0], 0, 0);
    s->x = scale_of(x, s->look->log_x, s->look->bytes_x);
    for (int r = 0; r < 2; r++) s->y[r] = scale_of(y[r], s->look->log_y, s->look->bytes_y);
}

/* ---- parts --------------------------------------------------------------------------------- */

static void put_y_axis(const sheet *s, int right)
{
    char label[GSA_CHART_LABEL];
    const gsa_axis *scale = &s->y[right];
    for (int i = 0; i < scale->n_ticks; i++) {
        const double y = y_of(s, right, scale->tick[i]);
        gsa_axis_label(scale->tick[i], s->look->bytes_y, label);
        if (!right)
            gsa_output_format(s->out, "<path class=\"grid\" d=\"M%.1f %.1fH%.0f\"/>\n", s->left, y,
                              s->right);
        put_label(s, "faint", right ? "start" : "end", right ? s->right + 8 : s->left - 8, y + 4,
                  label);
    }
    gsa_output_format(
        s->out,
        "<text class=\"ink\" text-anchor=\"middle\" transform=\"translate(%d %.1f) rotate(-90)\">",
        right ? WIDTH - 10 : 18, (s->top + s->bottom) / 2);
    put_text(s->out, right ? s->look->right_label : s->look->y_label);
    gsa_output_text(s->out, "</text>\n");
}

/* Of words the widest, in its slanted or straight place. */
static double widest_name(const sheet *s)
{
    double widest = 0;
    for (int i = 0; i < s->chart->n_names; i++)
        widest = fmax(widest, width_of_name(s->chart->name[i]));
    return widest;
}

static int slanted(const sheet *s)
{
    return s->chart->n_names > 0 && widest_name(s) > (s->right - s->left) / s->chart->n_names - 10;
}

/* Height below the plot of ticks and their labels. */
static double labels_height(const sheet *s)
{
    return slanted(s) ? 26 + 0.5 * widest_name(s) : 26;
}

static void put_x_tick(const sheet *s, double x, const char *label, int slant)
{
    gsa_output_format(s->out, "<path class=\"axis\" d=\"M%.1f %.1fv5\"/>\n", x, s->bottom);
    if (!slant) {
        put_label(s, "faint", "middle", x, s->bottom + 19, label);
        return;
    }
    gsa_output_format(
        s->out,
        "<text class=\"faint\" text-anchor=\"end\" transform=\"translate(%.1f %.1f) rotate(-30)\">",
        x + 4, s->bottom + 17);
    put_text(s->out, label);
    gsa_output_text(s->out, "</text>\n");
}

static void put_x_axis(const sheet *s)
{
    char label[GSA_CHART_LABEL], name[NAME + 1];
    const int slant = slanted(s);
    for (int i = 0; i < s->chart->n_names; i++)
        put_x_tick(s, x_of(s, i), cut(s->chart->name[i], name), slant);
    for (int i = 0; i < s->x.n_ticks && s->chart->n_names == 0; i++) {
        gsa_axis_label(s->x.tick[i], s->look->bytes_x, label);
        put_x_tick(s, x_of(s, s->x.tick[i]), label, 0);
    }
    gsa_output_format(s->out, "<path class=\"axis\" d=\"M%.1f %.1fV%.1fH%.0f\"/>\n", s->left,
                      s->top, s->bottom, s->right);
    put_label(s, "ink", "middle", (s->left + s->right) / 2, s->bottom + labels_height(s) + 14,
              s->look->x_label);
}

/* Colours alone do not tell lines apart. */
static void put_mark(const sheet *s, int line, double x, double y)
{
    static const char *const shape[] = { "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0",
                                         "m-3.6 -3.6h7.2v7.2h-7.2z", "m0 -4.6l4.4 7.8h-8.8z",
                                         "m0 -5l5 5l-5 5l-5 -5z" };
    gsa_output_format(s->out, "<path fill=\"currentColor\" d=\"M%.1f %.1f%s\"/>\n", x, y,
                      shape[line % 4]);
}

static void put_spread(const sheet *s, int line, const gsa_chart_point *p)
{
    const int right = s->chart->line[line].right;
    const double x = x_of(s, p->x) + aside(s, line), low = y_of(s, right, p->low),
                 high = y_of(s, right, p->high);
    if (p->n < 2 || low - high < 0.1) return;
    gsa_output_format(s->out,
                      "<path class=\"spread\" d=\"M%.1f %.1fV%.1fM%.1f %.1fh8M%.1f %.1fh8\"/>\n", x,
                      low, high, x - 4, low, x - 4, high);
}

static void put_line(const sheet *s, int index)
{
    const gsa_chart_line *line = &s->chart->line[index];
    gsa_output_format(s->out, "<g class=\"s%d\">\n", index % GSA_HUES);
    if (s->chart->n_names == 0 && line->points > 1) {
        gsa_output_format(s->out, "<path class=\"line\"%s d=\"",
                          index < GSA_HUES ? "" : " stroke-dasharray=\"5 3\"");
        for (int i = 0; i < line->points; i++)
            gsa_output_format(s->out, "%s%.1f %.1f", i ? "L" : "M", x_of(s, line->point[i].x),
                              y_of(s, line->right, line->point[i].y));
        gsa_output_text(s->out, "\"/>\n");
    }
    for (int i = 0; i < line->points && line->points <= MARKED; i++) {
        put_spread(s, index, &line->point[i]);
        put_mark(s, index, x_of(s, line->point[i].x) + aside(s, index),
                 y_of(s, line->right, line->point[i].y));
    }
    gsa_output_text(s->out, "</g>\n");
}

static void put_path(const sheet *s, int line, double x, double y)
{
    gsa_output_format(s->out, "<path class=\"line\"%s d=\"M%.1f %.1fh20\"/>\n",
                      line < GSA_HUES ? "" : " stroke-dasharray=\"5 3\"", x, y);
}

/* Names one after the other, as many in a row as fit; returns the height. `draw` 0 measures. */
static double put_legend(const sheet *s, double top, int draw)
{
    char name[NAME + 1];
    double x = s->left, y = top + ROW;
    if (!s->legend) return 0;
    for (int l = 0; l < s->chart->lines; l++) {
        const double width = KEY + width_of_name(s->chart->line[l].name) + 22;
        if (x > s->left && x + width > s->right) x = s->left, y += ROW;
        if (draw) {
            gsa_output_format(s->out, "<g class=\"s%d\">\n", l % GSA_HUES);
            if (s->chart->n_names == 0) put_path(s, l, x, y - 4);
            put_mark(s, l, x + 10, y - 4);
            gsa_output_text(s->out, "</g>\n");
            put_label(s, "ink", "start", x + KEY, y, cut(s->chart->line[l].name, name));
        }
        x += width;
    }
    return y - top;
}

static void put_colours(const sheet *s, int paper)
{
    for (int i = 0; i < s->chart->lines && i < GSA_HUES; i++)
        gsa_output_format(s->out, ".s%d{color:%s}", i, gsa_hues[paper][i]);
}

static void put_head(const sheet *s, double height)
{
    gsa_output_format(s->out,
                      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "
                      "xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
                      "height=\"%.0f\" viewBox=\"0 0 %d %.0f\" font-family=\"" FONT
                      "\" font-size=\"%d\">\n<title>",
                      WIDTH, height, WIDTH, height, FONT_SIZE);
    put_text(s->out, *s->look->title ? s->look->title : s->look->y_label);
    gsa_output_text(
        s->out,
        "</title>\n<style>\n.paper{fill:#ffffff}.ink{fill:#2b2f36}.faint{fill:#5d6470}"
        ".grid{stroke:#e4e6ea}.axis{stroke:#8b919b;fill:none}.line{stroke:currentColor;fill:none;"
        "stroke-width:1.8}.spread{stroke:currentColor;fill:none}");
    put_colours(s, 0);
    gsa_output_text(
        s->out,
        "\n@media "
        "(prefers-color-scheme:dark){.paper{fill:#14171c}.ink{fill:#e6e8eb}.faint{fill:#a3abb6}"
        ".grid{stroke:#2a3038}.axis{stroke:#79818c}");
    put_colours(s, 1);
    gsa_output_text(s->out,
                    "}\n</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
    if (!*s->look->title) return;
    gsa_output_text(s->out, "<g font-size=\"16\" font-weight=\"bold\">\n");
    put_label(s, "ink", "start", 18, 30, s->look->title);
    gsa_output_text(s->out, "</g>\n");
}

/* The widest label of an axis. */
static double widest_tick(const sheet *s, int right)
{
    char label[GSA_CHART_LABEL];
    double widest = 0;
    for (int i = 0; i < s->y[right].n_ticks; i++) {
        gsa_axis_label(s->y[right].tick[i], s->look->bytes_y, label);
        widest = fmax(widest, width_of(label, FONT_SIZE));
    }
    return ceil(widest);
}

static void lay_out(sheet *s)
{
    find_scales(s);
    s->left = 42 + widest_tick(s, 0);
    s->right = WIDTH - (s->look->right_label ? 34 + widest_tick(s, 1) : 26);
    s->top = *s->look->title ? 52 : 24, s->bottom = s->top + PLOT;
    if (slanted(s)) s->left = fmax(s->left, 0.87 * widest_name(s) - 20);
    s->legend = s->chart->lines > 1 || *s->chart->line[0].name;
}

void gsa_chart_write(const gsa_chart *chart, const gsa_chart_look *look, gsa_output *output)
{
    sheet s = { .chart = chart, .look = look, .out = output };
    lay_out(&s);
    const double below = s.bottom + labels_height(&s) + 22, legend = put_legend(&s, below, 0),
                 note = s.repeated ? ROW : 0;
    put_head(&s, ceil(below + legend + note + 16));
    put_y_axis(&s, 0);
    if (look->right_label) put_y_axis(&s, 1);
    put_x_axis(&s);
    for (int i = 0; i < chart->lines; i++) put_line(&s, i);
    put_legend(&s, below, 1);
    if (s.repeated)
        put_label(&s, "faint", "start", s.left, below + legend + ROW,
                  "points: means; bars: from the smallest to the largest");
    gsa_output_text(s.out, "</svg>\n");
}

/* ---- points -------------------------------------------------------------------------------- */

static void keep_every_second(gsa_chart_line *line)
{
    line->points = (line->points + 1) / 2;
    for (int i = 1; i < line->points; i++) line->point[i] = line->point[2 * i];
    line->apart = 2 * (line->apart ? line->apart : 1);
}

void gsa_chart_add(gsa_chart *chart, int index, double x, double y)
{
    gsa_chart_line *line = &chart->line[index];
    if (!(fabs(x) <= LARGEST && fabs(y) <= LARGEST)) return; /* nor NaN */
    if (line->points == GSA_CHART_MOST) keep_every_second(line);
    if (line->seen++ % (line->apart ? line->apart : 1)) return;
    if (line->points == line->room) {
        const int room = line->room ? 2 * line->room : 256;
        gsa_chart_point *larger =
            gsa_resize(chart->system, line->point, (size_t)room, sizeof *larger);
        if (!larger) return;
        line->point = larger, line->room = room;
    }
    line->point[line->points++] = (gsa_chart_point){ x, y, y, y, 1 };
}

void gsa_chart_release(gsa_chart *chart)
{
    for (int i = 0; i < chart->lines; i++) {
        gsa_release(chart->system, chart->line[i].name);
        gsa_release(chart->system, chart->line[i].point);
    }
    for (int i = 0; i < chart->n_names; i++) gsa_release(chart->system, chart->name[i]);
    *chart = (gsa_chart){ 0 };
}
