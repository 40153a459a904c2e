#include "param.h"
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/utf8.h"
#include "words.h"

/* ---- numbers, in the C locale whatever the process's is: uselocale() concerns this thread alone
 * ---- */

static int parse_real(const char *text, double *x)
{
    if (text[strspn(text, "+-.0123456789eE")] || !strpbrk(text, "0123456789"))
        return 0; /* no inf, nan, hex, blanks */
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain) return 0;
    const locale_t before = uselocale(plain);
    char *end;
    *x = strtod(text, &end);
    uselocale(before);
    freelocale(plain);
    return *end == 0 && isfinite(*x);
}

/* The shortest of 15, 16, 17 digits that reads back as the same number. */
static void format_real(double x, char *out, size_t size)
{
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const locale_t before = plain ? uselocale(plain) : (locale_t)0;
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, size, "%.*g", digits, x);
        if (strtod(out, NULL) == x) break;
    }
    if (plain) uselocale(before), freelocale(plain);
}

static int parse_int(const char *text, int64_t *i)
{
    const char *digits = text + (*text == '-' || *text == '+');
    if (!*digits || digits[strspn(digits, "0123456789")]) return 0;
    *i = strtoll(text, NULL,
                 10); /* too large: the largest, which is beyond every range (they end at 2^53) */
    return 1;
}

/* ---- choices: "clip,circular,clamp" -------------------------------------------------------- */

static int64_t find_choice(const char *choices, const char *text)
{
    const size_t length = strlen(text);
    int64_t place = 0;
    for (const char *at = choices;; place++) {
        const size_t word = strcspn(at, ",");
        if (word == length && memcmp(at, text, word) == 0) return place;
        if (!at[word]) return -1;
        at += word + 1;
    }
}

static int format_choice(const char *choices, int64_t place, char *out, size_t size)
{
    const char *at = choices;
    for (; place > 0; place--) at += strcspn(at, ",") + 1;
    return snprintf(out, size, "%.*s", (int)strcspn(at, ","), at);
}

/* ---- values -------------------------------------------------------------------------------- */

static int parse(const gsa_param *param, const char *text, gsa_value *value)
{
    switch (param->type) {
    case GSA_INT:
        return parse_int(text, &value->i) && (double)value->i >= param->low &&
               (double)value->i <= param->high;
    case GSA_REAL:
        return parse_real(text, &value->x) && value->x >= param->low && value->x <= param->high;
    case GSA_BOOL:
        value->i = text[0] == '1';
        return (text[0] == '0' || text[0] == '1') && !text[1];
    case GSA_CHOICE:
        value->i = find_choice(param->choices, text);
        return value->i >= 0;
    default:
        value->s = text;
        return gsa_utf8_invalid(text, (int64_t)strlen(text)) < 0;
    }
}

gsa_status gsa_param_parse(const gsa_param *param, const char *text, gsa_value *value,
                           gsa_error *error)
{
    char expected[256], shown[GSA_SHOWN];
    *value = (gsa_value){ 0 };
    if (text && parse(param, text, value)) return GSA_OK;
    gsa_param_expected(param, expected, sizeof expected);
    return gsa_fail(error, GSA_ERR_ARGUMENT, "parameter '%s' is %s, expected %s", param->name,
                    gsa_word_show(text, shown), expected);
}

int gsa_param_format(const gsa_param *param, gsa_value value, char *out, size_t size)
{
    char number[40];
    switch (param->type) {
    case GSA_INT:
    case GSA_BOOL:
        return snprintf(out, size, "%lld", (long long)value.i);
    case GSA_REAL:
        format_real(value.x, number, sizeof number);
        return snprintf(out, size, "%s", number);
    case GSA_CHOICE:
        return format_choice(param->choices, value.i, out, size);
    default:
        return snprintf(out, size, "%s", value.s);
    }
}

int gsa_param_equal(const gsa_param *param, gsa_value a, gsa_value b)
{
    if (param->type == GSA_PATH) return strcmp(a.s, b.s) == 0;
    return param->type == GSA_REAL ? a.x == b.x : a.i == b.i;
}

void gsa_param_expected(const gsa_param *param, char *out, size_t size)
{
    char low[40], high[40];
    switch (param->type) {
    case GSA_INT:
    case GSA_REAL:
        format_real(param->low, low, sizeof low);
        format_real(param->high, high, sizeof high);
        snprintf(out, size, "%s from %s to %s", param->type == GSA_INT ? "an integer" : "a number",
                 low, high);
        break;
    case GSA_BOOL:
        snprintf(out, size, "0 or 1");
        break;
    case GSA_CHOICE:
        snprintf(out, size, "one of %s", param->choices);
        break;
    default:
        snprintf(out, size, "a path in UTF-8");
    }
}
