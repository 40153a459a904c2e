/* test_palette.c - the hues of pictures are told apart by all eyes: as they are seen, and without
 * one of the three cones. */
#include "graph/palette.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "support/suite.h"

/* Machado, Oliveira and Fernandes, "A physiologically-based model for simulation of color vision
 * deficiency", 2009: severity 1 of each, over linear red, green, blue. */
static const double eyes[][3][3] = { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } },
                                     { { 0.152286, 1.052583, -0.204868 },
                                       { 0.114503, 0.786281, 0.099216 },
                                       { -0.003882, -0.048116, 1.051998 } },
                                     { { 0.367322, 0.860646, -0.227968 },
                                       { 0.280085, 0.672501, 0.047413 },
                                       { -0.011820, 0.042940, 0.968881 } },
                                     { { 1.255528, -0.076749, -0.178779 },
                                       { -0.078411, 0.930809, 0.147602 },
                                       { 0.004733, 0.691367, 0.303900 } } };

static void linear(const char *hex, double out[3])
{
    unsigned rgb[3];
    ck_assert_int_eq(sscanf(hex, "#%2x%2x%2x", &rgb[0], &rgb[1], &rgb[2]), 3);
    for (int i = 0; i < 3; i++) {
        const double c = rgb[i] / 255.0;
        out[i] = c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
    }
}

/* CIE L*a*b* (D65) of what an eye sees. */
static void seen(const char *hex, const double eye[3][3], double lab[3])
{
    static const double xyz[3][3] = { { 0.4124, 0.3576, 0.1805 },
                                      { 0.2126, 0.7152, 0.0722 },
                                      { 0.0193, 0.1192, 0.9505 } };
    static const double white[3] = { 0.9505, 1, 1.089 };
    double rgb[3], own[3], f[3];
    linear(hex, rgb);
    for (int i = 0; i < 3; i++)
        own[i] = fmin(1, fmax(0, eye[i][0] * rgb[0] + eye[i][1] * rgb[1] + eye[i][2] * rgb[2]));
    for (int i = 0; i < 3; i++) {
        const double t = (xyz[i][0] * own[0] + xyz[i][1] * own[1] + xyz[i][2] * own[2]) / white[i];
        f[i] = t > 0.008856 ? cbrt(t) : 7.787 * t + 16.0 / 116;
    }
    lab[0] = 116 * f[1] - 16, lab[1] = 500 * (f[0] - f[1]), lab[2] = 200 * (f[1] - f[2]);
}

/* Two patches side by side differ from about 2.3 on; a legend and a thin line need more. */
START_TEST(every_eye_tells_the_hues_apart)
{
    enum { COLOURS = GSA_HUES + 1 };
    for (int paper = 0; paper < GSA_PAPERS; paper++)
        for (int eye = 0; eye < GSA_COUNT(eyes); eye++) {
            double lab[COLOURS][3];
            for (int h = 0; h < COLOURS; h++)
                seen(h < GSA_HUES ? gsa_hues[paper][h] : GSA_GREY, eyes[eye], lab[h]);
            for (int a = 0; a < COLOURS; a++)
                for (int b = 0; b < a; b++) {
                    const double d = hypot(hypot(lab[a][0] - lab[b][0], lab[a][1] - lab[b][1]),
                                           lab[a][2] - lab[b][2]);
                    ck_assert_msg(d >= 14, "paper %d, eye %d: hues %d and %d differ by %.1f", paper,
                                  eye, a, b, d);
                }
        }
}
END_TEST

int main(int argc, char **argv)
{
    static const gsa_test hues[] = { GSA_TEST(every_eye_tells_the_hues_apart) };
    static const gsa_case cases[] = { GSA_CASE("hues", hues, 10) };
    return gsa_run_suite("palette", cases, GSA_COUNT(cases), argc, argv);
}
