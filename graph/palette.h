/* palette.h - the hues of phases and labels, in pictures and in the page; not installed. */
#ifndef GSA_PALETTE_H
#define GSA_PALETTE_H

/* Okabe and Ito's palette, without its yellow, which white paper swallows. */
enum { GSA_HUES = 8 };
static const char *const gsa_hue[GSA_HUES] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                               "#e69f00", "#56b4e9", "#7a5195", "#8a8f26" };

#endif
