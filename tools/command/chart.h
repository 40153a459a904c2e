/* chart.h - numbers of results and measurements as lines: from JSON to points (chart_read.c), from
 * points to SVG (chart_draw.c). */
#ifndef GSA_TOOLS_CHART_H
#define GSA_TOOLS_CHART_H
#include "graph/system.h"

enum { GSA_CHART_LINES = 16, GSA_CHART_TICKS = 32, GSA_CHART_NAMES = 64, GSA_CHART_LABEL = 32 };

/* ---- chart_scale.c: pure functions --------------------------------------------------------- */

typedef struct gsa_scale {
    double low, high; /* of the axis, as values: both are ticks */
    int log;          /* 0: linear, 2 or 10: logarithmic */
    int n_ticks;
    double tick[GSA_CHART_TICKS];
} gsa_scale;

/* The axis that holds both values. Linear: about six steps of 1, 2 or 5 times a power of ten; of
 * bytes, of KiB, MiB, ... Base 2: powers of two. Base 10: 1, 2 and 5 times powers of ten, beyond
 * three decades those powers alone. At most 14 ticks, where more would be due every second power,
 * third, ... Values are finite, low <= high; with a logarithm low > 0. */
gsa_scale gsa_scale_of(double low, double high, int log, int bytes);
/* 0 at the axis' low end, 1 at its high end. */
double gsa_scale_at(const gsa_scale *scale, double value);
/* "8192", "20k", "1.5M", "0.02"; of bytes "512 B", "1.5 GiB". */
void gsa_scale_label(double value, int bytes, char label[GSA_CHART_LABEL]);

/* ---- what is drawn ------------------------------------------------------------------------- */

typedef struct gsa_chart_point {
    double x, y, low, high; /* the mean of n samples, the smallest, the largest */
    int n;
} gsa_chart_point;

typedef struct gsa_chart_line {
    char *name;
    gsa_chart_point *point; /* [points] ascending in x */
    int points, file; /* file: number of the one that it is of; -1: of any, told by its name */
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
void gsa_chart_release(gsa_chart *chart); /* a zeroed one is fine */

typedef struct gsa_chart_source {
    const char *x, *series; /* series NULL: a line a file, called by its name, or by its folder
                               where names are alike */
    const char *const *y;   /* [n_y] "key" or "key=name": with several each has a line of its own */
    const char *const *where; /* [n_where] "key=value": other records are left out */
    int n_y, n_where, log_x, log_y, n_files;
} gsa_chart_source;
/* The records of files as gsa bench --json (its cases) and gsa train --results (its lines) write
 * them. A key is one of the record, of its `each`, or with dots one further inside
 * ("forward.median_ms"); `topology` is the first word of the encoder. Records with `skipped` are
 * counted and left out. Samples of one line at one x are one point. */
gsa_status gsa_chart_read(const gsa_system *system, const gsa_chart_source *source,
                          const char *const *files, gsa_chart *chart, gsa_error *error);

typedef struct gsa_chart_look {
    const char *title, *x_label, *y_label; /* title may be "" */
    int log_x, log_y, zero;                /* zero: a linear y axis begins at 0 */
    int bytes_x, bytes_y;                  /* ticks in KiB, MiB, ... */
} gsa_chart_look;
/* The same points give the same bytes. */
gsa_status gsa_chart_write(const gsa_chart *chart, const gsa_chart_look *look, const char *path,
                           gsa_error *error);

#endif
