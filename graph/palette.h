/* palette.h - the hues of phases, labels and lines, in pictures, charts and pages; not installed.
 */
#ifndef GSA_PALETTE_H
#define GSA_PALETTE_H

/* Okabe and Ito's palette, without its yellow, which white paper swallows; lighter where the paper
 * is dark. */
enum { GSA_HUES = 8, GSA_PAPERS = 2 };
static const char *const gsa_hues[GSA_PAPERS][GSA_HUES] = {
    { "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#8a8f26" },
    { "#56b4e9", "#ff8a3d", "#2fc99b", "#e8a0c8", "#f0b429", "#9ad2ff", "#b694d6", "#c3c95c" }
};
#define gsa_hue gsa_hues[0] /* on white paper */

#endif
