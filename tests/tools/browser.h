/* browser.h - a headless Chromium, spoken to by the DevTools protocol over two pipes. */
#ifndef GSA_TEST_BROWSER_H
#define GSA_TEST_BROWSER_H
#include <jansson.h>

/* The views of a page, in the order of their keys. */
enum { BROWSER_VIEWS = 6 };
extern const char *const browser_views[BROWSER_VIEWS];

/* Is there one? GSA_TEST_CHROMIUM names another program than chromium. */
int browser_is_here(void);

/* Starts one with a window of this size, its files in the current folder; browser_end asserts that
 * the page said nothing on the console, threw nothing, and requested nothing but its own file. */
void browser_start(int width, int height);
void browser_end(void);
/* What the console said and what was requested, each a line, since the start; the caller frees. */
char *browser_complaints(void);
void browser_forgive(void); /* the complaints until now were expected */

/* Opens a file of the current folder, and waits until its picture is whole. */
void browser_open(const char *path, const char *fragment);
/* The value of an expression in the page; the caller drops it. */
json_t *browser_value(const char *format, ...);
/* The same where the value does not matter. */
void browser_run(const char *format, ...);
/* Asserts that the expression, which is a text, is this one. */
void browser_says(const char *text, const char *format, ...);
double browser_number(const char *format, ...);

void browser_move(double x, double y); /* with the button as it is */
void browser_button(int down);
void browser_wheel(double delta);
void browser_key(const char *key);   /* "n", "Escape", "ArrowLeft" */
void browser_dark(int dark);         /* what the system prefers */
void browser_shot(const char *name); /* of GSA_TEST_SHOTS, a folder; in base64 */

#endif
