/* palette.h - the hues of phases, labels and lines, in pictures, charts and pages; not installed.
 */
#ifndef GSA_PALETTE_H
#define GSA_PALETTE_H

/* Okabe and Ito's palette, without its yellow, which white paper swallows, and two dark ones;
 * lighter where the paper is dark. The colour-blind tell all of them apart (tests/graph/palette).
 */
enum { GSA_HUES = 8, GSA_PAPERS = 2 };
static const char *const gsa_hues[GSA_PAPERS][GSA_HUES] = {
    { "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#3b1e5a", "#5c3a00" },
    { "#569aff", "#ff8145", "#1ad08e", "#ffb8da", "#fdab11", "#b0b8ff", "#aaff96", "#13905e" }
};
#define gsa_hue  gsa_hues[0] /* on white paper */
#define GSA_GREY "#6a717c"   /* of what has no hue, on either paper */

#endif
