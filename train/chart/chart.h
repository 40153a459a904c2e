/* chart.h - points as lines in SVG: the curve of a run, gsa chart. */
#ifndef GSA_CHART_H
#define GSA_CHART_H
#include "graph/system.h"

enum {
    GSA_CHART_LINES = 16,
    GSA_CHART_TICKS = 32,
    GSA_CHART_NAMES = 64,
    GSA_CHART_LABEL = 32,
    GSA_CHART_MOST = 4096 /* samples that a line of gsa_chart_add keeps */
};

/* ---- axis.c: pure functions --------------------------------------------------------- */

typedef struct gsa_axis {
    double low, high; /* of the axis, as values: both are ticks */
    int log;          /* 0: linear, 2 or 10: logarithmic */
    int n_ticks;
    double tick[GSA_CHART_TICKS];
} gsa_axis;

/* The axis that holds both values. Linear: about six steps of 1, 2 or 5 times a power of ten; of
 * bytes, of KiB, MiB, ... Base 2: powers of two. Base 10: 1, 2 and 5 times powers of ten, beyond
 * three decades those powers alone. At most 14 ticks, where more would be due every second power,
 * third, ... Values are finite, low <= high; with a logarithm low > 0. */
gsa_axis gsa_axis_of(double low, double high, int log, int bytes);
/* 0 at the axis' low end, 1 at its high end. */
double gsa_axis_at(const gsa_axis *scale, double value);
/* "8192", "20k", "1.5M", "0.02"; of bytes "512 B", "1.5 GiB". */
void gsa_axis_label(double value, int bytes, char label[GSA_CHART_LABEL]);

/* ---- what is drawn ------------------------------------------------------------------------- */

typedef struct gsa_chart_point {
    double x, y, low, high; /* the mean of n samples, the smallest, the largest */
    int n;
} gsa_chart_point;

typedef struct gsa_chart_line {
    char *name;
    gsa_chart_point *point; /* [points] ascending in x */
    int points, room;
    int64_t seen, apart; /* samples added; one of `apart` is kept, 0: each */
    int right;           /* its axis is on the right */
    int file;            /* number of the one that it is of; -1: of any, told by its name */
} gsa_chart_line;

typedef struct gsa_chart {
    const gsa_system *system;
    gsa_chart_line line[GSA_CHART_LINES];
    int lines;
    char *name[GSA_CHART_NAMES]; /* x is 0, 1, ...: the place of one of these; n_names 0: x is a
                                    number */
    int n_names;
    int skipped; /* cases that were not measured */
} gsa_chart;
/* A point of one sample at the line's end. Beyond GSA_CHART_MOST every second sample is kept, then
 * every fourth, so that memory and picture stay small. What is beyond 1e100 or NaN is left out, and
 * so is what there is no memory for. */
void gsa_chart_add(gsa_chart *chart, int line, double x, double y);
void gsa_chart_release(gsa_chart *chart); /* one without a line is fine */

enum { GSA_CHART_AUTO = -1 }; /* of log_y: 10 where positive values span more than a factor of 30 */
typedef struct gsa_chart_look {
    const char *title, *x_label, *y_label; /* title may be "" */
    const char *right_label;               /* of lines whose axis is on the right; or NULL */
    int log_x, log_y, zero;                /* zero: a linear y axis begins at 0 */
    int bytes_x, bytes_y;                  /* ticks in KiB, MiB, ... */
} gsa_chart_look;
/* Writes to an open output; the caller commits it. The same points give the same bytes. */
void gsa_chart_write(const gsa_chart *chart, const gsa_chart_look *look, gsa_output *output);

#endif
