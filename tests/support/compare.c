#include "support/compare.h"
#include <math.h>
#include <stdio.h>

static int differ(const char *name, const double *ad, const float *af, const double *b,
                  int64_t count, double atol, double rtol)
{
    int64_t worst = -1, wrong = 0;
    double excess = 0, max_abs = 0, max_rel = 0;
    for (int64_t i = 0; i < count; i++) {
        const double a = ad ? ad[i] : (double)af[i];
        if (isnan(a) && isnan(b[i])) continue;
        if (a == b[i]) continue;
        const double gap = fabs(a - b[i]), over = gap - (atol + rtol * fabs(b[i]));
        if (gap > max_abs) max_abs = gap;
        if (gap / (fabs(b[i]) + 1e-300) > max_rel) max_rel = gap / (fabs(b[i]) + 1e-300);
        if (!(over <= 0)) {
            wrong++;
            if (worst < 0 || !(over <= excess)) worst = i, excess = over;
        }
    }
    if (worst < 0) return 0;
    fprintf(stderr,
            "%s: %lld of %lld differ; worst at %lld: %.17g, expected %.17g; max abs %.3g, max rel "
            "%.3g\n",
            name, (long long)wrong, (long long)count, (long long)worst,
            ad ? ad[worst] : (double)af[worst], b[worst], max_abs, max_rel);
    return 1;
}

int gsa_differ(const char *name, const double *a, const double *b, int64_t count, double atol,
               double rtol)
{
    return differ(name, a, NULL, b, count, atol, rtol);
}

int gsa_differ_f(const char *name, const float *a, const double *b, int64_t count, double atol,
                 double rtol)
{
    return differ(name, NULL, a, b, count, atol, rtol);
}

double gsa_nmse_f(const float *a, const double *b, int64_t count)
{
    double top = 0, bottom = 0;
    for (int64_t i = 0; i < count; i++) top += (a[i] - b[i]) * (a[i] - b[i]), bottom += b[i] * b[i];
    return bottom > 0 ? top / bottom : top;
}

uint64_t gsa_roll(gsa_dice *dice)
{
    uint64_t z = dice->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

int64_t gsa_between(gsa_dice *dice, int64_t low, int64_t high)
{
    return low + (int64_t)(gsa_roll(dice) % (uint64_t)(high - low + 1));
}

double gsa_unit(gsa_dice *dice)
{
    return (double)(gsa_roll(dice) >> 11) * 0x1p-53;
}

double gsa_normal(gsa_dice *dice)
{
    const double u = gsa_unit(dice), v = gsa_unit(dice);
    return sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * v);
}

/* The sum of four numbers of 16 bits: variance 4 / 12 before it is scaled. */
double gsa_bell(gsa_dice *dice)
{
    const uint64_t z = gsa_roll(dice);
    const uint64_t sum = (z & 0xffff) + (z >> 16 & 0xffff) + (z >> 32 & 0xffff) + (z >> 48);
    return ((double)sum + 2 - 0x1p17) * (1.7320508075688772 * 0x1p-16);
}
