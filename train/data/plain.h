/* plain.h - numbers are read and written in the C locale, whatever the process's is; uselocale
 * concerns this thread alone. */
#ifndef GSA_PLAIN_H
#define GSA_PLAIN_H
#include <locale.h>
#include <stddef.h>
#include <string.h>

typedef struct gsa_plain {
    locale_t made, before;
} gsa_plain;

static inline gsa_plain gsa_plain_begin(void)
{
    gsa_plain plain = { newlocale(LC_ALL_MASK, "C", (locale_t)0), (locale_t)0 };
    if (plain.made) plain.before = uselocale(plain.made);
    return plain;
}

static inline void gsa_plain_end(gsa_plain plain)
{
    if (!plain.made) return;
    uselocale(plain.before);
    freelocale(plain.made);
}

/* Is what a strtod from `at` to `stop` took a decimal number? It also takes inf, nan and 0x10. */
static inline int gsa_plain_is(const char *at, const char *stop)
{
    at += strspn(at, " \t");
    return stop > at && stop - at <= (ptrdiff_t)strspn(at, "+-.0123456789eE");
}

#endif
