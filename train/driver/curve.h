/* curve.h - the training curve as SVG: loss on the left axis, the dev metric on the right one,
 * steps below. An axis whose values span more than a factor of 30 is logarithmic. */
#ifndef GSA_CURVE_H
#define GSA_CURVE_H
#include "graph/system.h"

typedef struct gsa_curve_point {
    int64_t step;
    double value;
} gsa_curve_point;

typedef struct gsa_curve {
    const gsa_system *system;
    gsa_curve_point *point[2]; /* 0: loss, 1: metric */
    int64_t count[2], room[2];
} gsa_curve;

/* Values that are not finite are left out, and so is what there is no memory for. */
void gsa_curve_add(gsa_curve *curve, int line, int64_t step, double value);
void gsa_curve_release(gsa_curve *curve); /* a zeroed one is fine */
/* title and metric are shown ("dev accuracy"). */
gsa_status gsa_curve_write(const gsa_curve *curve, const char *path, const char *title,
                           const char *metric, gsa_error *error);

#endif
